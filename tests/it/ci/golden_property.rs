//! Any one value that is changed anywhere in a recording is found and named exactly, and nothing else is.

use bagplay::bag::Bag;
use bagplay::ci::judge::compare::{Rules, compare};
use proptest::prelude::*;

use crate::support::cdr::Cdr;
use crate::support::typed::{Definition, Typed, definition};

/// A value of a message.
#[derive(Clone, PartialEq, Debug)]
enum Value {
    F64(f64),
    F32(f32),
    I16(i16),
    U8(u8),
    Text(String),
}

impl Value {
    fn shown(&self) -> String {
        match self {
            Self::F64(value) => format!("{value:?}"),
            Self::F32(value) => format!("{value:?}"),
            Self::I16(value) => value.to_string(),
            Self::U8(value) => value.to_string(),
            Self::Text(text) => format!("{text:?}"),
        }
    }

    /// Another value of the same kind.
    fn changed(&self) -> Self {
        match self {
            Self::F64(value) => Self::F64(if value.is_nan() { 0.0 } else { value + 1.0 }),
            Self::F32(value) => Self::F32(if value.is_nan() { 0.0 } else { value + 1.0 }),
            Self::I16(value) => Self::I16(value.wrapping_add(1)),
            Self::U8(value) => Self::U8(value.wrapping_add(1)),
            Self::Text(text) => Self::Text(format!("{text}!")),
        }
    }
}

fn type_of_all() -> Definition {
    definition(
        "p/msg/All",
        "std_msgs/Header header\nfloat64 a\nfloat32[3] b\nInner[] c\nuint8 d\nInner e",
        &[
            (
                "std_msgs/Header",
                "builtin_interfaces/Time stamp\nstring frame_id",
            ),
            ("builtin_interfaces/Time", "int32 sec\nuint32 nanosec"),
            (
                "p/Inner",
                "int16 x\nstring s\nuint8[] bytes\nfloat64[] wide",
            ),
        ],
    )
}

/// A message: its values by path, in order. Lengths of arrays are found in the paths.
#[derive(Clone, Debug)]
struct Message {
    values: Vec<(String, Value)>,
    inner: Vec<(usize, usize)>,
}

fn inner_values(path: &str, bytes: &[u8], wide: &[f64], x: i16, s: &str) -> Vec<(String, Value)> {
    let mut values = vec![
        (format!("{path}.x"), Value::I16(x)),
        (format!("{path}.s"), Value::Text(s.to_owned())),
    ];
    let bytes = (0..)
        .zip(bytes)
        .map(|(n, it): (u32, _)| (format!("{path}.bytes[{n}]"), Value::U8(*it)));
    values.extend(bytes);
    let wide = (0..)
        .zip(wide)
        .map(|(n, it): (u32, _)| (format!("{path}.wide[{n}]"), Value::F64(*it)));
    values.extend(wide);
    values
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![-1e6..1e6, Just(f64::NAN), Just(0.0), Just(-0.0)]
}

prop_compose! {
    fn inner()(
        bytes in prop::collection::vec(any::<u8>(), 0..20),
        wide in prop::collection::vec(float(), 0..5),
        x in any::<i16>(),
        s in "[a-z]{0,9}",
    ) -> (Vec<u8>, Vec<f64>, i16, String) {
        (bytes, wide, x, s)
    }
}

prop_compose! {
    fn message()(
        a in float(),
        b in prop::array::uniform3(-1e3_f32..1e3),
        d in any::<u8>(),
        all in prop::collection::vec(inner(), 1..6),
    ) -> Message {
        let mut values = vec![("a".to_owned(), Value::F64(a))];
        values.extend((0..).zip(b).map(|(n, it): (u32, _)| (format!("b[{n}]"), Value::F32(it))));
        let lengths = all.iter().map(|(bytes, wide, ..)| (bytes.len(), wide.len())).collect();
        let (last, list) = all.split_last().unwrap();
        for (n, (bytes, wide, x, s)) in list.iter().enumerate() {
            values.extend(inner_values(&format!("c[{n}]"), bytes, wide, *x, s));
        }
        values.push(("d".to_owned(), Value::U8(d)));
        let (bytes, wide, x, s) = last;
        values.extend(inner_values("e", bytes, wide, *x, s));
        Message { values, inner: lengths }
    }
}

