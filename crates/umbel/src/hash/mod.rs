//! From key bytes to a 128-bit [`KeyHash`], under a named scheme.
//!
//! Every front end of umbel hashes a key here, once; everything after works on the hash. A scheme is a numbered
//! algorithm with a seed or a secret. It is written in every file and compared at every merge, since filters of two
//! schemes have no hashes in common.
//!
//! Why 128 bits: an absent key has the b-bit hash of one of n keys with probability n·2⁻ᵇ. At n = 10⁹ and fpp 1e-9 a
//! 64-bit hash would add 5.4e-11, more than 5 % of the rate; 128 bits add 3e-30.

mod by_hash;
mod key;
pub(crate) mod mix;
mod xxh3;

use core::fmt;
use core::str::FromStr;

use siphasher::sip128::SipHasher13;

use crate::prelude::*;
use crate::text::{digits, read_text, write_text};

pub(crate) use mix::{GOLDEN, mix, nth_word};

pub use by_hash::ByHash;
pub(crate) use key::Hashes;
pub use key::{Hash64, Key, Mixed64};

/// The 128-bit hash of a key: all that a filter ever sees of it.
///
/// `high` selects the block, `low` the bits inside it, so the two choices use disjoint hash bits. The classic kind uses
/// both for every probe. The two halves are the whole hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct KeyHash {
    /// Upper 64 bits; uniform over the whole range.
    pub high: u64,
    /// Lower 64 bits; uniform and independent of `high`.
    pub low: u64,
}

impl KeyHash {
    /// Converts a 128-bit hash computed elsewhere; both halves must be well mixed.
    #[inline]
    pub const fn from_u128(hash: u128) -> Self {
        Self { high: (hash >> 64) as u64, low: hash as u64 }
    }

    /// Returns both halves as one number: the inverse of [`from_u128`](Self::from_u128).
    #[doc(hidden)]
    #[inline]
    pub const fn to_u128(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    /// Converts a 64-bit hash computed elsewhere: `high` is the hash, `low` its product with an odd constant, rotated
    /// to make the bits used first depend on most bits of the hash.
    ///
    /// Two keys with equal 64-bit hashes are one key to the filter, which adds n·2⁻⁶⁴ to the rate: under 1 % of it as
    /// long as n/fpp is below 1.8e17. The hash must be well mixed.
    #[inline]
    pub const fn from_u64(hash: u64) -> Self {
        // One multiplication, not a full mix: this is a tenth of the cost of a query in cache.
        Self { high: hash, low: hash.wrapping_mul(GOLDEN).rotate_right(16) }
    }

    /// Returns the key's hash in part `n` of a filter whose parts hash it differently: part 0 uses it unchanged. Counts
    /// down where the blocked kind counts up from the low half, so no two parts share a word. Part of the format.
    #[doc(hidden)]
    #[inline]
    pub const fn in_part(self, n: u64) -> Self {
        if n == 0 {
            return self;
        }
        let step = n.wrapping_mul(GOLDEN);
        Self { high: mix(self.high.wrapping_sub(step)), low: mix(self.low.wrapping_sub(step)) }
    }
}

/// A hash algorithm, by its number in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum Algorithm {
    /// XXH3, 128 bits, with a 64-bit seed: the default; fast, not for hostile keys.
    Xxh3 = 1,
    /// SipHash-1-3, 128 bits, under a 16-byte secret: for untrusted keys.
    Sip13 = 2,
    /// Hashes computed by the caller: see [`Prehashed`].
    Caller = 3,
    /// A hasher that only this program has: see [`ByHash`]. Never in a file.
    InMemory = u16::MAX,
}

impl Algorithm {
    pub(crate) fn from_id(id: u16) -> Option<Self> {
        [Self::Xxh3, Self::Sip13, Self::Caller].into_iter().find(|&own| own as u16 == id)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Xxh3 => "xxh3-128",
            Self::Sip13 => "siphash-1-3-128",
            Self::Caller => "hashes of the caller",
            Self::InMemory => "a hasher in memory",
        })
    }
}

/// The identity of a way of hashing: equal schemes give equal hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Scheme {
    /// The algorithm.
    #[doc(hidden)]
    pub algorithm: Algorithm,
    /// Its seed; 0 if the algorithm is keyed; for hashes computed by the caller, the id of their function.
    #[doc(hidden)]
    pub seed: u64,
    /// The id of the secret; 0 if the algorithm is not keyed.
    #[doc(hidden)]
    pub key_id: u64,
}

