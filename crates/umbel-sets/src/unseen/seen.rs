//! Lines that are not in a filter yet: each is written and inserted, in one pass.
//!
//! This is the daily job of a crawler. Insertions are recorded at checkpoints, and the filter is saved at the end,
//! always after the lines were written: after a run is killed, the next may repeat its last lines, but none is lost.

use std::io::{Read, Write};
use std::slice;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use umbel::{AnyFilter, Capacity, Filter, KeyHash};
use umbel_io::threads::no_thread;

use crate::budget::Budget;
use crate::filters::room::{growth, room_to_fill};
use crate::input::Input;
use crate::report::ErrorBound;
use crate::report::Report;
use crate::scan::{Each, Lines, Scanner, Visit};
use crate::sink::Sink;
use crate::{Bad, Error, Header, Missing, Options, Records};

/// The progress of a run when its filter is saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The input being read.
    pub input: String,
    /// The start of the first unsettled line in it, in bytes.
    pub offset: u64,
    /// Lines written so far.
    pub found: u64,
}

/// Records a run. An error ends the run with [`Error::Save`].
pub trait Save: Send {
    /// Makes the output durable; `out` already has all of it.
    ///
    /// # Errors
    /// Output errors.
    fn sync(&mut self) -> std::io::Result<()>;

    /// Notes the hashes inserted into the filter, in order: all if it forgets old keys ([`Capacity::Last`]), else the
    /// new ones.
    ///
    /// # Errors
    /// Any.
    fn note(&mut self, hashes: &[KeyHash]) -> Result<(), SaveError>;

    /// Makes the notes and the progress of the run durable, after [`sync`](Self::sync); `end` is true if nothing
    /// follows. `filter` holds everything noted; it is `None` if the filter is written elsewhere, to be used after the
    /// end.
    ///
    /// # Errors
    /// Any.
    fn save(
        &mut self,
        filter: Option<&AnyFilter>,
        at: &Checkpoint,
        end: bool,
    ) -> Result<(), SaveError>;
}

/// Why a run could not be recorded.
pub type SaveError = Box<dyn std::error::Error + Send + Sync>;

/// A run that selects the lines not seen before, by a filter.
pub struct Seen<'a> {
    scanner: Scanner<'a>,
    skip: Skip<'a>,
    room: u64,
    every: Duration,
    options: &'a Options,
    report: Mutex<Report>,
}

impl<'a> Seen<'a> {
    /// Starts a run that writes the lines not in `filter` to `out` and inserts them. The run is saved whenever `every`
    /// has passed since the last time and something is new, also while a stream is silent, and at the end.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::SeenRows`]; errors of contradictory [`Records`](crate::Records).
    pub fn new(
        filter: &'a mut AnyFilter,
        out: &'a mut (dyn Write + Send),
        save: &'a mut dyn Save,
        every: Duration,
        options: &'a Options,
    ) -> Result<Self, Error> {
        if filter.plan().kind().rows() {
            return Err(Error::SeenRows);
        }
        let scanner = Scanner::new(options, filter.hasher().clone())?;
        let room = room_to_fill(filter, options)?;
        let left = match filter.plan().kind().capacity() {
            // If the estimate is above the plan, there is no room.
            Capacity::Most => filter.receipt().room,
            _ => u64::MAX,
        };
        let state = State {
            forgets: filter.plan().kind().capacity() == Capacity::Last,
            filter,
            left,
            budget: scanner.budget,
            recorder: Recorder::new(out, save, every, options),
            flush: false,
            failed: None,
        };
        let skip = Skip { state: Mutex::new(state) };
        Ok(Self { scanner, skip, room, every, options, report: Mutex::default() })
    }

    /// Writes no header: the output continues one that has lines already, and its header if `under` is one.
    /// Streams must have the same; files are [aligned](crate::align) to it.
    pub fn continue_output(&mut self, under: Option<Header>) {
        self.skip.state.get_mut().expect("no worker panics").recorder.continue_output(under);
    }

