//! The contents of temporary files: lines spilled by hash, and sorted runs of results. A line is stored as
//!
//! ```text
//! place u64 | a stored record
//! ```
//!
//! in the order of spilling. A place is an offset into the concatenation of all inputs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io::Write;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use umbel::KeyHash;
use umbel::internals::GOLDEN;
use umbel_io::{PageBuffer, PageWriter};

use crate::Error;
use crate::budget::LEAST_BUFFER;
use crate::hash::LineHasher;
use crate::pages::{PAGE, within_page};
use crate::records::{Layout, MOST_HEADER, Record};
use crate::table::KEPT_LINE;
use crate::temporary::{TempFile, TempFolders};

/// The folders of temporary files, and the bytes written and read, which its clones count together.
#[derive(Clone)]
pub(crate) struct Disk {
    folders: Arc<TempFolders>,
    written: Arc<AtomicU64>,
    read: Arc<AtomicU64>,
}

impl Disk {
    pub(crate) fn new(folders: &Arc<TempFolders>) -> Self {
        let (written, read) = Default::default();
        Self { folders: Arc::clone(folders), written, read }
    }

    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

/// Bytes of a place.
const PLACE: usize = 8;

/// A temporary file of lines being written.
pub(crate) struct SpillWriter {
    disk: Disk,
    out: PageWriter<TempFile>,
    layout: Layout,
    lines: u64,
    bytes: u64,
    longest: u64,
}

impl SpillWriter {
    pub(crate) fn new(disk: &Disk, buffer: usize, layout: Layout) -> Result<Self, Error> {
        let (disk, out) = (disk.clone(), PageWriter::new(buffer, disk.folders.file()?));
        Ok(Self { disk, out, layout, lines: 0, bytes: 0, longest: 0 })
    }

    pub(crate) fn push(&mut self, place: u64, line: Record<'_>) -> Result<(), Error> {
        let mut header = [0; PLACE + MOST_HEADER];
        header[..PLACE].copy_from_slice(&place.to_le_bytes());
        header[PLACE..].copy_from_slice(&self.layout.header(&line));
        let header = &header[..PLACE + self.layout.header_size()];
        self.write([header, line.row, self.layout.tail(&line)])
    }

    /// Stores a line of the count and the row, without a copy of the row.
    fn push_result(&mut self, Selected { place, count, row }: Selected<'_>) -> Result<(), Error> {
        let length = u32::try_from(size_of_val(&count) + row.len()).expect("rows below 4 GiB");
        let mut header = [0; PLACE + 4];
        header[..PLACE].copy_from_slice(&place.to_le_bytes());
        header[PLACE..].copy_from_slice(&length.to_le_bytes());
        self.write([&header, &count.to_le_bytes(), row])
    }

    fn write(&mut self, parts: [&[u8]; 3]) -> Result<(), Error> {
        parts
            .iter()
            .try_for_each(|part| self.out.write_all(part))
            .map_err(|error| self.out.get_ref().fail(error))?;
        let size = parts.iter().map(|part| part.len() as u64).sum();
        self.lines += 1;
        self.bytes += size;
        self.longest = self.longest.max(size);
        Ok(())
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn finish(self) -> Result<Spill, Error> {
        let file = TempFile::finish(self.out)?;
        let Self { disk, layout, lines, bytes, longest, .. } = self;
        disk.written.fetch_add(bytes, Ordering::Relaxed);
        Ok(Spill { disk, file: Arc::new(file), layout, lines, bytes, longest })
    }
}

/// Lines in a temporary file, to be read in order, any number of times.
pub(crate) struct Spill {
    disk: Disk,
    file: Arc<TempFile>,
    pub(crate) layout: Layout,
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
    /// Bytes of the longest line, as stored.
    pub(crate) longest: u64,
}

impl Spill {
    /// Bytes of a table of all its lines.
    pub(crate) fn in_memory(&self) -> u64 {
        self.bytes + KEPT_LINE * self.lines
    }

    pub(crate) fn read(&self, buffer: usize) -> SpillReader {
        self.read_range(0..self.bytes, buffer)
    }

