//! XXPH3, the preview of XXH3 that RocksDB's filters use: seed 0, 64 bits.
//!
//! RocksDB copied it from xxHash 0.7.2 and kept it (`facebook/rocksdb` `util/xxph3.h`). Today's XXH3 gives other
//! values: short keys are mixed differently, a lane of a long key uses its own data and not its neighbour's, and the
//! last stripe of a long key is skipped if it ends on a stripe's boundary.

const PRIME32_1: u64 = 0x9e37_79b1;
const PRIME32_2: u64 = 0x85eb_ca77;
const PRIME32_3: u64 = 0xc2b2_ae3d;
const PRIME64_1: u64 = 0x9e37_79b1_85eb_ca87;
const PRIME64_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME64_3: u64 = 0x1656_67b1_9e37_79f9;
const PRIME64_4: u64 = 0x85eb_ca77_c2b2_ae63;
const PRIME64_5: u64 = 0x27d4_eb2f_1656_67c5;

/// XXH3's default secret.
const SECRET: [u8; 192] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

const STRIPE: usize = 64;
const BLOCK: usize = 16 * STRIPE;

/// The hash of `key`.
#[inline]
pub(crate) fn hash(key: &[u8]) -> u64 {
    match key.len() {
        0 => fold(word(&SECRET, 0), PRIME64_2),
        1..=3 => hash_1_to_3(key),
        4..=8 => hash_4_to_8(key),
        9..=16 => hash_9_to_16(key),
        17..=128 => hash_17_to_128(key),
        129..=240 => hash_129_to_240(key),
        _ => hash_long(key),
    }
}

#[inline]
fn hash_1_to_3(key: &[u8]) -> u64 {
    let length = key.len();
    let combined = u32::from_le_bytes([key[0], key[length >> 1], key[length - 1], length as u8]);
    avalanche(u64::from(combined ^ word(&SECRET, 0) as u32).wrapping_mul(PRIME64_1))
}

#[inline]
fn hash_4_to_8(key: &[u8]) -> u64 {
    let length = key.len();
    let keyed = (half(key, 0) | half(key, length - 4) << 32) ^ word(&SECRET, 0);
    let mixed = (length as u64).wrapping_add((keyed ^ keyed >> 51).wrapping_mul(PRIME32_1));
    avalanche((mixed ^ mixed >> 47).wrapping_mul(PRIME64_2))
}

#[inline]
fn hash_9_to_16(key: &[u8]) -> u64 {
    let length = key.len();
    let first = word(key, 0) ^ word(&SECRET, 0);
    let last = word(key, length - 8) ^ word(&SECRET, 8);
    let sum = (length as u64).wrapping_add(first).wrapping_add(last);
    avalanche(sum.wrapping_add(fold(first, last)))
}

#[inline]
fn hash_17_to_128(key: &[u8]) -> u64 {
    let length = key.len();
    let mut sum = (length as u64).wrapping_mul(PRIME64_1);
    // Pairs of 16 bytes from both ends inwards, as many as it takes to meet.
    for pair in 0..(length - 1) / 32 + 1 {
        sum = sum.wrapping_add(mix(key, 16 * pair, 32 * pair));
        sum = sum.wrapping_add(mix(key, length - 16 * (pair + 1), 32 * pair + 16));
    }
    avalanche(sum)
}

#[inline(never)]
fn hash_129_to_240(key: &[u8]) -> u64 {
    let length = key.len();
    let mut sum = (length as u64).wrapping_mul(PRIME64_1);
    for i in 0..8 {
        sum = sum.wrapping_add(mix(key, 16 * i, 16 * i));
    }
    sum = avalanche(sum);
    for i in 8..length / 16 {
        sum = sum.wrapping_add(mix(key, 16 * i, 16 * (i - 8) + 3));
    }
    avalanche(sum.wrapping_add(mix(key, length - 16, 119)))
}

#[inline(never)]
fn hash_long(key: &[u8]) -> u64 {
    let mut lanes =
        [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1];
    let blocks = key.chunks_exact(BLOCK);
    let rest = blocks.remainder();
    for block in blocks {
        stripes(&mut lanes, block);
        for (i, lane) in lanes.iter_mut().enumerate() {
            *lane = (*lane ^ *lane >> 47 ^ word(&SECRET, 128 + 8 * i)).wrapping_mul(PRIME32_1);
        }
    }
    stripes(&mut lanes, rest);
    if !key.len().is_multiple_of(STRIPE) {
        stripe(&mut lanes, &key[key.len() - STRIPE..], 121);
    }
    let sum = (key.len() as u64).wrapping_mul(PRIME64_1);
    avalanche((0..4).fold(sum, |sum, i| {
        let left = lanes[2 * i] ^ word(&SECRET, 11 + 16 * i);
        sum.wrapping_add(fold(left, lanes[2 * i + 1] ^ word(&SECRET, 19 + 16 * i)))
    }))
}

/// The whole stripes of at most one block.
#[inline]
fn stripes(lanes: &mut [u64; 8], bytes: &[u8]) {
    for (i, bytes) in bytes.chunks_exact(STRIPE).enumerate() {
        stripe(lanes, bytes, 8 * i);
    }
}

#[inline]
fn stripe(lanes: &mut [u64; 8], bytes: &[u8], secret: usize) {
    for (i, lane) in lanes.iter_mut().enumerate() {
        let data = word(bytes, 8 * i);
        let keyed = data ^ word(&SECRET, secret + 8 * i);
        let product = (keyed & 0xffff_ffff).wrapping_mul(keyed >> 32);
        *lane = lane.wrapping_add(data).wrapping_add(product);
    }
}

#[inline]
fn mix(key: &[u8], at: usize, secret: usize) -> u64 {
    let left = word(key, at) ^ word(&SECRET, secret);
    fold(left, word(key, at + 8) ^ word(&SECRET, secret + 8))
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

#[inline]
fn half(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")))
}

#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product >> 64) as u64 ^ product as u64
}

#[inline]
fn avalanche(word: u64) -> u64 {
    let word = (word ^ word >> 37).wrapping_mul(PRIME64_3);
    word ^ word >> 32
}
