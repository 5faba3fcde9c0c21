//! Solves one binary fuse graph: finds slots whose XOR, for each key, is the intended value.
//!
//! ```text
//! sort keys by the segment of their first slot          so the steps below walk through memory in order
//! for each key, for each of its slots: count the key there, XOR the key there
//! while there is a slot with one key:                    that slot holds the key itself
//!     push the key; take it away from its three slots
//! for each key, last pushed first: set the slot it had for itself
//! ```
//! If keys remain without a slot for themselves, another seed gives another graph. Two equal keys always remain.
//! Searching for these costs more than solving a graph, and is done only after one failed graph with two equal keys in
//! a slot, or after two.

use super::plan::Shape;
use super::{edge, slot_hash};
use crate::bits::arch::prefetch;
use crate::bits::{Block, cast, slots};
use crate::hash::{GOLDEN, KeyHash, mix};
use crate::prelude::*;

/// A key, and the value that its slots give besides its fingerprint.
pub(super) trait Entry: Copy {
    fn pair(self) -> (KeyHash, u64);
}

impl Entry for KeyHash {
    #[inline]
    fn pair(self) -> (KeyHash, u64) {
        (self, 0)
    }
}

impl Entry for (KeyHash, u64) {
    #[inline]
    fn pair(self) -> (KeyHash, u64) {
        self
    }
}

/// A solved graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Solved {
    pub(super) seed: u64,
    /// Different keys.
    pub(super) keys: u64,
}

/// Why a graph was not solved.
#[derive(Debug)]
pub(super) enum Unsolved {
    /// Too many different keys for the slots: this many.
    Full(u64),
    /// This key has two values.
    Differ(KeyHash),
}

/// Seeds tried. With planned slots, one of the first few nearly always works.
const SEEDS: u64 = 128;

/// Graphs with more keys per slot are never solved: the threshold is 0.9179 (S. Walzer 2021,
/// <https://doi.org/10.1137/1.9781611976465.131>).
const MOST_LOAD: f64 = 0.92;

/// Where the count of a slot's keys begins, above the XOR of their goals.
const COUNT: u32 = 56;
/// The lower bits, which hold a goal of up to 56 bits, or the number of a wider one.
const GOAL: u64 = (1 << COUNT) - 1;

/// Reusable memory, 40 bytes per key.
#[derive(Default)]
pub(super) struct Solver {
    /// For each key, by first segment: the value that gives its slots, and its goal. Later, in their place, the removed
    /// keys, with the number of their own slot above the goal.
    keys: Vec<(u64, u64)>,
    /// Goals that do not fit in 56 bits.
    wide: Vec<u64>,
    /// For each slot, the XOR of its keys' entries in `keys`, and their count above that.
    table: Vec<(u64, u64)>,
    /// Slots with one key, to be processed.
    single: Vec<u32>,
}

/// Bytes that [`Solver`] uses for a shard.
pub(super) fn solver_bytes(shape: &Shape) -> u64 {
    let wide = if shape.width() > COUNT { 8 } else { 0 };
    (16 + 16 + 4 + wide) * shape.slots()
}

impl Solver {
    /// Solves the graph of `entries` in `blocks`, which are zero. Equal entries count once. Reorders the entries.
    pub(super) fn solve<E: Entry>(
        &mut self,
        shape: &Shape,
        blocks: &mut [Block],
        mut entries: &mut [E],
    ) -> Result<Solved, Unsolved> {
        let most = (shape.slots() as f64 * MOST_LOAD) as usize;
        let mut distinct = false;
        let mut number = 0;
        while number < SEEDS && (!distinct || entries.len() <= most) {
            let fit = entries.len() <= most;
            if fit {
                let seed = mix((number + 1).wrapping_mul(GOLDEN));
                self.sort(shape, seed, entries);
                if self.peel(shape) {
                    self.assign(shape, blocks);
                    return Ok(Solved { seed, keys: entries.len() as u64 });
                }
            }
            number += 1;
            if !distinct && (!fit || number == 2 || self.has_pair()) {
                distinct = true;
                let count = entries.len();
                entries = unequal(entries)?;
                // Then restart with the first seed, as for a list without equal keys.
                number = if entries.len() < count { 0 } else { number };
            }
        }
        // Other shards are about as full.
        Err(Unsolved::Full(entries.len() as u64 * shape.shards))
    }

    /// Sorts keys and goals by first segment.
    fn sort<E: Entry>(&mut self, shape: &Shape, seed: u64, entries: &[E]) {
        let segments = u64::from(shape.segments);
        let mut ends = vec![0u32; shape.segments as usize + 1];
        let segment = |x| crate::bits::place(x, segments) as usize;
        for entry in entries {
            ends[segment(slot_hash(entry.pair().0, seed)) + 1] += 1;
        }
        for i in 1..ends.len() {
            ends[i] += ends[i - 1];
        }
        let mask = slots::mask(shape.fingerprint);
        let Self { keys, wide, .. } = self;
        wide.clear();
        keys.clear();
        keys.resize(entries.len(), (0, 0));
        for entry in entries {
            let (hash, value) = entry.pair();
            let x = slot_hash(hash, seed);
            let print = super::fingerprint(hash.high, mask);
            let value = if shape.value == 0 { 0 } else { value << shape.fingerprint };
            let mut goal = print | value;
            if shape.width() > COUNT {
                wide.push(goal);
                goal = wide.len() as u64 - 1;
            }
            let place = &mut ends[segment(x)];
            keys[*place as usize] = (x, goal);
            *place += 1;
        }
    }

