//! The scalable filter: it grows by links, each a blocked filter twice as large as the one before and half as likely to
//! err, which bounds the error however far it grows. [`Plan::link`] computes the plans of links; this module fills and
//! queries them.
//!
//! A key goes into the newest link, and only if no link may hold it already. So a link knows exactly how many keys it
//! accepted; when these are as many as planned, the next new key adds a link.
//!
//! A key has a different hash in each link. With one hash for all, a link would only hold keys whose bits are clear in
//! the link before, and absent keys that pass no older link would share their bias: at a rate of 0.5 the estimate of
//! keys was 1 % off, and the links' rates did not multiply.

mod plan;

pub(crate) use plan::Plans;
use plan::{growth, most_links};

use super::blocked::{self, Blocked, BlockedCore};
use super::group::Group;
use super::prelude::*;

filter! {
    /// A filter that grows, with an error bounded over all growth (P. Almeida, C. Baquero, N. Preguiça, D. Hutchison
    /// 2007, <https://doi.org/10.1016/j.ipl.2006.10.007>).
    ///
    /// It starts with a link for the planned keys; once the last link is full, the next new key adds one for twice as
    /// many keys. Planned for n keys and holding N, it has about log₂(N/n) links, and looking up an absent key reads a
    /// cache line in each. A key in link i (from 0) takes the bits of a blocked filter at `fpp`/2^(i + 1), about 1.5 to
    /// 2 more for each link, and the last link may be nearly empty.
    ///
    /// With [`Growth::Even`](crate::plan::Growth::Even) (written `scalable:1`) every link is for as many keys as the
    /// first. It wastes at most one link's worth of memory, where doubling may leave half unused. The price is one link
    /// per n keys, up to 1,024, and a look-up that reads all of them: make n at least a tenth of the keys you may get.
    ///
    /// # When not to use it
    /// If you know the number of keys, use [`Blocked`](crate::Blocked), which is then smaller and faster. If old keys
    /// may be forgotten, use [`Window`](crate::Window), whose size and look-up time stay constant. If filters are to be
    /// merged, use another kind.
    ///
    /// The promised rate holds for any number of keys; how strictly depends on the first link's keys, as
    /// [`Plan::for_keys`] describes. A filter that borrows or maps its blocks cannot grow.
    ///
    /// # Errors
    /// Adding a link takes milliseconds, and memory for twice the keys. It fails with [`Full::Limit`] at the limit of
    /// [`set_limit`](Self::set_limit), [`Full::Links`] with links of one size, or [`Full::Growth`] if memory cannot be
    /// allocated, the filter would pass 2⁴⁸ bits, or a link would need more than 4,096 bits per key.
    ///
    /// # Receipt
    /// The rate is 1 − ∏(1 − fᵢ), with fᵢ the rate of link i given its bits. The keys are the sum over links of nᵢ/(1 −
    /// Fᵢ), where nᵢ are the keys that came to link i, estimated from its bits (including keys that passed link i,
    /// which set the same bits), and Fᵢ is the compound rate of the links before it: the share of inserted keys that
    /// passed these and went into none.
    ///
    /// ```
    /// use umbel::{Scalable, Filter};
    ///
    /// let mut seen = Scalable::new(1_000, 0.01)?;
    /// for key in 0..50_000 {
    ///     seen.try_insert(key)?;
    /// }
    /// assert!((0..50_000).all(|key| seen.contains(key)));
    /// let receipt = seen.receipt();
    /// assert_eq!(receipt.parts.len(), 6, "1,000 + 2,000 + … + 32,000");
    /// assert!(receipt.fpp < 0.01 && !receipt.over_filled);
    /// # Ok::<(), umbel::Error>(())
    /// ```
    Scalable(ScalableCore)
}

/// The core of a [`Scalable`] filter.
#[derive(Clone)]
pub(crate) struct ScalableCore<S = Blocks> {
    plan: Plan,
    /// At least one; all but the last are full.
    links: Vec<BlockedCore<S>>,
    /// Keys that the last link accepted as certainly new, from 0 to its planned keys.
    taken: u64,
    /// Bytes it may grow to. Not in files.
    limit: u64,
}

/// Ignores the limit, which is in no file.
impl<S: PartialEq> PartialEq for ScalableCore<S> {
    fn eq(&self, other: &Self) -> bool {
        (self.plan, &self.links, self.taken) == (other.plan, &other.links, other.taken)
    }
}

