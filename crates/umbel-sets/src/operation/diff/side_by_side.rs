//! Rows that both files have next are compared while both are read side by side.
//!
//! Two versions of a file have most rows in common, in about the same order. Rows that come next in both are *even*: they
//! are read in one file, and forgotten. All others *remain*, for a comparison as of any two files.
//!
//! The same row may come again elsewhere. Every row that is even or remains goes into a filter; if that may have it already,
//! its hash goes into a filter of rows to read *again*. A second pass keeps all rows that this one lets pass, wherever
//! they are. So a row that was forgotten is once in each file, and the rows that remain differ as the whole files do.

use std::slice;
use std::sync::atomic::AtomicBool;

use crate::input::SpoolWriter;
use crate::operation::in_line::Few;
use crate::operation::key_set::index;
use crate::operation::plan::{shard_of, size_at};
use crate::operation::prelude::*;
use crate::spill::{lock, lock_each};

/// Reading is given up if more than one row in so many is not even, besides the first ones.
const MOST: u64 = 4;
const FIRST: u64 = if cfg!(test) { 64 } else { 1 << 16 };
/// Bits of the filter for each row, at least.
const LEAST_BITS: u64 = 8;
/// The number of a row that the other file has next, too.
const IN_BOTH: usize = usize::MAX;

/// What remains, or what was read and written before it was given up.
pub(super) type Read = Result<Remaining, Report>;

/// What remains of an old and a new file.
pub(super) struct Remaining {
    pub(super) inputs: [Input; 2],
    /// The number of other rows, each once in both files.
    pub(super) even: u64,
    pub(super) report: Report,
}

/// The filter of all rows, if there is room. At the end it is wrong for one row on average, if it has all the bits it wants.
pub(super) fn filter(budget: &Budget, lines: &[u64]) -> Result<Option<Plan>, Error> {
    let rows = lines.iter().copied().max().unwrap_or(0).max(10);
    let (room, rate) = (budget.rest / 3, (1.0 / rows as f64).max(1e-9));
    let fits = room * 8 / rows >= LEAST_BITS;
    fits.then(|| size_at(rows, room, rate)).transpose()
}

/// Reads two files side by side. Gives up if too many rows differ or are at other places, and at a flawed record: another
/// comparison finds the first one.
pub(super) fn read(rows: &SetOperation<'_>, filter: &Plan) -> Result<Read, Error> {
    use Error::{Json, LongLine, NoField, Quote};
    let SetOperation { inputs, options, budget, .. } = *rows;
    let (progress, disk) = (&options.resources.progress, Disk::new(&options.resources.tmp));
    let scanner = rows.scanner(LineHasher::random())?;
    scanner.check_headers(inputs)?;
    let (mut passes, spare) = (Passes::new(inputs), budget.long_line());
    let pair = Pair::new(filter, &scanner, &disk)?;
    let work = || (&pair, ByShard::new(pair.shards.len()));
    let visit = Visit { abreast: true, ordered: false, ..Visit::new(spare, work) };
    let before = progress.done();
    progress.expect(lengths(inputs));
    let tallies = scanner.scan(inputs, 0..2, &visit);
    drop(visit);
    let of_record =
        matches!(tallies, Err(Quote { .. } | Json { .. } | NoField { .. } | LongLine { .. }));
    if of_record || pair.given_up.load(Ordering::Relaxed) {
        let read = progress.done() - before;
        progress.give_up(lengths(inputs) - read);
        passes.report.bytes_read = read;
        passes.report.disk(&disk);
        return Ok(Err(passes.report));
    }
    passes.record(inputs, 0..2, &tallies?)?;
    scanner.check_keyed(inputs, &passes.tallies)?;
    let again = pair.again.into_inner().expect("no worker panics");
    let mut remaining = pair.remaining.into_inner().expect("no worker panics");
    if !again.is_empty() {
        progress.expect(lengths(inputs));
        let pick = |lines: &Lines<'_>, keep: &mut [bool]| {
            again.contains_all(lines.hashes(), keep);
            Ok(())
        };
        let push = |lines: &Lines<'_>| {
            (0..lines.len()).try_for_each(|i| keep(&mut remaining, lines.place(i), lines.row(i)))
        };
        let tallies = scanner.scan(inputs, 0..2, &Visit::of_some(spare, pick, push))?;
        passes.record(inputs, 0..2, &tallies)?;
    }
    let spool = |input: &Input| spool(input.name(), input, &scanner, options);
    let (mut old, mut new) = (spool(&inputs[0])?, spool(&inputs[1])?);
    let (mut last, mut of_old) = (None, 0);
    remaining.finish(|Selected { count: place, row, .. }| {
        // Both passes may keep a row.
        if last.replace(place) == Some(place) {
            return Ok(());
        }
        if place < inputs[0].length() {
            of_old += 1;
            old.row(row)
        } else {
            new.row(row)
        }
    })?;
    let mut remaining = [old.finish()?, new.finish()?];
    remaining[1].other = inputs[1].other;
    let even = passes.tallies[0].map_or(0, |tally| tally.lines) - of_old;
    passes.report.distinct = even;
    Ok(Ok(Remaining { inputs: remaining, even, report: passes.finish(inputs, &disk) }))
}

