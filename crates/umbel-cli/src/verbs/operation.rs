//! How `common`, `except`, `dedup` and `join` run their job.

use std::io::Write;

use umbel_sets::{Error, Report, SetPlan};

use super::explain::{self, Job};
use crate::args::{LinesArgs, Work};
use crate::hints;
use crate::output::{only_print, write_result};
use crate::verbs::prelude::*;

/// Explains the job, or runs it and reports the lines it `found`.
pub(super) fn select(
    plan: &dyn Fn() -> Result<SetPlan, Error>,
    job: &dyn Fn(&mut (dyn Write + Send)) -> Result<Report, Error>,
    about: &Job<'_>,
    LinesArgs { to, total, work, explain }: &LinesArgs,
    run: Run,
    found: &str,
) -> Result<Outcome> {
    if explain.explain {
        return only_print(explain::operation(&plan()?, about, work.voice.json));
    }
    let ((), report) = write_result(to.file(), *total, |out| Ok(((), job(out)?)))?;
    let hints = hints(about, report.found, work);
    run.finish(&report, found, None, &hints);
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// Why lines that look the same may differ, or records with the same value.
pub(super) fn hints(about: &Job<'_>, found: u64, work: &Work) -> Vec<String> {
    if work.voice.quiet {
        return Vec::new();
    }
    let (common, form) = (about.verb == "common", &about.options.form);
    let ends = hints::of_line_ends(about.inputs, form);
    let encodings = hints::of_encodings(about.inputs);
    // A header alone may be common.
    let tables = (common && found <= 1).then(|| hints::of_tables(about.inputs, form)).flatten();
    [ends, encodings, tables].into_iter().flatten().collect()
}
