//! [`Attached`]: a player elsewhere behind an ordinary [`Transport`], as a screen needs it. It passes on commands as calls
//! of services, and asks again and again what the player is doing.
//!
//! The player tells times of its clock; here all times are log time.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration as StdDuration;

use crossbeam_channel::Receiver;
use crossbeam_channel::RecvTimeoutError::Timeout;

use super::caller::CallError;
use super::player::{PlayerClient, RequestError};
use super::remote_recording::RemoteRecording;
use super::told::{Known, told};
use crate::bag::{LookUp, Reach, TopicId};
use crate::player::{
    Asked, Command, Elsewhere, Outcome, Pace, Player, Refusal, State, Status, TopicCounts,
    Transport,
};
use crate::time::{AtEnd, Duration, Ros, Steady, Time, TimeRange};
use crate::wire::services::messages::bagplay::{PlayerStatus, RangeRequest, StepRequest};
use crate::wire::services::messages::service::Stamp;
use crate::wire::services::messages::timeline::Progress;

/// How often the player is asked what it is doing.
const ASK_EVERY: StdDuration = StdDuration::from_millis(100);

/// What [`Attached::observe`] has learned.
#[derive(Clone, PartialEq, Debug)]
pub enum News {
    /// The number of subscribers by topic, and of `/clock`; `None` where it is not known.
    Subscribers(Vec<Option<usize>>, Option<usize>),
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

/// A player elsewhere.
#[derive(Debug)]
pub struct Attached<'a> {
    client: PlayerClient<'a>,
    recording: RemoteRecording,
    elsewhere: Elsewhere,
    reach: Reach,
    known: Mutex<Known>,
    is_silent: AtomicBool,
}

impl<'a> Attached<'a> {
    /// Asks a player what it plays.
    ///
    /// # Errors
    /// If it does not answer, or is no player of this program.
    pub fn new(client: PlayerClient<'a>) -> Result<Self, RequestError> {
        let timeline = client.timeline()?;
        let status = client.status()?;
        let shift = timeline.clock_shift.span().unwrap_or(Duration::ZERO);
        let player = Player::new();
        let now = player.transport().now();
        let first = told(&status, shift, now, None).ok_or_else(unreadable)?;
        let recording = RemoteRecording::new(timeline, shift, first.recording);
        let attached = Self {
            elsewhere: player.elsewhere(recording.topics.len(), first.status),
            client,
            recording,
            reach: Reach::default(),
            known: Mutex::new(Known::new(first.status)),
            is_silent: AtomicBool::new(false),
        };
        attached.show_progress(&attached.client.progress()?);
        Ok(attached)
    }

    /// What it plays.
    pub const fn recording(&self) -> &RemoteRecording {
        &self.recording
    }

