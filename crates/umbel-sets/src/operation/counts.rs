//! Counts how often each line of a table occurs, in how many inputs, or in which: threads add to counters while others
//! read lines.
//!
//! A record takes at least three units of the table, so there is one counter for every three units, in blocks that are
//! allocated when a record falls into them. A counter has 32 bits; overflows, for the few lines that occur four billion
//! times, are noted separately.

use std::collections::HashMap;
use std::sync::atomic::AtomicU32;

use super::prelude::*;
use crate::table::{LEAST_RECORD, UNIT};

/// Units per counter.
pub(super) const SHARE: u64 = (LEAST_RECORD / UNIT) as u64;
/// Words of a block, 256 KiB or 512: with thousands of inputs, a block with a counter for each line of a table
/// segment could exceed the memory.
const BLOCK: usize = if cfg!(test) { 1 << 5 } else { 1 << 16 };

/// Inputs that may be read at the same time while the inputs with each line are counted.
pub(super) const INPUTS_AT_ONCE: usize = 16;

/// The count to keep for each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// How often a line occurs.
    Lines,
    /// In how many inputs a line occurs.
    Inputs,
    /// How often a line occurs, and its last place.
    Last,
    /// In which inputs a line occurs: a bit for each, in this many words.
    Holders(u16),
    /// Which of two inputs have a line, and which has it more often.
    Sides,
}

impl Counted {
    /// The words of 32 and of 64 bits that a counter has.
    fn words(self) -> (usize, usize) {
        match self {
            Self::Lines => (1, 0),
            // The second is the last input in which a line was found, and which of the `INPUTS_AT_ONCE` up to it have the
            // line, 16 bits each.
            Self::Inputs => (2, 0),
            Self::Last => (1, 1),
            Self::Holders(words) => (0, words.into()),
            // A bit for each side, and above these how much more often the first has the line.
            Self::Sides => (0, 1),
        }
    }
}

/// How much more often the second side has a line with this count, if both have it. A line that was not counted has 1.
pub(super) fn second_more(count: u64) -> Option<i64> {
    (count & BOTH == BOTH).then_some(-(count as i64 >> 2))
}

/// The bits of both sides.
const BOTH: u64 = 0b11;
/// Once more on the first side.
const MORE: u64 = BOTH + 1;

pub(super) struct Counts {
    counted: Counted,
    narrow: Words<AtomicU32>,
    wide: Words<AtomicU64>,
    /// How often a counter of 32 bits overflowed.
    rounds: Mutex<HashMap<u64, u64>>,
}

impl Counts {
    pub(super) fn new(counted: Counted) -> Self {
        let (narrow, wide) = counted.words();
        let (narrow, wide) = (Words::new(narrow), Words::new(wide));
        Self { counted, narrow, wide, rounds: Mutex::default() }
    }

    /// The part of a share of memory left for a table with these counts.
    pub(super) fn table(counted: Counted, share: u64) -> u64 {
        let (narrow, wide) = counted.words();
        let each = LEAST_RECORD + narrow * size_of::<u32>() + wide * size_of::<u64>();
        share / each as u64 * LEAST_RECORD as u64
    }

    /// Counts the record at `unit`, at a place in an input, for the first time.
    pub(super) fn begin(&mut self, unit: u64, input: usize, place: u64) {
        self.narrow.make(unit);
        self.wide.make(unit);
        self.add(unit, input, place);
    }

