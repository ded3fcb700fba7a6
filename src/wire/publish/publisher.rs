//! [`TopicPublisher`]: one topic on the wire, declared as its dialect says.
//!
//! It declares the zenoh entity before the liveliness token and drops the token first. Sequence numbers start
//! at 1 and continue through every jump, because subscribers count any step other than 1 as lost messages. Only
//! one thread puts at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::key_expr::KeyExpr;
use zenoh::liveliness::LivelinessToken;
use zenoh::matching::MatchingStatus;
use zenoh::pubsub::Publisher;
use zenoh::qos::{CongestionControl, Priority, Reliability as ZenohReliability};
use zenoh::sample::Locality;
use zenoh::time::Timestamp;
use zenoh_ext::{AdvancedPublisher, AdvancedPublisherBuilderExt, CacheConfig, MissDetectionConfig};

use crate::ros::Reliability;
use crate::time::{Ros, Time};

use super::monitor::TopicCounts;
use super::shared_memory::SharedMemory;
use crate::wire::dialect::interface::{Attachment, MessageForm, TopicSpec};
use crate::wire::error::WireError;
use crate::wire::event::{Events, WireEvent};
use crate::wire::net::now::unix_nanos;
use crate::wire::net::sessions::put::PutSessions;
use crate::wire::net::sessions::timestamps::Timestamps;
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
    /// The zenoh timestamp; `None` if messages have none.
    timestamp: Option<Timestamp>,
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
            .timestamp(stamped.timestamp)
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
    /// Makes the zenoh timestamps of messages; `None` if messages have none.
    timestamps: Option<Arc<Timestamps>>,
    shared_memory: Option<SharedMemory>,
    /// `None` for latched topics, whose messages go through one cache.
    low: Option<Arc<LowPut>>,
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
            .zenoh
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
            let numbered = MissDetectionConfig::default();
            if let Some(heartbeat) = latched.heartbeat {
                builder = builder.sample_miss_detection(numbered.sporadic_heartbeat(heartbeat));
            } else if !session.has_clock {
                // In a session without a clock, zenoh refuses a cache without sequence numbers.
                builder = builder.sample_miss_detection(numbered);
            }
            Sink::Latched(Box::new(builder.wait().map_err(fail)?))
        } else {
            Sink::Volatile(builder.wait().map_err(fail)?)
        };
        let low = match &sink {
            // The key as it was declared: puts name it by a number.
            Sink::Volatile(publisher) => Some(Arc::new(LowPut {
                session: session.zenoh.clone(),
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
                    .zenoh
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
            timestamps: session.timestamps.clone(),
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

    /// What goes with the next payload, with the present time.
    #[inline]
    pub(crate) fn stamp(&mut self) -> Stamped {
        let now = unix_nanos();
        Stamped {
            attachment: self.attachment_at(now),
            timestamp: self.timestamp_at(now),
        }
    }

    /// What goes with the next payload of this topic if `other` puts it: the sequence number of this publisher, and a
    /// timestamp of the session of `other`.
    pub(crate) fn stamp_for(&mut self, other: &Self) -> Stamped {
        let now = unix_nanos();
        Stamped {
            attachment: self.attachment_at(now),
            timestamp: other.timestamp_at(now),
        }
    }

    /// What goes with the next payload, with this source time.
    pub(crate) fn stamp_with(&mut self, source: Time<Ros>) -> Stamped {
        Stamped {
            attachment: self.attachment_at(source.as_nanos()),
            timestamp: self.timestamp_at(unix_nanos()),
        }
    }

    #[inline]
    fn timestamp_at(&self, unix_nanos: i64) -> Option<Timestamp> {
        let timestamps = self.timestamps.as_ref();
        timestamps.map(|timestamps| timestamps.next(unix_nanos))
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
        let Stamped {
            attachment,
            timestamp,
        } = stamped;
        let attachment = attachment.map(bytes_of);
        match &self.sink {
            Sink::Volatile(publisher) => {
                let put = publisher.put(as_sent(self.shared_memory.as_ref(), payload));
                put.attachment(attachment).timestamp(timestamp).wait()
            }
            // A copy: the cache keeps the payload as long as the publisher exists, and a slice would keep its
            // whole chunk.
            Sink::Latched(publisher) => publisher
                .put(Bytes::copy_from_slice(&payload))
                .attachment(attachment)
                .timestamp(timestamp)
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
