//! [`Attached`] on players that are processes: what becomes of commands, also if nobody answers, and of players that
//! leave.

use std::convert::Infallible;
use std::sync::Mutex;
use std::time::Duration as StdDuration;

use bagplay::player::{Command, Outcome, Pace, PendingAnswer, Refusal, Short, State};
use bagplay::time::{Duration, Ros, Speed, Time, TimeRange};
use bagplay::wire::{Attached, CallError, PlayerClient, RequestError};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::timeline::{Played, client};
use crate::support::network::{hearing, signal, start_player};
use crate::support::patience::PATIENCE;
use crate::support::patience::until;

/// How long the clients here wait for an answer.
const TIMEOUT: StdDuration = StdDuration::from_secs(2);

fn attach(played: &Played) -> Attached<'_> {
    Attached::new(client(&played.session, TIMEOUT)).unwrap()
}

/// A receiver that is disconnected when the sender is dropped.
fn end() -> (Sender<Infallible>, Receiver<Infallible>) {
    bounded(0)
}

fn send(attached: &Attached<'_>, command: Command) -> PendingAnswer {
    let sent = attached.transport().try_send(command).unwrap();
    sent.expect("few commands wait")
}

/// The outcome of a command that has been answered.
fn outcome(answer: &PendingAnswer) -> Outcome {
    answer.get().unwrap().expect("an answer").outcome
}

const NOT_DONE: Outcome = Outcome::Refused(Refusal::Elsewhere);

#[test]
fn commands_that_wait_for_a_silent_player_do_not_hold_up_the_end() {
    let played = Played::new(&["--loop"]);
    let attached = attach(&played);
    signal(&played.player, "-STOP");
    let answers: Vec<PendingAnswer> = (0..60).map(|_| send(&attached, Command::Pause)).collect();
    let (stop, is_over) = end();
    let failed = Mutex::new(Vec::new());
    drop(stop);
    attached.pass_on_commands(&is_over, |error| {
        failed.lock().unwrap().push(error.to_string());
    });
    signal(&played.player, "-CONT");
    assert!(answers.iter().all(|answer| outcome(answer) == NOT_DONE));
    // One call at most was waited for.
    let failed = failed.into_inner().unwrap();
    let waited = failed.iter().filter(|it| it.starts_with("no answer"));
    assert!(waited.count() <= 1 && failed.len() == 60, "{failed:?}");
}

#[test]
fn commands_that_wait_at_the_end_are_passed_on_to_a_player_that_answers() {
    let played = Played::new(&["--loop"]);
    let attached = attach(&played);
    let answer = send(&attached, Command::Pause);
    let (stop, is_over) = end();
    attached.leave_within(PATIENCE);
    drop(stop);
    attached.pass_on_commands(&is_over, |error| panic!("{error}"));
    assert_eq!(outcome(&answer), Outcome::Done);
    assert!(attached.client().is_paused().unwrap());
}

#[test]
fn a_seek_that_is_replaced_asks_the_player_nothing() {
    let played = Played::new(&["--start-paused"]);
    let attached = attach(&played);
    attached.client().set_rate(2.0).unwrap();
    let [first, second] = [1, 2].map(|secs| send(&attached, Command::Seek(at(&attached, secs))));
    let (stop, is_over) = end();
    attached.leave_within(PATIENCE);
    drop(stop);
    attached.pass_on_commands(&is_over, |error| panic!("{error}"));
    let told = |answer: &PendingAnswer| {
        let answer = answer.get().unwrap().expect("an answer");
        (answer.outcome, answer.status.pace)
    };
    let replaced = Outcome::Refused(Refusal::Replaced);
    assert_eq!(told(&first), (replaced, Pace::At(Speed::NORMAL)));
    let double = Pace::At(Speed::from_f64(2.0).unwrap());
    let landed = Outcome::Landed(at(&attached, 2));
    assert_eq!(told(&second), (landed, double));
}

#[test]
fn while_a_player_is_silent_commands_are_refused_and_later_they_are_not() {
    let played = Played::new(&["--loop"]);
    let attached = attach(&played);
    let (stop, is_over) = end();
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| attached.observe(&is_over, |_| {}));
        scope.spawn(|| {
            attached.pass_on_commands(&is_over, |error| {
                let is_silent = matches!(error, RequestError::Silent);
                failed.lock().unwrap().push(is_silent);
            });
        });
        signal(&played.player, "-STOP");
        until("silence", || !attached.answers());
        let answers: Vec<PendingAnswer> =
            (0..60).map(|_| send(&attached, Command::Pause)).collect();
        until("refusals", || answers.iter().all(PendingAnswer::has_come));
        assert!(answers.iter().all(|answer| outcome(answer) == NOT_DONE));
        signal(&played.player, "-CONT");
        until("answers", || attached.answers());
        let paused = attached.transport().ask(Command::Pause).unwrap();
        assert_eq!(paused.outcome, Outcome::Done);
        drop(stop);
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.len() == 60 && failed.iter().all(|is_silent| *is_silent));
}

