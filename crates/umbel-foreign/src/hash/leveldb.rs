//! LevelDB's 32-bit hash, and RocksDB's variant of it: one signed type apart.
//!
//! `google/leveldb` `util/hash.cc`, seed 0xbc9f1d34 from `util/bloom.cc`; `facebook/rocksdb` `util/hash.cc`.

const SEED: u32 = 0xbc9f_1d34;
const M: u32 = 0xc6a4_a793;

/// LevelDB's `BloomHash`, goleveldb's and Badger's too.
#[inline]
pub(crate) fn hash(key: &[u8]) -> u32 {
    with_tail(key, u32::from)
}

/// RocksDB's `BloomHash`: bytes after the last whole word are sign-extended, so it differs from LevelDB's if one of
/// them is 0x80 or more.
#[inline]
pub(crate) fn hash_signed_tail(key: &[u8]) -> u32 {
    with_tail(key, |byte| byte as i8 as u32)
}

#[inline]
fn with_tail(key: &[u8], widened: impl Fn(u8) -> u32) -> u32 {
    let (words, tail) = key.as_chunks::<4>();
    let mut hash = SEED ^ (key.len() as u32).wrapping_mul(M);
    for &word in words {
        hash = hash.wrapping_add(u32::from_le_bytes(word)).wrapping_mul(M);
        hash ^= hash >> 16;
    }
    if tail.is_empty() {
        return hash;
    }
    for (i, &byte) in tail.iter().enumerate() {
        hash = hash.wrapping_add(widened(byte) << (8 * i));
    }
    hash = hash.wrapping_mul(M);
    hash ^ hash >> 24
}
