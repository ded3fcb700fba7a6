//! Searching: conditions on recordings written here, in every encoding that is decoded, and on real ones.

use std::ops::ControlFlow;

use bagplay::bag::{Bag, Direction, Topic, TopicId};
use bagplay::decode::{FieldReader, FieldValue};
use bagplay::find::{Conditions, Expression, FindError, Found, Hit, Search, Severity, alerts};
use bagplay::time::TimeRange;
use proptest::prelude::*;

use crate::bag::data::{data, recordings};
use crate::support::cdr::Cdr;
use crate::support::mcaps::at;
use crate::support::typed::{Definition, Typed, definition, string};

/// What `/diagnostics` has, shortened.
fn diagnostics() -> Definition {
    definition(
        "diagnostic_msgs/msg/DiagnosticArray",
        "diagnostic_msgs/DiagnosticStatus[] status",
        &[(
            "diagnostic_msgs/DiagnosticStatus",
            "byte OK=0\nbyte WARN=1\nbyte ERROR=2\nbyte STALE=3\nbyte level\nstring name\nstring message",
        )],
    )
}

/// What `/rosout` has, shortened.
fn log() -> Definition {
    definition(
        "rcl_interfaces/msg/Log",
        "byte INFO=20\nbyte WARN=30\nbyte ERROR=40\nbyte FATAL=50\nuint8 level\nstring name\nstring msg",
        &[],
    )
}

/// All kinds of values.
fn kinds() -> Definition {
    definition(
        "p/msg/Kinds",
        "bool HELD=true\nstring HOME=\"base\"\nfloat64 HALF=0.5\n\
         bool b\nint64 i\nuint64 u\nfloat32 f\nfloat64 d\nstring s\nint32[] list",
        &[],
    )
}

#[derive(Clone, Debug)]
struct Kinds {
    b: bool,
    i: i64,
    u: u64,
    f: f32,
    d: f64,
    s: String,
    list: Vec<i32>,
}

impl Kinds {
    const fn new() -> Self {
        Self {
            b: false,
            i: 0,
            u: 0,
            f: 0.0,
            d: 0.0,
            s: String::new(),
            list: Vec::new(),
        }
    }

    fn written(&self, to: Cdr) -> Vec<u8> {
        let to = to.u8(self.b.into()).i64(self.i).i64(self.u.cast_signed());
        let to = to.f32(self.f).f64(self.d).text(&self.s);
        let to = to.u32(u32::try_from(self.list.len()).unwrap());
        let number = |to: Cdr, value: &i32| to.u32(value.cast_unsigned());
        self.list.iter().fold(to, number).done()
    }
}

fn statuses(all: &[(u8, &str, &str)]) -> Vec<u8> {
    let to = Cdr::little().u32(u32::try_from(all.len()).unwrap());
    let status =
        |to: Cdr, (level, name, message): &(u8, &str, &str)| to.u8(*level).text(name).text(message);
    all.iter().fold(to, status).done()
}

fn entry(level: u8, msg: &str) -> Vec<u8> {
    Cdr::little().u8(level).text("/node").text(msg).done()
}

fn expressions(texts: &[&str]) -> Vec<Expression> {
    let parsed = texts.iter().map(|text| text.parse().unwrap());
    parsed.collect()
}

fn conditions(bag: &Bag, texts: &[&str]) -> Conditions {
    Conditions::new(bag.topics(), &expressions(texts)).unwrap_or_else(|error| panic!("{error}"))
}

/// The error of an expression that does not fit.
fn misfit(topics: &[Topic], text: &str) -> FindError {
    Conditions::new(topics, &expressions(&[text])).unwrap_err()
}

fn all(bag: &Bag, texts: &[&str]) -> Vec<Found> {
    let conditions = conditions(bag, texts);
    Search::new(bag, conditions, TimeRange::ALL, Direction::Forward).collect()
}

fn hits(bag: &Bag, texts: &[&str]) -> Vec<Hit> {
    let hit = |found| match found {
        Found::Hit(hit) => hit,
        other => panic!("{other:?}"),
    };
    all(bag, texts).into_iter().map(hit).collect()
}

