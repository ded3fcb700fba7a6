//! The drained end of a run: everything that was sent is dealt with.

use std::time::Duration as StdDuration;

use bagplay::ci::drive::{Desk, Drained};
use bagplay::cli::{Ending, Exit};

use super::limit::TimeLimit;
use crate::app::supervise::under_test::{UnderTest, verdict_of};
use crate::app::supervise::{Ended, Run};

/// Waits until everything that was sent is dealt with.
pub(super) fn drain(
    run: &Run<'_>,
    desk: &Desk,
    under_test: &mut UnderTest,
    time_limit: &TimeLimit,
    quiet: StdDuration,
) -> Ended {
    let mut ended = Ended::NORMAL;
    let drained = desk.drain(quiet, || {
        if let Ok(exit) = run.signals.try_recv() {
            let how = Ending::Interrupted;
            ended = Ended { how, exit };
        } else if let Ok(exit) = under_test.ended.try_recv() {
            tracing::error!("{exit}, before everything was answered");
            under_test.reason.get_or_insert(exit.to_string());
            ended = Ended::failed(Exit::Child);
        } else if time_limit.has_passed() {
            ended = fail(under_test, Exit::Timeout, under_test.too_long());
        }
        ended.how != Ending::End
    });
    if drained == Drained::Troubled
        && let Ok(trouble) = under_test.troubles.try_recv()
    {
        let (exit, why) = verdict_of(&trouble, run.network);
        ended = fail(under_test, exit, why);
    }
    if drained == Drained::Whole && run.rules.path_limit.is_some() && !run.network.path().is_up {
        let why = "the connection to the zenoh router was lost before the end of the run";
        ended = fail(under_test, Exit::Failed, why.to_owned());
    }
    ended
}

fn fail(under_test: &mut UnderTest, exit: Exit, why: String) -> Ended {
    tracing::error!("{why}");
    under_test.reason.get_or_insert(why);
    Ended::failed(exit)
}
