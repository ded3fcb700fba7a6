//! `play BAG…`: the whole of a run, in the order in which it happens.

use std::fs::File;
use std::path::Path;

use anyhow::Context;
use bagplay::bag::{Bag, Cues, Note, Reach, Selection};
use bagplay::cli::{
    Ending, Exit, Format, Hints, OnDisconnect, OutputArgs, Plan, PlayArgs, Summary, plan,
};
use bagplay::player::{Command, Gate, Player, Running, Source, WhenDone};
use bagplay::ros::QosOverrides;
use bagplay::untrusted::{Foreign, read_start};

#[cfg(feature = "tui")]
use super::bar;
use super::failure::{Failure, OrExit};
use super::headless;
use super::log::LogTarget;
use super::network::Network;
use super::open_bag;
use super::signals;
use super::supervise::{Ended, Run};
use crate::app::headless::enter_key;
use crate::app::log::stdout;
use crate::app::supervise::shallow_queues;
use crate::app::supervise::shutdown;

/// Opens the recordings, connects, plays and prints the summary.
pub(crate) fn run(
    args: &PlayArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    if args.bags.is_empty() {
        let error = anyhow::anyhow!("no recording is given; hint: play BAG.mcap, or play --help");
        return Err(Failure::new(Exit::Usage, error));
    }
    let interface = Interface::choose(args, output)?;
    let profiles = args.topics.qos_profile_overrides_path.as_deref();
    let profiles = profiles.map_or_else(|| Ok(QosOverrides::default()), profiles_in)?;
    let bag = open_bag::open(&args.bags, args.time.message_order.into(), log_target)?;
    open_bag::warn(&bag);
    let recording = bag
        .range()
        .ok_or_else(|| anyhow::anyhow!("no messages to play in {}", names(args)))
        .or_exit(Exit::Recording)?;
    if bag.topics().is_empty() {
        let error = anyhow::anyhow!("no topic is defined in {}", names(args));
        return Err(Failure::new(Exit::Recording, error));
    }
    let mut plan = plan(args, &profiles, recording, bag.topics()).or_exit(Exit::Usage)?;
    plan.options.digest = output.format == Format::Json;
    plan.options.when_done = interface.when_done();
    for warning in &plan.warnings {
        tracing::warn!("{warning}");
    }

    let mut network = Network::join(&args.wire)?;
    // Until here a signal simply ends the process: there is nothing to clean up yet.
    let signals = signals::listen()
        .context("signals cannot be received")
        .or_exit(Exit::Failed)?;
    if let Some(description) = network.describe() {
        tracing::info!("{description}");
    }
    require_path(args, &network, &mut plan)?;
    if args.clock.strict_clock && plan.options.clock.is_served() {
        network.require_sole_clock()?;
    }
    let hints = Hints::new(args, &plan, bag.topics());
    let out = network.advertise(args, &bag, &mut plan, &hints)?;
    if plan.chosen.is_empty() && !plan.options.clock.is_served() {
        let error = anyhow::anyhow!(
            "nothing to play: no topic of the recording can be published with this --wire"
        );
        return Err(Failure::new(Exit::Recording, error));
    }
    let player = Player::new();
    let transport = player.transport();
    let (source, reach) = source(&bag, &plan, args.time.read_ahead, &player);
    let state = network.serve_state(args, &plan, &transport)?;
    let running = player
        .start(plan.options.clone(), source, out)
        .context("the player's thread cannot be started")
        .or_exit(Exit::Failed)?;
    let services = network.serve_player(args, &plan, &transport)?;
    let run = Run {
        args,
        plan: &plan,
        hints: &hints,
        streams: shallow_queues::streams(&bag, &plan),
        network: &network,
        log_target,
        transport,
        signals,
    };
    let ending = interface.watch(&run, &running, &bag, reach);
    if ending.is_err() {
        // The player runs without the watching loop, and must not go on when that has failed. A player that has already
        // stopped is fine.
        let _ = run.transport.send(Command::Stop);
    }
    let (report, out) = running.join().or_exit(Exit::Failed)?;
    let mut ending = ending?;
    drop((state, services));
    // Quitting after everything has been played is a normal end.
    if ending.how == Ending::Stopped && report.reached_end {
        ending.how = Ending::End;
    }
    let (mut ending, unsent_bytes) = shutdown::drain(&run, ending);
    let losses = run.network.losses().with_unsent_bytes(unsent_bytes);
    shutdown::leave(network, out);
    if ending.how == Ending::End && !report.reached_end {
        ending.how = Ending::Stopped;
    }

    let summary = Summary::new(&bag, &plan, &report, ending.how, &losses);
    match output.format {
        Format::Json => summary_json(&summary)?,
        Format::Text => {
            for line in summary.to_string().lines() {
                tracing::info!("{line}");
            }
        }
    }
    exit_code(args, &bag, &summary, ending)
}

