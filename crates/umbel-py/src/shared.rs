//! A filter in a file that processes insert into at the same time.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pyo3::exceptions::PyOSError;
use umbel::{FileError, Secret, SharedFile, WritableFile};
use umbel_io::{State, wrapped};
use umbel_sets::journal::Notes;

use crate::errors::{of_file, of_files, unsaved};
use crate::filter::Filter;
use crate::inner::{Inner, OpenFile, Operation};
use crate::prelude::*;
use crate::{columns, fork, kinds};

/// A filter in a file that processes add to and query at the same time, see :func:`open` with ``shared=True``.
///
/// Each process immediately sees the keys that others add. While a process has the file open so, it has no checksums, and
/// opening it in any other way fails; the last process to close it writes them. :meth:`close` closes it, and so does the end
/// of a ``with`` block or of the object. If the last process was killed, open the file again with ``shared=True`` and close
/// it, or run ``umbel filter add``.
#[pyclass(frozen, weakref, name = "SharedFile", module = "umbel")]
pub(crate) struct Shared {
    path: FilePath,
    secret: Option<Secret>,
    /// Its filter is [`Inner::Shared`].
    filter: Filter,
    /// Which process has it open, by its number of forks.
    forks: AtomicUsize,
}

/// Opens a file for shared use.
pub(crate) fn open<'py>(
    py: Python<'py>,
    path: FilePath,
    secret: Option<Secret>,
) -> PyResult<Bound<'py, PyAny>> {
    let path = path.absolute();
    let opened = opened(py, &path, secret.as_ref())?;
    let (filter, forks) = (Filter::new(Inner::Shared(opened)), AtomicUsize::new(fork::forks()));
    Ok(Bound::new(py, Shared { path, secret, filter, forks })?.into_any())
}

fn opened(py: Python<'_>, path: &FilePath, secret: Option<&Secret>) -> PyResult<OpenFile> {
    let (name, path) = (path.name(), &path.0);
    let failed = |error| of_files(error, &name);
    let io = |error: io::Error| of_file(&error, &name);
    loop {
        let open = || {
            let file = OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
            wrapped::check_changeable(&file, path, false).map_err(failed)?;
            if Notes::of(path).map_err(failed)?.is_some() {
                return Err(unsaved(path, "shared"));
            }
            let id = State::of(&file).map_err(io)?.id;
            // SAFETY: the documentation demands it.
            #[allow(unsafe_code)]
            let mapped = unsafe { WritableFile::map(file) }.map_err(io)?;
            match SharedFile::open_with(mapped, secret) {
                // While we waited the file may have been replaced by a newer one.
                Ok(file) => {
                    let named = State::at(path).map_err(io)?.id;
                    Ok((id == named).then_some(OpenFile { file: Some(file), id }))
                }
                Err(FileError::Io(error)) if error.kind() == ErrorKind::Interrupted => Ok(None),
                Err(error) => Err(PyErr::from(Failure::from(error).about(&name))),
            }
        };
        if let Some(opened) = py.detach(open)? {
            return Ok(opened);
        }
        py.check_signals()?;
    }
}

impl Shared {
    /// Its filter. A child of a fork opens the file for itself.
    fn filter(&self, py: Python<'_>) -> PyResult<&Filter> {
        let now = fork::forks();
        if self.forks.load(Relaxed) != now {
            let closed =
                matches!(&*self.filter.inner.read(py), Inner::Shared(open) if open.file.is_none());
            if !closed {
                let opened = opened(py, &self.path, self.secret.as_ref())?;
                *self.filter.inner.write(py) = Inner::Shared(opened);
            }
            self.forks.store(now, Relaxed);
        }
        Ok(&self.filter)
    }

    /// Does something with the open file, without the GIL.
    fn look<T: Send, E: Into<Failure>>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&SharedFile) -> Result<T, E> + Send,
    ) -> PyResult<T> {
        let found = self.filter(py)?.inner.look(py, |inner| match inner {
            Inner::Shared(open) => work(open.file()?).map_err(Into::into),
            _ => unreachable!("it is shared"),
        });
        Ok(found.map_err(|error| error.about(&self.path.name()))?)
    }
}

#[pymethods]
impl Shared {
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.filter(key.py())?.contains_any(key)
    }

    /// Looks up many keys, as :meth:`Filter.contains_many`.
    #[pyo3(signature = (keys, *, threads=None))]
    fn contains_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let threads = columns::threads(threads).get();
        self.filter(keys.py())?.answer(keys, Operation::Contains, threads)
    }

    /// Adds a key. Returns True when it was certainly not there before; of several that add a new one at the same time,
    /// each may get True.
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.filter(key.py())?.add_any(key)
    }

    /// Adds many keys in their order. Returns a boolean column: for each key the answer of :meth:`add`.
    fn add_new<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.filter(keys.py())?.answer(keys, Operation::Add, 1)
    }

    /// Adds the keys of columns and other iterables.
    #[pyo3(signature = (*others))]
    fn update(&self, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        let filter = self.filter(others.py())?;
        others.iter().try_for_each(|keys| filter.add_all(&keys, None))
    }

    /// A copy in memory of the filter as it is now, with all that a filter can do.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        kinds::wrap(py, Inner::Own(self.look(py, SharedFile::snapshot)?))
    }

    /// Returns when all additions are on disk and would survive a power failure. Additions of a process that is killed
    /// survive in any case.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.look(py, SharedFile::sync)
    }

    /// Closes the file, if it is open. The last process to close it writes its checksums; True if this was the last.
    fn close(&self, py: Python<'_>) -> PyResult<bool> {
        // A child of a fork that never used it has nothing to close.
        let forked = self.forks.load(Relaxed) != fork::forks();
        let name = self.path.name();
        self.filter.inner.change(py, |inner| {
            let Inner::Shared(open) = inner else { unreachable!("it is shared") };
            let Some(file) = open.file.take() else { return Ok(false) };
            let sealed = file.seal().map_err(|error| Failure::from(error).about(&name))?;
            let named = State::at(&self.path.0).map_err(|error| of_file(&error, &name))?;
            match forked || named.id == open.id {
                true => Ok(sealed),
                false => Err(PyOSError::new_err(format!(
                    "{name}: was replaced while it was in shared use; keys added since are not in the new file"
                ))),
            }
        })
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py).map(drop)
    }

    fn __repr__(&self) -> String {
        format!("<SharedFile: {}>", self.path.name())
    }
}
