//! Typing in an input line, and what becomes of the text.

use jiff::Timestamp;

use crate::tui::input::key::Key;
use crate::tui::model::Model;
use crate::tui::model::layers::{Layer, PromptKind};

impl Model {
    pub(in crate::tui::update) fn paste(&mut self, text: &str) {
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

    pub(in crate::tui::update) fn type_key(&mut self, key: Key, stamp: Timestamp) {
        use crossterm::event::KeyCode;
        use tui_input::backend::crossterm::EventHandler;

        let Layer::Prompt(prompt) = &mut self.layer else {
            return;
        };
        let event = key.event();
        match event.code {
            KeyCode::Enter => self.submit(stamp),
            KeyCode::Esc => {
                let is_filter = prompt.kind == PromptKind::Filter;
                self.layer = std::mem::take(&mut prompt.below);
                if is_filter {
                    self.set_filter("");
                }
            }
            KeyCode::Delete if prompt.input.value().is_empty() => self.remove_named(stamp),
            KeyCode::Up => self.recall(-1),
            KeyCode::Down => self.recall(1),
            _ => {
                prompt.error = None;
                prompt
                    .input
                    .handle_event(&crossterm::event::Event::Key(event));
                self.filter_as_typed();
            }
        }
    }

    /// Removes the mark whose name is asked for. If it is not set yet, it is not set at all.
    fn remove_named(&mut self, stamp: Timestamp) {
        if let Layer::Prompt(prompt) = &self.layer
            && let PromptKind::MarkName(time) = prompt.kind
        {
            self.layer = Layer::None;
            if self.marks.iter().any(|mark| mark.time == time) {
                self.remove_mark(time, stamp);
            }
        }
    }

    /// Shows an earlier text, or a later one if `by` is positive.
    fn recall(&mut self, by: isize) {
        if let Layer::Prompt(prompt) = &mut self.layer
            && let Some(kind) = prompt.kind.typed()
            && let Some(text) = self
                .typed
                .walk(kind, &mut prompt.place, by, prompt.input.value())
        {
            prompt.input = text.into();
            prompt.error = None;
            self.filter_as_typed();
        }
    }

    fn filter_as_typed(&mut self) {
        if let Layer::Prompt(prompt) = &self.layer
            && prompt.kind == PromptKind::Filter
        {
            let text = prompt.input.value().to_owned();
            self.set_filter(&text);
        }
    }

    fn submit(&mut self, stamp: Timestamp) {
        let Layer::Prompt(prompt) = &self.layer else {
            return;
        };
        let (kind, text) = (prompt.kind, prompt.input.value().trim().to_owned());
        let typed = text.clone();
        let done = match kind {
            PromptKind::Filter => Ok(()),
            PromptKind::MarkName(at) => {
                self.set_mark(at, &text, stamp);
                Ok(())
            }
            PromptKind::Find(topic) => self.find_in(topic, &text, stamp),
            PromptKind::Elements => self.watch_elements(&text, stamp),
            PromptKind::Cut(range) => {
                self.sent_cut = Some(prompt.clone());
                self.cut(range, text);
                Ok(())
            }
            PromptKind::GoTo | PromptKind::Rate | PromptKind::ClockRate if text.is_empty() => {
                Ok(())
            }
            PromptKind::Rate => self.set_typed_rate(&text),
            PromptKind::ClockRate => self.set_typed_clock_rate(&text),
            PromptKind::GoTo => self.parse_target(&text).map(|to| self.seek(to, stamp)),
        };
        if let Layer::Prompt(prompt) = &mut self.layer {
            if let (Ok(()), Some(kind)) = (&done, kind.typed()) {
                self.typed.add(kind, &typed);
            }
            match done {
                Ok(()) => self.layer = std::mem::take(&mut prompt.below),
                Err(error) => prompt.error = Some(error),
            }
        }
    }
}
