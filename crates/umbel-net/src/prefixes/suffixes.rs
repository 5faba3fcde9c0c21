//! Domains with values, and the hosts under them: the exact answer.

use core::fmt;
use core::num::NonZeroU8;

use super::TABLE_FPP;
use super::lengths::Lengths;
use super::table::Table;
use crate::prelude::*;
use umbel::{Blocked, Filter, KeyHasher, Kind, Plan, PlanError};

/// A fixed list of domains with values, which finds the longest one that a host is, or is under.
///
/// Names are compared as they are, so list and hosts must have the same form: in lower case, in ASCII (IDNA), without a dot at the end,
/// as `text::host` and `text::listed_domain` make it (feature `text`). The prefixes of the paper are suffixes here, and their
/// lengths count labels: `b.example` has length 2.
///
/// ```
/// use umbel_net::prefixes::Suffixes;
///
/// let list = Suffixes::new([("example.com", ()), ("ads.example.net", ())])?;
/// assert_eq!(list.longest("mail.example.com").unwrap().0, "example.com");
/// assert!(list.longest("example.net").is_none() && list.longest("badexample.com").is_none());
/// # Ok::<(), umbel::Error>(())
/// ```
///
/// Memory: the names, and 11 bytes per name with values of 4 bytes. While it is built, also the list itself.
#[derive(Clone)]
pub struct Suffixes<V = ()> {
    /// All names, one after the other.
    names: String,
    filter: Blocked,
    pub(super) table: Table<Entry<V>>,
    lengths: Lengths,
    len: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Entry<V> {
    start: u32,
    length: NonZeroU8,
    value: V,
}

impl<V> Entry<V> {
    #[inline]
    fn name<'a>(&self, names: &'a str) -> &'a str {
        &names[self.start as usize..][..self.length.get().into()]
    }
}

/// The maximum bytes of a name: the longest that DNS can carry.
pub(super) const LONGEST: usize = 253;

impl<V> Suffixes<V> {
    /// Makes a list of domains and their values. If domains are equal, the last one counts. Leaves out names that are
    /// empty or longer than 253 bytes, since hosts are never under them.
    ///
    /// # Errors
    /// [`PlanError::OutOfMemory`]; [`PlanError::TooLarge`] if all names have 2³² bytes or more.
    pub fn new<N: AsRef<str>>(
        domains: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, PlanError> {
        Self::with_hasher(domains, KeyHasher::default())
    }

    /// As [`new`](Self::new), with a hasher, for lists that others can choose.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_hasher<N: AsRef<str>>(
        domains: impl IntoIterator<Item = (N, V)>,
        hasher: KeyHasher,
    ) -> Result<Self, PlanError> {
        let is_name = |(name, _): &(N, V)| (1..=LONGEST).contains(&name.as_ref().len());
        let mut domains: Vec<_> = domains.into_iter().filter(is_name).collect();
        domains.sort_by(|(left, _), (right, _)| left.as_ref().cmp(right.as_ref()));
        domains.reverse();
        domains.dedup_by(|(left, _), (right, _)| left.as_ref() == right.as_ref());
        let len = domains.len();
        let bytes = domains.iter().map(|(name, _)| name.as_ref().len()).sum();
        if u32::try_from(bytes).is_err() {
            return Err(PlanError::TooLarge(bytes as f64 * 8.0));
        }
        let plan = Plan::for_keys(Kind::Blocked, len.max(1) as u64, TABLE_FPP)?;
        let mut all = Self {
            names: String::with_capacity(bytes),
            filter: Blocked::with_plan(&plan, hasher)?,
            table: Table::for_entries(len),
            lengths: Lengths::default(),
            len,
        };
        for (name, value) in domains {
            let name = name.as_ref();
            let hash = all.filter.hasher().hash(name);
            let length = NonZeroU8::new(name.len() as u8).expect("names are not empty");
            all.lengths.insert(labels(name));
            all.filter.insert(hash);
            all.table.insert(hash, Entry { start: all.names.len() as u32, length, value });
            all.names.push_str(name);
        }
        Ok(all)
    }

