//! How `common`, `except`, `dedup` and `join` run their job.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use umbel_sets::{Error, Records, Report, SetPlan};

use super::explain::{self, Job};
use crate::Outcome;
use crate::args::{ResultArgs, Work};
use crate::output::{print, write_result};
use crate::report::{Run, say};
use crate::{hints, lines};

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
    if about.verb != "common" || report.found == 0 {
        hint(about, work);
    }
    // A header alone may be common.
    if about.verb == "common"
        && report.found <= 1
        && about.options.form.records == Records::default()
        && !work.voice.quiet
        && !work.voice.json
        && let Some(option) =
            about.inputs.iter().find_map(|input| lines::named_form(Path::new(input.name())))
    {
        say(&format!(
            "umbel common: compared whole lines; for records with the same value in a field: {option} --key FIELD"
        ));
    }
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// Says why lines that look the same may differ.
pub(super) fn hint(about: &Job<'_>, work: &Work) {
    if !work.voice.quiet
        && !work.voice.json
        && let Some(hint) = hints::of_line_ends(about.inputs, &about.options.form)
    {
        say(&format!("umbel {}: {hint}", about.verb));
    }
}
