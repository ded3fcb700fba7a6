//! [`InAttach`]: what an action does in `play attach`, and the reasons for which it does nothing there: the player is
//! another process, which alone reads the recording.

/// What an action does in `play attach`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InAttach {
    /// The same as in the player's own bar.
    Same,
    /// What this help text says.
    Means(&'static str),
    /// Nothing: the event log says why, in this sentence.
    Refused(&'static str),
}

pub(super) const CLOCK: InAttach =
    InAttach::Refused("/clock can be changed only in the player's own transport bar");
pub(super) const GAPS: InAttach =
    InAttach::Refused("the skipping of gaps can be changed only in the player's own transport bar");
pub(super) const POSITION: InAttach =
    InAttach::Refused("the position is remembered only by the player's own transport bar");
pub(super) const HOLES: InAttach = InAttach::Refused(
    "holes and damage are shown only in the player's own transport bar, and by play info --check",
);
pub(super) const ALERTS: InAttach =
    InAttach::Refused("warnings and errors are shown only in the player's own transport bar");
pub(super) const CUT: InAttach =
    InAttach::Refused("a part can be written only in the player's own transport bar");
pub(super) const WATCH: InAttach =
    InAttach::Refused("fields are watched only in the player's own transport bar");

/// Why there is no search for messages of a topic.
pub(crate) const NO_FIND: &str = "messages are searched for only in the player's own transport bar";