    /// Reads a range of bytes that starts and ends where lines start.
    pub(crate) fn read_range(&self, range: Range<u64>, buffer: usize) -> SpillReader {
        SpillReader {
            disk: self.disk.clone(),
            file: Arc::clone(&self.file),
            layout: self.layout,
            rest: range,
            buffer: PageBuffer::new(buffer.next_multiple_of(PAGE)),
            begin: 0,
            filled: 0,
            place: 0,
            record: 0..0,
            some: Vec::new(),
            hashes: Vec::new(),
        }
    }
}

/// Reads the lines of a [`Spill`].
pub(crate) struct SpillReader {
    disk: Disk,
    file: Arc<TempFile>,
    layout: Layout,
    /// The part of the file still to be read.
    rest: Range<u64>,
    /// Bytes of the file, where they are in pages.
    buffer: PageBuffer,
    begin: usize,
    filled: usize,
    /// The place of the line read last, and its range in the buffer.
    place: u64,
    record: Range<usize>,
    /// The same of some lines, and their hashes.
    some: Vec<(u64, Range<usize>)>,
    hashes: Vec<KeyHash>,
}

impl SpillReader {
    /// Reads and hashes the next lines, at most 64 and at least one, from the buffer; false at the end.
    pub(crate) fn read_some(&mut self, hasher: &LineHasher) -> Result<bool, Error> {
        const MOST: usize = 64;
        self.some.clear();
        self.hashes.clear();
        let header = PLACE + self.layout.header_size();
        while self.advance()? {
            self.some.push((self.place, self.record.clone()));
            // As long as the next line is in the buffer, nothing moves.
            let left = self.filled - self.begin;
            if self.some.len() == MOST
                || left < header
                || left < header + self.layout.body_size(&self.buffer[self.begin + PLACE..])
            {
                break;
            }
        }
        let Self { layout, buffer, some, hashes, .. } = self;
        let keys = some.iter().map(|(_, record)| layout.read(&buffer[record.clone()]).key());
        hasher.hash_each(keys, |hash| hashes.push(hash));
        Ok(!some.is_empty())
    }

    /// The hashes of these lines.
    pub(crate) fn hashes(&self) -> &[KeyHash] {
        &self.hashes
    }

    /// These lines: hash, place and record.
    pub(crate) fn some(&self) -> impl Iterator<Item = (KeyHash, u64, Record<'_>)> {
        self.hashes.iter().zip(&self.some).map(|(&hash, (place, record))| {
            (hash, *place, self.layout.read(&self.buffer[record.clone()]))
        })
    }

    /// Reads the next line; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        if self.begin == self.filled && self.rest.is_empty() {
            return Ok(false);
        }
        let header = PLACE + self.layout.header_size();
        let start = self.fill(header)?;
        let size = header + self.layout.body_size(&self.buffer[start + PLACE..]);
        let start = self.fill(size)?;
        self.begin = start + size;
        self.record = start + PLACE..self.begin;
        self.place = u64::from_le_bytes(*self.buffer[start..].first_chunk().expect("a place"));
        Ok(true)
    }

    /// The line read last, and its place.
    pub(crate) fn line(&self) -> (u64, Record<'_>) {
        (self.place, self.layout.read(&self.buffer[self.record.clone()]))
    }

    /// Makes `size` bytes available, and returns where they start in the buffer.
    fn fill(&mut self, size: usize) -> Result<usize, Error> {
        if self.filled - self.begin < size {
            let left = self.filled - self.begin;
            let begin = (within_page(self.rest.start) + PAGE - left % PAGE) % PAGE;
            if self.buffer.len() < begin + size {
                self.buffer.resize((begin + size).next_multiple_of(PAGE));
            }
            self.buffer.copy_within(self.begin..self.filled, begin);
            (self.begin, self.filled) = (begin, begin + left);
            let unread = (self.rest.end - self.rest.start) as usize;
            let more = (self.buffer.len() - self.filled).min(unread);
            let room = &mut self.buffer[self.filled..self.filled + more];
            self.file.read_exact_at(room, self.rest.start)?;
            self.disk.read.fetch_add(more as u64, Ordering::Relaxed);
            self.rest.start += more as u64;
            self.filled += more;
        }
        Ok(self.begin)
    }
}

/// Lines spilled to several files by hash: equal lines go to the same file.
pub(crate) struct Partitions {
    level: u32,
    files: Vec<Mutex<SpillWriter>>,
}

