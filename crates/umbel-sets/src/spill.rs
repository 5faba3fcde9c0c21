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
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use umbel::KeyHash;
use umbel::internals::GOLDEN;
use umbel_io::{PageBuffer, PageWriter};

use crate::Error;
use crate::budget::LEAST_BUFFER;
use crate::pages::{PAGE, within_page};
use crate::records::{Layout, MOST_HEADER, Record};
use crate::temporary::{TempFile, TempFolders};

/// The folders of temporary files, and the bytes written and read.
pub(crate) struct Disk<'a> {
    folders: &'a TempFolders,
    written: AtomicU64,
    read: AtomicU64,
}

impl<'a> Disk<'a> {
    pub(crate) fn new(folders: &'a TempFolders) -> Self {
        Self { folders, written: AtomicU64::new(0), read: AtomicU64::new(0) }
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
    out: PageWriter<TempFile>,
    layout: Layout,
    lines: u64,
    bytes: u64,
    longest: u64,
}

impl SpillWriter {
    pub(crate) fn new(disk: &Disk<'_>, buffer: usize, layout: Layout) -> Result<Self, Error> {
        let out = PageWriter::new(buffer, disk.folders.file()?);
        Ok(Self { out, layout, lines: 0, bytes: 0, longest: 0 })
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
        let length = (size_of_val(&count) + row.len()) as u32;
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

    pub(crate) fn finish(self, disk: &Disk<'_>) -> Result<Spill, Error> {
        let file = TempFile::finish(self.out)?;
        let Self { layout, lines, bytes, longest, .. } = self;
        disk.written.fetch_add(bytes, Ordering::Relaxed);
        Ok(Spill { file: Arc::new(file), layout, lines, start: 0, end: bytes, longest })
    }
}

/// Lines in a temporary file, to be read in order, any number of times.
pub(crate) struct Spill {
    file: Arc<TempFile>,
    layout: Layout,
    lines: u64,
    start: u64,
    end: u64,
    longest: u64,
}

impl Spill {
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Bytes of the longest line, as stored.
    pub(crate) fn longest(&self) -> u64 {
        self.longest
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Where its lines are in its file.
    pub(crate) fn range(&self) -> Range<u64> {
        self.start..self.end
    }

    /// The lines between two offsets of it.
    fn part(&self, start: u64, end: u64) -> Self {
        let Self { layout, lines, longest, .. } = *self;
        Self { file: Arc::clone(&self.file), layout, lines, start, end, longest }
    }

    /// Reads a range of bytes that starts and ends where lines start.
    pub(crate) fn read_range(&self, range: Range<u64>, buffer: usize) -> SpillReader {
        SpillReader { at: range.start, end: range.end, ..self.read(buffer) }
    }

    pub(crate) fn read(&self, buffer: usize) -> SpillReader {
        SpillReader {
            file: Arc::clone(&self.file),
            layout: self.layout,
            at: self.start,
            end: self.end,
            buffer: PageBuffer::new(buffer.next_multiple_of(PAGE)),
            begin: 0,
            filled: 0,
            record: 0..0,
            some: Vec::new(),
        }
    }
}

/// Reads the lines of a [`Spill`].
pub(crate) struct SpillReader {
    file: Arc<TempFile>,
    layout: Layout,
    at: u64,
    end: u64,
    /// Bytes of the file, where they are in pages.
    buffer: PageBuffer,
    begin: usize,
    filled: usize,
    /// The range of the line read last in the buffer.
    record: Range<usize>,
    /// The places of some lines, and their ranges in the buffer.
    some: Vec<(u64, Range<usize>)>,
}

impl SpillReader {
    /// Reads the next lines, at most 64 and at least one, from the buffer; false at the end.
    pub(crate) fn read_some(&mut self, disk: &Disk<'_>) -> Result<bool, Error> {
        const MOST: usize = 64;
        self.some.clear();
        let Some(place) = self.advance(disk)? else { return Ok(false) };
        self.some.push((place, self.record.clone()));
        let header = PLACE + self.layout.header_size();
        while self.some.len() < MOST && self.filled - self.begin >= header {
            let size = header + self.layout.body_size(&self.buffer[self.begin + PLACE..]);
            if self.filled - self.begin < size {
                break;
            }
            // The line is in the buffer, so nothing moves.
            let place = self.advance(disk)?.expect("a line is left");
            self.some.push((place, self.record.clone()));
        }
        Ok(true)
    }

