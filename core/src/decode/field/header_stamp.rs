//! [`HeaderStamp`]: the stamp that the messages of a type have, read without decoding the rest.

use crate::bag::Schema;
use crate::decode::non_ros::protobuf::layout::ProtobufLayout;
use crate::decode::non_ros::protobuf::stamp::StampPlace;
use crate::ros::definition::{
    Array, BaseType, Definitions, Dialect, Field, Primitive, ROS1_HEADERS, Ros1Stamp, read_message,
};
use crate::time::{Duration, Ros, Time};

const HEADER: &str = "std_msgs/msg/Header";
const TIME: &str = "builtin_interfaces/msg/Time";
/// The name of the field, in the header and in messages without one.
const STAMP: &str = "stamp";
const NANOS_PER_SEC: i64 = 1_000_000_000;

/// Says of a message type that its messages have a stamp, and where.
///
/// A message of ROS has to begin with it: with a `std_msgs/Header`, or with a time (`builtin_interfaces/Time`, in ROS 1
/// `time`) named `stamp`. In protobuf it is the `google.protobuf.Timestamp` named `timestamp` or `stamp` of the
/// message, or else of a message named `header` in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HeaderStamp(Place);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Place {
    /// After the encapsulation header of CDR.
    Begin,
    /// In ROS 1, after so many bytes: after the sequence number of a header, or first of all.
    Ros1 {
        after: usize,
    },
    Protobuf(StampPlace),
}

impl HeaderStamp {
    /// `None` if the messages of this type have no stamp there, or if its definition cannot be read. Only definitions
    /// of ROS (`ros2msg`, `ros1msg`) and of protobuf are read.
    pub fn of(schema: &Schema) -> Option<Self> {
        match schema.encoding.as_str() {
            "ros2msg" => {
                let definitions = read_message(Dialect::Ros2, &schema.name, &schema.data).ok()?;
                begins_with_stamp(&definitions).then_some(Self(Place::Begin))
            }
            "ros1msg" => {
                let definitions = read_message(Dialect::Ros1, &schema.name, &schema.data).ok()?;
                ros1_stamp(&definitions).map(|after| Self(Place::Ros1 { after }))
            }
            "protobuf" => {
                let layout = ProtobufLayout::new(&schema.data, &schema.name).ok()?;
                StampPlace::of(&layout).map(|place| Self(Place::Protobuf(place)))
            }
            _ => None,
        }
    }

    /// The stamp of a message: in CDR, of either byte order, in ROS 1's form or in protobuf. `None` if the payload is
    /// too short or is not of that form, if it has no stamp, or if its nanoseconds are a second or more.
    pub fn read(self, payload: &[u8]) -> Option<Time<Ros>> {
        match self.0 {
            Place::Begin => {
                let (sec, nanosec) = first_stamp(payload)?;
                time(sec.into(), nanosec)
            }
            Place::Ros1 { after } => {
                let (sec, rest) = payload.get(after..)?.split_first_chunk::<4>()?;
                let (nanosec, _) = rest.split_first_chunk::<4>()?;
                time(
                    u32::from_le_bytes(*sec).into(),
                    u32::from_le_bytes(*nanosec),
                )
            }
            Place::Protobuf(place) => {
                let (seconds, nanos) = place.read(payload)?;
                time(seconds, u32::try_from(nanos).ok()?)
            }
        }
    }
}

fn time(seconds: i64, nanos: u32) -> Option<Time<Ros>> {
    let whole = seconds.checked_mul(NANOS_PER_SEC)?;
    (nanos < 1_000_000_000)
        .then(|| Time::from_nanos(whole).saturating_add(Duration::from_nanos(nanos.into())))
}

/// The two numbers after the encapsulation header.
fn first_stamp(payload: &[u8]) -> Option<(i32, u32)> {
    let (header, body) = payload.split_first_chunk::<4>()?;
    let (sec, rest) = body.split_first_chunk::<4>()?;
    let (nanosec, _) = rest.split_first_chunk::<4>()?;
    match header {
        [0, 1, ..] => Some((i32::from_le_bytes(*sec), u32::from_le_bytes(*nanosec))),
        [0, 0, ..] => Some((i32::from_be_bytes(*sec), u32::from_be_bytes(*nanosec))),
        _ => None,
    }
}

fn begins_with_stamp(definitions: &Definitions) -> bool {
    let first = |name: &str| {
        definitions
            .types
            .get(name)
            .and_then(|fields| fields.first())
    };
    let Some(field) = first(&definitions.root) else {
        return false;
    };
    match message_of(field) {
        Some(HEADER) => first(HEADER).is_some_and(|field| is_stamp(field, definitions)),
        _ => is_stamp(field, definitions),
    }
}

/// How many bytes come before the stamp with which the messages of a ROS 1 definition begin.
fn ros1_stamp(definitions: &Definitions) -> Option<usize> {
    let is_stamp = |field: &Field| {
        let is_time = field.base == BaseType::Stamp(Ros1Stamp::Time);
        field.name == STAMP && is_time && field.array == Array::One
    };
    let first = definitions.types.get(&definitions.root)?.first()?;
    let header = message_of(first).filter(|name| ROS1_HEADERS.contains(name));
    let Some(header) = header else {
        return is_stamp(first).then_some(0);
    };
    match definitions.types.get(header)?.as_slice() {
        [seq, stamp, ..]
            if seq.base == BaseType::Primitive(Primitive::U32) && seq.array == Array::One =>
        {
            is_stamp(stamp).then_some(4)
        }
        _ => None,
    }
}

