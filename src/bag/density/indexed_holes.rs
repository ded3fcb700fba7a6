//! Finds holes and usual times between messages from message indexes alone; no chunk is opened.

use super::hole_finder::HoleFinder;
use super::timing::{self, Timing};
use crate::bag::index::contents::Contents;
use crate::bag::mcap::message_index;
use crate::bag::message::TopicId;
use crate::bag::open::options::MessageOrder;
use crate::time::{Ros, Time, TimeRange};

/// In recordings with more messages than these, message indexes are not read for holes: they would be more than 32 MB.
const MOST: usize = 2_000_000;

/// The holes and the usual times between messages. `None` if message indexes do not list all messages by the time that
/// orders the bag, if there are more than two million messages, or if `is_wanted`, which is called at each chunk,
/// returns `false`.
pub(crate) fn find(contents: &Contents, is_wanted: &mut dyn FnMut() -> bool) -> Option<Timing> {
    let files = contents.files.iter().filter_map(|file| file.range);
    let Some(range) = files.reduce(TimeRange::union) else {
        return Some(Timing {
            holes: Some(Vec::new()),
            periods: vec![None; contents.topics.len()],
        });
    };
    let mut counts = contents.files.iter().map(|file| file.message_count);
    let declared = counts.try_fold(0_u64, |sum, count| Some(sum.saturating_add(count?)));
    let are_too_many = declared.is_some_and(|count| count > MOST as u64);
    if contents.order != MessageOrder::Received || are_too_many {
        return None;
    }
    let mut messages: Vec<(Time<Ros>, TopicId)> = Vec::new();
    for chunk in &contents.chunks {
        let indexes = &chunk.place.message_indexes;
        let input = contents.input(chunk.input);
        if !is_wanted() || indexes.is_empty() || input.has_wrong_index() {
            return None;
        }
        for indexed in indexes {
            let topic = contents.topic_of(chunk.input, indexed.channel)?;
            let entries = message_index::read(&input.source, &chunk.place, indexed.channel)?;
            if messages.len() + entries.len() > MOST {
                return None;
            }
            messages.extend(entries.into_iter().map(|(time, _)| (time, topic)));
        }
    }
    if declared.is_some_and(|count| count != messages.len() as u64) {
        return None;
    }
    messages.sort_unstable_by_key(|(time, _)| *time);
    let periods = timing::periods(&messages, contents.topics.len());
    let mut finder = HoleFinder::new(&contents.topics, range);
    for (time, topic) in messages {
        finder.add(topic, time);
    }
    let holes = finder.finish();
    Some(Timing { holes, periods })
}
