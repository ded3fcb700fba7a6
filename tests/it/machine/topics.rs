//! Transcripts of the machine with several topics: muted topics, and steps by topic.

use bagplay::bag::{Cue, CueAt, Cued, Direction, Message, StartAt, TopicId};
use bagplay::output::{Delivery, Null, Occasion, Output, Recording};
use bagplay::player::{
    Before, ClockOptions, Command, Digest, Gate, Gates, Intent, Machine, Options, Pace,
    PlayedRange, Source, State, Wait, WhenDone,
};
use bagplay::time::{AtEnd, Duration, Ros, Segment, Speed, Time, TimeRange};

use crate::machine::transcript::{
    NAMES, check_all, line, messages, options, pace, playing, quiet, ros, wall,
};

const A: TopicId = TopicId(0);
const B: TopicId = TopicId(1);

/// Messages at these instants of topics 0, 1, 2 (shown in transcripts without a name, as b, and as c).
fn mixed(notes: &[(i64, u32)]) -> Vec<Message> {
    let times: Vec<i64> = notes.iter().map(|(ms, _)| *ms).collect();
    let mut all = messages(&times);
    for (message, (_, topic)) in all.iter_mut().zip(notes) {
        message.topic = TopicId(*topic);
    }
    all
}

fn paused() -> Options {
    Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        ..quiet()
    }
}

#[test]
fn a_muted_topic_is_played_and_not_sent() {
    let clock = ClockOptions {
        before: Before::All,
        ..ClockOptions::default()
    };
    let options = Options {
        clock,
        digest: true,
        ..options()
    };
    let all = mixed(&[(1000, 1), (1000, 0), (1300, 1), (1300, 0), (1900, 1)]);
    let machine = check_all(
        options,
        all.clone(),
        &[
            (0, Command::Mute(B)),
            (0, Command::Mute(TopicId(77))),
            (1500, Command::Stop),
        ],
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 rolls 1000 ×1
        0 clock 1000
        0 clock 1000
        0 msg 1000
        300 clock 1300
        300 clock 1300
        300 msg 1300
        900 clock 1900
        1000 clock 2000
        1000 gen 0 held 2000",
    );
    let counts = machine.report().topics();
    assert_eq!((counts[0].sent, counts[0].muted), (2, 0));
    assert_eq!(
        (counts[1].sent, counts[1].bytes, counts[1].muted),
        (0, 0, 3)
    );
    assert_eq!(
        (machine.report().sent, machine.report().lateness.messages()),
        (2, 2)
    );
    let mut sent = Digest::default();
    sent.add("/a", &all[1]);
    sent.add("/a", &all[3]);
    let digest = machine.report().digest.as_ref().map(Digest::hex);
    assert_eq!(digest, Some(sent.hex()));
}

#[test]
fn refills_of_a_muted_topic_are_not_sent() {
    let machine = check_all(
        Options {
            refill: true,
            ..quiet()
        },
        mixed(&[(1000, 0), (1300, 1), (1900, 0)]),
        &[
            (0, Command::Mute(B)),
            (100, Command::Seek(ros(1850))),
            (130, Command::Stop),
        ],
        "
        0 gen 0 held 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        100 gen 1 held 1850
        100 gen 1 rolls 1850 ×1
        130 gen 1 held 1880",
    );
    let counts = machine.report().topics()[1];
    assert_eq!((counts.refilled, counts.muted), (0, 1));
}

