//! [`Router`]: a router for the ROS 2 nodes of this host, if there is no other.
//!
//! It is a zenoh session of its own; the player's session joins it as it joins any router. The player's session
//! cannot be the router itself: a router of zenoh 1.10 refuses the liveliness tokens that nodes of zenoh 1.8
//! and before send when they connect, so it would never see subscribers that were there before it. A peer
//! receives all tokens from the router.

pub(super) mod takeover;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use zenoh::Wait;
use zenoh::config::EndPoint;

use crate::wire::error::WireError;
use crate::wire::net::endpoint::{of_this_host, port};
use crate::wire::net::zenoh_config;

/// A zenoh session in router mode.
#[derive(Debug)]
pub(crate) struct Router {
    zenoh: zenoh::Session,
    listen: Vec<String>,
    description: String,
}

impl Router {
    /// Opens a router; an error if it cannot listen where `config` says. `by` names the origin of the
    /// configuration, if it is not built in. Whatever the configuration says, the router waits up to `patience` for a
    /// client that has no room; `None`: as it says.
    pub(crate) fn open(
        config: zenoh::Config,
        by: Option<&str>,
        patience: Option<Duration>,
    ) -> Result<Self, WireError> {
        let config = zenoh_config::router(config, patience)?;
        let listen = listen_endpoints(&config);
        match zenoh::open(config).wait() {
            Ok(zenoh) => {
                let mut router = Self {
                    zenoh,
                    listen,
                    description: String::new(),
                };
                router.description = describe(by, &router.bound());
                Ok(router)
            }
            Err(source) => Err(WireError::Open {
                what: describe(by, &listen),
                source,
            }),
        }
    }

    /// The endpoints at which it listens, each with the port that the system chose.
    fn bound(&self) -> Vec<String> {
        if self.listen.iter().all(|one| port(one) != Some(0)) {
            return self.listen.clone();
        }
        let locators = self.zenoh.info().locators().wait();
        locators.iter().map(ToString::to_string).collect()
    }

    /// The endpoint at which a session of this process connects to this router.
    pub(crate) fn endpoint(&self) -> Option<String> {
        let locators = self.zenoh.info().locators().wait();
        let bound = locators.iter().map(ToString::to_string);
        // zenoh leaves out the loopback addresses of a listener on all addresses.
        let all: Vec<String> = self.listen.iter().cloned().chain(bound).collect();
        of_this_host(&all)
    }

    /// The endpoints at which it listens.
    pub(crate) fn listen(&self) -> &[String] {
        &self.listen
    }

    fn close(self, patience: Duration) -> zenoh::Result<()> {
        self.zenoh.close().timeout(patience).wait()
    }
}

/// As text for the user. `by`: the origin of its configuration.
fn describe(by: Option<&str>, listen: &[String]) -> String {
    by.map_or_else(
        || format!("router on {}", listen.join(", ")),
        |by| format!("configured by {by}"),
    )
}

/// The endpoints at which a configuration in router mode listens.
fn listen_endpoints(config: &zenoh::Config) -> Vec<String> {
    let json = config.get_json("listen/endpoints").unwrap_or_default();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
    let list = value.get("router").unwrap_or(&value);
    let endpoints = list.as_array().into_iter().flatten();
    let parsed = endpoints.filter_map(|one| one.as_str()?.parse::<EndPoint>().ok());
    parsed.map(|endpoint| endpoint.to_string()).collect()
}

/// The router of this process: at most one, which may be added while the session is open.
#[derive(Clone, Default, Debug)]
pub(crate) struct RouterSlot(Arc<Mutex<Option<Router>>>);

impl RouterSlot {
    pub(crate) fn new(router: Option<Router>) -> Self {
        Self(Arc::new(Mutex::new(router)))
    }

    pub(crate) fn put(&self, router: Router) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(router);
    }

    /// A handle to the zenoh session of the router.
    pub(crate) fn zenoh(&self) -> Option<zenoh::Session> {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().map(|router| router.zenoh.clone())
    }

    /// The endpoint at which it is reached on this host.
    pub(crate) fn endpoint(&self) -> Option<String> {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().and_then(Router::endpoint)
    }

    /// As text for the user.
    pub(crate) fn describe(&self) -> Option<String> {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().map(|router| router.description.clone())
    }

    /// Closes the router. Call it after the player's session was closed.
    pub(crate) fn close(&self, patience: Duration) -> zenoh::Result<()> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.map_or(Ok(()), |router| router.close(patience))
    }
}
