//! Exact set operations on the lines of files bigger than memory: common lines, differences, duplicates.
//!
//! Results are exact, in the order of the input, and the same bytes for any memory cap and any number of threads. A Bloom
//! filter finds the lines that *may* be shared; only those are kept, and compared byte by byte. (With
//! [`SetOperation::with_error`] filters alone decide, at a reported error.) The command line `umbel` is built on this crate,
//! which handles temporary files and threads, but no arguments and no terminal.
//!
//! ```
//! use std::fs::{self, File};
//! use umbel_sets::{Form, Input, Options, Resources, SetOperation, TempFolders};
//!
//! let dir = tempfile::tempdir()?;
//! let input = |name: &str, lines: &str| {
//!     let path = dir.path().join(name);
//!     fs::write(&path, lines)?;
//!     Ok::<_, Box<dyn std::error::Error>>(Input::file(name, File::open(path)?)?)
//! };
//! let inputs = [input("monday", "ant\nbee\ncat\n")?, input("tuesday", "cat\ndog\nant\n")?];
//!
//! let resources = Resources::new(256 << 20, 2, TempFolders::new(&[dir.path().to_owned()]));
//! let options = Options { resources, form: Form::default() };
//! let mut out = Vec::new();
//! let report = SetOperation::common(&inputs, 2, &options)?.run(&mut out)?;
//! assert_eq!(out, b"ant\ncat\n");
//! assert_eq!((report.lines, report.found), (6, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`SetOperation`] compares lines or records with keys ([`Records`]): distinct lines, lines in several inputs, lines in
//!   one input alone, semi-joins and anti-joins. [`Diff`] compares two files row by row, and [`Join`] puts
//!   the rows of two files with the same key side by side.
//! - [`insert`], [`Query`], [`remove`] and [`Unseen`] connect lines with a [`Filter`] of umbel or of another system;
//!   [`build_in_pieces`] and [`query_in_pieces`] do so with filters larger than the memory cap.
//! - [`Query::of_list`] finds the lines whose key, an address or host, has a prefix in a list.
//! - [`Report`] holds what a job read, wrote and found; [`Error`] names the input and the place where it stopped.

// Each group needs only those before it. Errors, and bytes of lines:
mod ends;
mod error;
mod hash;
mod line_counter;
mod pages;

// Inputs as bytes, and temporary files:
mod ahead;
mod input;
mod places;
mod report;
mod temporary;

// Rows and their keys:
mod labels;
mod records;
mod rows;

// Memory, and what is kept in it or spilled from it:
mod budget;
mod spill;
mod table;

// A pass over the inputs on all threads:
mod bulk;
mod keys;
mod passes;
mod prelude;
mod sample;
mod scan;
mod sink;

// The jobs:
mod bare;
mod filters;
mod operation;
mod unseen;

// What is done with inputs before a job: they are opened, and their columns put in order.
mod align;
pub mod sources;

#[cfg(test)]
mod testing;

pub use align::{Header, RowsOf, align, rewrites};
pub use bare::{options_of_keys, records_of_keys};
pub use budget::{LEAST_MEMORY, most_threads};
pub use error::{Error, Place, QuoteFlaw};
pub use filters::{
    BloomierBuild, Filter, FindPrefixes, ForeignLines, LargeFilter, LongestPrefix, Query, Receipt,
    add_in_pieces, build_in_pieces, build_lists, count, count_keys, describe_keys, hits, insert,
    query_in_pieces, remove, room_left,
};
pub use input::{Input, ReadFrom, SpoolWriter};
pub use keys::{KeyBatch, keys};
pub use labels::Labels;
pub use operation::{
    Change, Diff, Distinct, Holders, Join, Keep, Partners, SetOperation, SetPlan, Steps, Top,
    Unpaired, changes, excludes,
};
pub use records::{
    Bad, Empty, Form, Missing, Normalization, Ragged, ReadKey, Records, quote, values_of,
};
pub use report::{Changes, ErrorBound, Joined, Progress, Report};
pub use rows::{Rows, Start};
pub use temporary::TempFolders;
pub use unseen::{Checkpoint, Recorder, Save, Unseen, UnseenInPieces, journal};

use std::sync::Arc;

use umbel_io::compression::Notice;

/// The options of every job.
#[derive(Clone, Debug)]
pub struct Options {
    /// The machine's resources that it may use.
    pub resources: Resources,
    /// The form of its inputs' rows.
    pub form: Form,
}

impl Options {
    /// Options to read the output's own lines: a line without a key, such as a record cut off by a crash, is skipped.
    pub(crate) fn for_own_output(&self) -> Self {
        let mut options = self.clone();
        let Form { records, missing, bad, skip, comment, ragged, .. } = &mut options.form;
        // These options are only for the inputs.
        (*skip, *comment, *ragged) = (0, None, Ragged::Take);
        if *missing == Missing::Refuse {
            *missing = Missing::Skip;
        }
        if matches!(records, Records::JsonLines { .. }) {
            *bad = Bad::Skip;
        }
        options
    }
}

/// The machine's resources that a job may use. There are no defaults, because they depend on the machine.
#[derive(Clone, Debug)]
pub struct Resources {
    /// Bytes that the whole process may use, at least [`LEAST_MEMORY`].
    pub memory: u64,
    /// Threads that read and hash, at least 1.
    pub threads: usize,
    /// Folders for temporary files, which are unlinked as soon as they are made.
    pub tmp: Arc<TempFolders>,
    /// Where to report progress.
    pub progress: Arc<Progress>,
    /// Receives notices for users about inputs that were read nevertheless: from any thread, maybe during the job.
    pub notice: Notice,
}

impl Resources {
    /// Makes resources with a new progress.
    pub fn new(memory: u64, threads: usize, tmp: TempFolders) -> Self {
        Self { memory, threads, tmp: Arc::new(tmp), progress: Arc::default(), notice: |_| {} }
    }
}
