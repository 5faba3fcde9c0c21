//! What can stop a job over files.

use std::io;
use std::path::PathBuf;

/// Why a job stopped. Nothing was lost: inputs are only read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input could not be read.
    #[error("{name}: {source}")]
    Read {
        /// The input's name.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// An input is a directory.
    #[error("{name}: is a directory; name files, or pipe lines in")]
    Directory {
        /// The input's name.
        name: String,
    },
    /// An input was written to while it was being worked on.
    #[error(
        "{name}: changed while it was being read; the result would be wrong, run again when it is at rest"
    )]
    Changed {
        /// The input's name.
        name: String,
    },
    /// Less memory than any job needs.
    #[error("a memory cap of {} does not suffice; the least that works here is {}", Size(*.cap), Size(*.least))]
    Memory {
        /// The cap given, in bytes.
        cap: u64,
        /// The least cap that works, in bytes.
        least: u64,
    },
    /// A line that does not fit in memory.
    #[error(
        "{name}: the line at byte {offset} has {length} bytes, too many for a memory cap of {}; the least that works is {}",
        Size(*.cap), Size(*.least)
    )]
    LongLine {
        /// The input's name.
        name: String,
        /// Where the line starts, in bytes from the start of the input.
        offset: u64,
        /// Its length in bytes, without its end.
        length: u64,
        /// The cap given, in bytes.
        cap: u64,
        /// A cap that works, in bytes.
        least: u64,
    },
    /// A line longer than any memory cap allows.
    #[error(
        "{name}: the line at byte {offset} has {length} bytes; lines may have up to {} bytes",
        u32::MAX
    )]
    GiantLine {
        /// The input's name.
        name: String,
        /// Where the line starts.
        offset: u64,
        /// Its length in bytes.
        length: u64,
    },
    /// More input than offsets can count.
    #[error("the inputs have {0} bytes together; at most 2^48 are supported")]
    TooMuch(u64),
    /// A temporary file could not be made, written or read back.
    #[error("temporary files in {}: {source}; free some space there or name another folder with --tmp", dir.display())]
    Temporary {
        /// The folder.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The result could not be written.
    #[error("writing the result: {0}")]
    Output(#[source] io::Error),
    /// Fewer than two inputs, or a threshold that they cannot meet.
    #[error(
        "--at-least {at_least} with {inputs} inputs: it must lie between 1 and the number of inputs"
    )]
    AtLeast {
        /// The threshold.
        at_least: usize,
        /// Inputs given.
        inputs: usize,
    },
    /// A filter could not be planned or made.
    #[error(transparent)]
    Filter(#[from] umbel::Error),
}

/// Bytes, in the largest unit that keeps them readable.
pub(crate) struct Size(pub(crate) u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            bytes if bytes.is_multiple_of(1 << 30) && bytes > 0 => write!(f, "{}GiB", bytes >> 30),
            bytes if bytes.is_multiple_of(1 << 20) && bytes > 0 => write!(f, "{}MiB", bytes >> 20),
            bytes if bytes.is_multiple_of(1 << 10) && bytes > 0 => write!(f, "{}KiB", bytes >> 10),
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}
