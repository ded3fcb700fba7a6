//! The parts of a [`Model`](super::Model) that are values of their own: its inputs, and the effects that it returns.

use jiff::tz::TimeZone;

use super::glyphs::Glyphs;
use super::theme::style::Theme;
use super::time_format::TimeFormat;
use super::timeline::axis::Axis;
use crate::bag::{Topic, TopicId};
use crate::find::Expression;
use crate::marks::Mark;
use crate::player::{Command, LeadMotion, PlayedRange};
use crate::ros::Qos;
use crate::time::{Duration, Ros, Steady, Time, TimeRange};
use crate::tui::input::bindings::Bindings;
use crate::tui::input::goto::ParseTime;

/// Facts that do not change during playback.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The name of the recording; empty if it has none.
    pub name: String,
    /// The range of the recording.
    pub recording: TimeRange,
    /// What is played at the start.
    pub played: PlayedRange,
    /// Whether the player runs in another process: leaving the bar does not end it.
    pub is_elsewhere: bool,
    /// The offset of `/clock`: how much later it is than the recorded time.
    pub clock_shift: Duration,
    /// How `/clock` is served, in words: `40 Hz`; `None` if it is not.
    pub clock: Option<String>,
    /// The topics, by id.
    pub topics: Vec<Topic>,
    /// How typed times are parsed.
    pub parse_time: ParseTime,
    /// The zone of this machine.
    pub zone: TimeZone,
}

/// A row of the table.
#[derive(Clone, PartialEq, Debug)]
pub struct TopicRow {
    /// The topic.
    pub id: TopicId,
    /// Its name on the network.
    pub name: String,
    /// Why it is not played, if it is not.
    pub left_out: Option<String>,
    /// The QoS profile it is offered with, if the wire has profiles.
    pub offered: Option<Qos>,
    /// Whether it is muted.
    pub is_muted: bool,
}

/// The subscribers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Subscribers {
    /// How many subscribe, by topic id; `None` where this cannot be known.
    pub topics: Vec<Option<usize>>,
    /// How many follow `/clock`.
    pub clock: Option<usize>,
}

/// The clock that playback follows.
#[derive(Clone, PartialEq, Debug)]
pub struct Followed {
    /// Its topic, as it is shown.
    pub topic: String,
    /// What it does.
    pub motion: LeadMotion,
}

/// The appearance of the screen.
#[derive(Clone, PartialEq, Debug)]
pub struct Appearance {
    /// The key bindings.
    pub bindings: Bindings,
    /// The characters.
    pub glyphs: Glyphs,
    /// The colours.
    pub theme: Theme,
    /// How times are shown.
    pub time_format: TimeFormat,
    /// Whether the mouse is used; otherwise the terminal selects text with it.
    pub has_mouse: bool,
}

/// The target of a seek, until the player has reached it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) to: Time<Ros>,
    /// The player's count of seeks once it has taken this one; `None` before it was sent.
    pub(crate) seek_number: Option<u64>,
}

/// What undoing a seek restores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Undo {
    pub(crate) to: Time<Ros>,
    pub(crate) ab_loop: Option<TimeRange>,
}

/// A drag of the mouse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Drag {
    /// Scrubbing on this axis.
    Scrub(Axis),
    /// A loop from `from` to the mouse position.
    Range {
        axis: Axis,
        from: Time<Ros>,
        to: Time<Ros>,
    },
}

/// What the rows of the table can be sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SortBy {
    Name,
    Type,
    HertzNow,
    HertzRecorded,
    Megabytes,
    Sent,
    InBag,
    Subscribers,
    Late,
}

impl SortBy {
    /// As it is named beside its direction.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Type => "type",
            Self::HertzNow => "Hz now",
            Self::HertzRecorded => "recorded Hz",
            Self::Megabytes => "MB/s",
            Self::Sent => "messages sent",
            Self::InBag => "messages in the bag",
            Self::Subscribers => "subscriptions",
            Self::Late => "late messages",
        }
    }

    /// Texts begin with the first one, numbers with the highest.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Self::Name | Self::Type)
    }
}

/// The order of the rows of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TableOrder {
    /// The topics in the order in which they are not sorted.
    pub(crate) unsorted: Vec<TopicId>,
    /// By what, and whether in reverse; `None`: not sorted.
    pub(crate) by: Option<(SortBy, Reversal)>,
    /// When they were sorted last.
    pub(crate) sorted_at: Time<Steady>,
}

/// Whether an order is the usual one of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reversal {
    Usual,
    Reversed,
}

/// Topics whose rows are highlighted for a moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lit {
    pub(crate) topics: Vec<TopicId>,
    pub(crate) until: Time<Steady>,
}

/// A place on an axis under the mouse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hover {
    pub(crate) axis: Axis,
    pub(crate) column: u16,
}

/// A part of the recording to write.
#[derive(Clone, PartialEq, Debug)]
pub struct CutRequest {
    /// Its range, both ends included.
    pub range: TimeRange,
    /// Its topics.
    pub topics: Vec<TopicId>,
    /// The path of the new file.
    pub out: String,
}

/// An effect outside of the model.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// Send a command to the player.
    Command(Command),
    /// Save a mark.
    AddMark(Mark),
    /// Delete the mark at this time.
    RemoveMark(Time<Ros>),
    /// Request the density of this range.
    Outline(TimeRange),
    /// Search for the messages that satisfy this expression.
    Find(Box<Expression>),
    /// Search no longer.
    EndFind,
    /// Redraw the whole screen.
    Redraw,
    /// Suspend the process.
    Suspend,
    /// Write a part of the recording.
    Cut(CutRequest),
    /// Copy the command line that plays on from here.
    CopyCommand,
    /// Remember the position, and end the run.
    QuitToResume,
    /// End the run as a signal does.
    Interrupt,
    /// End the run.
    Quit,
}
