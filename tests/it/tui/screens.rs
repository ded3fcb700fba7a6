//! Snapshots of the transport bar: every screen, overlay and size class, as text and as styles. `INSTA_UPDATE=always
//! cargo test tui_screens` updates them; `git diff` shows what has changed.

use std::fmt::Write as _;

use bagplay::bag::TopicId;
use bagplay::decode::{Decoded, FieldLine, PayloadFormat};
use bagplay::player::{Gate, Gates, Pace, State, Status};
use bagplay::time::{AtEnd, Duration, TimeRange};
use bagplay::tui::{
    Audience, Brackets, Event, Found, Gesture, Keys, Model, Peeked, Size, Theme, ThemeName,
    TimeFormat,
};
use insta::assert_snapshot;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

use super::demo_model::*;

/// The steps of the ladder.
const LADDER: [(u16, u16); 12] = [
    (200, 50),
    (140, 40),
    (100, 30),
    (80, 24),
    (60, 15),
    (40, 8),
    (30, 5),
    (20, 4),
    (20, 3),
    (20, 2),
    (60, 1),
    (10, 1),
];

/// Several frames, each under its title.
#[derive(Default)]
struct Album(String);

impl Album {
    fn add(&mut self, title: &str, model: &Model, size: Size) {
        let line = "=".repeat(
            usize::from(size.width)
                .saturating_sub(title.len() + 4)
                .max(3),
        );
        writeln!(self.0, "== {title} {line}\n{}", picture(model, size)).unwrap();
    }

    fn ladder(model: &Model, steps: &[(u16, u16)]) -> String {
        let mut album = Self::default();
        for (width, height) in steps {
            album.add(&format!("{width}x{height}"), model, size(*width, *height));
        }
        album.0
    }
}

fn paused() -> Model {
    let mut model = told(look());
    stand(&mut model, State::Paused, 12_184);
    model
}

/// The states, by their names; each as it comes about.
fn states(look: &bagplay::tui::Look) -> Vec<(&'static str, Model)> {
    let normal = speed(1_000_000);
    let rolls = |millis, pace| {
        let mut model = told(look.clone());
        play(&mut model, millis, pace);
        model
    };
    let stands = |status: Status| {
        let mut model = told(look.clone());
        show(&mut model, status);
        model
    };
    let gated = |gate| Status {
        gates: Gates::OPEN.close(gate),
        ..status(State::Gated, 0, normal)
    };
    let mut laps = told(look.clone());
    let lap = Status {
        laps: 2,
        late: 17,
        damaged: 1,
        ..status(State::Playing, 30_000, normal)
    };
    play_with(&mut laps, 30_000, lap);
    let laps = laps.looping(Brackets::None, true);
    vec![
        ("nothing known yet", told(look.clone())),
        ("playing", rolls(12_184, normal)),
        ("faster", rolls(12_184, speed(2_000_000))),
        ("much slower", rolls(12_184, speed(5_000))),
        ("as fast as it goes", rolls(12_184, Pace::Max)),
        ("backwards", rolls(42_184, speed(-500_000))),
        ("paused", stands(status(State::Paused, 12_184, normal))),
        ("reading", stands(status(State::Starved, 33_000, normal))),
        ("waiting for subscribers", stands(gated(Gate::Subscribers))),
        ("without a connection", stands(gated(Gate::Path))),
        ("before the start", stands(gated(Gate::Delay))),
        ("at the end", stands(status(State::Ended, 60_000, normal))),
        (
            "at the start",
            stands(status(State::Ended, 0, speed(-1_000_000))),
        ),
        ("stopped", stands(status(State::Stopped, 60_000, normal))),
        ("third lap, late and damaged", laps),
    ]
}

#[test]
fn the_large_steps_of_the_ladder() {
    assert_snapshot!(Album::ladder(&playing(), &LADDER[..4]));
}

#[test]
fn the_small_steps_of_the_ladder() {
    assert_snapshot!(Album::ladder(&playing(), &LADDER[4..]));
}

