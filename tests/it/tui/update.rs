//! How the transport bar handles events: tables of (state, event) → (state, effects), without a terminal. No event
//! causes a panic.

use std::collections::BTreeSet;

use bagplay::bag::{Outline, TopicId, TopicOutline};
use bagplay::player::{Command, Gate, Gates, Pace, State, Status};
use bagplay::time::{AtEnd, Ros, Time, TimeRange};
use bagplay::tui::{
    Action, BINDINGS, Binding, Effect, Event, Facts, Found, Gesture, Keys, Lane, Look, Model,
    Peeked, Size,
};

use super::demo_model::*;

/// The screen that mouse events are meant for: lane in rows 2 and 3, bar in 4, topics from 7 on; the bar's
/// columns are 1 to 78.
const SCREEN: Size = Size {
    width: 80,
    height: 24,
};

/// Paused 12.184 s in, with marks at 9.5, 27 and 48.25 s; the first topic is selected.
fn paused() -> Model {
    paused_at(12_184)
}

fn paused_at(millis: i64) -> Model {
    let mut model = fresh(look());
    model.take(Event::Resized(SCREEN), stamp(0));
    stand(&mut model, State::Paused, millis);
    model
}

fn paced(pace: Pace) -> Model {
    let mut model = fresh(look());
    show(&mut model, status(State::Paused, 12_184, pace));
    model
}

fn millis(time: Time<Ros>) -> String {
    let millis = time.saturating_since(recording().start()).as_nanos() / 1_000_000;
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

fn span(range: TimeRange) -> String {
    format!("{} to {}", millis(range.start()), millis(range.stop()))
}

fn told_command(command: Command) -> String {
    let name = |id: bagplay::bag::TopicId| rows()[id.index()].name.clone();
    match command {
        Command::Seek(to) => format!("seek {}", millis(to)),
        Command::SetPace(Pace::At(speed)) => format!("rate {}", speed.as_f64()),
        Command::SetPace(Pace::Max) => "rate max".to_owned(),
        Command::Step(n) => format!("step {n}"),
        Command::StepTopic(topic, n) => format!("step {n} of {}", name(topic)),
        Command::SetRange(range) => format!("range {}", span(range)),
        Command::SetAtEnd(AtEnd::Loop) => "loop".to_owned(),
        Command::SetAtEnd(AtEnd::Hold) => "hold".to_owned(),
        Command::Mute(topic) => format!("mute {}", name(topic)),
        Command::Unmute(topic) => format!("unmute {}", name(topic)),
        Command::Toggle => "toggle".to_owned(),
        Command::Play => "play".to_owned(),
        other => format!("{other:?}"),
    }
}

/// What is to be done, in words.
fn effects(model: &mut Model) -> String {
    let told = |effect| match effect {
        Effect::Command(command) => told_command(command),
        Effect::AddMark(mark) if mark.name.is_empty() => format!("mark {}", millis(mark.time)),
        Effect::AddMark(mark) => format!("mark {}: {}", millis(mark.time), mark.name),
        Effect::RemoveMark(time) => format!("unmark {}", millis(time)),
        Effect::Outline(range) => format!("outline {}", span(range)),
        Effect::Redraw => "redraw".to_owned(),
        Effect::Suspend => "suspend".to_owned(),
        Effect::Quit => "quit".to_owned(),
    };
    let told: Vec<String> = model.take_effects().into_iter().map(told).collect();
    told.join(", ")
}

/// Presses keys and returns the effects.
fn does(model: &mut Model, keys: &str) -> String {
    press(model, keys);
    effects(model)
}

/// Rows of (keys, what is to be done), one after the other on the same model.
fn check(mut model: Model, rows: &[(&str, &str)]) {
    for (at, (keys, expected)) in rows.iter().enumerate() {
        assert_eq!(does(&mut model, keys), *expected, "step {at}: {keys}");
    }
}

fn is_seen(model: &Model, text: &str) -> bool {
    picture(model, size(120, 40)).contains(text)
}

fn bindings() -> impl Iterator<Item = &'static Binding> {
    BINDINGS.iter().flat_map(|(_, rows)| rows.iter())
}

/// Name, effects, log line, and what is on the screen afterwards.
#[rustfmt::skip]
const ACTIONS: &[(&str, &str, &str, &str)] = &[
    ("play-pause", "toggle", "", ""),
    ("step-back", "step -1", "", ""),
    ("step-forward", "step 1", "", ""),
    ("topic-back", "step -1 of /camera/front/camera_info", "", ""),
    ("topic-forward", "step 1 of /camera/front/camera_info", "", ""),
    ("slower", "rate 0.9", "", "×0.90"),
    ("faster", "rate 1.1", "", "×1.10"),
    ("half-rate", "rate 0.5", "", "×0.50"),
    ("double-rate", "rate 2", "", "×2.00"),
    ("normal-rate", "rate 1", "", "×1.00"),
    ("reverse", "rate -1", "", "×−1.00"),
    ("seek-back", "seek 7.184", "", "+00:07.184"),
    ("seek-forward", "seek 17.184", "", "+00:17.184"),
    ("fine-back", "seek 12.084", "", ""),
    ("fine-forward", "seek 12.284", "", ""),
    ("coarse-back", "seek 0.000", "", ""),
    ("coarse-forward", "seek 42.184", "", ""),
    ("start", "seek 0.000", "", ""),
    ("end", "seek 60.000", "", ""),
    ("tenth-0", "seek 0.000", "", ""),
    ("tenth-1", "seek 6.000", "", ""),
    ("tenth-2", "seek 12.000", "", ""),
    ("tenth-3", "seek 18.000", "", ""),
    ("tenth-4", "seek 24.000", "", ""),
    ("tenth-5", "seek 30.000", "", ""),
    ("tenth-6", "seek 36.000", "", ""),
    ("tenth-7", "seek 42.000", "", ""),
    ("tenth-8", "seek 48.000", "", ""),
    ("tenth-9", "seek 54.000", "", ""),
    ("go-to", "", "", " go to: "),
    ("undo-seek", "", "no seek to undo", ""),
    ("loop", "", "A at +00:12.184; once more sets B, or here clears A", "A set"),
    ("loop-all", "loop", "all of it loops", "loop"),
    ("mark", "mark 12.184", "mark at +00:12.184", "◆"),
    ("name-mark", "", "", " name of the mark: "),
    ("next-mark", "seek 27.000", "", ""),
    ("previous-mark", "seek 9.500", "pedestrian", ""),
    ("up", "", "", "›○ /camera/front/camera_info"),
    ("down", "", "", "›○ /camera/front/image_raw"),
    ("page-up", "", "", "›○ /camera/front/camera_info"),
    ("page-down", "", "", "›○ /tf_static"),
    ("show-topic", "", "", "recorded QoS"),
    ("mute", "mute /camera/front/camera_info", "/camera/front/camera_info is muted", "/camera/front/camera_info  (muted)"),
    ("filter", "", "", " filter: "),
    ("time-face", "", "", "12:32:19.184 UTC"),
    ("zoom-in", "outline 4.684 to 34.684", "", "zoom 00:15.000"),
    ("zoom-out", "", "", ""),
    ("log", "", "", "events, the newest first"),
    ("help", "", "", "play or pause; at the end, play again"),
    ("back", "", "", ""),
    ("redraw", "redraw", "", ""),
    ("suspend", "suspend", "", ""),
    ("quit", "quit", "", ""),
];

