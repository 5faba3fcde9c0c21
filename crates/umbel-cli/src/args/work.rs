//! What the verbs that go through lines share: their inputs, what a record and its key are, memory, messages.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum, ValueHint};
use umbel_numbers::Bytes;
use umbel_sets::Empty;

use crate::target::Sort;

/// What the verbs that go through lines share.
#[derive(Debug, Args)]
pub(crate) struct Work {
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    /// Read more file names from LIST, one per line, or NUL-separated with --null; - is standard input
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath, help_heading = "Input")]
    pub(crate) files_from: Option<PathBuf>,
    /// Read all files in each folder named, and in folders within it, as if each was named
    ///
    /// They are read in the order of their paths, byte by byte. Hidden files are read too; links in a folder are not followed,
    /// and pipes and devices in it are left out, as grep -r does. A file that cannot be read, or is damaged, is named, and
    /// counts up to there; the others are read, and the exit status is 2.
    #[arg(short, long, help_heading = "Input")]
    pub(crate) recursive: bool,
    /// End lines with a NUL byte instead of a line feed, in input and output
    #[arg(short = '0', long = "null", help_heading = "Input")]
    pub(crate) null: bool,
    /// Memory cap of the whole process, from 16MiB, e.g. 4GiB [default: a quarter of the machine's memory]
    #[arg(short, long, value_name = "SIZE", help_heading = "Resources")]
    pub(crate) memory: Option<Bytes>,
    /// Number of threads [default: one per processor, fewer under a small --memory]
    #[arg(short = 'j', long, value_name = "N", help_heading = "Resources", value_parser = umbel_numbers::threads)]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Folder for temporary files; repeat to use several in turn [default: $TMPDIR or /tmp]
    ///
    /// A file goes on in the next folder when the disk of its own is full. Temporary files are gone after the run, however
    /// it ends.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Resources")]
    pub(crate) tmp: Vec<PathBuf>,
    /// Print the plan (passes, bytes, memory) and exit
    #[arg(long, help_heading = "Messages")]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// The memory cap, in bytes: what `--memory` says, or a quarter of what there is, or of 1 GiB if that is unknown.
fn memory(given: Option<Bytes>) -> u64 {
    given.map_or_else(|| umbel_io::memory().unwrap_or(1 << 30) / 4, |bytes| bytes.0)
}

impl Work {
    /// The memory cap, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        memory(self.memory)
    }

    /// What is written of lines.
    pub(crate) fn writes(&self) -> Sort {
        if self.null { Sort::Nulls } else { Sort::Text }
    }
}

/// What a record is, and what of it is its key.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Read comma-separated values (RFC 4180), in which quoted fields may contain line feeds
    #[arg(long, help_heading = "Input", conflicts_with_all = ["tsv", "jsonl", "null"])]
    pub(crate) csv: bool,
    /// Read tab-separated values, in which quotes have no meaning
    #[arg(long, help_heading = "Input", conflicts_with_all = ["jsonl", "null"])]
    pub(crate) tsv: bool,
    /// Read JSON, one value per line
    #[arg(long, help_heading = "Input", conflicts_with = "null")]
    pub(crate) jsonl: bool,
    /// Read words separated by blanks, as awk does: --key 7 is the seventh word of a line
    ///
    /// A carriage return at the end of a line is no part of the last word.
    #[arg(long, help_heading = "Input", conflicts_with_all = ["csv", "tsv", "jsonl"], requires = "key")]
    pub(crate) fields: bool,
    /// Compare or look up this field instead of the whole record; repeat for a key of several fields
    ///
    /// A column, by its name in the header or its number from 1; or a path into JSON: user.id, tags.0, or a JSON
    /// pointer such as /a.b/c. LEFT=RIGHT where the first file and the others have different names (common, except, diff, join),
    /// and LEFT= where the others are lists of keys, one per line; an equals sign in a name is written twice. Whole records are printed, whatever their key.
    #[arg(short, long, value_name = "FIELD", help_heading = "Input")]
    pub(crate) key: Vec<String>,
    /// Treat the first record as data: columns are named by number, and no header is printed
    #[arg(long, help_heading = "Input")]
    pub(crate) no_header: bool,
    /// Byte between the fields of --csv, e.g. ; or \t for a tab; repeat for files that differ [default: ,]
    ///
    /// The first one is that of the first file and of the output; the last one holds for all files after it.
    #[arg(short, long, value_name = "BYTE", help_heading = "Input")]
    pub(crate) delimiter: Vec<Delimiter>,
    /// What quotes mean in --csv: with none, they are bytes like others, as in inch marks
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "double",
        help_heading = "Input",
        conflicts_with = "raw"
    )]
    pub(crate) quotes: Quotes,
    /// Leave out the first N lines of each file, as before a header
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true,
        help_heading = "Input",
        conflicts_with = "null"
    )]
    #[arg(value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) skip: u64,
    /// Leave out lines that begin with BYTE, e.g. #
    #[arg(long, value_name = "BYTE", help_heading = "Input", conflicts_with = "null")]
    pub(crate) comment: Option<Delimiter>,
    /// What to do with a row of --csv or --tsv that has fewer or more fields than its file has columns [default: take it as it
    /// is where no column moves]
    #[arg(long, value_name = "WHAT", help_heading = "Input")]
    pub(crate) ragged: Option<OnRagged>,
    /// What to do with a record that lacks a field of the key
    #[arg(long, value_name = "WHAT", default_value = "error", help_heading = "Input")]
    pub(crate) missing: OnMissing,
    /// What an empty value in a key is [default: value; keep for join]
    #[arg(long, value_name = "WHAT", help_heading = "Input")]
    pub(crate) empty: Option<OnEmpty>,
    /// What to do with a record that cannot be parsed
    #[arg(long, value_name = "WHAT", default_value = "error", help_heading = "Input")]
    pub(crate) bad: OnBad,
    /// Compare whole rows of --csv and values of --jsonl as they are written: "x",1 and x,1 then differ, and 1.0 and 1
    #[arg(long, help_heading = "Comparison (lines are printed unchanged)")]
    pub(crate) raw: bool,
    /// Ignore the case of letters
    #[arg(long, help_heading = "Comparison (lines are printed unchanged)")]
    pub(crate) ignore_case: bool,
    /// Ignore blanks at both ends
    #[arg(long, help_heading = "Comparison (lines are printed unchanged)")]
    pub(crate) trim: bool,
    /// Ignore a carriage return at the end
    #[arg(long, help_heading = "Comparison (lines are printed unchanged)")]
    pub(crate) crlf: bool,
    /// Compare values of this sort in their normal form; repeat for several. Other values stay as they are
    #[arg(long, value_name = "FORM", help_heading = "Comparison (lines are printed unchanged)")]
    pub(crate) normalize: Vec<NormalForm>,
}

