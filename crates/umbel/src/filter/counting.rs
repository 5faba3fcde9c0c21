//! The counting filter: a counter in place of each bit, so that keys can be taken out again (L. Fan,
//! P. Cao, J. Almeida, A. Z. Broder 2000, section V-C, <https://doi.org/10.1109/90.851975>).
//!
//! The paper counts over a classic filter. Here the counters are laid over a blocked one: the same block
//! for a key, the same positions in it, the same probes and sizes, so that dropping the counts gives the
//! blocked filter of the keys that are in, bit for bit. `bits::counters` tells how a block of counters
//! lies in its cache lines. A key whose probes meet counts a position once, as it sets a bit once.

use std::fmt;
use std::io::{Read, Write};

use super::bloom::{Layout, fold_alike, probe_alike};
use super::{
    AnyFilter, Blocked, BlockedLayout, Fact, Figure, FileLayout, Receipt, Remove, delegate,
};
use crate::bits::{BLOCK_BITS, BLOCK_BYTES, Block, Blocks, Counters, counters};
use crate::hash::{KeyHash, KeyHasher, Secret};
use crate::math::blocked;
use crate::plan::{Kind, Plan};
use crate::{Error, format};

/// A filter that keys can be taken out of again, with counters of 4, 8 or 16 bits in place of bits.
///
/// For sets that change: the objects of a cache, sessions, a block list under edit. Ship what
/// [`to_blocked`](Self::to_blocked) gives: a plain filter of a quarter of the size (with 4 bits a
/// counter), bit for bit the one made from the keys that are in now, which merges with others.
///
/// # Taking out
/// [`remove`](Self::remove) refuses a key that is certainly not there. One that was never inserted but
/// passes by error cannot be told from a member: removing it lowers counters of other keys, which may
/// then be answered "absent". So remove only keys that were inserted, as often as they were inserted;
/// then no key that is in is ever absent. A key inserted twice counts twice.
///
/// A counter that reached its top (12, 192 or 49,152) *sticks*: what it counts is no longer known, so it
/// is never lowered. No key is lost by that, but keys that share it may go on passing after they were
/// removed; the receipt tells how many stick. With different keys, filled as planned, a 4-bit counter
/// does so less than once in 10⁹; take wider ones where a key comes many times.
///
/// # Cost
/// `detail` times the bits of a blocked filter: 40 a key at 1 % with 4-bit counters. Asking touches two
/// adjacent cache lines, inserting two for three of four keys, removing `detail`. *When not:* keys that only
/// come need no counters, take [`Blocked`]; a stream from which old keys should fade needs no one to
/// remove them.
///
/// `S` is where the counters live; one that borrows or maps them is only asked.
///
/// ```
/// use umbel::{Counting, KeyHasher, Kind, Plan};
///
/// let plan = Plan::for_keys(Kind::Counting, 10_000, 0.01)?;
/// let mut cached = Counting::new(&plan, KeyHasher::default())?;
/// cached.insert("/index.html");
/// cached.insert("/logo.png");
/// assert!(cached.remove("/logo.png"), "evicted");
/// assert!(!cached.contains("/logo.png") && cached.contains("/index.html"));
/// assert!(!cached.remove("/logo.png"), "certainly not there: nothing changes");
/// let shipped = cached.to_blocked()?;
/// assert!(shipped.contains("/index.html") && 4 * shipped.plan().bytes() == plan.bytes());
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone)]
pub struct Counting<S = Blocks> {
    plan: Plan,
    hasher: KeyHasher,
    kernel: Counters,
    /// `detail` lines a block: its planes.
    blocks: S,
}

impl Counting {
    /// An empty filter of the plan's size.
    ///
    /// Where others choose the keys, take [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// [`Error::PlanKind`] for a plan of another kind, [`Error::OutOfMemory`], and what is wrong
    /// with a plan made by hand.
    pub fn new(plan: &Plan, hasher: KeyHasher) -> Result<Self, Error> {
        plan.check(Kind::Counting)?;
        let blocks = Blocks::zeroed(plan.bytes() / BLOCK_BYTES)?;
        Ok(Self::of(*plan, hasher, blocks))
    }

    /// Makes the filter `divisor` times smaller: it is the one of that size with the same insertions,
    /// where no counter stuck before a removal. The planned keys are divided likewise.
    ///
    /// # Errors
    /// [`Error::SizesDiffer`] when `divisor` does not divide the number of blocks.
    pub fn fold(&mut self, divisor: u64) -> Result<(), Error> {
        let size = self.size();
        if divisor == 0 || !size.is_multiple_of(divisor) {
            return Err(Error::SizesDiffer {
                left: size,
                right: divisor,
                unit: BlockedLayout::UNIT,
            });
        }
        if divisor > 1 {
            let planes = self.plan.detail as usize;
            let mut folded = Blocks::zeroed(self.blocks.len() as u64 / divisor)?;
            let parts = self.blocks.chunks(planes * divisor as usize);
            for (total, parts) in folded.chunks_mut(planes).zip(parts) {
                parts.chunks(planes).for_each(|part| counters::sum(total, part));
            }
            self.blocks = folded;
            self.plan.bits /= divisor;
            self.plan.keys = (self.plan.keys / divisor).max(1);
        }
        Ok(())
    }