#[test]
fn every_key_of_every_action_does_what_it_says() {
    for (name, expected, says, shows) in ACTIONS {
        let row = bindings().find(|row| row.name == *name);
        let row = row.unwrap_or_else(|| panic!("{name} is no action any more"));
        for key in Keys::parse(row.keys).unwrap().iter() {
            let mut model = paused();
            model.take(Event::Key(*key), stamp(10_000));
            assert_eq!(effects(&mut model), *expected, "{name}");
            assert_eq!(said(&model), *says, "{name}");
            assert!(is_seen(&model, shows), "{name}: {shows}");
        }
    }
    let tested: BTreeSet<&str> = ACTIONS.iter().map(|(name, ..)| *name).collect();
    let there: BTreeSet<&str> = bindings().map(|row| row.name).collect();
    assert_eq!(tested, there, "an action without a row here");
}

#[test]
fn what_was_opened_closes_with_the_same_key_or_esc() {
    for (open, close, shows) in [
        ("?", "?", "╭ keys"),
        ("?", "esc", "╭ keys"),
        ("e", "e", "╭ events"),
        ("e", "esc", "╭ events"),
        ("enter", "esc", "╭ /camera"),
        ("g", "esc", " go to: "),
        ("/", "esc", " filter: "),
        ("/", "enter", " filter: "),
        ("M", "esc", " name of the mark: "),
        ("g", "enter", " go to: "),
    ] {
        let mut model = paused();
        assert_eq!(does(&mut model, open), "", "{open}");
        assert!(is_seen(&model, shows), "{open}");
        assert_eq!(does(&mut model, close), "", "{open} {close}");
        assert!(!is_seen(&model, shows), "{open} {close}");
    }
}

#[test]
fn what_quits_quits_from_everywhere_and_text_is_text() {
    for open in ["", "?", "e", "enter", "g", "/", "M", "l", "z"] {
        let mut model = paused();
        press(&mut model, open);
        model.take_effects();
        assert_eq!(does(&mut model, "ctrl+c"), "quit", "{open}");
    }
    for (open, label) in [("g", "go to"), ("/", "filter"), ("M", "name of the mark")] {
        let mut model = paused();
        assert_eq!(does(&mut model, open), "");
        type_text(&mut model, "q ?gl");
        assert_eq!(effects(&mut model), "", "{open}");
        assert!(is_seen(&model, &format!(" {label}: q ?gl")), "{open}");
    }
    for open in ["g", "/", "M"] {
        let mut model = paused();
        press(&mut model, open);
        assert_eq!(does(&mut model, "ctrl+z"), "suspend", "{open}");
        assert_eq!(does(&mut model, "ctrl+l"), "redraw", "{open}");
        type_text(&mut model, "a b");
        assert_eq!(does(&mut model, "ctrl+w"), "", "{open}");
        assert!(
            is_seen(&model, ": a") && !is_seen(&model, ": a b"),
            "{open}"
        );
    }
    for open in ["?", "e", "enter"] {
        let mut model = paused();
        press(&mut model, open);
        assert_eq!(does(&mut model, "q"), "quit", "{open}");
        assert_eq!(does(&mut model, "space"), "toggle", "{open}");
    }
}

#[test]
fn other_keys_can_be_said() {
    let keys = |text| Keys::parse(text).unwrap();
    let bindings = look()
        .bindings
        .rebound(Action::Quit, &keys("x ctrl+q"))
        .rebound(Action::Step(1), &keys("m"))
        .rebound(Action::Log, &Keys::parse("").unwrap());
    let mut model = fresh(Look { bindings, ..look() });
    stand(&mut model, State::Paused, 12_184);
    check(
        model,
        &[
            ("q", ""),
            ("ctrl+c", "quit"),
            ("x", "quit"),
            ("m", "step 1"),
            (".", ""),
            ("e", ""),
            ("/ x", ""),
            ("ctrl+q", "quit"),
            ("esc esc [", "rate 0.9"),
        ],
    );
}

#[test]
fn what_edits_a_line_of_text_does_so_whatever_else_it_does() {
    let keys = |text| Keys::parse(text).unwrap();
    let bindings = look()
        .bindings
        .rebound(Action::Quit, &keys("ctrl+w ctrl+q"))
        .rebound(Action::Redraw, &keys("ctrl+u r f5"));
    let mut model = fresh(Look { bindings, ..look() });
    press(&mut model, "g");
    type_text(&mut model, "1 2r");
    assert_eq!(does(&mut model, "ctrl+w"), "");
    assert!(is_seen(&model, " go to: 1") && !is_seen(&model, "2r"));
    assert_eq!(does(&mut model, "ctrl+u"), "");
    assert!(is_seen(&model, "nanoseconds"));
    assert_eq!(does(&mut model, "ctrl+q ctrl+c"), "quit, quit");
    assert_eq!(does(&mut model, "esc ctrl+w ctrl+u"), "quit, redraw");
}

