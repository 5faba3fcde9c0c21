//! Copies inputs with columns before other work, row by row: reordered to match another header, with the first
//! input's delimiter, or without unreadable rows.
//!
//! After a broken quote, the ends of records are unknown; here the next one is assumed to start on the next line.
//! A job that reads an input in pieces on several threads cannot do that, so it is done first.

use std::io::{self, Read};
use std::slice;
use std::sync::Arc;

use crate::error::{Place, QuoteFlaw};
use crate::input::{FromOffset, Input, Reader, Spool, read_error};
use crate::line_counter::{LineCounter, MARK, mark};
use crate::records::{
    Bad, Csv, Flaw, Format, Kind, Ragged, Value, blank, columns, list, number, quote, split_end,
    text,
};
use crate::report::Progress;
use crate::scan::skip_line;
use crate::{Error, Form, Options};

/// A record may use one part in this many of the memory: it is held twice, in vectors that grow by doubling.
const SHARE: u64 = 8;
/// The maximum bytes of memory for a column: its name, its place in both headers and in the row being moved, each in a
/// vector that grows by doubling.
const COLUMN: u64 = 96;

/// Whose rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsOf {
    /// Those of all inputs, under one header.
    All,
    /// Those of one input.
    One,
}

/// Prepares inputs of columns for work on all of them.
///
/// If `rows` of all inputs are written under one header, or whole rows are compared, an input whose header has the same
/// names in another order is copied to a temporary file, in the order of the first or of the header `under`. CSV is
/// copied without unreadable records if these are [left out](Bad::Skip), and with the delimiter of [`Form::records`]
/// if its own [differs](Input::delimiter). All other inputs are returned unchanged: of these, each one's own columns
/// count, and a number in the key that means columns of different names is reported as a warning.
///
/// # Errors
/// [`Error::OtherColumns`] for a header with other names, unless only one has a column that is [ignored](Form::ignored), and
/// for a number that means a column of another name; [`Error::UnknownField`] for an ignored column that none has; read and
/// temporary-file errors.
pub fn align(
    inputs: Vec<Input>,
    under: Option<&Header>,
    rows: RowsOf,
    options: &Options,
) -> Result<Vec<Input>, Error> {
    let form = &options.form;
    let several = inputs.len() > 1 || under.is_some();
    let together = several && compares_headers(rows, form);
    let copied = |input: &Input| !input.copied && rewrites(input.delimiter(), form);
    let numbered = form.records.key().iter().any(|field| number(field).is_some());
    let mut warns = several && !together && form.records.has_header() && numbered;
    if !together && !warns && !inputs.iter().any(copied) {
        return Ok(inputs);
    }
    let (mut first, mut spool) = (under.cloned(), Spool::new(&options.resources));
    if together && form.by_name {
        first = every_column(&inputs, options)?;
    }
    let (mut aligned, mut unknown) = (Vec::new(), form.ignored.clone());
    for input in inputs {
        let reader = input.open()?;
        let mut rewritten = rows_of(&input, &reader, options)?;
        let mut moves = false;
        if (together || warns)
            && let Some(header) = rewritten.header()?
        {
            let format = &rewritten.format;
            unknown.retain(|field| {
                format.columns("", &header.row, 0, slice::from_ref(field)).is_err()
            });
            match &first {
                None => first = Some(header),
                Some(first) if together => {
                    rewritten.follow(first, &header)?;
                    moves = !rewritten.order.is_empty();
                }
                Some(first) => {
                    if let Ok(Some(other)) = rewritten.other_column(first, &header) {
                        let (name, first) = (input.name(), &first.name);
                        let notice = format!("{name}: {other} as in {first}{NAMED}");
                        (options.resources.notice)(&notice);
                        warns = false;
                    }
                }
            }
        }
        if moves || copied(&input) {
            let mut copy = spool.add(input.name(), &mut rewritten)?;
            (copy.copied, copy.renamed) = (true, moves);
            aligned.push(copy);
        } else {
            drop(reader);
            aligned.push(input);
        }
    }
    if let Some(Header { name, row }) = &first {
        Format::new(form)?.columns(name, row, 0, &unknown)?;
    }
    Ok(aligned)
}