/// Times and values of the hits.
fn shown(bag: &Bag, texts: &[&str]) -> Vec<String> {
    let line = |hit: Hit| {
        let values: Vec<_> = hit.matched.values().map(ToString::to_string).collect();
        format!("{} {}", hit.log_time.as_nanos(), values.join(", "))
    };
    hits(bag, texts).into_iter().map(line).collect()
}

/// One message of all kinds.
fn bag_of(message: &Kinds) -> Bag {
    let mut file = Typed::new();
    let topic = file.topic("/t", &kinds());
    file.message(topic, 5, &message.written(Cdr::little()));
    file.bag()
}

fn holds(message: &Kinds, condition: &str) -> bool {
    !hits(&bag_of(message), &[&format!("/t {condition}")]).is_empty()
}

#[test]
fn each_operator_compares_each_kind() {
    let message = Kinds {
        b: true,
        i: -5,
        u: u64::MAX,
        f: 0.1,
        d: 0.1,
        s: "Größe: \"timeout\"".to_owned(),
        list: vec![1, 2, 3],
    };
    for (condition, is_hit) in [
        ("b == true", true),
        ("b != true", false),
        ("b == HELD", true),
        ("i == -5", true),
        ("i < -4.5", true),
        ("i <= -6", false),
        ("u == 18446744073709551615", true),
        ("u > 18446744073709551614", true),
        ("u == 18446744073709551616", false),
        ("f == 0.1", true),
        ("d == 0.1", true),
        ("d < HALF", true),
        ("d > 1e-3", true),
        ("s contains \"timeout\"", true),
        ("s contains \"Timeout\"", false),
        ("s =~ \"(?i)TIMEOUT\"", true),
        ("s =~ \"^timeout\"", false),
        ("s == \"Größe: \\\"timeout\\\"\"", true),
        ("s == HOME", false),
        ("s != HOME", true),
        ("s.length > 5", true),
        ("list[] == 2", true),
        ("list[*] > 3", false),
        ("list[-1] == 3", true),
        ("list[7] == 3", false),
        ("list.length == 3", true),
        ("not list[] == 2", false),
        ("list[] != 2", true),
        ("i < 0 and d < 0", false),
        ("i < 0 or d < 0", true),
        ("i < 0 and not (d < 0 or b == false)", true),
    ] {
        assert_eq!(holds(&message, condition), is_hit, "{condition}");
    }
}

#[test]
fn nan_only_differs() {
    let message = Kinds {
        d: f64::NAN,
        f: f32::NAN,
        ..Kinds::new()
    };
    for field in ["d", "f"] {
        for (operator, is_hit) in [
            ("==", false),
            ("!=", true),
            ("<", false),
            ("<=", false),
            (">", false),
            (">=", false),
        ] {
            let condition = format!("{field} {operator} 0");
            assert_eq!(holds(&message, &condition), is_hit, "{condition}");
        }
        assert!(holds(&message, &format!("not {field} <= inf")));
    }
    assert!(!holds(&Kinds::new(), "not d <= inf"));
}

/// Three topics, in several chunks.
fn robot() -> Bag {
    let mut file = Typed::new();
    let (rosout, diagnostics, other) = (
        file.topic("/rosout", &log()),
        file.topic("/diagnostics", &diagnostics()),
        file.topic("/other", &string()),
    );
    file.message(rosout, 10, &entry(20, "all is well"));
    let status = [(0, "arm", "fine"), (1, "motor", "warm"), (2, "gps", "lost")];
    file.message(diagnostics, 20, &statuses(&status));
    file.message(rosout, 30, &entry(30, "timeout of 3 s"));
    file.message(other, 40, &Cdr::little().text("timeout").done());
    file.message(diagnostics, 50, &statuses(&[(1, "motor", "hot")]));
    file.message(rosout, 60, &entry(50, "dead"));
    file.bag()
}

