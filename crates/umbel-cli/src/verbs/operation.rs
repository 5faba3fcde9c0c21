//! What `common`, `except` and `dedup` do with their set operation.

use anyhow::Result;
use umbel_sets::SetOperation;

use super::explain::{self, Job};
use crate::Outcome;
use crate::args::{OutputArgs, Work};
use crate::output::{print, write_lines};
use crate::report::Run;

/// Explains the operation, or runs it and reports the lines it `found`.
pub(super) fn set_operation(
    operation: &SetOperation<'_>,
    about: &Job<'_>,
    work: &Work,
    output: &OutputArgs,
    run: Run,
    found: &str,
) -> Result<Outcome> {
    if work.explain {
        print(explain::operation(&operation.plan()?, about, work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let report = write_lines(output, |out| Ok(operation.run(out)?))?;
    run.finish(&report, found, None);
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}
