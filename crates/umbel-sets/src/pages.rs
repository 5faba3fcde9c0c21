//! Where bytes of a file go in a [`PageBuffer`](umbel_io::PageBuffer) to make the system's copies fast.

/// Bytes of a page. Tests have small ones, because their buffers are small.
pub(crate) const PAGE: usize = if cfg!(test) { 64 } else { umbel_io::pages::PAGE };

/// The bytes of a file's page before `offset`.
pub(crate) fn within_page(offset: u64) -> usize {
    (offset % PAGE as u64) as usize
}
