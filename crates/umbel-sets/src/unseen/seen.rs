//! Lines that are not in a filter yet: each is written and inserted, in one pass.
//!
//! This is the daily job of a crawler. Insertions are recorded at checkpoints, and the filter is saved at the end,
//! always after the lines were written: after a run is killed, the next may repeat its last lines, but none is lost.

use std::io::Write;
use std::slice;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use umbel::{AnyFilter, Capacity, Filter};
use umbel_io::threads::no_thread;

use super::journal::{Checkpoint, Journal};
use crate::Header;
use crate::filters::room::{outgrown, room_to_fill};
use crate::prelude::*;
use crate::report::ErrorBound;
use crate::sink::Sink;

/// Makes the output durable, which has everything written so far, then the journal and the progress of the run; the last
/// argument is true if nothing follows. The filter holds everything noted; it is `None` if it is written elsewhere, to
/// be used after the end. An error, [`Error::Output`] or [`Error::Save`], ends the run.
pub type Save<'a> =
    dyn FnMut(Option<&AnyFilter>, &Checkpoint, bool) -> Result<(), Error> + Send + 'a;

/// The output of lines, and its record.
pub struct Recorder<'a> {
    pub(super) sink: Sink<'a>,
    journal: Arc<Mutex<Journal>>,
    save: &'a mut Save<'a>,
    every: Duration,
    saved: Instant,
    /// Whether lines were passed since the last checkpoint.
    new: bool,
    /// The header of the output that is continued, and its lines.
    under: Option<Header>,
    pub(super) has: Option<Input>,
    pub(super) options: &'a Options,
    pub(super) at: Checkpoint,
}

/// A run that selects the lines not seen before, by a filter.
pub struct Unseen<'a> {
    scanner: Scanner<'a>,
    state: Mutex<State<'a>>,
    room: u64,
}

