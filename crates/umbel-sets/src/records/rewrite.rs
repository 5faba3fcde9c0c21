//! Copies inputs of columns row by row before other work: with the columns in the order of another header, or without
//! rows that cannot be read.
//!
//! After a broken quote, nobody knows where records end; here the next one is assumed to start on the next line. A
//! reader that reads an input in pieces on several threads cannot do that, so it is done before.

use std::io::{self, Read};
use std::sync::Arc;

use super::{Bad, Flaw, Format, Kind, MARK, Records, Value, blank, columns, list, mark};
use crate::error::{LineCounter, Place, QuoteFlaw};
use crate::input::{Input, Spool};
use crate::report::Progress;
use crate::scan::skip_line;
use crate::{Error, Options};

/// The part of the memory that a record may use, one in this many: it is held twice, in vectors that grow by doubling.
const SHARE: u64 = 8;

/// Prepares inputs of columns for work on all of them.
///
/// If `rows` of all inputs are written under one header, or whole rows are compared, an input whose header has the same
/// names in another order is copied to a temporary file in the order of the first, or of the header that they are written
/// `under`. CSV is copied without the records that cannot be read if these are [left out](Bad::Skip). All other inputs are
/// returned unchanged.
///
/// # Errors
/// [`Error::OtherColumns`] for a header with other names; those of reading and of temporary files.
pub fn align(
    inputs: Vec<Input>,
    under: Option<&Header>,
    rows: bool,
    options: &Options,
) -> Result<Vec<Input>, Error> {
    let several = inputs.len() > 1 || under.is_some();
    let together = several && compares_headers(rows, options);
    let cleans = leaves_bad_rows_out(options);
    if !together && !cleans {
        return Ok(inputs);
    }
    let mut first = under.cloned();
    let mut spool = None;
    let mut aligned = Vec::new();
    for input in inputs {
        let reader = input.open()?;
        let mut rewritten = Rewritten::new(input.name(), reader.from(0), options)?;
        let mut moves = false;
        if together && let Some(header) = rewritten.header()? {
            match &first {
                None => first = Some(Header { name: input.name().to_owned(), names: header }),
                Some(first) => {
                    moves = first.names != header;
                    rewritten.order = order(&first.names, &header)
                        .ok_or_else(|| first.other(input.name(), &header))?;
                }
            }
        }
        if moves || cleans {
            let spool = match &mut spool {
                Some(spool) => spool,
                none => none.insert(Spool::new(options)?),
            };
            aligned.push(spool.add(input.name(), &mut rewritten)?);
        } else {
            drop(reader);
            aligned.push(input);
        }
    }
    Ok(aligned)
}

/// The header of a file that lines are appended to.
#[derive(Clone, Debug)]
pub struct Header {
    /// The name of the file.
    name: String,
    /// Those of its columns.
    names: Vec<Vec<u8>>,
}

impl Header {
    /// Reads the header of `input`, if records with these options have one.
    ///
    /// # Errors
    /// Those of reading.
    pub fn of(input: &Input, options: &Options) -> Result<Option<Self>, Error> {
        if !has_names(options) {
            return Ok(None);
        }
        let reader = input.open()?;
        let header = Rewritten::new(input.name(), reader.from(0), options)?.header()?;
        Ok(header.map(|names| Self { name: input.name().to_owned(), names }))
    }

    /// Refuses rows of the input `name` whose header is not this one. They are written as they come, so that the order
    /// counts, too.
    pub(crate) fn check(&self, name: &str, row: &[u8], options: &Options) -> Result<(), Error> {
        let names = Format::new(options)?.cut(Vec::new()).values(row);
        match names {
            Ok(names) if names == self.names => Ok(()),
            names => Err(self.other(name, &names.unwrap_or_default())),
        }
    }

    fn other(&self, name: &str, found: &[Vec<u8>]) -> Error {
        let (name, first) = (name.to_owned(), self.name.clone());
        Error::OtherColumns { name, first, difference: difference(&self.names, found) }
    }
}

/// Returns whether inputs must have headers with the same names: if `rows` of all of them are written, or whole rows
/// are compared.
pub fn compares_headers(rows: bool, options: &Options) -> bool {
    has_names(options) && (rows || options.records.key().is_empty())
}

fn has_names(options: &Options) -> bool {
    matches!(options.records, Records::Csv { header: true, .. } | Records::Tsv { header: true, .. })
}

/// Returns whether unreadable rows of CSV are left out, which requires a copy of the input.
pub fn leaves_bad_rows_out(options: &Options) -> bool {
    options.bad == Bad::Skip && matches!(options.records, Records::Csv { .. })
}

/// The index of each of the `wanted` names among the `found`, if these are the same.
fn order(wanted: &[Vec<u8>], found: &[Vec<u8>]) -> Option<Vec<usize>> {
    let mut left: Vec<_> = found.iter().map(Some).collect();
    let mut take = |name: &Vec<u8>| {
        let column = left.iter().position(|found| *found == Some(name))?;
        left[column] = None;
        Some(column)
    };
    let order = wanted.iter().map(&mut take).collect::<Option<Vec<_>>>()?;
    (order.len() == found.len()).then_some(order)
}

