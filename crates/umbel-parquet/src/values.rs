//! The values of a column of a row group, as hashes: pages are read, decompressed and decoded by the crate `parquet`.
//!
//! Of a column that is encoded by a dictionary, the dictionary is hashed and the pages that refer to it are not read. It
//! may have values that no row has; then a filter lets those pass too. Plain pages, the others that most writers make, are
//! hashed where they are: their values lie one after the other, so nulls and nesting need not be decoded.

use std::fs::File;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, Type, ZstdLevel};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{AsBytes, DataType, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, SchemaDescPtr, Type as SchemaType};
use umbel_foreign::Key;
use umbel_foreign::parquet::{Chunk, Column, Physical, hash};
use umbel_system::FileAt;

use crate::pages::Pages;

/// Hashes that are handed on together.
const BATCH: usize = 1024;
/// Values that are decoded at a time.
const DECODED: usize = 4096;

/// What all columns share.
pub(crate) struct Values {
    file: Arc<File>,
    schema: SchemaDescPtr,
}

impl Values {
    pub(crate) fn new(file: &File, footer: &[u8]) -> Result<Self> {
        let schema = ParquetMetaDataReader::decode_schema(footer)?;
        Ok(Self { file: Arc::new(file.try_clone()?), schema })
    }

    /// Hands on the hashes of all values of a column in a row group, some of them more than once.
    pub(crate) fn hash_all(
        &self,
        (number, column): (usize, &Column),
        chunk: &Chunk,
        pages: &Pages,
        to: &mut dyn FnMut(&[u64]),
    ) -> Result<()> {
        ensure!(number < self.schema.num_columns(), "the schema has another number of columns");
        let descriptor = self.schema.column(number);
        let locations: Vec<_> = pages
            .wanted()
            .map(|(offset, length)| location(offset, length))
            .collect::<Result<_>>()?;
        let Some(first) = locations.first() else { return Ok(()) };
        let about = ColumnChunkMetaData::builder(descriptor.clone())
            .set_compression(compression(chunk.codec)?)
            .set_data_page_offset(first.offset)
            .set_total_compressed_size(chunk.bytes as i64)
            .build()?;
        let at = Arc::new(At(Arc::clone(&self.file)));
        let mut reader = SerializedPageReader::new(at, &about, 0, Some(locations))?;
        let mut hashes = Hashes { batch: Vec::with_capacity(BATCH), to };
        while let Some(page) = reader.get_next_page()? {
            let plain = Plain::of(&page, descriptor.max_rep_level(), descriptor.max_def_level());
            let hashed = match plain {
                Some(plain) => plain.hash(column, &mut hashes)?,
                None => false,
            };
            if !hashed {
                decode(&descriptor, page, &mut hashes)?;
            }
        }
        hashes.end();
        Ok(())
    }
}

fn location(offset: u64, length: u64) -> Result<PageLocation> {
    let compressed_page_size = i32::try_from(length).context("a page is too large")?;
    Ok(PageLocation { offset: offset.try_into()?, compressed_page_size, first_row_index: 0 })
}

/// The codec of this number. The level is only that of writers.
fn compression(codec: i64) -> Result<Compression> {
    Ok(match codec {
        0 => Compression::UNCOMPRESSED,
        1 => Compression::SNAPPY,
        2 => Compression::GZIP(GzipLevel::default()),
        4 => Compression::BROTLI(BrotliLevel::default()),
        5 => Compression::LZ4,
        6 => Compression::ZSTD(ZstdLevel::default()),
        7 => Compression::LZ4_RAW,
        3 => bail!("is compressed as LZO, which nobody reads any more"),
        other => bail!("is compressed by codec {other}, which is not known"),
    })
}

/// A file, read at given places without moving its position.
struct At(Arc<File>);

impl Length for At {
    fn len(&self) -> u64 {
        Length::len(&*self.0)
    }
}

impl ChunkReader for At {
    type T = std::io::Empty;

