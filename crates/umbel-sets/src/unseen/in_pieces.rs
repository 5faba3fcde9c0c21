//! Lines that are not in a filter yet, like [`Unseen`](super::Unseen), for a filter larger than the memory cap.
//!
//! The pieces of the filter insert the hashes that fall into them one after the other, in the order of the lines, and
//! so determine which are new. Then a second pass over the lines writes those. The filter gets its name last. Written
//! lines are noted before, so a run that is killed loses nothing, and the next one continues after it.

use std::io::Write;
use std::sync::{MutexGuard, PoisonError};

use umbel::{Receipt, Shard};

use super::Checkpoint;
use super::seen::Recorder;
use crate::filters::pieces::LargeFilter;
use crate::prelude::*;
use crate::report::ErrorBound;

/// A run that selects the lines not seen before, by a filter that does not fit in memory.
pub struct UnseenInPieces<'a> {
    recorder: Mutex<Recorder<'a>>,
}

impl<'a> UnseenInPieces<'a> {
    /// Starts a run that writes the lines not in the filter. It is saved without the filter.
    pub fn new(recorder: Recorder<'a>) -> Self {
        Self { recorder: Mutex::new(recorder) }
    }

    fn recorder(&self) -> MutexGuard<'_, Recorder<'a>> {
        self.recorder.lock().expect("no worker panics")
    }

    /// Processes files. `file` receives the filter with their lines in it, to be used after this returns. Returns its
    /// receipt.
    ///
    /// # Errors
    /// Errors of reading, of temporary files and of the filter; [`Error::NoRoom`], before anything is written, if the
    /// lines would over-fill it; [`Error::Output`], [`Error::Save`].
    pub fn run(
        &self,
        inputs: &[Input],
        filter: LargeFilter<'_>,
        file: &mut dyn Write,
    ) -> Result<(Report, Receipt), Error> {
        let (keys, mut noted_before, mut fresh) = (filter.plan().keys(), 0, 0);
        let ask =
            &mut |shard: &mut Shard<'_>, hashes: &[KeyHash], noted: bool, new: &mut [bool]| {
                shard.insert_all_new(hashes, new);
                let count = if noted { &mut noted_before } else { &mut fresh };
                *count += new.iter().filter(|new| **new).count() as u64;
            };
        let had = self.recorder().has.take();
        let options = self.recorder().options;
        let (answered, before, receipt) =
            filter.answer(inputs, had.as_ref(), Some(file), options, ask)?;
        let room = before.room.saturating_sub(noted_before);
        if fresh > room {
            return Err(Error::NoRoom { new: fresh, room, keys });
        }
        {
            // Notes the lines that the output already has.
            let mut recorder = self.recorder();
            recorder.at.input = inputs.first().map_or("", Input::name).to_owned();
            recorder.checkpoint(None, false)?;
        }
        let header = &|row: &[u8]| self.recorder().header(row);
        let lines = &|lines: &Lines<'_>, new: &[usize]| self.recorder().lines(lines, new);
        let written = answered.write(inputs, true, header, lines);
        let mut recorder = self.recorder();
        // Even after an error, the lines written are noted.
        if !matches!(written, Err(Error::Output(_) | Error::Save(_))) {
            recorder.checkpoint(None, true)?;
        }
        let mut report = written?;
        report.error = Some(ErrorBound { extra: 0.0, missing: receipt.fpp });
        (report.found, report.bytes_written) = (recorder.sink.lines, recorder.sink.bytes);
        Ok((report, receipt))
    }

    /// Ends a run from another thread: notes the lines written. Nothing is written after this; the process must end.
    ///
    /// # Errors
    /// [`Error::Output`], [`Error::Save`].
    pub fn stop(&self) -> Result<Checkpoint, Error> {
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the first line there is nothing to note.
        if !recorder.at.input.is_empty() {
            recorder.checkpoint(None, true)?;
        }
        let at = recorder.at.clone();
        std::mem::forget(recorder);
        Ok(at)
    }
}
