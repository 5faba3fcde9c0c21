//! Slots of any width from 1 to 64 bits, packed without gaps.

/// The low `width` bits set; `width` from 0 to 64.
#[inline]
pub(crate) const fn mask(width: u32) -> u64 {
    match width {
        0 => 0,
        _ => u64::MAX >> (64 - width),
    }
}

/// The byte in which slot `slot` of a row begins, and its bit there. `WIDTH` is the width if it has its own code (8, 12
/// and 16), else 0.
#[inline(always)]
pub(crate) fn place<const WIDTH: u32>(slot: u32, width: u32) -> (usize, u32) {
    match WIDTH {
        8 => (slot as usize, 0),
        16 => (2 * slot as usize, 0),
        _ => {
            let bit = u64::from(slot) * u64::from(if WIDTH == 0 { width } else { WIDTH });
            ((bit / 8) as usize, (bit % 8) as u32)
        }
    }
}

/// Slot `slot` of a row; bits above its width may be set.
#[inline(always)]
pub(crate) fn get<const WIDTH: u32>(bytes: &[u8], slot: u32, width: u32) -> u64 {
    let (byte, shift) = place::<WIDTH>(slot, width);
    match WIDTH {
        8 => u64::from(bytes[byte]),
        12 | 16 => {
            let pair: [u8; 2] = bytes[byte..byte + 2].try_into().expect("two bytes");
            u64::from(u16::from_le_bytes(pair)) >> shift
        }
        _ => {
            let word = |byte: usize| {
                let word: Option<&[u8; 8]> =
                    bytes.get(byte..).and_then(|bytes| bytes.first_chunk());
                word.map_or_else(|| end(bytes, byte), |word| u64::from_le_bytes(*word))
            };
            // Eight bytes hold a slot of up to 57 bits, wherever it begins in the first byte.
            match word(byte) >> shift {
                low if width <= 57 => low,
                low => low | word(byte + 8) << 1 << (63 - shift),
            }
        }
    }
}

/// The last bytes, fewer than eight, as a word.
#[cold]
fn end(bytes: &[u8], byte: usize) -> u64 {
    let rest = bytes.get(byte..).unwrap_or_default();
    rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Sets a slot that is zero.
#[inline]
pub(crate) fn put<const WIDTH: u32>(bytes: &mut [u8], slot: u32, width: u32, value: u64) {
    let (byte, shift) = place::<WIDTH>(slot, width);
    match WIDTH {
        8 => bytes[byte] = value as u8,
        12 | 16 => {
            let pair: &mut [u8; 2] = (&mut bytes[byte..byte + 2]).try_into().expect("two bytes");
            *pair = (u16::from_le_bytes(*pair) | (value << shift) as u16).to_le_bytes();
        }
        _ => {
            let value = (u128::from(value) << shift).to_le_bytes();
            let end = (byte + (shift + width).div_ceil(8) as usize).min(bytes.len());
            bytes[byte..end].iter_mut().zip(value).for_each(|(byte, value)| *byte |= value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    #[test]
    fn slots_of_every_width_keep_their_values() {
        for width in 1..=64 {
            let slots = 8 * 192 / width;
            let mut bytes = vec![0; 192];
            let value = |slot: u32| mix(slot.into()) & mask(width);
            for slot in 0..slots {
                put::<0>(&mut bytes, slot, width, value(slot));
            }
            let mut special = vec![0; 192];
            for slot in 0..slots {
                let found = get::<0>(&bytes, slot, width) & mask(width);
                assert_eq!(found, value(slot), "{width} {slot}");
                let found = match width {
                    8 => {
                        put::<8>(&mut special, slot, width, value(slot));
                        get::<8>(&bytes, slot, width)
                    }
                    12 => {
                        put::<12>(&mut special, slot, width, value(slot));
                        get::<12>(&bytes, slot, width)
                    }
                    16 => {
                        put::<16>(&mut special, slot, width, value(slot));
                        get::<16>(&bytes, slot, width)
                    }
                    _ => continue,
                };
                assert_eq!(found & mask(width), value(slot));
            }
            assert!(![8, 12, 16].contains(&width) || special == bytes, "{width}");
        }
    }
}
