//! `play ctl`: drives a player elsewhere by its services.

use std::time::{Duration as StdDuration, Instant};

use anyhow::anyhow;
use bagplay::cli::{
    CtlArgs, CtlCommand, Exit, Format, LoopArg, OutputArgs, RemoteResult, RemoteStatus, When,
};
use bagplay::player::Pace;
use bagplay::time::{Duration, Ros, Time, TimeRange};
use bagplay::untrusted::Foreign;
use bagplay::wire::services::messages::bagplay::{LoopRequest, PlayerStatus, StepRequest};
use bagplay::wire::services::messages::service::Stamp;
use bagplay::wire::{CallError, PlayerClient, RequestError};

use super::find_player::{find, join, now};
use crate::app::failure::Failure;
use crate::app::log::stdout;

/// How often a player is asked for its status while something is waited for.
const ASK_EVERY: StdDuration = StdDuration::from_millis(50);

/// `play ctl COMMAND`.
pub(crate) fn run(args: &CtlArgs, output: &OutputArgs) -> Result<Exit, Failure> {
    let timeout = args.timeout.to_std();
    let (session, changes) = join(&args.reach)?;
    let player = find(&session, &changes, args.node.as_deref(), timeout)?;
    let ctl = Ctl {
        player: PlayerClient::new(&session, player, timeout),
        output,
    };
    ctl.run(&args.command)
}

/// Drives one player.
struct Ctl<'a> {
    player: PlayerClient<'a>,
    output: &'a OutputArgs,
}

impl Ctl<'_> {
    fn run(&self, command: &CtlCommand) -> Result<Exit, Failure> {
        let mut result = RemoteResult {
            node: self.player.node().to_owned(),
            command: command.name(),
            success: true,
            ..RemoteResult::default()
        };
        let outcome = match command {
            CtlCommand::Status { watch: true } => return self.watch(),
            CtlCommand::WaitUntil { time } => self.wait_until(*time),
            command => self.carry_out(command, &mut result),
        };
        // The run may end with the command or right after it: then there is no status to show.
        let described = outcome.and_then(|()| match command {
            CtlCommand::Stop => Ok(()),
            CtlCommand::Status { .. } => self.describe(&mut result),
            _ => {
                let _ = self.describe(&mut result);
                Ok(())
            }
        });
        if let Err(error) = described {
            (result.success, result.message) = (false, Some(error.to_string()));
            if self.output.format == Format::Json {
                stdout::json(&result)?;
            }
            return Err(failure(&error));
        }
        self.print(&result)?;
        Ok(Exit::Done)
    }

    fn print(&self, result: &RemoteResult) -> Result<(), Failure> {
        match self.output.format {
            Format::Json => stdout::json(result),
            Format::Text => stdout::page(&result.to_string()),
        }
    }

    fn carry_out(
        &self,
        command: &CtlCommand,
        result: &mut RemoteResult,
    ) -> Result<(), RequestError> {
        match command {
            CtlCommand::Pause => {
                self.player.pause()?;
                // The service has no response that says so.
                if self.player.is_paused()? {
                    Ok(())
                } else {
                    let reason = "the player does not pause".to_owned();
                    Err(RequestError::Refused(reason))
                }
            }
            CtlCommand::Resume => self.player.resume(),
            CtlCommand::Toggle => self.player.toggle_paused(),
            CtlCommand::Rate { rate } => self.player.set_rate(match rate {
                Pace::At(speed) => speed.as_f64(),
                Pace::Max | Pace::Follow => f64::INFINITY,
            }),
            CtlCommand::Seek { to } => {
                let landed = self.player.seek(self.time(*to)?)?;
                result.landed_ns = landed.map(Time::as_nanos);
                Ok(())
            }
            CtlCommand::Step { steps, topic } => self.step(*steps, topic.as_deref(), result),
            CtlCommand::Burst { number } => {
                let published = self.player.burst(*number)?;
                result.published = Some(published);
                if published == 0 && !self.player.is_paused()? {
                    let reason = "the player is not paused".to_owned();
                    return Err(RequestError::Refused(reason));
                }
                Ok(())
            }
            CtlCommand::Loop { range } => self.set_loop(*range),
            CtlCommand::Stop => self.player.stop(),
            CtlCommand::Status { .. } | CtlCommand::WaitUntil { .. } => Ok(()),
        }
    }

    fn step(
        &self,
        steps: i64,
        topic: Option<&str>,
        result: &mut RemoteResult,
    ) -> Result<(), RequestError> {
        if !self.player.is_ours() && topic.is_none() && steps > 0 {
            self.player.pause()?;
            let published = self.player.burst(steps.unsigned_abs())?;
            result.published = Some(published);
            return if published < steps.unsigned_abs() {
                let reason = "there is no message further on".to_owned();
                Err(RequestError::Refused(reason))
            } else {
                Ok(())
            };
        }
        let request = StepRequest {
            steps,
            topic: topic.unwrap_or_default().to_owned(),
        };
        let stepped = self.player.step(&request)?;
        result.published = Some(stepped.published);
        if stepped.success {
            Ok(())
        } else {
            Err(RequestError::Refused(stepped.message))
        }
    }

    fn set_loop(&self, range: LoopArg) -> Result<(), RequestError> {
        let whole = LoopRequest::default();
        let request = match range {
            LoopArg::On => LoopRequest {
                is_loop: true,
                ..whole
            },
            LoopArg::Off => whole,
            LoopArg::Range(range) => {
                let at = |when: Option<When>| when.map(|when| self.time(when)).transpose();
                let (start, end) = (at(range.from)?, at(range.to)?);
                LoopRequest {
                    is_loop: true,
                    start: start.map(Stamp::of).unwrap_or_default(),
                    end: end.map(Stamp::of).unwrap_or_default(),
                }
            }
        };
        self.player.set_loop(&request)
    }

    /// The time that is meant, in the recording of the player.
    fn time(&self, when: When) -> Result<Time<Ros>, RequestError> {
        if let When::At(time) = when {
            return Ok(time);
        }
        if !self.player.is_ours() {
            return Err(RequestError::Refused(format!(
                "{} does not tell its recording: give an absolute time",
                self.player.node()
            )));
        }
        Ok(when.in_range(recording(&self.player.status()?)))
    }

    /// Returns when the clock has reached a time, in the direction of play, or has passed it in a lap.
    fn wait_until(&self, when: When) -> Result<(), RequestError> {
        let time = self.time(when)?;
        let mut last: Option<(PlayerStatus, Instant)> = None;
        loop {
            let status = match self.player.status() {
                Ok(status) => status,
                // A player ends at the end of its range. If it had to reach the time by now, it did.
                Err(error) if is_gone(&error) => {
                    let reached =
                        last.map(|(status, at)| (reached_by(&status, at.elapsed()), status));
                    return match reached {
                        Some((clock, status)) if is_past(&status, clock, time) => Ok(()),
                        _ => Err(RequestError::Refused(TOO_EARLY.to_owned())),
                    };
                }
                Err(error) => return Err(error),
            };
            let has_lapped = last.is_some_and(|(last, _)| {
                let range = TimeRange::between(clock(last.range_start), clock(last.range_end));
                status.laps > last.laps && range.contains(time)
            });
            if has_lapped || is_past(&status, clock(status.clock), time) {
                return Ok(());
            }
            if matches!(status.state.as_str(), "ended" | "stopped") {
                return Err(RequestError::Refused(TOO_EARLY.to_owned()));
            }
            last = Some((status, now()));
            std::thread::park_timeout(ASK_EVERY);
        }
    }

    /// Prints a line at each change, until the player is gone.
    fn watch(&self) -> Result<Exit, Failure> {
        let mut shown: Option<RemoteStatus> = None;
        loop {
            let status = match self.player.status() {
                Ok(status) => RemoteStatus::new(&status),
                Err(error) if shown.is_some() && is_gone(&error) => return Ok(Exit::Done),
                Err(error) => return Err(failure(&error)),
            };
            if shown
                .as_ref()
                .is_none_or(|before| status.differs_from(before))
            {
                self.print(&RemoteResult {
                    node: self.player.node().to_owned(),
                    command: "status",
                    success: true,
                    status: Some(status.clone()),
                    ..RemoteResult::default()
                })?;
                shown = Some(status);
            }
            std::thread::park_timeout(ASK_EVERY);
        }
    }

    /// Adds what the player is doing now.
    fn describe(&self, result: &mut RemoteResult) -> Result<(), RequestError> {
        if self.player.is_ours() {
            result.status = Some(RemoteStatus::new(&self.player.status()?));
        } else {
            result.paused = Some(self.player.is_paused()?);
            result.rate = Some(self.player.rate()?);
        }
        Ok(())
    }
}