#[test]
fn the_filter_keeps_the_selected_topic() {
    let mut model = paused();
    press(&mut model, "pagedown down down down down");
    let name = |model: &Model| selected(model).map(|id| rows()[id.index()].name.clone());
    let first = name(&model);
    assert_eq!(first.as_deref(), Some("/operator/notes"));
    press(&mut model, "up up");
    for (keys, selects) in [
        ("/", Some("/tf_static")),
        ("T", Some("/tf_static")),
        ("F", Some("/tf_static")),
        ("enter", Some("/tf_static")),
        ("up", Some("/tf")),
        ("up", Some("/tf")),
        ("esc", Some("/tf")),
        ("/ m a p", Some("/map")),
        ("x", None),
        ("backspace", Some("/map")),
        ("x enter down up enter t < >", None),
        ("esc", Some("/camera/front/camera_info")),
    ] {
        press(&mut model, keys);
        assert_eq!(name(&model).as_deref(), selects, "{keys}");
    }
    assert_eq!(effects(&mut model), "");
}

#[test]
fn what_is_pasted_is_typed() {
    let mut model = paused();
    let paste = |model: &mut Model, text: &str| model.take(Event::Paste(text.into()), stamp(0));
    paste(&mut model, "q");
    assert_eq!(effects(&mut model), "");
    press(&mut model, "/");
    paste(&mut model, "ti\n\u{1b}[31m");
    assert!(is_seen(&model, "filter: ti[31m"));
    press(&mut model, "esc g");
    paste(&mut model, "+5s\r\n");
    assert_eq!(does(&mut model, "enter"), "seek 17.184");
    press(&mut model, "g x enter");
    assert!(is_seen(&model, "is no time"));
    paste(&mut model, "y");
    assert!(!is_seen(&model, "is no time"));
}

#[test]
fn times_to_go_to() {
    let mut model = paused();
    for (text, expected) in [
        ("50%", "seek 30.000"),
        ("+5s", "seek 35.000"),
        ("-10s", "seek 25.000"),
        ("14:32:17.5", "seek 10.500"),
        ("+999s", "seek 60.000"),
    ] {
        press(&mut model, "g");
        type_text(&mut model, text);
        assert_eq!(does(&mut model, "enter"), expected, "{text}");
        assert!(!is_seen(&model, " go to: "), "{text}");
    }
    for text in ["5s", "5", "0:05"] {
        press(&mut model, "g");
        type_text(&mut model, text);
        assert_eq!(does(&mut model, "enter"), "seek 5.000", "{text}");
    }
    for text in ["1:30", "90s", "150%"] {
        press(&mut model, "g");
        type_text(&mut model, text);
        assert_eq!(does(&mut model, "enter"), "", "{text}");
        assert!(is_seen(&model, "lies outside the recording"), "{text}");
        press(&mut model, "esc");
    }
    press(&mut model, "g");
    type_text(&mut model, "12:00");
    assert_eq!(does(&mut model, "enter"), "");
    assert!(is_seen(&model, "it was not 12:00 while this was recorded"));
    assert_eq!(does(&mut model, "backspace"), "");
    assert!(is_seen(&model, " go to: 12:0") && !is_seen(&model, "it was not"));
    press(&mut model, "backspace backspace backspace backspace");
    assert!(is_seen(&model, "nanoseconds"));
    // Times of day are as they are shown.
    press(&mut model, "esc T g");
    type_text(&mut model, "12:32:17");
    assert_eq!(does(&mut model, "enter"), "seek 10.000");
}

#[test]
fn seeks_add_up_before_the_player_has_answered() {
    let mut model = paused();
    assert_eq!(does(&mut model, "right right right left"), "seek 22.184");
    model.has_sought(at(22_184));
    stand(&mut model, State::Paused, 12_184);
    assert_eq!(model.here(), at(22_184), "the player has not jumped yet");
    assert_eq!(
        does(&mut model, "right . right"),
        "seek 27.184, step 1, seek 32.184"
    );
    // The first of two more is asked for; whatever the player does meanwhile, the last one is meant.
    model.has_sought(at(27_184));
    let jumped = |seeks, millis| Status {
        seeks,
        ..status(State::Paused, millis, speed(1_000_000))
    };
    show(&mut model, jumped(2, 27_184));
    assert_eq!(model.here(), at(32_184), "the last one was not asked for");
    model.has_sought(at(32_184));
    show(&mut model, jumped(2, 27_184));
    assert_eq!(model.here(), at(32_184), "it was not taken");
    show(&mut model, jumped(3, 32_500));
    assert_eq!(model.here(), at(32_500), "it was");
    assert_eq!(does(&mut model, "right"), "seek 37.500");
    assert_eq!(does(&mut model, "end right right"), "seek 60.000");
}

#[test]
fn rates_add_up_before_the_player_has_answered() {
    let mut model = paused();
    assert_eq!(does(&mut model, "}"), "rate 2");
    stand(&mut model, State::Paused, 12_184);
    assert_eq!(does(&mut model, "}"), "rate 4");
    stand(&mut model, State::Paused, 12_184);
    assert_eq!(does(&mut model, "r"), "rate -4");
    show(&mut model, status(State::Paused, 12_184, speed(-4_000_000)));
    assert_eq!(does(&mut model, "{"), "rate -2");
}

#[test]
fn topics_that_others_mute_are_seen() {
    let mut model = paused();
    model.hear(|topic| topic == TopicId(0));
    assert!(is_seen(&model, "(muted)"));
    assert_eq!(does(&mut model, "home"), "seek 0.000");
    model.hear(|_| false);
    assert!(!is_seen(&model, "(muted)"));
}

#[test]
fn what_stands_at_the_edge_it_plays_to_begins_again() {
    let mut model = paused();
    stand(&mut model, State::Paused, SECONDS * 1000);
    assert_eq!(does(&mut model, "space"), "seek 0.000, play");
    let mut model = paused();
    show(&mut model, status(State::Paused, 0, speed(-1_000_000)));
    assert_eq!(does(&mut model, "space"), "seek 60.000, play");
    let mut model = paused();
    stand(&mut model, State::Paused, 0);
    assert_eq!(does(&mut model, "space"), "toggle");
}

