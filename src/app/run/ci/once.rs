//! One run against a program under test: from joining the network to what happened.

use std::path::PathBuf;

use anyhow::Context;
use bagplay::ci::child::{Child, ChildEnd, Program};
use bagplay::ci::drive::{Desk, Drive, Driven, Governor, Progress};
use bagplay::ci::gates::Ledger;
use bagplay::ci::isolation::{Isolation, RunFolder};
use bagplay::ci::outputs::{Outputs, OutputsEnd};
use bagplay::ci::report::{Input, Pacing};
use bagplay::ci::settle::Unprompted;
use bagplay::cli::{Ending, Exit, Hints, Plan, PlayArgs, Wire};
use bagplay::player::{Pace, Player};
use bagplay::time::Speed;
use bagplay::wire::Subscribed;
use crossbeam_channel::never;

use super::begin::{
    close_loops, driven_topics, processes, receive, settler, start_child, wire_options,
};
use super::bursts::{Overflow, depths, overflows};
use super::drained::drain;
use super::ready::{Awaited, With, check_stamps, needs_ros};
use super::setup::Setup;
use crate::app::failure::{Failure, OrExit};
use crate::app::headless;
use crate::app::headless::progress_line::Subject;
use crate::app::network::{Network, PlayOutput};
use crate::app::run::play::source;
use crate::app::supervise::join::begin;
use crate::app::supervise::under_test::UnderTest;
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
    /// Who published them.
    pub(super) publishers: Vec<Subscribed>,
    /// The threads of the program under test that ran before anything was sent, again and again.
    pub(super) unprompted: Vec<Unprompted>,
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
    begin(&network, Rules::of_ci(args), plan)?;
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
            time_is_up: setup.time_limit.passes(),
            longest: setup.time_limit.span(),
            desk: Some(desk.clone()),
            ..UnderTest::default()
        },
        rest: Rest {
            args,
            recording,
            pacing: pacing(args, args.ci.lockstep),
            notes: Vec::new(),
            unprompted: Vec::new(),
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
    let running_child = child.as_ref().map(|(_, child)| child);
    let ready = rest.get_ready(setup, &network, &mut under_test, running_child, &mut plan);
    let overflows = match ready {
        Ok(overflows) => overflows,
        Err((ended, reason)) => {
            tracing::error!("{reason}");
            under_test.reason = Some(reason);
            let happened = rest.finish(plan, &network, &desk, child, (ended, under_test.reason));
            shutdown::leave(network, out);
            return Ok(happened);
        }
    };
    if args.ci.spread {
        desk.spread(depths(&overflows));
    }
    let waiting = match settler(args, running_child) {
        Ok(waiting) => waiting.map(|(waiting, note)| {
            rest.say(note);
            waiting
        }),
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
    let (start, shift) = (plan.options.entry(), plan.options.clock.shift);
    let topics = driven_topics(setup.bag, &plan);
    let out = Driven::new(out, desk.clone(), topics, &args.ci.gate, start, shift);
    let (source, reach) = source(setup.bag, &plan, args.time.read_ahead, &player);
    let running = player
        .start(plan.options.clone(), source, out)
        .context("the player's thread cannot be started")
        .or_exit(Exit::Failed)?;
    let run = Run {
        rules: Rules::of_ci(args),
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
        let quiet = args.ci.settle.to_std();
        ended = drain(&run, &desk, &mut under_test, &setup.time_limit, quiet);
    }
    rest.notes.append(&mut under_test.notes);
    if ended.how == Ending::End && !report.reached_end {
        ended.how = Ending::Stopped;
    }
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

/// What the end of a run needs of its beginning.
struct Rest<'a> {
    args: &'a PlayArgs,
    recording: PathBuf,
    pacing: Pacing,
    notes: Vec<String>,
    unprompted: Vec<Unprompted>,
    outputs: Outputs,
}

impl Rest<'_> {
    /// Waits until the system under test is there. Returns the subscribers that may lose messages of bursts, or how the run ended
    /// before anything was sent, and why.
    fn get_ready(
        &mut self,
        setup: &Setup<'_>,
        network: &Network,
        under_test: &mut UnderTest,
        child: Option<&Child>,
        plan: &mut Plan,
    ) -> Result<Vec<Overflow>, (Ended, String)> {
        let args = setup.args;
        let limit = args.topics.wait_timeout.to_std();
        let ready = Awaited::of(args, plan).wait(&With {
            network,
            outputs: &self.outputs,
            processes: processes(args, child),
            limit,
            time_limit: &setup.time_limit,
            signals: setup.signals,
            ended: &under_test.ended,
        });
        self.unprompted = ready.map_err(|not_ready| not_ready.ended(limit))?;
        check_stamps(args, &self.outputs).map_err(|not_ready| not_ready.ended(limit))?;
        self.say(close_loops(network, plan));
        under_test.played = plan.chosen.iter().map(|one| one.name.clone()).collect();
        let overflows = overflows(setup, plan, network);
        self.say(overflows.iter().map(|it| it.sentence(args.ci.spread)));
        if args.time.strict && !args.ci.spread && !overflows.is_empty() {
            let why = "a subscriber cannot keep the messages of a burst (--strict)";
            return Err((Ended::failed(Exit::Usage), why.to_owned()));
        }
        Ok(overflows)
    }

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
        let publishers = self.outputs.subscribed();
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
            publishers,
            unprompted: self.unprompted,
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
