//! Bits per key by rate, for every kind, above the bound for any filter: log2(1/p).

use umbel::math::classic;
use umbel::{Kind, Plan};

use super::canvas::{Area, Canvas, Point};
use super::chart::{Axis, Chart, Legend, titled};
use super::style::{BLACK, DOTTED, GREY, Look, MIXED, SOLID};
use super::{Curve, Goal, log_steps};
use crate::numbers::{Count, Rate, counted};

const RANGE: (f64, f64) = (0.5, 1e-9);

fn rates() -> impl Iterator<Item = f64> + Clone {
    log_steps(RANGE.0, RANGE.1, 40)
}

/// Bits per key of a kind's plans; without the rates that it cannot keep.
fn curve(kind: Kind, keys: u64) -> Vec<Point> {
    let bits = |fpp| Some((fpp, Plan::for_keys(kind, keys, fpp).ok()?.bits_per_key()));
    rates().filter_map(bits).collect()
}

pub(super) fn picture(goal: &Goal<'_>) -> Canvas {
    let (keys, fpp) = (goal.classic.keys(), goal.classic.fpp());
    let curves = Kind::ALL.into_iter().map(|kind| (kind, curve(kind, keys)));
    let mut curves = Curve::joined(curves);
    // The legend has them as they lie, the largest on top.
    let height = |curve: &Curve| curve.points[curve.points.len() / 2].1;
    curves.sort_by(|a, b| height(b).total_cmp(&height(a)));
    let mut legend = Legend::new();
    for curve in &curves {
        legend.add(curve.look(), curve.name());
    }
    let formula = Look::line(BLACK, MIXED).width(1.2);
    let bound = Look::line(BLACK, SOLID).width(1.2);
    legend.say("");
    legend.add(formula, "Bloom: ln(1/p) / (ln 2)²");
    legend.add(bound, "the fewest of any filter: log2(1/p)");
    let asked = Look::line(GREY, DOTTED);
    let whose = if goal.one_rate { "rate of the plan" } else { "rate of the classic plan" };
    // Where the axis has it.
    let asked = (RANGE.1..=RANGE.0).contains(&fpp).then_some(asked);
    if let Some(asked) = asked {
        legend.add(asked, format!("{whose}: {}", Rate(fpp)));
    }

    let area = Area { left: 85.0, top: 80.0, right: 625.0, bottom: 480.0 };
    let words = format!("Bits per key by false-positive rate, for {}", counted(keys, "key"));
    let mut canvas = titled(&words, 685.0 + legend.width(), 545.0);
    let highest = curves.iter().flat_map(|curve| &curve.points).map(|point| point.1);
    let highest = highest.fold(100.0, f64::max) * 1.1;
    let x = Axis::log(RANGE.0, RANGE.1, 9, "false-positive rate, p");
    let ticks = (1..=9).map(|power| 10f64.powi(-power));
    let label = |rate: f64| if rate > 5e-4 { format!("{rate}") } else { format!("{rate:e}") };
    let x = x.with_ticks(ticks.map(|rate| (rate, label(rate))).collect());
    // Over many decades powers of ten are enough.
    let steps = if highest > 2e3 { &[1.0][..] } else { &[1.0, 2.0, 5.0] };
    let ticks = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6].into_iter();
    let ticks = ticks.flat_map(|power| steps.iter().map(move |step| step * power));
    let ticks = ticks
        .take_while(|&bits| bits <= highest)
        .map(|bits| (bits, Count(bits as u64).to_string()));
    let y = Axis::log(1.0, highest, 9, "bits per key").with_ticks(ticks.collect());
    let chart = Chart::new(&mut canvas, area, x, y, "");
    let line = |bits: fn(f64) -> f64| rates().map(|p| (p, bits(p))).collect::<Vec<_>>();
    if let Some(asked) = asked {
        chart.curve(&mut canvas, &[(fpp, 1.0), (fpp, highest)], asked);
    }
    chart.curve(&mut canvas, &line(|p| (1.0 / p).log2()), bound);
    for (number, curve) in curves.iter().enumerate() {
        chart.curve(&mut canvas, &curve.points, curve.look());
        chart.markers(&mut canvas, &curve.marked(number, 8), curve.look());
    }
    // Over the classic filter's, which it nearly covers.
    chart.curve(&mut canvas, &line(classic::bits_per_key), formula);
    legend.draw(&mut canvas, (655.0, 100.0));
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_is_below_the_bound() {
        for kind in Kind::ALL {
            let points = curve(kind, 1_000_000);
            assert!(points.len() >= 35, "{kind}: {}", points.len());
            for &(fpp, bits) in &points {
                // A stable filter and a window hold more keys than those they remember for certain.
                assert!(bits > (1.0 / fpp).log2(), "{kind} at {fpp}: {bits}");
            }
            // Codes of another width have another margin.
            let most = if kind == Kind::Coded { 1.02 } else { 1.001 };
            let less = points.windows(2).all(|pair| pair[0].1 <= pair[1].1 * most);
            assert!(less, "{kind}: a lower rate takes no fewer bits");
        }
        let classic = curve(Kind::Classic, 1_000_000);
        for (fpp, bits) in classic {
            assert!((0.999..1.1).contains(&(bits / classic::bits_per_key(fpp))), "{fpp}: {bits}");
        }
    }
}
