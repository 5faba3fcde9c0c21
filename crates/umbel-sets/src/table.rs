//! The lines kept in memory: each once, found by hash, compared by bytes, in order of arrival.
//!
//! ```text
//! slots   u64 = 28 bits of the hash | 36 bits: unit + 1 of the record; 0 is empty; open addressing
//! arena   segments of 1 MiB, 8 MiB in huge pages, or less in a small table; a record starts at a unit of 4 bytes:
//!         place in the inputs, u64 | a stored record | up to the unit
//! ```
//!
//! Tables of keys have no places. A line takes 12 bytes, on average 1.5 bytes of rounding, and 8 bytes per slot at a
//! load of 0.35 to 0.7. A line with a key takes 8 bytes more, and the key once more if it is not a part of the line.
//! Slots hold enough hash bits to grow without reading the lines, up to 751 million keys. Segments never move: growing
//! needs no second copy, which a hard cap could not afford.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use umbel::internals::{words, words_mut};
use umbel::{Blocks, KeyHash};

use crate::Error;
use crate::records::{Layout, Record};

/// Bytes of a segment; in a large table, enough for huge pages, without which nearly every look-up also misses the TLB.
/// Small in tests: a few lines then fill several segments.
const SEGMENT: usize = if cfg!(test) { 1 << 9 } else { 1 << 20 };
const LARGE_SEGMENT: usize = 8 * SEGMENT;
/// For a small table: the data next to a line, such as the inputs that have it, may be many times its size.
const LEAST_SEGMENT: usize = if cfg!(test) { SEGMENT } else { 4 << 10 };
/// From this budget on, segments are large.
const LARGE: u64 = 16 * LARGE_SEGMENT as u64;
pub(crate) const UNIT: usize = 4;
/// Bytes of a place.
const PLACE: usize = 8;
/// Bytes of the shortest record: counters of records are at least this far apart.
pub(crate) const LEAST_RECORD: usize = 12;

/// The overhead of a line in a table: header, rounding, slots at a mean load of 0.5.
pub(crate) const KEPT_LINE: u64 = 30;
const TAG_BITS: u32 = if cfg!(test) { 15 } else { 28 };
const UNIT_BITS: u32 = 64 - TAG_BITS;
/// The unit + 1 in a slot.
const UNITS: u64 = (1 << UNIT_BITS) - 1;
/// With more slots than the stored hash bits distinguish, keys with equal bits are next to each other and must be
/// compared: up to three per look-up.
const MOST_SLOTS: usize = 4 << TAG_BITS;
/// The keys of a table with the most slots: 751 million.
pub(crate) const MOST_KEYS: u64 = MOST_SLOTS as u64 / 10 * 7;
/// The bytes of lines that slots can point to: 256 GiB.
pub(crate) const MOST_BYTES: u64 = (UNITS + 1) * UNIT as u64 - LARGE_SEGMENT as u64;
const FEWEST_SLOTS: usize = if cfg!(test) { 1 << 3 } else { 1 << 12 };

/// The result of inserting a line; if it is in the table, with its unit there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    New(u64),
    Known(u64),
    /// It is not in the table and does not fit.
    Full,
}

pub(crate) struct Table {
    layout: Layout,
    /// Bytes of the place in front of each record, if there are places.
    place: usize,
    /// The slots as u64s, a power of two of them.
    slots: Blocks,
    records: u64,
    /// Units of a segment, a power of two.
    segment_units: u64,
    segments: Vec<Segment>,
    /// Segments kept when the table was [emptied](Self::clear).
    spare: Vec<Segment>,
    /// Units used in the last segment.
    units: u64,
    /// Bytes of all segments.
    arena: u64,
    /// Bytes that it may still use, shared with other tables if there are any.
    room: Arc<AtomicU64>,
    /// Bytes in use beyond that room: those of a first record that did not fit.
    beyond: u64,
    /// Set once a line did not fit: no new line enters after that, so any line not here is elsewhere.
    full: bool,
}