/// The rows of an open input. A copied one no longer has lines that are not rows.
fn rows_of<'a>(
    input: &Input,
    reader: &'a Reader<'a>,
    options: &Options,
) -> Result<Rewritten<FromOffset<'a>>, Error> {
    let mut rows = Rewritten::new(input.name(), reader.from(0), input.delimiter(), options)?;
    if input.copied {
        (rows.form.skip, rows.form.comment) = (0, None);
    }
    Ok(rows)
}

/// The columns of all inputs, in order of first appearance.
fn every_column(inputs: &[Input], options: &Options) -> Result<Option<Header>, Error> {
    let mut all: Option<(Header, Names)> = None;
    for input in inputs {
        let reader = input.open()?;
        let mut rows = rows_of(input, &reader, options)?;
        let Some(own) = rows.header()? else { continue };
        let names = rows.names(&own.row)?;
        let Some((header, known)) = &mut all else {
            all = Some((own, names));
            continue;
        };
        let names = names.renamed(&options.form, known);
        header.compare(&rows.name, known, &names, &options.form)?;
        for column in beyond(&names, known) {
            header.row.truncate(text(&header.row).len());
            rows.format.kind.push(1, names.get(column), &mut header.row);
        }
        *known = rows.names(&header.row)?;
    }
    Ok(all.map(|(header, _)| header))
}

/// What to do about columns that differ, and about a number that means one of another name.
const ALIKE: &str = "; give both the same columns";
const NAMED: &str = "; name the column instead of its number";

/// The header of a file that lines are appended to.
#[derive(Clone, Debug)]
pub struct Header {
    /// The name of the file.
    name: String,
    /// Its row, without the line feed.
    row: Vec<u8>,
}

impl Header {
    /// Reads the header of `input`, if records with these options have one.
    ///
    /// # Errors
    /// Read errors.
    pub fn of(input: &Input, options: &Options) -> Result<Option<Self>, Error> {
        if !options.form.records.has_header() {
            return Ok(None);
        }
        let reader = input.open()?;
        Rewritten::new(input.name(), reader.from(0), None, &options.for_own_output())?.header()
    }

    /// Refuses rows of the input `name` if its header differs from this one, also in order: rows are written as they
    /// come.
    pub(crate) fn check(&self, name: &str, row: &[u8], form: &Form) -> Result<(), Error> {
        let format = Format::new(form)?;
        let names = |row| Names::of(row, &format, usize::MAX).unwrap_or_default().0;
        let (wanted, found) = (names(&self.row), names(row));
        self.compare(name, &wanted, &found, form)?;
        let other = || self.other(name, "it has them in another order", ALIKE);
        if wanted == found { Ok(()) } else { Err(other()) }
    }

    /// Refuses columns that only one of two inputs has, unless they are ignored or all are wanted.
    fn compare(&self, name: &str, wanted: &Names, found: &Names, form: &Form) -> Result<(), Error> {
        let both = [("it lacks ", wanted, found), ("it also has ", found, wanted)];
        let words = both.into_iter().filter_map(|(what, names, others)| {
            let is = |column, field: &String| names.column(field) == Some(column);
            let mut columns = beyond(names, others);
            columns.retain(|&column| !form.ignored.iter().any(|field| is(column, field)));
            let words = list(columns.iter().map(|column| names.get(*column)), columns.len());
            (!columns.is_empty()).then(|| what.to_owned() + &words)
        });
        let words: Vec<String> = words.collect();
        if words.is_empty() || form.by_name && form.ignored.is_empty() {
            return Ok(());
        }
        Err(self.other(name, &words.join(", "), ALIKE))
    }

    fn other(&self, name: &str, difference: &str, remedy: &str) -> Error {
        let (name, first) = (name.to_owned(), self.name.clone());
        Error::OtherColumns { name, first, difference: difference.to_owned() + remedy }
    }
}

