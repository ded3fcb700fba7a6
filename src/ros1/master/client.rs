//! [`MasterClient`]: the calls that this node makes of its master.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use dxr::Value;

use crate::ros1::rpc::client::{Call, Peer, call, call_several};
use crate::ros1::rpc::error::RpcError;
use crate::ros1::rpc::uri::RpcUri;
use crate::ros1::system::{Budget, Waits, steady};

/// How many calls are made in one.
const TOGETHER: usize = 500;
/// How many other nodes may be asked at a time.
const MOST_ASKED: usize = 4;
/// How often it is tried whether a call has ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A master, as this node calls it.
#[derive(Clone, Debug)]
pub(crate) struct MasterClient {
    pub(crate) uri: RpcUri,
    /// The name of this node.
    pub(crate) node: String,
    /// End the calls that are being made, and let no further one begin.
    pub(crate) waits: Waits,
    /// How long a call may take.
    patience: Duration,
    /// When all calls have to be done.
    until: Option<Instant>,
    /// Where the master was found last.
    found: Arc<Mutex<Vec<SocketAddr>>>,
    /// The places of the threads that ask other nodes: the look-up of a name may take long.
    pub(super) asking: Arc<Budget>,
}

/// The nodes of each topic, by name.
pub(crate) type NodesByTopic = BTreeMap<String, Vec<String>>;

/// What is registered with a master.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SystemState {
    pub(crate) publishers: NodesByTopic,
    pub(crate) subscribers: NodesByTopic,
    /// The nodes of each service, by name.
    pub(crate) services: NodesByTopic,
}

impl SystemState {
    /// Whether a node publishes a topic.
    pub(crate) fn publishes(&self, node: &str, topic: &str) -> bool {
        has(&self.publishers, topic, node)
    }

    /// Whether a node offers a service.
    pub(crate) fn offers(&self, node: &str, service: &str) -> bool {
        has(&self.services, service, node)
    }
}

fn has(all: &NodesByTopic, name: &str, node: &str) -> bool {
    let nodes = all.get(name);
    nodes.is_some_and(|nodes| nodes.iter().any(|other| other == node))
}

impl MasterClient {
    pub(crate) fn new(uri: &RpcUri, node: &str, (waits, patience): (Waits, Duration)) -> Self {
        Self {
            uri: uri.clone(),
            node: node.to_owned(),
            waits,
            patience,
            until: None,
            found: Arc::default(),
            asking: Budget::new(MOST_ASKED),
        }
    }

    /// The same master, for the last calls of this node, which have to be done at `until`.
    pub(crate) fn leaving(&self, waits: &Waits, until: Instant) -> Self {
        Self {
            waits: waits.clone(),
            until: Some(until),
            // Threads that asked nodes before may keep their places for longer than the time that is left.
            asking: Budget::new(MOST_ASKED),
            ..self.clone()
        }
    }

    /// How long a call may take.
    pub(crate) fn patience(&self) -> Duration {
        self.until.map_or(self.patience, |until| {
            let left = until.saturating_duration_since(steady());
            left.min(self.patience)
        })
    }

    fn call(&self, method: &str, params: &[&str]) -> Result<Value, RpcError> {
        let params = params.iter().map(|text| Value::String((*text).to_owned()));
        self.call_with(method, params.collect())
    }

    fn call_with(&self, method: &str, params: Vec<Value>) -> Result<Value, RpcError> {
        let limits = (&self.waits, self.patience());
        call(&self.peer()?, limits, method, params)
    }