/// Some records.
struct Segment {
    memory: Blocks,
    /// Bytes of records.
    filled: usize,
}

impl Segment {
    fn new(bytes: usize) -> Result<Self, Error> {
        Ok(Self { memory: zeroed(bytes)?, filled: 0 })
    }

    /// The records.
    fn bytes(&self) -> &[u8] {
        &self.memory.as_bytes()[..self.filled]
    }

    /// The place for `size` more bytes.
    fn grow(&mut self, size: usize) -> &mut [u8] {
        let begin = self.filled;
        self.filled += size;
        &mut self.memory.as_bytes_mut()[begin..self.filled]
    }
}

/// Zeroed memory; requests huge pages if it is large.
fn zeroed(bytes: usize) -> Result<Blocks, Error> {
    Ok(Blocks::zeroed(bytes.div_ceil(size_of::<umbel::Block>()) as u64)?)
}

/// Whether the bytes are equal, inline: lines are so short that a call takes longer than comparing them, in some C
/// libraries several times longer.
#[inline]
fn equal(a: &[u8], b: &[u8]) -> bool {
    const WORD: usize = size_of::<u128>();
    let words = a.as_chunks::<WORD>().0.iter().zip(b.as_chunks::<WORD>().0);
    a.len() == b.len()
        && words.into_iter().all(|(a, b)| a == b)
        && match (a.last_chunk::<WORD>(), b.last_chunk::<WORD>()) {
            (Some(a), Some(b)) => a == b,
            _ => a.iter().zip(b).all(|(a, b)| a == b),
        }
}

impl Table {
    /// Makes a table that uses at most `budget` bytes, but always has room for one line.
    ///
    /// # Errors
    /// If memory for its slots cannot be allocated.
    pub(crate) fn new(budget: u64, layout: Layout) -> Result<Self, Error> {
        Self::for_lines(budget, layout, 0, 0)
    }

    /// Makes a table as [`new`](Self::new), with slots for as many of `lines` lines of `bytes` bytes in total as fit.
    pub(crate) fn for_lines(
        budget: u64,
        layout: Layout,
        lines: u64,
        bytes: u64,
    ) -> Result<Self, Error> {
        let room = Arc::new(AtomicU64::new(budget));
        let each = bytes / lines.max(1) + KEPT_LINE;
        let slots = (lines.min(budget / each) * 10 / 7 + 1).next_power_of_two() as usize;
        Ok(Self { layout, place: PLACE, ..Self::of_keys(&room, budget, slots)? })
    }

    /// Bytes of a table made for `lines` lines of `length` bytes, with keys that are not a part of them.
    pub(crate) fn needed(lines: u64, length: u64) -> u64 {
        let slots = (lines.saturating_mul(10) / 7 + 1).next_power_of_two();
        lines.saturating_mul(length + 20).saturating_add(8 * slots)
    }

    /// Makes tables of lines with places that use at most `budget` bytes together, as many as `threads` can fill at the
    /// same time, with slots for about `keys` keys; only one if each would get too little of the budget.
    pub(crate) fn shards(
        budget: u64,
        threads: usize,
        layout: Layout,
        keys: u64,
    ) -> Result<Vec<Self>, Error> {
        let tables = Self::shards_of_keys(budget, threads, keys)?.into_iter();
        Ok(tables.map(|table| Self { layout, place: PLACE, ..table }).collect())
    }

    /// Makes tables of keys as [`shards`](Self::shards), with slots for about `keys` keys in total.
    pub(crate) fn shards_of_keys(
        budget: u64,
        threads: usize,
        keys: u64,
    ) -> Result<Vec<Self>, Error> {
        // When no room is left, all but the last segment of each are full.
        let most = (budget / (8 * segment_of(budget) as u64)).max(1);
        let count = 1 << (threads as u64).min(most).ilog2();
        // No more than a third of the budget, the share of slots with lines of 16 bytes.
        let slots = (keys / count * 3 / 2).min(budget / count / 24).next_power_of_two() as usize;
        let room = Arc::new(AtomicU64::new(budget));
        (0..count).map(|_| Self::of_keys(&room, budget, slots)).collect()
    }

