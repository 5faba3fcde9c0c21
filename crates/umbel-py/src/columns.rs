//! The sources of keys: lists and other iterables, arrays, and streams of Arrow, in parts. Threads over them.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Mutex;

use arrow_array::array::ArrayRef;
use arrow_buffer::NullBuffer;
use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::types::PyMemoryView;
use umbel_io::on_each;

use crate::answers::{is_of_objects, library};
use crate::arrays::{Answer, BATCH, Buffer, PER_THREAD, Piece, Visit, check_type, is_bytes};
use crate::imports::Stream;
use crate::keys::{OneKey, Takes, of_item, small_int, utf8};
use crate::prelude::*;

/// The number of keys from which several threads add them: twice the break-even point.
pub(crate) const MANY: usize = 1 << 18;

/// The remedy for times of NumPy and pandas: the unit of `astype("int64")` alone depends on pandas' version.
pub(crate) const MICROSECONDS: &str =
    "convert it to microseconds since 1970 with astype(\"datetime64[us]\").astype(\"int64\")";

/// The source of keys.
pub(crate) enum Source<'py> {
    Column(Column),
    Stream(Stream),
    /// Python values, handled one by one; in a column, some may be missing.
    Items {
        items: Bound<'py, PyAny>,
        column: bool,
    },
}

impl<'py> Source<'py> {
    /// From any object that holds keys for a filter.
    pub(crate) fn taken(keys: &Bound<'py, PyAny>, takes: Takes) -> PyResult<Self> {
        let source = Self::of(keys)?;
        let of_bytes = match &source {
            Self::Column(column) => column.pieces.iter().any(Piece::is_bytes),
            Self::Stream(stream) => is_bytes(stream.data_type()),
            Self::Items { .. } => false,
        };
        if of_bytes {
            takes.check_bytes()?;
        }
        Ok(source)
    }

    /// From any object that holds keys.
    pub(crate) fn of(keys: &Bound<'py, PyAny>) -> PyResult<Self> {
        refuse_one_key(keys, "use add() or in")?;
        if keys.is_instance_of::<PyDict>() {
            return Ok(Self::Items { items: keys.clone(), column: false });
        }
        let keys = match library(keys)? {
            "pandas" => &of_pandas(keys)?,
            "polars" if is_of_objects(keys)? => {
                return Ok(Self::Items { items: keys.call_method0("to_list")?, column: true });
            }
            // A lazy table, and a scanner of a dataset: their batches.
            "polars" if keys.hasattr("collect_batches")? => {
                &keys.call_method0("collect_batches")?
            }
            "pyarrow" if keys.hasattr("projected_schema")? => &keys.call_method0("to_reader")?,
            _ => keys,
        };
        if let Some(mut stream) = Stream::of(keys)? {
            // A column of objects with one member is not a table.
            if !(keys.hasattr("dtype")? || library(keys)? == "pyarrow" && keys.hasattr("type")?) {
                stream.only_column();
            }
            check_type(stream.data_type())?;
            return Ok(Self::Stream(stream));
        }
        Self::of_buffer(keys)
    }

    /// From an array of NumPy, another buffer, or an iterable.
    fn of_buffer(keys: &Bound<'py, PyAny>) -> PyResult<Self> {
        let numpy = || keys.py().import("numpy");
        let Some(dtype) = keys.getattr_opt("dtype")? else {
            return match PyUntypedBuffer::get(keys) {
                // NumPy handles more buffers: several dimensions, or the other byte order.
                Ok(_) => Self::of_numpy(&numpy()?.call_method1("asarray", (keys,))?),
                Err(error) if keys.is_instance_of::<PyMemoryView>() => Err(error),
                Err(_) => Ok(Self::Items { items: keys.clone(), column: false }),
            };
        };
        if keys.hasattr("tolist")? && dtype.hasattr("kind")? {
            return Self::of_numpy(keys);
        }
        Err(PyTypeError::new_err("an array of this type has no keys; convert it to str or int"))
    }

