//! How each kind of filter is made, and the methods that only it has.

use pyo3::PyClass;
use umbel::{
    AnyFilter, Bloomier as Static, Filter as _, Form, Growth, KeyHash, KeyHasher, Kind, Plan, Tags,
    Variant,
};
use umbel_foreign::{Format, Parameters};

use crate::arrays::Answer;
use crate::columns::{Column, Source, visit_items};
use crate::filter::Filter;
use crate::inner::{
    Access, Hashes, Inner, Operation, Other, form, form_of_rows, note_form, note_keys, of_inner,
    of_kind,
};
use crate::keys::{OneKey, Takes, in_form};
use crate::prelude::*;
use crate::values::{Content, Names, Number, count, hasher, name_of, size};

/// A Python object of the class for the filter's kind.
pub(crate) fn wrap(py: Python<'_>, inner: Inner) -> PyResult<Bound<'_, PyAny>> {
    let is_map = match &inner {
        Inner::Own(AnyFilter::Bloomier(filter)) => filter.value_bits() > 0,
        Inner::Mapped(AnyFilter::Bloomier(filter)) => filter.value_bits() > 0,
        _ => false,
    };
    let kind = inner.kind();
    let filter = Filter::new(inner);
    Ok(match kind {
        None => Bound::new(py, extended(filter, Foreign))?.into_any(),
        Some(Kind::Counting) => Bound::new(py, extended(filter, Counting))?.into_any(),
        Some(Kind::Scalable) => Bound::new(py, extended(filter, Scalable))?.into_any(),
        Some(Kind::Stable) => Bound::new(py, extended(filter, Stable))?.into_any(),
        Some(Kind::Window) => Bound::new(py, extended(filter, Window))?.into_any(),
        Some(Kind::Bloomier) if is_map => Bound::new(py, extended(filter, Map))?.into_any(),
        Some(Kind::Bloomier) => Bound::new(py, extended(filter, Bloomier))?.into_any(),
        Some(Kind::Attributes) => Bound::new(py, extended(filter, Attributes))?.into_any(),
        Some(Kind::Coded) => Bound::new(py, extended(filter, Coded))?.into_any(),
        Some(Kind::Cascade) => Bound::new(py, extended(filter, Cascade))?.into_any(),
        Some(_) => Bound::new(py, extended(filter, Bloom))?.into_any(),
    })
}

/// As [`wrap`], but of a class that may extend the kind's class. `state` is what ``__getstate__`` returned: the
/// attributes of the object, unless the class has a ``__setstate__`` that takes something else.
pub(crate) fn wrap_as<'py>(
    class: &Bound<'py, PyType>,
    inner: Inner,
    state: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    // Other classes cannot be extended.
    let bloom = py.get_type::<Bloom>();
    if class.is(&bloom) || !class.is_subclass(&bloom)? {
        return wrap(py, inner);
    }
    let made = bloom.call_method1("__new__", (class, 1))?;
    made.cast::<Filter>()?.get().replace(py, inner);
    let state = state(&made)?;
    if !state.is_none() && made.hasattr("__setstate__")? {
        made.call_method1("__setstate__", (state,))?;
        return Ok(made);
    }
    // The attributes in the dictionary; with slots, a pair of these and the attributes in slots.
    let both = match state.cast::<PyTuple>() {
        Ok(pair) => [pair.get_item(0)?, pair.get_item(1)?],
        Err(_) => [state, py.None().into_bound(py)],
    };
    for attributes in both.iter().filter_map(|attributes| attributes.cast::<PyDict>().ok()) {
        for (name, value) in attributes {
            made.setattr(name.cast::<PyString>()?, value)?;
        }
    }
    Ok(made)
}

