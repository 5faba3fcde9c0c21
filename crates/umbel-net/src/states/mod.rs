//! Tables of states: the state of a key, in a few bits per key (F. Bonomi, M. Mitzenmacher, R. Panigrahy, S. Singh,
//! G. Varghese 2006, "Beyond Bloom filters: from approximate membership checks to approximate state machines",
//! <https://doi.org/10.1145/1159913.1159950>).
//!
//! Of the paper's three structures this is the third: fingerprints with states, in buckets. Four things differ:
//! - The paper spreads keys by d-left hashing, over three or four tables, and moves none. Here there are two tables,
//!   so a look-up reads two cache lines, and if both homes of a key are full, one of the keys there moves to its
//!   other home. Two free cells per bucket suffice, where d-left hashing leaves a quarter of them free.
//! - Keys that share a fingerprint have separate cells, so one of them can be removed.
//! - The states of such keys are known, but not which key has which. A change keeps what is certain and gives up the
//!   rest, so an answered state is right.
//! - A timing wheel has up to 16 slots, where the paper's flag has two.
//!
//! ```text
//! bucket   | tags: s bytes | rest 0, w − 8 bits | … | rest s − 1 | zeros up to 512 |     s = ⌊512/w⌋
//! tag      0: the cell is empty, and then its rest is zeros; 1 to 255: part of the fingerprint
//! rest     | fingerprint, r − 8 bits | value, v bits | slot, a bits |                    w = r + v + a
//! value    0 to states − 1: the state; states: unknown
//! ```
//!
//! The tags of a bucket are compared together, and the rest of a cell only if its tag is the key's.

mod bucket;
mod error;
pub mod math;
mod plan;

use core::fmt;

pub use error::StateError;
pub use plan::StatesPlan;

use crate::prelude::*;
use umbel::internals::{self, mix, packed};
use umbel::{Block, Blocks, Hashing, Key, KeyHash, KeyHasher};

/// Keys whose lines are prefetched together, before any is read.
const AHEAD: usize = 32;
/// Bits and bytes of a bucket, which is a block.
const BLOCK_BYTES: u64 = size_of::<Block>() as u64;
const BLOCK_BITS: u64 = 8 * BLOCK_BYTES;

/// A table's answer for a key: one of these three, as in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The key is not present.
    Absent,
    /// The key is in this state, or it is absent: a false positive.
    State(u8),
    /// Don't know: the key shares, or shared, its fingerprint with others in other states; or it is absent.
    Unknown,
}

