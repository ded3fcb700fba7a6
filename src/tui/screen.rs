//! [`Screen`]: model, terminal and reading for the screen in one; the main thread's loop feeds it.
//!
//! It says when it wants to draw again: at most thirty times a second, while playing; else only after
//! something came in. It never waits for the player or for the recording.

use std::io;

use jiff::Timestamp;
use rustix::process::Signal;

use super::lookup::{Lookup, Tell};
use super::model::Model;
use super::outbox::{FRAME, Outbox};
use super::terminal::Terminal;
use super::update::Event;
use crate::bag::{Bag, Reach, TopicId};
use crate::marks::Mark;
use crate::player::Transport;
use crate::time::{Duration, Ros, Steady, Time};
use crate::tui::model::parts::Effect;
use crate::tui::terminal::job_control::has_shell;
use crate::tui::terminal::writer;

/// How much later what was read ahead, and how fast it went, is shown once more after the last event.
const SETTLED: Duration = Duration::from_millis(250);
/// At most so often the message of a topic is read while playing.
const PEEK: Duration = Duration::from_millis(200);

/// What the loop has to do.
#[derive(Clone, PartialEq, Debug)]
pub enum Wish {
    /// Keep a mark.
    AddMark(Mark),
    /// Forget the mark at this time.
    RemoveMark(Time<Ros>),
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
    /// What went wrong with the terminal since the last picture.
    failure: Option<io::Error>,
    is_stale: bool,
    drawn_at: Time<Steady>,
    settle_at: Option<Time<Steady>>,
    read_to: Option<Time<Ros>>,
    /// The message that was asked for last and has not come.
    peeking: Option<(TopicId, Time<Steady>)>,
    /// When the last message came, and how long that took.
    peeked: Option<(Time<Steady>, Duration)>,
}

impl Screen {
    /// A screen on `terminal`; answers that take time come back through `tell` as events.
    pub fn new(
        mut model: Model,
        terminal: Terminal,
        transport: Transport,
        reach: Reach,
        bag: Bag,
        tell: Tell,
    ) -> io::Result<Self> {
        let recording = model.facts.recording;
        let lookup = Lookup::start(bag, tell)?;
        lookup.outline(recording);
        model.size = terminal.size()?;
        Ok(Self {
            model,
            terminal,
            outbox: Outbox::new(transport.clone()),
            transport,
            reach,
            lookup,
            failure: None,
            is_stale: true,
            drawn_at: Time::MIN,
            settle_at: None,
            read_to: None,
            peeking: None,
            peeked: None,
        })
    }

    /// Takes events, all that are there, and does what they ask for; what is left to the loop comes back.
    pub fn take(&mut self, events: impl IntoIterator<Item = Event>) -> Vec<Wish> {
        self.observe();
        let stamp = Timestamp::now();
        for event in events {
            if let Event::Peeked(peeked) = &event {
                self.has_peeked(peeked.topic);
            }
            if matches!(event, Event::Resized(_)) {
                // It may be what it was, and what was cut off meanwhile is gone all the same.
                self.terminal.forget();
            }
            self.model.take(event, stamp);
            self.is_stale = true;
        }
        let mut wishes = Vec::new();
        for effect in self.model.take_effects() {
            wishes.extend(self.perform(effect));
        }
        self.send();
        if self.is_stale {
            self.settle_at = Some(self.transport.now().saturating_add(SETTLED));
        }
        wishes
    }

    /// Playback moves otherwise than before.
    pub fn has_changed(&mut self) {
        self.is_stale = true;
        self.settle_at = Some(self.transport.now().saturating_add(SETTLED));
    }

    /// Gives the terminal back for a while.
    pub fn give_back(&mut self) {
        self.terminal.give_back();
    }

    /// Takes the terminal again: the process was stopped, and whoever ran meanwhile may have changed anything.
    pub fn take_again(&mut self) {
        self.is_stale = true;
        let done = self.terminal.take_again();
        self.note(done);
    }

