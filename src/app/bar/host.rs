//! [`Host`]: what the loop of the bar needs of the run that the bar controls, in this process or elsewhere.

use std::convert::Infallible;
use std::time::Duration;

use bagplay::cli::Exit;
use bagplay::marks::Mark;
use bagplay::player::Transport;
use bagplay::time::{Ros, Steady, Time};
use bagplay::tui::{CutRequest, Event, EventSink, Model};
use crossbeam_channel::Receiver;

use crate::app::network::NetworkEvent;

/// The longest interval between two signals of one cause.
pub(super) const SOON: Duration = Duration::from_millis(300);

/// A run that the bar controls.
pub(crate) trait Host {
    /// The command line that shows what this bar shows, in another terminal or later; `None` if there is none now.
    fn command_line(&self, model: &Model) -> Option<String>;

    /// Remembers a position of the recording for its next run.
    fn remember(&mut self, position: Time<Ros>);

    /// A channel that is disconnected when there is nothing more to show.
    fn done(&self) -> &Receiver<Infallible>;

    /// Signals that end the run.
    fn signals(&self) -> &Receiver<Exit>;

    /// Network events of this process.
    fn network_events(&self) -> &Receiver<NetworkEvent>;

    /// The handle of the player.
    fn transport(&self) -> &Transport;

    /// The first events for the screen, which add to its model.
    fn first_events(&self) -> Vec<Event>;

    /// Handles network events; returns the events for the screen.
    fn take(&mut self, happened: &[NetworkEvent]) -> Vec<Event>;

    /// The motion of playback has changed.
    fn has_moved(&mut self);

    /// When [`Host::look`] has something to do, even without an event.
    fn deadline(&self) -> Option<Time<Steady>>;

    /// Does what is due; returns the events for the screen.
    fn look(&mut self) -> Vec<Event>;

    /// A mark was set on the screen.
    fn add_mark(&mut self, mark: Mark);

    /// A mark was removed on the screen.
    fn remove_mark(&mut self, time: Time<Ros>);

    /// Waits until the marks are saved, for this time at most.
    fn finish_marks(&mut self, timeout: Duration);

    /// Writes a part of the recording; `told` gets to know why it is not written.
    fn cut(&mut self, request: CutRequest, told: EventSink);

    /// A signal requested the end.
    fn interrupt(&mut self, exit: Exit);

    /// The user leaves the bar.
    fn leave(&mut self);

    /// The exit code, as far as it has been decided.
    fn exit(&self) -> Exit;

    /// Whether the end was requested.
    fn is_ending(&self) -> bool;

    /// Whether the end was requested and takes long.
    fn is_late(&self) -> bool;
}
