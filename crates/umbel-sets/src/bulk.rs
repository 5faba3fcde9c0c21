//! Filling filters with lines, and asking them about lines, in bulk.

use std::io::{Read, Write};
use std::sync::Mutex;

use umbel::filter::{Shard, Shards};
use umbel::{AnyFilter, Attributes, Blocked, Capacity, KeyHash, KeyHasher};
use umbel_foreign::{ForeignFilter, ForeignInsert, Format, KeyCounter, KeyType};

use crate::budget::{BUCKETED, Budget};
use crate::filter::{Filter, ForeignLines, LineKeys};
use crate::input::{Input, lengths};
use crate::report::Report;
use crate::rows::Places;
use crate::scan::{Lines, Scanner, Tally, Visit};
use crate::sink::Sink;
use crate::{Error, Options};

/// Counts the lines of `inputs`: an upper bound of their different keys.
///
/// # Errors
/// Those of reading.
pub fn count(inputs: &[Input], options: &Options) -> Result<u64, Error> {
    struct Count(Budget);
    impl Visit for Count {
        type Local = ();
        fn local(&self) {}
        fn batch(&self, (): &mut (), _: &Lines<'_>, _: &mut [bool]) -> Result<(), Error> {
            Ok(())
        }
        fn room(&self) -> u64 {
            self.0.rest
        }
    }
    let scanner = Scanner::new(options, KeyHasher::default())?;
    options.progress.expect(lengths(inputs));
    let tallies = scanner.scan(inputs, &Count(scanner.budget))?;
    Ok(tallies.iter().map(|tally| tally.lines).sum())
}

/// Counts the keys that lines of `inputs` are for another system, as it does to size a filter.
///
/// # Errors
/// Those of reading; [`Error::Key`] for a line that is no key, where the system looks at them.
pub fn count_keys(
    inputs: &[Input],
    format: Format,
    key_type: Option<KeyType>,
    options: &Options,
) -> Result<u64, Error> {
    struct Count<'a> {
        keys: LineKeys,
        counter: Mutex<&'a mut KeyCounter>,
        budget: Budget,
    }
    impl Visit for Count<'_> {
        type Local = ();
        fn local(&self) {}
        fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
            self.keys.count(&mut self.counter.lock().expect("no worker panics"), lines)
        }
        fn room(&self) -> u64 {
            self.budget.rest
        }
    }
    let keys = LineKeys::new(format, key_type)?;
    one_field(format, options)?;
    if !format.counts_keys() {
        return count(inputs, options);
    }
    let scanner = Scanner::new(options, KeyHasher::default())?;
    let budget = scanner.budget;
    options.progress.expect(lengths(inputs));
    let mut counter = KeyCounter::new(format);
    scanner.scan(inputs, &Count { keys, counter: Mutex::new(&mut counter), budget })?;
    Ok(counter.keys())
}

/// Keys of other systems are values, not rows of them.
fn one_field(format: Format, options: &Options) -> Result<(), Error> {
    match options.records.key().len() {
        0 | 1 => Ok(()),
        fields => Err(Error::KeyFields { format, fields }),
    }
}

/// Bytes that the memory cap leaves beside a filter of so many bytes, for work with lines.
///
/// # Errors
/// [`Error::Memory`], with a cap that suffices, when that is too little.
pub fn room_beside(bytes: u64, options: &Options) -> Result<u64, Error> {
    const LEAST_ROOM: u64 = 1 << 20;
    let Budget { cap, threads, rest, .. } = Budget::new(options.memory, options.threads)?;
    rest.checked_sub(bytes).filter(|room| *room >= LEAST_ROOM).ok_or_else(|| Error::Memory {
        cap,
        least: Budget::least_cap(threads, bytes.saturating_add(LEAST_ROOM)),
    })
}

/// As [`room_beside`], where the filter may grow: it is told how far, and a long line gets the rest.
pub(crate) fn room_to_fill(filter: &mut AnyFilter, options: &Options) -> Result<u64, Error> {
    // Also when there are no lines: a filter that takes none is told before any is read.
    if !filter.plan().kind().rows() {
        filter.check_inserts()?;
    }
    let room = room_beside(filter.bytes(), options)?;
    if filter.plan().kind().capacity() != Capacity::First {
        return Ok(room);
    }
    let budget = Budget::new(options.memory, options.threads)?;
    filter.set_limit(budget.lasting());
    Ok(room.min(budget.long_line()))
}

