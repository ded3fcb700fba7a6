//! [`Followed`]: the clock that a run follows, from its subscription to the player, and what is reported of it.
//!
//! zenoh's thread sets where the clock is, without waiting for anything. The main thread checks from time to time
//! whether the clock has become silent, which node publishes it, and on which topic that node publishes its state.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bagplay::cli::{FollowArgs, FollowedSummary, Plan};
use bagplay::player::{FollowedClock, LeadMotion, LeadState, State, Transport};
use bagplay::time::{Duration, Segment, Steady, Time, TimeRange};
use bagplay::untrusted::Foreign;
use bagplay::wire::{ClockServer, ClockTick, ClockWatch, Gid, Session, WireError};

use crate::app::failure::Failure;
use crate::app::network::{Network, failure};

/// How often to look.
const EVERY: Duration = Duration::from_millis(200);
/// If nothing has been received from the clock for this time after the start, that is reported.
const PATIENCE: Duration = Duration::from_secs(1);

/// The clock that a run follows.
pub(crate) struct Followed {
    transport: Transport,
    /// The range that is played.
    range: TimeRange,
    timeout: Duration,
    follows_state: bool,
    clock: Arc<Mutex<FollowedClock>>,
    ticks: ClockWatch,
    seen: RefCell<Seen>,
}

/// What the main thread has found and reported.
#[derive(Debug)]
struct Seen {
    begun: Time<Steady>,
    next_look: Time<Steady>,
    /// What was reported last.
    said: Said,
    server: Option<ClockServer>,
    state: Option<ClockWatch>,
    warned_of_rival: bool,
    is_beyond: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    Nothing,
    Waiting,
    Following,
    Lost,
}

/// What is shown of the clock.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FollowedView {
    pub(crate) topic: String,
    pub(crate) motion: LeadMotion,
}

impl fmt::Debug for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Followed")
            .field("ticks", &self.ticks)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

impl Followed {
    /// Begins to follow another clock, if that was requested, before the player of `transport` starts.
    pub(crate) fn of(
        args: &FollowArgs,
        network: &Network,
        plan: &Plan,
        transport: &Transport,
    ) -> Result<Option<Self>, Failure> {
        let asked = network.session().zip(args.follow.as_deref());
        let (range, _) = plan.options.played.current();
        let start = |(session, topic): (&Session, &str)| {
            Self::start(args, topic, session, transport, range)
        };
        asked.map(start).transpose().map_err(failure)
    }

    fn start(
        args: &FollowArgs,
        topic: &str,
        session: &Session,
        transport: &Transport,
        range: TimeRange,
    ) -> Result<Self, WireError> {
        let clock = Arc::new(Mutex::new(FollowedClock::new(args.options())));
        let (to, lead) = (Arc::clone(&clock), transport.clone());
        let ticks = session.watch_clock(topic, move |ClockTick { time, publisher }| {
            let mut clock = lock(&to);
            let server = publisher.map_or(0, |gid| u128::from_le_bytes(gid.0));
            let at = lead.now();
            set(&lead, clock.tick(time, server, at));
        })?;
        let begun = transport.now();
        let followed = Self {
            transport: transport.clone(),
            range,
            timeout: args.follow_timeout,
            follows_state: args.follow_state.is_some(),
            seen: RefCell::new(Seen {
                begun,
                next_look: begun,
                said: Said::Nothing,
                server: None,
                state: None,
                warned_of_rival: false,
                is_beyond: false,
            }),
            clock,
            ticks,
        };
        transport.lead().set_name(&shown(followed.topic()));
        if let Some(topic) = &args.follow_state {
            followed.seen.borrow_mut().state = Some(followed.watch_state(session, topic)?);
        }
        Ok(followed)
    }

    fn watch_state(&self, session: &Session, topic: &str) -> Result<ClockWatch, WireError> {
        let (to, lead) = (Arc::clone(&self.clock), self.transport.clone());
        session.watch_clock_state(topic, move |message| {
            let mut clock = lock(&to);
            let state = LeadState {
                time: message.clock,
                factor: message.real_time_factor,
                generation: message.generation,
            };
            let at = lead.now();
            set(&lead, clock.state(state, at));
        })
    }

    /// Checks the clock, also for silence, and reports what has changed.
    pub(crate) fn look(&self, session: &Session) {
        let now = self.transport.now();
        let mut seen = self.seen.borrow_mut();
        if now < seen.next_look {
            return;
        }
        seen.next_look = now.saturating_add(EVERY);
        let (motion, server, has_rival) = {
            let mut clock = lock(&self.clock);
            if clock.becomes_lost(now) {
                self.transport.lead().lose();
            }
            (clock.motion(now), clock.server(), clock.take_rival())
        };
        self.transport
            .lead()
            .set_stands(motion == LeadMotion::Stands);
        self.look_for_server(&mut seen, session, server);
        self.say(&mut seen, motion, now);
        let rivals = || session.graph().clock_servers(self.topic(), None);
        if has_rival && !std::mem::replace(&mut seen.warned_of_rival, true) {
            let nodes: Vec<String> = rivals().iter().map(|it| shown(&it.node)).collect();
            tracing::warn!(
                "several publishers of {}: {}; one of them is followed, the others are ignored while it publishes",
                shown(self.topic()),
                nodes.join(", ")
            );
        }
        self.say_if_beyond(&mut seen, now);
    }

