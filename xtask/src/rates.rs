//! `cargo x rates`: the rate measured beside the rate promised, for every kind and size.

use std::time::Instant;

use anyhow::{Result, ensure};
use umbel::filter::{BlockedLayout, ClassicLayout};
use umbel::math::classic;
use umbel::{Kind, Plan};

use crate::statistics::{Keys, Measured, measure, power};

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
    for kind in Kind::ALL {
        for &keys in sizes {
            for &fpp in rates {
                let start = Instant::now();
                let plan = Plan::for_keys(kind, keys, fpp)?;
                let measured = measured(&plan, arguments.seed);
                print_row(&measured, start.elapsed().as_secs_f64());
                for failure in measured.failures() {
                    println!("    OUT OF BOUNDS: {failure}");
                    failed += 1;
                }
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

fn print_row(measured: &Measured, seconds: f64) {
    let Measured { plan, trials, hits, .. } = measured;
    let (low, high) = wilson(*hits as f64, *trials as f64);
    println!(
        "{:<8}{:>12}{:>10}{:>12.3e}{:>12.3e}{:>12.3e}  {:<24}{:>9.2}{:>9.3}{:>8.1}",
        plan.kind,
        plan.keys,
        plan.fpp,
        plan.predicted_fpp(),
        measured.fpp,
        *hits as f64 / *trials as f64,
        format!("{low:.3e} to {high:.3e}"),
        plan.bits_per_key(),
        plan.bits_per_key() / classic::bits_per_key(plan.fpp),
        seconds,
    );
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
