//! Counters in place of bits: a block of 512 of them, as planes.
//!
//! Plane p of a block is a line of 512 bits: bit p of every counter, each where a plain filter has the
//! counter's bit. So the mask of a key is that of the plain filter, and all its counters are raised at
//! once by a few operations on whole planes.
//!
//! A count n ≥ 1 is written as n = low + 3·high, low from 1 to 3 in planes 0 and 1, high in the others; 0 is
//! 0 in all. So planes 0 and 1 alone tell whether a counter is 0, which is all that asking takes, and three
//! of four insertions: two cache lines instead of four to sixteen. The price is a quarter of the counts:
//! 4 bits count to 12, 8 to 192 and 16 to 49,152. The order of counts is that of the numbers written.
//!
//! A counter at its top, all planes set, sticks: it is neither raised nor lowered again.

use super::Block;

/// Planes that one key may go through without looking whether there is anything to carry.
const STRAIGHT: usize = 4;

/// Words of two lines, one by one.
#[inline(always)]
fn each(left: Block, right: Block, word: impl Fn(u64, u64) -> u64) -> Block {
    Block(core::array::from_fn(|i| word(left.0[i], right.0[i])))
}

/// The top of a counter of so many planes.
pub(crate) const fn top(planes: u32) -> u32 {
    3 << (planes - 2)
}

/// The count that is written as `code`.
const fn count(code: u32) -> u32 {
    3 * (code >> 2) + (code & 3)
}

/// Counts every position of `key` once more.
#[inline(always)]
pub(crate) fn add<const N: usize>(counters: &mut [Block; N], key: &Block) {
    let carry = add_low(counters, key);
    if !carry.is_zero() {
        carry_high(counters, carry);
    }
}

/// As [`add`], of narrow counters without a branch: one that waits for its line, and goes another way at every fourth key,
/// keeps the processor from the keys after it.
#[inline(always)]
pub(crate) fn add_alone<const N: usize>(counters: &mut [Block; N], key: &Block) {
    if N > STRAIGHT {
        return add(counters, key);
    }
    let mut carry = add_low(counters, key);
    for plane in &mut counters[2..] {
        let old = *plane;
        *plane = each(old, carry, |old, carry| old ^ carry);
        carry = each(old, carry, |old, carry| old & carry);
    }
    counters.iter_mut().for_each(|plane| plane.or(&carry));
}

/// The part of [`add`] in the first two planes; gives what is to be carried to the others. It may be
/// carried later, after more was added: the counts are then the same.
#[inline(always)]
pub(crate) fn add_low<const N: usize>(counters: &mut [Block; N], key: &Block) -> Block {
    let (low, high) = (counters[0], counters[1]);
    let full = each(low, high, |low, high| low & high);
    let carry = each(full, *key, |full, key| full & key);
    // 0, 1, 2, 3 become 1, 2, 3 and 1.
    counters[0] = each(low, each(*key, carry, |key, carry| key & !carry), |low, flip| low ^ flip);
    counters[1] = each(high, each(*key, low, |key, low| key & low), |high, flip| high ^ flip);
    carry
}

/// The part of [`add`] in the other planes.
#[inline(always)]
pub(crate) fn carry_high<const N: usize>(counters: &mut [Block; N], mut carry: Block) {
    for plane in &mut counters[2..] {
        let old = *plane;
        *plane = each(old, carry, |old, carry| old ^ carry);
        carry = each(old, carry, |old, carry| old & carry);
        if carry.is_zero() {
            return;
        }
    }
    // These were at the top.
    counters.iter_mut().for_each(|plane| plane.or(&carry));
}

/// Whether every position of `key` is counted.
#[inline(always)]
pub(crate) fn has<const N: usize>(counters: &[Block; N], key: &Block) -> bool {
    used(counters).has(key)
}

/// Lowers the counters of `key`, but for those that stick, when none of them is 0; else nothing.
#[inline(always)]
pub(crate) fn take<const N: usize>(counters: &mut [Block; N], key: &Block) -> bool {
    if !has(counters, key) {
        return false;
    }
    let (low, high) = (counters[0], counters[1]);
    let key = each(*key, stuck(counters), |key, stuck| key & !stuck);
    let one = each(low, high, |low, high| low & !high);
    let above = or_of(&counters[2..]);
    let mut borrow = each(each(one, above, |one, above| one & above), key, |one, key| one & key);
    // 3 and 2 become 2 and 1; 1 becomes 0, or 3 where there is a high part to borrow from.
    let flip = each(key, borrow, |key, borrow| key & !borrow);
    counters[0] = each(low, flip, |low, flip| low ^ flip);
    let flip = each(each(key, low, |key, low| key & !low), borrow, |two, borrow| two | borrow);
    counters[1] = each(high, flip, |high, flip| high ^ flip);
    if N > STRAIGHT && borrow.is_zero() {
        return true;
    }
    for plane in &mut counters[2..] {
        let old = *plane;
        *plane = each(old, borrow, |old, borrow| old ^ borrow);
        borrow = each(old, borrow, |old, borrow| !old & borrow);
    }
    true
}

/// The least counter among those of `key`.
#[inline(always)]
pub(crate) fn least<const N: usize>(counters: &[Block; N], key: &Block) -> u32 {
    let (mut among, mut least) = (*key, 0);
    for (p, plane) in counters.iter().enumerate().rev() {
        let low = each(among, *plane, |among, plane| among & !plane);
        if low.is_zero() {
            least |= 1 << p;
        } else {
            among = low;
        }
    }
    count(least)
}

