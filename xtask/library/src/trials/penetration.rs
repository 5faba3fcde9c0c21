//! Requests for keys that do not exist, in front of PostgreSQL: how many reach it with a filter and without, and whether a
//! filter ever denies a row while servers fail. `examples/cache/trial` does it; docs/cache.md has the result.

use anyhow::Result;

use super::PassedOn;

pub(super) fn run(arguments: &PassedOn) -> Result<()> {
    let mut trial = xtask::servers::with_example()?;
    xtask::run::run(trial.arg("examples/cache/trial/penetration.py").args(&arguments.options))
}
