//! [`ClockSource`]: the `/clock` topic, or a player's `clock_state`, as a time source.
//!
//! zenoh's thread only puts messages into a mailbox. A thread of the source takes them out and feeds the
//! clocks, so that jump handlers never run in a network callback. While handlers run, a waiting message is
//! replaced by the next one, unless that would hide that time changed direction.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::Sample;

use crate::clock::mailbox::{Letter, Mailbox as Waiting};
use crate::clock::{ClockState, Extrapolation, Feed, SourceError, TimeSource, mailbox};
use crate::time::{Ros, Speed, Steady, Time};

use super::payload::decode_clock;
use super::state_message::ClockStateMessage;
use crate::wire::net::now::steady;
use crate::wire::rmw_zenoh::graph::{CLOCK, Graph};

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
    pub(crate) graph: Graph,
    pub(crate) follow: Follow,
    /// The key to subscribe to, whatever the type hash of the publisher.
    pub(crate) key: String,
    /// The liveliness token of the subscription.
    pub(crate) token: String,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) heard: Option<Heard>,
    /// Whether the thread that empties the mailbox was started.
    pub(crate) has_thread: bool,
}

/// A subscription; its token is dropped first.
#[derive(Debug)]
pub(crate) struct Heard {
    _token: LivelinessToken,
    _subscriber: Subscriber<()>,
}

/// What was received and has not been fed to the clocks yet.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    letters: Mutex<Letters>,
    has_come: Condvar,
}

#[derive(Debug, Default)]
struct Letters {
    /// Where to feed the time.
    feed: Option<Feed>,
    said: Waiting<Said>,
    publishers: Option<(Feed, usize)>,
    /// Whether the source is switched on.
    is_wanted: bool,
    is_over: bool,
}

#[derive(Clone, Copy, Debug)]
enum Said {
    Time(Time<Ros>),
    /// With the instant at which it was received.
    State(ClockState, Extrapolation, Time<Steady>),
}

impl ClockSource {
    fn start_thread(&mut self) -> std::io::Result<()> {
        if !self.has_thread {
            let mailbox = Arc::clone(&self.mailbox);
            let named = std::thread::Builder::new().name("ros-clock".to_owned());
            named.spawn(move || mailbox.hand_on())?;
            self.has_thread = true;
        }
        Ok(())
    }
}

impl TimeSource for ClockSource {
    fn attached(&mut self, feed: &Feed) {
        if let Err(error) = self.start_thread() {
            // `start` tries again and returns the error.
            tracing::warn!("nobody counts the publishers of the clock: no thread: {error}");
        }
        let (mailbox, feed) = (Arc::downgrade(&self.mailbox), feed.clone());
        let tell = move |count| match mailbox.upgrade() {
            Some(mailbox) => {
                mailbox.put(|letters| letters.publishers = Some((feed.clone(), count)));
                true
            }
            None => false,
        };
        let topic = match &self.follow {
            Follow::Clock => CLOCK,
            Follow::State(topic, _) => topic,
        };
        self.graph.count_publishers(topic, Box::new(tell));
    }

    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        let fail = |source: zenoh::Error| SourceError::Failed(source);
        self.start_thread().map_err(|error| fail(error.into()))?;
        self.mailbox
            .put(|letters| letters.feed = Some(feed.clone()));
        let (mailbox, feed, follow) =
            (Arc::clone(&self.mailbox), feed.clone(), self.follow.clone());
        let hear = move |sample: Sample| {
            let since = feed.stopwatch();
            match read(&follow, &sample.payload().to_bytes(), since) {
                Some(said) => mailbox.put(|letters| letters.said.put(said)),
                None => feed.malformed(),
            }
        };
        let subscriber = self.zenoh.declare_subscriber(self.key.clone());
        let subscriber = subscriber.callback(hear).wait().map_err(fail)?;
        let token = self.zenoh.liveliness().declare_token(self.token.clone());
        self.heard = Some(Heard {
            _token: token.wait().map_err(fail)?,
            _subscriber: subscriber,
        });
        self.mailbox.put(|letters| letters.is_wanted = true);
        Ok(())
    }

    fn stop(&mut self) {
        self.heard = None;
        self.mailbox.put(|letters| {
            (letters.said, letters.is_wanted) = (Waiting::default(), false);
        });
    }
}

/// The time or state in a message; `None` if it cannot be read.
fn read(follow: &Follow, payload: &[u8], since: Time<Steady>) -> Option<Said> {
    match follow {
        Follow::Clock => decode_clock(payload).map(Said::Time),
        Follow::State(_, how) => {
            let message = ClockStateMessage::decode(payload)?;
            let state = ClockState {
                time: message.clock,
                // Zero and NaN are not speeds: time does not move.
                speed: Speed::from_f64(message.real_time_factor).ok(),
                generation: message.generation,
                sent: (message.system_nanos > 0).then(|| Time::from_nanos(message.system_nanos)),
            };
            Some(Said::State(state, *how, since))
        }
    }
}

impl Letter for Said {
    fn said(&self) -> Option<mailbox::Said> {
        Some(match *self {
            Self::Time(time) => mailbox::Said::Time(time),
            Self::State(state, ..) => mailbox::Said::State(state),
        })
    }
}

impl Mailbox {
    fn letters(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, change: impl FnOnce(&mut Letters)) {
        change(&mut self.letters());
        self.has_come.notify_one();
    }

    /// Feeds what arrives, until the source is dropped.
    fn hand_on(&self) {
        let begun = steady();
        let mut letters = self.letters();
        loop {
            // A publisher while the source is off causes a warning, so the count waits until the source is on
            // or the grace is over.
            let grace = GRACE.saturating_sub(steady().saturating_duration_since(begun));
            let is_due = letters.is_wanted || grace.is_zero();
            let publishers = letters.publishers.take_if(|_| is_due);
            let (said, feed) = (letters.said.take(), letters.feed.clone());
            if letters.is_over {
                return;
            }
            if said.is_none() && publishers.is_none() {
                let patience = if letters.publishers.is_some() {
                    grace
                } else {
                    Duration::MAX
                };
                let waited = self.has_come.wait_timeout(letters, patience);
                (letters, _) = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            drop(letters);
            if let Some((feed, count)) = publishers {
                feed.publishers(count);
            }
            match (said, feed) {
                (Some(Said::Time(time)), Some(feed)) => feed.time(time),
                (Some(Said::State(state, how, since)), Some(feed)) => {
                    feed.state_since(state, how, since);
                }
                _ => {}
            }
            letters = self.letters();
        }
    }
}

impl Drop for ClockSource {
    fn drop(&mut self) {
        // The thread is not joined: it may be the one that drops this, in a jump handler.
        self.mailbox.put(|letters| letters.is_over = true);
    }
}
