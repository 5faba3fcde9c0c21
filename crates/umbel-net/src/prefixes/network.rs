//! Networks of either family, as in lists of addresses.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

use super::address::{ParsePrefixError, Prefix};

/// A prefix of IPv4 or of IPv6 addresses. IPv4-mapped IPv6 addresses are IPv4 addresses.
///
/// ```
/// use umbel_net::prefixes::Network;
///
/// assert_eq!("::ffff:192.0.2.1".parse::<Network>()?, "192.0.2.1/32".parse()?);
/// assert_eq!("::ffff:192.0.2.0/120".parse::<Network>()?.to_string(), "192.0.2.0/24");
/// assert_eq!("2001:DB8::/32".parse::<Network>()?.to_string(), "2001:db8::/32");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network {
    /// Of IPv4.
    V4(Prefix<Ipv4Addr>),
    /// Of IPv6.
    V6(Prefix<Ipv6Addr>),
}

/// The length of `::ffff:0:0/96`, the prefix of IPv4-mapped addresses.
const MAPPED: u8 = 96;

impl Network {
    /// Makes the network of an address with this many bits; `None` for more than the address has.
    ///
    /// A network that holds all IPv4-mapped addresses and others is an IPv6 network, without their IPv4 addresses.
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        match address {
            IpAddr::V4(address) => Prefix::new(address, length).map(Self::V4),
            IpAddr::V6(address) => match (address.to_ipv4_mapped(), length.checked_sub(MAPPED)) {
                (Some(address), Some(length)) => Prefix::new(address, length).map(Self::V4),
                _ => Prefix::new(address, length).map(Self::V6),
            },
        }
    }

    /// Returns its bits.
    pub fn length(self) -> u8 {
        match self {
            Self::V4(prefix) => prefix.length(),
            Self::V6(prefix) => prefix.length(),
        }
    }

    /// Returns the network of fewer bits around it; `None` for more bits than it has.
    pub fn shortened(self, length: u8) -> Option<Self> {
        match self {
            _ if length > self.length() => None,
            Self::V4(prefix) => Prefix::new(prefix.address(), length).map(Self::V4),
            Self::V6(prefix) => Prefix::new(prefix.address(), length).map(Self::V6),
        }
    }

    /// Returns whether it is one address.
    pub fn is_address(self) -> bool {
        match self {
            Self::V4(prefix) => prefix.length() == Ipv4Addr::BITS as u8,
            Self::V6(prefix) => prefix.length() == Ipv6Addr::BITS as u8,
        }
    }

    /// Returns its key in filters: the bytes of its first address and its length, 5 or 17 bytes.
    pub fn key(self) -> NetworkKey {
        match self {
            Self::V4(prefix) => {
                let mut bytes = [0; LONGEST_KEY];
                bytes[..5].copy_from_slice(&prefix.key());
                NetworkKey { bytes, length: 5 }
            }
            Self::V6(prefix) => NetworkKey { bytes: prefix.key(), length: LONGEST_KEY },
        }
    }

    /// Returns the network with this key; `None` if the key is invalid.
    pub fn from_key(key: &[u8]) -> Option<Self> {
        let (&length, octets) = key.split_last()?;
        let network = if let Ok(octets) = <[u8; 4]>::try_from(octets) {
            Prefix::new(octets.into(), length).map(Self::V4)
        } else {
            Prefix::new(<[u8; 16]>::try_from(octets).ok()?.into(), length).map(Self::V6)
        };
        network.filter(|network| network.key().as_ref() == key)
    }
}

const LONGEST_KEY: usize = 17;

/// The key of a [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkKey {
    bytes: [u8; LONGEST_KEY],
    length: usize,
}

impl AsRef<[u8]> for NetworkKey {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(Prefix::of(address)),
            IpAddr::V6(address) => Self::V6(Prefix::of(address)),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(prefix) => prefix.fmt(f),
            Self::V6(prefix) => prefix.fmt(f),
        }
    }
}

impl FromStr for Network {
    type Err = ParsePrefixError;

    /// Reads the same text as [`Prefix`], for either family.
    fn from_str(text: &str) -> Result<Self, ParsePrefixError> {
        if !text.contains(':') {
            return text.parse().map(Self::V4);
        }
        let prefix: Prefix<Ipv6Addr> = text.parse()?;
        let made = Self::new(prefix.address().into(), prefix.length());
        Ok(made.expect("it has no more bits than an address"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_networks_are_one_to_one() {
        for text in ["0.0.0.0/0", "10.0.0.0/8", "1.2.3.4/32", "::/0", "2001:db8::/32", "::1/128"] {
            let network: Network = text.parse().unwrap();
            assert_eq!(Network::from_key(network.key().as_ref()), Some(network), "{text}");
            assert_eq!(network.to_string(), text);
        }
        let with_host_bits = [10, 0, 0, 1, 8];
        for key in [&with_host_bits[..], &[1, 2, 3, 4, 33], &[1, 2, 3, 4], &[]] {
            assert_eq!(Network::from_key(key), None, "{key:?}");
        }
    }

    #[test]
    fn only_networks_of_mapped_addresses_alone_are_mapped() {
        let read = |text: &str| text.parse::<Network>().unwrap().to_string();
        assert_eq!(read("::ffff:1.2.3.4"), "1.2.3.4/32");
        assert_eq!(read("::ffff:0:0/96"), "0.0.0.0/0");
        assert_eq!(read("::ffff:0:0/95"), "::fffe:0:0/95");
        assert_eq!(read("::/0"), "::/0");
    }

    #[test]
    fn a_network_is_shortened_and_not_lengthened() {
        let network: Network = "10.9.8.0/24".parse().unwrap();
        assert_eq!(network.shortened(8).unwrap().to_string(), "10.0.0.0/8");
        assert_eq!(network.shortened(24), Some(network));
        assert_eq!(network.shortened(25), None);
    }
}
