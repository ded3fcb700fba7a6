//! Signals as channels: those that end the program, and a shell's SIGTSTP and SIGCONT.

use std::io;
use std::sync::atomic::AtomicBool;
#[cfg(feature = "tui")]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use bagplay::cli::Exit;
#[cfg(feature = "tui")]
use bagplay::tui::restore_for_good;
#[cfg(feature = "tui")]
use crossbeam_channel::TrySendError;
use crossbeam_channel::{Receiver, bounded};
#[cfg(feature = "tui")]
use nix::sys::signal::{SigSet, Signal, raise};
#[cfg(feature = "tui")]
use rustix::process::kill_current_process_group;
#[cfg(feature = "tui")]
use signal_hook::consts::{SIGALRM, SIGCONT, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2, SIGXCPU};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use super::log;

/// From now on a file size limit (`ulimit -f`) causes a write error instead of a fatal signal.
pub(crate) fn let_writes_fail() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// The exit code of a second signal, which ends the process at once.
static AT_ONCE: OnceLock<Exit> = OnceLock::new();

/// The exit code that the first signal asks for.
static FIRST: OnceLock<Exit> = OnceLock::new();

/// The exit code of the first signal that asked for the end, if there was one, also after a thread has received it from
/// the channel of [`listen`].
pub(crate) fn asked() -> Option<Exit> {
    FIRST.get().copied()
}

/// A signal that asks for the end has arrived. Its handler sets this.
static HAS_ARRIVED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether a signal that asks for the end has arrived, even if the channel of [`listen`] does not have it yet.
#[cfg(feature = "tui")]
pub(crate) fn has_arrived() -> bool {
    HAS_ARRIVED.load(Ordering::SeqCst)
}

/// The exit code of a process that would end with `exit`. If there was a second signal, that decides, even if the
/// program ends by itself while the terminal is being restored.
pub(crate) fn decide(exit: Exit) -> Exit {
    AT_ONCE.get().copied().unwrap_or(exit)
}

/// The exit codes that signals request. A second signal before the run has ended ends the process at once:
/// pressing ctrl-C twice asks for that.
pub(crate) fn listen() -> io::Result<Receiver<Exit>> {
    let ending = [SIGINT, SIGTERM, SIGHUP];
    let ending = if outlives_terminal() {
        &ending[..2]
    } else {
        &ending
    };
    // First: a signal has no effect if it only sets the flag.
    let mut signals = Signals::new(ending)?;
    for signal in ending {
        signal_hook::flag::register(*signal, Arc::clone(&HAS_ARRIVED))?;
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
                // A terminal that is closed may cause several signals: they are not a second request.
                if has_asked && signal == SIGHUP {
                    continue;
                }
                let _ = FIRST.set(exit);
                if has_asked || sender.send(exit).is_err() {
                    let exit = *AT_ONCE.get_or_init(|| exit);
                    #[cfg(feature = "tui")]
                    restore_for_good();
                    // Programs under test are in process groups of their own: the terminal does not end them.
                    bagplay::ci::child::kill_all();
                    bagplay::ci::suite::kill_all();
                    if has_asked {
                        tracing::warn!("ended at once by a second signal");
                    }
                    log::flush(log::SHORT_FLUSH_TIMEOUT);
                    std::process::exit(exit.code().into());
                }
                has_asked = true;
            }
        })?;
    Ok(receiver)
}

/// Whether SIGHUP is ignored, as under `nohup`: then the program goes on when its terminal is closed.
fn outlives_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

/// Signals that end the process at once, maybe with a core dump; the terminal is restored before.
#[cfg(feature = "tui")]
const DEADLY: &[i32] = &[SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU];

