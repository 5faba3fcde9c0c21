//! The description of an index, and what has changed since.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use umbel_io::State;

use super::folders::Base;
use super::{opened, stamp};

/// The content of an index, and the changes since.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct About {
    /// Its content.
    pub index: crate::index::About,
    /// Files that changed since they were indexed.
    pub stale: Vec<PathBuf>,
    /// Files that are gone.
    pub gone: Vec<PathBuf>,
}

/// Reads and checks all of an index, and compares it with the current state of its files.
///
/// # Errors
/// An [`IndexError`](crate::IndexError); read errors.
pub fn about(path: &Path) -> Result<About> {
    let name = || path.display().to_string();
    let file = File::open(path).with_context(name)?;
    let bytes = file.metadata().with_context(name)?.len();
    let (index, _) = opened::open(file).map_err(anyhow::Error::from).with_context(name)?;
    let base = Base::of_index(path)?;
    let of = crate::index::About::of(&index, bytes, &opened::is_start).with_context(name)?;
    let mut about = About { index: of, ..About::default() };
    for entry in &index.files {
        let path = base.shown(base.kept(&entry.path));
        match State::at(&path) {
            Ok(state) if state.is_file => {
                let same = stamp::is_of(&entry.stamp, &state, || File::open(&path));
                if !same.with_context(|| path.display().to_string())? {
                    about.stale.push(path);
                }
            }
            _ => about.gone.push(path),
        }
    }
    Ok(about)
}
