//! `umbel join`: the rows of two files with the same key, side by side.

use std::io::Write;

use anyhow::{Result, bail};
use umbel_numbers::Count;
use umbel_sets::{Empty, Join, Partners, Unpaired};

use super::explain::Job;
use super::operation::select;
use crate::Outcome;
use crate::args::JoinVerbArgs;
use crate::lines::{self, Rows};
use crate::output::check_target;
use crate::report::{Run, say};

pub(crate) fn join(args: &JoinVerbArgs) -> Result<Outcome> {
    check_target(args.output.to.file(), args.work.writes(), args.output.to.replace.force)?;
    let mut options = lines::options_of_several(&args.work, &args.files, false)?;
    options.form.empty = args.work.records.empty.map_or(Empty::Keep, Into::into);
    let run = Run::start("join", args.work.voice, &options.resources.progress);
    if options.form.records.key().is_empty() {
        bail!(
            "rows are joined by a key; name it with --key, and the format with --csv, --tsv, --jsonl or --fields"
        );
    }
    let inputs = lines::open_several(&args.files, &args.work, Rows::OfOne, &mut options)?;
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
        .with_prefixes([args.left_prefix.as_deref(), args.prefix.as_deref()]);
    let job = if args.output.total { job.only_counted() } else { job };
    let about = Job { verb: "join", inputs: &inputs, options: &options };
    let plan = job.plan()?;
    let read: u64 = plan.lines.iter().sum();
    // A count alone takes no time.
    let shown = !args.output.total && !args.work.voice.quiet && !args.work.voice.json;
    if plan.product > MANY * read.max(100_000) && shown {
        say(&format!(
            "umbel join: warning: about {} rows; some keys have many rows in both files (--first takes one partner for each row)",
            Count(plan.pairs.unwrap_or(0))
        ));
    }
    let (planned, work) = (|| Ok(plan.clone()), |out: &mut (dyn Write + Send)| job.run(&plan, out));
    select(&planned, &work, &about, &args.work, &args.output, run, "joined")
}

/// With so many rows for each one read, and a million of them, a join is seldom what was meant.
const MANY: u64 = 10;
