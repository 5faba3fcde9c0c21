//! Keys of a counting filter: blocks of [counters](crate::bits::counters), in planes.

use core::ops::Range;

use super::batch::{Batch, Each, One, lines_ahead};
#[cfg(target_arch = "x86_64")]
use super::inline::{self, Inline};
use super::isa::Isa;
use super::kernel::known;
use super::set::Set;
use super::{Block, planes, prefetch};
use crate::bits::place;
use crate::hash::KeyHash;
use crate::prelude::*;

/// The planes that show whether a counter is 0. A quarter of insertions touch more.
const LOW: usize = 2;

/// Pending carries: each waits while some 30 keys are processed.
const CARRIES: usize = 8;

/// How a filter counts its keys: an instruction set and the shape of the counters, chosen once per filter.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Counters {
    set: Set,
    shape: Shape<0, 0>,
    /// How single keys are counted without a call.
    #[cfg(target_arch = "x86_64")]
    inlined: Inline,
}

/// Runs work with the shape's planes and probes as constants for the usual numbers.
macro_rules! run {
    ($counters:expr, $shape:ident => $work:expr) => {{
        let Counters { set, shape, .. } = *$counters;
        match (shape.planes, shape.probes) {
            (4, 8) => {
                let $shape = shape.known::<4, 8>();
                set.run($work)
            }
            _ => {
                let $shape = shape;
                set.run($work)
            }
        }
    }};
}

impl Counters {
    /// The best kernels of this processor for counters of `planes` bits, 4, 8 or 16.
    pub(crate) fn detect(planes: u32, probes: u32) -> Self {
        Self::of(Set::detect(), Shape { planes: planes as usize, probes })
    }

    /// All kernels that this processor can run, the best one last.
    #[cfg(test)]
    pub(crate) fn available(planes: u32, probes: u32) -> Vec<Self> {
        let shape = Shape { planes: planes as usize, probes };
        Set::available().into_iter().map(|set| Self::of(set, shape)).collect()
    }

    fn of(set: Set, shape: Shape<0, 0>) -> Self {
        Self {
            set,
            shape,
            #[cfg(target_arch = "x86_64")]
            inlined: Inline::of(set, shape.probes),
        }
    }

    /// Counts keys, in blocks of planes.
    pub(crate) fn add(&self, all: &mut [Block], hashes: &[KeyHash]) {
        let answers = &mut vec![(); hashes.len()][..];
        run!(self, shape => Batch { hashes, each: Add::new(all, shape), answers });
    }

    /// Like [`add`](Self::add), in order; reports which keys were not counted before.
    pub(crate) fn add_new(&self, all: &mut [Block], hashes: &[KeyHash], answers: &mut [bool]) {
        run!(self, shape => Batch { hashes, each: AddNew { all, shape }, answers });
    }

    /// Removes keys in order; reports which were counted.
    pub(crate) fn take(&self, all: &mut [Block], hashes: &[KeyHash], answers: &mut [bool]) {
        run!(self, shape => Batch { hashes, each: Take { all, shape }, answers });
    }

    /// Whether keys are counted.
    pub(crate) fn has(&self, all: &[Block], hashes: &[KeyHash], answers: &mut [bool]) {
        run!(self, shape => Batch { hashes, each: Has { all, shape }, answers });
    }

    /// The minimum counter of each key.
    pub(crate) fn least(&self, all: &[Block], hashes: &[KeyHash], answers: &mut [u32]) {
        run!(self, shape => Batch { hashes, each: Least { all, shape }, answers });
    }

    /// Counts one key and returns whether it was not counted before. A batch would prefetch its lines and wait for
    /// them, whereas the processor looks several calls ahead: 16 ns instead of 100, with 10 million keys.
    #[inline(always)]
    pub(crate) fn add_one(&self, all: &mut [Block], hash: KeyHash) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.inlined == Inline::Avx512 && self.shape.planes == 4 {
            let lines = self.shape.known::<4, 8>().lines(all, hash);
            let lines = &mut all[lines];
            // SAFETY: `Inline::of` chooses what the processor has; these are four lines, borrowed for writing.
            return unsafe { inline::add_avx512(lines.as_mut_ptr().cast(), hash.low) };
        }
        self.add_by_call(all, hash)
    }

    #[inline(never)]
    fn add_by_call(&self, all: &mut [Block], hash: KeyHash) -> bool {
        run!(self, shape => One(AddNew { all, shape }, hash))
    }

    /// Removes one key and returns whether it was counted.
    pub(crate) fn take_one(&self, all: &mut [Block], hash: KeyHash) -> bool {
        run!(self, shape => One(Take { all, shape }, hash))
    }

    /// Whether one key is counted.
    #[inline(always)]
    pub(crate) fn has_one(&self, all: &[Block], hash: KeyHash) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.inlined != Inline::No {
            let lines = &all[self.shape.lines(all, hash)];
            // SAFETY: these are four lines or more, borrowed for reading.
            return unsafe { self.inlined.has(lines.as_ptr().cast(), hash.low) };
        }
        self.has_by_call(all, hash)
    }

    #[inline(never)]
    fn has_by_call(&self, all: &[Block], hash: KeyHash) -> bool {
        run!(self, shape => One(Has { all, shape }, hash))
    }

    /// The minimum counter of one key.
    pub(crate) fn least_one(&self, all: &[Block], hash: KeyHash) -> u32 {
        run!(self, shape => One(Least { all, shape }, hash))
    }
}

