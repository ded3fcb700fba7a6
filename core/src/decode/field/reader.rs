//! [`FieldReader`]: reads the values of one path in the messages of a topic; everything before them is skipped.

use std::ops::ControlFlow;

use super::error::FieldError;
use super::json_field;
use super::path::ValuePath;
use super::protobuf::path::ProtobufPath;
use super::protobuf::read::read_protobuf;
use super::ros::elements::Elements;
use super::ros::resolve::{Step, resolve};
use super::value::{FieldKind, FieldValue, Visit};
use crate::bag::Topic;
use crate::decode::decoded::Stop;
use crate::decode::decoder::{Method, method};
use crate::decode::non_ros::protobuf::layout::ProtobufLayout;
use crate::decode::type_layout::{ElementType, FieldLayout, TypeLayout};
use crate::ros::definition::Array;

/// Reads the values of one path in the messages of one topic.
///
/// The definition is parsed once, when the reader is made. What lies behind the last value is not looked at.
#[derive(Clone, Debug)]
pub struct FieldReader {
    path: ValuePath,
    method: FieldMethod,
}

#[derive(Clone, Debug)]
enum FieldMethod {
    Ros(TypeLayout, Vec<Step>, FieldKind),
    Protobuf(ProtobufLayout, ProtobufPath),
    Json,
}

impl FieldReader {
    /// Finds the path in the definition of the topic: an error if the topic has no definition, or the definition no
    /// such field. JSON has no definition that is used: its fields are found in each message.
    pub fn new(topic: &Topic, path: &ValuePath) -> Result<Self, FieldError> {
        let method = match method(topic).map_err(FieldError::definition)? {
            Method::Ros(layout) => {
                let (steps, kind) = resolve(&layout, path)?;
                FieldMethod::Ros(layout, steps, kind)
            }
            Method::Protobuf(layout) => {
                let path = ProtobufPath::new(&layout, path)?;
                FieldMethod::Protobuf(layout, path)
            }
            Method::Json => FieldMethod::Json,
        };
        let path = path.clone();
        Ok(Self { path, method })
    }

    /// The kind of the values. `None` for JSON, where each value has a kind of its own.
    pub const fn kind(&self) -> Option<FieldKind> {
        match &self.method {
            FieldMethod::Ros(.., kind) => Some(*kind),
            FieldMethod::Protobuf(_, path) => Some(path.kind()),
            FieldMethod::Json => None,
        }
    }

    /// Calls `visit` with each value of the path in a message, in order, until it breaks. The first argument has the
    /// indexes of the elements that `[*]` stands for. There is no value for an element that the message does not have,
    /// for `null` in JSON, nor for a field of protobuf that may be missing and is. An error if the payload does not
    /// have the type of the topic; values before that have been visited. Work and memory are bounded by the size of the
    /// payload.
    pub fn read(
        &self,
        payload: &[u8],
        visit: &mut dyn FnMut(&[u64], FieldValue<'_>) -> ControlFlow<()>,
    ) -> Result<(), FieldError> {
        let result = match &self.method {
            FieldMethod::Ros(layout, steps, _) => read_ros(layout, steps, payload, visit),
            FieldMethod::Protobuf(layout, path) => read_protobuf(layout, path, payload, visit),
            FieldMethod::Json => json_field::read(&self.path, payload, visit),
        };
        result.map_err(FieldError::from)
    }
}

fn read_ros(
    layout: &TypeLayout,
    steps: &[Step],
    payload: &[u8],
    visit: &mut Visit<'_>,
) -> Result<(), Stop> {
    let mut walk = Walk {
        elements: Elements::of_payload(layout, payload)?,
        indexes: Vec::new(),
        visit,
    };
    walk.message(layout.root(), steps).map(drop)
}

/// Follows the steps of a path through a payload.
struct Walk<'a, 'v> {
    elements: Elements<'a>,
    /// The elements that `[*]` stands for at the moment.
    indexes: Vec<u64>,
    visit: &'v mut Visit<'v>,
}

impl<'a> Walk<'a, '_> {
    fn message(&mut self, index: usize, steps: &[Step]) -> Result<ControlFlow<()>, Stop> {
        let layout: &'a TypeLayout = self.elements.layout;
        let Some((Step::Field(at), steps)) = steps.split_first() else {
            unreachable!("a path goes from a message to a field");
        };
        let (before, rest) = layout.messages[index].fields.split_at(*at);
        let (field, after) = rest.split_first().expect("the path was resolved");
        self.elements.skip_fields(before)?;
        let flow = self
            .field(field, steps)
            .map_err(|stop| stop.in_field(&field.name))?;
        if flow.is_continue() && self.has_more() {
            self.elements.skip_fields(after)?;
        }
        Ok(flow)
    }

