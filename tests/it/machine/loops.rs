//! The range that is played, and the A–B loop in it.

use std::sync::Arc;

use bagplay::bag::Cue;
use bagplay::output::Null;
use bagplay::player::{
    Command, Intent, Machine, Options, Outcome, Pace, PlayedRange, Player, Refusal, Source, State,
    Ticket,
};
use bagplay::time::{AtEnd, TimeRange};

use crate::machine::transcript::{check, messages, playing, quiet, ros, settle, wall};
use crate::support::patience::PATIENCE;

fn range(from: i64, to: i64) -> TimeRange {
    TimeRange::between(ros(from), ros(to))
}

/// Carries out a command, and tells what is played then.
fn after(machine: &mut Machine, command: Command) -> PlayedRange {
    machine.apply(command, wall(0));
    settle(machine, wall(0));
    let status = machine.status();
    let segment = (status.segment.range(), status.segment.at_end());
    assert_eq!(segment, status.played.current(), "{command:?}");
    status.played
}

const fn looped(played: PlayedRange, ab: TimeRange) -> PlayedRange {
    PlayedRange {
        ab_loop: Some(ab),
        ..played
    }
}

#[test]
fn a_loop_ends_by_a_seek_outside_or_a_command_and_what_was_played_before_is_played_again() {
    for (start, stop, at_end) in [
        (1000, 2000, AtEnd::Hold),
        (1000, 2000, AtEnd::Loop),
        (1100, 1900, AtEnd::Hold),
    ] {
        let played = PlayedRange::new(range(start, stop), at_end);
        let ab = range(1350, 1450);
        // Set by a command, or from the start on.
        for begins_looped in [false, true] {
            let options = Options {
                played: if begins_looped {
                    looped(played, ab)
                } else {
                    played
                },
                ..quiet()
            };
            let mut machine = playing(options, messages(&[1000, 1400, 1900]));
            settle(&mut machine, wall(0));
            if !begins_looped {
                let other = after(&mut machine, Command::SetLoop(range(1300, 1400)));
                assert_eq!(other, looped(played, range(1300, 1400)));
                let set = after(&mut machine, Command::SetLoop(ab));
                assert_eq!(set, looped(played, ab));
            }
            let within = after(&mut machine, Command::Seek(ros(1400)));
            assert_eq!(within, looped(played, ab));
            assert_eq!(after(&mut machine, Command::Seek(ros(1600))), played);
            after(&mut machine, Command::SetLoop(ab));
            assert_eq!(after(&mut machine, Command::EndLoop), played);
            // Without a loop there is nothing to end.
            let before = machine.status();
            assert_eq!(after(&mut machine, Command::EndLoop), played);
            assert_eq!(machine.status(), before);
            let wider = PlayedRange::new(range(start, 2000), at_end);
            assert_eq!(after(&mut machine, Command::Seek(ros(1950))), wider);
        }
    }
}

#[test]
fn a_loop_outside_of_the_range_extends_it_when_it_ends() {
    let played = PlayedRange::new(range(1200, 1500), AtEnd::Loop);
    let options = Options { played, ..quiet() };
    let mut machine = playing(options, messages(&[1000, 1400, 1900]));
    after(&mut machine, Command::SetLoop(range(1700, 1800)));
    let extended = PlayedRange::new(range(1200, 2000), AtEnd::Loop);
    assert_eq!(after(&mut machine, Command::EndLoop), extended);
    // A loop that is longer than the recording is cut.
    let all = after(&mut machine, Command::SetLoop(range(0, 9000)));
    assert_eq!(all, looped(extended, range(1000, 2000)));
}

#[test]
fn during_a_loop_the_exit_edge_of_the_range_can_be_changed_and_another_range_ends_the_loop() {
    let mut machine = playing(quiet(), messages(&[1000, 1400, 1900]));
    let ab = range(1300, 1400);
    after(&mut machine, Command::SetLoop(ab));
    let jumps = machine.report().jumps;
    for at_end in [AtEnd::Loop, AtEnd::Hold, AtEnd::Loop] {
        let whole = PlayedRange::new(range(1000, 2000), at_end);
        let changed = after(&mut machine, Command::SetAtEnd(at_end));
        assert_eq!(changed, looped(whole, ab));
    }
    assert_eq!(machine.report().jumps, jumps);
    let part = PlayedRange::new(range(1100, 1500), AtEnd::Loop);
    assert_eq!(
        after(&mut machine, Command::SetRange(range(1100, 1500), None)),
        part
    );
}

