//! The services of `rosbag2_player`: what each does with the player. Their responses tell what has really happened.

use std::sync::Arc;

use crate::bag::TopicId;
use crate::player::{Answer, Command, Outcome, Pace, State, Status, Stopped, Transport};
use crate::time::{Duration, Ros, Speed, Time, TimeRange};
use crate::wire::net::now::unix_nanos;
use crate::wire::services::messages::rosbag2::{
    Burst, BurstRequest, BurstResponse, GetRate, IsPaused, Pause, Paused, Play, PlayNext,
    PlayRequest, Rate, Resume, ResumeAt, ResumeRequest, Seek, SeekRequest, SetRate, Stop,
    StopWithVerdict, Success, TogglePaused, Verdict,
};
use crate::wire::services::messages::service::{Empty, Failed, Service, Stamp};

use super::asked::Asked;
use super::handler::{Handler, Reaction};

/// The player behind the services.
#[derive(Clone, Debug)]
pub(crate) struct Playback {
    pub(crate) transport: Transport,
    /// The whole recording.
    pub(crate) recording: TimeRange,
    /// Added to log time to get the time of the clock, which is the time in all requests.
    pub(crate) shift: Duration,
    /// The names under which topics are played.
    pub(crate) topics: Arc<[(String, TopicId)]>,
    /// When the status was asked for.
    pub(crate) asked: Asked,
}

impl Playback {
    fn state(&self) -> Option<State> {
        self.transport.status().map(|status| status.state)
    }

    /// Whether playback is held until a command starts it.
    fn is_paused(&self) -> bool {
        matches!(self.state(), Some(State::Paused | State::Ended) | None)
    }

    pub(crate) fn log_time(&self, stamp: Stamp) -> Option<Time<Ros>> {
        Some(stamp.time()?.saturating_add(-self.shift))
    }

    fn seek(&self, request: SeekRequest) -> Reaction<Success> {
        match self.log_time(request.time) {
            Some(time) => ask(vec![Command::Seek(time)]),
            None => refused(),
        }
    }

    /// Resumes playback at the time of the request, a time of this machine's system clock: the node follows no clock.
    /// It is converted once: a system clock that is set later does not move the start.
    fn resume(&self, request: &ResumeRequest) -> Reaction<Verdict> {
        let code = |return_code, error: &str| {
            Reaction::Respond(Verdict {
                return_code,
                error_string: error.to_owned(),
            })
        };
        if request.resume_mode != 0 {
            return code(
                1,
                "a player resumes by the node's time only (resume_mode 0)",
            );
        }
        if !request.tracking_topic_name.is_empty() {
            return code(2, "a player tracks no topic");
        }
        let Some(at) = request.resume_time.time() else {
            return code(3, "the nanoseconds of resume_time are a second or more");
        };
        if at.as_nanos() > unix_nanos() {
            let wait = Duration::from_nanos(at.as_nanos().saturating_sub(unix_nanos()));
            let command = Command::PlayAt(self.transport.now().saturating_add(wait));
            return self.resume_by(command);
        }
        self.resume_by(Command::Play)
    }

    fn resume_by(&self, command: Command) -> Reaction<Verdict> {
        let transport = self.transport.clone();
        let respond = move |answer: Result<Answer, Stopped>| match answer.map(|it| it.outcome) {
            Ok(outcome) if is_carried_out(outcome) => Verdict::default(),
            other => Verdict::failed(&reason(&transport, other)),
        };
        Reaction::Ask(vec![command], Box::new(respond))
    }

    /// Seeks, and plays up to the limits of the request.
    fn play(&self, request: PlayRequest) -> Reaction<Success> {
        let Some(status) = self.transport.status() else {
            return refused();
        };
        match play_from(&request, &status, self.recording, self.shift) {
            Some(command) => ask(vec![command]),
            None => refused(),
        }
    }
}

/// The services of a player.
pub(crate) fn handlers(player: &Playback) -> Vec<Handler> {
    vec![
        on::<Pause>(player, "pause", |_, _| done(Command::Pause)),
        on::<Resume>(player, "resume", |_, _| done(Command::Play)),
        on::<ResumeAt>(player, "resume", |player, request| player.resume(&request)),
        on::<TogglePaused>(player, "toggle_paused", |_, _| done(Command::Toggle)),
        on::<IsPaused>(player, "is_paused", |player, _| {
            let paused = player.is_paused();
            Reaction::Respond(Paused { paused })
        }),
        on::<GetRate>(player, "get_rate", |player, _| {
            let rate = player.transport.status().map_or(0.0, rate);
            Reaction::Respond(Rate { rate })
        }),
        on::<SetRate>(player, "set_rate", |_, Rate { rate }| set_rate(rate)),
        on::<Play>(player, "play", Playback::play),
        on::<PlayNext>(player, "play_next", |_, _| play_next()),
        on::<Burst>(player, "burst", |_, request| burst(request)),
        on::<Seek>(player, "seek", Playback::seek),
        on::<Stop>(player, "stop", |_, _| done(Command::Stop)),
        on::<StopWithVerdict>(player, "stop", |_, _| {
            Reaction::Ask(vec![Command::Stop], Box::new(stopped))
        }),
    ]
}

