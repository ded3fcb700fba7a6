//! [`UnderTest`]: what a run against a program under test watches besides the network.

use std::time::Instant;

use bagplay::ci::child::{ChildExit, How, Meaning, ProcessEnd};
use bagplay::ci::drive::{Desk, Trouble};
use bagplay::cli::{Exit, Hints};
use bagplay::time::Duration;
use bagplay::wire::WireEvent;
use crossbeam_channel::{Receiver, never};

use crate::app::network::{Network, NetworkEvent};

/// The events of a run against a program under test. Without one there are none.
#[derive(Debug)]
pub(crate) struct UnderTest {
    /// The program has ended.
    pub(crate) ended: Receiver<ChildExit>,
    /// The run cannot go on.
    pub(crate) troubles: Receiver<Trouble>,
    /// Processes that the program has started have ended.
    pub(crate) process_ends: Receiver<ProcessEnd>,
    /// Whether a process with an unknown result fails the run.
    pub(crate) is_strict: bool,
    /// The longest time of the run has passed.
    pub(crate) time_is_up: Receiver<Instant>,
    /// That time.
    pub(crate) longest: Duration,
    /// Why it ended, if that was the reason.
    pub(crate) reason: Option<String>,
    /// What was sent, and what the run waits for.
    pub(crate) desk: Option<Desk>,
    /// The topics that are played and that nobody else publishes, by their names on the network.
    pub(crate) played: Vec<String>,
    /// What there is to say about the run.
    pub(crate) notes: Vec<String>,
    /// Nodes that do not get a topic, because they have another definition of its type, in sentences.
    pub(crate) mismatches: Vec<String>,
}

impl UnderTest {
    /// Takes the end of a process. Returns whether it fails the run.
    pub(crate) fn fails(&mut self, end: &ProcessEnd) -> bool {
        let fails = match end.meaning() {
            Meaning::Failure => true,
            Meaning::Unknown => self.is_strict,
            Meaning::Ended | Meaning::Nothing => false,
        };
        if fails {
            tracing::error!("{end}");
            self.reason.get_or_insert(end.to_string());
        } else if end.meaning() != Meaning::Nothing {
            tracing::warn!("{end}");
            self.notes.push(end.to_string());
        }
        fails
    }

    /// Takes the ends of processes that have come. Returns whether one of them fails the run.
    pub(crate) fn takes_failure(&mut self) -> bool {
        let ends: Vec<ProcessEnd> = self.process_ends.try_iter().collect();
        self.takes_any_failure(&ends)
    }

    /// The same for ends that were received.
    pub(crate) fn takes_any_failure(&mut self, ends: &[ProcessEnd]) -> bool {
        // All of them: those that fail nothing are noted.
        ends.iter().filter(|end| self.fails(end)).count() > 0
    }
}

impl Default for UnderTest {
    fn default() -> Self {
        Self {
            ended: never(),
            troubles: never(),
            process_ends: never(),
            is_strict: false,
            time_is_up: never(),
            longest: Duration::ZERO,
            reason: None,
            desk: None,
            played: Vec::new(),
            notes: Vec::new(),
            mismatches: Vec::new(),
        }
    }
}

impl UnderTest {
    /// Topics that other nodes publish are not sent. To be called immediately before anything is sent: what is found
    /// later was played in part.
    pub(crate) fn mute_published(&self, network: &Network) {
        let Some(desk) = &self.desk else {
            return;
        };
        for topic in &self.played {
            if let Some(node) = network.publisher(topic)
                && desk.mute(topic, &node).is_some()
            {
                tracing::warn!("{topic} is not played, because {node} publishes it");
            }
        }
    }

    /// Topics that another node begins to publish are not sent any more: their subscribers would receive both. Takes
    /// the events that say so.
    pub(crate) fn close_loops(&self, events: &mut Vec<NetworkEvent>, network: &Network) {
        let Some(desk) = &self.desk else {
            return;
        };
        events.retain(|event| {
            let WireEvent::ForeignPublisher { topics, node } = &event.event else {
                return true;
            };
            // It may have left meanwhile.
            let is_published = |topic: &&String| network.publisher(topic).is_some();
            let played = topics.iter().filter(|topic| self.played.contains(topic));
            for topic in played.filter(is_published) {
                if let Some(muted) = desk.mute(topic, node) {
                    let since = muted.since;
                    tracing::warn!(
                        "{topic} is not played after {since}, because {node} began to publish it"
                    );
                }
            }
            false
        });
    }

    /// Notes nodes that do not get a topic, because they have another definition of its type.
    pub(crate) fn note_mismatches(&mut self, events: &[NetworkEvent], hints: &Hints) {
        if self.desk.is_none() {
            return;
        }
        let is_mismatch = |it: &&NetworkEvent| matches!(it.event, WireEvent::TypeMismatch { .. });
        for event in events.iter().filter(is_mismatch) {
            let sentence = event.text(Some(hints));
            if !self.mismatches.contains(&sentence) {
                self.mismatches.push(sentence);
            }
        }
    }

    /// The reason that a run gives that took too long.
    pub(crate) fn too_long(&self) -> String {
        let (limit, place) = (self.longest, self.place());
        format!("the run took longer than {limit} (--timeout), {place}")
    }

    /// The reason that a run gives that was interrupted. None if there is no program under test.
    pub(crate) fn interrupted(&self) -> Option<String> {
        let place = self.desk.as_ref().map(|_| self.place());
        place.map(|place| format!("interrupted, {place}"))
    }

    /// Where playback is, and what it waits for.
    fn place(&self) -> String {
        let waits = self.desk.as_ref().and_then(Desk::waits_for);
        let at = self.desk.as_ref().map(|desk| desk.place().get());
        let at = at.map_or_else(
            || "before it began".to_owned(),
            |at| format!("at {at} of the recording"),
        );
        let waits = waits.unwrap_or_else(|| "playback was under way".to_owned());
        format!("{at}: {waits}")
    }
}

/// The exit code of a run that ends because of its trouble, and the reason. When the path to the network was lost,
/// nothing is known of the program under test.
pub(crate) fn verdict_of(trouble: &Trouble, network: &Network) -> (Exit, String) {
    let (path, first) = (network.path(), network.initial_path);
    let is_lost = !path.is_up || path.losses != first.losses;
    match exit_of(trouble) {
        Exit::Timeout if is_lost => {
            let why = format!("the connection to the zenoh router was lost; after that, {trouble}");
            (Exit::Failed, why)
        }
        exit => (exit, trouble.to_string()),
    }
}

/// The exit code of a run whose program under test ended before the run did. If the process that held the program was
/// lost, the state of the program is unknown, and the run gives no verdict.
pub(crate) const fn exit_of_end(end: &ChildExit) -> Exit {
    match end.how {
        How::Lost => Exit::Failed,
        How::Code(_) | How::Signal(_) | How::Unknown => Exit::Child,
    }
}

fn exit_of(trouble: &Trouble) -> Exit {
    match trouble {
        Trouble::Missed(_) | Trouble::Unsettled(_) | Trouble::Restless { .. } => Exit::Timeout,
        Trouble::Unstamped { .. } => Exit::Usage,
        Trouble::Panicked => Exit::Failed,
    }
}