/// The names that only one of two headers has, for a message.
fn difference(wanted: &[Vec<u8>], found: &[Vec<u8>]) -> String {
    let without = |names: &[Vec<u8>], others: &[Vec<u8>]| {
        let mut others = others.to_vec();
        let mut names = names.to_vec();
        names.retain(|name| match others.iter().position(|other| other == name) {
            Some(at) => {
                others.swap_remove(at);
                false
            }
            None => true,
        });
        names
    };
    let [lacks, has] = [without(wanted, found), without(found, wanted)];
    let words = [("it lacks ", lacks), ("it also has ", has)];
    if words.iter().all(|(_, names)| names.is_empty()) {
        return "it has them in another order".to_owned();
    }
    let words = words.into_iter().filter(|(_, names)| !names.is_empty());
    words
        .map(|(what, names)| what.to_owned() + &list(names.iter(), names.len()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The length of a record without its end, and whether it is one: an empty line is not.
type Next = (usize, Result<bool, Flaw>);

/// The rows of an input, with its columns in another order, and without unreadable rows if these are left out.
pub struct Rewritten<R> {
    source: R,
    name: String,
    format: Format,
    progress: Arc<Progress>,
    /// For each column written, its index here; empty for all unchanged.
    order: Vec<usize>,
    /// The bytes read, from the next record on, which starts at `offset` of the source.
    buffer: Vec<u8>,
    begin: usize,
    offset: u64,
    /// The lines before that.
    passed: LineCounter,
    ended: bool,
    started: bool,
    /// Whether the header was passed.
    headed: bool,
    /// The maximum bytes of a record.
    most: usize,
    out: Vec<u8>,
    given: usize,
}

impl<R: Read> Rewritten<R> {
    /// Reads the rows of `source`, named `name`.
    ///
    /// # Errors
    /// Those of any work with these options.
    pub fn new(name: &str, source: R, options: &Options) -> Result<Self, Error> {
        let format = Format::new(options)?;
        Ok(Self {
            source,
            name: name.to_owned(),
            passed: LineCounter::new(format.ends().byte()),
            format,
            progress: Arc::clone(&options.progress),
            order: Vec::new(),
            buffer: Vec::new(),
            begin: 0,
            offset: 0,
            ended: false,
            started: false,
            headed: false,
            most: (options.memory / SHARE).clamp(1 << 16, u64::from(u32::MAX)) as usize,
            out: Vec::new(),
            given: 0,
        })
    }

    /// The names of the columns, read ahead.
    fn header(&mut self) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let mut values = Vec::new();
        loop {
            let Some((length, found)) = self.record(&mut values)? else { return Ok(None) };
            let row = &self.buffer[self.begin..self.begin + length];
            let names = match found {
                Ok(true) => self.format.cut(Vec::new()).values(row).map(Some),
                Ok(false) => Ok(None),
                Err(flaw) => Err(flaw),
            };
            match names {
                Ok(None) => self.leave(length),
                names => {
                    return names.map_err(|flaw| self.error(flaw));
                }
            }
        }
    }

    /// The length of the record at the start of the buffer, and whether it is one, with its values as written; `None`
    /// at the end.
    fn record(&mut self, values: &mut Vec<Value>) -> Result<Option<Next>, Error> {
        loop {
            let bytes = &self.buffer[self.begin..];
            if self.ended && bytes.is_empty() {
                return Ok(None);
            }
            if !self.started && (bytes.len() >= MARK.len() || self.ended) {
                self.started = true;
                let mark = mark(bytes);
                // Left to the reader, who would otherwise cut a second one.
                self.out.extend_from_slice(&bytes[..mark]);
                self.begin += mark;
                self.offset += mark as u64;
                continue;
            }
            values.clear();
            let next_line = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
            let mut keep = |_, value| {
                values.push(value);
                Ok(())
            };
            let found = match (self.format.kind, blank(bytes)) {
                (Kind::Csv(_), Some(length)) => Ok(length),
                (Kind::Csv(delimiter), None) => columns::each(bytes, delimiter, &mut keep),
                _ => Ok(next_line),
            };
            let whole = match &found {
                Ok(length) => *length < bytes.len(),
                Err(Flaw::Quote { flaw: QuoteFlaw::Open, .. }) => false,
                Err(_) => true,
            };
            let too_long = !whole && !self.ended && bytes.len() > self.most;
            if too_long && (found.is_ok() || self.format.bad == Bad::Refuse) {
                return Err(self.too_long());
            }
            if self.started && (whole || self.ended || too_long) {
                return Ok(Some(match found {
                    Ok(length) => {
                        let text = bytes[..length].strip_suffix(b"\r").unwrap_or(&bytes[..length]);
                        if self.format.kind == Kind::Tsv {
                            columns::each_unquoted(text, b'\t', keep).unwrap_or_default();
                        }
                        (length, Ok(!text.is_empty()))
                    }
                    // The next record is assumed to start on the next line.
                    Err(flaw) => (next_line, Err(flaw)),
                }));
            }
            self.read_on()?;
        }
    }

    /// The present record does not fit; reads on to its end.
    fn too_long(&mut self) -> Error {
        let (ends, mut quoted) = (self.format.ends(), false);
        let held = &self.buffer[self.begin..];
        let length = match ends.find(held, &mut quoted) {
            Some(at) => at as u64,
            None => held.len() as u64 + skip_line(&mut self.source, ends, &mut quoted).0,
        };
        let at = Place { line: Some(self.passed.place()), ..Place::new(&self.name, self.offset) };
        let cap = SHARE * self.most as u64;
        Error::LongLine { at, length, cap, least: (SHARE * length).next_multiple_of(1 << 20) }
    }

    /// The error for the present record.
    fn error(&self, flaw: Flaw) -> Error {
        let error = self.format.error(flaw, &self.name, self.offset);
        self.passed.locate(error, &self.buffer[self.begin..], self.offset)
    }

    fn read_on(&mut self) -> Result<(), Error> {
        const PIECE: usize = 1 << 16;
        self.buffer.drain(..std::mem::take(&mut self.begin));
        // A long record is read again only once there is twice as much of it.
        let (held, more) = (self.buffer.len(), self.buffer.len().max(PIECE));
        self.buffer.resize(held + more, 0);
        let mut filled = held;
        while filled < self.buffer.len() {
            match self.source.read(&mut self.buffer[filled..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(crate::input::read_error(self.name.clone(), source));
                }
            }
            // Pipes deliver little at a time: what is there may be a whole record.
            if filled > held && memchr::memchr(b'\n', &self.buffer[held..filled]).is_some() {
                break;
            }
        }
        self.buffer.truncate(filled);
        Ok(())
    }

    /// Advances past a record and its end.
    fn leave(&mut self, length: usize) {
        let end = (self.begin + length + 1).min(self.buffer.len());
        self.passed.pass(&self.buffer[self.begin..end]);
        self.offset += (end - self.begin) as u64;
        self.begin = end;
    }

    /// Produces the next rows; returns whether there are any.
    fn refill(&mut self) -> Result<bool, Error> {
        const ENOUGH: usize = 1 << 16;
        self.out.clear();
        self.given = 0;
        let mut values = Vec::new();
        while self.out.len() < ENOUGH {
            let Some((length, found)) = self.record(&mut values)? else { break };
            let row = &self.buffer[self.begin..self.begin + length];
            let written = match found {
                Ok(false) => Ok(()),
                Ok(true) => put(row, &values, &self.order, self.format.kind, &mut self.out),
                Err(flaw) => Err(flaw),
            };
            let is_header = self.format.header && !self.headed;
            match written {
                Ok(()) => self.headed |= !values.is_empty(),
                Err(_) if self.format.bad == Bad::Skip && !is_header => self.progress.leave_out(),
                Err(flaw) => return Err(self.error(flaw)),
            }
            self.leave(length);
            // What a pipe delivered is passed on before waiting for more.
            if self.begin == self.buffer.len() && !self.out.is_empty() {
                break;
            }
        }
        Ok(!self.out.is_empty())
    }
}

/// Appends a row with its values in an order.
fn put(
    row: &[u8],
    values: &[Value],
    order: &[usize],
    kind: Kind,
    out: &mut Vec<u8>,
) -> Result<(), Flaw> {
    if order.is_empty() {
        out.extend_from_slice(row);
        out.push(b'\n');
        return Ok(());
    }
    if values.len() != order.len() {
        return Err(Flaw::Ragged { found: values.len(), columns: order.len() });
    }
    let delimiter = if let Kind::Csv(delimiter) = kind { delimiter } else { b'\t' };
    for (i, &column) in order.iter().enumerate() {
        if i > 0 {
            out.push(delimiter);
        }
        let Value { start, end, .. } = values[column];
        // A quoted value is written with its quotes.
        let quoted = matches!(kind, Kind::Csv(_)) && start > 0 && row[start - 1] == b'"';
        let quotes = usize::from(quoted);
        out.extend_from_slice(&row[start - quotes..end + quotes]);
    }
    out.extend_from_slice(if row.ends_with(b"\r") { b"\r\n" } else { b"\n" });
    Ok(())
}

impl<R: Read> Read for Rewritten<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.given == self.out.len() && !self.refill().map_err(io::Error::other)? {
            return Ok(0);
        }
        let size = bytes.len().min(self.out.len() - self.given);
        bytes[..size].copy_from_slice(&self.out[self.given..self.given + size]);
        self.given += size;
        Ok(size)
    }
}
