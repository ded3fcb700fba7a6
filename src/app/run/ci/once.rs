//! One run against a program under test: from joining the network to what happened.

use anyhow::Context;
use bagplay::bag::Reach;
use bagplay::ci::child::{Child, ProcessEnds, Program};
use bagplay::ci::drive::{Desk, Drive, Driven, Governor};
use bagplay::ci::gates::Ledger;
use bagplay::ci::isolation::{Isolation, RunFolder};
use bagplay::cli::{Ending, Exit, Hints, Plan, Wire};
use bagplay::output::Output;
use bagplay::player::{Command, Player, Report, Source};
use crossbeam_channel::never;

use super::begin::{
    clock_of_start, driven_topics, pacing, processes, receive, start_child, watch_processes,
    wire_options,
};
use super::drained::drain;
use super::happened::{End, Happened, Rest};
use super::ready::{Ready, depths, get_ready, needs_ros};
use super::reset::{begin_on_system, wait_for_rest};
use super::setup::Setup;
use crate::app::failure::{Failure, OrExit};
use crate::app::headless;
use crate::app::headless::progress_line::Subject;
use crate::app::network::{Network, PlayOutput};
use crate::app::run::play::source;
use crate::app::supervise::join::begin;
use crate::app::supervise::under_test::UnderTest;
use crate::app::supervise::{Ended, Rules, Run, shutdown};

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
    if args.wire.wires() != [Wire::RmwZenoh] {
        return Err(needs_ros());
    }
    let system = setup.system;
    let isolation = (args.ci.isolated && system.is_none()).then(Isolation::new);
    let adapt = |options| wire_options(args, isolation, system, options);
    let mut network = Network::join(&args.wire, adapt)?;
    begin(&network, Rules::of_ci(args), plan)?;
    let hints = Hints::new(args, plan, setup.bag.topics());
    let had_topics = !plan.chosen.is_empty();
    let out = network.advertise(args, setup.bag, plan, &hints)?;
    if had_topics && plan.chosen.is_empty() {
        let error = anyhow::anyhow!(
            "nothing to play: no topic of the recording can be published with this --wire"
        );
        return Err(Failure::new(Exit::Recording, error));
    }
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
    let session = network.session().ok_or_else(needs_ros)?;
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
            mismatches: Vec::new(),
        },
        network,
        out,
        player,
        desk,
        child,
    })
}

/// Plays once. An error is one of the command line, of this program or of the network; everything else is in the
/// result.
pub(super) fn play_once(setup: &Setup<'_>, folder: &RunFolder) -> Result<Happened, Failure> {
    let args = setup.args;
    let mut plan = setup.plan.clone();
    let Started {
        mut network,
        out,
        player,
        desk,
        child,
        mut under_test,
        mut rest,
    } = start(setup, folder, &mut plan)?;
    // From here on, the run has reports of its own.
    setup.results.remove_earlier()?;
    if let Some((_, record)) = &rest.system {
        tracing::info!("{}", record.sentence());
    }
    let running_child = child.as_ref().map(|(_, child)| child);
    let processes = processes(args, running_child, setup.system);
    let found = (&rest.outputs, processes);
    let (ready, out) = get_ready(
        setup,
        (&mut network, out),
        &mut plan,
        found,
        &mut under_test,
    )?;
    let Ready {
        notes,
        unprompted,
        waiting,
        overflows,
        refused,
    } = ready;
    rest.say(notes);
    rest.unprompted = unprompted;
    let playback = if let Some((ended, reason)) = refused {
        let unread: Vec<_> = network.events().try_iter().collect();
        let hints = Hints::new(args, &plan, setup.bag.topics());
        under_test.note_mismatches(&unread, &hints);
        rest.say(under_test.mismatches);
        tracing::error!("{reason}");
        Playback::refused(out, (ended, Some(reason)))
    } else {
        if args.ci.spread {
            desk.spread(depths(&overflows));
        }
        let stage = Stage {
            setup,
            folder,
            network: &network,
            desk: &desk,
            plan: &plan,
        };
        let watch = watch_processes(args, running_child, &desk)?;
        let governor = rest.govern(&desk, waiting)?;
        stage.run(player, out, (governor, watch), (under_test, &mut rest))?
    };
    let happened = rest.finish(plan, &network, &desk, child, playback.end);
    drop(playback.governor);
    shutdown::leave(network, playback.out);
    Ok(happened)
}

