//! The plots: nanoseconds per key against keys, and rate against bits per key.
//!
//! Colours are those of Okabe and Ito, which most colour-blind people can distinguish; each filter also has its own
//! marker, and the same colour and marker in both plots. Axes are drawn by hand in pixels: the few ticks that a
//! logarithmic axis needs here are given, not computed.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::figures::{Case, Spread, Who, count, percent};
use crate::record::Record;

/// Of a marker, in pixels.
const RADIUS: i32 = 5;
const GREY: RGBColor = RGBColor(110, 110, 110);
const PALE: RGBColor = RGBColor(225, 225, 225);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// How a filter is drawn.
struct Style {
    name: &'static str,
    who: Who<'static>,
    colour: RGBColor,
    marker: Marker,
    /// Form of its keys: integers where it takes no hashes.
    keys: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Marker {
    Disc,
    Ring,
    Square,
    Triangle,
    Diamond,
    Cross,
    Plus,
    /// None; the line is dashed.
    Dashes,
}

const fn style(
    name: &'static str,
    who: Who<'static>,
    (r, g, b): (u8, u8, u8),
    marker: Marker,
    keys: &'static str,
) -> Style {
    Style { name, who, colour: RGBColor(r, g, b), marker, keys }
}

const STYLES: [Style; 8] = [
    style("the limit: batched reads", Who::limit(1), (110, 110, 110), Marker::Dashes, "hashed"),
    style("umbel, batch", Who::batch("umbel"), (0, 114, 178), Marker::Disc, "hashed"),
    style("umbel, one at a time", Who::one("umbel"), (86, 180, 233), Marker::Ring, "hashed"),
    style("sbbf-rs", Who::one("sbbf-rs-safe"), (230, 159, 0), Marker::Triangle, "hashed"),
    style("fastbloom", Who::one("fastbloom"), (213, 94, 0), Marker::Square, "hashed"),
    style("BinaryFuse8", Who::one("xorf BinaryFuse8"), (204, 121, 167), Marker::Cross, "hashed"),
    style("bloomfilter (u64 keys)", Who::one("bloomfilter"), (0, 158, 115), Marker::Diamond, "u64"),
    style("datasketches (u64 keys)", Who::one("datasketches"), (0, 0, 0), Marker::Plus, "u64"),
];

/// A linear or logarithmic axis between two pixels.
struct Axis {
    pixels: (i32, i32),
    range: (f64, f64),
    log: bool,
}

impl Axis {
    fn at(&self, value: f64) -> i32 {
        let scale = |value: f64| if self.log { value.ln() } else { value };
        let (low, high) = (scale(self.range.0), scale(self.range.1));
        let (first, last) = (f64::from(self.pixels.0), f64::from(self.pixels.1));
        (first + (last - first) * (scale(value) - low) / (high - low)).round() as i32
    }
}

/// Axes of one panel, with its grid and labels drawn.
struct Panel<'a, 'b> {
    area: &'a Area<'b>,
    x: Axis,
    y: Axis,
}

type Ticks = [(f64, String)];

impl<'a, 'b> Panel<'a, 'b> {
    fn new(
        area: &'a Area<'b>,
        [x, y]: [Axis; 2],
        [x_ticks, y_ticks]: [&Ticks; 2],
        [title, x_name, y_name]: [&str; 3],
    ) -> Result<Self> {
        let panel = Self { area, x, y };
        let ((left, right), (bottom, top)) = (panel.x.pixels, panel.y.pixels);
        for (value, label) in x_ticks {
            let at = panel.x.at(*value);
            panel.line(&[(at, bottom), (at, top)], &PALE, 1)?;
            panel.text(label, (at, bottom + 8), 13, (HPos::Center, VPos::Top))?;
        }
        for (value, label) in y_ticks {
            let at = panel.y.at(*value);
            panel.line(&[(left, at), (right, at)], &PALE, 1)?;
            panel.text(label, (left - 8, at), 13, (HPos::Right, VPos::Center))?;
        }
        panel.line(&[(left, top), (left, bottom), (right, bottom)], &GREY, 1)?;
        let middle = (left + right) / 2;
        panel.text(x_name, (middle, bottom + 30), 14, (HPos::Center, VPos::Top))?;
        panel.text(y_name, (left - 44, top - 12), 14, (HPos::Left, VPos::Bottom))?;
        panel.text(title, (middle, top - 34), 16, (HPos::Center, VPos::Bottom))?;
        Ok(panel)
    }

    fn at(&self, (x, y): (f64, f64)) -> (i32, i32) {
        (self.x.at(x), self.y.at(y))
    }

    fn line(&self, points: &[(i32, i32)], colour: &RGBColor, width: u32) -> Result<()> {
        let line = PathElement::new(points.to_vec(), colour.stroke_width(width));
        self.area.draw(&line).map_err(failed)
    }