    fn of_keys(room: &Arc<AtomicU64>, budget: u64, slots: usize) -> Result<Self, Error> {
        let segment_units = (segment_of(budget) / UNIT) as u64;
        let table = Self {
            layout: Layout::Lines,
            place: 0,
            slots: zeroed(8 * slots.clamp(FEWEST_SLOTS, MOST_SLOTS))?,
            records: 0,
            segment_units,
            segments: Vec::new(),
            spare: Vec::new(),
            units: segment_units,
            arena: 0,
            room: Arc::clone(room),
            beyond: 0,
            full: false,
        };
        table.take(table.bytes(), true);
        Ok(table)
    }

    /// Takes some of the room; returns how much it lacked: nothing, or with `force` any number of bytes.
    fn take(&self, bytes: u64, force: bool) -> Option<u64> {
        let less = |left: u64| match left.checked_sub(bytes) {
            None if force => Some(0),
            less => less,
        };
        let before = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        before.ok().map(|before| bytes.saturating_sub(before))
    }

    /// Different lines held.
    pub(crate) fn len(&self) -> u64 {
        self.records
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> u64 {
        self.arena + 8 * self.slots().len() as u64
    }

    /// Units that records may use.
    pub(crate) fn units(&self) -> u64 {
        self.segments.len() as u64 * self.segment_units
    }

    /// Bytes still free in the budget.
    pub(crate) fn room(&self) -> u64 {
        self.room.load(Ordering::Relaxed)
    }

    /// Bytes that a line too long for a chunk may use if `spare` are reserved for such lines: it also goes into the
    /// table, unless that is full.
    pub(crate) fn room_for_long(&self, spare: u64) -> u64 {
        spare + if self.full { 0 } else { self.room() / 2 }
    }

    /// Removes all lines, and keeps its memory: the system takes longer to hand out zeroed pages than it takes to fill them.
    pub(crate) fn clear(&mut self) {
        self.slots_mut().fill(0);
        let segment = self.segment_units * UNIT as u64;
        let usual =
            self.segments.drain(..).filter(|one| one.memory.as_bytes().len() as u64 == segment);
        let before = self.spare.len();
        self.spare.extend(usual.map(|Segment { memory, .. }| Segment { memory, filled: 0 }));
        // Segments for long lines are freed.
        let kept = (self.spare.len() - before) as u64 * segment;
        let freed = (self.arena - kept).saturating_sub(self.beyond);
        self.beyond -= self.arena - kept - freed;
        self.room.fetch_add(freed, Ordering::Relaxed);
        (self.arena, self.units, self.records, self.full) = (0, self.segment_units, 0, false);
    }

    /// Accepts no more lines.
    pub(crate) fn close(&mut self) {
        self.full = true;
    }

    /// Adds a line first found at `place` of the inputs, unless its key is known. The table is also full if the system
    /// has no more memory.
    pub(crate) fn insert(
        &mut self,
        hash: KeyHash,
        place: u64,
        line: Record<'_>,
    ) -> Result<Inserted, Error> {
        if let Some(unit) = self.find(hash, line.key()) {
            return Ok(Inserted::Known(unit));
        }
        if !self.has_room(&line, true)? {
            return Ok(Inserted::Full);
        }
        let slot = self.free_slot(tag(hash));
        let unit = self.append(hash, slot, place, &line);
        self.records += 1;
        Ok(Inserted::New(unit))
    }

    /// Adds a record after all others with its key, in a table made for that: each one's place is the unit of the next,
    /// the last one's the first's. Returns the unit as [`insert`](Self::insert); a key with other records is known.
    pub(crate) fn insert_behind(
        &mut self,
        hash: KeyHash,
        record: Record<'_>,
    ) -> Result<Inserted, Error> {
        let Some(slot) = self.find_slot(hash, record.key()) else {
            let inserted = self.insert(hash, 0, record)?;
            if let Inserted::New(unit) = inserted {
                self.set_place(unit, unit);
            }
            return Ok(inserted);
        };
        if !self.has_room(&record, false)? {
            return Ok(Inserted::Full);
        }
        let last = unit_of(self.slots()[slot]);
        let first = self.entry(last).place;
        let unit = self.append(hash, slot, first, &record);
        self.set_place(last, unit);
        Ok(Inserted::Known(unit))
    }

    /// The records of a list whose last unit is `last`, in the order of their arrival.
    pub(crate) fn list(&self, last: u64) -> impl Iterator<Item = Record<'_>> {
        let mut next = Some(self.entry(last).place);
        std::iter::from_fn(move || {
            let unit = next?;
            let Entry { place, line } = self.entry(unit);
            next = (unit != last).then_some(place);
            Some(line)
        })
    }

