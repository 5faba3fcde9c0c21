//! Prefixes of addresses with values: the exact answer.

use core::fmt;
use core::num::NonZeroU8;

use super::TABLE_FPP;
use super::address::{Address, Prefix};
use super::lengths::Lengths;
use super::table::Table;
use crate::prelude::*;
use umbel::{Blocked, Filter, KeyHasher, Kind, Plan, PlanError};

/// A fixed list of prefixes with values, which finds the longest one of an address.
///
/// See the [module](super) for how. With all routes of the Internet (1.07 million of IPv4, 176 thousand of IPv6) a look-up takes 65 to
/// 130 ns, which is mostly waiting for memory.
///
/// Memory, with values of 4 bytes: for IPv4, 15 bytes per prefix in the table, 1 in the filter and 2 to 4 in the array;
/// for IPv6, 30, 1 and 2 to 4. While it is built, also the list itself and two arrays.
///
/// If others can choose the list, its entries may collide in the table: give [`with_hasher`](Self::with_hasher) a
/// random hasher then. Addresses chosen by others cost at most a query per length.
#[derive(Clone)]
pub struct Prefixes<A: Address, V = ()> {
    /// By the first bits of an address.
    roots: Vec<Root>,
    root_bits: u8,
    /// The sets of lengths that roots have below them, each once.
    masks: Vec<A::Mask>,
    filter: Blocked,
    seed: u64,
    table: Table<Entry<A, V>>,
    lengths: Lengths,
    len: usize,
}

/// The entry for the first bits of an address: 8 bytes.
#[derive(Clone, Copy, Debug)]
struct Root {
    /// The slot of the longest prefix that all these addresses have, or `NONE`.
    best: u32,
    /// Which of the masks has the lengths of the prefixes that some of them have.
    below: u32,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Entry<A, V> {
    address: A,
    /// One more than the length: an empty slot then needs no byte of its own.
    length: NonZeroU8,
    value: V,
}

impl<A: Address, V> Entry<A, V> {
    fn length(&self) -> u8 {
        self.length.get() - 1
    }

    fn prefix(&self) -> Prefix<A> {
        Prefix::new(self.address, self.length()).expect("it was one")
    }
}

impl<A: Address, V> Prefixes<A, V> {
    /// Makes a list of prefixes and their values. If prefixes are equal, the last one counts.
    ///
    /// # Errors
    /// [`PlanError::OutOfMemory`]; [`PlanError::TooLarge`] from 2³¹ − 1 prefixes on.
    pub fn new(prefixes: impl IntoIterator<Item = (Prefix<A>, V)>) -> Result<Self, PlanError> {
        Self::with_hasher(prefixes, KeyHasher::default())
    }

    /// As [`new`](Self::new), with a hasher, for lists that others can choose.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_hasher(
        prefixes: impl IntoIterator<Item = (Prefix<A>, V)>,
        hasher: KeyHasher,
    ) -> Result<Self, PlanError> {
        let prefixes: Vec<_> = prefixes.into_iter().collect();
        let root_bits = root_bits(prefixes.len(), A::BITS);
        Self::with_root_bits(prefixes, root_bits, hasher)
    }

