//! What becomes of commands: the outcome that the machine gives for each, and the answers of the player's thread.

use bagplay::bag::{Cue, CueFeed, Cued, Message, TopicId};
use bagplay::output::Recording;
use bagplay::player::{
    Answer, Command, Gate, Gates, Intent, Machine, Options, Outcome, Player, Refusal, Short,
    Source, State, Ticket, WhenDone,
};
use bagplay::time::{AtEnd, TimeRange};

use crate::machine::transcript::{
    Act, NAMES, cue, messages, pace, playing, quiet, ros, settle, span, wall,
};
use crate::support::patience::until;

const B: TopicId = TopicId(1);

fn paused() -> Options {
    Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        ..quiet()
    }
}

/// Messages of topics 0 and 1 in turn.
fn in_turn(times: &[i64]) -> Vec<Message> {
    let mut all = messages(times);
    for (message, topic) in all.iter_mut().zip([0, 1].into_iter().cycle()) {
        message.topic = TopicId(topic);
    }
    all
}

fn answers(machine: &mut Machine) -> Vec<(u64, Outcome)> {
    std::iter::from_fn(|| machine.answer())
        .map(|(Ticket(ticket), outcome)| (ticket, outcome))
        .collect()
}

fn stepped(sent: u64) -> Outcome {
    Outcome::Stepped { sent, short: None }
}

fn fell_short(sent: u64, short: Short) -> Outcome {
    Outcome::Stepped {
        sent,
        short: Some(short),
    }
}

#[test]
fn a_burst_is_made_only_while_paused() {
    let mut machine = playing(quiet(), messages(&[1000, 1500, 1900]));
    let mut outcome = |command, at: i64| {
        machine.ask(command, Ticket(1), wall(at));
        settle(&mut machine, wall(at));
        machine.answer().map(|(_, outcome)| outcome)
    };
    let not_paused = Some(Outcome::Refused(Refusal::NotPaused));
    assert_eq!(outcome(Command::Burst(1), 0), not_paused);
    // What decides is the state when the command is taken, not when it was sent.
    outcome(Command::Pause, 1);
    let stepped = |sent, short| Some(Outcome::Stepped { sent, short });
    assert_eq!(outcome(Command::Burst(1), 2), stepped(1, None));
    outcome(Command::Play, 3);
    assert_eq!(outcome(Command::Burst(1), 4), not_paused);
    outcome(Command::Pause, 5);
    assert_eq!(
        outcome(Command::Burst(u64::MAX), 6),
        stepped(1, Some(Short::NoneAhead))
    );
}

#[test]
fn every_command_has_its_outcome() {
    use Command as C;
    use Outcome::{Done, Landed, Refused};
    // (the command before it, the command, its outcome)
    let table = [
        (C::Query, C::Query, Done),
        (C::Query, C::Play, Done),
        (C::Query, C::Pause, Done),
        (C::Query, C::Toggle, Done),
        (C::Query, pace(2.0), Done),
        (C::Query, pace(-1.0), Done),
        (C::Query, C::SetAtEnd(AtEnd::Loop), Done),
        (C::Query, C::Mute(B), Done),
        (C::Query, C::Unmute(B), Done),
        (
            C::Query,
            C::Mute(TopicId(77)),
            Refused(Refusal::UnknownTopic),
        ),
        (
            C::Query,
            C::Unmute(TopicId(77)),
            Refused(Refusal::UnknownTopic),
        ),
        (C::Query, C::Seek(ros(1500)), Landed(ros(1500))),
        (C::Query, C::Seek(ros(9000)), Landed(ros(2000))),
        (C::Query, C::Seek(ros(1)), Landed(ros(1000))),
        (C::Seek(ros(1500)), C::SeekBy(span(-100)), Landed(ros(1400))),
        (
            C::Seek(ros(1500)),
            C::SetRange(TimeRange::between(ros(1100), ros(1200)), None),
            Landed(ros(1200)),
        ),
        (
            C::Seek(ros(1500)),
            C::SetLoop(TimeRange::between(ros(1100), ros(1200))),
            Landed(ros(1200)),
        ),
        (C::Query, C::PlayUntil(ros(1500)), Done),
        (C::Query, C::PlayFor(span(1)), Done),
        (C::Query, C::Step(0), stepped(0)),
        (C::Query, C::Step(3), stepped(3)),
        (C::Query, C::Step(4), stepped(4)),
        (C::Query, C::Step(9), fell_short(4, Short::NoneAhead)),
        (C::Query, C::Step(-1), fell_short(0, Short::NoneBehind)),
        (C::Step(4), C::Step(1), fell_short(0, Short::NoneAhead)),
        (C::Step(4), C::Step(-3), stepped(1)),
        (C::Step(4), C::Step(-9), fell_short(1, Short::NoneBehind)),
        (C::Mute(B), C::Step(2), stepped(2)),
        (C::Mute(B), C::Step(9), fell_short(2, Short::NoneAhead)),
        (C::Query, C::StepTopic(B, 0), stepped(0)),
        (C::Query, C::StepTopic(B, 2), stepped(4)),
        (
            C::Query,
            C::StepTopic(B, 9),
            fell_short(4, Short::NoneAhead),
        ),
        (
            C::Query,
            C::StepTopic(TopicId(2), 1),
            fell_short(0, Short::NoneAhead),
        ),
        (C::Step(4), C::StepTopic(B, -1), stepped(1)),
        (
            C::Step(4),
            C::StepTopic(B, -7),
            fell_short(1, Short::NoneBehind),
        ),
        (C::Mute(B), C::StepTopic(B, 2), stepped(2)),
        (C::Query, C::Stop, Done),
        (C::Stop, C::Stop, Refused(Refusal::Over)),
        (C::Stop, C::Play, Refused(Refusal::Over)),
        (C::Stop, C::Step(1), Refused(Refusal::Over)),
    ];
    for (before, command, outcome) in table {
        let mut machine = playing(paused(), in_turn(&[1000, 1100, 1200, 1300]));
        settle(&mut machine, wall(0));
        machine.apply(before, wall(0));
        settle(&mut machine, wall(0));
        machine.ask(command, Ticket(7), wall(0));
        settle(&mut machine, wall(0));
        assert_eq!(
            answers(&mut machine),
            [(7, outcome)],
            "{before:?}, {command:?}"
        );
    }
}

