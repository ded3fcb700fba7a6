//! The parts of a [`Model`](super::Model) that are values of their own: what it is made from, and what it asks for.

use jiff::tz::TimeZone;

use super::axis::Axis;
use super::glyphs::Glyphs;
use super::theme::Theme;
use super::time_format::TimeFormat;
use crate::bag::{Topic, TopicId};
use crate::marks::Mark;
use crate::player::Command;
use crate::ros::Qos;
use crate::time::{Duration, Ros, Time, TimeRange};
use crate::tui::input::action::Bindings;
use crate::tui::input::goto::ReadTime;

/// What does not change while a recording is played.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What the recording covers.
    pub recording: TimeRange,
    /// What is played of it.
    pub played: TimeRange,
    /// What is shown on `/clock` is this much later.
    pub clock_shift: Duration,
    /// How `/clock` is served, in words: `40 Hz`; `None` if it is not.
    pub clock: Option<String>,
    /// The topics, by id.
    pub topics: Vec<Topic>,
    /// How typed times are read.
    pub read_time: ReadTime,
    /// The zone of this machine.
    pub zone: TimeZone,
}

/// A line of the table.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The topic.
    pub id: TopicId,
    /// Its name on the way out.
    pub name: String,
    /// Why it is not played, if it is not.
    pub left_out: Option<String>,
    /// The profile it is offered with, if the wire has such.
    pub offered: Option<Qos>,
    /// Whether somebody has muted it.
    pub is_muted: bool,
}

/// Who listens.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Audience {
    /// How many subscribe, by topic id; `None` where nobody can know.
    pub topics: Vec<Option<usize>>,
    /// How many follow `/clock`.
    pub clock: Option<usize>,
}

/// How the screen looks.
#[derive(Clone, PartialEq, Debug)]
pub struct Look {
    /// Which key does what.
    pub bindings: Bindings,
    /// Characters.
    pub glyphs: Glyphs,
    /// Colours.
    pub theme: Theme,
    /// How times are shown.
    pub face: TimeFormat,
}

/// What loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Brackets {
    /// Nothing of its own.
    #[default]
    None,
    /// A is set, B is not.
    A(Time<Ros>),
    /// From A to B.
    Ab(TimeRange),
}

/// Where a seek goes, until it has got there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) to: Time<Ros>,
    /// How many seeks the player will have taken when it has taken this one, once it was asked.
    pub(crate) ticket: Option<u64>,
}

/// What a mouse button that is down has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Drag {
    /// Scrubbing on this axis.
    Scrub(Axis),
    /// A loop from `from` to where the mouse is.
    Range {
        axis: Axis,
        from: Time<Ros>,
        to: Time<Ros>,
    },
}

/// Something to do outside.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// Ask the player.
    Command(Command),
    /// Keep a mark.
    AddMark(Mark),
    /// Forget the mark at this time.
    RemoveMark(Time<Ros>),
    /// Find out the density of this range.
    Outline(TimeRange),
    /// Draw everything anew.
    Redraw,
    /// Go to the background.
    Suspend,
    /// End the run.
    Quit,
}
