//! [`TopicPublisher`]: one topic on the wire, as `rmw_zenoh` publishes it.
//!
//! Declares the zenoh entity, then its token; drops the token first. Its sequence numbers start at 1 and
//! run on as long as it lives, through every jump: a remote counts every other step as lost messages. One
//! thread puts.

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

use super::blocking_session::Lanes;
use super::monitor::Row;
use crate::wire::error::WireError;
use crate::wire::event::{Events, WireEvent};
use crate::wire::net::now::unix_nanos;
use crate::wire::options::Congestion;
use crate::wire::rmw_zenoh::attachment::attachment;
use crate::wire::rmw_zenoh::gid::Gid;
use crate::wire::rmw_zenoh::token::Token;

/// How often a latched publisher repeats its last sequence number, if it changed.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// What a `keep_all` publisher keeps for late joiners, which can be no unbounded number.
const KEEP_ALL_CACHE: usize = 1000;

/// What to declare.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    /// The key to put on.
    pub(crate) key: String,
    /// The token, whose display also makes the GID; `None` outside ROS, where puts carry no attachment.
    pub(crate) token: Option<Token>,
    pub(crate) qos: Qos,
    pub(crate) congestion: Congestion,
    pub(crate) priority: Priority,
    /// Whether its messages wait where there is no room, as `congestion` says, or are dropped at once.
    pub(crate) waits: bool,
}

/// A declared publisher and its token.
#[derive(Debug)]
pub(crate) struct TopicPublisher {
    // Fields drop in this order: the token goes before the entity.
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
    /// Declares it. `row` and `events` learn when its messages have somebody to go to.
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

    /// Puts a payload. Blocks as long as congestion control says. An error means that the session is closed.
    pub(crate) fn put(&mut self, payload: &Bytes) -> zenoh::Result<()> {
        let stamp = self.stamp();
        self.put_stamped(payload, stamp)
    }

    /// The next attachment. Taken apart from the put so that two entities of one topic can share the count.
    pub(crate) fn stamp(&mut self) -> Option<[u8; crate::wire::rmw_zenoh::attachment::LENGTH]> {
        self.sequence += 1;
        self.gid
            .map(|gid| attachment(self.sequence, unix_nanos(), gid))
    }

    /// Puts a payload with an attachment of [`TopicPublisher::stamp`].
    pub(crate) fn put_stamped(
        &self,
        payload: &Bytes,
        stamp: Option<[u8; crate::wire::rmw_zenoh::attachment::LENGTH]>,
    ) -> zenoh::Result<()> {
        let stamp = stamp.map(|stamp| ZBytes::from(stamp.to_vec()));
        match &self.sink {
            // The slice keeps its chunk alive until it is sent: no copy.
            Sink::Volatile(publisher) => publisher.put(payload.clone()).attachment(stamp).wait(),
            // The cache keeps it for as long as we live: a slice would pin its whole chunk.
            Sink::Latched(publisher) => publisher
                .put(Bytes::copy_from_slice(payload))
                .attachment(stamp)
                .wait(),
        }
    }

    /// Calls `wake` whenever it comes to have somebody to send to.
    pub(crate) fn on_match(&self, wake: Arc<dyn Fn() + Send + Sync>) -> zenoh::Result<()> {
        self.sink.listen(move |matched| {
            if matched {
                wake();
            }
        })
    }

    /// Takes the token back, so that others see the topic go before its data path does.
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

    /// Tells whether there is somebody to send to, now and whenever that changes.
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
        // The patient session waits before it drops.
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
