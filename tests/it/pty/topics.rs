//! The table, marks and overlays, in terminals of any size.

use bagplay::tui::{BINDINGS, GESTURES};
use predicates::prelude::*;

use crate::pty::terminal_session::{
    DOWN, ENTER, ESC, Ear, Reel, Shot, Tape, UP, clicked, demo, demo_range, play_bag, play_demo,
    until,
};

fn paused(args: &[&str]) -> Tape {
    let tape = play_demo(&[&["--clock", "--start-paused"], args].concat()).run();
    tape.wait_text("PAUSED");
    tape
}

/// The rows of the table, from the name on.
fn topics(shot: &Shot) -> Vec<&str> {
    let rows = shot
        .rows
        .iter()
        .filter_map(|row| row.get(row.find(" /")? + 1..));
    rows.filter_map(|row| row.split_whitespace().next())
        .filter(|name| name.len() > 1)
        .collect()
}

#[test]
fn a_filter_narrows_the_table_as_it_is_typed() {
    let mut tape = paused(&[]);
    assert!(topics(&tape.shot()).contains(&"/scan"));
    tape.keys("/");
    tape.wait_text("filter: ");
    tape.keys("TF");
    let shot = tape.wait_text("topic (2 of 9: TF)");
    assert!(shot.has("/tf_static") && !shot.has("/imu"), "{shot}");
    tape.keys("x");
    tape.wait_text("no topic has `TFx` in its name");
    tape.keys(&format!("\x7f{ENTER}"));
    tape.wait_for("the footer", |shot| {
        shot.shows("q quit") && shot.shows("(2 of 9: TF)")
    });
    tape.keys(ESC);
    tape.wait_for("all topics", |shot| {
        shot.shows("/imu") && !shot.has("(2 of 9")
    });
    tape.keys("/scan");
    tape.wait_text("topic (1 of 9: scan)");
    tape.keys(ESC);
    tape.wait_for("all topics", |shot| shot.shows("/imu"));
}

/// Hears until there were so many of `/odom`, and says how many of `/imu` there were.
fn imus(ear: &Ear, odoms: usize) -> usize {
    let mut seen = 0;
    let heard = ear.until("odometry", |heard| {
        seen += usize::from(heard.topic == "/odom");
        seen == odoms
    });
    heard.iter().filter(|heard| heard.topic == "/imu").count()
}

#[test]
fn a_muted_topic_is_silent_until_it_is_not() {
    let args = ["--clock", "--loop", "--topics", "/imu", "/odom", "/clock"];
    let mut tape = play_demo(&args).run();
    tape.wait_text("PLAYING");
    let ear = tape.ear();
    assert!(imus(&ear, 5) > 0);
    tape.keys("t");
    let shot = tape.wait_text("/imu is muted");
    assert!(shot.row("/imu  (muted)").starts_with("›×"), "{shot}");
    until("silence", || imus(&ear, 3) == 0);
    assert_eq!(imus(&ear, 20), 0);
    tape.keys("t");
    let shot = tape.wait_text("/imu is published again");
    assert!(!shot.has("(muted)"), "{shot}");
    until("the topic", || imus(&ear, 3) > 6);
    // What is not played cannot be muted.
    tape.keys(&format!("{DOWN}{DOWN}{DOWN}t"));
    tape.wait_text("/clock is not played");
}

#[test]
fn a_topic_is_shown_with_its_last_message() {
    let tall = play_demo(&["--clock", "--start-paused"]).size(120, 60);
    let mut tape = tall.run();
    tape.wait_text("PAUSED");
    tape.keys(&format!("5{DOWN}{DOWN}{DOWN}{UP}{ENTER}"));
    let shot = tape.wait_text("linear_acceleration:");
    let half = demo_range().duration().as_nanos() / 2;
    let last = *Reel::of(&["/imu"]).times("/imu", 0, half).last().unwrap();
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
        assert!(shot.has(words), "no `{words}` in\n{shot}");
    }
    // A step of the topic, and scrubbing, show another one.
    tape.keys(">");
    tape.wait_text("00:00.000 ago, 324 bytes");
    let bar = shot.bar();
    tape.press(60, bar);
    tape.drag(30, bar);
    tape.release(30, bar);
    let at = clicked(30);
    let last = *Reel::of(&["/imu"]).times("/imu", 0, at).last().unwrap();
    let age = format!("00:00.{:03} ago, 324 bytes", (at - last) / 1_000_000);
    tape.wait_for(&age, |shot| {
        shot.shows(&age) && shot.elapsed() == Some(at / 1_000_000)
    });
    // It follows the playhead, and everything else goes on beside it.
    tape.keys("0");
    tape.wait_for("the first message or none", |shot| {
        shot.has("none up to here")
    });
    tape.keys(" ");
    tape.wait_text("linear_acceleration:");
    tape.keys(" ");
    tape.wait_text("PAUSED");
    for _ in 0..4 {
        tape.keys("\x1b[6~");
    }
    tape.wait_text("MSG: geometry_msgs/Vector3");
    tape.keys(ESC);
    tape.wait_text("q quit");
    // A click selects, another one shows.
    let row = |shot: &Shot| {
        shot.rows
            .iter()
            .position(|row| row.contains("/odom"))
            .unwrap()
    };
    let row = u16::try_from(row(&tape.shot())).unwrap();
    tape.click(10, row);
    tape.wait_for("a selection", |shot| shot.row("/odom").starts_with('›'));
    tape.click(10, row);
    tape.wait_text("nav_msgs/msg/Odometry");
}

