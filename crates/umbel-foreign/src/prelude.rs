//! Imports for the modules of formats.

pub(crate) use umbel::{Fact, Figure};

pub(crate) use crate::bits::{Order, check_padding};
pub(crate) use crate::bytes::{MOST_PROBES, Reader, check, check_limit, refuse};
pub(crate) use crate::measure::Measure;
pub(crate) use crate::plain::{Layout, Plain, Shape, has_shape};
pub(crate) use crate::receipt::Part;
pub(crate) use crate::{
    Bytes, Error, ForeignFilter, ForeignInsert, Format, Key, Parameters, Plan, Receipt, Value,
};
