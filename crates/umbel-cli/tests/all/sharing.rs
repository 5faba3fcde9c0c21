//! Filters that travel: what `cases/sharing.md` cannot show.

use std::fs;

use crate::util::{Folder, urls};

/// Whoever can put a file next to a signed filter would add lines to it, and another signature would vouch for them.
#[test]
fn a_journal_next_to_a_signed_filter_is_refused() {
    let folder = Folder::new();
    folder.write("keys", urls(0..1000));
    folder.write("more", urls(1000..1010));
    folder.umbel("filter build -q --keys 2000 -o seen keys").run().done();
    for key in ["ours", "theirs"] {
        folder.umbel(&format!("filter key new --signing -o {key}")).run().done();
    }
    folder.umbel("filter sign ours seen").run().done();
    let hash = umbel::KeyHasher::default().hash("evil").to_u128().to_le_bytes();
    let json = br#"{"input":"a","offset":0,"found":0,"output":null}"#;
    let frame = |content: Vec<u8>| {
        let sum = umbel::KeyHasher::default().hash(&content[..]).to_u128() as u64;
        [&(content.len() as u32).to_le_bytes()[..], &sum.to_le_bytes(), &content].concat()
    };
    let frames = [frame([&[0], &hash[..]].concat()), frame([&[1], &json[..]].concat())];
    folder.write("seen.run", [&b"UMBELRUN\x01\0\0\0"[..], &frames.concat()].concat());
    folder.write("evil", "evil\n");
    assert_eq!(folder.umbel("filter query seen evil").run().text(), "evil\n", "nobody is trusted");
    let refused = ["seen.run: adds lines that the filter's signature does not cover"];
    folder.refuses("filter query seen evil --trust ours.pub", &refused);
    folder.refuses("filter add seen more --sign theirs --trust ours.pub", &refused);
    fs::remove_file(folder.path("seen.run")).unwrap();
    folder.umbel("filter query seen evil --trust ours.pub").run().nothing();
    folder.umbel("filter add -q seen more --sign theirs --trust ours.pub").run().done();
}
