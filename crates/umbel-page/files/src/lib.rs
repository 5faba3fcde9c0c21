//! The explorer's whole core, as a module for the page.

pub use umbel_page::Core;
