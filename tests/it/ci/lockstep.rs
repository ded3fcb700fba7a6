//! A player in lockstep with a program: each message has its answer before the next one is sent.

use std::sync::{Arc, Mutex};
use std::time::Duration as StdDuration;

use bagplay::bag::Cue;
use bagplay::ci::drive::{Desk, Drained, Drive, Driven, DrivenTopic, Governor, OnMiss, Waiting};
use bagplay::ci::gates::{Ledger, Limits};
use bagplay::ci::settle::{Processes, Settler};
use bagplay::output::{Event, Recording};
use bagplay::player::{Options, Pace, Player, Source};
use bagplay::time::{Duration, Speed};

use super::programs::Program;
use crate::machine::transcript::{NAMES, cue, messages, options};
use crate::support::patience::PATIENCE;

/// Sends messages to a program in lockstep; returns for each the answer that was there when the next one was sent, or
/// at the end.
fn in_lockstep(program: &str, pace: Pace, times: &[i64]) -> Vec<Option<u8>> {
    let program = Program::start(program);
    let settler = Settler::new(Processes::Tree(vec![program.id()]), &[]).unwrap();
    let options = Options { pace, ..options() };
    let player = Player::new();
    let now = player.transport();
    let drive = Drive {
        ledger: Ledger::new(
            Vec::new(),
            Limits {
                in_flight: 1,
                within: Duration::from(PATIENCE),
            },
        ),
        on_miss: OnMiss::Fail,
        lockstep: true,
        start: options.entry(),
        is_held: false,
    };
    let (desk, troubles) = Desk::new(drive, player.gates(), move || now.now());
    let limit = Duration::from(PATIENCE);
    let governor = Governor::start(&desk, Some(Waiting { settler, limit })).unwrap();
    let outputs = desk.clone();
    let (program, mut count) = (Arc::new(Mutex::new((program, Vec::new()))), 0_u8);
    let shared = Arc::clone(&program);
    let inner = Recording(move |event| {
        if let Event::Message(..) = event {
            let (program, answers) = &mut *shared.lock().unwrap();
            if count > 0 {
                answers.push(program.answer());
            }
            program.send(count);
            count = count.wrapping_add(1);
            // Something else comes meanwhile.
            outputs.answered("/b", None);
        }
    });
    let topics = NAMES.map(|name| {
        Some(DrivenTopic {
            name: name.to_owned(),
            stamp: None,
        })
    });
    let start = options.entry();
    let out = Driven::new(
        inner,
        desk.clone(),
        topics.into(),
        &[],
        start,
        Duration::ZERO,
    );
    let all = messages(times);
    let source = Source::new(NAMES, move |at| Cue::from_items(cue(&all, at)));
    let running = player.start(options, source, out).unwrap();
    let (_, out) = running.join().unwrap();
    assert_eq!(desk.drain(StdDuration::ZERO, || false), Drained::Whole);
    drop((out, governor));
    assert_eq!(troubles.try_iter().count(), 0);
    let (program, answers) = &mut *program.lock().unwrap();
    answers.push(program.answer());
    std::mem::take(answers)
}

#[test]
fn in_lockstep_each_message_has_its_answer_before_the_next() {
    let fast = Pace::At(Speed::from_f64(1000.0).unwrap());
    for pace in [Pace::Max, fast] {
        let times: Vec<i64> = (0..250).map(|n| 1000 + n).collect();
        let expected: Vec<Option<u8>> = (0..250).map(Some).collect();
        assert_eq!(in_lockstep("chain 2", pace, &times), expected, "{pace:?}");
        // Longer than the thread that sends waits itself.
        let few = &times[..10];
        assert_eq!(
            in_lockstep("compute 20", pace, few),
            expected[..10],
            "{pace:?}"
        );
    }
}
