//! The structures that tables of states are compared with: those of F. Bonomi, M. Mitzenmacher, R. Panigrahy, S. Singh,
//! G. Varghese 2006, <https://doi.org/10.1145/1159913.1159950>, without their timers.

use umbel::{KeyHash, KeyHasher};
use umbel_net::states::Answer;

use super::Table;

/// Place `number` of a key among `places`.
fn place(hash: KeyHash, number: u64, places: usize) -> usize {
    let word = hash.high.wrapping_add(number.wrapping_mul(hash.low | 1));
    ((u128::from(crate::statistics::splitmix(word)) * places as u128) >> 64) as usize
}

/// The direct Bloom filter: a counting filter of pairs of key and state, with counters of 4 bits.
pub(super) struct Direct {
    counters: Vec<u8>,
    probes: u64,
    states: u8,
    hasher: KeyHasher,
}

impl Direct {
    pub(super) fn new(keys: u64, bits_per_key: f64, states: u8, hasher: KeyHasher) -> Self {
        let counters = keys as f64 * bits_per_key / 4.0;
        let probes = (counters / keys as f64 * std::f64::consts::LN_2).round().max(1.0) as u64;
        Self { counters: vec![0; counters as usize], probes, states, hasher }
    }

    fn places(&self, key: u64, state: u8) -> impl Iterator<Item = usize> + use<> {
        let hash = self.hasher.hash(u128::from(state) << 64 | u128::from(key));
        let count = self.counters.len();
        (0..self.probes).map(move |probe| place(hash, probe, count))
    }
}

impl Table for Direct {
    fn insert(&mut self, key: u64, state: u8) {
        for at in self.places(key, state) {
            self.counters[at] = (self.counters[at] + 1).min(15);
        }
    }

    fn change(&mut self, key: u64, from: u8, to: u8) {
        self.remove(key, from);
        self.insert(key, to);
    }

    fn remove(&mut self, key: u64, state: u8) {
        for at in self.places(key, state) {
            // A counter that has stuck stays.
            self.counters[at] -= u8::from(self.counters[at] < 15);
        }
    }

    fn get(&self, key: u64) -> Answer {
        let held = |&state: &u8| self.places(key, state).all(|at| self.counters[at] > 0);
        let mut states = (0..self.states).filter(held);
        match (states.next(), states.next()) {
            (None, _) => Answer::Absent,
            (Some(state), None) => Answer::State(state),
            _ => Answer::Unknown,
        }
    }
}

/// The stateful Bloom filter: cells of a state, or don't know, and a counter of 4 bits.
pub(super) struct Stateful {
    cells: Vec<(Option<u8>, u8)>,
    probes: u64,
    hasher: KeyHasher,
}

impl Stateful {
    pub(super) fn new(keys: u64, bits_per_key: f64, states: u8, hasher: KeyHasher) -> Self {
        let width = 4 + (u32::from(states) + 1).next_power_of_two().trailing_zeros();
        let cells = keys as f64 * bits_per_key / f64::from(width);
        let probes = (cells / keys as f64 * std::f64::consts::LN_2).round().max(1.0) as u64;
        Self { cells: vec![(None, 0); cells as usize], probes, hasher }
    }

    fn places(&self, key: u64) -> impl Iterator<Item = usize> + use<> {
        let (hash, count) = (self.hasher.hash(key), self.cells.len());
        (0..self.probes).map(move |probe| place(hash, probe, count))
    }
}

impl Table for Stateful {
    fn insert(&mut self, key: u64, state: u8) {
        for at in self.places(key) {
            let (value, count) = &mut self.cells[at];
            *value = (*count == 0 || *value == Some(state)).then_some(state);
            *count = (*count + 1).min(15);
        }
    }

    fn change(&mut self, key: u64, _: u8, to: u8) {
        for at in self.places(key) {
            let (value, count) = &mut self.cells[at];
            *value = (*count == 1 || *value == Some(to)).then_some(to);
        }
    }

    fn remove(&mut self, key: u64, _: u8) {
        for at in self.places(key) {
            let (_, count) = &mut self.cells[at];
            *count -= u8::from((1..15).contains(count));
        }
    }

