//! [`TopicPublisher`]: one topic on the wire, as `rmw_zenoh` publishes it.
//!
//! It declares the zenoh entity before the liveliness token and drops the token first. Sequence numbers start
//! at 1 and continue through every jump, because subscribers count any step other than 1 as lost messages. Only
//! one thread puts.

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
use zenoh_ext::{AdvancedPublisher, AdvancedPublisherBuilderExt, CacheConfig, MissDetectionConfig};

use crate::ros::{Durability, History, Qos, Reliability};

use super::monitor::Row;
use crate::wire::error::WireError;
use crate::wire::event::{Events, WireEvent};
use crate::wire::net::blocking_session::Lanes;
use crate::wire::net::now::unix_nanos;
use crate::wire::options::Congestion;
use crate::wire::rmw_zenoh::attachment::attachment;
use crate::wire::rmw_zenoh::gid::Gid;
use crate::wire::rmw_zenoh::token::Token;

/// How often a latched publisher sends its last sequence number again, if it has changed.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// How many samples a `keep_all` publisher keeps for late joiners; the number must be limited.
const KEEP_ALL_CACHE: usize = 1000;

/// The properties of a publisher to declare.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    /// The key to put on.
    pub(crate) key: String,
    /// The token, whose key also gives the GID; `None` on plain keys, where puts carry no attachment.
    pub(crate) token: Option<Token>,
    pub(crate) qos: Qos,
    pub(crate) congestion: Congestion,
    pub(crate) priority: Priority,
    /// Whether messages wait for room, as `congestion` says; otherwise they are dropped at once.
    pub(crate) waits: bool,
}

/// A declared publisher and its token.
#[derive(Debug)]
pub(crate) struct TopicPublisher {
    // Fields drop in this order: the token before the entity.
    token: Option<LivelinessToken>,
    sink: Sink,
    gid: Option<Gid>,
    sequence: i64,
}

#[derive(Debug)]
enum Sink {
    Volatile(Publisher<'static>),
    Latched(Box<AdvancedPublisher<'static>>),
}

impl TopicPublisher {
    /// Declares a publisher. `row` and `events` are updated when its messages get or lose a route to a
    /// subscriber.
    pub(crate) fn declare(
        lanes: &Lanes,
        spec: &Spec,
        events: &Events,
        row: Option<&Arc<Row>>,
    ) -> Result<Self, WireError> {
        let fail = |source| WireError::Declare {
            what: spec.key.clone(),
            source,
        };
        let key = KeyExpr::try_from(spec.key.clone()).map_err(fail)?;
        let patient = lanes.patient_for(spec.waits);
        let builder = patient
            .unwrap_or(&lanes.main)
            .declare_publisher(key)
            .reliability(match spec.qos.reliability {
                Reliability::Reliable => ZenohReliability::Reliable,
                Reliability::BestEffort => ZenohReliability::BestEffort,
            })
            .congestion_control(congestion_control(spec, patient.is_some()))
            .priority(spec.priority);
        let sink = if spec.qos.durability == Durability::TransientLocal {
            let mut builder = builder
                .cache(CacheConfig::default().max_samples(cache_size(&spec.qos)))
                .publisher_detection();
            if spec.qos.reliability == Reliability::Reliable {
                builder = builder.sample_miss_detection(
                    MissDetectionConfig::default().sporadic_heartbeat(HEARTBEAT),
                );
            }
            Sink::Latched(Box::new(builder.wait().map_err(fail)?))
        } else {
            Sink::Volatile(builder.wait().map_err(fail)?)
        };
        if let Some(row) = row {
            sink.watch(row, events).map_err(fail)?;
        }
        let key = spec.token.as_ref().map(Token::to_string);
        let token = match &key {
            Some(key) => Some(
                lanes
                    .main
                    .liveliness()
                    .declare_token(key.clone())
                    .wait()
                    .map_err(fail)?,
            ),
            None => None,
        };
        let gid = key.as_deref().map(Gid::of);
        Ok(Self {
            token,
            sink,
            gid,
            sequence: 0,
        })
    }

    /// Puts a payload. Blocks as long as congestion control requires. An error means that the session is
    /// closed.
    pub(crate) fn put(&mut self, payload: &Bytes) -> zenoh::Result<()> {
        let stamp = self.stamp();
        self.put_stamped(payload, stamp)
    }

    /// The next attachment. Separate from the put, so that two entities of one topic can share the sequence
    /// numbers.
    pub(crate) fn stamp(&mut self) -> Option<[u8; crate::wire::rmw_zenoh::attachment::LENGTH]> {
        self.sequence += 1;
        self.gid
            .map(|gid| attachment(self.sequence, unix_nanos(), gid))
    }

    /// Puts a payload with an attachment from [`TopicPublisher::stamp`].
    pub(crate) fn put_stamped(
        &self,
        payload: &Bytes,
        stamp: Option<[u8; crate::wire::rmw_zenoh::attachment::LENGTH]>,
    ) -> zenoh::Result<()> {
        let stamp = stamp.map(|stamp| ZBytes::from(stamp.to_vec()));
        match &self.sink {
            // No copy: the slice keeps its chunk in memory until it is sent.
            Sink::Volatile(publisher) => publisher.put(payload.clone()).attachment(stamp).wait(),
            // A copy: the cache keeps the payload as long as the publisher exists, and a slice would keep its
            // whole chunk.
            Sink::Latched(publisher) => publisher
                .put(Bytes::copy_from_slice(payload))
                .attachment(stamp)
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
    fn watch(&self, row: &Arc<Row>, events: &Events) -> zenoh::Result<()> {
        let (seen, events) = (Arc::clone(row), events.clone());
        self.listen(move |matched| {
            if seen.has_match.swap(matched, Ordering::Relaxed) != matched {
                events.tell(WireEvent::Matching {
                    topic: seen.name.clone(),
                    matched,
                });
            }
        })
    }

    /// Calls `tell` with whether there is a route to a subscriber, now and at every change.
    fn listen(&self, tell: impl Fn(bool) + Clone + Send + Sync + 'static) -> zenoh::Result<()> {
        let on_change = tell.clone();
        let on_change = move |status: MatchingStatus| on_change(status.matching());
        let now = match self {
            Self::Volatile(publisher) => {
                let listener = publisher.matching_listener().callback(on_change);
                listener.background().wait()?;
                publisher.matching_status().wait()?
            }
            Self::Latched(publisher) => {
                let listener = publisher.matching_listener().callback(on_change);
                listener.background().wait()?;
                publisher.matching_status().wait()?
            }
        };
        tell(now.matching());
        Ok(())
    }
}

fn congestion_control(spec: &Spec, is_patient: bool) -> CongestionControl {
    match spec.congestion {
        Congestion::Block if spec.waits && !is_patient => CongestionControl::Block,
        Congestion::BlockFirst if spec.waits => CongestionControl::BlockFirst,
        // The session for blocking puts waits before it drops.
        Congestion::Block | Congestion::BlockFirst | Congestion::Drop => CongestionControl::Drop,
    }
}

fn cache_size(qos: &Qos) -> usize {
    match qos.history {
        History::KeepLast(0) => crate::wire::rmw_zenoh::qos_chunk::DEFAULT_DEPTH as usize,
        History::KeepLast(depth) => depth as usize,
        History::KeepAll => KEEP_ALL_CACHE,
    }
}
