//! `cargo x first`: how long a newcomer waits: the README's first command, and with `--tests` its second, each from an
//! empty target folder, next to the build of a well-known program, on the same machine and one after the other.
//!
//! Machines differ by a factor of three, so only the ratio is recorded.

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

/// The peer; its version is pinned to keep figures comparable over time.
const PEER: [&str; 3] = ["ripgrep", "--version", "15.2.0"];
/// The measurements, and the highest ratios that a change may cause.
const GOALS: [(&str, f64); 2] = [("first", 1.8), ("tests", 6.0)];

/// Seconds of one command: elapsed, and summed over all processors.
struct Took {
    what: &'static str,
    wall: f64,
    processor: f64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let folder = target().join("first");
    // Downloads are not measured.
    time("fetch", &mut cargo(&["fetch", "--locked"]), &folder)?;
    let peer = || {
        let mut install = cargo(&["install", "--locked", "--force", "--root"]);
        time("ripgrep", install.arg(folder.join("installed")).args(PEER), &folder)
    };
    peer()?;
    let mut rows = Vec::new();
    for _ in 0..arguments.runs {
        rows.push(peer()?);
        let examples = ["examples/monday.txt", "examples/tuesday.txt"];
        let mut first = cargo(&["run", "--release", "--", "common"]);
        rows.push(time("first", first.args(examples), &folder)?);
        if arguments.tests {
            rows.push(time("tests", &mut cargo(&["x", "test"]), &folder)?);
        }
    }
    let table = table(&rows);
    print!("{table}");
    if let Some(file) = &arguments.record {
        fs::write(file, table).with_context(|| file.display().to_string())?;
    }
    Ok(fs::remove_dir_all(folder)?)
}

/// Runs a command with an empty target folder.
fn time(what: &'static str, command: &mut Command, folder: &Path) -> Result<Took> {
    let built = folder.join("target");
    let _ = fs::remove_dir_all(&built);
    command.current_dir(root()).env("CARGO_TARGET_DIR", built).stdin(Stdio::null());
    let (before, start) = (processor_of_children(), Instant::now());
    let output = command.output().context("cannot run cargo")?;
    let (wall, after) = (start.elapsed().as_secs_f64(), processor_of_children());
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(Took { what, wall, processor: after - before })
}

/// Processor seconds of ended children, on Linux (proc(5): fields 16 and 17 of `stat`, in hundredths); otherwise 0.
fn processor_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(13).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn table(rows: &[Took]) -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = name.map_or(std::env::consts::ARCH, |(_, name)| name);
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let mut table = format!("{name}, {processors} processors, {} {}\n\n", PEER[0], PEER[2]);
    table += "| what | seconds | of processors |\n|---|---:|---:|\n";
    for Took { what, wall, processor } in rows {
        table += &format!("| {what} | {wall:.1} | {processor:.0} |\n");
    }
    table += "\n| ratio to ripgrep | median | goal |\n|---|---:|---:|\n";
    let median = |what: &str| {
        let walls = rows.iter().filter(|took| took.what == what).map(|took| took.wall);
        let mut walls: Vec<f64> = walls.collect();
        walls.sort_by(f64::total_cmp);
        walls.get(walls.len() / 2).copied()
    };
    for (what, goal) in GOALS {
        if let (Some(own), Some(peer)) = (median(what), median("ripgrep")) {
            table += &format!("| {what} | {:.2} | {goal} |\n", own / peer);
        }
    }
    table
}
