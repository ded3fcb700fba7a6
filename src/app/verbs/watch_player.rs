//! `play ctl status --watch`: prints what a player elsewhere is doing, until it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bagplay::cli::{Exit, RemoteResult, RemoteStatus};
use bagplay::player::State;
use bagplay::untrusted::Foreign;
use bagplay::wire::{
    ClockMotion, ClockStateMessage, ClockWatch, PlayerClient, RequestError, Session,
};
use crossbeam_channel::{Receiver, bounded};

use super::driven::{ASK_EVERY, Driven, failure};
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
    if matches!(watch, Watch::Polling) {
        let node = Foreign::text(driven.player.node()).to_string();
        tracing::info!("{node} is asked 20 times a second; hint: start it with --clock-state");
    }
    let mut shown: Option<RemoteStatus> = None;
    loop {
        let view = match driven.player.view() {
            Ok(view) => view,
            Err(error) => {
                let Some(last) = shown.as_ref().filter(|_| error.is_gone()) else {
                    return Err(failure(&error.into()));
                };
                // It says its end in its status, or in the state of its clock.
                if watch.ends_within(PlayerClient::LOSS_IS_KNOWN) {
                    driven.print_status(last.clone().stopped())?;
                    return Ok(Exit::Done);
                }
                if has_gone(driven, &error) {
                    return Err(failure(&driven.lost()));
                }
                watch.wait();
                continue;
            }
        };
        let described = RemoteStatus::new(&view);
        let differs = |before: &RemoteStatus| described.differs_from(before);
        if shown.as_ref().is_none_or(differs) {
            driven.print_status(described.clone())?;
            shown = Some(described);
        }
        if view.state == State::Stopped {
            return Ok(Exit::Done);
        }
        watch.wait();
    }
}

/// Whether a call failed because the player has left, or because the connection is lost.
fn has_gone(driven: &Driven<'_>, error: &RequestError) -> bool {
    let patience = PlayerClient::LOSS_IS_KNOWN;
    driven.player.has_left(error, patience) || !driven.player.has_path()
}

/// Prints a line at each change of a player of another program, which tells only whether it is paused, and its rate.
fn watch_other(driven: &Driven<'_>) -> Result<Exit, Failure> {
    let node = Foreign::text(driven.player.node()).to_string();
    tracing::info!(
        "{node} reports only whether it is paused, and its rate: it is asked 20 times a second"
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
            Err(error) if error.is_gone() && shown.is_some() => {
                if driven.player.has_left(&error, PlayerClient::LOSS_IS_KNOWN) {
                    return Ok(Exit::Done);
                }
                if !driven.player.has_path() {
                    return Err(failure(&driven.lost()));
                }
                std::thread::park_timeout(ASK_EVERY);
                continue;
            }
            Err(error) => return Err(failure(&error.into())),
        }
        if shown.as_ref() != Some(&result) {
            driven.print(&result)?;
            shown = Some(result);
        }
        std::thread::park_timeout(ASK_EVERY);
    }
}

/// How the next change of a player is noticed.
enum Watch {
    /// The player publishes the state of its clock.
    State {
        /// Gets something at each state that differs from the one before.
        changes: Receiver<()>,
        has_ended: Arc<AtomicBool>,
        /// Holds the sender of `changes`.
        _state: ClockWatch,
    },
    /// The player is asked again and again.
    Polling,
}

impl Watch {
    /// Follows `~/clock_state` of a player, if it publishes it.
    fn start(session: &Session, player: &PlayerClient<'_>) -> Result<Self, Failure> {
        let Some(topic) = player.state_topic() else {
            return Ok(Self::Polling);
        };
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
        let state = session.watch_clock_state(&topic, received);
        Ok(Self::State {
            changes,
            has_ended,
            _state: state.or_exit(Exit::Failed)?,
        })
    }

    /// Waits until the player may be doing something else.
    fn wait(&self) {
        match self {
            Self::State { changes, .. } => {
                let _ = changes.recv_timeout(SELDOM);
            }
            Self::Polling => std::thread::park_timeout(ASK_EVERY),
        }
    }

    /// Whether the state of the player's clock has said that the run is over, or says so within `patience`.
    fn ends_within(&self, patience: Duration) -> bool {
        let Self::State {
            changes, has_ended, ..
        } = self
        else {
            return false;
        };
        let deadline = now() + patience;
        while !has_ended.load(Ordering::Relaxed) {
            let left = deadline.saturating_duration_since(now());
            if left.is_zero() || changes.recv_timeout(left).is_err() {
                return has_ended.load(Ordering::Relaxed);
            }
        }
        true
    }
}
