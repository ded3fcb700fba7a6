//! [`KeepAlive`]: what has to exist as long as anybody has a clock.
//!
//! Every handle of a clock shares one: clocks, writers, timers, registrations of handlers. What brings the clock its
//! time knows the clock without its life, so that it goes when the last handle does.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Whatever is kept.
pub(crate) type Kept = Arc<dyn Any + Send + Sync>;

#[derive(Default)]
pub(crate) struct KeepAlive {
    kept: Mutex<Option<Kept>>,
    /// What the handles have in common, if anything.
    #[cfg(feature = "async")]
    shared: std::sync::OnceLock<Kept>,
}

impl KeepAlive {
    /// Keeps this from now on. What was kept before is to be dropped where no lock is held: a time source may go
    /// with it.
    #[must_use]
    pub(crate) fn keep(&self, kept: Option<Kept>) -> Option<Kept> {
        let mut slot = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut slot, kept)
    }
}

#[cfg(feature = "async")]
impl KeepAlive {
    /// The same for all handles of the clock; always asked for as one type.
    pub(crate) fn shared<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let shared = self.shared.get_or_init(|| Arc::new(T::default()));
        let shared = Arc::clone(shared).downcast();
        shared.expect("it is asked for as one type")
    }
}

impl fmt::Debug for KeepAlive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Life")
    }
}
