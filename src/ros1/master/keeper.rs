//! [`Keeper`]: keeps the topics of this node registered with the master, also after the master was started again, and
//! knows who else is registered.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::client::{MasterClient, SystemState, locked_in_time};
use super::clock_nodes::ClockNodes;
use super::left::{Ros1Left, SimTimeLeft};
use super::presence::is_publisher;
use super::sim_time::SimTime;
use crate::ros1::data::publications::{CLOCK, Publications};
use crate::ros1::event::{Events, Ros1Event};
use crate::ros1::rpc::client::Call;
use crate::ros1::rpc::error::RpcError;
use crate::ros1::rpc::uri::RpcUri;
use crate::ros1::services::playback::Services;
use crate::ros1::system::{NoPlace, Waits, is_want, steady};

/// How often the master is asked what is registered.
const EVERY: Duration = Duration::from_secs(1);

/// What is registered with the master, and what is to be.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) client: MasterClient,
    /// The address of this node.
    pub(crate) here: RpcUri,
    /// The address of this node for messages and for calls of services.
    pub(crate) data: String,
    pub(crate) publications: Arc<Publications>,
    pub(crate) services: Arc<Services>,
    pub(crate) events: Events,
    /// Whether the master has asked this node to end: then another node has its name, and nothing is registered any
    /// more.
    pub(crate) is_replaced: Arc<AtomicBool>,
    pub(crate) sim_time: SimTime,
    /// Locked during calls.
    pub(crate) registrations: Mutex<Registrations>,
    /// Not locked during calls.
    pub(crate) known: Mutex<Known>,
}

/// What is registered.
#[derive(Debug, Default)]
pub(crate) struct Registrations {
    /// With their types.
    topics: BTreeMap<String, String>,
    services: BTreeSet<String>,
    /// What was asked for and is not ended: the master may have it although its answer has not come.
    asked: BTreeSet<Asked>,
    /// What the master refuses, and what was reported.
    refused: BTreeSet<Asked>,
    /// Nothing is registered any more.
    is_ending: bool,
}

/// Something that the master was asked to register.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Asked {
    Topic(String),
    Service(String),
}

impl Asked {
    fn into_name(self) -> String {
        match self {
            Self::Topic(name) | Self::Service(name) => name,
        }
    }
}

/// What is known of the master.
#[derive(Debug, Default)]
pub(crate) struct Known {
    system: SystemState,
    is_away: bool,
    /// Another node that publishes the clock, as the master was last asked.
    foreign_clock: Option<String>,
    /// The one that was reported.
    told_clock: Option<String>,
    /// Why the parameter is not set, as it was reported; `None` while it is set.
    told_refusal: Option<String>,
    clock_nodes: ClockNodes,
}

impl Keeper {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn registrations(&self) -> MutexGuard<'_, Registrations> {
        let locked = self.registrations.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    /// The nodes that are registered as subscribers of a topic.
    pub(crate) fn subscribers(&self, topic: &str) -> Vec<String> {
        let known = self.lock();
        known
            .system
            .subscribers
            .get(topic)
            .cloned()
            .unwrap_or_default()
    }

    /// Another node that publishes the clock, as of about a second ago.
    pub(crate) fn foreign_clock(&self) -> Option<String> {
        self.lock().foreign_clock.clone()
    }

    /// Looks for another node that publishes the clock, among those that are registered as its publishers.
    fn find_foreign_clock(&self, nodes: &[String]) -> Result<(), RpcError> {
        let others = nodes.iter().filter(|node| **node != self.client.node);
        let others: Vec<&String> = others.collect();
        let mut clock_nodes = self.lock().clock_nodes.clone();
        let uri_of = |node: &str| self.client.node_uri(node);
        let publishes = |uri: &RpcUri| is_publisher(&self.client, uri, CLOCK);
        let found = clock_nodes.first_publisher(&others, uri_of, publishes)?;
        let mut known = self.lock();
        (known.foreign_clock, known.clock_nodes) = (found, clock_nodes);
        Ok(())
    }

