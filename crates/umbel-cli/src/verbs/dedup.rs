//! `umbel dedup`: each different line once.

use std::num::NonZeroU64;

use umbel_numbers::Fpp;
use umbel_sets::{Distinct, Keep, SetOperation, Top};

use super::explain::Job;
use super::operation::select;
use crate::args::{LinesArgs, Print, PrintArgs};
use crate::lines;
use crate::output::check_lines;
use crate::verbs::prelude::*;

/// Which record of a key is kept.
fn kept(text: &str) -> Result<String, String> {
    match Keep::named(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("write first, last, min:FIELD or max:FIELD".to_owned()),
    }
}

/// Print each distinct line once, in order of first appearance
///
/// Several files are read as one, so the result is their union. With --key, prints the first record of each key. The answer is
/// exact: lines are compared byte by byte. Files may be larger than memory: they are read twice, and only lines that may repeat
/// are kept under --memory. Pipes and compressed files are first copied to a temporary file.
///
/// Lines end with a line feed. A carriage return before it belongs to the line (see --crlf). For lines that no earlier run has
/// seen, use umbel unseen.
#[derive(Debug, Args)]
pub(crate) struct DedupArgs {
    /// Files of lines, read as one [default: standard input]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Match columns by their names, empty where a file lacks one
    ///
    /// This stacks tables. Rows that repeat are printed once; with --at-least 1 --all, every row.
    #[arg(long)]
    pub(crate) by_name: bool,
    /// Print only lines that occur more than once
    #[arg(long, group = "some")]
    pub(crate) repeated: bool,
    /// Print only lines that occur once
    #[arg(short, long)]
    pub(crate) unique: bool,
    /// Print only lines that occur at least N times
    #[arg(value_parser = umbel_numbers::number::<NonZeroU64>(1..=u64::MAX))]
    #[arg(long, value_name = "N", group = "some")]
    pub(crate) at_least: Option<NonZeroU64>,
    /// With --repeated or --at-least: print every record of such a key, not just one
    #[arg(long, requires = "some")]
    pub(crate) all: bool,
    /// Record of each key to print: first, last, min:FIELD or max:FIELD
    ///
    /// min and max choose the record with the least or greatest value of a field, and among equal ones the first. Numbers compare
    /// by value, anything else by its bytes without blanks around them, which sorts dates such as 2024-01-31. If a key has both
    /// numbers and texts, only the numbers count. An empty value counts only if there is no other.
    #[arg(long, value_name = "WHICH", default_value = "first", value_parser = kept)]
    pub(crate) keep: String,
    /// Print each record's line number first; with several files, after the file's name
    #[arg(long)]
    pub(crate) line_number: bool,
    /// Print the count of each line in front of it, and a tab
    ///
    /// With --csv, this is a column named count; with --jsonl, {"count":3,"record":…}.
    #[arg(long)]
    pub(crate) count: bool,
    /// Sort by count, largest first; lines with equal counts keep their order
    #[arg(long, hide_short_help = true)]
    pub(crate) by_count: bool,
    /// Print the N most frequent lines, most frequent first
    #[arg(value_parser = umbel_numbers::number::<NonZeroU64>(1..=u64::MAX))]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<NonZeroU64>,
    /// Read files only once, and leave a line out by mistake with probability P
    #[arg(long, value_name = "P")]
    pub(crate) fpp: Option<Fpp>,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
    #[command(flatten)]
    pub(crate) lines: LinesArgs,
}

impl Verb for DedupArgs {
    const NAME: &str = "dedup";
    const HELP: &str = "
also uniq, unique, distinct, sort -u, duplicate rows, remove duplicates, union, merge, cat, concat, stack, stack tables, rbind, count, freq, latest row, newest row, group by
for --seen, keys, kind, checkpoint, secret-file, as: umbel unseen prints the lines that no earlier run has seen, as recorded in a filter
for --n: --line-number prints where each line is, and --top N the most frequent ones
umbel dedup urls.txt > each-once.txt   each line once, as first seen
umbel dedup monday.txt tuesday.txt   the union of two files
umbel dedup --by-name a.csv b.csv   the rows of two tables, columns by name
umbel dedup --repeated --count urls.txt   repeated lines, with counts
umbel dedup -k id --keep last a.csv   the last row of each id
umbel dedup -k customer --keep max:order orders.csv   the latest order of each customer
umbel dedup --top 10 --count urls.txt   the ten most frequent lines
umbel dedup --top 10 --count --fields -k 1 --print key a.log   the ten most frequent first words
0 done, even if the input is empty
1 with --repeated, --unique or --at-least, there is no such line
";
    const RUN: fn(&Self) -> Result<Outcome> = dedup;
}

fn dedup(args: &DedupArgs) -> Result<Outcome> {
    check_lines(&args.lines)?;
    let mut options = lines::options_of_tables(&args.lines.work, &args.files, args.by_name)?;
    if args.by_name && !options.form.records.has_header() {
        bail!("--by-name needs column names: --csv or --tsv, without --no-header");
    }
    if args.print.print == Print::Key && (args.line_number || args.keep.contains(':')) {
        bail!(
            "--line-number and a field of --keep need records, but --print key prints only keys; omit one of them"
        );
    }
    options.form.by_name = args.by_name;
    if let Some(Keep::Least(field) | Keep::Greatest(field)) = Keep::named(&args.keep) {
        options.form.further.push(field.to_owned());
    }
    let run = Run::start("dedup", args.lines.work.voice, &options.resources.progress);
    let inputs =
        lines::open_rereadable(&args.files, &args.lines.work, args.print.rows_of_all(), &options)?;
    let inputs = lines::keys_alone(inputs, args.print.print, &mut options)?;
    let at_least = if args.repeated { 2 } else { args.at_least.map_or(1, NonZeroU64::get) };
    let distinct = Distinct {
        at_least,
        at_most: if args.unique { 1 } else { u64::MAX },
        keep: match Keep::named(&args.keep) {
            _ if args.all => Keep::All,
            Some(Keep::Least(_) | Keep::Greatest(_)) if options.form.records.key().is_empty() => {
                bail!(
                    "--keep {}: chooses among records with the same key; name the key with --key, and the format with --csv, --tsv, --fields or --jsonl",
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
    let about = Job { verb: "dedup", inputs: &inputs, options: &options };
    let outcome = select(&|| job.plan(), &|out| job.run(out), &about, &args.lines, run, found)?;
    // A search for repeats may find nothing; removing repeats always succeeds, even for an empty list.
    let searches = args.repeated || args.unique || args.at_least.is_some();
    Ok(if searches { outcome } else { Outcome::Done })
}
