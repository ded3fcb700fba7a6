//! The cost of the transport bar: drawing, a paused screen, the start, its effect on the lateness of messages, and how
//! many frames a second it draws while the playhead is dragged.
//!
//! `cargo bench --bench screen [-- SECONDS]`. Runs the program in a pseudo-terminal, in turns with and without
//! the bar, on the demo, on a recording of 1,000 messages a second, and on one of a camera with 5 GB, which it writes to
//! `$BAGPLAY_BENCH_DIR` or a temporary directory.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod dragging;
#[path = "../recording/mod.rs"]
mod recording;
#[path = "../report/mod.rs"]
mod report;
mod tape;

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bagplay::bag::Bag;
use bagplay::player::{ClockMode, Gates, Pace, PlayedRange, State, Status, TopicCounts};
use bagplay::time::{self, AtEnd, Segment, Speed, Time};
use bagplay::tui::{
    Appearance, Background, Bindings, ColorDepth, Event, Facts, Glyphs, Lane, Lookup, Model,
    PictureStyle, SavedField, SavedPin, Size, ThemeName, TimeFormat, TopicRow, draw,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use report::{Figure, Report};
use tape::Tape;
use zenoh::Wait;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
const TURNS: usize = 5;
/// Watched fields of the recording of a camera.
const WATCHED: &str = r#"[{"topic":"/camera","type":"sensor_msgs/msg/CompressedImage","field":"picture"},
        {"topic":"/a","type":"std_msgs/msg/Float64","field":{"value":"data"}},
        {"topic":"/b","type":"std_msgs/msg/Float64","field":{"value":"data"}}]"#;
/// What the screen has then: a lane, a picture and two plots.
const SHOWN: &[&str] = &["▅▅▅", "▀▀", "/a data", "/b data"];

fn main() -> Result<()> {
    let seconds: u64 = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(5);
    let mut report = Report::begin("screen");
    drawing(&mut report)?;
    paused(seconds, &mut report)?;
    playing_with_pictures(seconds, &mut report)?;
    start(&mut report)?;
    lateness(seconds, &mut report)?;
    dragging::dragging(seconds, &mut report)?;
    Ok(report.write()?)
}

/// Frames of the demo while it plays, 33 ms apart, written as escape sequences to nowhere.
fn drawing(report: &mut Report) -> Result<()> {
    for (width, height, plots) in [(80, 24, 0), (200, 50, 0), (200, 50, 2)] {
        let mut model = with_plots(model(Size { width, height })?, plots)?;
        let options = TerminalOptions {
            viewport: Viewport::Fixed(Rect::new(0, 0, width, height)),
        };
        let mut terminal = Terminal::with_options(CrosstermBackend::new(std::io::sink()), options)?;
        let range = Bag::open(&[DEMO])?.range().context("a range")?;
        let rolling = playing(range, Time::from_nanos(0));
        let frames = 1000;
        let begun = Instant::now();
        for frame in 0..frames {
            let now = Time::from_nanos(frame * 33_000_000 % 29_000_000_000);
            let sent = u64::try_from(frame)?;
            let counts = vec![
                TopicCounts {
                    sent: sent * 7,
                    bytes: sent * 900,
                    ..TopicCounts::default()
                };
                9
            ];
            model.observe(
                now,
                Some(rolling),
                counts,
                Some(rolling.segment.position(now)),
            );
            terminal.draw(|frame| draw(&model, frame))?;
        }
        let micros = begun.elapsed().as_secs_f64() * 1e6 / 1000.0;
        let with = match plots {
            0 => String::new(),
            _ => format!(" with {plots} plots"),
        };
        println!(
            "a picture of {width}x{height}{with}: {micros:.0} us, at 30 a second {:.1} % of a core",
            micros * 30.0 / 1e4
        );
        let name = format!("a frame of {width}×{height}{with}");
        report.add(Figure::lower(&name, "takes", micros, "µs"));
    }
    Ok(())
}

/// The same with plots of two fields of the demo.
fn with_plots(model: Model, plots: usize) -> Result<Model> {
    let bag = Bag::open(&[DEMO])?;
    let range = bag.range().context("a range")?;
    let saved = ["angular_velocity.z", "linear_acceleration.x"].map(|path| SavedPin {
        topic: "/imu".to_owned(),
        type_name: "sensor_msgs/msg/Imu".to_owned(),
        field: SavedField::Value(path.to_owned()),
    });
    let mut model = model.watching(saved.get(..plots).context("a plot for each field")?);
    if let Some((pins, _)) = model.wanted_values() {
        let (send, events) = mpsc::channel();
        let lookup = Lookup::start(bag, Arc::new(move |event| drop(send.send(event))))?;
        lookup.watch(pins, range);
        model.handle(events.recv()?, Timestamp::UNIX_EPOCH);
    }
    Ok(model)
}