/// Derives a key's hash in a link. Part of the format.
#[inline]
fn in_link(hash: KeyHash, index: usize) -> KeyHash {
    hash.in_part(index as u64)
}

/// Drops the keys of a group that a link may hold.
fn drop_held(
    link: &BlockedCore<impl AsRef<[Block]>>,
    index: usize,
    group: &mut Group<impl Fn(KeyHash, usize) -> KeyHash>,
) {
    group.keep(false, index, link, |hashes| {
        // A batch would consider a small link cached; one of many links is not.
        if link.plan.bits <= bits::NEAR * bits::BLOCK_BITS {
            hashes.iter().for_each(|&hash| link.prefetch_always(hash));
        }
    });
}

impl<H: Hashing> Scalable<H> {
    /// Limits its bits to `bytes` bytes from now on; initially unlimited. A larger filter keeps its size. The limit is
    /// not written to files.
    pub fn set_limit(&mut self, bytes: u64) {
        self.0.core.limit = bytes;
    }
}

impl<H: Hashing, S: AsRef<[Block]>> Scalable<H, S> {
    /// Returns the blocked filter of the same keys, while there is only one link, which hashes as a blocked filter
    /// does. It keeps the link's plan: half of the rate, and as many keys.
    ///
    /// # Errors
    /// [`MergeError::Grown`] if there are more links; [`MergeError::OutOfMemory`].
    #[doc(hidden)]
    pub fn first_link(&self) -> Result<Blocked<H>, MergeError> {
        match &self.0.core.links[..] {
            [only] => {
                let copy = |blocks: &S| Blocks::copy_of(blocks.as_ref());
                Ok(Blocked(self.0.with(only.with_parts(copy)?)))
            }
            links => Err(MergeError::Grown(links.len())),
        }
    }
}

made_empty!(Scalable);
try_inserts! {
    Scalable,
    /// Inserts a key, and grows if its last link is full: true if the key was certainly new.
    ///
    /// # Errors
    /// A [`Full`] if it cannot grow; the filter is unchanged. Without a [limit](Self::set_limit), and with links that
    /// double, only memory ends its growth.
}

impl ScalableCore {
    /// Sets `new` at the places of new keys, and leaves the others.
    fn insert_group(
        &mut self,
        group: &mut Group<impl Fn(KeyHash, usize) -> KeyHash>,
        new: &mut [bool],
    ) -> Result<(), Full> {
        let full = &self.links[..self.links.len() - 1];
        full.iter().enumerate().rev().for_each(|(index, link)| drop_held(link, index, group));
        while group.count() > 0 {
            if self.room() < group.count() as u64 {
                // Drop keys that the last link holds: they must not depend on a new link, which may fail.
                let index = self.links.len() - 1;
                drop_held(&self.links[index], index, group);
                if group.count() > 0 && self.room() == 0 {
                    self.grow()?;
                }
            }
            let index = self.links.len() - 1;
            // A piece fits even if all its keys are new.
            let piece = self.room().min(group.count() as u64) as usize;
            let mut fresh = [false; HASHES_AT_ONCE];
            let fresh = &mut fresh[..piece];
            let Ok(()) = self.links[index].insert_all_new(group.in_part(index, piece), fresh);
            for (&fresh, place) in fresh.iter().zip(group.places()) {
                new[place] = fresh;
                self.taken += u64::from(fresh);
            }
            group.drop_first(piece);
        }
        Ok(())
    }

    fn grow(&mut self) -> Result<(), Full> {
        if self.links.len() == most_links(growth(self.plan.variant)) {
            return Err(Full::Links(self.links.len()));
        }
        let plan = self.plan.link(self.links.len() as u32)?;
        let bits = plan.bits + self.bits();
        check_bits(bits as f64)?;
        if bits / 8 > self.limit {
            return Err(Full::Limit(bits / 8, self.limit));
        }
        self.links.push(BlockedCore::make(&plan)?);
        self.taken = 0;
        Ok(())
    }
}

impl<S: AsRef<[Block]>> ScalableCore<S> {
    /// Keys until the last link is full.
    fn room(&self) -> u64 {
        self.links.last().expect("at least one link").plan.keys - self.taken
    }

    /// The plan of each link, and the keys that it accepted.
    fn counted(&self) -> impl Iterator<Item = (Plan, u64)> {
        let last = self.links.len() - 1;
        let taken =
            move |(i, plan): (usize, Plan)| (plan, if i < last { plan.keys } else { self.taken });
        self.links.iter().map(|link| link.plan).enumerate().map(taken)
    }

