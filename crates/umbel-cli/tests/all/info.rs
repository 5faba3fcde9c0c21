//! `umbel info`: filters wherever they come from, and how their receipts read.

use std::fs::{self, File};
use std::io::Write;

use crate::util::{Folder, urls};

fn with_filter() -> Folder {
    let folder = Folder::new();
    folder.umbel("build -q -o seen").stdin(urls(0..1_000)).run().done();
    folder
}

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

#[test]
fn what_a_pipe_cannot_be() {
    let folder = with_filter();
    let seen = || folder.read("seen");
    folder.umbel("info -").stdin("no filter\n").run().fails(&["-: not an umbel file"]);
    folder.umbel("info -").stdin("").run().fails(&["-: nothing came from it"]);
    folder.umbel("info -").stdin(&seen()[..500]).run().fails(&["-: ", "truncated"]);
    folder.umbel("info - -").stdin(seen()).run().fails(&["-: standard input can be named once"]);
    for lines in ["", "-"] {
        let run = folder.umbel(&format!("query - {lines}")).stdin(seen()).run();
        run.fails(&["-: the filter comes from standard input"]);
    }
    folder.write("lines", urls([5]));
    folder.umbel("add - lines").stdin(seen()).run().fails(&["-: only a file can be changed"]);
    folder.fifo("pipe");
    folder.umbel("add pipe lines").run().fails(&["pipe: only a file can be changed"]);
}
