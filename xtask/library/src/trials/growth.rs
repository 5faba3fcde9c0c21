//! Scalable filters as they grow: the rate at each step, and its plot.

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
/// Absent keys at each step: they reveal a shift of 6 % at half the promised rate.
const TRIALS: u64 = 4_000_000;
const FRESH: u64 = 1 << 40;
const BATCH: u64 = 4096;

/// The measurements of one filter: keys held, rate from its bits, rate counted.
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
        _ => unreachable!("no others"),
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
    let mut filter = Scalable::with_plan(&plan, hasher.clone())?;
    println!("{}, promised {FPP}", name(growth, first));
    println!(
        "{:>10}{:>7}{:>14}{:>12}{:>12}{:>12}  {:<22}{:>9}{:>9}",
        "keys",
        "links",
        "bits per key",
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
                all = filter.try_insert_all(hashes);
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
            "{keys:>10}{:>7}{:>14.2}{:>12.6}{fpp:>12.6}{measured:>12.6}  {:<22}{insert:>9.1}{ask:>9.1}",
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

/// In the style of `umbel plan --plot`: lines from the bits, rings as counted, the legend beside the curves.
fn draw(path: &Path, curves: &[(Growth, u64, Curve)]) -> Result<(), Box<dyn std::error::Error>> {
    const TOP: f64 = 0.012;
    let (grey, pale) = (RGBColor(110, 110, 110), RGBColor(227, 227, 227));
    let area = SVGBackend::new(path, (950, 460)).into_drawing_area();
    area.fill(&WHITE)?;
    let title = "False-positive rate of a scalable filter as it grows";
    area.draw(&Text::new(title, (16, 12), ("sans-serif", 21).into_font()))?;
    let (left, right) = area.split_horizontally(640);
    let mut chart = ChartBuilder::on(&left)
        .margin_top(50)
        .margin_left(10)
        .margin_right(15)
        .x_label_area_size(55)
        .y_label_area_size(75)
        .build_cartesian_2d((800f64..14_000_000.0).log_scale(), 0.0..TOP)?;
    chart
        .configure_mesh()
        .x_desc("keys held")
        .y_desc("false-positive rate")
        .x_label_formatter(&|&keys| words(keys as u64))
        .y_label_formatter(&|rate| format!("{:.1} %", rate * 100.0))
        .y_labels(7)
        .axis_desc_style(("sans-serif", 17))
        .label_style(("sans-serif", 16))
        .axis_style(grey)
        .bold_line_style(pale)
        .light_line_style(TRANSPARENT)
        .draw()?;
    let promise = DashedLineSeries::new([(800.0, FPP), (14e6, FPP)], 7, 4, BLACK.into());
    chart.draw_series(promise)?;
    let words = |text: String, y: i32| {
        right.draw(&Text::new(text, (59, y - 8), ("sans-serif", 16).into_font()))
    };
    for x in [15, 26, 37] {
        right.draw(&PathElement::new([(x, 65), (x + 7, 65)], BLACK))?;
    }
    words("promised, however far it grows".to_owned(), 65)?;
    let colours = [RGBColor(0, 114, 178), RGBColor(213, 94, 0)];
    for (((growth, first, curve), colour), y) in curves.iter().zip(colours).zip([88, 111]) {
        let line = curve.iter().map(|&(keys, fpp, _)| (keys as f64, fpp));
        let marks = curve.iter().map(|&(keys, _, measured)| {
            Circle::new((keys as f64, measured), 5, colour.stroke_width(2))
        });
        chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
        chart.draw_series(marks)?;
        right.draw(&PathElement::new([(15, y), (49, y)], colour.stroke_width(2)))?;
        right.draw(&Circle::new((32, y), 5, colour.stroke_width(2)))?;
        words(name(*growth, *first), y)?;
    }
    words("lines: from bits, rings: measured".to_owned(), 134)?;
    area.present()?;
    Ok(())
}
