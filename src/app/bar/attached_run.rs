//! [`AttachedRun`]: a player elsewhere, as the bar controls it. Leaving it does not end its run.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bagplay::cli::{Exit, same_command_line};
use bagplay::marks::Mark;
use bagplay::player::Transport;
use bagplay::time::{Ros, Steady, Time};
use bagplay::tui::{CutRequest, Event, EventSink, Model};
use crossbeam_channel::{Receiver, Sender, bounded, never};

use super::host::Host;
use crate::app::network::NetworkEvent;
use crate::app::network::mark_book::MarkChange;

/// How many changes of marks may wait for the player.
const WAITING: usize = 256;

/// Ends the bar, from any thread. All clones end the same bar.
#[derive(Clone, Debug)]
pub(crate) struct End(Arc<Mutex<Option<Sender<Infallible>>>>);

impl End {
    /// An end, and a receiver that is disconnected by [`End::end`].
    pub(crate) fn new() -> (Self, Receiver<Infallible>) {
        let (sender, receiver) = bounded(0);
        (Self(Arc::new(Mutex::new(Some(sender)))), receiver)
    }

    /// Ends the bar.
    pub(crate) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A player elsewhere.
#[derive(Debug)]
pub(crate) struct AttachedRun {
    transport: Transport,
    end: End,
    done: Receiver<Infallible>,
    signals: Receiver<Exit>,
    network_events: Receiver<NetworkEvent>,
    marks: Sender<MarkChange>,
    /// The exit code with which the bar was left; `None` while it is shown.
    left: Option<Exit>,
}

impl AttachedRun {
    /// The player behind `transport`, and a receiver of the changes of marks. The caller passes them on to the player.
    pub(crate) fn new(
        transport: Transport,
        (end, done): (End, Receiver<Infallible>),
        signals: Receiver<Exit>,
    ) -> (Self, Receiver<MarkChange>) {
        let (marks, changes) = bounded(WAITING);
        let run = Self {
            transport,
            end,
            done,
            signals,
            network_events: never(),
            marks,
            left: None,
        };
        (run, changes)
    }

    fn change_marks(&self, change: MarkChange) {
        if self.marks.try_send(change).is_err() {
            tracing::warn!("this mark is not saved");
        }
    }

    fn leave_with(&mut self, exit: Exit) {
        self.left.get_or_insert(exit);
        self.end.end();
    }
}

impl Host for AttachedRun {
    fn command_line(&self, _: &Model) -> Option<String> {
        Some(same_command_line(std::env::args_os()))
    }

    fn remember(&mut self, _: Time<Ros>) {
        tracing::warn!("the position of a player elsewhere is not remembered");
    }

    fn cut(&mut self, _: CutRequest, _: EventSink) {
        tracing::warn!("the recording of a player elsewhere cannot be cut");
    }

    fn done(&self) -> &Receiver<Infallible> {
        &self.done
    }

    fn signals(&self) -> &Receiver<Exit> {
        &self.signals
    }

    fn network_events(&self) -> &Receiver<NetworkEvent> {
        &self.network_events
    }

    fn transport(&self) -> &Transport {
        &self.transport
    }

    fn first_events(&self) -> Vec<Event> {
        Vec::new()
    }

    fn take(&mut self, _: &[NetworkEvent]) -> Vec<Event> {
        Vec::new()
    }

    fn has_moved(&mut self) {}

    fn deadline(&self) -> Option<Time<Steady>> {
        None
    }

    fn look(&mut self) -> Vec<Event> {
        Vec::new()
    }

    fn add_mark(&mut self, mark: Mark) {
        self.change_marks(MarkChange::Add(mark));
    }

    fn remove_mark(&mut self, time: Time<Ros>) {
        self.change_marks(MarkChange::Remove(time));
    }

    fn finish_marks(&mut self, _: Duration) {}

    fn interrupt(&mut self, exit: Exit) {
        self.leave_with(exit);
    }

    fn leave(&mut self) {
        self.leave_with(Exit::Done);
    }

    fn exit(&self) -> Exit {
        self.left.unwrap_or(Exit::Done)
    }

    fn is_ending(&self) -> bool {
        self.left.is_some()
    }

    fn is_late(&self) -> bool {
        false
    }
}
