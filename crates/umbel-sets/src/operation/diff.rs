//! The rows that only one of two files has.
//!
//! Whole rows are compared first. If they have keys, a row that only one file has may be another version of one in the
//! other: that is decided among those rows alone, which are few if the files are similar.

use std::io;

use super::{SetOperation, SetPlan, Wanted};
use crate::input::{Input, SpoolWriter};
use crate::report::{Changes, Report};
use crate::spill::Selected;
use crate::{Error, Options};

/// How a row differs between two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// Only the old file has it.
    Removed,
    /// Only the new file has it, and the old one has none with its key.
    Added,
    /// Only the new file has it, and the old one has another row with its key.
    Changed,
    /// Both have it.
    Kept,
}

/// The comparison of two files, row by row: each different row once, whatever their order.
///
/// If several rows of a file have the same key, rows that are in both files are kept; any other row of the new file is
/// changed if a row with its key is gone from the old file, and added otherwise.
#[derive(Debug)]
pub struct Diff<'a> {
    inputs: &'a [Input],
    options: &'a Options,
}

impl<'a> Diff<'a> {
    /// Makes the comparison of an old and a new file.
    ///
    /// # Panics
    /// Unless there are two inputs.
    pub fn new(inputs: &'a [Input], options: &'a Options) -> Self {
        assert_eq!(inputs.len(), 2, "an old and a new file");
        Self { inputs, options }
    }

    fn rows(&self) -> Result<SetOperation<'a>, Error> {
        SetOperation::new(self.inputs, Wanted::Rows, self.options)
    }

    /// Plans the comparison.
    ///
    /// # Errors
    /// As for [`SetOperation::plan`].
    pub fn plan(&self) -> Result<SetPlan, Error> {
        self.rows()?.plan()
    }

    /// Returns the header of the first file that has one.
    ///
    /// # Errors
    /// Those of reading.
    pub fn header(&self) -> Result<Option<Vec<u8>>, Error> {
        self.rows()?.header()
    }

    /// Passes each row to `show`: first those kept and removed, in the order of the old file, then those added and
    /// changed, in the order of the new one.
    ///
    /// # Errors
    /// Those of reading, of temporary files and of `show`.
    pub fn run(
        &self,
        show: &mut (dyn FnMut(Change, &[u8]) -> io::Result<()> + Send),
    ) -> Result<Report, Error> {
        let mut counts = [0; 4];
        let mut show = |change: Change, row: &[u8]| {
            counts[change as usize] += 1;
            show(change, row).map_err(Error::Output)
        };
        let boundary = self.inputs[0].length();
        let change = |Selected { place, count, .. }: Selected<'_>| match count {
            2.. => Change::Kept,
            _ if place < boundary => Change::Removed,
            _ => Change::Added,
        };
        let mut report = if self.options.records.key().is_empty() {
            self.rows()?.hand(&mut |selected| show(change(selected), selected.row))?
        } else {
            self.keyed(change, &mut show)?
        };
        let [removed, added, changed, kept] = counts;
        let changes = Changes { removed, added, changed, kept };
        report.found = changes.different();
        report.changes = Some(changes);
        Ok(report)
    }

    /// Compares rows, then the keys of those that differ.
    fn keyed(
        &self,
        change: impl Fn(Selected<'_>) -> Change + Sync,
        show: &mut (impl FnMut(Change, &[u8]) -> Result<(), Error> + Send),
    ) -> Result<Report, Error> {
        let options = self.options;
        let header = self.header()?;
        let spool = |input: &Input| {
            let mut rows = SpoolWriter::new(input.name(), options)?;
            header.iter().try_for_each(|row| rows.row(row))?;
            Ok::<_, Error>(rows)
        };
        let (mut removed, mut added) = (spool(&self.inputs[0])?, spool(&self.inputs[1])?);
        let mut report = self.rows()?.hand(&mut |selected| match change(selected) {
            Change::Removed => removed.row(selected.row),
            Change::Added => added.row(selected.row),
            kept => show(kept, selected.row),
        })?;
        let [removed, added] = [removed.finish()?, added.finish()?];
        // A row that was removed, and one with its key that was added: it has changed.
        let old = [removed, added];
        let part = SetOperation::except(&old, options)?.every();
        let part = part.hand(&mut |selected| show(Change::Removed, selected.row))?;
        report.follow(&part);
        let [removed, added] = old;
        let new = [added, removed];
        let part = SetOperation::new(&new, Wanted::Mark, options)?;
        let part = part.hand(&mut |selected| match selected.count {
            2.. => show(Change::Changed, selected.row),
            _ => show(Change::Added, selected.row),
        })?;
        report.follow(&part);
        Ok(report)
    }
}
