//! `bench-prefixes`: the longest prefix of an address or host, by umbel, by tries and by plain tables, in one process.
//! `cargo x bench --prefixes` starts it; it prints tables in Markdown.
//!
//! A round asks every structure the same questions, in an order that rotates; ratios to umbel are computed within a round.
//! Before, all structures must give the same answers.

mod data;
mod domains;
mod networks;

use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Parser;
use peak_alloc::PeakAlloc;

use data::Random;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Times longest-prefix look-ups of umbel and of others.
#[derive(Parser)]
#[command(bin_name = "cargo x bench --prefixes")]
struct Arguments {
    /// Rounds
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Look-ups in a round, of each sort
    #[arg(long, default_value_t = 1_000_000)]
    asked: usize,
    /// A list of domains, one per line [default: a million made ones]
    #[arg(long, value_name = "FILE")]
    domains: Option<PathBuf>,
}

/// A structure that was built.
struct Way<Q> {
    name: String,
    /// Bytes allocated while it was built and not freed since.
    bytes: usize,
    seconds: f64,
    /// The value found for one question.
    get: Box<dyn Fn(&Q) -> Option<u32>>,
    /// The sum of the values of many, each plus 1.
    sum: Box<dyn Fn(&[Q]) -> u64>,
}

/// Builds a structure, and keeps how it is asked.
fn way<Q: 'static, T: 'static>(
    name: impl Into<String>,
    build: impl FnOnce() -> T,
    get: impl Fn(&T, &Q) -> Option<u32> + Copy + 'static,
) -> Way<Q> {
    let (before, start) = (ALLOCATED.current_usage(), Instant::now());
    let built = std::rc::Rc::new(build());
    let seconds = start.elapsed().as_secs_f64();
    let bytes = ALLOCATED.current_usage() - before;
    let other = built.clone();
    Way {
        name: name.into(),
        bytes,
        seconds,
        get: Box::new(move |question| get(&built, question)),
        sum: Box::new(move |questions| {
            let values = questions.iter().map(|question| get(&other, question));
            values.map(|value| value.map_or(0, |value| u64::from(value) + 1)).sum()
        }),
    }
}

/// Questions of one sort.
struct Asked<Q> {
    name: &'static str,
    all: Vec<Q>,
}

/// Checks and times all ways, of which the first is compared with the others, and prints a table.
fn compare<Q>(ways: &[Way<Q>], asked: &[Asked<Q>], prefixes: usize, rounds: usize) -> Result<()> {
    let first = &ways[0];
    for sort in asked {
        let mut found = 0;
        for (i, question) in sort.all.iter().enumerate() {
            let expected = (first.get)(question);
            found += usize::from(expected.is_some());
            for way in &ways[1..] {
                let (other, way, sort) = ((way.get)(question), &way.name, sort.name);
                let flaw = || format!("{way}: question {i} of {sort}: {other:?}, not {expected:?}");
                ensure!(other == expected, flaw());
            }
        }
        println!("{} look-ups, {}: all structures agree; {found} found", sort.all.len(), sort.name);
    }
    // times[sort][way][round]
    let mut times = vec![vec![Vec::new(); ways.len()]; asked.len()];
    for round in 0..=rounds {
        for (sort, times) in asked.iter().zip(&mut times) {
            for turn in 0..ways.len() {
                let at = (turn + round) % ways.len();
                let start = Instant::now();
                black_box((ways[at].sum)(&sort.all));
                let nanoseconds = start.elapsed().as_secs_f64() * 1e9 / sort.all.len() as f64;
                // The first round warms up.
                if round > 0 {
                    times[at].push(nanoseconds);
                }
            }
        }
    }
    let columns: String =
        asked.iter().map(|sort| format!(" {} ns | ÷ umbel |", sort.name)).collect();
    println!("\n| structure | bytes per prefix | built in s |{columns}");
    println!("|---|---|---|{}", "---|---|".repeat(asked.len()));
    for (at, way) in ways.iter().enumerate() {
        let cell = |times: &Vec<Vec<f64>>| {
            let ratios = times[at].iter().zip(&times[0]).map(|(one, first)| one / first);
            let (middle, ratio) = (median(times[at].clone()), median(ratios.collect()));
            let (least, most) = range(&times[at]);
            format!(" {middle:.1} [{least:.1}–{most:.1}] | {ratio:.2} |")
        };
        let cells: String = times.iter().map(cell).collect();
        let each = way.bytes as f64 / prefixes as f64;
        println!("| {} | {each:.1} | {:.2} |{cells}", way.name, way.seconds);
    }
    println!();
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::MAX, 0.0), |(least, most), &value| (value.min(least), value.max(most)))
}

fn main() -> Result<()> {
    let Arguments { rounds, asked, domains } = Arguments::parse();
    let mut random = Random::new(1);
    let (four, six) = data::bgp()?;

    println!("## IPv4: {} prefixes\n", four.len());
    let all = (0..asked).map(|_| data::unicast(&mut random)).collect();
    let asked_four = [
        Asked { name: "random address", all },
        Asked { name: "routed address", all: data::routed::<Ipv4Addr>(&four, asked, &mut random) },
    ];
    compare(&networks::four(&four), &asked_four, four.len(), rounds)?;

    println!("## IPv6: {} prefixes\n", six.len());
    let all = (0..asked).map(|_| data::global_unicast(&six, &mut random)).collect();
    let asked_six = [
        Asked { name: "random address", all },
        Asked { name: "routed address", all: data::routed::<Ipv6Addr>(&six, asked, &mut random) },
    ];
    compare(&networks::six(&six), &asked_six, six.len(), rounds)?;

    let names = data::domains(domains.as_deref(), &mut random)?;
    println!("## Domains: {}\n", names.len());
    let asked_names = [
        Asked { name: "host under none", all: data::hosts(None, asked, &mut random) },
        Asked { name: "host under one", all: data::hosts(Some(&names), asked, &mut random) },
    ];
    compare(&domains::all(&names), &asked_names, names.len(), rounds)
}
