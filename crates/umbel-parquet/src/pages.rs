//! The pages of a column in a row group, by their headers alone: how many values there are at most, what it takes to read
//! them, and whether all of them are in a dictionary.

use std::fs::File;

use anyhow::{Context, Result, bail};
use umbel_foreign::Error;
use umbel_foreign::parquet::{Chunk, PageHeader, PageKind};
use umbel_system::FileAt;

/// Bytes of a header that are read at first: most have 20 to 60.
const HEADER: u64 = 256;
/// The longest header; its statistics may have long values.
const LONGEST: u64 = 16 << 20;

/// The pages with values, and where they begin.
pub(crate) struct Pages {
    pages: Vec<(u64, PageHeader)>,
    /// Whether there are data pages, and all refer to the dictionary.
    pub(crate) all_in_dictionary: bool,
}

impl Pages {
    /// Reads the headers.
    pub(crate) fn read(file: &File, chunk: &Chunk) -> Result<Self> {
        let mut pages = Vec::new();
        let (mut at, end) = (chunk.pages.start, chunk.pages.end);
        let (mut dictionary, mut referring, mut data) = (false, 0, 0);
        while at < end {
            let header = header(file, at, end).with_context(|| format!("the page at byte {at}"))?;
            let next = at + header.length as u64 + header.compressed;
            if next > end {
                bail!(
                    "the page at byte {at} is longer than its column; damaged? copy the file again"
                );
            }
            match header.kind {
                PageKind::Dictionary if data == 0 => dictionary = true,
                PageKind::Data | PageKind::DataV2 => {
                    data += 1;
                    referring += usize::from(header.in_dictionary);
                }
                _ => {}
            }
            if let PageKind::Dictionary | PageKind::Data | PageKind::DataV2 = header.kind {
                pages.push((at, header));
            }
            at = next;
        }
        if referring > 0 && !dictionary {
            bail!("pages refer to a dictionary that is missing; damaged? copy the file again");
        }
        let values: u64 = pages
            .iter()
            .filter(|(_, page)| page.kind != PageKind::Dictionary)
            .map(|(_, page)| page.values)
            .sum();
        if values != chunk.values {
            bail!(
                "the pages have {values} values, and the footer declares {}; damaged? copy the file again",
                chunk.values
            );
        }
        Ok(Self { pages, all_in_dictionary: data > 0 && referring == data })
    }

    fn needed(&self) -> impl Iterator<Item = &(u64, PageHeader)> {
        self.pages.iter().filter(|(_, page)| !page.in_dictionary)
    }

    /// Places and lengths of the pages to read, with their headers: those that do not refer to the dictionary, and it.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = (u64, u64)> {
        self.needed().map(|(at, page)| (*at, page.length as u64 + page.compressed))
    }

    /// The number of different values is at most this.
    pub(crate) fn most_values(&self) -> u64 {
        self.needed().map(|(_, page)| page.values).sum()
    }

    /// Bytes of memory to read them, one after the other: a page as it is in the file, as it is, and as it is decoded.
    pub(crate) fn memory(&self) -> u64 {
        let of = |page: &PageHeader| page.length as u64 + page.compressed + 2 * page.uncompressed;
        let largest = self.needed().map(|(_, page)| of(page)).max().unwrap_or(0);
        largest + (self.pages.len() * size_of::<(u64, PageHeader)>()) as u64
    }

    /// Bytes of the file to read.
    pub(crate) fn bytes(&self) -> u64 {
        self.wanted().map(|(_, bytes)| bytes).sum()
    }
}

/// Reads a header, which ends before the byte `end`.
fn header(file: &File, at: u64, end: u64) -> Result<PageHeader> {
    let mut size = HEADER;
    loop {
        let mut bytes = vec![0; size.min(end - at) as usize];
        file.read_exact_at(&mut bytes, at)?;
        match PageHeader::decode(&bytes) {
            Err(Error::Length { .. }) if size < (end - at).min(LONGEST) => size *= 16,
            header => {
                return header.context("its header cannot be read; damaged? copy the file again");
            }
        }
    }
}
