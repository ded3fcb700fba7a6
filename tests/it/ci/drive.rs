//! A player that is held until what it sent has been dealt with. The system under test is a thread that takes its time.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration as StdDuration;

use bagplay::bag::{Cue, Message, TopicId};
use bagplay::ci::drive::{
    Desk, Drained, Drive, Driven, DrivenTopic, Governor, MutedTopic, OnMiss, Trouble,
};
use bagplay::ci::gates::{GateRule, Ledger, Limits};
use bagplay::output::{Delivery, Event, Occasion, Output, Recording};
use bagplay::player::{Before, ClockOptions, Options, Pace, Player, Report, Source};
use bagplay::time::{AtEnd, Duration, Ros, Segment, Speed, Time, TimeRange};
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::machine::transcript::{NAMES, cue, messages, options, ros, span};
use crate::support::patience::PATIENCE;

/// What was sent, and what was answered, in order.
#[derive(Clone, PartialEq, Debug)]
enum Seen {
    Clock(Time<Ros>),
    Message(Time<Ros>),
    Answer(Time<Ros>),
}

/// What the system under test does about what it was sent: it answers on a topic, and then time passes. No other time
/// passes for the limits of the gates.
struct Reaction {
    answers: Option<&'static str>,
    passes: i64,
}

impl From<Option<&'static str>> for Reaction {
    fn from(answers: Option<&'static str>) -> Self {
        Self { answers, passes: 0 }
    }
}

/// Answers on `/out`, or lets a minute pass without an answer to a message.
fn answers_or_is_late(sent: &Seen, answers: bool) -> Reaction {
    let is_late = !answers && matches!(sent, Seen::Message(_));
    Reaction {
        answers: answers.then_some("/out"),
        passes: if is_late { MINUTE } else { 0 },
    }
}

const MINUTE: i64 = 60_000_000_000;

struct Run {
    seen: Vec<Seen>,
    drained: Drained,
    troubles: Vec<Trouble>,
    desk: Desk,
    report: Report,
}

/// Plays messages of `/a` at these times. `answer` is called with each message and clock, on a thread of its own, and
/// says how the system reacts.
fn run<R: Into<Reaction>>(
    options: Options,
    times: &[i64],
    rules: &[&str],
    (in_flight, on_miss): (usize, OnMiss),
    mut answer: impl FnMut(&Seen) -> R + Send + 'static,
) -> Run {
    let rules: Vec<GateRule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let limits = Limits {
        in_flight,
        within: Duration::from_secs(60),
    };
    let player = Player::new();
    let transport = player.transport();
    let drive = Drive {
        ledger: Ledger::new(rules.clone(), limits),
        on_miss,
        lockstep: false,
        start: options.entry(),
        is_held: false,
    };
    let clock = Arc::new(AtomicI64::new(0));
    let now = Arc::clone(&clock);
    let now = move || Time::from_nanos(now.load(Ordering::SeqCst));
    let (desk, troubles) = Desk::new(drive, player.gates(), now);
    let governor = Governor::start(&desk, None).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (to_system, inbox): (Sender<Seen>, Receiver<Seen>) = bounded(1000);
    let (log, answers) = (Arc::clone(&seen), desk.clone());
    let system = thread::spawn(move || {
        for sent in inbox {
            let reaction: Reaction = answer(&sent).into();
            if let Some(topic) = reaction.answers {
                let (Seen::Clock(at) | Seen::Message(at) | Seen::Answer(at)) = sent;
                log.lock().unwrap().push(Seen::Answer(at));
                answers.answered(topic, None);
            }
            clock.fetch_add(reaction.passes, Ordering::SeqCst);
        }
    });
    let log = Arc::clone(&seen);
    let inner = Recording(move |event| {
        let sent = match event {
            Event::Clock(time) => Seen::Clock(time),
            Event::Message(_, time, _) => Seen::Message(time),
            Event::Segment(_) | Event::ServeClock(_) => return,
        };
        log.lock().unwrap().push(sent.clone());
        to_system.send(sent).unwrap();
    });
    let topics = NAMES.map(|name| {
        Some(DrivenTopic {
            name: name.to_owned(),
            stamp: None,
        })
    });
    let out = Driven::new(
        inner,
        desk.clone(),
        topics.into(),
        &rules,
        options.entry(),
        options.clock.shift,
    );
    let all = messages(times);
    let source = Source::new(NAMES, move |at| Cue::from_items(cue(&all, at)));
    let running = player.start(options, source, out).unwrap();
    // A run with a trouble does not go on by itself.
    let mut troubles_seen = Vec::new();
    crossbeam_channel::select! {
        recv(running.done()) -> _ => {}
        recv(troubles) -> trouble => {
            troubles_seen.extend(trouble);
            transport.send(bagplay::player::Command::Stop).unwrap();
        }
        default(PATIENCE) => panic!("the run does not end"),
    }
    let (report, out) = running.join().unwrap();
    let drained = desk.drain(StdDuration::ZERO, || false);
    drop((out, governor));
    system.join().unwrap();
    troubles_seen.extend(troubles.try_iter());
    let seen = seen.lock().unwrap().clone();
    Run {
        seen,
        drained,
        troubles: troubles_seen,
        desk,
        report,
    }
}

