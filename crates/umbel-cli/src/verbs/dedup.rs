//! `umbel dedup`: each different line once.

use std::num::NonZeroU64;

use anyhow::Result;
use umbel_sets::{Distinct, Keep, SetOperation, Top};

use super::explain::Job;
use super::operation::select;
use crate::Outcome;
use crate::args::{DedupArgs, Kept};
use crate::lines;
use crate::output::check_target;
use crate::report::{self, Run};

pub(crate) fn dedup(args: &DedupArgs) -> Result<Outcome> {
    check_target(args.output.to.file(), args.work.writes(), args.output.to.replace.force)?;
    let mut options = lines::options(&args.work)?;
    let run = Run::start(report::verb(), args.work.voice, &options.progress);
    let inputs =
        lines::open_rereadable(&args.files, &args.work, args.print.rows_of_all(), &options)?;
    let inputs = lines::keys_alone(inputs, args.print.print, &mut options)?;
    let at_least = if args.repeated { 2 } else { args.at_least.map_or(1, NonZeroU64::get) };
    let distinct = Distinct {
        at_least,
        keep: match args.keep {
            Kept::First => Keep::First,
            Kept::Last => Keep::Last,
        },
        counted: args.count,
        ranked: match args.top {
            Some(most) => Some(Top(most.get())),
            None => args.by_count.then_some(Top::ALL),
        },
    };
    let job =
        SetOperation::distinct(&inputs, distinct, &options)?.with_error(args.fpp.map(|fpp| fpp.0));
    let job = if args.print.sort { job.sorted() } else { job };
    let found = if at_least > 1 { "repeated" } else { "different" };
    let about = Job { verb: report::verb(), inputs: &inputs, options: &options };
    let outcome =
        select(&|| job.plan(), &|out| job.run(out), &about, &args.work, &args.output, run, found)?;
    // A search for repeats may find nothing; removing repeats always succeeds, even for an empty list.
    Ok(if args.repeated || args.at_least.is_some() { outcome } else { Outcome::Done })
}
