//! The differences of two inputs, as marked text or as one file for each kind.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use umbel_io::atomic::{self, Existing};
use umbel_io::compression::check_result_name;

use super::cells::run_within;
use crate::sink::{RowStyle, Sink};
use crate::{Change, Diff, Error, Report};

pub use super::cells::{Tolerances, write_cells};

/// Files for some of the differences; the others are not written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'a> {
    /// Rows only in the new input, and changed rows as they are in it, unless these have a file of their own.
    pub added: Option<&'a Path>,
    /// Changed rows as they are in the new input.
    pub changed: Option<&'a Path>,
    /// Rows only in the old input, and the old versions of changed rows.
    pub removed: Option<&'a Path>,
    /// Rows in both.
    pub kept: Option<&'a Path>,
}

impl Files<'_> {
    /// Whether no file is named.
    pub fn is_empty(&self) -> bool {
        self.named().next().is_none()
    }

    fn all(&self) -> [Option<&Path>; 4] {
        [self.added, self.changed, self.removed, self.kept]
    }

    fn named(&self) -> impl Iterator<Item = &Path> {
        self.all().into_iter().flatten()
    }

    /// Refuses files that cannot be created, and a file named twice, before any work.
    pub fn check(&self) -> Result<()> {
        for (i, path) in self.named().enumerate() {
            atomic::check_target(path, Existing::Replace)?;
            check_result_name(path)?;
            if path == Path::new("-") {
                bail!(
                    "-: this option writes to a file; name one, or omit the option to print all differences with marks"
                );
            }
            if self.named().take(i).any(|other| atomic::is_same_path(other, path)) {
                bail!("{}: is named for two outputs; give each its own file", path.display());
            }
        }
        Ok(())
    }

    /// Runs the job and writes the files, each of which appears whole or not at all.
    pub fn write(&self, job: &Diff<'_>, tolerances: &Tolerances) -> Result<Report> {
        let end = [job.rows.options.form.records.end()];
        into_all(&self.all(), Vec::new(), |mut outs| {
            let mut bytes = 0;
            let mut write = |file: usize, row: &[u8]| {
                let Some(out) = &mut outs[file] else { return Ok(()) };
                bytes += row.len() as u64 + 1;
                out.write_all(row).and_then(|()| out.write_all(&end)).map_err(Error::Output)
            };
            if let Some(header) = &job.rows.header()? {
                (0..4).try_for_each(|file| write(file, header))?;
            }
            let [added, changed, removed, kept] = [0, 1, 2, 3];
            let mut report = run_within(job, tolerances, &mut |change, row| match change {
                Change::Changed if self.changed.is_some() => write(changed, row),
                Change::Added | Change::Changed => write(added, row),
                Change::Removed | Change::Replaced => write(removed, row),
                Change::Kept(_) => write(kept, row),
            })?;
            report.bytes_written = bytes;
            Ok(report)
        })
    }
}

/// Files to write to, or `None` for those that are not written.
type Outs<'a> = Vec<Option<&'a mut (dyn Write + Send + 'a)>>;

/// Lets `work` write to the files at some paths, after those in `outs`.
fn into_all<T>(
    paths: &[Option<&Path>],
    mut outs: Outs<'_>,
    work: impl FnOnce(Outs<'_>) -> Result<T>,
) -> Result<T> {
    let Some((path, rest)) = paths.split_first() else { return work(outs) };
    let Some(path) = path else {
        outs.push(None);
        return into_all(rest, outs, work);
    };
    atomic::replace(path, |out| {
        let mut all: Outs<'_> = outs.into_iter().map(|out| out.map(|out| out as _)).collect();
        all.push(Some(out));
        into_all(rest, all, work)
    })
}

/// How the rows that only one input has are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// As they are, after the header: a file of its own.
    None,
    /// With `- ` in front of removed rows, `+ ` of added and `~ ` of changed ones, as the new input has them.
    InFront,
    /// The same as a column named `change`, under the header; with JSON lines, as `{"change":"~","record":…}`.
    Column,
}

/// Further rows to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Also {
    /// The old version of changed ones, with the mark `<`.
    pub old: bool,
    /// Rows of both inputs that one has more often, with how much more often the new one has them: `+2` or `-1`.
    pub uneven: bool,
}

/// Runs the job and writes the rows that only one input has, and others if wanted. Tolerances need [pairs](Diff::paired).
///
/// # Errors
/// As for [`Diff::run`]; [`Error::UnknownField`] for a tolerance.
pub fn write(
    job: &Diff<'_>,
    marks: Marks,
    also: Also,
    tolerances: &Tolerances,
    out: &mut (dyn Write + Send),
) -> Result<Report, Error> {
    let records = &job.rows.options.form.records;
    let style = match marks {
        Marks::None => RowStyle::Rows,
        Marks::InFront => RowStyle::Behind("", Some(b' ')),
        Marks::Column => RowStyle::Behind("change", records.column()),
    };
    let mut sink = Sink::new(out, records.end()).with_style(style);
    if marks != Marks::InFront {
        sink.header(job.rows.header()?.as_deref())?;
    }
    let in_json = marks == Marks::Column && records.column().is_none();
    let mut put = |mark: &str, row: &[u8]| match in_json {
        true => sink.row(format!("\"{mark}\"").as_bytes(), row),
        false => sink.row(mark.as_bytes(), row),
    };
    let mut report = run_within(job, tolerances, &mut |change, row| match change {
        Change::Removed => put("-", row),
        Change::Added => put("+", row),
        Change::Changed => put("~", row),
        Change::Replaced if also.old => put("<", row),
        Change::Kept(times) if also.uneven && times != 0 => put(&format!("{times:+}"), row),
        Change::Replaced | Change::Kept(_) => Ok(()),
    })?;
    report.bytes_written = sink.bytes;
    sink.flush()?;
    Ok(report)
}
