//! One bit per record of a complete table.

use super::counts::SHARE;
use super::prelude::*;

pub(super) struct Marks(Vec<AtomicU64>);

impl Marks {
    pub(super) fn of(table: &Table) -> Self {
        let words = (table.units() / SHARE).div_ceil(64) + 1;
        Self((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    /// The part of a share of memory left for a table whose records are marked.
    pub(super) fn table(share: u64) -> u64 {
        // One bit per twelve bytes.
        share - share / 96
    }

    /// Marks a record and returns whether it was not marked before.
    pub(super) fn set(&self, unit: u64) -> bool {
        let (word, bit) = self.bit(unit);
        word.load(Ordering::Relaxed) & bit == 0 && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    pub(super) fn is_set(&self, unit: u64) -> bool {
        let (word, bit) = self.bit(unit);
        word.load(Ordering::Relaxed) & bit != 0
    }

    fn bit(&self, unit: u64) -> (&AtomicU64, u64) {
        let number = unit / SHARE;
        (&self.0[(number / 64) as usize], 1 << (number % 64))
    }
}
