//! `umbel common`: the lines files share.

use anyhow::Result;
use umbel_sets::SetOperation;

use super::explain::Job;
use super::operation::set_operation;
use crate::Outcome;
use crate::args::CommonArgs;
use crate::lines::{self, Rows};
use crate::output::check_target;
use crate::report::Run;

pub(crate) fn common(args: &CommonArgs) -> Result<Outcome> {
    check_target(args.output.to.file(), args.work.writes(), args.output.to.replace.force)?;
    let mut options = lines::options(&args.work)?;
    let run = Run::start("common", args.work.voice, &options.progress);
    let rows = if args.at_least.is_some() { Rows::OfAll } else { Rows::OfOne };
    let inputs = lines::open_several(&args.files, &args.work, rows, &options)?;
    let inputs = lines::keys_alone(inputs, args.print.print, &mut options)?;
    let at_least = args.at_least.unwrap_or(inputs.len());
    let job =
        SetOperation::common(&inputs, at_least, &options)?.with_error(args.fpp.map(|fpp| fpp.0));
    let job = if args.all { job.every() } else { job };
    let about = Job { verb: "common", inputs: &inputs, options: &options };
    set_operation(&job, &about, &args.work, &args.output, run, "common")
}
