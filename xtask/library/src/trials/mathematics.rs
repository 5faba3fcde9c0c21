//! Compares statements of well-known texts on Bloom filters with umbel's formulas and with measured filters.
//!
//! One row per statement. *Computed* must reproduce what the text prints, in all its digits; if the text is wrong, the
//! row says so. *Measured* must be within bounds derived from the formula, at six standard deviations or a tail of
//! 1e-9.

use std::io::Read;

use anyhow::{Result, ensure};
use umbel::math::{binomial_bounds, classic};
use umbel::{AnyFilter, Classic, KeyHash, KeyHasher, Kind, Plan, Variant};
use umbel_report::advice::formulas;
use umbel_share::pack::{Decoder, Encoder};

use super::rows;
use crate::rates::rates_of;
use crate::statistics::{ALPHA, SIGMAS, splitmix};

/// Rows so far, and how many were out of bounds.
#[derive(Default)]
struct Table {
    wrong: u32,
}

impl Table {
    fn head(&self, topic: &str) {
        println!("\n{topic}");
        println!("  {:<46} {:>12} {:>12} {:>12}  bounds", "", "text", "computed", "measured");
    }

    /// `text` is as printed; `measured` comes with its bounds.
    fn row(&mut self, what: &str, text: &str, computed: f64, measured: Option<(f64, [f64; 2])>) {
        let agrees = text.is_empty() || as_printed(text, computed);
        let within = measured.is_none_or(|(value, [low, high])| low <= value && value <= high);
        let (value, bounds) = match measured {
            Some((value, [low, high])) => {
                (digits(value), format!("{} to {}", digits(low), digits(high)))
            }
            None => (String::new(), String::new()),
        };
        let note = match (agrees, within) {
            (true, true) => "",
            (false, _) => "  NOT AS PRINTED",
            (_, false) => "  OUT OF BOUNDS",
        };
        self.wrong += u32::from(!note.is_empty());
        println!("  {what:<46} {text:>12} {:>12} {value:>12}  {bounds}{note}", digits(computed));
    }
}

/// Whether `value` rounds to `text` in the digits that it has.
fn as_printed(text: &str, value: f64) -> bool {
    let number = text.trim_end_matches([' ', '%', 'x']);
    let value = if text.ends_with('%') { 100.0 * value } else { value };
    let Ok(printed) = number.parse::<f64>() else { return false };
    let (mantissa, power) = match number.split_once('e') {
        Some((mantissa, power)) => (mantissa, power.parse().unwrap_or(0)),
        None => (number, 0),
    };
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    // Half a unit of the last digit, and a rounding either way at the half.
    (value - printed).abs() <= 0.501 * 10f64.powi(power - decimals)
}

fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        0.001..10.0 => format!("{value:.5}"),
        10.0..1e6 => format!("{value:.2}"),
        1e6..1e12 => format!("{value:.0}"),
        _ => format!("{value:.3e}"),
    }
}

fn hashes(keys: std::ops::Range<u64>) -> Vec<KeyHash> {
    keys.map(|key| KeyHash::from_u64(splitmix(key))).collect()
}

fn filter(bits: u64, probes: u32, keys: std::ops::Range<u64>) -> Result<Classic> {
    let plan =
        Plan::from_parts(Variant::Classic, (keys.end - keys.start).max(1), 0.5, bits, probes)?;
    let mut filter = Classic::with_plan(&plan, KeyHasher::default())?;
    filter.insert_all(&hashes(keys));
    Ok(filter)
}

/// The share of `asked` fresh keys that pass, and the bounds around the rate that the formula gives: of the count, and
/// of what the fill varies, which is a share of `spread` of the rate, one standard deviation.
fn counted(filter: &Classic, asked: u64, rate: f64) -> (f64, [f64; 2]) {
    const FRESH: u64 = 1 << 40;
    let mut found = vec![false; asked as usize];
    filter.contains_all(&hashes(FRESH..FRESH + asked), &mut found);
    let hits = found.iter().filter(|found| **found).count() as f64;
    let plan = filter.plan();
    let lambda = f64::from(plan.probes()) * plan.keys() as f64 / plan.bits() as f64;
    let empty = (-lambda).exp();
    // σ/X of the set bits, k times which is that of the rate.
    let spread =
        (empty * (1.0 - (1.0 + lambda) * empty) / plan.bits() as f64).sqrt() / (1.0 - empty);
    let shift = SIGMAS * f64::from(plan.probes()) * spread;
    let (low, _) = binomial_bounds(asked, rate * (1.0 - shift).max(0.0), ALPHA);
    let (_, high) = binomial_bounds(asked, (rate * (1.0 + shift)).min(1.0), ALPHA);
    let share = |hits: f64| hits / asked as f64;
    (share(hits), [share(low as f64), share(high as f64)])
}

