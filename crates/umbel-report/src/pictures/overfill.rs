//! Rate against keys over planned keys: the cost of adding more, and the gain with fewer.

use crate::curves::overfill::{RANGE, curve};
use umbel::Kind;

use super::canvas::{Anchor, Area, Canvas};
use super::chart::{Axis, Chart, titled};
use super::style::{BLACK, DASHED, GREY, LABEL, Look, SOLID};
use super::{Curve, Goal, draw_all, legend_of, shows};
use umbel_numbers::{Count, Rate};

pub(super) fn picture(goal: &Goal<'_>) -> Canvas {
    let fpp = goal.classic.fpp();
    let low = (fpp * 1e-4).max(1e-300);
    let mut curves = Curve::joined(goal.plans.iter().map(|plan| (plan.kind(), curve(plan))));
    curves.retain(|curve| shows(curve, low, 1.0));
    let mut legend = legend_of(&curves);
    let promise = Look::line(BLACK, DASHED).width(1.4);
    legend.say("");
    let whose = if goal.one_rate { "promised" } else { "promised by classic" };
    legend.add(promise, format!("{whose}: {}", Rate(fpp)));
    if curves.iter().any(|curve| curve.kinds.contains(&Kind::Coded)) {
        legend.say("coded is full soon after its plan");
    }
    let at_once = goal.plans.iter().map(|plan| plan.kind()).filter(|kind| kind.built_at_once());
    let at_once: Vec<_> = at_once.map(|kind| kind.name()).collect();
    if !at_once.is_empty() {
        legend.say(format!("{}: built at once,", at_once.join(", ")));
        legend.say("no more keys can be inserted");
    }

    let area = Area { left: 85.0, top: 95.0, right: 625.0, bottom: 435.0 };
    let keys = Count(goal.classic.keys());
    let words = match goal.one_size {
        true => format!("a filter planned for {keys} keys has fewer or more"),
        false => "a filter has fewer or more keys than planned".to_owned(),
    };
    let words = format!("False-positive rate when {words}");
    let mut canvas = titled(&words, 685.0 + legend.width(), 500.0);
    let x = Axis::log(RANGE.0, RANGE.1, 5, "keys, as a multiple of those planned");
    let ticks = [0.1, 0.2, 0.5, 1.0, 2.0, 4.0].map(|times| (times, format!("{times}")));
    let y = Axis::log(low, 1.0, 9, "false-positive rate");
    let chart = Chart::new(&mut canvas, area, x.with_ticks(ticks.to_vec()), y, "");
    let (at, _) = chart.at((1.0, 1.0));
    canvas.line(&[(at, area.top), (at, area.bottom)], Look::line(GREY, SOLID).width(1.4));
    canvas.text("planned", (at, area.top - 12.0), LABEL, Anchor::Middle);
    draw_all(&chart, &mut canvas, &curves, 10);
    // Drawn over the curves of kinds that always have this rate.
    chart.curve(&mut canvas, &[(RANGE.0, fpp), (RANGE.1, fpp)], promise);
    legend.draw(&mut canvas, (655.0, 105.0));
    canvas
}
