//! [`Switch`]: owns the time source of a [`SimTime`](super::sim_time::SimTime), switches it on and off and replaces it.
//!
//! The source's own code runs under the lock of `control`, one call at a time, and no thread starts to deliver
//! meanwhile. The result goes into the queue of the [`Delivery`], as the values that the source feeds do; the caller
//! waits until it has been delivered.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use super::delivery::{Action, Delivery};
use super::time_source::{Feed, SourceError, TimeSource};
use crate::clock::jump::thread_marks;
use crate::clock::state::delivery_limit::Share;
use crate::clock::sync::{AtomicBool, Mutex, MutexGuard, Ordering};
use crate::clock::wall_clock::Wall;

/// The result of the source's own code. A panic in it is resumed where no lock is held.
pub(crate) type Ran<T> = std::thread::Result<T>;

pub(crate) struct Switch {
    pub(crate) delivery: Arc<Delivery>,
    /// Held while the source's own code runs, but not while handlers run.
    control: Mutex<Control>,
    /// Written under the lock of `control`, but read without it: the source's own code may ask.
    is_on: AtomicBool,
}

struct Control {
    source: Box<dyn TimeSource>,
    number: u64,
}

impl Switch {
    pub(crate) fn new(wall: Wall, source: Box<dyn TimeSource>) -> (Arc<Self>, Ran<()>) {
        let switch = Arc::new(Self {
            delivery: Delivery::new(wall),
            control: Mutex::new(Control { source, number: 0 }),
            is_on: AtomicBool::new(false),
        });
        let attached = switch.attach_source(&mut switch.control());
        switch.delivery.hand_on(Share::BOUNDED);
        (switch, attached)
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enable(&self) -> Ran<Result<(), SourceError>> {
        let mut control = self.control();
        let started = if self.is_on() {
            Ok(Ok(()))
        } else {
            self.start(&mut control)
        };
        self.let_go(control);
        self.settle();
        started
    }

    pub(crate) fn disable(&self) -> Ran<()> {
        let stopped = self.switch_off();
        self.settle();
        stopped
    }

    /// As [`Switch::disable`], without waiting for another thread to deliver it.
    pub(crate) fn switch_off(&self) -> Ran<()> {
        let mut control = self.control();
        let stopped = if self.is_on() {
            self.stop(&mut control)
        } else {
            Ok(())
        };
        self.let_go(control);
        stopped
    }

    /// Delivers what was requested, unless another thread is delivering.
    fn let_go(&self, control: MutexGuard<'_, Control>) {
        drop(control);
        self.delivery.hand_on(Share::BOUNDED);
    }

    /// Waits until everything requested so far has been delivered. A thread that runs handlers does not wait: it may be
    /// the one that delivers, or it could be part of a cycle of threads that wait for each other.
    fn settle(&self) {
        if thread_marks::is_handling() || self.delivery.may_be_served_here() {
            return;
        }
        let mut line = self.delivery.line();
        let asked = line.asked;
        while line.done < asked {
            line = (self.delivery.handed.wait(line)).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn replace(&self, source: Box<dyn TimeSource>) -> Ran<Result<(), SourceError>> {
        let started = self.exchange(source);
        self.settle();
        started
    }

    /// Installs the new source even if the old one panics. Does not wait for a thread that delivers.
    pub(crate) fn exchange(&self, source: Box<dyn TimeSource>) -> Ran<Result<(), SourceError>> {
        let mut control = self.control();
        let was_on = self.is_on();
        let stopped = if was_on {
            self.stop(&mut control)
        } else {
            Ok(())
        };
        let old = std::mem::replace(&mut control.source, source);
        control.number += 1;
        self.delivery.line().ask(Action::Source(control.number));
        let gone = self.run(|| drop(old));
        let attached = self.attach_source(&mut control);
        let started = if was_on && attached.is_ok() {
            self.start(&mut control)
        } else {
            Ok(Ok(()))
        };
        self.let_go(control);
        stopped.and(gone).and(attached).and(started)
    }

    fn attach_source(&self, control: &mut Control) -> Ran<()> {
        let feed = Feed::new(&self.delivery, control.number);
        self.run(|| control.source.attached(&feed))
    }

    /// Starts the source. [`Action::On`] is queued before what the source feeds meanwhile.
    fn start(&self, control: &mut Control) -> Ran<Result<(), SourceError>> {
        let feed = Feed::new(&self.delivery, control.number);
        let place = self.hold();
        let started = catch_unwind(AssertUnwindSafe(|| control.source.start(&feed)));
        let is_on = matches!(started, Ok(Ok(())));
        self.is_on.store(is_on, Ordering::SeqCst);
        let mut line = self.delivery.line();
        if is_on {
            line.asked += 1;
            line.actions.letters().insert(place, (None, Action::On));
        } else {
            // Times that it fed meanwhile are dropped; requests of other threads stay.
            let mut at = 0;
            line.actions.letters().retain(|(source, action)| {
                at += 1;
                let is_time = matches!(action, Action::Time(_) | Action::State(_));
                at <= place || *source != Some(control.number) || !is_time
            });
        }
        line.is_held = false;
        started
    }

    /// Stops the source. [`Action::Off`] is queued before what the source feeds meanwhile, and before another thread
    /// can switch it on again.
    fn stop(&self, control: &mut Control) -> Ran<()> {
        self.is_on.store(false, Ordering::SeqCst);
        self.delivery.line().ask(Action::Off);
        self.run(|| control.source.stop())
    }

    fn run<T>(&self, source_code: impl FnOnce() -> T) -> Ran<T> {
        self.hold();
        let ran = catch_unwind(AssertUnwindSafe(source_code));
        self.delivery.line().is_held = false;
        ran
    }

    /// From now on nothing is delivered but the current action. Returns how many actions are queued.
    fn hold(&self) -> usize {
        let mut line = self.delivery.line();
        line.is_held = true;
        line.kept = line.actions.letters().len();
        line.kept
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.delivery.fmt(f)
    }
}
