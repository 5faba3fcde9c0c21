//! `umbel remove`: remove lines from a counting filter.

use std::io::Write;

use anyhow::{Context, Result};
use umbel::Filter as _;
use umbel_sets::{Filter, Report};

use super::explain;
use crate::Outcome;
use crate::args::{ForeignArgs, RemoveArgs};
use crate::filters::{self, Keys, Locked};
use crate::lines::{self, OutputPath, Rows};
use crate::output::print;
use crate::report::{Run, say};
use crate::wrapped;
use umbel_numbers::{Count, Rate};

pub(crate) fn remove(args: &RemoveArgs) -> Result<Outcome> {
    let mut options = lines::options(&args.work, &args.files)?;
    let secret = filters::secret(&args.secret)?;
    let output = [OutputPath::Filter(&args.filter)];
    let sources = lines::open_beside(&args.files, &args.work, &output, Rows::OfOne, &options)?;
    let foreign = ForeignArgs::default();
    // The lock is kept to the end.
    let key = wrapped::seal(&args.sign, &args.trust.list, &args.filter)?;
    let lock = filters::open_locked(&args.filter, key.is_some())?;
    let trust = wrapped::trust(&args.trust)?;
    wrapped::check_trust(&lock.file, &args.filter, trust.as_ref())?;
    let Locked { filter, lock: _lock, notes } =
        filters::read_locked(lock, &args.filter, secret.as_ref(), &foreign, &options)?;
    filters::check_keys(&filter, &args.filter, &mut options, &args.names, Keys::Asked(None))?;
    let mut filter = filters::own(filter, &args.filter, "remove")?;
    // Refused before any line is read.
    filter.as_counting_mut().with_context(|| args.filter.display().to_string())?;
    if args.work.explain {
        print(explain::plan(filter.plan(), args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let run = Run::start("remove", args.work.voice, &options.resources.progress);
    let rate = filter.receipt().fpp;
    let mut total = Report::default();
    for source in sources {
        let room = umbel_sets::room_left(filter.bytes(), &options.resources);
        total.add(source.read(&options, room, |lines| {
            let removed = umbel_sets::remove(lines, &mut filter, &options);
            removed.map_err(|error| filters::about(error, &args.filter))
        })?);
    }
    run.check_keyed(&total)?;
    let filter = Filter::Own(filter);
    if total.found > 0 {
        let write = |out: &mut (dyn Write + Send)| Ok(filter.write(out)?);
        total.bytes_written +=
            filters::write_changed(&args.filter, notes.as_ref(), key.as_ref(), write)?;
    }
    let absent = total.lines - total.found;
    total.absent = Some(absent);
    if absent > 0 && !args.work.voice.quiet && !args.work.voice.json {
        say(&told(absent, total.found, rate));
    }
    run.finish(&total, "removed", Some(&filter.receipt()));
    Ok(if total.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// How many lines were certainly never added, and what follows for the others: of lines that were never added, some
/// pass by error, at the filter's rate, and decrement counters of other lines.
fn told(absent: u64, removed: u64, rate: f64) -> String {
    let s = if absent == 1 { " was" } else { "s were" };
    let absent_lines = format!("{} line{s} certainly not in the filter", Count(absent));
    if removed == 0 {
        return format!("umbel remove: {absent_lines}");
    }
    let mistaken = (absent as f64 * rate / (1.0 - rate)).min(removed as f64);
    format!(
        "umbel remove: warning: {absent_lines}; at its rate of {}, about {} of those removed were never added either, and \
         lines that share their counters may now be missing: remove only lines that were added",
        Rate(rate),
        Count(mistaken.round() as u64)
    )
}
