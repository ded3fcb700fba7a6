//! [`read`]: reads the values of watched fields over a range.

use std::ops::ControlFlow;
use std::time::Instant;

use super::pin::{Pin, WatchedField};
use super::series::{Series, WatchedValue};
use crate::bag::{Bag, Direction, Message, Selection, StartAt, TopicId};
use crate::decode::{FieldReader, FieldValue, HeaderStamp, value_names};
use crate::time::{Ros, Time, TimeRange};
use crate::tui::pacing::wall_now;

/// How many bytes a read may hold open, besides the chunk that it opens.
const MAX_OPEN_BYTES: u64 = 16 << 20;
/// How many messages are read between two questions whether to go on, if no chunk has to be opened.
const MESSAGES_AT_ONCE: u64 = 4096;

/// How the value of one pin is read from a message.
enum Access {
    Field(FieldReader),
    Delay(HeaderStamp),
    /// There is none, and why.
    Nothing(String),
}

impl Access {
    fn new(bag: &Bag, pin: &Pin) -> Self {
        let Some(topic) = bag.topics().get(pin.topic.index()) else {
            return Self::Nothing("there is no such topic".to_owned());
        };
        match &pin.field {
            WatchedField::Value(path) => match FieldReader::new(topic, path) {
                Ok(reader) => Self::Field(reader),
                Err(error) => Self::Nothing(error.to_string()),
            },
            WatchedField::Delay => match topic.schema.as_ref().and_then(HeaderStamp::of) {
                Some(stamp) => Self::Delay(stamp),
                None => Self::Nothing("messages of this topic have no header".to_owned()),
            },
            // Pictures are found one at a time, at the playhead.
            WatchedField::Picture => Self::Nothing("a picture is not a value".to_owned()),
        }
    }

    /// The value in a message; `None` if it has none.
    fn value(&self, message: &Message) -> Result<Option<WatchedValue>, String> {
        match self {
            Self::Field(reader) => {
                let mut found = None;
                let mut visit = |_: &[u64], value: FieldValue<'_>| {
                    found = Some(watched(value));
                    ControlFlow::Break(())
                };
                reader
                    .read(&message.payload, &mut visit)
                    .map_err(|error| error.to_string())?;
                Ok(found)
            }
            Self::Delay(stamp) => Ok(stamp
                .read(&message.payload)
                .map(|stamp| message.log_time.saturating_since(stamp).as_secs_f64())
                .map(WatchedValue::Number)),
            Self::Nothing(_) => Ok(None),
        }
    }
}

fn watched(value: FieldValue<'_>) -> WatchedValue {
    match value {
        FieldValue::Bool(value) => WatchedValue::Bool(value),
        FieldValue::Integer(value) => WatchedValue::Integer(value),
        FieldValue::Float32(value) => WatchedValue::Number(f64::from(value)),
        FieldValue::Float64(value) => WatchedValue::Number(value),
        FieldValue::Time(nanos) => WatchedValue::Time(nanos),
        FieldValue::Text(text) => WatchedValue::text(&text),
    }
}

/// The values of each pin over a range, and the last one before it. `goes_on` is asked before each chunk and now and
/// then between; `false` ends the read without a result. After `deadline` the values end early, with the reason.
pub(crate) fn read(
    bag: &Bag,
    pins: &[Pin],
    (range, deadline): (TimeRange, Instant),
    goes_on: &mut dyn FnMut() -> bool,
) -> Option<Vec<Series>> {
    let accesses = pins.iter().map(|pin| Access::new(bag, pin));
    let mut reading = Reading {
        bag,
        range,
        all: pins
            .iter()
            .zip(accesses)
            .map(|(pin, access)| WatchedTopic::new(bag, pin, access, range))
            .collect(),
        is_wanted: true,
        is_late: false,
    };
    let mut goes_on = || {
        let (is_wanted, is_late) = (goes_on(), wall_now() >= deadline);
        (is_wanted, is_late)
    };
    reading.before(&mut goes_on);
    reading.within(&mut goes_on);
    let series = reading.all.into_iter().map(|it| it.series);
    reading.is_wanted.then(|| series.collect())
}

/// A pin while its values are read.
struct WatchedTopic {
    topic: TopicId,
    access: Access,
    series: Series,
}

impl WatchedTopic {
    fn new(bag: &Bag, pin: &Pin, access: Access, range: TimeRange) -> Self {
        let mut series = match &access {
            Access::Nothing(reason) => Series::failed(range, reason.clone()),
            Access::Field(_) | Access::Delay(_) => Series::new(range),
        };
        let topic = bag.topics().get(pin.topic.index());
        if let (WatchedField::Value(path), Some(topic)) = (&pin.field, topic) {
            series.names = value_names(topic, path);
        }
        Self {
            topic: pin.topic,
            access,
            series,
        }
    }

    fn is_read(&self) -> bool {
        !matches!(self.access, Access::Nothing(_))
    }

    fn take(&mut self, message: &Message) {
        match self.access.value(message) {
            Ok(Some(value)) => self.series.push(message.key.time, value),
            Ok(None) => {}
            Err(error) => self.series.problem = Some(error),
        }
    }
}

struct Reading<'a> {
    bag: &'a Bag,
    range: TimeRange,
    all: Vec<WatchedTopic>,
    is_wanted: bool,
    is_late: bool,
}

