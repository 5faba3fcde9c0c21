//! The command line: verbs, options and their help.

mod sharing;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use umbel::{Kind, Variant};
use umbel_foreign::KeyType;
use umbel_net::prefixes::Family;
use umbel_report::words::At;

pub(crate) use sharing::{
    DeltaArgs, PackArgs, PatchArgs, SignArgs, SignVerbArgs, TrustArgs, UnpackArgs,
};

use crate::named;
use crate::param::{self, Param};
use crate::standard::is_standard;
use crate::target::Sort;
use umbel_numbers::{self, Bytes, Fpp, Keys, Nanoseconds, Span};

/// Find the lines that huge files share, lack or repeat: exactly, on files larger than memory, under a memory cap.
/// Build, query and inspect Bloom filters, also those of other systems
#[derive(Debug, Parser)]
#[command(
    name = "umbel",
    version,
    subcommand_value_name = "VERB",
    max_term_width = 100,
    infer_subcommands = false,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Accepts these options before the verb too.
    #[command(flatten)]
    _voice: Voice,
}

/// What the verbs that go through lines share.
#[derive(Debug, Args)]
pub(crate) struct Work {
    #[command(flatten)]
    pub(crate) records: RecordArgs,
    /// Read more file names from LIST, one per line, or NUL-separated with --null; - is standard input
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath, help_heading = "Input")]
    pub(crate) files_from: Option<PathBuf>,
    /// End lines with a NUL byte instead of a line feed, in input and output
    #[arg(short = '0', long = "null", help_heading = "Input")]
    pub(crate) null: bool,
    /// Memory cap of the whole process, from 16MiB, e.g. 4GiB [default: a quarter of the machine's memory]
    #[arg(
        short,
        long,
        value_name = "SIZE",
        help_heading = "Resources",
        allow_negative_numbers = true
    )]
    pub(crate) memory: Option<Bytes>,
    /// Number of threads [default: one per processor, fewer under a small --memory]
    #[arg(short = 'j', long, value_name = "N", help_heading = "Resources", allow_negative_numbers = true, value_parser = umbel_numbers::threads)]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Folder for temporary files; repeat to use several in turn [default: $TMPDIR or /tmp]
    ///
    /// Temporary files are gone after the run, however it ends.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Resources")]
    pub(crate) tmp: Vec<PathBuf>,
    /// Print the plan (passes, bytes, memory) and exit
    #[arg(long, help_heading = "Messages")]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

impl Work {
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
    #[arg(long, help_heading = "Input", conflicts_with_all = ["csv", "tsv", "jsonl"], requires = "key")]
    pub(crate) fields: bool,
    /// Compare or look up this field instead of the whole record; repeat for a key of several fields
    ///
    /// A column, by its name in the header or its number from 1; or a path into JSON: user.id, tags.0, or a JSON
    /// pointer such as /a.b/c. LEFT=RIGHT where the first file and the others have different names (common and except);
    /// an equals sign in a name is written twice. Whole records are printed, whatever their key.
    #[arg(
        short,
        long,
        value_name = "FIELD",
        help_heading = "Input",
        allow_negative_numbers = true
    )]
    pub(crate) key: Vec<String>,
    /// Treat the first record as data: columns are named by number, and no header is printed
    #[arg(long, help_heading = "Input")]
    pub(crate) no_header: bool,
    /// Byte between the fields of --csv, e.g. ; or \t for a tab [default: ,]
    #[arg(short, long, value_name = "BYTE", help_heading = "Input")]
    pub(crate) delimiter: Option<Delimiter>,
    /// What to do with a record that lacks a field of the key
    #[arg(long, value_name = "WHAT", default_value = "error", help_heading = "Input")]
    pub(crate) missing: OnMissing,
    /// What to do with a record that cannot be parsed
    #[arg(long, value_name = "WHAT", default_value = "error", help_heading = "Input")]
    pub(crate) bad: OnBad,
    /// Compare whole rows of --csv as they are written: "x",1 and x,1 then differ
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
    /// Compare URLs in their normal form: scheme and host in lower case, no default port, no fragment
    #[arg(long, value_name = "FORM", help_heading = "Comparison (lines are printed unchanged)")]
    pub(crate) normalize: Option<Form>,
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
pub(crate) enum Form {
    /// The serialization of the WHATWG URL Standard, without the fragment
    Url,
}

/// What a list has prefixes of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrefixesOf {
    /// IP addresses, in networks such as 192.0.2.0/24
    Ip,
    /// Hosts, under domains
    Domain,
}