impl core::fmt::Debug for Counters {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.set.fmt(f)
    }
}

/// The shape of the counters. `PLANES` and `PROBES` are constants for the usual numbers, else 0.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape<const PLANES: usize, const PROBES: u32> {
    /// Bits of a counter: lines of a block. A power of two.
    planes: usize,
    probes: u32,
}

impl Shape<0, 0> {
    fn known<const PLANES: usize, const PROBES: u32>(self) -> Shape<PLANES, PROBES> {
        Shape { planes: self.planes, probes: self.probes }
    }
}

impl<const PLANES: usize, const PROBES: u32> Shape<PLANES, PROBES> {
    #[inline(always)]
    fn planes(&self) -> usize {
        if PLANES == 0 { self.planes } else { PLANES }
    }

    #[inline(always)]
    fn mask<I: Isa>(&self, isa: I, hash: KeyHash) -> I::Line {
        isa.mask(hash.low, known::<PROBES>(self.probes))
    }

    /// The lines of a key's block.
    #[inline(always)]
    fn lines(&self, all: &[Block], hash: KeyHash) -> Range<usize> {
        let blocks = (all.len() >> self.planes().trailing_zeros()) as u64;
        let first = place(hash.high, blocks) as usize * self.planes();
        first..first + self.planes()
    }

    /// Prefetches the first `count` lines of a key's block.
    #[inline(always)]
    fn ask(&self, all: &[Block], hash: KeyHash, count: usize) {
        let first = all.as_ptr().wrapping_add(self.lines(all, hash).start);
        for line in 0..count {
            prefetch(first.wrapping_add(line));
        }
    }
}

/// What all types below share: the `$asked` lines that they need of a key, and what they do with them.
macro_rules! each {
    ($name:ident, $answer:ty, |$self:ident| $asked:expr, |$isa:ident, $hash:ident| $each:expr $(, $end:item)?) => {
        impl<const PLANES: usize, const PROBES: u32> Each for $name<'_, PLANES, PROBES> {
            type Answer = $answer;

            #[inline(always)]
            fn ahead(&self) -> Option<usize> {
                lines_ahead(self.all.len() as u64).map(|lines| lines / LOW)
            }

            #[inline(always)]
            fn ask(&$self, hash: KeyHash) {
                $self.shape.ask($self.all, hash, $asked);
            }

            #[inline(always)]
            fn each<I: Isa>(&mut $self, $isa: I, $hash: KeyHash) -> $answer {
                $each
            }

            $($end)?
        }
    };
}

/// Keys to be counted. A carry waits for its line while other keys are added.
struct Add<'a, const PLANES: usize, const PROBES: u32> {
    all: &'a mut [Block],
    shape: Shape<PLANES, PROBES>,
    carries: [(Range<usize>, Block); CARRIES],
    carried: usize,
}

impl<'a, const PLANES: usize, const PROBES: u32> Add<'a, PLANES, PROBES> {
    fn new(all: &'a mut [Block], shape: Shape<PLANES, PROBES>) -> Self {
        Self { all, shape, carries: Default::default(), carried: 0 }
    }
}

each!(
    Add,
    (),
    |self| LOW,
    |isa, hash| {
        let lines = self.shape.lines(self.all, hash);
        let mask = self.shape.mask(isa, hash);
        let carry = planes::add_low(isa, &mut self.all[lines.clone()], mask);
        if !isa.is_zero(carry) {
            prefetch(&self.all[lines.start + LOW]);
            let (waiting, line) = &mut self.carries[self.carried % CARRIES];
            if self.carried >= CARRIES {
                planes::carry_high(isa, &mut self.all[waiting.clone()], isa.load(line));
            }
            *waiting = lines;
            isa.store(line, carry);
            self.carried += 1;
        }
    },
    #[inline(always)]
    fn end<I: Isa>(&mut self, isa: I) {
        for (lines, carry) in &self.carries[..self.carried.min(CARRIES)] {
            planes::carry_high(isa, &mut self.all[lines.clone()], isa.load(carry));
        }
    }
);

/// Keys to be counted, reporting which were not counted before.
struct AddNew<'a, const PLANES: usize, const PROBES: u32> {
    all: &'a mut [Block],
    shape: Shape<PLANES, PROBES>,
}

each!(AddNew, bool, |self| LOW, |isa, hash| {
    let (lines, mask) = (self.shape.lines(self.all, hash), self.shape.mask(isa, hash));
    let block = &mut self.all[lines];
    let new = !planes::has(isa, block, mask);
    planes::add(isa, block, mask);
    new
});

/// Keys to be removed.
struct Take<'a, const PLANES: usize, const PROBES: u32> {
    all: &'a mut [Block],
    shape: Shape<PLANES, PROBES>,
}

