//! `play ctl status --watch`: prints what a player elsewhere is doing, until it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bagplay::cli::{Exit, RemoteResult, RemoteStatus};
use bagplay::player::State;
use bagplay::untrusted::Foreign;
use bagplay::wire::{ClockMotion, ClockStateMessage, ClockWatch, PlayerClient, Session};
use crossbeam_channel::{Receiver, bounded};

use super::driven::{ASK_EVERY, Driven, LOSS_IS_KNOWN, failure, is_gone};
use super::find_player::now;
use crate::app::failure::{Failure, OrExit};

/// How often a player that publishes its state is asked, too: for what its state does not tell.
const SELDOM: Duration = Duration::from_secs(1);

/// Prints a line at each change, until the player has ended.
pub(super) fn watch(driven: &Driven<'_>) -> Result<Exit, Failure> {
    if !driven.player.is_ours() {
        return watch_other(driven);
    }
    let watch = Watch::start(driven.session, &driven.player)?;
    if !watch.hears_state() {
        let node = Foreign::text(driven.player.node()).to_string();
        tracing::info!("{node} is asked 20 times a second; hint: start it with --clock-state");
    }
    let mut shown: Option<RemoteStatus> = None;
    loop {
        let status = match driven.player.status() {
            Ok(status) => status,
            // It says its end in its status, or in the state of its clock.
            Err(error) if is_gone(&error) && shown.is_some() => {
                return if watch.ends_within(LOSS_IS_KNOWN) {
                    Ok(Exit::Done)
                } else {
                    Err(driven.lost())
                };
            }
            Err(error) => return Err(failure(&error)),
        };
        let described = RemoteStatus::new(&status);
        let differs = |before: &RemoteStatus| described.differs_from(before);
        if shown.as_ref().is_none_or(differs) {
            driven.print(&RemoteResult {
                node: driven.player.node().to_owned(),
                command: "status",
                success: true,
                status: Some(described.clone()),
                ..RemoteResult::default()
            })?;
            shown = Some(described);
        }
        if status.state == State::Stopped.name() {
            return Ok(Exit::Done);
        }
        watch.wait();
    }
}

/// Prints a line at each change of a player of another program, which tells only whether it is paused, and its rate.
fn watch_other(driven: &Driven<'_>) -> Result<Exit, Failure> {
    let node = Foreign::text(driven.player.node()).to_string();
    tracing::info!(
        "{node} tells only whether it is paused, and its rate: it is asked 20 times a second"
    );
    let mut shown: Option<RemoteResult> = None;
    loop {
        let mut result = RemoteResult {
            node: driven.player.node().to_owned(),
            command: "status",
            success: true,
            ..RemoteResult::default()
        };
        match driven.describe(&mut result) {
            Ok(()) => {}
            Err(error) if is_gone(&error) && shown.is_some() => {
                return if driven.loses_path() {
                    Err(driven.lost())
                } else {
                    Ok(Exit::Done)
                };
            }
            Err(error) => return Err(failure(&error)),
        }
        if shown.as_ref() != Some(&result) {
            driven.print(&result)?;
            shown = Some(result);
        }
        std::thread::park_timeout(ASK_EVERY);
    }
}

/// Follows the state of a player's clock, if it publishes it.
struct Watch {
    /// Gets something at each state that differs from the one before.
    changes: Receiver<()>,
    has_ended: Arc<AtomicBool>,
    state: Option<ClockWatch>,
}

impl Watch {
    /// Follows `~/clock_state` of a player.
    fn start(session: &Session, player: &PlayerClient<'_>) -> Result<Self, Failure> {
        let (tell, changes) = bounded(1);
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&has_ended);
        let received = move |state: ClockStateMessage| {
            if state.motion == ClockMotion::Stopped {
                ended.store(true, Ordering::Relaxed);
            }
            // One that waits is enough.
            let _ = tell.try_send(());
        };
        let topic = player.state_topic();
        let state = topic.map(|topic| session.watch_clock_state(&topic, received));
        Ok(Self {
            changes,
            has_ended,
            state: state.transpose().or_exit(Exit::Failed)?,
        })
    }

    /// Waits until the player may be doing something else.
    fn wait(&self) {
        let longest = if self.state.is_some() {
            SELDOM
        } else {
            ASK_EVERY
        };
        // Without a state nothing is ever sent; the sender has gone.
        if self.state.is_none() {
            std::thread::park_timeout(longest);
        } else {
            let _ = self.changes.recv_timeout(longest);
        }
    }

    /// Whether the player publishes the state of its clock.
    fn hears_state(&self) -> bool {
        self.state.is_some()
    }

    /// Whether the player has said that its run is over, or says so within `patience`.
    fn ends_within(&self, patience: Duration) -> bool {
        let deadline = now() + patience;
        while !self.has_ended.load(Ordering::Relaxed) {
            let left = deadline.saturating_duration_since(now());
            // The channel cannot be closed: the watch holds its sender.
            if left.is_zero() || self.changes.recv_timeout(left).is_err() {
                return self.has_ended.load(Ordering::Relaxed);
            }
        }
        true
    }
}
