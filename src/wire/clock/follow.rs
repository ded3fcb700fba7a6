//! [`ClockSource`]: the `/clock` topic, or a player's `clock_state`, as a time source.
//!
//! zenoh's thread only puts messages into an inbox. A thread of the source takes them out and feeds the
//! clocks, so that jump handlers never run in a network callback. While handlers run, a waiting message is
//! replaced by the next one, unless that would hide that time changed direction.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::Sample;

use crate::clock::time_queue::{QueueItem, TimeQueue};
use crate::clock::{ClockState, Extrapolation, Feed, SourceError, TimeSource, time_queue};
use crate::time::{Ros, Speed, Steady, Time};

use super::payload::decode_clock;
use super::state_message::ClockStateMessage;
use crate::wire::dialect::interface::{Nodes, SubscriptionSpec};
use crate::wire::dialect::plan::CLOCK;
use crate::wire::net::now::steady;

/// How long after it was made a source may be off before a publisher of the clock is reported as ignored.
const GRACE: Duration = Duration::from_secs(1);

/// The topic that gives the time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Follow {
    /// `/clock`: time does not move between two messages.
    #[default]
    Clock,
    /// The state topic of a player, by its full name (`/rosbag2_player/clock_state`). Between two messages time
    /// moves at the speed they give, for [`Extrapolation::max_age`] at most. The player sends a message at
    /// every change and once per second: with a `max_age` below one second plus the time of transmission, time
    /// stops before each next message. The age of a message is measured with this machine's system clock: if
    /// that is ahead of the player's by more than `max_age`, time never moves between messages.
    State(String, Extrapolation),
}

/// The time of a clock server on the network, for a [`SimTime`](crate::clock::SimTime).
///
/// Messages that arrive while jump handlers run are replaced by newer ones. Every jump back is delivered while fewer
/// than 64 messages wait; jumps back that follow directly on each other are delivered as one.
#[derive(Debug)]
pub struct ClockSource {
    pub(crate) zenoh: zenoh::Session,
    pub(crate) nodes: Nodes,
    pub(crate) follow: Follow,
    pub(crate) topic: SubscriptionSpec,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) subscription: Option<Subscription>,
    /// Whether the thread that empties the inbox was started.
    pub(crate) has_thread: bool,
}

/// A subscription; its token is dropped first.
#[derive(Debug)]
pub(crate) struct Subscription {
    _token: LivelinessToken,
    _subscriber: Subscriber<()>,
}

/// What was received and has not been fed to the clocks yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    contents: Mutex<Contents>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Contents {
    /// Where to feed the time.
    feed: Option<Feed>,
    messages: TimeQueue<Received>,
    publishers: Option<(Feed, usize)>,
    /// Whether the source is switched on.
    is_enabled: bool,
    is_over: bool,
}

/// What a message says.
#[derive(Clone, Copy, Debug)]
enum Received {
    Time(Time<Ros>),
    /// With the instant at which it was received.
    State(ClockState, Extrapolation, Time<Steady>),
}

impl ClockSource {
    fn start_thread(&mut self) -> std::io::Result<()> {
        if !self.has_thread {
            let inbox = Arc::clone(&self.inbox);
            let named = std::thread::Builder::new().name("ros-clock".to_owned());
            named.spawn(move || inbox.feed_clocks())?;
            self.has_thread = true;
        }
        Ok(())
    }
}

