//! Tries every job with each of its system calls failing, one at a time.

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

use errors::Tried;
use jobs::{JOBS, Job};

#[derive(Parser)]
struct Arguments {
    /// The program
    #[arg(long)]
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

/// Whether nothing was found.
fn try_jobs(arguments: &Arguments) -> Result<bool> {
    let umbel = arguments.umbel.canonicalize()?;
    let chosen: Vec<&Job> = JOBS.iter().filter(|job| job.name.contains(&arguments.only)).collect();
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Tried::default()));
    let work = || -> Result<()> {
        while let Some(job) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begin = Instant::now();
            let tried = errors::try_job(&umbel, job, arguments.first)?;
            println!("{:22} {tried}; {:.0} s", job.name, begin.elapsed().as_secs_f64());
            tried.findings.iter().for_each(|text| println!("    {text}"));
            let mut total = total.lock().expect("no worker panics");
            total.right += tried.right;
            total.refused += tried.refused;
            total.findings.extend(tried.findings);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..arguments.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let total = total.into_inner().expect("no worker panics");
    println!("{} jobs, {total}", chosen.len());
    Ok(total.findings.is_empty())
}
