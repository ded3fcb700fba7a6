//! [`State`]: the questions of a run, how far its processes have dealt with what they were sent, and its timeline. Values alone:
//! no thread, no clock.

use super::spread::Spread;
use super::waits::OnMiss;
use crate::ci::gates::{Ledger, Missed, Question};
use crate::ci::report::{Happened, Moment, Timeline};
use crate::ci::spans::SpanHistogram;
use crate::time::{Duration, Ros, Steady, Time};

/// What has to come of what was sent, and what has come.
pub(super) struct State {
    pub(super) ledger: Ledger,
    /// The rules of the ledger as text.
    pub(super) rules: Vec<String>,
    pub(super) on_miss: OnMiss,
    pub(super) lockstep: bool,
    /// Whether something is being sent: what comes of it cannot be known yet.
    pub(super) is_sending: bool,
    /// Whether the thread that sends waits until the processes have settled: then the governor does not.
    pub(super) is_attended: bool,
    /// Until when the governor sleeps if nobody wakes it; `None`: it does not.
    pub(super) governor_sleeps_until: Option<Time<Steady>>,
    /// Whether somebody waits in [`Desk::drain`](super::Desk::drain).
    pub(super) is_draining: bool,
    /// What was sent, or has come, so far: the processes deal with each of it.
    pub(super) stirred: u64,
    /// What they have dealt with.
    pub(super) settled: u64,
    pub(super) spread: Spread,
    pub(super) settling: SpanHistogram,
    pub(super) given_up: u64,
    pub(super) gone: Vec<String>,
    pub(super) missed: Vec<Missed>,
    pub(super) timeline: Timeline,
    pub(super) began: Time<Steady>,
    pub(super) last_output: Option<Time<Steady>>,
    pub(super) stage: Stage,
}

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Underway,
    /// It cannot go on: the gate stays closed.
    Failed,
    /// Its governor ends.
    Over,
}

impl State {
    pub(super) fn has_failed(&self) -> bool {
        self.stage != Stage::Underway
    }

    pub(super) fn is_settled(&self) -> bool {
        !self.lockstep || (self.settled == self.stirred && !self.is_sending)
    }

    /// Whether the governor has to wait until the processes have settled.
    pub(super) fn has_to_settle(&self) -> bool {
        !self.is_settled() && !self.is_sending && !self.is_attended && !self.has_failed()
    }

    /// When the governor has to look again even if nothing happens.
    pub(super) fn deadline(&self) -> Option<Time<Steady>> {
        let deadlines = [self.ledger.deadline(), self.spread.until()];
        let deadline = deadlines.into_iter().flatten().min();
        deadline.filter(|_| !self.has_failed())
    }

    /// Whether the governor sleeps although it has something to do, or for longer than it may.
    pub(super) fn has_overslept(&self) -> bool {
        self.governor_sleeps_until.is_some_and(|until| {
            self.has_to_settle() || self.deadline().is_some_and(|deadline| deadline < until)
        })
    }

    pub(super) fn moment(
        &self,
        what: Happened,
        at: Time<Ros>,
        now: Time<Steady>,
        of: &str,
    ) -> Moment {
        Moment {
            log_ns: at.as_nanos(),
            wall_ms: now.saturating_since(self.began).as_secs_f64() * 1e3,
            what,
            of: of.to_owned(),
            took_ms: None,
        }
    }

    /// What became of a question.
    pub(super) fn became(
        &mut self,
        what: Happened,
        rule: usize,
        question: Question,
        now: Time<Steady>,
    ) {
        let rule = self.rules.get(rule).map_or("", String::as_str);
        let took = now.saturating_since(question.asked_at);
        let moment = Moment {
            took_ms: Some(took.as_secs_f64() * 1e3),
            ..self.moment(what, question.log_time, now, rule)
        };
        self.timeline.add(moment);
    }
}

/// Notes what has to come of what is sent.
pub(super) struct Asking<'a> {
    pub(super) state: &'a mut State,
    pub(super) now: Time<Steady>,
}

impl Asking<'_> {
    /// A message of this topic is sent.
    pub(super) fn message(&mut self, topic: &str, log_time: Time<Ros>, stamp: Option<Time<Ros>>) {
        let state = &mut *self.state;
        let moment = state.moment(Happened::Input, log_time, self.now, topic);
        state.timeline.add(moment);
        let asked_at = self.now;
        let question = Question {
            log_time,
            stamp,
            asked_at,
        };
        self.state.ledger.asked(topic, question);
        let ledger = &self.state.ledger;
        if ledger.is_open() {
            self.state.spread.message(topic, ledger, self.now);
        } else {
            self.state.spread.waits();
        }
    }

    /// The clock makes a step by this much.
    pub(super) fn tick(&mut self, tick: Duration, log_time: Time<Ros>) {
        let question = Question {
            log_time,
            stamp: None,
            asked_at: self.now,
        };
        self.state.ledger.ticked(tick, question);
        if !self.state.ledger.is_open() {
            self.state.spread.waits();
        }
    }
}