#[test]
fn a_lost_connection_is_told_also_while_paused() {
    let mut model = paused();
    let lost = |state| Status {
        gates: Gates::OPEN.close(Gate::Path),
        ..status(state, 12_184, speed(1_000_000))
    };
    show(&mut model, lost(State::Paused));
    assert!(is_seen(&model, "PAUSED") && is_seen(&model, "no connection"));
    show(&mut model, lost(State::Gated));
    assert!(is_seen(&model, "NO CONNECTION") && !is_seen(&model, "no connection"));
}

#[test]
fn a_latched_topic_stands_from_its_first_message_on() {
    let mut model = paused();
    // In the third of four parts a message of every topic.
    let topic = TopicOutline {
        density: vec![0.0, 0.0, 1.0, 0.0],
        bytes: None,
    };
    let lane = Lane {
        range: recording(),
        outline: Outline {
            topics: vec![topic; TOPICS.len()],
        },
        is_whole: true,
    };
    model.take(Event::Lane(lane), stamp(0));
    for (name, lies) in [("tf_static", "█────"), ("imu", "█    ")] {
        press(&mut model, "/");
        type_text(&mut model, name);
        press(&mut model, "enter enter");
        let shown = picture(&model, size(100, 40));
        let row = shown.lines().find(|row| row.contains("lies at"));
        assert!(row.unwrap().contains(lies), "{name}: {row:?}");
        press(&mut model, "esc esc");
    }
}

#[test]
fn as_fast_as_it_goes_is_playing_also_while_it_reads() {
    let mut model = paused();
    show(&mut model, status(State::Starved, 12_184, speed(1_000_000)));
    assert!(!model.is_moving());
    show(&mut model, status(State::Starved, 12_184, Pace::Max));
    assert!(model.is_moving());
}

#[test]
fn seeks_that_follow_each_other_are_undone_together() {
    let mut model = paused();
    let mut press_at = |millis: i64, key: &str| {
        model.take(Event::Key(key.parse().unwrap()), stamp(millis));
        effects(&mut model)
    };
    for (millis, key, expected) in [
        (0, "right", "seek 17.184"),
        (600, "right", "seek 22.184"),
        (1_200, "right", "seek 27.184"),
        (3_000, "0", "seek 0.000"),
        (5_000, "n", "seek 9.500"),
        (7_000, "u", "seek 0.000"),
        (7_100, "u", "seek 27.184"),
        (7_200, "u", "seek 12.184"),
        (7_300, "u", ""),
        // What is sought right after an undo can be undone by itself.
        (7_350, "right", "seek 17.184"),
        (9_000, "u", "seek 12.184"),
    ] {
        assert_eq!(press_at(millis, key), expected, "{millis}: {key}");
    }
    for second in 0..300_i64 {
        press_at(
            10_000 + second * 1000,
            if second % 2 == 0 { "1" } else { "2" },
        );
    }
    let undone = (0..300).take_while(|_| !press_at(400_000, "u").is_empty());
    assert_eq!(undone.count(), 100);
}

#[test]
fn rates_have_limits_and_keep_their_direction() {
    for (millionths, key, expected, says) in [
        (1_000_000, "] ] [", "rate 1.1, rate 1.21, rate 1.089", ""),
        (900_000, "]", "rate 1", ""),
        (1_100_000, "[", "rate 1", ""),
        (900_000_000, "}", "rate 1000", ""),
        (1_000_000_000, "}", "", "this is the highest rate"),
        (1_000_000_000, "]", "", "this is the highest rate"),
        (1_500, "{", "rate 0.001", ""),
        (1_000, "{", "", "this is the lowest rate"),
        (1_000, "[", "", "this is the lowest rate"),
        (1_000, "]", "rate 0.0011", ""),
        (-2_000_000, "}", "rate -4", ""),
        (-1_000_000_000, "]", "", "this is the highest rate"),
        (-1_000, "{", "", "this is the lowest rate"),
        (-2_000_000, "backspace", "rate -1", ""),
        (-2_000_000, "r", "rate 2", ""),
        (500_000, "r r", "rate -0.5, rate 0.5", ""),
    ] {
        let mut model = paced(speed(millionths));
        assert_eq!(does(&mut model, key), expected, "{millionths} {key}");
        assert_eq!(said(&model), says, "{millionths} {key}");
    }
    for (key, expected, says) in [
        ("]", "", "the rate is max; backspace sets it to 1×"),
        ("{", "", "the rate is max; backspace sets it to 1×"),
        ("r", "", "a rate of max goes forwards only"),
        ("backspace", "rate 1", ""),
    ] {
        let mut model = paced(Pace::Max);
        assert_eq!(does(&mut model, key), expected, "{key}");
        assert_eq!(said(&model), says, "{key}");
    }
}

#[test]
fn a_loop_by_keys() {
    let to = |model: &mut Model, millis| stand(model, State::Paused, millis);
    let mut model = paused();
    for says in [
        "A at +00:12.184; once more sets B, or here clears A",
        "A is cleared",
    ] {
        assert_eq!(does(&mut model, "l"), "");
        assert_eq!(said(&model), says);
    }
    assert!(!is_seen(&model, "A set"));
    assert_eq!(does(&mut model, "l"), "");
    to(&mut model, 5_000);
    assert_eq!(does(&mut model, "l"), "range 5.000 to 12.184, loop");
    assert_eq!(said(&model), "loops from A +00:05.000 to B +00:12.184");
    // All of it loops only once the part does not.
    assert_eq!(does(&mut model, "L"), "");
    assert_eq!(does(&mut model, "l"), "range 0.000 to 60.000, loop");
    assert_eq!(said(&model), "the loop is cleared");
    assert_eq!(does(&mut model, "L"), "hold");
}

/// With a player that plays from 10 s to 50 s and is paused there.
fn limited(millis: i64) -> Model {
    let part = Facts {
        played: TimeRange::between(at(10_000), at(50_000)),
        ..facts()
    };
    let mut model = Model::new(part, look(), rows(), marks(), SCREEN);
    show(&mut model, within(10_000, 50_000, millis));
    model
}

/// The status of a player that is paused at a time of this range.
fn within(from: i64, to: i64, millis: i64) -> Status {
    let range = TimeRange::between(at(from), at(to));
    let status = status(State::Paused, millis, speed(1_000_000));
    Status {
        segment: status.segment.with_range(range, wall(0)),
        ..status
    }
}

