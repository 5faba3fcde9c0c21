//! `umbel convert`: convert a filter to another kind or format.

use std::fmt::Display;

use anyhow::{Context, Result, bail};
use umbel::{Filter as _, Scheme};
use umbel_foreign::ForeignFilter;
use umbel_sets::{Filter, ForeignLines, Progress, Report};

use crate::Outcome;
use crate::args::{ConvertArgs, ConvertTo};
use crate::report::Run;
use crate::target::Sort;
use crate::{filters, wrapped};

pub(crate) fn convert(args: &ConvertArgs) -> Result<Outcome> {
    let (existing, _lock) = filters::claim_output(&args.output, Sort::FILTER, args.replace.force)?;
    let key = wrapped::seal(&args.sign, &args.read.trust.list, &args.output)?;
    let run = Run::start("convert", args.voice, &std::sync::Arc::new(Progress::default()));
    let filter = filters::read_sealed(&args.filter, &args.read)?;
    let converted = converted(&filter, args).with_context(|| args.filter.display().to_string())?;
    let mut report = Report::default();
    report.bytes_read = filter.bytes();
    report.bytes_written = filters::write(&converted, &args.output, existing, key.as_ref())?;
    report.passes = 1;
    run.finish(&report, "", Some(&converted.receipt()));
    Ok(Outcome::Done)
}

fn converted(filter: &Filter<Scheme>, args: &ConvertArgs) -> Result<Filter<Scheme>> {
    // The alternative that always works.
    let (option, to): (_, &dyn Display) = match &args.to {
        ConvertTo::Kind(kind) => ("--kind", kind),
        ConvertTo::Format(format) => ("--format", format),
    };
    let instead = format!("umbel build {option} {to} -o {} FILE…", args.output.display());
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
