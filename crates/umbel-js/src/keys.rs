//! Which values of JavaScript are keys, and their hashes.

use alloc::vec::Vec;

use umbel::{Filter, KeyDescription, KeyForm, KeyHash, KeyHasher};

use crate::Result;

/// A key, as it was given.
#[derive(Clone, Copy, Debug)]
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

impl Key<'_> {
    fn form(self) -> KeyForm {
        match self {
            Self::Bytes(_) => KeyForm::Bytes,
            Self::Number(_) | Self::Big(_) => KeyForm::Integer,
        }
    }
}

/// The form of a filter's keys. Filters of more than values as they are get refused: what they were built from would be absent.
pub(crate) fn form(keys: &KeyDescription) -> Result<Option<KeyForm>> {
    match keys.is_plain() {
        true => Ok(keys.form()),
        false => Err(
            "it was built from several fields, prefixes or changed values; ask the command line"
                .into(),
        ),
    }
}

/// The hashes of keys in one of umbel's filters, in the form that it has: in one of text, an integer is its digits. Keys of another
/// form are refused.
pub(crate) fn hashes(
    hasher: &KeyHasher,
    form: Option<KeyForm>,
    keys: &[Key<'_>],
) -> Result<Vec<KeyHash>> {
    let mut hashes = Vec::with_capacity(keys.len());
    for &key in keys {
        let (integer, is_negative) = match key {
            Key::Bytes(_) => (0, false),
            Key::Number(number) => (number as i64 as u64, number < 0.0),
            Key::Big(number) => (number as u64, number < 0),
        };
        hashes.push(match (form, key) {
            (Some(KeyForm::Integer), Key::Bytes(_))
            | (Some(KeyForm::Bytes), Key::Number(_) | Key::Big(_)) => {
                return Err("its keys are of another type: give Number(key) or String(key)".into());
            }
            (Some(KeyForm::Text), Key::Number(_) | Key::Big(_)) => {
                hasher.hash(digits(integer, is_negative, &mut [0; 20]))
            }
            (_, Key::Bytes(bytes)) => hasher.hash(bytes),
            _ => hasher.hash(integer),
        });
    }
    Ok(hashes)
}

/// The decimal digits of an integer. The core's are 3 kB larger.
fn digits(integer: u64, is_negative: bool, room: &mut [u8; 20]) -> &[u8] {
    let (mut rest, mut at) =
        (if is_negative { integer.wrapping_neg() } else { integer }, room.len());
    loop {
        at -= 1;
        room[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if is_negative {
        at -= 1;
        room[at] = b'-';
    }
    &room[at..]
}

/// Notes the form of the first keys of a filter.
pub(crate) fn note(filter: &mut impl Filter, keys: &[Key<'_>]) {
    if let Some(first) = keys.first()
        && filter.description().is_empty()
        && filter.is_empty()
    {
        filter.describe(first.form().into());
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
