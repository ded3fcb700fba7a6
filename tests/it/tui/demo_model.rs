//! A realistic transport bar for tests: a minute of a vehicle's recording with a gap in it, a hand-made player status,
//! and counts that grow accordingly. No thread, no clock, no terminal.

use std::sync::Arc;

use bagplay::bag::{
    Damage, DamageExtent, DamageKind, DamagedPart, Hole, Outline, Schema, Silent, Topic, TopicId,
    TopicOutline,
};
use bagplay::marks::Mark;
use bagplay::picture::{Picture, PixelSize, Pixels};
use bagplay::player::{ClockMode, Gates, Pace, PlayedRange, State, Status, TopicCounts};
use bagplay::ros::{Durability, Qos, Reliability};
use bagplay::time::{AtEnd, Duration, Ros, Segment, Speed, Steady, Time, TimeRange};
use bagplay::tui::{
    Action, Appearance, Background, Bindings, ColorDepth, Effect, Event, Facts, FoundPictures,
    Gesture, Glyphs, Lane, LogLine, Model, Mouse, PictureAt, PictureStyle, SavedField, SavedPin,
    Series, Severity, Size, Subscribers, Theme, ThemeName, TimeFormat, TopicRow, WatchedValue,
    WatchedValues, draw,
};
use bagplay::untrusted::FileName;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::text::Span;

/// 2026-06-14 14:32:07 in central Europe.
const START: i64 = 1_781_440_327_000_000_000;
/// How long the recording is.
pub(crate) const SECONDS: i64 = 60;

/// Name, type, messages a second, bytes of a message.
pub(crate) const TOPICS: [(&str, &str, i64, u64); 13] = [
    (
        "/camera/front/camera_info",
        "sensor_msgs/msg/CameraInfo",
        30,
        372,
    ),
    (
        "/camera/front/image_raw",
        "sensor_msgs/msg/Image",
        30,
        600_064,
    ),
    (
        "/diagnostics",
        "diagnostic_msgs/msg/DiagnosticArray",
        1,
        2_180,
    ),
    ("/gnss/fix", "sensor_msgs/msg/NavSatFix", 5, 132),
    ("/imu/data", "sensor_msgs/msg/Imu", 200, 324),
    (
        "/lidar/points",
        "sensor_msgs/msg/PointCloud2",
        10,
        1_048_776,
    ),
    (
        "/localization/kinematic_state",
        "nav_msgs/msg/Odometry",
        50,
        720,
    ),
    ("/map", "nav_msgs/msg/OccupancyGrid", 0, 4_000_088),
    (
        "/planning/scenario_planning/lane_driving/trajectory",
        "autoware_planning_msgs/msg/Trajectory",
        10,
        18_400,
    ),
    ("/tf", "tf2_msgs/msg/TFMessage", 100, 212),
    ("/tf_static", "tf2_msgs/msg/TFMessage", 0, 1_020),
    ("/vehicle/status", "vendor_msgs/msg/VehicleStatus", 20, 64),
    ("/operator/notes", "", 0, 40),
];
/// The muted topic, and the topic that is not played.
pub(crate) const MUTED: TopicId = TopicId(9);
pub(crate) const LEFT_OUT: TopicId = TopicId(12);

/// The time this many milliseconds after the start of the recording.
pub(crate) fn at(millis: i64) -> Time<Ros> {
    Time::from_nanos(START + millis * 1_000_000)
}

/// The wall time this many milliseconds after the start of the program.
pub(crate) fn wall(millis: i64) -> Time<Steady> {
    Time::from_nanos(5_000_000_000 + millis * 1_000_000)
}

/// The date this many milliseconds after noon, on another day than the recording's.
pub(crate) fn stamp(millis: i64) -> Timestamp {
    let noon: Timestamp = "2026-07-01T10:00:00Z".parse().unwrap();
    noon + std::time::Duration::from_millis(millis.unsigned_abs())
}

pub(crate) fn recording() -> TimeRange {
    TimeRange::between(at(0), at(SECONDS * 1000))
}

pub(crate) fn speed(millionths: i32) -> Pace {
    Pace::At(Speed::from_millionths(millionths).unwrap())
}

fn is_latched(name: &str) -> bool {
    ["/map", "/tf_static"].contains(&name)
}

