//! ROS 1 messages as CDR: definitions and bytes by hand, random ones by both readers of `decode`, hostile ones, and all
//! messages of the real ROS 1 recordings.

use std::fmt::Write;

use bagplay::bag::{Bag, Direction, Schema, StartAt, Topic};
use bagplay::decode::{Decoder, Limits};
use bagplay::ros::SchemaError;
use bagplay::time::Time;
use bagplay::transcode::{NoRos2Form, Problem, Transcoder};
use proptest::prelude::*;

use crate::bag::data::{data, recordings};
use crate::support::mcaps::all;

const HEADER: (&str, &str) = (
    "std_msgs/Header",
    "# comment\nuint32 seq\ntime stamp\nstring frame_id\n",
);

fn schema(name: &str, root: &str, others: &[(&str, &str)]) -> Schema {
    let mut text = root.to_owned();
    for (name, body) in others {
        write!(text, "\n{}\nMSG: {name}\n{body}", "=".repeat(80)).unwrap();
    }
    Schema {
        name: name.to_owned(),
        encoding: "ros1msg".to_owned(),
        data: text.into(),
    }
}

fn topic(schema: Schema) -> Topic {
    Topic {
        name: "/t".to_owned(),
        schema: Some(schema),
        encoding: "ros1".to_owned(),
        offered_qos: Vec::new(),
        type_hash: None,
        ros1_md5: None,
        is_latched: false,
        message_count: None,
    }
}

fn transcoder(name: &str, root: &str, others: &[(&str, &str)]) -> Transcoder {
    Transcoder::new(&schema(name, root, others)).unwrap()
}

/// The definitions of a type: of each the name and its lines.
fn definitions(transcoder: &Transcoder) -> Vec<(String, Vec<String>)> {
    let definition = transcoder.definition();
    let mut all = vec![(definition.type_name.clone(), Vec::new())];
    let mut lines = definition.text.lines().filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        if line == "=".repeat(80) {
            let name = lines.next().unwrap().strip_prefix("MSG: ").unwrap();
            all.push((name.to_owned(), Vec::new()));
        } else {
            all.last_mut().unwrap().1.push(line.to_owned());
        }
    }
    all
}

fn cdr(transcoder: &Transcoder, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    transcoder.transcode(payload, &mut out).unwrap();
    let data = out.strip_prefix(&[0, 1, 0, 0]);
    data.unwrap().to_vec()
}

fn problem(transcoder: &Transcoder, payload: &[u8]) -> (usize, Problem) {
    let mut out = vec![7];
    let error = transcoder.transcode(payload, &mut out).unwrap_err();
    assert_eq!(out, [7], "nothing is appended");
    assert!(!error.type_name.is_empty());
    (error.at, error.problem)
}

#[test]
fn a_definition_is_that_of_ros2() {
    let transcoder = transcoder(
        "p/Root",
        "# all of it\nchar LETTER=65 # A\nHeader header\ntime at\nduration[2] spans\nchar c\nbyte b\nint8 i\nOther[] others\n\
         q/Third third\nuint8 D\nfloat64 a\nfloat64 A\nuint8[<=3] bounded\n",
        &[
            ("p/Other", "string NAME=a # b\nq/Third[3] x\n"),
            ("q/Third", ""),
            HEADER,
            ("p/Unused", "int8 x\n"),
        ],
    );
    let due = [
        (
            "p/msg/Root",
            &[
                "uint8 LETTER=65",
                "std_msgs/Header header",
                "builtin_interfaces/Time at",
                "builtin_interfaces/Duration[2] spans",
                "uint8 c",
                "byte b",
                "int8 i",
                "p/Other[] others",
                "q/Third third",
                "uint8 d",
                "float64 a",
                "float64 A",
                "uint8[] bounded",
            ][..],
        ),
        (
            "std_msgs/Header",
            &["builtin_interfaces/Time stamp", "string frame_id"],
        ),
        ("builtin_interfaces/Time", &["int32 sec", "uint32 nanosec"]),
        (
            "builtin_interfaces/Duration",
            &["int32 sec", "uint32 nanosec"],
        ),
        ("p/Other", &["string NAME=\"a # b\"", "q/Third[3] x"]),
        ("q/Third", &[]),
    ];
    let due = due.map(|(name, lines)| {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        (name.to_owned(), lines)
    });
    assert_eq!(definitions(&transcoder), due);
}

