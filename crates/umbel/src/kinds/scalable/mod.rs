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

use core::fmt;

pub(crate) use plan::Plans;
use plan::{growth, most_links};

use super::blocked::{self, Blocked, BlockedCore};
use super::group::Group;
use super::prelude::*;
use crate::bits::{self, AHEAD};
use crate::plan::{Growth, MAX_BITS, Variant};

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
    links: Vec<Link<S>>,
    /// Bytes it may grow to. Not in files.
    limit: u64,
}

/// Ignores the limit, which is in no file.
impl<S: PartialEq> PartialEq for ScalableCore<S> {
    fn eq(&self, other: &Self) -> bool {
        self.plan == other.plan && self.links == other.links
    }
}

/// One link of a [`Scalable`] filter.
#[derive(Clone, PartialEq)]
pub struct Link<S = Blocks> {
    filter: BlockedCore<S>,
    taken: u64,
}

impl<S: AsRef<[Block]>> Link<S> {
    /// Returns its plan, as a blocked filter.
    pub fn plan(&self) -> &Plan {
        self.filter.plan()
    }

    /// Returns the number of keys it accepted as certainly new, from 0 to the planned keys.
    pub fn inserted(&self) -> u64 {
        self.taken
    }

    /// Drops the keys of a group that it may hold.
    fn drop_held(&self, index: usize, group: &mut Group<impl Fn(KeyHash, usize) -> KeyHash>) {
        group.keep(false, index, &self.filter, |hashes| {
            // A batch would consider a small link cached; one of many links is not.
            if self.filter.plan().bits <= bits::NEAR * bits::BLOCK_BITS {
                hashes.iter().for_each(|&hash| self.filter.prefetch_always(hash));
            }
        });
    }

    /// Keys until it is full.
    fn room(&self) -> u64 {
        self.filter.plan().keys - self.taken
    }
}

impl<S: AsRef<[Block]>> fmt::Debug for Link<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("plan", self.plan())
            .field("inserted", &self.taken)
            .finish_non_exhaustive()
    }
}

/// Derives a key's hash in a link. Part of the format.
#[inline]
fn in_link(hash: KeyHash, index: usize) -> KeyHash {
    hash.in_part(index as u64)
}

impl<H: Hashing> Scalable<H> {
    /// Limits its bits to `bytes` bytes from now on; initially unlimited. A larger filter keeps its size. The limit is
    /// not written to files.
    pub fn set_limit(&mut self, bytes: u64) {
        self.0.core.limit = bytes;
    }
}

impl<H: Hashing, S: AsRef<[Block]>> Scalable<H, S> {
    /// Returns its links, oldest first; at least one.
    #[doc(hidden)]
    pub fn links(&self) -> &[Link<S>] {
        &self.0.core.links
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
                Ok(Blocked(self.0.with(only.filter.with_parts(copy)?)))
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
        full.iter().enumerate().rev().for_each(|(index, link)| link.drop_held(index, group));
        while group.count() > 0 {
            if self.last().room() < group.count() as u64 {
                // Drop keys that the last link holds: they must not depend on a new link, which may fail.
                self.last().drop_held(self.links.len() - 1, group);
                if group.count() == 0 {
                    break;
                }
                if self.last().room() == 0 {
                    self.grow()?;
                }
            }
            let index = self.links.len() - 1;
            let last = &mut self.links[index];
            // A piece fits even if all its keys are new.
            let piece = last.room().min(group.count() as u64) as usize;
            let mut fresh = [false; GROUP];
            let fresh = &mut fresh[..piece];
            let Ok(()) = last.filter.insert_all_new(group.in_part(index, piece), fresh);
            for (&fresh, place) in fresh.iter().zip(group.places()) {
                new[place] = fresh;
                last.taken += u64::from(fresh);
            }
            group.drop_first(piece);
        }
        Ok(())
    }

    fn last(&self) -> &Link {
        self.links.last().expect("at least one link")
    }

