//! Compressed inputs, decompressed while they are read.

use std::error::Error;
use std::fmt;
use std::io::{self, Cursor, ErrorKind, Read};

use anyhow::Result;
use umbel_numbers::Size;

use super::pages::PageReader;

use super::content;
use super::frames::{self, Counted, Frames, Gzip, Noting, Trailing, Zstd};

pub use super::frames::{Point, Resume};
pub use super::start::{Compression, Start, check_result_name};

/// The lines in `source`, named in `tell`: its bytes, decompressed if they are compressed, by a decoder in `room` bytes of a cap
/// of `memory`. At first, it waits only for as many bytes of a pipe as it needs to recognize the format.
pub fn decompressed(
    tell: &Tell,
    source: Box<dyn Read>,
    memory: u64,
    room: u64,
) -> Result<Box<dyn Read>> {
    let (compression, source) = recognize(source)?;
    let decoder = decoder(compression, source, &Point::default(), None, memory, room)?;
    checked(&tell.0, decoder.telling(tell), compression.is_some())
}

/// Receives what a user should know of an input that was read nevertheless, with its name.
pub type Notice = fn(&str);
/// The name of an input, and the function that receives notices about it.
pub type Tell = (String, Notice);

/// The text in `bytes`, `inner` if it was compressed; input that is clearly not text is refused.
pub fn checked(name: &str, mut bytes: impl Read + 'static, inner: bool) -> Result<Box<dyn Read>> {
    let start = Start::read(|some, _| bytes.read(some))?.bytes;
    content::check(name, &start, inner)?;
    Ok(Box::new(Cursor::new(start).chain(bytes)))
}

/// How the bytes in `source` are compressed, by the first of them, which are returned with the rest.
pub fn recognize(mut source: Box<dyn Read>) -> io::Result<(Option<Compression>, Box<dyn Read>)> {
    let Start { bytes, compression } = Start::read(|bytes, _| source.read(bytes))?;
    Ok((compression, Box::new(Cursor::new(bytes).chain(source))))
}

/// The text in `source`, from a point on: as it is, or decompressed by a decoder in `room` bytes of a cap of `memory`.
///
/// If `every` is given, it notes where else reading can start: at each frame, and inside of a gzip member whenever that
/// many bytes of text follow the last point.
pub fn decoder(
    compression: Option<Compression>,
    mut source: Box<dyn Read>,
    from: &Point,
    every: Option<u64>,
    memory: u64,
    room: u64,
) -> Result<Decoder> {
    let Some(format) = compression else {
        return Ok(Decoder { compression, bytes: TextSource::Whole(source), tell: None });
    };
    let mut start = Vec::new();
    source.by_ref().take(HEADER).read_to_end(&mut start)?;
    let most = most_window(memory, room);
    let window = match format {
        Compression::Zstd => zstd_window(&start),
        Compression::Xz => xz_window(&start),
        _ => None,
    };
    if let Some(window) = window.filter(|&window| window > most) {
        let least = |power: u32| least_memory(power.into(), memory, room) >> 20;
        let remedy = match u32::try_from(window).map(u32::checked_next_power_of_two) {
            Ok(Some(power)) => format!("read it with --memory {}MiB or more", least(power)),
            _ => "no decoder takes so much; damaged? copy it again".to_owned(),
        };
        let by = match format {
            Compression::Xz => "xz -9 or --lzma2=dict=…",
            _ => "zstd --long or --ultra",
        };
        let size = Size(window);
        let why = format!("is compressed with a window of {size} ({by}); {remedy}");
        return Err(NeedsMemory(why).into());
    }
    let bytes = PageReader::new(1 << 16, Cursor::new(start).chain(source));
    let counted = |bytes| Counted::new(Box::new(bytes), from.input);
    let noting: Box<dyn Noting> = match format {
        Compression::Gzip => Box::new(Gzip::new(counted(bytes), from, every)),
        Compression::Zstd => Box::new(Zstd::new(counted(bytes), from.text, most.ilog2(), every)?),
        Compression::Bzip2 => {
            Box::new(Frames::new(frames::bzip2, counted(bytes), from.text, every))
        }
        Compression::Lz4 => Box::new(Frames::new(frames::lz4, counted(bytes), from.text, every)),
        Compression::Xz => {
            // Next to the window, it has small tables.
            let most = (most >> 10) + (1 << 10);
            let most = u32::try_from(most).unwrap_or(u32::MAX);
            let bytes = Box::new(lzma_rust2::XzReader::new_mem_limit(bytes, true, most));
            return Ok(Decoder { compression, bytes: TextSource::Whole(bytes), tell: None });
        }
    };
    Ok(Decoder { compression, bytes: TextSource::Noting(noting), tell: None })
}

/// Enough of an input to find the window of its first frame or block: a Zstandard frame needs 18 bytes, xz 12 and a
/// block's header of up to 1 KiB.
const HEADER: u64 = 12 + 1024;

/// A window may use one part in this many of the memory cap; the rest is for a filter or sorted lines.
const WINDOW_SHARE: u64 = 4;

/// The window that every decoder of Zstandard should support (RFC 8878, section 3.1.1.1.2), and xz's default. Other
/// formats have blocks of at most 4 MiB.
const LEAST_WINDOW: u64 = 8 << 20;

