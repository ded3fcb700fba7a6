//! The thread that carries out what viewers ask for, and tells them what changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::Receiver;

use super::broadcast::Broadcast;
use super::refill::Refills;
use super::requests::Requests;

/// Carries out requests and tells changes whenever it is woken, and the time while playing, until `is_over`.
pub(super) fn run(
    broadcast: &Arc<Broadcast>,
    requests: &Requests,
    refills: &Refills,
    woken: &Receiver<()>,
    is_over: &AtomicBool,
) {
    while !is_over.load(Ordering::Relaxed) {
        let request = requests.carry_out(broadcast);
        let change = broadcast.catch_up();
        if broadcast.take_late_jump() {
            refills.told_jump(broadcast.transport().now());
        }
        // The time limit and the wake-up have the same effect; the sender is in `broadcast`.
        let _ = match request.into_iter().chain(change).min() {
            Some(wait) => woken.recv_timeout(wait.to_std()).ok(),
            None => woken.recv().ok(),
        };
    }
}
