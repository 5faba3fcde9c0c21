//! The plots: nanoseconds per key against keys, and rate against bits per key. Colours are from Okabe and Ito, which most
//! colour-blind people can distinguish, and the same in both.

use std::path::Path;

use anyhow::Result;
use plotters::prelude::*;

use crate::figures::{Case, OPS, Spread, Who, count, percent};
use crate::record::Record;

const GREY: RGBColor = RGBColor(110, 110, 110);
/// Pixels of a letter, of a title and of a marker.
const TEXT: u32 = 14;
const TITLE: u32 = 18;
const MARKER: u32 = 4;

/// How a filter is drawn.
struct Style {
    name: &'static str,
    who: Who<'static>,
    colour: RGBColor,
    /// Form of its keys: integers where it takes no hashes.
    keys: &'static str,
}

const fn style(
    name: &'static str,
    who: Who<'static>,
    (r, g, b): (u8, u8, u8),
    keys: &'static str,
) -> Style {
    Style { name, who, colour: RGBColor(r, g, b), keys }
}

const STYLES: [Style; 7] = [
    style("the limit: batched reads", Who::limit(1), (110, 110, 110), "hashed"),
    style("umbel, batch", Who::batch("umbel"), (0, 114, 178), "hashed"),
    style("umbel, one at a time", Who::one("umbel"), (86, 180, 233), "hashed"),
    style("sbbf-rs", Who::one("sbbf-rs-safe"), (230, 159, 0), "hashed"),
    style("fastbloom", Who::one("fastbloom"), (213, 94, 0), "hashed"),
    style("BinaryFuse8", Who::one("xorf BinaryFuse8"), (204, 121, 167), "hashed"),
    style("datasketches (u64 keys)", Who::one("datasketches"), (0, 0, 0), "u64"),
];

/// Nanoseconds per key against keys at 1 %: insert, hit, miss side by side.
pub(crate) fn speed(record: &Record, path: &Path) -> Result<()> {
    const FPP: f64 = 0.01;
    let points = |style: &Style, op: &str| -> Vec<(f64, f64)> {
        let cases = record.cases().into_iter();
        let cases = cases.filter(|case| case.keys == style.keys && case.fpp == FPP);
        let point = |case: Case<'_>| Some((case.n as f64, record.ns(case, style.who, op)?.median));
        let mut points: Vec<_> = cases.filter_map(point).collect();
        points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let all: Vec<(f64, f64)> =
        STYLES.iter().flat_map(|style| OPS.map(|op| points(style, op))).flatten().collect();
    let Some(keys) = Spread::of(all.iter().map(|point| point.0)) else { return Ok(()) };
    let Some(times) = Spread::of(all.iter().map(|point| point.1)) else { return Ok(()) };
    let area = SVGBackend::new(path, (1240, 500)).into_drawing_area();
    area.fill(&WHITE)?;
    let title = format!("Time a key, one thread, {} false positives asked for", percent(FPP));
    let area = area.titled(&title, ("sans-serif", TITLE))?;
    for (area, op) in area.split_evenly((1, 3)).iter().zip(OPS) {
        let mut chart = ChartBuilder::on(area)
            .caption(op, ("sans-serif", TEXT))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(50)
            .build_cartesian_2d(
                (keys.min / 1.5..keys.max * 1.5).log_scale(),
                // With room for the names.
                (times.min / 1.5..times.max * 20.0).log_scale(),
            )?;
        let mut mesh = chart.configure_mesh();
        mesh.x_desc("keys in the filter").y_desc("ns a key").label_style(("sans-serif", TEXT));
        mesh.x_label_formatter(&|n| count(*n as u64)).y_label_formatter(&f64::to_string).draw()?;
        for style in &STYLES {
            let line = LineSeries::new(points(style, op), style.colour.stroke_width(2));
            let drawn = chart.draw_series(line.point_size(MARKER))?.label(style.name);
            drawn.legend(|at| Circle::new(at, MARKER, style.colour.filled()));
        }
        if op == "miss" {
            let mut names = chart.configure_series_labels();
            names.position(SeriesLabelPosition::UpperLeft).label_font(("sans-serif", TEXT));
            names.background_style(WHITE.mix(0.8)).draw()?;
        }
    }
    Ok(area.present()?)
}

/// Rate counted against bits per key, with the theory for a Bloom filter and for any filter.
pub(crate) fn rate(record: &Record, path: &Path) -> Result<()> {
    let cases = record.cases();
    // The largest filters that all programs made at all rates.
    let sizes = cases.iter().map(|case| case.n).filter(|n| *n <= 10_000_000);
    let Some(n) = sizes.max() else { return Ok(()) };
    let area = SVGBackend::new(path, (900, 560)).into_drawing_area();
    area.fill(&WHITE)?;
    let title = format!("Rate counted and size, {} keys", count(n));
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", TITLE))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(2.0..20.0, (0.0003..0.3).log_scale())?;
    let mut mesh = chart.configure_mesh();
    mesh.x_desc("bits per key").y_desc("false positives counted");
    mesh.label_style(("sans-serif", TEXT)).y_label_formatter(&|rate| percent(*rate)).draw()?;
    let ln2 = std::f64::consts::LN_2;
    // Bits for a rate: −ln p / (ln 2)² with a Bloom filter, −log₂ p with any.
    for (bits, name) in [(1.0 / (ln2 * ln2), "Bloom's formula"), (1.0 / ln2, "no filter below")] {
        let ends = [0.2, 0.0004].map(|rate: f64| (-rate.ln() * bits, rate));
        chart.draw_series(LineSeries::new(ends, GREY))?;
        chart.draw_series([Text::new(name, ends[1], ("sans-serif", TEXT))])?;
    }
    // One way of calling a filter is enough, since its bits are the same. If several are at one spot, the first are
    // drawn larger, and each shows around the next.
    let filters = ["fastbloom", "umbel", "datasketches", "sbbf-rs-safe", "xorf BinaryFuse8"];
    for (peer, radius) in filters.into_iter().zip([9, 7, 5, 6, 5]) {
        let style = STYLES.iter().find(|style| style.who.peer == peer).expect("it has one");
        let cases = cases.iter().filter(|case| case.keys == style.keys && case.n == n);
        let samples = cases.map(|case| record.samples_of(*case, style.who, "hit"));
        let points = samples.filter_map(|samples| {
            samples.first().and_then(|sample| Some((sample.bits_per_key, sample.fpr?)))
        });
        let marker = |at| Circle::new(at, radius, style.colour.filled());
        let drawn = chart.draw_series(points.map(marker))?.label(style.name);
        drawn.legend(move |at| Circle::new(at, radius, style.colour.filled()));
    }
    let mut names = chart.configure_series_labels();
    names.position(SeriesLabelPosition::UpperRight).label_font(("sans-serif", TEXT));
    names.background_style(WHITE.mix(0.8)).draw()?;
    drop(chart);
    Ok(area.present()?)
}
