//! The table, marks and overlays, in terminals of any size.

use bagplay::bag::Bag;
use bagplay::tui::{BINDINGS, GESTURES, SYMBOLS};
use predicates::prelude::*;

use crate::pty::terminal_session::{
    DOWN, ENTER, ESC, ESC_BYTE, Frame, Listener, RIGHT, Recorded, TerminalSession, UP, clicked,
    demo, demo_range, play_bag, play_demo, until,
};

fn paused(args: &[&str]) -> TerminalSession {
    let session = play_demo(&[&["--clock", "--start-paused"], args].concat()).run();
    session.wait_text("PAUSED");
    session
}

/// The rows of the table, from the name on.
fn topics(frame: &Frame) -> Vec<&str> {
    let rows = frame
        .rows
        .iter()
        .filter_map(|row| row.get(row.find(" /")? + 1..));
    rows.filter_map(|row| row.split_whitespace().next())
        .filter(|name| name.len() > 1)
        .collect()
}

#[test]
fn a_filter_narrows_the_table_as_it_is_typed() {
    let mut session = paused(&[]);
    assert!(topics(&session.frame()).contains(&"/scan"));
    session.keys("/");
    session.wait_text("filter: ");
    session.keys("TF");
    let frame = session.wait_text("topic (2 of 9: TF)");
    assert!(frame.has("/tf_static") && !frame.has("/imu"), "{frame}");
    session.keys("x");
    session.wait_text("no topic has `TFx` in its name");
    session.keys(&format!("\x7f{ENTER}"));
    session.wait_for("the footer", |frame| {
        frame.shows("q quit") && frame.shows("(2 of 9: TF)")
    });
    session.keys(ESC_BYTE);
    session.wait_for("all topics", |frame| {
        frame.shows("/imu") && !frame.has("(2 of 9")
    });
    session.keys("/scan");
    session.wait_text("topic (1 of 9: scan)");
    session.keys(ESC);
    session.wait_for("all topics", |frame| frame.shows("/imu"));
}

/// Receives until there were this many messages of `/odom`; returns the number of `/imu`.
fn count_imu(listener: &Listener, odoms: usize) -> usize {
    let mut seen = 0;
    let received = listener.until("odometry", |received| {
        seen += usize::from(received.topic == "/odom");
        seen == odoms
    });
    received
        .iter()
        .filter(|received| received.topic == "/imu")
        .count()
}

#[test]
fn a_muted_topic_is_not_sent_until_it_is_unmuted() {
    let args = ["--clock", "--loop", "--topics", "/imu", "/odom", "/clock"];
    let mut session = play_demo(&args).run();
    session.wait_text("PLAYING");
    let listener = session.listener();
    until("the topic", || count_imu(&listener, 5) > 0);
    session.keys("t");
    let frame = session.wait_text("/imu is muted");
    assert!(frame.row("/imu  (muted)").starts_with("›×"), "{frame}");
    // The topics have a link each: what was sent before may come some messages later.
    until("silence", || count_imu(&listener, 20) == 0);
    session.keys("t");
    let frame = session.wait_text("/imu is published again");
    assert!(!frame.has("(muted)"), "{frame}");
    until("the topic again", || count_imu(&listener, 3) > 6);
    // A topic that is not played cannot be muted.
    session.keys(&format!("{DOWN}{DOWN}{DOWN}t"));
    session.wait_text("/clock is not played");
}