fn paces() -> [Pace; 3] {
    [
        Pace::Max,
        Pace::At(Speed::NORMAL),
        Pace::At(Speed::from_f64(100.0).unwrap()),
    ]
}

fn with(pace: Pace, clock: ClockOptions) -> Options {
    Options {
        pace,
        clock,
        ..options()
    }
}

fn slowly() {
    // A system under test that computes.
    for _ in 0..20_000 {
        std::hint::spin_loop();
    }
}

#[test]
fn nothing_goes_out_past_an_unanswered_message_at_any_pace() {
    let every_message = ClockOptions {
        before: Before::All,
        ..ClockOptions::default()
    };
    let times = [1000, 1001, 1001, 1005, 1400];
    for pace in paces() {
        let answers = |sent: &Seen| {
            slowly();
            matches!(sent, Seen::Message(_)).then_some("/out")
        };
        let options = with(pace, every_message.clone());
        let run = run(options, &times, &["/a -> /out"], (1, OnMiss::Fail), answers);
        assert_eq!(run.drained, Drained::Whole);
        assert!(run.troubles.is_empty());
        assert!(run.report.reached_end);
        let mut open = None;
        for seen in &run.seen {
            match (seen, open) {
                (Seen::Message(at), None) => open = Some(*at),
                (Seen::Answer(at), Some(of)) if *at == of => open = None,
                (Seen::Clock(_), None) => {}
                _ => panic!("{seen:?} while {open:?} is not answered: {:?}", run.seen),
            }
        }
        assert_eq!(open, None);
        let tally = &run.desk.progress().tallies[0];
        assert_eq!((tally.asked, tally.answered, tally.missed), (5, 5, 0));
        assert_eq!(tally.latency.count(), 5);
    }
}

#[test]
fn the_clock_goes_on_by_one_tick_when_the_last_one_was_answered() {
    let clock = ClockOptions {
        steps: vec![span(20)],
        ..ClockOptions::default()
    };
    for pace in paces() {
        let answers = |sent: &Seen| {
            slowly();
            let is_answered = matches!(sent, Seen::Clock(at) if *at != ros(1000));
            is_answered.then_some("/timer")
        };
        let options = with(pace, clock.clone());
        let rules = ["tick 20ms -> /timer"];
        let run = run(options, &[1500], &rules, (1, OnMiss::Fail), answers);
        assert_eq!(run.drained, Drained::Whole);
        let mut expected = vec![Seen::Clock(ros(1000))];
        for ms in (1020..=2000).step_by(20) {
            expected.extend([Seen::Clock(ros(ms)), Seen::Answer(ros(ms))]);
            if ms == 1500 {
                expected.push(Seen::Message(ros(1500)));
            }
        }
        assert_eq!(run.seen, expected, "{pace:?}");
    }
}

