//! Lines that go to a file named with `-o`, as a black box: whole or not at all; with `umbel unseen --append` each exactly once.
#![cfg(unix)]

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::seen::found;
use crate::util::{Folder, Outcome, Random, Running, lines, long, url, urls};

#[test]
fn a_kill_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::new();
    folder.write("out", "old\n");
    folder.umbel("filter build -q -o f --fpp 1e-9").stdin(urls(1000..3000)).run().done();
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let (run, mut pipe) = folder.fed("filter query f pipe -o out");
        pipe.write_all(&urls(1000..2000)).unwrap();
        run.killed_by(signal);
        assert_eq!(folder.read("out"), b"old\n");
        assert_eq!(folder.names(), ["f", "out", "pipe"]);
    }
}

/// What an interrupted run left may be removed; nothing that others put there.
#[test]
fn lines_of_others_behind_an_interrupted_run_are_kept() {
    let folder = Folder::new();
    let interrupted = |folder: &Folder| {
        let (mut run, mut pipe) = folder.fed("unseen -q f --fpp 1e-9 --checkpoint 0.05 -a q pipe");
        for end in [500, 1000] {
            pipe.write_all(&urls(end - 500..end)).unwrap();
            run.until("its lines are out", || folder.read_if_there("q") == urls(0..end));
            // Later ones need not be: then the file may be shorter by them.
            run.until("the first ones are recorded", || found(folder) >= Some(500));
        }
        run.killed_by(Signal::SIGKILL);
    };
    type Change = fn(&Folder);
    let changes: [(&str, Change); 6] = [
        ("has lines of other programs", |folder| {
            folder.umbel("unseen -q other -a q").stdin(urls(5000..5100)).run().done();
        }),
        ("has lines of other programs", |folder| folder.append("q", "theirs")),
        ("is not the file", |folder| {
            folder.write("new", urls(7000..10_000));
            fs::rename(folder.path("new"), folder.path("q")).unwrap();
        }),
        ("is not the file", |folder| {
            // The old one stays, so that its number is not given again.
            fs::rename(folder.path("q"), folder.path("old")).unwrap();
        }),
        ("is shorter", |folder| folder.write("q", "")),
        ("does not end", |folder| folder.write("q", urls(3000..5000))),
    ];
    for (words, change) in changes {
        let folder = Folder::new();
        interrupted(&folder);
        change(&folder);
        let before = folder.read_if_there("q");
        let again = "unseen f --fpp 1e-9 -a q a";
        folder.write("a", urls(0..1000));
        folder.umbel(again).run().fails(&[": q: ", words, "f.run", "--append"]);
        assert!(folder.read("q") == before, "{words}");
        // The other way out: each line is somewhere.
        folder.umbel(&again.replace("-a q", "-a elsewhere")).run().says("printed again");
        assert!(folder.read("q") == before, "{words}");
        folder.umbel("filter query -v f a").run().nothing();
        folder.umbel("unseen f -a q a").run().nothing();
    }
    // As it was left, it is continued.
    interrupted(&folder);
    folder.write("a", urls(0..2000));
    folder.umbel("unseen -q f --fpp 1e-9 -a q a").run().done();
    assert!(folder.read("q") == urls(0..2000));
}

/// A run that has read `urls(0..10)` from a pipe and put them out to `q`.
fn fed(folder: &Folder) -> (Running, File) {
    let (mut run, mut pipe) = folder.fed("unseen -q f -a q pipe");
    pipe.write_all(&urls(0..10)).unwrap();
    run.until("its lines are out", || folder.read_if_there("q") == urls(0..10));
    (run, pipe)
}

#[test]
fn a_file_that_is_removed_meanwhile_is_told() {
    let folder = Folder::new();
    let (run, pipe) = fed(&folder);
    fs::remove_file(folder.path("q")).unwrap();
    drop(pipe);
    run.finish().fails(&["q: was removed while lines were written to it"]);
    folder.umbel("filter query f").stdin(urls(0..10)).run().nothing();
}

#[test]
fn two_runs_to_one_file_wait_for_each_other() {
    let folder = Folder::new();
    let (run, pipe) = fed(&folder);
    let mut other = folder.umbel("unseen g -a q").stdin(urls(5..25)).spawn();
    let mut told = String::new();
    let mut stderr = BufReader::new(other.stderr());
    stderr.read_line(&mut told).unwrap();
    assert!(told.contains("q: waiting for another run"), "{told}");
    run.finish_after(pipe, &urls(10..20)).done();
    other.finish().done();
    assert!(folder.read("q") == urls(0..25));
}

