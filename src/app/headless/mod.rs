//! The main thread of a run without the transport bar: it supervises the run and shows progress.

pub(crate) mod enter_key;
pub(crate) mod progress_line;
pub(crate) mod slow_work;

use bagplay::cli::Exit;
use bagplay::player::Running;
use crossbeam_channel::{never, select, tick};

use super::supervise::followed::Followed;
use super::supervise::under_test::UnderTest;
use super::supervise::{Ended, Run, Supervisor};
use progress_line::{Progress, Subject};

/// Watches until the player is done; returns how the run ended.
pub(crate) fn watch<O>(
    run: &Run<'_>,
    under_test: &mut UnderTest,
    running: &Running<O>,
    subject: Subject,
    is_progress_wanted: bool,
) -> Ended {
    let mut progress = Progress::start(
        run.log_target,
        run.transport.clone(),
        subject,
        is_progress_wanted,
    );
    let mut supervisor = Supervisor::new(run);
    let draws = tick(Progress::INTERVAL);
    let events = run.network.events();
    loop {
        select! {
            recv(running.done()) -> _ => break,
            recv(run.signals) -> signal => {
                if under_test.reason.is_none() {
                    under_test.reason = under_test.interrupted();
                }
                supervisor.interrupt(signal.unwrap_or(Exit::Interrupted));
            }
            recv(events) -> event => {
                let mut happened: Vec<_> = event.into_iter().chain(events.try_iter()).collect();
                under_test.close_loops(&mut happened, run.network);
                under_test.note_mismatches(&happened, run.hints);
                supervisor.take(&happened);
            }
            recv(under_test.ended) -> exit => match exit {
                Ok(exit) => {
                    // One of its processes may be the reason.
                    under_test.takes_failure();
                    supervisor.child_ended(&exit);
                }
                Err(_) => under_test.ended = never(),
            },
            recv(under_test.process_ends) -> end => match end {
                Ok(end) => if under_test.fails(&end) {
                    supervisor.process_failed();
                },
                Err(_) => under_test.process_ends = never(),
            },
            recv(under_test.troubles) -> trouble => match trouble {
                Ok(trouble) => supervisor.is_troubled(&trouble),
                Err(_) => under_test.troubles = never(),
            },
            recv(under_test.time_is_up) -> _ => {
                supervisor.fail(Exit::Timeout, under_test.too_long());
                under_test.time_is_up = never();
            }
            recv(draws) -> _ => {
                let followed = run.followed.as_ref().map(Followed::view);
                progress.draw(followed, supervisor.waiting());
                supervisor.look();
            }
        }
    }
    progress.finish();
    // A short run may be over before its events were read.
    let unread: Vec<_> = events.try_iter().collect();
    under_test.note_mismatches(&unread, run.hints);
    supervisor.log_events(&unread);
    let reason = supervisor.take_reason();
    under_test.reason = under_test.reason.take().or(reason);
    supervisor.ended()
}
