//! The transport in a terminal: the effects of keys and mouse on the screen and for subscribers.

use std::path::Path;

use bagplay::bag::Bag;
use bagplay::wire::ClockStateMessage;
use rustix::process::Signal;
use zenoh::Wait;

use crate::pty::terminal_session::{
    BACKSPACE, DOWN, END_KEY, ENTER, ESC, Frame, HOME, LEFT, Listener, RIGHT, Received, Recorded,
    TerminalCommand, TerminalSession, clicked, demo_range, play_bag, play_demo, since_start,
};
use crate::support::mcaps::{Files, Note, Spec};
use crate::support::network;
use crate::support::patience::until;

const SECOND: i64 = 1_000_000_000;
const MILLI: i64 = 1_000_000;
/// Two topics that are easy to distinguish, at 200 Hz and 50 Hz.
const TWO: [&str; 2] = ["/imu", "/odom"];

fn span() -> i64 {
    demo_range().duration().as_nanos()
}

/// The demo's two topics, paused at the start, and a listener.
fn paused(args: &[&str]) -> (TerminalSession, Listener, Recorded) {
    paused_at(120, args)
}

fn paused_at(columns: u16, args: &[&str]) -> (TerminalSession, Listener, Recorded) {
    let own = [
        "--clock",
        "--clock-state",
        "--start-paused",
        "--topics",
        "/imu",
        "/odom",
    ];
    let session = play_demo(&[&own, args].concat()).size(columns, 30).run();
    session.wait_text("PAUSED");
    let listener = session.listener();
    (session, listener, Recorded::of(&TWO))
}

/// Checks that the screen and the clock are paused at a time.
#[track_caller]
fn assert_at(session: &TerminalSession, listener: &Listener, nanos: i64) {
    session.wait_elapsed(nanos / MILLI);
    listener.until_held(nanos, 2);
}

/// All messages up to the message of a time; the clock may be ahead of it.
#[track_caller]
fn heard_until(listener: &Listener, recorded: &Recorded, nanos: i64) -> Vec<Received> {
    listener.until("the message of a time", |received| {
        TWO.contains(&received.topic.as_str()) && recorded.time(received) == nanos
    })
}

/// All messages until that of each topic has come, in the order of [`TWO`]; each topic has a link of its own.
#[track_caller]
fn heard_all(listener: &Listener, recorded: &Recorded, last: [Option<i64>; 2]) -> Vec<Received> {
    let mut missing = last;
    listener.until("the last message of each topic", |received| {
        let topic = TWO.iter().position(|topic| *topic == received.topic);
        if let Some(missing) = topic.map(|topic| &mut missing[topic])
            && *missing == Some(recorded.time(received))
        {
            *missing = None;
        }
        missing == [None; 2]
    })
}

/// The same as [`heard_until`], and until the clock is held there.
#[track_caller]
fn held_after(listener: &Listener, recorded: &Recorded, nanos: i64) -> Vec<Received> {
    let mut all = heard_until(listener, recorded, nanos);
    all.extend(listener.until_held(nanos, 3));
    all
}

/// The clock's next values.
fn ticks(listener: &Listener, count: usize) -> Vec<i64> {
    let next = || since_start(listener.next("/clock").stamp());
    (0..count).map(|_| next()).collect()
}

#[test]
fn space_holds_the_clock_which_continues_to_tick() {
    let mut session = play_demo(&["--clock", "--loop"]).run();
    session.wait_text("▶ PLAYING  ×1.00");
    let (listener, recorded) = (session.listener(), Recorded::of(&TWO));
    listener.next("/imu");
    let from = listener.next("/clock").stamp();
    listener.wait("a clock that continues", |received| {
        received.is_clock() && received.stamp() > from
    });
    session.wait_text("×1.00 (×");
    session.keys(" ");
    session.wait_text("‖ PAUSED  ×1.00");
    let shown = session.frame().elapsed();
    let at = loop {
        // The clock may have repeated a time before the pause.
        let at = listener.held();
        if Some(at / MILLI) == shown {
            break at;
        }
    };
    let others: Vec<Received> = listener.until_held(at, 8);
    // What was sent before the pause may come after the clock, which has a link of its own.
    assert!(
        others
            .iter()
            .filter(|received| TWO.contains(&received.topic.as_str()))
            .all(|received| recorded.time(received) <= at)
    );
    session.keys(" ");
    session.wait_text("▶ PLAYING");
    listener.wait("a clock that continues", |received| {
        received.is_clock() && since_start(received.stamp()) > at
    });
    let frame = session.quit();
    assert!(
        !frame.is_alternate && frame.has("router on") && frame.has("stopped after"),
        "{frame}"
    );
}

