//! The coded filter: a hash table that holds a short code for each key.
//!
//! Bloom stores a code "generated from" each key in cells addressed by pseudorandom walks; the wider the code, the
//! rarer the error. Here cells are grouped in buckets of one cache line. A walk starts at the bucket given by the
//! hash's high half, goes through all cells of a bucket, then to the next bucket, and ends at the first empty cell. The
//! low half gives the code.
//!
//! ```text
//! bucket   | cell 0, c bits | cell 1 | … | cell s − 1 | 512 − s·c zeros |     s = ⌊512/c⌋; a cell of zeros is empty
//! ```
//!
//! Cells of a bucket are used in order, so an empty one ends the bucket, and a bucket whose last cell is used is
//! *full*. Cells are never emptied, because two keys may share one.

mod plan;
mod rate;

use alloc::collections::BTreeMap;
use core::slice;

pub(crate) use plan::Plans;
use rate::{MOST_CHAIN, cells, codes};

use super::plain::{empty, only};
use super::prelude::*;
use crate::bits::packed::{self, Padded};

filter! {
    /// A hash table of short codes (B. H. Bloom 1970, method 1, <https://doi.org/10.1145/362686.362692>): few bits at
    /// low rates, one to three adjacent cache lines per key, but no merging.
    ///
    /// | rate | bits per key | times [`Classic`](crate::Classic) | times [`Blocked`](crate::Blocked) |
    /// |---|---|---|---|
    /// | 1 % | 14.9 | 1.55 | 1.48 |
    /// | 0.1 % | 18.3 | 1.27 | 1.16 |
    /// | 1e-4 | 22.5 | 1.17 | 1.02 |
    /// | 1e-6 | 30.1 | 1.05 | 0.77 |
    ///
    /// Choose it below 1e-6, where [`Blocked`](crate::Blocked) grows fast and [`Classic`](crate::Classic) costs 20 or
    /// more cache lines per key. **Not** at 1 %, where every Bloom kind is smaller and faster, nor if filters are to be
    /// merged: a code does not reveal the home bucket of its key. Nothing can be deleted: keys with equal codes share a
    /// cell. Searching a bucket compares some 40 codes in sequence at 1 %, 17 at 1e-6.
    ///
    /// Codes have 2 to 40 bits, chosen by the rate or by [`Variant::Coded`](crate::Variant::Coded). The table accepts
    /// more keys than planned, at a higher rate, until an insertion fails with [`Full::Cells`]: when 512 buckets from
    /// the key's home on, or all there are, are full of other codes. Up to the planned keys, at most 7/8 of the cells,
    /// the probability of that is below 1e-25 for each bucket.
    ///
    /// # Receipt
    /// One pass over the buckets, two if some are full. The rate is the mean over buckets of the number of different
    /// codes on a walk from there, divided by 2^c − 1. The keys are the x codes stored, plus the estimated number of
    /// keys that found their code stored already: ∫ dx/(1 − f(x)), with f the rate by the formula, at most the present
    /// one.
    ///
    /// ```
    /// use umbel::{Coded, Filter};
    ///
    /// let mut seen = Coded::new(10_000, 1e-6)?;
    /// assert!(seen.plan().bits_per_key() < 31.0);
    /// assert!(seen.try_insert("key")?);
    /// assert!(!seen.try_insert("key")?, "not new any more");
    /// assert!(seen.contains("key") && !seen.contains("other"));
    /// # Ok::<(), umbel::Error>(())
    /// ```
    Coded(CodedCore)
}

/// The core of a [`Coded`] filter.
#[derive(Clone, PartialEq)]
pub(crate) struct CodedCore<S = Blocks> {
    plan: Plan,
    /// Bits of a code.
    width: u32,
    blocks: S,
}

/// Whether a code is in a bucket, and whether the bucket is full.
///
/// Compares every cell, without branches or dependencies between them, in half the time of a loop that stops early and
/// shifts its way through the words.
#[inline]
fn look(bucket: &Block, width: u32, code: u64) -> (bool, bool) {
    let cells = Padded::of(bucket);
    let count = packed::count(width);
    let mut found = false;
    for number in 0..count {
        found |= cells.get(width, number) == code;
    }
    (found, cells.get(width, count - 1) != 0)
}

/// Whether the last cell is used, and so all.
fn is_full(bucket: &Block, width: u32) -> bool {
    packed::cells(bucket, width).last() != Some(0)
}

/// The code of a key, never 0. Part of the format.
#[inline]
fn code_of(hash: KeyHash, width: u32) -> u64 {
    1 + bits::place(hash.low, codes(width))
}

impl<S: AsRef<[Block]>> CodedCore<S> {
    fn prefetch(&self, hashes: &[KeyHash]) {
        let blocks = self.blocks();
        for hash in hashes {
            let home = bits::place(hash.high, blocks.len() as u64);
            bits::prefetch(blocks, home * bits::BLOCK_BITS);
        }
    }