    /// The number of these lines.
    pub(crate) fn len(&self) -> usize {
        self.some.len()
    }

    /// Where the lines after these are in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.at - (self.filled - self.begin) as u64
    }

    /// Line `i` of these, and its place.
    pub(crate) fn get(&self, i: usize) -> (u64, Record<'_>) {
        let (place, record) = &self.some[i];
        (*place, self.layout.read(&self.buffer[record.clone()]))
    }

    /// The keys of these lines.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i).1.key())
    }

    /// The line read last.
    fn record(&self) -> Record<'_> {
        self.layout.read(&self.buffer[self.record.clone()])
    }

    /// Reads the next line and returns its place.
    fn advance(&mut self, disk: &Disk<'_>) -> Result<Option<u64>, Error> {
        if self.begin == self.filled && self.at == self.end {
            return Ok(None);
        }
        let header = PLACE + self.layout.header_size();
        let start = self.fill(header, disk)?;
        let size = header + self.layout.body_size(&self.buffer[start + PLACE..]);
        let start = self.fill(size, disk)?;
        self.begin = start + size;
        self.record = start + PLACE..self.begin;
        let place = self.buffer[start..].first_chunk().expect("a place");
        Ok(Some(u64::from_le_bytes(*place)))
    }

    /// Makes `size` bytes available, and returns where they start in the buffer.
    fn fill(&mut self, size: usize, disk: &Disk<'_>) -> Result<usize, Error> {
        if self.filled - self.begin < size {
            let left = self.filled - self.begin;
            let begin = (within_page(self.at) + PAGE - left % PAGE) % PAGE;
            if self.buffer.len() < begin + size {
                self.buffer.resize((begin + size).next_multiple_of(PAGE));
            }
            self.buffer.copy_within(self.begin..self.filled, begin);
            (self.begin, self.filled) = (begin, begin + left);
            let more = (self.buffer.len() - self.filled).min((self.end - self.at) as usize);
            let room = &mut self.buffer[self.filled..self.filled + more];
            self.file.read_exact_at(room, self.at)?;
            disk.read.fetch_add(more as u64, Ordering::Relaxed);
            self.at += more as u64;
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
        disk: &Disk<'_>,
        level: u32,
        count: usize,
        buffers: u64,
        layout: Layout,
    ) -> Result<Self, Error> {
        let buffer = (buffers as usize / count).clamp(LEAST_BUFFER, 256 << 10);
        let files = (0..count)
            .map(|_| SpillWriter::new(disk, buffer, layout).map(Mutex::new))
            .collect::<Result<_, _>>()?;
        Ok(Self { level, files })
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    pub(crate) fn push(&self, hash: KeyHash, place: u64, line: Record<'_>) -> Result<(), Error> {
        self.lock(self.index(hash)).push(place, line)
    }

    /// Pushes some lines, and clears `some`: each partition's lines together, in order, under one lock, starting with
    /// partitions that no other thread writes to. `get` gives the hash, the place and the record of each.
    pub(crate) fn push_some<'l>(
        &self,
        some: &mut Scattered,
        get: impl Fn(usize) -> (KeyHash, u64, Record<'l>),
    ) -> Result<(), Error> {
        let Scattered { indexes, parts } = some;
        parts.resize_with(self.len(), Vec::new);
        for i in indexes.drain(..) {
            parts[self.index(get(i).0)].push(i);
        }
        let push = |file: &mut SpillWriter, part: &mut Vec<usize>| {
            part.drain(..).try_for_each(|i| {
                let (_, place, line) = get(i);
                file.push(place, line)
            })
        };
        for (number, part) in parts.iter_mut().enumerate().filter(|(_, part)| !part.is_empty()) {
            if let Ok(mut file) = self.files[number].try_lock() {
                push(&mut file, part)?;
            }
        }
        for (number, part) in parts.iter_mut().enumerate().filter(|(_, part)| !part.is_empty()) {
            push(&mut self.lock(number), part)?;
        }
        Ok(())
    }

    fn lock(&self, number: usize) -> MutexGuard<'_, SpillWriter> {
        self.files[number].lock().expect("no writer panics")
    }

    pub(crate) fn finish(self, disk: &Disk<'_>) -> Result<Vec<Spill>, Error> {
        self.files
            .into_iter()
            .map(|file| file.into_inner().expect("no writer panics").finish(disk))
            .collect()
    }

    fn index(&self, hash: KeyHash) -> usize {
        // A rotation and a multiplication per level: two levels share no pattern, and a block of the filter (high bits
        // of `high`) is spread over all files.
        let mixed = (hash.high ^ hash.low.rotate_left(29 + 11 * self.level))
            .wrapping_mul(GOLDEN ^ u64::from(self.level) << 1);
        ((u128::from(mixed) * self.files.len() as u128) >> 64) as usize
    }
}

/// Partitions that the first line creates, whichever thread finds it.
#[derive(Default)]
pub(crate) struct Later {
    made: OnceLock<Partitions>,
    making: Mutex<()>,
}

impl Later {
    pub(crate) fn get_or_make(
        &self,
        make: impl FnOnce() -> Result<Partitions, Error>,
    ) -> Result<&Partitions, Error> {
        if let Some(made) = self.get() {
            return Ok(made);
        }
        let _making = self.making.lock().expect("no writer panics");
        if let Some(made) = self.get() {
            return Ok(made);
        }
        let made = make()?;
        Ok(self.made.get_or_init(|| made))
    }

