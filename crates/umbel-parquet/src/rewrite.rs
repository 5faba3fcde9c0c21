//! A footer with changed filters and every other byte as it was: unknown fields are copied, not read.
//!
//! In Thrift's compact protocol structures have no lengths, so adding or removing a field changes only the header of
//! the next field, which counts from the one before.

use umbel_foreign::Error;
use umbel_foreign::parquet::thrift::{Thrift, varint};

/// The new state of the filter of a column in a row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterPlace {
    /// It stays as it is, or stays missing.
    Kept,
    /// It is removed.
    Removed,
    /// It is in the file from the byte `offset` on.
    At {
        /// Where it begins.
        offset: i64,
        /// Bytes of the filter with its header.
        length: i32,
    },
}

/// The fields of `ColumnMetaData` that locate a filter.
const OFFSET: i64 = 14;
const LENGTH: i64 = 15;

/// Returns the footer with changed places of filters: `place` is called for each row group and column, by their
/// numbers, in the order of the footer. All other bytes stay.
///
/// # Errors
/// [`Error::Field`], [`Error::Length`]. Never panics, for any input.
pub fn rewrite(
    footer: &[u8],
    place: &mut dyn FnMut(usize, usize) -> FilterPlace,
) -> Result<Vec<u8>, Error> {
    let mut new = Rewritten { old: footer, new: Vec::with_capacity(footer.len()), copied: 0 };
    let mut thrift = Thrift::new(footer);
    thrift.structure(&mut |thrift, field, kind| {
        if (field, kind) != (4, Thrift::LIST) {
            return Ok(false);
        }
        let mut group = 0;
        thrift.structures("row_groups", &mut |thrift| {
            thrift.structure(&mut |thrift, field, kind| {
                if (field, kind) != (1, Thrift::LIST) {
                    return Ok(false);
                }
                let mut column = 0;
                thrift.structures("columns", &mut |thrift| {
                    let place = place(group, column);
                    column += 1;
                    thrift.structure(&mut |thrift, field, kind| {
                        if (field, kind) != (3, Thrift::STRUCT) || place == FilterPlace::Kept {
                            return Ok(false);
                        }
                        new.metadata(thrift, place)?;
                        Ok(true)
                    })
                })?;
                Ok(true)
            })?;
            group += 1;
            Ok(())
        })?;
        Ok(true)
    })?;
    new.copy_to(footer.len());
    Ok(new.new)
}

struct Rewritten<'a> {
    old: &'a [u8],
    new: Vec<u8>,
    /// Bytes of the old footer that were copied or left out.
    copied: usize,
}

impl Rewritten<'_> {
    fn copy_to(&mut self, end: usize) {
        self.new.extend(&self.old[self.copied..end]);
        self.copied = end;
    }

    /// Copies a `ColumnMetaData`, with a changed place of the filter.
    fn metadata(&mut self, thrift: &mut Thrift<'_>, place: FilterPlace) -> Result<(), Error> {
        self.copy_to(thrift.at());
        // The last field read, and the last one written.
        let (mut field, mut before) = (0, 0);
        let mut to_put = match place {
            FilterPlace::At { offset, length } => Some((offset, length)),
            _ => None,
        };
        loop {
            let at = thrift.at();
            let kind = thrift.field(&mut field)?;
            if kind.is_none_or(|_| field > LENGTH)
                && let Some((offset, length)) = to_put.take()
            {
                head(&mut self.new, before, OFFSET, Thrift::I64);
                varint(&mut self.new, zigzag(offset));
                head(&mut self.new, OFFSET, LENGTH, Thrift::I32);
                varint(&mut self.new, zigzag(length.into()));
                before = LENGTH;
            }
            let Some(kind) = kind else { return Ok(()) };
            let value = thrift.at();
            thrift.skip(kind)?;
            self.copied = thrift.at();
            if [OFFSET, LENGTH].contains(&field) {
                continue;
            }
            // A header with the full number does not count from the one before.
            if self.old[at] >> 4 == 0 {
                self.new.extend(&self.old[at..value]);
            } else {
                head(&mut self.new, before, field, kind);
            }
            self.new.extend(&self.old[value..thrift.at()]);
            before = field;
        }
    }
}

