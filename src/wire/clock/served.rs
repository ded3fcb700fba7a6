//! [`ServedClock`]: `/clock` of an output, which commands may begin and end while the output publishes.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::clock_topic::Clock;
use super::needs::ClockNeeds;
use crate::wire::dialect::interface::TopicSpec;
use crate::wire::dialect::own_clock::ClockAnnouncer;
use crate::wire::error::WireError;
use crate::wire::event::WireEvent;
use crate::wire::options::ClockOptions;
use crate::wire::publish::monitor::ClockCounts;

/// The clock of an output: what it needs, and the clock while it is served.
#[derive(Debug)]
pub(crate) struct ServedClock {
    needs: ClockNeeds,
    announcer: ClockAnnouncer,
    counts: Arc<ClockCounts>,
    clock: Option<Clock>,
}

impl ServedClock {
    /// Nothing is served.
    pub(crate) fn new(needs: ClockNeeds, announcer: ClockAnnouncer) -> Self {
        let counts = Arc::clone(&needs.counts);
        Self {
            needs,
            announcer,
            counts: Arc::new(ClockCounts {
                counts,
                is_served: AtomicBool::new(false),
            }),
            clock: None,
        }
    }

    /// Serves the clock that was planned with the topics. It is announced with them.
    pub(crate) fn begin(
        &mut self,
        topic: &TopicSpec,
        options: ClockOptions,
    ) -> Result<(), WireError> {
        let clock = Clock::start(&self.needs, topic, options)?;
        if topic.token.is_none() {
            clock.answer_matches()?;
        }
        self.clock = Some(clock);
        self.counts.is_served.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Serves a clock with these options from now on, or none; one may be served already. Returns whether one is
    /// served.
    pub(crate) fn serve(&mut self, options: Option<ClockOptions>) -> bool {
        match (options, &self.clock) {
            (None, Some(_)) => {
                self.end();
                let event = WireEvent::OwnClock { is_served: false };
                self.needs.events.send(event);
            }
            (None, None) => {}
            (Some(options), Some(clock)) => clock.change(options),
            (Some(options), None) => {
                if let Err(error) = self.announce(options) {
                    self.needs
                        .events
                        .warn(format!("/clock cannot be published: {error}"));
                }
            }
        }
        self.clock.is_some()
    }

    /// Declares the clock and makes it known to the others.
    fn announce(&mut self, options: ClockOptions) -> Result<(), WireError> {
        let (topic, ours) = self.announcer.plan();
        self.begin(&topic, options)?;
        if let Some(clock) = &self.clock {
            // Messages from before a jump may still wait to be sent: then the first values stay behind them.
            clock.jump();
            let events = self.announcer.announce(ours, clock.waker());
            let own = WireEvent::OwnClock { is_served: true };
            for event in iter::once(own).chain(events) {
                self.needs.events.send(event);
            }
        }
        Ok(())
    }

    /// Ends the clock: its token is undeclared first.
    pub(crate) fn end(&mut self) {
        if let Some(clock) = self.clock.take() {
            self.counts.is_served.store(false, Ordering::Relaxed);
            self.announcer.retire();
            drop(clock);
        }
    }

    /// The clock, while it is served.
    pub(crate) fn clock(&self) -> Option<&Clock> {
        self.clock.as_ref()
    }

    /// Counts what subscribers of the clock missed.
    pub(crate) fn counts(&self) -> Arc<ClockCounts> {
        Arc::clone(&self.counts)
    }

    /// Makes a put; the clock that is served is repeated if it takes long.
    pub(crate) fn while_putting<T>(&self, put: impl FnOnce() -> T) -> T {
        match &self.clock {
            Some(clock) => clock.while_putting(put),
            None => put(),
        }
    }
}
