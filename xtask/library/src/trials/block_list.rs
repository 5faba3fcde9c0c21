//! A block list, and an allow list that corrects it.
//!
//! A hundredth of a list of 4·10⁹ addresses, at the same nine bits and six probes per address: the rate does not depend
//! on the scale. Addresses are integers from SplitMix64, which never repeats one.

use std::time::Instant;

use anyhow::{Result, ensure};
use umbel::internals::Core;
use umbel::math::{binomial_bounds, classic};
use umbel::{Cascade, Classic, Filter, Form, KeyHash, KeyHasher, Plan, Variant};

use crate::statistics::{ALPHA, SIGMAS, clear_bits, splitmix};

const BLOCKED: u64 = 40_000_000;
const ALLOWED: u64 = 4_000_000;
const FRESH: u64 = 8_000_000;
const BITS_A_KEY: u64 = 9;
const PROBES: u32 = 6;
/// The ratio of the original list to the one of this trial.
const SCALE: u64 = 100;
const BATCH: usize = 4096;

fn hashes(keys: std::ops::Range<u64>) -> Vec<KeyHash> {
    keys.map(|key| KeyHash::from_u64(splitmix(key))).collect()
}

/// How many of the keys match.
fn matching(filter: &Filter<impl Core>, hashes: &[KeyHash]) -> u64 {
    let mut found = [false; BATCH];
    let mut count = 0;
    for hashes in hashes.chunks(BATCH) {
        filter.contains_all(hashes, &mut found[..hashes.len()]);
        count += found[..hashes.len()].iter().filter(|found| **found).count() as u64;
    }
    count
}

/// Figures out of bounds so far.
#[derive(Default)]
struct Checks(u32);

impl Checks {
    fn is(&mut self, what: &str, figure: impl std::fmt::Display, bounds: &str, right: bool) {
        println!(
            "  {what:<44}{figure:>16}  {bounds:<44}{}",
            if right { "ok" } else { "OUT OF BOUNDS" }
        );
        self.0 += u32::from(!right);
    }
}

pub(super) fn run() -> Result<()> {
    let blocked = hashes(0..BLOCKED);
    let allowed = hashes(BLOCKED..BLOCKED + ALLOWED);
    let fresh = hashes(BLOCKED + ALLOWED..BLOCKED + ALLOWED + FRESH);
    let mut checks = Checks::default();

    let theory = classic::fpp(BLOCKED, BITS_A_KEY * BLOCKED, PROBES);
    let plan = Plan::from_parts(Variant::Classic, BLOCKED, theory, BITS_A_KEY * BLOCKED, PROBES)?;
    println!(
        "classic, {BLOCKED} addresses, {BITS_A_KEY} bits and {PROBES} probes each: {:.1} MB; {SCALE} times as many, {:.2} GiB",
        plan.bytes() as f64 / 1e6,
        (plan.bytes() * SCALE) as f64 / f64::from(1 << 30),
    );
    let start = Instant::now();
    let mut filter = Classic::with_plan(&plan, KeyHasher::default())?;
    filter.insert_all(&blocked);
    let seconds = start.elapsed().as_secs_f64();
    let receipt = filter.receipt();
    let (mean, variance) = clear_bits(&plan, BLOCKED);
    let clear = plan.bits() - receipt.set_bits;
    let off = SIGMAS * variance.sqrt();
    checks.is(
        "clear bits",
        clear,
        &format!("{mean:.0} ± {off:.0}"),
        (clear as f64 - mean).abs() <= off,
    );
    let textbook = (1.0 - f64::exp(-f64::from(PROBES) / BITS_A_KEY as f64)).powi(PROBES as i32);
    checks.is(
        "rate, (1 - e^(-6/9))^6",
        format!("{:.5} %", 100.0 * textbook),
        "1.33 %",
        (textbook - 0.0133).abs() < 5e-5,
    );
    let hits = matching(&filter, &fresh);
    let (least, most) = binomial_bounds(FRESH, receipt.fpp, ALPHA);
    // The range that the bounds of the clear bits allow: fill^k moves k times as much as the fill.
    let reach = f64::from(PROBES) * off / (plan.bits() as f64 - mean);
    checks.is(
        "rate from the bits",
        format!("{:.5} %", 100.0 * receipt.fpp),
        &format!("formula's ± {:.3} %", 100.0 * textbook * reach),
        (receipt.fpp / textbook - 1.0).abs() <= reach,
    );
    checks.is(
        &format!("hits of {FRESH} fresh addresses"),
        hits,
        &format!("{least} to {most}"),
        (least..=most).contains(&hits),
    );
    checks.is("rate measured", format!("{:.5} %", 100.0 * hits as f64 / FRESH as f64), "", true);
    let missed = BLOCKED - matching(&filter, &blocked);
    checks.is("blocked addresses missed", missed, "0", missed == 0);
    let caught = matching(&filter, &allowed);
    let (least, most) = binomial_bounds(ALLOWED, receipt.fpp, ALPHA);
    checks.is(
        &format!("of {ALLOWED} allowed addresses caught"),
        caught,
        &format!("{least} to {most}, without an allow list"),
        (least..=most).contains(&caught),
    );
    println!("  built in {seconds:.1} s\n");
    drop(filter);

    for (form, name) in
        [(Form::List, "plain form: one filter and an exact list"), (Form::Levels, "cascade")]
    {
        let start = Instant::now();
        let plan = Plan::for_lists(Variant::Cascade { form }, BLOCKED, ALLOWED, theory)?;
        let filter = Cascade::build_with_plan(&plan, &blocked, &allowed, KeyHasher::default())?;
        let seconds = start.elapsed().as_secs_f64();
        let receipt = filter.receipt();
        println!(
            "{name}, at {:.5} %: {} bytes, {:.3} bits a blocked address, of these {:.3} in level 0; {} levels, {} allowed \
             addresses caught by level 0",
            100.0 * theory,
            filter.bytes(),
            8.0 * filter.bytes() as f64 / BLOCKED as f64,
            plan.bits_per_key(),
            filter.levels(),
            filter.false_positives(),
        );
        let missed = BLOCKED - matching(&filter, &blocked);
        checks.is("blocked addresses missed", missed, "0", missed == 0);
        let caught = matching(&filter, &allowed);
        checks.is("allowed addresses caught", caught, "0", caught == 0);
        let hits = matching(&filter, &fresh);
        let (least, most) = binomial_bounds(FRESH, receipt.fpp, ALPHA);
        checks.is(
            "rate elsewhere, from the bits",
            format!("{:.5} %", 100.0 * receipt.fpp),
            &format!("at most {:.5} %", 100.0 * theory),
            receipt.fpp <= theory,
        );
        checks.is(
            &format!("hits of {FRESH} fresh addresses"),
            hits,
            &format!("{least} to {most}"),
            (least..=most).contains(&hits),
        );
        println!("  built in {seconds:.1} s\n");
    }
    ensure!(checks.0 == 0, "{} figures are out of bounds", checks.0);
    Ok(())
}
