//! The tallies of a job's passes over its inputs, and their totals in its report.

use crate::prelude::*;
use crate::spill::Disk;

impl Report {
    /// Accounts for a pass over `inputs`.
    pub(crate) fn pass(&mut self, inputs: &[Input]) {
        self.bytes_read += lengths(inputs);
        self.passes += inputs.len() as u32;
    }

    /// Accounts for inputs, once: their lines, the bytes spooled, and which grew.
    fn inputs<'t>(&mut self, inputs: &[Input], tallies: impl IntoIterator<Item = &'t Tally>) {
        tallies.into_iter().for_each(|tally| self.tally(tally));
        let spooled = inputs.iter().map(Input::spooled_bytes).sum::<u64>();
        self.bytes_read += spooled;
        self.bytes_spilled += spooled;
        let grown = inputs.iter().filter(|input| input.grew());
        self.grew(grown.map(|input| input.name().to_owned()));
    }

    /// The report of the only pass over `inputs`.
    pub(crate) fn of_files(inputs: &[Input], tallies: &[Tally]) -> Self {
        let mut report = Self::default();
        report.pass(inputs);
        report.inputs(inputs, tallies);
        report
    }

    pub(crate) fn tally(&mut self, tally: &Tally) {
        self.lines += tally.lines;
        self.missing += tally.missing;
        self.bad += tally.bad;
        self.empty += tally.empty;
    }

    /// Accounts for work on inputs that this job has read already, or spooled.
    pub(crate) fn follow(&mut self, next: Self) {
        self.bytes_read += next.bytes_read;
        self.bytes_spilled += next.bytes_spilled;
        self.distinct += next.distinct;
        self.grew(next.grown);
    }

    /// Accounts for temporary files.
    pub(crate) fn disk(&mut self, disk: &Disk) {
        self.bytes_read += disk.read();
        self.bytes_spilled += disk.written();
    }
}

/// The tallies of a job's passes over its inputs, and the hash used for them.
pub(crate) type EarlierPasses = (LineHasher, Vec<Option<Tally>>);

/// The passes of a job that reads its inputs more than once: all passes over an input must see the same lines.
pub(crate) struct Passes {
    /// The tally of the last pass over each input, or of earlier passes of the same job.
    pub(crate) tallies: Vec<Option<Tally>>,
    pub(crate) report: Report,
}

impl Passes {
    pub(crate) fn new(inputs: &[Input]) -> Self {
        Self { tallies: vec![None; inputs.len()], report: Report::default() }
    }

    /// Records a finished pass over those in `range` of all `inputs`.
    pub(crate) fn record(
        &mut self,
        inputs: &[Input],
        range: Range<usize>,
        tallies: &[Tally],
    ) -> Result<(), Error> {
        self.report.pass(&inputs[range.clone()]);
        for (number, &tally) in range.zip(tallies) {
            let before = self.tallies[number].replace(tally);
            if before.is_some_and(|before| before != tally) {
                return Err(inputs[number].changed());
            }
        }
        Ok(())
    }

    /// The report of the whole job.
    pub(crate) fn finish(self, inputs: &[Input], disk: &Disk) -> Report {
        self.finish_with(inputs, disk.read(), disk.written())
    }

    /// Like [`finish`](Self::finish), with these bytes read from and written to temporary files.
    pub(crate) fn finish_with(self, inputs: &[Input], read: u64, written: u64) -> Report {
        let Self { tallies, mut report } = self;
        let keyless = |tally: &Option<Tally>| tally.is_some_and(|tally| tally.is_keyless());
        if !tallies.iter().all(keyless) {
            let some = inputs.iter().zip(&tallies).filter(|(_, tally)| keyless(tally));
            report.keyless = some.map(|(input, _)| input.name().to_owned()).collect();
        }
        report.inputs(inputs, tallies.iter().flatten());
        report.bytes_read += read;
        report.bytes_spilled += written;
        report
    }
}
