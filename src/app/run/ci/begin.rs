//! The beginning of a run against a program under test: the program is started, and what it publishes is received.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use bagplay::bag::Bag;
use bagplay::ci::child::{Child, ProcessEnds, Program, Whose};
use bagplay::ci::drive::{Desk, DrivenTopic, Waiting};
use bagplay::ci::isolation::{Isolation, RunFolder, sending_at_once};
use bagplay::ci::outputs::{
    AmentIndex, Definitions, OutputOptions, Outputs, RecorderOptions, Stamp,
};
use bagplay::ci::report::Pacing;
use bagplay::ci::settle::{LookError, Processes, Settler};
use bagplay::cli::{Exit, Plan, PlayArgs};
use bagplay::decode::HeaderStamp;
use bagplay::player::Pace;
use bagplay::time::{Ros, Speed, Time};
use bagplay::transcode::Transcoder;
use bagplay::wire::{Session, WireOptions};

use super::held::System;
use super::result::reports::WITH_INPUTS;
use crate::app::failure::{Failure, OrExit};

/// The threads of this process through which messages leave and arrive: all of zenoh's. A connection belongs to the
/// runtime that accepted or opened it (`acc-`, `net-`, `app-`): its threads wake those that receive (`rx-`).
/// `subscribe` has a lock that those need.
const OWN_THREADS: [&str; 6] = ["acc-", "app-", "net-", "rx-", "subscribe", "tx-"];

/// The options of the session.
pub(super) fn wire_options(
    args: &PlayArgs,
    isolation: Option<Isolation>,
    system: Option<&System>,
    options: WireOptions,
) -> WireOptions {
    let options = WireOptions {
        ros1: args.topics.transcode.into(),
        source_stamps: args.ci.source_stamp.into(),
        sends_at_once: args.ci.lockstep,
        ..options
    };
    match (system, isolation) {
        (Some(system), _) => system.wire_options(options),
        (None, Some(isolation)) => isolation.wire_options(options),
        (None, None) => options,
    }
}

/// Subscribes to what the system under test publishes, and records it in `recording`.
pub(super) fn receive(
    args: &PlayArgs,
    bag: &Bag,
    session: &Session,
    desk: &Desk,
    recording: PathBuf,
) -> Result<Outputs, Failure> {
    let recorded: Vec<_> = bag.topics().iter().map(Transcoder::ros2_form).collect();
    let recorded = recorded.iter().map(AsRef::as_ref);
    let options = OutputOptions {
        topics: args.ci.received(),
        record_with_inputs: args
            .ci
            .record_inputs
            .then(|| RecorderOptions::new(recording.with_file_name(WITH_INPUTS))),
        record: Some(RecorderOptions::new(recording)),
        definitions: Definitions::new(recorded, AmentIndex::of_environment()),
        // Processes that ran before may have published before. They join the router of this run later, so they look
        // new.
        are_publishers_new: !args.ci.command.is_empty()
            && args.ci.pid.is_empty()
            && !args.ci.held_system,
    };
    let (place, answers) = (Arc::clone(desk.place()), desk.clone());
    let outputs = Outputs::start(
        session,
        options,
        move || place.of_arrival(),
        move |arrival, stamp| {
            if stamp == Stamp::Absent {
                answers.fail_unstamped(&arrival.topic.name, &arrival.topic.type_name);
            }
            answers.answered(&arrival.topic.name, stamp.time());
        },
    );
    let outputs = outputs.or_exit(Exit::Failed)?;
    desk.looks_at(outputs.in_hand());
    Ok(outputs)
}

/// Starts the program under test, if one is given.
pub(super) fn start_child(
    args: &PlayArgs,
    session: &Session,
    isolation: Option<Isolation>,
    folder: &RunFolder,
) -> Result<Option<(Program, Child)>, Failure> {
    if args.ci.command.is_empty() {
        return Ok(None);
    }
    let mut program = Program::new(args.ci.command.clone(), folder);
    if let Some(isolation) = isolation {
        let no_router = || anyhow::anyhow!("--isolated: this process is no router");
        let endpoint = session.router_endpoint().ok_or_else(no_router);
        let endpoint = endpoint.or_exit(Exit::Failed)?;
        let environment = isolation.environment(&endpoint, folder);
        program.environment.extend(environment);
    } else if args.ci.lockstep {
        program.environment.push(sending_at_once());
    }
    let child = Child::start(&program).map_err(Failure::of_child)?;
    tracing::info!("started {}, process {}", child.name(), child.id());
    Ok(Some((program, child)))
}

