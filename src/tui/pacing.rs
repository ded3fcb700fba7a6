//! [`Pacing`]: paces the reads that the screen asks for, so that playback keeps most of the processor and the disk.

use std::time::Instant;

use crate::time::{Duration, Steady, Time};

/// The shortest interval between two reads of a kind while playing.
pub(crate) const INTERVAL: Duration = Duration::from_millis(200);

#[expect(
    clippy::disallowed_methods,
    reason = "reads for the screen are paced in wall time"
)]
pub(crate) fn wall_now() -> Instant {
    Instant::now()
}

/// The reads of one kind: one at a time; while playing they take a tenth of the time at most.
#[derive(Debug)]
pub(crate) struct Pacing<T> {
    /// The request that has not been answered, and since when.
    pending: Option<(T, Time<Steady>)>,
    /// When the last answer arrived, and how long reading it took.
    last: Option<(Time<Steady>, Duration)>,
}

impl<T> Default for Pacing<T> {
    fn default() -> Self {
        Self {
            pending: None,
            last: None,
        }
    }
}

impl<T: PartialEq> Pacing<T> {
    /// The request that has not been answered, and since when.
    pub(crate) fn pending(&self) -> Option<&(T, Time<Steady>)> {
        self.pending.as_ref()
    }

    /// When the next read may begin; [`Time::MIN`] for at once.
    pub(crate) fn next(&self, is_playing: bool) -> Time<Steady> {
        match self.last {
            Some((arrived, cost)) if is_playing => {
                arrived.saturating_add(cost.saturating_mul(9).max(INTERVAL))
            }
            _ => Time::MIN,
        }
    }

    /// When the next read may begin if what is shown is not known at all.
    pub(crate) fn soon(&self) -> Time<Steady> {
        self.last
            .map_or(Time::MIN, |(arrived, _)| arrived.saturating_add(INTERVAL))
    }

    /// A request was sent; it takes the place of the pending one.
    pub(crate) fn sent(&mut self, request: T, now: Time<Steady>) {
        self.pending = Some((request, now));
    }

    /// Forgets the pending request, and returns it.
    pub(crate) fn cancelled(&mut self) -> Option<T> {
        self.pending.take().map(|(request, _)| request)
    }

    /// An answer has come.
    pub(crate) fn answered(&mut self, request: &T, now: Time<Steady>) {
        if let Some((_, since)) = self.pending.take_if(|(pending, _)| pending == request) {
            self.last = Some((now, now.saturating_since(since)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_playing_reads_take_a_tenth_of_the_time() {
        let at = Time::from_millis;
        let mut pacing = Pacing::default();
        assert_eq!(pacing.next(true), Time::MIN);
        pacing.sent("a", at(0));
        // Another answer is not that of the request.
        pacing.answered(&"b", at(10));
        assert_eq!(pacing.pending(), Some(&("a", at(0))));
        pacing.answered(&"a", at(100));
        assert_eq!(
            (pacing.next(true), pacing.next(false)),
            (at(1000), Time::MIN)
        );
        pacing.sent("c", at(1000));
        pacing.answered(&"c", at(1001));
        assert_eq!(pacing.next(true), at(1201));
    }

    #[test]
    fn what_is_not_known_is_read_five_times_a_second_at_most() {
        let at = Time::from_millis;
        let mut pacing = Pacing::default();
        assert_eq!(pacing.soon(), Time::MIN);
        pacing.sent("a", at(0));
        pacing.answered(&"a", at(30));
        assert_eq!(pacing.soon(), at(230));
    }
}
