//! The end of a run on the network: slow subscribers receive the last messages, unless the user wants to leave.

use std::fmt::Display;
use std::thread;
use std::time::Duration;

use bagplay::cli::{Ending, Exit, Format, bytes};
use bagplay::player::{Command, Report, Running};
use bagplay::wire::{Drained, PlayerServices};
use crossbeam_channel::bounded;
use serde::Serialize;

use super::{Ended, Run, SLOW};
use crate::app::failure::{Failure, OrExit};
use crate::app::log::stdout;
use crate::app::network::{Network, PlayOutput};

/// Longer than leaving takes, also if a master of ROS 1 does not answer.
const A_MOMENT: Duration = Duration::from_secs(4);
/// How long responses may take to leave before their services do.
const RESPONSES_LEAVE: bagplay::time::Duration = bagplay::time::Duration::from_millis(500);

/// Waits for the player. If the loop that watched it has failed, the player is stopped: it must not go on alone.
pub(crate) fn join<O>(
    run: &Run<'_>,
    running: Running<O>,
    watched: Result<Ended, Failure>,
) -> Result<(Report, O, Ended), Failure> {
    if watched.is_err() {
        // A player that has already stopped is fine.
        let _ = run.transport.send(Command::Stop);
    }
    let (report, out) = running.join().or_exit(Exit::Failed)?;
    Ok((report, out, watched?))
}

/// Tells clients the end of the player. Returns when its services can leave the network: when the last responses have
/// left, or after a moment.
pub(crate) fn tell_end(run: &Run<'_>, services: &[PlayerServices]) {
    let mut are_on_their_way = false;
    for services in services {
        are_on_their_way |= services.tell_end();
    }
    if are_on_their_way {
        let until = run.transport.now().saturating_add(RESPONSES_LEAVE);
        // What is left by then leaves later, or is lost.
        let _ = run.network.drain(|| run.transport.now() >= until);
    }
}

/// Waits until all data has been sent; to be called while the topics are still declared. Returns how the run ended, now
/// that it is over, and how many bytes no subscriber had taken.
pub(crate) fn drain(run: &Run<'_>, mut ended: Ended) -> (Ended, u64) {
    // A requested end does not wait for subscribers.
    let mut is_asked = !matches!(ended.how, Ending::End | Ending::Failed);
    let mut explains_at = Some(run.transport.now().saturating_add(SLOW));
    let drained = run.network.drain(|| {
        if let Ok(exit) = run.signals.try_recv() {
            is_asked = true;
            // The first reason counts.
            if ended.how == Ending::End {
                let how = Ending::Interrupted;
                ended = Ended { how, exit };
            }
        }
        let now = run.transport.now();
        if !is_asked && explains_at.take_if(|at| *at <= now).is_some() {
            tracing::info!("subscribers are still taking the last messages; ctrl-C ends now");
        }
        is_asked
    });
    let left = drained.bytes();
    let nodes = match drained {
        Drained::Whole => Vec::new(),
        Drained::Untaken { .. } | Drained::CalledOff { .. } => run.network.late_nodes(),
    };
    if matches!(drained, Drained::Untaken { .. }) || !nodes.is_empty() {
        let who = if nodes.is_empty() {
            "a subscriber".to_owned()
        } else {
            nodes.join(", ")
        };
        tracing::warn!(
            "{who} did not take the last messages, at least {}",
            bytes(left)
        );
    }
    (ended, left)
}

/// Takes the topics off the network, then the node. A blocked subscriber could delay that, and a closed link lingers
/// for ten seconds; the system goes on sending when the program has ended.
pub(crate) fn leave(network: Network, out: PlayOutput) {
    let (told, is_through) = bounded::<()>(0);
    let go = move || {
        network.leave(out);
        drop(told);
    };
    // If the thread cannot be started, the closure and its session are dropped.
    let _ = thread::Builder::new()
        .name("leave-network".into())
        .spawn(go);
    // Nothing is sent: the sender is dropped at the end.
    let _ = is_through.recv_timeout(A_MOMENT);
}

/// Writes the summary of a run: as a result, or for people into the log. A result that cannot be written is a failure;
/// a closed pipe is not.
pub(crate) fn report<S: Serialize + Display>(
    format: Format,
    is_ascii: bool,
    summary: &S,
) -> Result<(), Failure> {
    match format {
        Format::Json => match stdout::json(summary) {
            Err(failure) if failure.is_closed_pipe() => Ok(()),
            done => done,
        },
        Format::Text => {
            let text = if is_ascii {
                format!("{summary:#}")
            } else {
                summary.to_string()
            };
            for line in text.lines() {
                tracing::info!("{line}");
            }
            Ok(())
        }
    }
}
