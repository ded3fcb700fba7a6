//! Handles events: changes the model and collects the effects to carry out.

pub(super) mod pointer;
pub(super) mod transport_keys;

use jiff::Timestamp;

use super::model::Model;
use super::view;
use crate::player::Command;
use crate::time::{Ros, Time};
use crate::tui::input::action::Action;
use crate::tui::input::key::Key;
use crate::tui::input::mouse::Mouse;
use crate::tui::model::lane::Lane;
use crate::tui::model::layers::{Card, Layer, Peeked, Prompt, Question, Scroll};
use crate::tui::model::layout::Size;
use crate::tui::model::log::{Line, Severity};
use crate::tui::model::parts::{Audience, Effect};

/// An event for the model.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// A mouse event.
    Mouse(Mouse),
    /// The size of the screen has changed.
    Resized(Size),
    /// A line for the event log.
    Said(Line),
    /// The subscribers have changed.
    Audience(Audience),
    /// A density, complete or in part.
    Lane(Lane),
    /// A message was read.
    Peeked(Peeked),
}

impl Model {
    /// Handles an event that arrived at `stamp`, the date of this machine.
    pub fn take(&mut self, event: Event, stamp: Timestamp) {
        match event {
            Event::Key(key) => self.press(key, stamp),
            Event::Paste(text) => self.paste(&text),
            Event::Mouse(mouse) => self.point(mouse, stamp),
            Event::Resized(size) => {
                self.size = size;
                self.keep_selection_in_sight();
            }
            Event::Said(line) => self.log.push(line),
            Event::Audience(audience) => self.audience = audience,
            Event::Lane(lane) => self.take_lane(lane),
            Event::Peeked(peeked) => self.take_peeked(peeked),
        }
    }

    fn take_peeked(&mut self, peeked: Peeked) {
        if let Layer::Topic(card, _) = &mut self.layer
            && card.topic == peeked.topic
        {
            card.message = Some(peeked);
        }
    }

    /// Adds a line to the event log.
    pub(super) fn say(&mut self, text: impl Into<String>, at: Timestamp) {
        self.log.push(Line {
            at,
            severity: Severity::Info,
            text: text.into(),
        });
    }

    fn press(&mut self, key: Key, stamp: Timestamp) {
        let action = self.look.bindings.action(key);
        if matches!(self.layer, Layer::Prompt(_)) {
            // Some actions work everywhere, by keys that have no meaning in a line of text.
            match action.filter(|_| !key.is_plain() && !key.edits_text()) {
                _ if key.is_interrupt() => self.effects.push(Effect::Quit),
                Some(action @ (Action::Quit | Action::Suspend | Action::Redraw)) => {
                    self.act(action, stamp);
                }
                _ => self.type_key(key, stamp),
            }
            return;
        }
        match action {
            Some(action) => self.act(action, stamp),
            // Ctrl-C ends the program even if the configuration has unbound it.
            None if key.is_interrupt() => self.effects.push(Effect::Quit),
            None => {}
        }
    }

    /// Carries out an action.
    pub fn act(&mut self, action: Action, stamp: Timestamp) {
        match action {
            Action::PlayPause => self.play_or_pause(stamp),
            Action::SeekBy(millis) => self.seek_by(millis, stamp),
            Action::Start => self.seek(self.played.start(), stamp),
            Action::End => self.seek(self.played.stop(), stamp),
            Action::Tenth(tenth) => self.seek_to_tenth(tenth, stamp),
            Action::Undo => self.undo_seek(stamp),
            Action::Step(n) => self.step(n),
            Action::StepTopic(n) => self.step_topic(n, stamp),
            Action::Rate(percent) => self.change_rate(percent, stamp),
            Action::NormalRate => self.set_normal_rate(),
            Action::Reverse => self.turn_around(stamp),
            Action::Loop => self.set_bracket(stamp),
            Action::LoopAll => self.loop_all_or_once(stamp),
            Action::Mark => self.toggle_mark(stamp),
            Action::NameMark => self.ask_for_mark_name(),
            Action::NextMark => self.go_to_next_mark(stamp),
            Action::PreviousMark => self.go_to_previous_mark(stamp),
            Action::Move(by) => self.move_by(by.into()),
            Action::Page(by) => self.page(by.into()),
            Action::Show => self.show_topic(),
            Action::Mute => self.mute(stamp),
            Action::GoTo => self.layer = Layer::Prompt(Prompt::new(Question::GoTo, "")),
            Action::Filter => {
                let text = self.filter.clone();
                self.layer = Layer::Prompt(Prompt::new(Question::Filter, &text));
            }
            Action::Help if matches!(self.layer, Layer::Help(_)) => self.layer = Layer::None,
            Action::Help => self.layer = Layer::Help(Scroll::default()),
            Action::Log if matches!(self.layer, Layer::Log(_)) => self.layer = Layer::None,
            Action::Log => self.layer = Layer::Log(Scroll::default()),
            Action::Back => self.back(),
            Action::TimeFace => self.look.face = self.look.face.next(),
            Action::Zoom(by) => self.zoom(by, stamp),
            Action::Redraw => self.effects.push(Effect::Redraw),
            Action::Suspend => self.effects.push(Effect::Suspend),
            Action::Quit => self.effects.push(Effect::Quit),
        }
    }

