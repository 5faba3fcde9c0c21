//! Shared by the commands of `cargo x`, in this package and in `xtask-library`: running programs, and Python
//! environments.

pub mod python;
pub mod run;
pub mod servers;