#[test]
fn the_ladder_in_ascii() {
    let mut model = told(ascii());
    play(&mut model, 12_184, speed(1_000_000));
    assert_snapshot!(Album::ladder(&model, &LADDER[2..]));
}

#[test]
fn states_are_told_in_words() {
    let mut album = Album::default();
    for (title, model) in states(&look()) {
        for (width, height) in [(120, 6), (80, 8), (30, 2), (60, 1)] {
            album.add(title, &model, size(width, height));
        }
    }
    assert_snapshot!(album.0);
}

#[test]
fn states_in_ascii() {
    let mut album = Album::default();
    for (title, model) in states(&ascii()) {
        album.add(title, &model, size(80, 8));
    }
    assert_snapshot!(album.0);
}

#[test]
fn loops_and_laps() {
    let mut album = Album::default();
    let small = size(80, 8);
    let mut model = paused();
    press(&mut model, "l");
    album.add("A is set", &model, small);
    stand(&mut model, State::Paused, 31_000);
    press(&mut model, "l");
    album.add("from A to B", &model, small);
    let range = TimeRange::between(at(12_184), at(31_000));
    let looping = Status {
        segment: status(State::Playing, 20_000, speed(1_000_000))
            .segment
            .with_range(range, wall(0))
            .with_at_end(AtEnd::Loop),
        laps: 4,
        ..status(State::Playing, 20_000, speed(1_000_000))
    };
    play_with(&mut model, 20_000, looping);
    album.add("it loops", &model, small);
    press(&mut model, "l");
    stand(&mut model, State::Paused, 20_000);
    album.add("cleared", &model, small);
    press(&mut model, "L");
    album.add("all of it", &model, small);
    let mut begun = told(look()).looping(Brackets::Ab(range), false);
    show(
        &mut begun,
        Status {
            state: State::Paused,
            ..looping
        },
    );
    album.add("from the start on", &begun, small);
    assert_snapshot!(album.0);
}

#[test]
fn counts_of_what_went_wrong() {
    let mut model = told(look());
    let status = Status {
        late: 123_456,
        damaged: 2,
        ..status(State::Playing, 30_000, speed(1_000_000))
    };
    let mut many = counts(30_000);
    for (topic, late, dropped) in [(0, 3, 0), (1, 12_345_678, 0), (4, 12, 3), (5, 12_345, 678)] {
        (many[topic].late, many[topic].dropped) = (late, dropped);
    }
    (many[3].sent, many[3].bytes) = (123_456_789, u64::MAX);
    model.observe(wall(0), Some(status), many, None);
    assert_snapshot!(picture(&model, size(140, 24)));
}

#[test]
fn zoomed() {
    let mut album = Album::default();
    let mut model = paused();
    press(&mut model, "z");
    album.add("the close-up is not read yet", &model, size(100, 10));
    answer_outline(&mut model);
    album.add("closer", &model, size(100, 24));
    press(&mut model, "z z");
    answer_outline(&mut model);
    for (width, height) in [(100, 10), (80, 24), (40, 6), (40, 5), (60, 1)] {
        album.add("much closer", &model, size(width, height));
    }
    assert_snapshot!(album.0);
}

#[test]
fn before_anything_is_known() {
    let mut album = Album::default();
    for (width, height) in [(100, 24), (40, 8), (20, 3), (40, 1)] {
        album.add("Unicode", &fresh(look()), size(width, height));
    }
    album.add("ASCII", &fresh(ascii()), size(80, 24));
    assert_snapshot!(album.0);
}

#[test]
fn faces_of_time() {
    let mut album = Album::default();
    for face in [TimeFormat::Local, TimeFormat::Utc, TimeFormat::Seconds] {
        let mut model = told(bagplay::tui::Look { face, ..look() });
        stand(&mut model, State::Paused, 12_184);
        for width in [160, 110, 60] {
            album.add(
                ["local time", "UTC", "seconds"][face as usize],
                &model,
                size(width, 8),
            );
        }
    }
    let later = bagplay::tui::Facts {
        clock_shift: Duration::from_secs(3_600),
        clock: None,
        ..facts()
    };
    let mut model = Model::new(later, look(), rows(), Vec::new(), size(80, 24));
    stand(&mut model, State::Paused, 12_184);
    album.add("shifted, and no clock is served", &model, size(110, 8));
    let audience = Audience {
        topics: vec![Some(1)],
        clock: None,
    };
    model.take(Event::Audience(audience), stamp(0));
    album.add("one subscriber", &model, size(110, 8));
    assert_snapshot!(album.0);
}

