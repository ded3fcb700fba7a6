//! [`ClockRepeat`]: sends the last time again while the player's thread waits for subscribers of another output.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::ros1::data::publication::Publication;
use crate::ros1::event::{Events, Ros1Event};
use crate::ros1::system::{Waits, steady};

/// How long the clock may be silent.
const SILENCE: Duration = Duration::from_millis(100);

/// The last time, and a thread that repeats it, which begins when it is first needed and ends with the node.
#[derive(Debug)]
pub(in crate::ros1) struct ClockRepeat {
    shared: Arc<Shared>,
    waits: Waits,
    has_thread: bool,
}

#[derive(Debug, Default)]
struct Shared {
    /// The thread sends only while it holds this lock, so it never sends an earlier time after a later one.
    last: Mutex<Option<Last>>,
    is_waiting: AtomicBool,
}

/// A time as it was sent.
#[derive(Debug)]
struct Last {
    clock: Arc<Publication>,
    payload: Bytes,
    sent_at: Instant,
}

impl ClockRepeat {
    pub(in crate::ros1) fn new(waits: Waits) -> Self {
        Self {
            shared: Arc::default(),
            waits,
            has_thread: false,
        }
    }

    /// This time is sent now; `None`: there is no clock any more.
    pub(in crate::ros1) fn sends(&self, time: Option<(&Arc<Publication>, &Bytes)>) {
        *self.shared.last() = time.map(|(clock, payload)| Last {
            clock: Arc::clone(clock),
            payload: payload.clone(),
            sent_at: steady(),
        });
    }

    /// The player's thread calls another output, or is done with it.
    pub(in crate::ros1) fn waits_elsewhere(&mut self, is_waiting: bool, events: &Events) {
        self.shared.is_waiting.store(is_waiting, Ordering::Relaxed);
        if std::mem::replace(&mut self.has_thread, true) {
            return;
        }
        let (shared, waits) = (Arc::clone(&self.shared), self.waits.clone());
        let repeat = move || {
            while !waits.pause(SILENCE) {
                shared.repeat();
            }
        };
        let named = thread::Builder::new().name("ros1-clock".to_owned());
        if let Err(error) = named.spawn(repeat) {
            events.send(Ros1Event::Warning(format!(
                "/clock is not repeated while nodes of other wires hold the run: {error}"
            )));
        }
    }
}

impl Shared {
    fn last(&self) -> MutexGuard<'_, Option<Last>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn repeat(&self) {
        let mut last = self.last();
        if let Some(last) = &mut *last
            && self.is_waiting.load(Ordering::Relaxed)
            && steady().saturating_duration_since(last.sent_at) >= SILENCE
        {
            last.clock.send_volatile(&last.payload);
            last.sent_at = steady();
        }
    }
}
