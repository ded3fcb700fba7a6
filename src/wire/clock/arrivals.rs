//! [`Arrivals`]: waits until what took the links of the main session has arrived, before a value is put in line.

use std::time::Duration;

use zenoh::qos::{CongestionControl, Priority};

use crate::wire::publish::arrival::Arrival;

/// A subscriber that has not received a value that went ahead within this time is stuck, and is not waited for.
const TICKS_ARRIVED: Duration = Duration::from_secs(1);
/// The same for best effort messages: where they are queued for longer, most of them are dropped anyway.
const MESSAGES_ARRIVED: Duration = Duration::from_millis(100);
/// For this time afterwards, no subscriber is waited for, unless the stuck one answers.
const STUCK: Duration = Duration::from_secs(30);

/// What is to have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Awaited {
    /// The values of the clock that went ahead of messages.
    pub(super) ticks: bool,
    /// The best effort messages.
    pub(super) messages: bool,
}

/// The queries behind both, as long as they are not answered.
#[derive(Debug)]
pub(super) struct Arrivals {
    main: zenoh::Session,
    /// The priority of best effort messages, if there are any and they have links of their own.
    beside: Option<Priority>,
    ticks: Option<Arrival>,
    messages: Option<Arrival>,
}

impl Arrivals {
    pub(super) const fn new(main: zenoh::Session, beside: Option<Priority>) -> Self {
        Self {
            main,
            beside,
            ticks: None,
            messages: None,
        }
    }

    /// Waits until all subscribers that can answer have received it, but not for one that is known to be stuck.
    pub(super) fn wait(&mut self, awaited: Awaited) {
        let ticks = awaited.ticks.then_some(Priority::RealTime);
        let messages = self.beside.filter(|_| awaited.messages);
        // Both are asked before one is waited for.
        let ticks = ticks.and_then(|it| ask(&self.main, it, TICKS_ARRIVED, &mut self.ticks));
        let messages =
            messages.and_then(|it| ask(&self.main, it, MESSAGES_ARRIVED, &mut self.messages));
        let unanswered = |arrival: &Arrival, longest| !arrival.wait(longest);
        self.ticks = ticks
            .filter(|it| unanswered(it, TICKS_ARRIVED))
            .or(self.ticks.take());
        self.messages = messages
            .filter(|it| unanswered(it, MESSAGES_ARRIVED))
            .or(self.messages.take());
    }
}

/// Asks behind what has this priority; `None` if an earlier query is not answered, or if the session is closed and has
/// no subscribers any more.
fn ask(
    main: &zenoh::Session,
    priority: Priority,
    longest: Duration,
    earlier: &mut Option<Arrival>,
) -> Option<Arrival> {
    earlier.take_if(|arrival| arrival.is_certain());
    if earlier.is_some() {
        return None;
    }
    Arrival::ask(main, priority, CongestionControl::Drop, longest + STUCK)
}
