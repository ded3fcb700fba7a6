//! One run against a program under test: from joining the network to what happened.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use bagplay::bag::Bag;
use bagplay::ci::child::{Child, ChildEnd, ProcessEnds, Program};
use bagplay::ci::drive::{Desk, Drive, Driven, Governor, Progress, Waiting};
use bagplay::ci::gates::Ledger;
use bagplay::ci::isolation::{Isolation, RunFolder};
use bagplay::ci::outputs::{Outputs, OutputsEnd, PlayedTopic, RecordInputs};
use bagplay::ci::report::{Check, Input, Pacing, Spans, SystemRecord};
use bagplay::ci::settle::Unprompted;
use bagplay::cli::{Ending, Exit, Hints, Plan, PlayArgs, Wire, plural};
use bagplay::player::{Command, Player};
use bagplay::wire::Subscribed;
use crossbeam_channel::never;

use super::begin::{
    clock_of_start, driven_topics, pacing, processes, receive, start_child, watch_processes,
    wire_options,
};
use super::drained::drain;
use super::held::System;
use super::ready::{depths, get_ready, needs_ros};
use super::reset::{Reset, begin_on_system, wait_for_rest};
use super::result::sent::{inputs, lateness, miscounted};
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
    pub(super) unsent_bytes: u64,
    /// How many places of the recording could not be read, or were found to be wrong before.
    pub(super) damaged: u64,
    /// That the recording has another number of messages than it says.
    pub(super) miscounted: Option<String>,
    pub(super) pacing: Pacing,
    /// How late messages were; `None` if they had no times at which they were due.
    pub(super) lateness: Option<Spans>,
    pub(super) progress: Progress,
    pub(super) outputs: OutputsEnd,
    /// Who published them.
    pub(super) publishers: Vec<Subscribed>,
    /// The threads of the program under test that ran before anything was sent, again and again.
    pub(super) unprompted: Vec<Unprompted>,
    pub(super) recording: PathBuf,
    pub(super) child: Option<(Program, ChildEnd)>,
    /// The system that stays, and what is known of it.
    pub(super) system: Option<SystemRecord>,
    /// Whether it could be reset, if it had to be.
    pub(super) reset: Option<Check>,
    pub(super) ended: Ended,
    /// Why it ended early, in a sentence.
    pub(super) reason: Option<String>,
    pub(super) notes: Vec<String>,
}

impl Happened {
    /// What is wrong with what was played, in a sentence.
    pub(super) fn damage(&self) -> Option<String> {
        if self.damaged > 0 {
            let places = plural(self.damaged, "damaged place");
            return Some(format!("{places} in the recording"));
        }
        self.miscounted.clone()
    }

