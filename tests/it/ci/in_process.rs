//! An algorithm in this process: order, clock, timers, threads that sleep, latched messages, outputs.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use bagplay::bag::{Bag, Direction, Schema, Selection, StartAt};
use bagplay::ci::in_process::{Done, InProcess, InProcessError, Output, Record, RecordEnd, Sink};
use bagplay::ci::judge::compare::{Rules, compare};
use bagplay::ci::judge::expect::{Expectations, Judged};
use bagplay::ci::report::Verdict;
use bagplay::clock::{OnJump, SleepError, TimerOptions};
use bagplay::output::Occasion;
use bagplay::time::{Duration, Time};

use crate::support::mcaps::{Files, Note, Spec, TopicSpec, at, bag, texts};

const TYPE: &str = "std_msgs/msg/String";

fn notes(notes: &[(usize, u64, &str)]) -> Bag {
    let notes = notes
        .iter()
        .map(|(topic, time, text)| Note::new(*topic, *time, *text));
    bag(&Spec::new(vec![notes.collect()]).write())
}

fn nanos(span: i64) -> Duration {
    Duration::from_nanos(span)
}

/// Outputs as text: topic, position, number, payload.
fn lines(outputs: &[Output]) -> Vec<String> {
    let line = |one: &Output| {
        let text = String::from_utf8_lossy(&one.payload);
        format!(
            "{} {} {} {text}",
            one.topic,
            one.position.as_nanos(),
            one.sequence
        )
    };
    outputs.iter().map(line).collect()
}

#[test]
fn messages_come_in_playing_order_and_the_clock_shows_their_times() {
    let bag = notes(&[(1, 30, "c"), (0, 10, "a"), (1, 10, "b"), (0, 50, "d")]);
    let mut replay = InProcess::of(&bag).start();
    let clock = replay.clock();
    assert_eq!(clock.now(), at(10), "before the first message");
    let mut seen = Vec::new();
    for input in &mut replay {
        let input = input.unwrap();
        assert_eq!(
            (clock.now(), input.clock),
            (input.message.log_time, input.clock)
        );
        assert_eq!(input.occasion, Occasion::Due);
        assert_eq!(input.topic.type_name(), TYPE);
        seen.push(format!(
            "{}{}",
            input.topic.name,
            texts(&[input.message])[0]
        ));
    }
    assert_eq!(seen, ["/t0a", "/t1b", "/t1c", "/t0d"]);
    assert!(replay.next().is_none());
    let done = replay.finish();
    assert_eq!((done.messages, done.end, done.sink.len()), (4, at(50), 0));
}

#[test]
fn a_real_recording_comes_as_a_cursor_reads_it() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo.mcap");
    let bag = Bag::open(&[demo]).unwrap();
    let start = StartAt::At(bag.range().unwrap().start());
    let mut cursor = bag.cursor(&Selection::all(&bag), start, Direction::Forward);
    let is_clock = |id: usize| bag.topics()[id].name == "/clock";
    let mut expected = std::iter::from_fn(|| cursor.next_while(|| true))
        .map(|item| item.unwrap())
        .filter(|message| !is_clock(message.topic.index()));
    let mut count = 0;
    for input in InProcess::of(&bag).start() {
        let message = input.unwrap().message;
        assert_eq!(message.key, expected.next().unwrap().key);
        count += 1;
    }
    assert_eq!((count, expected.next().is_none()), (9_647, true));
}

#[test]
fn outputs_have_the_position_of_the_clock_and_numbers() {
    let bag = notes(&[(0, 10, "a"), (1, 20, "b"), (0, 30, "c")]);
    let replay = InProcess::of(&bag).topics(["/t0"]).unwrap().start();
    let done: Done<_> = replay
        .run::<InProcessError>(|input, out| {
            out.publish("/out", TYPE, input.message.payload);
            Ok(())
        })
        .unwrap();
    assert_eq!(lines(&done.sink), ["/out 10 1 a", "/out 30 2 c"]);
}

#[test]
fn timers_are_served_exactly_when_they_are_due_and_before_the_message() {
    let bag = notes(&[(0, 100, "a"), (0, 120, "b"), (0, 130, "c")]);
    let mut replay = InProcess::of(&bag).tail(nanos(25)).start();
    let out = replay.outputs();
    replay
        .timers()
        .add(nanos(10), move |_, tick| {
            let text = format!("due {}", tick.expected.as_nanos());
            out.publish("/tick", TYPE, text);
        })
        .unwrap();
    let done = replay.run::<InProcessError>(|input, out| {
        out.publish("/out", TYPE, input.message.payload);
        Ok(())
    });
    let done = done.unwrap();
    assert_eq!(
        lines(&done.sink),
        [
            "/out 100 1 a",
            "/tick 110 1 due 110",
            "/tick 120 2 due 120",
            "/out 120 2 b",
            "/tick 130 3 due 130",
            "/out 130 3 c",
            "/tick 140 4 due 140",
            "/tick 150 5 due 150",
        ]
    );
    assert_eq!(done.end, at(155));
}

