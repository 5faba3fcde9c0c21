//! The rows that only one of two files has.
//!
//! Whole rows are compared first. If they have keys, a row that only one file has may be another version of one in the
//! other: that is decided among those rows alone, which are few if the files are similar.

use std::collections::HashMap;
use std::io;

use super::counts::{EVEN, UNEVEN};
use super::{Selection, SetOperation, SetPlan};
use crate::hash::LineHasher;
use crate::input::{Input, SpoolWriter};
use crate::report::{Changes, Report};
use crate::scan::Scanner;
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
    /// Only the old file has it, and the new one has another row with its key.
    Replaced,
}

/// The comparison of two files, row by row: each different row once, whatever their order.
///
/// If several rows of a file have the same key, rows that are in both files are kept; any other row of the new file is
/// changed if a row with its key is gone from the old file, and added otherwise.
#[derive(Debug)]
pub struct Diff<'a> {
    inputs: &'a [Input],
    options: &'a Options,
    paired: bool,
}

impl<'a> Diff<'a> {
    /// Makes the comparison of an old and a new file.
    ///
    /// # Panics
    /// Unless there are two inputs.
    pub fn new(inputs: &'a [Input], options: &'a Options) -> Self {
        assert_eq!(inputs.len(), 2, "an old and a new file");
        Self { inputs, options, paired: false }
    }

    /// Passes the [replaced](Change::Replaced) rows not with the removed ones, but each before the first changed row with its
    /// key. Their keys are then in memory.
    #[must_use]
    pub fn paired(self) -> Self {
        Self { paired: true, ..self }
    }

    fn rows(&self) -> Result<SetOperation<'a>, Error> {
        SetOperation::new(self.inputs, Selection::Rows, self.options)
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

    /// Passes each row to `show`: first those kept; then, if there are keys after them, those removed and replaced, in the
    /// order of the old file; then those added and changed, in the order of the new one.
    ///
    /// # Errors
    /// Those of reading, of temporary files and of `show`; [`Error::Memory`] if the keys of replaced rows are to be held and
    /// do not fit.
    pub fn run(
        &self,
        show: &mut (dyn FnMut(Change, &[u8]) -> io::Result<()> + Send),
    ) -> Result<Report, Error> {
        let (mut counts, mut uneven) = ([0; 5], 0);
        let mut show = |change: Change, row: &[u8]| {
            counts[change as usize] += 1;
            show(change, row).map_err(Error::Output)
        };
        let boundary = self.inputs[0].length();
        let mut change = |Selected { place, count, .. }: Selected<'_>| match count {
            EVEN.. => {
                uneven += u64::from(count == UNEVEN);
                Change::Kept
            }
            _ if place < boundary => Change::Removed,
            _ => Change::Added,
        };
        let mut report = if self.options.records.key().is_empty() {
            self.rows()?.hand(&mut |selected| show(change(selected), selected.row))?
        } else {
            self.keyed(&mut change, &mut show)?
        };
        let [removed, added, changed, kept, _] = counts;
        let changes = Changes { removed, added, changed, kept, uneven };
        report.found = changes.different();
        report.changes = Some(changes);
        Ok(report)
    }

    /// Compares rows, then the keys of those that differ.
    fn keyed(
        &self,
        change: &mut (impl FnMut(Selected<'_>) -> Change + Send),
        show: &mut (impl FnMut(Change, &[u8]) -> Result<(), Error> + Send),
    ) -> Result<Report, Error> {
        let options = self.options;
        let header = self.header()?;
        let spool = |[input, other]: [&Input; 2]| {
            // Places in it are none of the input.
            let name = format!("rows of {} that {} lacks", input.name(), other.name());
            let mut rows = SpoolWriter::new(&name, options)?;
            header.iter().try_for_each(|row| rows.row(row))?;
            Ok::<_, Error>(rows)
        };
        let [old, new] = self.inputs else { unreachable!("there are two") };
        let (mut removed, mut added) = (spool([old, new])?, spool([new, old])?);
        let mut report = self.rows()?.hand(&mut |selected| match change(selected) {
            Change::Removed => removed.row(selected.row),
            Change::Added => added.row(selected.row),
            kept => show(kept, selected.row),
        })?;
        let [removed, added] = [removed.finish()?, added.finish()?];
        // A row that was removed, and one with its key that was added: it has changed.
        let old = [removed, added];
        let mut replaced =
            if self.paired { Some(Pairs::new(header.as_deref(), options)?) } else { None };
        let part = SetOperation::new(&old, Selection::Mark, options)?;
        let part = part.hand(&mut |selected| match (selected.count, &mut replaced) {
            (..2, _) => show(Change::Removed, selected.row),
            (2.., Some(pairs)) => pairs.hold(selected.row),
            (2.., None) => show(Change::Replaced, selected.row),
        })?;
        report.follow(part);
        let mut replaced = replaced.map(Pairs::finish).transpose()?;
        let [removed, added] = old;
        let new = [added, removed];
        let part = SetOperation::new(&new, Selection::Mark, options)?;
        let part = part.hand(&mut |selected| match selected.count {
            2.. => {
                for row in replaced.iter_mut().map(|pairs| pairs.take(selected.row)) {
                    row?.iter().try_for_each(|row| show(Change::Replaced, row))?;
                }
                show(Change::Changed, selected.row)
            }
            _ => show(Change::Added, selected.row),
        })?;
        report.follow(part);
        Ok(report)
    }
}

/// Rows of the old file that have changed: their keys in memory, they themselves in a temporary file.
struct Pairs<'a> {
    scanner: Scanner<'a>,
    header: Option<Vec<u8>>,
    rows: SpoolWriter,
    /// Of each key, where its rows are.
    places: HashMap<Vec<u8>, Vec<(u64, u32)>>,
    /// The memory that keys take.
    held: u64,
    options: &'a Options,
}

