//! Forks: they wait until no thread works on a filter without the GIL.
//!
//! A child of a fork has only the thread that forked. A filter that another thread was changing would stay half changed there,
//! and locked for ever.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::thread::sleep;
use std::time::Duration;

use pyo3::prelude::*;

/// How many threads work without the GIL.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);
/// Whether a thread forks, or is about to.
static FORKING: AtomicBool = AtomicBool::new(false);
/// How long to wait before checking again. A lock to wait on would be in an unknown state in the child.
const TICK: Duration = Duration::from_micros(200);

/// How many forks this process descends from.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// Changes only in the children of forks.
pub(crate) fn forks() -> usize {
    FORKS.load(Relaxed)
}

/// Keeps other threads from forking.
pub(crate) struct NoFork(());

impl NoFork {
    fn now() -> Option<Self> {
        AT_WORK.fetch_add(1, SeqCst);
        let held = Self(());
        (!FORKING.load(SeqCst)).then_some(held)
    }

    /// Waits for the end of a fork, with the GIL released meanwhile.
    pub(crate) fn attached(py: Python<'_>) -> Self {
        loop {
            match Self::now() {
                Some(held) => return held,
                None => tick(py),
            }
        }
    }

    fn detached() -> Self {
        loop {
            match Self::now() {
                Some(held) => return held,
                None => sleep(TICK),
            }
        }
    }
}

impl Drop for NoFork {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, SeqCst);
    }
}

/// Waits a moment, with the GIL released.
pub(crate) fn tick(py: Python<'_>) {
    py.detach(|| sleep(TICK));
}

/// Works on filters without the GIL.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| {
        let _held = NoFork::detached();
        work()
    })
}

#[pyfunction]
fn before(py: Python<'_>) {
    py.detach(|| {
        while FORKING.swap(true, SeqCst) {
            sleep(TICK);
        }
        while AT_WORK.load(SeqCst) > 0 {
            sleep(TICK);
        }
    });
}

#[pyfunction]
fn after_in_parent() {
    FORKING.store(false, SeqCst);
}

#[pyfunction]
fn after_in_child() {
    FORKS.fetch_add(1, Relaxed);
    // A thread that was about to see the fork may have been counted.
    AT_WORK.store(0, SeqCst);
    FORKING.store(false, SeqCst);
}

/// Makes Python call these around each fork.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    let calls = pyo3::types::PyDict::new(py);
    calls.set_item("before", wrap_pyfunction!(before, py)?)?;
    calls.set_item("after_in_parent", wrap_pyfunction!(after_in_parent, py)?)?;
    calls.set_item("after_in_child", wrap_pyfunction!(after_in_child, py)?)?;
    py.import("os")?.call_method("register_at_fork", (), Some(&calls))?;
    Ok(())
}