/// A temporary file for rows of `input`.
pub(super) fn spool(
    name: &str,
    input: &Input,
    scanner: &Scanner<'_>,
    options: &Options,
) -> Result<SpoolWriter, Error> {
    let mut rows = SpoolWriter::new(name, options)?;
    // Its own header: only one may have an ignored column, and the key may be another column of each.
    let header = scanner.header(slice::from_ref(input))?;
    header.iter().try_for_each(|row| rows.row(row))?;
    Ok(rows)
}

/// Adds a row to those remaining, which are sorted by place.
fn keep(remaining: &mut Sorting, place: u64, row: &[u8]) -> Result<(), Error> {
    remaining.push(&place.to_be_bytes(), Selected { place, count: place, row })
}

/// Two files that are read side by side.
struct Pair<'a> {
    shards: Vec<Mutex<Shard>>,
    /// Rows to read again.
    again: Mutex<Blocked>,
    remaining: Mutex<Sorting>,
    hasher: &'a LineHasher,
    given_up: AtomicBool,
}

/// Some of the rows, by their hash.
struct Shard {
    /// Rows that are even or remain.
    seen: Blocked,
    new: Vec<bool>,
    /// The number of rows read, and of those that are not even.
    count: u64,
    uneven: u64,
}

impl<'a> Pair<'a> {
    fn new(filter: &Plan, scanner: &'a Scanner<'_>, disk: &Disk) -> Result<Self, Error> {
        // Two for each thread: hardly any waits for another.
        let count = (2 * scanner.budget.threads as u64).next_power_of_two();
        let part = shard_of(filter, count)?;
        let shard = |_| {
            let seen = of_hashes(&part)?;
            Ok(Mutex::new(Shard { seen, new: Vec::new(), count: 0, uneven: 0 }))
        };
        let again = Plan::for_keys(Kind::Blocked, filter.keys() / 16 + 1024, 0.01)?;
        Ok(Self {
            shards: (0..count).map(shard).collect::<Result<_, Error>>()?,
            again: Mutex::new(of_hashes(&again)?),
            remaining: Mutex::new(Sorting::new(u64::MAX, scanner.budget.rest / 4, disk)),
            hasher: &scanner.hasher,
            given_up: AtomicBool::new(false),
        })
    }
}

