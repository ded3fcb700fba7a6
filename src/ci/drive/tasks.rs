//! What the governor of a run does at its [`Desk`].

use std::sync::{PoisonError, TryLockError};
use std::time::Duration as StdDuration;

use super::desk::Desk;
use super::settlement::{Dealt, Settlement, Waited};
use super::state::{Stage, UnsettledSince};
use super::waits::Trouble;
use crate::time::{Duration, Time};

/// How often outputs that are held up are looked at.
const HELD_UP: Duration = Duration::from_millis(1);

/// What the governor has to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// [`Desk::settle`].
    Settle,
    /// Nothing any more.
    Over,
}

impl Desk {
    /// Settling is told by this from now on.
    pub(super) fn settles_with(&self, settlement: Settlement) {
        let known = self.0.settlement.lock();
        *known.unwrap_or_else(PoisonError::into_inner) = Some(settlement);
    }

    /// The governor has begun: nothing is sent before the processes have dealt with their beginning.
    pub(super) fn begins(&self) {
        let now = (self.0.now)();
        let mut state = self.state();
        state.stir(now, None);
        self.update(&state);
    }

    /// Waits for the next task, and gives up questions whose time has come meanwhile.
    pub(super) fn next_task(&self) -> Task {
        let mut state = self.state();
        loop {
            if state.stage == Stage::Over {
                return Task::Over;
            }
            self.give_up_overdue(&mut state);
            let is_held_up = state.lockstep && !state.in_hand.is_empty();
            if state.has_to_settle() && !is_held_up {
                return Task::Settle;
            }
            let now = (self.0.now)();
            if state.spread.until().is_some_and(|until| until <= now) {
                state.spread.look(now);
                self.update(&state);
            }
            // No thread wakes this one when the last output has been handed on, so it looks again.
            let look = is_held_up.then(|| now.saturating_add(HELD_UP));
            let deadline = state.deadline().into_iter().chain(look).min();
            state.governor_sleeps_until = Some(deadline.unwrap_or(Time::MAX));
            state = if let Some(deadline) = deadline {
                let left = deadline.saturating_since(now).to_std();
                let waited = self.0.changed.wait_timeout(state, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            } else {
                let waited = self.0.changed.wait(state);
                waited.unwrap_or_else(PoisonError::into_inner)
            };
            state.governor_sleeps_until = None;
        }
    }

    /// Waits for `slice` at most until the processes have settled. False if they have not, or if another thread waits
    /// for it.
    pub(super) fn settle(&self, slice: StdDuration) -> bool {
        let mut settlement = match self.0.settlement.try_lock() {
            Ok(settlement) => settlement,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let Some(settlement) = settlement.as_mut() else {
            return false;
        };
        let (unsettled, waited) = self.unsettled();
        if let Some(since) = unsettled.filter(|it| it.outputs > 0 && waited > settlement.limit()) {
            self.fail_restless(since, waited);
            return false;
        }
        match settlement.wait(waited.to_std(), slice, || self.state().stirred) {
            Ok(Waited::Settled(dealt)) => {
                self.settled(&dealt);
                true
            }
            Ok(Waited::NotYet { in_the_way }) => {
                if let Some(since) = &mut self.state().unsettled {
                    since.in_the_way = Some(in_the_way);
                }
                false
            }
            Err(unsettled) => {
                self.fail(Trouble::Unsettled(unsettled));
                false
            }
        }
    }

    /// The processes have dealt with this much.
    pub(super) fn settled(&self, dealt: &Dealt) {
        let mut state = self.state();
        state.has_reacted |= dealt.has_run && self.place().has_begun();
        // The thread that has one in hand slept, so it looked settled.
        if state.in_hand.is_empty() || !state.lockstep {
            state.settled(dealt.stirred);
            state.settling.add(dealt.took);
        }
        self.update(&state);
    }

    /// What has happened since the processes had settled last, and how long that is ago.
    fn unsettled(&self) -> (Option<UnsettledSince>, Duration) {
        let now = (self.0.now)();
        let since = self.state().unsettled.clone();
        let waited = since.as_ref().map(|it| now.saturating_since(it.at));
        (since, waited.unwrap_or_default())
    }

    /// Fails the run: the processes have not settled for so long, because they keep publishing.
    fn fail_restless(&self, since: UnsettledSince, took: Duration) {
        self.fail(Trouble::Restless {
            topic: since.topic,
            messages: since.outputs,
            took,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::ci::drive::test_desk::{TestDesk, desk};
    use crate::ci::drive::waits::OnMiss;
    use crate::time::Time;

    #[test]
    fn outputs_that_come_while_something_is_sent_do_not_count_for_the_limit() {
        let TestDesk { desk, millis, .. } = desk(&[], OnMiss::Fail, Duration::from_secs(5), true);
        desk.sends(Time::from_secs(0), |_| ());
        desk.answered("/out", None);
        // The put blocks for a minute.
        millis.fetch_add(60_000, Ordering::Relaxed);
        desk.sent(false);
        let (since, waited) = desk.unsettled();
        assert_eq!((since.unwrap().outputs, waited), (0, Duration::ZERO));
        assert_eq!(desk.next_task(), Task::Settle);
    }

    #[test]
    fn of_each_rule_the_first_question_that_was_given_up_is_kept() {
        let TestDesk { desk, millis, .. } = desk(
            &["/a -> /x", "/b -> /y"],
            OnMiss::Count(u64::MAX),
            Duration::from_secs(1),
            false,
        );
        let at = Time::from_secs(0);
        for topic in ["/a"; 150].into_iter().chain(["/b"; 2]) {
            desk.sends(at, |asking| asking.message(topic, at, at, None));
            desk.sent(false);
            millis.fetch_add(2000, Ordering::Relaxed);
            desk.give_up_overdue(&mut desk.state());
        }
        let progress = desk.progress();
        let missed: Vec<u64> = progress.tallies.iter().map(|it| it.missed).collect();
        assert_eq!(missed, [150, 2]);
        let kept = |rule| progress.missed.iter().filter(move |it| it.rule == rule);
        assert_eq!((kept(0).count(), kept(1).count()), (100, 1));
        assert_eq!(kept(1).next().map(|missed| missed.number), Some(0));
    }

    #[test]
    fn outputs_that_keep_coming_do_not_start_the_limit_anew() {
        let TestDesk {
            desk,
            gates,
            troubles,
            millis,
        } = desk(&[], OnMiss::Fail, Duration::from_secs(5), true);
        let dealt_with = |stirred| {
            desk.settled(&Dealt {
                stirred,
                has_run: true,
                took: Duration::ZERO,
            });
        };
        let stirred = || desk.state().stirred;
        desk.begins();
        assert!(
            !gates.closed().is_open(),
            "the beginning has to settle first"
        );
        assert_eq!(desk.next_task(), Task::Settle);
        dealt_with(stirred());
        assert!(gates.closed().is_open());
        for round in 0..2 {
            millis.fetch_add(1000, Ordering::Relaxed);
            desk.sent(false);
            for step in 0..10_i64 {
                assert_eq!(desk.next_task(), Task::Settle);
                let (since, waited) = desk.unsettled();
                assert_eq!(waited, Duration::from_millis(10) * step, "{round}");
                assert_eq!(since.unwrap().outputs, u64::try_from(step).unwrap());
                let before = stirred();
                desk.answered("/flood", None);
                millis.fetch_add(10, Ordering::Relaxed);
                dealt_with(before);
                assert!(!gates.closed().is_open());
            }
            let waits = desk.waits_for().unwrap();
            assert_eq!(waits, "the program under test has not settled");
            if round == 0 {
                dealt_with(stirred());
                assert!(gates.closed().is_open() && desk.waits_for().is_none());
            }
        }
        let (since, waited) = desk.unsettled();
        desk.fail_restless(since.unwrap(), waited);
        let said = "the program under test has not settled after 100.0ms: 10 messages came meanwhile, the last one of /flood";
        assert_eq!(troubles.try_recv().unwrap().to_string(), said);
    }
}