/// What playback needs, once the system under test is ready.
struct Stage<'a> {
    setup: &'a Setup<'a>,
    folder: &'a RunFolder,
    network: &'a Network,
    desk: &'a Desk,
    plan: &'a Plan,
}

/// What is left of playback.
struct Playback {
    out: PlayOutput,
    end: End,
    governor: Option<Governor>,
}

impl Playback {
    /// Of a run that ended before anything was played.
    fn refused(out: PlayOutput, (ended, reason): (Ended, Option<String>)) -> Self {
        let end = End {
            ended,
            reason,
            played: None,
        };
        Self {
            out,
            end,
            governor: None,
        }
    }
}

/// The result of playback.
struct Played<O> {
    report: Report,
    out: O,
    ended: Ended,
    unsent_bytes: u64,
}

impl Stage<'_> {
    /// Connects the player with what waits for answers, watches processes and records, and plays.
    fn run(
        &self,
        player: Player,
        out: PlayOutput,
        (governor, watch): (Governor, Option<ProcessEnds>),
        (mut under_test, rest): (UnderTest, &mut Rest<'_>),
    ) -> Result<Playback, Failure> {
        let &Self {
            setup,
            network,
            desk,
            plan,
            ..
        } = self;
        let args = setup.args;
        let told = watch.as_ref().map(|watch| watch.told().clone());
        under_test.process_ends = told.unwrap_or_else(never);
        let (start, shift) = (plan.options.entry(), plan.options.clock.shift);
        let topics = driven_topics(setup.bag, plan);
        let out = rest.record_inputs(out, plan, desk);
        let out = Driven::new(out, desk.clone(), topics, &args.ci.gate, start, shift);
        let (source, reach) = source(setup.bag, plan, args.time.read_ahead, &player, network)?;
        if let Some(ended) = wait_for_rest(setup, network, desk, &mut under_test) {
            let out = out.into_inner().into_inner();
            return Ok(Playback {
                governor: Some(governor),
                ..Playback::refused(out, (ended, under_test.reason))
            });
        }
        let Played {
            report,
            out,
            mut ended,
            unsent_bytes,
        } = self.play((player, source, out), reach, (&mut under_test, rest))?;
        let unread = watch.map(ProcessEnds::finish).unwrap_or_default();
        if under_test.takes_any_failure(&unread) && ended.how == Ending::End {
            ended = Ended::failed(Exit::Child);
        }
        rest.notes.append(&mut under_test.notes);
        rest.mismatches = under_test.mismatches;
        Ok(Playback {
            out: out.into_inner().into_inner(),
            end: End {
                ended,
                reason: under_test.reason,
                played: Some((report, unsent_bytes)),
            },
            governor: Some(governor),
        })
    }

    /// Plays, and waits until all questions are answered and all outputs have come.
    fn play<O: Output + Send + 'static>(
        &self,
        (player, source, out): (Player, Source, O),
        reach: Reach,
        (under_test, rest): (&mut UnderTest, &mut Rest<'_>),
    ) -> Result<Played<O>, Failure> {
        let &Self {
            setup,
            folder,
            network,
            desk,
            plan,
        } = self;
        let transport = player.transport();
        let has_state = setup.args.clock.clock_state;
        let _state = network.serve_state(has_state, plan, &transport)?;
        under_test.mute_published(network);
        let running = player
            .start(plan.options.clone(), source, out)
            .context("the player's thread cannot be started")
            .or_exit(Exit::Failed)?;
        let run = Run {
            rules: Rules::of_ci(setup.args),
            plan,
            hints: &Hints::new(setup.args, plan, setup.bag.topics()),
            streams: Vec::new(),
            network,
            log_target: setup.log_target,
            transport,
            signals: setup.signals.clone(),
            followed: None,
        };
        let begun = begin_on_system(setup, (network, desk), folder, plan, under_test);
        let watched = if let Some(ended) = rest.begins(begun) {
            // A player that has already stopped is fine.
            let _ = run.transport.send(Command::Stop);
            ended
        } else {
            let subject = Subject::Recording(reach);
            headless::watch(&run, under_test, &running, subject, true)
        };
        let (report, out, ended) = shutdown::join(&run, running, Ok(watched))?;
        let (mut ended, unsent_bytes) = shutdown::drain(&run, ended);
        if ended.how == Ending::End {
            let before = "everything was answered";
            ended = drain(setup, network, desk, under_test, before);
        }
        if ended.how == Ending::End && !report.reached_end {
            ended.how = Ending::Stopped;
        }
        Ok(Played {
            report,
            out,
            ended,
            unsent_bytes,
        })
    }
}
