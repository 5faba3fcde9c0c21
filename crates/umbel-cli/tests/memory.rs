//! The memory cap as a black box: peak resident memory, as the system counted it, stays within the cap
//! and 32 MiB.
//!
//! A file of its own, so a process of its own: the system tells the peak of all children together, and
//! counts as a child's what this process had in use when it started it. So no test here holds much.

mod util;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::process::Stdio;

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::Value;

use util::{Folder, Outcome, Umbel, long, url};

const CAP: u64 = 16 << 20;
const SLACK: u64 = 32 << 20;
/// Lines of a file: 20 MB.
const LINES: u64 = 300_000;

/// Files of lines, written line by line.
fn write(folder: &Folder, name: &str, numbers: impl Iterator<Item = u64>) {
    let mut file = BufWriter::new(File::create(folder.path(name)).unwrap());
    for number in numbers {
        writeln!(file, "{}", url(number)).unwrap();
    }
    file.flush().unwrap();
}

/// Runs to the end with the answer in `out`; asserts that the peak stayed in bounds.
fn within_the_cap(folder: &Folder, umbel: Umbel) -> Value {
    is_within_the_cap(&umbel.stdout(File::create(folder.path("out")).unwrap()).run())
}

fn is_within_the_cap(run: &Outcome) -> Value {
    assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stderr).unwrap();
    let told = report["peak_memory"].as_u64().unwrap();
    assert!(told <= CAP + SLACK, "{report}");
    all_were_within_the_cap();
    report
}

fn all_were_within_the_cap() {
    // Kibibytes everywhere but on Apple's systems.
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    let counted = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss() as u64 * unit;
    assert!(counted <= CAP + SLACK, "{counted} bytes");
}

/// Asserts that `out` has these lines and no others.
fn answer_is(folder: &Folder, numbers: impl Iterator<Item = u64>) {
    let mut lines = BufReader::new(File::open(folder.path("out")).unwrap()).lines();
    for number in numbers {
        assert!(lines.next().is_some_and(|line| line.unwrap() == url(number)), "line {number}");
    }
    assert!(lines.next().is_none());
}

/// Asserts that two files are equal, byte by byte.
fn same(folder: &Folder, one: &str, other: &str) {
    let [mut one, mut other] = [one, other].map(|name| File::open(folder.path(name)).unwrap());
    loop {
        let read = |file: &mut File| {
            let mut piece = Vec::new();
            file.take(1 << 16).read_to_end(&mut piece).unwrap();
            piece
        };
        let piece = read(&mut one);
        assert!(piece == read(&mut other));
        if piece.is_empty() {
            return;
        }
    }
}

fn common(folder: &Folder, options: &str) -> Value {
    let umbel = folder.umbel(&format!("common a b --memory 16MiB --json {options}"));
    within_the_cap(folder, umbel)
}

#[test]
fn common_stays_within_the_cap_when_a_tenth_is_shared() {
    let folder = Folder::new();
    write(&folder, "a", 0..LINES);
    write(&folder, "b", LINES / 10 * 9..LINES / 10 * 19);
    for threads in long(&[1, 2, 3][..], &[3]) {
        let report = common(&folder, &format!("--threads {threads}"));
        assert_eq!(report["found"], LINES / 10);
        answer_is(&folder, LINES / 10 * 9..LINES);
    }
}

#[test]
fn common_stays_within_the_cap_when_all_is_shared() {
    let folder = Folder::new();
    write(&folder, "a", 0..LINES);
    write(&folder, "b", (0..LINES).rev());
    for threads in long(&[1, 2, 3][..], &[3]) {
        let report = common(&folder, &format!("--threads {threads}"));
        assert!(report["bytes_spilled"].as_u64() > Some(10 << 20), "{report}");
        answer_is(&folder, 0..LINES);
    }
}

#[test]
fn at_least_one_stays_within_the_cap() {
    let folder = Folder::new();
    write(&folder, "a", 0..LINES);
    write(&folder, "b", LINES / 2..LINES / 2 * 3);
    let report = common(&folder, "--at-least 1");
    assert!(report["bytes_spilled"].as_u64() > Some(8 << 20), "{report}");
    answer_is(&folder, 0..LINES / 2 * 3);
}

