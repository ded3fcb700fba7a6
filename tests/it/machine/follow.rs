//! Playback that follows another clock: a message is sent when that clock has reached its time, never before.

use std::thread;

use bagplay::bag::{Cue, Cued, TopicId};
use bagplay::output::{Event, Null, Occasion, Recording};
use bagplay::player::{
    Command, Intent, Machine, Options, Outcome, Pace, PlayedRange, Player, Refusal, Short, Source,
    State, Ticket, WhenDone,
};
use bagplay::time::{AtEnd, Segment, Speed, Time, TimeRange};
use proptest::prelude::*;

use crate::machine::transcript::{
    Act, NAMES, check_acts, cue, messages, playing, quiet, ros, settle, span, wall,
};
use crate::support::patience::PATIENCE;

fn following() -> Options {
    Options {
        pace: Pace::Follow,
        ..quiet()
    }
}

/// A clock with only this value known, in milliseconds; `generation` counts its jumps.
fn shows(generation: u64, ms: i64) -> Segment {
    let all = TimeRange::between(Time::MIN, Time::MAX);
    let mut lead = Segment::new(all, Speed::NORMAL, AtEnd::Hold);
    for _ in 0..=generation {
        lead = lead.seek(ros(ms));
    }
    lead
}

/// The same, but since `since` it has moved on at this speed.
fn moves(generation: u64, ms: i64, speed: f64, since: i64) -> Segment {
    let speed = Speed::from_f64(speed).unwrap();
    let lead = shows(generation, ms).with_speed(speed, wall(since));
    lead.roll(wall(since))
}

#[test]
fn messages_are_sent_as_soon_as_the_clock_shows_their_time() {
    let machine = check_acts(
        following(),
        messages(&[1000, 1100, 1200, 1900]),
        &[
            (10, Act::Lead(shows(0, 1000))),
            (20, Act::Lead(shows(0, 1099))),
            (30, Act::Lead(shows(0, 1250))),
            // The same value again, and an earlier one that is no jump.
            (40, Act::Lead(shows(0, 1250))),
            (50, Act::Lead(shows(0, 1240))),
            (60, Act::Lead(shows(0, 1999))),
            (70, Act::Lead(shows(0, 2000))),
        ],
        |_, _| (),
        "
        0 gen 0 held 1000
        10 gen 1 held 1000
        10 msg 1000
        20 gen 1 held 1099
        30 gen 1 held 1100
        30 msg 1100
        30 gen 1 held 1200
        30 msg 1200
        30 gen 1 held 1250
        60 gen 1 held 1900
        60 msg 1900
        60 gen 1 held 1999
        70 gen 1 held 2000",
    );
    assert_eq!(machine.state(), State::Stopped);
    assert_eq!(
        (machine.report().sent, machine.report().lateness.late()),
        (4, 0)
    );
}

#[test]
fn between_values_of_the_clock_messages_are_sent_where_it_is_known_to_be() {
    check_acts(
        following(),
        messages(&[1000, 1100, 1200, 1900]),
        &[
            (100, Act::Lead(moves(0, 1050, 2.0, 100))),
            // At half speed from here on, then it stands.
            (150, Act::Lead(moves(0, 1150, 0.5, 150))),
            (270, Act::Lead(shows(0, 1210))),
            (400, Act::Do(Command::Stop)),
        ],
        |_, _| (),
        "
        0 gen 0 held 1000
        100 gen 1 held 1050
        125 gen 1 held 1100
        125 msg 1100
        150 gen 1 held 1150
        250 gen 1 held 1200
        250 msg 1200
        270 gen 1 held 1210",
    );
}

#[test]
fn playback_begins_where_the_clock_is_and_a_jump_of_it_is_a_jump_here() {
    check_acts(
        Options {
            refill: true,
            ..following()
        },
        messages(&[1000, 1200, 1300, 1400, 1900]),
        &[
            (10, Act::Lead(shows(0, 1250))),
            (20, Act::Lead(shows(0, 1300))),
            // Back, and ahead.
            (30, Act::Lead(shows(1, 1250))),
            (40, Act::Lead(shows(2, 1500))),
            (50, Act::Do(Command::Stop)),
        ],
        |_, _| (),
        "
        0 gen 0 held 1000
        10 gen 1 held 1250
        10 refill 1200
        20 gen 1 held 1300
        20 msg 1300
        30 gen 2 held 1250
        30 refill 1200
        40 gen 3 held 1500
        40 refill 1400",
    );
}

