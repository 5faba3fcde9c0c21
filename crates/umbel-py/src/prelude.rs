//! What most modules name: PyO3's prelude with Python's usual types and exceptions, arguments, errors, forms of keys.

pub(crate) use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
pub(crate) use pyo3::prelude::*;
pub(crate) use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyString, PyTuple, PyType};
pub(crate) use umbel::KeyForm;
pub(crate) use umbel_foreign::KeyType;

pub(crate) use crate::calls::Values;
pub(crate) use crate::errors::Failure;
pub(crate) use crate::values::{FilePath, Threads};
