//! XXH3 with 128 bits and a seed, for keys of 4 to 128 bytes; other lengths go to a library.
//!
//! Most keys are that short, and a general routine costs a third more on them (66 bytes, in one run: 11.5 ns, here
//! 8.7). The steps follow Y. Collet's specification,
//! <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>; words are at fixed distances from both ends, which
//! makes bounds checks unnecessary.

use twox_hash::XxHash3_128;

use super::KeyHash;

const PRIME32_2: u64 = 0x85eb_ca77;
const PRIME64_1: u64 = 0x9e37_79b1_85eb_ca87;
const PRIME64_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME64_4: u64 = 0x85eb_ca77_c2b2_ae63;

/// The default secret's first words, little-endian: "secret" is the specification's name.
const SECRET: [u64; 16] = [
    0xbe4b_a423_396c_feb8,
    0x1cad_21f7_2c81_017c,
    0xdb97_9083_e96d_d4de,
    0x1f67_b3b7_a4a4_4072,
    0x78e5_c0cc_4ee6_79cb,
    0x2172_ffcc_7dd0_5a82,
    0x8e24_43f7_7446_08b8,
    0x4c26_3a81_e690_35e0,
    0xcb00_c391_bb52_283c,
    0xa32e_531b_8b65_d088,
    0x4ef9_0da2_9748_6471,
    0xd8ac_dea9_46ef_1938,
    0x3f34_9ce3_3f76_faa8,
    0x1d4f_0bc7_c7bb_dcf9,
    0x3159_b4cd_4be0_518a,
    0x6473_78d9_c97e_9fc8,
];

#[inline]
pub(super) fn hash(seed: u64, key: &[u8]) -> KeyHash {
    match key.len() {
        4..=8 => hash_4_to_8(seed, key),
        9..=16 => hash_9_to_16(seed, key),
        17..=32 => mixed::<16, 1>(seed, key),
        33..=64 => mixed::<32, 2>(seed, key),
        65..=96 => mixed::<48, 3>(seed, key),
        97..=128 => mixed::<64, 4>(seed, key),
        _ => other(seed, key),
    }
}

/// Not inlined: such a large function would keep the code for short keys out of the caller's loop.
#[inline(never)]
fn other(seed: u64, key: &[u8]) -> KeyHash {
    KeyHash::from_u128(XxHash3_128::oneshot_with_seed(seed, key))
}

/// The first and the last `N` bytes.
#[inline(always)]
fn ends<const N: usize>(key: &[u8]) -> [&[u8; N]; 2] {
    let (Some(head), Some(tail)) = (key.first_chunk(), key.last_chunk()) else {
        unreachable!("the length was looked at")
    };
    [head, tail]
}

#[inline(always)]
fn hash_4_to_8(seed: u64, key: &[u8]) -> KeyHash {
    let seed = seed ^ u64::from((seed as u32).swap_bytes()) << 32;
    let [head, tail] = ends(key).map(|end| u64::from(u32::from_le_bytes(*end)));
    let keyed = (head | tail << 32) ^ (SECRET[2] ^ SECRET[3]).wrapping_add(seed);
    let (mut high, mut low) = multiply(keyed, PRIME64_1.wrapping_add((key.len() as u64) << 2));
    high = high.wrapping_add(low << 1);
    low ^= high >> 3;
    low = (low ^ low >> 35).wrapping_mul(0x9fb2_1c65_1e98_df25);
    KeyHash { high: avalanche(high), low: low ^ low >> 28 }
}

#[inline(always)]
fn hash_9_to_16(seed: u64, key: &[u8]) -> KeyHash {
    let [head, tail] = ends(key).map(|end| u64::from_le_bytes(*end));
    let flip_low = (SECRET[4] ^ SECRET[5]).wrapping_sub(seed);
    let flip_high = (SECRET[6] ^ SECRET[7]).wrapping_add(seed);
    let (mut high, mut low) = multiply(head ^ tail ^ flip_low, PRIME64_1);
    low = low.wrapping_add((key.len() as u64 - 1) << 54);
    let tail = tail ^ flip_high;
    high = high.wrapping_add(tail).wrapping_add((tail & 0xffff_ffff).wrapping_mul(PRIME32_2 - 1));
    low ^= high.swap_bytes();
    let (carry, low) = multiply(low, PRIME64_2);
    let high = carry.wrapping_add(high.wrapping_mul(PRIME64_2));
    KeyHash { high: avalanche(high), low: avalanche(low) }
}

/// 17 to 128 bytes: `ROUNDS` pairs of 16 bytes, from `N` = 16 · `ROUNDS` bytes at each end.
#[inline(always)]
fn mixed<const N: usize, const ROUNDS: usize>(seed: u64, key: &[u8]) -> KeyHash {
    let [head, tail] = ends::<N>(key);
    let length = key.len() as u64;
    let (mut low, mut high) = (length.wrapping_mul(PRIME64_1), 0u64);
    for round in (0..ROUNDS).rev() {
        let front = pair(head, 16 * round);
        let back = pair(tail, N - 16 * (round + 1));
        low = low.wrapping_add(fold(front, 4 * round, seed)) ^ back.0.wrapping_add(back.1);
        high = high.wrapping_add(fold(back, 4 * round + 2, seed)) ^ front.0.wrapping_add(front.1);
    }
    let sum = low.wrapping_add(high);
    let other = low
        .wrapping_mul(PRIME64_1)
        .wrapping_add(high.wrapping_mul(PRIME64_4))
        .wrapping_add(length.wrapping_sub(seed).wrapping_mul(PRIME64_2));
    KeyHash { high: avalanche(other).wrapping_neg(), low: avalanche(sum) }
}

#[inline(always)]
fn pair<const N: usize>(bytes: &[u8; N], at: usize) -> (u64, u64) {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    (word(at), word(at + 8))
}

/// Both halves of the product of 16 bytes, each keyed, folded into one.
#[inline(always)]
fn fold(pair: (u64, u64), secret: usize, seed: u64) -> u64 {
    let left = pair.0 ^ SECRET[secret].wrapping_add(seed);
    let right = pair.1 ^ SECRET[secret + 1].wrapping_sub(seed);
    let (high, low) = multiply(left, right);
    high ^ low
}

#[inline(always)]
fn multiply(left: u64, right: u64) -> (u64, u64) {
    let product = u128::from(left) * u128::from(right);
    ((product >> 64) as u64, product as u64)
}

#[inline(always)]
fn avalanche(word: u64) -> u64 {
    let word = (word ^ word >> 37).wrapping_mul(0x1656_6791_9e37_79f9);
    word ^ word >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::in_miri;

    #[test]
    fn equals_the_library_at_every_length() {
        let bytes: Vec<u8> = (0..400u64).map(|i| crate::hash::mix(i) as u8).collect();
        for seed in [0, 1, 0xdead_beef, u64::MAX, crate::hash::mix(9)] {
            for length in (0..=300).step_by(in_miri(13, 1)) {
                for start in [0, 1, 77] {
                    let key = &bytes[start..start + length];
                    assert_eq!(hash(seed, key), other(seed, key), "{length} bytes, seed {seed}");
                }
            }
        }
    }
}
