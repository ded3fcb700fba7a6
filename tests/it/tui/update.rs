//! How the transport bar handles events: tables of (state, event) → (state, effects), without a terminal. No event
//! causes a panic.

use std::collections::BTreeSet;

use bagplay::bag::{LookUp, Outline, Schema, TopicId, TopicOutline};
use bagplay::decode::{Decoded, FieldLine, MessageAt, PayloadFormat};
use bagplay::find::Severity;
use bagplay::player::{
    ClockMode, Command, Gate, Gates, LeadMotion, Pace, PlayedRange, State, Status,
};
use bagplay::time::{AtEnd, Duration, Ros, Speed, Time, TimeRange, hertz};
use bagplay::tui::{
    Action, Appearance, Awaited, BINDINGS, Binding, CutRequest, Effect, Event, Facts, Followed,
    FoundMessage, FoundMessages, Gesture, Keys, Lane, LogLine, LookupResult, Model, SavedField,
    SavedPin, Size, TopicRow, WatchedValues,
};

use super::demo_model::*;

/// The size for mouse events: lane in rows 2 and 3, bar in 4, topics from 7 on; the bar's columns are 1 to 78.
const SCREEN: Size = Size {
    width: 80,
    height: 24,
};

/// Paused 12.184 s in, with marks at 9.5, 27 and 48.25 s; the first topic is selected.
fn paused() -> Model {
    paused_at(12_184)
}

fn paused_at(millis: i64) -> Model {
    let mut model = fresh(appearance());
    model.handle(Event::Resized(SCREEN), stamp(0));
    set_state(&mut model, State::Paused, millis);
    model
}

fn paced(pace: Pace) -> Model {
    let mut model = fresh(appearance());
    set_status(&mut model, status(State::Paused, 12_184, pace));
    model
}

fn millis(time: Time<Ros>) -> String {
    let millis = time.saturating_since(recording().start()).as_nanos() / 1_000_000;
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

fn span(range: TimeRange) -> String {
    format!("{} to {}", millis(range.start()), millis(range.stop()))
}

fn command_text(command: Command) -> String {
    let name = |id: bagplay::bag::TopicId| rows()[id.index()].name.clone();
    match command {
        Command::Seek(to) => format!("seek {}", millis(to)),
        Command::SetPace(Pace::At(speed)) => format!("rate {}", speed.as_f64()),
        Command::SetPace(Pace::Max) => "rate max".to_owned(),
        Command::Step(n) => format!("step {n}"),
        Command::StepTopic(topic, n) => format!("step {n} of {}", name(topic)),
        Command::SetRange(range, None) => format!("range {}", span(range)),
        Command::SetLoop(range) => format!("loop {}", span(range)),
        Command::EndLoop => "end loop".to_owned(),
        Command::SetAtEnd(AtEnd::Loop) => "loop".to_owned(),
        Command::SetAtEnd(AtEnd::Hold) => "hold".to_owned(),
        Command::Mute(topic) => format!("mute {}", name(topic)),
        Command::Unmute(topic) => format!("unmute {}", name(topic)),
        Command::Toggle => "toggle".to_owned(),
        Command::Play => "play".to_owned(),
        Command::Pause => "pause".to_owned(),
        Command::ServeClock(period) => format!("clock {} Hz", hertz(period)),
        Command::EndClock => "end clock".to_owned(),
        Command::SkipEmpty(Some(longest)) => format!("skip {longest}"),
        Command::SkipEmpty(None) => "skip nothing".to_owned(),
        other => format!("{other:?}"),
    }
}

/// What another client did to the range, and what the bar shows of it.
#[test]
fn a_range_and_a_loop_set_by_another_client_are_shown() {
    let mut model = paused();
    let shown = |model: &Model| {
        let header = picture(model, SCREEN);
        let header = header.lines().next().unwrap().to_owned();
        let words = ["loop A-B", "loop"].into_iter();
        words.into_iter().find(|word| header.contains(word))
    };
    let part = TimeRange::between(at(5_000), at(9_000));
    let (once, again) = (AtEnd::Hold, AtEnd::Loop);
    for (range, at_end, ab_loop, expected) in [
        (recording(), again, None, Some("loop")),
        (recording(), again, Some(part), Some("loop A-B")),
        (recording(), once, Some(part), Some("loop A-B")),
        (recording(), once, None, None),
        (part, once, None, None),
        (part, again, None, Some("loop")),
    ] {
        model.adopt_played(PlayedRange {
            ab_loop,
            ..PlayedRange::new(range, at_end)
        });
        assert_eq!(shown(&model), expected, "{} {at_end:?}", span(range));
    }
    // An A that is set without B stays.
    press(&mut model, "l");
    model.adopt_played(PlayedRange::new(recording(), once));
    assert!(picture(&model, SCREEN).contains("A set"));
}

#[test]
fn a_player_that_does_not_answer_is_neither_playing_nor_moving() {
    let mut model = fresh(appearance());
    play(&mut model, 12_184, Pace::At(Speed::NORMAL));
    assert!(model.is_moving());
    model.handle(Event::Answers(false), stamp(0));
    assert!(!model.is_moving());
    assert!(picture(&model, SCREEN).contains("NO ANSWER"));
    model.handle(Event::Answers(true), stamp(0));
    assert!(model.is_moving() && picture(&model, SCREEN).contains("PLAYING"));
}

#[test]
fn in_the_help_and_the_log_keys_of_the_edges_scroll() {
    let mut model = fresh(appearance());
    let small = Size {
        width: 60,
        height: 12,
    };
    model.handle(Event::Resized(small), stamp(0));
    for layer in ["?", "e"] {
        press(&mut model, layer);
        let first = picture(&model, small);
        for action in [Action::End, Action::Start] {
            model.perform(action, stamp(0));
        }
        assert_eq!(effects(&mut model), "", "{layer}");
        assert_eq!(picture(&model, small), first, "{layer}");
        press(&mut model, layer);
    }
    press(&mut model, "?");
    model.perform(Action::End, stamp(0));
    assert!(picture(&model, small).contains("could not be sent"));
}

#[test]
fn leaving_a_player_elsewhere_does_not_stop_it_says_the_help() {
    for (is_elsewhere, says) in [
        (true, "the player goes on"),
        (false, "stop playing and quit"),
    ] {
        let facts = bagplay::tui::Facts {
            is_elsewhere,
            ..facts()
        };
        let large = Size {
            width: 120,
            height: 110,
        };
        let mut model = Model::new(facts, appearance(), rows(), Vec::new(), large);
        press(&mut model, "?");
        let shown = picture(&model, large);
        assert!(shown.contains(says), "{shown}");
    }
}

#[test]
fn a_player_elsewhere_is_told_what_is_meant_and_not_to_toggle() {
    for (state, meant) in [
        (State::Playing, "pause"),
        (State::Starved, "pause"),
        (State::Paused, "play"),
        (State::Ended, "play"),
    ] {
        let facts = bagplay::tui::Facts {
            is_elsewhere: true,
            ..facts()
        };
        let mut model = Model::new(facts, appearance(), rows(), Vec::new(), SCREEN);
        set_state(&mut model, state, 12_184);
        assert_eq!(
            effects_of(&mut model, "space space"),
            format!("{meant}, {meant}")
        );
    }
}

/// The effects, in words.
fn effects(model: &mut Model) -> String {
    let text = |effect| match effect {
        Effect::Command(command) => command_text(command),
        Effect::AddMark(mark) if mark.name.is_empty() => format!("mark {}", millis(mark.time)),
        Effect::AddMark(mark) => format!("mark {}: {}", millis(mark.time), mark.name),
        Effect::RemoveMark(time) => format!("unmark {}", millis(time)),
        Effect::Outline(range) => format!("outline {}", span(range)),
        Effect::EndFind => "find nothing".to_owned(),
        Effect::Find(expression) => format!("find {expression}"),
        Effect::Redraw => "redraw".to_owned(),
        Effect::Suspend => "suspend".to_owned(),
        Effect::Cut(CutRequest { range, topics, out }) => {
            format!("cut {} of {} topics to {out}", span(range), topics.len())
        }
        Effect::CopyCommand => "copy".to_owned(),
        Effect::QuitToResume => "quit to resume".to_owned(),
        Effect::Interrupt => "interrupt".to_owned(),
        Effect::Quit => "quit".to_owned(),
    };
    let texts: Vec<String> = model.take_effects().into_iter().map(text).collect();
    texts.join(", ")
}

/// Presses keys and returns the effects.
fn effects_of(model: &mut Model, keys: &str) -> String {
    press(model, keys);
    effects(model)
}

/// Rows of (keys, effects), one after the other on the same model.
fn check(mut model: Model, rows: &[(&str, &str)]) {
    for (at, (keys, expected)) in rows.iter().enumerate() {
        assert_eq!(effects_of(&mut model, keys), *expected, "step {at}: {keys}");
    }
}

#[test]
fn while_another_clock_is_followed_it_alone_moves_playback() {
    let following = || {
        let mut model = paused();
        set_status(&mut model, status(State::Playing, 12_184, Pace::Follow));
        let topic = "/clock".to_owned();
        let motion = LeadMotion::Stands;
        model.handle(Event::Followed(Followed { topic, motion }), stamp(0));
        model
    };
    let refused = "playback follows /clock, which alone moves it";
    let actions = bindings().map(|binding| binding.action);
    let moving = actions.filter(|action| {
        let mut model = paused();
        model.perform(*action, stamp(10_000));
        let moves = |effect: &Effect| {
            let Effect::Command(command) = effect else {
                return false;
            };
            !matches!(
                command,
                Command::Mute(_) | Command::Unmute(_) | Command::ServeClock(_) | Command::EndClock
            )
        };
        model.take_effects().iter().any(moves)
    });
    let also = [Action::GoTo, Action::Undo, Action::Loop];
    let all: Vec<Action> = moving.chain(also).collect();
    assert!(all.len() > 20, "{all:?}");
    for action in all {
        let mut model = following();
        model.perform(action, stamp(10_000));
        assert_eq!(effects(&mut model), "", "{action:?}");
        assert!(last_log_line(&model).contains(refused), "{action:?}");
    }
    for gesture in [Gesture::Press, Gesture::RangePress, Gesture::Wheel(1)] {
        let mut model = following();
        mouse(&mut model, gesture, 40, 4);
        mouse(&mut model, Gesture::Drag, 50, 4);
        mouse(&mut model, Gesture::Release, 50, 4);
        assert_eq!(effects(&mut model), "", "{gesture:?}");
        assert!(last_log_line(&model).contains(refused), "{gesture:?}");
    }
    check(
        following(),
        &[
            ("m", "mark 12.184"),
            ("t", "mute /camera/front/camera_info"),
        ],
    );
    for key in ["c", "C"] {
        let mut model = following();
        assert_eq!(effects_of(&mut model, key), "");
        let refused = "playback follows /clock: no other clock is published";
        assert_eq!(last_log_line(&model), refused);
    }
}

fn is_shown(model: &Model, text: &str) -> bool {
    picture(model, size(120, 40)).contains(text)
}

fn bindings() -> impl Iterator<Item = &'static Binding> {
    BINDINGS.iter().flat_map(|(_, rows)| rows.iter())
}

/// Action, effects, log line, and text on the screen afterwards.
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
    ("ask-rate", "", "", " rate: "),
    ("reverse", "rate -1", "", "×−1.00"),
    ("skip-gaps", "skip 2s", "gaps longer than 2s are skipped", "skips gaps > 2s"),
    ("clock", "end clock", "", "/clock: off (c)"),
    ("clock-rate", "", "", " /clock in Hz: "),
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
    ("loop", "", "A at +00:12.184; press again for B, or here to clear A", "A set"),
    ("loop-all", "loop", "the played range is repeated", "loop"),
    ("cut", "", "to write a part, set A and B first", ""),
    ("mark", "mark 12.184", "mark at +00:12.184", "◆"),
    ("name-mark", "", "", " name of the mark: "),
    ("next-hole", "", "still reading the index", ""),
    ("previous-hole", "", "still reading the index", ""),
    ("next-alert", "", "still looking for warnings and errors of nodes", ""),
    ("previous-alert", "", "still looking for warnings and errors of nodes", ""),
    ("next-mark", "seek 27.000", "", ""),
    ("previous-mark", "seek 9.500", "pedestrian", ""),
    ("up", "", "", "›○ /camera/front/camera_info"),
    ("down", "", "", "›○ /camera/front/image_raw"),
    ("page-up", "", "", "›○ /camera/front/camera_info"),
    ("page-down", "", "", "›· /operator/notes"),
    ("sort", "", "topics are sorted by Hz now, highest first", "↓Hz now"),
    ("show-topic", "", "", "recorded QoS"),
    ("solo", "mute /camera/front/image_raw, mute /diagnostics, mute /gnss/fix, mute /imu/data, mute /lidar/points, mute /localization/kinematic_state, mute /map, mute /planning/scenario_planning/lane_driving/trajectory, mute /tf_static, mute /vehicle/status", "all topics but /camera/front/camera_info are muted", "/tf_static  (muted)"),
    ("mute", "mute /camera/front/camera_info", "/camera/front/camera_info is muted", "/camera/front/camera_info  (muted)"),
    ("watch", "", "to watch a field, show its topic and select it", ""),
    ("unwatch", "", "no field is watched", ""),
    ("plots-up", "", "no field is watched", ""),
    ("plots-down", "", "no field is watched", ""),
    ("filter", "", "", " filter: "),
    ("time-face", "", "", "12:32:19.184 UTC"),
    ("zoom-in", "outline 4.684 to 34.684", "", "zoom 00:15.000"),
    ("zoom-out", "", "", ""),
    ("log", "", "", "events, newest first"),
    ("help", "", "", "play or pause; at the end, play again"),
    ("back", "", "", ""),
    ("mouse", "", "the terminal selects text with the mouse; v gives the mouse back to the bar", ""),
    ("redraw", "redraw", "", ""),
    ("suspend", "suspend", "", ""),
    ("copy-command", "copy", "", ""),
    ("quit-to-resume", "quit to resume", "", ""),
    ("quit", "quit", "", ""),
];