/// As [`room_to_fill`], of a filter of umbel or of another system.
fn room_to_insert(filter: &mut Filter, options: &Options) -> Result<u64, Error> {
    let lines = match filter {
        Filter::Own(filter) => return room_to_fill(filter, options),
        Filter::Foreign(lines) => lines,
    };
    let format = lines.filter().format();
    one_field(format, options)?;
    let room = room_beside(lines.filter().bytes_to_fill(), options)?;
    if !format.grows() {
        return Ok(room);
    }
    let budget = Budget::new(options.memory, options.threads)?;
    lines.filter_mut().set_limit(budget.lasting());
    Ok(room.min(budget.long_line()))
}

/// Inserts every line of `inputs` into `filter`, on all threads.
///
/// # Errors
/// Those of reading; [`Error::Memory`] when the filter does not fit in the cap, [`Error::Outgrown`] when
/// it grows beyond: then it holds the lines before; [`Error::Key`] for a line that is no key of another system.
pub fn insert(inputs: &[Input], filter: &mut Filter, options: &Options) -> Result<Report, Error> {
    let scanner = Scanner::new(options, filter.hasher())?;
    let room = room_to_insert(filter, options)?;
    options.progress.expect(lengths(inputs));
    let tallies = match filter {
        Filter::Own(AnyFilter::Blocked(filter)) => fill(&scanner, inputs, filter, None, room)?,
        Filter::Own(other) => {
            scanner.scan(inputs, &FillWhole::new(other, room, &scanner, options)?)?
        }
        Filter::Foreign(lines) => {
            scanner.scan(inputs, &FillForeign::new(lines, room, scanner.budget))?
        }
    };
    let mut report = Report::default();
    report.passed(inputs, &tallies);
    Ok(report)
}

/// Inserts every line that `source` gives into `filter`.
///
/// # Errors
/// As [`insert`].
pub fn insert_stream(
    name: &str,
    source: impl Read,
    filter: &mut Filter,
    options: &Options,
) -> Result<Report, Error> {
    let scanner = Scanner::new(options, filter.hasher())?;
    let room = room_to_insert(filter, options)?;
    let before = options.progress.done();
    let tally = match filter {
        Filter::Own(filter) => {
            let fill = FillWhole::new(filter, room, &scanner, options)?;
            scanner.stream(name, source, &fill)?
        }
        Filter::Foreign(lines) => {
            let fill = FillForeign::new(lines, room, scanner.budget);
            scanner.stream(name, source, &fill)?
        }
    };
    let mut report = Report::default();
    report.streamed(&tally, options.progress.done() - before);
    Ok(report)
}

/// Takes every line of `inputs` out of `filter`, in their order; `found` of the report are those that
/// were there, the other lines certainly were not and changed nothing.
///
/// # Errors
/// Those of reading; [`Error::Memory`] when the filter does not fit in the cap;
/// [`umbel::InsertError::CannotRemove`] of a kind that keys cannot be taken out of.
pub fn remove(
    inputs: &[Input],
    filter: &mut AnyFilter,
    options: &Options,
) -> Result<Report, Error> {
    let scanner = Scanner::new(options, *filter.hasher())?;
    let work = TakeOut::new(filter, options)?;
    options.progress.expect(lengths(inputs));
    let mut report = Report::default();
    report.passed(inputs, &scanner.scan(inputs, &work)?);
    report.found = work.removed();
    Ok(report)
}

/// Takes every line that `source` gives out of `filter`. As [`remove`].
///
/// # Errors
/// As there.
pub fn remove_stream(
    name: &str,
    source: impl Read,
    filter: &mut AnyFilter,
    options: &Options,
) -> Result<Report, Error> {
    let scanner = Scanner::new(options, *filter.hasher())?;
    let work = TakeOut::new(filter, options)?;
    let before = options.progress.done();
    let tally = scanner.stream(name, source, &work)?;
    let mut report = Report { found: work.removed(), ..Report::default() };
    report.streamed(&tally, options.progress.done() - before);
    Ok(report)
}

/// A question to a filter: which lines may be in it, or which certainly are not. Answers come in the
/// order of the lines; the header of the first input that has one comes before all.
pub struct Query<'a> {
    scanner: Scanner<'a>,
    ask: Ask<'a>,
    options: &'a Options,
    report: Report,
}

