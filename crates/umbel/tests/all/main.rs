//! External tests of the library in one program; each file covers one promise or one kind of filter.

mod reference;
mod statistics;
mod vectors;

mod attributes;
mod bloomier;
mod cascade;
mod coded;
mod counting;
mod damage;
mod description;
mod every_kind;
mod filter;
mod golden;
mod hash;
mod load;
mod mapped;
mod math;
mod memory;
mod model;
mod models;
mod parallel;
mod parts;
mod planning;
mod plans;
mod prehashed;
mod rates;
mod reopened;
mod scalable;
mod serde;
mod shared;
#[cfg(target_has_atomic = "64")]
mod shared_file;
mod stable;
mod traits;
mod window;
