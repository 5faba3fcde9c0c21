//! Keys over blocks of [counters](crate::bits::counters), compiled for each instruction set.

use core::ops::Range;

use super::{AHEAD, Hash, Isa, KeyHash, NEAR, known, mask, place, planes, prefetch, walk};
use crate::bits::Block;
use crate::prelude::*;

/// The planes that show whether a counter is 0. A quarter of insertions touch more.
const LOW: usize = 2;

/// Pending carries, so that about [`AHEAD`] keys are processed meanwhile.
const CARRIES: usize = 8;

/// The kernels of one instruction set for counters of some number of bits.
#[derive(Clone, Copy)]
pub(crate) struct Counters {
    pub(crate) name: &'static str,
    shape: Shape,
    add: unsafe fn(&mut [Block], Shape, &[KeyHash]),
    add_new: unsafe fn(&mut [Block], Shape, &[KeyHash], &mut [bool]),
    take: unsafe fn(&mut [Block], Shape, &[KeyHash], &mut [bool]),
    has: unsafe fn(&[Block], Shape, &[KeyHash], &mut [bool]),
    least: unsafe fn(&[Block], Shape, &[KeyHash], &mut [u32]),
    add_one: unsafe fn(&mut [Block], Shape, KeyHash) -> bool,
    take_one: unsafe fn(&mut [Block], Shape, KeyHash) -> bool,
    has_one: unsafe fn(&[Block], Shape, KeyHash) -> bool,
    least_one: unsafe fn(&[Block], Shape, KeyHash) -> u32,
}

impl core::fmt::Debug for Counters {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

impl Counters {
    /// The best kernels of this processor for counters of `planes` bits, 4, 8 or 16.
    pub(crate) fn detect(planes: u32, probes: u32) -> Self {
        *Self::available(planes, probes).last().expect("plain code runs anywhere")
    }

    /// All kernels that this processor can run, the best one last.
    pub(crate) fn available(planes: u32, probes: u32) -> Vec<Self> {
        let shape = Shape { planes: planes as usize, probes };
        let mut kernels = vec![plain::kernel(shape)];
        kernels.extend(native(shape).into_iter().flatten());
        kernels
    }

    /// Counts keys, in blocks of planes.
    pub(crate) fn add(&self, blocks: &mut [Block], hashes: &[KeyHash]) {
        // SAFETY: `available` gives only kernels whose instruction set the processor reported.
        unsafe { (self.add)(blocks, self.shape, hashes) }
    }

    /// Like [`add`](Self::add), in order; reports which keys were not counted before.
    pub(crate) fn add_new(&self, blocks: &mut [Block], hashes: &[KeyHash], new: &mut [bool]) {
        // SAFETY: as in `add`.
        unsafe { (self.add_new)(blocks, self.shape, hashes, new) }
    }

    /// Removes keys in order; reports which were counted.
    pub(crate) fn take(&self, blocks: &mut [Block], hashes: &[KeyHash], taken: &mut [bool]) {
        // SAFETY: as in `add`.
        unsafe { (self.take)(blocks, self.shape, hashes, taken) }
    }

    /// Whether keys are counted.
    pub(crate) fn has(&self, blocks: &[Block], hashes: &[KeyHash], found: &mut [bool]) {
        // SAFETY: as in `add`.
        unsafe { (self.has)(blocks, self.shape, hashes, found) }
    }

    /// The minimum counter of each key.
    pub(crate) fn least(&self, blocks: &[Block], hashes: &[KeyHash], counts: &mut [u32]) {
        // SAFETY: as in `add`.
        unsafe { (self.least)(blocks, self.shape, hashes, counts) }
    }

    /// Counts one key and returns whether it was not counted before. A batch would prefetch its lines and wait for
    /// them, whereas the processor sees the lines of several calls ahead: 16 ns in place of 100, with 10 million keys.
    #[inline]
    pub(crate) fn add_one(&self, blocks: &mut [Block], hash: KeyHash) -> bool {
        // SAFETY: as in `add`.
        unsafe { (self.add_one)(blocks, self.shape, hash) }
    }

