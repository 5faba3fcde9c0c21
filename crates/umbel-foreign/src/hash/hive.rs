//! `Murmur3.hash64` of Hive and ORC: one 64-bit lane of MurmurHash3, seed 104729, with its own tail.
//!
//! `apache/hive`, storage-api, `org.apache.hive.common.util.Murmur3`; the same class in `apache/orc`.

use super::murmur3::{avalanche, scramble_first};
use super::short_word;

/// The hash of `key`.
///
/// The bytes after the last whole word are scrambled as a word, but the state is not rotated after them.
#[inline]
pub(crate) fn hash64(key: &[u8]) -> u64 {
    let (words, tail) = key.as_chunks::<8>();
    let hash = words.iter().fold(104_729u64, |hash, &word| {
        let mixed = (hash ^ scramble_first(u64::from_le_bytes(word))).rotate_left(27);
        mixed.wrapping_mul(5).wrapping_add(0x52dc_e729)
    });
    avalanche(hash ^ scramble_first(short_word(tail)) ^ key.len() as u64)
}
