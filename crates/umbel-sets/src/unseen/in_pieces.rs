//! Lines that are not in a filter yet, like [`Seen`](super::Seen), for a filter larger than the memory cap.
//!
//! The pieces of the filter insert the hashes that fall into them one after the other, in the order of the lines, and
//! so determine which are new. Then a second pass over the lines writes those. The filter gets its name last. Written
//! lines are noted before, so a run that is killed loses nothing, and the next one continues after it.

use std::io::Write;
use std::slice;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use umbel::Receipt;
use umbel::ShardIndex;

use super::seen::{Checkpoint, Recorder, Save, of_output};
use crate::filters::pieces::{AnswerWriter, Answers, BATCH, LargeFilter, room};
use crate::input::{Input, lengths};
use crate::passes::Passes;
use crate::report::{ErrorBound, Report};
use crate::scan::{Each, Lines, Scanner, Visit};
use crate::{Error, Header, Options};

/// A run that selects the lines not seen before, by a filter that does not fit in memory.
pub struct SeenInPieces<'a> {
    recorder: Mutex<Recorder<'a>>,
    /// The lines that the output has already.
    output: Option<Input>,
    options: &'a Options,
}

impl<'a> SeenInPieces<'a> {
    /// Starts a run that writes the lines not in the filter to `out`. Its progress is saved, without the filter,
    /// whenever `every` has passed since the last time, and at the end.
    pub fn new(
        out: &'a mut (dyn Write + Send),
        save: &'a mut dyn Save,
        every: Duration,
        options: &'a Options,
    ) -> Self {
        let recorder = Mutex::new(Recorder::new(out, save, every, options));
        Self { recorder, output: None, options }
    }

    /// As [`Seen::continue_output`](super::Seen::continue_output).
    pub fn continue_output(&mut self, under: Option<Header>) {
        self.recorder.get_mut().expect("no worker panics").continue_output(under);
    }

    /// As [`Seen::output_has`](super::Seen::output_has).
    pub fn output_has(&mut self, output: Input) {
        self.output = Some(output);
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
        filter: &LargeFilter<'_>,
        file: &mut dyn Write,
    ) -> Result<(Report, Receipt), Error> {
        let options = self.options;
        let (old, shards, scanner, split) = filter.open(true, options)?;
        let (plan, index, budget) = (*old.plan(), shards.index(), scanner.budget);
        options.progress.expect(2 * lengths(inputs));
        if let Some(output) = &self.output {
            let of_output = &of_output(options);
            let scanner = Scanner::new(of_output, old.hasher().clone())?;
            let had = Each::in_order(|lines: &Lines<'_>| split.note(lines.hashes()));
            scanner.scan(slice::from_ref(output), room(budget), &had)?;
        }
        let mut passes = Passes::new(inputs);
        passes.seen(inputs, 0..inputs.len(), &scanner.scan(inputs, room(budget), &split)?)?;

        let mut answers = AnswerWriter::new(options)?;
        let (mut noted_before, mut fresh) = (0, 0);
        let mut new = vec![false; BATCH];
        let mut pieces = split.finish()?;
        let (before, receipt) = shards.rewrite(old, file, &mut |shard| {
            pieces.take().each(|hashes, noted| {
                let new = &mut new[..hashes.len()];
                shard.insert_all_new(hashes, new);
                let count = new.iter().filter(|new| **new).count() as u64;
                if noted {
                    noted_before += count;
                    return Ok(());
                }
                fresh += count;
                answers.push(new)
            })?;
            answers.end_piece()
        })?;
        let left = before.room.saturating_sub(noted_before);
        if fresh > left {
            return Err(Error::NoRoom { new: fresh, room: left, keys: plan.keys() });
        }
        let spilled = answers.spilled();
        let go_out =
            GoOut { index, answers: Mutex::new(answers.finish(budget)?), recorder: &self.recorder };
        go_out.begin(inputs.first().map(Input::name))?;
        let tallies = scanner.scan(inputs, room(budget), &go_out);
        let mut recorder = self.recorder.lock().expect("no worker panics");
        // Even after an error, the lines written are noted.
        if !matches!(tallies, Err(Error::Output(_) | Error::Save(_))) {
            recorder.checkpoint(None, true)?;
        }
        passes.seen(inputs, 0..inputs.len(), &tallies?)?;
        let mut report = passes.finish_with(inputs, spilled + plan.bytes(), spilled);
        report.error = Some(ErrorBound { extra: 0.0, missing: receipt.fpp });
        (report.found, report.bytes_written) = (recorder.sink.lines(), recorder.sink.bytes());
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

/// Writes the lines that are new.
struct GoOut<'a, 'o> {
    index: ShardIndex,
    answers: Mutex<Answers>,
    recorder: &'a Mutex<Recorder<'o>>,
}

impl GoOut<'_, '_> {
    /// Notes the lines that the output already has.
    fn begin(&self, input: Option<&str>) -> Result<(), Error> {
        let mut recorder = self.recorder.lock().expect("no worker panics");
        recorder.at.input = input.unwrap_or_default().to_owned();
        recorder.checkpoint(None, false)
    }
}

impl Visit for GoOut<'_, '_> {
    type Local = Vec<usize>;

    fn header(&self, row: &[u8]) -> Result<(), Error> {
        self.recorder.lock().expect("no worker panics").header(row)
    }

    fn kept(&self, new: &mut Vec<usize>, lines: &Lines<'_>) -> Result<(), Error> {
        let mut recorder = self.recorder.lock().expect("no worker panics");
        self.answers.lock().expect("no worker panics").wanted(self.index, true, lines, new)?;
        recorder.note(new.iter().map(|&i| lines.hashes()[i]))?;
        recorder.sink.rows(lines, new.iter().copied())?;
        recorder.pass(lines, lines.len());
        if recorder.is_due() { recorder.checkpoint(None, false) } else { Ok(()) }
    }
}