/// Whether a field is a time named `stamp`, of the usual layout if it is defined. Some recorders leave out its
/// definition.
fn is_stamp(field: &Field, definitions: &Definitions) -> bool {
    let is_one = |field: &Field, primitive| {
        field.array == Array::One && field.base == BaseType::Primitive(primitive)
    };
    let is_usual = |fields: &Vec<Field>| matches!(&fields[..], [sec, nanosec] if is_one(sec, Primitive::I32) && is_one(nanosec, Primitive::U32));
    field.name == STAMP
        && message_of(field) == Some(TIME)
        && definitions.types.get(TIME).is_none_or(is_usual)
}

/// The message that a field contains, if it contains one and no array.
fn message_of(field: &Field) -> Option<&str> {
    match (&field.base, field.array) {
        (BaseType::Message(name), Array::One) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str =
        "================================================================================";

    fn schema(encoding: &str, fields: &str) -> Schema {
        let header = "builtin_interfaces/Time stamp\nstring frame_id";
        let time = "int32 sec\nuint32 nanosec";
        let text = format!(
            "{fields}\n{RULE}\nMSG: std_msgs/Header\n{header}\n{RULE}\nMSG: builtin_interfaces/Time\n{time}\n"
        );
        Schema {
            name: "a/msg/B".to_owned(),
            encoding: encoding.to_owned(),
            data: text.into(),
        }
    }

    #[test]
    fn the_definition_says_whether_messages_begin_with_a_stamp() {
        for (fields, begins) in [
            ("std_msgs/Header header\nfloat64 x", true),
            ("# of the sensor\nstd_msgs/msg/Header h", true),
            ("builtin_interfaces/Time stamp", true),
            ("builtin_interfaces/Time time", false),
            ("float64 x\nstd_msgs/Header header", false),
            ("std_msgs/Header[] headers", false),
            ("std_msgs/Header[2] headers", false),
            ("uint32 stamp", false),
            ("", false),
        ] {
            let found = HeaderStamp::of(&schema("ros2msg", fields));
            assert_eq!(found.is_some(), begins, "{fields}");
        }
        let header = "std_msgs/Header header";
        assert_eq!(HeaderStamp::of(&schema("ros2idl", header)), None);
        let other_time = "std_msgs/Header header\n================================================================================\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\n================================================================================\nMSG: builtin_interfaces/Time\nint64 sec\nuint32 nanosec\n";
        let other = Schema {
            data: other_time.into(),
            ..schema("ros2msg", "")
        };
        assert_eq!(HeaderStamp::of(&other), None);
    }

    #[test]
    fn the_stamp_of_ros1_comes_after_the_sequence_number() {
        let with = |header: &str, fields: &str| {
            let text = format!(
                "{fields}\n{RULE}\nMSG: {header}\nuint32 seq\ntime stamp\nstring frame_id\n"
            );
            HeaderStamp::of(&Schema {
                name: "a/B".to_owned(),
                encoding: "ros1msg".to_owned(),
                data: text.into(),
            })
        };
        let of = |fields: &str| with("std_msgs/Header", fields);
        let payload = [9, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 1];
        let header = of("Header header\nint8 x").unwrap();
        assert_eq!(header.read(&payload), Some(Time::from_nanos(2_000_000_005)));
        // Their name in the first releases.
        assert_eq!(with("roslib/Header", "Header header"), Some(header));
        assert_eq!(header.read(&payload[..11]), None);
        let bare = of("time stamp").unwrap();
        assert_eq!(bare.read(&payload), Some(Time::from_nanos(9_000_000_002)));
        for fields in ["int8 x\nHeader header", "time[1] stamp", "time at", ""] {
            assert_eq!(of(fields), None, "{fields}");
        }
    }

    #[test]
    fn a_stamp_is_read_in_either_byte_order_and_never_past_the_end() {
        let stamp = HeaderStamp::of(&schema("ros2msg", "std_msgs/Header header")).unwrap();
        let little = [0, 1, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 99];
        let big = [0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 5];
        let expected = Some(Time::from_nanos(2_000_000_005));
        assert_eq!(stamp.read(&little), expected);
        assert_eq!(stamp.read(&big), expected);
        let before_1970 = [0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 5, 0, 0, 0];
        assert_eq!(
            stamp.read(&before_1970),
            Some(Time::from_nanos(-999_999_995))
        );
        for length in 0..12 {
            assert_eq!(stamp.read(&little[..length]), None);
        }
        let a_second_of_nanos = [0, 1, 0, 0, 2, 0, 0, 0, 0, 0xca, 0x9a, 0x3b];
        assert_eq!(stamp.read(&a_second_of_nanos), None);
        let xcdr2 = [0, 7, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0];
        assert_eq!(stamp.read(&xcdr2), None);
    }
}