/// What quotes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Quotes {
    /// Around a field; one in it is doubled (RFC 4180)
    Double,
    /// Nothing
    None,
}

/// What to do with a row that has another number of fields than its file has columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnRagged {
    /// Stop with an error
    Refuse,
    /// Add empty fields, and cut off empty ones that are too many; stop if those are not empty
    Pad,
}

/// What to do with a record without its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnMissing {
    /// Stop with an error
    Error,
    /// Leave it out
    Skip,
    /// Treat it as different from all others
    Keep,
}

/// What an empty value in a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnEmpty {
    /// A value like any other
    Value,
    /// Leave the record out
    Skip,
    /// Treat it as different from all others
    Keep,
}

impl From<OnEmpty> for Empty {
    fn from(empty: OnEmpty) -> Self {
        match empty {
            OnEmpty::Value => Self::Value,
            OnEmpty::Skip => Self::Skip,
            OnEmpty::Keep => Self::Keep,
        }
    }
}

/// What to do with a record that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnBad {
    /// Stop with an error
    Error,
    /// Leave it out
    Skip,
}

/// A normal form of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NormalForm {
    /// URLs as the WHATWG standard writes them: scheme and host in lower case, no default port, no fragment
    Url,
    /// Email addresses: the domain in lower case, and in ASCII as IDNA writes it (RFC 5321, RFC 5890)
    Email,
    /// Numbers by their exact value: 1, 01, +1, 1.0 and 1e0 are equal, and .5 and 0.5
    Number,
    /// Numbers, also with commas between their thousands: 1,234.50 and 1234.5 are equal
    Thousands,
    /// Text in Unicode's Normalization Form C (UAX #15): é as one letter and as e with an accent are equal
    Nfc,
}

/// A byte that stands between fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delimiter(pub(crate) u8);

impl FromStr for Delimiter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match *text.as_bytes() {
            [byte] => Ok(Self(byte)),
            [b'\\', b't'] => Ok(Self(b'\t')),
            _ => Err(format!("{text:?} is not one byte, such as ; or |, or \\t for a tab")),
        }
    }
}

/// What a filter calls the fields that its keys are taken from.
#[derive(Debug, Default, Args)]
pub(crate) struct NamesArgs {
    /// Name of the --key field in the filter, if the input names it differently; once per --key
    #[arg(long = "as", value_name = "NAME", requires = "key", help_heading = "Input")]
    pub(crate) names: Vec<String>,
}

/// How large a filter may be that a small file makes.
#[derive(Debug, Default, Args)]
pub(crate) struct MostArgs {
    /// Largest filter to make of a file whose signature is not checked [default: a quarter of the machine's memory]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,
}

impl MostArgs {
    /// The limit, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        memory(self.memory)
    }
}

/// How a verb talks.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Voice {
    /// Print the full report at the end [default: one line, on a terminal only]
    #[arg(long, global = true, help_heading = "Messages")]
    pub(crate) verbose: bool,
    /// Print reports, plans and receipts as JSON, one object per line
    #[arg(long, global = true, help_heading = "Messages")]
    pub(crate) json: bool,
    /// Print only errors, and a warning if a filter is over-filled
    #[arg(long, short, global = true, help_heading = "Messages")]
    pub(crate) quiet: bool,
    /// Exit with 0, not 1, if nothing was found: for scripts that stop at errors
    #[arg(long, global = true, help_heading = "Messages")]
    pub(crate) empty_ok: bool,
}
