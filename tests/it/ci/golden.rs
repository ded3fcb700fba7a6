//! Recordings compared with a reference: what counts as equal, what is found, and how it is named.

use std::slice;

use bagplay::bag::Bag;
use bagplay::ci::judge::compare::{Align, Comparison, Rules, TopicComparison, compare};
use bagplay::ci::report::{Kind, Verdict};

use crate::bag::data::{data, recordings};
use crate::support::cdr::Cdr;
use crate::support::mcaps::{bag, place};
use crate::support::typed::{Definition, Typed, cloud, definition, imu, odometry, string};

const SECOND: u64 = 1_000_000_000;

/// A message of each number, each a tenth of a second after the other.
fn recorded(definition: &Definition, payloads: &[Vec<u8>]) -> Bag {
    let mut file = Typed::new();
    let topic = file.topic("/t", definition);
    for (time, payload) in (SECOND..).step_by(100_000_000).zip(payloads) {
        file.message(topic, time, payload);
    }
    file.bag()
}

fn checked(reference: &Bag, run: &Bag, rules: &str) -> Comparison {
    let rules = Rules::parse(rules, "golden.toml").unwrap();
    compare(reference, run, &rules).unwrap()
}

fn compared(definition: &Definition, a: &[Vec<u8>], b: &[Vec<u8>], rules: &str) -> Comparison {
    checked(&recorded(definition, a), &recorded(definition, b), rules)
}

/// Equal, different, missing, extra.
fn counts(comparison: &Comparison) -> [u64; 4] {
    let topic = &comparison.topics[0];
    [topic.equal, topic.different, topic.missing, topic.extra]
}

/// Each field that differs: messages and values.
fn fields(comparison: &Comparison) -> Vec<(&str, u64, u64)> {
    let fields = comparison.topics[0].fields.iter();
    fields
        .map(|it| (it.path.as_str(), it.messages, it.values))
        .collect()
}

/// Field and both values of the first difference.
fn first(comparison: &Comparison) -> (&str, &str, &str) {
    let first = comparison.first.as_ref().unwrap();
    (&first.field, &first.values.0, &first.values.1)
}

fn imu_payload(to: Cdr, stamp: u64, z: f64) -> Vec<u8> {
    to.header(stamp, "imu_link")
        .f64s(&[0.0, 0.0, 0.0, 1.0])
        .f64s(&[f64::NAN; 9])
        .f64s(&[0.1, 0.2, 0.3])
        .f64s(&[0.0; 9])
        .f64s(&[0.0, 0.0, z])
        .f64s(&[0.0; 9])
        .done()
}

fn odometry_payload(to: Cdr, stamp: u64, covariance: &[f64; 36]) -> Vec<u8> {
    to.header(stamp, "odom")
        .text("base_link")
        .f64s(&[1.0, 2.0, 3.0])
        .f64s(&[0.0, 0.0, 0.0, 1.0])
        .f64s(covariance)
        .f64s(&[0.5; 6])
        .f64s(&[0.0; 36])
        .done()
}

fn cloud_payload(to: Cdr, stamp: u64, data: &[u8]) -> Vec<u8> {
    to.header(stamp, "lidar")
        .u32(1)
        .u32(u32::try_from(data.len() / 4).unwrap())
        .u32(2)
        .text("x")
        .u32(0)
        .u8(7)
        .u32(1)
        .text("intensity")
        .u32(4)
        .u8(7)
        .u32(1)
        .u8(0)
        .u32(4)
        .u32(4)
        .bytes(data)
        .u8(1)
        .done()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts
        .iter()
        .map(|text| Cdr::little().text(text).done())
        .collect()
}