#[test]
fn a_cleared_loop_goes_back_to_what_was_played_before_it() {
    let mut model = limited(20_000);
    assert_eq!(does(&mut model, "l"), "");
    show(&mut model, within(10_000, 50_000, 30_000));
    assert_eq!(does(&mut model, "l"), "range 20.000 to 30.000, loop");
    show(&mut model, within(20_000, 30_000, 25_000));
    assert_eq!(does(&mut model, "l"), "range 10.000 to 50.000, hold");
    // The player has not processed it yet.
    show(&mut model, within(20_000, 30_000, 25_000));
    assert_eq!(does(&mut model, "home"), "seek 10.000");

    // A seek has taken it out of its limits, where a loop is set.
    let mut model = limited(20_000);
    assert_eq!(does(&mut model, "0"), "seek 0.000");
    model.has_sought(at(0));
    let taken = Status {
        seeks: 1,
        ..within(0, 50_000, 2_000)
    };
    show(&mut model, taken);
    assert_eq!(does(&mut model, "l"), "");
    show(&mut model, within(0, 50_000, 5_000));
    assert_eq!(does(&mut model, "l"), "range 2.000 to 5.000, loop");
    show(&mut model, within(2_000, 5_000, 4_000));
    assert_eq!(does(&mut model, "l"), "range 0.000 to 50.000, hold");

    // The mouse has set one where nothing was played.
    let mut model = limited(20_000);
    mouse(&mut model, Gesture::RangePress, 70, 4);
    mouse(&mut model, Gesture::Release, 78, 4);
    assert_eq!(effects(&mut model), "range 53.076 to 60.000, loop");
    show(&mut model, within(53_077, 60_000, 54_000));
    assert_eq!(does(&mut model, "right"), "seek 59.000");
    assert_eq!(does(&mut model, "l"), "range 10.000 to 60.000, hold");
}

#[test]
fn a_seek_beyond_the_limits_lifts_them_and_says_so() {
    let mut model = limited(20_000);
    for (keys, expected, says) in [
        ("end", "seek 50.000", ""),
        (
            "9",
            "seek 54.000",
            "it plays to the end of the recording from here on",
        ),
        (
            "end",
            "seek 60.000",
            "it plays to the end of the recording from here on",
        ),
        (
            "home",
            "seek 10.000",
            "it plays to the end of the recording from here on",
        ),
        (
            "0",
            "seek 0.000",
            "the start of the recording is played, too, from here on",
        ),
        (
            "5",
            "seek 30.000",
            "the start of the recording is played, too, from here on",
        ),
        (
            "home",
            "seek 0.000",
            "the start of the recording is played, too, from here on",
        ),
    ] {
        assert_eq!(does(&mut model, keys), expected, "{keys}");
        model.has_sought(model.here());
        assert_eq!(said(&model), says, "{keys}");
    }
    // What was sought on the way and never asked for lifts nothing.
    let mut model = limited(20_000);
    assert_eq!(does(&mut model, "9 3"), "seek 18.000");
    model.has_sought(model.here());
    assert_eq!(does(&mut model, "end"), "seek 50.000");
    // Somebody else has sought.
    let mut model = limited(20_000);
    show(&mut model, within(10_000, 60_000, 55_000));
    assert_eq!(does(&mut model, "end"), "seek 60.000");
}

#[test]
fn what_stands_at_its_end_plays_after_a_seek_and_when_all_of_it_loops() {
    let ended = || {
        let mut model = paused();
        stand(&mut model, State::Ended, SECONDS * 1000);
        model
    };
    assert_eq!(does(&mut ended(), "left"), "seek 55.000");
    assert_eq!(does(&mut ended(), "L"), "loop, play");
    assert_eq!(does(&mut ended(), "L L"), "loop, play, hold");
    assert_eq!(does(&mut ended(), "space"), "toggle");
}

#[test]
fn what_loops_is_told_as_long_as_it_does() {
    let mut model = paused();
    let lapped = Status {
        laps: 2,
        ..status(State::Paused, 18_000, speed(1_000_000))
    };
    show(&mut model, lapped);
    assert!(!is_seen(&model, "lap 3"));
    press(&mut model, "L");
    assert!(is_seen(&model, "loop  lap 3"));
    press(&mut model, "l");
    assert!(is_seen(&model, "loop  A set  lap 3"));
    press(&mut model, "l L");
    assert!(!is_seen(&model, "lap 3"));
}

#[test]
fn a_loop_is_seen_while_it_is_dragged() {
    let mut model = paused();
    mouse(&mut model, Gesture::RangePress, 14, 4);
    assert!(!is_seen(&model, "⟩"));
    mouse(&mut model, Gesture::Drag, 40, 4);
    assert!(is_seen(&model, "⟨") && is_seen(&model, "⟩"));
    assert_eq!(effects(&mut model), "");
    mouse(&mut model, Gesture::Drag, 14, 4);
    assert!(!is_seen(&model, "⟩"));
}

#[test]
fn a_release_that_is_never_told_begins_nothing() {
    for begins in [Gesture::Press, Gesture::RangePress] {
        for presses in [Gesture::Press, Gesture::RangePress] {
            let mut model = paused();
            mouse(&mut model, begins, 40, 4);
            model.take_effects();
            mouse(&mut model, presses, 40, 10);
            mouse(&mut model, Gesture::Drag, 50, 10);
            mouse(&mut model, Gesture::Release, 60, 10);
            assert_eq!(effects(&mut model), "", "{begins:?} {presses:?}");
        }
    }
    // Nor where something lies over the screen.
    let mut model = paused();
    mouse(&mut model, Gesture::RangePress, 40, 4);
    press(&mut model, "?");
    mouse(&mut model, Gesture::Press, 40, 4);
    mouse(&mut model, Gesture::Release, 60, 4);
    assert_eq!(effects(&mut model), "");
}

