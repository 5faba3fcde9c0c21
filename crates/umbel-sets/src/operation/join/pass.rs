//! Step 3 with all lists in memory: joins the left rows, in their order.

use std::collections::HashMap;

use super::Joining;
use crate::operation::prelude::*;
use crate::records::empty;
use crate::spill::part_of;

/// Bytes of output written together.
pub(super) const PIECE: usize = 64 << 10;

/// Lists in tables, by the parts of their hashes.
pub(super) struct Lists<'a> {
    tables: &'a [Table],
    /// The lengths of long ones.
    lengths: Mutex<HashMap<At, u64>>,
}

impl<'a> Lists<'a> {
    pub(super) fn of(tables: &'a [Table]) -> Self {
        Self { tables, lengths: Mutex::default() }
    }

    fn table(&self, hash: KeyHash) -> &Table {
        &self.tables[part_of(hash, 0, self.tables.len())]
    }

    pub(super) fn find(&self, hash: KeyHash, key: &[u8]) -> Option<At> {
        let part = part_of(hash, 0, self.tables.len());
        Some((part, self.tables[part].find(hash, key)?))
    }

    pub(super) fn get(&self, (part, unit): At) -> impl Iterator<Item = Record<'a>> {
        self.tables[part].list(unit)
    }

    /// The length of a list; a long one is counted only once.
    fn length(&self, at: At) -> u64 {
        const SHORT: usize = 64;
        let some = self.get(at).take(SHORT + 1).count();
        if some <= SHORT {
            return some as u64;
        }
        let mut lengths = self.lengths.lock().expect("no worker panics");
        *lengths.entry(at).or_insert_with(|| self.get(at).count() as u64)
    }
}

impl Joining<'_> {
    /// Appends the joined rows of the left row at a place, and returns their number; `None`, and no rows, if `text`
    /// would exceed `most` bytes. If they are only counted, checks the row.
    pub(super) fn listed(
        &self,
        (place, left): (u64, &[u8]),
        lists: &Lists<'_>,
        at: At,
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
            return Ok(Some(lists.length(at)));
        }
        for record in lists.get(at) {
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
    /// Whether another batch like the last one has no room.
    full: bool,
    /// Rows of the left input with a partner.
    matched: u64,
}

impl Pass<'_, '_> {
    pub(super) fn visit(&self, spare: u64) -> Visit<'_> {
        let rows = || Rows { text: Vec::with_capacity(self.most()), ..Rows::default() };
        Visit::new(spare, move || (self, rows()))
    }

    /// Bytes of the text of a worker. The results of a usual chunk fit: a worker that hands some on before has to wait for
    /// all chunks before its own. No filter is filled meanwhile, and the hashes for one leave their room.
    fn most(&self) -> usize {
        let Budget { chunk, bucketed, .. } = self.joining.scanner.budget;
        chunk / 2 + size_of::<KeyHash>() * bucketed
    }

    fn find(&self, lines: &Lines<'_>, i: usize) -> Option<At> {
        self.lists.find(lines.hashes()[i], lines.key(i))
    }

    /// Appends the joined rows of a row, unless the text lacks room: only one thread at a time holds a long one.
    fn row(
        &self,
        lines: &Lines<'_>,
        i: usize,
        Rows { text, matched, .. }: &mut Rows,
    ) -> Result<Option<u64>, Error> {
        let (joining, most) = (self.joining, self.most());
        let (place, row) = (lines.place(i), lines.row(i));
        match self.find(lines, i) {
            None if !joining.keeps_left() => Ok(Some(0)),
            None if text.len() + row.len() > most => Ok(None),
            None => joining.left(place, row, text).map(|()| Some(1)),
            Some(at) if joining.refuses(&self.lists, at) => Ok(None),
            Some(at) => {
                *matched += 1;
                joining.listed((place, row), &self.lists, at, most, text)
            }
        }
    }

    /// Writes the joined rows for which a worker had no room.
    fn write(&self, lines: &Lines<'_>, i: usize, sink: &mut Sink<'_>) -> Result<(), Error> {
        let (joining, mut text) = (self.joining, Vec::new());
        let (place, row) = (lines.place(i), lines.row(i));
        match self.find(lines, i) {
            Some(at) if joining.refuses(&self.lists, at) => {
                Err(joining.join.repeated(lines.key(i)))
            }
            Some(at) if !joining.join.total => joining.long((place, row), sink, |put| {
                self.lists.get(at).try_for_each(|record| put(record.row))
            }),
            found => {
                joining.left(place, row, &mut text)?;
                joining.join.put(&text, found.map_or(1, |at| self.lists.length(at)), sink)
            }
        }
    }
}

impl Work for (&Pass<'_, '_>, Rows) {
    fn is_full(&self) -> bool {
        self.1.full
    }

    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let (pass, local) = self;
        let before = local.text.len();
        for (i, keep) in keep.iter_mut().enumerate() {
            Table::warm_from(lines.hashes(), i, |hash| pass.lists.table(hash));
            let count = pass.row(lines, i, local)?;
            *keep = count != Some(0);
            if *keep {
                local.rows.push((local.text.len(), count));
            }
        }
        local.full = 2 * local.text.len() - before > pass.most();
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
        local.full = false;
        empty(&mut local.text, pass.most());
        Ok(())
    }
}