#[test]
fn a_recording_equals_itself_and_each_topic_is_a_check() {
    let mut file = Typed::new();
    let imu = file.topic("/imu", &imu());
    let odometry = file.topic("/odom", &odometry());
    let cloud = file.topic("/points", &cloud());
    let text = file.topic("/text", &string());
    let json = file.encoded("/json", &("J", "jsonschema", "{}".to_owned()), "json");
    for n in 0..50 {
        let time = SECOND + n * 1000;
        file.message(imu, time, &imu_payload(Cdr::little(), time, 9.81));
        file.message(
            odometry,
            time,
            &odometry_payload(Cdr::big(), time, &[0.0; 36]),
        );
        file.message(cloud, time, &cloud_payload(Cdr::little(), time, &[7; 4000]));
        file.message(text, time, &Cdr::little().text("hello").done());
        file.message(json, time, b"{}");
    }
    let bytes = file.write();
    let comparison = checked(&bag(&bytes), &bag(&bytes), "");
    assert!(comparison.is_equal(), "{comparison}");
    let checks = comparison.checks();
    let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    let topics = ["/imu", "/json", "/odom", "/points", "/text"];
    assert_eq!(
        names,
        topics.map(|topic| format!("{topic} as in the reference"))
    );
    for check in &checks {
        assert_eq!((check.kind, check.verdict), (Kind::Golden, Verdict::Passed));
        assert_eq!(check.reason, "50 messages are equal");
    }
    let aligned: Vec<Align> = comparison.topics.iter().map(|topic| topic.align).collect();
    let (stamp, index) = (Align::Stamp, Align::Index);
    assert_eq!(aligned, [stamp, index, stamp, stamp, index]);
    assert_eq!(
        comparison.notes,
        ["/json: compared byte by byte: JSON is compared as text"]
    );
}

#[test]
fn the_first_divergence_has_its_field_both_values_both_times_and_the_series_around_it() {
    let file = |changed: Option<u64>, delay: u64| {
        let mut file = Typed::new();
        let topic = file.topic("/odom", &odometry());
        for n in 0..200_u64 {
            let mut covariance = [0.5; 36];
            if changed.is_some_and(|changed| n >= changed) {
                covariance[7] = 0.75;
            }
            let stamp = SECOND + n * 1000;
            let payload = odometry_payload(Cdr::little(), stamp, &covariance);
            file.message(topic, stamp + delay, &payload);
        }
        file.bag()
    };
    let comparison = checked(&file(None, 0), &file(Some(120), 5), "");
    let found = comparison.first.as_ref().unwrap();
    assert_eq!((found.topic.as_str(), found.index), ("/odom", 120));
    assert_eq!(first(&comparison), ("pose.covariance[7]", "0.5", "0.75"));
    let time = 1_000_120_000;
    assert_eq!(found.times_ns, (Some(time), Some(time + 5)));
    assert_eq!(counts(&comparison), [120, 80, 0, 0]);
    assert_eq!(fields(&comparison), [("pose.covariance[]", 80, 80)]);
    assert_eq!(comparison.topics[0].fields[0].largest, Some(0.25));
    let (reference, run) = &found.series;
    assert!(reference.contains(&(time, 0.5)) && run.contains(&(time + 5, 0.75)));
    assert_eq!((reference.len(), run.len()), (120, 120));
    assert!(run.is_sorted_by_key(|(time, _)| *time));
    assert!(
        run.iter()
            .all(|(at, value)| (*value > 0.6) == (*at >= time + 5))
    );
    let check = &comparison.checks()[0];
    assert_eq!(check.verdict, Verdict::Failed);
    assert_eq!(
        check.reason,
        "message 120 at 1.000120000: `pose.covariance[7]` is 0.5 in the reference and 0.75 in the run; \
         80 of 200 messages differ"
    );
}

