//! A filter for each of three attributes: random rows that pass before they are inserted, and rows combined from values
//! of different rows, without and with a joint tag.

use anyhow::{Result, ensure};
use umbel::math::{binomial_bounds, classic};
use umbel::{Attributes, KeyHasher, Plan, Tags, Variant};

use crate::statistics::{ALPHA, splitmix};

const ROWS: u64 = 1_000_000;
const BITS: u64 = 10_000_000;
const PROBES: u32 = 3;
const RUNS: u64 = 20;
const RECOMBINED: u64 = 100_000;

type Row = [[u8; 8]; 3];

/// Row `number` of a run: 64-bit values, none of them repeated in any attribute or run.
fn row(run: u64, number: u64) -> Row {
    let value = |i| splitmix((run * ROWS + number) * 3 + i).to_le_bytes();
    [0, 1, 2].map(value)
}

/// Rows from `start` on.
fn rows(run: u64, start: u64) -> Vec<Row> {
    (start..(start + BATCH).min(ROWS)).map(|number| row(run, number)).collect()
}

const BATCH: u64 = 8_192;

fn filter(tags: Tags, run: u64) -> Result<Attributes> {
    let plan =
        Plan::from_parts(Variant::Attributes { tags, classic: true }, ROWS, 0.02, BITS, PROBES)?;
    Ok(Attributes::with_names(&plan, &["first", "second", "third"], KeyHasher::with_seed(run))?)
}

/// The chance that a row of unknown values passes with n rows in: (1 − (1 − 1/m)^(kn))^(3k).
fn rate(rows: u64) -> f64 {
    classic::fpp_textbook(rows, BITS, PROBES).powi(3)
}

pub(crate) fn run() -> Result<()> {
    println!(
        "{ROWS} random rows of three attributes, a classic filter of m = {BITS} bits and k = {PROBES} for each"
    );
    println!("rate of three unknown values when full: {:.3e}", rate(ROWS));
    let right = [filling()?, recombined()?];
    ensure!(right == [true, true], "a count is out of bounds");
    Ok(())
}

/// How many rows pass before they are inserted, in each of `runs` runs, and the expected number.
pub(super) fn passing(runs: u64) -> Result<(Vec<u64>, f64)> {
    // Each row finds those before it: a sum of independent chances, so close to Poisson that the sum of
    // their squares, by which a Poisson variance is too large, is below 1e-5 of it.
    let expected: f64 = (0..ROWS).map(rate).sum();
    let mut passed = Vec::new();
    for run in 0..runs {
        let mut filter = filter(Tags::None, run)?;
        let mut new = Vec::new();
        let mut count = 0;
        for start in (0..ROWS).step_by(BATCH as usize) {
            let rows = rows(run, start);
            new.clear();
            new.resize(rows.len(), false);
            filter.insert_rows_new(&rows, &mut new)?;
            count += new.iter().filter(|&&new| !new).count() as u64;
        }
        passed.push(count);
    }
    Ok((passed, expected))
}

/// Rows that pass before they are inserted, in each run.
fn filling() -> Result<bool> {
    let (passed, expected) = passing(RUNS)?;
    let (sum, runs) = (passed.iter().sum::<u64>(), RUNS as f64);
    let mean = sum as f64 / runs;
    let squares: f64 = passed.iter().map(|&count| (count as f64 - mean).powi(2)).sum();
    let deviation = (squares / (runs - 1.0)).sqrt();
    // Poisson as the binomial limit, over far more trials than hits.
    let poisson = |mean: f64, alpha| binomial_bounds(1 << 40, mean / (1u64 << 40) as f64, alpha);
    let (low, high) = poisson(runs * expected, ALPHA);
    let (_, most) = poisson(expected, ALPHA / runs);
    println!("\nrows that already pass when inserted, {RUNS} runs");
    println!("  {:<28} {:>10} {:>10}", "", "measured", "theory");
    println!("  {:<28} {mean:>10.3} {expected:>10.3}", "mean a run");
    println!("  {:<28} {deviation:>10.3} {:>10.3}", "standard deviation", expected.sqrt());
    println!("  {:<28} {sum:>10} {:>10}", "all runs", format!("{low} to {high}"));
    let largest = passed.iter().copied().max().unwrap_or(0);
    println!("  {:<28} {largest:>10} {:>10}", "most in a run", format!("0 to {most}"));
    println!("  each run: {passed:?}");
    let three: f64 = 1.0 - (-expected).exp() * (1.0 + expected + expected * expected / 2.0);
    println!("  (three or more, as the text saw: {:.1} % of runs)", 100.0 * three);
    Ok((low..=high).contains(&sum) && largest <= most)
}

/// Rows of which each value comes from another one.
fn recombined() -> Result<bool> {
    println!("\n{RECOMBINED} rows recombined from values of different rows");
    println!("  {:<28} {:>10} {:>16} {:>12}", "tags", "pass", "bounds", "rate");
    let mut right = true;
    for (tags, name) in [(Tags::None, "none"), (Tags::Row, "of each row")] {
        let mut filter = filter(tags, RUNS)?;
        for start in (0..ROWS).step_by(BATCH as usize) {
            filter.insert_rows(&rows(RUNS, start))?;
        }
        let other = |number: u64, i: u64| row(RUNS, (number + i * (ROWS / 3)) % ROWS)[i as usize];
        let asked = (0..RECOMBINED).map(|n| [0, 1, 2].map(|i| Some(other(n, i))));
        let asked: Vec<_> = asked.collect();
        let mut found = vec![false; asked.len()];
        filter.contains_rows(&asked, &mut found)?;
        let pass = found.iter().filter(|&&found| found).count() as u64;
        // All values are known, so that only the tag tells: by the fill of its own filter.
        let rate = filter.query_fpp(&[true; 3])?;
        let (low, high) = binomial_bounds(RECOMBINED, rate, ALPHA);
        println!("  {name:<28} {pass:>10} {:>16} {rate:>12.5}", format!("{low} to {high}"));
        right &= (low..=high).contains(&pass);
        // The fill's own chance shifts the rate by some 1e-3 of it.
        let planned = filter.plan().predicted_fpp();
        if tags == Tags::Row {
            println!("  (rate by the formula with {ROWS} tags: {planned:.5})");
            right &= (rate / planned - 1.0).abs() < 0.01;
        }
    }
    Ok(right)
}
