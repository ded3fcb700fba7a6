//! The transport in a terminal: the effects of keys and mouse on the screen and for subscribers.

use bagplay::wire::ClockStateMessage;

use crate::pty::terminal_session::{
    BACKSPACE, END_KEY, ENTER, ESC, Ear, HOME, Heard, LEFT, RIGHT, Reel, Shot, Tape, clicked,
    demo_range, play_demo, since_start,
};

const SECOND: i64 = 1_000_000_000;
const MILLI: i64 = 1_000_000;
/// Two topics that are easy to distinguish, at 200 Hz and 50 Hz.
const TWO: [&str; 2] = ["/imu", "/odom"];

fn span() -> i64 {
    demo_range().duration().as_nanos()
}

/// The demo's two topics, standing at its start, and who listens.
fn paused(args: &[&str]) -> (Tape, Ear, Reel) {
    paused_at(120, args)
}

fn paused_at(columns: u16, args: &[&str]) -> (Tape, Ear, Reel) {
    let own = [
        "--clock",
        "--clock-state",
        "--start-paused",
        "--topics",
        "/imu",
        "/odom",
    ];
    let tape = play_demo(&[&own, args].concat()).size(columns, 30).run();
    tape.wait_text("PAUSED");
    let ear = tape.ear();
    (tape, ear, Reel::of(&TWO))
}

/// The screen and the clock are paused there.
#[track_caller]
fn assert_at(tape: &Tape, ear: &Ear, nanos: i64) {
    tape.wait_elapsed(nanos / MILLI);
    ear.until_held(nanos, 2);
}

/// What comes up to the message of a time, which the clock may overtake.
#[track_caller]
fn heard_until(ear: &Ear, reel: &Reel, nanos: i64) -> Vec<Heard> {
    ear.until("the message of a time", |heard| {
        TWO.contains(&heard.topic.as_str()) && reel.time(heard) == nanos
    })
}

/// The same, and until the clock is held there.
#[track_caller]
fn held_after(ear: &Ear, reel: &Reel, nanos: i64) -> Vec<Heard> {
    let mut all = heard_until(ear, reel, nanos);
    all.extend(ear.until_held(nanos, 3));
    all
}

/// The clock's next values.
fn ticks(ear: &Ear, count: usize) -> Vec<i64> {
    let next = || since_start(ear.next("/clock").stamp());
    (0..count).map(|_| next()).collect()
}

#[test]
fn it_opens_and_plays_and_space_holds_the_clock_which_ticks_on() {
    let mut tape = play_demo(&["--clock", "--loop"]).run();
    tape.wait_text("▶ PLAYING  ×1.00");
    let ear = tape.ear();
    ear.next("/imu");
    let from = ear.next("/clock").stamp();
    ear.wait("a clock that goes on", |heard| {
        heard.is_clock() && heard.stamp() > from
    });
    tape.wait_text("×1.00 (×");
    tape.keys(" ");
    tape.wait_text("‖ PAUSED  ×1.00");
    let shown = tape.shot().elapsed();
    let at = loop {
        // The clock may have stood for a moment before.
        let at = ear.held();
        if Some(at / MILLI) == shown {
            break at;
        }
    };
    let others: Vec<Heard> = ear.until_held(at, 8);
    assert!(
        others
            .iter()
            .all(|heard| !TWO.contains(&heard.topic.as_str()))
    );
    tape.keys(" ");
    tape.wait_text("▶ PLAYING");
    ear.wait("a clock that goes on", |heard| {
        heard.is_clock() && since_start(heard.stamp()) > at
    });
    let shot = tape.quit();
    assert!(
        !shot.is_alternate && shot.has("router on") && shot.has("stopped after"),
        "{shot}"
    );
}

