//! `umbel common` as a black box: which lines come out, in which order, from which kinds of input.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use serde_json::Value;

use crate::util::{Folder, gzip, least_memory, lines, long, urls};

#[test]
fn lines_of_two_files_come_once_in_the_first_files_order() {
    let folder = Folder::new();
    folder.write("a", "pear\napple\npear\nfig\nplum\napple\n");
    folder.write("b", "plum\nfig\nfig\ncherry\napple\n");
    assert_eq!(folder.umbel("common a b").run().text(), "apple\nfig\nplum\n");
    assert_eq!(folder.umbel("common b a").run().text(), "plum\nfig\napple\n");
}

#[test]
fn lines_of_three_files_are_those_in_all_of_them() {
    let folder = Folder::new();
    folder.write("a", "5\n4\n3\n2\n1\n");
    folder.write("b", "1\n2\n3\n4\n");
    folder.write("c", "9\n2\n2\n5\n4\n");
    assert_eq!(folder.umbel("common a b c").run().text(), "4\n2\n");
}

#[test]
fn at_least_counts_files_not_repeats() {
    let folder = Folder::new();
    folder.write("a", "x\nx\nx\nonly a\nab\nabc\n");
    folder.write("b", "only b\nabc\nbc\nab\n");
    folder.write("c", "bc\nonly c\nabc\nonly c\n");
    let run = |least: u32| folder.umbel(&format!("common --at-least {least} a b c")).run().text();
    assert_eq!(run(1), "x\nonly a\nab\nabc\nonly b\nbc\nonly c\n");
    assert_eq!(run(2), "ab\nabc\nbc\n");
    assert_eq!(run(3), "abc\n");
}

#[test]
fn each_line_is_told_the_files_that_have_it() {
    let folder = Folder::new();
    folder.write("a", "x\nx\nab\nabc\n");
    folder.write("b", "b\nabc\nbc\nab\n");
    folder.write("c", "bc\nabc\nc\n");
    let run = |arguments: &str| folder.umbel(&format!("common {arguments}")).run();
    let which = "1\tx\n1,2\tab\n1,2,3\tabc\n2\tb\n2,3\tbc\n3\tc\n";
    assert_eq!(run("--which a b c").text(), which);
    assert_eq!(run("--which a b c --total").text(), "6\n");
    let names = "a,b\tab\na,b,c\tabc\nb,c\tbc\n";
    assert_eq!(run("--which=names --at-least 2 a b c").text(), names);
    assert_eq!(run("--only 2,3 a b c").text(), "bc\n");
    assert_eq!(run("--only 3,2,3 --which a b c").text(), "2,3\tbc\n");
    assert_eq!(run("--only 1,2,3 a b c").text(), "abc\n");
    run("--only 1,3 a b c").nothing();
    for (arguments, words) in [
        ("--only 4 a b c", &["--only 4", "found 3 files"][..]),
        ("--only 0 a b c", &["--only", "0"]),
        ("--only 1 --at-least 2 a b c", &["--at-least"]),
        ("--which --all a b c", &["--all"]),
    ] {
        folder.refuses(&format!("common {arguments}"), words);
    }
    // Columns and members; a file with more than 64 others.
    folder.write("a.csv", "id,n\n1,\"p,q\"\n2,r\n");
    folder.write("b.csv", "n,id\ns,2\nt,3\n");
    let csv = "files,id,n\n1,1,\"p,q\"\n\"1,2\",2,r\n2,3,t\n";
    assert_eq!(run("--which --csv -k id a.csv b.csv").text(), csv);
    folder.write("a,a.csv", "id,n\n2,r\n");
    let tabs = "files\tid,n\na.csv,a,a.csv\t2,r\n";
    assert_eq!(run("--which=names --only 1,2 --tsv a.csv a,a.csv").text(), tabs);
    let quoted = "files,id,n\n\"a.csv,a,a.csv\",2,r\n";
    assert_eq!(run("--which=names --only 1,2 --csv a.csv a,a.csv").text(), quoted);
    folder.write("a.jsonl", "{\"id\":1}\n{\"id\":2}\n");
    folder.write("b.jsonl", "{\"id\":2,\"n\":1}\n");
    let json = "{\"files\":[1],\"record\":{\"id\":1}}\n{\"files\":[1,2],\"record\":{\"id\":2}}\n";
    assert_eq!(run("--which --jsonl -k id a.jsonl b.jsonl").text(), json);
    let json = "{\"files\":[\"a.jsonl\",\"b.jsonl\"],\"record\":{\"id\":2}}\n";
    assert_eq!(run("--which=names --only 1,2 --jsonl -k id a.jsonl b.jsonl").text(), json);
    let many = "a ".repeat(70);
    assert_eq!(run(&format!("--only 71 {many} b {many}")).text(), "b\nbc\n");
}