#[test]
fn after_a_jump_nothing_is_missed_although_the_clock_has_moved_on_before_it_is_read() {
    let mut machine = playing(following(), messages(&[1000, 1100, 1200, 1300]));
    machine.lead().set(shows(0, 1000));
    machine.lead().set(shows(0, 1050));
    assert_eq!(
        settle(&mut machine, wall(0)).0[..2],
        ["gen 1 held 1000", "msg 1000"]
    );
    machine.lead().set(shows(1, 1100));
    machine.lead().set(shows(1, 1250));
    let (seen, _) = settle(&mut machine, wall(10));
    let sent: Vec<_> = seen.iter().filter(|line| line.starts_with("msg")).collect();
    assert_eq!(sent, ["msg 1100", "msg 1200"]);
    assert_eq!(machine.report().jumps, 2);
}

#[test]
fn a_clock_that_runs_backwards_is_followed_backwards() {
    check_acts(
        following(),
        messages(&[1000, 1200, 1300]),
        &[
            (0, Act::Lead(shows(0, 1250))),
            (100, Act::Lead(moves(1, 1250, -1.0, 100))),
            (
                400,
                Act::Lead(shows(1, 950).with_speed(Speed::NORMAL.reversed(), wall(0))),
            ),
        ],
        |_, _| (),
        "
        0 gen 1 held 1250
        100 gen 3 held 1250
        150 gen 3 held 1200
        150 msg 1200
        350 gen 3 held 1000
        350 msg 1000",
    );
}

#[test]
fn without_a_known_clock_playback_is_held_and_what_was_missed_is_sent_afterwards() {
    let mut machine = playing(following(), messages(&[1000, 1100, 1200, 1900]));
    settle(&mut machine, wall(0));
    assert_eq!(machine.state(), State::Gated);
    machine.lead().set(moves(0, 1000, 1.0, 0));
    settle(&mut machine, wall(0));
    assert_eq!(machine.state(), State::Playing);
    machine.lead().lose();
    assert_eq!(settle(&mut machine, wall(150)).0, [""; 0]);
    assert_eq!(machine.state(), State::Gated);
    machine.lead().set(moves(0, 1000, 1.0, 0));
    let (seen, _) = settle(&mut machine, wall(160));
    assert_eq!(seen, ["gen 1 held 1100", "msg 1100", "gen 1 held 1160"]);
}

#[test]
fn what_was_paused_before_it_followed_the_clock_joins_it_when_played() {
    check_acts(
        Options {
            intent: Intent::Pause,
            ..quiet()
        },
        messages(&[1000, 1100, 1200, 1900]),
        &[
            (0, Act::Lead(moves(0, 1000, 1.0, 0))),
            // It pauses at 1100, but not while it follows a clock.
            (10, Act::Do(Command::PlayUntil(ros(1100)))),
            (20, Act::Do(Command::Step(1))),
            (50, Act::Do(Command::SetPace(Pace::Follow))),
            (150, Act::Do(Command::Play)),
            (250, Act::Do(Command::Stop)),
        ],
        |_, _| (),
        "
        0 gen 0 held 1000
        10 gen 0 held 1000
        10 gen 0 rolls 1000 ×1
        10 msg 1000
        20 gen 0 held 1010
        20 gen 0 held 1100
        20 msg 1100
        50 gen 0 held 1100
        150 gen 1 held 1150
        200 gen 1 held 1200
        200 msg 1200
        250 gen 1 held 1250",
    );
}

#[test]
fn steps_that_are_left_are_given_up_for_the_clock() {
    let (feed, first) = Cue::channel();
    feed.push(Cued::Message(messages(&[1000]).remove(0)));
    let mut cues = vec![first];
    let mut machine = Machine::new(
        Options {
            intent: Intent::Pause,
            ..quiet()
        },
        Source::new(["/a"], move |_| cues.pop().unwrap()),
    );
    machine.lead().set(shows(0, 1000));
    machine.ask(Command::Step(3), Ticket(1), wall(0));
    assert_eq!(settle(&mut machine, wall(0)).0.last().unwrap(), "msg 1000");
    machine.apply(Command::SetPace(Pace::Follow), wall(1));
    let (sent, short) = (1, Some(Short::Replaced));
    let outcome = Outcome::Stepped { sent, short };
    assert_eq!(machine.answer(), Some((Ticket(1), outcome)));
    feed.push(Cued::Message(messages(&[1100]).remove(0)));
    assert_eq!(settle(&mut machine, wall(2)).0, [""; 0]);
}