pub(super) fn run() -> Result<()> {
    let mut table = Table::default();
    exact_rates(&mut table)?;
    best_probes(&mut table)?;
    rates(&mut table)?;
    estimates(&mut table)?;
    joined(&mut table)?;
    attributes(&mut table)?;
    lengths(&mut table)?;
    by_hand(&mut table);
    shared_bits(&mut table)?;
    sent(&mut table)?;
    spreads(&mut table)?;
    ensure!(table.wrong == 0, "{} rows are not as they should be", table.wrong);
    Ok(())
}

/// The mean rate of many tiny filters, from their bits.
fn exact_rates(table: &mut Table) -> Result<()> {
    const FILTERS: u64 = 40_000;
    table.head("The rate of small filters, k = 6, m/n = 8: exact over (1 - (1 - 1/m)^kn)^k, over (1 - e^(-kn/m))^k");
    for (bits, textbook, limit) in [
        (32, "1.14", ""),
        (64, "1.07", ""),
        (128, "1.035", ""),
        (512, "", "1.013"),
        (1024, "", "1.006"),
    ] {
        let keys = bits / 8;
        let exact = classic::fpp(keys, bits, 6);
        let rates = (0..FILTERS).map(|i| {
            let first = (bits << 32) + i * keys;
            Ok((filter(bits, 6, first..first + keys)?.receipt().set_bits as f64 / bits as f64)
                .powi(6))
        });
        let rates = rates.collect::<Result<Vec<f64>>>()?;
        let mean = rates.iter().sum::<f64>() / FILTERS as f64;
        let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / FILTERS as f64;
        let bound = SIGMAS * (variance / FILTERS as f64).sqrt();
        for (what, text, other) in [
            ("textbook form", textbook, classic::fpp_textbook(keys, bits, 6)),
            ("limit", limit, classic::fpp_limit(keys, bits, 6)),
        ] {
            let within = [(exact - bound) / other, (exact + bound) / other];
            let what = format!("m = {bits}, n = {keys}, exact over the {what}");
            table.row(&what, text, exact / other, Some((mean / other, within)));
        }
    }
    Ok(())
}

fn best_probes(table: &mut Table) -> Result<()> {
    const KEYS: u64 = 200_000;
    table.head("The best k: ln 2 m/n; whole numbers beside it");
    table.row("best k at m/n = 8", "5.545", classic::best_probes(1.0, 8.0), None);
    table.row(
        "rate there, a bit a key: 0.5^(ln 2)",
        "0.6185",
        formulas::log_fpp_at_clear(1.0, 0.5).exp(),
        None,
    );
    for (probes, text) in [(5, "2.17 %"), (6, "2.16 %")] {
        let rate = formulas::fpp_limit_of(8.0, probes);
        let filter = filter(8 * KEYS, probes, 0..KEYS)?;
        table.row(
            &format!("m/n = 8, k = {probes}"),
            text,
            rate,
            Some(counted(&filter, 1 << 21, rate)),
        );
    }
    Ok(())
}

/// A table of rates that many texts print, with three digits (zeros at the end left out).
fn rates(table: &mut Table) -> Result<()> {
    const KEYS: u64 = 50_000;
    const PRINTED: [&str; 7] = ["0.118", "0.0489", "0.0306", "0.024", "0.0217", "0.0216", "0.0229"];
    table.head("Rates by bits per key and k, limit form");
    for ratio in 2..=9u64 {
        for probes in 1..=7u32 {
            let text = match (ratio, probes) {
                (8, _) => PRINTED[probes as usize - 1],
                (9, 6) => "0.0133",
                _ => "",
            };
            let rate = formulas::fpp_limit_of(ratio as f64, probes);
            let first = (ratio * 8 + u64::from(probes)) << 32;
            let filter = filter(ratio * KEYS, probes, first..first + KEYS)?;
            let measured = counted(&filter, 1 << 19, rate);
            table.row(&format!("m/n = {ratio}, k = {probes}"), text, rate, Some(measured));
        }
    }
    Ok(())
}

