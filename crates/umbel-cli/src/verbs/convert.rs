//! `umbel convert`: a filter in another form.

use anyhow::{Context, Result};
use umbel_sets::{Progress, Report};

use crate::Outcome;
use crate::args::ConvertArgs;
use crate::atomic::Existing;
use crate::filters;
use crate::report::Run;

pub(crate) fn convert(args: &ConvertArgs) -> Result<Outcome> {
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    filters::check_output(&args.output, existing)?;
    let run = Run::start("convert", args.voice, &std::sync::Arc::new(Progress::default()));
    let filter = filters::read_sealed(&args.filter)?;
    let converted = filter.convert(args.to).with_context(|| args.filter.display().to_string())?;
    filters::write(&converted, &args.output, existing)?;
    let mut report = Report::default();
    report.bytes_read = filter.bytes();
    report.bytes_written = converted.bytes();
    report.passes = 1;
    run.finish(&report, "", Some(&converted.receipt()));
    Ok(Outcome::Done)
}
