//! Different lines by filters alone: every input is read once, with an error that is stated.
//!
//! A line may be taken for a repeat, or for an excluded one, and is left out then; none comes out that
//! should not. With others to exclude, half of the fpp goes to each.

use std::sync::Mutex;

use umbel::{Blocked, KeyHash, KeyHasher, Kind, Plan};

use super::{DistinctPlan, Run};
use crate::Error;
use crate::budget::Budget;
use crate::bulk::fill;
use crate::report::ErrorBound;
use crate::scan::{Lines, Visit};
use crate::sink::Sink;

/// The filter of written lines, and that of excluded ones.
pub(super) fn plan(
    fpp: f64,
    from: u64,
    others: u64,
    budget: &Budget,
) -> Result<(Plan, Option<Plan>), Error> {
    // The fpp itself is checked, not the share of it that a filter gets.
    Plan::for_keys(Kind::Blocked, 1, fpp)?;
    let share = if others > 0 { fpp / 2.0 } else { fpp };
    // Estimates are usually within a few percent; a filter that turns out too small is filled anew, or another follows.
    let size = |lines: u64, rate| Plan::for_keys(Kind::Blocked, lines + lines / 16 + 16, rate);
    let seen = size(from, share * FIRST)?;
    let excluded = if others > 0 { Some(size(others, share)?) } else { None };
    budget.check_filters(seen.bytes() + excluded.map_or(0, |plan| plan.bytes()))?;
    Ok((seen, excluded))
}

pub(super) fn run(
    run: &mut Run<'_>,
    plan: &DistinctPlan,
    sink: &mut Sink<'_>,
) -> Result<(), Error> {
    let hasher = run.scanner.hasher;
    let room = run.scanner.budget.long_line();
    let seen = plan.seen.expect("an answer with an error has a filter of written lines");
    let budget = run.scanner.budget;
    let mut excluded = plan.doubtful.map(|size| Blocked::with_plan(&size, hasher)).transpose()?;
    let range = run.from..run.inputs.len();
    while let Some(filter) = &mut excluded {
        let tallies = fill(&run.scanner, &run.inputs[range.clone()], filter, None, room)?;
        run.passes.seen(run.inputs, range.clone(), &tallies)?;
        let (size, found) = (filter.plan(), tallies.iter().map(|tally| tally.lines).sum());
        if found <= size.keys() {
            break;
        }
        let size = Plan::for_keys(Kind::Blocked, found, size.fpp())?;
        budget.check_filters(seen.bytes() + size.bytes())?;
        excluded = Some(Blocked::with_plan(&size, hasher)?);
    }
    sink.header(run.header.as_deref())?;
    let beside = excluded.as_ref().map_or(0, |excluded| excluded.plan().bytes());
    let state = Mutex::new((Written::new(&seen, hasher, budget, beside)?, sink));
    let once = Once { excluded: excluded.as_ref(), state: &state, room };
    let tallies = run.scanner.scan_some(run.inputs, 0..run.from, &once)?;
    run.passes.seen(run.inputs, 0..run.from, &tallies)?;
    let (written, _) = state.into_inner().expect("no worker panics");
    let excluded = excluded.map_or(0.0, |excluded| excluded.receipt().fpp);
    let (keys, missing) = written.links.iter().fold((0.0, excluded), |(keys, rate), link| {
        let receipt = link.receipt();
        (keys + receipt.keys.value, rate + receipt.fpp)
    });
    run.passes.report.distinct = keys as u64;
    run.passes.report.error = Some(ErrorBound { extra: 0.0, missing });
    Ok(())
}

/// Of the rate of written lines, the part of the first filter of them. The others have half of what is left, a quarter
/// and so on: together they keep the rate, however many follow.
const FIRST: f64 = 0.875;

/// The lines written, in one filter as long as there are no more of them than was estimated.
struct Written {
    links: Vec<Blocked>,
    /// Lines that the last one may still take.
    left: u64,
    known: Vec<bool>,
    budget: Budget,
    /// Bytes of other filters.
    beside: u64,
}

impl Written {
    fn new(plan: &Plan, hasher: KeyHasher, budget: Budget, beside: u64) -> Result<Self, Error> {
        let links = vec![Blocked::with_plan(plan, hasher)?];
        Ok(Self { links, left: plan.keys(), known: Vec::new(), budget, beside })
    }

    /// Inserts hashes; tells which were new.
    fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Error> {
        if (hashes.len() as u64) > self.left {
            self.grow(hashes.len() as u64)?;
        }
        let (last, before) = self.links.split_last_mut().expect("there is always one");
        if before.is_empty() {
            last.insert_all_new(hashes, new);
        } else {
            new.fill(true);
            for link in before {
                self.known.resize(hashes.len(), false);
                link.contains_all(hashes, &mut self.known);
                new.iter_mut().zip(&self.known).for_each(|(new, known)| *new &= !known);
            }
            for (new, hash) in new.iter_mut().zip(hashes) {
                *new = *new && last.insert(*hash);
            }
        }
        self.left -= new.iter().filter(|new| **new).count() as u64;
        Ok(())
    }

    /// Goes on in another filter, of `least` lines or more.
    fn grow(&mut self, least: u64) -> Result<(), Error> {
        let last = self.links.last().expect("there is always one");
        // The first has 7 of 8 parts of the rate, the second half of the eighth. An estimate may be short of a few lines,
        // or of most.
        let (part, times) = match self.links.len() {
            1 => (0.5 * (1.0 - FIRST) / FIRST, 1),
            _ => (0.5, 4),
        };
        let keys = last.plan().keys().saturating_mul(times).max(least);
        let plan = Plan::for_keys(Kind::Blocked, keys, last.plan().fpp() * part)?;
        let held: u64 = self.links.iter().map(|link| link.plan().bytes()).sum();
        self.budget.check_filters(self.beside + held + plan.bytes())?;
        let link = Blocked::with_plan(&plan, *last.hasher())?;
        self.links.push(link);
        self.left = keys;
        Ok(())
    }
}

/// Writes lines that are neither excluded nor written already, as far as the filters tell.
struct Once<'a, 'o, 'b> {
    excluded: Option<&'a Blocked>,
    state: &'a Mutex<(Written, &'o mut Sink<'b>)>,
    room: u64,
}

impl Visit for Once<'_, '_, '_> {
    /// Which of the kept lines are new.
    type Local = Vec<bool>;

    fn local(&self) -> Vec<bool> {
        Vec::new()
    }

    fn batch(&self, _: &mut Vec<bool>, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        match self.excluded {
            None => keep.fill(true),
            Some(excluded) => {
                excluded.contains_all(lines.hashes(), keep);
                keep.iter_mut().for_each(|keep| *keep = !*keep);
            }
        }
        Ok(())
    }

    fn kept(&self, new: &mut Vec<bool>, lines: &Lines<'_>) -> Result<(), Error> {
        let mut state = self.state.lock().expect("no worker panics");
        let (written, sink) = &mut *state;
        new.resize(lines.len(), false);
        written.insert_all_new(lines.hashes(), new)?;
        sink.rows(lines, (0..lines.len()).filter(|&i| new[i]))
    }

    fn room(&self) -> u64 {
        self.room
    }
}