    /// Adds all that `other` holds, counter by counter: the result equals a filter into which both were
    /// inserted, a key that both hold counts for both.
    ///
    /// When sizes differ the larger one is folded to the smaller. The planned keys and rate are the
    /// larger of both.
    ///
    /// # Errors
    /// Names what differs: scheme, probes, bits of a counter, or sizes of which neither divides the
    /// other. On an error `self` is unchanged.
    pub fn union(&mut self, other: &Counting<impl AsRef<[Block]>>) -> Result<(), Error> {
        self.combine(other, counters::sum)
    }

    /// Keeps the lesser of each counter and that of `other`: what both hold, as often as both do, can be
    /// asked and removed; what only one holds passes seldom.
    ///
    /// Its rate is at most that of the worse input, and above that of a filter made afresh from
    /// the common keys. When sizes differ the larger one is folded to the smaller.
    ///
    /// # Errors
    /// As [`union`](Self::union).
    pub fn intersect(&mut self, other: &Counting<impl AsRef<[Block]>>) -> Result<(), Error> {
        self.combine(other, counters::lesser)
    }

    fn combine(
        &mut self,
        other: &Counting<impl AsRef<[Block]>>,
        join: fn(&mut [Block], &[Block]),
    ) -> Result<(), Error> {
        probe_alike((&self.hasher, &self.plan), (&other.hasher, &other.plan))?;
        let [left, right] = [self.plan.detail, other.plan.detail];
        if left != right {
            return Err(Error::CellsDiffer { left, right });
        }
        let [left, right] = [self.size(), other.size()];
        fold_alike(left, right, BlockedLayout::UNIT)?;
        let folded;
        let (plan, others) = if right > left {
            let mut copy = other.to_owned()?;
            copy.fold(right / left)?;
            folded = copy;
            (&folded.plan, &folded.blocks[..])
        } else {
            self.fold(left / right)?;
            (&other.plan, other.blocks.as_ref())
        };
        let planes = self.plan.detail as usize;
        for (block, other) in self.blocks.chunks_mut(planes).zip(others.chunks(planes)) {
            join(block, other);
        }
        self.plan.keys = self.plan.keys.max(plan.keys);
        self.plan.fpp = self.plan.fpp.max(plan.fpp);
        Ok(())
    }

    /// Reads a counting filter from `source`, `length` bytes in all, checking every byte.
    ///
    /// # Errors
    /// As [`AnyFilter::read`]; [`Error::PlanKind`] when the file holds another kind.
    pub fn read(source: impl Read, length: u64, secret: Option<&Secret>) -> Result<Self, Error> {
        AnyFilter::read(source, length, secret)?.try_into()
    }
}

impl<S: AsMut<[Block]>> Counting<S> {
    /// Inserts a key; true when it was certainly new, false when it may have been there before.
    pub fn insert(&mut self, key: impl AsRef<[u8]>) -> bool {
        self.insert_hash(self.hasher.hash(key))
    }

    /// Inserts an integer key, hashed as its 8 little-endian bytes. As [`insert`](Self::insert).
    pub fn insert_u64(&mut self, key: u64) -> bool {
        self.insert_hash(self.hasher.hash_u64(key))
    }

    /// Inserts a key by its hash, made under this filter's scheme. As [`insert`](Self::insert).
    pub fn insert_hash(&mut self, hash: KeyHash) -> bool {
        let mut new = [false];
        self.kernel.add_new(self.blocks.as_mut(), &[hash], &mut new);
        new[0]
    }

    /// Inserts many keys by their hashes, cache misses overlapped.
    pub fn insert_batch(&mut self, hashes: &[KeyHash]) {
        self.kernel.add(self.blocks.as_mut(), hashes);
    }

