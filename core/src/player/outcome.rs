//! [`Outcome`]: the result of a command, and [`Answer`], which takes it to the sender.

use super::command::Status;
use crate::time::{Ros, Time};

/// What became of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It took effect.
    Done,
    /// Playback has jumped to this time, and it is known what follows there. While a gate holds playback nothing
    /// is read; then the segment and the clock have been sent.
    Landed(Time<Ros>),
    /// Steps have ended.
    Stepped {
        /// How many messages were published for this command. Commands for the same topic, and steps back, that
        /// were combined because they came in quick succession, have one count together.
        sent: u64,
        /// Why fewer steps were made than requested; `None` if all were made.
        short: Option<Short>,
    },
    /// It changed nothing, or a later command undid it before it took effect.
    Refused(Refusal),
}

/// Why fewer steps were made than requested.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Short {
    /// There is no further message in the direction of play.
    #[error("there is no next message")]
    NoneAhead,
    /// There is no further message against the direction of play.
    #[error("there is no previous message")]
    NoneBehind,
    /// The connection to the network was lost.
    #[error("the connection to the network was lost")]
    NoPath,
    /// Another command replaced them.
    #[error("a later command replaced it")]
    Replaced,
    /// The run ended.
    #[error("the run is over")]
    Over,
}

/// Why a command changed nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Refusal {
    /// The run is over.
    #[error("the run is over")]
    Over,
    /// What would be sent would be lost: the connection to the network is lost.
    #[error("the connection to the network is lost")]
    NoPath,
    /// Playback is at the exit edge of its range.
    #[error("playback is at the end of its range")]
    AtEnd,
    /// It is only for a player that is paused.
    #[error("the player is not paused")]
    NotPaused,
    /// The bag has no such topic.
    #[error("the recording has no such topic")]
    UnknownTopic,
    /// Another jump came before this one had taken effect.
    #[error("a later seek replaced it")]
    Replaced,
    /// The clock shows the time of the machine, which commands cannot change ([`Control::StopOnly`](super::Control)).
    #[error("the clock shows the time of the machine, which cannot be changed")]
    NotDrivable,
    /// The player runs in another process, and did not carry it out: it refused it, or did not answer.
    #[error("the player did not carry it out")]
    Elsewhere,
    /// There are no messages to step to, or whose times [`Pace::Max`](super::Pace::Max) could show.
    #[error("a clock without messages has no steps and no fastest rate")]
    NoMessages,
    /// The clock is served with messages, which therefore share its link from the start
    /// ([`ClockMode::WithMessages`](super::ClockMode)).
    #[error("the clock is sent with messages; this cannot be changed during a run")]
    ClockWithMessages,
    /// Playback follows another clock ([`Pace::Follow`](super::Pace::Follow)), whose position, rate, pauses and jumps
    /// are its own.
    #[error("playback follows another clock, which alone moves it")]
    Following,
}

impl Refusal {
    /// In words, with the name of the clock that is followed.
    pub fn in_words(self, followed: Option<&str>) -> String {
        match (self, followed) {
            (Self::Following, Some(clock)) => {
                format!("playback follows {clock}, which alone moves it")
            }
            _ => self.to_string(),
        }
    }
}

/// The answer to a command.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Answer {
    /// What became of the command.
    pub outcome: Outcome,
    /// The status after that.
    pub status: Status,
}