#[test]
fn an_unmuted_topic_is_refilled_as_for_a_late_joiner() {
    let all = mixed(&[(1000, 1), (1200, 1), (1200, 0), (1500, 1), (1900, 0)]);
    let machine = check_all(
        quiet(),
        all.clone(),
        &[
            (0, Command::Mute(B)),
            (250, Command::Unmute(B)),
            // The topic is not muted: nothing to do.
            (260, Command::Unmute(B)),
            (270, Command::Stop),
        ],
        "
        0 gen 0 held 1000
        0 gen 0 rolls 1000 ×1
        200 msg 1200
        250 refill 1200 b
        270 gen 0 held 1270",
    );
    let counts = machine.report().topics()[1];
    assert_eq!((counts.refilled, counts.muted), (1, 2));
    // Paused, and of two messages at one instant only the first has been taken.
    check_all(
        paused(),
        all.clone(),
        &[
            (0, Command::Mute(B)),
            (10, Command::Step(1)),
            (20, Command::Step(-1)),
            (30, Command::Unmute(B)),
            (40, Command::Step(1)),
        ],
        "
        0 gen 0 held 1000
        10 gen 0 held 1200
        10 msg 1200
        30 refill 1200 b
        40 gen 0 held 1500
        40 msg 1500 b",
    );
    // Backwards this is the last message before the position by time, as after a jump.
    check_all(
        Options {
            pace: Pace::At(Speed::from_f64(-1.0).unwrap()),
            ..quiet()
        },
        all,
        &[
            (0, Command::Mute(B)),
            (600, Command::Unmute(B)),
            (610, Command::Stop),
        ],
        "
        0 gen 0 held 2000
        0 gen 0 rolls 2000 ×-1
        100 msg 1900
        600 refill 1200 b
        610 gen 0 held 1390",
    );
}

/// A machine whose cues are fed by the test, and the positions that were requested.
struct Fed {
    machine: Machine,
    cues: std::sync::mpsc::Receiver<(CueAt, bagplay::bag::CueFeed)>,
}

impl Fed {
    fn new(options: Options) -> Self {
        let (asked, cues) = std::sync::mpsc::sync_channel(10);
        let source = move |at| {
            let (feed, cue) = Cue::channel();
            asked.send((at, feed)).unwrap();
            cue
        };
        Self {
            machine: Machine::new(options, Source::new(NAMES, source)),
            cues,
        }
    }

    fn advance(&mut self, now: i64) -> Vec<String> {
        let mut seen = Vec::new();
        while self
            .machine
            .advance(wall(now), &mut Recording(|event| seen.push(line(&event))))
            == Wait::Now
        {}
        seen
    }

    fn apply(&mut self, now: i64, command: Command) -> Vec<String> {
        self.machine.apply(command, wall(now));
        self.advance(now)
    }

    fn asked(&self) -> (CueAt, bagplay::bag::CueFeed) {
        self.cues.try_recv().unwrap()
    }
}

#[test]
fn nothing_is_sent_before_the_refill_of_an_unmuted_topic() {
    let mut player = Fed::new(quiet());
    player.apply(0, Command::Mute(B));
    let (_, feed) = player.asked();
    let all = mixed(&[(1000, 0), (1010, 1), (1020, 1), (1030, 0)]);
    for message in all.clone() {
        feed.push(Cued::Message(message));
    }
    assert_eq!(player.advance(0), ["gen 0 rolls 1000 ×1", "msg 1000"]);
    assert_eq!(player.advance(10), [""; 0]);
    assert_eq!(player.apply(15, Command::Unmute(B)), ["gen 0 held 1015"]);
    assert_eq!(player.machine.state(), State::Starved);
    let (at, refill) = player.asked();
    assert_eq!(
        (at.from, at.direction, at.refill, at.only),
        (
            StartAt::After(all[1].key),
            Direction::Forward,
            true,
            Some(B)
        )
    );
    assert!(at.range.stop() < at.from.time());
    // The next message is overdue.
    assert_eq!(player.advance(40), [""; 0]);
    refill.push(Cued::Refill(all[1].clone()));
    assert_eq!(player.advance(41), ["refill 1010 b"]);
    refill.end();
    assert_eq!(player.advance(50), ["gen 0 rolls 1015 ×1"]);
    assert_eq!(player.advance(55), ["msg 1020 b"]);
}

