//! The command line as a black box, in one program: each file is about one verb or one promise.

// Elsewhere, tests of signals, named pipes and terminals are left out.
#![cfg_attr(not(unix), allow(dead_code, unused_imports))]

#[path = "../util/mod.rs"]
mod util;

mod advice;
mod audit;
mod cases;
mod common;
mod console;
mod docs;
mod errors;
mod faults;
mod figures;
mod filters;
mod find;
mod foreign;
mod inputs;
mod output;
mod parquet;
mod pictures;
mod pipes;
mod plan;
mod reports;
mod rows;
mod seen;
mod sharing;
mod words;
