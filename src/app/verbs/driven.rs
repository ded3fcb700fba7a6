//! [`Driven`]: a player elsewhere that is driven or watched, and what is common to that.

use std::time::Duration;

use anyhow::anyhow;
use bagplay::cli::{Exit, Format, OutputArgs, RemoteResult, RemoteStatus, When, clock_range};
use bagplay::time::{Ros, Time};
use bagplay::untrusted::Foreign;
use bagplay::wire::{PlayerClient, RequestError, Session};

use crate::app::failure::Failure;
use crate::app::log::stdout;

/// How often a player is asked for its status while something is waited for.
pub(super) const ASK_EVERY: Duration = Duration::from_millis(50);

/// One player.
pub(super) struct Driven<'a> {
    pub(super) session: &'a Session,
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
            result.status = Some(RemoteStatus::new(&self.player.view()?));
        } else {
            result.paused = Some(self.player.is_paused()?);
            result.rate = Some(self.player.rate()?);
        }
        Ok(())
    }

    /// Prints what the player is doing.
    pub(super) fn print_status(&self, status: RemoteStatus) -> Result<(), Failure> {
        self.print(&RemoteResult {
            node: self.player.node().to_owned(),
            command: "status",
            success: true,
            status: Some(status),
            ..RemoteResult::default()
        })
    }

    /// The time that is meant, in the recording of the player.
    pub(super) fn time(&self, when: When) -> Result<Time<Ros>, RequestError> {
        if let When::At(time) = when {
            return Ok(time);
        }
        if !self.player.is_ours() {
            return Err(RequestError::Refused(format!(
                "{} does not report its recording: give an absolute time",
                self.player.node()
            )));
        }
        let recording = self.player.view()?.recording;
        if recording == clock_range() {
            let reason = "a clock has no recording: give an absolute time".to_owned();
            return Err(RequestError::Refused(reason));
        }
        Ok(when.in_range(recording))
    }

    /// The error of a lost connection.
    pub(super) fn lost(&self) -> NotDone {
        NotDone::Lost(self.player.node().to_owned())
    }
}

/// Why something was not carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotDone {
    /// The request failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The player with this node has gone, and has not said that its run was over.
    #[error("the connection to {0} is lost, or its run was ended")]
    Lost(String),
}

/// The error with its exit code.
pub(super) fn failure(error: &NotDone) -> Failure {
    let exit = match error {
        NotDone::Lost(_) | NotDone::Request(RequestError::Call(_)) => Exit::Timeout,
        NotDone::Request(_) => Exit::Failed,
    };
    Failure::new(exit, anyhow!("{}", Foreign::text(&error.to_string())))
}
