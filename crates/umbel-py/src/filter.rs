//! What all filters do in Python, and how they are opened.

use std::fs::File;
use std::io::{Read, Seek};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::RwLockExt;
use pyo3::types::{PyBytes, PyString, PyTuple};
use umbel::filter::Comparison;
use umbel::{AnyFilter, FileError, KeyDescription, MappedFile, Secret};
use umbel_files::atomic::{self, Existing};
use umbel_files::journal::{self, Notes};
use umbel_files::wrapped;
use umbel_foreign::{Foreign, ForeignFilter, Format, KeyType, Parameters};
use umbel_sets::PageReader;

use crate::answers::Container;
use crate::columns::{self, Answer, BATCH, Source, Take, each_item};
use crate::errors::{Failure, of_file, of_files, of_wrapped};
use crate::inner::{Add, AddNew, AddOwn, Inner, LookUp, Other, not_for, of_inner};
use crate::keys::{Element, OneKey};
use crate::kinds::{self, size};
use crate::reports::Receipt;
use crate::{rows, sharing};

/// A filter: `key in filter` is False for certain, or True with the filter's false positive rate.
///
/// Filters of every kind have these methods. Use :func:`open`, or the class of a kind, to get one.
///
/// A key is ``str`` (its UTF-8), ``bytes`` (as they are) or ``int`` (8 little-endian bytes, from -2**63 to 2**64 - 1). Bulk
/// methods take lists and other iterables, NumPy arrays, pandas and Polars series, and Arrow arrays.
#[pyclass(frozen, subclass, module = "umbel")]
pub(crate) struct Filter {
    pub(crate) lock: RwLock<Inner>,
    /// Whether floats can be keys.
    floats: bool,
}

impl Filter {
    pub(crate) fn new(inner: Inner) -> Self {
        Self { floats: matches!(inner, Inner::Foreign(_)), lock: RwLock::new(inner) }
    }

