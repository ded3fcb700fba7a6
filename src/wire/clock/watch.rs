//! [`ClockWatch`]: a subscription to a clock, for a player that follows it. Each message is passed on in zenoh's
//! thread, with its sender. Programs that only need the time use a [`ClockSource`](super::follow::ClockSource).

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::Sample;

use super::payload::decode_clock;
use super::session_clocks::state_type;
use super::state_message::{self, ClockStateMessage};
use crate::ros::Qos;
use crate::time::{Ros, Time};
use crate::wire::dialect::names::check_name;
use crate::wire::dialect::plan::clock_qos;
use crate::wire::error::WireError;
use crate::wire::rmw_zenoh::attachment::{Attached, read_attachment};
use crate::wire::rmw_zenoh::gid::Gid;
use crate::wire::rmw_zenoh::graph::Graph;
use crate::wire::rmw_zenoh::node::{CLOCK_MESSAGE, OwnType};
use crate::wire::rmw_zenoh::token::Token;
use crate::wire::session::Session;

/// A value of a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockTick {
    /// The time.
    pub time: Time<Ros>,
    /// The publisher; `None` if the message does not name it.
    pub publisher: Option<Gid>,
}

/// A subscription to a clock or to its state. It ends when this is dropped, or with the session.
pub struct ClockWatch {
    topic: String,
    // The token is dropped first.
    _token: LivelinessToken,
    _subscriber: Subscriber<()>,
}

/// A node that publishes a clock.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ClockServer {
    /// The full name of the node.
    pub node: String,
    /// The topic on which the same node publishes the state of its clock; `None` if it does not publish it.
    pub state_topic: Option<String>,
}

impl ClockWatch {
    /// The full name of the topic.
    pub fn topic(&self) -> &str {
        &self.topic
    }
}

impl fmt::Debug for ClockWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClockWatch").field(&self.topic).finish()
    }
}

impl Session {
    /// Calls `received` with every value of the clock on `topic`, in zenoh's thread: it must not block. A value that
    /// arrives after a later one of the same publisher is ignored. A message that cannot be read is reported once and
    /// ignored.
    pub fn watch_clock(
        &self,
        topic: &str,
        received: impl Fn(ClockTick) + Send + Sync + 'static,
    ) -> Result<ClockWatch, WireError> {
        let newest = Mutex::default();
        let read = move |sample: &Sample| {
            let time = decode_clock(&sample.payload().to_bytes())?;
            let attachment = sample.attachment().map(|it| it.to_bytes());
            let attached = attachment.and_then(|bytes| read_attachment(&bytes));
            // Several threads of zenoh may call this: one after the other.
            let mut newest = newest.lock().unwrap_or_else(PoisonError::into_inner);
            if !is_overtaken(&mut newest, attached) {
                let publisher = attached.map(|it| it.sender);
                received(ClockTick { time, publisher });
            }
            Some(())
        };
        self.watch(topic, CLOCK_MESSAGE, clock_qos(), read)
    }

    /// Calls `received` with every state of a clock (`~/clock_state` of a player), likewise.
    pub fn watch_clock_state(
        &self,
        topic: &str,
        received: impl Fn(ClockStateMessage) + Send + Sync + 'static,
    ) -> Result<ClockWatch, WireError> {
        let hash = state_message::hash().ok();
        let read = move |sample: &Sample| {
            received(ClockStateMessage::decode(&sample.payload().to_bytes())?);
            Some(())
        };
        self.watch(topic, state_type(hash.as_deref()), Qos::default(), read)
    }

    fn watch(
        &self,
        topic: &str,
        own: OwnType<'_>,
        qos: Qos,
        read: impl Fn(&Sample) -> Option<()> + Send + Sync + 'static,
    ) -> Result<ClockWatch, WireError> {
        let topic = check_name(topic)?;
        self.node.announce()?;
        let spec = self.node.subscription(&topic, own, qos);
        let zenoh = &self.connection.zenoh;
        let declare = |source| WireError::Declare {
            what: spec.key.clone(),
            source,
        };
        let (events, name) = (self.connection.events.clone(), topic.clone());
        let has_complained = AtomicBool::new(false);
        let receive = move |sample: Sample| {
            if read(&sample).is_none() && !has_complained.swap(true, Ordering::Relaxed) {
                events.warn(format!("a message on {name} cannot be read and is ignored"));
            }
        };
        let subscriber = zenoh.declare_subscriber(spec.key.clone()).callback(receive);
        let subscriber = subscriber.wait().map_err(declare)?;
        let token = zenoh.liveliness().declare_token(spec.token.clone());
        Ok(ClockWatch {
            topic,
            _token: token.wait().map_err(declare)?,
            _subscriber: subscriber,
        })
    }
}

/// Whether a later message of the same publisher has arrived already. Clocks are sent at several priorities, and a
/// value from before a jump must not be used after it.
fn is_overtaken(newest: &mut Option<Attached>, attached: Option<Attached>) -> bool {
    let Some(attached) = attached else {
        return false;
    };
    let is_of_same = |newest: &Attached| newest.sender == attached.sender;
    let known = newest.filter(is_of_same);
    let is_overtaken = known.is_some_and(|known| attached.sequence < known.sequence);
    if !is_overtaken {
        *newest = Some(attached);
    }
    is_overtaken
}

impl Graph {
    /// Whether a session publishes a topic.
    pub(crate) fn has_publisher(&self, zid: &str, topic: &str) -> bool {
        let publishes = |token: &Token| token.zid == zid && token.published() == Some(topic);
        self.tokens().iter().any(publishes)
    }

    /// The nodes of other sessions that publish a clock on `topic`, sorted by name. If `publisher` belongs to one of
    /// them, only that node.
    pub fn clock_servers(&self, topic: &str, publisher: Option<Gid>) -> Vec<ClockServer> {
        let tokens = self.tokens();
        let of_topic = tokens
            .iter()
            .filter(|token| token.published() == Some(topic));
        let is_publisher = |token: &&Token| Some(Gid::of(&token.to_string())) == publisher;
        let known: Vec<_> = of_topic.clone().filter(is_publisher).collect();
        let servers = if known.is_empty() {
            of_topic.collect()
        } else {
            known
        };
        let server = |token: &Token| {
            let node = token.node_path();
            let state_topic = format!("{}/clock_state", node.trim_end_matches('/'));
            let is_state = |other: &&Token| {
                other.zid == token.zid && other.published() == Some(state_topic.as_str())
            };
            let has_state = tokens.iter().any(|other| is_state(&other));
            ClockServer {
                state_topic: has_state.then_some(state_topic),
                node,
            }
        };
        let mut servers: Vec<ClockServer> = servers.into_iter().map(server).collect();
        servers.sort_unstable_by(|a, b| a.node.cmp(&b.node));
        servers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_was_overtaken_is_not_taken() {
        let of = |sender: u8, sequence| {
            let sender = Gid([sender; 16]);
            Some(Attached {
                sequence,
                unix_nanos: 0,
                sender,
            })
        };
        let mut newest = None;
        for (attached, is_old) in [
            (of(1, 5), false),
            (of(1, 7), false),
            (of(1, 6), true),
            // A repeated value, and messages that do not say who sent them.
            (of(1, 7), false),
            (None, false),
            (of(2, 1), false),
            (of(2, 2), false),
        ] {
            assert_eq!(is_overtaken(&mut newest, attached), is_old, "{attached:?}");
        }
    }
}
