//! Files of the crate `parquet`, of every type, codec and encoding: its reader finds the same values before and after, and
//! its filters let every value pass.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{AsBytes, ByteArray, FixedLenByteArray, Int96};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{ReaderProperties, WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Row;
use parquet::schema::parser::parse_message_type;
use umbel_foreign::{Foreign, ForeignFilter, Format, Key};
use umbel_io::atomic::Existing;
use umbel_parquet::{Edit, Edited, Footer, Plan, Reason, Removal};
use umbel_sets::{Resources, TempFolders};

#[path = "util/thrift.rs"]
mod thrift;

const SCHEMA: &str = "message events {
    required int32 small;
    optional int64 large;
    optional int96 old;
    required float float;
    optional double double;
    optional binary text (UTF8);
    required fixed_len_byte_array(16) id;
    optional group user { optional binary host (UTF8); }
    optional group tags (LIST) { repeated group list { optional int64 element; } }
    required int32 state;
    required boolean flag;
}";
const ROWS: u64 = 700;
/// Columns with filters, in the order of the schema.
const COLUMNS: [&str; 9] =
    ["small", "large", "old", "float", "double", "text", "id", "user.host", "tags.list.element"];

fn resources(memory: u64, threads: usize) -> Resources {
    Resources::new(memory, threads, TempFolders::new(&[std::env::temp_dir()]))
}

fn to_add(columns: &[&str], always: bool) -> Edit {
    let add = columns.iter().map(|column| (*column).to_owned()).collect();
    Edit { add, remove: Removal::Of(Vec::new()), fpp: 0.01, always }
}

fn to_remove() -> Edit {
    Edit { remove: Removal::All, ..to_add(&[], false) }
}

fn edit(path: &Path, to: &Path, edit: &Edit) -> anyhow::Result<Edited> {
    let resources = resources(256 << 20, 2);
    Plan::new(path, edit, &resources)?.write_to(to, Existing::Replace, &resources)
}

/// Looks random, but is the same in every run.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^= mixed >> 29;
    mixed = mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

fn host(row: u64) -> ByteArray {
    format!("{:x}.example", mixed(row)).into_bytes().into()
}

/// The values of a column in the rows without a null; every fifth row has one.
fn write_column(writer: &mut ColumnWriter<'_>, name: &str, rows: std::ops::Range<u64>) {
    let there: Vec<u64> = rows.clone().filter(|row| row % 5 != 0).collect();
    let defined: Vec<i16> = rows.clone().map(|row| i16::from(row % 5 != 0)).collect();
    let of = |row: &u64| mixed(*row);
    match (writer, name) {
        (ColumnWriter::Int32ColumnWriter(writer), "state") => {
            writer.write_batch(&rows.map(|row| (row % 3) as i32).collect::<Vec<_>>(), None, None)
        }
        (ColumnWriter::Int32ColumnWriter(writer), _) => {
            writer.write_batch(&rows.map(|row| mixed(row) as i32).collect::<Vec<_>>(), None, None)
        }
        (ColumnWriter::FloatColumnWriter(writer), _) => {
            writer.write_batch(&rows.map(|row| row as f32 / 7.0).collect::<Vec<_>>(), None, None)
        }
        (ColumnWriter::BoolColumnWriter(writer), _) => {
            writer.write_batch(&rows.map(|row| row % 2 == 0).collect::<Vec<_>>(), None, None)
        }
        (ColumnWriter::FixedLenByteArrayColumnWriter(writer), _) => {
            let id =
                |row| FixedLenByteArray::from([mixed(row), row].map(u64::to_be_bytes).concat());
            writer.write_batch(&rows.map(id).collect::<Vec<_>>(), None, None)
        }
        (ColumnWriter::Int64ColumnWriter(writer), "element") => {
            // Rows with no list, an empty list, a null, and a number and a null.
            let (mut defined, mut repeats, mut values) = (Vec::new(), Vec::new(), Vec::new());
            for row in rows {
                let levels: &[i16] = match row % 4 {
                    0 => &[0],
                    1 => &[1],
                    2 => &[2],
                    _ => &[3, 2, 3],
                };
                for (i, level) in levels.iter().enumerate() {
                    defined.push(*level);
                    repeats.push(i16::from(i > 0));
                    values.extend((*level == 3).then(|| mixed(row + i as u64) as i64));
                }
            }
            writer.write_batch(&values, Some(&defined), Some(&repeats))
        }
        (ColumnWriter::Int64ColumnWriter(writer), _) => {
            let values: Vec<_> = there.iter().map(|row| of(row) as i64).collect();
            writer.write_batch(&values, Some(&defined), None)
        }
        (ColumnWriter::Int96ColumnWriter(writer), _) => {
            let time =
                |row: &u64| Int96::from(vec![of(row) as u32, (of(row) >> 50) as u32, 2_460_000]);
            writer.write_batch(&there.iter().map(time).collect::<Vec<_>>(), Some(&defined), None)
        }
        (ColumnWriter::DoubleColumnWriter(writer), _) => {
            let double = |row: &u64| match row % 9 {
                0 => -0.0,
                1 => f64::from_bits(0xfff8_0000_0000_0001),
                _ => of(row) as f64,
            };
            writer.write_batch(&there.iter().map(double).collect::<Vec<_>>(), Some(&defined), None)
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), "host") => {
            let defined: Vec<i16> = defined.iter().map(|there| there * 2).collect();
            let hosts: Vec<_> = there.iter().map(|row| host(*row)).collect();
            writer.write_batch(&hosts, Some(&defined), None)
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), _) => {
            let texts = |row: &u64| match row % 2 {
                0 => "x".repeat((row % 40) as usize).into_bytes().into(),
                _ => host(row + 1000),
            };
            writer.write_batch(&there.iter().map(texts).collect::<Vec<_>>(), Some(&defined), None)
        }
    }
    .unwrap();
}