/// The counters that are not 0.
#[inline(always)]
pub(crate) fn used(counters: &[Block]) -> Block {
    or_of(&counters[..2])
}

#[inline(always)]
fn or_of(planes: &[Block]) -> Block {
    let mut all = planes[0];
    planes[1..].iter().for_each(|plane| all.or(plane));
    all
}

/// Whether every counter that is 0 in the first two planes is 0 in all.
pub(crate) fn are_counts(counters: &[Block]) -> bool {
    used(counters).has(&or_of(&counters[2..]))
}

/// The counters at their top.
#[inline(always)]
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

/// Adds `other` counter by counter, up to their top.
pub(crate) fn sum(counters: &mut [Block], other: &[Block]) {
    let mut carry = Block::default();
    for i in 0..8 {
        let (a, b) = (counters[0].0[i], other[0].0[i]);
        let (c, d) = (counters[1].0[i], other[1].0[i]);
        // Of the low parts, 0 to 6 as bits s2 s1 s0. From 4 on 3 of them are carried.
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

/// Keeps the lesser of each counter and that of `other`.
pub(crate) fn lesser(counters: &mut [Block], other: &[Block]) {
    // Seen from the top plane on: where they first differ, the one without the bit is the lesser.
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Counter j of a block, and how a block is made of counters.
    fn numbers(counters: &[Block]) -> Vec<u32> {
        let bit = |p: usize, j: usize| u64::from_le(counters[p].0[j / 64]) >> (j % 64) & 1;
        let code = |j: usize| (0..counters.len()).map(|p| (bit(p, j) as u32) << p).sum();
        (0..512).map(|j| count(code(j))).collect()
    }

    fn block<const N: usize>(numbers: &[u32]) -> [Block; N] {
        let mut counters = [Block::default(); N];
        for (j, &number) in numbers.iter().enumerate() {
            let code = if number == 0 { 0 } else { (number - 1) / 3 * 4 + (number - 1) % 3 + 1 };
            for (p, plane) in counters.iter_mut().enumerate() {
                plane.0[j / 64] |= (u64::from(code >> p & 1) << (j % 64)).to_le();
            }
        }
        counters
    }

    fn check<const N: usize>(a: &[u32], b: &[u32], key: &[usize]) {
        let top = top(N as u32);
        let (a, b) = (a.iter().map(|&n| n.min(top)), b.iter().map(|&n| n.min(top)));
        let (a, b): (Vec<_>, Vec<_>) = (a.collect(), b.collect());
        let mut mask = Block::default();
        key.iter().for_each(|&j| mask.0[j / 64] |= (1u64 << (j % 64)).to_le());
        let of_key = |j: usize| key.contains(&j);
        let counters = block::<N>(&a);
        assert_eq!(numbers(&counters), a);
        assert!(are_counts(&counters));
        let mut added = counters;
        add(&mut added, &mask);
        let expected: Vec<_> =
            (0..512).map(|j| if of_key(j) { (a[j] + 1).min(top) } else { a[j] }).collect();
        assert_eq!(numbers(&added), expected);
        let least_of = |n: &[u32]| key.iter().map(|&j| n[j]).min().unwrap();
        for (counters, n) in [(&counters, &a), (&added, &expected)] {
            assert_eq!(least(counters, &mask), least_of(n));
            assert_eq!(has(counters, &mask), least_of(n) > 0);
            let mut taken = *counters;
            assert_eq!(take(&mut taken, &mask), least_of(n) > 0);
            let lowered = |j: usize| match n[j] {
                n if n == top || !of_key(j) || least_of(&expected) == 0 => n,
                n => n - 1,
            };
            match least_of(n) {
                0 => assert_eq!(&taken, counters),
                _ => assert_eq!(numbers(&taken), (0..512).map(lowered).collect::<Vec<_>>()),
            }
        }
        let (mut both, mut less) = (counters, counters);
        sum(&mut both, &block::<N>(&b));
        lesser(&mut less, &block::<N>(&b));
        assert!(are_counts(&added) && are_counts(&both) && are_counts(&less));
        let pairs = || a.iter().zip(&b);
        assert_eq!(numbers(&both), pairs().map(|(a, b)| (a + b).min(top)).collect::<Vec<_>>());
        assert_eq!(numbers(&less), pairs().map(|(a, b)| *a.min(b)).collect::<Vec<_>>());
        assert_eq!(total(&counters), a.iter().map(|&n| u64::from(n)).sum::<u64>());
        let count = |wanted: fn(u32, u32) -> bool| a.iter().filter(|&&n| wanted(n, top)).count();
        assert_eq!(used(&counters).count_ones() as usize, count(|n, _| n > 0));
        assert_eq!(stuck(&counters).count_ones() as usize, count(|n, top| n == top));
    }

    /// Any counters, many of them at both ends.
    fn counters() -> impl Strategy<Value = Vec<u32>> {
        let one = prop_oneof![2 => Just(0), 1 => Just(u32::MAX), 2 => 0..13u32, 1 => 0..193u32, 1 => 0..50_000u32];
        prop::collection::vec(one, 512)
    }

    proptest! {
        #[test]
        fn planes_count(
            a in counters(), b in counters(), key in prop::collection::vec(0..512usize, 1..33),
        ) {
            check::<4>(&a, &b, &key);
            check::<8>(&a, &b, &key);
            check::<16>(&a, &b, &key);
        }
    }
}