    fn of_numpy(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        let numpy = array.py().import("numpy")?;
        let mut array = match array.getattr("ndim")?.extract::<usize>()? {
            0 => array.call_method1("reshape", (1,))?,
            _ => array.clone(),
        };
        let dtype = array.getattr("dtype")?;
        let kind: String = dtype.getattr("kind")?.extract()?;
        match &kind[..] {
            // Objects, and text of variable width.
            "O" | "T" => {
                return Ok(Self::Items { items: array.call_method0("tolist")?, column: true });
            }
            // An empty array often has floats only by default.
            _ if array.getattr("shape")?.eq((0,))? => {
                return Ok(Self::Column(Column::new(Vec::new())));
            }
            // Zero-width texts, which fields of structured arrays may be: the bytes of such a buffer do not show their
            // number.
            "S" | "U" | "V" if dtype.getattr("itemsize")?.eq(0)? => {
                return Ok(Self::Items { items: array.call_method0("tolist")?, column: true });
            }
            "V" if dtype.getattr("names")?.is_none() && dtype.getattr("subdtype")?.is_none() => {}
            "i" | "u" | "S" | "U" => {}
            kind => {
                let remedy = match kind {
                    "M" => MICROSECONDS,
                    "f" => {
                        "convert it with astype(\"int64\"); a pandas series with missing values, with astype(\"Int64\")"
                    }
                    "m" => "convert it with astype(\"timedelta64[us]\").astype(\"int64\")",
                    _ => "convert it with astype(\"int64\")",
                };
                return Err(PyTypeError::new_err(format!(
                    "keys are integers, text or bytes; an array of {dtype} has none: {remedy}"
                )));
            }
        }
        let valid = unmasked(&array)?;
        if !dtype.getattr("isnative")?.is_truthy()? {
            array = array.call_method1("astype", (dtype.call_method1("newbyteorder", ("=",))?,))?;
        }
        let array = numpy.call_method1("ascontiguousarray", (array,))?;
        let buffer = Buffer::of(&array, PyUntypedBuffer::get(&array)?, valid)?;
        Ok(Self::Column(Column::new(vec![Piece::Buffer(buffer)])))
    }
}

/// Refuses one key in place of several, although it could be iterated.
pub(crate) fn refuse_one_key(keys: &Bound<'_, PyAny>, remedy: &str) -> PyResult<()> {
    if !is_one_key(keys) {
        return Ok(());
    }
    let name = keys.get_type().name()?;
    Err(PyTypeError::new_err(format!("a {name} is one key; {remedy}, or put it in a list")))
}

fn is_one_key(keys: &Bound<'_, PyAny>) -> bool {
    let bytes = |view: &Bound<'_, PyMemoryView>| {
        let format = view.getattr("format").and_then(|format| format.extract::<String>());
        format.is_ok_and(|format| matches!(&format[..], "B" | "b" | "c"))
    };
    keys.is_instance_of::<PyString>()
        || keys.is_instance_of::<PyBytes>()
        || keys.is_instance_of::<PyByteArray>()
        || keys.cast::<PyMemoryView>().is_ok_and(bytes)
}

/// A column of pandas as an array of NumPy or Arrow.
///
/// Since version 3, pandas makes an Arrow array from any column, but needs pyarrow and one type of objects. The
/// array inside exists in all versions, and is not copied.
fn of_pandas<'py>(keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = keys.py();
    if keys.getattr_opt("ndim")?.is_none_or(|dimensions| !dimensions.eq(1).unwrap_or(false)) {
        return Err(PyTypeError::new_err(
            "a table has rows, not keys; give one of its columns, or use add_rows() and contains_rows()",
        ));
    }
    let dtype = keys.getattr("dtype")?;
    // Only a series and an index have an array inside, but not a multi-level index.
    let array = keys.getattr("array").unwrap_or_else(|_| keys.clone());
    let storage = dtype.getattr_opt("storage")?.map(|storage| storage.to_string());
    if dtype.hasattr("pyarrow_dtype")? || storage.is_some_and(|name| name.contains("pyarrow")) {
        return array.call_method0("__arrow_array__");
    }
    if let Some(categories) = dtype.getattr_opt("categories")? {
        // Without categories, their type is unknown.
        if categories.len()? > 0
            && let Ok(arrow) = py.import("pyarrow")
            && let Ok(dictionary) = arrow.call_method1("array", (&array,))
        {
            return Ok(dictionary);
        }
        return array.call_method1("astype", ("object",));
    }
    match dtype.getattr_opt("numpy_dtype")? {
        // Integers that may be missing: as they are, not as floats.
        Some(numpy) if matches!(&numpy.getattr("kind")?.to_string()[..], "i" | "u") => {
            let missing = array.call_method0("isna")?;
            if !missing.call_method0("any")?.is_truthy()? {
                return array.call_method1("to_numpy", (numpy,));
            }
            let named = PyDict::new(py);
            named.set_item("dtype", numpy)?;
            named.set_item("na_value", 0)?;
            let values = array.call_method("to_numpy", (), Some(&named))?;
            let named = PyDict::new(py);
            named.set_item("mask", missing)?;
            py.import("numpy")?.getattr("ma")?.call_method("array", (values,), Some(&named))
        }
        _ => keys.call_method0("to_numpy"),
    }
}

