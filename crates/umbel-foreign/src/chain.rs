//! Filters that grow by links, each with its own array of bits: a [`Rule`] defines a system's links, hash and file, and
//! [`Chain`] does the rest for all of them.
//!
//! Only the newest link is written. Once it has its planned keys, the chain gets another one. A key that any link may
//! hold already is dropped.

use std::fmt;
use std::io::Write;

use umbel::Fact;

use crate::bits::{self, Order};
use crate::bytes::{check, check_limit};
use crate::error::differ;
use crate::measure::Measure;
use crate::plain::sealed;
use crate::receipt::{Part, sampled_rate};
use crate::{Bytes, Error, ForeignFilter, ForeignInsert, Format, Key, Receipt, Relocate, Value};

/// A link of a chain: the fields of its head.
#[doc(hidden)]
pub trait ChainLink: Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// Bytes of its array before its bits.
    const FRONT: usize = 0;

    /// Bytes of its bits.
    fn bytes(&self) -> u64;
    /// Positions are below this.
    fn modulus(&self) -> u64;
    fn probes(&self) -> u32;
    /// Keys added to it.
    fn items(&self) -> u64;
    fn items_mut(&mut self) -> &mut u64;
    /// Its planned keys.
    fn capacity(&self) -> u64;
    /// Positions of a key; `by` has its remainders by the modulus.
    fn positions(&self, by: Remainder, hash: (u64, u64)) -> impl Iterator<Item = u64>;
    fn facts(&self) -> Vec<Fact>;
    /// The values that two links must share to be merged.
    fn shape(&self) -> Vec<(&'static str, Value)>;
}

/// The numbers of a link that has them as fields, its planned keys as `$capacity`.
macro_rules! link_numbers {
    ($capacity:ident) => {
        fn probes(&self) -> u32 {
            self.hashes
        }
        fn items(&self) -> u64 {
            self.items
        }
        fn items_mut(&mut self) -> &mut u64 {
            &mut self.items
        }
        fn capacity(&self) -> u64 {
            self.$capacity
        }
    };
}
pub(crate) use link_numbers;

/// Remainders of division by one number, which is below 2^63, by multiplication: a key has about eight, and the
/// processor divides one after the other (8 positions: 28 ns).
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Remainder {
    divisor: u64,
    /// (2^64 − 1) / divisor, rounded down. A product with it, over 2^64, is at most 1 below the quotient.
    reciprocal: u64,
}

impl Remainder {
    #[inline]
    pub(crate) fn by(divisor: u64) -> Self {
        Self { divisor, reciprocal: u64::MAX / divisor }
    }

    #[inline]
    pub(crate) fn of(self, number: u64) -> u64 {
        let product = u128::from(number) * u128::from(self.reciprocal);
        let rest = number.wrapping_sub(((product >> 64) as u64).wrapping_mul(self.divisor));
        if rest >= self.divisor { rest - self.divisor } else { rest }
    }
}

/// The rules of a system's chains. A value has the fields that all links share. Sealed.
pub trait Rule: sealed::Sealed + Clone + fmt::Debug + Send + Sync + 'static {
    /// A link.
    #[doc(hidden)]
    type Link: ChainLink;
    #[doc(hidden)]
    const FORMAT: Format;
    /// Bytes of a link besides its bits.
    #[doc(hidden)]
    const LINK: u64;

    /// Bytes of a file besides its links.
    #[doc(hidden)]
    fn bytes(&self) -> u64;
    #[doc(hidden)]
    fn scheme(&self) -> String;
    #[doc(hidden)]
    fn hash(&self, key: &[u8]) -> (u64, u64);
    #[doc(hidden)]
    fn grows(&self) -> bool;
    /// Returns the link after these, empty; `None` if these are the last possible ones.
    #[doc(hidden)]
    fn next(&self, links: &[Self::Link]) -> Option<Self::Link>;
    /// Writes the front of a new link's array, before its bits.
    #[doc(hidden)]
    fn front(&self, _link: &Self::Link, _array: &mut [u8]) {}
    #[doc(hidden)]
    fn facts(&self) -> Vec<Fact>;
    /// The values that two chains must share to be merged.
    #[doc(hidden)]
    fn shape(&self) -> Vec<(&'static str, Value)>;
    #[doc(hidden)]
    fn write<S: AsRef<[u8]>>(chain: &Chain<Self, S>, out: &mut dyn Write) -> Result<(), Error>;
}

