//! What an index says of itself.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use umbel_system::State;

use crate::folders;
use crate::layout::Index;

/// What is in an index, and what has changed since.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct About {
    /// Files and their blocks.
    pub files: u64,
    /// Blocks of all files.
    pub blocks: u64,
    /// Bytes of the text of all files.
    pub text: u64,
    /// Bytes of the index, and of the filters in it.
    pub bytes: u64,
    /// Bytes of the filters of all blocks.
    pub filters: u64,
    /// Bits that are set, of all bits of filters: a key with p probes passes a block wrongly with about fill^p.
    pub fill: f64,
    /// The fields that keys are values of; none if they are words.
    pub fields: Vec<String>,
    /// How many filters are looked up together, at most.
    pub groups: u64,
    /// What was named when it was made.
    pub roots: Vec<PathBuf>,
    /// Files that changed since they were indexed.
    pub stale: Vec<PathBuf>,
    /// Files that are gone.
    pub gone: Vec<PathBuf>,
}

/// Reads and checks all of an index, and compares it with its files as they are.
///
/// # Errors
/// An [`IndexError`](crate::IndexError); those of reading.
pub fn about(path: &Path) -> Result<About> {
    let name = || path.display().to_string();
    let file = File::open(path).with_context(name)?;
    let bytes = file.metadata().with_context(name)?.len();
    let index = Index::open(file).map_err(anyhow::Error::from).with_context(name)?;
    let folder = folders::of_index(path);
    let mut about = About {
        files: index.files.len() as u64,
        blocks: index.block_count().into(),
        text: index.files.iter().map(|file| file.text).sum(),
        bytes,
        filters: index.groups.iter().map(|group| group.bytes()).sum(),
        fields: index.settings.records.key().to_vec(),
        groups: index.groups.len() as u64,
        roots: index.roots.clone(),
        ..About::default()
    };
    about.fill = index.check().with_context(name)? as f64 / (8 * about.filters).max(1) as f64;
    for entry in &index.files {
        let path = folder.join(&entry.path);
        match State::at(&path) {
            Ok(state) if state.is_file => {
                let same = entry.stamp.is_of(&path, &state);
                if !same.with_context(|| path.display().to_string())? {
                    about.stale.push(path);
                }
            }
            _ => about.gone.push(path),
        }
    }
    Ok(about)
}
