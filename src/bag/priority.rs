//! The rank of threads that read: never that of the one that sends.

/// This thread is not urgent: on a busy machine it leaves the core to who sends. For threads that read ahead, or
/// for a screen.
pub fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 5) {
        tracing::debug!("a reading thread keeps its priority: {error}");
    }
}
