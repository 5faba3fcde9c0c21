//! Thrift's compact protocol, as far as headers of filters and footers need it.
//! `apache/thrift`, `doc/specs/thrift-compact-protocol.md`.

use crate::bytes::{Reader, check, refuse};
pub use crate::bytes::{read_varint, unzigzag, varint};
use crate::{Error, Format};

/// Reads values from the front of some bytes.
pub struct Thrift<'a> {
    reader: Reader<'a>,
    /// Structures, lists and maps around the next value.
    depth: u32,
}

#[expect(missing_docs, reason = "the types are those of the protocol")]
impl<'a> Thrift<'a> {
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const I32: u8 = 5;
    pub const I64: u8 = 6;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const STRUCT: u8 = 12;
    /// The maximum depth of nested structures, lists and maps; the statistics of a column are six deep in a footer.
    const DEPTH: u32 = 16;

    pub fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(Format::Parquet, bytes), depth: 0 }
    }

    /// Bytes read so far.
    pub fn at(&self) -> usize {
        self.reader.at()
    }

    /// Reads a structure: `each` receives every field's number and type, reads its value and returns true; or returns
    /// false, and it is skipped.
    pub fn structure(
        &mut self,
        each: &mut dyn FnMut(&mut Self, i64, u8) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        self.deeper(|thrift| {
            let mut field = 0;
            while let Some(kind) = thrift.field(&mut field)? {
                if !each(thrift, field, kind)? {
                    thrift.skip(kind)?;
                }
            }
            Ok(())
        })
    }

    /// Reads a value nested one level deeper.
    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        let is_fine = self.depth < Self::DEPTH;
        check(Format::Parquet, "header", "nested", is_fine, "no structures this deep")?;
        self.depth += 1;
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Reads a list of structures: `each` reads one. The count is not trusted: every element takes a byte.
    pub fn structures(
        &mut self,
        name: &'static str,
        each: &mut dyn FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (found, count) = self.list_head()?;
        let right = found == Self::STRUCT || count == 0;
        check(Format::Parquet, name, found, right, "a list of structures")?;
        self.deeper(|thrift| (0..count).try_for_each(|_| each(thrift)))
    }

    /// The type of a list's elements, and their number.
    fn list_head(&mut self) -> Result<(u8, u64), Error> {
        let head = self.reader.u8()?;
        let count = if head >> 4 == 15 { self.reader.varint()? } else { u64::from(head >> 4) };
        Ok((head & 15, count))
    }

    pub fn byte(&mut self) -> Result<u8, Error> {
        self.reader.u8()
    }

    pub fn binary(&mut self) -> Result<&'a [u8], Error> {
        let length = self.reader.varint()?;
        self.reader.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Returns the type of the next field, and stores its number in `field`; `None` at the end of the structure.
    pub fn field(&mut self, field: &mut i64) -> Result<Option<u8>, Error> {
        let byte = self.reader.u8()?;
        if byte == 0 {
            return Ok(None);
        }
        let number = match byte >> 4 {
            0 => self.integer()?,
            delta => *field + i64::from(delta),
        };
        // Other readers truncate longer numbers, and would see another field.
        let right = i16::try_from(number).is_ok();
        check(Format::Parquet, "field", number, right, "a number of 16 bits")?;
        *field = number;
        Ok(Some(byte & 15))
    }

    pub fn integer(&mut self) -> Result<i64, Error> {
        self.reader.varint().map(unzigzag)
    }

    /// An integer of the type I32. Other readers truncate longer numbers, and would see another number.
    pub fn integer_32(&mut self) -> Result<i64, Error> {
        let number = self.integer()?;
        let right = i32::try_from(number).is_ok();
        check(Format::Parquet, "i32", number, right, "a number of 32 bits")?;
        Ok(number)
    }

    /// Skips a value of an unknown type.
    pub fn skip(&mut self, kind: u8) -> Result<(), Error> {
        match kind {
            1 | 2 => {}
            3 => drop(self.reader.u8()?),
            4..=6 => drop(self.reader.varint()?),
            7 => drop(self.reader.take(8)?),
            8 => drop(self.binary()?),
            // Lists and sets, then maps: trusting the count is harmless, since every element takes a byte.
            9 | 10 => {
                let (kind, count) = self.list_head()?;
                self.deeper(|thrift| (0..count).try_for_each(|_| thrift.skip_element(kind)))?;
            }
            11 => {
                let count = self.reader.varint()?;
                let kinds = if count > 0 { self.reader.u8()? } else { 0 };
                self.deeper(|thrift| {
                    (0..count).try_for_each(|_| {
                        thrift.skip_element(kinds >> 4)?;
                        thrift.skip_element(kinds & 15)
                    })
                })?;
            }
            12 => self.structure(&mut |_, _, _| Ok(false))?,
            13 => drop(self.reader.take(16)?),
            other => {
                let expected = "a type of Thrift's, 1 to 13";
                return Err(refuse(Format::Parquet, "header", other, expected));
            }
        }
        Ok(())
    }

    /// Skips an element of a list or a map, where booleans take a byte.
    fn skip_element(&mut self, kind: u8) -> Result<(), Error> {
        match kind {
            1 | 2 => self.reader.u8().map(drop),
            kind => self.skip(kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_may_be_as_deep_as_what_is_skipped() {
        for structures in 2..=Thrift::DEPTH as usize {
            // Each structure has a list, of the next structure; all but the first are in a list.
            let bytes = [[0x19, 0x1c].repeat(structures - 1), vec![0; structures]].concat();
            let is_fine = 2 * structures - 1 <= Thrift::DEPTH as usize;
            let mut skipped = Thrift::new(&bytes);
            assert_eq!(skipped.skip(Thrift::STRUCT).is_ok(), is_fine, "{structures}");
            // The first list is read, and the rest is skipped.
            let mut read = Thrift::new(&bytes);
            let done = read.structure(&mut |thrift, _, _| {
                let mut skip = |thrift: &mut Thrift<'_>| thrift.structure(&mut |_, _, _| Ok(false));
                thrift.structures("list", &mut skip).map(|()| true)
            });
            assert_eq!(done.is_ok(), is_fine, "{structures}");
            assert!(!is_fine || (skipped.at() == bytes.len() && read.at() == bytes.len()));
        }
    }
}
