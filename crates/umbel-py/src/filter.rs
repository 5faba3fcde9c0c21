//! A filter as a Python object: its lock, and work on many keys at once.

use std::num::NonZeroUsize;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::sync::RwLockExt;
use umbel::Kind;

use crate::answers::{Answers, Container};
use crate::arrays::{Answer, BATCH, Visit};
use crate::calls::Values;
use crate::columns::{self, Column, Source, one_key, visit_items};
use crate::errors::Failure;
use crate::fork::{self, NoFork};
use crate::inner::{Access, Check, Inner, Insert, InsertOwn, Operation, of_inner};
use crate::keys::{Element, OneKey};

pyo3::create_exception!(
    umbel,
    OverfilledWarning,
    PyUserWarning,
    "A filter holds more keys than it was planned for, so that its false positive rate is higher. Given once per filter."
);

/// A filter: `key in filter` is False for certain, or True with the filter's false positive rate.
///
/// Filters of every kind have these methods. Use :func:`open`, or the class of a kind, to get one.
///
/// A key is ``str`` (its UTF-8), ``bytes`` (as they are) or ``int`` (8 little-endian bytes, from -2**63 to 2**64 - 1). Bulk
/// methods take lists and other iterables, NumPy arrays, pandas and Polars series, and Arrow arrays.
#[pyclass(frozen, subclass, weakref, module = "umbel")]
pub(crate) struct Filter {
    lock: RwLock<Inner>,
    /// Whether floats can be keys.
    pub(crate) floats: bool,
    /// Keys that may be added before it is looked whether they are too many. Changed under the lock.
    unchecked: AtomicU64,
}

/// A lock, held for a moment. Where it had to be waited for, no thread may fork meanwhile.
pub(crate) struct Held<G> {
    guard: G,
    _no_fork: Option<NoFork>,
}

impl<G: Deref<Target = Inner>> Deref for Held<G> {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.guard
    }
}

impl<G: DerefMut<Target = Inner>> DerefMut for Held<G> {
    fn deref_mut(&mut self) -> &mut Inner {
        &mut self.guard
    }
}

/// Keys more than planned that a filter can get before it is looked again, as a part of those planned.
const LOOK_EVERY: u64 = 16;

impl Filter {
    pub(crate) fn new(inner: Inner) -> Self {
        Self {
            floats: matches!(inner, Inner::Foreign(_)),
            unchecked: AtomicU64::new(planned(&inner).map_or(u64::MAX, |keys| keys / LOOK_EVERY)),
            lock: RwLock::new(inner),
        }
    }

    /// A new one without keys.
    pub(crate) fn empty(inner: Inner) -> Self {
        let filter = Self::new(inner);
        let planned = filter.lock.read().ok().and_then(|inner| planned(&inner));
        filter.unchecked.store(planned.unwrap_or(u64::MAX), Relaxed);
        filter
    }

