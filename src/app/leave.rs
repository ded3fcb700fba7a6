//! The end of a run on the network: who is slow gets the last messages too, unless somebody wants to leave.

use bagplay::cli::{Ending, bytes};
use bagplay::time::Duration;
use bagplay::wire::Drained;

use super::warden::{Ended, Run};

/// What takes longer is explained.
const SLOW: Duration = Duration::from_secs(1);

/// Waits until what was sent has left, to be called while the topics are still declared: how the run ended, now
/// that it is over, and how many bytes nobody had taken.
pub(crate) fn leave(run: &Run<'_>, mut ended: Ended) -> (Ended, u64) {
    // Who asked for the end waits for nobody.
    let mut is_asked = !matches!(ended.how, Ending::End | Ending::Failed);
    let mut explains_at = Some(run.transport.now().saturating_add(SLOW));
    let drained = run.network.drain(|| {
        if let Ok(exit) = run.signals.try_recv() {
            let how = Ending::Interrupted;
            (ended, is_asked) = (Ended { how, exit }, true);
        }
        let now = run.transport.now();
        if !is_asked && explains_at.take_if(|at| *at <= now).is_some() {
            tracing::info!("subscribers are still taking the last messages; ctrl-C leaves them");
        }
        is_asked
    });
    let left = match drained {
        Drained::Whole => 0,
        Drained::CalledOff { bytes } | Drained::Untaken { bytes } => bytes,
    };
    if matches!(drained, Drained::Untaken { .. }) {
        tracing::warn!(
            "a subscriber did not take the last messages, {} or more; hint: --stall-timeout",
            bytes(left)
        );
    }
    (ended, left)
}
