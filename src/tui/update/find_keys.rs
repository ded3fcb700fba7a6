//! Searching for messages of a topic, and jumps to what was found: hits and alerts.

use jiff::Timestamp;

use crate::bag::{Direction, TopicId};
use crate::find::{Conditions, Expression};
use crate::time::{Ros, Time};
use crate::tui::model::Model;
use crate::tui::model::found::{FoundMessage, FoundMessages};
use crate::tui::model::layers::{Layer, Prompt, PromptKind};
use crate::tui::model::parts::Effect;

impl Model {
    pub(super) fn ask_for_condition(&mut self, stamp: Timestamp) {
        if self.facts.is_elsewhere {
            return self.log_info(
                "messages cannot be searched for in a player elsewhere",
                stamp,
            );
        }
        let Layer::Topic(card, _) = &self.layer else {
            return;
        };
        self.layer = Layer::Prompt(Prompt::new(PromptKind::Find(card.topic), ""));
    }

    /// Searches for messages of a topic. An empty condition ends the search. The error says what is wrong with the
    /// condition.
    pub(super) fn find_in(
        &mut self,
        topic: TopicId,
        condition: &str,
        stamp: Timestamp,
    ) -> Result<(), String> {
        if condition.is_empty() {
            self.hits = FoundMessages::default();
            self.effects.push(Effect::Find(String::new()));
            return Ok(());
        }
        let name = self.topic(topic).map_or("", |topic| &topic.name);
        let expression = format!("{name} {condition}");
        let parsed: Expression = expression
            .parse()
            .map_err(|error: crate::find::ExpressionError| error.problem().to_owned())?;
        Conditions::new(&self.facts.topics, &[parsed]).map_err(|error| error.to_string())?;
        self.hits = FoundMessages {
            expression: expression.clone(),
            ..FoundMessages::default()
        };
        self.log_info(format!("searching for {expression}"), stamp);
        self.effects.push(Effect::Find(expression));
        Ok(())
    }

    pub(super) fn take_hits(&mut self, found: FoundMessages, stamp: Timestamp) {
        if found.expression != self.hits.expression {
            return;
        }
        if found.has_ended {
            let hits = found.messages.len();
            let s = if hits == 1 { "" } else { "s" };
            let text = match hits {
                0 => "no message found".to_owned(),
                _ => format!("{hits} message{s} found; n and N go to them"),
            };
            let problem = found.problem.as_ref();
            let problem = problem.map_or_else(String::new, |problem| format!("; {problem}"));
            self.log_info(text + &problem, stamp);
        }
        self.hits = found;
    }

    pub(super) fn take_alerts(&mut self, found: FoundMessages, stamp: Timestamp) {
        if let Some(problem) = &found.problem {
            self.log_info(format!("warnings of nodes: {problem}"), stamp);
        }
        self.alerts = found;
    }

    /// Goes to the next warning or error, or to the previous one if `by` is negative.
    pub(super) fn go_to_alert(&mut self, by: i8, stamp: Timestamp) {
        let here = self.beyond_playhead(by < 0);
        let found = beyond(&self.alerts.messages, here, by < 0).cloned();
        match found {
            Some(alert) => self.go_to_found(&alert, stamp),
            None if self.facts.is_elsewhere => {
                self.log_info("warnings are not looked for in a player elsewhere", stamp);
            }
            None if !self.alerts.has_ended => self.log_info("still looking for warnings", stamp),
            None if by < 0 => self.log_info("no earlier warning or error of a node", stamp),
            None => self.log_info("no later warning or error of a node", stamp),
        }
    }

    /// The nearest hit before or behind the playhead.
    pub(super) fn next_hit(&self, is_backwards: bool) -> Option<&FoundMessage> {
        let here = self.beyond_playhead(is_backwards);
        beyond(&self.hits.messages, here, is_backwards)
    }

    pub(super) fn go_to_found(&mut self, found: &FoundMessage, stamp: Timestamp) {
        let name = self.topic(found.topic).map_or("", |topic| &topic.name);
        let text = format!("{name}: {}", found.text);
        self.seek(found.time, stamp);
        self.log_info(text, stamp);
    }

    /// Where to look from, so that a jump does not end where it began.
    fn beyond_playhead(&self, is_backwards: bool) -> Time<Ros> {
        let here = self.playhead();
        if is_backwards {
            here.saturating_sub(self.margin_behind_playhead(Direction::Forward))
        } else {
            here.saturating_add(self.margin_behind_playhead(Direction::Reverse))
        }
    }
}

fn beyond(messages: &[FoundMessage], here: Time<Ros>, is_backwards: bool) -> Option<&FoundMessage> {
    if is_backwards {
        let before = messages.partition_point(|found| found.time < here);
        before.checked_sub(1).and_then(|at| messages.get(at))
    } else {
        let until = messages.partition_point(|found| found.time <= here);
        messages.get(until)
    }
}
