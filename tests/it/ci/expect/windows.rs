//! Windows of the log: every form of their ends, and counts in any window.

use bagplay::bag::Bag;
use bagplay::ci::judge::expect::Judged;
use bagplay::ci::report::Verdict;
use bagplay::time::{Time, TimeRange};
use proptest::prelude::*;

use super::recorded::{ODOMETRY, Recording, odometry};
use super::{MS, START, judged, judged_of};

/// Messages at these milliseconds after the start.
fn at(times: &[u64]) -> Bag {
    let mut recording = Recording::new()
        .topic("/odom", ODOMETRY)
        .topic("/ends", ODOMETRY);
    for time in [0, 10_000] {
        recording.message("/ends", START + time * MS, &odometry(0, 0.0, &[], 0));
    }
    for time in times {
        recording.message("/odom", START + time * MS, &odometry(0, 0.0, &[], 0));
    }
    recording.bag()
}

#[test]
fn the_ends_have_the_forms_of_the_command_line_and_belong_to_the_window() {
    let bag = at(&[0, 2_000, 4_000, 5_000, 9_000, 10_000]);
    for (window, count) in [
        ("+2s..+5s", 3),
        ("+2000ms..50%", 3),
        ("-1s..", 2),
        ("..+0s", 1),
        ("..", 6),
        ("0%..100%", 6),
        ("1700000004..1700000005", 2),
        ("2023-11-14T22:13:29Z..", 2),
        ("+2.001..-5.5s", 1),
    ] {
        let (verdict, reason) = judged(&format!("count = {count}\nwithin = '{window}'"), &bag);
        assert_eq!(verdict, Verdict::Passed, "{window}: {reason}");
    }
    let outside = judged("count = 0\nwithin = '+11s..'", &bag);
    assert_eq!(
        outside,
        (
            Verdict::Error,
            "/odom: nothing was played within +11s..".to_owned()
        )
    );
    let crossed = judged("count = 0\nwithin = '+6s..50%'", &bag);
    assert_eq!(crossed.0, Verdict::Error);
}

#[test]
fn times_refer_to_the_recording_and_only_what_was_played_counts() {
    let (inputs, outputs) = (at(&[0]), at(&[6_000, 7_000]));
    let played = |from, to| {
        let time = |millis: u64| Time::from_mcap(START + millis * MS);
        Some(TimeRange::between(time(from), time(to)))
    };
    let run = Judged {
        inputs: Some(&inputs),
        played: played(5_000, 8_000),
        ..Judged::recording(&outputs)
    };
    let rate = judged_of("/odom", "rate = { min = 1 }", &run);
    let reason = "/odom: 0.666667 Hz (2 messages in 3s), at least 1 Hz are expected";
    assert_eq!(rate, (Verdict::Failed, reason.to_owned()));
    let gap = judged_of("/odom", "max-gap = '0.9s'", &run);
    let reason = "/odom: 1s without a message from +5s to +6s, at most 0.9s is expected";
    assert_eq!(gap, (Verdict::Failed, reason.to_owned()));
    let outside = judged_of("/odom", "count = 0\nwithin = '+9s..'", &run);
    assert_eq!(outside.0, Verdict::Error);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_window_has_the_messages_between_its_ends(
        mut times in prop::collection::vec(0..10_000_u64, 0..40),
        ends in (0..10_000_u64, 0..10_000_u64),
    ) {
        times.sort_unstable();
        let (from, to) = (ends.0.min(ends.1), ends.0.max(ends.1));
        let inside: Vec<_> = times.iter().copied().filter(|time| (from..=to).contains(time)).collect();
        let bag = at(&times);
        let window = format!("within = '+{from}ms..+{to}ms'");
        let (verdict, reason) = judged(&format!("count = {}\n{window}", inside.len()), &bag);
        prop_assert_eq!(verdict, Verdict::Passed, "{}", reason);

        // The longest span without a message, with both ends of the window.
        let points: Vec<u64> = [from].into_iter().chain(inside.iter().copied()).chain([to]).collect();
        let longest = points.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        if !inside.is_empty() {
            prop_assert_eq!(judged(&format!("max-gap = '{longest}ms'\n{window}"), &bag).0, Verdict::Passed);
            if longest > 0 {
                let less = longest - 1;
                prop_assert_eq!(judged(&format!("max-gap = '{less}ms'\n{window}"), &bag).0, Verdict::Failed);
            }
        }
    }
}