/// The names of columns, one after the other: there may be as many as a row has bytes.
#[derive(Debug, Default, PartialEq)]
struct Names {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Names {
    /// Reads the names in a header, up to `most`, and how many there are.
    fn of(row: &[u8], format: &Format, most: usize) -> Result<(Self, usize), Flaw> {
        let (mut names, mut count) = (Self::default(), 0);
        format.each_name(row, |name| {
            count += 1;
            if count <= most {
                names.bytes.extend_from_slice(name);
                // A row has less than 2³² bytes.
                names.ends.push(names.bytes.len() as u32);
            }
        })?;
        Ok((names, count))
    }

    /// Names the key's fields as in the first input, whose names are `first`.
    fn renamed(self, form: &Form, first: &Self) -> Self {
        if form.others.is_empty() {
            return self;
        }
        let pairs = form.others.iter().zip(form.records.key());
        let pairs =
            pairs.filter_map(|(own, field)| Some((self.column(own)?, first.column(field)?)));
        let (pairs, mut names) = (pairs.collect::<Vec<_>>(), Self::default());
        for column in 0..self.len() as u32 {
            let at = pairs.iter().find(|(own, _)| *own == column);
            names.bytes.extend_from_slice(at.map_or(self.get(column), |(_, at)| first.get(*at)));
            names.ends.push(names.bytes.len() as u32);
        }
        names
    }

    /// The column of a field: of its name, or else of its number.
    fn column(&self, field: &str) -> Option<u32> {
        let named = (0..self.len()).find(|&column| self.get(column as u32) == field.as_bytes());
        let column = named.or_else(|| number(field).filter(|&column| column < self.len()));
        column.map(|column| column as u32)
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, column: u32) -> &[u8] {
        let start = column.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.bytes[start as usize..self.ends[column as usize] as usize]
    }

    /// The columns sorted by name; equal names by position.
    fn sorted(&self) -> Vec<u32> {
        let mut columns: Vec<u32> = (0..self.len() as u32).collect();
        columns.sort_unstable_by_key(|&column| (self.get(column), column));
        columns
    }
}

/// Whether inputs must have headers with the same names: if `rows` of all of them are written, or whole rows
/// are compared.
pub(crate) fn compares_headers(rows: RowsOf, form: &Form) -> bool {
    form.records.has_header() && (rows == RowsOf::All || form.records.key().is_empty())
}

/// Returns whether an input with this delimiter of its own must be copied: to leave out unreadable rows of CSV or lines
/// that are no records, to have as many fields in all rows, or to write the delimiter of [`Form::records`].
pub fn rewrites(delimiter: Option<u8>, form: &Form) -> bool {
    let kind = form.records.kind();
    let columns = matches!(kind, Kind::Csv(_) | Kind::Tsv(_));
    form.skip > 0
        || form.comment.is_some()
        || columns && form.ragged != Ragged::Take
        || matches!(kind, Kind::Csv(_))
            && (form.bad == Bad::Skip || delimiter.is_some_and(|other| other != kind.delimiter()))
}

/// Marks a column that an input lacks.
const NONE: u32 = u32::MAX;

/// The column of each `wanted` name among the `found` ones.
fn order(wanted: &Names, found: &Names) -> Vec<u32> {
    let mut order = vec![NONE; wanted.len()];
    let mut rest = found.sorted().into_iter().peekable();
    for to in wanted.sorted() {
        let name = wanted.get(to);
        while rest.next_if(|from| found.get(*from) < name).is_some() {}
        if let Some(from) = rest.next_if(|from| found.get(*from) == name) {
            order[to as usize] = from;
        }
    }
    order
}

/// The columns of a header whose names another one lacks, or has less often.
fn beyond(names: &Names, others: &Names) -> Vec<u32> {
    let found = (0..).zip(order(names, others));
    found.filter(|(_, other)| *other == NONE).map(|(column, _)| column).collect()
}

/// A record's length without its end, and whether it is one: an empty line is not. A broken one has no known end.
type Next = (usize, Result<bool, Flaw>);

/// The rows of an input with its columns in another order, another delimiter, or unreadable rows left out.
pub(crate) struct Rewritten<R> {
    source: R,
    name: String,
    format: Format,
    /// The kind of rows when they are read, and when they are written.
    kinds: [Kind; 2],
    /// The form of rows, and how many more lines to leave out.
    form: Form,
    /// The header to write in place of its own.
    header: Option<Vec<u8>>,
    /// The columns of this input, once they are known and matter.
    width: Option<usize>,
    progress: Arc<Progress>,
    /// For each column written, its number in this input; empty if all are unchanged.
    order: Vec<u32>,
    /// Where the values to move are in the present record, and one more.
    values: Vec<[u32; 2]>,
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
    /// A record may use one part in this many of the memory cap.
    share: u64,
    /// The maximum bytes of a record, and the maximum columns of one that is reordered.
    most: usize,
    most_columns: usize,
    out: Vec<u8>,
    given: usize,
}

impl<R: Read> Rewritten<R> {
    /// Reads the rows of `source`, named `name`, which may have a delimiter of its own.
    pub(crate) fn new(
        name: &str,
        source: R,
        delimiter: Option<u8>,
        options: &Options,
    ) -> Result<Self, Error> {
        let format = Format::new(&options.form)?;
        let from = match (format.kind, delimiter) {
            (Kind::Csv(csv), Some(delimiter)) => Kind::Csv(Csv { delimiter, ..csv }).checked()?,
            (kind, _) => kind,
        };
        Ok(Self {
            kinds: [from, format.kind],
            form: options.form.clone(),
            header: None,
            width: None,
            source,
            name: name.to_owned(),
            passed: LineCounter::new(format.kind.end()),
            format,
            progress: Arc::clone(&options.resources.progress),
            order: Vec::new(),
            values: Vec::new(),
            buffer: Vec::new(),
            begin: 0,
            offset: 0,
            ended: false,
            started: false,
            headed: false,
            most_columns: (options.resources.memory / COLUMN) as usize,
            share: SHARE,
            most: (options.resources.memory / SHARE).clamp(1 << 16, u64::from(u32::MAX)) as usize,
            out: Vec::new(),
            given: 0,
        })
    }