#[test]
fn filters() {
    let mut album = Album::default();
    let mut model = playing();
    press(&mut model, "down down down down /");
    album.add("nothing typed", &model, size(80, 16));
    type_text(&mut model, "TF");
    album.add("while it is typed", &model, size(80, 16));
    press(&mut model, "enter");
    album.add("kept", &model, size(80, 16));
    press(&mut model, "/");
    type_text(&mut model, "_nothing");
    album.add("no match", &model, size(80, 16));
    assert_snapshot!(album.0);
}

#[test]
fn the_table_is_scrolled() {
    let mut album = Album::default();
    let mut model = playing();
    model.take(Event::Resized(size(80, 20)), stamp(0));
    press(&mut model, "pagedown down down");
    album.add("further down", &model, size(80, 20));
    press(&mut model, "pagedown pagedown");
    album.add("at its end", &model, size(80, 20));
    assert_snapshot!(album.0);
}

/// Their ends tell them apart; the type goes before they are cut, and has the room that they leave.
#[test]
fn long_names_and_short_ones() {
    let model = |names: &dyn Fn(usize, &str) -> String| {
        let mut rows = rows();
        for (at, row) in rows.iter_mut().enumerate() {
            row.name = names(at, &row.name);
        }
        let mut model = Model::new(facts(), look(), rows, Vec::new(), size(80, 24));
        stand(&mut model, State::Paused, 12_184);
        model
    };
    let mut album = Album::default();
    let long = model(&|at, _| format!("rise/v0/sjofartsverket/pubsub/raw/ais/{}", 219_000 + at));
    for width in [140, 120, 80, 60, 40] {
        album.add("long names", &long, size(width, 14));
    }
    let short = model(&|_, name| name[..name.len().min(16)].to_owned());
    album.add("short names", &short, size(120, 22));
    assert_snapshot!(album.0);
}

#[test]
fn help() {
    let mut album = Album::default();
    let mut model = playing();
    press(&mut model, "?");
    album.add("two columns", &model, size(140, 40));
    album.add("two have no room", &model, size(108, 42));
    model.take(Event::Resized(size(80, 24)), stamp(0));
    album.add("one column", &model, size(80, 24));
    press(&mut model, "pagedown pagedown down");
    album.add("scrolled", &model, size(80, 24));
    press(&mut model, "pagedown pagedown pagedown pagedown");
    album.add("at its end", &model, size(80, 24));
    album.add("small", &model, size(40, 10));
    album.add("without room for a frame", &model, size(40, 4));
    let mut plain = told(ascii());
    press(&mut plain, "?");
    album.add("ASCII", &plain, size(130, 38));
    assert_snapshot!(album.0);
}

#[test]
fn help_of_other_keys() {
    let keys = |text| Keys::parse(text).unwrap();
    let bindings = look()
        .bindings
        .rebound(bagplay::tui::Action::Quit, &keys("x ctrl+c"))
        .rebound(
            bagplay::tui::Action::PlayPause,
            &keys("ctrl+alt+f5 enter m"),
        );
    let mut model = told(bagplay::tui::Look { bindings, ..look() });
    stand(&mut model, State::Paused, 0);
    let mut album = Album::default();
    album.add("footer", &model, size(100, 8));
    press(&mut model, "?");
    album.add("help", &model, size(140, 40));
    assert_snapshot!(album.0);
}

#[test]
fn the_event_log() {
    let mut album = Album::default();
    let mut model = playing();
    press(&mut model, "e");
    album.add("all of it", &model, size(80, 14));
    album.add("narrow, so that lines go on below", &model, size(44, 20));
    model.take(Event::Resized(size(60, 8)), stamp(0));
    press(&mut model, "down down");
    album.add("scrolled", &model, size(60, 8));
    assert_snapshot!(album.0);
}

