//! [`Cancel`]: ends waits from any thread, on any number of clocks.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};

use super::wait_queue::WaitQueue;
use super::waiters::AlarmId;
use crate::clock::core::Core;
use crate::clock::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// Ends sleeps early. Clones are the same instance. Once cancelled it stays cancelled, and ends later sleeps at once.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Cancelled>);

#[derive(Debug, Default)]
struct Cancelled {
    is_cancelled: AtomicBool,
    asleep: Mutex<Registrations>,
}

#[derive(Debug, Default)]
struct Registrations {
    all: BTreeMap<u64, Registration>,
    last_number: u64,
}

#[derive(Clone, Debug)]
struct Registration {
    core: Weak<Core>,
    wait_queue: Arc<WaitQueue>,
    /// The sleep to check after a wake-up, if many sleeps share the queue.
    sleep: Option<AlarmId>,
}

impl Cancel {
    /// A new instance, not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes all waits that were given this.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::SeqCst);
        let asleep: Vec<Registration> = self.lock().all.values().cloned().collect();
        for Registration {
            core,
            wait_queue,
            sleep,
        } in asleep
        {
            if let Some(core) = core.upgrade() {
                core.ring(&wait_queue, sleep);
            }
        }
    }

    /// Whether it has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::SeqCst)
    }

    /// `sleep` is the one to check, if many sleeps share the queue.
    pub(crate) fn watch(
        &self,
        core: &Arc<Core>,
        wait_queue: &Arc<WaitQueue>,
        sleep: Option<AlarmId>,
    ) -> Watch {
        let wait = Registration {
            core: Arc::downgrade(core),
            wait_queue: Arc::clone(wait_queue),
            sleep,
        };
        let mut asleep = self.lock();
        asleep.last_number += 1;
        let number = asleep.last_number;
        asleep.all.insert(number, wait);
        Watch {
            cancel: self.clone(),
            number,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Registrations> {
        self.0.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait that is registered with a [`Cancel`], until this is dropped.
pub(crate) struct Watch {
    cancel: Cancel,
    number: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.cancel.lock().all.remove(&self.number);
    }
}