#[cfg(feature = "wire")]
#[test]
fn type_hashes_are_those_of_ros2() {
    let of = |name, root, others: &[(&str, &str)]| {
        let transcoder = transcoder(name, root, others);
        let definition = transcoder.definition();
        (definition.type_name.clone(), definition.hash().unwrap())
    };
    let vector = ("geometry_msgs/Vector3", "float64 x\nfloat64 y\nfloat64 z\n");
    let quaternion = (
        "geometry_msgs/Quaternion",
        "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n",
    );
    let region = (
        "sensor_msgs/RegionOfInterest",
        "uint32 x_offset\nuint32 y_offset\nuint32 height\nuint32 width\nbool do_rectify\n",
    );
    let transforms = [
        (
            "geometry_msgs/TransformStamped",
            "Header header\nstring child_frame_id\nTransform transform\n",
        ),
        HEADER,
        (
            "geometry_msgs/Transform",
            "Vector3 translation\nQuaternion rotation\n",
        ),
        vector,
        quaternion,
    ];
    for ((name, root, others), new_name, hash) in [
        (
            ("std_msgs/String", "string data\n", &[][..]),
            "std_msgs/msg/String",
            "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
        ),
        (
            ("std_msgs/Empty", "", &[]),
            "std_msgs/msg/Empty",
            "20b625256f32d5dbc0d04fee44f43c41e51c70d3502f84b4a08e7a9c26a96312",
        ),
        (
            ("std_msgs/Char", "char data\n", &[]),
            "std_msgs/msg/Char",
            "3ad2d04dd29ba19d04b16659afa3ccaedd691914b02a64e82e252f2fa6a586a9",
        ),
        (
            ("std_msgs/Header", HEADER.1, &[]),
            "std_msgs/msg/Header",
            "f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01",
        ),
        (
            ("rosgraph_msgs/Clock", "time clock\n", &[]),
            "rosgraph_msgs/msg/Clock",
            "692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564",
        ),
        (
            (
                "sensor_msgs/Imu",
                "Header header\ngeometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\n\
                 geometry_msgs/Vector3 angular_velocity\nfloat64[9] angular_velocity_covariance\n\
                 geometry_msgs/Vector3 linear_acceleration\nfloat64[9] linear_acceleration_covariance\n",
                &[HEADER, vector, quaternion],
            ),
            "sensor_msgs/msg/Imu",
            "7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b",
        ),
        (
            (
                "sensor_msgs/CameraInfo",
                "Header header\nuint32 height\nuint32 width\nstring distortion_model\nfloat64[] D\n\
                 float64[9] K\nfloat64[9] R\nfloat64[12] P\nuint32 binning_x\nuint32 binning_y\n\
                 RegionOfInterest roi\n",
                &[HEADER, region],
            ),
            "sensor_msgs/msg/CameraInfo",
            "b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275",
        ),
        (
            (
                "tf/tfMessage",
                "geometry_msgs/TransformStamped[] transforms\n",
                &transforms,
            ),
            "tf2_msgs/msg/TFMessage",
            "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
        ),
        (
            ("rosgraph_msgs/Log", LOG, &[HEADER]),
            "rcl_interfaces/msg/Log",
            "e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac",
        ),
    ] {
        let due = (new_name.to_owned(), format!("RIHS01_{hash}"));
        assert_eq!(of(name, root, others), due);
    }
}

const LOG: &str = "byte DEBUG=1 #debug level\nbyte INFO=2\nHeader header\nbyte level\nstring name # name of the node\n\
    string msg\nstring file\nstring function\nuint32 line\nstring[] topics\n";

