//! How pages are decompressed: to exactly the bytes that their headers declare, so a page uses at most the memory that
//! was admitted for it.

use std::io::Read;

use anyhow::{Result, bail, ensure};

/// The most bytes of memory that a decoder uses besides pages. Codecs not named here use little.
pub(crate) fn memory(number: i64) -> u64 {
    match number {
        // A window of 16 MiB, the 8 MiB one it grew from, and up to 4 MiB of codes.
        BROTLI => 28 << 20,
        // If it is in a frame: a block of 8 MiB, and its text.
        LZ4 => 16 << 20,
        _ => 0,
    }
}

/// The numbers of Brotli and LZ4 in the format.
const BROTLI: i64 = 4;
const LZ4: i64 = 5;

/// The advice for a file that is compressed differently.
const AGAIN: &str =
    "write the file again with another codec, such as ZSTD, with the system that made it";

/// A codec.
pub(crate) enum Codec {
    None,
    Snappy(snap::raw::Decoder),
    Gzip,
    Brotli,
    /// Hadoop's LZ4, or other formats that writers used under its number.
    Lz4,
    Zstd(zstd::bulk::Decompressor<'static>),
    Lz4Raw,
}

impl Codec {
    /// The codec of this number in the format.
    pub(crate) fn new(number: i64) -> Result<Self> {
        Ok(match number {
            0 => Self::None,
            1 => Self::Snappy(snap::raw::Decoder::new()),
            2 => Self::Gzip,
            BROTLI => Self::Brotli,
            LZ4 => Self::Lz4,
            6 => Self::Zstd(zstd::bulk::Decompressor::new()?),
            7 => Self::Lz4Raw,
            3 => bail!("is compressed as LZO, which umbel does not read; {AGAIN}"),
            other => bail!("is compressed by codec {other}, which umbel does not know; {AGAIN}"),
        })
    }

    /// Whether pages are in the file as they are.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Fills `to`, to the last byte.
    pub(crate) fn decompress(&mut self, from: &[u8], to: &mut [u8]) -> Result<()> {
        let (wanted, wrong) = (to.len(), "decompresses to more or fewer bytes than declared");
        let done = match self {
            Self::None => bail!("is not compressed"),
            Self::Snappy(decoder) => {
                // The length is declared at the start, so a wrong one is noticed first.
                ensure!(snap::raw::decompress_len(from)? == wanted, wrong);
                decoder.decompress(from, to)?
            }
            Self::Gzip => fill(flate2::read::MultiGzDecoder::new(from), to)?,
            Self::Brotli => {
                // An extension outside Parquet and Brotli's standard: up to 1 GiB. RFC 7932, section 9.1.
                let large = from.first().is_some_and(|first| first & 0x7f == 0x11);
                ensure!(!large, "has a Brotli window larger than 16 MiB");
                fill(brotli_decompressor::Decompressor::new(from, 4096), to)?
            }
            Self::Lz4 => match hadoop(from, to) {
                Some(()) => wanted,
                None => match fill(lz4_flex::frame::FrameDecoder::new(from), to) {
                    Ok(length) => length,
                    Err(_) => lz4_flex::block::decompress_into(from, to)?,
                },
            },
            Self::Zstd(decoder) => decoder.decompress_to_buffer(from, to)?,
            Self::Lz4Raw => lz4_flex::block::decompress_into(from, to)?,
        };
        ensure!(done == wanted, wrong);
        Ok(())
    }
}

/// Fills `to`; the length is longer if there is more.
fn fill(mut from: impl Read, to: &mut [u8]) -> Result<usize> {
    let mut done = 0;
    while done < to.len() {
        match from.read(&mut to[done..])? {
            0 => return Ok(done),
            read => done += read,
        }
    }
    // Also reads the checksum at the end.
    Ok(done + from.read(&mut [0])?)
}

/// Hadoop's frames: big-endian lengths of text and block, then the block.
fn hadoop(mut from: &[u8], mut to: &mut [u8]) -> Option<()> {
    let number = |from: &mut &[u8]| {
        let bytes = from.split_off(..4)?.try_into().expect("it has 4 bytes");
        Some(u32::from_be_bytes(bytes) as usize)
    };
    while !from.is_empty() {
        let text = number(&mut from)?;
        let block = number(&mut from)?;
        let text = to.split_off_mut(..text)?;
        let done = lz4_flex::block::decompress_into(from.split_off(..block)?, text);
        done.ok().filter(|done| *done == text.len())?;
    }
    to.is_empty().then_some(())
}