    /// Is one of several that are read side by side, each with `room` bytes of memory: two may have the longest record.
    pub(crate) fn within(self, room: u64, options: &Options) -> Self {
        let sharing = (options.resources.memory / room / 2).max(1);
        let most = (self.most / sharing as usize).max(1 << 16);
        Self { share: SHARE * sharing, most, ..self }
    }

    /// Puts the columns in the order of `header`, under which the rows are written.
    pub(crate) fn under(mut self, header: &Header) -> Result<Self, Error> {
        if let Some(own) = self.header()? {
            self.follow(header, &own)?;
        }
        Ok(self)
    }

    /// Finds the order of another header if it differs from its `own`.
    fn follow(&mut self, first: &Header, own: &Header) -> Result<(), Error> {
        if first.row == own.row {
            return Ok(());
        }
        let (wanted, mut found) = (self.names(&first.row)?, self.names(&own.row)?);
        // The first input itself may follow the columns of all.
        if first.name != self.name {
            found = found.renamed(&self.form, &wanted);
        }
        first.compare(&self.name, &wanted, &found, &self.form)?;
        if let Some(other) = self.other_column(first, own)? {
            return Err(first.other(&self.name, &other, NAMED));
        }
        let (mut order, mut header) = (order(&wanted, &found), Vec::new());
        if self.form.by_name {
            header.clone_from(&first.row);
        } else {
            order.retain(|column| *column != NONE);
        }
        if order.is_sorted() && (header.is_empty() || found.len() == wanted.len()) {
            return Ok(());
        }
        self.width = Some(found.len());
        if header.is_empty() {
            // Ignored columns that only this input has.
            order.extend(beyond(&found, &wanted));
            let names = order.iter().map(|column| found.get(*column)).enumerate();
            names.for_each(|(i, name)| self.format.kind.push(i, name, &mut header));
        }
        (self.header, self.order) = (Some(header), order);
        Ok(())
    }

