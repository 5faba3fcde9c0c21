//! `umbel dedup` and `umbel except` as a black box: which lines come out, in which order, how often they
//! are said to come, from which kinds of input.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use serde_json::Value;
use umbel::KeyHasher;

use crate::util::{self, Folder, gzip, least_memory, lines, url, urls};

fn text(folder: &Folder, arguments: &str) -> String {
    folder.umbel(arguments).run().text()
}

#[test]
fn union_is_another_name() {
    let folder = Folder::new();
    folder.write("a", "2\n1\n");
    folder.write("b", "1\n3\n");
    assert_eq!(folder.umbel("union a b").run().text(), "2\n1\n3\n");
    let run = folder.umbel("union --verbose a b").run();
    assert!(run.stderr.starts_with("umbel union: "), "{}", run.stderr);
    assert_eq!(folder.umbel("union --json a b").run().report()["verb"], "union");
    assert!(folder.umbel("union a gone").run().fails(&["gone"]).starts_with("umbel union: "));
    let help = folder.umbel("help union").run().text();
    assert!(help.contains("umbel union is the same"), "{help}");
}

#[test]
fn each_line_comes_once_in_the_order_of_first_appearance() {
    let folder = Folder::new();
    folder.write("a", "pear\napple\npear\nfig\nplum\napple\n");
    folder.write("b", "cherry\nfig\nquince\ncherry\n");
    assert_eq!(text(&folder, "dedup a"), "pear\napple\nfig\nplum\n");
    assert_eq!(text(&folder, "dedup a b"), "pear\napple\nfig\nplum\ncherry\nquince\n");
    assert_eq!(text(&folder, "dedup b a"), "cherry\nfig\nquince\npear\napple\nplum\n");
    assert_eq!(text(&folder, "dedup b b b"), "cherry\nfig\nquince\n");
}

#[test]
fn repeated_gives_lines_that_come_more_than_once() {
    let folder = Folder::new();
    folder.write("a", "once\ntwice\nthrice\nthrice\nacross\ntwice\nthrice\n");
    folder.write("b", "other\nacross\n");
    assert_eq!(text(&folder, "dedup --repeated a"), "twice\nthrice\n");
    assert_eq!(text(&folder, "dedup --repeated a b"), "twice\nthrice\nacross\n");
    assert_eq!(text(&folder, "dedup --repeated b b"), "other\nacross\n");
    folder.umbel("dedup --repeated b").run().nothing();
    folder.umbel("dedup --min 1").run().nothing();
}

#[test]
fn count_tells_how_often_a_line_comes() {
    let folder = Folder::new();
    folder.write("a", "x\ny\nx\n\ty\nx");
    folder.write("b", "z\n\nx\n");
    assert_eq!(text(&folder, "dedup --count a"), "3\tx\n1\ty\n1\t\ty\n");
    assert_eq!(text(&folder, "dedup --count a b"), "4\tx\n1\ty\n1\t\ty\n1\tz\n1\t\n");
    assert_eq!(text(&folder, "dedup --count --repeated a b"), "4\tx\n");
    folder.umbel("dedup --count --repeated b").run().nothing();
    folder.write("nuls", "x\0y\nz\0x\0");
    assert_eq!(text(&folder, "dedup --count -0 nuls"), "2\tx\x001\ty\nz\0");
}

#[test]
fn except_gives_lines_that_no_other_file_has() {
    let folder = Folder::new();
    folder.write("a", "5\n4\n3\n4\n2\n1\n5\n");
    folder.write("b", "2\n9\n2\n");
    folder.write("c", "4\n8\n44\n");
    assert_eq!(text(&folder, "except a b"), "5\n4\n3\n1\n");
    assert_eq!(text(&folder, "except a c"), "5\n3\n2\n1\n");
    assert_eq!(text(&folder, "except a b c"), "5\n3\n1\n");
    assert_eq!(text(&folder, "except a c b c"), "5\n3\n1\n");
    assert_eq!(text(&folder, "except b a"), "9\n");
    folder.umbel("except b a b").run().nothing();
}

#[test]
fn a_file_except_itself_is_nothing() {
    let folder = Folder::new();
    folder.write("a", "b\na\nb\n\nlast");
    folder.umbel("except a a").run().nothing();
    folder.umbel("except a a a").run().nothing();
    folder.write("large", urls(0..300_000));
    for memory in ["16MiB", "1GiB"] {
        folder.umbel(&format!("except large large --memory {memory}")).run().nothing();
    }
}

