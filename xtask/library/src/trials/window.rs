//! A long stream through a window filter.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use umbel::math::binomial_bounds;
use umbel::{KeyHash, KeyHasher, Kind, Plan, Window};

use crate::statistics::{ALPHA, Keys, SIGMAS, power};

const STREAM: u64 = 100_000_000;
const CHECKS: u64 = 10;
const FPP: f64 = 0.01;
const BATCH: u64 = 4096;
/// Fresh keys are numbered from here.
const FRESH: u64 = 1 << 40;

pub(super) fn run() -> Result<()> {
    let mut failed = 0;
    for window in [1_000_000, 10_000_000] {
        failed += stream(window)?;
    }
    ensure!(failed == 0, "{failed} checks are out of bounds");
    Ok(())
}

/// Checks that failed.
fn stream(window: u64) -> Result<u64> {
    let plan = Plan::for_keys(Kind::Window, window, FPP)?;
    let hasher = KeyHasher::with_seed(window);
    let generations = plan.bits() / plan.generation()?.bits();
    let mut filter = Window::with_plan(&plan, hasher.clone())?;
    println!(
        "{STREAM} keys through a window of the last {window}: {} generations of {} keys, {:.1} MiB, {:.2} bits a \
         key of the window; promised {FPP}, {:.5} with all generations full",
        generations,
        plan.generation()?.keys(),
        plan.bytes() as f64 / 1_048_576.0,
        plan.bits_per_key(),
        plan.predicted_fpp(),
    );
    println!(
        "{:>11}{:>12}{:>8}{:>12}{:>11}{:>11}  {:<20}{:>10}{:>9}",
        "inserted",
        "remembered",
        "missed",
        "asked",
        "from bits",
        "measured",
        "hits, bounds",
        "peak MiB",
        "ns/key"
    );
    let (mut failed, mut inserted, mut peaks) = (0, 0, Vec::new());
    let (mut full, mut highest) = (Vec::new(), 0.0);
    let trials = power(FPP, 0.02) as u64;
    for check in 1..=CHECKS {
        // Out of step with the generations: the newest is filled differently each time, once nearly full.
        let end = STREAM / CHECKS * check - (CHECKS - check) * window / 37;
        let start = Instant::now();
        each_batch(&hasher, inserted, end, |hashes| filter.insert_all(hashes));
        let nanoseconds = start.elapsed().as_secs_f64() * 1e9 / (end - inserted) as f64;
        inserted = end;
        let mut missed = 0;
        each_batch(&hasher, inserted.saturating_sub(window), inserted, |hashes| {
            missed += hashes.len() as u64 - found(&filter, hashes);
        });
        let mut hits = 0;
        let first = FRESH + check * trials;
        each_batch(&hasher, first, first + trials, |hashes| hits += found(&filter, hashes));
        let receipt = filter.receipt();
        let (low, high) = binomial_bounds(trials, receipt.fpp, ALPHA);
        let peak = peak_memory()?;
        peaks.push(peak);
        println!(
            "{inserted:>11}{:>12}{missed:>8}{trials:>12}{:>11.6}{:>11.6}  {:<20}{:>10.1}{nanoseconds:>9.1}",
            filter.remembered(),
            receipt.fpp,
            hits as f64 / trials as f64,
            format!("{hits} in {low}..{high}"),
            peak as f64 / 1024.0,
        );
        let each = plan.generation()?.keys() as f64;
        full.extend(receipt.parts.iter().filter(|part| part.keys == each).map(|part| part.fpp));
        highest = f64::max(highest, receipt.fpp);
        let right = missed == 0 && (low..=high).contains(&hits) && !receipt.over_filled;
        if !right {
            println!("    OUT OF BOUNDS");
            failed += 1;
        }
    }
    // The promise is for the mean over hashings: generations filled with other keys vary as this sample of
    // full ones does, and the sum of G of them √G times as much.
    let count = full.len() as f64;
    let mean = full.iter().sum::<f64>() / count;
    let variance = full.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let sigma = (variance * generations as f64).sqrt();
    println!(
        "highest rate {highest:.6}, promised {FPP} + 6 deviations of {sigma:.6} from hashing to hashing"
    );
    if highest > FPP + SIGMAS * sigma {
        println!("    OUT OF BOUNDS");
        failed += 1;
    }
    // The first check has touched all the memory.
    let grown = peaks[peaks.len() - 1] - peaks[0];
    println!("memory grew by {grown} KiB after the first {} keys\n", STREAM / CHECKS);
    if grown > 1024 {
        println!("    OUT OF BOUNDS: more than 1,024 KiB");
        failed += 1;
    }
    Ok(failed)
}

fn found(filter: &Window, hashes: &[KeyHash]) -> u64 {
    let mut found = [false; BATCH as usize];
    let found = &mut found[..hashes.len()];
    filter.contains_all(hashes, found);
    found.iter().filter(|&&found| found).count() as u64
}

/// Calls `take` with the hashes of the keys numbered `start` to `end`, some thousands at a time.
fn each_batch(hasher: &KeyHasher, start: u64, end: u64, mut take: impl FnMut(&[KeyHash])) {
    let mut batch = Vec::with_capacity(BATCH as usize);
    for first in (start..end).step_by(BATCH as usize) {
        batch.clear();
        let last = (first + BATCH).min(end);
        batch.extend((first..last).map(|number| Keys::Sequential.hash(hasher, number)));
        take(&batch);
    }
}

/// The most memory this process has had, in KiB.
fn peak_memory() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let words = line.context("the system tells no peak memory")?;
    Ok(words.trim().trim_end_matches(" kB").parse()?)
}