fn playing(range: bagplay::time::TimeRange, now: Time<bagplay::time::Steady>) -> Status {
    Status {
        segment: Segment::new(range, Speed::NORMAL, AtEnd::Loop).roll(now),
        played: PlayedRange::new(range, AtEnd::Loop),
        state: State::Playing,
        pace: Pace::At(Speed::NORMAL),
        gates: Gates::OPEN,
        sent: 0,
        bytes: 0,
        late: 0,
        damaged: 0,
        laps: 0,
        seeks: 0,
        clock: ClockMode::Every(time::Duration::from_millis(25)),
        skip_empty: None,
    }
}

fn model(size: Size) -> Result<Model> {
    let bag = Bag::open(&[DEMO])?;
    let range = bag.range().context("a range")?;
    let facts = Facts {
        name: "bench.mcap".to_owned(),
        recording: range,
        played: bagplay::player::PlayedRange::new(range, AtEnd::Hold),
        is_elsewhere: false,
        clock_shift: bagplay::time::Duration::ZERO,
        clock: ClockMode::Every(time::Duration::from_millis(25)),
        skip_empty: None,
        topics: bag.topics().to_vec(),
        parse_time: |_, range| Ok(range.start()),
        zone: TimeZone::UTC,
    };
    let appearance = Appearance {
        bindings: Bindings::default(),
        glyphs: Glyphs::UNICODE,
        theme: ThemeName::Dark.theme(Background::Dark, ColorDepth::True),
        time_format: TimeFormat::Local,
        pictures: PictureStyle::Blocks(ColorDepth::True),
        has_mouse: true,
    };
    let row = |(topic, id): (&bagplay::bag::Topic, u32)| TopicRow {
        id: bagplay::bag::TopicId(id),
        name: topic.name.clone(),
        left_out: None,
        offered: None,
        is_muted: false,
    };
    let rows = bag.topics().iter().zip(0..).map(row).collect();
    let mut model = Model::new(facts, appearance, rows, Vec::new(), size);
    let lane = Lane {
        range,
        outline: bag.outline(480),
        is_whole: true,
    };
    model.handle(Event::Lane(lane), Timestamp::UNIX_EPOCH);
    Ok(model)
}

fn paused(seconds: u64, report: &mut Report) -> Result<()> {
    for (name, args) in [
        ("with the bar", &["--start-paused"][..]),
        (
            "with the bar and /clock at 40 Hz",
            &["--start-paused", "--clock"],
        ),
        (
            "without the bar, with /clock",
            &["--start-paused", "--clock", "--no-tui"],
        ),
    ] {
        let mut tape = Tape::play(&[&[DEMO, "--wire", "null"], args].concat())?;
        let is_bar = !args.contains(&"--no-tui");
        tape.wait_for(if is_bar { "PAUSED" } else { "paused ×1" })?;
        std::thread::sleep(Duration::from_secs(1));
        let before = tape.cpu()?;
        std::thread::sleep(Duration::from_secs(seconds));
        let share = (tape.cpu()? - before) / precise(seconds) * 100.0;
        println!("paused, {name}: {share:.2} % of a core");
        report.add(Figure::lower(
            &format!("paused, {name}"),
            "of a core",
            share,
            "%",
        ));
        tape.child.kill()?;
        tape.child.wait()?;
    }
    Ok(())
}

/// The bar while it plays a camera (640×480, 30 Hz), with the lanes of its topics, a picture and two plots, and the same
/// without the bar.
fn playing_with_pictures(seconds: u64, report: &mut Report) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("camera.mcap");
    recording::write_camera(&path, 2 * seconds + 10, &images()?)?;
    let bag = path.to_string_lossy().into_owned();
    let mut shares = [0.0; 2];
    for (share, bar) in shares.iter_mut().zip(["--tui", "--no-tui"]) {
        let mut tape = Tape::play_with(&[&bag, "--wire", "null", "--clock", bar], WATCHED)?;
        let shown: &[&str] = if bar == "--tui" { SHOWN } else { &["playing"] };
        for text in shown {
            tape.wait_for(text)?;
        }
        std::thread::sleep(Duration::from_secs(1));
        let before = tape.cpu()?;
        std::thread::sleep(Duration::from_secs(seconds));
        *share = (tape.cpu()? - before) / precise(seconds) * 100.0;
        tape.child.kill()?;
        tape.child.wait()?;
    }
    let name = "playing a camera, a picture and two plots of 200×50";
    let [with, without] = shares;
    println!("{name}: {with:.1} % of a core with the bar, {without:.1} % without");
    compared(report, name, shares, "% of a core");
    Ok(())
}

