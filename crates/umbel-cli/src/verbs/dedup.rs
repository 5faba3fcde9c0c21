//! `umbel dedup`: each different line once.

use anyhow::{Result, bail};
use umbel_sets::SetOperation;

use super::explain::Job;
use super::operation::set_operation;
use super::seen;
use crate::Outcome;
use crate::args::DedupArgs;
use crate::lines;
use crate::output::check_target;
use crate::report::Run;

pub(crate) fn dedup(args: &DedupArgs) -> Result<Outcome> {
    if let Some(filter) = &args.seen {
        return seen::seen(filter, args);
    }
    if args.secret.secret_file.is_some() {
        bail!("--secret-file goes with --seen: other answers rest on no filter that is kept");
    }
    check_target(&args.output)?;
    let options = lines::options(&args.work)?;
    let run = Run::start("dedup", args.work.voice, &options.progress);
    let inputs = lines::open_rereadable(&args.files, &args.work, &options)?;
    let job = SetOperation::distinct(&inputs, args.repeated, args.count, &options)?
        .with_error(args.fpp.map(|fpp| fpp.0));
    let found = if args.repeated { "repeated" } else { "different" };
    let about = Job { verb: "dedup", inputs: &inputs, options: &options };
    set_operation(&job, &about, &args.work, &args.output, run, found)
}
