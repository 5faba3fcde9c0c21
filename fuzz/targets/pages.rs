//! A column of a Parquet file, built from choices: nesting, levels, encodings, versions of pages, codecs. umbel adds a filter,
//! which must equal, bit by bit, the filter of the values that went in; the reader of the crate `parquet`, the model, must
//! find these values before and after. Then some bytes are changed: the file is refused, or gets a filter.

#![no_main]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::{FileReader, SerializedFileReader};
use umbel_foreign::parquet::Parquet;
use umbel_foreign::{ForeignInsert, Format, Key, Parameters};
use umbel_fuzz::memory;
use umbel_parquet::{Edit, Edited, Plan, Reason, Removal};
use umbel_sets::Resources;

#[path = "../../crates/umbel-parquet/tests/util/thrift.rs"]
mod thrift;

use thrift::{field, fields, int, list, long, name, structure, text, varint, zigzag};

/// umbel's memory cap: its buffers may use that much, zeroed.
const CAP: usize = 64 << 20;

#[global_allocator]
static MEMORY: memory::Counted<CAP, CAP> = memory::Counted;

#[derive(Arbitrary, Debug)]
struct Input {
    physical: Physical,
    /// Bytes of a value of fixed length, less 1.
    length: u8,
    /// The repetition of the structures around the column, and its own.
    first: Repetition,
    others: Vec<Repetition>,
    codec: Codec,
    dictionary: Option<Vec<u8>>,
    /// Whether the footer gives the place of the dictionary.
    is_told: bool,
    pool: Vec<Vec<u8>>,
    pages: Vec<Page>,
    /// Bytes to change, and their new values.
    changes: Vec<(u16, u8)>,
}

/// The physical types, in the order of their numbers in the format, from 1 on.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
enum Physical {
    Int32,
    Int64,
    Int96,
    Float,
    Double,
    Bytes,
    Fixed,
}

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
enum Repetition {
    Required,
    Optional,
    Repeated,
}

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
enum Codec {
    None,
    Snappy,
    Gzip,
    /// Two gzip members.
    Members,
    /// Stored, in Brotli's frame.
    Brotli,
    Hadoop,
    Frame,
    Zstd,
    Lz4Raw,
}

#[derive(Arbitrary, Debug)]
struct Page {
    second: bool,
    encoding: u8,
    slots: Vec<Slot>,
    is_compressed: bool,
    has_crc: bool,
    has_packed_levels: bool,
    deltas: Deltas,
}

/// A level of each kind, and a value from the pool.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Slot {
    repetition: u8,
    definition: u8,
    value: u8,
}

/// The choices of writers of `DELTA_BINARY_PACKED`.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Deltas {
    block: u8,
    minis: u8,
    /// Bits per difference beyond those needed.
    more: u8,
    /// The padding.
    junk: u8,
    /// Whether values share prefixes.
    share: bool,
}

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(folder).expect("a folder for two files")
});

fuzz_target!(|input: Input| {
    let column = Column::of(&input);
    let (file, values) = column.file(&input);
    let [old, new] = ["old", "new"].map(|name| FOLDER.path().join(name));
    fs::write(&old, &file).unwrap();
    let found = model(&old);
    // The model ends at a page without levels.
    let has_empty = input.pages.iter().any(|page| page.slots.is_empty());
    if let (Ok(found), false) = (&found, has_empty) {
        assert_eq!(found, &values.read, "the model reads what went in");
    }
    let edited = || edited(&old, &new, column.nesting.len());
    let (done, body) = memory::within(CAP + (32 << 20), edited)
        .unwrap_or_else(|error| panic!("{error:#}, and the model has {found:?}"));
    let expected = values.hashed(input.physical);
    match &done.columns[0].filters[..] {
        [] => {
            assert!(expected.is_empty() || values.rows == 0, "{done:?}");
            assert_eq!(done.columns[0].left_out, [(0, Reason::Empty)]);
        }
        [filter] => {
            let written = fs::read(&new).unwrap();
            assert!(written[..body] == file[..body]);
            let content = &written[body..][..filter.bytes as usize];
            // The header has less than a block.
            let bits = 8 * (content.len() / 32 * 32) as u64;
            let given = Parameters { bits: Some(bits), ..Parameters::default() };
            let mut right = Parquet::new(Format::Parquet, &given).unwrap();
            for value in &expected {
                right.insert(Key::Bytes(value)).unwrap();
            }
            let right = right.content();
            let missing = right.iter().zip(content).any(|(right, found)| right & !found != 0);
            assert!(right.len() == content.len() && !missing, "a value is missing");
            // Bytes that look like lengths in front of values of a fixed length are read in both ways.
            assert!(right == content || input.physical == Physical::Fixed, "too many values");
            if found.is_ok() && !has_empty {
                assert_eq!(model(&new).unwrap(), values.read, "the new file");
            }
        }
        more => panic!("{more:?}"),
    }
    if input.changes.is_empty() {
        return;
    }
    let mut changed = file;
    for (at, to) in &input.changes {
        let at = usize::from(*at) % changed.len();
        changed[at] = *to;
    }
    fs::write(&old, &changed).unwrap();
    let _ = memory::within(CAP + (32 << 20), edited);
});

