//! Counters in place of bits: a block of 512 counters, stored as planes.
//!
//! Plane p of a block is a line of 512 bits: bit p of every counter, each where a plain filter has the counter's bit.
//! So a key has the same mask as in the plain filter, and all its counters are raised together by a few operations on
//! whole planes.
//!
//! A count n ≥ 1 is written as n = low + 3·high, with low from 1 to 3 in planes 0 and 1, and high in the others; 0 is 0
//! in all. So planes 0 and 1 alone show whether a counter is 0. Queries and three of four insertions need no more: two
//! cache lines instead of four to sixteen. The price is a quarter of the range: 4 bits count to 12, 8 to 192 and 16 to
//! 49,152. The numbers written have the order of the counts.
//!
//! A counter at its maximum, with all planes set, sticks: it is neither raised nor lowered again.

use super::Block;

/// The maximum of a counter with this many planes.
pub(crate) const fn top(planes: u32) -> u32 {
    3 << (planes - 2)
}

/// The count that is written as `code`.
pub(super) const fn count(code: u32) -> u32 {
    3 * (code >> 2) + (code & 3)
}

/// The counters that are not 0.
pub(crate) fn used(counters: &[Block]) -> Block {
    or_of(&counters[..2])
}

fn or_of(planes: &[Block]) -> Block {
    let mut all = planes[0];
    planes[1..].iter().for_each(|plane| all.or(plane));
    all
}

/// Whether every counter that is 0 in the first two planes is 0 in all.
pub(crate) fn are_counts(counters: &[Block]) -> bool {
    used(counters).has(&or_of(&counters[2..]))
}

/// The counters at their maximum.
pub(crate) fn stuck(counters: &[Block]) -> Block {
    let mut stuck = counters[0];
    counters[1..].iter().for_each(|plane| stuck.and(plane));
    stuck
}

/// The sum of all counters.
pub(crate) fn total(counters: &[Block]) -> u64 {
    let ones = |(p, plane): (usize, &Block)| u64::from(plane.count_ones()) << p;
    let part = |planes: &[Block]| planes.iter().enumerate().map(ones).sum::<u64>();
    part(&counters[..2]) + 3 * part(&counters[2..])
}

/// Adds `other` counter by counter, up to their maximum.
pub(crate) fn sum(counters: &mut [Block], other: &[Block]) {
    let mut carry = Block::default();
    for i in 0..8 {
        let (a, b) = (counters[0].0[i], other[0].0[i]);
        let (c, d) = (counters[1].0[i], other[1].0[i]);
        // The sum of the low parts, 0 to 6, as bits s2 s1 s0. From 4 on, 3 of it are carried.
        let (s0, both) = (a ^ b, a & b);
        let (s1, s2) = (c ^ d ^ both, c & d | both & (c ^ d));
        counters[0].0[i] = s0 ^ s2;
        counters[1].0[i] = s1 | s2 & s0;
        carry.0[i] = s2;
    }
    for (plane, other) in counters[2..].iter_mut().zip(&other[2..]) {
        for (i, word) in plane.0.iter_mut().enumerate() {
            let (a, b, c) = (*word, other.0[i], carry.0[i]);
            *word = a ^ b ^ c;
            carry.0[i] = a & b | c & (a ^ b);
        }
    }
    counters.iter_mut().for_each(|plane| plane.or(&carry));
}

/// Joins each group of `planes` blocks with its counterpart in `others`, by [`sum`] or [`lesser`].
pub(crate) fn join_all(
    counters: &mut [Block],
    others: &[Block],
    planes: usize,
    join: fn(&mut [Block], &[Block]),
) {
    let groups = counters.chunks_exact_mut(planes).zip(others.chunks_exact(planes));
    groups.for_each(|(counters, other)| join(counters, other));
}

/// Keeps the smaller of each counter and its counterpart in `other`.
pub(crate) fn lesser(counters: &mut [Block], other: &[Block]) {
    // From the top plane down: where two first differ, the one without the bit is smaller.
    let (mut equal, mut theirs) = ([u64::MAX; 8], [0; 8]);
    for (plane, other) in counters.iter().zip(other).rev() {
        for i in 0..8 {
            theirs[i] |= equal[i] & plane.0[i] & !other.0[i];
            equal[i] &= !(plane.0[i] ^ other.0[i]);
        }
    }
    for (plane, other) in counters.iter_mut().zip(other) {
        for (i, word) in plane.0.iter_mut().enumerate() {
            *word = *word & !theirs[i] | other.0[i] & theirs[i];
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bits::in_miri;

    /// Converts a block to counters and back.
    pub(in crate::bits) fn numbers(counters: &[Block]) -> Vec<u32> {
        let bit = |p: usize, j: usize| u64::from_le(counters[p].0[j / 64]) >> (j % 64) & 1;
        let code = |j: usize| (0..counters.len()).map(|p| (bit(p, j) as u32) << p).sum();
        (0..512).map(|j| count(code(j))).collect()
    }

    pub(in crate::bits) fn block<const N: usize>(numbers: &[u32]) -> [Block; N] {
        let mut counters = [Block::default(); N];
        for (j, &number) in numbers.iter().enumerate() {
            let code = if number == 0 { 0 } else { (number - 1) / 3 * 4 + (number - 1) % 3 + 1 };
            for (p, plane) in counters.iter_mut().enumerate() {
                plane.0[j / 64] |= (u64::from(code >> p & 1) << (j % 64)).to_le();
            }
        }
        counters
    }

    fn check<const N: usize>(a: &[u32], b: &[u32]) {
        let top = top(N as u32);
        let (a, b) = (a.iter().map(|&n| n.min(top)), b.iter().map(|&n| n.min(top)));
        let (a, b): (Vec<_>, Vec<_>) = (a.collect(), b.collect());
        let counters = block::<N>(&a);
        assert_eq!(numbers(&counters), a);
        assert!(are_counts(&counters));
        let (mut both, mut less) = (counters, counters);
        sum(&mut both, &block::<N>(&b));
        lesser(&mut less, &block::<N>(&b));
        assert!(are_counts(&both) && are_counts(&less));
        let pairs = || a.iter().zip(&b);
        assert_eq!(numbers(&both), pairs().map(|(a, b)| (a + b).min(top)).collect::<Vec<_>>());
        assert_eq!(numbers(&less), pairs().map(|(a, b)| *a.min(b)).collect::<Vec<_>>());
        assert_eq!(total(&counters), a.iter().map(|&n| u64::from(n)).sum::<u64>());
        let count = |wanted: fn(u32, u32) -> bool| a.iter().filter(|&&n| wanted(n, top)).count();
        assert_eq!(used(&counters).count_ones() as usize, count(|n, _| n > 0));
        assert_eq!(stuck(&counters).count_ones() as usize, count(|n, top| n == top));
    }

    /// Any counters, many of them at both ends.
    pub(in crate::bits) fn counters() -> impl Strategy<Value = Vec<u32>> {
        let one = prop_oneof![2 => Just(0), 1 => Just(u32::MAX), 2 => 0..13u32, 1 => 0..193u32, 1 => 0..50_000u32];
        let some = prop::collection::vec(one, in_miri(16, 512));
        some.prop_map(|some| some.iter().copied().cycle().take(512).collect())
    }

    proptest! {
        #[test]
        fn planes_count(a in counters(), b in counters()) {
            check::<4>(&a, &b);
            check::<8>(&a, &b);
            check::<16>(&a, &b);
        }
    }
}
