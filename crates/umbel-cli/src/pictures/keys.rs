//! Rate against keys for filters of 2⁸ to 2³⁶ bits, each with the best k for that many keys.

use umbel::math::classic;

use super::canvas::{Area, Canvas, Point};
use super::chart::{Axis, Chart, Legend, titled};
use super::style::{
    BLACK, BLUE, DASHED, DOTTED, GREEN, GREY, Look, MIXED, Marker, ORANGE, PURPLE, SKY, SOLID,
    VERMILION,
};
use super::{Goal, log_steps};
use crate::numbers::{Count, Rate, Size};

const LOG2_BITS: [u32; 8] = [8, 12, 16, 20, 24, 28, 32, 36];

/// The rate of `keys` keys in `bits` bits with the best whole k, in the limit form.
fn best_rate(keys: u64, bits: u64) -> f64 {
    let best = classic::best_probes(keys as f64, bits as f64).max(1.0);
    let around = [best.floor(), best.ceil()];
    around.map(|k| classic::fpp_limit(keys, bits, k as u32)).into_iter().fold(1.0, f64::min)
}

/// From a key a bit down to where rates are below `least`.
fn curve(bits: u64, least: f64) -> Vec<Point> {
    let fewest = (bits as f64 / classic::bits_per_key(least) / 2.0).max(1.0);
    let mut keys: Vec<u64> =
        log_steps(fewest, bits as f64 * 4.0, 120).map(|keys| keys.round() as u64).collect();
    keys.dedup();
    keys.into_iter().map(|keys| (keys as f64, best_rate(keys, bits))).collect()
}

pub(super) fn picture(goal: &Goal<'_>) -> Canvas {
    let looks = [
        Look::line(BLACK, SOLID),
        Look::line(ORANGE, DASHED),
        Look::line(SKY, SOLID),
        Look::line(GREEN, MIXED),
        Look::line(BLUE, SOLID),
        Look::line(VERMILION, DASHED),
        Look::line(PURPLE, SOLID),
        Look::line(GREY, DOTTED),
    ];
    let mut legend = Legend::new();
    for (log2, look) in LOG2_BITS.into_iter().zip(looks) {
        let size = Size((1u64 << log2) / 8);
        legend.add(look, format!("log2 m = {log2}: {size}"));
    }
    let mark = Look::new(BLACK, SOLID, Marker::Star).width(0.0);
    legend.add(mark, format!("{} keys at {}", Count(goal.keys), Rate(goal.fpp)));
    let least = (goal.fpp / 10.0).clamp(1e-30, 1e-9);
    let most = 4.0 * (1u64 << 36) as f64;
    let most = most.max(goal.keys as f64 * 10.0);
    let area = Area { left: 85.0, top: 80.0, right: 645.0, bottom: 440.0 };
    let words = "False-positive rate against keys, for filters of m bits with the best k";
    let mut canvas = titled(words, 705.0 + legend.width(), 505.0);
    let x = Axis::log(1.0, most, 7, "keys, n");
    let y = Axis::log(least, 1.0, 10, "false-positive rate");
    let chart = Chart::new(&mut canvas, area, x, y, "");
    for (log2, look) in LOG2_BITS.into_iter().zip(looks) {
        chart.curve(&mut canvas, &curve(1 << log2, least), look);
    }
    chart.markers(&mut canvas, &[(goal.keys as f64, goal.fpp)], mark);
    legend.draw(&mut canvas, (675.0, 100.0));
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_grow_with_keys_and_meet_the_formula() {
        for log2 in LOG2_BITS {
            let curve = curve(1 << log2, 1e-9);
            assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
            assert!(curve[0].1 <= 1e-9 || curve[0].0 == 1.0, "{log2}: {:?}", curve[0]);
            assert!(curve.last().unwrap().1 > 0.95);
        }
        // A whole k costs a little more than the best real one.
        let bits = 1 << 30;
        let keys = (bits as f64 / classic::bits_per_key(0.01)) as u64;
        let rate = best_rate(keys, bits);
        assert!((0.00999..0.0102).contains(&rate), "{rate}");
    }
}