#[test]
fn as_many_questions_as_are_allowed_are_in_flight() {
    let options = with(Pace::Max, ClockOptions::default());
    let mut waiting = 0;
    // Answers come when three messages are there.
    let answers = move |sent: &Seen| {
        waiting += u32::from(matches!(sent, Seen::Message(_)));
        let answers = (waiting % 3 == 0).then_some("/out");
        // The two others have none in their time.
        let passes = if answers.is_some() { MINUTE } else { 0 };
        Reaction { answers, passes }
    };
    let rules = ["/a -> /out within 20ms"];
    let run = run(
        options,
        &[1000, 1001, 1002],
        &rules,
        (3, OnMiss::Count(2)),
        answers,
    );
    assert!(run.report.reached_end);
    assert_eq!(run.seen.len(), 4, "{:?}", run.seen);
    // Two of them have no answer, and the end waits for them.
    assert_eq!(run.desk.progress().tallies[0].answered, 1);
}

#[test]
fn what_is_not_answered_fails_the_run_and_is_named() {
    let options = with(Pace::Max, ClockOptions::default());
    let answers = |sent: &Seen| answers_or_is_late(sent, *sent != Seen::Message(ros(1300)));
    let rules = ["/a -> /out within 50ms"];
    let run = run(
        options,
        &[1000, 1300, 1500],
        &rules,
        (1, OnMiss::Fail),
        answers,
    );
    assert_eq!(run.drained, Drained::Troubled);
    let [Trouble::Missed(missed)] = run.troubles.as_slice() else {
        panic!("{:?}", run.troubles);
    };
    assert_eq!(missed.question.log_time, ros(1300));
    assert_eq!(
        (missed.number, missed.missing.as_slice()),
        (1, ["/out".to_owned()].as_slice())
    );
    assert_eq!(run.seen.last(), Some(&Seen::Message(ros(1300))));
    assert!(!run.report.reached_end);
}

#[test]
fn what_is_not_answered_is_counted_if_that_is_allowed() {
    let options = with(Pace::Max, ClockOptions::default());
    let answers = |sent: &Seen| {
        let is_missing = [ros(1100), ros(1300)].map(Seen::Message).contains(sent);
        answers_or_is_late(sent, !is_missing)
    };
    let times = [1000, 1100, 1200, 1300, 1400];
    let rules = ["/a -> /out within 20ms"];
    let counted = run(
        options.clone(),
        &times,
        &rules,
        (1, OnMiss::Count(2)),
        answers,
    );
    assert_eq!(counted.drained, Drained::Whole);
    let tally = &counted.desk.progress().tallies[0];
    assert_eq!((tally.asked, tally.answered, tally.missed), (5, 3, 2));
    assert!(counted.report.reached_end);
    let failed = run(options, &times, &rules, (1, OnMiss::Count(1)), answers);
    assert_eq!(failed.drained, Drained::Troubled);
    assert_eq!(failed.seen.last(), Some(&Seen::Message(ros(1300))));
}

/// Drops what it is given.
struct Full;

impl Output for Full {
    fn segment(&mut self, _: &Segment) {}
    fn clock(&mut self, _: Time<Ros>) {}
    fn serve_clock(&mut self, period: Option<bagplay::time::Duration>) -> bool {
        period.is_some()
    }
    fn message(&mut self, _: &Message, _: Occasion) -> Delivery {
        Delivery::Dropped
    }
    fn finish(&mut self) {}
}