impl From<PrefixesOf> for Family {
    fn from(of: PrefixesOf) -> Self {
        match of {
            PrefixesOf::Ip => Self::Ip,
            PrefixesOf::Domain => Self::Domain,
        }
    }
}

/// What `--prefixes` has no use for: it normalizes addresses and names itself, and looks any field up.
const NO_PREFIXES: [&str; 5] = ["ignore_case", "trim", "crlf", "normalize", "names"];

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

/// What is done about a file that is there.
#[derive(Debug, Args)]
pub(crate) struct ReplaceArgs {
    /// Replace a file of another sort too (umbel help options has the rule)
    #[arg(short, long)]
    pub(crate) force: bool,
}

/// Where text goes.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Write to FILE instead of standard output; it may be one of the inputs of lines
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
}

impl OutputArgs {
    /// The file named; none for standard output, which `-` is too.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| !is_standard(path))
    }
}

/// What is printed of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Print {
    /// All of it
    #[default]
    Record,
    /// Its key alone
    Key,
}

/// What is printed of records that are found.
#[derive(Debug, Args)]
pub(crate) struct PrintArgs {
    /// Print this of each record: all of it, or its --key alone
    #[arg(long, value_name = "WHAT", default_value = "record")]
    pub(crate) print: Print,
}

/// Where the result goes, or how much of it there is.
#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    #[command(flatten)]
    pub(crate) to: OutputArgs,
    /// Print only the number of lines
    #[arg(long, conflicts_with_all = ["output", "explain"])]
    pub(crate) total: bool,
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

/// How a keyed filter is opened.
#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    /// File with the secret of a keyed filter: 16 bytes, or 32 hexadecimal digits (see umbel key)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) secret_file: Option<PathBuf>,
}

/// Which format a filter of another system has.
#[derive(Debug, Default, Args)]
pub(crate) struct FormatArgs {
    /// Format of another system's filter, e.g. guava or parquet [default: umbel's own, or recognized from the content]
    #[arg(long, value_name = "FORMAT", help_heading = "Other systems' filters")]
    #[arg(value_parser = named::formats::<umbel_foreign::Format>(), hide_possible_values = true)]
    pub(crate) format: Option<umbel_foreign::Format>,
    /// Parameter of the format; repeat for several (umbel help build lists them)
    #[arg(
        long,
        value_name = "NAME[=VALUE]",
        requires = "format",
        help_heading = "Other systems' filters"
    )]
    #[arg(allow_negative_numbers = true)]
    pub(crate) param: Vec<Param>,
}

impl FormatArgs {
    /// The format that is named, with its parameters.
    pub(crate) fn named(&self) -> Option<(umbel_foreign::Format, &[Param])> {
        Some((self.format?, &self.param))
    }
}

