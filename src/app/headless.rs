//! The main thread of a run without the transport bar: it watches, tells, and passes on what comes.

use bagplay::bag::TopicId;
use bagplay::cli::{Chosen, Ending, Exit, OnDisconnect, Plan, PlayArgs};
use bagplay::player::{Command, Gate, Running, Transport};
use bagplay::time::{Duration, Steady, Time};
use bagplay::wire::WireEvent;
use crossbeam_channel::{Receiver, after, never, select, tick};

use super::logging::Terminal;
use super::network::Network;
use super::progress::Progress;

/// An end that takes longer is explained: a send is stuck, and zenoh cannot be told to let go.
const SLOW: std::time::Duration = std::time::Duration::from_secs(1);

/// What the main thread knows of a run.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) args: &'a PlayArgs,
    pub(crate) plan: &'a Plan,
    pub(crate) network: &'a Network,
    pub(crate) terminal: &'a Terminal,
    pub(crate) transport: Transport,
    pub(crate) signals: Receiver<Exit>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) how: Ending,
    pub(crate) exit: Exit,
}

impl Ended {
    const WELL: Self = Self {
        how: Ending::End,
        exit: Exit::Done,
    };

    const fn failed(exit: Exit) -> Self {
        Self {
            how: Ending::Failed,
            exit,
        }
    }
}

/// Watches until the player is done; returns how that came about.
pub(crate) fn watch<O>(run: &Run<'_>, running: &Running<O>) -> Ended {
    let mut progress = Progress::start(run.terminal, run.transport.clone());
    let mut ended = Ended::WELL;
    let mut awaits = Awaited::new(run);
    let mut followers = Followers::default();
    let draws = tick(Progress::INTERVAL);
    let mut is_slow = never();
    let events = if run.network.session.is_some() {
        run.network.events.clone()
    } else {
        never()
    };
    awaits.check(run);
    loop {
        select! {
            recv(running.done()) -> _ => break,
            recv(run.signals) -> signal => {
                let exit = signal.unwrap_or(Exit::Interrupted);
                ended = stop(run, Ended { how: Ending::Interrupted, exit });
                is_slow = after(SLOW);
            }
            recv(is_slow) -> _ => tracing::warn!(
                "still waiting for a subscriber that takes nothing, at most --stall-timeout; once more ends it now"
            ),
            recv(events) -> event => {
                let Ok(event) = event else { continue };
                if let Some(how) = take_event(run, &event, &mut followers) {
                    ended = how;
                }
                awaits.check(run);
                followers.check(run);
            }
            recv(draws) -> _ => {
                progress.draw();
                followers.check(run);
                awaits.check(run);
                if let Some(missing) = awaits.timed_out(run) {
                    tracing::error!("nobody subscribed to {missing} within {}; hint: --wait-timeout", run.args.topics.wait_timeout);
                    ended = stop(run, Ended::failed(Exit::Timeout));
                }
            }
        }
    }
    progress.finish();
    ended
}

/// Asks the player to stop; that it already has is as good.
fn stop(run: &Run<'_>, ended: Ended) -> Ended {
    let _ = run.transport.send(Command::Stop);
    ended
}

/// Passes an event on to the player and the user; `Some` if the run ends by it.
fn take_event(run: &Run<'_>, event: &WireEvent, followers: &mut Followers) -> Option<Ended> {
    let on_disconnect = run.args.wire.on_disconnect;
    match event {
        WireEvent::PathLost if on_disconnect == OnDisconnect::Exit => {
            tracing::error!("{event}");
            return Some(stop(run, Ended::failed(Exit::Failed)));
        }
        WireEvent::PathLost if on_disconnect == OnDisconnect::Hold => {
            // A player that has stopped needs nothing any more.
            let _ = run.transport.send(Command::CloseGate(Gate::Path));
            tracing::warn!(
                "connection to the zenoh router lost: playback stands until it is back; hint: --on-disconnect continue|exit"
            );
            return None;
        }
        WireEvent::PathBack => followers.path_is_back(run),
        WireEvent::ForeignClock { .. } if run.args.clock.strict_clock => {
            tracing::error!("{event}");
            return Some(stop(run, Ended::failed(Exit::Failed)));
        }
        _ => {}
    }
    match event {
        WireEvent::SubscriberJoined { .. }
        | WireEvent::SubscriberLeft { .. }
        | WireEvent::Matching { .. }
        | WireEvent::ClockSubscriber { .. } => {
            tracing::debug!("{event}");
        }
        WireEvent::PathBack => tracing::info!("{event}"),
        _ => tracing::warn!("{event}"),
    }
    None
}

/// The subscribers that must be there before the start.
struct Awaited {
    topics: Vec<Chosen>,
    deadline: Option<Time<Steady>>,
}

impl Awaited {
    fn new(run: &Run<'_>) -> Self {
        let topics = run.plan.awaited.clone();
        let deadline = run
            .transport
            .now()
            .saturating_add(run.args.topics.wait_timeout);
        let awaited = Self {
            deadline: (!topics.is_empty()).then_some(deadline),
            topics,
        };
        if awaited.deadline.is_some() {
            tracing::info!("waiting for subscribers of {}", awaited.names());
        }
        awaited
    }

    /// Opens the gate once nobody is missing.
    fn check(&mut self, run: &Run<'_>) {
        if self.deadline.is_none() {
            return;
        }
        self.topics
            .retain(|topic| !run.network.is_followed(topic.id));
        if self.topics.is_empty() {
            self.deadline = None;
            let _ = run.transport.send(Command::OpenGate(Gate::Subscribers));
        }
    }

    /// Who is missing when the time is up; told once.
    fn timed_out(&mut self, run: &Run<'_>) -> Option<String> {
        self.deadline
            .take_if(|deadline| run.transport.now() >= *deadline)
            .map(|_| self.names())
    }

    fn names(&self) -> String {
        self.topics
            .iter()
            .map(|topic| topic.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Who followed before the path was lost: playback goes on when they are there again, not before.
#[derive(Default)]
struct Followers {
    topics: Vec<TopicId>,
    deadline: Option<Time<Steady>>,
}

impl Followers {
    /// How long they may take to come back.
    const PATIENCE: Duration = Duration::from_secs(10);

    fn path_is_back(&mut self, run: &Run<'_>) {
        self.deadline = Some(run.transport.now().saturating_add(Self::PATIENCE));
    }

    /// Remembers who is there while there is a path; afterwards waits for them.
    fn check(&mut self, run: &Run<'_>) {
        let now_there = run.network.followed();
        let Some(deadline) = self.deadline else {
            if run.network.has_path() && !now_there.is_empty() {
                self.topics = now_there;
            }
            return;
        };
        let are_back = self.topics.iter().all(|topic| now_there.contains(topic));
        if !are_back && run.transport.now() < deadline {
            return;
        }
        if !are_back {
            tracing::warn!("playing on, though not every subscriber is back");
        }
        self.deadline = None;
        let _ = run.transport.send(Command::OpenGate(Gate::Path));
    }
}