    /// To look at it. Nothing that panics leaves a filter half changed: keys go in one by one.
    pub(crate) fn read(&self, py: Python<'_>) -> RwLockReadGuard<'_, Inner> {
        self.lock.read_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Its file, if it is of umbel.
    fn own_file(&self, what: &str) -> Result<Vec<u8>, Failure> {
        let inner = self.lock.read().unwrap_or_else(PoisonError::into_inner);
        of_inner!(&*inner, own => Ok(own.to_bytes()), other => Err(not_for(other, what)))
    }

    pub(crate) fn write(&self, py: Python<'_>) -> RwLockWriteGuard<'_, Inner> {
        self.lock.write_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers each of many keys, without the GIL where they are in a column.
    pub(crate) fn answer<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        threads: usize,
        way: impl Way,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = keys.py();
        match Source::of(keys)? {
            Source::Column(column) => {
                let valid = column.validity();
                Container::of(keys)?.filled(py, column.len(), valid, |answers| {
                    way.column(&self.lock, &column, answers, threads)
                })
            }
            Source::Items { items, column } => {
                let to = if column { Container::of(keys)? } else { Container::List };
                to.holding(py, self.answer_items(&items, column, way)?)
            }
        }
    }

    /// Answers Python values. Those that change the filter are all checked before the first does.
    fn answer_items<W: Way>(
        &self,
        items: &Bound<'_, PyAny>,
        column: bool,
        way: W,
    ) -> PyResult<Vec<bool>> {
        let (py, mut answers) = (items.py(), Vec::new());
        let mut iterator = items.try_iter()?;
        let together = if W::CHANGES { usize::MAX } else { BATCH };
        loop {
            let values = iterator.by_ref().take(together).collect::<PyResult<Vec<_>>>()?;
            let keys = columns::keys_of(&values, column, self.floats)?;
            let there: Vec<_> = keys.iter().flatten().map(OneKey::key).collect();
            if W::CHANGES {
                self.read(py).check(&there)?;
            }
            let mut found = vec![false; there.len()];
            for (keys, found) in there.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
                way.batch(self, py, keys, found)?;
            }
            let mut found = found.into_iter();
            answers.extend(keys.iter().map(|key| key.is_some() && found.next() == Some(true)));
            if values.len() < together {
                return Ok(answers);
            }
        }
    }
}

/// Looking up keys, or changing the filter by them.
pub(crate) trait Way: Sync + Send {
    /// Whether it changes the filter.
    const CHANGES: bool;

    fn column(
        &self,
        lock: &RwLock<Inner>,
        column: &columns::Column,
        answers: &mut [bool],
        threads: usize,
    ) -> Result<(), Failure>;

    fn batch<K: Element>(
        &self,
        filter: &Filter,
        py: Python<'_>,
        keys: &[K],
        answers: &mut [bool],
    ) -> Result<(), Failure>;
}

/// To look keys up.
struct Reading;

impl Way for Reading {
    const CHANGES: bool = false;

    fn column(
        &self,
        lock: &RwLock<Inner>,
        column: &columns::Column,
        answers: &mut [bool],
        threads: usize,
    ) -> Result<(), Failure> {
        let inner = lock.read().unwrap_or_else(PoisonError::into_inner);
        column.answer(answers, threads, || LookUp(&inner))
    }

    fn batch<K: Element>(
        &self,
        filter: &Filter,
        py: Python<'_>,
        keys: &[K],
        answers: &mut [bool],
    ) -> Result<(), Failure> {
        LookUp(&filter.read(py)).answer(keys, answers)
    }
}

/// To change the filter, key after key.
pub(crate) struct Changing<F>(pub(crate) F);

impl<F: Sync + Send> Way for Changing<F>
where
    F: for<'a> Change<'a>,
{
    const CHANGES: bool = true;

    fn column(
        &self,
        lock: &RwLock<Inner>,
        column: &columns::Column,
        answers: &mut [bool],
        _: usize,
    ) -> Result<(), Failure> {
        let mut inner = lock.write().unwrap_or_else(PoisonError::into_inner);
        inner.check_column(column)?;
        column.answer_in_order(answers, self.0.start(&mut inner))
    }

    fn batch<K: Element>(
        &self,
        filter: &Filter,
        py: Python<'_>,
        keys: &[K],
        answers: &mut [bool],
    ) -> Result<(), Failure> {
        self.0.start(&mut filter.write(py)).answer(keys, answers)
    }
}

/// What begins a change of a filter.
pub(crate) trait Change<'a> {
    type Answer: Answer;
    fn start(&self, inner: &'a mut Inner) -> Self::Answer;
}

/// Keys that are added, and answered whether they are new.
struct AddingNew;

impl<'a> Change<'a> for AddingNew {
    type Answer = AddNew<'a>;
    fn start(&self, inner: &'a mut Inner) -> AddNew<'a> {
        AddNew(inner)
    }
}

/// Keys of an iterable that are added without an answer, with the filter locked for one batch after the other.
struct Adding<'a, 'py> {
    filter: &'a Filter,
    py: Python<'py>,
}

impl Take for Adding<'_, '_> {
    fn take<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure> {
        Add(&mut self.filter.write(self.py)).take(keys)
    }
}

#[pymethods]
impl Filter {
    /// The name of its kind, or of its format when it is of another system.
    #[getter]
    fn kind(&self, py: Python<'_>) -> String {
        self.read(py).name()
    }

    /// Bytes of its bits.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> u64 {
        self.read(py).bytes()
    }

    /// What its keys are, as its file says: pairs of a name and a value, such as ``("field", "email")``.
    #[getter]
    fn description(&self, py: Python<'_>) -> Vec<(String, String)> {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        of_inner!(&*self.read(py), own => own.description().entries().map(owned).collect(), _other => Vec::new())
    }

    /// Says what its keys are, for people who find its file, and for programs that check that they look up what was added:
    /// pairs of a name and a value. The names ``field``, ``type`` and ``normalization`` have a meaning, see FORMAT.md.
    fn describe(&self, py: Python<'_>, entries: Vec<(String, String)>) -> PyResult<()> {
        let mut keys = KeyDescription::default();
        for (name, value) in entries {
            keys.push(&name, &value).map_err(Failure::from)?;
        }
        self.write(py).own_mut("describe")?.describe(keys);
        Ok(())
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        // The key comes before the lock: to get it may run code that uses this filter.
        let found = OneKey::of(key, self.floats)?;
        Ok(self.read(key.py()).contains(found.key())?)
    }

    /// Looks up many keys. Returns a boolean column of the library that the keys came in, or a list.
    ///
    /// A missing value in a column is no key: its answer is null in Arrow and Polars, and False elsewhere. In a list or another
    /// iterable it raises a TypeError. Runs on several threads when there are more than some 100,000 keys.
    #[pyo3(signature = (keys, *, threads=None))]
    fn contains_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.answer(keys, columns::threads(threads).get(), Reading)
    }

    /// Adds a key. Returns True when it was certainly not there before.
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let added = OneKey::of(key, self.floats)?;
        Ok(self.write(key.py()).add(added.key())?)
    }

