//! Two payloads compared field by field: any bytes, and definitions of which only one was recorded.

use bagplay::bag::{Schema, Topic};
use bagplay::decode::{FieldPlace, FieldRule, FieldRules, PairWalk};
use proptest::prelude::*;

use crate::support::cdr::Cdr;
use crate::support::typed::{Definition, cloud, definition, imu, odometry, string};

fn topic(definition: &Definition, hash: Option<&str>) -> Topic {
    let (name, encoding, text) = definition;
    Topic {
        name: "/t".to_owned(),
        schema: Some(Schema {
            name: (*name).to_owned(),
            encoding: (*encoding).to_owned(),
            data: text.clone().into(),
        }),
        encoding: if *encoding == "ros1msg" {
            "ros1"
        } else {
            "cdr"
        }
        .to_owned(),
        offered_qos: Vec::new(),
        type_hash: hash.map(str::to_owned),
        ros1_md5: None,
        is_latched: false,
        message_count: None,
    }
}

/// Paths of what differs.
fn differing(walk: &PairWalk, left: &[u8], right: &[u8]) -> Vec<String> {
    let mut paths = Vec::new();
    walk.compare(left, right, &mut |path, difference| {
        let (a, b) = difference.values.texts(30);
        assert!(difference.count > 0 && !a.contains('\x1b') && !b.contains('\x1b'));
        paths.push(path.exact());
    });
    paths
}

#[test]
fn a_definition_that_only_one_recording_has_holds_for_both_if_the_hashes_are_equal() {
    let payload = |z: f64| {
        let to = Cdr::little().header(5, "base_link").f64s(&[0.0; 4]);
        let to = to.f64s(&[0.0; 9]).f64s(&[0.0; 3]).f64s(&[0.0; 9]);
        to.f64s(&[0.0, 0.0, z]).f64s(&[0.0; 9]).done()
    };
    let empty = ("sensor_msgs/msg/Imu", "ros2msg", String::new());
    for (hash, path) in [
        (Some("RIHS01_1"), "linear_acceleration.z"),
        (None, "bytes[250]"),
    ] {
        let (known, unknown) = (topic(&imu(), hash), topic(&empty, hash));
        for (left, right) in [(&known, &unknown), (&unknown, &known)] {
            let walk = PairWalk::new(left, right, FieldRules::default());
            let found = differing(&walk, &payload(1.0), &payload(2.0));
            assert_eq!(found, [path]);
            assert_eq!(walk.type_differences().is_empty(), hash.is_some());
        }
    }
    let other = PairWalk::new(
        &topic(&imu(), Some("RIHS01_1")),
        &topic(&empty, Some("RIHS01_2")),
        FieldRules::default(),
    );
    assert!(other.as_bytes().is_some());
}

#[test]
fn a_place_is_read_without_the_fields_before_it() {
    let nested = definition(
        "p/msg/T",
        "string[] names\nInner[] list\nint32[2] pair",
        &[
            ("p/Inner", "string s\nStamp[] at"),
            ("p/Stamp", "builtin_interfaces/Time t\nuint8 k"),
        ],
    );
    let to = Cdr::big().u32(2).text("a").text("bcd").u32(2);
    let to = to.text("x").u32(0).text("yz").u32(2);
    let to = to.u32(1).u32(2).u8(7).u32(3).u32(4).u8(9).u32(10).u32(11);
    let payload = to.done();
    let topic = topic(&nested, None);
    let read = |path: &str| {
        let place = FieldPlace::of(&topic, path)?;
        place.read(&payload).map(|it| it.text(20))
    };
    for (path, value) in [
        ("names[1]", Some("\"bcd\"")),
        ("list[1].s", Some("\"yz\"")),
        ("list[1].at[1].t", Some("3.000000004")),
        ("list[1].at[1].k", Some("9")),
        ("pair[1]", Some("11")),
        ("pair[2]", None),
        ("list[0].at[0].k", None),
        ("list[1]", None),
        ("names", None),
        ("list.s", None),
        ("nothing", None),
    ] {
        assert_eq!(read(path).as_deref(), value, "{path}");
    }
    let place = FieldPlace::of(&topic, "list[1].at[1].t").unwrap();
    assert!(place.is_stamp());
    let nanos = place.read(&payload).and_then(|it| it.nanos());
    assert_eq!(nanos, Some(3_000_000_004));
    let number = |path: &str| {
        FieldPlace::of(&topic, path)
            .unwrap()
            .read(&payload)?
            .number()
    };
    assert_eq!((number("pair[0]"), number("names[0]")), (Some(10.0), None));
    assert!(place.read(&payload[..20]).is_none());
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    let small = prop_oneof![8 => Just(0_u8), 2 => 0..4_u8, 1 => any::<u8>()];
    let header = prop_oneof![Just([0, 0, 0, 0]), Just([0, 1, 0, 0]), any::<[u8; 4]>()];
    (header, prop::collection::vec(small, 0..400))
        .prop_map(|(header, body)| [&header[..], &body].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Of any bytes: they equal themselves, two differ in both directions or in none, and without rules two that are
    /// equal are equal field by field, too.
    #[test]
    fn any_bytes_are_compared(
        kinds in prop::array::uniform2(0..6_usize),
        a in payload(),
        other in payload(),
        flipped in any::<prop::sample::Index>(),
        is_near in any::<bool>(),
        is_strict in any::<bool>(),
    ) {
        let all = [
            imu(),
            odometry(),
            cloud(),
            string(),
            definition("p/msg/T", "uint8[] a\nInner[<=3] b\nwstring c", &[("p/Inner", "int8 x\nfloat32[] y")]),
            ("p/T", "ros1msg", "string[] a\ntime b\nduration[2] c\nuint16[] d".to_owned()),
        ];
        let mut b = if is_near { a.clone() } else { other };
        if is_near {
            let at = flipped.index(b.len());
            b[at] ^= 1;
        }
        let rules = || {
            let rule = FieldRule {
                nan_equal: Some(!is_strict),
                ..FieldRule::default()
            };
            FieldRules::new(vec![rule])
        };
        let [left, right] = kinds.map(|kind| topic(&all[kind], None));
        let same = PairWalk::new(&left, &left, FieldRules::default());
        prop_assert!(differing(&same, &a, &a).is_empty());
        let forth = PairWalk::new(&left, &right, rules());
        let back = PairWalk::new(&right, &left, rules());
        let found = differing(&forth, &a, &b);
        if kinds[0] == kinds[1] {
            prop_assert_eq!(found.is_empty(), differing(&back, &b, &a).is_empty());
        }
    }
}
