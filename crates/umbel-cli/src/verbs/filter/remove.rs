//! `umbel filter remove`: remove lines from a counting filter.

use std::io::Write;

use umbel::Filter as _;
use umbel_numbers::{Count, Rate};
use umbel_sets::{Filter, Report};

use crate::args::{ExplainArgs, ForeignArgs, NamesArgs, SecretArgs, SignArgs, TrustArgs, Work};
use crate::filters::{self, Keys, Locked};
use crate::lines::{self, OutputPath, RowsOf};
use crate::output::only_print;
use crate::report::say;
use crate::verbs::explain;
use crate::verbs::prelude::*;
use crate::wrapped;

/// Remove lines from a counting filter
///
/// Remove only lines that were added, and only as often as they were added. A line that was never added may still pass, at the
/// filter's false positive rate; removing it decrements counters of other lines, which may then be missing. Lines that are
/// definitely not in the filter change nothing. The report counts them, and estimates how many others were never added.
///
/// The filter is replaced in one step when all lines are removed. After an error or a crash it is unchanged. Other kinds of
/// filters cannot forget a line.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Counting filter to remove from
    pub(crate) filter: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) explain: ExplainArgs,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

impl Verb for RemoveArgs {
    const NAME: &str = "filter remove";
    const HELP: &str = "
also delete, rm, del
umbel filter remove held.umbel gone.txt   remove lines from a counting filter
0 a line was removed
1 none of the lines was in the filter, which is unchanged
";
    const RUN: fn(&Self) -> Result<Outcome> = remove;
}

pub(crate) fn remove(args: &RemoveArgs) -> Result<Outcome> {
    let mut options = lines::options(&args.work, &args.files)?;
    let secret = filters::secret(&args.secret)?;
    let output = [OutputPath::Filter(&args.filter)];
    let sources = lines::open_beside(&args.files, &args.work, &output, RowsOf::One, &options)?;
    let foreign = ForeignArgs::default();
    // The lock is kept to the end.
    let key = wrapped::signing(&args.sign, &args.trust.list, &args.filter)?;
    let lock = filters::open_locked(&args.filter, key.as_ref())?;
    wrapped::check_trust(&lock.file, &args.filter, &args.trust)?;
    let Locked { filter, lock: _lock, notes } =
        filters::read_locked(lock, &args.filter, secret.as_ref(), &foreign, &options)?;
    let keys = Keys::Asked(None, &args.files, &args.work);
    filters::check_keys(&filter, &args.filter, &mut options, &args.names, keys)?;
    let mut filter = filters::own(filter, &args.filter, "filter remove")?;
    // Refused before any line is read.
    filter.as_counting_mut().with_context(|| args.filter.display().to_string())?;
    if args.explain.explain {
        return only_print(explain::plan(filter.plan(), args.work.voice.json));
    }
    let run = Run::start("filter remove", args.work.voice, &options.resources.progress);
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
        say(&absent_words(absent, total.found, rate));
    }
    run.finish(&total, "removed", Some(&filter.receipt()), &[]);
    Ok(if total.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// How many lines were certainly never added, and what follows for the others: of lines that were never added, some
/// pass by error, at the filter's rate, and decrement counters of other lines.
fn absent_words(absent: u64, removed: u64, rate: f64) -> String {
    let s = if absent == 1 { " was" } else { "s were" };
    let absent_lines = format!("{} line{s} certainly not in the filter", Count(absent));
    if removed == 0 {
        return format!("umbel filter remove: {absent_lines}");
    }
    let mistaken = (absent as f64 * rate / (1.0 - rate)).min(removed as f64);
    format!(
        "umbel filter remove: warning: {absent_lines}; at its rate of {}, about {} of the removed lines were never added either, and lines that share their counters may now be missing; remove only lines that were added",
        Rate(rate),
        Count(mistaken.round() as u64)
    )
}
