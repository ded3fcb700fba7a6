//! [`Supervisor`]: the main thread's duties during a run, with the transport bar or without: it passes network events
//! to the player, waits for subscribers, and ends the run when it has to.

pub(crate) mod awaited;
pub(crate) mod followed;
pub(crate) mod join;
pub(crate) mod other_publishers;
pub(crate) mod resubscribers;
mod rules;
pub(crate) mod shallow_queues;
pub(crate) mod shutdown;
pub(crate) mod under_test;

use bagplay::ci::child::ChildExit;
use bagplay::ci::drive::Trouble;
use bagplay::cli::{Ending, Exit, Hints, OnDisconnect, Plan};
use bagplay::player::{Command, Gate, Pace, State, Transport};
use bagplay::time::{Duration, Steady, Time};
use bagplay::wire::{PathState, Session, WireEvent};
use crossbeam_channel::Receiver;

use super::log::LogTarget;
use super::network::{Network, NetworkEvent};
use awaited::{Awaited, Change, Waiting};
use followed::Followed;
use other_publishers::OtherPublishers;
use resubscribers::{Resubscribers, Return};
pub(crate) use rules::Rules;
use shallow_queues::{ShallowQueues, Stream};
use under_test::{exit_of_end, verdict_of};

/// An end that takes longer than this is explained: a subscriber takes no data, and zenoh cannot be interrupted.
pub(super) const SLOW: Duration = Duration::from_secs(1);

/// What the main thread needs to know of a run.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) rules: Rules,
    pub(crate) plan: &'a Plan,
    pub(crate) hints: &'a Hints,
    pub(crate) streams: Vec<Stream>,
    pub(crate) network: &'a Network,
    pub(crate) log_target: &'a LogTarget,
    pub(crate) transport: Transport,
    pub(crate) signals: Receiver<Exit>,
    pub(crate) followed: Option<Followed>,
}

impl Run<'_> {
    /// The clock that is followed, and the session that receives it.
    fn followed(&self) -> Option<(&Followed, &Session)> {
        self.followed.as_ref().zip(self.network.session())
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) how: Ending,
    pub(crate) exit: Exit,
}

impl Ended {
    /// Everything was played.
    pub(crate) const NORMAL: Self = Self {
        how: Ending::End,
        exit: Exit::Done,
    };

    /// It failed.
    pub(crate) const fn failed(exit: Exit) -> Self {
        Self {
            how: Ending::Failed,
            exit,
        }
    }
}

/// Supervises a run.
pub(crate) struct Supervisor<'a> {
    run: &'a Run<'a>,
    awaited: Awaited,
    resubscribers: Resubscribers,
    /// The path when it was last checked.
    path: PathState,
    /// Since when there is no path; `None` if there is one.
    pathless_since: Option<Time<Steady>>,
    other_publishers: OtherPublishers,
    shallow_queues: ShallowQueues,
    /// The pace for which the subscribers' queues were last checked.
    pace: Option<Pace>,
    /// Why the run ends; the first reason counts.
    ended: Option<Ended>,
    /// The same in a sentence, for the reports of a run with verdicts.
    reason: Option<String>,
    /// When to report that the end takes long.
    explains_at: Option<Time<Steady>>,
}

impl<'a> Supervisor<'a> {
    /// Starts to supervise.
    pub(crate) fn new(run: &'a Run<'a>) -> Self {
        let timeout = run.rules.wait_timeout;
        let awaited = Awaited::new(run.plan.awaited.clone(), timeout, run.transport.now());
        if !run.plan.awaited.is_empty() {
            tracing::info!("waiting for subscribers of {}", awaited.missing());
        }
        let mut supervisor = Self {
            run,
            awaited,
            resubscribers: Resubscribers::default(),
            path: run.network.initial_path,
            pathless_since: None,
            other_publishers: OtherPublishers::default(),
            shallow_queues: ShallowQueues::default(),
            pace: None,
            ended: None,
            reason: None,
            explains_at: None,
        };
        supervisor.check();
        supervisor
    }

    /// Passes an event to the player, and logs it.
    pub(crate) fn take(&mut self, events: &[NetworkEvent]) {
        self.log_events(events);
        let joined = |it: &NetworkEvent| matches!(it.event, WireEvent::SubscriberJoined { .. });
        self.check_queues(events.iter().any(joined));
        self.check();
    }

    /// Logs events. The first one that ends the run is the reason of its end.
    pub(crate) fn log_events(&mut self, events: &[NetworkEvent]) {
        for event in events {
            if let WireEvent::ForeignPublisher { topics, node } = &event.event {
                let now = self.run.transport.now();
                self.other_publishers.add((node, event.wire), topics, now);
                continue;
            }
            if let Some(why) = take_event(self.run, event) {
                self.fail(Exit::Failed, why);
            }
        }
    }