/// What was taken back stays taken back, whatever happens to the run that did it.
#[test]
fn a_run_that_fails_after_it_took_lines_back_is_no_obstacle() {
    let folder = Folder::new();
    let (mut run, mut pipe) = folder.fed("unseen -q f --fpp 1e-9 --checkpoint 1 -a q pipe");
    pipe.write_all(&urls(0..500)).unwrap();
    run.until("they are recorded", || found(&folder) >= Some(500));
    for numbers in [500..800, 800..1000] {
        pipe.write_all(&urls(numbers.clone())).unwrap();
        run.until("its lines are out", || folder.read_if_there("q") == urls(0..numbers.end));
    }
    run.killed_by(Signal::SIGKILL);
    let damaged =
        folder.umbel("unseen -q f -a q").stdin(b"\x1f\x8b\x08\0\0\0\0\0\0\xffdamaged").run();
    damaged.fails(&["standard input: "]);
    folder.write("a", urls(0..1000));
    folder.umbel("unseen -q f --fpp 1e-9 -a q a").run().done();
    assert!(folder.read("q") == urls(0..1000));
}

/// Runs over two filters that write to one file and are killed at any moment, while others append to that file or put
/// another in its place: each line goes out exactly once, or the run refuses to go on and names the file; no byte of others
/// is lost.
fn any_writers(seed: u64) -> bool {
    const LINES: u64 = 20_000;
    let folder = Folder::new();
    let mut random = Random(seed);
    let line = |run: usize, number: u64| url(number + run as u64 * LINES);
    let inputs = ["a", "b"];
    for (run, name) in inputs.iter().enumerate() {
        folder.write(name, lines((0..LINES).map(|number| line(run, number))));
    }
    let seen = |run: usize| {
        let name = inputs[run];
        let options = "--fpp 1e-9 --keys 5e4 --checkpoint 0.002 --threads 1";
        folder.umbel(&format!("unseen -q {name}.umbel {options} -a q {name}"))
    };
    folder.write("q", "");
    // Whether a run was refused, and what others wrote.
    let (mut refused, mut theirs) = ([false; 2], Vec::new());
    let mut ended = |run: usize, outcome: Outcome| match outcome.status.code() {
        Some(2) => {
            outcome.says(": q: ");
            refused[run] = true;
        }
        code => assert!(matches!(code, None | Some(0 | 1)), "{seed}: {}", outcome.stderr),
    };
    for step in 0..6 {
        match random.below(8) {
            0 => {
                theirs.push(format!("theirs {step}\n"));
                folder.append("q", theirs.last().unwrap());
            }
            1 => {
                theirs.push(format!("theirs {step}\n"));
                let _ = fs::rename(folder.path("q"), folder.path(&format!("old-{step}")));
                folder.write("q", theirs.last().unwrap());
            }
            choice => {
                let run = choice as usize % 2;
                let pause = Duration::from_micros(random.below(40_000));
                ended(run, seen(run).spawn().killed_after(pause));
            }
        }
    }
    (0..2).for_each(|run| ended(run, seen(run).run()));
    let mut out = String::new();
    for name in folder.names().iter().filter(|name| *name == "q" || name.starts_with("old-")) {
        out += std::str::from_utf8(&folder.read(name)).unwrap();
        out.push('\n');
    }
    for text in &theirs {
        assert_eq!(out.matches(text).count(), 1, "{seed}: {text}");
    }
    let mut times = HashMap::new();
    out.lines().for_each(|line| *times.entry(line).or_insert(0) += 1);
    for (run, name) in inputs.iter().enumerate() {
        // What is recorded is out; what is out is there once.
        let recorded = folder.umbel(&format!("filter query -q {name}.umbel {name}")).run().stdout;
        let recorded = String::from_utf8(recorded).unwrap();
        let recorded: HashSet<_> = recorded.lines().collect();
        assert!(refused[run] || recorded.len() as u64 == LINES, "{seed}: {}", recorded.len());
        for number in 0..LINES {
            let line = line(run, number);
            let times = times.get(&*line).copied().unwrap_or(0);
            assert!(times <= 1, "{seed}: {line} {times} times");
            assert!(times == 1 || !recorded.contains(&*line), "{seed}: {line} is lost");
        }
    }
    refused != [false; 2]
}

#[test]
fn of_any_writers_each_line_goes_out_once_or_the_file_is_named() {
    let cases = long(500, 16);
    let refused = (0..cases).filter(|&seed| any_writers(seed)).count();
    // On a busy machine, runs may be killed before they write anything.
    let some = refused > 0 || (cases..500).any(any_writers);
    assert!(some && refused < cases as usize, "{refused} of {cases} refused");
}