    /// Inserts the lines that the output already has, before any input: they are not written again. A filter that
    /// forgets is unchanged.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn output_has(&self, output: &Input) -> Result<(), Error> {
        let options = &of_output(self.options);
        let (forgets, hasher) = {
            let state = self.skip.state.lock().expect("no worker panics");
            (state.forgets, state.filter.hasher().clone())
        };
        if !forgets {
            options.progress.expect(output.length());
            let scanner = Scanner::new(options, hasher)?;
            let had = Each::in_order(|lines: &Lines<'_>| {
                let mut state = self.skip.state.lock().expect("no worker panics");
                let (done, error) = state.insert(lines.hashes(), &mut vec![false; lines.len()])?;
                state.check_all(lines, done, error)
            });
            scanner.scan(slice::from_ref(output), self.room, &had)?;
        }
        Ok(())
    }

    /// Returns the bytes of memory left for lines, and for a decoder of them.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Processes files.
    ///
    /// # Errors
    /// Read errors; [`Error::Output`]; [`Error::Save`]; [`Error::FilterFull`] before the first line that would
    /// over-fill the filter: everything written before it is saved.
    pub fn inputs(&self, inputs: &[Input]) -> Result<(), Error> {
        self.skip.begin(inputs.first().map(Input::name), false)?;
        let mut report = self.report.lock().expect("nobody panics");
        self.settle(self.scanner.read(inputs, self.room, &self.skip, &mut report))
    }

    /// Processes lines from a stream: each new line is flushed as soon as it is known.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn stream(&self, name: &str, source: &mut dyn Read) -> Result<(), Error> {
        self.skip.begin(Some(name), true)?;
        let mut report = self.report.lock().expect("nobody panics");
        let read = thread::scope(|scope| {
            let (ended, end) = channel::<()>();
            let timer = move || {
                // Not all the time, if checkpoints are made after each batch.
                let every = self.every.max(Duration::from_millis(10));
                while end.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    self.skip.checkpoint_if_due();
                }
            };
            let timer = thread::Builder::new().spawn_scoped(scope, timer);
            timer.map_err(|error| Error::Work(no_thread(&error).into()))?;
            let (lines, room) = ((name, source), self.room);
            let read = self.scanner.read_stream(lines, room, &self.skip, &mut report);
            drop(ended);
            read
        });
        self.settle(read)
    }

    /// Ends a run from another thread, even while it waits for input: saves the lines written. Nothing is written
    /// after this. The run's own thread does not end, so the process must.
    ///
    /// # Errors
    /// [`Error::Output`], [`Error::Save`].
    pub fn stop(&self) -> Result<Checkpoint, Error> {
        let mut state = self.skip.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.checkpoint(true)?;
        let at = state.recorder.at.clone();
        std::mem::forget(state);
        Ok(at)
    }

    /// After an error, except of output or saving, the lines written are recorded.
    fn settle(&self, result: Result<(), Error>) -> Result<(), Error> {
        let mut state = self.skip.state.lock().expect("no worker panics");
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        if let Err(error) = &result
            && !matches!(error, Error::Output(_) | Error::Save(_))
        {
            state.checkpoint(true)?;
        }
        result
    }

    /// Saves the filter and returns the report.
    ///
    /// # Errors
    /// [`Error::Output`], [`Error::Save`].
    pub fn finish(self) -> Result<Report, Error> {
        let mut report = self.report.into_inner().expect("nobody panics");
        let mut state = self.skip.state.into_inner().expect("no worker panics");
        state.checkpoint(true)?;
        let missing = state.filter.receipt().fpp;
        report.error = Some(ErrorBound { extra: 0.0, missing });
        state.recorder.sink.finish(&mut report)?;
        Ok(report)
    }
}

struct State<'a> {
    filter: &'a mut AnyFilter,
    /// Whether a known line changes the filter as well.
    forgets: bool,
    /// Whether each new line is flushed immediately.
    flush: bool,
    /// The keys it may still accept, unless it grows.
    left: u64,
    budget: Budget,
    recorder: Recorder<'a>,
    /// Why a checkpoint failed while no line arrived.
    failed: Option<Error>,
}

/// The output of lines, and its record.
pub(super) struct Recorder<'a> {
    pub(super) sink: Sink<'a>,
    save: &'a mut dyn Save,
    every: Duration,
    saved: Instant,
    /// Whether lines were passed since the last checkpoint.
    new: bool,
    /// The header of the output that is continued.
    under: Option<Header>,
    options: &'a Options,
    pub(super) at: Checkpoint,
    /// The hashes to note next.
    noted: Vec<KeyHash>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(
        out: &'a mut (dyn Write + Send),
        save: &'a mut dyn Save,
        every: Duration,
        options: &'a Options,
    ) -> Self {
        let (sink, at) = (Sink::new(out, options.separator), Checkpoint::default());
        let (saved, noted) = (Instant::now(), Vec::new());
        Self { sink, save, every, saved, new: false, under: None, options, at, noted }
    }

    pub(super) fn continue_output(&mut self, under: Option<Header>) {
        self.sink.leave_header_out();
        self.under = under;
    }

    /// Writes the header of an input, unless the output has one, which must be the same.
    pub(super) fn header(&mut self, row: &[u8]) -> Result<(), Error> {
        match &self.under {
            Some(header) => header.check(&self.at.input, row, self.options),
            None => self.sink.header(Some(row)),
        }
    }

    /// Saves the lines first, then their record, with the filter if it is in memory.
    pub(super) fn checkpoint(
        &mut self,
        filter: Option<&AnyFilter>,
        end: bool,
    ) -> Result<(), Error> {
        self.sink.flush()?;
        self.save.sync().map_err(Error::Output)?;
        self.at.found = self.sink.lines();
        self.save.save(filter, &self.at, end).map_err(Error::Save)?;
        (self.saved, self.new) = (Instant::now(), false);
        Ok(())
    }

    /// Whether it is time for a checkpoint.
    pub(super) fn is_due(&self) -> bool {
        self.new && self.saved.elapsed() >= self.every
    }

    /// Notes hashes before their lines are written.
    pub(super) fn note(&mut self, hashes: impl Iterator<Item = KeyHash>) -> Result<(), Error> {
        self.noted.clear();
        self.noted.extend(hashes);
        self.save.note(&self.noted).map_err(Error::Save)
    }

    /// Advances past the first `done` of some lines.
    pub(super) fn pass(&mut self, lines: &Lines<'_>, done: usize) {
        self.new = true;
        if self.at.input != lines.name() {
            let found = self.at.found;
            self.at = Checkpoint { input: lines.name().to_owned(), offset: 0, found };
        }
        if let Some(last) = done.checked_sub(1) {
            self.at.offset = lines.offset(last) + lines.extent(last).len() as u64;
        }
    }
}

