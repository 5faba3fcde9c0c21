//! The header of a page of a Parquet file. `apache/parquet-format`, `parquet.thrift`.

use super::thrift::Thrift;
use crate::bytes::refuse;
use crate::{Error, Format};

/// What is in front of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageHeader {
    /// What the page holds.
    pub kind: PageKind,
    /// Bytes of the header itself.
    pub length: usize,
    /// Bytes of the page in the file, after the header.
    pub compressed: u64,
    /// Bytes of the page in memory.
    pub uncompressed: u64,
    /// Its values, with nulls.
    pub values: u64,
    /// Whether its values are numbers of entries of the dictionary.
    pub in_dictionary: bool,
}

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the format")]
#[non_exhaustive]
pub enum PageKind {
    Data,
    Index,
    Dictionary,
    DataV2,
    /// One that readers skip.
    Unknown,
}

impl PageHeader {
    /// Reads a header; `bytes` may continue after it.
    ///
    /// # Errors
    /// [`Error::Field`]; [`Error::Length`] if `bytes` ends within the header. Never panics, for any input.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut thrift = Thrift::new(bytes);
        let (mut kind, mut encoding, mut values, mut sizes) = (None, 0, 0, [None; 2]);
        thrift.structure(&mut |thrift, field, kind_of| {
            match (field, kind_of) {
                (1, Thrift::I32) => {
                    kind = Some(match thrift.integer()? {
                        0 => PageKind::Data,
                        1 => PageKind::Index,
                        2 => PageKind::Dictionary,
                        3 => PageKind::DataV2,
                        _ => PageKind::Unknown,
                    });
                }
                (2 | 3, Thrift::I32) => {
                    let size = thrift.integer()?;
                    let right = u32::try_from(size).ok();
                    sizes[field as usize - 2] =
                        Some(u64::from(right.ok_or_else(|| {
                            refuse(Format::Parquet, "page_size", size, "0 or more")
                        })?));
                }
                // A data page, a dictionary, and a data page of version 2, whose encoding is field 4 instead of 2.
                (5 | 7 | 8, Thrift::STRUCT) => {
                    let at = if field == 8 { 4 } else { 2 };
                    thrift.structure(&mut |thrift, field, kind| {
                        match (field, kind) {
                            (1, Thrift::I32) => values = thrift.integer()?,
                            (field, Thrift::I32) if field == at => encoding = thrift.integer()?,
                            _ => return Ok(false),
                        }
                        Ok(true)
                    })?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let missing = |field| refuse(Format::Parquet, field, "missing", "one in every page header");
        Ok(Self {
            kind: kind.ok_or_else(|| missing("type"))?,
            length: thrift.at(),
            uncompressed: sizes[0].ok_or_else(|| missing("uncompressed_page_size"))?,
            compressed: sizes[1].ok_or_else(|| missing("compressed_page_size"))?,
            values: values.try_into().unwrap_or(0),
            in_dictionary: kind != Some(PageKind::Dictionary) && Self::refers(encoding),
        })
    }

    /// Whether an encoding is one of the two whose values are numbers of entries of a dictionary: `PLAIN_DICTIONARY` and
    /// `RLE_DICTIONARY`.
    pub(super) fn refers(encoding: i64) -> bool {
        [2, 8].contains(&encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages of a column of pyarrow, one after the other.
    #[test]
    fn pages_of_pyarrow() {
        const FILE: &[u8] = include_bytes!("../../../../testdata/foreign/parquet/groups.parquet");
        let tail = FILE.len() - 8;
        let size = u32::from_le_bytes(FILE[tail..][..4].try_into().unwrap()) as usize;
        let footer = super::super::Footer::decode(&FILE[tail - size..tail]).unwrap();
        for chunk in footer.row_groups.iter().flat_map(|group| &group.chunks) {
            let (mut at, end) = (chunk.pages.start as usize, chunk.pages.end as usize);
            let mut kinds = Vec::new();
            while at < end {
                let page = PageHeader::decode(&FILE[at..]).unwrap();
                for cut in 0..page.length {
                    assert!(PageHeader::decode(&FILE[at..at + cut]).is_err(), "{cut} bytes");
                }
                assert_eq!(page.compressed, page.uncompressed);
                assert!(page.values >= 100, "{page:?}");
                at += page.length + page.compressed as usize;
                kinds.push((page.kind, page.in_dictionary));
            }
            assert_eq!(at, end);
            assert_eq!(kinds[0], (PageKind::Dictionary, false));
            assert_eq!(kinds[1..], [(PageKind::Data, true)]);
            assert!(chunk.all_in_dictionary && !chunk.one_value);
        }
    }
}
