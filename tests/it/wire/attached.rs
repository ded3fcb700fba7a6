//! [`Attached`] on players that are processes: what becomes of commands, also if nobody answers, and of players that leave.

use std::convert::Infallible;
use std::sync::Mutex;
use std::time::Duration as StdDuration;

use bagplay::player::{Command, Outcome, PendingAnswer, Refusal};
use bagplay::wire::{Attached, CallError, PlayerClient, RequestError};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::timeline::{Played, client};
use crate::support::network::{hearing, signal, start_player};
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
    drop(stop);
    attached.pass_on_commands(&is_over, |error| panic!("{error}"));
    assert_eq!(outcome(&answer), Outcome::Done);
    assert!(attached.client().is_paused().unwrap());
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
