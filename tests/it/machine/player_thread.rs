//! The player's thread: commands and their answers, and what can be read of a player while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bagplay::bag::{Bag, Cue, Cued, Cues, Key, Message, PublisherId, Selection, TopicId};
use bagplay::output::{Event, Null, Output, Recording};
use bagplay::player::{
    Command, Intent, Machine, Options, Pace, PlayedRange, Player, Source, State, TopicCounts, Wait,
    WhenDone,
};
use bagplay::time::{AtEnd, Duration, Ros, Speed, Time, TimeRange};
use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender};

use crate::support::mcaps::{Note, Spec, bag, topic_id};
use crate::support::patience::{PATIENCE, until};
use crate::support::waker;

fn at(nanos: i64) -> Time<Ros> {
    Time::from_nanos(nanos)
}

/// An output that reports each message, and does not return from it until the test says so.
fn blocking_output() -> (impl Output + Send + 'static, Receiver<()>, Sender<()>) {
    let (started, has_started) = crossbeam_channel::bounded(1);
    let (release, released) = crossbeam_channel::bounded(1);
    let out = Recording(move |event| {
        if let Event::Message(..) = event {
            started.send(()).unwrap();
            released.recv_timeout(PATIENCE).unwrap();
        }
    });
    (out, has_started, release)
}

fn message(n: u32, topic: u32) -> Message {
    let time = at(i64::from(n));
    Message {
        key: Key {
            time,
            input: 0,
            chunk: 0,
            record: n,
        },
        topic: TopicId(topic),
        publisher: PublisherId::default(),
        log_time: time,
        publish_time: time,
        sequence: 0,
        payload: Bytes::from_static(b"four"),
    }
}

fn paused() -> Options {
    Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        ..Options::new(TimeRange::between(at(0), at(100)))
    }
}

#[test]
fn topic_counts_can_be_read_while_playing_and_equal_the_report() {
    let player = Player::new();
    let transport = player.transport();
    assert_eq!(transport.topic_counts(), []);
    let mut items = vec![Cued::Refill(message(0, 1))];
    items.extend((1..=3).map(|n| Cued::Message(message(n, n % 2))));
    let source = Source::new(["/a", "/b"], move |_| Cue::from_items(items.clone()));
    let running = player.start(paused(), source, Null).unwrap();
    let counts = |sent, refilled| TopicCounts {
        sent,
        bytes: 4 * sent,
        refilled,
        ..TopicCounts::default()
    };
    assert_eq!(transport.topic_counts().len(), 2);
    transport.ask(Command::Step(2)).unwrap();
    assert_eq!(transport.topic_counts(), [counts(1, 0), counts(1, 1)]);
    transport.ask(Command::Step(1)).unwrap();
    assert_eq!(transport.topic_counts(), [counts(1, 0), counts(2, 1)]);
    transport.send(Command::Stop).unwrap();
    let (report, _) = running.join().unwrap();
    assert_eq!(report.topics(), transport.topic_counts());
}

#[test]
fn topic_counts_can_be_read_during_a_send() {
    let player = Player::new();
    let transport = player.transport();
    let reader = player.transport();
    let seen = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&seen);
    // The output reads the counts during a send: a lock that the player held then would never be free.
    let out = Recording(move |event| {
        if let Event::Message(..) = event {
            let sent = reader.topic_counts()[0].sent;
            told.store(sent + 1, Ordering::Relaxed);
        }
    });
    let items = [1, 2].map(|n| Cued::Message(message(n, 0)));
    let source = Source::new(["/a", "/b"], move |_| Cue::from_items(items.clone()));
    let running = player.start(paused(), source, out).unwrap();
    transport.ask(Command::Step(2)).unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 2);
    transport.send(Command::Stop).unwrap();
    running.join().unwrap();
}

