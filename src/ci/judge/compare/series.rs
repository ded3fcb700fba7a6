//! [`around`]: the values of a field around a place in two recordings, for a plot.

use crate::bag::{Bag, Direction, Selection, StartAt, TopicId};
use crate::ci::report::Divergence;
use crate::decode::FieldPlace;
use crate::time::Time;

/// How many messages are read before the place, and how many from it on.
const MESSAGES: usize = 60;
/// How many decompressed bytes are held open.
const HELD: u64 = 16 << 20;

type Series = Vec<(i64, f64)>;

/// The values in the reference and in the run by log time, in nanoseconds. Empty if the field is no number. Values that are
/// not finite are left out: a plot cannot show them.
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
    let time = Time::from_nanos(time);
    let mut series = Vec::new();
    let before = bag.cursor(&only, StartAt::At(time), Direction::Reverse);
    let mut last = None;
    for message in before.holding(HELD).flatten().take(MESSAGES) {
        last.get_or_insert(message.key);
        series.extend(value(&place, &message.payload, message.log_time.as_nanos()));
    }
    series.reverse();
    let from = last.map_or(StartAt::At(time), StartAt::After);
    let after = bag.cursor(&only, from, Direction::Forward);
    for message in after.holding(HELD).flatten().take(MESSAGES) {
        series.extend(value(&place, &message.payload, message.log_time.as_nanos()));
    }
    Some(series)
}

fn value(place: &FieldPlace, payload: &[u8], time: i64) -> Option<(i64, f64)> {
    let value = place.read(payload)?.number()?;
    value.is_finite().then_some((time, value))
}
