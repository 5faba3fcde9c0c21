//! The memory cap as a black box: a job stays within its cap and 32 MiB, as its report tells and as the system counts; or it
//! names the least cap that works, which then works. Here is what runs under 16 MiB, the least there is; [`shapes`] has
//! inputs of any shape under caps of any size, and [`pieces`] filters that are larger than the cap.

#![cfg(unix)]

#[path = "../util/mod.rs"]
mod util;

mod pieces;
mod shapes;

use std::process::Stdio;

use serde_json::Value;

use util::{Folder, Outcome, Umbel, gzip, lines, long, url, urls};

const MIB: u64 = 1 << 20;
const SLACK: u64 = 32 * MIB;
/// Lines of a file: 20 MB.
const LINES: u64 = 300_000;

/// Runs a program, and writes on a last line of standard error how many bytes of memory it had at most. By itself, the system
/// tells the peak of all children together, and counts as a child's what its parent had in use when it started it.
const COUNT: &str = "import os, resource, sys
code = os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:])
unit = 1 if sys.platform == 'darwin' else 1024
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit, file=sys.stderr)
sys.exit(code)";

/// A run whose memory is counted, for [`counted`].
fn umbel(folder: &Folder, arguments: &str) -> Umbel {
    folder.program("python3", "-c").arg(COUNT).arg(env!("CARGO_BIN_EXE_umbel")).args(arguments)
}

/// What came of it; asserts that its peak was within a cap of so many MiB, and 32 MiB.
fn counted(umbel: Umbel, cap: u64) -> Outcome {
    let mut outcome = umbel.run();
    let last = outcome.stderr.trim_end().rfind('\n').map_or(0, |end| end + 1);
    let peak: u64 = outcome.stderr.split_off(last).trim_end().parse().unwrap();
    assert!(peak <= cap * MIB + SLACK, "{}: {peak} bytes", outcome.command);
    outcome
}

/// Asserts that a run was done, and that the peak that it tells is within a cap of so many MiB, and 32 MiB.
fn told(outcome: &Outcome, cap: u64) -> Value {
    let Outcome { command, stderr, status, .. } = outcome;
    assert!(matches!(status.code(), Some(0 | 1)), "{command}: {stderr}");
    let report: Value = serde_json::from_str(stderr).unwrap();
    let peak = report["peak_memory"].as_u64().unwrap();
    assert!(peak <= cap * MIB + SLACK, "{command}: {report}");
    report
}

/// A job under a cap of so many MiB.
fn capped(folder: &Folder, cap: u64, job: &str) -> Umbel {
    umbel(folder, &format!("{job} --json --memory {cap}MiB"))
}

/// Runs a job under a cap of so many MiB: what it prints, and its report.
fn within(folder: &Folder, cap: u64, job: &str) -> (Vec<u8>, Value) {
    let outcome = counted(capped(folder, cap, job), cap);
    let report = told(&outcome, cap);
    (outcome.stdout, report)
}

/// As [`within`], under 16 MiB.
fn work(folder: &Folder, job: &str) -> (Vec<u8>, Value) {
    within(folder, 16, job)
}

fn spilled(report: &Value) -> u64 {
    report["bytes_spilled"].as_u64().unwrap() / MIB
}

/// The lines of a file.
fn numbers(name: &str) -> Vec<u64> {
    // A quarter of the lines differ, the others are all the same.
    let most_are_one = |count| (0..count).map(|i| if i % 4 == 0 { i } else { 1 });
    match name {
        "a" => (0..LINES).collect(),
        "back" => (0..LINES).rev().collect(),
        "few" => (0..10).collect(),
        "most" => (10..LINES).rev().collect(),
        "others" => (LINES..2 * LINES).collect(),
        "tenth" => (LINES / 10 * 9..LINES / 10 * 19).collect(),
        "half" => (LINES / 2..LINES / 2 * 3).collect(),
        "more" => (0..LINES).chain(0..LINES / 2).collect(),
        "ones" => most_are_one(LINES).collect(),
        "and-ones" => most_are_one(LINES).chain(0..LINES / 2).collect(),
        "many-ones" => most_are_one(2 * LINES).collect(),
        name => panic!("{name}"),
    }
}