    pub(crate) fn get(&self) -> Option<&Partitions> {
        self.made.get()
    }

    /// The files, if there are any.
    pub(crate) fn finish(self, disk: &Disk<'_>) -> Result<Option<Vec<Spill>>, Error> {
        self.made.into_inner().map(|parts| parts.finish(disk)).transpose()
    }
}

/// Numbers of lines that are to be spilled, and the same by partition.
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

/// Runs of results, each sorted by place, in a temporary file for each thread, and their merge. A result is stored like
/// a line: its count as u64, and the row.
pub(crate) struct Runs {
    /// Bytes of the buffer that results are written from.
    buffer: usize,
    out: Option<SpillWriter>,
    /// The end of each run in the file that is being written.
    ends: Vec<u64>,
    /// Finished files, and the end of each run in them.
    files: Vec<(Spill, Vec<u64>)>,
}

impl Runs {
    /// Results are written `buffer` bytes at a time, or fewer where more gain nothing.
    pub(crate) fn new(buffer: u64) -> Self {
        let buffer = buffer.clamp(LEAST_BUFFER as u64, 256 << 10) as usize;
        Self { buffer, out: None, ends: Vec::new(), files: Vec::new() }
    }

    /// Appends a result to the last run; its place is after all others in it.
    pub(crate) fn push(&mut self, disk: &Disk<'_>, selected: Selected<'_>) -> Result<(), Error> {
        if self.out.is_none() {
            self.out = Some(SpillWriter::new(disk, self.buffer, Layout::Lines)?);
        }
        self.out.as_mut().expect("just made").push_result(selected)
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
    pub(crate) fn join(&mut self, other: Self, disk: &Disk<'_>) -> Result<(), Error> {
        self.files.extend(other.finish(disk)?);
        Ok(())
    }

    fn finish(mut self, disk: &Disk<'_>) -> Result<Vec<(Spill, Vec<u64>)>, Error> {
        if let Some(out) = self.out {
            self.files.push((out.finish(disk)?, self.ends));
        }
        Ok(self.files)
    }

    /// Merges all results by ascending place, with about `memory` bytes of buffers. If there are too many runs to read
    /// at the same time, merges some into longer ones first.
    pub(crate) fn merge(mut self, disk: &Disk<'_>, memory: u64) -> Result<Merged, Error> {
        /// Below this, a read costs more in calls than in bytes.
        const LEAST_READ: u64 = 16 << 10;
        loop {
            let written = self.buffer as u64;
            let files = self.finish(disk)?;
            let mut runs = Vec::new();
            for (file, ends) in &files {
                let starts = [0].into_iter().chain(ends.iter().copied());
                runs.extend(starts.zip(ends).map(|(start, &end)| file.part(start, end)));
            }
            let longest = runs.iter().map(Spill::longest).max().unwrap_or(0);
            // A reader's buffer grows to its longest line.
            let fan_in = ((memory / LEAST_READ.max(longest)) as usize).max(2);
            let buffer =
                (memory / runs.len().clamp(1, fan_in) as u64).clamp(LEAST_READ, 1 << 20) as usize;
            if runs.len() <= fan_in {
                return Merged::new(disk, &runs, buffer);
            }
            self = Self::new(written);
            for group in runs.chunks(fan_in) {
                let mut merged = Merged::new(disk, group, buffer)?;
                while let Some(selected) = merged.next(disk)? {
                    self.push(disk, selected)?;
                }
                self.end();
            }
        }
    }
}

/// The lines of several runs, by ascending place.
#[derive(Default)]
pub(crate) struct Merged {
    readers: Vec<SpillReader>,
    /// The runs by the places of their next lines.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    /// Whether the first run's line was returned: its next one is still to be read.
    given: bool,
}

impl Merged {
    fn new(disk: &Disk<'_>, runs: &[Spill], buffer: usize) -> Result<Self, Error> {
        let readers: Vec<_> = runs.iter().map(|run| run.read(buffer)).collect();
        let mut merged = Self { readers, heads: BinaryHeap::new(), given: false };
        for run in 0..runs.len() {
            if let Some(place) = merged.readers[run].advance(disk)? {
                merged.heads.push(Reverse((place, run)));
            }
        }
        Ok(merged)
    }

