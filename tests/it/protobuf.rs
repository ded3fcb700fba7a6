//! Protobuf messages: every type of field as text and as values, hostile definitions and payloads, and a second opinion.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bagplay::bag::{Bag, Direction, Schema, StartAt, Topic};
use bagplay::decode::{
    Decoded, FieldKind, FieldReader, FieldRules, HeaderStamp, Limits, PairWalk, PayloadFormat,
    ValuePath, constants_at, decode_message, value_names,
};
use bagplay::time::Time;
use proptest::prelude::*;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MapKey, ReflectMessage, Value};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, FileDescriptorSet, MessageOptions, OneofDescriptorProto,
};

use crate::bag::data::{data, recordings};
use crate::support::mcaps::all;

const STAMP: &str = ".google.protobuf.Timestamp";
const SPAN: &str = ".google.protobuf.Duration";

fn field(name: &str, number: i32, kind: Type) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(Label::Optional.into()),
        r#type: Some(kind.into()),
        ..FieldDescriptorProto::default()
    }
}

fn typed(name: &str, number: i32, type_name: &str) -> FieldDescriptorProto {
    let kind = match type_name {
        ".t.Level" => Type::Enum,
        _ => Type::Message,
    };
    FieldDescriptorProto {
        type_name: Some(type_name.to_owned()),
        ..field(name, number, kind)
    }
}

fn repeated(field: FieldDescriptorProto) -> FieldDescriptorProto {
    FieldDescriptorProto {
        label: Some(Label::Repeated.into()),
        ..field
    }
}

fn in_oneof(field: FieldDescriptorProto, oneof: i32) -> FieldDescriptorProto {
    FieldDescriptorProto {
        oneof_index: Some(oneof),
        ..field
    }
}

fn message(name: &str, field: Vec<FieldDescriptorProto>) -> DescriptorProto {
    DescriptorProto {
        name: Some(name.to_owned()),
        field,
        ..DescriptorProto::default()
    }
}

fn entry(name: &str, key: Type, value: FieldDescriptorProto) -> DescriptorProto {
    DescriptorProto {
        options: Some(MessageOptions {
            map_entry: Some(true),
            ..MessageOptions::default()
        }),
        ..message(name, vec![field("key", 1, key), value])
    }
}

fn file(messages: Vec<DescriptorProto>) -> FileDescriptorProto {
    let constant = |name: &str, number| EnumValueDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        ..EnumValueDescriptorProto::default()
    };
    FileDescriptorProto {
        name: Some("t.proto".to_owned()),
        package: Some("t".to_owned()),
        syntax: Some("proto3".to_owned()),
        dependency: ["timestamp", "duration"]
            .map(|name| format!("google/protobuf/{name}.proto"))
            .to_vec(),
        message_type: messages,
        enum_type: vec![EnumDescriptorProto {
            name: Some("Level".to_owned()),
            value: vec![
                constant("OK", 0),
                constant("WARN", 1),
                constant("ERROR", 2),
                constant("LOST", -1),
            ],
            ..EnumDescriptorProto::default()
        }],
        ..FileDescriptorProto::default()
    }
}

/// `t.Point`, which may contain itself, and `t.All` with every type of field.
fn all_types() -> FileDescriptorProto {
    let scalars = [
        ("double", Type::Double),
        ("float", Type::Float),
        ("int32", Type::Int32),
        ("int64", Type::Int64),
        ("uint32", Type::Uint32),
        ("uint64", Type::Uint64),
        ("sint32", Type::Sint32),
        ("sint64", Type::Sint64),
        ("fixed32", Type::Fixed32),
        ("fixed64", Type::Fixed64),
        ("sfixed32", Type::Sfixed32),
        ("sfixed64", Type::Sfixed64),
        ("bool", Type::Bool),
        ("string", Type::String),
        ("bytes", Type::Bytes),
    ];
    let one = (1..)
        .zip(scalars)
        .map(|(number, (name, kind))| field(name, number, kind));
    let many = (21..)
        .zip(scalars)
        .map(|(number, (name, kind))| repeated(field(&format!("{name}s"), number, kind)));
    let mut fields: Vec<_> = one.chain(many).collect();
    fields.extend([
        typed("timestamp", 41, STAMP),
        typed("age", 42, SPAN),
        repeated(typed("stamps", 43, STAMP)),
        typed("level", 44, ".t.Level"),
        repeated(typed("levels", 45, ".t.Level")),
        typed("point", 46, ".t.Point"),
        repeated(typed("points", 47, ".t.Point")),
        repeated(typed("counts", 48, ".t.All.CountsEntry")),
        repeated(typed("by_id", 49, ".t.All.ByIdEntry")),
        in_oneof(field("text", 50, Type::String), 0),
        in_oneof(typed("place", 51, ".t.Point"), 0),
        in_oneof(field("number", 52, Type::Sint32), 0),
        FieldDescriptorProto {
            proto3_optional: Some(true),
            ..in_oneof(field("maybe", 53, Type::Int32), 1)
        },
    ]);
    let oneof = |name: &str| OneofDescriptorProto {
        name: Some(name.to_owned()),
        ..OneofDescriptorProto::default()
    };
    let all = DescriptorProto {
        nested_type: vec![
            entry("CountsEntry", Type::String, field("value", 2, Type::Int64)),
            entry("ByIdEntry", Type::Int32, typed("value", 2, ".t.Point")),
        ],
        oneof_decl: vec![oneof("choice"), oneof("_maybe")],
        ..message("All", fields)
    };
    let point = message(
        "Point",
        vec![
            field("x", 1, Type::Double),
            field("y", 2, Type::Float),
            typed("next", 3, ".t.Point"),
            repeated(typed("more", 4, ".t.Point")),
        ],
    );
    file(vec![all, point])
}

