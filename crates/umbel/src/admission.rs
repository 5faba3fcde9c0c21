//! What a cache takes in: only what was asked for before, not long ago.

use crate::bits::Blocks;
use crate::filter::{InsertError, Window};
use crate::hash::{Hashing, Key, KeyHasher};
use crate::plan::PlanError;

/// Says of each object asked for whether it was asked for before: whether a cache should take it in.
///
/// About three quarters of the objects that a content network serves are asked for once and never again.
/// A cache that stores them writes to its disks for nothing and throws out what would have been asked for;
/// storing an object at its second request saves the writes and costs one miss an object. What was asked
/// for is remembered in a [`Window`], so that it ages by itself: an object asked for again after the window
/// is a new one.
///
/// Two objects in a hundred at a rate of 2 % are taken in at once: no harm but a write. Called for misses
/// only or for all requests, as you like; the window counts the calls. It should be some times as long as
/// the objects that the cache holds: what is asked for less often would have been thrown out anyway.
///
/// B. M. Maggs, R. K. Sitaraman 2015, "Algorithmic nuggets in content delivery", section 5,
/// <https://doi.org/10.1145/2805789.2805800>.
///
/// # Threads
/// Every question is also an insertion, so they take `&mut self`. Give each shard of a cache its own (with a
/// window of its share of the requests), or put one behind a mutex: a question of a batch takes some 30 ns with
/// 10 M requests remembered. Where requests must not wait for each other and forgetting can be done by swapping two filters,
/// [`Shared`](crate::Shared) takes insertions from many threads.
///
/// ```
/// use umbel::Admission;
///
/// let mut admission = Admission::new(100_000, 0.01)?;
/// assert!(!admission.admit("/video/17/part/4"), "fetched and served, not stored");
/// assert!(admission.admit("/video/17/part/4"), "asked for again: worth a write");
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Admission<H: Hashing = KeyHasher> {
    window: Window<Blocks, H>,
}

impl Admission {
    /// Remembers the last `requests` requests; an object never asked for passes with a chance of at most
    /// `fpp`. At 1 %, 17.7 bits a request of the window; see [`Window`].
    ///
    /// Where others choose the keys, use [`with`](Self::with) and a window hashed by [`KeyHasher::random`] or
    /// [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// Those of [`Window::new`](crate::filter::Filter::new).
    pub fn new(requests: u64, fpp: f64) -> Result<Self, PlanError> {
        Ok(Self { window: Window::new(requests, fpp)? })
    }
}

impl<H: Hashing> Admission<H> {
    /// Goes on with what a window remembers: one by time, or one read from a file.
    pub fn with(window: Window<Blocks, H>) -> Self {
        Self { window }
    }

    /// True when the object was asked for before, within the window: take it in. Records the request.
    pub fn admit(&mut self, key: impl Key<H>) -> bool {
        !self.window.insert(key)
    }

    /// As [`admit`](Self::admit), at a tick of the clock of a window by time.
    ///
    /// # Errors
    /// [`InsertError::NoClock`] of a window of requests.
    pub fn admit_at(&mut self, key: impl Key<H>, tick: u64) -> Result<bool, InsertError> {
        Ok(!self.window.insert_at(key, tick)?)
    }

    /// As [`admit`](Self::admit) for many, one after the other, cache misses overlapped: `admitted[i]` becomes
    /// the answer for `keys[i]`.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn admit_all<K: Key<H>>(&mut self, keys: &[K], admitted: &mut [bool]) {
        self.window.insert_all_new(keys, admitted);
        for admitted in admitted {
            *admitted = !*admitted;
        }
    }

    /// What it remembers: for the receipt, or to write it to a file.
    pub fn window(&self) -> &Window<Blocks, H> {
        &self.window
    }

    /// The window, to go on with.
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
