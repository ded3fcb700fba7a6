//! [`Handler`]: a registered handler, and what it is called for ([`CalledFor`]).
//!
//! [`Core`](crate::clock::core::Core) calls it before the jump and after it, in the order of registration, on the
//! thread that moves the time, with no lock of the clock held. On a backward jump, `now()` in other threads waits until
//! the handlers are done. So a panic in a handler, or in the drop of what it owns, is caught here.
//! [`Clock::on_jump`](crate::clock::handle::Clock::on_jump) says what a handler may do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::{fmt, mem};

use super::handler_rounds::RegisteredAt;
use super::jump_event::{Notice, Phase};
use super::jump_filter::JumpFilter;
use crate::clock::sync::{AtomicBool, AtomicU64, Mutex, Ordering};

/// What a handler is called for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CalledFor {
    Jumps(JumpFilter),
    Reversals,
    Ticks,
}

pub(crate) struct Handler {
    called_for: CalledFor,
    registered_at: Arc<RegisteredAt>,
    is_removed: AtomicBool,
    panics: AtomicU64,
    call: Mutex<Box<dyn FnMut(Phase, Notice) + Send>>,
}

/// Runs user code; false if it panicked. The panic is caught, and so is a panic in the drop of the panic's
/// payload.
pub(crate) fn catch_panic(call: impl FnOnce()) -> bool {
    let Err(panic) = catch_unwind(AssertUnwindSafe(call)) else {
        return true;
    };
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        mem::forget(another);
    }
    false
}

impl Handler {
    #[track_caller]
    pub(crate) fn new(called_for: CalledFor, call: Box<dyn FnMut(Phase, Notice) + Send>) -> Self {
        Self {
            called_for,
            registered_at: RegisteredAt::here(),
            is_removed: AtomicBool::new(false),
            panics: AtomicU64::new(0),
            call: Mutex::new(call),
        }
    }

    /// Where it was registered.
    pub(crate) fn registered_at(&self) -> Arc<RegisteredAt> {
        Arc::clone(&self.registered_at)
    }

    /// From now on it is not called. A call in progress is not interrupted.
    pub(crate) fn mark_removed(&self) {
        self.is_removed.store(true, Ordering::Release);
    }

    /// How many calls have panicked.
    pub(crate) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_called_for(&self, notice: Notice) -> bool {
        match (self.called_for, notice) {
            (CalledFor::Jumps(filter), Notice::Jump(event)) => filter.matches(event),
            (CalledFor::Reversals, Notice::Reversal(_)) | (CalledFor::Ticks, Notice::Tick(_)) => {
                true
            }
            _ => false,
        }
    }

    pub(crate) fn run(&self, phase: Phase, notice: Notice) {
        if self.is_removed.load(Ordering::Acquire) {
            return;
        }
        let mut call = self.call.lock().unwrap_or_else(PoisonError::into_inner);
        let returned = catch_panic(|| call(phase, notice));
        drop(call);
        if !returned {
            self.panics.fetch_add(1, Ordering::Relaxed);
            // A log subscriber is user code, too.
            catch_panic(|| {
                tracing::error!("a handler of {notice:?} panicked; the others are still called");
            });
        }
    }
}

/// The last reference is often dropped on a thread that others wait for, so a panic in the drop is caught.
impl Drop for Handler {
    fn drop(&mut self) {
        let call = self.call.get_mut().unwrap_or_else(PoisonError::into_inner);
        let call = mem::replace(call, Box::new(|_, _| {}));
        catch_panic(|| drop(call));
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler")
            .field("called_for", &self.called_for)
            .finish_non_exhaustive()
    }
}
