//! Inputs of jobs that come from Python: iterables, columns, and files at URLs.
//!
//! A job runs on its own thread and requests them from the calling thread: iterables run where they were made, with
//! their context variables, database connections and Ctrl-C.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::mpsc;

use umbel_sets::sources::NamedInput;
use umbel_sets::{Form, Records, RowsOf};

use crate::arrays::Visit;
use crate::calls;
use crate::columns::{Column, Source};
use crate::files;
use crate::imports::Stream;
use crate::keys::{Element, KeyRef, OneKey, Takes, is_missing};
use crate::prelude::*;
use crate::shapes::width;
use crate::values::{is_url, name_of};

/// A byte order mark in UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();
/// The fewest bytes that are handed over together.
const TOGETHER: usize = 1 << 16;
/// Rows of a column that are read first, before their length is known.
const FIRST_ROWS: usize = 16;
/// The most rows that are read together.
const MOST_ROWS: usize = 1 << 12;

/// A request of a job, which waits for more bytes of an input.
pub(crate) struct Request {
    input: usize,
    reply: mpsc::SyncSender<Vec<u8>>,
}

/// Inputs that the calling thread reads, by their numbers.
pub(crate) struct Feeds<'py> {
    feeds: Vec<Feed<'py>>,
    ask: mpsc::Sender<Request>,
    wanted: mpsc::Receiver<Request>,
}

impl Default for Feeds<'_> {
    fn default() -> Self {
        let (ask, wanted) = mpsc::channel();
        Self { feeds: Vec::new(), ask, wanted }
    }
}

impl<'py> Feeds<'py> {
    /// The input from a value: a path, a URL, or an object with lines, or with `bare` keys.
    pub(crate) fn input(
        &mut self,
        value: &Bound<'py, PyAny>,
        number: usize,
        separator: u8,
        bare: bool,
    ) -> PyResult<NamedInput> {
        if is_url(value) {
            let file = files::remote("open_read", &(value,).into_pyobject(value.py())?)?;
            return Ok(NamedInput::Bytes(value.to_string(), Box::new(self.add(Feed::File(file)))));
        }
        if value.hasattr("_umbel_rows")? {
            let name = format!("input {}", number + 1);
            return Ok(NamedInput::Bytes(name, Box::new(self.add(Feed::File(value.clone())))));
        }
        let is_path = value.is_instance_of::<PyString>()
            || value.is_instance_of::<PyBytes>()
            || value.hasattr("__fspath__")?;
        if is_path {
            return Ok(NamedInput::Path(value.extract::<FilePath>()?.0));
        }
        let lines = match Source::of(value)? {
            Source::Column(column) => Lines::Column(column, 0),
            Source::Stream(stream) => Lines::Stream(stream, None),
            Source::Items { items, column } => {
                let values = Values::of(&items).map_err(|_| {
                    PyTypeError::new_err(format!(
                        "an input is a path or an iterable of lines, not {}",
                        name_of(value)
                    ))
                })?;
                let same = |feed: &Feed<'_>| match feed {
                    Feed::Lines { lines: Lines::Values { values: other, .. }, .. } => {
                        values.is(other)
                    }
                    _ => false,
                };
                // Each would get a part of its lines.
                if self.feeds.iter().any(same) {
                    return Err(PyValueError::new_err(format!(
                        "input {} is an iterator that is already another input, and can be read only once; make a list of it",
                        number + 1
                    )));
                }
                Lines::Values { values, column, first: None }
            }
        };
        let feed = Feed::Lines { lines, separator, bare, started: false, number, header: None };
        Ok(NamedInput::Lines(format!("input {}", number + 1), Box::new(self.add(feed))))
    }

    /// Adds the missing header to columns among inputs of records, for a key by its name or by numbers. If there are
    /// columns, returns whether the inputs now have a header: columns alone do not.
    pub(crate) fn headers(
        &mut self,
        form: &Form,
        delimiters: &[u8],
        inputs: usize,
        rows: RowsOf,
    ) -> PyResult<Option<bool>> {
        let (key, delimiter) = match &form.records {
            Records::Csv { header: true, key, delimiter, .. } => (key, *delimiter),
            Records::Tsv { delimiter, header: true, key } => (key, *delimiter),
            _ => return Ok(None),
        };
        let (mut columns, mut found) = (Vec::new(), 0);
        for feed in &mut self.feeds {
            let Feed::Lines { lines, number, header, bare, .. } = feed else { continue };
            if *bare {
                continue;
            }
            let others = *number > 0 && !form.others.is_empty();
            let key = if others { &form.others } else { key }.clone();
            let is_column = lines.is_column()?;
            if is_column && (form.skip > 0 || form.comment.is_some()) {
                return Err(PyValueError::new_err(format!(
                    "input {} is a column of values, without leading lines or comments; omit skip and comment",
                    *number + 1
                )));
            }
            found += usize::from(is_column);
            if is_column && (*number == 0 || rows == RowsOf::All || key.is_empty()) {
                columns.push(*number + 1);
            }
            let delimiter = *delimiters.get(*number).unwrap_or(&delimiter);
            let quotes = matches!(form.records, Records::Csv { .. });
            *header = Some(Box::new(Header { key, delimiter, quotes, is_column }));
        }
        if found > 0 && found == inputs {
            self.feeds.iter_mut().for_each(|feed| {
                if let Feed::Lines { header, .. } = feed {
                    *header = None;
                }
            });
            return Ok(Some(false));
        }
        match columns.first() {
            None => Ok((found > 0).then_some(true)),
            Some(number) => Err(PyValueError::new_err(format!(
                "input {number} is a column without a header, and other inputs may have one: give a list of lines whose first is the \
                 header, or header=False for all inputs"
            ))),
        }
    }

    fn add(&mut self, feed: Feed<'py>) -> FeedReader {
        self.feeds.push(feed);
        FeedReader { input: self.feeds.len() - 1, ask: self.ask.clone(), bytes: Vec::new(), at: 0 }
    }

    /// The inputs, and the requests for them: the job keeps the last part, so requests end with it.
    pub(crate) fn split(self) -> (Vec<Feed<'py>>, mpsc::Receiver<Request>, mpsc::Sender<Request>) {
        (self.feeds, self.wanted, self.ask)
    }
}

