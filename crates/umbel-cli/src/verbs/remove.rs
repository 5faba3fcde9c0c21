//! `umbel remove`: lines out of a counting filter.

use anyhow::{Context, Result};
use umbel_sets::{Filter, Report};

use super::explain;
use crate::Outcome;
use crate::args::{ForeignArgs, RemoveArgs};
use crate::atomic::Existing;
use crate::filters::{self, Locked};
use crate::lines::{self, Rows, Source};
use crate::numbers::Count;
use crate::output::print;
use crate::report::{self, Run, say};

pub(crate) fn remove(args: &RemoveArgs) -> Result<Outcome> {
    let options = lines::options(&args.work)?;
    let secret = filters::secret(&args.secret)?;
    let sources = lines::open(&args.files, &args.work, Rows::OfOne, &options)?;
    let foreign = ForeignArgs::default();
    // The lock is kept to the end.
    let Locked { filter, lock: _lock, .. } =
        filters::read_locked(&args.filter, secret.as_ref(), &foreign, &options)?;
    let mut filter = filters::own(filter, &args.filter, "remove")?;
    // Refused before any line is read.
    filter.removing().with_context(|| args.filter.display().to_string())?;
    if args.work.explain {
        print(explain::plan(filter.plan(), args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let run = Run::start("remove", args.work.voice, &options.progress);
    let mut total = Report::default();
    for source in sources {
        let part = match source {
            Source::Files(inputs) => umbel_sets::remove(&inputs, &mut filter, &options),
            Source::Stream(stream) => {
                let (name, bytes) = stream.open(&options)?;
                umbel_sets::remove_stream(&name, bytes, &mut filter, &options)
            }
        };
        report::add(&mut total, &part.map_err(|error| filters::about(error, &args.filter))?);
    }
    let filter = Filter::Own(filter);
    filters::write(&filter, &args.filter, Existing::Replace)?;
    total.bytes_written += filter.bytes();
    let absent = total.lines - total.found;
    if absent > 0 && !args.work.voice.quiet && !args.work.voice.json {
        say(&format!("umbel remove: {} lines were certainly not in the filter", Count(absent)));
    }
    run.finish(&total, "removed", Some(&filter.receipt()));
    Ok(Outcome::Done)
}
