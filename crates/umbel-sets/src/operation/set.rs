//! A set operation and its settings.

use super::prelude::*;

/// The share of memory for ordering results, 1 in this many, next to the operation that selects them.
const ORDERING: u64 = 4;

/// A set operation over the lines of files.
#[derive(Debug)]
pub struct SetOperation<'a> {
    pub(super) inputs: &'a [Input],
    pub(super) rule: Rule,
    /// Whether the count of its key is written with each line.
    pub(super) counted: bool,
    /// Which of the lines with the same key.
    pub(super) keep: Keep<'a>,
    /// The most frequent lines first, and how many of them.
    pub(super) ranked: Option<Top>,
    pub(super) fpp: Option<f64>,
    pub(super) budget: Budget,
    pub(super) options: &'a Options,
    pub(super) sorted: bool,
}

impl<'a> SetOperation<'a> {
    pub(super) fn new(
        inputs: &'a [Input],
        rule: Rule,
        options: &'a Options,
    ) -> Result<Self, Error> {
        Ok(Self::within(options.resources.budget()?, inputs, rule, options))
    }

    pub(super) fn within(
        budget: Budget,
        inputs: &'a [Input],
        rule: Rule,
        options: &'a Options,
    ) -> Self {
        let (counted, keep, ranked, fpp, sorted) = (false, Keep::First, None, None, false);
        Self { inputs, rule, counted, keep, ranked, fpp, budget, options, sorted }
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
    /// [`Error::Memory`] for a cap too low for the threads; [`Error::Copied`] for an input whose lines cannot be numbered.
    pub fn distinct(
        inputs: &'a [Input],
        distinct: Distinct<'a>,
        options: &'a Options,
    ) -> Result<Self, Error> {
        let Distinct { counted, keep, numbered, ranked, .. } = distinct;
        if let Some(input) = inputs.iter().find(|input| numbered && input.copied) {
            return Err(Error::Copied(input.name().to_owned()));
        }
        let operation = Self::new(inputs, Rule::of_distinct(distinct), options)?;
        let operation = Self { counted, keep, ranked, ..operation };
        Ok(if ranked.is_some() { operation.in_order() } else { operation })
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
            return Err(Error::Inputs(inputs.len()));
        }
        let rule = match at_least {
            1 => Rule::DISTINCT,
            all if all == inputs.len() => Rule::of_first(Others::Semi(all as u64 - 1), false),
            some => Rule::counting(Counted::Inputs, some as u64),
        };
        Self::new(inputs, rule, options)
    }

    /// Selects each different line of the first input that is in none of the others.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads.
    pub fn except(inputs: &'a [Input], options: &'a Options) -> Result<Self, Error> {
        Self::new(inputs, Rule::of_first(Others::Anti, false), options)
    }

    /// With `all`, selects every line of the first of two or more inputs whose key all others have, or with
    /// [`except`](Self::except) none of them, including repeats: a semi-join or an anti-join. Other operations are
    /// unchanged.
    #[must_use]
    pub fn every(self, all: bool) -> Self {
        Self { rule: Rule { every: all && self.rule.first_only, ..self.rule }, ..self }
    }

    /// Uses filters alone and reads every input once. A line is wrongly left out or, if other inputs matter, wrongly
    /// written with a total probability of at most `fpp`. Writes the first line of each key, as it is.
    #[must_use]
    pub fn with_error(self, fpp: Option<f64>) -> Self {
        Self { fpp, ..self }
    }

    /// If `sorted`, writes the result in the order of the keys' bytes, as `LC_ALL=C sort` sorts lines; records without
    /// a key come first. If [numbers are normalized](crate::Normalization::number), they come in the order of their
    /// values, before other values by their bytes, and empty ones last. Results with an error, and [ranked](Distinct::ranked) ones, keep their own order.
    #[must_use]
    pub fn sorted(self, sorted: bool) -> Self {
        if sorted { Self { sorted, ..self.in_order() } } else { self }
    }

    /// Sets the budget.
    #[cfg(test)]
    pub(crate) fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Whether records are sorted by their keys to choose among them.
    pub(super) fn groups(&self) -> bool {
        matches!(self.keep, Keep::Least(_) | Keep::Greatest(_) | Keep::All)
    }

    /// The number of inputs, from the first on, whose lines may be written.
    pub(super) fn from(&self) -> usize {
        self.rule.inputs(self.inputs.len())
    }

    pub(super) fn scanner(&self, hasher: impl Into<LineHasher>) -> Result<Scanner<'a>, Error> {
        let mut scanner = Scanner::within(self.budget, self.options, hasher)?;
        scanner.format.by_row = self.rule.counted == Some(Counted::Sides);
        Ok(scanner)
    }

    pub(super) fn header(&self) -> Result<Option<Vec<u8>>, Error> {
        self.scanner(LineHasher::random())?.header(self.inputs)
    }
}

/// Refuses a threshold of 0 inputs, or more than there are.
pub(super) fn check_at_least(at_least: usize, inputs: &[Input]) -> Result<(), Error> {
    match (1..=inputs.len()).contains(&at_least) {
        true => Ok(()),
        false => Err(Error::AtLeast { at_least, inputs: inputs.len() }),
    }
}