#[test]
fn the_help_knows_every_key_and_gesture() {
    for (columns, rows) in [(140, 50), (120, 80), (80, 80)] {
        let tape = play_demo(&["--start-paused"]).size(columns, rows).run();
        tape.wait_text("PAUSED");
        let mut tape = tape;
        tape.keys("?");
        let shot = tape.wait_text(" keys ");
        let rows = BINDINGS.iter().flat_map(|(_, rows)| *rows);
        let words = rows
            .map(|row| row.help)
            .chain(GESTURES.iter().map(|(_, words)| *words));
        for words in words {
            assert!(shot.has(words), "no `{words}` in\n{shot}");
        }
        tape.keys("?");
        tape.wait_text("q quit");
    }
}

#[test]
fn times_are_shown_in_three_ways_and_typed_in_the_one_that_is_shown() {
    let tape = play_demo(&["--start-paused"]).env("TZ", "EET-2").run();
    tape.wait_text("10:53:20.000 EET");
    let mut tape = tape;
    tape.keys("T");
    tape.wait_text("08:53:20.000 UTC");
    tape.keys("T");
    tape.wait_text("1760000000.000 s");
    tape.keys("T");
    tape.wait_text("10:53:20.000 EET");
    tape.keys(&format!("g10:53:25{ENTER}"));
    tape.wait_text("10:53:25.000 EET");
}

#[test]
fn zooming_makes_the_bar_finer_around_the_playhead() {
    let mut tape = paused(&[]);
    let bar = tape.shot().bar();
    tape.keys("5");
    tape.wait_elapsed(14_998);
    tape.keys("zz");
    tape.wait_for("a row more", |shot| shot.bar() == bar + 1);
    // A sixteenth of the whole: a column is 16 ms instead of 254.
    tape.click(2, bar + 1);
    let near = tape.wait_for("another time", |shot| {
        shot.elapsed().is_some_and(|millis| millis != 14_998)
    });
    let millis = near.elapsed().unwrap();
    assert!((14_998 - 940..14_998 - 900).contains(&millis), "{near}");
    // The lane of everything is still there to go far.
    tape.click(118, bar - 2);
    tape.wait_elapsed(29_997);
    tape.keys("ZZ");
    tape.wait_for("a row less", |shot| shot.bar() == bar);
}

#[test]
fn it_fits_into_any_size_at_any_moment() {
    let mut tape = play_demo(&["--clock", "--loop"]).run();
    tape.wait_text("PLAYING");
    let ear = tape.ear();
    for (layer, sign) in [
        ("", "q quit"),
        ("?", " keys "),
        ("\r", "definition"),
        ("/i", "filter: i"),
        ("e", "events, the newest first"),
    ] {
        tape.keys(layer);
        tape.wait_text(sign);
        for (columns, rows) in [
            (40, 8),
            (80, 1),
            (1, 1),
            (3, 2),
            (200, 50),
            (12, 5),
            (80, 24),
        ] {
            tape.resize(columns, rows);
        }
        tape.resize(40, 8);
        if layer.is_empty() {
            tape.wait_for("40 × 8", |shot| {
                let rows = &shot.rows;
                rows[0].starts_with(" ▶ PLAYING")
                    && rows[1].contains("/ 00:29.997")
                    && rows[3].starts_with(['├', '●'])
                    && rows[7].contains("q quit")
            });
            tape.resize(80, 1);
            tape.wait_for("one line", |shot| {
                let line = &shot.rows[0];
                line.starts_with(" ▶ PLAYING") && line.contains("/ 00:29.997") && line.contains('├')
            });
            tape.resize(20, 1);
            tape.wait_for("a short line", |shot| shot.rows[0].contains("PLAYING"));
        }
        tape.resize(120, 30);
        tape.keys(ESC);
        tape.wait_for("all of it", |shot| {
            shot.shows("PLAYING") && shot.has("q quit") && shot.has("/imu") && shot.rows.len() == 30
        });
    }
    tape.keys("\x0c");
    let from = ear.next("/clock").stamp();
    ear.wait("that it plays on", |heard| {
        heard.is_clock() && heard.stamp() != from
    });
    tape.quit();
}

