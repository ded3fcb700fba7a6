//! What can be asked of the player, and what it tells of itself.
//!
//! [`Command`]s cannot fail once they are built: their times and speeds are parsed at the edge.
//! [`Status`] is one small value that everybody may copy.

use crate::bag::TopicId;
use crate::time::{AtEnd, Duration, Ros, Segment, Speed, Time, TimeRange};

/// How fast messages go out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pace {
    /// At the wall instants that this factor dictates.
    At(Speed),
    /// As fast as they are taken, forwards; the clock shows the stamps of the messages.
    Max,
}

/// Something outside the player that playback waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Gate {
    /// The subscribers that were asked for.
    Subscribers,
    /// The path to the network.
    Path,
    /// The delay before the start.
    Delay,
}

/// The gates that are closed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Gates(u8);

impl Gates {
    /// None closed.
    pub const OPEN: Self = Self(0);

    const fn bit(gate: Gate) -> u8 {
        1 << gate as u8
    }

    /// With `gate` closed as well.
    #[must_use]
    pub const fn close(self, gate: Gate) -> Self {
        Self(self.0 | Self::bit(gate))
    }

    /// With `gate` open.
    #[must_use]
    pub const fn open(self, gate: Gate) -> Self {
        Self(self.0 & !Self::bit(gate))
    }

    /// Whether `gate` is closed.
    pub const fn is_closed(self, gate: Gate) -> bool {
        self.0 & Self::bit(gate) != 0
    }

    /// Whether playback may pass.
    pub const fn is_open(self) -> bool {
        self.0 == 0
    }

    /// Whether steps may pass: they need nobody to be there, but a way to whoever is.
    pub const fn lets_steps_pass(self) -> bool {
        self.open(Gate::Subscribers).open(Gate::Delay).is_open()
    }
}

/// Something to do. Times outside what is played are clamped, or widen it: see each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Play; at the end, from the start again.
    Play,
    /// Stand still.
    Pause,
    /// The other of the two.
    Toggle,
    /// Another speed; the other sign turns around where it is.
    SetPace(Pace),
    /// Jump to a time anywhere in the recording; one outside the range played widens it.
    Seek(Time<Ros>),
    /// Jump by a span of log time, as [`Command::Seek`].
    SeekBy(Duration),
    /// Pause, and publish the next so many messages in the direction of play; negative: jump to the
    /// message that many before the last one published, and publish it. Those of muted topics do not count.
    /// While [`Gate::Path`] is closed steps are refused: nothing changes, and a log line says why.
    Step(i64),
    /// Pause, and publish all up to and including the nth next message of a topic in the direction of play,
    /// the last one if there are fewer; if there is none, nothing goes out. Negative: jump to the topic's
    /// message that many before the last one published, and publish it. Refused as [`Command::Step`] is.
    StepTopic(TopicId, i64),
    /// Play, and pause on arrival at a time that lies ahead.
    PlayUntil(Time<Ros>),
    /// Play for a span of log time, and pause.
    PlayFor(Duration),
    /// Another range; a position outside is clamped into it.
    SetRange(TimeRange),
    /// Another behaviour at the end.
    SetAtEnd(AtEnd),
    /// Hand out nothing of a topic any more. It is played all the same: position and clock are no others.
    Mute(TopicId),
    /// Hand out a topic again; what it is latched to now goes first.
    Unmute(TopicId),
    /// A gate has opened.
    OpenGate(Gate),
    /// A gate has closed. Steps that it does not let pass are given up.
    CloseGate(Gate),
    /// Nothing: for the answer.
    Query,
    /// End the run, for good: no command that comes after it takes effect.
    Stop,
}

/// What playback is doing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Messages go out as they come due.
    Playing,
    /// It is meant to stand.
    Paused,
    /// It is meant to play and cannot: the read-ahead is empty.
    Starved,
    /// It is meant to play and cannot: a gate is closed.
    Gated,
    /// It is meant to play and cannot: a send blocks, or the process is kept from running. Only who looks at
    /// it from another thread sees this.
    Stalled,
    /// It stands at the exit edge.
    Ended,
    /// The run is over.
    Stopped,
}

/// What the player tells of itself: a snapshot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Status {
    /// Where playback is, at any instant.
    pub segment: Segment,
    /// What it is doing.
    pub state: State,
    /// How fast it is meant to go.
    pub pace: Pace,
    /// What it waits for.
    pub gates: Gates,
    /// Messages sent, refills not counted.
    pub sent: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Messages that went out more than [`LATE`] after their instant.
    pub late: u64,
    /// Damaged places met in the recording.
    pub damaged: u64,
    /// Times that the range was played to its end and begun again.
    pub laps: u64,
    /// Seeks that were taken: who asked for one knows by it that this status is from after it.
    pub seeks: u64,
}

/// From here on a message counts as late.
pub const LATE: Duration = Duration::from_millis(1);
