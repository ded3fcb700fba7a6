//! The drained end of a run: everything that was sent is dealt with.

use bagplay::ci::drive::{Desk, Drained, LONGEST_QUIET};
use bagplay::cli::{Ending, Exit};

use super::setup::Setup;
use crate::app::network::Network;
use crate::app::supervise::under_test::{UnderTest, exit_of_end, verdict_of};
use crate::app::supervise::{Ended, Rules};

/// Waits until everything that was sent is dealt with. `before` names, in messages, the event that
/// is waited for.
pub(super) fn drain(
    setup: &Setup<'_>,
    network: &Network,
    desk: &Desk,
    under_test: &mut UnderTest,
    before: &str,
) -> Ended {
    let quiet = setup.args.ci.settle.to_std();
    let mut ended = Ended::NORMAL;
    let drained = desk.drain(quiet, || {
        if let Ok(exit) = setup.signals.try_recv() {
            let how = Ending::Interrupted;
            ended = Ended { how, exit };
        } else if under_test.takes_failure() {
            ended = Ended::failed(Exit::Child);
        } else if let Ok(exit) = under_test.ended.try_recv() {
            tracing::error!("{exit}, before {before}");
            under_test.reason.get_or_insert(exit.to_string());
            ended = Ended::failed(exit_of_end(&exit));
        } else if setup.time_limit.has_passed() {
            ended = fail(under_test, Exit::Timeout, under_test.too_long());
        }
        ended.how != Ending::End
    });
    if drained == Drained::Troubled
        && let Ok(trouble) = under_test.troubles.try_recv()
    {
        let (exit, why) = verdict_of(&trouble, network);
        ended = fail(under_test, exit, why);
    }
    let has_path_limit = Rules::of_ci(setup.args).path_limit.is_some();
    // Messages that come before the run begins are not among its outputs.
    if drained == Drained::Restless && desk.place().has_begun() {
        let waited = quiet.saturating_mul(LONGEST_QUIET).as_secs_f64();
        let note = format!(
            "outputs kept coming for {waited} s after the last input; later outputs are not in the run"
        );
        tracing::warn!("{note}");
        under_test.notes.push(note);
    }
    let has_come = matches!(drained, Drained::Whole | Drained::Restless);
    if has_come && has_path_limit && !network.path().is_up {
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
