//! The filter of one block: which keys it has, how many rows these need, and their bits.

use umbel::KeyHash;
use umbel::internals::{mix, place};

/// The distinct keys of a block, each with its probes.
#[derive(Default)]
pub(crate) struct KeySet {
    /// For each slot, the number of a key from 1 on, and 32 bits of its hash above that; 0 if it is free.
    slots: Vec<u64>,
    keys: Vec<(KeyHash, u32)>,
    probes: u64,
}

impl KeySet {
    /// Forgets all keys.
    pub(crate) fn clear(&mut self) {
        self.slots.fill(0);
        self.keys.clear();
        self.probes = 0;
    }

    #[inline]
    pub(crate) fn insert(&mut self, hash: KeyHash, probes: u32) {
        if self.keys.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let tag = hash.high & !u64::from(u32::MAX);
        let mut at = hash.low as usize & mask;
        loop {
            match self.slots[at] {
                0 => break,
                slot if slot & !u64::from(u32::MAX) == tag
                    && self.keys[slot as u32 as usize - 1].0 == hash =>
                {
                    return;
                }
                _ => at = (at + 1) & mask,
            }
        }
        self.keys.push((hash, probes));
        self.probes += u64::from(probes);
        self.slots[at] = tag | self.keys.len() as u64;
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 4).max(1 << 12);
        self.slots.clear();
        self.slots.resize(size, 0);
        for (number, (hash, _)) in (1..).zip(&self.keys) {
            let mut at = hash.low as usize & (size - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = hash.high & !u64::from(u32::MAX) | number;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The filter: as many bits as rows, filled to at most half on average.
    pub(crate) fn column(&self) -> Vec<u8> {
        let rows = rows(self.probes);
        let mut bits = vec![0; rows as usize / 8];
        for (hash, probes) in &self.keys {
            for row in probed(*hash, *probes, rows) {
                bits[row as usize / 8] |= 1 << (row % 8);
            }
        }
        bits
    }
}

/// The last short keys, which most keys of a text are among: these need no hash.
#[derive(Default)]
pub(crate) struct Recent {
    /// The bytes of a key as a number; with its length, so that none is 0.
    slots: Vec<u128>,
}

impl Recent {
    /// 128 KiB, which the second-level cache holds next to the keys.
    const SLOTS: usize = 1 << 13;

    /// Forgets all keys.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.slots.resize(Self::SLOTS, 0);
    }

    /// Notes a key; false if it was there. Keys of more than 16 bytes are always new.
    #[inline]
    pub(crate) fn is_new(&mut self, key: &[u8]) -> bool {
        let half = |bytes: &[u8; 8]| u128::from(u64::from_le_bytes(*bytes));
        let word = |bytes: &[u8; 4]| u128::from(u32::from_le_bytes(*bytes));
        // Both ends, which overlap, next to the length: equal numbers are equal keys.
        let length = key.len();
        let number = match length {
            1..=3 => {
                let ends = [key[0], key[length / 2], key[length - 1], length as u8];
                u128::from(u32::from_le_bytes(ends))
            }
            4..=8 => {
                let ends = (key.first_chunk().map(word), key.last_chunk().map(word));
                let (Some(head), Some(tail)) = ends else { return true };
                head | tail << 32 | (length as u128) << 64
            }
            9..=15 => {
                let ends = (key.first_chunk().map(half), key.last_chunk().map(half));
                let (Some(head), Some(last)) = ends else { return true };
                // The last 8 bytes without those that the first 8 have.
                head | last >> (8 * (16 - length)) << 64 | (length as u128) << 120
            }
            _ => return true,
        };
        let mixed = (number as u64 ^ (number >> 64) as u64).wrapping_mul(umbel::internals::GOLDEN);
        let slot = &mut self.slots[(mixed >> 51) as usize];
        std::mem::replace(slot, number) != number
    }
}

/// The rows of a filter that so many bits are set in: probes / ln 2, so that half of them are set on average, rounded up
/// to a number of six significant bits, so that blocks with about as many keys share rows; at least 256.
fn rows(probes: u64) -> u32 {
    let least = (probes as f64 / std::f64::consts::LN_2).ceil().max(256.0) as u64;
    let step = least.ilog2() - 5;
    let rows = least.div_ceil(1 << step) << step;
    // 2³¹ rows are for 10⁸ long words in one block, which is longer than a GB then: more only raise its rate.
    rows.min(1 << 31) as u32
}

/// The rows that a key sets a bit in. Part of the format.
pub(crate) fn probed(hash: KeyHash, probes: u32, rows: u32) -> impl Iterator<Item = u32> {
    (0..u64::from(probes)).map(move |probe| {
        place(mix(hash.high.wrapping_add(probe.wrapping_mul(hash.low))), u64::from(rows)) as u32
    })
}

#[cfg(test)]
mod tests {
    use umbel::KeyHasher;

