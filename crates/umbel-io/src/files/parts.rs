//! Compressed files of independent parts, decompressed in parallel: frames of Zstandard, as pzstd and the seekable
//! format write them, and blocks of bgzip.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use super::threads::in_order;
use crate::{FileAt, State};

use super::compression::{self, Compression, Decoder, Point, Tell};

/// The minimum bytes of text of a part, unless the file ends: starting a decoder costs as much as a few KiB of text.
const PART: u64 = 1 << 20;
/// The maximum bytes of text of a part. Memory holds the text of two parts for each thread.
const LARGEST: u64 = 16 << 20;
/// The most text of a block: of Zstandard (RFC 8878, section 3.1.1.2.4), and of bgzip (SAM 1.6, section 4.1).
const ZSTD_BLOCK: u64 = 128 << 10;
const BGZIP_BLOCK: u64 = 64 << 10;

/// The text of such a file.
pub struct SideBySide {
    source: Source,
    length: u64,
    /// The part after the decompressed ones.
    next: u64,
    threads: usize,
    largest: u64,
    ready: VecDeque<io::Cursor<Vec<u8>>>,
    /// Buffers of texts that were read: new ones would cost as much as decompressing does.
    spare: Mutex<Vec<Vec<u8>>>,
    /// After `ready`: an error, or parts of unknown length, which one decoder reads.
    failed: Option<io::Error>,
    alone: Option<Decoder>,
}

/// Where a part is, whether its text fits in memory next to others, and the most text that its format allows.
#[derive(Clone, Copy)]
struct Part {
    start: u64,
    end: u64,
    known: bool,
    text: u64,
}

impl SideBySide {
    /// `None` if it is one part, or has another format: then one decoder has to read it.
    pub fn new(
        file: &File,
        threads: usize,
        memory: u64,
        room: u64,
        tell: Tell,
    ) -> io::Result<Option<Self>> {
        let State { length, is_file, .. } = State::of(file)?;
        if !is_file || length == 0 {
            return Ok(None);
        }
        let start = compression::Start::read(|bytes, offset| file.read_at(bytes, offset))?;
        let Some(format @ (Compression::Gzip | Compression::Zstd)) = start.compression else {
            return Ok(None);
        };
        let room = room.min(memory / 4);
        let mut parts = Self {
            source: Source { file: Arc::new(file.try_clone()?), format, memory, room, tell },
            length,
            next: 0,
            threads,
            largest: (room / (2 * threads as u64)).min(LARGEST),
            ready: VecDeque::new(),
            spare: Mutex::default(),
            failed: None,
            alone: None,
        };
        let first = parts.part()?;
        parts.next = 0;
        Ok(first.filter(|part| part.known && part.end < length).map(|_| parts))
    }

    /// The next part.
    fn part(&mut self) -> io::Result<Option<Part>> {
        let start = self.next;
        let (mut end, mut text) = (start, 0);
        while end < self.length && text < PART {
            let piece = match self.source.format {
                Compression::Zstd => self.frame(end)?,
                _ => self.block(end)?,
            };
            let Some((length, more)) = piece.filter(|(length, more)| {
                text + more <= self.largest && end + length <= self.length
            }) else {
                break;
            };
            end += length;
            text += more;
        }
        let known = end > start;
        if !known && start < self.length {
            end = self.length;
        }
        self.next = end;
        Ok((end > start).then_some(Part { start, end, known, text }))
    }

