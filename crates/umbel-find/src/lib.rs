//! Which blocks of many files may hold a word or a key, and the lines that do.
//!
//! [`build()`] makes an index: a filter of the words, or of one field's values, of each block of about 1 MiB of each file. [`find()`]
//! reads only the blocks whose filters have all words of a text, and compares the text itself: no answer rests on a hash.
//! [`update`] reads only what is new or has changed since.
//!
//! | module | what it alone knows |
//! |---|---|
//! | `settings` | which keys an index has, as options and in its file |
//! | `opened` | an index that is open, and where decoders start in its files |
//! | `stamp` | whether a file is still the one that was indexed |
//! | `folders` | the files of folders, and how an index names them |
//! | `memory` | what lists of files take of the memory cap |
//! | `text` | the text of a file in blocks |
//! | `build` | making an index and bringing it up to date |
//! | `query` | how a text is compared with lines |
//! | `find` | the search |
//! | `about` | what an index says of itself |
//!
//! The file of an index, and what looks keys up in it, are `umbel-index`. Errors are [`anyhow::Error`]s with the path in front, as in `umbel-files`; those of the file of an index are [`IndexError`]s.

mod about;
mod build;
mod find;
mod folders;
mod memory;
mod opened;
mod query;
mod settings;
mod stamp;
#[cfg(test)]
mod tests;
mod text;

pub use about::{About, about};
pub use build::{Built, build, update};
pub use find::{Found, Search, Sink, Wanted, find};
pub use query::Matching;
pub use umbel_index::{IndexError, MAGIC, Wide, is_index};