/// The plan from two of these three; the rate defaults to 1 %.
fn plan_of(
    variant: Variant,
    keys: Number<'_>,
    fpp: Option<f64>,
    memory: Number<'_>,
) -> PyResult<Plan> {
    let keys = keys.map(|keys| count(&keys, "keys")).transpose()?;
    let memory = memory.map(|memory| size(&memory, "memory")).transpose()?;
    let plan = match (keys, fpp, memory) {
        (Some(_), Some(_), Some(_)) => {
            return Err(PyValueError::new_err(
                "keys, fpp and memory: two of them determine the third; leave one out",
            ));
        }
        (Some(keys), fpp, None) => Plan::for_keys(variant, keys, fpp.unwrap_or(0.01)),
        (Some(keys), None, Some(memory)) => Plan::for_memory(variant, keys, memory),
        (None, Some(fpp), Some(memory)) => Plan::for_capacity(variant, fpp, memory),
        (None, _, _) => {
            return Err(PyTypeError::new_err("give the number of keys, or fpp and memory"));
        }
    };
    Ok(plan.map_err(Failure::from)?)
}

fn of_plan(plan: &Plan, seed: u64, secret: Option<Content<'_>>) -> PyResult<Filter> {
    let filter = AnyFilter::with_plan(plan, hasher(seed, secret)?).map_err(Failure::from)?;
    Ok(Filter::empty(Inner::Own(filter)))
}

/// A filter as an object of a kind's class.
fn extended<T: PyClass<BaseType = Filter>>(filter: Filter, class: T) -> PyClassInitializer<T> {
    PyClassInitializer::from(filter).add_subclass(class)
}

/// A filter that may have keys already.
fn filled<E>(made: Result<AnyFilter, E>, form: Option<KeyForm>) -> PyResult<Filter>
where
    Failure: From<E>,
{
    let mut made = made.map_err(Failure::from)?;
    if let Some(form) = form {
        made.describe(form.into());
    }
    Ok(Filter::new(Inner::Own(made)))
}

/// The hashes of all keys, and their form.
fn hashes(keys: &Bound<'_, PyAny>, hasher: KeyHasher) -> PyResult<(Vec<KeyHash>, Option<KeyForm>)> {
    let mut all = Hashes { hasher, hashes: Vec::new(), form: None };
    let py = keys.py();
    match Source::of(keys)? {
        Source::Column(column) => py.detach(|| column.visit(&mut all))?,
        Source::Stream(mut stream) => {
            while let Some(arrays) = stream.next(py)? {
                py.detach(|| Column::of_arrays(arrays).visit(&mut all))?;
            }
        }
        Source::Items { items, column } => visit_items(&items, column, Takes::Own, &mut all)?,
    }
    Ok((all.hashes, all.form))
}

/// A filter of a fixed size.
///
/// ``kind`` is ``"blocked"`` (the fastest), ``"classic"`` (the fewest bits) or ``"sliced"``. Two of ``keys``, ``fpp`` and
/// ``memory`` give the third; the rate is 1 % when only the keys are given. Keys that others choose need a ``secret`` of 16
/// bytes.
///
/// >>> import umbel
/// >>> seen = umbel.Bloom(1_000_000, 0.01)
/// >>> seen.add("https://example.org/")
/// True
/// >>> "https://example.org/" in seen
/// True
#[pyclass(extends = Filter, frozen, subclass, module = "umbel")]
pub(crate) struct Bloom;

#[pymethods]
impl Bloom {
    #[new]
    #[pyo3(signature = (keys=None, fpp=None, *, kind="blocked", memory=None, seed=0, secret=None))]
    fn new(
        keys: Number<'_>,
        fpp: Option<f64>,
        kind: &str,
        memory: Number<'_>,
        seed: u64,
        secret: Option<Content<'_>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let variant = match kind {
            "blocked" => Variant::Blocked,
            "classic" => Variant::Classic,
            "sliced" => Variant::Sliced,
            other => {
                return Err(PyValueError::new_err(format!(
                    "kind: expected blocked, classic or sliced, found {other}; other kinds have classes of their own"
                )));
            }
        };
        Ok(extended(of_plan(&plan_of(variant, keys, fpp, memory)?, seed, secret)?, Self))
    }
}

/// A filter that keys can be removed from: a counter of ``bits`` bits (4, 8 or 16) in place of each bit.
///
/// Remove only keys that were added, and only as often as they were added: removing a false positive removes part of other keys.
#[pyclass(extends = Filter, frozen, module = "umbel")]
pub(crate) struct Counting;