    /// Inserts many keys by their hashes, one after the other: `new[i]` becomes what
    /// [`insert_hash`](Self::insert_hash) tells of `hashes[i]`.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn insert_batch_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) {
        assert_eq!(hashes.len(), new.len(), "one answer for each hash");
        self.kernel.add_new(self.blocks.as_mut(), hashes, new);
    }

    /// Takes a key out once; false when it is certainly not there, and nothing has changed.
    ///
    /// **Only for keys that were inserted, and as often as they were.** A key that passes by error is
    /// taken out like any other, and then keys that share its counters may be lost: with 8 probes and
    /// the filter filled as planned, it lowers 8 counters, most of them above 1 or of one other key each.
    pub fn remove(&mut self, key: impl AsRef<[u8]>) -> bool {
        self.remove_hash(self.hasher.hash(key))
    }

    /// Takes an integer key out, hashed as its 8 little-endian bytes. As [`remove`](Self::remove).
    pub fn remove_u64(&mut self, key: u64) -> bool {
        self.remove_hash(self.hasher.hash_u64(key))
    }

    /// Takes a key out by its hash. As [`remove`](Self::remove).
    pub fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let mut removed = [false];
        self.kernel.take(self.blocks.as_mut(), &[hash], &mut removed);
        removed[0]
    }

    /// Takes many keys out by their hashes, one after the other, cache misses overlapped: `removed[i]`
    /// becomes what [`remove_hash`](Self::remove_hash) tells of `hashes[i]`.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn remove_batch(&mut self, hashes: &[KeyHash], removed: &mut [bool]) {
        assert_eq!(hashes.len(), removed.len(), "one answer for each hash");
        self.kernel.take(self.blocks.as_mut(), hashes, removed);
    }

    /// Forgets all keys, and frees the counters that stuck.
    pub fn clear(&mut self) {
        self.blocks.as_mut().fill(Block::default());
    }
}

impl<S: AsRef<[Block]>> Counting<S> {
    /// Whether the key may be in: false is certain, true errs with the filter's rate.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// Whether an integer key may be in. As [`contains`](Self::contains).
    pub fn contains_u64(&self, key: u64) -> bool {
        self.contains_hash(self.hasher.hash_u64(key))
    }

    /// Whether a key may be in, by its hash under this filter's scheme.
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        let mut found = [false];
        self.kernel.has(self.blocks.as_ref(), &[hash], &mut found);
        found[0]
    }

    /// Asks for many keys: `found[i]` becomes the answer for `hashes[i]`.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn contains_batch(&self, hashes: &[KeyHash], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len(), "one answer for each hash");
        self.kernel.has(self.blocks.as_ref(), hashes, found);
    }

    /// How often the key is in, about: the least of its counters, which others share. Never too low, but
    /// after removals of keys that were not in; at most what a counter can hold, 12, 192 or 49,152.
    pub fn count(&self, key: impl AsRef<[u8]>) -> u32 {
        self.count_hash(self.hasher.hash(key))
    }

    /// How often an integer key is in. As [`count`](Self::count).
    pub fn count_u64(&self, key: u64) -> u32 {
        self.count_hash(self.hasher.hash_u64(key))
    }

    /// How often a key is in, by its hash. As [`count`](Self::count).
    pub fn count_hash(&self, hash: KeyHash) -> u32 {
        let mut count = [0];
        self.kernel.least(self.blocks.as_ref(), &[hash], &mut count);
        count[0]
    }

    /// Counts many keys: `counts[i]` becomes what [`count_hash`](Self::count_hash) tells of `hashes[i]`.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn count_batch(&self, hashes: &[KeyHash], counts: &mut [u32]) {
        assert_eq!(hashes.len(), counts.len(), "one answer for each hash");
        self.kernel.least(self.blocks.as_ref(), hashes, counts);
    }

    /// The plain filter to ship: bit for bit the blocked one made from the keys that are in, unless
    /// counters stick. One pass.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_blocked(&self) -> Result<Blocked, Error> {
        let plan = self.plan.to_blocked();
        let mut plain = Blocks::zeroed(plan.bytes() / BLOCK_BYTES)?;
        for (to, block) in plain.iter_mut().zip(self.planes()) {
            *to = counters::used(block);
        }
        Blocked::from_parts(plan, self.hasher, plain)
    }

    /// What it was planned for; after folds and merges, what its present size is for.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How it hashes keys.
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// What the filter really delivers now, from its own counters. One pass over them.
    ///
    /// Fill, keys and rate are those of the blocked filter that it converts to. Its facts:
    /// `insertions`, about how often any key was inserted and not removed, the sum of all counters over
    /// the positions of a key, too low where counters stick; `stuck_counters`, and when there are any
    /// `stuck`, what that means.
    pub fn receipt(&self) -> Receipt {
        let plain = self.plan.to_blocked();
        let (mut used, mut stuck, mut total, mut sum) = (0, 0, 0, 0.0);
        for block in self.planes() {
            let bits = counters::used(block);
            used += u64::from(bits.count_ones());
            stuck += u64::from(counters::stuck(block).count_ones());
            total += counters::total(block);
            sum += blocked::fpp_of_block(bits.0.map(u64::count_ones), plain.probes);
        }
        let keys = BlockedLayout::coverage(&plain).keys((plain.bits - used) as f64);
        let fpp = sum / self.size() as f64;
        let scheme = self.hasher.scheme();
        let receipt = Receipt::new(self.plan, scheme, (used, plain.bits), keys, fpp);
        let positions = BLOCK_BITS as f64 * blocked::bit_chance(plain.probes);
        let insertions = (total as f64 / positions).round() as u64;
        let mut facts = vec![
            Fact { name: "insertions", figure: Figure::Count(insertions) },
            Fact { name: "stuck_counters", figure: Figure::Count(stuck) },
        ];
        if stuck > 0 {
            let top = counters::top(self.plan.detail);
            let words = format!(
                "counters that reached {top} are never lowered: no key is lost, but keys that share \
                 them may still pass when they are removed; wider counters would not stick"
            );
            facts.push(Fact { name: "stuck", figure: Figure::Text(words) });
        }
        Receipt { facts, ..receipt }
    }

    /// Borrows the same counters.
    pub fn view(&self) -> Counting<&[Block]> {
        Counting::of(self.plan, self.hasher, self.blocks.as_ref())
    }

    /// A copy that owns its counters.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<Counting, Error> {
        Ok(Counting::of(self.plan, self.hasher, Blocks::copy_of(self.blocks.as_ref())?))
    }

    /// Writes the filter as an umbel file, front to back, without seeking.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: impl Write) -> Result<(), Error> {
        let Plan { bits, probes, detail, .. } = self.plan;
        let body = format::Body::default().u64(bits).u32(probes).u32(detail);
        let header =
            format::Header::new(&self.plan, self.hasher.scheme(), &body, self.plan.bytes());
        let mut writer = format::Writer::new(out, &header)?;
        writer.write(bytemuck::cast_slice(self.blocks.as_ref()))?;
        writer.finish()
    }

    /// Of a checked plan and its counters, not yet checked.
    pub(super) fn from_parts(plan: Plan, hasher: KeyHasher, blocks: S) -> Result<Self, Error> {
        plan.check(Kind::Counting)?;
        let found = blocks.as_ref();
        debug_assert_eq!(found.len() as u64, plan.bits / BLOCK_BITS);
        if !found.chunks(plan.detail as usize).all(counters::are_counts) {
            return Err(Error::Field {
                field: "payload",
                found: 0,
                expected: "counters with a low part of 0 to have none above it",
            });
        }
        Ok(Self::of(plan, hasher, blocks))
    }

    /// Blocks of 512 counters.
    fn size(&self) -> u64 {
        self.plan.bits / BLOCK_BITS / u64::from(self.plan.detail)
    }

    /// The planes of each block.
    pub(super) fn planes(&self) -> std::slice::Chunks<'_, Block> {
        self.blocks.as_ref().chunks(self.plan.detail as usize)
    }
}

