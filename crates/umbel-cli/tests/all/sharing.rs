//! Filters that travel: what `cases/sharing.md` cannot show.

use std::fs;

use serde_json::Value;

use crate::util::{Folder, urls};

/// Filters `seen` of 1,000 lines, planned for being sent, and `packed`; `next`, with ten more lines; `keys`.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("keys", urls(0..1000));
    folder.write("more", urls(1000..1010));
    folder.umbel("build -q --ship --keys 2000 -o seen keys").run().done();
    folder.umbel("pack -q seen -o packed").run().done();
    fs::copy(folder.path("seen"), folder.path("next")).unwrap();
    folder.umbel("add -q next more").run().done();
    folder
}

impl Folder {
    /// The receipt of a filter.
    fn wrapped_info(&self, arguments: &str) -> Value {
        let text = self.umbel(&format!("info --json {arguments}")).run().text();
        serde_json::from_str(&text).unwrap()
    }

    fn sign_keys(&self) {
        self.umbel("key new --signing -o ours").run().done();
        self.umbel("key new --signing -o theirs").run().done();
    }
}

#[test]
fn plans_for_sending_are_built() {
    let folder = folder();
    let plans = folder.umbel("plan --keys 1M --fpp 1% --ship --json").run().text();
    let plans: Vec<Value> = plans.lines().map(|plan| serde_json::from_str(plan).unwrap()).collect();
    folder.write("many", urls(0..20_000));
    let mut built = 0;
    for plan in plans.iter().filter(|plan| plan["packed"] == true) {
        let probes = &plan["probes"];
        folder.umbel(&format!("build -qf --ship={probes} -o F --fpp 1% many")).run().done();
        folder.umbel("pack -qf F -o P").run().done();
        let info = folder.wrapped_info("P");
        assert_eq!((&info["kind"], &info["probes"]), (&"classic".into(), probes));
        // What the plan says, for fewer keys: small headers, and a small margin.
        let sent = 8.0 * info["packed_bytes"].as_f64().unwrap() / 20_000.0;
        let planned = plan["sent_per_key"].as_f64().unwrap();
        assert!((sent / planned - 1.0).abs() < 0.02, "{probes}: {sent} {planned}");
        built += 1;
    }
    assert_eq!(built, 6);
    let bloomier = plans.iter().find(|plan| plan["kind"] == "bloomier").unwrap();
    assert_eq!((&bloomier["merges"], &bloomier["takes_more"]), (&false.into(), &false.into()));
    let text = folder.umbel("plan --keys 1M --fpp 1% --ship").run().text();
    assert!(text.contains("classic, packed       1"));
    folder.refuses("plan --keys 1M --ship", &["--ship without a size", "--fpp"]);
    folder.refuses("build --ship=40 -o out keys", &["--ship"]);
    folder.refuses("build --ship --kind blocked -o out keys", &["--ship", "--kind"]);
}

/// Whoever can put a file next to a signed filter would add lines to it, and another signature would vouch for them.
#[test]
fn a_journal_next_to_a_signed_filter_is_refused() {
    let folder = folder();
    folder.sign_keys();
    folder.umbel("sign --sign ours seen").run().done();
    let hash = umbel::KeyHasher::default().hash("evil").to_u128().to_le_bytes();
    let json = br#"{"input":"a","offset":0,"found":0,"output":null}"#;
    let frame = |content: Vec<u8>| {
        let sum = umbel::KeyHasher::default().hash(&content[..]).to_u128() as u64;
        [&(content.len() as u32).to_le_bytes()[..], &sum.to_le_bytes(), &content].concat()
    };
    let frames = [frame([&[0], &hash[..]].concat()), frame([&[1], &json[..]].concat())];
    folder.write("seen.run", [&b"UMBELRUN\x01\0\0\0"[..], &frames.concat()].concat());
    folder.write("evil", "evil\n");
    assert_eq!(folder.umbel("query seen evil").run().text(), "evil\n", "nobody is trusted");
    let refused = ["seen.run: would add lines to a filter whose signature does not cover them"];
    folder.refuses("query seen evil --trust ours.pub", &refused);
    folder.refuses("add seen more --sign theirs --trust ours.pub", &refused);
    fs::remove_file(folder.path("seen.run")).unwrap();
    folder.umbel("query seen evil --trust ours.pub").run().nothing();
    folder.umbel("add -q seen more --sign theirs --trust ours.pub").run().done();
}