#[pymethods]
impl Counting {
    #[new]
    #[pyo3(signature = (keys=None, fpp=None, *, bits=4, memory=None, seed=0, secret=None))]
    fn new(
        keys: Number<'_>,
        fpp: Option<f64>,
        bits: u32,
        memory: Number<'_>,
        seed: u64,
        secret: Option<Content<'_>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let plan = plan_of(Variant::Counting { counter_bits: bits }, keys, fpp, memory)?;
        Ok(extended(of_plan(&plan, seed, secret)?, Self))
    }

    /// Removes a key once. Returns False when it was certainly not there; nothing has changed then.
    fn remove(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = OneKey::of(key, Takes::Own)?;
        let mut answer = [false];
        let mut inner = slf.as_super().get().inner.write(slf.py());
        Access::Write(&mut inner, Operation::Remove).answer(&[key.key()], &mut answer)?;
        Ok(answer[0])
    }

    /// Removes many keys, each once. Returns a boolean column like `contains_many`: False for keys that were certainly not
    /// there.
    fn remove_many<'py>(
        slf: &Bound<'py, Self>,
        keys: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.as_super().get().answer(keys, Operation::Remove, 1)
    }

    /// How often a key was added and not removed, at most; counters stop at their highest value.
    fn count(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<u32> {
        let key = OneKey::of(key, Takes::Own)?;
        let inner = slf.as_super().get().inner.read(slf.py());
        Ok(of_kind!(&*inner, Counting(filter) => {
            in_form!(form(filter.description())?, &[key.key()], false, keys => filter.count(keys[0]))
        }))
    }

    /// A blocked filter of the same keys: a quarter of the size, or less.
    fn to_bloom<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let blocked = slf.as_super().get().inner.look(py, |inner| {
            of_inner!(inner, own => own.convert(Kind::Blocked), _other => unreachable!("it counts"))
        });
        wrap(py, Inner::Own(blocked.map_err(Failure::from)?))
    }
}

/// A filter that grows: its rate holds however many keys come. ``keys`` is how many come at first; each further part is for
/// twice as many as the one before, or with ``even=True`` for as many.
#[pyclass(extends = Filter, frozen, module = "umbel")]
pub(crate) struct Scalable;

#[pymethods]
impl Scalable {
    #[new]
    #[pyo3(signature = (keys=None, fpp=None, *, even=false, memory=None, seed=0, secret=None))]
    fn new(
        keys: Number<'_>,
        fpp: Option<f64>,
        even: bool,
        memory: Number<'_>,
        seed: u64,
        secret: Option<Content<'_>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let growth = if even { Growth::Even } else { Growth::Doubling };
        let plan = plan_of(Variant::Scalable { growth }, keys, fpp, memory)?;
        Ok(extended(of_plan(&plan, seed, secret)?, Self))
    }

    /// Bytes that it may grow to: an int, or text such as "1GiB". A key for which it would have to grow further is refused
    /// with a ValueError.
    fn set_limit(slf: &Bound<'_, Self>, memory: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = size(memory, "memory")?;
        slf.as_super().get().inner.write(slf.py()).own_mut("set_limit")?.set_limit(bytes);
        Ok(())
    }
}

/// A filter of the last ``keys`` keys added, none of which it misses; older ones are forgotten.
///
/// With ``span`` it holds the keys of the last ``span`` ticks, and ``keys`` is the most keys expected in that time. You choose the
/// unit of a tick, and must keep it: a second, a block, a batch. A tick far ahead, such as one in milliseconds after others in
/// seconds, makes it forget all keys; it then forgets none until the clock catches up.
#[pyclass(extends = Filter, frozen, module = "umbel")]
pub(crate) struct Window;

#[pymethods]
impl Window {
    #[new]
    #[pyo3(signature = (keys=None, fpp=None, *, generations=4, span=None, memory=None, seed=0, secret=None))]
    fn new(
        keys: Number<'_>,
        fpp: Option<f64>,
        generations: u32,
        span: Option<u64>,
        memory: Number<'_>,
        seed: u64,
        secret: Option<Content<'_>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let plan = plan_of(Variant::Window { generations }, keys, fpp, memory)?;
        let filter = match span {
            None => of_plan(&plan, seed, secret)?,
            Some(span) => {
                let window = umbel::Window::by_time(&plan, hasher(seed, secret)?, span);
                filled(window.map(AnyFilter::Window), None)?
            }
        };
        Ok(extended(filter, Self))
    }

