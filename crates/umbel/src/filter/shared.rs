//! A blocked filter that many threads insert into and query at once.
//!
//! Words are atomic, so a query takes no lock. An insertion holds the lock of its stripe of blocks
//! while it reads the block, sets bits and stores the changed words: of two threads that insert one
//! key at once, the second sees all bits of the first and learns that it was not first. (Setting
//! words one by one with atomic ORs would be lock-free, but two threads could each be the first in
//! some word, and both would take the key for new.) A query sees a key once all its words are
//! stored: never before the insertion began, always after it returned.

use std::sync::Mutex;

use super::{Blocked, Receipt};
use crate::Error;
use crate::bits::{AtomicBlock, AtomicBlocks, Block, Blocks, arch::scalar, place};
use crate::hash::{KeyHash, KeyHasher};
use crate::plan::Plan;

/// Stripes: enough that 64 threads seldom meet, each lock in a cache line of its own.
const STRIPES: usize = 1024;

/// A blocked filter for many threads: insert and query through `&self`.
///
/// ```
/// use umbel::{KeyHasher, Kind, Plan, Shared};
///
/// let plan = Plan::for_keys(Kind::Blocked, 100_000, 0.01)?;
/// let seen = Shared::new(&plan, KeyHasher::default())?;
/// let first: usize = std::thread::scope(|scope| {
///     let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| usize::from(seen.insert("one key")))).collect();
///     threads.into_iter().map(|thread| thread.join().unwrap()).sum()
/// });
/// assert_eq!(first, 1, "exactly one thread was first");
/// let filter = seen.into_filter();
/// assert!(filter.contains("one key"));
/// # Ok::<(), umbel::Error>(())
/// ```
pub struct Shared {
    blocks: AtomicBlocks,
    stripes: Box<[Stripe]>,
    plan: Plan,
    hasher: KeyHasher,
}

/// A block whose words are loaded and stored one by one.
trait Words {
    fn load(&self) -> Block;
    fn store_changes(&self, old: &Block, new: &Block);
}

impl Words for AtomicBlock {
    #[inline]
    fn load(&self) -> Block {
        AtomicBlock::load(self)
    }

    #[inline]
    fn store_changes(&self, old: &Block, new: &Block) {
        AtomicBlock::store_changes(self, old, new);
    }
}

/// Sets the bits of `mask`; true for exactly one of several threads that set bits not all set
/// before. `lock` excludes other insertions into this block, not queries.
#[inline]
fn insert<Guard>(block: &impl Words, mask: &Block, lock: impl FnOnce() -> Guard) -> bool {
    if block.load().has(mask) {
        return false;
    }
    let _guard = lock();
    let old = block.load();
    let mut new = old;
    new.or(mask);
    block.store_changes(&old, &new);
    !old.has(mask)
}

#[repr(align(64))]
#[derive(Default)]
struct Stripe(Mutex<()>);

impl Shared {
    /// An empty filter of the plan's size.
    ///
    /// # Errors
    /// As [`Bloom::new`](super::Bloom::new).
    pub fn new(plan: &Plan, hasher: KeyHasher) -> Result<Self, Error> {
        Ok(Self::from_filter(Blocked::new(plan, hasher)?))
    }

    /// Lends a filter to all threads.
    pub fn from_filter(filter: Blocked) -> Self {
        let (plan, hasher, blocks) = filter.into_parts();
        let stripes = (0..STRIPES.min(blocks.len())).map(|_| Stripe::default()).collect();
        Self { blocks: AtomicBlocks::new(blocks), stripes, plan, hasher }
    }

    /// Takes the filter back.
    pub fn into_filter(self) -> Blocked {
        let blocks: Blocks = self.blocks.into_blocks();
        Blocked::from_parts(self.plan, self.hasher, blocks).expect("the parts of a filter")
    }

    /// Inserts a key; true when it was certainly new. Of several threads that insert one new key
    /// at once, exactly one gets true.
    pub fn insert(&self, key: impl AsRef<[u8]>) -> bool {
        self.insert_hash(self.hasher.hash(key))
    }

    /// Inserts a key by its hash. As [`insert`](Self::insert).
    pub fn insert_hash(&self, hash: KeyHash) -> bool {
        let place = place(hash.high, self.blocks.len() as u64) as usize;
        let block = &self.blocks[place];
        let mask = scalar::mask(hash.low, self.plan.probes);
        // Nothing panics while a stripe is locked, so none is ever poisoned.
        insert(block, &mask, || {
            self.stripes[place % self.stripes.len()].0.lock().expect("never poisoned")
        })
    }

    /// Inserts many keys by their hashes, cache misses overlapped.
    pub fn insert_batch(&self, hashes: &[KeyHash]) {
        self.each_ahead(hashes, |hash| {
            self.insert_hash(hash);
        });
    }

