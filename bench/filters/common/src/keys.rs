//! Keys, by their number: the same on every machine, a different key for each number.

/// A form of keys.
pub trait Key: Send + Sync + Sized {
    /// Its name in arguments and records.
    const NAME: &'static str;

    /// Key number `i`.
    fn nth(i: u64) -> Self;
}

/// A key given as a 64-bit hash.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Hashed(pub u64);

/// A key of 64 bytes of text.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Text(pub [u8; 64]);

impl Hashed {
    /// The hashes as plain words.
    #[allow(unsafe_code)] // std casts single values, not slices
    pub fn words(hashes: &[Self]) -> &[u64] {
        // SAFETY: `Hashed` is transparent: the same bytes, the same alignment.
        unsafe { std::slice::from_raw_parts(hashes.as_ptr().cast(), hashes.len()) }
    }
}

impl Text {
    /// The texts as plain bytes.
    #[allow(unsafe_code)] // as above
    pub fn arrays(texts: &[Self]) -> &[[u8; 64]] {
        // SAFETY: `Text` is transparent: the same bytes, the same alignment.
        unsafe { std::slice::from_raw_parts(texts.as_ptr().cast(), texts.len()) }
    }
}

impl Key for Hashed {
    const NAME: &'static str = "hashed";

    fn nth(i: u64) -> Self {
        Self(splitmix64(i))
    }
}

/// A key that is an integer, to be hashed.
impl Key for u64 {
    const NAME: &'static str = "u64";

    fn nth(i: u64) -> Self {
        splitmix64(i)
    }
}

impl Key for Text {
    const NAME: &'static str = "str64";

    fn nth(i: u64) -> Self {
        let mut bytes = [0; 64];
        for (j, word) in (8 * i..).zip(bytes.chunks_exact_mut(8)) {
            // Each byte one of the 16 characters from ` to o: text, with 256 random bits in all.
            let letters = splitmix64(j) & 0x0f0f_0f0f_0f0f_0f0f | 0x6060_6060_6060_6060;
            word.copy_from_slice(&letters.to_le_bytes());
        }
        Self(bytes)
    }
}

/// Output `i` of SplitMix64 from a fixed seed: a bijection of 64 bits.
fn splitmix64(i: u64) -> u64 {
    const SEED: u64 = 0x5eed_b100_de5f_0001;
    let z = SEED.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_text_and_differ() {
        let mut keys: Vec<[u8; 64]> = (0..1000).map(|i| Text::nth(i).0).collect();
        assert!(keys.iter().flatten().all(|byte| (b'`'..=b'o').contains(byte)));
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 1000);
    }
}
