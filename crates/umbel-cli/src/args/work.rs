//! What the verbs that go through lines share: their inputs, what a record and its key are, memory, messages.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum, ValueHint};
use umbel_io::compression::Compression;
use umbel_numbers::Size;
use umbel_sets::{Bad, Empty, Missing, Ragged};

use super::OutputArgs;
use crate::choices::{self, Choice};
use crate::target::FileType;

/// What the verbs that go through lines share.
#[derive(Debug, Args)]
pub(crate) struct Work {
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    /// Read more file names from LIST, one per line, or NUL-separated with --null; - is standard input
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath, help_heading = "Input")]
    pub(crate) files_from: Option<PathBuf>,
    /// Read every file in the named folders, recursively
    ///
    /// Files are read in the byte order of their paths, hidden ones included. As with grep -r, links in a folder are not followed,
    /// and pipes and devices are skipped. A file that is damaged or cannot be read is reported, and counts up to there; the
    /// others are read, and the exit status is 2.
    #[arg(short, long, help_heading = "Input")]
    pub(crate) recursive: bool,
    /// End lines with a NUL byte instead of a line feed, in input and output
    #[arg(short = '0', long = "null", help_heading = "Input")]
    pub(crate) null: bool,
    /// Memory cap, e.g. 4GiB [default: a quarter of the machine's memory]
    ///
    /// At least 16MiB. It bounds the whole process, which stays below the cap plus 32 MiB.
    #[arg(short, long, value_name = "SIZE", help_heading = "Resources")]
    pub(crate) memory: Option<Size>,
    /// Number of threads [default: one per processor, fewer under a small --memory]
    #[arg(short = 'j', long, value_name = "N", help_heading = "Resources", value_parser = umbel_numbers::threads)]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Folder for temporary files; repeat to use several in turn [default: $TMPDIR, else /tmp, or /var/tmp if /tmp is in memory]
    ///
    /// When one disk is full, a file continues in the next folder. Temporary files are gone after the run, however it ends.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Resources")]
    pub(crate) tmp: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// The memory cap, in bytes: what `--memory` says, or a quarter of what there is, or of 1 GiB if that is unknown.
fn memory(given: Option<Size>) -> u64 {
    given.map_or_else(|| umbel_io::memory().unwrap_or(1 << 30) / 4, |bytes| bytes.0)
}

impl Work {
    /// The memory cap, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        memory(self.memory)
    }

    /// The byte that ends a line.
    pub(crate) fn line_end(&self) -> u8 {
        if self.null { 0 } else { b'\n' }
    }

    /// What is written of lines.
    pub(crate) fn writes(&self) -> FileType {
        if self.null { FileType::Nulls } else { FileType::Text }
    }
}

/// What a record is, and what of it is its key.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Read CSV (RFC 4180); quoted fields may contain line feeds
    #[arg(long, help_heading = "Input", conflicts_with_all = ["tsv", "jsonl", "null"])]
    pub(crate) csv: bool,
    /// Read tab-separated values; quotes have no meaning
    #[arg(long, help_heading = "Input", conflicts_with_all = ["jsonl", "null"])]
    pub(crate) tsv: bool,
    /// Read JSON, one value per line
    #[arg(long, help_heading = "Input", conflicts_with = "null")]
    pub(crate) jsonl: bool,
    /// Read words separated by blanks; --key 7 is the seventh, as in awk
    ///
    /// A carriage return at the end of a line does not belong to the last word.
    #[arg(long, help_heading = "Input", conflicts_with_all = ["csv", "tsv", "jsonl"], requires = "key")]
    pub(crate) fields: bool,
    /// Compare this field instead of the whole record; repeat for several
    ///
    /// FIELD is a column's name, its number in each file (from 1), or a path in JSON: user.id, tags.0, or a pointer such as /a.b/c. Files
    /// named .csv, .tsv, .jsonl or .ndjson, compressed or not, then need no --csv, --tsv or --jsonl. Whole records are printed.
    ///
    /// LEFT=RIGHT if the other files name or number the field differently (common, except, diff, join).
    ///
    /// LEFT= if the other files are bare lists of keys, one per line (common, except, join).
    ///
    /// An equals sign in a name is written twice.
    #[arg(short, long, value_name = "FIELD", help_heading = "Input")]
    pub(crate) key: Vec<String>,
    /// Treat the first record as data: columns are named by number, and no header is printed
    #[arg(long, help_heading = "Input")]
    pub(crate) no_header: bool,
    /// Byte between the fields of --csv, e.g. ; or \t for a tab; repeat for files that differ [default: ,]
    ///
    /// The first is for the first file and the output, the last for all remaining files.
    #[arg(short, long, value_name = "BYTE", help_heading = "Input")]
    pub(crate) delimiter: Vec<Delimiter>,
    /// What quotes mean in --csv: with none, they are ordinary bytes, such as inch marks
    #[arg(long, value_name = "WHAT", default_value = "double", conflicts_with = "raw")]
    #[arg(help_heading = "Input")]
    pub(crate) quotes: Quotes,
    /// Skip the first N lines of each file, before the header
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Input", value_parser = umbel_numbers::number::<u64>(0..=u64::MAX), conflicts_with = "null")]
    pub(crate) skip: u64,
    /// Skip lines that begin with BYTE, e.g. #
    #[arg(long, value_name = "BYTE", help_heading = "Input", conflicts_with = "null")]
    pub(crate) comment: Option<Delimiter>,
    /// What to do with a row that has more or fewer fields than the file has columns [default: accept it if no column moves]
    #[arg(long, value_name = "WHAT", value_parser = choices::of(ON_RAGGED))]
    #[arg(help_heading = "Input")]
    pub(crate) ragged: Option<Ragged>,
    /// What to do with a record that lacks a field of the key
    #[arg(long, value_name = "WHAT", default_value = "error", help_heading = "Input")]
    #[arg(value_parser = choices::of(ON_MISSING))]
    pub(crate) missing: Missing,
    /// How to treat an empty value in a key [default: value; keep for join]
    #[arg(long, value_name = "WHAT", value_parser = choices::of(ON_EMPTY))]
    #[arg(help_heading = "Input")]
    pub(crate) empty: Option<Empty>,
    /// What to do with a record that cannot be parsed
    #[arg(long, value_name = "WHAT", default_value = "error", value_parser = choices::of(ON_BAD))]
    #[arg(help_heading = "Input")]
    pub(crate) bad: Bad,
    /// Compare rows of --csv and values of --jsonl as written: "x",1 differs from x,1, and 1.0 from 1
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
    /// Compare values of this type in their normal form, and other values unchanged; repeat for several
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

