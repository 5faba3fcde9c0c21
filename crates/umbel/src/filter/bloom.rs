//! What the plain Bloom filters share: bits that are only ever set, until cleared.

use std::fmt;
use std::io::{Read, Write};
use std::marker::PhantomData;

use super::{AnyFilter, FileLayout, Receipt, delegate};
use crate::bits::{self, Block, Blocks, Hash, Kernel};
use crate::hash::{KeyHash, KeyHasher, Scheme, Secret};
use crate::math::Coverage;
use crate::plan::{Kind, Plan};
use crate::{Error, format};

/// Where the probes of a hash fall among the bits. Implemented by the kinds; not for others.
pub trait Layout: sealed::Sealed + Copy + fmt::Debug + Send + Sync + 'static {
    /// The kind that lays its bits out so.
    const KIND: Kind;
    /// What sizes count in messages.
    #[doc(hidden)]
    const UNIT: &'static str;
    /// Units that a fold divides.
    #[doc(hidden)]
    fn units(plan: &Plan) -> u64;
    #[doc(hidden)]
    fn insert(blocks: &mut [Block], plan: &Plan, kernel: &Kernel, hash: KeyHash) -> bool;
    #[doc(hidden)]
    fn contains(blocks: &[Block], plan: &Plan, kernel: &Kernel, hash: KeyHash) -> bool;
    #[doc(hidden)]
    fn insert_batch<H: Hash>(blocks: &mut [Block], plan: &Plan, kernel: &Kernel, hashes: &[H]);
    #[doc(hidden)]
    fn insert_batch_new(
        blocks: &mut [Block],
        plan: &Plan,
        kernel: &Kernel,
        hashes: &[KeyHash],
        new: &mut [bool],
    );
    #[doc(hidden)]
    fn contains_batch<H: Hash>(
        blocks: &[Block],
        plan: &Plan,
        kernel: &Kernel,
        hashes: &[H],
        found: &mut [bool],
    );
    /// Brings every bit to where it would be in a filter `divisor` times smaller.
    #[doc(hidden)]
    fn fold(blocks: &mut Blocks, plan: &Plan, divisor: u64) -> Result<(), Error>;
    /// Mean over keys never inserted of the chance to pass, given these bits.
    #[doc(hidden)]
    fn fpp(blocks: &[Block], plan: &Plan) -> f64;
    /// What a key leaves clear.
    #[doc(hidden)]
    fn coverage(plan: &Plan) -> Coverage;
}

pub(super) mod sealed {
    pub trait Sealed {}
}

/// A plain Bloom filter: `insert` sets the key's bits, `contains` asks whether all are set.
///
/// Use it through its kinds, [`Blocked`](super::Blocked), [`Classic`](super::Classic) and
/// [`Sliced`](super::Sliced). `S` is where the blocks live: [`Blocks`] to own them, `&[Block]` to borrow them from a mapped file.
///
/// A key that was inserted is always found: bits are never cleared but by [`clear`](Self::clear)
/// and [`intersect`](Self::intersect), and the latter keeps the keys that both filters hold.
#[derive(Clone)]
pub struct Bloom<L: Layout, S = Blocks> {
    plan: Plan,
    hasher: KeyHasher,
    kernel: Kernel,
    blocks: S,
    layout: PhantomData<L>,
}

impl<L: Layout> Bloom<L> {
    /// An empty filter of the plan's size.
    ///
    /// Where others choose the keys, take [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// [`Error::PlanKind`] for a plan of another kind, [`Error::OutOfMemory`], and what is wrong
    /// with a plan made by hand.
    pub fn new(plan: &Plan, hasher: KeyHasher) -> Result<Self, Error> {
        plan.check(L::KIND)?;
        Ok(Self {
            plan: *plan,
            hasher,
            kernel: Kernel::detect(plan.probes),
            blocks: Blocks::zeroed(plan.bytes() / bits::BLOCK_BYTES)?,
            layout: PhantomData,
        })
    }