/// Adds a filter to the column at this depth; returns a summary, and how many bytes of the old file are in the new one.
fn edited(old: &Path, new: &Path, depth: usize) -> anyhow::Result<(Edited, usize)> {
    let resources =
        Resources { memory: CAP as u64, ..umbel_fuzz::options(FOLDER.path()).resources };
    let edit = Edit {
        add: vec![vec!["x"; depth].join(".")],
        remove: Removal::Of(Vec::new()),
        fpp: 0.01,
        always: true,
    };
    let plan = Plan::new(old, &edit, &resources)?;
    let edited = plan.write(&File::create(new)?, &resources)?;
    Ok((edited, plan.body as usize))
}

/// The values that the crate `parquet` reads, in `PLAIN`.
fn model(path: &Path) -> parquet::errors::Result<Vec<Vec<u8>>> {
    fn all<T: DataType>(
        mut reader: ColumnReaderImpl<T>,
        plain: impl Fn(&T::T) -> Vec<u8>,
    ) -> parquet::errors::Result<Vec<Vec<u8>>> {
        let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let (of, in_rows) = (Some(&mut definitions), Some(&mut repetitions));
            let (_, _, levels) = reader.read_records(1 << 16, of, in_rows, &mut values)?;
            if levels == 0 {
                return Ok(values.iter().map(plain).collect());
            }
        }
    }
    let reader = SerializedFileReader::new(File::open(path)?)?;
    match reader.get_row_group(0)?.get_column_reader(0)? {
        ColumnReader::BoolColumnReader(_) => unreachable!("has no filters"),
        ColumnReader::Int32ColumnReader(reader) => all(reader, |value| value.to_le_bytes().into()),
        ColumnReader::Int64ColumnReader(reader) => all(reader, |value| value.to_le_bytes().into()),
        ColumnReader::Int96ColumnReader(reader) => {
            all(reader, |value| value.data().iter().flat_map(|word| word.to_le_bytes()).collect())
        }
        ColumnReader::FloatColumnReader(reader) => all(reader, |value| value.to_le_bytes().into()),
        ColumnReader::DoubleColumnReader(reader) => all(reader, |value| value.to_le_bytes().into()),
        ColumnReader::ByteArrayColumnReader(reader) => all(reader, |value| value.data().into()),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            all(reader, |value| value.data().into())
        }
    }
}

/// Values that went in, in `PLAIN`.
struct Values {
    rows: usize,
    /// In the order of the pages.
    read: Vec<Vec<u8>>,
    dictionary: Vec<Vec<u8>>,
}

impl Values {
    /// The content of the filter: also the whole dictionary, and each form of numbers that are equal but differ in their bits.
    fn hashed(&self, physical: Physical) -> BTreeSet<Vec<u8>> {
        let mut all = BTreeSet::new();
        for value in self.read.iter().chain(&self.dictionary) {
            let number = match physical {
                Physical::Float => f32::from_le_bytes(value[..].try_into().unwrap()).into(),
                Physical::Double => f64::from_le_bytes(value[..].try_into().unwrap()),
                _ => 1.0,
            };
            let of = |number: f64| match physical {
                Physical::Float => (number as f32).to_le_bytes().to_vec(),
                _ => number.to_le_bytes().to_vec(),
            };
            if number == 0.0 {
                all.extend([of(0.0), of(-0.0)]);
            } else if number.is_nan() {
                all.insert(match physical {
                    Physical::Float => f32::NAN.to_le_bytes().to_vec(),
                    _ => f64::NAN.to_le_bytes().to_vec(),
                });
            }
            all.insert(value.clone());
        }
        all
    }
}

struct Column {
    physical: Physical,
    /// Bytes of a value, where all have as many.
    width: usize,
    nesting: Vec<Repetition>,
    definition: u8,
    repetition: u8,
}