    /// Whether the master answers.
    pub(crate) fn is_there(&self) -> bool {
        !self.lock().is_away
    }

    /// Registers topics and services that are new, and ends the registrations of topics that are gone. Those that the
    /// master refuses are reported once.
    pub(crate) fn register(&self) -> Result<(), RpcError> {
        let mut registered = self.registrations();
        if registered.is_ending || self.is_replaced.load(Ordering::Relaxed) {
            return Ok(());
        }
        let wanted: BTreeMap<String, String> = self
            .publications
            .all()
            .into_iter()
            .map(|it| (it.advertised.name.clone(), it.advertised.type_name.clone()))
            .collect();
        for (topic, kind) in &wanted {
            if registered.topics.get(topic) != Some(kind) {
                let asked = Asked::Topic(topic.clone());
                registered.asked.insert(asked.clone());
                let answer = self.client.register(topic, kind, &self.here);
                if self.is_taken(&mut registered, asked, answer)? {
                    registered.topics.insert(topic.clone(), kind.clone());
                }
            }
        }
        let gone = registered.asked.iter().filter_map(|it| match it {
            Asked::Topic(topic) if !wanted.contains_key(topic) => Some(topic.clone()),
            _ => None,
        });
        let gone: Vec<String> = gone.collect();
        for topic in gone {
            match self.client.unregister(&topic, &self.here) {
                Err(error) if !is_refusal(&error) => return Err(error),
                // A master that refuses to end a registration does not have it.
                _ => {}
            }
            registered.topics.remove(&topic);
            registered.refused.remove(&Asked::Topic(topic.clone()));
            registered.asked.remove(&Asked::Topic(topic));
        }
        for service in self.services.names() {
            if !registered.services.contains(&service) {
                let asked = Asked::Service(service.clone());
                registered.asked.insert(asked.clone());
                let at = (self.data.as_str(), &self.here);
                let answer = self.client.register_service(&service, at);
                if self.is_taken(&mut registered, asked, answer)? {
                    registered.services.insert(service);
                }
            }
        }
        Ok(())
    }