/// Writes a file with a row group for each number of rows.
fn make(path: &Path, properties: WriterProperties, groups: &[u64]) {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut first = 0;
    for rows in groups {
        let mut group = writer.next_row_group().unwrap();
        for name in [
            "small", "large", "old", "float", "double", "text", "id", "host", "element", "state",
            "flag",
        ] {
            let mut column = group.next_column().unwrap().unwrap();
            write_column(column.untyped(), name, first..first + rows);
            column.close().unwrap();
        }
        group.close().unwrap();
        first += rows;
    }
    writer.close().unwrap();
}

fn reader(path: &Path) -> Result<SerializedFileReader<File>, ParquetError> {
    let properties = ReaderProperties::builder().set_read_bloom_filter(true).build();
    let options = ReadOptionsBuilder::new().with_reader_properties(properties).with_page_index();
    SerializedFileReader::new_with_options(File::open(path).unwrap(), options.build())
}

fn rows(path: &Path) -> Vec<String> {
    let rows: Vec<Row> =
        reader(path).unwrap().get_row_iter(None).unwrap().map(Result::unwrap).collect();
    // As text: NaN is not equal to itself.
    rows.iter().map(|row| format!("{row:?}")).collect()
}

/// The whole footer except for the places of filters.
fn described(path: &Path) -> String {
    let reader = reader(path).unwrap();
    let meta = reader.metadata();
    let mut text = format!("{:?} {:?}", meta.file_metadata(), meta.page_index());
    for column in meta.row_groups().iter().flat_map(|group| group.columns()) {
        let column = column.clone().into_builder();
        let column =
            column.set_bloom_filter_offset(None).set_bloom_filter_length(None).build().unwrap();
        text += &format!("{column:?}");
    }
    text
}

/// The filter of a column in a row group, queried through the crate `parquet`.
fn passes(path: &Path, group: usize, column: usize, key: &(impl AsBytes + ?Sized)) -> Option<bool> {
    let reader = reader(path).unwrap();
    let group = reader.get_row_group(group).unwrap();
    Some(group.get_column_bloom_filter(column)?.check(key))
}

fn kinds() -> Vec<(String, WriterProperties)> {
    let mut kinds = Vec::new();
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(Default::default()),
    ];
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let new = || {
            WriterProperties::builder()
                .set_writer_version(version)
                .set_key_value_metadata(Some(vec![KeyValue::new("k".into(), "v".to_owned())]))
                .set_write_batch_size(64)
                .set_data_page_row_count_limit(100)
        };
        for codec in codecs {
            let properties = new().set_compression(codec).set_dictionary_enabled(false).build();
            kinds.push((format!("{version:?} {codec:?}"), properties));
        }
        kinds.push((format!("{version:?} dictionary"), new().build()));
        // A dictionary that is soon full.
        let full = new().set_dictionary_page_size_limit(500).set_encoding(Encoding::PLAIN);
        kinds.push((format!("{version:?} full dictionary"), full.build()));
        let others = [
            ("small", Encoding::DELTA_BINARY_PACKED),
            ("large", Encoding::DELTA_BINARY_PACKED),
            ("float", Encoding::BYTE_STREAM_SPLIT),
            ("double", Encoding::BYTE_STREAM_SPLIT),
            ("text", Encoding::DELTA_LENGTH_BYTE_ARRAY),
            ("id", Encoding::DELTA_BYTE_ARRAY),
            ("user.host", Encoding::DELTA_BYTE_ARRAY),
            ("tags.list.element", Encoding::DELTA_BINARY_PACKED),
        ];
        let mut delta = new().set_dictionary_enabled(false);
        for (column, encoding) in others {
            let path = column.split('.').map(str::to_owned).collect::<Vec<_>>();
            delta = delta.set_column_encoding(path.into(), encoding);
        }
        kinds.push((format!("{version:?} delta"), delta.build()));
    }
    kinds
}