#[test]
fn the_mouse_scrubs_on_the_bar_and_on_the_lane_and_the_wheel_seeks() {
    let (mut tape, ear, reel) = paused(&[]);
    let bar = tape.shot().bar();
    tape.press(60, bar);
    assert_at(&tape, &ear, clicked(60));
    for column in [80, 30, 1, 118] {
        tape.drag(column, bar);
        assert_at(&tape, &ear, clicked(column));
    }
    // Off the bar it still scrubs, up to where the button is let go.
    tape.drag(50, bar + 9);
    assert_at(&tape, &ear, clicked(50));
    tape.release(50, bar);
    tape.drag(70, bar);
    tape.click(20, bar - 1);
    assert_at(&tape, &ear, clicked(20));
    tape.wheel(1, 5, bar);
    assert_at(&tape, &ear, clicked(20) + SECOND);
    tape.wheel(-1, 5, bar);
    assert_at(&tape, &ear, clicked(20));

    // What is played from there on follows, also when it plays already.
    tape.keys(" ");
    let heard = ear.next("/imu");
    assert_eq!(
        reel.time(&heard),
        reel.times("/imu", clicked(20), span())[0]
    );
    tape.click(100, bar);
    ear.wait("the clock to jump", |heard| {
        heard.is_clock() && since_start(heard.stamp()) == clicked(100)
    });
    let heard = ear.until("the next of both", |heard| heard.topic == "/odom");
    let expected = reel.times("/odom", clicked(100), span())[0];
    assert_eq!(reel.heard(&heard, "/odom"), [expected]);
    let imus = reel.heard(&heard, "/imu");
    assert!(imus.iter().all(|time| *time >= clicked(100)), "{imus:?}");
    tape.wait_for("the screen to follow", |shot| {
        shot.elapsed()
            .is_some_and(|millis| millis * MILLI > clicked(100))
    });
}

#[test]
fn a_drag_across_the_bar_ends_where_it_ends() {
    let (mut tape, ear, _) = paused(&[]);
    let bar = tape.shot().bar();
    tape.press(2, bar);
    for column in (3..118).chain((11..118).rev()) {
        tape.drag(column, bar);
    }
    tape.release(11, bar);
    assert_at(&tape, &ear, clicked(11));
    tape.keys("u");
    assert_at(&tape, &ear, 0);
}

#[test]
fn keys_seek() {
    let (mut tape, ear, _) = paused(&[]);
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
        tape.keys(keys);
        assert_at(&tape, &ear, to);
    }
    for tenth in 1..=9 {
        tape.keys(&tenth.to_string());
        assert_at(
            &tape,
            &ear,
            i64::try_from(i128::from(span()) * tenth / 10).unwrap(),
        );
    }
}

#[test]
fn a_time_can_be_typed_and_a_wrong_one_says_what_is_wrong() {
    let (mut tape, ear, _) = paused(&[]);
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
        tape.keys("g");
        tape.wait_text("go to: ");
        tape.keys(&format!("{typed}{ENTER}"));
        assert_at(&tape, &ear, to);
        tape.wait_text("? help");
    }
    for (typed, wrong) in [
        ("soon", "`soon` is no time"),
        ("09:30", "it was not 09:30 while this was recorded"),
        ("99", "99 lies outside the recording"),
    ] {
        tape.keys(&format!("g{typed}{ENTER}"));
        let shot = tape.wait_text(wrong);
        assert!(shot.has(&format!("go to: {typed}")), "{shot}");
        // It can be put right.
        tape.keys(BACKSPACE);
        tape.wait_for("the error to go", |shot| !shot.has(wrong));
        tape.keys(ESC);
        tape.wait_text("? help");
    }
    // Text that is pasted is typed too, and does nothing else.
    tape.keys("\x1b[200~q9l\x1b[201~g");
    tape.wait_text("go to: ");
    tape.keys(&format!("\x1b[200~+1s\x1b[201~{ENTER}"));
    assert_at(&tape, &ear, 5 * SECOND);
}

