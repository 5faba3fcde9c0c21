//! The text of a file in blocks, each of whole records.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use memchr::{memchr, memchr_iter};
use umbel_io::compression::{self, Compression, Decoder, NeedsMemory, Notice, Point};
use umbel_numbers::Size;
use umbel_sets::{Form, Records, Resources, Rows, Start};

/// Bytes of a block, unless a record is longer: it ends with the last record that ends within them. Tests have small ones.
pub(crate) const BLOCK: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };

/// The minimum bytes of text between two points where reading can start inside of a gzip member: a point costs about 8
/// KiB for logs, 0.2 % of that, and a hit reads half of it on average.
const POINTS: u64 = 4 * BLOCK as u64;

/// The unreadable file that an error is about: work on others continues.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreadable(String);

impl Unreadable {
    /// As the context of an error.
    pub(crate) fn at(path: &Path) -> impl Fn() -> Self {
        || Self(path.display().to_string())
    }

    /// An error of a record that cannot be read, which makes the file one.
    pub(crate) fn record(error: umbel_sets::Error, path: &Path) -> anyhow::Error {
        use umbel_sets::Error::{Json, Quote, Ragged};
        let is_one = matches!(error, Json { .. } | Quote { .. } | Ragged { .. });
        let error = anyhow::Error::new(error);
        if is_one { error.context(Self::at(path)()) } else { error }
    }

    /// Why a file cannot be read, if the error is about that; all other errors end the work, and so does too little
    /// memory for a decoder.
    pub(crate) fn reason(error: &anyhow::Error) -> Option<String> {
        let is_one = error.is::<Self>() && !NeedsMemory::is_cause(error);
        let causes =
            || error.chain().skip(1).map(ToString::to_string).collect::<Vec<_>>().join(": ");
        // Errors of records name their file, too.
        let name = error.to_string();
        let rest = |why: String| match why.strip_prefix(&name) {
            Some(rest) => rest.trim_start_matches([',', ':', ' ']).to_owned(),
            None => why,
        };
        is_one.then(|| rest(causes()))
    }
}

/// How files are read.
pub(crate) struct Reading {
    /// How records are cut, for each field of the key.
    pub(crate) rows: Vec<Rows>,
    /// The byte that ends a line.
    pub(crate) separator: u8,
    /// Whether records are lines: then nothing before the first one is left out.
    pub(crate) lines: bool,
    /// Whether each record ends with a line, and needs nothing from the start of its file.
    pub(crate) ends_with_lines: bool,
    /// Whether places are noted where reading can start again, which takes a slower decoder of gzip.
    pub(crate) points: bool,
    /// The memory cap, and one reader's part of it.
    memory: u64,
    room: u64,
    notice: Notice,
}

impl Reading {
    /// For as many readers at a time as `threads`. Each uses half of its part of the cap for a decoder, an eighth for a
    /// record, and the rest for a lower-case copy and the keys; or, in a search, for the texts.
    pub(crate) fn new(form: &Form, resources: &Resources, threads: usize) -> Result<Self> {
        use Records::{Fields, JsonLines, Lines};
        let records = &form.records;
        Ok(Self {
            rows: rows(form)?,
            separator: records.end(),
            lines: matches!(records, Lines(_)),
            ends_with_lines: matches!(records, Lines(_) | JsonLines { .. } | Fields { .. }),
            points: false,
            memory: resources.memory,
            room: resources.memory / threads as u64,
            notice: resources.notice,
        })
    }

    /// Bytes of memory for the keys of a block.
    pub(crate) fn room_of_keys(&self) -> u64 {
        (self.room / 4).max(24 << 20)
    }

    /// The end of the last complete record in `bytes`, which start with one.
    pub(crate) fn last_end(&self, bytes: &[u8]) -> Option<usize> {
        self.rows[0].last_end(bytes)
    }

    /// How an open file is compressed.
    pub(crate) fn recognize(&self, path: &Path, file: &File) -> Result<Option<Compression>> {
        let of = Unreadable::at(path);
        let file = file.try_clone().with_context(&of)?;
        Ok(compression::recognize(Box::new(file)).with_context(of)?.0)
    }