impl State<'_> {
    fn checkpoint(&mut self, end: bool) -> Result<(), Error> {
        self.recorder.checkpoint(Some(&*self.filter), end)
    }

    /// Inserts hashes while there is room; returns their number, and why not all were inserted.
    fn insert(
        &mut self,
        hashes: &[KeyHash],
        new: &mut [bool],
    ) -> Result<(usize, Option<Error>), Error> {
        let (mut done, mut error) = (0, None);
        while done < hashes.len() && self.left > 0 && error.is_none() {
            let end = hashes.len().min(done + usize::try_from(self.left).unwrap_or(usize::MAX));
            let new = &mut new[done..end];
            match self.filter.try_insert_all_new(&hashes[done..end], new) {
                Ok(()) => done = end,
                // The hashes before the one that found no room are in.
                Err(why) => error = Some(growth(why, self.budget)),
            }
            self.left -= new.iter().filter(|new| **new).count() as u64;
        }
        // In a full filter, known keys are still known.
        let mut known = vec![false; hashes.len() - done];
        self.filter.contains_all(&hashes[done..], &mut known);
        if self.forgets {
            self.recorder.note(hashes[..done].iter().copied())?;
        } else {
            let new = hashes.iter().zip(new).filter(|(_, new)| **new);
            self.recorder.note(new.map(|(hash, _)| *hash))?;
        }
        Ok((done + known.iter().take_while(|known| **known).count(), error))
    }

    /// Returns why not all lines were inserted, if only the first `done` were.
    fn check_all(&self, lines: &Lines<'_>, done: usize, error: Option<Error>) -> Result<(), Error> {
        if done == lines.len() {
            return Ok(());
        }
        let (at, keys) = (lines.at(done), self.filter.plan().keys());
        Err(error.unwrap_or(Error::FilterFull { at, keys }))
    }
}

struct Skip<'a> {
    state: Mutex<State<'a>>,
}

impl Skip<'_> {
    fn checkpoint_if_due(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failed.is_none() && state.recorder.is_due() {
            state.failed = state.checkpoint(false).err();
        }
    }

    /// Begins an input; before the first one, notes the lines that the output already has.
    fn begin(&self, input: Option<&str>, flush: bool) -> Result<(), Error> {
        let mut state = self.state.lock().expect("no worker panics");
        state.flush = flush;
        if state.recorder.at.input.is_empty() {
            state.recorder.at.input = input.unwrap_or_default().to_owned();
            state.checkpoint(false)?;
        }
        state.recorder.sink.flush()
    }
}

/// Options to read the output's own lines: a line without a key, such as a record cut off by a crash, is skipped.
pub(super) fn of_output(options: &Options) -> Options {
    let (mut missing, mut bad) = (options.missing, options.bad);
    if missing == Missing::Refuse {
        missing = Missing::Skip;
    }
    if matches!(options.records, Records::JsonLines { .. }) {
        bad = Bad::Skip;
    }
    Options { missing, bad, ..options.clone() }
}

impl Visit for Skip<'_> {
    /// Which of the kept lines are new.
    type Local = Vec<bool>;

    fn header(&self, row: &[u8]) -> Result<(), Error> {
        let mut state = self.state.lock().expect("no worker panics");
        state.recorder.header(row)?;
        if state.flush { state.recorder.sink.flush() } else { Ok(()) }
    }

    fn kept(&self, new: &mut Vec<bool>, lines: &Lines<'_>) -> Result<(), Error> {
        let mut state = self.state.lock().expect("no worker panics");
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        new.clear();
        new.resize(lines.len(), false);
        let (done, error) = state.insert(lines.hashes(), new)?;
        state.recorder.sink.rows(lines, (0..done).filter(|&i| new[i]))?;
        state.recorder.pass(lines, done);
        state.check_all(lines, done, error)?;
        if state.recorder.is_due() {
            state.checkpoint(false)
        } else if state.flush {
            state.recorder.sink.flush()
        } else {
            Ok(())
        }
    }
}
