//! The header of a page of a Parquet file. `apache/parquet-format`, `parquet.thrift`.

use umbel_foreign::Error;
use umbel_foreign::parquet::thrift::Thrift;

use crate::refuse;

/// The header of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageHeader {
    /// The type of page.
    pub kind: PageKind,
    /// Bytes of the header itself.
    pub length: usize,
    /// Bytes of the page in the file, after the header.
    pub compressed: u64,
    /// Bytes of the page in memory.
    pub uncompressed: u64,
    /// Its values, with nulls.
    pub values: u64,
    /// How its values are encoded, by the number in the format.
    pub encoding: i64,
    /// Whether its values are numbers of entries of the dictionary.
    pub in_dictionary: bool,
    /// The levels in front of its values.
    pub levels: Levels,
    /// CRC-32 of the page as it is in the file, if the writer noted it.
    pub crc: Option<u32>,
}

/// The levels in front of the values of a page: they mark nulls and the starts of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// Nothing: the page is not a data page.
    None,
    /// Levels that are compressed together with the values. Both numbers are encodings.
    Inside {
        /// How the repetition levels are encoded.
        repetition: i64,
        /// How the definition levels are encoded.
        definition: i64,
    },
    /// Levels that are not compressed, in a data page of version 2.
    Before {
        /// Their bytes.
        bytes: u64,
        /// Whether the values after them are compressed.
        compressed: bool,
    },
}

/// The types of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the format")]
#[non_exhaustive]
pub enum PageKind {
    Data,
    Index,
    Dictionary,
    DataV2,
    /// A page that readers skip.
    Unknown,
}

