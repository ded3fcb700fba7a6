//! [`Layer`]: an overlay or the input line: the help, the event log, a topic, or a line to type in.

use tui_input::Input;

use crate::bag::TopicId;
use crate::decode::MessageAt;
use crate::time::{Ros, Time, TimeRange};
use crate::tui::input::goto::TIMES;
use crate::tui::input::prompt_history::{HistoryPlace, TypedKind};
use crate::tui::watch::pin::WatchedField;

/// The layer over the screen.
#[derive(Clone, Debug, Default)]
pub(crate) enum Layer {
    /// Nothing.
    #[default]
    None,
    /// All keys.
    Help(Scroll),
    /// The event log.
    Log(Scroll),
    /// A topic.
    Topic(Card, Scroll),
    /// An input line, in place of the footer.
    Prompt(Prompt),
}

impl Layer {
    /// The overlay that is shown: below an input line, the one that it was opened from.
    pub(crate) fn shown(&self) -> &Self {
        match self {
            Self::Prompt(prompt) => &prompt.below,
            _ => self,
        }
    }

    /// The overlay that is shown.
    pub(crate) fn shown_mut(&mut self) -> &mut Self {
        match self {
            Self::Prompt(prompt) => &mut prompt.below,
            _ => self,
        }
    }
}

/// The number of lines above the first one on the screen; drawing limits it, as the screen may have grown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Scroll(pub usize);

impl Scroll {
    /// Scrolls by some lines; at most to `max_scroll`, so that scrolling back takes effect at once.
    pub(crate) fn moved(self, lines: isize, max_scroll: usize) -> Self {
        Self(
            self.0
                .min(max_scroll)
                .saturating_add_signed(lines)
                .min(max_scroll),
        )
    }

    /// The first of `lines` lines to show where `height` fit.
    pub(crate) fn first(self, lines: usize, height: usize) -> usize {
        self.0.min(lines.saturating_sub(height))
    }
}

/// A topic's card.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Card {
    /// The topic.
    pub topic: TopicId,
    /// Its message at or before the playhead, once it has been read.
    pub message: Option<LookupResult>,
    /// Whether its messages have pictures.
    pub has_pictures: bool,
    /// The selected field; `None`: the first one.
    pub field: Option<WatchedField>,
}

/// The message of a topic at or before a time.
#[derive(Clone, PartialEq, Debug)]
pub struct LookupResult {
    /// The topic.
    pub topic: TopicId,
    /// The time that was requested.
    pub at: Time<Ros>,
    /// The result.
    pub outcome: MessageAt,
}

/// What the text of an input line is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PromptKind {
    /// A time to jump to.
    GoTo,
    /// A part of the names to show.
    Filter,
    /// The name of the mark at this time.
    MarkName(Time<Ros>),
    /// A condition on the fields of a topic.
    Find(TopicId),
    /// The file to write this range to.
    Cut(TimeRange),
    /// A rate.
    Rate,
    /// The rate of the clock.
    ClockRate,
    /// Which elements of the selected array to watch.
    Elements,
}

impl PromptKind {
    /// Whether earlier texts can be taken again, and which.
    pub(crate) const fn typed(self) -> Option<TypedKind> {
        match self {
            Self::GoTo => Some(TypedKind::GoTo),
            Self::Filter => Some(TypedKind::Filter),
            Self::Find(_) => Some(TypedKind::Find),
            Self::Rate => Some(TypedKind::Rate),
            Self::MarkName(_) | Self::Cut(_) | Self::ClockRate | Self::Elements => None,
        }
    }
}

/// An input line.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    /// Its purpose.
    pub kind: PromptKind,
    /// The text.
    pub input: Input,
    /// Where the text is among the earlier ones.
    pub place: HistoryPlace,
    /// The error in the text.
    pub error: Option<String>,
    /// The label before the line.
    pub label: String,
    /// The overlay that the line was opened from: it stays visible, and is left when the line is closed.
    pub below: Box<Layer>,
}

impl Prompt {
    pub(crate) fn new(kind: PromptKind, text: &str) -> Self {
        let label = match kind {
            PromptKind::GoTo => "go to",
            PromptKind::Filter => "filter",
            PromptKind::MarkName(_) => "name of the mark",
            PromptKind::Find(_) => "find",
            PromptKind::Cut(_) => "write A-B to",
            PromptKind::Rate => "rate",
            PromptKind::ClockRate => "/clock in Hz",
            PromptKind::Elements => "elements",
        };
        Self {
            kind,
            input: Input::from(text),
            place: HistoryPlace::default(),
            error: None,
            label: label.to_owned(),
            below: Box::default(),
        }
    }

    /// The hint that is shown while the line is empty.
    pub(crate) const fn hint(&self) -> &'static str {
        match self.kind {
            PromptKind::GoTo => TIMES,
            PromptKind::Filter => "a part of a topic's name",
            PromptKind::MarkName(_) => {
                "enter saves the mark, also without a name; delete removes it; esc cancels"
            }
            PromptKind::Find(_) => {
                "a condition: level >= WARN, status[].name contains \"imu\", x > 0.5 and y < 2"
            }
            PromptKind::Cut(_) => "the path of a new file; esc cancels",
            PromptKind::Rate => "0.5, 2, -1 (backwards), max",
            PromptKind::ClockRate => "40, 100, 0.5, off",
            PromptKind::Elements => "indexes from 0, or from the end: 0, 2-4, -1",
        }
    }
}
