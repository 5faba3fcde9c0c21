//! The cells of two versions of a row.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde_json::value::RawValue;

use super::{Change, Diff};
use crate::error::Error;
use crate::records::{Flaw, Format, Kind, Normalization, Value, canonical, list, members, quote};
use crate::report::Report;

/// How far numbers in some columns may be from each other and still be equal.
pub type Tolerances = [(String, f64)];

/// The cells of rows under one header.
pub(super) struct Cells {
    format: Format,
    normalization: Normalization,
    /// The names of the columns, or their numbers; none for JSON.
    names: Vec<Vec<u8>>,
    ignored: Vec<usize>,
    pub(super) key: Vec<String>,
}

/// The name of a cell, and its value in two rows.
type Cell<'c> = (&'c [u8], &'c [u8], &'c [u8]);

impl Cells {
    pub(super) fn new(job: &Diff<'_>) -> Result<Self, Error> {
        let form = &job.rows.options.form;
        let (format, name) = (Format::new(form)?, job.rows.inputs[0].name());
        let mut names = Vec::new();
        if let Some(header) = job.rows.header()? {
            let read = format.each_name(&header, |name| names.push(name.to_vec()));
            read.map_err(|flaw| format.error(flaw, name, 0))?;
        }
        let key = form.records.key().to_vec();
        let mut cells =
            Self { format, normalization: form.normalization, names, ignored: Vec::new(), key };
        cells.ignored = form.ignored.iter().filter_map(|name| cells.column(name)).collect();
        Ok(cells)
    }

    /// The column of a name, or number.
    fn column(&self, name: &str) -> Option<usize> {
        let named = self.names.iter().position(|own| own == name.as_bytes());
        named.or_else(|| name.parse::<usize>().ok()?.checked_sub(1))
    }

    /// The values of a row of columns.
    fn values(&self, row: &[u8]) -> Result<Vec<Vec<u8>>, Flaw> {
        let mut values = Vec::new();
        let copy = |_, value: Value| {
            let mut copied = Vec::new();
            value.copy(row, &mut copied)?;
            values.push(copied);
            Ok(())
        };
        self.format.kind.each(row, copy)?;
        Ok(values)
    }

    /// Passes on the cells that differ; of JSON, the members as they are written.
    fn each(
        &self,
        old: &[u8],
        new: &[u8],
        each: &mut dyn FnMut(Cell<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.format.kind == Kind::Json {
            let read =
                |row| -> BTreeMap<_, _> { members(row).unwrap_or_default().into_iter().collect() };
            let (old, new) = (read(old), read(new));
            let value = |row: &BTreeMap<Cow<'_, str>, &RawValue>, name: &str| {
                row.get(name).map_or(Vec::new(), |value| value.get().as_bytes().to_vec())
            };
            let names: BTreeSet<_> = new.keys().chain(old.keys()).collect();
            for name in names {
                let (old, new) = (value(&old, name), value(&new, name));
                if canonical(&old) != canonical(&new) {
                    each((name.as_bytes(), &old, &new))?;
                }
            }
            return Ok(());
        }
        let [old, new] = [old, new].map(|row| self.values(row).unwrap_or_default());
        for column in 0..old.len().max(new.len()) {
            let value = |row: &[Vec<u8>]| row.get(column).cloned().unwrap_or_default();
            let normal = |row: &[Vec<u8>]| {
                let mut value = value(row);
                self.normalization.apply(&mut value, 0);
                value
            };
            if normal(&old) != normal(&new) && !self.ignored.contains(&column) {
                let number = (column + 1).to_string();
                let name = self.names.get(column).map_or(number.as_bytes(), |name| name);
                each((name, &value(&old), &value(&new)))?;
            }
        }
        Ok(())
    }

    /// Whether all cells that differ are numbers within a tolerance.
    fn are_close(&self, old: &[u8], new: &[u8], tolerances: &Tolerances) -> bool {
        let number = |text: &[u8]| str::from_utf8(text).ok()?.trim().parse::<f64>().ok();
        let mut close = true;
        let compared = self.each(old, new, &mut |(name, old, new)| {
            let tolerance = tolerances.iter().find(|(column, _)| {
                column.as_bytes() == name || self.column(column).and_then(|at| self.names.get(at)).is_some_and(|own| own == name)
            });
            close &= tolerance.is_some_and(|(_, most)| {
                matches!((number(old), number(new)), (Some(old), Some(new)) if (old - new).abs() <= *most)
            });
            Ok(())
        });
        close && compared.is_ok()
    }