impl Scheme {
    /// The keyed scheme under the secret with this id, for a program that keeps such a filter without the secret.
    #[doc(hidden)]
    pub const fn keyed(key_id: u64) -> Self {
        Self { algorithm: Algorithm::Sip13, seed: 0, key_id }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.algorithm {
            Algorithm::Xxh3 => write!(f, "{} seed {}", self.algorithm, self.seed),
            Algorithm::Sip13 => write!(f, "{} key {:016x}", self.algorithm, self.key_id),
            Algorithm::Caller => write!(f, "{} id {:016x}", self.algorithm, self.seed),
            Algorithm::InMemory => write!(f, "{} number {}", self.algorithm, self.seed),
        }
    }
}

/// The secret of a keyed filter, 16 bytes. No file of a filter contains it, and its memory is overwritten on drop.
///
/// As text ([`to_text`](Self::to_text), [`FromStr`]) it is one line with a check.
// Its `Drop` is in `bits::arch::wipe`, with all unsafe code.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub(crate) [u8; 16]);

impl Secret {
    /// Makes a secret from 16 bytes, which should come from a good random source.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Makes an unguessable secret, from the system's source of randomness.
    ///
    /// # Errors
    /// [`SchemeError::NoRandomness`] if the system has no source. Umbel knows none on `wasm32-unknown-unknown`, or
    /// without `std`: give [`new`](Self::new) 16 bytes of your own, in a browser from `crypto.getRandomValues`.
    pub fn random() -> Result<Self, SchemeError> {
        #[cfg(all(feature = "std", not(all(target_family = "wasm", target_os = "unknown"))))]
        {
            let mut secret = Self([0; 16]);
            let filled = getrandom::fill(&mut secret.0);
            filled.map_err(|error| SchemeError::NoRandomness(error.raw_os_error()))?;
            Ok(secret)
        }
        #[cfg(not(all(feature = "std", not(all(target_family = "wasm", target_os = "unknown")))))]
        Err(SchemeError::NoRandomness(None))
    }

    /// Reads the content of a file with a secret: its [text](Self::to_text), or, from other programs, its 16 bytes or
    /// their 32 hexadecimal digits.
    ///
    /// # Errors
    /// [`SchemeError::NoSecret`].
    ///
    /// ```
    /// use umbel::Secret;
    ///
    /// let secret = Secret::random()?;
    /// assert_eq!(Secret::from_file(secret.to_text().as_bytes())?, secret);
    /// assert_eq!(Secret::from_file(&secret.to_bytes())?, secret);
    /// # Ok::<(), umbel::SchemeError>(())
    /// ```
    pub fn from_file(content: &[u8]) -> Result<Self, SchemeError> {
        let text = || core::str::from_utf8(content).ok()?.parse().ok();
        let secret = content.try_into().ok().map(Self).or_else(text);
        secret.ok_or(SchemeError::NoSecret(content.len()))
    }

    /// Returns the text of its file, without a line end: `umbel-secret-1`, 32 hexadecimal digits, and a check that
    /// detects mistyped ones.
    pub fn to_text(&self) -> String {
        write_text(SECRET_TAG, &self.0)
    }

    /// Returns its bytes. Store them apart from the files of its filters.
    pub const fn to_bytes(&self) -> [u8; 16] {
        self.0
    }

    /// Returns the id written in files: the first 8 bytes, little-endian, of SipHash-1-3-128 of `umbel key id` under
    /// this secret. It distinguishes two secrets and reveals neither.
    #[doc(hidden)]
    pub fn key_id(&self) -> u64 {
        self.hash(b"umbel key id").low
    }

    fn hash(&self, key: &[u8]) -> KeyHash {
        let hash = SipHasher13::new_with_key(&self.0).hash(key);
        KeyHash { high: hash.h2, low: hash.h1 }
    }
}

/// How the text of a secret begins.
#[doc(hidden)]
pub const SECRET_TAG: &str = "umbel-secret-1";

#[doc(hidden)]
impl FromStr for Secret {
    type Err = SchemeError;

    /// Reads its [text](Self::to_text), or 32 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, SchemeError> {
        let bytes = digits(text.trim_ascii()).or_else(|| read_text(text, SECRET_TAG));
        bytes.map(Self).ok_or(SchemeError::NoSecret(text.len()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret(id {:016x})", self.key_id())
    }
}

/// How a filter hashes its keys.
///
/// [`KeyHasher`] hashes keys; [`ByHash`] hashes values of any type, in memory; [`Prehashed`] stands for hashes computed
/// by the caller; a [`Scheme`] alone is enough for work without keys: receipts, merges, copies.
pub trait Hashing: Clone + fmt::Debug + Eq + Send + Sync + sealed::Sealed {
    /// Returns its scheme.
    fn scheme(&self) -> Scheme;
}

/// A way of hashing whose filters can be written: all but [`ByHash`].
pub trait Portable: Hashing {
    /// The hasher of a file with this scheme, without a secret.
    #[doc(hidden)]
    fn of_scheme(scheme: Scheme) -> Result<Self, SchemeError>;
}

impl Portable for KeyHasher {
    fn of_scheme(scheme: Scheme) -> Result<Self, SchemeError> {
        Self::for_scheme(scheme, None)
    }
}

impl Portable for Prehashed {
    fn of_scheme(found: Scheme) -> Result<Self, SchemeError> {
        Self::new(found.seed).unlock(found)
    }
}

#[doc(hidden)]
impl Portable for Scheme {
    fn of_scheme(scheme: Scheme) -> Result<Self, SchemeError> {
        Ok(scheme)
    }
}

/// Opens a file without a secret.
#[cfg(feature = "serde")]
pub(crate) struct Plain<H>(pub(crate) core::marker::PhantomData<H>);

#[cfg(feature = "serde")]
impl<H: Portable> Unlock for Plain<H> {
    type Hasher = H;

