//! [`Attached`]: a player elsewhere behind an ordinary [`Transport`], as a screen needs it. It passes on commands as
//! calls of services, and asks again and again what the player is doing.
//!
//! The player tells times of its clock; here all times are log time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration as StdDuration;

use super::player::PlayerClient;
use super::remote_recording::RemoteRecording;
use super::request_error::RequestError;
use super::told::{Known, told};
use crate::bag::{Reach, TopicId};
use crate::player::{Command, Elsewhere, Outcome, Pace, Player, Refusal, Short, Status, Transport};
use crate::time::{AtEnd, Duration, Ros, Segment, Time, TimeRange};
use crate::wire::services::messages::bagplay::{RangeRequest, StepRequest};
use crate::wire::services::messages::rosbag2::PlayRequest;
use crate::wire::services::messages::service::Stamp;

/// The reasons that the service `step` may give.
const SHORT: [Short; 5] = [
    Short::NoneAhead,
    Short::NoneBehind,
    Short::NoPath,
    Short::Replaced,
    Short::Over,
];

/// A player elsewhere.
#[derive(Debug)]
pub struct Attached<'a> {
    pub(super) client: PlayerClient<'a>,
    pub(super) recording: RemoteRecording,
    pub(super) elsewhere: Elsewhere,
    pub(super) reach: Reach,
    known: Mutex<Known>,
    pub(super) is_silent: AtomicBool,
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
        let first =
            told(&status, shift, now, None).ok_or_else(|| RequestError::unreadable(&status))?;
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

    /// The same, which waits from now on for each response for at most `timeout`.
    #[must_use]
    pub fn answering_within(mut self, timeout: StdDuration) -> Self {
        self.client = self.client.answering_within(timeout);
        self
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

    pub(super) fn carry_out(&self, command: Command) -> Result<Outcome, RequestError> {
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
                let to = here.saturating_add(by);
                return self.seek(self.recording.range.clamp(to));
            }
            Command::Step(steps) => return self.step(steps, ""),
            Command::StepTopic(topic, steps) => return self.step(steps, self.name(topic)?),
            Command::Burst(number) => return self.burst(number),
            Command::PlayUntil(time) => client.play_until(self.clock_time(time))?,
            Command::PlayFor(span) => {
                let here = segment.position(self.elsewhere.now());
                let is_reverse = segment.speed().is_reverse();
                let along = if is_reverse { -span } else { span };
                client.play_until(self.clock_time(here.saturating_add(along)))?;
            }
            Command::SetRange(range, at_end) => {
                let is_loop = at_end.unwrap_or(played.at_end) == AtEnd::Loop;
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
            Command::PlayFrom { from, until } => return self.play_from(from, until, segment),
            Command::PlayAt(_) => {
                let reason = "a later start cannot be passed on".to_owned();
                return Err(RequestError::Refused(reason));
            }
            Command::Query => {}
            Command::ServeClock(_) | Command::EndClock => {
                let reason = "its clock cannot be changed from here".to_owned();
                return Err(RequestError::Refused(reason));
            }
            Command::SkipEmpty(_) => {
                let reason = "its skipping of gaps cannot be changed from here".to_owned();
                return Err(RequestError::Refused(reason));
            }
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
        let (sent, reason) = (stepped.published, stepped.message);
        if stepped.success {
            return Ok(Outcome::Stepped { sent, short: None });
        }
        let is_it = |short: &Short| short.to_string() == reason;
        match SHORT.into_iter().find(is_it) {
            short @ Some(_) => Ok(Outcome::Stepped { sent, short }),
            None => Err(RequestError::Refused(reason)),
        }
    }

    fn burst(&self, number: u64) -> Result<Outcome, RequestError> {
        // To the service, 0 means all.
        let sent = if number == 0 {
            0
        } else {
            self.client.burst(number)?
        };
        if sent < number && !self.client.is_paused()? {
            return Err(RequestError::Refused(Refusal::NotPaused.to_string()));
        }
        // The service does not tell why there were fewer.
        let short = (sent < number).then_some(Short::NoneAhead);
        Ok(Outcome::Stepped { sent, short })
    }

    /// Jumps and plays, in one call if the service `play` can say where and until when.
    fn play_from(
        &self,
        from: Time<Ros>,
        until: Option<Time<Ros>>,
        segment: Segment,
    ) -> Result<Outcome, RequestError> {
        if let Some(request) = self.play_request(from, until, segment) {
            self.client.play(&request)?;
            return Ok(Outcome::Landed(from));
        }
        if !self.client.is_paused()? {
            return Err(RequestError::Refused(Refusal::NotPaused.to_string()));
        }
        let landed = self.seek(from)?;
        match until {
            Some(until) => self.client.play_until(self.clock_time(until))?,
            None => self.client.resume()?,
        }
        Ok(landed)
    }

    /// The request for [`Attached::play_from`]. `None` if there is none: a zero means "not given" in its fields, and a
    /// time outside the recording, or a stop behind the start, is refused.
    fn play_request(
        &self,
        from: Time<Ros>,
        until: Option<Time<Ros>>,
        segment: Segment,
    ) -> Option<PlayRequest> {
        let recording = self.recording.range;
        let is_reverse = segment.speed().is_reverse();
        let is_ahead = |until| {
            if is_reverse {
                until < from
            } else {
                until > from
            }
        };
        let offset = from.saturating_since(recording.start());
        let start_offset = Stamp::of(Time::from_nanos(offset.as_nanos()));
        let is_start = !start_offset.is_zero() || segment.entry() == from;
        let is_possible = recording.contains(from) && is_start && until.is_none_or(is_ahead);
        let stop = until.map(|until| Stamp::of(self.clock_time(until)));
        let is_sayable = start_offset.span() == Some(offset)
            && stop.is_none_or(|it| !it.is_zero() && self.log_time(it) == until);
        (is_possible && is_sayable).then(|| PlayRequest {
            start_offset,
            playback_until_timestamp: stop.unwrap_or_default(),
            ..PlayRequest::default()
        })
    }

    fn name(&self, topic: TopicId) -> Result<&str, RequestError> {
        let topic = self.recording.topics.get(topic.index());
        topic
            .map(|topic| topic.name.as_str())
            .ok_or_else(|| RequestError::Refused(Refusal::UnknownTopic.to_string()))
    }

    /// Shows what is known of the player; returns that. One thread at a time, so that nothing older is shown later.
    pub(super) fn publish_known(&self) -> Status {
        let known = self.known();
        let status = known.status();
        self.elsewhere.publish(status);
        status
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
