//! [`TopicPublisher`]: one topic on the wire, declared as its dialect says.
//!
//! It declares the zenoh entity before the liveliness token and drops the token first. Sequence numbers start
//! at 1 and continue through every jump, because subscribers count any step other than 1 as lost messages. Only
//! one thread puts at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::key_expr::KeyExpr;
use zenoh::liveliness::LivelinessToken;
use zenoh::matching::MatchingStatus;
use zenoh::pubsub::Publisher;
use zenoh::qos::{CongestionControl, Priority, Reliability as ZenohReliability};
use zenoh::sample::Locality;
use zenoh::time::{NTP64, Timestamp, TimestampId};
use zenoh_ext::{AdvancedPublisher, AdvancedPublisherBuilderExt, CacheConfig, MissDetectionConfig};

use crate::ros::Reliability;
use crate::time::{Ros, Time};

use super::monitor::TopicCounts;
use super::shared_memory::SharedMemory;
use crate::wire::dialect::interface::{Attachment, MessageForm, TopicSpec};
use crate::wire::error::WireError;
use crate::wire::event::{Events, WireEvent};
use crate::wire::net::blocking_session::PutSessions;
use crate::wire::net::now::unix_nanos;
use crate::wire::options::Congestion;

/// How messages share the links with others.
#[derive(Clone, Debug)]
pub(crate) struct PutRules {
    pub(crate) congestion: Congestion,
    pub(crate) priority: Priority,
    /// Whether messages wait for room, as `congestion` says; otherwise they are dropped at once.
    pub(crate) waits: bool,
    /// The memory in which payloads may be; large ones are then sent from there.
    pub(crate) shared_memory: Option<SharedMemory>,
}

/// What goes with a payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamped {
    attachment: Option<Attachment>,
    /// Without it, zenoh reads the clock for one, if its messages have one.
    time: Option<Timestamp>,
}

impl Stamped {
    /// Without a time of zenoh: for a put in another session than that of the publisher.
    pub(crate) fn without_time(self) -> Self {
        Self { time: None, ..self }
    }
}

/// Puts on the topic of a volatile publisher, behind everything that the publisher puts.
#[derive(Debug)]
pub(crate) struct LowPut {
    session: zenoh::Session,
    key: KeyExpr<'static>,
    reliability: ZenohReliability,
    congestion: CongestionControl,
    shared_memory: Option<SharedMemory>,
}

impl LowPut {
    /// The priority of these puts: lower than that of all publishers.
    pub(crate) const PRIORITY: Priority = Priority::DataLow;

    /// Puts a payload. Blocks as long as congestion control requires. An error means that the session is closed.
    pub(crate) fn put(&self, payload: Bytes, stamped: Stamped) -> zenoh::Result<()> {
        let payload = as_sent(self.shared_memory.as_ref(), payload);
        let put = self.session.put(&self.key, payload);
        put.attachment(stamped.attachment.map(bytes_of))
            .timestamp(stamped.time)
            .priority(Self::PRIORITY)
            .reliability(self.reliability)
            .congestion_control(self.congestion)
            .wait()
    }
}

/// A payload as zenoh sends it. No copy: it keeps its chunk in memory until it is sent; if the memory is shared, until
/// subscribers have dropped it.
#[inline]
fn as_sent(shared_memory: Option<&SharedMemory>, payload: Bytes) -> ZBytes {
    match shared_memory {
        Some(memory) => memory.payload(payload),
        None => payload.into(),
    }
}

/// One allocation: a `Vec` would be a second one.
#[inline]
fn bytes_of(attachment: Attachment) -> ZBytes {
    ZBytes::from(attachment)
}

/// A declared publisher and its token.
#[derive(Debug)]
pub(crate) struct TopicPublisher {
    // Fields drop in this order: the token before the entity.
    token: Option<LivelinessToken>,
    sink: Sink,
    form: MessageForm,
    sequence: i64,
    /// `None` if messages have no zenoh timestamp, or get it from zenoh: those of latched topics.
    stamps: Option<Stamps>,
    shared_memory: Option<SharedMemory>,
    /// `None` for latched topics, whose messages go through one cache.
    low: Option<Arc<LowPut>>,
}