    /// Adds many keys. Missing values in a column are left out. Keys of an iterable are added as they come: if one is bad,
    /// those before it stay.
    ///
    /// Columns of more than some 250,000 keys are added on several threads, each with a copy of the filter of at most 6 bytes
    /// per key; to blocked, classic and sliced filters.
    #[pyo3(signature = (keys, *, threads=None))]
    fn add_many(&self, keys: &Bound<'_, PyAny>, threads: Option<NonZeroUsize>) -> PyResult<()> {
        let py = keys.py();
        match Source::of(keys)? {
            Source::Column(column) => {
                let (lock, column) = (&self.lock, &column);
                py.detach(|| {
                    let mut inner = lock.write().unwrap_or_else(PoisonError::into_inner);
                    match &mut *inner {
                        Inner::Own(own) if column.len() >= columns::MANY => {
                            let threads = columns::threads(threads);
                            own.insert_in_parts(threads, column.len(), |own, part, parts| {
                                column.part(part, parts, &mut AddOwn(own))
                            })
                        }
                        inner => {
                            inner.check_column(column)?;
                            column.each(&mut Add(inner))
                        }
                    }
                })?;
                Ok(())
            }
            Source::Items { items, column } => {
                each_item(&items, column, self.floats, &mut Adding { filter: self, py })
            }
        }
    }

