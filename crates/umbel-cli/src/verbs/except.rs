//! `umbel except`: the lines of one file that others do not have.

use anyhow::Result;
use umbel_sets::SetOperation;

use super::explain::Job;
use super::operation::select;
use crate::Outcome;
use crate::args::ExceptArgs;
use crate::lines::{self, Rows};
use crate::output::check_target;
use crate::report::Run;

pub(crate) fn except(args: &ExceptArgs) -> Result<Outcome> {
    check_target(args.output.to.file(), args.work.writes(), args.output.to.replace.force)?;
    let mut options = lines::options_of_several(&args.work, &args.files, false)?;
    let run = Run::start("except", args.work.voice, &options.resources.progress);
    let inputs = lines::open_several(&args.files, &args.work, Rows::OfOne, &mut options)?;
    let inputs = lines::keys_alone(inputs, args.print.print, &mut options)?;
    let job = SetOperation::except(&inputs, &options)?
        .with_error(args.fpp.map(|fpp| fpp.0))
        .every(args.all)
        .sorted(args.print.sort);
    let about = Job { verb: "except", inputs: &inputs, options: &options };
    select(&|| job.plan(), &|out| job.run(out), &about, &args.work, &args.output, run, "left")
}
