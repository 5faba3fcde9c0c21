//! Parquet files without pages, made by hand: a column of numbers, with filters at any place.

use std::path::Path;

use umbel_foreign::parquet::Parquet;
use umbel_foreign::{Format, Parameters};

/// Rows of each row group.
pub(crate) const ROWS: i64 = 40_000;

/// Writes a file of a column of integers of 64 bits, whose row groups have filters at these places.
pub(crate) fn write(path: &Path, file: Vec<u8>, name: &str, filters: &[Option<usize>]) {
    write_typed(path, file, (2, name), filters);
}

/// As [`write`], of a column whose type has this number: `apache/parquet-format`, `parquet.thrift`.
pub(crate) fn write_typed(
    path: &Path,
    mut file: Vec<u8>,
    (physical, name): (i64, &str),
    filters: &[Option<usize>],
) {
    const I32: u8 = 5;
    const I64: u8 = 6;
    const TEXT: u8 = 8;
    const LIST: u8 = 9;
    const STRUCT: u8 = 12;
    let mut groups = Vec::new();
    for filter in filters {
        let mut about = Vec::new();
        field(&mut about, 1, I32, &zigzag(physical));
        field(&mut about, 2, LIST, &list(TEXT, &[text(&"path".repeat(25))]));
        field(&mut about, 2, I64, &zigzag(ROWS));
        if let Some(filter) = filter {
            field(&mut about, 9, I64, &zigzag(*filter as i64));
        }
        about.push(0);
        let mut chunk = Vec::new();
        field(&mut chunk, 3, STRUCT, &about);
        chunk.push(0);
        let mut group = Vec::new();
        field(&mut group, 1, LIST, &list(STRUCT, &[chunk]));
        field(&mut group, 2, I64, &zigzag(ROWS));
        group.push(0);
        groups.push(group);
    }
    let (mut root, mut id) = (Vec::new(), Vec::new());
    field(&mut root, 4, TEXT, &text("large"));
    field(&mut root, 1, I32, &zigzag(1));
    field(&mut id, 1, I32, &zigzag(physical));
    field(&mut id, 3, TEXT, &text(name));
    [&mut root, &mut id].into_iter().for_each(|element| element.push(0));
    let start = file.len();
    field(&mut file, 2, LIST, &list(STRUCT, &[root, id]));
    field(&mut file, 2, LIST, &list(STRUCT, &groups));
    file.push(0);
    let length = (file.len() - start) as u32;
    file.extend(length.to_le_bytes());
    file.extend(b"PAR1");
    std::fs::write(path, file).unwrap();
}

/// A filter of 32 bytes without a key.
pub(crate) fn small() -> Vec<u8> {
    let size = Parameters { bits: Some(256), ..Parameters::default() };
    Parquet::new(Format::Parquet, &size).unwrap().content().to_vec()
}

/// A field of a structure in Thrift's compact protocol: the number after the last one's, its type, its value.
fn field(to: &mut Vec<u8>, after: u8, kind: u8, value: &[u8]) {
    to.push(after << 4 | kind);
    to.extend(value);
}

fn zigzag(number: i64) -> Vec<u8> {
    varint((number << 1 ^ number >> 63) as u64)
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn text(text: &str) -> Vec<u8> {
    [&varint(text.len() as u64), text.as_bytes()].concat()
}

fn list(kind: u8, elements: &[Vec<u8>]) -> Vec<u8> {
    [&[0xf0 | kind][..], &varint(elements.len() as u64), &elements.concat()].concat()
}
