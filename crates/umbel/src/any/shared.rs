//! A filter in a mapped file that threads and processes insert into at the same time.

use std::fs::TryLockError;
use std::io::Seek;
use std::process;

use super::{AnyFilter, layout};
use crate::bits::{AtomicBlock, Kernel, WritableBlocks, WritableFile};
use crate::filter::file::{Declared, Opened};
use crate::filter::hashed::{answer_ahead, each_ahead};
use crate::format::{self, KeyDescription, Reader};
use crate::kinds::prelude::*;
use crate::kinds::{blocked, classic, scattered, sliced};

/// A filter in a file that any number of threads and processes insert into and query at the same time, without locks:
/// each sees the others' keys immediately. For blocked, classic and sliced filters.
///
/// The file is mapped, and bits are set in it by atomic operations. A key whose insertion has returned is in the file,
/// even if the process is killed then; after a power failure, if [`sync`](Self::sync) has returned since.
///
/// A file in shared use has no checksums, and is marked so: opening it in another way fails with
/// [`FileError::Unsealed`]. The last user to close it seals it, by [`seal`](Self::seal) or by dropping this; the
/// checksums then vouch for the bits as they are at that moment. If the last user was killed, the file stays unsealed,
/// with every key, until it is opened here again and closed. Damage meanwhile goes unnoticed.
///
/// Each user holds a shared lock on the file, so `umbel filter add` and other programs that lock a file to replace it
/// wait until all have closed it. A child of a fork must open it again; it may not use what its parent opened.
///
/// ```
/// # #![allow(unsafe_code)]
/// use umbel::{Blocked, Filter, SharedFile, WritableFile};
///
/// let file = tempfile::tempfile()?;
/// Blocked::new(1_000_000, 0.01)?.write(&file)?;
/// // SAFETY: nobody else has this file.
/// let seen = SharedFile::open(unsafe { WritableFile::map(file)? })?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| seen.insert("ann"));
///     scope.spawn(|| seen.insert("bob"));
/// });
/// assert!(seen.contains("ann") && seen.contains("bob"));
/// assert!(seen.seal()?, "nobody else has it open");
/// # Ok::<(), umbel::Error>(())
/// ```
pub struct SharedFile<H: Hashing = KeyHasher> {
    /// In a locked file, for all users.
    blocks: WritableBlocks,
    kernel: Kernel,
    header: Header,
    hasher: H,
    description: KeyDescription,
    plan: Plan,
    /// Children of a fork share the lock of the process that opened the file, and may not unlock it.
    process: u32,
    is_open: bool,
}

impl SharedFile {
    /// Opens the filter in a file for shared use.
    ///
    /// The first user checks the whole file; if it is in shared use already, or was left unsealed, only header and
    /// length can be checked. Waits while other programs have the file locked to replace it: afterwards its name may
    /// refer to another file.
    ///
    /// # Errors
    /// As [`AnyFilter::read`]; [`FileError::NotShared`] for other kinds; the system's errors of locks and mappings.
    pub fn open(file: WritableFile) -> Result<Self, FileError> {
        Self::open_with(file, None)
    }
}

