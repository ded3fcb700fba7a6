//! [`Desk`]: what has to come of what was sent, shared by the threads of a run; and whether the player may go on.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration as StdDuration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::place::Place;
use super::settlement::{Dealt, Settlement};
use super::spread::Spread;
use super::state::{Asking, Stage, State};
use super::waits::{Drained, Drive, OnMiss, Progress, Trouble};
use crate::ci::gates::Answered;
use crate::ci::report::{Happened, Timeline};
use crate::ci::spans::SpanHistogram;
use crate::player::{Gate, GateHandle};
use crate::time::{Duration, Ros, Steady, Time};

/// The instants of a run: those of its player.
pub(super) type Now = Box<dyn Fn() -> Time<Steady> + Send + Sync>;

/// What has to come of what was sent. Cheap to clone.
#[derive(Clone)]
pub struct Desk(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Wakes the governor.
    changed: Condvar,
    /// Wakes who waits in [`Desk::drain`].
    drained: Condvar,
    /// Only one thread at a time waits with it.
    settlement: Mutex<Option<Settlement>>,
    gates: GateHandle,
    now: Now,
    place: Arc<Place>,
    troubles: Sender<Trouble>,
}

/// What the governor has to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// [`Desk::settle`].
    Settle,
    /// Nothing any more.
    Over,
}

/// How many moments of a run are kept.
const MOST_MOMENTS: usize = 8192;
/// How many questions that were given up are kept.
const MISSED_KEPT: usize = 100;
/// How many processes that have ended are named.
const GONE_KEPT: usize = 20;
/// How long the thread that sends waits itself until the processes have settled. Meanwhile it takes no commands.
const IN_PLACE: StdDuration = StdDuration::from_millis(5);

