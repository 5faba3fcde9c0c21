//! A set operation and its settings.

use super::{Distinct, Selection, Top};
use crate::budget::Budget;
use crate::hash::LineHasher;
use crate::input::Input;
use crate::scan::Scanner;
use crate::{Error, Options};

/// The memory's share for ordering results, 1 in this many, next to the operation that selects them.
const ORDERING: u64 = 4;

/// A set operation over the lines of files.
#[derive(Debug)]
pub struct SetOperation<'a> {
    pub(super) inputs: &'a [Input],
    pub(super) wanted: Selection,
    pub(super) fpp: Option<f64>,
    pub(super) budget: Budget,
    pub(super) options: &'a Options,
    pub(super) sorted: bool,
}

impl<'a> SetOperation<'a> {
    pub(super) fn new(
        inputs: &'a [Input],
        wanted: Selection,
        options: &'a Options,
    ) -> Result<Self, Error> {
        let budget = Budget::new(options.memory, options.threads)?;
        let operation = Self { inputs, wanted, fpp: None, budget, options, sorted: false };
        Ok(if operation.ranked().is_some() { operation.in_order() } else { operation })
    }

    /// Sets memory aside to order the results in.
    pub(super) fn in_order(self) -> Self {
        let rest = self.budget.rest - self.budget.rest / ORDERING;
        Self { budget: Budget { rest, ..self.budget }, ..self }
    }

    /// Bytes of that memory.
    pub(super) fn ordering(&self) -> u64 {
        self.budget.rest / (ORDERING - 1)
    }

    /// Selects each different line of all `inputs`, or one of the lines of each key.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads.
    pub fn distinct(
        inputs: &'a [Input],
        distinct: Distinct,
        options: &'a Options,
    ) -> Result<Self, Error> {
        Self::new(inputs, Selection::Distinct(distinct), options)
    }

    /// Selects each different line that at least `at_least` of `inputs` have.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads; [`Error::AtLeast`] for
    /// a threshold of 0 or more than there are inputs; [`Error::Inputs`] for 2¹⁶ inputs or more.
    pub fn common(
        inputs: &'a [Input],
        at_least: usize,
        options: &'a Options,
    ) -> Result<Self, Error> {
        check_at_least(at_least, inputs)?;
        if at_least > 1 && inputs.len() > usize::from(u16::MAX) {
            return Err(Error::Inputs { inputs: inputs.len() });
        }
        let wanted = match at_least {
            1 => Selection::Distinct(Distinct::default()),
            all if all == inputs.len() => Selection::Common { every: false },
            some => Selection::Several(some),
        };
        Self::new(inputs, wanted, options)
    }

    /// Selects each different line of the first input that is in none of the others.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads.
    pub fn except(inputs: &'a [Input], options: &'a Options) -> Result<Self, Error> {
        Self::new(inputs, Selection::Except { every: false }, options)
    }

    /// Selects every line of the first of two or more inputs whose key all others have, or with
    /// [`except`](Self::except) none of them, including repeats: a semi-join or an anti-join. Other operations are
    /// unchanged.
    #[must_use]
    pub fn every(self) -> Self {
        let wanted = match self.wanted {
            Selection::Except { .. } => Selection::Except { every: true },
            Selection::Common { .. } => Selection::Common { every: true },
            wanted => wanted,
        };
        Self { wanted, ..self }
    }

    /// Uses filters alone and reads every input once. A line is wrongly left out or, if other inputs matter, wrongly
    /// written with a total probability of at most `fpp`. Writes the first line of each key, as it is.
    #[must_use]
    pub fn with_error(self, fpp: Option<f64>) -> Self {
        Self { fpp, ..self }
    }

    /// Writes the result in the order of the keys' bytes, as `LC_ALL=C sort` sorts lines; records without a key come
    /// first. Results with an error, and [ranked](Distinct::ranked) ones, keep their own order.
    #[must_use]
    pub fn sorted(self) -> Self {
        Self { sorted: true, ..self.in_order() }
    }

    /// Sets the budget.
    #[cfg(test)]
    pub(crate) fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// The number of inputs, from the first on, whose lines may be written.
    pub(super) fn from(&self) -> usize {
        self.wanted.from(self.inputs.len())
    }

    pub(super) fn scanner(&self, hasher: impl Into<LineHasher>) -> Result<Scanner<'a>, Error> {
        let scanner = Scanner::within(self.budget, self.options, hasher)?;
        Ok(if self.wanted == Selection::Rows { scanner.comparing_rows() } else { scanner })
    }

    pub(super) fn header(&self) -> Result<Option<Vec<u8>>, Error> {
        self.scanner(LineHasher::random())?.header(self.inputs)
    }

    pub(super) fn ranked(&self) -> Option<Top> {
        match self.wanted {
            Selection::Distinct(Distinct { ranked, .. }) => ranked,
            _ => None,
        }
    }
}

/// Refuses a threshold of 0 inputs, or more than there are.
pub(super) fn check_at_least(at_least: usize, inputs: &[Input]) -> Result<(), Error> {
    match (1..=inputs.len()).contains(&at_least) {
        true => Ok(()),
        false => Err(Error::AtLeast { at_least, inputs: inputs.len() }),
    }
}