#[test]
fn a_command_is_answered_after_it_took_effect() {
    let player = Player::new();
    let transport = player.transport();
    let (out, begun, release) = blocking_output();
    let items = [Cued::Message(message(1, 0))];
    let source = Source::new(["/a", "/b"], move |_| Cue::from_items(items.clone()));
    let running = player.start(paused(), source, out).unwrap();
    transport.send(Command::Step(1)).unwrap();
    begun.recv_timeout(PATIENCE).unwrap();
    let answer = transport.try_send(Command::Mute(TopicId(0))).unwrap();
    let answer = answer.expect("there is room");
    assert!(!answer.has_come() && !transport.is_muted(TopicId(0)));
    release.send(()).unwrap();
    transport.ask(Command::Pause).unwrap();
    assert!(answer.has_come() && transport.is_muted(TopicId(0)));
    let last = transport.try_send(Command::Stop).unwrap();
    running.join().unwrap();
    assert!(last.is_some_and(|last| last.has_come()));
}

#[test]
fn other_commands_are_answered_while_a_step_is_searched_for() {
    let player = Player::new();
    let transport = player.transport();
    let waker = player.waker();
    // Playback has no messages; the test feeds the search for a step back.
    let (feed, search) = Cue::channel();
    let mut cues = vec![search, Cue::from_items([])];
    let source = Source::new(["/a"], move |_| cues.pop().unwrap());
    let running = player.start(paused(), source, Null).unwrap();
    transport.ask(Command::Query).unwrap();
    let step = transport.try_send(Command::Step(-1)).unwrap().unwrap();
    for command in [Command::Query, Command::Mute(TopicId(0))] {
        let answer = transport.try_send(command).unwrap().unwrap();
        until("an answer during the search", || answer.has_come());
    }
    assert!(transport.is_muted(TopicId(0)) && !step.has_come());
    feed.end();
    waker();
    until("the answer to the step", || step.has_come());
    // A stop answers all commands, also steps that are searched for.
    let step = transport.try_send(Command::Step(1)).unwrap().unwrap();
    let stopped = transport.ask(Command::Stop);
    assert!(stopped.is_err() || stopped.is_ok_and(|it| it.status.state == State::Stopped));
    running.join().unwrap();
    assert!(step.has_come());
}

#[test]
fn commands_queued_with_a_stop_are_answered_and_have_no_effect() {
    let player = Player::new();
    let transport = player.transport();
    // The player is started after all commands are in the channel.
    let looped = Options {
        played: PlayedRange::new(paused().recording, AtEnd::Loop),
        ..paused()
    };
    let requests = [
        Command::Play,
        Command::Stop,
        Command::Seek(at(50)),
        Command::SetRange(TimeRange::between(at(10), at(20)), None),
        Command::SetPace(Pace::At(Speed::NORMAL.reversed())),
        Command::Step(1),
    ];
    let answers = requests.map(|command| transport.try_send(command).unwrap().unwrap());
    let items = [1, 2].map(|n| Cued::Message(message(n, 0)));
    let source = Source::new(["/a"], move |_| Cue::from_items(items.clone()));
    let (report, _) = player.start(looped, source, Null).unwrap().join().unwrap();
    assert_eq!((report.jumps, report.sent), (0, 0));
    assert_eq!(transport.status().unwrap().state, State::Stopped);
    assert!(answers.iter().all(bagplay::player::PendingAnswer::has_come));
}

#[test]
fn a_stop_answers_a_step_that_is_searched_for() {
    let player = Player::new();
    let transport = player.transport();
    let other = player.transport();
    // Playback has no messages; the search for a step back is never fed.
    let (_feed, search) = Cue::channel();
    let mut cues = vec![search, Cue::from_items([])];
    let (tell, opened) = crossbeam_channel::bounded(2);
    let source = Source::new(["/a"], move |_| {
        tell.send(()).unwrap();
        cues.pop().unwrap()
    });
    let running = player.start(paused(), source, Null).unwrap();
    transport.ask(Command::Query).unwrap();
    let step = std::thread::spawn(move || other.ask(Command::Step(-1)));
    for _ in 0..2 {
        opened.recv_timeout(PATIENCE).unwrap();
    }
    let stopped = transport.ask(Command::Stop);
    running.join().unwrap();
    for answer in [stopped, step.join().unwrap()] {
        assert_eq!(answer.map(|it| it.status.state), Ok(State::Stopped));
    }
}

