//! Which types are keys, and how they become hashes.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::rc::Rc;
#[cfg(target_has_atomic = "ptr")]
use alloc::sync::Arc;
use core::hash::{BuildHasher, Hash};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{ByHash, KeyHash, KeyHasher, Portable, Prehashed, mix};
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
/// | `Ipv4Addr`, `Ipv6Addr`, `IpAddr` | of the 4 or 16 bytes of the address, in network order; an address as a line of text is another key: its `to_string()` |
/// | [`KeyHash`] | the hash itself: it must have been computed under the filter's scheme |
/// | `&K`, `Box<K>`, `Rc<K>`, `Arc<K>`, `Cow<K>` | as `K` |
///
/// These are part of umbel's format: the same key has the same hash on every machine, in every version, and through every
/// front end that has its type.
///
/// Filters that hash by [`ByHash`] accept any type that implements [`std::hash::Hash`] (tuples, enums, `Uuid`, `Path`) and
/// stay in memory. Filters that hash by [`Prehashed`] accept only [`KeyHash`], [`Hash64`] and [`Mixed64`].
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no key of a filter that hashes by `{H}`",
    note = "for any type with `std::hash::Hash`, hash by `ByHash`: `Blocked::with_plan(&plan, ByHash::random())?`",
    note = "or implement `Key` for it, by bytes that are unique to each value"
)]
pub trait Key<H = KeyHasher> {
    /// Returns the key's hash.
    fn key_hash(&self, hasher: &H) -> KeyHash;

    /// Whether keys are [`KeyHash`]es: if so, code that hashes batches is not compiled.
    #[doc(hidden)]
    const ARE_HASHES: bool = false;

    /// Returns the hashes of keys that are hashes already.
    #[doc(hidden)]
    fn hashes(_: &[Self]) -> Hashes<'_>
    where
        Self: Sized,
    {
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
    Narrow(&'a [Mixed64]),
}

impl<H: Portable> Key<H> for KeyHash {
    #[inline(always)]
    fn key_hash(&self, _: &H) -> KeyHash {
        *self
    }

    const ARE_HASHES: bool = true;

    #[inline(always)]
    fn hashes(keys: &[Self]) -> Hashes<'_> {
        Hashes::Wide(keys)
    }
}

/// A 64-bit hash computed by the caller, of any quality: a key of [`Prehashed`] filters.
///
/// It is mixed first, by a bijection: an identity hash, such as Python's `hash` of an integer, would otherwise send all
/// keys to one block, and every absent key would pass. [`Mixed64`] skips this for hashes that are already mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash64(pub u64);

impl Key<Prehashed> for Hash64 {
    #[inline(always)]
    fn key_hash(&self, _: &Prehashed) -> KeyHash {
        KeyHash::from_u64(mix(self.0))
    }
}

/// A 64-bit hash computed by the caller and well mixed in all its bits, such as one of XXH3, converted by
/// [`KeyHash::from_u64`]: a key of [`Prehashed`] filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Mixed64(pub u64);

impl Key<Prehashed> for Mixed64 {
    #[inline(always)]
    fn key_hash(&self, _: &Prehashed) -> KeyHash {
        KeyHash::from_u64(self.0)
    }

    #[inline(always)]
    fn hashes(keys: &[Self]) -> Hashes<'_> {
        Hashes::Narrow(keys)
    }
}

impl<T: Hash + ?Sized, B: BuildHasher> Key<ByHash<B>> for T {
    #[inline(always)]
    fn key_hash(&self, hasher: &ByHash<B>) -> KeyHash {
        KeyHash::from_u64(mix(hasher.builder.hash_one(self)))
    }
}

/// Pointers to keys.
macro_rules! pointers {
    ($($(#[$attribute:meta])* $pointer:ty $(where K: $bound:path)?),* $(,)?) => {$(
        $(#[$attribute])*
        impl<H: Portable, K: Key<H> $(+ $bound)? + ?Sized> Key<H> for $pointer {
            #[inline(always)]
            fn key_hash(&self, hasher: &H) -> KeyHash {
                K::key_hash(self, hasher)
            }
        }
    )*};
}

pointers!(&K, Box<K>, Rc<K>, #[cfg(target_has_atomic = "ptr")] Arc<K>, Cow<'_, K> where K: ToOwned);

/// Keys of these types are hashed as `$bytes`.
macro_rules! keys {
    (|$key:ident| $bytes:expr => $($(const $number:ident in)? $type:ty),*) => {$(
        impl$(<const $number: usize>)? Key for $type {
            #[inline(always)]
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast)] // for some of the types
            fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
                let $key = self;
                hasher.hash_bytes(AsRef::<[u8]>::as_ref($bytes))
            }
        }
    )*};
}

keys!(|key| key => [u8], Vec<u8>, const N in [u8; N], str, String);
keys!(|key| key.encode_utf8(&mut [0; 4]) => char);
keys!(|key| &(*key as u64).to_le_bytes() => bool, u8, u16, u32, u64, usize);
keys!(|key| &(*key as i64).to_le_bytes() => i8, i16, i32, i64, isize);
keys!(|key| &key.to_le_bytes() => u128, i128);
keys!(|key| &key.octets() => Ipv4Addr, Ipv6Addr);

impl Key for IpAddr {
    #[inline]
    fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
        match self {
            Self::V4(address) => address.key_hash(hasher),
            Self::V6(address) => address.key_hash(hasher),
        }
    }
}
