//! `play clock`: a clock server without a recording, which is a player without messages.

use std::convert::identity;

use anyhow::Context;
use bagplay::cli::{
    ClockServerArgs, ClockSourceArg, ClockSummary, Ending, Exit, Hints, OnDisconnect, OutputArgs,
    clock_plan,
};
use bagplay::clock::Clock;
use bagplay::player::{Intent, Player, Source};
use bagplay::time::Duration;

use super::machine_time::{MachineClock, MachineTime};
use crate::app::failure::{Failure, OrExit};
use crate::app::headless;
use crate::app::headless::enter_key;
use crate::app::headless::progress_line::Subject;
use crate::app::log::LogTarget;
use crate::app::network::{Network, of_clock_server};
use crate::app::supervise::join::{begin, receive_signals};
use crate::app::supervise::under_test::UnderTest;
use crate::app::supervise::{Rules, Run, shutdown};

/// Serves the clock until it is stopped, and prints the summary.
pub(crate) fn run(
    args: &ClockServerArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    let now = Clock::system().now().assume_ros();
    let mut plan = clock_plan(args, now).or_exit(Exit::Usage)?;
    let rules = Rules {
        on_disconnect: match args.wire.on_disconnect {
            // The machine's time does not wait for a connection.
            OnDisconnect::Hold if args.source.is_of_machine() => OnDisconnect::Continue,
            as_asked => as_asked,
        },
        wait_timeout: Duration::ZERO,
        strict_clock: args.strict_clock,
        path_limit: None,
    };
    let player = Player::new();
    let transport = player.transport();
    let machine_clock = match args.source {
        ClockSourceArg::Sim => None,
        ClockSourceArg::System => Some(MachineClock::System),
        ClockSourceArg::Steady => Some(MachineClock::Steady),
    };
    let machine_time = machine_clock
        .map(|clock| MachineTime::start(clock, &transport))
        .transpose()?;
    let start = machine_time
        .as_ref()
        .map_or(plan.options.entry(), MachineTime::first);
    let mut network = Network::join(&args.wire, identity)?;
    let signals = receive_signals()?;
    begin(&network, rules, &mut plan)?;
    let out = network.advertise_clock(args.hz)?;
    let state = network.serve_state(args.clock_state, &plan, &transport)?;
    let running = player
        .start(plan.options.clone(), Source::empty(), out)
        .context("the player's thread cannot be started")
        .or_exit(Exit::Failed)?;
    let timeline = network.serve_no_recording(&plan, &transport)?;
    let description = of_clock_server(args, &plan);
    network.serve_node(&description, &transport, log_target)?;
    let services = network.serve_player(&plan, &transport)?;
    let run = Run {
        rules,
        plan: &plan,
        hints: &Hints::of_clock(),
        streams: Vec::new(),
        network: &network,
        log_target,
        transport,
        signals,
        followed: None,
    };
    if plan.options.intent == Intent::Pause {
        enter_key::listen(
            run.transport.clone(),
            false,
            args.wire.resume_command().as_deref(),
        );
    }
    let subject = Subject::Clock(args.source.name(), start);
    let watched = headless::watch(&run, &mut UnderTest::default(), &running, subject, true);
    let (report, out, ending) = shutdown::join(&run, running, Ok(watched))?;
    shutdown::tell_end(&run, &services);
    drop((state, services, timeline, machine_time));
    let (mut ending, _) = shutdown::drain(&run, ending);
    let last = run.transport.status();
    shutdown::leave(network, out);
    // A clock has no end of its own: somebody stopped it.
    if ending.how == Ending::End {
        ending.how = Ending::Stopped;
    }
    let summary = ClockSummary::new(args.source, &plan, &report, (start, last), ending.how);
    shutdown::report(output.format, false, &summary)?;
    Ok(ending.exit)
}