fn qos(name: &str) -> Qos {
    Qos {
        reliability: if name.starts_with("/camera") || name.starts_with("/lidar") {
            Reliability::BestEffort
        } else {
            Reliability::Reliable
        },
        durability: if is_latched(name) {
            Durability::TransientLocal
        } else {
            Durability::Volatile
        },
        ..Qos::default()
    }
}

fn topics() -> Vec<Topic> {
    let topic = |(name, type_name, hz, _): (&str, &str, i64, u64)| Topic {
        name: name.to_owned(),
        schema: (!type_name.is_empty()).then(|| Schema {
            name: type_name.to_owned(),
            encoding: "ros2msg".to_owned(),
            data: definition(type_name).to_owned().into(),
        }),
        encoding: if type_name.is_empty() { "json" } else { "cdr" }.to_owned(),
        offered_qos: vec![qos(name)],
        type_hash: (name == "/imu/data").then(|| format!("RIHS01_{}", "7d9a00ff".repeat(8))),
        ros1_md5: None,
        is_latched: is_latched(name),
        message_count: match name {
            "/map" => Some(1),
            "/tf_static" => Some(3),
            "/operator/notes" => None,
            _ => Some((hz * SECONDS).unsigned_abs()),
        },
    };
    TOPICS.into_iter().map(topic).collect()
}

fn definition(type_name: &str) -> &'static str {
    if type_name == "sensor_msgs/msg/Imu" {
        "# An inertial measurement unit.\nstd_msgs/Header header\n\ngeometry_msgs/Quaternion orientation\n\
         float64[9] orientation_covariance\t# row major\n"
    } else {
        ""
    }
}

/// A short version of the parser of the command line: `50%`, `+5s` from the start, `-5s` from the end, seconds.
fn parse_time(text: &str, range: TimeRange) -> Result<Time<Ros>, String> {
    let number = |text: &str| {
        let text = text.trim_end_matches('s');
        text.parse::<f64>()
            .ok()
            .and_then(Duration::from_secs_f64)
            .ok_or_else(|| format!("`{text}` is not a time; hint: +5s, 50%, 14:32:07"))
    };
    if let Some(percent) = text.strip_suffix('%') {
        let into = range
            .duration()
            .mul_f64(number(percent)?.as_secs_f64() / 100.0);
        return Ok(range.start().saturating_add(into.unwrap_or(Duration::ZERO)));
    }
    if let Some(span) = text.strip_prefix('+') {
        return Ok(range.start().saturating_add(number(span)?));
    }
    if let Some(span) = text.strip_prefix('-') {
        return Ok(range.stop().saturating_sub(number(span)?));
    }
    Ok(Time::ZERO.saturating_add(number(text)?))
}

pub(crate) fn facts() -> Facts {
    Facts {
        name: "drive.mcap".to_owned(),
        recording: recording(),
        played: PlayedRange::new(recording(), AtEnd::Hold),
        is_elsewhere: false,
        clock_shift: Duration::ZERO,
        clock: ClockMode::Every(Duration::from_millis(25)),
        skip_empty: None,
        topics: topics(),
        parse_time,
        zone: TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap(),
    }
}

pub(crate) fn rows() -> Vec<TopicRow> {
    let row = |((name, ..), id): ((&str, &str, i64, u64), u32)| TopicRow {
        id: TopicId(id),
        name: name.to_owned(),
        left_out: (TopicId(id) == LEFT_OUT).then(|| "it has no message type".to_owned()),
        offered: (TopicId(id) != LEFT_OUT).then(|| qos(name)),
        is_muted: TopicId(id) == MUTED,
    };
    TOPICS.into_iter().zip(0..).map(row).collect()
}

pub(crate) fn marks() -> Vec<Mark> {
    [
        (9_500, "pedestrian"),
        (27_000, ""),
        (48_250, "hard braking"),
    ]
    .into_iter()
    .map(|(millis, name)| Mark {
        time: at(millis),
        name: name.to_owned(),
    })
    .collect()
}

/// A theme on a dark background.
pub(crate) fn theme(name: ThemeName, depth: ColorDepth) -> Theme {
    name.theme(Background::Dark, depth)
}

/// Dark, in Unicode, local times.
pub(crate) fn appearance() -> Appearance {
    Appearance {
        bindings: Bindings::default(),
        glyphs: Glyphs::UNICODE,
        theme: theme(ThemeName::Dark, ColorDepth::True),
        time_format: TimeFormat::Local,
        pictures: PictureStyle::Blocks(ColorDepth::True),
        has_mouse: true,
    }
}

