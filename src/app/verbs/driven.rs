//! [`Driven`]: a player elsewhere that is driven or watched, and what its answers mean.

use std::time::Duration as StdDuration;

use anyhow::anyhow;
use bagplay::cli::{Exit, Format, OutputArgs, RemoteResult, RemoteStatus};
use bagplay::time::{Duration, Ros, Time, TimeRange};
use bagplay::untrusted::Foreign;
use bagplay::wire::services::messages::bagplay::PlayerStatus;
use bagplay::wire::services::messages::service::Stamp;
use bagplay::wire::{CallError, PlayerClient, RequestError, Session};
use crossbeam_channel::Receiver;

use super::find_player::now;
use crate::app::failure::Failure;
use crate::app::log::stdout;

/// How often a player is asked for its status while something is waited for.
pub(super) const ASK_EVERY: StdDuration = StdDuration::from_millis(50);

/// How long after its last sign a lost connection is known to be lost.
pub(super) const LOSS_IS_KNOWN: StdDuration = StdDuration::from_millis(300);

/// One player.
pub(super) struct Driven<'a> {
    pub(super) session: &'a Session,
    /// Gets something at each event on the network.
    pub(super) changes: &'a Receiver<()>,
    pub(super) player: PlayerClient<'a>,
    pub(super) output: &'a OutputArgs,
}

impl Driven<'_> {
    /// Prints a result in the format that was asked for.
    pub(super) fn print(&self, result: &RemoteResult) -> Result<(), Failure> {
        match self.output.format {
            Format::Json => stdout::json(result),
            Format::Text => stdout::page(&result.to_string()),
        }
    }

    /// Adds to `result` what the player is doing now.
    pub(super) fn describe(&self, result: &mut RemoteResult) -> Result<(), RequestError> {
        if self.player.is_ours() {
            result.status = Some(RemoteStatus::new(&self.player.status()?));
        } else {
            result.paused = Some(self.player.is_paused()?);
            result.rate = Some(self.player.rate()?);
        }
        Ok(())
    }

    /// Whether the connection to the network is lost. What a lost link had announced can be gone before the loss is known.
    pub(super) fn loses_path(&self) -> bool {
        let deadline = now() + LOSS_IS_KNOWN;
        while self.player.has_path() {
            let left = deadline.saturating_duration_since(now());
            if left.is_zero() {
                return false;
            }
            // It may have been another event; a closed channel cannot be, as the session is open.
            let _ = self.changes.recv_timeout(left);
        }
        true
    }

    /// The error of a lost connection.
    pub(super) fn lost(&self) -> Failure {
        let node = Foreign::text(self.player.node()).to_string();
        let error = anyhow!("the connection to {node} is lost, or its run was ended");
        Failure::new(Exit::Timeout, error)
    }
}

/// Whether a call failed because the player has left the network. If the player was the router, its end cannot be told
/// from a lost connection.
pub(super) fn is_gone(error: &RequestError) -> bool {
    matches!(
        error,
        RequestError::NotOffered { .. } | RequestError::Call(CallError::NoServer)
    )
}

/// A time of the player's clock.
pub(super) fn clock(stamp: Stamp) -> Time<Ros> {
    stamp.time().unwrap_or(Time::ZERO)
}

/// The recording, in times of the player's clock.
pub(super) fn recording(status: &PlayerStatus) -> TimeRange {
    TimeRange::between(clock(status.recording_start), clock(status.recording_end))
}

/// Where a player that played on after this status was after `passed`, at the end of its range at the latest.
pub(super) fn reached_by(status: &PlayerStatus, passed: StdDuration) -> Time<Ros> {
    let (start, end) = status.current_range();
    let end = if status.rate < 0.0 { start } else { end };
    let (from, end) = (clock(status.clock), clock(end));
    if status.state != "playing" {
        return from;
    }
    let span = Duration::from_secs_f64(passed.as_secs_f64() * status.rate);
    let range = TimeRange::between(from, end);
    // As fast as possible, or with another clock: it may have been anywhere.
    span.map_or(end, |span| range.clamp(from.saturating_add(span)))
}

/// The error of a call that failed, with its exit code.
pub(super) fn failure(error: &RequestError) -> Failure {
    let exit = match error {
        RequestError::Call(_) => Exit::Timeout,
        _ => Exit::Failed,
    };
    Failure::new(exit, anyhow!("{}", Foreign::text(&error.to_string())))
}
