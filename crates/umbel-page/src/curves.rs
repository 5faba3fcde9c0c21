//! The charts of a plan: the curves of `umbel filter plan --plot`, and the times that it ranks by.

use serde_json::{Value, json};
use umbel::formulas::classic;
use umbel_numbers::{Count, Rate, counted};
use umbel_report::advice::{MEASURED_ON, Source, advise, formulas, sources};
use umbel_report::curves::{Curve, Goal, Point, bits, exponent, keys, overfill, probes};
use umbel_report::plan;

use crate::goal::Typed;
use crate::refused::Refused;

/// Makes a chart of a goal.
type Draw = fn(&Goal<'_>) -> Value;

/// The charts with these ids; all charts without ids.
pub(crate) fn answer(typed: &Typed, ids: &[String]) -> Result<Value, Refused> {
    let wanted = |id: &str| ids.is_empty() || ids.iter().any(|other| other == id);
    let goal = typed.goal()?;
    let advice = advise(&goal).map_err(|error| Refused::from(anyhow::Error::new(error)))?;
    let plans = plan::plans(&advice);
    let mut charts = Vec::new();
    if let Some(about) = Goal::of(&plans) {
        let all: [(&str, Draw); 5] = [
            ("overfill", overfill_chart),
            ("keys", keys_chart),
            ("probes", probes_chart),
            ("bits", bits_chart),
            ("exponent", exponent_chart),
        ];
        let all = all.into_iter().filter(|(id, _)| wanted(id));
        charts.extend(all.map(|(_, chart)| chart(&about)));
    }
    if wanted("time") {
        charts.extend(time_chart(&advice));
    }
    Ok(json!({ "charts": charts }))
}

fn source(source: Source) -> Value {
    json!({ "text": source.text, "url": source.url })
}

fn axis(label: &str, log: bool, (low, high): (f64, f64)) -> Value {
    json!({ "label": label, "log": log, "low": low, "high": high })
}

fn series(name: impl Into<String>, points: &[Point], style: &str) -> Value {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    json!({ "name": name.into(), "kinds": [], "x": x, "y": y, "style": style })
}

fn of_kinds(curve: &Curve) -> Value {
    let mut series = series(curve.name(), &curve.points, "line");
    series["kinds"] = curve.kinds.iter().map(|kind| kind.name()).collect();
    series
}

fn overfill_chart(goal: &Goal<'_>) -> Value {
    let fpp = goal.classic.fpp();
    let low = (fpp * 1e-4).max(1e-300);
    let curves = goal.plans.iter().map(|plan| (plan.kind(), overfill::curve(plan)));
    let mut curves = Curve::joined(curves);
    curves.retain(|curve| curve.points.iter().any(|point| point.1 >= low));
    let mut all: Vec<Value> = curves.iter().map(of_kinds).collect();
    let (from, to) = overfill::RANGE;
    let whose = if goal.one_rate { "promised" } else { "promised by classic" };
    all.push(series(format!("{whose}: {}", Rate(fpp)), &[(from, fpp), (to, fpp)], "reference"));
    let mut notes = Vec::new();
    let at_once = goal.plans.iter().map(|plan| plan.kind()).filter(|kind| kind.built_at_once());
    let at_once: Vec<_> = at_once.map(|kind| kind.name()).collect();
    if !at_once.is_empty() {
        notes.push(format!("{}: built at once, no more keys can be inserted", at_once.join(", ")));
    }
    if curves.iter().any(|curve| curve.kinds.contains(&umbel::Kind::Coded)) {
        notes.push("coded is full soon after its plan".to_owned());
    }
    let title = match goal.one_size {
        true => format!(
            "False-positive rate when a filter planned for {} has fewer or more",
            counted(goal.classic.keys(), "key")
        ),
        false => "False-positive rate when a filter has fewer or more keys than planned".to_owned(),
    };
    json!({
        "id": "overfill",
        "title": title,
        "formula": "(1 − (1 − 1/m)^(kn))^k for classic filters, exactly; for blocks, the mean of it over Poisson loads",
        "source": source(sources::EXACT),
        "x": axis("keys, as a multiple of those planned", true, (from, to)),
        "y": axis("false-positive rate", true, (low, 1.0)),
        "series": all,
        "marks": [{ "x": 1.0, "label": "planned" }],
        "notes": notes,
    })
}

fn keys_chart(goal: &Goal<'_>) -> Value {
    let plan = &goal.classic;
    let least = (plan.predicted_fpp() / 10.0).clamp(1e-30, 1e-9);
    let (own, star) = keys::own_curve(plan);
    let name = format!("the plan: m = {} bits, k = {}", Count(plan.bits()), plan.probes());
    let mut all = vec![series(name, &own, "line")];
    for log2 in keys::LOG2_BITS {
        let name = format!("m = 2^{log2} bits, k the best for each n");
        all.push(series(name, &keys::curve(1 << log2, least), "reference"));
    }
    let most = (4.0 * (1u64 << 36) as f64).max(plan.keys() as f64 * 10.0);
    let label = format!("{} at {}", counted(plan.keys(), "key"), Rate(star.1));
    json!({
        "id": "keys",
        "title": "False-positive rate by keys, for classic filters of m bits",
        "formula": "(1 − e^(−kn/m))^k",
        "source": source(sources::BLOOM),
        "x": axis("keys, n", true, (1.0, most)),
        "y": axis("false-positive rate", true, (least, 1.0)),
        "series": all,
        "marks": [{ "x": star.0, "y": star.1, "label": label }],
        "notes": [],
    })
}

fn probes_chart(_: &Goal<'_>) -> Value {
    let mut all = Vec::new();
    for tenths in probes::TENTHS.into_iter().rev() {
        let best = classic::best_probes(tenths as f64, 10.0);
        let bits = probes::BITS[1];
        let [exact, _] = probes::curves(bits, tenths);
        all.push(series(format!("n = 0.{tenths} m, best k = {best:.2}"), &exact, "line"));
    }
    for tenths in probes::TENTHS.into_iter().rev() {
        let bits = probes::BITS[0];
        let [exact, limit] = probes::curves(bits, tenths);
        all.push(series(format!("n = 0.{tenths} m of only {bits} bits: exact"), &exact, "points"));
        let name = format!("n = 0.{tenths} m of only {bits} bits: by the limit");
        all.push(series(name, &limit, "reference"));
    }
    json!({
        "id": "probes",
        "title": "False-positive rate by probes per key, for n keys in m bits",
        "formula": "exactly E[(X/m)^k], X the bits set by kn probes; in the limit of many bits (1 − e^(−kn/m))^k, least at k = ln 2 · m/n",
        "source": source(sources::EXACT),
        "x": axis("probes per key, k", false, (0.5, f64::from(probes::MOST_PROBES) + 0.5)),
        "y": axis("false-positive rate", true, (0.005, 1.0)),
        "series": all,
        "marks": [],
        "notes": ["With few bits the limit is too low: the exact rate is above it."],
    })
}

fn bits_chart(goal: &Goal<'_>) -> Value {
    let (keys, fpp) = (goal.classic.keys(), goal.classic.fpp());
    let curves = umbel::Kind::ALL.iter().copied().map(|kind| (kind, bits::curve(kind, keys)));
    let curves = Curve::joined(curves);
    let shows = |curve: &&Curve| curve.points.iter().any(|point| point.1 <= bits::TOP);
    let mut all: Vec<Value> = curves.iter().filter(shows).map(of_kinds).collect();
    let (high, low) = bits::RANGE;
    let bloom = 1.0 / f64::ln(2.0);
    let name = format!("Bloom's formula: 1/ln 2 = {bloom:.2}");
    all.push(series(name, &[(high, bloom), (low, bloom)], "reference"));
    let above = curves.iter().filter(|curve| !shows(curve)).map(|curve| {
        let least = curve.points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
        format!("{}: above the axis, at least {least:.1} times the bound", curve.name())
    });
    let marks = match (low..=high).contains(&fpp) {
        true => json!([{ "x": fpp, "label": format!("rate of the plan: {}", Rate(fpp)) }]),
        false => json!([]),
    };
    let title = format!(
        "Bits per key over log2(1/p), the fewest of any filter, for {}",
        counted(keys, "key")
    );
    json!({
        "id": "bits",
        "title": title,
        "formula": "bits per key / log2(1/p)",
        "source": source(sources::BOUND),
        "x": axis("false-positive rate, p", true, (low, high)),
        "y": axis("times the bound", false, (1.0, bits::TOP)),
        "series": all,
        "marks": marks,
        "notes": above.collect::<Vec<_>>(),
    })
}

fn exponent_chart(goal: &Goal<'_>) -> Value {
    let own = goal.classic.bits_per_key();
    let others = [4.0, 8.0, 16.0, 24.0];
    // A curve on top of the goal's would only hide it.
    let others = others.into_iter().filter(|other| (other / own - 1.0).abs() > 0.06);
    let mut all =
        vec![series(format!("m/n = {own:.2}, the plan's"), &exponent::curve(own), "line")];
    let dots = exponent::whole_probes(own);
    let step = exponent::step(own);
    let name = format!("whole k: {step}, {}, {}, … from the right", 2 * step, 3 * step);
    all.push(series(name, &dots, "points"));
    let deepest = others.clone().fold(own, f64::max);
    for other in others {
        all.push(series(format!("m/n = {other}"), &exponent::curve(other), "reference"));
    }
    let best = formulas::log_fpp_at_clear(own, 0.5);
    let low = -(deepest * std::f64::consts::LN_2.powi(2) * 1.08).ceil();
    json!({
        "id": "exponent",
        "title": "Why half of the bits should be set: the exponent of the rate",
        "formula": "g(u) = −(m/n) ln u ln(1 − u): the rate is e^g, u the share of bits that stay clear",
        "source": source(sources::SURVEY),
        "x": axis("share of bits that stay clear, u", false, (0.0, 1.0)),
        "y": axis("g, natural logarithm of the rate", false, (low, 0.0)),
        "series": all,
        "marks": [{ "x": 0.5, "label": "half of the bits set" }],
        "notes": [format!(
            "best k = ln 2 · m/n = {:.2}; there g = {best:.2}, and the rate e^g = {}",
            classic::best_probes(1.0, own),
            Rate(best.exp())
        )],
    })
}

/// A bar for each kind that fits, in the order of the ranking.
fn time_chart(advice: &umbel_report::advice::Advice) -> Option<Value> {
    let fitting = advice.choices.iter().filter(|choice| choice.fits());
    let priced: Vec<_> =
        fitting.filter_map(|choice| Some((choice.variant, choice.price?))).collect();
    let bars = priced.iter().map(|(variant, price)| {
        let points = [(0.0, price.one), (1.0, price.batch)];
        let mut bar = series(variant.to_string(), &points, "bar");
        bar["kinds"] = json!([variant.kind().name()]);
        bar
    });
    let bars: Vec<Value> = bars.collect();
    let most = priced.iter().map(|(_, price)| price.one.max(price.batch)).fold(0.0, f64::max);
    (!bars.is_empty()).then(|| {
        json!({
            "id": "time",
            "title": "Time of a look-up",
            "formula": "measured: half of the keys present, already hashed; one key per call, and in a batch",
            "source": source(sources::MEASURED),
            "x": axis("one key per call, in a batch", false, (0.0, 1.0)),
            "y": axis("ns per key", false, (0.0, most)),
            "series": bars,
            "marks": [],
            "notes": [
                format!("Measured on {MEASURED_ON}."),
                "When a filter is larger than the caches, add a memory access per line.",
            ],
        })
    })
}
