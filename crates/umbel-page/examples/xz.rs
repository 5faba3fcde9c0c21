//! Compresses a file, for `cargo x page`: `xz FILE OUT`. A browser inflates only gzip by itself, which needs a third more
//! bytes for the core.

use std::fs;
use std::io::Write;

use anyhow::{Context, Result};
use lzma_rust2::{XzOptions, XzWriter};

fn main() -> Result<()> {
    let mut paths = std::env::args().skip(1);
    let (from, to) = paths.next().zip(paths.next()).context("usage: xz FILE OUT")?;
    let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(9))?;
    encoder.write_all(&fs::read(&from).context(from)?)?;
    fs::write(&to, encoder.finish()?).context(to)
}
