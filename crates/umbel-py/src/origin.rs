//! The file that a filter was opened from, and whether others changed it since.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context, bail};
use umbel::KeyHasher;
use umbel_io::{State, atomic};
use umbel_sets::journal;

/// The file that a filter was opened from.
pub(crate) struct Origin {
    /// The path as given.
    path: PathBuf,
    /// The path with symbolic links resolved.
    target: PathBuf,
    /// The checksum of its content then, or when the filter was last saved there.
    sum: u64,
}

impl Origin {
    /// Pipes cannot be read again.
    pub(crate) fn of(path: &Path, file: &File) -> io::Result<Option<Self>> {
        if !State::of(file)?.is_file {
            return Ok(None);
        }
        let (path, target) = (absolute(path)?, atomic::target_of(path));
        Ok(Some(Self { path, target, sum: sum_of(file)? }))
    }

    pub(crate) fn is_at(&self, path: &Path) -> bool {
        self.target == atomic::target_of(path) || absolute(path).is_ok_and(|path| path == self.path)
    }

    /// Keeps others from changing the file at `path`, if it exists, and refuses to replace changes that others made.
    pub(crate) fn claim(&self, path: &Path) -> anyhow::Result<Option<File>> {
        const REMEDY: &str = "to change a file that other programs also change, use umbel.update, or save to another file";
        let name = || path.display().to_string();
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.with_context(name)?,
        };
        let mut busy = false;
        let mut refuse = |_: &File| {
            busy = true;
            Err(ErrorKind::WouldBlock.into())
        };
        let lock = atomic::lock(file, path, &|| File::open(path).with_context(name), &mut refuse);
        if busy {
            bail!(
                "{}: another process is changing it, or umbel.update in this one, which will save it; {REMEDY}",
                path.display()
            );
        }
        let lock = lock?;
        if sum_of(&lock).with_context(name)? != self.sum {
            bail!(
                "{}: was changed since this filter was opened from it, and saving the filter would undo that; {REMEDY}",
                path.display()
            );
        }
        Ok(Some(lock))
    }

    /// The filter is saved to the file of that name, which is open.
    pub(crate) fn saved(&mut self, file: &File) -> anyhow::Result<()> {
        self.sum = sum_of(file)?;
        Ok(())
    }
}

/// Identifies a file: an umbel file by its header and the checksum of its checksums, any other by all its bytes.
fn sum_of(mut file: &File) -> io::Result<u64> {
    journal::sum_of(file).or_else(|_| {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        file.rewind()?;
        Ok(KeyHasher::default().hash(&bytes[..]).low)
    })
}