/// A folder with places for two files.
fn workplace() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let [old, new] = ["old.parquet", "new.parquet"].map(|name| dir.path().join(name));
    (dir, old, new)
}

/// A folder with a file in it, and a place for another.
fn folder(properties: WriterProperties, groups: &[u64]) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let (dir, old, new) = workplace();
    make(&old, properties, groups);
    (dir, old, new)
}

#[test]
fn every_value_passes_and_nothing_else_changes() {
    for (kind, properties) in kinds() {
        let (dir, old, new) = folder(properties, &[ROWS, 1, ROWS]);
        let edited = edit(&old, &new, &to_add(&COLUMNS, true))
            .unwrap_or_else(|error| panic!("{kind}: {error:#}"));
        assert_eq!(rows(&new), rows(&old), "{kind}");
        assert_eq!(described(&new), described(&old), "{kind}");
        let (before, after) = (fs::read(&old).unwrap(), fs::read(&new).unwrap());
        let footer = u32::from_le_bytes(*before[..before.len() - 4].last_chunk().unwrap()) as usize;
        let body = before.len() - 8 - footer;
        assert_eq!(before[..body], after[..body], "{kind}");
        for (column, added) in edited.columns.iter().enumerate() {
            assert_eq!(added.column, COLUMNS[column]);
            // Null in the only row of the second group; or its list is.
            let some = usize::from([0, 3, 6].contains(&column));
            assert_eq!(added.filters.len(), 2 + some, "{kind} {added:?}");
            assert!(added.filters.iter().all(|filter| filter.fpp <= 0.01), "{kind} {added:?}");
        }
        // Rows of the first group.
        let (mut others, mut wrong) = (0u32, 0u32);
        for row in (1..ROWS).filter(|row| row % 5 != 0).step_by(9) {
            let of = mixed(row);
            let time = Int96::from(vec![of as u32, (of >> 50) as u32, 2_460_000]);
            let double = if row % 9 == 0 { 0.0 } else { of as f64 };
            // In the order of the columns, and whether the row has that value.
            let values: [(bool, &dyn AsBytes); COLUMNS.len()] = [
                (true, &(of as i32)),
                (true, &(of as i64)),
                (true, &time),
                (true, &(row as f32 / 7.0)),
                (row % 9 != 1, &double),
                (row % 2 == 1, &host(row + 1000)),
                (true, &[of, row].map(u64::to_be_bytes).concat()),
                (true, &host(row)),
                (row % 4 == 3, &(mixed(row + 2) as i64)),
            ];
            for (column, (_, value)) in values.iter().enumerate().filter(|(_, value)| value.0) {
                assert_eq!(passes(&new, 0, column, *value), Some(true), "{kind} {row} {column}");
            }
            // Of another group, or of none.
            let absent = mixed(row + (1 << 40)) as i64;
            others += 1;
            wrong += u32::from(passes(&new, 0, 1, &absent).expect("it has one"));
        }
        // Some 60 look-ups at 1 % at most: the probability of more than 7 hits is 1e-7.
        assert!(others > 50 && wrong <= 7, "{kind}: {wrong} of {others}");
        assert_eq!(passes(&new, 0, 4, &f64::NAN), Some(true), "{kind}");
        assert_eq!(passes(&new, 0, 9, &0), None, "{kind}");
        let back = dir.path().join("back.parquet");
        edit(&new, &back, &to_remove()).unwrap();
        let same = fs::read(&back).unwrap() == before;
        assert!(same, "{kind}: what is added and removed leaves the old file");
    }
}

