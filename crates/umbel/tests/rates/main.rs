//! What is measured of the library: rates, next to the formulas, with derived bounds. Part of its own package, as millions of
//! keys are inserted and looked up: compiled as optimized as the library.

#[path = "../all/plans.rs"]
#[allow(dead_code)]
mod plans;
mod statistics;

mod attributes;
mod cascade;
mod coded;
mod compare;
mod ends;
mod plain;
mod stable;
mod window;