pub(crate) fn ascii() -> Appearance {
    Appearance {
        glyphs: Glyphs::ASCII,
        pictures: PictureStyle::Characters,
        ..appearance()
    }
}

pub(crate) fn themed(theme: Theme) -> Appearance {
    Appearance {
        theme,
        ..appearance()
    }
}

pub(crate) fn size(width: u16, height: u16) -> Size {
    Size { width, height }
}

/// Before any event: no status, no lane, no log lines.
pub(crate) fn fresh(appearance: Appearance) -> Model {
    Model::new(facts(), appearance, rows(), marks(), size(80, 24))
}

/// With a lane, subscribers and some log lines; without a status of the player.
pub(crate) fn with_events(appearance: Appearance) -> Model {
    after_events(fresh(appearance))
}

/// The model after the same events.
pub(crate) fn after_events(mut model: Model) -> Model {
    let mut counts = vec![Some(0); TOPICS.len()];
    for (topic, count) in [(0, 1), (1, 1), (4, 2), (5, 1), (9, 4), (10, 4)] {
        counts[topic] = Some(count);
    }
    counts[LEFT_OUT.index()] = None;
    let subscribers = Subscribers {
        topics: counts,
        clock: Some(3),
    };
    for event in [
        Event::Lane(lane(recording(), 480)),
        Event::Holes(Some(holes())),
        Event::Periods(periods()),
        Event::Subscribers(subscribers),
    ] {
        model.handle(event, stamp(0));
    }
    for (millis, severity, text) in [
        (1_000, Severity::Debug, "router tcp/127.0.0.1:7447"),
        (
            2_000,
            Severity::Info,
            "/imu/data: a subscriber joined, 1 now",
        ),
        (
            2_300,
            Severity::Info,
            "/imu/data: a subscriber joined, 2 now",
        ),
        (
            3_500,
            Severity::Warning,
            "/vehicle/status: its subscriber asks for transient local, which is not offered",
        ),
        (
            5_000,
            Severity::Error,
            "the marks are not kept: drive.marks.yaml: permission denied",
        ),
        (6_000, Severity::Info, "no later mark"),
        (6_200, Severity::Info, "no later mark"),
        (6_400, Severity::Info, "no later mark"),
    ] {
        let line = LogLine {
            at: stamp(millis),
            severity,
            text: text.to_owned(),
        };
        model.handle(Event::Log(line), stamp(millis));
    }
    model
}

/// Playing at 1× for 1.5 s, now at 12.184 s.
pub(crate) fn playing() -> Model {
    let mut model = with_events(appearance());
    play(&mut model, 12_184, speed(1_000_000));
    model
}

/// The same, with three watched fields and their values.
pub(crate) fn watching(appearance: Appearance) -> Model {
    let saved = [
        (
            "/imu/data",
            "sensor_msgs/msg/Imu",
            Some("angular_velocity.z"),
        ),
        ("/camera/front/image_raw", "sensor_msgs/msg/Image", None),
        (
            "/localization/kinematic_state",
            "nav_msgs/msg/Odometry",
            Some("child_frame_id"),
        ),
    ];
    let saved = saved.map(|(topic, type_name, field)| saved_pin(topic, type_name, field));
    let mut model = with_events(appearance).watching(&saved);
    play(&mut model, 12_184, speed(1_000_000));
    answer_watched(&mut model);
    model
}

/// A saved pin; without a field, the delay.
pub(crate) fn saved_pin(topic: &str, type_name: &str, field: Option<&str>) -> SavedPin {
    let value = |path: &str| SavedField::Value(path.to_owned());
    SavedPin {
        topic: topic.to_owned(),
        type_name: type_name.to_owned(),
        field: field.map_or(SavedField::Delay, value),
    }
}