/// A map from keys to small states that change, in 16 to 34 bits per key whatever the keys are, with "don't know" as
/// an answer: for connections, orders, jobs or sessions that are followed through a stream of events.
///
/// A table holds a fingerprint and a state per key. Keys with the same pair of fingerprint and home are
/// indistinguishable; there are F such pairs. With n keys present, the probability that a key shares its pair with one
/// of them is n/F, at most the planned error ε:
///
/// | | answer | probability, at most | if keys are only `set` |
/// |---|---|---|---|
/// | false positive | a state, or unknown, for an absent key | ε | ε |
/// | don't know | unknown, for a present key | 2ε | 0 |
/// | false return | another state, for a present key | 0 | ε/2 |
/// | false negative | absent, for a present key | 0 | ε |
///
/// The third column holds if the program follows the life of its keys: [`insert`](Self::insert) a key that is not
/// present, because of an event (a connection opens, an order is placed), and [`change`](Self::change) or
/// [`remove`](Self::remove) keys that are. Then **an answered state is the right one**, and no present key is answered
/// with absent, unless it is older than its lifetime. Half of the 2ε are keys that shared their fingerprint with
/// another, removed since they last changed; their next change makes it certain again. If an event may or may not be a
/// key's first, use [`set`](Self::set), and the last column holds: a new key may take over another's cell. Changing or
/// removing an absent key does the same with probability n/F. The [formulas](math) give the exact probabilities.
///
/// **Aging.** Connections may end without an event. In a table planned with a
/// [timing wheel](StatesPlan::with_wheel), keys that are not inserted, changed or [touched](Self::touch) for a
/// lifetime are removed by [`advance`](Self::advance).
///
/// **Size.** 512/(s − 2) bits per key, with s cells of r + v + a bits in a bucket of 512: r bits of a fingerprint, v of
/// a value (2^v is at least the number of states plus 1), and a for 2^a slots of a wheel.
///
/// | error | 2 states | 6 states | 6 states, wheel of 4 slots | 14 states |
/// |---|---|---|---|---|
/// | 1 % | 16.0 | 17.1 | 19.7 | 18.3 |
/// | 0.1 % | 19.7 | 21.3 | 23.3 | 22.3 |
/// | 1e-4 | 23.3 | 24.4 | 26.9 | 25.6 |
/// | 1e-6 | 32.0 | 32.0 | 34.1 | 34.1 |
///
/// A `HashMap<u64, u8>` takes 155 to 311, and is exact: use it if memory does not matter.
///
/// **Cost.** Two cache lines per call, and for 1 to 3 % of insertions in a full table a few more. In cache a look-up of a
/// present key takes 37 ns, four times as long as in a `HashMap<u64, u8>` with its standard hash; with 4 million keys,
/// up to twice as long, and 79 ns per key in batches, which a map does not have (`bench/record/2026-11-23-states.txt`). A turn of the wheel
/// is one pass over the table, as often as every lifetime/(slots − 1) ticks.
///
/// **Limits.** A full table refuses keys with [`StateError::Full`], never silently; with as many keys as planned this
/// does not happen in practice. Tables exist only in memory, not in files, and do not merge: they belong to the program
/// that follows the events.
///
/// # Threads
/// Changes take `&mut self`. Give each thread a table for its share of the keys, chosen by [`Parts`](umbel::Parts).
///
/// ```
/// use umbel_net::states::{Answer, States};
///
/// const OPENING: u8 = 0;
/// const OPEN: u8 = 1;
/// const CLOSING: u8 = 2;
///
/// let mut connections = States::new(100_000, 0.001, 3)?;
/// connections.insert("192.0.2.7:4711", OPENING)?;
/// connections.change("192.0.2.7:4711", OPEN)?;
/// assert_eq!(connections.get("192.0.2.7:4711"), Answer::State(OPEN));
/// assert_eq!(connections.remove("192.0.2.7:4711"), Answer::State(OPEN));
/// assert_eq!(connections.get("192.0.2.7:4711"), Answer::Absent);
///
/// // A state machine in one look-up: from each answer to the next state, or to none.
/// let next = |answer| match answer {
///     Answer::Absent => Some(OPENING),
///     Answer::State(OPENING) => Some(OPEN),
///     _ => None,
/// };
/// for _ in 0..2 {
///     connections.update("198.51.100.4:80", next)?;
/// }
/// assert_eq!(connections.get("198.51.100.4:80"), Answer::State(OPEN));
/// # Ok::<(), umbel_net::states::StateError>(())
/// ```
#[derive(Clone)]
pub struct States<H = KeyHasher> {
    plan: StatesPlan,
    /// The first table's, then the second's.
    buckets: Blocks,
    hasher: H,
    held: u64,
    clock: Clock,
    cells: Cells,
}

/// Where the parts of a cell are, computed once from the plan.
#[derive(Clone, Copy)]
struct Cells {
    /// Cells of a bucket, s.
    count: u32,
    /// Bits of a rest.
    rest: u32,
    /// Bits of a rest for the fingerprint.
    fingerprint: u32,
    /// Bits of a rest for the value.
    value: u32,
}

impl Cells {
    /// All cells, as bits of a word.
    fn all(self) -> u64 {
        u64::MAX >> (64 - self.count)
    }

    /// The first bit of a cell's rest.
    fn rest_at(self, number: u32) -> u32 {
        8 * self.count + number * self.rest
    }

    fn fingerprint_of(self, rest: u64) -> u64 {
        rest & ((1 << self.fingerprint) - 1)
    }

    fn value_of(self, rest: u64) -> u64 {
        rest >> self.fingerprint & ((1 << self.value) - 1)
    }

    fn slot_of(self, rest: u64) -> u64 {
        rest >> (self.fingerprint + self.value)
    }
}