    /// Adds many keys in their order. Returns a boolean column like `contains_many`: True for keys that were certainly not
    /// there before. This is how to drop repeats: ``table.filter(seen.add_new(table["url"]))``.
    ///
    /// All keys are checked before the first is added; an iterator is read to its end for that.
    fn add_new<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.answer(keys, 1, Changing(AddingNew))
    }

    /// Looks up rows: of a table that speaks Arrow (pyarrow, Polars, pandas 2.2 or later, DuckDB) by the columns named, or
    /// tuples. Returns a boolean column like `contains_many`.
    ///
    /// In a filter of rows (`Attributes`) the columns are those of its fields that are looked up, by name. In any other, the key
    /// is made of all of them, in this order, as ``umbel build --key A --key B`` makes it. A field is text: an integer is
    /// looked up by its decimal digits.
    #[pyo3(signature = (rows, columns=Vec::new()))]
    fn contains_rows<'py>(
        &self,
        rows: &Bound<'py, PyAny>,
        columns: Vec<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.on_rows(rows, columns, rows::Work::LookUp)
    }

    /// Adds rows, as `contains_rows` takes them. Returns a boolean column: True for those certainly not there before.
    #[pyo3(signature = (rows, columns=Vec::new()))]
    fn add_rows<'py>(
        &self,
        rows: &Bound<'py, PyAny>,
        columns: Vec<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.on_rows(rows, columns, rows::Work::AddNew)
    }

    /// Adds the keys of all the iterables, as ``set.update``.
    #[pyo3(signature = (*others))]
    fn update(&self, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        others.iter().try_for_each(|keys| self.add_many(&keys, None))
    }

    /// Removes all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.write(py).own_mut("clear")?.clear().map_err(Failure::from)?)
    }

    /// A copy in memory.
    fn copy(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let copied = slf.get().read(py).copy()?;
        kinds::wrap(py, copied)
    }

    fn __copy__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Self::copy(slf)
    }

    fn __deepcopy__(slf: &Bound<'_, Self>, memo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let _ = memo;
        Self::copy(slf)
    }

    /// The number of different keys, estimated from its bits; `receipt()` says how precisely.
    fn __len__(&self, py: Python<'_>) -> usize {
        let keys = self.receipt(py).keys;
        if keys < usize::MAX as f64 / 2.0 { keys.round() as usize } else { usize::MAX / 2 }
    }

    fn __bool__(&self, py: Python<'_>) -> bool {
        of_inner!(&*self.read(py), own => !own.is_empty(), other => other.filter.receipt().set_bits > 0)
    }

    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        combined(slf, other, Join::Union)
    }

    fn __and__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        combined(slf, other, Join::Intersection)
    }

    fn __ior__(&self, other: &Bound<'_, Self>) -> PyResult<()> {
        self.combine(other, Join::Union)
    }

    fn __iand__(&self, other: &Bound<'_, Self>) -> PyResult<()> {
        self.combine(other, Join::Intersection)
    }

    /// ``==``: the same plan, hashing, description and bits. ``<=``: every bit of this filter is set in the other, which holds
    /// when all its keys are in the other, and otherwise only by chance.
    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        compare: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let answer = |answer: bool| Ok(answer.into_pyobject(py)?.to_owned().into_any());
        let Ok(other) = other.cast::<Self>() else {
            return Ok(py.NotImplemented().into_bound(py));
        };
        match compare {
            CompareOp::Eq => answer(equal(slf, other)?),
            CompareOp::Ne => answer(!equal(slf, other)?),
            CompareOp::Le => answer(subset(slf, other)?),
            CompareOp::Ge => answer(subset(other, slf)?),
            CompareOp::Lt => answer(!equal(slf, other)? && subset(slf, other)?),
            CompareOp::Gt => answer(!equal(slf, other)? && subset(other, slf)?),
        }
    }

    /// What the filter delivers now, computed from its bits: estimated keys, false positive rate, fill.
    pub(crate) fn receipt(&self, py: Python<'_>) -> Receipt {
        let lock = &self.lock;
        py.detach(|| {
            let inner = lock.read().unwrap_or_else(PoisonError::into_inner);
            of_inner!(&*inner, own => Receipt::of(own.receipt()), other => Receipt::of_foreign(other.filter.receipt()))
        })
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let name = slf.get_type().name()?;
        Ok(format!("<{name}: {}>", slf.get().receipt(slf.py()).line()))
    }

    /// The bytes of its file: an umbel file, or what the other system would write.
    ///
    /// With ``packed=True`` the file of an umbel filter is as small as its bits allow, to be sent; a filter with half of its
    /// bits set does not get smaller. :func:`open` and :func:`from_bytes` read it.
    #[pyo3(signature = (*, packed=false))]
    fn to_bytes<'py>(&self, py: Python<'py>, packed: bool) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = match packed {
            true => py.detach(|| sharing::packed(&self.own_file("packed=True")?))?,
            false => {
                py.detach(|| self.lock.read().unwrap_or_else(PoisonError::into_inner).to_bytes())?
            }
        };
        Ok(PyBytes::new(py, &bytes))
    }

    /// What changed from this filter to ``new``, a later version of it: small if few keys came. Whoever has this filter makes
    /// the new one with :meth:`patched`.
    fn delta<'py>(&self, py: Python<'py>, new: &Self) -> PyResult<Bound<'py, PyBytes>> {
        let made = py.detach(|| {
            let (old, new) = (self.own_file("delta")?, new.own_file("delta")?);
            sharing::delta(&old, &new)
        });
        Ok(PyBytes::new(py, &made?))
    }

    /// The new version of this filter, by a delta made from exactly this one; any other is refused. With ``trust``, the file
    /// of a public key, the delta must be signed by its owner; it has the SHA-256 of the new filter, so that the signer vouches
    /// for the result. ``list``, ``newer_than`` and ``memory`` are those of :func:`open`, ``secret`` is that of a keyed filter.
    #[pyo3(signature = (delta, *, secret=None, trust=None, list=None, newer_than=None, memory=None))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn patched(
        &self,
        py: Python<'_>,
        delta: &[u8],
        secret: Option<&[u8]>,
        trust: Option<PathBuf>,
        list: Option<String>,
        newer_than: Option<u64>,
        memory: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (secret, trust) = (self::secret(secret)?, sharing::trusted(trust, list, newer_than)?);
        let most = most(memory)?;
        let inner = py.detach(|| {
            let new = sharing::patched(&self.own_file("patched")?, delta, trust.as_ref(), most)?;
            decode(&new, (None, None), secret.as_ref())
        });
        kinds::wrap(py, inner?)
    }

    /// Writes its file, which appears whole or not at all, and replaces one that is there. With ``packed=True`` it is
    /// packed, as by :meth:`to_bytes`.
    ///
    /// A URL such as ``s3://bucket/seen.umbel`` is written through fsspec, if that is installed.
    #[pyo3(signature = (path, *, packed=false))]
    fn save(slf: &Bound<'_, Self>, path: &Bound<'_, PyAny>, packed: bool) -> PyResult<()> {
        let py = slf.py();
        if is_url(path) {
            let bytes = slf.get().to_bytes(py, packed)?;
            py.import("umbel._remote")?.call_method1("write", (path, bytes))?;
            return Ok(());
        }
        let path: PathBuf = path.extract()?;
        if packed {
            let name = path.display().to_string();
            let bytes = slf.get().to_bytes(py, packed)?;
            let written =
                atomic::write(&path, Existing::Replace, |out| Ok(out.write_all(bytes.as_bytes())?));
            return written.map(drop).map_err(|error| of_files(error, &name));
        }
        let name = path.display().to_string();
        let lock = &slf.get().lock;
        let written = py.detach(|| {
            let inner = lock.read().unwrap_or_else(PoisonError::into_inner);
            atomic::write(&path, Existing::Replace, |out| {
                of_inner!(&*inner, own => Ok(own.write(out)?), other => Ok(other.filter.write_to(out)?))
            })
        });
        written.map(drop).map_err(|error| of_files(error, &name))
    }

    /// Pickled as its file. A filter that is keyed by a secret is refused: its file needs the secret to be opened.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        let py = slf.py();
        let (format, key_type) = {
            let inner = slf.get().read(py);
            let keyed =
                of_inner!(&*inner, own => own.hasher().scheme().key_id != 0, _other => false);
            if keyed {
                return Err(PyValueError::new_err(
                    "a keyed filter cannot be pickled: its file needs the secret; save() it, and open() it with the secret",
                ));
            }
            match &*inner {
                Inner::Foreign(other) => (
                    Some(other.filter.format().to_string()),
                    other.key_type.map(|key_type| key_type.to_string()),
                ),
                _ => (None, None),
            }
        };
        let bytes = slf.get().to_bytes(py, false)?;
        let module = py.import("umbel._umbel")?;
        Ok((module.getattr("from_bytes")?, (bytes, format, key_type)))
    }
}

