//! Which values of JavaScript are keys, and their hashes.

use alloc::vec::Vec;

use umbel::{Filter, KeyHash};

/// A key, as it was given.
#[derive(Clone, Copy)]
pub(crate) enum Key<'a> {
    /// Text is its UTF-8.
    Bytes(&'a [u8]),
    Number(f64),
    /// From -2⁶³ to 2⁶⁴ - 1.
    Big(i128),
}

/// Reads keys: for each the byte of its type, the number of its bytes, and these.
pub(crate) fn keys(mut room: &[u8]) -> Vec<Key<'_>> {
    let mut keys = Vec::new();
    while let [sort, a, b, c, d, rest @ ..] = room {
        let (key, after) = rest.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        keys.push(match sort {
            0 => Key::Bytes(key),
            1 => Key::Number(f64::from_le_bytes(number(key))),
            _ => Key::Big(i128::from_le_bytes(number(key))),
        });
        room = after;
    }
    keys
}

fn number<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the bytes of a number")
}

/// The hash of a key in one of umbel's filters: of an integer the 8 bytes, whatever the `type` in the filter's description.
pub(crate) fn hash(filter: &impl Filter, key: Key<'_>) -> KeyHash {
    let hasher = filter.hasher();
    match key {
        Key::Bytes(bytes) => hasher.hash(bytes),
        Key::Number(number) => hasher.hash(number as i64),
        Key::Big(number) => hasher.hash(number as u64),
    }
}

/// The figures of a receipt, in the order of `package/filter.js`.
pub(crate) fn figures(filter: &impl Filter) -> Vec<f64> {
    let receipt = filter.receipt();
    let (keys, plan) = (receipt.keys, receipt.plan);
    let over = f64::from(receipt.over_filled);
    let bytes = filter.bytes() as f64;
    [
        receipt.fill,
        receipt.fpp,
        keys.value,
        keys.low,
        keys.high,
        bytes,
        plan.keys() as f64,
        plan.fpp(),
        over,
    ]
    .into()
}