#[test]
fn a_seek_out_of_the_loop_ends_it() {
    let looped = || {
        let mut model = paused();
        press(&mut model, "l");
        stand(&mut model, State::Paused, 31_000);
        assert_eq!(does(&mut model, "l"), "range 12.184 to 31.000, loop");
        model
    };
    let cleared = "range 0.000 to 60.000, hold";
    for (keys, expected) in [
        ("left", "seek 26.000".to_owned()),
        ("right", format!("{cleared}, seek 36.000")),
        ("home", format!("{cleared}, seek 0.000")),
        ("home l", format!("{cleared}, seek 0.000")),
        ("3", "seek 18.000".to_owned()),
        ("N N", format!("seek 27.000, {cleared}, seek 9.500")),
        (
            "left right right u",
            format!("seek 31.000, {cleared}, seek 31.000"),
        ),
    ] {
        assert_eq!(does(&mut looped(), keys), expected, "{keys}");
    }
}

#[test]
fn a_loop_by_the_mouse() {
    let mut model = paused();
    let mut does = |gesture, column, row| {
        mouse(&mut model, gesture, column, row);
        effects(&mut model)
    };
    for (gesture, column, row, expected) in [
        // A click alone is nothing.
        (Gesture::RangePress, 40, 4, ""),
        (Gesture::Release, 40, 4, ""),
        (Gesture::RangePress, 14, 2, ""),
        (Gesture::Drag, 30, 2, ""),
        (Gesture::Release, 40, 20, "range 10.000 to 30.000, loop"),
        (Gesture::RangePress, 40, 3, ""),
        (Gesture::Release, 14, 3, "range 10.000 to 30.000, loop"),
        // A click clears.
        (Gesture::RangePress, 70, 4, ""),
        (Gesture::Release, 70, 4, "range 0.000 to 60.000, hold"),
        // Beyond the edges the edges are meant; over the table nothing is.
        (Gesture::RangePress, 0, 4, ""),
        (Gesture::Release, 500, 4, "range 0.000 to 60.000, loop"),
        (Gesture::RangePress, 40, 10, ""),
        (Gesture::Release, 50, 4, ""),
    ] {
        assert_eq!(
            does(gesture, column, row),
            expected,
            "{gesture:?} {column} {row}"
        );
    }
}

#[test]
fn the_mouse_scrubs() {
    let mut model = paused();
    for (gesture, column, row, expected) in [
        (Gesture::Drag, 30, 4, ""),
        (Gesture::Press, 40, 4, "seek 30.000"),
        (Gesture::Drag, 53, 20, "seek 40.000"),
        (Gesture::Drag, 0, 0, "seek 0.000"),
        (Gesture::Release, 0, 0, ""),
        (Gesture::Drag, 30, 4, ""),
        (Gesture::Press, 78, 2, "seek 60.000"),
        (Gesture::Press, 1, 3, "seek 0.000"),
        (Gesture::Release, 1, 3, ""),
        // Above the lane, between bar and table, in the log, outside.
        (Gesture::Press, 40, 0, ""),
        (Gesture::Press, 40, 5, ""),
        (Gesture::Press, 40, 6, ""),
        (Gesture::Press, 40, 21, ""),
        (Gesture::Press, 400, 4, ""),
        (Gesture::Press, 4, 400, ""),
        (Gesture::Wheel(-1), 40, 3, "seek 0.000"),
        (Gesture::Wheel(1), 40, 0, "seek 1.000"),
        (Gesture::Wheel(1), 400, 400, "seek 2.000"),
    ] {
        mouse(&mut model, gesture, column, row);
        assert_eq!(effects(&mut model), expected, "{gesture:?} {column} {row}");
    }
    // A scrub is undone as one.
    let mut model = paused();
    for (gesture, column) in [
        (Gesture::Press, 40),
        (Gesture::Drag, 50),
        (Gesture::Drag, 60),
    ] {
        mouse(&mut model, gesture, column, 4);
    }
    assert_eq!(effects(&mut model), "seek 45.384");
    assert_eq!(does(&mut model, "u"), "seek 12.184");
}

#[test]
fn the_mouse_selects_topics_and_opens_them() {
    let mut model = paused();
    let index = |model: &Model| selected(model).map(bagplay::bag::TopicId::index);
    for (gesture, row, selects) in [
        (Gesture::Press, 9, 2),
        (Gesture::Release, 9, 2),
        (Gesture::Press, 16, 9),
        (Gesture::Wheel(1), 10, 10),
        (Gesture::Wheel(1), 10, 11),
        // The table has moved by one: its first row is the second topic.
        (Gesture::Press, 7, 1),
        (Gesture::RangePress, 9, 1),
        (Gesture::Wheel(-1), 10, 0),
        (Gesture::Wheel(-1), 10, 0),
    ] {
        mouse(&mut model, gesture, 10, row);
        assert_eq!(index(&model), Some(selects), "{gesture:?} {row}");
    }
    assert_eq!(effects(&mut model), "");
    mouse(&mut model, Gesture::Press, 10, 9);
    assert_eq!(model.wants_message(), None);
    mouse(&mut model, Gesture::Press, 10, 9);
    let wanted = model.wants_message().map(|(topic, at)| (topic.index(), at));
    assert_eq!(wanted, Some((2, at(12_184))));
    // What lies over the screen takes the wheel, and no clicks; the bar above it takes both.
    mouse(&mut model, Gesture::Press, 10, 12);
    mouse(&mut model, Gesture::Wheel(1), 10, 12);
    assert_eq!((effects(&mut model).as_str(), index(&model)), ("", Some(2)));
    let place = model.here();
    mouse(&mut model, Gesture::Wheel(1), 40, 4);
    assert_eq!(effects(&mut model), "seek 13.184");
    mouse(&mut model, Gesture::Wheel(-1), 40, 4);
    assert_eq!(
        (effects(&mut model).as_str(), model.here()),
        ("seek 12.184", place)
    );
    mouse(&mut model, Gesture::Press, 60, 4);
    assert_eq!(effects(&mut model), "seek 45.384");
    mouse(&mut model, Gesture::Drag, 40, 4);
    mouse(&mut model, Gesture::Release, 40, 4);
    let dragged = model.here();
    assert!(dragged < at(45_384) && effects(&mut model).starts_with("seek "));
    let wanted = model.wants_message().map(|(topic, at)| (topic.index(), at));
    assert_eq!(wanted, Some((2, dragged)));
    // The help and a line to type in take all of it.
    for layer in ["?", "g"] {
        press(&mut model, layer);
        mouse(&mut model, Gesture::Press, 60, 4);
        assert_eq!(effects(&mut model), "", "{layer}");
        press(&mut model, "esc");
    }
    press(&mut model, "esc / i m u enter");
    mouse(&mut model, Gesture::Press, 10, 9);
    assert_eq!(index(&model), Some(4), "there is only one row");
}

