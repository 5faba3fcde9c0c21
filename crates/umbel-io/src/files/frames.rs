//! Decoders that note where reading can start again: at frames, members and streams that follow one another, and inside a
//! member of gzip, whose decoder needs the 32 KiB of text before.

use std::io::{self, BufRead, Chain, Cursor, ErrorKind, Read};

use bzip2::bufread::BzDecoder;
use lz4_flex::frame::FrameDecoder;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{
    BlockBoundaryState, DecompressorOxide, decompress, inflate_flags,
};
use zlib_rs::InflateFlush;
use zstd::stream::raw::{DParameter, Decoder, Operation};

use super::pages::read_up_to;

/// A place of a compressed input where reading can start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Bytes of the input before it.
    pub input: u64,
    /// Bytes of the text before it.
    pub text: u64,
    /// The text before it that the decoder needs, inside of a member of gzip.
    pub resume: Option<Resume>,
}

/// The state from which a decoder of deflate can start between two blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// Bits of the byte before that belong to the next block, from 0 to 7, and these bits.
    pub bits: u8,
    /// See `bits`.
    pub byte: u8,
    /// The last text before, up to 32 KiB.
    pub window: Vec<u8>,
}

impl Resume {
    /// As bytes: the length of the rest as a u32, `bits`, `byte`, and `window` as a stream of deflate.
    pub fn encode(&self) -> Vec<u8> {
        // Level 6: a window of logs then has 7 KiB, and takes a tenth of the time of the 4 MiB around it.
        let window = miniz_oxide::deflate::compress_to_vec(&self.window, 6);
        let length = u32::try_from(window.len() + 2).expect("about 32 KiB");
        [&length.to_le_bytes()[..], &[self.bits, self.byte], &window].concat()
    }

    /// Decodes such bytes; `None` if they are invalid.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let ([bits, byte], packed) = rest.split_first_chunk::<2>()?;
        if u32::from_le_bytes(*length) as usize != rest.len() || *bits > 7 {
            return None;
        }
        let window = miniz_oxide::inflate::decompress_to_vec_with_limit(packed, WINDOW).ok()?;
        Some(Self { bits: *bits, byte: *byte, window })
    }
}

/// The bytes after the last gzip member: the number of input bytes before them, and whether all of them are zeros, the
/// padding of a tape.
pub(crate) type Trailing = Option<(u64, bool)>;

/// A decoder that notes points.
pub(crate) trait Noting: Read {
    /// The points that were passed and not yet taken.
    fn points(&mut self) -> &mut Vec<Point>;

    /// Known when all text was read.
    fn trailing(&self) -> Trailing {
        None
    }
}

/// The rest of an input, and the number of bytes read.
pub(crate) struct Counted {
    source: Box<dyn BufRead>,
    passed: u64,
}

