//! The values of a column of a row group, as hashes: pages are read, decompressed and decoded, one at a time.
//!
//! In a column with a dictionary, the dictionary is hashed and the pages that refer to it are not read. It may have
//! values that occur in no row; the filter then lets these pass too. A value that cannot be decoded is an error: a
//! filter without it would answer "absent" for a key that the file has.

use std::fs::File;
use std::ops::RangeInclusive;

use anyhow::{Context, Result, bail, ensure};
use umbel_foreign::Key;
use umbel_foreign::parquet::{PrefixHasher, hash};
use umbel_io::FileAt;
use umbel_sets::Progress;

use crate::codec::Codec;
use crate::footer::{Chunk, Column, Physical};
use crate::page::{Levels, PageHeader};
use crate::{encodings, pages};

/// Hashes that are handed on together.
const BATCH: usize = 1024;

/// Hands on the hashes of all values of a column in a row group, some of them more than once.
pub(crate) fn hash_all(
    file: &File,
    column: &Column,
    chunk: &Chunk,
    progress: &Progress,
    to: &mut dyn FnMut(&[u64]),
) -> Result<()> {
    let mut codec = Codec::new(chunk.codec)?;
    let (mut in_file, mut in_memory) = (Buffer::default(), Buffer::default());
    let mut hashes = Hashes { batch: Vec::with_capacity(BATCH), to };
    pages::each(file, chunk, |start, header| {
        if !pages::is_needed(header) {
            return Ok(());
        }
        progress.check()?;
        let bytes = in_file.of(header.compressed);
        file.read_exact_at(bytes, start)?;
        if let Some(crc) = header.crc {
            let right = crc32fast::hash(bytes) == crc;
            ensure!(right, "its checksum is wrong; damaged? copy the file again");
        }
        let (values, count) = values(column, header, &mut codec, bytes, &mut in_memory)?;
        hash_page(column, header.encoding, values, &count, &mut hashes)
    })?;
    hashes.end();
    Ok(())
}

/// A buffer that is written before it is read, and reused.
#[derive(Default)]
struct Buffer(Vec<u8>);

impl Buffer {
    fn of(&mut self, length: u64) -> &mut [u8] {
        let length = length as usize;
        if self.0.len() < length {
            // Frees the old memory first, so nothing is copied.
            self.0 = Vec::new();
            self.0 = vec![0; length];
        }
        &mut self.0[..length]
    }
}

/// The bytes of the values of a page, and how many values they may be.
fn values<'a>(
    column: &Column,
    page: &PageHeader,
    codec: &mut Codec,
    bytes: &'a [u8],
    buffer: &'a mut Buffer,
) -> Result<(&'a [u8], RangeInclusive<u64>)> {
    const LEVELS: &str = "is shorter than its levels; damaged? copy the file again";
    // Nulls are among the values of a page, but have no bytes. Their number is in the levels; version 2 also declares
    // it, but not all writers count empty lists in it.
    let may_be_null = page.levels != Levels::None && column.definition > 0;
    let count = if may_be_null { 0..=page.values } else { page.values..=page.values };
    let values = match page.levels {
        Levels::None => decompress(codec, bytes, page.uncompressed, buffer)?,
        Levels::Before { bytes: levels, compressed } => {
            let values = bytes.get(levels as usize..).context(LEVELS)?;
            match compressed {
                true => {
                    let length = page.uncompressed.checked_sub(levels).context(LEVELS)?;
                    decompress(codec, values, length, buffer)?
                }
                false => values,
            }
        }
        Levels::Inside { repetition, definition } => {
            let mut bytes = decompress(codec, bytes, page.uncompressed, buffer)?;
            for (most, encoding) in
                [(column.repetition, repetition), (column.definition, definition)]
            {
                let length = match encoding {
                    _ if most == 0 => 0,
                    // RLE, after its length.
                    3 => {
                        let length = bytes.split_off(..4).context(LEVELS)?;
                        u32::from_le_bytes(length.try_into().expect("it has 4 bytes")).into()
                    }
                    // BIT_PACKED, in old files.
                    4 => (page.values * u64::from(u32::BITS - most.leading_zeros())).div_ceil(8),
                    other => bail!(
                        "has levels in the unknown encoding {other}; write the filters when the file is made"
                    ),
                };
                let length = usize::try_from(length).ok();
                length.and_then(|length| bytes.split_off(..length)).context(LEVELS)?;
            }
            bytes
        }
    };
    Ok((values, count))
}

fn decompress<'a>(
    codec: &mut Codec,
    bytes: &'a [u8],
    length: u64,
    buffer: &'a mut Buffer,
) -> Result<&'a [u8]> {
    if codec.is_none() {
        return Ok(bytes);
    }
    let text = buffer.of(length);
    // No bytes may mean no values.
    if length > 0 {
        let done = codec.decompress(bytes, text);
        done.context("cannot be decompressed; damaged? copy the file again")?;
    }
    Ok(text)
}

