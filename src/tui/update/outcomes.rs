//! What became of commands: steps show what was sent.

use jiff::Timestamp;

use crate::bag::TopicId;
use crate::player::{Outcome, Refusal, Short, State, TopicCounts};
use crate::time::{Duration, Steady, Time};
use crate::tui::model::Model;
use crate::tui::model::parts::Lit;

/// How long the rows of what a step has sent are highlighted.
const LIT_FOR: Duration = Duration::from_secs(1);
/// How many topics are named.
const NAMED: usize = 3;

/// Steps whose messages have not been shown.
#[derive(Debug, Default)]
pub(in crate::tui) struct UnshownSteps {
    /// The counts before the first of them.
    before: Option<Vec<TopicCounts>>,
    /// Whether one of them has sent something.
    has_ended: bool,
}

impl UnshownSteps {
    /// A step is requested.
    pub(in crate::tui) fn begin(&mut self, counts: Vec<TopicCounts>) {
        self.before.get_or_insert(counts);
    }

    /// A command has an outcome.
    pub(in crate::tui) fn take(&mut self, outcome: Outcome) {
        log_outcome(outcome);
        self.has_ended |= matches!(outcome, Outcome::Stepped { sent: 1.., .. });
    }

    /// What steps that have ended were for. `is_settled`: no command is left to send or without an answer. The counts
    /// of a player elsewhere may come later.
    pub(in crate::tui) fn ended(&mut self, counts: &[TopicCounts], is_settled: bool) -> Stepped {
        let Some(before) = self.before.as_ref().filter(|_| self.has_ended) else {
            if is_settled {
                // None has sent anything.
                self.before = None;
            }
            return Stepped::default();
        };
        let more = |count: fn(&TopicCounts) -> u64| {
            let pairs = (0..).zip(before.iter().zip(counts));
            let more =
                pairs.map(|(id, (was, is))| (TopicId(id), count(is).saturating_sub(count(was))));
            more.filter(|(_, count)| *count > 0).collect()
        };
        let stepped = Stepped {
            sent: more(|counts| counts.sent),
            dropped: more(|counts| counts.dropped),
        };
        if !stepped.is_empty() {
            self.before = (!is_settled).then(|| counts.to_vec());
            self.has_ended = false;
        }
        stepped
    }
}

/// The messages of steps: how many of each topic.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::tui) struct Stepped {
    /// Those that were sent.
    sent: Vec<(TopicId, u64)>,
    /// Those that the output could not take.
    dropped: Vec<(TopicId, u64)>,
}

impl Stepped {
    fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.dropped.is_empty()
    }
}

impl Model {
    /// Logs what steps have sent and what they could not send, and highlights its rows for a second.
    pub(in crate::tui) fn show_steps(&mut self, stepped: &Stepped, stamp: Timestamp) {
        if stepped.is_empty() || self.state() != State::Paused {
            return;
        }
        for (what, messages) in [
            ("sent", &stepped.sent),
            ("could not send", &stepped.dropped),
        ] {
            if !messages.is_empty() {
                self.log_info(format!("{what} {}", self.messages_here(messages)), stamp);
            }
        }
        let topics = stepped.sent.iter().chain(&stepped.dropped);
        self.lit = Some(Lit {
            topics: topics.map(|(id, _)| *id).collect(),
            until: self.now.saturating_add(LIT_FOR),
        });
    }

    /// `2 messages of /imu at +00:12.184 (12:32:19.184 UTC)`
    fn messages_here(&self, messages: &[(TopicId, u64)]) -> String {
        let count: u64 = messages.iter().map(|(_, count)| count).sum();
        let name = |(id, count): &(TopicId, u64)| {
            let row = self.rows.iter().find(|row| row.id == *id);
            let name = row.map_or("a topic", |row| row.name.as_str());
            if messages.len() > 1 && *count > 1 {
                format!("{name} ({}{count})", self.appearance.glyphs.times)
            } else {
                name.to_owned()
            }
        };
        let mut names: Vec<String> = messages.iter().take(NAMED).map(name).collect();
        if let Some(more @ 1..) = messages.len().checked_sub(NAMED) {
            let s = if more == 1 { "" } else { "s" };
            names.push(format!("{more} more topic{s}"));
        }
        let (names, here) = (names.join(", "), self.playhead());
        let shown = here.saturating_add(self.facts.clock_shift);
        let shown = self.appearance.time_format.show(shown, &self.facts.zone);
        let s = if count == 1 { "" } else { "s" };
        format!(
            "{count} message{s} of {names} at {} ({shown})",
            self.elapsed(here)
        )
    }