#[test]
fn a_timer_may_be_set_by_a_message() {
    let bag = notes(&[(0, 100, "a"), (0, 200, "b")]);
    let mut replay = InProcess::of(&bag).tail(nanos(60)).start();
    let (out, adder) = (replay.outputs(), replay.timers().adder());
    for input in replay.by_ref() {
        let (out, text) = (out.clone(), input.unwrap().message.payload);
        let later = TimerOptions::once(nanos(50));
        adder
            .add(later, move |_, _| out.publish("/later", TYPE, text.clone()))
            .unwrap();
    }
    assert_eq!(
        lines(&replay.finish().sink),
        ["/later 150 1 a", "/later 250 2 b"]
    );
}

#[test]
fn a_thread_that_sleeps_wakes_exactly_then_and_before_the_message() {
    let bag = notes(&[(0, 100, "a"), (0, 130, "b")]);
    for _ in 0..50 {
        let replay = InProcess::of(&bag).tail(nanos(25)).start();
        let (clock, out, sleeper) = (replay.clock(), replay.outputs(), replay.sleeper());
        let sleeping = thread::spawn(move || {
            sleeper.run(|| {
                let mut next = at(100);
                loop {
                    next += nanos(15);
                    match clock.sleep_until(next, OnJump::Continue) {
                        Ok(()) => out.publish("/woke", TYPE, next.as_nanos().to_string()),
                        Err(ended) => return ended,
                    }
                }
            })
        });
        let done = replay.run::<InProcessError>(|input, out| {
            out.publish("/out", TYPE, input.message.payload);
            Ok(())
        });
        let expected = [
            "/out 100 1 a",
            "/woke 115 1 115",
            "/woke 130 2 130",
            "/out 130 2 b",
            "/woke 145 3 145",
        ];
        assert_eq!(lines(&done.unwrap().sink), expected);
        let ended = sleeping.join().unwrap();
        let by_end = [SleepError::Shutdown, SleepError::SourceChanged];
        assert!(by_end.contains(&ended), "{ended}");
    }
}

#[test]
fn a_thread_that_has_ended_is_not_waited_for_and_one_that_stays_awake_is_an_error() {
    let bag = notes(&[(0, 100, "a"), (0, 130, "b")]);
    let mut replay = InProcess::of(&bag)
        .patience(Duration::from_secs(60))
        .start();
    let (clock, sleeper) = (replay.clock(), replay.sleeper());
    let sleeping =
        thread::spawn(move || sleeper.run(|| clock.sleep_until(at(110), OnJump::Continue)));
    assert_eq!(
        replay
            .by_ref()
            .map(|input| input.is_ok())
            .collect::<Vec<_>>(),
        [true, true]
    );
    assert_eq!(sleeping.join().unwrap(), Ok(()));

    let mut replay = InProcess::of(&bag)
        .patience(Duration::from_millis(30))
        .start();
    let _awake = replay.sleeper();
    let error = replay.next().unwrap().unwrap_err();
    assert!(
        matches!(error, InProcessError::Awake { threads: 1, .. }),
        "{error}"
    );
    assert!(replay.next().is_none(), "it ends after an error");
}

