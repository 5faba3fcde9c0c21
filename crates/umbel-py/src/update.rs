//! A filter's file that several processes change, one after the other.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use pyo3::exceptions::PyRuntimeError;
use umbel::Secret;
use umbel_foreign::Format;
use umbel_io::atomic::{self, Existing};
use umbel_io::wrapped;
use umbel_sets::journal::Notes;

use crate::errors::{of_file, of_files};
use crate::files;
use crate::filter::Filter;
use crate::fork;
use crate::origin::Origin;
use crate::prelude::*;
use crate::values::{self, Content, is_url};

/// Opens the filter in a file to change it, and saves it at the end of the ``with`` block, unless an exception ends the block.
///
/// Meanwhile the file is locked, as by ``umbel filter add``: others that change it through the command line or this function
/// wait, so nothing that they add is lost. Readers do not wait; they see the old file until the new one takes its place,
/// which appears whole or not at all. A process that is killed leaves the file as it was, and its lock is gone.
///
/// ``secret``, ``format`` and ``key_type`` are as in :func:`open`. A nested block for the same file would wait for ever.
/// Packed and signed files are refused.
///
/// ::
///
///     with umbel.update("visited.umbel") as visited:
///         visited.update(["ann", "bob"])
#[pyclass(frozen, name = "update", module = "umbel")]
pub(crate) struct Update {
    path: FilePath,
    secret: Option<Secret>,
    kinds_of: (Option<Format>, Option<KeyType>),
    entered: Mutex<Option<Entered>>,
}

struct Entered {
    filter: Py<Filter>,
    notes: Option<Notes>,
    claim: Claim,
}

/// A locked file. A child of a fork has it open as well, so closing it would not unlock it; and the child does not unlock it.
struct Claim {
    file: File,
    process: u32,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.process == process::id() {
            // Where this fails, closing does it.
            _ = self.file.unlock();
        }
    }
}

#[pymethods]
impl Update {
    #[new]
    #[pyo3(signature = (path, *, secret=None, format=None, key_type=None))]
    fn new(
        path: &Bound<'_, PyAny>,
        secret: Option<Content<'_>>,
        format: Option<&str>,
        key_type: Option<&str>,
    ) -> PyResult<Self> {
        if is_url(path) {
            return Err(PyValueError::new_err(format!("{path}: only a local file can be updated")));
        }
        Ok(Self {
            path: path.extract::<FilePath>()?.absolute(),
            secret: values::secret(secret)?,
            kinds_of: files::kinds_of(format, key_type)?,
            entered: Mutex::default(),
        })
    }

    fn __enter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let claim = py.detach(|| self.claim())?;
        let (inner, origin, notes) = fork::detached(py, || {
            let (file, path, name) = (&claim.file, &self.path.0, self.path.name());
            let failed = |error| of_files(error, &name);
            let io = |error: io::Error| of_file(&error, &name);
            wrapped::seal(file, path).map_err(failed)?;
            wrapped::check_changeable(file, path, false).map_err(failed)?;
            let notes = Notes::of(path).map_err(failed)?;
            let origin = Origin::of(path, file).map_err(io)?;
            let length = file.metadata().map_err(io)?.len();
            let secret = self.secret.as_ref();
            let inner = files::read(file, length, &name, notes.as_ref(), self.kinds_of, secret)?;
            Ok::<_, PyErr>((inner, origin, notes))
        })?;
        let made = files::wrap(py, inner, origin)?;
        let filter = made.cast::<Filter>()?.clone().unbind();
        *self.entered() = Some(Entered { filter, notes, claim });
        Ok(made)
    }

    #[pyo3(signature = (exc_type, exc, traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        exc_type: &Bound<'_, PyAny>,
        exc: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        _ = (exc, traceback);
        let entered = self.entered().take();
        let Some(Entered { filter, notes, claim }) = entered.filter(|_| exc_type.is_none()) else {
            return Ok(());
        };
        if claim.process != process::id() {
            return Err(PyRuntimeError::new_err(format!(
                "{}: this process was forked inside of umbel.update, and only its parent saves the file; end it there, for example with os._exit",
                self.path.name()
            )));
        }
        let (filter, path) = (filter.get(), &self.path.0);
        let saved = filter.inner.look(py, |inner| {
            let record = |file: &File| notes.map_or(Ok(()), |notes| notes.saved(file));
            let write = |out: &mut (dyn io::Write + Send)| files::write(inner, out);
            let file = atomic::write_checked(path, Existing::Replace, write, record)?;
            let mut origin = filter.origin.lock().unwrap_or_else(PoisonError::into_inner);
            origin.as_mut().map_or(Ok(()), |origin| origin.saved(&file))
        });
        saved.map_err(|error| of_files(error, &self.path.name()))
    }
}

impl Update {
    fn entered(&self) -> MutexGuard<'_, Option<Entered>> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the file. Ctrl-C ends the wait for another process.
    fn claim(&self) -> PyResult<Claim> {
        let name = self.path.name();
        let open = || File::open(&self.path.0).with_context(|| name.clone());
        let mut stopped = None;
        let mut wait = |file: &File| loop {
            match umbel_io::lock(file) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {
                    if let Err(signal) = Python::attach(|py| py.check_signals()) {
                        stopped = Some(signal);
                        return Err(error);
                    }
                }
                locked => return locked,
            }
        };
        let locked = open().and_then(|file| atomic::lock(file, &self.path.0, &open, &mut wait));
        match locked {
            Ok(file) => Ok(Claim { file, process: process::id() }),
            Err(error) => Err(stopped.unwrap_or_else(|| of_files(error, &name))),
        }
    }
}