#[test]
fn a_hit_has_the_values_that_decide_it_and_those_that_are_to_be_shown() {
    let bag = robot();
    for (expression, expected) in [
        ("/rosout level >= ERROR", &["60 level = 50"][..]),
        (
            "rosout level == WARN show msg, name",
            &["30 level = 30, msg = \"timeout of 3 s\", name = \"/node\""],
        ),
        (
            "/diagnostics status[].level >= WARN",
            &["20 status[1].level = 1", "50 status[0].level = 1"],
        ),
        (
            "/diagnostics status[].level == ERROR show status[].name",
            &["20 status[2].level = 2, status[2].name = \"gps\""],
        ),
        (
            "/diagnostics status.length > 1 show status[].name",
            &[
                "20 status.length = 3, status[0].name = \"arm\", status[1].name = \"motor\", status[2].name = \"gps\"",
            ],
        ),
        (
            "/rosout level > 20 and msg contains \"timeout\"",
            &["30 level = 30, msg = \"timeout of 3 s\""],
        ),
        (
            "/rosout level > 40 or msg contains \"out\"",
            &["30 msg = \"timeout of 3 s\"", "60 level = 50"],
        ),
        // What does not hold is a reason, too, under `not`.
        ("/rosout not level < 50", &["60 level = 50"]),
        ("/rosout level >= 50 and level >= 45", &["60 level = 50"]),
        (
            "/rosout not (level < 50 or msg == \"x\")",
            &["60 level = 50, msg = \"dead\""],
        ),
        ("/diagnostics not status[].level == OK", &["50 "]),
    ] {
        assert_eq!(shown(&bag, &[expression]), expected, "{expression}");
    }
    let texts = |expression| -> Vec<String> {
        let hits = hits(&bag, &[expression]);
        hits.iter().map(|hit| hit.matched.text()).collect()
    };
    assert_eq!(texts("/rosout level >= ERROR show msg"), ["\"dead\""]);
    assert_eq!(texts("/rosout level >= ERROR"), ["level = 50"]);
    assert_eq!(
        texts("/rosout level >= ERROR show msg, name"),
        ["msg = \"dead\", name = \"/node\""]
    );
}

#[test]
fn several_expressions_are_searched_in_one_pass_and_the_first_counts() {
    let bag = robot();
    let found = hits(
        &bag,
        &[
            "/rosout level >= ERROR",
            "/rosout level >= WARN",
            "=~ \"/.*t.*\" data == \"timeout\"",
        ],
    );
    let found: Vec<_> = found
        .iter()
        .map(|hit| {
            let topic = &bag.topics()[hit.topic.index()].name;
            (hit.log_time, topic.as_str(), hit.matched.expression)
        })
        .collect();
    assert_eq!(
        found,
        [
            (at(30), "/rosout", 1),
            (at(40), "/other", 2),
            (at(60), "/rosout", 0)
        ]
    );
}

#[test]
fn a_search_goes_backwards_and_keeps_to_its_range() {
    let bag = robot();
    let times = |range, direction| -> Vec<i64> {
        let conditions = conditions(
            &bag,
            &["/rosout level > 0", "/diagnostics status[].level > 0"],
        );
        let time = |found| match found {
            Found::Hit(hit) => hit.log_time.as_nanos(),
            other => panic!("{other:?}"),
        };
        Search::new(&bag, conditions, range, direction)
            .map(time)
            .collect()
    };
    let part = TimeRange::between(at(20), at(50));
    assert_eq!(times(part, Direction::Forward), [20, 30, 50]);
    assert_eq!(times(part, Direction::Reverse), [50, 30, 20]);
    assert_eq!(
        times(TimeRange::ALL, Direction::Forward),
        [10, 20, 30, 50, 60]
    );
}

#[test]
fn alerts_are_what_nodes_report_the_worst_first() {
    let bag = robot();
    let (severities, alerts): (Vec<Severity>, Vec<Expression>) = alerts().into_iter().unzip();
    let found = Conditions::that_fit(bag.topics(), &alerts);
    assert_eq!(found.left_out(), []);
    let search = Search::new(&bag, found, TimeRange::ALL, Direction::Forward);
    let shown: Vec<_> = search
        .map(|found| match found {
            Found::Hit(hit) => (severities[hit.matched.expression], hit.matched.text()),
            other => panic!("{other:?}"),
        })
        .collect();
    let text = |text: &str| text.to_owned();
    assert_eq!(
        shown,
        [
            (
                Severity::Error,
                text("status[2].name = \"gps\", status[2].message = \"lost\"")
            ),
            (Severity::Warning, text("\"timeout of 3 s\"")),
            (
                Severity::Warning,
                text("status[0].name = \"motor\", status[0].message = \"hot\"")
            ),
            (Severity::Error, text("\"dead\"")),
        ]
    );
    let none = bag_of(&Kinds::new());
    let none = Conditions::that_fit(none.topics(), &alerts);
    assert_eq!((none.topics().count(), none.left_out().len()), (0, 4));
}