    /// With another size of the direct array, to measure it.
    fn with_root_bits(
        mut prefixes: Vec<(Prefix<A>, V)>,
        root_bits: u8,
        hasher: KeyHasher,
    ) -> Result<Self, PlanError> {
        // Short ones first: in the direct array, longer ones replace them. A stable sort keeps the order of equal ones.
        prefixes.sort_by_key(|(prefix, _)| (prefix.length(), prefix.address()));
        prefixes.reverse();
        prefixes.dedup_by_key(|(prefix, _)| *prefix);
        prefixes.reverse();
        let len = prefixes.len();
        if len >= NONE as usize / 2 {
            return Err(PlanError::TooLarge(len as f64 * 8.0));
        }
        let seed = hasher.hash("seed of a list").low;
        let all = prefixes.iter().map(|(prefix, _)| *prefix);
        let longer = all.filter(|prefix| prefix.length() > root_bits);
        let guards = guards(longer.clone(), root_bits);
        let keys = longer.count() + guards.len();
        let plan = Plan::for_keys(Kind::Blocked, keys.max(1) as u64, TABLE_FPP)?;
        let mut filter = Blocked::with_plan(&plan, hasher)?;
        for guard in guards {
            filter.insert(guard.address().tagged_hash(!guard.length(), seed));
        }
        let mut table = Table::for_entries(len);
        let mut lengths = Lengths::default();
        let mut best = vec![NONE; 1 << root_bits];
        let mut below = vec![A::Mask::default(); 1 << root_bits];
        for (prefix, value) in prefixes {
            let length = prefix.length();
            lengths.insert(length);
            let hash = prefix.address().tagged_hash(length, seed);
            let one_more = NonZeroU8::MIN.saturating_add(length);
            let entry = Entry { address: prefix.address(), length: one_more, value };
            let slot = table.insert(hash, entry);
            let root = prefix.address().top(root_bits);
            if length > root_bits {
                filter.insert(hash);
                below[root] = A::with(below[root], length);
            } else {
                best[root..root + (1 << (root_bits - length))].fill(slot as u32);
            }
        }
        let mut masks = below.clone();
        masks.sort_unstable();
        masks.dedup();
        // Of one mask per root, few are left.
        masks.shrink_to_fit();
        let root = |(best, below)| {
            let below = masks.binary_search(&below).expect("it has all") as u32;
            Root { best, below }
        };
        let roots = best.into_iter().zip(below).map(root).collect();
        Ok(Self { roots, root_bits, masks, filter, seed, table, lengths, len })
    }

    /// Returns the longest prefix of an address in the list, and its value.
    #[inline]
    pub fn longest(&self, address: A) -> Option<(Prefix<A>, &V)> {
        let root = self.roots[address.top(self.root_bits)];
        let mut below = self.unguarded(address, self.masks[root.below as usize]);
        while let Some(length) = A::take_longest(&mut below) {
            let masked = address.masked(length);
            let hash = masked.tagged_hash(length, self.seed);
            let is_it = |entry: &Entry<A, V>| entry.address == masked && entry.length() == length;
            if self.filter.contains(hash)
                && let Some(entry) = self.table.find(hash, is_it)
            {
                return Some((entry.prefix(), &entry.value));
            }
        }
        self.table.get(root.best as usize).map(|entry| (entry.prefix(), &entry.value))
    }

    /// The lengths that may be below an address: guards exclude the long ones where there are none.
    #[inline]
    fn unguarded(&self, address: A, below: A::Mask) -> A::Mask {
        for &guard in A::GUARDS.iter().filter(|&&guard| guard > self.root_bits) {
            let (several, shorter) = A::split(below, guard);
            if !several {
                break;
            }
            let hash = address.masked(guard).tagged_hash(!guard, self.seed);
            if !self.filter.contains(hash) {
                return shorter;
            }
        }
        below
    }

    /// Returns the longest prefix in the list that all addresses of another prefix have, and its value. Queries the
    /// table for each length.
    pub fn covering(&self, prefix: Prefix<A>) -> Option<(Prefix<A>, &V)> {
        let lengths = self.lengths.iter().filter(|&length| length <= prefix.length());
        let mut prefixes = lengths.filter_map(|length| Prefix::new(prefix.address(), length));
        prefixes.find_map(|shorter| Some((shorter, self.get(shorter)?)))
    }

    /// Returns the value of a prefix that is in the list itself.
    pub fn get(&self, prefix: Prefix<A>) -> Option<&V> {
        let hash = prefix.address().tagged_hash(prefix.length(), self.seed);
        self.table.find(hash, |entry| entry.prefix() == prefix).map(|entry| &entry.value)
    }