impl Counted {
    /// From a place on, with `passed` bytes before it.
    pub(crate) fn new(source: Box<dyn BufRead>, passed: u64) -> Self {
        Self { source, passed }
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn skip(&mut self, length: u64) -> io::Result<()> {
        match io::copy(&mut self.by_ref().take(length), &mut io::sink())? {
            copied if copied < length => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

impl Read for Counted {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(bytes)?;
        self.passed += read as u64;
        Ok(read)
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.source.consume(amount);
        self.passed += amount as u64;
    }
}

/// The points of a decoder: noted only if a caller takes them.
struct Points {
    noted: Vec<Point>,
    /// The minimum bytes of text between two points inside of a member of gzip.
    every: Option<u64>,
    text: u64,
    last: u64,
}

impl Points {
    fn new(every: Option<u64>, text: u64) -> Self {
        Self { noted: Vec::new(), every, text, last: text }
    }

    /// A frame starts.
    fn note(&mut self, input: u64) {
        /// The minimum bytes of text between two noted frames: there may be nearly as many frames as bytes.
        const APART: u64 = 4096;
        if self.every.is_some() && self.text - self.last >= APART {
            self.last = self.text;
            self.noted.push(Point { input, text: self.text, resume: None });
        }
    }
}

/// Frames of Zstandard.
pub(crate) struct Zstd {
    source: Counted,
    decoder: Decoder<'static>,
    within: bool,
    points: Points,
}

impl Zstd {
    pub(crate) fn new(
        source: Counted,
        text: u64,
        window_log: u32,
        every: Option<u64>,
    ) -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(window_log))?;
        Ok(Self { source, decoder, within: false, points: Points::new(every, text) })
    }
}

impl Read for Zstd {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        loop {
            let input = self.source.fill_buf()?;
            let is_end = input.is_empty();
            if is_end && !self.within {
                return Ok(0);
            }
            let status = self.decoder.run_on_buffers(input, bytes)?;
            self.source.consume(status.bytes_read);
            self.points.text += status.bytes_written as u64;
            self.within = status.remaining > 0;
            if !self.within {
                self.points.note(self.source.passed);
            }
            if status.bytes_written > 0 {
                return Ok(status.bytes_written);
            }
            if is_end && self.within {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl Noting for Zstd {
    fn points(&mut self) -> &mut Vec<Point> {
        &mut self.points.noted
    }
}

/// Members of gzip (RFC 1952), and what follows them, as `gzip -d` takes it.
pub(crate) struct Gzip {
    source: Counted,
    at: Part,
    inflate: Inflate,
    /// The last text, as a ring: new text is written at `end`; `fresh` bytes of it were not read yet.
    ring: Vec<u8>,
    end: usize,
    fresh: usize,
    /// The checksum of the member, if it was read from its start.
    sum: Option<crc32fast::Hasher>,
    /// Bytes of the member's text that were read, including the window that it started with.
    member: u64,
    trailing: Trailing,
    points: Points,
}

/// A decoder of deflate.
enum Inflate {
    /// The faster one, 1.5 times as fast for logs, which does not tell where in a byte a block ends.
    Whole(zlib_rs::Inflate),
    /// One that stops, and starts, between blocks.
    Blocks(Box<DecompressorOxide>),
}

/// The next part of a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Header,
    Body,
    Trailer,
    End,
}

/// Text that deflate refers back to.
const WINDOW: usize = 1 << 15;

/// Text that is decompressed at a time. The faster decoder copies the last window of it: with 64 KiB it takes 7 % longer.
const RING: usize = 1 << 18;

impl Gzip {
    pub(crate) fn new(source: Counted, from: &Point, every: Option<u64>) -> Self {
        let mut gzip = Self {
            source,
            at: Part::Header,
            inflate: match every.is_none() && from.resume.is_none() {
                true => Inflate::Whole(zlib_rs::Inflate::new(false, 15)),
                false => Inflate::Blocks(Box::default()),
            },
            ring: vec![0; RING],
            end: 0,
            fresh: 0,
            sum: None,
            member: 0,
            trailing: None,
            points: Points::new(every, from.text),
        };
        if let Some(Resume { bits, byte, window }) = &from.resume {
            let state =
                BlockBoundaryState { num_bits: *bits, bit_buf: *byte, ..Default::default() };
            let inflate = DecompressorOxide::from_block_boundary_state(&state);
            gzip.inflate = Inflate::Blocks(Box::new(inflate));
            gzip.end = window.len().min(WINDOW);
            gzip.ring[..gzip.end].copy_from_slice(&window[window.len() - gzip.end..]);
            gzip.member = gzip.end as u64;
            gzip.at = Part::Body;
        }
        gzip
    }

    /// Reads the header of a member; false if none follows. Two bytes tell, as they do `gzip -d`: after the first member
    /// anything but its magic number is ignored, and so is all after that.
    fn header(&mut self) -> io::Result<bool> {
        const NAMES: u8 = 1 << 3 | 1 << 4;
        let wrong = || io::Error::new(ErrorKind::InvalidData, "invalid gzip header");
        let at = self.source.passed;
        let mut magic = Vec::new();
        self.source.by_ref().take(2).read_to_end(&mut magic)?;
        match magic[..] {
            [] => return Ok(false),
            [0x1f] => return Err(ErrorKind::UnexpectedEof.into()),
            [0x1f, 0x8b] => self.points.note(at),
            _ if at == 0 => return Err(wrong()),
            _ => {
                let rest = Cursor::new(magic).chain(&mut self.source);
                let other = rest.bytes().find(|byte| !matches!(byte, Ok(0)));
                self.trailing = Some((at, other.transpose()?.is_none()));
                return Ok(false);
            }
        }
        let [method, flags, _, _, _, _, _, _] = self.source.array()?;
        if method != 8 || flags >> 5 != 0 {
            return Err(wrong());
        }
        if flags & 1 << 2 != 0 {
            let length = u16::from_le_bytes(self.source.array()?);
            self.source.skip(length.into())?;
        }
        for _ in 0..(flags & NAMES).count_ones() {
            while self.source.array()? != [0] {}
        }
        if flags & 1 << 1 != 0 {
            self.source.skip(2)?;
        }
        match &mut self.inflate {
            Inflate::Whole(inflate) => inflate.reset(false),
            Inflate::Blocks(inflate) => inflate.init(),
        }
        (self.sum, self.member) = (Some(crc32fast::Hasher::new()), 0);
        Ok(true)
    }

