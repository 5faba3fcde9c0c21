//! The checksums of a payload that is read or written.

use core::hash::Hasher;

use twox_hash::xxhash3_64::Hasher as Xxh3;

use super::CHUNK;
use crate::prelude::*;

/// The checksums of the chunks of a payload, read or written front to back. Compiled here once, optimized, instead of
/// for every reader and writer.
///
/// Memory: 8 bytes per MiB.
pub(crate) struct Sums {
    chunk: Xxh3,
    in_chunk: usize,
    ended: Vec<u64>,
}

impl Sums {
    pub(crate) fn new() -> Self {
        Self { chunk: Xxh3::with_seed(0), in_chunk: 0, ended: Vec::new() }
    }

    /// Adds the next bytes.
    pub(crate) fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(CHUNK - self.in_chunk));
            self.chunk.write(piece);
            self.in_chunk += piece.len();
            if self.in_chunk == CHUNK {
                self.end_chunk();
            }
            bytes = rest;
        }
    }

    /// The sums of all chunks; the last chunk may be shorter.
    pub(crate) fn finish(mut self) -> Vec<u64> {
        if self.in_chunk > 0 {
            self.end_chunk();
        }
        self.ended
    }

    fn end_chunk(&mut self) {
        self.ended.push(self.chunk.finish());
        self.chunk = Xxh3::with_seed(self.ended.len() as u64);
        self.in_chunk = 0;
    }
}
