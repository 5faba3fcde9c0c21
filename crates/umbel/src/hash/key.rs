//! Which types are keys, and how they become hashes.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::rc::Rc;
#[cfg(target_has_atomic = "ptr")]
use alloc::sync::Arc;
use core::hash::Hasher;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{KeyHash, KeyHasher, Prehashed, Scheme};
use crate::prelude::*;

/// A type whose values are keys of filters that hash by `H`.
///
/// | type | hash under [`KeyHasher`] |
/// |---|---|
/// | `str`, `String`, `[u8]`, `[u8; N]`, `Vec<u8>` | of the bytes, without their number or an end |
/// | `char` | of its UTF-8: `'a'` and `"a"` are one key |
/// | integers up to 64 bits | of 8 little-endian bytes, negative ones in two's complement: `7u8` and `7i64` are one key |
/// | `u128`, `i128` | of 16 little-endian bytes |
/// | `bool` | as the integers 0 and 1 |
/// | `Ipv4Addr`, `Ipv6Addr`, `IpAddr` | of the 4 or 16 bytes of the address, in network order; an address that was a line of text is another key, that of its `to_string()` |
/// | [`KeyHash`] | the hash itself: it must have been computed under the filter's scheme |
/// | [`ByHash`]: tuples, and whatever implements [`std::hash::Hash`] | of the bytes that a value feeds to a hasher: **not portable** between programs |
/// | `&K`, `Box<K>`, `Rc<K>`, `Arc<K>`, `Cow<K>` | as `K` |
///
/// All but [`ByHash`] are part of umbel's format: the same key has the same hash on every machine, in every version, and
/// through every front end that has its type.
///
/// Filters that hash by [`Prehashed`] accept only [`KeyHash`] and [`Hash64`].
///
/// Implement it for a type of your own through the hash of bytes that are unique to each value:
///
/// ```
/// use umbel::{Blocked, Key, KeyHash, KeyHasher};
///
/// struct Flow { source: u32, port: u16 }
///
/// impl Key for Flow {
///     fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
///         (u64::from(self.source) << 16 | u64::from(self.port)).key_hash(hasher)
///     }
/// }
///
/// let mut seen = Blocked::new(1_000, 0.01)?;
/// assert!(seen.insert(Flow { source: 0x7f00_0001, port: 443 }));
/// # Ok::<(), umbel::Error>(())
/// ```
pub trait Key<H = KeyHasher> {
    /// Returns the key's hash.
    fn key_hash(&self, hasher: &H) -> KeyHash;

    /// Whether keys are [`KeyHash`]es: code that hashes batches is then not compiled.
    #[doc(hidden)]
    const ARE_HASHES: bool = false;

    /// Returns the hashes of keys that are hashes already.
    #[doc(hidden)]
    fn hashes(keys: &[Self]) -> Hashes<'_>
    where
        Self: Sized,
    {
        let _ = keys;
        Hashes::ToMake
    }
}

/// The hashes of a batch, if the keys are hashes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Hashes<'a> {
    /// To be computed key by key.
    ToMake,
    Wide(&'a [KeyHash]),
    Narrow(&'a [Hash64]),
}

/// Keys that are hashes, for filters that look keys up.
macro_rules! hashes {
    ($($hasher:ty),*) => {$(
        impl Key<$hasher> for KeyHash {
            #[inline(always)]
            fn key_hash(&self, _: &$hasher) -> KeyHash {
                *self
            }

            const ARE_HASHES: bool = true;

            #[inline(always)]
            fn hashes(keys: &[Self]) -> Hashes<'_> {
                Hashes::Wide(keys)
            }
        }
    )*};
}

hashes!(KeyHasher, Prehashed, Scheme);

/// A 64-bit hash computed by the caller, converted by [`KeyHash::from_u64`]: a key of [`Prehashed`] filters.
///
/// The hash must be well mixed in all its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Hash64(pub u64);

impl Key<Prehashed> for Hash64 {
    #[inline(always)]
    fn key_hash(&self, _: &Prehashed) -> KeyHash {
        KeyHash::from_u64(self.0)
    }

    #[inline(always)]
    fn hashes(keys: &[Self]) -> Hashes<'_> {
        Hashes::Narrow(keys)
    }
}

