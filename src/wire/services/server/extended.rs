//! The services of `bagplay_interfaces`: what those of rosbag2 cannot do.

use crate::player::{Answer, Command, Gate, Outcome, Pace, State, Status, Stopped, Transport};
use crate::time::{AtEnd, Duration, Ros, Speed, Time, TimeRange};
use crate::wire::services::messages::bagplay::{
    Done, GetStatus, Landed, PlayUntil, PlayerStatus, RangeRequest, SeekTo, SetLoop, SetPace,
    SetRange, Step, StepRequest, Stepped, TimeRequest,
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
        on::<SetPace>(player, "set_pace", |player, request| {
            player.set_pace(request.rate)
        }),
        on::<SeekTo>(player, "seek_to", Playback::seek_to),
        on::<Step>(player, "step", |player, request| player.step(&request)),
        on::<SetRange>(player, "set_range", |player, request| {
            player.set_range(&request)
        }),
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
        self.asked.at(now, status.state == State::Stopped);
        let (range, ab_loop) = (status.played.range, status.played.ab_loop);
        let loop_edge = |edge: fn(TimeRange) -> Time<Ros>| {
            ab_loop.map_or_else(Stamp::default, |ab| self.stamp(edge(ab)))
        };
        PlayerStatus {
            clock: self.stamp(segment.position(now)),
            recording_start: self.stamp(self.recording.start()),
            recording_end: self.stamp(self.recording.stop()),
            range_start: self.stamp(range.start()),
            range_end: self.stamp(range.stop()),
            has_ab_loop: ab_loop.is_some(),
            loop_start: loop_edge(TimeRange::start),
            loop_end: loop_edge(TimeRange::stop),
            state: if self.is_held(&status) {
                PlayerStatus::HELD.to_owned()
            } else {
                status.state.name().to_owned()
            },
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
            followed: self.followed(status.pace),
            is_loop: status.played.at_end == AtEnd::Loop,
            generation: segment.generation(),
            laps: status.laps,
            messages: status.sent,
            bytes: status.bytes,
            late: status.late,
            damaged: status.damaged,
        }
    }

    /// Whether playback is held only because the clock that it follows stands.
    fn is_held(&self, status: &Status) -> bool {
        let is_following = status.pace == Pace::Follow && status.state == State::Playing;
        is_following && self.transport.lead().stands()
    }

    /// The name of the clock that is followed; empty if none is, or if it has no name.
    fn followed(&self, pace: Pace) -> String {
        let name = self.transport.lead().name();
        let name = name.filter(|_| pace == Pace::Follow);
        name.as_deref().unwrap_or_default().to_owned()
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
            other => Landed::failed(&reason(&player.transport, other)),
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
        let transport = self.transport.clone();
        let respond = move |answer: Result<Answer, Stopped>| match answer.map(|it| it.outcome) {
            Ok(Outcome::Stepped { sent, short }) => Stepped {
                success: short.is_none(),
                published: sent,
                message: short.map_or_else(String::new, |short| short.to_string()),
            },
            other => Stepped::failed(&reason(&transport, other)),
        };
        Reaction::Ask(vec![command], Box::new(respond))
    }

    fn set_range(&self, request: &RangeRequest) -> Reaction<Done> {
        let at_end = AtEnd::from_loop(request.is_loop);
        if request.start.is_zero() && request.end.is_zero() {
            return self.ask(vec![Command::SetAtEnd(at_end)]);
        }
        match self.range(request) {
            Ok(range) => self.ask(vec![Command::SetRange(range, Some(at_end))]),
            Err(reason) => Reaction::Respond(Done::failed(reason)),
        }
    }

    fn set_loop(&self, request: &RangeRequest) -> Reaction<Done> {
        if !request.is_loop {
            return self.ask(vec![Command::EndLoop]);
        }
        match self.range(request) {
            Ok(range) if range.duration() == Duration::ZERO => {
                let is_outside = request.start != request.end && !request.end.is_zero();
                Reaction::Respond(Done::failed(if is_outside {
                    "the loop is outside of the recording"
                } else {
                    "the loop has no length"
                }))
            }
            Ok(range) => self.ask(vec![Command::SetLoop(range)]),
            Err(reason) => Reaction::Respond(Done::failed(reason)),
        }
    }

    /// The range of a request within the recording; an edge that is zero is that of the recording.
    fn range(&self, request: &RangeRequest) -> Result<TimeRange, &'static str> {
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
        let (start, end) = start.zip(end).ok_or(NO_TIME)?;
        if start > end {
            return Err("the range ends before it begins");
        }
        Ok(TimeRange::between(start, end))
    }

    fn play_until(&self, request: TimeRequest) -> Reaction<Done> {
        match self.log_time(request.time) {
            Some(time) => self.ask(vec![Command::PlayUntil(time)]),
            None => Reaction::Respond(Done::failed(NO_TIME)),
        }
    }

    fn set_pace(&self, rate: f64) -> Reaction<Done> {
        let pace = if rate == f64::INFINITY {
            Ok(Pace::Max)
        } else {
            Speed::from_f64(rate).map(Pace::At)
        };
        match pace {
            Ok(pace) => self.ask(vec![Command::SetPace(pace)]),
            Err(error) => Reaction::Respond(Done::failed(&error.to_string())),
        }
    }

    fn ask(&self, commands: Vec<Command>) -> Reaction<Done> {
        done_by(&self.transport, commands)
    }
}

/// Commands whose success is the response, with the reason if there was none.
pub(super) fn done_by(transport: &Transport, commands: Vec<Command>) -> Reaction<Done> {
    let transport = transport.clone();
    let respond = move |answer: Result<Answer, Stopped>| match answer.map(|it| it.outcome) {
        Ok(Outcome::Done | Outcome::Landed(_)) => Done {
            success: true,
            message: String::new(),
        },
        other => Done::failed(&reason(&transport, other)),
    };
    Reaction::Ask(commands, Box::new(respond))
}

const NO_TIME: &str = "the nanoseconds of the time are a second or more";