    /// Whether other values may follow, so that this element has to be read to its end.
    fn has_more(&self) -> bool {
        !self.indexes.is_empty()
    }

    fn field(&mut self, field: &FieldLayout, steps: &[Step]) -> Result<ControlFlow<()>, Stop> {
        let element_type = field.element_type;
        if field.array == Array::One {
            return self.element(element_type, steps);
        }
        let count = self.elements.count(field)?;
        let Some((step, steps)) = steps.split_first() else {
            unreachable!("a path goes from an array to its elements or its length");
        };
        match step {
            Step::Element(index) => {
                let at = match u64::try_from(*index) {
                    Ok(index) => Some(index).filter(|index| *index < count),
                    Err(_) => count.checked_sub(index.unsigned_abs()),
                };
                let Some(at) = at else {
                    if self.has_more() {
                        self.elements.skip(element_type, count)?;
                    }
                    return Ok(ControlFlow::Continue(()));
                };
                self.elements.skip(element_type, at)?;
                let flow = self.element(element_type, steps)?;
                if flow.is_continue() && self.has_more() {
                    self.elements.skip(element_type, count - at - 1)?;
                }
                Ok(flow)
            }
            Step::Elements => {
                for at in 0..count {
                    self.elements.step()?;
                    self.indexes.push(at);
                    let flow = self.element(element_type, steps)?;
                    self.indexes.pop();
                    if flow.is_break() {
                        return Ok(flow);
                    }
                }
                Ok(ControlFlow::Continue(()))
            }
            _ => {
                let flow = self.visit(FieldValue::Integer(count.into()));
                if flow.is_continue() && self.has_more() {
                    self.elements.skip(element_type, count)?;
                }
                Ok(flow)
            }
        }
    }

    fn element(
        &mut self,
        element_type: ElementType,
        steps: &[Step],
    ) -> Result<ControlFlow<()>, Stop> {
        let value = match (element_type, steps.first()) {
            (ElementType::Message(index), _) => return self.message(index, steps),
            (ElementType::Stamp(stamp), Some(part)) => {
                let (sec, nanosec) = self.elements.stamp(stamp)?;
                let part = if *part == Step::Sec { sec } else { nanosec };
                FieldValue::Integer(part.into())
            }
            (_, Some(_)) => {
                let length = self.elements.text_length(element_type)?;
                FieldValue::Integer(length as i128)
            }
            (_, None) => self.elements.value(element_type)?,
        };
        Ok(self.visit(value))
    }

