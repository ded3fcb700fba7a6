//! [`Connection`]: the zenoh sessions of this process, and whether they are linked to the network.
//!
//! Opening chooses the role (a peer of the nodes on this host, or a client of a router elsewhere) and never
//! waits for a router or node that is not there. If there is no router on this host, a router is opened first
//! as a session of its own, and this process's session joins it as it would join any router.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zenoh::Wait;
use zenoh::session::TransportEventsListener;

use super::connectivity::{Connectivity, PathState, watch_links};
use super::env::Environment;
use super::join::{Joined, Target, join, require_files};
use super::router::RouterSlot;
use super::router::takeover::RouterTakeover;
use super::sessions::blocking::BlockingSession;
use super::sessions::config;
use super::sessions::put::{PutSession, PutSessions};
use super::zenoh_config;
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::options::{Congestion, SendOrder, SourceStamps, WireOptions};

/// How long a router that accepts connections may take to complete a zenoh link. Waited for in full only if something
/// else listens there.
const LINK_PATIENCE: Duration = Duration::from_secs(2);

/// The zenoh sessions of this process. Closed by [`Connection::close`].
#[derive(Debug)]
pub(crate) struct Connection {
    target: Target,
    pub(crate) events: Events,
    connectivity: Arc<Connectivity>,
    congestion: Congestion,
    pub(crate) stall_timeout: Duration,
    pub(crate) source_stamps: SourceStamps,
    pub(crate) order: SendOrder,
    // Closing takes the fields in this order.
    links: Option<TransportEventsListener<()>>,
    takeover: Option<RouterTakeover>,
    /// Whether another connection of this process was there before. That one closes the router.
    is_beside: bool,
    pub(crate) zenoh: zenoh::Session,
    /// The same session.
    main: PutSession,
    blocking: Mutex<Option<BlockingSession>>,
    pub(crate) router: RouterSlot,
    config: zenoh::Config,
    is_answered: bool,
}

impl Connection {
    /// Joins the network. If a router accepts connections, waits a moment for the link to it.
    pub(crate) fn open(
        options: &WireOptions,
        environment: &Environment,
        events: &Events,
    ) -> Result<Self, WireError> {
        let Joined {
            zenoh,
            config,
            router,
            successor,
            target,
            is_answered,
        } = join(options, environment, events)?;
        let connectivity = Arc::new(Connectivity::default());
        connectivity.add(&zenoh.zid().to_string());
        let links = watch_links(&zenoh, events, &connectivity)?;
        if is_answered {
            connectivity.wait(LINK_PATIENCE);
            if let (false, Target::Endpoints(target)) = (connectivity.state().is_up, &target) {
                events.warn(format!(
                    "no zenoh router answers at {target}, although the port is open; it is tried again until one does"
                ));
            }
        }
        let watch = |successor| {
            let (connectivity, router) = (Arc::clone(&connectivity), router.clone());
            RouterTakeover::start(successor, connectivity, router, events.clone())
        };
        let takeover = successor.map(watch).transpose()?;
        Ok(Self {
            target,
            events: events.clone(),
            connectivity,
            congestion: options.congestion,
            stall_timeout: options.stall_timeout,
            source_stamps: options.source_stamps,
            order: options.order,
            links: Some(links),
            takeover,
            is_beside: false,
            main: PutSession::opened_with(&config, zenoh.clone()),
            zenoh,
            blocking: Mutex::default(),
            router,
            config,
            is_answered,
        })
    }

    /// Opens another connection of this process, with a session of its own, in the same place of the network: with the
    /// same router and the same configuration. A lost path of one is a lost path of both. To be closed before `self`.
    pub(crate) fn open_beside(
        &self,
        options: &WireOptions,
        events: &Events,
    ) -> Result<Self, WireError> {
        require_files(self.connectivity.sessions())?;
        let mut config = config::another(self.config.clone())?;
        let zid = zenoh_config::set_random_id(&mut config)?;
        self.connectivity.add(&zid);
        let opened = zenoh::open(config.clone())
            .wait()
            .map_err(|source| WireError::Open {
                what: "another session, for another wire".to_owned(),
                source,
            })
            .and_then(|zenoh| Ok((watch_links(&zenoh, events, &self.connectivity)?, zenoh)))
            .inspect_err(|_| self.connectivity.remove(&zid));
        let (links, zenoh) = opened?;
        if self.is_answered {
            self.connectivity.wait(LINK_PATIENCE);
        }
        Ok(Self {
            target: self.target.clone(),
            events: events.clone(),
            connectivity: Arc::clone(&self.connectivity),
            congestion: options.congestion,
            stall_timeout: options.stall_timeout,
            source_stamps: options.source_stamps,
            order: options.order,
            links: Some(links),
            takeover: None,
            is_beside: true,
            main: PutSession::opened_with(&config, zenoh.clone()),
            zenoh,
            blocking: Mutex::default(),
            router: self.router.clone(),
            config,
            is_answered: self.is_answered,
        })
    }

