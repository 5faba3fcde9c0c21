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

/// What the headers tell together. They are read again with the pages: a column may have any number of them.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// Whether there are data pages, and all refer to the dictionary.
    pub(crate) all_in_dictionary: bool,
    /// The number of different values is at most this.
    pub(crate) most_values: u64,
    /// Bytes of memory to read them, one after the other: a page as it is in the file, as it is, and a value of it.
    pub(crate) memory: u64,
    /// Bytes of the file to read.
    pub(crate) bytes: u64,
}

impl Pages {
    /// Reads the headers.
    pub(crate) fn read(file: &File, chunk: &Chunk) -> Result<Self> {
        let mut pages = Self::default();
        let (mut dictionary, mut referring, mut data, mut values) = (false, 0, 0, 0);
        each(file, chunk, |_, header| {
            match header.kind {
                PageKind::Dictionary => dictionary |= data == 0,
                PageKind::Data | PageKind::DataV2 => {
                    data += 1;
                    referring += usize::from(header.in_dictionary);
                    values += header.values;
                }
                _ => {}
            }
            if is_needed(header) {
                let decoded = header.uncompressed.max(header.compressed);
                pages.memory = pages.memory.max(header.compressed + 2 * decoded);
                pages.most_values += header.values;
                pages.bytes += header.length as u64 + header.compressed;
            }
            Ok(())
        })?;
        if referring > 0 && !dictionary {
            bail!("pages refer to a dictionary that is missing; damaged? copy the file again");
        }
        if values != chunk.values {
            bail!(
                "the pages have {values} values, and the footer declares {}; damaged? copy the file again",
                chunk.values
            );
        }
        pages.all_in_dictionary = data > 0 && referring == data;
        Ok(pages)
    }
}

/// Whether a page has values of its own: it is the dictionary, or does not refer to it.
pub(crate) fn is_needed(page: &PageHeader) -> bool {
    match page.kind {
        PageKind::Dictionary => true,
        PageKind::Data | PageKind::DataV2 => !page.in_dictionary,
        _ => false,
    }
}

/// Hands on the header of each page, and where in the file the page itself begins.
pub(crate) fn each(
    file: &File,
    chunk: &Chunk,
    mut see: impl FnMut(u64, &PageHeader) -> Result<()>,
) -> Result<()> {
    let (mut at, end) = (chunk.pages.start, chunk.pages.end);
    while at < end {
        let mut one = || {
            let header = header(file, at, end)?;
            let start = at + header.length as u64;
            let next = start + header.compressed;
            if next > end {
                bail!("is longer than its column; damaged? copy the file again");
            }
            see(start, &header)?;
            Ok(next)
        };
        at = one().with_context(|| format!("the page at byte {at}"))?;
    }
    Ok(())
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
