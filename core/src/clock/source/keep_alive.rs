//! [`KeepAlive`]: keeps a clock's time source alive as long as the clock has a handle.
//!
//! All handles of a clock share one: clocks, writers, timers, registrations of handlers. The source's
//! reference to the clock does not count, so that the source is dropped with the last handle.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What is kept alive.
pub(crate) type Kept = Arc<dyn Any + Send + Sync>;

#[derive(Default)]
pub(crate) struct KeepAlive {
    kept: Mutex<Option<Kept>>,
    /// A value that all handles share, if they need one.
    #[cfg(feature = "async")]
    shared: std::sync::OnceLock<Kept>,
}

impl KeepAlive {
    /// Keeps this from now on. Returns what was kept before; drop it where no lock is held, as a time source may be
    /// dropped with it.
    #[must_use]
    pub(crate) fn keep(&self, kept: Option<Kept>) -> Option<Kept> {
        let mut slot = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut slot, kept)
    }
}

#[cfg(feature = "async")]
impl KeepAlive {
    /// The value that all handles of the clock share. Every call must ask for the same type.
    pub(crate) fn shared<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let shared = self.shared.get_or_init(|| Arc::new(T::default()));
        let shared = Arc::clone(shared).downcast();
        shared.expect("it is asked for as one type")
    }
}

impl fmt::Debug for KeepAlive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeepAlive")
    }
}
