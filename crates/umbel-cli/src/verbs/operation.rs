//! What `common`, `except` and `dedup` do with their set operation.

use anyhow::Result;
use umbel_sets::SetOperation;

use super::explain::{self, Job};
use crate::Outcome;
use crate::args::{ResultArgs, Work};
use crate::hints;
use crate::output::{print, write_result};
use crate::report::{Run, say};

/// Explains the operation, or runs it and reports the lines it `found`.
pub(super) fn set_operation(
    operation: &SetOperation<'_>,
    about: &Job<'_>,
    work: &Work,
    output: &ResultArgs,
    run: Run,
    found: &str,
) -> Result<Outcome> {
    if work.explain {
        print(explain::operation(&operation.plan()?, about, work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let ((), report) =
        write_result(output.to.file(), output.total, |out| Ok(((), operation.run(out)?)))?;
    run.finish(&report, found, None);
    if about.verb != "common" || report.found == 0 {
        hint(about, work);
    }
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// Says why lines that look the same may differ.
pub(super) fn hint(about: &Job<'_>, work: &Work) {
    if !work.voice.quiet
        && !work.voice.json
        && let Some(hint) = hints::of_line_ends(about.inputs, about.options)
    {
        say(&format!("umbel {}: {hint}", about.verb));
    }
}