impl Request {
    /// Reads the requested bytes and hands them over. After an error it sends nothing, which ends the job.
    pub(crate) fn answer(self, feeds: &mut [Feed<'_>], py: Python<'_>) -> PyResult<()> {
        let bytes = feeds[self.input].more(py)?;
        // A job that has ended since does not need them.
        let _ = self.reply.send(bytes);
        Ok(())
    }
}

/// An input as the job has it.
struct FeedReader {
    input: usize,
    ask: mpsc::Sender<Request>,
    bytes: Vec<u8>,
    at: usize,
}

impl Read for FeedReader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.at == self.bytes.len() {
            let (reply, answer) = mpsc::sync_channel(1);
            let failed = || io::Error::other("the input failed");
            self.ask.send(Request { input: self.input, reply }).map_err(|_| failed())?;
            (self.at, self.bytes) = (0, answer.recv().map_err(|_| failed())?);
        }
        let length = to.len().min(self.bytes.len() - self.at);
        to[..length].copy_from_slice(&self.bytes[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// An input as the calling thread has it.
pub(crate) enum Feed<'py> {
    Lines {
        lines: Lines<'py>,
        separator: u8,
        /// Whether they are bare keys, which may have line feeds: each has a zero byte behind it.
        bare: bool,
        started: bool,
        /// The number of the input, from 0.
        number: usize,
        /// The required first line, where inputs have headers.
        header: Option<Box<Header>>,
    },
    /// A Python file, whose bytes may be compressed.
    File(Bound<'py, PyAny>),
}

/// The header of records from Python.
pub(crate) struct Header {
    /// The names of the key, or its numbers.
    key: Vec<String>,
    delimiter: u8,
    /// Whether values may be in quotes.
    quotes: bool,
    /// A column has no header; the first line of other inputs is one.
    is_column: bool,
}

impl Header {
    /// Puts names in front of the first lines of a column; refuses a line that may or may not be a header.
    fn put(&self, number: usize, bytes: &mut Vec<u8>, separator: u8) -> PyResult<()> {
        let end = bytes.iter().position(|byte| *byte == separator).unwrap_or(bytes.len());
        let line = &bytes[..end];
        let width = width(line, self.delimiter, self.quotes);
        let by_number = self.key.iter().all(|name| name.parse::<usize>().is_ok());
        let names: Vec<_> = match (self.is_column, &self.key[..]) {
            (false, [name]) if by_number && width == 1 && line != name.as_bytes() => {
                let line = String::from_utf8_lossy(line);
                return Err(PyValueError::new_err(format!(
                    "input {}: its first line, {line}, could be a header or a value: name the field by the header, or give the values as a column, such as a NumPy array",
                    number + 1
                )));
            }
            (false, _) => return Ok(()),
            (true, _) if by_number => (1..=width).map(|at| format!("column {at}")).collect(),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "input {} is a column, which has no header: give the numbers of the fields of its key, as in \
                     key={{\"name\": \"1\"}}",
                    number + 1
                )));
            }
        };
        let mut header = names.join(&char::from(self.delimiter).to_string()).into_bytes();
        header.push(separator);
        bytes.splice(..0, header);
        Ok(())
    }
}

pub(crate) enum Lines<'py> {
    /// Values of a column may be missing. The first may have been read already.
    Values { values: Values<'py>, column: bool, first: Option<Bound<'py, PyAny>> },
    /// A column, and the place of the next row.
    Column(Column, usize),
    /// A stream, and the rows of it that were read already.
    Stream(Stream, Option<(Column, usize)>),
}