/// A filter of another system whose keys are lines.
#[derive(Debug, Default, Args)]
pub(crate) struct ForeignArgs {
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Type of the keys: bytes, utf16, i64, i32, f64, f32, decimal or url [default: bytes, or url for squid]
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
        kind.or_else(|_| match umbel_foreign::Format::from_str(name) {
            Ok(format) => Ok(Self::Format(format)),
            Err(formats) => Err(format!("{formats}; or blocked, for a filter of umbel")),
        })
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
    #[arg(long, conflicts_with_all = ["at_least", "fpp"])]
    pub(crate) all: bool,
    /// Print the lines that at least T of the files have, in order of first appearance [default: all]
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = umbel_numbers::number::<usize>(0..=u64::MAX))]
    pub(crate) at_least: Option<usize>,
    /// Allow this error rate, to read each file only once: half of it for extra lines, half for missing ones
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
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
    #[arg(long, conflicts_with = "fpp")]
    pub(crate) all: bool,
    /// Allow this error rate, to read each file only once: the chance that a line is wrongly left out
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) fpp: Option<Fpp>,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Print the lines that only one of two files has: - for OLD, + for NEW
///
/// The order of the lines does not matter. Each different line is printed once: first the removed ones (-) in the order
/// of OLD, then the added ones (+) in the order of NEW. With --key, a row of NEW is marked as changed (~) if a removed
/// row of OLD has the same key. The comparison is exact, under the memory cap.
///
/// --total prints the numbers of lines removed, added and kept, and with --key changed.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Two files of lines, OLD and NEW; - is standard input
    #[arg(required_unless_present = "files_from", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Write the lines that only NEW has, and the changed ones, to FILE
    ///
    /// With --added, --removed or --kept, lines have no marks, and nothing is printed.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) added: Option<PathBuf>,
    /// Write the lines that only OLD has, and the old rows of changed ones, to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) removed: Option<PathBuf>,
    /// Write the lines that both have to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) kept: Option<PathBuf>,
    /// Print the old row (<) before each changed one (~); keeps the keys of changed rows in memory
    #[arg(long, conflicts_with_all = ["added", "removed", "kept", "total"])]
    pub(crate) old: bool,
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
/// For lines that no earlier run has seen, see umbel unseen.
#[derive(Debug, Args)]
pub(crate) struct DedupArgs {
    /// Files of lines, read as one [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Print only lines that occur more than once
    #[arg(long, conflicts_with_all = ["seen", "min"])]
    pub(crate) repeated: bool,
    /// Print only lines that occur at least N times
    #[arg(value_parser = umbel_numbers::number::<NonZeroU64>(1..=u64::MAX))]
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "seen")]
    pub(crate) min: Option<NonZeroU64>,
    /// Which of the records with the same key to print
    #[arg(long, value_name = "WHICH", default_value = "first", conflicts_with = "seen")]
    pub(crate) keep: Kept,
    /// Print the count of each line in front of it, followed by a tab
    ///
    /// With --csv, followed by the delimiter; with --jsonl, as {"count":3,"record":…}.
    #[arg(long, conflicts_with = "seen")]
    pub(crate) count: bool,
    /// Sort by count, largest first; lines with equal counts stay in the order in which they are printed without it
    #[arg(long, conflicts_with = "seen")]
    pub(crate) by_count: bool,
    /// Print only the N lines with the largest counts, largest first
    #[arg(value_parser = umbel_numbers::number::<NonZeroU64>(1..=u64::MAX))]
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "seen")]
    pub(crate) top: Option<NonZeroU64>,
    /// Allow this error rate, to read each file only once: the chance that a line is wrongly left out
    #[arg(long, value_name = "P", allow_negative_numbers = true, conflicts_with_all = ["repeated", "count", "min", "keep", "by_count", "top"])]
    pub(crate) fpp: Option<Fpp>,
    /// As umbel unseen, which this was before
    #[arg(long, value_name = "FILTER", value_hint = ValueHint::FilePath, hide = true)]
    pub(crate) seen: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) new: NewArgs,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
}

/// The filter that umbel unseen makes if there is none, and how its runs are recorded.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Keys to plan a new filter for [default: 1,000,000, and it grows]; a run that would over-fill it stops
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) keys: Option<Keys>,
    /// Kind of a new filter [default: blocked with --keys, otherwise scalable]
    #[arg(long, value_parser = named::kinds::<Variant>())]
    pub(crate) kind: Option<Variant>,
    /// Time between checkpoints: seconds, or with a unit, e.g. 500ms or 5min
    #[arg(long, value_name = "TIME", default_value = "60", value_parser = umbel_numbers::seconds)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) checkpoint: Duration,
}

/// Print the lines that no earlier run has seen
///
/// Lines that are not in FILTER are printed and added to it, in one pass that also works on an endless pipe. FILTER is
/// created if it does not exist. A new line is wrongly left out at the filter's false positive rate.
///
/// A run can be interrupted at any time. At each checkpoint it records in FILTER.run what it has printed, and at the end,
/// also after Ctrl-C or TERM, it saves the filter. Lines are printed before they are recorded, so a killed run loses none,
/// and the next run with the same input prints the rest. With --append, each line is in FILE exactly once: the next run
/// removes what a killed run wrote after its last checkpoint, and writes it again. If FILE is not as that run left it, the
/// next one refuses to continue, and changes nothing. A pipe may get such lines twice, and the last one cut short.
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
    /// Append the lines to FILE, each exactly once, instead of printing them
    #[arg(short, long, alias = "output", short_alias = 'o', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) append: Option<PathBuf>,
    /// False positive rate of a new filter [default: 1e-4]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) fpp: Option<Fpp>,
    #[command(flatten)]
    pub(crate) new: NewArgs,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
}

