//! Plans of jobs.

use super::build::Doubt;
use super::prelude::*;
use super::rule::Need;
use crate::Records;
use crate::input::estimate_lines;
use crate::sample::Sample;
use crate::table::KEPT_LINE;

/// The rate of the filter of all lines: a lower one costs bits, and so cache misses; a higher one costs lines kept in
/// vain, some 100 bytes each. The optimum is flat between 0.3 and 2 %.
const RATE: f64 = 0.01;
/// With fewer bits per line, more than 38 % of lines pass the filter: then it is not worth a pass.
const LEAST_BITS_PER_LINE: u64 = 2;
/// Inputs up to this size go straight to the table: it stays in cache, and a pass is saved.
const SMALL: u64 = 16 << 20;

/// The plan of a job: its steps, and their estimated cost.
#[derive(Clone, Debug, PartialEq)]
pub struct SetPlan {
    /// The steps.
    pub steps: Steps,
    /// Estimated lines of each input.
    pub lines: Vec<u64>,
    /// Estimated different lines among those that may be written, from samples; `None` if no samples were read.
    pub distinct: Option<u64>,
    /// Lines expected to be compared by their bytes.
    pub compared: u64,
    /// Bytes for the lines that are kept, before any are spilled.
    pub table: u64,
    /// Bytes that will be read over all passes, including the estimated bytes of temporary files.
    pub bytes_read: u64,
    /// Estimated bytes that will be written to temporary files.
    pub bytes_spilled: u64,
    /// How often an input will be read in full, summed over inputs.
    pub passes: u32,
    /// For a join in which a row may have several partners, the estimated rows, from samples.
    pub pairs: Option<u64>,
    /// The part of them whose keys have several rows in both inputs, as far as samples show.
    pub product: u64,
    /// The part of the bytes read by another operation of the job.
    pub(super) later: u64,
}

/// How the lines are found.
#[derive(Clone, Debug, PartialEq)]
pub enum Steps {
    /// All inputs seem to be sorted: their lines are compared side by side in one pass.
    Merge,
    /// Filters alone decide, with an error.
    OnePass {
        /// The filter of the lines written.
        written: Plan,
        /// Filters of the other inputs: one for all excluded inputs, or one for each input from the second on.
        others: Vec<Plan>,
    },
    /// Lines that may be written, and with other inputs their keys, are looked up in tables of earlier ones.
    Decide {
        /// The filter of all lines that may be written, and the filter of lines to look up. Without them, all lines are
        /// looked up: for small inputs, for many repeats, or if there is no memory for filters.
        filters: Option<[Plan; 2]>,
    },
    /// The keys of some inputs decide: lines that may be written are looked up there.
    LookUp {
        /// The filter of all lines that may be written: keys that pass it are gathered, all keys without it.
        seen: Option<Plan>,
        /// The filter of the gathered keys, if one is made in any case.
        keys: Option<Plan>,
        /// The inputs whose keys are gathered.
        gathered: Range<usize>,
    },
    /// Two inputs are read side by side: rows that come next in both are forgotten, others are looked up. With the filter of
    /// all rows.
    SideBySide(Plan),
    /// The rows of the second input are looked up by the keys of the first.
    Join {
        /// The filter of all rows of the first input; rows of the second that pass it are gathered, or all without it.
        seen: Option<Plan>,
        /// The number of slices of the first input. What later ones need of the second goes to files.
        slices: u64,
    },
}

/// With an error allowed, the first filter's part of the rate of written lines. The others have half of the rest, a
/// quarter and so on: together they keep the rate, however many follow.
pub(super) const FIRST: f64 = 0.875;
/// The minimum bytes of a filter of keys.
pub(super) const LEAST_FILTER: u64 = 64 << 10;
/// Bytes of a result without its row in a temporary file: place, length and count.
const RESULT: u64 = 20;
/// Bytes per sorted line, besides the line.
const SORTED: u64 = 44;

impl SetPlan {
    /// The filter of all lines that may be written, if these are looked up by their bytes.
    pub fn filter(&self) -> Option<&Plan> {
        match &self.steps {
            Steps::Merge | Steps::OnePass { .. } | Steps::SideBySide(_) => None,
            Steps::Decide { filters } => filters.as_ref().map(|[seen, _]| seen),
            Steps::LookUp { seen, .. } | Steps::Join { seen, .. } => seen.as_ref(),
        }
    }

