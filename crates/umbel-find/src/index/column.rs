//! The filter of one block: its keys, how many rows these need, and their bits.

use std::hash::{BuildHasher, RandomState};

use umbel::internals::{mix, place};
use umbel::{KeyHash, KeyHasher};

use super::words;

/// The maximum probes of a key.
const MOST_PROBES: usize = 12;

/// Bytes of memory for each distinct key, at most: a slot of 16 in a table that is three eighths full, half as many in the
/// table before while it grows, and a hash of 16 in a vector that is half full, next to one of the block before.
const EACH: u64 = 128;

/// The distinct keys of a block, and its filter.
pub struct Keys {
    hasher: KeyHasher,
    /// Keys of at most 16 bytes, padded with zeros, which do not occur in keys: so most words of a text need no hash.
    short: Table,
    /// Hashes of the others.
    hashes: Table,
    /// Short keys that are not looked up yet.
    waiting: Waiting,
    /// The hashes of keys by the number of their probes: each loop over them has a fixed length.
    by_probes: [Vec<KeyHash>; MOST_PROBES + 1],
    /// The block with lower case, and its column.
    folded: Vec<u8>,
    bits: Vec<u8>,
    /// The most keys that fit, and whether the block has more.
    most: u64,
    is_full: bool,
}

/// Short keys that are looked up together: the processor then waits for all their slots at the same time. One by one,
/// this took a third of the time of an index.
struct Waiting {
    keys: [([u64; 2], u8, u8); Self::MOST],
    count: usize,
}

impl Waiting {
    const MOST: usize = 64;
}

/// A set of numbers that are not zero: open addressing, at most three quarters full.
struct Table {
    slots: Vec<[u64; 2]>,
    used: usize,
    /// Drawn for each table: otherwise, words could be chosen that all hash to one place, where each passes all others.
    secret: [u64; 2],
}

impl Default for Table {
    fn default() -> Self {
        let random = RandomState::new();
        Self { slots: Vec::new(), used: 0, secret: [0, 1].map(|number| random.hash_one(number)) }
    }
}

impl Table {
    fn clear(&mut self) {
        // After a long block, clearing all of it for each short one would take longer than reading them.
        if self.used < self.slots.len() / 8 {
            self.slots = Vec::new();
        }
        self.slots.fill([0; 2]);
        self.used = 0;
    }

    /// Adds a number; false if it was there.
    #[inline]
    fn insert(&mut self, number: [u64; 2]) -> bool {
        if self.used * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let at = self.place(number);
        if self.slots[at] == number {
            return false;
        }
        self.slots[at] = number;
        self.used += 1;
        true
    }

    /// Whether the first slot of a number holds it.
    #[inline]
    fn has(&self, number: [u64; 2]) -> bool {
        self.slots.get(self.first(number)) == Some(&number)
    }

    /// The first slot to check for a number.
    #[inline]
    fn first(&self, number: [u64; 2]) -> usize {
        let [low, high] = self.secret;
        let product = u128::from(number[0] ^ low) * u128::from(number[1] ^ high);
        (product as u64 ^ (product >> 64) as u64) as usize & self.slots.len().wrapping_sub(1)
    }

    /// Where a number is, or could be.
    #[inline]
    fn place(&self, number: [u64; 2]) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.first(number);
        while self.slots[at] != number && self.slots[at] != [0; 2] {
            at = (at + 1) & mask;
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(1 << 12);
        let old = std::mem::replace(&mut self.slots, vec![[0; 2]; size]);
        for number in old.into_iter().filter(|number| *number != [0; 2]) {
            let at = self.place(number);
            self.slots[at] = number;
        }
    }
}

impl Keys {
    /// Empty, for up to `room` bytes of memory besides the text: a block with more keys gets a filter that passes all.
    pub fn within(room: u64) -> Self {
        Self {
            hasher: KeyHasher::default(),
            short: Table::default(),
            hashes: Table::default(),
            waiting: Waiting { keys: [Default::default(); Waiting::MOST], count: 0 },
            by_probes: Default::default(),
            folded: Vec::new(),
            bits: Vec::new(),
            most: room / EACH,
            is_full: false,
        }
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.is_full = false;
        self.short.clear();
        self.hashes.clear();
        for hashes in &mut self.by_probes {
            if hashes.len() < hashes.capacity() / 8 {
                *hashes = Vec::new();
            }
            hashes.clear();
        }
    }

    /// Inserts a key with this many probes.
    #[inline]
    pub fn insert(&mut self, hash: KeyHash, probes: u32) {
        self.is_full |= self.most <= used(&self.short, &self.hashes);
        if self.is_full {
            return;
        }
        if self.hashes.insert([hash.low, hash.high]) {
            self.by_probes[probes as usize].push(hash);
        }
    }