    /// The role on the network, as text for the user.
    pub(crate) fn describe(&self) -> String {
        if let Some(router) = self.router.describe() {
            return router;
        }
        let PathState { is_up, losses } = self.path();
        match &self.target {
            Target::Configured { by } => format!("configured by {by}"),
            Target::Endpoints(target) if is_up => format!("connected to {target}"),
            Target::Endpoints(target) if self.is_answered && losses == 0 => {
                format!("waiting for {target}, where no zenoh router answers")
            }
            Target::Endpoints(target) => format!("waiting for {target}"),
        }
    }

    /// Whether there is a connection over which puts can leave, and how often it was lost.
    pub(crate) fn path(&self) -> PathState {
        self.connectivity.state()
    }

    /// Whether an endpoint to connect to accepted connections when this was opened.
    pub(crate) fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// The zenoh sessions for messages. The session for blocking puts is opened when a topic first needs it.
    pub(crate) fn put_sessions(&self, waits: bool) -> Result<PutSessions, WireError> {
        let mut blocking = self.blocking();
        if waits
            && blocking.is_none()
            && self.congestion == Congestion::Block
            && let Some(config) = config::blocking(self.config.clone(), self.stall_timeout)?
        {
            let (connectivity, events) = (&self.connectivity, &self.events);
            let patience = self.path().is_up.then_some(LINK_PATIENCE);
            *blocking = Some(BlockingSession::open(
                config,
                self.main.timestamps.is_some(),
                connectivity,
                events,
                patience,
            )?);
        }
        let blocking = blocking.as_ref().map(|one| one.session.clone());
        Ok(PutSessions {
            main: self.main.clone(),
            blocking: blocking.filter(|_| waits),
        })
    }

    /// Whether its links share memory with those at the other end that do the same.
    pub(crate) fn shares_memory(&self) -> bool {
        zenoh_config::shares_memory(&self.config)
    }

    /// The session for blocking puts, if it is open.
    pub(crate) fn blocking_puts(&self) -> Option<zenoh::Session> {
        let blocking = self.blocking();
        blocking.as_ref().map(|one| one.session.zenoh.clone())
    }

    /// All zenoh sessions of this process, except that of its router.
    pub(crate) fn sessions(&self) -> Vec<zenoh::Session> {
        let main = std::iter::once(self.zenoh.clone());
        main.chain(self.blocking_puts()).collect()
    }

    /// Whether a session of another process is linked to one of these of this process, its router included.
    pub(crate) fn has_receivers(&self, sessions: &[zenoh::Session]) -> bool {
        let own: Vec<_> = sessions
            .iter()
            .cloned()
            .chain(self.router.zenoh())
            .collect();
        let zids: Vec<_> = own.iter().map(zenoh::Session::zid).collect();
        own.iter().any(|session| {
            let mut links = session.info().links().wait();
            links.any(|link| !zids.contains(link.zid()))
        })
    }

    /// What happens to messages of reliable topics when a link has no room.
    pub(crate) fn congestion(&self) -> Congestion {
        self.congestion
    }

    /// Closes all links, also if messages have not left yet. Only the first call has an effect.
    pub(crate) fn close(&mut self) {
        if self.links.take().is_none() {
            return;
        }
        self.takeover = None;
        let patience = self.stall_timeout.max(Duration::from_millis(100));
        let second = self.blocking().take();
        let second = second.map(|second| second.session.zenoh.close().timeout(patience).wait());
        let main = self.zenoh.close().timeout(patience).wait();
        // The router is closed last, because other sessions are reached through it.
        let router = if self.is_beside {
            Ok(())
        } else {
            self.router.close(patience)
        };
        let closed = [second.unwrap_or(Ok(())), main, router];
        for error in closed.into_iter().filter_map(Result::err) {
            self.events.warn(format!(
                "not everything was sent when the session closed: {error}"
            ));
        }
    }

    fn blocking(&self) -> MutexGuard<'_, Option<BlockingSession>> {
        self.blocking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