#[test]
fn steps_and_the_end_wait_for_the_refill_of_an_unmuted_topic() {
    let [first, second] = mixed(&[(1000, 0), (1100, 1)]).try_into().unwrap();
    let mut player = Fed::new(paused());
    player.apply(0, Command::Mute(B));
    let (_, feed) = player.asked();
    feed.push(Cued::Message(first.clone()));
    player.apply(0, Command::Unmute(B));
    let (_, refill) = player.asked();
    assert_eq!(player.apply(1, Command::Step(1)), [""; 0]);
    refill.push(Cued::Refill(second));
    refill.end();
    assert_eq!(player.advance(2), ["refill 1100 b", "msg 1000"]);

    let unpaced = Options {
        pace: Pace::Max,
        ..quiet()
    };
    let mut player = Fed::new(unpaced);
    player.apply(0, Command::Mute(B));
    let (_, feed) = player.asked();
    player.apply(0, Command::Unmute(B));
    let (_, refill) = player.asked();
    feed.end();
    assert_eq!(player.advance(1), [""; 0]);
    assert_ne!(player.machine.state(), State::Stopped);
    refill.push(Cued::Refill(first));
    refill.end();
    assert_eq!(player.advance(2), ["refill 1000", "gen 0 held 2000"]);
    assert_eq!(player.machine.state(), State::Stopped);
}

#[test]
fn a_jump_cancels_or_restarts_the_refill_of_an_unmuted_topic() {
    let refills = Options {
        refill: true,
        ..paused()
    };
    let mut player = Fed::new(refills);
    player.apply(0, Command::Mute(B));
    let (_, _feed) = player.asked();
    player.apply(0, Command::Unmute(B));
    let (_, refill) = player.asked();
    player.machine.apply(Command::Seek(ros(1500)), wall(1));
    // Nothing of the old cue can arrive any more.
    assert!(!refill.push(Cued::Refill(messages(&[1000]).remove(0))));
    assert_eq!(player.advance(1), ["gen 1 held 1500"]);
    let (at, _feed) = player.asked();
    assert_eq!(
        (at.from, at.refill, at.only),
        (StartAt::At(ros(1500)), true, None)
    );
    assert!(player.cues.try_recv().is_err());
    // Reversing sends no refills.
    player.apply(2, Command::Mute(B));
    player.apply(2, Command::Unmute(B));
    let (_, refill) = player.asked();
    player.apply(3, pace(-1.0));
    assert!(!refill.push(Cued::Refill(messages(&[1000]).remove(0))));
    let (at, _feed) = player.asked();
    assert_eq!(
        (at.direction, at.refill, at.only),
        (Direction::Reverse, false, None)
    );
    let (at, refill) = player.asked();
    assert_eq!(
        (at.from, at.refill, at.only),
        (StartAt::At(ros(1500)), true, Some(B))
    );
    // Muted again before the refill was sent.
    player.apply(4, Command::Mute(B));
    assert!(!refill.push(Cued::Refill(messages(&[1000]).remove(0))));
}

#[test]
fn unmuted_topics_are_refilled_one_at_a_time_after_the_gates_open() {
    let gated = Options {
        gates: Gates::OPEN.close(Gate::Subscribers),
        ..quiet()
    };
    let mut player = Fed::new(gated);
    for topic in [A, B] {
        player.apply(0, Command::Mute(topic));
        player.apply(0, Command::Unmute(topic));
    }
    let (_, _feed) = player.asked();
    assert!(player.cues.try_recv().is_err());
    player.machine.gates().open(Gate::Subscribers);
    player.advance(1);
    let (at, refill) = player.asked();
    assert_eq!(at.only, Some(A));
    assert!(player.cues.try_recv().is_err());
    refill.end();
    player.advance(2);
    assert_eq!(player.asked().0.only, Some(B));
}

#[test]
fn steps_skip_muted_messages_in_both_directions() {
    check_all(
        paused(),
        mixed(&[
            (1000, 0),
            (1100, 1),
            (1200, 1),
            (1300, 0),
            (1400, 1),
            (1500, 0),
        ]),
        &[
            (0, Command::Mute(B)),
            (10, Command::Step(2)),
            (20, Command::Step(1)),
            (30, Command::Step(-1)),
            (40, Command::Step(-5)),
            (50, Command::Stop),
        ],
        "
        0 gen 0 held 1000
        10 msg 1000
        10 gen 0 held 1100
        10 gen 0 held 1200
        10 gen 0 held 1300
        10 msg 1300
        20 gen 0 held 1400
        20 gen 0 held 1500
        20 msg 1500
        30 gen 1 held 1300
        30 msg 1300
        40 gen 2 held 1000
        40 msg 1000",
    );
}

