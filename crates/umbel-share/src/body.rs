//! The common part of packed files and deltas: an envelope around a filter's file, whose payload is in frames.
//!
//! ```text
//!  0  magic, 8 bytes                            header_length  the header of the filter's file
//!  8  version        u16                        8              XXH3-64 of all before
//! 10  zeros, 2 bytes                            …              frames of 1 MiB of the payload
//! 12  header_length  u32                        tail_length    the rest of the filter's file
//! 16  tail_length    u64                        8 or 32        sum of the filter's file
//! 24  more fields of a delta                    8              XXH3-64 of the tail and that, seeded with the frames
//! ```
//! The header of the filter's file gives the length of its payload. The sum is XXH3-64 in a packed file, which always
//! makes the same filter, and SHA-256 in a delta, whose result depends on a base that may be unsigned.

use std::hash::Hasher;
use std::io::{self, Read, Seek, SeekFrom, Write};

use sha2::{Digest, Sha256};
use twox_hash::XxHash3_64;
use twox_hash::xxhash3_64::Hasher as Xxh3;
use umbel::FileError;
use umbel::internals::format::{self, Header, Reader};

use crate::ShareError;
use crate::frame::{self, FRAME};
use crate::sign::{self, Signature};

const VERSION: u16 = 1;
/// Fields that packed files and deltas share.
const COMMON: usize = 24;

/// Which of the two a file is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) magic: [u8; 8],
    pub(crate) what: &'static str,
    /// Bytes of its own fields.
    pub(crate) fields: usize,
    /// Whether the sum of the filter's file is SHA-256.
    pub(crate) digest: bool,
}

/// The file of a filter, maybe signed, read front to back.
pub(crate) struct Source<R> {
    source: R,
    header: Header,
    /// Bytes of the file, with the signature.
    length: u64,
}

/// Identifies a filter's file: the checksum of its header, and the checksum of its table of checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) header: u64,
    pub(crate) table: u64,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(mut source: R, length: u64) -> Result<Self, ShareError> {
        let header = Reader::begin(&mut source, length)?.header().clone();
        let declared = format::length_of(header.bytes())?;
        let source = Self { source, header, length };
        match length.checked_sub(declared) {
            Some(more) if [0, sign::BLOCK as u64].contains(&more) => Ok(source),
            _ => Err(source.appended(declared)),
        }
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Its payload alone, without what follows it.
    pub(crate) fn into_payload(self) -> Reader<R> {
        Reader::of(self.source, self.header)
    }

    /// Reads its payload, and compares it with the checksums.
    pub(crate) fn check(self) -> Result<(), ShareError> {
        let mut left = self.header.payload_length();
        let mut piece = vec![0; left.min(FRAME as u64) as usize];
        let mut payload = self.into_payload();
        while left > 0 {
            let piece = &mut piece[..left.min(FRAME as u64) as usize];
            payload.read(piece)?;
            left -= piece.len() as u64;
        }
        Ok(payload.finish().map(drop)?)
    }

    /// Bytes after the payload.
    fn tail_length(&self) -> u64 {
        self.length - self.header.bytes().len() as u64 - self.header.payload_length()
    }

    /// The signature, after the payload was read to its end; nothing if there is none.
    fn signature(&mut self) -> Result<Vec<u8>, ShareError> {
        let mut block = Vec::new();
        self.source.by_ref().take(sign::BLOCK as u64 + 1).read_to_end(&mut block)?;
        let declared = format::length_of(self.header.bytes())?;
        if self.length - declared != block.len() as u64 {
            return Err(ShareError::Appended { what: "filter" });
        }
        if is_signature(&block, self.length)? { Ok(block) } else { Err(self.appended(declared)) }
    }

    /// The file has another length than its header declares.
    fn appended(&self, declared: u64) -> ShareError {
        FileError::Length(declared, self.length).into()
    }
}

/// Whether a filter is followed by nothing, or by the signature of a file that then has `length` bytes.
fn is_signature(block: &[u8], length: u64) -> Result<bool, ShareError> {
    match block.first_chunk() {
        Some(block) => Ok(Signature::parse(*block, length)?.is_some()),
        None => Ok(block.is_empty()),
    }
}

impl<R: Read + Seek> Source<R> {
    /// The id of the file, without reading its payload.
    pub(crate) fn id(&mut self) -> Result<Id, ShareError> {
        let start = self.header.bytes().len() as u64;
        let end = format::length_of(self.header.bytes())?;
        let mut table = [0; 8];
        self.source.seek(SeekFrom::Start(end - 8))?;
        self.source.read_exact(&mut table)?;
        self.signature()?;
        self.source.seek(SeekFrom::Start(start))?;
        let header = self.header.bytes().last_chunk().expect("a header has more bytes");
        Ok(Id { header: u64::from_le_bytes(*header), table: u64::from_le_bytes(table) })
    }
}