    /// Counts it once more; does nothing for an excluded line, which was never begun.
    pub(super) fn add(&self, unit: u64, input: usize, place: u64) {
        let wide = self.wide.of(unit);
        match (self.counted, self.narrow.of(unit), wide) {
            (Counted::Holders(_), _, [_, ..]) => {
                wide[input / 64].fetch_or(1 << (input % 64), Ordering::Relaxed);
            }
            (Counted::Sides, _, [sides]) => {
                let more = if input == 0 { MORE } else { MORE.wrapping_neg() };
                sides.fetch_add(more, Ordering::Relaxed);
                sides.fetch_or(1 << input, Ordering::Relaxed);
            }
            (_, [number, last @ ..], _) if last.iter().all(|last| is_first_of(last, input)) => {
                for last in wide {
                    last.fetch_max(place, Ordering::Relaxed);
                }
                if number.fetch_add(1, Ordering::Relaxed) == u32::MAX {
                    *self.rounds.lock().expect("no worker panics").entry(unit).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    /// Its last place, if stored.
    pub(super) fn last_place(&self, unit: u64) -> Option<u64> {
        match (self.counted, self.wide.of(unit)) {
            (Counted::Last, [place]) => Some(place.load(Ordering::Relaxed)),
            _ => None,
        }
    }

    /// The inputs that have it, if these are counted.
    pub(super) fn holders(&self, unit: u64) -> Option<&[AtomicU64]> {
        let words = self.wide.of(unit);
        (matches!(self.counted, Counted::Holders(_)) && !words.is_empty()).then_some(words)
    }

    /// Its count; for sides, see [`second_more`].
    pub(super) fn get(&self, unit: u64) -> u64 {
        match (self.counted, self.wide.of(unit)) {
            (Counted::Sides, [sides]) => sides.load(Ordering::Relaxed),
            (Counted::Holders(_), words) => {
                words.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum()
            }
            _ => {
                let number = self.narrow.of(unit).first();
                let number = number.map_or(0, |number| number.load(Ordering::Relaxed));
                let rounds = self.rounds.lock().expect("no worker panics").get(&unit).copied();
                (rounds.unwrap_or(0) << 32) + u64::from(number)
            }
        }
    }
}

/// Some words for every three units.
struct Words<T> {
    each: usize,
    /// Each block is for so many times three units, as a power of two: a division would cost more than all else.
    counters: u32,
    blocks: Vec<Box<[T]>>,
}

impl<T: Default> Words<T> {
    fn new(each: usize) -> Self {
        Self { each, counters: (BLOCK / each.max(1)).max(1).ilog2(), blocks: Vec::new() }
    }

    /// Allocates the block with the words of a unit.
    fn make(&mut self, unit: u64) {
        let block = ((unit / SHARE) >> self.counters) as usize;
        if self.blocks.len() <= block {
            // A long record skips units, whose blocks stay empty.
            self.blocks.resize_with(block + 1, Box::default);
        }
        if self.blocks[block].is_empty() {
            self.blocks[block] = (0..self.each << self.counters).map(|_| T::default()).collect();
        }
    }

    /// The words of a unit; none if they were not made.
    #[inline]
    fn of(&self, unit: u64) -> &[T] {
        let number = unit / SHARE;
        let block = self.blocks.get((number >> self.counters) as usize);
        let start = (number & ((1 << self.counters) - 1)) as usize * self.each;
        block.and_then(|block| block.get(start..start + self.each)).unwrap_or_default()
    }
}

/// A table, and the counts of its lines if these are needed.
pub(super) struct CountedTable {
    pub(super) table: Table,
    pub(super) counts: Option<Counts>,
}

impl CountedTable {
    pub(super) fn new(table: Table, counted: Option<Counted>) -> Self {
        Self { table, counts: counted.map(Counts::new) }
    }

    /// Adds a line, as [`Table::insert`], and counts it.
    pub(super) fn insert(
        &mut self,
        hash: KeyHash,
        (input, place): (usize, u64),
        line: Record<'_>,
    ) -> Result<Inserted, Error> {
        let inserted = self.table.insert(hash, place, line)?;
        match (inserted, &mut self.counts) {
            (Inserted::New(unit), Some(counts)) => counts.begin(unit, input, place),
            (Inserted::Known(unit), Some(counts)) => counts.add(unit, input, place),
            _ => {}
        }
        Ok(inserted)
    }
}

/// Notes that a line is in an input, at most [`INPUTS_AT_ONCE`] − 1 before the last one noted; returns whether that is
/// new.
fn is_first_of(last: &AtomicU32, input: usize) -> bool {
    let input = input as u32;
    let met = |old: u32| {
        let (newest, window) = (old >> 16, old & 0xffff);
        let (newest, window) = match input.checked_sub(newest) {
            Some(later) => (input, window.checked_shl(later).unwrap_or(0) & 0xffff | 1),
            None => (newest, window | 1 << (newest - input)),
        };
        let new = newest << 16 | window;
        (new != old).then_some(new)
    };
    last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, met).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_past_32_bits() {
        let mut counts = Counts::new(Counted::Lines);
        for unit in [0, 3, 1_000_000] {
            counts.begin(unit, 0, 0);
        }
        counts.add(3, 0, 0);
        counts.narrow.of(3)[0].store(u32::MAX, Ordering::Relaxed);
        counts.add(3, 0, 0);
        counts.add(3, 0, 0);
        assert_eq!([0, 3, 1_000_000].map(|unit| counts.get(unit)), [1, (1 << 32) + 1, 1]);
    }

    #[test]
    fn counts_each_input_once_in_any_order_of_those_at_once() {
        let mut counts = Counts::new(Counted::Inputs);
        counts.begin(9, 3, 0);
        let mut model = std::collections::HashSet::from([3]);
        for input in
            [3, 3, 0, 5, 4, 3, 0, 18, 3, 17, 18, 19, 4, 65_000, 65_000, 64_985, 64_990, 64_985]
        {
            counts.add(9, input, 0);
            model.insert(input);
            assert_eq!(counts.get(9), model.len() as u64, "{input}");
        }
    }

    #[test]
    fn holders_of_any_number_of_inputs_are_told_apart() {
        let mut counts = Counts::new(Counted::Holders(3));
        for unit in [3, 0, 900] {
            counts.begin(unit, 64, 0);
        }
        for input in [0, 130, 64, 130] {
            counts.add(3, input, 0);
            counts.add(600, input, 0);
        }
        let load = |words: &[AtomicU64]| -> Vec<u64> {
            words.iter().map(|word| word.load(Ordering::Relaxed)).collect()
        };
        let holders = [3, 0, 600].map(|unit| counts.holders(unit).map(load));
        assert_eq!(holders, [Some(vec![1, 1, 4]), Some(vec![0, 1, 0]), None]);
        assert_eq!([3, 0, 900].map(|unit| counts.get(unit)), [3, 1, 1]);
    }
}