#[test]
fn a_topic_is_shown_with_its_last_message() {
    let tall = play_demo(&["--clock", "--start-paused"]).size(120, 60);
    let mut session = tall.run();
    session.wait_text("PAUSED");
    session.keys(&format!("5{DOWN}{DOWN}{DOWN}{UP}{ENTER}"));
    let frame = session.wait_text("linear_acceleration:");
    let half = demo_range().duration().as_nanos() / 2;
    let last = *Recorded::of(&["/imu"])
        .times("/imu", 0, half)
        .last()
        .unwrap();
    let age = (half - last) / 1_000_000;
    for words in [
        " /imu ",
        "type          sensor_msgs/msg/Imu",
        "recorded QoS  best effort, keep last 5",
        "offered QoS   best effort",
        "RIHS01_",
        &format!("{:02}.{:03} ago, 324 bytes", age / 1000, age % 1000),
        "frame_id: ",
    ] {
        assert!(frame.has(words), "no `{words}` in\n{frame}");
    }
    // A step of the topic shows another message, and so does scrubbing.
    session.keys(">");
    session.wait_text("00:00.000 ago, 324 bytes");
    let bar = frame.bar();
    session.press(60, bar);
    session.drag(30, bar);
    session.release(30, bar);
    let at = clicked(30);
    let last = *Recorded::of(&["/imu"]).times("/imu", 0, at).last().unwrap();
    let age = format!("00:00.{:03} ago, 324 bytes", (at - last) / 1_000_000);
    session.wait_for(&age, |frame| {
        frame.shows(&age) && frame.elapsed() == Some(at / 1_000_000)
    });
    // The message follows the playhead, and playback keys work.
    session.keys("0");
    session.wait_for("the first message or none", |frame| {
        frame.has("none up to this time")
    });
    session.keys(" ");
    session.wait_text("linear_acceleration:");
    session.keys(" ");
    session.wait_text("PAUSED");
    for _ in 0..4 {
        session.keys("\x1b[6~");
    }
    session.wait_text("MSG: geometry_msgs/Vector3");
    session.keys(ESC);
    session.wait_text("q quit");
    // A click selects, another one shows.
    let row = |frame: &Frame| {
        frame
            .rows
            .iter()
            .position(|row| row.contains("/odom"))
            .unwrap()
    };
    let row = u16::try_from(row(&session.frame())).unwrap();
    session.click(10, row);
    session.wait_for("a selection", |frame| frame.row("/odom").starts_with('›'));
    session.click(10, row);
    session.wait_text("nav_msgs/msg/Odometry");
}

#[test]
fn the_help_lists_every_key_and_gesture() {
    // In three columns, in two and in one.
    for (columns, rows) in [(200, 50), (140, 62), (80, 120)] {
        let session = play_demo(&["--start-paused"]).size(columns, rows).run();
        session.wait_text("PAUSED");
        let mut session = session;
        session.keys("?");
        let frame = session.wait_text(" keys ");
        let rows = BINDINGS.iter().flat_map(|(_, rows)| *rows);
        let words = rows
            .map(|row| row.help)
            .chain(GESTURES.iter().map(|(_, words)| *words))
            .chain(
                SYMBOLS
                    .iter()
                    .flat_map(|(_, symbols)| *symbols)
                    .map(|symbol| symbol.meaning),
            );
        for words in words {
            assert!(frame.has(words), "no `{words}` in\n{frame}");
        }
        session.keys("?");
        session.wait_text("q quit");
    }
}

#[test]
fn times_are_shown_in_three_formats_and_typed_in_the_one_that_is_shown() {
    let session = play_demo(&["--start-paused"]).env("TZ", "EET-2").run();
    session.wait_text("10:53:20.000 EET");
    let mut session = session;
    session.keys("T");
    session.wait_text("08:53:20.000 UTC");
    session.keys("T");
    session.wait_text("1760000000.000 s");
    session.keys("T");
    session.wait_text("10:53:20.000 EET");
    session.keys(&format!("g10:53:25{ENTER}"));
    session.wait_text("10:53:25.000 EET");
}

#[test]
fn zooming_shows_a_part_around_the_playhead() {
    let mut session = paused(&[]);
    let bar = session.frame().bar();
    session.keys("5");
    session.wait_elapsed(14_998);
    session.keys("zz");
    session.wait_for("a row more", |frame| frame.bar() == bar + 1);
    // A sixteenth of the whole: a column is 16 ms instead of 254.
    session.click(2, bar + 1);
    let near = session.wait_for("another time", |frame| {
        frame.elapsed().is_some_and(|millis| millis != 14_998)
    });
    let millis = near.elapsed().unwrap();
    assert!((14_998 - 940..14_998 - 900).contains(&millis), "{near}");
    // The upper lane still shows the whole recording.
    session.click(118, bar - 2);
    session.wait_elapsed(29_997);
    session.keys("ZZ");
    session.wait_for("a row less", |frame| frame.bar() == bar);
}