impl Partitions {
    /// Makes `count` files with `buffers` bytes of write buffers in total. Each `level` distributes lines differently.
    pub(crate) fn new(
        disk: &Disk,
        level: u32,
        count: usize,
        buffers: u64,
        layout: Layout,
    ) -> Result<Self, Error> {
        let buffer = (buffers as usize / count).clamp(LEAST_BUFFER, 256 << 10);
        let file = |_| SpillWriter::new(disk, buffer, layout).map(Mutex::new);
        let files = (0..count).map(file).collect::<Result<_, _>>()?;
        Ok(Self { level, files })
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    pub(crate) fn push(&self, hash: KeyHash, place: u64, line: Record<'_>) -> Result<(), Error> {
        let file = part_of(hash, self.level, self.len());
        self.files[file].lock().expect("no writer panics").push(place, line)
    }

    /// Pushes some lines, and clears `some`: each partition's lines together, in order, under one lock, starting with
    /// partitions that are not being written to. `get` returns the hash, the place and the record of each.
    pub(crate) fn push_some<'l>(
        &self,
        some: &mut Scattered,
        get: impl Fn(usize) -> (KeyHash, u64, Record<'l>),
    ) -> Result<(), Error> {
        let Scattered { indexes, parts } = some;
        parts.resize_with(self.len(), Vec::new);
        for i in indexes.drain(..) {
            parts[part_of(get(i).0, self.level, self.len())].push(i);
        }
        lock_each(&self.files, parts, Vec::is_empty, lock, |mut file, part| {
            part.drain(..).try_for_each(|i| {
                let (_, place, line) = get(i);
                file.push(place, line)
            })
        })
    }

    pub(crate) fn finish(self) -> Result<Vec<Spill>, Error> {
        let files = self.files.into_iter().map(|file| file.into_inner().expect("no writer panics"));
        files.map(SpillWriter::finish).collect()
    }
}

/// The part of a hash among `count` of a level.
pub(crate) fn part_of(hash: KeyHash, level: u32, count: usize) -> usize {
    // A rotation and a multiplication per level: two levels share no pattern, and a block of the filter (high bits
    // of `high`) is spread over all parts.
    let mixed = (hash.high ^ hash.low.rotate_left(29 + 11 * level))
        .wrapping_mul(GOLDEN ^ u64::from(level) << 1);
    ((u128::from(mixed) * count as u128) >> 64) as usize
}

/// Calls `work` for each part that is not empty, with the content of its lock, and empties it; starts with parts whose
/// lock is free. `lock` takes a lock, waiting only if allowed.
pub(crate) fn lock_each<'l, L, H, P>(
    locks: &'l [L],
    parts: &mut [P],
    is_empty: impl Fn(&P) -> bool,
    lock: impl Fn(&'l L, bool) -> Option<H>,
    mut work: impl FnMut(H, &mut P) -> Result<(), Error>,
) -> Result<(), Error> {
    for wait in [false, true] {
        for (each, part) in locks.iter().zip(&mut *parts).filter(|(_, part)| !is_empty(part)) {
            if let Some(held) = lock(each, wait) {
                work(held, part)?;
            }
        }
    }
    Ok(())
}

/// Locks a mutex for [`lock_each`].
pub(crate) fn lock<T>(mutex: &Mutex<T>, wait: bool) -> Option<MutexGuard<'_, T>> {
    if wait { Some(mutex.lock().expect("no worker panics")) } else { mutex.try_lock().ok() }
}

/// Partitions created for the first line.
pub(crate) struct Later {
    disk: Disk,
    level: u32,
    buffers: u64,
    layout: Layout,
    made: OnceLock<Partitions>,
    making: Mutex<()>,
}

impl Later {
    /// As [`Partitions::new`], without their number.
    pub(crate) fn new(disk: &Disk, level: u32, buffers: u64, layout: Layout) -> Self {
        let (disk, made, making) = (disk.clone(), OnceLock::new(), Mutex::default());
        Self { disk, level, buffers, layout, made, making }
    }

    pub(crate) fn get_or_make(&self, count: impl FnOnce() -> usize) -> Result<&Partitions, Error> {
        if let Some(made) = self.get() {
            return Ok(made);
        }
        let _making = self.making.lock().expect("no writer panics");
        if let Some(made) = self.get() {
            return Ok(made);
        }
        let Self { disk, level, buffers, layout, .. } = self;
        let made = Partitions::new(disk, *level, count(), *buffers, *layout)?;
        Ok(self.made.get_or_init(|| made))
    }

    pub(crate) fn get(&self) -> Option<&Partitions> {
        self.made.get()
    }

    /// As [`Partitions::push_some`]; without partitions there is nothing to push.
    pub(crate) fn push_some<'l>(
        &self,
        some: &mut Scattered,
        get: impl Fn(usize) -> (KeyHash, u64, Record<'l>),
    ) -> Result<(), Error> {
        self.get().map_or(Ok(()), |made| made.push_some(some, get))
    }

    /// The files, if there are any.
    pub(crate) fn finish(self) -> Result<Option<Vec<Spill>>, Error> {
        self.made.into_inner().map(|parts| parts.finish()).transpose()
    }
}

/// Numbers of the lines to spill, and the same by partition.
#[derive(Default)]
pub(crate) struct Scattered {
    pub(crate) indexes: Vec<usize>,
    parts: Vec<Vec<usize>>,
}