/// Two files of 20 MB: as `LC_ALL=C comm` and `uniq` have it; and with a line out of order, as without the order.
#[cfg(unix)]
#[test]
fn sorted_files_are_merged_and_others_that_seem_so_are_not() {
    let folder = Folder::new();
    let rows = |every: u32| {
        let numbers = (0..600_000u32).filter(move |i| i % every != 0);
        numbers
            .flat_map(|i| format!("https://example.org/{i:08}\n").into_bytes())
            .collect::<Vec<_>>()
    };
    let (a, b) = (rows(3), [rows(5), b"last".to_vec()].concat());
    folder.write("a", &a);
    folder.write("b", &b);
    let comm = |columns: &str| {
        let script = format!("LC_ALL=C comm {columns} a b");
        folder.program("sh", "-c").arg(&script).run().stdout
    };
    let verbs = [("common a b", "-12"), ("except a b", "-23"), ("except b a", "-13")];
    for (verb, columns) in verbs {
        let plan = folder.umbel(&format!("{verb} --explain")).run().text();
        assert!(plan.contains("plan     merge"), "{plan}");
        let run = folder.umbel(&format!("{verb} --json --memory 64MiB")).run();
        assert!(run.stdout == comm(columns), "{verb}");
        assert_eq!(run.report()["distinct"], 0, "{verb}: without a table");
    }
    folder.write("marked", [b"\xef\xbb\xbf", &a[..]].concat());
    assert!(folder.umbel("common b marked --memory 64MiB").run().stdout == comm("-12"));
    let half = a.len() / 2 / 29 * 29;
    folder.write("twice", [&a[..half], &a[half - 29..], &b"z\n".repeat(50)].concat());
    let once = [&a[..], b"z\n"].concat();
    assert!(folder.umbel("dedup twice --memory 64MiB").run().done() == once);
    // A line of b that a has too is moved to where samples do not see it.
    let shared = b"https://example.org/00000001\n";
    let start = b.windows(29).position(|line| line == shared).unwrap();
    let middle = (b.len() / 64 * 30 + 20_000) / 29 * 29;
    let moved = [&b[..start], &b[start + 29..middle], &shared[..], &b[middle..]].concat();
    folder.write("moved", &moved);
    for (verb, columns) in [("common a moved", "-12"), ("except a moved", "-23")] {
        let plan = folder.umbel(&format!("{verb} --explain")).run().text();
        assert!(plan.contains("plan     merge"), "{plan}");
        let run = folder.umbel(&format!("{verb} --json --memory 64MiB")).run();
        assert!(run.stdout == comm(columns), "{verb}");
        assert!(run.report()["distinct"].as_u64() > Some(0), "{verb}: with a table");
    }
}

#[test]
fn a_file_against_itself_gives_its_different_lines() {
    let folder = Folder::new();
    folder.write("a", "b\na\nb\n\nc\na\n");
    assert_eq!(folder.umbel("common a a").run().text(), "b\na\n\nc\n");
    assert_eq!(folder.umbel("common a a a --at-least 2").run().text(), "b\na\n\nc\n");
}

#[test]
fn nothing_common_is_exit_1() {
    let folder = Folder::new();
    folder.write("a", "1\n2\n");
    folder.write("b", "3\n22\n");
    folder.umbel("common a b").run().nothing();
}

#[test]
fn an_empty_file_shares_nothing() {
    let folder = Folder::new();
    folder.write("empty", "");
    folder.write("a", "1\n\n");
    folder.umbel("common a empty").run().nothing();
    folder.umbel("common empty a").run().nothing();
    folder.umbel("common empty empty").run().nothing();
    assert_eq!(folder.umbel("common --at-least 1 empty a").run().text(), "1\n\n");
}

#[test]
fn a_last_line_without_an_end_is_a_line_like_others() {
    let folder = Folder::new();
    folder.write("open", "x\nlast");
    folder.write("closed", "last\ny\nx\n");
    folder.write("short", "last");
    assert_eq!(folder.umbel("common open closed").run().text(), "x\nlast\n");
    assert_eq!(folder.umbel("common closed open").run().text(), "last\nx\n");
    assert_eq!(folder.umbel("common open open").run().text(), "x\nlast\n");
    assert_eq!(folder.umbel("common short open").run().text(), "last\n");
}