each!(Take, bool, |self| self.shape.planes(), |isa, hash| {
    let (lines, mask) = (self.shape.lines(self.all, hash), self.shape.mask(isa, hash));
    planes::take(isa, &mut self.all[lines], mask)
});

/// Keys to be looked up.
struct Has<'a, const PLANES: usize, const PROBES: u32> {
    all: &'a [Block],
    shape: Shape<PLANES, PROBES>,
}

each!(Has, bool, |self| LOW, |isa, hash| {
    let (lines, mask) = (self.shape.lines(self.all, hash), self.shape.mask(isa, hash));
    planes::has(isa, &self.all[lines], mask)
});

/// Keys whose minimum counter is requested.
struct Least<'a, const PLANES: usize, const PROBES: u32> {
    all: &'a [Block],
    shape: Shape<PLANES, PROBES>,
}

each!(Least, u32, |self| self.shape.planes(), |isa, hash| {
    let (lines, mask) = (self.shape.lines(self.all, hash), self.shape.mask(isa, hash));
    planes::least(isa, &self.all[lines], mask)
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern;
    use super::*;
    use crate::bits::{Blocks, counters, in_miri, tests::probes};

    /// Counters, one by one.
    struct Model {
        counters: Vec<u32>,
        probes: u32,
        top: u32,
    }

    impl Model {
        fn positions(&self, hash: KeyHash) -> Vec<usize> {
            let block = place(hash.high, self.counters.len() as u64 / 512) as usize;
            let mask = pattern::mask(hash.low, self.probes).0.map(u64::from_le);
            let set = |j: &usize| mask[j / 64] >> (j % 64) & 1 == 1;
            (0..512).filter(set).map(|j| 512 * block + j).collect()
        }

        fn least(&self, hash: KeyHash) -> u32 {
            self.positions(hash).into_iter().map(|j| self.counters[j]).min().unwrap()
        }

        fn add(&mut self, hash: KeyHash) -> bool {
            let new = self.least(hash) == 0;
            for j in self.positions(hash) {
                self.counters[j] = (self.counters[j] + 1).min(self.top);
            }
            new
        }

        fn take(&mut self, hash: KeyHash) -> bool {
            let there = self.least(hash) > 0;
            for j in self.positions(hash) {
                if there && self.counters[j] < self.top {
                    self.counters[j] -= 1;
                }
            }
            there
        }
    }

    proptest! {
        #[test]
        fn every_kernel_counts_as_the_model(
            planes in prop_oneof![Just(4u32), Just(8), Just(16)],
            probes in probes(),
            blocks in prop_oneof![1u64..6, 1020u64..1030],
            keys in prop::collection::vec((0..200u64, any::<bool>()), 0..in_miri(12, 300)),
        ) {
            let hash = |key: u64| {
                KeyHash { high: crate::hash::mix(key), low: crate::hash::mix(!key) }
            };
            for kernel in Counters::available(planes, probes) {
                let mut model = Model { counters: vec![0; 512 * blocks as usize], probes, top: counters::top(planes) };
                let zeroed = || Blocks::zeroed(blocks * u64::from(planes)).unwrap();
                let mut some = zeroed();
                let all: Vec<_> = keys.iter().map(|&(key, _)| hash(key)).collect();
                for (hash, &(_, add)) in all.iter().zip(&keys) {
                    if add {
                        prop_assert_eq!(kernel.add_one(&mut some, *hash), model.add(*hash));
                    } else {
                        prop_assert_eq!(kernel.take_one(&mut some, *hash), model.take(*hash));
                    }
                    prop_assert_eq!(kernel.has_one(&some, *hash), model.least(*hash) > 0);
                    prop_assert_eq!(kernel.least_one(&some, *hash), model.least(*hash));
                }
                let (mut found, mut counts) = (vec![false; all.len()], vec![0; all.len()]);
                kernel.has(&some, &all, &mut found);
                kernel.least(&some, &all, &mut counts);
                for (i, hash) in all.iter().enumerate() {
                    prop_assert_eq!((found[i], counts[i]), (model.least(*hash) > 0, model.least(*hash)));
                }
                // Many together.
                kernel.add(&mut some, &all);
                let new: Vec<_> = all.iter().map(|hash| model.add(*hash)).collect();
                let (mut again, mut expected) = (zeroed(), zeroed());
                kernel.add_new(&mut again, &all, &mut found);
                Counters::available(planes, probes)[0].add(&mut expected, &all);
                prop_assert!(again[..] == expected[..]);
                prop_assert!(keys.iter().any(|key| key.1) || found == new);
                kernel.least(&some, &all, &mut counts);
                prop_assert!(all.iter().zip(&counts).all(|(hash, count)| model.least(*hash) == *count));
                kernel.take(&mut some, &all, &mut found);
                let taken: Vec<_> = all.iter().map(|hash| model.take(*hash)).collect();
                prop_assert_eq!(&found, &taken);
                kernel.least(&some, &all, &mut counts);
                prop_assert!(all.iter().zip(&counts).all(|(hash, count)| model.least(*hash) == *count));
            }
        }
    }
}