    fn visit(&mut self, value: FieldValue<'a>) -> ControlFlow<()> {
        (self.visit)(&self.indexes, value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bag::Schema;

    const NESTED: &str = "string name\nuint8[3] codes\nItem[] items\nbuiltin_interfaces/Time stamp\nwstring wide\n\
        ================================================================================\n\
        MSG: p/Item\nstring id\nfloat64[] x\nPair[2] pairs\n\
        ================================================================================\n\
        MSG: p/Pair\nint16 a\nfloat32 b\n";

    fn topic(encoding: &str, schema: Option<(&str, &str)>) -> Topic {
        Topic {
            name: "/t".to_owned(),
            schema: schema.map(|(encoding, text)| Schema {
                name: "p/msg/T".to_owned(),
                encoding: encoding.to_owned(),
                data: text.to_owned().into(),
            }),
            encoding: encoding.to_owned(),
            offered_qos: Vec::new(),
            type_hash: None,
            ros1_md5: None,
            is_latched: false,
            message_count: None,
        }
    }

    fn nested() -> Topic {
        topic("cdr", Some(("ros2msg", NESTED)))
    }

    /// Two items; the first has two numbers, the second one.
    fn payload() -> Vec<u8> {
        let mut out = vec![];
        let align = |out: &mut Vec<u8>, to: usize| out.resize(out.len().next_multiple_of(to), 0);
        let text = |out: &mut Vec<u8>, text: &str| {
            align(out, 4);
            out.extend(u32::try_from(text.len() + 1).unwrap().to_le_bytes());
            out.extend(text.as_bytes());
            out.push(0);
        };
        text(&mut out, "robot");
        out.extend([7, 8, 9]);
        align(&mut out, 4);
        out.extend(2_u32.to_le_bytes());
        for (id, numbers) in [("one", &[1.5, f64::NAN][..]), ("two", &[-2.0])] {
            text(&mut out, id);
            align(&mut out, 4);
            out.extend(u32::try_from(numbers.len()).unwrap().to_le_bytes());
            for number in numbers {
                align(&mut out, 8);
                out.extend(number.to_le_bytes());
            }
            for a in [-5_i16, 6] {
                align(&mut out, 2);
                out.extend(a.to_le_bytes());
                align(&mut out, 4);
                out.extend(0.25_f32.to_le_bytes());
            }
        }
        out.extend(12_i32.to_le_bytes());
        out.extend(500_000_000_u32.to_le_bytes());
        out.extend(2_u32.to_le_bytes());
        out.extend([u32::from('h').to_le_bytes(), u32::from('i').to_le_bytes()].concat());
        [&[0, 1, 0, 0], &out[..]].concat()
    }

    fn read(topic: &Topic, path: &str, payload: &[u8]) -> Result<Vec<String>, FieldError> {
        let path: ValuePath = path.parse().unwrap();
        let reader = FieldReader::new(topic, &path)?;
        let mut found = Vec::new();
        reader.read(payload, &mut |indexes, value| {
            found.push(format!("{} = {value}", path.at(indexes)));
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    #[test]
    fn every_kind_of_path_is_read() {
        for (path, found) in [
            ("name", &["name = \"robot\""][..]),
            ("name.length", &["name.length = 5"]),
            ("codes[1]", &["codes[1] = 8"]),
            ("codes[-1]", &["codes[-1] = 9"]),
            ("codes.length", &["codes.length = 3"]),
            ("items.length", &["items.length = 2"]),
            ("items[1].id", &["items[1].id = \"two\""]),
            ("items[-2].id", &["items[-2].id = \"one\""]),
            ("items[2].id", &[]),
            ("items[-3].id", &[]),
            (
                "items[*].id",
                &["items[0].id = \"one\"", "items[1].id = \"two\""],
            ),
            (
                "items[*].x[*]",
                &[
                    "items[0].x[0] = 1.5",
                    "items[0].x[1] = NaN",
                    "items[1].x[0] = -2.0",
                ],
            ),
            ("items[*].x[1]", &["items[0].x[1] = NaN"]),
            (
                "items[*].x.length",
                &["items[0].x.length = 2", "items[1].x.length = 1"],
            ),
            (
                "items[1].pairs[*].a",
                &["items[1].pairs[0].a = -5", "items[1].pairs[1].a = 6"],
            ),
            (
                "items[*].pairs[1].b",
                &["items[0].pairs[1].b = 0.25", "items[1].pairs[1].b = 0.25"],
            ),
            ("stamp", &["stamp = 12.5s"]),
            ("stamp.sec", &["stamp.sec = 12"]),
            ("stamp.nanosec", &["stamp.nanosec = 500000000"]),
            ("wide", &["wide = \"hi\""]),
            ("wide.length", &["wide.length = 2"]),
        ] {
            assert_eq!(read(&nested(), path, &payload()).unwrap(), found, "{path}");
        }
    }

    #[test]
    fn a_path_that_the_type_does_not_have_is_refused_with_what_there_is() {
        for (path, what) in [
            (
                "nam",
                "the message has no field `nam`; its fields are name, codes, items, stamp, wide",
            ),
            (
                "items[0].idd",
                "`items[0]` has no field `idd`; its fields are id, x, pairs",
            ),
            (
                "items",
                "`items` is an array: write items[0], items[*] or items.length",
            ),
            ("items.id", "`items` is an array: write items[0]"),
            (
                "items[0]",
                "`items[0]` is a message; name one of its fields: id, x, pairs",
            ),
            ("codes[3]", "`codes` has 3 elements, there is no [3]"),
            ("codes[-4]", "`codes` has 3 elements, there is no [-4]"),
            ("name[0]", "`name` is not an array"),
            (
                "stamp.x",
                "`stamp` is a time; its parts are sec and nanosec",
            ),
            (
                "stamp.sec.x",
                "`stamp.sec` is a plain value and has no part `x`",
            ),
            ("codes[0].x", "`codes[0]` is a plain value"),
        ] {
            let error = read(&nested(), path, &payload()).unwrap_err();
            assert!(matches!(error, FieldError::Path(_)), "{error:?}");
            assert!(error.to_string().contains(what), "{error}");
        }
    }

    #[test]
    fn without_a_definition_nothing_is_read() {
        for (topic, what) in [
            (topic("cdr", None), "without a definition"),
            (topic("cdr", Some(("ros2msg", ""))), "was not recorded"),
            (topic("cdr", Some(("ros2msg", "x y z w"))), "not defined"),
            (
                topic("protobuf", Some(("protobuf", "x"))),
                "not a descriptor set",
            ),
            (topic("protobuf", Some(("ros2msg", "x"))), "is not decoded"),
        ] {
            let error = read(&topic, "x", &[]).unwrap_err();
            assert!(matches!(error, FieldError::Definition(_)), "{error:?}");
            assert!(error.to_string().contains(what), "{error}");
        }
    }

    #[test]
    fn ros1_is_packed_and_a_read_ends_when_it_is_told_to() {
        let topic = topic("ros1", Some(("ros1msg", "uint8 a\ntime t\nfloat64[] x\n")));
        let numbers = [1.0_f64, 2.0, 3.0].map(f64::to_le_bytes).concat();
        let payload = [
            &[1][..],
            &5_u32.to_le_bytes(),
            &0_u32.to_le_bytes(),
            &3_u32.to_le_bytes(),
            &numbers,
        ]
        .concat();
        assert_eq!(read(&topic, "t", &payload).unwrap(), ["t = 5s"]);
        assert_eq!(read(&topic, "x[2]", &payload).unwrap(), ["x[2] = 3.0"]);
        let reader = FieldReader::new(&topic, &"x[*]".parse().unwrap()).unwrap();
        let mut seen = 0;
        let mut visit = |_: &[u64], _: FieldValue<'_>| {
            seen += 1;
            if seen == 2 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        reader.read(&payload, &mut visit).unwrap();
        assert_eq!(seen, 2);
    }

    #[test]
    fn json_is_read_without_a_definition() {
        let text = br#"{"a": {"b": [1, -2.5, "x", true, null]}, "n": "name", "o": [[1], [2, 3]]}"#;
        let topic = topic("json", None);
        for (path, found) in [
            ("a.b[0]", &["a.b[0] = 1"][..]),
            (
                "a.b[*]",
                &[
                    "a.b[0] = 1",
                    "a.b[1] = -2.5",
                    "a.b[2] = \"x\"",
                    "a.b[3] = true",
                ],
            ),
            ("a.b.length", &["a.b.length = 5"]),
            ("a.b[9]", &[]),
            ("n", &["n = \"name\""]),
            ("n.length", &["n.length = 4"]),
            ("o[*][*]", &["o[0][0] = 1", "o[1][0] = 2", "o[1][1] = 3"]),
            ("missing.x", &[]),
        ] {
            assert_eq!(read(&topic, path, text).unwrap(), found, "{path}");
        }
        for (path, what) in [
            ("a", "an object is no plain value"),
            ("a[0]", "an object is not an array"),
            ("a.b", "an array is no plain value"),
            ("a.b[-1]", "from the end"),
            ("n.x", "a text has no part `x`"),
            ("n[0]", "a text is not an array"),
        ] {
            let error = read(&topic, path, text).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        let deep = "[".repeat(100_000);
        assert!(read(&topic, "x", deep.as_bytes()).is_err());
        assert!(read(&topic, "x", b"{\"x\": \xff}").is_err());
    }

    #[test]
    fn a_payload_that_is_too_short_is_an_error_that_names_the_field() {
        let error = read(&nested(), "stamp", &payload()[..40]).unwrap_err();
        assert!(matches!(&error, FieldError::Payload(_)), "{error:?}");
        assert!(
            error.to_string().contains("bytes are needed") || error.to_string().contains("needs"),
            "{error}"
        );
        let not_cdr = read(&nested(), "name", &[0, 9, 0, 0, 1]).unwrap_err();
        assert!(not_cdr.to_string().contains("not plain CDR"), "{not_cdr}");
    }

    #[test]
    fn all_elements_of_a_large_array_are_read() {
        let topic = topic("cdr", Some(("ros2msg", "uint8[] data\n")));
        let count = 1_000_000_u32;
        let payload = [&[0, 1, 0, 0], &count.to_le_bytes()[..], &vec![7; 1_000_000]].concat();
        let reader = FieldReader::new(&topic, &"data[*]".parse().unwrap()).unwrap();
        let mut seen = 0;
        let mut visit = |_: &[u64], _: FieldValue<'_>| {
            seen += 1;
            ControlFlow::Continue(())
        };
        reader.read(&payload, &mut visit).unwrap();
        assert_eq!(seen, count);
    }

    #[test]
    fn elements_without_a_size_do_not_take_for_ever() {
        // Four thousand million elements of no size.
        let text = "Empty[] e\n\
            ================================================================================\nMSG: p/Empty\n\
            Nothing[2] n\n\
            ================================================================================\nMSG: p/Nothing\n";
        let topic = topic("ros1", Some(("ros1msg", text)));
        let error = read(&topic, "e[*].n.length", &u32::MAX.to_le_bytes()).unwrap_err();
        assert!(
            error.to_string().contains("more elements than are read"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn any_payload_is_read_or_refused(mut payload in prop::collection::vec(any::<u8>(), 0..300), is_cdr: bool) {
            if is_cdr && payload.len() > 4 {
                payload[..4].copy_from_slice(&[0, 1, 0, 0]);
            }
            for path in ["wide", "items[*].x[*]", "items[-1].pairs[*].b", "stamp.sec", "codes.length"] {
                let found = read(&nested(), path, &payload).unwrap_or_default();
                prop_assert!(found.len() <= payload.len());
            }
        }

        #[test]
        fn a_payload_with_changed_bytes_is_read_or_refused(at in 4_usize..150, byte: u8) {
            let mut changed = payload();
            let at = at.min(changed.len() - 1);
            changed[at] = byte;
            for path in ["wide", "items[*].x[*]", "items[*].id", "items[1].pairs[1].b"] {
                let found = read(&nested(), path, &changed).unwrap_or_default();
                prop_assert!(found.len() <= changed.len());
            }
        }
    }
}
