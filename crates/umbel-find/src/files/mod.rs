//! Indexes of files that are opened by their names.

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
pub use find::{Found, Search, Sink, Wanted, find, not_found};
pub use query::Matching;
