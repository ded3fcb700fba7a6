//! [`Attached::observe`]: asks a player elsewhere again and again what it is doing.

use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::time::Duration as StdDuration;

use crossbeam_channel::RecvTimeoutError::Timeout;
use crossbeam_channel::{Receiver, TryRecvError};

use super::attached::Attached;
use super::player::PlayerClient;
use super::request_error::RequestError;
use super::told::told;
use crate::bag::{LookUp, TopicId};
use crate::player::{State, TopicCounts};
use crate::time::{Duration, Ros, Steady, Time};
use crate::wire::services::messages::bagplay::PlayerStatus;
use crate::wire::services::messages::timeline::Progress;

/// How often the player is asked what it is doing.
const ASK_EVERY: StdDuration = StdDuration::from_millis(100);

/// What [`Attached::observe`] has learned.
#[derive(Clone, PartialEq, Debug)]
pub enum News {
    /// The number of subscribers by topic, and of `/clock`; `None` where it is not known.
    Subscribers(Vec<Option<usize>>, Option<usize>),
    /// How `/clock` is served, such as `40 Hz`; empty if it is not.
    Clock(String),
    /// The clock that the player follows.
    Followed {
        /// Its name, such as `/clock of /simulator`.
        name: String,
        /// Whether it stands.
        stands: bool,
    },
    /// The marks of the recording: times and names.
    Marks(Vec<(Time<Ros>, String)>),
    /// The player does not answer, for this reason. Its position is not known any more: it is shown as held.
    Silent(String),
    /// It answers again.
    Answers,
    /// Its run is over, or it has left the network.
    Ended,
}

impl Attached<'_> {
    /// Asks again and again what the player is doing, until `until` is disconnected or the player has ended.
    pub fn observe(&self, until: &Receiver<Infallible>, mut tell: impl FnMut(News)) {
        let mut before = Before::default();
        loop {
            let asked_at = self.elsewhere.now();
            let asked = self.refresh().and_then(|followed| {
                before.tell_followed(followed, &mut tell);
                self.refresh_progress(&mut before, &mut tell)
            });
            // The last commands may have left no time for an answer: that is no silence.
            if asked.is_err() && until.try_recv() == Err(TryRecvError::Disconnected) {
                return;
            }
            // A refusal is an answer.
            let is_silent = matches!(&asked, Err(error) if !error.is_refusal());
            self.is_silent.store(is_silent, Ordering::Relaxed);
            match asked {
                Ok(()) => {
                    if before.silent_since.take().is_some() {
                        tell(News::Answers);
                    }
                }
                Err(error) if self.client.has_left(&error, PlayerClient::LOSS_IS_KNOWN) => {
                    return tell(News::Ended);
                }
                Err(error) => {
                    if before.silent_since.is_none() {
                        tell(News::Silent(error.to_string()));
                    }
                    let since = *before.silent_since.get_or_insert(asked_at);
                    self.known().hold(since);
                }
            }
            let status = self.publish_known();
            if status.state == State::Stopped {
                return tell(News::Ended);
            }
            if until.recv_timeout(ASK_EVERY) != Err(Timeout) {
                return;
            }
        }
    }

    /// Asks what the player is doing; returns the clock that it follows, which may have no name, and whether that
    /// stands.
    pub(super) fn refresh(&self) -> Result<(String, bool), RequestError> {
        let asked_at = self.elsewhere.now();
        let status = self.client.status()?;
        let answered_at = self.elsewhere.now();
        // The answer was made about half way.
        let travel = answered_at.saturating_since(asked_at);
        let at = asked_at.saturating_add(Duration::from_nanos(travel.as_nanos() / 2));
        let mut known = self.known();
        let before = Some(known.status());
        let told = told(&status, self.recording.clock_shift, at, before);
        let told = told.ok_or_else(|| RequestError::unreadable(&status))?;
        known.update(asked_at, told.status);
        let stands = status.state == PlayerStatus::HELD;
        Ok((status.followed, stands))
    }

    fn refresh_progress(
        &self,
        before: &mut Before,
        tell: &mut impl FnMut(News),
    ) -> Result<(), RequestError> {
        let progress = self.client.progress()?;
        self.show_progress(&progress);
        let subscribers = subscribers(&progress);
        if before.subscribers.as_ref() != Some(&subscribers) {
            tell(News::Subscribers(subscribers.0.clone(), subscribers.1));
            before.subscribers = Some(subscribers);
        }
        if before.clock.as_ref() != Some(&progress.clock) {
            tell(News::Clock(progress.clock.clone()));
            before.clock = Some(progress.clock);
        }
        if before.marks_revision != Some(progress.marks_revision) {
            let marks = match self.client.marks() {
                // It has none: a clock without a recording.
                Err(error) if error.is_refusal() => Vec::new(),
                told => told?,
            };
            let at = |stamp| self.log_time(stamp);
            let marks = marks.into_iter();
            let marks = marks.filter_map(|mark| Some((at(mark.time)?, mark.name)));
            tell(News::Marks(marks.collect()));
            before.marks_revision = Some(progress.marks_revision);
        }
        Ok(())
    }

    pub(super) fn show_progress(&self, progress: &Progress) {
        let read_to = progress.has_read.then(|| self.log_time(progress.read_to));
        let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let looking_up = (progress.to_search > 0).then(|| LookUp {
            done: size(progress.searched),
            of: size(progress.to_search),
        });
        self.reach.tell(read_to.flatten(), looking_up);
        for (topic, id) in progress.topics.iter().zip(0..) {
            let counts = TopicCounts {
                sent: topic.sent,
                bytes: topic.bytes,
                late: topic.late,
                dropped: topic.dropped,
                refilled: topic.refilled,
                muted: topic.skipped,
            };
            let id = TopicId(id);
            self.elsewhere.publish_counts(id, counts, topic.is_muted);
        }
    }
}

/// The numbers of subscribers, by topic and of `/clock`.
type Counted = (Vec<Option<usize>>, Option<usize>);

/// What was told last.
#[derive(Default)]
struct Before {
    subscribers: Option<Counted>,
    clock: Option<String>,
    marks_revision: Option<u64>,
    silent_since: Option<Time<Steady>>,
    followed: (String, bool),
}

impl Before {
    fn tell_followed(&mut self, followed: (String, bool), tell: &mut impl FnMut(News)) {
        if !followed.0.is_empty() && self.followed != followed {
            self.followed.clone_from(&followed);
            let (name, stands) = followed;
            tell(News::Followed { name, stands });
        }
    }
}

fn subscribers(progress: &Progress) -> Counted {
    let count = |number: i32| usize::try_from(number).ok();
    let topics = progress.topics.iter();
    (
        topics.map(|topic| count(topic.subscribers)).collect(),
        count(progress.clock_subscribers),
    )
}