/// The position of the wheel.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// Turns since tick 0.
    turns: u64,
    /// The slot of keys that are touched now.
    slot: u64,
}

/// The stored part of a key, besides its place.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fingerprint {
    /// Never 0.
    tag: u8,
    /// The r − 8 bits of it that are not in the tag.
    rest: u64,
}

/// The cells of a key: both homes, its fingerprint, and which cells there have it, as bits of a word.
struct Place {
    homes: [usize; 2],
    fingerprint: Fingerprint,
    /// Bit 64·h + i for cell i of home h.
    found: u128,
}

impl Place {
    /// The cells with its fingerprint: bucket and number.
    #[inline]
    fn found(&self) -> impl Iterator<Item = (usize, u32)> + use<> {
        let homes = self.homes;
        ones(self.found).map(move |bit| (homes[(bit / 64) as usize], bit % 64))
    }
}

/// The places of the bits set in a word.
#[inline]
fn ones(mut word: u128) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let number = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (number < 128).then_some(number)
    })
}

impl States {
    /// Makes an empty table for `keys` keys in one of `states` states, with keys hashed by XXH3, that do not age.
    ///
    /// For untrusted keys, use [`with_plan`](Self::with_plan) and [`KeyHasher::random`] or [`KeyHasher::keyed`]:
    /// anyone who can compute fingerprints can choose keys that share one, or fill two buckets.
    ///
    /// # Errors
    /// As [`StatesPlan::for_keys`], and if the memory cannot be allocated.
    pub fn new(keys: u64, error: f64, states: u8) -> Result<Self, StateError> {
        Self::with_plan(&StatesPlan::for_keys(keys, error, states)?, KeyHasher::default())
    }
}

