//! Standard output, and when nobody reads it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use anyhow::{Context, Result};

/// Standard output failed.
#[derive(Debug)]
pub(crate) struct StdoutClosed(pub(crate) io::Error);

impl std::fmt::Display for StdoutClosed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "standard output: {}", self.0)
    }
}

impl std::error::Error for StdoutClosed {}

/// Standard output without a buffer of its own, for those who write in large blocks.
pub(crate) fn stdout() -> Result<File> {
    let stdout = io::stdout().as_fd().try_clone_to_owned();
    Ok(File::from(stdout.context("standard output")?))
}

/// Prints text, noticing when nobody reads it.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_ref())
        .and_then(|()| out.flush())
        .map_err(|error| StdoutClosed(error).into())
}