#[test]
fn bytes_are_padded_and_strings_end_with_zero() {
    let root = "uint8 a\nfloat64 b\nstring s\nuint16[] n\nfloat64[] empty\nint8 c\nstring[2] t\nbool d\nHeader h\n";
    let transcoder = transcoder("p/Root", root, &[HEADER]);
    let payload = [
        &[1][..],
        &1.5_f64.to_le_bytes(),
        &[2, 0, 0, 0],
        b"hi",
        &[2, 0, 0, 0, 3, 0, 4, 0],
        &[0, 0, 0, 0],
        &[5],
        &[0, 0, 0, 0, 1, 0, 0, 0],
        b"x",
        &[1],
        // seq, stamp, frame
        &[9, 9, 9, 9, 10, 0, 0, 0, 11, 0, 0, 0, 1, 0, 0, 0],
        b"f",
    ]
    .concat();
    let due = [
        &[1, 0, 0, 0, 0, 0, 0, 0][..],
        &1.5_f64.to_le_bytes(),
        // At 16: three bytes, and one of padding.
        &[3, 0, 0, 0],
        b"hi\0",
        &[0],
        &[2, 0, 0, 0, 3, 0, 4, 0],
        // No padding for numbers of which there are none.
        &[0, 0, 0, 0],
        &[5, 0, 0, 0],
        &[1, 0, 0, 0, 0, 0, 0, 0],
        &[2, 0, 0, 0],
        b"x\0",
        &[1, 0],
        &[10, 0, 0, 0, 11, 0, 0, 0, 2, 0, 0, 0],
        b"f\0",
    ]
    .concat();
    assert_eq!(cdr(&transcoder, &payload), due);
    let mut appended = b"before".to_vec();
    transcoder.transcode(&payload, &mut appended).unwrap();
    assert_eq!(appended, [b"before\0\x01\0\0", &due[..]].concat());
}

#[test]
fn messages_without_fields_have_a_byte_in_ros2() {
    let empty = transcoder("std_msgs/Empty", "", &[]);
    assert_eq!(cdr(&empty, &[]), [0]);
    let many = transcoder(
        "p/Root",
        "std_msgs/Empty[] e\nuint16 n\n",
        &[("std_msgs/Empty", "")],
    );
    assert_eq!(
        cdr(&many, &[3, 0, 0, 0, 8, 0]),
        [3, 0, 0, 0, 0, 0, 0, 0, 8, 0]
    );
    let (_, problem) = problem(&many, &[0xff, 0xff, 0xff, 0xff, 8, 0]);
    assert!(matches!(problem, Problem::TooLarge { .. }), "{problem}");
}

#[test]
fn a_type_without_fields_may_have_an_empty_definition() {
    let trigger = transcoder("p/Trigger", "", &[]);
    assert_eq!(cdr(&trigger, &[]), [0]);
    assert_eq!(
        definitions(&trigger),
        [("p/msg/Trigger".to_owned(), vec![])]
    );
    // The recorder did not find the definition.
    assert_eq!(
        problem(&trigger, &[1, 2]),
        (0, Problem::Undefined { left: 2 })
    );
}

#[test]
fn comments_may_be_in_any_encoding() {
    let read = |text: &[u8]| {
        Transcoder::new(&Schema {
            data: text.to_vec().into(),
            ..schema("p/T", "", &[])
        })
    };
    let transcoder = read(b"int8 A=1 # caf\xe9\n# \xff\nuint16 x # \xe9\n").unwrap();
    assert_eq!(definitions(&transcoder)[0].1, ["int8 A=1", "uint16 x"]);
    assert_eq!(cdr(&transcoder, &[1, 2]), [1, 2]);
    let refused = read(b"string S=caf\xe9\nuint16 x\n").unwrap_err();
    assert_eq!(refused, NoRos2Form::Schema(SchemaError::NoText));
}