#[test]
fn the_mouse_scrubs_on_the_bar_and_on_the_lane_and_the_wheel_seeks() {
    let (mut session, listener, recorded) = paused(&[]);
    let bar = session.frame().bar();
    session.press(60, bar);
    assert_at(&session, &listener, clicked(60));
    for column in [80, 30, 1, 118] {
        session.drag(column, bar);
        assert_at(&session, &listener, clicked(column));
    }
    // Outside of the bar it still scrubs, until the button is released.
    session.drag(50, bar + 9);
    assert_at(&session, &listener, clicked(50));
    session.release(50, bar);
    session.drag(70, bar);
    session.click(20, bar - 1);
    assert_at(&session, &listener, clicked(20));
    session.wheel(1, 5, bar);
    assert_at(&session, &listener, clicked(20) + SECOND);
    session.wheel(-1, 5, bar);
    assert_at(&session, &listener, clicked(20));

    // Playback continues from there, also after a seek while playing.
    session.keys(" ");
    let received = listener.next("/imu");
    assert_eq!(
        recorded.time(&received),
        recorded.times("/imu", clicked(20), span())[0]
    );
    session.click(100, bar);
    listener.wait("the clock to jump", |received| {
        received.is_clock() && since_start(received.stamp()) == clicked(100)
    });
    let received = listener.until("the next of both", |received| received.topic == "/odom");
    let expected = recorded.times("/odom", clicked(100), span())[0];
    assert_eq!(recorded.received(&received, "/odom"), [expected]);
    // A node that reads nothing for some time is not waited for, and may have some from before the jump.
    let mut imus = recorded.received(&received, "/imu");
    imus.extend(recorded.received(&listener.until("the next", |it| it.topic == "/imu"), "/imu"));
    let next = imus.iter().position(|time| *time >= clicked(100));
    let (_, after) = imus.split_at(next.unwrap_or(imus.len()));
    assert!(after.iter().all(|time| *time >= clicked(100)), "{imus:?}");
    session.wait_for("the screen to follow", |frame| {
        frame
            .elapsed()
            .is_some_and(|millis| millis * MILLI > clicked(100))
    });
}

#[test]
fn the_time_under_the_mouse_is_shown_while_it_is_on_the_bar() {
    let (mut session, listener, _) = paused(&[]);
    let bar = session.frame().bar();
    assert_eq!(session.mouse_mode(), vt100::MouseProtocolMode::AnyMotion);
    let shown = |column| {
        let millis = clicked(column) / MILLI;
        format!("+00:{:02}.{:03}", millis / 1000, millis % 1000)
    };
    // As many as a terminal reports of one movement, in one piece.
    let moves = (2..=60).map(|column| format!("\x1b[<35;{};{}M", column + 1, bar + 1));
    session.keys(&moves.collect::<String>());
    session.wait_for("the time under the mouse", |frame| {
        frame.rows[usize::from(bar) + 1].contains(&shown(60))
    });
    session.hover(60, bar + 9);
    session.wait_for("nothing under the bar", |frame| {
        !frame.rows[usize::from(bar) + 1].contains('+')
    });
    // It seeks nowhere. Where nothing is shown, moves are not reported.
    assert_at(&session, &listener, 0);
    session.keys("?");
    session.wait_text("play or pause; at the end");
    assert_eq!(session.mouse_mode(), vt100::MouseProtocolMode::ButtonMotion);
    session.keys(ESC);
    session.wait_text("PAUSED");
    assert_eq!(session.mouse_mode(), vt100::MouseProtocolMode::AnyMotion);
    session.keys("q");
    session.wait_end();
    session.assert_restored();
}

#[test]
fn the_mouse_is_left_to_the_terminal_by_key_and_by_configuration() {
    let off = vt100::MouseProtocolMode::None;
    let (mut session, ..) = paused(&[]);
    session.keys("v");
    session
        .wait_text("the terminal selects text with the mouse; v gives the mouse back to the bar");
    assert_eq!(session.mouse_mode(), off);
    session.keys("v");
    session.wait_text("the bar uses the mouse");
    session.assert_taken();
    session.keys("q");
    session.wait_end();
    session.assert_restored();

    let command = play_demo(&["--start-paused"]).config("[tui]\nmouse = false\n");
    let mut session = command.run();
    session
        .wait_text("the terminal selects text with the mouse; v gives the mouse back to the bar");
    session.wait_text("PAUSED");
    assert_eq!(session.mouse_mode(), off);
    session.keys("v");
    session.wait_text("the bar uses the mouse");
    session.assert_taken();
    session.keys("v");
    session.wait_text("selects text with the mouse; v gives");
    session.keys("q");
    session.wait_end();
    session.assert_restored();
}

#[test]
fn a_click_on_a_key_of_the_last_line_does_what_it_does() {
    let (mut session, listener, recorded) = paused(&[]);
    let last = session.frame().rows.last().unwrap().clone();
    let column =
        |word: &str| u16::try_from(last[..last.find(word).unwrap()].chars().count()).unwrap();
    let first = recorded.times("/imu", 0, span())[0].min(recorded.times("/odom", 0, span())[0]);
    session.click(column("step"), 29);
    heard_until(&listener, &recorded, first);
    session.click(column("quit"), 29);
    let (code, _) = session.wait_end();
    assert_eq!(code, 0);
    session.assert_restored();
}

