//! The path `-`, which means standard input where something is read, and standard output where something is written.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};

/// Whether a path means a standard stream.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What messages call standard input.
pub(crate) const STANDARD: &str = "standard input";

/// The name of an input in messages.
pub(crate) fn name(path: &Path) -> String {
    if is_standard(path) { STANDARD.to_owned() } else { path.display().to_string() }
}

/// The names of files, for reports.
pub(crate) fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| name(path)).collect()
}

/// Refuses to read standard input twice: as two of these paths; or as one, if the lines to look up in that `list` are read from it.
pub(crate) fn check_once(paths: &[PathBuf], list: Option<&str>) -> Result<()> {
    match (paths.iter().filter(|path| is_standard(path)).count(), list) {
        (0, _) | (1, None) => Ok(()),
        (1, Some(list)) => bail!(
            "-: standard input can be read only once, and the {list} is read from it; name files of lines"
        ),
        _ => bail!("-: standard input can be read only once; name it once"),
    }
}

/// Whether standard input is read from a terminal.
static TYPED: AtomicBool = AtomicBool::new(false);

/// Whether somebody types what is read.
pub(crate) fn is_typed() -> bool {
    TYPED.load(Ordering::Relaxed)
}

/// Standard input by a descriptor of its own, so that a redirected file can be read again.
pub(crate) fn stdin() -> Result<File> {
    TYPED.fetch_or(io::stdin().is_terminal(), Ordering::Relaxed);
    umbel_io::stdin().context(STANDARD)
}