fn estimates(table: &mut Table) -> Result<()> {
    const KEYS: u64 = 10_000;
    const FILTERS: u64 = 200;
    table.head(
        "How many keys are in it: n* = -(m/k) ln(1 - X/m), and of two sets; m = 100,000, k = 7",
    );
    let (mut sum, mut deviation) = (0.0, 0.0);
    for i in 0..FILTERS {
        let keys = filter(10 * KEYS, 7, i * KEYS..(i + 1) * KEYS)?.receipt().keys;
        sum += keys.value;
        deviation = keys.deviation;
    }
    let bound = SIGMAS * deviation / (FILTERS as f64).sqrt();
    let (mean, n) = (sum / FILTERS as f64, KEYS as f64);
    table.row("keys, mean of 200 filters", "", n, Some((mean, [n - bound, n + bound])));

    let of = |keys| Ok::<_, anyhow::Error>(AnyFilter::Classic(filter(10 * KEYS, 7, keys)?));
    let overlap = of(0..8_000)?.compare(&of(5_000..12_000)?)?.overlap;
    let overlap = overlap.expect("bits are left");
    for (what, truth, estimate) in [
        ("union of 8,000 and 7,000 keys, 3,000 shared", 12_000.0, overlap.union),
        ("intersection", 3_000.0, overlap.intersection),
        ("Jaccard index", 0.25, overlap.jaccard),
    ] {
        let bound = SIGMAS * estimate.deviation;
        table.row(what, "", truth, Some((estimate.value, [truth - bound, truth + bound])));
    }
    Ok(())
}

fn joined(table: &mut Table) -> Result<()> {
    const BITS: u64 = 1_000_000;
    table.head("OR and AND of filters of 60,000 and 80,000 keys, 30,000 shared; m = 10^6, k = 6");
    let (left, right) = (filter(BITS, 6, 0..60_000)?, filter(BITS, 6, 30_000..110_000)?);
    let mut either = left.clone();
    either.union(&right)?;
    let same = either.receipt().set_bits == filter(BITS, 6, 0..110_000)?.receipt().set_bits
        && (0..110_000).all(|key| either.contains(KeyHash::from_u64(splitmix(key))));
    table.row("the OR is the filter of the union (1: yes)", "1", f64::from(u8::from(same)), None);
    let mut both = left.clone();
    both.intersect(&right)?;
    let rate = formulas::fpp_of_intersection(60_000, 80_000, 30_000, BITS, 6);
    let measured = counted(&both, 1 << 23, rate);
    table.row("rate of the AND", "", rate, Some(measured));
    let fresh = classic::fpp(30_000, BITS, 6);
    let worse = classic::fpp(80_000, BITS, 6);
    table.row("  above that of a fresh filter", "", fresh, Some((measured.0, [fresh, 1.0])));
    table.row("  at most that of the worse input", "", worse, Some((measured.0, [0.0, worse])));
    Ok(())
}

fn attributes(table: &mut Table) -> Result<()> {
    const RUNS: u64 = 4;
    table.head("Three attributes, a filter each; k = 3, n = 10^6 rows");
    let rate = |bits: u64| classic::fpp_textbook(1_000_000, bits, 3).powi(3);
    table.row("three unknown values, m = 10^7 (cut to 5.27e-6)", "5.28e-6", rate(10_000_000), None);
    table.row("  the text prints m = 10^8, which has", "", rate(100_000_000), None);
    let (passed, expected) = rows::passing(RUNS)?;
    let trials = 1u64 << 40;
    let (low, high) = binomial_bounds(trials, RUNS as f64 * expected / trials as f64, ALPHA);
    let bounds = [low, high].map(|count| count as f64 / RUNS as f64);
    let mean = passed.iter().sum::<u64>() as f64 / RUNS as f64;
    table.row("rows that pass when inserted (the text saw 3)", "", expected, Some((mean, bounds)));
    Ok(())
}

fn lengths(table: &mut Table) -> Result<()> {
    const KEYS: u64 = 100_000;
    table.head(
        "Length from rate and keys, least over k = 1...100: -k / ln(1 - p^(1/k)) bits per key",
    );
    for (rate, asked) in [(0.1, 1 << 20), (0.01, 1 << 20), (0.001, 1 << 22), (1e-4, 1 << 24)] {
        let (bits, probes) = formulas::least_bits_per_key(rate, 100);
        let filter = filter((bits * KEYS as f64).ceil() as u64, probes, 0..KEYS)?;
        let what = format!("rate at {bits:.3} bits per key, k = {probes}");
        table.row(&what, "", rate, Some(counted(&filter, asked, rate)));
    }
    let bytes = |rate: f64| formulas::least_bits_per_key(rate, 100).0 / 8.0;
    table.row("bytes a key at 1 %", "1.2", bytes(0.01), None);
    table.row(
        "  bits divided by 5, as in the text's size table",
        "",
        bytes(0.01) * 8.0 / 5.0,
        None,
    );
    Ok(())
}

