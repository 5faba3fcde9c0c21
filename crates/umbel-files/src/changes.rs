//! The differences of two inputs, as text with marks or as a file for each kind of them.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, bail};
use umbel_sets::{Change, Diff, Error, PageWriter, Report};

use crate::atomic::{self, Existing};

/// Files for some of the differences; nothing is written where none is named.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'a> {
    /// Rows only in the new input, and those whose fields changed, as they are in it.
    pub added: Option<&'a Path>,
    /// Rows only in the old input.
    pub removed: Option<&'a Path>,
    /// Rows in both.
    pub kept: Option<&'a Path>,
}

impl Files<'_> {
    /// Whether none is named.
    pub fn is_empty(&self) -> bool {
        self.named().next().is_none()
    }

    fn named(&self) -> impl Iterator<Item = &Path> {
        [self.added, self.removed, self.kept].into_iter().flatten()
    }

    /// Refuses files that cannot be made, and one that is named twice: before the work, not after it.
    pub fn check(&self) -> Result<()> {
        for (i, path) in self.named().enumerate() {
            atomic::check_target(path, Existing::Replace)?;
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
    pub fn write(&self, job: &Diff<'_>, separator: u8) -> Result<Report> {
        into(self.added, |added| {
            into(self.removed, |removed| {
                into(self.kept, |kept| {
                    let write = |out: &mut dyn Write, row: &[u8]| {
                        out.write_all(row).and_then(|()| out.write_all(&[separator]))
                    };
                    if let Some(header) = &job.header()? {
                        write(added, header)?;
                        write(removed, header)?;
                        write(kept, header)?;
                    }
                    Ok(job.run(&mut |change, row| match change {
                        Change::Added | Change::Changed => write(added, row),
                        Change::Removed => write(removed, row),
                        Change::Kept => write(kept, row),
                    })?)
                })
            })
        })
    }
}

/// Lets `work` write to a file, or nowhere.
fn into<T>(
    path: Option<&Path>,
    work: impl FnOnce(&mut (dyn Write + Send)) -> Result<T>,
) -> Result<T> {
    match path {
        Some(path) => atomic::replace(path, work),
        None => work(&mut io::sink()),
    }
}

/// Runs the job and writes `- ` in front of removed rows, `+ ` of added and `~ ` of changed ones; rows in both are left out.
pub fn write_marked(
    job: &Diff<'_>,
    separator: u8,
    out: &mut (dyn Write + Send),
) -> Result<Report, Error> {
    let mut out = PageWriter::new(1 << 18, out);
    let report = job.run(&mut |change, row| {
        let mark = match change {
            Change::Removed => b"- ",
            Change::Added => b"+ ",
            Change::Changed => b"~ ",
            Change::Kept => return Ok(()),
        };
        [mark, row, &[separator]].iter().try_for_each(|part| out.write_all(part))
    })?;
    out.flush().map_err(Error::Output)?;
    Ok(report)
}
