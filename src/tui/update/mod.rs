//! Handles events: changes the model and collects the effects to carry out.

pub(super) mod densities;
pub(super) mod keys;
pub(super) mod outcomes;
pub(super) mod pictures;
pub(super) mod pointer;
pub(super) mod run_state;
pub(super) mod sort;

use jiff::Timestamp;

use super::model::Model;
use super::view;
use crate::bag::{DamagedPart, Hole};
use crate::marks::Mark;
use crate::player::Refusal;
use crate::time::Duration;
use crate::tui::input::bindings::{Action, in_attach};
use crate::tui::input::in_attach::InAttach;
use crate::tui::input::key::Key;
use crate::tui::input::mouse::Mouse;
use crate::tui::model::found::FoundMessages;
use crate::tui::model::layers::{Layer, LookupResult, Prompt, PromptKind, Scroll};
use crate::tui::model::layout::Size;
use crate::tui::model::log::{LogLine, Severity};
use crate::tui::model::parts::{Awaited, Effect, Followed, SeekInput, Subscribers};
use crate::tui::model::timeline::holes::Holes;
use crate::tui::model::timeline::lane::Lane;
use crate::tui::model::watch::WatchedValues;
use crate::tui::pictures::found::FoundPictures;

/// Why nothing happens while the player does not answer.
pub(super) const NO_ANSWER: &str = "ignored: the player does not answer";

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
    Log(LogLine),
    /// The subscribers have changed.
    Subscribers(Subscribers),
    /// The subscribers that are waited for.
    Awaited(Option<Awaited>),
    /// What the clock does that playback follows.
    Followed(Followed),
    /// How a player elsewhere serves `/clock`, in its words; empty if it does not.
    ClockServed(String),
    /// The marks were changed elsewhere: all of them, in the order of time.
    Marks(Vec<Mark>),
    /// Whether the player answers; one in another process may not.
    Answers(bool),
    /// A density, complete or in part.
    Lane(Lane),
    /// The holes of the recording; `None` if they were not looked for.
    Holes(Option<Vec<Hole>>),
    /// The parts of the recording that are lost because of damage, as far as it is known.
    Damaged(Vec<DamagedPart>),
    /// The usual time between messages of each topic, where it is known.
    Periods(Vec<Option<Duration>>),
    /// Values of watched fields were read.
    Watched(WatchedValues),
    /// Pictures were read.
    Pictures(FoundPictures),
    /// Warnings and errors of nodes, as far as they have been read.
    Alerts(FoundMessages),
    /// Messages of a search, as far as they have been found.
    Hits(FoundMessages),
    /// A message was read.
    Lookup(LookupResult),
    /// The part of the recording that was asked for is not written, for this reason.
    NotCut(String),
}

impl Model {
    /// Handles an event that arrived at `stamp`, the date of this machine.
    pub fn handle(&mut self, event: Event, stamp: Timestamp) {
        match event {
            Event::Key(key) => self.handle_key(key, stamp),
            Event::Paste(text) => self.paste(&text),
            Event::Mouse(mouse) => self.handle_mouse(mouse, stamp),
            Event::Resized(size) => self.size = size,
            Event::Log(line) => self.log.push(line),
            Event::Subscribers(subscribers) => self.subscribers = subscribers,
            Event::Awaited(awaited) => self.awaited = awaited,
            Event::Followed(followed) => self.followed = Some(followed),
            Event::ClockServed(told) => {
                self.settings.told = Some(told).filter(|told| !told.is_empty());
            }
            Event::Marks(marks) => self.marks = marks,
            Event::Answers(answers) => self.is_silent = !answers,
            Event::Lane(lane) => self.take_lane(lane),
            Event::Holes(found) => self.holes = Holes::new(found, self.damaged.all()),
            Event::Damaged(parts) => {
                self.damaged.take(parts);
                self.holes.set_lost(self.damaged.all());
            }
            Event::Periods(periods) => self.meters.recorded = periods,
            Event::Watched(values) => self.take_watched(values),
            Event::Pictures(found) => self.take_pictures(found),
            Event::Alerts(found) => self.take_alerts(found, stamp),
            Event::Hits(found) => self.take_hits(found, stamp),
            Event::Lookup(result) => self.show_lookup_result(result),
            Event::NotCut(reason) => self.ask_for_cut_again(reason),
        }
        self.tell_unshown_fields(stamp);
        // The event log gives and takes rows of the table.
        self.scroll_to_selection();
    }

