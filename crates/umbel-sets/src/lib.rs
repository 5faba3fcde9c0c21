//! Exact set operations on line files bigger than memory.
//!
//! A filter says which lines *may* be shared, so that only those are kept; their bytes then decide.
//! Results are exact, come in the order of the input, and are the same bytes whatever the memory
//! cap and the number of threads. This crate knows temporary files and threads; it knows nothing
//! of arguments and terminals.
//!
//! | module | what it alone knows |
//! |---|---|
//! | `input` | files that can be read again, pipes that are spooled |
//! | `line_ends` | where the lines of a buffer end |
//! | `records` | where a record ends, and which of its bytes are its key |
//! | `hash` | how the lines of a job are hashed |
//! | `scan` | reading inputs in parallel, cut at the ends of records |
//! | `budget` | how the memory cap is divided |
//! | `table` | the lines kept in memory, found by hash and compared by bytes |
//! | `threads` | work that several threads share |
//! | `temporary` | temporary files, in several folders |
//! | `spill` | what is in them: partitions of lines, sorted runs |
//! | `operation` | the plan and the work of `common`, `except`, `dedup` and `diff` |
//! | `sample` | what a few pieces of an input tell of all of it |
//! | `places` | the inputs laid end to end |
//! | `passes` | what each pass saw, and the report of all |
//! | `sink` | where results go |
//! | `bulk` | filling one blocked filter on all threads, and asking it in batches |
//! | `filters` | filters of any kind or system: made, filled, asked and emptied with lines |
//! | `keys` | the keys of lines in order, for work that no filter of ours does |

mod budget;
mod bulk;
mod error;
mod filters;
mod hash;
mod input;
mod keys;
mod line_ends;
mod operation;
mod passes;
mod places;
mod records;
mod report;
mod sample;
mod scan;
mod sink;
mod spill;
mod table;
mod temporary;
#[cfg(test)]
mod testing;
mod threads;

pub use budget::{LEAST_MEMORY, most_threads};
pub use error::{Error, Place, QuoteFlaw};
pub use filters::{
    AtOnce, Checkpoint, Filter, ForeignLines, LargeFilter, Noted, Query, Receipt, Save, SaveError,
    Seen, SeenInPieces, add_in_pieces, build_in_pieces, build_lists, check_keys, count, count_keys,
    insert, insert_stream, keys_of, query_in_pieces, remove, remove_stream, room_beside,
};
pub use input::{Input, Spool};
pub use keys::{Keys, keys, keys_stream};
pub use operation::{Change, Diff, Distinct, Keep, SetOperation, SetPlan, Strategy, Top};
pub use records::{
    Bad, Missing, Normalization, Records, Rewritten, align, compares_headers, leaves_bad_rows_out,
};
pub use report::{Changes, ErrorBound, Progress, Report};
pub use temporary::TempFolders;

use std::sync::Arc;

/// What every job is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes the whole process may use, at least [`LEAST_MEMORY`].
    pub memory: u64,
    /// Threads that read and hash, at least 1.
    pub threads: usize,
    /// Folders for temporary files, which are unlinked as soon as they are made.
    pub tmp: Arc<TempFolders>,
    /// The byte that ends a line: `\n`, or 0. Records of other formats than lines end with `\n`.
    pub separator: u8,
    /// What a record is, and its key.
    pub records: Records,
    /// What of a key counts.
    pub normalization: Normalization,
    /// What is done with records that have not all fields of the key.
    pub missing: Missing,
    /// What is done with records that cannot be read.
    pub bad: Bad,
    /// Where to tell how far the work is.
    pub progress: Arc<Progress>,
}
