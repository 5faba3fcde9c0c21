//! A hash table that is filled once, without pointers.
//!
//! Linear probing at a load of 4/5: a present entry is found after 3 slots on average, mostly in one cache line. An
//! absent one costs 13 slots, but the filter in front of the table lets few of these through; without it, the table
//! would need a load of 1/2 for as few reads.

use crate::prelude::*;
use umbel::KeyHash;
use umbel::internals::place;

#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    slots: Vec<Option<T>>,
}

impl<T> Table<T> {
    /// An empty table for this many entries.
    pub(super) fn for_entries(entries: usize) -> Self {
        let slots = entries + entries / 4 + 1;
        Self { slots: (0..slots).map(|_| None).collect() }
    }

    /// Inserts an entry that is not present; returns its slot.
    pub(super) fn insert(&mut self, hash: KeyHash, entry: T) -> usize {
        let mut slot = self.first(hash);
        while self.slots[slot].is_some() {
            slot = self.after(slot);
        }
        self.slots[slot] = Some(entry);
        slot
    }

    /// The entry with this hash that matches.
    #[inline]
    pub(super) fn find(&self, hash: KeyHash, is_it: impl Fn(&T) -> bool) -> Option<&T> {
        let mut slot = self.first(hash);
        loop {
            let entry = self.slots[slot].as_ref()?;
            if is_it(entry) {
                return Some(entry);
            }
            slot = self.after(slot);
        }
    }

    /// The entry in a slot.
    #[inline]
    pub(super) fn get(&self, slot: usize) -> Option<&T> {
        self.slots.get(slot)?.as_ref()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.slots.len() * size_of::<Option<T>>()) as u64
    }

    /// Uses the half of the hash that does not choose the filter's block.
    #[inline]
    fn first(&self, hash: KeyHash) -> usize {
        place(hash.low, self.slots.len() as u64) as usize
    }

    #[inline]
    fn after(&self, slot: usize) -> usize {
        if slot + 1 == self.slots.len() { 0 } else { slot + 1 }
    }
}