    fn show_lookup_result(&mut self, result: LookupResult) {
        let Layer::Topic(card, _) = self.layer.shown_mut() else {
            return;
        };
        if card.topic != result.topic {
            return;
        }
        let is_first = card.message.replace(result).is_none();
        if is_first && card.field.is_some() {
            // The field that was selected when the card was closed.
            self.scroll_to_field();
        }
    }

    fn scroll_to_field(&mut self) {
        let scroll = view::scroll_to_field(self);
        if let Layer::Topic(_, now) = self.layer.shown_mut() {
            *now = scroll;
        }
    }

    /// Adds a line to the event log.
    pub(super) fn log_info(&mut self, text: impl Into<String>, at: Timestamp) {
        self.log.push(LogLine {
            at,
            severity: Severity::Info,
            text: text.into(),
        });
    }

    fn handle_key(&mut self, key: Key, stamp: Timestamp) {
        // A mouse that has left the terminal is not reported.
        self.pointer = None;
        let is_repeated = self.last_input == Some(SeekInput::Key(key));
        self.begin_input(Some(SeekInput::Key(key)));
        if !is_repeated {
            self.log.clear_hint();
        }
        let action = self.appearance.bindings.action(key);
        if matches!(self.layer, Layer::Prompt(_)) {
            // Some actions also work in a prompt, by keys that do not edit text.
            match action.filter(|_| !key.is_plain() && !key.edits_text()) {
                _ if key.is_interrupt() => self.interrupt(),
                Some(action @ (Action::Quit | Action::Suspend | Action::Redraw)) => {
                    self.perform(action, stamp);
                }
                _ => self.type_key(key, stamp),
            }
            return;
        }
        match action {
            // Ctrl-C ends the program even if the configuration has unbound it.
            None | Some(Action::Quit) if key.is_interrupt() => self.interrupt(),
            Some(action) => self.perform(action, stamp),
            None if self.explained.insert(key) => {
                let help = self.appearance.bindings.keys(Action::Help).first();
                let hint = help.map_or_else(String::new, |help| format!("; {help} shows all keys"));
                self.log.show_hint(LogLine {
                    at: stamp,
                    severity: Severity::Info,
                    text: format!("{key} is not bound to an action{hint}"),
                });
            }
            None => {}
        }
    }

    /// As the signal of ctrl-C does without the bar; a player elsewhere goes on.
    fn interrupt(&mut self) {
        self.effects.push(if self.facts.is_elsewhere {
            Effect::Quit
        } else {
            Effect::Interrupt
        });
    }

    /// Logs why nothing happens that would move playback.
    pub(super) fn log_following(&mut self, stamp: Timestamp) {
        let topic = self.followed.as_ref().map(|it| it.topic.as_str());
        let reason = Refusal::Following.in_words(topic);
        self.log_info(reason, stamp);
    }

