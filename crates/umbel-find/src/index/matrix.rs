//! Filters of blocks side by side: row r has bit r of each filter, so a key reads its rows once for all of them.
//!
//! A group is up to 512 filters with as many rows. Row r of a group of c filters is bits r·c to r·c + c − 1 of its bytes, the
//! least significant bit of a byte first (Bingmann, Bradley, Gauger, Iqbal, COBS, 2019, <https://arxiv.org/abs/1905.09624>,
//! whose blocks of documents have one size; here blocks that need about as much share a size).

use std::fs::File;
use std::io;

use umbel::KeyHash;
use umbel_io::{FileAt, ReadAt};

use super::IndexError;
use super::column::probed;
use super::pages::Pages;

/// The most filters of a group. Part of the format.
pub const WIDTH: usize = 512;

/// Some filters with equally many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// A multiple of 8.
    pub rows: u32,
    /// From 1 to [`WIDTH`].
    pub columns: u32,
    /// Where its rows are among the data.
    pub place: u64,
}

/// A set of columns of a group.
pub type Columns = [u64; WIDTH / 64];

impl Group {
    /// Bytes of its rows.
    pub fn bytes(&self) -> u64 {
        u64::from(self.rows / 8) * u64::from(self.columns)
    }

    /// The columns that may have all keys.
    ///
    /// # Errors
    /// As [`Pages::read`].
    pub fn find(
        &self,
        pages: &Pages<impl ReadAt>,
        keys: &[(KeyHash, u32)],
    ) -> Result<Columns, IndexError> {
        let columns = self.columns as usize;
        let mut found: Columns =
            std::array::from_fn(|word| mask(columns.saturating_sub(64 * word).min(64)));
        let mut bytes = [0; WIDTH / 8 + 16];
        for &(hash, probes) in keys {
            for row in probed(hash, probes, self.rows) {
                let first = u64::from(row) * columns as u64;
                let (start, shift) = (first / 8, (first % 8) as usize);
                let length = (shift + columns).div_ceil(8);
                pages.read(&mut bytes[..length], self.place + start)?;
                bytes[length..].fill(0);
                let mut any = 0;
                for (word, found) in found.iter_mut().enumerate() {
                    *found &= bits_at(&bytes, 64 * word + shift);
                    any |= *found;
                }
                if any == 0 {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }
}

fn mask(bits: usize) -> u64 {
    if bits == 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The 64 bits from bit `at` on.
fn bits_at(bytes: &[u8], at: usize) -> u64 {
    let word = |from: usize| bytes[from..from + 8].try_into().map(u64::from_le_bytes);
    let (from, shift) = (at / 8, at % 8);
    let low = word(from).expect("8 bytes") >> shift;
    if shift == 0 { low } else { low | u64::from(bytes[from + 8]) << (64 - shift) }
}

/// Rows that are transposed at a time: a multiple of 64, which is whole bytes in any group.
const STRIP: usize = 1 << 15;

/// The filters that become a group, each at an offset of a file.
pub struct Apart<'a> {
    /// The file.
    pub file: &'a File,
    /// Where in it each filter is.
    pub offsets: &'a [u64],
    /// Bits of each.
    pub rows: u32,
}

impl Apart<'_> {
    /// Passes the rows of the group to `put`, some at a time.
    ///
    /// # Errors
    /// Errors of reading, and of `put`.
    pub fn each_strip(&self, put: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let columns = self.offsets.len();
        let mut filters = vec![0; STRIP / 8 * columns];
        for start in (0..self.rows as usize).step_by(STRIP) {
            let rows = STRIP.min(self.rows as usize - start);
            let filters = &mut filters[..rows / 8 * columns];
            for (filter, offset) in filters.chunks_exact_mut(rows / 8).zip(self.offsets) {
                FileAt::read_exact_at(self.file, filter, offset + start as u64 / 8)?;
            }
            put(&turn(filters, columns, rows))?;
        }
        Ok(())
    }
}

/// Rows of `columns` bits, from as many filters of `rows` bits; or the filters from the rows, with both numbers exchanged:
/// bit (r, c) of a matrix of `lines` lines goes to (c, r). `length` is the bits of a line, a multiple of 8 where lines are filters.
fn turn(bits: &[u8], lines: usize, length: usize) -> Vec<u8> {
    let mut turned = vec![0u8; (lines * length).div_ceil(8) + 16];
    let mut padded = bits.to_vec();
    padded.resize(bits.len() + 16, 0);
    let mut tile = [0u64; 64];
    for line in (0..lines).step_by(64) {
        let height = (lines - line).min(64);
        for at in (0..length).step_by(64) {
            let width = (length - at).min(64);
            for (i, word) in tile.iter_mut().enumerate() {
                *word = match i < height {
                    true => bits_at(&padded, (line + i) * length + at) & mask(width),
                    false => 0,
                };
            }
            transpose(&mut tile);
            for (i, &word) in tile[..width].iter().enumerate() {
                put_bits(&mut turned, (at + i) * lines + line, word);
            }
        }
    }
    turned.truncate((lines * length).div_ceil(8));
    turned
}

/// Sets the bits of a word from bit `at` on, where all are clear.
fn put_bits(bytes: &mut [u8], at: usize, word: u64) {
    let (from, shift) = (at / 8, at % 8);
    let low: &mut [u8; 8] = (&mut bytes[from..from + 8]).try_into().expect("8 bytes");
    *low = (u64::from_le_bytes(*low) | word << shift).to_le_bytes();
    if shift > 0 {
        bytes[from + 8] |= (word >> (64 - shift)) as u8;
    }
}

/// Exchanges bit i of word j with bit j of word i (H. S. Warren, Hacker's Delight, section 7-3).
fn transpose(words: &mut [u64; 64]) {
    let (mut size, mut mask) = (32, u64::MAX >> 32);
    while size > 0 {
        let mut at = 0;
        while at < 64 {
            let swapped = (words[at] >> size ^ words[at + size]) & mask;
            words[at] ^= swapped << size;
            words[at + size] ^= swapped;
            at = (at + size + 1) & !size;
        }
        size /= 2;
        mask ^= mask << size;
    }
}

/// Takes a group apart: appends its filters to `file`, from `end` on, in the order of its columns; each has rows / 8
/// bytes.
///
/// # Errors
/// Read and write errors.
pub fn take_apart(
    group: &Group,
    pages: &Pages<impl ReadAt>,
    file: &File,
    end: u64,
) -> Result<(), IndexError> {
    let (rows, columns) = (group.rows as usize, group.columns as usize);
    for start in (0..rows).step_by(STRIP) {
        let some = STRIP.min(rows - start);
        let place = group.place + (start * columns / 8) as u64;
        let strip = pages.take(place, (some * columns / 8) as u64)?;
        let filters = turn(&strip, some, columns);
        for (i, filter) in filters.chunks_exact(some / 8).enumerate() {
            file.write_all_at(filter, end + (i * rows / 8 + start / 8) as u64)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use umbel::KeyHasher;

    use super::super::column::Keys;
    use super::super::pages::PagesWriter;
    use super::*;

    #[test]
    fn a_turned_matrix_has_every_bit_in_its_place() {
        let sizes = [(1usize, 8), (3, 128), (64, 64), (65, 72), (512, 136), (136, 512), (7, 1000)];
        for (lines, length) in sizes {
            let bytes = (lines * length).div_ceil(8);
            let bits: Vec<u8> = (0..bytes as u64).map(|i| umbel::internals::mix(i) as u8).collect();
            let bit = |bits: &[u8], at: usize| bits[at / 8] >> (at % 8) & 1;
            let turned = turn(&bits, lines, length);
            for line in 0..lines {
                for at in 0..length {
                    assert_eq!(bit(&bits, line * length + at), bit(&turned, at * lines + line));
                }
            }
            assert_eq!(turn(&turned, length, lines), bits, "{lines} × {length}");
        }
    }

    #[test]
    fn a_group_finds_the_columns_of_a_key_and_comes_apart() {
        let hasher = KeyHasher::default();
        for columns in [1usize, 3, 64, 100, 512] {
            let file = tempfile::tempfile().unwrap();
            let mut offsets = Vec::new();
            let mut rows = 0;
            for column in 0..columns {
                let mut set = Keys::within(1 << 20);
                (0..50).for_each(|i| set.insert(hasher.hash((column * 50 + i) as u64), 12));
                let bits = set.column();
                rows = 8 * bits.len() as u32;
                offsets.push((column * bits.len()) as u64);
                file.write_all_at(bits, offsets[column]).unwrap();
            }
            let mut paged = Vec::new();
            let mut out = PagesWriter::new(&mut paged, 0);
            out.write(&[7; 13]).unwrap();
            let apart = Apart { file: &file, offsets: &offsets, rows };
            apart.each_strip(&mut |strip| out.write(strip)).unwrap();
            out.finish().unwrap();
            let index = tempfile::tempfile().unwrap();
            index.write_all_at(&paged, 0).unwrap();
            let pages = Pages::new(index, paged.len() as u64).unwrap();
            let group = Group { rows, columns: columns as u32, place: 13 };
            let mut wrong = 0;
            for key in 0..columns * 50 {
                let found = group.find(&pages, &[(hasher.hash(key as u64), 12)]).unwrap();
                assert!(found[key / 50 / 64] >> (key / 50 % 64) & 1 == 1, "{key} of {columns}");
                wrong += found.iter().map(|word| word.count_ones()).sum::<u32>() - 1;
            }
            // 2⁻¹² or less for each pair.
            assert!(f64::from(wrong) < 10.0 + (50 * columns * columns) as f64 / 2048.0, "{wrong}");
            let apart = tempfile::tempfile().unwrap();
            take_apart(&group, &pages, &apart, 5).unwrap();
            let (mut before, mut after) = (vec![0; columns * rows as usize / 8], Vec::new());
            after.clone_from(&before);
            FileAt::read_exact_at(&file, &mut before, 0).unwrap();
            FileAt::read_exact_at(&apart, &mut after, 5).unwrap();
            assert!(before == after);
        }
    }
}