/// The worked example of an article, bit by bit.
fn by_hand(table: &mut Table) {
    table.head(
        "Apples {3, 12, 11} and plums {11, 1, 8} in 14 bits; mango {8, 3, 12}: see umbel show",
    );
    let bits = [3, 12, 11, 11, 1, 8].into_iter().fold(0u32, |bits, place| bits | 1 << place);
    let found = [8, 3, 12].into_iter().all(|place| bits >> place & 1 == 1);
    table.row("mango is found (1: yes)", "1", f64::from(u8::from(found)), None);
    let fill = f64::from(bits.count_ones()) / 14.0;
    table.row("bits set", "5", f64::from(bits.count_ones()), None);
    table.row("rate of any word", "", fill.powi(3), None);
}

fn shared_bits(table: &mut Table) -> Result<()> {
    const BITS: u64 = 200_000;
    table.head("Bits on in both filters of 10,000 keys each, m = 200,000, k = 5");
    for shared in [0, 2_000, 5_000, 10_000] {
        let left = AnyFilter::Classic(filter(BITS, 5, 0..10_000)?);
        let right = filter(BITS, 5, 10_000 - shared..20_000 - shared)?;
        let found = left.compare(&AnyFilter::Classic(right))?;
        let clear = |keys: u64| (5.0 * keys as f64 * (-1.0 / BITS as f64).ln_1p()).exp();
        // Set in both: 1 - u_A - u_B + u_(A or B).
        let expected = BITS as f64 * (1.0 - 2.0 * clear(10_000) + clear(20_000 - shared));
        // Of sums of clear bits, whose deviations are at most √(m/4) each.
        let bound = SIGMAS * (BITS as f64 / 4.0).sqrt();
        let within = [expected - bound, expected + bound];
        table.row(
            &format!("{shared} keys shared"),
            "",
            expected,
            Some((found.shared_bits as f64, within)),
        );
    }
    Ok(())
}

/// Filters packed, and unpacked.
fn sent(table: &mut Table) -> Result<()> {
    const KEYS: u64 = 100_000;
    table.head("Compressed filters, 8 bits sent a key: real filters of 100,000 keys, packed");
    for (ratio, probes, rate_text, sent_text) in
        [(8u64, 6, "2.16 %", ""), (14, 2, "1.77 %", ""), (92, 1, "1.08 %", "7.92")]
    {
        let bits = ratio * KEYS;
        let filter = filter(bits, probes, 0..KEYS)?;
        let rate = formulas::fpp_limit_of(ratio as f64, probes);
        let what = format!("m/n = {ratio}, k = {probes}: rate");
        table.row(&what, rate_text, rate, Some(counted(&filter, 1 << 21, rate)));

        let file = filter.to_bytes();
        let mut packed = Vec::new();
        Encoder::new(&file[..], file.len() as u64)?.write(&mut packed)?;
        let mut back = Vec::new();
        Decoder::new(&packed[..], u64::MAX)?.read_to_end(&mut back)?;
        ensure!(back == file, "what was unpacked is not what was sent");
        let coded = 8.0 * packed.len() as f64 / KEYS as f64;
        let entropy = formulas::sent_per_key(ratio as f64, f64::from(probes));
        // The fill varies, and there are headers and checksums.
        let within = [entropy * 0.99, entropy * 1.01];
        table.row("  bits sent a key", sent_text, entropy, Some((coded, within)));
    }
    let (bits, probes, rate) = formulas::best_for_sent(8.0, 1000.0);
    println!(
        "  best with up to 1,000 bits per key in memory: m/n = {bits:.1}, k = {probes}, rate {:.2} %",
        100.0 * rate
    );
    Ok(())
}

/// How far the rates of single full filters, from their own bits, are from each other.
fn spreads(table: &mut Table) -> Result<()> {
    const KEYS: u64 = 100_000;
    const FILTERS: u64 = 2_000;
    table.head("Deviation of the rate of one full filter of 100,000 keys, in % of the rate: 2,000 filters each");
    for kind in [Kind::Blocked, Kind::Classic] {
        for fpp in [0.5, 0.1, 0.01, 0.001, 1e-4, 1e-6] {
            let plan = Plan::for_keys(kind, KEYS, fpp)?;
            let rates = rates_of(&plan, 1, FILTERS)?;
            let mean = rates.iter().sum::<f64>() / FILTERS as f64;
            let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
            let measured = 100.0 * (squares / (FILTERS - 1) as f64).sqrt() / mean;
            let spread = plan.fpp_spread();
            let theory = 100.0 * spread.deviation / spread.mean;
            // The deviation of a deviation from so many, by the kurtosis of what varies.
            let bound = SIGMAS * theory * ((spread.kurtosis + 2.0) / (4 * FILTERS) as f64).sqrt();
            let within = [theory - bound, theory + bound];
            table.row(&format!("{kind}, {fpp}"), "", theory, Some((measured, within)));
        }
    }
    Ok(())
}
