//! Boolean columns, one answer per key, in the library that the keys came in.

use arrow_array::array::{Array, BooleanArray};
use arrow_array::ffi::to_ffi;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use pyo3::types::{PyCapsule, PySlice};

use crate::prelude::*;

/// A boolean Arrow array, for whatever library takes one by Arrow's PyCapsule interface.
#[pyclass(frozen, module = "umbel")]
pub(crate) struct Mask(BooleanArray);

#[pymethods]
impl Mask {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A caller that requests another type gets this one and casts it, as the interface allows.
        drop(requested_schema);
        let (array, schema) =
            to_ffi(&self.0.to_data()).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }
}

/// The library whose type a value has, or whose type its class extends; empty if it is unknown.
pub(crate) fn library(value: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    for class in value.get_type().mro() {
        let Ok(module) = class.getattr("__module__").and_then(|module| module.extract::<String>())
        else {
            continue;
        };
        let root = module.split('.').next().unwrap_or_default();
        if let Some(known) = ["pandas", "polars", "pyarrow"].into_iter().find(|&name| name == root)
        {
            return Ok(known);
        }
    }
    Ok("")
}

/// Whether a column of Polars has Python objects, which other libraries would see as addresses.
pub(crate) fn is_of_objects(column: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(column.getattr_opt("dtype")?.is_some_and(|of| of.to_string() == "Object"))
}

/// Answers as Arrow stores them, 8 per byte.
fn packed(answers: &[bool]) -> BooleanBuffer {
    /// Brings bit 8i of a product's factor to bit 56 + i.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let byte = |eight: &[bool; 8]| {
        (u64::from_le_bytes(eight.map(u8::from)).wrapping_mul(GATHER) >> 56) as u8
    };
    let (eights, rest) = answers.as_chunks::<8>();
    let mut bytes: Vec<u8> = eights.iter().map(byte).collect();
    let mut last = [false; 8];
    last[..rest.len()].copy_from_slice(rest);
    bytes.push(byte(&last));
    BooleanBuffer::new(Buffer::from_vec(bytes), 0, answers.len())
}

/// Answers to the keys of a column, one after the other, and which are null, if any.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) answers: Vec<bool>,
    valid: Option<Vec<bool>>,
}

impl Answers {
    /// Whether all keys that are not null have the answer true.
    pub(crate) fn all(&self) -> bool {
        let there = |i| self.valid.as_ref().is_none_or(|valid| valid[i]);
        self.answers.iter().enumerate().all(|(i, &answer)| answer || !there(i))
    }

    /// Whether a key has the answer true.
    pub(crate) fn any(&self) -> bool {
        self.answers.contains(&true)
    }

    /// Room for more answers, all false; where `valid` is false the key is null.
    pub(crate) fn more(&mut self, length: usize, valid: Option<Vec<bool>>) -> &mut [bool] {
        let start = self.answers.len();
        self.answers.resize(start + length, false);
        if valid.is_some() || self.valid.is_some() {
            let all = self.valid.get_or_insert_with(|| vec![true; start]);
            all.extend(valid.unwrap_or_else(|| vec![true; length]));
        }
        &mut self.answers[start..]
    }
}

/// The container for answers, made before any key changes a filter: otherwise answers could be lost.
pub(crate) enum Container<'py> {
    /// A pyarrow array; if true, a chunked one.
    Arrow(Bound<'py, PyModule>, bool),
    /// A Polars series with a name.
    Polars(Bound<'py, PyModule>, Bound<'py, PyAny>),
    /// An array of NumPy; if true, a scalar array without dimensions.
    NumPy(Bound<'py, PyModule>, bool),
    /// A pandas series with an index and a name, made with NumPy.
    Pandas([Bound<'py, PyModule>; 2], Bound<'py, PyDict>),
    List(Python<'py>),
}

impl<'py> Container<'py> {
    /// The container for a column of keys, or for a table.
    pub(crate) fn of(keys: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = keys.py();
        let column = |keys: &Bound<'py, PyAny>| {
            let dimensions = keys.getattr_opt("ndim")?;
            dimensions.map_or(Ok(false), |dimensions| dimensions.eq(1))
        };
        Ok(match library(keys)? {
            "pyarrow" => Self::Arrow(py.import("pyarrow")?, !keys.hasattr("__arrow_c_array__")?),
            "polars" => {
                // Tables have none.
                let name = match keys.getattr_opt("name")? {
                    Some(name) => name,
                    None => "".into_pyobject(py)?.into_any(),
                };
                Self::Polars(py.import("polars")?, name)
            }
            // An index, or the array inside a series, does not have one.
            "pandas" if keys.hasattr("index")? => {
                let named = PyDict::new(py);
                named.set_item("index", keys.getattr("index")?)?;
                // A table may have a column of this name.
                if column(keys)? {
                    named.set_item("name", keys.getattr("name")?)?;
                }
                Self::Pandas([py.import("pandas")?, py.import("numpy")?], named)
            }
            _ => {
                // Skipped for streams: a relation of DuckDB runs its query for a shape, and has one result at a time.
                let is_stream = keys.hasattr("__arrow_c_stream__")?;
                let shape = if is_stream { None } else { keys.getattr_opt("shape")? };
                let single = shape.is_some_and(|shape| shape.eq(()).unwrap_or(false));
                Self::NumPy(py.import("numpy")?, single)
            }
        })
    }

    /// The answers. Nulls stay null if the library has nulls; otherwise they are false.
    pub(crate) fn filled(self, answers: &Answers) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::List(py) => Ok(PyList::new(py, &answers.answers)?.into_any()),
            Self::Arrow(library, chunked) => {
                let array = library.call_method1("array", (mask(library.py(), answers)?,))?;
                match chunked {
                    true => library
                        .call_method1("chunked_array", (PyList::new(library.py(), [array])?,)),
                    false => Ok(array),
                }
            }
            Self::Polars(library, name) => {
                let series = library.call_method1("Series", (mask(library.py(), answers)?,))?;
                series.call_method1("alias", (name,))
            }
            Self::Pandas([library, numpy], named) => {
                // The index of the answers in front of an error.
                let (index, count) = (named.as_any().get_item("index")?, answers.answers.len());
                if index.len()? > count {
                    let front = PySlice::new(library.py(), 0, count as isize, 1);
                    named.set_item("index", index.get_item(front)?)?;
                }
                library.call_method("Series", (bools(&numpy, &answers.answers)?,), Some(&named))
            }
            Self::NumPy(library, single) => {
                let array = bools(&library, &answers.answers)?;
                if single { array.call_method1("reshape", ((),)) } else { Ok(array) }
            }
        }
    }
}

fn mask<'py>(py: Python<'py>, answers: &Answers) -> PyResult<Bound<'py, Mask>> {
    let array = py.detach(|| {
        let nulls = answers.valid.as_deref().map(NullBuffer::from);
        BooleanArray::new(packed(&answers.answers), nulls)
    });
    Bound::new(py, Mask(array))
}

/// A NumPy array that can be written to.
fn bools<'py>(numpy: &Bound<'py, PyModule>, answers: &[bool]) -> PyResult<Bound<'py, PyAny>> {
    let py = numpy.py();
    let bytes = PyByteArray::new_with(py, answers.len(), |bytes| {
        for (byte, &answer) in bytes.iter_mut().zip(answers) {
            *byte = answer.into();
        }
        Ok(())
    })?;
    let dtype = PyDict::new(py);
    dtype.set_item("dtype", "bool")?;
    numpy.call_method("frombuffer", (bytes,), Some(&dtype))
}