#[test]
fn every_key_has_the_effects_of_its_action() {
    for (name, expected, says, shows) in ACTIONS {
        let row = bindings().find(|row| row.name == *name);
        let row = row.unwrap_or_else(|| panic!("{name} is not an action any more"));
        for key in Keys::parse(row.keys).unwrap().iter() {
            let mut model = paused();
            model.handle(Event::Key(*key), stamp(10_000));
            let is_interrupt = key.to_string() == "ctrl+c";
            let expected = if is_interrupt { "interrupt" } else { expected };
            assert_eq!(effects(&mut model), *expected, "{name}");
            assert_eq!(last_log_line(&model), *says, "{name}");
            assert!(is_shown(&model, shows), "{name}: {shows}");
        }
    }
    let tested: BTreeSet<&str> = ACTIONS.iter().map(|(name, ..)| *name).collect();
    let there: BTreeSet<&str> = bindings().map(|row| row.name).collect();
    assert_eq!(tested, there, "an action without a row here");
}

/// A model whose clock is served in this way at the start.
fn clocked(clock: ClockMode, rows: Vec<TopicRow>) -> Model {
    let facts = Facts { clock, ..facts() };
    let mut model = Model::new(facts, appearance(), rows, Vec::new(), SCREEN);
    set_status(
        &mut model,
        Status {
            clock,
            ..status(State::Playing, 1_000, Pace::At(Speed::NORMAL))
        },
    );
    model
}

#[test]
fn the_clock_is_turned_on_and_off_at_the_rate_that_it_had() {
    let mut model = clocked(ClockMode::Off, rows());
    assert!(is_shown(&model, "/clock: off (c)"));
    for (expected, shows) in [
        ("clock 40 Hz", "/clock: 40 Hz"),
        ("end clock", "/clock: off (c)"),
    ] {
        assert_eq!(effects_of(&mut model, "c"), expected);
        assert!(is_shown(&model, shows), "{shows}");
    }
    for (typed, expected, shows) in [
        ("100", "clock 100 Hz", "/clock: 100 Hz"),
        ("29.97 Hz", "clock 29.97 Hz", "/clock: 29.97 Hz"),
        ("off", "end clock", "/clock: off"),
        ("", "", "/clock: off"),
    ] {
        press(&mut model, "C");
        type_text(&mut model, typed);
        assert_eq!(effects_of(&mut model, "enter"), expected, "{typed}");
        assert!(is_shown(&model, shows), "{typed}");
    }
    // The rate that was typed last.
    assert_eq!(effects_of(&mut model, "c"), "clock 29.97 Hz");
    press(&mut model, "C");
    for wrong in ["fast", "-1", "1e9"] {
        type_text(&mut model, wrong);
        assert_eq!(effects_of(&mut model, "enter"), "", "{wrong}");
        assert!(is_shown(&model, "the rate of /clock is 0.001 to 100000 Hz"));
        press(&mut model, "ctrl+u");
    }
}

#[test]
fn a_change_of_the_clock_is_logged_once_it_is_known() {
    let mut model = clocked(ClockMode::Off, rows());
    let half = ClockMode::Every(Duration::from_secs(2));
    let forty = ClockMode::Every(Duration::from_millis(25));
    // The keys, the clock of the player after them, and what is logged then.
    for (keys, clock, says) in [
        ("c", forty, "/clock is published at 40 Hz"),
        ("c", ClockMode::Off, "/clock is not published any more"),
        ("c", ClockMode::Off, "/clock is not published"),
        ("c", half, "/clock is published at 0.5 Hz"),
        // Nothing was asked for.
        ("", ClockMode::Off, "/clock is published at 0.5 Hz"),
        ("C", half, "/clock is published at 0.5 Hz"),
    ] {
        let before = last_log_line(&model);
        press(&mut model, keys);
        assert_eq!(last_log_line(&model), before, "{says}");
        let status = Status {
            clock,
            ..status(State::Playing, 1_000, Pace::At(Speed::NORMAL))
        };
        model.adopt_settings(&status, stamp(10_000));
        assert_eq!(last_log_line(&model), says);
    }
}

/// The player could not publish it: the screen shows what is true.
#[test]
fn the_clock_of_the_player_replaces_the_one_that_was_asked_for() {
    let mut model = clocked(ClockMode::Off, rows());
    press(&mut model, "c");
    let told = |clock, skip_empty| Status {
        clock,
        skip_empty,
        ..status(State::Playing, 1_000, Pace::At(Speed::NORMAL))
    };
    model.adopt_settings(
        &told(ClockMode::Off, Some(Duration::from_secs(3))),
        stamp(0),
    );
    assert!(is_shown(&model, "/clock: off (c)") && is_shown(&model, "skips gaps > 3s"));
    let half = ClockMode::Every(Duration::from_secs(2));
    model.adopt_settings(&told(half, None), stamp(0));
    assert!(is_shown(&model, "/clock: 0.5 Hz") && !is_shown(&model, "skips gaps"));
    let state = model.run_state().unwrap();
    assert_eq!((state.clock, state.skip_empty), (half, None));
}

#[test]
fn a_recorded_clock_stays_left_out_when_the_served_one_has_ended() {
    let mut all = rows();
    all[0].name = "/clock".to_owned();
    all[0].left_out = Some("the clock is served here".to_owned());
    let served = ClockMode::Every(Duration::from_millis(25));
    let mut model = clocked(served, all);
    let recorded = TOPICS[0].0.to_owned();
    assert!(!model.run_state().unwrap().muted.contains(&recorded));
    let ended = Status {
        clock: ClockMode::Off,
        ..status(State::Playing, 1_000, Pace::At(Speed::NORMAL))
    };
    model.adopt_settings(&ended, stamp(0));
    assert!(model.run_state().unwrap().muted.contains(&recorded));
}

#[test]
fn a_clock_that_cannot_be_changed_says_why() {
    let recorded = |name: &str, left_out: Option<&str>| {
        let mut all = rows();
        all[0].name = name.to_owned();
        all[0].left_out = left_out.map(str::to_owned);
        all
    };
    let refused = "the recorded /clock is a topic of this run, and a second one would contradict it; \
                   hint: --clock publishes one instead of it";
    let with_messages = "the clock is sent with messages; this cannot be changed during a run";
    let by_message = ClockMode::WithMessages(None);
    for (clock, rows, shows, says) in [
        (
            ClockMode::Off,
            recorded("/clock", None),
            "/clock: recorded",
            refused,
        ),
        (by_message, rows(), "/clock: by message", with_messages),
    ] {
        let mut model = clocked(clock, rows);
        for key in ["c", "C"] {
            assert_eq!(effects_of(&mut model, key), "");
            assert!(last_log_line(&model).starts_with(says), "{says}");
            assert!(
                is_shown(&model, shows) && !is_shown(&model, "/clock in Hz"),
                "{shows}"
            );
        }
    }
    // A muted one is still declared, so it stays the only one.
    let mut muted = recorded("/clock", None);
    muted[0].is_muted = true;
    let mut model = clocked(ClockMode::Off, muted);
    assert!(is_shown(&model, "/clock: off") && !is_shown(&model, "off (c)"));
    assert_eq!(effects_of(&mut model, "c"), "");
    let mut model = clocked(ClockMode::Off, recorded("/clock", Some("not selected")));
    assert_eq!(effects_of(&mut model, "c"), "clock 40 Hz");
}

#[test]
fn the_clock_and_the_gaps_of_a_player_elsewhere_are_shown_and_not_changed() {
    let facts = Facts {
        is_elsewhere: true,
        clock: ClockMode::Off,
        ..facts()
    };
    let mut model = Model::new(facts, appearance(), rows(), Vec::new(), SCREEN);
    set_state(&mut model, State::Playing, 1_000);
    let off = Status {
        clock: ClockMode::Off,
        ..status(State::Playing, 1_000, Pace::At(Speed::NORMAL))
    };
    model.adopt_settings(&off, stamp(0));
    for (told, shows) in [
        ("", "/clock: off"),
        ("100 Hz", "/clock: 100 Hz"),
        ("", "/clock: off"),
    ] {
        model.handle(Event::ClockServed(told.to_owned()), stamp(0));
        assert!(
            is_shown(&model, shows) && !is_shown(&model, "off (c)"),
            "{shows}"
        );
    }
    let clock = "/clock can be changed only in the player's own transport bar";
    let gaps = "the skipping of gaps can be changed only in the player's own transport bar";
    for (key, says) in [("c", clock), ("C", clock), ("G", gaps)] {
        assert_eq!(effects_of(&mut model, key), "");
        assert!(last_log_line(&model).starts_with(says), "{key}");
    }
}

#[test]
fn gaps_are_skipped_by_a_key_as_long_as_the_flag_says() {
    let facts = Facts {
        skip_empty: Some(Duration::from_millis(500)),
        ..facts()
    };
    let mut model = Model::new(facts, appearance(), rows(), Vec::new(), SCREEN);
    set_state(&mut model, State::Playing, 1_000);
    assert!(is_shown(&model, "skips gaps > 0.5s"));
    for (effect, says, is_on) in [
        ("skip nothing", "gaps are played", false),
        ("skip 0.5s", "gaps longer than 0.5s are skipped", true),
    ] {
        assert_eq!(effects_of(&mut model, "G"), effect);
        assert_eq!(last_log_line(&model), says);
        assert_eq!(is_shown(&model, "skips gaps"), is_on);
        assert_eq!(model.run_state().unwrap().skip_empty.is_some(), is_on);
    }
}

