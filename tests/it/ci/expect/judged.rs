//! Each rule on recordings that keep and that break it; the reasons.

use bagplay::bag::{Bag, Selection};
use bagplay::ci::judge::expect::Judged;
use bagplay::ci::report::{GateRecord, Spans, Verdict};
use bagplay::time::{Time, TimeRange};

use super::recorded::{ODOMETRY, Recording, odometry};
use super::{MS, S, START, check, judged, judged_of, parse};

/// Ten seconds of `/odom` at 10 Hz, the first at the start. `x` is the time in seconds; the status of number 50 is 3,
/// that of the others 0. There is a scan of three ranges, the last of which is infinite in number 20.
fn drive() -> Bag {
    let mut recording = Recording::new()
        .topic("/odom", ODOMETRY)
        .topic("/quiet", ODOMETRY);
    for number in 0..=100_u64 {
        let time = START + number * 100 * MS;
        let last = if number == 20 { f32::INFINITY } else { 0.1 };
        let status = if number == 50 { 3 } else { 0 };
        let x = f64::from(u32::try_from(number).unwrap()) / 10.0;
        let payload = odometry(time, x, &[1.5, 2.5, last], status);
        recording.message("/odom", time, &payload);
    }
    recording.bag()
}

fn passes(keys: &str, bag: &Bag) {
    let (verdict, reason) = judged(keys, bag);
    assert_eq!(verdict, Verdict::Passed, "{keys}: {reason}");
}

fn fails(keys: &str, bag: &Bag, expected: &str) {
    assert_eq!(
        judged(keys, bag),
        (Verdict::Failed, expected.to_owned()),
        "{keys}"
    );
}

fn field(keys: &str) -> String {
    format!("[[expect.field]]\n{keys}")
}

#[test]
fn counts() {
    let bag = drive();
    passes("count = 101", &bag);
    passes("count = { min = 101, max = 101 }", &bag);
    fails(
        "count = { min = 102 }",
        &bag,
        "/odom: 101 messages, at least 102 are expected",
    );
    fails(
        "count = { max = 3 }",
        &bag,
        "/odom: 101 messages, at most 3 are expected",
    );
    fails(
        "count = 7",
        &bag,
        "/odom: 101 messages, exactly 7 are expected",
    );
    fails(
        "count = { min = 12 }\nwithin = '+1s..+2s'",
        &bag,
        "/odom: 11 messages within +1s..+2s, at least 12 are expected",
    );
    fails(
        "absent = true\nwithin = '50%..'",
        &bag,
        "/odom: 51 messages within 50%.., none is expected; the first at +5s",
    );
}

#[test]
fn a_topic_that_is_missing_fails_unless_the_count_allows_it() {
    let bag = drive();
    let run = Judged::recording(&bag);
    let field = field("path = 'status'\nvalue = 0");
    for keys in [
        "rate = { min = 1 }",
        "max-gap = 1",
        "stamps = 'ascending'",
        field.as_str(),
    ] {
        let missing = judged_of("/nowhere", keys, &run);
        let reason = "/nowhere: no message, there is no such topic; the outputs have /odom, /quiet"
            .to_owned();
        assert_eq!(missing, (Verdict::Failed, reason), "{keys}");
        let mistyped = judged_of("/odomm", keys, &run).1;
        assert!(
            mistyped.ends_with("no such topic; did you mean /odom?"),
            "{mistyped}"
        );
        let quiet = judged_of("quiet", keys, &run);
        assert_eq!(
            quiet,
            (Verdict::Failed, "quiet: no message".to_owned()),
            "{keys}"
        );
        let text = format!("[[expect]]\ntopic = '/nowhere'\ncount = {{ max = 5 }}\n{keys}");
        let verdicts: Vec<_> = parse(&text)
            .judge(&run)
            .iter()
            .map(|check| check.verdict)
            .collect();
        assert_eq!(verdicts, [Verdict::Passed, Verdict::Passed], "{keys}");
    }
    let (verdict, reason) = judged_of("/nowhere", "count = { min = 1 }", &run);
    assert_eq!(
        (verdict, &*reason),
        (
            Verdict::Failed,
            "/nowhere: no message, at least 1 are expected; there is no such topic; the outputs have /odom, /quiet"
        )
    );
    assert_eq!(
        judged_of("/nowhere", "absent = true", &run).0,
        Verdict::Passed
    );
}

