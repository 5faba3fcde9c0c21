//! Where results go, and what is printed about them.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};

use umbel_sets::{Labels, RowsOf};

use crate::choices::Choice;
use crate::standard::is_standard;

/// What is done about a file that is there.
#[derive(Debug, Args)]
pub(crate) struct ReplaceArgs {
    /// Overwrite FILE even if it holds something else (e.g. a filter)
    #[arg(short, long)]
    pub(crate) force: bool,
}

/// Where text goes.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Write to FILE, which may be an input [default: standard output]
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
    /// Print the whole record, or the key alone: record or key
    #[arg(long, value_name = "WHAT", default_value = "record", hide_possible_values = true)]
    pub(crate) print: Print,
    /// Sort the result by the bytes compared, like LC_ALL=C sort [default: as read]
    ///
    /// The order is of what is compared: with --ignore-case, a is before B, and with --normalize number, 3 is before 20. Keys of
    /// several fields sort field by field.
    #[arg(long)]
    pub(crate) sort: bool,
}

impl PrintArgs {
    /// Which rows are printed if they are of all files: other columns than those of the key need not agree for keys alone.
    pub(crate) fn rows_of_all(&self) -> RowsOf {
        match self.print {
            Print::Record => RowsOf::All,
            Print::Key => RowsOf::One,
        }
    }
}

/// What stands for a file in front of a line.
pub(crate) const LABELS: [Choice<Labels>; 2] = [
    ("numbers", "Its number among the files, from 1", Labels::Numbers),
    ("names", "Its name", Labels::Names),
];
