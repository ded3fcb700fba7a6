//! [`Attached`]: a player elsewhere behind an ordinary [`Transport`], as a screen needs it. It passes on commands as calls
//! of services, and asks again and again what the player is doing.
//!
//! The player tells times of its clock; here all times are log time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::player::PlayerClient;
use super::remote_recording::RemoteRecording;
use super::request_error::RequestError;
use super::told::{Known, told};
use crate::bag::{Reach, TopicId};
use crate::player::{Command, Elsewhere, Outcome, Pace, Player, Refusal, Transport};
use crate::time::{AtEnd, Duration, Ros, Time, TimeRange};
use crate::wire::services::messages::bagplay::{LoopRequest, StepRequest};
use crate::wire::services::messages::service::Stamp;

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
        let first = told(&status, shift, now, None).ok_or_else(RequestError::unreadable)?;
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

    /// The log time of a time of the player's clock; `None` if its nanoseconds are a second or more.
    pub fn log_time(&self, clock: Stamp) -> Option<Time<Ros>> {
        let time = clock.time()?;
        Some(time.saturating_sub(self.recording.clock_shift))
    }

    pub(super) fn carry_out(&self, command: Command) -> Result<Outcome, RequestError> {
        let client = &self.client;
        let segment = self.known().status().segment;
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
            Command::SetRange(range) => self.set_loop(range, segment.at_end())?,
            Command::SetAtEnd(at_end) => self.set_loop(segment.range(), at_end)?,
            Command::SetLoop(range, at_end) => self.set_loop(range, at_end)?,
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

    fn set_loop(&self, range: TimeRange, at_end: AtEnd) -> Result<(), RequestError> {
        self.client.set_loop(&LoopRequest {
            is_loop: at_end == AtEnd::Loop,
            start: Stamp::of(self.clock_time(range.start())),
            end: Stamp::of(self.clock_time(range.stop())),
        })
    }

    fn name(&self, topic: TopicId) -> Result<&str, RequestError> {
        let topic = self.recording.topics.get(topic.index());
        topic
            .map(|topic| topic.name.as_str())
            .ok_or_else(|| RequestError::Refused(Refusal::UnknownTopic.to_string()))
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
