//! Options of the verbs that explain filters: plans, tables, a demonstration.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use umbel_numbers::{Bytes, Fpp, KeyCount, Nanoseconds, Span};
use umbel_report::words::At;

use super::OutputArgs;

/// Rank the kinds of filters for a goal, with the size, rate and speed of each
///
/// Give two of --keys, --fpp and a size (--memory, --ship or both); with all three, the sizes are limits. Kinds that
/// fit are listed first, the best on top, and then the others with the reason why they do not fit. A scalable filter is
/// shown as it is before it grows, with the rate that it keeps however much it grows. With --lookup, the advice may be
/// to use no filter at all.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Keys to hold, e.g. 5e9 or 5G; with --grows, at first; with --ages, the last ones
    #[arg(long, value_name = "N")]
    pub(crate) keys: Option<KeyCount>,
    /// False positive rate: the share of absent keys that pass, between 0 and 1, e.g. 0.01 or 1%
    #[arg(long, value_name = "P")]
    pub(crate) fpp: Option<Fpp>,
    /// Most memory for the filter, e.g. 4GiB
    #[arg(short, long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,
    /// Largest size of the filter's file, if it is sent to others, e.g. 12MB; without SIZE, list filters planned for the
    /// bits sent when packed
    #[arg(long, value_name = "SIZE", num_args = 0..=1)]
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
    #[arg(long, value_name = "N", requires = "known", help_heading = "Use of the filter")]
    pub(crate) except: Option<KeyCount>,
    /// Time of the look-up that the filter saves for absent keys, e.g. 100us or 5ms [unit: ns]
    #[arg(long, value_name = "TIME", help_heading = "Cost of look-ups")]
    pub(crate) lookup: Option<Nanoseconds>,
    /// Time that a false positive costs [default: that of --lookup]
    #[arg(long, value_name = "TIME", requires = "lookup", help_heading = "Cost of look-ups")]
    pub(crate) false_answer: Option<Nanoseconds>,
    /// Share of look-ups whose key is absent, from 0 to 1
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "0.5",
        value_parser = umbel_numbers::share,
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
