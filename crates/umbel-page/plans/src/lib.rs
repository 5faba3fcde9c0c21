//! The explorer's core without files, as a module for the page: what it loads first. Each module is a package, for a package
//! has one file of a name.

pub use umbel_page::Core;
