//! [`Ros1Node`]: this program as a node of ROS 1, from joining to leaving.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;

use super::data::listener::Listener;
use super::data::publication::Publication;
use super::data::publications::Publications;
use super::data::queue::MOST_TOGETHER;
use super::error::Ros1Error;
use super::event::{Events, Ros1Event};
use super::master::client::MasterClient;
use super::master::join::{bind_address, check_host, join, local_host};
use super::master::keeper::{Keeper, Known, Registrations};
use super::master::left::Ros1Left;
use super::master::sim_time::SimTime;
use super::options::{Ros1Options, Ros1Played, Ros1Skipped, Ros2Messages};
use super::publish::advertiser::{Advertiser, rules_of};
use super::publish::monitor::Ros1Monitor;
use super::publish::output::{Ros1Output, Route};
use super::publish::plan::plan;
use super::publish::repeat::ClockRepeat;
use super::rpc::server::serve;
use super::rpc::uri::RpcUri;
use super::services::playback::Services;
use super::services::reconfigure::parameters::{Parameters, topic_names};
use super::slave::Slave;
use super::system::{Budget, Ender, Waits, steady, waits};
use crate::player::Transport;

/// How long the end waits until everything has been written.
const LAST_MESSAGES: Duration = Duration::from_millis(500);
/// How often it is checked whether everything has been written, and whether subscribers have connected.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A node of ROS 1 that publishes. When it is dropped, its registrations have ended and its connections are closed.
#[derive(Debug)]
pub struct Ros1Node {
    advertiser: Advertiser,
    /// Whether this node serves the master.
    is_master: bool,
    waits: Waits,
    ros2: Ros2Messages,
    /// Whether `/use_sim_time` is true as long as topics are published.
    use_sim_time: bool,
    /// How long the last calls of this node may take together, and those of its services.
    leaving: Duration,
    /// Ends the calls of the keeper. `None` when this node has left.
    calls: Option<Ender>,
    /// Dropped last: it ends all threads.
    _ender: Ender,
}

impl Ros1Node {
    /// Joins the network of a master. If none answers and the address is one of this machine, this node serves it.
    /// Nothing is registered yet, and no parameter is set: a process that is ended before [`Ros1Node::advertise`]
    /// leaves nothing behind.
    pub fn start(
        options: &Ros1Options,
        receiver: impl Fn(Ros1Event) + Send + Sync + 'static,
    ) -> Result<Self, Ros1Error> {
        if !is_name(&options.node_name) {
            return Err(Ros1Error::NodeName(options.node_name.clone()));
        }
        let events = Events::new(receiver);
        let (calls_ender, call_waits) = waits()?;
        let (ender, waits) = waits()?;
        let limits = (call_waits.clone(), options.patience);
        let client = MasterClient::new(&options.master, &options.node_name, limits);
        let is_master = join(&client, (&waits, &events))?;
        let (host, bound_to) = match &options.host {
            Some(host) => {
                check_host(host, &events)?;
                (host.clone(), bind_address(host))
            }
            None => local_host(&options.master, options.patience)?,
        };
        let bind = || {
            let bound = TcpListener::bind((bound_to, 0));
            bound.map_err(|source| Ros1Error::Address {
                host: host.clone(),
                source,
            })
        };
        let (calls, data) = (bind()?, bind()?);
        let here = RpcUri::of(&host, calls.local_addr()?.port());
        let data_at = RpcUri::of(&host, data.local_addr()?.port());
        let publications = Arc::new(Publications::default());
        let services = Arc::new(Services::new(&options.node_name));
        let is_replaced = Arc::new(AtomicBool::new(false));
        let slave = Slave {
            node_name: options.node_name.clone(),
            master: options.master.clone(),
            publications: Arc::clone(&publications),
            data_host: host,
            data_port: data.local_addr()?.port(),
            events: events.clone(),
            is_replaced: Arc::clone(&is_replaced),
        };
        let served = ("ros1-calls", "calls of other nodes");
        serve(served, calls, (&waits, &events), Arc::new(slave))?;
        let listener = Listener {
            publications: Arc::clone(&publications),
            patiences: Arc::default(),
            together: Budget::new(MOST_TOGETHER),
            services: Arc::clone(&services),
            node_name: options.node_name.clone(),
            waits: waits.clone(),
            events: events.clone(),
        };
        listener.run(data)?;
        let keeper = Arc::new(Keeper {
            client,
            here,
            data: format!("rosrpc://{}", data_at.authority()),
            publications: Arc::clone(&publications),
            services,
            events: events.clone(),
            is_replaced,
            sim_time: SimTime::default(),
            registrations: Mutex::new(Registrations::default()),
            known: Mutex::new(Known::default()),
        });
        keeper.look()?;
        keeper.start(&call_waits)?;
        Ok(Self {
            advertiser: Advertiser {
                publications,
                keeper,
                events,
                rules: rules_of(options),
            },
            is_master,
            waits,
            ros2: options.ros2,
            use_sim_time: options.use_sim_time,
            leaving: options.leaving,
            calls: Some(calls_ender),
            _ender: ender,
        })
    }

