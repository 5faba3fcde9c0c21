//! `cargo x test`: every test there is.

use anyhow::Result;

use crate::python::READER;
use crate::run::{self, cargo};

pub(crate) fn run() -> Result<()> {
    run::run(&mut cargo(&["test", "--quiet", "--workspace"]))?;
    let mut reader = READER.command()?;
    run::run(reader.args(["testdata/reader.py", "testdata/golden/manifest.json"]))
}