    /// How a field means a column of another name than in the first input, which only a number can.
    fn other_column(&self, first: &Header, own: &Header) -> Result<Option<String>, Error> {
        let Form { records, others, ignored, further, .. } = &self.form;
        let names = [self.names(&first.row)?, self.names(&own.row)?];
        // With other fields in other inputs, each number is meant.
        let key = if others.is_empty() { records.key() } else { &[] };
        Ok(key.iter().chain(ignored).chain(further).find_map(|field| {
            let [wanted, found] = names.each_ref().map(|names| {
                Some(String::from_utf8_lossy(names.get(names.column(field)?)).into_owned())
            });
            let (wanted, found) = (wanted?, found?);
            let differs = wanted != found && ![&wanted, &found].contains(&field);
            differs.then(|| format!("column {field} is {found:?}, not {wanted:?}"))
        }))
    }

    /// The header row as written, read ahead.
    fn header(&mut self) -> Result<Option<Header>, Error> {
        loop {
            let Some((length, found)) = self.record()? else { return Ok(None) };
            let mut header = Header { name: self.name.clone(), row: Vec::new() };
            let row = &self.buffer[self.begin..][..length];
            let put = |is_row| {
                put(row, &self.values, &[], None, self.kinds, &mut header.row).map(|()| is_row)
            };
            match found.and_then(put) {
                Ok(true) => return Ok(Some(header)),
                Ok(false) => self.leave(length),
                Err(flaw) => return Err(self.error(flaw)),
            }
        }
    }

    /// The names in a header.
    fn names(&self, row: &[u8]) -> Result<Names, Error> {
        let names = Names::of(row, &self.format, self.most_columns);
        let (names, count) = names.map_err(|flaw| self.error(flaw))?;
        match count <= self.most_columns {
            true => Ok(names),
            false => Err(self.refused(text(row).len() as u64, COLUMN * count as u64)),
        }
    }

    /// The record at the start of the buffer, with its values as written; `None` at the end.
    fn record(&mut self) -> Result<Option<Next>, Error> {
        loop {
            let bytes = &self.buffer[self.begin..];
            if self.ended && bytes.is_empty() {
                return Ok(None);
            }
            if !self.started && (bytes.len() >= MARK.len() || self.ended) {
                self.started = true;
                let mark = mark(bytes);
                // Left to the reader, which would otherwise cut off a second mark.
                self.out.extend_from_slice(&bytes[..mark]);
                self.begin += mark;
                self.offset += mark as u64;
                continue;
            }
            if self.started
                && !bytes.is_empty()
                && (self.form.skip > 0 || self.form.comment == Some(bytes[0]))
            {
                self.form.skip = self.form.skip.saturating_sub(1);
                self.leave_line()?;
                continue;
            }
            self.values.clear();
            let mut keep = |_, Value { start, end, .. }| {
                if self.values.len() <= self.order.len().max(self.width.unwrap_or(0)) {
                    // A row has less than 2³² bytes.
                    self.values.push([start as u32, end as u32]);
                }
                Ok(())
            };
            let found = match (self.kinds[0], blank(bytes)) {
                (Kind::Csv(_), Some(length)) => Ok(length),
                (Kind::Csv(csv), None) => columns::each(bytes, csv, &mut keep),
                _ => Ok(memchr::memchr(b'\n', bytes).unwrap_or(bytes.len())),
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
                        let row = &bytes[..length];
                        if matches!(self.format.kind, Kind::Tsv(_)) {
                            self.format.kind.each(row, keep).unwrap_or_default();
                        }
                        let is_line = matches!(self.format.kind, Kind::Lines(_));
                        (length, Ok(is_line || !text(row).is_empty()))
                    }
                    Err(flaw) => (0, Err(flaw)),
                }));
            }
            self.read_on()?;
        }
    }

    /// The present record does not fit; reads on to its end.
    fn too_long(&mut self) -> Error {
        let (kind, mut quoted) = (self.format.kind, false);
        let held = &self.buffer[self.begin..];
        let length = match kind.find(held, &mut quoted) {
            Some(at) => at as u64,
            None => held.len() as u64 + skip_line(&mut self.source, kind, &mut quoted).0,
        };
        self.refused(length, 0)
    }

    /// The error for the present record, which needs a memory cap in proportion to its length, but at least `least`.
    fn refused(&self, length: u64, least: u64) -> Error {
        let at = Place { line: Some(self.passed.place()), ..Place::new(&self.name, self.offset) };
        let (cap, least) = (self.share * self.most as u64, least.max(self.share * length));
        Error::LongLine { at, length, cap, least: least.next_multiple_of(1 << 20) }
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
                Err(source) => return Err(read_error(&self.name, source)),
            }
            // Pipes deliver little at a time: the bytes read so far may be a whole record.
            if memchr::memchr(b'\n', &self.buffer[held..filled]).is_some() {
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

    /// Advances past a broken record: the next one is assumed to start on the next line.
    fn leave_line(&mut self) -> Result<(), Error> {
        loop {
            let bytes = &self.buffer[self.begin..];
            let end = memchr::memchr(b'\n', bytes);
            self.leave(end.unwrap_or(bytes.len()));
            if end.is_some() || self.ended {
                return Ok(());
            }
            self.read_on()?;
        }
    }

    /// Produces the next rows; returns whether there are any.
    fn refill(&mut self) -> Result<bool, Error> {
        const ENOUGH: usize = 1 << 16;
        self.out.clear();
        self.given = 0;
        while self.out.len() < ENOUGH {
            let Some((length, found)) = self.record()? else { break };
            let row = &self.buffer[self.begin..self.begin + length];
            let is_header = self.format.header && !self.headed;
            let is_broken = found.is_err();
            let written = found.and_then(|is_row| {
                match &self.header {
                    _ if !is_row => return Ok(false),
                    Some(header) if is_header => self.out.extend_from_slice(header),
                    _ => {
                        let pads = self.form.ragged == Ragged::Pad;
                        let width = self.width.map(|width| (width, pads));
                        put(row, &self.values, &self.order, width, self.kinds, &mut self.out)?;
                        if self.form.ragged != Ragged::Take && self.width.is_none() {
                            self.width = Some(self.kinds[0].each(row, |_, _| Ok(()))?);
                        }
                    }
                }
                self.out.push(b'\n');
                Ok(true)
            });
            match written {
                Ok(is_row) => self.headed |= is_row,
                Err(_) if self.format.bad == Bad::Skip && !is_header => self.progress.leave_out(),
                Err(flaw) => return Err(self.error(flaw)),
            }
            if is_broken {
                self.leave_line()?;
            } else {
                self.leave(length);
            }
            // Passes on the rows read from a pipe before waiting for more.
            if self.begin == self.buffer.len() && !self.out.is_empty() {
                break;
            }
        }
        Ok(!self.out.is_empty())
    }
}

