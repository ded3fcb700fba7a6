//! [`Layer`]: what lies over the screen: the help, all events, a topic, or a line to type in.

use tui_input::Input;

use crate::bag::TopicId;
use crate::decode::Decoded;
use crate::time::{Ros, Time};
use crate::tui::input::goto::TIMES;

/// What lies over the screen.
#[derive(Clone, Debug, Default)]
pub(crate) enum Layer {
    /// Nothing.
    #[default]
    None,
    /// All keys.
    Help(Scroll),
    /// All events.
    Log(Scroll),
    /// A topic.
    Topic(Card, Scroll),
    /// A line to type in, in place of the footer.
    Prompt(Prompt),
}

/// How many lines of something are above its first one on the screen; drawing holds it within bounds, as
/// the screen may have grown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Scroll(pub usize);

impl Scroll {
    /// Further by some lines, or back; at most to `furthest`, so that what is turned back moves at once.
    pub(crate) fn moved(self, lines: isize, furthest: usize) -> Self {
        Self(
            self.0
                .min(furthest)
                .saturating_add_signed(lines)
                .min(furthest),
        )
    }

    /// The first line to show of `lines` where `height` fit.
    pub(crate) fn first(self, lines: usize, height: usize) -> usize {
        self.0.min(lines.saturating_sub(height))
    }
}

/// A topic that is looked at.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Card {
    /// Which one.
    pub topic: TopicId,
    /// Its message at or before the playhead, as soon as that was read.
    pub message: Option<Peeked>,
}

/// The message of a topic at or before a time.
#[derive(Clone, PartialEq, Debug)]
pub struct Peeked {
    /// Whose.
    pub topic: TopicId,
    /// What was asked for.
    pub at: Time<Ros>,
    /// What was found.
    pub found: Found,
}

/// What was found at or before a time.
#[derive(Clone, PartialEq, Debug)]
pub enum Found {
    /// No message.
    Nothing,
    /// It lies in a damaged part.
    Damaged(String),
    /// A message.
    Message {
        /// When it was received.
        log_time: Time<Ros>,
        /// When it was sent.
        publish_time: Time<Ros>,
        /// How many bytes it has.
        bytes: usize,
        /// What it says.
        said: Decoded,
    },
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Question {
    /// A time to jump to.
    GoTo,
    /// A part of the names to show.
    Filter,
    /// The name of the mark at this time.
    MarkName(Time<Ros>),
}

/// A line to type in.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    /// What for.
    pub question: Question,
    /// What was typed.
    pub input: Input,
    /// What is wrong with it.
    pub error: Option<String>,
}

impl Prompt {
    pub(crate) fn new(question: Question, text: &str) -> Self {
        Self {
            question,
            input: Input::from(text),
            error: None,
        }
    }

    /// What stands before the line.
    pub(crate) const fn label(&self) -> &'static str {
        match self.question {
            Question::GoTo => "go to",
            Question::Filter => "filter",
            Question::MarkName(_) => "name of the mark",
        }
    }

    /// What helps as long as nothing was typed.
    pub(crate) const fn hint(&self) -> &'static str {
        match self.question {
            Question::GoTo => TIMES,
            Question::Filter => "a part of a topic's name",
            Question::MarkName(_) => "enter keeps it, also without a name; esc does not",
        }
    }
}