#[test]
fn what_is_of_no_use_is_left_out() {
    let (_dir, old, new) = folder(WriterProperties::builder().build(), &[ROWS, 0, ROWS]);
    let reasons = |columns: &[&str], always| {
        let edited = edit(&old, &new, &to_add(columns, always)).unwrap();
        edited.columns.into_iter().map(|added| added.left_out).collect::<Vec<_>>()
    };
    let dictionary = [(0, Reason::Dictionary), (1, Reason::Empty), (2, Reason::Dictionary)];
    assert_eq!(reasons(&["large", "state"], false), [dictionary; 2]);
    assert!(!new.exists(), "nothing to write");
    assert_eq!(reasons(&["large", "state"], true), [[(1, Reason::Empty)]; 2]);
    let (_dir, old, new) =
        folder(WriterProperties::builder().set_dictionary_enabled(false).build(), &[ROWS, 1, ROWS]);
    let edited = edit(&old, &new, &to_add(&["small", "state"], false)).unwrap();
    assert_eq!(edited.columns[0].left_out, [(1, Reason::OneValue)]);
    let few = [(0, Reason::FewValues), (1, Reason::OneValue), (2, Reason::FewValues)];
    assert_eq!(edited.columns[1].left_out, few);
    // In place, the other columns; existing filters stay.
    let edited = edit(&new, &new, &to_add(&["small", "large"], false)).unwrap();
    let present = [(0, Reason::Present), (1, Reason::OneValue), (2, Reason::Present)];
    assert_eq!(edited.columns[0].left_out, present);
    assert_eq!(edited.columns[1].filters.len(), 2);
    // Rebuilt in the same place.
    let before = fs::read(&new).unwrap();
    let again = Edit { remove: Removal::Of(vec!["large".into()]), ..to_add(&["large"], false) };
    assert_eq!(edit(&new, &new, &again).unwrap().unreachable, 0);
    assert!(fs::read(&new).unwrap() == before);
    // The filters of `large` follow the filters of `small`.
    let first = Edit { remove: Removal::Of(vec!["small".into()]), ..to_add(&[], false) };
    assert!(edit(&new, &new, &first).unwrap().unreachable > 0);
    assert_eq!(rows(&new), rows(&old));
}

#[test]
fn files_without_rows_or_row_groups() {
    for groups in [&[][..], &[0, 0]] {
        let (_dir, old, new) = folder(WriterProperties::builder().build(), groups);
        let edited = edit(&old, &new, &to_add(&COLUMNS, true)).unwrap();
        assert_eq!((edited.bytes_written, new.exists()), (0, false));
    }
}

#[test]
fn the_bytes_depend_on_neither_threads_nor_memory() {
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let (_dir, old, new) = folder(properties, &[ROWS, 5, 2 * ROWS, 1]);
    let mut first = None;
    for (memory, threads) in [(256 << 20, 1), (256 << 20, 3), (16 << 20, 1), (20 << 20, 8)] {
        let resources = resources(memory, threads);
        let plan = Plan::new(&old, &to_add(&COLUMNS, true), &resources).unwrap();
        plan.write_to(&new, Existing::Replace, &resources).unwrap();
        let bytes = fs::read(&new).unwrap();
        assert!(*first.get_or_insert(bytes.clone()) == bytes, "{memory} {threads}");
    }
}

#[test]
fn what_cannot_be_edited_is_refused_with_the_reason() {
    let (_dir, old, new) = folder(WriterProperties::builder().build(), &[ROWS]);
    for (columns, words) in [
        (["flag"], "BOOLEAN, a type without filters"),
        (["user"], "the columns in it: user.host"),
        (["lage"], "did you mean \"large\"?"),
    ] {
        let error = format!("{:#}", edit(&old, &new, &to_add(&columns, false)).unwrap_err());
        assert!(error.contains(words) && error.contains("old.parquet"), "{error}");
    }
    // A signature, or bytes that may be one, after the footer.
    let mut bytes = fs::read(&old).unwrap();
    let end = bytes.len() - 8;
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap());
    bytes.truncate(end);
    bytes.extend([7; 28]);
    bytes.extend((length + 28).to_le_bytes());
    bytes.extend(b"PAR1");
    fs::write(&old, &bytes).unwrap();
    let error = format!("{:#}", edit(&old, &new, &to_remove()).unwrap_err());
    assert!(error.contains("28 unknown bytes"), "{error}");
    // Truncated anywhere, the file is refused.
    for length in (0..bytes.len()).step_by(97) {
        fs::write(&old, &bytes[..length]).unwrap();
        assert!(edit(&old, &new, &to_add(&["large"], true)).is_err(), "{length} bytes");
    }
    assert!(!new.exists());
}