#[test]
fn an_empty_line_is_a_line() {
    let folder = Folder::new();
    folder.write("a", "\n\nx\n");
    folder.write("b", "y\n\n");
    assert_eq!(folder.umbel("common a b").run().text(), "\n");
}

#[test]
fn a_carriage_return_belongs_to_the_line() {
    let folder = Folder::new();
    folder.write("dos", "one\r\ntwo\r\nthree\r\n\r\n");
    folder.write("unix", "one\ntwo\r\nthree\n\n");
    assert_eq!(folder.umbel("common dos unix").run().text(), "two\r\n");
    assert_eq!(folder.umbel("common dos dos").run().done(), folder.read("dos"));
}

#[test]
fn any_bytes_make_a_line() {
    let folder = Folder::new();
    let odd = [&b"\0"[..], b"a\0b", b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\0\0", b"\x1b[0m"];
    folder.write("a", lines(odd));
    folder.write("b", lines(odd.iter().rev().chain([&&b"a\0c"[..], &&b"\xff"[..]])));
    assert_eq!(folder.umbel("common a b").run().done(), folder.read("a"));
}

#[test]
fn lines_may_have_one_byte() {
    let folder = Folder::new();
    let all = || (0..=255u8).filter(|&byte| byte != b'\n');
    folder.write("up", lines(all().map(|byte| [byte])));
    folder.write("down", lines(all().rev().map(|byte| [byte])));
    folder.write("even", lines(all().filter(|byte| byte % 2 == 0).map(|byte| [byte])));
    assert_eq!(folder.umbel("common up down").run().done(), folder.read("up"));
    assert_eq!(folder.umbel("common down even up").run().done().len(), 2 * 127);
}

#[test]
fn with_null_lines_end_with_nul() {
    let folder = Folder::new();
    folder.write("a", "one\nline\0two\0three\r\n\0four");
    folder.write("b", "four\0three\r\n\0one\0line\0");
    assert_eq!(folder.umbel("common -0 a b").run().text(), "three\r\n\0four\0");
    assert_eq!(folder.umbel("common --null a a").run().text(), "one\nline\0two\0three\r\n\0four\0");
}

#[test]
fn a_line_repeated_a_million_times_comes_once() {
    let folder = Folder::new();
    folder.write("a", "again\n".repeat(1_000_000));
    folder.write("b", "first\nagain\n".repeat(500_000));
    for memory in ["16MiB", "1GiB"] {
        let run = folder.umbel(&format!("common a b --memory {memory}")).run();
        assert_eq!(run.text(), "again\n");
    }
}

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

#[test]
fn compressed_files_are_read_as_what_they_hold() {
    let folder = Folder::new();
    let (left, right) = (urls(0..3000), urls(1000..5000));
    folder.write("left", &left);
    folder.write("left.gz", gzip(&left));
    folder.write("LEFT.GZ", gzip(&left));
    // As `cat one.gz two.gz` makes them, cut within a line.
    folder.write("members.gz", [gzip(&right[..70_001]), gzip(&right[70_001..])].concat());
    folder.write("right.zst", zstd::encode_all(&right[..], 3).unwrap());
    let frames = right.chunks(100_003).flat_map(|part| zstd::encode_all(part, 3).unwrap());
    folder.write("frames.zst", frames.collect::<Vec<u8>>());
    let expected = urls(1000..3000);
    for files in [
        "left members.gz",
        "left right.zst",
        "left frames.zst",
        "left.gz right.zst",
        "LEFT.GZ frames.zst",
        "left.gz members.gz right.zst frames.zst",
    ] {
        assert!(folder.umbel(&format!("common {files}")).run().done() == expected, "{files}");
    }
}

#[test]
fn dash_is_standard_input_from_a_pipe() {
    let folder = Folder::new();
    folder.write("a", urls(0..2000));
    let piped = urls((500..2500).rev());
    let first = folder.umbel("common a -").stdin(&piped[..]).run();
    assert!(first.done() == urls(500..2000));
    let second = folder.umbel("common - a").stdin(&piped[..]).run();
    assert!(second.done() == urls((500..2000).rev()));
    folder.umbel("common - a").stdin("").run().nothing();
}

#[test]
fn dash_is_standard_input_from_where_a_file_stands() {
    let folder = Folder::new();
    folder.write("a", "1\n2\n3\n");
    folder.write("b", "3\n2\n1\n");
    let mut file = File::open(folder.path("b")).unwrap();
    let whole = folder.umbel("common - a").stdin_file(file.try_clone().unwrap()).run();
    assert_eq!(whole.text(), "3\n2\n1\n");
    // Something else, such as `read` of a shell, took the first line.
    file.seek(SeekFrom::Start(2)).unwrap();
    let rest = folder.umbel("common - a").stdin_file(file).run();
    assert_eq!(rest.text(), "2\n1\n");
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

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_claims_to_have_no_bytes_is_read() {
    let folder = Folder::new();
    folder.write("copy", std::fs::read("/proc/version").unwrap());
    assert_eq!(folder.umbel("common /proc/version copy").run().done(), folder.read("copy"));
    assert_eq!(folder.umbel("common copy /proc/version").run().done(), folder.read("copy"));
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
fn explain_tells_the_passes_and_does_nothing() {
    let folder = Folder::new();
    folder.write("a", urls(0..130_000));
    folder.write("b", urls(100_000..230_000));
    let explain = |options: &str| folder.umbel(&format!("common a b --explain {options}")).run();
    let run = explain("--memory 64MiB --threads 2");
    assert_eq!(run.stderr, "");
    let text = run.text();
    for words in ["memory   64.0 MiB in all, 2 threads", "input    a: ", "plan ", " passes"] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    assert!(!text.contains("https"), "{text}");
    assert!(explain("--memory 16MiB").text().contains("filter   of all lines: "));
    assert!(explain("--fpp 0.01").text().contains("each input is read once"));
    let plan: Value = serde_json::from_str(&explain("--json --memory 16MiB").text()).unwrap();
    assert_eq!(plan["type"], "explain");
    assert_eq!(plan["strategy"], "filter");
    assert_eq!(plan["memory"], 16 << 20);
    assert_eq!(plan["passes"], 3);
    assert_eq!(plan["bytes_read"], 3 * 130_000 * 66);
    assert_eq!(folder.names(), ["a", "b"]);
}

#[test]
fn the_report_tells_what_was_done() {
    let folder = Folder::new();
    folder.write("a", "1\n2\n3\n");
    folder.write("b", "3\n4\n");
    let said = folder.umbel("common --verbose a b").run().stderr;
    assert_eq!(said.lines().count(), 1, "{said}");
    for words in ["umbel common: 5 lines, ", " 1 common, ", " 2 passes, ", " peak ", ", exact\n"] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

#[test]
fn with_json_the_report_is_one_object() {
    let folder = Folder::new();
    folder.write("a", "1\n2\n3\n");
    folder.write("b", "3\n4\n2");
    let run = folder.umbel("common a b --json").run();
    assert_eq!(run.stdout, b"2\n3\n");
    let report = run.report();
    for (field, value) in [
        ("type", Value::from("report")),
        ("verb", "common".into()),
        ("lines", 6.into()),
        ("found", 2.into()),
        ("bytes_read", 11.into()),
        ("bytes_spilled", 0.into()),
        ("bytes_written", 4.into()),
        ("passes", 2.into()),
        ("exact", true.into()),
    ] {
        assert_eq!(report[field], value, "{field} in {report}");
    }
    assert!(report["distinct"].is_u64() && report["peak_memory"].is_u64(), "{report}");
    assert!(report["seconds"].as_f64() > Some(0.0), "{report}");
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

#[test]
fn with_quiet_nothing_is_said() {
    let folder = Folder::new();
    folder.write("a", "1\n2\n");
    folder.write("b", "2\n");
    for quiet in ["--quiet", "-q", "-q --json"] {
        let run = folder.umbel(&format!("common a b {quiet}")).run();
        assert_eq!(run.stderr, "");
        assert_eq!(run.text(), "2\n");
    }
}

#[cfg(unix)]
#[test]
fn a_file_name_may_be_any_bytes_and_look_like_an_option() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let name = std::ffi::OsStr::from_bytes(b"-\xff \n");
    std::fs::write(folder.path("").join(name), "1\n2\n").unwrap();
    folder.write("a", "2\n");
    assert_eq!(folder.umbel("common --").arg(name).arg("a").run().text(), "2\n");
}
