//! Which Python values are keys, and what their bytes are: `str` its UTF-8, `bytes` as they are, `int` 8 little-endian bytes.
//!
//! Python's own `hash()` differs from run to run, so it is never used.

#![allow(unsafe_code)] // Two Python functions that are called for every key.

use std::borrow::Cow;

use pyo3::buffer::PyBuffer;
use pyo3::ffi;
use pyo3::types::{PyBool, PyFloat, PyInt};
use umbel::{Key, KeyHash, KeyHasher};

use crate::prelude::*;

/// A borrowed key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyRef<'a> {
    Bytes(&'a [u8]),
    Int(i64),
    /// An integer too large for `Int`.
    Large(u64),
    /// Only other systems' filters have such keys.
    Float(f64),
}

impl<'a> KeyRef<'a> {
    /// The key as text: an integer is its decimal digits.
    pub(crate) fn text(self) -> Cow<'a, [u8]> {
        match self {
            Self::Bytes(bytes) => bytes.into(),
            Self::Int(int) => int.to_string().into_bytes().into(),
            Self::Large(int) => int.to_string().into_bytes().into(),
            Self::Float(float) => unreachable!("{float} was taken for a key"),
        }
    }

    /// The form of the key in a filter of umbel.
    #[inline]
    pub(crate) fn form(self) -> KeyForm {
        match self {
            Self::Bytes(_) => KeyForm::Bytes,
            Self::Int(_) | Self::Large(_) => KeyForm::Integer,
            Self::Float(float) => unreachable!("{float} was taken for a key"),
        }
    }
}

/// Keys as a filter of a form has them, if they differ: in one of text, integers are their decimal digits. Refuses what is
/// certainly not in it; keys that are `added` may give it another form.
pub(crate) fn texts<K: Element>(
    form: Option<KeyForm>,
    keys: &[K],
    added: bool,
) -> Result<Option<Vec<Cow<'_, [u8]>>>, Failure> {
    let other = |form| keys.iter().any(|key| key.key().form() != form);
    if !added {
        refuse_form(form, other)?;
    }
    let differ = form == Some(KeyForm::Text) && other(KeyForm::Bytes);
    Ok(differ.then(|| keys.iter().map(|key| key.key().text()).collect()))
}

/// Refuses keys for a filter of a form if some are of an `other` one.
pub(crate) fn refuse_form(
    held: Option<KeyForm>,
    other: impl Fn(KeyForm) -> bool,
) -> Result<(), Failure> {
    let text = match held {
        Some(KeyForm::Bytes) if other(KeyForm::Bytes) => {
            "the filter holds text and bytes, found an int; give str(key), or column.astype(str)"
        }
        Some(KeyForm::Integer) if other(KeyForm::Integer) => {
            "the filter holds integers, found text or bytes; give int(key), or column.astype(\"int64\")"
        }
        _ => return Ok(()),
    };
    Err(Failure::Type(text.to_owned()))
}

/// Does something with keys as a filter of a form has them, or returns the error of [`texts`].
macro_rules! in_form {
    ($form:expr, $keys:expr, $added:expr, $formed:ident => $does:expr) => {{
        let keys = $keys;
        match $crate::keys::texts($form, keys, $added)? {
            Some(texts) => {
                let texts: Vec<&[u8]> = texts.iter().map(|text| &**text).collect();
                let $formed = &texts[..];
                $does
            }
            None => {
                let $formed = keys;
                $does
            }
        }
    }};
}
pub(crate) use in_form;

/// The form of keys together; `None` for no keys.
pub(crate) fn form_of<K: Element>(keys: &[K]) -> Option<KeyForm> {
    keys.iter().map(|key| key.key().form()).reduce(KeyForm::with)
}

/// A type of key that a column can have.
pub(crate) trait Element: Key + Sync {
    fn key(&self) -> KeyRef<'_>;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Element for $type {
            fn key(&self) -> KeyRef<'_> {
                KeyRef::Int((*self).into())
            }
        }
    )*};
}

integers!(u8, u16, u32, i8, i16, i32, i64);

impl Element for u64 {
    fn key(&self) -> KeyRef<'_> {
        i64::try_from(*self).map_or(KeyRef::Large(*self), KeyRef::Int)
    }
}

impl Element for &[u8] {
    fn key(&self) -> KeyRef<'_> {
        KeyRef::Bytes(self)
    }
}

impl Element for KeyRef<'_> {
    fn key(&self) -> KeyRef<'_> {
        *self
    }
}

impl Key for KeyRef<'_> {
    #[inline]
    fn key_hash(&self, hasher: &KeyHasher) -> KeyHash {
        match self {
            Self::Bytes(bytes) => hasher.hash(*bytes),
            Self::Int(int) => hasher.hash(*int),
            Self::Large(int) => hasher.hash(*int),
            Self::Float(float) => unreachable!("{float} was taken for a key"),
        }
    }
}

/// A key of another system's filter, and the bytes made for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ForeignKey<'a> {
    Ready(umbel_foreign::Key<'a>),
    /// A range of the buffer.
    Made(usize, usize),
}