/// A changed byte is noticed, or the new file has the rows that the old one has, and their keys pass.
#[test]
fn damage_gives_an_error_and_no_broken_file() {
    let properties =
        WriterProperties::builder().set_dictionary_enabled(false).set_data_page_row_count_limit(20);
    let columns = ["large", "text", "user.host", "tags.list.element"];
    for compression in
        [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(Default::default())]
    {
        let (_dir, old, new) =
            folder(properties.clone().set_compression(compression).build(), &[60, 40]);
        let bytes = fs::read(&old).unwrap();
        let (mut refused, mut written) = (0, 0);
        for at in (4..bytes.len()).step_by(41) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&old, &changed).unwrap();
            let _ = fs::remove_file(&new);
            match edit(&old, &new, &to_add(&columns, true)) {
                Err(error) => {
                    refused += 1;
                    assert!(format!("{error:#}").contains("old.parquet"), "{error:#}");
                    assert!(!new.exists(), "byte {at}: {error:#}");
                }
                Ok(_) => {
                    written += 1;
                    let after = fs::read(&new).unwrap();
                    let same = after[..at.min(1000)] == changed[..at.min(1000)];
                    assert!(after.ends_with(b"PAR1") && same);
                    // Everything readable in the old file is readable in the new one.
                    if reader(&old).is_ok() {
                        let error = reader(&new).err();
                        assert!(error.is_none(), "byte {at}: {error:?}");
                    }
                }
            }
        }
        let some = refused > 10 && written > 10;
        assert!(some, "{compression:?}: {refused} refused, {written} written");
    }
}

/// Bytes of files that writers do not produce.
mod bytes {
    use crate::thrift::{self, fields, int, list, long, name, structure};

    /// A file of a column `x` with these pages, which both row groups have.
    pub(super) fn file(
        pages: &[u8],
        (physical, length, repetition): (i64, i64, i64),
        codec: i64,
        values: i64,
    ) -> Vec<u8> {
        let size = pages.len() as i64;
        let sizes = [long(5, values), long(6, size), long(7, size), long(9, 4)].concat();
        let meta = [int(1, physical), int(4, codec), sizes];
        let group = |values: i64| {
            let meta = if values > 0 { meta.concat() } else { long(5, 0) };
            let chunk = fields(&[long(2, 4), structure(3, &[meta])]);
            fields(&[list(1, 12, &[chunk]), long(3, values)])
        };
        let root = fields(&[name(4, "r"), int(5, 1)]);
        let element = fields(&[int(1, physical), int(2, length), int(3, repetition), name(4, "x")]);
        let groups = list(4, 12, &[group(values), group(0)]);
        thrift::file(pages, &[int(1, 1), list(2, 12, &[root, element]), long(3, values), groups])
    }

    /// A file of a column `x` without pages: each row group has a filter, if only a place where there is none.
    pub(super) fn with_filters(groups: usize) -> Vec<u8> {
        // As many bytes as a chunk has otherwise.
        let meta = structure(3, &[long(14, 8), name(16, &"y".repeat(100))]);
        let group = fields(&[list(1, 12, &[fields(&[meta])])]);
        let root = fields(&[name(4, "r"), int(5, 1)]);
        let element = fields(&[int(1, 1), name(4, "x")]);
        let groups = list(4, 12, &vec![group; groups]);
        thrift::file(&[7; 32], &[list(2, 12, &[root, element]), groups])
    }

    /// A page: its kind, a data page (0) or a dictionary (2); its values, and their encoding.
    pub(super) fn page(about: [i64; 3], body: &[u8], uncompressed: usize) -> Vec<u8> {
        page_with(about, body, uncompressed, &[])
    }

    pub(super) fn page_with(
        [kind, values, encoding]: [i64; 3],
        body: &[u8],
        uncompressed: usize,
        more: &[u8],
    ) -> Vec<u8> {
        let sizes = [int(1, kind), int(2, uncompressed as i64), int(3, body.len() as i64)].concat();
        let about = [int(1, values), int(2, encoding)].concat();
        let about = match kind as i32 {
            0 => structure(5, &[about, int(3, 3), int(4, 3)]),
            _ => structure(7, &[about]),
        };
        [&sizes[..], more, &about, &[0], body].concat()
    }
}

const INT32: (i64, i64, i64) = (1, 0, 0);
const BYTES: (i64, i64, i64) = (6, 0, 0);

/// Adds filters to a file; returns the one of the first row group, or the error.
fn added(file: &[u8]) -> Result<(tempfile::TempDir, Edited), String> {
    let (dir, old, new) = workplace();
    fs::write(&old, file).unwrap();
    match edit(&old, &new, &to_add(&["x"], true)) {
        Ok(edited) => Ok((dir, edited)),
        Err(error) => {
            assert!(!new.exists());
            Err(format!("{error:#}"))
        }
    }
}

