//! `umbel filter merge`: one filter from several.

use umbel::{MergeError, Scheme};
use umbel_foreign::ForeignFilter;
use umbel_report::compare::{Merged, check_same_keys};
use umbel_sets::{Filter, ForeignLines, Progress, Report};

use super::prefixes;
use crate::args::{ReadArgs, SignArgs, Voice};
use crate::target::FileType;
use crate::verbs::prelude::*;
use crate::{filters, wrapped};

/// Merge filters into one with the keys of all
///
/// Filters merge if they have the same kind, size, hash scheme, number of probes and key fields; with --fold and
/// --intersect also if one's size divides the other's. Scalable filters and windows do not merge. Other systems' filters
/// merge if format, hash, seed, bits and probes agree.
///
/// After an error no filter is written, and an existing one is unchanged.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Filters to merge
    #[arg(required = true, value_name = "FILTER")]
    pub(crate) filters: Vec<PathBuf>,
    /// Keep only the keys that are in all filters
    #[arg(long)]
    pub(crate) intersect: bool,
    /// Fold larger filters to the smallest size, which raises the false positive rate
    #[arg(long)]
    pub(crate) fold: bool,
    /// Overwrite any file; write even a filter that nearly every key passes
    #[arg(long, short)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) voice: Voice,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
}

impl Verb for MergeArgs {
    const NAME: &str = "filter merge";
    const HELP: &str = "
also or, combine
umbel filter merge -o both.umbel a.umbel b.umbel   one filter of both lists
0 the filter is written
";
    const RUN: fn(&Self) -> Result<Outcome> = merge;
}

pub(crate) fn merge(args: &MergeArgs) -> Result<Outcome> {
    let (existing, _lock) = filters::claim_output(&args.output, FileType::FILTER, args.force)?;
    let key = wrapped::signing(&args.sign, &args.read.trust.list, &args.output)?;
    let run = Run::start("filter merge", args.voice, &std::sync::Arc::new(Progress::default()));
    let mut report = Report::default();
    let (first, others) = args.filters.split_first().context("at least one filter")?;
    let mut merged = filters::read_without_secret(first, &args.read)?;
    report.bytes_read += merged.bytes();
    for path in others {
        let other = filters::read_without_secret(path, &args.read)?;
        report.bytes_read += other.bytes();
        join(&mut merged, &other, args)
            .with_context(|| format!("{} and {}", first.display(), path.display()))?;
    }
    report.passes = args.filters.len() as u32;
    let receipt = merged.receipt();
    let result = Merged::of(crate::report::shown(&receipt));
    if !others.is_empty() && result.is_useless() && !args.force {
        bail!(
            "{}: the merged filter would be useless: {result}; merge filters of similar size, or build one from all lists (--force writes it anyway)",
            args.output.display()
        );
    }
    report.bytes_written = filters::write(&merged, &args.output, existing, key.as_ref())?;
    run.finish_filter(&report, &receipt);
    Ok(Outcome::Done)
}

fn join(merged: &mut Filter<Scheme>, other: &Filter<Scheme>, args: &MergeArgs) -> Result<()> {
    let intersect = args.intersect;
    if let (Filter::Own(left), Filter::Own(right)) = (&mut *merged, other) {
        check_same_keys(left, right).map_err(umbel_sets::Error::from)?;
        if prefixes::join(left, right, intersect)? {
            return Ok(());
        }
    }
    match (merged, other) {
        (Filter::Own(left), Filter::Own(right)) if intersect => left.intersect(right)?,
        (Filter::Own(left), Filter::Own(right)) if args.fold => left.union_folding(right)?,
        (Filter::Own(left), Filter::Own(right)) => match left.union(right) {
            Err(error @ MergeError::SizesDiffer(..)) => bail!("{error} (--fold)"),
            merged => merged?,
        },
        (Filter::Foreign(left), Filter::Foreign(right)) if !intersect => {
            left.filter.union(&right.filter)?;
        }
        (Filter::Foreign(lines), Filter::Foreign(_)) => {
            let format = lines.filter.format();
            bail!(
                "--intersect works only with umbel's own filters; {format} filters can only be merged"
            )
        }
        (Filter::Own(_), Filter::Foreign(lines)) => bail!(mixed(lines)),
        (Filter::Foreign(lines), Filter::Own(_)) => bail!(mixed(lines)),
    }
    Ok(())
}

fn mixed(lines: &ForeignLines) -> String {
    let format = lines.filter.format();
    format!("an umbel filter and a {format} filter cannot be merged; build both in one format")
}
