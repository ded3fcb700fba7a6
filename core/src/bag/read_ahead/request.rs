//! [`CueAt`]: what a cue is to read, and [`Cued`]: what it yields, as plain values.
//!
//! Used by the cue, by its worker and by the player.

use std::sync::Arc;

use crate::bag::damage::Damage;
use crate::bag::message::{Message, TopicId};
use crate::bag::walk::selection::{Direction, StartAt};
use crate::time::TimeRange;

/// Called when a cue that was found empty has an item or ends. It must not block.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// Where a cue starts, in which direction it reads, and what it covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CueAt {
    /// Where it starts.
    pub from: StartAt,
    /// The direction of play.
    pub direction: Direction,
    /// Only messages in this closed range; none if the whole range is behind `from`.
    pub range: TimeRange,
    /// Whether the latched messages at or before `from` come first; independent of direction and range.
    pub refill: bool,
    /// Only this topic, also for refills; nothing if the cues do not cover it. Chunks whose index lists no message of
    /// it are not opened.
    pub only: Option<TopicId>,
}

/// What a cue yields.
#[derive(Clone, Debug)]
pub enum Cued {
    /// A latched message from before the start.
    Refill(Message),
    /// The next message.
    Message(Message),
    /// A damaged place, which is skipped.
    Damage(Damage),
}