/// Answers the request for watched values, if there is one: a swinging number, delays with a hole from 14 s to 15 s,
/// and texts.
pub(crate) fn answer_watched(model: &mut Model) {
    let Some((pins, range)) = model.wanted_values() else {
        return;
    };
    let millis = |time: Time<Ros>| time.saturating_since(recording().start()).as_millis();
    let mut series = vec![Series::new(range); pins.len()];
    for now in (millis(range.start())..=millis(range.stop())).step_by(20) {
        let seconds = f64::from(i32::try_from(now).unwrap()) / 1000.0;
        if let Some(it) = series.get_mut(0) {
            it.push(at(now), WatchedValue::Number((seconds * 2.0).sin() * 0.35));
        }
        if let Some(it) = series
            .get_mut(1)
            .filter(|_| !(14_000..15_000).contains(&now))
        {
            let jitter = f64::from(i32::try_from(now / 20 * 7 % 11).unwrap());
            it.push(at(now), WatchedValue::Number(0.012 + jitter / 2000.0));
        }
        if let Some(it) = series.get_mut(2).filter(|_| now % 1000 == 0) {
            it.push(
                at(now),
                WatchedValue::Text(format!("base_link {}", now / 1000)),
            );
        }
    }
    model.handle(
        Event::Watched(WatchedValues {
            pins,
            range,
            series,
        }),
        stamp(0),
    );
}

/// Answers the request for pictures, if there is one: a disc on a slope of colours, as it is at the playhead.
pub(crate) fn answer_pictures(model: &mut Model) {
    let Some((slots, at)) = model.wanted_pictures() else {
        return;
    };
    let found = slots.into_iter().map(|slot| {
        let room = (
            u32::from(slot.cells.width),
            u32::from(slot.cells.height) * 2,
        );
        (slot, disc(at, room))
    });
    let found = found.collect();
    model.handle(Event::Pictures(FoundPictures { at, found }), stamp(0));
}

/// A picture of 64 x 48 pixels, made smaller for so many columns and rows.
fn disc(at: Time<Ros>, (columns, rows): (u32, u32)) -> PictureAt {
    const WIDTH: usize = 64;
    const HEIGHT: usize = 48;
    let pixel = |index: usize| {
        let (x, y) = (index % WIDTH, index / WIDTH);
        let distance = x.abs_diff(40).pow(2) + y.abs_diff(20).pow(2);
        let shade = |part: usize, of: usize| u8::try_from(part * 255 / of).unwrap();
        if distance < 12 * 12 {
            [255, 240, 200]
        } else {
            [shade(x, WIDTH), shade(y, HEIGHT), 90]
        }
    };
    let bytes: Vec<u8> = (0..WIDTH * HEIGHT).flat_map(pixel).collect();
    let recorded = PixelSize {
        width: 64,
        height: 48,
    };
    let limit = PixelSize {
        width: columns,
        height: rows,
    };
    let pixels = Pixels::from_bytes(recorded, &bytes).unwrap();
    PictureAt::Picture {
        log_time: at - Duration::from_millis(4),
        picture: Arc::new(Picture {
            pixels: pixels.fitted(limit),
            recorded,
            encoding: "rgb8".to_owned(),
        }),
        encoded: None,
    }
}

/// The density over a range: rising and falling, no messages from 20 s to 26 s.
pub(crate) fn lane(range: TimeRange, parts: usize) -> Lane {
    let span = range.duration().as_nanos();
    let density = |hz: i64| {
        let part = |at: usize| {
            let at = i64::try_from(at).unwrap();
            let count = i64::try_from(parts).unwrap();
            let into = range.start().as_nanos() - START + span / count * at;
            let millis = into / 1_000_000;
            if (20_000..26_000).contains(&millis) {
                return 0.0;
            }
            let swell = 4 + (millis / 1_000 % 16 - 8).abs();
            #[expect(clippy::cast_precision_loss, reason = "it is a picture")]
            let messages = (hz * swell) as f64;
            messages
        };
        (0..parts).map(part).collect()
    };
    Lane {
        range,
        outline: Outline {
            topics: TOPICS
                .iter()
                .map(|(_, _, hz, _)| TopicOutline {
                    density: density(*hz),
                    bytes: None,
                })
                .collect(),
        },
        is_whole: true,
    }
}

/// The usual times between messages: all topics are steady but one.
pub(crate) fn periods() -> Vec<Option<Duration>> {
    let period = |(name, _, hz, _): (&str, &str, i64, u64)| {
        let is_steady = hz > 0 && name != "/diagnostics";
        is_steady.then(|| Duration::from_nanos(1_000_000_000 / hz))
    };
    TOPICS.into_iter().map(period).collect()
}

/// Nothing was recorded for 6 s, and images are missing for 0.3 s, which is 0.5 % of the recording.
pub(crate) fn holes() -> Vec<Hole> {
    let images = Silent::Topic {
        id: TopicId(1),
        period: Duration::from_millis(33),
    };
    let hole = |(silent, from, to)| Hole {
        silent,
        range: TimeRange::between(at(from), at(to)),
    };
    let holes = [
        (Silent::Recording, 20_000, 26_000),
        (images, 40_000, 40_300),
    ];
    holes.map(hole).to_vec()
}