/// Whether the filter of the first row group lets a key pass. The crate's reader wants more than these footers have.
fn has(file: &[u8], key: Key<'_>) -> bool {
    let (dir, edited) = added(file).unwrap();
    let new = fs::read(dir.path().join("new.parquet")).unwrap();
    let end = new.len() - 8;
    let length = u32::from_le_bytes(*new[end..].first_chunk().unwrap()) as usize;
    let footer = Footer::decode(&new[end - length..end]).unwrap();
    let start = footer.row_groups[0].chunks[0].filter_offset.unwrap() as usize;
    let bytes = edited.columns[0].filters[0].bytes as usize;
    Foreign::decode(Format::Parquet, &new[start..start + bytes]).unwrap().contains(key).unwrap()
}

#[track_caller]
fn is_refused(file: &[u8], words: &str) {
    let error = added(file).expect_err(words);
    assert!(error.contains(words) && error.contains("old.parquet"), "{error}");
    assert!(error.contains("copy") || error.contains("write the filters"), "{error}");
}

/// A filter without the values of a dictionary would say that the file lacks them.
#[test]
fn a_dictionary_is_read_or_refused() {
    let seven = bytes::page([0, 1, 0], &7i32.to_le_bytes(), 4);
    let with =
        |dictionary: Vec<u8>| bytes::file(&[dictionary, seven.clone()].concat(), INT32, 0, 1);
    let right = with(bytes::page([2, 1, 0], &42i32.to_le_bytes(), 4));
    assert!(has(&right, Key::I32(42)) && has(&right, Key::I32(7)) && !has(&right, Key::I32(41)));
    // A byte too many, too many values, and an unknown encoding.
    is_refused(&with(bytes::page([2, 1, 0], b"*\0\0\0\0", 5)), "do not have the size");
    is_refused(&with(bytes::page([2, 6_000_000, 0], b"*\0\0\0", 4)), "do not have the size");
    is_refused(&with(bytes::page([2, 1, 4], b"*\0\0\0", 4)), "encoding 4");
    // Values of a fixed length behind it, as older files of the crate `parquet` have them.
    let old = bytes::page([2, 1, 0], b"\x04\0\0\0abcd", 8);
    let file = bytes::file(&[old, bytes::page([0, 1, 0], b"wxyz", 4)].concat(), (7, 4, 0), 0, 1);
    assert!(has(&file, Key::Bytes(b"abcd")) && has(&file, Key::Bytes(b"wxyz")));
    // Where nulls hide the number of values: 4 values of 5 bytes, or 5 of 4.
    let values = b"\x01\0\0\0a\x01\0\0\0b\x01\0\0\0c\x01\0\0\0d";
    let body = [&[2, 0, 0, 0, 8, 1], &values[..]].concat();
    let file = bytes::file(&bytes::page([0, 20, 0], &body, body.len()), (7, 1, 1), 0, 20);
    assert!(has(&file, Key::Bytes(b"d")) && has(&file, Key::Bytes(b"\0")));
}

#[test]
fn pages_of_other_bytes_than_their_values_are_refused() {
    for (body, values) in [(&b"\x07\0\0\0\0"[..], 1), (b"\x07\0\0\0", 2), (b"", 1)] {
        let page = bytes::page([0, values, 0], body, body.len());
        is_refused(&bytes::file(&page, INT32, 0, values), "do not have the size");
    }
    for body in [&b"\x02\0\0\0a"[..], b"\x01\0\0\0ab", b"\x01\0\0\0a\0\0\0\0"] {
        let page = bytes::page([0, 1, 0], body, body.len());
        is_refused(&bytes::file(&page, BYTES, 0, 1), "do not have the size");
    }
}

/// Numbers that a page declares take neither memory nor time.
#[test]
fn declared_counts_are_not_believed() {
    for count in [2, 1 << 28, 1 << 44] {
        let body = [&[0x80, 1, 4][..], &thrift::varint(count), &[0]].concat();
        for encoding in [6, 7] {
            let page = bytes::page([0, 1, encoding], &body, body.len());
            is_refused(&bytes::file(&page, BYTES, 0, 1), "old.parquet: column x in row group 0");
        }
    }
    // Ten million nulls, in a run of levels.
    let levels = thrift::varint(10_000_000 << 1);
    let body = [&(levels.len() as u32 + 1).to_le_bytes()[..], &levels, &[0]].concat();
    for encoding in [0, 5] {
        let page = bytes::page([0, 10_000_000, encoding], &body, body.len());
        let (_dir, edited) = added(&bytes::file(&page, (1, 0, 1), 0, 10_000_000)).unwrap();
        assert_eq!(edited.columns[0].left_out, [(0, Reason::Empty), (1, Reason::Empty)]);
    }
}

