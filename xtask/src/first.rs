//! `cargo x first`: how long a newcomer waits: the README's first command, and with `--tests` its second, each from an
//! empty target folder, next to the build of a well-known program, on the same machine and one after the other.
//!
//! Machines differ by three times, so what is kept is the ratio.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use xtask::run::{cargo, root, target};

/// The options.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Also measure `cargo x test`.
    #[arg(long)]
    tests: bool,
    /// How often to measure each.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Also write the table to this file.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// The peer; its version is pinned, so that figures compare over time.
const PEER: &str = "ripgrep";
const PEER_VERSION: &str = "15.2.0";
/// The highest ratios that a change may leave.
const GOALS: [f64; 2] = [1.5, 5.0];

/// Seconds of one command: by the clock, and of all processors.
struct Took {
    wall: f64,
    processor: Option<f64>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let folder = target().join("first");
    // Downloads are not measured.
    time(cargo(&["fetch", "--locked"]).current_dir(root()))?;
    peer(&folder)?;
    let mut rows = Vec::new();
    for _ in 0..arguments.runs {
        rows.push(("ripgrep", peer(&folder)?));
        rows.push(("first", first(&folder)?));
        if arguments.tests {
            rows.push(("tests", tests(&folder)?));
        }
    }
    let table = table(&rows);
    print!("{table}");
    if let Some(file) = &arguments.record {
        fs::write(file, table).with_context(|| file.display().to_string())?;
    }
    Ok(fs::remove_dir_all(folder)?)
}

fn peer(folder: &Path) -> Result<Took> {
    let emptied = emptied(&folder.join("peer"))?;
    let mut install = cargo(&["install", PEER, "--version", PEER_VERSION, "--locked", "--force"]);
    install.arg("--root").arg(folder.join("installed")).env("CARGO_TARGET_DIR", emptied);
    time(&mut install)
}

/// The README's first command.
fn first(folder: &Path) -> Result<Took> {
    let examples = ["examples/monday.txt", "examples/tuesday.txt"];
    let mut first = cargo(&["run", "--release", "--", "common"]);
    first.args(examples).current_dir(root());
    time(first.env("CARGO_TARGET_DIR", emptied(&folder.join("release"))?))
}

/// The README's second command.
fn tests(folder: &Path) -> Result<Took> {
    let mut tests = cargo(&["x", "test"]);
    time(tests.current_dir(root()).env("CARGO_TARGET_DIR", emptied(&folder.join("tests"))?))
}

fn emptied(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    Ok(folder.to_owned())
}

fn time(command: &mut Command) -> Result<Took> {
    let (before, start) = (processor_of_children(), Instant::now());
    let output = command.stdin(Stdio::null()).output().context("cannot run cargo")?;
    let wall = start.elapsed().as_secs_f64();
    let after = processor_of_children();
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(Took { wall, processor: before.zip(after).map(|(before, after)| after - before) })
}

/// Seconds of all processors that ended children took, on Linux (proc(5): fields 16 and 17 of `stat`, in hundredths).
fn processor_of_children() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    Some((ticks(16)? + ticks(17)?) / 100.0)
}

fn table(rows: &[(&str, Took)]) -> String {
    let line = |name: &str, took: &Took| {
        let processor = took.processor.map_or("-".to_owned(), |seconds| format!("{seconds:.0}"));
        format!("| {name} | {:.1} | {processor} |\n", took.wall)
    };
    let mut table = format!("{}, {PEER} {PEER_VERSION}\n\n", machine());
    table += "| what | seconds | of processors |\n|---|---:|---:|\n";
    table.extend(rows.iter().map(|(name, took)| line(name, took)));
    table += "\n| ratio to ripgrep | median | goal |\n|---|---:|---:|\n";
    let median = |what: &str| {
        let mut walls: Vec<f64> =
            rows.iter().filter(|(name, _)| *name == what).map(|(_, took)| took.wall).collect();
        walls.sort_by(f64::total_cmp);
        walls.get(walls.len() / 2).copied()
    };
    for (what, goal) in ["first", "tests"].into_iter().zip(GOALS) {
        if let (Some(own), Some(peer)) = (median(what), median("ripgrep")) {
            table += &format!("| {what} | {:.2} | {goal} |\n", own / peer);
        }
    }
    table
}

/// The name of the processor, and how many of them there are.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    match (field("model name"), field("cpu family"), field("model\t")) {
        (Some(name), Some(family), Some(model)) => {
            format!("{name} (family {family}, model {model}), {processors} processors")
        }
        _ => format!("{}, {processors} processors", std::env::consts::ARCH),
    }
}
