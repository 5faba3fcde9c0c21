//! What the passes of a job saw of its inputs: every pass over an input must have seen the same lines.

use std::ops::Range;

use crate::Error;
use crate::input::Input;
use crate::report::Report;
use crate::scan::Tally;
use crate::spill::Disk;

pub(crate) struct Passes {
    tallies: Vec<Option<Tally>>,
    pub(crate) report: Report,
}

impl Passes {
    pub(crate) fn new(inputs: &[Input]) -> Self {
        Self { tallies: vec![None; inputs.len()], report: Report::default() }
    }

    /// Notes a finished pass over those in `range` of all `inputs`.
    pub(crate) fn seen(
        &mut self,
        inputs: &[Input],
        range: Range<usize>,
        tallies: &[Tally],
    ) -> Result<(), Error> {
        for (number, &tally) in range.zip(tallies) {
            self.report.bytes_read += inputs[number].length();
            self.report.passes += 1;
            let before = self.tallies[number].replace(tally);
            if before.is_some_and(|before| before != tally) {
                return Err(inputs[number].changed());
            }
        }
        Ok(())
    }

    /// The report of the whole job.
    pub(crate) fn finish(self, inputs: &[Input], disk: &Disk<'_>) -> Report {
        let Self { tallies, mut report } = self;
        let spooled: u64 = inputs.iter().map(Input::spooled_bytes).sum();
        report.lines = tallies.iter().flatten().map(|tally| tally.lines).sum();
        report.bytes_read += disk.read() + spooled;
        report.bytes_spilled = disk.written() + spooled;
        report.grew(inputs);
        report
    }
}
