//! One run against a program under test: from joining the network to what happened.

use std::path::PathBuf;
use std::time::Duration as StdDuration;

use anyhow::Context;
use bagplay::ci::child::{Child, ChildEnd, ProcessEnds, Program};
use bagplay::ci::drive::{Desk, Drained, Drive, Driven, Governor, Progress};
use bagplay::ci::gates::Ledger;
use bagplay::ci::isolation::{Isolation, RunFolder};
use bagplay::ci::outputs::{Outputs, OutputsEnd};
use bagplay::ci::report::{Input, Pacing};
use bagplay::cli::{Ending, Exit, Hints, Plan, PlayArgs, Wire};
use bagplay::player::{Pace, Player};
use bagplay::time::Speed;
use crossbeam_channel::never;

use super::begin::{
    close_loops, driven_topics, receive, settler, start_child, watch_processes, wire_options,
};
use super::bursts::{depths, overflows};
use super::ready::{Awaited, NotReady, needs_ros};
use super::setup::Setup;
use crate::app::failure::{Failure, OrExit};
use crate::app::headless;
use crate::app::headless::progress_line::Subject;
use crate::app::network::{Network, PlayOutput};
use crate::app::run::play::source;
use crate::app::supervise::join::begin;
use crate::app::supervise::under_test::{UnderTest, exit_of};
use crate::app::supervise::{Ended, Rules, Run, shutdown};

/// What happened in one run.
#[derive(Debug)]
pub(super) struct Happened {
    /// The range that was played.
    pub(super) plan: Plan,
    pub(super) inputs: Vec<Input>,
    pub(super) has_losses: bool,
    pub(super) damaged: u64,
    pub(super) pacing: Pacing,
    pub(super) progress: Progress,
    pub(super) outputs: OutputsEnd,
    pub(super) recording: PathBuf,
    pub(super) child: Option<(Program, ChildEnd)>,
    pub(super) ended: Ended,
    /// Why it ended early, in a sentence.
    pub(super) reason: Option<String>,
    pub(super) notes: Vec<String>,
}

/// A run before anything is played: the network is joined, and the program under test was started.
struct Started<'a> {
    network: Network,
    out: PlayOutput,
    player: Player,
    desk: Desk,
    child: Option<(Program, Child)>,
    under_test: UnderTest,
    rest: Rest<'a>,
}

fn start<'a>(
    setup: &Setup<'a>,
    folder: &RunFolder,
    plan: &mut Plan,
) -> Result<Started<'a>, Failure> {
    let args = setup.args;
    if args.wire.wire != Wire::RmwZenoh {
        return Err(needs_ros());
    }
    let isolation = args.ci.isolated.then(Isolation::new);
    let adapt = |options| wire_options(args, isolation, options);
    let mut network = Network::join(&args.wire, adapt)?;
    begin(&network, Rules::of(args), plan)?;
    let hints = Hints::new(args, plan, setup.bag.topics());
    let out = network.advertise(args, setup.bag, plan, &hints)?;
    let player = Player::new();
    let now = player.transport();
    let drive = Drive {
        ledger: Ledger::new(args.ci.gate.clone(), args.ci.limits()),
        on_miss: args.ci.on_miss,
        lockstep: args.ci.lockstep,
        start: plan.options.entry(),
    };
    let (desk, troubles) = Desk::new(drive, player.gates(), move || now.now());
    let recording = folder.file("outputs.mcap");
    let session = network.session.as_ref().ok_or_else(needs_ros)?;
    let outputs = receive(args, setup.bag, session, &desk, recording.clone())?;
    let child = start_child(args, session, isolation, folder)?;
    let ended = child.as_ref().map(|(_, child)| child.ended().clone());
    Ok(Started {
        under_test: UnderTest {
            ended: ended.unwrap_or_else(never),
            troubles,
            is_strict: args.time.strict,
            ..UnderTest::default()
        },
        rest: Rest {
            args,
            recording,
            pacing: pacing(args, args.ci.lockstep),
            notes: Vec::new(),
            outputs,
        },
        network,
        out,
        player,
        desk,
        child,
    })
}