    fn trailer(&mut self) -> io::Result<()> {
        let [sum, length] = [self.source.array()?, self.source.array()?].map(u32::from_le_bytes);
        match &self.sum {
            Some(found) if (found.clone().finalize(), self.member as u32) != (sum, length) => {
                Err(io::Error::new(ErrorKind::InvalidData, "its checksum does not match"))
            }
            _ => Ok(()),
        }
    }

    /// Decompresses some text; false at the end of the member.
    fn body(&mut self) -> io::Result<bool> {
        let input = self.source.fill_buf()?;
        let is_end = input.is_empty();
        let (status, read, written) = match &mut self.inflate {
            Inflate::Whole(inflate) => {
                let (before, text) = (inflate.total_in(), inflate.total_out());
                let ring = &mut self.ring[self.end..];
                let status = match inflate.decompress(input, ring, InflateFlush::NoFlush) {
                    Ok(zlib_rs::Status::StreamEnd) => TINFLStatus::Done,
                    Ok(_) => TINFLStatus::NeedsMoreInput,
                    Err(_) => TINFLStatus::Failed,
                };
                let written = (inflate.total_out() - text) as usize;
                (status, (inflate.total_in() - before) as usize, written)
            }
            Inflate::Blocks(inflate) => {
                let mut flags = inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
                if self.points.every.is_some() {
                    flags |= inflate_flags::TINFL_FLAG_STOP_ON_BLOCK_BOUNDARY;
                }
                decompress(inflate, input, &mut self.ring, self.end, flags)
            }
        };
        self.source.consume(read);
        if let Some(sum) = &mut self.sum {
            sum.update(&self.ring[self.end..self.end + written]);
        }
        self.end += written;
        self.fresh = written;
        self.member += written as u64;
        self.points.text += written as u64;
        match status {
            TINFLStatus::Done => return Ok(false),
            TINFLStatus::BlockBoundary => self.between(),
            // The text before an error counts; the next call has the error again.
            _ if written > 0 => {}
            TINFLStatus::NeedsMoreInput if is_end => return Err(ErrorKind::UnexpectedEof.into()),
            TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput => {}
            _ => return Err(io::Error::new(ErrorKind::InvalidData, "corrupt deflate stream")),
        }
        Ok(true)
    }

    /// Notes a point between two blocks, if the last one is far enough.
    fn between(&mut self) {
        let Points { noted, every, text, last } = &mut self.points;
        let Inflate::Blocks(inflate) = &self.inflate else { return };
        let state = inflate.block_boundary_state();
        if let Some(state) = state.filter(|_| every.is_some_and(|every| *text - *last >= every)) {
            let length = self.member.min(WINDOW as u64) as usize;
            let around = self.ring.len();
            let mut window = Vec::with_capacity(length);
            if length > self.end {
                window.extend_from_slice(&self.ring[around + self.end - length..]);
            }
            window.extend_from_slice(&self.ring[self.end.saturating_sub(length)..self.end]);
            let resume = Resume { bits: state.num_bits, byte: state.bit_buf, window };
            noted.push(Point { input: self.source.passed, text: *text, resume: Some(resume) });
            *last = *text;
        }
    }
}

impl Read for Gzip {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.fresh == 0 && !bytes.is_empty() {
            self.end %= self.ring.len();
            match self.at {
                Part::Header => {
                    self.at = if self.header()? { Part::Body } else { Part::End };
                }
                Part::Body => {
                    if !self.body()? {
                        self.at = Part::Trailer;
                    }
                }
                Part::Trailer => {
                    self.trailer()?;
                    self.at = Part::Header;
                }
                Part::End => return Ok(0),
            }
        }
        let some = self.fresh.min(bytes.len());
        let start = self.end - self.fresh;
        bytes[..some].copy_from_slice(&self.ring[start..start + some]);
        self.fresh -= some;
        Ok(some)
    }
}

impl Noting for Gzip {
    fn points(&mut self) -> &mut Vec<Point> {
        &mut self.points.noted
    }

