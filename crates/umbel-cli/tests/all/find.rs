//! Indexes of many files: what `cases/find.md` cannot show.

use std::fs;

use crate::util::{Folder, long, urls};

/// At whatever moment an update is killed, the index is the old one or the new one, whole, and nothing lies beside it.
#[cfg(unix)]
#[test]
fn a_killed_update_leaves_an_index() {
    let folder = Folder::new();
    fs::create_dir(folder.path("logs")).unwrap();
    for i in 0..8 {
        folder.write(&format!("logs/{i}"), urls(20_000 * i..20_000 * (i + 1)));
    }
    folder.umbel("index -o logs.index logs").run().done();
    let text = format!("{:024}", 70_123);
    let expected = folder.umbel(&format!("find logs.index {text}")).run().text();
    for round in 0..long(200, 12) {
        folder.append("logs/0", urls([1_000_000 + round]));
        let run = folder.umbel("index --update logs.index").spawn();
        run.killed_after(std::time::Duration::from_millis(round * 7 % 60));
        let run = folder.umbel(&format!("find -q logs.index {text}")).run();
        assert_eq!(run.text(), expected);
        folder.umbel("filter info logs.index").run().done();
    }
    folder.umbel("index --update logs.index").run().done();
    assert_eq!(folder.names(), ["logs", "logs.index"]);
}

/// The data of an index behind what differs from machine to machine: times and numbers of files.
fn tables(index: &[u8]) -> Vec<u8> {
    let data: Vec<u8> = index.chunks(1024).flat_map(|page| &page[..1016]).copied().collect();
    let number = |at: usize| u64::from_le_bytes(data[at..at + 8].try_into().unwrap()) as usize;
    let (catalog, lists) = (number(32), number(40));
    [&data[..72], &data[catalog + lists..]].concat()
}

/// `testdata/find` was made of these files by these commands.
#[test]
fn the_golden_indexes_are_made_again() {
    let folder = Folder::new();
    folder.write("a.log", "start of a log\nuser_id=17 from 10.0.3.17:8080 took 12ms\nZoë — 日本語 3c0e3dcd-33e7-4d1c-9a55-0123456789ab\n");
    folder.write("b.log", b"another file\nbytes \xff\xfe between\nuser_id=171\n");
    let line = |i: u64| format!("{i} request {:x} of client-{}\n", i * 7919 % 100_003, i % 50);
    folder.write("c.log", (0..60_000).map(line).collect::<String>());
    let rows: String = (0..500).map(|i| format!("{i},\"name {}\"\n", i % 7)).collect();
    folder.write("d.csv", format!("id,name\n{rows}"));
    folder.umbel("index -o words.index a.log b.log c.log").run().done();
    folder.umbel("index --csv -k id -o field.index d.csv").run().done();
    for name in ["words.index", "field.index"] {
        let golden = format!("{}/../../testdata/find/{name}", env!("CARGO_MANIFEST_DIR"));
        assert!(tables(&folder.read(name)) == tables(&fs::read(golden).unwrap()), "{name}");
    }
}
