//! Boolean columns, one answer per key, in the library that the keys came in.

#![allow(unsafe_code)] // Arrow's PyCapsule interface.

use arrow_array::array::{Array, BooleanArray};
use arrow_array::ffi::to_ffi;
use arrow_buffer::{BooleanBuffer, NullBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyCapsule, PyDict, PyList};

use crate::errors::Told;

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

/// A column of answers to `keys`, which has `length` of them: `fill` gives each its answer, without the GIL. Where `valid` is
/// false the key is null, and in Arrow its answer too; elsewhere it is false.
pub(crate) fn column<'py>(
    keys: &Bound<'py, PyAny>,
    length: usize,
    valid: Option<Vec<bool>>,
    fill: impl FnOnce(&mut [bool]) -> Result<(), Told> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let py = keys.py();
    let library = library(keys)?;
    match &library[..] {
        "pyarrow" | "polars" => {
            let bits = py.detach(|| {
                let mut answers = vec![false; length];
                fill(&mut answers)?;
                Ok::<_, Told>(BooleanBuffer::from(answers))
            })?;
            let nulls = valid.map(NullBuffer::from);
            let mask = Bound::new(py, Mask(BooleanArray::new(bits, nulls)))?;
            let library = py.import(&library[..])?;
            if library.name()? == "polars" {
                return library.call_method1("Series", (mask,));
            }
            let array = library.call_method1("array", (mask,))?;
            match keys.hasattr("chunks")? {
                true => library.call_method1("chunked_array", (PyList::new(py, [array])?,)),
                false => Ok(array),
            }
        }
        _ => {
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
            let numpy = py.import("numpy")?;
            let dtype = PyDict::new(py);
            dtype.set_item("dtype", "bool")?;
            let array = numpy.call_method("frombuffer", (bytes,), Some(&dtype))?;
            if library == "pandas" {
                let named = PyDict::new(py);
                named.set_item("index", keys.getattr("index")?)?;
                return py.import("pandas")?.call_method("Series", (array,), Some(&named));
            }
            Ok(array)
        }
    }
}
