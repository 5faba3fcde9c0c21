//! What goes wrong midway, as a black box: signals, full disks, inputs that change, readers that leave.
//! Nothing stays behind, and a filter is the old one or the new one, whole.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
#[cfg(unix)]
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

#[cfg(unix)]
use nix::sys::signal::Signal;
use umbel_io::FileAt;

use crate::util::{Folder, Random, long, names, urls};

#[cfg(unix)]
const SIGNALS: [Signal; 3] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGKILL];

/// A folder with lines in `keys` and a filter of them in `seen`, larger than 64 KiB.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("keys", urls(0..10_000));
    folder.umbel("filter build -q -o seen --keys 100000 keys").run().done();
    folder
}

/// A folder with two files that share all their lines, more than a cap of 16 MiB keeps in memory.
fn with_large_files() -> Folder {
    let folder = Folder::new();
    folder.write("a", urls(0..200_000));
    folder.write("b", urls((0..200_000).rev()));
    folder
}

#[cfg(unix)]
#[test]
fn killed_while_a_pipe_is_spooled_it_leaves_nothing() {
    let folder = folder();
    for signal in SIGNALS {
        for arguments in [
            "common keys pipe",
            "common pipe keys",
            "filter build -o new pipe",
            "dedup pipe",
            "dedup --repeated keys pipe",
            "except keys pipe",
            "except pipe keys",
        ] {
            let (mut run, mut pipe) = folder.fed(arguments);
            pipe.write_all(&urls(0..5_000)).unwrap();
            run.until_temporary();
            run.killed_by(signal);
            assert_eq!(folder.names(), ["keys", "pipe", "seen"], "{arguments}");
        }
    }
}

#[cfg(unix)]
#[test]
fn killed_with_lines_on_disk_it_leaves_nothing() {
    let folder = with_large_files();
    for signal in SIGNALS {
        for arguments in ["common a b", "dedup a b --repeated", "dedup a b --count"] {
            let mut run = folder.umbel(&format!("{arguments} --memory 16MiB")).spawn();
            // The answer is more than a pipe holds; it comes from temporary files.
            let mut stdout = run.stdout();
            stdout.read_exact(&mut [0; 66]).unwrap();
            run.until_temporary();
            run.kill(signal);
            drop(stdout);
            run.finish().was_killed_by(signal);
            assert_eq!(folder.names(), ["a", "b"], "{arguments}");
        }
    }
}

#[cfg(unix)]
#[test]
fn killed_while_lines_go_to_disk_it_leaves_nothing() {
    let folder = with_large_files();
    for signal in SIGNALS {
        for arguments in ["except a b", "except b a a", "dedup a b", "dedup b a --count"] {
            let umbel = folder.umbel(&format!("{arguments} --memory 16MiB"));
            let mut run = umbel.stdout(File::create(folder.path("out")).unwrap()).spawn();
            run.until_temporary();
            run.killed_by(signal);
            assert_eq!(folder.names(), ["a", "b", "out"], "{arguments}");
        }
    }
}

#[cfg(unix)]
#[test]
fn killed_while_lines_come_in_it_leaves_filters_alone() {
    let folder = folder();
    let before = folder.read("seen");
    for signal in SIGNALS {
        for arguments in [
            "filter build -o new --keys 10000 pipe",
            "filter build -o seen --force --keys 10000 pipe",
            "filter add seen pipe",
            "filter query -v seen pipe",
        ] {
            let (run, mut pipe) = folder.fed(arguments);
            // More than the pipe holds, so some of it was read.
            pipe.write_all(&urls(0..5_000)).unwrap();
            run.killed_by(signal);
            assert_eq!(folder.names(), ["keys", "pipe", "seen"], "{arguments}");
            assert!(folder.read("seen") == before, "{arguments}");
        }
    }
}

