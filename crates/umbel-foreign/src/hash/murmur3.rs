//! MurmurHash3, as published with 128 bits, and as in Spark with 32.
//!
//! Austin Appleby, public domain, <https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp>.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// MurmurHash3_x64_128 of `key`: h1, the first eight bytes of the digest as a little-endian word, and h2.
///
/// Guava and bits-and-blooms.
#[inline]
pub(crate) fn x64_128(seed: u32, key: &[u8]) -> (u64, u64) {
    let (blocks, tail) = key.as_chunks::<16>();
    State::over(seed, blocks).finish(tail, key.len())
}

/// [`x64_128`] with seed 0 of `key`, then of `key` followed by a byte 1, without copying the key.
///
/// bits-and-blooms gets its four words from these two.
#[inline]
pub(crate) fn x64_128_and_with_one_behind(key: &[u8]) -> [u64; 4] {
    let (blocks, tail) = key.as_chunks::<16>();
    let state = State::over(0, blocks);
    let (first, second) = state.finish(tail, key.len());
    let mut longer = [0; 16];
    longer[..tail.len()].copy_from_slice(tail);
    longer[tail.len()] = 1;
    let (third, fourth) = if tail.len() == 15 {
        state.step(&longer).finish(&[], key.len() + 1)
    } else {
        state.finish(&longer[..=tail.len()], key.len() + 1)
    };
    [first, second, third, fourth]
}

/// The two words of state from block to block.
#[derive(Clone, Copy)]
struct State(u64, u64);

impl State {
    #[inline]
    fn over(seed: u32, blocks: &[[u8; 16]]) -> Self {
        blocks.iter().fold(Self(u64::from(seed), u64::from(seed)), |state, block| state.step(block))
    }

    #[inline]
    fn step(self, block: &[u8; 16]) -> Self {
        let (low, high) = halves(block);
        let first = (self.0 ^ scramble_first(low)).rotate_left(27).wrapping_add(self.1);
        let first = first.wrapping_mul(5).wrapping_add(0x52dc_e729);
        let second = (self.1 ^ scramble_second(high)).rotate_left(31).wrapping_add(first);
        Self(first, second.wrapping_mul(5).wrapping_add(0x3849_5ab5))
    }

    /// Mixes in the last `tail`, shorter than a block, then the `length` of the whole key.
    #[inline]
    fn finish(self, tail: &[u8], length: usize) -> (u64, u64) {
        let mut padded = [0; 16];
        padded[..tail.len()].copy_from_slice(tail);
        let (low, high) = halves(&padded);
        // A word that the tail does not reach is 0, and stays 0 when scrambled.
        let first = self.0 ^ scramble_first(low) ^ length as u64;
        let second = self.1 ^ scramble_second(high) ^ length as u64;
        let first = first.wrapping_add(second);
        let second = second.wrapping_add(first);
        let (first, second) = (avalanche(first), avalanche(second));
        let first = first.wrapping_add(second);
        (first, second.wrapping_add(first))
    }
}

#[inline]
fn halves(block: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*block);
    (both as u64, (both >> 64) as u64)
}

/// Scrambles the first word of a block: the hash of Hive and ORC has only this part.
#[inline]
pub(super) fn scramble_first(word: u64) -> u64 {
    word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

#[inline]
fn scramble_second(word: u64) -> u64 {
    word.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

/// `fmix64`, MurmurHash3's last step.
#[inline]
pub(super) fn avalanche(word: u64) -> u64 {
    let word = (word ^ word >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let word = (word ^ word >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ word >> 33
}

/// Spark's `Murmur3_x86_32.hashUnsafeBytes`: MurmurHash3_x86_32, except that each byte after the last whole word is
/// sign-extended and goes through a word's full round.
///
/// A key of whole words hashes as published.
#[inline]
pub(crate) fn spark_x86_32(seed: u32, key: &[u8]) -> u32 {
    let (words, tail) = key.as_chunks::<4>();
    let hash = words.iter().fold(seed, |hash, &word| round(hash, u32::from_le_bytes(word)));
    let hash = tail.iter().fold(hash, |hash, &byte| round(hash, byte as i8 as u32));
    let hash = hash ^ key.len() as u32;
    let hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[inline]
fn round(hash: u32, word: u32) -> u32 {
    let word = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_behind_equals_the_longer_key_at_every_length() {
        let mut key: Vec<u8> = (0..100u32).map(|i| (i * 167 + 13) as u8).collect();
        for length in (0..100).rev() {
            key.truncate(length);
            let (first, second) = x64_128(0, &key);
            key.push(1);
            let (third, fourth) = x64_128(0, &key);
            key.pop();
            assert_eq!(x64_128_and_with_one_behind(&key), [first, second, third, fourth]);
        }
    }
}
