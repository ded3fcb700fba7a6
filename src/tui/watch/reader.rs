//! [`read`]: reads the values of watched fields over a range.

use std::ops::ControlFlow;

use super::pin::{Pin, WatchedField};
use super::series::{Series, WatchedValue};
use crate::bag::{Bag, Direction, Message, Selection, StartAt};
use crate::decode::{FieldReader, FieldValue, HeaderStamp, value_names};
use crate::time::{Duration, TimeRange};

/// How many bytes a read may hold open, besides the chunk that it opens.
const MAX_OPEN_BYTES: u64 = 16 << 20;
/// The most messages and the most bytes of payload of one read. Beyond that the values end early, with the reason.
const MOST_MESSAGES: u64 = 1_000_000;
const MOST_BYTES: u64 = 2 << 30;

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
                None => Self::Nothing("its messages have no header".to_owned()),
            },
        }
    }

    /// The value in a message; `None` if it has none.
    fn value(&self, message: &Message) -> Result<Option<WatchedValue>, String> {
        match self {
            Self::Field(reader) => {
                let mut found = None;
                let mut visit = |_: &[u64], value: FieldValue<'_>| {
                    found = Some(watched(&value));
                    ControlFlow::Break(())
                };
                reader
                    .read(&message.payload, &mut visit)
                    .map_err(|error| error.to_string())?;
                Ok(found)
            }
            Self::Delay(stamp) => Ok(stamp
                .read(&message.payload)
                .map(|stamp| seconds(message.log_time.saturating_since(stamp)))),
            Self::Nothing(_) => Ok(None),
        }
    }
}

fn seconds(span: Duration) -> WatchedValue {
    WatchedValue::Number(span.as_secs_f64())
}

fn watched(value: &FieldValue<'_>) -> WatchedValue {
    match value {
        FieldValue::Bool(value) => WatchedValue::Number(f64::from(u8::from(*value))),
        #[expect(clippy::cast_precision_loss, reason = "it is drawn")]
        FieldValue::Integer(value) => WatchedValue::Number(*value as f64),
        FieldValue::Float32(value) => WatchedValue::Number(f64::from(*value)),
        FieldValue::Float64(value) => WatchedValue::Number(*value),
        FieldValue::Time(nanos) => seconds(Duration::from_nanos(*nanos)),
        FieldValue::Text(text) => WatchedValue::text(text),
    }
}

/// The values of each pin over a range. `goes_on` is asked before each chunk and now and then between; `false` ends the
/// read without a result.
pub(crate) fn read(
    bag: &Bag,
    pins: &[Pin],
    range: TimeRange,
    goes_on: &mut dyn FnMut() -> bool,
) -> Option<Vec<Series>> {
    let accesses: Vec<Access> = pins.iter().map(|pin| Access::new(bag, pin)).collect();
    let mut all = vec![Series::new(range); pins.len()];
    for ((series, access), pin) in all.iter_mut().zip(&accesses).zip(pins) {
        if let Access::Nothing(reason) = access {
            series.problem = Some(reason.clone());
        }
        if let (WatchedField::Value(path), Some(topic)) =
            (&pin.field, bag.topics().get(pin.topic.index()))
        {
            series.names = value_names(topic, path);
        }
    }
    let is_read = |(_, access): &(&Pin, &Access)| !matches!(access, Access::Nothing(_));
    let topics = pins.iter().zip(&accesses).filter(is_read);
    let topics = Selection::of(topics.map(|(pin, _)| pin.topic), bag);
    let cursor = bag.cursor_within(
        &topics,
        StartAt::At(range.start()),
        Direction::Forward,
        range,
    );
    let mut cursor = cursor.holding(MAX_OPEN_BYTES);
    let (mut messages, mut bytes, mut is_wanted) = (0, 0, true);
    while let Some(next) = cursor.next_while(|| {
        is_wanted = goes_on();
        is_wanted
    }) {
        // Playing reports damage.
        let Ok(message) = next else { continue };
        messages += 1;
        bytes += message.payload.len() as u64;
        let of_topic = pins.iter().zip(&accesses).zip(&mut all);
        for ((_, access), series) in of_topic.filter(|((pin, _), _)| pin.topic == message.topic) {
            match access.value(&message) {
                Ok(Some(value)) => series.push(message.key.time, value),
                Ok(None) => {}
                Err(error) => series.problem = Some(error),
            }
        }
        if messages == MOST_MESSAGES || bytes >= MOST_BYTES {
            for series in &mut all {
                series.problem = Some("too much to read: the values end early".to_owned());
            }
            break;
        }
        if messages % 4096 == 0 && !goes_on() {
            return None;
        }
    }
    is_wanted.then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::TopicId;

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

    #[test]
    fn a_read_that_is_no_longer_wanted_has_no_result() {
        let bag = demo();
        let pins = [pin(&bag, "/imu", WatchedField::Delay)];
        let range = bag.range().unwrap();
        assert_eq!(read(&bag, &pins, range, &mut || false), None);
        assert!(read(&bag, &pins, range, &mut || true).is_some());
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
        let found = read(&bag, &pins, bag.range().unwrap(), &mut || true).unwrap();
        assert_eq!(found.len(), 2);
        assert!(
            found[0].problem.as_ref().unwrap().contains("`no`"),
            "{:?}",
            found[0].problem
        );
        assert_eq!(found[1].problem.as_deref(), Some("there is no such topic"));
    }
}
