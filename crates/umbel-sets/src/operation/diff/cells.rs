//! The cells of two versions of a row.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use super::{Change, Diff, Show};
use crate::operation::prelude::*;
use crate::records::{Flaw, Format, Kind, Value, canonical, members, number, unknown_field};

/// How far numbers in some columns may be from each other and still be equal.
pub type Tolerances = [(String, f64)];

/// The cells of rows under one header.
struct Cells<'t> {
    format: Format,
    /// The names of the columns; none without a header, nor for JSON.
    names: Vec<Vec<u8>>,
    /// The ignored columns of either input: only one may have them.
    ignored: [Vec<usize>; 2],
    key: Vec<String>,
    tolerances: &'t Tolerances,
}

/// The name of a cell, and its value in two rows.
type Cell<'c> = (&'c [u8], &'c [u8], &'c [u8]);

impl<'t> Cells<'t> {
    /// The cells of a job's rows; [`Error::UnknownField`] for a tolerance of an unknown column.
    fn new(job: &Diff<'_>, tolerances: &'t Tolerances) -> Result<Self, Error> {
        let form = &job.rows.options.form;
        let (format, name) = (Format::new(form)?, job.rows.inputs[0].name());
        let header = job.rows.header()?;
        let names = header.map_or(Ok(Vec::new()), |header| format.names(name, &header))?;
        let scanner = job.rows.scanner(LineHasher::random())?;
        let ignored =
            |i: usize| Ok::<_, Error>(scanner.head(&job.rows.inputs[i].open()?)?.0.ignored);
        let ignored = [ignored(0)?, ignored(1)?];
        let key = form.records.key().to_vec();
        let cells = Self { format, names, ignored, key, tolerances };
        let (count, header) = (cells.names.len(), cells.format.header);
        let lacks = |name: &str| cells.column(name).is_none_or(|at| header && at >= count);
        let known = cells.format.kind == Kind::Json || header && count == 0;
        let unknown = tolerances.iter().find(|(name, _)| !known && lacks(name));
        match unknown {
            None => Ok(cells),
            Some((field, _)) => Err(unknown_field(name, field, &cells.names, count)),
        }
    }

    /// The column of a name, or number.
    fn column(&self, name: &str) -> Option<usize> {
        let named = self.names.iter().position(|own| own == name.as_bytes());
        named.or_else(|| number(name))
    }

    /// The values of a row of columns, without those of `ignored` ones.
    fn values(&self, row: &[u8], ignored: &[usize]) -> Result<Vec<Vec<u8>>, Flaw> {
        let mut values = Vec::new();
        let copy = |column, value: Value| {
            if !ignored.contains(&column) {
                let mut copied = Vec::new();
                value.copy(row, &mut copied)?;
                values.push(copied);
            }
            Ok(())
        };
        self.format.kind.each(row, copy)?;
        Ok(values)
    }

