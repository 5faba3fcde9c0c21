//! `common` by filters alone: each input read once, with an error that is stated.
//!
//! Of the fpp asked for, half goes to lines wrongly taken for common, half to common lines wrongly
//! taken for repeats of one already written: a second filter keeps the output free of repeats.

use std::ops::Range;
use std::sync::Mutex;

use umbel::{Blocked, Kind, Plan};

use super::{CommonPlan, Run};
use crate::Error;
use crate::budget::Budget;
use crate::report::ErrorBound;
use crate::scan::{Lines, Visit};
use crate::sink::Sink;

/// The rate of each input's filter.
fn rate(at_least: usize, inputs: usize, fpp: f64) -> f64 {
    // In all inputs: one that has not the line must err. In some: any of the others may.
    if at_least == inputs { fpp / 2.0 } else { fpp / 2.0 / (inputs as f64 - 1.0) }
}

/// A filter of each input but the first.
pub(crate) fn plan(
    at_least: usize,
    fpp: f64,
    lines: &[u64],
    budget: &Budget,
) -> Result<Vec<(usize, Plan)>, Error> {
    // The fpp itself is checked, not the share of it that a filter gets.
    Plan::for_keys(Kind::Blocked, 1, fpp)?;
    // Estimates are usually within a few percent; a filter that turns out too small is filled anew.
    let keys = |estimate: u64| estimate + estimate / 16 + 16;
    let filters = (1..lines.len())
        .map(|i| {
            Ok((
                i,
                Plan::for_keys(Kind::Blocked, keys(lines[i]), rate(at_least, lines.len(), fpp))?,
            ))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let written = Plan::for_keys(
        Kind::Blocked,
        lines.iter().map(|&lines| keys(lines)).max().unwrap_or(1),
        fpp / 2.0,
    )?;
    let bytes = filters.iter().map(|(_, plan)| plan.bytes()).sum::<u64>() + written.bytes();
    budget.check_filters(bytes)?;
    Ok(filters)
}

pub(crate) fn run(
    run: &mut Run<'_>,
    plan: &CommonPlan,
    gathered: Range<usize>,
    sink: &mut Sink<'_>,
) -> Result<(), Error> {
    let hasher = run.scanner.hasher;
    let room = run.scanner.budget.long_line();
    let mut filters = Vec::new();
    let mut lines = Vec::new();
    for (input, size) in &plan.filters {
        let mut filter = Blocked::with_plan(size, hasher)?;
        let found = run.fill(*input, &mut filter, None, room)?;
        if found > size.keys() {
            let size = Plan::for_keys(Kind::Blocked, found, size.fpp())?;
            run.scanner.budget.check_filters(held(&filters) + size.bytes())?;
            filter = Blocked::with_plan(&size, hasher)?;
            run.fill(*input, &mut filter, None, room)?;
        }
        lines.push(found);
        filters.push(filter);
    }
    // A line that is written passes at least T − 1 filters, so these inputs bound their number, but
    // for false ones; with T = 1 every line is written.
    let fpp = plan.filters.iter().map(|(_, plan)| plan.fpp()).fold(f64::MIN_POSITIVE, f64::max);
    let others: u64 = lines.iter().sum();
    let first = plan.lines[0] + plan.lines[0] / 16 + 16;
    let most = match run.at_least {
        1 => first + others,
        all if all == run.inputs.len() => lines.iter().copied().min().unwrap_or(0),
        some => others / (some as u64 - 1),
    };
    let false_ones = (plan.lines.iter().sum::<u64>() as f64 * fpp) as u64;
    let share =
        if run.at_least == run.inputs.len() { fpp } else { fpp * (run.inputs.len() as f64 - 1.0) };
    let size = Plan::for_keys(Kind::Blocked, most + false_ones + 1, share)?;
    run.scanner.budget.check_filters(held(&filters) + size.bytes())?;
    let written = Blocked::with_plan(&size, hasher)?;
    sink.header(run.header.as_deref())?;
    let once = Mutex::new((written, sink));
    let pick = Pick { filters: &filters, enough: run.at_least - 1, once: &once, room };
    let tallies = run.scanner.scan_some(run.inputs, gathered.clone(), &pick)?;
    run.passes.seen(run.inputs, gathered, &tallies)?;
    let (written, _) = once.into_inner().expect("no worker panics");
    let rates = filters.iter().map(|filter| filter.receipt().fpp);
    let extra =
        if run.at_least == run.inputs.len() { rates.fold(0.0, f64::max) } else { rates.sum() };
    run.passes.report.distinct = written.receipt().keys.value as u64;
    run.passes.report.error = Some(ErrorBound { extra, missing: written.receipt().fpp });
    Ok(())
}

/// Bytes of filters.
fn held(filters: &[Blocked]) -> u64 {
    filters.iter().map(|filter| filter.plan().bytes()).sum()
}

/// Writes lines that enough filters let pass, unless they seem written already.
struct Pick<'a, 'o, 'b> {
    filters: &'a [Blocked],
    enough: usize,
    once: &'a Mutex<(Blocked, &'o mut Sink<'b>)>,
    room: u64,
}

impl Visit for Pick<'_, '_, '_> {
    type Local = ();

    fn local(&self) {}

    fn batch(&self, (): &mut (), lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let filters = &self.filters[lines.input()..];
        for (keep, hash) in keep.iter_mut().zip(lines.hashes()) {
            *keep = filters.iter().filter(|filter| filter.contains(*hash)).count() >= self.enough;
        }
        Ok(())
    }

    fn kept(&self, _: &mut Self::Local, lines: &Lines<'_>) -> Result<(), Error> {
        let mut once = self.once.lock().expect("no worker panics");
        let (written, sink) = &mut *once;
        for (i, hash) in lines.hashes().iter().enumerate() {
            if written.insert(*hash) {
                sink.line(lines.row(i))?;
            }
        }
        Ok(())
    }

    fn room(&self) -> u64 {
        self.room
    }
}
