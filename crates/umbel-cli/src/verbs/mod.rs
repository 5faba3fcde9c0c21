//! The verbs, a file each.

mod add;
mod build;
mod common;
mod compare;
mod convert;
mod dedup;
mod docs;
mod except;
mod explain;
mod info;
mod merge;
mod parquet;
mod plan;
mod query;
mod remove;
mod seen;
mod show;
mod table;

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use anyhow::{Context, Result};

pub(crate) use add::add;
pub(crate) use build::build;
pub(crate) use common::common;
pub(crate) use compare::compare;
pub(crate) use convert::convert;
pub(crate) use dedup::dedup;
pub(crate) use docs::{completions, man};
pub(crate) use except::except;
pub(crate) use info::info;
pub(crate) use merge::merge;
pub(crate) use parquet::parquet;
pub(crate) use plan::plan;
pub(crate) use query::query;
pub(crate) use remove::remove;
pub(crate) use show::{At, show};

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
fn stdout() -> Result<File> {
    let stdout = io::stdout().as_fd().try_clone_to_owned();
    Ok(File::from(stdout.context("standard output")?))
}

/// Prints text, noticing when nobody reads it.
fn print(text: impl AsRef<[u8]>) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_ref())
        .and_then(|()| out.flush())
        .map_err(|error| StdoutClosed(error).into())
}