fn set(file: FileDescriptorProto) -> FileDescriptorSet {
    FileDescriptorSet { file: vec![file] }
}

/// The types for the second opinion, with the well-known ones.
fn pool() -> DescriptorPool {
    let mut pool = DescriptorPool::global();
    pool.add_file_descriptor_proto(all_types()).unwrap();
    pool
}

fn topic_of(definition: &[u8], name: &str) -> Topic {
    Topic {
        name: "/t".to_owned(),
        schema: Some(Schema {
            name: name.to_owned(),
            encoding: "protobuf".to_owned(),
            data: definition.to_vec().into(),
        }),
        encoding: "protobuf".to_owned(),
        offered_qos: Vec::new(),
        type_hash: None,
        ros1_md5: None,
        is_latched: false,
        message_count: None,
    }
}

fn topic() -> Topic {
    topic_of(&set(all_types()).encode_to_vec(), "t.All")
}

fn lines(decoded: &Decoded) -> Vec<String> {
    let line = |line: &bagplay::decode::FieldLine| {
        let indent = " ".repeat(line.depth);
        format!("{indent}{}: {}", line.name, line.value)
    };
    decoded.lines.iter().map(line).collect()
}

fn read(topic: &Topic, path: &str, payload: &[u8]) -> Result<Vec<String>, String> {
    let path: ValuePath = path.parse().unwrap();
    let reader = FieldReader::new(topic, &path).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    let mut visit = |indexes: &[u64], value: bagplay::decode::FieldValue<'_>| {
        found.push(format!("{} = {value}", path.at(indexes)));
        ControlFlow::Continue(())
    };
    let end = reader.read(payload, &mut visit);
    end.map_err(|error| error.to_string()).map(|()| found)
}

fn point(x: f64) -> DynamicMessage {
    let mut point = DynamicMessage::new(pool().get_message_by_name("t.Point").unwrap());
    point.set_field_by_name("x", Value::F64(x));
    point
}

fn time(name: &str, seconds: i64, nanos: i32) -> Value {
    let name = format!("google.protobuf.{name}");
    let mut time = DynamicMessage::new(pool().get_message_by_name(&name).unwrap());
    time.set_field_by_name("seconds", Value::I64(seconds));
    time.set_field_by_name("nanos", Value::I32(nanos));
    Value::Message(time)
}

/// A message with a value in most fields.
fn full() -> DynamicMessage {
    let mut all = DynamicMessage::new(pool().get_message_by_name("t.All").unwrap());
    let list = |values: &[f64]| Value::List(values.iter().copied().map(Value::F64).collect());
    for (name, value) in [
        ("double", Value::F64(0.1)),
        ("float", Value::F32(-2.5)),
        ("int32", Value::I32(-3)),
        ("int64", Value::I64(i64::MIN)),
        ("uint32", Value::U32(u32::MAX)),
        ("uint64", Value::U64(u64::MAX)),
        ("sint32", Value::I32(i32::MIN)),
        ("sint64", Value::I64(-7)),
        ("fixed32", Value::U32(8)),
        ("fixed64", Value::U64(9)),
        ("sfixed32", Value::I32(-10)),
        ("sfixed64", Value::I64(-11)),
        ("bool", Value::Bool(true)),
        ("string", Value::String("one\n".to_owned())),
        ("bytes", Value::Bytes(vec![0, 255, 7].into())),
        ("doubles", list(&[1.0, 2.5, f64::NAN])),
        (
            "sint32s",
            Value::List(vec![Value::I32(-1), Value::I32(300)]),
        ),
        (
            "bools",
            Value::List(vec![Value::Bool(true), Value::Bool(false)]),
        ),
        (
            "strings",
            Value::List(vec![
                Value::String("a".to_owned()),
                Value::String(String::new()),
            ]),
        ),
        (
            "bytess",
            Value::List(vec![
                Value::Bytes(vec![1, 2].into()),
                Value::Bytes(vec![].into()),
            ]),
        ),
        ("timestamp", time("Timestamp", 12, 500_000_000)),
        ("age", time("Duration", -1, -250_000_000)),
        (
            "stamps",
            Value::List(vec![time("Timestamp", 1, 0), time("Timestamp", 2, 3)]),
        ),
        ("level", Value::EnumNumber(2)),
        (
            "levels",
            Value::List([1, -1, 77].map(Value::EnumNumber).to_vec()),
        ),
        ("point", Value::Message(point(5.0))),
        (
            "points",
            Value::List((0..12).map(|x| Value::Message(point(x.into()))).collect()),
        ),
        (
            "counts",
            Value::Map(
                [("b", 2), ("a", 1), ("a b", 3)]
                    .map(|(key, value)| (MapKey::String(key.to_owned()), Value::I64(value)))
                    .into(),
            ),
        ),
        (
            "by_id",
            Value::Map([(MapKey::I32(-4), Value::Message(point(4.0)))].into()),
        ),
        ("number", Value::I32(-6)),
    ] {
        all.set_field_by_name(name, value);
    }
    all
}