#[test]
fn headers_of_the_first_releases_are_headers() {
    let old = ("roslib/Header", HEADER.1);
    let transcoder = transcoder("p/Root", "Header h\nroslib/Header g\n", &[old]);
    let due = [
        ("p/msg/Root", ["std_msgs/Header h", "std_msgs/Header g"]),
        (
            "std_msgs/Header",
            ["builtin_interfaces/Time stamp", "string frame_id"],
        ),
        ("builtin_interfaces/Time", ["int32 sec", "uint32 nanosec"]),
    ];
    let due = due.map(|(name, lines)| (name.to_owned(), lines.map(str::to_owned).to_vec()));
    assert_eq!(definitions(&transcoder), due);
    let header = [9, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
    let one = [1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0];
    let payload = [header, header].concat();
    assert_eq!(
        cdr(&transcoder, &payload),
        [&one[..], &[0; 3], &one].concat()
    );
    let both = ("p/Root", "std_msgs/Header h\nroslib/Header g\n");
    let both = self::transcoder(both.0, both.1, &[old, HEADER]);
    assert_eq!(definitions(&both), due);
}

#[test]
fn log_messages_are_those_of_ros2() {
    let log = transcoder("rosgraph_msgs/Log", LOG, &[HEADER]);
    let text = definitions(&log);
    assert_eq!(text[0].0, "rcl_interfaces/msg/Log");
    assert_eq!(text[0].1[0], "uint8 DEBUG=10");
    assert_eq!(text.len(), 2, "no header: {text:?}");
    for (ros1, ros2) in [(1, 10), (2, 20), (4, 30), (8, 40), (16, 50), (3, 3)] {
        let payload = [
            &[9, 9, 9, 9, 10, 0, 0, 0, 11, 0, 0, 0, 1, 0, 0, 0][..],
            b"f",
            &[ros1],
            &[1, 0, 0, 0],
            b"n",
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0],
            &[2, 0, 0, 0, 1, 0, 0, 0],
            b"a",
            &[0, 0, 0, 0],
        ]
        .concat();
        let due = [
            &[10, 0, 0, 0, 11, 0, 0, 0, ros2, 0, 0, 0][..],
            &[2, 0, 0, 0],
            b"n\0",
            &[0, 0],
            &[
                1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
            ],
            &[7, 0, 0, 0],
        ]
        .concat();
        assert_eq!(cdr(&log, &payload), due);
    }
    // A type of one's own by this name stays what it is.
    let own = transcoder(
        "rosgraph_msgs/Log",
        "Header header\nbyte level\n",
        &[HEADER],
    );
    assert_eq!(own.definition().type_name, "rosgraph_msgs/msg/Log");
    assert_eq!(definitions(&own)[0].1[1], "byte level");
}

#[test]
fn a_header_of_another_form_is_kept_as_it_is() {
    let own = ("std_msgs/Header", "uint32 seq\ntime stamp\n");
    let transcoder = transcoder("p/Root", "Header h\n", &[own]);
    let payload = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];
    assert_eq!(cdr(&transcoder, &payload), payload);
    assert_eq!(definitions(&transcoder)[1].1[0], "uint32 seq");
}

#[test]
fn what_is_no_message_of_the_type_is_an_error_with_its_place() {
    let transcoder = transcoder("p/Root", "uint8 a\nfloat64[] b\nstring s\n", &[]);
    for (payload, at, due) in [
        (&[][..], 0, Problem::TooShort { needed: 1, left: 0 }),
        (&[1, 2, 0], 1, Problem::TooShort { needed: 4, left: 2 }),
        (
            &[1, 2, 0, 0, 0, 9],
            5,
            Problem::TooShort {
                needed: 16,
                left: 1,
            },
        ),
        (
            &[1, 0xff, 0xff, 0xff, 0xff],
            5,
            Problem::TooShort {
                needed: 0x7_ffff_fff8,
                left: 0,
            },
        ),
        (
            &[1, 0, 0, 0, 0, 5, 0, 0, 0, 65],
            9,
            Problem::TooShort { needed: 5, left: 1 },
        ),
        (
            &[1, 0, 0, 0, 0, 1, 0, 0, 0, 65, 66, 67],
            10,
            Problem::TooLong { left: 2 },
        ),
    ] {
        assert_eq!(problem(&transcoder, payload), (at, due), "{payload:?}");
    }
    let error = transcoder.transcode(&[], &mut Vec::new()).unwrap_err();
    let text = "the payload is not a valid p/Root: at byte 0 of it, needed 1, left 0";
    assert_eq!(error.to_string(), text);
}

#[test]
fn definitions_that_cannot_be_used_are_refused_with_the_reason() {
    let of = |name, root, others: &[(&str, &str)]| {
        let error = Transcoder::new(&schema(name, root, others)).unwrap_err();
        error.to_string()
    };
    for (text, due) in [
        (of("p", "int8 x\n", &[]), "`p` is not a type name"),
        (
            of("p/T", "q/Missing x\n", &[]),
            "q/msg/Missing is referred to but not defined in the schema",
        ),
        (of("p/T", "T t\n", &[]), "p/msg/T contains itself"),
        (
            of(
                "p/T",
                "time t\nbuiltin_interfaces/Time u\n",
                &[("builtin_interfaces/Time", "int8 x\n")],
            ),
            "the definition contains builtin_interfaces/msg/Time with other fields than the standard type",
        ),
    ] {
        assert_eq!(text, due);
    }
    let mut idl = schema("p/T", "int8 x\n", &[]);
    idl.encoding = "ros2idl".to_owned();
    let refused = Transcoder::new(&idl).unwrap_err();
    assert_eq!(refused, NoRos2Form::Language("ros2idl".to_owned()));
    let mut bare = topic(idl);
    bare.schema = None;
    let refused = Transcoder::for_topic(&bare).unwrap().unwrap_err();
    assert_eq!(refused, NoRos2Form::NoDefinition);
    bare.encoding = "cdr".to_owned();
    assert!(Transcoder::for_topic(&bare).is_none());
}

