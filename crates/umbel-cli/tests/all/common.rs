//! `umbel common`: what `cases/common.md` cannot show.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use crate::util::{Folder, least_memory, long, urls};

#[test]
fn a_line_of_100_mb_just_works_and_says_what_memory_it_needs() {
    let folder = Folder::new();
    let mut line = vec![b'x'; 100_000_000];
    line[50_000_000] = b'y';
    folder.write("a", [b"before\n", &line[..], b"\nbetween\nafter\n"].concat());
    folder.write("b", [b"after\n", &line[..]].concat());
    let expected = [&line[..], b"\nafter\n"].concat();
    let common = |memory: &str| folder.umbel(&format!("common a b {memory}")).run();

    assert!(common("").done() == expected);
    assert!(common("--memory 1GiB").done() == expected);
    let message =
        common("--memory 64MiB").fails(&[", line ", "the line has 100000000 bytes", "64MiB"]);
    assert!(common(&format!("--memory {}", least_memory(&message))).done() == expected);
    // A byte that differs in the midst of it is seen.
    line[70_000_000] = b'y';
    folder.write("b", [b"after\n", &line[..]].concat());
    assert_eq!(common("").text(), "after\n");
}

#[cfg(unix)]
#[test]
fn named_pipes_are_inputs() {
    let folder = Folder::new();
    folder.fifo("left");
    folder.fifo("right");
    let mut run = folder.umbel("common left right").spawn();
    // Both are opened, then one is read to its end before the other.
    let (mut left, mut right) = (run.feed(&folder, "left"), run.feed(&folder, "right"));
    left.write_all(&urls(0..1500)).unwrap();
    drop(left);
    right.write_all(&urls(1000..3000)).unwrap();
    drop(right);
    assert!(run.finish().done() == urls(1000..1500));
}

/// As `tee` does: it waits when one of them is full.
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
    // The shell opens the last one first.
    folder.write("all", urls(0..9000));
    names.iter().for_each(|name| folder.fifo(name));
    let run = folder.umbel("common one two three -j 1").spawn();
    let mut tee = std::process::Command::new("sh");
    tee.args(["-c", "exec tee one two < all > three"]).current_dir(folder.path(""));
    let mut tee = tee.spawn().unwrap();
    assert!(run.finish().done() == urls(0..9000));
    assert!(tee.wait().unwrap().success());
}

/// Lines in at least `least` of `files`, in order of first appearance.
fn model(files: &[Vec<u64>], least: usize) -> Vec<u64> {
    let mut files_with: HashMap<u64, usize> = HashMap::new();
    let mut order = Vec::new();
    for file in files {
        for line in file.iter().collect::<HashSet<_>>() {
            *files_with.entry(*line).or_default() += 1;
        }
        order.extend(file);
    }
    let mut seen = HashSet::new();
    order.retain(|line| files_with[line] >= least && seen.insert(*line));
    order
}

#[test]
fn the_answer_is_the_same_for_any_threads_and_memory() {
    // Some 9 MB each, with repeats: at 16 MiB the lines they share do not fit in memory.
    let folder = Folder::new();
    let files = [
        (0..120_000).chain(0..10_000).collect(),
        (20_000..150_000).rev().collect(),
        (110_000..240_000).chain(3..7).collect::<Vec<u64>>(),
    ];
    for (name, file) in ["a", "b", "c"].into_iter().zip(&files) {
        folder.write(name, urls(file.iter().copied()));
    }
    let mut spilled = HashSet::new();
    for (what, used, least) in [
        ("a b", &files[..2], 2),
        ("a c", &[files[0].clone(), files[2].clone()], 2),
        ("a b c --at-least 2", &files, 2),
        ("a b c", &files, 3),
        ("a b c --at-least 1", &files, 1),
    ] {
        let expected = urls(model(used, least));
        let hows = ["2 --memory 1GiB", "2 --memory 16MiB", "1 --memory 16MiB", "4 --memory 18MiB"];
        for how in long(&hows[..], &hows[..2]) {
            let run = folder.umbel(&format!("common {what} --threads {how} --json")).run();
            assert!(run.stdout == expected, "{what} --threads {how}: {}", run.stderr);
            spilled.insert(run.report()["bytes_spilled"].as_u64() > Some(0));
        }
    }
    assert!(spilled.contains(&true) && spilled.contains(&false), "both ways were taken");
}

#[test]
fn with_fpp_each_file_is_read_once_and_the_error_is_told() {
    let folder = Folder::new();
    folder.write("a", urls(0..2000));
    folder.write("b", urls(1000..3000));
    let run = folder.umbel("common --verbose a b --fpp 0.1").run();
    assert!(
        run.stderr.contains("not exact: a line is extra with a chance of 0.0"),
        "{}",
        run.stderr
    );
    // Half of 0.1 for lines extra and half for lines missing, of 1000 each: 50 and 6 deviations.
    let found: HashSet<_> = run.stdout.split_inclusive(|&byte| byte == b'\n').collect();
    let (common, other) = (urls(1000..2000), urls(0..1000));
    let count = |lines: &[u8]| {
        lines.split_inclusive(|&byte| byte == b'\n').filter(|line| found.contains(line)).count()
    };
    assert!(count(&common) >= 1000 - 92, "{} of 1000", count(&common));
    assert!(count(&other) <= 92, "{} of 1000", count(&other));
    assert_eq!(count(&common) + count(&other), found.len());
    let report = folder.umbel("common a b --fpp 0.1 --json").run().report();
    assert_eq!(report["exact"], false);
    assert_eq!(report["passes"], 2);
    for chance in ["chance_extra", "chance_missing"] {
        let chance = report[chance].as_f64().unwrap();
        assert!(chance > 0.0 && chance < 0.1, "{report}");
    }
    // At this rate an error among 300 lines has a chance below 1e-6.
    folder.write("few", urls(900..1200));
    for memory in ["16MiB", "1GiB"] {
        let run = folder.umbel(&format!("common few b --fpp 1e-9 --memory {memory}")).run();
        assert!(run.done() == urls(1000..1200));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_peak_told_is_not_that_of_who_started_it() {
    let folder = Folder::new();
    folder.write("a", "1\n2\n");
    let held = vec![1u8; 300 << 20];
    let report = folder.umbel("common a a --json").run().report();
    assert!(report["peak_memory"].as_u64() < Some(100 << 20), "{report}");
    assert!(held.iter().all(|&byte| byte == 1));
}