impl<H: Hashing> SharedFile<H> {
    /// Like [`open`](SharedFile::open), for a file that `unlock` opens; may also fail as [`AnyFilter::read_with`].
    pub fn open_with(
        mapped: WritableFile,
        unlock: impl Unlock<Hasher = H>,
    ) -> Result<Self, FileError> {
        let mut file = &mapped.file;
        let length = file.metadata()?.len();
        file.rewind()?;
        let header = Reader::begin(file, length)?.header().clone();
        let plan = match header.kind()? {
            Kind::Blocked => header.plan::<blocked::Plans>()?,
            Kind::Classic => header.plan::<classic::Plans>()?,
            Kind::Sliced => header.plan::<sliced::Plans>()?,
            other => return Err(FileError::NotShared(other)),
        };
        let declared = Declared::new(header, length, layout)?;
        let opened = declared.open(unlock, |_| Ok(Vec::<Blocks>::new()))?;
        let Opened { header, hasher, description, .. } = opened;
        // Before the file is marked: one that is refused stays as it is.
        let blocks = mapped.blocks(header.payload()).ok_or(FileError::Misaligned)?;
        let mut padding = plan.bits..header.payload_length() * 8;
        let clear = !padding.any(|position| blocks.get(position));
        check_field("payload", 1, clear, "zeros after the last bit of the filter")?;
        let file = &blocks.file.file;
        loop {
            match file.try_lock() {
                // There is no other user.
                Ok(()) => {
                    format::unseal(file, &header)?;
                    file.unlock()?;
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            file.lock_shared()?;
            if format::is_unsealed(file)? {
                break;
            }
            // The last user sealed it in between.
            file.unlock()?;
        }
        let (kernel, process) = (Kernel::detect(plan.probes), process::id());
        Ok(Self { blocks, kernel, header, hasher, description, plan, process, is_open: true })
    }

    /// Inserts a key; true if it was certainly new. Threads that insert one new key at the same time may all get true.
    #[inline]
    pub fn insert(&self, key: impl Key<H>) -> bool {
        self.insert_hash(key.key_hash(&self.hasher))
    }

    /// Inserts many keys with overlapping cache misses.
    pub fn insert_all<K: Key<H>>(&self, keys: &[K]) {
        let insert = |hash| _ = self.insert_hash(hash);
        each_ahead(keys, &self.hasher, |hash| self.prefetch(hash), insert);
    }

    /// Like [`insert_all`](Self::insert_all), and sets `new[i]` to what [`insert`](Self::insert) returns for `keys[i]`.
    /// Panics if the slices differ in length.
    pub fn insert_all_new<K: Key<H>>(&self, keys: &[K], new: &mut [bool]) {
        let insert = |hash| self.insert_hash(hash);
        answer_ahead(keys, &self.hasher, new, |hash| self.prefetch(hash), insert);
    }

    /// Returns whether a key may have been inserted.
    #[inline]
    pub fn contains(&self, key: impl Key<H>) -> bool {
        self.contains_hash(key.key_hash(&self.hasher))
    }

    /// Looks up many keys with overlapping cache misses: sets `found[i]` to the answer for `keys[i]`. Panics if the
    /// slices differ in length.
    pub fn contains_all<K: Key<H>>(&self, keys: &[K], found: &mut [bool]) {
        let contains = |hash| self.contains_hash(hash);
        answer_ahead(keys, &self.hasher, found, |hash| self.prefetch(hash), contains);
    }

    /// Returns the description of its keys.
    pub fn description(&self) -> &KeyDescription {
        &self.description
    }

    /// Returns its plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Copies the filter as it is now: every key whose insertion has returned is in the copy.
    ///
    /// # Errors
    /// [`FileError::OutOfMemory`].
    pub fn snapshot(&self) -> Result<AnyFilter<H>, FileError> {
        let mut copy = Blocks::zeroed(self.blocks.len() as u64)?;
        copy.iter_mut().zip(&*self.blocks).for_each(|(to, from)| *to = from.load());
        let (header, hasher) = (self.header.clone(), self.hasher.clone());
        let description = self.description.clone();
        AnyFilter::open(Opened { header, hasher, description, parts: vec![copy] })
    }

    /// Writes the insertions to disk; once it returns, they survive a power failure.
    ///
    /// # Errors
    /// The system's errors.
    pub fn sync(&self) -> std::io::Result<()> {
        self.blocks.sync()
    }

    /// Closes the file, and seals it with the checksums of its present bits if there is no other user. Returns whether
    /// it is sealed.
    ///
    /// # Errors
    /// The system's errors; the file is then unsealed.
    pub fn seal(mut self) -> Result<bool, FileError> {
        self.close()
    }

    fn close(&mut self) -> Result<bool, FileError> {
        self.is_open = false;
        if self.process != process::id() {
            return Ok(false);
        }
        self.blocks.sync()?;
        let file = &self.blocks.file.file;
        file.unlock()?;
        // Each unlocks before it tries to lock, so one of the last two succeeds.
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        format::seal(file)?;
        file.unlock()?;
        Ok(true)
    }

    #[inline]
    fn insert_hash(&self, hash: KeyHash) -> bool {
        if let Some(block) = self.block(hash) {
            let known = self.kernel.contains_atomic(block, hash.low);
            return !known && block.insert_together(hash.low, self.plan.probes);
        }
        let mut new = false;
        self.all(hash, |position| {
            new |= self.blocks.set(position);
            true
        });
        new
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        match self.block(hash) {
            Some(block) => self.kernel.contains_atomic(block, hash.low),
            None => self.all(hash, |position| self.blocks.get(position)),
        }
    }

    /// The block of a key, if the filter is a blocked one.
    #[inline]
    fn block(&self, hash: KeyHash) -> Option<&AtomicBlock> {
        let blocks = &*self.blocks;
        let place = bits::place(hash.high, blocks.len() as u64) as usize;
        (self.plan.kind() == Kind::Blocked).then(|| &blocks[place])
    }

    /// Whether a condition holds for all bits of a key of a classic or a sliced filter.
    #[inline]
    fn all(&self, hash: KeyHash, each: impl FnMut(u64) -> bool) -> bool {
        match self.plan.kind() {
            Kind::Classic => scattered::positions::<classic::Plans>(&self.plan, hash).all(each),
            _ => scattered::positions::<sliced::Plans>(&self.plan, hash).all(each),
        }
    }

    fn prefetch(&self, hash: KeyHash) {
        match self.block(hash) {
            Some(block) => block.prefetch(),
            None => {
                self.all(hash, |position| {
                    self.blocks[(position / BLOCK_BITS) as usize].prefetch();
                    true
                });
            }
        }
    }
}

/// Seals it, as [`seal`](SharedFile::seal) does, but ignores errors.
impl<H: Hashing> Drop for SharedFile<H> {
    fn drop(&mut self) {
        if self.is_open {
            _ = self.close();
        }
    }
}

impl<H: Hashing> core::fmt::Debug for SharedFile<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SharedFile").field("plan", &self.plan).finish_non_exhaustive()
    }
}