impl Column {
    fn of(input: &Input) -> Self {
        let nesting: Vec<_> =
            [input.first].into_iter().chain(input.others.iter().copied().take(2)).collect();
        let count = |which: fn(&Repetition) -> bool| {
            nesting.iter().filter(|repetition| which(repetition)).count() as u8
        };
        Self {
            physical: input.physical,
            width: match input.physical {
                Physical::Int32 | Physical::Float => 4,
                Physical::Int64 | Physical::Double => 8,
                Physical::Int96 => 12,
                Physical::Bytes => 0,
                Physical::Fixed => usize::from(input.length % 20) + 1,
            },
            definition: count(|repetition| *repetition != Repetition::Required),
            repetition: count(|repetition| *repetition == Repetition::Repeated),
            nesting,
        }
    }

    /// A value of the pool.
    fn value(&self, pool: &[Vec<u8>], number: u8) -> Vec<u8> {
        let mut value = match pool.len() {
            0 => vec![number],
            some => pool[usize::from(number) % some].clone(),
        };
        if self.physical != Physical::Bytes {
            value.resize(self.width, number);
        }
        value
    }

    fn plain(&self, values: &[Vec<u8>]) -> Vec<u8> {
        let length = |value: &Vec<u8>| match self.physical {
            Physical::Bytes => (value.len() as u32).to_le_bytes().to_vec(),
            _ => Vec::new(),
        };
        values.iter().flat_map(|value| [length(value), value.clone()].concat()).collect()
    }

    /// A file, and the values in it.
    fn file(&self, input: &Input) -> (Vec<u8>, Values) {
        let mut dictionary: Vec<Vec<u8>> = Vec::new();
        let mut pages = Vec::new();
        if let Some(chosen) = input.dictionary.as_ref().filter(|chosen| !chosen.is_empty()) {
            dictionary = chosen.iter().map(|number| self.value(&input.pool, *number)).collect();
            let text = self.plain(&dictionary);
            let body = compressed(input.codec, &text);
            let about = [int(1, dictionary.len() as i64), int(2, [0, 2][chosen.len() % 2])];
            let header = [int(1, 2), int(2, text.len() as i64), int(3, body.len() as i64)];
            pages = [header.concat(), structure(7, &about), vec![0], body].concat();
        }
        let first = pages.len();
        let (mut read, mut slots, mut rows) = (Vec::new(), 0, 0);
        for page in &input.pages {
            let mut levels = page.slots.clone();
            for (i, slot) in levels.iter_mut().enumerate() {
                // A page begins with a row.
                slot.repetition = if i == 0 { 0 } else { slot.repetition % (self.repetition + 1) };
                slot.definition %= self.definition + 1;
            }
            slots += levels.len();
            let began = levels.iter().filter(|slot| slot.repetition == 0).count();
            rows += began;
            let there = levels.iter().filter(|slot| slot.definition == self.definition);
            let there: Vec<u8> = there.map(|slot| slot.value).collect();
            let (encoding, values, bytes) = self.encoded(input, page, &dictionary, &there);
            let nulls = levels.len() - values.len();
            read.extend(values);
            let levels_of = |most: u8, which: fn(&Slot) -> u8| match most {
                0 => Vec::new(),
                _ => {
                    let levels: Vec<_> = levels.iter().map(|slot| u64::from(which(slot))).collect();
                    hybrid(&levels, 8 - most.leading_zeros(), page.has_packed_levels)
                }
            };
            let repetitions = levels_of(self.repetition, |slot| slot.repetition);
            let definitions = levels_of(self.definition, |slot| slot.definition);
            let number = |bytes: &[u8]| bytes.len() as i64;
            let (kind, about, size, body) = if page.second {
                let codec = if page.is_compressed { input.codec } else { Codec::None };
                let values = compressed(codec, &bytes);
                let about = [
                    int(1, levels.len() as i64),
                    int(2, nulls as i64),
                    int(3, began as i64),
                    int(4, encoding),
                    int(5, number(&definitions)),
                    int(6, number(&repetitions)),
                    // True or false.
                    field(7, if page.is_compressed { 1 } else { 2 }, &[]),
                ];
                let size = repetitions.len() + definitions.len() + bytes.len();
                (3, structure(8, &about), size, [repetitions, definitions, values].concat())
            } else {
                let prefixed = |most: u8, levels: Vec<u8>| match most {
                    0 => Vec::new(),
                    _ => [&(levels.len() as u32).to_le_bytes()[..], &levels].concat(),
                };
                let repetitions = prefixed(self.repetition, repetitions);
                let text = [repetitions, prefixed(self.definition, definitions), bytes].concat();
                let about = [int(1, levels.len() as i64), int(2, encoding), int(3, 3), int(4, 3)];
                (0, structure(5, &about), text.len(), compressed(input.codec, &text))
            };
            let mut header = [int(1, kind), int(2, size as i64), int(3, number(&body))].concat();
            if page.has_crc {
                header.extend(int(4, crc32fast::hash(&body) as i32 as i64));
            }
            pages.extend([header, about, vec![0], body].concat());
        }
        let start = 4 + first as i64;
        let size = pages.len() as i64;
        let path: Vec<_> = self.nesting.iter().map(|_| text("x")).collect();
        let codec = [0, 1, 2, 2, 4, 5, 5, 6, 7][input.codec as usize];
        let mut meta = vec![
            int(1, self.physical as i64 + 1),
            list(2, 5, &[zigzag(0)]),
            list(3, 8, &path),
            int(4, codec),
            long(5, slots as i64),
            long(6, size),
            long(7, size),
            long(9, if input.is_told { start } else { 4 }),
        ];
        if input.is_told && first > 0 {
            meta.push(long(11, 4));
        }
        let chunk = fields(&[long(2, 4), structure(3, &meta)]);
        let group = fields(&[list(1, 12, &[chunk]), long(2, size), long(3, rows as i64)]);
        let mut elements = vec![fields(&[name(4, "r"), int(5, 1)])];
        for (i, repetition) in self.nesting.iter().enumerate() {
            let (repetition, name) = (int(3, *repetition as i64), name(4, "x"));
            elements.push(if i + 1 < self.nesting.len() {
                fields(&[repetition, name, int(5, 1)])
            } else {
                let own = [int(1, self.physical as i64 + 1), int(2, self.width as i64)].concat();
                fields(&[own, repetition, name])
            });
        }
        let (schema, groups) = (list(2, 12, &elements), list(4, 12, &[group]));
        let file = thrift::file(&pages, &[int(1, 2), schema, long(3, rows as i64), groups]);
        (file, Values { rows, read, dictionary })
    }

