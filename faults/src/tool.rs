//! Tries every job with each of its system calls failing, one at a time.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;

use crate::errors::{self, Tried};
use crate::jobs::{JOBS, Job};

#[derive(Parser)]
struct Arguments {
    /// The program
    #[arg(long, default_value = "../target/release/umbel")]
    umbel: PathBuf,
    /// Only jobs whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Of calls of the same sort about the same file, so many of the first, and then every one whose number doubles
    #[arg(long, default_value_t = 3)]
    first: usize,
    /// Jobs at a time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
}

pub(crate) fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("faults: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing was found.
fn run(arguments: &Arguments) -> Result<bool> {
    let umbel = arguments.umbel.canonicalize()?;
    let chosen: Vec<&Job> = JOBS.iter().filter(|job| job.name.contains(&arguments.only)).collect();
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Tried::default()));
    let work = || -> Result<()> {
        while let Some(job) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begin = Instant::now();
            let tried = errors::try_job(&umbel, job, arguments.first)?;
            let Tried { runs, right, refused, findings } = tried;
            println!(
                "{:22} {runs:6} runs: {right} right, {refused} refused, {} findings; {:.0} s",
                job.name,
                findings.values().sum::<u64>(),
                begin.elapsed().as_secs_f64()
            );
            let mut total = total.lock().expect("no worker panics");
            total.runs += runs;
            total.right += right;
            total.refused += refused;
            for (text, count) in findings {
                println!("    {text}");
                *total.findings.entry(text).or_default() += count;
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..arguments.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let Tried { runs, right, refused, findings } = total.into_inner().expect("no worker panics");
    let found = findings.values().sum::<u64>();
    println!(
        "{} jobs, {runs} runs: {right} right in spite of the fault, {refused} refused, {found} findings",
        chosen.len()
    );
    Ok(findings.is_empty())
}
