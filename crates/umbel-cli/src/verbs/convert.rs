//! `umbel convert` and `umbel shrink`: a filter in another form, or smaller.

use std::fmt::Display;

use anyhow::{Context, Result, bail};
use umbel::{Filter as _, Scheme};
use umbel_foreign::ForeignFilter;
use umbel_sets::{Filter, ForeignLines, Progress, Report};

use crate::Outcome;
use crate::args::{ConvertArgs, ConvertTo, RewriteArgs, ShrinkArgs};
use crate::report::Run;
use crate::target::Sort;
use crate::{filters, wrapped};

pub(crate) fn convert(args: &ConvertArgs) -> Result<Outcome> {
    rewrite("convert", &args.file, |filter| converted(&filter, args))
}

pub(crate) fn shrink(args: &ShrinkArgs) -> Result<Outcome> {
    rewrite("shrink", &args.file, |filter| {
        let mut filter = filters::own(filter, &args.file.filter, "shrink")?;
        filter.shrink_to(args.keys.map_or(0, |keys| keys.0))?;
        Ok(Filter::Own(filter))
    })
}

fn rewrite(
    verb: &'static str,
    args: &RewriteArgs,
    change: impl FnOnce(Filter<Scheme>) -> Result<Filter<Scheme>>,
) -> Result<Outcome> {
    let (existing, _lock) = filters::claim_output(&args.output, Sort::FILTER, args.replace.force)?;
    let key = wrapped::seal(&args.sign, &args.read.trust.list, &args.output)?;
    let run = Run::start(verb, args.voice, &std::sync::Arc::new(Progress::default()));
    let filter = filters::read_sealed(&args.filter, &args.read)?;
    let mut report = Report::default();
    report.bytes_read = filter.bytes();
    let changed = change(filter).with_context(|| args.filter.display().to_string())?;
    report.bytes_written = filters::write(&changed, &args.output, existing, key.as_ref())?;
    report.passes = 1;
    run.finish(&report, "", Some(&changed.receipt()));
    Ok(Outcome::Done)
}

fn converted(filter: &Filter<Scheme>, args: &ConvertArgs) -> Result<Filter<Scheme>> {
    // The alternative that always works.
    let (option, to): (_, &dyn Display) = match &args.to {
        ConvertTo::Kind(kind) => ("--kind", kind),
        ConvertTo::Format(format) => ("--format", format),
    };
    let instead = format!("umbel build {option} {to} -o {} FILE…", args.file.output.display());
    match (filter, args.to) {
        (Filter::Own(filter), ConvertTo::Kind(kind)) => Ok(Filter::Own(filter.convert(kind)?)),
        (Filter::Foreign(lines), ConvertTo::Format(format)) => match lines.filter.convert(format) {
            Ok(filter) => Ok(Filter::Foreign(ForeignLines::new(filter, None)?)),
            Err(error @ umbel_foreign::Error::CannotConvert { .. }) => bail!("{error}: {instead}"),
            Err(error) => Err(error.into()),
        },
        (filter, _) => {
            let from: &dyn Display = match filter {
                Filter::Own(filter) => &filter.plan().kind(),
                Filter::Foreign(lines) => &lines.filter.format(),
            };
            bail!(
                "a {from} filter does not convert to {to}, which puts keys in other positions; \
                 a filter does not store its keys, so build one from them: {instead}"
            )
        }
    }
}