/// A chain of filters. `S` holds the content of the file that it was read from.
#[derive(Clone)]
pub struct Chain<R: Rule, S = Bytes> {
    pub(crate) rule: R,
    links: Vec<R::Link>,
    /// For each link, by its modulus: computing a reciprocal takes as long as two positions.
    remainders: Vec<Remainder>,
    /// The file it was read from, and where in it the arrays of the first links start.
    content: S,
    starts: Vec<usize>,
    /// The arrays of all other links, one allocation each: growth copies nothing.
    arrays: Vec<Bytes>,
    /// The limit in bytes while it grows.
    limit: u64,
}

impl<R: Rule> Chain<R> {
    /// Makes a chain of links and their arrays, with their fronts; of the right lengths.
    pub(crate) fn of(rule: R, links: Vec<R::Link>, arrays: Vec<Bytes>) -> Result<Self, Error> {
        let chain = Self::in_content(rule, links, Bytes::zeroed(0, 0)?, Vec::new());
        Ok(Self { arrays, ..chain })
    }

    /// Makes a chain of links without keys.
    pub(crate) fn of_empty(rule: R, links: Vec<R::Link>) -> Result<Self, Error> {
        let arrays = links.iter().map(|link| empty(&rule, link)).collect::<Result<_, _>>()?;
        Self::of(rule, links, arrays)
    }

    /// Moves its memory, except for large arrays.
    #[doc(hidden)]
    pub fn relocate(&mut self, to: &mut impl Relocate) {
        to.vector(&mut self.links);
        to.vector(&mut self.remainders);
        to.vector(&mut self.arrays);
        self.arrays.iter_mut().for_each(|array| array.relocate(to));
    }

    /// The array of a link, with its front.
    fn whole_mut(&mut self, i: usize) -> &mut [u8] {
        let bytes = R::Link::FRONT + self.links[i].bytes() as usize;
        match self.starts.get(i) {
            Some(start) => &mut self.content[*start..][..bytes],
            None => &mut self.arrays[i - self.starts.len()],
        }
    }

    pub(crate) fn array_mut(&mut self, i: usize) -> &mut [u8] {
        &mut self.whole_mut(i)[R::Link::FRONT..]
    }

    /// Adds many keys in order with overlapped cache misses. `answer` gets the result of
    /// [`insert`](ForeignInsert::insert) for each key, and stops by returning false.
    pub fn insert_each(
        &mut self,
        keys: &[&[u8]],
        mut answer: impl FnMut(Result<bool, Error>) -> bool,
    ) {
        if let [key] = keys {
            answer(self.insert(Key::Bytes(key)));
            return;
        }
        let mut ahead = Ahead::new(true);
        for i in 0..keys.len() + Ahead::STEPS {
            let hash = keys.get(i).map(|key| self.rule.hash(key));
            if let Some(hash) = ahead.step(self, hash)
                && !answer(self.insert_hash(hash))
            {
                return;
            }
        }
    }

    fn insert_hash(&mut self, hash: (u64, u64)) -> Result<bool, Error> {
        if self.holds(hash) {
            return Ok(false);
        }
        if self.links.last().is_some_and(|last| last.items() >= last.capacity()) {
            self.grow()?;
        }
        let newest = self.links.len() - 1;
        let (link, by) = (self.links[newest].clone(), self.remainders[newest]);
        let array = self.array_mut(newest);
        for position in link.positions(by, hash) {
            Order::Bytes.set(array, position);
        }
        self.count(newest, 1);
        Ok(true)
    }