    /// Makes the filter `divisor` times smaller; it still finds every key, at a higher rate.
    ///
    /// Equal, bit for bit, to a filter of the smaller size filled with the same keys. The planned
    /// keys are divided likewise.
    ///
    /// # Errors
    /// [`Error::SizesDiffer`] when `divisor` does not divide the size.
    pub fn fold(&mut self, divisor: u64) -> Result<(), Error> {
        let size = L::units(&self.plan);
        if divisor == 0 || !size.is_multiple_of(divisor) {
            return Err(Error::SizesDiffer { left: size, right: divisor, unit: L::UNIT });
        }
        if divisor > 1 {
            L::fold(&mut self.blocks, &self.plan, divisor)?;
            self.plan.bits /= divisor;
            self.plan.keys = (self.plan.keys / divisor).max(1);
        }
        Ok(())
    }

    /// Adds all keys of `other`: the result equals a filter into which both sets were inserted.
    ///
    /// When sizes differ the larger one is folded to the smaller. The planned keys and rate are the
    /// larger of both.
    ///
    /// # Errors
    /// Names what differs: scheme, probes, or sizes of which neither divides the other. On an error
    /// `self` is unchanged.
    pub fn union(&mut self, other: &Bloom<L, impl AsRef<[Block]>>) -> Result<(), Error> {
        self.combine(other, Block::or)
    }

    /// Keeps the keys that both filters hold, and no more than both let pass.
    ///
    /// Its rate is at most that of the worse input, and above that of a filter made afresh from
    /// the common keys. When sizes differ the larger one is folded to the smaller.
    ///
    /// # Errors
    /// As [`union`](Self::union).
    pub fn intersect(&mut self, other: &Bloom<L, impl AsRef<[Block]>>) -> Result<(), Error> {
        self.combine(other, Block::and)
    }

    fn combine(
        &mut self,
        other: &Bloom<L, impl AsRef<[Block]>>,
        join: fn(&mut Block, &Block),
    ) -> Result<(), Error> {
        let (left, right) = self.fits(other)?;
        let folded;
        let (plan, others) = if right > left {
            folded = other.folded(right / left)?;
            (&folded.plan, &folded.blocks[..])
        } else {
            self.fold(left / right)?;
            (&other.plan, other.blocks.as_ref())
        };
        for (block, other) in self.blocks.iter_mut().zip(others) {
            join(block, other);
        }
        self.plan.keys = self.plan.keys.max(plan.keys);
        self.plan.fpp = self.plan.fpp.max(plan.fpp);
        Ok(())
    }

    /// Reads a filter of this kind from `source`, `length` bytes in all, checking every byte.
    ///
    /// # Errors
    /// As [`AnyFilter::read`]; [`Error::PlanKind`] when the file holds another kind.
    pub fn read(source: impl Read, length: u64, secret: Option<&Secret>) -> Result<Self, Error>
    where
        Self: TryFrom<AnyFilter, Error = Error>,
    {
        AnyFilter::read(source, length, secret)?.try_into()
    }

    pub(super) fn into_parts(self) -> (Plan, KeyHasher, Blocks) {
        (self.plan, self.hasher, self.blocks)
    }

    pub(super) fn parts_mut(&mut self) -> (&mut [Block], Kernel) {
        (&mut self.blocks, self.kernel)
    }
}

impl<L: Layout, S: AsMut<[Block]>> Bloom<L, S> {
    /// Inserts a key; true when it was certainly new, false when it may have been there before.
    #[inline]
    pub fn insert(&mut self, key: impl AsRef<[u8]>) -> bool {
        self.insert_hash(self.hasher.hash(key))
    }

    /// Inserts an integer key, hashed as its 8 little-endian bytes. As [`insert`](Self::insert).
    #[inline]
    pub fn insert_u64(&mut self, key: u64) -> bool {
        self.insert_hash(self.hasher.hash_u64(key))
    }

    /// Inserts a key by its hash, made under this filter's scheme. As [`insert`](Self::insert).
    #[inline]
    pub fn insert_hash(&mut self, hash: KeyHash) -> bool {
        L::insert(self.blocks.as_mut(), &self.plan, &self.kernel, hash)
    }

