//! Inputs from pipes: what came in goes out at once, and a writer that fills several in turns never waits for good.

use std::io::Write;
use std::process::Command;

use crate::util::{Folder, comes, urls};

#[test]
fn a_line_comes_out_before_the_next_goes_in() {
    let folder = Folder::new();
    folder.write("a", urls(0..10));
    folder.umbel("unseen -q f a").run().done();
    let (run, mut stdin, mut stdout) = folder.umbel("unseen -q f").piped();
    for number in 5..30 {
        stdin.write_all(&urls([number])).unwrap();
        if number >= 10 {
            comes(&mut stdout, urls([number]));
        }
    }
    // Several at once, one known, and half of one.
    stdin.write_all(&[&urls([30, 3, 31])[..], b"half "].concat()).unwrap();
    comes(&mut stdout, urls([30, 31]));
    stdin.write_all(b"of a line\nlast").unwrap();
    comes(&mut stdout, "half of a line\n");
    drop(stdin);
    comes(&mut stdout, "last\n");
    run.finish().done();
    assert_eq!(folder.names(), ["a", "f"]);
    folder.umbel("unseen f").stdin("last\nhalf of a line\n").run().nothing();
    for options in ["", "--threads 1", "--memory 16MiB"] {
        let (run, mut stdin, mut stdout) =
            folder.umbel(&format!("filter query f {options}")).piped();
        for number in [3, 1, 2] {
            stdin.write_all(&urls([number])).unwrap();
            comes(&mut stdout, urls([number]));
        }
        drop(stdin);
        run.finish().done();
    }
    // What begins as compressed data does is a line once more comes.
    let (run, mut stdin, mut stdout) = folder.umbel("unseen -q f").piped();
    stdin.write_all(b"B\n").unwrap();
    comes(&mut stdout, "B\n");
    drop(stdin);
    run.finish().done();
}

#[test]
fn rows_come_out_at_once() {
    let folder = Folder::new();
    folder.write("a", "id\n1\n2\n");
    folder.umbel("filter build -q -o seen --csv --key id a").run().done();
    // What goes in, what then comes out, and what at the end.
    let unseen = [
        ("name,id\n", "name,id\n"),
        ("\"Ada\nLovelace\",1\nAda,1\nGrace,2", "\"Ada\nLovelace\",1\n"),
        ("\n", "Grace,2\n"),
    ];
    let asked =
        [("city,id\n", "city,id\n"), ("\"line\nfeed\",1\nnext,", "\"line\nfeed\",1\n"), ("2", "")];
    for (job, parts, last) in
        [("unseen -q f", unseen, ""), ("filter query -q seen", asked, "next,2\n")]
    {
        let (run, mut stdin, mut stdout) = folder.umbel(&format!("{job} --csv --key id")).piped();
        for (part, out) in parts {
            stdin.write_all(part.as_bytes()).unwrap();
            comes(&mut stdout, out);
        }
        drop(stdin);
        comes(&mut stdout, last);
        run.finish().done();
    }
}

#[cfg(unix)]
#[test]
fn named_pipes_are_inputs() {
    let folder = Folder::new();
    for (verb, expected) in [("common", 1000..1500), ("dedup", 0..3000), ("except", 0..1000)] {
        ["left", "right"].iter().for_each(|name| folder.fifo(name));
        let mut run = folder.umbel(&format!("{verb} left right")).spawn();
        // Both are opened, then one is read to its end before the other.
        let (mut left, mut right) = (run.feed(&folder, "left"), run.feed(&folder, "right"));
        left.write_all(&urls(0..1500)).unwrap();
        drop(left);
        right.write_all(&urls(1000..3000)).unwrap();
        drop(right);
        assert!(run.finish().done() == urls(expected), "{verb}");
    }
}

/// As `tee` does, which waits when one of them is full: a pipe holds 64 KiB.
#[cfg(unix)]
#[test]
fn one_writer_fills_several_pipes_in_turns() {
    let folder = Folder::new();
    let names = ["one", "two", "three"];
    names.iter().for_each(|name| folder.fifo(name));
    let mut run = folder.umbel("common one two three -j 1 -m 16MiB").spawn();
    let mut pipes = names.map(|name| run.feed(&folder, name));
    for turn in 0..3 {
        for pipe in &mut pipes {
            pipe.write_all(&urls(2000 * turn..2000 * (turn + 1))).unwrap();
        }
    }
    drop(pipes);
    assert!(run.finish().done() == urls(0..6000));
    // Verbs that read one input after the other, too. The shell opens the last one first.
    let lines = urls(0..9000);
    folder.write("all", &lines);
    folder.umbel("filter build -q -o seen all").run().done();
    for (job, tee, expected) in [
        ("common one two three -j 1", "one two < all > three", &lines),
        ("filter query -q seen one two", "one < all > two", &lines.repeat(2)),
        ("unseen -q new one two --keys 1e6", "one < all > two", &lines),
        ("filter build -q --keys 1e6 -o made one two", "one < all > two", &Vec::new()),
    ] {
        names.iter().for_each(|name| folder.fifo(name));
        let run = folder.umbel(job).spawn();
        let tee = format!("exec tee {tee}");
        let mut tee =
            Command::new("sh").args(["-c", &tee]).current_dir(folder.path("")).spawn().unwrap();
        assert!(run.finish().done() == *expected, "{job}");
        assert!(tee.wait().unwrap().success());
    }
    assert!(folder.umbel("filter query -q made all").run().done() == lines);
}
