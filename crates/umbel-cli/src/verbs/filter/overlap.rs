//! `umbel filter overlap`: what two filters share, estimated from their bits.

use umbel_report::compare::Compared;
use umbel_sets::Filter;

use crate::args::{OutputArgs, ReadArgs, Voice};
use crate::output::{check_target, refuse_in_place_of, write_text};
use crate::target::FileType;
use crate::verbs::prelude::*;
use crate::{filters, report};

/// Estimate from two filters how much their lists share
///
/// Prints the keys in each filter, in either and in both, the Jaccard index (keys in both divided by keys in either) and
/// containment, each with a 95 % interval computed from the bits alone. Also prints the bits set in both, and whether the filters
/// merge, or why not. The larger filter is folded to the smaller size. Other systems' filters are compared if format, hash, seed,
/// bits and probes agree.
#[derive(Debug, Args)]
pub(crate) struct OverlapArgs {
    /// First filter, A
    #[arg(value_name = "A")]
    pub(crate) left: PathBuf,
    /// Second filter, B
    #[arg(value_name = "B")]
    pub(crate) right: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl Verb for OverlapArgs {
    const NAME: &str = "filter overlap";
    const HELP: &str = "
also jaccard, similarity, compare
umbel filter overlap a.umbel b.umbel   how much the two lists share
0 both filters were read
";
    const RUN: fn(&Self) -> Result<Outcome> = overlap;
}

pub(crate) fn overlap(args: &OverlapArgs) -> Result<Outcome> {
    refuse_in_place_of(args.output.file(), &[Some(&args.left), Some(&args.right)])?;
    check_target(args.output.file(), FileType::Text, args.output.replace.force)?;
    let mut left = filters::read_without_secret(&args.left, &args.read)?;
    let right = filters::read_without_secret(&args.right, &args.read)?;
    let receipts = [left.receipt(), right.receipt()];
    let compared = match (&mut left, &right) {
        (Filter::Own(left), Filter::Own(right)) => Compared::own(left, right),
        (Filter::Foreign(left), Filter::Foreign(right)) => {
            Compared::foreign(&mut left.filter, &right.filter)
        }
        _ => Compared::mixed()?,
    };
    let names = [&args.left, &args.right].map(|path| path.display().to_string());
    let receipts = receipts.each_ref().map(report::shown);
    let text = match args.voice.json {
        true => format!("{}\n", compared.json(&names, receipts)),
        false => {
            let row = |(name, value)| format!("{name:<12} {value}\n");
            compared.rows(&names, receipts).into_iter().map(row).collect()
        }
    };
    write_text(args.output.file(), |put| put(&text))?;
    Ok(Outcome::Done)
}