    /// The number of an encoding that the type has, the values, and their bytes.
    fn encoded(
        &self,
        input: &Input,
        page: &Page,
        dictionary: &[Vec<u8>],
        there: &[u8],
    ) -> (i64, Vec<Vec<u8>>, Vec<u8>) {
        let known: &[i64] = match self.physical {
            Physical::Int32 | Physical::Int64 => &[0, 5, 9, 8],
            Physical::Float | Physical::Double => &[0, 9, 8],
            Physical::Int96 => &[0, 8],
            Physical::Bytes => &[0, 6, 7, 8],
            Physical::Fixed => &[0, 7, 9, 8],
        };
        let mut encoding = known[usize::from(page.encoding) % known.len()];
        if encoding == 8 && !dictionary.is_empty() {
            let of = |number: &u8| usize::from(*number) % dictionary.len();
            let numbers: Vec<u64> = there.iter().map(|number| of(number) as u64).collect();
            let values = there.iter().map(|number| dictionary[of(number)].clone()).collect();
            let bytes = [vec![9], hybrid(&numbers, 9, page.has_packed_levels)].concat();
            return (if page.second { 8 } else { 2 }, values, bytes);
        }
        if encoding == 8 {
            encoding = 0;
        }
        let values: Vec<_> = there.iter().map(|number| self.value(&input.pool, *number)).collect();
        let lengths = |values: &[Vec<u8>]| {
            let lengths: Vec<_> = values.iter().map(|value| value.len() as i64).collect();
            deltas(&lengths, 32, page.deltas)
        };
        let bytes = match encoding {
            5 => {
                let number = |value: &Vec<u8>| match self.physical {
                    Physical::Int32 => i32::from_le_bytes(value[..].try_into().unwrap()).into(),
                    _ => i64::from_le_bytes(value[..].try_into().unwrap()),
                };
                let numbers: Vec<_> = values.iter().map(number).collect();
                deltas(&numbers, 8 * self.width as u32, page.deltas)
            }
            6 => [lengths(&values), values.concat()].concat(),
            7 => {
                let (mut prefixes, mut rests) = (Vec::new(), Vec::new());
                let mut before: &[u8] = &[];
                for value in &values {
                    let shared = before.iter().zip(value).take_while(|(a, b)| a == b).count();
                    let shared = if page.deltas.share { shared } else { 0 };
                    prefixes.push(shared as i64);
                    rests.push(value[shared..].to_vec());
                    before = value;
                }
                [deltas(&prefixes, 32, page.deltas), lengths(&rests), rests.concat()].concat()
            }
            9 => (0..self.width).flat_map(|i| values.iter().map(move |value| value[i])).collect(),
            _ => self.plain(&values),
        };
        (encoding, values, bytes)
    }
}