#[test]
fn the_page_for_a_person_begins_with_the_first_divergence() {
    let file = |name: &str, z: f64, text: &str, skipped: u64| {
        let mut file = Typed::new();
        let imu = file.topic("/imu", &imu());
        let chatter = file.topic("/chatter", &string());
        file.message(chatter, 1, &Cdr::little().text(text).done());
        for n in 1..=3 {
            let stamp = n * SECOND;
            if n != skipped {
                file.message(imu, stamp, &imu_payload(Cdr::little(), stamp, z));
            }
        }
        Bag::from_bytes(name, file.write().into()).unwrap()
    };
    let reference = file("golden.mcap", 9.81, "a", 3);
    let run = file("out.mcap", 9.5, "a\x1b[2J", 2);
    let page = checked(&reference, &run, "").to_string();
    let expected = "golden.mcap and out.mcap differ in 2 of 2 topics\n\
        first difference: /chatter, message 0, data\n\
        \u{20} reference  at 0.000000001  \"a\"\n\
        \u{20} run        at 0.000000001  \"a\\u{1b}[2J\"\n\
        /chatter: the message differs\n\
        \u{20} data  1 message\n\
        /imu: the message differs, 1 is missing, 1 is extra\n\
        \u{20} linear_acceleration.z  1 message, largest difference 0.3100000000000005 in message 0\n\
        \u{20} missing: message 1, stamp 2.000000000\n\
        \u{20} extra: message 1, stamp 3.000000000\n";
    assert_eq!(page, expected);
    let page = checked(&reference, &reference, "").to_string();
    assert_eq!(
        page,
        "golden.mcap and golden.mcap are equal\n/chatter: equal, 1 message\n/imu: equal, 2 messages\n"
    );
}

#[test]
fn byte_order_and_padding_do_not_matter() {
    let all = |to: &Cdr| {
        let time = SECOND;
        [
            imu_payload(to.clone(), time, 9.81),
            odometry_payload(to.clone(), time, &[0.25; 36]),
            cloud_payload(to.clone(), time, &[1, 2, 3, 4]),
        ]
    };
    let little = all(&Cdr::little());
    for other in [
        Cdr::big(),
        Cdr::little().filled_with(0xaa),
        Cdr::big().filled_with(0x55),
    ] {
        let others = all(&other);
        for ((definition, a), b) in [imu(), odometry(), cloud()]
            .iter()
            .zip(&little)
            .zip(&others)
        {
            assert_ne!(a, b);
            let comparison = compared(definition, slice::from_ref(a), slice::from_ref(b), "");
            assert_eq!(counts(&comparison), [1, 0, 0, 0], "{comparison}");
        }
        // A value that differs is found all the same.
        let changed = imu_payload(other.clone(), SECOND, 9.0);
        let comparison = compared(&imu(), &[little[0].clone()], &[changed], "");
        assert_eq!(first(&comparison), ("linear_acceleration.z", "9.81", "9.0"));
        assert_eq!(fields(&comparison).len(), 1);
    }
    // What a writer adds at the end to reach a multiple of four or eight.
    let mut padded = texts(&["abcd"]);
    padded[0].extend([0, 0, 0]);
    assert!(compared(&string(), &texts(&["abcd"]), &padded, "").is_equal());
    padded[0].extend([0; 8]);
    let comparison = compared(&string(), &texts(&["abcd"]), &padded, "");
    assert_eq!(counts(&comparison), [0, 1, 0, 0]);
    let (field, none, more) = first(&comparison);
    assert_eq!((field, none), ("", "0 bytes after the last field"));
    assert_eq!(more, "11 bytes after the last field");
}

#[test]
fn nan_equals_nan_unless_a_rule_says_otherwise() {
    let payload = [imu_payload(Cdr::little(), SECOND, 9.81)];
    assert!(compared(&imu(), &payload, &payload, "").is_equal());
    let strict = "[[rule]]\nnan = 'different'\n";
    let comparison = compared(&imu(), &payload, &payload, strict);
    assert_eq!(fields(&comparison), [("orientation_covariance[]", 1, 9)]);
    assert_eq!(
        first(&comparison),
        ("orientation_covariance[0]", "NaN", "NaN")
    );
    assert!(comparison.first.as_ref().unwrap().series.0.is_empty());
    let elsewhere =
        "[[rule]]\nnan = 'different'\n[[rule]]\nfields = ['*_covariance']\nnan = 'equal'\n";
    assert!(compared(&imu(), &payload, &payload, elsewhere).is_equal());
}