    /// The rule with what results hold. Many rows would go through temporary files at every level; one more pass over the
    /// inputs is cheaper.
    pub(super) fn complete(&self, rule: Rule) -> Rule {
        let few = rule.at_least > 1 || matches!(rule.others, Others::Semi(_));
        let few = few || (self.filter().is_none() && (rule.uneven || self.bytes_spilled == 0));
        // Tables do not store last lines or line numbers.
        let not_held = rule.numbered || rule.counted == Some(Counted::Last);
        let rows = (few && !not_held) || rule.every;
        Rule { rows, ..rule }
    }

    /// Adds the spilled bytes, including results, and then one more pass over `again`: inputs and their bytes.
    fn spill(&mut self, budget: &Budget, length: u64, again: Option<(usize, u64)>) {
        let set_aside = budget.spilled(self.compared, length, self.table);
        // A result's row, or its place.
        let result = if again.is_some() { RESULT } else { length + 12 };
        let results = Budget::set_aside(self.compared, length, self.table) / (length + 12) * result;
        self.bytes_spilled = set_aside + results;
        if self.bytes_spilled > 0 {
            let (inputs, bytes) = again.unwrap_or_default();
            self.bytes_read += self.bytes_spilled + bytes;
            self.passes += inputs as u32;
        }
    }
}

