//! Options of `umbel parquet`, a verb for each thing that is done with the filters in Parquet files.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use umbel_numbers::Fpp;

use super::{OutputArgs, ReplaceArgs, Work};

/// The Bloom filters in Parquet files: list them, look keys up in them, add them, remove them
///
/// A column in lists or structures is named by its path, as in user.id.
#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "WHAT",
    subcommand_help_heading = "What",
    disable_help_subcommand = true
)]
pub(crate) struct ParquetArgs {
    #[command(subcommand)]
    pub(crate) verb: ParquetVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ParquetVerb {
    List(ParquetListArgs),
    Which(ParquetWhichArgs),
    Add(ParquetAddArgs),
    Remove(ParquetRemoveArgs),
    Clear(ParquetClearArgs),
    Extract(ParquetExtractArgs),
}

/// List filters: row group, column, size, set bits, keys and rate now
#[derive(Debug, Args)]
pub(crate) struct ParquetListArgs {
    /// Parquet files
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// List only the filters of this column
    #[arg(long, short, value_name = "COLUMN")]
    pub(crate) column: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Print the files and row groups that may hold keys
///
/// Keys are lines of standard input, or of the files that --keys-from names. For each key and file that may hold it, prints
/// the key, the file and the row groups to read, numbered from 0 and separated by commas; with tabs between them. For a key
/// that no file may hold, prints - after it. Minimum and maximum values, by which readers also skip row groups, are not
/// used. A row group without a filter may hold any key.
///
/// A key is read by the type of the column: 17, 0.5, 12.50, 2026-11-21, 17:29:25, 2026-11-21T17:29:25Z, or hexadecimal
/// digits for a UUID or for bytes of fixed length. Text and other bytes are taken as they are. What is no value of the
/// column's type is in no row group; nor is any key in a file without the column. Both are said once per file.
#[derive(Debug, Args)]
pub(crate) struct ParquetWhichArgs {
    /// Parquet files; with --files-from, also those of a list
    #[arg(required_unless_present = "files_from", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Column
    #[arg(long, short, value_name = "COLUMN")]
    pub(crate) column: String,
    /// File of keys, one per line; repeat for several; - is standard input [default: standard input]
    #[arg(long, value_name = "KEYS", value_hint = ValueHint::FilePath)]
    pub(crate) keys_from: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// A Parquet file that is changed, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct ParquetChangeArgs {
    /// Parquet file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Add filters of columns, in place or to the file that -o names
///
/// Reads the columns once, and writes a filter per row group behind the data. All pages stay byte for byte where they are,
/// and of the footer only the places of the filters change. The file is replaced in one step. A row group is left out where
/// a filter is of no use: if it has few different values, if all of them are in the dictionary, or if minimum and maximum are
/// the same; --always adds a filter even so. One that has a filter keeps it, but for --again. FLOAT16 and decimals of more than 38
/// digits get none, because DuckDB reads them as wider floats and would miss them. Encrypted files, whose footers are signed, are
/// refused.
#[derive(Debug, Args)]
pub(crate) struct ParquetAddArgs {
    /// Columns that get filters
    #[arg(required = true, value_name = "COLUMN")]
    pub(crate) columns: Vec<String>,
    /// Highest false positive rate, e.g. 0.001 or 0.1%
    #[arg(long, value_name = "P", default_value = "0.01")]
    pub(crate) fpp: Fpp,
    /// Add filters also to row groups where they are of no use
    #[arg(long)]
    pub(crate) always: bool,
    /// Remove the filters that these columns have first
    #[arg(long)]
    pub(crate) again: bool,
    #[command(flatten)]
    pub(crate) change: ParquetChangeArgs,
}

/// Remove the filters of columns, in place or to the file that -o names
///
/// The file gets shorter where the filters are the last thing in front of the footer, as umbel parquet add puts them.
#[derive(Debug, Args)]
pub(crate) struct ParquetRemoveArgs {
    /// Columns whose filters are removed
    #[arg(required = true, value_name = "COLUMN")]
    pub(crate) columns: Vec<String>,
    #[command(flatten)]
    pub(crate) change: ParquetChangeArgs,
}

/// Remove all filters, in place or to the file that -o names
#[derive(Debug, Args)]
pub(crate) struct ParquetClearArgs {
    #[command(flatten)]
    pub(crate) change: ParquetChangeArgs,
}

/// Merge the filters of a column in all row groups into one filter, a file of its own
///
/// The filters must have the same size. The result has format parquet, as umbel query --format parquet reads it.
#[derive(Debug, Args)]
pub(crate) struct ParquetExtractArgs {
    /// Column
    pub(crate) column: String,
    /// Parquet files
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}
