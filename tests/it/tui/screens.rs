//! Snapshots of the transport bar: every screen, overlay and size class, as text and as styles. `INSTA_UPDATE=always
//! cargo test --test it -- tui::screens` updates them; `git diff` shows the changes.

use std::fmt::Write as _;

use bagplay::bag::{Hole, Silent, TopicId};
use bagplay::decode::{Decoded, FieldLine, MessageAt, PayloadFormat};
use bagplay::player::{ClockMode, Gate, Gates, LeadMotion, Pace, PlayedRange, State, Status};
use bagplay::time::{AtEnd, Duration, TimeRange};
use bagplay::tui::{
    Appearance, Awaited, ColorDepth, Event, Followed, FoundPictures, Gesture, Keys, LogLine,
    LookupResult, Model, PictureAt, PictureStyle, SYMBOLS, Severity, Size, Subscribers, Theme,
    ThemeName, TimeFormat,
};
use insta::assert_snapshot;
use ratatui::buffer::Buffer;
use ratatui::style::Color;

use super::demo_model::*;
use super::drawing::{CLASSES, Frames, styles};
use super::parts::parts;

/// Sizes from large to small.
const SIZES: [(u16, u16); 14] = [
    (200, 50),
    (140, 40),
    (120, 40),
    (100, 30),
    (80, 24),
    (60, 15),
    (40, 12),
    (40, 8),
    (30, 5),
    (20, 4),
    (20, 3),
    (20, 2),
    (60, 1),
    (10, 1),
];

fn paused() -> Model {
    let mut model = with_events(appearance());
    set_state(&mut model, State::Paused, 12_184);
    model
}

/// A model in each state, by the name of the state.
fn states(appearance: &bagplay::tui::Appearance) -> Vec<(&'static str, Model)> {
    let normal = speed(1_000_000);
    let playing_at = |millis, pace| {
        let mut model = with_events(appearance.clone());
        play(&mut model, millis, pace);
        model
    };
    let with_status = |status: Status| {
        let mut model = with_events(appearance.clone());
        set_status(&mut model, status);
        model
    };
    let gated = |gate| Status {
        gates: Gates::OPEN.close(gate),
        ..status(State::Gated, 0, normal)
    };
    let mut laps = with_events(appearance.clone());
    let lap = Status {
        laps: 2,
        late: 17,
        damaged: 1,
        ..status(State::Playing, 30_000, normal)
    };
    play_with(&mut laps, 30_000, lap);
    laps.adopt_played(PlayedRange::new(recording(), AtEnd::Loop));
    vec![
        ("nothing known yet", with_events(appearance.clone())),
        ("playing", playing_at(12_184, normal)),
        ("faster", playing_at(12_184, speed(2_000_000))),
        ("much slower", playing_at(12_184, speed(5_000))),
        ("as fast as it goes", playing_at(12_184, Pace::Max)),
        ("backwards", playing_at(42_184, speed(-500_000))),
        ("paused", with_status(status(State::Paused, 12_184, normal))),
        (
            "reading",
            with_status(status(State::Starved, 33_000, normal)),
        ),
        (
            "waiting for subscribers",
            with_status(gated(Gate::Subscribers)),
        ),
        ("waiting for two subscribers", {
            let mut model = with_status(gated(Gate::Subscribers));
            let awaited = Awaited {
                topics: vec![TopicId(1), TopicId(3)],
                left: Duration::from_millis(17_001),
            };
            model.handle(Event::Awaited(Some(awaited)), stamp(0));
            model
        }),
        ("without a connection", with_status(gated(Gate::Path))),
        ("before the start", with_status(gated(Gate::Delay))),
        (
            "at the end",
            with_status(status(State::Ended, 60_000, normal)),
        ),
        (
            "at the start",
            with_status(status(State::Ended, 0, speed(-1_000_000))),
        ),
        (
            "stopped",
            with_status(status(State::Stopped, 60_000, normal)),
        ),
        ("third lap, late and damaged", laps),
    ]
}

#[test]
fn large_sizes() {
    assert_snapshot!(Frames::of_sizes(&playing(), &SIZES[..4]));
}