#[test]
fn tolerances_and_ignored_fields_hold_for_the_paths_they_name() {
    let a = [odometry_payload(Cdr::little(), SECOND, &[1.0; 36])];
    let mut covariance = [1.0; 36];
    covariance[0] = 1.001;
    covariance[7] = 1.5;
    let b = [odometry_payload(Cdr::little(), SECOND, &covariance)];
    for (rules, values, named) in [
        ("", 2, "pose.covariance[0]"),
        ("[[rule]]\nabsolute = 0.01", 1, "pose.covariance[7]"),
        ("[[rule]]\nrelative = 0.01", 1, "pose.covariance[7]"),
        ("[[rule]]\nabsolute = 1", 0, ""),
        (
            "[[rule]]\nfields = ['twist']\nabsolute = 1",
            2,
            "pose.covariance[0]",
        ),
        (
            "[[rule]]\nfields = ['pose.covariance[7]']\nabsolute = 1",
            1,
            "pose.covariance[0]",
        ),
        ("[[rule]]\nfields = ['*.cov*[]']\nabsolute = 1", 0, ""),
        ("[[rule]]\nfields = ['pose']\nignore = true", 0, ""),
        (
            "[[rule]]\nfields = ['pose.covariance[7]']\nignore = true",
            1,
            "pose.covariance[0]",
        ),
        (
            "[[rule]]\ntopics = ['/other']\nabsolute = 1",
            2,
            "pose.covariance[0]",
        ),
        (
            "[[rule]]\nfields = ['pose.covariance']\nabsolute = 0\n[[rule]]\ntopics = ['/t']\nabsolute = 1",
            2,
            "pose.covariance[0]",
        ),
    ] {
        let comparison = compared(&odometry(), &a, &b, rules);
        let all: u64 = fields(&comparison).iter().map(|field| field.2).sum();
        assert_eq!(all, values, "{rules}: {comparison}");
        if values > 0 {
            assert_eq!(first(&comparison).0, named, "{rules}");
        }
    }
    let unused = "[[rule]]\nfields = ['pose.covarance']\nabsolute = 1";
    let notes = compared(&odometry(), &a, &a, unused).notes;
    assert_eq!(
        notes,
        ["rule 1: `pose.covarance` names no field that is compared"]
    );
    let unused = "[[rule]]\ntopics = ['/odm', '/t*']\nabsolute = 1";
    let notes = compared(&odometry(), &a, &a, unused).notes;
    assert_eq!(
        notes,
        ["rule 1: `/odm` names no topic of the two recordings"]
    );
}

#[test]
fn messages_are_paired_by_stamp_however_they_are_received() {
    let file = |stamps: &[u64], time: u64| {
        let mut file = Typed::new();
        let topic = file.topic("/imu", &imu());
        for (at, stamp) in (time..).zip(stamps) {
            file.message(topic, at, &imu_payload(Cdr::little(), *stamp, 1.0));
        }
        file.bag()
    };
    let reference = file(&[10, 20, 20, 30, 40, 50], 100);
    // In another order, at other times, one twice, one missing, one new.
    let run = file(&[20, 10, 40, 30, 20, 20, 60], 9_000_000);
    let comparison = checked(&reference, &run, "");
    assert_eq!(counts(&comparison), [5, 0, 1, 2]);
    let stamps = |messages: &[bagplay::ci::judge::compare::Unpaired]| -> Vec<(u64, Option<i128>)> {
        messages.iter().map(|it| (it.index, it.stamp_ns)).collect()
    };
    let topic = &comparison.topics[0];
    assert_eq!(stamps(&topic.missing_at), [(5, Some(50))]);
    assert_eq!(stamps(&topic.extra_at), [(5, Some(20)), (6, Some(60))]);
    let found = comparison.first.as_ref().unwrap();
    assert_eq!(
        (found.times_ns, found.field.as_str()),
        ((Some(105), None), "")
    );
    let by_index = checked(&reference, &run, "[[rule]]\nalign = 'index'");
    assert_eq!(by_index.topics[0].align, Align::Index);
    assert_eq!(counts(&by_index), [1, 5, 0, 1]);
    assert_eq!(fields(&by_index), [("header.stamp", 5, 5)]);
    let near = "[[rule]]\nalign = 'index'\n[[rule]]\nfields = ['header.stamp']\nabsolute = 20e-9";
    assert_eq!(counts(&checked(&reference, &run, near))[1], 1);
}