    /// Adds a key at a tick. Returns True when it was certainly not there before.
    fn add_at(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>, tick: u64) -> PyResult<bool> {
        let key = OneKey::of(key, Takes::Own)?;
        let add = |inner: &mut Inner| {
            let own = inner.own_mut("add_at")?;
            let form = note_keys(own, Some(key.key().form()))?;
            let window = window(inner)?;
            Ok(in_form!(form, &[key.key()], true, keys => window.insert_at(keys[0], tick)?))
        };
        slf.as_super().get().add_by(slf.py(), add)
    }

    /// Adds many keys, each at a tick of a column as long, or all at one. Returns a boolean column like `contains_many`: True for
    /// keys that were certainly not there before.
    fn add_new_at<'py>(
        slf: &Bound<'py, Self>,
        keys: &Bound<'py, PyAny>,
        ticks: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("umbel._tables")?.call_method1("add_new_at", (slf, keys, ticks))
    }

    /// Sets the time to a tick, and forgets what is too old then. An earlier tick changes nothing.
    fn advance(slf: &Bound<'_, Self>, tick: u64) -> PyResult<()> {
        let mut inner = slf.as_super().get().inner.write(slf.py());
        Ok(window(&mut inner)?.advance(tick).map_err(Failure::from)?)
    }

    /// Ticks of the window; None when it is of a number of keys.
    #[getter]
    fn span(slf: &Bound<'_, Self>) -> Option<u64> {
        of_kind!(&*slf.as_super().get().inner.read(slf.py()), Window(filter) => filter.span())
    }
}

fn window(inner: &mut Inner) -> Result<&mut umbel::Window, Failure> {
    match inner.own_mut("advance")? {
        AnyFilter::Window(filter) => Ok(filter),
        _ => unreachable!("the class is of window filters"),
    }
}

/// A filter of constant size for an endless stream: it forgets at random, the oldest keys first, and remembers the last
/// ``keys`` ones with a chance of at least 99 % each.
#[pyclass(extends = Filter, frozen, module = "umbel")]
pub(crate) struct Stable;

#[pymethods]
impl Stable {
    #[new]
    #[pyo3(signature = (keys=None, fpp=None, *, cell_bits=4, memory=None, seed=0, secret=None))]
    fn new(
        keys: Number<'_>,
        fpp: Option<f64>,
        cell_bits: u32,
        memory: Number<'_>,
        seed: u64,
        secret: Option<Content<'_>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let plan = plan_of(Variant::Stable { cell_bits }, keys, fpp, memory)?;
        Ok(extended(of_plan(&plan, seed, secret)?, Self))
    }
}

/// A filter of codes of ``bits`` bits, for rates of 1e-6 and below.
#[pyclass(extends = Filter, frozen, module = "umbel")]
pub(crate) struct Coded;

#[pymethods]
impl Coded {
    #[new]
    #[pyo3(signature = (keys=None, fpp=None, *, bits=None, memory=None, seed=0, secret=None))]
    fn new(
        keys: Number<'_>,
        fpp: Option<f64>,
        bits: Option<u32>,
        memory: Number<'_>,
        seed: u64,
        secret: Option<Content<'_>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let plan = plan_of(Variant::Coded { code_bits: bits }, keys, fpp, memory)?;
        Ok(extended(of_plan(&plan, seed, secret)?, Self))
    }
}

/// The smallest filter, built from all its keys; none can be added later.
///
/// >>> import umbel
/// >>> cities = umbel.Bloomier(["Bern", "Basel"], 0.001)
/// >>> "Bern" in cities
/// True
#[pyclass(extends = Filter, frozen, module = "umbel")]
pub(crate) struct Bloomier;

