//! `umbel overlap`: what two filters share, estimated from their bits.

use anyhow::Result;
use umbel_report::compare::Compared;
use umbel_sets::Filter;

use crate::Outcome;
use crate::args::OverlapArgs;
use crate::output::{check_target, refuse_in_place_of, write_text};
use crate::target::Sort;
use crate::{filters, report};

pub(crate) fn overlap(args: &OverlapArgs) -> Result<Outcome> {
    refuse_in_place_of(args.output.file(), &[Some(&args.left), Some(&args.right)])?;
    check_target(args.output.file(), Sort::Text, args.output.replace.force)?;
    let mut left = filters::read_sealed(&args.left, &args.read)?;
    let right = filters::read_sealed(&args.right, &args.read)?;
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
