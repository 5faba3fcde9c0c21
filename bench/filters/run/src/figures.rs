//! Collected figures: the samples of one case over all rounds, and their ratios by round.

use std::collections::BTreeMap;
use std::fmt;

use crate::record::{Record, Sample};

/// The operations with figures.
pub(crate) const OPS: [&str; 3] = ["insert", "hit", "miss"];

/// Median, least and most over the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// `None` without values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let half = values.len() / 2;
        let odd = values.len() % 2 == 1;
        let median = if odd { values[half] } else { (values[half - 1] + values[half]) / 2.0 };
        Some(Self { median, min, max })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.median < 10.0 { 2 } else { 1 };
        write!(f, "{:.digits$}", self.median)?;
        if self.min < self.max {
            write!(f, " [{:.digits$}–{:.digits$}]", self.min, self.max)?;
        }
        Ok(())
    }
}

/// The basis of a comparison: same keys, number and rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Case<'a> {
    pub(crate) keys: &'a str,
    pub(crate) n: u64,
    pub(crate) fpp: f64,
}

/// Who did what, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Who<'a> {
    pub(crate) peer: &'a str,
    pub(crate) variant: &'a str,
    pub(crate) mode: &'a str,
    pub(crate) threads: u64,
}

impl<'a> Who<'a> {
    pub(crate) const fn one(peer: &'a str) -> Self {
        Self { peer, variant: "", mode: "one", threads: 1 }
    }

    pub(crate) const fn batch(peer: &'a str) -> Self {
        Self { mode: "batch", ..Self::one(peer) }
    }

    /// The limit that others are compared with: batches, huge pages.
    pub(crate) const fn limit(threads: u64) -> Self {
        Self { peer: "limit", variant: "huge pages", mode: "batch", threads }
    }
}

impl<'a> From<&'a Sample> for Case<'a> {
    fn from(sample: &'a Sample) -> Self {
        Self { keys: &sample.keys, n: sample.n, fpp: sample.fpp_asked }
    }
}

impl<'a> From<&'a Sample> for Who<'a> {
    fn from(sample: &'a Sample) -> Self {
        let Sample { peer, variant, mode, threads, .. } = sample;
        Self { peer, variant, mode, threads: *threads }
    }
}

/// Nanoseconds per key, by round.
pub(crate) type Rounds = BTreeMap<u64, f64>;

impl Record {
    /// All samples of one figure. The limit reads, whatever the operation.
    pub(crate) fn samples_of(&self, case: Case<'_>, who: Who<'_>, op: &str) -> Vec<&Sample> {
        let op = if who.peer == "limit" { "read" } else { op };
        self.samples
            .iter()
            .filter(|sample| sample.op == op && Case::from(*sample) == case)
            .filter(|sample| Who::from(*sample) == who)
            .collect()
    }

    pub(crate) fn rounds(&self, case: Case<'_>, who: Who<'_>, op: &str) -> Rounds {
        let samples = self.samples_of(case, who, op);
        samples.iter().map(|sample| (sample.round, sample.ns_per_key)).collect()
    }

    pub(crate) fn ns(&self, case: Case<'_>, who: Who<'_>, op: &str) -> Option<Spread> {
        Spread::of(self.rounds(case, who, op).into_values())
    }

    /// The cases there are, in the order they were measured.
    pub(crate) fn cases(&self) -> Vec<Case<'_>> {
        let mut cases = Vec::new();
        for sample in &self.samples {
            if !cases.contains(&Case::from(sample)) {
                cases.push(Case::from(sample));
            }
        }
        cases
    }

    /// Who was measured in a case, in the order they were measured.
    pub(crate) fn met(&self, case: Case<'_>) -> Vec<Who<'_>> {
        let mut who = Vec::new();
        for sample in self.samples.iter().filter(|sample| Case::from(*sample) == case) {
            if !who.contains(&Who::from(sample)) {
                who.push(Who::from(sample));
            }
        }
        who
    }

    /// The same: umbel first, then the limit, then the others by name.
    pub(crate) fn who(&self, case: Case<'_>) -> Vec<Who<'_>> {
        let mut who = self.met(case);
        let place = |peer: &str| ["umbel", "limit"].iter().position(|&name| name == peer);
        who.sort_by_key(|who| (place(who.peer).unwrap_or(2), who.peer, who.variant));
        who
    }
}

/// `left / right` of each round that has both.
pub(crate) fn ratios(left: &Rounds, right: &Rounds) -> Rounds {
    left.iter().filter_map(|(round, ns)| Some((*round, ns / right.get(round)?))).collect()
}

/// The spread of these.
pub(crate) fn ratio(left: &Rounds, right: &Rounds) -> Option<Spread> {
    Spread::of(ratios(left, right).into_values())
}

/// 100 k, 10 M, 500 M.
pub(crate) fn count(n: u64) -> String {
    if n < 1_000_000 { format!("{} k", n / 1000) } else { format!("{} M", n / 1_000_000) }
}

/// 10 %, 0.1 %.
pub(crate) fn percent(rate: f64) -> String {
    format!("{} %", (rate * 1e6).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_a_round() {
        let left = Rounds::from([(1, 2.0), (2, 9.0), (3, 5.0)]);
        let right = Rounds::from([(1, 1.0), (2, 3.0)]);
        let spread = ratio(&left, &right).unwrap();
        assert_eq!(spread, Spread { median: 2.5, min: 2.0, max: 3.0 });
        assert_eq!(spread.to_string(), "2.50 [2.00–3.00]");
        assert_eq!(ratio(&left, &Rounds::new()), None);
    }
}
