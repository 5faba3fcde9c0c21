//! The Python methods of all filters.

use pyo3::basic::CompareOp;
use umbel::{Filter as _, KeyDescription};
use umbel_foreign::ForeignFilter;

use crate::columns;
use crate::files::{self, own_file};
use crate::filter::Filter;
use crate::inner::{Inner, Operation, not_for, of_inner};
use crate::keys::{small_int, utf8};
use crate::prelude::*;
use crate::reports::{Receipt, compared, mixed, reported};
use crate::values::{self, Content, Names};
use crate::{kinds, sharing};

#[pymethods]
impl Filter {
    /// The name of its kind, or of its format when it is of another system.
    #[getter]
    fn kind(&self, py: Python<'_>) -> String {
        self.inner.read(py).name()
    }

    /// Bytes of its bits.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> u64 {
        self.inner.read(py).bytes()
    }

    /// The description of its keys in its file: pairs of a name and a value, such as ``("field", "email")``.
    #[getter]
    fn description(&self, py: Python<'_>) -> Vec<(String, String)> {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        of_inner!(&*self.inner.read(py), own => own.description().entries().map(owned).collect(), _other => Vec::new())
    }

    /// Describes its keys, for people who find its file, and for programs that check that they look up the right values: pairs
    /// of a name and a value. The names ``field``, ``type`` and ``normalization`` have a meaning, see FORMAT.md.
    fn describe(&self, py: Python<'_>, entries: Vec<(String, String)>) -> PyResult<()> {
        let mut keys = KeyDescription::default();
        for (name, value) in entries {
            keys.push(&name, &value).map_err(Failure::from)?;
        }
        self.inner.write(py).own_mut("describe")?.describe(keys);
        Ok(())
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let found = match small_int(key) {
            Some(int) => self.contains_at_once(key.py(), int),
            None => utf8(key).and_then(|text| self.contains_at_once(key.py(), text)),
        };
        found.map_or_else(|| self.contains_any(key), Ok)
    }

    /// Looks up many keys. Returns a boolean column of the library that the keys came in, or a list.
    ///
    /// The answer to a missing value in a column is null in Arrow and Polars, and False elsewhere. A missing value in a list or
    /// another iterable raises a TypeError. Runs on several threads when there are more than some 100,000 keys.
    #[pyo3(signature = (keys, *, threads=None))]
    fn contains_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.answer(keys, Operation::Contains, columns::threads(threads).get())
    }

    /// Adds a key. Returns True when it was certainly not there before.
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let new = match small_int(key) {
            Some(int) => self.add_at_once(key.py(), int),
            None => utf8(key).and_then(|text| self.add_at_once(key.py(), text)),
        };
        new.map_or_else(|| self.add_any(key), Ok)
    }

    /// Adds many keys. Missing values in a column are left out. Keys of an iterable are added as they come: if one is bad,
    /// those before it stay.
    ///
    /// Columns of more than some 250,000 keys are added on several threads, each with a copy of the filter of at most 6 bytes
    /// per key; to blocked, classic and sliced filters.
    #[pyo3(signature = (keys, *, threads=None))]
    fn add_many(&self, keys: &Bound<'_, PyAny>, threads: Option<Threads>) -> PyResult<()> {
        self.add_all(keys, threads)
    }

    /// Adds many keys in their order. Returns a boolean column like `contains_many`: True for keys that were certainly not
    /// there before. This is how to drop repeats: ``table.filter(seen.add_new(table["url"]))``.
    ///
    /// All keys are checked before the first is added; an iterator is read to its end for that.
    fn add_new<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.answer(keys, Operation::Add, 1)
    }

    /// Looks up rows: of a table that speaks Arrow (pyarrow, Polars, pandas 2.2 or later, DuckDB) by the columns named, or
    /// tuples. Returns a boolean column like `contains_many`.
    ///
    /// In a filter of rows (`Attributes`) the columns are the fields to look up, by name. In any other, the key is made of all
    /// columns, in this order, as by ``umbel filter build --key A --key B``. A field is text: an integer is looked up by its
    /// decimal digits.
    #[pyo3(signature = (rows, columns=Names::default()))]
    fn contains_rows<'py>(
        &self,
        rows: &Bound<'py, PyAny>,
        columns: Names,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.answer_of_rows(rows, columns.0, Operation::Contains)
    }

    /// Adds rows, as `contains_rows` takes them. Returns a boolean column: True for those certainly not there before.
    #[pyo3(signature = (rows, columns=Names::default()))]
    fn add_rows<'py>(
        &self,
        rows: &Bound<'py, PyAny>,
        columns: Names,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.answer_of_rows(rows, columns.0, Operation::Add)
    }

    /// Adds the keys of all others: filters, columns and other iterables, as ``set.update``.
    #[pyo3(signature = (*others))]
    fn update(&self, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        others.iter().try_for_each(|other| match other.cast::<Self>() {
            Ok(other) => self.combine(other, Join::Union),
            Err(_) => self.add_many(&other, None),
        })
    }

    /// Keeps only keys that may be in all others: filters, columns and other iterables, as ``set.intersection_update``. A key
    /// that is in all of them stays; other keys pass by chance.
    #[pyo3(signature = (*others))]
    fn intersection_update(slf: &Bound<'_, Self>, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        others
            .iter()
            .try_for_each(|other| slf.get().combine(&like(slf, &other)?, Join::Intersection))
    }

    /// A new filter of the keys of this one and of all others, as :meth:`update` takes them.
    #[pyo3(signature = (*others))]
    fn union<'py>(
        slf: &Bound<'py, Self>,
        others: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let made = Self::copy(slf)?;
        made.cast::<Self>()?.get().update(others)?;
        Ok(made)
    }

    /// A new filter of the keys that are in this one and in all others, as :meth:`intersection_update` takes them.
    #[pyo3(signature = (*others))]
    fn intersection<'py>(
        slf: &Bound<'py, Self>,
        others: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let made = Self::copy(slf)?;
        Self::intersection_update(made.cast()?, others)?;
        Ok(made)
    }

    /// Whether all keys of this filter may be in the other, or among its keys: False for certain, or maybe.
    fn issubset(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        subset(slf, &like(slf, other)?)
    }

    /// Whether all keys of the other may be in this filter: False for certain, or maybe.
    fn issuperset(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Self>() {
            Ok(other) => subset(other, slf),
            Err(_) => Ok(slf.get().look_up(other)?.all()),
        }
    }

    /// Whether this filter and the other have no key in common: True for certain; False if they may have one.
    ///
    /// The answer is True only if no bit is set in both, so it is nearly always False for filters of many keys; :func:`compare`
    /// estimates how many keys they share.
    fn isdisjoint(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Self>() {
            Ok(other) => {
                let found = slf.get().inner.look_at_both(&other.get().inner, slf.py(), compared)?;
                Ok(found.shared_bits == 0)
            }
            Err(_) => Ok(!slf.get().look_up(other)?.any()),
        }
    }

    /// Shrinks a filter that turned out too large, at its planned rate, to room for `keys` keys, or for the estimated number of
    /// keys in it if that is certainly more. Its size is divided by one of its divisors: large sizes have many, but sizes below 128 KiB
    /// may have none that keeps the rate, and the filter then stays as it is.
    ///
    /// Blocked, classic, sliced and counting filters shrink; others raise a `ValueError`.
    #[pyo3(signature = (keys=0))]
    fn shrink_to(&self, py: Python<'_>, keys: u64) -> PyResult<()> {
        let shrunk =
            |inner: &mut Inner| inner.own_mut("shrink_to")?.shrink_to(keys).map_err(Failure::from);
        Ok(self.inner.change(py, shrunk)?)
    }

    /// Removes all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.inner.change(py, |inner| Ok::<_, Failure>(inner.own_mut("clear")?.clear()?))?)
    }

    /// A copy in memory.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let copied = slf.get().inner.look(slf.py(), Inner::copy)?;
        kinds::wrap(slf.py(), copied)
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let copied = slf.get().inner.look(slf.py(), Inner::copy)?;
        kinds::wrap_as(&slf.get_type(), copied, |_| slf.call_method0("__getstate__"))
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let copied = slf.get().inner.look(slf.py(), Inner::copy)?;
        kinds::wrap_as(&slf.get_type(), copied, |made| {
            // An attribute may refer back to the filter.
            if !memo.is_none() {
                memo.set_item(slf.as_ptr() as usize, made)?;
            }
            let state = slf.call_method0("__getstate__")?;
            slf.py().import("copy")?.call_method1("deepcopy", (state, memo))
        })
    }

    /// The number of distinct keys, estimated from its bits; `receipt()` gives the precision.
    fn __len__(&self, py: Python<'_>) -> usize {
        let keys = self.figures(py).keys;
        if keys < usize::MAX as f64 / 2.0 { keys.round() as usize } else { usize::MAX / 2 }
    }

    fn __bool__(&self, py: Python<'_>) -> bool {
        self.inner.look(py, |inner| of_inner!(inner, own => !own.is_empty(), other => other.filter.receipt().set_bits > 0))
    }

    fn __or__<'py>(slf: &Bound<'py, Self>, other: &Bound<'_, Self>) -> PyResult<Bound<'py, PyAny>> {
        combined(slf, other, Join::Union)
    }

    fn __and__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'_, Self>,
    ) -> PyResult<Bound<'py, PyAny>> {
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

    /// The filter's actual performance, computed from its bits: estimated keys, false positive rate, fill.
    fn receipt<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        reported(py, "Receipt", self.figures(py))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{}: {}>", slf.get_type().name()?, slf.get().receipt(slf.py())?))
    }

    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.receipt(py)?.call_method0("_repr_html_")
    }

    /// The bytes of its file: an umbel file, or the file that the other system would write.
    ///
    /// With ``packed=True`` the file of an umbel filter is as small as its bits allow, to be sent; a filter with half of its
    /// bits set does not get smaller. :func:`open` and :func:`from_bytes` read it.
    #[pyo3(signature = (*, packed=false))]
    fn to_bytes<'py>(&self, py: Python<'py>, packed: bool) -> PyResult<Bound<'py, PyBytes>> {
        files::to_bytes(self, py, packed)
    }

    /// The change from this filter to ``new``, a later version of it: small if few keys were added. The holder of this filter
    /// gets the new one with :meth:`patched`.
    fn delta<'py>(&self, py: Python<'py>, new: &Self) -> PyResult<Bound<'py, PyBytes>> {
        let made = self.inner.look_at_both(&new.inner, py, |old, new| {
            sharing::delta(&own_file(old, "delta")?, &own_file(new, "delta")?)
        });
        Ok(PyBytes::new(py, &made?))
    }

    /// The new version of this filter, from a delta made for exactly this one; any other delta is refused. With ``trust``, the
    /// file of a public key, the delta must be signed by its owner; it contains the SHA-256 of the new filter, so the signature
    /// covers the result. ``list``, ``newer_than`` and ``memory`` are as in :func:`open`, ``secret`` is the secret of a keyed
    /// filter.
    #[pyo3(signature = (delta, *, secret=None, trust=None, list=None, newer_than=None, memory=None))]
    fn patched<'py>(
        &self,
        py: Python<'py>,
        delta: Content<'_>,
        secret: Option<Content<'_>>,
        trust: Option<FilePath>,
        list: Option<String>,
        newer_than: Option<u64>,
        memory: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let secret = values::secret(secret)?;
        let (trust, most) = files::checks(trust, list, newer_than, memory)?;
        let delta = delta.bytes();
        let inner = self.inner.look(py, |old| {
            let new = sharing::patched(&own_file(old, "patched")?, delta, trust.as_ref(), most)?;
            files::decode(&new, (None, None), secret.as_ref())
        });
        kinds::wrap(py, inner?)
    }

    /// Writes its file atomically, replacing an existing one. With ``packed=True`` it is packed, as by :meth:`to_bytes`.
    ///
    /// If someone else changed the file since this filter was opened from it, this raises an ``OSError`` rather than undo their
    /// change. :func:`update` takes turns.
    ///
    /// A URL such as ``s3://bucket/seen.umbel`` is written through fsspec, if that is installed.
    #[pyo3(signature = (path, *, packed=false))]
    fn save(slf: &Bound<'_, Self>, path: &Bound<'_, PyAny>, packed: bool) -> PyResult<()> {
        files::save(slf.get(), path, packed)
    }

    /// Pickled as its file. A filter that is keyed by a secret is refused: its file needs the secret to be opened.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let py = slf.py();
        let (format, key_type) = {
            let inner = slf.get().inner.read(py);
            of_inner!(&*inner, own => values::check_unkeyed(own.hasher(), "a filter")?, _other => ());
            match &*inner {
                Inner::Foreign(other) => (
                    Some(other.filter.format().to_string()),
                    other.key_type.map(|key_type| key_type.to_string()),
                ),
                _ => (None, None),
            }
        };
        let file = (slf.get().to_bytes(py, false)?, format, key_type);
        let state = slf.call_method0("__getstate__")?;
        let class = slf.get_type();
        let made = py.import("umbel._umbel")?.getattr("_unpickled")?;
        Ok((made, (class, file.0, file.1, file.2), state))
    }
}