#[test]
fn empty_files_have_no_lines() {
    let folder = Folder::new();
    folder.write("empty", "");
    folder.write("a", "1\n\n1\n");
    assert_eq!(folder.umbel("dedup empty").run().text(), "");
    folder.umbel("dedup empty empty --repeated").run().nothing();
    assert_eq!(folder.umbel("dedup empty --count").run().text(), "");
    assert_eq!(folder.umbel("dedup empty --fpp 0.1").run().text(), "");
    assert_eq!(folder.umbel("dedup").stdin("").run().text(), "");
    assert_eq!(text(&folder, "dedup empty a empty"), "1\n\n");
    assert_eq!(text(&folder, "except a empty"), "1\n\n");
    assert_eq!(text(&folder, "except a empty empty"), "1\n\n");
    folder.umbel("except empty a").run().nothing();
    folder.umbel("except empty empty").run().nothing();
}

#[test]
fn a_last_line_without_an_end_is_a_line_like_others() {
    let folder = Folder::new();
    folder.write("open", "x\nlast");
    folder.write("closed", "last\ny\n");
    folder.write("short", "last");
    // It does not run into the first line of the next file.
    assert_eq!(text(&folder, "dedup open closed"), "x\nlast\ny\n");
    assert_eq!(text(&folder, "dedup short short short"), "last\n");
    assert_eq!(text(&folder, "dedup --repeated open short"), "last\n");
    assert_eq!(text(&folder, "dedup --count open short"), "1\tx\n2\tlast\n");
    assert_eq!(text(&folder, "except open closed"), "x\n");
    assert_eq!(text(&folder, "except closed open"), "y\n");
    folder.umbel("except short open").run().nothing();
    folder.write("new", "y\nz");
    assert_eq!(text(&folder, "except new open"), "y\nz\n");
}

#[test]
fn an_empty_line_is_a_line() {
    let folder = Folder::new();
    folder.write("a", "\n\nx\n\n");
    folder.write("b", "\n");
    assert_eq!(text(&folder, "dedup a"), "\nx\n");
    assert_eq!(text(&folder, "dedup b"), "\n");
    assert_eq!(text(&folder, "dedup --repeated a"), "\n");
    assert_eq!(text(&folder, "dedup --count a"), "3\t\n1\tx\n");
    assert_eq!(text(&folder, "except a b"), "x\n");
}