#[test]
fn a_step_back_goes_before_the_last_message_that_was_sent() {
    check_all(
        paused(),
        mixed(&[(1000, 0), (1100, 0), (1200, 1), (1300, 0)]),
        &[
            (10, Command::Step(2)),
            (20, Command::Mute(B)),
            // Past muted messages, up to the time of `PlayUntil`.
            (30, Command::PlayUntil(ros(1250))),
            (300, Command::Step(-1)),
            (310, Command::Stop),
        ],
        "
        0 gen 0 held 1000
        10 msg 1000
        10 gen 0 held 1100
        10 msg 1100
        30 gen 0 held 1100
        30 gen 0 rolls 1100 ×1
        180 gen 0 held 1250
        300 gen 1 held 1000
        300 msg 1000",
    );
}

#[test]
fn a_step_by_topic_plays_the_messages_before_its_target() {
    check_all(
        paused(),
        mixed(&[
            (1000, 0),
            (1100, 1),
            (1200, 0),
            (1200, 1),
            (1300, 0),
            (1400, 1),
        ]),
        &[
            (10, Command::StepTopic(B, 2)),
            (20, Command::StepTopic(B, 1)),
            (30, Command::StepTopic(B, 1)),
            (35, Command::StepTopic(TopicId(77), 1)),
            (40, Command::StepTopic(B, -1)),
            (50, Command::StepTopic(A, -1)),
            (55, Command::StepTopic(A, -9)),
            // The last message.
            (60, Command::StepTopic(B, 9)),
            (70, Command::StepTopic(B, 0)),
            (80, Command::Stop),
        ],
        "
        0 gen 0 held 1000
        10 msg 1000
        10 gen 0 held 1100
        10 msg 1100 b
        10 gen 0 held 1200
        10 msg 1200
        10 msg 1200 b
        20 gen 0 held 1300
        20 msg 1300
        20 gen 0 held 1400
        20 msg 1400 b
        40 gen 1 held 1200
        40 msg 1200 b
        50 gen 2 held 1200
        50 msg 1200
        55 gen 3 held 1000
        55 msg 1000
        60 gen 3 held 1100
        60 msg 1100 b
        60 gen 3 held 1200
        60 msg 1200
        60 msg 1200 b
        60 gen 3 held 1300
        60 msg 1300
        60 gen 3 held 1400
        60 msg 1400 b",
    );
}

#[test]
fn a_step_by_topic_follows_the_direction_of_play_and_pauses() {
    let backwards = Options {
        pace: Pace::At(Speed::from_f64(-1.0).unwrap()),
        intent: Intent::Play,
        ..paused()
    };
    let machine = check_all(
        backwards,
        mixed(&[(1000, 1), (1200, 0), (1800, 1), (1900, 0)]),
        &[
            (150, Command::StepTopic(B, 1)),
            (160, Command::StepTopic(B, 1)),
            (170, Command::StepTopic(B, -1)),
        ],
        "
        0 gen 0 held 2000
        0 gen 0 rolls 2000 ×-1
        100 msg 1900
        150 gen 0 held 1850
        150 gen 0 held 1800
        150 msg 1800 b
        160 gen 0 held 1200
        160 msg 1200
        160 gen 0 held 1000
        160 msg 1000 b
        170 gen 1 held 1800
        170 msg 1800 b",
    );
    assert_eq!(machine.state(), State::Paused);
    assert!(!machine.is_stepping());
}

#[test]
fn a_step_by_topic_does_not_pass_the_time_of_play_until() {
    check_all(
        paused(),
        mixed(&[(1000, 0), (1200, 1), (1220, 0), (1300, 1)]),
        &[
            (0, Command::PlayUntil(ros(1250))),
            (10, Command::StepTopic(B, 1)),
            // No message of the topic is left before the time of `PlayUntil`.
            (20, Command::StepTopic(B, 1)),
        ],
        "
        0 gen 0 held 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        10 gen 0 held 1010
        10 gen 0 held 1200
        10 msg 1200 b",
    );
}

