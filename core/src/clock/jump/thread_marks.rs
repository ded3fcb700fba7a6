//! Marks of the current thread: it runs handlers ([`HandlerMark`]), or it delivers to the clocks of a delivery
//! ([`DeliveryMark`]). A marked thread does not wait for handlers or for the delivery, because it would wait for
//! itself.

use std::cell::{Cell, RefCell};

#[cfg(not(model))]
thread_local! {
    static HANDLER_DEPTH: Cell<u32> = const { Cell::new(0) };
    static DELIVERIES: RefCell<Vec<DeliveryId>> = const { RefCell::new(Vec::new()) };
}

#[cfg(model)]
loom::thread_local! {
    static HANDLER_DEPTH: Cell<u32> = Cell::new(0);
    static DELIVERIES: RefCell<Vec<DeliveryId>> = RefCell::new(Vec::new());
}

/// Distinguishes the deliveries of a process.
pub(crate) type DeliveryId = u64;

/// Marks this thread as delivering to the clocks of a delivery, until it is dropped.
#[derive(Debug)]
pub(crate) struct DeliveryMark(());

impl DeliveryMark {
    pub(crate) fn set(delivery: DeliveryId) -> Self {
        DELIVERIES.with(|deliveries| deliveries.borrow_mut().push(delivery));
        Self(())
    }

    /// Whether this thread delivers for the delivery: a wait on one of its clocks would then never end.
    pub(crate) fn is_set(delivery: DeliveryId) -> bool {
        DELIVERIES.with(|deliveries| deliveries.borrow().contains(&delivery))
    }

    /// As [`DeliveryMark::is_set`], but also true in a thread whose thread-local values have been dropped already.
    pub(crate) fn may_be_set(delivery: DeliveryId) -> bool {
        let is_set = DELIVERIES.try_with(|deliveries| deliveries.borrow().contains(&delivery));
        is_set.unwrap_or(true)
    }
}

impl Drop for DeliveryMark {
    fn drop(&mut self) {
        DELIVERIES.with(|deliveries| deliveries.borrow_mut().pop());
    }
}

/// Whether this thread runs handlers of any clock. It then does not wait for the handlers of any clock, so that
/// handlers cannot wait for each other.
pub(crate) fn runs_handlers() -> bool {
    HANDLER_DEPTH.with(Cell::get) > 0
}

/// Marks this thread as running handlers, until it is dropped.
#[derive(Debug)]
pub(crate) struct HandlerMark(());

impl HandlerMark {
    pub(crate) fn set() -> Self {
        HANDLER_DEPTH.with(|depth| depth.set(depth.get() + 1));
        Self(())
    }
}

impl Drop for HandlerMark {
    fn drop(&mut self) {
        HANDLER_DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}
