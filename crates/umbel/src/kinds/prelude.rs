//! Imports for the modules of kinds.

pub(crate) use core::convert::Infallible;

pub(crate) use crate::bits::{self, AHEAD, BLOCK_BITS, BLOCK_BYTES, Block, Blocks};
pub(crate) use crate::error::{FieldError, OutOfMemory, check_field};
pub(crate) use crate::filter::core::{Core, HASHES_AT_ONCE, Merge, Owned, one_part};
pub(crate) use crate::filter::hashed::{Erased, Hashed, hashed, hashes_of};
pub(crate) use crate::filter::methods::{filter, inserts, made_empty, merges, try_inserts};
pub(crate) use crate::filter::traits::sealed::{self, Body as _};
pub(crate) use crate::filter::{
    BuildError, Comparison, Fact, Figure, Filter, Full, InsertError, MergeError, Part, Receipt,
};
pub(crate) use crate::format::{Body, FileError, Header};
pub(crate) use crate::hash::{Hashing, Key, KeyHash, KeyHasher, Mixed64, Portable, Scheme, Unlock};
pub(crate) use crate::math::{Coverage, Estimate, MAX_PROBES, Spread};
pub(crate) use crate::plan::size::{at_rate, multiple_of, whole_blocks};
pub(crate) use crate::plan::{
    Capacity, Form, Growth, Kind, MAX_BITS, Plan, PlanError, Planner, SURE_FROM, Tags, Variant,
};
pub(crate) use crate::plan::{check_bits, check_fpp, check_keys};
pub(crate) use crate::prelude::*;
