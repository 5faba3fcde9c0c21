//! Prefixes in a filter alone: smaller, and a file like any other, with an error rate per look-up.

use super::lengths::Lengths;
use super::network::Network;
use super::suffixes::{LONGEST, labels, suffixes};
use crate::prelude::*;
use umbel::internals::check_field;
use umbel::internals::format::Family;
use umbel::{
    AnyFilter, Block, Blocked, Blocks, Error, FieldError, FileError, Filter, Hashing,
    KeyDescription, KeyHasher, Kind, Plan, PlanError,
};

/// The groups of lengths of a family: name, least, most. Part of the format.
fn groups(family: Family) -> &'static [(&'static str, u8, u8)] {
    match family {
        Family::Ip => &[("ipv4", 0, 32), ("ipv6", 0, 128)],
        Family::Domain => &[("labels", 1, 127)],
    }
}

/// The name of the entries with lengths. Part of the format.
const LENGTHS: &str = "lengths";

/// How a filter holds a list of prefixes: their family, and their lengths, which a look-up queries.
///
/// The key of a network is [`Network::key`]; a domain's key is its name: in lower case, in ASCII, without a dot at the
/// end. FORMAT.md, section 23, defines both, and the description in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixKeys {
    family: Family,
    /// IPv4 and IPv6, or labels and nothing.
    lengths: [Lengths; 2],
}

impl PrefixKeys {
    /// Makes the keys of an empty list.
    pub fn new(family: Family) -> Self {
        Self { family, lengths: Default::default() }
    }

    /// Returns the family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Adds the length of a prefix, by its key. Bytes that are not a key are ignored.
    pub fn insert(&mut self, key: &[u8]) {
        match self.family {
            Family::Ip => match Network::from_key(key) {
                Some(Network::V4(prefix)) => self.lengths[0].insert(prefix.length()),
                Some(Network::V6(prefix)) => self.lengths[1].insert(prefix.length()),
                None => {}
            },
            Family::Domain => {
                let Ok(name) = str::from_utf8(key) else { return };
                self.lengths[0].insert(labels(name));
            }
        }
    }

    /// Adds the lengths of many prefixes; see [`insert`](Self::insert).
    pub fn insert_all(&mut self, keys: &[&[u8]]) {
        keys.iter().for_each(|key| self.insert(key));
    }

    /// Adds the lengths of another list; returns whether it is of the same family.
    pub fn union(&mut self, other: &Self) -> bool {
        let same = self.family == other.family;
        if same {
            let pairs = self.lengths.iter_mut().zip(other.lengths);
            pairs.for_each(|(ours, theirs)| ours.union(theirs));
        }
        same
    }

    /// Returns the maximum number of keys that a look-up queries: for addresses, in the family with more lengths.
    pub fn max_lookups(&self) -> u32 {
        self.lengths.iter().map(Lengths::len).max().unwrap_or(0)
    }

    /// Returns the probability that a look-up passes wrongly if each query does with probability `fpp`: 1 − (1 − fpp)^q
    /// for q [queries](Self::max_lookups), the worst case.
    pub fn joint_fpp(&self, fpp: f64) -> f64 {
        -(f64::from(self.max_lookups()) * (-fpp).ln_1p()).exp_m1()
    }

    /// Returns the rate for a filter whose look-ups pass wrongly with a probability of at most `joint`.
    pub fn fpp_for(&self, joint: f64) -> f64 {
        let questions = f64::from(self.max_lookups().max(1));
        -((-joint).ln_1p() / questions).exp_m1()
    }

    /// Calls `ask` with the keys of all prefixes of a network that the list may have, the longest first, until it returns true;
    /// returns that prefix. The network itself is one of its prefixes.
    pub fn find_network(
        &self,
        network: Network,
        mut ask: impl FnMut(&[u8]) -> bool,
    ) -> Option<Network> {
        let lengths = match network {
            Network::V4(_) => self.lengths[0],
            Network::V6(_) => self.lengths[1],
        };
        let prefixes = lengths.iter().filter_map(|length| network.shortened(length));
        prefixes.into_iter().find(|prefix| ask(prefix.key().as_ref()))
    }