#[test]
fn small_sizes() {
    assert_snapshot!(Frames::of_sizes(&playing(), &SIZES[4..]));
}

#[test]
fn sizes_in_ascii() {
    let mut model = with_events(ascii());
    play(&mut model, 12_184, speed(1_000_000));
    assert_snapshot!(Frames::of_sizes(&model, &SIZES[2..]));
}

#[test]
fn states_in_words() {
    let mut frames = Frames::default();
    for (title, model) in states(&appearance()) {
        for (width, height) in [(120, 6), (80, 8), (30, 2), (60, 1)] {
            frames.add(title, &model, size(width, height));
        }
    }
    assert_snapshot!(frames.0);
}

#[test]
fn following_another_clock() {
    let mut frames = Frames::default();
    let gated = |gate| Status {
        gates: Gates::OPEN.close(gate),
        ..status(State::Gated, 0, Pace::Follow)
    };
    let playing = status(State::Playing, 12_184, Pace::Follow);
    for (title, status, motion) in [
        ("nothing received", gated(Gate::Lead), LeadMotion::Unknown),
        ("silent", gated(Gate::Lead), LeadMotion::Lost),
        ("at half the speed", playing, LeadMotion::Moves(Some(0.5))),
        ("at an unknown speed", playing, LeadMotion::Moves(None)),
        ("it stands", playing, LeadMotion::Stands),
        (
            "an answer is awaited",
            gated(Gate::Answer),
            LeadMotion::Moves(Some(1.0)),
        ),
    ] {
        let mut model = with_events(appearance());
        let topic = "/clock".to_owned();
        model.handle(Event::Followed(Followed { topic, motion }), stamp(0));
        set_status(&mut model, status);
        for (width, height) in [(120, 6), (80, 8), (60, 1)] {
            frames.add(title, &model, size(width, height));
        }
    }
    assert_snapshot!(frames.0);
}

#[test]
fn states_in_ascii() {
    let mut frames = Frames::default();
    for (title, model) in states(&ascii()) {
        frames.add(title, &model, size(80, 8));
    }
    assert_snapshot!(frames.0);
}

#[test]
fn loops_and_laps() {
    let mut frames = Frames::default();
    let small = size(80, 8);
    let mut model = paused();
    press(&mut model, "l");
    frames.add("A is set", &model, small);
    set_state(&mut model, State::Paused, 31_000);
    press(&mut model, "l");
    frames.add("from A to B", &model, small);
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
    frames.add("it loops", &model, small);
    press(&mut model, "l");
    set_state(&mut model, State::Paused, 20_000);
    frames.add("cleared", &model, small);
    press(&mut model, "L");
    frames.add("all of it", &model, small);
    let mut begun = with_events(appearance());
    begun.adopt_played(PlayedRange {
        ab_loop: Some(range),
        ..PlayedRange::new(recording(), AtEnd::Hold)
    });
    set_status(
        &mut begun,
        Status {
            state: State::Paused,
            ..looping
        },
    );
    frames.add("from the start on", &begun, small);
    assert_snapshot!(frames.0);
}

#[test]
fn late_and_damaged_messages() {
    let mut model = with_events(appearance());
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
    assert!(model.wants_damaged_parts(2) && !model.wants_damaged_parts(2));
    model.handle(Event::Damaged(damaged()), stamp(0));
    assert_snapshot!(picture(&model, size(160, 24)));
}

/// What background reads meet is known before the player tells its next status.
#[test]
fn damage_is_counted_before_anything_is_played() {
    let mut model = paused();
    let header = |model: &Model| text(&drawn(model, size(160, 24)).0)[0].clone();
    assert!(!header(&model).contains("damaged"));
    assert!(model.wants_damaged_parts(1));
    assert!(header(&model).contains("  1 damaged"));
    let met = Status {
        damaged: 3,
        ..status(State::Paused, 12_184, speed(1_000_000))
    };
    set_status(&mut model, met);
    assert!(header(&model).contains("  3 damaged"));
}