#[test]
fn subscribers_that_are_waited_for_are_counted_down_and_their_topics_are_lit() {
    let mut model = fresh(appearance());
    let gated = Status {
        gates: Gates::OPEN.close(Gate::Subscribers),
        ..status(State::Gated, 0, Pace::At(Speed::NORMAL))
    };
    set_status(&mut model, gated);
    let awaited = |topics: &[u32], millis| {
        Event::Awaited(Some(Awaited {
            topics: topics.iter().copied().map(TopicId).collect(),
            left: Duration::from_millis(millis),
        }))
    };
    let lit = |model: &Model| {
        let (screen, _) = drawn(model, size(160, 40));
        let warning = model_warning();
        let rows = text(&screen);
        let is_lit = |(y, _): &(usize, &String)| {
            let y = u16::try_from(*y).unwrap();
            y > 4 && screen[(1, y)].symbol() == "…" && screen[(3, y)].fg == warning
        };
        let lit = rows.iter().enumerate().filter(is_lit);
        lit.map(|(_, row)| row.split_whitespace().nth(1).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(lit(&model), [""; 0]);
    model.handle(awaited(&[0, 2], 17_001), stamp(0));
    let names = [rows()[0].name.clone(), rows()[2].name.clone()];
    let header = format!(
        "WAITING FOR SUBSCRIBERS  18 s left  for {}",
        names.join(", ")
    );
    let screen = picture(&model, size(160, 40));
    assert!(screen.contains(&header), "{screen}");
    assert_eq!(lit(&model).len(), 2);
    model.handle(awaited(&[0, 1, 2, 3, 4], 3_000), stamp(0));
    let screen = picture(&model, size(200, 40));
    assert!(
        screen.contains("3 s left  for ") && screen.contains(" and 2 more"),
        "{screen}"
    );
    // On a narrow screen the time remains.
    assert!(picture(&model, size(60, 10)).contains("3 s left"));
    model.handle(Event::Awaited(None), stamp(0));
    assert!(!picture(&model, size(160, 40)).contains(" s left"));
    assert_eq!(lit(&model), [""; 0]);
}

/// The colour of warnings.
fn model_warning() -> ratatui::style::Color {
    appearance().theme.warning.fg.expect("a colour")
}

#[test]
fn an_overlay_closes_with_its_own_key_or_esc() {
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
        assert_eq!(effects_of(&mut model, open), "", "{open}");
        assert!(is_shown(&model, shows), "{open}");
        assert_eq!(effects_of(&mut model, close), "", "{open} {close}");
        assert!(!is_shown(&model, shows), "{open} {close}");
    }
}

#[test]
fn quit_works_everywhere_and_prompts_take_text() {
    for open in ["", "?", "e", "enter", "g", "/", "M", "l", "z"] {
        let mut model = paused();
        press(&mut model, open);
        model.take_effects();
        assert_eq!(effects_of(&mut model, "ctrl+c"), "interrupt", "{open}");
    }
    for (open, label) in [("g", "go to"), ("/", "filter"), ("M", "name of the mark")] {
        let mut model = paused();
        assert_eq!(effects_of(&mut model, open), "");
        type_text(&mut model, "q ?gl");
        assert_eq!(effects(&mut model), "", "{open}");
        assert!(is_shown(&model, &format!(" {label}: q ?gl")), "{open}");
    }
    for open in ["g", "/", "M"] {
        let mut model = paused();
        press(&mut model, open);
        assert_eq!(effects_of(&mut model, "ctrl+z"), "suspend", "{open}");
        assert_eq!(effects_of(&mut model, "ctrl+l"), "redraw", "{open}");
        type_text(&mut model, "a b");
        assert_eq!(effects_of(&mut model, "ctrl+w"), "", "{open}");
        assert!(
            is_shown(&model, ": a") && !is_shown(&model, ": a b"),
            "{open}"
        );
    }
    for open in ["?", "e", "enter"] {
        let mut model = paused();
        press(&mut model, open);
        assert_eq!(effects_of(&mut model, "q"), "quit", "{open}");
        assert_eq!(effects_of(&mut model, "space"), "toggle", "{open}");
    }
}

#[test]
fn keys_can_be_rebound() {
    let keys = |text| Keys::parse(text).unwrap();
    let bindings = appearance()
        .bindings
        .rebound(Action::Quit, &keys("x ctrl+q"))
        .rebound(Action::Step(1), &keys("m"))
        .rebound(Action::Log, &Keys::parse("").unwrap());
    let mut model = fresh(Appearance {
        bindings,
        ..appearance()
    });
    set_state(&mut model, State::Paused, 12_184);
    check(
        model,
        &[
            ("q", ""),
            ("ctrl+c", "interrupt"),
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
fn keys_that_edit_text_do_so_in_a_prompt_even_if_they_are_bound() {
    let keys = |text| Keys::parse(text).unwrap();
    let bindings = appearance()
        .bindings
        .rebound(Action::Quit, &keys("ctrl+w ctrl+q"))
        .rebound(Action::Redraw, &keys("ctrl+u r f5"));
    let mut model = fresh(Appearance {
        bindings,
        ..appearance()
    });
    press(&mut model, "g");
    type_text(&mut model, "1 2r");
    assert_eq!(effects_of(&mut model, "ctrl+w"), "");
    assert!(is_shown(&model, " go to: 1") && !is_shown(&model, "2r"));
    assert_eq!(effects_of(&mut model, "ctrl+u"), "");
    assert!(is_shown(&model, "nanoseconds"));
    assert_eq!(effects_of(&mut model, "ctrl+q ctrl+c"), "quit, interrupt");
    assert_eq!(effects_of(&mut model, "esc ctrl+w ctrl+u"), "quit, redraw");
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
fn pasted_text_goes_into_the_prompt() {
    let mut model = paused();
    let paste = |model: &mut Model, text: &str| model.handle(Event::Paste(text.into()), stamp(0));
    paste(&mut model, "q");
    assert_eq!(effects(&mut model), "");
    press(&mut model, "/");
    paste(&mut model, "ti\n\u{1b}[31m");
    assert!(is_shown(&model, "filter: ti[31m"));
    press(&mut model, "esc g");
    paste(&mut model, "+5s\r\n");
    assert_eq!(effects_of(&mut model, "enter"), "seek 17.184");
    press(&mut model, "g x enter");
    assert!(is_shown(&model, "is not a time"));
    paste(&mut model, "y");
    assert!(!is_shown(&model, "is not a time"));
}

#[test]
fn go_to_seeks_to_the_typed_time() {
    let mut model = paused();
    for (text, expected) in [
        ("50%", "seek 30.000"),
        ("+5s", "seek 35.000"),
        ("-10s", "seek 25.000"),
        ("14:32:17.5", "seek 10.500"),
        ("+999s", "seek 60.000"),
        ("+00:12.5", "seek 12.500"),
        ("start", "seek 0.000"),
        ("END", "seek 60.000"),
        ("hard braking", "seek 48.250"),
        ("ped", "seek 9.500"),
    ] {
        press(&mut model, "g");
        type_text(&mut model, text);
        assert_eq!(effects_of(&mut model, "enter"), expected, "{text}");
        assert!(!is_shown(&model, " go to: "), "{text}");
    }
    for text in ["5s", "5", "0:05"] {
        press(&mut model, "g");
        type_text(&mut model, text);
        assert_eq!(effects_of(&mut model, "enter"), "seek 5.000", "{text}");
    }
    for text in ["1:30", "90s", "150%"] {
        press(&mut model, "g");
        type_text(&mut model, text);
        assert_eq!(effects_of(&mut model, "enter"), "", "{text}");
        assert!(is_shown(&model, "is outside the recording"), "{text}");
        press(&mut model, "esc");
    }
    press(&mut model, "g");
    type_text(&mut model, "12:00");
    assert_eq!(effects_of(&mut model, "enter"), "");
    assert!(is_shown(
        &model,
        "12:00 is not a time of day in the recording"
    ));
    assert_eq!(effects_of(&mut model, "backspace"), "");
    assert!(is_shown(&model, " go to: 12:0") && !is_shown(&model, "is not a time of day"));
    press(&mut model, "backspace backspace backspace backspace");
    assert!(is_shown(&model, "nanoseconds"));
    // Times of day are typed in the zone in which they are shown.
    press(&mut model, "esc T g");
    type_text(&mut model, "12:32:17");
    assert_eq!(effects_of(&mut model, "enter"), "seek 10.000");
}

#[test]
fn seeks_add_up_before_the_player_has_answered() {
    let mut model = paused();
    assert_eq!(
        effects_of(&mut model, "right right right left"),
        "seek 22.184"
    );
    model.seek_sent(at(22_184));
    set_state(&mut model, State::Paused, 12_184);
    assert_eq!(
        model.playhead(),
        at(22_184),
        "the player has not jumped yet"
    );
    assert_eq!(
        effects_of(&mut model, "right . right"),
        "seek 27.184, step 1, seek 32.184"
    );
    // Two more seeks: until the player has carried out the last one, the playhead is at its target.
    model.seek_sent(at(27_184));
    let jumped = |seeks, millis| Status {
        seeks,
        ..status(State::Paused, millis, speed(1_000_000))
    };
    set_status(&mut model, jumped(2, 27_184));
    assert_eq!(model.playhead(), at(32_184), "the last seek was not sent");
    model.seek_sent(at(32_184));
    set_status(&mut model, jumped(2, 27_184));
    assert_eq!(
        model.playhead(),
        at(32_184),
        "the player has not carried it out"
    );
    set_status(&mut model, jumped(3, 32_500));
    assert_eq!(
        model.playhead(),
        at(32_500),
        "the player has carried it out"
    );
    assert_eq!(effects_of(&mut model, "right"), "seek 37.500");
    assert_eq!(effects_of(&mut model, "end right right"), "seek 60.000");
}

#[test]
fn rates_add_up_before_the_player_has_answered() {
    let mut model = paused();
    assert_eq!(effects_of(&mut model, "}"), "rate 2");
    set_state(&mut model, State::Paused, 12_184);
    assert_eq!(effects_of(&mut model, "}"), "rate 4");
    set_state(&mut model, State::Paused, 12_184);
    assert_eq!(effects_of(&mut model, "r"), "rate -4");
    set_status(&mut model, status(State::Paused, 12_184, speed(-4_000_000)));
    assert_eq!(effects_of(&mut model, "{"), "rate -2");
}

#[test]
fn a_topic_that_another_client_mutes_is_shown_as_muted() {
    let mut model = paused();
    model.set_muted(|topic| topic == TopicId(0));
    assert!(is_shown(&model, "(muted)"));
    assert_eq!(effects_of(&mut model, "home"), "seek 0.000");
    model.set_muted(|_| false);
    assert!(!is_shown(&model, "(muted)"));
}

#[test]
fn play_at_the_edge_starts_again_from_the_other_edge() {
    let mut model = paused();
    set_state(&mut model, State::Paused, SECONDS * 1000);
    assert_eq!(effects_of(&mut model, "space"), "seek 0.000, play");
    let mut model = paused();
    set_status(&mut model, status(State::Paused, 0, speed(-1_000_000)));
    assert_eq!(effects_of(&mut model, "space"), "seek 60.000, play");
    let mut model = paused();
    set_state(&mut model, State::Paused, 0);
    assert_eq!(effects_of(&mut model, "space"), "toggle");
}

#[test]
fn a_lost_connection_is_shown_also_while_paused() {
    let mut model = paused();
    let lost = |state| Status {
        gates: Gates::OPEN.close(Gate::Path),
        ..status(state, 12_184, speed(1_000_000))
    };
    set_status(&mut model, lost(State::Paused));
    assert!(is_shown(&model, "PAUSED") && is_shown(&model, "no connection"));
    set_status(&mut model, lost(State::Gated));
    assert!(is_shown(&model, "NO CONNECTION") && !is_shown(&model, "no connection"));
}

#[test]
fn a_latched_topic_has_a_line_after_its_first_message() {
    let mut model = paused();
    // Every topic has a message in the third of four parts.
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
    model.handle(Event::Lane(lane), stamp(0));
    for (name, has_line) in [("tf_static", true), ("imu", false)] {
        press(&mut model, "/");
        type_text(&mut model, name);
        press(&mut model, "enter enter");
        let shown = picture(&model, size(100, 40));
        let row = shown.lines().find(|row| row.contains("density  "));
        let (before, after) = row.unwrap().rsplit_once('▅').unwrap();
        assert!(!before.contains('─'), "{name}: {row:?}");
        assert_eq!(after.contains("────"), has_line, "{name}: {row:?}");
        press(&mut model, "esc esc");
    }
}

#[test]
fn at_rate_max_reading_counts_as_playing() {
    let mut model = paused();
    set_status(&mut model, status(State::Starved, 12_184, speed(1_000_000)));
    assert!(!model.is_moving());
    set_status(&mut model, status(State::Starved, 12_184, Pace::Max));
    assert!(model.is_moving());
}

#[test]
fn a_look_up_of_latched_messages_is_shown_while_playback_waits_for_it() {
    let look_up = LookUp { done: 120, of: 386 };
    for pace in [speed(1_000_000), Pace::Max] {
        let mut model = paused();
        set_status(&mut model, status(State::Starved, 12_184, pace));
        model.set_look_up(Some(look_up));
        let shown = picture(&model, size(120, 20));
        let words = "LOOKING UP LATCHED MESSAGES: 120 OF 386 CHUNKS";
        assert!(shown.contains(words), "{shown}");
        assert!(picture(&model, size(40, 20)).contains("LOOKING"));
        model.set_look_up(None);
        assert!(!picture(&model, size(120, 20)).contains("LOOKING"));
        // Playback that is not held up by it does not show it.
        set_status(&mut model, status(State::Playing, 12_184, pace));
        model.set_look_up(Some(look_up));
        assert!(!picture(&model, size(120, 20)).contains("LOOKING"));
    }
}

#[test]
fn seeks_that_follow_each_other_are_undone_together() {
    let mut model = paused();
    let mut press_at = |millis: i64, key: &str| {
        model.handle(Event::Key(key.parse().unwrap()), stamp(millis));
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
        // A seek right after an undo is undone by itself.
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
        assert_eq!(effects_of(&mut model, key), expected, "{millionths} {key}");
        assert_eq!(last_log_line(&model), says, "{millionths} {key}");
    }
    for (key, expected, says) in [
        ("]", "", "the rate is max; backspace sets it to 1×"),
        ("{", "", "the rate is max; backspace sets it to 1×"),
        ("r", "", "a rate of max plays forwards only"),
        ("backspace", "rate 1", ""),
    ] {
        let mut model = paced(Pace::Max);
        assert_eq!(effects_of(&mut model, key), expected, "{key}");
        assert_eq!(last_log_line(&model), says, "{key}");
    }
}

#[test]
fn a_loop_by_keys() {
    let to = |model: &mut Model, millis| set_state(model, State::Paused, millis);
    let mut model = paused();
    for says in [
        "A at +00:12.184; press again for B, or here to clear A",
        "A is cleared",
    ] {
        assert_eq!(effects_of(&mut model, "l"), "");
        assert_eq!(last_log_line(&model), says);
    }
    assert!(!is_shown(&model, "A set"));
    assert_eq!(effects_of(&mut model, "l"), "");
    to(&mut model, 5_000);
    assert_eq!(effects_of(&mut model, "l"), "loop 5.000 to 12.184");
    assert_eq!(
        last_log_line(&model),
        "loops from A +00:05.000 to B +00:12.184"
    );
    // The whole range loops only once the A–B loop is cleared.
    assert_eq!(effects_of(&mut model, "L"), "loop");
    let says = "when the loop from A to B is cleared, the played range is repeated";
    assert_eq!(last_log_line(&model), says);
    assert_eq!(effects_of(&mut model, "l"), "end loop");
    assert_eq!(last_log_line(&model), "the loop is cleared");
    assert_eq!(effects_of(&mut model, "L"), "hold");
}

/// A model of a player that plays from 10 s to 50 s and is paused.
fn limited(millis: i64) -> Model {
    let part = Facts {
        played: PlayedRange::new(TimeRange::between(at(10_000), at(50_000)), AtEnd::Hold),
        ..facts()
    };
    let mut model = Model::new(part, appearance(), rows(), marks(), SCREEN);
    set_status(&mut model, within(10_000, 50_000, millis));
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
fn clearing_a_loop_restores_the_played_range() {
    let mut model = limited(20_000);
    assert_eq!(effects_of(&mut model, "l"), "");
    set_status(&mut model, within(10_000, 50_000, 30_000));
    assert_eq!(effects_of(&mut model, "l"), "loop 20.000 to 30.000");
    set_status(&mut model, within(20_000, 30_000, 25_000));
    assert_eq!(effects_of(&mut model, "l"), "end loop");
    // The player has not carried it out yet.
    set_status(&mut model, within(20_000, 30_000, 25_000));
    assert_eq!(effects_of(&mut model, "home"), "seek 10.000");

    // A seek has left the played range, and a loop is set there.
    let mut model = limited(20_000);
    assert_eq!(effects_of(&mut model, "0"), "seek 0.000");
    model.seek_sent(at(0));
    let taken = Status {
        seeks: 1,
        ..within(0, 50_000, 2_000)
    };
    set_status(&mut model, taken);
    assert_eq!(effects_of(&mut model, "l"), "");
    set_status(&mut model, within(0, 50_000, 5_000));
    assert_eq!(effects_of(&mut model, "l"), "loop 2.000 to 5.000");
    set_status(&mut model, within(2_000, 5_000, 4_000));
    assert_eq!(effects_of(&mut model, "l"), "end loop");
    assert_eq!(effects_of(&mut model, "home"), "seek 0.000");
    assert_eq!(effects_of(&mut model, "end"), "seek 50.000");

    // The mouse has set a loop outside of the played range.
    let mut model = limited(20_000);
    mouse(&mut model, Gesture::RangePress, 70, 4);
    mouse(&mut model, Gesture::Release, 78, 4);
    assert_eq!(effects(&mut model), "loop 53.076 to 60.000");
    set_status(&mut model, within(53_077, 60_000, 54_000));
    assert_eq!(effects_of(&mut model, "right"), "seek 59.000");
    assert_eq!(effects_of(&mut model, "l"), "end loop");
    assert_eq!(effects_of(&mut model, "home"), "seek 10.000");
    assert_eq!(effects_of(&mut model, "end"), "seek 60.000");
}

#[test]
fn a_seek_beyond_the_played_range_extends_it_and_is_logged() {
    let mut model = limited(20_000);
    for (keys, expected, says) in [
        ("end", "seek 50.000", ""),
        (
            "9",
            "seek 54.000",
            "from now on the end of the recording is played, too",
        ),
        (
            "end",
            "seek 60.000",
            "from now on the end of the recording is played, too",
        ),
        (
            "home",
            "seek 10.000",
            "from now on the end of the recording is played, too",
        ),
        (
            "0",
            "seek 0.000",
            "from now on the start of the recording is played, too",
        ),
        (
            "5",
            "seek 30.000",
            "from now on the start of the recording is played, too",
        ),
        (
            "home",
            "seek 0.000",
            "from now on the start of the recording is played, too",
        ),
    ] {
        assert_eq!(effects_of(&mut model, keys), expected, "{keys}");
        model.seek_sent(model.playhead());
        assert_eq!(last_log_line(&model), says, "{keys}");
    }
    // A seek that was replaced before it was sent extends nothing.
    let mut model = limited(20_000);
    assert_eq!(effects_of(&mut model, "9 3"), "seek 18.000");
    model.seek_sent(model.playhead());
    assert_eq!(effects_of(&mut model, "end"), "seek 50.000");
    // Another client has seeked.
    let mut model = limited(20_000);
    let extended = TimeRange::between(at(10_000), at(60_000));
    model.adopt_played(PlayedRange::new(extended, AtEnd::Hold));
    assert_eq!(effects_of(&mut model, "end"), "seek 60.000");
}

#[test]
fn at_the_end_loop_all_starts_playing() {
    let ended = || {
        let mut model = paused();
        set_state(&mut model, State::Ended, SECONDS * 1000);
        model
    };
    assert_eq!(effects_of(&mut ended(), "left"), "seek 55.000");
    assert_eq!(effects_of(&mut ended(), "L"), "loop, play");
    assert_eq!(effects_of(&mut ended(), "L L"), "loop, play, hold");
    assert_eq!(effects_of(&mut ended(), "space"), "toggle");
}

#[test]
fn loops_and_laps_are_shown_while_they_last() {
    let mut model = paused();
    let lapped = Status {
        laps: 2,
        ..status(State::Paused, 18_000, speed(1_000_000))
    };
    set_status(&mut model, lapped);
    assert!(!is_shown(&model, "lap 3"));
    press(&mut model, "L");
    assert!(is_shown(&model, "loop  lap 3"));
    press(&mut model, "l");
    assert!(is_shown(&model, "loop  A set  lap 3"));
    press(&mut model, "l L");
    assert!(!is_shown(&model, "lap 3"));
}

#[test]
fn a_loop_is_shown_while_it_is_dragged() {
    let mut model = paused();
    mouse(&mut model, Gesture::RangePress, 14, 4);
    assert!(!is_shown(&model, "⟩"));
    mouse(&mut model, Gesture::Drag, 40, 4);
    assert!(is_shown(&model, "⟨") && is_shown(&model, "⟩"));
    assert_eq!(effects(&mut model), "");
    mouse(&mut model, Gesture::Drag, 14, 4);
    assert!(!is_shown(&model, "⟩"));
}

#[test]
fn a_release_that_is_not_reported_sets_no_loop() {
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
    // Nor under an overlay.
    let mut model = paused();
    mouse(&mut model, Gesture::RangePress, 40, 4);
    press(&mut model, "?");
    mouse(&mut model, Gesture::Press, 40, 4);
    mouse(&mut model, Gesture::Release, 60, 4);
    assert_eq!(effects(&mut model), "");
}

#[test]
fn a_seek_out_of_the_loop_clears_it() {
    let looped = || {
        let mut model = paused();
        press(&mut model, "l");
        set_state(&mut model, State::Paused, 31_000);
        assert_eq!(effects_of(&mut model, "l"), "loop 12.184 to 31.000");
        model
    };
    for (keys, expected, is_cleared) in [
        ("left", "seek 26.000", false),
        ("right", "end loop, seek 36.000", true),
        ("home", "end loop, seek 0.000", true),
        ("home l", "end loop, seek 0.000", true),
        ("3", "seek 18.000", false),
        ("N N", "seek 27.000, end loop, seek 9.500", true),
        (
            "left right right u",
            "seek 31.000, end loop, seek 36.000, loop 12.184 to 31.000, seek 26.000",
            false,
        ),
    ] {
        let mut model = looped();
        assert_eq!(effects_of(&mut model, keys), expected, "{keys}");
        assert_eq!(!is_shown(&model, "loop A-B"), is_cleared, "{keys}");
    }
}

#[test]
fn a_loop_by_the_mouse() {
    let mut model = paused();
    let mut effects_of = |gesture, column, row| {
        mouse(&mut model, gesture, column, row);
        effects(&mut model)
    };
    for (gesture, column, row, expected) in [
        // A click alone has no effect.
        (Gesture::RangePress, 40, 4, ""),
        (Gesture::Release, 40, 4, ""),
        (Gesture::RangePress, 14, 2, ""),
        (Gesture::Drag, 30, 2, ""),
        (Gesture::Release, 40, 20, "loop 10.000 to 30.000"),
        (Gesture::RangePress, 40, 3, ""),
        (Gesture::Release, 14, 3, "loop 10.000 to 30.000"),
        // A click clears.
        (Gesture::RangePress, 70, 4, ""),
        (Gesture::Release, 70, 4, "end loop"),
        // A position beyond an edge counts as the edge; one over the table has no effect.
        (Gesture::RangePress, 0, 4, ""),
        (Gesture::Release, 500, 4, "loop 0.000 to 60.000"),
        (Gesture::RangePress, 40, 10, ""),
        (Gesture::Release, 50, 4, ""),
    ] {
        assert_eq!(
            effects_of(gesture, column, row),
            expected,
            "{gesture:?} {column} {row}"
        );
    }
}

#[test]
fn the_left_button_scrubs_and_the_wheel_seeks() {
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
        // The row under the bar belongs to it.
        (Gesture::Press, 40, 5, "seek 30.000"),
        (Gesture::Release, 40, 5, ""),
        (Gesture::Press, 1, 3, "seek 0.000"),
        (Gesture::Release, 1, 3, ""),
        // Above the lane, above the table, in the log, outside.
        (Gesture::Press, 40, 0, ""),
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
    // All seeks of a drag are undone together.
    let mut model = paused();
    for (gesture, column) in [
        (Gesture::Press, 40),
        (Gesture::Drag, 50),
        (Gesture::Drag, 60),
    ] {
        mouse(&mut model, gesture, column, 4);
    }
    assert_eq!(effects(&mut model), "seek 45.384");
    assert_eq!(effects_of(&mut model, "u"), "seek 12.184");
}

/// Paused, with lines in all rows of the log, so that the table is cut.
fn with_full_log() -> Model {
    let mut model = paused();
    for at in 0..4 {
        let line = LogLine {
            at: stamp(at),
            severity: bagplay::tui::Severity::Info,
            text: format!("line {at}"),
        };
        model.handle(Event::Log(line), stamp(at));
    }
    model
}

#[test]
fn the_mouse_selects_topics_and_opens_them() {
    let mut model = with_full_log();
    let index = |model: &Model| selected(model).map(bagplay::bag::TopicId::index);
    for (gesture, row, selects) in [
        (Gesture::Press, 9, 2),
        (Gesture::Release, 9, 2),
        (Gesture::Press, 16, 9),
        (Gesture::Wheel(1), 10, 10),
        (Gesture::Wheel(1), 10, 11),
        // The table has scrolled by one: its first row is the second topic.
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
    assert_eq!(model.wanted_message(), None);
    mouse(&mut model, Gesture::Press, 10, 9);
    let wanted = model
        .wanted_message()
        .map(|(topic, at)| (topic.index(), at));
    assert_eq!(wanted, Some((2, at(12_184))));
    // An overlay takes the wheel and no clicks; the bar above it takes both.
    mouse(&mut model, Gesture::Press, 10, 12);
    mouse(&mut model, Gesture::Wheel(1), 10, 12);
    assert_eq!((effects(&mut model).as_str(), index(&model)), ("", Some(2)));
    let place = model.playhead();
    mouse(&mut model, Gesture::Wheel(1), 40, 4);
    assert_eq!(effects(&mut model), "seek 13.184");
    mouse(&mut model, Gesture::Wheel(-1), 40, 4);
    assert_eq!(
        (effects(&mut model).as_str(), model.playhead()),
        ("seek 12.184", place)
    );
    mouse(&mut model, Gesture::Press, 60, 4);
    assert_eq!(effects(&mut model), "seek 45.384");
    mouse(&mut model, Gesture::Drag, 40, 4);
    mouse(&mut model, Gesture::Release, 40, 4);
    let dragged = model.playhead();
    assert!(dragged < at(45_384) && effects(&mut model).starts_with("seek "));
    let wanted = model
        .wanted_message()
        .map(|(topic, at)| (topic.index(), at));
    assert_eq!(wanted, Some((2, dragged)));
    // The help and a prompt take all mouse events.
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
        ("m", "unmark 12.184", "mark at +00:12.184 removed"),
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
        ("n", "", "no later mark"),
        ("N", "seek 27.000", "no later mark"),
        ("N", "seek 12.184", "bus"),
        ("N", "seek 9.500", "pedestrian"),
        ("N", "", "no earlier mark"),
        (
            "n m",
            "seek 12.184, unmark 12.184",
            "mark at +00:12.184 removed",
        ),
    ] {
        assert_eq!(effects_of(&mut model, keys), expected, "{keys}");
        assert_eq!(last_log_line(&model), says, "{keys}");
    }
}

/// The answer at the last hole or damage of a side.
fn no(side: &str, here: &str) -> String {
    format!("no {side} hole or damage; at the playhead: {here}")
}

#[test]
fn tab_goes_from_hole_to_hole_of_the_selected_topic_or_of_all() {
    let mut model = paused();
    let known = |model: &mut Model, holes| model.handle(Event::Holes(holes), stamp(0));
    assert_eq!(effects_of(&mut model, "tab"), "");
    assert_eq!(last_log_line(&model), "still reading the index");
    known(&mut model, None);
    assert_eq!(effects_of(&mut model, "tab"), "");
    let says = "holes were not searched for: there are too many messages, the indexes do not list them, or messages are not played in the order of their log times";
    assert_eq!(last_log_line(&model), says);
    known(&mut model, Some(Vec::new()));
    assert_eq!(effects_of(&mut model, "h"), "");
    let says = "no topic has a hole, and no damage is known";
    assert_eq!(last_log_line(&model), says);
    let mut damaged = paused();
    known(&mut damaged, Some(Vec::new()));
    let status = Status {
        damaged: 1,
        ..status(State::Paused, 12_184, Pace::At(Speed::NORMAL))
    };
    set_status(&mut damaged, status);
    assert_eq!(effects_of(&mut damaged, "tab"), "");
    let says = "no topic has a hole; the times of the known damage are unknown";
    assert_eq!(last_log_line(&damaged), says);
    known(&mut model, Some(holes()));
    let camera = "hole of /camera/front/image_raw from +00:40.000, 0.300 s";
    let all = "hole of all topics from +00:20.000, 6.000 s";
    for (keys, expected, says) in [
        // The first topic is silent only when nothing was recorded.
        ("tab", "seek 20.000", all),
        ("tab", "", &no("later", all)),
        // The image has one of its own, too.
        ("down tab", "seek 40.000", camera),
        ("tab", "", &no("later", camera)),
        ("shift+tab", "seek 20.000", all),
        ("H", "", &no("earlier", all)),
        ("h", "seek 40.000", camera),
    ] {
        assert_eq!(effects_of(&mut model, keys), expected, "{keys}");
        assert_eq!(last_log_line(&model), says, "{keys}");
    }
    // A topic that has no hole goes through those of all.
    known(&mut model, Some(holes()[1..].to_vec()));
    assert_eq!(effects_of(&mut model, "up 0 tab"), "seek 40.000");
    // So does a latched topic, which is not expected to have messages.
    let mut model = paused();
    known(&mut model, Some(holes()));
    press(&mut model, "/ m a p enter");
    assert_eq!(effects_of(&mut model, "tab"), "seek 20.000");
    assert_eq!(effects_of(&mut model, "tab"), "seek 40.000");
    let mut facts = facts();
    facts.is_elsewhere = true;
    let mut elsewhere = Model::new(facts, appearance(), rows(), marks(), SCREEN);
    assert_eq!(effects_of(&mut elsewhere, "tab"), "");
    let says = "holes and damage are shown only in the player's own transport bar, and by play info --check";
    assert_eq!(last_log_line(&elsewhere), says);
}

#[test]
fn tab_goes_through_holes_and_damage_in_the_order_of_time() {
    let mut model = paused();
    model.handle(Event::Holes(Some(holes())), stamp(0));
    model.handle(Event::Damaged(damaged()), stamp(0));
    let hole = "hole of all topics from +00:20.000, 6.000 s";
    let camera = "hole of /camera/front/image_raw from +00:40.000, 0.300 s";
    let chunk = "damage +00:34.000 to +00:36.000: drive_0.mcap: up to 460 messages of /camera/front/camera_info, /imu/data: \
                 chunk fails its checksum and is skipped";
    let bytes = "damage between +00:50.000 and +00:50.100: drive_1.mcap: 1234 bytes that are no records are skipped";
    let end = "damage from +01:00.000 on: drive_1.mcap: the file ends in the middle of a record (its last 77 bytes)";
    for (keys, expected, says) in [
        ("tab", "seek 20.000", hole),
        ("tab", "seek 34.000", chunk),
        ("tab", "seek 50.000", bytes),
        ("tab", "seek 60.000", end),
        ("tab", "", &no("later", end)),
        // The image has no message in the damaged chunk, and a hole of its own.
        ("down shift+tab", "seek 50.000", bytes),
        ("shift+tab", "seek 40.000", camera),
        ("shift+tab", "seek 20.000", hole),
        ("shift+tab", "", &no("earlier", hole)),
    ] {
        assert_eq!(effects_of(&mut model, keys), expected, "{keys}");
        assert_eq!(last_log_line(&model), says, "{keys}");
    }
    // Of what begins at the same time, all is named.
    let mut both = damaged();
    both[1].range = TimeRange::between(at(34_000), at(34_100));
    model.handle(Event::Damaged(both), stamp(0));
    assert_eq!(effects_of(&mut model, "up 0 tab"), "seek 20.000");
    assert_eq!(effects_of(&mut model, "tab"), "seek 34.000");
    press(&mut model, "e");
    let between = "damage between +00:34.000 and +00:34.100";
    let within = "damage +00:34.000 to +00:36.000: ";
    assert!(is_shown(&model, within) && is_shown(&model, between));
    press(&mut model, "e");
    // What is silent because of damage is no hole, and what damage leaves of a hole begins behind it.
    let mut first = damaged();
    first[0].range = TimeRange::between(at(19_900), at(22_000));
    model.handle(Event::Damaged(first), stamp(0));
    assert_eq!(effects_of(&mut model, "0 tab"), "seek 19.900");
    assert_eq!(effects_of(&mut model, "tab"), "seek 22.000");
    assert_eq!(
        last_log_line(&model),
        "hole of all topics from +00:22.000, 4.000 s"
    );
    // Damage is known before the holes are.
    let mut early = paused();
    early.handle(Event::Damaged(damaged()[..1].to_vec()), stamp(0));
    assert_eq!(effects_of(&mut early, "tab"), "seek 34.000");
    assert_eq!(effects_of(&mut early, "tab"), "");
    let says = "no later damage; still reading the index; at the playhead: damage +00:34.000";
    assert!(last_log_line(&early).starts_with(says));
}

#[test]
fn the_state_to_resume_is_a_position_or_what_was_changed() {
    let changed = |millis, keys: &str| {
        let mut model = paused_at(millis);
        press(&mut model, keys);
        let state = model.state_to_resume();
        state.map(|state| state.position.map(millis_of))
    };
    let end = SECONDS * 1000;
    for edge in [0, end] {
        assert_eq!(changed(edge, ""), None);
        for keys in ["]", "L", "t", "G", "c"] {
            assert_eq!(changed(edge, keys), Some(None), "{keys} at {edge}");
        }
        // What is as it was is no change.
        assert_eq!(changed(edge, "t t"), None);
        // For the line that is asked for, that makes no difference.
        let state = paused_at(edge).run_state().unwrap();
        assert_eq!(state.position, None);
        assert_eq!(paused_at(edge).position_within(), None);
    }
    assert_eq!(changed(12_184, ""), Some(Some(12_184)));
    let mut model = fresh(appearance());
    assert_eq!(model.run_state(), None);
    // At the end of a part that is played once, a run from there would end at once; the position can be remembered.
    let facts = Facts {
        played: PlayedRange::new(TimeRange::between(at(0), at(20_000)), AtEnd::Hold),
        ..facts()
    };
    model = Model::new(facts, appearance(), rows(), marks(), SCREEN);
    set_state(&mut model, State::Ended, 20_000);
    assert_eq!(model.run_state().unwrap().position, None);
    assert_eq!(model.position_within(), Some(at(20_000)));
}

fn millis_of(time: Time<Ros>) -> i64 {
    time.saturating_since(at(0)).as_millis()
}

#[test]
fn a_mark_is_set_where_its_prompt_was_opened() {
    let mut model = paused();
    press(&mut model, "M");
    set_state(&mut model, State::Playing, 14_000);
    assert_eq!(effects_of(&mut model, "x enter"), "mark 12.184: x");
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
        let mut model = fresh(appearance());
        set_status(&mut model, status(state, millis, speed(millionths)));
        assert_eq!(
            effects_of(&mut model, key),
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
        assert_eq!(effects_of(&mut model, keys), expected, "{keys}");
        assert_eq!(last_log_line(&model), says, "{keys}");
    }
}

#[test]
fn a_card_asks_for_its_message_wherever_the_playhead_is() {
    let mut model = paused();
    press(&mut model, "enter");
    let (topic, wanted) = model.wanted_message().unwrap();
    let peeked = |topic, at| {
        let found = MessageAt::NoMessage;
        Event::Lookup(LookupResult {
            topic,
            at,
            outcome: found,
        })
    };
    model.handle(peeked(bagplay::bag::TopicId(7), wanted), stamp(0));
    assert_eq!(
        model.wanted_message(),
        Some((topic, wanted)),
        "the answer is for another topic"
    );
    model.handle(peeked(topic, wanted), stamp(0));
    assert_eq!(model.wanted_message(), None);
    press(&mut model, "right");
    assert_eq!(model.wanted_message(), Some((topic, at(17_184))));
    press(&mut model, "esc");
    assert_eq!(model.wanted_message(), None);
    model.handle(peeked(topic, wanted), stamp(0));
    assert_eq!(model.wanted_message(), None);
}

#[test]
fn the_window_follows_the_playhead() {
    let mut model = with_events(appearance());
    set_state(&mut model, State::Paused, 12_184);
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
    assert_eq!(effects_of(&mut model, "z"), "outline 4.684 to 34.684");
    for (millis, millionths, expected) in [
        (18_000, 1_000_000, ""),
        (20_000, 1_000_000, "outline 18.500 to 48.500"),
        (33_000, 1_000_000, ""),
        (55_000, 1_000_000, "outline 45.000 to 60.000"),
        (44_000, -1_000_000, "outline 15.500 to 45.500"),
        (4_000, -1_000_000, "outline 0.000 to 15.000"),
    ] {
        set_status(
            &mut model,
            status(State::Playing, millis, speed(millionths)),
        );
        assert_eq!(effects(&mut model), expected, "{millis}");
    }
}

#[test]
fn the_largest_zoom_is_logged() {
    let mut model = paused();
    assert_eq!(
        effects_of(&mut model, "z z z z"),
        "outline 12.066 to 12.535"
    );
    assert_eq!(last_log_line(&model), "");
    assert!(is_shown(&model, "zoom 00:00.234"));
    assert_eq!(effects_of(&mut model, "z"), "");
    assert_eq!(last_log_line(&model), "this is the largest zoom");
    assert!(is_shown(&model, "zoom 00:00.234"));
}

/// The upper row of the lane, as it is drawn.
fn lane_row(model: &Model) -> String {
    let shown = picture(model, SCREEN);
    shown.lines().nth(3).unwrap_or_default().to_owned()
}

/// A lane of constant density.
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
fn the_overview_is_shown_until_the_close_up_is_complete() {
    let mut model = paused();
    assert_eq!(effects_of(&mut model, "z"), "outline 4.684 to 34.684");
    assert!(is_shown(&model, "reading the index"));
    model.handle(Event::Lane(lane(recording(), 480)), stamp(0));
    let overview = lane_row(&model);
    assert!(!is_shown(&model, "reading the index"));
    // Neither an incomplete close-up nor one of another part replaces the overview.
    let asked = asked_at(&mut model, 12_184);
    model.handle(flat(asked, false), stamp(0));
    model.handle(flat(TimeRange::between(at(0), at(30_000)), true), stamp(0));
    assert_eq!(lane_row(&model), overview);
    model.handle(flat(asked, true), stamp(0));
    let close = lane_row(&model);
    assert_ne!(close, overview);
    // The next page was read with the close-up.
    set_state(&mut model, State::Playing, 20_000);
    assert_eq!(effects(&mut model), "outline 18.500 to 48.500");
    let next = lane_row(&model);
    assert!(next.contains(close.trim()), "{next}");
    // Elsewhere the overview is shown again.
    set_state(&mut model, State::Playing, 55_000);
    assert_ne!(lane_row(&model), close);
    assert!(!is_shown(&model, "reading the index"));
}

/// The range of the close-up that is requested when zooming in at a position.
fn asked_at(model: &mut Model, millis: i64) -> TimeRange {
    press(model, "Z");
    set_state(model, State::Paused, millis);
    model.take_effects();
    press(model, "z");
    requested_outline(model).unwrap()
}

/// Only the density that was requested last is read.
#[test]
fn an_overview_that_zooming_cancelled_is_requested_again() {
    let part = |range, is_whole| {
        let lane = lane(range, 480);
        Event::Lane(bagplay::tui::Lane { is_whole, ..lane })
    };
    let close_up = TimeRange::between(at(4_684), at(34_684));
    let mut model = paused();
    model.handle(part(recording(), false), stamp(0));
    assert_eq!(effects_of(&mut model, "z"), "outline 4.684 to 34.684");
    model.handle(part(close_up, false), stamp(0));
    assert_eq!(effects(&mut model), "");
    model.handle(part(close_up, true), stamp(0));
    assert_eq!(effects(&mut model), "outline 0.000 to 60.000");
    model.handle(part(recording(), false), stamp(0));
    assert_eq!(effects_of(&mut model, "Z"), "outline 0.000 to 60.000");
    model.handle(part(recording(), true), stamp(0));
    assert_eq!(effects_of(&mut model, "z"), "outline 4.684 to 34.684");
    model.handle(part(close_up, true), stamp(0));
    assert_eq!(effects_of(&mut model, "Z"), "");
}

#[test]
fn when_zoomed_the_overview_spans_the_recording_and_the_bar_a_part() {
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
fn the_selection_survives_any_resize() {
    let mut model = with_full_log();
    press(&mut model, "pagedown down");
    let before = selected(&model);
    for (width, height) in [(0, 0), (1, 1), (0, 50), (200, 0), (80, 24)] {
        model.handle(Event::Resized(size(width, height)), stamp(0));
        assert_eq!(selected(&model), before, "{width}x{height}");
    }
    assert!(picture(&model, SCREEN).contains("›○ /vehicle/status"));
    model.handle(Event::Resized(size(0, 0)), stamp(0));
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
fn scrolling_back_from_the_end_takes_effect_at_once() {
    let mut model = paused();
    model.handle(Event::Resized(size(80, 12)), stamp(0));
    press(&mut model, "?");
    press(&mut model, &"pagedown ".repeat(50));
    let end = picture(&model, size(80, 12));
    press(&mut model, "up");
    assert_ne!(picture(&model, size(80, 12)), end);
    press(&mut model, "down");
    assert_eq!(picture(&model, size(80, 12)), end);
}

#[test]
fn start_and_end_are_the_edges_of_the_played_range() {
    let part = Facts {
        played: PlayedRange::new(TimeRange::between(at(10_000), at(50_000)), AtEnd::Hold),
        ..facts()
    };
    let model = Model::new(part, appearance(), rows(), marks(), SCREEN);
    assert_eq!(model.playhead(), at(10_000));
    check(
        limited(20_000),
        &[
            ("home", "seek 10.000"),
            ("end", "seek 50.000"),
            ("0", "seek 0.000"),
        ],
    );
}

/// A field of a decoded message.
fn line(depth: usize, name: &str, value: &str) -> FieldLine {
    FieldLine {
        depth,
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// A message whose header has a stamp.
fn found(topic: TopicId, lines: Vec<FieldLine>, format: PayloadFormat) -> Event {
    Event::Lookup(LookupResult {
        topic,
        at: at(12_184),
        outcome: MessageAt::Message {
            log_time: at(12_180),
            publish_time: at(12_180),
            header_stamp: Some(at(12_170)),
            bytes: 10,
            decoded: Decoded {
                lines,
                format,
                problem: None,
                is_cut: false,
            },
        },
    })
}

fn watched(model: &Model) -> Vec<String> {
    let name = |pin: SavedPin| match pin.field {
        SavedField::Value(path) => path,
        SavedField::Picture => "picture".to_owned(),
        SavedField::Delay => "delay".to_owned(),
    };
    model.pins_to_save(&[]).into_iter().map(name).collect()
}

#[test]
fn pictures_are_wanted_where_they_are_shown() {
    let mut model = paused();
    assert_eq!(model.wanted_pictures(), None);
    // The front camera.
    press(&mut model, "down enter");
    let (slots, time) = model.wanted_pictures().unwrap();
    assert_eq!((slots[0].topic, time), (TopicId(1), at(12_184)));
    answer_pictures(&mut model);
    assert_eq!(model.wanted_pictures(), None);
    // Another size wants another picture.
    model.handle(Event::Resized(size(190, 50)), stamp(0));
    let (larger, _) = model.wanted_pictures().unwrap();
    assert!(larger[0].cells.width > slots[0].cells.width);
    model.handle(found(TopicId(1), Vec::new(), PayloadFormat::Cdr), stamp(0));
    press(&mut model, "w");
    assert_eq!(watched(&model), ["picture"]);
    press(&mut model, "esc");
    let (pane, _) = model.wanted_pictures().unwrap();
    assert_eq!(pane[0].topic, TopicId(1));
    // Help covers the pane.
    press(&mut model, "?");
    assert_eq!(model.wanted_pictures(), None);
    // Neither on a small screen nor from a player elsewhere.
    press(&mut model, "esc");
    model.handle(Event::Resized(size(40, 8)), stamp(0));
    assert_eq!(model.wanted_pictures(), None);
    let elsewhere = Facts {
        is_elsewhere: true,
        ..facts()
    };
    let mut model = Model::new(elsewhere, appearance(), rows(), marks(), SCREEN);
    press(&mut model, "down enter");
    assert_eq!(model.wanted_pictures(), None);
}

#[test]
fn a_field_is_watched_from_the_card_of_its_topic() {
    let mut model = paused();
    press(&mut model, "w");
    assert_eq!(
        last_log_line(&model),
        "to watch a field, show its topic and select it"
    );
    press(&mut model, "enter w");
    assert_eq!(
        last_log_line(&model),
        "this message has no field that can be watched"
    );
    let lines = vec![
        line(0, "poses", ""),
        line(1, "[0]", ""),
        line(2, "position", ""),
        line(3, "x", "1.5"),
        line(2, "name", "\"a\""),
        line(0, "names", "[\"a\", \"b\"]"),
        line(0, "seen", "true"),
    ];
    model.handle(
        found(TopicId(0), lines.clone(), PayloadFormat::Cdr),
        stamp(0),
    );
    // The first is the delay; arrays of texts and messages are passed over, and the last one stays selected.
    for (keys, expected) in [
        ("w", &["delay"][..]),
        ("down w", &["delay", "poses[0].position.x"]),
        ("down w", &["delay", "poses[0].position.x", "poses[0].name"]),
        (
            "down down down w",
            &["delay", "poses[0].position.x", "poses[0].name", "seen"],
        ),
        ("up up w", &["delay", "poses[0].name", "seen"]),
        ("up w", &["poses[0].name", "seen"]),
        ("esc W", &[]),
    ] {
        press(&mut model, keys);
        assert_eq!(watched(&model), expected, "{keys}");
    }
    press(&mut model, "W");
    assert_eq!(last_log_line(&model), "no field is watched");
    // Bytes have no fields.
    press(&mut model, "enter");
    model.handle(found(TopicId(0), lines, PayloadFormat::Hex), stamp(0));
    press(&mut model, "down w");
    assert_eq!(watched(&model), ["delay"]);
}

#[test]
fn a_card_that_is_shown_again_has_the_field_selected_that_was() {
    let mut model = paused();
    let message = |topic: usize| {
        let lines = (0..30).map(|n| line(0, &format!("f{n}"), "1")).collect();
        found(rows()[topic].id, lines, PayloadFormat::Cdr)
    };
    let cursor = |model: &Model| {
        let shown = picture(model, SCREEN);
        let row = shown.lines().find(|row| row.contains("│›"));
        row.map(|row| row.trim_matches(['│', '›', ' ']).to_owned())
    };
    press(&mut model, "enter");
    model.handle(message(0), stamp(0));
    press(&mut model, &"down ".repeat(25));
    assert_eq!(cursor(&model).as_deref(), Some("f24: 1"));
    // Another topic has its own.
    press(&mut model, "esc down enter");
    model.handle(message(1), stamp(0));
    // Its picture and its delay are fields, too.
    press(&mut model, "down down");
    assert_eq!(cursor(&model).as_deref(), Some("f0: 1"));
    for (keys, topic, expected) in [
        ("esc up enter", 0, "f24: 1"),
        ("esc down enter", 1, "f0: 1"),
    ] {
        press(&mut model, keys);
        model.handle(message(topic), stamp(0));
        assert_eq!(cursor(&model).as_deref(), Some(expected));
    }
}

#[test]
fn only_some_fields_are_watched_at_once() {
    let mut model = paused();
    press(&mut model, "enter");
    let lines = (0..12).map(|at| line(0, &format!("f{at}"), "1")).collect();
    model.handle(found(TopicId(0), lines, PayloadFormat::Cdr), stamp(0));
    press(&mut model, &"w down ".repeat(12));
    assert_eq!(watched(&model).len(), 8);
    assert_eq!(
        last_log_line(&model),
        "8 fields are watched; remove one first (×4)"
    );
}

#[test]
fn values_are_read_around_the_playhead_or_from_a_to_b() {
    let mut model = watching(appearance());
    model.handle(Event::Resized(size(120, 40)), stamp(0));
    set_state(&mut model, State::Paused, 12_184);
    let wanted = |model: &Model| model.wanted_values().map(|(_, range)| range);
    assert_eq!(wanted(&model), None);
    set_state(&mut model, State::Paused, 40_000);
    let range = TimeRange::between(at(25_000), at(55_000));
    assert_eq!(wanted(&model), Some(range));
    // An answer for other fields is not shown.
    let other = WatchedValues {
        pins: Vec::new(),
        range,
        series: Vec::new(),
    };
    model.handle(Event::Watched(other), stamp(0));
    assert_eq!(wanted(&model), Some(range));
    answer_watched(&mut model);
    assert_eq!(wanted(&model), None);
    // A loop is read by itself: a short one in more detail, a long one although the playhead is in a part that is known.
    for (a, b) in [(40_000, 42_000), (10_000, 58_000)] {
        set_state(&mut model, State::Paused, a);
        press(&mut model, "l");
        set_state(&mut model, State::Paused, b);
        press(&mut model, "l");
        assert_eq!(wanted(&model), Some(TimeRange::between(at(a), at(b))));
        answer_watched(&mut model);
        assert_eq!(wanted(&model), None);
        press(&mut model, "l");
    }
    // What was read for the long loop has too little detail.
    set_state(&mut model, State::Paused, 40_000);
    assert_eq!(wanted(&model), Some(range));
    // Where there is no room, nothing is read.
    model.handle(Event::Resized(size(40, 8)), stamp(0));
    assert_eq!(wanted(&model), None);
    model.handle(Event::Resized(size(120, 40)), stamp(0));
    press(&mut model, "W");
    assert_eq!(wanted(&model), None);
}

#[test]
fn saved_fields_are_watched_where_topic_and_type_are_the_same() {
    let imu = "sensor_msgs/msg/Imu";
    let (delay, odd) = (
        saved_pin("/imu/data", imu, None),
        saved_pin("/imu/data", imu, Some("no path")),
    );
    let other = saved_pin("/imu/data", "other_msgs/msg/Imu", None);
    let absent = saved_pin("/other", imu, None);
    let saved = [
        delay.clone(),
        delay.clone(),
        other.clone(),
        absent.clone(),
        odd.clone(),
    ];
    let mut model = fresh(appearance()).watching(&saved);
    // What does not belong to this recording, or cannot be read, stays saved.
    let kept = [other, absent, odd];
    assert_eq!(model.pins_to_save(&saved), [&kept[..], &[delay]].concat());
    press(&mut model, "W");
    assert_eq!(model.pins_to_save(&saved), kept);
}

#[test]
fn two_bars_save_what_each_of_them_has_changed() {
    let pin = |field: &str| saved_pin("/imu/data", "sensor_msgs/msg/Imu", Some(field));
    let [x, y, z] = [
        "linear_acceleration.x",
        "linear_acceleration.y",
        "linear_acceleration.z",
    ]
    .map(pin);
    let before = [x.clone(), y.clone()];
    let bar = || fresh(appearance()).watching(&before);
    let (mut removes, stays) = (bar(), bar());
    press(&mut removes, "W");
    // Neither the one that ends last nor the one that ends first takes a change of the other back.
    let after = removes.pins_to_save(&before);
    assert_eq!(after, []);
    assert_eq!(stays.pins_to_save(&after), []);
    assert_eq!(removes.pins_to_save(&stays.pins_to_save(&before)), []);
    let adds = fresh(appearance()).watching(std::slice::from_ref(&z));
    let added = adds.pins_to_save(&[x.clone(), y.clone(), z.clone()]);
    assert_eq!(added, [x.clone(), y.clone(), z.clone()]);
    assert_eq!(stays.pins_to_save(&added), [z.clone(), x, y]);
    assert_eq!(removes.pins_to_save(&added), [z]);
}

#[test]
fn pins_for_which_there_is_no_room_stay_saved() {
    let imu = "sensor_msgs/msg/Imu";
    let pin = |at: i32| saved_pin("/imu/data", imu, Some(&format!("f{at}")));
    let saved: Vec<SavedPin> = (0..10).map(pin).collect();
    let model = fresh(appearance()).watching(&saved);
    assert_eq!(model.wanted_values().unwrap().0.len(), 8);
    let after = model.pins_to_save(&saved);
    assert!(saved.iter().all(|pin| after.contains(pin)), "{after:?}");
}

fn found_at(millis: i64, severity: Option<Severity>) -> FoundMessage {
    FoundMessage {
        topic: TopicId(2),
        time: at(millis),
        severity,
        text: format!("at {millis}"),
    }
}

#[test]
fn warnings_of_nodes_are_gone_to_and_shown_under_the_bar() {
    let mut model = paused();
    let alerts = FoundMessages {
        messages: vec![
            found_at(5_000, Some(Severity::Warning)),
            found_at(30_000, Some(Severity::Error)),
        ],
        has_ended: true,
        ..FoundMessages::default()
    };
    model.handle(Event::Alerts(alerts), stamp(0));
    assert_eq!(picture(&model, size(80, 24)).matches('▴').count(), 1);
    assert_eq!(picture(&model, size(80, 24)).matches('▵').count(), 1);
    for (keys, effects, says) in [
        (
            "a",
            "seek 30.000",
            "2 of 2, +00:30.000, error: /diagnostics: at 30000",
        ),
        ("a", "", "no later warning or error of a node"),
        (
            "A",
            "seek 5.000",
            "1 of 2, +00:05.000, warning: /diagnostics: at 5000",
        ),
        ("A", "", "no earlier warning or error of a node"),
    ] {
        assert_eq!(effects_of(&mut model, keys), effects, "{keys}");
        assert_eq!(last_log_line(&model), says, "{keys}");
    }
}

/// A paused model whose third topic has the definition of a level.
fn with_levels() -> Model {
    let mut facts = facts();
    "cdr".clone_into(&mut facts.topics[2].encoding);
    facts.topics[2].schema = Some(Schema {
        name: "p/msg/Levels".to_owned(),
        encoding: "ros2msg".to_owned(),
        data: "byte WARN=1\nbyte level\n".into(),
    });
    let mut model = Model::new(facts, appearance(), rows(), marks(), size(120, 40));
    set_state(&mut model, State::Paused, 12_184);
    model
}

#[test]
fn messages_are_searched_for_in_a_topic_and_gone_to_like_marks() {
    let mut model = with_levels();
    press(&mut model, "down down enter");
    effects(&mut model);
    assert_eq!(effects_of(&mut model, "/"), "");
    assert!(is_shown(&model, " find in /diagnostics: "));
    // What is wrong is said at once.
    for (condition, says) in [
        ("level >", "expected"),
        ("speed > 1", "has no field `speed`"),
    ] {
        type_text(&mut model, condition);
        assert_eq!(effects_of(&mut model, "enter"), "");
        assert!(is_shown(&model, says), "{}", picture(&model, size(120, 40)));
        // The topic is shown again.
        press(&mut model, "esc");
        assert!(is_shown(&model, "recorded QoS"));
        press(&mut model, "/");
    }
    type_text(&mut model, "level >= WARN");
    let expression = "/diagnostics level >= WARN";
    assert_eq!(
        effects_of(&mut model, "enter"),
        format!("find {expression}")
    );
    assert!(is_shown(&model, "recorded QoS"));
    press(&mut model, "esc");
    assert_eq!(effects_of(&mut model, "N N"), "seek 9.500");
    assert_eq!(
        last_log_line(&model),
        "no earlier mark or found message; 0 % of the recording is searched"
    );
    set_state(&mut model, State::Paused, 12_184);
    let hits = |expression: &str| FoundMessages {
        expression: expression.to_owned(),
        messages: vec![found_at(20_000, None), found_at(28_000, None)],
        share: 1.0,
        has_ended: true,
        problem: None,
    };
    // An answer to another search is not taken.
    model.handle(Event::Hits(hits("/other x > 1")), stamp(0));
    assert_eq!(effects_of(&mut model, "n"), "seek 27.000");
    model.handle(Event::Hits(hits(expression)), stamp(0));
    assert_eq!(last_log_line(&model), "2 messages found: n, N");
    for (keys, effects) in [
        ("n", "seek 28.000"),
        ("n", "seek 48.250"),
        ("N", "seek 28.000"),
        ("N", "seek 27.000"),
        ("N", "seek 20.000"),
        ("N", "seek 9.500"),
    ] {
        assert_eq!(effects_of(&mut model, keys), effects, "{keys}");
    }
    // An empty condition ends the search.
    press(&mut model, "enter /");
    assert_eq!(effects_of(&mut model, "enter"), "find nothing");
    press(&mut model, "esc");
    assert_eq!(effects_of(&mut model, "n"), "seek 27.000");
}

#[test]
fn a_card_shows_what_its_keys_have_done_and_the_keys_of_what_was_found() {
    let mut model = with_levels();
    press(&mut model, "down down enter t");
    let last_rows = |model: &Model| {
        let shown = picture(model, size(80, 24));
        let mut rows = shown.lines().rev().map(str::to_owned);
        let mut next = || rows.next().unwrap_or_default();
        (next(), next())
    };
    let (keys, event) = last_rows(&model);
    assert!(event.ends_with("/diagnostics is muted"), "{event}");
    assert!(!keys.contains("found"), "{keys}");
    press(&mut model, "/");
    type_text(&mut model, "level >= WARN");
    press(&mut model, "enter");
    for (messages, says) in [
        (vec![found_at(28_000, None)], "1 message found: n, N"),
        (Vec::new(), "no message found"),
    ] {
        let has_hits = !messages.is_empty();
        let found = FoundMessages {
            expression: "/diagnostics level >= WARN".to_owned(),
            messages,
            share: 1.0,
            has_ended: true,
            problem: None,
        };
        model.handle(Event::Hits(found), stamp(0));
        let (keys, event) = last_rows(&model);
        assert!(event.ends_with(says), "{event}");
        assert_eq!(keys.contains(" n N found "), has_hits, "{keys}");
        if has_hits {
            press(&mut model, "N n n");
            let (_, event) = last_rows(&model);
            assert!(event.contains(" 1 of 1, +00:28.000, "), "{event}");
        }
    }
}

#[test]
fn while_a_condition_is_typed_the_card_stays_visible_and_the_whole_error_is_shown() {
    let mut facts = facts();
    let fields: Vec<String> = (0..30).map(|n| format!("byte field_{n:02}\n")).collect();
    "cdr".clone_into(&mut facts.topics[0].encoding);
    facts.topics[0].schema = Some(Schema {
        name: "p/msg/Many".to_owned(),
        encoding: "ros2msg".to_owned(),
        data: fields.concat().into_bytes().into(),
    });
    let mut model = Model::new(facts, appearance(), rows(), marks(), SCREEN);
    set_state(&mut model, State::Paused, 12_184);
    press(&mut model, "enter /");
    let shown = picture(&model, SCREEN);
    assert!(
        shown.contains("recorded QoS") && !shown.contains("topic ("),
        "{shown}"
    );
    // The message below the line is that at the playhead.
    assert!(model.wanted_message().is_some());
    let topic = rows()[0].id;
    let message = found(topic, vec![line(0, "field_00", "7")], PayloadFormat::Cdr);
    model.handle(message, stamp(0));
    assert!(is_shown(&model, "field_00: 7"));
    type_text(&mut model, "speed > 1");
    press(&mut model, "enter");
    let shown = picture(&model, SCREEN);
    let error = &shown[shown.find(" has no field `speed`").expect(&shown)..];
    assert!(
        error.contains("field_29") && !error.contains('…'),
        "{shown}"
    );
    assert!(
        shown.contains("recorded QoS") && shown.contains('╰'),
        "{shown}"
    );
    // Typing on removes the error.
    type_text(&mut model, "2");
    assert!(!is_shown(&model, "has no field"));
}

#[test]
fn a_to_b_is_written_with_all_topics_but_muted_ones() {
    let mut model = paused();
    press(&mut model, "l");
    set_state(&mut model, State::Paused, 13_250);
    press(&mut model, "l");
    effects(&mut model);
    assert_eq!(effects_of(&mut model, "x"), "");
    assert!(is_shown(&model, " write A-B to: drive_12.1-13.2s.mcap"));
    assert_eq!(
        effects_of(&mut model, "enter"),
        "cut 12.184 to 13.250 of 12 topics to drive_12.1-13.2s.mcap"
    );
    assert_eq!(effects_of(&mut model, "x esc"), "");
    // All but one are muted: the topic that is not played cannot be, and is not asked for.
    press(&mut model, "S");
    effects(&mut model);
    assert_eq!(
        effects_of(&mut model, "x enter"),
        "cut 12.184 to 13.250 of 1 topics to drive_12.1-13.2s.mcap"
    );
}

#[test]
fn damage_between_a_and_b_is_said_before_the_part_is_written() {
    let asked = |from, to, keys| {
        let mut model = paused_at(from);
        press(&mut model, "l");
        set_state(&mut model, State::Paused, to);
        press(&mut model, "l");
        model.handle(Event::Damaged(damaged()), stamp(0));
        press(&mut model, keys);
        press(&mut model, "x");
        assert!(is_shown(&model, " write A-B to: drive_"));
        last_log_line(&model)
    };
    let chunk = "warning: between A and B: 1 damaged part, up to 460 messages lost";
    assert_eq!(asked(33_000, 37_000, ""), chunk);
    assert_eq!(asked(36_000, 37_000, ""), chunk);
    let all = "warning: between A and B: 3 damaged parts, number of lost messages not known";
    assert_eq!(asked(33_000, 60_000, ""), all);
    let none = |line: String| assert!(!line.contains("damage"), "{line}");
    none(asked(37_000, 49_000, ""));
    // The topics of the damaged chunk are muted.
    none(asked(33_000, 37_000, "t down down down down t"));
}

#[test]
fn the_name_of_a_part_that_is_not_written_can_be_changed() {
    let asked = || {
        let mut model = paused();
        press(&mut model, "l");
        set_state(&mut model, State::Paused, 13_250);
        press(&mut model, "l x ctrl+u");
        type_text(&mut model, "ab.mcap");
        press(&mut model, "enter");
        effects(&mut model);
        model
    };
    let reason = || Event::NotCut("ab.mcap exists already".to_owned());
    let mut model = asked();
    model.handle(reason(), stamp(0));
    assert!(is_shown(
        &model,
        " write A-B to: ab.mcap  ab.mcap exists already"
    ));
    type_text(&mut model, "2");
    assert_eq!(
        effects_of(&mut model, "enter"),
        "cut 12.184 to 13.250 of 12 topics to ab.mcap2"
    );
    // Nothing is asked of a person who does something else.
    let mut model = asked();
    press(&mut model, "down");
    model.handle(reason(), stamp(0));
    assert!(!is_shown(&model, "write A-B to"));
}

#[test]
fn a_rate_is_typed() {
    let mut model = paused();
    for (text, expected) in [
        ("0.25", "rate 0.25"),
        ("×2", "rate 2"),
        ("-1", "rate -1"),
        ("max", "rate max"),
        ("", ""),
    ] {
        press(&mut model, "R");
        type_text(&mut model, text);
        assert_eq!(effects_of(&mut model, "enter"), expected, "{text}");
        assert!(!is_shown(&model, " rate: "), "{text}");
    }
    press(&mut model, "R");
    type_text(&mut model, "fast");
    assert_eq!(effects_of(&mut model, "enter"), "");
    assert!(is_shown(&model, " rate: fast"));
}

#[test]
fn one_topic_is_played_alone_and_all_again() {
    let mut model = paused();
    let muted = |model: &Model| {
        let shown = picture(model, size(200, 50));
        shown.matches("(muted)").count()
    };
    assert_eq!(muted(&model), 1);
    press(&mut model, "S");
    assert_eq!(muted(&model), 11);
    press(&mut model, "S");
    assert_eq!(
        (muted(&model), last_log_line(&model).as_str()),
        (0, "no topic is muted")
    );
}

#[test]
fn undo_sets_a_loop_again_that_a_seek_has_cleared() {
    let mut model = paused();
    press(&mut model, "l");
    set_state(&mut model, State::Paused, 13_250);
    press(&mut model, "l");
    effects(&mut model);
    assert_eq!(effects_of(&mut model, "0"), "end loop, seek 0.000");
    assert_eq!(
        effects_of(&mut model, "u"),
        "loop 12.184 to 13.250, seek 13.250"
    );
    // A key that does not seek ends the group of seeks that are undone together.
    press(&mut model, "5 T 6");
    effects(&mut model);
    assert_eq!(effects_of(&mut model, "u"), "seek 30.000");
    assert_eq!(
        effects_of(&mut model, "u"),
        "loop 12.184 to 13.250, seek 13.250"
    );
}

#[test]
fn only_seeks_by_the_same_input_are_undone_together() {
    let wheel = |model: &mut Model, turn| mouse(model, Gesture::Wheel(turn), 40, 4);
    for (keys, undone) in [
        ("1 3 6", &["seek 18.000", "seek 6.000", "seek 12.184"][..]),
        (
            "right left right",
            &["seek 12.184", "seek 17.184", "seek 12.184"],
        ),
        ("right right right", &["seek 12.184"]),
        ("g 3 0 enter g 4 0 enter", &["seek 30.000", "seek 12.184"]),
    ] {
        let mut model = paused();
        press(&mut model, keys);
        effects(&mut model);
        for expected in undone {
            assert_eq!(effects_of(&mut model, "u"), *expected, "{keys}");
        }
        assert_eq!(effects_of(&mut model, "u"), "", "{keys}");
    }
    let mut model = paused();
    press(&mut model, "right");
    wheel(&mut model, 1);
    wheel(&mut model, -1);
    wheel(&mut model, 1);
    press(&mut model, "right");
    effects(&mut model);
    for expected in ["seek 18.184", "seek 17.184", "seek 12.184", ""] {
        assert_eq!(effects_of(&mut model, "u"), expected);
    }
}

#[test]
fn undo_sets_a_loop_again_that_a_jump_to_a_mark_has_cleared() {
    let mut model = paused();
    press(&mut model, "1 l 3 l n");
    assert!(effects(&mut model).ends_with("end loop, seek 27.000"));
    assert_eq!(
        effects_of(&mut model, "u"),
        "loop 6.000 to 18.000, seek 18.000"
    );
}

#[test]
fn each_key_without_an_action_is_explained_once_until_the_next_key() {
    let mut model = paused();
    let newest = |model: &Model| {
        let shown = picture(model, SCREEN);
        shown.lines().nth_back(1).unwrap_or_default().to_owned()
    };
    for key in ["X", "Y"] {
        let hint = format!("{key} is not bound to an action; ? shows all keys");
        press(&mut model, key);
        assert!(newest(&model).ends_with(&hint), "{}", newest(&model));
        // While it is pressed, the line stays.
        press(&mut model, key);
        assert!(newest(&model).ends_with(&hint), "{}", newest(&model));
    }
    assert!(!picture(&model, SCREEN).contains("X is not bound"));
    for key in ["down", "X", "Y"] {
        press(&mut model, key);
        assert!(!picture(&model, SCREEN).contains("not bound"), "{key}");
    }
    // Whatever is logged follows it.
    press(&mut model, "d");
    assert!(newest(&model).contains("d is not bound"));
    model.handle(
        Event::Log(LogLine {
            at: stamp(0),
            severity: bagplay::tui::Severity::Info,
            text: "later".to_owned(),
        }),
        stamp(0),
    );
    assert_eq!(last_log_line(&model), "later");
    assert!(!is_shown(&model, "not bound"));
}

#[test]
fn prompts_recall_what_was_typed_in_prompts_of_their_kind() {
    let mut model = paused();
    let line = |model: &Model| {
        let shown = picture(model, SCREEN);
        let last = shown
            .lines()
            .nth(usize::from(SCREEN.height) - 1)
            .unwrap()
            .trim();
        last.split_once(": ")
            .map_or(String::new(), |(_, text)| text.trim().to_owned())
    };
    for text in ["10%", "20%", "10%", "nonsense"] {
        press(&mut model, "g");
        type_text(&mut model, text);
        press(&mut model, "enter");
    }
    // A text with an error is not kept.
    press(&mut model, "esc R");
    type_text(&mut model, "0.5");
    press(&mut model, "enter / i m u enter");
    press(&mut model, "g");
    type_text(&mut model, "5");
    for (key, shown) in [
        ("down", "5"),
        ("up", "10%"),
        ("up", "20%"),
        ("up", "20%"),
        ("down", "10%"),
        ("down", "5"),
        ("down", "5"),
        ("up", "10%"),
    ] {
        press(&mut model, key);
        assert_eq!(line(&model), shown, "{key}");
    }
    model.take_effects();
    assert_eq!(effects_of(&mut model, "enter"), "seek 6.000");
    press(&mut model, "R up");
    assert_eq!(line(&model), "0.5");
    // The filter takes effect at once; escape ends it as ever.
    press(&mut model, "esc esc");
    press(&mut model, "/ up");
    assert_eq!(selected(&model), Some(TopicId(4)));
    press(&mut model, "esc M up");
    assert!(line(&model).starts_with("enter saves the mark"));
}

#[test]
fn while_playing_capital_m_names_or_removes_the_mark_that_was_set_just_now() {
    let playing_on = |model: &mut Model, millis| {
        play(model, millis, Pace::At(Speed::NORMAL));
        model.take_effects();
    };
    let mut model = paused();
    playing_on(&mut model, 12_000);
    assert_eq!(effects_of(&mut model, "m"), "mark 12.000");
    playing_on(&mut model, 14_000);
    press(&mut model, "M");
    assert!(is_shown(&model, "name of the mark at +00:12.000: "));
    assert_eq!(effects_of(&mut model, "x enter"), "mark 12.000: x");
    // With a name, the key edits it.
    press(&mut model, "M home delete");
    assert_eq!(effects_of(&mut model, "delete"), "unmark 12.000");
    assert_eq!(last_log_line(&model), "mark at +00:12.000 removed");
    // It was removed, so the key refers to the playhead again.
    press(&mut model, "M");
    assert!(is_shown(&model, " name of the mark: "));
    assert_eq!(effects_of(&mut model, "delete esc"), "");
    // A mark of ten seconds ago is not meant, nor is one while paused elsewhere.
    press(&mut model, "m");
    playing_on(&mut model, 30_000);
    model.perform(Action::NameMark, stamp(20_000));
    assert!(is_shown(&model, " name of the mark: "));
    press(&mut model, "esc m");
    set_state(&mut model, State::Paused, 40_000);
    press(&mut model, "M");
    assert!(is_shown(&model, " name of the mark: "));
}

#[test]
fn the_recorded_rate_is_the_usual_one_as_soon_as_it_is_known() {
    let mut model = paused();
    let shown = |model: &Model, name: &str| {
        let picture = picture(model, SCREEN);
        let row = picture
            .lines()
            .find(|row| row.contains(name))
            .unwrap()
            .to_owned();
        let rate = row.split(" / ").nth(1).unwrap().trim_start().to_owned();
        rate.split(' ').next().unwrap().to_owned()
    };
    // 300 messages in 60 s: the mean over the recording, with a mark.
    assert_eq!(shown(&model, "/gnss/fix"), "~4.98");
    let mut periods = vec![None; TOPICS.len()];
    for topic in [3, 7] {
        periods[topic] = Some(Duration::from_millis(50));
    }
    model.handle(Event::Periods(periods), stamp(0));
    assert_eq!(shown(&model, "/gnss/fix"), "20.0");
    // Where it is not known, the mean is shown; a latched topic has none.
    assert_eq!(shown(&model, "/imu/data"), "~200");
    assert_eq!(shown(&model, "/map"), "–");
}

#[test]
fn elements_of_an_array_are_watched_by_their_indexes() {
    let mut model = paused();
    press(&mut model, "enter");
    let lines = vec![
        line(0, "joints", ""),
        line(1, "[0]", ""),
        line(2, "position", "[0.5, -1.25, 3]"),
        line(0, "empty", "[]"),
        line(0, "on", "[true, false]"),
    ];
    model.handle(found(TopicId(0), lines, PayloadFormat::Cdr), stamp(0));
    let typed = |model: &mut Model, text: &str| {
        press(model, "w");
        type_text(model, text);
        press(model, "enter");
    };
    press(&mut model, "down w");
    assert!(is_shown(
        &model,
        "elements of /camera/front/camera_info joints[0].position: "
    ));
    press(&mut model, "esc");
    assert!(is_shown(&model, "position"));
    typed(&mut model, "0 2");
    let watched_so_far = ["joints[0].position[0]", "joints[0].position[2]"];
    assert_eq!(watched(&model), watched_so_far);
    // Those that are watched stay so; the line stays open at an error.
    for (text, wrong) in [
        ("", "an index is missing"),
        ("x", "`x` is not an index; hint: 0, 2-4, -1"),
        ("0-9", "at most 8 fields are watched; remove some first"),
    ] {
        typed(&mut model, text);
        assert!(is_shown(&model, wrong), "{text}");
        press(&mut model, "esc");
    }
    typed(&mut model, "0-1");
    press(&mut model, "down");
    typed(&mut model, "-1");
    let more = ["joints[0].position[1]", "on[-1]"];
    assert_eq!(watched(&model), [&watched_so_far[..], &more].concat());
}

#[test]
fn plots_are_scrolled_if_not_all_fit() {
    let imu = "sensor_msgs/msg/Imu";
    let saved: Vec<SavedPin> = (0..8)
        .map(|at| saved_pin("/imu/data", imu, Some(&format!("f{at}"))))
        .collect();
    let mut model = fresh(appearance()).watching(&saved);
    model.handle(Event::Resized(SCREEN), stamp(0));
    set_state(&mut model, State::Paused, 12_184);
    let shown = |model: &Model| {
        let names =
            (0..8).filter(|at| picture(model, SCREEN).contains(&format!("/imu/data f{at} ")));
        names.collect::<Vec<_>>()
    };
    assert_eq!(shown(&model), [0, 1]);
    press(&mut model, "J J J");
    assert_eq!(shown(&model), [3, 4]);
    let last = without_overlay(&model);
    press(&mut model, "J J J J J J J K");
    assert_eq!(shown(&model), [5, 6]);
    // The wheel over the plots does the same, and elsewhere it seeks.
    let row = picture(&model, SCREEN)
        .lines()
        .position(|row| row.contains("f6 "))
        .unwrap();
    mouse(
        &mut model,
        Gesture::Wheel(-1),
        10,
        u16::try_from(row).unwrap(),
    );
    assert_eq!(
        (shown(&model), effects(&mut model)),
        (vec![4, 5], String::new())
    );
    // On a larger screen, all of them are shown from the first.
    let large = Size {
        width: 200,
        height: 60,
    };
    let all = picture(&last, large);
    assert!((0..8).all(|at| all.contains(&format!("/imu/data f{at} "))));
    model.handle(Event::Resized(large), stamp(0));
    press(&mut model, "J");
    assert_eq!(last_log_line(&model), "all watched fields are shown");
}

#[test]
fn watched_fields_that_are_not_shown_are_counted_once_with_the_reason() {
    let imu = "sensor_msgs/msg/Imu";
    let saved: Vec<SavedPin> = (0..3)
        .map(|at| saved_pin("/imu/data", imu, Some(&format!("f{at}"))))
        .collect();
    let mut model = fresh(appearance()).watching(&saved);
    set_state(&mut model, State::Paused, 12_184);
    let none = "no room for the 3 watched fields: too few rows";
    let some = "no room for 2 of 3 watched fields: too few rows; K and J scroll";
    // Said when more are not shown than before, and not again.
    let not_said = "mark at +00:12.184 removed";
    for (width, height, says) in [
        (60, 12, none),
        (60, 11, not_said),
        (80, 24, not_said),
        (200, 50, not_said),
        (80, 24, some),
        (60, 12, none),
    ] {
        model.handle(Event::Resized(size(width, height)), stamp(0));
        assert_eq!(last_log_line(&model), says, "{width}x{height}");
        press(&mut model, "m m");
    }
    let mut model = fresh(appearance());
    model.handle(Event::Resized(size(60, 12)), stamp(0));
    set_state(&mut model, State::Paused, 12_184);
    press(&mut model, "enter");
    let lines = vec![line(0, "width", "640")];
    let answer = found(TopicId(0), lines, PayloadFormat::Cdr);
    model.handle(answer, stamp(0));
    press(&mut model, "w");
    assert_eq!(
        last_log_line(&model),
        "no room for the watched field: too few rows"
    );
}

#[test]
fn a_cut_table_uses_rows_of_the_log_and_the_selected_topic_stays_visible() {
    let mut model = paused();
    let is_cut = |model: &Model| picture(model, SCREEN).contains(" of 13)");
    press(&mut model, "pagedown pagedown");
    assert!(!is_cut(&model), "{}", picture(&model, SCREEN));
    // Each line of the log takes its row again.
    for key in ["m", "l", "m", "l"] {
        press(&mut model, key);
        let shown = picture(&model, SCREEN);
        let selected = shown.lines().find(|row| row.starts_with('›'));
        let selected = selected.unwrap_or_default();
        assert!(selected.contains("/notes"), "{shown}");
    }
    assert!(is_cut(&model), "{}", picture(&model, SCREEN));
}