    fn set_place(&mut self, unit: u64, place: u64) {
        let (segment, at) = self.locate(unit);
        self.segments[segment].memory.as_bytes_mut()[at..at + PLACE]
            .copy_from_slice(&place.to_le_bytes());
    }

    /// The unit of the entry with this key; in a list, of the last one.
    pub(crate) fn find(&self, hash: KeyHash, key: &[u8]) -> Option<u64> {
        self.find_slot(hash, key).map(|slot| unit_of(self.slots()[slot]))
    }

    /// The slot of the entry with this key.
    #[inline]
    fn find_slot(&self, hash: KeyHash, key: &[u8]) -> Option<usize> {
        let tag = tag(hash);
        let slots = self.slots();
        let mut slot = self.home(tag);
        loop {
            match slots[slot] {
                0 => return None,
                found
                    if found >> UNIT_BITS == tag
                        && equal(self.entry(unit_of(found)).line.key(), key) =>
                {
                    return Some(slot);
                }
                _ => {}
            }
            slot = (slot + 1) & (slots.len() - 1);
        }
    }

    /// Prefetches what `hashes[i]` and the following need, each in its table, each time `i` reaches a new group.
    #[inline]
    pub(crate) fn warm_from<'t>(hashes: &[KeyHash], i: usize, table: impl Fn(KeyHash) -> &'t Self) {
        const WARMED: usize = 64;
        if i.is_multiple_of(WARMED) {
            Self::warm_each(&hashes[i..hashes.len().min(i + WARMED)], table);
        }
    }

    /// Reads the slots of `hashes`, then the entries found there: the cache misses of many look-ups to come overlap.
    pub(crate) fn warm(&self, hashes: &[KeyHash]) {
        Self::warm_each(hashes, |_| self);
    }

    /// Like [`warm`](Self::warm), in the table of each hash.
    #[inline]
    pub(crate) fn warm_each<'t>(hashes: &[KeyHash], table: impl Fn(KeyHash) -> &'t Self) {
        const AHEAD: usize = 32;
        /// Bytes of a cache line: an entry of usual length is in two.
        const LINE: usize = 64;
        for hashes in hashes.chunks(AHEAD) {
            // Loads all slots before testing any: a branch misprediction would wait for the cache miss it depends on.
            let mut slots = [0; AHEAD];
            for (slot, &hash) in slots.iter_mut().zip(hashes) {
                let table = table(hash);
                *slot = table.slots()[table.home(tag(hash))];
            }
            let mut bytes = 0u8;
            for (&(mut slot), &hash) in slots.iter().zip(hashes) {
                // A third of the keys are not in their first slot, but mostly in the same cache line.
                let (table, tag) = (table(hash), tag(hash));
                let mut next = table.home(tag);
                while slot != 0 && slot >> UNIT_BITS != tag {
                    next = (next + 1) & (table.slots().len() - 1);
                    slot = table.slots()[next];
                }
                if slot != 0 {
                    let entry = table.at(unit_of(slot));
                    bytes ^= entry[0] ^ entry.get(LINE).copied().unwrap_or(0);
                }
            }
            std::hint::black_box(bytes);
        }
    }

    /// The next of all entries in order of arrival, with its unit.
    pub(crate) fn next(&self, cursor: &mut Cursor) -> Option<(u64, Entry<'_>)> {
        let bytes = loop {
            let bytes = self.segments.get(cursor.segment)?.bytes();
            if cursor.at < bytes.len() {
                break bytes;
            }
            *cursor = Cursor { segment: cursor.segment + 1, at: 0 };
        };
        let unit = cursor.segment as u64 * self.segment_units + (cursor.at / UNIT) as u64;
        let entry = self.read(&bytes[cursor.at..]);
        cursor.at += self.size(&entry.line);
        Some((unit, entry))
    }

    fn size(&self, line: &Record<'_>) -> usize {
        (self.place + self.layout.size(line)).max(LEAST_RECORD).next_multiple_of(UNIT)
    }

    /// The entry at a unit.
    pub(crate) fn entry(&self, unit: u64) -> Entry<'_> {
        self.read(self.at(unit))
    }

    fn read<'t>(&self, bytes: &'t [u8]) -> Entry<'t> {
        let (place, line) = bytes.split_at(self.place);
        let place = place.first_chunk().map_or(0, |place| u64::from_le_bytes(*place));
        Entry { place, line: self.layout.read(line) }
    }

    /// The segment of a unit, and the byte in it.
    fn locate(&self, unit: u64) -> (usize, usize) {
        // Not by a division, which would cost as much as everything else.
        let segment = (unit >> self.segment_units.trailing_zeros()) as usize;
        (segment, (unit & (self.segment_units - 1)) as usize * UNIT)
    }

    /// The bytes from a unit on.
    fn at(&self, unit: u64) -> &[u8] {
        let (segment, at) = self.locate(unit);
        &self.segments[segment].bytes()[at..]
    }

    fn slots(&self) -> &[u64] {
        words(&self.slots)
    }

    fn slots_mut(&mut self) -> &mut [u64] {
        words_mut(&mut self.slots)
    }

    fn home(&self, tag: u64) -> usize {
        let bits = self.slots().len().trailing_zeros();
        ((tag << bits) >> TAG_BITS) as usize
    }

    fn free_slot(&self, tag: u64) -> usize {
        let mut slot = self.home(tag);
        let slots = self.slots();
        while slots[slot] != 0 {
            slot = (slot + 1) & (slots.len() - 1);
        }
        slot
    }

    /// Whether a line fits, and its slot if it needs one; after the first that does not, none does.
    fn has_room(&mut self, line: &Record<'_>, slot: bool) -> Result<bool, Error> {
        if !self.full {
            match self.make_room(self.size(line), slot) {
                Err(error) if self.records == 0 => return Err(error),
                room => self.full = !room.unwrap_or(false),
            }
        }
        Ok(!self.full)
    }

    /// The same for an entry of `size` bytes; grows the table as needed.
    fn make_room(&mut self, size: usize, slot: bool) -> Result<bool, Error> {
        let mut growth = 0;
        let units = (size / UNIT) as u64;
        let (mut segment, mut spare) = (0, false);
        if self.units + units > self.segment_units {
            if self.segments.len() as u64 >= (1 << UNIT_BITS) / self.segment_units - 1 {
                return Ok(false);
            }
            segment = (self.segment_units * UNIT as u64).max(size as u64);
            spare = units <= self.segment_units && !self.spare.is_empty();
            growth += if spare { 0 } else { segment };
        }
        let slots = self.slots().len();
        let crowded = slot && (self.records + 1) * 10 > slots as u64 * 7;
        if crowded {
            if slots >= MOST_SLOTS {
                return Ok(false);
            }
            // Both tables exist while slots are moved.
            growth += 8 * 2 * slots as u64;
        }
        if growth > 0 {
            let Some(lacking) = self.take(growth, self.records == 0) else { return Ok(false) };
            self.beyond += lacking;
        }
        if crowded {
            self.grow_slots()?;
            self.room.fetch_add(8 * slots as u64, Ordering::Relaxed);
        }
        if segment > 0 {
            let spare = if spare { self.spare.pop() } else { None };
            self.segments.push(spare.map_or_else(|| Segment::new(segment as usize), Ok)?);
            self.arena += segment;
            self.units = 0;
        }
        Ok(true)
    }

    fn grow_slots(&mut self) -> Result<(), Error> {
        let longer = zeroed(2 * 8 * self.slots().len())?;
        let old = std::mem::replace(&mut self.slots, longer);
        for &slot in words(&old).iter().filter(|&&slot| slot != 0) {
            let free = self.free_slot(slot >> UNIT_BITS);
            self.slots_mut()[free] = slot;
        }
        Ok(())
    }

    /// Writes a record where there is room for it, points a slot to it, and returns its unit.
    fn append(&mut self, hash: KeyHash, slot: usize, place: u64, line: &Record<'_>) -> u64 {
        let size = self.size(line);
        let unit = (self.segments.len() as u64 - 1) * self.segment_units + self.units;
        let header = self.layout.header(line);
        let (layout, first) = (self.layout, place.to_le_bytes());
        let mut to = self.segments.last_mut().expect("a segment was just made").grow(size);
        let parts =
            [&first[..self.place], &header[..layout.header_size()], line.row, layout.tail(line)];
        for part in parts {
            let (here, rest) = to.split_at_mut(part.len());
            here.copy_from_slice(part);
            to = rest;
        }
        // A record longer than a segment fills one of its own.
        self.units = (self.units + (size / UNIT) as u64).min(self.segment_units);
        self.slots_mut()[slot] = (tag(hash) << UNIT_BITS) | (unit + 1);
        unit
    }
}