#[test]
fn any_bytes_make_a_line() {
    let folder = Folder::new();
    let odd = [&b"\0"[..], b"a\0b", b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\0\0", b"\x1b[0m"];
    folder.write("a", lines(odd.iter().chain(&odd)));
    folder.write("b", lines([&b"a\0c"[..], b"\xff", b"\0\0\0"]));
    // The other way around, these are a line feed in UTF-16.
    folder.write("some", lines([&b"\0"[..], b"\xff\xfe"]));
    assert_eq!(folder.umbel("dedup a").run().done(), lines(odd));
    assert_eq!(folder.umbel("dedup --repeated a").run().done(), lines(odd));
    assert_eq!(folder.umbel("except a b").run().done(), lines(odd));
    let left = odd.iter().filter(|line| ![&b"\xff\xfe"[..], b"\0"].contains(line));
    assert_eq!(folder.umbel("except a some").run().done(), lines(left));
    // One byte each, and every pair of bytes.
    let bytes = || (0..=255u8).filter(|&byte| byte != b'\n');
    let pairs = lines(bytes().flat_map(|one| bytes().map(move |other| [one, other])));
    folder.write("pairs", [&pairs[..], &lines(bytes().map(|byte| [byte])), &pairs].concat());
    let once = [&pairs[..], &lines(bytes().map(|byte| [byte]))].concat();
    assert!(folder.umbel("dedup pairs").run().done() == once);
    assert!(folder.umbel("dedup --repeated pairs").run().done() == pairs);
}

#[test]
fn a_carriage_return_belongs_to_the_line() {
    let folder = Folder::new();
    folder.write("a", "one\r\none\n\r\n\none\r\n");
    folder.write("b", "one\n");
    assert_eq!(text(&folder, "dedup a"), "one\r\none\n\r\n\n");
    assert_eq!(text(&folder, "except a b"), "one\r\n\r\n\n");
}

#[test]
fn with_null_lines_end_with_nul() {
    let folder = Folder::new();
    folder.write("a", "one\nline\0two\0one\nline\0three\r\n\0two");
    folder.write("b", "two\0line\0");
    assert_eq!(text(&folder, "dedup -0 a"), "one\nline\0two\0three\r\n\0");
    assert_eq!(text(&folder, "dedup --null --repeated a"), "one\nline\0two\0");
    assert_eq!(text(&folder, "except -0 a b"), "one\nline\0three\r\n\0");
}

#[test]
fn compressed_files_are_read_as_what_they_hold() {
    let folder = Folder::new();
    let (left, right) = (urls((0..3000).chain(0..100)), urls(1000..5000));
    folder.write("left", &left);
    folder.write("left.gz", [gzip(&left[..70_001]), gzip(&left[70_001..])].concat());
    folder.write("right.gz", gzip(&right));
    folder.write("right.zst", zstd::encode_all(&right[..], 3).unwrap());
    for files in ["left right.gz", "left.gz right.zst", "left.gz right.gz right.zst left"] {
        assert!(folder.umbel(&format!("dedup {files}")).run().done() == urls(0..5000), "{files}");
        let excepted = folder.umbel(&format!("except {files} --memory 32MiB")).run();
        if files.ends_with(" left") {
            excepted.nothing();
        } else {
            assert!(excepted.done() == urls(0..1000), "{files}");
        }
    }
    let counted = text(&folder, "dedup --count --repeated left.gz");
    assert_eq!(counted, (0..100).map(|i| format!("2\t{}\n", url(i))).collect::<String>());
}

#[test]
fn standard_input_is_an_input() {
    let folder = Folder::new();
    folder.write("a", urls(0..2000));
    let piped = urls((500..2500).chain(600..700));
    let run = |arguments: &str| folder.umbel(arguments).stdin(&piped[..]).run();
    assert!(run("dedup").done() == urls(500..2500));
    assert!(run("dedup -").done() == urls(500..2500));
    assert!(run("dedup --repeated").done() == urls(600..700));
    assert!(run("dedup --fpp 1e-9").done() == urls(500..2500));
    assert!(run("dedup a -").done() == urls(0..2500));
    assert!(run("dedup - a").done() == urls((500..2500).chain(0..500)));
    assert!(run("except a -").done() == urls(0..500));
    assert!(run("except - a").done() == urls(2000..2500));
    run("dedup - -").fails(&["standard input can be read only once"]);
    // A file, from where it stands.
    let mut file = File::open(folder.path("a")).unwrap();
    file.seek(SeekFrom::Start(66 * 1990)).unwrap();
    assert!(folder.umbel("dedup").stdin_file(file).run().done() == urls(1990..2000));
}

#[cfg(unix)]
#[test]
fn named_pipes_are_inputs() {
    let folder = Folder::new();
    for (arguments, expected) in
        [("dedup left right", urls(0..3000)), ("except left right", urls(0..1000))]
    {
        folder.fifo("left");
        folder.fifo("right");
        let mut run = folder.umbel(arguments).spawn();
        let (mut left, mut right) = (run.feed(&folder, "left"), run.feed(&folder, "right"));
        left.write_all(&urls(0..1500)).unwrap();
        drop(left);
        right.write_all(&urls(1000..3000)).unwrap();
        drop(right);
        assert!(run.finish().done() == expected, "{arguments}");
    }
}

/// Two tables whose columns are in another order.
fn tables() -> Folder {
    let folder = Folder::new();
    folder.write("a", "id,name\n1,Ada\n2,\"Grace, Rear\nAdmiral\"\n1,Ada again\n3,Edsger\n");
    folder.write("b", "name,id\nBarbara,\"4\"\nEdsger W.,3\nBarbara again,4\n");
    folder
}

#[test]
fn of_records_with_the_same_key_the_first_one_goes_out_whole() {
    let folder = tables();
    let first = "id,name\n1,Ada\n2,\"Grace, Rear\nAdmiral\"\n3,Edsger\n";
    assert_eq!(text(&folder, "dedup --csv --key id a"), first);
    // One header, that of the first file.
    let both = format!("{first}\"4\",Barbara\n");
    assert_eq!(text(&folder, "dedup --csv --key id a b"), both);
    assert_eq!(text(&folder, "dedup --csv --key id --fpp 1e-9 a b"), both);
    let repeated = "id,name\n1,Ada\n3,Edsger\n\"4\",Barbara\n";
    assert_eq!(text(&folder, "dedup --csv --key id --repeated a b"), repeated);
    assert_eq!(
        text(&folder, "except --csv --key id a b"),
        "id,name\n1,Ada\n2,\"Grace, Rear\nAdmiral\"\n"
    );
    assert_eq!(text(&folder, "except --csv --key id b a"), "name,id\nBarbara,\"4\"\n");
    // Whole records, and several fields.
    assert_eq!(text(&folder, "dedup --csv a").as_bytes(), folder.read("a"));
    assert_eq!(text(&folder, "dedup --csv --key id --key name a").as_bytes(), folder.read("a"));
    // Nothing is left: a table without rows.
    let run = folder.umbel("except --csv --key id a a").run();
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(1), &b"id,name\n"[..]));
    let run = folder.umbel("dedup --csv --key name --repeated a").run();
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(1), &b"id,name\n"[..]));
    // Pipes are kept to be read again, and have a header too.
    folder.write("empty", "");
    let piped = folder.umbel("dedup --csv --key id empty - b").stdin(folder.read("a")).run();
    assert_eq!(piped.text(), both);
}

