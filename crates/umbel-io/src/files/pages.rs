//! Memory that the system fills or empties: it begins at a page, and bytes of a file are placed in it as in the file's
//! pages.
//!
//! The system copies a page at a time. A copy is fast if both of its ends are at a cache line: on Zen 3, into memory
//! 16 bytes after a page start, as malloc's large blocks are, it ran at 1.6 GB/s instead of 7; on Zen 5 at 25.8
//! instead of 30.4. An aligned buffer is not enough: a read from the last byte of a page on must go to the last byte
//! of a page, or the copies of all following pages are one byte off. So a reader at some offset skips as many bytes
//! at the start of its buffer as the offset is from the start of its page.

use std::io::{self, BufRead, ErrorKind, IoSlice, Read, Seek, SeekFrom, Write};
use std::ops::{Deref, DerefMut};

/// Bytes of a page. Tests have small ones, because their buffers are small.
pub const PAGE: usize = if cfg!(test) { 64 } else { 4096 };

/// Bytes that begin at a page.
#[derive(Debug, Default)]
pub struct PageBuffer {
    /// Bytes from the program's allocator, which aligns to 16 bytes.
    bytes: Vec<u8>,
    start: usize,
}

impl PageBuffer {
    /// Allocates `length` zeros.
    pub fn new(length: usize) -> Self {
        let bytes = vec![0; length + PAGE - 1];
        let mut buffer = Self { start: bytes.as_ptr().align_offset(PAGE), bytes };
        buffer.bytes.truncate(buffer.start + length);
        buffer
    }

    /// An empty one with room for `capacity` bytes.
    fn with_capacity(capacity: usize) -> Self {
        let mut bytes: Vec<u8> = Vec::with_capacity(capacity + PAGE - 1);
        let start = bytes.as_ptr().align_offset(PAGE);
        bytes.resize(start, 0);
        Self { bytes, start }
    }

    /// Bytes that it may have without another allocation.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity().saturating_sub(self.start)
    }

    /// Changes its length; new bytes are zeros. It grows in place if the allocator can do that, to exactly this length.
    pub fn resize(&mut self, length: usize) {
        let kept = self.len();
        if length > self.capacity() {
            self.bytes.reserve_exact((length + PAGE - 1).saturating_sub(self.bytes.len()));
            let start = self.bytes.as_ptr().align_offset(PAGE);
            if start != self.start {
                self.bytes.resize(self.bytes.len().max(start + kept), 0);
                self.bytes.copy_within(self.start..self.start + kept, start);
                self.start = start;
                self.bytes.truncate(start + kept);
            }
        }
        self.bytes.resize(self.start + length, 0);
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl DerefMut for PageBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
}

/// Fills `bytes` as far as the source reaches; returns how many there are.
///
/// # Errors
/// The source's error.
pub fn read_up_to(source: &mut dyn Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match source.read(&mut bytes[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// A reader's bytes, some at a time; like [`std::io::BufReader`].
#[derive(Debug)]
pub struct PageReader<R> {
    source: R,
    buffer: PageBuffer,
    begin: usize,
    filled: usize,
}

impl<R> PageReader<R> {
    /// Reads `capacity` bytes at a time.
    pub fn new(capacity: usize, source: R) -> Self {
        Self { source, buffer: PageBuffer::new(capacity), begin: 0, filled: 0 }
    }
}

impl<R: Read> Read for PageReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.begin == self.filled && bytes.len() >= self.buffer.len() {
            return self.source.read(bytes);
        }
        let read = self.fill_buf()?.read(bytes)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: Read> BufRead for PageReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.begin == self.filled {
            (self.begin, self.filled) = (0, 0);
            self.filled = self.source.read(&mut self.buffer)?;
        }
        Ok(&self.buffer[self.begin..self.filled])
    }

    fn consume(&mut self, amount: usize) {
        self.begin = (self.begin + amount).min(self.filled);
    }
}

impl<R: Seek> Seek for PageReader<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let unread = std::mem::take(&mut self.filled) - std::mem::take(&mut self.begin);
        self.source.seek(match to {
            SeekFrom::Current(by) => SeekFrom::Current(by - unread as i64),
            to => to,
        })
    }
}

/// Collects bytes for a writer; like [`std::io::BufWriter`], which also writes what is left when it is dropped.
#[derive(Debug)]
pub struct PageWriter<W: Write> {
    /// There until [`into_inner`](Self::into_inner).
    out: Option<W>,
    buffer: PageBuffer,
}

impl<W: Write> PageWriter<W> {
    /// Writes `capacity` bytes at a time.
    pub fn new(capacity: usize, out: W) -> Self {
        Self { out: Some(out), buffer: PageBuffer::with_capacity(capacity) }
    }

    /// Returns the writer.
    pub fn get_ref(&self) -> &W {
        self.out.as_ref().expect("it is taken at the end")
    }

    /// Writes the rest, and returns the writer, also if that fails.
    ///
    /// # Errors
    /// The writer's error.
    pub fn into_inner(mut self) -> Result<W, (io::Error, W)> {
        let written = self.empty();
        let out = self.out.take().expect("it is taken at the end");
        match written {
            Ok(()) => Ok(out),
            Err(error) => Err((error, out)),
        }
    }

