//! Arguments that many functions take: numbers of keys, sizes, secrets, paths and names.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString};
use umbel::{KeyHasher, Secret};
use umbel_numbers::Size;

/// A number of keys: an int, or a float such as 1e8 that is whole.
pub(crate) fn count(value: &Bound<'_, PyAny>, name: &str) -> PyResult<u64> {
    let refused = || {
        PyValueError::new_err(format!(
            "{name}: expected a whole number of at least 1, found {value}"
        ))
    };
    if value.is_instance_of::<PyInt>() {
        return value.extract::<u64>().ok().filter(|&keys| keys > 0).ok_or_else(refused);
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        let float = float.value();
        let whole = (1.0..1.8e19).contains(&float) && float.fract() == 0.0;
        return whole.then_some(float as u64).ok_or_else(refused);
    }
    match value.extract::<u64>() {
        Ok(keys) if keys > 0 => Ok(keys),
        Ok(_) => Err(refused()),
        Err(_) => Err(PyTypeError::new_err(format!(
            "{name}: expected an int, found {}; to build a filter of keys, create it for their number and add them",
            value.get_type().name()?
        ))),
    }
}

/// A number of threads.
pub(crate) struct Threads(pub(crate) NonZeroUsize);

impl FromPyObject<'_, '_> for Threads {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        // A type that is not an int gets its own error.
        let found = value.extract::<i64>()?;
        let threads = usize::try_from(found).ok().and_then(NonZeroUsize::new).ok_or_else(|| {
            PyValueError::new_err(format!(
                "threads: expected at least 1, found {found}; leave it out for all processors"
            ))
        });
        threads.map(Self)
    }
}

/// A size in bytes: an int, or text such as "64MiB".
pub(crate) fn size(value: &Bound<'_, PyAny>, name: &str) -> PyResult<u64> {
    match value.cast::<PyString>() {
        Ok(text) => {
            let bytes = text.to_str()?.parse::<Size>();
            Ok(bytes.map_err(|error| PyValueError::new_err(format!("{name}: {error}")))?.0)
        }
        Err(_) => count(value, name),
    }
}

/// A number that may be left out.
pub(crate) type Number<'py> = Option<Bound<'py, PyAny>>;

/// The error of a word that is not one of those expected.
pub(crate) fn choice(name: &str, expected: &str, found: &str) -> PyErr {
    PyValueError::new_err(format!("{name}: expected {expected}, found {found}"))
}

/// The secret in bytes: 16 of them, or the content of a file of umbel filter key.
pub(crate) fn secret(secret: Option<Content<'_>>) -> PyResult<Option<Secret>> {
    let Some(content) = &secret else { return Ok(None) };
    let secret = Secret::from_file(content.bytes());
    secret.map(Some).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The hasher with a seed, or a secret.
pub(crate) fn hasher(seed: u64, secret: Option<Content<'_>>) -> PyResult<KeyHasher> {
    match self::secret(secret)? {
        Some(_) if seed != 0 => {
            Err(PyValueError::new_err("seed and secret: a keyed filter has no seed; leave one out"))
        }
        Some(secret) => Ok(KeyHasher::keyed(secret)),
        None => Ok(KeyHasher::with_seed(seed)),
    }
}

/// A path: ``str``, ``bytes`` or an object with ``__fspath__``.
pub(crate) struct FilePath(pub(crate) PathBuf);

impl FromPyObject<'_, '_> for FilePath {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let path = value.py().import("os")?.call_method1("fsdecode", (value,))?;
        Ok(Self(path.extract::<OsString>()?.into()))
    }
}

impl FilePath {
    /// The same file, wherever the process goes: for one that is opened again, or replaced, later.
    pub(crate) fn absolute(self) -> Self {
        Self(std::path::absolute(&self.0).unwrap_or(self.0))
    }

    /// Its text for messages.
    pub(crate) fn name(&self) -> String {
        self.0.display().to_string()
    }
}

impl AsRef<Path> for FilePath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// Names: several, or a single ``str``.
#[derive(Default)]
pub(crate) struct Names(pub(crate) Vec<String>);

impl FromPyObject<'_, '_> for Names {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(name) = value.cast::<PyString>() {
            return Ok(Self(vec![name.to_string()]));
        }
        value.extract().map(Self).map_err(|_| {
            PyTypeError::new_err(format!(
                "expected a name, or a list of names that are str, found {}",
                value.repr().map_or_else(|_| "something else".to_owned(), |text| text.to_string())
            ))
        })
    }
}

/// Refuses to pickle an object keyed by a secret.
pub(crate) fn check_unkeyed(hasher: &KeyHasher, what: &str) -> PyResult<()> {
    match hasher.scheme().key_id {
        0 => Ok(()),
        _ => Err(PyValueError::new_err(format!(
            "{what} keyed by a secret cannot be pickled, because it is useless without the secret; make or open it where it is \
             used, with the secret"
        ))),
    }
}

/// Whether it is a URL rather than a path.
pub(crate) fn is_url(path: &Bound<'_, PyAny>) -> bool {
    path.cast::<PyString>().is_ok_and(|text| text.to_str().is_ok_and(|text| text.contains("://")))
}

/// The name of a value's type, for a message.
pub(crate) fn name_of(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "this".to_owned(), |name| name.to_string())
}

/// The bytes of ``bytes``, ``bytearray``, ``memoryview`` and other buffers. Those of ``bytes`` are not copied.
pub(crate) enum Content<'py> {
    Bytes(Bound<'py, PyBytes>),
    Copied(Vec<u8>),
}

impl<'py> FromPyObject<'_, 'py> for Content<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.to_owned()));
        }
        let buffer = PyBuffer::<u8>::get(&value.to_owned()).map_err(|_| {
            PyTypeError::new_err(format!("expected bytes, found {}", name_of(&value)))
        })?;
        Ok(Self::Copied(buffer.to_vec(value.py())?))
    }
}

impl Content<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes.as_bytes(),
            Self::Copied(bytes) => bytes,
        }
    }
}