#[test]
fn messages_without_a_stamp_are_paired_by_index() {
    let comparison = compared(&string(), &texts(&["a", "b", "c"]), &texts(&["a", "x"]), "");
    assert_eq!(counts(&comparison), [1, 1, 1, 0]);
    assert_eq!(first(&comparison), ("data", "\"b\"", "\"x\""));
    let comparison = compared(
        &string(),
        &texts(&["a"]),
        &texts(&["a"]),
        "[[rule]]\nalign = 'stamp'",
    );
    assert!(comparison.is_equal());
    assert_eq!(
        comparison.notes,
        ["/t: there is no `header.stamp`: aligned by index"]
    );
}

#[test]
fn a_topic_that_is_missing_or_extra_is_a_difference_unless_it_is_ignored() {
    let file = |topics: &[&str]| {
        let mut file = Typed::new();
        for (time, name) in (1..).zip(topics) {
            let topic = file.topic(name, &string());
            if !name.ends_with("empty") {
                file.message(topic, time, &texts(&["x"])[0]);
            }
        }
        file.bag()
    };
    let reference = file(&["/both", "/gone", "/empty"]);
    let run = file(&["/both", "/new\x1b[2J", "/also_empty"]);
    let comparison = checked(&reference, &run, "");
    let names: Vec<&str> = comparison
        .topics
        .iter()
        .map(|it| it.topic.as_str())
        .collect();
    assert_eq!(names, ["/both", "/gone", "/new\x1b[2J"]);
    let checks = comparison.checks();
    assert_eq!(
        checks[1].reason,
        "message 0 at 0.000000002 is missing; the run has no message of it, the reference 1 message"
    );
    assert_eq!(
        checks[2].reason,
        "message 0 at 0.000000002 is extra; the reference has no message of it, the run 1 message"
    );
    assert!(!checks[2].name.contains('\x1b') && !comparison.to_string().contains('\x1b'));
    // Both at one time: the name decides.
    assert_eq!(comparison.first.as_ref().unwrap().topic, "/gone");
    let ignored = "[[rule]]\ntopics = ['/gone', '/new*']\nignore = true";
    assert!(checked(&reference, &run, ignored).is_equal());
    let nothing = checked(&reference, &run, "[[rule]]\ntopics = ['*']\nignore = true");
    assert_eq!(nothing.checks()[0].verdict, Verdict::Failed);
    assert!(
        nothing.checks()[0]
            .reason
            .starts_with("there is nothing to compare")
    );
}

#[test]
fn clouds_and_images_are_compared_where_they_lie() {
    let data: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let mut changed = data.clone();
    changed[99_000] ^= 0x80;
    changed[99_500] ^= 1;
    let payload = |data: &[u8]| [cloud_payload(Cdr::little(), SECOND, data)];
    let comparison = compared(&cloud(), &payload(&data), &payload(&changed), "");
    assert_eq!(fields(&comparison), [("data[]", 1, 2)]);
    assert_eq!(first(&comparison), ("data[99000]", "184", "56"));
    assert_eq!(comparison.topics[0].fields[0].largest, Some(128.0));
    let one = "[[rule]]\nfields = ['data']\nabsolute = 1";
    assert_eq!(
        fields(&compared(
            &cloud(),
            &payload(&data),
            &payload(&changed),
            one
        )),
        [("data[]", 1, 1)]
    );
    let shorter = compared(&cloud(), &payload(&data), &payload(&data[..99_996]), "");
    assert_eq!(fields(&shorter), [("data", 1, 1), ("width", 1, 1)]);
    let (field, a, b) = first(&shorter);
    assert_eq!((field, a, b), ("width", "25000", "24999"));
    let ignoring = "[[rule]]\nfields = ['width']\nignore = true";
    let shorter = compared(
        &cloud(),
        &payload(&data),
        &payload(&data[..99_996]),
        ignoring,
    );
    assert_eq!(
        first(&shorter),
        ("data", "100000 elements", "99996 elements")
    );
}

