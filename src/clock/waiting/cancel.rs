//! [`Cancel`]: ends waits on clocks from any thread, and on as many clocks as there are.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};

use super::alarms::AlarmId;
use super::wait_queue::WaitQueue;
use crate::clock::core::Core;
use crate::clock::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// Ends sleeps early. Clones are one and the same; once cancelled it stays so, for later sleeps too.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Cancelled>);

#[derive(Debug, Default)]
struct Cancelled {
    is_cancelled: AtomicBool,
    asleep: Mutex<Waits>,
}

#[derive(Debug, Default)]
struct Waits {
    all: BTreeMap<u64, Wait>,
    last_number: u64,
}

#[derive(Clone, Debug)]
struct Wait {
    core: Weak<Core>,
    bell: Arc<WaitQueue>,
    /// The sleep to look at when the bell is rung, if the bell is that of many.
    sleep: Option<AlarmId>,
}

impl Cancel {
    /// Not cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes all who sleep with it.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::SeqCst);
        let asleep: Vec<Wait> = self.lock().all.values().cloned().collect();
        for Wait { core, bell, sleep } in asleep {
            if let Some(core) = core.upgrade() {
                core.ring(&bell, sleep);
            }
        }
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::SeqCst)
    }

    /// `sleep` is the one to look at, if the bell is that of many.
    pub(crate) fn watch(
        &self,
        core: &Arc<Core>,
        bell: &Arc<WaitQueue>,
        sleep: Option<AlarmId>,
    ) -> Watch {
        let wait = Wait {
            core: Arc::downgrade(core),
            bell: Arc::clone(bell),
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

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.0.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asleep with a [`Cancel`], until dropped.
pub(crate) struct Watch {
    cancel: Cancel,
    number: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.cancel.lock().all.remove(&self.number);
    }
}
