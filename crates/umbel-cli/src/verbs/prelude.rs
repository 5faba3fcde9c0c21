//! What nearly every verb names.

pub(super) use std::path::{Path, PathBuf};

pub(super) use anyhow::{Context, Result, bail};
pub(super) use clap::{Args, ValueHint};

pub(super) use crate::Outcome;
pub(super) use crate::report::Run;
pub(super) use crate::verb::Verb;
