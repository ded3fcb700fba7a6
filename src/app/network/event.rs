//! [`NetworkEvent`]: an event on one wire of a run.

use bagplay::cli::{Hints, Wire};
use bagplay::wire::WireEvent;

/// An event on one wire.
#[derive(Clone, Debug)]
pub(crate) struct NetworkEvent {
    /// The wire, if the run has several.
    pub(crate) wire: Option<Wire>,
    /// What happened.
    pub(crate) event: WireEvent,
}

impl NetworkEvent {
    /// An event on a wire; `wire` is `None` if the run has no other.
    pub(crate) const fn new(wire: Option<Wire>, event: WireEvent) -> Self {
        Self { wire, event }
    }

    /// As text for the user, with the wire if there are several. With `hints`, what can be done about it, too.
    pub(crate) fn text(&self, hints: Option<&Hints>) -> String {
        let text = hints.map_or_else(|| self.event.to_string(), |hints| hints.event(&self.event));
        self.on_its_wire(&text)
    }

    /// A sentence about this event, with the wire if there are several.
    pub(crate) fn on_its_wire(&self, text: &str) -> String {
        self.wire
            .map_or_else(|| text.to_owned(), |wire| format!("{wire}: {text}"))
    }
}