/// Whatever replaces a file, the one in its place is whole.
#[cfg(unix)]
#[test]
fn a_run_killed_at_any_moment_leaves_the_old_file_or_the_new_one() {
    let folder = folder();
    folder.write("fresh", urls(20_000..40_000));
    fs::create_dir(folder.path("store")).unwrap();
    let events =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/parquet/events.parquet");
    for (job, old, attempts) in [
        ("filter add -q store/f fresh", folder.read("seen"), long(200, 20)),
        ("parquet add -q -c url -c user_id store/f", fs::read(events).unwrap(), 20),
    ] {
        let run = || {
            folder.write("store/f", &old);
            folder.umbel(job).spawn()
        };
        let timed = |_| {
            let start = Instant::now();
            run().finish().done();
            start.elapsed()
        };
        // The fastest of some, for other tests run meanwhile.
        let usual = (0..10).map(timed).min().unwrap();
        let new = folder.read("store/f");
        let beside = || names(&folder.path("store"));
        let (mut random, mut killed) = (Random(0), 0);
        for attempt in 0..attempts {
            let outcome = run().killed_after(usual.mul_f64(1.1 * random.fraction()));
            let after = folder.read("store/f");
            assert!(after == old || after == new, "{attempt}: neither old nor new");
            assert!(after == new || !outcome.status.success(), "{attempt}: done, but old");
            killed += u32::from(outcome.status.signal().is_some());
            // Between the two steps of a replacement there is a second name, which the next one removes.
            assert!(beside().iter().all(|name| name == "f" || name.starts_with(".umbel-")));
            assert!(beside().len() <= 2);
        }
        assert!(killed >= attempts / 10, "only {killed} were killed");
        run().finish().done();
        assert!(folder.read("store/f") == new && beside() == ["f"]);
    }
}

#[cfg(unix)]
#[test]
fn a_filter_larger_than_the_cap_is_written_whole_or_not_at_all() {
    let folder = folder();
    let build = "filter build --keys 1e6 --size 40MB --memory 16MiB";
    for signal in SIGNALS {
        // Held where half of it is written.
        let mut run = folder.umbel(&format!("{build} -o - keys")).spawn();
        let mut stdout = run.stdout();
        std::io::copy(&mut stdout.by_ref().take(20_000_000), &mut std::io::sink()).unwrap();
        run.until_temporary();
        run.kill(signal);
        drop(stdout);
        run.finish().was_killed_by(signal);
    }
    let quiet = folder.umbel(&format!("{build} -o - keys")).unread().run();
    assert_eq!(quiet.stderr, "");
    quiet.done();
    assert_eq!(folder.names(), ["keys", "seen"]);
}

/// Runs `arguments`, which name a pipe and the file `keys`; when both are open and the pipe has still
/// to be read, changes the file.
#[cfg(unix)]
fn changed(arguments: &str, change: impl Fn(&Folder)) {
    let folder = folder();
    let filter = folder.read("seen");
    let (run, pipe) = folder.fed(arguments);
    // Where time stamps are coarse, a change at once would have the old one.
    thread::sleep(Duration::from_millis(20));
    change(&folder);
    let words = [": keys: changed while it was being read", "run again when nothing writes to it"];
    run.finish_after(pipe, &urls(500..1_000)).fails(&words);
    assert_eq!(folder.names(), ["keys", "pipe", "seen"]);
    assert!(folder.read("seen") == filter);
}

#[cfg(unix)]
#[test]
fn an_input_that_changes_meanwhile_is_noticed() {
    let all = "common keys pipe, common pipe keys, common keys pipe --at-least 1, \
        common keys pipe --fpp 0.01, dedup keys pipe, dedup pipe keys --repeated, \
        dedup keys pipe --count, dedup keys pipe --fpp 0.01, except keys pipe, except pipe keys, \
        except pipe keys --fpp 0.01, filter build -o new keys pipe, \
        filter build -o seen --force --keys 20000 pipe keys, filter add seen pipe keys, \
        filter query -v seen pipe keys";
    for arguments in all.split(", ") {
        changed(arguments, |folder| folder.open("keys").set_len(1000).unwrap());
        changed(arguments, |folder| folder.open("keys").write_all_at(b"X", 100).unwrap());
        // Written anew, and longer.
        changed(arguments, |folder| folder.write("keys", urls(50_000..90_000)));
    }
}

