//! Priorities of threads that read: always lower than that of the thread that publishes.

/// Lowers the priority of this thread: on a busy machine the thread that publishes goes first. For threads that read
/// ahead or serve a screen.
pub fn step_back() {
    set_nice(5);
}

/// This thread runs only when the machine is otherwise idle. For work that nothing waits for yet.
pub(crate) fn step_far_back() {
    set_nice(19);
}

#[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
fn set_nice(nice: i32) {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(Some(rustix::thread::gettid()), nice) {
        tracing::debug!("a reading thread keeps its priority: {error}");
    }
}
