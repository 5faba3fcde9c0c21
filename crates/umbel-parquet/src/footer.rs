//! The footer of a Parquet file: its columns, and where their filters are.
//! `apache/parquet-format`, `parquet.thrift` and `LogicalTypes.md`.

use std::fmt;
use std::ops::Range;

use umbel_foreign::Error;
use umbel_foreign::parquet::thrift::Thrift;

use crate::page::PageHeader;
use crate::{check, refuse};

/// The columns of a Parquet file and their filters, as its footer lists them.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Footer {
    /// The columns that have values, in the order of the schema.
    pub columns: Vec<Column>,
    /// The row groups, in the order of the file.
    pub row_groups: Vec<RowGroup>,
    /// Whether the file has encrypted columns, or a signature over the footer.
    pub encrypted: bool,
    /// Bytes of the footer that were read; what follows is a signature, or unknown.
    pub length: usize,
}

/// A column that has values.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Column {
    /// The names of the structures that it is in, then its own, separated by dots.
    pub path: String,
    /// How its values are stored.
    pub physical: Physical,
    /// Bytes of a value of fixed length; 0 for other columns.
    pub length: usize,
    /// The meaning of its values.
    pub meaning: Meaning,
    /// The maximum repetition level: how many lists its values are in.
    pub repetition: u32,
    /// The maximum definition level: how many of the column and its enclosing structures are optional or repeated.
    pub definition: u32,
}

impl Column {
    /// Bytes of a value, where all have the same length.
    pub fn width(&self) -> usize {
        match self.physical {
            Physical::Int32 | Physical::Float => 4,
            Physical::Int64 | Physical::Double => 8,
            Physical::Int96 => 12,
            _ => self.length,
        }
    }

    /// Whether DuckDB (2.0) reads its values as wider floats, FLOAT or DOUBLE, and looks these up in its filters.
    pub fn is_read_as_float(&self) -> bool {
        matches!(self.meaning, Meaning::Float16 | Meaning::Decimal { precision: 39.., .. })
    }
}

/// Some rows, stored column by column.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RowGroup {
    /// The number of rows.
    pub rows: u64,
    /// The columns, as many as the footer lists, in the same order.
    pub chunks: Vec<Chunk>,
}

/// A column in a row group.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Chunk {
    /// Bytes of its pages in the file.
    pub bytes: u64,
    /// Where in the file its pages are; empty where the footer gives no sensible place.
    pub pages: Range<u64>,
    /// Where its last page or index ends.
    pub end: u64,
    /// Values, with nulls.
    pub values: u64,
    /// How its pages are compressed, by the number in the format.
    pub codec: i64,
    /// Whether its pages are in another file.
    pub elsewhere: bool,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// Whether the statistics have an exact minimum and maximum, and both are the same.
    pub one_value: bool,
    /// Whether the footer counts data pages, and all of them refer to the dictionary.
    pub all_in_dictionary: bool,
    /// Where in the file its filter begins, if it has one.
    pub filter_offset: Option<i64>,
    /// Bytes of the filter with its header, where the writer noted them.
    pub filter_length: Option<i32>,
}

/// How values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the format")]
#[non_exhaustive]
pub enum Physical {
    Boolean,
    Int32,
    Int64,
    Int96,
    Float,
    Double,
    ByteArray,
    FixedLenByteArray,
}

/// The meaning of values: the logical type, or in older files the converted type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Meaning {
    /// Only the physical type is known.
    Plain,
    /// Text in UTF-8, an enumeration or JSON.
    Text,
    /// An integer.
    Integer {
        /// Its width: 8, 16, 32 or 64.
        bits: u32,
        /// Whether it has a sign.
        signed: bool,
    },
    /// A whole number of units of 10^−`scale`.
    Decimal {
        /// Digits after the point.
        scale: usize,
        /// Digits in all.
        precision: u32,
    },
    /// Days since 1970-01-01.
    Date,
    /// Ticks since midnight.
    Time(TimeUnit),
    /// Ticks since 1970-01-01.
    Timestamp {
        /// The length of a tick.
        unit: TimeUnit,
        /// Whether it is an instant, in UTC, or the time on a clock somewhere.
        utc: bool,
    },
    /// 16 bytes, the highest first.
    Uuid,
    /// A float of 2 bytes: IEEE 754 binary16, little-endian.
    Float16,
}

