//! Random events in any order and at any size: the transport bar does not panic, and draws.

use std::sync::LazyLock;

use bagplay::bag::TopicId;
use bagplay::decode::{Decoded, FieldLine, MessageAt, PayloadFormat};
use bagplay::player::{ClockMode, Gate, Gates, Pace, PlayedRange, State, Status};
use bagplay::time::{AtEnd, Duration, Segment, Speed, TimeRange};
use bagplay::tui::{
    Awaited, BINDINGS, Event, Facts, FoundMessage, FoundMessages, Gesture, Key, Keys, LogLine,
    LookupResult, Model, Mouse, Pin, Series, Severity, Size, Subscribers, WatchedField,
    WatchedValue, WatchedValues, draw,
};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::demo_model::*;

/// Every bound key, and those that only prompts know.
static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let rows = BINDINGS.iter().flat_map(|(_, rows)| rows.iter());
    let bound = rows.map(|row| row.keys).collect::<Vec<_>>().join(" ");
    let more = "delete insert tab ctrl+a ctrl+k ctrl+w ctrl+u alt+b shift+end f12 5 % + - : s é 日";
    let keys = Keys::parse(&format!("{bound} {more}")).unwrap();
    keys.iter().copied().collect()
});

/// An input of the model, or a frame.
#[derive(Clone, Debug)]
enum Input {
    Event(Event),
    /// The status of the player at this wall time, in milliseconds, with this read-ahead.
    Observe(i64, Option<Status>, Option<i64>),
    SeekSent,
    Draw(Size),
}

fn any_key() -> impl Strategy<Value = Event> {
    (0..KEYS.len()).prop_map(|at| Event::Key(KEYS[at]))
}

fn any_size() -> impl Strategy<Value = Size> {
    prop_oneof![
        4 => (0..=220_u16, 0..=60_u16),
        1 => (0..=12_u16, 0..=8_u16),
    ]
    .prop_map(|(width, height)| size(width, height))
}

fn any_mouse() -> impl Strategy<Value = Event> {
    let gesture = prop_oneof![
        Just(Gesture::Press),
        Just(Gesture::RangePress),
        Just(Gesture::Drag),
        Just(Gesture::Release),
        any::<i8>().prop_map(Gesture::Wheel),
        Just(Gesture::Move),
    ];
    // Most of them on a screen of usual size, some anywhere.
    let place = prop_oneof![4 => (0..90_u16, 0..26_u16), 1 => (any::<u16>(), any::<u16>())];
    (gesture, place).prop_map(|(gesture, (column, row))| {
        Event::Mouse(Mouse {
            gesture,
            column,
            row,
        })
    })
}

/// A position that may lie outside of the recording.
fn any_millis() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..=SECONDS * 1000, 1 => -100_000..200_000_i64]
}

fn any_status() -> impl Strategy<Value = Status> {
    let state = prop_oneof![
        4 => Just(State::Playing),
        1 => Just(State::Paused),
        1 => Just(State::Starved),
        1 => Just(State::Gated),
        1 => Just(State::Ended),
        1 => Just(State::Stopped),
    ];
    let factor = prop_oneof![
        Just(1_000_000),
        Just(-1_000_000),
        1_000..=1_000_000_000_i32,
        -1_000_000_000..=-1_000_i32,
    ];
    let range = (0..=SECONDS * 1000, 0..=SECONDS * 1000);
    let counts = prop_oneof![Just(0), 0..5_u64, any::<u64>()];
    (
        state,
        factor,
        range,
        any_millis(),
        0..6_u64,
        counts,
        any::<bool>(),
    )
        .prop_map(|(state, factor, (a, b), to, jumps, count, is_max)| {
            let speed = Speed::from_millionths(factor).unwrap();
            let range = TimeRange::between(at(a), at(b));
            let mut segment = Segment::new(range, speed, AtEnd::Loop);
            for _ in 0..jumps {
                segment = segment.seek(at(to));
            }
            if state == State::Playing {
                segment = segment.roll(wall(to));
            }
            Status {
                segment,
                played: PlayedRange::new(range, AtEnd::Loop),
                state,
                pace: if is_max { Pace::Max } else { Pace::At(speed) },
                gates: Gates::OPEN.close(Gate::Path),
                sent: count,
                bytes: count,
                late: count,
                damaged: count,
                laps: count / 2,
                seeks: count,
                clock: ClockMode::Off,
                skip_empty: None,
            }
        })
}

/// A decoded message with fields of any depth.
fn any_decoded() -> impl Strategy<Value = Decoded> {
    let line = (0..4_usize, "[a-z\\[\\]0-9. ]{0,6}", "[ -~]{0,8}");
    prop::collection::vec(line, 0..8).prop_map(|lines| Decoded {
        lines: lines
            .into_iter()
            .map(|(depth, name, value)| FieldLine { depth, name, value })
            .collect(),
        format: PayloadFormat::Cdr,
        problem: None,
        is_cut: false,
    })
}

