//! The lines of a result.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyString};
use umbel_sets::PageReader;
use umbel_system::FileAt;

/// The lines of a result, in a temporary file that is gone when this object is. Iterating reads it from the start; lines
/// are `str`, with bytes that are not UTF-8 as Python's ``surrogateescape`` makes them.
#[pyclass(frozen, weakref, module = "umbel")]
pub(crate) struct Lines {
    file: Arc<File>,
    separator: u8,
    found: u64,
    /// What the job did.
    #[pyo3(get)]
    report: Py<PyAny>,
}

impl Lines {
    pub(crate) fn new(file: File, separator: u8, found: u64, report: Py<PyAny>) -> Self {
        Self { file: Arc::new(file), separator, found, report }
    }
}

#[pymethods]
impl Lines {
    fn __iter__(&self) -> LineIterator {
        let bytes = FileFrom { file: Arc::clone(&self.file), offset: 0 };
        let (bytes, separator) = (PageReader::new(1 << 16, bytes), self.separator);
        LineIterator(Mutex::new(Cursor { bytes, separator }))
    }

    /// The number of lines.
    fn __len__(&self) -> usize {
        self.found as usize
    }

    fn __bool__(&self) -> bool {
        self.found > 0
    }

    fn __repr__(&self) -> String {
        format!("<Lines: {} found>", self.found)
    }
}

#[pyclass(frozen, module = "umbel")]
pub(crate) struct LineIterator(Mutex<Cursor>);

struct Cursor {
    bytes: PageReader<FileFrom>,
    separator: u8,
}

impl Cursor {
    /// The next line; none after the last.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let read = self.bytes.read_until(self.separator, &mut line)?;
        if line.last() == Some(&self.separator) {
            line.pop();
        }
        Ok((read > 0).then_some(line))
    }
}

/// A file from an offset on, which others read too.
struct FileFrom {
    file: Arc<File>,
    offset: u64,
}

impl Read for FileFrom {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

#[pymethods]
impl LineIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // Python makes the line when the lock is free: it may stop all threads meanwhile, also one that waits for it.
        let line = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).next()?;
        let Some(line) = line else { return Ok(None) };
        match std::str::from_utf8(&line) {
            Ok(text) => Ok(Some(PyString::new(py, text).into_any())),
            Err(_) => {
                let bytes = PyBytes::new(py, &line);
                bytes.call_method1("decode", ("utf-8", "surrogateescape")).map(Some)
            }
        }
    }
}