/// Two recordings with nothing between them: both have as many columns as seconds.
#[test]
fn a_long_time_without_messages_takes_one_column() {
    let mut frames = Frames::default();
    for appearance in [appearance(), ascii()] {
        let mut model = with_events(appearance);
        set_state(&mut model, State::Paused, 12_184);
        let silent = TimeRange::between(at(14_000), at(50_000));
        let mut lane = lane(recording(), 480);
        for topic in &mut lane.outline.topics {
            topic.density[14 * 8..50 * 8].fill(0.0);
        }
        model.handle(Event::Lane(lane), stamp(0));
        let hole = Hole {
            range: silent,
            silent: Silent::Recording,
        };
        model.handle(Event::Holes(Some(vec![hole])), stamp(0));
        frames.add("both parts", &model, size(100, 24));
        // There is no room for both.
        frames.add("narrow", &model, size(10, 8));
    }
    assert_snapshot!(frames.0);
}

#[test]
fn zoomed() {
    let mut frames = Frames::default();
    let mut model = paused();
    press(&mut model, "z");
    frames.add("the close-up is not read yet", &model, size(100, 10));
    answer_outline(&mut model);
    frames.add("closer", &model, size(100, 24));
    press(&mut model, "z z");
    answer_outline(&mut model);
    for (width, height) in [(100, 10), (80, 24), (40, 6), (40, 5), (60, 1)] {
        frames.add("much closer", &model, size(width, height));
    }
    assert_snapshot!(frames.0);
}

#[test]
fn before_any_event() {
    let mut frames = Frames::default();
    for (width, height) in [(100, 24), (40, 8), (20, 3), (40, 1)] {
        frames.add("Unicode", &fresh(appearance()), size(width, height));
    }
    frames.add("ASCII", &fresh(ascii()), size(80, 24));
    assert_snapshot!(frames.0);
}

#[test]
fn time_formats() {
    let mut frames = Frames::default();
    for time_format in [TimeFormat::Local, TimeFormat::Utc, TimeFormat::Seconds] {
        let mut model = with_events(bagplay::tui::Appearance {
            time_format,
            ..appearance()
        });
        set_state(&mut model, State::Paused, 12_184);
        for width in [160, 110, 60] {
            frames.add(
                ["local time", "UTC", "seconds"][time_format as usize],
                &model,
                size(width, 8),
            );
        }
    }
    let later = bagplay::tui::Facts {
        clock_shift: Duration::from_secs(3_600),
        clock: ClockMode::Off,
        ..facts()
    };
    let mut model = Model::new(later, appearance(), rows(), Vec::new(), size(80, 24));
    set_state(&mut model, State::Paused, 12_184);
    frames.add("shifted, and no clock is served", &model, size(110, 8));
    let subscribers = Subscribers {
        topics: vec![Some(1)],
        clock: None,
    };
    model.handle(Event::Subscribers(subscribers), stamp(0));
    frames.add("one subscriber", &model, size(110, 8));
    assert_snapshot!(frames.0);
}

#[test]
fn filters() {
    let mut frames = Frames::default();
    let mut model = playing();
    press(&mut model, "down down down down /");
    frames.add("nothing typed", &model, size(80, 16));
    type_text(&mut model, "TF");
    frames.add("while it is typed", &model, size(80, 16));
    press(&mut model, "enter");
    frames.add("kept", &model, size(80, 16));
    press(&mut model, "/");
    type_text(&mut model, "_nothing");
    frames.add("no match", &model, size(80, 16));
    assert_snapshot!(frames.0);
}

#[test]
fn a_scrolled_table() {
    let mut frames = Frames::default();
    let mut model = playing();
    model.handle(Event::Resized(size(80, 20)), stamp(0));
    press(&mut model, "pagedown down down");
    frames.add("further down", &model, size(80, 20));
    press(&mut model, "pagedown pagedown");
    frames.add("at its end", &model, size(80, 20));
    assert_snapshot!(frames.0);
}

