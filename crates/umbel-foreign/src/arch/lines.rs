//! Kernels for other systems' blocked filters, whose bits are in the bytes of a file: Parquet's split blocks and
//! RocksDB's FastLocalBloom. Those systems define the results; each kernel's scalar twin is the definition here.
//!
//! The loops have no closures: code inside a closure is not compiled for the instruction set of the function around it,
//! and every intrinsic would become a call.

use umbel::internals::prefetch;

/// Keys between prefetching a line and using it, as in umbel's own blocks.
const AHEAD: usize = 32;
/// Arrays of up to this many bytes are not prefetched: they fit in the second-level cache.
const NEAR: usize = 256 << 10;

/// The positions of a key's bits in a kind of block.
pub(crate) trait Pattern {
    /// Bytes of a block.
    const SIZE: usize;

    /// The block of a key, among `blocks`, fewer than 2³².
    fn place(hash: u64, blocks: u64) -> usize;

    /// Whether all bits of a key are set in its block of [`SIZE`](Self::SIZE) bytes.
    ///
    /// # Safety
    /// Requires the instruction set that the type is named after; so for all functions below.
    unsafe fn contains(block: &[u8], hash: u64, probes: u32) -> bool;

    /// Sets all bits of a key in its block; true if one was clear.
    ///
    /// # Safety
    /// As for `contains`.
    unsafe fn insert(block: &mut [u8], hash: u64, probes: u32) -> bool;
}

/// The kernels of one pattern and instruction set.
#[derive(Clone, Copy)]
pub(crate) struct LineKernel {
    name: &'static str,
    size: usize,
    place: fn(u64, u64) -> usize,
    contains: unsafe fn(&[u8], u64, u32) -> bool,
    insert: unsafe fn(&mut [u8], u64, u32) -> bool,
    contains_all: unsafe fn(&[u8], &[u64], u32, &mut [bool]),
    insert_all: unsafe fn(&mut [u8], &[u64], u32),
}

impl std::fmt::Debug for LineKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl LineKernel {
    /// The best kernels of this processor for Parquet's split blocks of 32 bytes; probes are always 8.
    pub(crate) fn split_blocks() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            return avx2::kernel::<avx2::Split>("avx2");
        }
        scalar::kernel::<scalar::Split>("scalar")
    }

    /// The best kernels of this processor for FastLocalBloom's lines of 64 bytes; probes are 1 to 32.
    pub(crate) fn fast_local() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            return avx2::kernel::<avx2::Local>("avx2");
        }
        scalar::kernel::<scalar::Local>("scalar")
    }

    /// Whether a key may be in `array`, whose length is a multiple of the block's and not 0; so for all functions
    /// below.
    #[inline]
    pub(crate) fn contains(&self, array: &[u8], hash: u64, probes: u32) -> bool {
        // SAFETY: a kernel is made only where the processor reports its instruction set.
        unsafe { (self.contains)(array, hash, probes) }
    }

    /// Prefetches the cache lines of a key's block.
    #[inline]
    pub(crate) fn prefetch(&self, array: &[u8], hash: u64) {
        let first = (self.place)(hash, (array.len() / self.size) as u64) * self.size;
        prefetch(array.as_ptr().wrapping_add(first));
        prefetch(array.as_ptr().wrapping_add(first + self.size - 1));
    }

    /// Sets the bits of a key; true if one was clear.
    #[inline]
    pub(crate) fn insert(&self, array: &mut [u8], hash: u64, probes: u32) -> bool {
        // SAFETY: as in `contains`.
        unsafe { (self.insert)(array, hash, probes) }
    }

    /// Looks up many keys, with overlapping cache misses.
    ///
    /// # Panics
    /// If the slices of hashes and answers differ in length.
    pub(crate) fn contains_all(
        &self,
        array: &[u8],
        hashes: &[u64],
        probes: u32,
        found: &mut [bool],
    ) {
        assert_eq!(hashes.len(), found.len(), "one answer for each hash");
        // SAFETY: as in `contains`.
        unsafe { (self.contains_all)(array, hashes, probes, found) }
    }

    /// Inserts many keys, with overlapping cache misses.
    pub(crate) fn insert_all(&self, array: &mut [u8], hashes: &[u64], probes: u32) {
        // SAFETY: as in `contains`.
        unsafe { (self.insert_all)(array, hashes, probes) }
    }
}

