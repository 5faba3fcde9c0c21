//! The verbs, a file each.

mod add;
mod build;
mod common;
mod docs;
mod info;
mod merge;
mod plan;
mod query;

use std::io::{self, Write};

use anyhow::Result;

pub(crate) use add::add;
pub(crate) use build::build;
pub(crate) use common::common;
pub(crate) use docs::{completions, man};
pub(crate) use info::info;
pub(crate) use merge::merge;
pub(crate) use plan::plan;
pub(crate) use query::query;

/// Standard output failed.
#[derive(Debug)]
pub(crate) struct StdoutClosed(pub(crate) io::Error);

impl std::fmt::Display for StdoutClosed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "standard output: {}", self.0)
    }
}

impl std::error::Error for StdoutClosed {}

/// Prints text, noticing when nobody reads it.
fn print(text: impl AsRef<[u8]>) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_ref())
        .and_then(|()| out.flush())
        .map_err(|error| StdoutClosed(error).into())
}
