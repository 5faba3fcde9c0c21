//! `umbel merge`: one filter from several.

use anyhow::{Context, Result};
use umbel_sets::{Progress, Report};

use crate::Outcome;
use crate::args::MergeArgs;
use crate::atomic::Existing;
use crate::filters;
use crate::report::Run;

pub(crate) fn merge(args: &MergeArgs) -> Result<Outcome> {
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    filters::check_output(&args.output, existing)?;
    let run = Run::start("merge", args.voice, &std::sync::Arc::new(Progress::default()));
    let mut report = Report::default();
    let (first, others) = args.filters.split_first().context("at least one filter")?;
    let mut merged = filters::read_sealed(first)?;
    report.bytes_read += merged.bytes();
    for path in others {
        let other = filters::read_sealed(path)?;
        report.bytes_read += other.bytes();
        let result = if args.intersect { merged.intersect(&other) } else { merged.union(&other) };
        result.with_context(|| format!("{} and {}", first.display(), path.display()))?;
    }
    report.passes = args.filters.len() as u32;
    report.bytes_written = merged.bytes();
    filters::write(&merged, &args.output, existing)?;
    run.finish(&report, "", Some(&merged.receipt()));
    Ok(Outcome::Done)
}