    /// The next result.
    pub(crate) fn next(&mut self, disk: &Disk<'_>) -> Result<Option<Selected<'_>>, Error> {
        if self.given
            && let Some(mut head) = self.heads.peek_mut()
        {
            let run = head.0.1;
            match self.readers[run].advance(disk)? {
                Some(place) => *head = Reverse((place, run)),
                None => drop(PeekMut::pop(head)),
            }
        }
        self.given = true;
        Ok(self.heads.peek().map(|&Reverse((place, run))| {
            let (count, row) = self.readers[run].record().row.split_at(8);
            Selected { place, count: u64::from_le_bytes(count.try_into().expect("8 bytes")), row }
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
        let disk = Disk::new(&options.tmp);
        let parts = Partitions::new(&disk, 1, 7, 1, Layout::Keyed).unwrap();
        let line = |i: u64| "y".repeat((i % 300) as usize) + &i.to_string();
        for i in 0..5_000 {
            let (row, key) = (line(i), i.to_le_bytes());
            let record = match i % 2 {
                0 => Record::within(row.as_bytes(), row.len() as u32 - 1, 1),
                _ => Record::apart(row.as_bytes(), &key),
            };
            parts.push(KeyHasher::default().hash(&row), i, record).unwrap();
        }
        let mut seen = Vec::new();
        for spill in parts.finish(&disk).unwrap() {
            assert!((500..1000).contains(&spill.lines()), "{} lines in one of 7", spill.lines());
            assert_eq!(spill.part(10, spill.end).bytes() + 10, spill.bytes());
            let mut reader = spill.read(100);
            let mut last = None;
            while reader.read_some(&disk).unwrap() {
                for i in 0..reader.len() {
                    let (place, record) = reader.get(i);
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

    #[test]
    fn runs_merge_by_place_in_any_fan_in() {
        let (_dir, options) = workplace(b'\n');
        let disk = Disk::new(&options.tmp);
        for memory in [0, 100 << 10, 10 << 20] {
            let mut runs = Runs::new(1 << 18);
            let lines: Vec<String> = (0..2000).map(|place| place.to_string()).collect();
            for run in 0..20 {
                for i in (run * 7 % 20..2000).step_by(20) {
                    let (place, row) = (i as u64, lines[i].as_bytes());
                    runs.push(&disk, Selected { place, count: 7, row }).unwrap();
                }
                runs.end();
            }
            let mut merged = runs.merge(&disk, memory).unwrap();
            let mut next = 0;
            while let Some(Selected { place, count, row }) = merged.next(&disk).unwrap() {
                assert_eq!((place, count, row), (next, 7, next.to_string().as_bytes()));
                next += 1;
            }
            assert_eq!(next, 2000);
        }
    }
}
