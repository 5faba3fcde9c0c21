//! What `bytemuck` may assume of our types, by hand: its derive macros would take a second longer to build.

use bytemuck::{Pod, TransparentWrapper, Zeroable};

use crate::bits::Block;
use crate::hash::Hash64;

const _: () = assert!(size_of::<Block>() == size_of::<[u64; 8]>());

// SAFETY: eight numbers with nothing between or after them, for which all bits zero is a value.
unsafe impl Zeroable for Block {}
// SAFETY: as above, and any other bits are a value too.
unsafe impl Pod for Block {}
// SAFETY: a number and nothing else, `repr(transparent)`.
unsafe impl TransparentWrapper<u64> for Hash64 {}
