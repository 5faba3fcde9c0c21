//! `umbel dedup`: each different line once.

use std::num::NonZeroU64;

use anyhow::{Result, bail};
use umbel_sets::{Distinct, Keep, SetOperation, Top};

use super::explain::Job;
use super::operation::set_operation;
use super::seen;
use crate::Outcome;
use crate::args::{DedupArgs, Kept};
use crate::lines::{self, Rows};
use crate::output::check_target;
use crate::report::Run;

pub(crate) fn dedup(args: &DedupArgs) -> Result<Outcome> {
    if let Some(filter) = &args.seen {
        return seen::seen(filter, args);
    }
    if args.secret.secret_file.is_some() {
        bail!("--secret-file requires --seen: without it, no filter is kept");
    }
    if !args.names.names.is_empty() {
        bail!("--as requires --seen: it is the name of a field in the filter");
    }
    check_target(&args.output.to)?;
    let options = lines::options(&args.work)?;
    let run = Run::start("dedup", args.work.voice, &options.progress);
    let inputs = lines::open_rereadable(&args.files, &args.work, Rows::OfAll, &options)?;
    let at_least = if args.repeated { 2 } else { args.min.map_or(1, NonZeroU64::get) };
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
    let found = if at_least > 1 { "repeated" } else { "different" };
    let about = Job { verb: "dedup", inputs: &inputs, options: &options };
    let outcome = set_operation(&job, &about, &args.work, &args.output, run, found)?;
    // A search for repeats may find nothing; removing repeats always succeeds, even for an empty list.
    Ok(if at_least > 1 { outcome } else { Outcome::Done })
}
