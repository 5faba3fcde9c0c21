//! Draws the [bits per key](crate::curves::bits) of every kind.

use crate::curves::bits::{RANGE, TOP, curve};
use umbel::Kind;

use super::canvas::{Area, Canvas};
use super::chart::{Axis, Chart, titled};
use super::style::{BLACK, DOTTED, GREY, Look, MIXED};
use super::{Curve, Goal, draw_all, legend_of, shows};
use umbel_numbers::{Rate, counted};

pub(super) fn picture(goal: &Goal<'_>) -> Canvas {
    let (keys, fpp) = (goal.classic.keys(), goal.classic.fpp());
    let curves = Kind::ALL.iter().copied().map(|kind| (kind, curve(kind, keys)));
    let mut curves = Curve::joined(curves);
    // The legend has the order of the curves, the largest on top.
    let height = |curve: &Curve| curve.points[curve.points.len() / 2].1;
    curves.sort_by(|a, b| height(b).total_cmp(&height(a)));
    let (curves, above): (Vec<_>, Vec<_>) =
        curves.into_iter().partition(|curve| shows(curve, 1.0, TOP));
    let mut legend = legend_of(&curves);
    let formula = Look::line(BLACK, MIXED).width(1.2);
    legend.say("");
    legend.add(formula, "Bloom's formula: 1/ln 2 = 1.44");
    let asked = Look::line(GREY, DOTTED);
    let whose = if goal.one_rate { "rate of the plan" } else { "rate of the classic plan" };
    // Only if it is on the axis.
    let asked = (RANGE.1..=RANGE.0).contains(&fpp).then_some(asked);
    if let Some(asked) = asked {
        legend.add(asked, format!("{whose}: {}", Rate(fpp)));
    }
    if !above.is_empty() {
        legend.say("");
        legend.say("above the axis, at least:");
    }
    for curve in &above {
        let least = curve.points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
        legend.say(format!("{}: {least:.1} times the bound", curve.name()));
    }

    let area = Area { left: 85.0, top: 80.0, right: 625.0, bottom: 480.0 };
    let keys = counted(keys, "key");
    let words = format!("Bits per key over log2(1/p), the fewest of any filter, for {keys}");
    let mut canvas = titled(&words, 685.0 + legend.width(), 545.0);
    let x = Axis::log(RANGE.0, RANGE.1, 9, "false-positive rate, p");
    // Powers of ten are exact, and their inverses rounded once: on some systems negative powers are not.
    let ticks = (1..=9).map(|power| 1.0 / 10f64.powi(power));
    let label = |rate: f64| if rate > 5e-4 { format!("{rate}") } else { format!("{rate:e}") };
    let x = x.with_ticks(ticks.map(|rate| (rate, label(rate))).collect());
    let y = Axis::linear(1.0, TOP, 6, "times the bound");
    let chart = Chart::new(&mut canvas, area, x, y, "");
    if let Some(asked) = asked {
        chart.curve(&mut canvas, &[(fpp, 1.0), (fpp, TOP)], asked);
    }
    draw_all(&chart, &mut canvas, &curves, 8);
    // Drawn over the classic filter's line, which it nearly covers.
    let bloom = 1.0 / f64::ln(2.0);
    chart.curve(&mut canvas, &[(RANGE.0, bloom), (RANGE.1, bloom)], formula);
    legend.draw(&mut canvas, (655.0, 100.0));
    canvas
}