/// Appends a row without the line feed: its values in an order, or as they are. Of a row with another number of fields than
/// `width`, the input's columns, missing fields become empty if it is to be padded.
fn put(
    row: &[u8],
    values: &[[u32; 2]],
    order: &[u32],
    width: Option<(usize, bool)>,
    [from, to]: [Kind; 2],
    out: &mut Vec<u8>,
) -> Result<(), Flaw> {
    let value = |[start, end]: [u32; 2]| Value::plain(start as usize, end as usize);
    let begun = out.len();
    let ((text, end), mut most, mut lacking) = (split_end(row), usize::MAX, 0);
    if let Some((columns, pads)) = width
        && values.len() != columns
    {
        let mut filled = 0;
        let found = from.each(row, |column, value| {
            filled = if value.start < value.end { column + 1 } else { filled };
            Ok(())
        })?;
        if !pads || filled > columns {
            return Err(Flaw::Ragged { found, columns });
        }
        (most, lacking) = (columns, columns.saturating_sub(found));
    }
    let mut add = |column: usize, value: Option<Value>| {
        if column > 0 {
            out.push(to.delimiter());
        }
        let begin = out.len();
        let written = value.map_or(&[][..], |value| from.written(row, value));
        out.extend_from_slice(written);
        // Quoted values stay so; the new delimiter has no meaning there. A last carriage return would be the row's.
        let hidden = matches!(to, Kind::Csv(_)) && written.ends_with(b"\r");
        if (from != to || hidden) && !written.starts_with(b"\"") {
            quote(out, begin, to.delimiter());
        }
    };
    match order {
        [] if from == to && values.len() <= most => out.extend_from_slice(text),
        [] => {
            let each = |column, value| {
                if column < most {
                    add(column, Some(value));
                }
                Ok(())
            };
            from.each(row, each).map(drop)?;
        }
        _ => order.iter().enumerate().for_each(|(i, &column)| {
            add(i, values.get(column as usize).map(|&at| value(at)));
        }),
    }
    if order.is_empty() {
        out.extend(std::iter::repeat_n(to.delimiter(), lacking));
    }
    // The only column of a padded row: an empty line is not a row.
    if most == 1 && matches!(to, Kind::Csv(_)) && out.len() == begun {
        out.extend_from_slice(b"\"\"");
    }
    out.extend_from_slice(end);
    Ok(())
}