    fn get(&self, key: u64) -> Answer {
        let mut known = None;
        for (value, count) in self.places(key).map(|at| self.cells[at]) {
            match (value, known) {
                _ if count == 0 => return Answer::Absent,
                // Two cells of one key cannot have been set to two states.
                (Some(value), Some(other)) if value != other => return Answer::Absent,
                (Some(value), _) => known = Some(value),
                (None, _) => {}
            }
        }
        known.map_or(Answer::Unknown, Answer::State)
    }
}

/// Tables of a d-left hash table.
const TABLES: usize = 4;
/// Cells of a bucket.
const CELLS: usize = 8;
/// Keys over cells.
const LOAD: f64 = 0.75;

/// A fingerprint and its state, or don't know.
type Cell = Option<(u64, Option<u8>)>;

/// The fingerprint-compressed filter: fingerprints with states by d-left hashing, one cell for keys that share a
/// fingerprint.
pub(super) struct Fingerprints {
    buckets: Vec<[Cell; CELLS]>,
    bits: u32,
    hasher: KeyHasher,
    /// Keys for which all buckets were full.
    pub(super) lost: u64,
}

impl Fingerprints {
    pub(super) fn new(keys: u64, bits_per_key: f64, states: u8, hasher: KeyHasher) -> Self {
        let value = (u32::from(states) + 2).next_power_of_two().trailing_zeros();
        let bits = (bits_per_key * LOAD) as u32 - value;
        let each = (keys as f64 / LOAD / (TABLES * CELLS) as f64).ceil() as usize;
        Self { buckets: vec![[None; CELLS]; TABLES * each], bits, hasher, lost: 0 }
    }

    /// The bucket of each table, and the fingerprint. The buckets follow from the first and the fingerprint, as in
    /// umbel's tables, so that keys that agree in one agree in all.
    fn places(&self, key: u64) -> ([usize; TABLES], u64) {
        let hash = self.hasher.hash(key);
        let (each, fingerprint) = (self.buckets.len() / TABLES, hash.low >> (64 - self.bits));
        let first = place(KeyHash { high: hash.high, low: 0 }, 0, each);
        let step = |table: u64| place(KeyHash { high: fingerprint + 1, low: 1 }, table << 40, each);
        let home = |table: usize| match table {
            0 => first,
            _ => each * table + (first + step(table as u64)) % each,
        };
        ([0, 1, 2, 3].map(home), fingerprint)
    }

    fn cell(&self, key: u64) -> Option<(usize, usize)> {
        let (homes, fingerprint) = self.places(key);
        homes.into_iter().find_map(|bucket| {
            let is = |cell: &Cell| cell.is_some_and(|(other, _)| other == fingerprint);
            Some((bucket, self.buckets[bucket].iter().position(is)?))
        })
    }
}

impl Table for Fingerprints {
    fn insert(&mut self, key: u64, state: u8) {
        let (homes, fingerprint) = self.places(key);
        if let Some((bucket, cell)) = self.cell(key) {
            let (_, value) = self.buckets[bucket][cell].as_mut().expect("found");
            *value = value.filter(|&other| other == state);
            return;
        }
        let used = |&bucket: &usize| self.buckets[bucket].iter().flatten().count();
        let bucket = homes.into_iter().min_by_key(used).expect("some tables");
        match self.buckets[bucket].iter_mut().find(|cell| cell.is_none()) {
            Some(cell) => *cell = Some((fingerprint, Some(state))),
            None => self.lost += 1,
        }
    }

    fn change(&mut self, key: u64, _: u8, to: u8) {
        if let Some((bucket, cell)) = self.cell(key) {
            let (_, value) = self.buckets[bucket][cell].as_mut().expect("found");
            // What is not known may be two keys' state.
            *value = value.map(|_| to);
        }
    }

    fn remove(&mut self, key: u64, _: u8) {
        if let Some((bucket, cell)) = self.cell(key) {
            self.buckets[bucket][cell] = None;
        }
    }

    fn get(&self, key: u64) -> Answer {
        let found = self.cell(key).and_then(|(bucket, cell)| self.buckets[bucket][cell]);
        found.map_or(Answer::Absent, |(_, value)| value.map_or(Answer::Unknown, Answer::State))
    }
}