/// A desk without a run, and an output that drops everything.
fn alone(player: &Player) -> (Desk, Driven<Full>) {
    let now = player.transport();
    let rules: Vec<GateRule> = vec!["/a -> /out".parse().unwrap()];
    let limits = Limits {
        in_flight: 1,
        within: Duration::from_secs(60),
    };
    let drive = Drive {
        ledger: Ledger::new(rules, limits),
        on_miss: OnMiss::Fail,
        lockstep: false,
        start: ros(1000),
        is_held: false,
    };
    let (desk, _troubles) = Desk::new(drive, player.gates(), move || now.now());
    let out = around(Full, &desk);
    (desk, out)
}

fn around<O>(inner: O, desk: &Desk) -> Driven<O> {
    let topics = vec![Some(DrivenTopic {
        name: "/a".into(),
        stamp: None,
    })];
    Driven::new(inner, desk.clone(), topics, &[], ros(1000), Duration::ZERO)
}

#[test]
fn an_output_belongs_to_the_time_at_which_playback_is() {
    let player = Player::new();
    let (desk, mut out) = alone(&player);
    let range = TimeRange::between(ros(1000), ros(2000));
    let segment = Segment::new(range, Speed::NORMAL, AtEnd::Hold);
    out.segment(&segment);
    let place = || desk.place().get();
    assert_eq!(place(), ros(1000));
    // The third is out of order: it is played at the time of the second.
    let all = messages(&[1100, 1500, 1200]);
    for (message, expected) in all.iter().zip([1100, 1500, 1500]) {
        out.message(message, Occasion::Due);
        assert_eq!(place(), ros(expected));
    }
    out.segment(&segment.seek(ros(1050)));
    out.clock(ros(1050));
    assert_eq!(place(), ros(1050));
    out.message(&all[2], Occasion::Refill);
    assert_eq!(place(), ros(1050), "a refill does not move playback");
    out.message(&all[0], Occasion::Due);
    assert_eq!(place(), ros(1100));
}

#[test]
fn the_limit_of_unanswered_messages_is_one_of_each_rule() {
    let options = with(Pace::Max, ClockOptions::default());
    let rules = ["/a -> /x within 20ms", "/a -> /y within 20ms"];
    let run = |times: &[i64]| {
        let on_miss = OnMiss::Count(2);
        let never = |sent: &Seen| answers_or_is_late(sent, false);
        run(options.clone(), times, &rules, (1, on_miss), never)
    };
    let counted = run(&[1000, 1100]);
    assert_eq!(counted.drained, Drained::Whole, "{:?}", counted.troubles);
    let missed = |run: &Run| -> Vec<u64> {
        let tallies = run.desk.progress().tallies.into_iter();
        tallies.map(|tally| tally.missed).collect()
    };
    assert_eq!(missed(&counted), [2, 2]);
    let failed = run(&[1000, 1100, 1200]);
    assert_eq!(failed.drained, Drained::Troubled);
    assert!(missed(&failed).contains(&3));
}

#[test]
fn a_topic_that_is_muted_is_not_sent_and_no_question() {
    let player = Player::new();
    let (desk, out) = alone(&player);
    let sent = Arc::new(Mutex::new(0));
    let count = Arc::clone(&sent);
    drop(out);
    let mut out = around(Recording(move |_| *count.lock().unwrap() += 1), &desk);
    let message = &messages(&[1000])[0];
    assert!(desk.mute("/a", "/other").is_some());
    assert_eq!(desk.mute("/a", "/third"), None);
    assert_eq!(out.message(message, Occasion::Due), Delivery::Dropped);
    let muted = MutedTopic {
        topic: "/a".to_owned(),
        node: "/other".to_owned(),
        since: ros(1000),
        unsent: 1,
    };
    assert_eq!(desk.muted(), [muted]);
    assert_eq!(*sent.lock().unwrap(), 0);
    assert_eq!(desk.progress().tallies[0].asked, 0);
    assert!(player.gates().closed().is_open());
}