/// The function that makes it; its arguments: class, bytes of the file, format of another system's filter and key type;
/// and the attributes of a class that extends it.
type Pickled<'py> = (
    Bound<'py, PyAny>,
    (Bound<'py, PyType>, Bound<'py, PyBytes>, Option<String>, Option<String>),
    Bound<'py, PyAny>,
);

/// The filter that :meth:`Filter.__reduce__` pickled.
#[pyfunction]
#[pyo3(name = "_unpickled")]
pub(crate) fn unpickled<'py>(
    class: &Bound<'py, PyType>,
    data: Content<'_>,
    format: Option<&str>,
    key_type: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let kinds_of = files::kinds_of(format, key_type)?;
    let bytes = data.bytes();
    let inner = class.py().detach(|| files::decode(bytes, kinds_of, None))?;
    kinds::wrap_as(class, inner, |_| Ok(class.py().None().into_bound(class.py())))
}

/// How two filters become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    Union,
    Intersection,
}

impl Join {
    /// The most new keys that a filter gets by it.
    fn most_new(self) -> usize {
        match self {
            Self::Union => usize::MAX,
            Self::Intersection => 0,
        }
    }
}

impl Filter {
    fn figures(&self, py: Python<'_>) -> Receipt {
        self.inner.look(py, |inner| {
            of_inner!(inner, own => Receipt::of(own.receipt()), other => Receipt::of_foreign(other.filter.receipt()))
        })
    }

