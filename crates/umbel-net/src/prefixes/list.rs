//! A list of networks or domains, exactly or as a filter, and the keys that have a prefix in it.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, Ipv6Addr};

use umbel::{AnyFilter, FieldError, Filter, KeyHash, KeyHasher, PlanError};

use super::{Address, Family, Network, Prefix, PrefixKeys, Prefixes, Suffixes};
use crate::prelude::*;

/// The keys of a list that is being read; [`text`](super::text) makes them from lines.
#[derive(Debug)]
pub struct ListBuilder(Keys);

#[derive(Debug)]
enum Keys {
    Networks { four: Vec<(Prefix<Ipv4Addr>, ())>, six: Vec<(Prefix<Ipv6Addr>, ())>, bytes: u64 },
    Domains { names: String, ends: Vec<usize>, bytes: u64 },
}

impl ListBuilder {
    /// Starts an empty list.
    pub fn new(family: Family) -> Self {
        Self(match family {
            Family::Ip => Keys::Networks { four: Vec::new(), six: Vec::new(), bytes: 0 },
            Family::Domain => Keys::Domains { names: String::new(), ends: Vec::new(), bytes: 0 },
        })
    }

    /// Adds keys; if not `kept`, only to [`bytes`](Self::bytes). Bytes that are not a key are ignored.
    pub fn extend(&mut self, keys: &[&[u8]], kept: bool) {
        keys.iter().for_each(|key| self.push(key, kept));
    }

    fn push(&mut self, key: &[u8], kept: bool) {
        match &mut self.0 {
            Keys::Networks { four, six, bytes } => match Network::from_key(key) {
                Some(Network::V4(prefix)) => {
                    *bytes += 40;
                    kept.then(|| four.push((prefix, ())));
                }
                Some(Network::V6(prefix)) => {
                    *bytes += 90;
                    kept.then(|| six.push((prefix, ())));
                }
                None => {}
            },
            Keys::Domains { names, ends, bytes } => {
                let Ok(name) = str::from_utf8(key) else { return };
                *bytes += 80 + 3 * name.len() as u64;
                if kept {
                    names.push_str(name);
                    ends.push(names.len());
                }
            }
        }
    }

    /// Returns the most memory that the list uses while it is built: 40 bytes for a network of IPv4, 90 for one of IPv6, and for
    /// a domain 80 and three times its name; half of that when it is built.
    pub fn bytes(&self) -> u64 {
        let (Keys::Networks { bytes, .. } | Keys::Domains { bytes, .. }) = self.0;
        bytes
    }

    /// Builds the list.
    ///
    /// # Errors
    /// As [`Prefixes::new`] and [`Suffixes::new`].
    pub fn build(self) -> Result<PrefixList, PlanError> {
        // Such lists come from others, who could choose entries that collide in the table: each then passes all others.
        let hasher = KeyHasher::with_seed(RandomState::new().hash_one(0));
        Ok(PrefixList(match self.0 {
            Keys::Networks { four, six, .. } => List::Networks(Box::new(Networks {
                four: Prefixes::with_hasher(four, hasher.clone())?,
                six: Prefixes::with_hasher(six, hasher)?,
            })),
            Keys::Domains { names, ends, .. } => {
                let starts = core::iter::once(0).chain(ends.iter().copied());
                let all = starts.zip(&ends).map(|(start, &end)| (&names[start..end], ()));
                List::Domains(Suffixes::with_hasher(all, hasher)?)
            }
        }))
    }
}

/// Why a filter is not a list of prefixes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The description of its keys is damaged.
    #[error(transparent)]
    Description(#[from] FieldError),
    /// It holds other prefixes than those looked up, or none.
    #[error("the filter holds {filter}, not {wanted}; build a filter of {wanted}")]
    Other {
        /// Its keys, in words.
        filter: String,
        /// The family to look up.
        wanted: Family,
    },
}

/// The networks of both families.
#[derive(Debug)]
struct Networks {
    four: Prefixes<Ipv4Addr>,
    six: Prefixes<Ipv6Addr>,
}

/// A list of prefixes.
#[derive(Debug)]
pub struct PrefixList(List);

#[derive(Debug)]
enum List {
    Networks(Box<Networks>),
    Domains(Suffixes),
    /// Approximate.
    Filter(AnyFilter, PrefixKeys),
}

impl PrefixList {
    /// Uses a filter that was built from prefixes.
    ///
    /// # Errors
    /// [`ListError`].
    pub fn from_filter(filter: AnyFilter, family: Family) -> Result<Self, ListError> {
        let keys = PrefixKeys::of(filter.description())?;
        let other = |filter| Err(ListError::Other { filter, wanted: family });
        match keys {
            Some(keys) if keys.family() == family => Ok(Self(List::Filter(filter, keys))),
            Some(keys) => other(keys.family().to_string()),
            None => other("lines".to_owned()),
        }
    }