impl<'a> Query<'a> {
    /// Asks for lines that may be in `filter`, or with `absent` those that certainly are not.
    ///
    /// # Errors
    /// [`Error::Memory`]; those of [`Records`](crate::Records) that contradict themselves.
    pub fn new(
        filter: &'a Filter,
        absent: bool,
        out: &'a mut (dyn Write + Send),
        options: &'a Options,
    ) -> Result<Self, Error> {
        let scanner = Scanner::new(options, filter.hasher())?;
        let asked = match filter {
            Filter::Foreign(lines) => {
                one_field(lines.filter().format(), options)?;
                Asked::Foreign(lines)
            }
            Filter::Own(own) => match (own, Places::asked(own, options)?) {
                (AnyFilter::Attributes(rows), Some(places)) => Asked::Rows(rows, places),
                _ => Asked::Keys(own),
            },
        };
        let ask = Ask {
            asked,
            absent,
            flush: false,
            out: Mutex::new(Sink::new(out, options.separator)),
            room: room_beside(filter.bytes(), options)?,
        };
        Ok(Self { scanner, ask, options, report: Report::default() })
    }

    /// The chance that a line passes which was never put in. Of a filter of rows that of the question at its
    /// worst, which is 1 where values of different rows pass together.
    pub fn fpp(&self) -> f64 {
        match &self.ask.asked {
            Asked::Rows(filter, places) => {
                filter.fpp_asked(&places.mask()).expect("the filter's own attributes")
            }
            Asked::Keys(filter) => filter.receipt().fpp,
            Asked::Foreign(lines) => lines.filter().receipt().fpp,
        }
    }

    /// Asks about the lines of files.
    ///
    /// # Errors
    /// Those of reading; [`Error::Output`].
    pub fn inputs(&mut self, inputs: &[Input]) -> Result<(), Error> {
        self.options.progress.expect(lengths(inputs));
        self.ask.flush = false;
        self.report.passed(inputs, &self.scanner.scan(inputs, &self.ask)?);
        self.ask.out.lock().expect("no worker panics").flush()
    }

    /// Asks about lines that come one by one: each answer is flushed as soon as it is known.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn stream(&mut self, name: &str, source: impl Read) -> Result<(), Error> {
        let before = self.options.progress.done();
        self.ask.flush = true;
        let tally = self.scanner.stream(name, source, &self.ask)?;
        self.report.streamed(&tally, self.options.progress.done() - before);
        Ok(())
    }

    /// Writes what is left and tells what was done.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn finish(self) -> Result<Report, Error> {
        let Self { ask, mut report, .. } = self;
        ask.out.into_inner().expect("no worker panics").finish(&mut report)?;
        Ok(report)
    }
}

/// Inserts the lines of inputs into a blocked filter; with `only`, those that are in it.
pub(crate) fn fill(
    scanner: &Scanner<'_>,
    inputs: &[Input],
    filter: &mut Blocked,
    only: Option<&Blocked>,
    room: u64,
) -> Result<Vec<Tally>, Error> {
    scanner.scan(inputs, &Fill::new(filter, only, scanner.budget.threads, room))
}

/// The lines of a batch that a filter lets pass.
#[derive(Default)]
pub(crate) struct Picked {
    pub(crate) indexes: Vec<usize>,
    pub(crate) hashes: Vec<KeyHash>,
    found: Vec<bool>,
}

impl Picked {
    /// Asks for all `hashes`; without a filter, all pass.
    pub(crate) fn pick(&mut self, filter: Option<&Blocked>, hashes: &[KeyHash]) {
        self.indexes.clear();
        self.hashes.clear();
        match filter {
            None => {
                self.indexes.extend(0..hashes.len());
                self.hashes.extend_from_slice(hashes);
            }
            Some(filter) => {
                self.found.resize(hashes.len(), false);
                filter.contains_all(hashes, &mut self.found);
                for (i, hash) in hashes.iter().enumerate().filter(|(i, _)| self.found[*i]) {
                    self.indexes.push(i);
                    self.hashes.push(*hash);
                }
            }
        }
    }
}

/// A blocked filter cut into shards that many threads fill: a worker collects hashes by shard and
/// works off a bucketful with the shard's lock held, where the shard then lies in its cache. Faster
/// than atomic words, eight of which a key would cost some 100 cycles, and without any waiting to
/// speak of.
pub(crate) struct Sharded<'a> {
    map: Shards<'a>,
    shards: Vec<Mutex<Shard<'a>>>,
}

/// Hashes that one worker has collected, a bucket a shard.
pub(crate) type Buckets = Vec<Vec<KeyHash>>;

