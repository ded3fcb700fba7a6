//! What the player can be asked to do, and what it reports.
//!
//! [`Command`]s cannot fail once they are built: times and speeds are parsed before. [`Status`] is one small
//! value that may be copied freely.

use std::fmt;

use super::level::gates::Gates;
use super::played_range::PlayedRange;
use crate::bag::TopicId;
use crate::time::{AtEnd, Duration, Ros, Segment, Speed, Steady, Time, TimeRange, hertz};

/// How fast messages are sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pace {
    /// At the wall instants that follow from this speed.
    At(Speed),
    /// As fast as the output takes them, forwards; the clock shows the times of the messages.
    Max,
    /// With another clock: each message is sent when that clock has reached its time. See
    /// [`LeadHandle`](super::level::lead::LeadHandle).
    Follow,
}

/// A command. Times outside the range are clamped to it or extend it, as stated for each command. While another clock
/// is followed ([`Pace::Follow`]), commands that would move or hold playback are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Play; at the end of the range, from its start again.
    Play,
    /// Play at this instant of [`Transport::now`](super::Transport::now), as [`Command::Play`] does then. A command
    /// that plays, pauses or steps before that instant replaces it.
    PlayAt(Time<Steady>),
    /// Jump to `from`, as [`Command::Seek`] does, and play from there, up to `until` if it is given, as
    /// [`Command::PlayUntil`] does. Refused unless playback is paused or at its end.
    PlayFrom {
        /// Where to begin.
        from: Time<Ros>,
        /// Where to pause; `None`, or a time that is not reached within the range: at its end.
        until: Option<Time<Ros>>,
    },
    /// Pause.
    Pause,
    /// Pause if playing, otherwise play.
    Toggle,
    /// Change the pace; a speed of the other sign reverses the direction at the current position.
    SetPace(Pace),
    /// Jump to a time anywhere in the recording; a time outside the range extends it to that edge of the
    /// recording. A time outside the recording leads to that edge; no message follows on a time that lies behind all of
    /// them in the direction of play. A time outside an A–B loop ends that loop.
    Seek(Time<Ros>),
    /// Jump by a span of log time, to the edge of the recording at most; otherwise as [`Command::Seek`].
    SeekBy(Duration),
    /// Pause, and publish that many of the next messages in the direction of play. Negative: jump to the message that
    /// many before the last one published, and publish it. Messages of muted topics do not count. While
    /// [`Gate::Path`](super::level::gates::Gate::Path) is closed, steps are refused.
    Step(i64),
    /// Publish that many of the next messages at once, while paused; refused while playing, and otherwise under the
    /// same condition as [`Command::Step`].
    Burst(u64),
    /// Pause, and publish all messages up to and including the nth next message of a topic in the direction of
    /// play, or its last one if there are fewer. If there is none, nothing is published. Negative: jump to the
    /// topic's message that many before the last one published, and publish it. Refused under the
    /// same condition as [`Command::Step`].
    StepTopic(TopicId, i64),
    /// Play, and pause on arrival at this time. A time that lies behind pauses at once.
    PlayUntil(Time<Ros>),
    /// Play for a span of log time, then pause.
    PlayFor(Duration),
    /// Change the range that is played and, if it is given, what happens at the exit edge, in one step. A position
    /// outside is clamped into it. An A–B loop ends.
    SetRange(TimeRange, Option<AtEnd>),
    /// Change what happens at the exit edge of the range. An A–B loop goes on.
    SetAtEnd(AtEnd),
    /// Begin an A–B loop: play only this range, again and again; a position outside is clamped into it. It replaces an
    /// A–B loop that there is. If a lap takes no time and has no message, playback pauses at its end.
    SetLoop(TimeRange),
    /// End the A–B loop, if there is one: from here on the range is played again. If the position is outside of the
    /// range, this is extended to that edge of the recording.
    EndLoop,
    /// Stop publishing a topic. Its messages are still processed, so position and clock do not change.
    Mute(TopicId),
    /// Publish a topic again, beginning with its latched state.
    Unmute(TopicId),
    /// Serve the clock with this period from now on. Refused if it is served with messages
    /// ([`ClockMode::WithMessages`]).
    ServeClock(Duration),
    /// Serve no clock from now on. Refused under the same condition.
    EndClock,
    /// Skip gaps that are longer than this from now on, in log time; `None`: skip none.
    SkipEmpty(Option<Duration>),
    /// No effect; asks for the status.
    Query,
    /// End the run for good: no later command takes effect.
    Stop,
}

