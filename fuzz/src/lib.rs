//! Shared by the fuzz targets.

pub mod figures;
pub mod memory;

use std::path::Path;

use umbel::{AnyFilter, Block, Blocks, Filter, Portable};
use umbel_sets::{Form, LEAST_MEMORY, Options, Resources, TempFolders};

/// Bytes at a given distance after the start of a cache line, where mapped files start.
pub struct Placed {
    blocks: Blocks,
    behind: usize,
    len: usize,
}

impl Placed {
    /// Copies `bytes` to `behind` bytes after a multiple of 64.
    pub fn new(bytes: &[u8], behind: usize) -> Self {
        let mut blocks = Blocks::zeroed(((behind + bytes.len()).div_ceil(64)) as u64).unwrap();
        blocks.as_bytes_mut()[behind..][..bytes.len()].copy_from_slice(bytes);
        Self { blocks, behind, len: bytes.len() }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.blocks.as_bytes()[self.behind..][..self.len]
    }
}

/// The umbel file of a filter.
pub fn file<S: AsRef<[Block]>, H: Portable>(filter: &AnyFilter<H, S>) -> Vec<u8> {
    let mut file = Vec::new();
    filter.write(&mut file).expect("memory takes every byte");
    file
}

/// Options of a job of one thread over lines, in the least memory, with temporary files in a folder.
pub fn options(folder: &Path) -> Options {
    let tmp = TempFolders::new(&[folder.to_owned()]);
    Options { resources: Resources::new(LEAST_MEMORY, 1, tmp), form: Form::default() }
}
