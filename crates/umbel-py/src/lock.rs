//! The lock of a filter. With the GIL it needs no atomic operation: two took a third of the time of a look-up.
//!
//! Work on many keys releases the GIL, and announces this first. So a thread with the GIL sees whether another one
//! works without it; if not, none can begin before the GIL is released.
//! Pythons that run without a GIL are refused by `umbel/__init__.py`.

#![allow(unsafe_code)] // Access to the locked value.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use pyo3::prelude::*;
use pyo3::sync::RwLockExt;

use crate::fork::{self, NoFork};

pub(crate) struct Lock<T> {
    /// Threads that work on it without the GIL, wait for that, or are about to. Increased only with the GIL.
    outside: AtomicUsize,
    /// Holders with the GIL: the number that read it, or -1 if one changes it. Changed only with the GIL.
    inside: AtomicIsize,
    /// For threads outside, and for those inside while others are outside.
    lock: RwLock<()>,
    value: UnsafeCell<T>,
}

// SAFETY: references to the value follow the rules of a read-write lock. All `inside` users have the GIL while they
// enter and leave, so they see each other. Those outside hold `lock`; they begin with the GIL, while no conflicting use
// is inside. A thread that goes inside while others are outside also holds `lock`.
unsafe impl<T: Send + Sync> Sync for Lock<T> {}

/// How the value is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Look,
    Change,
}

impl<T: Send + Sync> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            outside: AtomicUsize::new(0),
            inside: AtomicIsize::new(0),
            lock: RwLock::new(()),
            value: UnsafeCell::new(value),
        }
    }

    pub(crate) fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// For reading, with the GIL. A panic does not leave a filter half changed: keys go in one by one.
    #[inline]
    pub(crate) fn read<'a>(&'a self, py: Python<'a>) -> Reading<'a, T> {
        Guard(self.inside(py, Use::Look))
    }

    /// For changing it, with the GIL.
    #[inline]
    pub(crate) fn write<'a>(&'a self, py: Python<'a>) -> Writing<'a, T> {
        Guard(self.inside(py, Use::Change))
    }

    /// As [`read`](Self::read), if that needs no waiting.
    #[inline]
    pub(crate) fn try_read<'a>(&'a self, py: Python<'a>) -> Option<Reading<'a, T>> {
        self.try_inside(py, Use::Look).map(Guard)
    }

    /// As [`write`](Self::write), if that needs no waiting.
    #[inline]
    pub(crate) fn try_write<'a>(&'a self, py: Python<'a>) -> Option<Writing<'a, T>> {
        self.try_inside(py, Use::Change).map(Guard)
    }

    #[inline]
    fn inside<'a>(&'a self, py: Python<'a>, what: Use) -> Inside<'a, T> {
        self.try_inside(py, what).unwrap_or_else(|| {
            let waited = self.waited(py, what);
            self.enter(what, Some(waited))
        })
    }

    #[inline]
    fn try_inside<'a>(&'a self, _py: Python<'a>, what: Use) -> Option<Inside<'a, T>> {
        let free = self.outside.load(Ordering::Acquire) == 0 && self.is_free(what);
        free.then(|| self.enter(what, None))
    }

    #[inline]
    fn enter<'a>(&'a self, what: Use, waited: Option<Waited<'a>>) -> Inside<'a, T> {
        let inside = self.inside.load(Ordering::Relaxed);
        self.inside.store(inside + what.step(), Ordering::Relaxed);
        Inside { of: self, what, _waited: waited, _gil: PhantomData }
    }

    /// Whether no use inside conflicts.
    #[inline]
    fn is_free(&self, what: Use) -> bool {
        let inside = self.inside.load(Ordering::Relaxed);
        inside == 0 || (inside > 0 && what == Use::Look)
    }

    /// Waits for the threads outside. Forks are not allowed meanwhile.
    #[cold]
    #[inline(never)]
    fn waited<'a>(&'a self, py: Python<'a>, what: Use) -> Waited<'a> {
        loop {
            let _no_fork = NoFork::attached(py);
            let _locked = match what {
                Use::Look => Locked::Read(
                    self.lock.read_py_attached(py).unwrap_or_else(PoisonError::into_inner),
                ),
                Use::Change => Locked::Write(
                    self.lock.write_py_attached(py).unwrap_or_else(PoisonError::into_inner),
                ),
            };
            if self.is_free(what) {
                return Waited { _locked, _no_fork };
            }
            drop((_locked, _no_fork));
            fork::tick(py);
        }
    }

    /// Announces a use without the GIL.
    fn outside(&self, py: Python<'_>, what: Use) -> Outside<'_> {
        while !self.is_free(what) {
            fork::tick(py);
        }
        self.outside.fetch_add(1, Ordering::Relaxed);
        Outside(&self.outside)
    }

    /// Reads it without the GIL.
    pub(crate) fn look<R: Send>(&self, py: Python<'_>, work: impl FnOnce(&T) -> R + Send) -> R {
        let outside = self.outside(py, Use::Look);
        fork::detached(py, move || {
            let _outside = outside;
            let _locked = self.lock.read().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: see `Sync`; it does not change while it is locked.
            work(unsafe { &*self.value.get() })
        })
    }

    /// Changes it without the GIL.
    pub(crate) fn change<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> R + Send,
    ) -> R {
        let outside = self.outside(py, Use::Change);
        fork::detached(py, move || {
            let _outside = outside;
            let _locked = self.lock.write().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: see `Sync`; access is exclusive while it is locked.
            work(unsafe { &mut *self.value.get() })
        })
    }

    /// Reads this value and another, without the GIL.
    pub(crate) fn look_at_both<R: Send>(
        &self,
        other: &Self,
        py: Python<'_>,
        work: impl FnOnce(&T, &T) -> R + Send,
    ) -> R {
        if std::ptr::eq(self, other) {
            // A second lock of one filter could wait for a writer that waits for the first.
            return self.look(py, |value| work(value, value));
        }
        let both = self.both_outside(other, py, Use::Look);
        fork::detached(py, move || {
            let _outside = both;
            let _locked = in_order(
                self,
                other,
                || self.lock.read().unwrap_or_else(PoisonError::into_inner),
                || other.lock.read().unwrap_or_else(PoisonError::into_inner),
            );
            // SAFETY: see `Sync`; they do not change while they are locked.
            work(unsafe { &*self.value.get() }, unsafe { &*other.value.get() })
        })
    }

    /// Changes this value by another, without the GIL.
    pub(crate) fn change_by<R: Send>(
        &self,
        other: &Self,
        py: Python<'_>,
        work: impl FnOnce(&mut T, &T) -> R + Send,
    ) -> R {
        assert!(!std::ptr::eq(self, other), "one cannot be changed by itself");
        let both = self.both_outside(other, py, Use::Change);
        fork::detached(py, move || {
            let _outside = both;
            let _locked = in_order(
                self,
                other,
                || self.lock.write().unwrap_or_else(PoisonError::into_inner),
                || other.lock.read().unwrap_or_else(PoisonError::into_inner),
            );
            // SAFETY: see `Sync`; they are two; while locked, this one is exclusive and the other does not change.
            work(unsafe { &mut *self.value.get() }, unsafe { &*other.value.get() })
        })
    }

    /// As [`outside`](Self::outside), to use this value and read another.
    fn both_outside<'a>(
        &'a self,
        other: &'a Self,
        py: Python<'_>,
        what: Use,
    ) -> (Outside<'a>, Outside<'a>) {
        (self.outside(py, what), other.outside(py, Use::Look))
    }
}