    /// Inserts many keys by their hashes.
    pub fn insert_batch(&mut self, hashes: &[KeyHash]) {
        L::insert_batch(self.blocks.as_mut(), &self.plan, &self.kernel, hashes);
    }

    /// Inserts many keys by their hashes, one after the other: `new[i]` becomes what
    /// [`insert_hash`](Self::insert_hash) tells of `hashes[i]`.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn insert_batch_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) {
        assert_eq!(hashes.len(), new.len(), "one answer for each hash");
        L::insert_batch_new(self.blocks.as_mut(), &self.plan, &self.kernel, hashes, new);
    }

    /// Inserts many keys by 64-bit hashes made elsewhere, each as [`KeyHash::from_u64`] takes it.
    pub fn insert_hashes(&mut self, hashes: &[u64]) {
        L::insert_batch(self.blocks.as_mut(), &self.plan, &self.kernel, hashes);
    }

    /// Inserts many keys, hashed a few at a time: [`insert`](Self::insert) at the speed of memory.
    pub fn insert_keys<K: AsRef<[u8]>>(&mut self, keys: &[K]) {
        for keys in keys.chunks(HASHED_AT_ONCE) {
            let hashes = hash_all(keys, |key| self.hasher.hash(key));
            self.insert_batch(&hashes[..keys.len()]);
        }
    }

    /// Inserts many integer keys. As [`insert_keys`](Self::insert_keys).
    pub fn insert_u64s(&mut self, keys: &[u64]) {
        for keys in keys.chunks(HASHED_AT_ONCE) {
            let hashes = hash_all(keys, |&key| self.hasher.hash_u64(key));
            self.insert_batch(&hashes[..keys.len()]);
        }
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.blocks.as_mut().fill(Block::default());
    }
}

/// Checks that a key takes the same probes in two filters.
pub(super) fn probe_alike(
    (left_hasher, left_plan): (&KeyHasher, &Plan),
    (right_hasher, right_plan): (&KeyHasher, &Plan),
) -> Result<(), Error> {
    let [left, right] = [left_hasher.scheme(), right_hasher.scheme()];
    if left != right {
        return Err(Error::SchemesDiffer { left, right });
    }
    let [left, right] = [left_plan.probes, right_plan.probes];
    if left != right {
        return Err(Error::ProbesDiffer { left, right });
    }
    Ok(())
}

/// Checks that the larger of two sizes folds to the other.
pub(super) fn fold_alike(left: u64, right: u64, unit: &'static str) -> Result<(), Error> {
    if !left.is_multiple_of(right) && !right.is_multiple_of(left) {
        return Err(Error::SizesDiffer { left, right, unit });
    }
    Ok(())
}

impl<L: Layout, S: AsRef<[Block]>> Bloom<L, S> {
    /// Whether the key may have been inserted: false is certain, true errs with the filter's rate.
    #[inline]
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// Whether an integer key may have been inserted. As [`contains`](Self::contains).
    #[inline]
    pub fn contains_u64(&self, key: u64) -> bool {
        self.contains_hash(self.hasher.hash_u64(key))
    }

