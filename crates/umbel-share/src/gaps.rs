//! Few set bits, as the distances between them in Rice's code (R. F. Rice 1979): for bits that are set independently,
//! within 4 % of their entropy, and without a table.
//!
//! ```text
//! u32 count   u8 rice   count codes, padded with zeros to a whole byte
//! ```
//! The code of a distance d is ⌊d / 2^rice⌋ ones, a zero, and the `rice` low bits of d. Bits fill each byte from its
//! least significant one on. The distance of the first bit is its position; of others, the number of clear bits between.

use crate::error::Corrupt;

/// Appends the code of the `count` bits, at least 1, that are set in `bytes`.
pub(crate) fn encode(bytes: &[u8], count: u64, out: &mut Vec<u8>) {
    let rice = best_rice(8 * bytes.len() as u64, count);
    out.extend_from_slice(&(count as u32).to_le_bytes());
    out.push(rice as u8);
    let mut bits = BitWriter { out, bits: 0, used: 0 };
    let mut next = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let mut left = byte;
        while left != 0 {
            let position = 8 * at as u64 + u64::from(left.trailing_zeros());
            left &= left - 1;
            let gap = position - next;
            next = position + 1;
            for _ in 0..gap >> rice {
                bits.put(1, 1);
            }
            bits.put(0, 1);
            bits.put(gap & ((1 << rice) - 1), rice);
        }
    }
    bits.finish();
}

/// Sets the bits in `out`, which is all zeros.
pub(crate) fn decode(coded: &[u8], out: &mut [u8]) -> Result<(), Corrupt> {
    let (start, codes) = coded.split_at_checked(5).ok_or(Corrupt)?;
    let count = u32::from_le_bytes(start[..4].try_into().expect("four bytes"));
    let rice = u32::from(start[4]);
    let most = 8 * out.len() as u64;
    if rice > 32 || u64::from(count) > most {
        return Err(Corrupt);
    }
    let mut bits = BitReader { bytes: codes, at: 0 };
    let mut next = 0u64;
    for _ in 0..count {
        let mut high = 0u64;
        while bits.take(1)? == 1 {
            high += 1;
        }
        let position = next + (high << rice) + bits.take(rice)?;
        if position >= most {
            return Err(Corrupt);
        }
        out[(position / 8) as usize] |= 1 << (position % 8);
        next = position + 1;
    }
    bits.end()
}

/// Returns about how many bytes the code has.
pub(crate) fn cost(total: u64, count: u64) -> f64 {
    let rice = best_rice(total, count);
    let gap = (total - count) as f64 / count as f64;
    // A distance is geometric; on average its part above the low bits is (1 − p)^(2^rice) / (1 − (1 − p)^(2^rice)).
    let stays = (-((1u64 << rice) as f64) * (1.0 / gap.max(1e-9)).ln_1p()).exp();
    5.0 + count as f64 * (f64::from(rice) + 1.0 + stays / (1.0 - stays)) / 8.0
}

/// The parameter: 2^rice is about the median of the distances, ln 2 times their mean.
fn best_rice(total: u64, count: u64) -> u32 {
    ((total - count) / count * 693 / 1000).max(1).ilog2()
}

struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    bits: u64,
    used: u32,
}

impl BitWriter<'_> {
    /// Appends the `count` low bits of `value`, at most 32.
    fn put(&mut self, value: u64, count: u32) {
        self.bits |= value << self.used;
        self.used += count;
        while self.used >= 8 {
            self.out.push(self.bits as u8);
            self.bits >>= 8;
            self.used -= 8;
        }
    }

    fn finish(self) {
        if self.used > 0 {
            self.out.push(self.bits as u8);
        }
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    /// Bits read so far.
    at: usize,
}

impl BitReader<'_> {
    fn take(&mut self, count: u32) -> Result<u64, Corrupt> {
        let mut value = 0;
        for i in 0..count {
            let byte = self.bytes.get(self.at / 8).ok_or(Corrupt)?;
            value |= u64::from(byte >> (self.at % 8) & 1) << i;
            self.at += 1;
        }
        Ok(value)
    }

    /// Checks that only zeros up to a whole byte are left.
    fn end(mut self) -> Result<(), Corrupt> {
        let padding = (8 - self.at % 8) % 8;
        let zeros = self.take(padding as u32)? == 0;
        if zeros && self.at == 8 * self.bytes.len() { Ok(()) } else { Err(Corrupt) }
    }
}
