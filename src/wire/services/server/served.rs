//! [`Services`]: the services of a node on the network.

use std::fmt;
use std::thread::{self, JoinHandle};
use std::time::Duration as StdDuration;

use crossbeam_channel::{Sender, TrySendError, bounded};
use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::query::Queryable;

use super::asked::{Asked, Askers};
use super::call::Call;
use super::engine::{Engine, Forms, TOO_MANY, Task};
use super::extended;
use super::playback::{Playback, handlers};
use crate::bag::TopicId;
use crate::player::Transport;
use crate::ros::dds_type;
use crate::time::{Duration, TimeRange};
use crate::wire::error::WireError;
use crate::wire::net::now::steady;
use crate::wire::session::Session;

/// The service that tells that a node is a player.
const MARKER: &str = "is_paused";
/// How many tasks may wait for the engine.
const TASKS: usize = 1024;
/// The length of a request, in bytes, up to which it is read.
const MOST_BYTES: usize = 1 << 16;

/// How long the services stay to tell clients the end: one that asks repeatedly asks again within this time.
const TOLD_WITHIN: StdDuration = StdDuration::from_millis(300);
/// How long they stay for one that is late, on a machine that is busy.
const LATE_CLIENT: StdDuration = StdDuration::from_secs(1);

/// The longest wait for open calls at the end. The player answers all of them at once; on a full link responses wait.
const ANSWERED_WITHIN: StdDuration = StdDuration::from_secs(2);
/// How long a response may be on its way.
const ON_ITS_WAY: StdDuration = StdDuration::from_secs(1);

/// What a player plays, for its services.
#[derive(Clone, Debug)]
pub struct ServedPlayer {
    /// The whole recording, in log time.
    pub recording: TimeRange,
    /// Added to log time to get the time of the clock, which is the time in requests.
    pub shift: Duration,
    /// The topics, by the names under which they are published.
    pub topics: Vec<(String, TopicId)>,
}

/// The services of a node, as long as this exists.
pub struct Services {
    tokens: Vec<LivelinessToken>,
    queryables: Vec<Queryable<()>>,
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<()>>,
}

/// The services of a player.
#[derive(Debug)]
pub struct PlayerServices {
    playback: Playback,
    services: Services,
}

impl PlayerServices {
    /// Call this when the run is over. If a client has asked for the status in the last half second, this waits for 300
    /// ms, so that clients that ask at least every 200 ms learn the end. If clients have asked three times or more in
    /// that time, this waits until one has been told the end, for up to a second. Then it waits until no call is open,
    /// for up to two seconds.
    ///
    /// Returns whether responses may be on their way: a call was answered within the last second, or is still open.
    /// Then call [`Session::drain`] before this is dropped, and call it off after half a second: a player that has
    /// ended should not be found for long. Undeclarations overtake responses, and a bridge to DDS discards the open
    /// calls of a service that has gone.
    pub fn tell_end(&self) -> bool {
        self.tell_askers();
        self.services.wait_until_idle()
    }

    fn tell_askers(&self) {
        let since = steady();
        let asked = &self.playback.asked;
        match asked.of_late(self.playback.transport.now()) {
            Askers::Nobody => return,
            Askers::Somebody => {}
            Askers::Repeatedly => asked.wait_until_end_is_told(LATE_CLIENT),
        }
        // A thread may be woken for no reason.
        while let Some(left) = TOLD_WITHIN.checked_sub(since.elapsed()) {
            thread::park_timeout(left);
        }
    }
}

impl Session {
    /// Offers the services of a `rosbag2_player`, and those of `bagplay_interfaces`, below this node's name, for the
    /// player behind `transport`.
    pub fn serve_player(
        &self,
        transport: &Transport,
        served: ServedPlayer,
    ) -> Result<PlayerServices, WireError> {
        self.node.announce()?;
        let playback = Playback {
            transport: transport.clone(),
            recording: served.recording,
            shift: served.shift,
            topics: served.topics.into(),
            asked: Asked::default(),
        };
        let mut services: Vec<Forms> = Vec::new();
        for handler in handlers(&playback)
            .into_iter()
            .chain(extended::handlers(&playback))
        {
            let same = |forms: &&mut Forms| forms.iter().any(|form| form.name == handler.name);
            match services.iter_mut().find(same) {
                Some(forms) => forms.push(handler),
                None => services.push(vec![handler]),
            }
        }
        // Clients take a node with this service for a player, so it is announced after all others.
        let is_marker = |forms: &Forms| forms.iter().any(|form| form.name == MARKER);
        if let Some(marker) = services.iter().position(is_marker) {
            let marker = services.remove(marker);
            services.push(marker);
        }
        Ok(PlayerServices {
            services: self.serve("services", services, transport)?,
            playback,
        })
    }

