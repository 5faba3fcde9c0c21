//! What the passes of a job saw of its inputs: every pass over an input must have seen the same lines.

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

    /// Notes a finished pass over the input of this number.
    pub(crate) fn seen(&mut self, number: usize, input: &Input, tally: Tally) -> Result<(), Error> {
        self.report.bytes_read += input.length();
        self.report.passes += 1;
        match self.tallies[number].replace(tally) {
            Some(before) if before != tally => Err(input.changed()),
            _ => Ok(()),
        }
    }

    /// The report of the whole job.
    pub(crate) fn finish(self, inputs: &[Input], disk: &Disk<'_>) -> Report {
        let Self { tallies, mut report } = self;
        let spooled: u64 = inputs.iter().map(Input::spooled_bytes).sum();
        report.lines = tallies.iter().flatten().map(|tally| tally.lines).sum();
        report.bytes_read += disk.read() + spooled;
        report.bytes_spilled = disk.written() + spooled;
        report
    }
}