/// Does jobs on files with such [`numbers`]: each prints these lines, and writes so many MiB to temporary files or more.
fn do_jobs(names: &[&str], jobs: &[(&str, Vec<u64>, u64)]) -> Folder {
    let folder = Folder::new();
    names.iter().for_each(|name| folder.write(name, urls(numbers(name))));
    for (job, expected, least) in jobs {
        let expected = urls(expected.iter().copied());
        for threads in long(&[1, 2, 3][..], &[3]) {
            let (out, report) = work(&folder, &format!("{job} --threads {threads}"));
            assert!(out == expected, "{job}");
            assert_eq!(report["found"], expected.len() / 66, "{job}");
            assert!(spilled(&report) >= *least, "{job}: {report}");
        }
    }
    folder
}

#[test]
fn common_lines() {
    let names = ["a", "back", "tenth", "half", "ones", "and-ones"];
    do_jobs(
        &names,
        &[
            ("common a tenth", (LINES / 10 * 9..LINES).collect(), 0),
            ("common a back", numbers("a"), 10),
            ("common a half --at-least 1", (0..LINES / 2 * 3).collect(), 8),
            ("common ones and-ones", different(LINES), 0),
            ("common a half --fpp 1e-7", (LINES / 2..LINES).collect(), 0),
        ],
    );
}

/// The different lines where most are one.
fn different(count: u64) -> Vec<u64> {
    [0, 1].into_iter().chain((1..count / 4).map(|i| 4 * i)).collect()
}

#[test]
fn lines_once() {
    let folder = do_jobs(
        &["a", "back", "half", "many-ones"],
        &[
            ("dedup a", numbers("a"), 0),
            ("dedup a back", numbers("a"), 10),
            ("dedup a back --repeated", numbers("a"), 10),
            ("dedup many-ones many-ones", different(2 * LINES), 0),
            ("dedup a half --fpp 1e-7", (0..LINES / 2 * 3).collect(), 0),
        ],
    );
    // A filter tells that nothing repeats: nothing is kept.
    assert_eq!(work(&folder, "dedup a").1["bytes_spilled"], 0);
    let (out, _) = work(&folder, "dedup a --repeated");
    assert!(out.is_empty());
    for threads in long(&[1, 2, 3][..], &[3]) {
        let twice = lines((0..LINES).map(|number| format!("2\t{}", url(number))));
        let (out, report) = work(&folder, &format!("dedup a back --count --threads {threads}"));
        assert!(out == twice && spilled(&report) >= 10, "{report}");
        let job = format!("dedup a back --count --repeated --threads {threads}");
        assert!(work(&folder, &job).0 == twice);
    }
    for options in ["", "--count", "--repeated"] {
        work(&folder, &format!("dedup many-ones {options} --threads 2"));
    }
    // Filters that do not fit are refused.
    let job = "dedup a half a half --fpp 1e-12 --threads 2";
    counted(capped(&folder, 16, job), 16).fails(&["a memory cap of 16MiB is too small"]);
}

#[test]
fn lines_left() {
    let names = ["a", "few", "half", "more", "most", "others"];
    do_jobs(
        &names,
        &[
            ("except more half", (0..LINES / 2).collect(), 0),
            ("except more most", numbers("few"), 10),
            ("except more most others half", numbers("few"), 10),
            ("except more others", numbers("a"), 0),
            ("except more few", (10..LINES).collect(), 0),
            ("except few others", numbers("few"), 0),
            ("except a half --fpp 1e-7", (0..LINES / 2).collect(), 0),
        ],
    );
}