    /// To look at it. Nothing that panics leaves a filter half changed: keys go in one by one.
    #[inline]
    pub(crate) fn read(&self, py: Python<'_>) -> Held<RwLockReadGuard<'_, Inner>> {
        match self.lock.try_read() {
            Ok(guard) => Held { guard, _no_fork: None },
            Err(TryLockError::Poisoned(error)) => {
                Held { guard: error.into_inner(), _no_fork: None }
            }
            Err(TryLockError::WouldBlock) => {
                let _no_fork = Some(NoFork::attached(py));
                let guard = self.lock.read_py_attached(py).unwrap_or_else(PoisonError::into_inner);
                Held { guard, _no_fork }
            }
        }
    }

    #[inline]
    pub(crate) fn write(&self, py: Python<'_>) -> Held<RwLockWriteGuard<'_, Inner>> {
        match self.lock.try_write() {
            Ok(guard) => Held { guard, _no_fork: None },
            Err(TryLockError::Poisoned(error)) => {
                Held { guard: error.into_inner(), _no_fork: None }
            }
            Err(TryLockError::WouldBlock) => {
                let _no_fork = Some(NoFork::attached(py));
                let guard = self.lock.write_py_attached(py).unwrap_or_else(PoisonError::into_inner);
                Held { guard, _no_fork }
            }
        }
    }

    /// Looks at it without the GIL.
    pub(crate) fn look<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&Inner) -> T + Send) -> T {
        fork::detached(py, || work(&self.lock.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Changes it without the GIL.
    pub(crate) fn change<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Inner) -> T + Send,
    ) -> T {
        fork::detached(py, || work(&mut self.lock.write().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Does something with it, without the GIL.
    pub(crate) fn access<T: Send>(
        &self,
        py: Python<'_>,
        operation: Operation,
        work: impl FnOnce(&mut Access<'_>) -> T + Send,
    ) -> T {
        match operation {
            Operation::Contains => self.look(py, |inner| work(&mut Access::Read(inner))),
            _ => self.change(py, |inner| work(&mut Access::Write(inner, operation))),
        }
    }

    /// Does something with it that is over in a moment, with the GIL.
    pub(crate) fn access_attached<T>(
        &self,
        py: Python<'_>,
        operation: Operation,
        work: impl FnOnce(&mut Access<'_>) -> T,
    ) -> T {
        match operation {
            Operation::Contains => work(&mut Access::Read(&self.read(py))),
            _ => work(&mut Access::Write(&mut self.write(py), operation)),
        }
    }

    /// Looks at this filter and another, without the GIL.
    pub(crate) fn look_at_both<T: Send>(
        &self,
        other: &Self,
        py: Python<'_>,
        work: impl FnOnce(&Inner, &Inner) -> T + Send,
    ) -> T {
        fork::detached(py, || {
            if std::ptr::eq(self, other) {
                // A second lock of one filter could wait for a writer that waits for the first.
                let inner = self.lock.read().unwrap_or_else(PoisonError::into_inner);
                return work(&inner, &inner);
            }
            let (left, right) = in_order(
                self,
                other,
                || self.lock.read().unwrap_or_else(PoisonError::into_inner),
                || other.lock.read().unwrap_or_else(PoisonError::into_inner),
            );
            work(&left, &right)
        })
    }

    /// Changes this filter by another one, without the GIL.
    pub(crate) fn change_by<T: Send>(
        &self,
        other: &Self,
        py: Python<'_>,
        work: impl FnOnce(&mut Inner, &Inner) -> T + Send,
    ) -> T {
        fork::detached(py, || {
            let (mut left, right) = in_order(
                self,
                other,
                || self.lock.write().unwrap_or_else(PoisonError::into_inner),
                || other.lock.read().unwrap_or_else(PoisonError::into_inner),
            );
            work(&mut left, &right)
        })
    }

    /// Counts keys that were added, under the lock for writing. Returns whether to look if there are too many.
    #[inline]
    pub(crate) fn count(&self, added: usize) -> bool {
        let unchecked = self.unchecked.load(Relaxed);
        if unchecked == u64::MAX {
            return false;
        }
        let left = unchecked.saturating_sub(added as u64);
        self.unchecked.store(left, Relaxed);
        left == 0
    }

    /// Warns of a filter that holds too many keys, once; to be called without the lock.
    #[cold]
    pub(crate) fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let receipt =
            self.look(py, |inner| of_inner!(inner, own => Some(own.receipt()), _other => None));
        let Some(receipt) = receipt.filter(|_| self.unchecked.load(Relaxed) == 0) else {
            return Ok(());
        };
        let planned = receipt.plan.keys();
        if !receipt.over_filled {
            self.unchecked.store(receipt.room.max(planned / LOOK_EVERY).max(1), Relaxed);
            return Ok(());
        }
        self.unchecked.store(u64::MAX, Relaxed);
        let text = format!(
            "the filter holds about {:.0} keys, planned are {planned}: its false positive rate is {:.3e}, not {}; make a larger \
             one, or a Scalable",
            receipt.keys.value,
            receipt.fpp,
            receipt.plan.fpp()
        );
        let text = std::ffi::CString::new(text).expect("there is no zero byte in it");
        PyErr::warn(py, &py.get_type::<OverfilledWarning>(), &text, 1)
    }

    /// Does something with each of many keys, without the GIL where they are in a column, and answers them.
    pub(crate) fn answer<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        operation: Operation,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = keys.py();
        match Source::of(keys)? {
            Source::Column(column) => {
                let (container, mut answers) = (Container::of(keys)?, Answers::default());
                let end = self.answer_column(py, &column, operation, threads, &mut answers);
                self.given(py, operation, container, &answers, end)
            }
            Source::Stream(mut stream) => {
                let (container, mut answers) = (Container::of(keys)?, Answers::default());
                // All keys of another system's filter are checked before the first is added.
                let together = operation != Operation::Contains && self.floats;
                let next = |stream: &mut columns::Stream| match together {
                    true => stream.rest(py).map(|all| (!all.is_empty()).then_some(all)),
                    false => stream.next(py),
                };
                let end = loop {
                    match next(&mut stream) {
                        Ok(None) => break Ok(()),
                        Err(error) => break Err(error),
                        Ok(Some(arrays)) => {
                            let column = Column::of_arrays(arrays);
                            let done =
                                self.answer_column(py, &column, operation, threads, &mut answers);
                            if done.is_err() {
                                break done;
                            }
                        }
                    }
                };
                self.given(py, operation, container, &answers, end)
            }
            Source::Items { items, column } => {
                let container = if column { Container::of(keys)? } else { Container::List(py) };
                let answers = self.answer_items(&items, column, operation)?;
                self.given(py, operation, container, &answers, Ok(()))
            }
        }
    }

    /// Hands answers out. If an error came after keys were added, it has the answers to those.
    pub(crate) fn given<'py>(
        &self,
        py: Python<'py>,
        operation: Operation,
        container: Container<'py>,
        answers: &Answers,
        end: PyResult<()>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut end = end;
        if operation == Operation::Add && end.is_ok() && self.unchecked.load(Relaxed) == 0 {
            end = self.warn(py);
        }
        let given = container.filled(answers)?;
        let Err(error) = end else { return Ok(given) };
        if operation != Operation::Contains && !answers.answers.is_empty() {
            error.value(py).setattr("answers", given)?;
            error.add_note(
                py,
                format!(
                    "{} keys were recorded before; their answers are in `answers` of this exception",
                    answers.answers.len()
                ),
            )?;
        }
        Err(error)
    }

    fn answer_column(
        &self,
        py: Python<'_>,
        column: &Column,
        operation: Operation,
        threads: usize,
        answers: &mut Answers,
    ) -> PyResult<()> {
        if operation != Operation::Contains {
            self.look(py, |inner| check(inner, column))?;
        }
        let answers = answers.more(column.len(), column.validity());
        Ok(match operation {
            Operation::Contains => {
                self.look(py, |inner| column.answer(answers, threads, || Access::Read(inner)))
            }
            _ => self.change(py, |inner| {
                column.answer_in_order(answers, &mut Access::Write(inner, operation))?;
                if operation == Operation::Add {
                    self.count(column.len());
                }
                Ok(())
            }),
        }?)
    }

    /// Answers Python values. Those that change the filter are all checked before the first does.
    fn answer_items(
        &self,
        items: &Bound<'_, PyAny>,
        column: bool,
        operation: Operation,
    ) -> PyResult<Answers> {
        let (py, mut answers) = (items.py(), Answers::default());
        let mut values = Values::of(items)?;
        let asks = operation == Operation::Contains;
        let mut batch = Vec::new();
        loop {
            batch.clear();
            let mut more = true;
            while more && (batch.is_empty() || !asks) {
                let most = batch.len() + BATCH;
                more = values.fill(&mut batch, most)?;
                py.check_signals()?;
            }
            let key = |value| one_key(value, column, self.floats);
            let keys = batch.iter().map(key).collect::<PyResult<Vec<_>>>()?;
            let there: Vec<_> = keys.iter().flatten().map(OneKey::key).collect();
            let mut found = vec![false; there.len()];
            self.on_batch(py, operation, &there, &mut found)?;
            let mut found = found.into_iter();
            for (key, answer) in keys.iter().zip(answers.more(keys.len(), None)) {
                *answer = key.is_some() && found.next() == Some(true);
            }
            if !more {
                return Ok(answers);
            }
        }
    }

    /// Does something with keys that are Python's, or made of Python values, with the GIL.
    fn on_batch<K: Element>(
        &self,
        py: Python<'_>,
        operation: Operation,
        keys: &[K],
        answers: &mut [bool],
    ) -> PyResult<()> {
        let done = self.access_attached(py, operation, |access| {
            if let Access::Write(inner, _) = access {
                inner.check(keys)?;
            }
            access.answer(keys, answers)?;
            if operation == Operation::Add {
                self.count(keys.len());
            }
            Ok::<_, Failure>(())
        });
        Ok(done?)
    }

    /// Adds keys, without the GIL where they are in a column.
    pub(crate) fn add_all(
        &self,
        keys: &Bound<'_, PyAny>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<()> {
        let py = keys.py();
        let threads = columns::threads(threads);
        match Source::of(keys)? {
            Source::Column(column) => self.add_column(py, &column, threads)?,
            Source::Stream(mut stream) => {
                while let Some(arrays) = stream.next(py)? {
                    self.add_column(py, &Column::of_arrays(arrays), threads)?;
                }
            }
            Source::Items { items, column } => {
                visit_items(&items, column, self.floats, &mut AddItems { filter: self, py })?;
            }
        }
        if self.unchecked.load(Relaxed) == 0 { self.warn(py) } else { Ok(()) }
    }

    fn add_column(&self, py: Python<'_>, column: &Column, threads: NonZeroUsize) -> PyResult<()> {
        let added = self.change(py, |inner| {
            check(inner, column)?;
            match inner {
                Inner::Own(own) if column.len() >= columns::MANY => {
                    own.insert_in_parts(threads, column.len(), |own, part, parts| {
                        column.visit_part(part, parts, &mut InsertOwn(own))
                    })?;
                }
                inner => column.visit(&mut Insert(inner))?,
            }
            self.count(column.len());
            Ok::<_, Failure>(())
        });
        Ok(added?)
    }
}

/// Refuses a column with a key that a filter cannot have, before the first is added.
fn check(inner: &Inner, column: &Column) -> Result<(), Failure> {
    column.check()?;
    match inner {
        Inner::Foreign(_) => column.visit(&mut Check(inner)),
        _ => Ok(()),
    }
}

/// Keys that a filter is planned for, if more are too many.
fn planned(inner: &Inner) -> Option<u64> {
    let counts = |kind| {
        matches!(
            kind,
            Kind::Blocked
                | Kind::Classic
                | Kind::Sliced
                | Kind::Counting
                | Kind::Coded
                | Kind::Attributes
        )
    };
    match inner {
        Inner::Own(own) if counts(own.kind()) => Some(own.plan().keys()),
        _ => None,
    }
}

/// Adds keys of an iterable, with the filter locked for one batch after the other.
struct AddItems<'a, 'py> {
    filter: &'a Filter,
    py: Python<'py>,
}

impl Visit for AddItems<'_, '_> {
    fn visit<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure> {
        let mut inner = self.filter.write(self.py);
        inner.insert_all(keys)?;
        self.filter.count(keys.len());
        Ok(())
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
