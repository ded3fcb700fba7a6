//! Finds the player that `play ctl` drives.

use std::time::{Duration as StdDuration, Instant};

use anyhow::anyhow;
use bagplay::cli::{Exit, ReachArgs};
use bagplay::untrusted::Foreign;
use bagplay::wire::{FoundPlayer, Session, WireOptions};
use crossbeam_channel::{Receiver, bounded};

use crate::app::failure::Failure;
use crate::app::network;

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
    Ok((session.map_err(network::failure)?, changes))
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
        let wanted: Vec<&FoundPlayer> = all.iter().filter(|player| is_wanted(player)).collect();
        match &wanted[..] {
            [player] => return Ok(FoundPlayer::clone(player)),
            [_, _, ..] => return Err(ambiguous(&wanted)),
            [] if now() >= deadline => {
                let who = name.as_deref().unwrap_or("player");
                let there = if all.is_empty() {
                    String::new()
                } else {
                    format!("; there is {}", list(all.iter().map(|it| &it.node)))
                };
                let error = anyhow!(
                    "no {} on the network within {} s{there}; {}",
                    Foreign::text(who),
                    timeout.as_secs_f64(),
                    session.describe()
                );
                return Err(Failure::new(Exit::Timeout, error));
            }
            [] => {
                // Tokens of nodes that concern this session alone are reported, so look again in any case.
                let _ = changes.recv_timeout(LOOK_EVERY);
            }
        }
    }
}

/// Several players that are wanted. The services of those with one name are the same: a call drives all of them.
fn ambiguous(wanted: &[&FoundPlayer]) -> Failure {
    let twin = wanted
        .windows(2)
        .find(|pair| pair[0].node == pair[1].node)
        .map(|pair| &pair[0].node);
    let Some(name) = twin else {
        let error = anyhow!(
            "there are several players: {}; hint: --node NAME",
            list(wanted.iter().map(|player| &player.node))
        );
        return Failure::new(Exit::Usage, error);
    };
    let twins = wanted.iter().filter(|player| player.node == *name);
    let error = anyhow!(
        "players in the sessions {} have the name {}: all of them would be driven; hint: start them with --node-name",
        list(twins.map(|player| &player.zid)),
        Foreign::text(name)
    );
    Failure::new(Exit::Failed, error)
}

fn list<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<String> = names.map(|name| Foreign::text(name).to_string()).collect();
    names.join(", ")
}

#[expect(clippy::disallowed_methods, reason = "a wait is in wall time")]
pub(super) fn now() -> Instant {
    Instant::now()
}
