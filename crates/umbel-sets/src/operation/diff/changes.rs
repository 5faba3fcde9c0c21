//! The differences of two inputs, as text with marks or as one file for each kind.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use umbel_io::PageWriter;
use umbel_io::atomic::{self, Existing};
use umbel_io::compression::check_result_name;

use crate::{Change, Diff, Error, Report};

/// Files for some of the differences; nothing is written where none is named.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'a> {
    /// Rows only in the new input, and changed rows as they are in it.
    pub added: Option<&'a Path>,
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

    fn named(&self) -> impl Iterator<Item = &Path> {
        [self.added, self.removed, self.kept].into_iter().flatten()
    }

    /// Refuses files that cannot be created, and one that is named twice: before the work, not after it.
    pub fn check(&self) -> Result<()> {
        for (i, path) in self.named().enumerate() {
            atomic::check_target(path, Existing::Replace)?;
            check_result_name(path)?;
            if path == Path::new("-") {
                bail!(
                    "-: one kind of differences goes to a file; name one, or omit the option to print all with marks"
                );
            }
            if self.named().take(i).any(|other| atomic::is_same_path(other, path)) {
                bail!("{}: is named for two outputs; give each its own file", path.display());
            }
        }
        Ok(())
    }

    /// Runs the job and writes the files, each of which appears whole or not at all.
    pub fn write(&self, job: &Diff<'_>) -> Result<Report> {
        let end = [job.rows.options.form.records.end()];
        into(self.added, |added| {
            into(self.removed, |removed| {
                into(self.kept, |kept| {
                    let mut bytes = 0;
                    let mut write = |out: Option<&mut Out<'_>>, row: &[u8]| {
                        let Some(out) = out else { return Ok(()) };
                        bytes += row.len() as u64 + 1;
                        out.write_all(row).and_then(|()| out.write_all(&end))
                    };
                    let (mut added, mut removed, mut kept) = (added, removed, kept);
                    if let Some(header) = &job.rows.header()? {
                        write(added.as_deref_mut(), header)?;
                        write(removed.as_deref_mut(), header)?;
                        write(kept.as_deref_mut(), header)?;
                    }
                    let mut report = job.run(&mut |change, row| match change {
                        Change::Added | Change::Changed => write(added.as_deref_mut(), row),
                        Change::Removed | Change::Replaced => write(removed.as_deref_mut(), row),
                        Change::Kept => write(kept.as_deref_mut(), row),
                    })?;
                    report.bytes_written = bytes;
                    Ok(report)
                })
            })
        })
    }
}

type Out<'a> = dyn Write + Send + 'a;

/// Lets `work` write to a file, or nowhere.
fn into<T>(path: Option<&Path>, work: impl FnOnce(Option<&mut Out<'_>>) -> Result<T>) -> Result<T> {
    match path {
        Some(path) => atomic::replace(path, |out| work(Some(out))),
        None => work(None),
    }
}

/// How the rows that only one input has are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// As they are, after the header: a file of its own.
    None,
    /// With `- ` in front of removed rows, `+ ` of added and `~ ` of changed ones, as the new input has them.
    New,
    /// As above, and with `< ` in front of the old version of changed rows, each before its new one.
    WithOld,
}

/// Runs the job and writes the rows that only one input has.
pub fn write(job: &Diff<'_>, marks: Marks, out: &mut (dyn Write + Send)) -> Result<Report, Error> {
    let mut out = PageWriter::new(1 << 18, out);
    let (mut bytes, end) = (0, [job.rows.options.form.records.end()]);
    let mut put = |mark: &[u8], row: &[u8]| {
        bytes += mark.len() as u64 + row.len() as u64 + 1;
        [mark, row, &end].iter().try_for_each(|part| out.write_all(part))
    };
    if let (Marks::None, Some(header)) = (marks, job.rows.header()?) {
        put(b"", &header).map_err(Error::Output)?;
    }
    let mut report = job.run(&mut |change, row| match (change, marks) {
        (Change::Kept, _) | (Change::Replaced, Marks::New) => Ok(()),
        (_, Marks::None) => put(b"", row),
        (Change::Removed, _) => put(b"- ", row),
        (Change::Added, _) => put(b"+ ", row),
        (Change::Changed, _) => put(b"~ ", row),
        (Change::Replaced, Marks::WithOld) => put(b"< ", row),
    })?;
    out.flush().map_err(Error::Output)?;
    report.bytes_written = bytes;
    Ok(report)
}
