//! What a terminal shows: what `cases/terminal.md` cannot show.
#![cfg(unix)]

use crate::util::Folder;

/// What a terminal shows of a run that is fed by a pipe, in which lines come slowly.
fn shown(folder: &Folder, arguments: &str, results: bool) -> String {
    folder.fifo("pipe");
    let terminal = nix::pty::openpty(None, None).unwrap();
    let mut run = folder.umbel(&format!("{arguments} pipe"));
    run.command.env("TERM", "xterm").env("NO_COLOR", "1");
    let screen = terminal.slave;
    if results {
        run = run.stdout(screen.try_clone().unwrap());
    }
    let shown = crate::util::drain(std::fs::File::from(terminal.master));
    let mut run = run.stderr(screen).spawn();
    let mut pipe = run.feed(folder, "pipe");
    for part in 0..9 {
        std::io::Write::write_all(&mut pipe, format!("line {part}\n").as_bytes()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    drop(pipe);
    run.finish().done();
    String::from_utf8(shown.join().unwrap()).unwrap()
}

#[test]
fn progress_is_shown_on_a_terminal_and_never_beside_results() {
    let folder = Folder::new();
    // Of a pipe nobody knows the length: no bar, and no rate as of a disk.
    let screen = shown(&folder, "unseen seen -a out", false);
    let frames: Vec<&str> = screen.split('\r').filter(|frame| frame.contains(" read, ")).collect();
    assert!(!frames.is_empty(), "{screen:?}");
    assert!(
        frames.iter().all(|frame| frame.contains(" B read, ") && frame.contains(" B/s")),
        "{screen:?}"
    );
    // At the end it is gone.
    let (_, end) = screen.rsplit_once("\r\u{1b}[K").unwrap();
    assert!(end.starts_with("umbel unseen: 9 lines, 9 new"), "{screen:?}");
    // Results on the same terminal: each at the start of a line, and nothing behind them.
    let screen = shown(&folder, "unseen f", true);
    for part in 0..9 {
        let line = format!("line {part}\r\n");
        let at = screen.find(&line).expect(&screen);
        let before = &screen[..at];
        assert!(
            before.is_empty() || before.ends_with('\n') || before.ends_with("\u{1b}[K"),
            "{screen:?}"
        );
    }
    assert!(!screen[screen.find("line 0").unwrap()..].contains(" read, "), "{screen:?}");
}

#[test]
fn help_and_advice_have_colours_on_a_terminal_alone() {
    let folder = Folder::new();
    folder.write("a.csv", "id,name\n1,x\n");
    folder.write("utf16", "a\0\n\0b\0\n\0c\0\n\0");
    let on_terminal = |arguments: &str, plain: bool| {
        let terminal = nix::pty::openpty(None, None).unwrap();
        let shown = crate::util::drain(std::fs::File::from(terminal.master));
        let mut run = folder.umbel(arguments);
        run.command.env_remove("NO_COLOR").env("TERM", "xterm");
        if plain {
            run.command.env("NO_COLOR", "1");
        }
        let screen = terminal.slave;
        run.stdout(screen.try_clone().unwrap()).stderr(screen).run();
        String::from_utf8(shown.join().unwrap()).unwrap().replace("\r\n", "\n")
    };
    let piped = |arguments: &str| {
        let run = folder.umbel(arguments).run();
        String::from_utf8(run.stdout).unwrap() + &run.stderr
    };
    let green = |words: &str| format!("\u{1b}[1m\u{1b}[32m{words}\u{1b}[0m");
    let bright = |words: &str| format!("\u{1b}[1;32m{words}\u{1b}[0m");
    for (arguments, coloured) in [
        ("help", green("Files of lines or records:")),
        ("help", green("Examples:")),
        ("help filter", green("Signatures and privacy:")),
        ("help options", green("Resources:")),
        ("dedup -h", green("Options:")),
        ("help dedup", green("Exit status:")),
        ("dedup --repeat a.csv", bright("tip:")),
        ("dedup --csv -k nmae a.csv", bright("did you mean")),
        ("dedup utf16", "\u{1b}[1;33mwarning:\u{1b}[0m".to_owned()),
    ] {
        let shown = on_terminal(arguments, false);
        assert!(shown.contains(&coloured), "{arguments}: {shown:?}");
        for plain in [on_terminal(arguments, true), piped(arguments)] {
            assert!(!plain.contains("\u{1b}[3") && !plain.contains("\u{1b}[1"), "{plain:?}");
        }
    }
}