/// Build a filter from lines
///
/// Without --keys, files are read twice, first to count their lines; standard input is copied to a temporary file for
/// that. The filter keeps its false positive rate up to the planned number of keys; umbel warns when it holds more. A
/// scalable filter grows instead, as far as --memory allows, and keeps its rate.
///
/// With --key, the filter records the names of the fields, so that other fields are not looked up in it by mistake.
///
/// With --format, the filter has another system's format and size: it is byte for byte what that system writes if the
/// lines come in the same order (for rocksdb, sorted).
///
/// After an error no filter is written, and an existing one is as it was.
#[derive(Debug, Args)]
#[command(after_long_help = param::table())]
pub(crate) struct BuildArgs {
    /// Filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Keys to plan for, e.g. 5e9 or 5G [default: the number of lines]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) keys: Option<Keys>,
    /// False positive rate with that many keys, e.g. 0.01 or 1% [default: 0.01, or the other system's]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) fpp: Option<Fpp>,
    /// Size of the filter, e.g. 64MiB; it determines the rate, or with --fpp the number of keys
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) size: Option<Bytes>,
    /// Plan a classic filter for the bits sent when packed: fewer probes per key, fewer bits sent, more memory (umbel plan
    /// --ship lists them)
    #[arg(long, value_name = "PROBES", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    #[arg(value_parser = umbel_numbers::number::<u32>(1..=umbel::MAX_PROBES.into()), conflicts_with_all = ["kind", "size", "format"])]
    pub(crate) ship: Option<u32>,
    /// Plan and hash the filter as this older one, and write what changed to FILTER.delta, for umbel patch
    #[arg(long, value_name = "OLD", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["keys", "fpp", "size", "ship", "kind", "seed", "except", "format"])]
    pub(crate) since: Option<PathBuf>,
    /// Kind of filter; some take a number, as in counting:8 (docs/reports.md lists them)
    #[arg(long, default_value = "blocked", conflicts_with = "format")]
    #[arg(value_parser = named::kinds::<Variant>())]
    pub(crate) kind: Variant,
    /// File of lines that must not be found, such as an allow list (--kind cascade); no line may be in both
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "format")]
    pub(crate) except: Vec<PathBuf>,
    /// Read lines as prefixes: networks, or domains, for umbel query --prefixes (it describes the lists); --fpp is then the rate of a
    /// look-up, with all its questions
    #[arg(long, value_name = "OF", conflicts_with_all = ["format", "key_type", "except", "since"])]
    #[arg(conflicts_with_all = NO_PREFIXES)]
    pub(crate) prefixes: Option<PrefixesOf>,
    /// Seed of the hash; filters merge only if they have the same seed
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["secret_file", "format"])]
    #[arg(allow_negative_numbers = true, value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
}

/// Add lines to a filter
///
/// The filter is replaced in one step when all lines are in it; after an error or a crash it is as it was. A scalable
/// filter grows when it is full, as far as --memory allows. A blocked filter larger than --memory is rewritten piece by
/// piece.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Filter to add to
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

/// Remove lines from a counting filter
///
/// Remove only lines that were added, and only as often as they were added. A line that was never added passes at the
/// filter's false positive rate; removing it decrements counters of other lines, which may then be missing. Lines that
/// are certainly not in the filter change nothing: the report counts them, and estimates how many of the others were
/// never added either.
///
/// The filter is replaced in one step when all lines are removed; after an error or a crash it is as it was. Filters of
/// other kinds cannot forget a line.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Counting filter to remove from
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

/// Print the lines that may be in a filter
///
/// Lines are printed in order, repeats included. A line that was added always passes; another one passes at the
/// filter's false positive rate (see umbel info).
///
/// With --key, name the fields that the filter was built from, in the same order; other fields are an error. A key of
/// one field is the same bytes as a line: a filter of lines can be queried with any one field, and a filter of one
/// field with lines.
///
/// A blocked filter may be larger than --memory. Then umbel reads it piece by piece and the input twice, and prints the
/// first line after all input is read.
///
/// With --and, a line that is in none of the filters passes at their joint rate, which the report states: the product of
/// the rates of filters with different seeds (see umbel noisy); of filters with the same seed, at most the lowest rate.
///
/// With --prefixes, FILTER is a list of networks or domains, and lines are addresses or hosts: those in a listed network,
/// or under a listed domain, are printed. A list is a text, which gives exact answers, or a filter built with
/// umbel build --prefixes. One entry per line, and comments after #:
///
/// ip: 192.0.2.0/24, 192.0.2.0/255.255.255.0, 192.0.2.7, 2001:db8::/32; comments also after ;. Bits after the prefix do not count.
///
/// domain: example.com, *.example.com and .example.com all mean the domain and everything under it; also lines of a hosts
/// file, such as 0.0.0.0 ads.example.com; rules of AdGuard and EasyList, such as ||ads.example.com^; and of dnsmasq, such
/// as address=/ads.example.com/0.0.0.0. Rules that are not about whole domains are left out and counted. Lines to look up
/// may also be URLs and mail addresses.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// Filter to query; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Print only lines that may be in this filter too; repeat for more filters
    #[arg(long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) and: Vec<PathBuf>,
    /// Print the other lines: those that are certainly not in the filter, or not in one of several
    #[arg(short = 'v', long)]
    pub(crate) invert: bool,
    /// Look addresses up in a list of networks, or hosts in a list of domains
    #[arg(long, value_name = "OF", conflicts_with_all = ["and", "format", "key_type"])]
    #[arg(conflicts_with_all = NO_PREFIXES)]
    pub(crate) prefixes: Option<PrefixesOf>,
    /// Print the longest listed prefix in front of each line, followed by a tab
    ///
    /// With --csv, followed by the delimiter; with --jsonl, as {"prefix":"192.0.2.0/24","record":…}.
    #[arg(long, requires = "prefixes", conflicts_with_all = ["invert", "total"])]
    pub(crate) show_prefix: bool,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

