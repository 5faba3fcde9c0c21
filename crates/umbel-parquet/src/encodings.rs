//! The values of a page, decoded in place, one after the other. So memory does not grow with what a page declares, and
//! time grows only with the bytes that it has.
//! `apache/parquet-format`, `Encodings.md`.
//!
//! Nulls have no bytes, so the levels in front need not be decoded: the bytes show how many values there are.

use std::ops::RangeInclusive;
use std::slice::ChunksExact;

use anyhow::{Context, Result, ensure};
use umbel_foreign::parquet::thrift::{read_varint, unzigzag};

/// The error for bytes that do not match the number of values.
const INEXACT: &str = "its values do not have the size that their number and type imply; damaged? copy the file again. If it is intact, write the filters when the file is made";
const ENDS: &str = "its values end too early; damaged? copy the file again";

/// Values of `width` bytes, one after the other.
pub(crate) fn fixed<'a>(
    bytes: &'a [u8],
    width: usize,
    count: &RangeInclusive<u64>,
) -> Result<ChunksExact<'a, u8>> {
    let found = (bytes.len() / width) as u64;
    ensure!(bytes.len().is_multiple_of(width) && count.contains(&found), INEXACT);
    Ok(bytes.chunks_exact(width))
}

/// Values of a fixed length. Some files of the crate `parquet` have the length in front of each, as if it could vary
/// (<https://github.com/apache/arrow-rs/issues/11261>); where both are possible, both are handed on.
pub(crate) fn fixed_bytes(
    bytes: &[u8],
    width: usize,
    count: &RangeInclusive<u64>,
    mut see: impl FnMut(&[u8]),
) -> Result<()> {
    let prefixed = || bytes.chunks(width + 4).map(|value| value.split_at_checked(4));
    let found = (bytes.len() / (width + 4)) as u64;
    let as_if_varied = bytes.len().is_multiple_of(width + 4)
        && count.contains(&found)
        && prefixed()
            .all(|value| value.is_some_and(|(length, _)| length == (width as u32).to_le_bytes()));
    match (fixed(bytes, width, count), as_if_varied) {
        (Ok(values), _) => values.for_each(&mut see),
        (Err(error), false) => return Err(error),
        (Err(_), true) => {}
    }
    if as_if_varied {
        prefixed().flatten().for_each(|(_, value)| see(value));
    }
    Ok(())
}

/// Values of any length, each after its length.
pub(crate) fn plain_bytes(
    mut bytes: &[u8],
    count: &RangeInclusive<u64>,
    mut see: impl FnMut(&[u8]),
) -> Result<()> {
    let mut found = 0;
    while !bytes.is_empty() {
        let length = bytes.split_off(..4).context(INEXACT)?;
        let length = u32::from_le_bytes(length.try_into().expect("it has 4 bytes"));
        see(bytes.split_off(..length as usize).context(INEXACT)?);
        found += 1;
    }
    ensure!(count.contains(&found), INEXACT);
    Ok(())
}

/// `BYTE_STREAM_SPLIT`: all first bytes, then all second bytes, and so on.
pub(crate) fn split_streams(
    bytes: &[u8],
    width: usize,
    count: &RangeInclusive<u64>,
    mut see: impl FnMut(&[u8]),
) -> Result<()> {
    let found = fixed(bytes, width, count)?.count();
    // A schema may declare any width as long as the page is empty.
    let mut value = vec![0; width.min(bytes.len())];
    for at in 0..found {
        for (stream, byte) in value.iter_mut().enumerate() {
            *byte = bytes[stream * found + at];
        }
        see(&value);
    }
    Ok(())
}

/// `DELTA_BINARY_PACKED`. 32-bit numbers are the lower half: nothing carries down into it, and DuckDB writes unsigned
/// ones with 33-bit differences.
pub(crate) fn deltas(
    bytes: &[u8],
    count: &RangeInclusive<u64>,
    mut see: impl FnMut(i64),
) -> Result<()> {
    let Some(mut deltas) = Deltas::of(bytes, count)? else { return Ok(()) };
    while let Some((value, _)) = deltas.run()? {
        see(value);
    }
    Ok(())
}

