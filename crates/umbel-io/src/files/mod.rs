//! Files as people name them, and how they are read and written: without files, as in a browser, all this is left out.

pub mod atomic;
pub mod compression;
pub mod content;
mod frames;
pub mod pages;
pub mod parts;
mod start;
pub mod threads;
pub mod wrapped;

pub use pages::{PageBuffer, PageReader, PageWriter, read_up_to};
pub use threads::{in_order, no_thread, on_each};
