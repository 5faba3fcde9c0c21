//! Addresses of a fixed number of bits, and their prefixes.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

use umbel::KeyHash;
use umbel::internals::{GOLDEN, mix};

/// An address that has prefixes: IPv4 or IPv6.
pub trait Address: Copy + Ord + fmt::Debug + fmt::Display + FromStr + sealed::Sealed {
    /// Bits of an address.
    const BITS: u8;

    /// Returns the address with all bits after the first `length` set to zero; itself from [`BITS`](Self::BITS) on.
    fn masked(self, length: u8) -> Self;
}

pub(super) mod sealed {
    use umbel::KeyHash;

    /// The properties and operations of an address that the structures need.
    pub trait Sealed: Copy {
        /// Lengths at which a list notes whether longer prefixes are below; ascending.
        const GUARDS: &'static [u8];

        /// The bytes of a key: the address and the length.
        type Key: AsRef<[u8]>;
        /// Lengths from 1 on, length n as bit n − 1.
        type Mask: Copy + Default + Eq + Ord;

        fn key(self, length: u8) -> Self::Key;
        /// A hash for lists in memory: twice as fast as hashing a key's bytes, and different for each tag.
        fn tagged_hash(self, tag: u8, seed: u64) -> KeyHash;
        /// The first `bits` bits, at most 24.
        fn top(self, bits: u8) -> usize;
        fn with(mask: Self::Mask, length: u8) -> Self::Mask;
        /// Whether there are several lengths above this one, and all other lengths.
        fn split(mask: Self::Mask, length: u8) -> (bool, Self::Mask);
        /// Removes and returns the greatest length.
        fn take_longest(mask: &mut Self::Mask) -> Option<u8>;
    }
}

macro_rules! address {
    ($address:ty, $bits:ty, $key:literal, $guards:expr) => {
        impl Address for $address {
            const BITS: u8 = <$bits>::BITS as u8;

            #[inline]
            fn masked(self, length: u8) -> Self {
                let spare = <$bits>::BITS.saturating_sub(length.into());
                let ones = <$bits>::MAX.checked_shl(spare).unwrap_or(0);
                Self::from_bits(self.to_bits() & ones)
            }
        }

        impl sealed::Sealed for $address {
            type Key = [u8; $key];
            type Mask = $bits;
            const GUARDS: &'static [u8] = &$guards;

            #[inline]
            fn tagged_hash(self, tag: u8, seed: u64) -> KeyHash {
                let bits = u128::from(self.to_bits());
                let word = match <$bits>::BITS {
                    128 => mix(seed ^ (bits >> 64) as u64) ^ bits as u64,
                    _ => seed ^ bits as u64,
                };
                KeyHash::from_u64(mix(word ^ u64::from(tag).wrapping_mul(GOLDEN)))
            }

            #[inline]
            fn key(self, length: u8) -> Self::Key {
                let mut key = [length; $key];
                key[..$key - 1].copy_from_slice(&self.octets());
                key
            }

            #[inline]
            fn top(self, bits: u8) -> usize {
                let spare = <$bits>::BITS - u32::from(bits);
                self.to_bits().checked_shr(spare).unwrap_or(0) as usize
            }

            #[inline]
            fn with(mask: $bits, length: u8) -> $bits {
                mask | 1 << (length - 1)
            }

            #[inline]
            fn split(mask: $bits, length: u8) -> (bool, $bits) {
                let longer = mask >> length;
                (longer & longer.wrapping_sub(1) != 0, mask ^ longer << length)
            }

            #[inline]
            fn take_longest(mask: &mut $bits) -> Option<u8> {
                let length = <$bits>::BITS - mask.leading_zeros();
                let bit = (1 as $bits).checked_shl(length.checked_sub(1)?)?;
                *mask ^= bit;
                Some(length as u8)
            }
        }
    };
}

address!(Ipv4Addr, u32, 5, [24]);
address!(Ipv6Addr, u128, 17, [24, 32, 40]);

