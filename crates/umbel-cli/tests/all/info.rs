//! `umbel info`: filters wherever they come from, and how their receipts read.

use std::fs::{self, File};
use std::io::Write;

use crate::util::{Folder, urls};

fn with_filter() -> Folder {
    let folder = Folder::new();
    folder.umbel("build -q -o seen").stdin(urls(0..1_000)).run().done();
    folder
}

#[cfg(unix)]
#[test]
fn a_filter_from_a_pipe() {
    let folder = with_filter();
    let named = folder.umbel("info seen").run().text();
    let (_, receipt) = named.split_once('\n').unwrap();
    for path in ["-", "/dev/stdin"] {
        let piped = folder.umbel(&format!("info {path}")).stdin(folder.read("seen")).run().text();
        assert_eq!(piped.split_once('\n').unwrap().1, receipt, "{path}");
        let file = File::open(folder.path("seen")).unwrap();
        let redirected = folder.umbel(&format!("info {path}")).stdin_file(file).run().text();
        assert_eq!(redirected, piped, "{path}");
    }
    folder.fifo("pipe");
    let run = folder.umbel("info pipe").spawn();
    fs::write(folder.path("pipe"), folder.read("seen")).unwrap();
    assert_eq!(run.finish().text().split_once('\n').unwrap().1, receipt);
}

/// The rest of a file that another program began to read.
#[test]
fn a_filter_behind_something_else() {
    use std::io::Seek;
    let folder = with_filter();
    let mut file = File::create(folder.path("both")).unwrap();
    file.write_all(b"hello").unwrap();
    file.write_all(&folder.read("seen")).unwrap();
    let mut file = File::open(folder.path("both")).unwrap();
    file.seek(std::io::SeekFrom::Start(5)).unwrap();
    assert!(folder.umbel("info -").stdin_file(file).run().text().contains("1,000 keys"));
}

#[test]
fn other_systems_filters_and_other_verbs_from_a_pipe() {
    let folder = with_filter();
    folder.umbel("build -q -o ids --format guava").stdin("1\n2\n").run().done();
    let guava = folder.umbel("info -").stdin(folder.read("ids")).run().text();
    assert!(guava.contains("guava"), "{guava}");
    folder.write("lines", urls([5, 5_000_000]));
    let found = folder.umbel("query -q - lines").stdin(folder.read("seen")).run().done();
    assert_eq!(found, urls([5]));
    folder.umbel("merge -q -o union seen -").stdin(folder.read("seen")).run().done();
    assert!(folder.read("union") == folder.read("seen"));
}

#[cfg(unix)]
#[test]
fn what_a_pipe_cannot_be() {
    let folder = with_filter();
    let seen = || folder.read("seen");
    folder.umbel("info -").stdin("no filter\n").run().fails(&["-: not an umbel file"]);
    folder.umbel("info -").stdin("").run().fails(&["standard input: no data"]);
    folder.umbel("info -").stdin(&seen()[..500]).run().fails(&["-: ", "truncated"]);
    folder
        .umbel("info - -")
        .stdin(seen())
        .run()
        .fails(&["-: standard input can be read only once"]);
    for lines in ["", "-"] {
        let run = folder.umbel(&format!("query - {lines}")).stdin(seen()).run();
        run.fails(&["and the filter is read from it"]);
    }
    folder.write("lines", urls([5]));
    folder.umbel("add - lines").stdin(seen()).run().fails(&["-: is not a regular file"]);
    folder.fifo("pipe");
    folder.umbel("add pipe lines").run().fails(&["pipe: is not a regular file"]);
}

/// The words of all rows begin in one column.
#[test]
fn columns_are_aligned() {
    let folder = Folder::new();
    folder.write("lines", urls(0..3_000));
    folder.write("others", urls(3_000..4_000));
    for arguments in [
        "--keys 3000",
        "--kind counting",
        "--kind scalable --keys 100",
        "--kind stable --keys 500",
        "--kind window:8 --keys 500",
        "--kind bloomier",
        "--kind cascade --except others",
        "--format guava",
        "--format redisbloom",
    ] {
        folder.umbel(&format!("build -q -f -o f {arguments} lines")).run().done();
        let text = folder.umbel("info f").run().text();
        let rows: Vec<_> = text.lines().skip(1).collect();
        let names =
            ["kind", "format", "scheme", "size", "planned", "fill", "keys", "rate now", "state"];
        let start = |row: &str| {
            let name = names.iter().find(|name| row[2..].starts_with(&format!("{name} ")))?;
            Some(row.len() - row[2 + name.len()..].trim_start().len())
        };
        let starts: Vec<_> = rows.iter().filter_map(|row| start(row)).collect();
        assert!(starts.len() >= 6 && starts.iter().all(|at| *at == starts[0]), "{text}");
        for row in &rows {
            assert!(row.starts_with("  ") && !row[2..].starts_with(' '), "{text}");
            let (before, words) = row.split_at(starts[0]);
            assert!(before.ends_with(' ') && !words.starts_with(' '), "{row:?} in {text}");
        }
    }
}

#[test]
fn receipts_go_to_a_file() {
    let folder = with_filter();
    let text = folder.umbel("info seen seen").run().text();
    assert!(text.contains("\n\nseen\n"), "a line between them: {text}");
    assert_eq!(folder.umbel("info seen seen -o receipt").run().text(), "");
    assert_eq!(folder.read("receipt"), text.as_bytes());
    folder.umbel("info seen missing -o receipt").run().fails(&["missing"]);
    assert_eq!(folder.read("receipt"), text.as_bytes(), "all or nothing");
    let before = folder.read("seen");
    folder.umbel("info seen -o seen").run().fails(&["seen: ", "cannot replace it"]);
    assert!(folder.read("seen") == before);
    folder
        .umbel("info seen -o no/receipt")
        .run()
        .fails(&["no/receipt", "the folder no does not exist"]);
    // Those before the one that cannot be read are told.
    let run = folder.umbel("info seen missing").run();
    assert_eq!(run.status.code(), Some(2));
    assert!(run.stdout.starts_with(b"seen\n"));
}

#[test]
fn one_of_a_kind_is_no_plural() {
    let folder = Folder::new();
    folder.umbel("build -q -o one --keys 1").stdin("a\n").run().done();
    let text = folder.umbel("info one").run().text();
    assert!(text.contains("planned    1 key at a rate of"), "{text}");
    let show = folder.umbel("demo a --probes 1 --query a").run().text();
    for words in ["1 probe per word", "Insert a: its probe is bit ", "1 of 14 bits is set"] {
        assert!(show.contains(words), "no {words} in {show}");
    }
    let rows = folder.umbel("build -q -o rows --kind attributes --csv --key a --key b --keys 5");
    rows.stdin("a,b\n1,2\n").run().done();
    let merge = folder.umbel("merge -o both rows one").run();
    merge.fails(&["an attributes and a blocked filter cannot be merged or compared"]);
}
