//! What the commands of `cargo x` share, in this package and in `xtask-library`: running programs, and Pythons of
//! our own.

pub mod python;
pub mod run;