#[test]
fn a_topic_that_the_run_played_is_no_output() {
    let inputs = drive();
    let outputs = Recording::new().topic("/quiet", ODOMETRY).bag();
    let played_as = ["/odom".to_owned(), "/recorded/map".to_owned()];
    let run = Judged {
        inputs: Some(&inputs),
        played_as: &played_as,
        ..Judged::recording(&outputs)
    };
    let played = "was played, and no message of another node was received; \
                  hint: --exclude-topics leaves it out";
    for (topic, keys, verdict) in [
        ("/odom", "count = 101", Verdict::Failed),
        ("odom", "rate = { min = 1 }", Verdict::Failed),
        ("/odom", "count = { max = 5 }", Verdict::Error),
        ("/odom", "absent = true", Verdict::Error),
        ("/recorded/map", "absent = true", Verdict::Error),
    ] {
        let judged = judged_of(topic, keys, &run);
        assert_eq!(judged, (verdict, format!("{topic} {played}")), "{keys}");
    }
    let quiet = judged_of("/quiet", "absent = true", &run);
    assert_eq!(quiet.0, Verdict::Passed);
    // Moved aside: the outputs have room for it, and it is there.
    let aside = Judged {
        played_as: &played_as[1..],
        ..run
    };
    let said = judged_of("/odom", "absent = true", &aside);
    assert_eq!(said, (Verdict::Passed, "/odom: no message".to_owned()));
    let (verdict, reason) = judged_of("/odom", "max-gap = 1", &aside);
    assert_eq!((verdict, &*reason), (Verdict::Failed, "/odom: no message"));
}

#[test]
fn an_absent_topic_that_is_almost_one_that_is_there_is_doubted() {
    let bag = drive();
    let run = Judged::recording(&bag);
    let doubts = |topic: &str, keys: &str| {
        parse(&format!("[[expect]]\ntopic = '{topic}'\n{keys}")).doubts(&run)
    };
    let doubted = ["/odomm: absent: there is no such topic; did you mean /odom?"];
    assert_eq!(doubts("/odomm", "absent = true"), doubted);
    for (topic, keys) in [
        ("/nowhere", "absent = true"),
        ("quiet", "absent = true"),
        ("/odomm", "count = { max = 5 }"),
    ] {
        assert_eq!(doubts(topic, keys), [""; 0], "{topic}: {keys}");
    }
}

#[test]
fn rates() {
    let bag = drive();
    passes("rate = { min = 10, max = 10.1 }", &bag);
    fails(
        "rate = { min = 20 }",
        &bag,
        "/odom: 10.1 Hz (101 messages in 10s), at least 20 Hz are expected",
    );
    fails(
        "rate = { max = 9.5 }\nwithin = '+1s..+3s'",
        &bag,
        "/odom: 10.5 Hz (21 messages in 2s), at most 9.5 Hz are expected",
    );
    passes("rate = { min = 10, max = 10, over = '1s' }", &bag);
    let mut holed = Recording::new().topic("/odom", ODOMETRY);
    for number in (0..=100_u64).filter(|number| !(32..57).contains(number)) {
        let time = START + number * 100 * MS;
        holed.message("/odom", time, &odometry(time, 0.0, &[], 0));
    }
    let holed = holed.bag();
    passes("rate = { min = 7 }", &holed);
    fails(
        "rate = { min = 5, over = '1s' }",
        &holed,
        "/odom: 2 Hz from +3s to +4s (2 messages), at least 5 Hz are expected",
    );
    fails(
        "rate = { min = 1, over = '500ms' }",
        &holed,
        "/odom: 0 Hz from +3.5s to +4s (no message), at least 1 Hz are expected",
    );
    let (verdict, reason) = judged("rate = { min = 5, over = '11s' }", &bag);
    assert_eq!(
        (verdict, &*reason),
        (Verdict::Error, "/odom: 10s were played, less than 11s")
    );
}