/// The position of a walk over all entries.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cursor {
    segment: usize,
    at: usize,
}

/// A line in the table.
pub(crate) struct Entry<'a> {
    /// Its first place; 0 in a table of keys.
    pub(crate) place: u64,
    pub(crate) line: Record<'a>,
}

/// Bytes of a segment of tables with this budget.
fn segment_of(budget: u64) -> usize {
    match budget {
        LARGE.. => LARGE_SEGMENT,
        _ => (budget as usize / 4).next_power_of_two().clamp(LEAST_SEGMENT, SEGMENT),
    }
}

/// The unit that a slot points to.
fn unit_of(slot: u64) -> u64 {
    (slot & UNITS) - 1
}

fn tag(hash: KeyHash) -> u64 {
    hash.low >> (64 - TAG_BITS)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use umbel::KeyHasher;

    use super::*;

    #[test]
    fn equal_bytes_are_equal() {
        let bytes: Vec<u8> = (0..70).collect();
        for length in 0..=bytes.len() {
            let bytes = &bytes[..length];
            assert!(equal(bytes, bytes));
            assert!(length == 0 || !equal(bytes, &bytes[1..]));
            for i in 0..length {
                let mut other = bytes.to_vec();
                other[i] ^= 0x80;
                assert!(!equal(bytes, &other));
            }
        }
    }

    fn entries(table: &Table) -> impl Iterator<Item = Entry<'_>> {
        let mut cursor = Cursor::default();
        std::iter::from_fn(move || Some(table.next(&mut cursor)?.1))
    }

    fn is_known(inserted: Inserted) -> bool {
        match inserted {
            Inserted::New(_) => false,
            Inserted::Known(_) => true,
            Inserted::Full => panic!("no room"),
        }
    }

    #[test]
    fn holds_each_line_once_in_order() {
        let hasher = KeyHasher::default();
        let mut table = Table::new(64 << 20, Layout::Lines).unwrap();
        let mut model = HashSet::new();
        let mut order = Vec::new();
        for i in 0u64..60_000 {
            let number = i * 7919 % 20_000;
            let line = format!("{number}-{}", "x".repeat((number % 50) as usize));
            let inserted = table.insert(hasher.hash(&line), i, Record::line(line.as_bytes()));
            let is_new = model.insert(line.clone());
            assert_eq!(is_known(inserted.unwrap()), !is_new);
            if is_new {
                order.push((i, line));
            }
        }
        let walked: Vec<_> = entries(&table)
            .map(|entry| (entry.place, String::from_utf8(entry.line.row.to_vec()).unwrap()))
            .collect();
        assert_eq!(walked, order);
        assert_eq!(table.len(), 20_000);
        assert_eq!(table.room() + table.bytes(), 64 << 20);
        assert_eq!(table.room_for_long(7), 7 + table.room() / 2);
        assert!(table.find(hasher.hash("absent"), b"absent").is_none());
    }

    #[test]
    fn more_keys_than_slots_tell_apart_are_compared() {
        let hasher = KeyHasher::default();
        let mut table = Table::new(64 << 20, Layout::Lines).unwrap();
        let mut insert = |i: u64| {
            let key = i.to_le_bytes();
            table.insert(hasher.hash(key), i, Record::line(&key)).unwrap()
        };
        assert!((0..MOST_KEYS).all(|i| matches!(insert(i), Inserted::New(_))));
        assert!((0..MOST_KEYS).all(|i| is_known(insert(i))));
        assert!((MOST_KEYS..MOST_KEYS + 9).any(|i| insert(i) == Inserted::Full));
        assert_eq!(table.slots().len(), MOST_SLOTS);
        let places = entries(&table).map(|entry| entry.place);
        assert!(places.take(MOST_KEYS as usize).eq(0..MOST_KEYS));
    }

    #[test]
    fn the_first_row_of_a_key_stays() {
        let hash = KeyHasher::default().hash("key");
        let mut table = Table::new(1 << 20, Layout::Keyed).unwrap();
        let rows = [&b"a,key"[..], b"bb,key", b"ccc,\"key\""];
        let within = |i: usize| Record::keyed(rows[i], &rows[i][i + 2..][..3]);
        assert!(!is_known(table.insert(hash, 0, Record::keyed(rows[2], b"key")).unwrap()));
        assert!(is_known(table.insert(hash, 1, within(0)).unwrap()));
        assert!(!is_known(table.insert(hash, 2, Record::keyed(rows[2], b"ke")).unwrap()));
        assert!(!is_known(table.insert(hash, 3, Record::keyed(rows[1], &rows[1][..0])).unwrap()));
        assert!(table.find(hash, b"key").is_some() && table.find(hash, b"").is_some());
        let held: Vec<_> =
            entries(&table).map(|entry| (entry.line.row, entry.line.key())).collect();
        assert_eq!(held, [(rows[2], &b"key"[..]), (rows[2], b"ke"), (rows[1], b"")]);
    }

    #[test]
    fn holds_one_line_without_room_for_any() {
        for budget in [0, 1_000] {
            let mut table = Table::new(budget, Layout::Lines).unwrap();
            let line = [b'x'; 3_000];
            let mut insert =
                |hash, line| table.insert(KeyHash::from_u64(hash), 0, Record::line(line)).unwrap();
            assert_eq!(insert(1, &line), Inserted::New(0));
            assert_eq!(insert(2, b"other"), Inserted::Full);
            assert_eq!(table.room(), 0);
            table.clear();
            assert!(table.room() <= budget);
        }
    }

    #[test]
    fn stays_in_its_budget_and_then_takes_no_more() {
        let hasher = KeyHasher::default();
        let budget = 1 << 20;
        let mut table = Table::new(budget, Layout::Lines).unwrap();
        let line = |i: u64| format!("{i:066}");
        let insert = |table: &mut Table, i: u64| {
            table.insert(hasher.hash(line(i)), i, Record::line(line(i).as_bytes())).unwrap()
        };
        let held = (0..).take_while(|&i| matches!(insert(&mut table, i), Inserted::New(_))).count();
        assert!(table.bytes() <= budget && table.bytes() > budget * 7 / 10, "{}", table.bytes());
        assert!(table.full && held as u64 == table.len());
        assert!(is_known(insert(&mut table, 0)));
        assert_eq!(table.insert(hasher.hash("s"), 0, Record::line(b"s")).unwrap(), Inserted::Full);
    }
}
