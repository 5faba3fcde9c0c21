//! `cargo x rates`: compares the measured rate with the promised one, for every kind and size, and counts how many full
//! filters keep it by their own bits.

use std::time::Instant;

use anyhow::{Result, ensure};
use umbel::internals::{BlockedLayout, ClassicLayout};
use umbel::math::{binomial_bounds, classic};
use umbel::{AnyFilter, KeyHash, KeyHasher, Kind, Plan, Scalable, Stable};

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
    /// Only the last table: full filters that keep the promised rate by their own bits.
    #[arg(long)]
    own: bool,
}

const RATES: [f64; 6] = [0.5, 0.1, 0.01, 0.001, 1e-4, 1e-6];
const SIZES: [u64; 7] = [1, 100, 10_000, 1_000_000, 10_000_000, 100_000_000, 500_000_000];
/// The first capacities of scalable filters, and the factors by which they then grow.
const FIRST: [u64; 3] = [100, 10_000, 1_000_000];
const GROWTH: [u64; 4] = [1, 3, 10, 100];
/// The maximum number of absent keys looked up for a row: reveals a shift of 9 % at 1e-4, of 90 % at 1e-6.
const MOST_TRIALS: f64 = 1e8;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.own {
        let failed = full_filters(arguments)?;
        ensure!(failed == 0, "{failed} plans are out of bounds");
        return Ok(());
    }
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
    failed += full_filters(arguments)?;
    ensure!(failed == 0, "{failed} checks are out of bounds");
    Ok(())
}

/// Fills filters of every kind under many seeds, and counts those that keep the promised rate by their own bits: at
/// least 99.9 % with plans for 100,000 keys or more. Returns how many plans fail.
///
/// A plan without the margin, which half of its filters or at least 1 % of them exceed, fails except with a probability
/// below 1e-9.
fn full_filters(arguments: &Arguments) -> Result<usize> {
    const LARGEST_WITHOUT: u64 = 99_999;
    println!(
        "\n{:<11}{:>9}{:>10}{:>9}{:>9}{:>9}{:>12}{:>10}{:>11}{:>8}",
        "full",
        "keys",
        "promised",
        "filters",
        "exceed",
        "allowed",
        "mean rate",
        "bits/key",
        "margin",
        "seconds"
    );
    let sizes = if arguments.full { &[100_000, 1_000_000][..] } else { &[100_000][..] };
    let mut failed = 0;
    for kind in
        Kind::ALL.iter().copied().filter(|kind| !matches!(kind, Kind::Attributes | Kind::Bloomier))
    {
        for &keys in sizes {
            for fpp in RATES {
                let start = Instant::now();
                let plan = Plan::for_keys(kind, keys, fpp)?;
                let filters = filters_of(&plan);
                let rates = rates_of(&plan, arguments.seed, filters)?;
                let exceed = rates.iter().filter(|&&rate| rate > fpp).count() as u64;
                let (_, allowed) = binomial_bounds(filters, 0.001, ALPHA);
                // Up to the rounding of sizes, at most 0.1 %. For scalable filters both have it: keys that pass a link
                // are added.
                let without = Plan::for_keys(kind, LARGEST_WITHOUT, fpp)?.bits_per_key();
                println!(
                    "{:<11}{keys:>9}{fpp:>10}{filters:>9}{exceed:>9}{allowed:>9}{:>12.3e}{:>10.3}{:>9.2} %{:>8.1}",
                    kind,
                    rates.iter().sum::<f64>() / filters as f64,
                    plan.bits_per_key(),
                    100.0 * (plan.bits_per_key() / without - 1.0),
                    start.elapsed().as_secs_f64()
                );
                if exceed > allowed {
                    println!("    OUT OF BOUNDS: {exceed} of {filters} exceed the promised rate");
                    failed += 1;
                }
            }
        }
    }
    Ok(failed)
}

/// The number of filters to fill for a plan: as many as take some seconds.
fn filters_of(plan: &Plan) -> u64 {
    let of_kind = match plan.kind() {
        Kind::Scalable => 300,
        Kind::Stable => 400,
        _ => 2_000,
    };
    (of_kind * 100_000 / plan.keys()).max(100)
}

