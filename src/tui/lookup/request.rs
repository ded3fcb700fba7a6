//! [`LookupRequest`]: what the screen asks for.

use crate::bag::TopicId;
use crate::find::Expression;
use crate::time::{Ros, Time, TimeRange};
use crate::tui::pictures::requests::PictureRequest;
use crate::tui::watch::pin::Pin;

/// What the screen asks for. Of each kind only the newest request matters.
#[derive(Clone, PartialEq, Debug)]
pub enum LookupRequest {
    /// The density of a range; answered by `Event::Lane`, several times while it becomes known.
    Outline(TimeRange),
    /// The message of a topic at or before a time; answered by `Event::Lookup`.
    Message(TopicId, Time<Ros>),
    /// The holes of the recording; answered by `Event::Holes`, and before it, if they are known, `Event::Periods`,
    /// but not by a player elsewhere.
    Holes,
    /// The parts of the recording that are lost because of damage, as far as it is known; answered by
    /// `Event::Damaged`, but not by a player elsewhere.
    Damaged,
    /// The warnings and errors of nodes; answered by `Event::Alerts`, several times while they become known, but not
    /// by a player elsewhere.
    Alerts,
    /// The messages that satisfy an expression, answered like alerts by `Event::Hits`.
    Find(FindRequest),
    /// The pictures of topics at or before a time; answered by `Event::Pictures`, but not by a player elsewhere.
    Pictures(PictureRequest),
    /// The values of watched fields over a range; answered by `Event::Watched`, but not by a player elsewhere.
    Watch(Vec<Pin>, TimeRange),
}

/// A search, or its end.
#[derive(Clone, PartialEq, Debug)]
pub enum FindRequest {
    /// For this expression.
    Begin(Box<Expression>),
    /// The present search ends.
    End,
}