fn field(depth: usize, name: &str, value: &str) -> FieldLine {
    FieldLine {
        depth,
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// A model that shows a topic, with this answer to what it asked for.
fn card(mut model: Model, topic: u32, found: Option<Found>) -> Model {
    press(&mut model, &"down ".repeat(usize::try_from(topic).unwrap()));
    press(&mut model, "enter");
    let (asked, at) = model.wants_message().unwrap();
    assert_eq!(asked, TopicId(topic));
    if let Some(found) = found {
        let peeked = Peeked {
            topic: asked,
            at,
            found,
        };
        model.take(Event::Peeked(peeked), stamp(0));
        assert_eq!(model.wants_message(), None);
    }
    model
}

fn imu() -> Decoded {
    let lines = [
        (0, "header", ""),
        (1, "stamp", "2026-06-14T12:32:19.180000000Z"),
        (1, "frame_id", "\"imu_link\""),
        (0, "orientation", ""),
        (1, "x", "0.001"),
        (1, "w", "0.999"),
        (
            0,
            "orientation_covariance",
            "[0.000025, 0, 0, 0, 0.000025, 0, 0, 0, … 9 in all]",
        ),
    ];
    Decoded {
        lines: lines
            .into_iter()
            .map(|(depth, name, value)| field(depth, name, value))
            .collect(),
        format: PayloadFormat::Cdr,
        problem: None,
        is_cut: true,
    }
}

fn message(said: Decoded) -> Found {
    Found::Message {
        log_time: at(12_180),
        publish_time: at(12_179),
        bytes: 324,
        said,
    }
}

fn hex() -> Decoded {
    Decoded {
        lines: vec![
            field(
                0,
                "00000000",
                "00 01 00 00 53 00 00 00  48 65 6c 6c 6f 20 77 6f  |....S...Hello wo|",
            ),
            field(
                0,
                "00000010",
                "72 6c 64 00                                       |rld.|",
            ),
        ],
        format: PayloadFormat::Hex,
        problem: Some("vendor_msgs/msg/VehicleStatus: no definition was recorded".to_owned()),
        is_cut: false,
    }
}

#[test]
fn topic_cards() {
    let mut album = Album::default();
    let decoded = card(paused(), 4, Some(message(imu())));
    album.add("decoded", &decoded, size(100, 34));
    album.add("narrow", &decoded, size(44, 24));
    album.add(
        "bytes",
        &card(paused(), 11, Some(message(hex()))),
        size(100, 18),
    );
    album.add("still read", &card(paused(), 8, None), size(80, 14));
    album.add(
        "no message",
        &card(paused(), 7, Some(Found::Nothing)),
        size(80, 14),
    );
    let damage =
        "drive_3.mcap: chunk at 73400320: its checksum does not match what is in it".to_owned();
    album.add(
        "damaged",
        &card(paused(), 9, Some(Found::Damaged(damage))),
        size(80, 14),
    );
    album.add(
        "not played",
        &card(paused(), 12, Some(Found::Nothing)),
        size(80, 14),
    );
    assert_snapshot!(album.0);
}

/// Two publishers offered the same; the clock is an hour later than the recording.
#[test]
fn a_card_of_two_publishers_on_a_shifted_clock() {
    let mut facts = bagplay::tui::Facts {
        clock_shift: Duration::from_secs(3_600),
        ..facts()
    };
    let offered = &mut facts.topics[4].offered_qos;
    let mut other = offered[0];
    other.durability = bagplay::ros::Durability::TransientLocal;
    offered.extend([other, offered[0]]);
    let mut album = Album::default();
    for look in [look(), ascii()] {
        let mut model = Model::new(facts.clone(), look, rows(), Vec::new(), size(80, 24));
        stand(&mut model, State::Paused, 12_184);
        let shown = card(model, 4, Some(message(imu())));
        album.add("two publishers", &shown, size(100, 24));
    }
    assert_snapshot!(album.0);
}

/// A recording of one instant is all played.
#[test]
fn one_message() {
    let point = TimeRange::between(at(0), at(0));
    let facts = bagplay::tui::Facts {
        recording: point,
        played: point,
        ..facts()
    };
    let mut model = Model::new(facts, look(), rows(), Vec::new(), size(80, 24));
    let status = status(State::Paused, 0, speed(1_000_000));
    let segment = status.segment.with_range(point, wall(0));
    model.observe(
        wall(0),
        Some(Status { segment, ..status }),
        Vec::new(),
        None,
    );
    assert_snapshot!(picture(&model, size(60, 8)));
}

#[test]
fn prompts() {
    let mut album = Album::default();
    let wide = size(100, 6);
    let mut asked = paused();
    press(&mut asked, "g");
    album.add("go to", &asked, wide);
    album.add("go to, narrow", &asked, size(30, 3));
    album.add("go to, in one line", &asked, size(60, 1));
    let mut wrong = asked.clone();
    type_text(&mut wrong, "14:32:07.184");
    album.add("typed", &wrong, wide);
    type_text(&mut wrong, " pm");
    press(&mut wrong, "enter");
    album.add("not understood", &wrong, wide);
    album.add("not understood, narrow", &wrong, size(40, 6));
    let mut outside = asked.clone();
    type_text(&mut outside, "23:00");
    press(&mut outside, "enter");
    album.add("not there", &outside, wide);
    let long =
        "a text that is much longer than there are columns on this screen, so it is scrolled";
    asked.take(Event::Paste(long.to_owned()), stamp(0));
    album.add("long", &asked, size(40, 6));
    press(&mut asked, "home");
    album.add("long, at its start", &asked, size(40, 6));
    let mut named = paused();
    press(&mut named, "M");
    album.add("name of a mark", &named, wide);
    type_text(&mut named, "日本 é");
    album.add("of wide letters", &named, wide);
    assert_snapshot!(album.0);
}

#[test]
fn overlays_in_ascii() {
    let mut album = Album::default();
    let mut model = told(ascii());
    stand(&mut model, State::Paused, 12_184);
    let shown = card(model.clone(), 4, Some(message(imu())));
    album.add("a topic", &shown, size(80, 24));
    for (title, keys) in [
        ("events", "e"),
        ("go to", "g"),
        ("a wrong time", "g x enter"),
        ("a filter without a match", "/ x y z"),
        ("help", "?"),
        ("closer, with A set", "l z"),
    ] {
        let mut model = model.clone();
        press(&mut model, keys);
        album.add(title, &model, size(80, 14));
    }
    assert_snapshot!(album.0);
}

/// Nothing but ASCII on every screen, whatever is logged.
#[test]
fn ascii_is_ascii() {
    let mut models: Vec<Model> = states(&ascii())
        .into_iter()
        .map(|(_, model)| model)
        .collect();
    let mut stood = told(ascii());
    stand(&mut stood, State::Paused, 12_184);
    for keys in [
        "?", "e", "g", "/", "M", "z", "T", "L", "l", "m", "x", "/ x y z",
    ] {
        let mut model = stood.clone();
        press(&mut model, keys);
        models.push(model);
    }
    let mut said = stood.clone();
    let line = bagplay::tui::Line {
        at: stamp(0),
        severity: bagplay::tui::Severity::Info,
        text: "×2 − 日本 “näher” … ▶".to_owned(),
    };
    said.take(Event::Said(line), stamp(0));
    models.push(said);
    models.push(card(stood.clone(), 4, Some(message(imu()))));
    let mut maximal = told(ascii());
    play(&mut maximal, 12_184, Pace::Max);
    press(&mut maximal, "] r");
    models.push(maximal);
    models.push(fresh(ascii()));
    for model in models {
        for (width, height) in LADDER {
            let (buffer, _) = drawn(&model, size(width, height));
            for row in text(&buffer) {
                assert!(row.is_ascii(), "{row}");
            }
        }
    }
}

/// Every row as runs of one style each; what is blank and plain is left out.
fn styles(model: &Model, size: Size) -> String {
    let (buffer, _) = drawn(model, size);
    let mut told = String::new();
    for row in 0..size.height {
        let mut runs: Vec<(String, String)> = Vec::new();
        for column in 0..size.width {
            let cell = &buffer[(column, row)];
            let style = named(cell.style());
            match runs.last_mut() {
                Some((last, text)) if *last == style => text.push_str(cell.symbol()),
                _ => runs.push((style, cell.symbol().to_owned())),
            }
        }
        let shown = runs
            .iter()
            .filter(|(style, text)| !style.is_empty() || !text.trim().is_empty());
        let shown = shown.map(|(style, text)| {
            let gap = if style.is_empty() { "" } else { " " };
            format!(
                "{style}{gap}{:?}",
                if style.contains("reversed") {
                    text
                } else {
                    text.trim()
                }
            )
        });
        writeln!(told, "{row:2}: {}", shown.collect::<Vec<_>>().join(", ")).unwrap();
    }
    told
}

fn named(style: Style) -> String {
    let mut words = Vec::new();
    for (what, color) in [("fg", style.fg), ("bg", style.bg)] {
        if let Some(color) = color.filter(|color| *color != Color::Reset) {
            words.push(format!("{what}:{color}"));
        }
    }
    for (name, modifier) in [
        ("bold", Modifier::BOLD),
        ("dim", Modifier::DIM),
        ("reversed", Modifier::REVERSED),
    ] {
        if style.add_modifier.contains(modifier) {
            words.push(name.to_owned());
        }
    }
    words.join(" ")
}

/// Screens with everything that has a colour on them.
fn colourful(theme: Theme) -> Vec<(&'static str, Model)> {
    let mut models = states(&themed(theme));
    models.retain(|(title, _)| {
        [
            "playing",
            "backwards",
            "paused",
            "reading",
            "third lap, late and damaged",
        ]
        .contains(title)
    });
    let mut looped = told(themed(theme));
    stand(&mut looped, State::Paused, 12_184);
    press(&mut looped, "l");
    stand(&mut looped, State::Paused, 31_000);
    press(&mut looped, "l down down z");
    answer_outline(&mut looped);
    models.push(("looped and zoomed", looped.clone()));
    press(&mut looped, "g x enter");
    models.push(("a wrong time", looped));
    models
}

fn styled(theme: Theme) -> String {
    let mut told = String::new();
    for (title, model) in colourful(theme) {
        writeln!(told, "== {title}\n{}", styles(&model, size(100, 24))).unwrap();
    }
    told
}

#[test]
fn styles_on_a_dark_background() {
    assert_snapshot!(styled(ThemeName::Dark.theme(None)));
}

#[test]
fn styles_on_a_light_background() {
    assert_snapshot!(styled(ThemeName::Light.theme(None)));
}

#[test]
fn styles_without_colours() {
    assert_snapshot!(styled(Theme::PLAIN));
}

#[test]
fn no_colour_says_what_no_word_says() {
    let dark = colourful(ThemeName::Dark.theme(None));
    let themes = [Theme::PLAIN, ThemeName::Light.theme(None)];
    for other in themes.map(colourful) {
        for ((title, coloured), (_, other)) in dark.iter().zip(other) {
            for (width, height) in LADDER {
                let size = size(width, height);
                assert_eq!(picture(coloured, size), picture(&other, size), "{title}");
            }
        }
    }
    let (buffer, _) = drawn(&colourful(Theme::PLAIN)[0].1, size(100, 24));
    assert!(has_no_colour(&buffer));
}

fn has_no_colour(buffer: &Buffer) -> bool {
    buffer
        .content()
        .iter()
        .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
}

/// A click lands where the eye sees it.
#[test]
fn the_playhead_stands_where_it_was_clicked() {
    for column in [1, 2, 17, 40, 78] {
        let mut model = paused();
        mouse(&mut model, Gesture::Press, column, 4);
        let rows = text(&drawn(&model, size(80, 24)).0);
        let head = rows[4].chars().position(|letter| letter == '●');
        assert_eq!(head, Some(column.into()), "{}", rows[4]);
    }
}
