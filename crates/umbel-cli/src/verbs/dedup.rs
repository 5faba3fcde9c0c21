//! `umbel dedup`: each different line once.

use std::num::NonZeroU64;

use anyhow::{Result, anyhow, bail};
use umbel_sets::{Distinct, Keep, SetOperation, Top};

use super::explain::Job;
use super::operation::select;
use crate::args::{DedupArgs, Print};
use crate::lines;
use crate::output::check_target;
use crate::report::Run;
use crate::{Outcome, elsewhere};

pub(crate) fn dedup(args: &DedupArgs, name: &'static str) -> Result<Outcome> {
    check_target(args.output.to.file(), args.work.writes(), args.output.to.replace.force)?;
    let options = lines::options_of_tables(&args.work, &args.files, args.by_name);
    let mut options = options.map_err(|error| match error.is::<lines::DelimiterAlone>() {
        true => anyhow!("{error}; {}", elsewhere::UNIQ_D),
        false => error,
    })?;
    if args.by_name && !options.form.records.has_header() {
        bail!("--by-name needs the names of columns: --csv or --tsv, without --no-header");
    }
    if args.print.print == Print::Key && (args.line_number || args.keep.contains(':')) {
        bail!(
            "--line-number and a field of --keep are those of a record, and --print key prints none; omit one of them"
        );
    }
    options.form.by_name = args.by_name;
    let run = Run::start(name, args.work.voice, &options.resources.progress);
    let inputs =
        lines::open_rereadable(&args.files, &args.work, args.print.rows_of_all(), &options)?;
    let inputs = lines::keys_alone(inputs, args.print.print, &mut options)?;
    let at_least = if args.repeated { 2 } else { args.at_least.map_or(1, NonZeroU64::get) };
    let distinct = Distinct {
        at_least,
        at_most: if args.unique { 1 } else { u64::MAX },
        keep: match Keep::named(&args.keep) {
            _ if args.all => Keep::All,
            Some(Keep::Least(_) | Keep::Greatest(_)) if options.form.records.key().is_empty() => {
                bail!(
                    "--keep {}: chooses among records with the same key; name it with --key, of --csv, --tsv, --fields or --jsonl",
                    args.keep
                )
            }
            keep => keep.unwrap_or_default(),
        },
        counted: args.count,
        numbered: args.line_number,
        ranked: match args.top {
            Some(most) => Some(Top(most.get())),
            None => args.by_count.then_some(Top::ALL),
        },
    };
    let job = SetOperation::distinct(&inputs, distinct, &options)?
        .with_error(args.fpp.map(|fpp| fpp.0))
        .sorted(args.print.sort);
    let found = match (args.unique, at_least) {
        (true, _) => "unique",
        (false, 2..) => "repeated",
        _ => "different",
    };
    let about = Job { verb: name, inputs: &inputs, options: &options };
    let outcome =
        select(&|| job.plan(), &|out| job.run(out), &about, &args.work, &args.output, run, found)?;
    // A search for repeats may find nothing; removing repeats always succeeds, even for an empty list.
    Ok(if args.repeated || args.unique || args.at_least.is_some() {
        outcome
    } else {
        Outcome::Done
    })
}