/// Commands that would move or hold playback.
fn moving_commands() -> Vec<Command> {
    vec![
        Command::Play,
        Command::PlayAt(wall(0)),
        Command::PlayFrom {
            from: ros(1500),
            until: None,
        },
        Command::Pause,
        Command::Toggle,
        Command::SetPace(Pace::At(Speed::NORMAL)),
        Command::SetPace(Pace::Max),
        Command::Seek(ros(1500)),
        Command::SeekBy(span(-500)),
        Command::Step(1),
        Command::Step(-1),
        Command::Burst(5),
        Command::StepTopic(TopicId(0), 1),
        Command::PlayUntil(ros(1800)),
        Command::PlayFor(span(100)),
        Command::SetRange(TimeRange::between(ros(1100), ros(1200)), None),
        Command::SetAtEnd(AtEnd::Loop),
        Command::SetLoop(TimeRange::between(ros(1100), ros(1200))),
        Command::EndLoop,
        Command::ServeClock(span(10)),
        Command::EndClock,
        Command::SkipEmpty(None),
    ]
}

#[test]
fn a_follower_refuses_what_would_move_it_wherever_it_is() {
    let options = Options {
        when_done: WhenDone::Stay,
        ..following()
    };
    let mut machine = playing(options, messages(&[1000, 1100, 1900]));
    let outcome = |machine: &mut Machine, command, at| {
        machine.ask(command, Ticket(1), wall(at));
        machine.answer().expect("an answer").1
    };
    let clock = [None, Some(shows(0, 1050)), None, Some(shows(0, 2500))];
    for (at, lead) in (0..).zip(clock) {
        match lead {
            Some(lead) => machine.lead().set(lead),
            None => machine.lead().lose(),
        }
        settle(&mut machine, wall(at));
        let before = machine.status();
        for command in moving_commands() {
            let refused = Outcome::Refused(Refusal::Following);
            assert_eq!(outcome(&mut machine, command, at), refused, "{command:?}");
            assert_eq!(settle(&mut machine, wall(at)).0, [""; 0], "{command:?}");
            assert_eq!(machine.status(), before, "{command:?}");
        }
        for command in [
            Command::Mute(TopicId(0)),
            Command::Unmute(TopicId(0)),
            Command::SetPace(Pace::Follow),
            Command::Query,
        ] {
            assert_eq!(outcome(&mut machine, command, at), Outcome::Done);
            settle(&mut machine, wall(at));
        }
    }
    assert_eq!(machine.state(), State::Ended);
    let stopped = outcome(&mut machine, Command::Stop, 9);
    assert_eq!((stopped, machine.state()), (Outcome::Done, State::Stopped));
}

#[test]
fn a_refusal_names_the_clock() {
    let player = Player::new();
    let lead = player.transport().lead().clone();
    assert_eq!(lead.name(), None);
    lead.set_name("/clock of /simulator");
    let name = player.transport().lead().name();
    assert_eq!(
        Refusal::Following.in_words(name.as_deref()),
        "playback follows /clock of /simulator, which alone moves it"
    );
    assert_eq!(
        Refusal::Over.in_words(name.as_deref()),
        Refusal::Over.to_string()
    );
}

#[test]
fn the_end_is_reached_when_the_clock_passes_it_and_a_jump_back_leaves_it() {
    let options = Options {
        when_done: WhenDone::Stay,
        // Only the clock can loop.
        played: PlayedRange::new(quiet().recording, AtEnd::Loop),
        ..following()
    };
    let mut machine = playing(options, messages(&[1000, 1900]));
    machine.lead().set(shows(0, 5000));
    settle(&mut machine, wall(0));
    assert_eq!(machine.state(), State::Ended);
    assert_eq!(machine.report().sent, 0);
    machine.lead().set(shows(1, 1500));
    settle(&mut machine, wall(1));
    assert_eq!(machine.state(), State::Playing);
    machine.lead().set(shows(1, 1950));
    let (seen, _) = settle(&mut machine, wall(2));
    assert_eq!(seen, ["gen 2 held 1900", "msg 1900", "gen 2 held 1950"]);
}

#[test]
fn a_start_that_was_set_joins_the_clock_where_it_is_then() {
    check_acts(
        Options {
            intent: Intent::Pause,
            ..following()
        },
        messages(&[1000, 1100, 1200, 1900]),
        &[
            (0, Act::Lead(shows(0, 1000))),
            (10, Act::Do(Command::PlayAt(wall(50)))),
            (20, Act::Lead(shows(0, 1150))),
            (60, Act::Lead(shows(0, 1250))),
            (70, Act::Do(Command::Stop)),
        ],
        |_, _| (),
        "
        0 gen 0 held 1000
        50 gen 1 held 1150
        60 gen 1 held 1200
        60 msg 1200
        60 gen 1 held 1250",
    );
}

/// To follow a clock is to wait for it: a start that was set before does not come.
#[test]
fn a_start_that_was_set_is_dropped_by_a_player_that_begins_to_follow() {
    let options = Options {
        intent: Intent::Pause,
        ..quiet()
    };
    let mut machine = playing(options, messages(&[1000, 1100, 1900]));
    settle(&mut machine, wall(0));
    machine.apply(Command::PlayAt(wall(50)), wall(0));
    machine.apply(Command::SetPace(Pace::Follow), wall(10));
    machine.lead().set(shows(0, 1500));
    settle(&mut machine, wall(10));
    assert_eq!(settle(&mut machine, wall(60)).0, [""; 0]);
    assert_eq!(machine.state(), State::Paused);
}

