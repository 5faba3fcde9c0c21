//! Counts how often each line of a table occurs, in how many inputs, or in which: threads add to counters while others
//! read lines.
//!
//! A record takes at least three units of the table, so there is one counter for every three units, in blocks that are
//! allocated when a record falls into them. A counter has 32 bits; overflows, for the few lines that occur four billion
//! times, are noted separately.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::table::{LEAST_RECORD, UNIT};

/// Units per counter.
pub(super) const SHARE: u64 = (LEAST_RECORD / UNIT) as u64;
/// Counters of a block, 341 KiB: as many as a table segment needs. With several words per counter, as many words.
const BLOCK: u64 = (if cfg!(test) { 1u64 << 7 } else { 1 << 18 }).div_ceil(SHARE);

/// Inputs that may be read at the same time while the inputs with each line are counted.
pub(super) const INPUTS_AT_ONCE: usize = 16;

/// What is counted.
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

/// The count of a line that both sides have equally often, and of one that they do not.
pub(super) const EVEN: u64 = 2;
pub(super) const UNEVEN: u64 = 3;
/// The bits of both sides.
const BOTH: u64 = 0b11;
/// Once more on the first side.
const MORE: u64 = BOTH + 1;

/// A counter for every three units.
type Blocks<T> = Vec<Box<[T]>>;

pub(super) struct Counts {
    counted: Counted,
    blocks: Blocks<AtomicU32>,
    /// If inputs are counted: the last one in which a line was found, and which of the [`INPUTS_AT_ONCE`] up to it have
    /// the line, 16 bits each.
    last: Blocks<AtomicU32>,
    /// The last place of each line, if needed.
    places: Blocks<AtomicU64>,
    /// The inputs that have each line, if needed: some words for each. For two sides, a bit each, and above these how
    /// much more often the first has the line.
    holders: Blocks<AtomicU64>,
    /// How often a counter overflowed.
    rounds: Mutex<HashMap<u64, u64>>,
}

impl Counts {
    pub(super) fn new(counted: Counted) -> Self {
        let (blocks, last, places, holders) = Default::default();
        Self { counted, blocks, last, places, holders, rounds: Mutex::default() }
    }

    /// The part of a share of memory left for a table whose lines are counted: 4 of 16 bytes go to counters, 8 of 20,
    /// 12 of 24, or 8 for each word of holders.
    pub(super) fn table(counted: Counted, share: u64) -> u64 {
        match counted {
            Counted::Lines => share - share / 4,
            Counted::Inputs | Counted::Sides => share - share / 5 * 2,
            Counted::Last => share / 2,
            Counted::Holders(words) => {
                share / (LEAST_RECORD as u64 + 8 * u64::from(words)) * LEAST_RECORD as u64
            }
        }
    }

    /// Counts the record at `unit`, at a place in an input, for the first time.
    pub(super) fn begin(&mut self, unit: u64, input: usize, place: u64) {
        match self.counted {
            Counted::Lines => {}
            Counted::Inputs => make(&mut self.last, unit, 1),
            Counted::Last => make(&mut self.places, unit, 1),
            Counted::Holders(_) | Counted::Sides => {
                let words = if let Counted::Holders(words) = self.counted { words } else { 1 };
                make(&mut self.holders, unit, words);
                return self.add(unit, input, place);
            }
        }
        make(&mut self.blocks, unit, 1);
        self.add(unit, input, place);
    }