    fn note(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.failure = Some(error);
        }
    }

    /// When [`Screen::draw`] wants to be called; `None` if nothing will change by itself.
    pub fn next_frame(&self) -> Option<Time<Steady>> {
        let frame = self.drawn_at.saturating_add(FRAME);
        let is_wanted = self.is_stale || self.model.is_moving() || self.outbox.has_unsent();
        // Whether the last picture has come is looked at once more, as nobody tells.
        if is_wanted || writer::is_busy() {
            return Some(frame);
        }
        self.settle_at.map(|at| at.max(frame))
    }

    /// Draws, if it is time to.
    ///
    /// # Errors
    /// If the terminal cannot be drawn on, now or at whatever was to be done with it since the last picture.
    pub fn draw(&mut self) -> io::Result<()> {
        if let Some(error) = self.failure.take().or_else(writer::failure) {
            return Err(error);
        }
        let now = self.transport.now();
        if self.next_frame().is_none_or(|at| at > now) {
            return Ok(());
        }
        self.settle_at = self.settle_at.filter(|at| *at > now);
        // A process that is stopped is not told when the terminal gets another size.
        let size = self.terminal.size()?;
        if size != self.model.size {
            self.model.take(Event::Resized(size), Timestamp::now());
            self.terminal.forget();
        }
        self.observe();
        self.send();
        for effect in self.model.take_effects() {
            // Nothing but densities is asked for by looking.
            let _ = self.perform(effect);
        }
        self.peek(now);
        let is_drawn = self.terminal.draw(&self.model)?;
        (self.is_stale, self.drawn_at) = (!is_drawn, now);
        // What is read ahead grows for a while after everything else stands.
        let read_to = self.reach.get();
        if read_to != self.read_to {
            self.read_to = read_to;
            self.settle_at.get_or_insert(now.saturating_add(SETTLED));
        }
        Ok(())
    }

    fn observe(&mut self) {
        let status = self.transport.status();
        let counts = self.transport.topic_counts();
        // What was asked for is shown at once, not undone by what the player does not know yet.
        if self.outbox.is_settled() {
            self.model.hear(|topic| self.transport.is_muted(topic));
        }
        self.model
            .observe(self.transport.now(), status, counts, self.reach.get());
    }

    /// Asks for the message that is to be shown, of the same topic not again before it has come. While playing it
    /// costs a tenth of the time at most.
    fn peek(&mut self, now: Time<Steady>) {
        let Some((topic, at)) = self.model.wants_message() else {
            return;
        };
        if self.peeking.is_some_and(|(asked, _)| asked == topic) {
            return;
        }
        let rest = match self.peeked {
            Some((came, cost)) if self.model.is_moving() => {
                came.saturating_add(cost.saturating_mul(9).max(PEEK))
            }
            _ => now,
        };
        if rest <= now {
            self.lookup.peek(topic, at);
            self.peeking = Some((topic, now));
        } else {
            self.settle_at = Some(self.settle_at.map_or(rest, |at| at.min(rest)));
        }
    }

    fn has_peeked(&mut self, topic: TopicId) {
        let now = self.transport.now();
        if let Some((_, since)) = self.peeking.take_if(|(asked, _)| *asked == topic) {
            self.peeked = Some((now, now.saturating_since(since)));
        }
    }

    fn perform(&mut self, effect: Effect) -> Option<Wish> {
        match effect {
            Effect::Command(command) => self.outbox.push(command),
            Effect::Outline(range) => self.lookup.outline(range),
            Effect::Redraw => self.terminal.forget(),
            // The whole job, as the terminal does it otherwise; our own part of it comes as a signal. A parent that
            // has stopped before would have made way for the shell, which wants the terminal in order.
            Effect::Suspend => {
                if has_shell() {
                    self.terminal.give_back();
                }
                let done = rustix::process::kill_current_process_group(Signal::TSTP);
                self.note(done.map_err(io::Error::from));
            }
            Effect::AddMark(mark) => return Some(Wish::AddMark(mark)),
            Effect::RemoveMark(time) => return Some(Wish::RemoveMark(time)),
            Effect::Quit => {
                self.outbox.close();
                return Some(Wish::Quit);
            }
        }
        None
    }

    fn send(&mut self) {
        for to in self.outbox.send(self.transport.now()) {
            self.model.has_sought(to);
        }
    }
}
