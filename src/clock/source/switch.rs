//! How sim time goes on and off and its source is replaced: what a [`Hub`] does with its source's own code.
//!
//! That runs under the lock of `control`, one call at a time, and nobody begins to hand on meanwhile. What comes of it
//! is put in line like what a source says; who asked waits until it has been handed on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use super::delivery::{Action, Control, Hub, Ran};
use super::time_source::{Feed, SourceError, TimeSource};
use crate::clock::jump::handler_threads;
use crate::clock::state::share::Share;
use crate::clock::sync::{MutexGuard, Ordering};

impl Hub {
    pub(crate) fn enable(self: &Arc<Self>) -> Ran<Result<(), SourceError>> {
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

    pub(crate) fn disable(self: &Arc<Self>) -> Ran<()> {
        let stopped = self.switch_off();
        self.settle();
        stopped
    }

    /// The same without waiting for others who hand on.
    pub(crate) fn switch_off(self: &Arc<Self>) -> Ran<()> {
        let mut control = self.control();
        let stopped = if self.is_on() {
            self.stop(&mut control)
        } else {
            Ok(())
        };
        self.let_go(control);
        stopped
    }

    /// What was asked for is handed on, by this thread unless another does that.
    fn let_go(self: &Arc<Self>, control: MutexGuard<'_, Control>) {
        drop(control);
        self.hand_on(Share::BOUNDED);
    }

    /// Until what was asked for so far has been handed on. A thread that runs handlers does not wait: it may be the one
    /// that hands on, or wait for another one in a circle.
    fn settle(&self) {
        if handler_threads::is_handling() || self.may_be_served_here() {
            return;
        }
        let mut line = self.line();
        let asked = line.asked;
        while line.done < asked {
            line = (self.handed.wait(line)).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn replace(
        self: &Arc<Self>,
        source: Box<dyn TimeSource>,
    ) -> Ran<Result<(), SourceError>> {
        let started = self.exchange(source);
        self.settle();
        started
    }

    /// The new source is there whatever becomes of the old one. Waits for nobody who hands on.
    pub(crate) fn exchange(
        self: &Arc<Self>,
        source: Box<dyn TimeSource>,
    ) -> Ran<Result<(), SourceError>> {
        let mut control = self.control();
        let was_on = self.is_on();
        let stopped = if was_on {
            self.stop(&mut control)
        } else {
            Ok(())
        };
        let old = std::mem::replace(&mut control.source, source);
        control.number += 1;
        self.line().ask(Action::Source(control.number));
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

    pub(crate) fn attach_source(self: &Arc<Self>, control: &mut Control) -> Ran<()> {
        let feed = Feed::new(self, control.number);
        self.run(|| control.source.attached(&feed))
    }

    /// Starts the source. The clocks hear that it is on before what it feeds meanwhile.
    fn start(self: &Arc<Self>, control: &mut Control) -> Ran<Result<(), SourceError>> {
        let feed = Feed::new(self, control.number);
        let place = self.hold();
        let started = catch_unwind(AssertUnwindSafe(|| control.source.start(&feed)));
        let is_on = matches!(started, Ok(Ok(())));
        self.is_on.store(is_on, Ordering::SeqCst);
        let mut line = self.line();
        if is_on {
            line.asked += 1;
            line.actions.letters().insert(place, (None, Action::On));
        } else {
            // The time that it fed counts for nothing; what others asked meanwhile stays.
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

    /// Stops the source. "Off" is in line before what it feeds meanwhile, and before anybody else can switch it
    /// on again.
    fn stop(&self, control: &mut Control) -> Ran<()> {
        self.is_on.store(false, Ordering::SeqCst);
        self.line().ask(Action::Off);
        self.run(|| control.source.stop())
    }

    fn run<T>(&self, source_code: impl FnOnce() -> T) -> Ran<T> {
        self.hold();
        let ran = catch_unwind(AssertUnwindSafe(source_code));
        self.line().is_held = false;
        ran
    }

    /// Nothing is handed on any more but the action at hand. How many wait.
    fn hold(&self) -> usize {
        let mut line = self.line();
        line.is_held = true;
        line.kept = line.actions.letters().len();
        line.kept
    }
}