/// The bytes of a file, its format if it is of another system, and the type of its keys.
type Pickled<'py> = (Bound<'py, PyBytes>, Option<String>, Option<String>);

/// How two filters become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    Union,
    Intersection,
}

impl Filter {
    fn combine(&self, other: &Bound<'_, Self>, join: Join) -> PyResult<()> {
        let (py, other) = (other.py(), other.get());
        if std::ptr::eq(self, other) {
            return Ok(());
        }
        let (mut ours, theirs) = in_order(self, other, || self.write(py), || other.read(py));
        if let Inner::Foreign(ours) = &mut *ours {
            return match (&*theirs, join) {
                (Inner::Foreign(theirs), Join::Union) => {
                    Ok(ours.filter.union(&theirs.filter).map_err(Failure::from)?)
                }
                (Inner::Foreign(_), Join::Intersection) => {
                    Err(crate::inner::not_for(ours, "&").into())
                }
                _ => Err(mixed()),
            };
        }
        let ours = ours.own_mut("|")?;
        let merged = of_inner!(&*theirs, theirs => match join {
            Join::Union => ours.union(theirs),
            Join::Intersection => ours.intersect(theirs),
        }, _other => return Err(mixed()));
        Ok(merged.map_err(Failure::from)?)
    }

    /// Looks at this filter and another.
    pub(crate) fn with<T>(
        &self,
        other: &Self,
        py: Python<'_>,
        look: impl FnOnce(&Inner, &Inner) -> T,
    ) -> T {
        if std::ptr::eq(self, other) {
            // A second lock of one filter could wait for a writer that waits for the first.
            let inner = self.read(py);
            return look(&inner, &inner);
        }
        let (left, right) = in_order(self, other, || self.read(py), || other.read(py));
        look(&left, &right)
    }
}

/// Locks two filters, the one at the lower address first: threads that lock two filters crosswise do not wait for each other.
fn in_order<L, R>(
    left: &Filter,
    right: &Filter,
    lock_left: impl FnOnce() -> L,
    lock_right: impl FnOnce() -> R,
) -> (L, R) {
    if std::ptr::from_ref(left) < std::ptr::from_ref(right) {
        let left = lock_left();
        (left, lock_right())
    } else {
        let right = lock_right();
        (lock_left(), right)
    }
}

pub(crate) fn mixed() -> PyErr {
    PyTypeError::new_err(
        "a filter of umbel and one of another system do not go together; build both in one format",
    )
}

