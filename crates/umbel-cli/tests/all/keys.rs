//! Keys that are part of a record: what `cases/keys.md` cannot show.

use std::io::Write;

use crate::util::Folder;

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
