//! Options of the verbs that make, query and change filters, including other systems' filters.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum, ValueHint};
use umbel::{Kind, Variant};
use umbel_foreign::KeyType;
use umbel_net::prefixes::Family;
use umbel_numbers::{Bytes, Fpp, KeyCount};

use super::{
    Labelled, ListArgs, MostArgs, NamesArgs, OutputArgs, ReplaceArgs, ResultArgs, SignArgs,
    TrustArgs, Voice, Work,
};
use crate::param::Param;
use crate::{named, param};

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
    pub(crate) param: Vec<Param>,
}

impl FormatArgs {
    /// The format that is named, with its parameters.
    pub(crate) fn named(&self) -> Option<(umbel_foreign::Format, &[Param])> {
        Some((self.format?, &self.param))
    }
}

/// How a filter is read whose keys are not looked up.
#[derive(Debug, Default, Args)]
pub(crate) struct ReadArgs {
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) most: MostArgs,
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
pub(crate) enum ConvertTo {
    Kind(Kind),
    Format(umbel_foreign::Format),
}

impl FromStr for ConvertTo {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let kind = Kind::from_str(name).map(Self::Kind);
        kind.or_else(|_| match umbel_foreign::Format::from_str(name) {
            Ok(format) => Ok(Self::Format(format)),
            Err(formats) => Err(format!("{formats}; or blocked, for a filter of umbel")),
        })
    }
}

/// What copies of a list do without.
const NO_COPIES: [&str; 9] =
    ["kind", "size", "ship", "since", "except", "prefixes", "format", "secret_file", "sign"];

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
    #[arg(long, value_name = "N")]
    pub(crate) keys: Option<KeyCount>,
    /// False positive rate with that many keys, e.g. 0.01 or 1% [default: 0.01, or the other system's]
    #[arg(long, value_name = "P")]
    pub(crate) fpp: Option<Fpp>,
    /// Size of the filter, e.g. 64MiB; it determines the rate, to 1e-9, or with --fpp the number of keys
    #[arg(long, value_name = "SIZE")]
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
    /// Write so many filters, FILTER.1.umbel and on, each under its own seed and with the rate --fpp [default: 0.5]: one alone
    /// hardly tells whether a line is in the list; a line that is not passes j of them (umbel query --all) at the j-th power
    /// of the rate
    #[arg(long, value_name = "N", value_parser = umbel_numbers::number::<u32>(1..=64))]
    #[arg(conflicts_with_all = NO_COPIES)]
    pub(crate) copies: Option<u32>,
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
    #[arg(value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
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
    #[command(flatten)]
    pub(crate) list: ListArgs,
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
/// For several filters, name the files of lines first: umbel query lines --any lists/*.umbel. The report states the rate at
/// which a line that is in none of them passes: with --any, at most the sum of their rates; with --all, the product of the
/// rates of filters with different seeds (see umbel build --copies), and at most the lowest rate of filters with the same seed.
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
    /// Filter to query; - is standard input. With --any or --all, a file of lines
    #[arg(value_hint = ValueHint::FilePath, required_unless_present_any = ["any", "all"])]
    pub(crate) filter: Option<PathBuf>,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Print the lines that may be in at least one of these filters
    #[arg(long, value_name = "FILTER", value_hint = ValueHint::FilePath, num_args = 1.., conflicts_with = "all")]
    pub(crate) any: Vec<PathBuf>,
    /// Print the lines that may be in each of these filters
    #[arg(long, value_name = "FILTER", value_hint = ValueHint::FilePath, num_args = 1..)]
    pub(crate) all: Vec<PathBuf>,
    /// Print in front of each line the filters of --any that may have it, as numbers from 1 or as names: 1,3 and a tab
    ///
    /// With --csv, a column named filters; with --jsonl, {"filters":[1,3],"record":…}.
    #[arg(long, value_name = "LABELS", num_args = 0..=1, require_equals = true, default_missing_value = "numbers")]
    #[arg(requires = "any", conflicts_with_all = ["invert", "total"])]
    pub(crate) which: Option<Labelled>,
    /// Print the other lines: those that are certainly not in the filter, in none of --any, or not in one of --all
    #[arg(short = 'v', long)]
    pub(crate) invert: bool,
    /// Look addresses up in a list of networks, or hosts in a list of domains
    #[arg(long, value_name = "OF", conflicts_with_all = ["any", "all", "format", "key_type"])]
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

impl QueryArgs {
    /// The filters, and whether a line is to be in any of them.
    pub(crate) fn filters(&self) -> (&[PathBuf], bool) {
        match (&self.any[..], &self.all[..]) {
            ([], []) => (self.filter.as_slice(), false),
            ([], all) => (all, false),
            (any, _) => (any, true),
        }
    }

    /// The files of lines.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let first = self.filter.iter().filter(|_| !(self.any.is_empty() && self.all.is_empty()));
        first.chain(&self.files).cloned().collect()
    }
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
    pub(crate) read: ReadArgs,
}

/// Merge filters into one that holds the keys of all
///
/// Filters merge if they have the same kind, size, hash scheme, number of probes and key fields; with --fold and
/// --intersect also if one's size divides the other's. Scalable filters and windows do not merge. Other systems' filters
/// merge if format, hash, seed, bits and probes agree.
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
    /// Fold larger filters to the smallest size, at which more keys pass by mistake
    #[arg(long)]
    pub(crate) fold: bool,
    /// Replace a file of another sort too; write a filter of no use, which nearly every key passes
    #[arg(long, short)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) voice: Voice,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
}

/// Make a filter that turned out too large smaller, at the rate that it was planned for
///
/// The filter is folded by a divisor of its size, and is then the same, bit for bit, as one of the smaller size with the same
/// keys. Large sizes have many divisors; those below 128 KiB may have none that keeps the rate, and the filter stays as it is.
/// Only blocked, classic, sliced and counting filters fold.
///
/// After an error no filter is written, and an existing one is as it was.
#[derive(Debug, Args)]
pub(crate) struct ShrinkArgs {
    /// Keys to keep room for, e.g. 5e9 or 5G [default: those that it holds, by estimate]
    #[arg(long, value_name = "N")]
    pub(crate) keys: Option<KeyCount>,
    #[command(flatten)]
    pub(crate) file: RewriteArgs,
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
    pub(crate) read: ReadArgs,
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
    /// Kind or format to convert to: blocked, or a format of another system
    #[arg(long, value_name = "FORM", value_parser = named::targets::<ConvertTo>(), hide_possible_values = true)]
    pub(crate) to: ConvertTo,
    #[command(flatten)]
    pub(crate) file: RewriteArgs,
}

/// A filter that is written anew.
#[derive(Debug, Args)]
pub(crate) struct RewriteArgs {
    /// Filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Filter to read
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
}
