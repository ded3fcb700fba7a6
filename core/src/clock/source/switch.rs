//! [`Switch`]: owns the time source of a [`SimTime`](super::sim_time::SimTime), switches it on and off and replaces it.
//!
//! The source's own code runs under the lock of `control`, one call at a time, and no thread starts to deliver
//! meanwhile. What the call requests (on, off, another source) goes into the queue of the [`Delivery`], as the values
//! that the source feeds do; the caller waits until it has been delivered.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use super::delivery::{Delivery, DeliveryItem};
use super::time_source::{Feed, SourceError, TimeSource};
use crate::clock::jump::thread_marks;
use crate::clock::state::delivery_limit::DeliveryLimit;
use crate::clock::sync::{AtomicBool, Mutex, MutexGuard, Ordering};
use crate::clock::wall_clock::Wall;

/// The result of the source's own code. A panic in it is resumed where no lock is held.
pub(crate) type Caught<T> = std::thread::Result<T>;

pub(crate) struct Switch {
    pub(crate) delivery: Arc<Delivery>,
    /// Held while the source's own code runs, but not while handlers run.
    control: Mutex<Control>,
    /// Written under the lock of `control`, but read without it: the source's own code may read it.
    is_on: AtomicBool,
}

struct Control {
    source: Box<dyn TimeSource>,
    /// Counts the sources of this switch.
    number: u64,
}

impl Switch {
    pub(crate) fn new(wall: Wall, source: Box<dyn TimeSource>) -> (Arc<Self>, Caught<()>) {
        let switch = Arc::new(Self {
            delivery: Delivery::new(wall),
            control: Mutex::new(Control { source, number: 0 }),
            is_on: AtomicBool::new(false),
        });
        let attached = switch.attach_source(&mut switch.control());
        switch.delivery.deliver(DeliveryLimit::BOUNDED);
        (switch, attached)
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enable(&self) -> Caught<Result<(), SourceError>> {
        let mut control = self.control();
        let started = if self.is_on() {
            Ok(Ok(()))
        } else {
            self.start(&mut control)
        };
        self.unlock_and_deliver(control);
        self.wait_until_delivered();
        started
    }

    pub(crate) fn disable(&self) -> Caught<()> {
        let stopped = self.switch_off();
        self.wait_until_delivered();
        stopped
    }

    /// As [`Switch::disable`], without waiting for another thread to deliver it.
    pub(crate) fn switch_off(&self) -> Caught<()> {
        let mut control = self.control();
        let stopped = if self.is_on() {
            self.stop(&mut control)
        } else {
            Ok(())
        };
        self.unlock_and_deliver(control);
        stopped
    }

    /// Releases the lock of `control`, then delivers what was requested, unless another thread is delivering.
    fn unlock_and_deliver(&self, control: MutexGuard<'_, Control>) {
        drop(control);
        self.delivery.deliver(DeliveryLimit::BOUNDED);
    }

    /// Waits until everything requested so far has been delivered and the clocks have changed. A thread that runs
    /// handlers does not wait: it may be the one that delivers, or it could be part of a cycle of threads that wait for
    /// each other.
    fn wait_until_delivered(&self) {
        if thread_marks::runs_handlers() || self.delivery.may_deliver_here() {
            return;
        }
        let mut state = self.delivery.state();
        let requested = state.requested;
        while state.delivered < requested {
            state = (self.delivery.request_delivered.wait(state))
                .unwrap_or_else(PoisonError::into_inner);
        }
        let clocks = state.clocks();
        drop(state);
        // A clock may still be making changes that it was given before it was attached.
        for clock in clocks {
            clock.wait_until_made();
        }
    }

    pub(crate) fn replace(&self, source: Box<dyn TimeSource>) -> Caught<Result<(), SourceError>> {
        let started = self.replace_without_wait(source);
        self.wait_until_delivered();
        started
    }

    /// Installs the new source even if the old one panics. Does not wait for a thread that delivers.
    pub(crate) fn replace_without_wait(
        &self,
        source: Box<dyn TimeSource>,
    ) -> Caught<Result<(), SourceError>> {
        let mut control = self.control();
        let was_on = self.is_on();
        let stopped = if was_on {
            self.stop(&mut control)
        } else {
            Ok(())
        };
        let old = std::mem::replace(&mut control.source, source);
        control.number += 1;
        self.delivery
            .state()
            .request(DeliveryItem::Source(control.number));
        let dropped = self.run_source_code(|| drop(old));
        let attached = self.attach_source(&mut control);
        let started = if was_on && attached.is_ok() {
            self.start(&mut control)
        } else {
            Ok(Ok(()))
        };
        self.unlock_and_deliver(control);
        stopped.and(dropped).and(attached).and(started)
    }

    fn attach_source(&self, control: &mut Control) -> Caught<()> {
        let feed = Feed::new(&self.delivery, control.number);
        self.run_source_code(|| control.source.attached(&feed))
    }

    /// Starts the source. [`DeliveryItem::On`] is queued before what the source feeds meanwhile.
    fn start(&self, control: &mut Control) -> Caught<Result<(), SourceError>> {
        let feed = Feed::new(&self.delivery, control.number);
        let position = self.suspend_delivery();
        let started = catch_unwind(AssertUnwindSafe(|| control.source.start(&feed)));
        let is_on = matches!(started, Ok(Ok(())));
        self.is_on.store(is_on, Ordering::SeqCst);
        let mut state = self.delivery.state();
        if is_on {
            state.requested += 1;
            state
                .queue
                .items()
                .insert(position, (None, DeliveryItem::On));
        } else {
            // Times that it fed meanwhile are dropped; requests of other threads stay.
            let mut at = 0;
            state.queue.items().retain(|(source, item)| {
                at += 1;
                let is_time = matches!(item, DeliveryItem::Time(_) | DeliveryItem::State(_));
                at <= position || *source != Some(control.number) || !is_time
            });
        }
        state.is_suspended = false;
        started
    }

    /// Stops the source. [`DeliveryItem::Off`] is queued before what the source feeds meanwhile, and before another
    /// thread can switch it on again.
    fn stop(&self, control: &mut Control) -> Caught<()> {
        self.is_on.store(false, Ordering::SeqCst);
        self.delivery.state().request(DeliveryItem::Off);
        self.run_source_code(|| control.source.stop())
    }

    /// Runs code of the source; nothing is delivered meanwhile.
    fn run_source_code<T>(&self, source_code: impl FnOnce() -> T) -> Caught<T> {
        self.suspend_delivery();
        let ran = catch_unwind(AssertUnwindSafe(source_code));
        self.delivery.state().is_suspended = false;
        ran
    }

    /// From now on nothing is delivered but the current item. Returns how many items are queued.
    fn suspend_delivery(&self) -> usize {
        let mut state = self.delivery.state();
        state.is_suspended = true;
        state.protected = state.queue.items().len();
        state.protected
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.delivery.fmt(f)
    }
}