    /// Returns the bytes of memory that it uses.
    pub fn bytes(&self) -> u64 {
        match &self.0 {
            List::Networks(all) => all.four.bytes() + all.six.bytes(),
            List::Domains(names) => names.bytes(),
            List::Filter(filter, _) => filter.bytes(),
        }
    }

    /// Returns the number of different prefixes; for a filter, an estimate.
    pub fn len(&self) -> u64 {
        match &self.0 {
            List::Networks(all) => (all.four.len() + all.six.len()) as u64,
            List::Domains(names) => names.len() as u64,
            List::Filter(filter, _) => filter.estimated_len(),
        }
    }

    /// Returns whether it certainly has none.
    pub fn is_empty(&self) -> bool {
        self.filter().map_or_else(|| self.len() == 0, AnyFilter::is_empty)
    }

    /// Returns the filter, if it is one; `None` for a list read from text.
    pub fn filter(&self) -> Option<&AnyFilter> {
        let List::Filter(filter, _) = &self.0 else { return None };
        Some(filter)
    }

    /// Returns the probability that a line without a prefix in the list passes; `None` if the answer is exact.
    pub fn fpp(&self) -> Option<f64> {
        let List::Filter(filter, keys) = &self.0 else { return None };
        Some(keys.joint_fpp(filter.receipt().fpp))
    }

    /// Sets `found` for the keys that have a prefix in the list.
    pub fn find_all(&self, all: &[&[u8]], found: &mut [bool]) {
        let List::Filter(filter, keys) = &self.0 else {
            for (found, key) in found.iter_mut().zip(all) {
                *found = self.longest(key).is_some();
            }
            return;
        };
        // All queries of all keys together, to overlap cache misses.
        let mut questions: Vec<KeyHash> = Vec::new();
        let end = |key: &&[u8]| {
            find(keys, key, |key| {
                questions.push(filter.hasher().hash(key));
                false
            });
            questions.len()
        };
        let ends: Vec<usize> = all.iter().map(end).collect();
        let mut passed = vec![false; questions.len()];
        filter.contains_all(&questions, &mut passed);
        let mut start = 0;
        for (found, end) in found.iter_mut().zip(ends) {
            *found = passed[start..end].contains(&true);
            start = end;
        }
    }

    /// Returns the longest prefix of a key in the list, as text.
    pub fn longest<'k>(&self, key: &'k [u8]) -> Option<Cow<'k, str>> {
        match &self.0 {
            List::Networks(all) => match Network::from_key(key)? {
                Network::V4(network) => longest(&all.four, network),
                Network::V6(network) => longest(&all.six, network),
            },
            List::Domains(names) => {
                let host = str::from_utf8(key).ok()?;
                let (name, ()) = names.longest(host)?;
                Some(Cow::Borrowed(&host[host.len() - name.len()..]))
            }
            List::Filter(filter, keys) => find(keys, key, |key| filter.contains(key)),
        }
    }
}

/// The longest prefix of a key for which `ask` is true, as text.
fn find<'k>(
    keys: &PrefixKeys,
    key: &'k [u8],
    ask: impl FnMut(&[u8]) -> bool,
) -> Option<Cow<'k, str>> {
    match keys.family() {
        Family::Ip => {
            let network = keys.find_network(Network::from_key(key)?, ask)?;
            Some(Cow::Owned(network.to_string()))
        }
        Family::Domain => keys.find_domain(str::from_utf8(key).ok()?, ask).map(Cow::Borrowed),
    }
}

fn longest<A: Address>(list: &Prefixes<A>, network: Prefix<A>) -> Option<Cow<'static, str>> {
    let (prefix, ()) = match network.length() == A::BITS {
        true => list.longest(network.address())?,
        false => list.covering(network)?,
    };
    Some(Cow::Owned(prefix.to_string()))
}

#[cfg(test)]
mod tests {
    use umbel::internals::place;

    use super::*;

    /// With the unseeded hash, all would be in one run, where each passes all before it. With random hashes in a table
    /// at a load of α = 4/5, the longest run has about ln(n) / (α − 1 − ln α) = 420.
    #[test]
    fn entries_that_were_chosen_to_collide_lie_as_others() {
        const COUNT: usize = 16_000;
        const SLOTS: usize = COUNT + COUNT / 4 + 1;
        let slot = |name: &str| place(KeyHasher::default().hash(name).low, SLOTS as u64);
        let all = (0..).map(|i| format!("{i}.example"));
        let mut list = ListBuilder::new(Family::Domain);
        all.filter(|name| slot(name) < 500)
            .take(COUNT)
            .for_each(|name| list.push(name.as_bytes(), true));
        let List::Domains(names) = list.build().unwrap().0 else { panic!("domains") };
        let mut row = 0;
        let rows = (0..SLOTS).map(|slot| {
            row = if names.table.get(slot).is_some() { row + 1 } else { 0 };
            row
        });
        let longest = rows.max().unwrap();
        assert!((10..2000).contains(&longest), "{longest}");
    }
}