/// The largest window that a decoder may have, a power of two.
fn most_window(memory: u64, room: u64) -> u64 {
    1 << (memory / WINDOW_SHARE).min(room).max(LEAST_WINDOW).ilog2().min(31)
}

/// Decoders that may run at the same time in a cap of `memory`, each with a window of its part.
pub fn decoders(memory: u64) -> usize {
    usize::try_from(memory / WINDOW_SHARE / LEAST_WINDOW).unwrap_or(usize::MAX)
}

/// A cap, in whole MiB, under which a decoder may have this window: half of each additional byte goes to the room.
fn least_memory(window: u64, memory: u64, room: u64) -> u64 {
    let missing = window.saturating_sub(room).saturating_mul(2);
    window
        .saturating_mul(WINDOW_SHARE)
        .max(memory.saturating_add(missing))
        .checked_next_multiple_of(1 << 20)
        .unwrap_or(u64::MAX)
}

/// The window of the Zstandard frame that starts with these bytes (RFC 8878, section 3.1.1.1); `None` if they are
/// anything else.
pub(crate) fn zstd_window(frame: &[u8]) -> Option<u64> {
    let (magic, rest) = frame.split_first_chunk::<4>()?;
    let (&descriptor, rest) = rest.split_first()?;
    if u32::from_le_bytes(*magic) != 0xfd2f_b528 {
        return None;
    }
    if descriptor & 1 << 5 == 0 {
        let window = *rest.first()?;
        let base = 1 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // One segment: the window is as large as the content, whose size follows the number of a dictionary.
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = rest.get(dictionary..)?.get(..1 << (descriptor >> 6))?;
    let mut bytes = [0; 8];
    bytes[..size.len()].copy_from_slice(size);
    Some(u64::from_le_bytes(bytes))
}

/// The dictionary of the first block of xz in a file that starts with these bytes (The .xz File Format 1.2.1, sections 3.1
/// and 5.3.1). LZMA2 is the last filter of a block, followed by zeros and the checksum of the header.
fn xz_window(file: &[u8]) -> Option<u64> {
    let block = file.get(12..)?;
    let length = (usize::from(*block.first()?) + 1) * 4;
    let filters = block.get(..length)?.strip_suffix(block.get(length - 4..length)?)?;
    let lzma2 = filters.windows(3).rev().find(|bytes| bytes[..2] == [0x21, 1])?;
    match u32::from(lzma2[2]) {
        40 => Some(u64::from(u32::MAX)),
        size @ 0..40 => Some(u64::from(2 | size & 1) << (size / 2 + 11)),
        _ => None,
    }
}

/// A window is larger than there is room for.
#[derive(Debug)]
pub struct NeedsMemory(String);

impl NeedsMemory {
    /// Whether that is the cause of an error.
    pub fn is_cause(error: &anyhow::Error) -> bool {
        let inside = |cause: &(dyn Error + 'static)| {
            let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            inner.is_some_and(|inner| inner.is::<Self>())
        };
        error.chain().any(|cause| cause.is::<Self>() || inside(cause))
    }
}

impl Error for NeedsMemory {}

impl fmt::Display for NeedsMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text of an input; errors name the format.
pub struct Decoder {
    compression: Option<Compression>,
    bytes: TextSource,
    tell: Option<Tell>,
}

enum TextSource {
    /// Not compressed, or in a format without points other than its start.
    Whole(Box<dyn Read>),
    Noting(Box<dyn Noting>),
}

impl Decoder {
    /// Reports, at the end, bytes of its input that it ignores.
    #[must_use]
    pub fn telling(self, tell: &Tell) -> Self {
        Self { tell: Some(tell.clone()), ..self }
    }

    /// Known when all text was read.
    pub(crate) fn trailing(&self) -> Trailing {
        let TextSource::Noting(noting) = &self.bytes else { return None };
        noting.trailing()
    }

    /// Takes the points passed since the last call.
    pub fn points(&mut self) -> Vec<Point> {
        match &mut self.bytes {
            TextSource::Whole(_) => Vec::new(),
            TextSource::Noting(noting) => std::mem::take(noting.points()),
        }
    }
}

impl Read for Decoder {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.bytes {
            TextSource::Whole(source) => source.read(bytes),
            TextSource::Noting(noting) => noting.read(bytes),
        };
        if let (Ok(0), Some((at, false))) = (&read, self.trailing())
            && let Some((name, notice)) = self.tell.take()
        {
            notice(&format!(
                "{name}: the gzip data ends at byte {at}; the bytes after it are not gzip and were ignored"
            ));
        }
        let Some(format) = self.compression.map(Compression::name) else { return read };
        read.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => io::Error::other(format!(
                "the {format} data is truncated; copy or download the file again"
            )),
            // Errors of the system are passed on.
            _ if error.raw_os_error().is_some() || error.kind() == ErrorKind::Interrupted => error,
            // As Zstandard reports a later frame.
            kind if kind == ErrorKind::OutOfMemory
                || error.to_string().contains("too much memory") =>
            {
                io::Error::other(NeedsMemory(format!(
                    "the {format} data needs more memory than the cap allows; raise --memory"
                )))
            }
            _ => io::Error::other(format!(
                "the {format} data is damaged: {error}; copy or download the file again"
            )),
        })
    }
}