impl<R: Read> Read for Rewritten<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.given == self.out.len() && !self.refill().map_err(io::Error::other)? {
            return Ok(0);
        }
        let read = (&self.out[self.given..]).read(bytes)?;
        self.given += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Records;
    use crate::testing::{Drip, long, workplace_of};

    const CSV: Records =
        Records::Csv { delimiter: b',', header: true, key: Vec::new(), raw: false };

    #[test]
    fn rows_with_another_delimiter_are_read_in_pieces_of_any_size() {
        let (_dir, options) = workplace_of(CSV);
        let rows = long(100_000, 20_000);
        let source = "a;b\n".to_owned() + &"1,5;\"x;\"\"y\"\n".repeat(rows);
        let wanted = "a,b\n".to_owned() + &"\"1,5\",\"x;\"\"y\"\n".repeat(rows);
        for size in [1, 7, 1 << 20] {
            let mut rewritten =
                Rewritten::new("a", source.as_bytes(), Some(b';'), &options).unwrap();
            let (mut all, mut piece) = (Vec::new(), vec![0; size]);
            while let read @ 1.. = rewritten.read(&mut piece).unwrap() {
                all.extend_from_slice(&piece[..read]);
            }
            assert!(all == wanted.as_bytes(), "{size}: {}", String::from_utf8_lossy(&all));
        }
    }

    /// A pipe of a few bytes at a time, and a record longer than a buffer.
    #[test]
    fn a_record_that_is_left_out_ends_where_its_line_does() {
        let (_dir, mut options) = workplace_of(CSV);
        (options.form.bad, options.resources.memory) = (Bad::Skip, 16 << 20);
        for width in [0, 70_000, 3 << 20] {
            let tail = "x,".repeat(width / 2);
            let bad = [format!("7,5\" tall,{tail}8"), format!("\"7\"z,{tail}9")].join("\n");
            let source = format!("a,b\n1,2\n\n{bad}\r\n\"3\",4\n5,6\n{}", bad.replace("\n", ""));
            for size in [1, 2, 3, 5, 8, 13, 1 << 12, 1 << 16, source.len()] {
                if width / size > 40_000 {
                    continue;
                }
                let pipe = Drip(source.as_bytes(), size);
                let rewritten = Rewritten::new("a", pipe, None, &options).unwrap();
                let text = io::read_to_string(rewritten).unwrap();
                assert_eq!(text, "a,b\n1,2\n\"3\",4\n5,6\n", "{width} {size}");
            }
        }
    }

    #[test]
    fn what_a_pipe_delivers_is_passed_on_before_more_is_there() {
        struct Pipe(std::vec::IntoIter<&'static str>);
        impl Read for Pipe {
            fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                self.0.next().map_or(Ok(0), |piece| piece.as_bytes().read(bytes))
            }
        }
        let (_dir, options) = workplace_of(CSV);
        let pipe = Pipe(vec!["a;b\n", "1;", "2\n3;4\n", "5;6"].into_iter());
        let mut rewritten = Rewritten::new("a", pipe, Some(b';'), &options).unwrap();
        for (wanted, left) in [("a,b\n", 3), ("1,2\n3,4\n", 1), ("5,6\n", 0)] {
            let mut bytes = [0; 100];
            let read = rewritten.read(&mut bytes).unwrap();
            assert_eq!(str::from_utf8(&bytes[..read]).unwrap().trim_end(), wanted.trim_end());
            assert_eq!(rewritten.source.0.len(), left);
        }
    }
}