impl<'a> Pairs<'a> {
    fn new(header: Option<&[u8]>, options: &'a Options) -> Result<Self, Error> {
        let scanner = Scanner::new(options, LineHasher::random())?;
        let rows = SpoolWriter::new("replaced rows", options)?;
        let (header, places) = (header.map(<[u8]>::to_vec), HashMap::new());
        Ok(Self { scanner, header, rows, places, held: 0, options })
    }

    fn key(&self, row: &[u8]) -> Result<Vec<u8>, Error> {
        self.scanner.key_of(self.header.as_deref(), row)
    }

    fn hold(&mut self, row: &[u8]) -> Result<(), Error> {
        /// Bytes of memory for a key beside its own.
        const EACH: u64 = 96;
        let key = self.key(row)?;
        self.held += key.len() as u64 + EACH;
        let most = self.scanner.budget.rest / 4;
        if self.held > most {
            let cap = self.options.memory;
            return Err(Error::Memory { cap, least: cap.saturating_mul(2) });
        }
        self.rows.row(row)?;
        let start = self.rows.length() - row.len() as u64 - 1;
        self.places.entry(key).or_default().push((start, row.len() as u32));
        Ok(())
    }

    fn finish(self) -> Result<Held<'a>, Error> {
        let Self { scanner, header, rows, places, .. } = self;
        Ok(Held { scanner, header, rows: rows.finish()?, places })
    }
}

/// The same, to be taken out.
struct Held<'a> {
    scanner: Scanner<'a>,
    header: Option<Vec<u8>>,
    rows: Input,
    places: HashMap<Vec<u8>, Vec<(u64, u32)>>,
}

impl Held<'_> {
    /// The old rows with the key of a new one, once.
    fn take(&mut self, row: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let key = self.scanner.key_of(self.header.as_deref(), row)?;
        let places = self.places.remove(&key).unwrap_or_default();
        let reader = self.rows.open()?;
        let read = |(offset, length): (u64, u32)| {
            let mut row = vec![0; length as usize];
            reader.read_at(&mut row, offset).map(|()| row)
        };
        places.into_iter().map(read).collect()
    }
}