    /// The text of an open file, `size` bytes of it, from a point on.
    pub(crate) fn open(
        &self,
        path: &Path,
        file: &File,
        size: u64,
        compression: Option<Compression>,
        point: Arc<Point>,
    ) -> Result<Text<'_>> {
        let open = || {
            let mut file = file.try_clone()?;
            file.seek(SeekFrom::Start(point.input))?;
            let source = Box::new(file.take(size.saturating_sub(point.input)));
            let (every, memory, room) = (self.points.then_some(POINTS), self.memory, self.room / 2);
            compression::decoder(compression, source, &point, every, memory, room)
        };
        let source = open().with_context(Unreadable::at(path))?;
        let tell = (path.display().to_string(), self.notice);
        Ok(Text {
            reading: self,
            name: tell.0.clone(),
            source: source.telling(&tell),
            is_plain: compression.is_none(),
            offset: point.text,
            points: VecDeque::from([point]),
            buffer: Vec::new(),
            begin: 0,
            filled: 0,
            lines: 0,
            end: u64::MAX,
            failed: None,
        })
    }
}

/// How records are cut, for each field of the key.
fn rows(form: &Form) -> Result<Vec<Rows>> {
    let fields = form.records.key();
    if fields.len() < 2 {
        return Ok(vec![Rows::new(form)?]);
    }
    let of = |field: &String| {
        let records = form.records.clone().with_key(vec![field.clone()]);
        Ok(Rows::new(&Form { records, ..form.clone() })?)
    };
    fields.iter().map(of).collect()
}

/// A text that is read from some place on.
pub(crate) struct Text<'a> {
    reading: &'a Reading,
    name: String,
    source: Decoder,
    is_plain: bool,
    /// Where reading can start: the last place at or before `offset`, and all later ones.
    points: VecDeque<Arc<Point>>,
    /// Bytes of `buffer` that were read; the ones before `begin` are done.
    buffer: Vec<u8>,
    begin: usize,
    filled: usize,
    /// The offset of `buffer[begin]`, and the lines before it.
    pub(crate) offset: u64,
    pub(crate) lines: u64,
    /// Records that start from here on are ignored.
    end: u64,
    /// Why nothing can be read after the records so far.
    failed: Option<anyhow::Error>,
}

impl<'a> Text<'a> {
    /// Reads until `wanted` bytes are available; false if there are fewer.
    fn fill(&mut self, wanted: usize) -> Result<bool> {
        const SHORT: usize = 1 << 15;
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        // After a long record the buffer has many blocks: moving them for each block would take quadratic time.
        if self.buffer.len() - self.begin < wanted {
            self.buffer.copy_within(self.begin..self.filled, 0);
            (self.begin, self.filled) = (0, self.filled - self.begin);
        }
        let end = self.begin + wanted;
        while self.filled < end {
            // With many short files, room for a block in each would take most of the time.
            if self.filled == self.buffer.len() {
                self.buffer.resize((2 * self.filled).max(SHORT).min(end), 0);
            }
            let end = end.min(self.buffer.len());
            match self.source.read(&mut self.buffer[self.filled..end]) {
                Ok(0) => return Ok(false),
                Ok(read) => {
                    self.filled += read;
                    self.points.extend(self.source.points().into_iter().map(Arc::new));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).with_context(|| Unreadable(self.name.clone())),
            }
        }
        Ok(true)
    }