/// Hashes the values of a page.
fn hash_page(
    column: &Column,
    encoding: i64,
    bytes: &[u8],
    count: &RangeInclusive<u64>,
    hashes: &mut Hashes<'_>,
) -> Result<()> {
    use Physical::{ByteArray, Double, FixedLenByteArray, Float, Int32, Int64};
    let (physical, width) = (column.physical, column.width());
    let fixed = FixedLenByteArray;
    if physical == fixed && width == 0 {
        ensure!(
            bytes.is_empty(),
            "has values of 0 bytes, but is not empty; damaged? copy the file again"
        );
        hashes.push(Key::Bytes(&[]));
        return Ok(());
    }
    // Values of a fixed length have that length in any encoding.
    let mut wrong = false;
    match (encoding, physical) {
        // PLAIN; PLAIN_DICTIONARY only in dictionaries, because other pages with it are not read.
        (0 | 2, ByteArray) => {
            encodings::plain_bytes(bytes, count, |value| hashes.push(Key::Bytes(value)))?;
        }
        (0 | 2, FixedLenByteArray) => {
            encodings::fixed_bytes(bytes, width, count, |value| hashes.push(Key::Bytes(value)))?;
        }
        (0 | 2, _) => {
            let values = encodings::fixed(bytes, width, count)?;
            match physical {
                Int32 => values.for_each(|value| hashes.push_i32(value)),
                Int64 => values.for_each(|value| hashes.push_i64(value)),
                Float => values.for_each(|value| hashes.push_f32(value)),
                Double => values.for_each(|value| hashes.push_f64(value)),
                _ => values.for_each(|value| hashes.push(Key::Bytes(value))),
            }
        }
        (5, Int32) => {
            encodings::deltas(bytes, count, |value| hashes.push(Key::I32(value as i32)))?;
        }
        (5, Int64) => encodings::deltas(bytes, count, |value| hashes.push(Key::I64(value)))?,
        (6 | 7, ByteArray | FixedLenByteArray) => {
            let mut check = |value: &[u8]| wrong |= physical == fixed && value.len() != width;
            let mut prefixes = PrefixHasher::default();
            match encoding {
                6 => encodings::delta_lengths(bytes, count, |value| {
                    check(value);
                    hashes.push(Key::Bytes(value));
                })?,
                _ => encodings::delta_bytes(bytes, count, |value, shared| {
                    check(value);
                    hashes.push_hash(prefixes.hash(value, shared));
                })?,
            }
        }
        (9, Int32) => encodings::split_streams(bytes, 4, count, |value| hashes.push_i32(value))?,
        (9, Int64) => encodings::split_streams(bytes, 8, count, |value| hashes.push_i64(value))?,
        (9, Float) => encodings::split_streams(bytes, 4, count, |value| hashes.push_f32(value))?,
        (9, Double) => encodings::split_streams(bytes, 8, count, |value| hashes.push_f64(value))?,
        (9, FixedLenByteArray) => {
            encodings::split_streams(bytes, width, count, |value| hashes.push(Key::Bytes(value)))?;
        }
        _ => bail!(
            "has values of {physical} in the encoding {encoding}, which umbel does not read; write the filters when the file is made"
        ),
    }
    ensure!(!wrong, "has values that are not {width} bytes long; damaged? copy the file again");
    Ok(())
}

/// Hashes being collected.
///
/// Floats that readers treat as equal are equal here: both zeros go in together, and so do all NaNs. The format does
/// not mention them. Readers hash the bits of the value that they look for: for zero, some try one encoding, some both.
struct Hashes<'a> {
    batch: Vec<u64>,
    to: &'a mut dyn FnMut(&[u64]),
}

impl Hashes<'_> {
    #[inline]
    fn push(&mut self, key: Key<'_>) {
        self.push_hash(hash(key));
    }

    #[inline]
    fn push_hash(&mut self, hash: u64) {
        self.batch.push(hash);
        if self.batch.len() == BATCH {
            self.end();
        }
    }

    #[inline]
    fn push_i32(&mut self, value: &[u8]) {
        self.push(Key::I32(i32::from_le_bytes(four(value))));
    }

    #[inline]
    fn push_i64(&mut self, value: &[u8]) {
        self.push(Key::I64(i64::from_le_bytes(eight(value))));
    }

    fn push_f32(&mut self, value: &[u8]) {
        let value = f32::from_le_bytes(four(value));
        if value == 0.0 {
            self.push(Key::F32(-value));
        } else if value.is_nan() {
            self.push(Key::F32(f32::NAN));
        }
        self.push(Key::F32(value));
    }

    fn push_f64(&mut self, value: &[u8]) {
        let value = f64::from_le_bytes(eight(value));
        if value == 0.0 {
            self.push(Key::F64(-value));
        } else if value.is_nan() {
            self.push(Key::F64(f64::NAN));
        }
        self.push(Key::F64(value));
    }

    fn end(&mut self) {
        (self.to)(&self.batch);
        self.batch.clear();
    }
}

fn four(bytes: &[u8]) -> [u8; 4] {
    bytes.try_into().expect("it has 4 bytes")
}

fn eight(bytes: &[u8]) -> [u8; 8] {
    bytes.try_into().expect("it has 8 bytes")
}
