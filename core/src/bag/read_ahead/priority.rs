//! Priorities of threads that read: always lower than that of the thread that publishes.

#[cfg(target_os = "linux")]
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id, thread_schedule_policy,
};

use crate::time_slice::TimeSlice;

/// Lowers the priority of this thread: on a busy machine the thread that publishes goes first. For threads that read
/// ahead or serve a screen. The thread also gets the usual time slice, if it has inherited another one.
pub fn step_back() {
    set_nice(5, 35);
}

/// This thread runs only when the machine is otherwise idle. For work that nothing waits for yet.
pub(crate) fn step_far_back() {
    set_nice(19, 0);
}

/// `percent` is the same in the scale of `thread_priority`.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
fn set_nice(nice: i32, percent: u8) {
    #[cfg(target_os = "linux")]
    {
        leave_real_time(percent);
        let thread = rustix::thread::gettid();
        if let Err(error) = rustix::process::setpriority_process(Some(thread), nice) {
            tracing::debug!("a reading thread keeps its priority: {error}");
        }
    }
    TimeSlice::Usual.ask();
}

/// A thread inherits real-time scheduling from the thread that starts it, such as the player's. The niceness is set
/// with it: to lower it afterwards needs a permission.
#[cfg(target_os = "linux")]
fn leave_real_time(percent: u8) {
    if let Ok(ThreadSchedulePolicy::Realtime(_)) = thread_schedule_policy() {
        let usual = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
        let left = percent.try_into().and_then(|percent| {
            let priority = ThreadPriority::Crossplatform(percent);
            set_thread_priority_and_policy(thread_native_id(), priority, usual)
                .map_err(|error| error.to_string())
        });
        if let Err(error) = left {
            tracing::warn!("a thread of lower priority stays in real time: {error}");
        }
    }
}