    fn text(&self, text: &str, at: (i32, i32), size: i32, (h, v): (HPos, VPos)) -> Result<()> {
        let style = ("sans-serif", size).into_text_style(self.area).pos(Pos::new(h, v));
        self.area.draw(&Text::new(text.to_owned(), at, style)).map_err(failed)
    }

    /// A line through the points with markers on them.
    fn series(&self, style: &Style, points: &[(i32, i32)]) -> Result<()> {
        if style.marker == Marker::Dashes {
            for pair in points.windows(2) {
                self.dashes(pair[0], pair[1], &style.colour)?;
            }
            return Ok(());
        }
        if points.len() > 1 {
            self.line(points, &style.colour, 2)?;
        }
        points.iter().try_for_each(|&at| self.marker(style, at, RADIUS))
    }

    fn dashes(&self, from: (i32, i32), to: (i32, i32), colour: &RGBColor) -> Result<()> {
        const DASH: f64 = 7.0;
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = dx.hypot(dy);
        let at = |way: f64| {
            let part = (way / length).min(1.0);
            (from.0 + (dx * part).round() as i32, from.1 + (dy * part).round() as i32)
        };
        for i in 0..(length / DASH).ceil() as u32 / 2 + 1 {
            let way = 2.0 * DASH * f64::from(i);
            if way < length {
                self.line(&[at(way), at(way + DASH)], colour, 2)?;
            }
        }
        Ok(())
    }

    fn marker(&self, style: &Style, at @ (x, y): (i32, i32), r: i32) -> Result<()> {
        let (full, stroke) = (style.colour.filled(), style.colour.stroke_width(2));
        let polygon = |points: &[(i32, i32)]| {
            let points: Vec<_> = points.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
            self.area.draw(&Polygon::new(points, full)).map_err(failed)
        };
        match style.marker {
            Marker::Disc => self.area.draw(&Circle::new(at, r, full)).map_err(failed),
            Marker::Ring => {
                self.area.draw(&Circle::new(at, r, WHITE.filled())).map_err(failed)?;
                self.area.draw(&Circle::new(at, r, stroke)).map_err(failed)
            }
            Marker::Square => polygon(&[(-r, -r), (r, -r), (r, r), (-r, r)]),
            Marker::Triangle => polygon(&[(0, -r - 1), (r + 1, r), (-r - 1, r)]),
            Marker::Diamond => polygon(&[(0, -r - 2), (r + 1, 0), (0, r + 2), (-r - 1, 0)]),
            Marker::Cross => self.area.draw(&Cross::new(at, r, stroke)).map_err(failed),
            Marker::Plus => {
                self.line(&[(x - r - 1, y), (x + r + 1, y)], &style.colour, 2)?;
                self.line(&[(x, y - r - 1), (x, y + r + 1)], &style.colour, 2)
            }
            Marker::Dashes => Ok(()),
        }
    }