#[test]
fn a_drag_across_the_bar_ends_at_its_last_position() {
    let (mut session, listener, _) = paused(&[]);
    let bar = session.frame().bar();
    session.press(2, bar);
    for column in (3..118).chain((11..118).rev()) {
        session.drag(column, bar);
    }
    session.release(11, bar);
    assert_at(&session, &listener, clicked(11));
    session.keys("u");
    assert_at(&session, &listener, 0);
}

#[test]
fn keys_seek() {
    let (mut session, listener, _) = paused(&[]);
    let half = span() / 2;
    for (keys, to) in [
        ("5", half),
        (RIGHT, half + 5 * SECOND),
        (LEFT, half),
        (")", half + SECOND / 10),
        ("\x1b[1;2D", half),
        ("f", span()),
        ("b", 0.max(span() - 30 * SECOND)),
        ("\x1b[1;5C", span()),
        (HOME, 0),
        (END_KEY, span()),
        ("^", 0),
        ("$", span()),
        ("0", 0),
    ] {
        session.keys(keys);
        assert_at(&session, &listener, to);
    }
    for tenth in 1..=9 {
        session.keys(&tenth.to_string());
        assert_at(
            &session,
            &listener,
            i64::try_from(i128::from(span()) * tenth / 10).unwrap(),
        );
    }
}

#[test]
fn go_to_seeks_to_a_typed_time_and_reports_a_wrong_one() {
    let (mut session, listener, _) = paused(&[]);
    let start = demo_range().start().as_nanos();
    let of_day = |seconds: i64| seconds * SECOND - start % (86_400 * SECOND);
    for (typed, to) in [
        ("+2.5s", 5 * SECOND / 2),
        ("-1s", 3 * SECOND / 2),
        ("50%", (span() + 1) / 2),
        ("08:53:30.25", of_day(8 * 3600 + 53 * 60 + 30) + SECOND / 4),
        ("2025-10-09T08:53:21Z", of_day(8 * 3600 + 53 * 60 + 21)),
        ("1760000004000412377", 4 * SECOND),
    ] {
        session.keys("g");
        session.wait_text("go to: ");
        session.keys(&format!("{typed}{ENTER}"));
        assert_at(&session, &listener, to);
        session.wait_text("? help");
    }
    for (typed, wrong) in [
        ("soon", "`soon` is not a time"),
        ("09:30", "09:30 is not a time of day in the recording"),
        ("99", "99 is outside the recording"),
    ] {
        session.keys(&format!("g{typed}{ENTER}"));
        let frame = session.wait_text(wrong);
        assert!(frame.has(&format!("go to: {typed}")), "{frame}");
        // The text can be corrected.
        session.keys(BACKSPACE);
        session.wait_for("the error to go", |frame| !frame.has(wrong));
        session.keys(ESC);
        session.wait_text("? help");
    }
    // Pasted text goes into the prompt, and has no effect elsewhere.
    session.keys("\x1b[200~q9l\x1b[201~g");
    session.wait_text("go to: ");
    session.keys(&format!("\x1b[200~+1s\x1b[201~{ENTER}"));
    assert_at(&session, &listener, 5 * SECOND);
}

#[test]
fn each_step_publishes_one_message_and_no_other() {
    let (mut session, listener, recorded) = paused(&[]);
    session.keys("5");
    let mut at = span() / 2;
    assert_at(&session, &listener, at);
    let mut all = Vec::new();
    for _ in 0..12 {
        let next = recorded.after(at);
        session.keys(".");
        session.wait_elapsed(next / MILLI);
        let received = held_after(&listener, &recorded, next);
        let mut sent = recorded.received(&received, "/imu");
        sent.extend(recorded.received(&received, "/odom"));
        assert_eq!(sent, [next]);
        all.push(next);
        at = next;
    }
    all.pop();
    while let Some(back) = all.pop() {
        session.keys(",");
        session.wait_elapsed(back / MILLI);
        let received = held_after(&listener, &recorded, back);
        let mut sent = recorded.received(&received, "/imu");
        sent.extend(recorded.received(&received, "/odom"));
        assert_eq!(sent, [back]);
    }
    session.wait_text("PAUSED");
}

#[test]
fn a_step_says_what_it_has_sent_and_highlights_the_row() {
    let (mut session, listener, recorded) = paused(&[]);
    session.keys("5");
    assert_at(&session, &listener, span() / 2);
    let at = recorded.after(span() / 2);
    let name = TWO
        .into_iter()
        .find(|name| recorded.times(name, at, at) == [at])
        .unwrap();
    session.keys(".");
    let millis = at / MILLI;
    let says = format!(
        "sent 1 message of {name} at +00:{:02}.{:03}",
        millis / 1000,
        millis % 1000
    );
    session.wait_for("what was sent, and its row", |frame| {
        frame.has(&says) && frame.row(&format!("{name} ")).contains('●')
    });
    // A second later the row is as before, although nothing has happened.
    session.wait_for("no row highlighted", |frame| {
        frame.has(&says) && !frame.row(&format!("{name} ")).contains('●')
    });
    session.keys(",");
    session.wait_text("sent 1 message of /");
    session.quit();
}