impl Desk {
    /// A desk for a run whose player has these gates. Troubles come out of the channel; at most a few are kept.
    pub fn new(
        drive: Drive,
        gates: GateHandle,
        now: impl Fn() -> Time<Steady> + Send + Sync + 'static,
    ) -> (Self, Receiver<Trouble>) {
        let (troubles, receiver) = bounded(8);
        let state = State {
            rules: drive.ledger.rules().map(ToString::to_string).collect(),
            ledger: drive.ledger,
            on_miss: drive.on_miss,
            lockstep: drive.lockstep,
            is_sending: false,
            is_attended: false,
            governor_sleeps_until: None,
            is_draining: false,
            stirred: 0,
            settled: 0,
            spread: Spread::default(),
            settling: SpanHistogram::default(),
            given_up: 0,
            gone: Vec::new(),
            missed: Vec::new(),
            timeline: Timeline::default(),
            began: now(),
            last_output: None,
            stage: Stage::Underway,
        };
        let shared = Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            drained: Condvar::new(),
            settlement: Mutex::default(),
            gates,
            now: Box::new(now),
            place: Arc::new(Place::new(drive.start)),
            troubles,
        };
        (Self(Arc::new(shared)), receiver)
    }

    /// The log time that was sent last.
    pub fn place(&self) -> &Arc<Place> {
        &self.0.place
    }

    /// A message of the system under test has come, with its `header.stamp` if its type has one. Any thread may call it;
    /// it opens the gate if nothing else is missing.
    pub fn answered(&self, topic: &str, stamp: Option<Time<Ros>>) {
        let now = (self.0.now)();
        let mut state = self.state();
        state.last_output = Some(now);
        let moment = state.moment(Happened::Output, self.0.place.get(), now, topic);
        state.timeline.add(moment);
        for Answered { rule, question } in state.ledger.answered(topic, stamp, now) {
            state.became(Happened::Answer, rule, question, now);
        }
        if state.lockstep {
            // Whoever receives this output deals with it, too.
            state.stirred += 1;
        }
        self.update(&state);
    }

    /// The run is not in lockstep after all. To be called before anything is sent.
    pub fn without_lockstep(&self) {
        let mut state = self.state();
        state.lockstep = false;
        self.update(&state);
    }

    /// Playback pauses between the messages of bursts: of each of these topics so many go out without a pause after a wait for
    /// an answer. To be called before anything is sent.
    pub fn spread(&self, depths: BTreeMap<String, u64>) {
        self.state().spread = Spread::new(depths);
    }

    /// What has become of everything so far.
    pub fn progress(&self) -> Progress {
        let state = self.state();
        Progress {
            tallies: state.ledger.tallies().collect(),
            settling: state.settling.clone(),
            missed: state.missed.clone(),
            gone: state.gone.clone(),
            timeline: state.timeline.clone().moments(MOST_MOMENTS),
        }
    }

    /// Waits until everything that was sent is dealt with: all questions are answered, and the processes have settled or,
    /// without lockstep, no output has come for `quiet`; but outputs that do not stop are not waited for longer than 25 times
    /// that. To be called when the player has come to its end.
    /// `is_called_off` is called at least 20 times a second; `true` ends the wait.
    pub fn drain(&self, quiet: StdDuration, mut is_called_off: impl FnMut() -> bool) -> Drained {
        const LOOK: StdDuration = StdDuration::from_millis(50);
        const LONGEST_QUIET: i64 = 25;
        let quiet = Duration::from(quiet);
        let from = (self.0.now)();
        loop {
            if is_called_off() {
                return Drained::CalledOff;
            }
            let mut state = self.state();
            if state.has_failed() {
                return Drained::Troubled;
            }
            state.is_draining = true;
            let now = (self.0.now)();
            let quiet_from = state.last_output.map_or(from, |last| last.max(from));
            let left = quiet.as_nanos() - now.saturating_since(quiet_from).as_nanos();
            let waited = now.saturating_since(from).as_nanos();
            let is_restless = waited > quiet.as_nanos().saturating_mul(LONGEST_QUIET);
            let is_quiet = state.lockstep || left <= 0 || is_restless;
            if state.ledger.is_drained() && state.is_settled() && is_quiet {
                return Drained::Whole;
            }
            let left = StdDuration::from_nanos(u64::try_from(left).unwrap_or(0));
            let wait = if is_quiet { LOOK } else { left.min(LOOK) };
            let waited = self.0.drained.wait_timeout(state, wait);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The run is over: its governor ends.
    pub(super) fn end(&self) {
        self.state().stage = Stage::Over;
        self.0.changed.notify_all();
        self.0.drained.notify_all();
    }

    /// Something is about to be sent: `ask` notes the questions. The gate is closed if something has to come of it. To be
    /// followed by [`Desk::sent`].
    pub(super) fn sends(&self, at: Time<Ros>, ask: impl FnOnce(&mut Asking<'_>)) {
        self.0.place.set(at);
        let mut state = self.state();
        state.is_sending = true;
        let now = (self.0.now)();
        ask(&mut Asking {
            state: &mut state,
            now,
        });
        self.update(&state);
    }

    /// It has been sent: from now on the processes deal with it. With `may_wait` this thread waits some milliseconds for that in
    /// place of the governor, so that neither has to be woken.
    pub(super) fn sent(&self, may_wait: bool) {
        let mut state = self.state();
        state.is_sending = false;
        state.stirred += 1;
        state.is_attended = may_wait && state.lockstep && !state.has_failed();
        self.update(&state);
        if !state.is_attended {
            return;
        }
        drop(state);
        let until = (self.0.now)().saturating_add(IN_PLACE.into());
        loop {
            let left = until.saturating_since((self.0.now)());
            let goes_on = left > Duration::ZERO && self.settle(left.to_std());
            let mut state = self.state();
            // Something may have come after the last look.
            if state.is_settled() || !goes_on {
                state.is_attended = false;
                self.update(&state);
                return;
            }
        }
    }

    /// Settling is told by this from now on.
    pub(super) fn settles_with(&self, settlement: Settlement) {
        *self.settlement() = Some(settlement);
    }

    /// Waits for `slice` at most until the processes have settled. False if they have not, or if another thread waits for it.
    pub(super) fn settle(&self, slice: StdDuration) -> bool {
        let mut settlement = match self.0.settlement.try_lock() {
            Ok(settlement) => settlement,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let settled = match settlement.as_mut() {
            Some(settlement) => settlement.wait(slice, || self.state().stirred),
            None => Ok(None),
        };
        match settled {
            Ok(Some(dealt)) => {
                self.settled(dealt);
                true
            }
            Ok(None) => false,
            Err(unsettled) => {
                self.fail(Trouble::Unsettled(unsettled));
                false
            }
        }
    }

    /// A message that was noted has not been sent after all.
    pub(super) fn withdraws(&self, topic: &str) {
        let mut state = self.state();
        state.ledger.withdraw(topic);
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
            if state.has_to_settle() {
                return Task::Settle;
            }
            let now = (self.0.now)();
            if state.spread.until().is_some_and(|until| until <= now) {
                state.spread.look(now);
                self.update(&state);
            }
            let deadline = state.deadline();
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

    /// The processes have dealt with this much.
    fn settled(&self, dealt: Dealt) {
        let mut state = self.state();
        state.settled = state.settled.max(dealt.stirred);
        state.settling.add(dealt.took);
        let room = GONE_KEPT.saturating_sub(state.gone.len());
        state.gone.extend(dealt.gone.into_iter().take(room));
        self.update(&state);
    }

    /// The run cannot go on: the gate stays closed.
    pub(super) fn fail(&self, trouble: Trouble) {
        let mut state = self.state();
        self.fail_with(&mut state, trouble);
    }

    fn fail_with(&self, state: &mut State, trouble: Trouble) {
        if state.stage == Stage::Underway {
            state.stage = Stage::Failed;
        }
        self.update(state);
        // The first trouble is the reason; if the channel is full, others have come before.
        let _ = self.0.troubles.try_send(trouble);
        self.0.changed.notify_all();
        self.0.drained.notify_all();
    }

    fn give_up_overdue(&self, state: &mut State) {
        let now = (self.0.now)();
        while let Some(missed) = state.ledger.overdue(now) {
            state.became(Happened::Miss, missed.rule, missed.question, now);
            state.given_up += 1;
            if state.missed.len() < MISSED_KEPT {
                state.missed.push(missed.clone());
            }
            let is_failure = match state.on_miss {
                OnMiss::Fail => true,
                OnMiss::Count(most) => state.given_up > most,
            };
            if is_failure && !state.has_failed() {
                self.fail_with(state, Trouble::Missed(missed));
            }
            self.update(state);
        }
    }

    /// Opens or closes the gate. Called under the lock, so that the last change counts.
    fn update(&self, state: &State) {
        let is_pausing = state.spread.until().is_some();
        let may_go_on =
            state.ledger.is_open() && state.is_settled() && !is_pausing && !state.has_failed();
        if may_go_on {
            self.0.gates.open(Gate::Answer);
        } else {
            self.0.gates.close(Gate::Answer);
        }
        if state.has_overslept() {
            self.0.changed.notify_all();
        }
        if state.is_draining {
            self.0.drained.notify_all();
        }
    }

    fn settlement(&self) -> MutexGuard<'_, Option<Settlement>> {
        let settlement = self.0.settlement.lock();
        settlement.unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.0.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}
