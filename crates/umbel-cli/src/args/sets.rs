//! Options of the verbs about files of lines or records.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use umbel::Variant;
use umbel_numbers::{Fpp, KeyCount};
use umbel_sets::{Keep, Labels};

use super::{NamesArgs, PrintArgs, ResultArgs, SecretArgs, Work};
use crate::named;

/// What stands for a file in front of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Labelled {
    /// Its number among the files, from 1
    Numbers,
    /// Its name
    Names,
}

impl From<Labelled> for Labels {
    fn from(labelled: Labelled) -> Self {
        match labelled {
            Labelled::Numbers => Self::Numbers,
            Labelled::Names => Self::Names,
        }
    }
}

/// Print the lines that all files have
///
/// Each line is printed once, in the first file's order; with --key, the first record of each key, under the first
/// file's header. The answer is exact: lines are compared byte by byte. Memory stays under --memory at any input size;
/// what does not fit is spilled to temporary files.
///
/// Lines end with a line feed; a carriage return before it belongs to the line (see --crlf). Compressed input (gzip,
/// zstd, xz, bzip2, lz4) is recognized by its content.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// Two or more files of lines; - is standard input
    #[arg(required_unless_present = "files_from", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Print every record of the first file whose key all others have, repeats included (semi-join)
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the lines that at least T of the files have, in order of first appearance [default: all; 1 with --which]
    #[arg(long, value_name = "T", value_parser = umbel_numbers::number::<usize>(0..=u64::MAX))]
    pub(crate) at_least: Option<usize>,
    /// Print in front of each line the files that have it, as numbers from 1 or as names: 1,3 and a tab
    ///
    /// With --csv, a column named files; with --jsonl, {"files":[1,3],"record":…}. Lines that only one file has are
    /// printed too, unless --at-least says otherwise.
    #[arg(long, value_name = "LABELS", num_args = 0..=1, require_equals = true, default_missing_value = "numbers")]
    pub(crate) which: Option<Labelled>,
    /// Print the lines that these files have and no others, e.g. 1,3 for the first and the third
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    #[arg(value_parser = umbel_numbers::number::<usize>(1..=u64::MAX))]
    pub(crate) only: Vec<usize>,
    /// Allow this error rate, to read each file only once: half of it for extra lines, half for missing ones
    #[arg(long, value_name = "P")]
    pub(crate) fpp: Option<Fpp>,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Print the lines of the first file that no other file has