    /// Whether a key may have been inserted, by its hash under this filter's scheme.
    #[inline]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        L::contains(self.blocks.as_ref(), &self.plan, &self.kernel, hash)
    }

    /// Asks for many keys: `found[i]` becomes the answer for `hashes[i]`.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn contains_batch(&self, hashes: &[KeyHash], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len(), "one answer for each hash");
        L::contains_batch(self.blocks.as_ref(), &self.plan, &self.kernel, hashes, found);
    }

    /// Asks for many keys: `found[i]` becomes the answer for `keys[i]`.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn contains_keys<K: AsRef<[u8]>>(&self, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        for (keys, found) in keys.chunks(HASHED_AT_ONCE).zip(found.chunks_mut(HASHED_AT_ONCE)) {
            let hashes = hash_all(keys, |key| self.hasher.hash(key));
            self.contains_batch(&hashes[..keys.len()], found);
        }
    }

    /// Asks for many keys by 64-bit hashes made elsewhere, each as [`KeyHash::from_u64`] takes it.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len(), "one answer for each hash");
        L::contains_batch(self.blocks.as_ref(), &self.plan, &self.kernel, hashes, found);
    }

    /// Asks for many integer keys. As [`contains_keys`](Self::contains_keys).
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn contains_u64s(&self, keys: &[u64], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        for (keys, found) in keys.chunks(HASHED_AT_ONCE).zip(found.chunks_mut(HASHED_AT_ONCE)) {
            let hashes = hash_all(keys, |&key| self.hasher.hash_u64(key));
            self.contains_batch(&hashes[..keys.len()], found);
        }
    }

    pub(super) fn blocks(&self) -> &[Block] {
        self.blocks.as_ref()
    }

    /// What the filter was planned for; after folds and merges, what its present size is for.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How it hashes keys.
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// What the filter really delivers now, from its own bits. One pass over them.
    pub fn receipt(&self) -> Receipt {
        let blocks = self.blocks.as_ref();
        let set_bits = bits::count_ones(blocks);
        let keys = L::coverage(&self.plan).keys((self.plan.bits - set_bits) as f64);
        let fpp = L::fpp(blocks, &self.plan);
        Receipt::new(self.plan, self.hasher.scheme(), (set_bits, self.plan.bits), keys, fpp)
    }

    /// Checks that the bits of both mean the same: scheme, probes, and a size that folds to the other; gives the sizes.
    pub(super) fn fits(&self, other: &Bloom<L, impl AsRef<[Block]>>) -> Result<(u64, u64), Error> {
        probe_alike((&self.hasher, &self.plan), (&other.hasher, &other.plan))?;
        let (left, right) = (L::units(&self.plan), L::units(&other.plan));
        fold_alike(left, right, L::UNIT)?;
        Ok((left, right))
    }

    /// A copy, `divisor` times smaller.
    pub(super) fn folded(&self, divisor: u64) -> Result<Bloom<L>, Error> {
        let mut copy = self.to_owned()?;
        copy.fold(divisor)?;
        Ok(copy)
    }

    /// Borrows the same bits.
    pub fn view(&self) -> Bloom<L, &[Block]> {
        self.with(self.blocks.as_ref())
    }

    /// A copy that owns its bits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<Bloom<L>, Error> {
        Ok(self.with(Blocks::copy_of(self.blocks.as_ref())?))
    }

    fn with<T>(&self, blocks: T) -> Bloom<L, T> {
        let Self { plan, hasher, kernel, .. } = *self;
        Bloom { plan, hasher, kernel, blocks, layout: PhantomData }
    }

    /// Writes the filter as an umbel file, front to back, without seeking.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: impl Write) -> Result<(), Error> {
        let mut writer = format::Writer::new(out, &header(&self.plan, self.hasher.scheme()))?;
        writer.write(bytemuck::cast_slice(self.blocks.as_ref()))?;
        writer.finish()
    }

    pub(crate) fn from_parts(plan: Plan, hasher: KeyHasher, blocks: S) -> Result<Self, Error> {
        plan.check(L::KIND)?;
        let clear_from = plan.bits;
        let found = blocks.as_ref();
        debug_assert_eq!(found.len() as u64, plan.bits.div_ceil(bits::BLOCK_BITS));
        if (clear_from..found.len() as u64 * bits::BLOCK_BITS)
            .any(|position| bits::get(found, position))
        {
            return Err(Error::Field {
                field: "payload",
                found: 1,
                expected: "zeros after the last bit of the filter",
            });
        }
        Ok(Self { plan, hasher, kernel: Kernel::detect(plan.probes), blocks, layout: PhantomData })
    }
}

/// The header of a filter of one of these kinds: bits, then probes.
pub(super) fn header(plan: &Plan, scheme: Scheme) -> format::Header {
    let body = format::Body::default().u64(plan.bits).u32(plan.probes);
    format::Header::new(plan, scheme, &body, plan.bytes())
}

