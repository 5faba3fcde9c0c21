//! The numbers of lines, counted while a pass hands them on in order.

use memchr::memchr_iter;

use super::prelude::*;

/// Counts each input's lines from 1, including its header and lines that are no records; a record has its first line's.
pub(super) struct Numbers<'a> {
    inputs: &'a [Input],
    /// The byte that ends a line.
    end: u8,
    /// The input, and where the lines in memory start in it.
    input: Option<usize>,
    start: u64,
    /// Line ends before them, and among them.
    before: u64,
    within: u64,
    /// Line ends up to a place among them.
    at: usize,
    passed: u64,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(inputs: &'a [Input], end: u8) -> Self {
        Self { inputs, end, input: None, start: 0, before: 0, within: 0, at: 0, passed: 0 }
    }

    /// Advances to lines that follow the previous ones, or that are the first of an input.
    pub(super) fn enter(&mut self, lines: &Lines<'_>) -> Result<(), Error> {
        let (input, start) = (Some(lines.input()), lines.start());
        if (input, start) == (self.input, self.start) {
            return Ok(());
        }
        self.before = if input == self.input {
            self.before + self.within
        } else {
            // The input's head.
            self.inputs[lines.input()].open()?.count_lines(start, self.end)?.place().0 - 1
        };
        self.within = memchr_iter(self.end, lines.buffer()).count() as u64;
        (self.input, self.start, self.at, self.passed) = (input, start, 0, 0);
        Ok(())
    }

    /// The number of line `i`, which comes after lines queried before.
    pub(super) fn of(&mut self, lines: &Lines<'_>, i: usize) -> u64 {
        let start = lines.extent(i).start;
        self.passed += memchr_iter(self.end, &lines.buffer()[self.at..start]).count() as u64;
        self.at = start;
        self.before + self.passed + 1
    }
}
