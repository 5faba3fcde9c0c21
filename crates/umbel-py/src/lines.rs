//! The records of a result.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::sync::MutexExt;
use umbel_io::{FileAt, PageReader};

use crate::prelude::*;

/// The lines of a result, or its records, in a temporary file that is gone when this object is. Iterating reads it from the start;
/// they are `str`, with bytes that are not UTF-8 as Python's ``surrogateescape`` makes them. A record of CSV may have several lines.
#[pyclass(frozen, weakref, module = "umbel")]
pub(crate) struct Lines {
    file: Arc<File>,
    separator: u8,
    in_quotes: bool,
    is_empty: bool,
    /// Their number, once they were counted.
    length: OnceLock<usize>,
    /// The job's report.
    #[pyo3(get)]
    report: Py<PyAny>,
}

impl Lines {
    /// From a file; `in_quotes`: records continue after a quoted separator; `is_empty`: only a header was found.
    pub(crate) fn new(
        file: File,
        separator: u8,
        in_quotes: bool,
        is_empty: bool,
        report: Py<PyAny>,
    ) -> Self {
        let (file, length) = (Arc::new(file), OnceLock::new());
        Self { file, separator, in_quotes, is_empty, length, report }
    }

    fn cursor(&self) -> Cursor {
        let bytes = FileFrom { file: Arc::clone(&self.file), offset: 0 };
        let bytes = PageReader::new(1 << 16, bytes);
        Cursor { bytes, separator: self.separator, in_quotes: self.in_quotes }
    }
}

#[pymethods]
impl Lines {
    fn __iter__(&self) -> LineIterator {
        LineIterator(Mutex::new(self.cursor()))
    }

    /// How many iterating gives: a header is one of them. They are counted once, in a pass over the file.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        if let Some(length) = self.length.get() {
            return Ok(*length);
        }
        let length = py.detach(|| {
            let (mut cursor, mut length) = (self.cursor(), 0);
            while cursor.next()?.is_some() {
                length += 1;
            }
            io::Result::Ok(length)
        })?;
        Ok(*self.length.get_or_init(|| length))
    }

    /// Whether anything was found, not counting a header.
    fn __bool__(&self) -> bool {
        !self.is_empty
    }

    /// At most this many bytes of the file from an offset on; empty at its end.
    fn _read<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        size: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = vec![0; size];
        let read = py.detach(|| self.file.read_at(&mut bytes, offset))?;
        Ok(PyBytes::new(py, &bytes[..read]))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Lines: {} found>", self.report.getattr(py, "found")?))
    }
}

#[pyclass(frozen, module = "umbel")]
pub(crate) struct LineIterator(Mutex<Cursor>);

struct Cursor {
    bytes: PageReader<FileFrom>,
    separator: u8,
    /// Whether a record continues after a separator in quotes.
    in_quotes: bool,
}

impl Cursor {
    /// The next record; `None` after the last.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let (mut line, mut read, mut open) = (Vec::new(), 0, false);
        loop {
            let more = self.bytes.read_until(self.separator, &mut line)?;
            let quotes = line[read..].iter().filter(|byte| **byte == b'"').count();
            open ^= self.in_quotes && quotes % 2 == 1;
            read += more;
            if more == 0 || !open {
                break;
            }
        }
        if line.last() == Some(&self.separator) {
            line.pop();
        }
        Ok((read > 0).then_some(line))
    }
}

/// A file read from an offset on, shared with other readers.
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
        // Release the lock first: while Python makes the line it may stop all threads, even one that waits for it.
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
