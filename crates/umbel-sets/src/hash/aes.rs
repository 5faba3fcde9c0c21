//! A hash by AES instructions: the only unsafe code of this crate.

#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m128i, _mm_aesdec_si128, _mm_aesenc_si128, _mm_cvtsi128_si64, _mm_set_epi64x,
    _mm_shuffle_epi32, _mm_unpackhi_epi64, _mm_xor_si128,
};

use umbel::KeyHash;

/// A hash by AES rounds, on a processor that has them.
#[derive(Clone, Copy)]
pub(crate) struct Aes {
    keys: [__m128i; 2],
}

impl Aes {
    /// Under a key of 256 bits; `None` without AES instructions.
    pub(super) fn new(key: [u64; 4]) -> Option<Self> {
        let [a, b, c, d] = key.map(u64::cast_signed);
        std::arch::is_x86_feature_detected!("aes").then(|| {
            // SAFETY: every processor of this architecture has SSE2.
            Self { keys: unsafe { [_mm_set_epi64x(a, b), _mm_set_epi64x(c, d)] } }
        })
    }

    pub(super) fn hash(&self, key: &[u8]) -> KeyHash {
        // SAFETY: `new` checked for the instructions.
        unsafe { hash(self.keys, key) }
    }

    pub(super) fn hash_each<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
        take: impl FnMut(KeyHash),
    ) {
        // SAFETY: `new` checked for the instructions.
        unsafe { hash_each(self.keys, keys, take) }
    }
}

#[target_feature(enable = "aes")]
fn hash_each<'k>(
    by: [__m128i; 2],
    keys: impl Iterator<Item = &'k [u8]>,
    mut take: impl FnMut(KeyHash),
) {
    for key in keys {
        take(hash(by, key));
    }
}

/// Two states absorb every block, one by encryption rounds and one by decryption rounds: differences in two
/// blocks that cancel out in one state do not in the other.
#[target_feature(enable = "aes")]
#[inline]
fn hash(by: [__m128i; 2], key: &[u8]) -> KeyHash {
    let [first, second] = by;
    let mut states = [_mm_xor_si128(first, words(key.len() as u64, 0)), second];
    let mut take = |block: __m128i| {
        states[0] = _mm_aesenc_si128(_mm_xor_si128(states[0], block), first);
        states[1] = _mm_aesdec_si128(_mm_xor_si128(states[1], block), second);
    };
    match key.last_chunk::<16>() {
        None => take(short(key)),
        Some(last) => {
            let (blocks, _) = key[..key.len() - 1].as_chunks::<16>();
            for block in blocks {
                take(load(block));
            }
            take(load(last));
        }
    }
    // After four rounds in total, no difference of two keys is likelier in the first state than 2⁻¹¹³ (J. Daemen,
    // V. Rijmen, The Design of Rijndael, section 9.5), so it does not cancel out with the second state's, which
    // has seen one. If the first state has none, another round spreads the second one's.
    let [mut a, b] = states;
    for key in [second, first, second] {
        a = _mm_aesenc_si128(a, key);
    }
    let mixed = _mm_aesenc_si128(_mm_xor_si128(a, _mm_shuffle_epi32::<0b01_00_11_10>(b)), first);
    let high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(mixed, mixed)).cast_unsigned();
    KeyHash { high, low: _mm_cvtsi128_si64(mixed).cast_unsigned() }
}

#[target_feature(enable = "sse2")]
#[inline]
fn load(block: &[u8; 16]) -> __m128i {
    let word = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("8 bytes"));
    words(word(0), word(8))
}

#[target_feature(enable = "sse2")]
#[inline]
fn words(low: u64, high: u64) -> __m128i {
    _mm_set_epi64x(high.cast_signed(), low.cast_signed())
}

/// A key of fewer than 16 bytes; its length is in the state.
#[target_feature(enable = "sse2")]
#[inline]
fn short(key: &[u8]) -> __m128i {
    if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
        return words(u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
        return words(u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into());
    }
    words(key.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)), 0)
}