#[cfg(feature = "tui")]
fn die_of(signal: i32) {
    // PID 1 (a container's only process) is not ended by a signal's default action, so it exits itself.
    if std::process::id() == 1 {
        std::process::exit(128 + signal);
    }
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Stops the process, as ctrl-Z does; returns when it is continued.
#[cfg(feature = "tui")]
fn stop() {
    let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
}

/// A stop of this process that has been requested and is not carried out yet. A SIGCONT that arrives before that
/// cancels it, because the system then discards pending stop signals. Otherwise a shell that continues the job just
/// before it stops would wait for a stopped process.
#[cfg(feature = "tui")]
#[must_use]
pub(crate) struct PendingStop(SigSet);

#[cfg(feature = "tui")]
impl PendingStop {
    /// Requests a stop. The signal is SIGTTOU, for which this program has no handler.
    pub(crate) fn request() -> Self {
        let mut set = SigSet::empty();
        set.add(Signal::SIGTTOU);
        // Neither can fail for a signal that exists. If it failed, the process would not stop, or stop at once.
        let _ = set.thread_block();
        let _ = raise(Signal::SIGTTOU);
        Self(set)
    }

    /// Stops the process, unless it was continued since; returns when it is continued.
    pub(crate) fn carry_out(self) {
        let _ = self.0.thread_unblock();
    }

    /// Stops the process and the others of its group, as the system does if one in the background uses the terminal.
    /// Otherwise a shell whose job has a parent of this process would take the job for one that runs, and would not
    /// continue it.
    pub(crate) fn carry_out_with_group(self) {
        // If it fails, this process stops alone.
        let _ = kill_current_process_group(rustix::process::Signal::TTOU);
        self.carry_out();
    }

    /// Cancels the stop.
    pub(crate) fn cancel(self) {
        let _ = raise(Signal::SIGCONT);
        let _ = self.0.thread_unblock();
    }
}

/// Stops all processes of the group; returns when this one is continued.
///
/// # Errors
/// If they cannot be stopped; then this one is not stopped either.
#[cfg(feature = "tui")]
pub(crate) fn stop_group() -> io::Result<()> {
    // This comes before the signal: a SIGCONT that is sent after another process has stopped then cancels the request.
    let stop = PendingStop::request();
    let done = kill_current_process_group(rustix::process::Signal::TSTP);
    if done.is_ok() {
        stop.carry_out();
        // The SIGCONT may not be handled yet. From here on, [`Jobs::is_to_stop`] does not say "stop" for this signal.
        let _ = raise(Signal::SIGCONT);
    } else {
        stop.cancel();
    }
    done.map_err(io::Error::from)
}

/// The job control of a shell.
#[cfg(feature = "tui")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Job {
    /// Stop, after the terminal was restored.
    Stop,
    /// The process was continued.
    Continue,
}

/// The job control signals.
#[cfg(feature = "tui")]
#[derive(Debug)]
pub(crate) struct Jobs {
    /// In order of arrival. Two that arrived together may be swapped; then [`Jobs::is_to_stop`] decides.
    pub(crate) told: Receiver<Job>,
    /// Which of the two came last.
    last: Arc<AtomicUsize>,
}

#[cfg(feature = "tui")]
impl Jobs {
    /// Whether the last one was to stop.
    pub(crate) fn is_to_stop(&self) -> bool {
        self.last.load(Ordering::SeqCst) == STOP
    }
}

/// Values of [`Jobs::last`].
#[cfg(feature = "tui")]
const STOP: usize = 1;
#[cfg(feature = "tui")]
const CONTINUE: usize = 2;

/// Starts to receive SIGTSTP and SIGCONT; from here on the receiver has to stop the process.
#[cfg(feature = "tui")]
pub(crate) fn jobs() -> io::Result<Jobs> {
    let last = Arc::new(AtomicUsize::new(CONTINUE));
    for (signal, meaning) in [(SIGTSTP, STOP), (SIGCONT, CONTINUE)] {
        signal_hook::flag::register_usize(signal, Arc::clone(&last), meaning)?;
    }
    let mut signals = Signals::new([&[SIGTSTP, SIGCONT], DEADLY].concat())?;
    let (sender, receiver) = bounded(4);
    std::thread::Builder::new()
        .name("jobs".into())
        .spawn(move || {
            for signal in &mut signals {
                if DEADLY.contains(&signal) {
                    restore_for_good();
                    log::flush(log::SHORT_FLUSH_TIMEOUT);
                    die_of(signal);
                }
                let job = if signal == SIGTSTP {
                    Job::Stop
                } else {
                    Job::Continue
                };
                // Without a receiver (the screen was given back) the process stops by default. When the channel is
                // full, further signals are dropped.
                let sent = sender.try_send(job);
                if matches!(sent, Err(TrySendError::Disconnected(Job::Stop)))
                    && bagplay::tui::has_shell()
                {
                    stop();
                }
            }
        })?;
    Ok(Jobs {
        told: receiver,
        last,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_stays_known_when_it_was_taken() {
        let receiver = listen().unwrap();
        assert_eq!(asked(), None);
        signal_hook::low_level::raise(SIGINT).unwrap();
        assert_eq!(receiver.recv(), Ok(Exit::Interrupted));
        assert_eq!(asked(), Some(Exit::Interrupted));
    }
}
