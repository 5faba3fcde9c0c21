//! The data that the steps of an operation pass on: inputs, records, tables and results.

pub(super) use std::ops::Range;
pub(super) use std::sync::Mutex;

pub(super) use umbel::{Blocked, Filter, KeyHash, Plan};

pub(super) use super::counts::{Counted, CountedTable};
pub(super) use super::keys::KeySet;
pub(super) use super::rule::{Others, Results, Rule};
pub(super) use super::sorting::Sorting;
pub(super) use crate::budget::Budget;
pub(super) use crate::bulk::{Picked, of_hashes};
pub(super) use crate::hash::LineHasher;
pub(super) use crate::input::{Input, lengths};
pub(super) use crate::passes::Passes;
pub(super) use crate::places::Places;
pub(super) use crate::records::{Layout, Record};
pub(super) use crate::report::Report;
pub(super) use crate::scan::{Lines, Scanner, Tally, Visit, Work};
pub(super) use crate::sink::Sink;
pub(super) use crate::spill::{Disk, Later, Runs, Scattered, Selected, Spill};
pub(super) use crate::table::{Inserted, Table};
pub(super) use crate::{Error, Options};