/// Of runs that are killed at any moment, one after the other, each line goes out exactly once.
fn exactly_once(kills: u64, options: &str) {
    const LINES: u64 = 150_000;
    let folder = Folder::new();
    let all = urls(0..LINES);
    folder.write("a", &all);
    let seen = format!("unseen -q f --fpp 1e-9 -a out --checkpoint 0.002 {options} a");
    // A run that adds nothing takes about as long as one.
    let started = std::time::Instant::now();
    folder.umbel(&seen).run().done();
    let usual = started.elapsed();
    let (mut killed, mut taken_back) = (0, 0);
    for attempt in 0.. {
        if killed == kills {
            break;
        }
        if attempt % 5 == 0 {
            for name in ["f", "f.run", "out"] {
                let _ = fs::remove_file(folder.path(name));
            }
        }
        let share = f64::from(attempt * 7919 % 1000) / 1000.0;
        let run = folder.umbel(&seen).spawn().killed_after(usual.mul_f64(share));
        if run.status.code().is_none() {
            killed += 1;
        }
        let before = fs::metadata(folder.path("out")).map_or(0, |meta| meta.len());
        if attempt % 5 == 4 {
            let last = folder.umbel(&seen.replace("-q ", "")).run();
            taken_back += u64::from(last.stderr.contains("are removed; process"));
            assert!(matches!(last.status.code(), Some(0 | 1)), "{}", last.stderr);
            let out = folder.read("out");
            assert!(out == all, "{} bytes of {}, {before} before", out.len(), all.len());
            assert_eq!(folder.names(), ["a", "f", "out"]);
        }
    }
    eprintln!("{killed} killed, {taken_back} taken back");
    assert!(kills < 100 || taken_back > kills / 100, "{taken_back} taken back");
}

#[test]
fn a_killed_run_goes_on_behind_what_is_recorded() {
    exactly_once(8, "--keys 2e5");
    // A small filter is saved at many checkpoints.
    exactly_once(4, "--kind scalable");
    // Larger than the memory cap.
    exactly_once(4, "--keys 4e6 --memory 16MiB");
}

#[test]
#[ignore = "hundreds of kills: cargo x test --full"]
fn of_runs_killed_hundreds_of_times_each_line_goes_out_exactly_once() {
    exactly_once(200, "--keys 2e5");
    exactly_once(200, "--kind scalable --threads 1");
    exactly_once(100, "--keys 4e6 --memory 16MiB");
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_that_is_to_ignore_a_signal_goes_on() {
    let folder = Folder::new();
    folder.fifo("pipe");
    let umbel = env!("CARGO_BIN_EXE_umbel");
    let nohup = "trap '' HUP; exec \"$0\" unseen -q f -a out pipe";
    let mut run = folder.program("sh", "-c").arg(nohup).arg(umbel).spawn();
    let mut pipe = run.feed(&folder, "pipe");
    pipe.write_all(&urls(0..10)).unwrap();
    run.until("it put lines out", || folder.read_if_there("out").len() == 660);
    run.kill(Signal::SIGHUP);
    run.finish_after(pipe, &urls(10..20)).done();
    assert!(folder.read("out") == urls(0..20));
}

#[test]
fn a_filter_that_another_run_changes_is_waited_for() {
    let folder = Folder::new();
    let build = |name: &str| {
        folder.umbel(&format!("filter build -q -o {name} --kind counting --keys 1e4 --fpp 1e-9"))
    };
    build("f").stdin(urls(0..100)).run().done();
    build("g").stdin(urls(500..600)).run().done();
    for arguments in [
        "filter merge -f -o f f g",
        "filter merge -q -f -o f f g",
        "filter convert -f -o f --to blocked f",
    ] {
        let (mut add, mut pipe) = folder.fed("filter add -q f pipe");
        pipe.write_all(&urls(1000..1100)).unwrap();
        let is_locked = || fs::File::open(folder.path("f")).unwrap().try_lock().is_err();
        add.until("it had the filter", is_locked);
        let mut other = folder.umbel(arguments).spawn();
        thread::sleep(Duration::from_millis(200));
        assert!(other.runs(), "{arguments}");
        drop(pipe);
        add.finish().done();
        let other = other.finish();
        let told = other.stderr.contains("f: waiting for another run that is changing it");
        assert_eq!(told, !arguments.contains("-q"), "{}", other.stderr);
        other.done();
        folder.umbel("filter query -v f").stdin(urls((0..100).chain(1000..1100))).run().nothing();
    }
}
