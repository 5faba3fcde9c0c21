//! A filter as a Python object: bulk operations, and the warning about too many keys.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::exceptions::PyUserWarning;
use umbel::{AnyFilter, Filter as _, Insert, Kind};

use crate::answers::{Answers, Container};
use crate::arrays::{Answer, BATCH, Visit, spread};
use crate::columns::{self, Column, Keys, Source, visit_items};
use crate::inner::{Access, Check, Inner, InsertOwn, Operation, form, note_keys, of_inner};
use crate::keys::{Element, OneKey, Takes};
use crate::lock::Lock;
use crate::origin::Origin;
use crate::prelude::*;

pyo3::create_exception!(
    umbel,
    OverfilledWarning,
    PyUserWarning,
    "A filter holds more keys than planned, so its false positive rate is higher. Issued once per filter."
);

/// A filter: `key in filter` is False for certain, or True with the filter's false positive rate.
///
/// Filters of every kind have these methods. Use :func:`open`, or the class of a kind, to get one.
///
/// A key is ``str`` (its UTF-8), ``bytes`` (as they are) or ``int`` (8 little-endian bytes, from -2**63 to 2**64 - 1). Bulk
/// methods take lists and other iterables, NumPy arrays, pandas and Polars series, and Arrow arrays.
#[pyclass(frozen, subclass, weakref, module = "umbel")]
pub(crate) struct Filter {
    pub(crate) inner: Lock<Inner>,
    pub(crate) takes: Takes,
    /// New keys that may come before the next check for too many. Changed under the lock.
    unchecked: AtomicU64,
    /// Locked only without the GIL, or for a moment.
    pub(crate) origin: Mutex<Option<Origin>>,
}

/// The fewest new keys between two checks: the planned keys divided by this.
const LOOK_EVERY: u64 = 16;

impl Filter {
    pub(crate) fn new(inner: Inner) -> Self {
        Self {
            takes: match &inner {
                Inner::Foreign(other) if other.hashes_texts() => Takes::TextOfKeys,
                Inner::Foreign(_) => Takes::Foreign,
                _ => Takes::Own,
            },
            unchecked: AtomicU64::new(planned(&inner).map_or(u64::MAX, least)),
            inner: Lock::new(inner),
            origin: Mutex::default(),
        }
    }

    /// Replaces it with another filter of the same kind.
    pub(crate) fn replace(&self, py: Python<'_>, inner: Inner) {
        let new = Self::new(inner);
        let mut old = self.inner.write(py);
        self.unchecked.store(new.unchecked.into_inner(), Relaxed);
        *old = new.inner.into_inner();
    }

    /// A new filter without keys.
    pub(crate) fn empty(inner: Inner) -> Self {
        let unchecked = planned(&inner).unwrap_or(u64::MAX);
        Self { unchecked: AtomicU64::new(unchecked), ..Self::new(inner) }
    }