/// Plays once. An error is one of the command line, of this program or of the network; everything else is in the result.
pub(super) fn play_once(setup: &Setup<'_>, folder: &RunFolder) -> Result<Happened, Failure> {
    let args = setup.args;
    let mut plan = setup.plan.clone();
    let Started {
        network,
        out,
        player,
        desk,
        child,
        mut under_test,
        mut rest,
    } = start(setup, folder, &mut plan)?;
    let transport = player.transport();
    let limit = args.topics.wait_timeout.to_std();
    let ready = Awaited::of(args, &plan).wait(
        &network,
        &rest.outputs,
        limit,
        (setup.signals, &under_test.ended),
    );
    let overflows = match &ready {
        Ok(()) => {
            rest.say(close_loops(&network, &mut plan));
            overflows(setup, &plan, &network)
        }
        Err(_) => Vec::new(),
    };
    rest.say(overflows.iter().map(|it| it.sentence(args.ci.spread)));
    let is_refused = args.time.strict && !args.ci.spread && !overflows.is_empty();
    if let Some((ended, reason)) = no_start(ready, is_refused, limit) {
        tracing::error!("{reason}");
        under_test.reason = Some(reason);
        let happened = rest.finish(plan, &network, &desk, child, (ended, under_test.reason));
        shutdown::leave(network, out);
        return Ok(happened);
    }
    if args.ci.spread {
        desk.spread(depths(&overflows));
    }
    let running_child = child.as_ref().map(|(_, child)| child);
    let waiting = match settler(args, running_child) {
        Ok(waiting) => waiting,
        Err(why) => {
            rest.say([fall_back(&mut plan, args, &why)]);
            desk.without_lockstep();
            None
        }
    };
    rest.pacing = pacing(args, waiting.is_some());
    let governor = Governor::start(&desk, waiting)
        .context("the thread that governs the run cannot be started")
        .or_exit(Exit::Failed)?;
    let watch = watch_processes(args, running_child, &desk)?;
    let told = watch.as_ref().map(|watch| watch.told().clone());
    under_test.process_ends = told.unwrap_or_else(never);
    let (start, shift) = (plan.options.entry(), plan.options.clock.shift);
    let topics = driven_topics(setup.bag, &plan);
    let out = Driven::new(out, desk.clone(), topics, &args.ci.gate, start, shift);
    let (source, reach) = source(setup.bag, &plan, args.time.read_ahead, &player);
    let running = player
        .start(plan.options.clone(), source, out)
        .context("the player's thread cannot be started")
        .or_exit(Exit::Failed)?;
    let run = Run {
        rules: Rules::of(args),
        plan: &plan,
        hints: &Hints::new(args, &plan, setup.bag.topics()),
        streams: Vec::new(),
        network: &network,
        log_target: setup.log_target,
        transport,
        signals: setup.signals.clone(),
        followed: None,
    };
    let subject = Subject::Recording(reach);
    let watched = headless::watch(&run, &mut under_test, &running, subject, true);
    let (report, out, ended) = shutdown::join(&run, running, Ok(watched))?;
    let (mut ended, unsent_bytes) = shutdown::drain(&run, ended);
    if ended.how == Ending::End {
        ended = drain(&run, &desk, &mut under_test, args.ci.settle.to_std());
    }
    if ended.how == Ending::End && !report.reached_end {
        ended.how = Ending::Stopped;
    }
    let unread = watch.map(ProcessEnds::finish).unwrap_or_default();
    if under_test.takes_any_failure(&unread) && ended.how == Ending::End {
        ended = Ended::failed(Exit::Child);
    }
    rest.notes.append(&mut under_test.notes);
    let mut happened = rest.finish(
        plan.clone(),
        &network,
        &desk,
        child,
        (ended, under_test.reason),
    );
    happened.has_losses |= unsent_bytes > 0;
    happened.damaged = report.damaged;
    drop(governor);
    shutdown::leave(network, out.into_inner());
    Ok(happened)
}

/// Why nothing is played, if that is so.
fn no_start(
    ready: Result<(), NotReady>,
    has_bursts: bool,
    limit: StdDuration,
) -> Option<(Ended, String)> {
    match ready {
        Ok(()) if has_bursts => {
            let why = "a subscriber cannot keep the messages of a burst (--strict)";
            Some((Ended::failed(Exit::Usage), why.to_owned()))
        }
        Ok(()) => None,
        Err(not_ready) => Some(not_ready.ended(limit)),
    }
}