#[test]
fn of_different_definitions_the_fields_that_both_have_are_compared() {
    let old = definition(
        "p/msg/T",
        "float32 x\nstring name\nInner[] inner\nuint8 gone",
        &[("p/Inner", "int16 a\nfloat64 b")],
    );
    let new = definition(
        "p/msg/T",
        "int64 added\nInner[] inner\nstring name\nfloat64 x",
        &[("p/Inner", "float64 b\nuint32[2] more\nint16 a")],
    );
    let old_payload = |b: f64| {
        let to = Cdr::little().f32(1.5).text("n").u32(2);
        to.i16(1).f64(0.5).i16(-2).f64(b).u8(1).done()
    };
    let new_payload = |b: f64| {
        let to = Cdr::big().i64(7).u32(2);
        let to = to.f64(0.5).u32(1).u32(2).i16(1);
        to.f64(b).u32(1).u32(2).i16(-2).text("n").f64(1.5).done()
    };
    let pair = |a: f64, b: f64, rules: &str| {
        let reference = recorded(&old, &[old_payload(a), old_payload(a)]);
        let run = recorded(&new, &[new_payload(b), new_payload(b)]);
        checked(&reference, &run, rules)
    };
    let differing = [
        "`x` is float32 in the reference and float64 in the run",
        "`inner[].more` (uint32[2]) is only in the run",
        "`gone` (uint8) is only in the reference",
        "`added` (int64) is only in the run",
    ];
    let comparison = pair(0.25, 0.25, "");
    assert_eq!(counts(&comparison), [2, 0, 0, 0], "{comparison}");
    let told: Vec<String> = comparison.topics[0].types.clone();
    assert_eq!(told.len(), differing.len(), "{told:?}");
    for it in differing {
        assert!(told.iter().any(|told| told == it), "{it}: {told:?}");
    }
    assert_eq!(comparison.checks()[0].verdict, Verdict::Failed);
    let common = "[[rule]]\ntypes = 'common'\n";
    let comparison = pair(0.25, 0.25, common);
    assert!(comparison.is_equal());
    assert_eq!(comparison.notes.len(), differing.len());
    let comparison = pair(0.25, 0.5, common);
    assert_eq!(first(&comparison), ("inner[1].b", "0.25", "0.5"));
    assert_eq!(fields(&comparison), [("inner[].b", 2, 2)]);
    let ignoring = "[[rule]]\nfields = ['x', 'inner.more', 'gone', 'added']\nignore = true\n";
    assert!(pair(0.25, 0.25, ignoring).is_equal());
    // Comments, constants and bounds are no fields.
    let commented = definition(
        "p/msg/T",
        "# old\nuint8 K=1\nfloat32 x\nstring<=9 name\nInner[] inner\nuint8 gone # yes",
        &[("p/Inner", "int16 a\nfloat64 b")],
    );
    let (reference, run) = (
        recorded(&old, &[old_payload(0.25)]),
        recorded(&commented, &[old_payload(0.25)]),
    );
    assert!(checked(&reference, &run, "").is_equal());
}

#[test]
fn without_a_definition_payloads_are_compared_as_bytes() {
    let file = |payload: &[u8]| {
        let mut file = Typed::new();
        let topic = file.untyped("/t", "protobuf");
        file.message(topic, 1, payload);
        file.bag()
    };
    let comparison = checked(&file(b"abcdefg"), &file(b"abcXefgh"), "");
    assert_eq!(fields(&comparison), [("bytes[]", 1, 2)]);
    assert_eq!(
        first(&comparison),
        ("bytes[3]", "\"defg\" of 7 bytes", "\"Xefgh\" of 8 bytes")
    );
    assert!(checked(&file(b"abc"), &file(b"abc"), "").is_equal());
    let typed = recorded(&string(), &texts(&["a"]));
    let comparison = checked(&typed, &file(&texts(&["a"])[0]), "");
    assert_eq!(counts(&comparison), [1, 0, 0, 0]);
    assert_eq!(
        comparison.checks()[0].verdict,
        Verdict::Failed,
        "{comparison}"
    );
}

