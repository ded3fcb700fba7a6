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

    #[test]
    fn each_whole_stretch_of_a_window_has_a_rate(
        mut times in prop::collection::vec(0..10_000_u64, 1..60),
        from in 0..5_000_u64,
        length in 100..5_000_u64,
        over in 50..2_000_u64,
    ) {
        times.sort_unstable();
        let to = from + length;
        let bag = at(&times);
        let window = format!("within = '+{from}ms..+{to}ms'");
        let is_inside = |time: &u64| (from..=to).contains(time);
        let stretches: Vec<usize> = (0..length / over)
            .map(|stretch| {
                let start = from + stretch * over;
                let is_in = |time: &&u64| (start..start + over).contains(*time);
                times.iter().filter(is_in).count()
            })
            .collect();
        let judge = |bounds: String| {
            judged(&format!("rate = {{ {bounds}, over = '{over}ms' }}\n{window}"), &bag).0
        };
        let Some((least, most)) = stretches.iter().min().zip(stretches.iter().max()) else {
            let verdict = judge("min = 1".to_owned());
            let is_any = times.iter().any(is_inside);
            prop_assert_eq!(verdict, if is_any { Verdict::Error } else { Verdict::Failed });
            return Ok(());
        };
        if !times.iter().any(is_inside) {
            return Ok(());
        }
        // Half a message is between two counts.
        let hertz = |count: usize, half: f64| {
            let count = f64::from(u32::try_from(count).unwrap()) + half;
            (count * 1_000.0 / f64::from(u32::try_from(over).unwrap())).max(0.0)
        };
        let (low, high) = (hertz(*least, -0.5), hertz(*most, 0.5));
        prop_assert_eq!(judge(format!("min = {low:?}, max = {high:?}")), Verdict::Passed);
        let above = hertz(*least, 0.5);
        prop_assert_eq!(judge(format!("min = {above:?}")), Verdict::Failed);
        if *most > 0 {
            let below = hertz(*most, -0.5);
            prop_assert_eq!(judge(format!("max = {below:?}")), Verdict::Failed);
        }
    }

    #[test]
    fn each_trigger_waits_for_the_next_output(
        mut triggers in prop::collection::vec(0..1_000_u64, 1..30),
        mut outputs in prop::collection::vec(0..1_200_u64, 1..30),
    ) {
        triggers.sort_unstable();
        outputs.sort_unstable();
        let (inputs, answers) = (at(&triggers), at(&outputs));
        let run = Judged { inputs: Some(&inputs), ..Judged::recording(&answers) };
        let next = |asked: &u64| outputs.iter().find(|output| *output >= asked).map(|output| output - asked);
        let latencies: Vec<u64> = triggers.iter().filter_map(next).collect();
        let unanswered = triggers.len() - latencies.len();
        let judge = |figure: &str, most: u64, unanswered: usize| {
            let keys = format!("from = '/odom', {figure} = '{most}ms', unanswered = {unanswered}");
            judged_of("/odom", &format!("latency = {{ {keys} }}"), &run).0
        };
        let longest = latencies.iter().max().copied().unwrap_or(0);
        prop_assert_eq!(judge("max", longest, unanswered), Verdict::Passed);
        if unanswered > 0 {
            prop_assert_eq!(judge("max", longest, unanswered - 1), Verdict::Failed);
        }
        if longest > 0 {
            prop_assert_eq!(judge("max", longest - 1, unanswered), Verdict::Failed);
        }
        let mut sorted = latencies;
        sorted.sort_unstable();
        if let Some(last) = sorted.len().checked_sub(1) {
            let median = sorted[last / 2];
            prop_assert_eq!(judge("p50", median, unanswered), Verdict::Passed);
            if median > 0 {
                prop_assert_eq!(judge("p50", median - 1, unanswered), Verdict::Failed);
            }
        }
    }
}