/// Some JPEG images of 640×480 with detail in them.
fn images() -> Result<Vec<Vec<u8>>> {
    let image = |shift: u32| {
        let image = image::RgbImage::from_fn(640, 480, |x, y| {
            let part = |n: u32| u8::try_from((x * n + y * (8 - n) + shift * 16 + x * y / 64) % 256);
            image::Rgb([1, 3, 5].map(|n| part(n).unwrap_or_default()))
        });
        let mut jpeg = std::io::Cursor::new(Vec::new());
        image.write_to(&mut jpeg, image::ImageFormat::Jpeg)?;
        Ok(jpeg.into_inner())
    };
    (0..8).map(image).collect()
}

/// From the start of the process to the first message at a waiting subscriber, which is a client of a router. As those
/// of `rmw_zenoh` the router has an admin space, so the program knows that there is no peer to wait for.
fn start(report: &mut Report) -> Result<()> {
    let endpoint = format!("tcp/{}", TcpListener::bind("127.0.0.1:0")?.local_addr()?);
    let listen = [
        ("listen/endpoints", format!("[{endpoint:?}]")),
        ("adminspace/enabled", "true".to_owned()),
    ];
    let _router = zenoh_session("router", listen)?;
    let ours = zenoh_session("client", [("connect/endpoints", format!("[{endpoint:?}]"))])?;
    let (send, came) = mpsc::channel();
    let subscriber = ours.declare_subscriber("0/imu/**").callback(move |_| {
        let _ = send.send(Instant::now());
    });
    let _subscriber = subscriber.wait().map_err(anyhow::Error::from_boxed)?;
    let mut first = [Vec::new(), Vec::new()];
    for _ in 0..2 * TURNS {
        for (millis, bar) in first.iter_mut().zip(["--tui", "--no-tui"]) {
            let begun = Instant::now();
            let mut tape = Tape::play(&[DEMO, "--connect", &endpoint, bar])?;
            let at = came.recv_timeout(Duration::from_secs(30))?;
            millis.push((at - begun).as_secs_f64() * 1e3);
            tape.child.kill()?;
            tape.child.wait()?;
            while came.recv_timeout(Duration::from_millis(200)).is_ok() {}
        }
    }
    let [with, without] = first.map(median);
    println!("start to first message: {with:.1} ms with the bar, {without:.1} ms without");
    compared(report, "start to first message", [with, without], "ms");
    Ok(())
}

fn zenoh_session(
    mode: &str,
    settings: impl IntoIterator<Item = (&'static str, String)>,
) -> Result<zenoh::Session> {
    let mut config = zenoh::Config::default();
    let usual = [
        ("mode", format!("{mode:?}")),
        ("scouting/multicast/enabled", "false".to_owned()),
    ];
    for (key, value) in usual.into_iter().chain(settings) {
        config
            .insert_json5(key, &value)
            .map_err(|error| anyhow::anyhow!("{key}: {error}"))?;
    }
    zenoh::open(config)
        .wait()
        .map_err(anyhow::Error::from_boxed)
}

fn lateness(seconds: u64, report: &mut Report) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("kilohertz.mcap");
    recording::write(&path, seconds * 1000, 1000)?;
    let bag = path.to_string_lossy().into_owned();
    let mut late = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for turn in 1..=TURNS {
        eprintln!("turn {turn} of {TURNS}: twice {seconds} s");
        for ((p50, p99), bar) in late.iter_mut().zip(["--tui", "--no-tui"]) {
            let args = [
                &bag, "--wire", "null", "--clock", "100", "--format", "json", bar,
            ];
            let mut tape = Tape::play(&args)?;
            if bar == "--tui" {
                tape.wait_for("AT THE END")?;
                tape.keys.write_all(b"q")?;
            }
            let said = tape.finish()?;
            let json = said.find("{\"recording\"").context("a summary")?;
            let summary = said[json..].lines().next().context("a line")?;
            let summary: serde_json::Value = serde_json::from_str(summary.trim())?;
            let micros = |name: &str| summary["lateness_us"][name].as_f64().context("a figure");
            p50.push(micros("p50")?);
            p99.push(micros("p99")?);
        }
    }
    let [(with_p50, with_p99), (p50, p99)] = late.map(|(p50, p99)| (median(p50), median(p99)));
    println!("lateness p50: {with_p50:.1} us with the bar, {p50:.1} us without");
    println!(
        "lateness p99: {with_p99:.1} us with the bar, {p99:.1} us without, ratio {:.2}",
        with_p99 / p99
    );
    let name = "lateness of 1,000 messages a second";
    compared(report, &format!("{name}, p50"), [with_p50, p50], "µs");
    compared(report, &format!("{name}, p99"), [with_p99, p99], "µs");
    Ok(())
}

fn compared(report: &mut Report, name: &str, [with, without]: [f64; 2], unit: &str) {
    let figure = Figure::lower(name, "with the bar", with, unit);
    report.add(figure.against("limit: without the bar", without));
    report.add(Figure::compared(name, "without", without, unit));
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "a few seconds")]
fn precise(count: u64) -> f64 {
    count as f64
}