#[test]
fn each_step_publishes_one_message_and_no_other() {
    let (mut tape, ear, reel) = paused(&[]);
    tape.keys("5");
    let mut at = span() / 2;
    assert_at(&tape, &ear, at);
    let mut all = Vec::new();
    for _ in 0..12 {
        let next = reel.after(at);
        tape.keys(".");
        tape.wait_elapsed(next / MILLI);
        let heard = held_after(&ear, &reel, next);
        let mut sent = reel.heard(&heard, "/imu");
        sent.extend(reel.heard(&heard, "/odom"));
        assert_eq!(sent, [next]);
        all.push(next);
        at = next;
    }
    all.pop();
    while let Some(back) = all.pop() {
        tape.keys(",");
        tape.wait_elapsed(back / MILLI);
        let heard = held_after(&ear, &reel, back);
        let mut sent = reel.heard(&heard, "/imu");
        sent.extend(reel.heard(&heard, "/odom"));
        assert_eq!(sent, [back]);
    }
    tape.wait_text("PAUSED");
}

#[test]
fn a_step_of_the_selected_topic_goes_to_its_messages() {
    let (mut tape, ear, reel) = paused(&[]);
    tape.keys("5j");
    assert_at(&tape, &ear, span() / 2);
    tape.wait_for("the second row selected", |shot| {
        shot.row("/odom").starts_with('›')
    });
    let odoms = reel.times("/odom", span() / 2, span());
    let mut from = span() / 2;
    for odom in &odoms[..3] {
        tape.keys(">");
        tape.wait_elapsed(odom / MILLI);
        let heard = held_after(&ear, &reel, *odom);
        assert_eq!(reel.heard(&heard, "/odom"), [*odom]);
        let mut between = reel.times("/imu", from + 1, *odom);
        // The one at the very time of the topic's message may be behind it.
        between.retain(|time| *time < *odom);
        let mut imus = reel.heard(&heard, "/imu");
        imus.retain(|time| *time < *odom);
        assert_eq!(imus, between);
        from = *odom;
    }
    tape.keys("<");
    tape.wait_elapsed(odoms[1] / MILLI);
    let heard = held_after(&ear, &reel, odoms[1]);
    assert_eq!(reel.heard(&heard, "/odom"), [odoms[1]]);
    assert_eq!(reel.heard(&heard, "/imu"), Vec::<i64>::new());
}

#[test]
fn a_step_that_finds_nothing_says_so() {
    let (mut tape, ..) = paused(&[]);
    let says = |tape: &Tape, said: &str| {
        tape.wait_for(said, |shot| {
            let newest = shot.rows.iter().rfind(|row| row.contains("no message"));
            newest.is_some_and(|row| row.contains(said))
        });
    };
    tape.keys(",");
    says(&tape, "further back");
    tape.keys("<");
    says(&tape, "further back (×2)");
    // Some messages may lie at the very end.
    for key in [">", "."] {
        tape.keys("$");
        tape.wait_elapsed(span() / MILLI);
        tape.keys(&key.repeat(9));
        says(&tape, "further on");
        tape.keys("^");
        tape.wait_elapsed(0);
        tape.keys(",");
        says(&tape, "further back");
    }
    tape.quit();
}

/// The rate that is reached, as the header shows it in brackets.
fn achieved(shot: &Shot) -> Option<f64> {
    let (_, rest) = shot.rows[0].split_once(" (×")?;
    rest.split_once(')')?.0.replace('−', "-").parse().ok()
}