#[test]
fn a_closed_gate_refuses_what_would_be_lost() {
    let no_path = Outcome::Refused(Refusal::NoPath);
    for (gate, command, outcome) in [
        (Gate::Path, Command::Step(1), no_path),
        (Gate::Path, Command::StepTopic(B, -1), no_path),
        (Gate::Subscribers, Command::Step(1), stepped(1)),
        // What is behind a closed gate is not read: the jump itself is the answer.
        (
            Gate::Path,
            Command::Seek(ros(1500)),
            Outcome::Landed(ros(1500)),
        ),
    ] {
        let mut machine = playing(paused(), in_turn(&[1000, 1100, 1200, 1300]));
        settle(&mut machine, wall(0));
        machine.gates().close(gate);
        machine.ask(command, Ticket(7), wall(0));
        settle(&mut machine, wall(0));
        assert_eq!(answers(&mut machine), [(7, outcome)], "{command:?}");
    }
}

#[test]
fn playing_to_a_time_is_refused_at_the_end() {
    let stays = Options {
        when_done: WhenDone::Stay,
        ..quiet()
    };
    let mut machine = playing(stays, messages(&[1000]));
    for now in [0, 1000] {
        settle(&mut machine, wall(now));
    }
    assert_eq!(machine.state(), State::Ended);
    machine.ask(Command::PlayUntil(ros(1500)), Ticket(1), wall(1001));
    let refused = Outcome::Refused(Refusal::AtEnd);
    assert_eq!(answers(&mut machine), [(1, refused)]);
}

#[test]
fn steps_that_wait_together_are_counted_for_each_command() {
    let mut machine = playing(paused(), messages(&[1000, 1100, 1200, 1300]));
    for (ticket, n) in [(1, 1), (2, 2), (3, 5), (4, 1)] {
        machine.ask(Command::Step(n), Ticket(ticket), wall(0));
    }
    settle(&mut machine, wall(0));
    let expected = [
        (1, stepped(1)),
        (2, stepped(2)),
        (3, fell_short(1, Short::NoneAhead)),
        (4, fell_short(0, Short::NoneAhead)),
    ];
    assert_eq!(answers(&mut machine), expected);
    // A command between them whose outcome nobody wants.
    let times: Vec<i64> = (1000..1010).collect();
    let mut machine = playing(paused(), messages(&times));
    machine.ask(Command::Step(1), Ticket(1), wall(0));
    machine.apply(Command::Step(2), wall(0));
    machine.apply(Command::Step(2), wall(0));
    machine.ask(Command::Step(3), Ticket(2), wall(0));
    settle(&mut machine, wall(0));
    assert_eq!(answers(&mut machine), [(1, stepped(1)), (2, stepped(3))]);
    assert_eq!(machine.report().sent, 8);
}

