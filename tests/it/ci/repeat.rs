//! Repetitions: their digests, and where two of them first differ.

use std::path::PathBuf;

use bagplay::bag::Selection;
use bagplay::ci::judge::repeat::{Facts, InputFact, Repeat, Repetition, Sent};
use bagplay::ci::report::{Kind, Verdict};

use crate::support::cdr::Cdr;
use crate::support::mcaps::Files;
use crate::support::typed::{Typed, string};

fn outputs(texts: &[(u64, &str)]) -> Vec<u8> {
    let mut file = Typed::new();
    let topic = file.topic("/answer", &string());
    for (time, text) in texts {
        file.message(topic, *time, &Cdr::little().text(text).done());
    }
    file.write()
}

fn run(number: u32, digest: &str, outputs: PathBuf) -> Repetition {
    Repetition {
        number,
        digest: digest.to_owned(),
        outputs,
    }
}

#[test]
fn a_difference_names_topic_input_and_what_was_racing() {
    let mut input = Typed::new();
    let (points, imu) = (
        input.topic("/points", &string()),
        input.topic("/imu", &string()),
    );
    for time in 1..=5 {
        input.message(points, time * 100, &Cdr::little().text("p").done());
        input.message(imu, time * 100 + 50, &Cdr::little().text("i").done());
    }
    let input = input.bag();
    let topics = Selection::all(&input);
    let sent = Sent {
        bag: &input,
        topics: &topics,
    };
    let usual = outputs(&[(100, "a"), (200, "b"), (300, "c")]);
    let other = outputs(&[(100, "a"), (250, "b"), (300, "x")]);
    let files = Files::of([&usual[..], &other, &usual]);
    let mut repeat = Repeat::default();
    repeat.add(run(1, "91c0000000000000", files.paths[1].clone()));
    repeat.add(run(2, "3fa2000000000000", files.paths[0].clone()));
    repeat.add(run(3, "3fa2000000000000", files.paths[2].clone()));
    assert_eq!(repeat.unneeded(), [files.paths[2].as_path()]);
    let facts = Facts {
        inputs: vec![InputFact {
            topic: "/points".to_owned(),
            subscribers: vec!["/slam".to_owned()],
            has_gate: false,
        }],
        ..Facts::default()
    };
    let verdict = repeat.judge(&sent, &facts).unwrap();
    assert_eq!(
        (verdict.check.kind, verdict.check.verdict),
        (Kind::Repeat, Verdict::Failed)
    );
    let divergence = verdict.divergence.unwrap();
    assert_eq!(divergence.between, "run 2 and run 1");
    assert_eq!(
        (divergence.topic.as_str(), divergence.index),
        ("/answer", 1)
    );
    assert_eq!(divergence.field, "log time");
    // Sent at the earlier of both times.
    assert_eq!(divergence.input, Some(("/points".to_owned(), 200)));
    let racing = "/points has no gate: /slam received it while playback went on";
    assert_eq!(divergence.racing, [racing]);
    assert_eq!(
        verdict.check.reason,
        "2 of 3 runs gave 3fa20000…, 1 gave 91c00000…; run 2 and run 1 diverge first in /answer, message 1: \
         `log time` is 0.000000200 and 0.000000250, after the input /points of 0.000000200; \
         /points has no gate: /slam received it while playback went on"
    );
    let comparison = verdict.comparison.unwrap();
    assert_eq!(comparison.topics[0].different, 2);
    assert_eq!(
        comparison.to_string(),
        "run 2 and run 1 differ in 1 of 1 topic\n\
         first difference: /answer, message 1, log time\n\
         \u{20} first      at 0.000000200  0.000000200\n\
         \u{20} second     at 0.000000250  0.000000250\n\
         \u{20} input      at 0.000000200  /points\n\
         \u{20} racing     /points has no gate: /slam received it while playback went on\n\
         /answer: 2 of 3 messages differ\n\
         \u{20} data      1 message\n\
         \u{20} log time  1 message, largest difference 5e-8 in message 1\n"
    );
}

#[test]
fn equal_digests_pass_and_no_recording_is_read() {
    let input = Files::of([outputs(&[(1, "i")])]).bag();
    let topics = Selection::all(&input);
    let sent = Sent {
        bag: &input,
        topics: &topics,
    };
    let mut repeat = Repeat::default();
    let judge = |repeat: &Repeat| repeat.judge(&sent, &Facts::default());
    assert_eq!(judge(&repeat).unwrap().check.verdict, Verdict::Skipped);
    repeat.add(run(1, "3fa2", PathBuf::from("none-1.mcap")));
    assert_eq!(judge(&repeat).unwrap().check.verdict, Verdict::Skipped);
    repeat.add(run(2, "3fa2", PathBuf::from("none-2.mcap")));
    let verdict = judge(&repeat).unwrap();
    assert_eq!(verdict.check.verdict, Verdict::Passed);
    assert_eq!(verdict.check.reason, "2 of 2 runs gave 3fa2");
    assert_eq!((verdict.comparison, verdict.divergence), (None, None));
    repeat.add(run(3, "77", PathBuf::from("none-3.mcap")));
    let error = judge(&repeat).unwrap_err().to_string();
    assert!(
        error.starts_with("run 1: ") && error.contains("none-1.mcap"),
        "{error}"
    );
}

#[test]
fn digests_that_differ_while_all_fields_are_equal_fail_all_the_same() {
    let file = outputs(&[(1, "a")]);
    let files = Files::of([&file[..], &file]);
    let mut repeat = Repeat::default();
    repeat.add(run(1, "3fa2", files.paths[0].clone()));
    repeat.add(run(2, "77", files.paths[1].clone()));
    let input = Files::of([outputs(&[(1, "i")])]).bag();
    let topics = Selection::all(&input);
    let sent = Sent {
        bag: &input,
        topics: &topics,
    };
    let verdict = repeat.judge(&sent, &Facts::default()).unwrap();
    assert_eq!(verdict.check.verdict, Verdict::Failed);
    assert!(verdict.check.reason.contains("all their fields are equal"));
    assert_eq!(verdict.divergence, None);
}
