//! What the steps of an operation work with and pass on: inputs, records, tables and results.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};

pub(super) use umbel::{Blocked, Filter, Kind, Plan, Shard};
pub(super) use umbel_io::threads::{in_order, on_parts};

pub(super) use super::counts::{Counted, CountedTable};
pub(super) use super::in_line::{ByShard, InLine};
pub(super) use super::key_set::{At, KeySet};
pub(super) use super::marks::Marks;
pub(super) use super::rule::{Others, Results, Rule};
pub(super) use super::run::Run;
pub(super) use super::sorting::Sorting;
pub(super) use super::{Distinct, Keep, SetOperation, SetPlan, Steps, Top};
pub(super) use crate::bulk::{Buckets, Picked, Sharded, fill, of_hashes};
pub(super) use crate::passes::Passes;
pub(super) use crate::places::Places;
pub(super) use crate::prelude::*;
pub(super) use crate::records::{Layout, Record};
pub(super) use crate::sink::{RowStyle, Sink};
pub(super) use crate::spill::{Disk, Later, Runs, Scattered, Selected, Spill};
pub(super) use crate::table::{Cursor, Entry, Inserted, Table};
