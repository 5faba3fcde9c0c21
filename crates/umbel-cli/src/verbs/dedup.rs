//! `umbel dedup`: each different line once.

use anyhow::{Result, bail};
use umbel_sets::SetOperation;

use super::explain::{self, Job};
use super::seen;
use crate::Outcome;
use crate::args::DedupArgs;
use crate::lines;
use crate::output::{check_target, print, write_lines};
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
    if args.work.explain {
        let about = Job { verb: "dedup", inputs: &inputs, options: &options };
        print(explain::operation(&job.plan()?, &about, args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let report = write_lines(&args.output, |out| Ok(job.run(out)?))?;
    run.finish(&report, if args.repeated { "repeated" } else { "different" }, None);
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}