    /// Counts it once more; does nothing for an excluded line, which was never begun.
    pub(super) fn add(&self, unit: u64, input: usize, place: u64) {
        if let Some(words) = self.holders(unit) {
            words[input / 64].fetch_or(1 << (input % 64), Ordering::Relaxed);
            return;
        }
        if let Some(sides) = self.sides(unit) {
            let more = if input == 0 { MORE } else { MORE.wrapping_neg() };
            sides.fetch_add(more, Ordering::Relaxed);
            sides.fetch_or(1 << input, Ordering::Relaxed);
            return;
        }
        let Some(number) = self::number(&self.blocks, unit) else { return };
        if let Some(last) = self::number(&self.last, unit)
            && !is_first_of(last, input)
        {
            return;
        }
        if let Some(last) = self::number(&self.places, unit) {
            last.fetch_max(place, Ordering::Relaxed);
        }
        if number.fetch_add(1, Ordering::Relaxed) == u32::MAX {
            *self.rounds.lock().expect("no worker panics").entry(unit).or_default() += 1;
        }
    }

    /// Its last place, if stored.
    pub(super) fn last_place(&self, unit: u64) -> Option<u64> {
        number(&self.places, unit).map(|place| place.load(Ordering::Relaxed))
    }

    /// The inputs that have it, if these are counted.
    pub(super) fn holders(&self, unit: u64) -> Option<&[AtomicU64]> {
        let Counted::Holders(words) = self.counted else { return None };
        numbers(&self.holders, unit, words)
    }

    /// The sides that have it, if these are counted.
    fn sides(&self, unit: u64) -> Option<&AtomicU64> {
        (self.counted == Counted::Sides).then(|| number(&self.holders, unit)).flatten()
    }

    /// Its count; for sides, [`EVEN`] or [`UNEVEN`] if both have it.
    pub(super) fn get(&self, unit: u64) -> u64 {
        if let Some(sides) = self.sides(unit) {
            return match sides.load(Ordering::Relaxed) {
                BOTH => EVEN,
                sides if sides & BOTH == BOTH => UNEVEN,
                _ => 1,
            };
        }
        if let Some(words) = self.holders(unit) {
            return words
                .iter()
                .map(|word| u64::from(word.load(Ordering::Relaxed).count_ones()))
                .sum();
        }
        let number = number(&self.blocks, unit).map_or(0, |number| number.load(Ordering::Relaxed));
        let rounds = self.rounds.lock().expect("no worker panics").get(&unit).copied();
        (rounds.unwrap_or(0) << 32) + u64::from(number)
    }
}

/// Counters of `words` words in a block: with thousands of inputs, a block for a segment could exceed the memory.
#[inline]
fn of_block(words: u16) -> u64 {
    BLOCK.div_ceil(u64::from(words))
}

/// Allocates the block with the counter of a unit, of `words` words each.
fn make<T: Default>(blocks: &mut Blocks<T>, unit: u64, words: u16) {
    let count = of_block(words);
    let block = (unit / SHARE / count) as usize;
    if blocks.len() <= block {
        // A long record skips units, whose blocks stay empty.
        blocks.resize_with(block + 1, Box::default);
    }
    if blocks[block].is_empty() {
        blocks[block] = (0..count * u64::from(words)).map(|_| T::default()).collect();
    }
}

#[inline]
fn number<T>(blocks: &[Box<[T]>], unit: u64) -> Option<&T> {
    numbers(blocks, unit, 1).map(|words| &words[0])
}

#[inline]
fn numbers<T>(blocks: &[Box<[T]>], unit: u64, words: u16) -> Option<&[T]> {
    let (count, words) = (of_block(words), usize::from(words));
    let block = blocks.get((unit / SHARE / count) as usize)?;
    let start = (unit / SHARE % count) as usize * words;
    block.get(start..start + words)
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
        counts.blocks[0][1].store(u32::MAX, Ordering::Relaxed);
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
        let holders = |unit| {
            counts
                .holders(unit)
                .map(|words| words.iter().map(|word| word.load(Ordering::Relaxed)).collect())
        };
        assert_eq!(
            [3, 0, 600].map(holders),
            [Some(vec![1, 1, 4]), Some(vec![0, 1, 0]), None::<Vec<u64>>]
        );
        assert_eq!([3, 0, 900].map(|unit| counts.get(unit)), [3, 1, 1]);
    }
}