#[test]
fn answers_without_stamps_fail_a_run_whose_gate_needs_them() {
    let player = Player::new();
    let now = player.transport();
    let limits = Limits {
        in_flight: 1,
        within: Duration::from_secs(60),
    };
    let rules = ["/a -> /out by stamp", "/a -> /other"];
    let rules: Vec<GateRule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let drive = Drive {
        ledger: Ledger::new(rules, limits),
        on_miss: OnMiss::Count(u64::MAX),
        lockstep: false,
        start: ros(1000),
        is_held: false,
    };
    let (desk, troubles) = Desk::new(drive, player.gates(), move || now.now());
    desk.fail_unstamped("/other", "std_msgs/msg/String");
    assert!(troubles.try_recv().is_err());
    desk.fail_unstamped("/out", "std_msgs/msg/String");
    let said = troubles.try_recv().unwrap().to_string();
    let expected = "gate `/a -> /out by stamp` goes by stamp, but /out (std_msgs/msg/String) has no header.stamp";
    assert!(said.starts_with(expected), "{said}");
    assert!(!player.gates().closed().is_open());
}

/// The stamps of nodes are times of the clock, which may start at another time than the recording.
#[test]
fn a_question_without_a_stamp_is_answered_by_what_the_clock_shows() {
    let player = Player::new();
    let now = player.transport();
    let limits = Limits {
        in_flight: 1,
        within: Duration::from_secs(60),
    };
    let rules = ["/a -> /out by stamp", "tick 20ms -> /out by stamp"];
    let rules: Vec<GateRule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let drive = Drive {
        ledger: Ledger::new(rules.clone(), limits),
        on_miss: OnMiss::Fail,
        lockstep: false,
        start: ros(1000),
        is_held: false,
    };
    let (desk, _troubles) = Desk::new(drive, player.gates(), move || now.now());
    let topics = NAMES.map(|name| {
        Some(DrivenTopic {
            name: name.to_owned(),
            stamp: None,
        })
    });
    // The clock starts at 0.
    let shift = -span(1000);
    let start = ros(1000);
    let mut out = Driven::new(
        Recording(|_| {}),
        desk.clone(),
        topics.into(),
        &rules,
        start,
        shift,
    );
    let is_open = || player.gates().closed().is_open();
    let answered = || -> Vec<u64> {
        let tallies = desk.progress().tallies.into_iter();
        tallies.map(|tally| tally.answered).collect()
    };
    out.clock(ros(0));
    out.clock(ros(20));
    assert!(!is_open());
    desk.answered("/out", Some(ros(19)));
    assert!(!is_open(), "a stamp from before the step");
    desk.answered("/out", Some(ros(20)));
    assert!(is_open());
    assert_eq!(answered(), [0, 1]);
    out.message(&messages(&[1030])[0], Occasion::Due);
    assert!(!is_open());
    desk.answered("/out", Some(ros(29)));
    assert!(!is_open(), "a stamp from before the message");
    desk.answered("/out", Some(ros(30)));
    assert!(is_open());
    assert_eq!(answered(), [1, 1]);
}

#[test]
fn what_a_run_waits_for_is_said() {
    let player = Player::new();
    let (desk, out) = alone(&player);
    drop(out);
    assert_eq!(desk.waits_for(), None);
    let mut out = around(Recording(|_| {}), &desk);
    out.message(&messages(&[1000])[0], Occasion::Due);
    let said = desk.waits_for().unwrap();
    let expected = "message 0 of /a, at 1.000000000, was not answered by /out within ";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_message_that_was_not_sent_is_no_question() {
    let player = Player::new();
    let (desk, mut out) = alone(&player);
    let message = &messages(&[1000])[0];
    assert_eq!(message.topic, TopicId(0));
    out.message(message, Occasion::Due);
    assert!(player.gates().closed().is_open());
    assert_eq!(desk.progress().tallies[0].asked, 0);
}
