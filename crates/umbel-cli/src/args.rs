//! What can be typed.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use umbel::{Kind, Variant};
use umbel_foreign::KeyType;

use crate::formats::{self, Param};
use crate::named;
use crate::numbers::{self, Bytes, Fpp, Keys, Nanoseconds, Span};
use crate::standard::is_standard;

/// Answers "have I seen this key?" for sets too big to keep, and turns that into exact set operations on
/// files bigger than memory.
#[derive(Debug, Parser)]
#[command(name = "umbel", version, max_term_width = 100, infer_subcommands = false)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    /// For these options before the verb; each verb has them too.
    #[command(flatten)]
    _voice: Voice,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Common(CommonArgs),
    Except(ExceptArgs),
    Diff(DiffArgs),
    Dedup(DedupArgs),
    Build(BuildArgs),
    Add(AddArgs),
    Remove(RemoveArgs),
    Query(QueryArgs),
    Info(InfoArgs),
    Merge(MergeArgs),
    Compare(CompareArgs),
    Convert(ConvertArgs),
    Parquet(ParquetArgs),
    Plan(PlanArgs),
    Show(ShowArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// What the verbs that go through lines share.
#[derive(Debug, Args)]
pub(crate) struct Work {
    /// More files, one path a line, or between NUL bytes with --null; `-` reads the list from standard input
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath, help_heading = "Work")]
    pub(crate) files_from: Option<PathBuf>,
    /// Most memory the whole process may use, e.g. 256MiB, 4GiB [default: a quarter of the machine's]
    #[arg(short, long, value_name = "SIZE", help_heading = "Work", allow_negative_numbers = true)]
    pub(crate) memory: Option<Bytes>,
    /// Threads that read and hash [default: one a processor]
    #[arg(short = 'j', long, value_name = "N", help_heading = "Work", allow_negative_numbers = true, value_parser = numbers::threads)]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Folder for temporary files, which vanish however the run ends; several, each with its own --tmp, are used in turn
    /// [default: $TMPDIR or /tmp]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Work")]
    pub(crate) tmp: Vec<PathBuf>,
    /// Lines end with a NUL byte instead of a line feed, on input and output
    #[arg(short = '0', long = "null", help_heading = "Work")]
    pub(crate) null: bool,
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    /// Print the plan (passes, bytes, memory) and do nothing
    #[arg(long, help_heading = "Work")]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// What a record is, and what of it is its key.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Compare this field instead of whole lines; whole records go out [default: the whole record]
    ///
    /// A column by its name in the header or its number from 1, or a path into JSON: user.id, tags.0, or a JSON
    /// pointer such as /a.b/c. Several, each with its own --key, are compared together.
    #[arg(
        short,
        long,
        value_name = "FIELD",
        help_heading = "Records",
        allow_negative_numbers = true
    )]
    pub(crate) key: Vec<String>,
    /// Records are lines of fields between runs of blanks, as awk reads them: --key 7 is the seventh word
    #[arg(long, help_heading = "Records", conflicts_with_all = ["csv", "tsv", "jsonl"], requires = "key")]
    pub(crate) fields: bool,
    /// Records are comma-separated values, with line feeds in quotes (RFC 4180)
    #[arg(long, help_heading = "Records", conflicts_with_all = ["tsv", "jsonl", "null"])]
    pub(crate) csv: bool,
    /// Records are tab-separated values, where quotes mean nothing
    #[arg(long, help_heading = "Records", conflicts_with_all = ["jsonl", "null"])]
    pub(crate) tsv: bool,
    /// Records are lines of JSON
    #[arg(long, help_heading = "Records", conflicts_with = "null")]
    pub(crate) jsonl: bool,
    /// The first record is one like others: fields are numbers, and no header goes out
    #[arg(long, help_heading = "Records")]
    pub(crate) no_header: bool,
    /// The byte between the fields of --csv, \t for a tab [default: a comma]
    #[arg(short, long, value_name = "BYTE", help_heading = "Records")]
    pub(crate) delimiter: Option<Delimiter>,
    /// What to do with records that have not all fields of the key: end with an error, leave them out, or take
    /// each for different from all others
    #[arg(long, value_name = "WHAT", default_value = "error", help_heading = "Records")]
    pub(crate) missing: OnMissing,
    /// What to do with records that cannot be read: end with an error, or leave them out
    #[arg(long, value_name = "WHAT", default_value = "error", help_heading = "Records")]
    pub(crate) bad: OnBad,
    /// Compare without the case of letters (what is written stays as it is)
    #[arg(long, help_heading = "Comparison")]
    pub(crate) ignore_case: bool,
    /// Compare without blanks at both ends
    #[arg(long, help_heading = "Comparison")]
    pub(crate) trim: bool,
    /// Compare without a carriage return at the end
    #[arg(long, help_heading = "Comparison")]
    pub(crate) crlf: bool,
    /// Compare URLs by what they name: scheme and host in lower case, without default port and fragment
    #[arg(long, value_name = "FORM", help_heading = "Comparison")]
    pub(crate) normalize: Option<Form>,
}