    /// Checks whether the path is lost or back, and whether awaited subscribers have arrived.
    fn check(&mut self) {
        self.wait_for_subscribers();
        let (run, now) = (self.run, self.run.transport.now());
        // Read before the path, so that subscribers without a path are not remembered.
        let subscribed = run.network.subscribed_over_zenoh();
        let path = run.network.path();
        self.update_path(path, now);
        if let Some(how) = self.resubscribers.check(now, path.is_up, subscribed) {
            if how == Return::InPart {
                tracing::warn!("playing on, although not all subscribers are back");
            }
            run.transport.gates().open(Gate::Path);
        }
    }

    /// Reports a path that was lost or restored since the last check.
    fn update_path(&mut self, path: PathState, now: Time<Steady>) {
        let before = std::mem::replace(&mut self.path, path);
        // A session that has just been opened has no path until its links are up, which is no loss.
        self.pathless_since = (!path.is_up).then(|| self.pathless_since.unwrap_or(now));
        let has_lost = path.losses != before.losses || (before.is_up && !path.is_up);
        if has_lost {
            self.resubscribers.path_is_lost();
            self.path_is_lost();
        }
        if path.is_up && (has_lost || !before.is_up) {
            self.resubscribers.path_is_back(now);
            tracing::info!("connection to the zenoh router is up");
        }
    }

    fn path_is_lost(&mut self) {
        const LOST: &str = "connection to the zenoh router lost";
        match self.run.rules.on_disconnect {
            OnDisconnect::Hold => {
                self.run.transport.gates().close(Gate::Path);
                tracing::warn!(
                    "{LOST}: playback is held until it is restored; hint: --on-disconnect continue|exit"
                );
            }
            OnDisconnect::Continue => {
                tracing::warn!("{LOST}; messages published until it is restored may be lost");
            }
            OnDisconnect::Exit => {
                tracing::error!("{LOST}");
                self.end(Ended::failed(Exit::Failed));
            }
        }
    }

    /// The topics that have no subscriber yet, or too few, and how long the run waits for them; `None` if it does not
    /// wait.
    pub(crate) fn waiting(&self) -> Option<Waiting> {
        self.awaited.waiting(self.run.transport.now())
    }

    /// Playback is held while an awaited subscriber is missing.
    fn wait_for_subscribers(&mut self) {
        let Run {
            network, transport, ..
        } = self.run;
        let state = transport.status().map(|status| status.state);
        let is_held = state == Some(State::Gated) && network.path().is_up;
        let plan = self.run.plan;
        let has_subscriber = |topic| network.has_subscribers(plan, topic);
        match self.awaited.check(transport.now(), is_held, has_subscriber) {
            None => {}
            Some(Change::Complete) => transport.gates().open(Gate::Subscribers),
            Some(Change::Missing(topics)) => {
                tracing::warn!(
                    "{topics} lost the subscriber that playback waited for: what is left is held until there is another one, \
                     for at most --wait-timeout"
                );
                transport.gates().close(Gate::Subscribers);
            }
        }
    }

    /// The state of the player has changed, maybe its pace.
    #[cfg(feature = "tui")]
    pub(crate) fn has_moved(&mut self) {
        self.check_queues(false);
    }

    /// Warns of nodes whose queues are too short, if the pace or the subscribers have changed.
    fn check_queues(&mut self, has_joined: bool) {
        let status = self.run.transport.status();
        let pace = status.map_or(self.run.plan.options.pace, |status| status.pace);
        if self.pace.replace(pace) == Some(pace) && !has_joined {
            return;
        }
        let depths = |topic: &str| self.run.network.depths(topic);
        for warning in self.shallow_queues.check(pace, &self.run.streams, depths) {
            tracing::warn!("{warning}");
        }
    }

    /// Warns of other nodes that publish the same topics.
    fn warn_of(&self, other_publishers: &[NetworkEvent]) {
        for publisher in other_publishers {
            tracing::warn!("{}", publisher.text(Some(self.run.hints)));
        }
    }

    /// Checks whether subscribers have arrived, returned or timed out, and whether the end takes long.
    pub(crate) fn look(&mut self) {
        self.check();
        let now = self.run.transport.now();
        if self.awaited.is_late(now) {
            let topics = self.awaited.missing_topics();
            let missing = self.run.network.missing_subscribers(self.run.plan, topics);
            let timeout = self.run.rules.wait_timeout;
            let why = format!("{missing} within {timeout}; hint: --wait-timeout");
            self.fail(Exit::Timeout, why);
        }
        if let (Some(since), Some(limit)) = (self.pathless_since, self.run.rules.path_limit)
            && now.saturating_since(since) >= limit
        {
            let why = format!("no connection to the zenoh router for {limit}");
            self.fail(Exit::Failed, why);
        }
        self.check_queues(false);
        if let Some((followed, session)) = self.run.followed() {
            followed.look(session);
        }
        let other_publishers = self.other_publishers.due(now);
        self.warn_of(&other_publishers);
        if self.explains_at.take_if(|at| *at <= now).is_some() {
            tracing::warn!(
                "still waiting for a subscriber that takes no data, for at most --stall-timeout; quit again to end now"
            );
        }
    }

