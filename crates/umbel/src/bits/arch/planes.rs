//! Raises, lowers and tests a key's counters in [planes](crate::bits::counters), with any instruction set.

use super::Isa;
use crate::bits::{Block, counters};

/// Planes that one key passes through without checking whether there is a carry.
const STRAIGHT: usize = 4;

/// Raises the counter of every position of `key`.
///
/// # Safety
/// Requires the instruction set of `I`; so for all functions below.
#[inline(always)]
pub(super) unsafe fn add<I: Isa>(counters: &mut [Block], key: I::Line) {
    // SAFETY: promised by the caller.
    unsafe {
        let carry = add_low::<I>(counters, key);
        if !I::is_zero(carry) {
            carry_high::<I>(counters, carry);
        }
    }
}

/// Like [`add`], but without a branch for narrow counters: a branch that waits for its line, and differs at every
/// fourth key, keeps the processor from the keys after it.
#[inline(always)]
pub(super) unsafe fn add_alone<I: Isa>(counters: &mut [Block], key: I::Line) {
    // SAFETY: promised by the caller.
    unsafe {
        if counters.len() > STRAIGHT {
            return add::<I>(counters, key);
        }
        let mut carry = add_low::<I>(counters, key);
        for plane in &mut counters[2..] {
            let old = I::load(plane);
            I::store(plane, I::xor(old, carry));
            carry = I::and(old, carry);
        }
        set::<I>(counters, carry);
    }
}

/// The part of [`add`] in the first two planes; returns the carry to the others. It may be carried later, after more
/// was added: the counts are then the same.
#[inline(always)]
pub(super) unsafe fn add_low<I: Isa>(counters: &mut [Block], key: I::Line) -> I::Line {
    // SAFETY: promised by the caller.
    unsafe {
        let (low, high) = (I::load(&counters[0]), I::load(&counters[1]));
        let carry = I::and(I::and(low, high), key);
        // 0, 1, 2, 3 become 1, 2, 3 and 1.
        I::store(&mut counters[0], I::xor(low, I::without(key, carry)));
        I::store(&mut counters[1], I::xor(high, I::and(key, low)));
        carry
    }
}

/// The part of [`add`] in the other planes.
#[inline(always)]
pub(super) unsafe fn carry_high<I: Isa>(counters: &mut [Block], mut carry: I::Line) {
    // SAFETY: promised by the caller.
    unsafe {
        for plane in &mut counters[2..] {
            let old = I::load(plane);
            I::store(plane, I::xor(old, carry));
            carry = I::and(old, carry);
            if I::is_zero(carry) {
                return;
            }
        }
        // These were at the maximum.
        set::<I>(counters, carry);
    }
}

/// Sets counters to their maximum.
#[inline(always)]
unsafe fn set<I: Isa>(counters: &mut [Block], which: I::Line) {
    for plane in counters {
        // SAFETY: promised by the caller.
        unsafe { I::store(plane, I::or(I::load(plane), which)) };
    }
}

/// Whether every position of `key` is counted.
#[inline(always)]
pub(super) unsafe fn has<I: Isa>(counters: &[Block], key: I::Line) -> bool {
    // SAFETY: promised by the caller.
    unsafe {
        let used = I::or(I::load(&counters[0]), I::load(&counters[1]));
        I::is_zero(I::without(key, used))
    }
}

/// Lowers the counters of `key`, except those that stick, if none of them is 0; else does nothing.
#[inline(always)]
pub(super) unsafe fn take<I: Isa>(counters: &mut [Block], key: I::Line) -> bool {
    // SAFETY: promised by the caller.
    unsafe {
        if !has::<I>(counters, key) {
            return false;
        }
        let (low, high) = (I::load(&counters[0]), I::load(&counters[1]));
        let (mut stuck, mut above) = (I::and(low, high), I::load(&counters[2]));
        for plane in &counters[2..] {
            let plane = I::load(plane);
            stuck = I::and(stuck, plane);
            above = I::or(above, plane);
        }
        let key = I::without(key, stuck);
        let mut borrow = I::and(I::and(I::without(low, high), above), key);
        // 3 and 2 become 2 and 1; 1 becomes 0, or 3 if there is a high part to borrow from.
        I::store(&mut counters[0], I::xor(low, I::without(key, borrow)));
        I::store(&mut counters[1], I::xor(high, I::or(I::without(key, low), borrow)));
        if counters.len() > STRAIGHT && I::is_zero(borrow) {
            return true;
        }
        for plane in &mut counters[2..] {
            let old = I::load(plane);
            I::store(plane, I::xor(old, borrow));
            borrow = I::without(borrow, old);
        }
        true
    }
}

/// The minimum of the counters of `key`.
#[inline(always)]
pub(super) unsafe fn least<I: Isa>(counters: &[Block], key: I::Line) -> u32 {
    let (mut among, mut least) = (key, 0);
    for (p, plane) in counters.iter().enumerate().rev() {
        // SAFETY: promised by the caller.
        unsafe {
            let low = I::without(among, I::load(plane));
            if I::is_zero(low) {
                least |= 1 << p;
            } else {
                among = low;
            }
        }
    }
    counters::count(least)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bits::arch::scalar::Scalar;
    use crate::bits::counters::tests::{block, counters, numbers};
    use crate::bits::counters::{are_counts, top};
    use crate::prelude::*;

    /// Compares with numbers, from any counters; the loops over many keys test the other instruction sets against this
    /// one.
    fn check(mut counters: Vec<Block>, key: &[usize]) {
        let top = top(counters.len() as u32);
        let before = numbers(&counters);
        let of_key = |j: usize| key.contains(&j);
        let least_of = |numbers: &[u32]| key.iter().map(|&j| numbers[j]).min().unwrap();
        let mut mask = Block::default();
        key.iter().for_each(|&j| mask.0[j / 64] |= (1u64 << (j % 64)).to_le());
        // SAFETY: plain code runs anywhere.
        unsafe {
            let has = |counters: &[Block]| has::<Scalar>(counters, mask);
            let least = |counters: &[Block]| least::<Scalar>(counters, mask);
            assert_eq!(
                (has(&counters), least(&counters)),
                (least_of(&before) > 0, least_of(&before))
            );

            let raised = |j: usize| if of_key(j) { (before[j] + 1).min(top) } else { before[j] };
            let raised: Vec<_> = (0..512).map(raised).collect();
            let mut alone = counters.clone();
            add_alone::<Scalar>(&mut alone, mask);
            assert_eq!(numbers(&alone), raised);
            add::<Scalar>(&mut counters, mask);
            assert_eq!(numbers(&counters), raised);
            assert_eq!((has(&counters), least(&counters)), (true, least_of(&raised)));

            let lowered =
                |j: usize| if of_key(j) && raised[j] < top { raised[j] - 1 } else { raised[j] };
            assert!(take::<Scalar>(&mut counters, mask));
            assert_eq!(numbers(&counters), (0..512).map(lowered).collect::<Vec<_>>());
            assert!(are_counts(&counters));
            // A key with a counter at 0 lowers none of the others.
            let (left, there) = (counters.clone(), has(&counters));
            assert_eq!(take::<Scalar>(&mut counters, mask), there);
            assert!(there || counters == left);
        }
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
