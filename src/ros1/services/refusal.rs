//! [`refusal`]: why the player has not carried out a command, in words.

use crate::player::{Answer, Outcome, Stopped, Transport};

/// Why a command was not carried out; `None` if it was.
pub(super) fn refusal(player: &Transport, answer: Result<Answer, Stopped>) -> Option<String> {
    match answer.map(|answer| answer.outcome) {
        Ok(Outcome::Done | Outcome::Landed(_) | Outcome::Stepped { sent: 1.., .. }) => None,
        Ok(Outcome::Stepped { short, .. }) => {
            Some(short.map_or_else(|| "no message".to_owned(), |short| short.to_string()))
        }
        Ok(Outcome::Refused(refusal)) => Some(refusal.in_words(player.lead().name().as_deref())),
        Err(stopped) => Some(stopped.to_string()),
    }
}