#[test]
fn a_player_has_left_only_if_there_is_a_connection_and_it_does_not_come_back() {
    let gone = RequestError::Call(CallError::NoServer);
    let soon = StdDuration::from_millis(100);
    let router = Played::new(&["--start-paused", "--node-name", "other"]);
    let other = router.client();
    let network = ["--no-tui", "--start-paused", "--connect", &router.endpoint];
    let mut player = start_player(&network);
    hearing(&mut player)("connected to");
    let mut found = Vec::new();
    until("two players", || {
        found = router.session.players();
        found.len() == 2
    });
    let second = found.into_iter().find(|it| it.node == "/rosbag2_player");
    let second = PlayerClient::new(&router.session, second.unwrap(), TIMEOUT);
    assert!(!second.has_left(&gone, soon));
    player.kill().unwrap();
    player.wait().unwrap();
    until("its end", || second.has_left(&gone, soon));
    assert!(!second.has_left(&RequestError::Silent, soon));
    // What the router had announced may be gone before the loss of the connection is known.
    signal(&router.player, "-KILL");
    until("the loss", || {
        assert!(!other.has_left(&gone, PlayerClient::LOSS_IS_KNOWN * 10));
        !router.session.has_path()
    });
}

/// What is done with a player that answers, while its commands are passed on.
fn drive(args: &[&str], act: impl FnOnce(&Attached<'_>)) {
    let played = Played::new(args);
    let attached = attach(&played);
    let (stop, is_over) = end();
    std::thread::scope(|scope| {
        // Also if an assertion fails: otherwise the threads never end.
        let _stop = stop;
        scope.spawn(|| attached.observe(&is_over, |_| {}));
        scope.spawn(|| attached.pass_on_commands(&is_over, |_| {}));
        act(&attached);
    });
}

#[track_caller]
fn ask(attached: &Attached<'_>, command: Command) -> Outcome {
    attached.transport().ask(command).unwrap().outcome
}

fn at(attached: &Attached<'_>, secs: i64) -> Time<Ros> {
    let start = attached.recording().range.start();
    start.saturating_add(Duration::from_secs(secs))
}

/// Waits until the player has paused at a time.
fn until_paused_at(attached: &Attached<'_>, time: Time<Ros>) {
    until("a pause", || {
        let view = attached.client().view().unwrap();
        view.state == State::Paused && view.clock == attached.clock_time(time)
    });
}

fn rate(factor: f64) -> Command {
    Command::SetPace(Pace::At(Speed::from_f64(factor).unwrap()))
}

#[test]
fn a_span_is_played_in_the_direction_of_play() {
    drive(&["--start-paused"], |attached| {
        for (factor, to) in [(20.0, 17), (-20.0, 13)] {
            ask(attached, Command::Seek(at(attached, 15)));
            ask(attached, rate(factor));
            let span = Command::PlayFor(Duration::from_secs(2));
            assert_eq!(ask(attached, span), Outcome::Done);
            until_paused_at(attached, at(attached, to));
        }
    });
}

#[test]
fn playing_from_a_time_is_refused_while_playing_and_is_otherwise_one_jump() {
    drive(&["--start-paused"], |attached| {
        ask(attached, rate(20.0));
        let from = |from, until: Option<i64>| Command::PlayFrom {
            from: at(attached, from),
            until: until.map(|until| at(attached, until)),
        };
        // The last stop is behind the start, where the service `play` refuses it.
        for (start, stop, end) in [(5, 6, 6), (0, 2, 2), (9, 8, 9)] {
            let landed = Outcome::Landed(at(attached, start));
            assert_eq!(ask(attached, from(start, Some(stop))), landed);
            until_paused_at(attached, at(attached, end));
        }
        // The start of the recording is not where its range begins.
        let range = TimeRange::between(at(attached, 10), at(attached, 20));
        ask(attached, Command::SetRange(range, None));
        let landed = Outcome::Landed(at(attached, 0));
        assert_eq!(ask(attached, from(0, Some(1))), landed);
        until_paused_at(attached, at(attached, 1));
        ask(attached, rate(0.01));
        ask(attached, Command::Play);
        let generation = attached.client().view().unwrap().generation;
        assert_eq!(ask(attached, from(5, None)), NOT_DONE);
        assert_eq!(ask(attached, from(-5, None)), NOT_DONE);
        let view = attached.client().view().unwrap();
        assert_eq!(view.generation, generation);
    });
}

#[test]
fn steps_that_are_too_many_keep_their_number_and_reason() {
    drive(&["--start-paused"], |attached| {
        let stepped = |sent, short| Outcome::Stepped { sent, short };
        let none_behind = Some(Short::NoneBehind);
        assert_eq!(ask(attached, Command::Step(3)), stepped(3, None));
        assert_eq!(ask(attached, Command::Step(-9)), stepped(1, none_behind));
        assert_eq!(ask(attached, Command::Burst(0)), stepped(0, None));
        assert_eq!(ask(attached, Command::Burst(4)), stepped(4, None));
        // To the edge of the recording, where its last message is.
        let end = attached.recording().range.stop();
        let far = Command::SeekBy(Duration::from_secs(1000));
        assert_eq!(ask(attached, far), Outcome::Landed(end));
        let none_ahead = Some(Short::NoneAhead);
        assert_eq!(ask(attached, Command::Step(9)), stepped(1, none_ahead));
        ask(attached, Command::Seek(at(attached, 1)));
        ask(attached, Command::Play);
        assert_eq!(ask(attached, Command::Burst(4)), NOT_DONE);
    });
}

#[test]
fn every_jump_is_counted_as_a_seek() {
    drive(&["--start-paused"], |attached| {
        let second = Duration::from_secs(1);
        for (command, seeks) in [
            (Command::Seek(at(attached, 3)), 1),
            (Command::SeekBy(second), 2),
            (
                Command::PlayFrom {
                    from: at(attached, 5),
                    until: None,
                },
                3,
            ),
            (Command::Pause, 3),
        ] {
            let answer = attached.transport().ask(command).unwrap();
            assert_eq!(answer.status.seeks, seeks, "{command:?}");
        }
    });
}
