//! [`Screen`]: joins model, terminal and look-ups; the main thread's loop drives it.
//!
//! It reports when it wants to draw again: at most thirty times a second while playing, otherwise only after an event.
//! It never waits for the player or for the recording.

use std::io;

use jiff::Timestamp;

use super::lookup::Lookup;
use super::lookup::request::FindRequest;
use super::lookup::requests::Requests;
use super::model::Model;
use super::outbox::{FRAME, Outbox};
use super::terminal::Terminal;
use super::update::Event;
use super::update::outcomes::UnshownSteps;
use crate::bag::Reach;
use crate::marks::Mark;
use crate::player::{Command, Transport};
use crate::time::{Duration, Ros, Steady, Time};
use crate::tui::input::mouse::Gesture;
use crate::tui::model::parts::{CutRequest, Effect};
use crate::tui::terminal::writer;

/// How long after the last event the screen is drawn once more, with the final read-ahead and rates.
const SETTLE_DELAY: Duration = Duration::from_millis(250);
/// The interval between frames while nothing but the playhead moves.
const MOVING: Duration = Duration::from_millis(40);

/// What the screen asks the main loop to do.
#[derive(Clone, PartialEq, Debug)]
pub enum ScreenRequest {
    /// Save a mark.
    AddMark(Mark),
    /// Delete the mark at this time.
    RemoveMark(Time<Ros>),
    /// Write a part of the recording.
    Cut(CutRequest),
    /// Copy the command line that plays on from here, with [`Screen::copy`].
    CopyCommand,
    /// Stop the process group, as ctrl-Z does: call [`Screen::restore_terminal`] before, and
    /// [`Screen::reenter_terminal`] when the process is continued.
    Suspend,
    /// Remember the position, and end the run.
    QuitToResume,
    /// End the run as a signal does.
    Interrupt,
    /// End the run.
    Quit,
}

/// The screen.
#[derive(Debug)]
pub struct Screen {
    model: Model,
    terminal: Terminal,
    transport: Transport,
    reach: Reach,
    lookup: Lookup,
    outbox: Outbox,
    steps: UnshownSteps,
    /// A terminal error since the last frame.
    failure: Option<io::Error>,
    is_stale: bool,
    drawn_at: Time<Steady>,
    settle_at: Option<Time<Steady>>,
    read_to: Option<Time<Ros>>,
    /// What it asks the look-up for.
    requests: Requests,
}

impl Screen {
    /// A screen on `terminal`. What `lookup` finds comes back as events.
    pub fn new(
        mut model: Model,
        terminal: Terminal,
        transport: Transport,
        reach: Reach,
        lookup: Lookup,
    ) -> io::Result<Self> {
        let recording = model.facts.recording;
        lookup.outline(recording);
        lookup.holes();
        lookup.alerts();
        model.size = terminal.size()?;
        if !model.appearance.has_mouse {
            model.log_mouse(Timestamp::now());
        }
        Ok(Self {
            model,
            terminal,
            outbox: Outbox::new(transport.clone()),
            steps: UnshownSteps::default(),
            transport,
            reach,
            lookup,
            failure: None,
            is_stale: true,
            drawn_at: Time::MIN,
            settle_at: None,
            read_to: None,
            requests: Requests::default(),
        })
    }

    /// Handles events and carries out their effects; returns the effects that the loop has to carry out.
    pub fn handle(&mut self, events: impl IntoIterator<Item = Event>) -> Vec<ScreenRequest> {
        self.observe();
        let stamp = Timestamp::now();
        for event in events {
            let now = self.transport.now();
            self.requests.answered(&event, now);
            if matches!(event, Event::Resized(_)) {
                // The size may be the same again, but what was cut off meanwhile is lost.
                self.terminal.invalidate();
            }
            let is_move = matches!(&event, Event::Mouse(mouse) if mouse.gesture == Gesture::Move);
            let hovered = self.model.hovered();
            self.model.handle(event, stamp);
            // Most moves of the mouse change nothing that is shown.
            self.is_stale |= !is_move || self.model.hovered() != hovered;
        }
        let mut requests = Vec::new();
        for effect in self.model.take_effects() {
            requests.extend(self.carry_out(effect));
        }
        self.send();
        if self.is_stale {
            self.settle_at = Some(self.transport.now().saturating_add(SETTLE_DELAY));
        }
        requests
    }

    /// Puts a text into the clipboard, where the terminal permits it (OSC 52).
    pub fn copy(&mut self, text: &str) {
        let done = self.terminal.copy(text);
        self.keep_failure(done);
        self.is_stale = true;
    }

    /// Everything that was shown; restores the terminal.
    pub fn into_model(self) -> Model {
        self.model
    }

    /// Everything that is shown.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Reports that the motion of playback has changed.
    pub fn motion_changed(&mut self) {
        self.is_stale = true;
        self.settle_at = Some(self.transport.now().saturating_add(SETTLE_DELAY));
    }

    /// Restores the terminal until [`Screen::reenter_terminal`].
    pub fn restore_terminal(&mut self) {
        self.terminal.restore();
    }

    /// Sets up the terminal again after the process was stopped; other programs may have changed its state.
    pub fn reenter_terminal(&mut self) {
        self.is_stale = true;
        self.requests.forget_pictures(&mut self.model);
        let done = self.terminal.reenter();
        self.keep_failure(done);
    }

