//! [`CueAt`]: what is asked of a cue, and [`Cued`]: what it yields, as plain values.
//!
//! Used by the cue, by the worker behind it, and by the player.

use std::sync::Arc;

use crate::bag::damage::Damage;
use crate::bag::message::{Message, TopicId};
use crate::bag::walk::selection::{Direction, StartAt};
use crate::time::TimeRange;

/// Called when a cue that was found empty has an item, or ends. It must not block.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// Where a cue starts, which way it goes and what it covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CueAt {
    /// The first message.
    pub from: StartAt,
    /// The direction of play.
    pub direction: Direction,
    /// Only messages in this closed range; none if it lies behind `from`.
    pub range: TimeRange,
    /// Whether the latched messages at or before `from` come first, whichever the direction and the range.
    pub refill: bool,
    /// Only this topic, refills too; nothing if it is none of those that the cues are over. Chunks that
    /// have no message of it by their index are not opened.
    pub only: Option<TopicId>,
}

/// What a cue yields.
#[derive(Clone, Debug)]
pub enum Cued {
    /// A latched message from before the start.
    Refill(Message),
    /// The next message.
    Message(Message),
    /// A damaged place that is passed over.
    Damage(Damage),
}
