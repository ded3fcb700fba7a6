//! [`PictureFinder`]: finds the pictures of a bag, and encodes them for the terminal.

use std::collections::HashMap;
use std::sync::Arc;

use super::found::{EncodedPicture, PictureAt, PictureSlot};
use super::style::PictureStyle;
use crate::bag::{Bag, Direction, Key, Selection, StartAt, TopicId};
use crate::picture::{Picture, PictureReader};
use crate::time::{Ros, Time};

/// How many bytes a search may hold open, besides the chunk that it opens.
const MAX_OPEN_BYTES: u64 = 16 << 20;

/// Finds pictures, one at a time.
#[derive(Debug)]
pub(crate) struct PictureFinder {
    bag: Bag,
    /// Of each topic that was asked for: how its pictures are read, or why not.
    readers: HashMap<TopicId, Result<PictureReader, String>>,
    /// The last picture of each topic.
    last: HashMap<TopicId, LastPicture>,
}

#[derive(Debug)]
struct LastPicture {
    slot: PictureSlot,
    message: Key,
    picture: Arc<Picture>,
    encoded: Option<EncodedPicture>,
}

impl PictureFinder {
    pub(crate) fn new(bag: Bag) -> Self {
        Self {
            bag,
            readers: HashMap::new(),
            last: HashMap::new(),
        }
    }

    /// Encodes each picture again when it is asked for.
    pub(crate) fn forget(&mut self) {
        self.last.clear();
    }

    /// The last picture of a topic at or before a time, for this room. `is_wanted` is called before each chunk is read,
    /// and `false` ends the search without a picture.
    pub(crate) fn find(
        &mut self,
        slot: PictureSlot,
        at: Time<Ros>,
        style: &PictureStyle,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> PictureAt {
        let only = Selection::of([slot.topic], &self.bag);
        let cursor = self.bag.cursor(&only, StartAt::At(at), Direction::Reverse);
        let message = match cursor.holding(MAX_OPEN_BYTES).next_while(is_wanted) {
            None => return PictureAt::NoMessage,
            Some(Err(damage)) => return PictureAt::Problem(damage.to_string()),
            Some(Ok(message)) => message,
        };
        let last = self.last.get(&slot.topic);
        let last = last.filter(|last| last.slot == slot && last.message == message.key);
        let (picture, encoded) = if let Some(last) = last {
            (last.picture.clone(), last.encoded.clone())
        } else {
            let reader = self.reader(slot.topic).as_ref();
            let picture = reader.map_err(String::clone).and_then(|reader| {
                let picture = reader.read(&message.payload, style.room(slot.cells));
                picture.map_err(|error| error.to_string())
            });
            let picture = match picture {
                Ok(picture) => Arc::new(picture),
                Err(problem) => return PictureAt::Problem(problem),
            };
            let encoded = style.encode(slot.topic, &picture.pixels);
            let last = LastPicture {
                slot,
                message: message.key,
                picture: picture.clone(),
                encoded: encoded.clone(),
            };
            self.last.insert(slot.topic, last);
            (picture, encoded)
        };
        PictureAt::Picture {
            log_time: message.log_time,
            picture,
            encoded,
        }
    }

    fn reader(&mut self, topic: TopicId) -> &Result<PictureReader, String> {
        let bag = &self.bag;
        self.readers.entry(topic).or_insert_with(|| {
            let topic = bag.topics().get(topic.index());
            match topic.and_then(PictureReader::new) {
                Some(reader) => reader.map_err(|error| error.to_string()),
                None => Err("this topic has no pictures".to_owned()),
            }
        })
    }
}
