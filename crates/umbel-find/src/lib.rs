//! Which blocks of many files may hold a word or a key, and the lines that do.
//!
//! [`build()`] makes an index: a filter of the words, or of one field's values, of each block of about 1 MiB of each file. [`find()`]
//! reads only the blocks whose filters contain all words of a text, and compares the text itself: no answer rests on a hash.
//! [`update`] reads only new and changed files. [`not_found`] returns the texts that occur in no line.
//!
//! | module | what it alone knows |
//! |---|---|
//! | `settings` | which keys an index has, as options and in its file |
//! | `opened` | an index that is open, and where decoders start in its files |
//! | `stamp` | whether a file is still the one that was indexed |
//! | `folders` | the files of folders, and how an index names them |
//! | `memory` | the part of the memory cap that lists of files use |
//! | `text` | the text of a file in blocks |
//! | `build` | making an index and bringing it up to date |
//! | `query` | how a text is compared with lines |
//! | `find` | the search |
//! | `about` | the description of an index, and which of its files have changed |
//! | [`index`] | the file of an index, and which blocks may hold a text: opens no file by its name |
//!
//! Errors are [`anyhow::Error`]s with the path in front, as in `umbel-io`; errors of an index file are [`IndexError`]s.
//! All but [`index`] needs the feature `files`, which is on by default: a browser reads an index without it.

#[cfg(feature = "files")]
mod files;
pub mod index;

#[cfg(feature = "files")]
pub use files::*;
pub use index::{IndexError, MAGIC, Wide, is_index};