impl<H: Hashing> States<H> {
    /// Makes an empty table from a plan.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn with_plan(plan: &StatesPlan, hasher: H) -> Result<Self, StateError> {
        let buckets = Blocks::zeroed(plan.buckets())?;
        let cells = Cells {
            count: plan.cells_per_bucket(),
            rest: plan.cell_bits() - 8,
            fingerprint: plan.fingerprint - 8,
            value: plan.state_bits(),
        };
        Ok(Self { plan: *plan, buckets, hasher, held: 0, clock: Clock::default(), cells })
    }

    /// Returns the state of a key. Does not touch it.
    #[inline]
    pub fn get(&self, key: impl Key<H>) -> Answer {
        self.answer(&self.find(key.key_hash(&self.hasher)))
    }

    /// Looks up many keys, with overlapping cache misses: `answers[i]` becomes the answer for `keys[i]`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn get_all<K: Key<H>>(&self, keys: &[K], answers: &mut [Answer]) {
        assert_eq!(keys.len(), answers.len(), "one answer for each key");
        let mut hashes = [KeyHash::default(); AHEAD];
        for (keys, answers) in keys.chunks(AHEAD).zip(answers.chunks_mut(AHEAD)) {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = key.key_hash(&self.hasher);
                for home in self.homes(*hash).0 {
                    internals::prefetch(&self.buckets[home]);
                }
            }
            for (answer, &hash) in answers.iter_mut().zip(&hashes) {
                *answer = self.answer(&self.find(hash));
            }
        }
    }

    /// Adds a key that is not present, in a state; true if its fingerprint is unique.
    ///
    /// A key inserted twice is present twice, and has to be removed twice.
    ///
    /// # Errors
    /// [`StateError::State`]; [`StateError::Full`] if both homes of the key are full, and so are the other homes of
    /// all keys there. The table is unchanged then.
    pub fn insert(&mut self, key: impl Key<H>, state: u8) -> Result<bool, StateError> {
        self.check(state)?;
        let place = self.find(key.key_hash(&self.hasher));
        self.add(&place, state)?;
        Ok(place.found().next().is_none())
    }

    /// Changes the state of a key and touches it; returns the answer from before. If that is
    /// [`Absent`](Answer::Absent), nothing is changed.
    ///
    /// # Errors
    /// [`StateError::State`].
    pub fn change(&mut self, key: impl Key<H>, state: u8) -> Result<Answer, StateError> {
        self.update(key, |before| (before != Answer::Absent).then_some(state))
    }

    /// Changes the state of a key, or inserts it; returns the answer from before.
    ///
    /// If the program knows which of the two applies, [`insert`](Self::insert) and [`change`](Self::change) make
    /// fewer errors; see [`States`].
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn set(&mut self, key: impl Key<H>, state: u8) -> Result<Answer, StateError> {
        self.update(key, |_| Some(state))
    }

    /// Removes a key; returns the answer from before. If that is [`Absent`](Answer::Absent), nothing is changed.
    pub fn remove(&mut self, key: impl Key<H>) -> Answer {
        self.update(key, |_| None).expect("only a state can be wrong")
    }

    /// Changes a key's state to the one that `next` returns for the present answer, inserts it if it is absent, or
    /// removes it if `next` returns none; returns the answer from before.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn update(
        &mut self,
        key: impl Key<H>,
        next: impl FnOnce(Answer) -> Option<u8>,
    ) -> Result<Answer, StateError> {
        let place = self.find(key.key_hash(&self.hasher));
        let before = self.answer(&place);
        let after = next(before);
        if let Some(state) = after {
            self.check(state)?;
        }
        let mut found = place.found();
        let Some((bucket, number)) = found.next() else {
            if let Some(state) = after {
                self.add(&place, state)?;
            }
            return Ok(before);
        };
        match after {
            Some(state) => self.put(bucket, number, place.fingerprint, state.into()),
            None => self.empty(bucket, number),
        }
        // If all were in one state, so was this key, and the others still are. If not, this key was in any one of their
        // states, and so is each of the others. They are touched as well, because the older cell may belong to the
        // other key.
        for (bucket, number) in found {
            let value = match before {
                Answer::State(state) => state.into(),
                _ => self.unknown(),
            };
            self.put(bucket, number, place.fingerprint, value);
        }
        Ok(before)
    }

    /// Notes that a key was seen, which keeps it for another lifetime, and returns its state.
    pub fn touch(&mut self, key: impl Key<H>) -> Answer {
        let place = self.find(key.key_hash(&self.hasher));
        for (bucket, number) in place.found() {
            let value = self.value_at(bucket, number);
            self.put(bucket, number, place.fingerprint, value);
        }
        self.answer(&place)
    }

    /// Advances the clock to `tick` and removes the keys that have become too old; returns how many. A tick before the
    /// latest one given changes nothing; use [`set_clock`](Self::set_clock) if that was a mistake.
    ///
    /// Call it with the first event's tick before anything is inserted: a new table is at tick 0.
    ///
    /// # Errors
    /// [`StateError::NoWheel`] if keys do not age.
    pub fn advance(&mut self, tick: u64) -> Result<u64, StateError> {
        let wheel = self.plan.wheel.ok_or(StateError::NoWheel)?;
        let (now, slots) = (tick / wheel.ticks(), u64::from(wheel.slots));
        let turns = now.saturating_sub(self.clock.turns);
        if turns == 0 {
            return Ok(0);
        }
        let (slot, held) = (self.clock.slot, self.held);
        // Turns since a key was touched, 0 to slots − 1.
        let age = |of: u64| slot.wrapping_sub(of) % slots;
        for bucket in 0..self.buckets.len() {
            for number in ones(self.used(bucket).into()) {
                let touched = self.cells.slot_of(self.rest(bucket, number));
                if age(touched) + turns.min(slots) >= slots {
                    self.empty(bucket, number);
                }
            }
        }
        self.clock = Clock { turns: now, slot: slot.wrapping_add(turns) % slots };
        Ok(held - self.held)
    }

    /// Sets the clock, forwards or back, without removing anything: if a tick far ahead was given by mistake, since
    /// until then no tick would remove anything. Every key keeps its age.
    ///
    /// # Errors
    /// [`StateError::NoWheel`] if keys do not age.
    pub fn set_clock(&mut self, tick: u64) -> Result<(), StateError> {
        let wheel = self.plan.wheel.ok_or(StateError::NoWheel)?;
        self.clock.turns = tick / wheel.ticks();
        Ok(())
    }

    /// Removes all keys. The clock stays.
    pub fn clear(&mut self) {
        self.buckets.fill(Block::default());
        self.held = 0;
    }

    /// Returns the table's present content and error. One pass over it.
    pub fn receipt(&self) -> StatesReceipt {
        let plan = &self.plan;
        let mut by_value = vec![0; usize::from(plan.states()) + 1];
        let mut full = 0;
        for bucket in 0..self.buckets.len() {
            let used = self.used(bucket);
            ones(used.into())
                .for_each(|number| by_value[self.value_at(bucket, number) as usize] += 1);
            full += u64::from(used.count_ones() == plan.cells_per_bucket());
        }
        let cells = self.buckets.len() as f64 * f64::from(plan.cells_per_bucket());
        let pairs = plan.pairs();
        StatesReceipt {
            plan: *plan,
            keys: self.held,
            unknown: by_value.pop().expect("a value for unknown"),
            by_state: by_value,
            load: self.held as f64 / cells,
            full_buckets: full,
            // Each pair has a separate cell, or is shared.
            error: (self.held as f64 / pairs).min(1.0),
            room: plan.keys().saturating_sub(self.held),
            over_filled: self.held > plan.keys(),
        }
    }

    /// Returns its hasher.
    pub fn hasher(&self) -> &H {
        &self.hasher
    }
}