    fn grow(&mut self) -> Result<(), Full> {
        if self.links.len() == most_links(growth(self.plan.variant)) {
            return Err(Full::Links(self.links.len()));
        }
        let plan = self.plan.link(self.links.len() as u32)?;
        let bits = plan.bits + self.bits();
        if bits > MAX_BITS {
            return Err(PlanError::TooLarge(bits as f64).into());
        }
        if bits / 8 > self.limit {
            return Err(Full::Limit(bits / 8, self.limit));
        }
        self.links.push(Link { filter: BlockedCore::make(&plan)?, taken: 0 });
        Ok(())
    }
}

impl<S: AsRef<[Block]>> ScalableCore<S> {
    fn bits(&self) -> u64 {
        self.links.iter().map(|link| link.plan().bits).sum()
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
                link.filter.prefetch_always(*to);
            }
            let mut links = self.links[start..end].iter().zip(&hashes).rev();
            if links.any(|(link, &hash)| link.filter.contains(hash)) {
                return true;
            }
            end = start;
        }
        false
    }

    fn reads_only(&self, hash: KeyHash, mut is_known: impl FnMut(usize, usize) -> bool) -> bool {
        self.links.iter().enumerate().all(|(index, link)| {
            link.filter.reads_only(in_link(hash, index), |_, block| is_known(index, block))
        })
    }

    /// Queries a link only for keys that no newer one holds.
    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        if let [only] = &self.links[..] {
            return only.filter.contains_all(hashes, found);
        }
        let mut group = Group::new(in_link);
        for (hashes, found) in hashes.chunks(GROUP).zip(found.chunks_mut(GROUP)) {
            group.take(hashes);
            let links = self.links.iter().enumerate().rev();
            links.for_each(|(index, link)| link.drop_held(index, &mut group));
            found.fill(true);
            group.places().for_each(|place| found[place] = false);
        }
    }

    fn parts(&self) -> impl Iterator<Item = &S> {
        self.links.iter().flat_map(|link| link.filter.parts())
    }

    fn with_parts<'a, T: AsRef<[Block]>, E>(
        &'a self,
        mut each: impl FnMut(&'a S) -> Result<T, E>,
    ) -> Result<ScalableCore<T>, E> {
        let with = |link: &'a Link<S>| {
            Ok(Link { filter: link.filter.with_parts(&mut each)?, taken: link.taken })
        };
        let links = self.links.iter().map(with).collect::<Result<_, E>>()?;
        Ok(ScalableCore { plan: self.plan, links, limit: self.limit })
    }

    fn body(&self) -> Body {
        let mut body =
            Body::default().u32(self.links.len() as u32).u32(Plans::number(self.plan.variant));
        for link in &self.links {
            let plan = link.plan();
            body = body.u64(plan.keys).f64(plan.fpp).u64(link.taken).u64(plan.bits);
            body = body.u32(plan.probes).zeros(4);
        }
        body
    }

    fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
        let (_, links) = declared(header)?;
        Ok(links.iter().map(|(link, _)| link.bytes()).collect())
    }

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        let (plan, links) = declared(header)?;
        let link = |((plan, taken), blocks)| {
            Ok(Link { filter: BlockedCore::from_blocks(plan, blocks)?, taken })
        };
        let links = links.into_iter().zip(parts).map(link).collect::<Result<_, FileError>>()?;
        Ok(Self { plan, links, limit: u64::MAX })
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
        for link in &self.links {
            let part = link.filter.receipt(scheme);
            set_bits += part.set_bits;
            // The probability to pass no earlier link.
            let came = f64::max(f64::exp(none), f64::EPSILON);
            keys += part.keys.value / came;
            low += part.keys.low / came;
            // The variance of the estimate, and of the number of others that passed.
            variance += (part.keys.deviation / came).powi(2);
            variance += part.keys.value * (1.0 - came) / (came * came);
            none += (-part.fpp).ln_1p();
            over_filled |= part.surely() > link.plan().keys as f64 / (1.0 - link.plan().fpp);
            let keys = link.taken as f64;
            parts.push(Part { what: "link", name: None, plan: *link.plan(), keys, fpp: part.fpp });
        }
        let keys = match keys.is_finite() {
            true => Estimate::new(keys, variance.sqrt()),
            // A link is full.
            false => Estimate { low, value: keys, high: keys, deviation: f64::INFINITY },
        };
        let bits = self.bits();
        let fpp = -f64::exp_m1(none);
        let room = self.links.last().expect("at least one link").room();
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
        let links = vec![Link { filter: BlockedCore::make(&plan.link(0)?)?, taken: 0 }];
        Ok(Self { plan: *plan, links, limit: u64::MAX })
    }

    fn insert(&mut self, hash: KeyHash) -> Result<bool, Full> {
        if self.contains(hash) {
            return Ok(false);
        }
        if self.last().room() == 0 {
            self.grow()?;
        }
        let index = self.links.len() - 1;
        let last = &mut self.links[index];
        last.taken += 1;
        let Ok(new) = last.filter.insert(in_link(hash, index));
        Ok(new)
    }

    fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Full> {
        new.fill(false);
        let mut group = Group::new(in_link);
        let mut groups = hashes.chunks(GROUP).zip(new.chunks_mut(GROUP));
        groups.try_for_each(|(hashes, new)| {
            group.take(hashes);
            self.insert_group(&mut group, new)
        })
    }

    /// Shrinks to its first link.
    fn clear(&mut self) {
        self.links.truncate(1);
        self.links[0].filter.clear();
        self.links[0].taken = 0;
    }
}