    /// As [`find_network`](Self::find_network), for a host and the domains above it. A host of more than 253 bytes, which DNS
    /// cannot carry, is under no domain: it could have any number of long ones.
    pub fn find_domain<'h>(
        &self,
        host: &'h str,
        mut ask: impl FnMut(&[u8]) -> bool,
    ) -> Option<&'h str> {
        if host.len() > LONGEST {
            return None;
        }
        suffixes(host, self.lengths[0]).find(|name| ask(name.as_bytes()))
    }

    /// Returns the description for a filter's file.
    ///
    /// # Errors
    /// Never: the lengths of all families fit.
    pub fn describe(&self) -> Result<KeyDescription, FieldError> {
        let mut keys = KeyDescription::default();
        keys.push("type", self.family.key_type())?;
        for ((group, ..), lengths) in groups(self.family).iter().zip(self.lengths) {
            let mut value = String::from(*group);
            let all: Vec<u8> = lengths.iter().collect();
            all.iter().rev().for_each(|length| value.push_str(&format!(" {length}")));
            if !lengths.is_empty() {
                keys.push(LENGTHS, &value)?;
            }
        }
        Ok(keys)
    }

    /// Reads a description; `None` if the filter holds no prefixes.
    ///
    /// # Errors
    /// [`FieldError`] for lengths that contradict FORMAT.md: a look-up with them would miss prefixes.
    pub fn of(keys: &KeyDescription) -> Result<Option<Self>, FieldError> {
        let Some(family) = keys.prefixes() else { return Ok(None) };
        let mut all = Self::new(family);
        for value in keys.values(LENGTHS) {
            let mut words = value.split(' ');
            let group = words.next();
            let groups = groups(family);
            let at = groups.iter().position(|(name, ..)| Some(*name) == group);
            let new = at.filter(|&at| all.lengths[at].is_empty());
            let once = "each group of lengths of its type at most once";
            check_field(LENGTHS, 0, new.is_some(), once)?;
            let at = new.expect("checked");
            let (_, least, most) = groups[at];
            let mut before = None;
            for word in words {
                let length: u8 = word.parse().unwrap_or(u8::MAX);
                let right = (least..=most).contains(&length) && before < Some(length);
                check_field(LENGTHS, length.into(), right, "lengths of the family, ascending")?;
                all.lengths[at].insert(length);
                before = Some(length);
            }
        }
        Ok(Some(all))
    }
}

/// A list of prefixes in a filter, with an error rate over all queries of a look-up together.
///
/// At a rate of 1 % and with 8 lengths a prefix takes 13.4 bits: each of the 8 queries has a rate of 0.13 %. Lists
/// with all lengths and with few differ little in size; [`PrefixKeys::fpp_for`] is the rate of a query.
///
/// ```
/// use umbel::Filter;
/// use umbel_net::prefixes::{Network, PrefixFilter};
///
/// let list = ["192.0.2.0/24", "2001:db8::/32"].map(|text| text.parse::<Network>().unwrap());
/// let filter = PrefixFilter::from_networks(&list, 0.01)?;
/// assert_eq!(filter.longest_network("192.0.2.77".parse()?), Some(list[0]));
///
/// // A file like any filter's.
/// let read = umbel::AnyFilter::from_bytes(&filter.filter().to_bytes())?;
/// let read = PrefixFilter::try_from(read)?;
/// assert!(read.fpp() <= 0.01 && read.longest_network("192.0.2.77".parse()?).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PrefixFilter<H: Hashing = KeyHasher, S: AsRef<[Block]> = Blocks> {
    filter: AnyFilter<H, S>,
    keys: PrefixKeys,
}

impl PrefixFilter {
    /// Makes a blocked filter of networks, whose look-ups pass wrongly with a probability of at most `fpp`.
    ///
    /// # Errors
    /// As [`Plan::for_keys`]; [`PlanError::OutOfMemory`].
    pub fn from_networks(networks: &[Network], fpp: f64) -> Result<Self, Error> {
        let keys: Vec<_> = networks.iter().map(|network| network.key()).collect();
        Self::of_keys(Family::Ip, &keys, fpp)
    }

    /// Makes a blocked filter of domains, in the form of [`Suffixes`](super::Suffixes), whose look-ups pass wrongly
    /// with a probability of at most `fpp`.
    ///
    /// # Errors
    /// As [`from_networks`](Self::from_networks).
    pub fn from_domains(domains: &[impl AsRef<str>], fpp: f64) -> Result<Self, Error> {
        let keys: Vec<_> = domains.iter().map(|name| name.as_ref().as_bytes()).collect();
        Self::of_keys(Family::Domain, &keys, fpp)
    }

    fn of_keys(family: Family, all: &[impl AsRef<[u8]>], fpp: f64) -> Result<Self, Error> {
        if !(fpp > 0.0 && fpp < 1.0) {
            return Err(PlanError::Fpp(fpp).into());
        }
        let mut keys = PrefixKeys::new(family);
        all.iter().for_each(|key| keys.insert(key.as_ref()));
        let plan = Plan::for_keys(Kind::Blocked, all.len().max(1) as u64, keys.fpp_for(fpp))?;
        let mut filter = Blocked::with_plan(&plan, KeyHasher::default())?;
        all.iter().for_each(|key| _ = filter.insert(key.as_ref()));
        filter.describe(keys.describe()?);
        Ok(Self { filter: AnyFilter::Blocked(filter), keys })
    }
}