/// The rates of full filters from their own bits, under seeds from `seed` on.
pub(crate) fn rates_of(plan: &Plan, seed: u64, filters: u64) -> Result<Vec<f64>> {
    let halves = [seed..seed + filters / 2, seed + filters / 2..seed + filters];
    std::thread::scope(|scope| {
        let threads = halves.map(|seeds| {
            scope.spawn(move || {
                if plan.kind() == Kind::Stable {
                    return stable_rates(plan, seeds);
                }
                seeds.map(|seed| full_rate(plan, seed)).collect()
            })
        });
        let mut rates = Vec::new();
        for thread in threads {
            rates.extend::<Vec<f64>>(thread.join().expect("no panic in a thread")?);
        }
        Ok(rates)
    })
}

fn full_rate(plan: &Plan, seed: u64) -> Result<f64> {
    let keys = match plan.kind() {
        // Three links, all but full: keys that pass are not counted.
        Kind::Scalable => 7 * plan.keys(),
        // All generations, just before the oldest goes.
        Kind::Window => {
            let generations = plan.bits() / plan.generation()?.bits();
            generations * plan.generation()?.keys() - 1
        }
        _ => plan.keys(),
    };
    let hasher = KeyHasher::with_seed(seed);
    let hashes: Vec<_> = (0..keys).map(|number| Keys::Sequential.hash(&hasher, number)).collect();
    Ok(AnyFilter::build(plan, &hashes, hasher)?.receipt().fpp)
}

/// The rates of one filter at its stable point, at intervals in which nearly all of it was set again.
fn stable_rates(plan: &Plan, seeds: std::ops::Range<u64>) -> Result<Vec<f64>> {
    let hasher = KeyHasher::with_seed(seeds.start);
    let mut filter = Stable::with_plan(plan, hasher)?;
    let mut inserted = 0;
    let mut rates = Vec::new();
    for number in 0..seeds.end - seeds.start {
        let more = if number == 0 { 20 } else { 3 } * plan.keys();
        filter.extend(inserted..inserted + more);
        inserted += more;
        rates.push(filter.receipt().fpp);
    }
    Ok(rates)
}

fn measured(plan: &Plan, seed: u64) -> Measured {
    // Small filters vary from one hashing to the next: the promise is for their mean.
    let filters = (1_000_000 / plan.keys()).clamp(1, 2_000);
    let trials = power(plan.predicted_fpp(), 0.09).clamp(1e6, MOST_TRIALS) as u64;
    match plan.kind() {
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
            kind: plan.kind(),
            keys: plan.keys(),
            promised: plan.fpp(),
            predicted: plan.predicted_fpp(),
            fpp,
            trials,
            hits,
            bits: plan.bits(),
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
    /// What chance does not explain; see [`Measured::failures`].
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

/// Grows filters of `plan`, and looks up absent keys at each step of [`GROWTH`].
fn grow(plan: &Plan, seed: u64) -> Result<Vec<Grown>> {
    let last = GROWTH[GROWTH.len() - 1] * plan.keys();
    let filters = (10_000_000 / last).clamp(4, 200);
    // The first link alone has half of the promised rate.
    let trials = power(plan.fpp() / 2.0, 0.09).clamp(1e6, MOST_TRIALS) as u64 / filters;
    let mut rates = vec![Vec::new(); GROWTH.len()];
    let mut rows = Vec::new();
    for times in GROWTH {
        let keys = times * plan.keys();
        let predicted = plan.predicted_fpp_at(keys);
        let row = Row {
            kind: plan.kind(),
            keys,
            promised: plan.fpp(),
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
        let mut filter = Scalable::with_plan(plan, KeyHasher::with_seed(seed))?;
        let hasher = filter.hasher().clone();
        let mut inserted = 0;
        for (grown, rates) in rows.iter_mut().zip(&mut rates) {
            let start = Instant::now();
            let row = &mut grown.row;
            let mut all = Ok(());
            each_batch(&hasher, inserted..row.keys, |hashes| {
                all = filter.try_insert_all(hashes);
                all.is_ok()
            });
            all?;
            inserted = row.keys;
            let mut found = Vec::new();
            let mut ask = |hashes: &[KeyHash]| {
                found.resize(hashes.len(), false);
                filter.contains_all(hashes, &mut found);
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
            row.bits = 8 * filter.bytes();
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

/// Calls `take` with the hashes of sequential keys, some thousands at a time, until it returns false.
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
