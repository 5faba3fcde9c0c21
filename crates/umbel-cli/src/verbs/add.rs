//! `umbel add`: more lines into a filter.

use anyhow::Result;
use umbel_sets::Report;

use super::build::add_lines;
use super::explain;
use crate::Outcome;
use crate::args::AddArgs;
use crate::atomic::Existing;
use crate::lines::Rows;
use crate::output::print;
use crate::report::Run;
use crate::{filters, lines};

pub(crate) fn add(args: &AddArgs) -> Result<Outcome> {
    let options = lines::options(&args.work)?;
    let secret = filters::secret(&args.secret)?;
    let sources = lines::open(&args.files, &args.work, Rows::OfOne, &options)?;
    let mut locked = filters::read_locked(&args.filter, secret.as_ref(), &args.foreign, &options)?;
    if args.work.explain {
        print(explain::has(&locked.filter, args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let run = Run::start("add", args.work.voice, &options.progress);
    let mut report = Report::default();
    add_lines(sources, &mut locked.filter, &args.filter, &options, &mut report)?;
    filters::write(&locked.filter, &args.filter, Existing::Replace)?;
    report.bytes_written += locked.filter.bytes();
    run.finish(&report, "", Some(&locked.filter.receipt()));
    Ok(Outcome::Done)
}