    fn unlock(self, scheme: Scheme) -> Result<H, SchemeError> {
        H::of_scheme(scheme)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// How a file is opened, and which keys its filter then accepts.
///
/// | value | gives | for |
/// |---|---|---|
/// | `None`, `Some(&secret)` | [`KeyHasher`] | keys, in an unkeyed or a keyed filter |
/// | [`Prehashed`] | [`Prehashed`] | hashes computed by the caller |
/// | [`AnyScheme`] | [`Scheme`] | any file: receipts, merges, copies; keys only as [`KeyHash`] |
pub trait Unlock {
    /// The hasher of the opened filter.
    type Hasher: Portable;

    /// Returns the hasher for a file with this scheme.
    ///
    /// # Errors
    /// A [`SchemeError`] if `self` does not fit the scheme.
    fn unlock(self, scheme: Scheme) -> Result<Self::Hasher, SchemeError>;
}

/// Opens a file of any scheme, for work that needs no keys; see [`Unlock`].
#[derive(Clone, Copy, Debug)]
pub struct AnyScheme;

impl sealed::Sealed for Scheme {}

#[doc(hidden)]
impl Hashing for Scheme {
    fn scheme(&self) -> Scheme {
        *self
    }
}

#[doc(hidden)]
impl Unlock for AnyScheme {
    type Hasher = Scheme;

    fn unlock(self, scheme: Scheme) -> Result<Scheme, SchemeError> {
        Ok(scheme)
    }
}

/// The hasher of keys that the caller has hashed, by a function named by an id: for engines that already have hashes.
///
/// Its filters accept only [`KeyHash`], [`Hash64`] and [`Mixed64`] as keys. Files carry the id, so filters of two such
/// functions never merge or answer for each other.
///
/// ```
/// use umbel::{Blocked, Hash64, Kind, Plan, Prehashed};
///
/// let plan = Plan::for_keys(Kind::Blocked, 1_000, 0.01)?;
/// let mut seen = Blocked::with_plan(&plan, Prehashed::new(0x6d79_2068_6173_6800))?;
/// seen.insert(Hash64(0x9e37_79b9_7f4a_7c15));
/// assert!(seen.contains(Hash64(0x9e37_79b9_7f4a_7c15)));
/// # Ok::<(), umbel::Error>(())
/// ```
///
/// ```compile_fail
/// # use umbel::{Blocked, Kind, Plan, Prehashed};
/// # let plan = Plan::for_keys(Kind::Blocked, 1_000, 0.01)?;
/// # let mut seen = Blocked::with_plan(&plan, Prehashed::new(1))?;
/// seen.insert("a key"); // nobody can tell its hash
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prehashed {
    id: u64,
}

impl Prehashed {
    /// Names a hash function by an id: any number that none of your other functions has, such as 8 letters of its name.
    pub const fn new(id: u64) -> Self {
        Self { id }
    }
}

impl sealed::Sealed for Prehashed {}

impl Hashing for Prehashed {
    fn scheme(&self) -> Scheme {
        Scheme { algorithm: Algorithm::Caller, seed: self.id, key_id: 0 }
    }
}

impl Unlock for Prehashed {
    type Hasher = Self;

    fn unlock(self, scheme: Scheme) -> Result<Self, SchemeError> {
        match scheme {
            found if found == self.scheme() => Ok(self),
            found => Err(SchemeError::Other(self.scheme(), found)),
        }
    }
}

/// Turns keys into [`KeyHash`]es under one [`Scheme`].
///
/// ```
/// use umbel::KeyHasher;
/// let hasher = KeyHasher::with_seed(7);
/// assert_eq!(hasher.hash("key"), hasher.hash(b"key"));
/// assert_eq!(hasher.hash(1), hasher.hash(1u64.to_le_bytes()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHasher {
    scheme: Scheme,
    secret: Option<Secret>,
}

impl Default for KeyHasher {
    /// Returns XXH3 with seed 0.
    fn default() -> Self {
        Self::with_seed(0)
    }
}

impl KeyHasher {
    /// Returns XXH3 with `seed`.
    pub const fn with_seed(seed: u64) -> Self {
        Self { scheme: Scheme { algorithm: Algorithm::Xxh3, seed, key_id: 0 }, secret: None }
    }