    /// Adds all keys of `other`, link by link: counts of items are added, and links that only one of the filters has
    /// are unchanged. The systems lack such a command, but load the result. A merged link may hold more items than it
    /// was made for; its receipt reports the resulting rate.
    ///
    /// # Errors
    /// [`Error::Differ`] if they were made with different parameters; [`Error::OutOfMemory`].
    pub fn union<T: AsRef<[u8]>>(&mut self, other: &Chain<R, T>) -> Result<(), Error> {
        agree(self.rule.shape(), other.rule.shape())?;
        for (left, right) in self.links.iter().zip(&other.links) {
            agree(left.shape(), right.shape())?;
        }
        if other.links.len() > self.links.len() {
            let mut longer = other.to_owned()?;
            longer.join(self);
            *self = longer;
        } else {
            self.join(other);
        }
        Ok(())
    }

    /// Sets the bits of a chain that is at most as long as this one and agrees with it.
    fn join<T: AsRef<[u8]>>(&mut self, other: &Chain<R, T>) {
        for (i, theirs) in other.links.iter().enumerate() {
            bits::or(self.array_mut(i), other.array(i));
            self.count(i, theirs.items().min(MOST_ITEMS.saturating_sub(self.links[i].items())));
        }
    }

    /// Counts items of a link, up to the maximum sum of all links, as in files.
    fn count(&mut self, link: usize, items: u64) {
        *self.links[link].items_mut() += items.min(u64::MAX - self.items());
    }

    /// Appends an empty link.
    fn grow(&mut self) -> Result<(), Error> {
        let full = || Error::Full { format: R::FORMAT, keys: self.capacity() };
        let next = if self.links.len() < MOST_LINKS { self.rule.next(&self.links) } else { None };
        let link = next.filter(|_| self.grows()).ok_or_else(full)?;
        let bytes = ForeignFilter::bytes(self).saturating_add(R::LINK).saturating_add(link.bytes());
        check_limit(bytes, self.limit)?;
        self.arrays.push(empty(&self.rule, &link)?);
        self.remainders.push(Remainder::by(link.modulus()));
        self.links.push(link);
        Ok(())
    }
}

/// The most items of a merged link: the maximum of every system's count.
const MOST_ITEMS: u64 = i64::MAX as u64;

/// The most links of a chain. RedisBloom's end at 1,075, when half of the error rate is 0, and valkey-bloom's at 1,016.
/// A look-up reads all of them: a file with millions, of a byte each, would block a server for a second each time.
pub(crate) const MOST_LINKS: usize = 1 << 16;

/// Returns an error for an impossible number of links.
pub(crate) fn check_links(format: Format, links: u64) -> Result<(), Error> {
    check(format, "links", links, (1..=MOST_LINKS as u64).contains(&links), "1 to 65536")
}

/// The array of a link without keys.
fn empty<R: Rule>(rule: &R, link: &R::Link) -> Result<Bytes, Error> {
    let bytes = link.bytes().saturating_add(R::Link::FRONT as u64);
    let len = usize::try_from(bytes).map_err(|_| Error::OutOfMemory { bytes })?;
    let mut array = Bytes::zeroed_bits(len)?;
    rule.front(link, &mut array[..R::Link::FRONT]);
    Ok(array)
}

/// Returns an error that names the first of two lists of values that differs.
fn agree(left: Vec<(&'static str, Value)>, right: Vec<(&'static str, Value)>) -> Result<(), Error> {
    left.into_iter()
        .zip(right)
        .try_for_each(|((name, left), (_, right))| differ([name], [left], [right]))
}

impl<R: Rule, S: AsRef<[u8]>> Chain<R, S> {
    /// Makes a chain of links whose arrays, with their fronts, start in `content`.
    pub(crate) fn in_content(rule: R, links: Vec<R::Link>, content: S, starts: Vec<usize>) -> Self {
        let remainders = links.iter().map(|link| Remainder::by(link.modulus())).collect();
        let (arrays, limit) = (Vec::new(), u64::MAX);
        Self { rule, links, remainders, content, starts, arrays, limit }
    }

