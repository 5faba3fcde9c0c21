//! What umbel says when asked for help.

use crate::util::{Folder, Umbel};

const VERBS: [&str; 27] = [
    "common",
    "except",
    "diff",
    "dedup",
    "unseen",
    "index",
    "find",
    "build",
    "add",
    "remove",
    "query",
    "info",
    "merge",
    "overlap",
    "key",
    "audit",
    "convert",
    "parquet",
    "pack",
    "unpack",
    "delta",
    "patch",
    "sign",
    "plan",
    "demo",
    "completions",
    "man",
];

#[test]
fn every_verb_has_help() {
    let folder = Folder::new();
    let help = folder.umbel("help").run().text();
    assert_eq!(help, folder.umbel("--help").run().text());
    assert!(help.lines().count() <= 45, "{help}");
    let all = folder.umbel("help --all").run().text();
    for verb in VERBS {
        assert!(all.contains(&format!("\n  {verb} ")), "no {verb} in {all}");
        for flag in ["--help", "-h"] {
            let run = folder.umbel(&format!("{verb} {flag}")).run();
            assert_eq!(run.stderr, "");
            let text = run.text();
            assert!(text.contains(&format!("Usage: umbel {verb}")), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
            // One screen.
            let lines = text.lines().count();
            assert!(flag == "--help" || lines <= 40, "{verb} -h has {lines} lines: {text}");
        }
    }
    assert!(
        help.contains("Exit status:\n  0  done, or something was found\n  1  nothing"),
        "{help}"
    );
}

/// A folder with all that the examples of the helps name.
fn with_examples() -> Folder {
    let folder = Folder::new();
    for name in ["monday.txt", "tuesday.txt", "all.txt", "blocked.txt", "urls.txt", "today.txt"] {
        folder.write(name, "1\n2\n2\n");
    }
    folder.write("gone.txt", "1\n");
    for (list, entry) in
        [("nets", "10.0.0.0/8"), ("ips", "10.1.2.3"), ("ads", "a.example"), ("hosts", "a.example")]
    {
        folder.write(&format!("{list}.txt"), entry);
    }
    folder.write("ids.txt", "7\n");
    folder.write("orders.csv", "order,customer\n7,1\n8,1\n9,2\n");
    folder.write("users.csv", "id,name\n1,x\n");
    std::fs::create_dir(folder.path("logs")).unwrap();
    folder.write("logs/a.log", "3c0e3dcd33e7\n");
    folder.write("exports.jsonl.zst", "{\"trace_id\": \"x\"}\n");
    folder.umbel("index -o logs.index logs").run().done();
    folder.write("a.log", "10.1.2.3 GET /\n10.1.2.3 GET /a\n");
    for (name, line) in [("allow", "good.example"), ("block", "bad.example"), ("names", "x")] {
        folder.write(&format!("{name}.txt"), line);
    }
    folder.umbel("build -q -o users.guava --format guava --keys 10 urls.txt").run().done();
    folder.write("a.csv", "id,name\n1,x\n2,y\n");
    folder.write("b.csv", "id,name\n2,z\n");
    for name in ["seen", "a", "b"] {
        folder.umbel(&format!("build -o {name}.umbel urls.txt")).run().done();
    }
    for name in ["monday", "tuesday"] {
        folder.umbel(&format!("build -o {name}.umbel {name}.txt")).run().done();
    }
    folder.umbel("pack seen.umbel -o seen.packed").run().done();
    folder.umbel("delta monday.umbel tuesday.umbel -o tuesday.delta").run().done();
    folder.umbel("key new --signing -o lists.key").run().done();
    folder.umbel("build -o held.umbel --kind counting urls.txt").run().done();
    let parquet =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/parquet/groups.parquet");
    folder.write("events.parquet", std::fs::read(parquet).unwrap());
    folder
}

#[cfg(unix)]
#[test]
fn every_help_ends_with_examples_that_work_and_with_what_the_exit_status_means() {
    let umbel = std::path::Path::new(env!("CARGO_BIN_EXE_umbel")).parent().unwrap();
    for verb in VERBS {
        let folder = with_examples();
        let help = folder.umbel(&format!("{verb} --help")).run().text();
        let (_, ending) = help.split_once("\nExamples:\n").expect(verb);
        let (examples, codes) = ending.split_once("\n\nExit status:\n").expect(verb);
        assert!(codes.starts_with("  0  ") && codes.contains("  2  an error"), "{codes}");
        for example in examples.lines() {
            let (command, what) = example.trim().split_once("   ").expect(example);
            assert!(command.contains(&format!("umbel {verb}")) && !what.is_empty(), "{example}");
            let mut run = folder.program("sh", "-c").arg(command);
            let path = format!("{}:{}", umbel.display(), std::env::var("PATH").unwrap());
            run.command.env("PATH", path);
            // What is there is written anew by the example.
            let written = match verb {
                "build" | "unpack" => &["seen.umbel"][..],
                "pack" => &["seen.packed"],
                "delta" | "patch" => &["tuesday.delta", "tuesday.umbel"],
                "key" => &["lists.key", "lists.key.pub"],
                _ => &[],
            };
            let reads = |name: &&&str| !command.split(" -o ").next().unwrap().contains(**name);
            for name in written.iter().filter(reads) {
                let _ = std::fs::remove_file(folder.path(name));
            }
            let outcome = run.run();
            assert!(matches!(outcome.status.code(), Some(0 | 1)), "{command}: {}", outcome.stderr);
        }
    }
}

#[cfg(unix)]
#[test]
fn help_comes_by_the_verb_too_and_options_of_all_verbs_may_come_first() {
    let folder = with_examples();
    for verb in VERBS {
        let help = folder.umbel(&format!("help {verb}")).run().text();
        assert_eq!(help, folder.umbel(&format!("{verb} --help")).run().text());
    }
    assert_eq!(folder.umbel("-q dedup urls.txt").run_on_terminal().stderr, "");
    assert!(folder.umbel("--json dedup urls.txt").run().report()["lines"] == 3);
    let verbose = folder.umbel("--verbose query seen.umbel urls.txt").run();
    assert!(verbose.stderr.contains("peak"), "{}", verbose.stderr);
    assert_eq!(
        folder.umbel("--json plan --keys 1e6 --fpp 1%").run().text(),
        folder.umbel("plan --keys 1e6 --fpp 1% --json").run().text()
    );
    folder.umbel("help nothing").run().fails(&["nothing"]);
}

#[cfg(unix)]
#[test]
fn the_end_is_told_on_a_terminal_alone_unless_more_is_asked_for() {
    let folder = with_examples();
    folder.write("one", "1\n");
    folder.write("none", "");
    let short = |run: Umbel| {
        let said = run.run_on_terminal().stderr;
        assert_eq!(said.lines().count(), 1, "{said}");
        let (words, seconds) = said.trim_end().rsplit_once(", ").unwrap();
        assert!(seconds.ends_with(" s"), "{said}");
        words.to_owned()
    };
    for (arguments, expected) in [
        ("dedup urls.txt", "umbel dedup: 3 lines, 2 different"),
        ("dedup one", "umbel dedup: 1 line, 1 different"),
        ("dedup none", "umbel dedup: 0 lines, 0 different"),
        ("common one urls.txt", "umbel common: 4 lines, 1 common"),
        ("except urls.txt one", "umbel except: 4 lines, 1 left"),
        ("query seen.umbel one", "umbel query: 1 line, 1 found, not exact"),
        ("dedup --fpp 1% one", "umbel dedup: 1 line, 1 different"),
        ("build -f -o new --keys 1000 one", "umbel build: 1 line, blocked filter of 1.25 KiB"),
        ("merge -f -o new a.umbel b.umbel", "umbel merge: blocked filter of "),
    ] {
        let words = short(folder.umbel(arguments));
        assert!(words.starts_with(expected), "{words}");
        assert_eq!(folder.umbel(arguments).run().stderr, "", "{arguments}");
        assert_eq!(folder.umbel(&format!("{arguments} -q")).run_on_terminal().stderr, "");
        let full = folder.umbel(&format!("{arguments} --verbose")).run().stderr;
        assert!(full.contains(", peak ") && full.lines().count() == 1, "{full}");
        assert_eq!(
            folder
                .umbel(&format!("{arguments} --verbose"))
                .run_on_terminal()
                .stderr
                .lines()
                .count(),
            1
        );
    }
    let one = folder.umbel("dedup --verbose one").run().stderr;
    assert!(one.starts_with("umbel dedup: 1 line, ") && one.contains(" in 1 pass, "), "{one}");
    let none = folder.umbel("dedup --verbose none").run().stderr;
    assert!(none.starts_with("umbel dedup: 0 lines, "), "{none}");
    // What is wrong is told all the same.
    folder.umbel("build -f -o new --keys 1 --fpp 0.5 urls.txt").run().done();
    folder.write("many", (0..1000).map(|i| format!("{i}\n")).collect::<String>());
    let over = folder.umbel("build -f -o new --keys 10 many").run().stderr;
    assert!(over.contains("warning: the filter is over-filled"), "{over}");
}

/// What a terminal shows of a run that is fed by a pipe, in which lines come slowly.
#[cfg(unix)]
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

#[cfg(unix)]
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

#[cfg(unix)]
#[test]
fn errors_are_red_on_a_terminal_that_shows_colours() {
    let folder = Folder::new();
    let said = |variables: &[(&str, &str)]| {
        let mut run = folder.umbel("info gone");
        run.command.env_remove("NO_COLOR").envs(variables.iter().copied());
        run.run_on_terminal().stderr
    };
    let plain = "umbel info: gone: No such file or directory (os error 2)\n";
    assert_eq!(
        said(&[("TERM", "xterm")]),
        "\u{1b}[1;31mumbel info:\u{1b}[0m gone: No such file or directory (os error 2)\n"
    );
    assert_eq!(said(&[("TERM", "xterm"), ("NO_COLOR", "1")]), plain);
    assert_eq!(said(&[("TERM", "dumb")]), plain);
    // What a file's name does to a terminal, it does not do in a message.
    let run = folder.umbel("info").arg("a\u{1b}[2Jb").run();
    run.fails(&["a\\u{1b}[2Jb"]);
}

/// Elsewhere than on a terminal, a run without arguments shows all of the help.
#[cfg(unix)]
#[test]
fn a_terminal_is_greeted_with_three_commands_that_work() {
    let folder = with_examples();
    for name in ["monday.txt", "tuesday.txt"] {
        folder.write(name, folder.read("urls.txt"));
    }
    let greeting = folder.umbel("").run_on_terminal();
    greeting.ended_with(2);
    let commands: Vec<_> =
        greeting.stderr.lines().filter_map(|line| line.strip_prefix("  umbel ")).collect();
    assert_eq!(commands.len(), 3, "{}", greeting.stderr);
    for command in commands {
        folder.umbel(command.split("   ").next().unwrap()).run().done();
    }
    let piped = folder.umbel("").run();
    piped.ended_with(2);
    assert!(piped.stderr.contains("Exit status:"), "{}", piped.stderr);
}

#[cfg(unix)]
#[test]
fn help_and_advice_have_colours_on_a_terminal_alone() {
    let folder = with_examples();
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
        ("help --all", green("Privacy:")),
        ("help options", green("Input:")),
        ("dedup -h", green("Options:")),
        ("help dedup", green("Exit status:")),
        ("dedup --repeat urls.txt", bright("tip:")),
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
