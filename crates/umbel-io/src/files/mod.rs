//! Files as people name them, and what reads and writes them: where there are none, as in a browser, all of this is left out.

pub mod atomic;
pub mod compression;
pub mod content;
mod frames;
pub mod pages;
pub mod parts;
mod start;
pub mod threads;
pub mod wrapped;

pub use pages::{PageBuffer, PageReader, PageWriter};
pub use threads::{in_order, no_thread, on_each};
