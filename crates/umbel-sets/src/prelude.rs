//! What passes over inputs, and the jobs, name most often.

pub(crate) use std::ops::Range;
pub(crate) use std::sync::Mutex;

pub(crate) use umbel::{KeyHash, KeyHasher};

pub(crate) use crate::budget::Budget;
pub(crate) use crate::hash::LineHasher;
pub(crate) use crate::input::{Input, ReadFrom, lengths};
pub(crate) use crate::report::Report;
pub(crate) use crate::scan::{Lines, Scanner, Tally, Visit, Work};
pub(crate) use crate::{Error, Form, Options};
