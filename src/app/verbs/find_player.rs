//! Finds the player that `play ctl` drives, or `play attach` shows.

use std::thread::Builder;
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
/// When to say what is waited for.
const SAY_AFTER: StdDuration = StdDuration::from_secs(1);
/// Longer than leaving takes when nothing blocks it.
const A_MOMENT: StdDuration = StdDuration::from_secs(1);
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

/// Leaves the network. A process that takes no connection could delay that for seconds.
pub(super) fn leave(session: Session) {
    let (told, is_through) = bounded::<()>(0);
    let go = move || {
        session.close();
        drop(told);
    };
    // If the thread cannot be started, the session is dropped with the closure.
    let _ = Builder::new().name("leave-network".into()).spawn(go);
    // Nothing is sent: the sender is dropped at the end.
    let _ = is_through.recv_timeout(A_MOMENT);
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
    let began = now();
    let (say_at, deadline) = (began + SAY_AFTER, began + timeout);
    let mut is_said = false;
    loop {
        let all = session.players();
        let wanted: Vec<&FoundPlayer> = all.iter().filter(|player| is_wanted(player)).collect();
        match &wanted[..] {
            [player] => return Ok(FoundPlayer::clone(player)),
            [_, _, ..] => return Err(ambiguous(&wanted)),
            [] if now() >= deadline => return Err(nobody(session, &all, name.as_deref(), timeout)),
            [] => {
                if !is_said && now() >= say_at {
                    is_said = true;
                    let who = Foreign::text(who(name.as_deref())).to_string();
                    tracing::info!("no {who} on the network yet; {}", network(session));
                }
                // Tokens of nodes that concern this session alone are reported, so look again in any case.
                let _ = changes.recv_timeout(LOOK_EVERY);
            }
        }
    }
}

/// Where players are looked for.
fn network(session: &Session) -> String {
    let domain = match session.domain_id() {
        0 => String::new(),
        domain => format!("ROS domain {domain}, "),
    };
    format!("{domain}{}", session.describe())
}

fn who(name: Option<&str>) -> &str {
    name.unwrap_or("player")
}

/// There is no player that is wanted, or it does not answer.
fn nobody(
    session: &Session,
    all: &[FoundPlayer],
    name: Option<&str>,
    timeout: StdDuration,
) -> Failure {
    let seconds = timeout.as_secs_f64();
    let mut silent = session.players_of_routers();
    silent.retain(|silent| {
        let is_wanted = name.is_none_or(|name| silent == name);
        is_wanted && all.iter().all(|found| found.node != *silent)
    });
    let network = network(session);
    let error = if silent.is_empty() {
        let there = if all.is_empty() {
            String::new()
        } else {
            format!("; there is {}", list(all.iter().map(|it| &it.node)))
        };
        let who = Foreign::text(who(name)).to_string();
        anyhow!("no {who} on the network within {seconds} s{there}; {network}")
    } else {
        let silent = list(silent.iter());
        anyhow!("{silent} is known to a router, but did not answer within {seconds} s; {network}")
    };
    Failure::new(Exit::Timeout, error)
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
