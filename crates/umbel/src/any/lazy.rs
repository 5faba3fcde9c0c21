//! A filter in a mapped file whose bits are checked when look-ups first touch them.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use super::{AnyFilter, layout, of_any};
use crate::bits::{MappedBlocks, MappedFile};
use crate::filter::file::Declared;
use crate::format::{self, CHUNK};
use crate::kinds::prelude::*;

/// A filter in a mapped file that opens without reading its bits, whatever its size: for engines that open thousands of
/// files and look few keys up in each. Made by [`AnyFilter::map_lazily`].
///
/// Opening checks the header and the table of checksums. The first look-up that touches a MiB of bits reads and checks
/// it before answering. If that MiB is damaged, every look-up that touches it returns an error; treat the key as
/// present, and read what the filter would have spared you. So a damaged filter never answers "absent" wrongly. For
/// receipts, merges and copies, which need all bits, [`into_verified`](Self::into_verified) checks the rest and returns
/// the [`AnyFilter`], whose look-ups cannot fail; [`verify`](Self::verify) only checks.
///
/// Only blocked, classic, sliced and scalable filters are checked this way. Other kinds are checked completely when
/// opened, because what their look-ups read depends on what they have read before.
///
/// ```
/// # #![allow(unsafe_code)]
/// use umbel::{AnyFilter, Blocked, Filter, MappedFile};
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
pub struct LazyFilter<H: Hashing = KeyHasher> {
    filter: AnyFilter<H, MappedBlocks>,
    file: MappedFile,
    header: Header,
    /// The first block of each part in the payload.
    starts: Vec<usize>,
    /// The state of each chunk of the payload: unknown, right or damaged.
    known: Box<[AtomicU8]>,
    /// Chunks not known to be right.
    unknown: AtomicUsize,
}

const UNKNOWN: u8 = 0;
const RIGHT: u8 = 1;
const DAMAGED: u8 = 2;

impl AnyFilter<KeyHasher, MappedBlocks> {
    /// Opens the filter in a mapped umbel file without reading its bits, to be checked by the MiB when look-ups first
    /// touch them. See [`LazyFilter`].
    ///
    /// # Errors
    /// As [`AnyFilter::read`], for the header, the length, the table of checksums, and the bits after the last one of a
    /// classic or sliced filter, which must be zero.
    pub fn map_lazily(file: &MappedFile) -> Result<LazyFilter, FileError> {
        Self::map_lazily_with(file, None)
    }
}

impl<H: Hashing> AnyFilter<H, MappedBlocks> {
    /// Like [`map_lazily`](Self::map_lazily), for a file that `unlock` opens; may also fail as
    /// [`AnyFilter::read_with`].
    pub fn map_lazily_with(
        file: &MappedFile,
        unlock: impl Unlock<Hasher = H>,
    ) -> Result<LazyFilter<H>, FileError> {
        file.reads_anywhere();
        let bytes = file.bytes();
        let declared = Declared::in_bytes(bytes, layout)?;
        let header = declared.header.clone();
        let knows_reads = header.kind()?.knows_reads();
        let opened = declared.open(unlock, |declared| {
            match knows_reads {
                true => format::check_table(&bytes[header.payload().end..]).map(drop)?,
                false => format::payload_of(&header, bytes).map(drop)?,
            }
            declared.map(file)
        })?;
        let filter = AnyFilter::open(opened).or_else(|error| {
            // Bits are set after the filter's last one. Damage there is the likelier cause, and the better error.
            let last = format::chunks(&header) - 1;
            format::check_chunk(&header, bytes, last).and(Err(error))
        })?;
        let mut end = 0;
        let start = |part: &[Block]| {
            end += part.len();
            end - part.len()
        };
        let starts = filter.blocks().into_iter().map(start).collect();
        let chunks = format::chunks(&header);
        let (known, unknown) = if knows_reads { (UNKNOWN, chunks) } else { (RIGHT, 0) };
        let known = (0..chunks).map(|_| AtomicU8::new(known)).collect();
        let unknown = AtomicUsize::new(unknown);
        Ok(LazyFilter { filter, file: file.clone(), header, starts, known, unknown })
    }
}

impl<H: Hashing> LazyFilter<H> {
    /// Returns whether a key may be in the filter: false is certain; true can be wrong, at the filter's rate.
    ///
    /// # Errors
    /// [`FileError::PayloadDamaged`] if a MiB with bits of the key is damaged.
    #[inline]
    pub fn contains(&self, key: impl Key<H>) -> Result<bool, FileError> {
        if self.unknown.load(Ordering::Relaxed) == 0 {
            return Ok(self.filter.contains(key));
        }
        let hash = key.key_hash(self.filter.hasher());
        self.check(hash)?;
        Ok(self.filter.contains_hashed(hash))
    }

    /// Looks up many keys with overlapping cache misses: sets `found[i]` to the answer for `keys[i]`. Panics if the
    /// slices differ in length.
    ///
    /// # Errors
    /// As [`contains`](Self::contains), for any of the keys; `found` is then meaningless.
    pub fn contains_all<K: Key<H>>(&self, keys: &[K], found: &mut [bool]) -> Result<(), FileError> {
        if self.unknown.load(Ordering::Relaxed) == 0 {
            self.filter.contains_all(keys, found);
            return Ok(());
        }
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        hashed::<HASHES_AT_ONCE, _, _, _>(keys, self.filter.hasher(), &mut |range, hashes| {
            hashes.iter().try_for_each(|&hash| self.check(hash))?;
            let found = &mut found[range];
            of_any!(&self.filter, filter => filter.0.core.contains_all(hashes, found));
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

    /// Checks as [`verify`](Self::verify), with the same errors, and returns the filter.
    pub fn into_verified(self) -> Result<AnyFilter<H, MappedBlocks>, FileError> {
        self.verify()?;
        Ok(self.filter)
    }

    /// Returns its plan.
    pub fn plan(&self) -> &Plan {
        self.filter.plan()
    }

    /// Checks the chunks that a look-up of this key may read.
    fn check(&self, hash: KeyHash) -> Result<(), FileError> {
        let mut checked = Ok(());
        let is_right = |part: usize, block| {
            let chunk = (self.starts[part] + block) / (CHUNK / BLOCK_BYTES as usize);
            checked = self.check_chunk(chunk);
            checked.is_ok()
        };
        of_any!(&self.filter, filter => filter.0.core.reads_only(hash, is_right));
        checked
    }

    #[inline]
    fn check_chunk(&self, chunk: usize) -> Result<(), FileError> {
        // The bytes never change, so threads may learn the result late.
        let known = &self.known[chunk];
        match known.load(Ordering::Relaxed) {
            RIGHT => return Ok(()),
            DAMAGED => return Err(format::damaged_chunk(&self.header, chunk)),
            _ => {}
        }
        let found = format::check_chunk(&self.header, self.file.bytes(), chunk);
        let now = if found.is_ok() { RIGHT } else { DAMAGED };
        // Counted once, by the first thread.
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
