//! `umbel common`, `umbel dedup` and `umbel except`: what `cases/common.md` cannot show.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use umbel::KeyHasher;

use crate::util::{Folder, Random, least_memory, lines, long, url, urls};

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

/// How often each line comes, in the order of first appearance, without excluded ones.
fn model(lines: impl IntoIterator<Item = u64>, excluded: &HashSet<u64>) -> Vec<(u64, u64)> {
    let (mut order, mut counts) = (Vec::new(), HashMap::new());
    for line in lines.into_iter().filter(|line| !excluded.contains(line)) {
        *counts.entry(line).or_insert_with(|| {
            order.push(line);
            0
        }) += 1;
    }
    order.into_iter().map(|line| (line, counts[&line])).collect()
}

/// The number of 0..`most` that falls to `draw` when small ones are the most frequent: the rank r with a
/// chance of about 1/r.
fn zipf(draw: u64, most: u64) -> u64 {
    Random(draw).of_any_size(most - 1) - 1
}

/// Runs with few and many threads, in memory and on disk; asserts that all give `expected`. Tells
/// whether some went to disk.
fn all_ways_give(folder: &Folder, arguments: &str, expected: &[u8]) -> bool {
    let mut spilled = false;
    for how in [
        "1 --memory 16MiB",
        "2 --memory 16MiB",
        "4 --memory 20MiB",
        "3 --memory 64MiB",
        "2 --memory 1GiB",
    ] {
        let run = folder.umbel(&format!("{arguments} --threads {how} --json")).run();
        assert!(run.stdout == expected, "{arguments} --threads {how}: {}", run.stderr);
        assert_eq!(run.status.code(), Some(i32::from(expected.is_empty())));
        let report: Value = serde_json::from_str(&run.stderr).unwrap();
        assert_eq!(report["exact"], true);
        spilled |= report["bytes_spilled"].as_u64() > Some(0);
    }
    spilled
}

#[test]
#[ignore = "every cap with every number of threads: cargo x test --full"]
fn dedup_gives_the_same_for_any_threads_and_memory() {
    const LINES: u64 = 400_000;
    type Line = fn(u64) -> u64;
    let cases: [(&str, Line); 6] = [
        ("all different", |i| i),
        ("all equal", |_| 7),
        ("each twice, far apart", |i| i % (LINES / 2)),
        ("each twice, side by side", |i| i / 2),
        ("some often", |i| zipf(i, LINES)),
        ("the second half new", |i| if i < LINES / 2 { i % 1000 } else { i }),
    ];
    let folder = Folder::new();
    let mut spilled = Vec::new();
    for (name, line) in cases {
        // In two files, as one.
        folder.write("a", urls((0..LINES / 3).map(line)));
        folder.write("b", urls((LINES / 3..LINES).map(line)));
        let model = model((0..LINES).map(line), &HashSet::new());
        let repeated = || model.iter().filter(|(_, count)| *count > 1);
        let counted = |(number, count): &(u64, u64)| format!("{count}\t{}", url(*number));
        let all = urls(model.iter().map(|(number, _)| *number));
        if all_ways_give(&folder, "dedup a b", &all) {
            spilled.push(name);
        }
        let expected = urls(repeated().map(|(number, _)| *number));
        all_ways_give(&folder, "dedup a b --repeated", &expected);
        all_ways_give(&folder, "dedup a b --count", &lines(model.iter().map(counted)));
        all_ways_give(&folder, "dedup a b --count --repeated", &lines(repeated().map(counted)));
    }
    assert!(spilled.contains(&"each twice, far apart"), "went to disk: {spilled:?}");
    assert!(!spilled.contains(&"all equal"), "went to disk: {spilled:?}");
}

