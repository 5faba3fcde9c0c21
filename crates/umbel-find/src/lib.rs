//! Which blocks of many files may hold a word or a key, and the lines that do.
//!
//! [`build()`] makes an index: a filter of the words, or of one field's values, of each block of about 1 MiB of each file. [`find()`]
//! reads only the blocks whose filters have all words of a text, and compares the text itself: no answer rests on a hash.
//! [`update`] reads only what is new or has changed since.
//!
//! | module | what it alone knows |
//! |---|---|
//! | `words` | what a word is, and which keys a text has |
//! | `column` | the filter of one block |
//! | `matrix` | filters side by side, so that a key is looked up in 512 at a time |
//! | `pages` | a file whose parts can be read and checked by themselves |
//! | `layout` | the file of an index |
//! | `settings` | which keys an index has, as options and in its file |
//! | `stamp` | whether a file is still the one that was indexed |
//! | `folders` | the files of folders, and how an index names them |
//! | `text` | the text of a file in blocks |
//! | `build` | making an index and bringing it up to date |
//! | `query` | which keys a block must have to hold a text |
//! | `find` | the search |
//! | `about` | what an index says of itself |
//!
//! Errors are [`anyhow::Error`]s with the path in front, as in `umbel-files`; those of the file of an index are [`IndexError`]s.

mod about;
mod build;
mod column;
mod error;
mod find;
mod folders;
mod layout;
mod matrix;
mod pages;
mod query;
mod settings;
mod stamp;
#[cfg(test)]
mod tests;
mod text;
mod words;

pub use about::{About, about};
pub use build::{Built, build, update};
pub use error::IndexError;
pub use find::{Found, Search, Sink, Wanted, find};
pub use layout::{MAGIC, is_index};
pub use query::{Matching, Wide};
