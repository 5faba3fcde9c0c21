//! Options of the verbs that index many files, and find lines in them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{ReplaceArgs, Work};

/// Index the words of many files, or the values of one field, to find lines in them
///
/// The index has a filter for each block of about 1 MiB of each file, and says which blocks may hold a word: umbel find reads
/// only these, and compares the text itself. Files may be compressed; those of folders are taken at any depth, without links.
/// A word is letters and digits in a row, and _; in Chinese, Japanese, Thai and their like, which have no spaces, each character
/// is one. With --key, the index is of the values of these fields.
#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// Files and folders to index
    #[arg(value_hint = ValueHint::AnyPath, required_unless_present_any = ["update", "files_from"])]
    pub(crate) paths: Vec<PathBuf>,
    /// File to write the index to
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "update")]
    pub(crate) output: Option<PathBuf>,
    /// Bring this index up to date: read what is new or changed, drop what is gone
    ///
    /// It knows its folders and records. Whoever reads it meanwhile sees the old index or the new one.
    #[arg(long, value_name = "INDEX", value_hint = ValueHint::FilePath, conflicts_with_all = ["paths", "output", "files_from"])]
    pub(crate) update: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Find the lines of many files that hold a text, exactly, with an index
///
/// Prints FILE:LINE:text, in the order of the files' paths. The text may be several words and what is between them; its first and
/// last words are whole words of the line, unless -F is given. Several texts find the lines with any of them. Files that
/// changed since they were indexed, and new ones in its folders, are searched in full and reported; a file that is gone or
/// cannot be read is an error, after all others were searched. In place of an index, a file or a folder is searched in full.
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// Index, or a file or folder to search in full
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) place: PathBuf,
    /// Texts to find, or values of the field that the index is of
    #[arg(value_name = "TEXT", required_unless_present = "texts_from")]
    pub(crate) texts: Vec<OsString>,
    /// Read more texts from LIST, one per line (LF or CR LF; blank ones are left out), or NUL-separated with --null; - is standard input
    #[arg(short = 'f', long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub(crate) texts_from: Option<PathBuf>,
    /// Find the text inside words too, as grep -F does; this reads all files unless the text has whole words inside
    #[arg(short = 'F', long)]
    pub(crate) fixed: bool,
    /// Find whole words only, which is the default without -F
    #[arg(short = 'w', long)]
    pub(crate) words: bool,
    /// Print only the names of files that have such a line
    #[arg(long, conflicts_with = "count")]
    pub(crate) files: bool,
    /// Print the number of such lines of each file that has any
    #[arg(long)]
    pub(crate) count: bool,
    /// Print the texts that no line has, in the order of the list; exit with 1 if each was found
    #[arg(long, conflicts_with_all = ["files", "count"])]
    pub(crate) not_found: bool,
    #[command(flatten)]
    pub(crate) work: Work,
}