    /// Inserts the keys of a text.
    pub fn words_of(&mut self, text: &[u8]) {
        let mut folded = std::mem::take(&mut self.folded);
        folded.clear();
        folded.extend_from_slice(text);
        folded.make_ascii_lowercase();
        folded.extend_from_slice(&[0; 16]);
        words::each(&folded[..text.len()], |key| {
            let (start, length) = (key.range.start, key.range.len());
            if length > 16 {
                self.insert(self.hasher.hash(&folded[key.range]), key.probes);
                return;
            }
            let bytes: &[u8; 16] = folded[start..].first_chunk().expect("16 bytes are behind");
            let number = u128::from_le_bytes(*bytes) & u128::MAX >> (128 - 8 * length as u32);
            let halves = [number as u64, (number >> 64) as u64];
            let waiting = &mut self.waiting;
            waiting.keys[waiting.count] = (halves, length as u8, key.probes as u8);
            waiting.count += 1;
            if waiting.count == Waiting::MOST {
                self.look_up();
            }
        });
        self.look_up();
        self.folded = folded;
    }

    /// Inserts the short keys that wait.
    #[inline(never)]
    fn look_up(&mut self) {
        let waiting = &self.waiting.keys[..std::mem::take(&mut self.waiting.count)];
        let mut new = 0u64;
        for (&(number, ..), at) in waiting.iter().zip(0..) {
            new |= u64::from(!self.short.has(number)) << at;
        }
        while new != 0 {
            let (number, length, probes) = waiting[new.trailing_zeros() as usize];
            new &= new - 1;
            self.is_full |= self.most <= used(&self.short, &self.hashes);
            if self.is_full {
                return;
            }
            if self.short.insert(number) {
                let number = u128::from(number[0]) | u128::from(number[1]) << 64;
                let hash = self.hasher.hash(&number.to_le_bytes()[..usize::from(length)]);
                self.by_probes[usize::from(probes)].push(hash);
            }
        }
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.by_probes.iter().map(Vec::len).sum()
    }

    /// The filter: as many bits as rows, at most half set on average; without room, the fewest bits, all set.
    pub fn column(&mut self) -> &[u8] {
        self.bits.clear();
        if self.is_full {
            self.bits.resize(LEAST_ROWS as usize / 8, u8::MAX);
            return &self.bits;
        }
        let probes = |(probes, keys): (u64, &Vec<KeyHash>)| probes * keys.len() as u64;
        let rows = rows((0..).zip(&self.by_probes).map(probes).sum());
        self.bits.resize(rows as usize / 8, 0);
        for (keys, probes) in self.by_probes.iter().zip(0..) {
            for hash in keys {
                for row in probed(*hash, probes, rows) {
                    self.bits[row as usize / 8] |= 1 << (row % 8);
                }
            }
        }
        &self.bits
    }
}

/// The keys of a block so far.
#[inline]
fn used(short: &Table, hashes: &Table) -> u64 {
    (short.used + hashes.used) as u64
}

/// The fewest rows of a filter.
const LEAST_ROWS: u32 = 256;

/// The rows of a filter for this many probes: probes / ln 2, which sets half of them on average, rounded up to a number
/// of six significant bits: blocks with about as many keys then share rows.
fn rows(probes: u64) -> u32 {
    let least = (probes as f64 / std::f64::consts::LN_2).ceil().max(LEAST_ROWS.into()) as u64;
    let step = least.ilog2() - 5;
    let rows = least.div_ceil(1 << step) << step;
    // 2³¹ rows are for 10⁸ long words in one block, which is then longer than a GB: more words only raise its rate.
    rows.min(1 << 31) as u32
}

/// The rows that a key sets a bit in. Part of the format.
pub fn probed(hash: KeyHash, probes: u32, rows: u32) -> impl Iterator<Item = u32> {
    (0..u64::from(probes)).map(move |probe| {
        place(mix(hash.high.wrapping_add(probe.wrapping_mul(hash.low))), u64::from(rows)) as u32
    })
}

