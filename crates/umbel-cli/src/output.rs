//! Standard output, which may be closed, and output files.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use thiserror::Error;
use umbel_sets::Report;

use crate::Outcome;
use crate::args::LinesArgs;
use crate::atomic;
use crate::report;
use crate::target::{self, FileType};

/// Standard output failed.
#[derive(Debug, Error)]
#[error("standard output: {0}")]
pub(crate) struct StdoutClosed(pub(crate) io::Error);

/// Refuses to write to standard output if it was closed.
pub(crate) fn check_open() -> Result<()> {
    match umbel_io::is_stdout_closed() {
        true => Err(StdoutClosed(umbel_io::closed()).into()),
        false => Ok(()),
    }
}

/// Standard output without a buffer of its own, for those who write in large blocks.
pub(crate) fn stdout() -> Result<File> {
    check_open()?;
    umbel_io::stdout().context("standard output")
}

/// Standard output for lines: on a terminal, nothing else is shown from the first one on.
pub(crate) struct Screen {
    out: File,
    is_terminal: bool,
}

impl Screen {
    pub(crate) fn new(out: File) -> Self {
        let is_terminal = out.is_terminal();
        Self { out, is_terminal }
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_terminal {
            report::hush();
            return umbel_io::write_to_terminal(&mut self.out, bytes);
        }
        self.out.write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[io::IoSlice<'_>]) -> io::Result<usize> {
        if self.is_terminal {
            let first = pieces.iter().find(|piece| !piece.is_empty());
            return first.map_or(Ok(0), |piece| self.write(piece));
        }
        self.out.write_vectored(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Lets `work` write lines to the file named, which appears whole or not at all; to standard output when none is.
pub(crate) fn write_lines<T>(
    to: Option<&Path>,
    work: impl FnOnce(&mut (dyn Write + Send)) -> Result<T>,
) -> Result<T> {
    match to {
        Some(path) => atomic::replace(path, work),
        None => work(&mut Screen::new(stdout()?)),
    }
}

/// As [`write_lines`]; or if only the `total` is wanted, lets `work` count lines, and prints how many there are.
pub(crate) fn write_result<T>(
    to: Option<&Path>,
    total: bool,
    work: impl FnOnce(&mut (dyn Write + Send)) -> Result<(T, Report)>,
) -> Result<(T, Report)> {
    if !total {
        return write_lines(to, work);
    }
    let (value, report) = work(&mut io::sink())?;
    print(format!("{}\n", report.found))?;
    Ok((value, report))
}

/// Refuses an output in the place of a file that is read for more than its lines, such as a filter.
pub(crate) fn refuse_in_place_of(output: Option<&Path>, files: &[Option<&PathBuf>]) -> Result<()> {
    let Some(output) = output else { return Ok(()) };
    match files.iter().flatten().find(|file| atomic::is_same_path(output, file)) {
        Some(file) => bail!(
            "{}: is also read, so the output cannot replace it; name another file",
            file.display()
        ),
        None => Ok(()),
    }
}

/// As [`write_lines`], of text for people or programs: `work` hands over one piece after the other.
pub(crate) fn write_text(
    to: Option<&Path>,
    work: impl FnOnce(&mut dyn FnMut(&str) -> Result<()>) -> Result<()>,
) -> Result<()> {
    match to {
        Some(_) => write_lines(to, |out| work(&mut |text| Ok(out.write_all(text.as_bytes())?))),
        None => work(&mut |text| print(report::printable(text).as_bytes())),
    }
}

/// Refuses, before any work, a file that cannot be made, or that what `writes` says must not replace.
pub(crate) fn check_target(to: Option<&Path>, writes: FileType, force: bool) -> Result<()> {
    to.map_or(Ok(()), |path| target::check(path, writes, force).map(drop))
}

/// As [`check_target`], of lines.
pub(crate) fn check_lines(LinesArgs { to, work, .. }: &LinesArgs) -> Result<()> {
    check_target(to.file(), work.writes(), to.replace.force)
}

/// Prints text, noticing when nobody reads it.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<()> {
    print_by(|| io::stdout().write_all(text.as_ref()))
}

/// As [`print()`], of a text that is all that a run does.
pub(crate) fn only_print(text: impl AsRef<[u8]>) -> Result<Outcome> {
    print(text)?;
    Ok(Outcome::Done)
}

/// As [`print()`], of what `write` writes to standard output.
pub(crate) fn print_by(write: impl FnOnce() -> io::Result<()>) -> Result<()> {
    check_open()?;
    report::hush();
    write().and_then(|()| io::stdout().flush()).map_err(|error| StdoutClosed(error).into())
}
