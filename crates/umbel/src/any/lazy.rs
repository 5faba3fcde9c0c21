//! A filter in a mapped file whose bits are checked when look-ups first touch them.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use super::{AnyFilter, layout, of_any, of_any_kind};
use crate::bits::{BLOCK_BYTES, Block, MappedBlocks, MappedFile};
use crate::filter::core::{Core, GROUP};
use crate::filter::file;
use crate::filter::generic::hashed;
use crate::format::{self, CHUNK, FileError, Header, KeyDescription};
use crate::hash::{Hashing, Key, KeyHash, KeyHasher, Unlock};
use crate::plan::{Kind, Plan};

/// A filter in a mapped file that opens without reading its bits, whatever its size: for engines that open thousands of
/// files and look few keys up in each. Made by [`AnyFilter::map_lazily`].
///
/// The header and the table of checksums are checked when it is opened. The bits are checked by the MiB, each before the
/// first look-up that touches it is answered: that look-up reads and hashes the whole MiB, once. Damage is an error of every
/// look-up that meets it and of no other, so a damaged filter never answers "absent" wrongly: after an error, read what
/// the filter would have spared you. [`verify`](Self::verify) checks all that is left, and [`into_verified`](Self::into_verified)
/// also returns the filter itself, whose look-ups cannot fail.
///
/// It is a type of its own because its look-ups return a `Result`, and those of an [`AnyFilter`] do not. What needs all
/// bits (receipts, merges, copies) comes after [`into_verified`](Self::into_verified).
///
/// Blocked, classic, sliced and scalable filters are checked this way. Filters of other kinds are checked whole when they
/// are opened, because what a look-up reads there depends on what it has read.
///
/// ```
/// # #![allow(unsafe_code)]
/// use umbel::{AnyFilter, Blocked, MappedFile};
///
/// let file = tempfile::tempfile()?;
/// let mut seen = Blocked::new(1_000_000, 0.01)?;
/// seen.insert("key");
/// seen.write(&file)?;
/// // SAFETY: nobody else has this file.
/// let filter = AnyFilter::map_lazily(&unsafe { MappedFile::map(&file)? })?;
/// assert!(filter.contains("key")?);
/// filter.verify()?;
/// # Ok::<(), umbel::Error>(())
/// ```
pub struct LazyFilter<H = KeyHasher> {
    filter: AnyFilter<MappedBlocks, H>,
    file: MappedFile,
    header: Header,
    /// For each part, its first block in the payload.
    starts: Vec<usize>,
    /// For each chunk of the payload, what is known of it.
    known: Box<[AtomicU8]>,
    /// Chunks that are not known to be right.
    unknown: AtomicUsize,
}

const UNKNOWN: u8 = 0;
const RIGHT: u8 = 1;
const DAMAGED: u8 = 2;

impl AnyFilter<MappedBlocks> {
    /// Opens the filter in a mapped umbel file without reading its bits: each MiB of them is checked when a look-up first
    /// touches it. See [`LazyFilter`].
    ///
    /// # Errors
    /// As [`AnyFilter::read`], for the header, the length, the table of checksums, and the bits that follow the last one of
    /// a classic or sliced filter, which must be zero.
    pub fn map_lazily(file: &MappedFile) -> Result<LazyFilter, FileError> {
        Self::map_lazily_with(file, None)
    }

    /// Like [`map_lazily`](Self::map_lazily), for a file that `unlock` opens.
    ///
    /// # Errors
    /// As [`map_lazily`](Self::map_lazily) and [`AnyFilter::read_with`].
    pub fn map_lazily_with<U: Unlock>(
        file: &MappedFile,
        unlock: U,
    ) -> Result<LazyFilter<U::Hasher>, FileError> {
        file.reads_anywhere();
        let check = |header: &Header, bytes: &[u8]| match tells(header.kind()?) {
            true => format::check_table(header, bytes),
            false => format::payload_of(header, bytes).map(drop),
        };
        let map = |admit: file::Admit<'_>| file::map(file, &check, &layout, admit);
        let opened = file::unlocked(unlock, map)?;
        let header = opened.header.clone();
        let filter = AnyFilter::open(opened).or_else(|error| {
            // Bits after the last one of the filter that are set: if the file is damaged there, that is why.
            let last = format::chunks(&header) - 1;
            format::check_chunk(&header, file.bytes(), last).and(Err(error))
        })?;
        let mut end = 0;
        let start = |part: &[Block]| {
            end += part.len();
            end - part.len()
        };
        let starts = filter.blocks().into_iter().map(start).collect();
        let chunks = format::chunks(&header);
        let (known, unknown) = if tells(filter.kind()) { (UNKNOWN, chunks) } else { (RIGHT, 0) };
        let known = (0..chunks).map(|_| AtomicU8::new(known)).collect();
        let unknown = AtomicUsize::new(unknown);
        Ok(LazyFilter { filter, file: file.clone(), header, starts, known, unknown })
    }
}