impl<'a> ForeignKey<'a> {
    /// The key as a filter with this key type hashes it; some keys' bytes are made in `buffer`.
    pub(crate) fn of(
        key: KeyRef<'a>,
        key_type: KeyType,
        buffer: &mut Vec<u8>,
    ) -> Result<Self, Failure> {
        use umbel_foreign::Key as F;
        let start = buffer.len();
        let ready = match (key, key_type) {
            (KeyRef::Bytes(bytes), KeyType::Bytes | KeyType::Url) => F::Bytes(bytes),
            (KeyRef::Bytes(bytes), KeyType::Utf16) => {
                let text = std::str::from_utf8(bytes).map_err(|_| {
                    Failure::Value(
                        "keys of type utf16 are text; these bytes are not UTF-8".to_owned(),
                    )
                })?;
                buffer.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
                return Ok(Self::Made(start, buffer.len()));
            }
            (KeyRef::Int(int), KeyType::I64) => F::I64(int),
            (KeyRef::Int(int), KeyType::I32) => F::I32(int.try_into().map_err(|_| {
                Failure::Value(format!("{int} is out of range: keys of type i32 have 32 bits"))
            })?),
            (KeyRef::Int(_) | KeyRef::Large(_), KeyType::Decimal) => {
                buffer.extend_from_slice(&key.text());
                return Ok(Self::Made(start, buffer.len()));
            }
            (KeyRef::Float(float), KeyType::F64) => F::F64(float),
            (KeyRef::Float(float), KeyType::F32) => F::F32(float as f32),
            (key, key_type) => {
                let found = match key {
                    KeyRef::Bytes(_) => "text or bytes",
                    KeyRef::Int(_) => "an int",
                    KeyRef::Large(_) => "an int above 2**63 - 1",
                    KeyRef::Float(_) => "a float",
                };
                return Err(Failure::Type(format!(
                    "the keys of this filter are of type {key_type}, found {found}; convert it, or open the filter with \
                     another key_type"
                )));
            }
        };
        Ok(Self::Ready(ready))
    }

    pub(crate) fn within(self, buffer: &'a [u8]) -> umbel_foreign::Key<'a> {
        match self {
            Self::Ready(key) => key,
            Self::Made(start, end) => umbel_foreign::Key::Bytes(&buffer[start..end]),
        }
    }
}

/// Which keys a filter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Own,
    /// Also floats.
    Foreign,
    /// As in pybloom, which hashes the text form of a key: for bytes that is `b'…'`, not the bytes.
    TextOfKeys,
}

impl Takes {
    /// Refuses bytes where they would be taken for a text.
    pub(crate) fn check_bytes(self) -> PyResult<()> {
        match self {
            Self::Own | Self::Foreign => Ok(()),
            Self::TextOfKeys => Err(PyTypeError::new_err(
                "pybloom hashes str(key), and the text of b'pear' is \"b'pear'\"; give key.decode() for a key that was added as \
                 str, and str(key) for one added as bytes",
            )),
        }
    }
}

/// A Python value that is a key.
pub(crate) enum OneKey<'a> {
    Ref(KeyRef<'a>),
    Owned(Vec<u8>),
}

impl OneKey<'_> {
    #[inline]
    pub(crate) fn key(&self) -> KeyRef<'_> {
        match self {
            Self::Ref(key) => *key,
            Self::Owned(bytes) => KeyRef::Bytes(bytes),
        }
    }

    /// The key of a value for a filter.
    #[inline]
    pub(crate) fn of<'a>(value: &'a Bound<'_, PyAny>, takes: Takes) -> PyResult<OneKey<'a>> {
        if let Some(int) = small_int(value) {
            return Ok(OneKey::Ref(KeyRef::Int(int)));
        }
        if let Some(text) = utf8(value) {
            return Ok(OneKey::Ref(KeyRef::Bytes(text)));
        }
        of_other_types(value, takes)
    }
}

/// An int of 64 bits whose class is exactly int.
#[inline]
pub(crate) fn small_int(value: &Bound<'_, PyAny>) -> Option<i64> {
    // The exact class is checked without a call; a subclass needs one.
    if !value.is_exact_instance_of::<PyInt>() {
        return None;
    }
    let mut overflow = 0;
    // SAFETY: it is an int, so the only error is that it is too large, which does not raise an exception.
    let int = unsafe { ffi::PyLong_AsLongLongAndOverflow(value.as_ptr(), &mut overflow) };
    (overflow == 0).then_some(int)
}

/// The UTF-8 of a text, if it has one and its class is exactly str.
#[inline]
pub(crate) fn utf8<'a>(value: &'a Bound<'_, PyAny>) -> Option<&'a [u8]> {
    if !value.is_exact_instance_of::<PyString>() {
        return None;
    }
    let mut length = 0;
    // SAFETY: it is a str.
    let start = unsafe { ffi::PyUnicode_AsUTF8AndSize(value.as_ptr(), &mut length) };
    if start.is_null() {
        // SAFETY: an exception is set, and the GIL is held.
        unsafe { ffi::PyErr_Clear() };
        return None;
    }
    // SAFETY: the text keeps its UTF-8, of this length, as long as it lives.
    Some(unsafe { std::slice::from_raw_parts(start.cast(), length as usize) })
}