#[test]
fn steps_that_are_cancelled_say_how_many_were_made_and_why_no_more() {
    for (cancel, why) in [
        (Act::Do(Command::Pause), Short::Replaced),
        (Act::Do(Command::Play), Short::Replaced),
        (Act::Do(Command::Seek(ros(1400))), Short::Replaced),
        (Act::Do(Command::Step(-1)), Short::Replaced),
        (Act::Do(Command::StepTopic(B, 1)), Short::Replaced),
        (Act::Close(Gate::Path), Short::NoPath),
        (Act::Do(Command::Stop), Short::Over),
    ] {
        let mut machine = playing(paused(), messages(&[1000, 1100, 1200, 1300]));
        machine.ask(Command::Step(3), Ticket(1), wall(0));
        while machine.report().sent < 2 {
            machine.advance(wall(0), &mut Recording(|_| ()));
        }
        assert_eq!(answers(&mut machine), []);
        cancel.on(&mut machine, wall(0));
        settle(&mut machine, wall(0));
        let expected = [(1, fell_short(2, why))];
        assert_eq!(answers(&mut machine), expected, "{cancel:?}");
    }
}

/// A machine whose cues are fed by the test.
fn fed(options: Options) -> (Machine, std::sync::mpsc::Receiver<CueFeed>) {
    let (sender, feeds) = std::sync::mpsc::sync_channel(10);
    let source = Source::new(NAMES, move |_| {
        let (feed, cue) = Cue::channel();
        sender.send(feed).unwrap();
        cue
    });
    (Machine::new(options, source), feeds)
}

#[test]
fn a_seek_is_answered_when_it_is_known_what_follows() {
    let (mut machine, feeds) = fed(paused());
    settle(&mut machine, wall(0));
    machine.ask(Command::Seek(ros(1200)), Ticket(1), wall(0));
    settle(&mut machine, wall(0));
    // Another jump comes before the cue has anything.
    machine.ask(Command::Seek(ros(1300)), Ticket(2), wall(0));
    settle(&mut machine, wall(0));
    let replaced = (1, Outcome::Refused(Refusal::Replaced));
    assert_eq!(answers(&mut machine), [replaced]);
    let feed = feeds.try_iter().last().unwrap();
    feed.push(Cued::Refill(messages(&[1200]).remove(0)));
    settle(&mut machine, wall(1));
    assert_eq!(answers(&mut machine), []);
    feed.push(Cued::Message(messages(&[1400]).remove(0)));
    settle(&mut machine, wall(2));
    assert_eq!(answers(&mut machine), [(2, Outcome::Landed(ros(1300)))]);
    machine.ask(Command::Seek(ros(1500)), Ticket(3), wall(3));
    machine.apply(Command::Stop, wall(3));
    let over = (3, Outcome::Refused(Refusal::Over));
    assert_eq!(answers(&mut machine), [over]);
}

#[test]
fn steps_by_topic_that_are_combined_are_answered_together() {
    let (mut machine, feeds) = fed(paused());
    settle(&mut machine, wall(0));
    let all = in_turn(&[1000, 1100, 1200, 1300]);
    let played = feeds.try_recv().unwrap();
    for message in all.clone() {
        played.push(Cued::Message(message));
    }
    for ticket in [1, 2] {
        machine.ask(Command::StepTopic(B, 1), Ticket(ticket), wall(0));
    }
    let search = feeds.try_recv().unwrap();
    search.push(Cued::Message(all[1].clone()));
    settle(&mut machine, wall(0));
    assert_eq!(answers(&mut machine), []);
    search.push(Cued::Message(all[3].clone()));
    settle(&mut machine, wall(0));
    assert_eq!(answers(&mut machine), [(1, stepped(4)), (2, stepped(4))]);
}

#[test]
fn the_thread_answers_every_command_also_after_the_end() {
    let player = Player::new();
    let transport = player.transport();
    let all = messages(&[1000, 1100, 1200, 1300]);
    let source = Source::new(NAMES, move |at| Cue::from_items(cue(&all, at)));
    let running = player
        .start(paused(), source, bagplay::output::Null)
        .unwrap();
    let ask = |command| -> Answer { transport.ask(command).unwrap() };
    let first = ask(Command::Step(3));
    assert_eq!((first.outcome, first.status.sent), (stepped(3), 3));
    let landed = ask(Command::Seek(ros(1150)));
    assert_eq!(landed.outcome, Outcome::Landed(ros(1150)));
    let position = landed.status.segment.position(transport.now());
    assert_eq!((position, landed.status.seeks), (ros(1150), 1));
    let last = ask(Command::Step(5));
    assert_eq!(last.outcome, fell_short(2, Short::NoneAhead));
    let pending = transport.try_send(Command::Step(-1)).unwrap().unwrap();
    until("the answer to the step", || pending.has_come());
    assert_eq!(ask(Command::Stop).outcome, Outcome::Done);
    running.join().unwrap();
    assert_eq!(pending.get().unwrap().unwrap().outcome, stepped(1));
    for command in [Command::Stop, Command::Play, Command::Step(1)] {
        let answer = ask(command);
        assert_eq!(answer.outcome, Outcome::Refused(Refusal::Over));
        assert_eq!(answer.status.state, State::Stopped);
    }
    assert!(transport.send(Command::Play).is_err());
    assert_eq!(Gates::OPEN, last.status.gates);
}