#[test]
fn the_bar_is_drawn_at_any_size() {
    let mut session = play_demo(&["--clock", "--loop"]).run();
    session.wait_text("PLAYING");
    let listener = session.listener();
    for (layer, sign) in [
        ("", "q quit"),
        ("?", " keys "),
        ("\r", "definition"),
        ("/i", "filter: i"),
        ("e", "events, newest first"),
    ] {
        session.keys(layer);
        session.wait_text(sign);
        for (columns, rows) in [
            (40, 8),
            (80, 1),
            (1, 1),
            (3, 2),
            (200, 50),
            (12, 5),
            (80, 24),
        ] {
            session.resize(columns, rows);
        }
        session.resize(40, 8);
        if layer.is_empty() {
            session.wait_for("40 × 8", |frame| {
                let rows = &frame.rows;
                rows[0].starts_with(" ▶ PLAYING")
                    && rows[1].contains("/ 00:29.997")
                    && rows[3].starts_with(['├', '●'])
                    && rows[7].contains("q quit")
            });
            session.resize(80, 1);
            session.wait_for("one line", |frame| {
                let line = &frame.rows[0];
                line.starts_with(" ▶ PLAYING") && line.contains("/ 00:29.997") && line.contains('├')
            });
            session.resize(20, 1);
            session.wait_for("a short line", |frame| frame.rows[0].contains("PLAYING"));
        }
        session.resize(120, 30);
        // Without an overlay nothing shows that the key was read, and a key right after it would be one with alt.
        if !layer.is_empty() {
            session.keys(ESC);
        }
        session.wait_for("all of it", |frame| {
            frame.shows("PLAYING")
                && frame.has("q quit")
                && frame.has("/imu")
                && frame.rows.len() == 30
        });
    }
    session.keys("\x0c");
    let from = listener.next("/clock").stamp();
    listener.wait("that it plays on", |received| {
        received.is_clock() && received.stamp() != from
    });
    session.quit();
}

#[test]
fn invalid_mouse_sequences_do_nothing() {
    let mut session = paused(&[]);
    for odd in [
        "\x1b[<0;0;5M",
        "\x1b[<0;5;0M",
        "\x1b[<0;0;0m",
        "\x1b[<0;99999;5M",
        "\x1b[32;0;0M",
        "\x1b[M   ",
    ] {
        session.keys(odd);
    }
    session.keys("TT");
    session.wait_for("times of another kind, and no other time", |frame| {
        frame.shows("1760000000") && frame.elapsed() == Some(0)
    });
    session.quit();
}

#[test]
fn ctrl_l_redraws_what_another_program_has_overwritten() {
    let mut session = paused(&[]);
    let path = session.terminal().tty_name().unwrap();
    let mut tty = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    std::io::Write::write_all(&mut tty, b"\x1b[H\x1b[2Jrubbish").unwrap();
    drop(tty);
    session.wait_for("rubbish", |frame| frame.has("rubbish"));
    session.keys("\x0c");
    session.wait_for("the bar again", |frame| {
        !frame.has("rubbish") && frame.has("PAUSED") && frame.has("/imu") && frame.has("q quit")
    });
}

