//! Inputs: files that can be read again, and pipes made so by spooling.

use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use memchr::memchr_iter;

use crate::Error;

/// Tells the system that the file is read from start to end, so that the disk works while lines are
/// looked at. A system that does not care is only slower.
fn read_ahead(file: &File) {
    #[cfg(target_os = "linux")]
    {
        use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
        let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_SEQUENTIAL);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

/// A file of lines that can be read any number of times, from any place.
#[derive(Debug)]
pub struct Input {
    name: String,
    file: File,
    length: u64,
    stamp: Stamp,
    spooled: bool,
}

/// What shows that a file was written to: its length and when it was last modified. Not the time of
/// its last status change, which a rename or a new permission moves too; a writer that puts the times
/// back is noticed by the tallies of two passes.
#[derive(Debug, PartialEq)]
struct Stamp {
    inode: (u64, u64),
    length: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        Self {
            inode: (meta.dev(), meta.ino()),
            length: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        }
    }
}

impl Input {
    /// A regular file, as it is now.
    ///
    /// # Errors
    /// [`Error::Directory`]; [`Error::Read`] when the system does not tell its length.
    pub fn file(name: impl Into<String>, file: File) -> Result<Self, Error> {
        Self::stamped(name.into(), file, false)
    }

    /// All that `source` gives, copied to an unlinked file in `tmp`: pipes, decompressed files.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Temporary`].
    pub fn spool(
        name: impl Into<String>,
        mut source: impl Read,
        tmp: &Path,
    ) -> Result<Self, Error> {
        let name = name.into();
        let temporary = |source| Error::Temporary { dir: tmp.to_owned(), source };
        let file = tempfile::tempfile_in(tmp).map_err(temporary)?;
        let mut out = BufWriter::with_capacity(1 << 18, file);
        let mut piece = vec![0; 1 << 16];
        loop {
            match source.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => out.write_all(&piece[..read]).map_err(temporary)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::Read { name, source }),
            }
        }
        let file = out.into_inner().map_err(|error| temporary(error.into_error()))?;
        Self::stamped(name, file, true)
    }

    fn stamped(name: String, file: File, spooled: bool) -> Result<Self, Error> {
        let meta = match file.metadata() {
            Ok(meta) if meta.is_dir() => return Err(Error::Directory { name }),
            Ok(meta) => meta,
            Err(source) => return Err(Error::Read { name, source }),
        };
        read_ahead(&file);
        Ok(Self { name, file, length: meta.len(), stamp: Stamp::of(&meta), spooled })
    }

    /// The name used in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Bytes that were copied to a temporary file to make it readable again.
    pub(crate) fn spooled_bytes(&self) -> u64 {
        if self.spooled { self.length } else { 0 }
    }

    /// Fills `bytes` from `offset`; an input that has become shorter has changed.
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), Error> {
        self.file.read_exact_at(bytes, offset).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => self.changed(),
            _ => Error::Read { name: self.name.clone(), source },
        })
    }

    /// Whether it still is the file that was opened, as far as the system tells.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        let meta = self
            .file
            .metadata()
            .map_err(|source| Error::Read { name: self.name.clone(), source })?;
        if Stamp::of(&meta) == self.stamp { Ok(()) } else { Err(self.changed()) }
    }

    pub(crate) fn changed(&self) -> Error {
        Error::Changed { name: self.name.clone() }
    }

    /// About how many lines it has, from the line ends in 16 samples of 32 KiB; exact for files of
    /// up to 512 KiB. Never 0.
    pub(crate) fn estimate_lines(&self, separator: u8) -> Result<u64, Error> {
        const SAMPLES: u64 = 16;
        const SAMPLE: u64 = 32 << 10;
        let size = SAMPLE.max(1).min(self.length);
        let whole = self.length <= SAMPLES * SAMPLE;
        let mut sample = vec![0; if whole { self.length } else { size } as usize];
        let mut ends = 0;
        let mut read = 0;
        for i in 0..if whole { 1 } else { SAMPLES } {
            // The last sample ends where the file ends.
            let offset = (self.length - sample.len() as u64) / (SAMPLES - 1) * i;
            self.read_at(&mut sample, offset)?;
            ends += memchr_iter(separator, &sample).count() as u64;
            read += sample.len() as u64;
        }
        if whole {
            return Ok(ends + 1);
        }
        // Without any end in half a megabyte, lines are longer than that.
        Ok((ends as f64 / read as f64 * self.length as f64) as u64 + 1)
    }
}