    /// Whether the key may have been inserted; takes no lock.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// Whether a key may have been inserted, by its hash; takes no lock.
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        let block = &self.blocks[place(hash.high, self.blocks.len() as u64) as usize];
        block.load().has(&scalar::mask(hash.low, self.plan.probes))
    }

    /// Asks for many keys: `found[i]` becomes the answer for `hashes[i]`; takes no lock.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn contains_batch(&self, hashes: &[KeyHash], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len(), "one answer for each hash");
        let mut answers = found.iter_mut();
        self.each_ahead(hashes, |hash| {
            *answers.next().expect("as many answers as hashes") = self.contains_hash(hash);
        });
    }

    /// What it was planned for.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How it hashes keys.
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// A copy as it is now, for a receipt or a file: every key whose insertion has returned is in it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn snapshot(&self) -> Result<Blocked, Error> {
        let mut copy = Blocks::zeroed(self.blocks.len() as u64)?;
        for (to, from) in copy.iter_mut().zip(&*self.blocks) {
            *to = from.load();
        }
        Blocked::from_parts(self.plan, self.hasher, copy)
    }

    /// What it delivers now; copies the filter first.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn receipt(&self) -> Result<Receipt, Error> {
        Ok(self.snapshot()?.receipt())
    }

    fn each_ahead(&self, hashes: &[KeyHash], mut each: impl FnMut(KeyHash)) {
        /// As many lines as a processor keeps on their way.
        const AHEAD: usize = 32;
        let ask = |hash: &KeyHash| {
            self.blocks[place(hash.high, self.blocks.len() as u64) as usize].prefetch();
        };
        hashes.iter().take(AHEAD).for_each(ask);
        for (i, &hash) in hashes.iter().enumerate() {
            if let Some(next) = hashes.get(i + AHEAD) {
                ask(next);
            }
            each(hash);
        }
    }
}

/// Every interleaving of threads, and every order of memory that the language allows.
#[cfg(test)]
mod tests {
    use loom::sync::atomic::{AtomicU64, Ordering};
    use loom::sync::{Arc, Mutex};
    use loom::thread;

    use super::*;

    /// A block of which two words are in use: enough to be seen half stored.
    #[derive(Default)]
    struct TwoWords {
        words: [AtomicU64; 2],
        lock: Mutex<()>,
    }

    impl Words for TwoWords {
        fn load(&self) -> Block {
            let mut block = Block::default();
            for (to, word) in block.0.iter_mut().zip(&self.words) {
                *to = word.load(Ordering::Relaxed);
            }
            block
        }

        fn store_changes(&self, old: &Block, new: &Block) {
            for (i, word) in self.words.iter().enumerate() {
                if old.0[i] != new.0[i] {
                    word.store(new.0[i], Ordering::Relaxed);
                }
            }
        }
    }

    impl TwoWords {
        fn insert(&self, mask: &Block) -> bool {
            insert(self, mask, || self.lock.lock().unwrap())
        }
    }

    fn mask(first: u64, second: u64) -> Block {
        Block([first, second, 0, 0, 0, 0, 0, 0])
    }

    #[test]
    fn of_two_threads_exactly_one_is_first() {
        loom::model(|| {
            let block = Arc::new(TwoWords::default());
            let other = block.clone();
            let thread = thread::spawn(move || other.insert(&mask(1, 2)));
            let here = block.insert(&mask(1, 2));
            assert!(block.load().has(&mask(1, 2)), "what was inserted is there");
            let there = thread.join().unwrap();
            assert!(here != there);
        });
    }

    #[test]
    fn keys_that_share_a_word_lose_nothing() {
        loom::model(|| {
            let block = Arc::new(TwoWords::default());
            let other = block.clone();
            let thread = thread::spawn(move || other.insert(&mask(4, 2)));
            assert!(block.insert(&mask(1, 8)), "new whoever comes first");
            assert!(block.load().has(&mask(1, 8)));
            assert!(thread.join().unwrap());
            assert_eq!(block.load(), mask(5, 10));
        });
    }

    #[test]
    fn a_query_after_an_insertion_that_it_knows_of_finds_the_key() {
        loom::model(|| {
            let block = Arc::new(TwoWords::default());
            let told = Arc::new(AtomicU64::new(0));
            let (writer, tell) = (block.clone(), told.clone());
            let thread = thread::spawn(move || {
                writer.insert(&mask(1, 2));
                tell.store(1, Ordering::Release);
            });
            if told.load(Ordering::Acquire) == 1 {
                assert!(block.load().has(&mask(1, 2)));
            }
            thread.join().unwrap();
        });
    }
}