#[test]
fn marks_are_set_named_and_gone_to() {
    let mut model = paused();
    for (keys, expected, says) in [
        ("m", "mark 12.184", "mark at +00:12.184"),
        ("m", "unmark 12.184", "the mark at +00:12.184 is gone"),
        (
            "M b u s enter",
            "mark 12.184: bus",
            "mark at +00:12.184: bus",
        ),
        (
            "M enter",
            "mark 12.184: bus",
            "mark at +00:12.184: bus (×2)",
        ),
        ("M ! esc", "", "mark at +00:12.184: bus (×2)"),
        ("n", "seek 27.000", "mark at +00:12.184: bus (×2)"),
        ("n", "seek 48.250", "hard braking"),
        ("n", "", "no mark further on"),
        ("N", "seek 27.000", "no mark further on"),
        ("N", "seek 12.184", "bus"),
        ("N", "seek 9.500", "pedestrian"),
        ("N", "", "no mark before this"),
        (
            "n m",
            "seek 12.184, unmark 12.184",
            "the mark at +00:12.184 is gone",
        ),
    ] {
        assert_eq!(does(&mut model, keys), expected, "{keys}");
        assert_eq!(said(&model), says, "{keys}");
    }
}

#[test]
fn a_mark_is_named_where_it_was_asked_for() {
    let mut model = paused();
    press(&mut model, "M");
    stand(&mut model, State::Playing, 14_000);
    assert_eq!(does(&mut model, "x enter"), "mark 12.184: x");
}

#[test]
fn a_mark_just_passed_is_not_the_next_one() {
    for (state, millis, millionths, key, expected) in [
        (State::Paused, 27_300, 1_000_000, "N", "seek 27.000"),
        (State::Playing, 27_300, 1_000_000, "N", "seek 9.500"),
        (State::Playing, 27_600, 1_000_000, "N", "seek 27.000"),
        (State::Playing, 31_000, 10_000_000, "N", "seek 9.500"),
        (State::Playing, 27_300, 100_000, "N", "seek 27.000"),
        (State::Playing, 26_800, 1_000_000, "n", "seek 27.000"),
        (State::Playing, 26_800, -1_000_000, "n", "seek 48.250"),
        (State::Paused, 26_800, -1_000_000, "n", "seek 27.000"),
        (State::Playing, 27_300, -1_000_000, "N", "seek 27.000"),
    ] {
        let mut model = fresh(look());
        show(&mut model, status(state, millis, speed(millionths)));
        assert_eq!(
            does(&mut model, key),
            expected,
            "{state:?} {millis} {millionths} {key}"
        );
    }
}

#[test]
fn topics_are_muted_and_published_again() {
    let mut model = paused();
    for (keys, expected, says) in [
        (
            "t",
            "mute /camera/front/camera_info",
            "/camera/front/camera_info is muted",
        ),
        (
            "t",
            "unmute /camera/front/camera_info",
            "/camera/front/camera_info is published again",
        ),
        (
            "down enter t",
            "mute /camera/front/image_raw",
            "/camera/front/image_raw is muted",
        ),
        (
            "down t",
            "unmute /camera/front/image_raw",
            "/camera/front/image_raw is published again",
        ),
        ("esc / t f enter t", "unmute /tf", "/tf is published again"),
        (
            "esc / n o t e s enter t",
            "",
            "/operator/notes is not played",
        ),
        ("<", "", "this topic is not played"),
        (">", "", "this topic is not played (×2)"),
    ] {
        assert_eq!(does(&mut model, keys), expected, "{keys}");
        assert_eq!(said(&model), says, "{keys}");
    }
}

#[test]
fn a_card_asks_for_its_message_wherever_the_playhead_is() {
    let mut model = paused();
    press(&mut model, "enter");
    let (topic, wanted) = model.wants_message().unwrap();
    let peeked = |topic, at| {
        let found = Found::Nothing;
        Event::Peeked(Peeked { topic, at, found })
    };
    model.take(peeked(bagplay::bag::TopicId(7), wanted), stamp(0));
    assert_eq!(
        model.wants_message(),
        Some((topic, wanted)),
        "it is another topic's"
    );
    model.take(peeked(topic, wanted), stamp(0));
    assert_eq!(model.wants_message(), None);
    press(&mut model, "right");
    assert_eq!(model.wants_message(), Some((topic, at(17_184))));
    press(&mut model, "esc");
    assert_eq!(model.wants_message(), None);
    model.take(peeked(topic, wanted), stamp(0));
    assert_eq!(model.wants_message(), None);
}

#[test]
fn the_window_follows_the_playhead() {
    let mut model = told(look());
    stand(&mut model, State::Paused, 12_184);
    check(
        model.clone(),
        &[
            ("z", "outline 4.684 to 34.684"),
            ("z", "outline 10.309 to 17.809"),
            ("Z", "outline 4.684 to 34.684"),
            ("Z", ""),
            ("Z", ""),
            ("z z z z z z z z z z", "outline 12.066 to 12.535"),
            ("z", ""),
        ],
    );
    assert_eq!(does(&mut model, "z"), "outline 4.684 to 34.684");
    for (millis, millionths, expected) in [
        (18_000, 1_000_000, ""),
        (20_000, 1_000_000, "outline 18.500 to 48.500"),
        (33_000, 1_000_000, ""),
        (55_000, 1_000_000, "outline 45.000 to 60.000"),
        (44_000, -1_000_000, "outline 15.500 to 45.500"),
        (4_000, -1_000_000, "outline 0.000 to 15.000"),
    ] {
        show(
            &mut model,
            status(State::Playing, millis, speed(millionths)),
        );
        assert_eq!(effects(&mut model), expected, "{millis}");
    }
}