impl<S: AsRef<[Block]>> PrefixFilter<KeyHasher, S> {
    /// Returns the longest prefix of a network or address that may be in the list. A listed one is never missed; a longer
    /// one may pass wrongly before it.
    pub fn longest_network(&self, network: Network) -> Option<Network> {
        self.keys.find_network(network, |key| self.filter.contains(key))
    }

    /// As [`longest_network`](Self::longest_network), for a host and the domains above it.
    pub fn longest_domain<'h>(&self, host: &'h str) -> Option<&'h str> {
        self.keys.find_domain(host, |key| self.filter.contains(key))
    }
}

impl<H: Hashing, S: AsRef<[Block]>> PrefixFilter<H, S> {
    /// Returns the filter, to write it to a file.
    pub fn filter(&self) -> &AnyFilter<H, S> {
        &self.filter
    }

    /// Returns the family and the lengths.
    pub fn keys(&self) -> &PrefixKeys {
        &self.keys
    }

    /// Returns the probability that a look-up of an unlisted key passes, from the filter's own bits, in the worst case:
    /// if it queries all lengths. One pass over the bits.
    pub fn fpp(&self) -> f64 {
        self.keys.joint_fpp(self.filter.receipt().fpp)
    }
}

impl<H: Hashing, S: AsRef<[Block]>> TryFrom<AnyFilter<H, S>> for PrefixFilter<H, S> {
    type Error = FileError;

    /// # Errors
    /// [`FileError::Field`] if the filter's description is not for prefixes.
    fn try_from(filter: AnyFilter<H, S>) -> Result<Self, FileError> {
        let keys = PrefixKeys::of(filter.description())?;
        check_field("type", 0, keys.is_some(), "the type ip-prefix or domain-suffix")?;
        Ok(Self { filter, keys: keys.expect("checked") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(entries: &[(&str, &str)]) -> KeyDescription {
        let mut keys = KeyDescription::default();
        entries.iter().for_each(|(name, value)| keys.push(name, value).unwrap());
        keys
    }

    /// A host of 200,000 bytes would query 10 GB of names.
    #[test]
    fn a_host_longer_than_hosts_are_is_under_no_domain() {
        let mut keys = PrefixKeys::new(Family::Domain);
        keys.insert(b"b");
        keys.insert(".".repeat(200).as_bytes());
        let bytes = |host: &str| {
            let mut bytes = 0;
            let found = keys.find_domain(host, |name| {
                bytes += name.len();
                name == b"b"
            });
            (found.map(str::len), bytes)
        };
        assert_eq!(bytes(&("a.".repeat(126) + "b")), (Some(1), 253 + 1));
        for labels in [127, 100_000] {
            assert_eq!(bytes(&("a.".repeat(labels) + "b")), (None, 0));
        }
    }

    #[test]
    fn descriptions_are_read_as_written_and_others_refused() {
        let mut all = PrefixKeys::new(Family::Ip);
        for text in ["0.0.0.0/0", "10.0.0.0/8", "1.2.3.4", "2001:db8::/32"] {
            all.insert(text.parse::<Network>().unwrap().key().as_ref());
        }
        let written = all.describe().unwrap();
        let entries: Vec<_> = written.entries().collect();
        let expected = [("type", "ip-prefix"), ("lengths", "ipv4 0 8 32"), ("lengths", "ipv6 32")];
        assert_eq!(entries, expected);
        assert_eq!(PrefixKeys::of(&written), Ok(Some(all)));
        assert_eq!(all.max_lookups(), 3);

        for other in [&[][..], &[("type", "text")], &[("type", "ip-prefix"), ("type", "u64")]] {
            assert_eq!(PrefixKeys::of(&keys(other)), Ok(None));
        }
        let refused =
            |entries: &[_]| assert!(PrefixKeys::of(&keys(entries)).is_err(), "{entries:?}");
        let wrong = "ipv5 1,ipv4 33,ipv4 8 8,ipv4 9 8,ipv4  8,ipv4 x,,labels 2,ipv4 256";
        for lengths in wrong.split(',') {
            refused(&[("type", "ip-prefix"), ("lengths", lengths)]);
        }
        refused(&[("type", "ip-prefix"), ("lengths", "ipv4 8"), ("lengths", "ipv4 16")]);
        refused(&[("type", "domain-suffix"), ("lengths", "labels 0")]);
    }

    #[test]
    fn the_joint_rate_is_that_of_all_questions() {
        let mut all = PrefixKeys::new(Family::Domain);
        for name in ["a", "b.a", "c.b.a", "d.c.b.a"] {
            all.insert(name.as_bytes());
        }
        let fpp = all.fpp_for(0.01);
        assert!((all.joint_fpp(fpp) - 0.01).abs() < 1e-15, "{fpp}");
        assert!((fpp - 0.0025).abs() < 1e-5, "{fpp}");
        let none = PrefixKeys::new(Family::Ip);
        assert_eq!((none.joint_fpp(0.5), none.fpp_for(0.5)), (0.0, 0.5));
    }
}