/// `DELTA_BINARY_PACKED` of numbers of this many bits.
fn deltas(numbers: &[i64], bits: u32, choices: Deltas) -> Vec<u8> {
    let block = 128 * (usize::from(choices.block % 3) + 1);
    let minis = [1, 2, 4][usize::from(choices.minis % 3)];
    let mini = block / minis;
    let signed = |number: i64| if bits == 32 { number as i32 as i64 } else { number };
    let unsigned = |number: i64| if bits == 32 { number as u32 as u64 } else { number as u64 };
    let mut bytes = [block, minis, numbers.len()].map(|number| varint(number as u64)).concat();
    bytes.extend(zigzag(*numbers.first().unwrap_or(&0)));
    let between = numbers.windows(2).map(|two| signed(two[1].wrapping_sub(two[0])));
    for deltas in between.collect::<Vec<_>>().chunks(block) {
        let least = *deltas.iter().min().expect("chunks have some");
        bytes.extend(zigzag(least));
        let (mut widths, mut packed) = (Vec::new(), Vec::new());
        for deltas in deltas.chunks(mini) {
            let over: Vec<_> =
                deltas.iter().map(|delta| unsigned(delta.wrapping_sub(least))).collect();
            let needed = over.iter().map(|over| 64 - over.leading_zeros()).max().unwrap_or(0);
            let width = (needed + u32::from(choices.more % 8)).min(bits);
            widths.push(width as u8);
            let filled = over.into_iter().chain(std::iter::repeat(choices.junk.into()));
            packed.extend(packed_by(width, filled.take(mini)));
        }
        widths.resize(minis, choices.junk);
        bytes.extend([widths, packed].concat());
    }
    bytes
}

/// The lowest bits of numbers, from the lowest of the first one on.
fn packed_by(width: u32, numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut bits = numbers.flat_map(|number| (0..width).map(move |bit| number >> bit & 1));
    let mut bytes = Vec::new();
    while let Some(first) = bits.next() {
        let others = bits.by_ref().take(7).enumerate();
        bytes.push(others.fold(first, |byte, (i, bit)| byte | bit << (i + 1)) as u8);
    }
    bytes
}

/// Runs of equal numbers; or eights of any, but for the last ones.
fn hybrid(numbers: &[u64], width: u32, packed: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (eights, rest) = numbers.split_at(if packed { numbers.len() / 8 * 8 } else { 0 });
    if !eights.is_empty() {
        bytes.extend(varint((eights.len() / 8) as u64 * 2 + 1));
        bytes.extend(packed_by(width, eights.iter().copied()));
    }
    for run in rest.chunk_by(|a, b| a == b) {
        bytes.extend(varint(run.len() as u64 * 2));
        bytes.extend(&run[0].to_le_bytes()[..width.div_ceil(8) as usize]);
    }
    bytes
}

fn compressed(codec: Codec, text: &[u8]) -> Vec<u8> {
    let gzip = |text: &[u8]| {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        to.write_all(text).unwrap();
        to.finish().unwrap()
    };
    let (front, back) = text.split_at(text.len() / 2);
    match codec {
        Codec::None => text.to_vec(),
        Codec::Snappy => snap::raw::Encoder::new().compress_vec(text).unwrap(),
        Codec::Gzip => gzip(text),
        Codec::Members => [gzip(front), gzip(back)].concat(),
        Codec::Brotli => {
            // A window of 16 bits; pieces of up to 64 KiB with the number of bytes less 1; the end. RFC 7932, section 9.
            let mut bytes = Vec::new();
            for (i, piece) in text.chunks(1 << 16).enumerate() {
                let head = (piece.len() as u32 - 1) << 3 | 1 << 19;
                let head = if i == 0 { head << 1 } else { head };
                bytes.extend(&head.to_le_bytes()[..3]);
                bytes.extend(piece);
            }
            bytes.push(if text.is_empty() { 6 } else { 3 });
            bytes
        }
        Codec::Hadoop => {
            let one = |text: &[u8]| {
                let block = lz4_flex::block::compress(text);
                let head = [text.len(), block.len()].map(|length| (length as u32).to_be_bytes());
                [&head.concat()[..], &block].concat()
            };
            [one(front), one(back)].concat()
        }
        Codec::Frame => {
            let mut to = lz4_flex::frame::FrameEncoder::new(Vec::new());
            to.write_all(text).unwrap();
            to.finish().unwrap()
        }
        Codec::Zstd => zstd::bulk::compress(text, 1).unwrap(),
        Codec::Lz4Raw => lz4_flex::block::compress(text),
    }
}