    /// Calls its services.
    pub const fn client(&self) -> &PlayerClient<'a> {
        &self.client
    }

    /// A handle to control and observe it, as one that runs in this process.
    pub fn transport(&self) -> Transport {
        self.elsewhere.transport()
    }

    /// How far it has read ahead.
    pub fn reach(&self) -> Reach {
        self.reach.clone()
    }

    /// Whether the player answered when it was asked last.
    pub fn answers(&self) -> bool {
        !self.is_silent.load(Ordering::Relaxed)
    }

    /// The time of the player's clock at a log time.
    pub fn clock_time(&self, log: Time<Ros>) -> Time<Ros> {
        log.saturating_add(self.recording.clock_shift)
    }

    fn clock_range(&self, log: TimeRange) -> TimeRange {
        TimeRange::between(self.clock_time(log.start()), self.clock_time(log.stop()))
    }

    /// The log time of a time of the player's clock; `None` if its nanoseconds are a second or more.
    pub fn log_time(&self, clock: Stamp) -> Option<Time<Ros>> {
        let time = clock.time()?;
        Some(time.saturating_sub(self.recording.clock_shift))
    }

    /// Passes on commands until `until` is disconnected. `failed` gets the reasons of those that were refused or not
    /// answered. One that is not answered may be carried out all the same.
    pub fn pass_on_commands(&self, until: &Receiver<Infallible>, failed: impl Fn(&RequestError)) {
        let mut next = None;
        while let Some(asked) = next.take().or_else(|| self.elsewhere.next(until)) {
            next = self.elsewhere.waiting();
            // Of seeks that wait, only the last one matters.
            let is_seek = |asked: &Asked| matches!(asked.command, Command::Seek(_));
            let is_replaced = is_seek(&asked) && next.as_ref().is_some_and(is_seek);
            let outcome = if is_replaced {
                Outcome::Refused(Refusal::Replaced)
            } else {
                self.carry_out(asked.command).unwrap_or_else(|error| {
                    failed(&error);
                    Outcome::Refused(Refusal::Elsewhere)
                })
            };
            if is_seek(&asked) {
                self.known().seeks += 1;
            }
            // What the player does now belongs to the answer; if it is not known, what was known before.
            let _ = self.refresh();
            let status = self.known().status();
            self.elsewhere.publish(status);
            asked.answer(outcome, status);
        }
    }

    fn carry_out(&self, command: Command) -> Result<Outcome, RequestError> {
        let client = &self.client;
        let Status {
            segment, played, ..
        } = self.known().status();
        match command {
            Command::Play => client.resume()?,
            Command::Pause => client.pause()?,
            Command::Toggle => client.toggle_paused()?,
            Command::SetPace(Pace::At(speed)) => client.set_rate(speed.as_f64())?,
            Command::SetPace(Pace::Max) => client.set_rate(f64::INFINITY)?,
            Command::Seek(to) => return self.seek(to),
            Command::SeekBy(by) => {
                let here = segment.position(self.elsewhere.now());
                return self.seek(here.saturating_add(by));
            }
            Command::Step(steps) => return self.step(steps, ""),
            Command::StepTopic(topic, steps) => return self.step(steps, self.name(topic)?),
            Command::Burst(number) => {
                let sent = client.burst(number)?;
                return Ok(Outcome::Stepped { sent, short: None });
            }
            Command::PlayUntil(time) => client.play_until(self.clock_time(time))?,
            Command::PlayFor(span) => {
                let here = segment.position(self.elsewhere.now());
                client.play_until(self.clock_time(here.saturating_add(span)))?;
            }
            Command::SetRange(range) => {
                let is_loop = played.at_end == AtEnd::Loop;
                client.set_range(&RangeRequest::of(self.clock_range(range), is_loop))?;
            }
            Command::SetAtEnd(at_end) => {
                client.set_range(&RangeRequest::none(at_end == AtEnd::Loop))?;
            }
            Command::SetLoop(range) => {
                client.set_loop(&RangeRequest::of(self.clock_range(range), true))?;
            }
            Command::EndLoop => client.set_loop(&RangeRequest::none(false))?,
            Command::Mute(topic) => client.set_muted(self.name(topic)?, true)?,
            Command::Unmute(topic) => client.set_muted(self.name(topic)?, false)?,
            Command::Stop => client.stop()?,
            Command::PlayFrom { from, until } => {
                let landed = self.seek(from)?;
                match until {
                    Some(until) => client.play_until(self.clock_time(until))?,
                    None => client.resume()?,
                }
                return Ok(landed);
            }
            Command::PlayAt(_) => {
                let reason = "a later start cannot be passed on".to_owned();
                return Err(RequestError::Refused(reason));
            }
            Command::Query => {}
            Command::SetPace(Pace::Follow) => {
                let reason = "a player cannot be made to follow a clock".to_owned();
                return Err(RequestError::Refused(reason));
            }
        }
        Ok(Outcome::Done)
    }

    fn seek(&self, to: Time<Ros>) -> Result<Outcome, RequestError> {
        let landed = self.client.seek(self.clock_time(to))?;
        let landed = landed.map(|clock| clock.saturating_sub(self.recording.clock_shift));
        Ok(Outcome::Landed(landed.unwrap_or(to)))
    }

    fn step(&self, steps: i64, topic: &str) -> Result<Outcome, RequestError> {
        let request = StepRequest {
            steps,
            topic: topic.to_owned(),
        };
        let stepped = self.client.step(&request)?;
        if stepped.success {
            let (sent, short) = (stepped.published, None);
            Ok(Outcome::Stepped { sent, short })
        } else {
            Err(RequestError::Refused(stepped.message))
        }
    }

    fn name(&self, topic: TopicId) -> Result<&str, RequestError> {
        let topic = self.recording.topics.get(topic.index());
        topic
            .map(|topic| topic.name.as_str())
            .ok_or_else(|| RequestError::Refused(Refusal::UnknownTopic.to_string()))
    }

    /// Asks again and again what the player is doing, until `until` is disconnected or the player has ended.
    pub fn observe(&self, until: &Receiver<Infallible>, mut tell: impl FnMut(News)) {
        let mut before = Before::default();
        loop {
            let asked_at = self.elsewhere.now();
            let asked = self.refresh().and_then(|followed| {
                before.tell_followed(followed, &mut tell);
                self.refresh_progress(&mut before, &mut tell)
            });
            self.is_silent.store(asked.is_err(), Ordering::Relaxed);
            match asked {
                Ok(()) => {
                    if before.silent_since.take().is_some() {
                        tell(News::Answers);
                    }
                }
                Err(error) if self.has_left(&error) => return tell(News::Ended),
                Err(error) => {
                    if before.silent_since.is_none() {
                        tell(News::Silent(error.to_string()));
                    }
                    let since = *before.silent_since.get_or_insert(asked_at);
                    self.known().hold(since);
                }
            }
            let status = self.known().status();
            self.elsewhere.publish(status);
            if status.state == State::Stopped {
                return tell(News::Ended);
            }
            if until.recv_timeout(ASK_EVERY) != Err(Timeout) {
                return;
            }
        }
    }

    /// Whether a call failed because the player is no longer on the network, to which there is a connection.
    fn has_left(&self, error: &RequestError) -> bool {
        let is_gone = matches!(
            error,
            RequestError::NotOffered { .. } | RequestError::Call(CallError::NoServer)
        );
        is_gone && self.client.has_path() && !self.client.is_ours()
    }

    /// Asks what the player is doing; returns the clock that it follows, which may have no name, and whether that stands.
    fn refresh(&self) -> Result<(String, bool), RequestError> {
        let asked_at = self.elsewhere.now();
        let status = self.client.status()?;
        let answered_at = self.elsewhere.now();
        // The answer was made about half way.
        let travel = answered_at.saturating_since(asked_at);
        let at = asked_at.saturating_add(Duration::from_nanos(travel.as_nanos() / 2));
        let mut known = self.known();
        let before = Some(known.status());
        let told = told(&status, self.recording.clock_shift, at, before).ok_or_else(unreadable)?;
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
        if before.marks_revision != Some(progress.marks_revision) {
            // Without marks there is nothing to show.
            let marks = self.client.marks().unwrap_or_default();
            let at = |stamp| self.log_time(stamp);
            let marks = marks.into_iter();
            let marks = marks.filter_map(|mark| Some((at(mark.time)?, mark.name)));
            tell(News::Marks(marks.collect()));
            before.marks_revision = Some(progress.marks_revision);
        }
        Ok(())
    }

    fn show_progress(&self, progress: &Progress) {
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

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The numbers of subscribers, by topic and of `/clock`.
type Counted = (Vec<Option<usize>>, Option<usize>);

/// What was told last.
#[derive(Default)]
struct Before {
    subscribers: Option<Counted>,
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

fn unreadable() -> RequestError {
    RequestError::Refused("the player tells a state that this program does not know".to_owned())
}
