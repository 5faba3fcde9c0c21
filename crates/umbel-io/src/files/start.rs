//! The first bytes of an input, which show its compression, whatever its name; and what names say about it.

use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::{Result, bail};

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// Zstandard, RFC 8878.
    Zstd,
    /// The .xz file format.
    Xz,
    /// bzip2.
    Bzip2,
    /// Frames of LZ4.
    Lz4,
}

/// Enough bytes to recognize a compression and any content: the sign of a tar archive is in the first block of 512.
pub(crate) const BYTES: usize = 4096;

impl Compression {
    /// The compression that the ending of a name tells.
    pub fn of_name(path: &Path) -> Option<Self> {
        match &path.extension()?.to_str()?.to_ascii_lowercase()[..] {
            "gz" | "gzip" | "bgz" => Some(Self::Gzip),
            "zst" | "zstd" => Some(Self::Zstd),
            "xz" => Some(Self::Xz),
            "bz2" => Some(Self::Bzip2),
            "lz4" => Some(Self::Lz4),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
            Self::Lz4 => "lz4",
        }
    }
}

/// Refuses a name for results with the ending of a compressed file: results are never compressed.
///
/// # Errors
/// If the name has the ending of a compression format of inputs.
pub fn check_result_name(path: &Path) -> Result<()> {
    let (Some(ending), Some(compression)) = (path.extension(), Compression::of_name(path)) else {
        return Ok(());
    };
    let ending = ending.display();
    bail!(
        "{}: .{ending} is for {} data, and results are not compressed; omit .{ending}, and compress the file afterwards",
        path.display(),
        compression.name()
    )
}

/// The conclusion from the first bytes of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sniffed {
    /// So far they may be either.
    Undecided,
    Plain,
    Compressed(Compression),
}

/// The first bytes of a format, each within a range.
type Sign = &'static [(u8, u8)];

const fn one(byte: u8) -> (u8, u8) {
    (byte, byte)
}

/// As many bytes of each format as no text begins with: a text file whose first word is `BZh9` stays text.
const SIGNS: [(Compression, Sign); 7] = [
    // RFC 1952: the method is deflate, and the reserved flags are zero.
    (Compression::Gzip, &[one(0x1f), one(0x8b), one(8), (0, 0x1f)]),
    // RFC 8878: a frame, or one to be skipped, which parallel compressors put first.
    (Compression::Zstd, &[one(0x28), one(0xb5), one(0x2f), one(0xfd)]),
    (Compression::Zstd, &[(0x50, 0x5f), one(0x2a), one(0x4d), one(0x18)]),
    (Compression::Xz, &[one(0xfd), one(b'7'), one(b'z'), one(b'X'), one(b'Z'), one(0)]),
    // A level, and the start of a block, π; for empty content, the end of the stream, √π.
    (Compression::Bzip2, &bzip2(*b"\x31\x41\x59\x26\x53\x59")),
    (Compression::Bzip2, &bzip2(*b"\x17\x72\x45\x38\x50\x90")),
    (Compression::Lz4, &[one(4), one(0x22), one(0x4d), one(0x18)]),
];

const fn bzip2(block: [u8; 6]) -> [(u8, u8); 10] {
    let [a, b, c, d, e, f] = block;
    let level = (b'1', b'9');
    [one(b'B'), one(b'Z'), one(b'h'), level, one(a), one(b), one(c), one(d), one(e), one(f)]
}

fn sniff(start: &[u8]) -> Sniffed {
    let mut sniffed = Sniffed::Plain;
    for (compression, sign) in SIGNS {
        let fits = |(byte, (low, high)): (&u8, &(u8, u8))| (low..=high).contains(&byte);
        if start.iter().zip(sign).all(fits) {
            if start.len() >= sign.len() {
                return Sniffed::Compressed(compression);
            }
            sniffed = Sniffed::Undecided;
        }
    }
    sniffed
}

/// The name of the compression of bytes that start like this, if they are compressed.
pub(crate) fn name_of(start: &[u8]) -> Option<&'static str> {
    match sniff(start) {
        Sniffed::Compressed(compression) => Some(compression.name()),
        _ => None,
    }
}

/// The first bytes of an input, and how they are compressed, if they are.
pub struct Start {
    /// The bytes read.
    pub bytes: Vec<u8>,
    /// Their compression.
    pub compression: Option<Compression>,
}

impl Start {
    /// Reads them: in one go, if that is enough to recognize a compression; `read_at` gives some bytes from an offset on.
    pub fn read(mut read_at: impl FnMut(&mut [u8], u64) -> io::Result<usize>) -> io::Result<Self> {
        let mut bytes = vec![0; BYTES];
        let mut filled = 0;
        let compression = loop {
            match sniff(&bytes[..filled]) {
                Sniffed::Plain => break None,
                Sniffed::Compressed(compression) => break Some(compression),
                Sniffed::Undecided => match read_at(&mut bytes[filled..], filled as u64) {
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