impl<'a> Unseen<'a> {
    /// Starts a run that writes the lines not in `filter`, and inserts them. The run is saved also while a stream is
    /// silent.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::UnseenRows`]; errors of contradictory [`Records`](crate::Records).
    pub fn new(filter: &'a mut AnyFilter, recorder: Recorder<'a>) -> Result<Self, Error> {
        if filter.plan().kind().rows() {
            return Err(Error::UnseenRows);
        }
        let scanner = Scanner::new(recorder.options, filter.hasher().clone())?;
        let room = room_to_fill(filter, &scanner.budget)?;
        let left = match filter.plan().kind().capacity() {
            // An estimate above the plan leaves no room.
            Capacity::Most => filter.receipt().room,
            _ => u64::MAX,
        };
        let budget = scanner.budget;
        let (report, flush, failed) = (Report::default(), false, None);
        let state = State { filter, flush, left, budget, recorder, report, failed };
        Ok(Self { scanner, state: Mutex::new(state), room })
    }

    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().expect("no worker panics")
    }

    /// Returns the bytes of memory left for lines, and for a decoder of them.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Processes the lines that are read: from a stream, each new one is flushed as soon as it is known.
    ///
    /// # Errors
    /// Read errors; [`Error::Output`]; [`Error::Save`]; [`Error::FilterFull`] before the first line that would
    /// over-fill the filter: everything written before it is saved.
    pub fn read<'r>(&self, from: impl Into<ReadFrom<'r>>) -> Result<(), Error> {
        let from = from.into();
        let every = self.begin(&from)?;
        let read = thread::scope(|scope| {
            let (ended, end) = channel::<()>();
            let timer = move || {
                while end.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                    if state.failed.is_none() && state.recorder.is_due() {
                        state.failed = state.checkpoint(false).err();
                    }
                }
            };
            if let ReadFrom::Stream(..) = from {
                let timer = thread::Builder::new().spawn_scoped(scope, timer);
                timer.map_err(|error| Error::Work(no_thread(&error).into()))?;
            }
            let visit = Visit::in_order(self.room, |lines| self.state().write(lines));
            let header = Box::new(|row: &[u8]| self.state().header(row));
            let read = self.scanner.read(from, &Visit { header, ..visit });
            drop(ended);
            read
        });
        let mut state = self.state();
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        // After an error, except of output or saving, the lines written are recorded.
        if let Err(error) = &read
            && !matches!(error, Error::Output(_) | Error::Save(_))
        {
            state.checkpoint(true)?;
        }
        state.report.add(read?);
        Ok(())
    }

    /// Begins to read; before the first line, inserts and notes the lines that the output already has. Returns how often
    /// to see whether a checkpoint is due.
    fn begin(&self, from: &ReadFrom<'_>) -> Result<Duration, Error> {
        let name = match from {
            ReadFrom::Files(inputs) => inputs.first().map_or("", Input::name),
            ReadFrom::Stream(name, _) => name,
        };
        let has = self.state().recorder.has.take();
        if let Some(has) = has {
            self.insert_output(&has)?;
        }
        let mut state = self.state();
        state.flush = matches!(from, ReadFrom::Stream(..));
        if state.recorder.at.input.is_empty() {
            state.recorder.at.input = name.to_owned();
            state.checkpoint(false)?;
        }
        state.recorder.sink.flush()?;
        // Not all the time, if checkpoints are made after each batch.
        Ok(state.recorder.every.max(Duration::from_millis(10)))
    }

    /// Inserts the lines that the output already has: they are not written again. A filter that forgets is unchanged.
    fn insert_output(&self, output: &Input) -> Result<(), Error> {
        let (options, hasher) = {
            let state = self.state();
            if state.forgets() {
                return Ok(());
            }
            (state.recorder.options.for_own_output(), state.filter.hasher().clone())
        };
        options.resources.progress.expect(output.length());
        let had = Visit::in_order(self.room, |lines| {
            let new = &mut vec![false; lines.len()];
            self.state().insert(lines, new)?.1.map_or(Ok(()), Err)
        });
        Scanner::new(&options, hasher)?.scan(slice::from_ref(output), 0..1, &had)?;
        Ok(())
    }

    /// Ends a run from another thread, even while it waits for input: saves the lines written. Nothing is written
    /// after this. The run's own thread does not end, so the process must.
    ///
    /// # Errors
    /// [`Error::Output`], [`Error::Save`].
    pub fn stop(&self) -> Result<Checkpoint, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.checkpoint(true)?;
        let at = state.recorder.at.clone();
        std::mem::forget(state);
        Ok(at)
    }

    /// Saves the filter and returns the report.
    ///
    /// # Errors
    /// [`Error::Output`], [`Error::Save`].
    pub fn finish(self) -> Result<Report, Error> {
        let mut state = self.state.into_inner().expect("no worker panics");
        state.checkpoint(true)?;
        let missing = state.filter.receipt().fpp;
        let error = Some(ErrorBound { extra: 0.0, missing });
        state.recorder.sink.finish(Report { error, ..state.report })
    }
}

struct State<'a> {
    filter: &'a mut AnyFilter,
    /// Whether each new line is flushed immediately.
    flush: bool,
    /// The keys it may still accept, unless it grows.
    left: u64,
    budget: Budget,
    recorder: Recorder<'a>,
    report: Report,
    /// Why a checkpoint failed while no line arrived.
    failed: Option<Error>,
}

impl<'a> Recorder<'a> {
    /// Writes lines to `out`. The hashes inserted into the filter are noted in the `journal` first, in order: all if it
    /// forgets old keys ([`Capacity::Last`]), else the new ones. The run is saved whenever `every` has passed since the
    /// last time and something is new, and at the end.
    pub fn new(
        out: &'a mut (dyn Write + Send),
        journal: Arc<Mutex<Journal>>,
        save: &'a mut Save<'a>,
        every: Duration,
        options: &'a Options,
    ) -> Self {
        let (sink, at) = (Sink::new(out, options.form.records.end()), Checkpoint::default());
        let (saved, new, under, has) = (Instant::now(), false, None, None);
        Self { sink, journal, save, every, saved, new, under, has, options, at }
    }

    /// Writes no header: the output continues one that has lines already, and its header if `under` is one. Streams must
    /// have the same; files are [aligned](crate::align) to it. The lines that it `has`, if they can be read, are not
    /// written again.
    pub fn continue_output(&mut self, under: Option<Header>, has: Option<Input>) {
        self.sink.headed = true;
        (self.under, self.has) = (under, has);
    }

    /// Saves the lines first, then their record, with the filter if it is in memory.
    pub(super) fn checkpoint(
        &mut self,
        filter: Option<&AnyFilter>,
        end: bool,
    ) -> Result<(), Error> {
        self.sink.flush()?;
        self.at.found = self.sink.lines;
        (self.save)(filter, &self.at, end)?;
        (self.saved, self.new) = (Instant::now(), false);
        Ok(())
    }

