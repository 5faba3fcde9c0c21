//! Solves one binary fuse graph: finds slots such that the XOR of each key's three is what it should be.
//!
//! ```text
//! sort keys by the segment of their first slot          so that all that follows walks through memory
//! for each key, for each of its slots: count the key there, XOR its number there
//! while there is a slot with one key:                    its number is what is there
//!     push the key; take it away from its three slots
//! for each key, last pushed first: set the slot it had for itself
//! ```
//! If keys remain that have no slot for themselves, another seed gives another graph. Two equal keys never have one.
//! Equal keys are searched for only after a graph fails, because that costs more than solving it.

use super::{edge, spread};
use crate::bits::{Block, cast, slots};
use crate::hash::{GOLDEN, KeyHash, mix};
use crate::plan::bloomier::Shape;
use crate::prelude::*;

/// A key, and what its slots should give in addition to its fingerprint.
pub(super) trait Entry: Copy {
    fn hash(&self) -> KeyHash;
    fn value(&self) -> u64;
}

impl Entry for KeyHash {
    #[inline]
    fn hash(&self) -> KeyHash {
        *self
    }

    #[inline]
    fn value(&self) -> u64 {
        0
    }
}

impl Entry for (KeyHash, u64) {
    #[inline]
    fn hash(&self) -> KeyHash {
        self.0
    }

    #[inline]
    fn value(&self) -> u64 {
        self.1
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
    /// This many different keys, too many for the slots.
    Full(u64),
    /// Two values for this key.
    Differ(KeyHash),
}

/// The number of seeds tried. With as many slots as plans provide, one of the first few nearly always works.
const SEEDS: u64 = 128;

/// Graphs with more keys per slot are never solved: the threshold is 0.9179 (S. Walzer 2021,
/// <https://doi.org/10.1137/1.9781611976465.131>).
const MOST_LOAD: f64 = 0.92;

/// Bits of a key's number, below the count of keys in a slot.
const NUMBER: u32 = 24;

/// Memory to solve graphs in, 29 bytes per key.
#[derive(Default)]
pub(super) struct Solver {
    /// For each key, in the order of first segments: the hash that gives its slots, and what they should give.
    keys: Vec<(u64, u64)>,
    /// For each slot, its keys: their count in the upper 8 bits, and the XOR of their numbers below.
    table: Vec<u32>,
    /// Slots with one key, to be processed.
    single: Vec<u32>,
    /// Keys removed: their number, and which of the slots was their own.
    taken: Vec<u32>,
}

/// Bytes that [`Solver`] uses for a shard of the shape.
pub(super) fn solver_bytes(shape: &Shape) -> u64 {
    // A fifth of the slots have one key at first; later there are fewer.
    16 * shape.slots() + (4 + 4 + 4) * shape.slots()
}

impl Solver {
    /// Solves the graph of `entries` in `blocks`, which are zero. Equal entries count once; the order of entries
    /// changes.
    pub(super) fn solve<E: Entry>(
        &mut self,
        shape: &Shape,
        blocks: &mut [Block],
        entries: &mut [E],
    ) -> Result<Solved, Unsolved> {
        let most = (shape.slots() as f64 * MOST_LOAD) as usize;
        let mut entries = entries;
        let mut distinct = false;
        let mut number = 0;
        while number < SEEDS {
            if entries.len() > most {
                if distinct {
                    break;
                }
            } else {
                // Odd, so that keys with equal low halves differ under it.
                let seed = mix((number + 1).wrapping_mul(GOLDEN)) | 1;
                self.sort(shape, seed, entries);
                if self.peel(shape) {
                    self.assign(shape, blocks);
                    return Ok(Solved { seed, keys: entries.len() as u64 });
                }
            }
            if distinct {
                number += 1;
            } else {
                // Try the same seed again if there were equal keys.
                distinct = true;
                let count = entries.len();
                entries = unequal(entries)?;
                number += u64::from(entries.len() == count && count <= most);
            }
        }
        Err(Unsolved::Full(entries.len() as u64))
    }

