//! The inputs laid end to end: maps a place to its input.

use std::iter;

use crate::input::Input;

/// A place is an offset into the concatenation of all inputs.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The start of each input, and the end of the last.
    starts: Vec<u64>,
}

impl Places {
    pub(crate) fn new(inputs: &[Input]) -> Self {
        let mut end = 0u64;
        // A line without an end at the end of one input must not share its place with the next input's first line.
        let next = |input: &Input| {
            end = end.saturating_add(input.length()).saturating_add(1);
            end
        };
        Self { starts: iter::once(0).chain(inputs.iter().map(next)).collect() }
    }

    pub(crate) fn start(&self, input: usize) -> u64 {
        self.starts[input]
    }

    pub(crate) fn input_of(&self, place: u64) -> usize {
        self.starts.partition_point(|&start| start <= place) - 1
    }
}