fn combined(slf: &Bound<'_, Filter>, other: &Bound<'_, Filter>, join: Join) -> PyResult<Py<PyAny>> {
    let py = slf.py();
    let copied = Filter::new(slf.get().read(py).copy()?);
    copied.combine(other, join)?;
    let inner = copied.lock.into_inner().unwrap_or_else(PoisonError::into_inner);
    kinds::wrap(py, inner)
}

fn equal(left: &Bound<'_, Filter>, right: &Bound<'_, Filter>) -> PyResult<bool> {
    if left.is(right) {
        return Ok(true);
    }
    left.get().with(right.get(), left.py(), |left, right| {
        Ok(of_inner!(left, left => of_inner!(right, right => left == right, _other => false), left => match right {
            Inner::Foreign(right) => {
                left.filter.format() == right.filter.format()
                    && left.filter.encode().map_err(Failure::from)?
                        == right.filter.encode().map_err(Failure::from)?
            }
            _ => false,
        }))
    })
}

fn subset(left: &Bound<'_, Filter>, right: &Bound<'_, Filter>) -> PyResult<bool> {
    let found = left.get().with(right.get(), left.py(), compare)?;
    Ok(found.shared_bits == found.left_bits)
}

/// What two filters tell about the sets in them.
pub(crate) fn compare(left: &Inner, right: &Inner) -> PyResult<Comparison> {
    Ok(
        of_inner!(left, left => of_inner!(right, right => left.compare(right).map_err(Failure::from)?, _other => return Err(mixed())), left => match right {
            Inner::Foreign(right) => left.filter.compare(&right.filter).map_err(Failure::from)?,
            _ => return Err(mixed()),
        }),
    )
}

/// The secret in bytes: 16 of them, or the content of a file of umbel key.
pub(crate) fn secret(bytes: Option<&[u8]>) -> PyResult<Option<Secret>> {
    let Some(bytes) = bytes else { return Ok(None) };
    let secret = Secret::from_file(bytes);
    secret.map(Some).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The filter in bytes: of umbel, which may be packed or signed, or of the format named. With ``trust``, the file of a public
/// key, the bytes must be signed by its owner; ``list``, ``newer_than`` and ``memory`` are those of :func:`open`.
#[pyfunction]
#[pyo3(signature = (data, format=None, key_type=None, *, secret=None, trust=None, list=None, newer_than=None, memory=None))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn from_bytes(
    py: Python<'_>,
    data: &[u8],
    format: Option<&str>,
    key_type: Option<&str>,
    secret: Option<&[u8]>,
    trust: Option<PathBuf>,
    list: Option<String>,
    newer_than: Option<u64>,
    memory: Option<Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let (secret, trust) = (self::secret(secret)?, sharing::trusted(trust, list, newer_than)?);
    let most = most(memory)?;
    let kinds_of = kinds_of(format, key_type)?;
    let inner = py.detach(|| {
        decode(&sharing::unwrapped(data, trust.as_ref(), most)?, kinds_of, secret.as_ref())
    })?;
    kinds::wrap(py, inner)
}