#[test]
fn the_closest_look_is_said() {
    let mut model = paused();
    assert_eq!(does(&mut model, "z z z z"), "outline 12.066 to 12.535");
    assert_eq!(said(&model), "");
    assert!(is_seen(&model, "zoom 00:00.234"));
    assert_eq!(does(&mut model, "z"), "");
    assert_eq!(said(&model), "this is the closest look");
    assert!(is_seen(&model, "zoom 00:00.234"));
}

/// The upper row of the lane, as it is drawn.
fn lane_row(model: &Model) -> String {
    let shown = picture(model, SCREEN);
    shown.lines().nth(3).unwrap_or_default().to_owned()
}

/// With a lane of one height, and nothing in it that is read more closely.
fn flat(range: TimeRange, is_whole: bool) -> Event {
    let lane = lane(range, 480);
    let part = TopicOutline {
        density: vec![1.0; 480],
        bytes: None,
    };
    Event::Lane(Lane {
        outline: Outline {
            topics: vec![part; TOPICS.len()],
        },
        is_whole,
        ..lane
    })
}

#[test]
fn what_is_known_of_a_part_is_shown_until_more_is() {
    let mut model = paused();
    assert_eq!(does(&mut model, "z"), "outline 4.684 to 34.684");
    assert!(is_seen(&model, "reading the index"));
    model.take(Event::Lane(lane(recording(), 480)), stamp(0));
    let overview = lane_row(&model);
    assert!(!is_seen(&model, "reading the index"));
    // Half of a close-up is not better, nor is that of another part.
    let asked = asked_at(&mut model, 12_184);
    model.take(flat(asked, false), stamp(0));
    model.take(flat(TimeRange::between(at(0), at(30_000)), true), stamp(0));
    assert_eq!(lane_row(&model), overview);
    model.take(flat(asked, true), stamp(0));
    let close = lane_row(&model);
    assert_ne!(close, overview);
    // The next page is known before it is turned to.
    stand(&mut model, State::Playing, 20_000);
    assert_eq!(effects(&mut model), "outline 18.500 to 48.500");
    let next = lane_row(&model);
    assert!(next.contains(close.trim()), "{next}");
    // Elsewhere the overview does again.
    stand(&mut model, State::Playing, 55_000);
    assert_ne!(lane_row(&model), close);
    assert!(!is_seen(&model, "reading the index"));
}

/// The range of the close-up that zooming in at a place asks for.
fn asked_at(model: &mut Model, millis: i64) -> TimeRange {
    press(model, "Z");
    stand(model, State::Paused, millis);
    model.take_effects();
    press(model, "z");
    let asked = model
        .take_effects()
        .into_iter()
        .find_map(|effect| match effect {
            Effect::Outline(range) => Some(range),
            _ => None,
        });
    asked.unwrap()
}

/// Of densities only the newest that was asked for is read.
#[test]
fn an_overview_that_zooming_broke_off_is_asked_for_again() {
    let part = |range, is_whole| {
        let lane = lane(range, 480);
        Event::Lane(bagplay::tui::Lane { is_whole, ..lane })
    };
    let close_up = TimeRange::between(at(4_684), at(34_684));
    let mut model = paused();
    model.take(part(recording(), false), stamp(0));
    assert_eq!(does(&mut model, "z"), "outline 4.684 to 34.684");
    model.take(part(close_up, false), stamp(0));
    assert_eq!(effects(&mut model), "");
    model.take(part(close_up, true), stamp(0));
    assert_eq!(effects(&mut model), "outline 0.000 to 60.000");
    model.take(part(recording(), false), stamp(0));
    assert_eq!(does(&mut model, "Z"), "outline 0.000 to 60.000");
    model.take(part(recording(), true), stamp(0));
    assert_eq!(does(&mut model, "z"), "outline 4.684 to 34.684");
    model.take(part(close_up, true), stamp(0));
    assert_eq!(does(&mut model, "Z"), "");
}

#[test]
fn zoomed_in_the_overview_is_all_and_the_bar_a_part() {
    let mut model = paused();
    press(&mut model, "z");
    model.take_effects();
    for (column, row, expected) in [
        (78, 2, "seek 60.000"),
        (1, 2, "seek 0.000"),
        (1, 3, "seek 4.684"),
        (78, 4, "seek 19.684"),
        (40, 5, "seek 12.184"),
    ] {
        mouse(&mut model, Gesture::Press, column, row);
        assert_eq!(effects(&mut model), expected, "{column} {row}");
    }
}

#[test]
fn any_size_and_back() {
    let mut model = paused();
    press(&mut model, "pagedown down");
    let before = selected(&model);
    for (width, height) in [(0, 0), (1, 1), (0, 50), (200, 0), (80, 24)] {
        model.take(Event::Resized(size(width, height)), stamp(0));
        assert_eq!(selected(&model), before, "{width}x{height}");
    }
    assert!(picture(&model, SCREEN).contains("›○ /vehicle/status"));
    model.take(Event::Resized(size(0, 0)), stamp(0));
    for gesture in [
        Gesture::Press,
        Gesture::RangePress,
        Gesture::Drag,
        Gesture::Release,
    ] {
        mouse(&mut model, gesture, 0, 0);
    }
    press(&mut model, "up down pageup pagedown ? pagedown");
    assert_eq!(effects(&mut model), "");
}

#[test]
fn what_is_turned_back_at_its_end_moves_at_once() {
    let mut model = paused();
    model.take(Event::Resized(size(80, 12)), stamp(0));
    press(&mut model, "?");
    press(&mut model, &"pagedown ".repeat(50));
    let end = picture(&model, size(80, 12));
    press(&mut model, "up");
    assert_ne!(picture(&model, size(80, 12)), end);
    press(&mut model, "down");
    assert_eq!(picture(&model, size(80, 12)), end);
}

#[test]
fn start_and_end_are_those_of_what_is_played() {
    let part = Facts {
        played: TimeRange::between(at(10_000), at(50_000)),
        ..facts()
    };
    let model = Model::new(part, look(), rows(), marks(), SCREEN);
    assert_eq!(model.here(), at(10_000));
    check(
        limited(20_000),
        &[
            ("home", "seek 10.000"),
            ("end", "seek 50.000"),
            ("0", "seek 0.000"),
        ],
    );
}
