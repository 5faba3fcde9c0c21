//! Boolean columns, one answer per key, in the library that the keys came in.

#![allow(unsafe_code)] // Arrow's PyCapsule interface.

use arrow_array::array::{Array, BooleanArray};
use arrow_array::ffi::to_ffi;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyCapsule, PyDict, PyList};

use crate::errors::Failure;

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
        // Whoever asks for another type gets this one and casts it, as the interface allows.
        drop(requested_schema);
        let (array, schema) =
            to_ffi(&self.0.to_data()).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }
}

/// The name of the library whose type a value has.
pub(crate) fn library(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let module = value.get_type().module()?;
    Ok(module.to_str()?.split('.').next().unwrap_or_default().to_owned())
}

/// Answers as Arrow has them, 8 in a byte.
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

/// Where answers go. It is made before any key changes a filter: answers without a place would be lost.
pub(crate) enum Container<'py> {
    /// A pyarrow array.
    Arrow(Bound<'py, PyModule>),
    /// A chunked one.
    Chunked(Bound<'py, PyModule>),
    Polars(Bound<'py, PyModule>),
    NumPy(Bound<'py, PyModule>),
    /// A pandas series, and its index.
    Pandas(Bound<'py, PyModule>, Bound<'py, PyModule>, Bound<'py, PyAny>),
    List,
}

impl<'py> Container<'py> {
    /// That of a column of keys, or of a table.
    pub(crate) fn of(keys: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = keys.py();
        Ok(match &library(keys)?[..] {
            "pyarrow" if keys.hasattr("chunks")? => Self::Chunked(py.import("pyarrow")?),
            "pyarrow" => Self::Arrow(py.import("pyarrow")?),
            "polars" => Self::Polars(py.import("polars")?),
            // An index, or the array inside of a series, has none.
            "pandas" if keys.hasattr("index")? => {
                Self::Pandas(py.import("pandas")?, py.import("numpy")?, keys.getattr("index")?)
            }
            _ => Self::NumPy(py.import("numpy")?),
        })
    }

    /// The answers: `fill` gives each of `length` keys its own, without the GIL. Where `valid` is false the key is null, and so
    /// is its answer, if the library has nulls; elsewhere it is false.
    pub(crate) fn filled(
        self,
        py: Python<'py>,
        length: usize,
        valid: Option<Vec<bool>>,
        fill: impl FnOnce(&mut [bool]) -> Result<(), Failure> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Self::Arrow(library) | Self::Chunked(library) | Self::Polars(library) = &self {
            let bits = py.detach(|| {
                let mut answers = vec![false; length];
                fill(&mut answers)?;
                Ok::<_, Failure>(packed(&answers))
            })?;
            let nulls = valid.map(NullBuffer::from);
            let mask = Bound::new(py, Mask(BooleanArray::new(bits, nulls)))?;
            if let Self::Polars(_) = self {
                return library.call_method1("Series", (mask,));
            }
            let array = library.call_method1("array", (mask,))?;
            return match self {
                Self::Chunked(_) => {
                    library.call_method1("chunked_array", (PyList::new(py, [array])?,))
                }
                _ => Ok(array),
            };
        }
        let mut result = Ok(());
        let bytes = PyByteArray::new_with(py, length, |bytes| {
            py.detach(|| {
                // SAFETY: all are zero, which is false, and only bools are put there.
                let answers = unsafe {
                    std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len())
                };
                result = fill(answers);
            });
            Ok(())
        })?;
        result?;
        self.of_bools(py, &bytes)
    }

    /// The answers to Python values.
    pub(crate) fn holding(
        self,
        py: Python<'py>,
        answers: Vec<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::List => Ok(PyList::new(py, answers)?.into_any()),
            array => {
                let length = answers.len();
                array.filled(py, length, None, |to| {
                    to.copy_from_slice(&answers);
                    Ok(())
                })
            }
        }
    }

    /// A NumPy array of these bytes, or a series of it.
    fn of_bools(
        self,
        py: Python<'py>,
        bytes: &Bound<'py, PyByteArray>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = |numpy: &Bound<'py, PyModule>| {
            let dtype = PyDict::new(py);
            dtype.set_item("dtype", "bool")?;
            numpy.call_method("frombuffer", (bytes,), Some(&dtype))
        };
        match self {
            Self::Pandas(pandas, numpy, index) => {
                let named = PyDict::new(py);
                named.set_item("index", index)?;
                pandas.call_method("Series", (array(&numpy)?,), Some(&named))
            }
            Self::NumPy(numpy) => array(&numpy),
            _ => unreachable!("Arrow's answers are packed, and a list holds Python's"),
        }
    }
}
