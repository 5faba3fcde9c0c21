//! Pictures of a plan and of a filter, as SVG.
//!
//! Each picture has a file, which draws the data that [`curves`](crate::curves) computes; shared code is in `canvas`
//! (SVG), `chart` (axes, curves, legends) and `style`. Formulas are elsewhere.

mod bits;
mod canvas;
mod chart;
mod exponent;
mod keys;
mod overfill;
mod probes;
mod profile;
mod style;

use umbel::{AnyFilter, Plan, Portable};

use crate::curves::{Curve, Goal};
use canvas::Canvas;
use chart::{Chart, Legend};

/// A picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The name of its file, without an extension.
    pub name: &'static str,
    /// A short description.
    pub shows: &'static str,
    /// The text of the file.
    pub svg: String,
}

/// Draws the five pictures of a goal. `plans` has the plans of all kinds that meet it; without plans, nothing is drawn.
pub fn of_plans(plans: &[Plan]) -> Vec<Picture> {
    let Some(goal) = Goal::of(plans) else { return Vec::new() };
    let pictures: [(&str, &str, Draw); 5] = [
        ("rate-by-probes", "the false-positive rate by probes per key", probes::picture),
        ("exponent", "why half of the bits should be set", exponent::picture),
        ("rate-by-keys", "the false-positive rate by keys, and the plan", keys::picture),
        ("overfill", "the rate with fewer and more keys than planned", overfill::picture),
        ("bits-by-rate", BITS, bits::picture),
    ];
    let draw =
        |(name, shows, draw): (_, _, Draw)| Picture { name, shows, svg: draw(&goal).finish() };
    pictures.map(draw).into()
}

const BITS: &str = "bits per key of every kind, over the fewest possible, by rate";

/// Draws how full the blocks of a filter are; `name` is its title.
pub fn of_filter<H: Portable>(filter: &AnyFilter<H>, name: &str) -> String {
    profile::picture(filter, name).finish()
}

/// Draws a picture of a goal.
type Draw = fn(&Goal<'_>) -> Canvas;

/// Whether part of a curve is between `low` and `high`, so a legend should list it.
fn shows(curve: &Curve, low: f64, high: f64) -> bool {
    curve.points.iter().any(|point| (low..=high).contains(&point.1))
}

fn legend_of(curves: &[Curve]) -> Legend {
    let mut legend = Legend::default();
    curves.iter().for_each(|curve| legend.add(style::of_kind(curve.kinds[0]), curve.name()));
    legend
}

/// Draws curves with markers on every `step`th point, with a different start per curve, so markers of neighbouring curves
/// stay apart.
fn draw_all(chart: &Chart, canvas: &mut Canvas, curves: &[Curve], step: usize) {
    for (number, Curve { kinds, points }) in curves.iter().enumerate() {
        let (look, marked) = (style::of_kind(kinds[0]), points.iter().skip(number * 3 % step));
        chart.curve(canvas, points, look);
        chart.markers(canvas, &marked.step_by(step).copied().collect::<Vec<_>>(), look);
    }
}
