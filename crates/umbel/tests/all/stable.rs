//! Stable filters, compared with a model that has a number per cell; the stable point, reached and measured.

use std::collections::HashSet;

use proptest::prelude::*;
use umbel::{AnyFilter, Filter, KeyHash, Kind, Plan, PlanError, Stable};

use crate::models::{Model, Pair, op};
use crate::plans::{detail, variant};
use crate::reference::{mix, place, probe};
use crate::reopened::hasher;

/// Hand-made plans of few cells, to make runs of lowered cells wrap around the end. Leaves out rates that the given
/// probes cannot keep.
fn plan() -> impl Strategy<Value = Plan> {
    (1..=10u64, 1..=8u32, 1..=8u32, 0.2..0.999f64).prop_map(|(blocks, detail, probes, fpp)| {
        Plan::from_parts(variant(Kind::Stable, detail), 9, fpp, 512 * blocks, probes).unwrap()
    })
}

/// A number per cell, as FORMAT.md defines it.
struct Numbers {
    plan: Plan,
    lowered: u64,
    insertions: u64,
    cells: Vec<u8>,
}

impl Numbers {
    fn new(plan: &Plan, lowered: u64) -> Self {
        let cells = plan.bits() / 64 * u64::from(64 / detail(plan.variant()));
        Self { plan: *plan, lowered, insertions: 0, cells: vec![0; cells as usize] }
    }

    fn cells_of(&self, hash: KeyHash) -> Vec<usize> {
        let count = self.cells.len() as u64;
        (0..u64::from(self.plan.probes())).map(|i| place(probe(hash, i), count)).collect()
    }
}

impl Model for Numbers {
    fn contains(&self, hash: KeyHash) -> bool {
        self.cells_of(hash).into_iter().all(|cell| self.cells[cell] > 0)
    }

    fn insert(&mut self, hash: KeyHash) -> Option<bool> {
        let (new, count) = (!self.contains(hash), self.cells.len() as u64);
        self.insertions += 1;
        let start = place(mix(self.insertions.wrapping_mul(0x9E37_79B9_7F4A_7C15)), count);
        for x in 0..self.lowered as usize {
            let cell = &mut self.cells[(start + x) % count as usize];
            *cell = cell.saturating_sub(1);
        }
        for cell in self.cells_of(hash) {
            self.cells[cell] = ((1u32 << detail(self.plan.variant())) - 1) as u8;
        }
        Some(new)
    }

    fn clear(&mut self) {
        self.cells.fill(0);
        self.insertions = 0;
    }

    /// It may forget every key but the last.
    fn kept(&self, _: &HashSet<KeyHash>) -> Vec<KeyHash> {
        Vec::new()
    }

    fn check(&self, filter: &AnyFilter) {
        let AnyFilter::Stable(filter) = filter else { panic!("another kind") };
        let receipt = filter.receipt();
        let used = self.cells.iter().filter(|&&cell| cell > 0).count() as u64;
        assert_eq!((receipt.set_bits, filter.insertions()), (used, self.insertions));
        assert!(!receipt.over_filled);
    }

    fn payload(&self) -> Vec<u8> {
        let mut words = vec![0u64; self.plan.bits() as usize / 64];
        let width = detail(self.plan.variant()) as usize;
        let per_word = 64 / width;
        for (cell, &number) in self.cells.iter().enumerate() {
            let bit = cell % per_word * width;
            words[cell / per_word] |= u64::from(number) << bit;
        }
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }
}

proptest! {
    #[test]
    fn acts_as_its_model(
        plan in plan(), hasher in hasher(), ops in prop::collection::vec(op(), 0..30),
    ) {
        let filter = Stable::with_plan(&plan, hasher);
        prop_assume!(!matches!(filter, Err(PlanError::FppOutOfReach(..))));
        let filter = filter.unwrap();
        let numbers = Numbers::new(&plan, filter.cells().lowered as u64);
        Pair::new(filter, numbers).run(&ops);
    }
}
