//! The beginning of a run on the network.

use anyhow::Context;
use bagplay::cli::{Exit, OnDisconnect, Plan, WireArgs};
use bagplay::player::Gate;
use crossbeam_channel::Receiver;

use super::Rules;
use crate::app::failure::{Failure, OrExit};
use crate::app::network::Network;
use crate::app::signals;

/// Joins the network and begins to receive signals. Without a path to the network the plan holds playback, or this fails,
/// as the rules say; it fails if they do not allow another publisher of `/clock` and there is one.
pub(crate) fn join(
    wire: &WireArgs,
    rules: Rules,
    plan: &mut Plan,
) -> Result<(Network, Receiver<Exit>), Failure> {
    let network = Network::join(wire)?;
    // Until here a signal simply ends the process: there is nothing to clean up yet.
    let signals = signals::listen()
        .context("signals cannot be received")
        .or_exit(Exit::Failed)?;
    if let Some(description) = network.describe() {
        tracing::info!("{description}");
    }
    require_path(rules.on_disconnect, &network, plan)?;
    if rules.strict_clock && plan.options.clock.is_served() {
        network.require_sole_clock()?;
    }
    Ok((network, signals))
}

/// Without a path every message would be lost: playback waits for one, or does not begin.
fn require_path(
    on_disconnect: OnDisconnect,
    network: &Network,
    plan: &mut Plan,
) -> Result<(), Failure> {
    match on_disconnect {
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