///
/// Each line is printed once, in the first file's order; with --key, the first record of each key. The answer is exact:
/// lines are compared byte by byte. Memory stays under --memory at any input size; what does not fit is spilled to
/// temporary files.
///
/// Lines end with a line feed; a carriage return before it belongs to the line (see --crlf). Compressed input (gzip,
/// zstd, xz, bzip2, lz4) is recognized by its content.
#[derive(Debug, Args)]
pub(crate) struct ExceptArgs {
    /// Two or more files of lines: the first, and those to subtract; - is standard input
    #[arg(required_unless_present = "files_from", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Print every record of the first file whose key no other file has, repeats included (anti-join)
    #[arg(long)]
    pub(crate) all: bool,
    /// Allow this error rate, to read each file only once: the chance that a line is wrongly left out
    #[arg(long, value_name = "P")]
    pub(crate) fpp: Option<Fpp>,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Print the rows of two files side by side where they have the same key
///
/// Each row of LEFT is printed with the columns, words or JSON members of its partner in RIGHT that are not the key; with
/// every partner, if there are several. Rows are in the order of LEFT, and the partners of one in that of RIGHT. A
/// record without the key has no partner (see --missing).
///
/// Keys are compared byte by byte. Memory stays under --memory at any input size; what does not fit is spilled to temporary
/// files. A key with many rows in both files has as many pairs as their product.
#[derive(Debug, Args)]
pub(crate) struct JoinVerbArgs {
    /// Two files of records, LEFT and RIGHT; - is standard input
    #[arg(required_unless_present = "files_from", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Print rows of LEFT without a partner too, with empty columns
    #[arg(long)]
    pub(crate) left: bool,
    /// Print rows without a partner of both files; those of RIGHT at the end
    #[arg(long)]
    pub(crate) full: bool,
    /// Use only the first partner of a row
    #[arg(long)]
    pub(crate) first: bool,
    /// Stop if a row has several partners
    #[arg(long)]
    pub(crate) unique: bool,
    /// Put TEXT in front of columns of RIGHT that are named like one of LEFT, besides the key; with --jsonl, of all of RIGHT
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// The same for columns of LEFT that are named like one of RIGHT
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub(crate) left_prefix: Option<String>,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// A column, and how far its numbers may be from each other.
fn tolerance(text: &str) -> Result<(String, f64), String> {
    let parts =
        text.rsplit_once('=').and_then(|(name, most)| Some((name, most.parse::<f64>().ok()?)));
    match parts {
        Some((name, most)) if most >= 0.0 && !name.is_empty() => Ok((name.to_owned(), most)),
        _ => Err("write a column and a number, as in price=0.01".to_owned()),
    }
}

/// Which record of a key is kept.
fn kept(text: &str) -> Result<String, String> {
    match Keep::named(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("write first, last, min:FIELD or max:FIELD".to_owned()),
    }
}

/// Print the lines that only one of two files has: - for OLD, + for NEW
///
/// The order of the lines does not matter. Each different line is printed once: first the removed ones (-) in the order
/// of OLD, then the added ones (+) in the order of NEW. With --key, a row of NEW is marked as changed (~) if a removed
/// row of OLD has the same key. The comparison is exact, under the memory cap.
///
/// A line of both files that one has more often is not printed without --counts. Such lines are counted in the report, and
/// the exit status is 1 as for other differences.
///
/// --total prints the numbers of lines removed, added and kept, and with --key changed.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Two files of lines, OLD and NEW; - is standard input
    #[arg(required_unless_present = "files_from", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Print the lines without marks: the symmetric difference, under the header of OLD
    #[arg(long)]
    pub(crate) symmetric: bool,
    /// Write the lines that only NEW has, and the changed ones, to FILE
    ///
    /// With --added, --removed or --kept, lines have no marks, and nothing is printed.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) added: Option<PathBuf>,
    /// Write the changed lines, as NEW has them, to FILE and not to that of --added
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) changed: Option<PathBuf>,
    /// Write the lines that only OLD has, and the old rows of changed ones, to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) removed: Option<PathBuf>,
    /// Write the lines that both have to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) kept: Option<PathBuf>,
    /// Ignore this column of --csv or --tsv: rows that differ only in it are the same; repeat for several
    #[arg(long, value_name = "FIELD", conflicts_with = "raw")]
    pub(crate) ignore_column: Vec<String>,
    /// Print the old row (<) before each changed one (~)
    #[arg(long)]
    pub(crate) old: bool,
    /// Also print the lines that both files have, but one more often, marked by how much more often NEW has them: +2 or -1
    #[arg(long, hide_short_help = true)]
    pub(crate) counts: bool,
    /// Print the mark as a first column named change, under the header: valid CSV; with --jsonl, {"change":"~","record":…}
    #[arg(long)]
    pub(crate) mark_column: bool,
    /// Print the changed cells instead of rows: the key, the column, the old and the new value; others are counted
    #[arg(long)]
    pub(crate) cells: bool,
    /// Take numbers of a column for equal if they are no further from each other than this; repeat for several
    #[arg(long, value_name = "COLUMN=DISTANCE", value_parser = tolerance, conflicts_with = "total")]
    pub(crate) tolerance: Vec<(String, f64)>,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Print each different line once, in order of first appearance
///
/// With --key, the first record of each key is printed. The answer is exact: lines are compared byte by byte. Memory
/// stays under --memory at any input size. Files are read twice, so that only lines that may repeat are kept in memory;
/// pipes and compressed files are first copied to a temporary file. Lines end with a line feed; a carriage return
/// before it belongs to the line (see --crlf).
///
/// Of several files, this is their union, and umbel union is the same verb. For lines that no earlier run has seen, see
/// umbel unseen.
#[derive(Debug, Args)]
pub(crate) struct DedupArgs {
    /// Files of lines, read as one [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Match the columns of --csv or --tsv by name: all rows get those of all files, empty where a file lacks one
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
    #[arg(long, value_name = "N", group = "some", hide_short_help = true)]
    pub(crate) at_least: Option<NonZeroU64>,
    /// With --repeated or --at-least: print every record of such a key, not one
    #[arg(long, requires = "some")]
    pub(crate) all: bool,
    /// Which of the records with the same key to print: first, last, min:FIELD or max:FIELD
    ///
    /// min and max take the least or the greatest value of a field, and of equal ones the first record. Numbers are compared by
    /// their values, and anything else by its bytes, as dates such as 2024-01-31. Of numbers and texts under the same key, only
    /// the numbers count, and an empty value only if there is no other.
    #[arg(long, value_name = "WHICH", default_value = "first", value_parser = kept)]
    pub(crate) keep: String,
    /// Print the number of each record's line first, as a column named line; with several files, the file's name before it
    #[arg(long, hide_short_help = true)]
    pub(crate) line_number: bool,
    /// Print the count of each line in front of it, followed by a tab
    ///
    /// With --csv, followed by the delimiter; with --jsonl, as {"count":3,"record":…}.
    #[arg(long)]
    pub(crate) count: bool,
    /// Sort by count, largest first; lines with equal counts stay in the order in which they are printed without it
    #[arg(long)]
    pub(crate) by_count: bool,
    /// Print only the N lines with the largest counts, largest first
    #[arg(value_parser = umbel_numbers::number::<NonZeroU64>(1..=u64::MAX))]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<NonZeroU64>,
    /// Allow this error rate, to read each file only once: the chance that a line is wrongly left out
    #[arg(long, value_name = "P")]
    pub(crate) fpp: Option<Fpp>,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Print the lines that no earlier run has seen
///
/// Lines that are not in FILTER are printed and added to it, in one pass that also works on an endless pipe. FILTER is
/// created if it does not exist. A new line is wrongly left out at the filter's false positive rate.
///
/// A run can be interrupted at any time. At each checkpoint it records in FILTER.run what it has printed, and at the end,
/// also after Ctrl-C or TERM, it saves the filter. Lines are printed before they are recorded, so a killed run loses none,
/// and the next run with the same input prints the rest. With --append, each line is in FILE exactly once: FILE is read first,
/// and a line that it has is not appended, whoever wrote it. The next run removes what a killed run wrote after its last
/// checkpoint, and writes it again. If FILE is not as that run left it, the next one refuses to continue, and changes nothing.
/// A pipe may get such lines twice, and the last one cut short.
///
/// Runs with the same filter or the same FILE wait for each other. With a blocked filter larger than --memory, lines are
/// printed after all input is read. --keys, --kind and --fpp describe a new filter; an existing one must agree with them.
#[derive(Debug, Args)]
pub(crate) struct UnseenArgs {
    /// Filter of the lines seen so far
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Append the lines to FILE, which is read first, each exactly once, instead of printing them
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) append: Option<PathBuf>,
    /// False positive rate of a new filter [default: 1e-4]
    #[arg(long, value_name = "P")]
    pub(crate) fpp: Option<Fpp>,
    /// Keys to plan a new filter for [default: 1,000,000, and it grows]; a run that would over-fill it stops
    #[arg(long, value_name = "N")]
    pub(crate) keys: Option<KeyCount>,
    /// Kind of a new filter [default: blocked with --keys, otherwise scalable]
    #[arg(long, value_parser = named::kinds::<Variant>())]
    pub(crate) kind: Option<Variant>,
    /// Time between checkpoints: seconds, or with a unit, e.g. 500ms or 5min
    #[arg(long, value_name = "TIME", default_value = "60", value_parser = umbel_numbers::seconds)]
    pub(crate) checkpoint: Duration,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
}