    use super::*;

    #[test]
    fn rows_have_six_significant_bits_and_are_whole_bytes() {
        assert_eq!([0, 177, 178, 1 << 20].map(rows), [256, 256, 264, 1_540_096]);
        for probes in (0..1 << 22).step_by(977) {
            let (rows, least) = (f64::from(rows(probes)), probes as f64 / std::f64::consts::LN_2);
            assert!(rows >= least && rows <= (least + 1.0).max(256.0) * 33.0 / 32.0, "{probes}");
            assert_eq!(rows % 8.0, 0.0);
        }
    }

    #[test]
    fn recent_keys_are_told_apart() {
        let mut recent = Recent::default();
        recent.clear();
        let text: Vec<u8> =
            (0..400u32).map(|i| b"abcxyz01"[(mix(i.into()) % 8) as usize]).collect();
        let mut seen = std::collections::HashSet::new();
        for length in 1..=20 {
            for key in text.windows(length) {
                assert!(recent.is_new(key) || seen.contains(key), "{key:?}");
                seen.insert(key);
            }
        }
        assert!(recent.is_new(b"fresh") && !recent.is_new(b"fresh"));
    }

    /// Of n keys with p probes in m rows, a bit is clear with (1 − 1/m)^(np); a new key passes with fill^q for q probes.
    #[test]
    fn a_column_has_every_key_and_the_rate_of_its_fill() {
        let hasher = KeyHasher::default();
        let mut set = KeySet::default();
        for round in 0..2 {
            for i in 0..20_000u64 {
                set.insert(hasher.hash(i), 4 + 8 * (i % 2) as u32);
            }
            assert_eq!((set.len(), set.probes), (20_000, 160_000), "{round}");
        }
        let column = set.column();
        let rows = 8 * column.len() as u32;
        let bit = |row: u32| column[row as usize / 8] >> (row % 8) & 1 == 1;
        assert!(
            (0..20_000u64)
                .all(|i| { probed(hasher.hash(i), 4 + 8 * (i % 2) as u32, rows).all(bit) })
        );
        let fill =
            f64::from(column.iter().map(|byte| byte.count_ones()).sum::<u32>()) / f64::from(rows);
        let m = f64::from(rows);
        let lambda: f64 = 160_000.0 / m;
        let deviation = ((-lambda).exp() * (1.0 - (1.0 + lambda) * (-lambda).exp()) / m).sqrt();
        assert!((fill - (1.0 - (-lambda).exp())).abs() < 6.0 * deviation, "{fill}");
        assert!(fill <= 0.5, "{fill}");
        // 400,000 trials with 4 probes: six deviations of the binomial are 4 % of the rate.
        let trials = 400_000u64;
        let passed = (0..trials)
            .filter(|i| probed(hasher.hash(i + (1 << 40)), 4, rows).all(bit))
            .count() as f64;
        let (mean, rate) = (trials as f64 * fill.powi(4), fill.powi(4));
        assert!((passed - mean).abs() < 6.0 * (mean * (1.0 - rate)).sqrt(), "{passed} of {mean}");
        set.clear();
        assert_eq!((set.len(), set.column().len()), (0, 32));
    }
}
