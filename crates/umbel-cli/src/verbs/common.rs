//! `umbel common`: the lines files share.

use std::io::Write;

use anyhow::{Result, bail};
use umbel_sets::{Holders, Input, Options, SetOperation};

use super::explain::Job;
use super::operation::select;
use crate::Outcome;
use crate::args::CommonArgs;
use crate::lines::{self, Rows};
use crate::output::check_target;
use crate::report::Run;

pub(crate) fn common(args: &CommonArgs) -> Result<Outcome> {
    check_target(args.output.to.file(), args.work.writes(), args.output.to.replace.force)?;
    let mut options = lines::options_of_several(&args.work, &args.files, false)?;
    let run = Run::start("common", args.work.voice, &options.resources.progress);
    let of_all = args.at_least.is_some() || args.which.is_some() || !args.only.is_empty();
    let rows = if of_all { args.print.rows_of_all() } else { Rows::OfOne };
    let inputs = lines::open_several(&args.files, &args.work, rows, &mut options)?;
    let inputs = lines::keys_alone(inputs, args.print.print, &mut options)?;
    let about = Job { verb: "common", inputs: &inputs, options: &options };
    if args.which.is_some() || !args.only.is_empty() {
        let job = holders(args, &inputs, &options)?;
        let (plan, work) = (|| job.plan(), |out: &mut (dyn Write + Send)| job.run(out));
        return select(&plan, &work, &about, &args.work, &args.output, run, "found");
    }
    let at_least = args.at_least.unwrap_or(inputs.len());
    let job = SetOperation::common(&inputs, at_least, &options)?
        .with_error(args.fpp.map(|fpp| fpp.0))
        .every(args.all)
        .sorted(args.print.sort);
    select(&|| job.plan(), &|out| job.run(out), &about, &args.work, &args.output, run, "common")
}

/// The lines with the files that have them.
fn holders<'a>(
    args: &CommonArgs,
    inputs: &'a [Input],
    options: &'a Options,
) -> Result<Holders<'a>> {
    let job = Holders::new(inputs, options)?.at_least(args.at_least.unwrap_or(1))?;
    if let Some(file) = args.only.iter().find(|file| **file > inputs.len()) {
        bail!("--only {file}: found {} files, which are numbered from 1", inputs.len());
    }
    let only: Vec<_> = args.only.iter().map(|file| file - 1).collect();
    Ok(job.sorted(args.print.sort).only(&only).with_labels(args.which.map(Into::into)))
}
