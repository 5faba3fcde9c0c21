//! XXH64. Numbers of 4 and 8 bytes, which fill columns, are hashed in registers.
//!
//! Yann Collet, <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>.

use std::hash::Hasher;

use twox_hash::XxHash64;

const PRIME_1: u64 = 0x9e37_79b1_85eb_ca87;
const PRIME_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME_3: u64 = 0x1656_67b1_9e37_79f9;
const PRIME_4: u64 = 0x85eb_ca77_c2b2_ae63;
const PRIME_5: u64 = 0x27d4_eb2f_1656_67c5;

/// XXH64 of `key`. Parquet and DataSketches.
#[inline]
pub(crate) fn hash(seed: u64, key: &[u8]) -> u64 {
    XxHash64::oneshot(seed, key)
}

/// [`hash`] of the eight bytes of `key`, little-endian.
#[inline]
pub(crate) fn of_u64(seed: u64, key: u64) -> u64 {
    let round = key.wrapping_mul(PRIME_2).rotate_left(31).wrapping_mul(PRIME_1);
    let state = seed.wrapping_add(PRIME_5).wrapping_add(8) ^ round;
    avalanche(state.rotate_left(27).wrapping_mul(PRIME_1).wrapping_add(PRIME_4))
}

/// [`hash`] of the four bytes of `key`, little-endian.
#[inline]
pub(crate) fn of_u32(seed: u64, key: u32) -> u64 {
    let state = seed.wrapping_add(PRIME_5).wrapping_add(4) ^ u64::from(key).wrapping_mul(PRIME_1);
    avalanche(state.rotate_left(23).wrapping_mul(PRIME_2).wrapping_add(PRIME_3))
}

/// Hashes values that each begin like the one before: the shared part is hashed once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prefixes {
    /// The hash so far, after each `STEP` bytes of the last value.
    states: Vec<XxHash64>,
}

impl Prefixes {
    /// Bytes between two states, which have 80 to 88 bytes: a value costs at most 255 bytes more than its own part.
    const STEP: usize = 256;

    /// [`hash`] of `value` with seed 0, whose first `shared` bytes equal the previous value's.
    pub(crate) fn hash(&mut self, value: &[u8], shared: usize) -> u64 {
        self.states.truncate(shared / Self::STEP);
        if value.len() < Self::STEP {
            return hash(0, value);
        }
        let mut state = self.states.last().cloned().unwrap_or_else(|| XxHash64::with_seed(0));
        let steps = value[self.states.len() * Self::STEP..].chunks_exact(Self::STEP);
        let rest = steps.remainder();
        for step in steps {
            state.write(step);
            self.states.push(state.clone());
        }
        state.write(rest);
        state.finish()
    }
}

#[inline]
fn avalanche(state: u64) -> u64 {
    let state = (state ^ state >> 33).wrapping_mul(PRIME_2);
    let state = (state ^ state >> 29).wrapping_mul(PRIME_3);
    state ^ state >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_share_their_beginning() {
        let mut text: Vec<u8> = (0..2000).map(|i| crate::hash::mix(i) as u8).collect();
        let mut prefixes = Prefixes::default();
        for i in 0..3000 {
            let [length, shared] = [i, i + 9000].map(|i| crate::hash::mix(i) as usize % 2001);
            let shared = shared.min(length).min(text.len());
            text.truncate(shared);
            text.resize_with(length, || i as u8);
            assert_eq!(prefixes.hash(&text, shared), hash(0, &text), "{length} {shared}");
        }
    }

    #[test]
    fn numbers_hash_as_their_bytes() {
        for i in 0..1000 {
            let (seed, key) = (crate::hash::mix(i), crate::hash::mix(i + 5000));
            assert_eq!(of_u64(seed, key), hash(seed, &key.to_le_bytes()));
            assert_eq!(of_u32(seed, key as u32), hash(seed, &(key as u32).to_le_bytes()));
        }
    }
}
