//! Raises, lowers and tests a key's counters in [planes](crate::bits::counters), with any instruction set.

use super::isa::Isa;
use crate::bits::{Block, counters};

/// Planes that a removal passes through without checking for a borrow.
const STRAIGHT: usize = 4;

/// Raises the counter of every position of `key`.
#[inline(always)]
pub(super) fn add<I: Isa>(isa: I, counters: &mut [Block], key: I::Line) {
    let carry = add_low(isa, counters, key);
    if !isa.is_zero(carry) {
        carry_high(isa, counters, carry);
    }
}

/// The part of [`add`] in the first two planes; returns the carry to the others. It may be carried later, after other
/// keys are added: the counts come out the same.
#[inline(always)]
pub(super) fn add_low<I: Isa>(isa: I, counters: &mut [Block], key: I::Line) -> I::Line {
    let (low, high) = (isa.load(&counters[0]), isa.load(&counters[1]));
    let carry = isa.and(isa.and(low, high), key);
    // 0, 1, 2, 3 become 1, 2, 3 and 1.
    isa.store(&mut counters[0], isa.xor(low, isa.without(key, carry)));
    isa.store(&mut counters[1], isa.xor(high, isa.and(key, low)));
    carry
}

/// The part of [`add`] in the other planes.
#[inline(always)]
pub(super) fn carry_high<I: Isa>(isa: I, counters: &mut [Block], mut carry: I::Line) {
    for plane in &mut counters[2..] {
        let old = isa.load(plane);
        isa.store(plane, isa.xor(old, carry));
        carry = isa.and(old, carry);
        if isa.is_zero(carry) {
            return;
        }
    }
    // These were at the maximum, and stay there.
    for plane in counters {
        isa.store(plane, isa.or(isa.load(plane), carry));
    }
}

/// Whether every position of `key` is counted.
#[inline(always)]
pub(super) fn has<I: Isa>(isa: I, counters: &[Block], key: I::Line) -> bool {
    let used = isa.or(isa.load(&counters[0]), isa.load(&counters[1]));
    isa.is_zero(isa.without(key, used))
}

/// If every counter of `key` is above 0, lowers those that do not stick; otherwise does nothing.
#[inline(always)]
pub(super) fn take<I: Isa>(isa: I, counters: &mut [Block], key: I::Line) -> bool {
    if !has(isa, counters, key) {
        return false;
    }
    let (low, high) = (isa.load(&counters[0]), isa.load(&counters[1]));
    let (mut stuck, mut above) = (isa.and(low, high), isa.load(&counters[2]));
    for plane in &counters[2..] {
        let plane = isa.load(plane);
        stuck = isa.and(stuck, plane);
        above = isa.or(above, plane);
    }
    let key = isa.without(key, stuck);
    let mut borrow = isa.and(isa.and(isa.without(low, high), above), key);
    // 3 and 2 become 2 and 1; 1 becomes 0, or 3 if there is a high part to borrow from.
    isa.store(&mut counters[0], isa.xor(low, isa.without(key, borrow)));
    isa.store(&mut counters[1], isa.xor(high, isa.or(isa.without(key, low), borrow)));
    if counters.len() > STRAIGHT && isa.is_zero(borrow) {
        return true;
    }
    for plane in &mut counters[2..] {
        let old = isa.load(plane);
        isa.store(plane, isa.xor(old, borrow));
        borrow = isa.without(borrow, old);
    }
    true
}

/// The minimum of the counters of `key`.
#[inline(always)]
pub(super) fn least<I: Isa>(isa: I, counters: &[Block], key: I::Line) -> u32 {
    let (mut among, mut least) = (key, 0);
    for (p, plane) in counters.iter().enumerate().rev() {
        let low = isa.without(among, isa.load(plane));
        if isa.is_zero(low) {
            least |= 1 << p;
        } else {
            among = low;
        }
    }
    counters::count(least)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bits::arch::plain::Plain;
    use crate::bits::counters::tests::{block, counters, numbers};
    use crate::bits::counters::{are_counts, top};
    use crate::prelude::*;

    /// Any number of probes: a mask is given.
    const PLAIN: Plain<true> = Plain(8);

    /// Compares with numbers, from any counters; the loops over many keys test the other instruction sets against this
    /// one.
    fn check(mut counters: Vec<Block>, key: &[usize]) {
        let top = top(counters.len() as u32);
        let before = numbers(&counters);
        let mut of_key = [false; 512];
        key.iter().for_each(|&j| of_key[j] = true);
        let of_key = |j: usize| of_key[j];
        let least_of = |numbers: &[u32]| key.iter().map(|&j| numbers[j]).min().unwrap();
        let mut mask = Block::default();
        key.iter().for_each(|&j| mask.0[j / 64] |= (1u64 << (j % 64)).to_le());
        let has = |counters: &[Block]| has(PLAIN, counters, mask);
        let least = |counters: &[Block]| least(PLAIN, counters, mask);
        assert_eq!((has(&counters), least(&counters)), (least_of(&before) > 0, least_of(&before)));

        let raised = |j: usize| if of_key(j) { (before[j] + 1).min(top) } else { before[j] };
        let raised: Vec<_> = (0..512).map(raised).collect();
        add(PLAIN, &mut counters, mask);
        assert_eq!(numbers(&counters), raised);
        assert_eq!((has(&counters), least(&counters)), (true, least_of(&raised)));

        let lowered =
            |j: usize| if of_key(j) && raised[j] < top { raised[j] - 1 } else { raised[j] };
        assert!(take(PLAIN, &mut counters, mask));
        assert_eq!(numbers(&counters), (0..512).map(lowered).collect::<Vec<_>>());
        assert!(are_counts(&counters));
        // A key with a counter at 0 lowers none of the others.
        let (left, there) = (counters.clone(), has(&counters));
        assert_eq!(take(PLAIN, &mut counters, mask), there);
        assert!(there || counters == left);
    }

    proptest! {
        #[test]
        fn keys_count(numbers in counters(), key in prop::collection::vec(0..512usize, 1..33)) {
            let at_most = |planes| numbers.iter().map(|&n| n.min(top(planes))).collect::<Vec<_>>();
            check(block::<4>(&at_most(4)).to_vec(), &key);
            check(block::<8>(&at_most(8)).to_vec(), &key);
            check(block::<16>(&at_most(16)).to_vec(), &key);
        }
    }
}