impl TimeSource for ClockSource {
    fn attached(&mut self, feed: &Feed) {
        if let Err(error) = self.start_thread() {
            // `start` tries again and returns the error.
            tracing::warn!(
                "publishers of the clock are not counted: the thread cannot be started: {error}"
            );
        }
        let (inbox, feed) = (Arc::downgrade(&self.inbox), feed.clone());
        let counted = move |count| match inbox.upgrade() {
            Some(inbox) => {
                inbox.change(|contents| contents.publishers = Some((feed.clone(), count)));
                true
            }
            None => false,
        };
        let topic = match &self.follow {
            Follow::Clock => CLOCK,
            Follow::State(topic, _) => topic,
        };
        self.nodes.count_publishers(topic, Box::new(counted));
    }

    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        let fail = |source: zenoh::Error| SourceError::Failed(source);
        self.start_thread().map_err(|error| fail(error.into()))?;
        self.inbox
            .change(|contents| contents.feed = Some(feed.clone()));
        let (inbox, feed, follow) = (Arc::clone(&self.inbox), feed.clone(), self.follow.clone());
        let receive = move |sample: Sample| {
            let since = feed.steady_now();
            match read(&follow, &sample.payload().to_bytes(), since) {
                Some(received) => inbox.change(|contents| contents.messages.put(received)),
                None => feed.malformed(),
            }
        };
        let subscriber = self.zenoh.declare_subscriber(self.topic.key.clone());
        let subscriber = subscriber.callback(receive).wait().map_err(fail)?;
        let token = self
            .zenoh
            .liveliness()
            .declare_token(self.topic.token.clone());
        self.subscription = Some(Subscription {
            _token: token.wait().map_err(fail)?,
            _subscriber: subscriber,
        });
        self.inbox.change(|contents| contents.is_enabled = true);
        Ok(())
    }

    fn stop(&mut self) {
        self.subscription = None;
        self.inbox.change(|contents| {
            (contents.messages, contents.is_enabled) = (TimeQueue::default(), false);
        });
    }
}

/// The time or state in a message; `None` if it cannot be read.
fn read(follow: &Follow, payload: &[u8], since: Time<Steady>) -> Option<Received> {
    match follow {
        Follow::Clock => decode_clock(payload).map(Received::Time),
        Follow::State(_, how) => {
            let message = ClockStateMessage::decode(payload)?;
            let state = ClockState {
                time: message.clock,
                // Zero and NaN are not speeds: time does not move.
                speed: Speed::from_f64(message.real_time_factor).ok(),
                generation: message.generation,
                sent: (message.system_nanos > 0).then(|| Time::from_nanos(message.system_nanos)),
            };
            Some(Received::State(state, *how, since))
        }
    }
}

impl QueueItem for Received {
    fn value(&self) -> Option<time_queue::TimeValue> {
        Some(match *self {
            Self::Time(time) => time_queue::TimeValue::Time(time),
            Self::State(state, ..) => time_queue::TimeValue::State(state),
        })
    }
}

impl Inbox {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Contents)) {
        change(&mut self.contents());
        self.changed.notify_one();
    }

    /// Feeds what arrives, until the source is dropped.
    fn feed_clocks(&self) {
        let begun = steady();
        let mut contents = self.contents();
        loop {
            // A publisher while the source is off causes a warning, so the count waits until the source is on
            // or the grace is over.
            let grace = GRACE.saturating_sub(steady().saturating_duration_since(begun));
            let is_due = contents.is_enabled || grace.is_zero();
            let publishers = contents.publishers.take_if(|_| is_due);
            let (received, feed) = (contents.messages.take(), contents.feed.clone());
            if contents.is_over {
                return;
            }
            if received.is_none() && publishers.is_none() {
                let patience = if contents.publishers.is_some() {
                    grace
                } else {
                    Duration::MAX
                };
                let waited = self.changed.wait_timeout(contents, patience);
                (contents, _) = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            drop(contents);
            if let Some((feed, count)) = publishers {
                feed.publishers(count);
            }
            match (received, feed) {
                (Some(Received::Time(time)), Some(feed)) => feed.time(time),
                (Some(Received::State(state, how, since)), Some(feed)) => {
                    feed.state_since(state, how, since);
                }
                _ => {}
            }
            contents = self.contents();
        }
    }
}

impl Drop for ClockSource {
    fn drop(&mut self) {
        // The thread is not joined: it may be the one that drops this, in a jump handler.
        self.inbox.change(|contents| contents.is_over = true);
    }
}
