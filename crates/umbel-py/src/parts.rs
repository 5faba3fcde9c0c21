//! Finds the part of a divided set that a key belongs to.

use std::num::NonZeroU32;

use pyo3::types::IntoPyDict;
use umbel::KeyHasher;

use crate::columns::refuse_one_key;
use crate::keys::{OneKey, Takes};
use crate::prelude::*;
use crate::values::{Content, check_unkeyed, count, hasher};

/// Divides keys among the parts of a set that is too large for one filter, or for one machine.
///
/// Each part is a filter of its own, planned for ``share(keys)`` keys. Programs that use the same filters need the same number of
/// parts, and the same ``seed`` or ``secret``; keys that others choose need a ``secret`` of 16 bytes.
///
/// >>> import umbel
/// >>> parts = umbel.Parts(16)
/// >>> parts.part("203.0.113.7")
/// 15
/// >>> parts.share(1_000_000_000)
/// 62533685
#[pyclass(frozen, weakref, module = "umbel")]
pub(crate) struct Parts {
    parts: umbel::Parts,
    hasher: KeyHasher,
    seed: u64,
}

#[pymethods]
impl Parts {
    #[new]
    #[pyo3(signature = (parts, *, seed=0, secret=None))]
    fn new(parts: &Bound<'_, PyAny>, seed: u64, secret: Option<Content<'_>>) -> PyResult<Self> {
        let number = count(parts, "parts")?;
        let number = u32::try_from(number).ok().and_then(NonZeroU32::new).ok_or_else(|| {
            PyValueError::new_err(format!("parts: expected at most 4294967295, found {number}"))
        })?;
        let hasher = hasher(seed, secret)?;
        Ok(Self { parts: umbel::Parts::with_hasher(number, hasher.clone()), hasher, seed })
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((u32,), Bound<'py, PyDict>)> {
        check_unkeyed(&self.hasher, "Parts")?;
        Ok(((self.parts.count(),), [("seed", self.seed)].into_py_dict(py)?))
    }

    fn __len__(&self) -> usize {
        self.parts.count() as usize
    }

    /// The part of a key, from 0.
    fn part(&self, key: &Bound<'_, PyAny>) -> PyResult<u32> {
        Ok(self.parts.part(OneKey::of(key, Takes::Own)?.key()))
    }

    /// The keys of each part, in their order: a list of lists, by part.
    fn split<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyList>>> {
        refuse_one_key(keys, "use part()")?;
        let lists: Vec<_> = (0..self.parts.count()).map(|_| PyList::empty(keys.py())).collect();
        for key in Values::of(keys)? {
            let key = key?;
            lists[self.part(&key)? as usize].append(key)?;
        }
        Ok(lists)
    }

    /// For how many keys to plan each part of a set of ``keys`` keys: with a probability of at least 99.9 %, none gets more.
    fn share(&self, keys: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.parts.share(count(keys, "keys")?))
    }

    fn __repr__(&self) -> String {
        format!("<umbel.Parts: {}>", self.parts.count())
    }
}
