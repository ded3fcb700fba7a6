//! The receiving side: a router, and a subscriber that notes what arrives when.

use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use bagplay::wire::{self, WireOptions};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::{Session, Wait};

use crate::scenario::{Kind, Scenario};

/// A message that has arrived.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    /// Its place in the topics of the scenario.
    pub(crate) topic: usize,
    pub(crate) log_time: u64,
    pub(crate) bytes: usize,
}

/// So long before the sender starts, the router learns of the subscribers. So long after its end, nothing more may
/// arrive.
const QUIET: Duration = Duration::from_millis(500);

pub(crate) struct Network {
    endpoint: String,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    subscribers: Vec<Subscriber<()>>,
    _tokens: Vec<LivelinessToken>,
    peer: Session,
    router: wire::Session,
}

impl Network {
    /// A router, and a peer beside it that subscribes to the topics, as a node of ROS 2 does: messages come from the
    /// sender directly.
    #[expect(
        clippy::disallowed_methods,
        reason = "no event says that the router knows all"
    )]
    pub(crate) fn open(scenario: &Scenario) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let endpoint = format!("tcp/127.0.0.1:{port}");
        let options = WireOptions {
            domain_id: Some(0),
            listen: vec![endpoint.clone()],
            ..WireOptions::default()
        };
        let router = wire::Session::open(&options, |_| ())?;
        let peer = open_peer(&endpoint)?;
        let arrivals = Arc::new(Mutex::new(Vec::with_capacity(1 << 16)));
        let (mut subscribers, mut tokens) = (Vec::new(), Vec::new());
        let mut announce = |key: String| {
            let declared = peer.liveliness().declare_token(key).wait();
            declared.map(|token| tokens.push(token)).map_err(boxed)
        };
        // So that a player sees a node of ROS 2 that subscribes.
        let node = format!("@ros2_lv/0/{}/0", peer.zid());
        announce(format!("{node}/0/NN/%/%/compare"))?;
        for (topic, of) in scenario.topics.iter().enumerate() {
            let (kind, arrivals) = (of.kind, Arc::clone(&arrivals));
            let subscriber = peer.declare_subscriber(format!("{}/*", of.key()));
            let subscriber = subscriber.callback(move |sample| {
                note(&arrivals, topic, kind, sample.payload());
            });
            subscribers.push(subscriber.wait().map_err(boxed)?);
            let id = topic + 1;
            announce(format!("{node}/{id}/MS/%/%/compare/{}", of.token()))?;
        }
        std::thread::sleep(QUIET);
        Ok(Self {
            endpoint,
            arrivals,
            subscribers,
            _tokens: tokens,
            peer,
            router,
        })
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Waits until nothing more arrives; returns what has arrived, in that order.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
    pub(crate) fn close(self) -> Result<Vec<Arrival>> {
        let count = || {
            self.arrivals
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .len()
        };
        loop {
            let before = count();
            std::thread::sleep(QUIET);
            if count() == before {
                break;
            }
        }
        drop(self.subscribers);
        self.peer.close().wait().map_err(boxed)?;
        drop(self.router);
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *arrivals))
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
fn note(arrivals: &Mutex<Vec<Arrival>>, topic: usize, kind: Kind, payload: &zenoh::bytes::ZBytes) {
    let at = Instant::now();
    // The time is in the first bytes; a large payload is in several pieces.
    let first = payload.slices().next().unwrap_or_default();
    if let Some(log_time) = kind.log_time(first) {
        let bytes = payload.len();
        let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.push(Arrival {
            at,
            topic,
            log_time,
            bytes,
        });
    }
}

/// A session that finds other peers through the router and links to them, as `rmw_zenoh_cpp` configures it.
pub(crate) fn open_peer(router: &str) -> Result<Session> {
    let settings = [
        ("mode", "\"peer\"".to_owned()),
        ("scouting/multicast/enabled", "false".to_owned()),
        ("connect/endpoints", format!("[{router:?}]")),
        ("listen/endpoints", "[\"tcp/127.0.0.1:0\"]".to_owned()),
        (
            "scouting/gossip/target",
            r#"{router: ["router", "peer"], peer: ["router"]}"#.to_owned(),
        ),
        (
            "scouting/gossip/autoconnect",
            r#"{router: [], peer: ["router", "peer"]}"#.to_owned(),
        ),
        // Only one of two peers connects. If both do, one link is closed again, with the messages that are on it.
        (
            "scouting/gossip/autoconnect_strategy",
            r#"{peer: {to_router: "always", to_peer: "greater-zid"}}"#.to_owned(),
        ),
        ("timestamping/enabled", "true".to_owned()),
        // Not in the configuration of `rmw_zenoh` and of the player, either.
        ("transport/shared_memory/enabled", "false".to_owned()),
    ];
    let mut config = zenoh::Config::default();
    for (key, value) in settings {
        let inserted = config.insert_json5(key, &value);
        inserted.map_err(|error| anyhow::anyhow!("{key}: {error}"))?;
    }
    zenoh::open(config).wait().map_err(boxed)
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn boxed(error: zenoh::Error) -> anyhow::Error {
    anyhow::anyhow!("{error}")
}
