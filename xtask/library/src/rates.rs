//! `cargo x rates`: the rate measured beside the rate promised, for every kind and size.

use std::time::Instant;

use anyhow::{Result, ensure};
use umbel::filter::{BlockedLayout, ClassicLayout};
use umbel::math::{binomial_bounds, classic};
use umbel::{KeyHash, KeyHasher, Kind, Plan, Scalable};

use crate::statistics::{ALPHA, Keys, Measured, SIGMAS, measure, power};

/// Options of the table.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Also fpp 1e-6 and 100 and 500 million keys: up to 2.5 GB of memory, and half an hour or more.
    #[arg(long)]
    full: bool,
    /// First seed of the filters.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const RATES: [f64; 6] = [0.5, 0.1, 0.01, 0.001, 1e-4, 1e-6];
const SIZES: [u64; 7] = [1, 100, 10_000, 1_000_000, 10_000_000, 100_000_000, 500_000_000];
/// First capacities of scalable filters, and how many times as many keys they then take.
const FIRST: [u64; 3] = [100, 10_000, 1_000_000];
const GROWTH: [u64; 4] = [1, 3, 10, 100];
/// Most fresh keys asked in one row: shows a shift of 9 % at 1e-4, of 90 % at 1e-6.
const MOST_TRIALS: f64 = 1e8;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (rates, sizes) =
        if arguments.full { (&RATES[..], &SIZES[..]) } else { (&RATES[..5], &SIZES[..5]) };
    println!(
        "{:<8}{:>12}{:>10}{:>12}{:>12}{:>12}  {:<24}{:>9}{:>9}{:>8}",
        "kind",
        "keys",
        "promised",
        "predicted",
        "from bits",
        "measured",
        "95 % interval",
        "bits/key",
        "×classic",
        "seconds"
    );
    let mut failed = 0;
    let mut report = |row: &Row, failures: Vec<String>| {
        row.print();
        for failure in failures {
            println!("    OUT OF BOUNDS: {failure}");
            failed += 1;
        }
    };
    for kind in [Kind::Blocked, Kind::Classic] {
        for &keys in sizes {
            for &fpp in rates {
                let start = Instant::now();
                let plan = Plan::for_keys(kind, keys, fpp)?;
                let measured = measured(&plan, arguments.seed);
                let seconds = start.elapsed().as_secs_f64();
                report(&Row::of(&measured, seconds), measured.failures());
            }
        }
    }
    for &first in if arguments.full { &FIRST[..] } else { &FIRST[..2] } {
        for &fpp in rates {
            let plan = Plan::for_keys(Kind::Scalable, first, fpp)?;
            for grown in grow(&plan, arguments.seed)? {
                report(&grown.row, grown.failures());
            }
        }
    }
    ensure!(failed == 0, "{failed} checks are out of bounds");
    Ok(())
}

fn measured(plan: &Plan, seed: u64) -> Measured {
    // Small filters vary from one hashing to the next: the promise is for their mean.
    let filters = (1_000_000 / plan.keys).clamp(1, 2_000);
    let trials = power(plan.predicted_fpp(), 0.09).clamp(1e6, MOST_TRIALS) as u64;
    match plan.kind {
        Kind::Classic => measure::<ClassicLayout>(plan, Keys::Sequential, seed, filters, trials),
        _ => measure::<BlockedLayout>(plan, Keys::Sequential, seed, filters, trials),
    }
}

/// A line of the table.
struct Row {
    kind: Kind,
    /// In the filter.
    keys: u64,
    promised: f64,
    predicted: f64,
    /// From the bits.
    fpp: f64,
    trials: u64,
    hits: u64,
    bits: u64,
    seconds: f64,
}

impl Row {
    fn of(measured: &Measured, seconds: f64) -> Self {
        let Measured { plan, fpp, trials, hits, .. } = *measured;
        Self {
            kind: plan.kind,
            keys: plan.keys,
            promised: plan.fpp,
            predicted: plan.predicted_fpp(),
            fpp,
            trials,
            hits,
            bits: plan.bits,
            seconds,
        }
    }

    fn print(&self) {
        let (low, high) = wilson(self.hits as f64, self.trials as f64);
        let bits_per_key = self.bits as f64 / self.keys as f64;
        println!(
            "{:<8}{:>12}{:>10}{:>12.3e}{:>12.3e}{:>12.3e}  {:<24}{:>9.2}{:>9.3}{:>8.1}",
            self.kind,
            self.keys,
            self.promised,
            self.predicted,
            self.fpp,
            self.hits as f64 / self.trials as f64,
            format!("{low:.3e} to {high:.3e}"),
            bits_per_key,
            bits_per_key / classic::bits_per_key(self.promised),
            self.seconds,
        );
    }
}

