//! Tries every job with each of its system calls failing, one at a time; or with the possible states of its files after a
//! power failure.

mod crashes;
mod disk;
mod errors;
mod jobs;
mod trace;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;

use jobs::{Job, Programs};

#[derive(Parser)]
struct Arguments {
    /// The program
    #[arg(long)]
    umbel: PathBuf,
    /// A Python with the package
    #[arg(long)]
    python: PathBuf,
    /// Only the job of this name, or all jobs whose names contain it
    #[arg(long, default_value = "")]
    only: String,
    /// Per type of call and file, how many calls to try from the first; beyond that, every call whose number is a power of
    /// two
    #[arg(long, default_value_t = 3)]
    first: usize,
    /// Instead of failing calls, try states of the files after a power failure
    #[arg(long)]
    crashes: bool,
    /// States to try per moment between two operations
    #[arg(long, default_value_t = 40)]
    states: usize,
    /// Seed for choosing among more states
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Jobs at a time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
}

pub(crate) fn run() -> ExitCode {
    match try_jobs(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("faults: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether there are no findings.
fn try_jobs(arguments: &Arguments) -> Result<bool> {
    // Not canonicalized: a link to an interpreter is in the folder that has its packages.
    let python = std::path::absolute(&arguments.python)?;
    let programs = Programs { umbel: arguments.umbel.canonicalize()?, python };
    let only = &arguments.only;
    let jobs = jobs::all()?;
    let whole = jobs.iter().any(|job| job.name == only);
    let is_chosen = |job: &&Job| if whole { job.name == only } else { job.name.contains(only) };
    let chosen: Vec<&Job> = jobs.iter().filter(is_chosen).collect();
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Total::default()));
    let work = || -> Result<()> {
        while let Some(job) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begin = Instant::now();
            let (tried, refused, text, findings) = if arguments.crashes {
                let tried = crashes::try_job(&programs, job, arguments.states, arguments.seed)?;
                (tried.states, tried.refused, tried.to_string(), tried.findings)
            } else {
                let tried = errors::try_job(&programs, job, arguments.first)?;
                (tried.right + tried.refused, tried.refused, tried.to_string(), tried.findings)
            };
            println!("{:22} {text}; {:.0} s", job.name, begin.elapsed().as_secs_f64());
            findings.iter().for_each(|text| println!("    {text}"));
            let mut total = total.lock().expect("no worker panics");
            total.tried += tried;
            total.refused += refused;
            total.findings += findings.len();
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..arguments.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let Total { tried, refused, findings } = total.into_inner().expect("no worker panics");
    let what = if arguments.crashes { "states" } else { "runs" };
    println!("{} jobs, {tried} {what}, {refused} refused, {findings} findings", chosen.len());
    Ok(findings == 0)
}

/// Sums over all jobs.
#[derive(Default)]
struct Total {
    tried: u64,
    refused: u64,
    findings: usize,
}