    /// Calls a function with it, without the GIL.
    pub(crate) fn access<T: Send>(
        &self,
        py: Python<'_>,
        operation: Operation,
        work: impl FnOnce(&mut Access<'_>) -> T + Send,
    ) -> T {
        match operation {
            Operation::Contains => self.inner.look(py, |inner| work(&mut Access::Read(inner))),
            _ => self.inner.change(py, |inner| work(&mut Access::Write(inner, operation))),
        }
    }

    /// Calls a short function with it, with the GIL.
    pub(crate) fn access_attached<T>(
        &self,
        py: Python<'_>,
        operation: Operation,
        work: impl FnOnce(&mut Access<'_>) -> T,
    ) -> T {
        match operation {
            Operation::Contains => work(&mut Access::Read(&self.inner.read(py))),
            _ => work(&mut Access::Write(&mut self.inner.write(py), operation)),
        }
    }

    /// Whether a key may be in it, if that is known quickly: other cases have an answer of nine words, or an error, and
    /// moving those around took longer than the look-up.
    #[inline]
    pub(crate) fn contains_at_once(&self, py: Python<'_>, key: impl Element) -> Option<bool> {
        match &*self.inner.try_read(py)? {
            Inner::Own(own) if own.kind() != Kind::Attributes => {
                fits(form(own.description()).ok()?, key.key().form()).then(|| own.contains(key))
            }
            _ => None,
        }
    }

    /// Adds a key, if that is done quickly. As [`contains_at_once`](Self::contains_at_once).
    #[inline]
    pub(crate) fn add_at_once(&self, py: Python<'_>, key: impl Element) -> Option<bool> {
        let mut inner = self.inner.try_write(py)?;
        let Inner::Own(own) = &mut *inner else { return None };
        form(own.description()).ok()?.filter(|own| fits(Some(*own), key.key().form()))?;
        // The last key before a check for too many is added elsewhere.
        if self.unchecked.load(Relaxed) < 2 {
            return None;
        }
        // After an error, nothing was added.
        let new = own.try_insert(key).ok()?;
        self.count(new.into());
        Some(new)
    }

    /// Whether any key may be in it.
    #[inline(never)]
    pub(crate) fn contains_any(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        // Get the key before the lock: this may run code that uses this filter.
        let found = OneKey::of(key, self.takes)?;
        Ok(self.inner.read(key.py()).contains(found.key())?)
    }

    /// Adds any key; true when it was certainly new.
    #[inline(never)]
    pub(crate) fn add_any(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let added = OneKey::of(key, self.takes)?;
        self.add_by(key.py(), |inner| inner.insert(added.key()))
    }

    /// Adds something; true when it was certainly new.
    pub(crate) fn add_by(
        &self,
        py: Python<'_>,
        add: impl FnOnce(&mut Inner) -> Result<bool, Failure>,
    ) -> PyResult<bool> {
        let mut inner = self.inner.write(py);
        let new = add(&mut inner)?;
        self.count(new.into());
        drop(inner);
        self.warn_if_full(py)?;
        Ok(new)
    }

    /// Counts keys that may be new, under the lock for writing.
    #[inline]
    pub(crate) fn count(&self, new: usize) {
        let unchecked = self.unchecked.load(Relaxed);
        if unchecked != u64::MAX {
            self.unchecked.store(unchecked.saturating_sub(new as u64), Relaxed);
        }
    }

    /// Adds keys, under the lock for writing, and counts possibly new ones: all keys until a check is due, which costs
    /// nothing, then only new ones. A full filter that gets its own keys again is not checked each time.
    fn insert_all<K: Element>(&self, inner: &mut Inner, keys: &[K]) -> Result<(), Failure> {
        let least = planned(inner).map_or(0, least);
        if self.unchecked.load(Relaxed).saturating_sub(keys.len() as u64) >= least {
            inner.insert_all(keys)?;
            self.count(keys.len());
            return Ok(());
        }
        let mut answers = [false; BATCH];
        for keys in keys.chunks(BATCH) {
            let new = &mut answers[..keys.len()];
            Access::Write(inner, Operation::Add).answer(keys, new)?;
            self.count(new.iter().filter(|new| **new).count());
        }
        Ok(())
    }

    /// Warns once about a filter that holds too many keys, if a check is due; to be called without the lock.
    #[inline]
    pub(crate) fn warn_if_full(&self, py: Python<'_>) -> PyResult<()> {
        if self.unchecked.load(Relaxed) == 0 { self.look_and_warn(py) } else { Ok(()) }
    }

    #[cold]
    fn look_and_warn(&self, py: Python<'_>) -> PyResult<()> {
        let receipt = self
            .inner
            .look(py, |inner| of_inner!(inner, own => Some(own.receipt()), _other => None));
        let Some(receipt) = receipt.filter(|_| self.unchecked.load(Relaxed) == 0) else {
            return Ok(());
        };
        let planned = receipt.plan.keys();
        if !receipt.over_filled {
            self.unchecked.store(receipt.room.max(least(planned)), Relaxed);
            return Ok(());
        }
        self.unchecked.store(u64::MAX, Relaxed);
        let keys = receipt.keys.value;
        let held = match keys.is_finite() {
            true => format!("about {keys:.0} keys"),
            false => "more keys than can be counted".to_owned(),
        };
        let text = format!(
            "the filter holds {held}, but was planned for {planned}: its false positive rate is {:.3e}, not {}; make a larger \
             one, or a Scalable",
            receipt.fpp,
            receipt.plan.fpp()
        );
        let text = std::ffi::CString::new(text).expect("there is no zero byte in it");
        PyErr::warn(py, &py.get_type::<OverfilledWarning>(), &text, 1)
    }

    /// Does the operation with each of many keys (without the GIL for a column) and answers them.
    pub(crate) fn answer<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        operation: Operation,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let source = Source::taken(keys, self.takes)?;
        let container = match source {
            Source::Items { column: false, .. } => Container::List(keys.py()),
            _ => Container::of(keys)?,
        };
        let mut answers = Answers::default();
        let end = self.answer_source(keys.py(), source, operation, threads, &mut answers);
        self.given(keys.py(), operation, container, &answers, end)
    }

    /// Looks up many keys, on all processors.
    pub(crate) fn look_up(&self, keys: &Bound<'_, PyAny>) -> PyResult<Answers> {
        let (mut answers, threads) = (Answers::default(), columns::threads(None).get());
        let source = Source::taken(keys, self.takes)?;
        self.answer_source(keys.py(), source, Operation::Contains, threads, &mut answers)?;
        Ok(answers)
    }

    fn answer_source(
        &self,
        py: Python<'_>,
        source: Source<'_>,
        operation: Operation,
        threads: usize,
        answers: &mut Answers,
    ) -> PyResult<()> {
        let mut stream = match source {
            Source::Column(column) => {
                return self.answer_column(py, &column, operation, threads, answers);
            }
            Source::Items { items, column } => {
                return self.answer_items(&items, column, operation, answers);
            }
            Source::Stream(stream) => stream,
        };
        // All keys of another system's filter are checked before the first is added.
        let together = operation != Operation::Contains && self.takes != Takes::Own;
        loop {
            let arrays = match together {
                true => Some(stream.rest(py)?).filter(|all| !all.is_empty()),
                false => stream.next(py)?,
            };
            let Some(arrays) = arrays else { return Ok(()) };
            let column = Column::of_arrays(arrays);
            self.answer_column(py, &column, operation, threads, answers)?;
        }
    }

    /// Returns the answers. An error after keys were added contains the answers to these keys.
    pub(crate) fn given<'py>(
        &self,
        py: Python<'py>,
        operation: Operation,
        container: Container<'py>,
        answers: &Answers,
        end: PyResult<()>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut end = end;
        if operation == Operation::Add {
            let new = answers.answers.iter().filter(|new| **new).count();
            let held = self.inner.write(py);
            self.count(new);
            drop(held);
            end = end.and_then(|()| self.warn_if_full(py));
        }
        let given = container.filled(answers)?;
        let Err(error) = end else { return Ok(given) };
        if operation != Operation::Contains && !answers.answers.is_empty() {
            error.value(py).setattr("answers", given)?;
            error.add_note(
                py,
                format!(
                    "{} keys were recorded before this error; their answers are in its attribute `answers`",
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
            self.inner.look(py, |inner| {
                check(inner, column).and_then(|()| inner.check_form(column.form()))
            })?;
        }
        let answers = answers.more(column.len(), column.validity());
        Ok(match operation {
            Operation::Contains => {
                self.inner.look(py, |inner| column.answer(answers, threads, || Access::Read(inner)))
            }
            _ => self.inner.change(py, |inner| {
                column.answer_in_order(answers, &mut Access::Write(inner, operation))
            }),
        }?)
    }

    /// Answers Python values. If they change the filter, all are checked before the first one does.
    fn answer_items(
        &self,
        items: &Bound<'_, PyAny>,
        column: bool,
        operation: Operation,
        answers: &mut Answers,
    ) -> PyResult<()> {
        let py = items.py();
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
            let (keys, end) = Keys::of(&batch, column, self.takes);
            end?;
            let mut found = vec![false; batch.len()];
            keys.visit(&mut OnBatch { filter: self, py, operation, answers: &mut found })?;
            let valid = keys.valid();
            if let Some(valid) = &valid {
                let count = valid.iter().filter(|there| **there).count();
                spread(&mut found, count, valid.iter().copied());
            }
            answers.more(batch.len(), valid).copy_from_slice(&found);
            if !more {
                return Ok(());
            }
        }
    }

    /// Adds keys, without the GIL where they are in a column.
    pub(crate) fn add_all(
        &self,
        keys: &Bound<'_, PyAny>,
        threads: Option<Threads>,
    ) -> PyResult<()> {
        let py = keys.py();
        let threads = columns::threads(threads);
        match Source::taken(keys, self.takes)? {
            Source::Column(column) => self.add_column(py, &column, threads)?,
            Source::Stream(mut stream) => {
                while let Some(arrays) = stream.next(py)? {
                    self.add_column(py, &Column::of_arrays(arrays), threads)?;
                }
            }
            Source::Items { items, column } => {
                visit_items(&items, column, self.takes, &mut AddItems { filter: self, py })?;
            }
        }
        self.warn_if_full(py)
    }

    fn add_column(&self, py: Python<'_>, column: &Column, threads: NonZeroUsize) -> PyResult<()> {
        let added = self.inner.change(py, |inner| {
            check(inner, column)?;
            match inner {
                Inner::Own(own) if column.len() >= columns::MANY => {
                    let form = note_keys(own, column.form())?;
                    own.insert_in_parts(threads, column.len(), |filter, part, parts| {
                        column.visit_part(part, parts, &mut InsertOwn { filter, form })
                    })?;
                    // A part only knows which of its own keys are new. A check takes no longer than a merge.
                    self.count(column.len());
                }
                inner => column.visit(&mut InsertCounted { filter: self, inner })?,
            }
            Ok::<_, Failure>(())
        });
        Ok(added?)
    }
}

/// Whether a key of a form is in a filter as it is, and leaves its form.
#[inline]
fn fits(filter: Option<KeyForm>, key: KeyForm) -> bool {
    match filter {
        None | Some(KeyForm::Mixed) => true,
        Some(filter) => (filter == KeyForm::Integer) == (key == KeyForm::Integer),
    }
}

/// Does the operation, with the GIL, with keys that are Python's or made of Python values.
struct OnBatch<'a, 'py> {
    filter: &'a Filter,
    py: Python<'py>,
    operation: Operation,
    answers: &'a mut [bool],
}

impl Visit for OnBatch<'_, '_> {
    fn visit<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure> {
        self.filter.access_attached(self.py, self.operation, |access| {
            if let Access::Write(inner, _) = access {
                inner.check(keys)?;
            }
            access.answer(keys, &mut self.answers[..keys.len()])
        })
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

/// The planned keys of a filter, if it can have too many.
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
        // A window over a number of keys forgets older ones in time.
        Inner::Own(AnyFilter::Window(window)) if window.span().is_some() => {
            Some(umbel::Filter::plan(window).keys())
        }
        _ => None,
    }
}

/// The fewest new keys between two checks of a filter planned for this many keys.
fn least(planned: u64) -> u64 {
    (planned / LOOK_EVERY).max(1)
}

/// Adds keys of an iterable, with the filter locked for one batch after the other.
struct AddItems<'a, 'py> {
    filter: &'a Filter,
    py: Python<'py>,
}

impl Visit for AddItems<'_, '_> {
    fn visit<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure> {
        self.filter.insert_all(&mut self.filter.inner.write(self.py), keys)
    }
}

/// Adds keys to a filter that is locked.
struct InsertCounted<'a> {
    filter: &'a Filter,
    inner: &'a mut Inner,
}

impl Visit for InsertCounted<'_> {
    fn visit<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure> {
        self.filter.insert_all(self.inner, keys)
    }
}