    /// The master, where it was found last. Its name is looked up only if it never was: that may take long, and some
    /// calls are made under a lock, or have to be done in time.
    fn peer(&self) -> io::Result<Peer<'_>> {
        let known = self.found().clone();
        if !known.is_empty() {
            return Ok(Peer::found(&self.uri, known));
        }
        let peer = Peer::look_up(&self.uri)?;
        self.found().clone_from(&peer.addresses);
        Ok(peer)
    }

    /// Looks up the name of the master again: it may be at another address. May take long.
    pub(crate) fn look_up(&self) {
        match self.uri.addresses() {
            Ok(addresses) => *self.found() = addresses,
            // The addresses that were found last are kept.
            Err(error) => tracing::debug!("ROS 1 master: {error}"),
        }
    }

    fn found(&self) -> MutexGuard<'_, Vec<SocketAddr>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a master answers.
    pub(crate) fn ping(&self) -> Result<(), RpcError> {
        self.call("getPid", &[self.node.as_str()]).map(drop)
    }

    /// Registers this node, at this address, as a publisher of a topic.
    pub(crate) fn register(&self, topic: &str, kind: &str, at: &RpcUri) -> Result<(), RpcError> {
        let at = at.to_string();
        let params = [self.node.as_str(), topic, kind, at.as_str()];
        self.call("registerPublisher", &params).map(drop)
    }

    /// Ends the registration for a topic.
    pub(crate) fn unregister(&self, topic: &str, at: &RpcUri) -> Result<(), RpcError> {
        let Call { method, params } = self.unregistration(topic, at);
        self.call_with(method, params).map(drop)
    }

    /// The call that ends the registration for a topic.
    pub(crate) fn unregistration(&self, topic: &str, at: &RpcUri) -> Call {
        Call::of_texts("unregisterPublisher", &[&self.node, topic, &at.to_string()])
    }

    /// The call that ends the registration of a service.
    pub(crate) fn service_unregistration(&self, name: &str, data: &str) -> Call {
        Call::of_texts("unregisterService", &[&self.node, name, data])
    }

    /// Makes calls: all in one, if the master takes that, otherwise one after the other, until it does not answer.
    /// Refusals do not matter. An error is how many of them were answered, and why the next one was not.
    pub(crate) fn make_all(&self, calls: &[Call]) -> Result<(), (usize, RpcError)> {
        let is_answer = |error: &RpcError| {
            matches!(
                error,
                RpcError::Fault(_) | RpcError::Refused { .. } | RpcError::Invalid(_)
            )
        };
        let mut made = 0;
        for some in calls.chunks(TOGETHER) {
            let limits = (&self.waits, self.patience());
            let peer = self.peer().map_err(|error| (made, error.into()))?;
            match call_several(&peer, limits, some) {
                Ok(()) => made += some.len(),
                Err(error) if is_answer(&error) => break,
                Err(error) => return Err((made, error)),
            }
        }
        for one in &calls[made..] {
            match self.call_with(one.method, one.params.clone()) {
                Err(error) if !is_answer(&error) => return Err((made, error)),
                _ => made += 1,
            }
        }
        Ok(())
    }

    /// Registers a service of this node, which clients call at `data`.
    pub(crate) fn register_service(
        &self,
        name: &str,
        (data, at): (&str, &RpcUri),
    ) -> Result<(), RpcError> {
        let at = at.to_string();
        let params = [self.node.as_str(), name, data, at.as_str()];
        self.call("registerService", &params).map(drop)
    }

    /// What is registered.
    pub(crate) fn system_state(&self) -> Result<SystemState, RpcError> {
        let value = self.call("getSystemState", &[self.node.as_str()])?;
        system_state(&value).ok_or_else(|| RpcError::Invalid("the system state".to_owned()))
    }

    /// The address of a node; `None` if it is not registered.
    pub(crate) fn node_uri(&self, name: &str) -> Result<Option<RpcUri>, RpcError> {
        match self.call("lookupNode", &[self.node.as_str(), name]) {
            Ok(Value::String(uri)) => uri.parse().map(Some),
            Ok(_) => Err(RpcError::Invalid("the address of a node".to_owned())),
            Err(RpcError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A parameter; `None` if it is not set.
    pub(crate) fn param(&self, name: &str) -> Result<Option<Value>, RpcError> {
        match self.call("getParam", &[self.node.as_str(), name]) {
            Ok(value) => Ok(Some(value)),
            Err(RpcError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets a parameter; `None` deletes it.
    pub(crate) fn set_param(&self, name: &str, value: Option<Value>) -> Result<(), RpcError> {
        let Some(value) = value else {
            return self
                .call("deleteParam", &[self.node.as_str(), name])
                .map(drop);
        };
        let text = |text: &str| Value::String(text.to_owned());
        let params = vec![text(&self.node), text(name), value];
        self.call_with("setParam", params).map(drop)
    }
}

/// What is locked during calls, for the last calls of this node; `None` if a call that was being made does not end in
/// time.
pub(crate) fn locked_in_time<'a, T>(
    mutex: &'a Mutex<T>,
    client: &MasterClient,
) -> Option<MutexGuard<'a, T>> {
    loop {
        match mutex.try_lock() {
            Ok(locked) => return Some(locked),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
        if client.patience().is_zero() || client.waits.pause(LOOK_EVERY) {
            return None;
        }
    }
}

fn system_state(value: &Value) -> Option<SystemState> {
    let Value::Array(parts) = value else {
        return None;
    };
    Some(SystemState {
        publishers: nodes_by_topic(parts.first()?)?,
        subscribers: nodes_by_topic(parts.get(1)?)?,
        services: nodes_by_topic(parts.get(2)?)?,
    })
}

fn nodes_by_topic(value: &Value) -> Option<NodesByTopic> {
    let Value::Array(rows) = value else {
        return None;
    };
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        _ => None,
    };
    let row = |row: &Value| match row {
        Value::Array(parts) => match parts.as_slice() {
            [topic, Value::Array(nodes)] => {
                let nodes: Option<Vec<String>> = nodes.iter().map(text).collect();
                Some((text(topic)?, nodes?))
            }
            _ => None,
        },
        _ => None,
    };
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros1::system::waits;

    const PATIENCE: Duration = Duration::from_secs(3);

    #[test]
    fn calls_look_up_no_name_that_was_found() {
        let (_ender, waits) = waits().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], 11311));
        // Names of this domain belong to nobody.
        let uri = RpcUri::of("master.invalid", 11311);
        let client = MasterClient::new(&uri, "/player", (waits.clone(), PATIENCE));
        assert!(client.peer().is_err());
        *client.found() = vec![address];
        assert_eq!(client.peer().unwrap().addresses, [address]);
        client.look_up();
        let leaving = client.leaving(&waits, steady() + PATIENCE);
        assert_eq!(leaving.peer().unwrap().addresses, [address]);
    }

    #[test]
    fn a_name_that_is_looked_up_again_may_have_another_address() {
        let (_ender, waits) = waits().unwrap();
        let uri = RpcUri::of("127.0.0.1", 11311);
        let client = MasterClient::new(&uri, "/player", (waits, PATIENCE));
        *client.found() = vec![SocketAddr::from(([127, 0, 0, 2], 11311))];
        client.look_up();
        let address = SocketAddr::from(([127, 0, 0, 1], 11311));
        assert_eq!(client.peer().unwrap().addresses, [address]);
    }
}
