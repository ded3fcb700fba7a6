//! The beginning of a run on the network.

use anyhow::Context;
use bagplay::cli::{Exit, OnDisconnect, Plan};
use bagplay::player::Gate;
use crossbeam_channel::Receiver;

use super::Rules;
use crate::app::failure::{Failure, OrExit};
use crate::app::network::Network;
use crate::app::signals;

/// Says how the network was joined. Without a path to it the plan holds playback, or this fails, as the rules say; it
/// fails if they do not allow another publisher of `/clock` and there is one.
pub(crate) fn begin(network: &Network, rules: Rules, plan: &mut Plan) -> Result<(), Failure> {
    for description in network.descriptions() {
        tracing::info!("{description}");
    }
    require_path(rules.on_disconnect, network, plan)?;
    if rules.strict_clock && plan.options.clock.is_served() {
        network.require_sole_clock()?;
    }
    Ok(())
}

/// Begins to receive signals. To be called after the network was joined and before the log says so. Before this call a
/// signal ends the process at once, because there is nothing to clean up: topics and parameters come with
/// [`Network::advertise`].
pub(crate) fn receive_signals() -> Result<Receiver<Exit>, Failure> {
    signals::listen()
        .context("signals cannot be received")
        .or_exit(Exit::Failed)
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
