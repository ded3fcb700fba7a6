//! [`TimeQueue`]: a queue of times that have not been delivered yet, and the one rule for which of them may be dropped.
//!
//! The newest time counts. When another one arrives, the one before it is dropped if nothing but a tick is lost: never
//! where the time changes its direction or the source jumps. No more than [`LIMIT`] times wait, however slow the
//! handlers are.
//!
//! The changes of one clock are not only times. When twice as many wait, only the newest of each kind is kept
//! ([`HasKind`]): the clock is then on or off as the last of them says, and has the newest time.

use std::collections::VecDeque;

use crate::clock::state::extrapolate::ClockState;
use crate::time::{Ros, Time};

/// When this many times wait, a new one replaces the last one, even where the time changes its direction.
pub const LIMIT: usize = 64;

/// What the rule compares.
#[derive(Clone, Copy, Debug)]
pub enum TimeValue {
    /// A time.
    Time(Time<Ros>),
    /// The state of a clock.
    State(ClockState),
}

/// What can be queued. [`TimeQueue::put`] drops an item only if it carries a time and the item directly behind it does,
/// too.
pub trait QueueItem {
    /// The time that it carries, if it carries one.
    fn value(&self) -> Option<TimeValue>;
}

/// Items of kinds: the newest item of each kind, in their order, leads to the same state as all items.
pub trait HasKind: QueueItem {
    /// One of a small number of kinds.
    type Kind: PartialEq;

    /// Its kind.
    fn kind(&self) -> Self::Kind;
}

/// Items in the order in which they were put. Those that carry a time are dropped by the rule at the head of this file.
#[derive(Debug)]
pub struct TimeQueue<T> {
    all: VecDeque<T>,
    /// The item that was taken last, if it carried a time.
    last_taken: Option<TimeValue>,
}

impl<T> Default for TimeQueue<T> {
    fn default() -> Self {
        Self {
            all: VecDeque::new(),
            last_taken: None,
        }
    }
}

impl<T: QueueItem> TimeQueue<T> {
    /// Adds an item, and drops the one before it if the rule allows that.
    pub fn put(&mut self, item: T) {
        self.put_behind(0, item);
    }

    /// As [`TimeQueue::put`], but neither drops nor reads the first `kept` items.
    pub(crate) fn put_behind(&mut self, kept: usize, item: T) {
        let count = self.all.len();
        let before = match count.checked_sub(2) {
            Some(at) if at >= kept => self.all[at].value(),
            None if kept == 0 => self.last_taken,
            _ => None,
        };
        match self.all.back_mut() {
            Some(last)
                if count > kept
                    && let (Some(this), Some(after)) = (last.value(), item.value())
                    && (count - kept >= LIMIT || this.may_be_skipped(before, after)) =>
            {
                *last = item;
            }
            _ => self.all.push_back(item),
        }
    }

    /// Takes the first item.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let item = self.all.pop_front()?;
        self.last_taken = item.value();
        Some(item)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    #[inline]
    pub(crate) const fn items(&mut self) -> &mut VecDeque<T> {
        &mut self.all
    }
}

impl<T: HasKind> TimeQueue<T> {
    /// Drops nothing while fewer than [`LIMIT`] items wait, so handlers that move the time see each step. The rule of
    /// [`TimeQueue::put`] applies to the items behind these. Behind the first `2 * LIMIT - 1` items, only the newest
    /// item of each kind is kept.
    #[inline]
    pub(crate) fn put_by_kind(&mut self, item: T) {
        let count = self.all.len();
        if count < LIMIT {
            self.all.push_back(item);
        } else if count < 2 * LIMIT {
            self.put_behind(LIMIT - 1, item);
        } else {
            let kind = item.kind();
            let mut newest = self.all.split_off(2 * LIMIT - 1);
            newest.retain(|older| older.kind() != kind);
            self.all.append(&mut newest);
            self.all.push_back(item);
        }
    }
}