/// The ends of names distinguish them. The column of types is left out before names are cut, and uses the room they
/// leave.
#[test]
fn long_and_short_names() {
    let model = |names: &dyn Fn(usize, &str) -> String| {
        let mut rows = rows();
        for (at, row) in rows.iter_mut().enumerate() {
            row.name = names(at, &row.name);
        }
        let mut model = Model::new(facts(), appearance(), rows, Vec::new(), size(80, 24));
        set_state(&mut model, State::Paused, 12_184);
        model
    };
    let mut frames = Frames::default();
    let long = model(&|at, _| format!("rise/v0/sjofartsverket/pubsub/raw/ais/{}", 219_000 + at));
    for width in [140, 120, 80, 60, 40] {
        frames.add("long names", &long, size(width, 14));
    }
    let short = model(&|_, name| name[..name.len().min(16)].to_owned());
    frames.add("short names", &short, size(120, 22));
    assert_snapshot!(frames.0);
}

#[test]
fn help() {
    let mut frames = Frames::default();
    let mut model = playing();
    press(&mut model, "?");
    frames.add("two columns", &model, size(140, 40));
    frames.add("two have no room", &model, size(108, 42));
    model.handle(Event::Resized(size(80, 24)), stamp(0));
    frames.add("one column", &model, size(80, 24));
    press(&mut model, "pagedown pagedown down");
    frames.add("scrolled", &model, size(80, 24));
    press(&mut model, "pagedown pagedown pagedown pagedown");
    frames.add("at its end", &model, size(80, 24));
    frames.add("small", &model, size(40, 12));
    frames.add("without room for a frame", &model, size(40, 4));
    frames.add("three columns", &model, size(200, 50));
    let mut plain = with_events(ascii());
    press(&mut plain, "?");
    frames.add("ASCII", &plain, size(130, 38));
    assert_snapshot!(frames.0);
}

/// The symbols are at the end of the help: all of them fit on a usual screen.
#[test]
fn the_end_of_the_help_explains_all_symbols() {
    for appearance in [appearance(), ascii()] {
        let glyphs = appearance.glyphs;
        let mut model = with_events(appearance);
        model.handle(Event::Resized(size(80, 24)), stamp(0));
        press(&mut model, "?");
        model.perform(bagplay::tui::Action::End, stamp(0));
        let shown = picture(&model, size(80, 24));
        for (title, symbols) in SYMBOLS {
            assert!(shown.contains(title), "{title}: {shown}");
            for symbol in *symbols {
                let row = shown.lines().find(|row| row.contains(symbol.meaning));
                let row = row.unwrap_or_else(|| panic!("{}: {shown}", symbol.meaning));
                assert!(row.contains(&symbol.text(&glyphs)), "{row}");
            }
        }
        // On a small screen they are wrapped, and scrolled to.
        model.handle(Event::Resized(size(40, 12)), stamp(0));
        model.perform(bagplay::tui::Action::End, stamp(0));
        let small = picture(&model, size(40, 12));
        let last = SYMBOLS.last().unwrap().1.last().unwrap();
        let word = last.meaning.split(' ').next_back().unwrap();
        assert!(small.contains(word), "{small}");
    }
}

#[test]
fn help_with_rebound_keys() {
    let keys = |text| Keys::parse(text).unwrap();
    let bindings = appearance()
        .bindings
        .rebound(bagplay::tui::Action::Quit, &keys("x ctrl+c"))
        .rebound(
            bagplay::tui::Action::PlayPause,
            &keys("ctrl+alt+f5 enter m"),
        );
    let mut model = with_events(bagplay::tui::Appearance {
        bindings,
        ..appearance()
    });
    set_state(&mut model, State::Paused, 0);
    let mut frames = Frames::default();
    frames.add("footer", &model, size(100, 8));
    press(&mut model, "?");
    frames.add("help", &model, size(140, 40));
    assert_snapshot!(frames.0);
}

#[test]
fn the_event_log() {
    let mut frames = Frames::default();
    let mut model = playing();
    press(&mut model, "e");
    frames.add("all of it", &model, size(80, 14));
    frames.add("narrow, with wrapped lines", &model, size(44, 20));
    model.handle(Event::Resized(size(60, 8)), stamp(0));
    press(&mut model, "down down");
    frames.add("scrolled", &model, size(60, 8));
    assert_snapshot!(frames.0);
}