/// The validity of an array's items, if NumPy has masked some.
fn unmasked(array: &Bound<'_, PyAny>) -> PyResult<Option<NullBuffer>> {
    if !array.hasattr("mask")? {
        return Ok(None);
    }
    let numpy = array.py().import("numpy")?;
    let mask = numpy.getattr("ma")?.call_method1("getmaskarray", (array,))?;
    let mask = numpy.call_method1("ascontiguousarray", (mask, "u1"))?;
    let mask = PyBuffer::<u8>::get(&mask)?.to_vec(array.py())?;
    Ok(Some(mask.into_iter().map(|masked| masked == 0).collect::<Vec<_>>().into()))
}

/// A column of keys that is read without Python.
pub(crate) struct Column {
    pieces: Vec<Piece>,
    length: usize,
}

impl Column {
    fn new(pieces: Vec<Piece>) -> Self {
        let length = pieces.iter().map(Piece::len).sum();
        Self { pieces, length }
    }

    /// From arrays whose values are keys.
    pub(crate) fn of_arrays(arrays: Vec<ArrayRef>) -> Self {
        Self::new(arrays.into_iter().map(Piece::Arrow).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The form of its keys; `None` for no keys, as when all are null.
    pub(crate) fn form(&self) -> Option<KeyForm> {
        let nulls =
            |piece: &Piece| piece.nulls(0..piece.len()).map_or(0, |nulls| nulls.null_count());
        let pieces = self.pieces.iter().filter(|piece| nulls(piece) < piece.len());
        pieces.map(Piece::form).reduce(KeyForm::with)
    }

    /// The validity of its keys, if some are null.
    pub(crate) fn validity(&self) -> Option<Vec<bool>> {
        let nulls: Vec<_> = self.pieces.iter().map(|piece| piece.nulls(0..piece.len())).collect();
        if nulls.iter().all(Option::is_none) {
            return None;
        }
        let mut valid = Vec::with_capacity(self.length);
        for (piece, nulls) in self.pieces.iter().zip(nulls) {
            match nulls {
                Some(nulls) => valid.extend(nulls.iter()),
                None => valid.resize(valid.len() + piece.len(), true),
            }
        }
        Some(valid)
    }

    /// Refuses bytes that are not valid text.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.pieces.iter().try_for_each(Piece::check)
    }

    /// Hands on all keys, in order.
    pub(crate) fn visit(&self, visit: &mut impl Visit) -> Result<(), Failure> {
        self.visit_range(0..self.length, visit)
    }

    /// Hands on one of this many parts of the keys.
    pub(crate) fn visit_part(
        &self,
        part: usize,
        parts: usize,
        visit: &mut impl Visit,
    ) -> Result<(), Failure> {
        let end_of = |part: usize| (self.length as u128 * part as u128 / parts as u128) as usize;
        self.visit_range(end_of(part)..end_of(part + 1), visit)
    }

    /// Hands on the keys of a range.
    pub(crate) fn visit_range(
        &self,
        wanted: Range<usize>,
        visit: &mut impl Visit,
    ) -> Result<(), Failure> {
        let mut at = 0;
        for piece in &self.pieces {
            let length = piece.len();
            let within = |place: usize| place.clamp(at, at + length) - at;
            let range = within(wanted.start)..within(wanted.end);
            if !range.is_empty() {
                piece.visit(range, visit)?;
            }
            at += length;
        }
        Ok(())
    }

    /// Answers all keys, in their order; the answers to nulls are false.
    pub(crate) fn answer_in_order(
        &self,
        answers: &mut [bool],
        answer: &mut impl Answer,
    ) -> Result<(), Failure> {
        let mut rest = answers;
        for piece in &self.pieces {
            let (part, others) = rest.split_at_mut(piece.len());
            rest = others;
            piece.answer(0..piece.len(), part, answer)?;
        }
        Ok(())
    }

    /// Answers all keys, on several threads; the answers to nulls are false.
    pub(crate) fn answer<A: Answer>(
        &self,
        answers: &mut [bool],
        threads: usize,
        start: impl Fn() -> A + Sync,
    ) -> Result<(), Failure> {
        let threads = threads.min(self.length / PER_THREAD);
        if threads < 2 {
            return self.answer_in_order(answers, &mut start());
        }
        let mut tasks = Vec::new();
        let mut rest = answers;
        for piece in &self.pieces {
            let task = piece.task();
            for start in (0..piece.len()).step_by(task) {
                let range = start..piece.len().min(start + task);
                let (part, others) = rest.split_at_mut(range.len());
                rest = others;
                tasks.push((piece, range, part));
            }
        }
        let left = Mutex::new(tasks.into_iter());
        let work = || {
            let mut access = start();
            loop {
                let next = left.lock().expect("the lock is not held over any work").next();
                let Some((piece, range, part)) = next else { return Ok(()) };
                piece.answer(range, part, &mut access)?;
            }
        };
        on_each(threads, work).into_iter().collect()
    }
}

/// The keys of Python values. Values that share a type, as most do, become keys of one type, which takes half the time.
pub(crate) enum Keys<'a> {
    Ints(Vec<i64>),
    Texts(Vec<&'a [u8]>),
    /// `None` for a missing value of a column.
    Any(Vec<Option<OneKey<'a>>>),
}

impl<'a> Keys<'a> {
    /// The keys in front of the first value that is not a key, and its error. In a `column`, values may be missing.
    pub(crate) fn of(
        values: &'a [Bound<'_, PyAny>],
        column: bool,
        takes: Takes,
    ) -> (Self, PyResult<()>) {
        if let Some(ints) = values.iter().map(small_int).collect() {
            return (Self::Ints(ints), Ok(()));
        }
        if let Some(texts) = values.iter().map(utf8).collect() {
            return (Self::Texts(texts), Ok(()));
        }
        let mut keys = Vec::with_capacity(values.len());
        for value in values {
            let key = match column {
                true => of_item(value, takes),
                false => OneKey::of(value, takes).map(Some),
            };
            match key {
                Ok(key) => keys.push(key),
                Err(error) => return (Self::Any(keys), Err(error)),
            }
        }
        (Self::Any(keys), Ok(()))
    }

    /// The validity, if some are missing.
    pub(crate) fn valid(&self) -> Option<Vec<bool>> {
        match self {
            Self::Any(keys) if keys.iter().any(Option::is_none) => {
                Some(keys.iter().map(Option::is_some).collect())
            }
            _ => None,
        }
    }

    /// Hands on all that are not missing.
    pub(crate) fn visit(&self, visit: &mut impl Visit) -> Result<(), Failure> {
        match self {
            Self::Ints(ints) => visit.visit(ints),
            Self::Texts(texts) => visit.visit(texts),
            Self::Any(keys) => {
                visit.visit(&keys.iter().flatten().map(OneKey::key).collect::<Vec<_>>())
            }
        }
    }
}

/// Hands on the keys of a Python iterable, in batches, with the GIL, up to the first bad one. In a `column`, values may
/// be missing.
pub(crate) fn visit_items(
    items: &Bound<'_, PyAny>,
    column: bool,
    takes: Takes,
    visit: &mut impl Visit,
) -> PyResult<()> {
    let mut values = Values::of(items)?;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        batch.clear();
        let more = values.fill(&mut batch, BATCH);
        let (keys, end) = Keys::of(&batch, column, takes);
        keys.visit(visit)?;
        end?;
        if !more? {
            return Ok(());
        }
        items.py().check_signals()?;
    }
}

/// As many threads as requested, or as there are processors.
pub(crate) fn threads(asked: Option<Threads>) -> NonZeroUsize {
    asked
        .map(|asked| asked.0)
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN)
}
