//! Compresses a file, for `cargo x page`: `xz FILE OUT [PRESET]`. A browser inflates only gzip by itself, which needs a third more
//! bytes for the core.

use std::fs;
use std::io::Write;

use anyhow::{Context, Result};
use lzma_rust2::{XzOptions, XzWriter};

fn main() -> Result<()> {
    let mut given = std::env::args().skip(1);
    let (from, to) = given.next().zip(given.next()).context("usage: xz FILE OUT [PRESET]")?;
    let preset = given.next().map_or(Ok(9), |preset| preset.parse())?;
    let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(preset))?;
    encoder.write_all(&fs::read(&from).context(from)?)?;
    fs::write(&to, encoder.finish()?).context(to)
}