/// The plan, and for each link its plan and accepted keys.
///
/// ```text
///  64  links  u32               72 + 40 i  link_keys   u64     96 + 40 i  link_bits    u64
///  68  growth u32               80 + 40 i  link_fpp    f64    104 + 40 i  link_probes  u32
///                               88 + 40 i  link_taken  u64    108 + 40 i  zeros, 4 bytes
/// ```
fn declared(header: &Header) -> Result<(Plan, Vec<(Plan, u64)>), FileError> {
    let mut fields = header.fields();
    let count = fields.u32()? as usize;
    let number = fields.u32()?;
    let variant = Plans::variant(number);
    check_field(
        "growth",
        u64::from(number),
        variant.is_some(),
        "0, links that double, or 1, links of one size",
    )?;
    let variant = variant.unwrap_or(Plans::USUAL);
    let possible = (1..=most_links(growth(variant))).contains(&count);
    check_field("links", count as u64, possible, "1 to 48, of links of one size 1 to 1024")?;
    let mut links = Vec::new();
    for _ in 0..count {
        let (keys, fpp, taken) = (fields.u64()?, fields.f64()?, fields.u64()?);
        let (bits, probes) = (fields.u64()?, fields.u32()?);
        fields.zeros(4)?;
        links.push((Plan { variant: Variant::Blocked, keys, fpp, bits, probes }, taken));
    }
    fields.end()?;
    let (keys, fpp) = (header.planned_keys(), header.planned_fpp());
    let plan = Plan { variant, keys, fpp, ..links[0].0 };
    Plans::check(&plan)?;
    let mut bits = 0;
    for (index, (link, taken)) in links.iter().enumerate() {
        blocked::Plans::check(link)?;
        let goal = plan.link_goal(index as u32);
        let (keys, fpp) = goal.unwrap_or((0, 0.0));
        check_field(
            "link_keys",
            link.keys,
            link.keys == keys,
            "the planned keys, doubled a link or not",
        )?;
        let same = link.fpp.to_bits() == fpp.to_bits();
        check_field("link_fpp", link.fpp.to_bits(), same, "the link's share of the planned fpp")?;
        // The first link may be empty; others were added for a key.
        let (least, most) = match index + 1 == count {
            true => (u64::from(index > 0), link.keys),
            false => (link.keys, link.keys),
        };
        let full = (least..=most).contains(taken);
        check_field("link_taken", *taken, full, "the link's keys, or in the last link 1 to that")?;
        bits += link.bits;
    }
    // At most 1,024 links of 2⁴⁸ bits: no overflow above.
    match bits <= MAX_BITS {
        true => Ok((plan, links)),
        false => Err(PlanError::TooLarge(bits as f64).into()),
    }
}
