//! Keys that go from part to part of a filter, fewer each time.

use super::blocked::BlockedCore;
use super::prelude::*;

/// The hashes left, and the place of each among those given.
pub(super) struct Group<F> {
    hashes: [KeyHash; HASHES_AT_ONCE],
    places: [u16; HASHES_AT_ONCE],
    count: usize,
    /// Derives a key's hash in a part.
    in_part: F,
    /// The first of `hashes`, derived for a part.
    hashed: [KeyHash; HASHES_AT_ONCE],
}

impl<F: Fn(KeyHash, usize) -> KeyHash> Group<F> {
    pub(super) fn new(in_part: F) -> Self {
        let none = [KeyHash::default(); HASHES_AT_ONCE];
        Self { hashes: none, places: [0; HASHES_AT_ONCE], count: 0, in_part, hashed: none }
    }

    /// Replaces its hashes by at most [`HASHES_AT_ONCE`] others.
    pub(super) fn take(&mut self, given: &[KeyHash]) {
        self.count = given.len();
        self.hashes[..given.len()].copy_from_slice(given);
        for (number, place) in (0..).zip(&mut self.places) {
            *place = number;
        }
    }

    /// Like [`take`](Self::take), but keeps only the `wanted` ones.
    pub(super) fn take_wanted(&mut self, given: &[KeyHash], wanted: &[bool]) {
        self.count = 0;
        for ((place, &hash), &wanted) in (0..).zip(given).zip(wanted) {
            // Written unconditionally, to save a branch that would be mispredicted.
            (self.hashes[self.count], self.places[self.count]) = (hash, place);
            self.count += usize::from(wanted);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The places of the hashes left, among those given.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.places[..self.count].iter().map(|&place| usize::from(place))
    }

    /// The first `count` hashes, derived for a part.
    pub(super) fn in_part(&mut self, index: usize, count: usize) -> &[KeyHash] {
        for (to, &hash) in self.hashed.iter_mut().zip(&self.hashes[..count]) {
            *to = (self.in_part)(hash, index);
        }
        &self.hashed[..count]
    }

    /// Keeps only hashes that a part may hold, or that it certainly does not. `ahead` gets the derived hashes before
    /// the look-up.
    pub(super) fn keep(
        &mut self,
        may_hold: bool,
        index: usize,
        part: &BlockedCore<impl AsRef<[Block]>>,
        ahead: impl FnOnce(&[KeyHash]),
    ) {
        let mut held = [false; HASHES_AT_ONCE];
        let count = self.count;
        let hashes = self.in_part(index, count);
        ahead(hashes);
        part.contains_all(hashes, &mut held[..count]);
        let mut left = 0;
        for (i, held) in held[..count].iter().enumerate() {
            self.hashes[left] = self.hashes[i];
            self.places[left] = self.places[i];
            left += usize::from(*held == may_hold);
        }
        self.count = left;
    }

    pub(super) fn drop_first(&mut self, count: usize) {
        self.hashes.copy_within(count..self.count, 0);
        self.places.copy_within(count..self.count, 0);
        self.count -= count;
    }
}