const KINDS: [&str; 13] = [
    "bool", "char", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float32", "float64", "string",
];
const WHOLE: Limits = Limits {
    lines: usize::MAX,
    characters: usize::MAX,
    elements: usize::MAX,
    depth: usize::MAX,
    steps: usize::MAX,
};

/// A field of a made-up type: what it is (`KINDS`, then `time`, `duration`, `Header`, then types), and how many.
type MadeUp = (usize, usize);

/// The definitions of made-up types. Each refers only to those behind it.
fn made_up(types: &[Vec<MadeUp>]) -> Schema {
    let mut texts = Vec::new();
    for (index, fields) in types.iter().enumerate() {
        let mut text = String::new();
        for (field, (kind, array)) in fields.iter().enumerate() {
            let array = ["", "", "[]", "[1]", "[3]"][array % 5];
            let kind = kind_of(index, *kind, types.len());
            let name = match kind {
                Kind::Plain(name) => name.to_owned(),
                Kind::Type(index) => format!("T{index}"),
            };
            writeln!(text, "{name}{array} f{field}").unwrap();
        }
        texts.push((format!("p/T{index}"), text));
    }
    let (_, root) = texts.remove(0);
    texts.push((HEADER.0.to_owned(), HEADER.1.to_owned()));
    let others: Vec<(&str, &str)> = texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    schema("p/T0", &root, &others)
}

enum Kind {
    Plain(&'static str),
    Type(usize),
}

fn kind_of(of_type: usize, kind: usize, types: usize) -> Kind {
    let rest = types - of_type - 1;
    match kind % (KINDS.len() + 3 + rest) {
        kind if kind < KINDS.len() => Kind::Plain(KINDS[kind]),
        13 => Kind::Plain("time"),
        14 => Kind::Plain("duration"),
        15 => Kind::Plain("Header"),
        kind => Kind::Type(of_type + kind - 15),
    }
}

/// Random numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u8 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        self.0.to_be_bytes()[0]
    }
}

/// Appends a random ROS 1 message of a made-up type.
fn fill(types: &[Vec<MadeUp>], index: usize, numbers: &mut Numbers, out: &mut Vec<u8>) {
    for (kind, array) in &types[index] {
        let count = match array % 5 {
            2 => {
                let count = numbers.next() % 4;
                out.extend(u32::from(count).to_le_bytes());
                count
            }
            4 => 3,
            _ => 1,
        };
        for _ in 0..count {
            match kind_of(index, *kind, types.len()) {
                Kind::Plain(name) => plain(name, numbers, out),
                Kind::Type(index) => fill(types, index, numbers, out),
            }
        }
    }
}

fn plain(name: &str, numbers: &mut Numbers, out: &mut Vec<u8>) {
    let size = match name {
        "bool" | "char" | "int8" | "uint8" => 1,
        "int16" | "uint16" => 2,
        "int32" | "uint32" | "float32" => 4,
        "int64" | "uint64" | "float64" => 8,
        "string" => {
            let length = numbers.next() % 9;
            out.extend(u32::from(length).to_le_bytes());
            out.extend((0..length).map(|_| b'a' + numbers.next() % 26));
            return;
        }
        "time" | "duration" => {
            // Seconds that both times have, and valid nanoseconds.
            out.extend([numbers.next(), numbers.next(), 0, 0]);
            out.extend([numbers.next(), numbers.next(), 0, 0]);
            return;
        }
        _ => {
            out.extend([numbers.next(); 4]);
            plain("time", numbers, out);
            return plain("string", numbers, out);
        }
    };
    out.extend((0..size).map(|_| numbers.next()));
}