/// `DELTA_LENGTH_BYTE_ARRAY`: all lengths, then the values without lengths.
pub(crate) fn delta_lengths(
    bytes: &[u8],
    count: &RangeInclusive<u64>,
    mut see: impl FnMut(&[u8]),
) -> Result<()> {
    let Some(mut lengths) = Deltas::of(bytes, count)? else { return Ok(()) };
    let mut text = lengths.end()?;
    while let Some((length, times)) = lengths.run()? {
        let length = length_of(length)?;
        // Empty values have no bytes that would bound their number.
        for _ in 0..if length == 0 { 1 } else { times } {
            see(text.split_off(..length).context(ENDS)?);
        }
    }
    Ok(())
}

/// `DELTA_BYTE_ARRAY`: lengths of shared beginnings, then the rests in `DELTA_LENGTH_BYTE_ARRAY`.
///
/// `see` gets each with the number of bytes that it shares with the one before. So a page may hold any number of long
/// values, and reading all bytes of each takes unbounded time. A repeat of the value before is not seen again, so each
/// value seen has a byte of its own or is shorter than the one before: at most two per byte.
pub(crate) fn delta_bytes(
    bytes: &[u8],
    count: &RangeInclusive<u64>,
    mut see: impl FnMut(&[u8], usize),
) -> Result<()> {
    let Some(mut prefixes) = Deltas::of(bytes, count)? else { return Ok(()) };
    let mut rests = Deltas::new(prefixes.end()?)?;
    ensure!(prefixes.left == rests.left, INEXACT);
    let mut text = rests.end()?;
    // A value is never longer than all rests together.
    let (mut value, mut is_first) = (Vec::with_capacity(text.len()), true);
    let (mut prefix, mut rest) = ((0, 0), (0, 0));
    loop {
        // How many more values have the same two lengths.
        if prefix.1 == 0 {
            let Some(next) = prefixes.run()? else { return Ok(()) };
            prefix = next;
        }
        if rest.1 == 0 {
            rest = rests.run()?.context(ENDS)?;
        }
        let (shared, more) = (length_of(prefix.0)?, length_of(rest.0)?);
        ensure!(
            shared <= value.len(),
            "a value repeats more bytes than the previous value has; damaged? copy the file again"
        );
        if is_first || shared < value.len() || more > 0 {
            value.truncate(shared);
            value.extend_from_slice(text.split_off(..more).context(ENDS)?);
            see(&value, shared);
            is_first = false;
        }
        // A repeated value has no bytes that would bound its number.
        let same = if more == 0 { prefix.1.min(rest.1) } else { 1 };
        prefix.1 -= same;
        rest.1 -= same;
    }
}

fn length_of(length: i64) -> Result<usize> {
    // The lower half, as above.
    usize::try_from(length as i32)
        .ok()
        .context("a value has a length below 0; damaged? copy the file again")
}

/// Numbers of `DELTA_BINARY_PACKED`:
///
/// ```text
/// varint: values in a block | miniblocks in it | values in all | zigzag: the first value | blocks
/// block = zigzag: least difference | a byte per miniblock: bits of each difference | miniblocks
/// ```
struct Deltas<'a> {
    /// The bytes that follow.
    bytes: &'a [u8],
    /// Values still to come, in total.
    left: u64,
    /// Miniblocks in a block, and values in a miniblock.
    minis: usize,
    values: u64,
    least: i64,
    /// The bit widths of the miniblocks still to come in the block.
    widths: &'a [u8],
    /// The miniblock that is read.
    packed: Packed<'a>,
    last: i64,
    /// Whether the first value is still to come.
    first: bool,
}

#[derive(Clone, Copy, Default)]
struct Packed<'a> {
    bytes: &'a [u8],
    width: u32,
    /// The first of its bits not yet read.
    bit: usize,
    /// Values still to come.
    left: u64,
}

impl<'a> Deltas<'a> {
    /// Values in a block: writers use 128 to 2,048. A block of any number may have 3 bytes.
    const MOST: u64 = 1 << 16;

