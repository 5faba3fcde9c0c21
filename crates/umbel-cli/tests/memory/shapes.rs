//! Inputs of any shape: lines of 0 bytes to 8 MB in 1 to 300 files under caps of 16 MiB to 2 GiB. The answer is that
//! without a cap. Where this process may make groups with limits, a job that needs more is killed.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::util::{Folder, Random, least_memory, long, url, urls};
use crate::{MIB, SLACK, told, within};

/// Bytes of a case's files.
const BYTES: u64 = 48_000_000;

/// Line number `number` of a case: always the same one. What it differs in stands at its end, or at its start.
fn line(number: u64, longest: u64) -> Vec<u8> {
    let mut random = Random(number);
    let length = random.of_any_size(longest) - 1;
    let mut line = vec![b'.'; length as usize];
    let digits = number.to_string().into_bytes();
    if line.len() >= digits.len() {
        let at = if number.is_multiple_of(2) { 0 } else { line.len() - digits.len() };
        line[at..at + digits.len()].copy_from_slice(&digits);
    }
    line
}

/// Files of a case; gives their names.
fn write(folder: &Folder, random: &mut Random) -> String {
    let files = random.of_any_size(300);
    let longest = random.of_any_size(8_000_000);
    // From all lines being one to hardly any that repeats.
    let different = random.of_any_size(1_000_000);
    let mut names = String::new();
    for file in 0..files {
        let name = format!("{file:03}");
        let mut out = BufWriter::new(File::create(folder.path(&name)).unwrap());
        let mut bytes = random.below(2 * BYTES / files + 1);
        loop {
            let line = line(random.below(different), longest);
            let Some(left) = bytes.checked_sub(line.len() as u64 + 1) else { break };
            bytes = left;
            out.write_all(&line).unwrap();
            out.write_all(b"\n").unwrap();
        }
        out.flush().unwrap();
        names += &name;
        names.push('\n');
    }
    names
}

/// A group of processes that get no more memory, their pages of files included: the system kills one that needs more.
struct Limited(PathBuf);