    /// Publishes these topics, and the clock if `serves_clock`. Sets `/use_sim_time` if the options say so. Returns the
    /// output, a view of its counts, and the topics that cannot be published.
    pub fn advertise(
        &self,
        played: &[Ros1Played],
        serves_clock: bool,
    ) -> Result<(Ros1Output, Ros1Monitor, Vec<Ros1Skipped>), Ros1Error> {
        let own = topic_names(&self.advertiser.keeper.client.node);
        let (planned, skipped) = plan(played, (serves_clock, &own), self.ros2);
        let ids = planned.iter().flat_map(|topic| &topic.ids);
        let last = ids.map(|(id, _)| id.index()).max();
        let mut routes = vec![None; last.map_or(0, |last| last + 1)];
        let mut topics = Vec::new();
        for topic in planned {
            let ids = topic.ids.iter().map(|(id, _)| *id);
            let publication = self.advertiser.add(topic.advertised, ids.collect());
            for (id, transcoder) in topic.ids {
                let publication = Arc::clone(&publication);
                routes[id.index()] = Some(Route {
                    publication,
                    transcoder,
                });
            }
            topics.push(publication);
        }
        let clock = serves_clock.then(|| self.advertiser.add_clock());
        let keeper = &self.advertiser.keeper;
        if self.use_sim_time {
            // Before anything is registered: a node that waits for a topic may start as soon as there is one.
            keeper.sim_time.set(&keeper.client, &keeper.here)?;
        }
        keeper.register()?;
        keeper.look()?;
        if serves_clock && !SimTime::is_true(&keeper.client)? {
            self.advertiser.events.send(Ros1Event::SimTimeOff);
        }
        let topics: Arc<[_]> = topics.into();
        let output = Ros1Output {
            routes,
            topics: Arc::clone(&topics),
            generation: None,
            clock,
            last_time: Bytes::new(),
            repeat: ClockRepeat::new(self.waits.clone()),
            advertiser: self.advertiser.clone(),
            events: self.advertiser.events.clone(),
            has_complained: false,
        };
        let monitor = Ros1Monitor {
            topics,
            keeper: Arc::clone(keeper),
        };
        Ok((output, monitor, skipped))
    }

    /// Offers services that drive this player, until the node ends: `pause`, `resume`, `toggle_paused`, `play_next` and
    /// `stop` (`std_srvs/Trigger`), and `pause_playback` (`std_srvs/SetBool`); and as a server of
    /// `dynamic_reconfigure` the parameters `rate` and `paused`, which follow the player. All are below the name of the
    /// node.
    pub fn serve_player(&self, player: &Transport) -> Result<(), Ros1Error> {
        let keeper = &self.advertiser.keeper;
        let advertiser = &self.advertiser;
        let added = (&*advertiser.publications, advertiser.rules);
        let publish = || Parameters::publish(&keeper.client.node, player, added);
        keeper.services.begin(player, publish);
        Ok(keeper.register()?)
    }

    /// The role of this node, for people.
    pub fn describe(&self) -> String {
        let uri = &self.advertiser.keeper.client.uri;
        if self.is_master {
            format!("master of ROS 1 at {uri}")
        } else {
            format!("node of the ROS 1 master at {uri}")
        }
    }

    /// Whether this node serves the master, because no other did.
    pub const fn is_master(&self) -> bool {
        self.is_master
    }

    /// Whether the master answers.
    pub fn has_master(&self) -> bool {
        self.advertiser.keeper.is_there()
    }

