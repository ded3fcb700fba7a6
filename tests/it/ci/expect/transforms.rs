//! Whether frames are connected: from transforms of the inputs and of the outputs.

use bagplay::bag::Bag;
use bagplay::ci::judge::expect::Judged;
use bagplay::ci::report::Verdict;

use super::recorded::{ODOMETRY, Recording, TRANSFORMS, odometry, transforms};
use super::{MS, S, START, check};

/// The robot knows its sensors and its odometry for a second.
fn inputs() -> Bag {
    let recording = Recording::new()
        .topic("/tf_static", TRANSFORMS)
        .topic("/tf", TRANSFORMS);
    let mut recording = recording.topic("/points", ODOMETRY);
    let fixed = transforms(&[("base_link", "lidar", 0), ("base_link", "imu", 0)]);
    recording.message("/tf_static", START, &fixed);
    for number in 0..=10_u64 {
        let time = START + number * 100 * MS;
        recording.message("/points", time, &odometry(time, 0.0, &[], 0));
        // The transform comes later than the points of its time.
        let transform = transforms(&[("odom", "base_link", time)]);
        recording.message("/tf", time + 30 * MS, &transform);
    }
    recording.bag()
}

/// The system under test publishes the place of the odometry, from a number on.
fn outputs(from: u64) -> Bag {
    let mut recording = Recording::new().topic("/tf", TRANSFORMS);
    for number in from..=10 {
        let time = START + number * 100 * MS;
        recording.message("/tf", time + 50 * MS, &transforms(&[("map", "odom", time)]));
    }
    recording.bag()
}

fn judged(keys: &str, outputs: &Bag) -> (Verdict, String) {
    let inputs = inputs();
    let run = Judged {
        inputs: Some(&inputs),
        ..Judged::recording(outputs)
    };
    let check = check(&format!("[[transform]]\n{keys}\n"), &run);
    (check.verdict, check.reason)
}

#[test]
fn frames_are_connected_at_every_stamp_or_at_the_end() {
    let all = outputs(0);
    let at = "target = 'map'\nsource = 'lidar'\nat = '/points'";
    let fine = judged(at, &all);
    assert_eq!(
        fine,
        (Verdict::Passed, "tf: 11 messages of /points".to_owned())
    );
    assert_eq!(
        judged("target = 'map'\nsource = 'imu'", &all).0,
        Verdict::Passed
    );

    let late = outputs(4);
    let (verdict, reason) = judged(at, &late);
    let expected = "tf: map from lidar is not known at 1700000000s, the stamp of /points at +0s: \
                    no transform is known for that time; 4 of 11 messages have such a stamp";
    assert_eq!((verdict, &*reason), (Verdict::Failed, expected));
    let within = judged(&format!("{at}\nwithin = '+400ms..'"), &late);
    assert_eq!(within.0, Verdict::Passed, "{}", within.1);
}

#[test]
fn what_is_not_connected_is_said() {
    let all = outputs(0);
    for (keys, reason) in [
        (
            "target = 'map'\nsource = 'camera'",
            "tf: map from camera is not known at the end: there is no frame `camera`",
        ),
        (
            "target = 'nowhere'\nsource = 'camera'",
            "tf: nowhere from camera is not known at the end: there are no frames `nowhere` and `camera`",
        ),
        (
            "target = 'map'\nsource = 'lidar'\nat = '/nowhere'",
            "/nowhere: no message, there is no such topic; the outputs have /tf",
        ),
    ] {
        assert_eq!(judged(keys, &all), (Verdict::Failed, reason.to_owned()));
    }
    let mut wrong = Recording::new().topic("/tf", TRANSFORMS);
    wrong.message("/tf", START + S, &[0, 1, 0, 0, 255, 255, 255, 255]);
    let (verdict, reason) = judged("target = 'map'\nsource = 'lidar'", &wrong.bag());
    assert_eq!(verdict, Verdict::Failed);
    assert!(
        reason.starts_with("tf: the message at +1s is wrong: byte "),
        "{reason}"
    );
}