#[test]
fn the_position_stands_still_while_a_send_blocks() {
    let player = Player::new();
    let transport = player.transport();
    let (out, begun, release) = blocking_output();
    let items = [Cued::Message(message(1, 0))];
    let source = Source::new(["/a", "/b"], move |_| Cue::from_items(items.clone()));
    let hour = TimeRange::between(at(0), at(3_600_000_000_000));
    let options = Options::new(hour);
    let running = player.start(options, source, out).unwrap();
    begun.recv_timeout(PATIENCE).unwrap();
    let status = || transport.status().unwrap();
    until("a stall", || status().state == State::Stalled);
    let (seen, now) = (status().segment, transport.now());
    let held = seen.position(now);
    assert!(!seen.is_rolling() && held < at(1_000_000_000), "{held}");
    assert_eq!(seen.position(now + Duration::from_secs(60)), held);
    release.send(()).unwrap();
    let playing = transport.ask(Command::Query).unwrap().status;
    assert_eq!(playing.state, State::Playing);
    // The time of the stall is not made up for.
    until("a later position", || {
        status().segment.position(transport.now()) > held
    });
    assert_eq!(status().segment.generation(), seen.generation());
    transport.send(Command::Stop).unwrap();
    let (report, _) = running.join().unwrap();
    assert!(report.held.stalled > Duration::from_millis(90));
}

/// Every chunk is larger than the read-ahead, so that no cue reads to its end before its messages are taken.
#[test]
fn the_reach_is_that_of_the_current_lap() {
    let note = |c: u64, i: u64| Note::new(0, 10 * c + i, vec![0; 50_000]);
    let chunk = |c| (0..4).map(|i| note(c, i)).collect();
    let spec = Spec::new((0..5).map(chunk).collect());
    let bag = bag(&spec.write());
    // The range extends beyond the last message; meanwhile the next lap is read.
    let range = TimeRange::between(at(0), at(1_000_000));
    let (wake, woken) = waker();
    let cues = Cues::new(bag.clone(), Selection::all(&bag), 1000, wake);
    let reach = cues.reach();
    let looped = Options {
        played: PlayedRange::new(range, AtEnd::Loop),
        ..Options::new(range)
    };
    let mut machine = Machine::new(looped, Source::of(cues));
    assert_eq!(reach.get(), None);
    let mut now = Time::from_nanos(0);
    let mut has_waited = false;
    while machine.report().laps == 0 {
        match machine.advance(now, &mut Null) {
            Wait::Now => {}
            Wait::Until(wall) => {
                // All messages have been sent; the end comes next.
                if wall.saturating_since(now) > Duration::from_nanos(500_000) {
                    assert_eq!(reach.get(), Some(range.stop()));
                    has_waited = true;
                }
                now = wall;
            }
            _ => woken.recv().unwrap(),
        }
    }
    assert!(has_waited);
    // Less than half of the new lap has been read.
    assert_ne!(reach.get(), Some(range.stop()));
    machine.apply(Command::Seek(range.stop()), now);
    assert_eq!(reach.get(), None);
}

