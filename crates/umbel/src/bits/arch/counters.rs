//! Keys of a counting filter: blocks of [counters](crate::bits::counters), in planes.

use core::ops::Range;

use super::batch::{Each, One, Places, each};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::inline;
use super::isa::Isa;
use super::kernel::Kernel;
use super::{Block, planes, prefetch};
use crate::hash::KeyHash;
use crate::prelude::*;

/// The planes that show whether a counter is 0. A quarter of insertions touch more.
const LOW: usize = 2;

/// Pending carries: each waits while some 30 keys are processed.
const CARRIES: usize = 8;

/// How a filter counts its keys, chosen once per filter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Counters {
    kernel: Kernel,
    /// Bits of a counter: lines of a block. A power of two.
    planes: usize,
}

impl Counters {
    /// The best kernel of this processor for counters of `planes` bits, 4, 8 or 16.
    pub(crate) fn detect(planes: u32, probes: u32) -> Self {
        Self { kernel: Kernel::detect(probes), planes: planes as usize }
    }

    /// All kernels that this processor can run, the best one first.
    #[cfg(test)]
    pub(crate) fn available(planes: u32, probes: u32) -> impl Iterator<Item = Self> {
        Kernel::available(probes).map(move |kernel| Self { kernel, planes: planes as usize })
    }

    #[inline(always)]
    fn one<E: Each>(&self, each: E, hash: KeyHash) -> E::Answer {
        match self.planes {
            4 => {
                let lines = Places::<4>::of(each.blocks(), 4).lines(hash);
                self.kernel.run(One::<_, 4> { each, lines, low: hash.low })
            }
            size => {
                let lines = Places::<0>::of(each.blocks(), size).lines(hash);
                self.kernel.run(One::<_, 0> { each, lines, low: hash.low })
            }
        }
    }

    /// Counts keys, in blocks of planes.
    pub(crate) fn add(&self, all: &mut [Block], hashes: &[KeyHash]) {
        let each = Add { all, carries: Default::default(), carried: 0 };
        self.kernel.each_group(self.planes, each, hashes, &mut vec![(); hashes.len()]);
    }

    /// Like [`add`](Self::add), in order; reports which keys were not counted before.
    pub(crate) fn add_new(&self, all: &mut [Block], hashes: &[KeyHash], answers: &mut [bool]) {
        self.kernel.each_group(self.planes, AddNew(all), hashes, answers);
    }

    /// Removes keys in order; reports which were counted.
    pub(crate) fn take(&self, all: &mut [Block], hashes: &[KeyHash], answers: &mut [bool]) {
        self.kernel.each_group(self.planes, Take(all), hashes, answers);
    }

    /// Whether keys are counted.
    pub(crate) fn has(&self, all: &[Block], hashes: &[KeyHash], answers: &mut [bool]) {
        self.kernel.each_group(self.planes, Has(all), hashes, answers);
    }

    /// The minimum counter of each key.
    pub(crate) fn least(&self, all: &[Block], hashes: &[KeyHash], answers: &mut [u32]) {
        self.kernel.each_group(self.planes, Least(all), hashes, answers);
    }

    /// Counts one key and returns whether it was not counted before. A batch would prefetch its lines and wait for
    /// them, whereas the processor looks several calls ahead: 16 ns instead of 100, with 10 million keys.
    #[inline(always)]
    pub(crate) fn add_one(&self, all: &mut [Block], hash: KeyHash) -> bool {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let (Kernel::Avx512Eight(_), 4) = (self.kernel, self.planes) {
            let lines = Places::<4>::of(all, 4).lines(hash);
            // SAFETY: the processor has AVX-512; these are four lines, borrowed for writing.
            return unsafe { inline::add_avx512(all[lines].as_mut_ptr().cast(), hash.low) };
        }
        self.add_by_call(all, hash)
    }

    #[inline(never)]
    fn add_by_call(&self, all: &mut [Block], hash: KeyHash) -> bool {
        self.one(AddNew(all), hash)
    }

    /// Removes one key and returns whether it was counted.
    pub(crate) fn take_one(&self, all: &mut [Block], hash: KeyHash) -> bool {
        self.one(Take(all), hash)
    }

    /// Whether one key is counted.
    #[inline(always)]
    pub(crate) fn has_one(&self, all: &[Block], hash: KeyHash) -> bool {
        match self.kernel {
            // SAFETY: the processor has AVX-512; these are four lines or more, borrowed for reading.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Kernel::Avx512Eight(_) => unsafe {
                inline::has_avx512(self.words(all, hash), hash.low)
            },
            // SAFETY: as above, with AVX2.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Kernel::Avx2Eight(_) => unsafe { inline::has_avx2(self.words(all, hash), hash.low) },
            _ => self.has_by_call(all, hash),
        }
    }

    /// The words of a key's lines.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline(always)]
    fn words(&self, all: &[Block], hash: KeyHash) -> *const u64 {
        // A shift, as planes are a power of two: a division would take as long as all the rest.
        let total = all.len() as u64 >> self.planes.trailing_zeros();
        let places = Places::<0> { first: 0, total, size: self.planes };
        all[places.lines(hash)].as_ptr().cast()
    }

    #[inline(never)]
    fn has_by_call(&self, all: &[Block], hash: KeyHash) -> bool {
        self.one(Has(all), hash)
    }

    /// The minimum counter of one key.
    pub(crate) fn least_one(&self, all: &[Block], hash: KeyHash) -> u32 {
        self.one(Least(all), hash)
    }
}

/// Keys to be counted. A carry waits for its line while other keys are added.
struct Add<'a> {
    all: &'a mut [Block],
    carries: [(Range<usize>, Block); CARRIES],
    carried: usize,
}

impl Each for Add<'_> {
    type Answer = ();

    #[inline(always)]
    fn blocks(&self) -> &[Block] {
        self.all
    }

    #[inline(always)]
    fn asked(&self, _: usize) -> (usize, usize) {
        (0, LOW)
    }

    #[inline(always)]
    fn each<I: Isa>(&mut self, isa: I, lines: Range<usize>, low: u64) {
        let carry = planes::add_low(isa, &mut self.all[lines.clone()], isa.mask(low));
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
    }

    #[inline(always)]
    fn end<I: Isa>(&mut self, isa: I) {
        for (lines, carry) in &self.carries[..self.carried.min(CARRIES)] {
            planes::carry_high(isa, &mut self.all[lines.clone()], isa.load(carry));
        }
    }
}

each! {
    /// Keys to be counted, reporting which were not counted before.
    AddNew<mut> -> bool,
    |_| LOW,
    |isa, all, lines, low| {
        let (planes, mask) = (&mut all[lines], isa.mask(low));
        let new = !planes::has(isa, planes, mask);
        planes::add(isa, planes, mask);
        new
    }
}

each! {
    /// Keys to be removed.
    Take<mut> -> bool,
    |planes| planes,
    |isa, all, lines, low| planes::take(isa, &mut all[lines], isa.mask(low))
}

each! {
    /// Keys to be looked up.
    Has -> bool,
    |_| LOW,
    |isa, all, lines, low| planes::has(isa, &all[lines], isa.mask(low))
}

each! {
    /// Keys whose minimum counter is requested.
    Least -> u32,
    |planes| planes,
    |isa, all, lines, low| planes::least(isa, &all[lines], isa.mask(low))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern;
    use super::*;
    use crate::bits::{Blocks, counters, in_miri, place, tests::probes};

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
                Counters::available(planes, probes).last().unwrap().add(&mut expected, &all);
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
