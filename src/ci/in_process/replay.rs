//! [`Replay`]: the messages of a recording, one after the other, each at its time.

use std::collections::VecDeque;
use std::sync::Arc;

use super::error::InProcessError;
use super::outputs::{Output, Outputs, Sink};
use super::timeline::{Sleeper, Timeline};
use crate::bag::{Bag, Cursor, Damage, Direction, Message, Selection, StartAt, Topic};
use crate::clock::{Clock, TestClock, Timers};
use crate::output::Occasion;
use crate::time::{Duration, Ros, Time, TimeRange};

/// The most damaged places that are kept.
const MOST_DAMAGE: usize = 1000;

/// A message that an algorithm gets.
#[derive(Clone, Debug)]
pub struct Input {
    /// What the clock shows.
    pub clock: Time<Ros>,
    /// Its topic.
    pub topic: Arc<Topic>,
    /// The message.
    pub message: Message,
    /// Whether it is due, or a latched message from before the start.
    pub occasion: Occasion,
}

/// What became of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Done<S> {
    /// What took the outputs.
    pub sink: S,
    /// How many messages the algorithm got.
    pub messages: u64,
    /// What the clock showed at the end.
    pub end: Time<Ros>,
    /// Damaged places of the recording, which were skipped: the first 1000.
    pub damage: Vec<Damage>,
}

/// A run in this process: an iterator over messages. It ends after an error.
///
/// The clock moves only when the next message is asked for. A sleep on it in the same thread would never end: give work
/// that has to be done later to [`Replay::timers`], or to a thread with a [`Sleeper`].
pub struct Replay<S = Vec<Output>> {
    topics: Vec<Arc<Topic>>,
    refills: VecDeque<Message>,
    cursor: Option<Cursor>,
    timeline: Timeline,
    outputs: Outputs<S>,
    tail: Duration,
    messages: u64,
    damage: Vec<Damage>,
    has_ended: bool,
}

impl<S: Sink> Replay<S> {
    pub(super) fn new(
        bag: &Bag,
        topics: &Selection,
        (from, range): (Time<Ros>, Option<TimeRange>),
        (tail, patience): (Duration, Duration),
        sink: S,
    ) -> Self {
        let timeline = Timeline::new(from, patience);
        let is_late = bag.range().is_some_and(|recorded| recorded.start() < from);
        let (refills, damage) = if is_late {
            bag.latched(topics, from)
        } else {
            (Vec::new(), Vec::new())
        };
        // Those exactly at the start are read as ordinary messages.
        let is_before = |message: &Message| message.key.time < from;
        let start = StartAt::At(from);
        let cursor = |range| bag.cursor_within(topics, start, Direction::Forward, range);
        let mut replay = Self {
            topics: bag.topics().iter().cloned().map(Arc::new).collect(),
            refills: refills.into_iter().filter(is_before).collect(),
            cursor: range.map(cursor),
            outputs: Outputs::new(timeline.clock(), sink),
            timeline,
            tail,
            messages: 0,
            damage: Vec::new(),
            has_ended: false,
        };
        for damage in bag.damage().iter().cloned().chain(damage) {
            replay.note(damage);
        }
        replay
    }

    /// The clock of the run: ROS time.
    pub fn clock(&self) -> Clock<Ros> {
        self.timeline.clock()
    }

    /// The machine of the run, whose steady clock and date move with the recording.
    pub const fn machine(&self) -> &TestClock {
        self.timeline.machine()
    }

    /// Timers that are served by the run, each exactly when it is due, in the thread that asks for messages.
    pub const fn timers(&mut self) -> &mut Timers {
        &mut self.timeline.timers
    }

    /// Where the algorithm publishes.
    pub fn outputs(&self) -> Outputs<S> {
        self.outputs.clone()
    }

    /// To be kept by a thread of the algorithm that sleeps on the clock: the clock stops when a sleep of it ends, and
    /// goes on when it sleeps again.
    pub fn sleeper(&self) -> Sleeper {
        self.timeline.sleeper()
    }

    /// Calls `each` for every message, and ends the run.
    ///
    /// # Errors
    /// That of `each`, which ends the run at once; or of the run itself.
    pub fn run<E: From<InProcessError>>(
        mut self,
        mut each: impl FnMut(Input, &Outputs<S>) -> Result<(), E>,
    ) -> Result<Done<S>, E> {
        let outputs = self.outputs();
        for input in self.by_ref() {
            each(input?, &outputs)?;
        }
        Ok(self.finish())
    }

    /// Ends the run: sleeps on its clock end with an error, and nothing is published any more.
    pub fn finish(self) -> Done<S> {
        Done {
            sink: self.outputs.close().expect("only this closes it"),
            messages: self.messages,
            end: self.timeline.now(),
            damage: self.damage,
        }
    }

    fn note(&mut self, damage: Damage) {
        tracing::warn!("{damage}");
        if self.damage.len() < MOST_DAMAGE {
            self.damage.push(damage);
        }
    }

    /// The next message of the recording.
    fn read(&mut self) -> Option<Message> {
        loop {
            match self.cursor.as_mut()?.next_while(|| true)? {
                Ok(message) => return Some(message),
                Err(damage) => self.note(damage),
            }
        }
    }

    fn advance(&mut self) -> Result<Option<Input>, InProcessError> {
        let (message, occasion) = if let Some(message) = self.refills.pop_front() {
            self.timeline.go_to(self.timeline.now())?;
            (message, Occasion::Refill)
        } else if let Some(message) = self.read() {
            self.timeline.go_to(message.key.time)?;
            (message, Occasion::Due)
        } else {
            let end = self.timeline.now().saturating_add(self.tail);
            self.timeline.go_to(end)?;
            return Ok(None);
        };
        self.messages += 1;
        let topic = &self.topics[message.topic.index()];
        Ok(Some(Input {
            clock: self.timeline.now(),
            topic: Arc::clone(topic),
            message,
            occasion,
        }))
    }
}

impl<S: Sink> Iterator for Replay<S> {
    type Item = Result<Input, InProcessError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let next = self.advance().transpose();
        self.has_ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl<S> std::fmt::Debug for Replay<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay")
            .field("messages", &self.messages)
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}