#[test]
fn other_records_have_keys_too() {
    let folder = Folder::new();
    folder.write("tabs", "k\tv\n\"a\t1\nb\t2\n\"a\t3\r\n");
    assert_eq!(text(&folder, "dedup --tsv --key k tabs"), "k\tv\n\"a\t1\nb\t2\n");
    assert_eq!(text(&folder, "dedup --tsv --no-header --key 1 tabs"), "k\tv\n\"a\t1\nb\t2\n");
    folder
        .write("json", "{\"u\":{\"id\":1}}\n{\"u\":{\"id\":\"1\"},\"x\":2}\n{\"u\":{\"id\":3}}\n");
    folder.write("ids", "{\"u\":{\"id\":3}}\n");
    assert_eq!(
        text(&folder, "dedup --jsonl --key u.id json"),
        "{\"u\":{\"id\":1}}\n{\"u\":{\"id\":3}}\n"
    );
    assert_eq!(text(&folder, "dedup --jsonl --key u.id --repeated json"), "{\"u\":{\"id\":1}}\n");
    assert_eq!(text(&folder, "except --jsonl --key u.id json ids"), "{\"u\":{\"id\":1}}\n");
}

#[test]
fn a_count_is_a_column_with_a_name_where_columns_have_names() {
    let folder = tables();
    assert_eq!(
        text(&folder, "dedup --csv --key id --count a b"),
        "count,id,name\n2,1,Ada\n1,2,\"Grace, Rear\nAdmiral\"\n2,3,Edsger\n2,\"4\",Barbara\n"
    );
    assert_eq!(
        text(&folder, "dedup --csv --key 1 --count --no-header b"),
        "1,name,id\n1,Barbara,\"4\"\n1,Edsger W.,3\n1,Barbara again,4\n"
    );
    folder.write("semicolons", "k;v\nx;1\nx;2\n");
    let found = text(&folder, "dedup --csv --delimiter ; --key k --count semicolons");
    assert_eq!(found, "count;k;v\n2;x;1\n");
    folder.write("tabs", "k\tv\nx\t1\nx\t2\n");
    assert_eq!(text(&folder, "dedup --tsv --key k --count tabs"), "count\tk\tv\n2\tx\t1\n");
    let again = "dedup --csv --key id --count --repeated a";
    assert_eq!(text(&folder, again), "count,id,name\n2,1,Ada\n");
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

/// Numbers that look random.
fn mixed(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

/// The number of 0..`most` that falls to `draw` when small ones are the most frequent: the rank r with a
/// chance of about 1/r.
fn zipf(draw: u64, most: u64) -> u64 {
    let uniform = (mixed(draw) >> 11) as f64 / (1u64 << 53) as f64;
    ((most as f64).powf(uniform) as u64).min(most) - 1
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
    let all_lines: u64 = util::long(6_000_000, 1_500_000);
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
fn a_line_repeated_a_million_times_comes_once() {
    let folder = Folder::new();
    folder.write("a", "again\n".repeat(1_000_000));
    folder.write("b", "first\nagain\n".repeat(500_000));
    for memory in ["16MiB", "1GiB"] {
        let run = |arguments: &str| text(&folder, &format!("{arguments} --memory {memory}"));
        assert_eq!(run("dedup a b"), "again\nfirst\n");
        assert_eq!(run("dedup --count a b"), "1500000\tagain\n500000\tfirst\n");
        assert_eq!(run("except b a"), "first\n");
    }
}

#[test]
fn a_line_of_100_mb_just_works_and_says_what_memory_it_needs() {
    let folder = Folder::new();
    // For common they are as long in every run.
    let length = util::long(100_000_000, 70_000_000);
    let long = vec![b'x'; length];
    folder.write("a", [b"before\n", &long[..], b"\nbetween\nbefore\n"].concat());
    folder.write("b", [b"before\n", &long[..]].concat());
    folder.write("c", "between\n");
    let jobs = [
        ("dedup a b", [b"before\n", &long[..], b"\nbetween\n"].concat()),
        ("except a b", b"between\n".to_vec()),
        ("dedup --repeated a b", [b"before\n", &long[..], b"\n"].concat()),
        ("dedup --count b c", [b"1\tbefore\n1\t", &long[..], b"\n1\tbetween\n"].concat()),
        ("except a c", [b"before\n", &long[..], b"\n"].concat()),
    ];
    for (arguments, expected) in jobs.into_iter().take(util::long(5, 2)) {
        let run = |memory: &str| folder.umbel(&format!("{arguments} {memory}")).run();
        assert!(run("").done() == expected, "{arguments}");
        let stopped = run("--memory 64MiB");
        assert_eq!(stopped.status.code(), Some(2), "{arguments}");
        // What went out before is the beginning of the answer.
        assert!(expected.starts_with(&stopped.stdout), "{arguments}");
        for words in [", line ", &format!("the line has {length} bytes"), "64MiB"] {
            assert!(stopped.stderr.contains(words), "no {words:?} in {}", stopped.stderr);
        }
        let least = format!("--memory {}", least_memory(&stopped.stderr));
        assert!(run(&least).done() == expected, "{arguments} {least}");
    }
}

#[test]
fn with_fpp_each_file_is_read_once_and_the_error_is_told() {
    let folder = Folder::new();
    folder.write("a", urls((0..20_000).chain(0..20_000)));
    folder.write("b", urls(10_000..30_000));
    /// Lines left out at a rate of 0.1: as many as expected, and 6 deviations.
    fn most(lines: f64) -> usize {
        (lines * 0.1 + 6.0 * (lines * 0.1 * 0.9).sqrt()) as usize
    }
    for (arguments, whole, passes) in [("dedup a", 0..20_000, 1), ("except a b", 0..10_000, 2)] {
        let run = folder.umbel(&format!("{arguments} --fpp 0.1 --verbose")).run();
        let words = "not exact: no line is extra, a line is missing with a chance of 0.0";
        assert!(run.stderr.contains(words), "{}", run.stderr);
        let expected: HashSet<_> = whole.clone().map(|i| url(i).into_bytes()).collect();
        let found: Vec<_> = run.stdout.split(|&byte| byte == b'\n').collect();
        let (last, found) = found.split_last().unwrap();
        assert!(last.is_empty());
        // None is extra, none comes twice, in order; few are missing.
        let all = urls(whole.clone());
        let mut rest = all.split(|&byte| byte == b'\n');
        assert!(found.iter().all(|line| rest.any(|other| other == *line)), "{arguments}");
        assert!(found.iter().all(|line| expected.contains(*line)), "{arguments}");
        let missing = expected.len() - found.len();
        assert!(missing > 0 && missing <= most(expected.len() as f64), "{missing} are missing");
        let report = folder.umbel(&format!("{arguments} --fpp 0.1 --json")).run().report();
        assert_eq!((&report["exact"], &report["passes"]), (&false.into(), &passes.into()));
        assert_eq!(report["chance_extra"], 0.0);
        let chance = report["chance_missing"].as_f64().unwrap();
        assert!(chance > 0.0 && chance < 0.1, "{report}");
        assert_eq!(report["found"], found.len());
    }
    // At this rate an error among them has a chance of 3e-5.
    assert!(folder.umbel("dedup a b --fpp 1e-9").run().done() == urls(0..30_000));
    assert!(folder.umbel("except a b --fpp 1e-9").run().done() == urls(0..10_000));
    // The answer does not depend on threads or memory.
    let one = folder.umbel("dedup a b --fpp 0.01 --threads 1 --memory 16MiB").run().done();
    assert!(folder.umbel("dedup a b --fpp 0.01 --threads 3 --memory 1GiB").run().done() == one);
    // Filters that do not fit are told before anything is read.
    folder.write("large", lines((0..1_500_000).map(|i| i.to_string())));
    for arguments in ["dedup large", "except large a"] {
        let run = |memory: &str| folder.umbel(&format!("{arguments} --fpp 1e-12 {memory}")).run();
        let message = run("--memory 16MiB").fails(&["a memory cap of 16MiB is too small"]);
        let least = format!("--threads 2 --memory {}", least_memory(&message));
        run(&least).done();
    }
}

#[test]
fn explain_tells_the_passes_and_does_nothing() {
    let folder = Folder::new();
    folder.write("a", urls(0..400_000));
    folder.write("b", urls(390_000..600_000));
    folder.write("few", urls((0..400_000).map(|i| i % 100)));
    let explain = |arguments: &str| folder.umbel(&format!("{arguments} --explain")).run();
    for (arguments, words) in [
        ("dedup a b", ["plan     filter: ", "filter   of all lines: ", "in 4 passes"]),
        ("dedup a --count", ["plan     filter: ", "filter   of lines to look up: ", "in 3 passes"]),
        (
            "dedup a --repeated",
            ["plan     filter: ", "compared byte by byte; up to ", "in 2 passes"],
        ),
        ("dedup few", ["plan     table: ", "input    few: 25.2 MiB, about ", "in 1 pass\n"]),
        (
            "dedup a --fpp 0.01",
            ["plan     one-pass: ", "filter   of lines printed: ", "in 1 pass\n"],
        ),
        ("except a b", ["plan     filter: ", "filter   of all lines: ", "in 3 passes"]),
        ("except a b --fpp 0.01", ["one-pass", "filter   of b: ", "in 2 passes"]),
    ] {
        let run = explain(&format!("{arguments} --memory 32MiB --threads 2"));
        assert_eq!(run.stderr, "");
        let text = run.text();
        for words in words.iter().chain(&["memory   32.0 MiB in all, 2 threads", " lines\n"]) {
            assert!(text.contains(words), "{arguments}: no {words:?} in {text}");
        }
        assert!(!text.contains("https"), "{text}");
    }
    for (arguments, verb, strategy, exact) in [
        ("dedup a", "dedup", "filter", true),
        ("dedup few", "dedup", "table", true),
        ("dedup a --fpp 0.5", "dedup", "one-pass", false),
        ("except a b", "except", "filter", true),
        ("except a b --fpp 0.5", "except", "one-pass", false),
    ] {
        let options = format!("{arguments} --memory 32MiB --json");
        let plan: Value = serde_json::from_str(&explain(&options).text()).unwrap();
        assert_eq!(plan["type"], "explain");
        assert_eq!((&plan["verb"], &plan["strategy"]), (&verb.into(), &strategy.into()));
        assert_eq!((&plan["exact"], &plan["memory"]), (&exact.into(), &(32u64 << 20).into()));
        // What it says is what is read then.
        let report = folder.umbel(&options).run().report();
        assert_eq!(plan["passes"], report["passes"], "{arguments}");
        assert_eq!(plan["bytes_read"], report["bytes_read"], "{arguments}");
    }
    assert_eq!(folder.names(), ["a", "b", "few"]);
}

#[test]
fn the_report_tells_what_was_done() {
    let folder = Folder::new();
    folder.write("a", "1\n2\n1\n");
    folder.write("b", "2\n");
    for (arguments, words) in [
        ("dedup a", ["umbel dedup: 3 lines, ", " 2 different, ", " in 1 pass, "]),
        ("dedup a --repeated", ["umbel dedup: 3 lines, ", " 1 repeated, ", " in 1 pass, "]),
        ("except a b", ["umbel except: 4 lines, ", " 1 left, ", " in 2 passes, "]),
    ] {
        let said = folder.umbel(&format!("{arguments} --verbose")).run().stderr;
        assert_eq!(said.lines().count(), 1, "{said}");
        for words in words.iter().chain(&[" peak ", ", exact\n"]) {
            assert!(said.contains(words), "no {words:?} in {said}");
        }
        let run = folder.umbel(&format!("{arguments} -q")).run();
        assert_eq!(run.stderr, "");
        run.done();
    }
    for (arguments, verb, found, written) in [
        ("dedup a b", "dedup", 2, 4),
        ("dedup a --count", "dedup", 2, 8),
        ("except a b", "except", 1, 2),
    ] {
        let report = folder.umbel(&format!("{arguments} --json")).run().report();
        for (field, value) in [
            ("type", Value::from("report")),
            ("verb", verb.into()),
            ("found", found.into()),
            ("bytes_written", written.into()),
            ("bytes_spilled", 0.into()),
            ("exact", true.into()),
        ] {
            assert_eq!(report[field], value, "{field} in {report}");
        }
    }
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let folder = Folder::new();
    folder.write("a", "1\n1\n");
    for (arguments, words) in [
        ("dedup a --seen f --repeated", &["--seen", "--repeated", "cannot be used with"][..]),
        ("dedup a --seen f --count", &["--seen", "--count", "cannot be used with"]),
        ("dedup a --fpp 0.1 --repeated", &["--fpp", "--repeated", "cannot be used with"]),
        ("dedup a --fpp 0.1 --count", &["--fpp", "--count", "cannot be used with"]),
        ("dedup a --keys 10", &["--keys", "umbel unseen"]),
        ("dedup a --kind classic", &["--kind", "umbel unseen"]),
        (
            "dedup a --seen f --checkpoint soon",
            &["\"soon\" is not a time such as 60, 0.5s or 5min"],
        ),
        ("dedup a --seen f --checkpoint=-1", &["\"-1\" is not a time such as 60, 0.5s or 5min"]),
        ("dedup a --seen f --checkpoint nan", &["\"nan\" is not a time"]),
        ("dedup a --seen f --keys 0", &["0"]),
        ("dedup a --fpp 1", &["fpp"]),
        ("dedup a --fpp 0", &["fpp"]),
        ("dedup a --seen f --fpp 2", &["fpp"]),
        (
            "dedup a --key id",
            &["--key names a field of a record; say how to read records with --csv"],
        ),
        ("dedup a --csv --key 1 -0", &["--null", "cannot be used with"]),
        ("except a", &["two or more"]),
        ("except", &["<FILE>"]),
        ("except a a --repeated", &["--repeated"]),
        ("except a a --count", &["--count"]),
        ("except a a --seen f", &["--seen"]),
        ("except a a --fpp 1", &["fpp"]),
    ] {
        folder.umbel(arguments).run().fails(words);
        assert_eq!(folder.names(), ["a"], "{arguments}");
    }
}

#[test]
fn inputs_that_cannot_be_read_are_told() {
    let folder = Folder::new();
    folder.write("a", "1\n");
    std::fs::create_dir(folder.path("dir")).unwrap();
    folder.write("cut.gz", &gzip(&urls(0..1000))[..500]);
    for (input, words) in [
        ("gone", &[": gone: ", "(os error 2)"][..]),
        ("dir", &[": dir: is a directory; name files, or pipe lines in"]),
        ("cut.gz", &[": cut.gz: "]),
    ] {
        folder.umbel(&format!("dedup a {input}")).run().fails(words);
        folder.umbel(&format!("dedup {input} --repeated")).run().fails(words);
        folder.umbel(&format!("dedup {input} --fpp 0.1")).run().fails(words);
        folder.umbel(&format!("except a {input}")).run().fails(words);
        folder.umbel(&format!("except {input} a")).run().fails(words);
    }
    folder.umbel("dedup a --tmp gone").run().fails(&["gone: is not a folder for temporary files"]);
    let few = folder.umbel("dedup a --memory 1MiB").run().fails(&["memory", "16MiB"]);
    assert!(few.ends_with('\n'));
}
