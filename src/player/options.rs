//! How a run is set up: what the command line, a test or a program says before the first message.

use super::command::{Gates, Pace};
use crate::bag::TopicId;
use crate::time::{AtEnd, Duration, Ros, Speed, Time, TimeRange};

/// When the clock is sent.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClockOptions {
    /// On a fixed grid of wall instants this far apart.
    pub period: Option<Duration>,
    /// Right before each message of these topics, with the message's own time.
    pub before: Before,
    /// Added to every value shown: the recording's time starts elsewhere on `/clock`.
    pub shift: Duration,
}

impl ClockOptions {
    /// Whether a clock is served at all.
    pub fn is_served(&self) -> bool {
        self.period.is_some() || self.before != Before::None
    }
}

/// Which messages get a clock of their own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Before {
    /// None.
    #[default]
    None,
    /// Those of these topics.
    Topics(Vec<TopicId>),
    /// All.
    All,
}

impl Before {
    /// Whether a message of `topic` gets a clock of its own.
    pub fn covers(&self, topic: TopicId) -> bool {
        match self {
            Self::None => false,
            Self::Topics(topics) => topics.contains(&topic),
            Self::All => true,
        }
    }
}

/// What the player does when it stands at the exit edge and does not loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WhenDone {
    /// The run is over.
    #[default]
    Stop,
    /// It waits for commands.
    Stay,
}

/// Whether it starts playing by itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Intent {
    /// It does.
    #[default]
    Play,
    /// It waits for a command.
    Pause,
}

/// How a run is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the recording covers: seeks are clamped to it.
    pub recording: TimeRange,
    /// What is played, both ends included.
    pub range: TimeRange,
    /// How fast.
    pub pace: Pace,
    /// What happens at the exit edge.
    pub at_end: AtEnd,
    /// What happens after it.
    pub when_done: WhenDone,
    /// Whether it starts playing.
    pub intent: Intent,
    /// The gates that are closed at the start.
    pub gates: Gates,
    /// How long to wait before the start, in wall time.
    pub delay: Duration,
    /// The clock to serve.
    pub clock: ClockOptions,
    /// Gaps longer than this, in log time, are jumped.
    pub skip_empty: Option<Duration>,
    /// Whether latched topics are sent again after a jump.
    pub refill: bool,
    /// Whether the messages due are summed up in a digest.
    pub digest: bool,
}

impl Options {
    /// Plays a recording that covers this range once, as recorded, with no clock.
    pub fn new(recording: TimeRange) -> Self {
        Self {
            recording,
            range: recording,
            pace: Pace::At(Speed::NORMAL),
            at_end: AtEnd::Hold,
            when_done: WhenDone::Stop,
            intent: Intent::Play,
            gates: Gates::OPEN,
            delay: Duration::ZERO,
            clock: ClockOptions::default(),
            skip_empty: None,
            refill: true,
            digest: false,
        }
    }

    /// The shift that makes `/clock` start at `start` where playing starts.
    pub fn shift_to(&self, start: Time<Ros>) -> Duration {
        start.saturating_since(self.entry())
    }

    /// Where playing starts: the stop of the range if it goes backwards.
    pub fn entry(&self) -> Time<Ros> {
        match self.pace {
            Pace::At(speed) if speed.is_reverse() => self.range.stop(),
            Pace::At(_) | Pace::Max => self.range.start(),
        }
    }
}