    /// Returns the longest domain in the list that the host is or is under, and its value.
    #[inline]
    pub fn longest(&self, host: &str) -> Option<(&str, &V)> {
        if host.len() > LONGEST {
            return None;
        }
        suffixes(host, self.lengths).find_map(|suffix| self.find(suffix))
    }

    /// Returns the value of a domain that is in the list itself.
    pub fn get(&self, domain: &str) -> Option<&V> {
        Some(self.find(domain)?.1)
    }

    #[inline]
    fn find(&self, name: &str) -> Option<(&str, &V)> {
        let hash = self.filter.hasher().hash(name);
        if !self.filter.contains(hash) {
            return None;
        }
        let entry = self.table.find(hash, |entry| entry.name(&self.names) == name)?;
        Some((entry.name(&self.names), &entry.value))
    }

    /// Returns all domains and their values, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.table.entries().map(|entry| (entry.name(&self.names), &entry.value))
    }

    /// Returns the number of domains.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the numbers of labels that domains have.
    pub fn lengths(&self) -> Lengths {
        self.lengths
    }

    /// Returns the bytes of memory that it uses.
    pub fn bytes(&self) -> u64 {
        self.names.len() as u64 + self.filter.bytes() + self.table.bytes()
    }
}

impl<V> fmt::Debug for Suffixes<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suffixes").field("len", &self.len).field("lengths", &self.lengths).finish()
    }
}

/// How many labels a name has, at most 127: a name of 253 bytes has no more, unless some are empty.
pub(super) fn labels(name: &str) -> u8 {
    length(1 + name.bytes().filter(|&byte| byte == b'.').count())
}

fn length(labels: usize) -> u8 {
    labels.min(127) as u8
}

/// The host and the domains above it that have one of these numbers of labels, the longest first.
#[inline]
pub(super) fn suffixes(host: &str, lengths: Lengths) -> impl Iterator<Item = &str> {
    let mut labels = 1 + host.bytes().filter(|&byte| byte == b'.').count();
    let mut rest = (!host.is_empty()).then_some(host);
    core::iter::from_fn(move || {
        loop {
            let name = rest?;
            rest = name.split_once('.').map(|(_, above)| above);
            let asked = lengths.contains(length(labels));
            labels -= 1;
            if asked {
                return Some(name);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_labels_count() {
        let list = Suffixes::new([("b.example", 1), ("a.b.example", 2), ("test", 3)]).unwrap();
        let found = |host| list.longest(host).map(|(name, value)| (name, *value));
        assert_eq!(found("b.example"), Some(("b.example", 1)));
        assert_eq!(found("x.a.b.example"), Some(("a.b.example", 2)));
        assert_eq!(found("a-b.example"), None);
        assert_eq!(found("example"), None);
        assert_eq!(found("very.long.name.under.test"), Some(("test", 3)));
        assert_eq!(found(""), None);
        assert_eq!(list.get("test"), Some(&3));
        assert_eq!(list.get("a.test"), None);
        assert_eq!(list.lengths().iter().collect::<Vec<_>>(), [3, 2, 1]);
    }

    #[test]
    fn the_last_of_equal_domains_counts_and_impossible_names_do_not() {
        let long = "x".repeat(254);
        let names = [("a.example", 1), ("", 2), ("a.example", 3), (&long, 4)];
        let list = Suffixes::new(names).unwrap();
        assert_eq!((list.len(), list.get("a.example")), (1, Some(&3)));
        assert!(list.longest(&long).is_none());
        let none = Suffixes::<()>::new([("", ())]).unwrap();
        assert!(none.is_empty() && none.longest("a.example").is_none());
    }

    #[test]
    fn names_of_dots_are_asked_label_by_label() {
        let all: Lengths = (1..=128).collect();
        assert_eq!(suffixes("a..b", all).collect::<Vec<_>>(), ["a..b", ".b", "b"]);
        let dots = ".".repeat(252);
        assert_eq!(suffixes(&dots, all).next(), Some(&*dots));
    }
}
