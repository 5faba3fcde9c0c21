//! Filters in files, at URLs and in bytes.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::PoisonError;

use anyhow::bail;
use umbel::{AnyFilter, FileError, Filter as _, MappedFile, Secret};
use umbel_foreign::recognized::{Recognized, other, perhaps, unknown};
use umbel_foreign::{Foreign, ForeignFilter, Format, Parameters};
use umbel_io::atomic::{self, Existing};
use umbel_io::{PageReader, wrapped};
use umbel_sets::journal::Notes;
use umbel_share::{FileKind, Trust};

use crate::errors::{of_file, of_files, of_wrapped, unsaved};
use crate::filter::Filter;
use crate::inner::{Inner, Other, not_for, of_inner};
use crate::origin::Origin;
use crate::prelude::*;
use crate::values::{self, Content, is_url, size};
use crate::{calls, kinds, sharing};

/// The bytes of its file.
pub(crate) fn to_bytes<'py>(
    filter: &Filter,
    py: Python<'py>,
    packed: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    if packed {
        let bytes =
            filter.inner.look(py, |inner| sharing::packed(&own_file(inner, "packed=True")?))?;
        return Ok(PyBytes::new(py, &bytes));
    }
    // A filter may grow before it is locked again.
    loop {
        let length = filter
            .inner
            .look(py, |inner| of_inner!(inner, own => Some(own.file_length()), _other => None));
        let Some(length) = length.and_then(|length| usize::try_from(length).ok()) else {
            let bytes = filter.inner.look(
                py,
                |inner| of_inner!(inner, own => Ok(own.to_bytes()), other => other.filter.encode()),
            );
            return Ok(PyBytes::new(py, &bytes.map_err(Failure::from)?));
        };
        let written = calls::bytes_of(py, length, |out| {
            filter
                .inner
                .look(py, |inner| of_inner!(inner, own => own.write(out).is_ok(), _other => false))
        })?;
        if let Some(bytes) = written {
            return Ok(bytes);
        }
    }
}

/// Its file, if it is a filter of umbel.
pub(crate) fn own_file(inner: &Inner, what: &str) -> Result<Vec<u8>, Failure> {
    of_inner!(inner, own => Ok(own.to_bytes()), other => Err(not_for(other, what)))
}

/// Refuses to replace a secret, and a filter or an index by a text.
pub(crate) fn check_replaced(path: &Path, by_text: bool) -> anyhow::Result<()> {
    let mut start = Vec::new();
    // A pipe is not read.
    if path.is_file()
        && let Ok(file) = File::open(path)
    {
        file.take(FileKind::BYTES as u64).read_to_end(&mut start)?;
    }
    let what = match FileKind::of(&start) {
        Some(FileKind::Secret) => "a secret",
        Some(FileKind::Filter | FileKind::Packed | FileKind::Delta) if by_text => "a filter",
        None if by_text && start.starts_with(&umbel_find::MAGIC) => "an index",
        _ => return Ok(()),
    };
    bail!("{}: is {what}, which would be lost; name another file, or remove it", path.display())
}

/// Writes its file.
pub(crate) fn save(filter: &Filter, path: &Bound<'_, PyAny>, packed: bool) -> PyResult<()> {
    let py = path.py();
    if is_url(path) {
        let bytes = to_bytes(filter, py, packed)?;
        return remote("write", &(path, bytes).into_pyobject(py)?).map(drop);
    }
    let path: FilePath = path.extract()?;
    let written = filter.inner.look(py, |inner| {
        let packed =
            packed.then(|| sharing::packed(&own_file(inner, "packed=True")?)).transpose()?;
        // Without the GIL: two threads may save one filter.
        let mut origin = filter.origin.lock().unwrap_or_else(PoisonError::into_inner);
        let mut origin = origin.as_mut().filter(|origin| origin.is_at(&path.0));
        let written = origin.as_ref().map_or(Ok(None), |origin| origin.claim(&path.0));
        let written = written.and_then(|_lock| {
            check_replaced(&path.0, false)?;
            let file = atomic::write(&path.0, Existing::Replace, |out| match &packed {
                Some(packed) => Ok(out.write_all(packed)?),
                None => write(inner, out),
            })?;
            origin.as_mut().map_or(Ok(()), |origin| origin.saved(&file))
        });
        Ok::<_, Failure>(written)
    });
    written?.map_err(|error| of_files(error, &path.name()))
}

/// Writes the file of a filter.
pub(crate) fn write(inner: &Inner, out: &mut dyn io::Write) -> anyhow::Result<()> {
    of_inner!(inner, own => Ok(own.write(out)?), other => Ok(other.filter.write_to(out)?))
}