const ON_RAGGED: [Choice<Ragged>; 2] = [
    ("refuse", "Stop with an error", Ragged::Refuse),
    (
        "pad",
        "Add missing fields as empty ones, and drop surplus empty ones; stop if surplus fields are not empty",
        Ragged::Pad,
    ),
];

const ON_MISSING: [Choice<Missing>; 3] = [
    ("error", "Stop with an error", Missing::Refuse),
    ("skip", "Leave it out", Missing::Skip),
    ("keep", "Treat it as different from all others", Missing::Keep),
];

const ON_EMPTY: [Choice<Empty>; 3] = [
    ("value", "A value like any other", Empty::Value),
    ("skip", "Leave the record out", Empty::Skip),
    ("keep", "Treat it as different from all others", Empty::Keep),
];

const ON_BAD: [Choice<Bad>; 2] =
    [("error", "Stop with an error", Bad::Refuse), ("skip", "Leave it out", Bad::Skip)];

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
    #[arg(hide_short_help = true)]
    #[arg(long = "as", value_name = "NAME", requires = "key", help_heading = "Input")]
    pub(crate) names: Vec<String>,
}

/// How large a filter may be that a small file makes.
#[derive(Debug, Default, Args)]
pub(crate) struct MostArgs {
    /// Largest filter to unpack from a file whose signature is not checked [default: a quarter of the machine's memory]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Size>,
}

impl MostArgs {
    /// The limit, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        memory(self.memory)
    }
}

/// Whether a verb only says what it would do.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Print the plan (passes, bytes, memory) and exit
    #[arg(long, help_heading = "Messages")]
    pub(crate) explain: bool,
}

/// What verbs share that read lines and print some of them.
#[derive(Debug, Args)]
pub(crate) struct LinesArgs {
    #[command(flatten)]
    pub(crate) to: OutputArgs,
    /// Print only the number of lines
    #[arg(long, conflicts_with_all = ["output", "explain"])]
    pub(crate) total: bool,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) explain: ExplainArgs,
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
}

/// The forms of records that names of files tell, and the options for them.
const NAMED: &[(&str, &[&str])] =
    &[("--csv", &["csv"]), ("--tsv", &["tsv", "tab"]), ("--jsonl", &["jsonl", "ndjson"])];

/// The option for the form that the name of a file tells, whatever it is compressed with.
pub(crate) fn named_form(path: &Path) -> Option<&'static str> {
    let plain = Compression::of_name(path).map_or(path.into(), |_| path.with_extension(""));
    let ending = plain.extension()?.to_str()?.to_ascii_lowercase();
    let named = NAMED.iter().find(|(_, endings)| endings.contains(&&ending[..]));
    named.map(|(option, _)| *option)
}