impl Work for (&Pair<'_>, ByShard) {
    fn batch(&mut self, lines: &Lines<'_>, _: &mut [bool]) -> Result<(), Error> {
        let (pair, shards) = self;
        for (i, &hash) in lines.hashes().iter().enumerate() {
            let number = if lines.is_in_twin(i, pair.hasher) { IN_BOTH } else { i };
            shards.push(index(hash, pair.shards.len()), number, hash);
        }
        lock_each(&pair.shards, &mut shards.0, Few::is_empty, lock, |mut shard, few| {
            let Shard { seen, new, count, uneven } = &mut *shard;
            new.resize(few.hashes.len(), false);
            seen.insert_all_new(&few.hashes, new);
            for ((&i, &hash), &new) in few.numbers.iter().zip(&few.hashes).zip(&*new) {
                *count += 1;
                if !new {
                    pair.again.lock().expect("no worker panics").insert(hash);
                }
                if i != IN_BOTH {
                    let mut remaining = pair.remaining.lock().expect("no worker panics");
                    keep(&mut remaining, lines.place(i), lines.row(i))?;
                }
                *uneven += u64::from(!new || i != IN_BOTH);
            }
            few.clear();
            if uneven.saturating_sub(FIRST / pair.shards.len() as u64) * MOST > *count {
                pair.given_up.store(true, Ordering::Relaxed);
            }
            Ok(())
        })?;
        // Ends the scan; the caller sees why.
        if pair.given_up.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::Change;
    use crate::operation::Diff;
    use crate::testing::{cramped, workplace_with};

    /// An old and a new file: rows that are kept, and at some places one that is removed, added, changed, repeated or moved far.
    fn versions(rows: u32, edits: &BTreeMap<u32, u8>) -> [Vec<Vec<u8>>; 2] {
        let text =
            |i: u32| format!("{}\tvalue {}", i % 1000 * 7919 % 1000 + i / 1000 * 1000, i * i);
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for i in 0..rows {
            let row = text(i).into_bytes();
            let long = row.repeat(40);
            let other = [&row[..], b" new"].concat();
            let (was, is) = match edits.get(&i) {
                None => (vec![row.clone()], vec![row]),
                Some(0) => (vec![row], vec![]),
                Some(1) => (vec![], vec![row]),
                Some(2) => (vec![row], vec![other]),
                Some(3) => (vec![row.clone(), row.clone()], vec![row.clone(), row]),
                Some(4) => (vec![row.clone()], vec![row.clone(), row]),
                Some(5) => (vec![row.clone()], vec![row, text(i / 2).into_bytes()]),
                Some(6) => (vec![row.clone()], vec![[b"1", &row[..]].concat()]),
                Some(7) => (vec![row.clone(), row], vec![]),
                Some(_) => (vec![long.clone()], vec![long]),
            };
            old.extend(was);
            new.extend(is);
        }
        if let Some((&first, _)) = edits.first_key_value()
            && old.contains(&text(first).into_bytes())
        {
            let row = text(first).into_bytes();
            new.retain(|other| *other != row);
            new.push(row);
        }
        old.push(b"2000000\tend".to_vec());
        new.push(b"2000000\tend, not of the old file".to_vec());
        [old, new]
    }

    fn shown(diff: &Diff<'_>, remaining: Read) -> (Vec<(Change, Vec<u8>)>, Report) {
        let mut shown = Vec::new();
        let report = diff.run_after(remaining, &mut |change, row| {
            shown.push((change, row.to_vec()));
            Ok(())
        });
        shown.retain(|(change, _)| *change != Change::Kept(0));
        (shown, report.unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

        #[test]
        fn rows_left_differ_as_all_rows_do(
            rows in 2000..5000u32,
            edits in vec((0..5000u32, 0..9u8), 0..100),
            (threads, bits) in (1..4usize, 1..30u64),
            keyed in any::<bool>(),
        ) {
            let sides = versions(rows, &edits.into_iter().collect());
            let mut files = sides.each_ref().map(|side| side.iter().flat_map(|row| [row, &b"\n"[..]].concat()).collect::<Vec<_>>());
            files[0].pop();
            let (_dir, inputs, mut options) = workplace_with(&files, b'\n');
            if keyed {
                let key = vec!["1".to_owned()];
                options.form.records = crate::Records::Tsv { delimiter: b'\t', header: false, key };
            }
            let mut diff = Diff::new(&inputs, &options).unwrap();
            diff.rows.budget = Budget { chunk: 256, rest: 90_000, ..cramped(threads) };
            prop_assert!(matches!(diff.plan().unwrap().steps, crate::Steps::SideBySide(_)));
            // With few bits, many rows are read again.
            let filter = Plan::for_memory(Kind::Blocked, u64::from(rows), u64::from(rows) * bits / 8 + 64).unwrap();
            let remaining = read(&diff.rows, &filter).unwrap();
            if bits > 15 {
                let few = sides.iter().map(Vec::len).sum::<usize>() as u64 / 3;
                prop_assert!(remaining.as_ref().is_ok_and(|remaining| remaining.even > few), "{:?} of {few}", remaining.as_ref().map(|remaining| remaining.even).ok());
            }
            let whole = SetOperation::within(diff.rows.budget, &inputs, diff.rows.rule, &options);
            let whole = Diff { rows: whole, paired: false };
            let ((some, report), (all, expected)) = (shown(&diff, remaining), shown(&whole, Err(Report::default())));
            prop_assert_eq!(some, all);
            prop_assert_eq!(report.changes, expected.changes);
            prop_assert_eq!((report.lines, report.distinct), (expected.lines, expected.distinct));
        }
    }
}