/// The filter in bytes: umbel's, which may be packed or signed, or another system's if a format is named. With ``trust``, the file
/// of a public key, the bytes must be signed by its owner; ``list``, ``newer_than`` and ``memory`` are as in :func:`open`.
#[pyfunction]
#[pyo3(signature = (data, format=None, key_type=None, *, secret=None, trust=None, list=None, newer_than=None, memory=None))]
pub(crate) fn from_bytes<'py>(
    py: Python<'py>,
    data: Content<'_>,
    format: Option<&str>,
    key_type: Option<&str>,
    secret: Option<Content<'_>>,
    trust: Option<FilePath>,
    list: Option<String>,
    newer_than: Option<u64>,
    memory: Option<Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let secret = values::secret(secret)?;
    let (trust, most) = checks(trust, list, newer_than, memory)?;
    let kinds_of = kinds_of(format, key_type)?;
    let data = data.bytes();
    let inner = py.detach(|| {
        decode(&sharing::unwrapped(data, trust.as_ref(), most)?, kinds_of, secret.as_ref())
    })?;
    kinds::wrap(py, inner)
}

/// Opens the filter in a file: umbel's, or another system's, whose format is recognized or named by ``format``.
///
/// With ``mmap=True`` an umbel file is queried in place: processes that map the same file share its memory. While it is mapped, no
/// program may write to the file or shorten it; replacing it by another, as `save` does, is fine. The file is checked in either
/// case, byte for byte. Lines that an interrupted ``umbel unseen`` recorded next to the file are applied, but such a file cannot
/// be mapped. A keyed filter needs its ``secret`` of 16 bytes.
///
/// With ``shared=True`` it is a :class:`SharedFile`: processes add to the file at the same time, and see what others add.
/// Blocked, classic and sliced filters can be opened so. Opening waits while others have the file locked to replace it, and they
/// wait until all have closed it. Meanwhile no program may shorten the file, write to it in another way, or have it open with
/// ``mmap=True``.
///
/// A packed file is unpacked into a temporary file first. With ``trust``, the file of a public key, a file is refused unless
/// the owner of that key signed it; with ``list``, unless it is signed under this list name; with ``newer_than``, unless its serial
/// number is higher. Without a checked signature, a packed file may unpack to at most ``memory`` bytes, a number or text such as
/// ``"4GiB"`` (1 GiB by default).
#[pyfunction]
#[pyo3(signature = (path, *, mmap=false, shared=false, secret=None, format=None, key_type=None, trust=None, list=None, newer_than=None, memory=None))]
pub(crate) fn open<'py>(
    py: Python<'py>,
    path: &Bound<'_, PyAny>,
    mmap: bool,
    shared: bool,
    secret: Option<Content<'_>>,
    format: Option<&str>,
    key_type: Option<&str>,
    trust: Option<FilePath>,
    list: Option<String>,
    newer_than: Option<u64>,
    memory: Option<Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let secret = values::secret(secret)?;
    let (trust, most) = checks(trust, list, newer_than, memory)?;
    let kinds_of = kinds_of(format, key_type)?;
    if is_url(path) && (mmap || shared) {
        return Err(PyValueError::new_err(format!("{path}: only a local file can be mapped")));
    }
    if shared && (mmap || trust.is_some() || kinds_of != (None, None)) {
        return Err(PyTypeError::new_err(
            "shared: secret is the only other option allowed; omit mmap, trust, format and key_type",
        ));
    }
    if shared {
        return crate::shared::open(py, path.extract()?, secret);
    }
    if is_url(path) {
        let data = remote("read", &(path,).into_pyobject(py)?)?;
        let data = data.cast_into::<PyBytes>()?;
        let data = data.as_bytes();
        let inner = py.detach(|| {
            sharing::unwrapped(data, trust.as_ref(), most)
                .and_then(|data| decode(&data, kinds_of, secret.as_ref()))
        });
        return kinds::wrap(py, inner.map_err(|error| error.about(&path.to_string()))?);
    }
    let path: FilePath = path.extract()?;
    let (name, path) = (path.name(), path.0);
    let work = || -> PyResult<(Inner, Option<Origin>)> {
        let io = |error: io::Error| of_file(&error, &name);
        let about = |error: Failure| PyErr::from(error.about(&name));
        let wrong = |error| of_wrapped(error, &name);
        let notes = match &trust {
            Some(_) => Notes::refuse(&path).map(|()| None),
            None => Notes::of(&path),
        };
        let notes = notes.map_err(|error| of_files(error, &name))?;
        let file = File::open(&path).map_err(io)?;
        let origin = Origin::of(&path, &file).map_err(io)?;
        if file.metadata().map_err(io)?.is_dir() {
            return Err(of_file(&io::Error::from_raw_os_error(21), &name));
        }
        let tmp = umbel_io::temporary_folder();
        let (file, wrapping) =
            wrapped::unwrap(file, &path, &tmp, trust.as_ref(), most).map_err(wrong)?;
        let length = file.metadata().map_err(io)?.len();
        let signature = wrapped::signature(&file, &path, None).map_err(wrong)?;
        let length = signature.map_or(length, |signature| signature.length());
        if mmap {
            if format.is_some() {
                return Err(PyValueError::new_err(format!(
                    "{name}: only umbel's own filters can be mapped"
                )));
            }
            if wrapping.packed.is_some() || wrapping.signature.is_some() {
                return Err(PyValueError::new_err(format!(
                    "{name}: a packed or signed file cannot be mapped; open it without mmap"
                )));
            }
            if notes.is_some() {
                return Err(unsaved(&path, "mmap"));
            }
            // SAFETY: the documentation demands it.
            #[allow(unsafe_code)]
            let mapped = unsafe { MappedFile::map(&file) }.map_err(io)?;
            let filter = AnyFilter::map_with(&mapped, secret.as_ref());
            let filter = filter.map_err(|error| about(error.into()))?;
            return Ok((own(Inner::Mapped(filter), kinds_of).map_err(about)?, origin));
        }
        Ok((read(&file, length, &name, notes.as_ref(), kinds_of, secret.as_ref())?, origin))
    };
    let (inner, origin) = py.detach(work)?;
    wrap(py, inner, origin)
}

