//! Which Python exception an error becomes: a wrong value is a `ValueError`, a wrong type a `TypeError`, a problem with
//! a file an `OSError`, and lack of memory a `MemoryError`. The messages are the other crates' own.

use std::io;
use std::path::Path;

use pyo3::exceptions::{PyMemoryError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// An error on its way to Python.
#[derive(Debug)]
pub(crate) enum Failure {
    Value(String),
    Type(String),
    Memory(String),
    Io(io::Error),
    Python(PyErr),
}

impl Failure {
    /// The same about the file of this name.
    pub(crate) fn about(self, name: &str) -> Self {
        match self {
            Self::Value(text) => Self::Value(format!("{name}: {text}")),
            Self::Memory(text) => Self::Memory(format!("{name}: {text}")),
            Self::Io(error) => Self::Python(of_file(&error, name)),
            other => other,
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Value(text) => PyValueError::new_err(text),
            Failure::Type(text) => PyTypeError::new_err(text),
            Failure::Memory(text) => PyMemoryError::new_err(text),
            Failure::Io(error) => error.into(),
            Failure::Python(error) => error,
        }
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<umbel::OutOfMemory> for Failure {
    fn from(error: umbel::OutOfMemory) -> Self {
        Self::Memory(error.to_string())
    }
}

impl From<umbel::Error> for Failure {
    fn from(error: umbel::Error) -> Self {
        use umbel::{BuildError, Error, FileError, MergeError, PlanError};
        match error {
            Error::Io(error) | Error::File(FileError::Io(error)) => Self::Io(error),
            error @ (Error::OutOfMemory(_)
            | Error::Plan(PlanError::OutOfMemory(_))
            | Error::Build(BuildError::Plan(PlanError::OutOfMemory(_)))
            | Error::File(FileError::OutOfMemory(_))
            | Error::Merge(MergeError::OutOfMemory(_))) => Self::Memory(error.to_string()),
            error => Self::Value(error.to_string()),
        }
    }
}

impl From<umbel_foreign::Error> for Failure {
    fn from(error: umbel_foreign::Error) -> Self {
        match error {
            umbel_foreign::Error::Io(error) => Self::Io(error),
            error @ umbel_foreign::Error::OutOfMemory { .. } => Self::Memory(error.to_string()),
            error => Self::Value(error.to_string()),
        }
    }
}

impl From<umbel_share::ShareError> for Failure {
    fn from(error: umbel_share::ShareError) -> Self {
        match error {
            umbel_share::ShareError::Io(error) => Self::Io(error),
            error => Self::Value(error.to_string()),
        }
    }
}

impl From<umbel_report::advice::Error> for Failure {
    fn from(error: umbel_report::advice::Error) -> Self {
        Self::Value(error.to_string())
    }
}

/// Errors of one part of the library.
macro_rules! parts {
    ($($error:ident),*) => {$(
        impl From<umbel::$error> for Failure {
            fn from(error: umbel::$error) -> Self {
                umbel::Error::from(error).into()
            }
        }
    )*};
}

parts! { PlanError, InsertError, BuildError, RowError, MergeError, FileError, SchemeError, FieldError }

/// The error of a file that the system did not open or write, as Python's own `open` raises it: with the path, and with
/// the class for its number, such as `FileNotFoundError`.
pub(crate) fn of_file(error: &io::Error, path: &str) -> PyErr {
    match number(error) {
        Some(number) => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            // Python adds the path.
            let text = text.strip_prefix(&format!("{path}: ")).unwrap_or(text).to_owned();
            PyOSError::new_err((number, text, path.to_owned()))
        }
        None => PyOSError::new_err(format!("{path}: {error}")),
    }
}

/// The system's number of an error; for an error that a library worded itself, the number for its kind.
pub(crate) fn number(error: &io::Error) -> Option<i32> {
    use io::ErrorKind as K;
    error.raw_os_error().or(match error.kind() {
        K::NotFound => Some(2),
        K::PermissionDenied => Some(13),
        K::AlreadyExists => Some(17),
        K::NotADirectory => Some(20),
        K::IsADirectory => Some(21),
        K::StorageFull => Some(28),
        K::ReadOnlyFilesystem => Some(30),
        _ => None,
    })
}

/// The error of a packed or signed file: what is wrong with it, or a system error.
pub(crate) fn of_wrapped(error: anyhow::Error, path: &str) -> PyErr {
    let damaged = |error: &io::Error| error.kind() == io::ErrorKind::InvalidData;
    let wrong = error.downcast_ref::<umbel_share::ShareError>().is_some()
        || error.downcast_ref::<io::Error>().is_none_or(damaged);
    match wrong {
        true => PyValueError::new_err(format!("{error:#}")),
        false => of_files(error, path),
    }
}

/// The error of a file that was not written.
pub(crate) fn of_files(error: anyhow::Error, path: &str) -> PyErr {
    match error.downcast_ref::<io::Error>() {
        Some(io) => of_file(io, path),
        None => PyOSError::new_err(format!("{error:#}")),
    }
}

/// The error of a file that is opened with an option, although an interrupted run noted lines next to it.
pub(crate) fn unsaved(path: &Path, option: &str) -> PyErr {
    PyValueError::new_err(format!(
        "{0}: {1} has lines that umbel unseen recorded since the filter was saved; open it without {option}, or save \
         them with umbel unseen {0} </dev/null",
        path.display(),
        umbel_sets::journal::path_of(path).display()
    ))
}