    fn bits(&self) -> u64 {
        self.links.iter().map(|link| link.plan.bits).sum()
    }
}

impl<S: AsRef<[Block]>> Core for ScalableCore<S> {
    type Plans = Plans;
    type Storage = S;
    type With<T: AsRef<[Block]>> = ScalableCore<T>;

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn contains(&self, hash: KeyHash) -> bool {
        // With doubling, about half of the keys are in the newest link and a quarter in the one before. Links of one
        // size are prefetched many at a time: an absent key has to wait for a line of each.
        let mut end = self.links.len();
        while end > 0 {
            let start = end.saturating_sub(AHEAD);
            let mut hashes = [KeyHash::default(); AHEAD];
            let links = self.links[start..end].iter().zip(start..end).zip(&mut hashes).rev();
            for ((link, index), to) in links {
                *to = in_link(hash, index);
                link.prefetch_always(*to);
            }
            let mut links = self.links[start..end].iter().zip(&hashes).rev();
            if links.any(|(link, &hash)| link.contains(hash)) {
                return true;
            }
            end = start;
        }
        false
    }

    fn reads_only(&self, hash: KeyHash, mut is_known: impl FnMut(usize, usize) -> bool) -> bool {
        self.links.iter().enumerate().all(|(index, link)| {
            link.reads_only(in_link(hash, index), |_, block| is_known(index, block))
        })
    }

    /// Queries a link only for keys that no newer one holds.
    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        if let [only] = &self.links[..] {
            return only.contains_all(hashes, found);
        }
        let mut group = Group::new(in_link);
        for (hashes, found) in hashes.chunks(HASHES_AT_ONCE).zip(found.chunks_mut(HASHES_AT_ONCE)) {
            group.take(hashes);
            let links = self.links.iter().enumerate().rev();
            links.for_each(|(index, link)| drop_held(link, index, &mut group));
            found.fill(true);
            group.places().for_each(|place| found[place] = false);
        }
    }

    fn parts(&self) -> impl Iterator<Item = &S> {
        self.links.iter().map(|link| &link.blocks)
    }

    fn with_parts<'a, T: AsRef<[Block]>, E>(
        &'a self,
        mut each: impl FnMut(&'a S) -> Result<T, E>,
    ) -> Result<ScalableCore<T>, E> {
        let Self { plan, taken, limit, .. } = *self;
        let links = self.links.iter().map(|link| link.with_parts(&mut each));
        Ok(ScalableCore { plan, links: links.collect::<Result<_, E>>()?, taken, limit })
    }

    fn body(&self) -> Body {
        let mut body =
            Body::default().u32(self.links.len() as u32).u32(Plans::number(self.plan.variant));
        for (Plan { keys, fpp, bits, probes, .. }, taken) in self.counted() {
            body = body.u64(keys).f64(fpp).u64(taken).u64(bits).u32(probes).zeros(4);
        }
        body
    }

    fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
        let (_, links, _) = declared(header)?;
        Ok(links.iter().map(Plan::bytes).collect())
    }

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        let (plan, links, taken) = declared(header)?;
        let link = |(plan, blocks)| BlockedCore::from_blocks(plan, blocks);
        let links = links.into_iter().zip(parts).map(link).collect::<Result<_, FileError>>()?;
        Ok(Self { plan, links, taken, limit: u64::MAX })
    }

    fn receipt(&self, scheme: Scheme) -> Receipt {
        self.borrowed().measured(scheme)
    }
}

