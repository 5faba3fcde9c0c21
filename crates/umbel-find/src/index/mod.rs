//! The file of an index of many files, and which of their blocks may hold a text.
//!
//! Nothing here opens a file by its name: the caller, which may be a browser, passes a reader of the index.
//!
//! | module | what it alone knows |
//! |---|---|
//! | `words` | what a word is, and which keys a text has |
//! | `column` | the filter of one block |
//! | `matrix` | filters side by side: a key is looked up in 512 at a time |
//! | `pages` | a file whose parts can be read and checked by themselves |
//! | `layout` | the file of an index |
//! | `look_up` | which keys a block must have to hold a text, and which blocks have them |
//! | `about` | the description of an index |

pub mod about;
pub mod column;
mod error;
pub mod layout;
pub mod look_up;
pub mod matrix;
pub mod pages;
pub mod words;

pub use about::About;
pub use error::IndexError;
pub use layout::{Index, MAGIC, is_index};
pub use look_up::{Blocks, Wide};

/// The version of the format that is read and written.
pub const VERSION: u16 = 1;
