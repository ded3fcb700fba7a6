//! Stops the process with its terminal restored, and takes the terminal again.

use std::time::Duration;

use bagplay::tui;
use bagplay::tui::Screen;

use super::host::{Host, SOON};
use crate::app::signals::{self, Job, Jobs, PendingStop};

/// How long a stop waits for the shell's SIGCONT, which may already be on its way.
const A_MOMENT: Duration = Duration::from_millis(100);

/// Stops the process and the others of its group, as a terminal does for ctrl-Z, and takes the terminal again once the
/// process is continued. A parent may stop before this process, and then the shell resumes: it needs the terminal
/// restored.
pub(super) fn suspend(host: &mut dyn Host, screen: &mut Screen, jobs: &Jobs) {
    if tui::has_shell() {
        screen.restore_terminal();
        if let Err(error) = signals::stop_group() {
            tracing::warn!("not suspended: the processes of this job cannot be stopped: {error}");
        }
        regain(host, screen, jobs);
    } else {
        tell_of_no_shell();
    }
}

/// Stops the process if another process asks for it. Then takes the terminal again, as [`suspend`] does.
pub(super) fn stand_by(host: &mut dyn Host, screen: &mut Screen, job: Job, jobs: &Jobs) {
    if job == Job::Stop && jobs.is_to_stop() {
        if tui::has_shell() {
            screen.restore_terminal();
            // The parent stops as well. By now the shell may have taken the terminal and given it back. A SIGCONT from
            // before the request is seen within [`A_MOMENT`] if it was handled, and discarded by the request if it was
            // not; a later one cancels the request.
            let is_late = !tui::is_in_foreground();
            let stop = PendingStop::request();
            let _ = jobs.told.recv_timeout(A_MOMENT);
            if jobs.is_to_stop() && !(is_late && tui::is_in_foreground()) {
                stop.carry_out();
            } else {
                stop.cancel();
            }
        } else {
            tell_of_no_shell();
        }
    }
    regain(host, screen, jobs);
}

fn tell_of_no_shell() {
    tracing::info!("not suspended: there is no shell that could continue it");
}

/// Takes the terminal again if the process is in the foreground. In the background its group stops again, unless a
/// signal ends the process; then it ends without touching the terminal, which belongs to another job.
fn regain(host: &mut dyn Host, screen: &mut Screen, jobs: &Jobs) {
    loop {
        if tui::may_use_terminal() {
            break screen.reenter_terminal();
        }
        if host.is_ending() {
            break;
        }
        // A shell that ends a stopped job sends the ending signal before SIGCONT.
        if let Ok(exit) = host.signals().recv_timeout(SOON) {
            break host.interrupt(exit);
        }
        let stop = PendingStop::request();
        // A shell sends SIGCONT with a signal that ends a stopped job. If the process stopped again, it would stay so.
        // The thread that passes the signal on may be late.
        if signals::has_arrived() || tui::may_use_terminal() {
            stop.cancel();
        } else {
            stop.carry_out_with_group();
        }
    }
    // Requests that arrived while the process was stopped are obsolete, unless the last one was to stop again.
    if !jobs.is_to_stop() {
        jobs.told.try_iter().for_each(drop);
    }
}