impl ScalableCore<&[Block]> {
    fn measured(&self, scheme: Scheme) -> Receipt {
        let (mut set_bits, mut keys, mut variance) = (0, 0.0, 0.0);
        let (mut low, mut none, mut over_filled) = (0.0, 0.0, false);
        let mut parts = Vec::new();
        for (link, (plan, taken)) in self.links.iter().zip(self.counted()) {
            let part = link.receipt(scheme);
            set_bits += part.set_bits;
            // The probability to pass no earlier link.
            let came = f64::max(f64::exp(none), f64::EPSILON);
            keys += part.keys.value / came;
            low += part.keys.low / came;
            // The variance of the estimate, and of the number of others that passed.
            variance += (part.keys.deviation / came).powi(2);
            variance += part.keys.value * (1.0 - came) / (came * came);
            none += (-part.fpp).ln_1p();
            over_filled |= part.surely() > plan.keys as f64 / (1.0 - plan.fpp);
            let keys = taken as f64;
            parts.push(Part { what: "link", name: None, plan, keys, fpp: part.fpp });
        }
        let keys = match keys.is_finite() {
            true => Estimate::new(keys, variance.sqrt()),
            // A link is full.
            false => Estimate { low, value: keys, high: keys, deviation: f64::INFINITY },
        };
        let bits = self.bits();
        let fpp = 0.0 - f64::exp_m1(none);
        let room = self.room();
        let receipt = Receipt::new(self.plan, scheme, (set_bits, bits), keys, fpp);
        let unusual = growth(self.plan.variant) == Growth::Even;
        let facts =
            unusual.then(|| Fact::text("growth", "links of one size")).into_iter().collect();
        Receipt { bits, room, over_filled, parts, facts, ..receipt }
    }
}

impl Owned for ScalableCore {
    type Refusal = Full;

    /// The first link of the plan.
    fn make(plan: &Plan) -> Result<Self, PlanError> {
        let links = vec![BlockedCore::make(&plan.link(0)?)?];
        Ok(Self { plan: *plan, links, taken: 0, limit: u64::MAX })
    }

    fn insert(&mut self, hash: KeyHash) -> Result<bool, Full> {
        if self.contains(hash) {
            return Ok(false);
        }
        if self.room() == 0 {
            self.grow()?;
        }
        self.taken += 1;
        let index = self.links.len() - 1;
        let Ok(new) = self.links[index].insert(in_link(hash, index));
        Ok(new)
    }

    fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Full> {
        new.fill(false);
        let mut group = Group::new(in_link);
        let mut groups = hashes.chunks(HASHES_AT_ONCE).zip(new.chunks_mut(HASHES_AT_ONCE));
        groups.try_for_each(|(hashes, new)| {
            group.take(hashes);
            self.insert_group(&mut group, new)
        })
    }

    /// Shrinks to its first link.
    fn clear(&mut self) {
        self.links.truncate(1);
        self.links[0].clear();
        self.taken = 0;
    }
}

/// The plan, the plans of the links, and the keys that the last one accepted.
///
/// ```text
///  64  links  u32               72 + 40 i  link_keys   u64     96 + 40 i  link_bits    u64
///  68  growth u32               80 + 40 i  link_fpp    f64    104 + 40 i  link_probes  u32
///                               88 + 40 i  link_taken  u64    108 + 40 i  zeros, 4 bytes
/// ```
fn declared(header: &Header) -> Result<(Plan, Vec<Plan>, u64), FileError> {
    let mut fields = header.fields();
    let count = fields.u32()? as usize;
    let variant = fields.variant::<Plans>()?;
    let possible = (1..=most_links(growth(variant))).contains(&count);
    check_field("links", count as u64, possible, "1 to 48, of links of one size 1 to 1024")?;
    let (mut links, mut takens) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (keys, fpp) = (fields.u64()?, fields.f64()?);
        takens.push(fields.u64()?);
        let (bits, probes) = (fields.u64()?, fields.u32()?);
        fields.zeros(4)?;
        links.push(Plan { variant: Variant::Blocked, keys, fpp, bits, probes });
    }
    fields.end()?;
    let (keys, fpp) = (header.planned_keys(), header.planned_fpp());
    let plan = Plan { variant, keys, fpp, ..links[0] };
    Plans::check(&plan)?;
    for (index, (link, taken)) in links.iter().zip(&takens).enumerate() {
        blocked::Plans::check(link)?;
        let (keys, fpp) = plan.link_goal(index as u32)?;
        let same = link.keys == keys;
        check_field("link_keys", link.keys, same, "the planned keys, doubled a link or not")?;
        let same = link.fpp.to_bits() == fpp.to_bits();
        check_field("link_fpp", link.fpp.to_bits(), same, "the link's share of the planned fpp")?;
        // The first link may be empty; others were added for a key.
        let least = if index + 1 == count { u64::from(index > 0) } else { keys };
        let full = (least..=keys).contains(taken);
        check_field("link_taken", *taken, full, "the link's keys, or in the last link 1 to that")?;
    }
    // At most 1,024 links of 2⁴⁸ bits: no overflow.
    check_bits(links.iter().map(|link| link.bits).sum::<u64>() as f64)?;
    Ok((plan, links, takens[count - 1]))
}
