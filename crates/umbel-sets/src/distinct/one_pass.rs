//! Different lines by filters alone: every input is read once, with an error that is stated.
//!
//! A line may be taken for a repeat, or for an excluded one, and is left out then; none comes out that
//! should not. With others to exclude, half of the fpp goes to each.

use std::sync::Mutex;

use umbel::{Blocked, Kind, Plan};

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
    // Estimates are usually within a few percent; the report tells the rate of what it came to.
    let size = |lines: u64| Plan::for_keys(Kind::Blocked, lines + lines / 16 + 16, share);
    let seen = size(from)?;
    let excluded = if others > 0 { Some(size(others)?) } else { None };
    let bytes = seen.bytes() + excluded.map_or(0, |plan| plan.bytes());
    if bytes > budget.lasting() {
        let least = Budget::least_cap(budget.threads, bytes + bytes.div_ceil(7));
        return Err(Error::Memory { cap: budget.cap, least });
    }
    Ok((seen, excluded))
}

pub(super) fn run(
    run: &mut Run<'_>,
    plan: &DistinctPlan,
    sink: &mut Sink<'_>,
) -> Result<(), Error> {
    let hasher = run.scanner.hasher;
    let room = run.scanner.budget.long_line();
    let mut excluded = plan.doubtful.map(|size| Blocked::with_plan(&size, hasher)).transpose()?;
    if let Some(excluded) = &mut excluded {
        let range = run.from..run.inputs.len();
        let tallies = fill(&run.scanner, &run.inputs[range.clone()], excluded, None, room)?;
        run.passes.seen(run.inputs, range, &tallies)?;
    }
    let seen = plan.seen.expect("an answer with an error has a filter of written lines");
    sink.header(run.header.as_deref())?;
    let state = Mutex::new((Blocked::with_plan(&seen, hasher)?, sink));
    let once = Once { excluded: excluded.as_ref(), state: &state, room };
    let tallies = run.scanner.scan_some(run.inputs, 0..run.from, &once)?;
    run.passes.seen(run.inputs, 0..run.from, &tallies)?;
    let (seen, _) = state.into_inner().expect("no worker panics");
    let excluded = excluded.map_or(0.0, |excluded| excluded.receipt().fpp);
    let receipt = seen.receipt();
    run.passes.report.distinct = receipt.keys.value as u64;
    run.passes.report.error = Some(ErrorBound { extra: 0.0, missing: receipt.fpp + excluded });
    Ok(())
}

/// Writes lines that are neither excluded nor written already, as far as the filters tell.
struct Once<'a, 'o, 'b> {
    excluded: Option<&'a Blocked>,
    state: &'a Mutex<(Blocked, &'o mut Sink<'b>)>,
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
        let (seen, sink) = &mut *state;
        new.resize(lines.len(), false);
        seen.insert_all_new(lines.hashes(), new);
        sink.rows(lines, (0..lines.len()).filter(|&i| new[i]))
    }

    fn room(&self) -> u64 {
        self.room
    }
}