/// A prefix: the first bits of addresses, a network in CIDR notation.
///
/// ```
/// use std::net::Ipv4Addr;
/// use umbel_net::prefixes::Prefix;
///
/// let prefix: Prefix<Ipv4Addr> = "192.0.2.77/24".parse()?;
/// assert_eq!(prefix.to_string(), "192.0.2.0/24", "bits after the prefix do not count");
/// assert!(prefix.contains("192.0.2.1".parse()?));
/// assert_eq!("192.0.2.77".parse::<Prefix<Ipv4Addr>>()?.length(), 32, "one address");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix<A> {
    address: A,
    length: u8,
}

impl<A: Address> Prefix<A> {
    /// Makes the prefix of an address with this many bits. Bits after it do not count; `None` for more bits than the address
    /// has.
    #[inline]
    pub fn new(address: A, length: u8) -> Option<Self> {
        (length <= A::BITS).then(|| Self { address: address.masked(length), length })
    }

    /// Makes the prefix of a single address.
    #[inline]
    pub fn of(address: A) -> Self {
        Self { address, length: A::BITS }
    }

    /// Returns its first address.
    #[inline]
    pub fn address(self) -> A {
        self.address
    }

    /// Returns its bits.
    #[inline]
    pub fn length(self) -> u8 {
        self.length
    }

    /// Returns whether an address has it.
    #[inline]
    pub fn contains(self, address: A) -> bool {
        address.masked(self.length) == self.address
    }

    pub(super) fn key(self) -> A::Key {
        self.address.key(self.length)
    }
}

impl<A: fmt::Display> fmt::Display for Prefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// A text is not a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an address, or an address/length with a length of at most {bits}")]
pub struct ParsePrefixError {
    bits: u8,
}

impl<A: Address> FromStr for Prefix<A> {
    type Err = ParsePrefixError;

    /// Reads `ADDRESS/LENGTH`, with up to three digits in the length and no sign, or `ADDRESS` alone for one address.
    fn from_str(text: &str) -> Result<Self, ParsePrefixError> {
        let wrong = ParsePrefixError { bits: A::BITS };
        let (address, length) = match text.split_once('/') {
            None => (text, A::BITS),
            Some((address, length)) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
                (address, length.parse().map_err(|_| wrong)?)
            }
            Some(_) => return Err(wrong),
        };
        Self::new(address.parse().map_err(|_| wrong)?, length).ok_or(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::sealed::Sealed;
    use super::*;

    #[test]
    fn bits_at_both_ends() {
        let four = Ipv4Addr::new(255, 255, 255, 255);
        assert_eq!(four.masked(0), Ipv4Addr::UNSPECIFIED);
        assert_eq!(four.masked(1), Ipv4Addr::new(128, 0, 0, 0));
        assert_eq!(four.masked(32), four);
        assert_eq!((four.top(0), four.top(1), four.top(16)), (0, 1, 0xffff));
        let six = Ipv6Addr::from_bits(u128::MAX);
        assert_eq!(six.masked(0), Ipv6Addr::UNSPECIFIED);
        assert_eq!(six.masked(128), six);
        assert_eq!((six.top(0), six.top(24)), (0, 0xff_ffff));
    }

    #[test]
    fn what_is_a_prefix_and_what_is_not() {
        for (text, shown) in [
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("10.1.2.3/32", "10.1.2.3/32"),
            ("10.1.2.3/08", "10.0.0.0/8"),
        ] {
            assert_eq!(text.parse::<Prefix<Ipv4Addr>>().unwrap().to_string(), shown);
        }
        for text in
            ["", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/+8", "::/0", "010.0.0.0/8"]
        {
            assert!(text.parse::<Prefix<Ipv4Addr>>().is_err(), "{text}");
        }
        let six: Prefix<Ipv6Addr> = "2001:DB8:0::1/32".parse().unwrap();
        assert_eq!(six.to_string(), "2001:db8::/32");
        assert!("::/129".parse::<Prefix<Ipv6Addr>>().is_err());
    }
}
