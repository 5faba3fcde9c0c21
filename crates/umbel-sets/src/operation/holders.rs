//! Lines, each with the inputs that have it.

use std::io;

use super::prelude::*;
use super::set_operation::check_at_least;
use crate::labels::{LabelColumn, Labels};

/// The distinct lines of some inputs, by the inputs that have them, as `comm` shows for two sorted files.
///
/// Each line, or the first record of each key, is written once, in the order of first appearance. Memory holds a bit for
/// each input next to each line.
#[derive(Debug)]
pub struct Holders<'a> {
    operation: SetOperation<'a>,
    /// A bit for each input, as results have them.
    only: Option<Vec<u8>>,
    labels: Option<Labels>,
}

impl<'a> Holders<'a> {
    /// Selects all lines, without labels.
    ///
    /// # Errors
    /// [`Error::Memory`] for a cap too low for the threads.
    pub fn new(inputs: &'a [Input], options: &'a Options) -> Result<Self, Error> {
        let holders = Counted::Holders(inputs.len().div_ceil(64) as u16);
        let operation = SetOperation::new(inputs, Rule::counting(holders, 1), options)?;
        Ok(Self { operation, only: None, labels: None })
    }

    /// Selects lines that are in at least this many inputs.
    ///
    /// # Errors
    /// [`Error::AtLeast`] for 0 or more than there are inputs.
    pub fn at_least(mut self, at_least: usize) -> Result<Self, Error> {
        check_at_least(at_least, self.operation.inputs)?;
        self.operation.rule.at_least = at_least as u64;
        Ok(self)
    }

    /// Selects, among these, the lines that exactly the inputs with these indexes have; with no index, all.
    ///
    /// # Panics
    /// If an index has no input.
    #[must_use]
    pub fn only(mut self, only: &[usize]) -> Self {
        if only.is_empty() {
            return self;
        }
        let inputs = self.operation.inputs.len();
        assert!(only.iter().all(|input| *input < inputs), "there are such inputs");
        let mut bits = vec![0u8; 8 * inputs.div_ceil(64)];
        only.iter().for_each(|input| bits[input / 8] |= 1 << (input % 8));
        let count: u64 = bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
        let at_least = &mut self.operation.rule.at_least;
        *at_least = count.max(*at_least);
        Self { only: Some(bits), ..self }
    }

    /// With labels, writes the inputs that have it in front of each line: as a column named `files`, separated by
    /// commas; with JSON lines, as `{"files":[1,3],"record":…}`.
    #[must_use]
    pub fn with_labels(self, labels: Option<Labels>) -> Self {
        Self { labels, ..self }
    }

    /// If `sorted`, writes the result in the order of the keys' bytes, as [`SetOperation::sorted`] does.
    #[must_use]
    pub fn sorted(self, sorted: bool) -> Self {
        Self { operation: self.operation.sorted(sorted), ..self }
    }

    /// Plans the job; reads samples of the inputs.
    ///
    /// # Errors
    /// As for [`SetOperation::plan`].
    pub fn plan(&self) -> Result<SetPlan, Error> {
        self.operation.plan()
    }