#[pymethods]
impl Bloomier {
    #[new]
    #[pyo3(signature = (keys, fpp=0.01, *, seed=0, secret=None))]
    fn new(
        keys: &Bound<'_, PyAny>,
        fpp: f64,
        seed: u64,
        secret: Option<Content<'_>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let hasher = hasher(seed, secret)?;
        let (hashes, form) = hashes(keys, hasher.clone())?;
        let built = keys.py().detach(|| {
            let plan = Plan::for_keys(Kind::Bloomier, hashes.len().max(1) as u64, fpp)?;
            Static::build(&plan, &hashes, hasher)
        });
        Ok(extended(filled(built.map(AnyFilter::Bloomier), form)?, Self))
    }
}

/// A static map from keys to integers, in some bits per key more than the values have: it does not keep the keys.
///
/// A key that is not in it gets None, or with the chance ``fpp`` any value.
///
/// >>> import umbel
/// >>> codes = umbel.Map({"Bern": 31, "Basel": 61})
/// >>> codes["Basel"]
/// 61
#[pyclass(extends = Filter, frozen, module = "umbel")]
pub(crate) struct Map;

#[pymethods]
impl Map {
    #[new]
    #[pyo3(signature = (items, fpp=0.0001, *, seed=0, secret=None))]
    fn new(
        items: &Bound<'_, PyAny>,
        fpp: f64,
        seed: u64,
        secret: Option<Content<'_>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let hasher = hasher(seed, secret)?;
        // A dict, another mapping, or a series of pandas.
        let items = match items.getattr_opt("items")? {
            Some(pairs) => pairs.call0()?,
            None => items.clone(),
        };
        let plan = Plan::for_keys(Kind::Bloomier, 1, fpp).map_err(Failure::from)?;
        let Variant::Bloomier { fingerprint_bits: Some(fingerprint), .. } = plan.variant() else {
            unreachable!("a plan has its bits");
        };
        let room = 64 - fingerprint;
        let (mut pairs, mut form) = (Vec::new(), None::<KeyForm>);
        for item in Values::of(&items)? {
            let item = item?;
            let pair: PyResult<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = item.extract();
            let (key, value) = pair.map_err(|_| {
                PyTypeError::new_err(format!(
                    "an item is a pair of a key and an int, not {item:?}; give a dict, a series of pandas, or zip(keys, values)"
                ))
            })?;
            let one = OneKey::of(&key, Takes::Own)?;
            form = form.into_iter().chain([one.key().form()]).reduce(KeyForm::with);
            let hash = hasher.hash(one.key());
            let number = value.extract::<u64>().ok().filter(|number| number >> room == 0);
            let number = number.ok_or_else(|| not_in_map(&key, &value, room, fpp))?;
            pairs.push((hash, number));
        }
        let widest = pairs.iter().map(|(_, value)| 64 - value.leading_zeros()).max();
        let map = Static::build_map(&pairs, widest.unwrap_or(0).max(1), fingerprint, hasher);
        Ok(extended(filled(map.map(AnyFilter::Bloomier), form)?, Self))
    }

    /// The value of a key; `default` when it is certainly not there.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match Self::value(slf, key)? {
            Some(value) => Some(value.into_pyobject(slf.py())?.into_any()),
            None => default,
        })
    }

    /// The values of many keys, in the library of the column that they come in: missing, or `default`, for those certainly not there.
    #[pyo3(signature = (keys, default=None))]
    fn get_many<'py>(
        slf: &Bound<'py, Self>,
        keys: &Bound<'py, PyAny>,
        default: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("umbel._tables")?.call_method1("get_many", (slf, keys, default))
    }

    /// A map does not keep its keys. Without this, Python would try 0, 1, 2 and so on.
    #[classattr]
    #[pyo3(name = "__iter__")]
    const ITER: Option<()> = None;
    #[classattr]
    #[pyo3(name = "__reversed__")]
    const REVERSED: Option<()> = None;

    fn __getitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        Self::value(slf, key)?.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }
}

