//! [`MessageFinder`]: finds the message of a topic at or before a time, and decodes it.

use super::decoded::{Decoded, Limits};
use super::decoder::Decoder;
use super::field::HeaderStamp;
use crate::bag::{Bag, Direction, Selection, StartAt, TopicId};
use crate::time::{Ros, Time};

/// How many bytes a search may hold open, besides the chunk that it opens.
const MAX_OPEN_BYTES: u64 = 16 << 20;

/// Arrays of up to nine elements are shown in full: matrices of three by three.
const LIMITS: Limits = Limits {
    elements: 9,
    ..Limits::SCREENS
};

/// The result of a search for the message of a topic at or before a time.
#[derive(Clone, PartialEq, Debug)]
pub enum MessageAt {
    /// There is no such message.
    NoMessage,
    /// The message is in a damaged part of the recording.
    Damaged(String),
    /// The message.
    Message {
        /// When it was received.
        log_time: Time<Ros>,
        /// When it was sent.
        publish_time: Time<Ros>,
        /// The stamp of its header; `None` if its type has none, or if it is not known.
        header_stamp: Option<Time<Ros>>,
        /// How many bytes it has.
        bytes: usize,
        /// Its contents.
        decoded: Decoded,
    },
}

/// Finds messages of a bag, one at a time.
#[derive(Debug)]
pub struct MessageFinder {
    bag: Bag,
    /// What is known about the topic of the last message.
    known: Option<Known>,
}

#[derive(Debug)]
struct Known {
    topic: TopicId,
    decoder: Decoder,
    stamp: Option<HeaderStamp>,
}

impl MessageFinder {
    /// A finder of the messages of `bag`.
    pub fn new(bag: Bag) -> Self {
        Self { bag, known: None }
    }

    /// The last message of a topic at or before a time. It is read from the recording, which may take long: `is_wanted`
    /// is called before each chunk, and `false` ends the search without a message.
    pub fn find(
        &mut self,
        topic: TopicId,
        at: Time<Ros>,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> MessageAt {
        let only = Selection::of([topic], &self.bag);
        let cursor = self.bag.cursor(&only, StartAt::At(at), Direction::Reverse);
        let message = match cursor.holding(MAX_OPEN_BYTES).next_while(is_wanted) {
            None => return MessageAt::NoMessage,
            Some(Err(damage)) => return MessageAt::Damaged(damage.to_string()),
            Some(Ok(message)) => message,
        };
        if self.known.as_ref().is_none_or(|known| known.topic != topic) {
            let found = self.bag.topics().get(topic.index());
            self.known = found.map(|found| Known {
                topic,
                decoder: Decoder::new(found),
                stamp: found.schema.as_ref().and_then(HeaderStamp::of),
            });
        }
        let Some(Known { decoder, stamp, .. }) = &self.known else {
            return MessageAt::NoMessage;
        };
        MessageAt::Message {
            log_time: message.log_time,
            publish_time: message.publish_time,
            header_stamp: stamp.and_then(|stamp| stamp.read(&message.payload)),
            bytes: message.payload.len(),
            decoded: decoder.decode(&message.payload, LIMITS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_ends_when_its_message_is_no_longer_wanted() {
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/demo.mcap");
        let bag = Bag::open(&[demo]).unwrap();
        let end = bag.range().unwrap().stop();
        let mut finder = MessageFinder::new(bag);
        // `is_wanted` is called before each chunk. The last chunk has such a message.
        for patience in [0, 1] {
            let mut asked = 0;
            let mut is_wanted = || {
                asked += 1;
                asked <= patience
            };
            let found = finder.find(TopicId(2), end, &mut is_wanted);
            assert_eq!(found == MessageAt::NoMessage, patience == 0);
            assert_eq!(asked, 1);
        }
    }
}