    /// Until when rows are highlighted, if they are.
    pub(in crate::tui) fn lit_until(&self) -> Option<Time<Steady>> {
        let lit = self.lit.as_ref().filter(|lit| self.now < lit.until);
        lit.map(|lit| lit.until)
    }

    /// Whether the row of a topic is highlighted.
    pub(in crate::tui) fn is_lit(&self, topic: TopicId) -> bool {
        let lit = self.lit.as_ref().filter(|_| self.lit_until().is_some());
        lit.is_some_and(|lit| lit.topics.contains(&topic))
    }
}

/// Logs what a user cannot see otherwise: that steps found no message, or were not made.
fn log_outcome(outcome: Outcome) {
    match outcome {
        Outcome::Stepped { short, .. } => match short {
            Some(Short::NoneAhead) => tracing::info!("no next message"),
            Some(Short::NoneBehind) => tracing::info!("no previous message"),
            Some(Short::NoPath) => tracing::warn!(
                "the pending steps are dropped: the connection to the network is lost"
            ),
            None | Some(Short::Replaced | Short::Over) => {}
        },
        Outcome::Refused(Refusal::NoPath) => tracing::warn!(
            "no step: the connection to the network is lost; step again when it is restored"
        ),
        Outcome::Refused(
            Refusal::Over
            | Refusal::AtEnd
            | Refusal::NotPaused
            | Refusal::UnknownTopic
            | Refusal::Replaced
            | Refusal::NotDrivable
            | Refusal::Elsewhere
            | Refusal::NoMessages
            | Refusal::ClockWithMessages
            | Refusal::Following,
        )
        | Outcome::Done
        | Outcome::Landed(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of messages sent and dropped, by topic.
    fn counts<const N: usize>(all: [(u64, u64); N]) -> Vec<TopicCounts> {
        let one = |(sent, dropped)| TopicCounts {
            sent,
            dropped,
            ..TopicCounts::default()
        };
        all.map(one).to_vec()
    }

    fn sent(sent: &[(TopicId, u64)]) -> Stepped {
        Stepped {
            sent: sent.to_vec(),
            dropped: Vec::new(),
        }
    }

    const DONE: Outcome = Outcome::Stepped {
        sent: 1,
        short: None,
    };

    #[test]
    fn what_was_sent_is_known_once_steps_have_ended() {
        let counts = |sent: [u64; 2]| counts(sent.map(|sent| (sent, 0)));
        let mut steps = UnshownSteps::default();
        assert_eq!(steps.ended(&counts([1, 1]), true), sent(&[]));
        steps.begin(counts([1, 1]));
        steps.begin(counts([2, 1]));
        assert_eq!(steps.ended(&counts([2, 1]), false), sent(&[]));
        steps.take(DONE);
        // The counts of a player elsewhere come later.
        assert_eq!(steps.ended(&counts([1, 1]), false), sent(&[]));
        assert_eq!(
            steps.ended(&counts([2, 1]), false),
            sent(&[(TopicId(0), 1)])
        );
        steps.take(DONE);
        assert_eq!(
            steps.ended(&counts([4, 2]), true),
            sent(&[(TopicId(0), 2), (TopicId(1), 1)])
        );
        // What is played until the next step is not sent by it.
        steps.begin(counts([9, 9]));
        steps.take(DONE);
        assert_eq!(
            steps.ended(&counts([9, 10]), true),
            sent(&[(TopicId(1), 1)])
        );
    }

    #[test]
    fn a_step_that_sent_nothing_does_not_count_what_is_played_later() {
        let mut steps = UnshownSteps::default();
        steps.begin(counts([(1, 0)]));
        steps.take(Outcome::Refused(Refusal::NotPaused));
        steps.take(Outcome::Stepped {
            sent: 0,
            short: Some(Short::NoneAhead),
        });
        assert_eq!(steps.ended(&counts([(1, 0)]), true), sent(&[]));
        steps.begin(counts([(500, 0)]));
        steps.take(DONE);
        assert_eq!(
            steps.ended(&counts([(501, 0)]), true),
            sent(&[(TopicId(0), 1)])
        );
    }

    #[test]
    fn a_step_whose_message_was_dropped_has_ended() {
        let mut steps = UnshownSteps::default();
        steps.begin(counts([(1, 4)]));
        steps.take(DONE);
        let dropped = Stepped {
            sent: Vec::new(),
            dropped: vec![(TopicId(0), 1)],
        };
        assert_eq!(steps.ended(&counts([(1, 5)]), true), dropped);
        // What is played later belongs to no step.
        assert_eq!(steps.ended(&counts([(500, 5)]), true), sent(&[]));
    }
}
