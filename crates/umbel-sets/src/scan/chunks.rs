//! The inputs of a scan, laid end to end and cut into chunks.

use std::iter;
use std::ops::Range;

use crate::input::Input;
use crate::places::Places;

pub(super) struct Chunks<'a> {
    pub(super) inputs: &'a [Input],
    range: Range<usize>,
    pub(super) places: Places,
    /// The first chunk of each input of the range; one more for the end.
    firsts: Vec<u64>,
    /// Bytes of a chunk.
    size: u64,
}

/// A chunk of an input.
#[derive(Clone, Copy)]
pub(super) struct Chunk {
    /// The index of the input among all.
    pub(super) input: usize,
    /// Its start and end in the input.
    pub(super) start: u64,
    pub(super) end: u64,
}

impl<'a> Chunks<'a> {
    pub(super) fn new(inputs: &'a [Input], range: Range<usize>, size: u64) -> Self {
        let mut chunks = 0;
        let next = |input: &Input| {
            let part = input.part();
            chunks += (part.end - part.start).div_ceil(size);
            chunks
        };
        let firsts = iter::once(0).chain(inputs[range.clone()].iter().map(next)).collect();
        Self { inputs, range, places: Places::new(inputs), firsts, size }
    }

    /// How many chunks there are.
    pub(super) fn count(&self) -> u64 {
        *self.firsts.last().expect("there is one for the end")
    }

    /// Chunk number `number`.
    pub(super) fn chunk(&self, number: u64) -> Chunk {
        let at = self.firsts.partition_point(|&first| first <= number) - 1;
        let input = self.range.start + at;
        let part = self.inputs[input].part();
        let start = part.start + (number - self.firsts[at]) * self.size;
        let end = (start + self.size).min(part.end);
        Chunk { input, start, end }
    }

    /// The first chunk of the `count` inputs up to `last`.
    pub(super) fn first_of(&self, last: usize, count: usize) -> u64 {
        self.firsts[(last + 1 - self.range.start).saturating_sub(count)]
    }
}