impl<'a> Sharded<'a> {
    pub(crate) fn new(filter: &'a mut Blocked, threads: usize) -> Self {
        /// Half of a usual second-level cache's way share: stays there while a bucket goes in.
        const SHARD_BYTES: u64 = 128 << 10;
        let count = (filter.plan().bytes() / SHARD_BYTES).max(2 * threads as u64).min(256);
        let mut map = filter.shards(count as usize);
        let shards = std::mem::take(&mut map.shards).into_iter().map(Mutex::new).collect();
        Self { map, shards }
    }

    /// Empty buckets for `hashes` hashes in all.
    pub(crate) fn buckets(&self, hashes: usize) -> Buckets {
        let capacity = hashes / self.shards.len().max(16);
        self.shards.iter().map(|_| Vec::with_capacity(capacity)).collect()
    }

    /// Adds a hash to its bucket; a full one is worked off by `work` and emptied.
    #[inline]
    pub(crate) fn add(
        &self,
        buckets: &mut Buckets,
        hash: KeyHash,
        work: impl FnMut(&mut Shard<'a>, &[KeyHash]),
    ) {
        let shard = self.map.index(hash);
        let bucket = &mut buckets[shard];
        bucket.push(hash);
        if bucket.len() == bucket.capacity() {
            self.empty(shard, bucket, work);
        }
    }

    /// Works off all that is left in the buckets.
    pub(crate) fn finish(
        &self,
        buckets: &mut Buckets,
        mut work: impl FnMut(&mut Shard<'a>, &[KeyHash]),
    ) {
        for (shard, bucket) in buckets.iter_mut().enumerate() {
            self.empty(shard, bucket, &mut work);
        }
    }

    fn empty(
        &self,
        shard: usize,
        bucket: &mut Vec<KeyHash>,
        mut work: impl FnMut(&mut Shard<'a>, &[KeyHash]),
    ) {
        work(&mut self.shards[shard].lock().expect("no worker panics"), bucket);
        bucket.clear();
    }
}

struct Fill<'a> {
    filter: Sharded<'a>,
    only: Option<&'a Blocked>,
    room: u64,
}

impl<'a> Fill<'a> {
    fn new(filter: &'a mut Blocked, only: Option<&'a Blocked>, threads: usize, room: u64) -> Self {
        Self { filter: Sharded::new(filter, threads), only, room }
    }
}

impl Visit for Fill<'_> {
    /// Buckets, and whether each line of a batch is in `only`.
    type Local = (Buckets, Vec<bool>);

    fn local(&self) -> Self::Local {
        (self.filter.buckets(BUCKETED), Vec::new())
    }

    fn batch(
        &self,
        (buckets, wanted): &mut Self::Local,
        lines: &Lines<'_>,
        _: &mut [bool],
    ) -> Result<(), Error> {
        wanted.clear();
        wanted.resize(lines.len(), true);
        if let Some(only) = self.only {
            only.contains_all(lines.hashes(), wanted);
        }
        for (&hash, _) in lines.hashes().iter().zip(wanted).filter(|(_, wanted)| **wanted) {
            self.filter.add(buckets, hash, Shard::insert_all);
        }
        Ok(())
    }

    fn finish(&self, (mut buckets, _): Self::Local) -> Result<(), Error> {
        self.filter.finish(&mut buckets, Shard::insert_all);
        Ok(())
    }

    fn room(&self) -> u64 {
        self.room
    }
}

/// Fills a filter of any kind, one batch at a time.
struct FillWhole<'a> {
    filter: Mutex<&'a mut AnyFilter>,
    /// Whether its bits depend on the order of the keys: those of a filter that grows do.
    in_order: bool,
    /// Of a filter of rows.
    places: Option<Places>,
    room: u64,
    budget: Budget,
}

impl<'a> FillWhole<'a> {
    fn new(
        filter: &'a mut AnyFilter,
        room: u64,
        scanner: &Scanner<'_>,
        options: &Options,
    ) -> Result<Self, Error> {
        let in_order = filter.plan().kind().in_order();
        let places = Places::of_all(filter, options)?;
        let budget = scanner.budget;
        Ok(Self { filter: Mutex::new(filter), in_order, places, room, budget })
    }

    fn insert(&self, lines: &Lines<'_>) -> Result<(), Error> {
        let mut filter = self.filter.lock().expect("no worker panics");
        if let (AnyFilter::Attributes(filter), Some(places)) = (&mut **filter, &self.places) {
            return places.insert(filter, lines);
        }
        filter.insert_all(lines.hashes()).map_err(|error| growth(error, self.budget))
    }
}