    /// Writes the lines to `out`.
    ///
    /// # Errors
    /// As for [`SetOperation::run`].
    pub fn run(&self, out: &mut (dyn io::Write + Send)) -> Result<Report, Error> {
        let SetOperation { inputs, options, .. } = self.operation;
        let records = &options.form.records;
        let bytes = 8 * inputs.len().div_ceil(64);
        let names = inputs.iter().map(Input::name);
        let labels = self.labels.map(|labels| LabelColumn::new(labels, names, records));
        let style = match labels {
            Some(_) => RowStyle::Behind("files", records.column()),
            None => RowStyle::Rows,
        };
        let mut sink = Sink::new(out, records.end()).with_style(style);
        sink.header(self.operation.header()?.as_deref())?;
        let mut text = Vec::new();
        let report = self.operation.hand_in_order(bytes, &mut |selected| {
            let (holders, row) = selected.row.split_at(bytes);
            if self.only.as_ref().is_some_and(|only| only != holders) {
                return Ok(());
            }
            if let Some(labels) = &labels {
                labels.write(|i| holders[i / 8] >> (i % 8) & 1 == 1, &mut text);
            }
            sink.row(&text, row)
        })?;
        sink.finish(report)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    type Wanted = (usize, Option<Vec<usize>>, bool);

    fn model(inputs: &[Vec<u8>], separator: u8, (at_least, only, labels): &Wanted) -> Vec<u8> {
        let mut holders: BTreeMap<&[u8], (usize, Vec<usize>)> = BTreeMap::new();
        let all = inputs.iter().enumerate().flat_map(|(number, input)| {
            lines_of(input, separator).into_iter().map(move |line| (number, line))
        });
        for (place, (number, line)) in all.enumerate() {
            let (_, within) = holders.entry(line).or_insert((place, Vec::new()));
            if within.last() != Some(&number) {
                within.push(number);
            }
        }
        let mut rows: Vec<_> = holders.into_iter().collect();
        rows.sort_by_key(|(_, (place, _))| *place);
        let mut text = Vec::new();
        for (line, (_, within)) in rows {
            if within.len() < *at_least || only.as_ref().is_some_and(|only| *only != within) {
                continue;
            }
            if *labels {
                let names: Vec<_> = within.iter().map(|number| (number + 1).to_string()).collect();
                text.extend_from_slice((names.join(",") + "\t").as_bytes());
            }
            text.extend_from_slice(line);
            text.push(separator);
        }
        text
    }

    fn run(
        inputs: &[Input],
        budget: Budget,
        options: &Options,
        wanted: &Wanted,
    ) -> (Vec<u8>, SetPlan, Report) {
        let (at_least, only, labels) = wanted;
        let job = Holders::new(inputs, options).unwrap().at_least(*at_least).unwrap();
        let job = only.iter().fold(job, |job, only| job.only(only));
        let job = job.with_labels(labels.then_some(Labels::Numbers));
        let job = Holders { operation: job.operation.with_budget(budget), ..job };
        let mut out = Vec::new();
        let (plan, report) = (job.plan().unwrap(), job.run(&mut out).unwrap());
        assert_eq!(report.bytes_written, out.len() as u64);
        (out, plan, report)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: long(2000, 200), ..ProptestConfig::default() })]

        #[test]
        fn each_line_has_the_inputs_that_hold_it((files, wanted) in files(1..7).prop_flat_map(|files| {
            let inputs = files.inputs.len();
            let only = proptest::option::of(proptest::sample::subsequence((0..inputs).collect::<Vec<_>>(), 1..=inputs));
            (Just(files), (1..=inputs, only, any::<bool>()))
        })) {
            let (dir, inputs, options) = files.workplace();
            let (found, _, report) = run(&inputs, files.budget, &options, &wanted);
            let expected = model(&files.inputs, files.separator, &wanted);
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(report.found, lines_of(&expected, files.separator).len() as u64);
            prop_assert!(std::fs::read_dir(dir.path()).unwrap().count() == inputs.len(), "temporary files are gone");
        }
    }

    /// With and without a filter, in memory and spilled, and with more inputs than a word has bits.
    #[test]
    fn every_way_is_taken() {
        let many: Vec<_> = (0..150u32).map(|i| lines(i..i + 1 + i % 7)).collect();
        let three = vec![
            lines(0..40_000),
            lines(30_000..60_000),
            [lines(0..50), lines(59_000..90_000)].concat(),
        ];
        let mut seen = std::collections::HashSet::new();
        for bytes in [many, three] {
            let (_dir, inputs, options) = workplace_with(&bytes, b'\n');
            for wanted in [
                (1, None, true),
                (2, None, true),
                (1, Some(vec![1]), false),
                (1, Some(vec![0, 2]), true),
            ] {
                for rest in [20_000, 60_000, 400_000, 4_000_000] {
                    let budget = Budget { rest, ..cramped(3) };
                    let (found, plan, report) = run(&inputs, budget, &options, &wanted);
                    assert!(found == model(&bytes, b'\n', &wanted), "{wanted:?} {plan:?}");
                    seen.insert((plan.filter().is_some(), report.bytes_spilled > 0));
                }
            }
        }
        assert_eq!(seen.len(), 4, "{seen:?}");
    }
}