/// What playback is doing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Messages are sent when they are due.
    Playing,
    /// Paused: at the start, by a command, or at the stop of [`Command::PlayUntil`].
    Paused,
    /// The intent is to play, but the read-ahead is empty.
    Starved,
    /// The intent is to play, but a gate is closed.
    Gated,
    /// The intent is to play, but a send blocks or the process does not run. Seen only from other threads.
    Stalled,
    /// Held at the exit edge.
    Ended,
    /// The run is over.
    Stopped,
}

impl State {
    const ALL: [Self; 7] = [
        Self::Playing,
        Self::Paused,
        Self::Starved,
        Self::Gated,
        Self::Stalled,
        Self::Ended,
        Self::Stopped,
    ];

    /// The state with this [`State::name`].
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// One word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Playing => "playing",
            Self::Paused => "paused",
            Self::Starved => "starved",
            Self::Gated => "gated",
            Self::Stalled => "stalled",
            Self::Ended => "ended",
            Self::Stopped => "stopped",
        }
    }
}

/// How the clock of a run is served now.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ClockMode {
    /// It is not served.
    #[default]
    Off,
    /// On a fixed grid of wall instants with this period. Commands can change the period and end it.
    Every(Duration),
    /// With messages, or at steps of log time; also on a grid with this period, if there is one. It stays as it was at
    /// the start.
    WithMessages(Option<Duration>),
}

impl ClockMode {
    /// Whether the clock is served.
    pub const fn is_served(self) -> bool {
        !matches!(self, Self::Off)
    }
}

/// As `40 Hz`, `by message`, `off`.
impl fmt::Display for ClockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Every(period) | Self::WithMessages(Some(period)) => {
                write!(f, "{} Hz", hertz(*period))
            }
            Self::WithMessages(None) => f.write_str("by message"),
        }
    }
}

/// A typed frequency of a clock, in Hz: from 0.001 to 100000; otherwise the reason why it is none.
pub fn parse_clock_hz(text: &str) -> Result<f64, &'static str> {
    match text.parse::<f64>() {
        Ok(hz) if (0.001..=100_000.0).contains(&hz) => Ok(hz),
        _ => Err("the rate of /clock is 0.001 to 100000 Hz"),
    }
}

/// What the player reports: a snapshot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Status {
    /// The position of playback, for any instant. Its range and what happens at the exit edge are those of
    /// [`PlayedRange::current`].
    pub segment: Segment,
    /// What is played.
    pub played: PlayedRange,
    /// What playback is doing.
    pub state: State,
    /// How fast it should play.
    pub pace: Pace,
    /// The gates, each open or closed.
    pub gates: Gates,
    /// Messages sent, without refills.
    pub sent: u64,
    /// Payload bytes of those messages.
    pub bytes: u64,
    /// Messages that were sent more than [`LATE`](super::report::lateness::LATE) after they were due.
    pub late: u64,
    /// Damaged places of the recording that are known: found when it was opened, or met since by any of its readers.
    /// Each counts once.
    pub damaged: u64,
    /// How often the range was played to its end and started again.
    pub laps: u64,
    /// Seeks taken. A caller that sent a seek can tell from it whether this status is from after the seek.
    pub seeks: u64,
    /// How the clock is served. Of a player in another process this is not known: [`ClockMode::Off`].
    pub clock: ClockMode,
    /// Gaps longer than this are skipped. Of a player in another process this is not known: `None`.
    pub skip_empty: Option<Duration>,
}

/// The state of a run, as far as a later run can begin with it.
#[derive(Clone, PartialEq, Debug)]
pub struct RunState {
    /// The range of the recording.
    pub recording: TimeRange,
    /// What is played, with the changes that were requested.
    pub played: PlayedRange,
    /// Where playing goes on; `None`: where what is played begins.
    pub position: Option<Time<Ros>>,
    /// How fast it plays.
    pub pace: Pace,
    /// Whether playback is paused, or was before the run ended.
    pub is_paused: bool,
    /// How `/clock` is served.
    pub clock: ClockMode,
    /// How much later `/clock` is than the recorded time.
    pub clock_shift: Duration,
    /// Gaps longer than this are skipped.
    pub skip_empty: Option<Duration>,
    /// The recorded names of the topics that are muted; empty if nothing else is played.
    pub muted: Vec<String>,
}
