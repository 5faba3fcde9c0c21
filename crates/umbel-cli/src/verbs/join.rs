//! `umbel join`: the rows of two files with the same key, side by side.

use anyhow::{Result, bail};
use umbel_sets::{Join, Partners, Unpaired};

use super::explain::{self, Job};
use super::operation::hint;
use crate::Outcome;
use crate::args::JoinVerbArgs;
use crate::lines::{self, Rows};
use crate::output::{check_target, print, write_result};
use crate::report::Run;

pub(crate) fn join(args: &JoinVerbArgs) -> Result<Outcome> {
    check_target(args.output.to.file(), args.work.writes(), args.output.to.replace.force)?;
    let options = lines::options(&args.work)?;
    let run = Run::start("join", args.work.voice, &options.progress);
    if options.records.key().is_empty() {
        bail!(
            "rows are joined by a key; name it with --key, and the format with --csv, --tsv, --jsonl or --fields"
        );
    }
    let inputs = lines::open_several(&args.files, &args.work, Rows::OfOne, &options)?;
    if inputs.len() > 2 {
        bail!("found {} files; join takes two, LEFT and RIGHT", inputs.len());
    }
    let unpaired = match (args.left, args.full) {
        (_, true) => Unpaired::Both,
        (true, _) => Unpaired::Left,
        _ => Unpaired::None,
    };
    let partners = match (args.first, args.unique) {
        (true, _) => Partners::First,
        (_, true) => Partners::Unique,
        _ => Partners::All,
    };
    let job = Join::new(&inputs, &options)?
        .with_unpaired(unpaired)
        .with_partners(partners)
        .with_prefix(args.prefix.as_deref());
    let about = Job { verb: "join", inputs: &inputs, options: &options };
    if args.work.explain {
        print(explain::operation(&job.plan()?, &about, args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let ((), report) =
        write_result(args.output.to.file(), args.output.total, |out| Ok(((), job.run(out)?)))?;
    run.finish(&report, "joined", None);
    hint(&about, &args.work);
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}
