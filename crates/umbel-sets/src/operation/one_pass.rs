//! Set operations by filters alone: every input is read once, and the error is reported.
//!
//! A line that wrongly counts as a repeat, or as excluded, is left out; one that wrongly counts as shared with other
//! inputs is written. If other inputs matter, half of the fpp goes to them.

use super::plan::{FIRST, shard_of};
use super::prelude::*;
use super::rule::Need;
use crate::report::ErrorBound;

impl Run<'_> {
    /// Writes lines that the filters allow; `size` plans the filter of written lines, `others` the other filters.
    pub(super) fn one_pass(
        &mut self,
        size: &Plan,
        others: &[Plan],
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let budget = self.scanner.budget;
        let count = self.inputs.len();
        // A wanted line first occurs in one of these.
        let need = self.rule.need(count);
        let (from, enough) = match need {
            Need::Nothing => (count, None),
            Need::Absence => (1, None),
            Need::AtLeast(least) => (count - least + 1, Some(least - 1)),
        };
        let (mut filters, mut held) = (Vec::new(), size.bytes());
        for (i, size) in others.iter().enumerate() {
            let range = if enough.is_some() { i + 1..i + 2 } else { 1..count };
            let filter = self.fill_anew(range, size, held)?;
            held += filter.plan().bytes();
            filters.push(filter);
        }
        sink.header(self.scanner.header(self.inputs)?.as_deref())?;
        let written = WrittenLines::shards(size, &budget, held - size.bytes())?;
        let once = Once { others: &filters, enough, written: InLine::new(written, sink) };
        let tallies = self.scanner.scan(self.inputs, 0..from, &once.visit(budget.long_line()))?;
        self.record(0..from, &tallies)?;
        let written: Vec<_> = once.written.into_shards().collect();
        let links = || written.iter().flat_map(|shard| &shard.links);
        // A pass over all bits.
        let all: Vec<_> = filters.iter().chain(links()).collect();
        let receipts = in_order(budget.threads, all.len(), |i| all[i].receipt());
        let (others, links) = receipts.split_at(filters.len());
        let rates = others.iter().map(|receipt| receipt.fpp);
        let (extra, excluded) = match need {
            Need::AtLeast(all) if all == count => (rates.fold(0.0, f64::max), 0.0),
            Need::AtLeast(_) => (rates.sum(), 0.0),
            Need::Nothing | Need::Absence => (0.0, rates.sum()),
        };
        let keys: f64 = links.iter().map(|receipt| receipt.keys.value).sum();
        // A line is in one shard.
        let repeated = links.iter().map(|receipt| receipt.fpp).sum::<f64>() / written.len() as f64;
        let missing = excluded + repeated;
        self.passes.report.distinct = keys as u64;
        self.passes.report.error = Some(ErrorBound { extra, missing });
        Ok(())
    }

    /// Makes a filter of the inputs' lines, rebuilt if there are more than planned; other filters use `held` bytes.
    fn fill_anew(&mut self, range: Range<usize>, size: &Plan, held: u64) -> Result<Blocked, Error> {
        let budget = self.scanner.budget;
        let mut filter = of_hashes(size)?;
        loop {
            let room = budget.long_line();
            let tallies = fill(&self.scanner, &self.inputs[range.clone()], &mut filter, room)?;
            self.record(range.clone(), &tallies)?;
            let found = tallies.iter().map(|tally| tally.lines).sum();
            if found <= filter.plan().keys() {
                return Ok(filter);
            }
            let size = Plan::for_keys(Kind::Blocked, found, size.fpp())?;
            budget.check_filters(held + size.bytes())?;
            filter = of_hashes(&size)?;
        }
    }
}

/// Shards of the written lines: the same number for any number of threads, because the lines left out depend on it.
/// One if there are few lines. With 16, 40 million lines take a tenth longer.
const SHARDS: u64 = 8;
const FEW: u64 = if cfg!(test) { 64 } else { 1 << 21 };

/// Some of the lines written, by their hash, in one filter unless there are more of them than estimated.
struct WrittenLines {
    links: Vec<Blocked>,
    /// Lines that the last filter may still accept.
    left: u64,
    known: Vec<bool>,
    budget: Budget,
    /// The number of shards.
    shards: u64,
    /// Bytes of other filters.
    beside: u64,
}

impl WrittenLines {
    /// A filter with this plan, in shards.
    fn shards(plan: &Plan, budget: &Budget, beside: u64) -> Result<Vec<Self>, Error> {
        let shards = if plan.keys() < FEW { 1 } else { SHARDS };
        let plan = shard_of(plan, shards)?;
        let make = |_| {
            let mut filter = of_hashes(&plan)?;
            // Otherwise the first worker would wait for the system to zero the memory, and all others for it.
            filter.clear();
            let (links, left, known) = (vec![filter], plan.keys(), Vec::new());
            Ok(Self { links, left, known, budget: *budget, shards, beside })
        };
        in_order(budget.threads, shards as usize, make).into_iter().collect()
    }

