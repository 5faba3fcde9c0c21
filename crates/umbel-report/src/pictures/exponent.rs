//! Draws the [exponent of the rate](crate::curves::exponent), and the same as rates.

use std::f64::consts::LN_2;

use umbel::formulas::classic;

use crate::advice::formulas::log_fpp_at_clear;
use crate::curves::exponent::{curve, step, whole_probes};

use super::Goal;
use super::canvas::{Anchor, Area, Canvas};
use super::chart::{Axis, Chart, Legend, power_of_ten, titled};
use super::style::{
    BLUE, DASHED, DOTTED, GREEN, GREY, LABEL, Look, MIXED, Marker, NAME, ORANGE, SOLID, VERMILION,
};
use umbel_numbers::Rate;

pub(super) fn picture(goal: &Goal<'_>) -> Canvas {
    let own = goal.classic.bits_per_key();
    let others = [4.0, 8.0, 16.0, 24.0];
    // A curve on top of the goal's would only hide it.
    let others = others.into_iter().filter(|other| (other / own - 1.0).abs() > 0.06);
    let looks = [(ORANGE, DASHED), (GREEN, MIXED), (VERMILION, DOTTED), (GREY, DASHED)];
    let looks = looks.map(|(colour, dash)| Look::line(colour, dash));
    let curves: Vec<_> = others.zip(looks).collect();
    let mine = Look::new(BLUE, SOLID, Marker::Disc);
    let deepest = curves.iter().map(|(bits, _)| *bits).fold(own, f64::max);
    let low = -(deepest * LN_2 * LN_2 * 1.08).ceil();
    let thin = Look::line(GREY, SOLID).width(1.2);

    let mut legend = Legend::default();
    for (bits, look) in &curves {
        legend.add(*look, format!("m/n = {bits}"));
    }
    legend.add(mine, format!("m/n = {own:.2}, the plan's"));
    legend.add(thin, "u = 1/2: half of the bits set");
    legend.say("");
    let [first, second, third] = [1, 2, 3].map(|times| times * step(own));
    legend.say(format!("dots: k = {first}, {second}, {third}, … probes from the right"));
    legend.say(format!("best k = ln 2 · m/n = {:.2}", classic::best_probes(1.0, own)));
    legend.say(format!("there g = {:.2},", log_fpp_at_clear(own, 0.5)));
    legend.say(format!("and the rate e^g = {}", Rate(log_fpp_at_clear(own, 0.5).exp())));

    let area = Area { left: 85.0, top: 80.0, right: 585.0, bottom: 420.0 };
    let words =
        "g(u) = −(m/n) ln u ln(1 − u): the rate is e^g, u the share of bits that stay clear";
    let mut canvas = titled(words, 700.0 + legend.width(), 485.0);
    let x = Axis::linear(0.0, 1.0, 5, "share of bits that stay clear, u");
    let y = Axis::linear(low, 0.0, 7, "g, natural logarithm of the rate");
    let chart = Chart::new(&mut canvas, area, x, y, "");
    // The same as rates, on the right.
    let decades = (low / 10f64.ln()).abs().floor() as i32;
    for decade in (0..=decades).step_by((decades / 7 + 1) as usize) {
        let (_, at) = chart.at((1.0, -f64::from(decade) * 10f64.ln()));
        canvas.line(&[(area.right, at), (area.right + 5.0, at)], thin);
        let label = power_of_ten(-decade);
        canvas.text(&label, (area.right + 10.0, at), LABEL, Anchor::Start);
    }
    canvas.text("rate", (area.right + 10.0, area.top - 18.0), NAME, Anchor::Start);
    chart.curve(&mut canvas, &[(0.5, 0.0), (0.5, low)], thin);
    for (bits, look) in &curves {
        chart.curve(&mut canvas, &curve(*bits), *look);
    }
    chart.curve(&mut canvas, &curve(own), mine);
    chart.markers(&mut canvas, &whole_probes(own), mine);
    legend.draw(&mut canvas, (670.0, 100.0));
    canvas
}