    fn combine(&self, other: &Bound<'_, Self>, join: Join) -> PyResult<()> {
        let (py, other) = (other.py(), other.get());
        if std::ptr::eq(self, other) {
            return Ok(());
        }
        self.inner.change_by(&other.inner, py, |ours, theirs| {
            merge(ours, theirs, join)?;
            self.count(join.most_new());
            Ok::<_, Failure>(())
        })?;
        self.warn_if_full(py)
    }
}

fn merge(ours: &mut Inner, theirs: &Inner, join: Join) -> Result<(), Failure> {
    if let Inner::Foreign(ours) = ours {
        return match (theirs, join) {
            (Inner::Foreign(theirs), Join::Union) => Ok(ours.filter.union(&theirs.filter)?),
            (Inner::Foreign(_), Join::Intersection) => Err(not_for(ours, "&")),
            _ => Err(mixed()),
        };
    }
    let ours = ours.own_mut("|")?;
    of_inner!(theirs, theirs => match join {
        Join::Union => ours.union(theirs)?,
        Join::Intersection => ours.intersect(theirs)?,
    }, _other => return Err(mixed()));
    Ok(())
}

/// `other` if it is a filter; otherwise a filter like `slf` of the keys in it.
fn like<'py>(slf: &Bound<'py, Filter>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Filter>> {
    if let Ok(other) = other.cast::<Filter>() {
        return Ok(other.clone());
    }
    let empty = slf.get().inner.look(slf.py(), Inner::empty)?;
    let made = kinds::wrap(slf.py(), empty)?.cast_into::<Filter>()?;
    made.get().add_all(other, None)?;
    Ok(made)
}

