//! `umbel except`: the lines of one file that others do not have.

use anyhow::Result;
use umbel_sets::SetOperation;

use super::explain::{self, Job};
use crate::Outcome;
use crate::args::ExceptArgs;
use crate::lines;
use crate::output::{check_target, print, write_lines};
use crate::report::Run;

pub(crate) fn except(args: &ExceptArgs) -> Result<Outcome> {
    check_target(&args.output)?;
    let options = lines::options(&args.work)?;
    let run = Run::start("except", args.work.voice, &options.progress);
    let inputs = lines::open_several(&args.files, &args.work, &options)?;
    let job = SetOperation::except(&inputs, &options)?.with_error(args.fpp.map(|fpp| fpp.0));
    if args.work.explain {
        let about = Job { verb: "except", inputs: &inputs, options: &options };
        print(explain::operation(&job.plan()?, &about, args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let report = write_lines(&args.output, |out| Ok(job.run(out)?))?;
    run.finish(&report, "left", None);
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}