/// What is shown of [`full`], with two elements of arrays.
const ALL_SHOWN: &[&str] = &[
    "double: 0.1",
    "float: -2.5",
    "int32: -3",
    "int64: -9223372036854775808",
    "uint32: 4294967295",
    "uint64: 18446744073709551615",
    "sint32: -2147483648",
    "sint64: -7",
    "fixed32: 8",
    "fixed64: 9",
    "sfixed32: -10",
    "sfixed64: -11",
    "bool: true",
    r#"string: "one\n""#,
    "bytes: [0, 255, … 3 in all]",
    "doubles: [1.0, 2.5, … 3 in all]",
    "floats: []",
    "int32s: []",
    "int64s: []",
    "uint32s: []",
    "uint64s: []",
    "sint32s: [-1, 300]",
    "sint64s: []",
    "fixed32s: []",
    "fixed64s: []",
    "sfixed32s: []",
    "sfixed64s: []",
    "bools: [true, false]",
    r#"strings: ["a", ""]"#,
    r#"bytess: ["\u{1}\u{2}", ""]"#,
    "timestamp: 12.500000000",
    "age: -1.250000000",
    "stamps: [1.000000000, 2.000000003]",
    "level: ERROR (2)",
    "levels: [WARN (1), LOST (-1), … 3 in all]",
    "point: ",
    " x: 5.0",
    " y: 0.0",
    " more: []",
    "points: 12 in all",
    " [0]: ",
    "  x: 0.0",
    "  y: 0.0",
    "  more: []",
    " [1]: ",
    "  x: 1.0",
    "  y: 0.0",
    "  more: []",
    " …: 10 more",
    "counts: 3 in all",
    " a: 1",
    r#" ["a b"]: 3"#,
    " …: 1 more",
    "by_id: 1 in all",
    " -4: ",
    "  x: 4.0",
    "  y: 0.0",
    "  more: []",
    "number: -6",
];

#[test]
fn every_type_of_field_is_shown_in_the_order_of_the_definition() {
    let limits = Limits {
        elements: 2,
        ..Limits::default()
    };
    let decoded = decode_message(&topic(), &full().encode_to_vec(), limits);
    assert_eq!(decoded.format, PayloadFormat::Protobuf);
    assert_eq!((decoded.problem.as_deref(), decoded.is_cut), (None, false));
    assert_eq!(lines(&decoded), ALL_SHOWN);
}

#[test]
fn what_is_not_written_is_zero_or_left_out() {
    let decoded = decode_message(&topic(), &[], Limits::default());
    assert_eq!(decoded.problem, None);
    let shown = lines(&decoded);
    for line in [
        "double: 0.0",
        "uint64: 0",
        "string: \"\"",
        "bytes: []",
        "level: OK (0)",
        "counts: []",
    ] {
        assert!(shown.contains(&line.to_owned()), "{line}: {shown:?}");
    }
    for name in ["timestamp:", "point:", "text:", "number:", "maybe:"] {
        assert!(
            !shown.iter().any(|line| line.starts_with(name)),
            "{name}: {shown:?}"
        );
    }
    for (path, found) in [
        ("double", &["double = 0.0"][..]),
        ("string.length", &["string.length = 0"]),
        ("points.length", &["points.length = 0"]),
        ("points[*].x", &[]),
        ("timestamp", &[]),
        ("point.x", &[]),
        ("maybe", &[]),
        ("number", &[]),
        ("counts.a", &[]),
    ] {
        assert_eq!(read(&topic(), path, &[]).unwrap(), found, "{path}");
    }
}

#[test]
fn every_kind_of_path_is_read() {
    let payload = full().encode_to_vec();
    for (path, found) in [
        ("int64", &["int64 = -9223372036854775808"][..]),
        ("uint64", &["uint64 = 18446744073709551615"]),
        ("sint32", &["sint32 = -2147483648"]),
        ("float", &["float = -2.5"]),
        ("string", &["string = \"one\\n\""]),
        ("string.length", &["string.length = 4"]),
        ("bytes[1]", &["bytes[1] = 255"]),
        ("bytes[-1]", &["bytes[-1] = 7"]),
        (
            "bytes[*]",
            &["bytes[0] = 0", "bytes[1] = 255", "bytes[2] = 7"],
        ),
        ("bytes.length", &["bytes.length = 3"]),
        ("bytess[0]", &["bytess[0] = \"\\u{1}\\u{2}\""]),
        (
            "bytess[*].length",
            &["bytess[0].length = 2", "bytess[1].length = 0"],
        ),
        ("doubles[-2]", &["doubles[-2] = 2.5"]),
        ("doubles[3]", &[]),
        ("doubles[-4]", &[]),
        ("doubles.length", &["doubles.length = 3"]),
        ("sint32s[*]", &["sint32s[0] = -1", "sint32s[1] = 300"]),
        ("timestamp", &["timestamp = 12.5s"]),
        ("timestamp.sec", &["timestamp.sec = 12"]),
        ("timestamp.nanos", &["timestamp.nanos = 500000000"]),
        ("age", &["age = -1.25s"]),
        ("stamps[1]", &["stamps[1] = 2.000000003s"]),
        ("level", &["level = 2"]),
        (
            "levels[*]",
            &["levels[0] = 1", "levels[1] = -1", "levels[2] = 77"],
        ),
        ("point.x", &["point.x = 5.0"]),
        ("point.next.next.x", &[]),
        ("points[11].x", &["points[11].x = 11.0"]),
        ("points[-1].y", &["points[-1].y = 0.0"]),
        ("counts.a", &["counts.a = 1"]),
        (
            "counts[*]",
            &["counts[0] = 1", "counts[1] = 3", "counts[2] = 2"],
        ),
        ("counts.length", &["counts.length = 3"]),
        ("by_id.-4.x", &["by_id.-4.x = 4.0"]),
        ("by_id[*].x", &["by_id[0].x = 4.0"]),
        ("number", &["number = -6"]),
        ("text", &[]),
    ] {
        assert_eq!(read(&topic(), path, &payload).unwrap(), found, "{path}");
    }
}