    /// Removes one key and returns whether it was counted.
    #[inline]
    pub(crate) fn take_one(&self, blocks: &mut [Block], hash: KeyHash) -> bool {
        // SAFETY: as in `add`.
        unsafe { (self.take_one)(blocks, self.shape, hash) }
    }

    /// Whether one key is counted.
    #[inline]
    pub(crate) fn has_one(&self, blocks: &[Block], hash: KeyHash) -> bool {
        // SAFETY: as in `add`.
        unsafe { (self.has_one)(blocks, self.shape, hash) }
    }

    /// The minimum counter of one key.
    #[inline]
    pub(crate) fn least_one(&self, blocks: &[Block], hash: KeyHash) -> u32 {
        // SAFETY: as in `add`.
        unsafe { (self.least_one)(blocks, self.shape, hash) }
    }
}

/// The kernels besides the plain ones, where this processor can run them.
#[cfg(target_arch = "x86_64")]
fn native(shape: Shape) -> [Option<Counters>; 2] {
    let has_bmi2 = super::has_feature!("bmi2");
    [
        (has_bmi2 && super::has_feature!("avx2")).then(|| avx2::kernel(shape)),
        (has_bmi2 && super::has_feature!("avx512f")).then(|| avx512::kernel(shape)),
    ]
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
fn native(shape: Shape) -> [Option<Counters>; 1] {
    [super::neon::is_available().then(|| neon::kernel(shape))]
}

#[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
fn native(_: Shape) -> [Option<Counters>; 0] {
    []
}

/// The shape of the counters.
#[derive(Clone, Copy)]
struct Shape {
    /// Bits of a counter: lines of a block. A power of two.
    planes: usize,
    probes: u32,
}

impl Shape {
    /// Itself, with constants in code compiled for given planes and probes; 0 means any.
    #[inline(always)]
    fn of<const PLANES: usize, const PROBES: u32>(self) -> Self {
        Self {
            planes: if PLANES == 0 { self.planes } else { PLANES },
            probes: known::<PROBES>(self.probes),
        }
    }

    /// Blocks of counters.
    #[inline(always)]
    fn count(&self, lines: &[Block]) -> u64 {
        (lines.len() >> self.planes.trailing_zeros()) as u64
    }

    /// The first line of a key's block, of `blocks`.
    #[inline(always)]
    fn first(&self, hash: KeyHash, blocks: u64) -> usize {
        place(hash.high, blocks) as usize * self.planes
    }

    /// The lines of a key's block.
    #[inline(always)]
    fn lines_of(&self, lines: &[Block], hash: KeyHash) -> Range<usize> {
        let first = self.first(hash, self.count(lines));
        first..first + self.planes
    }
}

// No closures, as in the module above.

/// [`walk!`] over blocks of counters, with the `$lines` of each block; prefetches the first `$ask` of them.
macro_rules! walk_counters {
    ($all:expr, $shape:expr, $hashes:expr, $ask:expr, |$i:ident, $lines:ident, $mask:ident| $each:expr) => {
        let (start, shape): (*const Block, Shape) = ($all.as_ptr(), $shape);
        let blocks = shape.count(&$all);
        walk!(
            $hashes,
            AHEAD,
            $all.len() as u64 <= NEAR,
            |hash| shape.first(hash, blocks),
            |asked| {
                for line in 0..$ask {
                    prefetch(start.wrapping_add(asked + line));
                }
            },
            |$i, first, low| {
                let $lines = first..first + shape.planes;
                // SAFETY: promised by the caller.
                unsafe {
                    let $mask = mask::<I>(low, shape.probes);
                    $each
                }
            }
        );
    };
}

/// # Safety
/// Requires the instruction set of `I`; so for all functions below.
#[inline(always)]
unsafe fn add<I: Isa>(all: &mut [Block], shape: Shape, hashes: &[KeyHash]) {
    // A carry waits for its line while others are added.
    let mut carries: [(Range<usize>, Block); CARRIES] = Default::default();
    let mut carried = 0;
    walk_counters!(all, shape, hashes, LOW, |_i, lines, mask| {
        let carry = planes::add_low::<I>(&mut all[lines.clone()], mask);
        if !I::is_zero(carry) {
            prefetch(&all[lines.start + LOW]);
            let (waiting, line) = &mut carries[carried % CARRIES];
            if carried >= CARRIES {
                planes::carry_high::<I>(&mut all[waiting.clone()], I::load(line));
            }
            *waiting = lines;
            I::store(line, carry);
            carried += 1;
        }
    });
    for (lines, carry) in &carries[..carried.min(CARRIES)] {
        // SAFETY: promised by the caller.
        unsafe { planes::carry_high::<I>(&mut all[lines.clone()], I::load(carry)) };
    }
}

#[inline(always)]
unsafe fn add_new<I: Isa>(all: &mut [Block], shape: Shape, hashes: &[KeyHash], new: &mut [bool]) {
    walk_counters!(all, shape, hashes, LOW, |i, lines, mask| {
        let block = &mut all[lines];
        new[i] = !planes::has::<I>(block, mask);
        planes::add::<I>(block, mask);
    });
}

#[inline(always)]
unsafe fn take<I: Isa>(all: &mut [Block], shape: Shape, hashes: &[KeyHash], taken: &mut [bool]) {
    walk_counters!(all, shape, hashes, shape.planes, |i, lines, mask| {
        taken[i] = planes::take::<I>(&mut all[lines], mask);
    });
}

#[inline(always)]
unsafe fn has<I: Isa>(all: &[Block], shape: Shape, hashes: &[KeyHash], found: &mut [bool]) {
    walk_counters!(all, shape, hashes, LOW, |i, lines, mask| {
        found[i] = planes::has::<I>(&all[lines], mask);
    });
}

#[inline(always)]
unsafe fn least<I: Isa>(all: &[Block], shape: Shape, hashes: &[KeyHash], counts: &mut [u32]) {
    walk_counters!(all, shape, hashes, shape.planes, |i, lines, mask| {
        counts[i] = planes::least::<I>(&all[lines], mask);
    });
}

#[inline(always)]
unsafe fn add_one<I: Isa>(all: &mut [Block], shape: Shape, hash: KeyHash) -> bool {
    let lines = shape.lines_of(all, hash);
    let block = &mut all[lines];
    // SAFETY: promised by the caller.
    unsafe {
        let mask = mask::<I>(hash.low, shape.probes);
        let new = !planes::has::<I>(block, mask);
        planes::add_alone::<I>(block, mask);
        new
    }
}

#[inline(always)]
unsafe fn take_one<I: Isa>(all: &mut [Block], shape: Shape, hash: KeyHash) -> bool {
    let lines = shape.lines_of(all, hash);
    // SAFETY: promised by the caller.
    unsafe { planes::take::<I>(&mut all[lines], mask::<I>(hash.low, shape.probes)) }
}

#[inline(always)]
unsafe fn has_one<I: Isa>(all: &[Block], shape: Shape, hash: KeyHash) -> bool {
    // SAFETY: promised by the caller.
    unsafe { planes::has::<I>(&all[shape.lines_of(all, hash)], mask::<I>(hash.low, shape.probes)) }
}

#[inline(always)]
unsafe fn least_one<I: Isa>(all: &[Block], shape: Shape, hash: KeyHash) -> u32 {
    // SAFETY: promised by the caller.
    unsafe {
        planes::least::<I>(&all[shape.lines_of(all, hash)], mask::<I>(hash.low, shape.probes))
    }
}

/// Makes `kernel(shape)`, the loops compiled for one instruction set.
macro_rules! kernels {
    ($isa:ident, $name:expr, [$($planes:literal),*] $(, $feature:literal)?) => {
        use super::{Block, Counters, KeyHash, Shape};

        pub(super) fn kernel(shape: Shape) -> Counters {
            match (shape.planes, shape.probes) {
                $(($planes, 8) => kernel_of::<$planes, 8>(shape),)*
                _ => kernel_of::<0, 0>(shape),
            }
        }

        fn kernel_of<const PLANES: usize, const PROBES: u32>(shape: Shape) -> Counters {
            Counters {
                name: $name,
                shape,
                add: add::<PLANES, PROBES>,
                add_new: add_new::<PLANES, PROBES>,
                take: take::<PLANES, PROBES>,
                has: has::<PLANES, PROBES>,
                least: least::<PLANES, PROBES>,
                add_one: add_one::<PLANES, PROBES>,
                take_one: take_one::<PLANES, PROBES>,
                has_one: has_one::<PLANES, PROBES>,
                least_one: least_one::<PLANES, PROBES>,
            }
        }

        $(#[target_feature(enable = $feature)])?
        fn add<const PLANES: usize, const PROBES: u32>(all: &mut [Block], shape: Shape, hashes: &[KeyHash]) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::add::<$isa>(all, shape.of::<PLANES, PROBES>(), hashes) }
        }

        $(#[target_feature(enable = $feature)])?
        fn add_new<const PLANES: usize, const PROBES: u32>(all: &mut [Block], shape: Shape, hashes: &[KeyHash], new: &mut [bool]) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::add_new::<$isa>(all, shape.of::<PLANES, PROBES>(), hashes, new) }
        }

        $(#[target_feature(enable = $feature)])?
        fn take<const PLANES: usize, const PROBES: u32>(all: &mut [Block], shape: Shape, hashes: &[KeyHash], taken: &mut [bool]) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::take::<$isa>(all, shape.of::<PLANES, PROBES>(), hashes, taken) }
        }

