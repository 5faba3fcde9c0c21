//! `bench-filters`: builds the filter programs, runs them round by round, keeps every figure, and
//! makes the table and the plots. `cargo x bench` starts it.

mod figures;
mod goals;
mod kinds;
mod machine;
mod plots;
mod record;
mod rounds;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use record::Record;

/// Times umbel, other filters and the limit of memory in the same run.
#[derive(Parser)]
#[command(bin_name = "cargo x bench")]
struct Arguments {
    /// Every kind of umbel next to other filters that need only keys and a rate: one table
    #[arg(long, conflicts_with = "full")]
    kinds: bool,
    /// A try: 100 thousand and 1 million keys (with --kinds, 1 million), one round, files under the target
    /// folder
    #[arg(long)]
    quick: bool,
    /// Also 500 million keys, for umbel and the limit
    #[arg(long)]
    full: bool,
    /// Rounds; 5 unless said, with --kinds 3
    #[arg(long)]
    rounds: Option<u64>,
    /// Some of the cases: n=…, fpp=…, keys=hashed|u64|str64, peer=…, with commas between; with --kinds a
    /// peer may be a kind
    #[arg(long, value_delimiter = ',', value_name = "WHAT=VALUE")]
    only: Vec<String>,
    /// Measure nothing: make table and plots again from a record
    #[arg(long, value_name = "FILE.jsonl")]
    report: Option<PathBuf>,
    /// Where the files go; `bench/record` unless said
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// False when a program failed.
fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(path) = &arguments.report {
        return report(path);
    }
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(bench.join("target"), PathBuf::from);
    let folder = match &arguments.out {
        Some(folder) => folder.clone(),
        None if arguments.quick => target.join("bench-quick"),
        None => bench.join("record"),
    };
    let Arguments { kinds, quick, full, only, .. } = arguments;
    let (kinds, quick) = (*kinds, *quick);
    let cases = if kinds {
        rounds::build(&bench, &target, &[kinds::PROGRAM])?; // it knows which kinds there are
        kinds::cases(&target, quick, only)?
    } else {
        rounds::cases(quick, *full, only)?
    };
    let usual = match (quick, kinds) {
        (true, _) => 1,
        (false, true) => 3,
        (false, false) => 5,
    };
    let rounds = arguments.rounds.unwrap_or(usual);
    fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    let path = free_path(&folder, if kinds { "kinds" } else { "filters" }, quick);
    let words: Vec<String> = std::env::args().skip(1).collect();
    let about = machine::about(format!("cargo x bench {}", words.join(" ")), kinds, rounds);
    rounds::build(&bench, &target, &rounds::folders(&cases))?;
    rounds::run(&target, &cases, about, &path)?;
    report(&path)
}

/// `DATE-filters.jsonl`, numbered when the day has one; a try replaces the last one.
fn free_path(folder: &Path, what: &str, quick: bool) -> PathBuf {
    let date = machine::date();
    let first = folder.join(format!("{date}-{what}.jsonl"));
    let others = (2..).map(|i| folder.join(format!("{date}-{what}-{i}.jsonl")));
    let mut paths = std::iter::once(first).chain(others);
    paths.find(|path| quick || !path.exists()).expect("endless")
}

/// Writes table and plots next to the record; prints the table of kinds, which has no plots.
fn report(path: &Path) -> Result<bool> {
    let record = Record::read(path)?;
    let beside = |ending: &str| path.with_extension("").with_extension(ending);
    let table = beside("md");
    let mut written = vec![path.to_owned(), table.clone()];
    let page = if record.about.kinds {
        let page = kinds::markdown(&record);
        println!("{page}");
        page
    } else {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let (speed, rate) = (beside("speed.svg"), beside("rate.svg"));
        plots::speed(&record, &speed)?;
        plots::rate(&record, &rate)?;
        let plots: Vec<String> = [&speed, &rate].iter().filter_map(|path| name(path)).collect();
        written.extend([speed, rate]);
        table::markdown(&record, &plots)
    };
    fs::write(&table, page).with_context(|| format!("{}", table.display()))?;
    for path in written {
        println!("{}", path.display());
    }
    for failure in &record.failures {
        eprintln!("failed: {} {}: {}", failure.program, failure.case, failure.message);
    }
    Ok(record.failures.is_empty())
}
