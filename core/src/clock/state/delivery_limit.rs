//! [`DeliveryLimit`]: how many items of a queue the thread that delivers from it may take.
//!
//! A thread that feeds takes everything until the queue is empty. A call that changes something, and finds that no
//! other thread delivers, takes a bounded number, so that it returns however fast other threads feed; a new thread then
//! takes the rest. The call does not leave the rest to a thread that feeds: that thread may have ended, may run
//! handlers, or may be the one that the current handler waits for.

/// The first round is what is queued when the call begins, its own change included; the second is what has arrived
/// meanwhile. If the handlers are as fast as the source, the queue is empty after that, and everything fed before the
/// call returns has been delivered.
const ROUNDS: u32 = 2;

#[derive(Debug)]
pub(crate) struct DeliveryLimit {
    /// How many more rounds may begin; `None` if there is no limit.
    rounds: Option<u32>,
    /// How many may still be taken in the current round.
    left: usize,
}

impl DeliveryLimit {
    /// Everything, until the queue is empty.
    pub(crate) const NONE: Self = Self {
        rounds: None,
        left: 0,
    };

    /// A bounded number: for calls that do not feed.
    pub(crate) const BOUNDED: Self = Self {
        rounds: Some(ROUNDS),
        left: 0,
    };

    /// Whether the limit has room for one more, which then counts as taken. `waiting` is the length of the queue, at
    /// least one.
    pub(crate) const fn allows_one(&mut self, waiting: usize) -> bool {
        if let Some(rounds) = &mut self.rounds {
            if self.left == 0 {
                if *rounds == 0 {
                    return false;
                }
                *rounds -= 1;
                self.left = waiting;
            }
            self.left -= 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many are taken, 1000 at most, from a queue whose length is always `waiting`.
    fn taken_beside_a_flood(mut limit: DeliveryLimit, waiting: usize) -> usize {
        (0..1_000).take_while(|_| limit.allows_one(waiting)).count()
    }

    #[test]
    fn a_bounded_share_is_what_waits_twice() {
        assert_eq!(taken_beside_a_flood(DeliveryLimit::BOUNDED, 1), 2);
        assert_eq!(taken_beside_a_flood(DeliveryLimit::BOUNDED, 64), 128);
        assert_eq!(taken_beside_a_flood(DeliveryLimit::NONE, 64), 1_000);
    }
}