#[test]
fn gaps_reach_from_the_start_of_the_window_to_its_end() {
    let bag = drive();
    passes("max-gap = '100ms'", &bag);
    let mut late = Recording::new()
        .topic("/odom", ODOMETRY)
        .topic("/other", ODOMETRY);
    for number in [0, 100] {
        late.message(
            "/other",
            START + number * 100 * MS,
            &odometry(0, 0.0, &[], 0),
        );
    }
    for number in 20..90_u64 {
        late.message(
            "/odom",
            START + number * 100 * MS,
            &odometry(0, 0.0, &[], 0),
        );
    }
    let late = late.bag();
    fails(
        "max-gap = 1.5",
        &late,
        "/odom: 2s without a message from +0s to +2s, at most 1.5s is expected",
    );
    fails(
        "max-gap = '1s'\nwithin = '+3s..'",
        &late,
        "/odom: 1.1s without a message from +8.9s to +10s, at most 1s is expected",
    );
    passes("max-gap = '100ms'\nwithin = '+3s..+8s'", &late);
}

#[test]
fn values_of_fields() {
    let bag = drive();
    for keys in [
        "path = 'position.x'\nin = 'last'\nvalue = 10.0",
        "path = 'position.x'\nin = 'first'\nvalue = 0",
        "path = 'position.x'\ncompare = 'between'\nvalue = [0, 10]",
        "path = 'position.x'\nin = 'last'\nvalue = 10.4\ntolerance = 0.5",
        "path = 'position.x'\nin = 'last'\nvalue = 11\nrelative-tolerance = 0.1",
        "path = 'status'\nin = 'any'\nvalue = 3",
        "path = 'status'\ncompare = '<='\nvalue = 3",
        "path = 'header.frame_id'\nvalue = 'odom'",
        "path = 'child_frame_id'\ncompare = 'matches'\nvalue = '^base_'",
        "path = 'child_frame_id'\ncompare = '!='\nvalue = 'map'",
        "path = 'ranges.length'\nvalue = 3",
        "path = 'ranges[*]'\ncompare = '>'\nvalue = 0.05",
        "path = 'ranges[*]'\nelements = 'any'\nvalue = 2.5",
        "path = 'ranges[-1]'\nin = 'last'\nvalue = 0.1",
        "path = 'position.y'\nfinite = true",
        "path = 'header.stamp'\nin = 'first'\nvalue = 1700000000",
        "path = 'header.stamp'\nin = 'last'\nvalue = 1700000010.0",
        "path = 'header.stamp.nanosec'\ncompare = '<'\nvalue = 1_000_000_000",
    ] {
        passes(&field(keys), &bag);
    }
    for (keys, reason) in [
        (
            "path = 'position.x'\nin = 'last'\nvalue = 3.0\ntolerance = 0.1",
            "/odom: position.x = 10.0 at +10s, expected 3.0 ± 0.1",
        ),
        (
            "path = 'position.x'\ncompare = '<'\nvalue = 9.85",
            "/odom: position.x = 9.9 at +9.9s, expected < 9.85; 2 of 101 messages are wrong",
        ),
        (
            "path = 'status'\nvalue = 0",
            "/odom: status = 3 at +5s, expected 0",
        ),
        (
            "path = 'status'\nin = 'any'\nvalue = 4",
            "/odom: not in any of 101 messages; in the last, status = 0 at +10s, expected 4",
        ),
        (
            "path = 'ranges[*]'\nfinite = true",
            "/odom: ranges[2] = inf at +2s, expected a finite number",
        ),
        (
            "path = 'ranges[*]'\nin = 'last'\nelements = 'any'\nvalue = 7",
            "/odom: ranges[0] = 1.5 at +10s, expected 7",
        ),
        (
            "path = 'ranges[3]'\nvalue = 1",
            "/odom: ranges[3] does not exist at +0s; 101 of 101 messages are wrong",
        ),
        (
            "path = 'child_frame_id'\nin = 'first'\ncompare = 'matches'\nvalue = 'x'",
            "/odom: child_frame_id = \"base_link\" at +0s, expected matches `x`",
        ),
    ] {
        fails(&field(keys), &bag, reason);
    }
    for (keys, reason) in [
        (
            "path = 'positions.x'\nvalue = 1",
            "/odom: the message has no field `positions`; its fields are header, child_frame_id, position, ranges, status",
        ),
        (
            "path = 'child_frame_id'\nvalue = 1",
            "/odom: child_frame_id is a text, not a number",
        ),
    ] {
        assert_eq!(
            judged(&field(keys), &bag),
            (Verdict::Error, reason.to_owned()),
            "{keys}"
        );
    }
}