#[test]
fn a_path_that_the_type_does_not_have_is_refused_with_what_there_is() {
    for (path, what) in [
        (
            "point.z",
            "`point` has no field `z`; its fields are x, y, next, more",
        ),
        (
            "point",
            "`point` is a message; name one of its fields: x, y, next, more",
        ),
        (
            "points",
            "`points` is an array: write points[0], points[*] or points.length",
        ),
        ("points.x", "`points` is an array"),
        (
            "counts",
            "`counts` is a map: write counts.KEY, counts[*] or counts.length",
        ),
        ("counts[0]", "`counts` is a map"),
        ("double[0]", "`double` is not an array"),
        ("double.x", "`double` is a plain value and has no part `x`"),
        (
            "timestamp.x",
            "`timestamp` is a time; its parts are sec and nanosec",
        ),
        ("bytes.x", "`bytes` is an array"),
    ] {
        let error = read(&topic(), path, &[]).unwrap_err();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn constants_are_those_of_the_enum() {
    let topic = topic();
    let path = |text: &str| text.parse::<ValuePath>().unwrap();
    for text in ["level", "levels[*]"] {
        let types = constants_at(&topic, &path(text));
        assert_eq!(types[0].type_name, "t.Level");
        let names: Vec<_> = types[0]
            .constants
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["OK", "WARN", "ERROR", "LOST"]);
        assert_eq!(value_names(&topic, &path(text))[3], (-1, "LOST".to_owned()));
        let reader = FieldReader::new(&topic, &path(text)).unwrap();
        assert_eq!(reader.kind(), Some(FieldKind::Integer));
    }
    assert_eq!(constants_at(&topic, &path("int32")), []);
    assert_eq!(value_names(&topic, &path("no.such")), []);
}

#[test]
fn the_stamp_is_a_timestamp_of_that_name() {
    let stamp_of = |messages| {
        let definition = set(file(messages)).encode_to_vec();
        HeaderStamp::of(topic_of(&definition, "t.M").schema.as_ref().unwrap())
    };
    let header = || {
        message(
            "H",
            vec![field("id", 1, Type::Uint32), typed("stamp", 2, STAMP)],
        )
    };
    let in_header = || vec![message("M", vec![typed("header", 7, ".t.H")]), header()];
    for (messages, has) in [
        (vec![message("M", vec![typed("timestamp", 3, STAMP)])], true),
        (vec![message("M", vec![typed("stamp", 3, STAMP)])], true),
        (in_header(), true),
        (vec![message("M", vec![typed("time", 3, STAMP)])], false),
        (vec![message("M", vec![typed("stamp", 3, SPAN)])], false),
        (
            vec![message("M", vec![repeated(typed("stamp", 3, STAMP))])],
            false,
        ),
        (
            vec![message("M", vec![field("stamp", 3, Type::Uint64)])],
            false,
        ),
        (
            vec![message("M", vec![typed("head", 7, ".t.H")]), header()],
            false,
        ),
    ] {
        assert_eq!(stamp_of(messages.clone()).is_some(), has, "{messages:?}");
    }
    let stamp = HeaderStamp::of(topic().schema.as_ref().unwrap()).unwrap();
    let payload = full().encode_to_vec();
    assert_eq!(stamp.read(&payload), Some(Time::from_nanos(12_500_000_000)));
    assert_eq!(stamp.read(&[]), None);
    // Field 7 with the header, which has field 2 with the stamp of 5 s and 3 ns.
    let nested = [0x3a, 6, 0x12, 4, 8, 5, 16, 3];
    let stamp = stamp_of(in_header()).unwrap();
    assert_eq!(stamp.read(&nested), Some(Time::from_nanos(5_000_000_003)));
    for length in 1..nested.len() {
        assert_eq!(stamp.read(&nested[..length]), None, "{length}");
    }
    // Minus one nanosecond is no part of a second.
    let minus = [&[0x3a, 15, 0x12, 13, 8, 5, 16][..], &[0xff; 9], &[1]].concat();
    assert_eq!(stamp.read(&minus), None);
}

#[test]
fn outputs_are_compared_byte_by_byte() {
    let walk = PairWalk::new(&topic(), &topic(), FieldRules::default());
    assert_eq!(walk.as_bytes(), Some("protobuf is compared byte by byte"));
    assert_eq!(walk.type_differences(), &[] as &[String]);
}

#[test]
fn a_damaged_payload_is_told_with_its_byte() {
    let deep_group = [0xa3, 6].repeat(100);
    for (payload, what) in [
        (
            &[0x09, 1, 2][..],
            "byte 1: field number 1 needs 8 bytes, 2 are left",
        ),
        (
            &[0x72, 9, 65],
            "byte 2: field number 14 needs 9 bytes, 1 are left",
        ),
        (&[0x18], "byte 1: field number 3 needs 1 bytes, 0 are left"),
        (&[0x18, 1, 0x00], "byte 2: no field begins here"),
        (&[0x18, 1, 0x1f], "byte 2: no field begins here"),
        (&[0x18, 1, 0x1c], "byte 2: no field begins here"),
        (
            &[0x18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2],
            "byte 1: a number has more than 64 bits",
        ),
        (
            &[0x0a, 0],
            "byte 0: `double` has the wire type of another type",
        ),
        (
            &[0x18, 1, 0xaa, 1, 3, 0, 0, 0],
            "byte 5: 3 bytes are not a whole number of elements",
        ),
        (
            &[0xf2, 2, 1, 0x08],
            "byte 4: field number 1 needs 1 bytes, 0 are left",
        ),
        (&[0x82, 3, 2, 0x10, 0x80], "needs"),
        (&deep_group, "no field begins here"),
    ] {
        let decoded = decode_message(&topic(), payload, Limits::default());
        let problem = decoded.problem.unwrap();
        assert!(problem.contains(what), "{payload:?}: {problem}");
    }
    // What is before the damage is kept, and a reader that does not need the rest tells it, too.
    let decoded = decode_message(&topic(), &[0x18, 1, 0x00], Limits::default());
    assert_eq!(lines(&decoded), ["int32: 1"]);
    let error = read(&topic(), "int32", &[0x18, 1, 0x00]).unwrap_err();
    assert!(error.contains("byte 2: no field begins here"), "{error}");
    let error = read(&topic(), "doubles[9]", &[0xaa, 1, 8, 0]).unwrap_err();
    assert!(error.contains("needs 8 bytes"), "{error}");
}

#[test]
fn fields_without_a_definition_are_counted() {
    // Numbers 100 to 102, one of them a group.
    let unknown = [0xa0, 6, 1, 0xab, 6, 0x08, 1, 0xac, 6, 0xb2, 6, 0];
    let decoded = decode_message(&topic(), &unknown, Limits::default());
    assert_eq!(decoded.problem, None);
    assert_eq!(
        lines(&decoded).last().unwrap(),
        "…: 3 fields without a definition"
    );
}

#[test]
fn what_is_written_later_counts_and_messages_are_merged() {
    let mut first = full();
    let mut second = DynamicMessage::new(first.descriptor());
    let mut other = point(5.0);
    other.clear_field_by_name("x");
    other.set_field_by_name("y", Value::F32(9.0));
    second.set_field_by_name("point", Value::Message(other));
    second.set_field_by_name("int32", Value::I32(30));
    second.set_field_by_name("doubles", Value::List(vec![Value::F64(8.0)]));
    second.set_field_by_name("text", Value::String("chosen".to_owned()));
    first.clear_field_by_name("age");
    let payload = [first.encode_to_vec(), second.encode_to_vec()].concat();
    for (path, found) in [
        ("point.x", &["point.x = 5.0"][..]),
        ("point.y", &["point.y = 9.0"]),
        ("int32", &["int32 = 30"]),
        ("doubles[3]", &["doubles[3] = 8.0"]),
        ("text", &["text = \"chosen\""]),
        ("number", &[]),
    ] {
        assert_eq!(read(&topic(), path, &payload).unwrap(), found, "{path}");
    }
    let shown = lines(&decode_message(&topic(), &payload, Limits::default()));
    assert!(shown.contains(&"text: \"chosen\"".to_owned()), "{shown:?}");
    assert!(
        !shown.iter().any(|line| line.starts_with("number:")),
        "{shown:?}"
    );
}

#[test]
fn large_and_deep_messages_stay_within_the_limits() {
    // A chain of points, each the `next` of the one around it.
    let mut chain: Vec<u8> = Vec::new();
    while chain.len() < 100_000 {
        let mut outer = vec![0x1a];
        prost::encode_length_delimiter(chain.len(), &mut outer).unwrap();
        outer.extend(&chain);
        chain = outer;
    }
    let point = topic_of(&set(all_types()).encode_to_vec(), "t.Point");
    let without = Limits {
        lines: usize::MAX,
        depth: usize::MAX,
        ..Limits::default()
    };
    let decoded = decode_message(&point, &chain, without);
    assert_eq!((decoded.problem, decoded.is_cut), (None, true));
    let deep = format!("{}x", "next.".repeat(190));
    assert_eq!(
        read(&point, &deep, &chain).unwrap(),
        [format!("{deep} = 0.0")]
    );

    let mut bools = vec![0x8a, 2];
    prost::encode_length_delimiter(1_000_000, &mut bools).unwrap();
    bools.extend(vec![1; 1_000_000]);
    let decoded = decode_message(&topic(), &bools, Limits::default());
    assert_eq!((decoded.problem.as_deref(), decoded.is_cut), (None, false));
    let line = "bools: [true, true, true, true, true, true, true, true, … 1000000 in all]";
    assert!(
        lines(&decoded).contains(&line.to_owned()),
        "{:?}",
        lines(&decoded)
    );
    assert_eq!(
        read(&topic(), "bools.length", &bools).unwrap(),
        ["bools.length = 1000000"]
    );
    assert_eq!(
        read(&topic(), "bools[-1]", &bools).unwrap(),
        ["bools[-1] = true"]
    );

    // A point in two bytes: not all of them are counted.
    let points = [0xfa, 2, 0].repeat(100_000);
    let decoded = decode_message(&topic(), &points, Limits::default());
    assert!(decoded.is_cut);
    let line = "points: 65536 or more".to_owned();
    assert!(lines(&decoded).contains(&line), "{:?}", lines(&decoded));
    assert_eq!(
        read(&topic(), "points.length", &points).unwrap(),
        ["points.length = 100000"]
    );
}

#[test]
fn times_have_their_sign_and_are_told_as_they_are_if_they_are_none() {
    for (name, seconds, nanos, shown) in [
        ("timestamp", 1_733_577_182, 5, "1733577182.000000005"),
        ("timestamp", -1, 999_999_999, "-0.000000001"),
        ("timestamp", i64::MAX, 0, "9223372036854775807.000000000"),
        ("timestamp", 1, -1, "1 s -1 ns"),
        ("timestamp", 1, 1_000_000_000, "1 s 1000000000 ns"),
        ("age", -1, -500_000_000, "-1.500000000"),
        ("age", 0, -1, "-0.000000001"),
    ] {
        let kind = if name == "age" {
            "Duration"
        } else {
            "Timestamp"
        };
        let mut all = DynamicMessage::new(full().descriptor());
        all.set_field_by_name(name, time(kind, seconds, nanos));
        let payload = all.encode_to_vec();
        let shown_as = lines(&decode_message(&topic(), &payload, Limits::default()));
        assert!(
            shown_as.contains(&format!("{name}: {shown}")),
            "{shown}: {shown_as:?}"
        );
    }
    let mut all = DynamicMessage::new(full().descriptor());
    all.set_field_by_name("timestamp", time("Timestamp", i64::MAX, 0));
    let payload = all.encode_to_vec();
    let error = read(&topic(), "timestamp", &payload).unwrap_err();
    assert!(
        error.contains("`timestamp` is too far from 1970"),
        "{error}"
    );
    let stamp = HeaderStamp::of(topic().schema.as_ref().unwrap()).unwrap();
    assert_eq!(stamp.read(&payload), None);
}

#[test]
fn bytes_that_are_text_are_shown_as_text() {
    for (bytes, shown) in [
        (&b"{\"speed\": 8.5}\n"[..], r#""{\"speed\": 8.5}\n""#),
        (
            &[1, 2, 3, 4, 5, 6, 7, 8, 9],
            "[1, 2, 3, 4, 5, 6, 7, 8, … 9 in all]",
        ),
        (&[0xff, 65], "[255, 65]"),
        (&[65, 0xc3], "[65, 195]"),
    ] {
        let mut all = DynamicMessage::new(full().descriptor());
        all.set_field_by_name("bytes", Value::Bytes(bytes.to_vec().into()));
        let decoded = decode_message(&topic(), &all.encode_to_vec(), Limits::default());
        assert!(
            lines(&decoded).contains(&format!("bytes: {shown}")),
            "{:?}",
            lines(&decoded)
        );
    }
    // The limit is within a character.
    let mut all = DynamicMessage::new(full().descriptor());
    let long = format!("a{}", "測".repeat(10_000));
    all.set_field_by_name("bytes", Value::Bytes(long.into_bytes().into()));
    let decoded = decode_message(&topic(), &all.encode_to_vec(), Limits::default());
    let line = lines(&decoded)
        .into_iter()
        .find(|line| line.starts_with("bytes: "));
    assert!(line.unwrap().starts_with("bytes: \"a測測"));
}

#[test]
fn a_damaged_definition_is_named_and_the_message_shown_as_bytes() {
    let whole = set(all_types()).encode_to_vec();
    let of = |messages| set(file(messages)).encode_to_vec();
    let many = (0..10_001).map(|n| message(&format!("M{n}"), Vec::new()));
    let long = "n".repeat(1001);
    let untyped = FieldDescriptorProto {
        r#type: Some(99),
        ..field("f", 1, Type::Bool)
    };
    for (definition, name, what) in [
        (
            b"\x0a\xff".to_vec(),
            "t.All",
            "the definition is not a descriptor set: ",
        ),
        (
            whole[..whole.len() - 9].to_vec(),
            "t.All",
            "the definition is not a descriptor set: ",
        ),
        (vec![], "t.All", "the definition was not recorded"),
        (
            whole.clone(),
            "t.None",
            "t.None is not in the descriptor set",
        ),
        (
            whole.clone(),
            "t.Level",
            "t.Level is not in the descriptor set",
        ),
        (
            of(vec![message("M", vec![typed("f", 1, ".t.X")])]),
            "t.M",
            "t.X is referred to but not defined",
        ),
        (
            of(vec![message("M", vec![untyped])]),
            "t.M",
            "`f` in M has no known number or type",
        ),
        (
            of(vec![message("M", vec![field("f", -1, Type::Bool)])]),
            "t.M",
            "`f` in M has no known number",
        ),
        (
            of(vec![message("M", vec![field("f", 1 << 29, Type::Bool)])]),
            "t.M",
            "`f` in M has no known number",
        ),
        (
            of(many.collect()),
            "t.M0",
            "the descriptor set has more than 10000 types",
        ),
        (
            of(vec![message(&long, vec![])]),
            "t.M",
            "is too long for the name of a type",
        ),
        (vec![0; (1 << 20) + 1], "t.M", "1048577 bytes, too many"),
    ] {
        let topic = topic_of(&definition, name);
        let decoded = decode_message(&topic, b"payload", Limits::default());
        assert_eq!(decoded.format, PayloadFormat::Hex);
        let problem = decoded.problem.unwrap();
        assert!(problem.contains(what), "{problem}");
        let error = read(&topic, "f", b"payload").unwrap_err();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn names_of_types_are_searched_from_the_inside_out() {
    let named = |name: &str| FieldDescriptorProto {
        type_name: Some(name.to_owned()),
        ..field("f", 1, Type::Message)
    };
    let inner = || message("N", vec![field("inner", 1, Type::Int32)]);
    let outer = || message("N", vec![field("outer", 1, Type::Int32)]);
    for (name, has_inner, has_outer, shown) in [
        ("N", true, true, " inner: 7"),
        ("M.N", true, true, " inner: 7"),
        ("N", false, true, " outer: 7"),
        ("t.N", true, true, " outer: 7"),
        (".t.N", true, true, " outer: 7"),
        (".t.M.N", true, true, " inner: 7"),
    ] {
        let nested_type = has_inner.then(inner).into_iter().collect();
        let whole = DescriptorProto {
            nested_type,
            ..message("M", vec![named(name)])
        };
        let messages = [Some(whole), has_outer.then(outer)];
        let definition = set(file(messages.into_iter().flatten().collect()));
        let topic = topic_of(&definition.encode_to_vec(), "t.M");
        let decoded = decode_message(&topic, &[0x0a, 2, 8, 7], Limits::default());
        assert_eq!(decoded.problem, None, "{name}");
        assert_eq!(lines(&decoded), ["f: ", shown], "{name}");
    }
}

#[test]
fn entries_that_are_none_of_a_map_are_messages() {
    let broken = |fields| DescriptorProto {
        options: Some(MessageOptions {
            map_entry: Some(true),
            ..MessageOptions::default()
        }),
        ..message("E", fields)
    };
    for fields in [
        vec![],
        vec![field("key", 1, Type::String)],
        vec![field("key", 1, Type::Double), field("value", 2, Type::Bool)],
        vec![
            repeated(field("key", 1, Type::Bool)),
            field("value", 2, Type::Bool),
        ],
        vec![typed("key", 1, ".t.E"), field("value", 2, Type::Bool)],
    ] {
        let all = vec![
            message("M", vec![repeated(typed("m", 1, ".t.E"))]),
            broken(fields),
        ];
        let topic = topic_of(&set(file(all)).encode_to_vec(), "t.M");
        let decoded = decode_message(&topic, &[0x0a, 0], Limits::default());
        assert_eq!(decoded.problem, None);
        assert_eq!(lines(&decoded)[..2], ["m: 1 in all", " [0]: "]);
    }
}

/// A value of this kind; different seeds give different ones.
fn value(kind: &prost_reflect::Kind, seed: i64, depth: usize) -> Value {
    use prost_reflect::Kind;
    let short = i32::try_from(seed % (1 << 31)).unwrap();
    match kind {
        Kind::Double => Value::F64(f64::from(short) / 8.0),
        Kind::Float => Value::F32(f32::from(i16::try_from(seed % (1 << 15)).unwrap()) / 8.0),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(short),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(seed),
        Kind::Uint32 | Kind::Fixed32 => Value::U32(short.cast_unsigned()),
        Kind::Uint64 | Kind::Fixed64 => Value::U64(seed.cast_unsigned()),
        Kind::Bool => Value::Bool(seed % 2 == 0),
        Kind::String => Value::String(format!("{}", seed % 1000)),
        Kind::Bytes => Value::Bytes(
            seed.to_be_bytes()[..usize::try_from(seed.rem_euclid(8)).unwrap()]
                .to_vec()
                .into(),
        ),
        Kind::Enum(_) => Value::EnumNumber(short % 4),
        Kind::Message(message) => match message.full_name() {
            "google.protobuf.Timestamp" => time(
                "Timestamp",
                seed >> 30,
                short.unsigned_abs().cast_signed() % 1_000_000_000,
            ),
            "google.protobuf.Duration" => time("Duration", seed >> 30, short % 1_000_000_000),
            _ => {
                let seeds = (0..8)
                    .map(|n| (depth < 3 && seed >> n & 1 == 1).then_some(seed.rotate_left(n)));
                Value::Message(filled(message, &seeds.collect::<Vec<_>>(), depth + 1))
            }
        },
    }
}

/// A message with a value in each field that has a seed.
fn filled(
    message: &prost_reflect::MessageDescriptor,
    seeds: &[Option<i64>],
    depth: usize,
) -> DynamicMessage {
    let mut all = DynamicMessage::new(message.clone());
    for (field, seed) in message.fields().zip(seeds) {
        let Some(seed) = seed else { continue };
        let kind = field.kind();
        let seeds = (1..=seed.rem_euclid(4)).map(|n| seed.wrapping_mul(n));
        let whole = match kind.as_message() {
            Some(entry) if field.is_map() => {
                let key = |seed: i64| match entry.map_entry_key_field().kind() {
                    prost_reflect::Kind::String => MapKey::String(format!("k{}", seed % 5)),
                    _ => MapKey::I32(i32::try_from(seed % 5).unwrap()),
                };
                let kind = entry.map_entry_value_field().kind();
                Value::Map(
                    seeds
                        .map(|seed| (key(seed), value(&kind, seed, depth)))
                        .collect(),
                )
            }
            _ if field.is_list() => {
                Value::List(seeds.map(|seed| value(&kind, seed, depth)).collect())
            }
            _ => value(&kind, *seed, depth),
        };
        all.set_field(&field, whole);
    }
    all
}

/// All plain values by their paths, as the other library has them.
fn flatten(message: &DynamicMessage, at: &str, out: &mut BTreeMap<String, String>) {
    for field in message.descriptor().fields() {
        if field.supports_presence() && !message.has_field(&field) {
            continue;
        }
        let dot = if at.is_empty() { "" } else { "." };
        let path = format!("{at}{dot}{}", field.name());
        flatten_value(&message.get_field(&field), &path, out);
    }
}

fn flatten_value(value: &Value, path: &str, out: &mut BTreeMap<String, String>) {
    let mut add = |path: String, shown: String| drop(out.insert(path, shown));
    match value {
        Value::Bool(value) => add(path.to_owned(), value.to_string()),
        Value::I32(value) | Value::EnumNumber(value) => add(path.to_owned(), value.to_string()),
        Value::I64(value) => add(path.to_owned(), value.to_string()),
        Value::U32(value) => add(path.to_owned(), value.to_string()),
        Value::U64(value) => add(path.to_owned(), value.to_string()),
        Value::F32(value) => add(path.to_owned(), format!("{value:?}")),
        Value::F64(value) => add(path.to_owned(), format!("{value:?}")),
        Value::String(value) => add(path.to_owned(), format!("{value:?}")),
        Value::Bytes(value) => {
            add(format!("{path}.length"), value.len().to_string());
            for (at, byte) in value.iter().enumerate() {
                add(format!("{path}[{at}]"), byte.to_string());
            }
        }
        Value::List(values) => {
            add(format!("{path}.length"), values.len().to_string());
            for (at, value) in values.iter().enumerate() {
                flatten_value(value, &format!("{path}[{at}]"), out);
            }
        }
        Value::Map(values) => {
            add(format!("{path}.length"), values.len().to_string());
            for (key, value) in values {
                let key = match key {
                    MapKey::String(key) => key.clone(),
                    MapKey::I32(key) => key.to_string(),
                    other => panic!("{other:?}"),
                };
                flatten_value(value, &format!("{path}.{key}"), out);
            }
        }
        Value::Message(message) if message.descriptor().package_name() == "google.protobuf" => {
            let part = |name| message.get_field_by_name(name).unwrap();
            add(
                format!("{path}.sec"),
                part("seconds").as_i64().unwrap().to_string(),
            );
            add(
                format!("{path}.nanosec"),
                part("nanos").as_i32().unwrap().to_string(),
            );
        }
        Value::Message(message) => flatten(message, path, out),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_value_is_the_one_that_another_library_reads(
        one in prop::collection::vec(prop::option::of(any::<i64>()), 60),
        two in prop::collection::vec(prop::option::weighted(0.2, any::<i64>()), 60),
    ) {
        let (topic, descriptor) = (topic(), pool().get_message_by_name("t.All").unwrap());
        let parts = [one, two].map(|seeds| filled(&descriptor, &seeds, 0).encode_to_vec());
        // Messages one after another are one message.
        let payload = parts.concat();
        let mut expected = BTreeMap::new();
        flatten(&DynamicMessage::decode(descriptor, &payload[..]).unwrap(), "", &mut expected);
        for (path, value) in expected {
            let found = read(&topic, &path, &payload).unwrap();
            prop_assert_eq!(found, [format!("{path} = {value}")]);
        }
        let decoded = decode_message(&topic, &payload, Limits::default());
        prop_assert_eq!(decoded.problem, None);
    }

    #[test]
    fn any_bytes_are_a_payload_that_is_read_or_refused(
        mut payload in prop::collection::vec(any::<u8>(), 0..300),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        is_changed: bool,
    ) {
        if is_changed {
            payload = full().encode_to_vec();
            for (at, byte) in changes {
                *at.get_mut(&mut payload) = byte;
            }
        }
        let decoded = decode_message(&topic(), &payload, Limits::default());
        prop_assert!(decoded.lines.len() <= Limits::default().lines);
        for path in ["sint64", "doubles[*]", "strings[-1]", "timestamp", "points[*].more[*].x", "counts.a", "by_id[*].y", "text"] {
            let found = read(&topic(), path, &payload).unwrap_or_default();
            prop_assert!(found.len() <= payload.len() + 1);
        }
        let stamp = HeaderStamp::of(topic().schema.as_ref().unwrap()).unwrap();
        if stamp.read(&payload).is_some() {
            prop_assert_eq!(read(&topic(), "timestamp", &payload).map(|found| found.len()), Ok(1));
        }
    }

    #[test]
    fn any_bytes_are_a_definition_that_is_used_or_named(
        mut definition in prop::collection::vec(any::<u8>(), 0..300),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        is_changed: bool,
    ) {
        if is_changed {
            definition = set(all_types()).encode_to_vec();
            for (at, byte) in changes {
                *at.get_mut(&mut definition) = byte;
            }
        }
        let topic = topic_of(&definition, "t.All");
        let decoded = decode_message(&topic, &full().encode_to_vec(), Limits::default());
        prop_assert!(decoded.format == PayloadFormat::Protobuf || decoded.problem.is_some());
    }
}

#[test]
fn data_real_protobuf_messages_are_read_to_their_end() {
    let Some(data) = data() else { return };
    let mut topics = 0;
    for path in recordings(&data) {
        let Ok(bag) = Bag::open(&[&path]) else {
            continue;
        };
        let mut seen = vec![false; bag.topics().len()];
        let start = StartAt::At(Time::from_nanos(0));
        let cursor = bag.cursor(&all(&bag), start, Direction::Forward);
        for message in cursor.flatten() {
            let topic = &bag.topics()[message.topic.index()];
            if topic.encoding != "protobuf" {
                continue;
            }
            let decoded = decode_message(topic, &message.payload, Limits::default());
            assert_eq!(
                (decoded.format, decoded.problem),
                (PayloadFormat::Protobuf, None)
            );
            let stamp = HeaderStamp::of(topic.schema.as_ref().unwrap()).unwrap();
            assert!(stamp.read(&message.payload).is_some(), "{}", topic.name);
            topics += usize::from(!std::mem::replace(&mut seen[message.topic.index()], true));
        }
    }
    assert!(topics > 10, "{topics}");
}