/// Values that share their bytes with those before take as long as the bytes that the page has: here each is a byte
/// shorter than the last, 64,001 values of 4.3 GB in all.
#[test]
fn shared_bytes_are_hashed_once() {
    let numbers = |first: i64, second: i64, then: i64| {
        // Blocks of 8 values: in the first one, differences of 17 bits above the least.
        let least = (second - first).min(then);
        let zigzag = |number: i64| thrift::varint((number << 1 ^ number >> 63) as u64);
        let (one, others) = ((second - first - least) as u64, (then - least) as u64);
        let mut bits = vec![0u8; 17];
        for bit in 0..8 * 17 {
            let value = if bit < 17 { one } else { others };
            bits[bit / 8] |= ((value >> (bit % 17) & 1) as u8) << (bit % 8);
        }
        let head = [&[8, 1][..], &thrift::varint(8 * 8000 + 1), &zigzag(first)].concat();
        let block = [&zigzag(least)[..], &[17], &bits].concat();
        [head, block, [&zigzag(then)[..], &[0]].concat().repeat(7999)].concat()
    };
    let body = [numbers(0, 99_999, -1), numbers(100_000, 0, 0), vec![b'a'; 100_000]].concat();
    let page = bytes::page([0, 64_001, 7], &body, body.len());
    let file = bytes::file(&page, BYTES, 0, 64_001);
    for (length, there) in
        [(100_000, true), (70_001, true), (36_000, true), (35_999, false), (100_001, false)]
    {
        assert_eq!(has(&file, Key::Bytes(&vec![b'a'; length])), there, "{length}");
    }
}

/// DuckDB looks up the bits of a FLOAT or DOUBLE there, also with `--always`.
#[test]
fn columns_that_are_read_as_floats_get_no_filter() {
    let schema = "message m {
        required fixed_len_byte_array(2) half (FLOAT16);
        required fixed_len_byte_array(17) large (DECIMAL(39, 3));
        required binary long (DECIMAL(76, 2));
        required fixed_len_byte_array(16) narrow (DECIMAL(38, 3));
        required fixed_len_byte_array(2) bytes;
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let (_dir, old, new) = workplace();
    let file = File::create(&old).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut lengths = [2, 17, 32, 16, 2].into_iter();
    while let Some(mut column) = group.next_column().unwrap() {
        let value = ByteArray::from(vec![1; lengths.next().unwrap()]);
        match column.untyped() {
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                writer.write_batch(&[value], None, None).unwrap()
            }
            ColumnWriter::FixedLenByteArrayColumnWriter(writer) => {
                writer.write_batch(&[value.into()], None, None).unwrap()
            }
            _ => unreachable!("the schema has other columns"),
        };
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    let columns = ["half", "large", "long", "narrow", "bytes"];
    let edited = edit(&old, &new, &to_add(&columns, true)).unwrap();
    for (added, left_out) in edited.columns.iter().zip([true, true, true, false, false]) {
        let why: &[_] = if left_out { &[(0, Reason::ReadAsFloat)] } else { &[] };
        assert_eq!((&added.left_out[..], added.filters.is_empty()), (why, left_out));
    }
    assert_eq!(passes(&new, 0, 0, &[1u8, 1][..]), None);
    assert_eq!(passes(&new, 0, 3, &[1u8; 16][..]), Some(true));
}

/// A codec that umbel does not support: the message suggests a remedy.
#[test]
fn unknown_codecs_are_refused_with_a_remedy() {
    let page = bytes::page([0, 1, 0], &7i32.to_le_bytes(), 4);
    for (codec, words) in [(3, "compressed as LZO"), (9, "codec 9")] {
        let error = added(&bytes::file(&page, INT32, codec, 1)).expect_err(words);
        assert!(error.contains(words) && error.contains("old.parquet: column x"), "{error}");
        assert!(error.contains("write the file again with another codec, such as ZSTD"), "{error}");
    }
}

