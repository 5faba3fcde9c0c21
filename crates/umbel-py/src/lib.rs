//! umbel for Python. The module `umbel._umbel`; the package around it is in `python/umbel`.
//!
//! This crate converts Python's values and calls the other crates: it holds no formula and no bit. Bulk work releases the
//! GIL. Filters are behind a lock each, so that any number of threads can use one, also without a GIL.
//!
//! | module | what it alone knows |
//! |---|---|
//! | `keys` | which Python values are keys, and their bytes |
//! | `columns` | keys in lists, buffers and Arrow arrays, and threads over them |
//! | `answers` | boolean columns in the library of the input |
//! | `inner` | the filter behind a Python object: of umbel, mapped, or another system's |
//! | `filter` | what all filters do |
//! | `find` | indexes of many files, and the lines that hold a text |
//! | `kinds` | how each kind is made, and what only it does |
//! | `parquet` | filters for Parquet files that have none |
//! | `parts` | one set in several filters |
//! | `rows` | keys of several fields |
//! | `jobs` | exact set operations on files and iterables of lines |
//! | `sharing` | packed files, deltas and signatures |
//! | `reports` | receipts, plans and comparisons |
//! | `errors` | which Python exception an error becomes |

mod answers;
mod columns;
mod errors;
mod filter;
mod find;
mod inner;
mod jobs;
mod keys;
mod kinds;
mod parquet;
mod parts;
mod reports;
mod rows;
mod sharing;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _umbel {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::answers::Mask;
    #[pymodule_export]
    use super::filter::{Filter, from_bytes, open};
    #[pymodule_export]
    use super::find::{find, index};
    #[pymodule_export]
    use super::jobs::{Lines, Report, job};
    #[pymodule_export]
    use super::kinds::{
        Attributes, Bloom, Bloomier, Cascade, Coded, Counting, Foreign, Map, Scalable, Stable,
        Window,
    };
    #[pymodule_export]
    use super::parquet::parquet;
    #[pymodule_export]
    use super::parts::Parts;
    #[pymodule_export]
    use super::reports::{Choice, Comparison, Receipt, compare, plan};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("FORMATS", umbel_foreign::Format::ALL.map(|format| format.name()).to_vec())
    }
}