fn put(to: Cdr, value: &Value) -> Cdr {
    match value {
        Value::F64(value) => to.f64(*value),
        Value::F32(value) => to.f32(*value),
        Value::I16(value) => to.i16(*value),
        Value::U8(value) => to.u8(*value),
        Value::Text(text) => to.text(text),
    }
}

fn payload(message: &Message, stamp: u64, to: Cdr) -> Vec<u8> {
    let mut values = message.values.iter().map(|(_, value)| value);
    let mut to = to.header(stamp, "f");
    let some = |to: Cdr, values: &mut dyn Iterator<Item = &Value>, count: usize| {
        values.take(count).fold(to, put)
    };
    to = some(to, &mut values, 4);
    let (end, list) = message.inner.split_last().unwrap();
    let inner = |to: Cdr, values: &mut dyn Iterator<Item = &Value>, lengths: &(usize, usize)| {
        let to = some(to, values, 2).u32(u32::try_from(lengths.0).unwrap());
        let to = some(to, values, lengths.0).u32(u32::try_from(lengths.1).unwrap());
        some(to, values, lengths.1)
    };
    to = to.u32(u32::try_from(list.len()).unwrap());
    for lengths in list {
        to = inner(to, &mut values, lengths);
    }
    to = some(to, &mut values, 1);
    let to = inner(to, &mut values, end);
    assert!(values.next().is_none());
    to.done()
}

fn recorded(messages: &[Message], to: &Cdr) -> Bag {
    let mut file = Typed::new();
    let topic = file.topic("/all", &type_of_all());
    for (n, message) in (1..).zip(messages) {
        file.message(topic, n * 1000, &payload(message, n * 10, to.clone()));
    }
    file.bag()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_value_is_found_and_named(
        messages in prop::collection::vec(message(), 1..8),
        at in any::<prop::sample::Index>(),
        field in any::<prop::sample::Index>(),
        is_big in any::<bool>(),
        filler in any::<u8>(),
    ) {
        let to = if is_big { Cdr::big() } else { Cdr::little() };
        let to = to.filled_with(filler);
        let reference = recorded(&messages, &Cdr::little());
        let same = compare(&reference, &recorded(&messages, &to), &Rules::default()).unwrap();
        prop_assert!(same.is_equal(), "{}", same);

        let index = at.index(messages.len());
        let mut changed = messages.clone();
        let field = field.index(changed[index].values.len());
        let (path, value) = &mut changed[index].values[field];
        let (path, before) = (path.clone(), value.clone());
        *value = before.changed();
        let after = value.clone();
        let other = compare(&reference, &recorded(&changed, &to), &Rules::default()).unwrap();
        let first = other.first.as_ref().unwrap();
        prop_assert_eq!(first.index, index as u64);
        prop_assert_eq!(&first.field, &path);
        prop_assert_eq!(&first.values, &(before.shown(), after.shown()));
        let topic = &other.topics[0];
        prop_assert_eq!((topic.equal, topic.different), (messages.len() as u64 - 1, 1));
        prop_assert_eq!(topic.fields.iter().map(|it| it.values).sum::<u64>(), 1);

        let rules = format!("[[rule]]\nfields = ['{path}']\nignore = true\n");
        let rules = Rules::parse(&rules, "g").unwrap();
        let ignored = compare(&reference, &recorded(&changed, &to), &rules).unwrap();
        prop_assert!(ignored.is_equal(), "{}", ignored);
    }
}