    /// The numbers of a page, if their count is in `count`. No bytes may mean no numbers.
    fn of(bytes: &'a [u8], count: &RangeInclusive<u64>) -> Result<Option<Self>> {
        if bytes.is_empty() && count.contains(&0) {
            return Ok(None);
        }
        let deltas = Self::new(bytes)?;
        ensure!(count.contains(&deltas.left), INEXACT);
        Ok(Some(deltas))
    }

    fn new(mut bytes: &'a [u8]) -> Result<Self> {
        let [block, minis, left] = [(); 3].map(|()| varint(&mut bytes));
        let (block, minis, left) = (block?, minis?, left?);
        let last = unzigzag(varint(&mut bytes)?);
        let right = (1..=Self::MOST).contains(&block)
            && (1..=block).contains(&minis)
            && block.is_multiple_of(8 * minis);
        ensure!(
            right,
            "has blocks of {block} values in {minis} parts, but umbel reads 8 to {} in parts of multiples of 8; damaged? copy the file again",
            Self::MOST
        );
        let minis = minis as usize;
        Ok(Self {
            bytes,
            left,
            minis,
            values: block / minis as u64,
            least: 0,
            widths: &[],
            packed: Packed::default(),
            last,
            first: true,
        })
    }

    /// The next value, and how often it repeats, if that is known without counting.
    #[inline]
    fn run(&mut self) -> Result<Option<(i64, u64)>> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.first {
            self.first = false;
            self.left -= 1;
            return Ok(Some((self.last, 1)));
        }
        if self.packed.left == 0 {
            self.next()?;
        }
        let packed = &mut self.packed;
        let (mut difference, mut times) = (self.least, 1);
        if packed.width > 0 {
            difference = difference.wrapping_add(packed.next() as i64);
        } else if difference == 0 {
            times = packed.left;
        }
        self.last = self.last.wrapping_add(difference);
        packed.left -= times;
        self.left -= times;
        Ok(Some((self.last, times)))
    }

    /// Goes on to the next miniblock.
    fn next(&mut self) -> Result<()> {
        if self.widths.is_empty() {
            self.least = unzigzag(varint(&mut self.bytes)?);
            self.widths = self.bytes.split_off(..self.minis).context(ENDS)?;
        }
        let width = u64::from(*self.widths.split_off_first().expect("a block has miniblocks"));
        ensure!(width <= 64, "a difference has {width} bits; damaged? copy the file again");
        let left = self.left.min(self.values);
        // Some writers leave out the padding of the last one.
        let length = self.bytes.len().min((self.values * width / 8) as usize);
        ensure!(left * width <= 8 * length as u64, ENDS);
        let bytes = self.bytes.split_off(..length).expect("it has as many");
        self.packed = Packed { bytes, width: width as u32, bit: 0, left };
        Ok(())
    }

    /// The bytes after the numbers.
    fn end(&self) -> Result<&'a [u8]> {
        let mut rest = Self { ..*self };
        rest.left = rest.left.saturating_sub(1);
        while rest.left > 0 {
            rest.next()?;
            rest.left -= rest.packed.left;
        }
        Ok(rest.bytes)
    }
}

impl Packed<'_> {
    #[inline]
    fn next(&mut self) -> u64 {
        let (at, shift) = (self.bit / 8, self.bit % 8);
        self.bit += self.width as usize;
        let mask = u64::MAX >> (64 - self.width);
        if self.width <= 56
            && let Some(bytes) = self.bytes[at..].first_chunk()
        {
            return u64::from_le_bytes(*bytes) >> shift & mask;
        }
        let mut bytes = [0; 16];
        let some = self.bytes.len().min(at + 16) - at;
        bytes[..some].copy_from_slice(&self.bytes[at..at + some]);
        (u128::from_le_bytes(bytes) >> shift) as u64 & mask
    }
}

fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let next = || bytes.split_off_first().copied().context(ENDS);
    read_varint(next)?.context("a number has more than 64 bits; damaged? copy the file again")
}

#[cfg(test)]
mod tests {
    use umbel_foreign::parquet::thrift::varint as put;

    use super::*;