/// The zenoh timestamps of messages, from a reading of the clock that is made anyway; they rise for each topic.
#[derive(Debug)]
struct Stamps {
    session: TimestampId,
    last: NTP64,
}

impl Stamps {
    fn of(session: &zenoh::Session) -> Self {
        let now = session.new_timestamp();
        Self {
            session: *now.get_id(),
            last: *now.get_time(),
        }
    }

    /// The timestamp of a message that is put at `unix_nanos`; later than the one before.
    #[inline]
    fn next(&mut self, unix_nanos: i64) -> Timestamp {
        let since = Duration::from_nanos(u64::try_from(unix_nanos).unwrap_or(0));
        self.last = NTP64::from(since).max(NTP64(self.last.0.saturating_add(1)));
        Timestamp::new(self.last, self.session)
    }
}

#[derive(Debug)]
enum Sink {
    Volatile(Publisher<'static>),
    Latched(Box<AdvancedPublisher<'static>>),
}

impl TopicPublisher {
    /// Declares a publisher. `counts` and `events` are updated when its messages get or lose a route to a
    /// subscriber.
    pub(crate) fn declare(
        sessions: &PutSessions,
        topic: &TopicSpec,
        rules: &PutRules,
        events: &Events,
        counts: Option<&Arc<TopicCounts>>,
    ) -> Result<Self, WireError> {
        let fail = |source| WireError::Declare {
            what: topic.key.clone(),
            source,
        };
        let key = KeyExpr::try_from(topic.key.clone()).map_err(fail)?;
        let blocking = sessions.blocking_for(rules.waits);
        let session = blocking.unwrap_or(&sessions.main);
        let reliability = match topic.reliability {
            Reliability::Reliable => ZenohReliability::Reliable,
            Reliability::BestEffort => ZenohReliability::BestEffort,
        };
        let congestion = congestion_control(rules, blocking.is_some());
        let builder = session
            .declare_publisher(key)
            .reliability(reliability)
            .congestion_control(congestion)
            .allowed_destination(match blocking {
                // Nothing subscribes in that session: a search for its subscribers with each put would find none.
                Some(_) => Locality::Remote,
                None => Locality::Any,
            })
            .priority(rules.priority);
        let sink = if let Some(latched) = topic.latched {
            let mut builder = builder
                .cache(CacheConfig::default().max_samples(latched.samples))
                .publisher_detection();
            if let Some(heartbeat) = latched.heartbeat {
                builder = builder.sample_miss_detection(
                    MissDetectionConfig::default().sporadic_heartbeat(heartbeat),
                );
            }
            Sink::Latched(Box::new(builder.wait().map_err(fail)?))
        } else {
            Sink::Volatile(builder.wait().map_err(fail)?)
        };
        let low = match &sink {
            // The key as it was declared: puts name it by a number.
            Sink::Volatile(publisher) => Some(Arc::new(LowPut {
                session: session.clone(),
                key: publisher.key_expr().clone(),
                reliability,
                congestion,
                shared_memory: rules.shared_memory.clone(),
            })),
            Sink::Latched(_) => None,
        };
        if let Some(counts) = counts {
            sink.watch(counts, events).map_err(fail)?;
        }
        let token = match &topic.token {
            Some(key) => Some(
                sessions
                    .main
                    .liveliness()
                    .declare_token(key.clone())
                    .wait()
                    .map_err(fail)?,
            ),
            None => None,
        };
        Ok(Self {
            token,
            sink,
            form: topic.form,
            sequence: 0,
            shared_memory: rules.shared_memory.clone(),
            stamps: (sessions.stamp_messages && topic.latched.is_none())
                .then(|| Stamps::of(session)),
            low,
        })
    }

    /// The form of its messages.
    pub(crate) fn form(&self) -> MessageForm {
        self.form
    }

    /// Puts a payload with the present time. Blocks as long as congestion control requires. An error means that the
    /// session is closed.
    pub(crate) fn put(&mut self, payload: Bytes) -> zenoh::Result<()> {
        let stamped = self.stamp();
        self.put_with(payload, stamped)
    }

    /// What goes with the next payload, with the present time. Separate from the put, so that two entities of one topic
    /// can share the sequence numbers.
    #[inline]
    pub(crate) fn stamp(&mut self) -> Stamped {
        let now = unix_nanos();
        Stamped {
            attachment: self.attachment_at(now),
            time: self.stamps.as_mut().map(|stamps| stamps.next(now)),
        }
    }

    /// The same, with this source time.
    pub(crate) fn stamp_with(&mut self, source: Time<Ros>) -> Stamped {
        Stamped {
            attachment: self.attachment_at(source.as_nanos()),
            time: None,
        }
    }

    #[inline]
    fn attachment_at(&mut self, unix_nanos: i64) -> Option<Attachment> {
        self.sequence += 1;
        self.form.attachment(self.sequence, unix_nanos)
    }

    /// Puts with a lower priority than this publisher; `None` for latched topics.
    pub(crate) fn low(&self) -> Option<&Arc<LowPut>> {
        self.low.as_ref()
    }

    /// Puts a payload with what goes with it.
    #[inline]
    pub(crate) fn put_with(&self, payload: Bytes, stamped: Stamped) -> zenoh::Result<()> {
        let Stamped { attachment, time } = stamped;
        let attachment = attachment.map(bytes_of);
        match &self.sink {
            Sink::Volatile(publisher) => {
                let put = publisher.put(as_sent(self.shared_memory.as_ref(), payload));
                put.attachment(attachment).timestamp(time).wait()
            }
            // A copy: the cache keeps the payload as long as the publisher exists, and a slice would keep its
            // whole chunk.
            Sink::Latched(publisher) => publisher
                .put(Bytes::copy_from_slice(&payload))
                .attachment(attachment)
                .wait(),
        }
    }

    /// Calls `wake` whenever the publisher gets a route to a subscriber.
    pub(crate) fn on_match(&self, wake: Arc<dyn Fn() + Send + Sync>) -> zenoh::Result<()> {
        self.sink.listen(move |matched| {
            if matched {
                wake();
            }
        })
    }

    /// Undeclares the token, so that others see the topic go before its data path does.
    pub(crate) fn undeclare_token(&mut self) {
        if let Some(token) = self.token.take() {
            // An error means that the session is closed, and the token with it.
            drop(token.undeclare().wait());
        }
    }
}

impl Sink {
    fn watch(&self, counts: &Arc<TopicCounts>, events: &Events) -> zenoh::Result<()> {
        let (counts, events) = (Arc::clone(counts), events.clone());
        self.listen(move |matched| {
            if counts.has_match.swap(matched, Ordering::Relaxed) != matched {
                events.send(WireEvent::Matching {
                    topic: counts.name.clone(),
                    matched,
                });
            }
        })
    }

    /// Calls `notify` with `true` if there is a route to a subscriber now, and with the new state at every change.
    /// zenoh makes all calls, one at a time, so no old state follows a newer one.
    fn listen(&self, notify: impl Fn(bool) + Send + Sync + 'static) -> zenoh::Result<()> {
        let on_change = move |status: MatchingStatus| notify(status.matching());
        match self {
            Self::Volatile(publisher) => {
                let listener = publisher.matching_listener().callback(on_change);
                listener.background().wait()
            }
            Self::Latched(publisher) => {
                let listener = publisher.matching_listener().callback(on_change);
                listener.background().wait()
            }
        }
    }
}

fn congestion_control(rules: &PutRules, has_blocking_session: bool) -> CongestionControl {
    match rules.congestion {
        Congestion::Block if rules.waits && !has_blocking_session => CongestionControl::Block,
        Congestion::BlockFirst if rules.waits => CongestionControl::BlockFirst,
        // The session for blocking puts waits before it drops.
        Congestion::Block | Congestion::BlockFirst | Congestion::Drop => CongestionControl::Drop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_unix_times_and_rise_when_the_clock_does_not() {
        let session = TimestampId::rand();
        let mut stamps = Stamps {
            session,
            last: NTP64(0),
        };
        let second = 1_700_000_000_500_000_000;
        let first = stamps.next(second);
        assert_eq!(*first.get_id(), session);
        let since = first.get_time().to_duration();
        assert_eq!(since, Duration::from_millis(1_700_000_000_500));
        let mut before = first;
        for nanos in [second, second - 1_000, second + 1, i64::MIN, second + 2] {
            let next = stamps.next(nanos);
            assert!(next > before, "{nanos}");
            before = next;
        }
    }
}
