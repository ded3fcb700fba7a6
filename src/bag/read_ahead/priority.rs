//! The rank of threads that read: never that of the one that sends.

/// This thread is not urgent: on a busy machine it leaves the core to who sends. For threads that read ahead, or
/// for a screen.
pub fn step_back() {
    set_nice(5);
}

/// This thread runs when nothing else on the machine wants to. For work that nobody waits for yet.
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