#[test]
fn what_no_terminal_should_send_does_nothing() {
    let mut tape = paused(&[]);
    for odd in [
        "\x1b[<0;0;5M",
        "\x1b[<0;5;0M",
        "\x1b[<0;0;0m",
        "\x1b[<0;99999;5M",
        "\x1b[32;0;0M",
        "\x1b[M   ",
    ] {
        tape.keys(odd);
    }
    tape.keys("TT");
    tape.wait_for("times of another kind, and no other time", |shot| {
        shot.shows("1760000000") && shot.elapsed() == Some(0)
    });
    tape.quit();
}

#[test]
fn ctrl_l_draws_what_something_else_has_written_over() {
    let mut tape = paused(&[]);
    let path = tape.terminal().tty_name().unwrap();
    let mut tty = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    std::io::Write::write_all(&mut tty, b"\x1b[H\x1b[2Jrubbish").unwrap();
    drop(tty);
    tape.wait_for("rubbish", |shot| shot.has("rubbish"));
    tape.keys("\x0c");
    tape.wait_for("the bar again", |shot| {
        !shot.has("rubbish") && shot.has("PAUSED") && shot.has("/imu") && shot.has("q quit")
    });
}

#[test]
fn marks_are_set_named_jumped_to_kept_and_shown_again() {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("drive.mcap");
    std::fs::copy(demo(), &bag).unwrap();
    let start = || {
        let tape = play_bag(&bag, &["--clock", "--start-paused"]).run();
        tape.wait_text("PAUSED");
        tape
    };
    let sidecar = folder.path().join("drive.mcap.marks.yaml");
    let kept = || std::fs::read_to_string(&sidecar).unwrap_or_default();
    let at = |tenth: i64| demo_range().duration().as_nanos() * tenth / 10;
    let entry = |tenth: i64| format!("time_ns: {}\n", demo_range().start().as_nanos() + at(tenth));

    let mut tape = start();
    let ear = tape.ear();
    tape.keys("2m");
    tape.wait_text("mark at +00:05.999");
    tape.keys("7M");
    tape.wait_text("name of the mark: ");
    tape.keys(&format!("q brakes{ENTER}"));
    tape.wait_text("mark at +00:20.998: q brakes");
    until("the file", || {
        kept().contains(&entry(2)) && kept().contains("q brakes")
    });
    assert!(kept().contains(&entry(7)), "{}", kept());
    tape.keys("N");
    ear.until_held(at(2), 2);
    tape.keys("N");
    tape.wait_text("no mark before this");
    tape.keys("n");
    ear.until_held(at(7), 2);
    tape.keys("n");
    tape.wait_text("no mark further on");
    tape.keys("5m");
    tape.wait_text("mark at +00:14.998");
    until("the file", || kept().contains(&entry(5)));
    tape.keys("m");
    tape.wait_text("the mark at +00:14.998 is gone");
    until("the file", || !kept().contains(&entry(5)));
    tape.quit();

    let info = assert_cmd::Command::cargo_bin("play")
        .unwrap()
        .arg("info")
        .arg(&bag)
        .assert();
    let said = predicate::str::contains("marks     2\n").and(predicate::str::contains("q brakes"));
    info.code(0).stdout(said);

    let mut tape = start();
    tape.wait_for("both marks", |shot| marks(shot) == 2);
    let ear = tape.ear();
    tape.keys("nn");
    ear.until_held(at(7), 2);
    tape.wait_text("q brakes");
    tape.keys("N");
    ear.until_held(at(2), 2);
}

/// How many marks the bar shows.
fn marks(shot: &Shot) -> usize {
    shot.rows[usize::from(shot.bar())].matches('◆').count()
}