/// Every chunk is larger than the read-ahead, which the cue of playback has filled.
#[test]
fn a_step_search_over_several_chunks_ends_while_the_read_ahead_is_full() {
    let note = |topic, time| Note::new(topic, time, vec![0; 50_000]);
    let chunk = |c: u64| vec![note(0, 10 * c), note(1, 10 * c + 1)];
    let bag = bag(&Spec::new((0..9).map(chunk).collect()).write());
    let first = TopicId(0);
    for (speed, step, expected) in [
        (1.0, Command::StepTopic(first, 3), 60),
        (1.0, Command::StepTopic(first, -3), 10),
        (1.0, Command::Step(-5), 11),
        (1.0, Command::Step(-99), 0),
        (-1.0, Command::StepTopic(first, 3), 10),
        (-1.0, Command::StepTopic(first, -3), 60),
        (-1.0, Command::Step(-5), 60),
        (-1.0, Command::Step(-99), 81),
    ] {
        let (wake, woken) = waker();
        let cues = Cues::new(bag.clone(), Selection::all(&bag), 1000, wake);
        let reach = cues.reach();
        let source = Source::of(cues);
        let mut machine = Machine::new(paused(), source);
        let now = Time::from_nanos(0);
        let pace = Pace::At(Speed::from_f64(speed).unwrap());
        machine.apply(Command::SetPace(pace), now);
        machine.apply(Command::Seek(at(35)), now);
        let mut last = None;
        let mut out = Recording(|event| {
            if let Event::Message(_, time, _) = event {
                last = Some(time);
            }
        });
        let mut settle = |machine: &mut Machine, is_done: &dyn Fn(&Machine) -> bool| {
            loop {
                let wait = machine.advance(now, &mut out);
                if wait != Wait::Now && is_done(machine) {
                    return;
                }
                if wait != Wait::Now {
                    let woken = woken.recv_timeout(PATIENCE);
                    woken.unwrap_or_else(|_| panic!("{step:?} at {speed} waits for ever"));
                }
            }
        };
        settle(&mut machine, &|_| reach.get().is_some());
        machine.apply(step, now);
        settle(&mut machine, &|machine| !machine.is_stepping());
        assert_eq!(last, Some(at(expected)), "{step:?} at {speed}");
    }
}

#[test]
fn a_step_by_topic_plays_muted_topics_and_unmuting_refills_them() {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
    let bag = Bag::open(&[demo]).unwrap();
    let (tf, imu) = (topic_id(&bag, "/tf_static"), topic_id(&bag, "/imu"));
    let player = Player::new();
    let transport = player.transport();
    let cues = Cues::new(bag.clone(), Selection::all(&bag), 8 << 20, player.waker());
    let options = Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        ..Options::new(bag.range().unwrap())
    };
    let source = Source::of(cues);
    let running = player.start(options, source, Null).unwrap();
    let count = |topic: TopicId| transport.topic_counts()[topic.index()];
    transport.ask(Command::Mute(tf)).unwrap();
    assert!(transport.is_muted(tf));
    // Answered when the step has ended: all messages before it have been played, muted ones included.
    transport.ask(Command::StepTopic(imu, 500)).unwrap();
    assert_eq!(count(imu).sent, 500);
    let muted = count(tf).muted;
    assert!(muted > 0 && count(tf).sent == 0, "{muted}");
    let there = transport.status().unwrap();
    transport.ask(Command::StepTopic(imu, -1)).unwrap();
    let back = transport.status().unwrap();
    assert!(back.segment.generation() > there.segment.generation());
    assert!(back.segment.position(transport.now()) < there.segment.position(transport.now()));
    assert_eq!(count(imu).sent, 501);
    transport.ask(Command::Unmute(tf)).unwrap();
    // A step waits for the refill.
    transport.ask(Command::Step(1)).unwrap();
    assert_eq!(count(tf).refilled, muted);
    assert_eq!(count(tf).sent, 0);
    transport.send(Command::Stop).unwrap();
    running.join().unwrap();
}

#[test]
fn playing_as_fast_as_possible_does_not_report_each_message_as_a_change() {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
    let bag = Bag::open(&[demo]).unwrap();
    let player = Player::new();
    let changes = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&changes);
    player.transport().on_change(Arc::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    }));
    let cues = Cues::new(bag.clone(), Selection::all(&bag), 8 << 20, player.waker());
    let options = Options {
        pace: Pace::Max,
        ..Options::new(bag.range().unwrap())
    };
    let running = player.start(options, Source::of(cues), Null);
    let (report, _) = running.unwrap().join().unwrap();
    let changes = changes.load(Ordering::Relaxed);
    assert!((1..100).contains(&changes), "{changes} of {}", report.sent);
}