/// What to do with a record without its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnMissing {
    /// End with an error
    Error,
    /// Leave it out
    Skip,
    /// Take it for different from all others
    Keep,
}

/// What to do with a record that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnBad {
    /// End with an error
    Error,
    /// Leave it out
    Skip,
}

/// A normal form of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// URLs, as the WHATWG's standard writes them
    Url,
}

/// Which of the records with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kept {
    /// The first
    First,
    /// The last
    Last,
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
            _ => Err(format!("{text:?} is not one byte such as ; or |, or \\t for a tab")),
        }
    }
}

/// What a filter calls the fields that its keys are taken from.
#[derive(Debug, Default, Args)]
pub(crate) struct NamesArgs {
    /// The filter's name for the field of --key, when the input has another; once per --key
    #[arg(long = "as", value_name = "NAME", requires = "key", help_heading = "Records")]
    pub(crate) names: Vec<String>,
}

/// Where lines go.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// The file to write, whole or not at all, also in place of one that is there or of an input of lines [default:
    /// standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

impl OutputArgs {
    /// The file named; none for standard output, which `-` is too.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| !is_standard(path))
    }
}

/// Where the result goes, or how much of it there is.
#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    #[command(flatten)]
    pub(crate) to: OutputArgs,
    /// Print how many there are, and nothing else
    #[arg(long, conflicts_with_all = ["output", "explain"])]
    pub(crate) total: bool,
}

/// How a verb talks.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Voice {
    /// The full report at the end [default: a short line on a terminal, nothing elsewhere]
    #[arg(long, short, global = true, help_heading = "Messages")]
    pub(crate) verbose: bool,
    /// Reports, plans and receipts as JSON, one object a line (lines of data stay lines)
    #[arg(long, global = true, help_heading = "Messages")]
    pub(crate) json: bool,
    /// No report, no progress and no warnings but that of an over-filled filter; errors are still told
    #[arg(long, short, global = true, help_heading = "Messages")]
    pub(crate) quiet: bool,
}

/// How a keyed filter is opened.
#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    /// File with the secret of a keyed filter: 16 bytes, or 32 hexadecimal digits
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) secret_file: Option<PathBuf>,
}

/// Which format a filter of another system has.
#[derive(Debug, Default, Args)]
pub(crate) struct FormatArgs {
    /// Format of another system's filter, such as guava or parquet [default: umbel's, or what the content tells]
    #[arg(long, value_name = "FORMAT", help_heading = "Other systems' filters")]
    #[arg(value_parser = named::formats::<umbel_foreign::Format>(), hide_possible_values = true)]
    pub(crate) format: Option<umbel_foreign::Format>,
    /// What the format must be told, NAME=VALUE or the name of an option; once for each (see umbel build --help)
    #[arg(
        long,
        value_name = "NAME[=VALUE]",
        requires = "format",
        help_heading = "Other systems' filters"
    )]
    #[arg(allow_negative_numbers = true)]
    pub(crate) param: Vec<Param>,
}

/// A filter of another system whose keys are lines.
#[derive(Debug, Default, Args)]
pub(crate) struct ForeignArgs {
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// What lines are as its keys: bytes, utf16, i64, i32, f64, f32, decimal or url [default: bytes, or url for squid]
    #[arg(long, value_name = "TYPE", help_heading = "Other systems' filters")]
    #[arg(value_parser = named::key_types::<KeyType>(), hide_possible_values = true)]
    pub(crate) key_type: Option<KeyType>,
}