#[test]
fn the_rate_changes_and_what_is_reached_is_shown() {
    let (mut tape, ear, _) = paused(&[]);
    tape.keys("]");
    tape.wait_text("PAUSED  ×1.10");
    tape.keys("] ");
    tape.wait_text("PLAYING  ×1.21");
    for (keys, shown, rate) in [
        (BACKSPACE, "×1.00", 1.0),
        ("[", "×0.90", 0.9),
        ("]", "×1.00", 1.0),
        ("{", "×0.50", 0.5),
        ("}}", "×2.00", 2.0),
        ("=", "×1.00", 1.0),
    ] {
        tape.keys(&format!("0{keys}"));
        tape.wait_text(shown);
        tape.wait_for("that it is reached", |shot| {
            achieved(shot).is_some_and(|achieved| (achieved / rate - 1.0).abs() < 0.1)
        });
        // Those who extrapolate are told.
        ear.wait(&format!("a clock of factor {rate}"), |heard| {
            let is_state = heard.topic == "/rosbag2_player/clock_state";
            let said = is_state.then(|| ClockStateMessage::decode(&heard.payload).unwrap());
            said.is_some_and(|said| (said.real_time_factor - rate).abs() < 1e-9)
        });
    }
}

#[test]
fn it_plays_backwards_in_the_reverse_order_and_turns_where_it_is() {
    let (mut tape, ear, reel) = paused(&["--rate", "2"]);
    tape.keys("4");
    let from = span() * 4 / 10;
    assert_at(&tape, &ear, from);
    tape.keys("r ");
    tape.wait_text("◀ REVERSE  ×−2.00");
    let mut clock = from;
    let heard = ear.until("half a second of it", |heard| {
        if heard.is_clock() {
            let next = since_start(heard.stamp());
            assert!(next <= clock, "the clock runs to {next} from {clock}");
            clock = next;
        }
        clock < from - SECOND / 2
    });
    for topic in TWO {
        let times = reel.heard(&heard, topic);
        let mut expected = reel.times(topic, 0, from);
        expected.reverse();
        assert!(
            times.len() > 10 && times == expected[..times.len()],
            "{topic}: {times:?}"
        );
    }
    tape.wait_for("the header to run backwards", |shot| {
        shot.elapsed()
            .is_some_and(|millis| millis * MILLI < from - SECOND / 2)
    });
    tape.keys("r");
    tape.wait_text("▶ PLAYING  ×2.00");
    let mut last = i64::MAX;
    ear.wait("the clock to turn", |heard| {
        let has_turned = heard.is_clock() && heard.stamp() > last;
        last = if heard.is_clock() {
            heard.stamp()
        } else {
            last
        };
        has_turned
    });
    let ahead = ticks(&ear, 5);
    assert!(ahead.is_sorted(), "{ahead:?}");
}

/// Two turns of a loop: the clock and the messages stay within it, and both come round.
#[track_caller]
fn assert_loops(ear: &Ear, reel: &Reel, a: i64, b: i64) {
    ear.forget();
    ear.wait("a lap", {
        let mut last = 0;
        move |heard| heard.is_clock() && std::mem::replace(&mut last, heard.stamp()) > heard.stamp()
    });
    let (mut last, mut laps) = (0, 0);
    // Clock and messages come over sessions of their own: the messages of a lap may come after the clock of the next.
    let (mut last_message, mut has_lapped) = (0, false);
    let heard = ear.until("two more laps, of the messages too", |heard| {
        if heard.topic == "/imu" {
            has_lapped |= heard.stamp() < last_message;
            last_message = heard.stamp();
        }
        if heard.is_clock() {
            let now = since_start(heard.stamp());
            assert!((a..=b).contains(&now), "{now} is outside of {a} to {b}");
            laps += i32::from(now < last);
            last = now;
        }
        laps >= 2 && has_lapped
    });
    let times = reel.heard(&heard, "/imu");
    assert!(times.iter().all(|time| (a..=b).contains(time)), "{times:?}");
    assert!(times.windows(2).any(|two| two[1] < two[0]), "{times:?}");
}