#[test]
fn marks_are_saved_and_shown_again() {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("drive.mcap");
    std::fs::copy(demo(), &bag).unwrap();
    let start = || {
        let session = play_bag(&bag, &["--clock", "--start-paused"]).run();
        session.wait_text("PAUSED");
        session
    };
    let sidecar = folder.path().join("drive.mcap.marks.yaml");
    let kept = || std::fs::read_to_string(&sidecar).unwrap_or_default();
    let at = |tenth: i64| demo_range().duration().as_nanos() * tenth / 10;
    let entry = |tenth: i64| format!("time_ns: {}\n", demo_range().start().as_nanos() + at(tenth));

    let mut session = start();
    let listener = session.listener();
    session.keys("2m");
    session.wait_text("mark at +00:05.999");
    session.keys("7M");
    session.wait_text("name of the mark: ");
    session.keys(&format!("q brakes{ENTER}"));
    session.wait_text("mark at +00:20.998: q brakes");
    until("the file", || {
        kept().contains(&entry(2)) && kept().contains("q brakes")
    });
    assert!(kept().contains(&entry(7)), "{}", kept());
    session.keys("N");
    listener.until_held(at(2), 2);
    session.keys("N");
    session.wait_text("no earlier mark");
    session.keys("n");
    listener.until_held(at(7), 2);
    session.keys("n");
    session.wait_text("no later mark");
    session.keys("5m");
    session.wait_text("mark at +00:14.998");
    until("the file", || kept().contains(&entry(5)));
    session.keys("m");
    session.wait_text("mark at +00:14.998 removed");
    until("the file", || !kept().contains(&entry(5)));
    session.quit();

    let info = assert_cmd::Command::cargo_bin("play")
        .unwrap()
        .arg("info")
        .arg(&bag)
        .assert();
    let expected =
        predicate::str::contains("marks     2\n").and(predicate::str::contains("q brakes"));
    info.code(0).stdout(expected);

    let mut session = start();
    session.wait_for("both marks", |frame| marks(frame) == 2);
    let listener = session.listener();
    session.keys("nn");
    listener.until_held(at(7), 2);
    session.wait_text("q brakes");
    session.keys("N");
    listener.until_held(at(2), 2);
}

/// How many marks the bar shows.
fn marks(frame: &Frame) -> usize {
    frame.rows[usize::from(frame.bar())].matches('◆').count()
}

#[test]
fn a_watched_field_is_plotted_and_remembered() {
    let state = tempfile::tempdir().unwrap();
    let run = || {
        let args = ["--start-paused", "--start", "+10", "--wire", "null"];
        let session = play_demo(&args).size(120, 40);
        session
            .env("XDG_STATE_HOME", state.path().to_str().unwrap())
            .run()
    };
    let is_dot = |letter: char| ('\u{2801}'..='\u{28ff}').contains(&letter);
    let has_plot =
        |frame: &Frame| frame.is_alternate && frame.rows.iter().any(|row| row.contains(is_dot));
    let mut session = run();
    session.wait_text("PAUSED");
    session.keys("/imu");
    session.wait_text("topic (1 of 9: imu)");
    session.keys(&format!("{ENTER}{ENTER}"));
    session.wait_text("after the stamp");
    session.keys("w");
    session.wait_text("header  watched");
    session.keys(&DOWN.repeat(5));
    session.keys("w");
    session.wait_for("another", |frame| {
        let rows = &frame.rows;
        rows.iter()
            .any(|row| row.contains(" z: ") && row.contains("  watched"))
    });
    session.keys(&format!("{ESC}{ESC}"));
    let frame = session.wait_for("a plot", has_plot);
    assert!(frame.has("/imu delay  0.0"), "{frame}");
    // The values move with the playhead.
    session.keys(RIGHT);
    session.wait_for("another value", |later| {
        has_plot(later) && later.row("/imu delay") != frame.row("/imu delay")
    });
    // The plot moves while the mouse is dragged.
    let plotted = |frame: &Frame| {
        let rows = frame.rows.iter().filter(|row| row.contains(is_dot));
        rows.cloned().collect::<Vec<_>>()
    };
    let bar = session.frame().bar();
    session.press(40, bar);
    let mut before = plotted(&session.frame());
    for column in [70, 100] {
        session.drag(column, bar);
        let moved = session.wait_for("the plot of another part", |later| {
            has_plot(later) && plotted(later) != before
        });
        before = plotted(&moved);
    }
    session.release(100, bar);
    session.keys("q");
    session.wait_end();

    let mut again = run();
    again.wait_for("a plot", |frame| has_plot(frame) && frame.has("/imu delay"));
    again.keys("W");
    again.wait_for("no plot", |frame| frame.is_alternate && !has_plot(frame));
    again.keys("q");
    again.wait_end();
    let saved = state.path().join("bagplay/watched.json");
    assert!(!saved.exists(), "nothing is watched");
}

