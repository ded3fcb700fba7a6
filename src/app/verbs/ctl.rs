//! `play ctl`: drives a player elsewhere by its services.

use bagplay::cli::{
    CtlArgs, CtlCommand, Exit, Format, LoopArg, OutputArgs, RemoteResult, When, plural,
};
use bagplay::player::{Pace, Refusal, State};
use bagplay::time::Time;
use bagplay::wire::services::messages::bagplay::{RangeRequest, StepRequest};
use bagplay::wire::services::messages::service::Stamp;
use bagplay::wire::{PlayerClient, RequestError};

use super::driven::{Driven, NotDone, failure};
use super::find_player::{find, join, leave};
use super::wait_until::wait_until;
use super::watch_player::watch;
use crate::app::failure::Failure;
use crate::app::log::stdout;

/// `play ctl COMMAND`.
pub(crate) fn run(args: &CtlArgs, output: &OutputArgs) -> Result<Exit, Failure> {
    let timeout = args.timeout.to_std();
    let (session, changes) = join(&args.reach)?;
    let found = find(&session, &changes, args.node.as_deref(), timeout);
    let done = found.and_then(|player| {
        let ctl = Ctl(Driven {
            session: &session,
            player: PlayerClient::new(&session, player, timeout),
            output,
        });
        ctl.run(&args.command)
    });
    leave(session);
    done
}

/// Drives one player.
struct Ctl<'a>(Driven<'a>);

impl Ctl<'_> {
    fn run(&self, command: &CtlCommand) -> Result<Exit, Failure> {
        let mut result = RemoteResult {
            node: self.0.player.node().to_owned(),
            command: command.name(),
            success: true,
            ..RemoteResult::default()
        };
        let outcome = match command {
            CtlCommand::Status { watch: true } => return watch(&self.0),
            CtlCommand::WaitUntil { time } => wait_until(&self.0, *time),
            command => self.carry_out(command, &mut result).map_err(NotDone::from),
        };
        // The run may end with the command or right after it: then there is no status to show.
        let described = outcome.and_then(|()| match command {
            CtlCommand::Stop => Ok(()),
            CtlCommand::Status { .. } => Ok(self.0.describe(&mut result)?),
            _ => {
                let _ = self.0.describe(&mut result);
                Ok(())
            }
        });
        if let Err(error) = described {
            (result.success, result.message) = (false, Some(error.to_string()));
            if self.0.output.format == Format::Json {
                if matches!(error, NotDone::Request(RequestError::Refused(_))) {
                    // A step that was refused in part has moved playback.
                    let _ = self.0.describe(&mut result);
                }
                stdout::json(&result)?;
            }
            return Err(failure(&error));
        }
        self.0.print(&result)?;
        Ok(Exit::Done)
    }

    fn carry_out(
        &self,
        command: &CtlCommand,
        result: &mut RemoteResult,
    ) -> Result<(), RequestError> {
        match command {
            CtlCommand::Pause => {
                self.0.player.pause()?;
                // The service has no response that says so.
                if self.0.player.is_paused()? {
                    Ok(())
                } else {
                    Err(self.refused("the player does not pause"))
                }
            }
            CtlCommand::Resume => self.0.player.resume(),
            CtlCommand::Toggle => {
                // The service has no response that says so.
                let refusal = self.refusal_of_follower();
                self.0.player.toggle_paused()?;
                refusal.map_or(Ok(()), |reason| Err(RequestError::Refused(reason)))
            }
            CtlCommand::Rate { rate } => self.0.player.set_rate(match rate {
                Pace::At(speed) => speed.as_f64(),
                Pace::Max | Pace::Follow => f64::INFINITY,
            }),
            CtlCommand::Seek { to } => {
                let landed = self.0.player.seek(self.0.time(*to)?)?;
                result.landed_ns = landed.map(Time::as_nanos);
                Ok(())
            }
            CtlCommand::Step { steps, topic } => self.step(*steps, topic.as_deref(), result),
            CtlCommand::Burst { number } => {
                let published = self.0.player.burst(*number)?;
                result.published = Some(published);
                if published == 0 && !self.0.player.is_paused()? {
                    return Err(self.refused("the player is not paused"));
                }
                Ok(())
            }
            CtlCommand::Loop { range } => self.set_loop(*range),
            CtlCommand::Stop => self.0.player.stop(),
            CtlCommand::Status { .. } | CtlCommand::WaitUntil { .. } => Ok(()),
        }
    }

    /// A refusal without a reason in the response.
    fn refused(&self, usual: &str) -> RequestError {
        let reason = self.refusal_of_follower();
        RequestError::Refused(reason.unwrap_or_else(|| usual.to_owned()))
    }

    /// Why a player cannot be paused that follows another clock; `None` if it follows none, or is paused.
    fn refusal_of_follower(&self) -> Option<String> {
        if !self.0.player.is_ours() {
            return None;
        }
        let view = self.0.player.view().ok()?;
        let is_moved = view.pace == Pace::Follow && view.state != State::Paused;
        is_moved.then(|| Refusal::Following.in_words(view.followed.as_deref()))
    }

    fn step(
        &self,
        steps: i64,
        topic: Option<&str>,
        result: &mut RemoteResult,
    ) -> Result<(), RequestError> {
        if !self.0.player.is_ours() && topic.is_none() && steps > 0 {
            self.0.player.pause()?;
            let published = self.0.player.burst(steps.unsigned_abs())?;
            result.published = Some(published);
            return if published < steps.unsigned_abs() {
                let reason = "there is no next message".to_owned();
                Err(RequestError::Refused(reason))
            } else {
                Ok(())
            };
        }
        let request = StepRequest {
            steps,
            topic: topic.unwrap_or_default().to_owned(),
        };
        let stepped = self.0.player.step(&request)?;
        result.published = Some(stepped.published);
        if stepped.success {
            return Ok(());
        }
        let reason = stepped.message;
        Err(RequestError::Refused(if stepped.published > 0 {
            let published = plural(stepped.published, "message");
            format!("fewer steps than asked for, {published} published: {reason}")
        } else {
            reason
        }))
    }

    fn set_loop(&self, range: LoopArg) -> Result<(), RequestError> {
        let player = &self.0.player;
        match range {
            LoopArg::On => player.set_range(&RangeRequest::none(true)),
            LoopArg::Off => {
                player.set_loop(&RangeRequest::none(false))?;
                player.set_range(&RangeRequest::none(false))
            }
            LoopArg::Range(range) => {
                let at = |when: Option<When>| when.map(|when| self.0.time(when)).transpose();
                let (start, end) = (at(range.from)?, at(range.to)?);
                player.set_loop(&RangeRequest {
                    is_loop: true,
                    start: start.map(Stamp::of).unwrap_or_default(),
                    end: end.map(Stamp::of).unwrap_or_default(),
                })
            }
        }
    }
}
