//! Draws the [rate against keys](crate::curves::keys), with the plan as a star on its own curve.

use crate::curves::keys::{LOG2_BITS, curve, own_curve};

use super::Goal;
use super::canvas::{Area, Canvas};
use super::chart::{Axis, Chart, Legend, titled};
use super::style::{
    BLACK, BLUE, DASHED, DOTTED, GREEN, GREY, Look, MIXED, Marker, ORANGE, PURPLE, SKY, SOLID,
    VERMILION,
};
use umbel_numbers::{Count, Rate, Size};

pub(super) fn picture(goal: &Goal<'_>) -> Canvas {
    let plan = &goal.classic;
    let colours = [GREY, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE, GREY];
    let dashes = [SOLID, DASHED, SOLID, MIXED, SOLID, DASHED, SOLID, DOTTED];
    let looks = colours.into_iter().zip(dashes).map(|(colour, dash)| Look::line(colour, dash));
    let least = (plan.predicted_fpp() / 10.0).clamp(1e-30, 1e-9);
    let (own, star) = own_curve(plan);
    let mark = Look::new(BLACK, SOLID, Marker::Star);
    let mut legend = Legend::default();
    legend.add(mark, "the plan, a classic filter:");
    legend.say_inside(format!("m = {} bits, {}", Count(plan.bits()), Size(plan.bytes())));
    legend.say_inside(format!("k = {}", plan.probes()));
    legend.say_inside(format!("n = {}, rate {}", Count(plan.keys()), Rate(star.1)));
    legend.say("");
    // A curve on top of the plan's would only hide it.
    let others = LOG2_BITS.into_iter().zip(looks);
    let near = |log2: u32| (plan.bits() as f64 / (1u64 << log2) as f64).ln().abs() < 0.06;
    let others: Vec<_> = others.filter(|&(log2, _)| !near(log2)).collect();
    for &(log2, look) in &others {
        let size = Size((1u64 << log2) / 8);
        legend.add(look, format!("m = 2^{log2} bits, {size}"));
    }
    legend.say_inside("k the best for each n");
    let most = (4.0 * (1u64 << 36) as f64).max(plan.keys() as f64 * 10.0);
    let area = Area { left: 85.0, top: 80.0, right: 645.0, bottom: 440.0 };
    let words = "False-positive rate by keys, for filters of m bits";
    let mut canvas = titled(words, 705.0 + legend.width(), 505.0);
    let x = Axis::log(1.0, most, 7, "keys, n");
    let y = Axis::log(least, 1.0, 10, "false-positive rate");
    let chart = Chart::new(&mut canvas, area, x, y, "");
    for (log2, look) in others {
        chart.curve(&mut canvas, &curve(1 << log2, least), look);
    }
    chart.curve(&mut canvas, &own, mark);
    chart.markers(&mut canvas, &[star], mark);
    legend.draw(&mut canvas, (675.0, 100.0));
    canvas
}