impl<H> States<H> {
    /// Returns its plan.
    pub fn plan(&self) -> &StatesPlan {
        &self.plan
    }

    /// Returns the number of keys present: inserted, and neither removed nor too old.
    pub fn len(&self) -> u64 {
        self.held
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Returns the bytes of its buckets.
    pub fn bytes(&self) -> u64 {
        self.plan.bytes()
    }

    /// Both homes of a key, and its fingerprint.
    #[inline]
    fn homes(&self, hash: KeyHash) -> ([usize; 2], Fingerprint) {
        // The tag comes from the high bits of the word, the rest from its low ones.
        let tag = 1 + internals::place(hash.low, 255) as u8;
        let fingerprint = Fingerprint { tag, rest: self.cells.fingerprint_of(hash.low) };
        let first = internals::place(hash.high, self.plan.buckets);
        ([first as usize, self.other_home(first, fingerprint) as usize], fingerprint)
    }

    /// The other home of a key, from either.
    #[inline]
    fn other_home(&self, home: u64, fingerprint: Fingerprint) -> u64 {
        let count = self.plan.buckets;
        let offset =
            internals::place(mix(u64::from(fingerprint.tag) << 32 | fingerprint.rest), count);
        // Divisions by comparison: both sums are below twice the count.
        if home < count {
            let sum = home + offset;
            count + if sum < count { sum } else { sum - count }
        } else {
            let second = home - count;
            if second >= offset { second - offset } else { second + count - offset }
        }
    }

    #[inline]
    fn find(&self, hash: KeyHash) -> Place {
        let (homes, fingerprint) = self.homes(hash);
        let tagged = |home: usize| bucket::bytes_equal(&self.buckets[home], fingerprint.tag);
        let [first, second] = homes.map(|home| u128::from(tagged(home) & self.cells.all()));
        let mut found = first | second << 64;
        // Both homes in one loop, because the processor cannot predict which one a key is in. One in six absent keys
        // shares its tag with a cell.
        for bit in ones(found) {
            let rest = self.rest(homes[(bit / 64) as usize], bit % 64);
            if self.cells.fingerprint_of(rest) != fingerprint.rest {
                found ^= 1 << bit;
            }
        }
        Place { homes, fingerprint, found }
    }

    /// The cells of a bucket in use, as bits of a word.
    fn used(&self, bucket: usize) -> u64 {
        !bucket::bytes_equal(&self.buckets[bucket], 0) & self.cells.all()
    }

    #[inline]
    fn answer(&self, place: &Place) -> Answer {
        let mut values = place.found().map(|(bucket, number)| self.value_at(bucket, number));
        let Some(value) = values.next() else { return Answer::Absent };
        match value != self.unknown() && values.all(|other| other == value) {
            true => Answer::State(value as u8),
            false => Answer::Unknown,
        }
    }

    fn check(&self, state: u8) -> Result<(), StateError> {
        let states = self.plan.states();
        if state < states { Ok(()) } else { Err(StateError::State { found: state, states }) }
    }

    /// The value of a cell with an unknown state.
    fn unknown(&self) -> u64 {
        self.plan.states().into()
    }

    fn rest(&self, bucket: usize, number: u32) -> u64 {
        bucket::bits(&self.buckets[bucket], self.cells.rest_at(number), self.cells.rest)
    }

    fn value_at(&self, bucket: usize, number: u32) -> u64 {
        self.cells.value_of(self.rest(bucket, number))
    }

    /// Sets a cell, touched now.
    fn put(&mut self, bucket: usize, number: u32, fingerprint: Fingerprint, value: u64) {
        let Cells { fingerprint: bits, value: value_bits, .. } = self.cells;
        let rest = fingerprint.rest | value << bits | self.clock.slot << (bits + value_bits);
        self.write(bucket, number, fingerprint.tag, rest);
    }

    /// Empties a cell, whose key is removed.
    fn empty(&mut self, bucket: usize, number: u32) {
        self.write(bucket, number, 0, 0);
        self.held -= 1;
    }

    fn write(&mut self, bucket: usize, number: u32, tag: u8, rest: u64) {
        let (cells, bucket) = (self.cells, &mut self.buckets[bucket]);
        packed::set(bucket, 8, number, tag.into());
        packed::set_bits(bucket, cells.rest_at(number), cells.rest, rest);
    }

    /// Puts a new cell into the home with more room, or moves another key out of its way.
    fn add(&mut self, place: &Place, state: u8) -> Result<(), StateError> {
        let used = place.homes.map(|home| self.used(home));
        // Ties to the left, which fills the tables unevenly and so leaves fewer full pairs of homes.
        let side = usize::from(used[1].count_ones() < used[0].count_ones());
        let (bucket, number) = match used[side].trailing_ones() {
            free if free < self.cells.count => (place.homes[side], free),
            _ => self
                .make_room(place.homes)
                .ok_or(StateError::Full { keys: self.plan.keys(), held: self.held })?,
        };
        self.put(bucket, number, place.fingerprint, state.into());
        self.held += 1;
        Ok(())
    }

    /// Moves a key of two full buckets to its other home, if one of these has room. Returns its former cell.
    fn make_room(&mut self, homes: [usize; 2]) -> Option<(usize, u32)> {
        for home in homes {
            for number in 0..self.cells.count {
                let tag = bucket::bits(&self.buckets[home], 8 * number, 8) as u8;
                let rest = self.rest(home, number);
                let fingerprint = Fingerprint { tag, rest: self.cells.fingerprint_of(rest) };
                let other = self.other_home(home as u64, fingerprint) as usize;
                let free = self.used(other).trailing_ones();
                if free < self.cells.count {
                    self.write(other, free, tag, rest);
                    return Some((home, number));
                }
            }
        }
        None
    }
}

impl<H: Hashing> fmt::Debug for States<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("States")
            .field("plan", &self.plan)
            .field("scheme", &self.hasher.scheme())
            .field("keys", &self.held)
            .finish_non_exhaustive()
    }
}

/// The present content and error of a table of states.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StatesReceipt {
    /// The plan.
    pub plan: StatesPlan,
    /// Keys present.
    pub keys: u64,
    /// Keys in each state; if keys share a fingerprint, it is unknown which of them has the state.
    pub by_state: Vec<u64>,
    /// Keys with an unknown state, until they change: each shared its fingerprint with another.
    pub unknown: u64,
    /// Keys over cells, in [0, 1]; planned to be at most 1 − 2/s, with s cells in a bucket.
    pub load: f64,
    /// Buckets without an empty cell. Insertions fail much later, when nearly all are full.
    pub full_buckets: u64,
    /// The probability that an absent key is answered with a state or unknown, which also bounds unknown for present
    /// keys: fingerprints held over possible ones.
    pub error: f64,
    /// Keys until there are as many as planned.
    pub room: u64,
    /// Whether there are more keys than planned; the error is then higher.
    pub over_filled: bool,
}
