//! The exponent of the rate, g(u) = −(m/n) ln u ln(1 − u), u the share of bits that stay clear: why half of them
//! should.
//!
//! With k probes u = e^(−kn/m), so k = −(m/n) ln u, and the rate (1 − u)^k = e^(k ln(1 − u)) has this exponent. It is
//! the same for u and 1 − u, and least between them (A. Broder, M. Mitzenmacher 2004, section 2.1,
//! <https://doi.org/10.1080/15427951.2004.10129096>).

use std::f64::consts::LN_2;

use umbel::math::classic::{self, log_fpp_at_clear};

use super::Goal;
use super::canvas::{Anchor, Area, Canvas, Point};
use super::chart::{Axis, Chart, Legend, power_of_ten, titled};
use super::style::{
    BLUE, DASHED, DOTTED, GREEN, GREY, LABEL, Look, MIXED, Marker, NAME, ORANGE, SOLID, VERMILION,
};
use crate::numbers::Rate;

fn curve(bits_per_key: f64) -> Vec<Point> {
    (1..400).map(|i| f64::from(i) / 400.0).map(|u| (u, log_fpp_at_clear(bits_per_key, u))).collect()
}

/// Every first, fifth or 25th number of probes: so that they do not crowd.
fn step(bits_per_key: f64) -> usize {
    match bits_per_key {
        ..14.0 => 1,
        14.0..70.0 => 5,
        _ => 25,
    }
}

/// Where some whole numbers of probes are on a curve, as far as u = 0.1.
fn whole_probes(bits_per_key: f64) -> Vec<Point> {
    let clear = |k: u32| (-f64::from(k) / bits_per_key).exp();
    let step = step(bits_per_key);
    let points = (step as u32..).step_by(step).map(clear).take_while(|&u| u > 0.1);
    points.map(|u| (u, log_fpp_at_clear(bits_per_key, u))).collect()
}

pub(super) fn picture(goal: &Goal<'_>) -> Canvas {
    let own = goal.classic.bits_per_key();
    let others = [4.0, 8.0, 16.0, 24.0];
    // One that lies on that of the goal would only be in its way.
    let others = others.into_iter().filter(|other| (other / own - 1.0).abs() > 0.06);
    let looks = [
        Look::line(ORANGE, DASHED),
        Look::line(GREEN, MIXED),
        Look::line(VERMILION, DOTTED),
        Look::line(GREY, DASHED),
    ];
    let curves: Vec<_> = others.zip(looks).collect();
    let mine = Look::new(BLUE, SOLID, Marker::Disc);
    let deepest = curves.iter().map(|(bits, _)| *bits).fold(own, f64::max);
    let low = -(deepest * LN_2 * LN_2 * 1.08).ceil();

    let mut legend = Legend::new();
    for (bits, look) in &curves {
        legend.add(*look, format!("m/n = {bits}"));
    }
    legend.add(mine, format!("m/n = {own:.2}, the plan's"));
    legend.add(Look::line(GREY, SOLID).width(1.2), "u = 1/2: half of the bits set");
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
        let look = Look::line(GREY, SOLID).width(1.2);
        canvas.line(&[(area.right, at), (area.right + 5.0, at)], look);
        let label = power_of_ten(-decade);
        canvas.text(&label, (area.right + 10.0, at), LABEL, Anchor::Start);
    }
    canvas.text("rate", (area.right + 10.0, area.top - 18.0), NAME, Anchor::Start);
    chart.curve(&mut canvas, &[(0.5, 0.0), (0.5, low)], Look::line(GREY, SOLID).width(1.2));
    for (bits, look) in &curves {
        chart.curve(&mut canvas, &curve(*bits), *look);
    }
    chart.curve(&mut canvas, &curve(own), mine);
    chart.markers(&mut canvas, &whole_probes(own), mine);
    legend.draw(&mut canvas, (670.0, 100.0));
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_at_half_and_the_rate_there() {
        for bits in [1.0, 9.6, 30.0] {
            let points = curve(bits);
            let least = points.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(least.0, 0.5);
            let back = classic::bits_per_key(least.1.exp());
            assert!((back / bits - 1.0).abs() < 1e-12);
            assert!(
                (log_fpp_at_clear(bits, 0.3) - log_fpp_at_clear(bits, 0.7)).abs() < 1e-12,
                "symmetric"
            );
        }
    }

    #[test]
    fn whole_probes_lie_on_the_curve_at_their_rates() {
        for (k, (_, g)) in (1..).zip(whole_probes(8.0)) {
            let rate = classic::fpp_limit(1_000_000, 8_000_000, k);
            assert!((g.exp() / rate - 1.0).abs() < 1e-9, "{k}");
        }
    }
}
