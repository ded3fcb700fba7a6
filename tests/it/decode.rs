//! Messages as text: byte vectors, hostile ones, and the first message of each topic of real recordings.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use bagplay::bag::{Bag, Direction, Schema, StartAt, Topic};
use bagplay::decode::{
    Decoded, Decoder, FieldReader, FieldValue, Limits, PayloadFormat, ValuePath, decode_message,
};
use bagplay::time::Time;
use proptest::prelude::*;

use crate::bag::data::{data, recordings};
use crate::support::mcaps::all;

const ALL: Limits = Limits {
    lines: usize::MAX,
    characters: usize::MAX,
    elements: 8,
    depth: usize::MAX,
    steps: usize::MAX,
};

fn topic(encoding: &str, schema: Option<(&str, &str, &str)>) -> Topic {
    Topic {
        name: "/t".to_owned(),
        schema: schema.map(|(name, encoding, text)| Schema {
            name: name.to_owned(),
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

fn ros2(text: &str) -> Topic {
    topic("cdr", Some(("p/msg/T", "ros2msg", text)))
}

fn ros1(text: &str) -> Topic {
    topic("ros1", Some(("p/T", "ros1msg", text)))
}

/// A definition and those it refers to.
fn schema(root: &str, others: &[(&str, &str)]) -> String {
    let mut text = root.to_owned();
    for (name, body) in others {
        write!(text, "\n{}\nMSG: {name}\n{body}\n", "=".repeat(80)).unwrap();
    }
    text
}

/// Lines as they would be indented on a screen.
fn shown(decoded: &Decoded) -> Vec<String> {
    let line = |line: &bagplay::decode::FieldLine| {
        let text = format!("{:1$}{2}: {3}", "", line.depth * 2, line.name, line.value);
        text.trim_end().to_owned()
    };
    decoded.lines.iter().map(line).collect()
}

/// Checks a message that has to be decoded to its last byte.
fn check(topic: &Topic, payload: &[u8], expected: &[&str]) {
    let decoded = decode_message(topic, payload, ALL);
    assert_eq!(shown(&decoded), expected, "{:?}", decoded.problem);
    assert_eq!((decoded.problem, decoded.is_cut), (None, false));
}

fn cdr(body: &[u8]) -> Vec<u8> {
    [&[0, 1, 0, 0], body].concat()
}

fn big(body: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, 0], body].concat()
}

const NUMBERS: &str = "bool a\nbyte b\nchar c\nint8 d\nuint8 e\nint16 f\nuint16 g\nint32 h\nuint32 i\n\
    int64 j\nuint64 k\nfloat32 l\nfloat64 m\n";
const NUMBERS_SHOWN: [&str; 13] = [
    "a: true",
    "b: 200",
    "c: 65",
    "d: -2",
    "e: 254",
    "f: -2",
    "g: 65534",
    "h: -2",
    "i: 4294967294",
    "j: -2",
    "k: 18446744073709551614",
    "l: 0.1",
    "m: -1e100",
];

#[test]
fn every_number_is_decoded_in_either_byte_order() {
    for is_big_endian in [false, true] {
        let number = |little_endian: &[u8]| {
            let mut bytes = little_endian.to_vec();
            if is_big_endian {
                bytes.reverse();
            }
            bytes
        };
        // Five bytes, one to align; then each number at a multiple of its size.
        let body = [
            vec![1, 200, 65, 0xfe, 0xfe, 0],
            number(&(-2_i16).to_le_bytes()),
            number(&0xfffe_u16.to_le_bytes()),
            vec![0, 0],
            number(&(-2_i32).to_le_bytes()),
            number(&0xffff_fffe_u32.to_le_bytes()),
            vec![0; 4],
            number(&(-2_i64).to_le_bytes()),
            number(&(u64::MAX - 1).to_le_bytes()),
            number(&0.1_f32.to_le_bytes()),
            vec![0; 4],
            number(&(-1e100_f64).to_le_bytes()),
        ]
        .concat();
        let payload = if is_big_endian {
            big(&body)
        } else {
            cdr(&body)
        };
        check(&ros2(NUMBERS), &payload, &NUMBERS_SHOWN);
    }
}

#[test]
fn every_number_of_ros1_is_packed_and_its_byte_has_a_sign() {
    let packed = [
        &[1, 200, 65, 0xfe, 0xfe][..],
        &(-2_i16).to_le_bytes(),
        &0xfffe_u16.to_le_bytes(),
        &(-2_i32).to_le_bytes(),
        &0xffff_fffe_u32.to_le_bytes(),
        &(-2_i64).to_le_bytes(),
        &(u64::MAX - 1).to_le_bytes(),
        &0.1_f32.to_le_bytes(),
        &(-1e100_f64).to_le_bytes(),
    ];
    let mut expected = NUMBERS_SHOWN;
    expected[1] = "b: -56";
    check(&ros1(NUMBERS), &packed.concat(), &expected);
}

#[test]
fn alignment_counts_from_after_the_header() {
    let body = [&[7, 0, 0, 0, 0, 0, 0, 0][..], &1.5_f64.to_le_bytes(), &[9]].concat();
    check(
        &ros2("uint8 a\nfloat64 b\nuint8 c"),
        &cdr(&body),
        &["a: 7", "b: 1.5", "c: 9"],
    );
    // An empty sequence has no alignment of its elements.
    let body = [0, 0, 0, 0, 5, 0, 0, 0];
    check(
        &ros2("float64[] a\nuint32 b"),
        &cdr(&body),
        &["a: []", "b: 5"],
    );
    let body = [&[1, 0, 0, 0, 0, 0, 0, 0][..], &2.0_f64.to_le_bytes()].concat();
    check(&ros2("float64[] a"), &cdr(&body), &["a: [2.0]"]);
    // A nested message has no alignment of its own.
    let text = schema("uint8 a\nN n", &[("p/N", "uint8 b\nuint16 c")]);
    check(
        &ros2(&text),
        &cdr(&[1, 2, 3, 0]),
        &["a: 1", "n:", "  b: 2", "  c: 3"],
    );
    // Writers pad the end.
    check(&ros2("uint8 a"), &cdr(&[1, 0, 0, 0]), &["a: 1"]);
}

#[test]
fn strings_wide_strings_and_arrays_of_them_are_decoded() {
    let body = [
        &[6, 0, 0, 0][..],
        b"hello\0",
        &[0, 0],
        &[2, 0, 0, 0, b'h', 0, 0, 0, 0xe9, 0, 0, 0],
        &[2, 0, 0, 0],
        &[2, 0, 0, 0],
        b"a\0",
        &[0, 0],
        &[1, 0, 0, 0, 0],
    ];
    let text = "string a\nwstring b\nstring<=5[<=3] c";
    let expected = ["a: \"hello\"", "b: \"hé\"", "c: [\"a\", \"\"]"];
    check(&ros2(text), &cdr(&body.concat()), &expected);
    let body = [0, 0, 0, 1, 0x26, 0x6b, 0, 0];
    assert_eq!(
        decode_message(&ros2("wstring b"), &big(&body), ALL).lines[0].value,
        "\"\\0\""
    );
    let body = [0, 0, 0, 1, 0, 0, 0x26, 0x6b];
    check(&ros2("wstring b"), &big(&body), &["b: \"♫\""]);
    // ROS 1 has no terminating zero.
    check(
        &ros1("string a\nuint8 b"),
        b"\x02\0\0\0hi\x07",
        &["a: \"hi\"", "b: 7"],
    );
}

#[test]
fn nested_messages_and_arrays_of_them() {
    let text = schema(
        "Header header\nN[2] fixed\nN[] some\nq/M[<=3] few\nint32 last",
        &[
            (
                "std_msgs/Header",
                "builtin_interfaces/Time stamp\nstring frame_id",
            ),
            ("builtin_interfaces/Time", "int32 sec\nuint32 nanosec"),
            ("p/N", "uint8 X=5\nuint8 a\nq/M m"),
            ("q/M", "float32 b 1.5"),
        ],
    );
    let one = [&[3, 0, 0, 0][..], &0.25_f32.to_le_bytes()].concat();
    let body = [
        &1_700_000_000_u32.to_le_bytes()[..],
        &123_456_789_u32.to_le_bytes(),
        &[4, 0, 0, 0],
        b"map\0",
        &one,
        &one,
        &[1, 0, 0, 0],
        &one,
        &[0, 0, 0, 0],
        &[0xff; 4],
    ];
    let expected = [
        "header:",
        "  stamp: 1700000000.123456789",
        "  frame_id: \"map\"",
        "fixed: 2 in all",
        "  [0]:",
        "    a: 3",
        "    m:",
        "      b: 0.25",
        "  [1]:",
        "    a: 3",
        "    m:",
        "      b: 0.25",
        "some: 1 in all",
        "  [0]:",
        "    a: 3",
        "    m:",
        "      b: 0.25",
        "few: []",
        "last: -1",
    ];
    check(&ros2(&text), &cdr(&body.concat()), &expected);
}

#[test]
fn times_are_seconds_with_nine_decimals() {
    let two = |sec: i32, nanosec: u32| [sec.to_le_bytes(), nanosec.to_le_bytes()].concat();
    for (sec, nanosec, time) in [
        (0, 0, "0.000000000"),
        (-2, 300_000_000, "-1.700000000"),
        (-1, 999_999_999, "-0.000000001"),
        (5, 1_000_000_000, "5 s 1000000000 ns"),
    ] {
        let expected = format!("d: {time}");
        // The definition of the time type may be missing.
        check(
            &ros2("builtin_interfaces/Duration d"),
            &cdr(&two(sec, nanosec)),
            &[&expected],
        );
        check(&ros1("duration d"), &two(sec, nanosec), &[&expected]);
    }
    check(&ros1("time t"), &two(-1, 1), &["t: 4294967295.000000001"]);
    let other = schema(
        "builtin_interfaces/Time t",
        &[("builtin_interfaces/Time", "uint8 x")],
    );
    check(&ros2(&other), &cdr(&[1]), &["t:", "  x: 1"]);
}

#[test]
fn an_empty_message_is_a_byte_in_ros2_and_nothing_in_ros1() {
    let empty = topic("cdr", Some(("std_msgs/msg/Empty", "ros2msg", "")));
    check(&empty, &cdr(&[0]), &[]);
    let text = schema("E[3] e\nuint8 a", &[("p/E", "uint8 C=1")]);
    let expected = ["e: 3 in all", "  [0]:", "  [1]:", "  [2]:", "a: 9"];
    check(&ros2(&text), &cdr(&[0, 0, 0, 9]), &expected);
    check(&ros1(&text), &[9], &expected);
}

#[test]
fn large_arrays_are_skipped_in_few_steps() {
    let image = [&921_600_u32.to_le_bytes()[..], &vec![7; 921_600], &[5]].concat();
    let expected = ["data: [7, 7, 7, 7, 7, 7, 7, 7, … 921600 in all]", "end: 5"];
    check(&ros2("uint8[] data\nuint8 end"), &cdr(&image), &expected);
    let few = Limits { steps: 12, ..ALL };
    let decoded = decode_message(&ros2("uint8[] data\nuint8 end"), &cdr(&image), few);
    assert_eq!((decoded.lines.len(), decoded.is_cut), (2, false));

    // The size of an element depends on its start: 9 bytes for the first, then 16 for each.
    let text = schema(
        "uint32 x\nN[] n\nuint8 end",
        &[("p/N", "float64 a\nuint8 b")],
    );
    let mut body = [&[1, 0, 0, 0][..], &1000_u32.to_le_bytes()].concat();
    for index in 0..1000_u32 {
        body.resize(body.len().next_multiple_of(8), 0);
        body.extend(f64::from(index).to_le_bytes());
        body.push(1);
    }
    body.push(77);
    let none = Limits {
        elements: 0,
        steps: 3,
        ..ALL
    };
    let decoded = decode_message(&ros2(&text), &cdr(&body), none);
    assert_eq!(
        shown(&decoded),
        ["x: 1", "n: 1000 in all", "  …: 1000 more", "end: 77"]
    );
    assert_eq!((decoded.problem, decoded.is_cut), (None, false));
    let texts = [
        &300_u32.to_le_bytes()[..],
        &[1, 0, 0, 0, 0, 0, 0, 0].repeat(300),
    ]
    .concat();
    let decoded = decode_message(
        &ros2("string[] s"),
        &cdr(&texts),
        Limits { steps: 100, ..ALL },
    );
    assert_eq!((decoded.problem, decoded.is_cut), (None, true));
}

#[test]
fn a_payload_that_is_cut_at_any_length_has_a_problem() {
    let text = schema(
        "string a\nN[] n\nfloat64[2] f\nwstring w\nuint8[] u",
        &[("p/N", "string[] s\nuint16 b")],
    );
    let body = [
        &[2, 0, 0, 0][..],
        b"a\0",
        &[0, 0],
        &[1, 0, 0, 0],
        &[1, 0, 0, 0],
        &[2, 0, 0, 0],
        b"b\0",
        &[5, 0],
        &1.0_f64.to_le_bytes(),
        &2.0_f64.to_le_bytes(),
        &[1, 0, 0, 0, b'w', 0, 0, 0],
        &[3, 0, 0, 0, 1, 2, 3],
    ];
    let whole = body.concat();
    let kept = Decoder::new(&ros2(&text));
    let sound = kept.decode(&cdr(&whole), ALL);
    assert_eq!((sound.problem, sound.format), (None, PayloadFormat::Cdr));
    for elements in [0, 8] {
        let limits = Limits { elements, ..ALL };
        for cut in 0..whole.len() {
            let decoded = kept.decode(&cdr(&whole[..cut]), limits);
            assert!(decoded.problem.is_some(), "{cut}");
        }
        for cut in 0..4 {
            let decoded = kept.decode(&[0, 1, 0, 0][..cut], limits);
            assert_eq!(decoded.format, PayloadFormat::Hex);
            assert!(decoded.problem.is_some());
        }
    }
    let text = ros1("string a\nuint8[] b\ntime t\nfloat64[2] f");
    let whole = [&b"\x01\0\0\0a\x02\0\0\0xy"[..], &[0; 24]].concat();
    for cut in 0..=whole.len() {
        let decoded = decode_message(&text, &whole[..cut], ALL);
        assert_eq!(decoded.problem.is_none(), cut == whole.len(), "{cut}");
    }
    let decoded = decode_message(&text, &[&whole[..], &[0]].concat(), ALL);
    assert_eq!(
        decoded.problem.as_deref(),
        Some("1 bytes are left after the last field")
    );
    let decoded = decode_message(&ros2("uint8 a\nuint32 b"), &cdr(&[5, 0]), ALL);
    assert_eq!(shown(&decoded), ["a: 5"]);
    let problem = "byte 5: `b` needs 4 bytes, 1 are left";
    assert_eq!(decoded.problem.as_deref(), Some(problem));
}

#[test]
fn declared_lengths_are_compared_with_the_bytes_that_are_left() {
    for text in [
        "string a",
        "wstring a",
        "uint8[] a",
        "string[] a",
        "float64[] a",
        "uint8[18446744073709551615] a",
        "float64[18446744073709551615] a",
        "string[9999999999] a",
        "builtin_interfaces/Time[] a",
    ] {
        let decoded = decode_message(&ros2(text), &cdr(&[0xff; 64]), ALL);
        assert!(decoded.problem.unwrap().contains("bytes"), "{text}");
        assert_eq!(decoded.format, PayloadFormat::Hex);
    }
    let decoded = decode_message(&ros2("uint8[<=2] a"), &cdr(&[3, 0, 0, 0, 1, 2, 3]), ALL);
    assert!(decoded.problem.unwrap().contains("at most 2"));
    // Four billion elements of no bytes.
    let empty = schema("E[] e\nuint8 a", &[("p/E", "")]);
    let decoded = decode_message(&ros1(&empty), &[0xff, 0xff, 0xff, 0xff, 1], ALL);
    assert_eq!((decoded.problem, decoded.lines.len()), (None, 11));
    let empty = schema(
        "E[18446744073709551615] e",
        &[("p/E", "F[18446744073709551615] f"), ("p/F", "")],
    );
    let few = Limits {
        lines: 1000,
        ..Limits::default()
    };
    assert_eq!(decode_message(&ros1(&empty), &[], few).problem, None);
}

#[test]
fn other_encapsulations_and_encodings_are_shown_as_bytes() {
    for kind in [2_u8, 3, 6, 7, 8, 9, 10, 11, 12] {
        let decoded = decode_message(&ros2("uint8 a"), &[0, kind, 0, 0, 1, 0x1b], ALL);
        assert_eq!(decoded.format, PayloadFormat::Hex);
        assert_eq!(decoded.lines[0].name, "00000000");
        assert!(
            decoded.lines[0].value.ends_with(" |......|"),
            "{:?}",
            decoded.lines
        );
        assert!(decoded.problem.unwrap().contains("encapsulation 00"));
    }
    for (topic, why) in [
        (
            topic("protobuf", Some(("a.B", "protobuf", "\x1b[2J"))),
            "the definition is not a descriptor set: ",
        ),
        (
            topic("cdr", Some(("p/msg/T", "ros2idl", "struct"))),
            "`cdr` with a definition in `ros2idl`",
        ),
        (
            topic("flatbuffer", Some(("foxglove.Log", "flatbuffer", "BFBS"))),
            "`flatbuffer` with a definition in `flatbuffer`",
        ),
        (topic("cdr", None), "`cdr` without a definition"),
        (topic("\x1b[2J", None), "`\\u{1b}[2J` without a definition"),
        (ros2(""), "the definition was not recorded"),
        (
            ros2("Other x"),
            "p/msg/Other is referred to but not defined",
        ),
        (
            ros2("uint8 \x1b[2J"),
            "`uint8 \\u{1b}[2J` in p/msg/T is not a field",
        ),
        (ros2("wchar x"), "`x` is a wchar"),
    ] {
        let decoded = decode_message(&topic, b"0123456789abcdefXY\x1b", ALL);
        assert_eq!(
            (decoded.format, decoded.is_cut),
            (PayloadFormat::Hex, false)
        );
        let digits = "30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  |0123456789abcdef|";
        assert_eq!(decoded.lines[0].value, digits);
        let rest = format!("00000010: {:47}  |XY.|", "58 59 1b");
        assert_eq!(shown(&decoded)[1], rest);
        let problem = decoded.problem.unwrap();
        assert!(problem.starts_with(why), "{problem}");
    }
    let narrow = Limits {
        characters: 20,
        lines: 2,
        ..ALL
    };
    let decoded = decode_message(&topic("x", None), &[0; 100], narrow);
    assert_eq!((decoded.lines.len(), decoded.is_cut), (2, true));
    assert_eq!(decoded.lines[1].name, "00000004");
}

#[test]
fn hostile_definitions_end_with_a_problem() {
    let rings = [
        ("T t", vec![]),
        ("A a", vec![("p/A", "B[] b"), ("p/B", "A[] a")]),
    ];
    for (root, others) in rings {
        let decoded = decode_message(&ros2(&schema(root, &others)), &cdr(&[0; 64]), ALL);
        assert!(decoded.problem.unwrap().ends_with("contains itself"));
    }
    let chain = |length: usize| {
        let mut text = "N0 x".to_owned();
        for n in 0..length {
            write!(text, "\n{}\nMSG: p/N{n}\nN{} x\n", "=".repeat(80), n + 1).unwrap();
        }
        write!(text, "\n{}\nMSG: p/N{length}\nuint8 x\n", "=".repeat(80)).unwrap();
        text
    };
    let decoded = decode_message(&ros2(&chain(62)), &cdr(&[5]), ALL);
    assert_eq!((decoded.problem, decoded.lines.len()), (None, 64));
    for length in [63, 5000] {
        let decoded = decode_message(&ros2(&chain(length)), &cdr(&[5]), ALL);
        assert!(decoded.problem.unwrap().contains("more than 64 deep"));
    }
    // Each level has ten elements of the next one: 10^30 elements of no bytes.
    let mut text = "N0[10] x".to_owned();
    for n in 0..30 {
        write!(
            text,
            "\n{}\nMSG: p/N{n}\nN{}[10] x\n",
            "=".repeat(80),
            n + 1
        )
        .unwrap();
    }
    write!(text, "\n{}\nMSG: p/N30\n", "=".repeat(80)).unwrap();
    for (elements, depth) in [(8, 500), (0, 500), (8, 3)] {
        let limits = Limits {
            elements,
            depth,
            ..Limits::default()
        };
        let decoded = decode_message(&ros1(&text), &[], limits);
        assert!(decoded.lines.len() <= limits.lines);
        assert_eq!((decoded.problem, decoded.is_cut), (None, elements > 0));
        assert!(
            decode_message(&ros2(&text), &cdr(&[0; 9]), limits)
                .problem
                .is_some()
        );
    }
    let huge = ros2(&"uint8 a\n".repeat(200_000));
    assert!(
        decode_message(&huge, &cdr(&[0; 9]), ALL)
            .problem
            .unwrap()
            .contains("too many")
    );
    let mut times = "builtin_interfaces/Time t\n".repeat(20_000);
    write!(times, "{}\nMSG: builtin_interfaces/Time\n", "=".repeat(80)).unwrap();
    times.push_str(&"uint8 a\n".repeat(60_000));
    assert!(
        decode_message(&ros2(&times), &cdr(&[0; 9]), Limits::default())
            .problem
            .is_some()
    );
}

#[test]
fn depth_lines_and_characters_are_limited() {
    let text = schema(
        "A a\nuint8 z",
        &[("p/A", "B b\nuint8 y"), ("p/B", "string[] s\nuint8 x")],
    );
    let body = [2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 7, 8, 9];
    let topic = ros2(&text);
    check(
        &topic,
        &cdr(&body),
        &[
            "a:",
            "  b:",
            "    s: [\"\", \"\"]",
            "    x: 7",
            "  y: 8",
            "z: 9",
        ],
    );
    for (depth, expected) in [
        (1, &["a:", "  b: …", "  y: 8", "z: 9"][..]),
        (0, &["a: …", "z: 9"]),
    ] {
        let decoded = decode_message(&topic, &cdr(&body), Limits { depth, ..ALL });
        assert_eq!(shown(&decoded), expected);
        assert_eq!((decoded.problem, decoded.is_cut), (None, true));
    }
    for lines in 0..6 {
        let decoded = decode_message(&topic, &cdr(&body), Limits { lines, ..ALL });
        assert_eq!((decoded.lines.len(), decoded.is_cut), (lines, true));
    }
    let long = [&200_u32.to_le_bytes()[..], &[b'x'; 200]].concat();
    let narrow = Limits {
        characters: 24,
        ..ALL
    };
    let decoded = decode_message(&ros2("string s"), &cdr(&long), narrow);
    assert_eq!(decoded.lines[0].value, "\"xxxxxxxxx…\" (200 bytes)");
    assert_eq!(decoded.lines[0].value.chars().count(), 24);
    let decoded = decode_message(
        &ros2("float64[5] f"),
        &cdr(&0.1_f64.to_le_bytes().repeat(5)),
        narrow,
    );
    assert_eq!(decoded.lines[0].value, "[0.1, 0.1, … 5 in all]");
}

#[test]
fn json_is_shown_as_nested_lines() {
    let text = r#"{"a": 1, "b": {"c": [1.5, -2, "x\u001b[2J"], "d": {}}, "e": [{"f": null}, [true]], "g": [], "\u202e": 0.1}"#;
    let json = topic("json", Some(("T", "jsonschema", "{}")));
    check(
        &json,
        text.as_bytes(),
        &[
            "a: 1",
            "b:",
            "  c: [1.5, -2, \"x\\u{1b}[2J\"]",
            "  d:",
            "e: 2 in all",
            "  [0]:",
            "    f: null",
            "  [1]: [true]",
            "g: []",
            "\\u{202e}: 0.1",
        ],
    );
    check(&topic("json", None), b" 12 ", &[": 12"]);
    let many = format!("[{}]", vec!["7"; 100].join(","));
    check(
        &json,
        many.as_bytes(),
        &[": [7, 7, 7, 7, 7, 7, 7, 7, … 100 in all]"],
    );
    let shallow = Limits {
        depth: 1,
        elements: 0,
        ..ALL
    };
    let decoded = decode_message(&json, br#"{"a":{"d":[[true]]}}"#, shallow);
    assert!(decoded.is_cut && decoded.lines.iter().all(|line| line.depth <= 1));
    let decoded = decode_message(&json, text.as_bytes(), Limits { depth: 0, ..ALL });
    assert_eq!(
        shown(&decoded),
        ["a: 1", "b: …", "e: 2 in all", "g: []", "\\u{202e}: 0.1"]
    );
    assert!(decoded.is_cut);
    for cut in 0..text.len() {
        let decoded = decode_message(&json, &text.as_bytes()[..cut], ALL);
        assert!(decoded.problem.unwrap().starts_with("not JSON: "), "{cut}");
    }
    let deep = [b"{\"a\":".repeat(5000), b"[".repeat(5000)].concat();
    assert!(decode_message(&json, &deep, ALL).problem.is_some());
    let long = format!("{{\"a\": 1, \"b\": \"{}\"}}", "x".repeat(2 << 20));
    let decoded = decode_message(&json, long.as_bytes(), Limits::default());
    assert_eq!(
        (shown(&decoded), decoded.problem, decoded.is_cut),
        (vec!["a: 1".to_owned()], None, true)
    );
    let broken = decode_message(&json, b"\xff\x1b", ALL);
    assert_eq!(broken.format, PayloadFormat::Hex);
}

/// Within the limits, and without control characters.
fn assert_fits(decoded: &Decoded, limits: Limits) {
    assert!(decoded.lines.len() <= limits.lines);
    let texts = decoded
        .lines
        .iter()
        .flat_map(|line| [&line.name, &line.value]);
    for text in texts {
        assert!(text.chars().count() <= limits.characters.max(40), "{text}");
        assert!(!text.contains(char::is_control), "{text:?}");
    }
    let problem = decoded.problem.iter();
    problem.for_each(|text| assert!(!text.contains(char::is_control), "{text:?}"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_payload_and_definition_stays_within_the_limits(
        lines in prop::collection::vec((0..10_usize, 0..6_usize, 0..5_u32), 0..12),
        payload in prop::collection::vec(prop_oneof![0..6_u8, any::<u8>()], 0..200),
        (lines_shown, characters, elements, depth, steps) in (0..40_usize, 0..60_usize, 0..6_usize, 0..5_usize, 0..300_usize),
        form in 0..3,
    ) {
        let kinds = ["uint8", "float64", "string", "N", "M", "builtin_interfaces/Time", "int16", "bool", "wstring", "time"];
        let mut texts = [String::new(), String::new(), String::new()];
        for (index, (kind, array, size)) in lines.iter().enumerate() {
            let of = (index % 3).min(2);
            let array = ["", "", "[]", &format!("[{size}]"), &format!("[<={size}]"), ""][*array].to_owned();
            writeln!(texts[of], "{}{array} f{index}", kinds[*kind]).unwrap();
        }
        let text = schema(&texts[0], &[("p/N", &texts[1]), ("p/M", &texts[2])]);
        let limits = Limits { lines: lines_shown, characters, elements, depth, steps };
        let topic = match form {
            0 => ros1(&text),
            1 => ros2(&text),
            _ => topic("json", None),
        };
        let payload = if form == 1 { cdr(&payload) } else { payload };
        assert_fits(&decode_message(&topic, &payload, limits), limits);
    }

    #[test]
    fn the_limits_do_not_change_what_is_decoded(
        (a, n, f) in (0..20_usize, 0..20_usize, 0..9_usize),
    ) {
        // The last field is found, whatever is skipped before it.
        let text = schema("uint8[] a\nN[] n\nuint8 z", &[("p/N", "uint8[3] p\nfloat64 q\nM[2] m\nuint16 r"), ("p/M", "uint8 s\nuint32 t")]);
        let mut body = u32::try_from(a).unwrap().to_le_bytes().to_vec();
        body.resize(body.len() + a, 1);
        let mut put = |bytes: &[u8]| {
            body.resize(body.len().next_multiple_of(bytes.len()), 0);
            body.extend(bytes);
        };
        put(&u32::try_from(n).unwrap().to_le_bytes());
        for _ in 0..n {
            (0..3).for_each(|_| put(&[1]));
            put(&[1; 8]);
            for _ in 0..2 {
                put(&[1]);
                put(&[1; 4]);
            }
            put(&[1; 2]);
        }
        put(&[99]);
        let decoded = decode_message(&ros2(&text), &cdr(&body), Limits { elements: f, ..ALL });
        prop_assert_eq!(&decoded.problem, &None);
        prop_assert_eq!(&decoded.lines.last().unwrap().value, "99");
    }
}

/// The first message of every topic, decoded without limits.
fn first_messages(path: &PathBuf) -> Vec<(Topic, Decoded)> {
    let bag = Bag::open(&[path]).unwrap_or_else(|error| panic!("{error}"));
    let cursor = bag.cursor(&all(&bag), StartAt::At(Time::MIN), Direction::Forward);
    let mut seen = vec![false; bag.topics().len()];
    let mut found = Vec::new();
    for message in cursor.filter_map(Result::ok) {
        let index = message.topic.index();
        if std::mem::replace(&mut seen[index], true) {
            continue;
        }
        let topic = bag.topics()[index].clone();
        let decoded = decode_message(&topic, &message.payload, ALL);
        found.push((topic, decoded));
    }
    found
}

#[test]
fn data_first_messages_of_all_topics_are_decoded_to_their_last_byte() {
    let Some(data) = data() else { return };
    let mut counts = [0; 5];
    for path in recordings(&data) {
        for (topic, decoded) in first_messages(&path) {
            let name = format!(
                "{} {} {}",
                path.to_string_lossy(),
                topic.name,
                topic.type_name()
            );
            let schema = topic.schema.as_ref().map_or("", |schema| &schema.encoding);
            let format = match (topic.encoding.as_str(), schema) {
                ("cdr", "ros2msg") => PayloadFormat::Cdr,
                ("ros1", "ros1msg") => PayloadFormat::Ros1,
                ("protobuf", "protobuf") => PayloadFormat::Protobuf,
                ("json", _) => PayloadFormat::Json,
                _ => PayloadFormat::Hex,
            };
            assert_eq!(decoded.format, format, "{name}: {:?}", decoded.problem);
            assert!(!decoded.is_cut, "{name}");
            assert_eq!(
                decoded.problem.is_some(),
                format == PayloadFormat::Hex,
                "{name}: {:?}",
                decoded.problem
            );
            assert_fits(&decoded, ALL);
            counts[format as usize] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count >= 2), "{counts:?}");
}

/// The values of a path as `Decoder` writes them.
fn values(topic: &Topic, payload: &[u8], path: &str) -> Vec<String> {
    let path: ValuePath = path.parse().unwrap();
    let reader = FieldReader::new(topic, &path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut found = Vec::new();
    let mut visit = |_: &[u64], value: FieldValue<'_>| {
        found.push(match value {
            FieldValue::Time(nanos) => {
                let sign = if nanos < 0 { "-" } else { "" };
                let nanos = nanos.unsigned_abs();
                let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
                format!("{sign}{whole}.{part:09}")
            }
            value => value.to_string(),
        });
        ControlFlow::Continue(())
    };
    let read = reader.read(payload, &mut visit);
    read.unwrap_or_else(|error| panic!("{path}: {error}"));
    found
}

/// Reads each field that a decoded message shows, and compares. Returns how many there were.
fn compare_fields(topic: &Topic, payload: &[u8]) -> usize {
    let mut names: Vec<String> = Vec::new();
    let mut compared = 0;
    for line in decode_message(topic, payload, ALL).lines {
        names.truncate(line.depth);
        names.push(line.name);
        let path = names.join(".").replace(".[", "[");
        let shown = line.value.as_str();
        if shown.is_empty() || shown.contains('…') || path.contains('…') || shown.len() > 100 {
            continue;
        }
        let count = shown.strip_suffix(" in all");
        let expected = if let Some(count) = count.or((shown == "[]").then_some("0")) {
            assert_eq!(values(topic, payload, &format!("{path}.length")), [count]);
            continue;
        } else if let Some(array) = shown.strip_prefix('[') {
            let found = values(topic, payload, &format!("{path}[*]"));
            assert_eq!(found.join(", "), array.trim_end_matches(']'), "{path}");
            continue;
        } else {
            shown
        };
        assert_eq!(values(topic, payload, &path), [expected], "{path}");
        compared += 1;
    }
    compared
}

#[test]
fn fields_also_of_real_recordings_have_the_values_that_are_shown() {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
    let mut files = vec![PathBuf::from(demo)];
    files.extend(data().iter().flat_map(|dir| recordings(dir)));
    let mut compared = 0;
    for file in files {
        let Ok(bag) = Bag::open(&[&file]) else {
            continue;
        };
        let mut seen = vec![0_u32; bag.topics().len()];
        let cursor = bag.cursor(&all(&bag), StartAt::At(Time::MIN), Direction::Forward);
        for message in cursor.take(2_000).flatten() {
            let index = message.topic.index();
            seen[index] += 1;
            if seen[index] > 3 {
                continue;
            }
            let topic = &bag.topics()[index];
            let decoded = decode_message(topic, &message.payload, ALL);
            if decoded.format != PayloadFormat::Hex && decoded.problem.is_none() {
                compared += compare_fields(topic, &message.payload);
            }
        }
    }
    assert!(compared > 50, "{compared}");
}