/// Opens the filter in a file: of umbel, or of another system, whose format its content tells or ``format`` names.
///
/// With ``mmap=True`` an umbel file is queried where it is: processes that map the same file share its memory. While it is
/// mapped, no program may write to the file or shorten it; replacing it by another, as `save` does, is fine. The file
/// is checked in either case, byte for byte. Lines that an interrupted ``umbel unseen`` recorded next to the file are
/// taken in, but cannot be mapped. A keyed filter needs its ``secret`` of 16 bytes.
///
/// A packed file is unpacked into a temporary file first. With ``trust``, the file of a public key, a file is refused unless
/// the owner of that key signed it; with ``list``, unless it is signed as the list of that name, and with ``newer_than``,
/// unless with a higher serial number. A packed file whose signature is not checked may make a filter of ``memory`` bytes at
/// most, a number or text such as ``"4GiB"`` (1 GiB without it).
#[pyfunction]
#[pyo3(signature = (path, *, mmap=false, secret=None, format=None, key_type=None, trust=None, list=None, newer_than=None, memory=None))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn open(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    mmap: bool,
    secret: Option<&[u8]>,
    format: Option<&str>,
    key_type: Option<&str>,
    trust: Option<PathBuf>,
    list: Option<String>,
    newer_than: Option<u64>,
    memory: Option<Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let (secret, trust) = (self::secret(secret)?, sharing::trusted(trust, list, newer_than)?);
    let most = most(memory)?;
    let kinds_of = kinds_of(format, key_type)?;
    if is_url(path) {
        if mmap {
            return Err(PyValueError::new_err(format!("{path}: only a local file can be mapped")));
        }
        let data = py.import("umbel._remote")?.call_method1("read", (path,))?;
        let data = data.cast_into::<PyBytes>()?;
        let inner = sharing::unwrapped(data.as_bytes(), trust.as_ref(), most)
            .and_then(|data| decode(&data, kinds_of, secret.as_ref()));
        return kinds::wrap(py, inner.map_err(|error| error.about(&path.to_string()))?);
    }
    let path: PathBuf = path.extract()?;
    let name = path.display().to_string();
    let work = || -> PyResult<Inner> {
        let io = |error: std::io::Error| of_file(&error, &name);
        let about = |error: Failure| PyErr::from(error.about(&name));
        let wrong = |error| of_wrapped(error, &name);
        let notes = Notes::of(&path).map_err(|error| of_files(error, &name))?;
        let file = File::open(&path).map_err(io)?;
        if file.metadata().map_err(io)?.is_dir() {
            return Err(of_file(&std::io::Error::from_raw_os_error(21), &name));
        }
        let tmp = std::env::temp_dir();
        let (mut file, wrapping) =
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
                return Err(PyValueError::new_err(format!(
                    "{name}: {} has lines that a run of umbel unseen recorded since the filter was saved; \
                     open it without mmap, or save them with umbel unseen {name} </dev/null",
                    journal::path_of(&path).display()
                )));
            }
            // SAFETY: the documentation asks for it.
            #[allow(unsafe_code)]
            let mapped = unsafe { MappedFile::map(&file) }.map_err(io)?;
            let filter = AnyFilter::map_with(&mapped, secret.as_ref());
            return Ok(Inner::Mapped(filter.map_err(|error| about(error.into()))?));
        }
        if kinds_of.0.is_none() {
            let source = PageReader::new(1 << 16, &file).take(length);
            match AnyFilter::read_with(source, length, secret.as_ref()) {
                Ok(mut filter) => {
                    let taken = notes.map_or(Ok(()), |notes| notes.take_in(&mut filter, &file));
                    taken.map_err(|error| of_files(error, &name))?;
                    return Ok(Inner::Own(filter));
                }
                Err(FileError::NotUmbel { .. }) => {}
                Err(error) => return Err(about(error.into())),
            }
            file.rewind().map_err(io)?;
        }
        let mut content = Vec::new();
        file.take(length).read_to_end(&mut content).map_err(io)?;
        decode(&content, kinds_of, secret.as_ref()).map_err(about)
    };
    let inner = py.detach(work)?;
    kinds::wrap(py, inner)
}

/// The most bytes that a packed file or a delta may make.
fn most(memory: Option<Bound<'_, PyAny>>) -> PyResult<u64> {
    memory.map_or(Ok(sharing::MOST), |memory| size(&memory, "memory"))
}

/// Whether it is a place beyond the file system.
fn is_url(path: &Bound<'_, PyAny>) -> bool {
    path.cast::<PyString>().is_ok_and(|text| text.to_str().is_ok_and(|text| text.contains("://")))
}

/// The format and the type of keys that are named.
fn kinds_of(
    format: Option<&str>,
    key_type: Option<&str>,
) -> PyResult<(Option<Format>, Option<KeyType>)> {
    let format = format.filter(|format| *format != "umbel").map(str::parse::<Format>).transpose();
    let key_type = key_type.map(str::parse::<KeyType>).transpose();
    Ok((format.map_err(Failure::from)?, key_type.map_err(Failure::from)?))
}

fn decode(
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
        Ok(filter) => return Ok(Inner::Own(filter)),
        Err(error @ FileError::NotUmbel { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    let found = umbel_foreign::recognize(data);
    match &found[..] {
        [(format, true), ..] => foreign(*format),
        [] => Err(Failure::Value(format!(
            "{refused}, or say its format when another system wrote it"
        ))),
        some => {
            let names: Vec<_> = some.iter().map(|(format, _)| format.name()).collect();
            Err(Failure::Value(format!(
                "{refused}, or say its format when another system wrote it: its content could be that of {}",
                names.join(", ")
            )))
        }
    }
}
