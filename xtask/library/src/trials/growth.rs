//! Scalable filters as they grow: the rate at each step, and its picture.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use plotters::prelude::*;
use umbel::math::binomial_bounds;
use umbel::{Growth, KeyHash, KeyHasher, Plan, Scalable, Variant};

use crate::statistics::{ALPHA, Keys};
use xtask::run::root;

const FPP: f64 = 0.01;
const STEPS: [u64; 13] = [
    1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000,
    5_000_000, 10_000_000,
];
/// Fresh keys at each step: show a shift of 6 % at half the promise.
const TRIALS: u64 = 4_000_000;
const FRESH: u64 = 1 << 40;
const BATCH: u64 = 4096;

/// What one filter showed: keys held, rate from its bits, rate counted.
type Curve = Vec<(u64, f64, f64)>;

pub(super) fn run() -> Result<()> {
    let mut failed = 0;
    let mut curves = Vec::new();
    for (growth, first) in [(Growth::Doubling, 1_000), (Growth::Even, 100_000)] {
        let (curve, wrong) = grow(growth, first)?;
        failed += wrong;
        curves.push((growth, first, curve));
    }
    let path = root().join("docs/scalable-growth.svg");
    draw(&path, &curves).map_err(|error| anyhow!("{}: {error}", path.display()))?;
    println!("drawn: docs/scalable-growth.svg");
    ensure!(failed == 0, "{failed} checks are out of bounds");
    Ok(())
}

fn name(growth: Growth, first: u64) -> String {
    let links = match growth {
        Growth::Doubling => "links that double",
        Growth::Even => "links of one size",
    };
    format!("{links}, from {} keys", words(first))
}

fn words(keys: u64) -> String {
    match keys {
        1_000_000.. => format!("{} M", keys / 1_000_000),
        1_000.. => format!("{} k", keys / 1_000),
        _ => keys.to_string(),
    }
}

/// The curve, and how many checks failed.
fn grow(growth: Growth, first: u64) -> Result<(Curve, u64)> {
    let plan = Plan::for_keys(Variant::Scalable { growth }, first, FPP)?;
    let hasher = KeyHasher::with_seed(growth as u64 + 1);
    let mut filter = Scalable::with_plan(&plan, hasher)?;
    println!("{}, promised {FPP}", name(growth, first));
    println!(
        "{:>10}{:>7}{:>12}{:>12}{:>12}{:>12}  {:<22}{:>9}{:>9}",
        "keys",
        "links",
        "bits a key",
        "predicted",
        "from bits",
        "measured",
        "hits, bounds",
        "insert",
        "ask ns"
    );
    let (mut curve, mut failed, mut inserted) = (Vec::new(), 0, 0);
    for keys in STEPS.into_iter().filter(|&keys| keys >= first) {
        let (start, before) = (Instant::now(), inserted);
        let mut all = Ok(());
        each_batch(&hasher, inserted, keys, |hashes| {
            if all.is_ok() {
                all = filter.insert_all(hashes);
            }
        });
        all?;
        inserted = keys;
        let insert = start.elapsed().as_secs_f64() * 1e9 / (keys - before) as f64;
        let (mut hits, mut missed) = (0, 0);
        let start = Instant::now();
        each_batch(&hasher, FRESH, FRESH + TRIALS, |hashes| hits += found(&filter, hashes));
        let ask = start.elapsed().as_secs_f64() * 1e9 / TRIALS as f64;
        each_batch(&hasher, 0, keys.min(1 << 20), |hashes| {
            missed += hashes.len() as u64 - found(&filter, hashes);
        });
        let fpp = filter.receipt().fpp;
        let (low, high) = binomial_bounds(TRIALS, fpp, ALPHA);
        let measured = hits as f64 / TRIALS as f64;
        println!(
            "{keys:>10}{:>7}{:>12.2}{:>12.6}{fpp:>12.6}{measured:>12.6}  {:<22}{insert:>9.1}{ask:>9.1}",
            filter.links().len(),
            8.0 * filter.bytes() as f64 / keys as f64,
            plan.predicted_fpp_at(keys),
            format!("{hits} in {low}..{high}"),
        );
        if missed > 0 || fpp > FPP || !(low..=high).contains(&hits) || measured > FPP {
            println!("    OUT OF BOUNDS, {missed} keys missed");
            failed += 1;
        }
        curve.push((keys, fpp, measured));
    }
    println!();
    Ok((curve, failed))
}

fn found(filter: &Scalable, hashes: &[KeyHash]) -> u64 {
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

/// Log-log, in the colours of Okabe and Ito: lines from the bits, marks as counted.
fn draw(path: &Path, curves: &[(Growth, u64, Curve)]) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::new(path, (900, 560)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("A scalable filter's rate as it grows, promised 1 %", ("sans-serif", 22))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(70)
        .build_cartesian_2d((800f64..14_000_000.0).log_scale(), (0.002f64..0.02).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("keys held")
        .y_desc("chance that a fresh key passes")
        .x_label_formatter(&|&keys| words(keys as u64))
        .y_label_formatter(&|rate| format!("{:.1} %", rate * 100.0))
        .label_style(("sans-serif", 15))
        .light_line_style(RGBColor(240, 240, 240))
        .draw()?;
    let grey = RGBColor(110, 110, 110);
    let promise = DashedLineSeries::new([(800.0, FPP), (14e6, FPP)], 8, 5, grey.stroke_width(2));
    chart
        .draw_series(promise)?
        .label("promised, however far it grows")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], grey.stroke_width(2)));
    let colours = [RGBColor(0, 114, 178), RGBColor(213, 94, 0)];
    for ((growth, first, curve), colour) in curves.iter().zip(colours) {
        let line = curve.iter().map(|&(keys, fpp, _)| (keys as f64, fpp));
        let marks = curve.iter().map(|&(keys, _, measured)| {
            Circle::new((keys as f64, measured), 5, colour.stroke_width(2))
        });
        chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
        chart
            .draw_series(marks)?
            .label(format!("{}: line from bits, rings measured", name(*growth, *first)))
            .legend(move |(x, y)| Circle::new((x + 12, y), 5, colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE)
        .border_style(RGBColor(200, 200, 200))
        .label_font(("sans-serif", 15))
        .draw()?;
    area.present()?;
    Ok(())
}