/// What the end of a run needs of its beginning.
struct Rest<'a> {
    args: &'a PlayArgs,
    recording: PathBuf,
    pacing: Pacing,
    notes: Vec<String>,
    outputs: Outputs,
}

impl Rest<'_> {
    /// Notes for the reports, which are also logged.
    fn say(&mut self, notes: impl IntoIterator<Item = String>) {
        say(&mut self.notes, notes);
    }

    /// Ends the recording, then the program under test: what it publishes when it is asked to end is no output of the run.
    fn finish(
        mut self,
        plan: Plan,
        network: &Network,
        desk: &Desk,
        child: Option<(Program, Child)>,
        (ended, reason): (Ended, Option<String>),
    ) -> Happened {
        let inputs = inputs(network, &plan);
        let outputs = self.outputs.finish();
        let grace = self.args.ci.grace.to_std();
        let child = child.map(|(program, child)| (program, child.end(grace)));
        let said = child.iter().flat_map(|(_, end)| end.notes());
        say(&mut self.notes, said);
        Happened {
            has_losses: inputs.iter().any(|input| input.lost > 0),
            inputs,
            damaged: 0,
            plan,
            pacing: self.pacing,
            progress: desk.progress(),
            outputs,
            recording: self.recording,
            child,
            ended,
            reason,
            notes: self.notes,
        }
    }
}

fn say(notes: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for note in more {
        tracing::warn!("{note}");
        notes.push(note);
    }
}

fn pacing(args: &PlayArgs, is_lockstep: bool) -> Pacing {
    match (is_lockstep, args.ci.gate.is_empty()) {
        (true, true) => Pacing::Lockstep,
        (true, false) => Pacing::LockstepAndGates,
        (false, true) => Pacing::Time,
        (false, false) => Pacing::Gates,
    }
}

/// How a run goes that cannot be in lockstep: with its gates, else at the recorded rate. Returns what to say about it.
fn fall_back(plan: &mut Plan, args: &PlayArgs, why: &str) -> String {
    let instead = if !args.ci.gate.is_empty() {
        "with its gates alone"
    } else if args.time.rate.is_none() {
        plan.options.pace = Pace::At(Speed::NORMAL);
        "at the recorded rate"
    } else {
        "at the given rate"
    };
    format!("--lockstep is not possible here: {why}; the run goes {instead}")
}

/// What was sent, by topic.
fn inputs(network: &Network, plan: &Plan) -> Vec<Input> {
    let sent = network.topics().into_iter();
    let sent = sent.filter(|topic| plan.chosen.iter().any(|one| one.name == topic.name));
    let input = |topic: bagplay::wire::TopicState| Input {
        type_name: String::new(),
        messages: topic.sent,
        bytes: topic.bytes,
        lost: topic.missed.lost + topic.missed.possibly_lost,
        subscribers: network.subscriber_nodes(&topic.name),
        topic: topic.name,
    };
    sent.map(input).collect()
}

/// Waits until everything that was sent is dealt with.
fn drain(run: &Run<'_>, desk: &Desk, under_test: &mut UnderTest, quiet: StdDuration) -> Ended {
    let mut ended = Ended::NORMAL;
    let drained = desk.drain(quiet, || {
        if let Ok(exit) = run.signals.try_recv() {
            let how = Ending::Interrupted;
            ended = Ended { how, exit };
        } else if under_test.takes_failure() {
            ended = Ended::failed(Exit::Child);
        } else if let Ok(exit) = under_test.ended.try_recv() {
            tracing::error!("{exit}, before everything was answered");
            under_test.reason.get_or_insert(exit.to_string());
            ended = Ended::failed(Exit::Child);
        }
        ended.how != Ending::End
    });
    if drained == Drained::Troubled
        && let Ok(trouble) = under_test.troubles.try_recv()
    {
        tracing::error!("{trouble}");
        under_test.reason.get_or_insert(trouble.to_string());
        ended = Ended::failed(exit_of(&trouble));
    }
    ended
}