    /// The shard of a hash. Places in a filter depend on the highest bits of this half.
    fn shard(hash: KeyHash, shards: usize) -> usize {
        hash.high as usize & (shards - 1)
    }

    /// Inserts hashes in order and reports which were new. The result does not depend on the sizes of batches.
    fn insert_all_new(
        &mut self,
        mut hashes: &[KeyHash],
        mut new: &mut [bool],
    ) -> Result<(), Error> {
        while !hashes.is_empty() {
            if self.left == 0 {
                self.grow()?;
            }
            let some = hashes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
            let (now, later) = hashes.split_at(some);
            let (new_now, new_later) = new.split_at_mut(some);
            self.insert_some_new(now, new_now);
            (hashes, new) = (later, new_later);
        }
        Ok(())
    }

    /// Inserts hashes for which there is room.
    fn insert_some_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) {
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
    }

    /// Continues in another filter.
    fn grow(&mut self) -> Result<(), Error> {
        let last = self.links.last().expect("there is always one");
        // The first has 7/8 of the rate, the second half of the last eighth. An estimate may miss a few lines, or most.
        let (part, times) = match self.links.len() {
            1 => (0.5 * (1.0 - FIRST) / FIRST, 1),
            _ => (0.5, 4),
        };
        let keys = last.plan().keys().saturating_mul(times).max(1);
        let plan = Plan::for_keys(Kind::Blocked, keys, last.plan().fpp() * part)?;
        let held: u64 = self.links.iter().map(|link| link.plan().bytes()).sum();
        // The other shards are about to do the same.
        let all = (held + plan.bytes()).saturating_mul(self.shards);
        self.budget.check_filters(self.beside.saturating_add(all))?;
        self.links.push(of_hashes(&plan)?);
        self.left = keys;
        Ok(())
    }
}

/// Writes lines that the others' filters allow and that, according to the filters, were not written yet.
struct Once<'a, 'o> {
    others: &'a [Blocked],
    /// How many of the following inputs' filters must hold a line; `None`: none may.
    enough: Option<usize>,
    written: InLine<WrittenLines, &'a mut Sink<'o>>,
}

/// The state of a worker.
#[derive(Default)]
struct Local {
    found: Vec<bool>,
    counts: Vec<u16>,
    /// Kept lines that were not passed on yet, and these by shard.
    kept: usize,
    shards: ByShard,
    /// For each line of a shard, and for each kept one, whether it is new.
    new_here: Vec<bool>,
    new: Vec<bool>,
}

impl Once<'_, '_> {
    fn visit(&self, spare: u64) -> Visit<'_> {
        let shards = || ByShard::new(self.written.shards.len());
        Visit::new(spare, move || (self, Local { shards: shards(), ..Local::default() }))
    }
}

impl Work for (&Once<'_, '_>, Local) {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let (once, Local { found, counts, kept, shards, .. }) = self;
        found.resize(lines.len(), false);
        counts.clear();
        counts.resize(lines.len(), 0);
        let others =
            if once.enough.is_some() { &once.others[lines.input()..] } else { once.others };
        for filter in others {
            filter.contains_all(lines.hashes(), &mut found[..lines.len()]);
            counts.iter_mut().zip(&*found).for_each(|(count, found)| *count += u16::from(*found));
        }
        for ((keep, &count), &hash) in keep.iter_mut().zip(&*counts).zip(lines.hashes()) {
            *keep = once.enough.map_or(count == 0, |enough| usize::from(count) >= enough);
            if *keep {
                shards.push(WrittenLines::shard(hash, shards.0.len()), *kept, hash);
                *kept += 1;
            }
        }
        Ok(())
    }

    fn kept(&mut self, lines: &Lines<'_>, pass: &dyn Fn()) -> Result<(), Error> {
        let (once, Local { kept, shards, new_here, new, .. }) = self;
        new.resize(lines.len(), false);
        *kept = 0;
        let at_end = once.written.walk(pass, |number, written| {
            let few = &mut shards.0[number];
            new_here.resize(few.hashes.len(), false);
            written.insert_all_new(&few.hashes, new_here)?;
            few.numbers.iter().zip(&*new_here).for_each(|(&i, &is_new)| new[i] = is_new);
            few.clear();
            Ok(())
        })?;
        at_end.finish(|sink| sink.rows(lines, (0..lines.len()).filter(|&i| new[i])))
    }
}