/// Runs `arguments`; changes the file `a` when the last pass over it has begun.
fn changed_in_the_last_pass(folder: &Folder, arguments: &str, change: impl Fn(&File)) {
    let mut run = folder.umbel(arguments).spawn();
    // The answer is more than a pipe holds; the pass waits where it begins.
    let mut out = run.stdout();
    out.read_exact(&mut [0; 66]).unwrap();
    change(&folder.open("a"));
    let rest = thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    let outcome = run.finish();
    rest.join().unwrap().unwrap();
    outcome.says(": a: changed while it was being read").ended_with(2);
}

/// A file that grew and is another one all the same: what was read of it in the only pass is no longer there.
#[test]
fn an_input_that_is_written_anew_and_longer_is_noticed() {
    for arguments in ["dedup a", "dedup a --fpp 0.01", "unseen f a", "filter query -v f a"] {
        let folder = Folder::new();
        folder.write("a", urls(0..600_000));
        folder.umbel("filter build -q -o f --keys 1e6").stdin("").run().done();
        changed_in_the_last_pass(&folder, arguments, |file| {
            file.write_all_at(&urls([7]), 66 * 1000).unwrap();
            folder.append("a", urls([1]));
        });
    }
}

#[cfg(unix)]
#[test]
fn of_an_input_that_grows_meanwhile_the_job_covers_what_was_there() {
    for (arguments, expected) in [
        ("common keys pipe", urls(500..1_000)),
        ("common pipe keys --at-least 1", urls((500..1_000).chain(0..500).chain(1_000..10_000))),
        ("dedup keys pipe", urls(0..10_000)),
        ("except keys pipe", urls((0..500).chain(1_000..10_000))),
        ("filter query seen pipe keys", urls((500..1_000).chain(0..10_000))),
    ] {
        let folder = folder();
        let (run, pipe) = folder.fed(arguments);
        folder.append("keys", [&urls(20_000..30_000)[..], b"half a line"].concat());
        let outcome = run.finish_after(pipe, &urls(500..1_000));
        let out = outcome.says(": keys grew during the run; the added data").done();
        assert!(out == expected, "{arguments}");
    }
}

#[cfg(unix)]
#[test]
fn of_an_input_that_grows_meanwhile_every_verb_tells() {
    for arguments in [
        "filter build -o new --keys 20000 pipe keys",
        "filter build -o new pipe keys",
        "filter build -o new --kind bloomier pipe keys",
        "filter build -o new --keys 30000000 --memory 16MiB pipe keys",
        "filter build -o new --copies 2 pipe keys",
        "filter add seen pipe keys",
        "filter remove counting pipe keys",
        "unseen seen pipe keys",
        "join --fields -k 1 keys pipe",
        "join --fields -k 1 --full pipe keys",
        "diff keys pipe",
    ] {
        let folder = folder();
        folder.umbel("filter build -q --kind counting -o counting keys").run().done();
        let (run, pipe) = folder.fed(arguments);
        folder.append("keys", urls(20_000..20_010));
        let outcome = run.finish_after(pipe, &urls(500..1_000));
        let told = outcome.stderr.matches(": keys grew during the run; the added data").count();
        assert_eq!(told, 1, "{arguments}: {}", outcome.stderr);
    }
}

#[test]
fn an_input_that_changes_between_passes_is_noticed() {
    for arguments in ["dedup a", "dedup a --count", "except a b"] {
        let folder = Folder::new();
        folder.write("a", urls(0..600_000));
        folder.write("b", urls(900_000..1_300_000));
        changed_in_the_last_pass(&folder, &format!("{arguments} --memory 16MiB"), |file| {
            // Another line, in a file of the same length.
            file.write_all_at(&urls([7]), 66 * 500_000).unwrap();
        });
    }
}