#[test]
fn long_lines_in_free_rows_of_the_log() {
    let mut model = with_events(appearance());
    for (severity, lost) in [
        (Severity::Warning, 3),
        (Severity::Info, 0),
        (Severity::Warning, 21),
        (Severity::Error, 2),
        (Severity::Error, 2),
    ] {
        let text = format!(
            "/lidar/points: {lost} messages did not fit into the queue of a subscriber, which takes them too slowly; \
             hint: a lower rate, or a larger depth of its queue, or --order topic"
        );
        let at = stamp(7_000);
        model.handle(Event::Log(LogLine { at, severity, text }), at);
    }
    set_state(&mut model, State::Paused, 12_184);
    let mut frames = Frames::default();
    for (title, height) in [
        ("no row is free", 24),
        ("some are", 28),
        ("all that are needed", 40),
    ] {
        frames.add(title, &model, size(80, height));
    }
    press(&mut model, "/ i m u enter");
    frames.add("filtered", &model, size(80, 24));
    assert_snapshot!(frames.0);
}

fn field(depth: usize, name: &str, value: &str) -> FieldLine {
    FieldLine {
        depth,
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// A model that shows a topic, with this answer to its request for a message.
fn card(mut model: Model, topic: u32, found: Option<MessageAt>) -> Model {
    press(&mut model, &"down ".repeat(usize::try_from(topic).unwrap()));
    press(&mut model, "enter");
    let (asked, at) = model.wanted_message().unwrap();
    assert_eq!(asked, TopicId(topic));
    if let Some(found) = found {
        let peeked = LookupResult {
            topic: asked,
            at,
            outcome: found,
        };
        model.handle(Event::Lookup(peeked), stamp(0));
        assert_eq!(model.wanted_message(), None);
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
    decoded(&lines, true)
}

fn message(decoded: Decoded) -> MessageAt {
    MessageAt::Message {
        log_time: at(12_180),
        publish_time: at(12_179),
        header_stamp: Some(at(12_168)),
        bytes: 324,
        decoded,
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
fn watched_fields() {
    assert_snapshot!(Frames::of_sizes(&watching(appearance()), &CLASSES));
}

#[test]
fn watched_fields_in_ascii() {
    assert_snapshot!(Frames::of_sizes(&watching(ascii()), &CLASSES[1..3]));
}

/// The front camera, whose picture is shown.
fn camera_card(appearance: Appearance) -> Model {
    let mut model = with_events(appearance);
    set_state(&mut model, State::Paused, 12_184);
    let mut model = card(model, 1, Some(message(image())));
    answer_pictures(&mut model);
    assert_eq!(model.wanted_pictures(), None);
    model
}

#[test]
fn pictures_in_a_card_and_in_the_pane() {
    let mut frames = Frames::default();
    let mut model = camera_card(ascii());
    for (width, height) in CLASSES {
        resize(&mut model, size(width, height));
        answer_pictures(&mut model);
        frames.add(
            &format!("card {width}x{height}"),
            &model,
            size(width, height),
        );
    }
    press(&mut model, "w esc");
    for (width, height) in CLASSES {
        resize(&mut model, size(width, height));
        answer_pictures(&mut model);
        frames.add(
            &format!("pane {width}x{height}"),
            &model,
            size(width, height),
        );
    }
    assert_snapshot!(frames.0);
}

/// The density of the topic is one row beside its picture, and the picture is that of the message or says that it is
/// not.
#[test]
fn a_card_with_a_picture_shows_what_belongs_together() {
    let mut model = camera_card(ascii());
    for (width, height) in CLASSES {
        resize(&mut model, size(width, height));
        answer_pictures(&mut model);
        let rows = text(&drawn(&model, size(width, height)).0);
        let strip = rows.iter().position(|row| row.contains("density   "));
        if let Some(below) = strip.and_then(|at| rows.get(at + 1)) {
            // An empty line, up to the frame or the picture.
            let lead: String = below.chars().skip(1).take(15).collect();
            assert_eq!(lead.trim(), "", "{width}x{height}: {rows:#?}");
            let strip = &rows[strip.unwrap()];
            assert!(strip.contains('='), "{strip}");
        }
        let of_message = rows.iter().find(|row| row.contains("picture  "));
        if let Some(row) = of_message {
            assert!(row.contains("64x48 rgb8 "), "{row}");
            assert!(!row.contains("ago") && !row.contains("earlier"), "{row}");
        }
    }
    // The message is read at once, its picture a moment later.
    resize(&mut model, size(200, 50));
    answer_pictures(&mut model);
    set_state(&mut model, State::Paused, 12_284);
    let (topic, at) = model.wanted_message().unwrap();
    let outcome = MessageAt::Message {
        log_time: at - Duration::from_millis(4),
        publish_time: at,
        header_stamp: None,
        bytes: 324,
        decoded: image(),
    };
    let read = LookupResult { topic, at, outcome };
    model.handle(Event::Lookup(read), stamp(0));
    let shown = |model: &Model| picture(model, size(200, 50));
    let says = "64x48 rgb8, of the message 00:00.100 earlier";
    assert!(shown(&model).contains(says), "{}", shown(&model));
    answer_pictures(&mut model);
    assert!(!shown(&model).contains("earlier"), "{}", shown(&model));
}

/// Upper and lower pixel of each cell have their colours, in as many as the terminal has.
#[test]
fn pictures_have_the_colours_of_their_pixels() {
    let colours = |depth| {
        let pictures = PictureStyle::Blocks(depth);
        let mut model = camera_card(Appearance {
            pictures,
            ..appearance()
        });
        resize(&mut model, size(120, 40));
        answer_pictures(&mut model);
        let (buffer, _) = drawn(&model, size(120, 40));
        let cells = buffer.content().iter();
        let cells = cells.filter(|cell| cell.symbol() == "▀");
        cells.map(|cell| (cell.fg, cell.bg)).collect::<Vec<_>>()
    };
    let exact = colours(ColorDepth::True);
    assert!(exact.len() > 500, "{}", exact.len());
    // In the middle of the disc.
    let disc = Color::Rgb(255, 240, 200);
    assert!(exact.contains(&(disc, disc)));
    let indexed = colours(ColorDepth::Indexed);
    assert_eq!(indexed.len(), exact.len());
    let is_indexed = |colour| matches!(colour, Color::Indexed(16..) | Color::Reset);
    assert!(
        indexed
            .iter()
            .all(|(fg, bg)| is_indexed(*fg) && is_indexed(*bg))
    );
}

#[test]
fn a_picture_that_cannot_be_shown_says_why() {
    let mut frames = Frames::default();
    for (name, found) in [
        ("reading", None),
        ("none", Some(PictureAt::NoMessage)),
        (
            "problem",
            Some(PictureAt::Problem(
                "the encoding `h264` is not supported".to_owned(),
            )),
        ),
    ] {
        let mut model = camera_card(appearance());
        resize(&mut model, size(100, 20));
        let (slots, at) = model.wanted_pictures().unwrap();
        let found = found.map(|found| (slots[0], found)).into_iter().collect();
        model.handle(Event::Pictures(FoundPictures { at, found }), stamp(0));
        frames.add(name, &model, size(100, 20));
    }
    assert_snapshot!(frames.0);
}

fn resize(model: &mut Model, size: Size) {
    model.handle(Event::Resized(size), stamp(0));
}

fn image() -> Decoded {
    let lines = [
        (0, "header", ""),
        (1, "stamp", "2026-06-14T12:32:19.180000000Z"),
        (0, "height", "48"),
        (0, "width", "64"),
        (0, "encoding", "\"rgb8\""),
        (0, "data", "[0, 0, 90, 3, 0, 90, 7, 0, … 9216 in all]"),
    ];
    decoded(&lines, false)
}

fn decoded(lines: &[(usize, &str, &str)], is_cut: bool) -> Decoded {
    let lines = lines.iter();
    Decoded {
        lines: lines
            .map(|(depth, name, value)| field(*depth, name, value))
            .collect(),
        format: PayloadFormat::Cdr,
        problem: None,
        is_cut,
    }
}

#[test]
fn topic_cards() {
    let mut frames = Frames::default();
    let decoded = card(paused(), 4, Some(message(imu())));
    frames.add("decoded", &decoded, size(100, 34));
    let mut watched = decoded.clone();
    press(&mut watched, "down down w down");
    frames.add("a watched field", &watched, size(100, 34));
    frames.add("narrow", &decoded, size(44, 24));
    frames.add(
        "bytes",
        &card(paused(), 11, Some(message(hex()))),
        size(100, 18),
    );
    frames.add("still read", &card(paused(), 8, None), size(80, 14));
    frames.add(
        "no message",
        &card(paused(), 7, Some(MessageAt::NoMessage)),
        size(80, 14),
    );
    let damage =
        "drive_3.mcap: chunk at 73400320: its checksum does not match what is in it".to_owned();
    frames.add(
        "damaged",
        &card(paused(), 9, Some(MessageAt::Damaged(damage))),
        size(80, 14),
    );
    frames.add(
        "not played",
        &card(paused(), 12, Some(MessageAt::NoMessage)),
        size(80, 14),
    );
    assert_snapshot!(frames.0);
}

/// Two of three publishers offered the same profile; the clock is an hour later than the recording.
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
    let mut frames = Frames::default();
    for appearance in [appearance(), ascii()] {
        let mut model = Model::new(facts.clone(), appearance, rows(), Vec::new(), size(80, 24));
        set_state(&mut model, State::Paused, 12_184);
        let shown = card(model, 4, Some(message(imu())));
        frames.add("two publishers", &shown, size(100, 24));
    }
    assert_snapshot!(frames.0);
}

/// The bar of a recording of one instant is that of a played range.
#[test]
fn a_recording_of_one_message() {
    let point = TimeRange::between(at(0), at(0));
    let facts = bagplay::tui::Facts {
        recording: point,
        played: PlayedRange::new(point, AtEnd::Hold),
        ..facts()
    };
    let mut model = Model::new(facts, appearance(), rows(), Vec::new(), size(80, 24));
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
    let mut frames = Frames::default();
    let wide = size(100, 6);
    let mut asked = paused();
    press(&mut asked, "g");
    frames.add("go to", &asked, wide);
    frames.add("go to, narrow", &asked, size(30, 3));
    frames.add("go to, in one line", &asked, size(60, 1));
    let mut wrong = asked.clone();
    type_text(&mut wrong, "14:32:07.184");
    frames.add("typed", &wrong, wide);
    type_text(&mut wrong, " pm");
    press(&mut wrong, "enter");
    frames.add("not understood", &wrong, wide);
    frames.add("not understood, narrow", &wrong, size(40, 6));
    let mut outside = asked.clone();
    type_text(&mut outside, "23:00");
    press(&mut outside, "enter");
    frames.add("not there", &outside, wide);
    let long =
        "a text that is much longer than there are columns on this screen, so it is scrolled";
    asked.handle(Event::Paste(long.to_owned()), stamp(0));
    frames.add("long", &asked, size(40, 6));
    press(&mut asked, "home");
    frames.add("long, at its start", &asked, size(40, 6));
    let mut named = paused();
    press(&mut named, "M");
    frames.add("name of a mark", &named, wide);
    type_text(&mut named, "日本 é");
    frames.add("of wide letters", &named, wide);
    let mut condition = card(paused(), 4, Some(message(imu())));
    press(&mut condition, "/");
    type_text(&mut condition, "orientation.speed >");
    frames.add("a condition", &condition, size(80, 20));
    press(&mut condition, "enter");
    frames.add("a condition that is wrong", &condition, size(80, 20));
    assert_snapshot!(frames.0);
}

#[test]
fn overlays_in_ascii() {
    let mut frames = Frames::default();
    let mut model = with_events(ascii());
    set_state(&mut model, State::Paused, 12_184);
    let shown = card(model.clone(), 4, Some(message(imu())));
    frames.add("a topic", &shown, size(80, 24));
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
        frames.add(title, &model, size(80, 14));
    }
    assert_snapshot!(frames.0);
}

/// Every screen is in ASCII, whatever is logged.
#[test]
fn ascii_is_ascii() {
    let mut models: Vec<Model> = states(&ascii())
        .into_iter()
        .map(|(_, model)| model)
        .collect();
    let mut paused = with_events(ascii());
    set_state(&mut paused, State::Paused, 12_184);
    for keys in [
        "?", "e", "g", "/", "M", "z", "T", "L", "l", "m", "x", "/ x y z",
    ] {
        let mut model = paused.clone();
        press(&mut model, keys);
        models.push(model);
    }
    let mut logged = paused.clone();
    let line = bagplay::tui::LogLine {
        at: stamp(0),
        severity: bagplay::tui::Severity::Info,
        text: "×2 − 日本 “näher” … ▶".to_owned(),
    };
    logged.handle(Event::Log(line), stamp(0));
    models.push(logged);
    models.push(card(paused.clone(), 4, Some(message(imu()))));
    let mut maximal = with_events(ascii());
    play(&mut maximal, 12_184, Pace::Max);
    press(&mut maximal, "] r");
    models.push(maximal);
    models.push(fresh(ascii()));
    for model in models {
        for (width, height) in SIZES {
            let (buffer, _) = drawn(&model, size(width, height));
            for row in text(&buffer) {
                assert!(row.is_ascii(), "{row}");
            }
        }
    }
}

/// Screens that show everything that has a colour.
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
    let mut looped = with_events(themed(theme));
    set_state(&mut looped, State::Paused, 12_184);
    press(&mut looped, "l");
    set_state(&mut looped, State::Paused, 31_000);
    press(&mut looped, "l down down z");
    answer_outline(&mut looped);
    models.push(("looped and zoomed", looped.clone()));
    models.push(("watched", watching(themed(theme))));
    press(&mut looped, "g x enter");
    models.push(("a wrong time", looped));
    models.extend(parts(&themed(theme)));
    models
}

fn styled(theme: Theme) -> String {
    let mut text = String::new();
    for (title, model) in colourful(theme) {
        writeln!(text, "== {title}\n{}", styles(&model, size(100, 24))).unwrap();
    }
    text
}

#[test]
fn styles_on_a_dark_background() {
    assert_snapshot!(styled(theme(ThemeName::Dark, ColorDepth::True)));
}

#[test]
fn styles_on_a_light_background() {
    assert_snapshot!(styled(theme(ThemeName::Light, ColorDepth::True)));
}

#[test]
fn styles_with_sixteen_colours() {
    assert_snapshot!(styled(theme(ThemeName::Dark, ColorDepth::Sixteen)));
}

#[test]
fn styles_without_colours() {
    assert_snapshot!(styled(Theme::PLAIN));
}

#[test]
fn styles_of_the_other_themes() {
    let mut text = String::new();
    for name in [ThemeName::Safe, ThemeName::Amber] {
        let colours = theme(name, ColorDepth::True);
        for (title, model) in colourful(colours) {
            if ["playing", "in damage"].contains(&title) {
                writeln!(
                    text,
                    "== {name:?}: {title}\n{}",
                    styles(&model, size(100, 24))
                )
                .unwrap();
            }
        }
    }
    assert_snapshot!(text);
}

#[test]
fn colour_is_never_the_only_sign() {
    let dark = colourful(theme(ThemeName::Dark, ColorDepth::True));
    let themes = [Theme::PLAIN, theme(ThemeName::Light, ColorDepth::True)];
    for other in themes.map(colourful) {
        for ((title, coloured), (_, other)) in dark.iter().zip(other) {
            for (width, height) in SIZES {
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

#[test]
fn the_playhead_is_drawn_where_it_was_clicked() {
    for column in [1, 2, 17, 40, 78] {
        let mut model = paused();
        mouse(&mut model, Gesture::Press, column, 4);
        let rows = text(&drawn(&model, size(80, 24)).0);
        let head = rows[4].chars().position(|letter| letter == '●');
        assert_eq!(head, Some(column.into()), "{}", rows[4]);
    }
}
