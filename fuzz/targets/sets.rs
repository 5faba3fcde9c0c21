//! Set operations on small files of records. An input chooses values, how they are written and the operation; the answer must equal
//! the answer of a model in memory, which never reads the files. The files with bytes changed must have the keys that the crates
//! `csv` and `serde_json` read, or be refused; however they are read, and by however many threads, the outcome is the same.

#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Cursor, Read, Seek, Write};
use std::sync::LazyLock;

use anyhow::anyhow;
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use umbel_sets::sources::{self, NamedInput, Source};
use umbel_sets::{
    Distinct, Empty, Input, Keep, Options, Ragged, Records, RowsOf, SetOperation, Top, keys,
};

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

/// Columns of a row, and their names.
const COLUMNS: [&str; 3] = ["id", "a b", "x"];
/// Values that every form can write, and values that are special in some.
const PLAIN: [&str; 8] = ["a", "b", "ab", "é", "1", "01", "\\", "'"];
const SPECIAL: [&str; 8] = ["", " ", "\"", ",", "x\ny", "a\"\"b", "\t", "\u{1f600}"];
/// The most files, and rows per file: more would only be slower.
const MOST_FILES: usize = 3;
const MOST_ROWS: usize = 60;

#[derive(Arbitrary, Debug)]
struct Job {
    form: Form,
    files: Vec<Vec<Row>>,
    ask: Ask,
    sorted: bool,
    threads: bool,
    drip: u8,
    /// Whether the last line of a file has an end.
    ended: bool,
    unusual: Unusual,
    changes: Vec<(u16, u8)>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Form {
    Lines,
    Fields { key: Columns },
    Tsv { header: bool, key: Columns, carriage: bool },
    Csv { header: bool, key: Columns, carriage: bool, delimiter: Delimiter },
    Json { key: Columns },
}

/// What files have besides rows of as many values as there are columns, none empty.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Unusual {
    /// A line in front, which is skipped.
    title: bool,
    /// Comments between rows.
    comments: bool,
    /// Rows that lack empty values at their end, or have more of them.
    ragged: bool,
    /// How empty values in keys are handled.
    empty: u8,
}

impl Unusual {
    fn empty(self) -> Empty {
        [Empty::Value, Empty::Skip, Empty::Keep][usize::from(self.empty) % 3]
    }
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Delimiter {
    Comma,
    Semicolon,
    Tab,
    Bar,
}

impl Delimiter {
    fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
            Self::Bar => b'|',
        }
    }
}

/// The columns of a key.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Columns {
    One(bool),
    Two,
    All,
}

impl Columns {
    fn numbers(self) -> &'static [usize] {
        match self {
            Self::One(false) => &[0],
            Self::One(true) => &[2],
            Self::Two => &[1, 0],
            Self::All => &[0, 1, 2],
        }
    }
}

/// Values by their numbers. The first three bits of `longer` say which are written in a longer form than they need, the fourth
/// that a comment is in front, the next two that an empty value at the end is missing or that there is one more.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Row {
    values: [u8; 3],
    longer: u8,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Ask {
    Distinct { at_least: u8, last: bool, counted: bool, top: Option<u8> },
    Common { at_least: u8, every: bool },
    Except { every: bool },
}

