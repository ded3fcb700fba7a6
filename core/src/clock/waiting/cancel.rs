//! [`Cancel`]: ends waits on any number of clocks, from any thread.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};

use super::wait_queue::WaitQueue;
use super::waiters::WaiterId;
use crate::clock::core::Core;
use crate::clock::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// Ends sleeps and other waits early. Clones are the same instance. Once cancelled it stays cancelled, and later waits
/// with it end at once.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::clock::{Cancel, Clock, OnJump, SleepError};
/// use bagplay::time::Duration;
/// let cancel = Cancel::new();
/// let from_elsewhere = cancel.clone();
/// let sleeper = std::thread::spawn(move || {
///     Clock::steady().sleep_for(Duration::from_secs(3_600), OnJump::Continue.unless(&cancel))
/// });
/// from_elsewhere.cancel();
/// assert_eq!(sleeper.join().unwrap(), Err(SleepError::Cancelled));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    is_cancelled: AtomicBool,
    waits: Mutex<Registrations>,
}

#[derive(Debug, Default)]
struct Registrations {
    all: BTreeMap<u64, RegisteredWait>,
    last_number: u64,
}

#[derive(Clone, Debug)]
struct RegisteredWait {
    core: Weak<Core>,
    wait_queue: Arc<WaitQueue>,
    /// The sleep to check after a wake-up, if many sleeps share the queue.
    sleep: Option<WaiterId>,
}

impl Cancel {
    /// A new instance, not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes all waits that were given this.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::SeqCst);
        let waits: Vec<RegisteredWait> = self.lock().all.values().cloned().collect();
        for RegisteredWait {
            core,
            wait_queue,
            sleep,
        } in waits
        {
            if let Some(core) = core.upgrade() {
                core.wake(&wait_queue, sleep);
            }
        }
    }

    /// Whether it has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::SeqCst)
    }

    /// Registers a wait. If many sleeps share the queue, `sleep` is the one to check after a cancellation.
    pub(crate) fn register(
        &self,
        core: &Arc<Core>,
        wait_queue: &Arc<WaitQueue>,
        sleep: Option<WaiterId>,
    ) -> CancelRegistration {
        let wait = RegisteredWait {
            core: Arc::downgrade(core),
            wait_queue: Arc::clone(wait_queue),
            sleep,
        };
        let mut waits = self.lock();
        waits.last_number += 1;
        let number = waits.last_number;
        waits.all.insert(number, wait);
        CancelRegistration {
            cancel: self.clone(),
            number,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Registrations> {
        self.0.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait that is registered with a [`Cancel`], until this is dropped.
pub(crate) struct CancelRegistration {
    cancel: Cancel,
    number: u64,
}

impl Drop for CancelRegistration {
    fn drop(&mut self) {
        self.cancel.lock().all.remove(&self.number);
    }
}