    fn trailing(&self) -> Trailing {
        self.trailing
    }
}

/// A decoder of one frame.
pub(crate) trait Frame: Read {
    /// The input after it.
    fn end(self: Box<Self>) -> io::Result<Counted>;
}

/// The next item of an input.
pub(crate) enum Next {
    Frame(Box<dyn Frame>),
    Skipped(Counted),
}

/// Frames of a format whose decoder reads one.
pub(crate) struct Frames {
    start: fn(Counted) -> io::Result<Next>,
    /// Either the frame being read,
    frame: Option<Box<dyn Frame>>,
    /// or the input after it.
    between: Option<Counted>,
    points: Points,
}

impl Frames {
    pub(crate) fn new(
        start: fn(Counted) -> io::Result<Next>,
        source: Counted,
        text: u64,
        every: Option<u64>,
    ) -> Self {
        Self { start, frame: None, between: Some(source), points: Points::new(every, text) }
    }
}

impl Read for Frames {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let read = frame.read(bytes)?;
                self.points.text += read as u64;
                if read > 0 || bytes.is_empty() {
                    return Ok(read);
                }
            }
            if let Some(frame) = self.frame.take() {
                self.between = Some(frame.end()?);
            }
            let Some(mut source) = self.between.take() else { return Ok(0) };
            if source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.points.note(source.passed);
            match (self.start)(source)? {
                Next::Frame(frame) => self.frame = Some(frame),
                Next::Skipped(source) => self.between = Some(source),
            }
        }
    }
}

impl Noting for Frames {
    fn points(&mut self) -> &mut Vec<Point> {
        &mut self.points.noted
    }
}

/// A stream of bzip2; pbzip2 writes several in a row.
pub(crate) fn bzip2(source: Counted) -> io::Result<Next> {
    Ok(Next::Frame(Box::new(BzDecoder::new(source))))
}

impl Frame for BzDecoder<Counted> {
    fn end(self: Box<Self>) -> io::Result<Counted> {
        Ok(self.into_inner())
    }
}

/// A frame of LZ4, or one to be skipped.
pub(crate) fn lz4(mut source: Counted) -> io::Result<Next> {
    let magic = source.array()?;
    if let [0x50..=0x5f, 0x2a, 0x4d, 0x18] = magic {
        let length = u32::from_le_bytes(source.array()?);
        source.skip(length.into())?;
        return Ok(Next::Skipped(source));
    }
    let source = Cursor::new(magic).chain(source);
    Ok(Next::Frame(Box::new(Lz4(FrameDecoder::new(Words { source, magic: true, block: None })))))
}

/// A frame of LZ4. The crate's decoder takes an empty block, and an input that ends between two blocks, for the end of
/// the frame; the word at the start of a block distinguishes them. It is 0 at the end.
struct Lz4(FrameDecoder<Words>);

/// The source of a frame's decoder, which reads it field by field.
struct Words {
    /// The first bytes of the frame were read to recognize it.
    source: Chain<Cursor<[u8; 4]>, Counted>,
    /// The magic number is read next.
    magic: bool,
    /// The first word that was read since this was `None`.
    block: Option<u32>,
}

impl Read for Words {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let filled = read_up_to(&mut self.source, bytes)?;
        if let (4, Ok(word)) = (filled, bytes.try_into())
            && !std::mem::take(&mut self.magic)
        {
            self.block.get_or_insert(u32::from_le_bytes(word));
        }
        Ok(filled)
    }
}

impl Read for Lz4 {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            self.0.get_mut().block = None;
            let read = self.0.read(bytes)?;
            let is_empty_block = self.0.get_ref().block.is_some_and(|word| word != 0);
            if read > 0 || bytes.is_empty() || !is_empty_block {
                return Ok(read);
            }
        }
    }
}