    /// Sorts what is needed of the keys by first segment.
    fn sort<E: Entry>(&mut self, shape: &Shape, seed: u64, entries: &[E]) {
        let segments = u64::from(shape.segments);
        let mut ends = vec![0u32; shape.segments as usize + 1];
        let segment = |x| crate::bits::place(x, segments) as usize;
        for entry in entries {
            ends[segment(spread(entry.hash(), seed)) + 1] += 1;
        }
        for i in 1..ends.len() {
            ends[i] += ends[i - 1];
        }
        let mask = slots::mask(shape.fingerprint);
        self.keys.clear();
        self.keys.resize(entries.len(), (0, 0));
        for entry in entries {
            let hash = entry.hash();
            let x = spread(hash, seed);
            let print = super::fingerprint(hash, shape.fingerprint, mask);
            let value = if shape.value == 0 { 0 } else { entry.value() << shape.fingerprint };
            let place = &mut ends[segment(x)];
            self.keys[*place as usize] = (x, print | value);
            *place += 1;
        }
    }

    /// Removes keys as long as one has a slot for itself; returns whether all were removed.
    fn peel(&mut self, shape: &Shape) -> bool {
        let (starts, length) = (shape.starts(), shape.length);
        let Self { keys, table, single, taken } = self;
        table.clear();
        table.resize(shape.slots() as usize, 0);
        let mut overflow = false;
        for (number, &(x, _)) in keys.iter().enumerate() {
            for slot in edge(x, starts, length) {
                let there = &mut table[slot as usize];
                *there = (*there ^ number as u32).wrapping_add(1 << NUMBER);
                overflow |= *there >> NUMBER == 0;
            }
        }
        if overflow {
            // 256 keys in one slot must be equal ones: otherwise the average is 2.7.
            return false;
        }
        single.clear();
        taken.clear();
        let ones = table.iter().enumerate().filter(|(_, there)| **there >> NUMBER == 1);
        single.extend(ones.map(|(slot, _)| slot as u32));
        while let Some(own) = single.pop() {
            let there = table[own as usize];
            if there >> NUMBER != 1 {
                // Its key had another slot for itself and is gone.
                continue;
            }
            let number = there & ((1 << NUMBER) - 1);
            let mut which = 0;
            let slots = edge(keys[number as usize].0, starts, length);
            for (i, slot) in slots.into_iter().enumerate() {
                let there = &mut table[slot as usize];
                *there = (*there ^ number).wrapping_sub(1 << NUMBER);
                if slot == own {
                    which = i as u32;
                } else if *there >> NUMBER == 1 {
                    single.push(slot);
                }
            }
            taken.push(number | which << NUMBER);
        }
        taken.len() == keys.len()
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
        for taken in self.taken.iter().rev() {
            let (x, goal) = self.keys[(taken & ((1 << NUMBER) - 1)) as usize];
            let edge = edge(x, starts, length);
            let own = edge[(taken >> NUMBER) as usize];
            // Its own slot is still zero.
            let sum = |sum, slot| sum ^ slots::get::<WIDTH>(bytes, 0, slot, width);
            let value = edge.into_iter().fold(goal, sum) & mask;
            slots::put::<WIDTH>(bytes, own, width, value);
        }
    }
}

/// One entry of each key, in the order of hashes.
fn unequal<E: Entry>(entries: &mut [E]) -> Result<&mut [E], Unsolved> {
    if entries.is_empty() {
        return Ok(entries);
    }
    entries.sort_unstable_by_key(Entry::hash);
    let mut kept = 1;
    for i in 1..entries.len() {
        let (last, entry) = (entries[kept - 1], entries[i]);
        if last.hash() != entry.hash() {
            entries[kept] = entry;
            kept += 1;
        } else if last.value() != entry.value() {
            return Err(Unsolved::Differ(entry.hash()));
        }
    }
    Ok(&mut entries[..kept])
}
