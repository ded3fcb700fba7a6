//! `play ctl`: drives a player elsewhere by its services.

use std::time::{Duration as StdDuration, Instant};

use anyhow::anyhow;
use bagplay::cli::{
    CtlArgs, CtlCommand, Exit, Format, LoopArg, OutputArgs, ReachArgs, RemoteResult, RemoteStatus,
    When,
};
use bagplay::player::Pace;
use bagplay::time::{Ros, Time, TimeRange};
use bagplay::untrusted::Foreign;
use bagplay::wire::services::messages::bagplay::{LoopRequest, PlayerStatus, StepRequest};
use bagplay::wire::services::messages::service::Stamp;
use bagplay::wire::{CallError, FoundPlayer, PlayerClient, RequestError, Session, WireOptions};
use crossbeam_channel::{Receiver, bounded};

use crate::app::failure::{Failure, OrExit};
use crate::app::log::stdout;

/// How often a player is asked for its status while something is waited for.
const ASK_EVERY: StdDuration = StdDuration::from_millis(50);
/// The router of this machine.
const HERE: &str = "tcp/localhost:7447";

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

/// Joins the network as a node that becomes no router; the receiver gets something at each change on the network.
fn join(reach: &ReachArgs) -> Result<(Session, Receiver<()>), Failure> {
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
fn find(
    session: &Session,
    changes: &Receiver<()>,
    node: Option<&str>,
    timeout: StdDuration,
) -> Result<FoundPlayer, Failure> {
    let name = node.map(|node| format!("/{}", node.trim_start_matches('/')));
    let is_wanted = |player: &FoundPlayer| name.as_ref().is_none_or(|name| player.node == *name);
    let deadline = now() + timeout;
    loop {
        let all = session.graph().players();
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
                let _ = changes.recv_timeout(ASK_EVERY);
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
        if let Err(RequestError::Refused(reason)) = &outcome {
            (result.success, result.message) = (false, Some(reason.clone()));
            if self.output.format == Format::Json {
                stdout::json(&result)?;
            }
            return Err(Failure::new(
                Exit::Failed,
                anyhow!("{}", Foreign::text(reason)),
            ));
        }
        outcome.map_err(failure)?;
        if *command != CtlCommand::Stop {
            self.describe(&mut result).map_err(failure)?;
        }
        match self.output.format {
            Format::Json => stdout::json(&result)?,
            Format::Text => stdout::page(&result.to_string())?,
        }
        Ok(Exit::Done)
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
            return Ok(());
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

    /// Returns when the clock has reached a time, in the direction of play.
    fn wait_until(&self, when: When) -> Result<(), RequestError> {
        let time = self.time(when)?;
        loop {
            let status = self.player.status()?;
            let clock = status.clock.time().unwrap_or(Time::MIN);
            let is_reached = if status.rate < 0.0 {
                clock <= time
            } else {
                clock >= time
            };
            if is_reached {
                return Ok(());
            }
            if matches!(status.state.as_str(), "ended" | "stopped") {
                let reason = "the player has ended before that time".to_owned();
                return Err(RequestError::Refused(reason));
            }
            std::thread::park_timeout(ASK_EVERY);
        }
    }

    /// Prints a line at each change, until the player is gone.
    fn watch(&self) -> Result<Exit, Failure> {
        let mut shown: Option<RemoteStatus> = None;
        loop {
            let status = match self.player.status() {
                Ok(status) => RemoteStatus::new(&status),
                // It has ended.
                Err(RequestError::NotOffered { .. } | RequestError::Call(CallError::NoServer))
                    if shown.is_some() =>
                {
                    return Ok(Exit::Done);
                }
                Err(error) => return Err(failure(error)),
            };
            if shown
                .as_ref()
                .is_none_or(|before| status.differs_from(before))
            {
                match self.output.format {
                    Format::Json => stdout::json(&status)?,
                    Format::Text => stdout::page(&status.to_string())?,
                }
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

fn recording(status: &PlayerStatus) -> TimeRange {
    let time = |stamp: Stamp| stamp.time().unwrap_or(Time::ZERO);
    TimeRange::between(time(status.recording_start), time(status.recording_end))
}

fn failure(error: RequestError) -> Failure {
    let exit = match &error {
        RequestError::Call(_) => Exit::Timeout,
        _ => Exit::Failed,
    };
    Failure::new(exit, error)
}

#[expect(clippy::disallowed_methods, reason = "a wait is in wall time")]
fn now() -> Instant {
    Instant::now()
}
