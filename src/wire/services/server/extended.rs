//! The services of `bagplay_interfaces`: what those of rosbag2 cannot say.

use crate::player::{Answer, Command, Gate, Outcome, Pace, Stopped};
use crate::time::{AtEnd, Ros, Speed, Time, TimeRange};
use crate::wire::services::messages::bagplay::{
    Done, GetStatus, Landed, LoopRequest, PlayUntil, PlayerStatus, SeekTo, SetLoop, SetPace, Step,
    StepRequest, Stepped, TimeRequest,
};
use crate::wire::services::messages::service::{Failed, Stamp};

use super::handler::{Handler, Reaction};
use super::playback::{Playback, on, reason};

/// The services beside those of rosbag2.
pub(crate) fn handlers(player: &Playback) -> Vec<Handler> {
    vec![
        on::<GetStatus>(player, "get_status", |player, _| {
            Reaction::Respond(player.describe())
        }),
        on::<SetPace>(player, "set_pace", |_, request| set_pace(request.rate)),
        on::<SeekTo>(player, "seek_to", Playback::seek_to),
        on::<Step>(player, "step", |player, request| player.step(&request)),
        on::<SetLoop>(player, "set_loop", |player, request| {
            player.set_loop(&request)
        }),
        on::<PlayUntil>(player, "play_until", Playback::play_until),
    ]
}

impl Playback {
    fn stamp(&self, time: Time<Ros>) -> Stamp {
        Stamp::of(time.saturating_add(self.shift))
    }

    fn describe(&self) -> PlayerStatus {
        let Some(status) = self.transport.status() else {
            return PlayerStatus::failed("");
        };
        let (segment, now) = (status.segment, self.transport.now());
        let range = segment.range();
        PlayerStatus {
            clock: self.stamp(segment.position(now)),
            recording_start: self.stamp(self.recording.start()),
            recording_end: self.stamp(self.recording.stop()),
            range_start: self.stamp(range.start()),
            range_end: self.stamp(range.stop()),
            state: status.state.name().to_owned(),
            gates: status
                .gates
                .iter()
                .map(Gate::name)
                .map(str::to_owned)
                .collect(),
            rate: match status.pace {
                Pace::At(speed) => speed.as_f64(),
                Pace::Max => f64::INFINITY,
                Pace::Follow => f64::NAN,
            },
            is_loop: segment.at_end() == AtEnd::Loop,
            generation: segment.generation(),
            laps: status.laps,
            messages: status.sent,
            bytes: status.bytes,
            late: status.late,
        }
    }

    fn seek_to(&self, request: TimeRequest) -> Reaction<Landed> {
        let Some(time) = self.log_time(request.time) else {
            return Reaction::Respond(Landed::failed(NO_TIME));
        };
        let player = self.clone();
        let respond = move |answer: Result<Answer, Stopped>| match answer.map(|it| it.outcome) {
            Ok(Outcome::Landed(at)) => Landed {
                success: true,
                landed: player.stamp(at),
                message: String::new(),
            },
            other => Landed::failed(&reason(other)),
        };
        Reaction::Ask(vec![Command::Seek(time)], Box::new(respond))
    }

    fn step(&self, request: &StepRequest) -> Reaction<Stepped> {
        let command = if request.topic.is_empty() {
            Command::Step(request.steps)
        } else {
            let is_it = |(name, _): &&(String, _)| *name == request.topic;
            let Some((_, id)) = self.topics.iter().find(is_it) else {
                let reason = format!("{} is not played", request.topic);
                return Reaction::Respond(Stepped::failed(&reason));
            };
            Command::StepTopic(*id, request.steps)
        };
        let respond = |answer: Result<Answer, Stopped>| match answer.map(|it| it.outcome) {
            Ok(Outcome::Stepped { sent, short }) => Stepped {
                success: short.is_none(),
                published: sent,
                message: short.map_or_else(String::new, |short| short.to_string()),
            },
            other => Stepped::failed(&reason(other)),
        };
        Reaction::Ask(vec![command], Box::new(respond))
    }

    fn set_loop(&self, request: &LoopRequest) -> Reaction<Done> {
        let at = |stamp: Stamp, otherwise| {
            if stamp.is_zero() {
                return Some(otherwise);
            }
            Some(self.recording.clamp(self.log_time(stamp)?))
        };
        let (start, end) = (
            at(request.start, self.recording.start()),
            at(request.end, self.recording.stop()),
        );
        let Some((start, end)) = start.zip(end) else {
            return Reaction::Respond(Done::failed(NO_TIME));
        };
        if start > end || (request.is_loop && start == end) {
            return Reaction::Respond(Done::failed("the range has no length"));
        }
        let at_end = if request.is_loop {
            AtEnd::Loop
        } else {
            AtEnd::Hold
        };
        let range = TimeRange::between(start, end);
        let is_same = self
            .transport
            .status()
            .is_some_and(|status| status.segment.range() == range);
        // A new range is a jump, which nobody asked for if it is the same.
        let range = (!is_same).then_some(Command::SetRange(range));
        let commands = range.into_iter().chain([Command::SetAtEnd(at_end)]);
        Reaction::Ask(commands.collect(), Box::new(done))
    }

    fn play_until(&self, request: TimeRequest) -> Reaction<Done> {
        match self.log_time(request.time) {
            Some(time) => Reaction::Ask(vec![Command::PlayUntil(time)], Box::new(done)),
            None => Reaction::Respond(Done::failed(NO_TIME)),
        }
    }
}

const NO_TIME: &str = "the nanoseconds of the time are a second or more";

fn set_pace(rate: f64) -> Reaction<Done> {
    let pace = if rate == f64::INFINITY {
        Ok(Pace::Max)
    } else {
        Speed::from_f64(rate).map(Pace::At)
    };
    match pace {
        Ok(pace) => Reaction::Ask(vec![Command::SetPace(pace)], Box::new(done)),
        Err(error) => Reaction::Respond(Done::failed(&error.to_string())),
    }
}

fn done(answer: Result<Answer, Stopped>) -> Done {
    match answer.map(|answer| answer.outcome) {
        Ok(Outcome::Done | Outcome::Landed(_)) => Done {
            success: true,
            message: String::new(),
        },
        other => Done::failed(&reason(other)),
    }
}
