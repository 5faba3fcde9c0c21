//! The goals of umbel's blocked filter, and whether they are met.

use crate::figures::{Case, OPS, Spread, Who, count, percent, ratio, ratios};
use crate::record::Record;

const SBBF: &str = "sbbf-rs-safe";
/// The most bits, as a multiple of the classic formula's.
const BITS: [(f64, f64); 3] = [(0.1, 1.03), (0.01, 1.06), (0.001, 1.10)];

/// One goal in one case.
pub(crate) struct Goal {
    pub(crate) what: String,
    pub(crate) case: String,
    /// `None` if nothing was measured.
    pub(crate) found: Option<Spread>,
    pub(crate) bound: Bound,
}

pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    /// By the median over the rounds.
    pub(crate) fn met(&self) -> bool {
        self.found.is_some_and(|found| match self.bound {
            Bound::AtMost(bound) => found.median <= bound,
            Bound::AtLeast(bound) => found.median >= bound,
        })
    }
}

/// All goals that the record has figures for.
pub(crate) fn goals(record: &Record) -> Vec<Goal> {
    let mut goals = Vec::new();
    for case in record.cases() {
        match case.keys {
            "hashed" if case.fpp == 0.01 => speed(record, case, &mut goals),
            "str64" if case.n == 100_000_000 => {
                limit(record, case, "batch of 64-byte keys ÷ limit", 1.4, &mut goals);
            }
            _ => {}
        }
        if case.keys == "hashed" {
            size(record, case, &mut goals);
        }
    }
    goals.retain(|goal| goal.found.is_some());
    goals.sort_by(|a, b| a.what.cmp(&b.what));
    goals
}

fn limit(record: &Record, case: Case<'_>, what: &str, bound: f64, goals: &mut Vec<Goal>) {
    for op in OPS {
        let sides = [Who::batch("umbel"), Who::limit(1)];
        goals.push(goal(record, what, case, op, sides, Bound::AtMost(bound)));
    }
}

fn speed(record: &Record, case: Case<'_>, goals: &mut Vec<Goal>) {
    let (one, batch) = (Who::one("umbel"), Who::batch("umbel"));
    let shared = |who| Who { variant: "shared", ..who };
    match case.n {
        10_000_000 => limit(record, case, "batch ÷ limit", 1.2, goals),
        100_000_000 => limit(record, case, "batch ÷ limit", 1.1, goals),
        100_000 => {
            let what = "shared ÷ plain, one at a time in cache";
            let sides = [shared(one), one];
            goals.push(goal(record, what, case, "insert", sides, Bound::AtMost(2.0)));
        }
        _ => {}
    }
    for op in OPS {
        for (peer, bound) in [("fastbloom", 2.0), (SBBF, 1.0)] {
            let name = peer.trim_end_matches("-safe");
            let what = format!("one at a time, times as fast as {name}");
            let sides = [Who::one(peer), one];
            goals.push(goal(record, &what, case, op, sides, Bound::AtLeast(bound)));
        }
        if case.n >= 10_000_000 {
            goals.push(two_threads(record, "views", batch, case, op));
            goals.push(two_threads(record, "shared", shared(batch), case, op));
        }
    }
}

/// The gain of a second thread, relative to its gain for the limit.
fn two_threads(record: &Record, what: &str, who: Who<'_>, case: Case<'_>, op: &str) -> Goal {
    let gain = |one: Who<'_>| {
        let two = Who { threads: 2, ..one };
        ratios(&record.rounds(case, one, op), &record.rounds(case, two, op))
    };
    let what = format!("gain of two threads over one ÷ the limit's, {what}");
    let found = ratio(&gain(who), &gain(Who::limit(1)));
    Goal { what, case: name(case, op), found, bound: Bound::AtLeast(0.95) }
}

/// Bits as a multiple of the classic formula's, and the counted rate as a multiple of the requested one.
fn size(record: &Record, case: Case<'_>, goals: &mut Vec<Goal>) {
    let samples = record.samples_of(case, Who::batch("umbel"), "hit");
    let classic = -case.fpp.ln() / std::f64::consts::LN_2.powi(2);
    let bits = Spread::of(samples.iter().map(|sample| sample.bits_per_key / classic));
    let Some((_, bound)) = BITS.into_iter().find(|(fpp, _)| *fpp == case.fpp) else { return };
    let what = "bits per key over the classic formula's".to_owned();
    let bound = Bound::AtMost(bound);
    goals.push(Goal { what, case: name(case, ""), found: bits, bound });
    let rates = samples.iter().filter_map(|sample| sample.fpr).map(|fpr| fpr / case.fpp);
    let what = "rate counted over the rate asked for".to_owned();
    let bound = Bound::AtMost(1.0 + noise(case.fpp));
    goals.push(Goal { what, case: name(case, ""), found: Spread::of(rates), bound });
}

/// Three standard deviations of a rate counted over 4 million trials, over the rate.
pub(crate) fn noise(fpp: f64) -> f64 {
    3.0 * ((1.0 - fpp) / (4e6 * fpp)).sqrt()
}

/// A goal for the ratio of two figures of a case, by round.
pub(crate) fn goal(
    record: &Record,
    what: &str,
    case: Case<'_>,
    op: &str,
    sides: [Who<'_>; 2],
    bound: Bound,
) -> Goal {
    let [left, right] = sides.map(|who| record.rounds(case, who, op));
    Goal { what: what.to_owned(), case: name(case, op), found: ratio(&left, &right), bound }
}

pub(crate) fn name(case: Case<'_>, op: &str) -> String {
    format!("{}, {} {op}", count(case.n), percent(case.fpp)).trim_end().to_owned()
}