/// Scalable filters of one plan, grown to some size under different seeds.
struct Grown {
    row: Row,
    /// Standard error of the rate that the bits give.
    error: f64,
    lost: bool,
}

impl Grown {
    /// What chance does not explain. As [`Measured::failures`].
    fn failures(&self) -> Vec<String> {
        let Row { promised, fpp, trials, hits, .. } = self.row;
        let mut failures = Vec::new();
        let (low, high) = binomial_bounds(trials, fpp, ALPHA);
        if !(low..=high).contains(&hits) {
            failures.push(format!("{hits} of {trials} fresh keys pass, expected {low} to {high}"));
        }
        if fpp > promised + SIGMAS * self.error {
            failures.push(format!("rate {fpp} ± {} is above the promise", self.error));
        }
        if self.lost {
            failures.push("a member is denied".to_owned());
        }
        failures
    }
}

/// Grows filters of `plan`, and asks for fresh keys at each step of [`GROWTH`].
fn grow(plan: &Plan, seed: u64) -> Result<Vec<Grown>> {
    let last = GROWTH[GROWTH.len() - 1] * plan.keys;
    let filters = (10_000_000 / last).clamp(4, 200);
    // The first link alone has half of the promised rate.
    let trials = power(plan.fpp / 2.0, 0.09).clamp(1e6, MOST_TRIALS) as u64 / filters;
    let mut rates = vec![Vec::new(); GROWTH.len()];
    let mut rows = Vec::new();
    for times in GROWTH {
        let keys = times * plan.keys;
        let predicted = plan.predicted_fpp_at(keys);
        let row = Row {
            kind: plan.kind,
            keys,
            promised: plan.fpp,
            predicted,
            fpp: 0.0,
            trials: trials * filters,
            hits: 0,
            bits: 0,
            seconds: 0.0,
        };
        rows.push(Grown { row, error: 0.0, lost: false });
    }
    for seed in seed..seed + filters {
        let mut filter = Scalable::new(plan, KeyHasher::with_seed(seed))?;
        let hasher = *filter.hasher();
        let mut inserted = 0;
        for (grown, rates) in rows.iter_mut().zip(&mut rates) {
            let start = Instant::now();
            let row = &mut grown.row;
            let mut all = Ok(());
            each_batch(&hasher, inserted..row.keys, |hashes| {
                all = filter.insert_batch(hashes);
                all.is_ok()
            });
            all?;
            inserted = row.keys;
            let mut found = Vec::new();
            let mut ask = |hashes: &[KeyHash]| {
                found.resize(hashes.len(), false);
                filter.contains_batch(hashes, &mut found);
                found.iter().filter(|&&found| found).count()
            };
            each_batch(&hasher, 0..inserted.min(1 << 20), |hashes| {
                grown.lost |= ask(hashes) < hashes.len();
                true
            });
            each_batch(&hasher, last..last + trials, |hashes| {
                row.hits += ask(hashes) as u64;
                true
            });
            rates.push(filter.receipt().fpp);
            row.bits = filter.bits();
            row.seconds += start.elapsed().as_secs_f64();
        }
    }
    for (grown, rates) in rows.iter_mut().zip(rates) {
        let count = filters as f64;
        grown.row.fpp = rates.iter().sum::<f64>() / count;
        let squares: f64 = rates.iter().map(|rate| (rate - grown.row.fpp).powi(2)).sum();
        grown.error = (squares / (count - 1.0) / count).sqrt();
    }
    Ok(rows)
}

/// Calls `take` with the hashes of sequential keys, some thousands at a time, until it says no.
fn each_batch(
    hasher: &KeyHasher,
    numbers: std::ops::Range<u64>,
    mut take: impl FnMut(&[KeyHash]) -> bool,
) {
    const BATCH: u64 = 4096;
    let mut batch = Vec::new();
    for start in numbers.clone().step_by(BATCH as usize) {
        batch.clear();
        let end = (start + BATCH).min(numbers.end);
        batch.extend((start..end).map(|number| Keys::Sequential.hash(hasher, number)));
        if !take(&batch) {
            return;
        }
    }
}

/// The 95 % interval of a rate after `hits` of `trials` (E. B. Wilson 1927): right down to no hits.
fn wilson(hits: f64, trials: f64) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    let rate = hits / trials;
    let shrink = 1.0 + Z * Z / trials;
    let middle = (rate + Z * Z / (2.0 * trials)) / shrink;
    let half = Z / shrink * (rate * (1.0 - rate) / trials + Z * Z / (4.0 * trials * trials)).sqrt();
    ((middle - half).max(0.0), middle + half)
}