#[test]
fn a_step_whose_message_cannot_be_sent_says_so() {
    // One byte is no CDR.
    let notes = (0..3).map(|n| Note::new(0, n * 1_000_000_000, [0]));
    let files = Files::of([Spec::new(vec![notes.collect()]).write()]);
    let mut session = play_bag(&files.paths[0], &["--start-paused"]).run();
    session.wait_text("PAUSED");
    session.keys(".");
    session.wait_text("could not send 1 message of /t0 at +00:00.000");
    session.keys(" ");
    session.wait_text("AT THE END");
    session.keys("q");
    let (code, frame) = session.wait_end();
    assert_eq!(code, 3, "{frame}");
}

#[test]
fn a_step_of_the_selected_topic_goes_to_its_messages() {
    let (mut session, listener, recorded) = paused(&[]);
    session.keys("5j");
    assert_at(&session, &listener, span() / 2);
    session.wait_for("the second row selected", |frame| {
        frame.row("/odom").starts_with('›')
    });
    let odoms = recorded.times("/odom", span() / 2, span());
    let mut from = span() / 2;
    for odom in &odoms[..3] {
        session.keys(">");
        session.wait_elapsed(odom / MILLI);
        let mut between = recorded.times("/imu", from + 1, *odom);
        // A message of the same time may come after that of the topic.
        between.retain(|time| *time < *odom);
        let last = [between.last().copied(), Some(*odom)];
        let mut received = heard_all(&listener, &recorded, last);
        received.extend(listener.until_held(*odom, 3));
        assert_eq!(recorded.received(&received, "/odom"), [*odom]);
        let mut imus = recorded.received(&received, "/imu");
        imus.retain(|time| *time < *odom);
        assert_eq!(imus, between);
        from = *odom;
    }
    session.keys("<");
    session.wait_elapsed(odoms[1] / MILLI);
    let received = held_after(&listener, &recorded, odoms[1]);
    assert_eq!(recorded.received(&received, "/odom"), [odoms[1]]);
    assert_eq!(recorded.received(&received, "/imu"), Vec::<i64>::new());
}

#[test]
fn a_step_without_a_message_is_logged() {
    let (mut session, ..) = paused(&[]);
    let wait_log_line = |session: &TerminalSession, expected: &str| {
        session.wait_for(expected, |frame| {
            let is_one = |row: &&String| {
                row.contains("no previous message") || row.contains("no next message")
            };
            let newest = frame.rows.iter().rfind(is_one);
            newest.is_some_and(|row| row.contains(expected))
        });
    };
    session.keys(",");
    wait_log_line(&session, "no previous message");
    session.keys("<");
    wait_log_line(&session, "no previous message (×2)");
    // Some messages may be at the very end.
    for key in [">", "."] {
        session.keys("$");
        session.wait_elapsed(span() / MILLI);
        session.keys(&key.repeat(9));
        wait_log_line(&session, "no next message");
        session.keys("^");
        session.wait_elapsed(0);
        session.keys(",");
        wait_log_line(&session, "no previous message");
    }
    session.quit();
}

/// The measured rate, which the header shows in brackets.
fn achieved(frame: &Frame) -> Option<f64> {
    let (_, rest) = frame.rows[0].split_once(" (×")?;
    rest.split_once(')')?.0.replace('−', "-").parse().ok()
}

#[test]
fn the_rate_changes_and_the_measured_rate_is_shown() {
    let (mut session, listener, _) = paused(&[]);
    session.keys("]");
    session.wait_text("PAUSED  ×1.10");
    session.keys("] ");
    session.wait_text("PLAYING  ×1.21");
    for (keys, shown, rate) in [
        (BACKSPACE, "×1.00", 1.0),
        ("[", "×0.90", 0.9),
        ("]", "×1.00", 1.0),
        ("{", "×0.50", 0.5),
        ("}}", "×2.00", 2.0),
        ("=", "×1.00", 1.0),
    ] {
        session.keys(&format!("0{keys}"));
        session.wait_text(shown);
        session.wait_for("that it is reached", |frame| {
            achieved(frame).is_some_and(|achieved| (achieved / rate - 1.0).abs() < 0.1)
        });
        // The state of the clock has the new factor.
        listener.wait(&format!("a clock of factor {rate}"), |received| {
            let is_state = received.topic == "/rosbag2_player/clock_state";
            let message = is_state.then(|| ClockStateMessage::decode(&received.payload).unwrap());
            message.is_some_and(|message| (message.real_time_factor - rate).abs() < 1e-9)
        });
    }
}