    fn out(&mut self) -> &mut W {
        self.out.as_mut().expect("it is taken at the end")
    }

    /// Writes all that it holds.
    fn empty(&mut self) -> io::Result<()> {
        let out = self.out.as_mut().expect("it is taken at the end");
        let mut written = 0;
        let result = loop {
            match self.buffer.get(written..) {
                None | Some([]) => break Ok(()),
                Some(rest) => match out.write(rest) {
                    Ok(0) => break Err(ErrorKind::WriteZero.into()),
                    Ok(more) => written += more,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => break Err(error),
                },
            }
        };
        let left = self.buffer.len() - written;
        self.buffer.copy_within(written.., 0);
        self.buffer.resize(left);
        result
    }

    /// Whether `more` bytes fit after this call; otherwise they go to the writer directly.
    fn make_room(&mut self, more: usize) -> io::Result<bool> {
        if self.buffer.len() + more > self.buffer.capacity() {
            self.empty()?;
        }
        Ok(more < self.buffer.capacity())
    }
}

impl<W: Write> Write for PageWriter<W> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.make_room(bytes.len())? {
            self.buffer.bytes.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        self.out().write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let bytes = pieces.iter().map(|piece| piece.len()).sum();
        if self.make_room(bytes)? {
            pieces.iter().for_each(|piece| self.buffer.bytes.extend_from_slice(piece));
            return Ok(bytes);
        }
        self.out().write_vectored(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.empty()?;
        self.out().flush()
    }
}

impl<W: Write> Drop for PageWriter<W> {
    fn drop(&mut self) {
        if self.out.is_some() && !std::thread::panicking() {
            // To see the error, flush first.
            let _ = self.empty();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn aligned(bytes: &[u8]) {
        assert_eq!(bytes.as_ptr().align_offset(PAGE), 0);
    }

    #[test]
    fn a_buffer_stays_at_a_page_and_keeps_its_bytes() {
        let mut buffer = PageBuffer::default();
        let mut model = Vec::new();
        // Others in between: it cannot always grow in place.
        let mut others = Vec::new();
        for length in [1, 100, 64, 5_000, 4_999, 70_000, 3, 2 << 20, 9 << 20] {
            buffer.resize(length);
            model.resize(length, 0);
            aligned(&buffer);
            assert_eq!(*buffer, *model, "{length}");
            for (i, (here, there)) in buffer.iter_mut().zip(&mut model).enumerate() {
                (*here, *there) = (i as u8, i as u8);
            }
            others.push(vec![1u8; length]);
            aligned(&PageBuffer::new(length));
        }
    }

    /// Asserts that what it gets starts at a page.
    struct Picky(Vec<u8>);

    impl Write for Picky {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            aligned(bytes);
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Read for Picky {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            aligned(bytes);
            let some = bytes.len().min(self.0.len());
            bytes[..some].copy_from_slice(&self.0[..some]);
            self.0.drain(..some);
            Ok(some)
        }
    }

    #[test]
    fn readers_and_writers_hand_over_what_is_at_a_page() {
        let bytes: Vec<u8> = (0..50_000).map(|i: u32| (i / 7) as u8).collect();
        let mut out = PageWriter::new(1000, Picky(Vec::new()));
        for piece in bytes.chunks(123) {
            out.write_all(piece).unwrap();
        }
        let picky = out.into_inner().map_err(|(error, _)| error).unwrap();
        assert_eq!(picky.0, bytes);
        let mut read = Vec::new();
        let mut source = PageReader::new(777, picky);
        while read.len() < bytes.len() {
            let mut some = [0; 100];
            let more = source.read(&mut some).unwrap();
            read.extend_from_slice(&some[..more]);
        }
        assert_eq!(read, bytes);
    }

    #[test]
    fn an_error_of_the_writer_is_returned_unless_it_was_interrupted() {
        struct Failing(Vec<ErrorKind>);

        impl Write for Failing {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.pop().map_or(Ok(bytes.len()), |kind| Err(kind.into()))
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        let errors = vec![ErrorKind::StorageFull, ErrorKind::Interrupted];
        let mut out = PageWriter::new(10, Failing(errors));
        out.write_all(b"ab").unwrap();
        assert_eq!(out.flush().unwrap_err().kind(), ErrorKind::StorageFull);
        assert!(out.flush().is_ok() && out.into_inner().is_ok());
    }

    #[test]
    fn large_pieces_go_out_after_small_ones_and_all_at_the_end() {
        let mut to = Vec::new();
        let mut out = PageWriter::new(10, &mut to);
        out.write_all(b"ab").unwrap();
        out.write_all(&[b'c'; 30]).unwrap();
        let pieces = [IoSlice::new(b"de"), IoSlice::new(b"fghijklmnopq")];
        assert_eq!(out.write_vectored(&pieces).unwrap(), 14);
        assert_eq!(out.write_vectored(&pieces[..1]).unwrap(), 2);
        drop(out);
        assert_eq!(to, [b"ab", &[b'c'; 30][..], b"defghijklmnopqde"].concat());
    }
}
