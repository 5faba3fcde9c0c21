//! The last pass: writes the lines that could not be written when they were decided.

use super::numbers::Numbers;
use super::prelude::*;

/// The results of doubtful lines, and the destination of lines.
pub(super) struct ResultWriter<'a, 'o> {
    results: &'a mut Results,
    /// The place of the next result, and the count of its line.
    head: Option<(u64, u64)>,
    /// The words of the inputs that have the line, if these are counted.
    holders: Vec<u8>,
    /// The numbers of lines, if wanted.
    numbers: Option<Numbers<'a>>,
    sink: &'a mut Sink<'o>,
}

impl<'a, 'o> ResultWriter<'a, 'o> {
    pub(super) fn new(
        results: &'a mut Results,
        numbers: Option<Numbers<'a>>,
        sink: &'a mut Sink<'o>,
    ) -> Result<Self, Error> {
        let mut output = Self { results, head: None, holders: Vec::new(), numbers, sink };
        output.advance()?;
        Ok(output)
    }

    fn advance(&mut self) -> Result<(), Error> {
        let next = self.results.next()?;
        self.head = next.map(|selected| (selected.place, selected.count));
        self.holders.clear();
        self.holders.extend_from_slice(next.map_or(&[], |selected| selected.row));
        Ok(())
    }
}

/// Writes lines from a place on: unique ones, and those among the results.
pub(super) struct Write<'a, 'o> {
    /// Lines that may be repeated; without it, all.
    pub(super) doubt: Option<&'a Blocked>,
    pub(super) from: u64,
    pub(super) rule: Rule,
    pub(super) output: &'a Mutex<ResultWriter<'a, 'o>>,
}

impl Write<'_, '_> {
    pub(super) fn visit(&self, spare: u64) -> Visit<'_> {
        Visit::new(spare, move || (self, Vec::new()))
    }
}

/// For each kept line, whether it is doubtful.
impl Work for (&Write<'_, '_>, Vec<bool>) {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        let (write, doubtful) = self;
        let before = doubtful.len();
        let first = (0..lines.len()).find(|&i| lines.place(i) >= write.from);
        let first = first.unwrap_or(lines.len());
        keep[first..].fill(true);
        doubtful.resize(before + lines.len() - first, true);
        if let Some(doubt) = write.doubt {
            doubt.contains_all(&lines.hashes()[first..], &mut doubtful[before..]);
        }
        Ok(())
    }

    fn carries(&self) -> bool {
        // With numbers, all lines are counted, even if none was kept.
        self.0.rule.numbered
    }

    fn kept(&mut self, lines: &Lines<'_>, _: &dyn Fn()) -> Result<(), Error> {
        let (write, doubtful) = self;
        let output = &mut *write.output.lock().expect("no worker panics");
        if let Some(numbers) = &mut output.numbers {
            numbers.enter(lines)?;
        }
        let (wants_unique, words) = (write.rule.at_least < 2, write.rule.words());
        let (mut wanted, mut text) = (Vec::new(), Vec::new());
        for (i, doubtful) in doubtful.drain(..).enumerate() {
            let place = lines.place(i);
            text.clear();
            let count = match output.head {
                _ if !doubtful && !wants_unique => continue,
                _ if !doubtful => {
                    text.resize(8 * words, 0);
                    if words > 0 {
                        text[lines.input() / 8] = 1 << (lines.input() % 8);
                    }
                    1
                }
                Some((known, count)) if known == place => {
                    text.append(&mut output.holders);
                    output.advance()?;
                    count
                }
                _ => continue,
            };
            if let Some(numbers) = &mut output.numbers {
                for word in [numbers.of(lines, i), lines.input() as u64] {
                    text.extend_from_slice(&word.to_le_bytes());
                }
            }
            if output.sink.is_plain() {
                wanted.push(i);
            } else {
                text.extend_from_slice(lines.row(i));
                output.sink.result(Selected { place, count, row: &text })?;
            }
        }
        output.sink.rows(lines, wanted.into_iter())
    }
}
