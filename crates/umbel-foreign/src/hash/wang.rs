//! Thomas Wang's mix of a 64-bit integer, with Java's arithmetic shifts, as ORC uses it for numbers.
//!
//! `apache/orc` `org.apache.orc.util.BloomFilter.getLongHash`, after T. Wang, "Integer Hash Function", 2007.

/// The hash of `key`. Every right shift keeps the sign, where Wang's own do not.
#[inline]
pub(crate) fn hash(key: i64) -> i64 {
    let key = (!key).wrapping_add(key << 21);
    let key = key ^ key >> 24;
    let key = key.wrapping_add(key << 3).wrapping_add(key << 8);
    let key = key ^ key >> 14;
    let key = key.wrapping_add(key << 2).wrapping_add(key << 4);
    let key = key ^ key >> 28;
    key.wrapping_add(key << 31)
}