#[test]
fn pipes_that_are_spooled() {
    let folder = Folder::new();
    let a = urls(0..LINES);
    folder.write("back", urls((0..LINES).rev()));
    for (job, piped) in [("common - back", a.clone()), ("dedup -", a.repeat(2))] {
        let outcome = counted(capped(&folder, 16, job).stdin(piped), 16);
        let report = told(&outcome, 16);
        assert!(outcome.stdout == a && spilled(&report) >= 10, "{job}: {report}");
    }
}

#[test]
fn rows_by_keys() {
    let folder = Folder::new();
    let row = |number| format!("{},{number},\"\"\"line\nfeed\"\"\"", url(number));
    let table = |numbers: &mut dyn Iterator<Item = u64>| {
        lines(std::iter::once("url,n,text".to_owned()).chain(numbers.map(row)))
    };
    let a = table(&mut (0..LINES));
    folder.write("a", &a);
    folder.write("b", table(&mut (0..LINES).rev()));
    folder.write("c", table(&mut (LINES..2 * LINES)));
    let keys = [
        "--key text --key url --threads 3",
        "--key url --key n --threads 2",
        "--key n --threads 1",
    ];
    for key in &keys[..long(3, 2)] {
        let jobs =
            [("common a b", 10), ("dedup a b", 0), ("dedup a b --repeated", 10), ("except a c", 0)];
        for (job, least) in jobs {
            let (out, report) = work(&folder, &format!("{job} --csv {key}"));
            // Keys of six digits fit, and `common` keeps nothing else.
            let least = if (job, *key) == ("common a b", keys[2]) { 0 } else { least };
            assert!(out == a && spilled(&report) >= least, "{job} {key}: {report}");
        }
        let (_, report) = work(&folder, &format!("dedup a b --csv {key} --count"));
        assert!(spilled(&report) >= 10, "{report}");
    }
    work(&folder, "filter build -o f a --csv --key text --key n --keys 4e6");
    assert_eq!(work(&folder, "filter query f b --csv --key text --key n").1["found"], LINES);
}

#[test]
fn filters_are_built_and_asked() {
    let folder = Folder::new();
    let a = urls(0..LINES);
    folder.write("a", &a);
    work(&folder, "filter build -o f a --keys 4e6");
    work(&folder, "filter add f a");
    // Larger than the cap.
    work(&folder, "filter build -o pieces a --size 100MB --keys 1e6");
    assert!(work(&folder, "filter query f a").0 == a);
    for threads in [1, 3] {
        let (out, report) = work(&folder, &format!("filter query pieces a --threads {threads}"));
        assert!(out == a && report["found"] == LINES, "{report}");
        work(&folder, &format!("filter add pieces a --threads {threads}"));
    }
    folder.write("b", urls(LINES / 2..LINES / 2 * 3));
    assert!(work(&folder, "unseen pieces b").0 == urls(LINES..LINES / 2 * 3));
    folder.append("b", vec![b'x'; 12_000_000]);
    for verb in ["filter query -v", "unseen", "filter add"] {
        work(&folder, &format!("{verb} pieces b"));
    }
    for threads in long(&[1, 2, 3][..], &[3]) {
        let build =
            format!("filter build -f -o f --kind scalable --keys 1000 --fpp 1e-6 -j {threads} a");
        let (_, report) = work(&folder, &build);
        let links = report["filter"]["parts"].as_array().map(Vec::len);
        assert_eq!(links, Some(9), "{report}");
    }
}

#[test]
fn filters_of_seen_lines() {
    let folder = Folder::new();
    folder.write("a", urls(0..LINES));
    folder.write("b", urls(LINES / 2..LINES / 2 * 3));
    // Near what the cap leaves.
    for (filter, kind) in [("f", "blocked"), ("g", "classic")] {
        let options = format!("{filter} --keys 7e5 --fpp 1e-8 --kind {kind} --threads 1");
        let (out, _) = work(&folder, &format!("unseen {options} --checkpoint 0.01 a"));
        assert!(out == folder.read("a"));
        let (out, _) = work(&folder, &format!("unseen {options} b"));
        assert!(out == urls(LINES..LINES / 2 * 3));
    }
    // Far beyond it.
    assert!(work(&folder, "unseen h --keys 1e8 --threads 1 a").0 == folder.read("a"));
    assert_eq!(folder.names(), ["a", "b", "f", "g", "h"]);
}

