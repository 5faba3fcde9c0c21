//! The inside of one filter: how many blocks are how full, next to what chance predicts, and the fill along its file,
//! or for a window, the fill of each generation.

use umbel::{AnyFilter, Filter, Portable};

use crate::advice::Profile;
use crate::fill::{self, bars, mean};
use crate::receipt::estimated_keys;

use super::canvas::{Anchor, Area, Canvas, Point, width_of};
use super::chart::{Axis, Chart, Legend, titled};
use super::style::{BLACK, BLUE, DASHED, GREY, LABEL, LIGHT, Look, SOLID, VERMILION};

/// The number of stretches in the drawing of the fill.
const STRETCHES: usize = 200;
/// The most blocks that are each drawn as a bar along the file.
const FEW_BLOCKS: u64 = 24;

pub(super) fn picture<H: Portable>(filter: &AnyFilter<H>, name: &str) -> Canvas {
    let (profile, receipt) = (Profile::of(filter, STRETCHES), filter.receipt());
    let mut canvas = titled(&short(name, 85), 1000.0, 530.0);
    let facts = fill::facts(&profile, &receipt);
    canvas.text(&facts, (16.0, 46.0), LABEL, Anchor::Start);

    let mut legend = Legend::default();
    legend.add(BLOCKS, "blocks counted");
    if profile.expected.is_some() {
        let words = format!("predicted by chance, for {}", estimated_keys(&receipt.keys));
        legend.add(PREDICTED, words);
    }
    legend.draw(&mut canvas, (95.0, 468.0));
    histogram(&mut canvas, &profile);

    let legend = if !profile.generations.is_empty() {
        generations(&mut canvas, &profile)
    } else if profile.blocks <= FEW_BLOCKS {
        each_block(&mut canvas, &profile)
    } else {
        along(&mut canvas, &profile)
    };
    legend.draw_in_rows(&mut canvas, (570.0, 468.0), 400.0);
    canvas
}

/// The looks of what is drawn.
const BLOCKS: Look = Look::line(LIGHT, SOLID).width(12.0);
const PREDICTED: Look = Look::line(VERMILION, SOLID).width(1.6);
const FILL: Look = Look::line(BLUE, SOLID).width(1.8);
const ALL: Look = Look::line(BLACK, DASHED).width(1.2);
const SPREAD: Look = Look::line(GREY, SOLID).width(1.4);

/// The area of the fill.
const RIGHT: Area = Area { left: 570.0, top: 100.0, right: 970.0, bottom: 400.0 };

fn histogram(canvas: &mut Canvas, profile: &Profile) {
    let (cells, per_block) = (profile.cells, profile.loads.len() - 1);
    let bars = bars(profile);
    let (first, last) = (&bars[0], &bars[bars.len() - 1]);
    let (low, high) = (first.first as f64 - 0.5, (last.first + last.width) as f64 - 0.5);
    let highest = bars.iter().map(|bar| bar.expected.max(bar.counted as f64)).fold(1.0, f64::max);
    let state = if cells == "bits" { "set" } else { "in use" };
    let name = format!("{cells} {state}, of {per_block} in a block");
    let x = if bars.len() == 1 {
        let middle = first.first as f64;
        Axis::linear(low, high, 5, &name).with_ticks(vec![(middle, first.first.to_string())])
    } else {
        Axis::counts(low, high, 6, &name)
    };
    let y_name = match first.width {
        1 => "blocks".to_owned(),
        width => format!("blocks per {width} {cells}"),
    };
    let y = Axis::counts(0.0, highest * 1.05, 6, &y_name);
    let area = Area { left: 95.0, top: 100.0, right: 455.0, bottom: 400.0 };
    let chart = Chart::new(canvas, area, x, y, "Blocks by how full they are");
    // One shape for all bars: the outline of the histogram. The expectation has steps too: few keys set multiples of k
    // bits, and a line between them would suggest values in between.
    let mut outline: Vec<Point> = vec![(low, 0.0)];
    let mut expected: Vec<Point> = Vec::new();
    for bar in &bars {
        let (from, to) = (bar.first as f64 - 0.5, (bar.first + bar.width) as f64 - 0.5);
        outline.extend([(from, bar.counted as f64), (to, bar.counted as f64)]);
        expected.extend([(from, bar.expected), (to, bar.expected)]);
    }
    outline.push((high, 0.0));
    chart.shape(canvas, &outline, LIGHT);
    if profile.expected.is_some() {
        chart.curve(canvas, &expected, PREDICTED);
    }
}

/// A legend of the fill, with the fill of all blocks.
fn legend(profile: &Profile, fill: Look, words: &str) -> Legend {
    let mut legend = Legend::default();
    legend.add(fill, words);
    legend.add(ALL, format!("all blocks: {:.2} %", mean(profile) * 100.0));
    legend
}

/// An axis for all fills, in twentieths: from 0 to 1, a filter's fills would be a thin band in a large empty picture.
fn around(profile: &Profile) -> (f64, f64) {
    let least = profile.stretches.iter().map(|one| one.min).fold(1.0, f64::min);
    let most = profile.stretches.iter().map(|one| one.max).fold(0.0, f64::max);
    // Room for the names of the parts, above the band.
    let most = if profile.sections.len() > 1 { most + 0.15 * (most - least) } else { most };
    let (low, high) = ((least * 20.0).floor() / 20.0, (most * 20.0).ceil() / 20.0);
    // Equal fills still need two ends of the axis.
    (low.min(0.95), high.clamp(low.min(0.95) + 0.05, 1.0))
}