fuzz_target!(|job: Job| {
    let rows = |rows: &Vec<Row>| rows.iter().take(MOST_ROWS).copied().collect();
    let mut files: Vec<Vec<Row>> = job.files.iter().take(MOST_FILES).map(rows).collect();
    files.resize(files.len().max(2), Vec::new());
    let mut contents: Vec<_> = files.iter().map(|rows| job.written(rows)).collect();
    let answer = job.answer(&contents, 1 + usize::from(job.threads)).expect("records");
    assert_eq!(answer, job.model(&files));
    for (number, rows) in files.iter().enumerate() {
        let read = job.keys(&contents[number], None).expect("records");
        let expected = rows.iter().map(|row| job.key(row)).filter(|key| !job.leaves_out(key));
        let expected: Vec<_> = expected.map(|key| joined(&key)).collect();
        assert!(job.same(&read, &expected), "{read:?}, not {expected:?}");
    }
    if job.changes.is_empty() {
        return;
    }
    for (place, value) in &job.changes {
        let content = &mut contents[usize::from(*place) % files.len()];
        let length = content.len();
        match usize::from(*place) / files.len() {
            at if at < length => content[at] ^= value,
            _ => content.push(*value),
        }
    }
    for content in &contents {
        let whole = job.keys(content, None);
        let stream = job.keys(content, Some(1 + usize::from(job.drip)));
        match (&whole, &stream) {
            (Ok(whole), Ok(stream)) if job.same(whole, stream) => {}
            (Err(_), Err(_)) => {}
            _ => panic!("{whole:?} in a file, {stream:?} in a stream"),
        }
        if let (Ok(found), Some(expected)) = (&whole, job.read_by_others(content)) {
            assert_eq!(*found, expected, "{}", content.escape_ascii());
        }
    }
    match (job.answer(&contents, 1), job.answer(&contents, 3)) {
        (Ok(one), Ok(three)) => assert_eq!(one, three),
        (Err(_), Err(_)) => {}
        (one, three) => panic!("{one:?} by one thread, {three:?} by three"),
    }
});

/// A key as it is compared: of several values, each with its length before it.
fn joined(values: &[Vec<u8>]) -> Vec<u8> {
    match values {
        [value] => value.clone(),
        _ => {
            values.iter().flat_map(|v| [&(v.len() as u32).to_le_bytes(), &v[..]].concat()).collect()
        }
    }
}

