//! What the fuzz targets share.

pub mod figures;
pub mod memory;

use umbel::{AnyFilter, Block};

/// Bytes that start a cache line, as mapped files do.
pub struct Aligned {
    blocks: Vec<Block>,
    len: usize,
}

impl Aligned {
    /// A copy of `bytes`.
    pub fn new(bytes: &[u8]) -> Self {
        let mut blocks = vec![Block::default(); bytes.len().div_ceil(64)];
        bytemuck::cast_slice_mut(&mut blocks)[..bytes.len()].copy_from_slice(bytes);
        Self { blocks, len: bytes.len() }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.blocks)[..self.len]
    }
}

/// The umbel file of a filter.
pub fn file<S: AsRef<[Block]>>(filter: &AnyFilter<S>) -> Vec<u8> {
    let mut file = Vec::new();
    filter.write(&mut file).expect("memory takes every byte");
    file
}