    /// Removes keys as long as one has a slot for itself; returns whether all were removed.
    ///
    /// A slot with one key holds the key itself, which saves waiting for the keys' memory. The first pass prefetches
    /// the next segment's slots, the second the previous segment's. Whether a slot comes to have one key cannot be
    /// predicted, so it is pushed unconditionally.
    fn peel(&mut self, shape: &Shape) -> bool {
        let (starts, length) = (shape.starts(), shape.length);
        let Self { keys, table, single, .. } = self;
        table.clear();
        table.resize(shape.slots() as usize, (0, 0));
        let mut overflow = false;
        let next = length as usize;
        for &(x, goal) in &*keys {
            let edge = edge(x, starts, length);
            prefetch(table.as_ptr().wrapping_add(edge[2] as usize + next));
            for slot in edge {
                let there = &mut table[slot as usize];
                *there = (there.0 ^ x, (there.1 ^ goal).wrapping_add(1 << COUNT));
                overflow |= there.1 >> COUNT == 0;
            }
        }
        if overflow {
            // 256 keys in one slot: equal ones, since the average is 2.7.
            return false;
        }
        // A slot comes to have one key at most once.
        single.resize(table.len() + 1, 0);
        let mut singles = 0;
        for (slot, there) in table.iter().enumerate() {
            single[singles] = slot as u32;
            singles += usize::from(there.1 >> COUNT == 1);
        }
        let mut taken = 0;
        while singles > 0 {
            singles -= 1;
            let own = single[singles];
            let (x, goal) = table[own as usize];
            if goal >> COUNT != 1 {
                // Its key is gone, by another slot.
                continue;
            }
            prefetch(table.as_ptr().wrapping_add(own as usize).wrapping_sub(3 * next));
            let goal = goal & GOAL;
            let mut which = 0;
            for (i, slot) in edge(x, starts, length).into_iter().enumerate() {
                let there = &mut table[slot as usize];
                *there = (there.0 ^ x, (there.1 ^ goal).wrapping_sub(1 << COUNT));
                single[singles] = slot;
                singles += usize::from(there.1 >> COUNT == 1);
                which |= if slot == own { i as u64 } else { 0 };
            }
            keys[taken] = (x, goal | which << COUNT);
            taken += 1;
        }
        taken == keys.len()
    }

    /// Whether two equal keys were left alone in a slot by [`peel`](Self::peel).
    fn has_pair(&self) -> bool {
        self.table.iter().any(|there| there.0 == 0 && there.1 >> COUNT == 2)
    }

    /// Sets the slots, each once the other two of its key are final.
    fn assign(&self, shape: &Shape, blocks: &mut [Block]) {
        match shape.width() {
            8 => self.assign_as::<8>(shape, blocks),
            12 => self.assign_as::<12>(shape, blocks),
            16 => self.assign_as::<16>(shape, blocks),
            _ => self.assign_as::<0>(shape, blocks),
        }
    }

    fn assign_as<const WIDTH: u32>(&self, shape: &Shape, blocks: &mut [Block]) {
        let (width, starts, length) = (shape.width(), shape.starts(), shape.length);
        let (bytes, mask) = (cast::bytes_mut(blocks), slots::mask(width));
        for &(x, goal) in self.keys.iter().rev() {
            let edge = edge(x, starts, length);
            let own = edge[(goal >> COUNT) as usize];
            let goal = goal & GOAL;
            let goal = if width > COUNT { self.wide[goal as usize] } else { goal };
            // Its own slot is still zero.
            let sum = |sum, slot| sum ^ slots::get::<WIDTH>(bytes, slot, width);
            let value = edge.into_iter().fold(goal, sum) & mask;
            slots::put::<WIDTH>(bytes, own, width, value);
        }
    }
}

/// Keeps one entry per key, in the order of hashes.
fn unequal<E: Entry>(entries: &mut [E]) -> Result<&mut [E], Unsolved> {
    entries.sort_unstable_by_key(|entry| entry.pair().0);
    let mut kept = entries.len().min(1);
    for i in 1..entries.len() {
        let ((last, other), (hash, value)) = (entries[kept - 1].pair(), entries[i].pair());
        if last != hash {
            entries[kept] = entries[i];
            kept += 1;
        } else if other != value {
            return Err(Unsolved::Differ(hash));
        }
    }
    Ok(&mut entries[..kept])
}