impl SetOperation<'_> {
    /// Plans the job; reads samples of the inputs.
    ///
    /// # Errors
    /// Read errors; with an error allowed, [`Error::Memory`] if the filters do not fit.
    pub fn plan(&self) -> Result<SetPlan, Error> {
        let plan = self.plan_start()?;
        let Form { records, normalization, .. } = &self.options.form;
        let by_bytes = matches!(records, Records::Lines(_)) && normalization.is_none();
        let may_merge =
            self.fpp.is_none() && by_bytes && self.can_merge() && plan.bytes_read > SMALL;
        if may_merge && self.seems_sorted()? {
            return Ok(SetPlan { steps: Steps::Merge, table: 0, ..plan });
        }
        self.plan_from(plan)
    }

    /// Plans the job for inputs that are not sorted.
    pub(super) fn plan_unsorted(&self) -> Result<SetPlan, Error> {
        self.plan_from(self.plan_start()?)
    }

    /// The initial plan: reads every input once and compares all lines.
    pub(super) fn plan_start(&self) -> Result<SetPlan, Error> {
        let lines = estimate_lines(self.inputs, self.options)?;
        Ok(SetPlan {
            steps: Steps::Decide { filters: None },
            distinct: None,
            compared: lines.iter().sum(),
            table: self.budget.table(0),
            bytes_read: lengths(self.inputs),
            bytes_spilled: 0,
            passes: self.inputs.len() as u32,
            pairs: None,
            product: 0,
            lines,
            later: 0,
        })
    }

    /// A sample of some inputs, with these lines each.
    pub(super) fn sample(&self, lines: &[u64], range: Range<usize>) -> Result<Sample, Error> {
        let scanner = self.scanner(umbel::KeyHasher::default())?;
        Sample::of(&scanner, &self.inputs[range.clone()], lines[range].iter().sum())
    }

    fn plan_from(&self, plan: SetPlan) -> Result<SetPlan, Error> {
        let rule = self.rule;
        match self.fpp {
            Some(fpp) => self.plan_one_pass(plan, fpp),
            // The keys of the other inputs alone decide.
            None if rule.every || matches!(rule.others, Others::Semi(_)) => {
                let gathered = rule.gathered(&plan.lines);
                self.plan_look_up(plan, gathered, None)
            }
            None if self.groups() => Ok(self.plan_groups(self.plan_others(plan)?)),
            None => self.plan_others(plan),
        }
    }

    /// Completes the plan of `plan_others` for an operation that sorts lines.
    fn plan_groups(&self, plan: SetPlan) -> SetPlan {
        let (bytes, lines) = (lengths(self.inputs), plan.lines.iter().sum::<u64>());
        let passes = 2 + u64::from(plan.filter().is_some());
        // The first of repeated lines is sorted as well.
        let compared = plan.compared.saturating_mul(2).min(lines);
        let sorted = (bytes / lines.max(1) + SORTED).saturating_mul(compared);
        let bytes_spilled = if 3 * sorted > plan.table / 4 * 3 { sorted } else { 0 };
        let bytes_spilled = bytes_spilled + RESULT * compared;
        SetPlan {
            compared,
            bytes_spilled,
            bytes_read: passes * bytes + bytes_spilled,
            passes: passes as u32 * self.inputs.len() as u32,
            ..plan
        }
    }

    /// Completes a plan by filters alone: of the lines written, and of the other inputs.
    fn plan_one_pass(&self, plan: SetPlan, fpp: f64) -> Result<SetPlan, Error> {
        // Checks the fpp itself, not a filter's share of it.
        Plan::for_keys(Kind::Blocked, 1, fpp)?;
        // Estimates are usually within a few percent; a filter that turns out too small is rebuilt, or another follows.
        let size = |lines: u64, rate| Plan::for_keys(Kind::Blocked, lines + lines / 16 + 16, rate);
        let lines = &plan.lines;
        let all = lines.iter().sum::<u64>();
        // The approximate number of lines that may be written; the share of the rate for lines left out as repeats;
        // the others' filters.
        let (written, share, others) = match self.rule.need(lines.len()) {
            Need::Nothing => (all, fpp, Vec::new()),
            Need::Absence => (lines[0], fpp / 2.0, vec![size(all - lines[0], fpp / 2.0)?]),
            Need::AtLeast(least) => {
                // In all inputs: the filter of one that lacks the line must err. In some: any of the others may.
                let (most, rate) = match least == lines.len() {
                    true => (lines.iter().copied().min().unwrap_or(0), fpp / 2.0),
                    false => (all / least as u64, fpp / 2.0 / (lines.len() - 1) as f64),
                };
                let others = lines[1..].iter().map(|&lines| size(lines, rate));
                (most, fpp / 2.0, others.collect::<Result<_, _>>()?)
            }
        };
        let written = size(written, share * FIRST)?;
        self.budget.check_filters(written.bytes() + others.iter().map(Plan::bytes).sum::<u64>())?;
        Ok(SetPlan { steps: Steps::OnePass { written, others }, compared: 0, ..plan })
    }

    /// Plans distinct lines or an anti-join.
    fn plan_others(&self, mut plan: SetPlan) -> Result<SetPlan, Error> {
        let (budget, lines) = (&self.budget, plan.lines.clone());
        let (from, others) = lines.split_at(self.from());
        let [from, others] = [from, others].map(|lines| lines.iter().sum::<u64>());
        let (from_bytes, other_bytes) = self.inputs.split_at(self.from());
        let [from_bytes, other_bytes] = [from_bytes, other_bytes].map(lengths);
        let length = (from_bytes + other_bytes) / (from + others).max(1);
        plan.table = Budget::held(length, plan.table);
        if from_bytes + other_bytes <= SMALL.min(budget.table(0) / 2) {
            return Ok(plan);
        }
        let (once, counted) = (self.rule.once(), self.rule.counted.is_some());
        if self.rule.uneven {
            // Of two versions most rows are equal: a filter would find them all doubtful, and few are results.
            plan.bytes_spilled = budget.spilled(from, length, plan.table);
            plan.bytes_read += plan.bytes_spilled;
            return Ok(plan);
        }
        // The filter of all lines stays in memory while others are excluded.
        let alone = self.from() == self.inputs.len();
        let room = if alone { budget.filters() } else { budget.rest / 2 };
        if room.saturating_mul(8) / from < LEAST_BITS_PER_LINE {
            plan.spill(budget, length, once.then_some((self.from(), from_bytes)));
            return Ok(plan);
        }
        let [sample, excluded] = [0..self.from(), self.from()..self.inputs.len()]
            .map(|range| self.sample(&lines, range));
        let sample = sample?;
        let (distinct, shared) = (sample.distinct(), excluded?.shared(&sample).unwrap_or(0));
        plan.distinct = Some(distinct);
        // A third of the table as a margin of the estimate.
        let held = distinct.saturating_mul(from_bytes / from + KEPT_LINE);
        if alone && distinct <= from / 4 && held <= plan.table / 3 * 2 {
            plan.compared = distinct;
            return Ok(plan);
        }
        let seen = size(from, room)?;
        let doubtful = Doubt::plan(from, budget.rest / 8);
        let wrongly = ((from + others) as f64 * seen.fpp()) as u64;
        plan.compared = (from - distinct.min(from)).saturating_add(shared + wrongly);
        let table = budget.table(doubtful.bytes() + if alone { 0 } else { seen.bytes() });
        plan.table = Budget::held(length, table);
        let again = if counted && once { 2 } else { 1 };
        plan.bytes_read += again * from_bytes;
        plan.passes += again as u32 * self.from() as u32;
        plan.steps = Steps::Decide { filters: Some([seen, of_keys(&doubtful, plan.compared)?]) };
        plan.spill(budget, length, (again == 1).then_some((self.from(), from_bytes)));
        Ok(plan)
    }

    /// Plans an operation that the keys of some other inputs decide, with samples of both if available.
    pub(super) fn plan_look_up(
        &self,
        mut plan: SetPlan,
        gathered: Range<usize>,
        samples: Option<&[Sample; 2]>,
    ) -> Result<SetPlan, Error> {
        let budget = &self.budget;
        let (from, others) = (0..self.from(), gathered.clone());
        let [first, other] = [&from, &others].map(|range| lengths(&self.inputs[range.clone()]));
        let [lines, keys] = [&from, &others].map(|range| plan.lines[range.clone()].iter().sum());
        plan.compared = keys;
        let length = other / keys.max(1);
        plan.table = Budget::held(length, plan.table);
        let steps = |seen, keys| Steps::LookUp { seen, keys, gathered };
        if first + other <= SMALL.min(budget.table(0) / 2) {
            return Ok(SetPlan { steps: steps(None, None), ..plan });
        }
        // A third of the table as a margin of the estimate.
        let fits = other + KEPT_LINE * keys <= plan.table / 3 * 2;
        // Spilling and reading back costs several times as much as just reading.
        let small = other < first / if fits { 4 } else { 8 };
        let room = budget.filters();
        let scarce = room.saturating_mul(8) / lines.max(1) < LEAST_BITS_PER_LINE;
        // If samples show nothing, a filter is the safe choice.
        let shared = match samples {
            _ if small || scarce => 0,
            Some([from, others]) => others.shared(from).unwrap_or(0),
            None => {
                let others = self.sample(&plan.lines, others)?;
                others.shared(&self.sample(&plan.lines, from)?).unwrap_or(0)
            }
        };
        let mut filter = None;
        // Then using only the keys of the others saves a pass over the first.
        if !(small || scarce || fits && shared > keys / 5 * 3) {
            let seen = size(lines, room)?;
            plan.compared = (shared + (keys as f64 * seen.fpp()) as u64).min(keys);
            plan.table = Budget::held(length, budget.table(seen.bytes()));
            filter = Some(seen);
            plan.bytes_read += first;
            plan.passes += self.from() as u32;
        }
        // Keys in memory leave room, or were spilled.
        let held = (plan.compared * (length + KEPT_LINE)).min(plan.table);
        let keys = size(plan.compared.max(1), budget.table(held).max(LEAST_FILTER))?;
        plan.steps = steps(filter, Some(keys));
        // The spilled keys, and lines that may equal them.
        plan.bytes_spilled = 2 * budget.spilled(plan.compared, length, plan.table);
        plan.bytes_read += plan.bytes_spilled;
        Ok(plan)
    }
}

/// A filter of this many lines in at most `room` bytes.
pub(super) fn size(lines: u64, room: u64) -> Result<Plan, Error> {
    size_at(lines, room, RATE)
}

/// The same, at this rate if it fits.
pub(super) fn size_at(lines: u64, room: u64, rate: f64) -> Result<Plan, Error> {
    let plan = Plan::for_keys(Kind::Blocked, lines, rate)?;
    let fits = plan.bytes() <= room;
    Ok(if fits { plan } else { Plan::for_memory(Kind::Blocked, lines, room)? })
}

/// The same filter, for this many keys.
fn of_keys(plan: &Plan, keys: u64) -> Result<Plan, Error> {
    Ok(Plan::from_parts(Kind::Blocked, keys.max(1), plan.fpp(), plan.bits(), plan.probes())?)
}

/// One of `shards` equal parts of a filter, of whole blocks.
pub(super) fn shard_of(plan: &Plan, shards: u64) -> Result<Plan, Error> {
    let (keys, bits) = (plan.keys() / shards, (plan.bits() / shards).max(512) / 512 * 512);
    Ok(Plan::from_parts(Kind::Blocked, keys.max(1), plan.fpp(), bits, plan.probes())?)
}
