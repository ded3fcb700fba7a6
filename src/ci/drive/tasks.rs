//! What the governor of a run does at its [`Desk`].

use std::sync::PoisonError;
use std::time::Duration as StdDuration;

use super::desk::Desk;
use super::state::Stage;
use super::waits::Trouble;
use crate::time::Duration;

/// How many processes that have ended are named.
const GONE_KEPT: usize = 20;
/// How often outputs that are held up are looked at, in nanoseconds.
const HELD_UP: i64 = 1_000_000;

/// What the governor has to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Wait until the processes have settled; then tell [`Desk::settled`].
    Settle(Unsettling),
    /// Nothing any more.
    Over,
}

/// What the processes have to deal with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unsettling {
    /// The number for [`Desk::settled`].
    pub(super) stirred: u64,
    /// How long the run has waited for it.
    pub(super) waited: Duration,
    /// Whether it has settled meanwhile, but published something before the run could go on.
    pub(super) is_restless: bool,
}

impl Desk {
    /// Waits for the next task, and gives up questions whose time has come meanwhile.
    pub(super) fn next_task(&self) -> Task {
        let mut state = self.state();
        loop {
            if state.stage == Stage::Over {
                return Task::Over;
            }
            self.give_up_overdue(&mut state);
            let now = (self.0.now)();
            let is_held_up = state.lockstep && !state.in_hand.is_empty();
            if !state.is_settled() && !state.is_sending && !state.has_failed() && !is_held_up {
                let since = state.unsettled.as_ref();
                return Task::Settle(Unsettling {
                    stirred: state.stirred,
                    waited: since.map_or(Duration::ZERO, |it| now.saturating_since(it.at)),
                    is_restless: since.is_some_and(|it| it.outputs > 0),
                });
            }
            if state.spread.until().is_some_and(|until| until <= now) {
                state.spread.look(now);
                self.update(&state);
            }
            let deadlines = [state.ledger.deadline(), state.spread.until()];
            let deadline = deadlines.into_iter().flatten().min();
            let deadline = deadline.filter(|_| !state.has_failed());
            let left = deadline.map(|end| end.saturating_since(now).as_nanos().max(0));
            // Nobody tells when the last one has been handed on.
            let left = left.into_iter().chain(is_held_up.then_some(HELD_UP)).min();
            state = if let Some(left) = left {
                let left = StdDuration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX));
                let waited = self.0.changed.wait_timeout(state, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            } else {
                let waited = self.0.changed.wait(state);
                waited.unwrap_or_else(PoisonError::into_inner)
            };
        }
    }

    /// Gives up the questions whose time has come, while the governor waits for a thread to settle.
    pub(super) fn look(&self, in_the_way: String) -> bool {
        let mut state = self.state();
        if let Some(since) = &mut state.unsettled {
            since.in_the_way = Some(in_the_way);
        }
        self.give_up_overdue(&mut state);
        state.stage == Stage::Underway
    }

    /// The processes have dealt with this much, and it took so long.
    pub(super) fn settled(&self, stirred: u64, took: Duration) {
        let mut state = self.state();
        // The thread that has one in hand slept, so it looked settled.
        if state.in_hand.is_empty() || !state.lockstep {
            state.settled(stirred);
            state.settling.add(took);
        }
        self.update(&state);
        drop(state);
        self.0.changed.notify_all();
    }

    /// The processes have not settled for so long, because they publish something again and again.
    pub(super) fn is_restless(&self, took: Duration) {
        let mut state = self.state();
        let since = state.unsettled.clone();
        let (topic, messages) = since.map_or_else(Default::default, |it| (it.topic, it.outputs));
        let restless = Trouble::Restless {
            topic,
            messages,
            took,
        };
        self.fail_with(&mut state, restless);
    }

    /// The governor has begun: nothing is sent before the processes have dealt with their beginning.
    pub(super) fn begins(&self) {
        let now = (self.0.now)();
        let mut state = self.state();
        state.stir(now, None);
        self.update(&state);
    }

    /// A process under test has ended.
    pub(super) fn is_gone(&self, process: String) {
        let mut state = self.state();
        if state.gone.len() < GONE_KEPT {
            state.gone.push(process);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;
    use crate::ci::drive::waits::{Drive, OnMiss};
    use crate::ci::gates::{Ledger, Limits};
    use crate::player::Player;
    use crate::time::Time;

    #[test]
    fn outputs_that_keep_coming_do_not_start_the_limit_anew() {
        let limits = Limits {
            in_flight: 1,
            within: Duration::from_secs(5),
        };
        let drive = Drive {
            ledger: Ledger::new(Vec::new(), limits),
            on_miss: OnMiss::Fail,
            lockstep: true,
            start: Time::from_secs(0),
            is_held: false,
        };
        let (player, millis) = (Player::new(), Arc::new(AtomicI64::new(0)));
        let gates = player.gates();
        let read = Arc::clone(&millis);
        let (desk, troubles) = Desk::new(drive, player.gates(), move || {
            Time::from_millis(read.load(Ordering::Relaxed))
        });
        let settle = || match desk.next_task() {
            Task::Settle(it) => it,
            Task::Over => panic!("it has just begun"),
        };
        desk.begins();
        assert!(
            !gates.closed().is_open(),
            "the beginning has to settle first"
        );
        desk.settled(settle().stirred, Duration::ZERO);
        assert!(gates.closed().is_open());
        for round in 0..2 {
            millis.fetch_add(1000, Ordering::Relaxed);
            desk.sent();
            for step in 0..10_i64 {
                let task = settle();
                assert_eq!(task.waited, Duration::from_millis(10) * step, "{round}");
                assert_eq!(task.is_restless, step > 0);
                desk.answered("/flood", None);
                millis.fetch_add(10, Ordering::Relaxed);
                desk.settled(task.stirred, Duration::ZERO);
                assert!(!gates.closed().is_open());
            }
            let waits = desk.waits_for().unwrap();
            assert_eq!(waits, "the program under test has not settled");
            if round == 0 {
                desk.settled(settle().stirred, Duration::ZERO);
                assert!(gates.closed().is_open() && desk.waits_for().is_none());
            }
        }
        desk.is_restless(settle().waited);
        let said = "the program under test has not settled after 100.0ms: 10 messages came meanwhile, the last one of /flood";
        assert_eq!(troubles.try_recv().unwrap().to_string(), said);
    }
}