/// Keys that point to another.
macro_rules! pointers {
    ($($(#[$attribute:meta])* $pointer:ty),* $(,)?) => {$(
        $(#[$attribute])*
        impl<H, K: Key<H> + ?Sized> Key<H> for $pointer {
            #[inline(always)]
            fn key_hash(&self, hasher: &H) -> KeyHash {
                K::key_hash(self, hasher)
            }
        }
    )*};
}

pointers!(&K, Box<K>, Rc<K>, #[cfg(target_has_atomic = "ptr")] Arc<K>);

impl<H, K: Key<H> + ToOwned + ?Sized> Key<H> for Cow<'_, K> {
    #[inline(always)]
    fn key_hash(&self, hasher: &H) -> KeyHash {
        K::key_hash(self, hasher)
    }
}

/// Keys whose bytes are hashed.
macro_rules! bytes {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => {$(
        impl<$($generics)*> Key for $type {
            #[inline(always)]
            fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
                hasher.hash_bytes(AsRef::<[u8]>::as_ref(self))
            }
        }
    )*};
}

bytes!([] [u8], [] Vec<u8>, [const N: usize] [u8; N], [] str, [] String);

impl Key for char {
    #[inline]
    fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
        hasher.hash_bytes(self.encode_utf8(&mut [0; 4]).as_bytes())
    }
}

impl Key for bool {
    #[inline(always)]
    fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
        u64::from(*self).key_hash(hasher)
    }
}

/// Addresses, by their bytes in network order.
macro_rules! addresses {
    ($($address:ty),*) => {$(
        impl Key for $address {
            #[inline(always)]
            fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
                hasher.hash_bytes(&self.octets())
            }
        }
    )*};
}

addresses!(Ipv4Addr, Ipv6Addr);

impl Key for IpAddr {
    #[inline]
    fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
        match self {
            Self::V4(address) => address.key_hash(hasher),
            Self::V6(address) => address.key_hash(hasher),
        }
    }
}

/// Keys that are integers, widened to `$wide`.
macro_rules! integers {
    ($wide:ty: $($type:ty),*) => {$(
        impl Key for $type {
            #[inline(always)]
            fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
                #[allow(clippy::cast_lossless)] // of some types it is none
                hasher.hash_bytes(&(*self as $wide).to_le_bytes())
            }
        }
    )*};
}

integers!(u64: u8, u16, u32, u64, usize);
integers!(i64: i8, i16, i32, i64, isize);
integers!(u128: u128);
integers!(i128: i128);

/// A key of any type that implements [`std::hash::Hash`], identified by the bytes that this feeds to a hasher.
///
/// **Not portable:** the type, the compiler and the machine decide which bytes these are. Such keys are found only by
/// the same build of the same program, so use them for filters that stay in memory.
///
/// ```
/// use umbel::{Blocked, ByHash};
///
/// let mut seen = Blocked::new(1_000, 0.01)?;
/// seen.insert(ByHash((3, "three")));
/// assert!(seen.contains(ByHash((3, "three"))) && !seen.contains(ByHash((4, "three"))));
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByHash<T>(pub T);

impl<T: core::hash::Hash> Key for ByHash<T> {
    #[inline]
    fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
        let mut value = KeyBytes { hasher, bytes: [0; BUFFER], length: 0 };
        self.0.hash(&mut value);
        hasher.hash_bytes(&value.bytes[..value.length])
    }
}

/// Bytes collected before they are hashed: most keys are shorter.
const BUFFER: usize = 128;

/// The bytes that a [`std::hash::Hash`] feeds. If they do not fit, they are replaced by their hash.
struct KeyBytes<'a> {
    hasher: &'a KeyHasher,
    bytes: [u8; BUFFER],
    length: usize,
}

impl Hasher for KeyBytes<'_> {
    #[inline]
    fn write(&mut self, mut bytes: &[u8]) {
        while bytes.len() > BUFFER - self.length {
            let (now, later) = bytes.split_at(BUFFER - self.length);
            self.bytes[self.length..].copy_from_slice(now);
            let KeyHash { high, low } = self.hasher.hash_bytes(&self.bytes);
            self.bytes[..8].copy_from_slice(&high.to_le_bytes());
            self.bytes[8..16].copy_from_slice(&low.to_le_bytes());
            (self.length, bytes) = (16, later);
        }
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    // Numbers are little-endian on any machine, like integer keys.

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.write(&number.to_le_bytes());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write(&number.to_le_bytes());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.write(&number.to_le_bytes());
    }

    #[inline]
    fn write_u128(&mut self, number: u128) {
        self.write(&number.to_le_bytes());
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    /// Never called.
    fn finish(&self) -> u64 {
        self.hasher.hash_bytes(&self.bytes[..self.length]).high
    }
}