/// The sum of a filter's file. Compiled (and optimized) here, not in the crates that read files.
enum Whole {
    Checksum(Box<Xxh3>),
    Digest(Sha256),
}

impl Whole {
    fn of(form: Form) -> Self {
        match form.digest {
            false => Self::Checksum(Box::new(Xxh3::with_seed(0))),
            true => Self::Digest(Sha256::new()),
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        match self {
            Self::Checksum(hash) => hash.write(bytes),
            Self::Digest(hash) => hash.update(bytes),
        }
    }

    /// Bytes of the sum.
    fn length(&self) -> usize {
        match self {
            Self::Checksum(_) => 8,
            Self::Digest(_) => 32,
        }
    }

    fn sum(&self) -> Vec<u8> {
        match self {
            Self::Checksum(hash) => hash.finish().to_le_bytes().to_vec(),
            Self::Digest(hash) => hash.clone().finalize().to_vec(),
        }
    }
}

/// Writes `source` in its envelope; `mask` turns a piece of the payload into what is coded.
pub(crate) fn write<R: Read>(
    source: &mut Source<R>,
    form: Form,
    fields: &[u8],
    out: &mut dyn Write,
    mut mask: impl FnMut(&mut [u8]) -> Result<(), ShareError>,
) -> Result<u64, ShareError> {
    let header = source.header.bytes();
    let version = VERSION.to_le_bytes();
    let lengths = ((header.len() as u32).to_le_bytes(), source.tail_length().to_le_bytes());
    let parts = [&form.magic[..], &version, &[0; 2], &lengths.0, &lengths.1, fields, header];
    let mut start = parts.concat();
    let sum = XxHash3_64::oneshot(&start);
    start.extend_from_slice(&sum.to_le_bytes());
    out.write_all(&start)?;
    let mut written = start.len() as u64;

    let mut whole = Whole::of(form);
    whole.add(header);
    let mut left = source.header.payload_length();
    let mut piece = vec![0; left.min(FRAME as u64) as usize];
    let mut payload = Reader::of(&mut source.source, source.header.clone());
    let mut frames = 0;
    while left > 0 {
        let piece = &mut piece[..left.min(FRAME as u64) as usize];
        payload.read(piece)?;
        whole.add(piece);
        mask(piece)?;
        written += frame::write(piece, frames, out)?;
        frames += 1;
        left -= piece.len() as u64;
    }
    let mut end = payload.finish()?;
    end.extend(source.signature()?);
    whole.add(&end);
    end.extend_from_slice(&whole.sum());
    let sum = XxHash3_64::oneshot_with_seed(frames, &end);
    end.extend_from_slice(&sum.to_le_bytes());
    out.write_all(&end)?;
    Ok(written + end.len() as u64)
}

/// The piece of a file that is read next, and how much of it was read.
#[derive(Default)]
pub(crate) struct Pieces {
    piece: Vec<u8>,
    at: usize,
}

impl Pieces {
    /// Reads on; `next` replaces a piece that was read to its end.
    pub(crate) fn read(
        &mut self,
        out: &mut [u8],
        next: impl FnOnce(&mut Vec<u8>) -> Result<(), ShareError>,
    ) -> io::Result<usize> {
        if self.at == self.piece.len() {
            self.at = 0;
            next(&mut self.piece)?;
        }
        let count = out.len().min(self.piece.len() - self.at);
        out[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Reads a filter's file out of its envelope.
pub(crate) struct Body<R> {
    source: R,
    what: &'static str,
    header: Header,
    fields: Vec<u8>,
    tail_length: usize,
    left: u64,
    frames: u64,
    whole: Whole,
    /// Its frames stay masked, so the checksum of the filter's file cannot be compared.
    is_masked: bool,
    stage: Stage,
}

/// The part to read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Header,
    Payload,
    Done,
}

impl<R: Read> Body<R> {
    /// Reads and checks everything before the frames, and that the filter's file has at most `most` bytes.
    pub(crate) fn new(mut source: R, form: Form, most: u64) -> Result<Self, ShareError> {
        let what = form.what;
        let damaged = || ShareError::HeaderDamaged { what };
        let mut start = Vec::new();
        source.by_ref().take(COMMON as u64).read_to_end(&mut start)?;
        let magic = &start[..start.len().min(8)];
        if magic != form.magic {
            return Err(ShareError::Other { expected: what, found: magic.to_vec() });
        }
        if start.len() < COMMON {
            return Err(ShareError::Truncated { what });
        }
        let version = u16::from_le_bytes([start[8], start[9]]);
        if version != VERSION {
            return Err(ShareError::Version { what, found: version });
        }
        let length = u32::from_le_bytes(start[12..16].try_into().expect("four bytes")) as usize;
        let tail_length = u64::from_le_bytes(start[16..24].try_into().expect("eight bytes"));
        // Filter headers are never longer.
        if length > 1 << 17 {
            return Err(damaged());
        }
        start.resize(COMMON + form.fields + length + 8, 0);
        source.read_exact(&mut start[COMMON..]).map_err(|error| frame::early(error, what))?;
        let (covered, sum) = start.split_at(start.len() - 8);
        if XxHash3_64::oneshot(covered).to_le_bytes() != sum || start[10..12] != [0; 2] {
            return Err(damaged());
        }
        let (fields, header) = covered[COMMON..].split_at(form.fields);
        let whole_length = format::length_of(header)?;
        let header = Reader::new(header, whole_length)?.header().clone();
        if header.bytes().len() != length {
            return Err(damaged());
        }
        let sums = whole_length - length as u64 - header.payload_length();
        if ![sums, sums + sign::BLOCK as u64].contains(&tail_length) {
            return Err(damaged());
        }
        let bytes = header.file_length()?.saturating_add(tail_length - sums);
        if bytes > most {
            return Err(ShareError::Unfolds { what, bytes, most });
        }
        Ok(Self {
            fields: fields.to_vec(),
            left: header.payload_length(),
            tail_length: usize::try_from(tail_length).map_err(|_| damaged())?,
            source,
            what,
            header,
            frames: 0,
            whole: Whole::of(form),
            is_masked: false,
            stage: Stage::Header,
        })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    pub(crate) fn fields(&self) -> &[u8] {
        &self.fields
    }

    /// Bytes of the filter's file.
    pub(crate) fn length(&self) -> u64 {
        let header = self.header.bytes().len() as u64;
        header + self.header.payload_length() + self.tail_length as u64
    }

    /// Returns the next piece of the filter's file; an empty one after the last, when all checksums are verified.
    /// `unmask` turns what was coded into the payload.
    pub(crate) fn next(
        &mut self,
        piece: &mut Vec<u8>,
        unmask: impl FnOnce(&mut [u8]) -> Result<(), ShareError>,
    ) -> Result<(), ShareError> {
        piece.clear();
        match self.stage {
            Stage::Header => {
                piece.extend_from_slice(self.header.bytes());
                self.stage = Stage::Payload;
            }
            Stage::Payload if self.left > 0 => {
                piece.resize(self.left.min(FRAME as u64) as usize, 0);
                frame::read(&mut self.source, self.frames, piece, self.what)?;
                unmask(piece)?;
                self.frames += 1;
                self.left -= piece.len() as u64;
            }
            Stage::Payload => {
                self.read_tail(piece)?;
                self.stage = Stage::Done;
                return Ok(());
            }
            Stage::Done => return Ok(()),
        }
        self.whole.add(piece);
        Ok(())
    }

    /// Reads and checks the end, and checks what was returned before it.
    fn read_tail(&mut self, tail: &mut Vec<u8>) -> Result<(), ShareError> {
        let what = self.what;
        tail.resize(self.tail_length + self.whole.length() + 8, 0);
        self.source.read_exact(tail).map_err(|error| frame::early(error, what))?;
        let (covered, sum) = tail.split_at(tail.len() - 8);
        let whole_sum = &covered[self.tail_length..];
        self.whole.add(&covered[..self.tail_length]);
        if XxHash3_64::oneshot_with_seed(self.frames, covered).to_le_bytes() != sum {
            return Err(ShareError::EndDamaged { what });
        }
        if !self.is_masked && self.whole.sum() != whole_sum {
            return Err(match self.whole {
                Whole::Checksum(_) => ShareError::EndDamaged { what },
                Whole::Digest(_) => ShareError::OtherResult,
            });
        }
        tail.truncate(self.tail_length);
        let sums = self.header.file_length()? - (self.length() - self.tail_length as u64);
        if !is_signature(&tail[sums as usize..], self.length())? {
            return Err(ShareError::NoSignature { what });
        }
        if self.source.read(&mut [0])? > 0 {
            return Err(ShareError::Appended { what });
        }
        Ok(())
    }

    /// Reads to the end, and checks everything that needs no base of a delta.
    pub(crate) fn check(mut self) -> Result<(), ShareError> {
        let mut piece = Vec::new();
        self.is_masked = matches!(self.whole, Whole::Digest(_));
        while self.stage != Stage::Done {
            self.next(&mut piece, |_| Ok(()))?;
        }
        Ok(())
    }
}