/// Refuses processes under test that are not there.
pub(super) fn check_processes(args: &PlayArgs) -> Result<(), Failure> {
    let is_missing = |pid: &&u32| !Path::new("/proc").join(pid.to_string()).exists();
    if let Some(pid) = args
        .ci
        .pid
        .iter()
        .find(is_missing)
        .filter(|_| cfg!(target_os = "linux"))
    {
        let error = anyhow::anyhow!("--pid {pid}: there is no such process");
        return Err(Failure::new(Exit::Usage, error));
    }
    Ok(())
}

/// Watches the processes under test, if there are any besides the one that was started.
pub(super) fn watch_processes(
    args: &PlayArgs,
    child: Option<&Child>,
    desk: &Desk,
) -> Result<Option<ProcessEnds>, Failure> {
    let mut whose: Vec<Whose<'_>> = child.map(Whose::Child).into_iter().collect();
    whose.extend(args.ci.cgroup.clone().map(Whose::Cgroup));
    if !args.ci.pid.is_empty() {
        whose.push(Whose::Trees(args.ci.pid.clone()));
    }
    if whose.is_empty() {
        return Ok(None);
    }
    let place = Arc::clone(desk.place());
    let watch = ProcessEnds::watch(whose, move || place.get())
        .context("the thread that watches processes cannot be started")
        .or_exit(Exit::Failed)?;
    Ok(Some(watch))
}

/// The processes under test, as far as they are known.
pub(super) fn processes(
    args: &PlayArgs,
    child: Option<&Child>,
    system: Option<&System>,
) -> Option<Processes> {
    let roots = child.map(Child::id).into_iter();
    let roots = roots.chain(system.map(System::root));
    let roots: Vec<u32> = roots.chain(args.ci.pid.clone()).collect();
    match &args.ci.cgroup {
        Some(folder) => Some(Processes::Cgroup(folder.clone())),
        None if roots.is_empty() => None,
        None if child.is_some() => Some(Processes::Started(roots)),
        None => Some(Processes::Tree(roots)),
    }
}

/// The settler of the processes under test, if the run is to be in lockstep, and a note on what it cannot see. The
/// error is the reason why settling cannot be determined here.
fn settler(
    args: &PlayArgs,
    processes: Option<Processes>,
) -> Result<Option<(Waiting, Option<String>)>, String> {
    if !args.ci.lockstep {
        return Ok(None);
    }
    let Some(processes) = processes else {
        return Err("there is no program; name one after `--`, or with --pid".to_owned());
    };
    let settler = Settler::new(processes, &OWN_THREADS);
    let settler = settler.map_err(|error: LookError| error.to_string())?;
    let sees_sleeps = settler.threads().sees_sleeps();
    let is_blind = !sees_sleeps.map_err(|error| error.to_string())?;
    let note = is_blind.then(|| {
        "--lockstep cannot see whether a thread of the program under test sleeps, because this user may not trace it: a callback \
         that sleeps counts as done; hint: a gate, the user of the program, or kernel.yama.ptrace_scope=0"
            .to_owned()
    });
    let limit = args.ci.settle_limit;
    Ok(Some((Waiting { settler, limit }, note)))
}

/// The settler of the processes under test, if the run is in lockstep, and a note for the reports. Where settling
/// cannot be determined, the run continues without lockstep, and the note says why.
pub(super) fn lockstep(
    args: &PlayArgs,
    processes: Option<Processes>,
    plan: &mut Plan,
) -> (Option<Waiting>, Option<String>) {
    match settler(args, processes) {
        Ok(Some((waiting, note))) => (Some(waiting), note),
        Ok(None) => (None, None),
        Err(why) => (None, Some(fall_back(plan, args, &why))),
    }
}

/// The topics that are sent, by the index of the recorded topic.
pub(super) fn driven_topics(bag: &Bag, plan: &Plan) -> Vec<Option<DrivenTopic>> {
    let mut topics = vec![None; bag.topics().len()];
    for chosen in &plan.chosen {
        let index = chosen.id.index();
        let schema = bag.topics()[index].schema.as_ref();
        topics[index] = Some(DrivenTopic {
            name: chosen.name.clone(),
            stamp: schema.and_then(HeaderStamp::of),
        });
    }
    topics
}

/// What the clock shows first, if one is served.
pub(super) fn clock_of_start(plan: &Plan) -> Option<Time<Ros>> {
    let clock = &plan.options.clock;
    let time = plan.options.entry().saturating_add(clock.shift);
    clock.is_served().then_some(time)
}

/// How a run waits for the system under test.
pub(super) fn pacing(args: &PlayArgs, is_lockstep: bool) -> Pacing {
    match (is_lockstep, args.ci.gate.is_empty()) {
        (true, true) => Pacing::Lockstep,
        (true, false) => Pacing::LockstepAndGates,
        (false, true) => Pacing::Time,
        (false, false) => Pacing::Gates,
    }
}

/// Paces a run that cannot be in lockstep: by its gates, else at the given or the recorded rate. Returns a note on
/// this.
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
