//! How a job will be done.

use umbel::{Kind, Plan};

use super::doubt::Doubt;
use super::{Distinct, Least, one_pass};
use crate::Error;
use crate::budget::{Budget, KEPT_LINE};
use crate::input::{estimate_lines, lengths};
use crate::sample::Sample;
use crate::scan::Scanner;

/// The rate of the filter of all lines: what it takes for doubtful wrongly costs some 150 bytes each.
const RATE: f64 = 0.01;
/// With fewer bits a line more than 38 % would be doubtful wrongly: then a filter is not worth a pass.
const LEAST_BITS_PER_LINE: u64 = 2;
/// Inputs up to this size go straight to the table: it stays in cache, and a pass is saved.
const SMALL: u64 = 16 << 20;

/// How a job will be done.
#[derive(Clone, Debug, PartialEq)]
pub struct DistinctPlan {
    /// The way chosen.
    pub strategy: DistinctStrategy,
    /// The filter of all lines that may be written.
    pub seen: Option<Plan>,
    /// The filter of doubtful lines, or of excluded ones for an answer with an error.
    pub doubtful: Option<Plan>,
    /// Estimated lines of each input.
    pub lines: Vec<u64>,
    /// Estimated different lines of those that may be written, from samples; `None` when none were
    /// taken.
    pub distinct: Option<u64>,
    /// Lines expected to be compared by their bytes.
    pub compared: u64,
    /// Bytes for the lines that are kept, before any go to disk.
    pub table: u64,
    /// Bytes that will be read over all passes, as far as estimated those of temporary files too.
    pub bytes_read: u64,
    /// Estimated bytes that will be written to temporary files.
    pub bytes_spilled: u64,
    /// How often an input will be read from end to end, summed over inputs.
    pub passes: u32,
}

/// The ways to find different lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DistinctStrategy {
    /// Every line is looked up in the table: small inputs, those with many repeats, or no room for a
    /// filter.
    Table,
    /// A filter tells which lines may come again; only those are looked up.
    Filter,
    /// Filters alone, with an error.
    OnePass,
}

/// Bytes of a verdict in a temporary file: place, length and how often.
const VERDICT: u64 = 20;

impl DistinctPlan {
    /// Adds what goes to disk, the results among it, and one more pass over `again` in that case: inputs and
    /// their bytes.
    fn spill(&mut self, budget: &Budget, length: u64, again: Option<(usize, u64)>) {
        let set_aside = budget.spilled(self.compared, length, self.table);
        // Of a result its row, or where that stands.
        let result = if again.is_some() { VERDICT } else { length + 12 };
        let results = Budget::set_aside(self.compared, length, self.table) / (length + 12) * result;
        self.bytes_spilled = set_aside + results;
        if self.bytes_spilled > 0 {
            let (inputs, bytes) = again.unwrap_or_default();
            self.bytes_read += self.bytes_spilled + bytes;
            self.passes += inputs as u32;
        }
    }
}

impl Distinct<'_> {
    /// How the job will be done; reads samples of the inputs.
    ///
    /// # Errors
    /// Those of reading; with an error allowed, [`Error::Memory`] when the filters do not fit.
    pub fn plan(&self) -> Result<DistinctPlan, Error> {
        let lines = estimate_lines(self.inputs, self.options.separator)?;
        let (from, others) = lines.split_at(self.from);
        let [from, others] = [from, others].map(|lines| lines.iter().sum::<u64>());
        let (from_bytes, other_bytes) = self.inputs.split_at(self.from);
        let [from_bytes, other_bytes] = [from_bytes, other_bytes].map(lengths);
        let budget = &self.budget;
        let mut plan = DistinctPlan {
            strategy: DistinctStrategy::Table,
            seen: None,
            doubtful: None,
            distinct: None,
            compared: from + others,
            table: budget.table(0),
            bytes_read: from_bytes + other_bytes,
            bytes_spilled: 0,
            passes: self.inputs.len() as u32,
            lines,
        };
        let length = (from_bytes + other_bytes) / (from + others).max(1);
        if let Some(fpp) = self.fpp {
            let (seen, doubtful) = one_pass::plan(fpp, from, others, budget)?;
            plan.strategy = DistinctStrategy::OnePass;
            (plan.seen, plan.doubtful, plan.compared) = (Some(seen), doubtful, 0);
            return Ok(plan);
        }
        if from_bytes + other_bytes <= SMALL.min(budget.table(0) / 2) {
            return Ok(plan);
        }
        // The filter of all lines stays in memory while others are excluded.
        let alone = self.from == self.inputs.len();
        let room = if alone { budget.filters() } else { budget.rest / 2 };
        if room.saturating_mul(8) / from < LEAST_BITS_PER_LINE {
            plan.spill(
                budget,
                length,
                (self.least == Least::Once).then_some((self.from, from_bytes)),
            );
            return Ok(plan);
        }
        let (distinct, shared) = self.sample(&plan.lines)?;
        plan.distinct = Some(distinct);
        // A third of the table as a margin of the estimate.
        let held = distinct.saturating_mul(from_bytes / from + KEPT_LINE);
        if alone && distinct <= from / 4 && held <= budget.table(0) / 3 * 2 {
            plan.compared = distinct;
            return Ok(plan);
        }
        let mut seen = Plan::for_keys(Kind::Blocked, from, RATE)?;
        if seen.bytes() > room {
            seen = Plan::for_memory(Kind::Blocked, from, room)?;
        }
        let doubtful = Doubt::plan(from, budget.rest / 8);
        let wrongly = ((from + others) as f64 * seen.fpp()) as u64;
        plan.strategy = DistinctStrategy::Filter;
        plan.compared = (from - distinct.min(from)).saturating_add(shared + wrongly);
        let (fpp, bits, probes) = (doubtful.fpp(), doubtful.bits(), doubtful.probes());
        let doubtful = Plan::of(Kind::Blocked, plan.compared.max(1), fpp, bits, probes)?;
        plan.table = budget.table(doubtful.bytes() + if alone { 0 } else { seen.bytes() });
        let again = if self.counted && self.least == Least::Once { 2 } else { 1 };
        plan.bytes_read += again * from_bytes;
        plan.passes += again as u32 * self.from as u32;
        (plan.seen, plan.doubtful) = (Some(seen), Some(doubtful));
        plan.spill(budget, length, (again == 1).then_some((self.from, from_bytes)));
        Ok(plan)
    }

    /// About how many different lines may be written, and how many of the others' are like them.
    fn sample(&self, lines: &[u64]) -> Result<(u64, u64), Error> {
        let scanner = Scanner::within(self.budget, self.options, umbel::KeyHasher::default())?;
        let [from, others] = [0..self.from, self.from..self.inputs.len()].map(|range| {
            Sample::of(&scanner, &self.inputs[range.clone()], lines[range].iter().sum())
        });
        let (from, others) = (from?, others?);
        Ok((from.distinct(), others.shared(&from).unwrap_or(0)))
    }
}
