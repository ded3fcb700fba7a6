//! [`Ros1Output`]: the player's output to nodes of ROS 1.

use std::fmt;
use std::sync::Arc;
use std::time::Duration as StdDuration;

use bytes::Bytes;

use super::advertiser::Advertiser;
use super::repeat::ClockRepeat;
use crate::bag::Message;
use crate::output::{Delivery, Occasion, Output};
use crate::ros1::data::publication::Publication;
use crate::ros1::event::{Events, Ros1Event};
use crate::ros1::options::SlowSubscriber;
use crate::ros1::system::steady;
use crate::time::{Duration, Motion, Ros, Segment, Time};
use crate::transcode::ToRos1;

/// Where the messages of a recorded topic go.
#[derive(Clone)]
pub(in crate::ros1) struct Route {
    pub(in crate::ros1) publication: Arc<Publication>,
    /// Makes ROS 1 messages of them, if they are of ROS 2.
    pub(in crate::ros1) transcoder: Option<Arc<ToRos1>>,
}

/// Publishes messages of ROS 1 as they are recorded, those of ROS 2 as messages of ROS 1, and the clock.
pub struct Ros1Output {
    /// By the index of the recorded topic.
    pub(in crate::ros1) routes: Vec<Option<Route>>,
    /// All topics, without the clock.
    pub(in crate::ros1) topics: Arc<[Arc<Publication>]>,
    /// The generation of the segment, once there is one.
    pub(in crate::ros1) generation: Option<u64>,
    pub(in crate::ros1) clock: Option<Arc<Publication>>,
    /// The last time, as it was sent: it is repeated while a message waits.
    pub(in crate::ros1) last_time: Bytes,
    pub(in crate::ros1) repeat: ClockRepeat,
    pub(in crate::ros1) advertiser: Advertiser,
    pub(in crate::ros1) events: Events,
    /// Whether it was told that a time cannot be sent.
    pub(in crate::ros1) has_complained: bool,
}

/// How long a jump waits until what was sent before it has been written, if the player waits for slow subscribers.
const BEFORE_JUMP: StdDuration = StdDuration::from_secs(1);
/// The same if their oldest messages are dropped.
const BEFORE_JUMP_IF_DROPPED: StdDuration = StdDuration::from_millis(100);

impl Output for Ros1Output {
    fn segment(&mut self, segment: &Segment) {
        let generation = segment.generation();
        let before = self.generation.replace(generation);
        if before.is_some_and(|before| before != generation) {
            self.jump(match segment.motion() {
                Motion::Held(at) => at,
                Motion::Rolling { from, .. } => from,
            });
        }
    }

    fn clock(&mut self, time: Time<Ros>) {
        let Some(clock) = &self.clock else {
            return;
        };
        match time.to_ros1() {
            Ok((sec, nsec)) => {
                let mut payload = [0; 8];
                payload[..4].copy_from_slice(&sec.to_le_bytes());
                payload[4..].copy_from_slice(&nsec.to_le_bytes());
                self.last_time = Bytes::copy_from_slice(&payload);
                self.repeat.sends(Some((clock, &self.last_time)));
                clock.send_volatile(&self.last_time);
            }
            Err(error) => {
                if !std::mem::replace(&mut self.has_complained, true) {
                    let warning = format!("/clock cannot show this time: {error}");
                    self.events.send(Ros1Event::Warning(warning));
                }
            }
        }
    }

    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        self.clock = match (period, self.clock.take()) {
            (None, Some(clock)) => {
                self.repeat.sends(None);
                self.advertiser.withdraw_clock(&clock);
                None
            }
            (None, None) => None,
            (Some(_), Some(clock)) => Some(clock),
            (Some(_), None) => Some(self.advertiser.advertise_clock()),
        };
        self.clock.is_some()
    }

    fn message(&mut self, message: &Message, _: Occasion) -> Delivery {
        let route = self.routes.get(message.topic.index());
        let Some(route) = route.and_then(Option::as_ref) else {
            return Delivery::Dropped;
        };
        let publication = &route.publication;
        let transcoded = match &route.transcoder {
            None => None,
            Some(transcoder) => {
                let mut payload = Vec::new();
                if let Err(error) = transcoder.transcode(&message.payload, &mut payload) {
                    if let Some(problem) = publication.counts.drop_one(&error) {
                        let (name, at) = (&publication.advertised.name, message.log_time);
                        self.events.send(Ros1Event::Warning(format!(
                            "message of {name} at {at} is skipped, and others like it: {problem}"
                        )));
                    }
                    return Delivery::Dropped;
                }
                Some(Bytes::from(payload))
            }
        };
        let mut repeat_time = || self.repeat_time();
        let source = (message.publisher, message.key);
        let payload = transcoded.as_ref().unwrap_or(&message.payload);
        publication.send(source, payload, &mut repeat_time);
        transcoded.map_or(Delivery::Sent, Delivery::Transcoded)
    }

    fn waits_elsewhere(&mut self, is_waiting: bool) {
        if self.clock.is_some() {
            self.repeat.waits_elsewhere(is_waiting, &self.events);
        }
    }

    fn finish(&mut self) {}
}

impl Ros1Output {
    /// Sends the last time again, because a message waits.
    fn repeat_time(&self) {
        let last = &self.last_time;
        if let Some(clock) = self.clock.as_ref().filter(|_| !last.is_empty()) {
            clock.send_volatile(last);
        }
    }

    /// Messages from before the jump must not arrive after the clock of the jump, which has connections of its own.
    fn jump(&self, to: Time<Ros>) {
        let patience = match self.advertiser.rules.slow_subscriber {
            SlowSubscriber::Wait => BEFORE_JUMP,
            SlowSubscriber::DropOldest => BEFORE_JUMP_IF_DROPPED,
        };
        let until = steady() + patience;
        for topic in self.topics.iter() {
            topic.jump(to, until, &mut || self.repeat_time());
        }
    }
}

impl fmt::Debug for Ros1Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topics = self.routes.iter().flatten();
        let names: Vec<&str> = topics
            .map(|it| it.publication.advertised.name.as_str())
            .collect();
        f.debug_struct("Ros1Output")
            .field("topics", &names)
            .field("clock", &self.clock.is_some())
            .finish_non_exhaustive()
    }
}