pub(crate) fn on<S: Service>(
    player: &Playback,
    name: &'static str,
    react: fn(&Playback, S::Request) -> Reaction<S::Response>,
) -> Handler
where
    S::Request: 'static,
    S::Response: Failed + 'static,
{
    let player = player.clone();
    Handler::new::<S>(name, move |request| react(&player, request))
}

/// A command whose service has no way to report that it was refused.
fn done(command: Command) -> Reaction<Empty> {
    Reaction::Ask(vec![command], Box::new(|_| Empty::default()))
}

/// As in rosbag2, 0 and less are refused. Infinity means as fast as possible.
fn set_rate(rate: f64) -> Reaction<Success> {
    let pace = if rate == f64::INFINITY {
        Some(Pace::Max)
    } else {
        let speed = Speed::from_f64(rate).ok();
        speed.filter(|_| rate > 0.0).map(Pace::At)
    };
    match pace {
        Some(pace) => ask(vec![Command::SetPace(pace)]),
        None => refused(),
    }
}

fn play_next() -> Reaction<Success> {
    let respond = |answer| Success {
        success: steps(answer) > 0,
    };
    Reaction::Ask(vec![Command::Burst(1)], Box::new(respond))
}

fn burst(request: BurstRequest) -> Reaction<BurstResponse> {
    let number = match request.num_messages {
        0 => u64::MAX,
        number => number,
    };
    let respond = |answer| BurstResponse {
        actually_burst: steps(answer),
    };
    Reaction::Ask(vec![Command::Burst(number)], Box::new(respond))
}

fn stopped(answer: Result<Answer, Stopped>) -> Verdict {
    match answer {
        Ok(answer) if is_carried_out(answer.outcome) => Verdict::default(),
        _ => Verdict {
            return_code: 1,
            error_string: "Player is already stopped.".to_owned(),
        },
    }
}

/// The rate to report: negative backwards, infinite for [`Pace::Max`], 0 while another clock is followed.
fn rate(status: Status) -> f64 {
    match status.pace {
        Pace::At(speed) => speed.as_f64(),
        Pace::Max => f64::INFINITY,
        Pace::Follow => 0.0,
    }
}

/// What [`Play`] requests. Without limits, the range is played from one edge to the other. If both limits are given,
/// the earlier one counts. `None` if a field is invalid, or if nothing lies between start and limit.
fn play_from(
    request: &PlayRequest,
    status: &Status,
    recording: TimeRange,
    shift: Duration,
) -> Option<Command> {
    let PlayRequest {
        start_offset,
        playback_duration,
        playback_until_timestamp,
    } = request;
    let (offset, duration) = (start_offset.span()?, playback_duration.span()?);
    let until = playback_until_timestamp.time()?;
    if offset < Duration::ZERO || duration < Duration::ZERO {
        return None;
    }
    let start = if start_offset.is_zero() {
        status.segment.entry()
    } else {
        recording.start().saturating_add(offset)
    };
    let is_reverse = status.segment.speed().is_reverse();
    let along = if is_reverse { -duration } else { duration };
    let limits = [
        (!playback_duration.is_zero()).then(|| start.saturating_add(along)),
        (!playback_until_timestamp.is_zero()).then(|| until.saturating_add(-shift)),
    ];
    let limits = limits.into_iter().flatten();
    let until = if is_reverse {
        limits.max()
    } else {
        limits.min()
    };
    let is_ahead = |until| {
        if is_reverse {
            until < start
        } else {
            until > start
        }
    };
    let is_possible = recording.contains(start) && until.is_none_or(is_ahead);
    is_possible.then_some(Command::PlayFrom { from: start, until })
}

/// Why a command was not carried out.
pub(crate) fn reason(transport: &Transport, outcome: Result<Outcome, Stopped>) -> String {
    match outcome {
        Ok(Outcome::Refused(refusal)) => refusal.in_words(transport.lead().name().as_deref()),
        Ok(Outcome::Stepped { short, .. }) => {
            short.map_or_else(String::new, |short| short.to_string())
        }
        Ok(Outcome::Done | Outcome::Landed(_)) => String::new(),
        Err(stopped) => stopped.to_string(),
    }
}

/// Whether a command with this outcome took effect.
fn is_carried_out(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Done | Outcome::Landed(_))
}

/// How many messages were published.
fn steps(answer: Result<Answer, Stopped>) -> u64 {
    match answer.map(|answer| answer.outcome) {
        Ok(Outcome::Stepped { sent, .. }) => sent,
        _ => 0,
    }
}

/// Commands whose success is the response.
fn ask(commands: Vec<Command>) -> Reaction<Success> {
    let respond = |answer: Result<Answer, Stopped>| Success {
        success: answer.is_ok_and(|answer| is_carried_out(answer.outcome)),
    };
    Reaction::Ask(commands, Box::new(respond))
}

fn refused() -> Reaction<Success> {
    Reaction::Respond(Success { success: false })
}