/// The error of a value that needs more bits than the map has.
fn not_in_map(key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>, room: u32, fpp: f64) -> PyErr {
    // Also integers of NumPy.
    if value.call_method0("__index__").is_err() {
        let name = name_of(value);
        return PyTypeError::new_err(format!("the value of {key:?} must be an int, not {name}"));
    }
    PyValueError::new_err(format!(
        "the value of {key:?} is {value}: with fpp={fpp}, a map has values from 0 to 2**{room} - 1; \
         number the values and keep them in a list, or give a higher fpp"
    ))
}

impl Map {
    fn value(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let key = OneKey::of(key, Takes::Own)?;
        let inner = slf.as_super().get().inner.read(slf.py());
        Ok(of_kind!(&*inner, Bloomier(map) => {
            in_form!(form(map.description())?, &[key.key()], false, keys => map.get(keys[0]))
        }))
    }
}

/// A filter of rows of several fields, any of which can be looked up: ``names`` are the fields, ``keys`` the rows expected.
///
/// ``tags`` is ``"row"`` (values of different rows do not pass together as a whole row), ``"subsets"`` (nor as any two or more
/// fields) or ``"none"``.
///
/// >>> import umbel
/// >>> bought = umbel.Attributes(["user", "item"], 1000)
/// >>> bought.add_row("ann", "book")
/// True
/// >>> bought.contains_row(user="ann")
/// True
/// >>> bought.contains_row(user="bob", item="book")
/// False
#[pyclass(extends = Filter, frozen, module = "umbel")]
pub(crate) struct Attributes;

#[pymethods]
impl Attributes {
    #[new]
    #[pyo3(signature = (names, keys=None, fpp=None, *, tags="row", classic=false, memory=None, seed=0, secret=None))]
    fn new(
        names: Names,
        keys: Number<'_>,
        fpp: Option<f64>,
        tags: &str,
        classic: bool,
        memory: Number<'_>,
        seed: u64,
        secret: Option<Content<'_>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let names = names.0;
        let tags = match tags {
            "none" => Tags::None,
            "row" => Tags::Row,
            "subsets" => Tags::Subsets,
            other => {
                return Err(PyValueError::new_err(format!(
                    "tags: expected row, subsets or none, found {other}"
                )));
            }
        };
        let variant = Variant::Attributes { tags, classic };
        let memory = match memory {
            None => None,
            Some(memory) => {
                let each = variant.share(names.len(), size(&memory, "memory")?);
                Some(each.into_pyobject(memory.py())?.into_any())
            }
        };
        let plan = plan_of(variant, keys, fpp, memory)?;
        let filter = umbel::Attributes::with_names(&plan, &names, hasher(seed, secret)?);
        Ok(extended(
            Filter::empty(Inner::Own(AnyFilter::Attributes(filter.map_err(Failure::from)?))),
            Self,
        ))
    }

    /// The names of the fields, in the order of a row.
    #[getter]
    fn names(slf: &Bound<'_, Self>) -> Vec<String> {
        let inner = slf.as_super().get().inner.read(slf.py());
        of_kind!(&*inner, Attributes(filter) => filter.names().to_vec())
    }

    /// Adds a row, a value for each field in their order. Returns True when it was certainly not there before.
    #[pyo3(signature = (*values))]
    fn add_row(slf: &Bound<'_, Self>, values: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let values =
            values.iter().map(|value| crate::rows::field(&value)).collect::<PyResult<Vec<_>>>()?;
        slf.as_super().get().add_by(slf.py(), |inner| {
            let own = inner.own_mut("add_row")?;
            note_form(own, form_of_rows, Some(KeyForm::Text))?;
            match own {
                AnyFilter::Attributes(rows) => Ok(rows.insert_row(&values)?),
                _ => unreachable!("the class says the kind"),
            }
        })
    }

    /// Whether a row with these values may be there; fields without a value are not looked at.
    #[pyo3(signature = (**values))]
    fn contains_row(slf: &Bound<'_, Self>, values: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
        let mut names: Vec<String> = Vec::new();
        let mut given = Vec::new();
        for (name, value) in values.into_iter().flatten() {
            names.push(name.extract()?);
            given.push(crate::rows::field(&value)?);
        }
        crate::rows::contains_row(&slf.as_super().get().inner.read(slf.py()), &names, given)
    }
}