impl Feed<'_> {
    /// The next bytes; empty at the end.
    fn more(&mut self, py: Python<'_>) -> PyResult<Vec<u8>> {
        match self {
            Self::File(file) => {
                let bytes = calls::call_method(file, "read", &(1 << 20,).into_pyobject(py)?, None)?;
                Ok(bytes.extract()?)
            }
            Self::Lines { lines, separator, bare, started, number, header } => {
                let mut to = Joined::new(*separator, *bare);
                lines.more(py, &mut to)?;
                if !to.bytes.is_empty()
                    && let Some(header) = header.take()
                {
                    header.put(*number, &mut to.bytes, *separator)?;
                }
                // The engine drops a mark at the start of a file. To keep one in a value, another goes in front.
                if !std::mem::replace(started, true) && to.bytes.starts_with(MARK) {
                    to.bytes.splice(..0, MARK.iter().copied());
                }
                Ok(to.bytes)
            }
        }
    }
}

impl Lines<'_> {
    /// Whether they are a column rather than lines, which includes an iterable whose first value is an integer.
    fn is_column(&mut self) -> PyResult<bool> {
        let Self::Values { values, column, first } = self else { return Ok(true) };
        if !*column && first.is_none() {
            *first = values.next().transpose()?;
        }
        let is_line = |value: &Bound<'_, PyAny>| {
            value.is_instance_of::<PyString>()
                || value.is_instance_of::<PyBytes>()
                || value.is_instance_of::<PyByteArray>()
        };
        Ok(*column || first.as_ref().is_some_and(|first| !is_line(first)))
    }

    fn more(&mut self, py: Python<'_>, to: &mut Joined) -> PyResult<()> {
        match self {
            Self::Values { values, column, first } => {
                if let Some(first) = first.take() {
                    to.push_value(&first, *column)?;
                }
                while to.bytes.len() < TOGETHER {
                    let Some(value) = values.next() else { break };
                    to.push_value(&value?, *column)?;
                }
            }
            Self::Column(column, at) => to.push_rows(column, at)?,
            Self::Stream(stream, rows) => loop {
                if let Some((column, at)) = rows {
                    to.push_rows(column, at)?;
                    if !to.bytes.is_empty() {
                        break;
                    }
                }
                match stream.next(py)? {
                    Some(arrays) => *rows = Some((Column::of_arrays(arrays), 0)),
                    None => break,
                }
            },
        }
        Ok(())
    }
}

/// Lines, each with a separator behind it.
struct Joined {
    bytes: Vec<u8>,
    separator: u8,
    /// The end of lines that were read from a file.
    end: u8,
}

impl Joined {
    fn new(end: u8, bare: bool) -> Self {
        Self { bytes: Vec::new(), separator: if bare { 0 } else { end }, end }
    }

    fn push_value(&mut self, value: &Bound<'_, PyAny>, column: bool) -> PyResult<()> {
        let key = match OneKey::of(value, Takes::Own) {
            Ok(key) => key,
            Err(_) if column && is_missing(value) => return Ok(()),
            Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => {
                return Err(PyTypeError::new_err(format!(
                    "a line is str, bytes or int, not {}; convert it with str()",
                    name_of(value)
                )));
            }
            Err(error) => return Err(error),
        };
        Ok(self.push(key.key(), true)?)
    }

    /// Adds rows of a column from `at` on, until there are enough bytes or none left. Skips missing values.
    fn push_rows(&mut self, column: &Column, at: &mut usize) -> Result<(), Failure> {
        let begun = *at;
        while self.bytes.len() < TOGETHER && *at < column.len() {
            // As many rows as may still fit, by the length of those read so far: some may be large.
            let missing = TOGETHER - self.bytes.len();
            let rows = missing.saturating_mul(*at - begun) / self.bytes.len().max(1);
            let rows = rows.clamp(FIRST_ROWS, MOST_ROWS);
            let range: Range<usize> = *at..column.len().min(*at + rows);
            *at = range.end;
            column.visit_range(range, self)?;
        }
        Ok(())
    }

    /// `read`: files give lines with their ends.
    fn push(&mut self, key: KeyRef<'_>, read: bool) -> Result<(), Failure> {
        let start = self.bytes.len();
        match key {
            KeyRef::Bytes(bytes) => self.bytes.extend_from_slice(bytes),
            KeyRef::Int(int) => write!(self.bytes, "{int}").expect("memory takes all"),
            KeyRef::Large(int) => write!(self.bytes, "{int}").expect("memory takes all"),
            KeyRef::Float(_) => unreachable!("floats are refused"),
        }
        if read && self.bytes[start..].last() == Some(&self.end) {
            self.bytes.pop();
        }
        if self.bytes[start..].contains(&self.separator) {
            let text = String::from_utf8_lossy(&self.bytes[start..]);
            return Err(Failure::Value(format!("{text:?} is more than one line; split it")));
        }
        self.bytes.push(self.separator);
        Ok(())
    }
}

impl Visit for Joined {
    fn visit<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure> {
        keys.iter().try_for_each(|key| self.push(key.key(), false))
    }
}