    /// The bytes read and not yet passed.
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.begin..self.filled]
    }

    /// Reads the header, and anything else before the first record.
    pub(crate) fn start(&mut self) -> Result<Option<Vec<u8>>> {
        if self.reading.lines {
            return Ok(None);
        }
        let mut wanted = 1 << 16;
        loop {
            let filled = self.fill(wanted);
            let all = matches!(filled, Ok(false));
            let start = self.reading.rows[0].start(&self.name, self.bytes(), all)?;
            if let Some(Start { first, header }) = start {
                // Records before a damaged place are read.
                self.failed = filled.err();
                self.pass(first);
                return Ok(header);
            }
            filled?;
            wanted = self.longer(wanted)?;
        }
    }

    /// The last place at or before the next record where reading can start.
    pub(crate) fn point(&mut self) -> Arc<Point> {
        if self.is_plain {
            return Arc::new(Point { input: self.offset, text: self.offset, resume: None });
        }
        while self.points.get(1).is_some_and(|next| next.text <= self.offset) {
            self.points.pop_front();
        }
        self.points[0].clone()
    }

    /// Keeps to the records of a plain text of lines that start from `start` on and before `end`; reading started at `start`,
    /// or one byte before.
    pub(crate) fn keep_to(&mut self, start: u64, end: u64) -> Result<()> {
        self.end = end;
        let mut wanted = BLOCK;
        while self.offset < start {
            let ended = !self.fill(wanted)?;
            match memchr(self.reading.separator, self.bytes()) {
                Some(at) => self.pass(at + 1),
                None if ended => {
                    // Also where the file has become shorter than that.
                    self.pass(self.bytes().len());
                    break;
                }
                None => wanted = self.longer(wanted)?,
            }
        }
        self.lines = 0;
        Ok(())
    }

    fn longer(&self, length: usize) -> Result<usize> {
        let longer = length * 2;
        let most = self.most();
        if longer as u64 > most {
            let (offset, twice) = (self.offset, Size(2 * self.reading.memory));
            return Err(anyhow!(
                "the record at byte {offset} is longer than the {} that --memory leaves for it; raise --memory, for example to {twice}",
                Size(most / 2)
            ))
            .with_context(|| Unreadable(self.name.clone()));
        }
        Ok(longer)
    }

    /// The most bytes that are in memory at a time.
    fn most(&self) -> u64 {
        (self.reading.room / 8).max(4 << 20)
    }

    /// Advances past bytes.
    pub(crate) fn pass(&mut self, length: usize) {
        let passed = &self.buffer[self.begin..self.begin + length];
        self.lines += memchr_iter(self.reading.separator, passed).count() as u64;
        self.begin += length;
        self.offset += length as u64;
    }

    /// Reads the next block: its place, the lines before it, and its length; none at the end.
    pub(crate) fn next_block(&mut self) -> Result<Option<((u64, u64), usize)>> {
        if self.offset >= self.end {
            return Ok(None);
        }
        let mut wanted = BLOCK;
        let mut length = loop {
            let filled = self.fill(wanted);
            let bytes = self.bytes();
            let bytes = &bytes[..bytes.len().min(wanted)];
            if let Ok(false) = filled {
                break bytes.len();
            }
            if let Some(end) = self.reading.last_end(bytes) {
                self.failed = filled.err();
                break end;
            }
            filled?;
            wanted = self.longer(wanted)?;
        };
        if self.end - self.offset < length as u64 {
            // The last record contains the byte before the end.
            let last = (self.end - self.offset) as usize - 1;
            let end = memchr(self.reading.separator, &self.bytes()[last..length]);
            length = end.map_or(length, |at| last + at + 1);
        }
        Ok((length > 0).then_some(((self.offset, self.lines), length)))
    }

    /// The block of this length that was read.
    pub(crate) fn block(&self, length: usize) -> &[u8] {
        &self.bytes()[..length]
    }

    /// Passes exactly `length` bytes to `see`, a block that was found before.
    pub(crate) fn take(
        &mut self,
        length: u64,
        see: &mut dyn FnMut(&Self, &[u8]) -> Result<()>,
    ) -> Result<()> {
        // A forged index may have any length, and a run with more memory may have indexed a longer record.
        if length > self.most() {
            let (Self { name, offset, .. }, most) = (&*self, Size(self.most()));
            let length = Size(length);
            bail!(
                "{name}: the block at byte {offset} has {length} according to the index, but --memory leaves {most} for a block; raise --memory, or rebuild the index"
            );
        }
        if !self.fill(length as usize)? {
            return Err(anyhow!("changed while it was searched; search it again"))
                .with_context(|| Unreadable(self.name.clone()));
        }
        see(self, self.block(length as usize))?;
        self.pass(length as usize);
        Ok(())
    }

    /// Skips forward to an offset of the text, which has `lines` before it.
    pub(crate) fn skip_to(&mut self, offset: u64, lines: u64) -> Result<()> {
        while self.offset < offset {
            let some = (offset - self.offset).min(BLOCK as u64) as usize;
            self.take(some as u64, &mut |_, _| Ok(()))?;
        }
        self.lines = lines;
        Ok(())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}
