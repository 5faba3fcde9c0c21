//! How often each line of a table was met: numbers that threads add to while others read lines.
//!
//! A record takes at least three units of the table, so there is one number for every three units, in
//! blocks that are made when a record falls into them. A number has 32 bits; what it overflows by,
//! for the few lines that come four thousand million times, is noted aside.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// Units to a number.
const SHARE: u64 = 3;
/// Numbers of one block, 341 KiB: those of a segment of the table.
const BLOCK: u64 = (if cfg!(test) { 1u64 << 7 } else { 1 << 18 }).div_ceil(SHARE);

#[derive(Default)]
pub(super) struct Counts {
    blocks: Vec<Box<[AtomicU32]>>,
    /// How often a number went round.
    rounds: Mutex<HashMap<u64, u64>>,
}

impl Counts {
    /// Of a share of memory, the part that is left to a table whose lines are counted: 4 of 16 bytes
    /// go to numbers.
    pub(super) fn table(share: u64) -> u64 {
        share - share / 4
    }

    /// Counts the record at `unit` for the first time.
    pub(super) fn begin(&mut self, unit: u64) {
        let block = (unit / SHARE / BLOCK) as usize;
        if self.blocks.len() <= block {
            // A long record leaves units out: their blocks stay empty.
            self.blocks.resize_with(block + 1, Box::default);
        }
        if self.blocks[block].is_empty() {
            self.blocks[block] = (0..BLOCK).map(|_| AtomicU32::new(0)).collect();
        }
        self.add(unit);
    }

    /// Counts it once more; nothing for an excluded line, which was never begun.
    pub(super) fn add(&self, unit: u64) {
        let Some(number) = self.number(unit) else { return };
        if number.fetch_add(1, Ordering::Relaxed) == u32::MAX {
            *self.rounds.lock().expect("no worker panics").entry(unit).or_default() += 1;
        }
    }

    /// How often it was counted.
    pub(super) fn get(&self, unit: u64) -> u64 {
        let number = self.number(unit).map_or(0, |number| number.load(Ordering::Relaxed));
        let rounds = self.rounds.lock().expect("no worker panics").get(&unit).copied();
        (rounds.unwrap_or(0) << 32) + u64::from(number)
    }

    fn number(&self, unit: u64) -> Option<&AtomicU32> {
        self.blocks.get((unit / SHARE / BLOCK) as usize)?.get((unit / SHARE % BLOCK) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_past_32_bits() {
        let mut counts = Counts::default();
        for unit in [0, 3, 1_000_000] {
            counts.begin(unit);
        }
        counts.add(3);
        counts.blocks[0][1].store(u32::MAX, Ordering::Relaxed);
        counts.add(3);
        counts.add(3);
        assert_eq!([0, 3, 1_000_000].map(|unit| counts.get(unit)), [1, (1 << 32) + 1, 1]);
    }
}
