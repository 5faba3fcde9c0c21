//! Imports for the modules of kinds.

pub(crate) use core::convert::Infallible;

pub(crate) use crate::bits::{Block, Blocks};
pub(crate) use crate::error::{FieldError, OutOfMemory, check_field};
pub(crate) use crate::filter::core::{Core, GROUP, Merge, Owned, one_part};
pub(crate) use crate::filter::hashed::{Erased, Fill, Hashed, hashed, hashes_of};
pub(crate) use crate::filter::methods::{filter, inserts, made_empty, merges, try_inserts};
pub(crate) use crate::filter::traits::sealed::{self, Body as _};
pub(crate) use crate::filter::{
    BuildError, Comparison, Fact, Figure, Filter, Full, InsertError, MergeError, Part, Receipt,
};
pub(crate) use crate::format::{Body, FileError, Header};
pub(crate) use crate::hash::{Hashing, Key, KeyHash, KeyHasher, Mixed64, Portable, Scheme, Unlock};
pub(crate) use crate::math::Estimate;
pub(crate) use crate::plan::{Plan, PlanError, Planner};
pub(crate) use crate::prelude::*;
