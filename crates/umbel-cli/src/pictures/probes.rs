//! Rate by probes per key: how few bits it takes for the limit form to mislead, and where the best k lies.

use umbel::math::classic;

use super::Goal;
use super::canvas::{Area, Canvas, Point};
use super::chart::{Axis, Chart, Legend, titled};
use super::style::{BLUE, DASHED, GREEN, GREY, Look, Marker, ORANGE, SOLID, VERMILION};
use crate::numbers::Count;

const MOST_PROBES: u32 = 20;
/// So few that a tenth of them is a whole number of keys, and the forms differ; and so many that they agree.
const BITS: [u64; 2] = [40, 100_000];
/// Tenths of m that n is.
const TENTHS: [u64; 4] = [1, 2, 4, 8];

/// Rates of 1 to 20 probes, exact and in the limit of many bits.
fn curves(bits: u64, tenths: u64) -> [Vec<Point>; 2] {
    let keys = bits * tenths / 10;
    let curve = |rate: fn(u64, u64, u32) -> f64| {
        (1..=MOST_PROBES).map(|k| (f64::from(k), rate(keys, bits, k))).collect()
    };
    [curve(classic::fpp), curve(classic::fpp_limit)]
}

pub(super) fn picture(_: &Goal<'_>) -> Canvas {
    let looks = [
        Look::new(BLUE, SOLID, Marker::Disc),
        Look::new(GREEN, SOLID, Marker::Square),
        Look::new(ORANGE, SOLID, Marker::Diamond),
        Look::new(VERMILION, SOLID, Marker::Up),
    ];
    let mut legend = Legend::new();
    for (tenths, look) in TENTHS.into_iter().zip(looks).rev() {
        let best = classic::best_probes(tenths as f64, 10.0);
        legend.add(look.width(0.0), format!("n = 0.{tenths} m, best k = {best:.2}"));
    }
    legend.say("");
    legend.add(Look::line(GREY, SOLID), "exact (Bose et al. 2008)");
    legend.add(Look::line(GREY, DASHED), "limit (1 − e^(−kn/m))^k");
    let words = "False-positive rate by probes per key, for n keys in m bits";
    let mut canvas = titled(words, 990.0 + legend.width(), 460.0);
    for (bits, left) in BITS.into_iter().zip([85.0, 545.0]) {
        let area = Area { left, top: 85.0, right: left + 370.0, bottom: 395.0 };
        let ticks = [1, 5, 10, 15, 20].map(|k| (f64::from(k), k.to_string()));
        let x = Axis::linear(0.5, f64::from(MOST_PROBES) + 0.5, 5, "probes per key, k");
        let y = Axis::log(0.005, 1.0, 5, "false-positive rate");
        let x = x.with_ticks(ticks.to_vec());
        let forms =
            if bits == BITS[0] { "exact and limit differ" } else { "exact and limit agree" };
        let heading = format!("m = {} bits: {forms}", Count(bits));
        let chart = Chart::new(&mut canvas, area, x, y, &heading);
        for (tenths, look) in TENTHS.into_iter().zip(looks) {
            let [exact, limit] = curves(bits, tenths);
            chart.curve(&mut canvas, &exact, look.width(1.6));
            chart.curve(&mut canvas, &limit, Look { dash: DASHED, ..look }.width(1.6));
            chart.markers(&mut canvas, &exact, look);
        }
    }
    legend.draw(&mut canvas, (960.0, 100.0));
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_differ_for_few_bits_and_agree_for_many() {
        for tenths in TENTHS {
            let differences = BITS.map(|bits| {
                let [exact, limit] = curves(bits, tenths);
                let ratios = exact.iter().zip(&limit).map(|(exact, limit)| exact.1 / limit.1 - 1.0);
                ratios.fold(0.0, f64::max)
            });
            assert!(differences[0] > 0.01 && differences[1] < 0.001, "{tenths}: {differences:?}");
        }
        let [exact, _] = curves(100_000, 1);
        assert!((exact[6].1 / 0.00819 - 1.0).abs() < 1e-3, "k = 7 at m/n = 10: {:?}", exact[6]);
        let best = exact.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(best.0, 7.0);
    }
}
