//! Finds the lines whose address or host has a prefix in a list, exactly or by a filter.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use umbel::{AnyFilter, KeyHash};
use umbel_net::prefixes::{Family, Network, Prefix, PrefixKeys, Prefixes, Suffixes};

use super::filter::Filter;
use super::room::room_beside;
use crate::input::Input;
use crate::scan::Lines;
use crate::{Error, Normalization, Options, PrefixText, Records, keys};

/// Reads which lengths the prefixes in `inputs` have, and how many there are. The options read lines as listed prefixes.
///
/// # Errors
/// Those of reading; [`Error::Prefix`].
pub fn survey_prefixes(
    inputs: &[Input],
    family: Family,
    options: &Options,
) -> Result<(PrefixKeys, u64), Error> {
    let room = room_beside(0, options)?;
    let (mut all, mut count) = (PrefixKeys::new(family), 0);
    keys(inputs, room, options, |lines| {
        lines.iter().for_each(|key| all.insert(key));
        count += lines.iter().len() as u64;
        Ok(())
    })?;
    Ok((all, count))
}

/// Those of both families.
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
    /// Reads a list from lines of text.
    ///
    /// Memory, at most: 40 bytes for a network of IPv4, 90 for one of IPv6, and for a domain 80 and three times its name;
    /// half of that when it is read.
    ///
    /// # Errors
    /// Those of reading; [`Error::Prefix`]; [`Error::Memory`], with a cap that suffices.
    pub fn read(inputs: &[Input], family: Family, options: &Options) -> Result<Self, Error> {
        let prefixes = Some(PrefixText { family, listed: true });
        let options = &Options {
            records: Records::Lines,
            normalization: Normalization { prefixes, ..Normalization::default() },
            ..options.clone()
        };
        let room = room_beside(0, options)?;
        match family {
            Family::Ip => networks(inputs, room, options),
            Family::Domain => domains(inputs, room, options),
        }
    }

    /// Uses a filter that was built from prefixes.
    ///
    /// # Errors
    /// [`Error::OtherPrefixes`]; [`Error::Filter`] for a description that is damaged.
    pub fn of_filter(filter: Filter, family: Family) -> Result<Self, Error> {
        let wanted = family.to_string();
        let Filter::Own(filter) = filter else {
            return Err(Error::OtherPrefixes {
                filter: "keys of another system".to_owned(),
                wanted,
            });
        };
        let keys = PrefixKeys::of(filter.description()).map_err(umbel::Error::from);
        match keys.map_err(Error::Filter)? {
            Some(keys) if keys.family() == family => Ok(Self(List::Filter(filter, keys))),
            Some(keys) => Err(Error::OtherPrefixes { filter: keys.family().to_string(), wanted }),
            None => Err(Error::OtherPrefixes { filter: "lines".to_owned(), wanted }),
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

    /// Returns the number of different prefixes; of a filter, an estimate.
    pub fn len(&self) -> u64 {
        match &self.0 {
            List::Networks(all) => (all.four.len() + all.six.len()) as u64,
            List::Domains(names) => names.len() as u64,
            List::Filter(filter, _) => filter.len(),
        }
    }

    /// Returns whether there are none, for certain.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            List::Filter(filter, _) => filter.is_empty(),
            _ => self.len() == 0,
        }
    }

    /// Returns the filter that it is; `None` for a text.
    pub fn filter(&self) -> Option<&AnyFilter> {
        match &self.0 {
            List::Filter(filter, _) => Some(filter),
            _ => None,
        }
    }

    /// Returns the probability that a line passes that has no prefix in the list; `None` if the answer is exact.
    pub fn fpp(&self) -> Option<f64> {
        match &self.0 {
            List::Filter(filter, keys) => Some(keys.joint_fpp(filter.receipt().fpp)),
            _ => None,
        }
    }

    /// Sets `found` for the lines whose key has a prefix in the list.
    pub(super) fn find_all(&self, lines: &Lines<'_>, found: &mut [bool]) {
        let List::Filter(filter, keys) = &self.0 else {
            for (i, found) in found.iter_mut().enumerate() {
                *found = self.find(lines.key(i)).is_some();
            }
            return;
        };
        // All questions of all lines together, so that cache misses overlap.
        let mut questions: Vec<KeyHash> = Vec::new();
        let ends: Vec<usize> = (0..lines.len())
            .map(|i| {
                find(keys, lines.key(i), |key| {
                    questions.push(filter.hasher().hash(key));
                    false
                });
                questions.len()
            })
            .collect();
        let mut passed = vec![false; questions.len()];
        filter.contains_all(&questions, &mut passed);
        let mut start = 0;
        for (found, end) in found.iter_mut().zip(ends) {
            *found = passed[start..end].contains(&true);
            start = end;
        }
    }

    /// The longest prefix of a key in the list, as text.
    pub(super) fn find<'k>(&self, key: &'k [u8]) -> Option<Cow<'k, str>> {
        match &self.0 {
            List::Networks(all) => match Network::of_key(key)? {
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
            let network = keys.find_network(Network::of_key(key)?, ask)?;
            Some(Cow::Owned(network.to_string()))
        }
        Family::Domain => keys.find_domain(str::from_utf8(key).ok()?, ask).map(Cow::Borrowed),
    }
}

fn longest<A: umbel_net::prefixes::Address>(
    list: &Prefixes<A>,
    network: Prefix<A>,
) -> Option<Cow<'static, str>> {
    let (prefix, ()) = match network.length() == A::BITS {
        true => list.longest(network.address())?,
        false => list.covering(network)?,
    };
    Some(Cow::Owned(prefix.to_string()))
}

fn networks(inputs: &[Input], room: u64, options: &Options) -> Result<PrefixList, Error> {
    let (mut four, mut six, mut bytes) = (Vec::new(), Vec::new(), 0);
    keys(inputs, room, options, |lines| {
        let fits = room_beside(bytes, options).is_ok();
        for network in lines.iter().filter_map(Network::of_key) {
            match network {
                Network::V4(prefix) => {
                    bytes += 40;
                    fits.then(|| four.push((prefix, ())));
                }
                Network::V6(prefix) => {
                    bytes += 90;
                    fits.then(|| six.push((prefix, ())));
                }
            }
        }
        Ok(())
    })?;
    // Only now is it known how much all of them need.
    room_beside(bytes, options)?;
    let all = Networks { four: Prefixes::new(four)?, six: Prefixes::new(six)? };
    Ok(PrefixList(List::Networks(Box::new(all))))
}

fn domains(inputs: &[Input], room: u64, options: &Options) -> Result<PrefixList, Error> {
    let (mut names, mut ends, mut bytes) = (String::new(), Vec::new(), 0);
    keys(inputs, room, options, |lines| {
        let fits = room_beside(bytes, options).is_ok();
        for name in lines.iter().filter_map(|key| str::from_utf8(key).ok()) {
            bytes += 80 + 3 * name.len() as u64;
            if fits {
                names.push_str(name);
                ends.push(names.len());
            }
        }
        Ok(())
    })?;
    room_beside(bytes, options)?;
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let all = starts.zip(&ends).map(|(start, &end)| (&names[start..end], ()));
    Ok(PrefixList(List::Domains(Suffixes::new(all)?)))
}
