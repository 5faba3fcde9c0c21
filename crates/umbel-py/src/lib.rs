//! umbel for Python. The module `umbel._umbel`; the package around it is in `python/umbel`.
//!
//! This crate converts Python's values and calls the other crates, which have the formulas and the bits. Bulk work releases the
//! GIL. Each filter has a lock, so any number of threads can use it. Pythons without a GIL are untested, and refused.
//!
//! | module | what it alone knows |
//! |---|---|
//! | `errors` | which Python exception an error becomes |
//! | `values` | arguments that many functions take |
//! | `calls` | calls of Python code that others wrote, and how they end |
//! | `fork` | how forks wait for threads without the GIL |
//! | `lock` | who may look at a filter or change it, with the GIL and without |
//! | `answers` | boolean columns in the library of the input |
//! | `keys` | which Python values are keys, and their bytes |
//! | `arrays` | keys in buffers and Arrow arrays |
//! | `imports` | which arrays of other libraries can be read |
//! | `columns` | where keys come from, and threads over them |
//! | `inner` | the filter behind a Python object: of umbel, mapped, or another system's |
//! | `origin` | the file that a filter was opened from, and whether others changed it since |
//! | `filter` | the object: work on many keys, and the warning of too many |
//! | `rows` | keys of several fields |
//! | `sharing` | packed files, deltas and signatures |
//! | `kinds` | how each kind is made, and the methods that only it has |
//! | `forms` | options of exact set operations |
//! | `reports` | receipts, plans and comparisons |
//! | `shared` | one file that several processes have open to add to it |
//! | `files` | filters in files, at URLs and in bytes |
//! | `update` | one file that several processes change |
//! | `methods` | what all filters do in Python |
//! | `parts` | one set in several filters |
//! | `shapes`, `feeds`, `lines`, `jobs` | exact set operations: inputs of bare keys, inputs that come from Python, the lines found, the jobs |
//! | `find` | indexes of many files, and the lines that hold a text |
//! | `parquet` | filters for Parquet files that have none |
//!
//! Each module uses the ones above it. `prelude` has names that most use.

#![allow(clippy::too_many_arguments, reason = "they are keywords in Python")]

mod answers;
mod arrays;
mod calls;
mod columns;
mod errors;
mod feeds;
mod files;
mod filter;
mod find;
mod fork;
mod forms;
mod imports;
mod inner;
mod jobs;
mod keys;
mod kinds;
mod lines;
mod lock;
mod methods;
mod origin;
mod parquet;
mod parts;
mod prelude;
mod reports;
mod rows;
mod shapes;
mod shared;
mod sharing;
mod update;
mod values;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
mod _umbel {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{
        answers::Mask,
        files::{from_bytes, open},
        filter::{Filter, OverfilledWarning},
        find::{find, index},
        jobs::{is_compressed, job},
        kinds::{
            Attributes, Bloom, Bloomier, Cascade, Coded, Counting, Foreign, Map, Scalable, Stable,
            Window,
        },
        lines::Lines,
        methods::unpickled,
        parquet::{filters, may_hold, parquet},
        parts::Parts,
        reports::{Parameters, compare, plan},
        shared::Shared,
        update::Update,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::fork::register(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        let formats: Vec<_> = umbel_foreign::Format::ALL.iter().map(|of| of.name()).collect();
        module.add("FORMATS", formats)
    }
}