/// A recording without messages, with topics that can be searched and others.
fn many_topics() -> Bag {
    let mut file = Typed::new();
    for (name, of) in [
        ("/rosout", log()),
        ("/diagnostics", diagnostics()),
        ("/t", kinds()),
    ] {
        file.topic(name, &of);
    }
    file.untyped("/raw", "protobuf");
    file.encoded("/idl", &("p/msg/I", "ros2idl", "x".to_owned()), "cdr");
    file.untyped("/json", "json");
    file.bag()
}

fn are_refused(cases: &[(&str, &str)]) {
    let bag = many_topics();
    for (expression, error) in cases {
        let refused = misfit(bag.topics(), expression).to_string();
        assert_eq!(refused, *error, "{expression}");
    }
}

#[test]
fn topics_that_cannot_be_searched_are_refused() {
    are_refused(&[
        (
            "/rosuot level > 1",
            "no topic `/rosuot` in the recording; did you mean /rosout?",
        ),
        (
            "/camera x > 1",
            "no topic `/camera` in the recording; recorded are /diagnostics, /idl, /json, /raw, /rosout, /t",
        ),
        (
            "=~ \"camera.*\" x > 1",
            "no topic in the recording matches the whole of `camera.*`; recorded are /diagnostics, /idl, /json, /raw, /rosout, /t",
        ),
        (
            "/raw x == 1",
            "/raw: its messages cannot be searched: `protobuf` without a definition is not decoded",
        ),
        (
            "/idl x == 1",
            "/idl: its messages cannot be searched: `cdr` with a definition in `ros2idl` is not decoded",
        ),
        // Of the topics that match, the first says why.
        (
            "=~ \"/r.*\" x == 1",
            "/rosout: the message has no field `x`; its fields are level, name, msg",
        ),
    ]);
    let bag = many_topics();
    let some = conditions(&bag, &["=~ \"/r.*\" level > 1"]);
    assert_eq!(some.topics().count(), 1);
    assert!(matches!(some.left_out(), [FindError::Undecodable { topic, .. }] if topic == "/raw"));
}

#[test]
fn fields_that_cannot_be_as_wanted_are_refused() {
    are_refused(&[
        (
            "/rosout lvl > 1",
            "/rosout: the message has no field `lvl`; its fields are level, name, msg",
        ),
        (
            "/diagnostics status[].lvl > 1",
            "/diagnostics: `status[*]` has no field `lvl`; its fields are level, name, message",
        ),
        (
            "/diagnostics status.level > 1",
            "/diagnostics: `status` is an array: write status[0], status[*] or status.length",
        ),
        (
            "/rosout msg.x == 1",
            "/rosout: `msg` is a plain value and has no part `x`",
        ),
        (
            "/rosout msg > 1",
            "/rosout: `msg` is a text and cannot be compared with a number",
        ),
        (
            "/rosout level == \"x\"",
            "/rosout: `level` is a number and cannot be compared with a text",
        ),
        (
            "/rosout level contains \"x\"",
            "/rosout: `level` is a number and cannot contain a text or match a pattern",
        ),
        (
            "/t b == 1",
            "/t: `b` is a truth value and cannot be compared with a number",
        ),
        (
            "/t i == true",
            "/t: `i` is a number and cannot be compared with true or false",
        ),
        (
            "/t s == HALF",
            "/t: `s` is a text and cannot be compared with a number",
        ),
        (
            "/t s < HOME",
            "/t: the constant `HOME` is \"base\"; write == or !=",
        ),
        (
            "/diagnostics status[].level == WARM",
            "/diagnostics: `WARM` is no constant: diagnostic_msgs/msg/DiagnosticStatus has OK, WARN, ERROR, STALE; a text is written in quotes",
        ),
        (
            "/json level == WARN",
            "/json: `WARN` is no constant: the definition of its messages has no constants there; a text is written in quotes",
        ),
        (
            "/rosout level > 1 show text",
            "/rosout: the message has no field `text`; its fields are level, name, msg",
        ),
    ]);
}