/// What a filter is converted to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    Kind(Kind),
    Format(umbel_foreign::Format),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let kind = Kind::from_str(name).map(Self::Kind);
        kind.or_else(|kinds| match umbel_foreign::Format::from_str(name) {
            Ok(format) => Ok(Self::Format(format)),
            Err(formats) => Err(format!("{kinds}; {formats}")),
        })
    }
}

/// Lines in every file, once each, in the first file's order
///
/// Exact: the lines' bytes decide, never a hash. Memory stays under the cap at any input size; what does not fit is
/// settled through temporary files. Lines end with a line feed; a carriage return before it belongs to the line.
/// Of records with a common --key the first one goes out, whole, after the first file's header.
/// Compressed input (gzip, zstd, xz, bzip2, lz4) is recognized by its content. `-` is standard input.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// Files of lines, two or more
    #[arg(required_unless_present = "files_from", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Every record of the first file whose key all others have, repeats included: a semi-join
    #[arg(long, conflicts_with_all = ["at_least", "fpp"])]
    pub(crate) all: bool,
    /// Lines in at least T of the files, in order of first appearance [default: all of them]
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = numbers::number::<usize>(0..=u64::MAX))]
    pub(crate) at_least: Option<usize>,
    /// Read every file once and allow this error: half for lines not common, half for lines left out
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) fpp: Option<Fpp>,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Lines of the first file that none of the others has, once each, in the first file's order
///
/// Exact: the lines' bytes decide, never a hash. Memory stays under the cap at any input size; what does not fit is
/// settled through temporary files. Lines end with a line feed; a carriage return before it belongs to the line.
/// With --key, records whose key none of the others has: of those with the same key the first one, whole.
/// Compressed input (gzip, zstd, xz, bzip2, lz4) is recognized by its content. `-` is standard input.
#[derive(Debug, Args)]
pub(crate) struct ExceptArgs {
    /// Files of lines, two or more: the first one, and those to take away
    #[arg(required_unless_present = "files_from", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Every record of the first file whose key none of the others has, repeats included: an anti-join
    #[arg(long, conflicts_with = "fpp")]
    pub(crate) all: bool,
    /// Read every file once and allow this error: the chance of a line to be left out wrongly
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) fpp: Option<Fpp>,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Lines that only one of two files has: - of the old one, + of the new one
///
/// Exact and under the memory cap, whatever the order of the lines: each different line once, first those that are gone, in
/// the order of OLD, then those that are new, in the order of NEW. With --key, a row of NEW is marked ~ when OLD has another
/// row with its key that is gone: it changed.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Two files of lines: OLD and NEW
    #[arg(required_unless_present = "files_from", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Write lines that only NEW has to this file, and those that changed, without marks; nothing goes to standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) added: Option<PathBuf>,
    /// The same for lines that only OLD has
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) removed: Option<PathBuf>,
    /// The same for lines that both have
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) kept: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Each different line once, in the order they come first
///
/// Exact: the lines' bytes decide, never a hash. Only lines that may repeat are kept in memory, for files are read
/// twice; pipes and compressed files go to a temporary file for that. Memory stays under the cap at any input size.
/// Lines end with a line feed; a carriage return before it belongs to the line. With --key, the first record of each
/// key, whole.
///
/// With --seen, lines that the filter does not know go out and into it, in one pass: what a crawler does every day.
/// A line is wrongly taken for a known one with the filter's rate. What goes out is recorded at checkpoints in FILTER.run,
/// the filter saved at the end, also by Ctrl-C and TERM, and always after the lines: a run that is killed loses none, and
/// the next one goes on behind it. With -o, lines are added to FILE, and each goes out exactly once: what a killed run
/// wrote after its last checkpoint is taken back, for it comes again. A pipe may get such lines twice, and the last one
/// half. Runs with the same filter wait for each other. A blocked filter may be larger than --memory: then lines go out
/// when all input is read. Options of a new filter are refused when one that is there has others. With --seen, exit 1
/// when no line is new.
#[derive(Debug, Args)]
pub(crate) struct DedupArgs {
    /// Files of lines, taken as one [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Only lines that come more than once
    #[arg(long, conflicts_with_all = ["seen", "min"])]
    pub(crate) repeated: bool,
    /// Only lines that come so often or more
    #[arg(value_parser = numbers::number::<NonZeroU64>(1..=u64::MAX))]
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "seen")]
    pub(crate) min: Option<NonZeroU64>,
    /// Which of the records with the same key
    #[arg(long, value_name = "WHICH", default_value = "first", conflicts_with = "seen")]
    pub(crate) keep: Kept,
    /// In front of each line, how often it comes, as a column; with --jsonl as {"count":3,"record":…}
    #[arg(long, conflicts_with = "seen")]
    pub(crate) count: bool,
    /// Lines that come most often first, of those that come as often the first one first
    #[arg(long, conflicts_with = "seen")]
    pub(crate) by_count: bool,
    /// Only the N lines that come most often, in that order
    #[arg(value_parser = numbers::number::<NonZeroU64>(1..=u64::MAX))]
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "seen")]
    pub(crate) top: Option<NonZeroU64>,
    /// Read every file once and allow this error: the chance of a line to be left out wrongly. With --seen, the rate of
    /// a new filter [default there: 1e-4]
    #[arg(long, value_name = "P", allow_negative_numbers = true, conflicts_with_all = ["repeated", "count", "min", "keep", "by_count", "top"])]
    pub(crate) fpp: Option<Fpp>,
    /// Skip what is recorded in this filter, and record what goes out; made when it is not there
    #[arg(long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) seen: Option<PathBuf>,
    /// Keys that a new filter should hold; a run that would over-fill it stops, unless it grows
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "seen")]
    pub(crate) keys: Option<Keys>,
    /// Kind of a new filter [default: blocked with --keys, else scalable, which grows]
    #[arg(long, requires = "seen", value_parser = named::kinds::<Variant>(), hide_possible_values = true)]
    pub(crate) kind: Option<Variant>,
    /// Time between checkpoints: seconds, or with a unit such as 500ms or 5min
    #[arg(long, value_name = "TIME", default_value = "60", requires = "seen", value_parser = numbers::seconds)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) checkpoint: Duration,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// A filter from lines