#[cfg(test)]
mod tests {
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
    fn keys_without_room_make_the_filter_that_passes_all() {
        let mut keys = Keys::within(10_000 * EACH);
        for digits in [9, 20] {
            for words in [10_000, 10_001, 300_000, 10, 9_000] {
                keys.clear();
                let text: String = (0..words).map(|i| format!("{i:0digits$} ")).collect();
                keys.words_of(text.as_bytes());
                let memory = |table: &Table| 3 * size_of_val(&table.slots[..]) as u64 / 2;
                let hashes: usize = keys.by_probes.iter().map(Vec::capacity).sum();
                let hashes = (hashes * size_of::<KeyHash>()) as u64;
                let all = memory(&keys.short) + memory(&keys.hashes) + hashes;
                assert!(all <= 10_000 * EACH + (1 << 18), "{all}");
                let probes = if digits == 9 { 8 } else { 12 };
                let expected = if words > 10_000 { 256 } else { rows(words * probes) };
                let column = keys.column();
                assert_eq!(column.len() as u32 * 8, expected, "{words}");
                assert_eq!(column == [255; 32], words > 10_000, "{words}");
            }
        }
    }

    /// A block of a million words is not cleared again for each block after it.
    #[test]
    fn tables_shrink_after_a_long_block() {
        let mut keys = Keys::within(1 << 30);
        keys.words_of((0..100_000).map(|i| format!("{i:09} ")).collect::<String>().as_bytes());
        for _ in 0..2 {
            keys.clear();
            keys.words_of(b"a few words");
        }
        assert_eq!(keys.short.slots.len(), 1 << 12);
    }

    /// When words had the same places in every run, words could be chosen for a few slots, and each passed all others.
    /// Random ones pass (1 / (1 − α) − 1) / 2 on average, at a load of α: at most 1.5.
    #[test]
    fn words_that_were_chosen_to_collide_lie_as_others() {
        const GOLDEN: u64 = umbel::internals::GOLDEN;
        let first = |word: &str| {
            let number = u64::from_le_bytes(word.as_bytes().try_into().unwrap());
            let product = u128::from(number ^ GOLDEN) * u128::from(GOLDEN.rotate_left(32));
            (product as u64 ^ (product >> 64) as u64) as usize & ((1 << 17) - 1)
        };
        let all = (0..).map(|i| format!("{:08x}", mix(i) as u32));
        let chosen = all.filter(|word| first(word) < 1 << 11).take(24_000);
        let text: String = chosen.flat_map(|word| [word, " ".into()]).collect();
        let mut keys = Keys::within(1 << 30);
        keys.words_of(text.as_bytes());
        let table = &keys.short;
        let passed = |(slot, number): (usize, &[u64; 2])| {
            slot.wrapping_sub(table.first(*number)) & (table.slots.len() - 1)
        };
        let used = table.slots.iter().enumerate().filter(|(_, number)| **number != [0; 2]);
        let mean = used.map(passed).sum::<usize>() as f64 / table.used as f64;
        assert!(table.used >= 23_900 && mean < 2.0, "{} words, {mean}", table.used);
    }

    /// With n keys of p probes in m rows, a bit is clear with (1 − 1/m)^(np); a new key of q probes passes with fill^q.
    #[test]
    fn a_column_has_every_key_and_the_rate_of_its_fill() {
        let hasher = KeyHasher::default();
        let mut set = Keys::within(1 << 30);
        for round in 0..2 {
            for i in 0..20_000u64 {
                set.insert(hasher.hash(i), 4 + 8 * (i % 2) as u32);
            }
            assert_eq!(set.len(), 20_000, "{round}");
        }
        let column = set.column().to_vec();
        let rows = 8 * column.len() as u32;
        let bit = |row: u32| column[row as usize / 8] >> (row % 8) & 1 == 1;
        let has = |i: u64| probed(hasher.hash(i), 4 + 8 * (i % 2) as u32, rows).all(bit);
        assert!((0..20_000).all(has));
        let (set_bits, m) = (column.iter().map(|byte| byte.count_ones()), f64::from(rows));
        let fill = f64::from(set_bits.sum::<u32>()) / m;
        let lambda: f64 = 160_000.0 / m;
        let deviation = ((-lambda).exp() * (1.0 - (1.0 + lambda) * (-lambda).exp()) / m).sqrt();
        assert!((fill - (1.0 - (-lambda).exp())).abs() < 6.0 * deviation, "{fill}");
        assert!(fill <= 0.5, "{fill}");
        // 400,000 trials with 4 probes: six deviations of the binomial are 4 % of the rate.
        let trials = 400_000u64;
        let passes = |i: &u64| probed(hasher.hash(i + (1 << 40)), 4, rows).all(bit);
        let passed = (0..trials).filter(passes).count() as f64;
        let (mean, rate) = (trials as f64 * fill.powi(4), fill.powi(4));
        assert!((passed - mean).abs() < 6.0 * (mean * (1.0 - rate)).sqrt(), "{passed} of {mean}");
        set.clear();
        assert_eq!((set.len(), set.column().len()), (0, 32));
    }
}
