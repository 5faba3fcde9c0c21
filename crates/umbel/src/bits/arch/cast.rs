//! Blocks seen as bytes and words, and hashes as numbers, by hand: a crate's traits for this would appear in public
//! types.

use core::slice::{from_raw_parts, from_raw_parts_mut};

use crate::bits::Block;
use crate::hash::Mixed64;

const _: () = assert!(size_of::<Block>() == size_of::<[u64; 8]>());

/// The bytes of blocks.
#[inline(always)]
pub fn bytes(blocks: &[Block]) -> &[u8] {
    // SAFETY: a block is eight numbers with nothing between or after them; bytes may be at any address.
    unsafe { from_raw_parts(blocks.as_ptr().cast(), size_of_val(blocks)) }
}

/// The bytes of blocks.
#[inline(always)]
pub fn bytes_mut(blocks: &mut [Block]) -> &mut [u8] {
    // SAFETY: as above, and any bytes are valid numbers.
    unsafe { from_raw_parts_mut(blocks.as_mut_ptr().cast(), size_of_val(blocks)) }
}

/// The words of blocks, little-endian.
#[inline(always)]
pub fn words(blocks: &[Block]) -> &[u64] {
    // SAFETY: a block is eight words.
    unsafe { from_raw_parts(blocks.as_ptr().cast(), 8 * blocks.len()) }
}

/// The words of blocks, little-endian.
#[inline(always)]
pub fn words_mut(blocks: &mut [Block]) -> &mut [u64] {
    // SAFETY: as above.
    unsafe { from_raw_parts_mut(blocks.as_mut_ptr().cast(), 8 * blocks.len()) }
}

/// The bytes as blocks, or `None` if they are not aligned or not whole blocks.
#[inline(always)]
pub(crate) fn blocks(bytes: &[u8]) -> Option<&[Block]> {
    let start = bytes.as_ptr().cast::<Block>();
    let right = start.is_aligned() && bytes.len().is_multiple_of(size_of::<Block>());
    // SAFETY: aligned, and any bytes are a block's numbers.
    right.then(|| unsafe { from_raw_parts(start, bytes.len() / size_of::<Block>()) })
}

impl Mixed64 {
    /// Converts a slice of hashes without copying.
    pub fn from_slice(hashes: &[u64]) -> &[Self] {
        // SAFETY: a hash is a number and nothing else, `repr(transparent)`.
        unsafe { from_raw_parts(hashes.as_ptr().cast(), hashes.len()) }
    }
}