///
/// Without --keys the files are read twice, first to count their lines; standard input is kept in a temporary file
/// for that. The rate holds while the filter has at most the planned keys; the report says when it has more. A
/// scalable filter grows instead, as far as --memory allows, and keeps its rate.
///
/// With --format, a filter as another system writes it, of the size that this system chooses: byte for byte the same
/// when the lines come in the same order (for rocksdb, sorted).
///
/// With --key, the filter records the fields, and other fields cannot be looked up in it by mistake.
///
/// Exit status: 0 when the filter is written; 2 on an error, and then no filter is written and one that was there
/// is as it was.
#[derive(Debug, Args)]
#[command(after_long_help = formats::table())]
pub(crate) struct BuildArgs {
    /// The filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Keys it should hold, e.g. 5e9 [default: the lines there are]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) keys: Option<Keys>,
    /// False-positive probability at that many keys [default: 0.01, or that of the other system]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) fpp: Option<Fpp>,
    /// Size of the filter; the rate follows, or with --fpp the number of keys
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) size: Option<Bytes>,
    /// Kind of filter: blocked is the fastest, classic the smallest, scalable grows beyond --keys or --size
    /// (scalable:1 in even steps), counting takes umbel remove (counting:8 with 8 bits a counter), window remembers the
    /// last --keys lines and stable most of them, attributes holds rows: the fields named by --key, any of which can then
    /// be asked, bloomier is smaller than all, but built at once: it takes no lines later, and all their hashes in memory;
    /// cascade is that too, and takes --except; cascade:1 is one filter and an exact list of the exceptions that it would
    /// wrongly hold
    #[arg(long, default_value = "blocked", conflicts_with = "format")]
    #[arg(value_parser = named::kinds::<Variant>(), hide_possible_values = true)]
    pub(crate) kind: Variant,
    /// Lines that are certainly not to be found, of --kind cascade; no file may have a line of theirs
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "format")]
    pub(crate) except: Vec<PathBuf>,
    /// Seed of the hash; only filters of one seed merge
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["secret_file", "format"])]
    #[arg(allow_negative_numbers = true, value_parser = numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    /// Replace an existing file
    #[arg(long, short)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// More lines into a filter