#[cfg(unix)]
#[test]
fn an_input_that_is_at_rest_is_not_said_to_change() {
    let folder = folder();
    let (run, pipe) = folder.fed("common keys pipe");
    thread::sleep(Duration::from_millis(20));
    folder.read("keys");
    assert_eq!(run.finish_after(pipe, &urls([7, 5])).done(), urls([5, 7]));
}

#[test]
fn a_reader_that_leaves_ends_the_run_quietly() {
    let folder = with_large_files();
    folder.write("few", urls(0..10));
    folder.umbel("filter build -q -o seen a").run().done();
    for arguments in [
        "common a b",
        "common a b --memory 16MiB",
        "common a b --fpp 0.01",
        "dedup a b",
        "dedup a b --memory 16MiB",
        "dedup a b --repeated --memory 16MiB",
        "dedup a b --count",
        "dedup a --fpp 0.01",
        "except a few",
        "except a few --memory 16MiB",
        "except a few --fpp 0.01",
        "filter query seen a",
        "filter build -o - a",
        "filter merge -o - seen",
    ] {
        let mut run = folder.umbel(arguments).spawn();
        let mut lines = BufReader::new(run.stdout());
        let mut first = Vec::new();
        lines.read_until(b'\n', &mut first).unwrap();
        assert!(!first.is_empty());
        drop(lines);
        let outcome = run.finish();
        assert_eq!(outcome.stderr, "", "{arguments}");
        outcome.done();
    }
}

#[test]
fn without_any_reader_the_run_ends_quietly() {
    let folder = folder();
    folder.write("few", urls(0..10));
    let all = "common keys keys, dedup keys, dedup keys --count, dedup keys --explain, except keys few, \
        except keys few --fpp 0.01, filter query seen keys, filter build -o - keys, \
        filter merge -o - seen, filter info seen, filter info --json seen seen, \
        common keys keys --explain, filter plan --keys 10 --fpp 0.1, completions zsh, man, --help, \
        common --help, --version";
    for arguments in all.split(", ") {
        let outcome = folder.umbel(arguments).unread().run();
        assert_eq!(outcome.stderr, "", "{arguments}");
        outcome.done();
    }
}

#[test]
fn a_reader_of_answers_that_leaves_ends_a_query_of_a_pipe() {
    let folder = folder();
    let (mut run, mut stdin, mut stdout) = folder.umbel("filter query seen").piped();
    stdin.write_all(&urls([3])).unwrap();
    stdout.read_exact(&mut [0; 66]).unwrap();
    drop(stdout);
    // The pipe stays open: it is the missing reader that ends the run, once there is an answer.
    for _ in 0..1000 {
        if !run.runs() {
            break;
        }
        let _ = stdin.write_all(&urls([4]));
        thread::sleep(Duration::from_millis(5));
    }
    let outcome = run.finish();
    assert_eq!(outcome.stderr, "");
    outcome.done();
}

#[cfg(unix)]
#[test]
fn words_that_nobody_can_read_are_no_error() {
    let folder = folder();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let closed = || Stdio::from(writer.try_clone().unwrap());
    let common = folder.umbel("common keys keys").stderr(closed()).run();
    assert!(common.done() == folder.read("keys"));
    folder.umbel("filter build -o full --keys 10 keys").stderr(closed()).run().done();
    folder.umbel("filter query -v full keys").stderr(closed()).run().nothing();
    let failed = folder.umbel("common keys gone").stderr(closed()).run();
    assert_eq!(failed.status.code(), Some(2));
    if let Ok(full) = OpenOptions::new().write(true).open("/dev/full") {
        folder.umbel("filter add --json seen keys").stderr(full).run().done();
    }
}