/// What such a header tells.
pub(super) fn file_layout(header: &format::Header) -> Result<FileLayout, Error> {
    let mut fields = header.fields();
    let plan = Plan {
        kind: header.kind()?,
        keys: header.planned_keys(),
        fpp: header.planned_fpp(),
        bits: fields.u64()?,
        probes: fields.u32()?,
        detail: 0,
    };
    fields.end()?;
    plan.check(plan.kind)?;
    Ok(FileLayout { plan, parts: vec![plan.bytes()] })
}

/// Hashes made before their filter is asked: 8 KiB, a quarter of the first-level cache.
const HASHED_AT_ONCE: usize = 512;

/// The hashes of at most [`HASHED_AT_ONCE`] keys.
#[inline]
fn hash_all<K>(keys: &[K], hash: impl Fn(&K) -> KeyHash) -> [KeyHash; HASHED_AT_ONCE] {
    let mut hashes = [KeyHash::default(); HASHED_AT_ONCE];
    for (to, key) in hashes.iter_mut().zip(keys) {
        *to = hash(key);
    }
    hashes
}

delegate::filter!([L: Layout, S: AsRef<[Block]>] Bloom<L, S>);

delegate::insert!(
    /// Never an error: these filters take any number of keys, at a rate that then grows.
    [L: Layout, S: AsRef<[Block]> + AsMut<[Block]>] Bloom<L, S>
);

impl<L: Layout, S: AsRef<[Block]>> fmt::Debug for Bloom<L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bloom")
            .field("plan", &self.plan)
            .field("scheme", &self.hasher.scheme())
            .finish_non_exhaustive()
    }
}

/// Equal when they are for the same plan and scheme and have the same bits.
impl<L: Layout, S: AsRef<[Block]>, T: AsRef<[Block]>> PartialEq<Bloom<L, T>> for Bloom<L, S> {
    fn eq(&self, other: &Bloom<L, T>) -> bool {
        self.plan == other.plan
            && self.hasher.scheme() == other.hasher.scheme()
            && self.blocks.as_ref() == other.blocks.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blocked, Classic};

    fn huge<L: Layout>(bits: u64, probes: u32) -> Bloom<L> {
        let plan = Plan { kind: L::KIND, keys: 1 << 30, fpp: 0.01, bits, probes, detail: 0 };
        let blocks = Blocks::sparse(plan.bytes() / bits::BLOCK_BYTES);
        Bloom::from_parts(plan, KeyHasher::default(), blocks).unwrap()
    }

    /// Filters of 2^33 and 2^36 bits, of which only what is touched takes memory: keys reach every region, the first
    /// and last blocks included, and are found there; each touches its own block.
    #[test]
    fn every_region_of_a_huge_filter_is_addressed() {
        for bits in [(1 << 33) + 512, (1 << 36) + (3 << 20)] {
            let mut filter: Blocked = huge(bits, 8);
            const REGIONS: u64 = 512;
            let step = u64::MAX / REGIONS;
            let hash = |i: u64| KeyHash { high: i * step, low: i * 0x0123_4567_89ab };
            let hashes: Vec<KeyHash> = (0..=REGIONS).map(hash).collect();
            assert!(hashes.iter().all(|hash| filter.insert_hash(*hash)), "no two share a block");
            assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)));
            let blocks = bits / 512;
            for hash in &hashes {
                let block = (u128::from(hash.high) * u128::from(blocks)) >> 64;
                let set = filter.blocks[block as usize].count_ones();
                assert_eq!(set, 8, "block {block} of {blocks}");
            }
        }
        for bits in [(1u64 << 33) + 77, (1 << 36) + 1001] {
            let mut filter: Classic = huge(bits, 7);
            for key in 0..500u64 {
                assert!(filter.insert_u64(key) && filter.contains_u64(key));
            }
            assert!(!(500..1000).any(|key| filter.contains_u64(key)), "3,500 of so many bits");
        }
    }
}