#[test]
fn what_has_no_value_does_not_hold() {
    let mut empty = Recording::new().topic("/odom", ODOMETRY);
    empty.message("/odom", START, &odometry(0, f64::NAN, &[], 0));
    let empty = empty.bag();
    fails(
        &field("path = 'ranges[*]'\ncompare = '>'\nvalue = 0"),
        &empty,
        "/odom: no message has a value of ranges[*]",
    );
    fails(
        &field("path = 'ranges[*]'\nelements = 'any'\nvalue = 0"),
        &empty,
        "/odom: ranges[*] has no element at +0s",
    );
    fails(
        &field("path = 'position.x'\ncompare = '>='\nvalue = -1e9"),
        &empty,
        "/odom: position.x = NaN at +0s, expected >= -1000000000.0",
    );
    passes(&field("path = 'position.x'\nvalue = 3\nnan = true"), &empty);
    passes(
        &field("path = 'position.x'\nvalue = nan\nnan = true"),
        &empty,
    );
}

#[test]
fn latencies_from_a_trigger() {
    let mut inputs = Recording::new().topic("/points", ODOMETRY);
    let mut outputs = Recording::new().topic("/odom", ODOMETRY);
    for number in 0..10_u64 {
        let time = START + number * 100 * MS;
        inputs.message("/points", time, &odometry(time, 0.0, &[], 0));
        // Number 7 is slow.
        let took = if number == 7 { 80 } else { 20 };
        outputs.message("/odom", time + took * MS, &odometry(time, 0.0, &[], 0));
    }
    let (inputs, outputs) = (inputs.bag(), outputs.bag());
    let run = Judged {
        inputs: Some(&inputs),
        ..Judged::recording(&outputs)
    };
    let of = |keys: &str| {
        judged_of(
            "/odom",
            &format!("latency = {{ from = '/points', {keys} }}"),
            &run,
        )
    };
    for by in ["time", "stamp"] {
        let fine = of(&format!("by = '{by}', p50 = '20ms', max = '80ms'"));
        let reason = "/odom: latency p50 ≈ 0.02s, max = 0.08s of 10";
        assert_eq!(fine, (Verdict::Passed, reason.to_owned()));
        let slow = of(&format!("by = '{by}', max = '50ms'"));
        let reason = "/odom: latency max = 0.08s, for /points at +0.7s, at most 0.05s is expected";
        assert_eq!(slow, (Verdict::Failed, reason.to_owned()));
        let slow = of(&format!("by = '{by}', p99 = '50ms'"));
        let reason = "/odom: latency p99 ≈ 0.08s, at most 0.05s is expected";
        assert_eq!(slow, (Verdict::Failed, reason.to_owned()));
    }
    // What was not played asks for nothing.
    let played = TimeRange::between(Time::from_mcap(START), Time::from_mcap(START + 500 * MS));
    let part = Judged {
        played: Some(played),
        ..run
    };
    let first = judged_of(
        "/odom",
        "latency = { from = '/points', max = '20ms' }",
        &part,
    );
    assert_eq!(first.0, Verdict::Passed, "{}", first.1);

    // Nor does a topic that was not played.
    let nothing = Selection::of([], &inputs);
    let muted = Judged {
        topics: Some(&nothing),
        ..run
    };
    let first = judged_of("/odom", "latency = { from = '/points', max = 1 }", &muted);
    let reason = "/odom: no message of /points".to_owned();
    assert_eq!(first, (Verdict::Error, reason));

    let mut few = Recording::new().topic("/odom", ODOMETRY);
    few.message("/odom", START + 450 * MS, &odometry(START, 0.0, &[], 0));
    let few = few.bag();
    let run = Judged {
        outputs: &few,
        ..run
    };
    let of = |keys: &str| {
        judged_of(
            "/odom",
            &format!("latency = {{ from = '/points', {keys} }}"),
            &run,
        )
    };
    let reason = "/odom: 5 of 10 messages of /points got no output, the first at +0.5s; at most 0 is expected";
    assert_eq!(of("max = '1s'"), (Verdict::Failed, reason.to_owned()));
    assert_eq!(of("max = '450ms', unanswered = 5").0, Verdict::Passed);
    let reason = "/odom: 9 of 10 messages of /points got no output, the first at +0.1s; at most 0 is expected";
    assert_eq!(
        of("max = '1s', by = 'stamp'"),
        (Verdict::Failed, reason.to_owned())
    );
    let nowhere = judged_of("/odom", "latency = { from = '/nowhere', max = 1 }", &run);
    assert_eq!(
        nowhere,
        (Verdict::Error, "/odom: no message of /nowhere".to_owned())
    );
}