/// Runs `$each` with the index of each hash, the first byte of its block, and the hash, with its line prefetched
/// [`AHEAD`] turns before. A file's array may begin at any address: blocks may then span two lines, and both are
/// prefetched.
macro_rules! walk {
    ($pattern:ident, $array:expr, $hashes:expr, |$i:ident, $first:ident, $hash:ident| $each:expr) => {
        let (start, blocks) = ($array.as_ptr(), ($array.len() / $pattern::SIZE) as u64);
        let last = match start.addr().is_multiple_of($pattern::SIZE) {
            true => 0,
            false => $pattern::SIZE - 1,
        };
        if $array.len() <= NEAR {
            for ($i, &$hash) in $hashes.iter().enumerate() {
                let $first = $pattern::place($hash, blocks) * $pattern::SIZE;
                $each
            }
            return;
        }
        let mut firsts = [0usize; AHEAD];
        for (slot, &hash) in firsts.iter_mut().zip($hashes) {
            *slot = $pattern::place(hash, blocks) * $pattern::SIZE;
            prefetch(start.wrapping_add(*slot));
            prefetch(start.wrapping_add(*slot + last));
        }
        for ($i, &$hash) in $hashes.iter().enumerate() {
            let slot = &mut firsts[$i % AHEAD];
            let $first = *slot;
            if let Some(&ahead) = $hashes.get($i + AHEAD) {
                *slot = $pattern::place(ahead, blocks) * $pattern::SIZE;
                prefetch(start.wrapping_add(*slot));
                prefetch(start.wrapping_add(*slot + last));
            }
            $each
        }
    };
}

#[inline(always)]
unsafe fn contains_all<P: Pattern>(array: &[u8], hashes: &[u64], probes: u32, found: &mut [bool]) {
    let found = &mut found[..hashes.len()];
    walk!(P, array, hashes, |i, first, hash| {
        // SAFETY: promised by the caller.
        found[i] = unsafe { P::contains(&array[first..first + P::SIZE], hash, probes) };
    });
}

#[inline(always)]
unsafe fn insert_all<P: Pattern>(array: &mut [u8], hashes: &[u64], probes: u32) {
    walk!(P, array, hashes, |_i, first, hash| {
        // SAFETY: promised by the caller.
        unsafe { P::insert(&mut array[first..first + P::SIZE], hash, probes) };
    });
}

