//! Snapshots of the parts of the bar that come and go: holes and damage at the playhead, warnings of nodes, found
//! messages, prompts.

use bagplay::bag::{Schema, TopicId};
use bagplay::find::Severity;
use bagplay::player::{ClockMode, State, Status};
use bagplay::tui::{Appearance, Event, Facts, FoundMessage, FoundMessages, Model};
use insta::assert_snapshot;

use super::demo_model::*;
use super::drawing::{CLASSES, Frames};

/// A paused model with all damage and holes.
fn damaged_at(appearance: &Appearance, millis: i64) -> Model {
    let mut model = with_events(appearance.clone());
    set_state(&mut model, State::Paused, millis);
    assert!(model.wants_damaged_parts(3));
    model.handle(Event::Damaged(damaged()), stamp(0));
    model
}

/// With warnings and errors of nodes, and messages that a condition has found.
fn searched(appearance: &Appearance) -> Model {
    let mut facts = facts();
    "cdr".clone_into(&mut facts.topics[2].encoding);
    facts.topics[2].schema = Some(Schema {
        name: "p/msg/Levels".to_owned(),
        encoding: "ros2msg".to_owned(),
        data: "byte WARN=1\nbyte level\n".into(),
    });
    let model = Model::new(facts, appearance.clone(), rows(), marks(), size(80, 24));
    let mut model = after_events(model);
    set_state(&mut model, State::Paused, 12_184);
    let found = |millis, severity| FoundMessage {
        topic: TopicId(2),
        time: at(millis),
        severity,
        text: "motor: too hot".to_owned(),
    };
    let alerts = FoundMessages {
        messages: vec![
            found(5_000, Some(Severity::Warning)),
            found(30_000, Some(Severity::Error)),
        ],
        has_ended: true,
        ..FoundMessages::default()
    };
    model.handle(Event::Alerts(alerts), stamp(0));
    press(&mut model, "down down enter /");
    type_text(&mut model, "level >= WARN");
    press(&mut model, "enter esc");
    let hits = FoundMessages {
        expression: "/diagnostics level >= WARN".to_owned(),
        messages: vec![found(22_000, None), found(28_000, None)],
        share: 1.0,
        has_ended: true,
        problem: None,
    };
    model.handle(Event::Hits(hits), stamp(10_000));
    press(&mut model, "n");
    model
}

/// A part with damage in it that is to be written.
fn cutting(appearance: &Appearance) -> Model {
    let mut model = damaged_at(appearance, 33_000);
    press(&mut model, "l");
    set_state(&mut model, State::Paused, 37_000);
    press(&mut model, "l x");
    model
}

/// The recorded clock is played.
fn recorded_clock(appearance: &Appearance) -> Model {
    let mut all = rows();
    "/clock".clone_into(&mut all[0].name);
    let clock = ClockMode::Off;
    let facts = Facts { clock, ..facts() };
    let model = Model::new(facts, appearance.clone(), all, marks(), size(80, 24));
    let mut model = after_events(model);
    let paused = Status {
        clock,
        ..status(State::Paused, 12_184, speed(1_000_000))
    };
    set_status(&mut model, paused);
    model
}

/// While playing, in the order of the rates.
fn sorted(appearance: &Appearance) -> Model {
    let mut model = with_events(appearance.clone());
    play(&mut model, 12_184, speed(1_000_000));
    press(&mut model, "s");
    model
}

fn asking(appearance: &Appearance, keys: &str) -> Model {
    let mut model = with_events(appearance.clone());
    set_state(&mut model, State::Paused, 12_184);
    press(&mut model, keys);
    model
}

/// A model that shows each part, by its name.
pub(crate) fn parts(appearance: &Appearance) -> Vec<(&'static str, Model)> {
    vec![
        ("in a hole", damaged_at(appearance, 22_000)),
        ("in damage", damaged_at(appearance, 35_000)),
        ("warnings and found messages", searched(appearance)),
        ("a part with damage is to be written", cutting(appearance)),
        ("a recorded clock", recorded_clock(appearance)),
        ("the rate of the clock", asking(appearance, "C")),
        ("a rate", asking(appearance, "R")),
        ("in the order of rates", sorted(appearance)),
        ("nothing to undo", asking(appearance, "u")),
    ]
}

fn at_main_sizes(appearance: &Appearance) -> String {
    let mut frames = Frames::default();
    for (title, model) in parts(appearance) {
        for (width, height) in CLASSES {
            frames.add(
                &format!("{title} {width}x{height}"),
                &model,
                size(width, height),
            );
        }
    }
    frames.0
}

#[test]
fn parts_at_the_main_sizes() {
    assert_snapshot!(at_main_sizes(&appearance()));
}

#[test]
fn parts_in_ascii() {
    assert_snapshot!(at_main_sizes(&ascii()));
}