/// A chunk with messages of two topics, bytes between two chunks, and the end of the last file.
pub(crate) fn damaged() -> Vec<DamagedPart> {
    let part = |(file, detail, kind, extent), from, to| DamagedPart {
        damage: Damage {
            file: FileName::from(file),
            offset: 1_000,
            kind,
            detail: String::from(detail),
        },
        at: 1_000,
        range: TimeRange::between(at(from), at(to)),
        extent,
        topics: Vec::new(),
        messages: None,
    };
    let chunk = "chunk fails its checksum and is skipped";
    let chunk = (
        "/data/drive_0.mcap",
        chunk,
        DamageKind::Checksum,
        DamageExtent::Chunk,
    );
    let bytes = "1234 bytes that are no records are skipped";
    let bytes = (
        "/data/drive_1.mcap",
        bytes,
        DamageKind::Framing,
        DamageExtent::Between,
    );
    let end = "the file ends in the middle of a record (its last 77 bytes)";
    let end = (
        "/data/drive_1.mcap",
        end,
        DamageKind::Truncated,
        DamageExtent::OpenEnd,
    );
    vec![
        DamagedPart {
            topics: vec![TopicId(0), TopicId(4)],
            messages: Some(460),
            ..part(chunk, 34_000, 36_000)
        },
        part(bytes, 50_000, 50_100),
        part(end, SECONDS * 1000, SECONDS * 1000),
    ]
}

/// The counts of messages sent up to a position; they continue in later laps.
pub(crate) fn counts(millis: i64) -> Vec<TopicCounts> {
    let count = |((name, _, hz, bytes), id): ((&str, &str, i64, u64), u32)| {
        let sent = if is_latched(name) {
            1
        } else {
            (hz * millis / 1000).unsigned_abs()
        };
        let is_silent = TopicId(id) == MUTED || TopicId(id) == LEFT_OUT;
        let sent = if is_silent { 0 } else { sent };
        TopicCounts {
            sent,
            bytes: sent * bytes,
            refilled: u64::from(is_latched(name)) * 2,
            ..TopicCounts::default()
        }
    };
    TOPICS.into_iter().zip(0..).map(count).collect()
}

/// The status of a player that is held at a position.
pub(crate) fn status(state: State, millis: i64, pace: Pace) -> Status {
    let speed = match pace {
        Pace::At(speed) => speed,
        Pace::Max | Pace::Follow => Speed::NORMAL,
    };
    Status {
        segment: Segment::new(recording(), speed, AtEnd::Hold).seek(at(millis)),
        played: PlayedRange::new(recording(), AtEnd::Hold),
        state,
        pace,
        gates: Gates::OPEN,
        sent: 0,
        bytes: 0,
        late: 0,
        damaged: 0,
        laps: 0,
        seeks: 0,
        clock: ClockMode::Every(Duration::from_millis(25)),
        skip_empty: None,
    }
}

/// Sets the status of the player; the read-ahead is 6 s ahead.
pub(crate) fn set_status(model: &mut Model, status: Status) {
    let here = status.segment.position(wall(0));
    let millis = (here.as_nanos() - START) / 1_000_000;
    let ahead = if status.segment.speed().is_reverse() {
        millis - 6_000
    } else {
        millis + 6_000
    };
    let ahead = recording().clamp(at(ahead));
    model.observe(wall(0), Some(status), counts(millis), Some(ahead));
}

/// Sets the state of the player, held at a position.
pub(crate) fn set_state(model: &mut Model, state: State, millis: i64) {
    set_status(model, status(state, millis, speed(1_000_000)));
}

/// Playback of 1.5 s up to a position.
pub(crate) fn play(model: &mut Model, millis: i64, pace: Pace) {
    play_with(model, millis, status(State::Playing, millis, pace));
}