#[test]
fn nothing_is_sent_until_a_step_by_topic_has_found_its_message() {
    let mut player = Fed::new(paused());
    player.advance(0);
    let (_, feed) = player.asked();
    let all = mixed(&[(1000, 0), (1100, 1), (1200, 0), (1300, 1)]);
    for message in all.clone() {
        feed.push(Cued::Message(message));
    }
    assert_eq!(player.apply(1, Command::StepTopic(B, 1)), [""; 0]);
    assert!(player.machine.is_stepping());
    let (at, search) = player.asked();
    assert_eq!(
        (at.from, at.direction, at.refill, at.only),
        (StartAt::At(ros(1000)), Direction::Forward, false, Some(B))
    );
    // Requested again meanwhile: one step further, without another search.
    assert_eq!(player.apply(2, Command::StepTopic(B, 1)), [""; 0]);
    assert!(player.cues.try_recv().is_err());
    search.push(Cued::Message(all[1].clone()));
    assert_eq!(player.advance(3), [""; 0]);
    // A command that does not affect the search does not cancel it.
    player.apply(3, Command::Query);
    player.apply(3, Command::Mute(TopicId(2)));
    assert!(search.push(Cued::Message(all[3].clone())));
    let sent = player.advance(4);
    assert_eq!(sent.last().map(String::as_str), Some("msg 1300 b"));
    assert!(!player.machine.is_stepping());

    for cancel in [
        Command::Pause,
        Command::Play,
        Command::Step(0),
        Command::StepTopic(B, 0),
        Command::StepTopic(A, 1),
        Command::Seek(ros(1500)),
        Command::PlayUntil(ros(1900)),
    ] {
        let mut player = Fed::new(paused());
        player.advance(0);
        let _feed = player.asked();
        player.apply(0, Command::StepTopic(B, 1));
        let (_, search) = player.asked();
        player.machine.apply(cancel, wall(1));
        assert!(!search.push(Cued::Message(all[1].clone())), "{cancel:?}");
        let is_other = matches!(cancel, Command::StepTopic(A, _));
        assert_eq!(player.machine.is_stepping(), is_other, "{cancel:?}");
    }
}

#[test]
fn steps_back_requested_during_a_search_add_up() {
    let all = mixed(&[(1000, 1), (1100, 0), (1200, 1), (1300, 0), (1400, 1)]);
    let steps = [
        (Command::Step(-1), Command::Step(-2), 1100),
        (Command::StepTopic(B, -1), Command::StepTopic(B, -1), 1000),
    ];
    for (first, second, expected) in steps {
        let mut player = Fed::new(paused());
        player.advance(0);
        let (_, feed) = player.asked();
        for message in all.clone() {
            feed.push(Cued::Message(message));
        }
        player.apply(0, Command::Step(5));
        player.apply(1, first);
        let (at, search) = player.asked();
        player.apply(2, second);
        assert!(player.cues.try_recv().is_err(), "{second:?}");
        let mut sent = Vec::new();
        for message in all[..4].iter().rev() {
            if at.only.is_none_or(|topic| message.topic == topic) {
                search.push(Cued::Message(message.clone()));
                sent.extend(player.advance(3));
            }
        }
        let target = sent.iter().find(|line| line.starts_with("msg"));
        let is_expected = target.is_some_and(|line| line.contains(&expected.to_string()));
        assert!(is_expected, "{second:?}: {sent:?}");
        assert!(!player.machine.is_stepping());
    }
    // A step by another topic or of all topics starts another search, as does the other direction.
    for other in [
        Command::StepTopic(A, -1),
        Command::StepTopic(B, 1),
        Command::Step(-1),
    ] {
        let mut player = Fed::new(paused());
        player.advance(0);
        let _feed = player.asked();
        player.apply(0, Command::StepTopic(B, -1));
        let (_, search) = player.asked();
        player.apply(1, other);
        assert!(!search.push(Cued::Message(all[0].clone())), "{other:?}");
        assert!(player.cues.try_recv().is_ok(), "{other:?}");
    }
}