/// The fill along the file, with many blocks per place.
fn along(canvas: &mut Canvas, profile: &Profile) -> Legend {
    let end = profile.blocks as f64;
    let x = Axis::counts(0.0, end, 5, "block of the file");
    let (low, high) = around(profile);
    let y = Axis::linear(low, high, 6, "fill");
    let chart = Chart::new(canvas, RIGHT, x, y, "Fill along the file");
    let (mut upper, mut lower, mut line) = (Vec::new(), Vec::new(), Vec::new());
    for stretch in &profile.stretches {
        let ends = [stretch.start, stretch.start + stretch.blocks].map(|block| block as f64);
        upper.extend(ends.map(|x| (x, stretch.max)));
        lower.extend(ends.map(|x| (x, stretch.min)));
        line.extend(ends.map(|x| (x, stretch.fill)));
    }
    upper.extend(lower.into_iter().rev());
    chart.shape(canvas, &upper, LIGHT);
    chart.curve(canvas, &line, FILL);
    let all = mean(profile);
    chart.curve(canvas, &[(0.0, all), (end, all)], ALL);
    let mut before = RIGHT.left;
    for section in &profile.sections {
        let (left, _) = chart.at((section.start as f64, 0.0));
        let (right, _) = chart.at(((section.start + section.blocks) as f64, 0.0));
        // With many small parts, not every border is drawn.
        if left > before + 3.0 {
            before = left;
            canvas.line(&[(left, RIGHT.top), (left, RIGHT.bottom)], SPREAD.width(1.0));
        }
        // A name that does not fit between its borders is left out; `umbel filter info` names all parts.
        let name: String = section.name.escape_debug().collect();
        if width_of(&name, LABEL) < right - left {
            let at = ((left + right) / 2.0, RIGHT.top + 12.0);
            canvas.text(&name, at, LABEL, Anchor::Middle);
        }
    }
    // If each place has one block, the fullest and the emptiest are the same.
    let alike = profile.stretches.iter().all(|one| one.blocks == 1);
    let mut legend = legend(profile, FILL, if alike { "fill" } else { "mean fill" });
    if !alike {
        legend.add(BLOCKS, "emptiest to fullest block");
    }
    legend
}

/// The fill of each of a few blocks.
fn each_block(canvas: &mut Canvas, profile: &Profile) -> Legend {
    let fills: Vec<_> = profile.stretches.iter().map(|one| one.fill).collect();
    let titles = ["Fill of each block", "block of the file"];
    columns(canvas, titles, 0, (&fills, mean(profile)));
    legend(profile, BLOCKS, "fill")
}

/// The fill of the generations of a window, which are interleaved in the file.
fn generations(canvas: &mut Canvas, profile: &Profile) -> Legend {
    let fills: Vec<_> = profile.generations.iter().map(|one| one.fill).collect();
    let titles = ["Fill of each generation", "generation"];
    let chart = columns(canvas, titles, 1, (&fills, mean(profile)));
    let mut legend = legend(profile, BLOCKS, "mean fill");
    let spread = |one: &crate::advice::Load| one.min < one.max;
    if profile.generations.iter().any(spread) {
        for (middle, one) in (0..).map(|i| f64::from(i) + 0.5).zip(&profile.generations) {
            chart.curve(canvas, &[(middle, one.min), (middle, one.max)], SPREAD);
        }
        legend.add(SPREAD, "emptiest to fullest block");
    }
    legend
}

/// A column for each of a few fills, numbered from `first`.
fn columns(
    canvas: &mut Canvas,
    [title, name]: [&str; 2],
    first: usize,
    (fills, all): (&[f64], f64),
) -> Chart {
    let end = fills.len() as f64;
    // Keep the numbers from crowding.
    let step = fills.len().div_ceil(FEW_BLOCKS as usize);
    let ticks = (0..fills.len()).step_by(step).map(|i| (i as f64 + 0.5, (first + i).to_string()));
    let x = Axis::linear(0.0, end, 5, name).with_ticks(ticks.collect());
    let y = Axis::linear(0.0, 1.0, 5, "fill");
    let chart = Chart::new(canvas, RIGHT, x, y, title);
    for (left, &fill) in (0..).map(f64::from).zip(fills) {
        let (left, right) = (left + 0.1, left + 0.9);
        chart.shape(canvas, &[(left, 0.0), (left, fill), (right, fill), (right, 0.0)], LIGHT);
    }
    chart.curve(canvas, &[(0.0, all), (end, all)], ALL);
    chart
}

/// Shortens a long text to its end: the end of a path is more informative than its start.
fn short(text: &str, most: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    match letters.len().checked_sub(most) {
        None | Some(0) => text.to_owned(),
        Some(over) => format!("…{}", letters[over + 1..].iter().collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_their_ends() {
        assert_eq!(short("a/b.umbel", 9), "a/b.umbel");
        assert_eq!(short("a/b.umbel", 8), "…b.umbel");
        assert_eq!(short("a/b.umbel", 8).chars().count(), 8);
    }
}