/// The Python object of a filter, which remembers its file.
pub(crate) fn wrap(
    py: Python<'_>,
    inner: Inner,
    origin: Option<Origin>,
) -> PyResult<Bound<'_, PyAny>> {
    let made = kinds::wrap(py, inner)?;
    *made.cast::<Filter>()?.get().origin.lock().unwrap_or_else(PoisonError::into_inner) = origin;
    Ok(made)
}

/// The filter in the first `length` bytes of a file, and the lines that an interrupted run noted.
pub(crate) fn read(
    mut file: &File,
    length: u64,
    name: &str,
    notes: Option<&Notes>,
    kinds_of: (Option<Format>, Option<KeyType>),
    secret: Option<&Secret>,
) -> PyResult<Inner> {
    let io = |error: io::Error| of_file(&error, name);
    let about = |error: Failure| PyErr::from(error.about(name));
    if kinds_of.0.is_none() {
        let source = PageReader::new(1 << 16, file).take(length);
        match AnyFilter::read_with(source, length, secret) {
            Ok(mut filter) => {
                let taken = notes.map_or(Ok(()), |notes| notes.take_in(&mut filter, file));
                taken.map_err(|error| of_files(error, name))?;
                return own(Inner::Own(filter), kinds_of).map_err(about);
            }
            Err(FileError::NotUmbel(..)) => {}
            Err(error) => return Err(about(error.into())),
        }
        file.rewind().map_err(io)?;
    }
    let mut content = Vec::new();
    file.take(length).read_to_end(&mut content).map_err(io)?;
    decode(&content, kinds_of, secret).map_err(about)
}

/// Calls a function of the module for files at URLs.
pub(crate) fn remote<'py>(
    name: &str,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let module = arguments.py().import("umbel._remote")?;
    calls::call_method(&module, name, arguments, None)
}

/// Whom to trust, and the most bytes that a packed file or a delta may make.
pub(crate) fn checks(
    trust: Option<FilePath>,
    list: Option<String>,
    newer_than: Option<u64>,
    memory: Option<Bound<'_, PyAny>>,
) -> PyResult<(Option<Trust>, u64)> {
    let trust = sharing::trusted(trust, list, newer_than)?;
    let most = memory.map_or(Ok(sharing::MOST), |memory| size(&memory, "memory"))?;
    Ok((trust, most))
}

/// The format and the type of keys that are named.
pub(crate) fn kinds_of(
    format: Option<&str>,
    key_type: Option<&str>,
) -> PyResult<(Option<Format>, Option<KeyType>)> {
    let format = format.filter(|format| *format != "umbel").map(str::parse::<Format>).transpose();
    let key_type = key_type.map(str::parse::<KeyType>).transpose();
    Ok((format.map_err(Failure::from)?, key_type.map_err(Failure::from)?))
}

/// A filter of umbel, for which no type of keys may be named.
fn own(filter: Inner, (_, key_type): (Option<Format>, Option<KeyType>)) -> Result<Inner, Failure> {
    match key_type {
        None => Ok(filter),
        Some(_) => Err(Failure::Value(
            "this is an umbel filter, whose keys have no type; omit key_type".to_owned(),
        )),
    }
}

pub(crate) fn decode(
    data: &[u8],
    (format, key_type): (Option<Format>, Option<KeyType>),
    secret: Option<&Secret>,
) -> Result<Inner, Failure> {
    let foreign = |format| {
        let content = umbel_foreign::Bytes::copy_of(data, 0)?;
        let filter = Foreign::decode_with(format, content, &Parameters::default())?;
        Ok(Inner::Foreign(Other { filter, key_type }))
    };
    if let Some(format) = format {
        return foreign(format);
    }
    let refused = match AnyFilter::from_bytes_with(data, secret) {
        Ok(filter) => return own(Inner::Own(filter), (format, key_type)),
        Err(error @ FileError::NotUmbel(..)) => error,
        Err(error) => return Err(error.into()),
    };
    Err(Failure::Value(match Recognized::of(data) {
        Recognized::One(format) => return foreign(format),
        Recognized::Perhaps(formats) => perhaps(refused, &formats),
        Recognized::Other(content) => other(refused, content),
        Recognized::Unknown => unknown(refused),
    }))
}