#[test]
fn a_rate_that_is_too_high_for_a_subscribers_queue_causes_a_warning() {
    let args = ["-v", "--start-paused", "--topics", "/odom"];
    let mut session = play_demo(&args).size(200, 30).run();
    session.wait_text("PAUSED");
    let node = session.peer();
    let dds_type = "nav_msgs::msg::dds_::Odometry_";
    let hash = "RIHS01_3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0";
    // The token of a test has a depth of ten.
    let token = network::token(&node, "MS", "/odom", dds_type, hash);
    let _token = node.liveliness().declare_token(token).wait().unwrap();
    session.wait_text("subscribes to /odom");
    session.keys("}}}");
    let frame = session.wait_text("×8.00");
    assert!(!frame.has("queues at most"), "{frame}");
    session.keys("}");
    session.wait_text(
        "/listener queues at most 10 messages of /odom, and at this rate 693 arrive per second",
    );
}

#[test]
fn r_plays_in_the_reverse_order_from_the_present_position() {
    let (mut session, listener, recorded) = paused(&["--rate", "2"]);
    session.keys("4");
    let from = span() * 4 / 10;
    assert_at(&session, &listener, from);
    session.keys("r ");
    session.wait_text("◀ REVERSE  ×−2.00");
    let (mut clock, mut counts) = (from, [0; 2]);
    let received = listener.until("half a second of it", |received| {
        if received.is_clock() {
            let next = since_start(received.stamp());
            assert!(next <= clock, "the clock runs to {next} from {clock}");
            clock = next;
        } else if let Some(topic) = TWO.iter().position(|topic| *topic == received.topic) {
            counts[topic] += 1;
        }
        clock < from - SECOND / 2 && counts.iter().all(|count| *count > 10)
    });
    for topic in TWO {
        let times = recorded.received(&received, topic);
        let mut expected = recorded.times(topic, 0, from);
        expected.reverse();
        assert_eq!(times, expected[..times.len()], "{topic}");
    }
    session.wait_for("the header to run backwards", |frame| {
        frame
            .elapsed()
            .is_some_and(|millis| millis * MILLI < from - SECOND / 2)
    });
    session.keys("r");
    session.wait_text("▶ PLAYING  ×2.00");
    let mut last = i64::MAX;
    listener.wait("the clock to turn", |received| {
        let has_turned = received.is_clock() && received.stamp() > last;
        last = if received.is_clock() {
            received.stamp()
        } else {
            last
        };
        has_turned
    });
    let ahead = ticks(&listener, 5);
    assert!(ahead.is_sorted(), "{ahead:?}");
}

/// Checks two laps of a loop: the clock and the messages stay within it, and both go back to its start.
#[track_caller]
fn assert_loops(listener: &Listener, recorded: &Recorded, a: i64, b: i64) {
    listener.discard();
    listener.wait("a lap", {
        let mut last = 0;
        move |received| {
            received.is_clock() && std::mem::replace(&mut last, received.stamp()) > received.stamp()
        }
    });
    let (mut last, mut laps) = (0, 0);
    // The clock has a queue of its own: messages of a lap may arrive after the clock of the next lap.
    let (mut last_message, mut has_lapped) = (0, false);
    let received = listener.until("two more laps, of the messages too", |received| {
        if received.topic == "/imu" {
            has_lapped |= received.stamp() < last_message;
            last_message = received.stamp();
        }
        if received.is_clock() {
            let now = since_start(received.stamp());
            assert!((a..=b).contains(&now), "{now} is outside of {a} to {b}");
            laps += i32::from(now < last);
            last = now;
        }
        laps >= 2 && has_lapped
    });
    let times = recorded.received(&received, "/imu");
    assert!(times.iter().all(|time| (a..=b).contains(time)), "{times:?}");
    assert!(times.windows(2).any(|two| two[1] < two[0]), "{times:?}");
}

#[test]
fn l_sets_a_then_b_then_clears_the_loop() {
    // A wide screen has room for the number of laps.
    let (mut session, listener, recorded) = paused_at(180, &[]);
    let (a, b) = (span() * 3 / 10, span() * 3 / 10 + 3 * SECOND / 10);
    session.keys("3l");
    session.wait_text("A set");
    session.wait_text("A at +00:08.999; press again for B");
    session.keys(")))l");
    session.wait_text("loop A-B");
    session.wait_text("loops from A +00:08.999 to B +00:09.299");
    session.keys(" ");
    session.wait_text("lap 3");
    assert_loops(&listener, &recorded, a, b);
    session.keys("l");
    session.wait_for("no loop", |frame| {
        frame.shows("the loop is cleared") && !frame.has("A-B")
    });
    listener.wait("the clock to leave it", |received| {
        received.is_clock() && since_start(received.stamp()) > b
    });
    // The whole recording loops, too: from its last tenth of a second to the start.
    session.keys("L$(");
    session.wait_for("all of it to loop", |frame| {
        frame.shows("loop  ") && !frame.has("A-B")
    });
    listener.wait("the end", |received| {
        received.is_clock() && since_start(received.stamp()) > span() - SECOND
    });
    listener.wait("the start again", |received| {
        received.is_clock() && since_start(received.stamp()) < SECOND
    });
}