/// Print what a filter holds: size, fill, estimated keys and false positive rate now
///
/// All of these are computed from the filter's bits; the number of keys has a 95 % interval. For a filter of several
/// parts, such as the links of a scalable filter or the generations of a window, each part is listed. For another
/// system's filter, what its file declares is listed too.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Filters; - is standard input
    #[arg(required = true, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) filters: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Draw how full its blocks (cache lines of 64 bytes) are, compared with what chance predicts, as SVG
    #[arg(long, value_name = "PICTURE", value_hint = ValueHint::FilePath)]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) voice: Voice,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

/// Merge filters into one that holds the keys of all
///
/// Filters merge if they have the same kind, hash scheme, number of probes and key fields, and if one's size divides
/// the other's: the larger one is folded to the smaller size. Scalable filters and windows do not merge. Other systems'
/// filters merge if format, hash, seed, bits and probes agree.
///
/// After an error no filter is written, and an existing one is as it was.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Filters to merge
    #[arg(required = true, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) filters: Vec<PathBuf>,
    /// Keep only the keys that are in all filters
    #[arg(long)]
    pub(crate) intersect: bool,
    /// Replace a file of another sort too; write a filter of no use, which nearly every key passes
    #[arg(long, short)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) voice: Voice,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

/// Estimate from two filters how much their lists share
///
/// Prints, each with a 95 % interval computed from the bits alone, the keys in each filter, in either and in both, the
/// Jaccard index (keys in both divided by keys in either) and containment; the bits that both have set; and whether the
/// filters merge, or why not. The larger of two filters is folded to the smaller size. Other systems' filters are
/// compared if format, hash, seed, bits and probes agree.
#[derive(Debug, Args)]
pub(crate) struct OverlapArgs {
    /// First filter, A
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub(crate) left: PathBuf,
    /// Second filter, B
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub(crate) right: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

/// Make the filter of a group's lists without showing anybody a member's own
///
/// In four steps over files. Each member joins and hands its card to the others; masks its filter; and, when it is clear
/// whose masked lists have arrived, reveals what removes its masks from the sum, and those that it has in common with
/// members that dropped out. The collector adds everything up: the result is the filter that umbel merge would make.
/// Nobody sees a member's filter or how many members have a bit.
///
/// This protects from a collector who follows the steps, as long as not all other members collude with it. Members must
/// get the cards from each other unaltered, and all must name the same members as dropped out. All filters need the same
/// plan and hash (umbel build with the same --keys, --fpp and --seed or --secret-file). See docs/privacy.md.
#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "STEP",
    subcommand_help_heading = "Steps",
    disable_help_subcommand = true
)]
pub(crate) struct GroupArgs {
    #[command(subcommand)]
    pub(crate) verb: GroupVerb,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GroupVerb {
    /// Make a new secret for one list, and its card for the others
    Join(JoinArgs),
    /// Mask a filter for the sum, and print the id of the round, which all members can compare
    Mask(MaskArgs),
    /// Reveal to the collector what removes the masks of this member from the sum
    Reveal(RevealArgs),
    /// Add up masked lists: the filter of all
    Sum(SumArgs),
}

#[derive(Debug, Args)]
pub(crate) struct JoinArgs {
    /// File for the secret, which must not exist, and which only its owner may read
    #[arg(short, long, value_name = "SECRET", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// File for the card, which must not exist
    #[arg(long, value_name = "CARD", value_hint = ValueHint::FilePath)]
    pub(crate) card: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct MaskArgs {
    /// Filter to mask: blocked, classic or sliced
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// Secret of this member; it masks one filter, and is marked as used
    #[arg(long = "as", value_name = "SECRET", value_hint = ValueHint::FilePath)]
    pub(crate) secret: PathBuf,
    /// Cards of all members, this one included; at least three
    #[arg(long, value_name = "CARD", required = true, num_args = 1.., value_hint = ValueHint::FilePath)]
    pub(crate) cards: Vec<PathBuf>,
    /// Masked list to write: 64 times the size of the filter
    #[arg(short, long, value_name = "MASKED", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RevealArgs {
    /// Secret of this member
    #[arg(long = "as", value_name = "SECRET", value_hint = ValueHint::FilePath)]
    pub(crate) secret: PathBuf,
    /// Cards of the members that dropped out before their masked lists arrived
    #[arg(long, value_name = "CARD", num_args = 1.., value_hint = ValueHint::FilePath)]
    pub(crate) dropped: Vec<PathBuf>,
    /// Share to write, for the collector
    #[arg(short, long, value_name = "SHARE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SumArgs {
    /// Masked lists of all members that did not drop out
    #[arg(required = true, value_name = "MASKED", value_hint = ValueHint::FilePath)]
    pub(crate) masked: Vec<PathBuf>,
    /// Shares of the same members
    #[arg(long, value_name = "SHARE", required = true, num_args = 1.., value_hint = ValueHint::FilePath)]
    pub(crate) shares: Vec<PathBuf>,
    /// Filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
}

/// Make secrets of keyed filters, and signing keys
///
/// A keyed filter hashes its keys under a secret that is not in its file (--secret-file), so that only those who have the
/// secret can look keys up. One secret serves a whole group. Filters carry its id; filters of different secrets do not
/// compare or merge. Nobody computes the secret from its id or from filters.
#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "WHAT",
    subcommand_help_heading = "What",
    disable_help_subcommand = true
)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    pub(crate) verb: KeyVerb,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyVerb {
    /// Write a new secret, which only its owner may read, and print its id; or with --signing a signing key
    New {
        /// File to write, which must not exist; - is standard output, without the id
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: PathBuf,
        /// Make a secret, for --secret-file: what is made without an option
        #[arg(long)]
        secret: bool,
        /// Make a signing key instead: FILE for --sign, and its public key, FILE.pub, for --trust
        #[arg(long, conflicts_with = "secret")]
        signing: bool,
    },
    /// Print the id of a secret
    Id {
        /// File with the secret
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        key: PathBuf,
    },
}

/// Estimate what whoever holds a filter learns about its keys
///
/// A filter answers for every key that somebody can guess. With --candidates, guesses are looked up: how many pass, how
/// many of these are false on average, how many are members (with a 95 % interval), and the probability that one that
/// passes is a member. With --universe, the audit computes how many keys a search of all possible ones would list, which
/// share of them would be members, and how long it would take on one core, from the speed of this filter on this
/// machine. It assumes that all keys of the filter are in that universe.
///
/// The rate is that of the filter's own bits. A keyed filter answers only to those who have its secret.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Filter to audit; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// File of guesses, one per line, each once; may be repeated; - is standard input
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub(crate) candidates: Vec<PathBuf>,
    /// Probability that a candidate is a member, before it is looked up [default: their share, as the hits show it]
    #[arg(long, value_name = "P", value_parser = umbel_numbers::share, allow_negative_numbers = true)]
    pub(crate) prior: Option<f64>,
    /// Number of possible keys, e.g. 5e6 for a list of words, or ipv4, or digits:10 for numbers of 10 digits
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) universe: Option<Universe>,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Build copies of a list that tell little alone, and more together
///
/// Writes the filters PREFIX.1.umbel, PREFIX.2.umbel and so on. Each has a high false positive rate and its own seed, so
/// that each passes other strangers. One copy hardly tells whether a line that passes is in the list; a line in none of
/// them passes j copies (umbel query --and) at the j-th power of the rate. A line that does not pass is certainly not in
/// the list, whatever the rate.
///
/// Files are read once per copy, and once to count their lines without --keys. Each filter is written completely or not at
/// all; after an error, those before it are there.
#[derive(Debug, Args)]
pub(crate) struct NoisyArgs {
    /// Start of the names of the filters
    #[arg(short, long, value_name = "PREFIX", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Number of copies, 1 to 64
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = umbel_numbers::number::<u32>(1..=64))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) copies: u32,
    /// False positive rate of each copy
    #[arg(long, value_name = "P", default_value = "0.5", allow_negative_numbers = true)]
    pub(crate) fpp: Fpp,
    /// Keys to plan for; lists whose copies are compared or merged need the same number [default: the number of lines]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) keys: Option<Keys>,
    /// Seed of the first copy; the others have the numbers after it
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
}