///
/// The filter is replaced in one step when all lines are in: a crash leaves the old one, whole. A scalable filter
/// grows when it is full, as far as --memory allows. A blocked filter may be larger than --memory: then it is rewritten
/// piece by piece.
///
/// Exit status: 0 when all lines are in; 2 on an error, and then the filter is as it was.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// The filter
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Lines out of a counting filter
///
/// Remove only lines that were added, and only as often as they were. A line that was never added passes with the
/// filter's rate; removing it lowers counters of other lines, which may then be missing. Lines that certainly are not
/// in the filter change nothing: the report counts them, and how many of the others were probably never added either.
///
/// The filter is replaced in one step when all lines are out: a crash leaves the old one, whole. Other kinds cannot
/// forget a line.
///
/// Exit status: 0 when a line was removed; 1 when none was in the filter, which is then as it was; 2 on an error.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The filter, of kind counting
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Lines that may be in a filter
///
/// Each line of the input that the filter lets pass goes out, in order, repeats included. A line that was put in
/// always passes; another one passes with the filter's rate (see umbel info).
///
/// With --key, name the fields that the filter was built from, in the same order; other fields are an error. A key of one
/// field is the same bytes as a line, so a filter of plain lines answers for any one field, and a filter of one field for
/// plain lines.
///
/// A blocked filter may be larger than --memory. Then umbel reads it piece by piece and the input twice, and the first
/// line goes out when all input is read.
///
/// Exit status: 0 when a line went out; 1 when none did; 2 on an error.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// The filter
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// The other lines: those that certainly are not in the filter
    #[arg(short = 'v', long)]
    pub(crate) invert: bool,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// The receipt of a filter: what it holds and what it really delivers
///
/// How full it is, how many keys it holds, with a 95 % interval, and its false-positive rate now, all computed from its
/// bits. Of a filter of several parts each one: the links of a scalable filter, the generations of a window. Of another
/// system's filter also what its file declares.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Filters; - is standard input
    #[arg(required = true, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) filters: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Also draw how full its blocks (cache lines of 64 bytes) are, next to what chance predicts, as SVG
    #[arg(long, value_name = "PICTURE", value_hint = ValueHint::FilePath)]
    pub(crate) plot: Option<PathBuf>,
    /// Replace an existing picture
    #[arg(long, short, requires = "plot")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// One filter that holds what several hold
///
/// Filters merge when they are of one kind and scheme, set as many bits a key, and one's size divides the other's;
/// the larger is folded to the smaller. Scalable filters and windows do not merge. Other systems' filters merge when
/// format, hash, seed, bits and probes agree.
///
/// Filters whose keys were taken from different fields do not merge.
///
/// Exit status: 0 when the filter is written; 2 on an error, and then no filter is written and one that was there
/// is as it was.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Filters to merge
    #[arg(required = true, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) filters: Vec<PathBuf>,
    /// Keys that all of them hold, instead of any
    #[arg(long)]
    pub(crate) intersect: bool,
    /// Replace an existing file
    #[arg(long, short)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// What two filters tell of the sets in them
///
/// Sizes, union, intersection, Jaccard index (what is in both over what is in either) and containment, each with a 95 %
/// interval, from the bits alone; the bits that both have set; and whether they can merge, or why not. Of filters of
/// different sizes the larger one is folded to the smaller. Other systems' filters are compared when format, hash, seed,
/// bits and probes agree.
///
/// Exit status: 0 when both were read, whatever they tell; 2 on an error.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The first filter, A
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub(crate) left: PathBuf,
    /// The second filter, B
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub(crate) right: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// A filter in another form
///
/// A counting filter becomes a plain blocked one to ship: as if built from the lines that are in it now, a quarter of the
/// size or less, and fit to be merged with others. So does a scalable filter that has not grown. One that has grown does
/// not: a key lies in another place in each of its links.
///
/// Of other systems' filters, parquet and parquet-bits become each other (the header comes or goes), and bits-and-blooms
/// and its JSON. Nothing else converts: a filter does not keep its keys, and no two systems put them in the same places.
///
/// Exit status: 0 when the filter is written; 2 on an error, and then no filter is written and one that was there
/// is as it was.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// The filter to convert
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// What to make of it: blocked, or a format of another system
    #[arg(long, value_name = "FORM", value_parser = named::targets::<Target>(), hide_possible_values = true)]
    pub(crate) to: Target,
    /// Replace an existing file
    #[arg(long, short)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// The Bloom filters in a Parquet file, and which row groups may hold a key