    /// Returns all prefixes and their values, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Prefix<A>, &V)> {
        self.table.entries().map(|entry| (entry.prefix(), &entry.value))
    }

    /// Returns the number of prefixes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the lengths that prefixes have.
    pub fn lengths(&self) -> Lengths {
        self.lengths
    }

    /// Returns how often a look-up of this address reads the table in vain, on average over filters like this one: once for
    /// each query that passes wrongly, before the answer or without one.
    ///
    /// The paper's expected false probes, section IV, except where the direct array shows that there is no such prefix.
    /// Cost: as [`longest`](Self::longest), and a pass over the filter's bits.
    pub fn false_probes(&self, address: A) -> f64 {
        let found = self.longest(address).map_or(0, |(prefix, _)| prefix.length());
        let below = self.masks[self.roots[address.top(self.root_bits)].below as usize];
        let mut below = self.unguarded(address, below);
        let asked = core::iter::from_fn(|| A::take_longest(&mut below));
        asked.filter(|&length| length > found).count() as f64 * self.filter.receipt().fpp
    }

    /// Returns the bytes of memory that it uses.
    pub fn bytes(&self) -> u64 {
        let roots = self.roots.len() * size_of::<Root>();
        let masks = self.masks.len() * size_of::<A::Mask>();
        (roots + masks) as u64 + self.filter.bytes() + self.table.bytes()
    }
}

impl<A: Address, V> fmt::Debug for Prefixes<A, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefixes").field("len", &self.len).field("lengths", &self.lengths).finish()
    }
}

/// The guards' keys: the first bits of each prefix that is longer than a guard, each once.
fn guards<A: Address>(prefixes: impl Iterator<Item = Prefix<A>>, root_bits: u8) -> Vec<Prefix<A>> {
    let of_one = |prefix: Prefix<A>| {
        let guards =
            A::GUARDS.iter().filter(move |&&guard| (root_bits..prefix.length()).contains(&guard));
        guards.filter_map(move |&guard| Prefix::new(prefix.address(), guard))
    };
    let mut guards: Vec<_> = prefixes.flat_map(of_one).collect();
    guards.sort_unstable();
    guards.dedup();
    guards
}

/// The first bits of an address that select a root: 8 bytes for every 2 to 4 prefixes, and at most 2¹⁸ roots, 2 MiB.
fn root_bits(prefixes: usize, bits: u8) -> u8 {
    let log = (prefixes / 2).checked_ilog2().unwrap_or(0) as u8;
    log.min(18).min(bits)
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;

    fn prefix(text: &str) -> Prefix<Ipv4Addr> {
        text.parse().unwrap()
    }

    #[test]
    fn an_empty_list_has_no_prefix_of_any_address() {
        let list = Prefixes::<Ipv4Addr>::new([]).unwrap();
        assert!(list.is_empty() && list.longest(Ipv4Addr::LOCALHOST).is_none());
    }

    #[test]
    fn every_number_of_root_bits_gives_the_same_answers() {
        let texts = ["10.0.0.0/8", "10.128.0.0/9", "10.129.0.0/16", "10.129.7.0/24", "10.129.7.9"];
        let all = || texts.iter().zip(0u32..).map(|(text, value)| (prefix(text), value)).collect();
        let under = ["10.1.1.1", "10.200.1.1", "10.129.1.1", "10.129.7.8", "10.129.7.9"];
        for bits in 0..=18 {
            let list = Prefixes::with_root_bits(all(), bits, KeyHasher::default()).unwrap();
            let found = |address: &str| Some(*list.longest(address.parse().unwrap())?.1);
            for (address, value) in under.into_iter().zip(0..) {
                assert_eq!(found(address), Some(value), "{address} with {bits} bits");
            }
            assert_eq!(found("11.0.0.0"), None, "{bits} bits");
        }
    }
}
