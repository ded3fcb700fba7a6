//! CDR as ROS 1 messages: definitions and bytes by hand, hostile ones, and back again what `Transcoder` has made.
//! `tests/interop/test_to_ros1.py` compares all standard types with `rosbags`.

use bagplay::bag::{Bag, Direction, Schema, StartAt, Topic};
use bagplay::time::Time;
use bagplay::transcode::{NoRos1Form, Problem, ToRos1, Transcoder};

use crate::bag::data::{data, recordings};
use crate::support::cdr::Cdr;
use crate::support::mcaps::all;

const RULE: &str =
    "================================================================================";
const HEADER: &str = "builtin_interfaces/Time stamp\nstring frame_id\n";
const TIME: &str = "int32 sec\nuint32 nanosec\n";

fn schema(name: &str, root: &str, others: &[(&str, &str)]) -> Schema {
    let others = others.iter();
    let others: Vec<String> = others
        .map(|(name, body)| format!("{RULE}\nMSG: {name}\n{body}"))
        .collect();
    Schema {
        name: name.to_owned(),
        encoding: "ros2msg".to_owned(),
        data: format!("{root}{}", others.join("")).into(),
    }
}

fn to_ros1(name: &str, root: &str, others: &[(&str, &str)]) -> ToRos1 {
    ToRos1::new(&schema(name, root, others)).unwrap()
}

fn ros1(transcoder: &ToRos1, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![7];
    transcoder.transcode(payload, &mut out).unwrap();
    out.split_off(1)
}

fn problem(transcoder: &ToRos1, payload: &[u8]) -> (usize, Problem) {
    let mut out = vec![7];
    let error = transcoder.transcode(payload, &mut out).unwrap_err();
    assert_eq!(out, [7], "nothing is appended");
    (error.at, error.problem)
}

/// A ROS 1 payload.
#[derive(Default)]
struct Packed(Vec<u8>);

impl Packed {
    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn u32(self, number: u32) -> Self {
        self.raw(&number.to_le_bytes())
    }

    fn text(self, text: &str) -> Self {
        self.u32(u32::try_from(text.len()).unwrap())
            .raw(text.as_bytes())
    }
}

#[test]
fn a_header_has_a_sequence_number_and_nothing_else_changes() {
    let others = [
        ("std_msgs/Header", HEADER),
        ("builtin_interfaces/Time", TIME),
    ];
    let root = "std_msgs/Header header\nfloat64 x 1.0\nuint8 KIND=3\nstring<=8[<=2] names\nfloat32[2] pair\n";
    let transcoder = to_ros1("p/msg/T", root, &others);
    let definition = transcoder.definition();
    assert_eq!(definition.type_name, "p/T");
    assert_eq!(
        definition.text,
        format!(
            "std_msgs/Header header\nfloat64 x\nuint8 KIND=3\nstring[] names\nfloat32[2] pair\n\n{RULE}\nMSG: std_msgs/Header\n\
             uint32 seq\ntime stamp\nstring frame_id\n"
        )
    );
    for order in [Cdr::little(), Cdr::big()] {
        let payload = order
            .header(5_000_000_007, "map")
            .f64(1.5)
            .u32(2)
            .text("a")
            .text("")
            .f32(0.5)
            .f32(-2.0)
            .done();
        let due = Packed::default()
            .u32(0)
            .u32(5)
            .u32(7)
            .text("map")
            .raw(&1.5f64.to_le_bytes())
            .u32(2)
            .text("a")
            .text("")
            .raw(&0.5f32.to_le_bytes())
            .raw(&(-2.0f32).to_le_bytes());
        assert_eq!(ros1(&transcoder, &payload), due.0);
        // Writers pad at the end.
        let padded = [payload, vec![0; 7]].concat();
        assert_eq!(ros1(&transcoder, &padded), due.0);
    }
}

