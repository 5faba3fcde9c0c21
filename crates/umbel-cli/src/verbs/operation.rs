//! How `common`, `except`, `dedup` and `join` run their job.

use std::io::Write;

use anyhow::Result;
use umbel_sets::{Error, Report, SetPlan};

use super::explain::{self, Job};
use crate::Outcome;
use crate::args::{ResultArgs, Work};
use crate::hints;
use crate::output::{print, write_result};
use crate::report::{Run, say};

/// Explains the job, or runs it and reports the lines it `found`.
pub(super) fn select(
    plan: &dyn Fn() -> Result<SetPlan, Error>,
    job: &dyn Fn(&mut (dyn Write + Send)) -> Result<Report, Error>,
    about: &Job<'_>,
    work: &Work,
    output: &ResultArgs,
    run: Run,
    found: &str,
) -> Result<Outcome> {
    if work.explain {
        print(explain::operation(&plan()?, about, work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let ((), report) = write_result(output.to.file(), output.total, |out| Ok(((), job(out)?)))?;
    run.finish(&report, found, None);
    hint(about, report.found, work);
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// Says why lines that look the same may differ, or records with the same value.
pub(super) fn hint(about: &Job<'_>, found: u64, work: &Work) {
    if work.voice.quiet || work.voice.json {
        return;
    }
    let (common, form) = (about.verb == "common", &about.options.form);
    let ends = (!common || found == 0).then(|| hints::of_line_ends(about.inputs, form)).flatten();
    // A header alone may be common.
    let tables = (common && found <= 1).then(|| hints::of_tables(about.inputs, form)).flatten();
    for hint in ends.into_iter().chain(tables) {
        say(&format!("umbel {}: {hint}", about.verb));
    }
}
