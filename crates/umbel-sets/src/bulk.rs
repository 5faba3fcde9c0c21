//! Filling filters with lines, and asking them about lines, in bulk.

use std::io::{Read, Write};
use std::sync::Mutex;

use umbel::filter::{Shard, Shards};
use umbel::{AnyFilter, Blocked, KeyHash, KeyHasher};

use crate::budget::{BUCKETED, Budget};
use crate::input::Input;
use crate::report::Report;
use crate::scan::{Lines, Scanner, Tally, Visit};
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
    options.progress.expect(inputs.iter().map(Input::length).sum());
    inputs
        .iter()
        .try_fold(0, |sum, input| Ok(sum + scanner.scan(input, &Count(scanner.budget))?.lines))
}

/// Bytes that the memory cap leaves beside a filter of so many bytes, for work with lines.
///
/// # Errors
/// [`Error::Memory`], with a cap that suffices, when that is too little.
pub fn room_beside(bytes: u64, options: &Options) -> Result<u64, Error> {
    const LEAST_ROOM: u64 = 1 << 20;
    let Budget { cap, threads, rest, .. } = Budget::new(options.memory, options.threads)?;
    rest.checked_sub(bytes)
        .filter(|room| *room >= LEAST_ROOM)
        .ok_or_else(|| Error::Memory { cap, least: Budget::least_cap(threads, bytes + LEAST_ROOM) })
}

/// As [`room_beside`], where the filter may grow: it is told how far, and a long line gets the rest.
fn room_to_fill(filter: &mut AnyFilter, options: &Options) -> Result<u64, Error> {
    let room = room_beside(filter.bytes(), options)?;
    let AnyFilter::Scalable(filter) = filter else { return Ok(room) };
    let budget = Budget::new(options.memory, options.threads)?;
    filter.set_limit(budget.rest - budget.long_line());
    Ok(room.min(budget.long_line()))
}

/// Inserts every line of `inputs` into `filter`, on all threads.
///
/// # Errors
/// Those of reading; [`Error::Memory`] when the filter does not fit in the cap, [`Error::Outgrown`] when
/// it grows beyond: then it holds the lines before.
pub fn insert(
    inputs: &[Input],
    filter: &mut AnyFilter,
    options: &Options,
) -> Result<Report, Error> {
    let scanner = Scanner::new(options, *filter.hasher())?;
    let room = room_to_fill(filter, options)?;
    options.progress.expect(inputs.iter().map(Input::length).sum());
    let mut report = Report::default();
    for input in inputs {
        let tally = match &mut *filter {
            AnyFilter::Blocked(filter) => fill(&scanner, input, filter, None, room)?,
            other => scanner.scan(input, &FillWhole::new(other, room, scanner.budget))?,
        };
        report.lines += tally.lines;
        report.bytes_read += input.length() + input.spooled_bytes();
        report.bytes_spilled += input.spooled_bytes();
        report.passes += 1;
    }
    Ok(report)
}

/// Inserts every line that `source` gives into `filter`.
///
/// # Errors
/// As [`insert`].
pub fn insert_stream(
    name: &str,
    source: impl Read,
    filter: &mut AnyFilter,
    options: &Options,
) -> Result<Report, Error> {
    let scanner = Scanner::new(options, *filter.hasher())?;
    let room = room_to_fill(filter, options)?;
    let before = options.progress.done();
    let tally = scanner.stream(name, source, &FillWhole::new(filter, room, scanner.budget))?;
    let bytes_read = options.progress.done() - before;
    Ok(Report { lines: tally.lines, bytes_read, passes: 1, ..Report::default() })
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
        filter: &'a AnyFilter,
        absent: bool,
        out: &'a mut (dyn Write + Send),
        options: &'a Options,
    ) -> Result<Self, Error> {
        let scanner = Scanner::new(options, *filter.hasher())?;
        let ask = Ask {
            filter,
            absent,
            flush: false,
            out: Mutex::new(Sink::new(out, options.separator)),
            room: room_beside(filter.bytes(), options)?,
        };
        Ok(Self { scanner, ask, options, report: Report::default() })
    }

    /// Asks about the lines of a file.
    ///
    /// # Errors
    /// Those of reading; [`Error::Output`].
    pub fn input(&mut self, input: &Input) -> Result<(), Error> {
        self.options.progress.expect(input.length());
        self.ask.flush = false;
        self.report.lines += self.scanner.scan(input, &self.ask)?.lines;
        self.report.bytes_read += input.length();
        self.report.passes += 1;
        self.ask.out.lock().expect("no worker panics").flush()
    }

    /// Asks about lines that come one by one: each answer is flushed as soon as it is known.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn stream(&mut self, name: &str, source: impl Read) -> Result<(), Error> {
        let before = self.options.progress.done();
        self.ask.flush = true;
        self.report.lines += self.scanner.stream(name, source, &self.ask)?.lines;
        self.report.bytes_read += self.options.progress.done() - before;
        self.report.passes += 1;
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

/// Inserts the lines of one input into a blocked filter; with `only`, those that are in it.
pub(crate) fn fill(
    scanner: &Scanner<'_>,
    input: &Input,
    filter: &mut Blocked,
    only: Option<&Blocked>,
    room: u64,
) -> Result<Tally, Error> {
    scanner.scan(input, &Fill::new(filter, only, scanner.budget.threads, room))
}