    fn keep_failure(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.failure = Some(error);
        }
    }

    /// When [`Screen::draw`] is to be called; `None` if nothing changes without an event.
    pub fn next_frame(&self) -> Option<Time<Steady>> {
        let frame = self.drawn_at.saturating_add(FRAME);
        let is_wanted = self.is_stale || self.outbox.has_unsent();
        // Nothing reports that an answer has come, so this is polled.
        let is_wanted = is_wanted || self.outbox.is_waiting();
        // Nor that the writer has finished a frame.
        if is_wanted || writer::is_busy() {
            return Some(frame);
        }
        let settled = self.settle_at.map(|at| at.max(frame));
        let moved = self.drawn_at.saturating_add(MOVING);
        let moved = self.model.is_moving().then_some(moved);
        moved.into_iter().chain(settled).min()
    }

    /// Draws, if a frame is due.
    ///
    /// # Errors
    /// If the terminal cannot be drawn on, or if an operation on it has failed since the last frame.
    pub fn draw(&mut self) -> io::Result<()> {
        if let Some(error) = self.failure.take().or_else(writer::failure) {
            return Err(error);
        }
        let now = self.transport.now();
        if self.next_frame().is_none_or(|at| at > now) {
            return Ok(());
        }
        self.settle_at = self.settle_at.filter(|at| *at > now);
        // A stopped process is not informed of a new terminal size.
        let size = self.terminal.size()?;
        if size != self.model.size {
            self.model.handle(Event::Resized(size), Timestamp::now());
            self.terminal.invalidate();
        }
        self.model.detail = Terminal::detail();
        self.observe();
        self.send();
        for effect in self.model.take_effects() {
            // Before a frame the model requests densities only.
            let _ = self.carry_out(effect);
        }
        if let Some(next) = self.requests.send(&self.model, &self.lookup, now) {
            self.draw_again_at(next);
        }
        if self.requests.have_pictures_moved(&self.model) {
            self.terminal.invalidate();
        }
        let is_drawn = self.terminal.draw(&self.model)?;
        (self.is_stale, self.drawn_at) = (!is_drawn, now);
        if let Some(until) = self.model.lit_until() {
            self.draw_again_at(until);
        }
        // The read-ahead grows for a while after playback is paused.
        let read_to = self.reach.get();
        if read_to != self.read_to || self.reach.looking_up().is_some() {
            self.read_to = read_to;
            self.settle_at
                .get_or_insert(now.saturating_add(SETTLE_DELAY));
        }
        Ok(())
    }

    fn observe(&mut self) {
        for outcome in self.outbox.outcomes() {
            self.steps.take(outcome);
        }
        // A requested change is shown at once; the player's older state does not undo it.
        let is_settled = self.outbox.is_settled();
        let status = self.transport.status();
        let counts = self.transport.topic_counts();
        if is_settled {
            self.model.set_muted(|topic| self.transport.is_muted(topic));
            if let Some(status) = status {
                self.model.adopt_played(status.played);
                self.model.adopt_settings(&status, Timestamp::now());
            }
        }
        self.model.set_look_up(self.reach.looking_up());
        let is_answered = !self.outbox.is_waiting() && !self.outbox.has_unsent();
        let stepped = self.steps.ended(&counts, is_answered);
        self.model
            .observe(self.transport.now(), status, counts, self.reach.get());
        self.model.show_steps(&stepped, Timestamp::now());
        // Lines of the log take rows of the table.
        self.model.scroll_to_selection();
        if self.model.wants_damaged_parts(self.lookup.known_damage()) {
            self.lookup.damaged();
        }
    }

    fn draw_again_at(&mut self, at: Time<Steady>) {
        self.settle_at = Some(self.settle_at.map_or(at, |known| known.min(at)));
    }

    fn carry_out(&mut self, effect: Effect) -> Option<ScreenRequest> {
        match effect {
            Effect::Command(command) => {
                if matches!(command, Command::Step(_) | Command::StepTopic(..)) {
                    self.steps.begin(self.transport.topic_counts());
                }
                self.outbox.push(command);
            }
            Effect::Outline(range) => self.lookup.outline(range),
            Effect::Find(expression) => self.lookup.find(FindRequest::Begin(expression)),
            Effect::EndFind => self.lookup.find(FindRequest::End),
            Effect::Redraw => {
                self.requests.forget_pictures(&mut self.model);
                self.terminal.redraw();
            }
            Effect::Suspend => return Some(ScreenRequest::Suspend),
            Effect::AddMark(mark) => return Some(ScreenRequest::AddMark(mark)),
            Effect::RemoveMark(time) => return Some(ScreenRequest::RemoveMark(time)),
            Effect::Cut(request) => return Some(ScreenRequest::Cut(request)),
            Effect::CopyCommand => return Some(ScreenRequest::CopyCommand),
            Effect::QuitToResume => {
                self.outbox.close();
                return Some(ScreenRequest::QuitToResume);
            }
            Effect::Interrupt => {
                self.outbox.close();
                return Some(ScreenRequest::Interrupt);
            }
            Effect::Quit => {
                self.outbox.close();
                return Some(ScreenRequest::Quit);
            }
        }
        None
    }

    fn send(&mut self) {
        for to in self.outbox.send(self.transport.now()) {
            self.model.seek_sent(to);
        }
    }
}