#[test]
fn a_step_back_by_topic_goes_before_its_last_played_message_even_if_that_was_muted() {
    let all = mixed(&[(1000, 1), (1100, 0), (1200, 1), (1250, 0), (1300, 0)]);
    check_all(
        paused(),
        all,
        &[
            (0, Command::Mute(A)),
            (10, Command::Step(1)),
            (20, Command::StepTopic(A, 3)),
            (30, Command::StepTopic(A, -1)),
            (40, Command::StepTopic(A, 1)),
            (50, Command::StepTopic(A, -1)),
            (60, Command::Step(-1)),
            (70, Command::Stop),
        ],
        "
        0 gen 0 held 1000
        10 msg 1000 b
        20 gen 0 held 1100
        20 gen 0 held 1200
        20 msg 1200 b
        20 gen 0 held 1250
        20 gen 0 held 1300
        30 gen 1 held 1250
        40 gen 1 held 1300
        50 gen 2 held 1250
        60 gen 3 held 1200
        60 msg 1200 b",
    );
}

#[test]
fn a_step_back_does_not_skip_a_message_at_the_time_of_a_muted_one() {
    check_all(
        paused(),
        mixed(&[(1000, 1), (1200, 1), (1200, 0), (1300, 0)]),
        &[
            (0, Command::Mute(A)),
            (20, Command::StepTopic(A, 2)),
            (30, Command::StepTopic(A, -1)),
            (40, Command::Step(-1)),
            (50, Command::Stop),
        ],
        "
        0 gen 0 held 1000
        20 msg 1000 b
        20 gen 0 held 1200
        20 msg 1200 b
        20 gen 0 held 1300
        30 gen 1 held 1200
        40 gen 2 held 1200
        40 msg 1200 b",
    );
}

#[test]
fn a_step_back_goes_before_the_last_sent_message_although_a_later_time_was_played() {
    let mut player = Fed::new(paused());
    player.apply(0, Command::Mute(B));
    let (_, feed) = player.asked();
    let all = mixed(&[(1000, 0), (1500, 1), (1200, 0), (1300, 0)]);
    for message in all.clone() {
        feed.push(Cued::Message(message));
    }
    player.apply(0, Command::Step(2));
    player.apply(1, Command::Step(-1));
    let (at, _look) = player.asked();
    assert_eq!(at.from, StartAt::After(all[2].key));
}

#[test]
fn a_step_back_waits_for_the_refill_of_an_unmuted_topic() {
    let mut player = Fed::new(paused());
    player.apply(0, Command::Mute(B));
    let (_, feed) = player.asked();
    let all = mixed(&[(1000, 0), (1100, 1), (1200, 0)]);
    for message in all.clone() {
        feed.push(Cued::Message(message));
    }
    player.apply(0, Command::Step(2));
    player.apply(1, Command::Unmute(B));
    let (_, refill) = player.asked();
    player.apply(2, Command::Step(-1));
    let (_, search) = player.asked();
    search.push(Cued::Message(all[1].clone()));
    assert_eq!(player.advance(3), [""; 0]);
    assert!(player.machine.is_stepping());
    refill.push(Cued::Refill(all[1].clone()));
    refill.end();
    assert_eq!(
        player.advance(4),
        ["refill 1100 b", "gen 1 held 1100", "msg 1100 b"]
    );
}

#[test]
fn a_step_by_topic_requested_during_another_continues_from_it() {
    let all = mixed(&[(1000, 0), (1100, 1), (1200, 0), (1300, 1), (1400, 1)]);
    let mut machine = playing(paused(), all);
    let mut seen = Vec::new();
    let mut out = Recording(|event| seen.push(line(&event)));
    machine.apply(Command::StepTopic(B, 1), wall(0));
    let mut calls = 0;
    let mut is_asked = false;
    while machine.advance(wall(0), &mut out) == Wait::Now {
        calls += 1;
        if machine.report().sent == 1 && !std::mem::replace(&mut is_asked, true) {
            machine.apply(Command::StepTopic(B, 1), wall(0));
        }
        assert!(calls < 100);
    }
    assert!(!machine.is_stepping());
    assert_eq!(seen.last().map(String::as_str), Some("msg 1300 b"));
    assert_eq!(machine.report().sent, 4);
}

