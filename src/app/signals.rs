//! Signals that end the program, as a channel.

use std::io;

use bagplay::cli::Exit;
#[cfg(feature = "tui")]
use crossbeam_channel::TrySendError;
use crossbeam_channel::{Receiver, bounded};
#[cfg(feature = "tui")]
use signal_hook::consts::{SIGCONT, SIGQUIT, SIGTSTP};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The exit codes that arriving signals ask for. A second one while the first is not answered yet ends
/// the process at once: whoever presses ctrl-C twice means it.
pub(crate) fn listen() -> io::Result<Receiver<Exit>> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    if !outlives_terminal() {
        signals.add_signal(SIGHUP)?;
    }
    let (sender, receiver) = bounded(1);
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let mut has_asked = false;
            for signal in &mut signals {
                let exit = if signal == SIGINT {
                    Exit::Interrupted
                } else {
                    Exit::Terminated
                };
                // A terminal that goes away says so more than once; that is not impatience.
                if has_asked && signal == SIGHUP {
                    continue;
                }
                if has_asked || sender.send(exit).is_err() {
                    #[cfg(feature = "tui")]
                    give_back();
                    std::process::exit(exit.code().into());
                }
                has_asked = true;
            }
        })?;
    Ok(receiver)
}

/// Whether whoever started the program wants it to outlive its terminal: `nohup` does.
fn outlives_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

/// Gives the terminal back, unless it takes nothing any more: then nothing can be done for it.
#[cfg(feature = "tui")]
pub(crate) fn give_back() {
    let (done, is_done) = bounded::<()>(0);
    let restore = move || {
        bagplay::tui::restore_for_good();
        drop(done);
    };
    if std::thread::Builder::new().spawn(restore).is_ok() {
        let _ = is_done.recv_timeout(std::time::Duration::from_secs(2));
    }
}

/// What a shell does with its jobs.
#[cfg(feature = "tui")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Job {
    /// It is to stop, and has to put the terminal in order before.
    Stop,
    /// It goes on.
    Continue,
}

/// Stopping and going on as they come; from here on stopping is up to who receives.
#[cfg(feature = "tui")]
pub(crate) fn jobs() -> io::Result<Receiver<Job>> {
    let mut signals = Signals::new([SIGTSTP, SIGCONT, SIGQUIT])?;
    let (sender, receiver) = bounded(4);
    std::thread::Builder::new()
        .name("jobs".into())
        .spawn(move || {
            for signal in &mut signals {
                if signal == SIGQUIT {
                    // Whoever wants it dead at once, and a core to look at, wants the terminal all the same.
                    give_back();
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                let job = if signal == SIGTSTP {
                    Job::Stop
                } else {
                    Job::Continue
                };
                // After the screen is given back, stopping is stopping; more than a few at once are no more.
                let sent = sender.try_send(job);
                if matches!(sent, Err(TrySendError::Disconnected(Job::Stop)))
                    && bagplay::tui::has_shell()
                {
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
            }
        })?;
    Ok(receiver)
}