/// The same with more to the status.
pub(crate) fn play_with(model: &mut Model, millis: i64, status: Status) {
    let factor = i64::from(status.segment.speed().millionths());
    let covered = |wall: i64| wall * factor / 1_000_000;
    let from = millis - covered(1_500);
    let segment = status.segment.seek(at(from)).roll(wall(0));
    for step in 0..=15 {
        let now = step * 100;
        let here = segment.position(wall(now));
        let ahead = at(from + covered(now) + 6_000 * factor.signum());
        // Backwards, too, counts grow.
        let begun = if factor < 0 {
            SECONDS * 1000 - from
        } else {
            from
        };
        let counts = counts(begun + covered(now).abs());
        let status = Status { segment, ..status };
        let ahead = recording().clamp(ahead);
        model.observe(wall(now), Some(status), counts, Some(ahead));
        assert!(recording().contains(here));
    }
}

/// Presses keys, separated by blanks.
pub(crate) fn press(model: &mut Model, keys: &str) {
    for key in keys.split_whitespace() {
        model.handle(Event::Key(key.parse().unwrap()), stamp(10_000));
    }
}

/// Types a text, blanks included.
pub(crate) fn type_text(model: &mut Model, text: &str) {
    for letter in text.chars() {
        let key = if letter == ' ' {
            "space".to_owned()
        } else {
            letter.to_string()
        };
        press(model, &key);
    }
}

pub(crate) fn mouse(model: &mut Model, gesture: Gesture, column: u16, row: u16) {
    let mouse = Mouse {
        gesture,
        column,
        row,
    };
    model.handle(Event::Mouse(mouse), stamp(10_000));
}

/// Answers the request for a density.
pub(crate) fn answer_outline(model: &mut Model) {
    let range = requested_outline(model).expect("a request for a density");
    model.handle(Event::Lane(lane(range, 480)), stamp(0));
}

/// The range of the density that was requested, if there was one.
pub(crate) fn requested_outline(model: &mut Model) -> Option<TimeRange> {
    let effects = model.take_effects().into_iter();
    effects.rev().find_map(|effect| match effect {
        Effect::Outline(range) => Some(range),
        _ => None,
    })
}

/// The frame on a screen of a size, and the position of the cursor if it was set.
pub(crate) fn drawn(model: &Model, size: Size) -> (Buffer, Option<Position>) {
    let mut model = model.clone();
    model.handle(Event::Resized(size), stamp(0));
    let mut terminal = Terminal::new(TestBackend::new(size.width, size.height)).unwrap();
    // A cursor outside of the screen: if it is elsewhere afterwards, the frame has set it.
    let nowhere = Position::new(u16::MAX, u16::MAX);
    terminal.set_cursor_position(nowhere).unwrap();
    terminal.draw(|frame| draw(&model, frame)).unwrap();
    let cursor = terminal.get_cursor_position().unwrap();
    let buffer = terminal.backend().buffer().clone();
    (buffer, Some(cursor).filter(|cursor| *cursor != nowhere))
}

/// The rows of a frame, without trailing blanks.
pub(crate) fn text(buffer: &Buffer) -> Vec<String> {
    let row = |y| {
        let mut row = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            // A wide letter takes the column after its own, too.
            x += u16::try_from(Span::raw(symbol).width().max(1)).unwrap();
        }
        row.trim_end().to_owned()
    };
    (0..buffer.area.height).map(row).collect()
}

/// The frame as text; the cursor, if there is one, is described below.
pub(crate) fn picture(model: &Model, size: Size) -> String {
    let (buffer, cursor) = drawn(model, size);
    let mut rows = text(&buffer);
    rows.extend(
        cursor.map(|cursor| format!("(the cursor is in column {}, row {})", cursor.x, cursor.y)),
    );
    rows.join("\n")
}

/// The topic that is selected, if there is one.
pub(crate) fn selected(model: &Model) -> Option<TopicId> {
    let mut model = without_overlay(model);
    model.perform(Action::Show, stamp(0));
    model.wanted_message().map(|(topic, _)| topic)
}

/// The same without an overlay.
pub(crate) fn without_overlay(model: &Model) -> Model {
    let mut model = model.clone();
    for action in [Action::Log, Action::Help, Action::Help] {
        model.perform(action, stamp(0));
    }
    model
}

/// The last log line.
pub(crate) fn last_log_line(model: &Model) -> String {
    let mut model = without_overlay(model);
    model.perform(Action::Log, stamp(0));
    // On a screen this large nothing is said of what is not shown.
    let rows = text(&drawn(&model, size(200, 60)).0);
    let is_title = |row: &String| row.contains("events, newest first");
    let at = rows.iter().position(is_title).unwrap();
    let line = rows[at + 1].trim_matches('│').trim();
    line.split_once(' ').map_or("", |(_, text)| text).to_owned()
}
