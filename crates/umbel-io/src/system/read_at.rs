//! Reading and writing at any position of a file.

use std::fs::File;
use std::io;

/// A source that can be read at any position.
pub trait ReadAt {
    /// Fills `bytes` from byte `offset` on.
    ///
    /// # Errors
    /// Read errors.
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        FileAt::read_exact_at(self, bytes, offset)
    }
}

/// A file that is read and written at any position, by several threads. The position of sequential readers is
/// unchanged; on Windows, only if they do not read meanwhile.
pub trait FileAt {
    /// Reads some bytes from byte `offset` of the file on; 0 at its end.
    ///
    /// # Errors
    /// Read errors.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes some bytes at `offset`.
    ///
    /// # Errors
    /// Write errors.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Fills `bytes`.
    ///
    /// # Errors
    /// As [`read_at`](Self::read_at); `UnexpectedEof` if the file ends first.
    fn read_exact_at(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.read_at(bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    bytes = &mut bytes[read..];
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all `bytes`.
    ///
    /// # Errors
    /// As [`write_at`](Self::write_at).
    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl FileAt for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(self, bytes, offset);
        #[cfg(windows)]
        return super::windows::read_at(self, bytes, offset);
        #[cfg(not(any(unix, windows)))]
        return Err(unsupported(bytes, offset));
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_at(self, bytes, offset);
        #[cfg(windows)]
        return super::windows::write_at(self, bytes, offset);
        #[cfg(not(any(unix, windows)))]
        return Err(unsupported(bytes, offset));
    }
}

/// There are no files.
#[cfg(not(any(unix, windows)))]
fn unsupported(_: &[u8], _: u64) -> io::Error {
    io::ErrorKind::Unsupported.into()
}
