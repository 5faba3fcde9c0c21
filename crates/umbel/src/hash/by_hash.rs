//! Keys of any type that implements `std::hash::Hash`, by a hasher of the caller's.

use core::fmt;
use core::hash::BuildHasher;
use core::sync::atomic::{AtomicUsize, Ordering};
#[cfg(feature = "std")]
use std::hash::RandomState;

use super::{Algorithm, Hashing, Scheme, sealed};

/// `core` has none: there, name the parameter.
#[cfg(not(feature = "std"))]
type RandomState = core::convert::Infallible;

/// A hasher of keys of any type that implements [`std::hash::Hash`], by a [`BuildHasher`] of your choice.
///
/// For filters that stay in memory: the bytes that a value feeds to a hasher depend on its type, the compiler and the
/// machine. So such a filter cannot be written: that does not compile. It merges only with its clones.
///
/// The hashes of the [`BuildHasher`] have 64 bits and are mixed, so an identity hash will do. Two keys with equal hashes are
/// one key to the filter, which adds n·2⁻⁶⁴ to the rate.
///
/// ```
/// use umbel::{Blocked, ByHash, Kind, Plan};
///
/// let plan = Plan::for_keys(Kind::Blocked, 1_000, 0.01)?;
/// let mut seen = Blocked::with_plan(&plan, ByHash::random())?;
/// seen.insert((3, "three"));
/// assert!(seen.contains((3, "three")) && !seen.contains((4, "three")));
/// # Ok::<(), umbel::Error>(())
/// ```
///
/// ```compile_fail
/// # use umbel::{Blocked, ByHash, Kind, Plan};
/// # let plan = Plan::for_keys(Kind::Blocked, 1_000, 0.01)?;
/// # let seen = Blocked::with_plan(&plan, ByHash::random())?;
/// seen.to_bytes(); // nobody else could ask it
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone)]
pub struct ByHash<B = RandomState> {
    pub(super) builder: B,
    /// Shared by this hasher and its clones.
    id: usize,
}

impl<B> ByHash<B> {
    /// Hashes by `builder`.
    pub fn new(builder: B) -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        #[cfg(target_has_atomic = "ptr")]
        let id = MADE.fetch_add(1, Ordering::Relaxed);
        // Processors without this addition have one core.
        #[cfg(not(target_has_atomic = "ptr"))]
        let id = MADE.load(Ordering::Relaxed);
        #[cfg(not(target_has_atomic = "ptr"))]
        MADE.store(id + 1, Ordering::Relaxed);
        Self { builder, id }
    }
}

#[cfg(feature = "std")]
impl ByHash {
    /// Hashes as a [`HashMap`](std::collections::HashMap) does by default, with random seeds: also for untrusted keys.
    pub fn random() -> Self {
        Self::new(RandomState::new())
    }
}

impl<B> fmt::Debug for ByHash<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByHash").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A hasher equals only its clones.
impl<B> PartialEq for ByHash<B> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl<B> Eq for ByHash<B> {}

impl<B: Default> Default for ByHash<B> {
    fn default() -> Self {
        Self::new(B::default())
    }
}

impl<B> sealed::Sealed for ByHash<B> {}

impl<B: BuildHasher + Clone + Send + Sync> Hashing for ByHash<B> {
    fn scheme(&self) -> Scheme {
        Scheme { algorithm: Algorithm::InMemory, seed: self.id as u64, key_id: 0 }
    }
}