    fn zoom(&mut self, steps: i8, stamp: Timestamp) {
        let span = self.window.range().duration();
        self.show_window(self.window.zoomed(steps, self.here()));
        if steps > 0 && self.window.range().duration() == span {
            self.say("this is the closest look", stamp);
        }
    }

    fn back(&mut self) {
        match &self.layer {
            Layer::None => self.set_filter(""),
            _ => self.layer = Layer::None,
        }
    }

    fn move_by(&mut self, by: isize) {
        let furthest = view::furthest(self);
        match &mut self.layer {
            Layer::Help(scroll) | Layer::Log(scroll) | Layer::Topic(_, scroll) => {
                *scroll = scroll.moved(by, furthest);
            }
            Layer::None | Layer::Prompt(_) => {
                let last = self.shown_rows().count().saturating_sub(1);
                self.selected = self.selected.saturating_add_signed(by).min(last);
                self.keep_selection_in_sight();
            }
        }
    }

    fn page(&mut self, by: isize) {
        let page = match self.layer {
            Layer::None => self.layout().table.height,
            // Without its frame.
            _ => view::over(self).height.saturating_sub(2),
        };
        self.move_by(by * isize::try_from(page.max(2) - 1).unwrap_or(1));
    }

    /// Scrolls the table so that the selected row is visible.
    pub(super) fn keep_selection_in_sight(&mut self) {
        let (shown, height) = (
            self.shown_rows().count(),
            usize::from(self.layout().table.height),
        );
        self.selected = self.selected.min(shown.saturating_sub(1));
        self.top = self
            .top
            .min(self.selected)
            .max((self.selected + 1).saturating_sub(height))
            .min(shown.saturating_sub(height));
    }

    fn show_topic(&mut self) {
        let Some(row) = self.selected_row() else {
            return;
        };
        let card = Card {
            topic: row.id,
            message: None,
        };
        self.layer = Layer::Topic(card, Scroll::default());
    }

    /// The topic whose message is wanted, and the time at or before which it was recorded.
    pub fn wants_message(&self) -> Option<(crate::bag::TopicId, Time<Ros>)> {
        match &self.layer {
            Layer::Topic(card, _) => {
                let here = self.here();
                let is_known = card.message.as_ref().is_some_and(|known| known.at == here);
                (!is_known).then_some((card.topic, here))
            }
            _ => None,
        }
    }

    fn mute(&mut self, stamp: Timestamp) {
        let topic = match &self.layer {
            Layer::Topic(card, _) => Some(card.topic),
            _ => self.selected_row().map(|row| row.id),
        };
        let row = self.rows.iter_mut().find(|row| Some(row.id) == topic);
        let Some(row) = row else {
            return;
        };
        if row.left_out.is_some() {
            let text = format!("{} is not played", row.name);
            self.say(text, stamp);
            return;
        }
        row.is_muted = !row.is_muted;
        let (text, command) = if row.is_muted {
            (format!("{} is muted", row.name), Command::Mute(row.id))
        } else {
            (
                format!("{} is published again", row.name),
                Command::Unmute(row.id),
            )
        };
        self.ask(command);
        self.say(text, stamp);
    }

    fn set_filter(&mut self, text: &str) {
        let selected = self.selected_row().map(|row| row.id);
        text.clone_into(&mut self.filter);
        let again = self.shown_rows().position(|row| Some(row.id) == selected);
        self.selected = again.unwrap_or(0);
        self.keep_selection_in_sight();
    }

    fn paste(&mut self, text: &str) {
        if let Layer::Prompt(prompt) = &mut self.layer {
            prompt.error = None;
            for typed in text.chars().filter(|typed| !typed.is_control()).take(200) {
                prompt
                    .input
                    .handle(tui_input::InputRequest::InsertChar(typed));
            }
            self.filter_as_typed();
        }
    }

    fn type_key(&mut self, key: Key, stamp: Timestamp) {
        use crossterm::event::KeyCode;
        use tui_input::backend::crossterm::EventHandler;

        let Layer::Prompt(prompt) = &mut self.layer else {
            return;
        };
        let event = key.event();
        match event.code {
            KeyCode::Enter => self.submit(stamp),
            KeyCode::Esc => {
                if prompt.question == Question::Filter {
                    self.set_filter("");
                }
                self.layer = Layer::None;
            }
            _ => {
                prompt.error = None;
                prompt
                    .input
                    .handle_event(&crossterm::event::Event::Key(event));
                self.filter_as_typed();
            }
        }
    }

    fn filter_as_typed(&mut self) {
        if let Layer::Prompt(prompt) = &self.layer
            && prompt.question == Question::Filter
        {
            let text = prompt.input.value().to_owned();
            self.set_filter(&text);
        }
    }

    fn submit(&mut self, stamp: Timestamp) {
        let Layer::Prompt(prompt) = &self.layer else {
            return;
        };
        let text = prompt.input.value().trim().to_owned();
        match prompt.question {
            Question::Filter => {}
            Question::MarkName(at) => self.set_mark(at, &text, stamp),
            Question::GoTo if text.is_empty() => {}
            Question::GoTo => match self.read_target(&text) {
                Ok(to) => self.seek(to, stamp),
                Err(error) => {
                    if let Layer::Prompt(prompt) = &mut self.layer {
                        prompt.error = Some(error);
                    }
                    return;
                }
            },
        }
        self.layer = Layer::None;
    }
}