    /// Copies the filter; the copy owns its content and accepts keys.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<Chain<R>, Error> {
        let arrays = self.wholes().map(Bytes::copy_of_bits).collect::<Result<_, _>>()?;
        let copy = Chain::of(self.rule.clone(), self.links.clone(), arrays)?;
        Ok(Chain { limit: self.limit, ..copy })
    }

    /// The array of a link, with its front.
    #[inline]
    fn whole(&self, i: usize) -> &[u8] {
        match self.starts.get(i) {
            Some(start) => {
                let bytes = R::Link::FRONT + self.links[i].bytes() as usize;
                &self.content.as_ref()[*start..][..bytes]
            }
            None => &self.arrays[i - self.starts.len()],
        }
    }

    #[inline]
    pub(crate) fn array(&self, i: usize) -> &[u8] {
        &self.whole(i)[R::Link::FRONT..]
    }

    /// The arrays of all links with their fronts, oldest first.
    pub(crate) fn wholes(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.links.len()).map(|i| self.whole(i))
    }

    /// Returns the arrays of bits of its links, oldest first.
    pub fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.links.len()).map(|i| self.array(i))
    }

    /// Returns its links, oldest first; at least one.
    pub fn links(&self) -> &[R::Link] {
        &self.links
    }

    /// Returns whether the filter grows; one made as `NONSCALING` does not.
    pub fn grows(&self) -> bool {
        self.rule.grows()
    }

    /// Returns the planned keys of all links.
    pub fn capacity(&self) -> u64 {
        self.links.iter().fold(0, |keys, link| keys.saturating_add(link.capacity()))
    }

    /// Returns the items added, as the system counts them.
    pub fn items(&self) -> u64 {
        self.links.iter().fold(0, |items, link| items.saturating_add(link.items()))
    }

    fn measure(&self, i: usize) -> Measure {
        let link = &self.links[i];
        Measure::spread(self.array(i), link.modulus(), link.probes())
    }

    /// The arrays of links too large for the processor's first cache, and a key's positions there, oldest first: a
    /// chain may have a thousand small links with hundreds of probes each, but a lookup needs about two of these.
    #[inline]
    fn far(
        &self,
        hash: (u64, u64),
    ) -> impl DoubleEndedIterator<Item = (&[u8], impl Iterator<Item = u64>)> {
        let far = self.links.iter().enumerate().filter(|(_, link)| link.bytes() >= NEAR);
        far.map(move |(i, link)| (self.array(i), link.positions(self.remainders[i], hash)))
    }

    /// Prefetches the cache lines of the first `bits` of a key in each link.
    #[inline]
    fn prefetch(&self, hash: (u64, u64), bits: usize) {
        for (array, positions) in self.far(hash) {
            positions.take(bits).for_each(|position| Order::Bytes.prefetch(array, position));
        }
    }

    #[inline]
    fn holds(&self, hash: (u64, u64)) -> bool {
        self.links.iter().enumerate().rev().any(|(i, link)| {
            let array = self.array(i);
            let mut positions = link.positions(self.remainders[i], hash);
            positions.all(|position| Order::Bytes.get(array, position))
        })
    }
}

/// Keys on their way to a lookup or an insertion: first the cache lines of the first bits of each are prefetched, and
/// later the others, if the first are set. So an absent key of a full filter needs 3.3 of RedisBloom's eight lines, and
/// its lookup takes 54 ns instead of 97 (100 million keys, Zen 4).
struct Ahead {
    hashes: [Option<(u64, u64)>; Self::STEPS],
    step: usize,
    /// Whether keys are added: to the newest link, all of whose lines are needed.
    adds: bool,
}

impl Ahead {
    /// Bits that are read first.
    const FIRST: usize = 2;
    /// Steps from a key to its next part: RedisBloom's eight lines each keep all of a processor's line buffers busy. With 4
    /// or 16 steps, present keys take 3 % and 7 % longer.
    const PART: usize = 8;
    /// Steps of a key in all.
    const STEPS: usize = 2 * Self::PART;

    fn new(adds: bool) -> Self {
        Self { hashes: [None; Self::STEPS], step: 0, adds }
    }

    /// Takes the hash of the next key; `None` when there are no more. Returns the hash taken
    /// [`STEPS`](Self::STEPS) calls before.
    #[inline(always)]
    fn step<R: Rule, S: AsRef<[u8]>>(
        &mut self,
        chain: &Chain<R, S>,
        hash: Option<(u64, u64)>,
    ) -> Option<(u64, u64)> {
        if let Some(hash) = hash {
            chain.prefetch(hash, Self::FIRST);
        }
        let ready = std::mem::replace(&mut self.hashes[self.step % Self::STEPS], hash);
        if let Some(hash) = self.hashes[(self.step + Self::PART) % Self::STEPS] {
            for (i, (array, mut positions)) in chain.far(hash).rev().enumerate() {
                let mut first = positions.by_ref().take(Self::FIRST);
                if (self.adds && i == 0) || first.all(|at| Order::Bytes.get(array, at)) {
                    positions.for_each(|position| Order::Bytes.prefetch(array, position));
                }
            }
        }
        self.step += 1;
        ready
    }
}