    /// Returns a keyed hasher under a new [`Secret::random`]: for filters that this process keeps in memory, of
    /// untrusted keys.
    ///
    /// If the seed is known, an attacker can compute keys that all set the same bits, or that a filter takes for
    /// members. To write a filter and open it again, make the secret first and keep it.
    ///
    /// # Errors
    /// As [`Secret::random`].
    pub fn random() -> Result<Self, SchemeError> {
        Ok(Self::keyed(Secret::random()?))
    }

    /// Returns SipHash-1-3 under `secret`, for untrusted keys.
    pub fn keyed(secret: Secret) -> Self {
        Self { scheme: Scheme::keyed(secret.key_id()), secret: Some(secret) }
    }

    /// Returns the hasher of `scheme`, with its secret if it has one.
    ///
    /// # Errors
    /// A [`SchemeError`] if the secret is missing, wrong or not needed, or if the hashes are computed by the caller.
    #[doc(hidden)]
    pub fn for_scheme(scheme: Scheme, secret: Option<&Secret>) -> Result<Self, SchemeError> {
        match (scheme.algorithm, secret) {
            (Algorithm::Xxh3, None) => Ok(Self::with_seed(scheme.seed)),
            (Algorithm::Xxh3, Some(_)) => Err(SchemeError::NotKeyed(scheme.algorithm)),
            (Algorithm::Sip13, None) => Err(SchemeError::SecretNeeded(scheme.key_id)),
            (Algorithm::Sip13, Some(secret)) => match secret.key_id() {
                found if found == scheme.key_id => Ok(Self::keyed(secret.clone())),
                found => Err(SchemeError::WrongSecret(scheme.key_id, found)),
            },
            (Algorithm::Caller | Algorithm::InMemory, _) => {
                Err(SchemeError::Prehashed(scheme.seed))
            }
        }
    }

    /// Returns its scheme, which identifies it in files and merges.
    #[doc(hidden)]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Hashes a key: the bytes of text, the 8 little-endian bytes of an integer; see [`Key`]. About 10 ns for 64 bytes
    /// with XXH3, twice that when keyed.
    #[inline]
    pub fn hash(&self, key: impl Key) -> KeyHash {
        key.key_hash(self)
    }

    #[inline]
    fn hash_bytes(&self, key: &[u8]) -> KeyHash {
        match &self.secret {
            None => xxh3::hash(self.scheme.seed, key),
            Some(secret) => secret.hash(key),
        }
    }
}

impl sealed::Sealed for KeyHasher {}

impl Hashing for KeyHasher {
    fn scheme(&self) -> Scheme {
        self.scheme()
    }
}

impl Unlock for Option<&Secret> {
    type Hasher = KeyHasher;

    fn unlock(self, scheme: Scheme) -> Result<KeyHasher, SchemeError> {
        KeyHasher::for_scheme(scheme, self)
    }
}

/// Why a hasher does not fit a file's scheme, or could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemeError {
    /// A keyed filter was opened without its secret, which has this id.
    #[error("the filter is keyed; give the secret with the id {0:016x} to use it")]
    SecretNeeded(u64),
    /// A keyed filter was opened with another secret. The ids: expected, found.
    #[error(
        "the secret has the id {1:016x}, but the filter was built with {0:016x}; give that one"
    )]
    WrongSecret(u64, u64),
    /// This many bytes of a file, or of text, are not a secret.
    #[error(
        "a secret is 16 bytes, 32 hexadecimal digits, or text that begins with {SECRET_TAG} and has a matching check; found {0} bytes"
    )]
    NoSecret(usize),
    /// A secret was given for a filter that is not keyed.
    #[error("the filter is not keyed ({0}); omit the secret")]
    NotKeyed(Algorithm),
    /// A filter of hashes of a function with this id was opened for keys.
    #[error(
        "the filter was built from hashes of another function (id {0:016x}); query it in the program that computes such hashes"
    )]
    Prehashed(u64),
    /// A random secret was requested, but the system has no source of randomness, or its source failed with this code.
    #[error("no random bytes are available here{code}; make the secret from 16 random bytes of your own",
        code = .0.map(|code| crate::prelude::format!(" (system error {code})")).unwrap_or_default()
    )]
    NoRandomness(Option<i32>),
    /// A filter of another scheme was opened for hashes computed elsewhere: expected, found.
    #[error("the filter hashes keys with {1}, not {0}; open it with {1}")]
    Other(Scheme, Scheme),
}