#[test]
fn a_type_that_ros1_has_otherwise_has_its_definition() {
    let others = [
        ("std_msgs/Header", HEADER),
        ("builtin_interfaces/Time", TIME),
    ];
    let fields = "std_msgs/Header header\nuint8 radiation_type\nfloat32 field_of_view\nfloat32 min_range\nfloat32 max_range\n\
                  float32 range\n";
    let with_variance = format!("{fields}float32 variance\n");
    let range = to_ros1("sensor_msgs/msg/Range", &with_variance, &others);
    let text = &range.definition().text;
    assert!(text.starts_with("uint8 ULTRASOUND=0\nuint8 INFRARED=1\nstd_msgs/Header header\n"));
    assert!(!text.contains("variance"), "{text}");
    assert_eq!(range.left_out(), ["sensor_msgs/Range.variance"]);
    let payload = Cdr::little()
        .header(0, "")
        .u8(1)
        .f32(1.0)
        .f32(2.0)
        .f32(3.0)
        .f32(4.0)
        .f32(5.0)
        .done();
    let made = ros1(&range, &payload);
    assert_eq!(made.len(), 16 + 1 + 16);
    assert_eq!(made[29..], 4.0f32.to_le_bytes());
    // Not the standard type: its own definition.
    let own = to_ros1("sensor_msgs/msg/Range", "float32 range\n", &[]);
    assert_eq!(own.definition().text, "float32 range\n");
}

#[test]
fn log_messages_are_those_of_ros1() {
    let root = "byte DEBUG=10\nbuiltin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\nstring file\nstring function\n\
                uint32 line\n";
    let log = to_ros1(
        "rcl_interfaces/msg/Log",
        root,
        &[("builtin_interfaces/Time", TIME)],
    );
    assert_eq!(log.definition().type_name, "rosgraph_msgs/Log");
    let cdr = |level| {
        let cdr = Cdr::little().u32(1).u32(2).u8(level).text("n");
        cdr.text("m").text("f").text("g").u32(9).done()
    };
    for (level, due) in [(10, 1), (20, 2), (30, 4), (40, 8), (50, 16), (33, 33)] {
        let due = Packed::default().u32(0).u32(1).u32(2).text("").raw(&[due]);
        let due = due.text("n").text("m").text("f").text("g").u32(9).u32(0);
        assert_eq!(ros1(&log, &cdr(level)), due.0);
    }
}

#[test]
fn messages_without_fields_have_no_byte_in_ros1() {
    // With the empty text that recorders write for it, too.
    for text in ["# nothing\n", ""] {
        let empty = to_ros1("std_msgs/msg/Empty", text, &[]);
        assert_eq!(empty.definition().text, "\n");
        assert!(ros1(&empty, &[0, 1, 0, 0, 0]).is_empty());
    }
    let list = to_ros1("p/msg/L", "E[] e\nint8 x\n", &[("p/E", "\n")]);
    let payload = [0, 1, 0, 0, 3, 0, 0, 0, 0, 0, 0, 5];
    assert_eq!(ros1(&list, &payload), [3, 0, 0, 0, 5]);
}

#[test]
fn types_that_double_at_each_level_do_not_take_long() {
    let level = |n: usize| format!("M{n} a\nM{n} b\n");
    let mut others: Vec<(String, String)> =
        (1..60).map(|n| (format!("p/M{n}"), level(n + 1))).collect();
    others.push(("p/M60".to_owned(), "uint8[0] x\n".to_owned()));
    let others: Vec<(&str, &str)> = others
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let nothing = to_ros1("p/msg/M0", &format!("{}M1[] c\n", level(1)), &others);
    assert_eq!(ros1(&nothing, &[0, 1, 0, 0, 9, 0, 0, 0]), [9, 0, 0, 0]);
}

