//! Rates, next to the formulas, with derived bounds: millions of keys are inserted and looked up.

mod attributes;
mod cascade;
mod coded;
mod compare;
mod ends;
mod plain;
mod stable;
mod window;
