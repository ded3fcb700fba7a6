//! [`Mailbox`]: a queue of times that have not been delivered yet, with the one rule for which of them may be dropped.
//!
//! The newest time counts. When another one arrives, the one before it is dropped if nothing but a tick is lost: never
//! where the time changes its direction or the source jumps. No more than [`MOST`] times wait, however slow the
//! handlers are.
//!
//! The changes of one clock are not only times. When twice as many wait, only the newest of each kind is kept
//! ([`Kinds`]): the clock is then on or off as the last of them says, and has the newest time.

use std::collections::VecDeque;

use crate::clock::state::extrapolate::ClockState;
use crate::time::{Ros, Time};

/// When this many times wait, a new one replaces the last one, even where the time changes its direction.
pub(crate) const MOST: usize = 64;

/// What the rule compares.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Said {
    Time(Time<Ros>),
    State(ClockState),
}

/// What can be queued. [`Mailbox::put`] drops nothing that carries no time, nor a time because of one that comes after
/// that.
pub(crate) trait Letter {
    fn said(&self) -> Option<Said>;
}

/// Letters of which only the newest of each kind, in their order, lead to the same state as all of them.
pub(crate) trait Kinds: Letter {
    /// One of a small number of kinds.
    type Kind: PartialEq;

    fn kind(&self) -> Self::Kind;
}

#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    all: VecDeque<T>,
    /// What was taken last, if it carried a time.
    taken: Option<Said>,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self {
            all: VecDeque::new(),
            taken: None,
        }
    }
}

impl<T: Letter> Mailbox<T> {
    pub(crate) fn put(&mut self, letter: T) {
        self.put_behind(0, letter);
    }

    /// As [`Mailbox::put`], but leaves the first `kept` letters alone.
    pub(crate) fn put_behind(&mut self, kept: usize, letter: T) {
        let count = self.all.len();
        let before = match count.checked_sub(2) {
            Some(at) if at >= kept => self.all[at].said(),
            None if kept == 0 => self.taken,
            _ => None,
        };
        match self.all.back_mut() {
            Some(last)
                if count > kept
                    && let (Some(this), Some(after)) = (last.said(), letter.said())
                    && (count - kept >= MOST || this.is_on_the_way(before, after)) =>
            {
                *last = letter;
            }
            _ => self.all.push_back(letter),
        }
    }

    pub(crate) fn take(&mut self) -> Option<T> {
        let letter = self.all.pop_front()?;
        self.taken = letter.said();
        Some(letter)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) const fn letters(&mut self) -> &mut VecDeque<T> {
        &mut self.all
    }
}

impl<T: Kinds> Mailbox<T> {
    /// Drops nothing while fewer than [`MOST`] letters wait: handlers that move the time see each step. Then the rule
    /// of [`Mailbox::put`] applies to what is queued behind these. Behind `2 * MOST - 1` letters, only the newest
    /// letter of each kind is kept.
    pub(crate) fn put_in_order(&mut self, letter: T) {
        let count = self.all.len();
        if count < MOST {
            self.all.push_back(letter);
        } else if count < 2 * MOST {
            self.put_behind(MOST - 1, letter);
        } else {
            let kind = letter.kind();
            let mut newest = self.all.split_off(2 * MOST - 1);
            newest.retain(|older| older.kind() != kind);
            self.all.append(&mut newest);
            self.all.push_back(letter);
        }
    }
}

impl Said {
    /// Whether only a tick is lost without this value, which lies between `before` and `after`.
    fn is_on_the_way(self, before: Option<Self>, after: Self) -> bool {
        match (before, self, after) {
            (Some(Self::Time(before)), Self::Time(this), Self::Time(after)) => {
                is_between(before, this, after)
            }
            (Some(Self::State(before)), Self::State(this), Self::State(after)) => {
                let is_reverse =
                    |state: ClockState| state.speed.map(crate::time::Speed::is_reverse);
                let headings = [before, this, after].map(is_reverse);
                let turns = headings.contains(&Some(true)) && headings.contains(&Some(false));
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

    impl Letter for Said {
        fn said(&self) -> Option<Said> {
            Some(*self)
        }
    }

    fn told(all: impl IntoIterator<Item = Said>) -> Vec<i64> {
        let mut mailbox = Mailbox::default();
        let mut all = all.into_iter();
        mailbox.put(all.next().unwrap());
        let first = mailbox.take();
        all.for_each(|said| mailbox.put(said));
        let rest = std::iter::from_fn(|| mailbox.take());
        let times = first.into_iter().chain(rest).map(|said| match said {
            Said::Time(time) => time.as_nanos(),
            Said::State(state) => state.time.as_nanos(),
        });
        times.collect()
    }

    fn time(nanos: i64) -> Said {
        Said::Time(Time::from_nanos(nanos))
    }

    fn state(nanos: i64, factor: f64, generation: u64) -> Said {
        Said::State(ClockState {
            generation,
            ..ClockState::new(Time::from_nanos(nanos), Speed::from_f64(factor).ok())
        })
    }

    #[test]
    fn what_waits_is_passed_over_but_no_turn_of_the_time() {
        for (said, expected) in [
            (&[99, 100, 105][..], &[99, 105][..]),
            (&[99, 100, 90, 105], &[99, 100, 90, 105]),
            (&[99, 100, 110, 109, 111, 112], &[99, 110, 109, 112]),
            (&[99, 98, 97, 96], &[99, 96]),
            (&[99, 99, 99], &[99, 99]),
            (&[99, 99, 98, 98, 99], &[99, 98, 99]),
        ] {
            assert_eq!(told(said.iter().copied().map(time)), expected, "{said:?}");
        }
    }

    #[test]
    fn the_newest_state_of_each_generation_is_told_and_every_turn() {
        for (said, expected) in [
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
            let states = said
                .iter()
                .map(|(at, factor, number)| state(*at, *factor, *number));
            assert_eq!(told(states), expected, "{said:?}");
        }
    }

    #[test]
    fn no_more_turns_wait_than_there_is_room_for() {
        let turns = (0..1_000).map(|turn| time(turn % 2)).chain([time(7)]);
        let all = told(turns);
        assert_eq!((all.len(), all.last()), (MOST + 1, Some(&7)));
    }
}
