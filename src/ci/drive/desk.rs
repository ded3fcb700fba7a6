//! [`Desk`]: what has to come of what was sent, shared by the threads of a run; and whether the player may go on.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration as StdDuration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::muted::{Muted, MutedTopic};
use super::place::Place;
use super::settlement::Settlement;
use super::spread::Spread;
use super::state::{Asking, Driving, Hold, Silence, Stage, State};
use super::waits::{Drained, Drive, OnMiss, Progress, Trouble};
use crate::ci::gates::Answered;
use crate::ci::outputs::InHand;
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
    /// Wakes the governor.
    pub(super) changed: Condvar,
    /// Wakes the threads that wait in [`Desk::drain`].
    pub(super) drained: Condvar,
    /// Only one thread at a time waits with it.
    pub(super) settlement: Mutex<Option<Settlement>>,
    gates: GateHandle,
    pub(super) now: Now,
    place: Arc<Place>,
    muted: Muted,
    troubles: Sender<Trouble>,
}

/// How many moments of a run are kept.
const MOST_MOMENTS: usize = 8192;
/// How many questions that were given up are kept, besides the first one of each rule.
const MISSED_KEPT: usize = 100;
/// The longest wait for silent outputs at the end of a run, as a multiple of the `quiet` of [`Desk::drain`].
pub const LONGEST_QUIET: u32 = 25;
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
            hold: if drive.is_held {
                Hold::NotStarted
            } else {
                Hold::Nothing
            },
            sender: Driving::Elsewhere,
            governor_sleeps_until: None,
            is_draining: false,
            stirred: 0,
            settled: 0,
            in_hand: InHand::default(),
            spread: Spread::default(),
            settling: SpanHistogram::default(),
            has_reacted: false,
            unsettled: None,
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
            place: Arc::new(Place::new(drive.start, !drive.is_held)),
            muted: Muted::default(),
            troubles,
        };
        if drive.is_held {
            shared.gates.close(Gate::Answer);
        }
        (Self(Arc::new(shared)), receiver)
    }

    /// The log time that was sent last.
    pub fn place(&self) -> &Arc<Place> {
        &self.0.place
    }

    /// A message of the system under test has come, with its `header.stamp` if its type has one. Any thread may call
    /// it; it opens the gate if nothing else is missing.
    pub fn answered(&self, topic: &str, stamp: Option<Time<Ros>>) {
        let now = (self.0.now)();
        let mut state = self.state();
        state.last_output = Some(now);
        let moment = state.moment(Happened::Output, self.0.place.get(), now, topic);
        state.timeline.add(moment);
        for Answered { rule, question } in state.ledger.answered(topic, stamp, now) {
            state.became(Happened::Answer, rule, question, now);
        }
        // Processes under test that receive this output have to deal with it, too.
        state.stir(now, Some(topic));
        self.update(&state);
    }

    /// A message of this topic has come, and its stamp cannot be read: the run fails if a gate goes by it.
    pub fn fail_unstamped(&self, topic: &str, type_name: &str) {
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

    /// This topic is not sent any more, because `node` publishes it: its subscribers would receive both. `None` if it
    /// was muted before.
    pub fn mute(&self, topic: &str, node: &str) -> Option<MutedTopic> {
        self.0.muted.add(topic, node, self.0.place.get())
    }

    /// The topics that are not sent any more, by name.
    pub fn muted(&self) -> Vec<MutedTopic> {
        self.0.muted.all()
    }

    pub(super) fn leaves_out(&self, topic: &str) -> bool {
        self.0.muted.leaves_out(topic)
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

    /// Outputs are counted there before they are given to [`Desk::answered`]: a thread that waits with one in hand
    /// sleeps, and others may be behind it. To be called before anything is sent.
    pub fn looks_at(&self, in_hand: InHand) {
        self.state().in_hand = in_hand;
    }

    /// The run begins without a clock of the start: none is served.
    pub fn begins_without_clock(&self) {
        self.0.place.begin();
    }

    /// Something else than a message of this run was sent to the processes: they deal with it, too.
    pub fn stirs(&self) {
        let now = (self.0.now)();
        let mut state = self.state();
        state.stir(now, None);
        self.update(&state);
    }

    /// The player of a run that is held starts: from now on the clock of the start is waited for, too.
    pub fn starts(&self) {
        self.state().hold = Hold::AtStart;
    }

    /// From now on messages go out, too: see [`Drive::is_held`].
    pub fn release(&self) {
        let mut state = self.state();
        state.hold = Hold::Nothing;
        self.update(&state);
    }

    /// Playback pauses between the messages of bursts: of each of these topics so many go out without a pause after a
    /// wait for an answer. To be called before anything is sent.
    pub fn spread(&self, depths: BTreeMap<String, u64>) {
        self.state().spread = Spread::new(depths);
    }

    /// What has become of everything so far.
    pub fn progress(&self) -> Progress {
        let state = self.state();
        Progress {
            tallies: state.ledger.tallies().collect(),
            settling: state.settling.clone(),
            has_reacted: state.has_reacted,
            missed: state.missed.clone(),
            timeline: state.timeline.clone().moments(MOST_MOMENTS),
        }
    }

    /// Waits until everything that was sent is dealt with: all questions are answered, and the processes have settled
    /// or, without lockstep, no output has come for `quiet`. Outputs that do not stop are waited for at most
    /// [`LONGEST_QUIET`] times `quiet`. To be called when the player has come to its end, or while it is held; while it
    /// is held, this also waits until the clock of the start was sent. The time during which this process was stopped
    /// does not count.
    ///
    /// `is_called_off` is called at least 20 times a second; `true` ends the wait.
    pub fn drain(&self, quiet: StdDuration, mut is_called_off: impl FnMut() -> bool) -> Drained {
        const LOOK: Duration = Duration::from_millis(50);
        let quiet = Duration::from(quiet);
        let interval = LOOK.min(quiet / 4);
        let mut silence = Silence::new((self.0.now)(), self.state().last_output);
        loop {
            if is_called_off() {
                return Drained::CalledOff;
            }
            let mut state = self.state();
            if state.has_failed() {
                return Drained::Troubled;
            }
            state.is_draining = true;
            silence.look((self.0.now)(), state.last_output, interval);
            let is_silent = state.lockstep || silence.lasted >= quiet;
            let is_restless =
                silence.waited.as_nanos() > quiet.as_nanos().saturating_mul(LONGEST_QUIET.into());
            let has_begun = state.hold != Hold::AtStart || self.0.place.has_begun();
            let is_settled = state.is_settled() && state.in_hand.is_empty();
            let is_dealt_with = has_begun && state.ledger.is_drained() && is_settled;
            if is_dealt_with && is_silent {
                return Drained::Whole;
            }
            if is_dealt_with && is_restless {
                return Drained::Restless;
            }
            let wait = if is_silent || is_restless {
                LOOK
            } else {
                interval
            };
            let waited = self.0.drained.wait_timeout(state, wait.to_std());
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The run is over: its governor ends.
    pub(super) fn end(&self) {
        self.state().stage = Stage::Over;
        self.0.changed.notify_all();
        self.0.drained.notify_all();
    }

    /// Something is about to be sent: `ask` notes the questions. The gate is closed if something has to come of it. To
    /// be followed by [`Desk::sent`].
    pub(super) fn sends(&self, at: Time<Ros>, ask: impl FnOnce(&mut Asking<'_>)) {
        self.0.place.set(at);
        let mut state = self.state();
        state.sender = Driving::Sends;
        let now = (self.0.now)();
        ask(&mut Asking {
            state: &mut state,
            now,
        });
        self.update(&state);
    }

    /// It has been sent: from now on the processes deal with it. With `may_wait` this thread waits some milliseconds
    /// for that in place of the governor, so that neither has to be woken.
    pub(super) fn sent(&self, may_wait: bool) {
        let now = (self.0.now)();
        let mut state = self.state();
        // Outputs that came during the send do not count for the time that the processes take to settle.
        state.unsettled = None;
        state.stir(now, None);
        let waits = may_wait && state.lockstep && !state.has_failed();
        state.sender = if waits {
            Driving::Waits
        } else {
            Driving::Elsewhere
        };
        self.update(&state);
        if !waits {
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
                state.sender = Driving::Elsewhere;
                self.update(&state);
                return;
            }
        }
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
        self.0.drained.notify_all();
    }

    pub(super) fn give_up_overdue(&self, state: &mut State) {
        let now = (self.0.now)();
        while let Some(missed) = state.ledger.overdue(now) {
            state.became(Happened::Miss, missed.rule, missed.question, now);
            let is_first = state.ledger.missed(missed.rule) == 1;
            if is_first || state.missed.len() < MISSED_KEPT {
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
        let is_free = !is_pausing && state.hold == Hold::Nothing && !state.has_failed();
        let may_go_on = state.ledger.is_open() && state.is_settled() && is_free;
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::ci::drive::settlement::Dealt;
    use crate::ci::drive::tasks::Task;
    use crate::ci::drive::test_desk::{TestDesk, desk};

    #[test]
    fn processes_have_not_settled_while_an_output_is_held_up() {
        let TestDesk { desk, .. } = desk(&[], OnMiss::Fail, Duration::from_secs(60), true);
        let in_hand = InHand::default();
        desk.looks_at(in_hand.clone());
        let dealt = |stirred| Dealt {
            stirred,
            has_run: true,
            took: Duration::ZERO,
        };
        let may_go_on = || desk.state().is_settled();
        desk.sends(Time::ZERO, |_| ());
        desk.sent(false);
        assert_eq!(desk.next_task(), Task::Settle);
        // Its thread sleeps, so everything looks settled.
        let held = in_hand.hold();
        desk.settled(&dealt(1));
        assert!(!may_go_on());
        assert_eq!(desk.progress().settling.count(), 0);
        let mut asked = 0;
        let drained = desk.drain(StdDuration::ZERO, || {
            asked += 1;
            asked > 1
        });
        assert_eq!(drained, Drained::CalledOff, "an output is still to come");
        desk.answered("/out", None);
        drop(held);
        assert_eq!(desk.next_task(), Task::Settle);
        desk.settled(&dealt(2));
        assert!(may_go_on());
        assert_eq!(desk.drain(StdDuration::ZERO, || false), Drained::Whole);
    }

    /// The clock of the test shows 4 ms more at each look, of the 20 ms of silence that are waited for.
    #[test]
    fn a_run_whose_outputs_do_not_stop_is_not_whole() {
        let desk = || {
            let TestDesk { desk, millis, .. } =
                desk(&[], OnMiss::Fail, Duration::from_secs(60), false);
            (desk, move || {
                millis.fetch_add(4, Ordering::Relaxed);
            })
        };
        let quiet = StdDuration::from_millis(20);
        let (restless, time_passes) = desk();
        let drained = restless.drain(quiet, || {
            time_passes();
            restless.answered("/out", None);
            false
        });
        assert_eq!(drained, Drained::Restless);
        let (silent, time_passes) = desk();
        let drained = silent.drain(quiet, || {
            time_passes();
            false
        });
        assert_eq!(drained, Drained::Whole);
    }

    #[test]
    fn outputs_are_waited_for_after_a_stop_of_the_machine() {
        let limits = Duration::from_secs(60);
        let TestDesk { desk, millis, .. } = desk(&[], OnMiss::Fail, limits, false);
        let (mut looks, mut last_output) = (0, 0);
        let drained = desk.drain(StdDuration::from_millis(20), || {
            looks += 1;
            let passed = if looks == 1 { 10_000 } else { 4 };
            let before = millis.fetch_add(passed, Ordering::Relaxed);
            if looks == 3 {
                desk.answered("/out", None);
                last_output = before + passed;
            }
            false
        });
        assert_eq!(drained, Drained::Whole);
        assert_eq!(millis.load(Ordering::Relaxed), last_output + 20);
    }
}