#[test]
fn triggers_with_equal_stamps_have_the_same_output() {
    let mut inputs = Recording::new().topic("/points", ODOMETRY);
    let mut outputs = Recording::new().topic("/odom", ODOMETRY);
    for millis in [0, 10] {
        inputs.message(
            "/points",
            START + millis * MS,
            &odometry(START, 0.0, &[], 0),
        );
    }
    outputs.message("/odom", START + 30 * MS, &odometry(START, 0.0, &[], 0));
    let (inputs, outputs) = (inputs.bag(), outputs.bag());
    let run = Judged {
        inputs: Some(&inputs),
        ..Judged::recording(&outputs)
    };
    let keys = "latency = { from = '/points', by = 'stamp', max = '30ms' }";
    let (verdict, reason) = judged_of("/odom", keys, &run);
    let expected = "/odom: latency max = 0.03s of 2";
    assert_eq!((verdict, &*reason), (Verdict::Passed, expected));
}

#[test]
fn stamps_ascend() {
    let of = |stamps: &[u64], keys: &str| {
        let mut recording = Recording::new().topic("/odom", ODOMETRY);
        for (number, stamp) in (0..).zip(stamps) {
            recording.message("/odom", START + number * MS, &odometry(*stamp, 0.0, &[], 0));
        }
        judged(keys, &recording.bag())
    };
    assert_eq!(
        of(&[1, 2, 3], "stamps = 'strictly-ascending'").0,
        Verdict::Passed
    );
    assert_eq!(of(&[1, 2, 2], "stamps = 'ascending'").0, Verdict::Passed);
    let equal = of(
        &[S, 2 * S, 2 * S],
        "stamps = { order = 'strictly-ascending' }",
    );
    let reason = "/odom: header.stamp = 2s after 2s, a later one is expected, at +0.002s";
    assert_eq!(equal, (Verdict::Failed, reason.to_owned()));
    let back = of(&[S, 3 * S, 2 * S], "stamps = { path = 'header.stamp' }");
    let reason = "/odom: header.stamp = 2s after 3s, no earlier one is expected, at +0.002s";
    assert_eq!(back, (Verdict::Failed, reason.to_owned()));
    let wrong = of(&[1, 2], "stamps = { path = 'position.x' }");
    let reason = "/odom: position.x is a number, not a time, at +0s";
    assert_eq!(wrong, (Verdict::Error, reason.to_owned()));
}