    /// When [`Supervisor::look`] has something to do even without an event.
    #[cfg(feature = "tui")]
    pub(crate) fn deadline(&self) -> Option<Time<Steady>> {
        let deadlines = [
            self.awaited.deadline(),
            self.resubscribers.deadline(),
            self.other_publishers.deadline(),
            self.explains_at,
            self.run.followed.as_ref().map(Followed::deadline),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// A signal requested the end.
    pub(crate) fn interrupt(&mut self, exit: Exit) {
        let how = Ending::Interrupted;
        self.end(Ended { how, exit });
    }

    /// The program under test has ended before the end of the run.
    pub(crate) fn child_ended(&mut self, exit: &ChildExit) {
        tracing::error!("{exit}, before the end of the run");
        self.reason.get_or_insert_with(|| exit.to_string());
        self.end(Ended::failed(exit_of_end(exit)));
    }

    /// A process that the program under test has started failed before the end of the run.
    pub(crate) fn process_failed(&mut self) {
        self.end(Ended::failed(Exit::Child));
    }

    /// The run cannot go on.
    pub(crate) fn is_troubled(&mut self, trouble: &Trouble) {
        let (exit, why) = verdict_of(trouble, self.run.network);
        self.fail(exit, why);
    }

    /// The run has failed for this reason.
    pub(crate) fn fail(&mut self, exit: Exit, why: String) {
        if self.ended.is_none() {
            tracing::error!("{why}");
            self.reason.get_or_insert(why);
        }
        self.end(Ended::failed(exit));
    }

    /// Why the run ends, in a sentence for its reports.
    pub(crate) fn take_reason(&mut self) -> Option<String> {
        self.reason.take()
    }

    /// The user quits the transport bar.
    #[cfg(feature = "tui")]
    pub(crate) fn leave(&mut self) {
        self.end(Ended {
            how: Ending::Stopped,
            exit: Exit::Done,
        });
    }

    /// Whether the end was requested and takes long.
    #[cfg(feature = "tui")]
    pub(crate) fn is_late(&self) -> bool {
        self.is_ending() && self.explains_at.is_none()
    }

    /// The exit code, as far as it has been decided.
    #[cfg(feature = "tui")]
    pub(crate) fn exit(&self) -> Exit {
        self.ended.map_or(Exit::Done, |ended| ended.exit)
    }

    /// Whether the end was requested.
    #[cfg(feature = "tui")]
    pub(crate) fn is_ending(&self) -> bool {
        self.ended.is_some()
    }

    /// How the run ended. A short run may be over before its events have been read: they are logged first, and an event
    /// that ends a run counts.
    pub(crate) fn ended(mut self) -> Ended {
        let unread: Vec<NetworkEvent> = self.run.network.events().try_iter().collect();
        self.log_events(&unread);
        let other_publishers = self.other_publishers.all();
        self.warn_of(&other_publishers);
        self.ended.unwrap_or(Ended::NORMAL)
    }

    /// Asks the player to stop, if it has not stopped already.
    fn end(&mut self, ended: Ended) {
        if self.ended.is_none() {
            self.ended = Some(ended);
            self.explains_at = Some(self.run.transport.now().saturating_add(SLOW));
        }
        let _ = self.run.transport.send(Command::Stop);
    }
}

/// Logs an event. If it ends the run, it is not logged: the reason is returned.
fn take_event(run: &Run<'_>, event: &NetworkEvent) -> Option<String> {
    match &event.event {
        WireEvent::ForeignClock { .. } if run.rules.strict_clock => {
            return Some(event.text(Some(run.hints)));
        }
        WireEvent::AskedToEnd(reason) => return Some(event.on_its_wire(reason)),
        // The path is handled as a state, not as an event.
        WireEvent::PathChanged => {}
        WireEvent::SubscriberJoined { .. }
        | WireEvent::SubscriberLeft { .. }
        | WireEvent::Matching { .. }
        | WireEvent::ClockSubscriber { .. }
        | WireEvent::OwnClock { .. } => tracing::debug!("{}", event.text(None)),
        WireEvent::BecameRouter { .. } => tracing::info!("{}", event.text(None)),
        _ => tracing::warn!("{}", event.text(Some(run.hints))),
    }
    None
}