    /// The buckets that a walk from `home` may visit.
    #[inline]
    fn chain(&self, home: usize) -> impl Iterator<Item = &Block> {
        let blocks = self.blocks();
        let longest = (MOST_CHAIN as usize).min(blocks.len());
        blocks[home..].iter().chain(&blocks[..home]).take(longest)
    }

    fn blocks(&self) -> &[Block] {
        self.blocks.as_ref()
    }
}

impl CodedCore<&[Block]> {
    fn check(&self) -> Result<(), FieldError> {
        let (width, spare) = (self.width, u64::from(cells(self.width) * self.width));
        let right = |bucket: &Block| {
            let mut rest = packed::cells(bucket, width).skip_while(|&code| code != 0);
            let behind = (spare..BLOCK_BITS).any(|bit| bits::get(slice::from_ref(bucket), bit));
            !behind && rest.all(|code| code == 0)
        };
        let expected = "zeros after the first empty cell of a bucket and after its last cell";
        check_field("payload", 1, self.blocks.iter().all(right), expected)
    }

    /// Counts the codes on the walks from all buckets.
    ///
    /// A walk ends at the first bucket with room, so the next walk begins with the rest of this one: every bucket
    /// enters and leaves once, or twice if walks wrap around the end.
    fn walks(&self) -> Walks {
        let (width, blocks) = (self.width, self.blocks());
        let longest = (MOST_CHAIN as usize).min(blocks.len());
        let used =
            |at: usize| packed::cells(&blocks[at % blocks.len()], width).take_while(|&c| c != 0);
        let is_full = |at: usize| is_full(&blocks[at % blocks.len()], width);
        let mut walks = Walks { used: 0, full: 0, longest: 1, compared: 0 };
        // How often each code is in the buckets from the home to `end`.
        let (mut met, mut end) = (BTreeMap::<u64, u32>::new(), 0);
        for home in 0..blocks.len() {
            let count = used(home).count() as u64;
            walks.used += count;
            if !is_full(home) {
                walks.compared += count;
                met.clear();
                end = home + 1;
                continue;
            }
            walks.full += 1;
            end = end.max(home);
            while end < home + longest && (end == home || is_full(end - 1)) {
                used(end).for_each(|code| *met.entry(code).or_default() += 1);
                end += 1;
            }
            walks.longest = walks.longest.max((end - home) as u64);
            walks.compared += met.len() as u64;
            for code in used(home) {
                let count = met.get_mut(&code).expect("it was met in its bucket");
                *count -= 1;
                if *count == 0 {
                    met.remove(&code);
                }
            }
        }
        walks
    }

    fn measured(&self, scheme: Scheme) -> Receipt {
        let width = self.width;
        let (blocks, buckets) = (self.blocks(), self.blocks().len() as f64);
        let all = blocks.len() as u64 * u64::from(cells(width));
        let Walks { used, full, longest, compared } = self.walks();
        let compared = compared as f64 / buckets;
        let fpp = (compared / codes(width) as f64).min(1.0);
        let stored = used as f64;
        let keys = if fpp < 1.0 {
            let share = |part: f64| 1.0 - rate::fpp(part * stored / buckets, width).min(fpp);
            let middles = (0..32).map(|part| (f64::from(part) + 0.5) / 32.0);
            let keys = stored / 32.0 * middles.map(|part| 1.0 / share(part)).sum::<f64>();
            let estimate = Estimate::new(keys, (keys - stored).sqrt());
            Estimate { low: estimate.low.max(stored), ..estimate }
        } else {
            // Every key passes, so the upper bound is infinite.
            let (value, low) = (f64::INFINITY, stored);
            Estimate { value, low, high: value, deviation: value }
        };
        let receipt = Receipt::new(self.plan, scheme, (used, all), keys, fpp);
        let facts = vec![
            Fact::count("code_bits", u64::from(width)),
            Fact::count("buckets", blocks.len() as u64),
            Fact::count("full_buckets", full),
            Fact::count("longest_walk", longest),
            Fact::new("codes_compared", Figure::Number(compared)),
        ];
        Receipt { facts, ..receipt }
    }
}

/// Counts over the walks from all buckets.
#[derive(Debug, PartialEq)]
struct Walks {
    /// Codes in the table.
    used: u64,
    /// Buckets without room.
    full: u64,
    /// Buckets of the longest walk.
    longest: u64,
    /// Different codes that a walk meets, summed over all buckets.
    compared: u64,
}

made_empty!(Coded);
try_inserts! {
    Coded,
    /// Inserts a key: true if it was certainly new. A key that may be present already is not stored.
    ///
    /// # Errors
    /// [`Full::Cells`] if there is no cell for it; the filter is unchanged.
}

impl<S: AsRef<[Block]>> Core for CodedCore<S> {
    type Plans = Plans;