/// The header of a field after the field `before`.
fn head(bytes: &mut Vec<u8>, before: i64, field: i64, kind: u8) {
    match field.checked_sub(before) {
        Some(more @ 1..=15) => bytes.push((more as u8) << 4 | kind),
        _ => {
            bytes.push(kind);
            varint(bytes, zigzag(field));
        }
    }
}

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Footer, footer_of_file};

    fn removed(footer: &[u8]) -> Vec<u8> {
        rewrite(footer, &mut |_, _| FilterPlace::Removed).unwrap()
    }

    #[test]
    fn what_is_put_in_is_there_and_what_is_taken_out_leaves_the_rest() {
        let old = footer_of_file();
        assert_eq!(rewrite(old, &mut |_, _| FilterPlace::Kept).unwrap(), old);
        let read = Footer::decode(old).unwrap();
        let without = removed(old);
        let mut expected = read.clone();
        for chunk in expected.row_groups.iter_mut().flat_map(|group| &mut group.chunks) {
            (chunk.filter_offset, chunk.filter_length) = (None, None);
        }
        expected.length = without.len();
        assert_eq!(Footer::decode(&without).unwrap(), expected);
        // The same places give the same bytes again.
        let again = rewrite(&without, &mut |group, column| {
            let chunk = &read.row_groups[group].chunks[column];
            match (chunk.filter_offset, chunk.filter_length) {
                (Some(offset), Some(length)) => FilterPlace::At { offset, length },
                _ => FilterPlace::Kept,
            }
        });
        assert_eq!(again.unwrap(), old);
        let place = |group, column| FilterPlace::At {
            offset: i64::MAX - 1000 * group as i64 - column as i64,
            length: i32::MAX,
        };
        let other = rewrite(old, &mut |group, column| place(group, column)).unwrap();
        let other_read = Footer::decode(&other).unwrap();
        for (number, group) in other_read.row_groups.iter().enumerate() {
            for (column, chunk) in group.chunks.iter().enumerate() {
                let found = chunk.filter_offset.zip(chunk.filter_length).expect("a filter");
                let found = FilterPlace::At { offset: found.0, length: found.1 };
                assert_eq!(found, place(number, column));
            }
        }
        assert_eq!(removed(&other), without);
    }

    /// A footer of one row group and one column, whose metadata has these bytes.
    fn around(metadata: &[u8]) -> Vec<u8> {
        let schema = [0x29, 0x2c, 0x48, 1, b'r', 0x15, 2, 0, 0x15, 4, 0x38, 1, b'a', 0];
        let group = [&[0x29, 0x1c, 0x19, 0x1c, 0x3c][..], metadata, &[0, 0, 0]].concat();
        [&schema[..], &group].concat()
    }

    #[test]
    fn unknown_fields_and_both_forms_of_headers_stay() {
        let put = |metadata: &[u8], offset, length| {
            rewrite(&around(metadata), &mut |_, _| FilterPlace::At { offset, length }).unwrap()
        };
        // Fields 14 and 15 with the values 3 and 2, between fields 7, 16 and 500.
        let seven = [0x76, 0x04];
        let cases: [(&[u8], &[u8]); 5] = [
            // No fields; then one after which the next counts.
            (&[0], &[0xe6, 6, 0x15, 4, 0]),
            (&[0x76, 4, 0], &[0x76, 4, 0x76, 6, 0x15, 4, 0]),
            // Field 16 counts from 7 before, and from 15 after.
            (&[0x76, 4, 0x98, 1, b'x', 0], &[0x76, 4, 0x76, 6, 0x15, 4, 0x18, 1, b'x', 0]),
            // Field 500, a structure, with its own number; it stays as it is.
            (
                &[0x76, 4, 0x0c, 0xe8, 7, 0x15, 2, 0, 0],
                &[0x76, 4, 0x76, 6, 0x15, 4, 0x0c, 0xe8, 7, 0x15, 2, 0, 0],
            ),
            // Old values of both.
            (&[0x76, 4, 0x76, 0x7e, 0x15, 0x7e, 0], &[0x76, 4, 0x76, 6, 0x15, 4, 0]),
        ];
        for (old, new) in cases {
            assert_eq!(put(old, 3, 2), around(new), "{old:x?}");
        }
        for (old, new) in &cases[..4] {
            assert_eq!(removed(&around(new)), around(old), "{new:x?}");
        }
        // Field numbers that decrease: the next higher one is still found.
        let down = [&[0x06, 40, 2][..], &seven, &[0]].concat();
        let new = put(&down, 3, 2);
        let read = Footer::decode(&new).unwrap();
        let chunk = &read.row_groups[0].chunks[0];
        assert_eq!((chunk.filter_offset, chunk.filter_length), (Some(3), Some(2)));
    }

    /// Changed bytes are refused, or rewritten to a footer that can be read again.
    #[test]
    fn damage_does_no_harm() {
        let footer = footer_of_file();
        let place = FilterPlace::At { offset: 1 << 40, length: 1 << 20 };
        for length in 0..footer.len() {
            assert!(rewrite(&footer[..length], &mut |_, _| place).is_err(), "{length} bytes");
        }
        for at in 0..footer.len() {
            for bit in 0..8 {
                let mut changed = footer.to_vec();
                changed[at] ^= 1 << bit;
                let Ok(mut expected) = Footer::decode(&changed) else { continue };
                let new = rewrite(&changed, &mut |_, _| place).unwrap();
                for chunk in expected.row_groups.iter_mut().flat_map(|group| &mut group.chunks) {
                    (chunk.filter_offset, chunk.filter_length) = (Some(1 << 40), Some(1 << 20));
                }
                expected.length = expected.length + new.len() - changed.len();
                assert_eq!(Footer::decode(&new).unwrap(), expected, "byte {at} bit {bit}");
                assert_eq!(removed(&new), removed(&changed), "byte {at} bit {bit}");
            }
        }
    }
}