    pub(super) fn has_played_nothing(&self) -> bool {
        self.inputs.iter().all(|input| input.messages == 0)
    }
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
    let system = setup.system;
    let isolation = (args.ci.isolated && system.is_none()).then(Isolation::new);
    let adapt = |options| wire_options(args, isolation, system, options);
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
        is_held: system.is_some(),
    };
    let (desk, troubles) = Desk::new(drive, player.gates(), move || now.now());
    let recording = folder.file("outputs.mcap");
    let session = network.session.as_ref().ok_or_else(needs_ros)?;
    let outputs = receive(args, setup.bag, session, &desk, recording.clone())?;
    let child = match system {
        Some(_) => None,
        None => start_child(args, session, isolation, folder)?,
    };
    let ended = child.as_ref().map(|(_, child)| child.ended().clone());
    let ended = ended.or_else(|| system.map(|system| system.ended().clone()));
    Ok(Started {
        under_test: UnderTest {
            ended: ended.unwrap_or_else(never),
            troubles,
            time_is_up: setup.time_limit.passes(),
            longest: setup.time_limit.span(),
            desk: Some(desk.clone()),
            is_strict: args.time.strict,
            ..UnderTest::default()
        },
        rest: Rest {
            args,
            bag: setup.bag,
            recording,
            pacing: pacing(args, args.ci.lockstep),
            notes: Vec::new(),
            unprompted: Vec::new(),
            outputs,
            system: system.map(|system| (system, system.begins(clock_of_start(plan)))),
            program: system.map(|_| Program::new(args.ci.command.clone(), folder)),
            reset: None,
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
    if let Some((_, record)) = &rest.system {
        tracing::info!("{}", record.sentence());
    }
    let running_child = child.as_ref().map(|(_, child)| child);
    let processes = processes(args, running_child, setup.system);
    let found = (&rest.outputs, processes);
    let ready = get_ready(setup, &network, &mut plan, found, &mut under_test);
    rest.say(ready.notes);
    rest.unprompted = ready.unprompted;
    if let Some((ended, reason)) = ready.refused {
        tracing::error!("{reason}");
        under_test.reason = Some(reason);
        let happened = rest.finish(plan, &network, &desk, child, (ended, under_test.reason));
        shutdown::leave(network, out);
        return Ok(happened);
    }
    if args.ci.spread {
        desk.spread(depths(&ready.overflows));
    }
    let governor = rest.govern(&desk, ready.waiting)?;
    let watch = watch_processes(args, running_child, &desk)?;
    let told = watch.as_ref().map(|watch| watch.told().clone());
    under_test.process_ends = told.unwrap_or_else(never);
    let (start, shift) = (plan.options.entry(), plan.options.clock.shift);
    let topics = driven_topics(setup.bag, &plan);
    let out = rest.record_inputs(out, &plan, &desk);
    let out = Driven::new(out, desk.clone(), topics, &args.ci.gate, start, shift);
    let (source, reach) = source(setup.bag, &plan, args.time.read_ahead, &player);
    if let Some(ended) = wait_for_rest(setup, &network, &desk, &mut under_test) {
        let reason = under_test.reason.take();
        let happened = rest.finish(plan, &network, &desk, child, (ended, reason));
        drop(governor);
        shutdown::leave(network, out.into_inner().into_inner());
        return Ok(happened);
    }
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
    let begun = begin_on_system(setup, (&network, &desk), folder, &plan, &mut under_test);
    let watched = if let Some(ended) = rest.begins(begun) {
        // A player that has already stopped is fine.
        let _ = run.transport.send(Command::Stop);
        ended
    } else {
        let subject = Subject::Recording(reach);
        headless::watch(&run, &mut under_test, &running, subject, true)
    };
    let (report, out, ended) = shutdown::join(&run, running, Ok(watched))?;
    let (mut ended, unsent_bytes) = shutdown::drain(&run, ended);
    if ended.how == Ending::End {
        let before = "everything was answered";
        ended = drain(setup, &network, &desk, &mut under_test, before);
    }
    if ended.how == Ending::End && !report.reached_end {
        ended.how = Ending::Stopped;
    }
    let unread = watch.map(ProcessEnds::finish).unwrap_or_default();
    if under_test.takes_any_failure(&unread) && ended.how == Ending::End {
        ended = Ended::failed(Exit::Child);
    }
    rest.notes.append(&mut under_test.notes);
    let end = (ended, under_test.reason);
    let happened = rest.finish(plan.clone(), &network, &desk, child, end);
    drop(governor);
    shutdown::leave(network, out.into_inner().into_inner());
    let damaged = report.damaged + setup.bag.damage().len() as u64;
    Ok(Happened {
        unsent_bytes,
        lateness: lateness(&report, happened.pacing),
        damaged,
        miscounted: miscounted(setup.bag),
        ..happened
    })
}

/// What the end of a run needs of its beginning.
struct Rest<'a> {
    args: &'a PlayArgs,
    bag: &'a Bag,
    recording: PathBuf,
    pacing: Pacing,
    notes: Vec<String>,
    unprompted: Vec<Unprompted>,
    outputs: Outputs,
    system: Option<(&'a System, SystemRecord)>,
    /// The program of that system.
    program: Option<Program>,
    reset: Option<Check>,
}

impl Rest<'_> {
    /// The run has begun on its system, or had to end before that: then how.
    fn begins(&mut self, begun: Option<Reset>) -> Option<Ended> {
        let begun = begun?;
        self.reset = begun.check;
        if let Some((_, record)) = &mut self.system {
            record.reset = begun.commands;
        }
        (begun.ended.how != Ending::End).then_some(begun.ended)
    }

    /// Starts the thread that waits for answers and, in lockstep, until the processes have settled.
    fn govern(&mut self, desk: &Desk, waiting: Option<Waiting>) -> Result<Governor, Failure> {
        if waiting.is_none() {
            desk.without_lockstep();
        }
        self.pacing = pacing(self.args, waiting.is_some());
        Governor::start(desk, waiting)
            .context("the thread that governs the run cannot be started")
            .or_exit(Exit::Failed)
    }

    /// Records what is sent, too, if that is asked for.
    fn record_inputs(&self, out: PlayOutput, plan: &Plan, desk: &Desk) -> RecordInputs<PlayOutput> {
        let topics = plan.chosen.iter().map(|chosen| PlayedTopic {
            id: chosen.id,
            recorded: &self.bag.topics()[chosen.id.index()],
            name: &chosen.name,
        });
        let place = Arc::clone(desk.place());
        RecordInputs::new(out, self.outputs.input_recorder(), topics, move || {
            place.get()
        })
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
        let inputs = inputs(network, &plan, self.bag);
        let publishers = self.outputs.subscribed();
        let outputs = self.outputs.finish();
        let grace = self.args.ci.grace.to_std();
        let child = child.map(|(program, child)| (program, child.end(grace)));
        let held = self.system.zip(self.program);
        let (held, system) = held.map_or((None, None), |((system, record), program)| {
            let place = desk.place();
            let clock = place.get().saturating_add(plan.options.clock.shift);
            let record = SystemRecord {
                outputs_before: outputs.before,
                ..record
            };
            let clock = place.has_begun().then_some(clock);
            let (end, record) = system.has_dealt_with_run(record, clock, &program);
            (Some((program, end)), Some(record))
        });
        let child = child.or(held);
        let said = child.iter().flat_map(|(_, end)| end.notes());
        say(&mut self.notes, said);
        Happened {
            unsent_bytes: 0,
            inputs,
            damaged: 0,
            miscounted: None,
            plan,
            pacing: self.pacing,
            lateness: None,
            progress: desk.progress(),
            outputs,
            publishers,
            unprompted: self.unprompted,
            recording: self.recording,
            child,
            system,
            reset: self.reset,
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