#[test]
fn a_range_or_a_loop_that_is_played_already_is_no_jump() {
    let mut machine = playing(quiet(), messages(&[1000, 1400, 1900]));
    let ab = range(1300, 1400);
    after(&mut machine, Command::SetRange(range(1100, 1900), None));
    let again = Command::SetRange(range(1100, 1900), None);
    let jumps = machine.report().jumps;
    machine.ask(again, Ticket(1), wall(0));
    assert_eq!(machine.answer(), Some((Ticket(1), Outcome::Done)));
    after(&mut machine, Command::SetLoop(ab));
    assert_eq!(machine.report().jumps, jumps + 1);
    after(&mut machine, Command::SetLoop(ab));
    assert_eq!(machine.report().jumps, jumps + 1);
}

#[test]
fn what_is_played_when_a_loop_ends_follows_without_a_message_missed_or_sent_twice() {
    check(
        Options {
            played: looped(
                PlayedRange::new(range(1000, 2000), AtEnd::Hold),
                range(1100, 1300),
            ),
            ..quiet()
        },
        &[1000, 1150, 1250, 1350, 1900],
        &[(180, Command::EndLoop)],
        "
        0 gen 0 held 1100
        0 gen 0 rolls 1100 ×1
        50 msg 1150
        150 msg 1250
        180 gen 1 held 1280
        180 gen 1 rolls 1280 ×1
        250 msg 1350
        800 msg 1900
        900 gen 1 held 2000",
    );
}

/// At unlimited rate a part without messages takes no time; the run must not end because of it.
#[test]
fn a_loop_without_messages_pauses_at_unlimited_rate() {
    let options = Options {
        pace: Pace::Max,
        ..quiet()
    };
    let mut machine = playing(options, messages(&[1000, 1900]));
    machine.apply(Command::Pause, wall(0));
    settle(&mut machine, wall(0));
    machine.apply(Command::SetLoop(range(1300, 1400)), wall(0));
    machine.apply(Command::Play, wall(0));
    settle(&mut machine, wall(0));
    assert_eq!(machine.state(), State::Paused);
    machine.apply(Command::EndLoop, wall(0));
    machine.apply(Command::Play, wall(0));
    let (seen, _) = settle(&mut machine, wall(0));
    assert!(seen.contains(&"msg 1900".to_owned()), "{seen:?}");
}

#[test]
fn another_jump_leaves_the_range_that_was_set_and_its_answer() {
    let source = Source::new(["/a"], |_| Cue::from_items([]));
    let mut machine = Machine::new(quiet(), source);
    let ab = range(1300, 1400);
    machine.ask(Command::SetLoop(ab), Ticket(1), wall(0));
    machine.ask(Command::Seek(ros(1350)), Ticket(2), wall(0));
    assert_eq!(machine.answer(), Some((Ticket(1), Outcome::Done)));
    machine.ask(Command::Seek(ros(1390)), Ticket(3), wall(0));
    let replaced = Outcome::Refused(Refusal::Replaced);
    assert_eq!(machine.answer(), Some((Ticket(2), replaced)));
    assert_eq!(machine.status().played.ab_loop, Some(ab));
}

#[test]
fn a_player_that_begins_to_follow_a_clock_leaves_its_loop() {
    let mut machine = playing(quiet(), messages(&[1000, 1400, 1900]));
    after(&mut machine, Command::SetLoop(range(1300, 1400)));
    let whole = PlayedRange::new(range(1000, 2000), AtEnd::Hold);
    assert_eq!(after(&mut machine, Command::SetPace(Pace::Follow)), whole);
}

/// The segment is the same then, but bars and parameters show it.
#[test]
fn a_change_of_the_exit_edge_during_a_loop_is_told() {
    let player = Player::new();
    let transport = player.transport();
    let looped = Options {
        played: looped(quiet().played, range(1300, 1400)),
        intent: Intent::Pause,
        ..quiet()
    };
    let running = player.start(looped, Source::empty(), Null).unwrap();
    transport.ask(Command::Query).unwrap();
    let (told, changes) = crossbeam_channel::bounded(16);
    transport.on_change(Arc::new(move || _ = told.try_send(())));
    transport.ask(Command::SetAtEnd(AtEnd::Loop)).unwrap();
    changes.recv_timeout(PATIENCE).unwrap();
    transport.send(Command::Stop).unwrap();
    running.join().unwrap();
}
