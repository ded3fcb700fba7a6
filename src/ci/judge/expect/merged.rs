//! [`Merged`]: the messages of two recordings in the order of their times.

use std::collections::BTreeSet;

use super::topics::{Bags, Side, TopicKey};
use crate::bag::{Cursor, Damage, Direction, Message, Selection, StartAt};
use crate::time::Time;

/// One of the recordings, and what comes next in it.
struct Reading {
    side: Side,
    cursor: Cursor,
    next: Option<Result<Message, Damage>>,
}

impl Reading {
    fn advance(&mut self) -> Option<Result<Message, Damage>> {
        let next = self.cursor.next();
        std::mem::replace(&mut self.next, next)
    }
}

/// The messages of some topics, by time; at equal times those of the inputs come first.
pub(crate) struct Merged {
    inputs: Option<Reading>,
    outputs: Option<Reading>,
}

impl Merged {
    /// These topics.
    pub(crate) fn new(bags: &Bags<'_>, topics: &BTreeSet<TopicKey>) -> Self {
        let open = |side| {
            let bag = bags.get(side)?;
            let mut ids = topics.iter().filter(|topic| topic.side == side).peekable();
            ids.peek()?;
            let selection = Selection::of(ids.map(|topic| topic.id), bag);
            let mut cursor = bag.cursor(&selection, StartAt::At(Time::MIN), Direction::Forward);
            let next = cursor.next();
            Some(Reading { side, cursor, next })
        };
        Self {
            inputs: open(Side::Inputs),
            outputs: open(Side::Outputs),
        }
    }
}

impl Iterator for Merged {
    type Item = (Side, Result<Message, Damage>);

    fn next(&mut self) -> Option<Self::Item> {
        // Damage is taken at once.
        let time = |reading: &Option<Reading>| match reading.as_ref()?.next.as_ref()? {
            Ok(message) => Some(message.key.time),
            Err(_) => Some(Time::MIN),
        };
        let reading = match (time(&self.inputs), time(&self.outputs)) {
            (Some(input), Some(output)) if output < input => &mut self.outputs,
            (Some(_), _) => &mut self.inputs,
            (None, _) => &mut self.outputs,
        };
        let reading = reading.as_mut()?;
        Some((reading.side, reading.advance()?))
    }
}