#[test]
fn latencies_of_gates() {
    let outputs = drive();
    let gates = [GateRecord {
        rule: "/points -> /odom by stamp".to_owned(),
        latency: Spans {
            count: 40,
            p50: 8.0,
            p99: 20.5,
            max: 90.0,
        },
        ..GateRecord::default()
    }];
    let run = Judged {
        gates: &gates,
        ..Judged::recording(&outputs)
    };
    let of = |rule: &str, keys: &str| {
        let check = check(&format!("[[gate]]\nrule = '{rule}'\n{keys}\n"), &run);
        (check.verdict, check.reason)
    };
    let fine = of("points->odom by stamp", "p50 = '10ms'\nmax = '90ms'");
    let reason = "/points -> /odom by stamp: p50 = 8 ms, max = 90 ms of 40 answers";
    assert_eq!(fine, (Verdict::Passed, reason.to_owned()));
    let slow = of("/points -> /odom by stamp", "p99 = 0.02");
    let reason = "/points -> /odom by stamp: wall latency p99 = 20.5 ms, at most 0.02s is expected";
    assert_eq!(slow, (Verdict::Failed, reason.to_owned()));
    let other = of("/points -> /odom", "p99 = 1");
    assert_eq!(
        other,
        (
            Verdict::Error,
            "/points -> /odom: the run has no such gate".to_owned()
        )
    );
}