#[test]
fn topics_of_one_name_are_paired_by_their_type() {
    let file = |is_reversed: bool| {
        let mut file = Typed::new();
        let mut add = |number: bool| {
            if number {
                let topic = file.topic("/t", &definition("std_msgs/msg/UInt8", "uint8 data", &[]));
                file.message(topic, 1, &Cdr::little().u8(3).done());
            } else {
                let topic = file.topic("/t", &string());
                file.message(topic, 2, &texts(&["x"])[0]);
            }
        };
        add(is_reversed);
        add(!is_reversed);
        file.bag()
    };
    let comparison = checked(&file(false), &file(true), "");
    assert!(comparison.is_equal(), "{comparison}");
    let checks = comparison.checks();
    assert_ne!(checks[0].name, checks[1].name);
}

#[test]
fn a_payload_that_cannot_be_read_differs_from_all_others() {
    let whole = imu_payload(Cdr::little(), SECOND, 9.81);
    for length in 0..whole.len() {
        let cut = whole[..length].to_vec();
        let rules = "[[rule]]\nalign = 'index'";
        let comparison = compared(
            &imu(),
            slice::from_ref(&whole),
            slice::from_ref(&cut),
            rules,
        );
        assert_eq!(counts(&comparison), [0, 1, 0, 0], "{length}");
        let comparison = compared(
            &imu(),
            slice::from_ref(&cut),
            slice::from_ref(&whole),
            rules,
        );
        assert_eq!(counts(&comparison), [0, 1, 0, 0], "{length}");
        assert!(compared(&imu(), slice::from_ref(&cut), slice::from_ref(&cut), rules).is_equal());
    }
    let (size, cut) = (whole.len(), whole[..whole.len() - 60].to_vec());
    let comparison = compared(&imu(), &[whole], &[cut], "");
    let (field, a, b) = first(&comparison);
    assert_eq!(field, "linear_acceleration_covariance");
    assert_eq!(a, format!("{size} bytes"));
    let start = format!("{} bytes, cannot be read on: byte ", size - 60);
    assert!(b.starts_with(&start), "{b}");
}

#[test]
fn hostile_counts_and_definitions_end_soon() {
    let inner = "Empty[] c\nuint8[0] d\nEmpty[4000000000] e";
    let bombs = [
        (definition("p/msg/T", "uint8[] a\nstring[] b", &[]), "cdr"),
        (
            (
                "p/T",
                "ros1msg",
                format!(
                    "Inner[] i\nEmpty[] e\n{0}\nMSG: p/Inner\n{inner}\n{0}\nMSG: p/Empty\n\n",
                    "=".repeat(80)
                ),
            ),
            "ros1",
        ),
        (definition("p/msg/T", "T t", &[]), "cdr"),
    ];
    for (definition, encoding) in &bombs {
        for fill in [0_u8, 1, 0x7f, 0xff] {
            let file = |last: u8| {
                let mut file = Typed::new();
                let topic = file.encoded("/t", definition, encoding);
                let mut payload = vec![fill; 100_000];
                payload[..4].copy_from_slice(&[0, 1, 0, 0]);
                payload[99_999] = last;
                file.message(topic, 1, &payload);
                file.bag()
            };
            for rules in ["", "[[rule]]\nnan = 'different'"] {
                let comparison = checked(&file(2), &file(3), rules);
                assert_eq!(counts(&comparison), [0, 1, 0, 0], "{comparison}");
            }
        }
    }
    // Fields without bytes, in any number.
    let fields: Vec<String> = (0..2000).map(|n| format!("Empty e{n}")).collect();
    let fields = fields.join("\n");
    let text = format!(
        "Inner[] i\n{0}\nMSG: p/Inner\nuint8 a\nuint8[] b\n{fields}\n{0}\nMSG: p/Empty\n\n",
        "=".repeat(80)
    );
    let definition = ("p/T", "ros1msg", text);
    let file = |value: u8| {
        let mut file = Typed::new();
        let topic = file.encoded("/t", &definition, "ros1");
        let mut payload = 20_000_u32.to_le_bytes().to_vec();
        payload.extend([value, 0, 0, 0, 0].repeat(20_000));
        file.message(topic, 1, &payload);
        file.bag()
    };
    let comparison = checked(&file(2), &file(3), "");
    assert_eq!(counts(&comparison), [0, 1, 0, 0]);
    assert_eq!(first(&comparison), ("i[0].a", "2", "3"));
}