/// Fills a blocked filter by shards: a worker collects hashes by shard and inserts a bucketful with
/// the shard's lock held, where the shard then lies in its cache. Faster than atomic words, eight of
/// which a key would cost some 100 cycles, and without any waiting to speak of.
struct Fill<'a> {
    map: Shards<'a>,
    shards: Vec<Mutex<Shard<'a>>>,
    only: Option<&'a Blocked>,
    room: u64,
}

impl<'a> Fill<'a> {
    fn new(filter: &'a mut Blocked, only: Option<&'a Blocked>, threads: usize, room: u64) -> Self {
        /// Half of a usual second-level cache's way share: stays there while a bucket goes in.
        const SHARD_BYTES: u64 = 128 << 10;
        let count = (filter.plan().bytes() / SHARD_BYTES).max(2 * threads as u64).min(256);
        let mut map = filter.shards(count as usize);
        let shards = std::mem::take(&mut map.runs).into_iter().map(Mutex::new).collect();
        Self { map, shards, only, room }
    }

    fn empty(&self, shard: usize, bucket: &mut Vec<KeyHash>) {
        self.shards[shard].lock().expect("no worker panics").insert_batch(bucket);
        bucket.clear();
    }
}

impl Visit for Fill<'_> {
    /// Buckets, and whether each line of a batch is in `only`.
    type Local = (Vec<Vec<KeyHash>>, Vec<bool>);

    fn local(&self) -> Self::Local {
        let capacity = BUCKETED / self.shards.len().max(16);
        (self.shards.iter().map(|_| Vec::with_capacity(capacity)).collect(), Vec::new())
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
            only.contains_batch(lines.hashes(), wanted);
        }
        for (&hash, _) in lines.hashes().iter().zip(wanted).filter(|(_, wanted)| **wanted) {
            let shard = self.map.index(hash);
            let bucket = &mut buckets[shard];
            bucket.push(hash);
            if bucket.len() == bucket.capacity() {
                self.empty(shard, bucket);
            }
        }
        Ok(())
    }

    fn finish(&self, (mut buckets, _): Self::Local) -> Result<(), Error> {
        for (shard, bucket) in buckets.iter_mut().enumerate() {
            self.empty(shard, bucket);
        }
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
    room: u64,
    budget: Budget,
}

impl<'a> FillWhole<'a> {
    fn new(filter: &'a mut AnyFilter, room: u64, budget: Budget) -> Self {
        let in_order = matches!(filter, AnyFilter::Scalable(_));
        Self { filter: Mutex::new(filter), in_order, room, budget }
    }

    fn insert(&self, lines: &Lines<'_>) -> Result<(), Error> {
        let mut filter = self.filter.lock().expect("no worker panics");
        filter.insert_batch(lines.hashes()).map_err(|error| match error {
            umbel::Error::GrowthLimit { bytes, .. } => {
                // A sixteenth of what is left beside the workers is for a long line.
                let next = Budget::least_cap(self.budget.threads, bytes + bytes / 15 + 1);
                Error::Outgrown { cap: self.budget.cap, next }
            }
            error => error.into(),
        })
    }
}

impl Visit for FillWhole<'_> {
    type Local = ();

    fn local(&self) {}

    fn batch(&self, (): &mut (), lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        keep.fill(self.in_order);
        if self.in_order { Ok(()) } else { self.insert(lines) }
    }

    fn kept(&self, lines: &Lines<'_>) -> Result<(), Error> {
        self.insert(lines)
    }

    fn room(&self) -> u64 {
        self.room
    }
}

struct Ask<'a> {
    filter: &'a AnyFilter,
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
        self.filter.contains_batch(lines.hashes(), keep);
        if self.absent {
            for keep in keep {
                *keep = !*keep;
            }
        }
        Ok(())
    }

    fn kept(&self, lines: &Lines<'_>) -> Result<(), Error> {
        let mut out = self.out.lock().expect("no worker panics");
        for i in 0..lines.len() {
            out.line(lines.row(i))?;
        }
        if self.flush { out.flush() } else { Ok(()) }
    }

    fn room(&self) -> u64 {
        self.room
    }
}

/// Where result lines go: buffered, counted, each with its end.
pub(crate) struct Sink<'a> {
    out: std::io::BufWriter<&'a mut (dyn Write + Send)>,
    separator: u8,
    headed: bool,
    lines: u64,
    bytes: u64,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(out: &'a mut (dyn Write + Send), separator: u8) -> Self {
        let out = std::io::BufWriter::with_capacity(1 << 18, out);
        Self { out, separator, headed: false, lines: 0, bytes: 0 }
    }

    /// Writes a header, unless one was written before: it is no line of the result.
    pub(crate) fn header(&mut self, row: Option<&[u8]>) -> Result<(), Error> {
        match row {
            Some(row) if !self.headed => {
                self.headed = true;
                self.write(row)
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn line(&mut self, line: &[u8]) -> Result<(), Error> {
        self.lines += 1;
        self.write(line)
    }

    fn write(&mut self, line: &[u8]) -> Result<(), Error> {
        self.out
            .write_all(line)
            .and_then(|()| self.out.write_all(&[self.separator]))
            .map_err(Error::Output)?;
        self.bytes += line.len() as u64 + 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(Error::Output)
    }

    /// Writes what is left and tells the report.
    pub(crate) fn finish(mut self, report: &mut Report) -> Result<(), Error> {
        report.found = self.lines;
        report.bytes_written = self.bytes;
        self.flush()
    }
}