    /// When to look again.
    #[cfg(feature = "tui")]
    pub(crate) fn deadline(&self) -> Time<Steady> {
        self.seen.borrow().next_look
    }

    /// Finds the node that publishes the clock, and follows its state.
    fn look_for_server(&self, seen: &mut Seen, session: &Session, server: Option<u128>) {
        let Some(publisher) = server.map(|id| Gid(id.to_le_bytes())) else {
            return;
        };
        let servers = session.graph().clock_servers(self.topic(), Some(publisher));
        let [server] = &servers[..] else {
            return;
        };
        if seen.server.as_ref() == Some(server) {
            return;
        }
        if !self.follows_state {
            let topic = server.state_topic.as_deref();
            let watch = topic.map(|topic| self.watch_state(session, topic));
            // Without the state, ticks alone are followed.
            seen.state = watch.transpose().unwrap_or_else(|error| {
                tracing::warn!("{error}");
                None
            });
        }
        seen.server = Some(server.clone());
        self.transport.lead().set_name(&self.named(seen));
    }

    fn say(&self, seen: &mut Seen, motion: LeadMotion, now: Time<Steady>) {
        let topic = shown(self.topic());
        match (motion, seen.said) {
            (LeadMotion::Unknown, Said::Nothing)
                if now.saturating_since(seen.begun) >= PATIENCE =>
            {
                tracing::info!("waiting for the first value of {topic}: playback is held");
                seen.said = Said::Waiting;
            }
            (LeadMotion::Stands | LeadMotion::Moves(_), Said::Nothing | Said::Waiting) => {
                tracing::info!("following {}", self.named(seen));
                seen.said = Said::Following;
            }
            (LeadMotion::Stands | LeadMotion::Moves(_), Said::Lost) => {
                tracing::info!("{topic} is received again");
                seen.said = Said::Following;
            }
            (LeadMotion::Lost, said) if said != Said::Lost => {
                tracing::warn!(
                    "nothing on {topic} for {}: playback is held until a message arrives; hint: --follow-timeout",
                    self.timeout
                );
                seen.said = Said::Lost;
            }
            _ => {}
        }
    }

    /// Reports that the clock is past the end, once each time that it gets there.
    fn say_if_beyond(&self, seen: &mut Seen, now: Time<Steady>) {
        let lead = self.transport.lead().get();
        let edge = |lead: Segment| {
            if lead.speed().is_reverse() {
                self.range.start()
            } else {
                self.range.stop()
            }
        };
        let is_beyond = |lead: Segment| lead.is_before(edge(lead), lead.position(now));
        let is_ended = || {
            let status = self.transport.status();
            status.is_some_and(|status| status.state == State::Ended)
        };
        let is_beyond = lead.is_some_and(is_beyond) && is_ended();
        if is_beyond && !seen.is_beyond {
            tracing::info!(
                "{} is past the end of what is played: waiting for it to go back",
                shown(self.topic())
            );
        }
        // The position of a lost clock is not known.
        seen.is_beyond = is_beyond || (lead.is_none() && seen.is_beyond);
    }

    /// `/clock of /rosbag2_player`.
    fn named(&self, seen: &Seen) -> String {
        let topic = shown(self.topic());
        match &seen.server {
            Some(server) => format!("{topic} of {}", shown(&server.node)),
            None => topic,
        }
    }

    fn topic(&self) -> &str {
        self.ticks.topic()
    }

    /// What is shown of the clock now.
    pub(crate) fn view(&self) -> FollowedView {
        FollowedView {
            topic: shown(self.topic()),
            motion: lock(&self.clock).motion(self.transport.now()),
        }
    }

    /// What the summary reports of the clock.
    pub(crate) fn summary(&self) -> FollowedSummary {
        let seen = self.seen.borrow();
        let motion = lock(&self.clock).motion(self.transport.now());
        FollowedSummary::new(
            self.topic(),
            seen.server.as_ref().map(|server| server.node.as_str()),
            motion,
        )
    }
}

fn lock(clock: &Mutex<FollowedClock>) -> MutexGuard<'_, FollowedClock> {
    clock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets where the clock is. Called under the lock of the clock, so that of two values the later one counts.
fn set(transport: &Transport, lead: Option<Segment>) {
    if let Some(lead) = lead {
        transport.lead().set(lead);
    }
}

fn shown(name: &str) -> String {
    Foreign::text(name).to_string()
}