/// A filter without errors on two lists, built from both: every key of ``included`` passes, no key of ``excluded`` does, and other
/// keys pass with probability ``fpp``.
///
/// ``exact_list=True`` keeps one filter and a list of the excluded keys that it wrongly lets pass.
#[pyclass(extends = Filter, frozen, module = "umbel")]
pub(crate) struct Cascade;

#[pymethods]
impl Cascade {
    #[new]
    #[pyo3(signature = (included, excluded, fpp=0.01, *, exact_list=false, seed=0, secret=None))]
    fn new(
        included: &Bound<'_, PyAny>,
        excluded: &Bound<'_, PyAny>,
        fpp: f64,
        exact_list: bool,
        seed: u64,
        secret: Option<Content<'_>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let hasher = hasher(seed, secret)?;
        let (included_hashes, included_form) = hashes(included, hasher.clone())?;
        let (excluded_hashes, excluded_form) = hashes(excluded, hasher.clone())?;
        // Both are asked for.
        let form_of_both = included_form.into_iter().chain(excluded_form).reduce(KeyForm::with);
        let form = if exact_list { Form::List } else { Form::Levels };
        let built = included.py().detach(|| {
            let [n, s] = [&included_hashes, &excluded_hashes].map(|list| list.len() as u64);
            let plan = Plan::for_lists(Variant::Cascade { form }, n.max(1), s, fpp)?;
            umbel::Cascade::build_with_plan(&plan, &included_hashes, &excluded_hashes, hasher)
        });
        Ok(extended(filled(built.map(AnyFilter::Cascade), form_of_both)?, Self))
    }
}

/// A filter of another system, byte for byte as that system makes it: ``format`` is one of `umbel.FORMATS`.
///
/// ``key_type`` is how that system hashes keys, such as ``"utf16"`` for Java strings; by default the type of each value decides.
///
/// >>> import umbel
/// >>> words = umbel.Foreign("guava", 1000, 0.01)
/// >>> words.add("apple")
/// True
/// >>> words.to_bytes()[:2]
/// b'\x01\x07'
#[pyclass(extends = Filter, frozen, module = "umbel")]
pub(crate) struct Foreign;

#[pymethods]
impl Foreign {
    #[new]
    #[pyo3(signature = (
        format, keys=None, fpp=None, *, key_type=None, bits=None, bits_per_key=None, probes=None, seed=None, growth=None,
        bucket_size=None, max_iterations=None, salts=Vec::new(), options=Names::default()
    ))]
    fn new(
        format: &str,
        keys: Number<'_>,
        fpp: Option<f64>,
        key_type: Option<&str>,
        bits: Option<u64>,
        bits_per_key: Option<f64>,
        probes: Option<u32>,
        seed: Option<i64>,
        growth: Option<u32>,
        bucket_size: Option<u32>,
        max_iterations: Option<u32>,
        salts: Vec<Vec<u8>>,
        options: Names,
    ) -> PyResult<PyClassInitializer<Self>> {
        let format: Format = format.parse().map_err(Failure::from)?;
        let key_type = key_type.map(str::parse::<KeyType>).transpose().map_err(Failure::from)?;
        let keys = keys.map(|keys| count(&keys, "keys")).transpose()?;
        let given = Parameters {
            keys,
            fpp,
            bits,
            bits_per_key,
            probes,
            seed,
            growth,
            bucket_size,
            max_iterations,
            salts,
            options: options.0,
        };
        let filter = umbel_foreign::Foreign::new(format, &given).map_err(Failure::from)?;
        Ok(extended(Filter::new(Inner::Foreign(Other { filter, key_type })), Self))
    }

    /// Does what the system's writer does after the last key, such as folding a Parquet filter. Nothing for most.
    fn finish(slf: &Bound<'_, Self>) -> PyResult<()> {
        use umbel_foreign::ForeignInsert;
        match &mut *slf.as_super().get().inner.write(slf.py()) {
            Inner::Foreign(other) => Ok(other.filter.finish().map_err(Failure::from)?),
            _ => unreachable!("the class is of other systems' filters"),
        }
    }
}
