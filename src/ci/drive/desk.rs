//! [`Desk`]: what has to come of what was sent, shared by the threads of a run; and whether the player may go on.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration as StdDuration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::muted::Muted;
use super::place::Place;
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
pub struct Desk(pub(super) Arc<Shared>);

pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) changed: Condvar,
    gates: GateHandle,
    pub(super) now: Now,
    place: Arc<Place>,
    muted: Muted,
    troubles: Sender<Trouble>,
}

/// How many moments of a run are kept.
const MOST_MOMENTS: usize = 8192;
/// How many questions that were given up are kept.
const MISSED_KEPT: usize = 100;

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
            stirred: 0,
            settled: 0,
            spread: Spread::default(),
            settling: SpanHistogram::default(),
            unsettled: None,
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
            gates,
            now: Box::new(now),
            place: Arc::new(Place::new(drive.start)),
            muted: Muted::default(),
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
        // Whoever receives this output deals with it, too.
        state.stir(now, Some(topic));
        self.update(&state);
    }

    /// A message of this topic has come, and its stamp cannot be read: the run fails if a gate goes by it.
    pub fn is_unstamped(&self, topic: &str, type_name: &str) {
        let mut state = self.state();
        let rule = state.ledger.needs_stamps_of(topic).map(ToString::to_string);
        if let Some(rule) = rule.filter(|_| !state.has_failed()) {
            let (topic, type_name) = (topic.to_owned(), type_name.to_owned());
            let unstamped = Trouble::Unstamped {
                rule,
                topic,
                type_name,
            };
            self.fail_with(&mut state, unstamped);
        }
    }

    /// This topic is not sent any more, because the system under test publishes it itself. False if it was muted before.
    pub fn mute(&self, topic: &str) -> bool {
        self.0.muted.add(topic)
    }

    pub(super) fn is_muted(&self, topic: &str) -> bool {
        self.0.muted.has(topic)
    }

    /// What the run waits for besides playback: the oldest question, and the thread that does not settle.
    pub fn waits_for(&self) -> Option<String> {
        self.state().waits_for((self.0.now)())
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
            let state = self.state();
            if state.has_failed() {
                return Drained::Troubled;
            }
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
            let waited = self.0.changed.wait_timeout(state, wait);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The run is over: its governor ends.
    pub(super) fn end(&self) {
        self.state().stage = Stage::Over;
        self.0.changed.notify_all();
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

    /// It has been sent: from now on the processes deal with it.
    pub(super) fn sent(&self) {
        let now = (self.0.now)();
        let mut state = self.state();
        state.is_sending = false;
        state.stir(now, None);
        self.update(&state);
    }

    /// A message that was noted has not been sent after all.
    pub(super) fn withdraws(&self, topic: &str) {
        let mut state = self.state();
        state.ledger.withdraw(topic);
        self.update(&state);
    }

    /// The run cannot go on: the gate stays closed.
    pub(super) fn fail(&self, trouble: Trouble) {
        let mut state = self.state();
        self.fail_with(&mut state, trouble);
    }

    pub(super) fn fail_with(&self, state: &mut State, trouble: Trouble) {
        if state.stage == Stage::Underway {
            state.stage = Stage::Failed;
        }
        self.update(state);
        // The first trouble is the reason; if the channel is full, others have come before.
        let _ = self.0.troubles.try_send(trouble);
        self.0.changed.notify_all();
    }

    pub(super) fn give_up_overdue(&self, state: &mut State) {
        let now = (self.0.now)();
        while let Some(missed) = state.ledger.overdue(now) {
            state.became(Happened::Miss, missed.rule, missed.question, now);
            if state.missed.len() < MISSED_KEPT {
                state.missed.push(missed.clone());
            }
            let is_failure = match state.on_miss {
                OnMiss::Fail => true,
                OnMiss::Count(most) => state.ledger.missed(missed.rule) > most,
            };
            if is_failure && !state.has_failed() {
                self.fail_with(state, Trouble::Missed(missed));
            }
            self.update(state);
        }
    }

    /// Opens or closes the gate. Called under the lock, so that the last change counts.
    pub(super) fn update(&self, state: &State) {
        let is_pausing = state.spread.until().is_some();
        let may_go_on =
            state.ledger.is_open() && state.is_settled() && !is_pausing && !state.has_failed();
        if may_go_on {
            self.0.gates.open(Gate::Answer);
        } else {
            self.0.gates.close(Gate::Answer);
        }
        let has_work = !state.is_settled() || !state.ledger.is_drained() || is_pausing;
        if has_work && !state.is_sending {
            self.0.changed.notify_all();
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        let state = self.0.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}
