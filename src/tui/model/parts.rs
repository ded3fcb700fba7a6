//! The parts of a [`Model`](super::Model) that are values of their own: its inputs, and the effects that it returns.

use jiff::tz::TimeZone;

use super::glyphs::Glyphs;
use super::theme::style::Theme;
use super::time_format::TimeFormat;
use super::timeline::axis::Axis;
use crate::bag::{Topic, TopicId};
use crate::find::Expression;
use crate::marks::Mark;
use crate::player::{ClockMode, Command, LeadMotion, PlayedRange};
use crate::ros::Qos;
use crate::time::{Duration, Ros, Steady, Time, TimeRange};
use crate::tui::input::bindings::Bindings;
use crate::tui::input::goto::ParseTime;
use crate::tui::input::key::Key;
use crate::tui::pictures::style::PictureStyle;

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
    /// How `/clock` is served at the start. Of a player elsewhere, [`Event::ClockServed`](crate::tui::Event) tells it.
    pub clock: ClockMode,
    /// Gaps longer than this are skipped at the start.
    pub skip_empty: Option<Duration>,
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

/// Subscribers that are waited for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Awaited {
    /// The topics that have none yet, or too few.
    pub topics: Vec<TopicId>,
    /// How long they are still waited for: then the run ends.
    pub left: Duration,
}

/// The clock that playback follows.
#[derive(Clone, PartialEq, Debug)]
pub struct Followed {
    /// Its topic, as it is shown.
    pub topic: String,
    /// What it does.
    pub motion: LeadMotion,
}

/// The period of a clock that begins without one: 40 Hz.
const USUAL_PERIOD: Duration = Duration::from_millis(25);
/// The longest gap that is played, if the flags say none.
const USUAL_GAP: Duration = Duration::from_secs(2);

/// What the player was told besides its motion, with the changes that were requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Settings {
    /// How `/clock` is served.
    pub(crate) clock: ClockMode,
    /// Gaps longer than this are skipped.
    pub(crate) skip_empty: Option<Duration>,
    /// The period of a clock that is turned on.
    pub(crate) period: Duration,
    /// The longest gap that is played, once gaps are skipped.
    pub(crate) longest_gap: Duration,
    /// How a player elsewhere serves `/clock`, in its words; `None` if it does not.
    pub(crate) told: Option<String>,
    /// The clock that was asked for, until it is known which one is served.
    asked: Option<ClockMode>,
}

impl Settings {
    /// Those at the start.
    pub(crate) fn of(facts: &Facts) -> Self {
        let mut settings = Self {
            clock: ClockMode::Off,
            skip_empty: None,
            period: USUAL_PERIOD,
            longest_gap: USUAL_GAP,
            told: None,
            asked: None,
        };
        settings.adopt(facts.clock, facts.skip_empty);
        settings
    }

    /// Another clock was asked for. It is shown from now on.
    pub(crate) fn ask_for_clock(&mut self, clock: ClockMode) {
        (self.clock, self.asked) = (clock, Some(clock));
    }

    /// Takes over those of the player. To be called when all commands of this screen have taken effect. Returns the
    /// clock that was asked for since the last call.
    pub(crate) fn adopt(
        &mut self,
        clock: ClockMode,
        skip_empty: Option<Duration>,
    ) -> Option<ClockMode> {
        (self.clock, self.skip_empty) = (clock, skip_empty);
        if let ClockMode::Every(period) = clock {
            self.period = period;
        }
        self.longest_gap = skip_empty.unwrap_or(self.longest_gap);
        self.asked.take()
    }

    /// How `/clock` is served, in words: `40 Hz`; `None` if it is not.
    pub(crate) fn served_clock(&self) -> Option<String> {
        let here = self.clock.is_served().then(|| self.clock.to_string());
        here.or_else(|| self.told.clone())
    }
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
    /// How pictures are drawn.
    pub pictures: PictureStyle,
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

/// An input whose repetitions seek further: their seeks are undone together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SeekInput {
    Key(Key),
    /// The wheel, in either direction.
    Wheel,
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
    /// The topic whose lane this is; `None` on the bar and the lanes above it.
    pub(crate) topic: Option<TopicId>,
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
