//! How the lines of a job are hashed.
//!
//! Saved filters hash as their files say. Hashes that a job forgets at its end use whatever is fastest on this
//! machine: with AES instructions, two rounds of AES for every 16 bytes, which take half the time of XXH3 (66 bytes,
//! in one run: 4.5 and 10.9 ns).

#[cfg(target_arch = "x86_64")]
mod aes;

use std::hash::{BuildHasher, RandomState};

use umbel::{KeyHash, KeyHasher};

/// Hashes lines, or their keys.
#[derive(Clone)]
pub(crate) enum LineHasher {
    /// The hasher of a filter.
    OfFilter(KeyHasher),
    /// AES, for nothing that outlives the job.
    #[cfg(target_arch = "x86_64")]
    Aes(aes::Aes),
}

impl From<KeyHasher> for LineHasher {
    fn from(hasher: KeyHasher) -> Self {
        Self::OfFilter(hasher)
    }
}

impl LineHasher {
    /// For one job, under a random key: lines cannot be prepared to collide. Only for answers that do not depend on
    /// it.
    pub(crate) fn random() -> Self {
        let state = RandomState::new();
        Self::keyed([0, 1, 2, 3].map(|i| state.hash_one(i)))
    }

    /// For one job whose answers depend on it: they are reproducible on a processor of the same kind.
    pub(crate) fn repeatable() -> Self {
        // The first digits of π.
        Self::keyed([
            0x243f_6a88_85a3_08d3,
            0x1319_8a2e_0370_7344,
            0xa409_3822_299f_31d0,
            0x082e_fa98_ec4e_6c89,
        ])
    }

    fn keyed(key: [u64; 4]) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(aes) = aes::Aes::new(key) {
            return Self::Aes(aes);
        }
        Self::OfFilter(KeyHasher::with_seed(key[0]))
    }

    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> KeyHash {
        match self {
            Self::OfFilter(hasher) => hasher.hash(key),
            #[cfg(target_arch = "x86_64")]
            Self::Aes(aes) => aes.hash(key),
        }
    }

    /// Hashes keys in order.
    #[inline]
    pub(crate) fn hash_each<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
        mut take: impl FnMut(KeyHash),
    ) {
        match self {
            Self::OfFilter(hasher) => keys.for_each(|key| take(hasher.hash(key))),
            #[cfg(target_arch = "x86_64")]
            Self::Aes(aes) => aes.hash_each(keys, take),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn hashers() -> [LineHasher; 2] {
        [LineHasher::random(), KeyHasher::default().into()]
    }

    #[test]
    fn equal_keys_have_equal_hashes_and_others_do_not() {
        let bytes: Vec<u8> = (1..400u32).map(|i| (i * 7 % 251) as u8).collect();
        for hasher in hashers() {
            let mut seen = HashSet::new();
            for length in 0..=200 {
                for start in [0, 1, 13, 64] {
                    let key = &bytes[start..start + length];
                    let (copy, hash) = (key.to_vec(), hasher.hash(key));
                    assert_eq!(hasher.hash(&copy), hash);
                    let fresh = seen.insert((hash.high, hash.low));
                    assert!(fresh || length == 0, "{length} bytes from {start}");
                    // And a key of zeros differs from one of fewer.
                    let zeros = hasher.hash(&vec![0; length]);
                    assert_eq!(seen.insert((zeros.high, zeros.low)), start == 0 && length > 0);
                }
            }
            let all = (0..50).map(|start| &bytes[start..2 * start]);
            let mut each = Vec::new();
            hasher.hash_each(all.clone(), |hash| each.push(hash));
            assert!(each.into_iter().eq(all.map(|key| hasher.hash(key))));
        }
    }

    /// Short and similar keys: numbers, in two notations, and words that differ in a few letters.
    #[test]
    fn hashes_of_similar_keys_differ() {
        let random = |i: u32| KeyHasher::default().hash(i.to_le_bytes()).low % 6_000_000;
        let numbers = (0..300_000).flat_map(|i| [format!("{:x}", random(i)), format!("{i:09}")]);
        let words = (0..60_000u32).map(|i| {
            let letters = (0..4).map(|place| char::from(b'a' + (i >> (4 * place) & 15) as u8));
            letters.flat_map(|letter| [letter, 'x', letter]).collect::<String>()
        });
        let keys: HashSet<String> = numbers.chain(words).collect();
        for hasher in hashers().into_iter().chain([LineHasher::repeatable()]) {
            let hashes = keys.iter().map(|key| hasher.hash(key.as_bytes()));
            let different: HashSet<_> = hashes.map(|hash| (hash.high, hash.low)).collect();
            assert_eq!(different.len(), keys.len());
        }
    }

    /// Every bit of a key changes every bit of the hash in half of the cases. Any bits of consecutive keys' hashes fill
    /// slots like those of random keys.
    #[test]
    fn bits_are_mixed() {
        const KEYS: u64 = 4000;
        for hasher in hashers() {
            for length in [3, 8, 12, 16, 33, 66] {
                let mut key = vec![b'7'; length];
                let mut moved = vec![[0u64; 128]; 8 * length];
                for number in 0..KEYS {
                    key[..3].copy_from_slice(&number.to_le_bytes()[..3]);
                    let before = hasher.hash(&key).to_u128();
                    for (bit, moved) in moved.iter_mut().enumerate() {
                        key[bit / 8] ^= 1 << (bit % 8);
                        let moves = before ^ hasher.hash(&key).to_u128();
                        key[bit / 8] ^= 1 << (bit % 8);
                        (0..128).for_each(|i| moved[i] += (moves >> i & 1) as u64);
                    }
                }
                // Some 68 thousand binomial counts: 8 standard deviations are never reached by chance.
                let far = 8.0 * (KEYS as f64 / 4.0).sqrt();
                for count in moved.iter().flatten() {
                    let off = (*count as f64 - KEYS as f64 / 2.0).abs();
                    assert!(off < far, "{length} bytes: a bit moves in {count} of {KEYS}");
                }
            }
        }
    }
}