#[test]
fn a_late_start_begins_with_the_latched_messages() {
    let topics = [
        TopicSpec::named("/t0").with(
            "offered_qos_profiles",
            "- history: 1\n  depth: 1\n  reliability: 1\n  durability: 1\n",
        ),
        TopicSpec::named("/t1"),
    ];
    let notes = [
        (0, 10, "old map"),
        (0, 20, "map"),
        (1, 25, "x"),
        (1, 40, "y"),
        (1, 60, "z"),
    ];
    let chunk = notes.map(|(topic, time, text)| Note::new(topic, time, text));
    let spec = Spec {
        topics: topics.to_vec(),
        ..Spec::new(vec![chunk.to_vec()])
    };
    let files = Files::of([spec.write()]);
    let late = InProcess::of(&files.bag()).from(at(30)).until(at(50));
    let seen: Vec<_> = late
        .start()
        .map(|input| input.unwrap())
        .map(|input| {
            (
                input.clock,
                input.occasion,
                texts(&[input.message]).remove(0),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (at(30), Occasion::Refill, "map".to_owned()),
            (at(40), Occasion::Due, "y".to_owned()),
        ]
    );
    let at_it: Vec<_> = InProcess::of(&files.bag())
        .from(at(20))
        .until(at(20))
        .start()
        .collect();
    assert_eq!(at_it.len(), 1, "a latched message at the start comes once");
    assert_eq!(
        InProcess::of(&files.bag())
            .from(at(90))
            .until(at(50))
            .start()
            .count(),
        1
    );
}

#[test]
fn topics_are_chosen_by_their_names() {
    let bag = notes(&[(0, 10, "a"), (1, 20, "b"), (2, 30, "c")]);
    let played = |setup: InProcess| -> Vec<String> {
        let names = setup.start().map(|input| input.unwrap().topic.name.clone());
        names.collect()
    };
    assert_eq!(
        played(InProcess::of(&bag).topics(["/t2", "/t0"]).unwrap()),
        ["/t0", "/t2"]
    );
    assert_eq!(
        played(InProcess::of(&bag).without(["/t1"]).unwrap()),
        ["/t0", "/t2"]
    );
    for refused in [
        InProcess::of(&bag).topics(["/t0", "/no\nne"]),
        InProcess::of(&bag).without(["/no\nne"]),
    ] {
        let error = refused.unwrap_err().to_string();
        assert_eq!(error, "the recording has no topic `/no\\nne`");
    }
}

#[test]
fn a_sink_of_the_caller_gets_the_outputs_and_an_error_of_the_caller_ends_the_run() {
    #[derive(Clone, Default)]
    struct Bytes(Arc<Mutex<usize>>);
    impl Sink for Bytes {
        fn take(&mut self, output: Output) {
            *self.0.lock().unwrap() += output.payload.len();
        }
    }
    let bag = notes(&[(0, 10, "aa"), (0, 20, "bbb"), (0, 30, "c")]);
    let sink = Bytes::default();
    let replay = InProcess::of(&bag).start_into(sink.clone());
    let ended = replay.run(|input, out| {
        out.publish("/out", TYPE, input.message.payload);
        if input.clock < at(20) {
            return Ok(());
        }
        Err(Box::<dyn std::error::Error>::from("enough"))
    });
    assert_eq!(ended.err().unwrap().to_string(), "enough");
    assert_eq!(*sink.0.lock().unwrap(), 5);
}

#[test]
fn damage_is_skipped_and_kept() {
    let chunks = vec![vec![Note::new(0, 10, "a")], vec![Note::new(0, 20, "b")]];
    let mut bytes = Spec::new(chunks).write();
    let chunk = crate::support::mcaps::place(&bytes, 6, 0);
    bytes[chunk.at + 9 + chunk.body - 1] ^= 1;
    let mut replay = InProcess::of(&bag(&bytes)).start();
    let times: Vec<_> = replay.by_ref().map(|input| input.unwrap().clock).collect();
    let done = replay.finish();
    assert_eq!(times.last(), Some(&at(20)));
    assert!(!done.damage.is_empty());
}

#[test]
fn an_empty_recording_has_no_messages_and_its_timers_run() {
    let bag = bag(&Spec::new(vec![]).write());
    let mut replay = InProcess::of(&bag).from(at(100)).tail(nanos(20)).start();
    let out = replay.outputs();
    replay
        .timers()
        .add(nanos(10), move |_, _| out.publish("/tick", TYPE, ""))
        .unwrap();
    assert!(replay.next().is_none());
    assert_eq!(replay.finish().sink.len(), 2);
}

#[test]
fn a_recording_may_begin_at_zero() {
    let bag = notes(&[(0, 0, "a"), (0, 40, "b")]);
    let times: Vec<_> = InProcess::of(&bag)
        .start()
        .map(|input| input.unwrap().clock)
        .collect();
    assert_eq!(times, [at(0), at(40)]);
}

#[test]
fn the_machine_of_the_run_moves_with_it() {
    let bag = notes(&[(0, 10, "a"), (0, 40, "b")]);
    let mut replay = InProcess::of(&bag).start();
    let steady = replay.machine().steady();
    let began = steady.now();
    assert!(replay.next().is_some() && replay.next().is_some());
    assert_eq!(steady.now() - began, nanos(30));
    let clock = replay.clock();
    assert_eq!(clock.now(), Time::from_nanos(40));
}

/// The letter of each message is published as a string, of the last one another letter if `is_changed`.
fn recorded(bag: &Bag, file: &Path, is_changed: bool) -> RecordEnd {
    let last = bag.range().unwrap().stop();
    let replay = InProcess::of(bag).record(file).unwrap();
    let done = replay.run::<InProcessError>(|input, out| {
        let letter = input.message.payload[0] ^ u8::from(is_changed && input.clock == last);
        // A string in CDR.
        let payload = vec![0, 1, 0, 0, 2, 0, 0, 0, letter, 0];
        out.publish("/out", input.topic.type_name(), payload);
        Ok(())
    });
    done.unwrap().sink.finish()
}

#[test]
fn outputs_are_recorded_digested_and_judged_as_those_of_programs() {
    let dir = tempfile::tempdir().unwrap();
    let [golden, own, other] = ["golden", "own", "other"].map(|name| dir.path().join(name));
    let bag = notes(&[(0, 10, "a"), (0, 20, "b"), (0, 30, "c")]);
    let first = recorded(&bag, &golden, false);
    assert_eq!(first.recorded.messages, 3, "{:?}", first.recorded);
    assert_eq!(
        first.recorded.notes, [""; 0],
        "its type is in the recording"
    );
    let counts = (first.topics[0].messages, first.topics[0].lost);
    assert_eq!((first.topics[0].topic.as_str(), counts), ("/out", (3, 0)));
    assert_eq!(recorded(&bag, &own, false).digest, first.digest);
    assert_ne!(recorded(&bag, &other, true).digest, first.digest);
    let [golden, own, other] = [golden, own, other].map(|file| Bag::open(&[file]).unwrap());
    let rules = Rules::default();
    assert!(compare(&golden, &own, &rules).unwrap().is_equal());
    let difference = compare(&golden, &other, &rules).unwrap();
    let first = difference.first.unwrap();
    assert_eq!((first.topic.as_str(), first.index), ("/out", 2));
    assert_eq!(first.times_ns.0, Some(at(30).as_nanos()));
    let text = "[[expect]]\ntopic = '/out'\ncount = 3\n[[expect.field]]\npath = 'data'\nin = 'last'\nvalue = 'c'";
    let expectations = Expectations::parse(text, "expect.toml").unwrap();
    let verdicts = |outputs| {
        let judged = Judged {
            outputs,
            inputs: Some(&bag),
            topics: None,
            played_as: &[],
            played: bag.range(),
            gates: &[],
        };
        let checks = expectations.judge(&judged).into_iter();
        checks.map(|check| check.verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&own), [Verdict::Passed, Verdict::Passed]);
    assert_eq!(verdicts(&other), [Verdict::Passed, Verdict::Failed]);
}

#[test]
fn one_name_with_several_types_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let bag = notes(&[(0, 10, "a"), (0, 20, "b"), (0, 30, "a")]);
    let replay = InProcess::of(&bag).record(dir.path().join("out.mcap"));
    let done = replay.unwrap().run::<InProcessError>(|input, out| {
        let is_other = input.message.payload[0] == b'b';
        let type_name = ["test_msgs/msg/A", "test_msgs/msg/B"][usize::from(is_other)];
        out.publish("/out", type_name, vec![0, 1, 0, 0]);
        Ok(())
    });
    let topics = done.unwrap().sink.finish().topics;
    let counts = topics.iter().map(|it| (it.messages, it.lost, it.earlier));
    assert_eq!(counts.collect::<Vec<_>>(), [(2, 0, 0), (1, 0, 0)]);
}

#[test]
fn a_file_that_cannot_be_made_is_an_error_and_an_unknown_type_is_said() {
    let bag = notes(&[(0, 10, "a")]);
    let nowhere = InProcess::of(&bag).record("/proc/none/out.mcap");
    assert!(nowhere.unwrap_err().to_string().contains("cannot be made"));
    let dir = tempfile::tempdir().unwrap();
    let run = |define: bool| {
        let mut sink = Record::new(dir.path().join("out.mcap"), &bag).unwrap();
        if define {
            sink = sink.define(Schema {
                name: "mine/msg/Thing".to_owned(),
                encoding: "ros2msg".to_owned(),
                data: "uint8 x\n".into(),
            });
        }
        let replay = InProcess::of(&bag).start_into(sink);
        replay
            .outputs()
            .publish("/thing", "mine/msg/Thing", vec![0, 1, 0, 0, 7]);
        let done = replay.run::<InProcessError>(|_, _| Ok(())).unwrap();
        done.sink.finish().recorded.notes.len()
    };
    assert_eq!([run(false), run(true)], [1, 0]);
}
