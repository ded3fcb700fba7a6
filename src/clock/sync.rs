//! The locks, bells and atomics of this room: the standard library's, or in a model (`--cfg model`) those of a
//! checker that goes through the orders in which threads may come; see `models/mod.rs`.
//!
//! Reference counts are the standard library's in both: nothing here hangs on the order of their moves.

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

/// Runs `work` in a thread of its own, or here if there cannot be one more.
#[cfg(not(model))]
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    let work = std::sync::Arc::new(Mutex::new(Some(work)));
    let run = |work: &Mutex<Option<_>>| {
        let mut work = work
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        work.take()
    };
    let theirs = std::sync::Arc::clone(&work);
    let begin = move || {
        if let Some(work) = run(&theirs) {
            work();
        }
    };
    let named = std::thread::Builder::new().name(name.to_owned());
    if let Err(error) = named.spawn(begin) {
        tracing::warn!(
            "the thread {name} of a clock cannot be made; another does its work: {error}"
        );
        if let Some(work) = run(&work) {
            work();
        }
    }
}

#[cfg(model)]
pub(crate) fn spawn(_: &str, work: impl FnOnce() + Send + 'static) {
    loom::thread::spawn(work);
}

/// Waits while `is_too_early` says so, for `patience` at most. Whether it ended in time.
#[cfg(not(model))]
pub(crate) fn wait_while<T>(
    bell: &Condvar,
    guard: MutexGuard<'_, T>,
    patience: std::time::Duration,
    is_too_early: impl FnMut(&mut T) -> bool,
) -> bool {
    let (_guard, waited) = bell
        .wait_timeout_while(guard, patience, is_too_early)
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    !waited.timed_out()
}

/// The same in a model, where no time passes: who waits in vain is found out by the checker.
#[cfg(model)]
pub(crate) fn wait_while<T>(
    bell: &Condvar,
    mut guard: MutexGuard<'_, T>,
    _: std::time::Duration,
    mut is_too_early: impl FnMut(&mut T) -> bool,
) -> bool {
    while is_too_early(&mut guard) {
        guard = bell
            .wait(guard)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
    }
    true
}
