//! Helpers for the tests of several modules: written recordings, network nodes, time limits, wakers.

use std::sync::Arc;

use bagplay::bag::Waker;
use crossbeam_channel::{Receiver, bounded};

#[cfg(feature = "ci")]
pub(crate) mod cdr;
#[cfg(feature = "ci")]
pub(crate) mod images;
pub(crate) mod mcap_features;
pub(crate) mod mcaps;
#[cfg(feature = "wire")]
pub(crate) mod network;
pub(crate) mod patience;
#[cfg(any(feature = "wire", feature = "ros1"))]
pub(crate) mod ports;
pub(crate) mod ros1;
#[cfg(feature = "ci")]
pub(crate) mod scripts;
#[cfg(feature = "ci")]
pub(crate) mod typed;

/// A waker for a read-ahead, and the channel in which its calls arrive; calls that were not received yet count as one.
pub(crate) fn waker() -> (Waker, Receiver<()>) {
    let (wake, woken) = bounded(1);
    let waker: Waker = Arc::new(move || {
        let _ = wake.try_send(());
    });
    (waker, woken)
}