    /// Why an action is refused because the player is another process; `None` if it is not.
    pub(in crate::tui) fn refused_in_attach(&self, action: Action) -> Option<&'static str> {
        match in_attach(action) {
            InAttach::Refused(reason) if self.facts.is_elsewhere => Some(reason),
            InAttach::Refused(_) | InAttach::Means(_) | InAttach::Same => None,
        }
    }

    /// Carries out an action.
    pub fn perform(&mut self, action: Action, stamp: Timestamp) {
        if let Some(reason) = self.refused_in_attach(action) {
            return self.log_info(reason, stamp);
        }
        if self.is_silent && action.asks_the_player() {
            return self.log_info(NO_ANSWER, stamp);
        }
        if self.is_following() && action.moves_playback() {
            return self.log_following(stamp);
        }
        if self.scrolls(action) {
            return;
        }
        match action {
            Action::PlayPause => self.play_or_pause(stamp),
            Action::SeekBy(millis) => self.seek_by(millis, stamp),
            Action::Start => self.seek(self.played.range.start(), stamp),
            Action::End => self.seek(self.played.range.stop(), stamp),
            Action::Tenth(tenth) => self.seek_to_tenth(tenth, stamp),
            Action::Undo => self.undo_seek(stamp),
            Action::Step(n) => self.step(n),
            Action::StepTopic(n) => self.step_topic(n, stamp),
            Action::Rate(percent) => self.change_rate(percent, stamp),
            Action::NormalRate => self.set_normal_rate(),
            Action::AskRate => self.layer = Layer::Prompt(Prompt::new(PromptKind::Rate, "")),
            Action::SkipGaps => self.toggle_skipping(stamp),
            Action::Clock => self.toggle_clock(stamp),
            Action::ClockRate => self.ask_for_clock_rate(stamp),
            Action::Reverse => self.reverse_direction(stamp),
            Action::Loop => self.advance_ab_loop(stamp),
            Action::LoopAll => self.toggle_whole_loop(stamp),
            Action::Cut => self.ask_for_cut(stamp),
            Action::Mark => self.toggle_mark(stamp),
            Action::NameMark => self.ask_for_mark_name(stamp),
            Action::NextMark => self.go_to_mark_or_hit(false, stamp),
            Action::PreviousMark => self.go_to_mark_or_hit(true, stamp),
            Action::Hole(by) => self.go_to_gap(by, stamp),
            Action::Alert(by) => self.go_to_alert(by, stamp),
            Action::Move(by) => self.move_by(by.into()),
            Action::Page(by) => self.page(by.into()),
            Action::Sort => self.sort_by_next(stamp),
            Action::Show => self.show_topic(),
            Action::Mute => self.mute(stamp),
            Action::Solo => self.solo(stamp),
            Action::Watch => self.toggle_watch(stamp),
            Action::Unwatch => self.unwatch_all(stamp),
            Action::ScrollPlots(by) => self.scroll_plots(by.into(), stamp),
            Action::GoTo => self.layer = Layer::Prompt(Prompt::new(PromptKind::GoTo, "")),
            Action::Filter if matches!(self.layer, Layer::Topic(..)) => {
                self.ask_for_condition(stamp);
            }
            Action::Filter => {
                let text = self.filter.clone();
                self.layer = Layer::Prompt(Prompt::new(PromptKind::Filter, &text));
            }
            Action::Help if matches!(self.layer, Layer::Help(_)) => self.layer = Layer::None,
            Action::Help => self.layer = Layer::Help(Scroll::default()),
            Action::Log if matches!(self.layer, Layer::Log(_)) => self.layer = Layer::None,
            Action::Log => self.layer = Layer::Log(Scroll::default()),
            Action::Back => self.back(),
            Action::TimeFormat => self.appearance.time_format = self.appearance.time_format.next(),
            Action::Zoom(by) => self.zoom(by, stamp),
            Action::Mouse => {
                self.appearance.has_mouse = !self.appearance.has_mouse;
                self.log_mouse(stamp);
            }
            Action::Redraw => self.effects.push(Effect::Redraw),
            Action::Suspend => self.effects.push(Effect::Suspend),
            Action::CopyCommand => self.effects.push(Effect::CopyCommand),
            Action::QuitToResume => self.effects.push(Effect::QuitToResume),
            Action::Quit => self.effects.push(Effect::Quit),
        }
    }

    /// Scrolls the help or the event log to its edge by a key that otherwise seeks; `false` if there is nothing to
    /// scroll.
    fn scrolls(&mut self, action: Action) -> bool {
        if !matches!(self.layer, Layer::Help(_) | Layer::Log(_)) {
            return false;
        }
        match action {
            Action::Start => self.move_by(isize::MIN),
            Action::End => self.move_by(isize::MAX),
            _ => return false,
        }
        true
    }

    fn zoom(&mut self, steps: i8, stamp: Timestamp) {
        let span = self.window.range().duration();
        self.show_window(self.window.zoomed(steps, self.playhead()));
        if steps > 0 && self.window.range().duration() == span {
            self.log_info("this is the largest zoom", stamp);
        }
    }

    fn back(&mut self) {
        match &self.layer {
            Layer::None => self.set_filter(""),
            _ => self.layer = Layer::None,
        }
    }

    fn move_by(&mut self, by: isize) {
        if self.move_field(by) {
            return self.scroll_to_field();
        }
        let max_scroll = view::max_scroll(self);
        match self.layer.shown_mut() {
            Layer::Help(scroll) | Layer::Log(scroll) | Layer::Topic(_, scroll) => {
                *scroll = scroll.moved(by, max_scroll);
            }
            Layer::None | Layer::Prompt(_) => {
                let last = self.shown_rows().count().saturating_sub(1);
                self.selected = self.selected.saturating_add_signed(by).min(last);
                self.scroll_to_selection();
            }
        }
    }

    fn page(&mut self, by: isize) {
        let page = match self.layer {
            Layer::None => self.layout().table.height,
            // Without its frame.
            _ => view::overlay_area(self).height.saturating_sub(2),
        };
        self.move_by(by * isize::try_from(page.max(2) - 1).unwrap_or(1));
    }

    /// Scrolls the table so that the selected row is visible.
    pub(in crate::tui) fn scroll_to_selection(&mut self) {
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

    pub(super) fn set_filter(&mut self, text: &str) {
        let selected = self.selected_row().map(|row| row.id);
        text.clone_into(&mut self.filter);
        self.select(selected);
    }
}
