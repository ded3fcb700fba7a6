//! `play BAG…`: a run from opening to summary.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use bagplay::bag::{Bag, Cues, Direction, Note, Reach, Selection, StartAt};
use bagplay::cli::{
    Ending, Exit, Format, Hints, OrderOf, OutputArgs, Plan, PlayArgs, Summary, plan, plural,
};
use bagplay::player::{Player, Running, Source, WhenDone};
use bagplay::ros::QosOverrides;
use bagplay::time::{Ros, Time, TimeRange};
use bagplay::untrusted::{Foreign, read_start};
use bagplay::wire::{SendOrder, WireOptions};

use super::open_bag;
#[cfg(feature = "tui")]
use crate::app::bar;
use crate::app::failure::{Failure, OrExit};
use crate::app::headless;
use crate::app::headless::enter_key;
use crate::app::headless::progress_line::Subject;
use crate::app::log::LogTarget;
use crate::app::network::mark_book::MarkBook;
use crate::app::network::viewers::{self, Viewers};
use crate::app::network::{Network, of_player};
use crate::app::supervise::followed::Followed;
use crate::app::supervise::join::{begin, receive_signals};
use crate::app::supervise::shallow_queues;
use crate::app::supervise::shutdown;
use crate::app::supervise::under_test::UnderTest;
use crate::app::supervise::{Ended, Rules, Run};

/// Opens the recordings, connects, plays and prints the summary.
pub(crate) fn run(
    args: &PlayArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    let mut interface = Interface::choose(args, output)?;
    let (bag, mut plan) = prepare(args, log_target)?;
    plan.options.digest = output.format == Format::Json;
    plan.options.when_done = interface.when_done(args);
    let is_ascii = interface.is_ascii(args);

    let rules = Rules::of(args);
    let adapt = |options| WireOptions {
        ros1: args.topics.transcode.into(),
        source_stamps: args.ci.source_stamp.into(),
        order: match args.time.order {
            OrderOf::All => SendOrder::AllTopics,
            OrderOf::Topic => SendOrder::PerTopic,
        },
        ..options
    };
    let mut network = Network::join(&args.wire, adapt)?;
    let signals = receive_signals()?;
    let left_at = interface.prepare(&bag, plan.options.played.range);
    plan.options.begin_at = plan.options.begin_at.or(left_at);
    begin(&network, rules, &mut plan)?;
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
    let (source, reach) = source(&bag, &plan, args.time.read_ahead, &player, &network)?;
    let state = network.serve_state(args.clock.clock_state, &plan, &transport)?;
    let followed = Followed::of(&args.follow, &network, &plan, &transport)?;
    network.wait_for_routes();
    let (viewers, out) = viewers::serve(args, (&bag, &plan), &transport, out)?;
    let running = player
        .start(plan.options.clone(), source, out)
        .context("the player's thread cannot be started")
        .or_exit(Exit::Failed)?;
    let marks = Arc::new(MarkBook::of(args.bags.clone()));
    let followable = (&transport, reach.clone());
    let timeline = network.serve_recording(&plan, &bag, followable, Arc::clone(&marks))?;
    let description = of_player(args, &plan, &bag);
    network.serve_node(&description, &transport, log_target)?;
    // Clients take a node with these services for a player, so they come last.
    let services = network.serve_player(&plan, &transport)?;
    let run = Run {
        rules,
        plan: &plan,
        hints: &hints,
        streams: shallow_queues::streams(&bag, &plan),
        network: &network,
        log_target,
        transport,
        signals,
        followed,
    };
    let watched = interface.watch(args, &run, &running, &bag, reach, &marks);
    let (report, out, mut ending) = shutdown::join(&run, running, watched)?;
    shutdown::tell_end(&run, &services);
    drop((state, services, timeline));
    // Quitting after everything has been played is a normal end.
    if ending.how == Ending::Stopped && report.reached_end {
        ending.how = Ending::End;
    }
    let (mut ending, unsent_bytes) = shutdown::drain(&run, ending);
    let losses = run.network.losses().with_unsent_bytes(unsent_bytes);
    let by_wire = run.network.by_wire(&bag);
    let followed = run.followed.as_ref().map(Followed::summary);
    shutdown::leave(network, out);
    let viewers = viewers.map(Viewers::end);
    if ending.how == Ending::End && !report.reached_end {
        ending.how = Ending::Stopped;
    }

    let summary = Summary::new(&bag, &plan, &report, ending.how, &losses)
        .with_followed(followed)
        .with_viewers(viewers)
        .with_wires(by_wire);
    if ending.how == Ending::End && summary.is_empty() && has_no_message(&bag, &plan) {
        let range = plan.options.played.range;
        let (start, stop) = (range.start(), range.stop());
        tracing::warn!("no messages of the played topics from {start} s to {stop} s");
    }
    shutdown::report(output.format, is_ascii, &summary)?;
    exit_code(args, &bag, &summary, ending)
}