#[test]
#[ignore = "every cap with every number of threads: cargo x test --full"]
fn except_gives_the_same_for_any_threads_and_memory() {
    const LINES: u64 = 400_000;
    type Numbers = Box<dyn Iterator<Item = u64>>;
    let all = || Box::new(0..LINES) as Numbers;
    let each = |line: fn(u64) -> u64| Box::new((0..LINES).map(line)) as Numbers;
    let cases: [(&str, Numbers, Numbers); 8] = [
        ("nothing shared", all(), Box::new(LINES..2 * LINES)),
        ("half shared", all(), Box::new((LINES / 2..LINES / 2 * 3).rev())),
        ("all shared", all(), Box::new((0..LINES).rev())),
        ("a small other", all(), Box::new(LINES - 5..LINES + 5)),
        ("a large other", Box::new(LINES - 500..LINES + 500), all()),
        (
            "half shared, each twice",
            each(|i| i % (LINES / 2)),
            each(|i| LINES / 4 + i % (LINES / 2)),
        ),
        ("some often", each(|i| zipf(i, LINES)), each(|i| zipf(i + LINES, LINES))),
        ("all equal", each(|_| 7), each(|_| 8)),
    ];
    let folder = Folder::new();
    let mut spilled = Vec::new();
    for (name, from, other) in cases {
        let (from, other): (Vec<u64>, Vec<u64>) = (from.collect(), other.collect());
        let more: Vec<u64> = other.iter().step_by(3).map(|number| number + 1).collect();
        folder.write("a", urls(from.iter().copied()));
        folder.write("b", urls(other.iter().copied()));
        folder.write("c", urls(more.iter().copied()));
        let mut excluded: HashSet<_> = other.into_iter().collect();
        let left = |excluded: &HashSet<u64>| {
            urls(model(from.iter().copied(), excluded).into_iter().map(|(number, _)| number))
        };
        if all_ways_give(&folder, "except a b", &left(&excluded)) {
            spilled.push(name);
        }
        excluded.extend(more);
        all_ways_give(&folder, "except a b c", &left(&excluded));
    }
    assert!(spilled.contains(&"all shared"), "went to disk: {spilled:?}");
    assert!(!spilled.contains(&"all equal"), "went to disk: {spilled:?}");
}

#[test]
#[ignore = "every cap with every number of threads: cargo x test --full"]
fn rows_give_the_same_for_any_threads_and_memory() {
    const ROWS: u64 = 150_000;
    let folder = Folder::new();
    let row = |i: u64, word: &str| format!("{},\"{word} \"\"{i}\"\"\n\",{}", i * 7, url(i));
    let table = |header: &str, rows: &mut dyn Iterator<Item = String>| {
        lines(std::iter::once(header.to_owned()).chain(rows))
    };
    let rows =
        |range: std::ops::Range<u64>| table("n,text,url", &mut range.map(|i| row(i, "some")));
    // The second file has the second half of the first one's keys, and others.
    folder.write("a", rows(0..ROWS));
    let second = || (ROWS / 2..ROWS / 2 * 3).rev().map(|i| row(i, "other"));
    folder.write("b", table("n,text,url", &mut second()));
    let new = || (ROWS..ROWS / 2 * 3).rev().map(|i| row(i, "other"));
    let both = [rows(0..ROWS), lines(new())].concat();
    let first = (0..ROWS).map(|i| format!("{},{}", 1 + i / (ROWS / 2), row(i, "some")));
    let counted = first.chain(new().map(|row| format!("1,{row}")));
    let counted = table("count,n,text,url", &mut { counted });
    for key in ["n", "url", "url --key n"] {
        let ways = |verb: &str, options: &str, expected: &[u8]| {
            all_ways_give(&folder, &format!("{verb} --csv --key {key} a b {options}"), expected)
        };
        ways("dedup", "", &both);
        ways("dedup", "--count", &counted);
        assert!(ways("dedup", "--repeated", &rows(ROWS / 2..ROWS)), "all in memory");
        ways("except", "", &rows(0..ROWS / 2));
    }
}

