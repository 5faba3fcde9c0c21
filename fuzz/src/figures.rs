//! Invariants of every figure of a receipt, whatever bytes the filter was read from.

use umbel::{Estimate, Receipt};
use umbel::{Fact, Figure};

/// Asserts that it is a probability.
fn rate(rate: f64, what: &dyn std::fmt::Debug) {
    assert!((0.0..=1.0).contains(&rate), "{rate} is no chance: {what:?}");
}

/// Asserts that it is a number of keys, possibly infinite, within its interval.
fn keys(keys: Estimate, what: &dyn std::fmt::Debug) {
    let Estimate { value, low, high, deviation, .. } = keys;
    assert!(0.0 <= low && low <= value && value <= high && deviation >= 0.0, "{keys:?}: {what:?}");
}

fn facts(facts: &[Fact], what: &dyn std::fmt::Debug) {
    for fact in facts {
        match fact.figure {
            Figure::Rate(chance) => rate(chance, what),
            Figure::Number(number) => assert!(!number.is_nan(), "{fact:?}: {what:?}"),
            _ => {}
        }
    }
}

/// Checks the receipt of one of umbel's filters.
pub fn check(receipt: &Receipt) {
    rate(receipt.fpp, receipt);
    rate(receipt.fill, receipt);
    keys(receipt.keys, receipt);
    facts(&receipt.facts, receipt);
    assert!(receipt.set_bits <= receipt.bits, "{receipt:?}");
    for part in &receipt.parts {
        rate(part.fpp, receipt);
        assert!(part.keys >= 0.0, "{receipt:?}");
    }
}

/// Checks the receipt of another system's filter.
pub fn check_foreign(receipt: &umbel_foreign::Receipt) {
    rate(receipt.fpp, receipt);
    rate(receipt.fill, receipt);
    keys(receipt.keys, receipt);
    facts(&receipt.facts, receipt);
    assert!(receipt.set_bits <= receipt.bits || receipt.bits == 0, "{receipt:?}");
    for part in &receipt.parts {
        rate(part.fpp, receipt);
        keys(part.keys, receipt);
        facts(&part.facts, receipt);
    }
}
