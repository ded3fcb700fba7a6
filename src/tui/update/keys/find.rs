//! Searching for messages of a topic, and jumps to what was found: hits and alerts.

use jiff::Timestamp;

use crate::bag::{Direction, TopicId};
use crate::find::{Conditions, Expression, Severity};
use crate::time::{Ros, Time};
use crate::tui::input::bindings::Action;
use crate::tui::input::in_attach::NO_FIND;
use crate::tui::model::found::{FoundMessage, FoundMessages};
use crate::tui::model::layers::{Layer, Prompt, PromptKind};
use crate::tui::model::parts::Effect;
use crate::tui::model::{Model, time_format};

impl Model {
    /// Asks for a condition on the fields of the topic that is shown.
    pub(in crate::tui::update) fn ask_for_condition(&mut self, stamp: Timestamp) {
        if self.facts.is_elsewhere {
            return self.log_info(NO_FIND, stamp);
        }
        let Layer::Topic(card, _) = &self.layer else {
            return;
        };
        let topic = card.topic;
        let name = self.topic(topic).map_or("", |topic| &topic.name);
        let mut prompt = Prompt::new(PromptKind::Find(topic), "");
        prompt.label = format!("find in {name}");
        prompt.below = Box::new(std::mem::take(&mut self.layer));
        self.layer = Layer::Prompt(prompt);
    }

    /// Searches for messages of a topic. An empty condition ends the search. The error says what is wrong with the
    /// condition.
    pub(in crate::tui::update) fn find_in(
        &mut self,
        topic: TopicId,
        condition: &str,
        stamp: Timestamp,
    ) -> Result<(), String> {
        if condition.is_empty() {
            self.hits = FoundMessages::default();
            self.effects.push(Effect::EndFind);
            return Ok(());
        }
        let name = self.topic(topic).map_or("", |topic| &topic.name);
        let expression = Expression::in_topic(name, condition);
        let expression = expression.map_err(|error| error.problem().to_owned())?;
        let fits = Conditions::new(&self.facts.topics, std::slice::from_ref(&expression));
        fits.map_err(|error| error.to_string())?;
        self.hits = FoundMessages {
            expression: expression.to_string(),
            ..FoundMessages::default()
        };
        self.log_info(format!("searching for {expression}"), stamp);
        self.effects.push(Effect::Find(Box::new(expression)));
        Ok(())
    }

    pub(in crate::tui::update) fn take_hits(&mut self, found: FoundMessages, stamp: Timestamp) {
        if found.expression != self.hits.expression {
            return;
        }
        if found.has_ended {
            let hits = found.messages.len();
            let s = if hits == 1 { "" } else { "s" };
            let first = |action| self.appearance.bindings.keys(action).to_string();
            let keys = [Action::NextMark, Action::PreviousMark].map(first);
            let text = match hits {
                0 => "no message found".to_owned(),
                _ => format!("{hits} message{s} found: {}", keys.join(", ")),
            };
            self.log_info(text + &problem(&found), stamp);
        }
        self.hits = found;
    }

    pub(in crate::tui::update) fn take_alerts(&mut self, found: FoundMessages, stamp: Timestamp) {
        if found.problem.is_some() {
            let text = "warnings and errors of nodes: not all were found".to_owned();
            self.log_info(text + &problem(&found), stamp);
        }
        self.alerts = found;
    }

    /// Goes to the next warning or error, or to the previous one if `by` is negative.
    pub(in crate::tui::update) fn go_to_alert(&mut self, by: i8, stamp: Timestamp) {
        let here = self.beyond_playhead(by < 0);
        let alerts = &self.alerts;
        if let Some(at) = beyond(&alerts.messages, here, by < 0) {
            let (text, time) = (self.found_in_words(alerts, at), alerts.messages[at].time);
            self.seek(time, stamp);
            return self.log_info(text, stamp);
        }
        let side = if by < 0 { "earlier" } else { "later" };
        let text = if alerts.has_ended {
            format!("no {side} warning or error of a node") + &problem(alerts)
        } else {
            "still looking for warnings and errors of nodes".to_owned()
        };
        self.log_info(text, stamp);
    }

    /// The time of the nearest hit before or behind the playhead, and what it says.
    pub(in crate::tui::update) fn next_hit(
        &self,
        is_backwards: bool,
    ) -> Option<(Time<Ros>, String)> {
        let here = self.beyond_playhead(is_backwards);
        let at = beyond(&self.hits.messages, here, is_backwards)?;
        let text = self.found_in_words(&self.hits, at);
        Some((self.hits.messages.get(at)?.time, text))
    }

    /// Why there is no mark and no hit further on.
    pub(in crate::tui::update) fn why_no_mark(&self, is_backwards: bool) -> String {
        let side = if is_backwards { "earlier" } else { "later" };
        match &self.hits {
            hits if hits.expression.is_empty() => format!("no {side} mark"),
            hits if hits.has_ended => {
                format!("no {side} mark or found message")
            }
            hits => {
                let percent = hits.share * 100.0;
                format!(
                    "no {side} mark or found message; {percent:.0} % of the recording is searched"
                )
            }
        }
    }

    /// `3 of 20, +00:05.000, error: /rosout: …`
    fn found_in_words(&self, found: &FoundMessages, at: usize) -> String {
        let count = found.messages.len();
        let Some(message) = found.messages.get(at) else {
            return String::new();
        };
        let name = self.topic(message.topic).map_or("", |topic| &topic.name);
        let since = message.time.saturating_since(self.facts.recording.start());
        let severity = match message.severity {
            None => "",
            Some(Severity::Warning) => "warning: ",
            Some(Severity::Error) => "error: ",
        };
        format!(
            "{} of {count}, +{}, {severity}{name}: {}",
            at + 1,
            time_format::span(since),
            message.text
        )
    }

    /// Where to look from, so that a jump does not end where it began.
    pub(in crate::tui::update) fn beyond_playhead(&self, is_backwards: bool) -> Time<Ros> {
        let here = self.playhead();
        if is_backwards {
            here.saturating_sub(self.margin_behind_playhead(Direction::Forward))
        } else {
            here.saturating_add(self.margin_behind_playhead(Direction::Reverse))
        }
    }
}

fn problem(found: &FoundMessages) -> String {
    let problem = found.problem.as_ref();
    problem.map_or_else(String::new, |problem| format!("; {problem}"))
}

/// The nearest message before or behind a time, by its place.
fn beyond(messages: &[FoundMessage], here: Time<Ros>, is_backwards: bool) -> Option<usize> {
    if is_backwards {
        let before = messages.partition_point(|found| found.time < here);
        before.checked_sub(1)
    } else {
        let until = messages.partition_point(|found| found.time <= here);
        (until < messages.len()).then_some(until)
    }
}