#[test]
fn ros1_and_both_byte_orders_are_searched() {
    let text = "byte WARN=4\nbyte level\nstring msg\nfloat64[] x\ntime t\n";
    let mut file = Typed::new();
    let ros1 = file.encoded("/one", &("p/T", "ros1msg", text.to_owned()), "ros1");
    let packed = |level: u8, msg: &str, x: f64| {
        let length = u32::try_from(msg.len()).unwrap();
        [
            &[level][..],
            &length.to_le_bytes(),
            msg.as_bytes(),
            &1_u32.to_le_bytes(),
            &x.to_le_bytes(),
            &7_u32.to_le_bytes(),
            &500_000_000_u32.to_le_bytes(),
        ]
        .concat()
    };
    file.message(ros1, 1, &packed(2, "a", 1.0));
    file.message(ros1, 2, &packed(4, "b", -1.0));
    let ros2 = file.topic("/two", &kinds());
    let message = Kinds {
        i: 300,
        ..Kinds::new()
    };
    file.message(ros2, 3, &message.written(Cdr::little()));
    file.message(ros2, 4, &message.written(Cdr::big()));
    let bag = file.bag();
    assert_eq!(
        shown(&bag, &["/one level >= WARN and x[] < 0 show t"]),
        ["2 level = 4, x[0] = -1.0, t = 7.5s"]
    );
    assert_eq!(shown(&bag, &["/one t == 7.5 and msg == 'a'"]).len(), 1);
    assert_eq!(shown(&bag, &["/one t > 8"]).len(), 0);
    assert_eq!(shown(&bag, &["/two i == 300"]), ["3 i = 300", "4 i = 300"]);
}