#[test]
fn what_is_no_message_of_the_type_is_an_error_with_its_place() {
    let strings = to_ros1("p/msg/S", "string[] s\nfloat64 x\n", &[]);
    let short = |needed, left| Problem::TooShort { needed, left };
    for (payload, at, due) in [
        (&[][..], 0, short(4, 0)),
        (&[0, 1, 0], 0, short(4, 3)),
        (&[0, 7, 0, 0, 0], 0, Problem::Encapsulation([0, 7])),
        (&[0, 1, 0, 0, 1, 0], 4, short(4, 2)),
        // A list longer than the payload.
        (
            &[0, 1, 0, 0, 255, 255, 255, 255],
            8,
            short(u64::from(u32::MAX) * 4, 0),
        ),
        (&[0, 1, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, b'a'], 12, short(9, 1)),
    ] {
        assert_eq!(problem(&strings, payload), (at, due), "{payload:?}");
    }
    let number = to_ros1("p/msg/N", "uint8 x\n", &[]);
    assert_eq!(
        problem(&number, &[0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
        (5, Problem::TooLong { left: 8 })
    );
}

#[test]
fn definitions_without_a_counterpart_are_refused_with_the_reason() {
    let refused = |schema: Schema| ToRos1::new(&schema).unwrap_err();
    let wide = refused(schema("p/msg/T", "wstring w\n", &[]));
    assert_eq!(wide, NoRos1Form::Wide("p/msg/T".to_owned()));
    let time = refused(schema("builtin_interfaces/msg/Time", TIME, &[]));
    assert_eq!(
        time.to_string(),
        "builtin_interfaces/msg/Time is no message in ROS 1"
    );
    let own = [("builtin_interfaces/Time", "float64 t\n")];
    let own = refused(schema("p/msg/T", "builtin_interfaces/Time t\n", &own));
    assert_eq!(own, NoRos1Form::OwnTime("builtin_interfaces/msg/Time"));
    let event = refused(schema("p/srv/S_Event", "int8 x\n", &[]));
    assert_eq!(event, NoRos1Form::NoMessage("p/srv/S_Event".to_owned()));
    assert_eq!(
        refused(schema("p/msg/T", "", &[])),
        NoRos1Form::NoDefinition
    );
    let idl = Schema {
        encoding: "ros2idl".to_owned(),
        ..schema("p/msg/T", "int8 x\n", &[])
    };
    assert_eq!(refused(idl), NoRos1Form::Language("ros2idl".to_owned()));
    let missing = refused(schema("p/msg/T", "q/Other o\n", &[]));
    assert!(matches!(missing, NoRos1Form::Nesting(_)), "{missing:?}");
}

#[test]
fn a_topic_keeps_everything_but_its_form() {
    let topic = Topic {
        name: "/tf_static".to_owned(),
        schema: Some(schema("p/msg/T", "int8 x\n", &[])),
        encoding: "cdr".to_owned(),
        offered_qos: Vec::new(),
        type_hash: Some("RIHS01_0".to_owned()),
        ros1_md5: None,
        is_latched: true,
        message_count: Some(3),
    };
    let transcoder = ToRos1::for_topic(&topic).unwrap().unwrap();
    let made = transcoder.ros1_topic(&topic);
    assert_eq!(
        made,
        Topic {
            schema: Some(Schema {
                name: "p/T".to_owned(),
                encoding: "ros1msg".to_owned(),
                data: "int8 x\n".into(),
            }),
            encoding: "ros1".to_owned(),
            type_hash: None,
            ..topic.clone()
        }
    );
    let json = Topic {
        encoding: "json".to_owned(),
        ..topic
    };
    assert!(ToRos1::for_topic(&json).is_none());
}

#[test]
fn log_messages_keep_their_form_where_its_names_are_taken() {
    let log = "builtin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\nstring file\nstring function\nuint32 line\n";
    let time = ("builtin_interfaces/Time", TIME);
    let other = ("rosgraph_msgs/Log", "int8 x\n");
    let beside_other = "rcl_interfaces/Log a\nrosgraph_msgs/Log b\n";
    let both = [("rcl_interfaces/Log", log), other, time];
    let text = to_ros1("p/msg/T", beside_other, &both)
        .definition()
        .text
        .clone();
    assert!(
        text.starts_with("rcl_interfaces/Log a\nrosgraph_msgs/Log b\n"),
        "{text}"
    );
    let odd_header = ("std_msgs/Header", "string frame_id\n");
    let beside_header = "rcl_interfaces/Log a\nstd_msgs/Header b\n";
    let both = [("rcl_interfaces/Log", log), odd_header, time];
    let text = to_ros1("p/msg/T", beside_header, &both)
        .definition()
        .text
        .clone();
    assert!(
        text.starts_with("rcl_interfaces/Log a\nstd_msgs/Header b\n"),
        "{text}"
    );
    assert!(
        text.contains("MSG: std_msgs/Header\nstring frame_id\n"),
        "{text}"
    );
}

#[test]
fn what_was_ported_from_ros1_is_what_it_was() {
    // A bare header of another package, which still has its number.
    let header = (
        "std_msgs/Header",
        "uint32 seq\nbuiltin_interfaces/Time stamp\nstring frame_id\n",
    );
    let time = ("builtin_interfaces/Time", TIME);
    let transcoder = to_ros1("p/msg/T", "Header header\n", &[header, time]);
    let text = &transcoder.definition().text;
    assert!(text.starts_with("std_msgs/Header header\n"), "{text}");
    let payload = Cdr::little().u32(9).header(0, "map").done();
    let due = Packed::default().u32(9).u32(0).u32(0).text("map");
    assert_eq!(ros1(&transcoder, &payload), due.0);
}

#[test]
fn both_byte_orders_give_the_same() {
    let others = [
        ("p/Odd", "float32 a\nuint8 b\n"),
        ("p/Wide", "uint8 a\nint64 b\n"),
    ];
    let root = "string s\nint16 n\nOdd[2] odd\nWide[] wide\nfloat64[] none\nuint8 last\n";
    let transcoder = to_ros1("p/msg/T", root, &others);
    let write = |cdr: Cdr| {
        let cdr = cdr.text("abc").i16(-2).f32(1.0).u8(3).f32(2.0).u8(4);
        let cdr = cdr.u32(2).u8(5).i64(-6).u8(7).i64(8);
        cdr.u32(0).u8(9).done()
    };
    let little = ros1(&transcoder, &write(Cdr::little()));
    assert_eq!(little.len(), 7 + 2 + 10 + 4 + 18 + 4 + 1);
    for order in [Cdr::big(), Cdr::little().filled_with(0xaa)] {
        assert_eq!(ros1(&transcoder, &write(order)), little);
    }
}

#[test]
fn wide_strings_that_ros1_does_not_have_are_skipped() {
    let fields = "std_msgs/Header header\nuint8 radiation_type\nfloat32 field_of_view\nfloat32 min_range\nfloat32 max_range\n\
                  wstring label\nfloat32 range\n";
    let others = [
        ("std_msgs/Header", HEADER),
        ("builtin_interfaces/Time", TIME),
    ];
    let range = to_ros1("sensor_msgs/msg/Range", fields, &others);
    let cdr = Cdr::little().header(0, "").u8(1).f32(1.0).f32(2.0).f32(3.0);
    let cdr = (0..5).fold(cdr.u32(5), |cdr, _| cdr.u32(0x61)).f32(4.0);
    let made = ros1(&range, &cdr.done());
    assert_eq!(made[29..], 4.0f32.to_le_bytes());
}

#[test]
fn a_definition_that_would_be_too_large_is_refused() {
    let package = "p".repeat(200);
    let own = "T a\n".repeat(100_000);
    let nested = [(format!("{package}/T"), "int8 x\n".to_owned())];
    let nested: Vec<(&str, &str)> = nested
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let error = ToRos1::new(&schema(&format!("{package}/msg/R"), &own, &nested)).unwrap_err();
    assert!(matches!(error, NoRos1Form::TooLarge(_)), "{error:?}");
}

/// What `Transcoder` has made of a ROS 1 message becomes the same message, except for the sequence numbers of headers.
#[test]
fn messages_of_the_real_ros1_data_come_back() {
    let Some(data) = data() else { return };
    let mut count = 0;
    for path in recordings(&data) {
        let bag = Bag::open(&[&path]).unwrap();
        let forms = bag.topics().iter().map(|topic| {
            let there = Transcoder::for_topic(topic)?.unwrap();
            let back = ToRos1::new(&there.ros2_schema()).unwrap();
            let again = back.ros1_topic(&there.ros2_topic(topic));
            let again = Transcoder::for_topic(&again)?.unwrap();
            Some((there, back, again))
        });
        let forms: Vec<Option<(Transcoder, ToRos1, Transcoder)>> = forms.collect();
        if forms.iter().all(Option::is_none) {
            continue;
        }
        let cursor = bag.cursor(&all(&bag), StartAt::At(Time::MIN), Direction::Forward);
        for message in cursor.map_while(Result::ok) {
            let index = message.topic.index();
            let (Some((there, back, again)), recorded) = (&forms[index], &bag.topics()[index])
            else {
                continue;
            };
            let (mut cdr, mut ros1, mut second) = (Vec::new(), Vec::new(), Vec::new());
            there.transcode(&message.payload, &mut cdr).unwrap();
            back.transcode(&cdr, &mut ros1).unwrap();
            // The frame and the topics of log messages are lost.
            if recorded.type_name() != "rosgraph_msgs/Log" {
                assert_eq!(ros1.len(), message.payload.len(), "{}", recorded.name);
            }
            again.transcode(&ros1, &mut second).unwrap();
            assert_eq!(second, cdr, "{}", recorded.name);
            count += 1;
        }
    }
    assert!(count > 30_000, "{count}");
}