/// How many keys are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Universe(pub(crate) u64);

impl FromStr for Universe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = match text.strip_prefix("digits:") {
            Some(digits) => digits.parse().ok().and_then(|digits| 10u64.checked_pow(digits)),
            None if text == "ipv4" => Some(1 << 32),
            None => umbel_numbers::whole(text),
        };
        size.filter(|&size| size > 0).map(Self).ok_or_else(|| {
            format!(
                "{text:?} is not a number of possible keys such as 5e6, ipv4, or digits:10 (up to digits:19)"
            )
        })
    }
}

/// Convert a filter to another kind or format
///
/// A counting filter converts to the blocked filter to ship: as if built from the keys that it holds now, a quarter of
/// its size or less, and ready to merge with others. So does a scalable filter that has not grown. One that has grown
/// does not, because each of its links has a key in other positions.
///
/// Of other systems' formats, parquet and parquet-bits convert to each other (with or without the header), and so do
/// bits-and-blooms and bits-and-blooms-json. Nothing else converts: a filter does not store its keys, and no two
/// systems put them in the same positions.
///
/// After an error no filter is written, and an existing one is as it was.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Filter to convert
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// Kind or format to convert to: blocked, or a format of another system
    #[arg(long, value_name = "FORM", value_parser = named::targets::<Target>(), hide_possible_values = true)]
    pub(crate) to: Target,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

