//! Compressed inputs: recognized by their first bytes, whatever their name, and decompressed while they are read.

use std::error::Error;
use std::fmt;
use std::io::{self, Cursor, ErrorKind, Read};

use anyhow::Result;

use umbel_numbers::Size;
use umbel_sets::PageReader;

use crate::content;
use crate::frames::{self, Counted, Frames, Gzip, Noting, Zstd};

pub use crate::frames::{Point, Resume};

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// Zstandard, RFC 8878.
    Zstd,
    /// The .xz file format.
    Xz,
    /// Of bzip2.
    Bzip2,
    /// Frames of LZ4.
    Lz4,
}

/// What the first bytes of an input show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// So far they may be either.
    Nothing,
    Plain,
    Compressed(Compression),
}

/// The first bytes of a format, each within a range.
type Sign = &'static [(u8, u8)];

const fn one(byte: u8) -> (u8, u8) {
    (byte, byte)
}

/// As many bytes as each format has that no text begins with: a file of text whose first word is `BZh9` stays text.
const SIGNS: [(Compression, Sign); 7] = [
    // RFC 1952: the method is deflate, and the flags with no meaning are zero.
    (Compression::Gzip, &[one(0x1f), one(0x8b), one(8), (0, 0x1f)]),
    // RFC 8878: a frame, or one to be skipped, which parallel compressors put first.
    (Compression::Zstd, &[one(0x28), one(0xb5), one(0x2f), one(0xfd)]),
    (Compression::Zstd, &[(0x50, 0x5f), one(0x2a), one(0x4d), one(0x18)]),
    (Compression::Xz, &[one(0xfd), one(b'7'), one(b'z'), one(b'X'), one(b'Z'), one(0)]),
    // A level, and the start of a block, π; or of nothing compressed the end of the stream, √π.
    (Compression::Bzip2, &bzip2(*b"\x31\x41\x59\x26\x53\x59")),
    (Compression::Bzip2, &bzip2(*b"\x17\x72\x45\x38\x50\x90")),
    (Compression::Lz4, &[one(4), one(0x22), one(0x4d), one(0x18)]),
];

const fn bzip2(block: [u8; 6]) -> [(u8, u8); 10] {
    let [a, b, c, d, e, f] = block;
    let level = (b'1', b'9');
    [one(b'B'), one(b'Z'), one(b'h'), level, one(a), one(b), one(c), one(d), one(e), one(f)]
}

fn told(start: &[u8]) -> Told {
    let mut told = Told::Plain;
    for (compression, sign) in SIGNS {
        let fits = |(byte, (low, high)): (&u8, &(u8, u8))| (low..=high).contains(&byte);
        if start.iter().zip(sign).all(fits) {
            if start.len() >= sign.len() {
                return Told::Compressed(compression);
            }
            told = Told::Nothing;
        }
    }
    told
}

/// The name of the format that bytes which start so are compressed with, if they are.
pub(crate) fn name_of(start: &[u8]) -> Option<&'static str> {
    match told(start) {
        Told::Compressed(compression) => Some(compression.name()),
        _ => None,
    }
}

/// The first bytes of an input, and how they are compressed, if they are.
pub(crate) struct Start {
    pub(crate) bytes: Vec<u8>,
    pub(crate) compression: Option<Compression>,
}

impl Start {
    /// Reads them: in one go, if that is enough to recognize a compression; `read_at` gives some bytes from an offset on.
    pub(crate) fn read(
        mut read_at: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
    ) -> io::Result<Self> {
        let mut bytes = vec![0; content::START];
        let mut filled = 0;
        let compression = loop {
            match told(&bytes[..filled]) {
                Told::Plain => break None,
                Told::Compressed(compression) => break Some(compression),
                Told::Nothing => match read_at(&mut bytes[filled..], filled as u64) {
                    Ok(0) => break None,
                    Ok(read) => filled += read,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                },
            }
        };
        bytes.truncate(filled);
        Ok(Self { bytes, compression })
    }
}

/// The lines in `source`, named `name`: its bytes, decompressed if they are compressed, by a decoder in `room` bytes of a cap
/// of `memory`. At first, no more of a pipe is awaited than needed to recognize it.
pub fn decompressed(
    name: &str,
    source: Box<dyn Read>,
    memory: u64,
    room: u64,
) -> Result<Box<dyn Read>> {
    let (compression, source) = recognize(source)?;
    checked(name, decoder(compression, source, &Point::default(), None, memory, room)?)
}

/// The text in `bytes`; what is certainly no text is refused.
pub(crate) fn checked(name: &str, mut bytes: impl Read + 'static) -> Result<Box<dyn Read>> {
    let start = Start::read(|some, _| bytes.read(some))?.bytes;
    content::check(name, &start)?;
    Ok(Box::new(Cursor::new(start).chain(bytes)))
}

/// How the bytes in `source` are compressed, by the first of them, which are returned with the rest.
pub fn recognize(mut source: Box<dyn Read>) -> io::Result<(Option<Compression>, Box<dyn Read>)> {
    let Start { bytes, compression } = Start::read(|bytes, _| source.read(bytes))?;
    Ok((compression, Box::new(Cursor::new(bytes).chain(source))))
}