#[test]
fn payloads_that_are_wrong_and_missing_definitions_have_a_verdict() {
    let keys = field("path = 'position.x'\nvalue = 0");
    let mut cut = Recording::new().topic("/odom", ODOMETRY);
    cut.message("/odom", START, &odometry(START, 0.0, &[], 0));
    cut.message("/odom", START + S, &odometry(START, 0.0, &[], 0)[..40]);
    let (verdict, reason) = judged(&keys, &cut.bag());
    assert_eq!(verdict, Verdict::Failed);
    assert!(
        reason.starts_with("/odom: the message at +1s is wrong: byte "),
        "{reason}"
    );

    let mut text = Recording::new().encoded("/odom", ("p/msg/T", "ros2msg", ""), "cdr");
    text.message("/odom", START, &[]);
    let unknown = judged(&keys, &text.bag());
    assert_eq!(
        unknown,
        (
            Verdict::Error,
            "/odom: the definition was not recorded".to_owned()
        )
    );

    let mut json = Recording::new().encoded("/odom", ("T", "jsonschema", "{}"), "json");
    json.message("/odom", START, br#"{"position": {"x": 0.0}}"#);
    passes(&keys, &json.bag());
}

#[test]
fn damage_of_the_outputs_is_a_check_of_its_own() {
    let mut recording = Recording::new().topic("/odom", ODOMETRY);
    for number in 0..50 {
        recording.message("/odom", START + number * MS, &odometry(START, 0.0, &[], 0));
    }
    let mut bytes = recording.bytes();
    // In the middle of the chunk.
    let at = bytes.len() / 3;
    bytes[at] ^= 0xff;
    let bag = Bag::from_bytes("damaged.mcap", bytes.into()).unwrap();
    let checks = parse("[[expect]]\ntopic = '/odom'\ncount = 50").judge(&Judged::recording(&bag));
    let damage = checks.last().unwrap();
    assert_eq!((checks.len(), damage.verdict), (2, Verdict::Error));
    assert!(damage.reason.contains("damaged.mcap"), "{}", damage.reason);
    // What is damaged in the inputs was not played.
    let outputs = drive();
    let run = Judged {
        inputs: Some(&bag),
        ..Judged::recording(&outputs)
    };
    let text = "[[expect]]\ntopic = '/odom'\nlatency = { from = '/odom', max = 1 }";
    assert_eq!(parse(text).judge(&run).len(), 1);
}

#[test]
fn hostile_times_have_a_verdict() {
    use Verdict::{Error, Failed, Passed};
    let mut recording = Recording::new().topic("/odom", ODOMETRY);
    for time in [0, 1, i64::MAX.unsigned_abs(), u64::MAX] {
        let mut payload = odometry(0, 0.0, &[], 0);
        // Any stamp: negative seconds, four seconds of nanoseconds.
        payload[4..12].copy_from_slice(&time.wrapping_add(u64::MAX / 3).to_le_bytes());
        recording.message("/odom", time, &payload);
    }
    let bag = recording.bag();
    let text = "
        [[expect]]
        topic = '/odom'
        count = { max = 9 }
        rate = { min = 0.1, over = '0.000000001s' }
        max-gap = '100000h'
        latency = { from = '/odom', p50 = 0, p99 = '1s', max = '1h', unanswered = 9 }
        stamps = 'ascending'
        field = [{ path = 'header.stamp', compare = '<', value = -1e300 }]
        [[expect]]
        topic = '/odom'
        within = '-9000000000s..+9000000000s'
        rate = { max = 1e300 }
        latency = { from = '/odom', by = 'stamp', max = '1h' }
        [[transform]]
        target = 'a'
        source = 'b'
        at = '/odom'
    ";
    let verdicts: Vec<_> = parse(text)
        .judge(&Judged::recording(&bag))
        .into_iter()
        .filter(|check| check.name != "the outputs are undamaged")
        .map(|check| check.verdict)
        .collect();
    let expected = [Passed, Failed, Failed, Failed, Passed, Failed];
    // No message is within the second window.
    assert_eq!(verdicts, [&expected[..], &[Failed, Error, Failed]].concat());
}

#[test]
fn outputs_that_end_early_are_damaged() {
    let mut recording = Recording::new().topic("/odom", ODOMETRY);
    for number in 0..50 {
        recording.message("/odom", START + number * MS, &odometry(START, 0.0, &[], 0));
    }
    let bytes = recording.bytes();
    let cut = bytes[..bytes.len() / 2].to_vec();
    let bag = Bag::from_bytes("cut.mcap", cut.into()).unwrap();
    let checks = parse("[[expect]]\ntopic = '/odom'\ncount = { min = 1 }");
    let checks = checks.judge(&Judged::recording(&bag));
    let damage = checks.last().unwrap();
    assert_eq!(
        (checks.len(), damage.verdict),
        (2, Verdict::Error),
        "{checks:?} {:?}",
        bag.damage()
    );
}

#[test]
fn names_are_unique_and_say_what_is_expected() {
    let text = "
        within = '+1s..'
        [[expect]]
        topic = '/odom'
        count = { min = 3, max = 9 }
        rate = { min = 5, over = '2s' }
        max-gap = '250ms'
        latency = { from = '/points', by = 'stamp', p99 = '50ms', max = 1 }
        stamps = 'strictly-ascending'
        [[expect]]
        topic = '/odom'
        name = 'speed'
        within = '50%..'
        field = [
            { path = 'v', compare = '<=', value = 2 },
            { path = 'v', compare = '<=', value = 2 },
            { path = 'v', in = 'last', elements = 'any', value = 'a', compare = '!=' },
        ]
        [[transform]]
        target = 'map'
        source = 'base'
    ";
    let error = bagplay::ci::judge::expect::Expectations::parse(text, "e.toml").unwrap_err();
    assert!(error.to_string().contains("needs [*] in `path`"), "{error}");
    let expectations = parse(&text.replace("in = 'last', elements = 'any'", "in = 'last'"));
    let names: Vec<_> = expectations.names().collect();
    assert_eq!(
        names,
        [
            "/odom: count 3 to 9 within +1s..",
            "/odom: rate >= 5 Hz over 2s within +1s..",
            "/odom: gap <= 0.25s within +1s..",
            "/odom: latency from /points by stamp p99 <= 0.05s, max <= 1s within +1s..",
            "/odom: header.stamp strictly ascending within +1s..",
            "speed: every v <= 2 within 50%..",
            "speed: every v <= 2 within 50%.. (2)",
            "speed: last v != \"a\" within 50%..",
            "tf: map from base at the end",
        ]
    );
    let topics: Vec<_> = expectations.topics().into_iter().collect();
    assert_eq!(topics, ["/odom", "/tf", "/tf_static"]);
    let both = parse("[[expect]]\ntopic = 'a'\ncount = 1")
        .and(parse("[[expect]]\ntopic = 'a'\ncount = 1"));
    assert_eq!(
        both.names().collect::<Vec<_>>(),
        ["a: count = 1", "a: count = 1 (2)"]
    );
}
