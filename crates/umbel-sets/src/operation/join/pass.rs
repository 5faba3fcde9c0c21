//! Step 3 with all lists in memory: joins the left rows, in their order.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::Joining;
use crate::operation::prelude::*;
use crate::records::empty;

/// Bytes of output written together.
pub(super) const PIECE: usize = 64 << 10;

/// Lists in a table.
pub(super) struct Lists<'a> {
    pub(super) table: &'a Table,
    /// The lengths of long ones, by their units.
    lengths: Mutex<HashMap<u64, u64>>,
}

impl<'a> Lists<'a> {
    pub(super) fn of(table: &'a Table) -> Self {
        Self { table, lengths: Mutex::default() }
    }

    /// The length of a list; a long one is counted only once.
    fn length(&self, unit: u64) -> u64 {
        const SHORT: usize = 64;
        let some = self.table.list(unit).take(SHORT + 1).count();
        if some <= SHORT {
            return some as u64;
        }
        let mut lengths = self.lengths.lock().expect("no worker panics");
        *lengths.entry(unit).or_insert_with(|| self.table.list(unit).count() as u64)
    }
}

impl Joining<'_> {
    /// Appends the joined rows of the left row at a place, and returns their number; `None`, and no rows, if `text`
    /// would exceed `most` bytes. If they are only counted, checks the row.
    pub(super) fn listed(
        &self,
        (place, left): (u64, &[u8]),
        lists: &Lists<'_>,
        unit: u64,
        most: usize,
        text: &mut Vec<u8>,
    ) -> Result<Option<u64>, Error> {
        let (start, mut count) = (text.len(), 0);
        if self.join.total {
            if start + left.len() > most {
                return Ok(None);
            }
            self.left(place, left, text)?;
            text.truncate(start);
            return Ok(Some(lists.length(unit)));
        }
        for record in lists.table.list(unit) {
            if text.len() + left.len() + record.row.len() > most {
                text.truncate(start);
                return Ok(None);
            }
            self.both(place, left, record.row, text)?;
            count += 1;
        }
        Ok(Some(count))
    }

    /// Writes the joined rows of the left row at a place, with all rows that `each` passes on, some at a time.
    pub(super) fn long(
        &self,
        (place, left): (u64, &[u8]),
        sink: &mut Sink<'_>,
        each: impl FnOnce(&mut Put<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut text, mut rows) = (Vec::new(), 0);
        each(&mut |added| {
            self.both(place, left, added, &mut text)?;
            rows += 1;
            if text.len() >= PIECE {
                sink.text(&text, std::mem::take(&mut rows))?;
                text.clear();
                self.scanner.progress.check()?;
            }
            Ok(())
        })?;
        sink.text(&text, rows)
    }
}

/// Receives the additions of right rows.
pub(super) type Put<'p> = dyn FnMut(&[u8]) -> Result<(), Error> + 'p;

/// Joins the rows of the left input with lists in memory.
pub(super) struct Pass<'a, 'o> {
    pub(super) joining: &'a Joining<'a>,
    pub(super) lists: Lists<'a>,
    pub(super) sink: Mutex<&'a mut Sink<'o>>,
}

/// Joined rows of a worker.
#[derive(Default)]
struct Rows {
    text: Vec<u8>,
    /// For each kept row, where its text ends, and how many rows it has; `None` if there was no room for it, or several
    /// partners are an error: then it is joined in its turn.
    rows: Vec<(usize, Option<u64>)>,
    /// Rows of the left input with a partner.
    matched: u64,
}

impl Pass<'_, '_> {
    pub(super) fn visit(&self, spare: u64) -> Visit<'_> {
        Visit::new(spare, move || (self, Rows::default()))
    }

    fn find(&self, lines: &Lines<'_>, i: usize) -> Option<u64> {
        self.lists.table.find(lines.hashes()[i], lines.key(i))
    }

    /// Appends the joined rows of a row, unless the text lacks room: only one thread at a time holds a long one.
    fn row(
        &self,
        lines: &Lines<'_>,
        i: usize,
        Rows { text, matched, .. }: &mut Rows,
    ) -> Result<Option<u64>, Error> {
        let (joining, most) = (self.joining, self.joining.scanner.budget.chunk / 2);
        let (place, row) = (lines.place(i), lines.row(i));
        match self.find(lines, i) {
            None if !joining.keeps_left() => Ok(Some(0)),
            None if text.len() + row.len() > most => Ok(None),
            None => joining.left(place, row, text).map(|()| Some(1)),
            Some(unit) if joining.refuses(&self.lists, unit) => Ok(None),
            Some(unit) => {
                *matched += 1;
                joining.listed((place, row), &self.lists, unit, most, text)
            }
        }
    }

    /// Writes the joined rows for which a worker had no room.
    fn write(&self, lines: &Lines<'_>, i: usize, sink: &mut Sink<'_>) -> Result<(), Error> {
        let (joining, mut text) = (self.joining, Vec::new());
        let (place, row) = (lines.place(i), lines.row(i));
        match self.find(lines, i) {
            Some(unit) if joining.refuses(&self.lists, unit) => {
                Err(joining.join.repeated(lines.key(i)))
            }
            Some(unit) if !joining.join.total => joining.long((place, row), sink, |put| {
                self.lists.table.list(unit).try_for_each(|record| put(record.row))
            }),
            found => {
                joining.left(place, row, &mut text)?;
                joining.join.put(&text, found.map_or(1, |unit| self.lists.length(unit)), sink)
            }
        }
    }
}

impl Work for (&Pass<'_, '_>, Rows) {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let (pass, local) = self;
        for (i, keep) in keep.iter_mut().enumerate() {
            pass.lists.table.warm_from(lines.hashes(), i);
            let count = pass.row(lines, i, local)?;
            *keep = count != Some(0);
            if *keep {
                local.rows.push((local.text.len(), count));
            }
        }
        Ok(())
    }

    fn kept(&mut self, lines: &Lines<'_>, _: &dyn Fn()) -> Result<(), Error> {
        let (pass, local) = self;
        let (join, mut sink) = (pass.joining.join, pass.sink.lock().expect("no worker panics"));
        let (mut start, mut before) = (0, 0);
        for (i, (end, count)) in local.rows.drain(..).enumerate() {
            before += count.unwrap_or(0);
            if count.is_none() {
                join.put(&local.text[start..end], std::mem::take(&mut before), &mut sink)?;
                start = end;
                pass.write(lines, i, &mut sink)?;
            }
        }
        join.put(&local.text[start..], before, &mut sink)?;
        pass.joining.matched.fetch_add(std::mem::take(&mut local.matched), Ordering::Relaxed);
        empty(&mut local.text, pass.joining.scanner.budget.chunk);
        Ok(())
    }
}