    /// `false` if the file ends first.
    fn fill(&self, bytes: &mut [u8], at: u64) -> io::Result<bool> {
        match self.source.file.read_exact_at(bytes, at) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Bytes of the Zstandard frame at `at`, and the most that its text and its window may have (RFC 8878, section
    /// 3.1.1); `None` if it is not a frame, or does not fit.
    fn frame(&self, at: u64) -> io::Result<Option<(u64, u64)>> {
        let mut head = [0; 8];
        if !self.fill(&mut head, at)? {
            return Ok(None);
        }
        let word =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        if let 0x184d_2a50..=0x184d_2a5f = word(&head[..4]) {
            return Ok(Some((8 + word(&head[4..]), 0)));
        }
        if word(&head[..4]) != 0xfd2f_b528 {
            return Ok(None);
        }
        let descriptor = head[4];
        let single = descriptor & 1 << 5 != 0;
        let content = [u64::from(single), 2, 4, 8][usize::from(descriptor >> 6)];
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let window = match single {
            true => 0,
            false => compression::zstd_window(&head).unwrap_or(u64::MAX),
        };
        let mut end = at + 5 + u64::from(!single) + dictionary + content;
        let mut text: u64 = 0;
        loop {
            let mut block = [0; 3];
            if text > self.largest || !self.fill(&mut block, end)? {
                return Ok(None);
            }
            let block = word(&block);
            let length = match block >> 1 & 3 {
                // One byte, which is repeated.
                1 => 1,
                _ => block >> 3,
            };
            end += 3 + length;
            text += ZSTD_BLOCK;
            if block & 1 != 0 {
                let checksum = if descriptor & 1 << 2 != 0 { 4 } else { 0 };
                return Ok(Some((end + checksum - at, text.max(window))));
            }
        }
    }

    /// Bytes of the block of bgzip at `at`, and of its text at most (SAM 1.6, section 4.1).
    fn block(&self, at: u64) -> io::Result<Option<(u64, u64)>> {
        let mut head = [0; 18];
        let [low, high] = match self.fill(&mut head, at)? {
            true if head[..4] == [0x1f, 0x8b, 8, 4] && head[10..16] == *b"\x06\0BC\x02\0" => {
                [head[16], head[17]]
            }
            _ => return Ok(None),
        };
        Ok(Some((u64::from(u16::from_le_bytes([low, high])) + 1, BGZIP_BLOCK)))
    }

    /// Decompresses the next parts.
    fn more(&mut self) -> io::Result<()> {
        let mut parts = Vec::new();
        while parts.len() < 2 * self.threads
            && let Some(part) = self.part()?
        {
            if !part.known {
                self.alone = Some(self.source.decoder(part)?.telling(&self.source.tell));
                break;
            }
            parts.push(part);
        }
        let (source, spare) = (&self.source, &self.spare);
        let texts = in_order(self.threads, parts.len(), |i| {
            let mut text = spare.lock().expect("no thread panics").pop().unwrap_or_default();
            text.clear();
            let most = parts[i].text;
            let mut decoder = source.decoder(parts[i])?;
            decoder.by_ref().take(most + 1).read_to_end(&mut text)?;
            let is_whole = text.len() as u64 <= most && decoder.trailing().is_none();
            Ok::<_, io::Error>(is_whole.then_some(text))
        });
        for (part, text) in parts.iter().zip(texts) {
            match text {
                Ok(Some(text)) => self.ready.push_back(io::Cursor::new(text)),
                // A block that looks like bgzip's may have any amount of text, and end early. One decoder reads the rest, as
                // it comes.
                Ok(None) => {
                    let rest = Part { end: self.length, known: false, ..*part };
                    self.alone = Some(source.decoder(rest)?.telling(&source.tell));
                    self.next = self.length;
                    break;
                }
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Read for SideBySide {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            while let Some(text) = self.ready.front_mut() {
                match text.read(bytes)? {
                    0 if !bytes.is_empty() => {
                        let text = self.ready.pop_front().map(io::Cursor::into_inner);
                        self.spare.get_mut().expect("no thread panics").extend(text);
                    }
                    read => return Ok(read),
                }
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if let Some(alone) = &mut self.alone {
                return alone.read(bytes);
            }
            if self.next == self.length {
                return Ok(0);
            }
            self.more()?;
        }
    }
}

/// The file, its format, and the memory of a decoder.
struct Source {
    file: Arc<File>,
    format: Compression,
    memory: u64,
    room: u64,
    tell: Tell,
}

impl Source {
    fn decoder(&self, part: Part) -> io::Result<Decoder> {
        let bytes = Range { file: Arc::clone(&self.file), at: part.start, end: part.end };
        let (format, start) = (Some(self.format), Point { input: part.start, ..Point::default() });
        compression::decoder(format, Box::new(bytes), &start, None, self.memory, self.room)
            .map_err(io::Error::other)
    }
}

/// Some bytes of a file.
struct Range {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Read for Range {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(bytes.len());
        let read = self.file.read_at(&mut bytes[..most], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