    /// Passes on the cells that differ by more than the tolerances; of JSON, the members as they are written.
    fn each(
        &self,
        old: &[u8],
        new: &[u8],
        each: &mut dyn FnMut(Cell<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let normalization = self.format.normalization;
        if self.format.kind == Kind::Json {
            let read =
                |row| -> BTreeMap<_, _> { members(row).unwrap_or_default().into_iter().collect() };
            let (old, new) = (read(old), read(new));
            let names: BTreeSet<_> = new.keys().chain(old.keys()).collect();
            for name in names {
                let [old, new] = [&old, &new]
                    .map(|row| row.get(name).map_or(&[][..], |value| value.get().as_bytes()));
                if canonical(old, normalization) != canonical(new, normalization)
                    && !self.are_close(name.as_bytes(), old, new)
                {
                    each((name.as_bytes(), old, new))?;
                }
            }
            return Ok(());
        }
        let values = |row, side: usize| self.values(row, &self.ignored[side]).unwrap_or_default();
        let (old, new) = (values(old, 0), values(new, 1));
        let columns = (0..).filter(|column| !self.ignored[0].contains(column));
        for (i, column) in (0..old.len().max(new.len())).zip(columns) {
            // A row that lacks its last fields differs from one where they are empty.
            let [old, new] = [old.get(i), new.get(i)];
            let normal = |value: Option<&Vec<u8>>| {
                let mut value = value?.clone();
                normalization.apply(&mut value, 0);
                Some(value)
            };
            if normal(old) == normal(new) {
                continue;
            }
            let number = (column + 1).to_string();
            let [old, new] = [old, new].map(|value| value.map_or(&[][..], Vec::as_slice));
            let name = self.names.get(column).map_or(number.as_bytes(), |name| name);
            if !self.are_close(name, old, new) {
                each((name, old, new))?;
            }
        }
        Ok(())
    }

    /// Whether two values of a cell are numbers within its tolerance.
    fn are_close(&self, name: &[u8], old: &[u8], new: &[u8]) -> bool {
        let named = |at: usize| self.names.get(at).is_some_and(|own| own == name);
        let is_of =
            |column: &str| column.as_bytes() == name || self.column(column).is_some_and(named);
        let mut tolerances = self.tolerances.iter().filter(|(column, _)| is_of(column));
        tolerances.any(|(_, most)| self.format.normalization.are_within(*most, old, new))
    }

    /// Whether no cell differs by more than its tolerance.
    fn are_same(&self, old: &[u8], new: &[u8]) -> bool {
        let mut same = true;
        let compared = self.each(old, new, &mut |_| {
            same = false;
            Ok(())
        });
        same && compared.is_ok()
    }

    /// The values of the key of an old row, for a line of columns or an object.
    fn key_of(&self, row: &[u8]) -> Vec<Vec<u8>> {
        if self.format.kind == Kind::Json {
            return self.format.json_key(row);
        }
        let values = self.values(row, &[]).unwrap_or_default();
        let value = |name: &String| values.get(self.column(name)?).cloned();
        self.key.iter().map(|name| value(name).unwrap_or_default()).collect()
    }
}

/// Bytes of replaced rows in memory, to be compared with a changed one of their key; more go to a temporary file.
const MOST_HELD: usize = 1 << 20;

/// Runs the job, and counts a changed row as kept if its cells differ by no more than the tolerances. These need
/// [pairs](Diff::paired).
pub(super) fn run_within(
    job: &Diff<'_>,
    tolerances: &Tolerances,
    show: &mut Show<'_>,
) -> Result<Report, Error> {
    if tolerances.is_empty() {
        return job.run(show);
    }
    let cells = Cells::new(job, tolerances)?;
    let disk = Disk::new(&job.rows.options.resources.tmp);
    let (mut held, mut bytes, mut rest) = (Vec::<Vec<u8>>::new(), 0, None);
    let (mut close, mut removed) = (0, 0);
    let mut report = job.run(&mut |change, row| {
        if change == Change::Replaced {
            bytes += row.len() + size_of::<Vec<u8>>();
            if bytes <= MOST_HELD {
                held.push(row.to_vec());
                return Ok(());
            }
            let rest = rest.get_or_insert_with(|| Sorting::new(u64::MAX, MOST_HELD as u64, &disk));
            // The bytes so far only grow, so they keep the order.
            return rest.push(&bytes.to_be_bytes(), Selected { place: 0, count: 0, row });
        }
        let same = held.iter().position(|old| cells.are_same(old, row));
        let same = same.filter(|_| change == Change::Changed);
        let mut others = Change::Replaced;
        if let Some(same) = same {
            held.remove(same);
            (close, others) = (close + 1, Change::Removed);
        }
        let mut show_other = |old: &[u8]| {
            removed += u64::from(others == Change::Removed);
            show(others, old)
        };
        held.drain(..).try_for_each(|old| show_other(&old))?;
        bytes = 0;
        if let Some(rest) = rest.take() {
            rest.finish(|old| show_other(old.row))?;
        }
        show(if same.is_some() { Change::Kept(0) } else { change }, row)
    })?;
    report.disk(&disk);
    if let Some(changes) = &mut report.changes {
        changes.changed -= close;
        changes.kept += close;
        changes.removed += removed;
        report.found = changes.different();
    }
    Ok(report)
}

/// Runs the job and writes a row for each changed cell: the key, the column, the old and the new value; with JSON, an object.
/// Rows that are only added or removed are counted; of rows that share a key, the first of both are compared, then the
/// second, and so on. It needs [pairs](Diff::paired).
///
/// # Errors
/// As for [`Diff::run`]; [`Error::UnknownField`] for a tolerance.
pub fn write_cells(
    job: &Diff<'_>,
    tolerances: &Tolerances,
    out: &mut (dyn Write + Send),
) -> Result<Report, Error> {
    let cells = Cells::new(job, tolerances)?;
    let kind = cells.format.kind;
    let mut sink = Sink::new(out, kind.end());
    let row = |values: &[&[u8]]| {
        let mut row = Vec::new();
        values.iter().enumerate().for_each(|(i, value)| kind.push(i, value, &mut row));
        row
    };
    let ends: [&[u8]; 3] = [b"column", b"old", b"new"];
    if cells.format.header {
        let key = cells.key.iter().map(String::as_bytes);
        sink.header(Some(&row(&key.chain(ends).collect::<Vec<_>>())))?;
    }
    // The old row to compare with comes first of its key. A new row that has none left counts as added.
    let (mut old, mut surplus) = (None, 0);
    let mut report = run_within(job, tolerances, &mut |change, new| match change {
        Change::Replaced => {
            old.get_or_insert_with(|| new.to_vec());
            Ok(())
        }
        Change::Changed => {
            let Some(old) = old.take() else {
                surplus += 1;
                return Ok(());
            };
            let key = cells.key_of(&old);
            cells.each(&old, new, &mut |cell| {
                let (name, old, new) = cell;
                let values = key.iter().map(|value| &value[..]).chain([name, old, new]);
                let cell = match kind {
                    Kind::Json => object(&cells.key, &key, cell),
                    _ => row(&values.collect::<Vec<_>>()),
                };
                sink.row(b"", &cell)
            })
        }
        _ => Ok(()),
    })?;
    if let Some(changes) = &mut report.changes {
        changes.changed -= surplus;
        changes.added += surplus;
    }
    report.bytes_written = sink.bytes;
    sink.flush()?;
    Ok(report)
}

/// A changed member as an object, without a value that a version lacks.
fn object(names: &[String], key: &[Vec<u8>], (name, old, new): Cell<'_>) -> Vec<u8> {
    let text = |text: &str| serde_json::Value::from(text).to_string().into_bytes();
    let keys = names.iter().zip(key).map(|(name, value)| (text(name), value.clone()));
    let column = text(&String::from_utf8_lossy(name));
    let ends = [("column", column), ("old", old.to_vec()), ("new", new.to_vec())];
    let ends = ends.into_iter().filter(|(_, value)| !value.is_empty());
    let members = keys.chain(ends.map(|(name, value)| (text(name), value)));
    let members: Vec<_> = members.map(|(name, value)| [&name[..], b":", &value].concat()).collect();
    [b"{", &members.join(&b","[..])[..], b"}"].concat()
}