/// Opens the recordings, and finds out what is to be played of them.
pub(super) fn prepare(args: &PlayArgs, log_target: &LogTarget) -> Result<(Bag, Plan), Failure> {
    if args.bags.is_empty() {
        let error = anyhow::anyhow!("no recording is given; hint: play BAG.mcap, or play --help");
        return Err(Failure::new(Exit::Usage, error));
    }
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
    let plan = plan(args, &profiles, recording, bag.topics()).or_exit(Exit::Usage)?;
    for warning in &plan.warnings {
        tracing::warn!("{warning}");
    }
    for (count, from, to) in [
        (plan.in_other_form.to_ros2, "ROS 1", "ROS 2"),
        (plan.in_other_form.to_ros1, "ROS 2", "ROS 1"),
    ] {
        if count > 0 {
            let topics = plural(count, "topic");
            tracing::info!("{topics} with {from} messages, which are sent as {to} messages");
        }
    }
    Ok((bag, plan))
}

/// Whether topics are played that have no message in the range, and no damage there.
fn has_no_message(bag: &Bag, plan: &Plan) -> bool {
    let topics = Selection::of(plan.chosen.iter().map(|chosen| chosen.id), bag);
    let range = plan.options.played.range;
    let start = StartAt::At(range.start());
    let mut cursor = bag.cursor_within(&topics, start, Direction::Forward, range);
    !plan.chosen.is_empty() && cursor.next().is_none()
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
    if ending.how == Ending::End && summary.is_empty() && summary.has_dropped() {
        let error = anyhow::anyhow!("nothing was played: no message could be sent");
        return Err(Failure::new(Exit::Recording, error));
    }
    let is_miscounted = |note: &Note| matches!(note, Note::Counts { .. });
    let is_damaged = summary.damage().total() > 0 || bag.notes().iter().any(is_miscounted);
    if args.time.strict && is_damaged {
        let error = anyhow::anyhow!("the recording is damaged (--strict)");
        return Err(Failure::new(Exit::Recording, error));
    }
    if args.time.strict && summary.has_unsent() {
        let error = anyhow::anyhow!("messages of the recording could not be sent (--strict)");
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

    /// Where the player begins, if the recording was left there.
    fn prepare(&mut self, bag: &Bag, played: TimeRange) -> Option<Time<Ros>> {
        match self {
            Self::Headless => {
                let _ = (bag, played);
                None
            }
            #[cfg(feature = "tui")]
            Self::Bar(setup) => setup.prepare(bag, played),
        }
    }

    /// Whether everything is written in ASCII.
    const fn is_ascii(&self, args: &PlayArgs) -> bool {
        match self {
            Self::Headless => args.screen.ascii,
            #[cfg(feature = "tui")]
            Self::Bar(setup) => setup.is_ascii(),
        }
    }

    /// With the bar, the run does not end by itself.
    const fn when_done(&self, args: &PlayArgs) -> WhenDone {
        let follow = &args.follow;
        match self {
            // The clock that is followed may go back.
            _ if follow.follow.is_some() && !follow.follow_to_end => WhenDone::Stay,
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
        args: &PlayArgs,
        run: &Run<'_>,
        running: &Running<O>,
        bag: &Bag,
        reach: Reach,
        marks: &Arc<MarkBook>,
    ) -> Result<Ended, Failure> {
        match self {
            Self::Headless => {
                #[cfg(not(feature = "tui"))]
                let _ = (bag, marks);
                let has_viewers = args.viewers.foxglove.is_some();
                if args.time.start_paused {
                    if args.ros.disable_keyboard_controls {
                        if !has_viewers {
                            tracing::warn!(
                                "paused at the start, and no key can resume it; hint: play without --disable-keyboard-controls"
                            );
                        }
                    } else {
                        enter_key::listen(
                            run.transport.clone(),
                            has_viewers,
                            args.wire.resume_command().as_deref(),
                        );
                    }
                }
                let is_progress_wanted = args.ros.progress_bar_update_rate != Some(0);
                let subject = Subject::Recording(reach);
                Ok(headless::watch(
                    run,
                    &mut UnderTest::default(),
                    running,
                    subject,
                    is_progress_wanted,
                ))
            }
            #[cfg(feature = "tui")]
            Self::Bar(setup) => bar::watch(run, running, bag, reach, marks, *setup),
        }
    }
}

/// The QoS profiles by topic from a file.
pub(crate) fn profiles_in(path: &Path) -> Result<QosOverrides, Failure> {
    // Any kind of file: process substitution of a shell gives a pipe.
    let read = || Ok(QosOverrides::parse(&read_start(File::open(path)?)?)?);
    let profiles: anyhow::Result<QosOverrides> = read();
    profiles
        .with_context(|| format!("--qos-profile-overrides-path: {}", Foreign::path(path)))
        .or_exit(Exit::Usage)
}

/// The source of the player: the read-ahead over the chosen topics, and how far it has come.
pub(super) fn source(
    bag: &Bag,
    plan: &Plan,
    read_ahead: u64,
    player: &Player,
    network: &Network,
) -> Result<(Source, Reach), Failure> {
    let topics = Selection::of(plan.chosen.iter().map(|chosen| chosen.id), bag);
    let cues = Cues::new(bag.clone(), topics, read_ahead, player.waker())
        .with_memory(network.chunk_memory()?);
    let reach = cues.reach();
    Ok((Source::of(cues), reach))
}

fn names(args: &PlayArgs) -> String {
    let names: Vec<String> = args
        .bags
        .iter()
        .map(|bag| Foreign::path(bag).to_string())
        .collect();
    names.join(", ")
}
