//! What a request of a viewer means for the player, and what viewers are told of its [`Status`]. Pure functions.

use foxglove::websocket::{PlaybackCommand, PlaybackControlRequest, PlaybackState, PlaybackStatus};

use crate::player::{Command, Control, Pace, Refusal, State, Status};
use crate::time::{Ros, Speed, Steady, Time, TimeRange};

/// The times of the protocol, in nanoseconds since 1970: earlier ones cannot be told.
pub(super) fn stamp(time: Time<Ros>) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(0)
}

/// The time of a stamp; one that is too late for [`Time`] is the latest.
fn time(stamp: u64) -> Time<Ros> {
    i64::try_from(stamp).map_or(Time::MAX, Time::from_nanos)
}

/// The state of the player in terms of the protocol.
pub(super) fn state(status: &Status, now: Time<Steady>) -> PlaybackState {
    let segment = status.segment;
    PlaybackState {
        status: match status.state {
            _ if is_moving(status) && status.state != State::Stalled => PlaybackStatus::Playing,
            State::Playing => PlaybackStatus::Playing,
            // A run that does not stay at the end stops there.
            State::Stopped if segment.position(now) == segment.exit() => PlaybackStatus::Ended,
            State::Paused | State::Stopped => PlaybackStatus::Paused,
            State::Starved | State::Gated | State::Stalled => PlaybackStatus::Buffering,
            State::Ended => PlaybackStatus::Ended,
        },
        current_time: stamp(segment.position(now)),
        playback_speed: factor(status),
        did_seek: false,
        request_id: None,
    }
}

/// The state before the player has started.
pub(super) fn not_started(recording: TimeRange) -> PlaybackState {
    PlaybackState {
        status: PlaybackStatus::Buffering,
        current_time: stamp(recording.start()),
        playback_speed: 1.0,
        did_seek: false,
        request_id: None,
    }
}

/// Whether the position moves, or is going to without a command. Without a schedule, reading and sending follow each
/// other many times a second, and are not told apart.
pub(super) fn is_moving(status: &Status) -> bool {
    match status.state {
        State::Playing | State::Stalled => true,
        State::Starved => !matches!(status.pace, Pace::At(_)),
        State::Paused | State::Gated | State::Ended | State::Stopped => false,
    }
}

/// The speed that viewers are told. Without a schedule it is the fastest one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the protocol has this type"
)]
pub(super) fn factor(status: &Status) -> f32 {
    match status.pace {
        Pace::At(speed) => speed.as_f64() as f32,
        Pace::Max => 1000.0,
        Pace::Follow => 1.0,
    }
}

/// What a viewer asks for, in terms of the player.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Wish {
    /// In the order in which they have to be carried out; at least one.
    pub(super) commands: Vec<Command>,
    /// The state that is to be expected. It says `buffering` until playback has jumped.
    pub(super) expected: PlaybackState,
}

/// The commands for a request, which a player in this state carries out. Speeds and times that it does not have are
/// replaced by the nearest one, and `expected` says so. `requested_speed` is that of a request on its way, whose
/// effects the status does not have yet.
pub(super) fn wish(
    request: &PlaybackControlRequest,
    status: &Status,
    (recording, now): (TimeRange, Time<Steady>),
    requested_speed: Option<f32>,
) -> Wish {
    let mut expected = state(status, now);
    let mut commands = Vec::with_capacity(3);
    let is_at_end = status.state == State::Ended;
    if let Some(requested) = request.seek_time {
        let to = recording.clamp(time(requested));
        commands.push(Command::Seek(to));
        expected.current_time = stamp(to);
    }
    let present = requested_speed.unwrap_or_else(|| factor(status));
    expected.playback_speed = present;
    if let Some(speed) = speed(request.playback_speed, present) {
        let pace = Pace::At(speed);
        commands.push(Command::SetPace(pace));
        expected.playback_speed = factor(&Status { pace, ..*status });
    }
    let is_jump = request.seek_time.is_some();
    expected.status = match request.playback_command {
        PlaybackCommand::Play if is_jump || is_at_end || !status.gates.is_open() => {
            PlaybackStatus::Buffering
        }
        PlaybackCommand::Play if expected.status == PlaybackStatus::Buffering => {
            PlaybackStatus::Buffering
        }
        PlaybackCommand::Play => PlaybackStatus::Playing,
        PlaybackCommand::Pause if is_jump => PlaybackStatus::Buffering,
        PlaybackCommand::Pause if is_at_end => PlaybackStatus::Ended,
        PlaybackCommand::Pause => PlaybackStatus::Paused,
    };
    commands.push(match request.playback_command {
        PlaybackCommand::Play => Command::Play,
        PlaybackCommand::Pause => Command::Pause,
    });
    Wish { commands, expected }
}