/// A result: a wanted line, with its first place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selected<'a> {
    pub(crate) place: u64,
    /// Its count; 1 if that does not matter.
    pub(crate) count: u64,
    /// Empty if only the place is wanted.
    pub(crate) row: &'a [u8],
}

/// The sort order of runs' lines.
pub(crate) trait Order: Ord + Default {
    const LAYOUT: Layout;
    /// How often the longest line may be in memory when runs are merged.
    const COPIES: u64;

    /// Copies the key of a line.
    fn set(&mut self, line: (u64, Record<'_>));
}

/// The place.
impl Order for u64 {
    const LAYOUT: Layout = Layout::Lines;
    const COPIES: u64 = 1;

    fn set(&mut self, (place, _): (u64, Record<'_>)) {
        *self = place;
    }
}

/// The bytes of the key, in a vector that may have twice its length.
impl Order for Vec<u8> {
    const LAYOUT: Layout = Layout::Keyed;
    const COPIES: u64 = 3;

    fn set(&mut self, (_, record): (u64, Record<'_>)) {
        self.clear();
        self.extend_from_slice(record.key());
    }
}

/// A file, and where the run is in it.
type Run = (Arc<Spill>, Range<u64>);

/// Sorted runs of lines, in a temporary file for each thread, and their merge.
pub(crate) struct Runs<K = u64> {
    disk: Disk,
    /// Bytes of the buffer that lines are written from.
    buffer: usize,
    out: Option<SpillWriter>,
    /// The end of each run in the file that is being written.
    ends: Vec<u64>,
    /// Runs in finished files.
    runs: Vec<Run>,
    order: PhantomData<K>,
}

impl Runs {
    /// Appends a result to the last run; its place is after all others in it. It is stored like a line: its count as u64, and
    /// the row.
    pub(crate) fn push(&mut self, selected: Selected<'_>) -> Result<(), Error> {
        self.out()?.push_result(selected)
    }
}

impl<K: Order> Runs<K> {
    /// Lines are written `buffer` bytes at a time, or fewer if more would gain nothing.
    pub(crate) fn new(disk: &Disk, buffer: u64) -> Self {
        let buffer = buffer.clamp(LEAST_BUFFER as u64, 256 << 10) as usize;
        let (disk, order) = (disk.clone(), PhantomData);
        Self { disk, buffer, out: None, ends: Vec::new(), runs: Vec::new(), order }
    }

    fn out(&mut self) -> Result<&mut SpillWriter, Error> {
        if self.out.is_none() {
            self.out = Some(SpillWriter::new(&self.disk, self.buffer, K::LAYOUT)?);
        }
        Ok(self.out.as_mut().expect("just made"))
    }

    /// Appends a line to the last run, which is not below the others in it.
    pub(crate) fn push_line(&mut self, place: u64, line: Record<'_>) -> Result<(), Error> {
        self.out()?.push(place, line)
    }

    /// Whether no line was pushed.
    pub(crate) fn is_empty(&self) -> bool {
        self.out.is_none() && self.runs.is_empty()
    }

    /// Ends the last run; a new one follows.
    pub(crate) fn end(&mut self) {
        let start = self.ends.last().copied().unwrap_or(0);
        let end = self.out.as_ref().map_or(0, |out| out.bytes);
        if end > start {
            self.ends.push(end);
        }
    }

    /// Adds the runs of another thread.
    pub(crate) fn join(&mut self, other: Self) -> Result<(), Error> {
        self.runs.extend(other.finish()?);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Run>, Error> {
        if let Some(out) = self.out {
            let file = Arc::new(out.finish()?);
            let starts = [0].into_iter().chain(self.ends.iter().copied());
            let ranges = starts.zip(&self.ends).map(|(start, &end)| start..end);
            self.runs.extend(ranges.map(|range| (Arc::clone(&file), range)));
        }
        Ok(self.runs)
    }

    /// Merges all runs in about `memory` bytes. If there are too many to read at the same time, merges some into longer
    /// ones first: an external merge sort (D. E. Knuth, The Art of Computer Programming 3, section 5.4).
    pub(crate) fn merge(self, memory: u64) -> Result<Merged<K>, Error> {
        /// Below this, a read costs more in calls than in bytes.
        const LEAST_READ: u64 = 16 << 10;
        let (disk, written) = (self.disk.clone(), self.buffer as u64);
        let mut runs = self.finish()?;
        loop {
            let longest = runs.iter().map(|(file, _)| file.longest).max().unwrap_or(0);
            // A reader's buffer grows to its longest line.
            let fan_in = ((memory / LEAST_READ.max(K::COPIES * longest)) as usize).max(2);
            let buffer =
                (memory / runs.len().clamp(1, fan_in) as u64).clamp(LEAST_READ, 1 << 20) as usize;
            let merged = |runs: &[Run]| {
                let readers = runs.iter().map(|(file, run)| file.read_range(run.clone(), buffer));
                Merged::new(readers.collect())
            };
            if runs.len() <= fan_in {
                return merged(&runs);
            }
            let mut longer = Self::new(&disk, written);
            let (mut made, mut rest) = (0, &runs[..]);
            while made + rest.len() > fan_in && !rest.is_empty() {
                // Merges only as many as exceed the limit.
                let some = (made + rest.len() - fan_in + 1).min(fan_in).min(rest.len());
                let mut merged = merged(&rest[..some])?;
                while let Some((place, line)) = merged.next_line()? {
                    longer.push_line(place, line)?;
                }
                longer.end();
                (made, rest) = (made + 1, &rest[some..]);
            }
            let mut fewer = longer.finish()?;
            fewer.extend_from_slice(rest);
            runs = fewer;
        }
    }
}

/// The lines of several sorted runs, in ascending order; equal ones in the order of the runs.
pub(crate) struct Merged<K = u64> {
    readers: Vec<SpillReader>,
    /// The runs by their next lines.
    heads: BinaryHeap<Reverse<(K, usize)>>,
    /// Whether the first run's line was returned: its next one is still to be read.
    given: bool,
}

impl<K: Order> Merged<K> {
    fn new(mut readers: Vec<SpillReader>) -> Result<Self, Error> {
        let mut heads = BinaryHeap::new();
        for (run, reader) in readers.iter_mut().enumerate() {
            if reader.advance()? {
                let mut head = K::default();
                head.set(reader.line());
                heads.push(Reverse((head, run)));
            }
        }
        Ok(Self { readers, heads, given: false })
    }

    /// The next line, and its place.
    pub(crate) fn next_line(&mut self) -> Result<Option<(u64, Record<'_>)>, Error> {
        if self.given
            && let Some(mut head) = self.heads.peek_mut()
        {
            let Reverse((order, run)) = &mut *head;
            let reader = &mut self.readers[*run];
            match reader.advance()? {
                true => order.set(reader.line()),
                false => drop(PeekMut::pop(head)),
            }
        }
        self.given = true;
        Ok(self.heads.peek().map(|Reverse((_, run))| self.readers[*run].line()))
    }
}

impl Merged {
    /// The next result.
    pub(crate) fn next(&mut self) -> Result<Option<Selected<'_>>, Error> {
        Ok(self.next_line()?.map(|(place, line)| {
            let (count, row) = line.row.split_first_chunk().expect("a count");
            Selected { place, count: u64::from_le_bytes(*count), row }
        }))
    }
}

#[cfg(test)]
mod tests {
    use umbel::KeyHasher;

    use super::*;
    use crate::testing::workplace;

    #[test]
    fn partitions_keep_order_and_lose_nothing() {
        let (dir, options) = workplace(b'\n');
        let disk = Disk::new(&options.resources.tmp);
        let hasher = LineHasher::random();
        let parts = Partitions::new(&disk, 1, 7, 1, Layout::Keyed).unwrap();
        let line = |i: u64| "y".repeat((i % 300) as usize) + &i.to_string();
        for i in 0..5_000 {
            let (row, key) = (line(i), i.to_le_bytes());
            let record = match i % 2 {
                0 => Record::keyed(row.as_bytes(), &row.as_bytes()[row.len() - 1..]),
                _ => Record::keyed(row.as_bytes(), &key),
            };
            parts.push(KeyHasher::default().hash(&row), i, record).unwrap();
        }
        let mut seen = Vec::new();
        for spill in parts.finish().unwrap() {
            assert!((500..1000).contains(&spill.lines), "{} lines in one of 7", spill.lines);
            let mut reader = spill.read(100);
            let mut last = None;
            while reader.read_some(&hasher).unwrap() {
                for (hash, place, record) in reader.some() {
                    assert_eq!(hash, hasher.hash(record.key()));
                    let row = line(place);
                    assert!(last < Some(place) && record.row == row.as_bytes());
                    let key = place.to_le_bytes();
                    let key = if place % 2 == 0 { &row.as_bytes()[row.len() - 1..] } else { &key };
                    assert_eq!(record.key(), key);
                    last = Some(place);
                    seen.push(place);
                }
            }
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..5_000));
        assert!(disk.read() == disk.written() && disk.read() > 0);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "files are unlinked at once");
    }
}