    /// Numbers in blocks of 64 in two parts of 32, whose differences have `width` bits.
    fn packed(width: u32, count: u64) -> (Vec<u8>, Vec<i64>) {
        let mut bytes = vec![64, 2];
        put(&mut bytes, count);
        bytes.push(5);
        let (mut last, mut values, mut left) = (-3i64, vec![-3], count - 1);
        while left > 0 {
            // The least difference is -2.
            bytes.extend([3, width as u8, width as u8]);
            for _ in 0..2 {
                let mut bits = Vec::new();
                for i in 0..32 {
                    let mixed = (i + left).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let more = if width == 0 { 0 } else { mixed >> (64 - width) };
                    bits.extend((0..width).map(|bit| more >> bit & 1));
                    if i < left {
                        last = last.wrapping_add(-2).wrapping_add(more as i64);
                        values.push(last);
                    }
                }
                let of = |bits: &[u64]| (0..8).map(|i| (bits[i] << i) as u8).sum::<u8>();
                if left > 0 {
                    bytes.extend(bits.chunks_exact(8).map(of));
                }
                left = left.saturating_sub(32);
            }
        }
        (bytes, values)
    }

    #[test]
    fn differences_of_every_width() {
        for (width, count) in (0..=64).zip([1, 2, 32, 33, 64, 65, 200].into_iter().cycle()) {
            let (mut bytes, expected) = packed(width, count);
            bytes.push(b'x');
            let mut found = Vec::new();
            deltas(&bytes, &(count..=count), |value| found.push(value)).unwrap();
            assert_eq!(found, expected, "{width} bits, {count} values");
            assert_eq!(Deltas::new(&bytes).unwrap().end().unwrap(), b"x");
            for cut in 0..bytes.len() {
                let mut found = Vec::new();
                let read = deltas(&bytes[..cut], &(0..=count), |value| found.push(value));
                assert!(read.is_err() || found == expected || cut == 0, "{width} {count} {cut}");
            }
        }
    }

    /// Counts without bytes: hardly any time, and no memory.
    #[test]
    fn what_is_repeated_is_not_counted() {
        let mut one = vec![0x80, 0x80, 4, 1];
        put(&mut one, 1 << 30);
        one.push(0);
        let blocks = [0, 0].repeat(1 << 14);
        let zeros = [&one[..], &blocks].concat();
        let (any, mut found) = (0..=1 << 30, 0);
        deltas(&zeros, &any, |_| found += 1).unwrap();
        assert_eq!(found, 1 + (1 << 14));
        delta_lengths(&zeros, &any, |_| found += 1).unwrap();
        let before = found;
        delta_bytes(&[&zeros[..], &zeros].concat(), &any, |_, _| found += 1).unwrap();
        assert_eq!(found - before, 1);
        assert!(found < 1 << 16, "{found}");
    }

    #[test]
    fn damage_does_no_harm() {
        let (numbers, _) = packed(9, 100);
        let lengths = [&[64, 1, 3, 4, 0, 0][..], b"aabbcc"].concat();
        let shared = [&[64, 1, 3, 0, 1, 0][..], &[64, 1, 3, 4, 0, 0], b"aabbcc"].concat();
        let any = 0..=1 << 40;
        let read = |bytes: &[u8]| {
            let mut seen = 0;
            let _ = deltas(bytes, &any, |_| seen += 1);
            let _ = delta_lengths(bytes, &any, |value| seen += value.len());
            let _ = delta_bytes(bytes, &any, |value, _| seen += value.len());
            let _ = plain_bytes(bytes, &any, |value| seen += value.len());
            let _ = fixed_bytes(bytes, 5, &any, |value| seen += value.len());
            let _ = split_streams(bytes, 3, &any, |value| seen += value.len());
        };
        for bytes in [numbers, lengths, shared] {
            for at in 0..bytes.len() {
                read(&bytes[..at]);
                for change in [0, 1, 2, 0x40, 0x7f, 0x80, 0x81, 0xff] {
                    let mut changed = bytes.clone();
                    changed[at] = change;
                    read(&changed);
                }
            }
        }
    }
}