#[test]
fn damage_is_told_and_leaves_the_verdict_open() {
    let whole = {
        let mut file = Typed::new();
        let topic = file.topic("/t", &string());
        for time in 0..2000 {
            file.message(topic, time, &texts(&["some text"])[0]);
        }
        file.write()
    };
    let mut damaged = whole.clone();
    // A byte in the second chunk.
    let chunk = place(&whole, 6, 1);
    damaged[chunk.at + chunk.body / 2] ^= 0xff;
    let cut = &whole[..whole.len() * 2 / 3];
    for broken in [&damaged[..], cut] {
        let comparison = checked(&bag(&whole), &bag(broken), "");
        assert!(!comparison.is_equal() && !comparison.damage.is_empty());
        let checks = comparison.checks();
        assert_eq!(checks[0].name, "recordings readable");
        assert_eq!(checks[0].verdict, Verdict::Error);
        assert!(comparison.to_string().contains("\ndamage: "));
        let comparison = checked(&bag(broken), &bag(broken), "");
        assert!(comparison.topics[0].is_equal() && !comparison.is_equal());
    }
}

#[test]
fn log_times_count_if_a_rule_says_so() {
    let file = |time: u64| {
        let mut file = Typed::new();
        let topic = file.topic("/t", &string());
        file.message(topic, 1, &texts(&["a"])[0]);
        file.message(topic, time, &texts(&["b"])[0]);
        file.bag()
    };
    assert!(checked(&file(2), &file(9), "").is_equal());
    let comparison = checked(&file(2), &file(9), "[[rule]]\nlog-time = 'equal'");
    assert_eq!(
        first(&comparison),
        ("log time", "0.000000002", "0.000000009")
    );
    assert_eq!(counts(&comparison), [1, 1, 0, 0]);
}

#[test]
fn partners_may_lie_far_apart() {
    let file = |topics: [&str; 2]| {
        let mut file = Typed::new();
        for (block, name) in (0_u64..).zip(topics) {
            let topic = file.topic(name, &string());
            for n in 0..3000 {
                let text = format!("{name} {n}");
                file.message(topic, block * 10_000 + n, &Cdr::little().text(&text).done());
            }
        }
        file.bag()
    };
    let comparison = checked(&file(["/a", "/b"]), &file(["/b", "/a"]), "");
    assert!(comparison.is_equal(), "{comparison}");
    assert_eq!(comparison.topics[1].equal, 3000);
}

/// Also by a walk over every field: with this rule equal bytes are not passed, and only NaN differs from itself.
#[test]
fn data_of_real_recordings_equal_themselves() {
    let Some(data) = data() else { return };
    let mut walked = 0;
    for path in recordings(&data) {
        let Ok(real) = Bag::open(&[&path]) else {
            continue;
        };
        let name = path.to_string_lossy();
        let comparison = checked(&real, &real, "");
        let is_equal = |topic: &TopicComparison| topic.is_equal();
        assert!(
            comparison.topics.iter().all(is_equal),
            "{name}: {comparison}"
        );
        let strict = checked(&real, &real, "[[rule]]\nnan = 'different'");
        for topic in &strict.topics {
            assert_eq!((topic.missing, topic.extra), (0, 0), "{name}: {comparison}");
            assert!(
                topic.fields.iter().all(|field| field.largest.is_none()),
                "{name}"
            );
            if let Some(first) = &topic.first {
                let (a, b) = &first.values;
                assert_eq!(
                    (a.as_str(), b.as_str()),
                    ("NaN", "NaN"),
                    "{name}: {first:?}"
                );
            }
            walked += topic.in_run();
        }
    }
    assert!(walked > 10_000, "{walked}");
}
