//! Finds the player that `play ctl` drives.

use std::time::{Duration as StdDuration, Instant};

use anyhow::anyhow;
use bagplay::cli::{Exit, ReachArgs};
use bagplay::untrusted::Foreign;
use bagplay::wire::{FoundPlayer, Session, WireOptions};
use crossbeam_channel::{Receiver, bounded};

use crate::app::failure::{Failure, OrExit};

/// How often the graph is looked at while there is no player.
const LOOK_EVERY: StdDuration = StdDuration::from_millis(50);
/// The router of this machine.
const HERE: &str = "tcp/localhost:7447";

/// Joins the network as a node that becomes no router; the receiver gets something at each change on the network.
pub(super) fn join(reach: &ReachArgs) -> Result<(Session, Receiver<()>), Failure> {
    let (tell, changes) = bounded(1);
    let connect = if reach.connect.is_empty() && reach.zenoh_config.is_none() {
        vec![HERE.to_owned()]
    } else {
        reach.connect.clone()
    };
    let options = WireOptions {
        domain_id: reach.domain_id,
        node_name: format!("bagplay_ctl_{}", std::process::id()),
        connect,
        config_file: reach.zenoh_config.clone(),
        ..WireOptions::default()
    };
    let session = Session::open(&options, move |_| {
        // One that waits is enough.
        let _ = tell.try_send(());
    });
    Ok((session.or_exit(Exit::Failed)?, changes))
}

/// The player with this name, or the only one there is. Waits until there is one.
pub(super) fn find(
    session: &Session,
    changes: &Receiver<()>,
    node: Option<&str>,
    timeout: StdDuration,
) -> Result<FoundPlayer, Failure> {
    let name = node.map(|node| format!("/{}", node.trim_start_matches('/')));
    let is_wanted = |player: &FoundPlayer| name.as_ref().is_none_or(|name| player.node == *name);
    let deadline = now() + timeout;
    loop {
        let all = session.players();
        let mut wanted = all.iter().filter(|player| is_wanted(player));
        match (wanted.next(), wanted.next()) {
            (Some(player), None) => return Ok(player.clone()),
            (Some(first), Some(second)) => return Err(ambiguous(&all, first, second)),
            (None, _) if now() >= deadline => {
                let who = name.as_deref().unwrap_or("player");
                let there = if all.is_empty() {
                    String::new()
                } else {
                    format!("; there is {}", list(&all))
                };
                let error = anyhow!(
                    "no {} on the network within {} s{there}; {}",
                    Foreign::text(who),
                    timeout.as_secs_f64(),
                    session.describe()
                );
                return Err(Failure::new(Exit::Timeout, error));
            }
            (None, _) => {
                // Tokens of nodes that concern this session alone are reported, so look again in any case.
                let _ = changes.recv_timeout(LOOK_EVERY);
            }
        }
    }
}

fn ambiguous(all: &[FoundPlayer], first: &FoundPlayer, second: &FoundPlayer) -> Failure {
    if first.node == second.node {
        let error = anyhow!(
            "two players have the name {}: both would be driven; hint: start them with --node-name",
            Foreign::text(&first.node)
        );
        return Failure::new(Exit::Failed, error);
    }
    let error = anyhow!(
        "there are several players: {}; hint: --node NAME",
        list(all)
    );
    Failure::new(Exit::Usage, error)
}

fn list(players: &[FoundPlayer]) -> String {
    let names: Vec<String> = players
        .iter()
        .map(|player| Foreign::text(&player.node).to_string())
        .collect();
    names.join(", ")
}

#[expect(clippy::disallowed_methods, reason = "a wait is in wall time")]
pub(super) fn now() -> Instant {
    Instant::now()
}
