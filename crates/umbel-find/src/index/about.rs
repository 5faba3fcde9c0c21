//! The description of an index.

use std::path::PathBuf;

use umbel_io::ReadAt;

use super::{Index, IndexError};

/// The content of an index.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Its files.
    pub files: u64,
    /// Blocks of all files.
    pub blocks: u64,
    /// Bytes of the text of all files.
    pub text: u64,
    /// Bytes of the index, including any left behind by an unfinished update.
    pub bytes: u64,
    /// Bytes of the filters of all blocks.
    pub filters: u64,
    /// Set bits over all bits of filters: a key with p probes passes a block wrongly at a rate of about fill^p.
    pub fill: f64,
    /// The fields whose values are keys; empty if keys are words.
    pub fields: Vec<String>,
    /// How many filters are looked up together, at most.
    pub groups: u64,
    /// The paths named when it was made.
    pub roots: Vec<PathBuf>,
}

impl About {
    /// Reads and checks all of an index of `bytes`; `is_start` as in [`Index::check`].
    ///
    /// # Errors
    /// As [`Index::check`].
    pub fn of<F: ReadAt>(
        index: &Index<F>,
        bytes: u64,
        is_start: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Self, IndexError> {
        let filters = index.groups.iter().map(|group| group.bytes()).sum();
        Ok(Self {
            files: index.files.len() as u64,
            blocks: index.block_count().into(),
            text: index.files.iter().map(|file| file.text).sum(),
            bytes,
            filters,
            fill: index.check(is_start)? as f64 / (8 * filters).max(1) as f64,
            fields: index.fields().map(str::to_owned).collect(),
            groups: index.groups.len() as u64,
            roots: index.roots.clone(),
        })
    }
}
