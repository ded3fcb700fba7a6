//! The locks, condition variables and atomics of the module `clock`: those of the standard library, or in a model
//! (`--cfg model`) those of a checker that tries the orders in which threads can run; see `models/mod.rs`.
//!
//! Reference counts are the standard library's in both cases: nothing here depends on the order of their changes.

#[cfg(model)]
pub(crate) use loom::{
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering, fence},
    sync::{Condvar, Mutex, MutexGuard},
    thread::{ThreadId, current, yield_now},
};
#[cfg(not(model))]
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering, fence},
    sync::{Condvar, Mutex, MutexGuard},
    thread::{ThreadId, current, yield_now},
};

/// Runs `work` in a thread of its own, or in this thread if no thread can be started.
#[cfg(not(model))]
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    let work = std::sync::Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<_>>| {
        let mut work = work
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        work.take()
    };
    let its_work = std::sync::Arc::clone(&work);
    let begin = move || {
        if let Some(work) = take(&its_work) {
            work();
        }
    };
    let named = std::thread::Builder::new().name(name.to_owned());
    if let Err(error) = named.spawn(begin) {
        tracing::warn!(
            "the thread {name} of a clock cannot be started; the calling thread does its work: {error}"
        );
        if let Some(work) = take(&work) {
            work();
        }
    }
}

#[cfg(model)]
pub(crate) fn spawn(_: &str, work: impl FnOnce() + Send + 'static) {
    loom::thread::spawn(work);
}

/// Waits while `is_too_early` returns true, for `limit` at most. Returns whether it became false in time.
#[cfg(not(model))]
pub(crate) fn wait_while<T>(
    condvar: &Condvar,
    guard: MutexGuard<'_, T>,
    limit: std::time::Duration,
    is_too_early: impl FnMut(&mut T) -> bool,
) -> bool {
    let (_guard, waited) = condvar
        .wait_timeout_while(guard, limit, is_too_early)
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    !waited.timed_out()
}

/// As above, in a model, where no time passes: the checker detects a wait that never ends.
#[cfg(model)]
pub(crate) fn wait_while<T>(
    condvar: &Condvar,
    mut guard: MutexGuard<'_, T>,
    _: std::time::Duration,
    mut is_too_early: impl FnMut(&mut T) -> bool,
) -> bool {
    while is_too_early(&mut guard) {
        guard = condvar
            .wait(guard)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
    }
    true
}