/// List the Bloom filters of a Parquet file, or the row groups that may hold a key
///
/// Without KEYS, lists the filters: row group, column, size, set bits, keys and rate now. With KEYS, prints after each
/// key, separated by a tab, the row groups that a reader has to read for it, numbered from 0, or - if none may hold it.
/// Minimum and maximum values, by which readers also skip row groups, are not used.
///
/// A key is read by the type of the column: 17, 0.5, 12.50, 2026-11-21, 17:29:25, 2026-11-21T17:29:25Z, or hexadecimal
/// digits for a UUID or for bytes of fixed length. Text and other bytes are taken as they are.
#[derive(Debug, Args)]
pub(crate) struct ParquetArgs {
    /// Parquet file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Files of keys, one per line; - is standard input [default: list the filters]
    #[arg(value_name = "KEYS", value_hint = ValueHint::FilePath)]
    pub(crate) keys: Vec<PathBuf>,
    /// Column; for a nested one the path, as in user.id [default: the only one with filters]
    #[arg(long, short, value_name = "COLUMN")]
    pub(crate) column: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Rank the kinds of filters for a goal, with the size, rate and speed of each
///
/// Give two of --keys, --fpp and a size (--memory, --ship or both); with all three, the sizes are limits. Kinds that
/// fit are listed first, the best on top, and then the others with the reason why they do not fit. A scalable filter is
/// shown as it is before it grows, with the rate that it keeps however much it grows. With --lookup, the advice may be
/// to use no filter at all.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Keys to hold, e.g. 5e9 or 5G; with --grows, at first; with --ages, the last ones
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) keys: Option<Keys>,
    /// False positive rate: the share of absent keys that pass, between 0 and 1, e.g. 0.01 or 1%
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) fpp: Option<Fpp>,
    /// Most memory for the filter, e.g. 4GiB
    #[arg(short, long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) memory: Option<Bytes>,
    /// Largest size of the filter's file, if it is sent to others, e.g. 12MB; without SIZE, list filters planned for the
    /// bits sent when packed
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, num_args = 0..=1)]
    pub(crate) ship: Option<Option<Bytes>>,
    /// Print the formulas too, with the numbers in them
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Keys are removed again
    #[arg(long, help_heading = "Use of the filter")]
    pub(crate) deletes: bool,
    /// More keys may come than --keys, and nobody knows how many
    #[arg(long, help_heading = "Use of the filter")]
    pub(crate) grows: bool,
    /// All keys are known in advance, and none comes later
    #[arg(long, help_heading = "Use of the filter")]
    pub(crate) known: bool,
    /// Only the last --keys keys matter; older ones are forgotten
    #[arg(long, help_heading = "Use of the filter")]
    pub(crate) ages: bool,
    /// Number of other known keys that must never pass, e.g. an allow list next to a block list
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        requires = "known",
        help_heading = "Use of the filter"
    )]
    pub(crate) except: Option<Keys>,
    /// Time of the look-up that the filter saves for absent keys, e.g. 100us or 5ms [unit: ns]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        help_heading = "Cost of look-ups"
    )]
    pub(crate) lookup: Option<Nanoseconds>,
    /// Time that a false positive costs [default: that of --lookup]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        requires = "lookup",
        help_heading = "Cost of look-ups"
    )]
    pub(crate) false_answer: Option<Nanoseconds>,
    /// Share of look-ups whose key is absent, from 0 to 1
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "0.5",
        value_parser = umbel_numbers::share,
        allow_negative_numbers = true,
        requires = "lookup",
        help_heading = "Cost of look-ups"
    )]
    pub(crate) absent: f64,
    #[command(flatten)]
    pub(crate) tables: TableArgs,
    #[command(flatten)]
    pub(crate) pictures: PictureArgs,
    /// Print reports, plans and receipts as JSON, one object per line
    #[arg(long, help_heading = "Messages")]
    pub(crate) json: bool,
}

