//! A file in pages, each with a checksum: a row can be read and checked without the rest.
//!
//! ```text
//! page = 1,016 bytes of data, and the XXH3-64 of them with the number of the page as seed
//! ```
//! Places of data do not count the checksums; after the end of the data, the last page has zeros.

use std::io::{self, Write};

use twox_hash::XxHash3_64;
use umbel_io::ReadAt;

use super::IndexError;

/// Bytes of a page. Part of the format.
pub const PAGE: usize = 1024;
/// Bytes of data in a page. Part of the format.
pub const DATA: usize = PAGE - 8;

fn sum(data: &[u8], number: u64) -> [u8; 8] {
    XxHash3_64::oneshot_with_seed(number, data).to_le_bytes()
}

/// Pages that some data need.
pub fn count(data: u64) -> u64 {
    data.div_ceil(DATA as u64)
}

/// A page of its own, with up to [`DATA`] bytes.
pub fn page(data: &[u8], number: u64) -> Vec<u8> {
    let mut page = data.to_vec();
    page.resize(DATA, 0);
    page.extend_from_slice(&sum(&page, number));
    page
}

/// Writes data in pages.
pub struct PagesWriter<'a> {
    out: &'a mut dyn Write,
    page: Vec<u8>,
    number: u64,
}

impl<'a> PagesWriter<'a> {
    /// From a page on.
    pub fn new(out: &'a mut dyn Write, number: u64) -> Self {
        Self { out, page: Vec::with_capacity(PAGE), number }
    }

    /// Writes some data.
    ///
    /// # Errors
    /// Write errors.
    pub fn write(&mut self, mut data: &[u8]) -> io::Result<()> {
        while !data.is_empty() {
            let (now, later) = data.split_at(data.len().min(DATA - self.page.len()));
            self.page.extend_from_slice(now);
            data = later;
            if self.page.len() == DATA {
                self.end_page()?;
            }
        }
        Ok(())
    }

    /// Fills the page with zeros.
    fn end_page(&mut self) -> io::Result<()> {
        self.page.resize(DATA, 0);
        self.page.extend_from_slice(&sum(&self.page, self.number));
        self.out.write_all(&self.page)?;
        self.page.clear();
        self.number += 1;
        Ok(())
    }

    /// Fills the last page with zeros.
    ///
    /// # Errors
    /// Write errors.
    pub fn finish(mut self) -> io::Result<()> {
        if self.page.is_empty() { Ok(()) } else { self.end_page() }
    }
}

/// Reads data from pages.
#[derive(Debug)]
pub struct Pages<F> {
    file: F,
    count: u64,
}

impl<F: ReadAt> Pages<F> {
    /// For a file of at least one page; an incomplete last page, from an interrupted append, does not count.
    ///
    /// # Errors
    /// `Length` if it has less.
    pub fn new(file: F, length: u64) -> Result<Self, IndexError> {
        if length < PAGE as u64 {
            return Err(IndexError::Length { found: length, expected: None });
        }
        Ok(Self { file, count: length / PAGE as u64 })
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Uses no more than the first pages.
    pub fn keep(&mut self, count: u64) {
        self.count = count.min(self.count);
    }

    /// Whether nothing was written into a page.
    ///
    /// # Errors
    /// Read errors.
    pub fn is_empty(&self, number: u64) -> io::Result<bool> {
        let mut page = [0; PAGE];
        self.file.read_exact_at(&mut page, number * PAGE as u64)?;
        Ok(page == [0; PAGE])
    }

    /// Fills `bytes` with the data from `place` on.
    ///
    /// # Errors
    /// `Damaged` if a page does not match its checksum; read errors.
    pub fn read(&self, bytes: &mut [u8], place: u64) -> Result<(), IndexError> {
        /// Pages that are read in one call.
        const TOGETHER: usize = 256;
        let mut buffer = [0; PAGE];
        let mut large = Vec::new();
        let mut filled = 0;
        while filled < bytes.len() {
            let at = place + filled as u64;
            let (number, within) = (at / DATA as u64, (at % DATA as u64) as usize);
            let wanted = (within + bytes.len() - filled).div_ceil(DATA).min(TOGETHER);
            if number + wanted as u64 > self.count {
                return Err(IndexError::Damaged { page: number });
            }
            let pages = match wanted {
                1 => &mut buffer[..],
                _ => {
                    large.resize(wanted * PAGE, 0);
                    &mut large[..]
                }
            };
            self.file.read_exact_at(pages, number * PAGE as u64)?;
            for (page, number) in pages.chunks_exact(PAGE).zip(number..) {
                let (data, found) = page.split_at(DATA);
                if sum(data, number) != found {
                    return Err(IndexError::Damaged { page: number });
                }
                let within = if filled == 0 { within } else { 0 };
                let some = (DATA - within).min(bytes.len() - filled);
                bytes[filled..filled + some].copy_from_slice(&data[within..within + some]);
                filled += some;
            }
        }
        Ok(())
    }

    /// Reads `length` bytes of data from `place` on. A file may be long and empty: this uses at most twice the memory
    /// of the bytes read and checked.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn take(&self, place: u64, length: u64) -> Result<Vec<u8>, IndexError> {
        const PIECE: u64 = 1 << 20;
        if place.checked_add(length).is_none_or(|end| count(end) > self.count) {
            return Err(IndexError::Damaged { page: place / DATA as u64 });
        }
        let mut bytes = Vec::new();
        for start in (0..length).step_by(PIECE as usize) {
            bytes.resize((start + PIECE.min(length - start)) as usize, 0);
            self.read(&mut bytes[start as usize..], place + start)?;
        }
        Ok(bytes)
    }
}
