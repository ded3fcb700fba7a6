//! [`Scheduling`]: how the system schedules the player's thread beside other work.

use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

use crate::time_slice::TimeSlice;

/// The real-time priority, in percent of the range of the system: above all ordinary threads, below those that people
/// give to drivers.
const PERCENT: u8 = 10;
/// The niceness without the permission for real time.
const NICE: i32 = -10;

/// How the system schedules the player's thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Scheduling {
    /// At the niceness of the process. On Linux 6.12 and later, it asks for a short time slice, so it usually need not
    /// wait for threads that compute. A thread that an output starts in the player's thread inherits this.
    #[default]
    Normal,
    /// Before all ordinary threads (`SCHED_FIFO`). If that is not permitted, it runs at nice −10. If that is not
    /// permitted either, it runs as with `Normal`. While it waits for the instants of messages, all processors are kept
    /// awake (Linux, `/dev/cpu_dma_latency`), so that each thread wakes at once; they take more power. The log says
    /// what is not permitted.
    Realtime,
}

impl Scheduling {
    /// Takes effect on this thread.
    pub(in crate::player) fn apply(self) {
        TimeSlice::Shortest.ask();
        if self == Self::Normal {
            return;
        }
        let Err(refused) = become_realtime() else {
            return;
        };
        let instead = match become_nice() {
            Ok(()) => format!("it runs at nice {NICE} instead"),
            Err(error) => format!(
                "nice {NICE} is not permitted either ({error}): the priority stays as it was"
            ),
        };
        tracing::warn!(
            "the player may not run in real time ({refused}): that takes CAP_SYS_NICE, or a limit for rtprio (`ulimit -r 10`); \
             {instead}"
        );
    }
}

#[cfg(target_os = "linux")]
fn become_nice() -> std::io::Result<()> {
    Ok(rustix::process::setpriority_process(
        Some(rustix::thread::gettid()),
        NICE,
    )?)
}

/// Only on Linux a thread has a niceness of its own.
#[cfg(not(target_os = "linux"))]
fn become_nice() -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

fn become_realtime() -> Result<(), String> {
    let priority = ThreadPriority::Crossplatform(PERCENT.try_into()?);
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), priority, policy).map_err(
        |error| match error {
            thread_priority::Error::OS(code) => std::io::Error::from_raw_os_error(code).to_string(),
            error => error.to_string(),
        },
    )
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::bag::step_back;
    use crate::time_slice::nanos_of_this_thread;

    /// Where a thread cannot ask for a slice, this checks nothing.
    #[test]
    fn the_player_has_a_short_slice_and_threads_that_it_starts_to_read_have_the_usual_one() {
        let player = std::thread::spawn(|| {
            // The tests may have been started with a slice of their own.
            TimeSlice::Usual.ask();
            let usual = nanos_of_this_thread()?;
            Scheduling::Normal.apply();
            let reader = std::thread::spawn(|| {
                step_back();
                nanos_of_this_thread()
            });
            let reader = reader.join().expect("no panic");
            Some((usual, nanos_of_this_thread(), reader))
        });
        if let Some((usual, of_player, of_reader)) = player.join().expect("no panic") {
            assert_eq!((of_player, of_reader), (Some(100_000), Some(usual)));
        }
    }
}