impl Limited {
    /// None where this process may not make one, which most need to be root for.
    fn to(bytes: u64) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // Of the first version of cgroups, and of the second.
        static KNOBS: LazyLock<Option<(&str, &str, &str)>> = LazyLock::new(|| {
            let knobs = [
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
                ("/sys/fs/cgroup", "memory.max", "memory.swap.max"),
            ];
            knobs.into_iter().find(|(folder, limit, _)| {
                let probe = format!("{folder}/umbel-probe-{}", std::process::id());
                let made = fs::create_dir(&probe).is_ok();
                let has = fs::exists(format!("{probe}/{limit}")).unwrap_or(false);
                made && fs::remove_dir(&probe).is_ok() && has
            })
        });
        let (folder, limit, swap) = (*KNOBS)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = format!("{folder}/umbel-{}-{number}", std::process::id());
        let path = PathBuf::from(path);
        fs::create_dir(&path).ok()?;
        let group = Self(path);
        fs::write(group.0.join(limit), bytes.to_string()).ok()?;
        // Where there is no swap to account for, there is no such file.
        let none = if swap == "memory.swap.max" { 0 } else { bytes };
        let _ = fs::write(group.0.join(swap), none.to_string());
        Some(group)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn holds(seed: u64) {
    let mut random = Random(seed << 32);
    let folder = Folder::new();
    folder.write("list", write(&folder, &mut random));
    let files = folder.names().len() - 1;
    let verbs = "dedup, dedup --repeated, dedup --count, dedup --by-count, dedup --top 1000, dedup --keep last, \
        dedup --sort, dedup --repeated --all, dedup --line-number, common, common --at-least 2, \
        common --which=numbers, common --all, except, except --all --sort";
    let verbs: Vec<_> = verbs.split(", ").collect();
    let verb = verbs[random.below(if files < 2 { 9 } else { 15 }) as usize];
    holds_for(&folder, &mut random, &format!("{seed}: {verb} --files-from list"));
}

/// Two tables, joined in any way.
fn holds_for_join(seed: u64) {
    let mut random = Random(seed << 32 | 1);
    let folder = Folder::new();
    let longest = random.of_any_size(1_000_000);
    let sizes = [0, 1].map(|_| random.below(BYTES / 2));
    // What they have in common stays within some 300 MB.
    let length = (longest as f64 / (longest as f64 + 1.0).ln()).max(1.0);
    let enough = sizes[0] as f64 * sizes[1] as f64 / (length + 8.0) / 150e6;
    let keys = random.of_any_size(1_000_000).max(enough as u64);
    // A quarter of the rows of one of them may have the same key.
    let repeats = random.below(4) as usize;
    for (side, name) in ["a", "b"].into_iter().enumerate() {
        let mut out = BufWriter::new(File::create(folder.path(name)).unwrap());
        let mut bytes = sizes[side];
        while bytes > 0 {
            let key = if side == repeats && random.below(4) == 0 { 0 } else { random.below(keys) };
            let mut row = format!("{key}\t").into_bytes();
            row.extend(line(random.below(1_000_000), longest));
            row.push(b'\n');
            bytes = bytes.saturating_sub(row.len() as u64);
            out.write_all(&row).unwrap();
        }
        out.flush().unwrap();
    }
    let jobs = "join, join --left, join --full, join --first, diff, diff --symmetric, diff --old, common --all, \
        common --which=names, dedup --count --sort, dedup --keep max:2, \
        dedup --at-least 3 --all --line-number";
    let jobs: Vec<_> = jobs.split(", ").collect();
    let job = jobs[random.below(jobs.len() as u64) as usize];
    let job = format!("{seed}: {job} --tsv --no-header --key 1 a b");
    holds_for(&folder, &mut random, &job);
}

/// The cap holds for a job, written as `SEED: ARGUMENTS`, and does not change the answer.
fn holds_for(folder: &Folder, random: &mut Random, job: &str) {
    // Half of them are small, where everything is spilled.
    let cap = 16 + [random.below(48), random.of_any_size(2032)][random.below(2) as usize];
    let most_threads = [4, 4, 64][random.below(3) as usize];
    let threads = 1 + random.below(most_threads);
    let (seed, arguments) = job.split_once(": ").unwrap();
    let run = |cap: u64| {
        let options = format!("-o out --json --threads {threads} --memory {cap}MiB");
        let arguments = format!("{arguments} {options}");
        match Limited::to(cap * MIB + SLACK) {
            Some(group) => folder.umbel_in_group(&group.0, &arguments).run(),
            None => folder.umbel(&arguments).run(),
        }
    };
    let outcome = run(cap);
    if outcome.status.code() == Some(2) {
        let least = least(&outcome.stderr);
        assert!(least > cap, "{seed}: {}", outcome.stderr);
        told(&run(least), least);
    } else {
        told(&outcome, cap);
    }
    let out = folder.read("out");
    let free = run(2048);
    assert!(matches!(free.status.code(), Some(0 | 1)), "{seed}: {}", free.stderr);
    assert!(folder.read("out") == out, "{job} in {cap}MiB: another answer");
}

/// The least cap that a message names, in MiB.
fn least(message: &str) -> u64 {
    least_memory(message).trim_end_matches("MiB").parse().expect(message)
}

#[test]
fn the_cap_holds_while_short_lines_are_sampled() {
    let folder = Folder::new();
    // The first is sampled whole: a million different lines of 4 bytes with their ends.
    let bytes: Vec<u8> = (14..118).collect();
    let line = |i: usize| [bytes[i % 104], bytes[i / 104 % 104], bytes[i / 104 / 104], b'\n'];
    folder.write("a", (0..960_000).flat_map(line).collect::<Vec<u8>>());
    folder.write("b", (160_000..1_120_000).rev().flat_map(line).collect::<Vec<u8>>());
    within(&folder, 24, "except a b b -o out --threads 1");
}

#[test]
fn the_cap_holds_for_a_header_of_millions_of_names() {
    let folder = Folder::new();
    folder.write("a", ["x".as_bytes(), &vec![b','; 12_000_000], b"\n1,2\n"].concat());
    for job in ["dedup a --csv --key x", "common a a --csv --key x"] {
        within(&folder, 16, &format!("{job} -o out --threads 2"));
    }
}

/// Rows whose columns are put in another order need the places of all of them.
#[test]
fn the_cap_holds_for_a_header_of_millions_of_names_in_another_order() {
    let folder = Folder::new();
    let commas = vec![b','; 1_500_000];
    folder.write("a", [b"x,y", &commas[..], b"\n1,2", &commas[..], b"\n"].concat());
    folder.write("b", [b"y,x", &commas[..], b"\n2,1", &commas[..], b"\n"].concat());
    for job in ["common a b --csv", "diff a b --csv --key x", "dedup a b --csv --key y"] {
        // With the same header, no column moves.
        within(&folder, 16, &format!("{} -o out", job.replace(" a b ", " a a ")));
        let refused = folder.umbel(&format!("{job} -o out --memory 16MiB")).run();
        let cap = if refused.stderr.is_empty() { 16 } else { least(&refused.stderr) };
        within(&folder, cap, &format!("{job} -o out --threads 2"));
    }
    // As wide as tables are.
    let names = |order: &mut dyn Iterator<Item = u32>| {
        order.map(|name| format!("n{name}")).collect::<Vec<_>>().join(",") + "\n"
    };
    let values = names(&mut (0..100_000));
    folder.write("a", names(&mut (0..100_000)) + &values);
    folder.write("b", names(&mut (0..100_000).rev()) + &names(&mut (0..100_000).rev()));
    within(&folder, 16, "common a b --csv -o out");
    assert!(folder.read("out") == (values.clone() + &values).as_bytes());
}

#[test]
#[ignore = "files of 100 MB: cargo x test --full"]
fn the_cap_holds_while_results_are_ranked_next_to_a_full_table() {
    let folder = Folder::new();
    folder.write("a", urls(0..1_600_000));
    for order in ["--by-count", "--top 1000000", "--top 10"] {
        within(&folder, 256, &format!("dedup a {order} -o out --threads 2"));
    }
}

#[test]
#[ignore = "a filter of 230 MB: cargo x test --full"]
fn the_cap_holds_for_a_decoder_next_to_a_filter() {
    let folder = Folder::new();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(26).unwrap();
    for number in 0..1_600_000 {
        writeln!(encoder, "{}", url(number)).unwrap();
    }
    folder.write("a", encoder.finish().unwrap());
    folder.write("none", "");
    folder.umbel("filter build -o f none --size 230MiB --keys 2e6").run().done();
    // It must not get a window of 64 MiB, as it does alone.
    for job in ["filter query f a", "filter add f a", "unseen f a"] {
        let run = folder.umbel(&format!("{job} --memory 256MiB --threads 2")).run();
        run.fails(&["a: is compressed with a window of 64.0 MiB", "--memory"]);
        within(&folder, 512, &format!("{job} --threads 2"));
    }
    within(&folder, 256, "dedup a -o out --threads 2");
}

#[test]
fn the_cap_holds_for_inputs_of_any_shape() {
    (0..long(16, 5)).for_each(holds);
}

#[test]
fn the_cap_holds_for_joins_of_tables_of_any_shape() {
    (0..long(16, 4)).for_each(holds_for_join);
}

/// Blocks of a few MB come and go by the hundred: the allocator must not keep them.
#[test]
fn the_cap_holds_while_many_long_lines_are_spilled() {
    let lines = long(80, 32);
    let folder = Folder::new();
    for name in ["a", "b"] {
        let mut out = File::create(folder.path(name)).unwrap();
        for number in 0..lines {
            out.write_all(&[&vec![b'0' + number; 4_000_000][..], b"\n"].concat()).unwrap();
        }
    }
    for job in ["common", "dedup --repeated"] {
        let (_, report) = within(&folder, 64, &format!("{job} a b -o out --threads 2"));
        assert_eq!(report["found"], u64::from(lines), "{report}");
    }
}

/// Lists of files are within the cap, or refused with one that they are within.
#[test]
fn the_cap_holds_for_an_index_of_many_files() {
    let folder = Folder::new();
    folder.write("one", "a few words\n");
    for number in 0..30_000 {
        let of = folder.path(&format!("of/{}", number / 10_000));
        if number % 10_000 == 0 {
            fs::create_dir_all(&of).unwrap();
        }
        fs::hard_link(folder.path("one"), of.join(format!("{number:090}"))).unwrap();
    }
    let enough = |job: &str| {
        let refused = folder.umbel(&format!("{job} --memory 16MiB")).run();
        let refused = refused.fails(&["a memory cap of 16MiB is too small; this run needs at"]);
        let cap = least(&refused);
        within(&folder, cap, job);
        cap
    };
    let made = enough("index -o i of");
    folder.write("of/0/new", "words\n");
    let searched = enough("find --count i word words");
    assert!(searched < made && made < enough("index --update i"));
    // Other jobs are refused while they list the files, before there is too much.
    let refused = folder.umbel("dedup -q -r of --memory 16MiB").run();
    let words =
        refused.fails(&["a memory cap of 16MiB is too small; this run needs at least 27MiB"]);
    assert!(words.len() < 200, "{words}");
    within(&folder, 28, "dedup -r of -o out");
    // Without an index, there are only their names.
    within(&folder, 24, "find --count of word words");
}

#[test]
#[ignore = "minutes of jobs: cargo x test --full"]
fn the_cap_holds_for_more_inputs_of_any_shape() {
    (16..80).for_each(holds);
    (16..80).for_each(holds_for_join);
}
