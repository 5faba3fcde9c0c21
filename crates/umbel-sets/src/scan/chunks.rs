//! The inputs of a scan, laid end to end and cut into chunks.

use std::iter;

use crate::places::Places;
use crate::prelude::*;

pub(super) struct Chunks<'a> {
    pub(super) inputs: &'a [Input],
    range: Range<usize>,
    pub(super) places: Places,
    /// The first chunk of each input of the range; one more for the end.
    firsts: Vec<u64>,
    /// Bytes of a chunk.
    size: u64,
    /// Whether the chunks of two inputs alternate, as long as both have some.
    abreast: bool,
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
    pub(super) fn new(inputs: &'a [Input], range: Range<usize>, size: u64, abreast: bool) -> Self {
        let mut chunks = 0;
        let next = |input: &Input| {
            let part = input.part();
            chunks += (part.end - part.start).div_ceil(size);
            chunks
        };
        let firsts = iter::once(0).chain(inputs[range.clone()].iter().map(next)).collect();
        Self { inputs, range, places: Places::new(inputs), firsts, size, abreast }
    }

    /// How many chunks there are.
    pub(super) fn count(&self) -> u64 {
        *self.firsts.last().expect("there is one for the end")
    }

    /// Chunk number `number`.
    pub(super) fn chunk(&self, number: u64) -> Chunk {
        let number = match self.firsts[..] {
            [_, first, all] if self.abreast => {
                let both = first.min(all - first);
                match number {
                    _ if number < 2 * both => number / 2 + number % 2 * first,
                    _ if first > both => number - both,
                    _ => number,
                }
            }
            _ => number,
        };
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