impl Use {
    /// Its change to `inside`.
    fn step(self) -> isize {
        match self {
            Self::Look => 1,
            Self::Change => -1,
        }
    }
}

/// A user without the GIL.
struct Outside<'a>(&'a AtomicUsize);

impl Drop for Outside<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Keeps threads outside away. The lock is released before forks are allowed again.
struct Waited<'a> {
    _locked: Locked<'a>,
    _no_fork: NoFork,
}

#[allow(dead_code, reason = "guards are kept to be dropped")]
enum Locked<'a> {
    Read(RwLockReadGuard<'a, ()>),
    Write(RwLockWriteGuard<'a, ()>),
}

/// A user with the GIL, which stays on the thread that has it.
struct Inside<'a, T> {
    of: &'a Lock<T>,
    what: Use,
    _waited: Option<Waited<'a>>,
    _gil: PhantomData<Python<'a>>,
}

impl<T> Drop for Inside<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let inside = self.of.inside.load(Ordering::Relaxed);
        self.of.inside.store(inside - self.what.step(), Ordering::Relaxed);
    }
}

/// A filter that is used with the GIL: read, or changed.
pub(crate) struct Guard<'a, T, const CHANGES: bool>(Inside<'a, T>);

pub(crate) type Reading<'a, T> = Guard<'a, T, false>;
pub(crate) type Writing<'a, T> = Guard<'a, T, true>;

impl<T, const CHANGES: bool> Deref for Guard<'_, T, CHANGES> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: see `Sync` of the lock; nobody else changes it meanwhile.
        unsafe { &*self.0.of.value.get() }
    }
}

impl<T> DerefMut for Writing<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: see `Sync` of the lock; access is exclusive meanwhile.
        unsafe { &mut *self.0.of.value.get() }
    }
}

/// Locks two, the one at the lower address first, so threads that lock the same two cannot deadlock.
fn in_order<T, L, R>(
    left: &Lock<T>,
    right: &Lock<T>,
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