impl<S> Counting<S> {
    fn of(plan: Plan, hasher: KeyHasher, blocks: S) -> Self {
        Self { plan, hasher, kernel: Counters::detect(plan.detail, plan.probes), blocks }
    }
}

/// What the header of a counting filter tells: `bits` u64, `probes` u32, `counter_bits` u32.
pub(super) fn file_layout(header: &format::Header) -> Result<FileLayout, Error> {
    let mut fields = header.fields();
    let plan = fields.plan(Kind::Counting)?;
    fields.end()?;
    plan.check(Kind::Counting)?;
    Ok(FileLayout { plan, parts: vec![plan.bytes()] })
}

delegate::filter!([S: AsRef<[Block]>] Counting<S>);

delegate::insert!(
    /// Never an error: it takes any number of keys, at a rate that then grows.
    [S: AsRef<[Block]> + AsMut<[Block]>] Counting<S>
);

impl<S: AsRef<[Block]> + AsMut<[Block]>> Remove for Counting<S> {
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        self.remove_hash(hash)
    }

    fn remove_batch(&mut self, hashes: &[KeyHash], removed: &mut [bool]) {
        self.remove_batch(hashes, removed);
    }
}

impl<S: AsRef<[Block]>> fmt::Debug for Counting<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counting")
            .field("plan", &self.plan)
            .field("scheme", &self.hasher.scheme())
            .finish_non_exhaustive()
    }
}

/// Equal when they are for the same plan and scheme and have the same counters.
impl<S: AsRef<[Block]>, T: AsRef<[Block]>> PartialEq<Counting<T>> for Counting<S> {
    fn eq(&self, other: &Counting<T>) -> bool {
        self.plan == other.plan
            && self.hasher.scheme() == other.hasher.scheme()
            && self.blocks.as_ref() == other.blocks.as_ref()
    }
}
