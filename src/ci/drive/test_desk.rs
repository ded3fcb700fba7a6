//! [`TestDesk`]: a desk whose instants are set by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crossbeam_channel::Receiver;

use super::desk::Desk;
use super::waits::{Drive, OnMiss, Trouble};
use crate::ci::gates::{Ledger, Limits};
use crate::player::{GateHandle, Player};
use crate::time::{Duration, Time};

/// A desk, and what it acts on.
pub(super) struct TestDesk {
    pub(super) desk: Desk,
    pub(super) gates: GateHandle,
    pub(super) troubles: Receiver<Trouble>,
    /// The present instant, in milliseconds.
    pub(super) millis: Arc<AtomicI64>,
}

/// The desk of a run with these gates, each of which waits for `within`.
pub(super) fn desk(rules: &[&str], on_miss: OnMiss, within: Duration, lockstep: bool) -> TestDesk {
    let limits = Limits {
        in_flight: 1,
        within,
    };
    let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let drive = Drive {
        ledger: Ledger::new(rules, limits),
        on_miss,
        lockstep,
        start: Time::ZERO,
        is_held: false,
    };
    let (gates, millis) = (Player::new().gates(), Arc::new(AtomicI64::new(0)));
    let read = Arc::clone(&millis);
    let now = move || Time::from_millis(read.load(Ordering::Relaxed));
    let (desk, troubles) = Desk::new(drive, gates.clone(), now);
    TestDesk {
        desk,
        gates,
        troubles,
        millis,
    }
}