    /// Names and markers, below each other from `at` on.
    fn legend<'s>(
        &self,
        styles: impl IntoIterator<Item = (&'s Style, i32)>,
        (x, mut y): (i32, i32),
        lines: bool,
    ) -> Result<()> {
        for (style, radius) in styles {
            let ends = [(x, y), (x + 30, y)];
            if style.marker == Marker::Dashes {
                self.series(style, &ends)?;
            } else if lines {
                self.line(&ends, &style.colour, 2)?;
            }
            self.marker(style, (x + 15, y), radius)?;
            self.text(style.name, (x + 40, y), 14, (HPos::Left, VPos::Center))?;
            y += 24;
        }
        Ok(())
    }
}

/// Nanoseconds per key against keys at 1 %: insert, hit, miss side by side.
pub(crate) fn speed(record: &Record, path: &Path) -> Result<()> {
    const FPP: f64 = 0.01;
    const OPS: [&str; 3] = ["insert", "hit", "miss"];
    let points = |style: &Style, op: &str| -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = record
            .cases()
            .into_iter()
            .filter(|case| case.keys == style.keys && case.fpp == FPP)
            .filter_map(|case| Some((case.n as f64, record.ns(case, style.who, op)?.median)))
            .collect();
        points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let all: Vec<(f64, f64)> =
        STYLES.iter().flat_map(|style| OPS.map(|op| points(style, op))).flatten().collect();
    let Some(keys) = Spread::of(all.iter().map(|point| point.0)) else { return Ok(()) };
    let Some(times) = Spread::of(all.iter().map(|point| point.1)) else { return Ok(()) };
    let mut sizes: Vec<u64> = all.iter().map(|point| point.0 as u64).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let x_ticks: Vec<_> = sizes.into_iter().map(|n| (n as f64, count(n))).collect();
    let steps: Vec<f64> = [0.1, 1.0, 10.0, 100.0, 1000.0]
        .into_iter()
        .flat_map(|decade| [decade, 2.0 * decade, 5.0 * decade])
        .collect();
    let low = steps.iter().rev().find(|step| **step <= times.min).unwrap_or(&0.1);
    let high = steps.iter().find(|step| **step >= times.max).unwrap_or(&5000.0);
    let y_ticks: Vec<_> = steps
        .iter()
        .filter(|step| (low..=high).contains(step))
        .map(|&step| (step, format!("{step}")))
        .collect();
    draw(path, (1240, 500), |area| {
        for (i, op) in (0..).zip(OPS) {
            let left = 60 + 335 * i;
            let x = Axis {
                pixels: (left, left + 275),
                range: (keys.min / 1.5, keys.max * 1.5),
                log: true,
            };
            let y = Axis { pixels: (430, 90), range: (*low, *high), log: true };
            let names = [op, "keys in the filter", "ns a key"];
            let panel = Panel::new(area, [x, y], [&x_ticks, &y_ticks], names)?;
            if i == 0 {
                let title =
                    format!("Time a key, one thread, {} false positives asked for", percent(FPP));
                panel.text(&title, (16, 14), 18, (HPos::Left, VPos::Top))?;
            }
            for style in &STYLES {
                let points: Vec<_> =
                    points(style, op).into_iter().map(|point| panel.at(point)).collect();
                panel.series(style, &points)?;
            }
            if i == 2 {
                panel.legend(
                    STYLES.iter().map(|style| (style, RADIUS)),
                    (left + 300, 130),
                    true,
                )?;
            }
        }
        Ok(())
    })
}

/// Rate counted against bits per key, with the theory for a Bloom filter and for any filter.
pub(crate) fn rate(record: &Record, path: &Path) -> Result<()> {
    let cases = record.cases();
    // The largest filters that all programs made at all rates.
    let sizes = cases.iter().map(|case| case.n).filter(|n| *n <= 10_000_000);
    let Some(n) = sizes.max() else { return Ok(()) };
    let points = |style: &Style| -> Vec<(f64, f64)> {
        let of = |case: &Case<'_>| {
            let samples = record.samples_of(*case, style.who, "hit");
            samples.first().and_then(|sample| Some((sample.bits_per_key, sample.fpr?)))
        };
        let cases = cases.iter().filter(|case| case.keys == style.keys && case.n == n);
        cases.filter_map(of).collect()
    };
    // One way of calling a filter is enough, since its bits are the same. If several are at one spot, the first are
    // drawn larger, so that each shows around the next.
    let filters =
        ["fastbloom", "bloomfilter", "umbel", "datasketches", "sbbf-rs-safe", "xorf BinaryFuse8"];
    let filters = || {
        let style = |peer| STYLES.iter().find(|style| style.who.peer == peer);
        filters.into_iter().filter_map(style).zip([9, 7, 5, 3, 6, 5])
    };
    let x_ticks: Vec<_> =
        (2..=20).step_by(2).map(|bits| (f64::from(bits), bits.to_string())).collect();
    let y_ticks: Vec<_> = [1.0, 0.1, 0.01, 0.001, 0.0001].map(|rate| (rate, percent(rate))).into();
    draw(path, (900, 560), |area| {
        let x = Axis { pixels: (80, 600), range: (2.0, 20.0), log: false };
        let y = Axis { pixels: (490, 90), range: (0.0003, 0.3), log: true };
        let y_ticks: Vec<_> =
            y_ticks.iter().filter(|tick| (0.0003..=0.3).contains(&tick.0)).cloned().collect();
        let names = ["", "bits per key", "false positives counted"];
        let panel = Panel::new(area, [x, y], [&x_ticks, &y_ticks], names)?;
        let title = format!("Rate counted and size, {} keys", count(n));
        panel.text(&title, (16, 14), 18, (HPos::Left, VPos::Top))?;
        let ln2 = std::f64::consts::LN_2;
        // Bits for a rate: −ln p / (ln 2)² with a Bloom filter, −log₂ p with any.
        for (bits, name) in [(1.0 / (ln2 * ln2), "Bloom's formula"), (1.0 / ln2, "no filter below")]
        {
            let ends = [0.2, 0.0004].map(|rate: f64| (-rate.ln() * bits, rate));
            let points = ends.map(|end| panel.at(end));
            panel.line(&points, &GREY, 1)?;
            panel.text(name, (points[1].0 + 4, points[1].1 + 2), 12, (HPos::Left, VPos::Center))?;
        }
        for (style, radius) in filters() {
            for point in points(style) {
                panel.marker(style, panel.at(point), radius)?;
            }
        }
        panel.legend(filters(), (640, 130), false)
    })
}

fn draw(path: &Path, size: (u32, u32), with: impl Fn(&Area<'_>) -> Result<()>) -> Result<()> {
    let area = SVGBackend::new(path, size).into_drawing_area();
    area.fill(&WHITE).map_err(failed)?;
    with(&area)?;
    area.present().map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("the plot cannot be drawn: {error}")
}
