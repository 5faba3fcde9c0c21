//! Temporary files, and the folders they are in.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use umbel_system::FileAt;

use crate::Error;
use crate::buffer::PageWriter;

/// Folders for temporary files, used in turn: folders on several disks are written and read in parallel.
#[derive(Debug)]
pub struct TempFolders {
    folders: Vec<Arc<Path>>,
    /// Files made so far.
    made: AtomicUsize,
    notice: fn(&Path),
}

impl TempFolders {
    /// Uses some existing folders.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(folders: &[PathBuf]) -> Self {
        assert!(!folders.is_empty(), "temporary files need a folder");
        let folders = folders.iter().map(|folder| Arc::from(&**folder)).collect();
        Self { folders, made: AtomicUsize::new(0), notice: |_| {} }
    }

    /// Sets a function to be called once per folder, when the first file is made there.
    #[must_use]
    pub fn with_notice(self, notice: fn(&Path)) -> Self {
        Self { notice, ..self }
    }

    /// Returns the folders.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|folder| &**folder)
    }

    /// Makes a new file in the folder whose turn it is.
    pub(crate) fn file(&self) -> Result<TempFile, Error> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let folder = Arc::clone(&self.folders[number % self.folders.len()]);
        if number < self.folders.len() {
            (self.notice)(&folder);
        }
        match tempfile::tempfile_in(&folder) {
            Ok(file) => Ok(TempFile { file, folder }),
            Err(source) => Err(Error::Temporary { dir: folder.to_path_buf(), source }),
        }
    }
}

/// A temporary file. It disappears however the process ends: it has no name, or the system removes it when it is closed.
#[derive(Debug)]
pub(crate) struct TempFile {
    file: File,
    folder: Arc<Path>,
}

impl TempFile {
    /// Turns an I/O error of the file into one that names its folder.
    pub(crate) fn fail(&self, source: io::Error) -> Error {
        Error::Temporary { dir: self.folder.to_path_buf(), source }
    }

    /// Flushes a buffer and returns its file.
    pub(crate) fn finish(out: PageWriter<Self>) -> Result<Self, Error> {
        out.into_inner().map_err(|(error, file)| file.fail(error))
    }

    /// The file itself.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Fills `bytes` from `offset`.
    pub(crate) fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), Error> {
        self.file.read_exact_at(bytes, offset).map_err(|error| self.fail(error))
    }

    /// Writes `bytes` at `offset`.
    pub(crate) fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.file.write_all_at(bytes, offset).map_err(|error| self.fail(error))
    }
}

impl Write for TempFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn folders_take_turns_and_each_is_noticed_once() {
        static NOTICED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let paths = dirs.each_ref().map(|dir| dir.path().to_owned());
        let folders = TempFolders::new(&paths)
            .with_notice(|folder| NOTICED.lock().unwrap().push(folder.to_owned()));
        let files = [(); 4].map(|()| folders.file().unwrap().folder.to_path_buf());
        assert_eq!(files, [0, 1, 0, 1].map(|i| paths[i].clone()));
        assert_eq!(*NOTICED.lock().unwrap(), paths);
    }
}