fn combined<'py>(
    slf: &Bound<'py, Filter>,
    other: &Bound<'_, Filter>,
    join: Join,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let made = slf.get().inner.look_at_both(&other.get().inner, py, |left, right| {
        let mut made = left.copy()?;
        merge(&mut made, right, join)?;
        Ok::<_, Failure>(made)
    });
    let made = kinds::wrap(py, made?)?;
    let filter = made.cast::<Filter>()?.get();
    filter.count(join.most_new());
    filter.warn_if_full(py)?;
    Ok(made)
}

fn equal(left: &Bound<'_, Filter>, right: &Bound<'_, Filter>) -> PyResult<bool> {
    if left.is(right) {
        return Ok(true);
    }
    let same = left.get().inner.look_at_both(&right.get().inner, left.py(), |left, right| {
        Ok::<_, Failure>(of_inner!(left, left => of_inner!(right, right => left == right, _other => false), left => match right {
            Inner::Foreign(right) => {
                left.filter.format() == right.filter.format()
                    && left.filter.encode()? == right.filter.encode()?
            }
            _ => false,
        }))
    });
    Ok(same?)
}

fn subset(left: &Bound<'_, Filter>, right: &Bound<'_, Filter>) -> PyResult<bool> {
    let found = left.get().inner.look_at_both(&right.get().inner, left.py(), compared)?;
    Ok(found.shared_bits == found.left_bits)
}