fn any_value() -> impl Strategy<Value = WatchedValue> {
    prop_oneof![
        any::<bool>().prop_map(WatchedValue::Bool),
        any::<i128>().prop_map(WatchedValue::Integer),
        any::<f64>().prop_map(WatchedValue::Number),
        any::<i64>().prop_map(WatchedValue::Time),
        "[ -~]{0,20}".prop_map(WatchedValue::Text),
    ]
}

/// Values of two pins, whether these are watched or not.
fn any_values() -> impl Strategy<Value = Event> {
    let values = prop::collection::vec((any_millis(), any_value()), 0..40);
    (any_millis(), any_millis(), values).prop_map(|(a, b, mut values)| {
        values.sort_by_key(|(millis, _)| *millis);
        let range = TimeRange::between(at(a), at(b));
        let mut series = Series::new(range);
        for (millis, value) in values {
            series.push(at(millis), value);
        }
        let pin = |field| Pin {
            topic: TopicId(4),
            field,
        };
        let path = "angular_velocity.z".parse().unwrap();
        Event::Watched(WatchedValues {
            pins: vec![pin(WatchedField::Value(path)), pin(WatchedField::Delay)],
            range,
            series: vec![series.clone(), series],
        })
    })
}

fn any_found() -> impl Strategy<Value = FoundMessages> {
    let severity = prop_oneof![
        Just(None),
        Just(Some(bagplay::find::Severity::Warning)),
        Just(Some(bagplay::find::Severity::Error)),
    ];
    let message = (0..20_u32, any_millis(), severity);
    let messages = prop::collection::vec(message, 0..20);
    (messages, any::<bool>()).prop_map(|(mut messages, has_ended)| {
        messages.sort_by_key(|(_, millis, _)| *millis);
        let message = |(topic, millis, severity)| FoundMessage {
            topic: TopicId(topic),
            time: at(millis),
            severity,
            text: "text".to_owned(),
        };
        FoundMessages {
            messages: messages.into_iter().map(message).collect(),
            share: 0.5,
            has_ended,
            ..FoundMessages::default()
        }
    })
}

fn any_event() -> impl Strategy<Value = Event> {
    let text = "[ -~×日\u{301}\n]{0,60}";
    let severity = prop_oneof![
        Just(Severity::Debug),
        Just(Severity::Info),
        Just(Severity::Warning),
        Just(Severity::Error),
    ];
    let found = prop_oneof![
        Just(MessageAt::NoMessage),
        text.prop_map(MessageAt::Damaged),
        (any_millis(), text).prop_map(|(millis, text)| MessageAt::Message {
            log_time: at(millis),
            publish_time: at(millis),
            header_stamp: None,
            bytes: text.len(),
            decoded: Decoded {
                lines: Vec::new(),
                format: PayloadFormat::Hex,
                problem: Some(text),
                is_cut: true,
            },
        }),
        (any_millis(), any_decoded()).prop_map(|(millis, decoded)| MessageAt::Message {
            log_time: at(millis),
            publish_time: at(millis),
            header_stamp: Some(at(millis)),
            bytes: 1,
            decoded,
        }),
    ];
    prop_oneof![
        12 => any_key(),
        4 => any_mouse(),
        2 => any_size().prop_map(Event::Resized),
        1 => text.prop_map(Event::Paste),
        1 => (severity, text).prop_map(|(severity, text)| Event::Log(LogLine { at: stamp(0), severity, text })),
        1 => prop::collection::vec(prop::option::of(0..9_usize), 0..20)
            .prop_map(|topics| Event::Subscribers(Subscribers { topics, clock: None })),
        1 => (prop::collection::vec(0..20_u32, 0..8), -10..100_000_i64).prop_map(|(topics, left)| {
            Event::Awaited(Some(Awaited {
                topics: topics.into_iter().map(TopicId).collect(),
                left: Duration::from_millis(left),
            }))
        }),
        1 => "[a-z0-9 ]{0,9}".prop_map(Event::ClockServed),
        1 => (any_millis(), any_millis(), 0..500_usize)
            .prop_map(|(a, b, parts)| Event::Lane(lane(TimeRange::between(at(a), at(b)), parts.max(1)))),
        1 => (0..500_usize).prop_map(|parts| Event::Lane(lane(recording(), parts.max(1)))),
        2 => any_values(),
        1 => any_found().prop_map(Event::Alerts),
        1 => any_found().prop_map(Event::Hits),
        1 => "[a-z ]{0,200}".prop_map(Event::NotCut),
        1 => any::<bool>().prop_map(|is_known| Event::Holes(is_known.then(holes))),
        1 => (0..4_usize).prop_map(|parts| Event::Damaged(damaged().split_off(parts.min(3)))),
        1 => (0..20_u32, any_millis(), found)
            .prop_map(|(topic, millis, found)| Event::Lookup(LookupResult { topic: TopicId(topic), at: at(millis), outcome: found })),
    ]
}