#[test]
fn json_is_searched_as_it_is() {
    let mut file = Typed::new();
    let topic = file.untyped("/j", "json");
    for (time, text) in [
        (
            1,
            r#"{"level": 3, "name": "a", "list": [{"x": 1}, {"x": 9}]}"#,
        ),
        (2, r#"{"level": "3", "name": null}"#),
        (3, r#"{"level": 3.5, "list": []}"#),
        (4, r#"{"level": true}"#),
    ] {
        file.message(topic, time, text.as_bytes());
    }
    let bag = file.bag();
    for (condition, times) in [
        ("level >= 3", &[1, 3][..]),
        ("level == \"3\"", &[2]),
        ("level == true", &[4]),
        // A value of another kind is not compared at all.
        ("level != 7", &[1, 3]),
        ("not level == 3", &[2, 3, 4]),
        ("list[].x > 5", &[1]),
        ("list.length == 0", &[3]),
        ("name == \"a\"", &[1]),
        ("missing == 1", &[]),
        ("not missing == 1", &[1, 2, 3, 4]),
    ] {
        let found = hits(&bag, &[&format!("/j {condition}")]);
        let found: Vec<i64> = found.iter().map(|hit| hit.log_time.as_nanos()).collect();
        assert_eq!(found, times, "{condition}");
    }
}

#[test]
fn messages_that_cannot_be_judged_are_told_apart() {
    let mut file = Typed::new();
    let topic = file.topic("/rosout", &log());
    file.message(topic, 1, &entry(40, "x"));
    file.message(topic, 2, &entry(40, "x")[..6]);
    file.message(topic, 3, &[]);
    // It claims four thousand million characters.
    let long = Cdr::little().u8(40).text("n").u32(u32::MAX).done();
    file.message(topic, 4, &long);
    let bag = file.bag();
    let kinds = |expression| -> Vec<_> {
        let found = all(&bag, &[expression]).into_iter();
        let kind = |found| match found {
            Found::Hit(hit) => (hit.log_time.as_nanos(), "hit"),
            Found::Unreadable(it) => (it.log_time.as_nanos(), "unreadable"),
            Found::Damage(damage) => panic!("{damage}"),
        };
        found.map(kind).collect()
    };
    let unreadable = |time| (time, "unreadable");
    assert_eq!(
        kinds("/rosout msg == \"x\""),
        [(1, "hit"), unreadable(2), unreadable(3), unreadable(4)]
    );
    // Nothing is read behind the fields that decide.
    assert_eq!(
        kinds("/rosout level == 40 or msg == \"x\""),
        [(1, "hit"), (2, "hit"), unreadable(3), (4, "hit")]
    );
}

#[test]
fn a_large_array_is_searched_once_and_only_some_of_it_is_kept() {
    let mut file = Typed::new();
    let of = definition("p/msg/L", "uint8[] data\nstring text", &[]);
    let topic = file.topic("/large", &of);
    let data = vec![7; 3_000_000];
    let text = "ü".repeat(100_000);
    file.message(topic, 1, &Cdr::little().bytes(&data).text(&text).done());
    let bag = file.bag();
    assert_eq!(hits(&bag, &["/large data[] == 8"]), []);
    let found = hits(
        &bag,
        &["/large data[] == 7 or text == \"\" show text, data[]"],
    );
    let [Hit { matched, .. }] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(matched.decided_by[0].field, "data[0]");
    // The elements of `data` that are shown are those that decided.
    assert_eq!(matched.shown.len(), 2);
    let FieldValue::Text(kept) = &matched.shown[0].value else {
        panic!("{matched:?}");
    };
    assert!(matched.shown[0].is_cut && kept.len() == 64 << 10);
    let found = hits(&bag, &["/large data.length > 5 show data[]"]);
    assert_eq!(found[0].matched.shown.len(), 8);
}

#[test]
fn elements_without_a_size_do_not_take_for_ever() {
    let text = "Empty[] e\n\
        ================================================================================\nMSG: p/Empty\n\
        Nothing[2] n\n\
        ================================================================================\nMSG: p/Nothing\n";
    let mut file = Typed::new();
    let topic = file.encoded("/e", &("p/T", "ros1msg", text.to_owned()), "ros1");
    file.message(topic, 1, &u32::MAX.to_le_bytes());
    let found = all(&file.bag(), &["/e e[].n.length == 5"]);
    assert!(
        matches!(&found[..], [Found::Unreadable(it)] if it.error.to_string().contains("more elements"))
    );
}

#[test]
fn a_search_is_stopped_between_chunks_and_goes_on() {
    let mut file = Typed::new();
    let (wanted, other) = (file.topic("/t", &string()), file.topic("/other", &string()));
    // Some 40 messages fit into a chunk.
    let text = |text: &str| Cdr::little().text(&text.repeat(20)).done();
    for time in 0..1000 {
        file.message(wanted, time, &text("word "));
    }
    for time in 1000..2000 {
        file.message(other, time, &text("word "));
    }
    let bag = file.bag();
    let chunks = bag.files()[0].chunks;
    let conditions = conditions(&bag, &["/t data == \"x\""]);
    let mut search = Search::new(&bag, conditions, TimeRange::ALL, Direction::Forward);
    let (mut asked, mut last) = (0, 0.0);
    loop {
        let mut is_stopped = false;
        let found = search.next_while(|progress| {
            assert!(progress.share >= last, "{progress:?}");
            last = progress.share;
            asked += 1;
            is_stopped = asked % 3 == 0;
            !is_stopped
        });
        assert_eq!(found, None);
        if !is_stopped {
            break;
        }
    }
    // Every third time it was stopped, and was asked again; chunks of the other topic are not opened.
    let opened = asked - asked / 3;
    assert!(
        opened > 5 && opened <= chunks / 2 + 1,
        "{opened} of {chunks}"
    );
    assert_eq!(search.progress().messages, 1000);
}

fn values() -> impl Strategy<Value = Kinds> {
    let float = prop_oneof![Just(f64::NAN), Just(0.5), -2.0..2.0, any::<f64>()];
    let text = prop::sample::select(vec!["", "a", "ab", "b a", "ü"]);
    let small = prop_oneof![-2..3_i64, any::<i64>()];
    (
        any::<bool>(),
        small,
        0..4_u64,
        float,
        text,
        prop::collection::vec(-2..3_i32, 0..4),
    )
        .prop_map(|(b, i, u, d, s, list)| {
            #[expect(clippy::cast_possible_truncation, reason = "any number will do")]
            let f = d as f32;
            let s = s.to_owned();
            Kinds {
                b,
                i,
                u,
                f,
                d,
                s,
                list,
            }
        })
}

/// A condition, evaluated on plain values by the operators of Rust.
#[derive(Clone, Debug)]
enum Naive {
    Signed(usize, i64),
    Unsigned(usize, u64),
    Float(usize, f64),
    Single(usize, f32),
    Bool(bool),
    Text(usize, &'static str),
    Element(usize, i32),
    Not(Box<Naive>),
    All(Vec<Naive>),
    Any(Vec<Naive>),
}

const OPERATORS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];
const OF_TEXTS: [&str; 4] = ["==", "!=", "contains", "=~"];

fn compare<T: PartialOrd>(operator: usize, a: &T, b: &T) -> bool {
    match OPERATORS[operator] {
        "==" => a == b,
        "!=" => a != b,
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        _ => a >= b,
    }
}

impl Naive {
    fn holds(&self, of: &Kinds) -> bool {
        match self {
            Self::Signed(operator, value) => compare(*operator, &of.i, value),
            Self::Unsigned(operator, value) => compare(*operator, &of.u, value),
            Self::Float(operator, value) => compare(*operator, &of.d, value),
            Self::Single(operator, value) => compare(*operator, &of.f, value),
            Self::Bool(value) => of.b == *value,
            Self::Text(operator, value) => match OF_TEXTS[*operator] {
                "==" => of.s == *value,
                "!=" => of.s != *value,
                // The patterns are texts.
                _ => of.s.contains(value),
            },
            Self::Element(operator, value) => of
                .list
                .iter()
                .any(|element| compare(*operator, element, value)),
            Self::Not(inner) => !inner.holds(of),
            Self::All(list) => list.iter().all(|it| it.holds(of)),
            Self::Any(list) => list.iter().any(|it| it.holds(of)),
        }
    }

    fn text(&self) -> String {
        let joined = |list: &[Self], word: &str| {
            let texts: Vec<_> = list.iter().map(Self::text).collect();
            format!("({})", texts.join(word))
        };
        match self {
            Self::Signed(operator, value) => format!("i {} {value}", OPERATORS[*operator]),
            Self::Unsigned(operator, value) => format!("u {} {value}", OPERATORS[*operator]),
            Self::Float(operator, value) => format!("d {} {value:?}", OPERATORS[*operator]),
            Self::Single(operator, value) => format!("f {} {value:?}", OPERATORS[*operator]),
            Self::Bool(value) => format!("b == {value}"),
            Self::Text(operator, value) => format!("s {} {value:?}", OF_TEXTS[*operator]),
            Self::Element(operator, value) => format!("list[] {} {value}", OPERATORS[*operator]),
            Self::Not(inner) => format!("not {}", inner.text()),
            Self::All(list) => joined(list, " and "),
            Self::Any(list) => joined(list, " or "),
        }
    }
}

fn naive() -> impl Strategy<Value = Naive> {
    let test = prop_oneof![
        (0..6_usize, -2..3_i64).prop_map(|(it, value)| Naive::Signed(it, value)),
        (0..6_usize, 0..4_u64).prop_map(|(it, value)| Naive::Unsigned(it, value)),
        (0..6_usize, prop_oneof![Just(0.5), -2.0..2.0])
            .prop_map(|(it, value)| Naive::Float(it, value)),
        (0..6_usize, prop_oneof![Just(0.5_f32), -2.0..2.0_f32])
            .prop_map(|(it, value)| Naive::Single(it, value)),
        any::<bool>().prop_map(Naive::Bool),
        (0..4_usize, prop::sample::select(vec!["", "a", "b"]))
            .prop_map(|(it, value)| Naive::Text(it, value)),
        (0..6_usize, -2..3_i32).prop_map(|(it, value)| Naive::Element(it, value)),
    ];
    test.prop_recursive(4, 16, 3, |inner| {
        let several = || prop::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            several().prop_map(Naive::All),
            several().prop_map(Naive::Any),
            inner.clone().prop_map(|it| Naive::Not(Box::new(it))),
        ]
    })
}

fn topic_of_kinds() -> Vec<Topic> {
    bag_of(&Kinds::new()).topics().to_vec()
}

/// Whether every plain value that a hit shows is that of the message.
fn are_true(topics: &[Topic], payload: &[u8], hit: &bagplay::find::Match) -> bool {
    hit.values().all(|shown| {
        let reader = FieldReader::new(&topics[0], &shown.field.parse().unwrap()).unwrap();
        let mut is_same = false;
        let read = reader.read(payload, &mut |_, value| {
            // NaN is not equal to itself.
            is_same = value.to_string() == shown.value.to_string();
            ControlFlow::Break(())
        });
        read.is_ok() && is_same
    })
}

proptest! {
    #[test]
    fn a_condition_holds_as_it_does_for_plain_values(message in values(), naive in naive(), is_big: bool) {
        let topics = topic_of_kinds();
        let text = format!("/t {}", naive.text());
        let conditions = Conditions::new(&topics, &expressions(&[&text])).unwrap();
        let payload = message.written(if is_big { Cdr::big() } else { Cdr::little() });
        let found = conditions.check(TopicId(0), &payload).unwrap();
        prop_assert_eq!(found.is_some(), naive.holds(&message), "{}", text);
        if let Some(found) = found {
            prop_assert!(are_true(&topics, &payload, &found), "{:?}", found);
        }
    }

    #[test]
    fn any_payload_is_judged_or_refused(mut payload in prop::collection::vec(any::<u8>(), 0..300), naive in naive()) {
        let topics = topic_of_kinds();
        let text = format!("/t {} show list[], s", naive.text());
        let conditions = Conditions::new(&topics, &expressions(&[&text])).unwrap();
        if payload.len() > 4 {
            payload[..4].copy_from_slice(&[0, 1, 0, 0]);
        }
        if let Ok(Some(found)) = conditions.check(TopicId(0), &payload) {
            prop_assert!(found.values().count() < 32);
        }
    }
}

/// The number of messages of a topic in which a field is at least so large, by visiting every value.
fn counted(bag: &Bag, topic: TopicId, path: &str, least: i128) -> u64 {
    use bagplay::bag::{Selection, StartAt};
    let reader = FieldReader::new(&bag.topics()[topic.index()], &path.parse().unwrap()).unwrap();
    let selection = Selection::of([topic], bag);
    let start = StartAt::At(bagplay::time::Time::MIN);
    let messages = bag.cursor(&selection, start, Direction::Forward).flatten();
    let is_one = |payload: &[u8]| {
        let mut is_one = false;
        let _ = reader.read(payload, &mut |_, value| {
            is_one |= matches!(value, FieldValue::Integer(value) if value >= least);
            ControlFlow::Continue(())
        });
        is_one
    };
    messages.filter(|message| is_one(&message.payload)).count() as u64
}

#[test]
fn data_logs_and_diagnostics_of_real_recordings_are_searched() {
    let Some(data) = data() else { return };
    let mut searched = 0;
    for path in recordings(&data) {
        let Ok(bag) = Bag::open(&[&path]) else {
            continue;
        };
        for (id, topic) in (0..).map(TopicId).zip(bag.topics()) {
            let (path, is_log) = match topic.type_name() {
                "rcl_interfaces/msg/Log" | "rosgraph_msgs/Log" | "foxglove.Log" => ("level", true),
                "diagnostic_msgs/msg/DiagnosticArray" | "diagnostic_msgs/DiagnosticArray" => {
                    ("status[].level", false)
                }
                _ => continue,
            };
            if topic.encoding == "protobuf" {
                continue;
            }
            for least in [0, 1, 2, 8, 20, 40] {
                let text = format!("{:?} {path} >= {least}", topic.name);
                let found = all(&bag, &[&text]);
                let hits = found
                    .iter()
                    .filter(|found| matches!(found, Found::Hit(hit) if hit.topic == id));
                let hits = hits.count() as u64;
                assert_eq!(hits, counted(&bag, id, path, least), "{text}");
            }
            // Every hit of a named level has a message.
            if is_log && topic.encoding != "json" {
                let text = format!("{:?} level >= INFO show msg", topic.name);
                let is_text = |found: &Found| !matches!(found, Found::Hit(hit) if hit.matched.shown.len() != 1);
                assert!(all(&bag, &[&text]).iter().all(is_text), "{text}");
            }
            searched += 1;
        }
    }
    assert!(searched > 5, "{searched}");
}