impl PageHeader {
    /// Reads a header; `bytes` may continue after it.
    ///
    /// Known fields whose type differs from the format are refused: some readers check the types and others do not, so
    /// they would see different pages.
    ///
    /// # Errors
    /// [`Error::Field`]; [`Error::Length`] if `bytes` ends within the header. Never panics, for any input.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut thrift = Thrift::new(bytes);
        let mut own = [None; 4];
        let (mut data, mut dictionary, mut data_v2) = (None, None, None);
        thrift.structure(&mut |thrift, field, kind| {
            match (field, kind) {
                (1..=4, Thrift::I32) => own[field as usize - 1] = Some(thrift.integer_32()?),
                (5, Thrift::STRUCT) => data = Some(numbers::<4>(thrift)?),
                (7, Thrift::STRUCT) => dictionary = Some(numbers::<2>(thrift)?),
                (8, Thrift::STRUCT) => data_v2 = Some(numbers::<7>(thrift)?),
                (1..=5 | 7 | 8, other) => {
                    return Err(refuse("page_header", other, "the right types"));
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let there = |number: Option<i64>, field| {
            let missing = || refuse(field, "missing", "one in every page header");
            number.ok_or_else(missing)
        };
        let size = |number, field| {
            let number = there(number, field)?;
            let right = u64::try_from(number);
            right.map_err(|_| refuse(field, number, "0 or more"))
        };
        let kind = match there(own[0], "type")? {
            0 => PageKind::Data,
            1 => PageKind::Index,
            2 => PageKind::Dictionary,
            3 => PageKind::DataV2,
            _ => PageKind::Unknown,
        };
        let (values, encoding, levels) = match kind {
            PageKind::Data => {
                let [values, encoding, definition, repetition] = data.unwrap_or_default();
                let repetition = there(repetition, "repetition_level_encoding")?;
                let definition = there(definition, "definition_level_encoding")?;
                (values, encoding, Levels::Inside { repetition, definition })
            }
            PageKind::DataV2 => {
                let [values, _, _, encoding, definition, repetition, compressed] =
                    data_v2.unwrap_or_default();
                let bytes = size(definition, "definition_levels_byte_length")?
                    + size(repetition, "repetition_levels_byte_length")?;
                let compressed = compressed != Some(0);
                (values, encoding, Levels::Before { bytes, compressed })
            }
            PageKind::Dictionary => {
                let [values, encoding] = dictionary.unwrap_or_default();
                (values, encoding, Levels::None)
            }
            PageKind::Index | PageKind::Unknown => (Some(0), Some(-1), Levels::None),
        };
        let encoding = there(encoding, "encoding")?;
        Ok(Self {
            kind,
            length: thrift.at(),
            uncompressed: size(own[1], "uncompressed_page_size")?,
            compressed: size(own[2], "compressed_page_size")?,
            values: size(values, "num_values")?,
            encoding,
            in_dictionary: kind != PageKind::Dictionary && Self::refers(encoding),
            levels,
            crc: own[3].map(|crc| crc as u32),
        })
    }

    /// Whether an encoding is one of the two whose values are numbers of entries of a dictionary: `PLAIN_DICTIONARY` and
    /// `RLE_DICTIONARY`.
    pub(super) fn refers(encoding: i64) -> bool {
        [2, 8].contains(&encoding)
    }
}

/// Reads a structure whose first fields are numbers; only in data pages of version 2 it has a seventh, a boolean.
fn numbers<const N: usize>(thrift: &mut Thrift<'_>) -> Result<[Option<i64>; N], Error> {
    let mut numbers = [None; N];
    thrift.structure(&mut |thrift, field, kind| {
        if !(1..=N as i64).contains(&field) {
            return Ok(false);
        }
        numbers[field as usize - 1] = Some(match (field, kind) {
            (..=6, Thrift::I32) => thrift.integer_32()?,
            (7, Thrift::TRUE) => 1,
            (7, Thrift::FALSE) => 0,
            _ => return Err(refuse("page_header", kind, "the right types")),
        });
        Ok(true)
    })?;
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FILE, footer_of_file};

    /// Other readers misread a field that is too long for its type, or has another type.
    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        // Data page, 8 bytes, 8 bytes, and: 1 value, PLAIN, levels in RLE.
        let header = |kind: &[u8], values: &[u8]| {
            let about = [&[0x2c][..], values, &[0x15, 0, 0x15, 6, 0x15, 6, 0, 0]].concat();
            PageHeader::decode(&[kind, &[0x15, 16, 0x15, 16], &about].concat())
        };
        let (kind, values) = (&[0x15, 0][..], &[0x15, 2][..]);
        let good = header(kind, values).unwrap();
        assert_eq!((good.kind, good.values, good.compressed), (PageKind::Data, 1, 8));
        // With the number of the field, as 1 and as 1 + 2^16; 0 as such and as 2^32.
        assert_eq!(header(&[0x05, 2, 0], values).unwrap().kind, PageKind::Data);
        for wrong in [&[0x05, 0x82, 0x80, 8, 0][..], &[0x15, 0x80, 0x80, 0x80, 0x80, 0x20]] {
            assert!(header(wrong, values).is_err(), "{wrong:x?}");
        }
        // Readers that ignore types see true as 1; others would continue with the next byte.
        for wrong in [&[0x11][..], &[0x16, 2], &[0x15, 0x82, 0x80, 0x80, 0x80, 0x20], &[0x15, 1]] {
            assert!(header(kind, wrong).is_err(), "{wrong:x?}");
        }
    }

    #[test]
    fn levels_before_the_values_have_a_length() {
        // Data page of version 2, and: 1 value, no nulls, 1 row, PLAIN, 5 and 3 bytes of levels.
        let header = |compressed: &[u8]| {
            let numbers = [0x15, 2, 0x15, 0, 0x15, 2, 0x15, 0, 0x15, 10, 0x15, 6];
            let page = [&[0x15, 6, 0x15, 16, 0x15, 16, 0x5c][..], &numbers, compressed, &[0, 0]];
            PageHeader::decode(&page.concat()).unwrap().levels
        };
        assert!(matches!(header(&[]), Levels::Before { bytes: 8, compressed: true }));
        assert!(matches!(header(&[0x12]), Levels::Before { bytes: 8, compressed: false }));
    }

    /// The pages of a column of pyarrow, one after the other.
    #[test]
    fn pages_of_pyarrow() {
        let footer = crate::Footer::decode(footer_of_file()).unwrap();
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
