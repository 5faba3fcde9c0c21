//! Keys that are part of a record: what `cases/keys.md` cannot show.

use std::io::Write;

use crate::util::{Folder, least_memory};

#[cfg(unix)]
#[test]
fn answers_to_a_pipe_come_at_once() {
    let folder = Folder::new();
    folder.write("a", "id\n1\n2\n");
    folder.umbel("build -q -o seen --csv --key id a").run().done();
    folder.fifo("pipe");
    let mut run = folder.umbel("query -q --csv --key id seen pipe").spawn();
    let mut pipe = run.feed(&folder, "pipe");
    let mut out = run.stdout();
    let mut expect = |bytes: &str| {
        let mut read = vec![0; bytes.len()];
        std::io::Read::read_exact(&mut out, &mut read).unwrap();
        assert_eq!(read, bytes.as_bytes());
    };
    pipe.write_all(b"city,id\n").unwrap();
    expect("city,id\n");
    pipe.write_all(b"\"line\nfeed\",1\nnext,").unwrap();
    expect("\"line\nfeed\",1\n");
    pipe.write_all(b"2").unwrap();
    drop(pipe);
    expect("next,2\n");
    assert_eq!(run.finish().status.code(), Some(0));
}

#[test]
fn the_answer_is_the_same_for_any_threads_and_memory() {
    let folder = Folder::new();
    let row = |i: u64| {
        let id = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{i},\"{id:020}\n{}\",\"some \"\"text\"\"\"\n", "x".repeat((i % 70) as usize))
    };
    let table = |rows: std::ops::Range<u64>| {
        std::iter::once("n,key,text\n".to_owned()).chain(rows.map(row)).collect::<String>()
    };
    folder.write("a", table(0..130_000));
    folder.write("b", table(10_000..140_000).replace("some", "other"));
    let expected = table(10_000..130_000);
    let pair = |fields: &str| fields.split(' ').map(|f| format!("--key {f} ")).collect::<String>();
    let mut spilled = 0;
    for key in ["key", "n", "n key", "2 1"] {
        for how in ["1 --memory 16MiB", "2 --memory 16MiB", "4 --memory 20MiB", "2 --memory 1GiB"] {
            let key = pair(key);
            let run = folder.umbel(&format!("common --csv {key} a b --threads {how} --json")).run();
            assert!(run.stdout == expected.as_bytes(), "{key} --threads {how}: {}", run.stderr);
            let report = run.report();
            spilled += u32::from(report["bytes_spilled"].as_u64() > Some(0));
            assert_eq!(report["lines"], 260_000);
        }
    }
    assert!(spilled > 4, "{spilled} of 16 went to disk");
}

#[test]
fn a_record_of_many_megabytes_says_what_memory_it_needs() {
    let folder = Folder::new();
    let long = "a line of \"\"text\"\"\n".repeat(600_000);
    folder.write("a", format!("k,v\n1,\"{long}\"\n2,\"x\"\n"));
    folder.write("b", format!("v\nx\n\"{long}\"\n"));
    let message = folder
        .umbel("common --csv --key v a b --memory 20MiB")
        .run()
        .fails(&[", line ", "memory cap of 20MiB"]);
    let memory = least_memory(&message);
    let run = folder.umbel(&format!("common --csv --key v a b --memory {memory}")).run();
    assert!(run.done() == folder.read("a"));
}
