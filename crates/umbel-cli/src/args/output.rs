//! Where results go, and what is printed about them.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};

use umbel_sets::inputs::Rows;

use crate::standard::is_standard;

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
    /// Print the result in the order of the bytes compared, or with --key of the keys', field by field, as LC_ALL=C sort does [default: as read]
    ///
    /// What is ignored does not order: with --ignore-case a is before B, and rows of CSV are in the order of their values.
    #[arg(long)]
    pub(crate) sort: bool,
}

impl PrintArgs {
    /// Which rows are printed if they are of all files: other columns than those of the key need not agree for keys alone.
    pub(crate) fn rows_of_all(&self) -> Rows {
        match self.print {
            Print::Record => Rows::OfAll,
            Print::Key => Rows::OfOne,
        }
    }
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