    /// Offers services, answered by a thread of this name.
    pub(crate) fn serve(
        &self,
        thread: &str,
        services: Vec<Forms>,
        transport: &Transport,
    ) -> Result<Services, WireError> {
        let (tasks, received) = bounded(TASKS);
        let mut served = Services {
            tokens: Vec::new(),
            queryables: Vec::new(),
            tasks: None,
            thread: None,
        };
        for (place, forms) in services.iter().enumerate() {
            served.declare(self, place, forms, &tasks)?;
        }
        served.tasks = Some(tasks);
        let events = self.connection.events.clone();
        let engine = Engine::new(services, transport.clone(), events);
        let named = thread::Builder::new().name(thread.to_owned());
        let thread = named.spawn(move || engine.run(&received));
        served.thread = Some(thread.map_err(WireError::Thread)?);
        Ok(served)
    }
}

impl Services {
    /// Waits until no call is open. Returns whether a response may be on its way.
    fn wait_until_idle(&self) -> bool {
        let Some(tasks) = &self.tasks else {
            return false;
        };
        let until = steady() + ANSWERED_WITHIN;
        let (told, idle) = bounded(1);
        let is_asked = tasks.send_deadline(Task::TellWhenIdle(told), until).is_ok();
        let last = is_asked.then(|| idle.recv_deadline(until).ok()).flatten();
        last.is_none_or(|last| last.is_some_and(|at| at.elapsed() <= ON_ITS_WAY))
    }

    /// Declares a service: the queryable first, then its token.
    fn declare(
        &mut self,
        session: &Session,
        place: usize,
        forms: &Forms,
        tasks: &Sender<Task>,
    ) -> Result<(), WireError> {
        let Some(form) = forms.first() else {
            return Ok(());
        };
        let name = format!("{}/{}", session.node_name(), form.name);
        let dds_type = dds_type(form.ros_type).unwrap_or_default();
        let spec = session.node.server(&name, &dds_type, form.hash, form.depth);
        let zenoh = &session.connection.zenoh;
        let failed = |what: &str| {
            let what = what.to_owned();
            move |source| WireError::Declare { what, source }
        };
        let tasks = tasks.clone();
        let failed_forms: Vec<_> = forms.iter().map(|form| (form.hash, form.failed)).collect();
        let queryable = zenoh.declare_queryable(spec.key.clone()).complete(true);
        let queryable = queryable.callback(move |query| {
            // Zenoh's thread must not wait: nothing else of this session would be received meanwhile.
            let call = Call::new(place, query);
            let (call, reason) = if call.length() > MOST_BYTES {
                (call, "the request is too long")
            } else {
                match tasks.try_send(Task::Answer(call)) {
                    Err(TrySendError::Full(Task::Answer(call))) => (call, TOO_MANY),
                    // It was sent; or the services have ended, and the query ends without a response.
                    _ => return,
                }
            };
            if let Some((_, failed)) = call.known_form(&failed_forms, |(hash, _)| hash) {
                call.answer(failed(reason));
            }
        });
        self.queryables
            .push(queryable.wait().map_err(failed(&spec.key))?);
        let token = zenoh.liveliness().declare_token(spec.token.clone());
        self.tokens.push(token.wait().map_err(failed(&spec.token))?);
        Ok(())
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        // Errors mean that the session is already closed.
        for token in self.tokens.drain(..) {
            drop(token.undeclare().wait());
        }
        for queryable in self.queryables.drain(..) {
            drop(queryable.undeclare().wait());
        }
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            // The thread has reported its panic itself.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("services", &self.tokens.len())
            .finish_non_exhaustive()
    }
}
