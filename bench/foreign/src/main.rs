//! `bench-foreign`: umbel queries filters of Parquet and RocksDB, compared with the Rust libraries that read Parquet's
//! and with umbel's own blocked filter. `cargo x bench --foreign` starts it.
//!
//! All filters are in one process and hold the same keys. A round queries each of them once, in another order than the
//! round before, and ratios are computed within a round.

#[allow(dead_code)]
#[path = "../../filters/run/src/figures.rs"]
mod figures;
#[allow(dead_code)]
#[path = "../../filters/run/src/machine.rs"]
mod machine;
#[allow(dead_code)]
#[path = "../../filters/run/src/record.rs"]
mod record;
mod table;
mod ways;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;

use machine::Ticks;
use record::{End, Line, Record, Sample};
use ways::{Asked, Way};

/// Times filters of other systems under umbel and beside others.
#[derive(Parser)]
#[command(bin_name = "cargo x bench --foreign")]
struct Arguments {
    /// A try: filters of 2 MiB, a million questions, files under the target folder
    #[arg(long)]
    quick: bool,
    /// Rounds; 7 unless said
    #[arg(long, default_value_t = 7)]
    rounds: u64,
    /// Where the files go; `bench/record` unless said
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Bytes of the bits of each filter: the largest that writers of Parquet make.
const BYTES: u64 = 128 << 20;
/// Of a try.
const QUICK_BYTES: u64 = 2 << 20;
/// Bits per key, so that all of them have a rate of about 1 %.
const BITS_PER_KEY: u64 = 10;
/// Members queried in a pass, and as many absent keys.
const ASKED: u64 = 10_000_000;
const QUICK_ASKED: u64 = 1_000_000;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let (bytes, asked) = if arguments.quick { (QUICK_BYTES, QUICK_ASKED) } else { (BYTES, ASKED) };
    let keys = 8 * bytes / BITS_PER_KEY;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let command = format!("cargo x bench --foreign {}", words.join(" "));
    let about = machine::about(command.trim_end().to_owned(), false, arguments.rounds);
    let (path, mut out) = create(&arguments)?;
    write(&mut out, &Line::About(about))?;

    let (start, ticks) = (Instant::now(), Ticks::now());
    let folder = tempfile::tempdir()?;
    let ways = ways::all(bytes, keys, folder.path())?;
    // Members from the middle: their places in the filter are random all the same.
    let asked = [("hit", keys.saturating_sub(asked) / 2), ("miss", ways::FRESH)]
        .map(|(op, first)| (op, Asked::new(first, asked.min(keys))));
    let rates = check(&ways, &asked)?;
    for round in 1..=arguments.rounds {
        for turn in 0..ways.len() {
            let place = (turn + round as usize) % ways.len();
            for (op, asked) in &asked {
                let ns_per_key = time(&ways[place], asked);
                let sample =
                    sample(&ways[place], round, op, ns_per_key, (keys, bytes), rates[place]);
                write(&mut out, &Line::Sample(sample))?;
            }
        }
        eprintln!("round {round} of {}", arguments.rounds);
    }
    let (seconds, others) = (start.elapsed().as_secs_f64(), Ticks::now().others_since(ticks));
    write(&mut out, &Line::End(End { seconds, others }))?;
    drop(out);

    let (page, met) = table::markdown(&Record::read(&path)?);
    let beside = path.with_extension("md");
    fs::write(&beside, &page).with_context(|| beside.display().to_string())?;
    println!("{page}\n{}\n{}", path.display(), beside.display());
    ensure!(met || arguments.quick, "a goal is missed");
    Ok(())
}

/// The rate of each way, counted over the misses.
///
/// Every member must be found, and ways that ask the same filter must give the same answer to every key.
fn check(ways: &[Way], asked: &[(&str, Asked); 2]) -> Result<Vec<f64>> {
    let mut rates = Vec::new();
    let mut before: Option<(&str, Vec<bool>)> = None;
    for way in ways {
        let [hits, misses] = asked.each_ref().map(|(_, keys)| way.answers(keys));
        ensure!(hits.iter().all(|found| *found), "{}: a member is not found", way.name());
        let rate = misses.iter().filter(|found| **found).count() as f64 / misses.len() as f64;
        let expected = way.expected;
        ensure!(
            (0.9 * expected..1.1 * expected).contains(&rate),
            "{}: a rate of {rate}, and its bits say {expected}",
            way.name()
        );
        if let Some((filter, answers)) = &before
            && *filter == way.filter
        {
            ensure!(*answers == misses, "{}: other answers than the way before", way.name());
        }
        before = Some((way.filter, misses));
        rates.push(rate);
    }
    Ok(rates)
}

/// Nanoseconds per key of one pass.
fn time(way: &Way, asked: &Asked) -> f64 {
    let mut found = vec![true; asked.len()]; // written: its pages are there
    let start = Instant::now();
    way.ask(black_box(asked), &mut found);
    let time = start.elapsed();
    black_box(found);
    time.as_nanos() as f64 / asked.len() as f64
}

fn sample(
    way: &Way,
    round: u64,
    op: &str,
    ns_per_key: f64,
    (n, bytes): (u64, u64),
    rate: f64,
) -> Sample {
    Sample {
        round,
        peer: way.peer.to_owned(),
        version: way.version.to_owned(),
        variant: way.variant(),
        n,
        fpp_asked: 0.01,
        keys: way.keys.to_owned(),
        mode: way.mode.to_owned(),
        threads: 1,
        op: op.to_owned(),
        ns_per_key,
        fpr: Some(rate),
        built: false,
        found: 1.0,
        bits_per_key: 8.0 * bytes as f64 / n as f64,
        bytes,
    }
}

/// The record: `DATE-foreign.jsonl`, numbered when the day has one; a try replaces the last one.
fn create(arguments: &Arguments) -> Result<(PathBuf, BufWriter<File>)> {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(bench.join("target"), PathBuf::from);
    let folder = match &arguments.out {
        Some(folder) => folder.clone(),
        None if arguments.quick => target.join("bench-quick"),
        None => bench.join("record"),
    };
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let date = machine::date();
    let first = folder.join(format!("{date}-foreign.jsonl"));
    let others = (2..).map(|i| folder.join(format!("{date}-foreign-{i}.jsonl")));
    let mut paths = std::iter::once(first).chain(others);
    let path = paths.find(|path| arguments.quick || !path.exists()).expect("endless");
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    Ok((path, BufWriter::new(file)))
}

fn write(out: &mut impl Write, line: &Line) -> Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    Ok(out.write_all(b"\n")?)
}
