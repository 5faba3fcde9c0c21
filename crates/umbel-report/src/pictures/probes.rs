//! Rate by probes per key: how few bits make the limit form mislead, and which k is best.

use crate::curves::probes::{BITS, MOST_PROBES, TENTHS, curves};
use umbel::formulas::classic;

use super::Goal;
use super::canvas::{Area, Canvas};
use super::chart::{Axis, Chart, Legend, titled};
use super::style::{BLUE, DASHED, GREEN, GREY, Look, Marker, ORANGE, SOLID, VERMILION};
use umbel_numbers::Count;

pub(super) fn picture(_: &Goal<'_>) -> Canvas {
    let markers = [Marker::Disc, Marker::Square, Marker::Diamond, Marker::Up];
    let colours = [BLUE, GREEN, ORANGE, VERMILION].into_iter().zip(markers);
    let looks = colours.map(|(colour, marker)| Look::new(colour, SOLID, marker));
    let looks: Vec<_> = TENTHS.into_iter().zip(looks).collect();
    let mut legend = Legend::default();
    for &(tenths, look) in looks.iter().rev() {
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
        for &(tenths, look) in &looks {
            let [exact, limit] = curves(bits, tenths);
            chart.curve(&mut canvas, &exact, look.width(1.6));
            chart.curve(&mut canvas, &limit, Look { dash: DASHED, ..look }.width(1.6));
            chart.markers(&mut canvas, &exact, look);
        }
    }
    legend.draw(&mut canvas, (960.0, 100.0));
    canvas
}
