//! The rows of each key together, to choose among them: sorted by key, value and place, through temporary files if they do not
//! fit in memory.
//!
//! A row that is not doubtful is alone with its key. The others are sorted by
//!
//! ```text
//! hash of the key, 16 bytes | length of the key, 8 bytes | the key | the value, if values decide
//! ```
//!
//! and equal ones stay in the order of their places. The hash comes first to make most comparisons short; the keys'
//! bytes distinguish equal hashes.

use super::prelude::*;
use crate::records::rank;
use crate::scan::RowKeys;
use crate::{Empty, Missing};

impl SetOperation<'_> {
    /// The options that read the column whose values decide, if there is one.
    pub(super) fn valued(&self) -> Option<Options> {
        let (Keep::Least(column) | Keep::Greatest(column)) = self.keep else { return None };
        let form = self.options.form.clone();
        let records = form.records.with_key(vec![column.to_owned()]);
        let (others, missing, empty) = (Vec::new(), Missing::Refuse, Empty::Value);
        let form = Form { records, others, missing, empty, ..form };
        Some(Options { form, ..self.options.clone() })
    }
}

impl Run<'_> {
    /// Writes the wanted rows of each key.
    pub(super) fn group(
        &mut self,
        operation: &SetOperation<'_>,
        filters: Option<&[Plan; 2]>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let (hasher, valued) = (LineHasher::random(), operation.valued());
        let scanner =
            valued.as_ref().map(|valued| Scanner::within(self.scanner.budget, valued, hasher));
        let scanner = scanner.transpose()?;
        scanner.iter().try_for_each(|scanner| scanner.check_headers(self.inputs))?;
        let header = self.scanner.header(self.inputs)?;
        let values = scanner.as_ref().map(|scanner| Values::new(scanner, header.as_deref()));
        let mut values = values.transpose()?;
        let doubt = filters.map(|filters| self.build(filters)?.1.fold()).transpose()?;
        sink.header(header.as_deref())?;
        let budget = self.scanner.budget;
        let memory = budget.table(doubt.as_ref().map_or(0, |doubt| doubt.plan().bytes())) / 4;
        // Bytes for the places of a key's rows while there may be too few of them.
        let least = self.rule.at_least.saturating_mul(8);
        if operation.keep == Keep::All && least > memory / 2 {
            return Err(budget.too_small(budget.rest.saturating_add(least.saturating_mul(8))));
        }
        let (mut sorting, mut text) = (Sorting::new(u64::MAX, 2 * memory, &self.disk), Vec::new());
        let doubtful = |lines: &Lines<'_>, keep: &mut [bool]| {
            keep.fill(true);
            doubt.iter().for_each(|doubt| doubt.contains_all(lines.hashes(), keep));
            Ok(())
        };
        let gather = |lines: &Lines<'_>| {
            (0..lines.len()).try_for_each(|i| {
                begin(lines.hashes()[i], lines.key(i), &mut text);
                values.iter_mut().for_each(|values| values.rank(lines, i, &mut text));
                sorting.push(&text, Selected { place: 0, count: lines.place(i), row: &text })
            })
        };
        // A long row is in memory up to four times: as read, in its key, and while the keys to sort grow and move.
        let visit = Visit::of_some(memory.max(budget.long_line()) / 4, doubtful, gather);
        let tallies = self.scanner.scan(self.inputs, 0..self.from, &visit)?;
        drop(visit);
        self.record(0..self.from, &tallies)?;
        if let Some(error) = values.and_then(Values::lack) {
            return Err(self.scanner.located(error, self.inputs));
        }
        let mut groups = Groups {
            rule: self.rule,
            keep: operation.keep,
            memory,
            begin: Vec::new(),
            best: Vec::new(),
            places: Vec::new(),
            count: 0,
            chosen: Vec::new(),
            runs: Runs::new(&self.disk, 1 << 18),
            groups: 0,
        };
        sorting.finish(|Selected { count: place, row, .. }| groups.add(row, place))?;
        groups.end()?;
        groups.spill()?;
        self.passes.report.distinct = groups.groups;
        let mut results = Results::Runs(groups.runs.merge(memory)?);
        self.write_by_place(doubt.as_ref(), 0, &mut results, sink)
    }
}

/// Reads the values that decide.
struct Values<'a> {
    keys: RowKeys<'a>,
    /// Whether a row has one, and the error of the first that has none.
    found: bool,
    lacks: Option<Error>,
}

