//! `umbel except`: the lines of one file that others do not have.

use umbel_numbers::Fpp;
use umbel_sets::SetOperation;

use super::explain::Job;
use super::operation::select;
use crate::args::{LinesArgs, PrintArgs};
use crate::lines::{self, RowsOf};
use crate::output::check_lines;
use crate::verbs::prelude::*;

/// Print the lines of the first file that are in no other file
///
/// Prints each line once, in the first file's order; with --key, the first record of each key. The answer is exact: lines are
/// compared byte by byte. Files may be larger than memory; what does not fit under --memory goes to temporary files.
///
/// Lines end with a line feed. A carriage return before it belongs to the line (see --crlf). Compressed files (gzip, zstd, xz,
/// bzip2, lz4) are recognized by their content.
#[derive(Debug, Args)]
pub(crate) struct ExceptArgs {
    /// Two or more files of lines: the first, and files to subtract; - is standard input
    #[arg(required_unless_present = "files_from", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print every record whose key is in no other file, repeats included (anti-join)
    #[arg(long)]
    pub(crate) all: bool,
    /// Read files only once, and leave a line out by mistake with probability P
    #[arg(long, value_name = "P")]
    pub(crate) fpp: Option<Fpp>,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
    #[command(flatten)]
    pub(crate) lines: LinesArgs,
}

impl Verb for ExceptArgs {
    const NAME: &str = "except";
    const HELP: &str = "
also minus, subtract, difference, setdiff, anti join, exclude, missing lines
umbel except all.txt blocked.txt   lines in the first file alone
umbel except -k id a.csv b.csv   rows whose id is in the first file alone
umbel except --all -k customer=id orders.csv users.csv   all orders of other customers (anti-join)
0 lines were found
1 no line was found
";
    const RUN: fn(&Self) -> Result<Outcome> = except;
}

pub(crate) fn except(args: &ExceptArgs) -> Result<Outcome> {
    check_lines(&args.lines)?;
    let mut options = lines::options_of_several(&args.lines.work, &args.files, false)?;
    let run = Run::start("except", args.lines.work.voice, &options.resources.progress);
    let inputs = lines::open_several(&args.files, &args.lines.work, RowsOf::One, &mut options)?;
    let inputs = lines::keys_alone(inputs, args.print.print, &mut options)?;
    let job = SetOperation::except(&inputs, &options)?
        .with_error(args.fpp.map(|fpp| fpp.0))
        .every(args.all)
        .sorted(args.print.sort);
    let about = Job { verb: "except", inputs: &inputs, options: &options };
    select(&|| job.plan(), &|out| job.run(out), &about, &args.lines, run, "left")
}