/// The text in `source`, from a point on: as it is, or decompressed by a decoder in `room` bytes of a cap of `memory`.
///
/// It notes where else reading can start, if `every` is given: at each frame, and inside of a member of gzip each time that
/// so many bytes of text are behind the last point.
pub fn decoder(
    compression: Option<Compression>,
    mut source: Box<dyn Read>,
    from: &Point,
    every: Option<u64>,
    memory: u64,
    room: u64,
) -> Result<Decoder> {
    let Some(format) = compression else {
        return Ok(Decoder { compression, bytes: Bytes::Whole(source) });
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
        return Err(NeedsMemory(format!(
            "compressed with a window of {} ({}); decompress it with --memory {}MiB or more",
            Size(window),
            format.large_windows(),
            least_memory(window.next_power_of_two(), memory, room) >> 20
        ))
        .into());
    }
    let bytes = PageReader::new(1 << 16, Cursor::new(start).chain(source));
    let counted = |bytes| Counted::new(Box::new(bytes), from.input);
    let noting: Box<dyn Noting> = match format {
        Compression::Gzip => {
            Box::new(Gzip::new(counted(bytes), from.text, from.resume.clone(), every))
        }
        Compression::Zstd => Box::new(Zstd::new(counted(bytes), from.text, most.ilog2(), every)?),
        Compression::Bzip2 => {
            Box::new(Frames::new(frames::bzip2, counted(bytes), from.text, every))
        }
        Compression::Lz4 => Box::new(Frames::new(frames::lz4, counted(bytes), from.text, every)),
        Compression::Xz => {
            // Beside the window, it has small tables.
            let most = (most >> 10) + (1 << 10);
            let most = u32::try_from(most).unwrap_or(u32::MAX);
            let bytes = Box::new(lzma_rust2::XzReader::new_mem_limit(bytes, true, most));
            return Ok(Decoder { compression, bytes: Bytes::Whole(bytes) });
        }
    };
    Ok(Decoder { compression, bytes: Bytes::Noting(noting) })
}

/// Enough of an input for the window of its first frame or block: of a frame of Zstandard 18 bytes, of xz 12 and a block's
/// header, which may have 1 KiB.
const HEADER: u64 = 12 + 1024;

/// A window may use one part in this many of the memory cap; the rest is for a filter or sorted lines.
const WINDOW_SHARE: u64 = 4;

/// What every decoder of Zstandard should support (RFC 8878, section 3.1.1.1.2), and xz has by default. Other formats have
/// blocks of at most 4 MiB.
const LEAST_WINDOW: u64 = 8 << 20;

/// The largest window that a decoder may have, a power of two.
fn most_window(memory: u64, room: u64) -> u64 {
    1 << (memory / WINDOW_SHARE).min(room).max(LEAST_WINDOW).ilog2().min(31)
}

/// Decoders that may run at once in a cap of `memory`, each with a window of its part.
pub(crate) fn decoders(memory: u64) -> usize {
    usize::try_from(memory / WINDOW_SHARE / LEAST_WINDOW).unwrap_or(usize::MAX)
}

/// A cap, in whole MiB, under which a decoder may have this window: of each additional byte, half goes to the room.
fn least_memory(window: u64, memory: u64, room: u64) -> u64 {
    let missing = window.saturating_sub(room).saturating_mul(2);
    window
        .saturating_mul(WINDOW_SHARE)
        .max(memory.saturating_add(missing))
        .checked_next_multiple_of(1 << 20)
        .unwrap_or(u64::MAX)
}

/// The window of the frame of Zstandard that starts with these bytes (RFC 8878, section 3.1.1.1); none when they are
/// something else.
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

impl Compression {
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
            Self::Lz4 => "lz4",
        }
    }

    /// The options that make its windows large.
    fn large_windows(self) -> &'static str {
        match self {
            Self::Xz => "xz -9 or --lzma2=dict=…",
            _ => "zstd --long or --ultra",
        }
    }
}

/// A window is larger than there is room for.
#[derive(Debug)]
pub(crate) struct NeedsMemory(String);

impl NeedsMemory {
    /// Whether that is the cause of an error.
    pub(crate) fn is_cause(error: &anyhow::Error) -> bool {
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
    bytes: Bytes,
}

enum Bytes {
    /// Not compressed, or by a format with no points but its start.
    Whole(Box<dyn Read>),
    Noting(Box<dyn Noting>),
}

impl Decoder {
    /// Takes the points that were passed since the last call.
    pub fn points(&mut self) -> Vec<Point> {
        match &mut self.bytes {
            Bytes::Whole(_) => Vec::new(),
            Bytes::Noting(noting) => std::mem::take(noting.points()),
        }
    }
}

impl Read for Decoder {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.bytes {
            Bytes::Whole(source) => source.read(bytes),
            Bytes::Noting(noting) => noting.read(bytes),
        };
        let Some(format) = self.compression.map(Compression::name) else { return read };
        read.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => io::Error::other(format!(
                "the {format} data is truncated; copy or download the file again"
            )),
            // Errors of the system are passed on.
            _ if error.raw_os_error().is_some() || error.kind() == ErrorKind::Interrupted => error,
            // As Zstandard says it of a frame after the first.
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