fn any_input() -> impl Strategy<Value = Input> {
    prop_oneof![
        8 => any_event().prop_map(Input::Event),
        2 => (any_millis(), prop::option::weighted(0.9, any_status()), prop::option::of(any_millis()))
            .prop_map(|(wall, status, ahead)| Input::Observe(wall, status, ahead)),
        1 => Just(Input::SeekSent),
        1 => any_size().prop_map(Input::Draw),
    ]
}

/// Draws on a screen of a size, which may differ from that of the model.
fn drawn_on(model: &Model, size: Size) {
    let mut terminal = Terminal::new(TestBackend::new(size.width, size.height)).unwrap();
    terminal.draw(|frame| draw(model, frame)).unwrap();
}

/// Whether a row is selected, unless none is shown.
fn is_within(model: &Model) -> bool {
    let screen = without_overlay(model);
    let is_empty = picture(&screen, size(80, 24)).contains("no topic has ");
    selected(model).is_none() == is_empty
}

/// Processes the inputs and checks what must hold after each.
fn run(mut model: Model, inputs: Vec<Input>) -> Result<(), TestCaseError> {
    for (step, input) in (0..).zip(inputs) {
        match input {
            Input::Event(event) => model.handle(event, stamp(step * 300)),
            Input::Observe(millis, status, ahead) => {
                let ahead = ahead.map(at);
                model.observe(wall(millis), status, counts(millis.abs()), ahead);
            }
            Input::SeekSent => model.seek_sent(model.playhead()),
            Input::Draw(size) => drawn_on(&model, size),
        }
        prop_assert!(recording().contains(model.playhead()));
        if step % 8 == 0 {
            prop_assert!(is_within(&model));
        }
        let _ = (
            model.is_moving(),
            model.wanted_message(),
            model.take_effects(),
        );
    }
    prop_assert!(is_within(&model));
    drawn_on(&model, size(120, 40));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_events_do_not_break_the_model(inputs in prop::collection::vec(any_input(), 1..70), is_ascii: bool) {
        run(watching(if is_ascii { ascii() } else { appearance() }), inputs)?;
    }

    /// A recording of one instant, with topics or without.
    #[test]
    fn random_events_do_not_break_an_empty_recording(inputs in prop::collection::vec(any_event(), 1..40), has_topics: bool) {
        let point = TimeRange::between(at(0), at(0));
        let empty = Facts { recording: point, played: PlayedRange::new(point, AtEnd::Hold), ..facts() };
        let (empty, rows) = if has_topics { (empty, rows()) } else { (Facts { topics: Vec::new(), ..empty }, Vec::new()) };
        let mut model = Model::new(empty, appearance(), rows, Vec::new(), size(80, 24));
        for event in inputs {
            model.handle(event, stamp(0));
            prop_assert_eq!(model.playhead(), at(0));
            drawn_on(&model, size(80, 24));
        }
    }
}

/// A model for each overlay, and for other changes of the layout.
fn layers() -> Vec<Model> {
    let mut base = playing();
    base.adopt_played(PlayedRange::new(recording(), AtEnd::Loop));
    press(&mut base, "l");
    let mut keys = vec![
        "",
        "?",
        "e",
        "/",
        "/ x y z",
        "g",
        "g x enter",
        "M",
        "z",
        "z z z z",
        "l",
        "enter",
        // The card of a topic with pictures.
        "down enter",
    ];
    keys.push("? pagedown pagedown pagedown");
    let made = keys.into_iter().map(|keys| {
        let mut model = base.clone();
        press(&mut model, keys);
        model
    });
    let mut models: Vec<Model> = made.collect();
    models.push(fresh(ascii()));
    models
}

#[test]
fn every_size_can_be_drawn() {
    for (at, model) in layers().iter().enumerate() {
        // All small sizes; of the large ones different ones for each model.
        let small = (0..=24).flat_map(|width| (0..=12).map(move |height| (width, height)));
        let first = u16::try_from(at).unwrap();
        let large = (0..=220).flat_map(|width| (0..=60).map(move |height| (width, height)));
        let large = large.skip(first.into()).step_by(101);
        for (width, height) in small.chain(large) {
            let mut model = model.clone();
            let size = size(width, height);
            model.handle(Event::Resized(size), stamp(0));
            drawn_on(&model, size);
        }
        // The terminal may have another size than it reported last.
        for (width, height) in [
            (0, 0),
            (80, 0),
            (1, 1),
            (3, 50),
            (50, 3),
            (200, 5),
            (79, 23),
            (220, 60),
        ] {
            drawn_on(model, size(width, height));
        }
    }
}