#[test]
fn l_and_l_loop_from_a_to_b_and_once_more_plays_on() {
    // On a wide screen the laps have room whatever else there is to say.
    let (mut tape, ear, reel) = paused_at(180, &[]);
    let (a, b) = (span() * 3 / 10, span() * 3 / 10 + 3 * SECOND / 10);
    tape.keys("3l");
    tape.wait_text("A set");
    tape.wait_text("A at +00:08.999; once more sets B");
    tape.keys(")))l");
    tape.wait_text("loop A-B");
    tape.wait_text("loops from A +00:08.999 to B +00:09.299");
    tape.keys(" ");
    tape.wait_text("lap 3");
    assert_loops(&ear, &reel, a, b);
    tape.keys("l");
    tape.wait_for("no loop", |shot| {
        shot.shows("the loop is cleared") && !shot.has("A-B")
    });
    ear.wait("the clock to leave it", |heard| {
        heard.is_clock() && since_start(heard.stamp()) > b
    });
    // The whole loops too: here its last tenth of a second and on from the start.
    tape.keys("L$(");
    tape.wait_for("all of it to loop", |shot| {
        shot.shows("loop  ") && !shot.has("A-B")
    });
    ear.wait("the end", |heard| {
        heard.is_clock() && since_start(heard.stamp()) > span() - SECOND
    });
    ear.wait("the start again", |heard| {
        heard.is_clock() && since_start(heard.stamp()) < SECOND
    });
}

#[test]
fn a_right_drag_loops_and_a_right_click_clears_it() {
    let (mut tape, ear, reel) = paused(&["--rate", "4"]);
    let bar = tape.shot().bar();
    tape.right_drag(60, 56, bar);
    tape.wait_text("loop A-B");
    let (a, b) = (clicked(56), clicked(60));
    tape.wait_for("the playhead to be taken to A", |shot| {
        let at = |column: usize| shot.rows[usize::from(bar)].chars().nth(column);
        (at(56), at(60)) == (Some('●'), Some('⟩'))
    });
    tape.keys(" ");
    assert_loops(&ear, &reel, a, b);
    // A seek out of it ends it.
    tape.keys("1");
    tape.wait_for("no loop", |shot| {
        shot.shows("the loop is cleared") && !shot.has("A-B")
    });
    // With shift or ctrl the left button does it too.
    tape.keys(&format!(
        "\x1b[<4;31;{0}M\x1b[<36;35;{0}M\x1b[<4;35;{0}m",
        bar + 1
    ));
    tape.wait_text("loop A-B");
    tape.right_drag(30, 30, bar);
    tape.wait_for("no loop", |shot| !shot.has("A-B"));
}

#[test]
fn seeks_can_be_undone_those_in_a_row_at_once() {
    let (mut tape, ear, _) = paused(&[]);
    tape.keys("5");
    assert_at(&tape, &ear, span() / 2);
    tape.keys("u");
    assert_at(&tape, &ear, 0);
    tape.keys(&format!("{RIGHT}{RIGHT}{RIGHT}{LEFT}"));
    assert_at(&tape, &ear, 10 * SECOND);
    tape.keys("u");
    assert_at(&tape, &ear, 0);
    tape.keys("u");
    tape.wait_text("no seek to undo");
}

#[test]
fn at_the_end_it_holds_until_space_plays_again() {
    let (mut tape, ear, reel) = paused(&[]);
    tape.keys("$(((((");
    let from = span() - SECOND / 2;
    assert_at(&tape, &ear, from);
    tape.keys(" ");
    let shot = tape.wait_text("■ AT THE END");
    assert_eq!(shot.elapsed(), Some(span() / MILLI), "{shot}");
    let last = TWO.map(|topic| reel.times(topic, from, span()).pop());
    let mut heard = heard_until(&ear, &reel, last.into_iter().flatten().max().unwrap());
    heard.extend(ear.until_held(span(), 4));
    for topic in TWO {
        assert_eq!(reel.heard(&heard, topic), reel.times(topic, from, span()));
    }
    tape.keys(" ");
    tape.wait_text("PLAYING");
    assert_eq!(
        reel.time(&ear.next("/odom")),
        reel.times("/odom", 0, span())[0]
    );
}
