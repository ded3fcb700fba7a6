//! Marks of the current thread: it runs handlers ([`Handlers`]), or it delivers to all clocks of a delivery ([`Serving`]). A
//! marked thread does not wait for handlers or for the delivery, because it would wait for itself.

use std::cell::{Cell, RefCell};

#[cfg(not(model))]
thread_local! {
    static HANDLING: Cell<u32> = const { Cell::new(0) };
    static SERVING: RefCell<Vec<DeliveryId>> = const { RefCell::new(Vec::new()) };
}

#[cfg(model)]
loom::thread_local! {
    static HANDLING: Cell<u32> = Cell::new(0);
    static SERVING: RefCell<Vec<DeliveryId>> = RefCell::new(Vec::new());
}

/// Distinguishes the deliveries of a process.
pub(crate) type DeliveryId = u64;

/// Marks this thread as delivering to all clocks of a delivery, until it is dropped.
#[derive(Debug)]
pub(crate) struct Serving(());

impl Serving {
    pub(crate) fn of(delivery: DeliveryId) -> Self {
        SERVING.with(|deliveries| deliveries.borrow_mut().push(delivery));
        Self(())
    }

    /// Whether this thread delivers for the delivery: a wait on one of its clocks would then never end.
    pub(crate) fn is_here(delivery: DeliveryId) -> bool {
        SERVING.with(|deliveries| deliveries.borrow().contains(&delivery))
    }

    /// As [`Serving::is_here`], but also true in a thread whose thread-local values are gone already.
    pub(crate) fn may_be_here(delivery: DeliveryId) -> bool {
        let is_here = SERVING.try_with(|deliveries| deliveries.borrow().contains(&delivery));
        is_here.unwrap_or(true)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        SERVING.with(|deliveries| deliveries.borrow_mut().pop());
    }
}

/// Whether this thread runs handlers of any clock. It then does not wait for the handlers of any clock, so that
/// handlers cannot wait for each other.
pub(crate) fn is_handling() -> bool {
    HANDLING.with(Cell::get) > 0
}

/// Marks this thread as running handlers, until it is dropped.
#[derive(Debug)]
pub(crate) struct Handlers(());

impl Handlers {
    pub(crate) fn run() -> Self {
        HANDLING.with(|depth| depth.set(depth.get() + 1));
        Self(())
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        HANDLING.with(|depth| depth.set(depth.get() - 1));
    }
}