    /// The values of the key of a row, for a line of columns or an object.
    fn key_of(&self, row: &[u8]) -> Vec<Vec<u8>> {
        if self.format.kind == Kind::Json {
            return self.format.json_key(row);
        }
        let values = self.values(row).unwrap_or_default();
        let value = |name: &String| values.get(self.column(name)?).cloned();
        self.key.iter().map(|name| value(name).unwrap_or_default()).collect()
    }
}

/// Runs the job, and takes a changed row for kept if its cells differ by no more than the tolerances. These need
/// [pairs](Diff::paired).
pub(super) fn run_within(
    job: &Diff<'_>,
    tolerances: &Tolerances,
    show: &mut (dyn FnMut(Change, &[u8]) -> io::Result<()> + Send),
) -> Result<Report, Error> {
    if tolerances.is_empty() {
        return job.run(show);
    }
    let (cells, mut held, mut close) = (Cells::new(job)?, Vec::<Vec<u8>>::new(), 0);
    let (columns, header) = (cells.names.len(), cells.format.header);
    let lacks = |name: &str| cells.column(name).is_none_or(|column| header && column >= columns);
    let is_json = cells.format.kind == Kind::Json;
    if let Some((field, _)) = tolerances.iter().find(|(name, _)| !is_json && lacks(name)) {
        let name = job.rows.inputs[0].name().to_owned();
        let found = list(cells.names.iter(), columns);
        return Err(Error::UnknownField { name, field: field.clone(), found, near: None });
    }
    let mut report = job.run(&mut |change, row| {
        if change == Change::Replaced {
            held.push(row.to_vec());
            return Ok(());
        }
        let is_close = change == Change::Changed
            && held.last().is_some_and(|old| cells.are_close(old, row, tolerances));
        if is_close {
            held.pop();
            close += 1;
        }
        held.drain(..).try_for_each(|old| show(Change::Replaced, &old))?;
        show(if is_close { Change::Kept } else { change }, row)
    })?;
    if let Some(changes) = &mut report.changes {
        changes.changed -= close;
        changes.kept += close;
        report.found = changes.different();
    }
    Ok(report)
}

/// Runs the job and writes a row for each changed cell: the key, the column, the old and the new value; with JSON, an object.
/// Rows that are only added or removed are counted. It needs [pairs](Diff::paired).
///
/// # Errors
/// As for [`Diff::run`]; [`Error::UnknownField`] for a tolerance.
pub fn write_cells(
    job: &Diff<'_>,
    tolerances: &Tolerances,
    out: &mut (dyn Write + Send),
) -> Result<Report, Error> {
    let cells = Cells::new(job)?;
    let (kind, mut bytes) = (cells.format.kind, 0);
    let mut put = |values: &[&[u8]]| {
        let mut row = Vec::new();
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                row.push(kind.delimiter());
            }
            let start = row.len();
            row.extend_from_slice(value);
            if matches!(kind, Kind::Csv(_)) {
                quote(&mut row, start, kind.delimiter());
            }
        }
        row.push(b'\n');
        bytes += row.len() as u64;
        out.write_all(&row)
    };
    let ends: [&[u8]; 3] = [b"column", b"old", b"new"];
    if cells.format.header {
        let key = cells.key.iter().map(String::as_bytes);
        put(&key.chain(ends).collect::<Vec<_>>()).map_err(Error::Output)?;
    }
    let mut old = Vec::new();
    let mut report = run_within(job, tolerances, &mut |change, row| match change {
        Change::Replaced => {
            row.clone_into(&mut old);
            Ok(())
        }
        Change::Changed => {
            let key = cells.key_of(row);
            cells.each(&old, row, &mut |(name, old, new)| {
                if kind == Kind::Json {
                    return put(&[&object(&cells.key, &key, (name, old, new))]);
                }
                put(&key.iter().map(|value| &value[..]).chain([name, old, new]).collect::<Vec<_>>())
            })
        }
        _ => Ok(()),
    })?;
    out.flush().map_err(Error::Output)?;
    report.bytes_written = bytes;
    Ok(report)
}

/// A changed member as an object, without the value that a version lacks.
fn object(names: &[String], key: &[Vec<u8>], (name, old, new): Cell<'_>) -> Vec<u8> {
    let text = |text: &str| serde_json::Value::from(text).to_string().into_bytes();
    let keys = names.iter().zip(key).map(|(name, value)| (text(name), value.clone()));
    let ends = [
        ("column", text(&String::from_utf8_lossy(name))),
        ("old", old.to_vec()),
        ("new", new.to_vec()),
    ];
    let ends = ends.into_iter().filter(|(_, value)| !value.is_empty());
    let members = keys.chain(ends.map(|(name, value)| (text(name), value)));
    let members: Vec<_> = members.map(|(name, value)| [&name[..], b":", &value].concat()).collect();
    [b"{", &members.join(&b","[..])[..], b"}"].concat()
}
