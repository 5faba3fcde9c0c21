//! Files that get their name only when they are complete.
//!
//! On Linux a new file has no name until then (`O_TMPFILE`), so even SIGKILL leaves nothing behind; elsewhere, and on
//! file systems without that, it is a temporary file next to the target. Replacing a file takes two steps on Linux, a
//! link next to it and a rename. The link's name contains its file's number. A link left by a SIGKILL between the two
//! is recognized by that, and removed when a file next to it is replaced; other programs' files are not.

use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::TempPath;

use super::{BESIDE, State, nameless, system};

/// A file that is being written.
pub struct NewFile {
    /// Its temporary name, if it has one.
    name: Option<TempPath>,
}

impl NewFile {
    /// Whether a path is certainly the name of such a file next to its target, not another program's similar name: it
    /// has its file's number.
    pub fn is_beside(path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()?.strip_prefix(BESIDE));
        let number = name.and_then(|name| u64::from_str_radix(name.split_once('-')?.0, 16).ok());
        number.is_some() && State::at(path).ok().map(|state| state.id.inode) == number
    }

    /// Makes one in a folder. A `private` one can be read only by its owner.
    ///
    /// # Errors
    /// System errors.
    pub fn in_folder(folder: &Path, private: bool) -> io::Result<(File, Self)> {
        if let Some(file) = nameless::make(folder, private) {
            return Ok((file, Self { name: None }));
        }
        let make = |path: &Path| system::create_new(path, private);
        let made = tempfile::Builder::new().prefix(BESIDE).make_in(folder, make)?;
        let (file, name) = made.into_parts();
        Ok((file, Self { name: Some(name) }))
    }

    /// Gives the file the name `target`. If it takes the place of another file, it is locked as long as it is open.
    ///
    /// # Errors
    /// System errors; without `replace`, if there is such a file.
    pub fn give_name(self, file: &File, target: &Path, replace: bool) -> io::Result<()> {
        if replace {
            // The lock shows other processes that it is about to be renamed.
            system::lock(file)?;
        }
        match (self.name, replace) {
            (None, false) => nameless::link(file, target),
            // A link cannot replace a file: link next to the target, then rename over it.
            (None, true) => replace_by(nameless::link_beside(file, target)?, target),
            (Some(name), false) => Ok(name.persist_noclobber(target)?),
            (Some(name), true) => replace_by(name, target),
        }
    }
}

/// Renames a file, even over one that is open.
fn replace_by(mut name: TempPath, target: &Path) -> io::Result<()> {
    system::rename(&name, target)?;
    name.disable_cleanup(true);
    Ok(())
}