impl Reading<'_> {
    fn goes_on(&mut self, ask: &mut dyn FnMut() -> (bool, bool)) -> bool {
        (self.is_wanted, self.is_late) = ask();
        self.is_wanted && !self.is_late
    }

    fn topics(&self) -> Vec<TopicId> {
        let read = self.all.iter().filter(|it| it.is_read());
        let mut topics: Vec<TopicId> = read.map(|it| it.topic).collect();
        topics.sort_unstable();
        topics.dedup();
        topics
    }

    /// The last value of each topic before the range: it holds at its start.
    fn before(&mut self, ask: &mut dyn FnMut() -> (bool, bool)) {
        for topic in self.topics() {
            let only = Selection::of([topic], self.bag);
            let from = StartAt::At(self.range.start());
            let cursor = self.bag.cursor(&only, from, Direction::Reverse);
            let mut cursor = cursor.holding(MAX_OPEN_BYTES);
            while let Some(found) = cursor.next_while(|| self.goes_on(ask)) {
                // Playing reports damage. Messages at the start come again.
                if let Ok(message) = found
                    && message.key.time < self.range.start()
                {
                    self.give(&message);
                    break;
                }
            }
        }
    }

    fn within(&mut self, ask: &mut dyn FnMut() -> (bool, bool)) {
        let topics = Selection::of(self.topics(), self.bag);
        let (range, from) = (self.range, StartAt::At(self.range.start()));
        let cursor = self
            .bag
            .cursor_within(&topics, from, Direction::Forward, range);
        let mut cursor = cursor.holding(MAX_OPEN_BYTES);
        let (mut read_to, mut messages): (Time<Ros>, u64) = (range.start(), 0);
        while let Some(found) = cursor.next_while(|| self.goes_on(ask)) {
            let Ok(message) = found else { continue };
            read_to = message.key.time;
            self.give(&message);
            messages += 1;
            if messages.is_multiple_of(MESSAGES_AT_ONCE) && !self.goes_on(ask) {
                break;
            }
        }
        if self.is_late {
            for watched in self.all.iter_mut().filter(|it| it.is_read()) {
                let reason = "reading takes too long: the values end early";
                watched.series.end_at(read_to, reason);
            }
        }
    }

    fn give(&mut self, message: &Message) {
        for watched in &mut self.all {
            if watched.topic == message.topic && watched.is_read() {
                watched.take(message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::watch::series::ValueAt;

    fn demo() -> Bag {
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
        Bag::open(&[demo]).unwrap()
    }

    fn pin(bag: &Bag, topic: &str, field: WatchedField) -> Pin {
        let at = bag.topics().iter().position(|it| it.name == topic).unwrap();
        Pin {
            topic: TopicId(u32::try_from(at).unwrap()),
            field,
        }
    }

    fn later() -> Instant {
        wall_now() + std::time::Duration::from_secs(3600)
    }

    #[test]
    fn a_read_that_is_no_longer_wanted_has_no_result_and_one_that_takes_too_long_ends_early() {
        let bag = demo();
        let pins = [pin(&bag, "/imu", WatchedField::Delay)];
        let range = bag.range().unwrap();
        assert_eq!(read(&bag, &pins, (range, later()), &mut || false), None);
        let whole = read(&bag, &pins, (range, later()), &mut || true).unwrap();
        assert_eq!(whole[0].problem(), None);
        assert!(matches!(whole[0].at(range.stop()), ValueAt::Known(_)));
        let cut = read(&bag, &pins, (range, wall_now()), &mut || true).unwrap();
        let reason = "reading takes too long: the values end early";
        assert_eq!(cut[0].problem(), Some(reason));
        assert_eq!(cut[0].at(range.stop()), ValueAt::Unread);
    }

    #[test]
    fn a_field_that_is_not_there_is_a_reason_beside_the_others() {
        let bag = demo();
        let topic = bag.topics()[0].name.clone();
        let pins = [
            pin(
                &bag,
                &topic,
                WatchedField::Value("no.such".parse().unwrap()),
            ),
            Pin {
                topic: TopicId(999),
                field: WatchedField::Delay,
            },
        ];
        let range = bag.range().unwrap();
        let found = read(&bag, &pins, (range, later()), &mut || true).unwrap();
        let problems: Vec<&str> = found.iter().filter_map(Series::problem).collect();
        assert!(problems[0].contains("`no`"), "{problems:?}");
        assert_eq!(problems[1], "there is no such topic");
    }

    #[test]
    fn the_last_value_before_the_range_holds_at_its_start() {
        let bag = demo();
        let pins = [pin(
            &bag,
            "/robot_description",
            WatchedField::Value("data".parse().unwrap()),
        )];
        let all = bag.range().unwrap();
        let middle = Time::from_nanos(i64::midpoint(all.start().as_nanos(), all.stop().as_nanos()));
        let range = TimeRange::between(middle, all.stop());
        let found = read(&bag, &pins, (range, later()), &mut || true).unwrap();
        let ValueAt::Known(point) = found[0].at(middle) else {
            panic!("{:?}", found[0].at(middle));
        };
        assert!(point.time < middle && matches!(point.value, WatchedValue::Text(_)));
    }
}