#[test]
fn a_file_where_most_lines_are_one_stays_within_the_cap() {
    let folder = Folder::new();
    let skewed = || (0..LINES).map(|i| if i % 4 == 0 { i } else { 1 });
    write(&folder, "a", skewed());
    write(&folder, "b", skewed().chain(0..LINES / 2));
    common(&folder, "");
    answer_is(&folder, [0, 1].into_iter().chain((1..LINES / 4).map(|i| 4 * i)));
}

#[test]
fn a_spooled_pipe_stays_within_the_cap() {
    let folder = Folder::new();
    write(&folder, "a", 0..LINES);
    write(&folder, "b", (0..LINES).rev());
    folder.fifo("pipe");
    let mut umbel = folder.umbel("common pipe b --memory 16MiB --json");
    umbel = umbel.stdout(File::create(folder.path("out")).unwrap());
    let mut run = umbel.spawn();
    let mut pipe = run.feed(&folder, "pipe");
    std::io::copy(&mut File::open(folder.path("a")).unwrap(), &mut pipe).unwrap();
    drop(pipe);
    is_within_the_cap(&run.finish());
    answer_is(&folder, 0..LINES);
}

#[test]
fn keys_stay_within_the_cap() {
    let folder = Folder::new();
    let table = |name: &str, numbers: &mut dyn Iterator<Item = u64>| {
        let mut file = BufWriter::new(File::create(folder.path(name)).unwrap());
        writeln!(file, "url,n,text").unwrap();
        for number in numbers {
            writeln!(file, "{},{number},\"\"\"line\nfeed\"\"\"", url(number)).unwrap();
        }
        file.flush().unwrap();
    };
    table("a", &mut (0..LINES));
    table("b", &mut (0..LINES).rev());
    let options = [
        "--key url --key n --threads 2",
        "--key n --threads 1",
        "--key text --key url --threads 3",
    ];
    for options in &options[..long(3, 1)] {
        let report = common(&folder, &format!("--csv {options}"));
        assert!(report["bytes_spilled"].as_u64() > Some(10 << 20), "{report}");
        same(&folder, "out", "a");
    }
    let run = |arguments: &str| {
        let arguments = format!("{arguments} --csv --key text --key n --memory 16MiB --json");
        within_the_cap(&folder, folder.umbel(&arguments))
    };
    run("build -o f a --keys 4e6");
    assert_eq!(run("query f b")["found"], LINES);
}

#[test]
fn building_and_asking_filters_stay_within_the_cap() {
    let folder = Folder::new();
    write(&folder, "a", 0..LINES);
    let run = |arguments: &str| {
        within_the_cap(&folder, folder.umbel(&format!("{arguments} --memory 16MiB --json")))
    };
    run("build -o f a --keys 4e6");
    run("add f a");
    // Larger than the cap.
    run("build -o pieces a --size 100MB --keys 1e6");
    let report = run("query f a");
    assert_eq!(report["found"], LINES);
    answer_is(&folder, 0..LINES);
    for threads in [1, 3] {
        let report = run(&format!("query pieces a --threads {threads}"));
        assert_eq!(report["found"], LINES);
        answer_is(&folder, 0..LINES);
        run(&format!("add pieces a --threads {threads}"));
    }
    write(&folder, "b", LINES / 2..LINES / 2 * 3);
    run("unseen pieces b");
    answer_is(&folder, LINES..LINES / 2 * 3);
    let mut long = std::fs::OpenOptions::new().append(true).open(folder.path("b")).unwrap();
    long.write_all(&vec![b'x'; 12_000_000]).unwrap();
    for verb in ["query -v", "unseen", "add"] {
        run(&format!("{verb} pieces b"));
    }
}

#[test]
fn a_filter_that_grows_stays_within_the_cap() {
    let folder = Folder::new();
    write(&folder, "a", 0..LINES);
    for threads in long(&[1, 2, 3][..], &[3]) {
        let build = "build -f -o f --kind scalable --keys 1000 --fpp 1e-6 --memory 16MiB --json a";
        let umbel = folder.umbel(&format!("{build} --threads {threads}"));
        let report = within_the_cap(&folder, umbel);
        let links = report["filter"]["parts"].as_array().map(Vec::len);
        assert_eq!(links, Some(9), "{report}");
    }
}