        $(#[target_feature(enable = $feature)])?
        fn has<const PLANES: usize, const PROBES: u32>(all: &[Block], shape: Shape, hashes: &[KeyHash], found: &mut [bool]) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::has::<$isa>(all, shape.of::<PLANES, PROBES>(), hashes, found) }
        }

        $(#[target_feature(enable = $feature)])?
        fn least<const PLANES: usize, const PROBES: u32>(all: &[Block], shape: Shape, hashes: &[KeyHash], counts: &mut [u32]) {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::least::<$isa>(all, shape.of::<PLANES, PROBES>(), hashes, counts) }
        }

        $(#[target_feature(enable = $feature)])?
        fn add_one<const PLANES: usize, const PROBES: u32>(all: &mut [Block], shape: Shape, hash: KeyHash) -> bool {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::add_one::<$isa>(all, shape.of::<PLANES, PROBES>(), hash) }
        }

        $(#[target_feature(enable = $feature)])?
        fn take_one<const PLANES: usize, const PROBES: u32>(all: &mut [Block], shape: Shape, hash: KeyHash) -> bool {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::take_one::<$isa>(all, shape.of::<PLANES, PROBES>(), hash) }
        }

        $(#[target_feature(enable = $feature)])?
        fn has_one<const PLANES: usize, const PROBES: u32>(all: &[Block], shape: Shape, hash: KeyHash) -> bool {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::has_one::<$isa>(all, shape.of::<PLANES, PROBES>(), hash) }
        }

        $(#[target_feature(enable = $feature)])?
        fn least_one<const PLANES: usize, const PROBES: u32>(all: &[Block], shape: Shape, hash: KeyHash) -> u32 {
            // SAFETY: this function has the features that the instruction set needs.
            unsafe { super::least_one::<$isa>(all, shape.of::<PLANES, PROBES>(), hash) }
        }
    };
}

mod plain {
    use crate::bits::arch::scalar::{NAME, Scalar};

    kernels!(Scalar, NAME, []);
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use crate::bits::arch::x86::avx2::Avx2;

    kernels!(Avx2, "avx2", [4, 8], "avx2,bmi2");
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use crate::bits::arch::x86::avx512::Avx512;

    kernels!(Avx512, "avx512", [4, 8], "avx512f,bmi2");
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon {
    use crate::bits::arch::neon::Neon;

    kernels!(Neon, "neon", [4, 8], "neon");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern;
    use super::*;
    use crate::bits::{Blocks, counters};

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
            probes in 1u32..=32,
            blocks in prop_oneof![1u64..6, 1020u64..1030],
            keys in prop::collection::vec((0..200u64, any::<bool>()), 0..300),
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