/// As [`OneKey::of`], for everything that [`small_int`] and [`utf8`] do not handle.
#[inline(never)]
fn of_other_types<'a>(value: &'a Bound<'_, PyAny>, takes: Takes) -> PyResult<OneKey<'a>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        takes.check_bytes()?;
        return Ok(OneKey::Ref(KeyRef::Bytes(bytes.as_bytes())));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) => Ok(OneKey::Ref(KeyRef::Bytes(text.as_bytes()))),
            Err(_) => escaped(text).map(OneKey::Owned),
        };
    }
    if value.is_instance_of::<PyBool>() {
        return Err(refused(value));
    }
    match value.cast::<PyInt>() {
        Ok(int) => of_int(int),
        Err(_) => of_other(value, takes),
    }
}

/// The bytes of text with surrogates, which stand for non-UTF-8 bytes in strings from `os` and in umbel's own lines.
#[cold]
pub(crate) fn escaped(text: &Bound<'_, PyString>) -> PyResult<Vec<u8>> {
    let bytes = text.call_method1("encode", ("utf-8", "surrogateescape"))?;
    Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec())
}

fn of_int<'a>(int: &Bound<'_, PyInt>) -> PyResult<OneKey<'a>> {
    match int.extract::<i64>() {
        Ok(int) => Ok(OneKey::Ref(KeyRef::Int(int))),
        Err(_) => of_large(int),
    }
}

#[cold]
fn of_large<'a>(int: &Bound<'_, PyInt>) -> PyResult<OneKey<'a>> {
    let large = int.extract::<u64>().map_err(|_| {
        PyValueError::new_err(format!(
            "{int} is out of range: an int key is from -2**63 to 2**64 - 1; use str({int}) for larger ones"
        ))
    })?;
    Ok(OneKey::Ref(KeyRef::Large(large)))
}

#[cold]
fn of_other<'a>(value: &Bound<'_, PyAny>, takes: Takes) -> PyResult<OneKey<'a>> {
    if let Ok(float) = value.cast::<PyFloat>() {
        return match takes {
            Takes::Own => Err(refused(value)),
            Takes::Foreign | Takes::TextOfKeys => Ok(OneKey::Ref(KeyRef::Float(float.value()))),
        };
    }
    // Integers of NumPy.
    if let Ok(index) = value.call_method0("__index__")
        && let Ok(int) = index.cast::<PyInt>()
    {
        return of_int(int);
    }
    // bytearray, memoryview.
    if let Ok(buffer) = PyBuffer::<u8>::get(value) {
        takes.check_bytes()?;
        return Ok(OneKey::Owned(buffer.to_vec(value.py())?));
    }
    Err(refused(value))
}

/// The key of an item of a column; `None` if it is missing.
pub(crate) fn of_item<'a>(
    value: &'a Bound<'_, PyAny>,
    takes: Takes,
) -> PyResult<Option<OneKey<'a>>> {
    match OneKey::of(value, takes) {
        Ok(key) => Ok(Some(key)),
        Err(_) if is_missing(value) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a value stands for a missing one: `None`, NaN, NaT, the NA of pandas, a value that NumPy has masked.
pub(crate) fn is_missing(value: &Bound<'_, PyAny>) -> bool {
    let name = value.get_type().name();
    let name = name.map_or_else(|_| String::new(), |name| name.to_string());
    // NaN and NaT differ from themselves. NA and masked return themselves from a comparison.
    matches!(&name[..], "NoneType" | "NAType" | "MaskedConstant")
        || value.ne(value).unwrap_or(false)
}

/// How times become keys: the same integers as columns of times.
const TIMES: &str = "; give microseconds since 1970: pyarrow.array(column).cast(pyarrow.timestamp(\"us\")).cast(\"int64\")";

/// The error of a value that is not a key.
#[cold]
pub(crate) fn refused(value: &Bound<'_, PyAny>) -> PyErr {
    let name = value.get_type().fully_qualified_name();
    let name = name.map_or_else(|_| "unknown".to_owned(), |name| name.to_string());
    let remedy = match &name[..] {
        _ if is_missing(value) => "; leave missing values out, or give them a key of their own",
        "float" => "; convert it with int() or str()",
        "bool" | "numpy.bool" => "; convert it with int()",
        "tuple" | "list" => "; for keys of several fields use add_rows() and contains_rows()",
        // As Parquet stores it, and pyarrow and Polars read it; its text would be another key.
        "uuid.UUID" => "; give its 16 bytes: [u.bytes for u in column]",
        // Their texts and units differ by library and version.
        "datetime.datetime" | "datetime.date" | "numpy.datetime64" => TIMES,
        _ if name.ends_with("Timestamp") => TIMES,
        _ => "; convert it with str()",
    };
    PyTypeError::new_err(format!("a key is str, bytes or int, not {name}{remedy}"))
}