/// A tick of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TimeUnit {
    Millis,
    Micros,
    Nanos,
}

impl fmt::Display for Physical {
    /// The name in the format, such as `INT64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Boolean => "BOOLEAN",
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::Int96 => "INT96",
            Self::Float => "FLOAT",
            Self::Double => "DOUBLE",
            Self::ByteArray => "BYTE_ARRAY",
            Self::FixedLenByteArray => "FIXED_LEN_BYTE_ARRAY",
        })
    }
}

/// Bytes that columns and row groups may always use.
const LEAST_ROOM: usize = 1 << 20;
/// Structures within structures.
const DEPTH: usize = 128;

impl Footer {
    /// Reads a footer: the bytes between the last page or index of a file and its last 8 bytes, which hold the length of
    /// the footer and `PAR1`.
    ///
    /// Memory: at most 8 times the bytes of the footer and 3 MiB, if a long name is not UTF-8; at most 6 times while lists
    /// grow; usually less than its bytes.
    ///
    /// # Errors
    /// [`Error::Field`], [`Error::Length`]. Never panics, for any input.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut thrift = Thrift::new(bytes);
        let mut footer = Self::default();
        let mut room = Room(2 * bytes.len() + LEAST_ROOM);
        let mut tree = Tree::default();
        thrift.structure(&mut |thrift, field, kind| {
            match (field, kind) {
                (2, Thrift::LIST) => thrift.structures("schema", &mut |thrift| {
                    if let Some(column) = tree.column(Element::read(thrift)?)? {
                        room.take(size_of::<Column>() + column.path.len())?;
                        footer.columns.push(column);
                    }
                    Ok(())
                })?,
                (4, Thrift::LIST) => thrift.structures("row_groups", &mut |thrift| {
                    room.take(size_of::<RowGroup>())?;
                    footer.row_groups.push(RowGroup::read(thrift, &mut room)?);
                    Ok(())
                })?,
                (8, Thrift::STRUCT) | (9, Thrift::BINARY) => {
                    footer.encrypted = true;
                    return Ok(false);
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        footer.length = thrift.at();
        let complete = tree.root && tree.open.is_empty();
        check("schema", "incomplete", complete, "a root with all its columns")?;
        for group in &footer.row_groups {
            let (found, right) = (group.chunks.len(), group.chunks.len() == footer.columns.len());
            check("columns", found, right, "as many as the schema has")?;
        }
        Ok(footer)
    }
}

/// Bytes that columns and row groups may still use: a byte of a damaged footer could expand to 32. A genuine footer
/// uses fewer bytes than it has.
struct Room(usize);

impl Room {
    fn take(&mut self, bytes: usize) -> Result<(), Error> {
        let left = self.0.checked_sub(bytes).ok_or_else(|| {
            let expected = "columns and row groups about as long as what they are";
            refuse("footer", "entries of hardly any bytes", expected)
        })?;
        self.0 = left;
        Ok(())
    }
}

/// The structures around the element that is read next: the schema is a tree, written depth first.
#[derive(Default)]
struct Tree {
    /// Whether the root was read.
    root: bool,
    /// For each structure, its elements still to come, the length of its path, and its levels of repetition and definition.
    open: Vec<(u32, usize, [u32; 2])>,
    /// The path of the last one.
    path: String,
}

impl Tree {
    /// Adds an element; a column if it has values.
    fn column(&mut self, element: Element<'_>) -> Result<Option<Column>, Error> {
        let wrong = |field, found: &'static str, expected| Err(refuse(field, found, expected));
        if !self.root {
            // Paths do not include its name.
            self.root = true;
            let children = element.children.unwrap_or(0);
            self.open.extend((children > 0).then_some((children, 0, [0; 2])));
            return Ok(None);
        }
        let Some((left, length, levels)) = self.open.last_mut() else {
            return wrong("schema", "more elements", "as many as num_children say");
        };
        *left -= 1;
        self.path.truncate(*length);
        let repetition = levels[0] + u32::from(element.repetition == 2);
        let definition = levels[1] + u32::from(element.repetition != 0);
        if self.open.len() > 1 {
            self.path.push('.');
        }
        self.path.push_str(&String::from_utf8_lossy(element.name));
        let column = match (element.children, element.physical) {
            (Some(1..), _) if self.open.len() == DEPTH => {
                return wrong("schema", "nested deeper", "at most 128 structures in each other");
            }
            (Some(children @ 1..), _) => {
                self.open.push((children, self.path.len(), [repetition, definition]));
                None
            }
            (_, Some(physical)) => Some(Column {
                path: self.path.clone(),
                physical,
                length: element.length.try_into().unwrap_or(0),
                meaning: element.meaning(),
                repetition,
                definition,
            }),
            // A structure without columns.
            (Some(0), None) => None,
            (None, None) => return wrong("type", "missing", "a type for every column"),
        };
        while self.open.last().is_some_and(|(left, ..)| *left == 0) {
            self.open.pop();
        }
        Ok(column)
    }
}

/// An element of the schema: a structure or a column.
#[derive(Default)]
struct Element<'a> {
    name: &'a [u8],
    physical: Option<Physical>,
    length: i64,
    /// 0, 1 and 2 are required, optional and repeated.
    repetition: i64,
    children: Option<u32>,
    converted: Option<i64>,
    scale: i64,
    precision: i64,
    logical: Option<Meaning>,
}

impl<'a> Element<'a> {
    fn read(thrift: &mut Thrift<'a>) -> Result<Self, Error> {
        let mut element = Self::default();
        thrift.structure(&mut |thrift, field, kind| {
            match (field, kind) {
                (1, Thrift::I32) => element.physical = Some(physical(thrift.integer_32()?)?),
                (2, Thrift::I32) => element.length = thrift.integer_32()?,
                (3, Thrift::I32) => element.repetition = thrift.integer_32()?,
                (4, Thrift::BINARY) => element.name = thrift.binary()?,
                (5, Thrift::I32) => {
                    let children = thrift.integer_32()?;
                    let right = u32::try_from(children).ok();
                    element.children =
                        Some(right.ok_or_else(|| refuse("num_children", children, "0 or more"))?);
                }
                (6, Thrift::I32) => element.converted = Some(thrift.integer_32()?),
                (7, Thrift::I32) => element.scale = thrift.integer_32()?,
                (8, Thrift::I32) => element.precision = thrift.integer_32()?,
                (10, Thrift::STRUCT) => element.logical = Some(element.logical(thrift)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let right = (0..=2).contains(&element.repetition);
        check("repetition_type", element.repetition, right, "0 to 2")?;
        Ok(element)
    }

    /// Reads the logical type, a union.
    fn logical(&mut self, thrift: &mut Thrift<'a>) -> Result<Meaning, Error> {
        let mut meaning = Meaning::Plain;
        thrift.structure(&mut |thrift, which, kind| {
            if kind != Thrift::STRUCT {
                return Ok(false);
            }
            let (mut numbers, mut flag, mut unit) = ([0; 2], false, None);
            thrift.structure(&mut |thrift, field, kind| {
                match (field, kind) {
                    (1, Thrift::BYTE) => numbers[0] = i64::from(thrift.byte()?),
                    (1 | 2, Thrift::I32) => numbers[field as usize - 1] = thrift.integer_32()?,
                    (1 | 2, Thrift::TRUE | Thrift::FALSE) => flag = kind == Thrift::TRUE,
                    (2, Thrift::STRUCT) => thrift.structure(&mut |_, chosen, _| {
                        unit = match chosen {
                            1 => Some(TimeUnit::Millis),
                            2 => Some(TimeUnit::Micros),
                            3 => Some(TimeUnit::Nanos),
                            _ => None,
                        };
                        Ok(false)
                    })?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
            meaning = match (which, unit) {
                (1 | 4 | 12, _) => Meaning::Text,
                (5, _) => {
                    [self.scale, self.precision] = numbers;
                    self.decimal()
                }
                (6, _) => Meaning::Date,
                (7, Some(unit)) => Meaning::Time(unit),
                (8, Some(unit)) => Meaning::Timestamp { unit, utc: flag },
                (10, _) if [8, 16, 32, 64].contains(&numbers[0]) => {
                    Meaning::Integer { bits: numbers[0] as u32, signed: flag }
                }
                (14, _) => Meaning::Uuid,
                (15, _) => Meaning::Float16,
                _ => Meaning::Plain,
            };
            Ok(true)
        })?;
        Ok(meaning)
    }

    fn has_two_bytes(&self) -> bool {
        self.physical == Some(Physical::FixedLenByteArray) && self.length == 2
    }

    fn decimal(&self) -> Meaning {
        Meaning::Decimal {
            scale: self.scale.try_into().unwrap_or(0),
            precision: self.precision.try_into().unwrap_or(0),
        }
    }

    /// The logical type, or else the converted one, whose times are in UTC.
    fn meaning(&self) -> Meaning {
        let integer = |bits, signed| Meaning::Integer { bits, signed };
        let timestamp = |unit| Meaning::Timestamp { unit, utc: true };
        match (self.logical, self.converted) {
            (Some(Meaning::Float16), _) if !self.has_two_bytes() => Meaning::Plain,
            (Some(logical), _) => logical,
            (None, Some(0 | 4 | 19)) => Meaning::Text,
            (None, Some(5)) => self.decimal(),
            (None, Some(6)) => Meaning::Date,
            (None, Some(7)) => Meaning::Time(TimeUnit::Millis),
            (None, Some(8)) => Meaning::Time(TimeUnit::Micros),
            (None, Some(9)) => timestamp(TimeUnit::Millis),
            (None, Some(10)) => timestamp(TimeUnit::Micros),
            (None, Some(unsigned @ 11..=14)) => integer(8 << (unsigned - 11), false),
            (None, Some(signed @ 15..=18)) => integer(8 << (signed - 15), true),
            (None, _) => Meaning::Plain,
        }
    }
}

fn physical(number: i64) -> Result<Physical, Error> {
    Ok(match number {
        0 => Physical::Boolean,
        1 => Physical::Int32,
        2 => Physical::Int64,
        3 => Physical::Int96,
        4 => Physical::Float,
        5 => Physical::Double,
        6 => Physical::ByteArray,
        7 => Physical::FixedLenByteArray,
        other => return Err(refuse("type", other, "0 to 7")),
    })
}

impl RowGroup {
    fn read(thrift: &mut Thrift<'_>, room: &mut Room) -> Result<Self, Error> {
        let mut group = Self::default();
        thrift.structure(&mut |thrift, field, kind| {
            match (field, kind) {
                (1, Thrift::LIST) => thrift.structures("columns", &mut |thrift| {
                    room.take(size_of::<Chunk>())?;
                    group.chunks.push(Chunk::read(thrift)?);
                    Ok(())
                })?,
                (3, Thrift::I64) => group.rows = thrift.integer()?.try_into().unwrap_or(0),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(group)
    }
}

impl Chunk {
    /// Reads a `ColumnChunk`, whose field 3 is its `ColumnMetaData`.
    fn read(thrift: &mut Thrift<'_>) -> Result<Self, Error> {
        let mut chunk = Self::default();
        let mut described = false;
        // Offset and length of the offset index and of the column index.
        let mut indexes = [0i64; 4];
        thrift.structure(&mut |thrift, field, kind| {
            match (field, kind) {
                (1, Thrift::BINARY) => chunk.elsewhere = !thrift.binary()?.is_empty(),
                (3, Thrift::STRUCT) => {
                    described = true;
                    chunk.describe(thrift)?;
                }
                (4 | 6, Thrift::I64) => indexes[field as usize - 4] = thrift.integer()?,
                (5 | 7, Thrift::I32) => indexes[field as usize - 4] = thrift.integer_32()?,
                (8, Thrift::STRUCT) => {
                    chunk.encrypted = true;
                    return Ok(false);
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        for index in indexes.chunks_exact(2) {
            chunk.end = chunk.end.max(end(index[0], index[1]));
        }
        let expected = "one for each column; is the column encrypted?";
        check("meta_data", "missing", described, expected)?;
        Ok(chunk)
    }

    /// Reads a `ColumnMetaData`.
    fn describe(&mut self, thrift: &mut Thrift<'_>) -> Result<(), Error> {
        let (mut data, mut dictionary) = (0, None);
        thrift.structure(&mut |thrift, field, kind| {
            match (field, kind) {
                (4, Thrift::I32) => self.codec = thrift.integer_32()?,
                (5, Thrift::I64) => self.values = thrift.integer()?.try_into().unwrap_or(0),
                (7, Thrift::I64) => self.bytes = thrift.integer()?.try_into().unwrap_or(0),
                (9, Thrift::I64) => data = thrift.integer()?,
                // Some writers put a 0 here instead of omitting the dictionary.
                (11, Thrift::I64) => dictionary = Some(thrift.integer()?).filter(|at| *at > 0),
                (12, Thrift::STRUCT) => self.one_value = has_one_value(thrift)?,
                (13, Thrift::LIST) => self.all_in_dictionary = all_in_dictionary(thrift)?,
                (14, Thrift::I64) => self.filter_offset = Some(thrift.integer()?),
                (15, Thrift::I32) => self.filter_length = thrift.integer_32()?.try_into().ok(),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let start = dictionary.map_or(data, |dictionary| dictionary.min(data));
        self.end = end(start, self.bytes as i64);
        let start = u64::try_from(start).unwrap_or(u64::MAX);
        self.pages = if start < self.end { start..self.end } else { 0..0 };
        Ok(())
    }
}

/// The end of a range with this offset and length; 0 if they make no sense.
fn end(offset: i64, length: i64) -> u64 {
    offset.checked_add(length.max(0)).and_then(|end| end.try_into().ok()).unwrap_or(0)
}

/// Reads `Statistics`: whether exact minimum and maximum are the same.
fn has_one_value(thrift: &mut Thrift<'_>) -> Result<bool, Error> {
    let (mut ends, mut exact) = ([None, None], true);
    thrift.structure(&mut |thrift, field, kind| {
        match (field, kind) {
            (5 | 6, Thrift::BINARY) => ends[field as usize - 5] = Some(thrift.binary()?),
            (7 | 8, Thrift::FALSE) => exact = false,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(exact && ends[0].is_some() && ends[0] == ends[1])
}

/// Reads the list of `PageEncodingStats`: whether there are data pages, and all of them are of dictionary encodings.
fn all_in_dictionary(thrift: &mut Thrift<'_>) -> Result<bool, Error> {
    let (mut some, mut all) = (false, true);
    thrift.structures("encoding_stats", &mut |thrift| {
        // The type of the pages, their encoding, and their number.
        let mut pages = [-1; 3];
        thrift.structure(&mut |thrift, field, kind| match (field, kind) {
            (1..=3, Thrift::I32) => {
                pages[field as usize - 1] = thrift.integer_32()?;
                Ok(true)
            }
            _ => Ok(false),
        })?;
        if let [0 | 3, encoding, count] = pages
            && count > 0
        {
            some = true;
            all &= PageHeader::refers(encoding);
        }
        Ok(())
    })?;
    Ok(some && all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FILE, footer_of_file};

    #[test]
    fn columns_and_filters_of_pyarrow() {
        let footer = Footer::decode(footer_of_file()).unwrap();
        let integer = |bits, signed| Meaning::Integer { bits, signed };
        let expected = [
            ("id", Physical::Int64, 0, Meaning::Plain),
            ("name", Physical::ByteArray, 0, Meaning::Text),
            ("day", Physical::Int32, 0, Meaning::Date),
            ("at", Physical::Int64, 0, Meaning::Timestamp { unit: TimeUnit::Micros, utc: true }),
            ("price", Physical::FixedLenByteArray, 4, Meaning::Decimal { scale: 2, precision: 9 }),
            ("port", Physical::Int32, 0, integer(32, false)),
            ("code", Physical::FixedLenByteArray, 4, Meaning::Plain),
            ("tags.list.element", Physical::ByteArray, 0, Meaning::Text),
            ("user.id", Physical::Int64, 0, Meaning::Plain),
            ("user.host", Physical::ByteArray, 0, Meaning::Text),
        ];
        let columns = footer.columns.iter();
        let found = columns.map(|it| (&*it.path, it.physical, it.length, it.meaning));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(footer.row_groups.iter().map(|group| group.rows).collect::<Vec<_>>(), [100; 3]);
        for group in &footer.row_groups {
            for (column, chunk) in footer.columns.iter().zip(&group.chunks) {
                assert_eq!(chunk.filter_offset.is_some(), column.path != "user.host");
                let Some(offset) = chunk.filter_offset else { continue };
                let extent = umbel_foreign::parquet::extent(&FILE[offset as usize..]).unwrap();
                assert_eq!(chunk.filter_length, Some(extent.end as i32), "{}", column.path);
                assert!(chunk.bytes > 0);
            }
        }
    }

    /// Changed bytes are refused or give another footer, without a panic and within the promised memory.
    #[test]
    fn damage_does_no_harm() {
        let footer = footer_of_file();
        for length in 0..footer.len() {
            assert!(Footer::decode(&footer[..length]).is_err(), "{length} bytes");
        }
        for at in 0..footer.len() {
            for bit in 0..8 {
                let mut changed = footer.to_vec();
                changed[at] ^= 1 << bit;
                let _ = Footer::decode(&changed);
            }
        }
    }

    /// An element of a schema: its name, and its number of children or a column of type BOOLEAN.
    fn element(name: &str, children: Option<u8>) -> Vec<u8> {
        let mut bytes = if children.is_some() { vec![0x48] } else { vec![0x15, 0, 0x38] };
        bytes.push(name.len() as u8);
        bytes.extend(name.as_bytes());
        bytes.extend(children.iter().flat_map(|children| [0x15, children << 1]));
        bytes.push(0);
        bytes
    }

    fn schema(elements: &[Vec<u8>]) -> Vec<u8> {
        assert!(elements.len() < 128);
        [&[0x29, 0xfc, elements.len() as u8], &elements.concat()[..], &[0]].concat()
    }

    #[test]
    fn structures_are_names_in_front() {
        let paths = |elements: &[Vec<u8>]| {
            let footer = Footer::decode(&schema(elements))?;
            Ok::<_, Error>(footer.columns.into_iter().map(|column| column.path).collect::<Vec<_>>())
        };
        let root = element("root", Some(3));
        let elements = [
            root.clone(),
            element("a", Some(2)),
            element("b", Some(1)),
            element("c", None),
            element("d", None),
            element("empty", Some(0)),
            element("e", None),
        ];
        assert_eq!(paths(&elements).unwrap(), ["a.b.c", "a.d", "e"]);
        assert!(paths(&elements[..6]).is_err(), "a column is missing");
        assert!(paths(&[&elements[..], &[element("f", None)]].concat()).is_err(), "one too many");
        assert!(paths(&[]).is_err());
        let deep: Vec<_> = (0..127).map(|_| element("x", Some(1))).collect();
        assert!(paths(&deep).is_err(), "no end");
    }

    /// Bytes that expand to many structures use at most the memory allowed for a footer of that length.
    #[test]
    fn lists_of_nothing_do_not_fill_memory() {
        const ENTRIES: usize = 4 << 20;
        let count = [0x80, 0x80, 0x80, 2];
        let no_columns = schema(&[element("root", Some(0))]);
        let groups = [&no_columns[..no_columns.len() - 1], &[0x29, 0xfc], &count].concat();
        // Row groups without columns.
        let read = Footer::decode(&[&groups[..], &vec![0; ENTRIES], &[0]].concat());
        assert!(matches!(read, Err(Error::Field { field: "footer", .. })));
        // A row group with as many columns whose metadata is empty.
        let group =
            [&no_columns[..no_columns.len() - 1], &[0x29, 0x1c, 0x19, 0xfc], &count].concat();
        let chunks = [0x3c, 0, 0].repeat(ENTRIES);
        let read = Footer::decode(&[&group[..], &chunks, &[0, 0]].concat());
        assert!(matches!(read, Err(Error::Field { field: "footer", .. })));
    }

    #[test]
    fn a_file_without_columns_and_rows_has_neither() {
        let footer = Footer::decode(&schema(&[element("root", Some(0))])).unwrap();
        assert_eq!(footer, Footer { length: footer.length, ..Footer::default() });
    }
}