/// Bytes of an array that fits the processor's first cache.
const NEAR: u64 = 16 << 10;

impl<R: Rule, S: AsRef<[u8]>> ForeignFilter for Chain<R, S> {
    fn format(&self) -> Format {
        R::FORMAT
    }

    fn scheme(&self) -> String {
        self.rule.scheme()
    }

    fn is_certain(&self) -> bool {
        true
    }

    fn contains(&self, key: Key<'_>) -> Result<bool, Error> {
        let hash = self.rule.hash(key.bytes(R::FORMAT)?);
        // Otherwise a wrong guess at the first bits delays the other cache misses.
        self.prefetch(hash, usize::MAX);
        Ok(self.holds(hash))
    }

    fn contains_all(&self, keys: &[Key<'_>], found: &mut [bool]) -> Result<(), Error> {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        let mut ahead = Ahead::new(false);
        let mut found = found.iter_mut();
        for i in 0..keys.len() + Ahead::STEPS {
            let key = keys.get(i).map(|key| key.bytes(R::FORMAT)).transpose()?;
            if let Some(hash) = ahead.step(self, key.map(|key| self.rule.hash(key)))
                && let Some(found) = found.next()
            {
                *found = self.holds(hash);
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        let bytes = |link: &R::Link| R::LINK.saturating_add(link.bytes());
        self.links.iter().fold(self.rule.bytes(), |sum, link| sum.saturating_add(bytes(link)))
    }

    fn measured(&self) -> Option<Measure> {
        (self.links.len() == 1).then(|| self.measure(0))
    }

    fn receipt(&self) -> Receipt {
        let part =
            |(i, link): (usize, &R::Link)| Part::new(self.measure(i), link.probes(), link.facts());
        let parts = self.links.iter().enumerate().map(part).collect();
        let least_bits = self.links.iter().map(ChainLink::modulus).min().unwrap_or(0);
        let probes = self.links.iter().fold(0u32, |sum, link| sum.saturating_add(link.probes()));
        let mut facts = self.rule.facts();
        facts.insert(0, Fact::new("items", umbel::Figure::Count(self.items())));
        let mut receipt = Receipt::of_parts(self, parts, facts);
        receipt.fpp = sampled_rate(&|key| self.contains(key), least_bits, probes, receipt.fpp);
        receipt
    }

    fn write_to(&self, out: &mut dyn Write) -> Result<(), Error> {
        R::write(self, out)
    }
}

impl<R: Rule> ForeignInsert for Chain<R> {
    fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    fn insert(&mut self, key: Key<'_>) -> Result<bool, Error> {
        let hash = self.rule.hash(key.bytes(R::FORMAT)?);
        self.prefetch(hash, usize::MAX);
        self.insert_hash(hash)
    }
}

impl<R: Rule, S> fmt::Debug for Chain<R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("rule", &self.rule).field("links", &self.links).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_those_of_division() {
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state ^ state >> 32
        };
        let edges = [1, 2, 3, 7, 64, 1152, (1 << 32) - 1, 1 << 32, (1 << 62) + 1, (1 << 63) - 1];
        let mut divisors = edges.to_vec();
        divisors.extend((0..1000).map(|i| (draw() >> (1 + i % 60)).max(1)));
        for divisor in divisors {
            let by = Remainder::by(divisor);
            let near = [0, 1, divisor - 1, divisor, u64::MAX, u64::MAX - divisor];
            let last = u64::MAX / divisor * divisor;
            for number in near.into_iter().chain([last, last - 1]).chain((0..20).map(|_| draw())) {
                assert_eq!(by.of(number), number % divisor, "{number} by {divisor}");
            }
        }
    }
}