/// The lines that a reader finds, without the sequence numbers of headers.
fn lines(topic: &Topic, payload: &[u8]) -> Vec<(usize, String, String)> {
    let decoded = Decoder::new(topic).decode(payload, WHOLE);
    assert_eq!((decoded.problem, decoded.is_cut), (None, false));
    let lines = decoded.lines.into_iter();
    let lines = lines.filter(|line| line.name != "seq");
    lines
        .map(|line| (line.depth, line.name, line.value))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_readers_find_the_same_values(
        types in prop::collection::vec(prop::collection::vec((0..40_usize, 0..5_usize), 0..6), 1..5),
        seed in any::<u64>(),
    ) {
        let ros1 = topic(made_up(&types));
        let transcoder = Transcoder::for_topic(&ros1).unwrap().unwrap();
        let ros2 = transcoder.ros2_topic(&ros1);
        let mut payload = Vec::new();
        fill(&types, 0, &mut Numbers(seed), &mut payload);
        let mut cdr = Vec::new();
        transcoder.transcode(&payload, &mut cdr).unwrap();
        prop_assert_eq!(lines(&ros1, &payload), lines(&ros2, &cdr));
    }

    #[test]
    fn any_payload_is_transcoded_or_refused_within_its_size(
        types in prop::collection::vec(prop::collection::vec((0..40_usize, 0..5_usize), 0..6), 1..5),
        payload in prop::collection::vec(prop_oneof![0..3_u8, any::<u8>()], 0..300),
    ) {
        let transcoder = Transcoder::new(&made_up(&types)).unwrap();
        let mut cdr = Vec::new();
        match transcoder.transcode(&payload, &mut cdr) {
            Ok(()) => prop_assert!(cdr.len() <= 4 * payload.len() + (64 << 10) + 4),
            Err(error) => prop_assert!(cdr.is_empty() && error.at <= payload.len()),
        }
    }
}

#[test]
fn types_that_double_at_each_level_do_not_take_long() {
    // Of 2^60 messages without a byte, and of 2^60 with a byte in ROS 2 alone.
    for (last, is_too_large) in [("int8[0] x\n", false), ("", true)] {
        let texts: Vec<(String, String)> = (1..60)
            .map(|n| (format!("p/N{n}"), format!("N{0} a\nN{0} b\n", n + 1)))
            .chain([("p/N60".to_owned(), last.to_owned())])
            .collect();
        let others: Vec<(&str, &str)> = texts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        let transcoder = transcoder("p/Root", "N1 a\nuint8 n\n", &others);
        if is_too_large {
            let (_, problem) = problem(&transcoder, &[5]);
            assert!(matches!(problem, Problem::TooLarge { .. }));
        } else {
            assert_eq!(cdr(&transcoder, &[5]), [5]);
        }
    }
}

#[test]
fn all_messages_of_real_ros1_recordings_keep_their_values() {
    let Some(data) = data() else { return };
    let mut count = 0;
    for path in recordings(&data) {
        let bag = Bag::open(&[&path]).unwrap();
        let forms: Vec<Option<(Transcoder, Topic)>> = bag
            .topics()
            .iter()
            .map(|topic| {
                let transcoder = Transcoder::for_topic(topic)?;
                let transcoder = transcoder.unwrap_or_else(|error| panic!("{error}"));
                let ros2 = transcoder.ros2_topic(topic);
                Some((transcoder, ros2))
            })
            .collect();
        if forms.iter().all(Option::is_none) {
            continue;
        }
        let cursor = bag.cursor(&all(&bag), StartAt::At(Time::MIN), Direction::Forward);
        for message in cursor.map_while(Result::ok) {
            let index = message.topic.index();
            let (Some((transcoder, ros2)), recorded) = (&forms[index], &bag.topics()[index]) else {
                continue;
            };
            let mut cdr = Vec::new();
            transcoder.transcode(&message.payload, &mut cdr).unwrap();
            count += 1;
            // The lines of clouds would take minutes; the log messages have fewer fields than they had.
            if cdr.len() < 4096 && recorded.type_name() != "rosgraph_msgs/Log" {
                let names = |lines: Vec<(usize, String, String)>| -> Vec<_> {
                    let lines = lines.into_iter();
                    lines.map(|(depth, _, value)| (depth, value)).collect()
                };
                let due = names(lines(recorded, &message.payload));
                assert_eq!(due, names(lines(ros2, &cdr)), "{}", recorded.name);
            }
        }
    }
    assert!(count > 30_000, "{count}");
}