#[test]
fn lines_whose_hashes_collide_are_told_apart() {
    /// The bits of the low half that the slots of a table keep.
    const TAG: u32 = 28;
    let all_lines: u64 = long(6_000_000, 1_500_000);
    let line = |number: u64| format!("{number:x}");
    let hasher = KeyHasher::default();
    let number = (1 << (64 - TAG)) - 1;
    let mut tagged: Vec<u64> =
        (0..all_lines).map(|i| hasher.hash(line(i)).low & !number | i).collect();
    tagged.sort_unstable();
    let groups = tagged.chunk_by(|one, other| one & !number == other & !number);
    let groups: Vec<_> = groups.filter(|group| group.len() > 1).collect();
    // Of n lines, n²/2²⁹ pairs collide: 67,055, or 4,190.
    let pairs = (all_lines * all_lines) >> 29;
    assert!(groups.len() as u64 > pairs / 4 * 3, "{} groups", groups.len());
    assert!(groups.iter().any(|group| group.len() > 2));
    let member = |nth: usize| {
        let lines = groups.iter().filter_map(|group| group.get(nth));
        lines.map(|tagged| line(tagged & number)).collect::<Vec<_>>()
    };
    let folder = Folder::new();
    let members = [0, 1, 2].map(|nth| lines(member(nth)));
    for (name, lines) in ["a", "b", "c"].into_iter().zip(&members) {
        folder.write(name, lines);
    }
    let all = members.concat();
    folder.write("all", &all);
    folder.umbel("common a b").run().nothing();
    folder.umbel("common b c --memory 16MiB").run().nothing();
    assert!(folder.umbel("common a all").run().done() == members[0]);
    assert!(folder.umbel("common all b --memory 16MiB").run().done() == members[1]);
    assert!(folder.umbel("common a b --at-least 1").run().done() == members[..2].concat());
    assert!(folder.umbel("dedup all").run().done() == all);
    assert!(folder.umbel("dedup a b c a --memory 16MiB").run().done() == all);
    folder.umbel("dedup --repeated a b c").run().nothing();
    assert!(folder.umbel("dedup --repeated all b").run().done() == members[1]);
    assert!(folder.umbel("except a b").run().done() == members[0]);
    assert!(folder.umbel("except b a c --memory 16MiB").run().done() == members[1]);
    assert!(folder.umbel("except all a c").run().done() == members[1]);
    // Under whatever seed a run has: of half of the lines in a table, a quarter as many pairs collide.
    let every = |nth: usize| lines((0..all_lines / 2).step_by(nth).map(line));
    folder.write("every", every(1));
    folder.write("even", every(2));
    let odd = lines((1..all_lines / 2).step_by(2).map(line));
    let run = |arguments: &str| folder.umbel(&format!("{arguments} --memory 1GiB")).run().done();
    assert!(run("dedup every every") == every(1));
    assert!(run("dedup every even --repeated") == every(2));
    assert!(run("except every even") == odd);
    assert!(run("common every even") == every(2));
    // Filters see 128 bits.
    assert!(folder.umbel("dedup --fpp 1e-12 all all").run().done() == all);
    assert!(folder.umbel("except --fpp 1e-12 a b").run().done() == members[0]);
}

#[test]
fn a_line_of_100_mb_just_works_and_says_what_memory_it_needs() {
    let folder = Folder::new();
    let length = long(100_000_000, 70_000_000);
    let long_line = vec![b'x'; length];
    folder.write("a", [b"before\n", &long_line[..], b"\nbetween\nbefore\n"].concat());
    folder.write("b", [b"before\n", &long_line[..]].concat());
    folder.write("c", "between\n");
    let jobs = [
        ("common a b", [b"before\n", &long_line[..], b"\n"].concat()),
        ("dedup a b", [b"before\n", &long_line[..], b"\nbetween\n"].concat()),
        ("except a b", b"between\n".to_vec()),
        ("dedup --repeated a b", [b"before\n", &long_line[..], b"\n"].concat()),
        ("dedup --count b c", [b"1\tbefore\n1\t", &long_line[..], b"\n1\tbetween\n"].concat()),
        ("except a c", [b"before\n", &long_line[..], b"\n"].concat()),
    ];
    for (arguments, expected) in jobs.into_iter().take(long(6, 3)) {
        let run = |memory: &str| folder.umbel(&format!("{arguments} {memory}")).run();
        assert!(run("").done() == expected, "{arguments}");
        let stopped = run("--memory 64MiB");
        assert_eq!(stopped.status.code(), Some(2), "{arguments}");
        // What went out before is the beginning of the answer.
        assert!(expected.starts_with(&stopped.stdout), "{arguments}");
        let stopped = stopped.says(&format!(" 2: the line has {length} bytes")).says("64MiB");
        let least = format!("--memory {}", least_memory(&stopped.stderr));
        assert!(run(&least).done() == expected, "{arguments} {least}");
    }
    // A byte that differs in the midst of it is seen.
    let mut other = long_line;
    other[length / 2] = b'y';
    folder.write("b", [b"before\n", &other[..]].concat());
    assert_eq!(folder.umbel("common a b").run().text(), "before\n");
}
