//! Calls of Python code that others wrote: iterables, files at URLs, callbacks.
//!
//! Such code releases the GIL. If the interpreter ends meanwhile, Python before 3.14 unwinds a daemon thread that wants
//! the GIL back; functions declared as `extern "C"` turn this into an abort of the process. These functions are
//! declared to unwind, and the thread stops where Rust begins, like PyO3's own calls that wait for the GIL.

#![allow(unsafe_code)] // A few functions of Python's C interface.

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyTuple};

unsafe extern "C-unwind" {
    fn PyIter_Next(iterator: *mut PyObject) -> *mut PyObject;
    fn PyObject_Call(
        callable: *mut PyObject,
        arguments: *mut PyObject,
        named: *mut PyObject,
    ) -> *mut PyObject;
}

/// Memory that is written to once, from its start.
pub(crate) struct Unwritten {
    at: *mut u8,
    left: usize,
}

// SAFETY: it belongs to an object without other owners yet.
unsafe impl Send for Unwritten {}

impl std::io::Write for Unwritten {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let length = bytes.len().min(self.left);
        // SAFETY: there are `left` bytes from there on, in a new object that does not overlap `bytes`.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, length);
            self.at = self.at.add(length);
        }
        self.left -= length;
        Ok(length)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Bytes of this length, which `write` writes once, maybe without the GIL. `None` if it wrote less or returned false.
pub(crate) fn bytes_of<'py>(
    py: Python<'py>,
    length: usize,
    write: impl FnOnce(&mut Unwritten) -> bool,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let size = length.try_into()?;
    // SAFETY: without bytes to copy, it makes an object whose bytes we must write.
    let object = unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(std::ptr::null(), size))?
    };
    // SAFETY: it is of type bytes.
    let at = unsafe { ffi::PyBytes_AsString(object.as_ptr()).cast() };
    let mut out = Unwritten { at, left: length };
    let done = write(&mut out) && out.left == 0;
    Ok(done.then(|| object.cast_into()).transpose()?)
}

/// Dropped only by unwinding; its drop then never returns.
struct Unwound;

impl Drop for Unwound {
    fn drop(&mut self) {
        loop {
            std::thread::park();
        }
    }
}

fn returned(call: impl FnOnce() -> *mut PyObject) -> *mut PyObject {
    let unwound = Unwound;
    let result = call();
    std::mem::forget(unwound);
    result
}

/// Values of a Python iterable, pulled on the thread that requested them.
pub(crate) struct Values<'py>(Bound<'py, PyIterator>);

impl<'py> Values<'py> {
    pub(crate) fn of(iterable: &Bound<'py, PyAny>) -> PyResult<Self> {
        iterable.try_iter().map(Self)
    }

    /// Whether both read the same iterator, such as a generator or an open file.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.is(&other.0)
    }

    /// Appends values until there are `most`. On an error, the values in front of it are kept. Returns whether there
    /// may be more.
    pub(crate) fn fill(&mut self, to: &mut Vec<Bound<'py, PyAny>>, most: usize) -> PyResult<bool> {
        while to.len() < most {
            match self.next() {
                Some(value) => to.push(value?),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl<'py> Iterator for Values<'py> {
    type Item = PyResult<Bound<'py, PyAny>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let py = self.0.py();
        // SAFETY: it is an iterator, the GIL is held, and the result is a new reference or null.
        let value =
            unsafe { Bound::from_owned_ptr_or_opt(py, returned(|| PyIter_Next(self.0.as_ptr()))) };
        value.map(Ok).or_else(|| PyErr::take(py).map(Err))
    }
}

/// Calls a method of an object or a function of a module.
pub(crate) fn call_method<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    arguments: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    call(&object.getattr(name)?, arguments, named)
}

/// Calls it.
pub(crate) fn call<'py>(
    callable: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let named = named.map_or(std::ptr::null_mut(), |named| named.as_ptr());
    let call = || {
        // SAFETY: these are a callable, a tuple and a dict or none, and the GIL is held.
        unsafe { PyObject_Call(callable.as_ptr(), arguments.as_ptr(), named) }
    };
    // SAFETY: the result is a new reference, or none with an error set.
    unsafe { Bound::from_owned_ptr_or_err(callable.py(), returned(call)) }
}
