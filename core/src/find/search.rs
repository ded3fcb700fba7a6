//! [`Search`]: reads the topics that have conditions once, and yields the messages that satisfy one.
//!
//! Chunks without messages of these topics are not opened. Two threads decompress ahead of the thread that searches;
//! memory is bounded by the cursor.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::condition::conditions::Conditions;
use super::condition::matched::Match;
use crate::bag::{Bag, Cursor, Damage, Direction, Message, Selection, StartAt, TopicId};
use crate::decode::FieldError;
use crate::time::{Ros, Time, TimeRange};

/// What a search comes across.
#[derive(Clone, PartialEq, Debug)]
pub enum Found {
    /// A message that satisfies a condition.
    Hit(Hit),
    /// A message that could not be judged.
    Unreadable(Unreadable),
    /// A damaged place of the recording, which is skipped.
    Damage(Damage),
}

/// A message that satisfies a condition.
#[derive(Clone, PartialEq, Debug)]
pub struct Hit {
    /// Its topic.
    pub topic: TopicId,
    /// Its time in the order of the bag.
    pub time: Time<Ros>,
    /// When the recorder received it.
    pub log_time: Time<Ros>,
    /// The expression that it satisfies, and the values by which it does.
    pub matched: Match,
}

/// A message whose payload does not have the type of its topic.
#[derive(Clone, PartialEq, Debug)]
pub struct Unreadable {
    /// Its topic.
    pub topic: TopicId,
    /// When the recorder received it.
    pub log_time: Time<Ros>,
    /// What is wrong with it.
    pub error: FieldError,
}

/// How far a search has come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SearchProgress {
    /// How many messages were judged, the unreadable ones among them.
    pub messages: u64,
    /// The part of the range that lies behind the last message that was read: 0 to 1.
    pub share: f64,
}

/// A search in a recording, in the order of its messages or against it.
#[derive(Debug)]
pub struct Search {
    cursor: Cursor,
    conditions: Arc<Conditions>,
    range: TimeRange,
    direction: Direction,
    progress: SearchProgress,
}

impl Search {
    /// A search in a closed range. The conditions are those of the topics of this bag.
    pub fn new(
        bag: &Bag,
        conditions: impl Into<Arc<Conditions>>,
        range: TimeRange,
        direction: Direction,
    ) -> Self {
        let conditions = conditions.into();
        let topics = Selection::of(conditions.topics(), bag);
        let from = match direction {
            Direction::Forward => range.start(),
            Direction::Reverse => range.stop(),
        };
        let cursor = bag.cursor_within(&topics, StartAt::At(from), direction, range);
        // The search takes messages as fast as they come.
        let is_wanted = Arc::new(AtomicBool::new(true));
        Self {
            cursor: cursor.with_decompressors(is_wanted),
            conditions,
            range,
            direction,
            progress: SearchProgress {
                messages: 0,
                share: 0.0,
            },
        }
    }

    /// How far it has come.
    pub const fn progress(&self) -> SearchProgress {
        self.progress
    }

    /// Searches on to the next hit, unreadable message or damage. Before each chunk that has to be opened, `goes_on` is
    /// asked; if it returns false, this returns `None`, and a later call continues from the same place.
    pub fn next_while(&mut self, mut goes_on: impl FnMut(SearchProgress) -> bool) -> Option<Found> {
        loop {
            let progress = self.progress;
            let message = match self.cursor.next_while(|| goes_on(progress))? {
                Ok(message) => message,
                Err(damage) => return Some(Found::Damage(damage)),
            };
            let found = self.judge(&message);
            if found.is_some() {
                return found;
            }
        }
    }

    fn judge(&mut self, message: &Message) -> Option<Found> {
        self.progress = SearchProgress {
            messages: self.progress.messages + 1,
            share: share(self.range, self.direction, message.key.time),
        };
        let (topic, log_time) = (message.topic, message.log_time);
        match self.conditions.check(topic, &message.payload) {
            Ok(None) => None,
            Ok(Some(matched)) => Some(Found::Hit(Hit {
                topic,
                time: message.key.time,
                log_time,
                matched,
            })),
            Err(error) => Some(Found::Unreadable(Unreadable {
                topic,
                log_time,
                error,
            })),
        }
    }
}

impl Iterator for Search {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        self.next_while(|_| true)
    }
}

fn share(range: TimeRange, direction: Direction, at: Time<Ros>) -> f64 {
    let all = range.duration().as_secs_f64();
    let done = match direction {
        Direction::Forward => at.saturating_since(range.start()),
        Direction::Reverse => range.stop().saturating_since(at),
    };
    if all > 0.0 {
        (done.as_secs_f64() / all).clamp(0.0, 1.0)
    } else {
        0.0
    }
}
