//! The pages of a column in a row group, by their headers alone: how many values there are at most, what reading them
//! costs, and whether all are in a dictionary.

use std::fs::File;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use umbel_foreign::Error;
use umbel_io::FileAt;

use crate::footer::{Chunk, Column, Physical};
use crate::page::{PageHeader, PageKind};

/// Bytes of a header that are read at first: most have 20 to 60.
const HEADER: u64 = 256;
/// The longest header that every thread may read at a time.
const USUAL: u64 = 64 << 10;
/// The longest header; its statistics may have long values.
const LONGEST: u64 = 16 << 20;

/// A summary of the headers. They are read again with the pages: a column may have any number of them.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// Whether there are data pages, and all refer to the dictionary.
    pub(crate) all_in_dictionary: bool,
    /// The number of different values is at most this.
    pub(crate) most_values: u64,
    /// Bytes of memory to read the pages one after the other: a page as in the file, decompressed, one of its values,
    /// and its hasher.
    pub(crate) memory: u64,
    /// Bytes of the file to read.
    pub(crate) bytes: u64,
}

impl Pages {
    /// Reads the headers.
    pub(crate) fn read(file: &File, column: &Column, chunk: &Chunk) -> Result<Self> {
        let mut pages = Self::default();
        let (mut dictionary, mut referring, mut data, mut values) = (false, 0, 0, 0);
        // The longest page in the file, and the longest decompressed; they may be different pages.
        let (mut in_file, mut in_memory) = (0, 0);
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
                in_file = in_file.max(header.compressed);
                in_memory = in_memory.max(header.uncompressed.max(header.compressed));
                pages.most_values += most_values(column, header);
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
        // A value may be as long as the page, and hashes of its beginnings take 0.35 times as much, twice while they grow.
        pages.memory = in_file + 3 * in_memory;
        Ok(pages)
    }
}

/// How many values a page has at most. The number that it declares includes nulls, which have no bytes.
fn most_values(column: &Column, page: &PageHeader) -> u64 {
    let width = match (page.encoding, column.physical) {
        // PLAIN and BYTE_STREAM_SPLIT; in front of bytes is their length.
        (0 | 2, Physical::ByteArray) => 4,
        (0 | 2 | 9, _) => column.width() as u64,
        // Other encodings may have any number of values in a byte.
        _ => 0,
    };
    let bytes = page.uncompressed.max(page.compressed);
    bytes.checked_div(width).map_or(page.values, |most| most.min(page.values))
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
    /// Held while a long one is in memory: statistics may make it so.
    static LONG: Mutex<()> = Mutex::new(());
    let mut size = HEADER;
    loop {
        let _one = (size > USUAL).then(|| LONG.lock().unwrap_or_else(PoisonError::into_inner));
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