/// What is wrong when a filter cannot grow.
pub(crate) fn growth(error: umbel::InsertError, budget: Budget) -> Error {
    match error {
        umbel::InsertError::GrowthLimit { bytes, .. } => outgrown(bytes, budget),
        error => error.into(),
    }
}

/// The error of a filter that takes `bytes` bytes when it grows once more.
fn outgrown(bytes: u64, budget: Budget) -> Error {
    // A sixteenth of what is left beside the workers is for a long line.
    let next = Budget::least_cap(budget.threads, bytes + bytes / 15 + 1);
    Error::Outgrown { cap: budget.cap, next }
}

impl Visit for FillWhole<'_> {
    type Local = ();

    fn local(&self) {}

    fn batch(&self, (): &mut (), lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        keep.fill(self.in_order);
        if self.in_order { Ok(()) } else { self.insert(lines) }
    }

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        self.insert(lines)
    }

    fn room(&self) -> u64 {
        self.room
    }
}

/// Takes lines out of a filter in their order, a batch at a time: which of two lines that share
/// counters is taken for one that was there depends on it.
struct TakeOut<'a> {
    /// The filter, room for answers, and how many lines were there.
    work: Mutex<(&'a mut AnyFilter, Vec<bool>, u64)>,
    room: u64,
}

impl<'a> TakeOut<'a> {
    fn new(filter: &'a mut AnyFilter, options: &Options) -> Result<Self, Error> {
        filter.removing()?;
        let room = room_beside(filter.bytes(), options)?;
        Ok(Self { work: Mutex::new((filter, Vec::new(), 0)), room })
    }

    fn removed(self) -> u64 {
        self.work.into_inner().expect("no worker panics").2
    }
}

impl Visit for TakeOut<'_> {
    type Local = ();

    fn local(&self) {}

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        let mut work = self.work.lock().expect("no worker panics");
        let (filter, removed, count) = &mut *work;
        removed.resize(lines.len(), false);
        filter.removing()?.remove_all(lines.hashes(), removed);
        *count += removed.iter().filter(|&&removed| removed).count() as u64;
        Ok(())
    }

    fn room(&self) -> u64 {
        self.room
    }
}

/// Fills another system's filter with lines in their order: counts and parts of some formats depend on it.
struct FillForeign<'a> {
    lines: Mutex<&'a mut ForeignLines>,
    room: u64,
    budget: Budget,
}

impl<'a> FillForeign<'a> {
    fn new(lines: &'a mut ForeignLines, room: u64, budget: Budget) -> Self {
        Self { lines: Mutex::new(lines), room, budget }
    }
}

impl Visit for FillForeign<'_> {
    type Local = ();

    fn local(&self) {}

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        let inserted = self.lines.lock().expect("no worker panics").insert(lines);
        inserted.map_err(|error| match error {
            Error::Foreign(umbel_foreign::Error::GrowthLimit { bytes, .. }) => {
                outgrown(bytes, self.budget)
            }
            error => error,
        })
    }

    fn room(&self) -> u64 {
        self.room
    }
}

/// What is asked, and for what.
enum Asked<'a> {
    Keys(&'a AnyFilter),
    Rows(&'a Attributes, Places),
    Foreign(&'a ForeignLines),
}

struct Ask<'a> {
    asked: Asked<'a>,
    absent: bool,
    flush: bool,
    out: Mutex<Sink<'a>>,
    room: u64,
}

impl Visit for Ask<'_> {
    type Local = ();

    fn local(&self) {}

    fn header(&self, row: &[u8]) -> Result<(), Error> {
        let mut out = self.out.lock().expect("no worker panics");
        out.header(Some(row))?;
        if self.flush { out.flush() } else { Ok(()) }
    }

    fn batch(&self, (): &mut (), lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        match &self.asked {
            Asked::Rows(filter, places) => places.ask(filter, lines, keep)?,
            Asked::Keys(filter) => filter.contains_all(lines.hashes(), keep),
            Asked::Foreign(foreign) => foreign.ask(lines, keep)?,
        }
        if self.absent {
            for keep in keep {
                *keep = !*keep;
            }
        }
        Ok(())
    }

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        let mut out = self.out.lock().expect("no worker panics");
        out.rows(lines, 0..lines.len())?;
        if self.flush { out.flush() } else { Ok(()) }
    }

    fn room(&self) -> u64 {
        self.room
    }
}