impl<'a> Values<'a> {
    fn new(scanner: &'a Scanner<'_>, header: Option<&[u8]>) -> Result<Self, Error> {
        Ok(Self { keys: scanner.row_keys(header, false)?, found: false, lacks: None })
    }

    /// Appends the rank of the value of line `i`.
    fn rank(&mut self, lines: &Lines<'_>, i: usize, text: &mut Vec<u8>) {
        match self.keys.key(lines.row(i)) {
            Ok(value) => {
                self.found = true;
                rank(value.unwrap_or_default(), text);
            }
            Err(mut error) => {
                rank(b"", text);
                error.place().into_iter().for_each(|place| *place = lines.at(i));
                self.lacks.get_or_insert(error);
            }
        }
    }

    /// The error if every row lacks the value: otherwise a misspelled name would go unnoticed.
    fn lack(self) -> Option<Error> {
        match self.lacks.filter(|_| !self.found)? {
            Error::NoField { at, field, found, near } => {
                Some(Error::NowhereField { at, fields: 1, field, found, near })
            }
            other => Some(other),
        }
    }
}

/// Bytes before a key.
const BEFORE: usize = 24;

/// Writes the beginning shared by all rows of a key.
fn begin(hash: KeyHash, key: &[u8], text: &mut Vec<u8>) {
    text.clear();
    for part in [hash.high, hash.low, key.len() as u64] {
        text.extend_from_slice(&part.to_be_bytes());
    }
    text.extend_from_slice(key);
}

/// Chooses among the rows of each key, which come one after the other, ordered by their values.
struct Groups<'a> {
    rule: Rule,
    keep: Keep<'a>,
    /// Bytes for places.
    memory: u64,
    /// The beginning of the current key's rows, and the value of the best one so far.
    begin: Vec<u8>,
    best: Vec<u8>,
    /// The place of the best row; or the places of all rows, until there are enough.
    places: Vec<u64>,
    count: u64,
    /// Places and counts of chosen rows that are not in a run yet.
    chosen: Vec<(u64, u64)>,
    runs: Runs,
    groups: u64,
}

impl Groups<'_> {
    fn add(&mut self, row: &[u8], place: u64) -> Result<(), Error> {
        let length: [u8; 8] = row[16..BEFORE].try_into().expect("8 bytes");
        let (begin, value) = row.split_at(BEFORE + u64::from_be_bytes(length) as usize);
        if begin != self.begin {
            self.end()?;
            begin.clone_into(&mut self.begin);
        }
        self.count += 1;
        // Numbers beat texts, texts beat missing values, and they come in this order: another type is never better.
        let is_better = matches!(self.keep, Keep::Greatest(_))
            && value > &self.best[..]
            && value.first() == self.best.first();
        let (is_best, all) = (self.count == 1 || is_better, self.keep == Keep::All);
        if is_best {
            value.clone_into(&mut self.best);
            self.places.clear();
        }
        if is_best || (all && self.count <= self.rule.at_most) {
            self.places.push(place);
        }
        // Passes on all further rows immediately: a key may have any number.
        if all && self.count >= self.rule.at_least && self.rule.at_most == u64::MAX {
            self.choose(1)?;
        }
        Ok(())
    }

    /// Ends the rows of the current key.
    fn end(&mut self) -> Result<(), Error> {
        self.groups += u64::from(self.count > 0);
        if (self.rule.at_least..=self.rule.at_most).contains(&self.count) {
            self.choose(if self.keep == Keep::All { 1 } else { self.count })?;
        }
        self.places.clear();
        self.count = 0;
        Ok(())
    }

    /// Chooses the rows at the places found.
    fn choose(&mut self, count: u64) -> Result<(), Error> {
        self.chosen.extend(self.places.drain(..).map(|place| (place, count)));
        // A vector doubles.
        let size = 2 * size_of_val(&self.chosen[..]) as u64;
        if size > self.memory / 2 { self.spill() } else { Ok(()) }
    }

    /// Writes the chosen rows as a run of results.
    fn spill(&mut self) -> Result<(), Error> {
        self.chosen.sort_unstable();
        for (place, count) in self.chosen.drain(..) {
            self.runs.push(Selected { place, count, row: &[] })?;
        }
        self.runs.end();
        Ok(())
    }
}