/// In an error that nobody sees, it was in quotes with six characters for each of these: 60 MB.
#[test]
fn a_filter_in_json_with_escapes_takes_a_few_times_its_bytes() {
    let folder = Folder::new();
    let mut file = BufWriter::new(File::create(folder.path("filter.json")).unwrap());
    file.write_all(br#"{"m":64,"k":1,"b":"\\"#).unwrap();
    (0..5000).for_each(|_| file.write_all(&[0x7f; 1000]).unwrap());
    file.write_all(br#""}"#).unwrap();
    file.flush().unwrap();
    let run = folder.umbel("info --format bits-and-blooms-json filter.json").run();
    run.fails(&["filter.json: ", "URL-safe base64 in b"]);
    all_were_within_the_cap();
}

/// Their names alone are more than the cap. The error tells one that is enough.
#[test]
fn tens_of_thousands_of_inputs_stay_within_the_cap() {
    let folder = Folder::new();
    folder.write("f", "a\nb\n");
    folder.write("list", ("./".repeat(100) + "f\n").repeat(20_000));
    for verb in ["dedup", "common --at-least 2", "common --which=names", "build -f -o new"] {
        let job = format!("{verb} --files-from list --json --memory");
        let few = folder.umbel(&format!("{job} 16MiB")).run();
        few.fails(&["list: has more than a memory cap of 16.0 MiB allows, after", "--memory"]);
        // Bytes of the paths four times over, and some hundred for each.
        let run = folder.umbel(&format!("{job} 31MiB")).run();
        assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
        let peak = run.report()["peak_memory"].as_u64().unwrap();
        assert!(peak <= (31 << 20) + SLACK, "{verb}: {peak} bytes");
    }
}

fn work(folder: &Folder, arguments: &str) -> Value {
    within_the_cap(folder, folder.umbel(&format!("{arguments} --memory 16MiB --json")))
}

fn spills(report: &Value) {
    assert!(report["bytes_spilled"].as_u64() > Some(10 << 20), "{report}");
}

#[test]
fn dedup_stays_within_the_cap_when_nothing_repeats() {
    let folder = Folder::new();
    write(&folder, "a", 0..LINES);
    for threads in long(&[1, 2, 3][..], &[3]) {
        let report = work(&folder, &format!("dedup a --threads {threads}"));
        // A filter tells that: nothing is kept.
        assert_eq!((&report["found"], &report["bytes_spilled"]), (&LINES.into(), &0.into()));
        answer_is(&folder, 0..LINES);
    }
}

#[test]
fn dedup_stays_within_the_cap_when_all_repeats() {
    let folder = Folder::new();
    write(&folder, "a", 0..LINES);
    write(&folder, "b", (0..LINES).rev());
    for threads in long(&[1, 2, 3][..], &[3]) {
        spills(&work(&folder, &format!("dedup a b --threads {threads}")));
        answer_is(&folder, 0..LINES);
        spills(&work(&folder, &format!("dedup a b --repeated --threads {threads}")));
        answer_is(&folder, 0..LINES);
        spills(&work(&folder, &format!("dedup a b --count --threads {threads}")));
        let mut counted = BufReader::new(File::open(folder.path("out")).unwrap()).lines();
        for number in 0..LINES {
            let line = counted.next().unwrap().unwrap();
            assert!(line.strip_prefix("2\t") == Some(&url(number)), "{line}");
        }
        assert!(counted.next().is_none());
        work(&folder, &format!("dedup a b --count --repeated --threads {threads}"));
        assert_eq!(
            BufReader::new(File::open(folder.path("out")).unwrap()).lines().count() as u64,
            LINES
        );
    }
    folder.umbel("dedup a --repeated --memory 16MiB").run().nothing();
}

#[test]
fn dedup_stays_within_the_cap_when_most_lines_are_one() {
    let folder = Folder::new();
    write(&folder, "a", (0..2 * LINES).map(|i| if i % 4 == 0 { i } else { 1 }));
    for options in ["", "--count", "--repeated"] {
        work(&folder, &format!("dedup a {options} --threads 2"));
    }
    work(&folder, "dedup a a");
    answer_is(&folder, [0, 1].into_iter().chain((1..LINES / 2).map(|i| 4 * i)));
}

#[test]
fn dedup_of_a_pipe_stays_within_the_cap() {
    let folder = Folder::new();
    write(&folder, "a", (0..2 * LINES).map(|i| i % LINES));
    folder.fifo("pipe");
    let mut umbel = folder.umbel("dedup pipe --memory 16MiB --json");
    umbel = umbel.stdout(File::create(folder.path("out")).unwrap());
    let mut run = umbel.spawn();
    let mut pipe = run.feed(&folder, "pipe");
    std::io::copy(&mut File::open(folder.path("a")).unwrap(), &mut pipe).unwrap();
    drop(pipe);
    spills(&is_within_the_cap(&run.finish()));
    answer_is(&folder, 0..LINES);
}

#[test]
fn except_stays_within_the_cap() {
    let folder = Folder::new();
    write(&folder, "a", (0..LINES).chain(0..LINES / 2));
    write(&folder, "half", (LINES / 2..LINES / 2 * 3).rev());
    write(&folder, "most", (10..LINES).rev());
    write(&folder, "others", LINES..LINES * 2);
    write(&folder, "few", 0..10);
    for threads in long(&[1, 2, 3][..], &[3]) {
        let work = |files: &str| work(&folder, &format!("except {files} --threads {threads}"));
        work("a half");
        answer_is(&folder, 0..LINES / 2);
        spills(&work("a most"));
        answer_is(&folder, 0..10);
        spills(&work("a most others half"));
        answer_is(&folder, 0..10);
        work("a others");
        answer_is(&folder, 0..LINES);
        work("a few");
        answer_is(&folder, 10..LINES);
        work("few others");
        answer_is(&folder, 0..10);
    }
}

#[test]
fn keys_of_dedup_and_except_stay_within_the_cap() {
    let folder = Folder::new();
    let table = |name: &str, numbers: &mut dyn Iterator<Item = u64>| {
        let mut file = BufWriter::new(File::create(folder.path(name)).unwrap());
        writeln!(file, "url,n,text").unwrap();
        for number in numbers {
            writeln!(file, "{},{number},\"\"\"line\nfeed\"\"\"", url(number)).unwrap();
        }
        file.flush().unwrap();
    };
    table("a", &mut (0..LINES));
    table("b", &mut (0..LINES).rev());
    table("c", &mut (LINES..2 * LINES));
    let keys = ["--key text --key url --threads 3", "--key n --threads 1"];
    for key in &keys[..long(2, 1)] {
        work(&folder, &format!("dedup a b --csv {key}"));
        same(&folder, "out", "a");
        spills(&work(&folder, &format!("dedup a b --csv {key} --repeated")));
        same(&folder, "out", "a");
        spills(&work(&folder, &format!("dedup a b --csv {key} --count")));
        work(&folder, &format!("except a c --csv {key}"));
        same(&folder, "out", "a");
    }
}

#[test]
fn answers_with_an_error_stay_within_the_cap() {
    let folder = Folder::new();
    // Filters of up to 5 MB. Seeds are fixed: what is right once is right always.
    write(&folder, "a", 0..LINES);
    write(&folder, "b", LINES / 2..LINES / 2 * 3);
    for threads in [1, 2] {
        let work = |arguments: &str| work(&folder, &format!("{arguments} --threads {threads}"));
        work("dedup a b --fpp 1e-7");
        answer_is(&folder, 0..LINES / 2 * 3);
        work("except a b --fpp 1e-7");
        answer_is(&folder, 0..LINES / 2);
        work("common a b --fpp 1e-7");
        answer_is(&folder, LINES / 2..LINES);
    }
    // What does not fit is refused.
    let refused = folder.umbel("dedup a b a b --fpp 1e-12 --memory 16MiB --threads 2").run();
    refused.fails(&["a memory cap of 16MiB is too small"]);
}

#[test]
fn a_filter_of_seen_lines_stays_within_the_cap() {
    let folder = Folder::new();
    write(&folder, "a", 0..LINES);
    write(&folder, "b", LINES / 2..LINES / 2 * 3);
    // Near what the cap leaves.
    for (filter, kind) in [("f", "blocked"), ("g", "classic")] {
        let options = format!("{filter} --keys 7e5 --fpp 1e-8 --kind {kind} --threads 1");
        let report = work(&folder, &format!("unseen {options} --checkpoint 0.01 a"));
        assert_eq!(report["found"], LINES);
        answer_is(&folder, 0..LINES);
        work(&folder, &format!("unseen {options} b"));
        answer_is(&folder, LINES..LINES / 2 * 3);
    }
    // Far beyond it.
    let report = work(&folder, "unseen h --keys 1e8 --threads 1 a");
    assert_eq!(report["found"], LINES);
    answer_is(&folder, 0..LINES);
    assert_eq!(folder.names(), ["a", "b", "f", "g", "h", "out"]);
}

#[test]
fn indexes_and_searches_stay_within_the_cap() {
    let folder = Folder::new();
    write(&folder, "a", 0..LINES);
    write(&folder, "b", LINES..2 * LINES);
    let packed = File::create(folder.path("c.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
    std::io::copy(&mut File::open(folder.path("a")).unwrap(), &mut gzip).unwrap();
    gzip.finish().unwrap();
    for threads in long(&[1, 2, 3][..], &[3]) {
        let options = format!("--memory 16MiB --json --threads {threads}");
        let index = folder.umbel(&format!("index -f -o x a b c.gz {options}"));
        assert_eq!(within_the_cap(&folder, index)["files"], 3);
        let one = url(LINES / 2);
        let find = folder.umbel(&format!("find x {options} --count")).arg(&one);
        assert_eq!(within_the_cap(&folder, find)["found"], 2);
        // Every line, of which no filter narrows the blocks down.
        let find = folder.umbel(&format!("find x -F ttp --count {options}"));
        assert_eq!(within_the_cap(&folder, find)["found"], 3 * LINES);
        let update = folder.umbel(&format!("index --update x {options}"));
        assert_eq!(within_the_cap(&folder, update)["files_read"], 0);
    }
}

/// Lines of one letter, each printed with a long name; a line of words that are hardly ever the same; and more
/// texts than fit.
#[test]
fn searches_for_much_stay_within_the_cap() {
    let folder = Folder::new();
    let name = "n".repeat(200);
    folder.write(&name, "a\n".repeat(1 << 18));
    let find = folder.umbel(&format!("find {name} a --json --memory 16MiB"));
    assert_eq!(within_the_cap(&folder, find)["found"], 1 << 18);
    // Chains of three letters, with signs between them.
    let random = |i: u64| {
        let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as usize
    };
    // Piece by piece: what this process has when it starts another one counts as the other's.
    let mut long = BufWriter::new(File::create(folder.path("long")).unwrap());
    for i in 0..1_900_000 {
        let letter = b"abcdefghijklmnopqrstuvwxyz0123456789"[random(i) % 36];
        long.write_all(&[letter, b".,:;/-+=#&"[random(i) / 36 % 10]]).unwrap();
    }
    long.write_all(b"\n").unwrap();
    drop(long);
    let index = folder.umbel("index -o x long --memory 16MiB --json --threads 4");
    within_the_cap(&folder, index);
    let find = folder.umbel("find x --memory 16MiB --json --count a.");
    assert_eq!(within_the_cap(&folder, find)["found"], 1);
    let texts: String = (0..10_000).map(|i| format!("{i}\n")).collect();
    folder.write("texts", texts);
    folder.umbel("find x -f texts --memory 16MiB").run().fails(&["raise --memory to "]);
    all_were_within_the_cap();
}

#[test]
fn many_files_stay_within_the_cap() {
    let folder = Folder::new();
    let files = 80;
    for file in 0..files {
        let first = file * LINES / 40;
        // The next one begins with the last line.
        write(&folder, &file.to_string(), first..=first + LINES / 40);
    }
    let list: String = (0..files).map(|file| format!("{file}\n")).collect();
    folder.write("list", list);
    for threads in [1, 2] {
        work(&folder, &format!("dedup --files-from list --threads {threads}"));
        answer_is(&folder, 0..=files * LINES / 40);
        let report =
            work(&folder, &format!("common --at-least 2 --files-from list --threads {threads}"));
        assert_eq!(report["found"], files - 1);
    }
}

/// Blocks that look like those of bgzip, whose text may be a thousand times longer than bgzip's.
#[test]
fn blocks_with_more_text_than_bgzip_allows_stay_within_the_cap() {
    let folder = Folder::new();
    let text = [&[b'x'; 1023][..], b"\n"].concat().repeat(16 << 10);
    let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    deflate.write_all(&text).unwrap();
    let deflated = deflate.finish().unwrap();
    let mut crc = flate2::Crc::new();
    crc.update(&text);
    let mut block = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0".to_vec();
    block.extend(u16::try_from(18 + deflated.len() + 8 - 1).unwrap().to_le_bytes());
    block.extend(deflated);
    block.extend(crc.sum().to_le_bytes());
    block.extend((text.len() as u32).to_le_bytes());
    std::fs::write(folder.path("a.gz"), block.repeat(20)).unwrap();
    drop(text);
    for threads in [1, 2] {
        work(&folder, &format!("dedup a.gz --threads {threads}"));
        assert_eq!(std::fs::read(folder.path("out")).unwrap().len(), 1024);
    }
}

/// Lines near the longest that the cap allows, of which parsers could make many times their size: of names of members and
/// columns, of letters and labels of a host.
#[test]
fn lines_of_many_small_parts_stay_within_the_cap() {
    let folder = Folder::new();
    let write = |name: &str, start: &str, part: &str, bytes: usize, end: &str| {
        let mut file = BufWriter::new(File::create(folder.path(name)).unwrap());
        file.write_all(start.as_bytes()).unwrap();
        for _ in 0..bytes / part.len() {
            file.write_all(part.as_bytes()).unwrap();
        }
        file.write_all(end.as_bytes()).unwrap();
        file.flush().unwrap();
    };
    write("members", "{\"k\":1}\n{", "\"a\":0,", 4_900_000, "\"z\":0}\n");
    write("columns", "", "a,", 4_900_000, "z\n1\n");
    write("labels", "http://\u{e9}", ".", 1_300_000, "/x\n");
    write("object", "{\"k\":1", ",\"\":0", 4_900_000, "}\n");
    for threads in ["1", "2"] {
        let options = format!("--threads {threads}");
        let report =
            work(&folder, &format!("dedup members --jsonl --key k --missing skip {options}"));
        assert_eq!((&report["found"], &report["missing"]), (&1.into(), &1.into()), "{report}");
        let umbel = folder.umbel(&format!("dedup columns --csv --key b --memory 16MiB {options}"));
        umbel.run().fails(&["and 2449981 more"]);
        all_were_within_the_cap();
        let report = work(&folder, &format!("dedup labels --normalize url {options}"));
        assert_eq!(report["found"], 1);
        for joined in ["object members --jsonl -k k", "columns columns --csv -k z"] {
            let umbel = folder.umbel(&format!("join {joined} --memory 16MiB {options}"));
            umbel.run().fails(&["too many for a memory cap of 16MiB"]);
            all_were_within_the_cap();
        }
    }
}

/// A wide row with many partners, on either side, in memory or in temporary files.
#[test]
fn joins_of_wide_rows_stay_within_the_cap() {
    let folder = Folder::new();
    let write = |name: &str, others: u64, rows: u64, width: usize| {
        let mut file = BufWriter::new(File::create(folder.path(name)).unwrap());
        writeln!(file, "k,{name}").unwrap();
        let wide = name.repeat(width);
        for i in 0..others.max(rows) {
            if i < others {
                writeln!(file, "{i},{:010}", i * 7_919).unwrap();
            }
            if i % (others / rows).max(1) == 0 {
                writeln!(file, "x,{wide}").unwrap();
            }
        }
        file.flush().unwrap();
    };
    write("n", 120_000, 24, 10);
    for width in long(&[70_000, 1_000_000, 4_500_000][..], &[4_500_000]) {
        write("w", 120_000, 1, *width);
        write("o", 0, 1, *width);
        for job in ["n w", "w n", "n o", "o n", "w o --full", "o w --left --first"] {
            for threads in long(&[1, 2, 16][..], &[2, 16]) {
                let job = format!("join --csv -k k --memory 16MiB --json -j {threads} {job}");
                is_within_the_cap(&folder.umbel(&job).stdout(Stdio::null()).run());
            }
        }
    }
}

/// Hundreds of runs, each with a line so long that only a few can be merged at once.
#[test]
fn sorting_long_lines_stays_within_the_cap() {
    let folder = Folder::new();
    let line = |number: u64| format!("{number:03}{}", "x".repeat(150_000));
    let mut file = BufWriter::new(File::create(folder.path("a")).unwrap());
    for i in 0..300 {
        writeln!(file, "{}", line(i * 7 % 300)).unwrap();
    }
    drop(file);
    let umbel = folder.umbel("dedup a --sort --memory 16MiB --json -j 1");
    spills(&within_the_cap(&folder, umbel));
    let lines = BufReader::new(File::open(folder.path("out")).unwrap()).lines();
    assert!(lines.map(Result::unwrap).eq((0..300).map(line)));
}
