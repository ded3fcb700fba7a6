//! [`Cancel`]: ends waits on clocks from any thread, and on as many clocks as there are.

use std::sync::{Arc, PoisonError, Weak};

use super::bell::Bell;
use super::core::Core;
use super::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// Ends sleeps early. Clones are one and the same; once cancelled it stays so, for later sleeps too.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Cancelled>);

#[derive(Debug, Default)]
struct Cancelled {
    is_cancelled: AtomicBool,
    asleep: Mutex<Vec<(Weak<Core>, Arc<Bell>)>>,
}

impl Cancel {
    /// Not cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes all who sleep with it.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::SeqCst);
        let asleep = self.lock().clone();
        for (core, bell) in asleep {
            if let Some(core) = core.upgrade() {
                core.ring(&bell);
            }
        }
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::SeqCst)
    }

    pub(super) fn watch(&self, core: &Arc<Core>, bell: &Arc<Bell>) -> Watch {
        self.lock().push((Arc::downgrade(core), Arc::clone(bell)));
        Watch {
            cancel: self.clone(),
            bell: Arc::clone(bell),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Weak<Core>, Arc<Bell>)>> {
        self.0.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asleep with a [`Cancel`], until dropped.
pub(super) struct Watch {
    cancel: Cancel,
    bell: Arc<Bell>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut asleep = self.cancel.lock();
        if let Some(at) = asleep
            .iter()
            .position(|(_, bell)| Arc::ptr_eq(bell, &self.bell))
        {
            asleep.swap_remove(at);
        }
    }
}
