//! `umbel common`: the lines files share.

use std::io::Write;

use umbel_numbers::Fpp;
use umbel_sets::{Holders, Input, Labels, Options, SetOperation};

use super::explain::Job;
use super::operation::select;
use crate::args::{LABELS, LinesArgs, PrintArgs};
use crate::choices;
use crate::lines::{self, RowsOf};
use crate::output::check_lines;
use crate::verbs::prelude::*;

/// Print the lines that are in all files
///
/// Prints each line once, in the first file's order; with --key, the first record of each key, under the first file's header.
/// The answer is exact: lines are compared byte by byte. Files may be larger than memory; what does not fit under --memory
/// goes to temporary files.
///
/// Lines end with a line feed. A carriage return before it belongs to the line (see --crlf). Compressed files (gzip, zstd, xz,
/// bzip2, lz4) are recognized by their content.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// Two or more files of lines; - is standard input
    #[arg(required_unless_present = "files_from", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print every record of the first file whose key is in all others (semi-join)
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the lines in at least T files [default: all; 1 with --which]
    #[arg(long, value_name = "T", value_parser = umbel_numbers::number::<usize>(0..=u64::MAX))]
    pub(crate) at_least: Option<usize>,
    /// Print the files of each line in front of it: 1,3 and a tab, or --which=names
    ///
    /// With --csv, this is a column named files; with --jsonl, {"files":[1,3],"record":…}. Lines of only one file are printed as
    /// well, unless --at-least is given.
    #[arg(long, value_name = "LABELS", num_args = 0..=1, require_equals = true, default_missing_value = "numbers")]
    #[arg(value_parser = choices::of(LABELS))]
    pub(crate) which: Option<Labels>,
    /// Print the lines in exactly these files, e.g. 1,3
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    #[arg(value_parser = umbel_numbers::number::<usize>(1..=u64::MAX))]
    pub(crate) only: Vec<usize>,
    /// Read files only once, at this error rate: half extra lines, half missing ones
    #[arg(long, value_name = "P")]
    pub(crate) fpp: Option<Fpp>,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
    #[command(flatten)]
    pub(crate) lines: LinesArgs,
}

impl Verb for CommonArgs {
    const NAME: &str = "common";
    const HELP: &str = "
also intersect, intersection, inter, semi join, both, inner, comm -12
for --v, invert: umbel except prints lines that no other file has
umbel common monday.txt tuesday.txt   lines in both files
umbel common --at-least 2 *.txt   lines in two files or more
umbel common --which *.txt   each line with its files
umbel common --only 2 monday.txt tuesday.txt   lines in tuesday.txt alone
umbel common -k id a.csv b.csv   rows whose id is in both files
umbel common --all -k customer=id orders.csv users.csv   all orders of these users (semi-join)
0 lines were found
1 no line was found
";
    const RUN: fn(&Self) -> Result<Outcome> = common;
}

pub(crate) fn common(args: &CommonArgs) -> Result<Outcome> {
    check_lines(&args.lines)?;
    let mut options = lines::options_of_several(&args.lines.work, &args.files, false)?;
    let run = Run::start("common", args.lines.work.voice, &options.resources.progress);
    let of_all = args.at_least.is_some() || args.which.is_some() || !args.only.is_empty();
    let rows = if of_all { args.print.rows_of_all() } else { RowsOf::One };
    let inputs = lines::open_several(&args.files, &args.lines.work, rows, &mut options)?;
    let inputs = lines::keys_alone(inputs, args.print.print, &mut options)?;
    let about = Job { verb: "common", inputs: &inputs, options: &options };
    if args.which.is_some() || !args.only.is_empty() {
        let job = holders(args, &inputs, &options)?;
        let (plan, work) = (|| job.plan(), |out: &mut (dyn Write + Send)| job.run(out));
        return select(&plan, &work, &about, &args.lines, run, "found");
    }
    let at_least = args.at_least.unwrap_or(inputs.len());
    let job = SetOperation::common(&inputs, at_least, &options)?
        .with_error(args.fpp.map(|fpp| fpp.0))
        .every(args.all)
        .sorted(args.print.sort);
    select(&|| job.plan(), &|out| job.run(out), &about, &args.lines, run, "common")
}

/// The lines with the files that have them.
fn holders<'a>(
    args: &CommonArgs,
    inputs: &'a [Input],
    options: &'a Options,
) -> Result<Holders<'a>> {
    let job = Holders::new(inputs, options)?.at_least(args.at_least.unwrap_or(1))?;
    if let Some(file) = args.only.iter().find(|file| **file > inputs.len()) {
        bail!("--only {file}: found {} files, which are numbered from 1", inputs.len());
    }
    let only: Vec<_> = args.only.iter().map(|file| file - 1).collect();
    Ok(job.sorted(args.print.sort).only(&only).with_labels(args.which))
}
