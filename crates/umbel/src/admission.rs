//! A cache's admission policy: store an object at its second request, not at its first.

use crate::bits::Blocks;
use crate::filter::{InsertError, Window};
use crate::hash::{Hashing, Key, KeyHasher};
use crate::plan::PlanError;

/// Decides whether a cache should store an object: only if it was requested before, not long ago.
///
/// About three quarters of the objects that a content delivery network serves are requested once and never again. A
/// cache that stores them writes to its disks for nothing and evicts objects that would have been requested again.
/// Storing an object at its second request saves those writes and costs one miss per object. Requests are remembered in
/// a [`Window`], so they age by themselves: an object requested again after the window counts as new.
///
/// At a rate of 2 %, two objects in a hundred are stored at their first request; the only harm is a write. Call it for
/// misses only or for all requests: the window counts calls. Make the window several times as long as the number of
/// objects the cache holds; an object requested less often would have been evicted anyway.
///
/// B. M. Maggs, R. K. Sitaraman 2015, "Algorithmic nuggets in content delivery", section 5,
/// <https://doi.org/10.1145/2805789.2805800>.
///
/// # Threads
/// Every call records a request, so it takes `&mut self`. Give each shard of a cache its own `Admission`, with a window
/// for its share of the requests, or put one behind a mutex: in a batch, a call takes some 30 ns with 10 M requests
/// remembered. If requests must not wait for each other and swapping two filters is a good enough way to forget,
/// [`Shared`](crate::Shared) accepts insertions from many threads.
///
/// ```
/// use umbel::Admission;
///
/// let mut admission = Admission::new(100_000, 0.01)?;
/// assert!(!admission.admit("/video/17/part/4"), "fetched and served, not stored");
/// assert!(admission.admit("/video/17/part/4"), "requested again: worth a write");
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Admission<H: Hashing = KeyHasher> {
    window: Window<Blocks, H>,
}

impl Admission {
    /// Remembers the last `requests` requests. An object that was never requested is admitted with a probability of at
    /// most `fpp`. At 1 % this takes 17.7 bits per request of the window; see [`Window`].
    ///
    /// For untrusted keys, use [`with`](Self::with) and a window hashed by [`KeyHasher::random`] or
    /// [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// The errors of [`Window::new`](crate::filter::Filter::new).
    pub fn new(requests: u64, fpp: f64) -> Result<Self, PlanError> {
        Ok(Self { window: Window::new(requests, fpp)? })
    }
}

impl<H: Hashing> Admission<H> {
    /// Continues with an existing window: one by time, or one read from a file.
    pub fn with(window: Window<Blocks, H>) -> Self {
        Self { window }
    }

    /// Records the request and returns true if the object was requested before, within the window: store it.
    pub fn admit(&mut self, key: impl Key<H>) -> bool {
        !self.window.insert(key)
    }

    /// Like [`admit`](Self::admit), at a tick of the clock of a window by time.
    ///
    /// # Errors
    /// [`InsertError::NoClock`] if the window counts requests.
    pub fn admit_at(&mut self, key: impl Key<H>, tick: u64) -> Result<bool, InsertError> {
        Ok(!self.window.insert_at(key, tick)?)
    }

    /// Like [`admit`](Self::admit) for many keys, in order, with overlapping cache misses: `admitted[i]` becomes the
    /// answer for `keys[i]`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn admit_all<K: Key<H>>(&mut self, keys: &[K], admitted: &mut [bool]) {
        self.window.insert_all_new(keys, admitted);
        for admitted in admitted {
            *admitted = !*admitted;
        }
    }

    /// Returns the window, for its receipt or to write it to a file.
    pub fn window(&self) -> &Window<Blocks, H> {
        &self.window
    }

    /// Consumes the policy and returns its window, to be used again.
    pub fn into_window(self) -> Window<Blocks, H> {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Kind, Plan};

    #[test]
    fn the_second_request_within_the_window_is_admitted() {
        let mut admission = Admission::new(300, 1e-9).unwrap();
        let hasher = *admission.window().hasher();
        let hash = |key| hasher.hash(key);
        assert!(!admission.admit(hash(0)));
        assert!((1..200).all(|key| !admission.admit(hash(key))));
        assert!(admission.admit(hash(0)) && admission.admit(hash(0)));
        assert!((1_000..1_500).all(|key| !admission.admit(hash(key))));
        assert!(!admission.admit(hash(0)), "long ago");
        let (mut one, mut many) = (admission.clone(), admission);
        let hashes: Vec<_> = (0..2_000).map(|key| hash(key % 350)).collect();
        let mut admitted = vec![false; hashes.len()];
        many.admit_all(&hashes, &mut admitted);
        assert!(hashes.iter().zip(admitted).all(|(&hash, many)| one.admit(hash) == many));
        assert!(one.into_window() == many.into_window());
    }

    #[test]
    fn by_time_it_forgets_by_the_clock() {
        let plan = Plan::for_keys(Kind::Window, 100, 1e-9).unwrap();
        let window = Window::by_time(&plan, KeyHasher::default(), 60).unwrap();
        let mut admission = Admission::with(window);
        let hash = admission.window().hasher().hash("object");
        assert!(!admission.admit_at(hash, 1_000).unwrap());
        assert!(admission.admit_at(hash, 1_060).unwrap());
        assert!(!admission.admit_at(hash, 1_200).unwrap());
        let mut counted = Admission::new(10, 0.1).unwrap();
        assert!(matches!(counted.admit_at(hash, 1), Err(InsertError::NoClock)));
    }
}