#[test]
fn a_right_drag_loops_and_a_right_click_clears_it() {
    let (mut session, listener, recorded) = paused(&["--rate", "4"]);
    let bar = session.frame().bar();
    session.right_drag(60, 56, bar);
    session.wait_text("loop A-B");
    let (a, b) = (clicked(56), clicked(60));
    session.wait_for("the playhead to be taken to A", |frame| {
        let at = |column: usize| frame.rows[usize::from(bar)].chars().nth(column);
        (at(56), at(60)) == (Some('●'), Some('⟩'))
    });
    session.keys(" ");
    assert_loops(&listener, &recorded, a, b);
    // A seek out of the loop clears it.
    session.keys("1");
    session.wait_for("no loop", |frame| {
        frame.shows("the loop is cleared") && !frame.has("A-B")
    });
    // With shift or ctrl the left button does it too.
    session.keys(&format!(
        "\x1b[<4;31;{0}M\x1b[<36;35;{0}M\x1b[<4;35;{0}m",
        bar + 1
    ));
    session.wait_text("loop A-B");
    session.right_drag(30, 30, bar);
    session.wait_for("no loop", |frame| !frame.has("A-B"));
}

#[test]
fn successive_seeks_are_undone_together() {
    let (mut session, listener, _) = paused(&[]);
    session.keys("5");
    assert_at(&session, &listener, span() / 2);
    session.keys("u");
    assert_at(&session, &listener, 0);
    session.keys(&format!("{RIGHT}{RIGHT}{RIGHT}{LEFT}"));
    assert_at(&session, &listener, 10 * SECOND);
    // Another key is another seek.
    session.keys("u");
    assert_at(&session, &listener, 15 * SECOND);
    session.keys("u");
    assert_at(&session, &listener, 0);
    session.keys("u");
    session.wait_text("no seek to undo");
}

#[test]
fn at_the_end_it_holds_until_space_plays_again() {
    let (mut session, listener, recorded) = paused(&[]);
    session.keys("$(((((");
    let from = span() - SECOND / 2;
    assert_at(&session, &listener, from);
    session.keys(" ");
    let frame = session.wait_text("■ AT THE END");
    assert_eq!(frame.elapsed(), Some(span() / MILLI), "{frame}");
    let last = TWO.map(|topic| recorded.times(topic, from, span()).pop());
    let mut received = heard_all(&listener, &recorded, last);
    received.extend(listener.until_held(span(), 4));
    for topic in TWO {
        assert_eq!(
            recorded.received(&received, topic),
            recorded.times(topic, from, span())
        );
    }
    session.keys(" ");
    session.wait_text("PLAYING");
    assert_eq!(
        recorded.time(&listener.next("/odom")),
        recorded.times("/odom", 0, span())[0]
    );
}

/// Whether a listener receives so many messages of the topics, in a row, without a clock: it ticks much more often.
fn hears_no_clock(listener: &Listener) {
    let mut in_a_row = 0;
    listener.until("messages without a clock", |received| {
        in_a_row = if received.is_clock() { 0 } else { in_a_row + 1 };
        in_a_row == 150
    });
}

#[test]
fn the_clock_is_turned_on_and_off_while_paused_and_while_playing() {
    let two = ["--topics", "/imu", "/odom", "--start-paused", "--loop"];
    let mut session = play_demo(&two).run();
    session.wait_text("PAUSED");
    session.wait_text("/clock: off (c)");
    session.keys("c");
    session.wait_text("/clock: 40 Hz");
    // A node that comes later; the clock goes on while paused.
    let listener = session.listener();
    listener.until_held(0, 5);
    session.keys(" ");
    session.wait_text("PLAYING");
    listener.wait("a clock that moves", |received| {
        received.is_clock() && since_start(received.stamp()) > SECOND / 10
    });
    session.keys("c");
    session.wait_text("/clock: off (c)");
    hears_no_clock(&listener);
    session.keys("C");
    session.wait_text("/clock in Hz: ");
    session.keys(&format!("200{ENTER}"));
    session.wait_text("/clock: 200 Hz");
    // A tick is left out if its thread is late.
    until("ticks of 200 Hz", || {
        let times = ticks(&listener, 20);
        let steps = times.windows(2).map(|pair| pair[1] - pair[0]);
        steps.filter(|step| *step <= 10 * MILLI).count() >= 10
    });
    session.keys("y");
    session.wait_text("sent to the clipboard of the terminal: play ");
    session.keys(" ");
    session.wait_text("PAUSED");
    session.keys("Q");
    session.wait_end();
    let bytes = String::from_utf8_lossy(&session.bytes()).into_owned();
    let resumed = bytes.split("resume with: ").nth(1).expect("a command line");
    assert!(resumed.contains(" --clock 200 "), "{resumed}");
}

