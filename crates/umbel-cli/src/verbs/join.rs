//! `umbel join`: the rows of two files with the same key, side by side.

use std::io::Write;

use umbel_numbers::Count;
use umbel_sets::{Empty, Join, Partners, Unpaired};

use super::explain::Job;
use super::operation::select;
use crate::args::LinesArgs;
use crate::lines::{self, RowsOf};
use crate::output::check_lines;
use crate::report::say;
use crate::verbs::prelude::*;

/// Print the rows of two files that have the same key side by side
///
/// Prints each row of LEFT with the columns of its partner in RIGHT other than the key (words with --fields, members with
/// --jsonl). A row with several partners is printed with each of them. Rows are in LEFT's order, partners in RIGHT's. A record
/// without the key, or with an empty one, has no partner (see --missing and --empty).
///
/// Keys are compared byte by byte. Files may be larger than memory; what does not fit under --memory goes to temporary files. A
/// key with many rows in both files makes as many pairs as the product of the two counts.
#[derive(Debug, Args)]
pub(crate) struct JoinArgs {
    /// Two files of records, LEFT and RIGHT; - is standard input
    #[arg(required_unless_present = "files_from", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Also print rows of LEFT without a partner, with empty columns
    #[arg(long)]
    pub(crate) left: bool,
    /// Also print rows of both files without a partner, those of RIGHT at the end
    #[arg(long)]
    pub(crate) full: bool,
    /// Use only the first partner of a row
    #[arg(long)]
    pub(crate) first: bool,
    /// Stop if a row has several partners
    #[arg(long)]
    pub(crate) unique: bool,
    /// Put TEXT in front of columns of RIGHT whose names LEFT also has
    ///
    /// Columns of the key keep their names. With --jsonl, TEXT goes in front of all members of RIGHT.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// Put TEXT in front of columns of LEFT whose names RIGHT also has
    #[arg(long, value_name = "TEXT")]
    pub(crate) left_prefix: Option<String>,
    #[command(flatten)]
    pub(crate) lines: LinesArgs,
}

impl Verb for JoinArgs {
    const NAME: &str = "join";
    const HELP: &str = "
also merge, merge tables, lookup, vlookup, left join, outer join
for --inner: without an option, only rows with a partner are printed
for --right, right-outer: name the files the other way round, with --left
for --anti: umbel except --all prints the rows of the first file without a partner
for --semi: umbel common --all prints the rows of the first file with a partner
for --how: --left and --full also print rows without a partner
umbel join -k customer=id orders.csv customers.csv   orders, each with its customer's columns
umbel join -k customer=id --left orders.csv customers.csv   also orders without a customer
umbel join --fields -k 1 a.txt b.txt   lines with the same first word
0 rows were found
1 no row was found
";
    const RUN: fn(&Self) -> Result<Outcome> = join;
}

pub(crate) fn join(args: &JoinArgs) -> Result<Outcome> {
    check_lines(&args.lines)?;
    let mut options = lines::options_of_several(&args.lines.work, &args.files, false)?;
    options.form.empty = args.lines.work.records.empty.unwrap_or(Empty::Keep);
    let run = Run::start("join", args.lines.work.voice, &options.resources.progress);
    if options.form.records.key().is_empty() {
        bail!(
            "rows are joined by a key; name it with --key, and the format with --csv, --tsv, --jsonl or --fields"
        );
    }
    let inputs = lines::open_several(&args.files, &args.lines.work, RowsOf::One, &mut options)?;
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
    let job = if args.lines.total { job.only_counted() } else { job };
    let about = Job { verb: "join", inputs: &inputs, options: &options };
    let plan = job.plan()?;
    let read: u64 = plan.lines.iter().sum();
    // A count alone takes no time.
    if plan.product > MANY * read.max(100_000) && !args.lines.total {
        say(&format!(
            "umbel: warning: about {} rows; some keys have many rows in both files (--first uses one partner per row)",
            Count(plan.pairs.unwrap_or(0))
        ));
    }
    let (planned, work) = (|| Ok(plan.clone()), |out: &mut (dyn Write + Send)| job.run(&plan, out));
    select(&planned, &work, &about, &args.lines, run, "joined")
}

/// With so many rows for each one read, and a million of them, a join is seldom what was meant.
const MANY: u64 = 10;