    #[inline]
    fn contains(&self, hash: KeyHash) -> bool {
        let code = code_of(hash, self.width);
        for bucket in self.chain(bits::place(hash.high, self.blocks().len() as u64) as usize) {
            match look(bucket, self.width, code) {
                (true, _) => return true,
                (false, false) => return false,
                (false, true) => {}
            }
        }
        false
    }

    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        for (hashes, found) in hashes.chunks(AHEAD).zip(found.chunks_mut(AHEAD)) {
            self.prefetch(hashes);
            for (found, &hash) in found.iter_mut().zip(hashes) {
                *found = self.contains(hash);
            }
        }
    }

    one_part!(CodedCore<T> { plan, width });

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        let plan = header.plan::<Plans>()?;
        let filter = Self { plan, width: Plans::number(plan.variant), blocks: only(parts) };
        filter.borrowed().check()?;
        Ok(filter)
    }
}

impl Owned for CodedCore {
    type Refusal = Full;

    fn make(plan: &Plan) -> Result<Self, PlanError> {
        Ok(Self { plan: *plan, width: Plans::number(plan.variant), blocks: empty(plan)? })
    }

    fn insert(&mut self, hash: KeyHash) -> Result<bool, Full> {
        let (width, blocks) = (self.width, &mut self.blocks[..]);
        let code = code_of(hash, width);
        let count = blocks.len() as u64;
        let mut at = bits::place(hash.high, count) as usize;
        for _ in 0..MOST_CHAIN.min(count) {
            match look(&blocks[at], width, code) {
                (true, _) => return Ok(false),
                (false, true) => at = if at + 1 == blocks.len() { 0 } else { at + 1 },
                (false, false) => {
                    let used = packed::cells(&blocks[at], width).filter(|&code| code != 0).count();
                    packed::set(&mut blocks[at], width, used as u32, code);
                    return Ok(true);
                }
            }
        }
        Err(Full::Cells(self.plan.keys))
    }

    fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Full> {
        new.fill(false);
        for (hashes, new) in hashes.chunks(AHEAD).zip(new.chunks_mut(AHEAD)) {
            self.prefetch(hashes);
            for (new, &hash) in new.iter_mut().zip(hashes) {
                *new = self.insert(hash)?;
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.blocks.as_mut().fill(Block::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::in_miri;

    /// Computes [`CodedCore::walks`] walk by walk.
    fn plain_walks(filter: &CodedCore) -> Walks {
        let (width, blocks) = (filter.width, filter.blocks());
        let codes = |bucket| packed::cells(bucket, width).take_while(|&code| code != 0);
        let mut walks = Walks { used: 0, full: 0, longest: 1, compared: 0 };
        for (home, bucket) in blocks.iter().enumerate() {
            walks.used += codes(bucket).count() as u64;
            walks.full += u64::from(is_full(bucket, width));
            let full = filter.chain(home).take_while(|bucket| is_full(bucket, width)).count();
            let chain: Vec<&Block> = filter.chain(home).take(full + 1).collect();
            walks.longest = walks.longest.max(chain.len() as u64);
            let met: std::collections::HashSet<u64> = chain.into_iter().flat_map(codes).collect();
            walks.compared += met.len() as u64;
        }
        walks
    }

    #[test]
    fn walks_are_counted_as_they_go() {
        // From hardly any full buckets to all; few buckets, for walks around the end and walks cut short.
        for (planned, width) in [(40, 7), (300, 12), (20_000, 9)].into_iter().take(in_miri(1, 3)) {
            let plan =
                Plan::for_keys(Variant::Coded { code_bits: Some(width) }, planned, 0.2).unwrap();
            let mut filter = CodedCore::make(&plan).unwrap();
            let mut keys = 0..2 * planned;
            // Beyond the planned keys, until a key finds no room or every key passes.
            while !keys.is_empty() {
                for key in keys.by_ref().take(planned as usize / 4) {
                    let _ = filter.insert(KeyHasher::default().hash(key));
                }
                assert_eq!(filter.borrowed().walks(), plain_walks(&filter), "{keys:?} to go");
            }
        }
    }

    /// The slowest table: full everywhere, with every walk as long as possible.
    #[test]
    #[cfg_attr(miri, ignore = "two million keys")]
    fn a_table_without_room_is_counted_in_two_passes() {
        let plan = Plan::for_keys(Variant::Coded { code_bits: Some(16) }, 2_000_000, 0.01).unwrap();
        let mut filter = CodedCore::make(&plan).unwrap();
        let per_bucket = u64::from(cells(16));
        for (i, bucket) in filter.blocks.iter_mut().enumerate() {
            for number in 0..per_bucket {
                let code = crate::hash::mix(i as u64 * per_bucket + number) % 0xffff + 1;
                packed::set(bucket, 16, number as u32, code);
            }
        }
        let walks = filter.borrowed().walks();
        assert_eq!((walks.full, walks.longest), (filter.blocks.len() as u64, MOST_CHAIN));
    }
}
