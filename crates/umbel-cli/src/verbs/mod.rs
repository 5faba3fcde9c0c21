//! The verbs, a file each.

mod add;
mod build;
mod common;
mod compare;
mod convert;
mod dedup;
mod diff;
mod docs;
mod except;
mod explain;
mod info;
mod merge;
mod operation;
mod parquet;
mod plan;
mod query;
mod remove;
mod seen;
mod show;
mod table;

pub(crate) use add::add;
pub(crate) use build::build;
pub(crate) use common::common;
pub(crate) use compare::compare;
pub(crate) use convert::convert;
pub(crate) use dedup::dedup;
pub(crate) use diff::diff;
pub(crate) use docs::{completions, man};
pub(crate) use except::except;
pub(crate) use info::info;
pub(crate) use merge::merge;
pub(crate) use parquet::parquet;
pub(crate) use plan::plan;
pub(crate) use query::query;
pub(crate) use remove::remove;
pub(crate) use show::show;