/// The kernels over any pattern, compiled for one instruction set.
macro_rules! kernels {
    ($(#[$feature:meta])?) => {
        pub(super) fn kernel<P: Pattern>(name: &'static str) -> LineKernel {
            LineKernel {
                name,
                size: P::SIZE,
                place: P::place,
                contains: contains::<P>,
                insert: insert::<P>,
                contains_all: contains_all::<P>,
                insert_all: insert_all::<P>,
            }
        }

        $(#[$feature])?
        fn contains<P: Pattern>(array: &[u8], hash: u64, probes: u32) -> bool {
            let first = P::place(hash, (array.len() / P::SIZE) as u64) * P::SIZE;
            // SAFETY: this function has the features that the pattern needs.
            unsafe { P::contains(&array[first..first + P::SIZE], hash, probes) }
        }

        $(#[$feature])?
        fn insert<P: Pattern>(array: &mut [u8], hash: u64, probes: u32) -> bool {
            let first = P::place(hash, (array.len() / P::SIZE) as u64) * P::SIZE;
            // SAFETY: this function has the features that the pattern needs.
            unsafe { P::insert(&mut array[first..first + P::SIZE], hash, probes) }
        }

        $(#[$feature])?
        fn contains_all<P: Pattern>(array: &[u8], hashes: &[u64], probes: u32, found: &mut [bool]) {
            // SAFETY: this function has the features that the pattern needs.
            unsafe { super::contains_all::<P>(array, hashes, probes, found) }
        }

        $(#[$feature])?
        fn insert_all<P: Pattern>(array: &mut [u8], hashes: &[u64], probes: u32) {
            // SAFETY: this function has the features that the pattern needs.
            unsafe { super::insert_all::<P>(array, hashes, probes) }
        }
    };
}

/// The multiplier for the bit in word i of a split block.
pub(crate) const SALT: [u32; 8] = [
    0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
];

/// The multiplier from one probe of FastLocalBloom to the next.
const STEP: u32 = 0x9e37_79b9;

/// Plain code, safe on any processor, and the definition of the patterns.
mod scalar {
    use super::*;

    kernels!();

    pub(super) struct Split;

    #[inline(always)]
    fn word(block: &[u8], i: usize) -> u32 {
        u32::from_le_bytes(block[4 * i..][..4].try_into().expect("4 bytes"))
    }

    impl Pattern for Split {
        const SIZE: usize = 32;

        #[inline(always)]
        fn place(hash: u64, blocks: u64) -> usize {
            (((hash >> 32) * blocks) >> 32) as usize
        }

        #[inline(always)]
        unsafe fn contains(block: &[u8], hash: u64, _: u32) -> bool {
            let mut all = 1;
            for (i, salt) in SALT.iter().enumerate() {
                all &= word(block, i) >> ((hash as u32).wrapping_mul(*salt) >> 27);
            }
            all & 1 == 1
        }

        #[inline(always)]
        unsafe fn insert(block: &mut [u8], hash: u64, _: u32) -> bool {
            let mut all = 1;
            for (i, salt) in SALT.iter().enumerate() {
                let bit = (hash as u32).wrapping_mul(*salt) >> 27;
                let old = word(block, i);
                all &= old >> bit;
                block[4 * i..][..4].copy_from_slice(&(old | 1 << bit).to_le_bytes());
            }
            all & 1 == 0
        }
    }

    pub(super) struct Local;

    impl Pattern for Local {
        const SIZE: usize = 64;

        #[inline(always)]
        fn place(hash: u64, blocks: u64) -> usize {
            ((u64::from(hash as u32) * blocks) >> 32) as usize
        }

        #[inline(always)]
        unsafe fn contains(line: &[u8], hash: u64, probes: u32) -> bool {
            let (mut all, mut word) = (1, (hash >> 32) as u32);
            for _ in 0..probes {
                let bit = word >> 23;
                all &= line[(bit / 8) as usize] >> (bit % 8);
                word = word.wrapping_mul(STEP);
            }
            all & 1 == 1
        }

        #[inline(always)]
        unsafe fn insert(line: &mut [u8], hash: u64, probes: u32) -> bool {
            let (mut all, mut word) = (1, (hash >> 32) as u32);
            for _ in 0..probes {
                let bit = word >> 23;
                let byte = &mut line[(bit / 8) as usize];
                all &= *byte >> (bit % 8);
                *byte |= 1 << (bit % 8);
                word = word.wrapping_mul(STEP);
            }
            all & 1 == 0
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::*;

    kernels!(#[target_feature(enable = "avx2")]);

    pub(super) struct Split;

    impl Split {
        #[inline(always)]
        unsafe fn mask(hash: u64) -> __m256i {
            // SAFETY: AVX2, promised by the caller; the salts are 32 bytes.
            unsafe {
                let salt = _mm256_loadu_si256(SALT.as_ptr().cast());
                let product = _mm256_mullo_epi32(_mm256_set1_epi32(hash as i32), salt);
                _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32::<27>(product))
            }
        }
    }

    impl Pattern for Split {
        const SIZE: usize = scalar::Split::SIZE;

        #[inline(always)]
        fn place(hash: u64, blocks: u64) -> usize {
            scalar::Split::place(hash, blocks)
        }

        #[inline(always)]
        unsafe fn contains(block: &[u8], hash: u64, _: u32) -> bool {
            let block: &[u8; 32] = block.try_into().expect("a block");
            // SAFETY: AVX2, promised by the caller; a block is 32 bytes, at any address.
            unsafe {
                let words = _mm256_loadu_si256(block.as_ptr().cast());
                _mm256_testc_si256(words, Self::mask(hash)) == 1
            }
        }

        #[inline(always)]
        unsafe fn insert(block: &mut [u8], hash: u64, _: u32) -> bool {
            let block: &mut [u8; 32] = block.try_into().expect("a block");
            // SAFETY: as in `contains`, borrowed for writing.
            unsafe {
                let (start, mask): (*mut __m256i, _) =
                    (block.as_mut_ptr().cast(), Self::mask(hash));
                let words = _mm256_loadu_si256(start);
                _mm256_storeu_si256(start, _mm256_or_si256(words, mask));
                _mm256_testc_si256(words, mask) == 0
            }
        }
    }

    pub(super) struct Local;

    /// STEP to the powers 0 to 7.
    const POWERS: [u32; 8] = {
        let (mut powers, mut i) = ([1u32; 8], 1);
        while i < 8 {
            powers[i] = powers[i - 1].wrapping_mul(STEP);
            i += 1;
        }
        powers
    };

    /// From 8 − n on, n lanes of ones and the others of zeros.
    const FIRST: [[u32; 8]; 2] = [[u32::MAX; 8], [0; 8]];

    impl Pattern for Local {
        const SIZE: usize = scalar::Local::SIZE;

        #[inline(always)]
        fn place(hash: u64, blocks: u64) -> usize {
            scalar::Local::place(hash, blocks)
        }

        /// Eight probes at a time. Of the nine bits of a probe, the upper four select a 32-bit word among sixteen:
        /// three of them select one in each half, and the topmost, the sign, selects between the halves.
        #[inline(always)]
        unsafe fn contains(line: &[u8], hash: u64, probes: u32) -> bool {
            let line: &[u8; 64] = line.try_into().expect("a line");
            // SAFETY: AVX2, promised by the caller; a line is twice 32 bytes, at any address. Both tables
            // are read inside: at 0, and at 8 − 1 to 8 − 8.
            unsafe {
                let half: *const __m256i = line.as_ptr().cast();
                let halves = (_mm256_loadu_si256(half), _mm256_loadu_si256(half.add(1)));
                let powers = _mm256_loadu_si256(POWERS.as_ptr().cast());
                let mut first = (hash >> 32) as u32;
                let mut left = probes;
                loop {
                    let probe = _mm256_mullo_epi32(_mm256_set1_epi32(first as i32), powers);
                    let index = _mm256_srli_epi32::<28>(probe);
                    let low = _mm256_permutevar8x32_epi32(halves.0, index);
                    let high = _mm256_permutevar8x32_epi32(halves.1, index);
                    let word = _mm256_castps_si256(_mm256_blendv_ps(
                        _mm256_castsi256_ps(low),
                        _mm256_castsi256_ps(high),
                        _mm256_castsi256_ps(probe),
                    ));
                    let bit = _mm256_srli_epi32::<27>(_mm256_slli_epi32::<4>(probe));
                    let mask = _mm256_sllv_epi32(_mm256_set1_epi32(1), bit);
                    if left > 8 {
                        if _mm256_testc_si256(word, mask) == 0 {
                            return false;
                        }
                        left -= 8;
                        first = first.wrapping_mul(POWERS[7]).wrapping_mul(STEP);
                        continue;
                    }
                    let lanes = &FIRST.as_flattened()[8 - left as usize..];
                    let lanes = _mm256_loadu_si256(lanes.as_ptr().cast());
                    return _mm256_testc_si256(word, _mm256_and_si256(mask, lanes)) == 1;
                }
            }
        }

        /// Bits are set one by one: AVX2 has no scattered store of words.
        #[inline(always)]
        unsafe fn insert(line: &mut [u8], hash: u64, probes: u32) -> bool {
            // SAFETY: plain code needs no instruction set.
            unsafe { scalar::Local::insert(line, hash, probes) }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every kernel of one pattern, the definition first.
    fn kernels(split: bool) -> [LineKernel; 2] {
        match split {
            true => [scalar::kernel::<scalar::Split>("scalar"), LineKernel::split_blocks()],
            false => [scalar::kernel::<scalar::Local>("scalar"), LineKernel::fast_local()],
        }
    }

    proptest! {
        /// At any address, near and far, with any number of keys: bit for bit.
        #[test]
        fn every_kernel_equals_the_scalar_definition(
            seed: u64, split: bool, probes in 1u32..=32, start in 0usize..70,
            blocks in prop_oneof![1usize..40, 8190usize..8194], count in 0usize..200,
        ) {
            let hashes: Vec<u64> = (0..count as u64).map(|i| crate::hash::mix(seed ^ (i << 20))).collect();
            let size = if split { 32 } else { 64 };
            let mut expected = vec![0; blocks * size];
            let [definition, best] = kernels(split);
            let new: Vec<bool> = hashes.iter().map(|&hash| definition.insert(&mut expected, hash, probes)).collect();
            // Each key, and a variant of it that is mostly absent.
            let asked: Vec<u64> = hashes.iter().flat_map(|&hash| [hash, hash ^ 1 << 33 ^ 1]).collect();
            let answers: Vec<bool> = asked.iter().map(|&hash| definition.contains(&expected, hash, probes)).collect();
            for kernel in [definition, best] {
                let mut memory = vec![0; start + expected.len()];
                let array = &mut memory[start..];
                let news: Vec<bool> = hashes.iter().map(|&hash| kernel.insert(array, hash, probes)).collect();
                prop_assert!(news == new && *array == expected, "{kernel:?}");
                array.fill(0);
                kernel.insert_all(array, &hashes, probes);
                prop_assert!(*array == expected, "{kernel:?}");
                let mut found = vec![false; asked.len()];
                kernel.contains_all(array, &asked, probes, &mut found);
                prop_assert_eq!(&found, &answers, "{:?}", kernel);
                for (hash, answer) in asked.iter().zip(&answers) {
                    prop_assert_eq!(kernel.contains(array, *hash, probes), *answer);
                }
            }
        }
    }
}
