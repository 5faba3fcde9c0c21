//! The text of a file in blocks, each of whole records.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use memchr::memchr_iter;
use umbel_files::compression;
use umbel_numbers::Size;
use umbel_sets::{Options, Rows, Start};

/// Bytes of a block, unless a record is longer: it ends with the last record that ends within them. Tests have small ones.
pub(crate) const BLOCK: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };

/// How files are read.
pub(crate) struct Reading {
    pub(crate) rows: Rows,
    /// The byte that ends a line.
    pub(crate) separator: u8,
    /// Whether records are lines, so that nothing before the first one is left out.
    pub(crate) lines: bool,
    /// The memory cap, and the part of it that one reader has.
    memory: u64,
    room: u64,
}

impl Reading {
    /// For as many readers at a time as `threads`.
    pub(crate) fn new(options: &Options, threads: usize) -> Result<Self> {
        Ok(Self {
            rows: Rows::new(options)?,
            separator: options.separator,
            lines: options.records == umbel_sets::Records::Lines,
            memory: options.memory,
            room: options.memory / threads as u64,
        })
    }

    /// The text of an open file, from where it is read on, `size` bytes of it.
    pub(crate) fn open(&self, path: &Path, file: File, size: u64) -> Result<Text<'_>> {
        let name = path.display().to_string();
        let (compression, source) =
            compression::decoded(Box::new(file.take(size)), self.memory, self.room / 2)
                .with_context(|| name.clone())?;
        Ok(Text {
            reading: self,
            name,
            source,
            is_plain: compression.is_none(),
            buffer: Vec::new(),
            begin: 0,
            filled: 0,
            offset: 0,
            lines: 0,
        })
    }
}

/// A text that is read from some place on.
pub(crate) struct Text<'a> {
    reading: &'a Reading,
    name: String,
    source: Box<dyn Read>,
    /// Whether it is not compressed.
    pub(crate) is_plain: bool,
    /// Bytes of `buffer` that were read, of which `begin` are behind.
    buffer: Vec<u8>,
    begin: usize,
    filled: usize,
    /// The offset of `buffer[begin]`, and the lines before it.
    pub(crate) offset: u64,
    pub(crate) lines: u64,
}

impl<'a> Text<'a> {
    /// Reads until `wanted` bytes are there; false if there are fewer.
    fn fill(&mut self, wanted: usize) -> Result<bool> {
        if self.begin > 0 {
            self.buffer.copy_within(self.begin..self.filled, 0);
            (self.begin, self.filled) = (0, self.filled - self.begin);
        }
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.filled < wanted {
            match self.source.read(&mut self.buffer[self.filled..wanted]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).with_context(|| self.name.clone()),
            }
        }
        Ok(true)
    }

    /// Reads the header, and what else is before the first record.
    pub(crate) fn start(&mut self) -> Result<Option<Vec<u8>>> {
        if self.reading.lines {
            return Ok(None);
        }
        let mut wanted = 1 << 16;
        loop {
            let all = !self.fill(wanted)?;
            let bytes = &self.buffer[..self.filled];
            if let Some(Start { first, header }) =
                self.reading.rows.start(&self.name, bytes, all)?
            {
                self.pass(first);
                return Ok(header);
            }
            wanted = self.longer(wanted)?;
        }
    }

    fn longer(&self, length: usize) -> Result<usize> {
        let longer = length * 2;
        let most = (self.reading.room / 4).max(2 << 20);
        if longer as u64 > most {
            bail!(
                "{}: the record at byte {} is longer than {}, which is all that --memory leaves for it; raise --memory",
                self.name,
                self.offset,
                Size(most / 2)
            );
        }
        Ok(longer)
    }

    /// Leaves bytes behind.
    fn pass(&mut self, length: usize) {
        let passed = &self.buffer[self.begin..self.begin + length];
        self.lines += memchr_iter(self.reading.separator, passed).count() as u64;
        self.begin += length;
        self.offset += length as u64;
    }

    /// Passes the next block to `see`; false at the end. Afterwards `offset` and `lines` are those behind it.
    pub(crate) fn next(&mut self, see: &mut dyn FnMut(&Self, &[u8]) -> Result<()>) -> Result<bool> {
        let mut wanted = BLOCK;
        loop {
            let ended = !self.fill(wanted)?;
            let bytes = &self.buffer[..self.filled.min(wanted)];
            let end = match self.reading.rows.last_end(bytes) {
                _ if ended => bytes.len(),
                Some(end) => end,
                None => {
                    wanted = self.longer(wanted)?;
                    continue;
                }
            };
            if end == 0 {
                return Ok(false);
            }
            see(self, &bytes[..end])?;
            self.pass(end);
            return Ok(true);
        }
    }

    /// Passes exactly `length` bytes to `see`, which are a block that was found before.
    pub(crate) fn take(
        &mut self,
        length: u64,
        see: &mut dyn FnMut(&Self, &[u8]) -> Result<()>,
    ) -> Result<()> {
        if !self.fill(length as usize)? {
            bail!("{}: changed while it was searched; search it again", self.name);
        }
        see(self, &self.buffer[..length as usize])?;
        self.pass(length as usize);
        Ok(())
    }

    /// Skips to an offset of the text behind, which has `lines` before it.
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