impl TimeValue {
    /// Whether only a tick is lost without this value, which lies between `before` and `after`.
    fn may_be_skipped(self, before: Option<Self>, after: Self) -> bool {
        match (before, self, after) {
            (Some(Self::Time(before)), Self::Time(this), Self::Time(after)) => {
                is_between(before, this, after)
            }
            (Some(Self::State(before)), Self::State(this), Self::State(after)) => {
                let is_reverse =
                    |state: ClockState| state.speed.map(crate::time::Speed::is_reverse);
                let directions = [before, this, after].map(is_reverse);
                let turns = directions.contains(&Some(true)) && directions.contains(&Some(false));
                let jumped_before = before.generation != this.generation;
                !turns
                    && this.generation == after.generation
                    && (jumped_before || is_between(before.time, this.time, after.time))
            }
            _ => false,
        }
    }
}

fn is_between(before: Time<Ros>, this: Time<Ros>, after: Time<Ros>) -> bool {
    (before <= this && this <= after) || (before >= this && this >= after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Speed;

    impl QueueItem for TimeValue {
        fn value(&self) -> Option<TimeValue> {
            Some(*self)
        }
    }

    /// What is taken from a queue into which all but the first of these are put after the first was taken.
    fn taken(all: impl IntoIterator<Item = TimeValue>) -> Vec<i64> {
        let mut queue = TimeQueue::default();
        let mut all = all.into_iter();
        queue.put(all.next().unwrap());
        let first = queue.take();
        all.for_each(|value| queue.put(value));
        let rest = std::iter::from_fn(|| queue.take());
        let times = first.into_iter().chain(rest).map(|value| match value {
            TimeValue::Time(time) => time.as_nanos(),
            TimeValue::State(state) => state.time.as_nanos(),
        });
        times.collect()
    }

    fn time(nanos: i64) -> TimeValue {
        TimeValue::Time(Time::from_nanos(nanos))
    }

    fn state(nanos: i64, factor: f64, generation: u64) -> TimeValue {
        TimeValue::State(ClockState {
            generation,
            ..ClockState::new(Time::from_nanos(nanos), Speed::from_f64(factor).ok())
        })
    }

    #[test]
    fn times_that_wait_are_skipped_except_where_the_time_turns() {
        for (put, expected) in [
            (&[99, 100, 105][..], &[99, 105][..]),
            (&[99, 100, 90, 105], &[99, 100, 90, 105]),
            (&[99, 100, 110, 109, 111, 112], &[99, 110, 109, 112]),
            (&[99, 98, 97, 96], &[99, 96]),
            (&[99, 99, 99], &[99, 99]),
            (&[99, 99, 98, 98, 99], &[99, 98, 99]),
        ] {
            assert_eq!(taken(put.iter().copied().map(time)), expected, "{put:?}");
        }
    }

    #[test]
    fn states_that_wait_are_skipped_except_at_turns_and_jumps() {
        for (put, expected) in [
            (&[(1, 1.0, 1), (2, 1.0, 1), (3, 1.0, 1)][..], &[1, 3][..]),
            (
                &[
                    (1, 1.0, 1),
                    (2, 1.0, 1),
                    (9, 1.0, 2),
                    (5, 1.0, 3),
                    (6, 1.0, 3),
                ],
                &[1, 2, 9, 6],
            ),
            (
                &[(1, 1.0, 1), (2, 0.0, 1), (2, 1.0, 1), (3, 1.0, 1)],
                &[1, 3],
            ),
            (
                &[(1, 1.0, 1), (5, 1.0, 1), (4, -1.0, 1), (3, -1.0, 1)],
                &[1, 5, 4, 3],
            ),
            (
                &[(1, 1.0, 0), (5, 1.0, 0), (2, 1.0, 0), (3, 1.0, 0)],
                &[1, 5, 2, 3],
            ),
        ] {
            let states = put
                .iter()
                .map(|(at, factor, number)| state(*at, *factor, *number));
            assert_eq!(taken(states), expected, "{put:?}");
        }
    }

    #[test]
    fn turns_that_wait_are_limited() {
        let turns = (0..1_000).map(|turn| time(turn % 2)).chain([time(7)]);
        let all = taken(turns);
        assert_eq!((all.len(), all.last()), (LIMIT + 1, Some(&7)));
    }
}