/// The speed to set: the nearest one that the player has; `None` if it is the present one, or none.
fn speed(requested: f32, present: f32) -> Option<Speed> {
    // Viewers repeat the speed that they were told. In this type it may differ a little from that of the player.
    if requested.is_nan() || present.to_bits() == requested.to_bits() {
        return None;
    }
    let size = f64::from(requested.abs()).clamp(0.001, 1000.0);
    // Minus zero is not a direction.
    let factor = if requested < 0.0 { -size } else { size };
    Speed::from_f64(factor).ok()
}

/// Why requests have no effect on a player in this state; `None`: they have.
pub(super) fn refusal(status: &Status, control: Control) -> Option<Refusal> {
    match (status.state, control, status.pace) {
        (State::Stopped, ..) => Some(Refusal::Over),
        (_, Control::StopOnly, _) => Some(Refusal::NotDrivable),
        // A pause can be ended.
        (state, _, Pace::Follow) if state != State::Paused => Some(Refusal::Following),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::{ClockMode, Gate, Gates, PlayedRange};
    use crate::time::{AtEnd, Segment};

    const NOW: Time<Steady> = Time::from_secs(100);

    fn recording() -> TimeRange {
        TimeRange::between(Time::from_secs(1), Time::from_secs(5))
    }

    fn status(state: State) -> Status {
        let segment =
            Segment::new(recording(), Speed::NORMAL, AtEnd::Hold).seek(Time::from_secs(2));
        Status {
            segment: if state == State::Playing {
                segment.roll(Time::from_secs(99))
            } else {
                segment
            },
            played: PlayedRange::new(recording(), AtEnd::Hold),
            state,
            pace: Pace::At(Speed::NORMAL),
            gates: Gates::OPEN,
            sent: 0,
            bytes: 0,
            late: 0,
            damaged: 0,
            laps: 0,
            seeks: 0,
            clock: ClockMode::Off,
            skip_empty: None,
        }
    }

    fn request(
        playback_command: PlaybackCommand,
        playback_speed: f32,
        seek_time: Option<u64>,
    ) -> PlaybackControlRequest {
        PlaybackControlRequest {
            playback_command,
            playback_speed,
            seek_time,
            request_id: "abc-1".to_owned(),
        }
    }

    fn at(factor: f64) -> Command {
        Command::SetPace(Pace::At(Speed::from_f64(factor).unwrap()))
    }

    #[test]
    fn seek_comes_before_speed_and_speed_before_play() {
        let seek = request(PlaybackCommand::Play, 2.5, Some(3_000_000_000));
        let wish = wish(&seek, &status(State::Paused), (recording(), NOW), None);
        let to = Command::Seek(Time::from_secs(3));
        assert_eq!(wish.commands, [to, at(2.5), Command::Play]);
        let expected = PlaybackState {
            status: PlaybackStatus::Buffering,
            current_time: 3_000_000_000,
            playback_speed: 2.5,
            did_seek: false,
            request_id: None,
        };
        assert_eq!(wish.expected, expected);
    }

    #[test]
    fn a_speed_that_the_player_does_not_have_becomes_the_nearest_one() {
        for (requested, commanded) in [
            (f32::NAN, None),
            (1.0, None),
            (0.0, Some(0.001)),
            (-0.0, Some(0.001)),
            (-1.0, Some(-1.0)),
            (-1e-9, Some(-0.001)),
            (1e9, Some(1000.0)),
            (f32::NEG_INFINITY, Some(-1000.0)),
        ] {
            let request = request(PlaybackCommand::Pause, requested, None);
            let wish = wish(&request, &status(State::Playing), (recording(), NOW), None);
            let mut commands: Vec<Command> = commanded.map(at).into_iter().collect();
            commands.push(Command::Pause);
            assert_eq!(wish.commands, commands, "{requested}");
            #[expect(clippy::cast_possible_truncation, reason = "as the protocol has it")]
            let told = commanded.unwrap_or(1.0) as f32;
            assert_eq!(wish.expected.playback_speed.to_bits(), told.to_bits());
            assert_eq!(wish.expected.status, PlaybackStatus::Paused);
            assert_eq!(wish.expected.current_time, 3_000_000_000, "it was playing");
        }
    }

    #[test]
    fn a_speed_is_set_only_if_the_player_will_not_have_it_anyway() {
        let same = request(PlaybackCommand::Play, 1.0, None);
        for (requested, commands) in [
            (None, vec![Command::Play]),
            (Some(1.0), vec![Command::Play]),
            (Some(2.0), vec![at(1.0), Command::Play]),
        ] {
            let paused = status(State::Paused);
            let wish = wish(&same, &paused, (recording(), NOW), requested);
            assert_eq!(wish.commands, commands);
            assert_eq!(wish.expected.playback_speed.to_bits(), 1.0_f32.to_bits());
        }
    }

    #[test]
    fn without_a_schedule_reading_is_playing() {
        for (pace, told) in [
            (Pace::Max, PlaybackStatus::Playing),
            (Pace::Follow, PlaybackStatus::Playing),
            (Pace::At(Speed::NORMAL), PlaybackStatus::Buffering),
        ] {
            let starved = Status {
                pace,
                ..status(State::Starved)
            };
            assert_eq!(state(&starved, NOW).status, told);
            assert_eq!(is_moving(&starved), told == PlaybackStatus::Playing);
        }
    }

    #[test]
    fn play_waits_for_closed_gates() {
        let gated = Status {
            gates: Gates::OPEN.close(Gate::Path),
            ..status(State::Paused)
        };
        let play = request(PlaybackCommand::Play, 1.0, None);
        let wish = wish(&play, &gated, (recording(), NOW), None);
        assert_eq!(wish.expected.status, PlaybackStatus::Buffering);
    }

    #[test]
    fn a_time_outside_of_the_recording_becomes_its_edge() {
        for (requested, to) in [(0, 1), (4_000_000_000, 4), (u64::MAX, 5)] {
            let request = request(PlaybackCommand::Pause, 1.0, Some(requested));
            let wish = wish(&request, &status(State::Ended), (recording(), NOW), None);
            let seek = Command::Seek(Time::from_secs(to));
            assert_eq!(wish.commands, [seek, Command::Pause]);
            assert_eq!(wish.expected.current_time, stamp(Time::from_secs(to)));
            assert_eq!(wish.expected.status, PlaybackStatus::Buffering);
        }
    }

    #[test]
    fn the_end_stays_until_play_or_a_jump() {
        let ended = status(State::Ended);
        for (command, expected) in [
            (PlaybackCommand::Pause, PlaybackStatus::Ended),
            (PlaybackCommand::Play, PlaybackStatus::Buffering),
        ] {
            let wish = wish(
                &request(command, 1.0, None),
                &ended,
                (recording(), NOW),
                None,
            );
            assert_eq!(wish.expected.status, expected);
        }
    }

    #[test]
    fn each_state_of_the_player_is_one_of_the_protocol() {
        for (of_player, of_protocol) in [
            (State::Playing, PlaybackStatus::Playing),
            (State::Paused, PlaybackStatus::Paused),
            (State::Starved, PlaybackStatus::Buffering),
            (State::Gated, PlaybackStatus::Buffering),
            (State::Stalled, PlaybackStatus::Buffering),
            (State::Ended, PlaybackStatus::Ended),
            (State::Stopped, PlaybackStatus::Paused),
        ] {
            assert_eq!(state(&status(of_player), NOW).status, of_protocol);
        }
        let stopped = status(State::Stopped);
        let stopped = Status {
            segment: stopped.segment.seek(Time::from_secs(5)),
            ..stopped
        };
        assert_eq!(state(&stopped, NOW).status, PlaybackStatus::Ended);
        assert_eq!(stamp(Time::from_secs(-1)), 0, "before 1970");
    }

    #[test]
    fn a_player_that_follows_a_clock_takes_no_requests() {
        let playing = status(State::Playing);
        let following = Status {
            pace: Pace::Follow,
            ..playing
        };
        let paused = Status {
            state: State::Paused,
            ..following
        };
        for (status, control, refused) in [
            (playing, Control::Full, None),
            (playing, Control::StopOnly, Some(Refusal::NotDrivable)),
            (following, Control::Full, Some(Refusal::Following)),
            (paused, Control::Full, None),
            (status(State::Stopped), Control::Full, Some(Refusal::Over)),
        ] {
            assert_eq!(refusal(&status, control), refused);
        }
    }
}