///
/// Without keys, lists the filters: row group, column, size, set bits, keys and rate now. With keys, tells for each
/// line which row groups of the column a reader could not skip, as numbers from 0 behind a tab, or - when none holds
/// it. Least and greatest values, by which readers also skip, are not asked. Exit 1 when there are no filters, or no row group may hold any key.
///
/// A line becomes a value by the column's type: 17, 0.5, 12.50, 2026-11-21, 17:29:25, 2026-11-21T17:29:25Z, the
/// hexadecimal digits of a UUID or of bytes of fixed length; text and bytes are taken as they are.
#[derive(Debug, Args)]
pub(crate) struct ParquetArgs {
    /// The Parquet file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Files of keys, a line each; - is standard input [default: list the filters]
    #[arg(value_name = "KEYS", value_hint = ValueHint::FilePath)]
    pub(crate) keys: Vec<PathBuf>,
    /// The column, with dots between the names of a nested one: user.id [default: the only one with filters]
    #[arg(long, short, value_name = "COLUMN")]
    pub(crate) column: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Which kind of filter to choose for a goal, and what each would cost
///
/// Give two of --keys, --fpp and a size (--memory, --ship or both); with all three, the sizes are limits. Kinds that fit
/// come first, the best on top; for the others it prints why they do not. A scalable filter is shown before it grows, with
/// the rate it keeps however much it grows. With --lookup the answer may be not to use a filter at all.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Keys to hold, e.g. 5e9; with --grows those at first, with --ages the last ones
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) keys: Option<Keys>,
    /// False-positive rate: the share of absent keys that pass as present, between 0 and 1, e.g. 0.01
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) fpp: Option<Fpp>,
    /// Memory for the filter, e.g. 4GiB
    #[arg(short, long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) memory: Option<Bytes>,
    /// Most bytes of the filter's file, which is sent to others, e.g. 12MB
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) ship: Option<Bytes>,
    /// Keys are removed again, one by one
    #[arg(long, help_heading = "What the filter is for")]
    pub(crate) deletes: bool,
    /// More keys may come than --keys, and nobody knows how many
    #[arg(long, help_heading = "What the filter is for")]
    pub(crate) grows: bool,
    /// All keys are known before the filter is made, and none comes later
    #[arg(long, help_heading = "What the filter is for")]
    pub(crate) known: bool,
    /// Only the last --keys keys matter; older ones are forgotten
    #[arg(long, help_heading = "What the filter is for")]
    pub(crate) ages: bool,
    /// That many other keys are known too and must never pass, as an allow list next to a block list
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        requires = "known",
        help_heading = "What the filter is for"
    )]
    pub(crate) except: Option<Keys>,
    /// What the look-up costs that the filter saves for absent keys, e.g. 100us or 5ms (a bare number: ns)
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        help_heading = "What it saves"
    )]
    pub(crate) lookup: Option<Nanoseconds>,
    /// What a false positive costs [default: a look-up]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        requires = "lookup",
        help_heading = "What it saves"
    )]
    pub(crate) false_answer: Option<Nanoseconds>,
    /// The share of look-ups whose key is absent, from 0 to 1
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "0.5",
        value_parser = numbers::share,
        allow_negative_numbers = true,
        requires = "lookup",
        help_heading = "What it saves"
    )]
    pub(crate) absent: f64,
    /// Print the formulas too, with the numbers in
    #[arg(long)]
    pub(crate) explain: bool,
    /// As JSON, one object a line
    #[arg(long, help_heading = "Messages")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) pictures: PictureArgs,
    #[command(flatten)]
    pub(crate) tables: TableArgs,
}