/// Pages that decompress to more than they declare are refused before that.
#[test]
fn bombs_are_refused() {
    use std::io::Write;
    let text = [&4u32.to_le_bytes()[..], b"abcd"].concat().repeat(100_000);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&text).unwrap();
    let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
    frame.write_all(&text).unwrap();
    // 16 MiB of the letter a in 14 bytes: one insertion of a literal whose code has no bits (RFC 7932, section 9).
    let brotli = b"\x9f\xff\xff\xff\0 \xc2\x02\xbf\0|O\xff\x01";
    let file = |declared: usize, text: &[u8]| {
        let values = (declared / 4) as i64;
        bytes::file(&bytes::page([0, values, 0], text, declared), INT32, 4, values)
    };
    assert!(has(&file(16 << 20, brotli), Key::I32(i32::from_le_bytes(*b"aaaa"))));
    for declared in [8, (16 << 20) - 4, (16 << 20) + 4] {
        is_refused(&file(declared, brotli), "cannot be decompressed");
    }
    is_refused(&file(16 << 20, &[&[0x11, 0x1e], &brotli[..]].concat()), "larger than 16 MiB");
    let all = [
        (1, snap::raw::Encoder::new().compress_vec(&text).unwrap()),
        (2, gzip.finish().unwrap()),
        (5, frame.finish().unwrap()),
        (6, zstd::bulk::compress(&text, 1).unwrap()),
        (7, lz4_flex::block::compress(&text)),
    ];
    for (codec, body) in all {
        let file = |declared, values| {
            bytes::file(&bytes::page([0, values, 0], &body, declared), BYTES, codec, values)
        };
        assert!(has(&file(text.len(), 100_000), Key::Bytes(b"abcd")), "codec {codec}");
        for declared in [0, 8, text.len() - 8, text.len() + 8] {
            let values = (declared / 8) as i64;
            if values > 0 {
                is_refused(&file(declared, values), "cannot be decompressed");
            }
        }
    }
}

/// Readers that check types and readers that do not would see different pages.
#[test]
fn headers_that_can_be_read_in_two_ways_are_refused() {
    let body = [&[4, 12][..], &7i32.to_le_bytes()].concat();
    let page = bytes::page_with([0, 1, 0], &body, 4, &thrift::long(2, 1 << 28));
    is_refused(&bytes::file(&page, INT32, 1, 1), "its header cannot be read");
    let good = bytes::page([0, 1, 0], &body, 4);
    assert!(has(&bytes::file(&good, INT32, 1, 1), Key::I32(7)));
    // A data page to readers that keep only 32 bits; skipped by others, so that the next one has the column's only value.
    let other = [&[4, 12][..], &8i32.to_le_bytes()].concat();
    let page = bytes::page([1 << 32, 1, 0], &other, 4);
    is_refused(&bytes::file(&[page, good].concat(), INT32, 1, 1), "its header cannot be read");
}

/// A value is never longer than its page, whatever the schema declares.
#[test]
fn the_length_of_a_type_takes_no_memory() {
    let nulls = [2, 0, 0, 0, 6, 0];
    for encoding in [0, 6, 7, 9] {
        let page = bytes::page([0, 3, encoding], &nulls, nulls.len());
        let file = |length| bytes::file(&page, (7, length, 1), 0, 3);
        let (_dir, edited) = added(&file(i32::MAX.into())).unwrap();
        assert_eq!(edited.columns[0].left_out[0], (0, Reason::Empty));
        let error = added(&file(1 << 50)).unwrap_err();
        assert!(error.contains("old.parquet: ") && error.contains("32 bits"), "{error}");
    }
}

/// Threads read values while the file is copied, and do not disturb that.
#[test]
fn the_copy_is_right_while_others_read() {
    let properties =
        WriterProperties::builder().set_dictionary_enabled(false).set_data_page_row_count_limit(50);
    let (_dir, old, new) = folder(properties.build(), &[5000; 6]);
    let resources = resources(256 << 20, 6);
    let plan = Plan::new(&old, &to_add(&COLUMNS, true), &resources).unwrap();
    plan.write_to(&new, Existing::Replace, &resources).unwrap();
    let (before, after) = (fs::read(&old).unwrap(), fs::read(&new).unwrap());
    let body = plan.body as usize;
    assert!(body > 1 << 20 && before[..body] == after[..body]);
}

/// As long per filter where there are many: for 48 times as many, 48 times, not 2,304. Of three times each, the shortest
/// counts, and the bound is far from both, since other programs run too.
#[test]
fn filters_are_removed_in_linear_time() {
    let time = |count: usize| {
        let (_dir, old, new) = workplace();
        fs::write(&old, bytes::with_filters(count)).unwrap();
        let start = std::time::Instant::now();
        assert_eq!(edit(&old, &new, &to_remove()).unwrap().removed, [("x".to_owned(), count)]);
        start.elapsed()
    };
    let shortest = |count| (0..3).map(|_| time(count)).min().unwrap();
    let (few, many) = (shortest(2000), shortest(96_000));
    assert!(many < 300 * few, "{few:?} and {many:?}");
}