impl Frame for Lz4 {
    fn end(self: Box<Self>) -> io::Result<Counted> {
        match self.0.into_inner() {
            Words { source, block: Some(0), .. } => Ok(source.into_inner().1),
            _ => Err(ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::compression::{self, Compression, Decoder, recognize};

    /// Lines that compress about as well as logs.
    fn text(lines: u64) -> Vec<u8> {
        let line = |i: u64| {
            let id = umbel::internals::mix(i);
            format!("line {i} of a log, id={id:016x} took {}ms\n", id % 977).into_bytes()
        };
        (0..lines).flat_map(line).collect()
    }

    /// A member with a name, a comment, extra bytes and a checksum of the header.
    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut all = b"\x1f\x8b\x08\x1e\0\0\0\0\0\xff\x02\0abname\0comment\0cc".to_vec();
        all.extend(miniz_oxide::deflate::compress_to_vec(text, 6));
        all.extend(crc32fast::hash(text).to_le_bytes());
        all.extend((text.len() as u32).to_le_bytes());
        all
    }

    /// Streams of each format, most in several frames of random lengths.
    fn streams(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
        let mut parts = Vec::new();
        let mut rest = text;
        for i in 0.. {
            if rest.is_empty() {
                break;
            }
            let length = umbel::internals::mix(i) as usize % 90_000 + 1;
            let (part, behind) = rest.split_at(length.min(rest.len()));
            parts.push(part);
            rest = behind;
        }
        let each =
            |pack: &dyn Fn(&[u8]) -> Vec<u8>| parts.iter().flat_map(|part| pack(part)).collect();
        let bzip2 = |text: &[u8]| {
            let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            out.write_all(text).unwrap();
            out.finish().unwrap()
        };
        let lz4 = |text: &[u8]| {
            let mut out = lz4_flex::frame::FrameEncoder::new(Vec::new());
            out.write_all(text).unwrap();
            [b"\x50\x2a\x4d\x18\x03\0\0\0abc", &out.finish().unwrap()[..]].concat()
        };
        let zstd = |text: &[u8]| {
            [b"\x5e\x2a\x4d\x18\x03\0\0\0abc", &zstd::encode_all(text, 1).unwrap()[..]].concat()
        };
        vec![
            ("gzip", gzip(text)),
            ("members of gzip", each(&gzip)),
            ("zstd", each(&zstd)),
            ("bzip2", each(&bzip2)),
            ("lz4", [&lz4(text)[11..], &each(&lz4)].concat()),
        ]
    }

    /// The text of members of gzip and what follows them, by both decoders; none if they are refused.
    fn members(bytes: &[u8], most: usize) -> Option<(Vec<u8>, Trailing)> {
        let [one, other] = [None, Some(1)].map(|every| {
            let source = io::BufReader::with_capacity(most, Cursor::new(bytes.to_vec()));
            let mut from = Gzip::new(Counted::new(Box::new(source), 0), &Point::default(), every);
            let mut text = Vec::new();
            while let read @ 1.. = from.by_ref().take(most as u64).read_to_end(&mut text).ok()? {
                assert!(read <= most);
            }
            Some((text, from.trailing()))
        });
        assert!(one == other);
        one
    }

    #[test]
    fn members_of_gzip_and_what_follows_them_are_taken_as_gzip_takes_them() {
        let (a, b) = (gzip(b"a\nb\n"), gzip(b"c\n"));
        let both = [&a[..], &gzip(b""), &b].concat();
        let at = both.len() as u64;
        let all = |bytes: &[u8]| [&both, bytes].concat();
        let padded = [&[0; 512][..], &a].concat();
        let zeros = [&b"\0"[..], &[0; 70_000]].map(|bytes| (bytes, Some((at, true))));
        let junk =
            [&b"x"[..], b"\0x", b"\x1f\x8c", &padded].map(|bytes| (bytes, Some((at, false))));
        for (behind, trailing) in zeros.into_iter().chain(junk).chain([(&b""[..], None)]) {
            for most in [1, 2, 3, 7, 1 << 16] {
                let found = members(&all(behind), most);
                assert_eq!(found, Some((b"a\nb\nc\n".to_vec(), trailing)), "{most}");
            }
        }
        let text = text(1500);
        let bytes = [gzip(&text[..40_000]), gzip(&text[40_000..])].concat();
        for most in [1, 5, 300, 4096, WINDOW + 1] {
            assert!(members(&bytes, most).unwrap().0 == text, "{most}");
        }
        // Cut anywhere but between members, damaged, and with no member first.
        let ends = [0, a.len(), a.len() + gzip(b"").len(), both.len()];
        for cut in 0..=both.len() {
            assert_eq!(members(&both[..cut], 1).is_some(), ends.contains(&cut), "{cut}");
            let mut other = both.clone();
            if let Some(byte) = other.get_mut(cut).filter(|_| cut + 8 >= both.len()) {
                *byte ^= 1;
                assert_eq!(members(&other, 5), None, "{cut}");
            }
        }
        let first = [&b"\0\0"[..], b"xy", b"\x1f\x8b\x07\0\0\0\0\0\0\0"].map(<[u8]>::to_vec);
        let later = [&b"\x1f"[..], b"\x1f\x8b", b"\x1f\x8b\x07\0\0\0\0\0\0\0", &a[..20]].map(all);
        for bytes in first.iter().chain(&later) {
            assert_eq!(members(bytes, 2), None, "{bytes:?}");
        }
    }

    /// The text of these bytes, which follow a point.
    fn decoder(
        format: Option<Compression>,
        bytes: &[u8],
        from: &Point,
        every: Option<u64>,
    ) -> anyhow::Result<Decoder> {
        let source = Box::new(Cursor::new(bytes.to_vec()));
        compression::decoder(format, source, from, every, 1 << 26, 1 << 24)
    }

    /// Frames with little or no text do not fill memory with places.
    #[test]
    fn places_are_fewer_than_frames() {
        let empty = b"\x50\x2a\x4d\x18\0\0\0\0".repeat(100_000);
        let short = zstd::encode_all(&b"a\n"[..], 1).unwrap().repeat(10_000);
        let start = zstd::encode_all(&b""[..], 1).unwrap();
        for (bytes, text) in [(empty, 0), (short, 20_000)] {
            let bytes = [&start[..], &bytes].concat();
            let (format, _) = recognize(Box::new(Cursor::new(bytes.clone()))).unwrap();
            let mut from = decoder(format, &bytes, &Point::default(), Some(1 << 20)).unwrap();
            assert_eq!(from.read_to_end(&mut Vec::new()).unwrap(), text);
            assert!(from.points().len() < 10);
        }
    }

    #[test]
    fn blocks_of_lz4_without_text_do_not_end_a_frame() {
        let text = text(1000);
        let mut out = lz4_flex::frame::FrameEncoder::new(Vec::new());
        out.write_all(&text).unwrap();
        let whole = out.finish().unwrap();
        // The magic number, two bytes of flags and their checksum.
        let (head, blocks) = whole.split_at(7);
        for empty in [&b"\0\0\0\x80"[..], b"\x01\0\0\0\0"] {
            let mut all = Vec::new();
            let bytes = [head, empty, empty, blocks, &whole].concat();
            let read = |bytes: &[u8], all: &mut Vec<u8>| {
                let source = Counted::new(Box::new(Cursor::new(bytes.to_vec())), 0);
                Frames::new(lz4, source, 0, None).read_to_end(all)
            };
            read(&bytes, &mut all).unwrap();
            assert!(all == text.repeat(2));
            let end = blocks.len() - 4;
            for cut in [[head, empty].concat(), [head, &blocks[..end], empty].concat()] {
                let error = read(&cut, &mut Vec::new()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
            }
        }
    }

    #[test]
    fn reading_starts_again_at_every_point() {
        const EVERY: u64 = 50_000;
        let text = text(20_000);
        for (format, bytes) in streams(&text) {
            let text = if format == "lz4" { text.repeat(2) } else { text.clone() };
            let (compression, _) = recognize(Box::new(Cursor::new(bytes.clone()))).unwrap();
            let mut all = Vec::new();
            let none = Point::default();
            let mut from = decoder(compression, &bytes, &none, Some(EVERY)).unwrap();
            from.read_to_end(&mut all).unwrap();
            assert!(all == text, "{format}");
            let points = from.points();
            assert!(points.len() > 6, "{format}: {}", points.len());
            for point in points {
                let resume =
                    point.resume.as_ref().map(|resume| Resume::decode(&resume.encode()).unwrap());
                let point = Point { resume, ..point };
                let rest = &bytes[point.input as usize..];
                let mut rest = decoder(compression, rest, &point, None).unwrap();
                let mut read = Vec::new();
                rest.read_to_end(&mut read).unwrap();
                assert!(read == text[point.text as usize..], "{format} from {}", point.input);
            }
            // Cut off anywhere: an error, or the start of the text where a frame ends.
            for i in 0..60 {
                let at = 1 + umbel::internals::mix(i) as usize % (bytes.len() - 1);
                let mut read = Vec::new();
                let decoded = decoder(compression, &bytes[..at], &none, None)
                    .and_then(|mut cut| Ok(cut.read_to_end(&mut read)?));
                assert!(text.starts_with(&read), "{format} cut at {at}");
                assert!(decoded.is_err() || format != "gzip", "{format} cut at {at}");
            }
        }
    }
}