/// The exit code of a run: that of its end, unless the run did not do everything that was requested.
fn exit_code(
    args: &PlayArgs,
    bag: &Bag,
    summary: &Summary,
    ending: Ended,
) -> Result<Exit, Failure> {
    if ending.exit != Exit::Done {
        return Ok(ending.exit);
    }
    if summary.damage().has_defect() {
        let error =
            anyhow::anyhow!("not everything was played, because of a defect in this program");
        return Err(Failure::new(Exit::Failed, error));
    }
    if ending.how == Ending::End && summary.is_empty() && summary.damage().total() > 0 {
        let error = anyhow::anyhow!("nothing was played: the recording is damaged");
        return Err(Failure::new(Exit::Recording, error));
    }
    let is_miscounted = |note: &Note| matches!(note, Note::Counts { .. });
    let is_damaged = summary.damage().total() > 0 || bag.notes().iter().any(is_miscounted);
    if args.time.strict && is_damaged {
        let error = anyhow::anyhow!("the recording is damaged (--strict)");
        return Err(Failure::new(Exit::Recording, error));
    }
    if args.time.strict && summary.has_losses() {
        let error = anyhow::anyhow!("a subscriber missed messages (--strict)");
        return Err(Failure::new(Exit::Failed, error));
    }
    Ok(Exit::Done)
}

/// The output that the user sees during a run.
enum Interface {
    /// A progress line and the log.
    Headless,
    /// The transport bar.
    #[cfg(feature = "tui")]
    Bar(Box<bar::Setup>),
}

impl Interface {
    #[cfg(feature = "tui")]
    fn choose(args: &PlayArgs, output: &OutputArgs) -> Result<Self, Failure> {
        Ok(bar::setup(args, output)?.map_or(Self::Headless, |setup| Self::Bar(Box::new(setup))))
    }

    #[cfg(not(feature = "tui"))]
    fn choose(args: &PlayArgs, _: &OutputArgs) -> Result<Self, Failure> {
        if args.screen.tui {
            let error = anyhow::anyhow!("--tui: this program was built without the transport bar");
            return Err(Failure::new(Exit::Usage, error));
        }
        Ok(Self::Headless)
    }

    /// With the bar, the run does not end by itself.
    const fn when_done(&self) -> WhenDone {
        match self {
            Self::Headless => WhenDone::Stop,
            #[cfg(feature = "tui")]
            Self::Bar(_) => WhenDone::Stay,
        }
    }

    /// Watches until the player is done; returns how the run ended.
    #[cfg_attr(
        not(feature = "tui"),
        expect(clippy::unnecessary_wraps, reason = "the bar can fail")
    )]
    fn watch<O>(
        self,
        run: &Run<'_>,
        running: &Running<O>,
        bag: &Bag,
        reach: Reach,
    ) -> Result<Ended, Failure> {
        match self {
            Self::Headless => {
                #[cfg(not(feature = "tui"))]
                let _ = bag;
                if run.args.time.start_paused {
                    if run.args.ros.disable_keyboard_controls {
                        tracing::warn!(
                            "paused at the start, and no key can resume it; hint: play without --disable-keyboard-controls"
                        );
                    } else {
                        enter_key::listen(run.transport.clone());
                    }
                }
                Ok(headless::watch(run, running, reach))
            }
            #[cfg(feature = "tui")]
            Self::Bar(setup) => bar::watch(run, running, bag, reach, *setup),
        }
    }
}

/// The QoS profiles by topic from a file.
fn profiles_in(path: &Path) -> Result<QosOverrides, Failure> {
    // Any kind of file: process substitution of a shell gives a pipe.
    let read = || Ok(QosOverrides::parse(&read_start(File::open(path)?)?)?);
    let profiles: anyhow::Result<QosOverrides> = read();
    profiles
        .with_context(|| format!("--qos-profile-overrides-path: {}", Foreign::path(path)))
        .or_exit(Exit::Usage)
}

/// Without a path every message would be lost: playback waits for one, or does not begin.
fn require_path(args: &PlayArgs, network: &Network, plan: &mut Plan) -> Result<(), Failure> {
    match args.wire.on_disconnect {
        _ if network.initial_path.is_up => {}
        OnDisconnect::Hold => {
            tracing::warn!(
                "not connected to the network: playback is held; hint: --on-disconnect continue plays on without"
            );
            plan.options.gates = plan.options.gates.close(Gate::Path);
        }
        OnDisconnect::Exit => {
            return Err(Failure::new(
                Exit::Failed,
                anyhow::anyhow!("not connected to the network (--on-disconnect exit)"),
            ));
        }
        OnDisconnect::Continue => {}
    }
    Ok(())
}

/// The source of the player: the read-ahead over the chosen topics, and how far it has come.
fn source(bag: &Bag, plan: &Plan, read_ahead: u64, player: &Player) -> (Source, Reach) {
    let topics = Selection::of(plan.chosen.iter().map(|chosen| chosen.id), bag);
    let cues = Cues::new(bag.clone(), topics, read_ahead, player.waker());
    let reach = cues.reach();
    (Source::of(cues), reach)
}

fn names(args: &PlayArgs) -> String {
    let names: Vec<String> = args
        .bags
        .iter()
        .map(|bag| Foreign::path(bag).to_string())
        .collect();
    names.join(", ")
}

/// A result that cannot be written is a failure; a closed pipe is not.
fn summary_json(summary: &Summary) -> Result<(), Failure> {
    match stdout::json(summary) {
        Err(failure) if failure.is_closed_pipe() => Ok(()),
        done => done,
    }
}
