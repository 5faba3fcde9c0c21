//! The path `-`, which means standard input where something is read, and standard output where something is written.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

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
