//! Times and durations as serde values: text, or nanoseconds in binary formats.

use bagplay::time::{Duration, Ros, Time};
use serde::de::Visitor;
use serde::de::value::Error;
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

/// A value of a binary format.
struct Nanos(i64);

impl<'de> Deserializer<'de> for Nanos {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i64(self.0)
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[test]
fn times_and_spans_are_saved_exactly() {
    let (at, ns) = (Time::<Ros>::from_nanos, Duration::from_nanos);
    for nanos in [0, 1, -1, 1_700_000_000_000_000_001, i64::MIN, i64::MAX] {
        let text = serde_json::to_string(&(at(nanos), ns(nanos))).unwrap();
        let read: (Time<Ros>, Duration) = serde_json::from_str(&text).unwrap();
        assert_eq!(read, (at(nanos), ns(nanos)), "{text}");
        assert_eq!(Time::deserialize(Nanos(nanos)).unwrap(), at(nanos));
        assert_eq!(Duration::deserialize(Nanos(nanos)).unwrap(), ns(nanos));
    }
    let text = serde_json::to_string(&(at(1_500_000_000), ns(-1_500_000_000))).unwrap();
    assert_eq!(text, r#"["1.500000000","-1.5s"]"#);
    let wrong = serde_json::from_str::<Duration>(r#""soon""#).unwrap_err();
    assert!(
        wrong
            .to_string()
            .starts_with("`soon` is not a number of seconds")
    );
}