/// In an error that nobody sees, it was in quotes with six characters for each of these: 60 MB.
#[test]
fn a_filter_in_json_with_escapes_takes_a_few_times_its_bytes() {
    let folder = Folder::new();
    let json = [&br#"{"m":64,"k":1,"b":"\\"#[..], &vec![0x7f; 5_000_000], br#""}"#].concat();
    folder.write("filter.json", json);
    let info = umbel(&folder, "filter info --format bits-and-blooms-json filter.json");
    counted(info, 16).fails(&["filter.json: ", "URL-safe base64 in b"]);
}

/// Their names alone are more than the cap. The error tells one that is enough.
#[test]
fn tens_of_thousands_of_inputs() {
    let folder = Folder::new();
    folder.write("f", "a\nb\n");
    folder.write("list", ("./".repeat(100) + "f\n").repeat(20_000));
    for verb in ["dedup", "common --at-least 2", "common --which=names", "filter build -f -o new"] {
        let job = format!("{verb} --files-from list");
        let few = counted(capped(&folder, 16, &job), 16);
        few.fails(&["list: is too long for a memory cap of 16.0 MiB, after", "--memory"]);
        // Bytes of the paths four times over, and some hundred for each.
        within(&folder, 31, &job);
    }
}

#[test]
fn indexes_and_searches() {
    let folder = Folder::new();
    folder.write("a", urls(0..LINES));
    folder.write("b", urls(LINES..2 * LINES));
    folder.write("c.gz", gzip(&folder.read("a")));
    for threads in long(&[1, 2, 3][..], &[3]) {
        let work = |job: &str| work(&folder, &format!("{job} --threads {threads}")).1;
        assert_eq!(work("index -f -o x a b c.gz")["files"], 3);
        assert_eq!(work(&format!("find x --count {}", url(LINES / 2)))["found"], 2);
        // Every line, of which no filter narrows the blocks down.
        assert_eq!(work("find x -F ttp --count")["found"], 3 * LINES);
        assert_eq!(work("index --update x")["files_read"], 0);
    }
}

/// Lines of one letter, each printed with a long name; a line of words that are hardly ever the same; and more
/// texts than fit.
#[test]
fn searches_for_much() {
    let folder = Folder::new();
    let name = "n".repeat(200);
    folder.write(&name, "a\n".repeat(1 << 18));
    assert_eq!(work(&folder, &format!("find {name} a")).1["found"], 1 << 18);
    // Chains of three letters, with signs between them.
    let random = |i: u64| {
        let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as usize
    };
    let pair = |i| {
        let letter = b"abcdefghijklmnopqrstuvwxyz0123456789"[random(i) % 36];
        [letter, b".,:;/-+=#&"[random(i) / 36 % 10]]
    };
    folder.write("long", (0..1_900_000).flat_map(pair).chain([b'\n']).collect::<Vec<_>>());
    work(&folder, "index -o x long --threads 4");
    assert_eq!(work(&folder, "find x --count a.").1["found"], 1);
    folder.write("texts", lines((0..10_000).map(|i| i.to_string())));
    counted(capped(&folder, 16, "find x -f texts"), 16).fails(&["raise --memory to "]);
}

#[test]
fn many_files() {
    let folder = Folder::new();
    let files = 80;
    for file in 0..files {
        let first = file * LINES / 40;
        // The next one begins with the last line.
        folder.write(&file.to_string(), urls(first..=first + LINES / 40));
    }
    folder.write("list", lines((0..files).map(|file| file.to_string())));
    for threads in [1, 2] {
        let work = |job: &str| work(&folder, &format!("{job} --files-from list -j {threads}"));
        assert!(work("dedup").0 == urls(0..=files * LINES / 40));
        assert_eq!(work("common --at-least 2").1["found"], files - 1);
    }
}

/// Blocks that look like those of bgzip, whose text may be a thousand times longer than bgzip's.
#[test]
fn blocks_with_more_text_than_bgzip_allows() {
    let folder = Folder::new();
    let text = [&[b'x'; 1023][..], b"\n"].concat().repeat(16 << 10);
    folder.write("a.gz", util::bgzip(&text, flate2::Compression::best()).repeat(20));
    for threads in [1, 2] {
        assert_eq!(work(&folder, &format!("dedup a.gz --threads {threads}")).0.len(), 1024);
    }
}

/// Lines near the longest that the cap allows, of which parsers could make many times their size: of names of members and
/// columns, of letters and labels of a host.
#[test]
fn lines_of_many_small_parts() {
    let folder = Folder::new();
    for (name, start, part, bytes, end) in [
        ("members", "{\"k\":1}\n{", "\"a\":0,", 4_900_000, "\"z\":0}\n"),
        ("columns", "", "a,", 4_900_000, "z\n1\n"),
        ("labels", "http://\u{e9}", ".", 1_300_000, "/x\n"),
        ("object", "{\"k\":1", ",\"\":0", 4_900_000, "}\n"),
    ] {
        folder.write(name, [start, &part.repeat(bytes / part.len()), end].concat());
    }
    for threads in [1, 2] {
        let job = format!("dedup members --jsonl --raw --key k --missing skip -j {threads}");
        let (_, report) = work(&folder, &job);
        assert_eq!((&report["found"], &report["missing"]), (&1.into(), &1.into()), "{report}");
        let (_, report) = work(&folder, &format!("dedup labels --normalize url -j {threads}"));
        assert_eq!(report["found"], 1);
        let too_many = "too many for a memory cap of 16MiB";
        for (job, words) in [
            ("dedup columns --csv --key b", "and 2449981 more"),
            ("join object members --jsonl -k k", too_many),
            ("join columns columns --csv -k z", too_many),
        ] {
            counted(capped(&folder, 16, &format!("{job} -j {threads}")), 16).fails(&[words]);
        }
    }
}

/// A wide row with many partners, on either side, in memory or in temporary files.
#[test]
fn joins_of_wide_rows() {
    let folder = Folder::new();
    let write = |name: &str, others: u64, rows: u64, width: usize| {
        let mut file = format!("k,{name}\n");
        for i in 0..others.max(rows) {
            if i < others {
                file += &format!("{i},{:010}\n", i * 7_919);
            }
            if i % (others / rows).max(1) == 0 {
                file += &format!("x,{}\n", name.repeat(width));
            }
        }
        folder.write(name, file);
    };
    write("n", 120_000, 24, 10);
    for width in long(&[70_000, 1_000_000, 4_500_000][..], &[4_500_000]) {
        write("w", 120_000, 1, *width);
        write("o", 0, 1, *width);
        for job in ["n w", "w n", "n o", "o n", "w o --full", "o w --left --first"] {
            for threads in long(&[1, 2, 16][..], &[2, 16]) {
                let job = format!("join --csv -k k -j {threads} {job}");
                told(&counted(capped(&folder, 16, &job).stdout(Stdio::null()), 16), 16);
            }
        }
    }
}

/// Hundreds of runs, each with a line so long that only a few can be merged at once.
#[test]
fn long_lines_are_sorted() {
    let folder = Folder::new();
    let line = |number: u64| format!("{number:03}{}", "x".repeat(150_000));
    folder.write("a", lines((0..300).map(|i| line(i * 7 % 300))));
    let (out, report) = work(&folder, "dedup a --sort -j 1");
    assert!(out == lines((0..300).map(line)) && spilled(&report) >= 10, "{report}");
}
