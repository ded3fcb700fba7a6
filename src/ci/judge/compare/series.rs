//! [`around`]: the values of a field around a place in two recordings, for a plot.

use crate::bag::{Bag, Cursor, Direction, Key, Message, Selection, StartAt, TopicId};
use crate::ci::report::Divergence;
use crate::decode::FieldPlace;
use crate::time::Time;

/// How many messages are read before the place, and how many from it on.
const MESSAGES: usize = 60;
/// How many bytes of messages are read on either side of the place: of large messages, fewer.
const BYTES: usize = 8 << 20;
/// How many decompressed bytes are held open.
const HELD: u64 = 16 << 20;

type Series = Vec<(i64, f64)>;

/// The values in the reference and in the run by log time, in nanoseconds. Empty if the field is no number. Values that
/// are not finite are left out: a plot cannot show them.
pub(super) fn around(
    bags: [&Bag; 2],
    topics: [Option<TopicId>; 2],
    divergence: &Divergence,
) -> (Series, Series) {
    let (a, b) = divergence.times_ns;
    let series = |side: usize, time: Option<i64>| {
        let (topic, time) = (topics[side]?, time?);
        one(bags[side], topic, &divergence.field, time)
    };
    (
        series(0, a).unwrap_or_default(),
        series(1, b).unwrap_or_default(),
    )
}

fn one(bag: &Bag, topic: TopicId, field: &str, time: i64) -> Option<Series> {
    let place = FieldPlace::of(bag.topics().get(topic.index())?, field)?;
    let only = Selection::of([topic], bag);
    let at = StartAt::At(Time::from_nanos(time));
    let (last, mut series) = some(bag.cursor(&only, at, Direction::Reverse), &place);
    series.reverse();
    let from = last.map_or(at, StartAt::After);
    let (_, after) = some(bag.cursor(&only, from, Direction::Forward), &place);
    series.extend(after);
    Some(series)
}

/// The first message of a cursor, and the values in the next ones.
fn some(cursor: Cursor, place: &FieldPlace) -> (Option<Key>, Series) {
    let (mut first, mut series) = (None, Series::new());
    let mut bytes = 0;
    for message in cursor.holding(HELD).flatten().take(MESSAGES) {
        first.get_or_insert(message.key);
        series.extend(value(place, &message));
        bytes += message.payload.len();
        if bytes >= BYTES {
            break;
        }
    }
    (first, series)
}

fn value(place: &FieldPlace, message: &Message) -> Option<(i64, f64)> {
    let value = place.read(&message.payload)?.number()?;
    let time = message.log_time.as_nanos();
    value.is_finite().then_some((time, value))
}