/// Pictures of a plan.
#[derive(Debug, Args)]
pub(crate) struct PictureArgs {
    /// Draw five pictures into DIR, as SVG: rate by probes, by keys and by fill, its exponent, bits per key by rate
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Pictures")]
    pub(crate) plot: Option<PathBuf>,
}

/// Tables that need no goal. What belongs to one conflicts itself with the goals that the table does: clap takes what an
/// argument requires as settled where that conflicts with another.
#[derive(Debug, Args)]
pub(crate) struct TableArgs {
    /// Print the textbook table instead: rates by bits per key and probes per key, and the best number of probes
    #[arg(long, conflicts_with_all = ["keys", "fpp", "memory", "plot", "sizes"], help_heading = "Tables")]
    pub(crate) table: bool,
    /// Rows of --table: bits per key, first to last
    #[arg(long, value_name = "FROM..TO", default_value = "2..9", help_heading = "Tables")]
    #[arg(requires = "table", conflicts_with_all = ["keys", "fpp", "memory", "plot", "sizes"])]
    pub(crate) ratios: Span,
    /// Columns of --table: probes per key, first to last
    #[arg(long, value_name = "FROM..TO", default_value = "1..8", help_heading = "Tables")]
    #[arg(requires = "table", conflicts_with_all = ["keys", "fpp", "memory", "plot", "sizes"])]
    pub(crate) probes: Span,
    /// Print a table of sizes instead: the fewest bits per key for rates of 0.1 to 1e-6 or --fpp, and the memory for
    /// 1e3 to 1e9 keys or --keys
    #[arg(long, conflicts_with_all = ["memory", "plot"], help_heading = "Tables")]
    pub(crate) sizes: bool,
    /// Rates of --sizes, e.g. 0.05,0.01
    #[arg(long, value_name = "P,…", value_delimiter = ',', help_heading = "Tables")]
    #[arg(requires = "sizes", conflicts_with_all = ["fpp", "memory", "plot", "table"])]
    pub(crate) rates: Vec<Fpp>,
}

/// Show step by step how a Bloom filter works
///
/// Inserts words into a filter so small that you see all its bits. For each query it shows which bits the probes read
/// and which word set them, and so why the query passes or not. Without words it shows the example of M. Ceglowski,
/// Using Bloom Filters (perl.com, 2004): apples and plums in 14 bits, and mango, which was never inserted but passes.
/// Other words get the bits that umbel's hash selects, or those of --at.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Words to insert
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Words to look up, separated by commas, e.g. mango,kiwi; may be repeated
    #[arg(long, value_name = "WORD,…", value_delimiter = ',')]
    pub(crate) query: Vec<String>,
    /// Bits of the filter, 2 to 64
    #[arg(long, value_name = "M", default_value_t = 14, value_parser = umbel_numbers::number::<u64>(2..=64))]
    pub(crate) bits: u64,
    /// Probes per word, 1 to 16: the bits that each word sets and each query reads
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = umbel_numbers::number::<u32>(1..=16))]
    pub(crate) probes: u32,
    /// Bits of a word, instead of those that the hash selects, e.g. apples=3,12,11; once per word
    #[arg(long, value_name = "WORD=BIT,…")]
    pub(crate) at: Vec<At>,
    /// Seed of the hash; another seed selects other bits [default: 0]
    #[arg(long, value_name = "N", value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Print reports, plans and receipts as JSON, one object per line
    #[arg(long, help_heading = "Messages")]
    pub(crate) json: bool,
}

/// Print completions for a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for
    pub(crate) shell: Shell,
}

/// Print the manual page
///
/// With --dir, write the pages of umbel and of every verb as files.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write umbel.1, umbel-common.1 and the others to
    #[arg(long, value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