#[test]
fn the_digest_includes_repeated_messages_and_excludes_landings() {
    let all = mixed(&[(1000, 0), (1100, 0), (1200, 1), (1300, 0)]);
    let options = Options {
        digest: true,
        ..paused()
    };
    let mut machine = playing(options, all.clone());
    machine.apply(Command::Mute(B), wall(0));
    for step in [3, -1, 1] {
        machine.apply(Command::Step(step), wall(0));
        while machine.advance(wall(0), &mut Null) == Wait::Now {}
    }
    assert_eq!(machine.report().sent, 5);
    let mut played = Digest::default();
    for i in [0, 1, 3, 3] {
        played.add("/a", &all[i]);
    }
    let digest = machine.report().digest.as_ref().map(Digest::hex);
    assert_eq!(digest, Some(played.hex()));
}

/// An output that drops every message; the topics of the messages that it was given.
struct DropsAll(Vec<TopicId>);

impl Output for DropsAll {
    fn segment(&mut self, _: &Segment) {}
    fn clock(&mut self, _: Time<Ros>) {}
    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        period.is_some()
    }
    fn message(&mut self, message: &Message, _: Occasion) -> Delivery {
        self.0.push(message.topic);
        Delivery::Dropped
    }
    fn finish(&mut self) {}
}

#[test]
fn the_digest_covers_only_messages_that_the_output_took() {
    let all = mixed(&[(1000, 0), (1100, 1)]);
    let options = Options {
        digest: true,
        ..paused()
    };
    let mut machine = playing(options, all);
    machine.apply(Command::Step(2), wall(0));
    let mut out = DropsAll(Vec::new());
    while machine.advance(wall(0), &mut out) == Wait::Now {}
    assert_eq!(out.0, [A, B]);
    let digest = machine.report().digest.as_ref().map(Digest::hex);
    assert_eq!(digest, Some(Digest::default().hex()));
}

#[test]
fn muted_messages_do_not_count_as_dropped() {
    let all = mixed(&[(1000, 0), (1000, 1)]);
    let mut machine = playing(paused(), all);
    machine.apply(Command::Mute(B), wall(0));
    machine.apply(Command::Step(5), wall(0));
    let mut out = DropsAll(Vec::new());
    while machine.advance(wall(0), &mut out) == Wait::Now {}
    let counts = machine.report().topics();
    assert_eq!((counts[0].dropped, counts[0].muted), (1, 0));
    assert_eq!((counts[1].dropped, counts[1].muted), (0, 1));
    assert_eq!(out.0, [A]);
}

#[test]
fn refills_that_the_output_cannot_take_count_as_dropped() {
    let options = Options {
        refill: true,
        ..quiet()
    };
    let mut machine = playing(options, mixed(&[(1000, 0), (1300, 1), (1900, 0)]));
    let mut out = DropsAll(Vec::new());
    while machine.advance(wall(0), &mut out) == Wait::Now {}
    machine.apply(Command::Seek(ros(1850)), wall(100));
    while machine.advance(wall(100), &mut out) == Wait::Now {}
    assert_eq!(out.0, [A, B]);
    let counts = machine.report().topics()[1];
    assert_eq!((counts.refilled, counts.dropped), (0, 1));
}

#[test]
fn a_loop_goes_on_with_all_topics_muted() {
    let all = mixed(&[(1000, 1), (2000, 1)]);
    let looped = Options {
        played: PlayedRange::new(TimeRange::between(ros(1000), ros(2000)), AtEnd::Loop),
        ..quiet()
    };
    let mut machine = playing(looped, all);
    machine.apply(Command::Mute(B), wall(0));
    for now in [0, 1000, 2000, 3000] {
        while machine.advance(wall(now), &mut Null) == Wait::Now {}
    }
    assert_eq!((machine.report().laps, machine.report().sent), (3, 0));
    assert_eq!(machine.report().topics()[1].muted, 7);
}