    /// Whether the master has registered what it was asked for. A refusal is no error here, so the other topics
    /// and services are still registered.
    fn is_taken(
        &self,
        registered: &mut Registrations,
        asked: Asked,
        answer: Result<(), RpcError>,
    ) -> Result<bool, RpcError> {
        match answer {
            Ok(()) => {
                registered.refused.remove(&asked);
                Ok(true)
            }
            Err(RpcError::Refused { text: reason, .. } | RpcError::Fault(reason)) => {
                if registered.refused.insert(asked.clone()) {
                    let name = asked.into_name();
                    self.events.send(Ros1Event::NotRegistered { name, reason });
                }
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Restores `/use_sim_time`, then ends all registrations, in this time. The calls of this keeper must have ended:
    /// `waits` are for the last ones. Returns what stays at the master.
    pub(crate) fn leave(&self, waits: &Waits, patience: Duration) -> Ros1Left {
        let client = self.client.leaving(waits, steady() + patience);
        let sim_time = match self.sim_time.leave(&client, &self.here) {
            Ok(sim_time) => sim_time,
            Err(error) => stays(&client, &error).then_some(SimTimeLeft::NotTaken),
        };
        Ros1Left {
            sim_time,
            registered: self.end(&client),
        }
    }

    /// Ends all registrations; returns those that stay.
    fn end(&self, client: &MasterClient) -> Vec<String> {
        let Some(mut registered) = locked_in_time(&self.registrations, client) else {
            let topics = self.publications.all().into_iter();
            let topics = topics.map(|it| it.advertised.name.clone());
            return topics.chain(self.services.names()).collect();
        };
        registered.is_ending = true;
        let asked: Vec<Asked> = std::mem::take(&mut registered.asked).into_iter().collect();
        let call = |one: &Asked| match one {
            Asked::Topic(name) => client.unregistration(name, &self.here),
            Asked::Service(name) => client.service_unregistration(name, &self.data),
        };
        let calls: Vec<Call> = asked.iter().map(call).collect();
        match client.make_all(&calls) {
            Err((made, error)) if stays(client, &error) => {
                asked.into_iter().skip(made).map(Asked::into_name).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Asks the master what is registered, and registers what is missing there.
    pub(crate) fn look(&self) -> Result<(), RpcError> {
        let node = &self.client.node;
        // Before anything is locked: it may take long.
        self.client.look_up();
        // Locked during the call, so that nothing is registered after the master has made its answer: it would be taken
        // for missing.
        let mut registered = self.registrations();
        let system = self.client.system_state()?;
        registered
            .topics
            .retain(|topic, _| system.publishes(node, topic));
        registered
            .services
            .retain(|service| system.offers(node, service));
        drop(registered);
        let clocks = system.publishers.get(CLOCK).cloned().unwrap_or_default();
        self.lock().system = system;
        self.register()?;
        self.find_foreign_clock(&clocks)
    }

    /// Reports that the master does not set `/use_sim_time`, once for each reason until the parameter is set.
    fn sim_time_is_refused(&self, error: &RpcError) {
        let reason = error.to_string();
        let before = self.lock().told_refusal.replace(reason.clone());
        if before.as_ref() != Some(&reason) {
            self.events.send(Ros1Event::SimTimeRefused { reason });
        }
    }

    /// Asks the master regularly, until the node ends.
    pub(crate) fn start(self: &Arc<Self>, waits: &Waits) -> io::Result<()> {
        let (keeper, waits) = (Arc::clone(self), waits.clone());
        let thread = thread::Builder::new().name("ros1-keeper".to_owned());
        let run = move || {
            while !waits.pause(EVERY) {
                keeper.look_and_tell();
            }
        };
        thread.spawn(run).map(drop)
    }

    fn look_and_tell(&self) {
        let mut looked = self.look();
        if looked.is_ok() {
            match self.sim_time.keep(&self.client, &self.here) {
                Err(error) if is_refusal(&error) => self.sim_time_is_refused(&error),
                Ok(()) => self.lock().told_refusal = None,
                Err(error) => looked = Err(error),
            }
        }
        if matches!(looked, Err(RpcError::Over)) {
            return;
        }
        let is_away = looked.as_ref().is_err_and(|error| !is_refusal(error));
        if let Err(error) = looked {
            tracing::debug!("ROS 1 master: {error}");
            if let RpcError::Io(error) = error
                && is_want(&error)
            {
                // The master may well be there.
                let refusal = NoPlace::System(error);
                self.events
                    .send(Ros1Event::refused("calls to the master", refusal));
                return;
            }
        }
        let serves_clock = self.publications.get(CLOCK).is_some();
        let mut known = self.lock();
        let has_changed = std::mem::replace(&mut known.is_away, is_away) != is_away;
        let foreign_clock = known.foreign_clock.clone().filter(|_| serves_clock);
        let is_new = foreign_clock.is_some() && foreign_clock != known.told_clock;
        known.told_clock.clone_from(&foreign_clock);
        drop(known);
        if has_changed {
            let is_there = !is_away;
            self.events.send(Ros1Event::Master { is_there });
        }
        if let (true, Some(node)) = (is_new, foreign_clock) {
            self.events.send(Ros1Event::ForeignClock { node });
        }
    }
}

/// Whether a master has answered, and refuses.
fn is_refusal(error: &RpcError) -> bool {
    matches!(error, RpcError::Refused { .. } | RpcError::Fault(_))
}

/// Whether a master that has not taken a call still has what it had. One that refuses connections has ended, and has
/// nothing.
fn stays(client: &MasterClient, error: &RpcError) -> bool {
    let is_refused = |error: &RpcError| {
        let refused = io::ErrorKind::ConnectionRefused;
        matches!(error, RpcError::Io(error) if error.kind() == refused)
    };
    let is_ending = match error {
        // It has taken the connection, and ends.
        RpcError::Closed => true,
        RpcError::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
        ),
        _ => false,
    };
    let has_ended = || client.ping().is_err_and(|error| is_refused(&error));
    !(is_refused(error) || is_ending && has_ended())
}