/// Whether filters of a kind tell what a look-up reads. Others find out as they go, or read every block when opened.
fn tells(kind: Kind) -> bool {
    matches!(kind, Kind::Blocked | Kind::Classic | Kind::Sliced | Kind::Scalable)
}

impl<H: Hashing> LazyFilter<H> {
    /// Returns whether a key may be in the filter: false is certain, true is wrong at the filter's rate.
    ///
    /// # Errors
    /// [`FileError::PayloadDamaged`] if bits that decide the answer are damaged, or others in the same MiB.
    #[inline]
    pub fn contains(&self, key: impl Key<H>) -> Result<bool, FileError> {
        if self.unknown.load(Ordering::Relaxed) == 0 {
            return Ok(self.filter.contains(key));
        }
        let hash = key.key_hash(self.filter.hasher());
        self.check(hash)?;
        Ok(self.filter.contains_hash(hash))
    }

    /// Looks up many keys, with overlapping cache misses: `found[i]` becomes the answer for `keys[i]`.
    ///
    /// # Errors
    /// As [`contains`](Self::contains), for any of the keys; `found` is then of no use.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn contains_all<K: Key<H>>(&self, keys: &[K], found: &mut [bool]) -> Result<(), FileError> {
        if self.unknown.load(Ordering::Relaxed) == 0 {
            self.filter.contains_all(keys, found);
            return Ok(());
        }
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        hashed::<GROUP, _, _, _>(keys, self.filter.hasher(), &mut |range, hashes| {
            hashes.iter().try_for_each(|&hash| self.check(hash))?;
            let found = &mut found[range];
            of_any!(&self.filter, filter => filter.core.contains_all(hashes, found));
            Ok(())
        })
    }

    /// Checks everything that no look-up has touched yet, in the order of the file. Other threads may look keys up
    /// meanwhile.
    ///
    /// # Errors
    /// [`FileError::PayloadDamaged`] with the first damaged part.
    pub fn verify(&self) -> Result<(), FileError> {
        (0..self.known.len()).try_for_each(|chunk| self.check_chunk(chunk))
    }

    /// Checks as [`verify`](Self::verify) does, and returns the filter.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub fn into_verified(self) -> Result<AnyFilter<MappedBlocks, H>, FileError> {
        self.verify()?;
        Ok(self.filter)
    }

    /// Returns its kind.
    pub fn kind(&self) -> Kind {
        self.filter.kind()
    }

    /// Returns its plan.
    pub fn plan(&self) -> &Plan {
        self.filter.plan()
    }

    /// Returns its hasher.
    pub fn hasher(&self) -> &H {
        self.filter.hasher()
    }

    /// Returns the description of its keys.
    pub fn description(&self) -> &KeyDescription {
        self.filter.description()
    }

    /// Checks what a look-up of this key may read.
    fn check(&self, hash: KeyHash) -> Result<(), FileError> {
        let mut checked = Ok(());
        let is_right = |part: usize, block| {
            let chunk = (self.starts[part] + block) / (CHUNK / BLOCK_BYTES as usize);
            checked = self.check_chunk(chunk);
            checked.is_ok()
        };
        of_any!(&self.filter, filter => filter.core.reads_only(hash, is_right));
        checked
    }

    #[inline]
    fn check_chunk(&self, chunk: usize) -> Result<(), FileError> {
        // The bytes never change, so it does not matter when other threads learn what is known of them.
        let known = &self.known[chunk];
        match known.load(Ordering::Relaxed) {
            RIGHT => return Ok(()),
            DAMAGED => return Err(format::damaged_chunk(&self.header, chunk)),
            _ => {}
        }
        let found = format::check_chunk(&self.header, self.file.bytes(), chunk);
        let now = if found.is_ok() { RIGHT } else { DAMAGED };
        // Counted by whoever learns it first.
        if known.swap(now, Ordering::Relaxed) == UNKNOWN && now == RIGHT {
            self.unknown.fetch_sub(1, Ordering::Relaxed);
        }
        found
    }
}

impl<H: Hashing> core::fmt::Debug for LazyFilter<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LazyFilter").field("plan", self.plan()).finish_non_exhaustive()
    }
}