#[test]
fn a_clock_that_was_turned_off_is_not_in_the_command_line() {
    let args = [
        "--clock",
        "--start-paused",
        "--start",
        "+3",
        "--begin-at",
        "+5",
    ];
    let mut session = play_demo(&args).run();
    session.wait_text("/clock: 40 Hz");
    session.keys("c");
    // The recorded clock was left out at the start.
    session.wait_text("/clock: off (c)");
    session.keys("q");
    session.wait_end();
    let bytes = String::from_utf8_lossy(&session.bytes()).into_owned();
    let resumed = bytes.split("resume with: ").nth(1).expect("a command line");
    assert!(!resumed.contains("--clock"), "{resumed}");
}

#[test]
fn beside_a_recorded_clock_none_is_served() {
    let mut session = play_demo(&["--start-paused"]).run();
    session.wait_text("/clock: recorded");
    session.keys("c");
    session.wait_text("the recorded /clock is a topic of this run");
    session.wait_text("/clock: recorded");
    session.quit();
}

/// From 14 s to 18 s of the demo there is no message.
#[test]
fn a_gap_is_skipped_once_the_key_is_pressed() {
    let (mut session, listener, _) = paused(&["--start", "+13.5"]);
    session.keys("G");
    session.wait_text("skips gaps > 2s");
    listener.discard();
    session.keys(" ");
    let times = listener.until("a message after the gap", |received| {
        received.topic == "/odom" && since_start(received.stamp()) >= 18 * SECOND
    });
    let clock = times.iter().filter(|received| received.is_clock());
    let inside = clock
        .map(|received| since_start(received.stamp()))
        .filter(|time| (14_500 * MILLI..17_500 * MILLI).contains(time));
    assert_eq!(inside.collect::<Vec<_>>(), [0_i64; 0]);
    session.keys("q");
    session.wait_end();
    let bytes = String::from_utf8_lossy(&session.bytes()).into_owned();
    let resumed = bytes.split("resume with: ").nth(1).expect("a command line");
    assert!(resumed.contains(" --skip-empty 2s"), "{resumed}");
}

#[test]
fn the_command_line_is_copied_and_printed_at_the_end() {
    let args = ["--start-paused", "--wire", "null", "--rate", "2", "--clock"];
    let mut session = play_demo(&args).run();
    session.wait_text("PAUSED");
    session.keys("[g");
    session.wait_text("go to: ");
    session.keys(&format!("+12.5{ENTER}"));
    session.wait_text("+00:12.500");
    session.keys("y");
    session.wait_text("sent to the clipboard of the terminal: play ");
    let tail = "--begin-at +12.5s --rate 1.8 --clock 40 --start-paused";
    // The clipboard gets it in base 64.
    let bytes = session.bytes();
    let start = bytes.windows(7).position(|part| part == b"\x1b]52;c;");
    let encoded = &bytes[start.expect("a copy") + 7..];
    let length = encoded.iter().position(|byte| matches!(byte, 7 | 0x1b));
    let copied = decode_base64(&encoded[..length.unwrap()]);
    assert!(
        copied.starts_with("play ") && copied.ends_with(tail),
        "{copied}"
    );
    session.keys("q");
    session.wait_end();
    let bytes = String::from_utf8_lossy(&session.bytes()).into_owned();
    assert!(bytes.contains(&format!("resume with: {copied}")), "{bytes}");
}

/// Position, rate, loop and clock are the same, and a topic that was muted is not played.
#[test]
fn the_command_line_that_is_printed_brings_back_the_view() {
    let args = ["--start-paused", "--wire", "null", "--clock"];
    let mut session = play_demo(&args).run();
    session.wait_text("PAUSED");
    session.keys("t]g");
    session.wait_text("go to: ");
    session.keys(&format!("+12.5{ENTER}"));
    session.wait_text("+00:12.500");
    session.keys(&format!("l{}l", "\x1b[1;2C".repeat(3)));
    let left = session.wait_text("loop A-B").elapsed();
    session.keys("q");
    session.wait_end();
    let bytes = String::from_utf8_lossy(&session.bytes()).into_owned();
    let resumed = bytes
        .split("resume with: play ")
        .nth(1)
        .expect("a command line");
    let line = resumed.lines().next().unwrap().trim_end();
    let program = assert_cmd::cargo::cargo_bin("play");
    let script = format!("exec '{}' {line}", program.to_str().unwrap());
    let again = TerminalCommand::of(Path::new("/bin/sh"), &["-c", &script]).run();
    let frame = again.wait_for("the view", |frame| {
        let parts = ["PAUSED", "loop A-B", "/tf_static", "×1.10", "/clock: 40 Hz"];
        parts.iter().all(|part| frame.has(part)) && frame.elapsed() == left
    });
    assert!(!frame.has("/camera/image/compressed"), "{frame}");
    again.quit();
}