impl Job {
    fn value(&self, number: u8) -> &'static str {
        let number = usize::from(number);
        match self.form {
            Form::Lines | Form::Fields { .. } => PLAIN[number % 8],
            // Without quotes, a tab or a line feed cannot be written.
            Form::Tsv { .. } => [&PLAIN[..], &SPECIAL[..4]].concat()[number % 12],
            _ => [PLAIN, SPECIAL].concat()[number % 16],
        }
    }

    fn columns(&self) -> &'static [usize] {
        match self.form {
            Form::Lines => &[],
            Form::Fields { key }
            | Form::Tsv { key, .. }
            | Form::Csv { key, .. }
            | Form::Json { key } => key.numbers(),
        }
    }

    /// The values of a row's key.
    fn key(&self, row: &Row) -> Vec<Vec<u8>> {
        let value = |column: &usize| self.value(row.values[*column]).as_bytes().to_vec();
        match self.form {
            Form::Lines => vec![self.line(row)],
            _ => self.columns().iter().map(value).collect(),
        }
    }

    fn leaves_out(&self, key: &[Vec<u8>]) -> bool {
        self.unusual.empty() == Empty::Skip && key.iter().any(Vec::is_empty)
    }

    /// Whether keys that were read are these. Those that equal no other have bytes of their own.
    fn same(&self, read: &[Vec<u8>], keys: &[Vec<u8>]) -> bool {
        if self.unusual.empty() == Empty::Keep { read.len() == keys.len() } else { read == keys }
    }

    /// Rows with fewer or more values have a header that says how many columns there are.
    fn ragged(&self) -> bool {
        self.unusual.ragged && self.header().is_some()
    }

    /// A row as it is in a file, with a comment in front, without its end.
    fn line_of_file(&self, row: &Row) -> Vec<u8> {
        let mut line = self.line(row);
        let carriage = line.ends_with(b"\r");
        if let Form::Tsv { .. } | Form::Csv { .. } = self.form
            && self.ragged()
        {
            line.truncate(line.len() - usize::from(carriage));
            let delimiter = self.column();
            if row.longer >> 5 & 1 == 1 {
                line.push(delimiter);
            } else if row.longer >> 4 & 1 == 1 && line.ends_with(&[delimiter]) {
                line.pop();
            }
            line.extend(carriage.then_some(b'\r'));
        }
        if self.unusual.comments && row.longer >> 3 & 1 == 1 {
            line.splice(0..0, *b"# no \"row\n");
        }
        line
    }

    fn column(&self) -> u8 {
        match self.form {
            Form::Csv { delimiter, .. } => delimiter.byte(),
            _ => b'\t',
        }
    }

    /// A row as it is written in results, without its end.
    fn line(&self, row: &Row) -> Vec<u8> {
        let values = row.values.map(|number| self.value(number));
        let longer = |column: usize| row.longer >> column & 1 == 1;
        let mut line = match self.form {
            Form::Lines => values.concat().into_bytes(),
            Form::Fields { .. } => {
                let before = if longer(0) { " \t" } else { "" };
                let between = if longer(1) { "\t  " } else { " " };
                [before, values[0], between, values[1], " ", values[2]].concat().into_bytes()
            }
            Form::Tsv { .. } => values.join("\t").into_bytes(),
            Form::Csv { delimiter, .. } => {
                let special = |byte: u8| [delimiter.byte(), b'"', b'\n'].contains(&byte);
                let written = |(column, value): (usize, &str)| {
                    let is_quoted = longer(column) || value.bytes().any(special);
                    let quoted = || format!("\"{}\"", value.replace('"', "\"\"")).into_bytes();
                    if is_quoted { quoted() } else { value.as_bytes().to_vec() }
                };
                let written: Vec<_> = values.into_iter().enumerate().map(written).collect();
                written.join(&delimiter.byte())
            }
            Form::Json { .. } => {
                let escaped = |value: &str| -> String {
                    value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
                };
                let member = |(column, value): (usize, &str)| match longer(column) {
                    true => format!("\"{}\" : \"{}\"", COLUMNS[column], escaped(value)),
                    false => format!("\"{}\":{}", COLUMNS[column], serde_json::Value::from(value)),
                };
                let members: Vec<_> = values.into_iter().enumerate().map(member).collect();
                format!("{{{}}}", members.join(",")).into_bytes()
            }
        };
        if let Form::Tsv { carriage: true, .. } | Form::Csv { carriage: true, .. } = self.form {
            line.push(b'\r');
        }
        line
    }

    fn header(&self) -> Option<Vec<u8>> {
        let (delimiter, carriage) = match self.form {
            Form::Tsv { header: true, carriage, .. } => (b'\t', carriage),
            Form::Csv { header: true, carriage, delimiter, .. } => (delimiter.byte(), carriage),
            _ => return None,
        };
        let mut line = COLUMNS.map(str::as_bytes).join(&delimiter);
        line.extend(carriage.then_some(b'\r'));
        Some(line)
    }

    fn written(&self, rows: &[Row]) -> Vec<u8> {
        let title = self.unusual.title.then(|| b"no \"title".to_vec());
        let front: Vec<_> = title.into_iter().chain(self.header()).collect();
        let (front, lines) = (front.into_iter(), rows.iter().map(|row| self.line_of_file(row)));
        let mut all =
            front.chain(lines).flat_map(|line| [&line[..], b"\n"].concat()).collect::<Vec<_>>();
        if !self.ended && !rows.is_empty() {
            all.pop();
        }
        all
    }

    fn options(&self, threads: usize) -> Options {
        let named = self.header().is_some() || matches!(self.form, Form::Json { .. });
        let name = |column: &usize| match named {
            true => COLUMNS[*column].to_owned(),
            false => (column + 1).to_string(),
        };
        let key = self.columns().iter().map(name).collect();
        let header = self.header().is_some();
        let records = match self.form {
            Form::Lines => Records::default(),
            Form::Fields { .. } => Records::Fields { end: b'\n', key },
            Form::Tsv { .. } => Records::Tsv { delimiter: b'\t', header, key },
            Form::Csv { delimiter, .. } => {
                Records::Csv { delimiter: delimiter.byte(), header, key, raw: false }
            }
            Form::Json { .. } => Records::JsonLines { key, raw: false },
        };
        let mut options = umbel_fuzz::options(FOLDER.path());
        (options.resources.threads, options.form) = (threads, records.into());
        let form = &mut options.form;
        form.skip = self.unusual.title.into();
        form.comment = self.unusual.comments.then_some(b'#');
        form.ragged = if self.ragged() { Ragged::Pad } else { Ragged::Take };
        form.empty = self.unusual.empty();
        options
    }

    /// The result of umbel.
    fn answer(&self, contents: &[Vec<u8>], threads: usize) -> anyhow::Result<Vec<u8>> {
        let options = self.options(threads);
        let files = contents.iter().map(|content| file(content)).collect();
        let inputs = sources::open(files, None, &[])?;
        let inputs = sources::align(inputs, None, RowsOf::All, &options)?;
        let inputs: Vec<Input> = sources::rereadable(inputs, &options)?;
        let operation = match self.ask {
            Ask::Distinct { at_least, last, counted, top } => {
                let distinct = Distinct {
                    at_least: at_least.into(),
                    at_most: u64::MAX,
                    keep: if last { Keep::Last } else { Keep::First },
                    counted: counted && !last,
                    numbered: false,
                    ranked: top.filter(|_| !last).map(|most| Top(most.into())),
                };
                SetOperation::distinct(&inputs, distinct, &options)?
            }
            Ask::Common { at_least, every } => {
                let at_least = 1 + usize::from(at_least) % inputs.len();
                SetOperation::common(&inputs, at_least, &options)?.every(every)
            }
            Ask::Except { every } => SetOperation::except(&inputs, &options)?.every(every),
        };
        let operation = operation.sorted(self.sorted);
        let mut out = Vec::new();
        operation.run(&mut out)?;
        Ok(out)
    }

    /// The expected result.
    fn model(&self, files: &[Vec<Row>]) -> Vec<u8> {
        let rows = (0..).zip(files);
        let rows = rows.flat_map(|(file, rows)| rows.iter().map(move |row| (file, row)));
        let rows: Vec<_> = rows.collect();
        let mut met: BTreeMap<Vec<Vec<u8>>, (Vec<usize>, BTreeSet<usize>)> = BTreeMap::new();
        for (place, (file, row)) in rows.iter().enumerate() {
            let mut key = self.key(row);
            if self.leaves_out(&key) {
                continue;
            }
            if self.unusual.empty() == Empty::Keep && key.iter().any(Vec::is_empty) {
                // It equals no other; its values stay in front, for the order of results.
                key.push(place.to_be_bytes().to_vec());
            }
            let (places, within) = met.entry(key).or_default();
            places.push(place);
            within.insert(*file);
        }
        // In the order of keys; each with its place and its count.
        let mut results = Vec::new();
        let of_first =
            |places: &[usize]| places.iter().copied().filter(|place| rows[*place].0 == 0).collect();
        for (key, (places, within)) in &met {
            let first = places[..1].to_vec();
            let found = match self.ask {
                Ask::Distinct { at_least, last, .. } => match places.len() >= at_least.into() {
                    true if last => places[places.len() - 1..].to_vec(),
                    true => first,
                    false => Vec::new(),
                },
                Ask::Common { at_least, every } => {
                    let at_least = 1 + usize::from(at_least) % files.len();
                    match within.len() >= at_least {
                        true if every && at_least == files.len() => of_first(places),
                        true => first,
                        false => Vec::new(),
                    }
                }
                Ask::Except { every } => match *within == BTreeSet::from([0]) {
                    true if every => of_first(places),
                    true => first,
                    false => Vec::new(),
                },
            };
            results.extend(found.into_iter().map(|place| (key, place, places.len())));
        }
        let ranked = match self.ask {
            Ask::Distinct { last: false, top, .. } => top,
            _ => None,
        };
        if ranked.is_some() || !self.sorted {
            results.sort_by_key(|(_, place, _)| *place);
        }
        if let Some(top) = ranked {
            results.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
            results.truncate(top.into());
        }
        let counted = matches!(self.ask, Ask::Distinct { counted: true, last: false, .. });
        let mut out = Vec::new();
        let mut write = |row: &[u8], count: &str| {
            let count = count.as_bytes();
            out.extend(match self.form {
                _ if !counted => row.to_vec(),
                Form::Json { .. } => [b"{\"count\":", count, b",\"record\":", row, b"}"].concat(),
                _ => [count, row].join(&self.column()),
            });
            out.push(b'\n');
        };
        if let Some(header) = self.header() {
            write(&header, "count");
        }
        for (_, place, count) in results {
            write(&self.line(rows[place].1), &count.to_string());
        }
        out
    }

    /// The keys of a file, or of a stream that gives this many bytes at a time.
    fn keys(&self, content: &[u8], drip: Option<usize>) -> anyhow::Result<Vec<Vec<u8>>> {
        const ROOM: u64 = 1 << 20;
        let options = self.options(1);
        let mut found = Vec::new();
        let see = |batch: &umbel_sets::KeyBatch<'_>| {
            found.extend(batch.iter().map(<[u8]>::to_vec));
            Ok(())
        };
        let named = match drip {
            None => file(content),
            Some(size) => NamedInput::Lines(
                "stream".into(),
                Box::new(Drip(Cursor::new(content.to_vec()), size)),
            ),
        };
        let source = sources::open(vec![named], None, &[])?;
        let source = sources::align(source, None, RowsOf::One, &options)?;
        let [source]: [Source; 1] = source.try_into().map_err(|_| anyhow!("one was opened"))?;
        source.read(&options, Ok(ROOM), |from| Ok(keys(from, ROOM, &options, see)?))?;
        Ok(found)
    }

    /// The keys that the crates `csv` and `serde_json` read, where both readers must agree.
    fn read_by_others(&self, content: &[u8]) -> Option<Vec<Vec<u8>>> {
        let Unusual { title, comments, ragged, .. } = self.unusual;
        if title || comments || ragged || self.unusual.empty() != Empty::Value {
            return None;
        }
        match self.form {
            // For the crate a carriage return alone ends a record.
            Form::Csv { delimiter, header, .. } if !content.contains(&b'\r') => {
                let mut reader = csv::ReaderBuilder::new()
                    .has_headers(header)
                    .flexible(true)
                    .delimiter(delimiter.byte())
                    .from_reader(content);
                let columns = match header {
                    true => {
                        let names = reader.byte_headers().ok()?.clone();
                        let of = |column: &usize| {
                            names.iter().position(|name| name == COLUMNS[*column].as_bytes())
                        };
                        self.columns().iter().map(of).collect::<Option<Vec<_>>>()?
                    }
                    false => self.columns().to_vec(),
                };
                let key = |record: Result<csv::ByteRecord, csv::Error>| {
                    let record = record.ok()?;
                    let value = |column: &usize| record.get(*column).map(<[u8]>::to_vec);
                    let values: Option<Vec<_>> = columns.iter().map(value).collect();
                    Some(joined(&values?))
                };
                reader.byte_records().map(key).collect()
            }
            Form::Json { .. } => {
                let lines = content.split(|byte| *byte == b'\n');
                let lines = lines.filter(|line| !line.trim_ascii().is_empty());
                let key = |line: &[u8]| {
                    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
                    let member = |column: &usize| {
                        Some(value.get(COLUMNS[*column])?.as_str()?.as_bytes().to_vec())
                    };
                    let values: Option<Vec<_>> = self.columns().iter().map(member).collect();
                    Some(joined(&values?))
                };
                lines.map(key).collect()
            }
            _ => None,
        }
    }
}

fn file(content: &[u8]) -> NamedInput {
    let mut file: File = tempfile::tempfile_in(FOLDER.path()).expect("a file");
    file.write_all(content).expect("room for it");
    file.rewind().expect("a file");
    NamedInput::Open("file".into(), file)
}

/// Gives some bytes at a time.
struct Drip(Cursor<Vec<u8>>, usize);

impl Read for Drip {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let size = self.1.min(bytes.len());
        self.0.read(&mut bytes[..size])
    }
}