/// A clock that stands at the end may be about to run backwards.
#[test]
fn a_clock_that_stands_at_the_end_from_the_start_has_not_passed_it() {
    let all = messages(&[1000, 1900, 2000]);
    let mut machine = playing(following(), all.clone());
    machine.lead().set(shows(0, 2000));
    settle(&mut machine, wall(0));
    assert_eq!(machine.state(), State::Ended);
    machine.lead().set(moves(1, 2000, -1.0, 10));
    settle(&mut machine, wall(10));
    let (seen, _) = settle(&mut machine, wall(150));
    assert!(seen.contains(&"msg 1900".to_owned()), "{seen:?}");
    machine.lead().set(moves(1, 1900, -1.0, 110));
    settle(&mut machine, wall(1500));
    assert_eq!(machine.state(), State::Stopped);
    // One that moves up to the end, or is past it, has passed it.
    for shown in [&[1500, 2000][..], &[2001]] {
        let mut machine = playing(following(), all.clone());
        for (at, ms) in (0..).zip(shown) {
            machine.lead().set(shows(0, *ms));
            settle(&mut machine, wall(at));
        }
        assert_eq!(machine.state(), State::Stopped, "{shown:?}");
    }
}

#[test]
fn a_player_with_a_pace_of_its_own_can_begin_to_follow() {
    check_acts(
        quiet(),
        messages(&[1000, 1100, 1200, 1300, 1900]),
        &[
            (50, Act::Do(Command::SetPace(Pace::Follow))),
            (150, Act::Lead(shows(0, 1200))),
            (200, Act::Do(Command::SetPace(Pace::At(Speed::NORMAL)))),
            (310, Act::Do(Command::Stop)),
        ],
        |_, _| (),
        "
        0 gen 0 held 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        50 gen 0 held 1050
        150 gen 1 held 1200
        150 msg 1200",
    );
}

proptest! {
    /// Whatever the clock does, and whatever commands come: no message is ahead of the clock that is followed.
    #[test]
    fn no_message_is_ahead_of_the_clock(
        times in proptest::collection::vec(1000..2000_i64, 1..20),
        acts in proptest::collection::vec((0..1000_i64, prop_oneof![
            (0..4_u64, 900..2100_i64).prop_map(|(generation, ms)| Act::Lead(shows(generation, ms))),
            (0..4_u64, 900..2100_i64, 0..1000_i64, 1..50_u8).prop_map(|(generation, ms, since, tenths)| {
                Act::Lead(moves(generation, ms, f64::from(tenths) / 10.0, since))
            }),
            Just(Act::LoseLead),
            proptest::sample::select(moving_commands()).prop_map(Act::Do),
        ]), 1..20),
    ) {
        let (mut times, mut acts) = (times, acts);
        times.sort_unstable();
        acts.sort_by_key(|(at, _)| *at);
        let mut machine = playing(following(), messages(&times));
        let mut lead: Option<Segment> = None;
        for (at, act) in acts {
            act.on(&mut machine, wall(at));
            match act {
                Act::Lead(it) => lead = Some(it),
                Act::LoseLead => lead = None,
                _ => {}
            }
            for _ in 0..200 {
                machine.advance(wall(at), &mut Recording(|event| {
                    if let Event::Message(_, time, Occasion::Due) = event {
                        let lead = lead.expect("sent without a clock");
                        assert!(time <= lead.position(wall(at)), "{time} at {lead:?}");
                    }
                }));
            }
        }
    }
}

#[test]
fn the_player_is_woken_by_the_clock_that_it_follows() {
    let player = Player::new();
    let (transport, lead) = (player.transport(), player.transport().lead().clone());
    let all = messages(&(1000..1900).collect::<Vec<_>>());
    let source = Source::new(NAMES, move |at| Cue::from_items(cue(&all, at)));
    let running = player.start(following(), source, Null).unwrap();
    assert_eq!(
        transport.ask(Command::Query).unwrap().status.state,
        State::Gated
    );
    let feeding = thread::spawn(move || {
        for ms in 1000..=2000 {
            lead.set(shows(0, ms));
        }
    });
    let done = running.done().recv_timeout(PATIENCE);
    assert_eq!(done, Err(crossbeam_channel::RecvTimeoutError::Disconnected));
    feeding.join().unwrap();
    // The first value that the player sees is where it begins.
    let (report, _) = running.join().unwrap();
    assert!(report.reached_end);
    assert!(report.sent <= 900);
}