    /// Whether it is time for a checkpoint.
    fn is_due(&self) -> bool {
        self.new && self.saved.elapsed() >= self.every
    }

    /// Notes hashes before their lines are written.
    fn note(&self, hashes: impl Iterator<Item = KeyHash>) -> Result<(), Error> {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.note(hashes).map_err(|error| Error::Save(error.into()))
    }

    /// Advances past the first `done` of some lines.
    fn pass(&mut self, lines: &Lines<'_>, done: usize) {
        self.new = true;
        if self.at.input != lines.name() {
            let found = self.at.found;
            self.at = Checkpoint { input: lines.name().to_owned(), offset: 0, found };
        }
        if let Some(last) = done.checked_sub(1) {
            self.at.offset = lines.offset(last) + lines.extent(last).len() as u64;
        }
    }

    /// Writes the header of an input, unless the output has one, which must be the same.
    pub(super) fn header(&mut self, row: &[u8]) -> Result<(), Error> {
        match &self.under {
            Some(header) => header.check(&self.at.input, row, &self.options.form),
            None => self.sink.header(Some(row)),
        }
    }

    /// Notes and writes some of `lines`, and passes all.
    pub(super) fn lines(&mut self, lines: &Lines<'_>, wanted: &[usize]) -> Result<(), Error> {
        self.note(wanted.iter().map(|&i| lines.hashes()[i]))?;
        self.sink.rows(lines, wanted.iter().copied())?;
        self.pass(lines, lines.len());
        if self.is_due() { self.checkpoint(None, false) } else { Ok(()) }
    }
}

impl State<'_> {
    fn checkpoint(&mut self, end: bool) -> Result<(), Error> {
        self.recorder.checkpoint(Some(&*self.filter), end)
    }

    /// Writes a header.
    fn header(&mut self, row: &[u8]) -> Result<(), Error> {
        self.recorder.header(row)?;
        if self.flush { self.recorder.sink.flush() } else { Ok(()) }
    }

    /// Writes the lines that are new.
    fn write(&mut self, lines: &Lines<'_>) -> Result<(), Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut new = vec![false; lines.len()];
        let (done, error) = self.insert(lines, &mut new)?;
        self.recorder.sink.rows(lines, (0..done).filter(|&i| new[i]))?;
        self.recorder.pass(lines, done);
        if let Some(error) = error {
            return Err(error);
        }
        if self.recorder.is_due() {
            self.checkpoint(false)
        } else if self.flush {
            self.recorder.sink.flush()
        } else {
            Ok(())
        }
    }

    /// Whether a known line changes the filter as well.
    fn forgets(&self) -> bool {
        self.filter.plan().kind().capacity() == Capacity::Last
    }

    /// Inserts lines while there is room; returns their number, and why not all were inserted.
    fn insert(
        &mut self,
        lines: &Lines<'_>,
        new: &mut [bool],
    ) -> Result<(usize, Option<Error>), Error> {
        let (hashes, mut done, mut error) = (lines.hashes(), 0, None);
        while done < hashes.len() && self.left > 0 && error.is_none() {
            let end = hashes.len().min(done + usize::try_from(self.left).unwrap_or(usize::MAX));
            let new = &mut new[done..end];
            match self.filter.try_insert_all_new(&hashes[done..end], new) {
                Ok(()) => done = end,
                // The hashes before the one that did not fit were inserted.
                Err(why) => error = Some(outgrown(why.into(), self.budget)),
            }
            self.left -= new.iter().filter(|new| **new).count() as u64;
        }
        // In a full filter, known keys are still known.
        let mut known = vec![false; hashes.len() - done];
        self.filter.contains_all(&hashes[done..], &mut known);
        if self.forgets() {
            self.recorder.note(hashes[..done].iter().copied())?;
        } else {
            let new = hashes.iter().zip(new).filter(|(_, new)| **new);
            self.recorder.note(new.map(|(hash, _)| *hash))?;
        }
        done += known.iter().take_while(|known| **known).count();
        let keys = self.filter.plan().keys();
        let full = || error.unwrap_or_else(|| Error::FilterFull { at: lines.at(done), keys });
        Ok((done, (done < hashes.len()).then(full)))
    }
}