    fn get_read(&self, _: u64) -> ParquetResult<Self::T> {
        Err(ParquetError::General("pages are read whole".to_owned()))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// Hashes on their way.
struct Hashes<'a> {
    batch: Vec<u64>,
    to: &'a mut dyn FnMut(&[u64]),
}

impl Hashes<'_> {
    #[inline]
    fn push(&mut self, key: Key<'_>) {
        self.batch.push(hash(key));
        if self.batch.len() == BATCH {
            self.end();
        }
    }

    /// Floats that are equal to readers are equal here: both zeros, and all that are no number, go in together.
    fn push_f64(&mut self, value: f64) {
        if value == 0.0 {
            self.push(Key::F64(-value));
        } else if value.is_nan() {
            self.push(Key::F64(f64::NAN));
        }
        self.push(Key::F64(value));
    }

    fn push_f32(&mut self, value: f32) {
        if value == 0.0 {
            self.push(Key::F32(-value));
        } else if value.is_nan() {
            self.push(Key::F32(f32::NAN));
        }
        self.push(Key::F32(value));
    }

    fn end(&mut self) {
        (self.to)(&self.batch);
        self.batch.clear();
    }
}

/// Values in the plain encoding.
struct Plain<'a> {
    bytes: &'a [u8],
    /// How many there are; none if that can only be told by decoding which rows are null.
    count: Option<usize>,
}

impl<'a> Plain<'a> {
    /// Those of a page, if it has that encoding.
    fn of(page: &'a Page, repeats: i16, defined: i16) -> Option<Self> {
        match page {
            Page::DictionaryPage {
                buf,
                num_values,
                encoding: Encoding::PLAIN | Encoding::PLAIN_DICTIONARY,
                ..
            } => Some(Self { bytes: buf, count: Some(*num_values as usize) }),
            Page::DataPage {
                buf,
                num_values,
                encoding: Encoding::PLAIN,
                def_level_encoding,
                rep_level_encoding,
                ..
            } => {
                let mut bytes = &buf[..];
                for (most, encoding) in
                    [(repeats, rep_level_encoding), (defined, def_level_encoding)]
                {
                    if most > 0 {
                        // Levels in the older encoding have no length.
                        let length = bytes.split_off(..4).filter(|_| *encoding == Encoding::RLE)?;
                        let length = u32::from_le_bytes(length.try_into().expect("it has 4 bytes"));
                        bytes.split_off(..length as usize)?;
                    }
                }
                Some(Self { bytes, count: (defined == 0).then_some(*num_values as usize) })
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding: Encoding::PLAIN,
                num_nulls,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let levels = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
                let count = num_values.checked_sub(*num_nulls)?;
                Some(Self { bytes: buf.get(levels..)?, count: Some(count as usize) })
            }
            _ => None,
        }
    }

    /// Hashes them; false, with nothing hashed, if the bytes are not exactly such values.
    fn hash(&self, column: &Column, hashes: &mut Hashes<'_>) -> Result<bool> {
        let width = match column.physical {
            Physical::Int32 | Physical::Float => 4,
            Physical::Int64 | Physical::Double => 8,
            Physical::Int96 => 12,
            Physical::FixedLenByteArray if column.length > 0 => column.length,
            Physical::ByteArray => return Ok(self.hash_bytes(hashes)),
            _ => return Ok(false),
        };
        let count = self.count.unwrap_or(self.bytes.len() / width);
        if count.checked_mul(width) != Some(self.bytes.len()) {
            return Ok(false);
        }
        let values = self.bytes.chunks_exact(width);
        match column.physical {
            Physical::Int32 => {
                values.for_each(|value| hashes.push(Key::I32(i32::from_le_bytes(four(value)))));
            }
            Physical::Int64 => {
                values.for_each(|value| hashes.push(Key::I64(i64::from_le_bytes(eight(value)))));
            }
            Physical::Float => {
                values.for_each(|value| hashes.push_f32(f32::from_le_bytes(four(value))));
            }
            Physical::Double => {
                values.for_each(|value| hashes.push_f64(f64::from_le_bytes(eight(value))));
            }
            _ => values.for_each(|value| hashes.push(Key::Bytes(value))),
        }
        Ok(true)
    }