/// Whether a call failed because the player has left the network. If the player was the router, its end cannot be told
/// from a lost connection.
fn is_gone(error: &RequestError) -> bool {
    matches!(
        error,
        RequestError::NotOffered { .. } | RequestError::Call(CallError::NoServer)
    )
}

const TOO_EARLY: &str = "the player has ended before that time";

fn clock(stamp: Stamp) -> Time<Ros> {
    stamp.time().unwrap_or(Time::ZERO)
}

fn recording(status: &PlayerStatus) -> TimeRange {
    TimeRange::between(clock(status.recording_start), clock(status.recording_end))
}

/// Whether `clock` is at or behind `time` in the direction of play.
fn is_past(status: &PlayerStatus, clock: Time<Ros>, time: Time<Ros>) -> bool {
    if status.rate < 0.0 {
        clock <= time
    } else {
        clock >= time
    }
}

/// Where a player that played on after this status was after `passed`, at the end of its range at the latest.
fn reached_by(status: &PlayerStatus, passed: StdDuration) -> Time<Ros> {
    let end = if status.rate < 0.0 {
        status.range_start
    } else {
        status.range_end
    };
    let (from, end) = (clock(status.clock), clock(end));
    if status.state != "playing" {
        return from;
    }
    let span = Duration::from_secs_f64(passed.as_secs_f64() * status.rate);
    let range = TimeRange::between(from, end);
    // As fast as possible, or with another clock: it may have been anywhere.
    span.map_or(end, |span| range.clamp(from.saturating_add(span)))
}

fn failure(error: &RequestError) -> Failure {
    let exit = match error {
        RequestError::Call(_) => Exit::Timeout,
        _ => Exit::Failed,
    };
    Failure::new(exit, anyhow!("{}", Foreign::text(&error.to_string())))
}