    /// Another node that publishes `/clock`, as of about a second ago.
    pub fn foreign_clock(&self) -> Option<String> {
        self.advertiser.keeper.foreign_clock()
    }

    /// Waits until subscribers that are registered have connected, for `longest` at most: they get the first message.
    pub fn wait_for_connections(&self, monitor: &Ros1Monitor, longest: Duration) {
        let until = steady() + longest;
        while !monitor.are_all_connected() && steady() < until {
            if self.waits.pause(LOOK_EVERY) {
                return;
            }
        }
    }

    /// Waits until the system has taken all messages, except those for stuck subscribers. Gives up if it takes nothing
    /// for the stall timeout. Returns how many bytes are left, also if `is_called_off`.
    pub fn drain(&self, mut is_called_off: impl FnMut() -> bool) -> u64 {
        let mut moved = (self.taken_bytes(), steady());
        while self.is_busy() && !is_called_off() {
            let (taken, now) = (self.taken_bytes(), steady());
            if moved.0 != taken {
                moved = (taken, now);
            }
            let unmoved_for = now.saturating_duration_since(moved.1);
            if unmoved_for >= self.advertiser.rules.stall_timeout || self.waits.pause(LOOK_EVERY) {
                break;
            }
        }
        let waiting = |publication: &Arc<Publication>| {
            let connections = publication.connections();
            connections
                .iter()
                .map(|it| it.waiting_bytes() as u64)
                .sum::<u64>()
        };
        self.advertiser.publications.all().iter().map(waiting).sum()
    }

    /// The nodes for which messages wait that the system has not taken, sorted.
    pub fn late_nodes(&self) -> Vec<String> {
        let mut nodes = BTreeSet::new();
        for publication in self.advertiser.publications.all() {
            for connection in publication.connections().iter() {
                if connection.waiting_messages() > 0 {
                    nodes.insert(connection.node().to_owned());
                }
            }
        }
        nodes.into_iter().collect()
    }

    /// Restores `/use_sim_time` and ends the registrations; returns what stays at the master. Nothing is published any
    /// more. Connections are closed when the node is dropped.
    pub fn leave(&mut self) -> Ros1Left {
        let Some(calls) = self.calls.take() else {
            return Ros1Left::default();
        };
        // The keeper holds locks during its calls.
        drop(calls);
        // Before connections end, so that subscribers do not connect again.
        let mut left = self.advertiser.keeper.leave(&self.waits, self.leaving);
        if self.is_master {
            // Parameters and registrations of the own master end with that master.
            left = Ros1Left::default();
        }
        for publication in self.advertiser.publications.all() {
            publication.end();
        }
        left
    }

    /// Closes all connections when the last messages are written, or after [`LAST_MESSAGES`], and when all calls of
    /// services are answered, or after the time for the last calls to the master.
    fn close(&self) {
        let services = &self.advertiser.keeper.services;
        let until = steady() + LAST_MESSAGES;
        self.drain(|| steady() >= until);
        let until = steady() + self.leaving;
        while services.is_busy() && steady() < until && !self.waits.pause(LOOK_EVERY) {}
        for publication in self.advertiser.publications.all() {
            publication.close();
        }
    }

    /// How many bytes the system has taken for the connections that there are now.
    fn taken_bytes(&self) -> u64 {
        let all = self.advertiser.publications.all();
        let connections = all.iter().map(|publication| publication.connections());
        let taken = connections.map(|all| all.iter().map(|it| it.taken_bytes()).sum::<u64>());
        taken.sum()
    }

    fn is_busy(&self) -> bool {
        let all = self.advertiser.publications.all();
        all.iter()
            .any(|publication| publication.connections().iter().any(|it| it.is_busy()))
    }
}

impl Drop for Ros1Node {
    fn drop(&mut self) {
        let left = self.leave();
        if !left.is_empty() {
            let warning = Ros1Event::Warning(left.to_string());
            self.advertiser.events.send(warning);
        }
        self.close();
    }
}

/// Whether nodes of ROS 1 may have this name: parts of letters, digits and `_`, each behind a slash, and each begins
/// with a letter.
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let mut characters = part.chars();
        let first = characters.next();
        first.is_some_and(|first| first.is_ascii_alphabetic())
            && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    name.strip_prefix('/')
        .is_some_and(|parts| parts.split('/').all(is_part))
}