/// Pictures of a plan.
#[derive(Debug, Args)]
pub(crate) struct PictureArgs {
    /// Also draw five pictures into this folder, as SVG: the false-positive rate by probes, by keys and by fill, its
    /// exponent, and bits per key by rate
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Pictures")]
    pub(crate) plot: Option<PathBuf>,
    /// Replace existing pictures
    #[arg(long, short, requires = "plot", help_heading = "Pictures")]
    pub(crate) force: bool,
}

/// Tables that need no goal. What belongs to one conflicts itself with the goals that the table does: clap takes what an
/// argument requires as settled where that conflicts with another.
#[derive(Debug, Args)]
pub(crate) struct TableArgs {
    /// The textbook's table instead, without a goal: false-positive rates by bits per key and probes per key (k), and the
    /// best k
    #[arg(long, conflicts_with_all = ["keys", "fpp", "memory", "plot", "sizes"], help_heading = "Tables")]
    pub(crate) table: bool,
    /// Bits per key of the table's rows, first to last
    #[arg(long, value_name = "FROM..TO", default_value = "2..9", help_heading = "Tables")]
    #[arg(requires = "table", conflicts_with_all = ["keys", "fpp", "memory", "plot", "sizes"])]
    pub(crate) ratios: Span,
    /// Probes per key of its columns, first to last
    #[arg(long, value_name = "FROM..TO", default_value = "1..8", help_heading = "Tables")]
    #[arg(requires = "table", conflicts_with_all = ["keys", "fpp", "memory", "plot", "sizes"])]
    pub(crate) probes: Span,
    /// The table of sizes instead: the fewest bits per key for rates of 0.1 to 1e-6 or that of --fpp, and the memory for
    /// 1e3 to 1e9 keys or those of --keys
    #[arg(long, conflicts_with_all = ["memory", "plot"], help_heading = "Tables")]
    pub(crate) sizes: bool,
    /// Rates of the table of sizes, e.g. 0.05,0.01
    #[arg(long, value_name = "P,…", value_delimiter = ',', help_heading = "Tables")]
    #[arg(requires = "sizes", conflicts_with_all = ["fpp", "memory", "plot", "table"])]
    pub(crate) rates: Vec<Fpp>,
}

/// How a Bloom filter works, step by step
///
/// Inserts words into a filter so small that all its bits can be seen, and shows for each query which bits its probes
/// read, which word set them, and so why it passes or not. Without words it shows the example of M. Ceglowski, Using
/// Bloom Filters (perl.com, 2004): apples and plums in 14 bits, and mango, which was never inserted but passes. Other words
/// get the bits that umbel's own hash gives them, or those of --at.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Words to insert
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Words to look up, with commas between them, e.g. mango,kiwi; may be repeated
    #[arg(long, value_name = "WORD,…", value_delimiter = ',')]
    pub(crate) query: Vec<String>,
    /// Bits of the filter, 2 to 64
    #[arg(long, value_name = "M", default_value_t = 14, value_parser = numbers::number::<u64>(2..=64))]
    pub(crate) bits: u64,
    /// Probes per word, 1 to 16: how many bits each word sets and each query reads
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = numbers::number::<u32>(1..=16))]
    pub(crate) probes: u32,
    /// The bits of a word, instead of those that its hash gives, e.g. apples=3,12,11; once for each word
    #[arg(long, value_name = "WORD=BIT,…")]
    pub(crate) at: Vec<At>,
    /// Seed of the hash: another seed gives words other bits
    #[arg(long, value_name = "N", value_parser = numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// As JSON, one object a line
    #[arg(long, help_heading = "Messages")]
    pub(crate) json: bool,
}

/// Completions for a shell, to standard output
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    pub(crate) shell: Shell,
}

/// The manual pages
///
/// The page of umbel itself to standard output, or with --dir those of every verb as files.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write umbel.1, umbel-common.1 and the others to
    #[arg(long, value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

/// Words whose places are given: `word=3,12,11`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) word: String,
    pub(crate) bits: Vec<u64>,
}

impl FromStr for At {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a word and its bits such as apples=3,12,11");
        let (word, bits) = text.rsplit_once('=').ok_or_else(wrong)?;
        let bits: Result<Vec<u64>, _> = bits.split(',').map(|bit| bit.trim().parse()).collect();
        let bits = bits.map_err(|_| wrong())?;
        Ok(Self { word: word.to_owned(), bits })
    }
}
