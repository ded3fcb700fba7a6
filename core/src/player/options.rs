//! How a run is set up: what the command line, a test or another program sets before the start.

use super::command::{ClockMode, Pace};
use super::level::gates::Gates;
use super::played_range::PlayedRange;
use super::thread::priority::Scheduling;
use super::thread::waiter::Spin;
use crate::bag::TopicId;
use crate::time::{AtEnd, Duration, Ros, Speed, Time, TimeRange};

/// When the clock is sent.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClockOptions {
    /// On a fixed grid of wall instants with this period.
    pub period: Option<Duration>,
    /// At each multiple of these spans of log time, counted from where playing starts: in order with the messages,
    /// before those of the same time, at any pace. If the output holds playback at each of them, timers of its
    /// subscribers fire exactly.
    pub steps: Vec<Duration>,
    /// Directly before each message of these topics, with the time at which the message is played.
    pub before: Before,
    /// Added to log time to get the time of the clock: to every value sent, so that `/clock` can start at another time
    /// than the recording. Of a clock that is followed, how much later it is than log time.
    pub shift: Duration,
}

impl ClockOptions {
    /// Whether a clock is served at all.
    pub fn is_served(&self) -> bool {
        self.mode().is_served()
    }

    /// How a clock is served.
    pub fn mode(&self) -> ClockMode {
        match self.period {
            period if !self.steps.is_empty() || self.before != Before::None => {
                ClockMode::WithMessages(period)
            }
            Some(period) => ClockMode::Every(period),
            None => ClockMode::Off,
        }
    }
}

/// Which messages have a clock message of their own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Before {
    /// None.
    #[default]
    None,
    /// Messages of these topics.
    Topics(Vec<TopicId>),
    /// All.
    All,
}

impl Before {
    /// Whether a message of `topic` has a clock message of its own.
    #[inline]
    pub fn covers(&self, topic: TopicId) -> bool {
        match self {
            Self::None => false,
            Self::Topics(topics) => topics.contains(&topic),
            Self::All => true,
        }
    }
}

/// What the player does at the exit edge if it does not loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WhenDone {
    /// The run ends.
    #[default]
    Stop,
    /// The player waits for commands.
    Stay,
}

/// Whether the player should play or pause.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Intent {
    /// Play.
    #[default]
    Play,
    /// Pause, until a command.
    Pause,
}

/// What commands may change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Control {
    /// Everything.
    #[default]
    Full,
    /// Nothing but the end of the run: every other command except [`Command::Query`](super::Command::Query) is
    /// refused. For a clock that shows the time of the machine.
    StopOnly,
}

/// How a run is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The range of the whole recording; seeks are clamped to it.
    pub recording: TimeRange,
    /// What is played at the start.
    pub played: PlayedRange,
    /// Where playing starts, clamped into the range: also where it starts again when
    /// [`Command::Play`](super::Command::Play) comes at the exit edge. `None`: at the edge of the range from which it
    /// plays.
    pub start: Option<Time<Ros>>,
    /// Where playing begins once, clamped into the range; `None`: as `start` says.
    pub begin_at: Option<Time<Ros>>,
    /// How fast to play.
    pub pace: Pace,
    /// What the player does at the exit edge if it does not loop.
    pub when_done: WhenDone,
    /// Whether playing starts without a command.
    pub intent: Intent,
    /// The gates that are closed at the start, besides those that were closed through a
    /// [`GateHandle`](super::level::gates::GateHandle).
    pub gates: Gates,
    /// What commands may change.
    pub control: Control,
    /// How long to wait before the start, in wall time.
    pub delay: Duration,
    /// The clock to serve.
    pub clock: ClockOptions,
    /// Gaps longer than this, in log time, are skipped.
    pub skip_empty: Option<Duration>,
    /// Whether latched messages are sent again after a jump.
    pub refill: bool,
    /// Whether a digest of the messages is computed.
    pub digest: bool,
    /// How much processor time may be spent to send on time.
    pub spin: Spin,
    /// How the system schedules the player's thread.
    pub scheduling: Scheduling,
}

impl Options {
    /// Plays a recording of this range once, at its recorded speed, without a clock.
    pub fn new(recording: TimeRange) -> Self {
        Self {
            recording,
            played: PlayedRange::new(recording, AtEnd::Hold),
            start: None,
            begin_at: None,
            pace: Pace::At(Speed::NORMAL),
            when_done: WhenDone::Stop,
            intent: Intent::Play,
            gates: Gates::OPEN,
            control: Control::Full,
            delay: Duration::ZERO,
            clock: ClockOptions::default(),
            skip_empty: None,
            refill: true,
            digest: false,
            spin: Spin::default(),
            scheduling: Scheduling::default(),
        }
    }

    /// The shift with which `/clock` begins at `start`.
    pub fn shift_to(&self, start: Time<Ros>) -> Duration {
        start.saturating_since(self.entry())
    }

    /// Where playing starts: if nothing else is set, at the start of the range, or at its end if it plays in reverse.
    pub fn entry(&self) -> Time<Ros> {
        let (range, _) = self.played.current();
        match (self.start, self.pace) {
            (Some(start), _) => range.clamp(start),
            (None, Pace::At(speed)) if speed.is_reverse() => range.stop(),
            (None, Pace::At(_) | Pace::Max | Pace::Follow) => range.start(),
        }
    }

    /// Where playing begins the first time.
    pub fn beginning(&self) -> Time<Ros> {
        let (range, _) = self.played.current();
        self.begin_at
            .map_or_else(|| self.entry(), |at| range.clamp(at))
    }
}