#[test]
fn at_the_edges_the_command_line_has_what_is_not_as_it_was() {
    // At the start nothing was changed before, and nothing is left to resume.
    let args = ["--start-paused", "--wire", "null"];
    let mut session = play_demo(&args).run();
    session.wait_text("PAUSED");
    session.keys("y");
    session.wait_text("sent to the clipboard of the terminal: play ");
    let frame = session.quit();
    assert!(!frame.has("resume with"), "{frame}");
    let (short, changed) = (["--end", "+0.2s", "--wire", "null"], "--end +0.2s");
    let mut session = play_demo(&short).run();
    session.wait_text("AT THE END");
    session.keys("]t");
    session.wait_text("×1.10");
    session.wait_text("is muted");
    session.keys("q");
    session.wait_end();
    let bytes = String::from_utf8_lossy(&session.bytes()).into_owned();
    let resumed = bytes.split("resume with: ").nth(1).expect("a command line");
    let line = resumed.lines().next().unwrap();
    let has = |flag: &str| line.contains(flag);
    assert!(has(changed) && has(" --rate 1.1"), "{line}");
    assert!(has(" --exclude-topics=") && !has("begin-at"), "{line}");
    // As it was begun, it has nothing to resume at its end.
    let mut session = play_demo(&short).run();
    session.wait_text("AT THE END");
    session.keys("q");
    session.wait_end();
    assert!(!session.text().contains("resume with"));
}

#[test]
fn a_subscriber_gets_every_message_while_the_bar_cuts_watches_and_finds() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("part.mcap");
    let (mut session, listener, recorded) = paused(&[]);
    session.keys("l");
    session.wait_text("A at ");
    session.keys(&format!("{}l", "\x1b[1;2C".repeat(10)));
    session.wait_text("loop A-B");
    session.keys(&format!("{DOWN}t"));
    session.wait_text("/odom is muted");
    session.keys("x");
    session.wait_text(" write A-B to: demo_");
    session.keys(&format!("\x15{}{ENTER}", out.to_str().unwrap()));
    session.wait_text("messages, ");
    let part = Bag::open(&[&out]).unwrap();
    let [topic] = part.topics() else {
        panic!("{:?}", part.topics())
    };
    assert_eq!(topic.name, "/imu");
    let within = recorded.times(
        "/imu",
        0,
        since_start(part.range().unwrap().stop().as_nanos()),
    );
    assert_eq!(topic.message_count, Some(within.len() as u64));
    session.keys(&format!("tl{HOME} "));
    session.wait_text("▶ PLAYING");
    session.keys("/imu");
    session.wait_text(" of 2: imu)");
    session.keys(&format!("{ENTER}{ENTER}"));
    session.wait_text("after the stamp");
    session.keys("w");
    session.wait_text("header  watched");
    session.keys("/");
    session.wait_text(" find in /imu: ");
    session.keys(&format!("angular_velocity.z < -0.3{ENTER}"));
    session.wait_text("messages found: n, N");
    session.keys(ESC);
    session.wait_text("enter topic");
    session.keys("y");
    session.wait_text("sent to the clipboard of the terminal: play ");
    let shown = session.frame().elapsed().expect("a time") * MILLI;
    let all = listener.until("later messages", |received| {
        received.topic == "/imu" && recorded.time(received) > shown
    });
    let heard = recorded.received(&all, "/imu");
    let last = *heard.last().expect("a message");
    assert_eq!(heard, recorded.times("/imu", 0, last));
    session.quit();
}

fn decode_base64(text: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text
        .iter()
        .filter_map(|byte| DIGITS.iter().position(|digit| digit == byte));
    let bits =
        digits.flat_map(|digit| (0..6).rev().map(move |bit| u8::from(digit >> bit & 1 == 1)));
    let bits: Vec<u8> = bits.collect();
    let bytes = bits
        .chunks_exact(8)
        .map(|byte| byte.iter().fold(0, |all, bit| all << 1 | bit));
    String::from_utf8(bytes.collect()).unwrap()
}

#[test]
fn a_recording_that_was_left_with_capital_q_starts_there_once_more() {
    let state = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let session = play_demo(&[&["--start-paused", "--wire", "null"], args].concat());
        session
            .env("XDG_STATE_HOME", state.path().to_str().unwrap())
            .run()
    };
    let mut session = run(&[]);
    session.wait_text("PAUSED");
    session.keys(&format!("{RIGHT}{RIGHT}"));
    session.wait_text("+00:10.000");
    session.keys("Q");
    session.wait_end();
    // A flag counts more.
    let mut elsewhere = run(&["--start", "+3"]);
    elsewhere.wait_text("+00:03.000");
    elsewhere.signal(Signal::TERM);
    elsewhere.wait_end();
    let mut again = run(&[]);
    let frame = again.wait_text("+00:10.000");
    assert!(frame.has("where the last run was left"), "{frame}");
    // Played again from the end, it plays all of it.
    again.keys("$");
    again.wait_elapsed(span() / MILLI);
    again.keys(" ");
    again.wait_text("AT THE END");
    again.keys(" ");
    again.wait_for("the start", |frame| {
        frame.elapsed().is_some_and(|elapsed| elapsed < 5_000)
    });
    again.keys("q");
    again.wait_end();
    run(&[]).wait_text("+00:00.000");
}