/// While the emergency stop is pressed, a part of the robot is in an error.
#[test]
fn a_watched_value_is_shown_with_the_name_of_its_constant() {
    let args = ["--start-paused", "--start", "+12.7", "--wire", "null"];
    let mut session = play_demo(&args).size(120, 40).run();
    session.wait_text("PAUSED");
    session.keys("/diagnostics");
    session.wait_text("topic (1 of 9: diagnostics)");
    session.keys(&format!("{ENTER}{ENTER}"));
    session.wait_text("level: 2");
    session.keys(&format!("{DOWN}{DOWN}{DOWN}w"));
    session.wait_text("level: 2  watched");
    session.keys(&format!("{ESC}{ESC}"));
    session.wait_text("/diagnostics status[0].level  2 (ERROR)");
    session.keys("q");
    session.wait_end();
}

#[test]
fn messages_are_found_and_a_part_is_cut_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = play_demo(&["--start-paused", "--wire", "null"])
        .size(120, 40)
        .run();
    session.wait_text("PAUSED");
    // What nodes reported is found without being asked for.
    session.wait_for("alerts", |frame| frame.has("▴"));
    session.keys("a");
    session.wait_text("error: /diagnostics: ");
    session.keys("/imu");
    session.wait_text("topic (1 of 9: imu)");
    session.keys(&format!("{ENTER}{ENTER}"));
    session.wait_text("after the stamp");
    session.keys("/");
    session.wait_text(" find in /imu: ");
    session.keys(&format!("angular_velocity.q > 1{ENTER}"));
    session.wait_text("has no field `q`");
    session.keys(ESC);
    session.wait_text("w watch");
    session.keys("/");
    session.wait_text(" find in /imu: ");
    session.keys(&format!("angular_velocity.z < -0.3{ENTER}"));
    // The card shows the result, and where a jump has led.
    session.wait_for("the result below the card", |frame| {
        frame.has("messages found: n, N") && frame.has(" n N found ") && frame.has("╰")
    });
    session.keys("N");
    session.wait_for("the message below the card", |frame| {
        frame.has("/imu: angular_velocity.z = -0.3") && frame.has("╰")
    });
    session.keys(ESC);
    session.wait_text("q quit");
    // A second later is B.
    session.keys("l");
    session.wait_text("A at ");
    session.keys(&format!("{}l", "\x1b[1;2C".repeat(10)));
    session.wait_text("loop A-B");
    let out = folder.path().join("part.mcap");
    session.keys("x");
    session.wait_text(" write A-B to: demo_");
    session.keys(&format!("{}{}{ENTER}", "\x15", out.to_str().unwrap()));
    session.wait_text(" latched from before), ");
    let part = Bag::open(&[&out]).unwrap();
    let length = part.range().unwrap().duration().as_secs_f64();
    assert!((0.9..=1.0).contains(&length), "{length}");
    assert_eq!(part.topics().len(), 9);
    // A file is never replaced.
    session.keys(&format!("x{}{}{ENTER}", "\x15", out.to_str().unwrap()));
    session.wait_for("the name to be changed", |frame| {
        frame.has("exists already") && frame.has(" write A-B to: ")
    });
    let nowhere = folder.path().join("nowhere/part.mcap");
    session.keys(&format!("{}{}{ENTER}", "\x15", nowhere.to_str().unwrap()));
    session.wait_for("the reason of the system", |frame| {
        frame.has("No such file or directory") && frame.has(" write A-B to: ")
    });
    session.keys(ESC);
    session.wait_text("q quit");
    session.quit();
}
