//! `umbel filter convert` and `umbel filter fold`: a filter in another form, or smaller.

use std::fmt::Display;
use std::str::FromStr;

use umbel::{Filter as _, Kind, Scheme};
use umbel_foreign::ForeignFilter;
use umbel_numbers::KeyCount;
use umbel_sets::{Filter, ForeignLines, Progress, Report};

use crate::args::{ReadArgs, ReplaceArgs, SignArgs, Voice};
use crate::choices;
use crate::target::FileType;
use crate::verbs::prelude::*;
use crate::{filters, wrapped};

/// What a filter is converted to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConvertTo {
    Kind(Kind),
    Format(umbel_foreign::Format),
}

impl FromStr for ConvertTo {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let kind = Kind::from_str(name).map(Self::Kind);
        kind.or_else(|_| match umbel_foreign::Format::from_str(name) {
            Ok(format) => Ok(Self::Format(format)),
            Err(formats) => Err(format!("{formats}; or blocked, for an umbel filter")),
        })
    }
}

/// Make a filter that turned out too large smaller, at its planned rate
///
/// The filter is folded by a divisor of its size. The result is bit for bit a filter of the smaller size with the same keys. Large
/// sizes have many divisors. Sizes below 128 KiB may have none that keeps the rate; the filter is then unchanged. Only blocked,
/// classic, sliced and counting filters fold.
///
/// After an error no filter is written, and an existing one is unchanged.
#[derive(Debug, Args)]
pub(crate) struct FoldArgs {
    /// Number of keys to keep room for, e.g. 5e9 or 5G [default: its estimated number of keys]
    #[arg(long, value_name = "N")]
    pub(crate) keys: Option<KeyCount>,
    #[command(flatten)]
    pub(crate) file: RewriteArgs,
}

impl Verb for FoldArgs {
    const NAME: &str = "filter fold";
    const HELP: &str = "
also shrink, compact, smaller
umbel filter fold -o seen.umbel seen.umbel   in place, as small as its keys allow
umbel filter fold --keys 1M -o small.umbel seen.umbel   with room for a million keys
0 the filter is written, smaller or as it was
";
    const RUN: fn(&Self) -> Result<Outcome> = fold;
}

/// Convert a filter to another kind or format
///
/// A counting filter converts to a blocked one for shipping: as if built from the keys that it holds now, a quarter of its size or
/// less, and ready to merge with others. So does a scalable filter that has not grown. One that has grown does not, because each
/// of its links has a key in other positions.
///
/// Among other systems' formats, parquet and parquet-bits convert to each other (with or without the header), and so do
/// bits-and-blooms and bits-and-blooms-json. Nothing else converts: a filter does not store its keys, and no two systems put them
/// in the same positions.
///
/// After an error no filter is written, and an existing one is unchanged.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Kind or format to convert to: blocked, or a format of another system
    #[arg(long, value_name = "FORM", value_parser = choices::targets::<ConvertTo>(), hide_possible_values = true)]
    pub(crate) to: ConvertTo,
    #[command(flatten)]
    pub(crate) file: RewriteArgs,
}

impl Verb for ConvertArgs {
    const NAME: &str = "filter convert";
    const HELP: &str = "
also export, import
umbel filter convert -o shipped.umbel held.umbel --to blocked   a blocked filter to ship
0 the filter is written
";
    const RUN: fn(&Self) -> Result<Outcome> = convert;
}

/// A filter that is written anew.
#[derive(Debug, Args)]
pub(crate) struct RewriteArgs {
    /// Filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Filter to read
    pub(crate) filter: PathBuf,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
}

pub(crate) fn convert(args: &ConvertArgs) -> Result<Outcome> {
    rewrite("filter convert", &args.file, |filter| converted(&filter, args))
}

pub(crate) fn fold(args: &FoldArgs) -> Result<Outcome> {
    rewrite("filter fold", &args.file, |filter| {
        let mut filter = filters::own(filter, &args.file.filter, "filter fold")?;
        filter.shrink_to(args.keys.map_or(0, |keys| keys.0))?;
        Ok(Filter::Own(filter))
    })
}

fn rewrite(
    verb: &'static str,
    args: &RewriteArgs,
    change: impl FnOnce(Filter<Scheme>) -> Result<Filter<Scheme>>,
) -> Result<Outcome> {
    let (existing, _lock) =
        filters::claim_output(&args.output, FileType::FILTER, args.replace.force)?;
    let key = wrapped::signing(&args.sign, &args.read.trust.list, &args.output)?;
    let run = Run::start(verb, args.voice, &std::sync::Arc::new(Progress::default()));
    let filter = filters::read_without_secret(&args.filter, &args.read)?;
    let mut report = Report::default();
    report.bytes_read = filter.bytes();
    let changed = change(filter).with_context(|| args.filter.display().to_string())?;
    report.bytes_written = filters::write(&changed, &args.output, existing, key.as_ref())?;
    report.passes = 1;
    run.finish_filter(&report, &changed.receipt());
    Ok(Outcome::Done)
}

fn converted(filter: &Filter<Scheme>, args: &ConvertArgs) -> Result<Filter<Scheme>> {
    // The alternative that always works.
    let (option, to): (_, &dyn Display) = match &args.to {
        ConvertTo::Kind(kind) => ("--kind", kind),
        ConvertTo::Format(format) => ("--format", format),
    };
    let instead =
        format!("umbel filter build {option} {to} -o {} FILE…", args.file.output.display());
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