    /// Each value is behind its length.
    fn hash_bytes(&self, hashes: &mut Hashes<'_>) -> bool {
        let next = |left: &mut &'a [u8]| {
            let length =
                u32::from_le_bytes(left.split_off(..4)?.try_into().expect("it has 4 bytes"));
            left.split_off(..length as usize)
        };
        let (mut left, mut count) = (self.bytes, 0);
        while next(&mut left).is_some() {
            count += 1;
        }
        if !left.is_empty() || self.count.is_some_and(|right| right != count) {
            return false;
        }
        let mut left = self.bytes;
        while let Some(value) = next(&mut left) {
            hashes.push(Key::Bytes(value));
        }
        true
    }
}

fn four(bytes: &[u8]) -> [u8; 4] {
    bytes.try_into().expect("chunks of 4")
}

fn eight(bytes: &[u8]) -> [u8; 8] {
    bytes.try_into().expect("chunks of 8")
}

/// A page for a reader of columns.
struct OnePage(Option<Page>);

impl Iterator for OnePage {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageReader for OnePage {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        Ok(self.0.take())
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        Ok(None)
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.0 = None;
        Ok(())
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        Ok(true)
    }
}

/// Decodes and hashes the values of a page.
fn decode(descriptor: &ColumnDescPtr, page: Page, hashes: &mut Hashes<'_>) -> Result<()> {
    let is_delta = page.encoding() == Encoding::DELTA_BINARY_PACKED;
    if is_delta && descriptor.physical_type() == Type::INT32 {
        // DuckDB writes unsigned numbers with differences of 33 bits, which the crate refuses. Modulo 2^32, those of 64 bits
        // have the same sums.
        let wide = SchemaType::primitive_type_builder("wide", Type::INT64).build()?;
        let (defined, repeats) = (descriptor.max_def_level(), descriptor.max_rep_level());
        let wide =
            ColumnDescriptor::new(Arc::new(wide), defined, repeats, descriptor.path().clone());
        let pages = Box::new(OnePage(Some(page)));
        let reader = ColumnReaderImpl::<Int64Type>::new(Arc::new(wide), pages);
        return each(reader, |value| hashes.push(Key::I32(*value as i32)));
    }
    match get_column_reader(descriptor.clone(), Box::new(OnePage(Some(page)))) {
        ColumnReader::BoolColumnReader(_) => bail!("BOOLEAN has no filters"),
        ColumnReader::Int32ColumnReader(reader) => {
            each(reader, |value| hashes.push(Key::I32(*value)))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            each(reader, |value| hashes.push(Key::I64(*value)))
        }
        ColumnReader::Int96ColumnReader(reader) => {
            each(reader, |value| hashes.push(Key::Bytes(value.as_bytes())))
        }
        ColumnReader::FloatColumnReader(reader) => each(reader, |value| hashes.push_f32(*value)),
        ColumnReader::DoubleColumnReader(reader) => each(reader, |value| hashes.push_f64(*value)),
        ColumnReader::ByteArrayColumnReader(reader) => {
            each(reader, |value| hashes.push(Key::Bytes(value.data())))
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            each(reader, |value| hashes.push(Key::Bytes(value.data())))
        }
    }
}

fn each<T: DataType>(mut reader: ColumnReaderImpl<T>, mut see: impl FnMut(&T::T)) -> Result<()> {
    let (mut values, mut defined, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let (records, _, levels) =
            reader.read_records(DECODED, Some(&mut defined), Some(&mut repeats), &mut values)?;
        if (records, levels) == (0, 0) {
            return Ok(());
        }
        values.iter().for_each(&mut see);
        values.clear();
        defined.clear();
        repeats.clear();
    }
}
