//! Temporary files, and the folders they are in.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use umbel_io::{FileAt, PageWriter};

use crate::Error;

/// Folders for temporary files, used in turn: folders on several disks are written and read in parallel. If a file's
/// disk is full, the file continues in the next folder.
#[derive(Debug)]
pub struct TempFolders {
    folders: Arc<[PathBuf]>,
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
        Self { folders: folders.into(), made: AtomicUsize::new(0), notice: |_| {} }
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
        if number < self.folders.len() {
            (self.notice)(&self.folders[number]);
        }
        TempFile::new(&self.folders, number % self.folders.len(), self.folders.len() - 1)
    }
}

/// A temporary file. It disappears however the process ends: it has no name, or the system removes it on close.
///
/// Bytes are only ever appended.
#[derive(Debug)]
pub(crate) struct TempFile {
    file: File,
    folders: Arc<[PathBuf]>,
    /// The folder that it is in.
    number: usize,
    /// Folders that it can continue in.
    others: usize,
    /// Bytes written to it through [`Write`].
    pub(crate) written: u64,
    /// Where its disk was full, and the file that continues it.
    rest: OnceLock<(u64, Box<Self>)>,
}

impl TempFile {
    /// Makes one in a folder, or if that is full, in one of the next `others`.
    fn new(folders: &Arc<[PathBuf]>, number: usize, others: usize) -> Result<Self, Error> {
        let folder = &folders[number];
        match tempfile::tempfile_in(folder) {
            Ok(file) => {
                let folders = Arc::clone(folders);
                Ok(Self { file, folders, number, others, written: 0, rest: OnceLock::new() })
            }
            Err(error) if others > 0 && is_full(&error) => {
                Self::new(folders, (number + 1) % folders.len(), others - 1)
            }
            Err(source) => Err(Error::Temporary { dir: folder.clone(), source }),
        }
    }

    /// Turns an I/O error of the file into one that names its folder.
    pub(crate) fn fail(&self, source: io::Error) -> Error {
        match self.rest.get() {
            Some((_, rest)) => rest.fail(source),
            None => Error::Temporary { dir: self.folders[self.number].clone(), source },
        }
    }

    /// Flushes a buffer and returns its file.
    pub(crate) fn finish(out: PageWriter<Self>) -> Result<Self, Error> {
        out.into_inner().map_err(|(error, file)| file.fail(error))
    }

    /// Fills `bytes` from `offset`.
    pub(crate) fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), Error> {
        let rest = self.rest.get();
        let end = rest.map_or(u64::MAX, |(end, _)| *end);
        let here = (bytes.len() as u64).min(end.saturating_sub(offset)) as usize;
        let (here, there) = bytes.split_at_mut(here);
        if !here.is_empty() {
            self.file.read_exact_at(here, offset).map_err(|error| self.fail(error))?;
        }
        match rest {
            Some((_, rest)) if !there.is_empty() => {
                rest.read_exact_at(there, offset + here.len() as u64 - end)
            }
            _ => Ok(()),
        }
    }

    /// Writes `bytes` at `offset`, after all others.
    pub(crate) fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.append(bytes, offset).map_err(|error| self.fail(error))
    }

    fn append(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.rest.get().is_none() {
            match self.file.write_all_at(bytes, offset) {
                Err(error) => self.go_on(offset, error)?,
                done => return done,
            }
        }
        let (end, rest) = self.rest.get().expect("it goes on");
        rest.append(bytes, offset - end)
    }

    /// Continues in the next folder from `end`, where the disk was full.
    fn go_on(&self, end: u64, error: io::Error) -> io::Result<()> {
        if self.others == 0 || !is_full(&error) {
            return Err(error);
        }
        let next = (self.number + 1) % self.folders.len();
        let rest = Self::new(&self.folders, next, self.others - 1).map_err(|_| error)?;
        self.rest.set((end, Box::new(rest))).expect("bytes are written one after another");
        Ok(())
    }
}

/// Whether a disk is full, or full for this user.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl Write for TempFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes, self.written)?;
        self.written += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
        let files = [(); 4].map(|()| folders.file().unwrap().number);
        assert_eq!(files, [0, 1, 0, 1]);
        assert_eq!(*NOTICED.lock().unwrap(), paths);
    }
    #[test]
    fn a_file_goes_on_where_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let folders = TempFolders::new(&vec![dir.path().to_owned(); 3]);
        let full = || io::ErrorKind::StorageFull.into();
        let mut file = folders.file().unwrap();
        file.write_all(b"abc").unwrap();
        file.go_on(3, full()).unwrap();
        file.write_all(b"de").unwrap();
        file.rest.get().unwrap().1.go_on(2, full()).unwrap();
        file.write_all(b"fgh").unwrap();
        file.write_all_at(b"ij", 8).unwrap();
        for (start, end) in (0..10).flat_map(|start| (start..=10).map(move |end| (start, end))) {
            let mut bytes = vec![0; end - start];
            file.read_exact_at(&mut bytes, start as u64).unwrap();
            assert_eq!(bytes, b"abcdefghij"[start..end]);
        }
        // All folders were tried; after other errors, no other folder is used.
        let last = &file.rest.get().unwrap().1.rest.get().unwrap().1;
        assert!(last.go_on(5, full()).is_err());
        let other = folders.file().unwrap();
        assert!(other.go_on(0, io::ErrorKind::PermissionDenied.into()).is_err());
    }
}
