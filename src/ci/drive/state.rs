//! [`State`]: the questions of a run, how far its processes have dealt with what they were sent, and its timeline.
//! Values alone: no thread, no clock.

use super::spread::Spread;
use super::waits::OnMiss;
use crate::ci::gates::{Ledger, Missed, Question};
use crate::ci::outputs::InHand;
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
    pub(super) hold: Hold,
    /// What the thread that sends does.
    pub(super) sender: Driving,
    /// Until when the governor sleeps unless it is woken; `None`: it does not sleep.
    pub(super) governor_sleeps_until: Option<Time<Steady>>,
    /// Whether a thread waits in [`Desk::drain`](super::Desk::drain).
    pub(super) is_draining: bool,
    /// What was sent, or has come, so far: the processes deal with each of it.
    pub(super) stirred: u64,
    /// What they have dealt with.
    pub(super) settled: u64,
    /// Outputs that were received and have not come here yet.
    pub(super) in_hand: InHand,
    pub(super) spread: Spread,
    pub(super) settling: SpanHistogram,
    /// Whether a process under test has run after something was sent.
    pub(super) has_reacted: bool,
    /// Since when the processes have not settled; `None` if they have, or if the run does not wait for that.
    pub(super) unsettled: Option<UnsettledSince>,
    pub(super) missed: Vec<Missed>,
    pub(super) timeline: Timeline,
    pub(super) began: Time<Steady>,
    pub(super) last_output: Option<Time<Steady>>,
    pub(super) stage: Stage,
}

/// What the thread that sends does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Driving {
    /// It sends: what comes of that cannot be known yet.
    Sends,
    /// It waits until the processes have settled: then the governor does not.
    Waits,
    /// Neither.
    Elsewhere,
}

/// What holds a run whose system was there before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hold {
    /// Its player has not started.
    NotStarted,
    /// Only the clock of the start may go out.
    AtStart,
    /// Nothing.
    Nothing,
}

/// What has happened since the processes had settled last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct UnsettledSince {
    pub(super) at: Time<Steady>,
    /// How many messages they have published.
    pub(super) outputs: u64,
    /// The topic of the last one.
    pub(super) topic: String,
    /// The thread that was in the way when it was last looked, and what it did.
    pub(super) in_the_way: Option<String>,
}

/// For how long outputs have been waited for, and for how long none has come. If this process or the machine was
/// stopped between two looks, outputs may still be on their way: only so much counts as fits between two looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Silence {
    looked: Time<Steady>,
    last_output: Option<Time<Steady>>,
    pub(super) waited: Duration,
    pub(super) lasted: Duration,
}

impl Silence {
    pub(super) fn new(now: Time<Steady>, last_output: Option<Time<Steady>>) -> Self {
        Self {
            looked: now,
            last_output,
            waited: Duration::ZERO,
            lasted: Duration::ZERO,
        }
    }

    /// Looks again. `interval` is the time between two looks.
    pub(super) fn look(
        &mut self,
        now: Time<Steady>,
        last_output: Option<Time<Steady>>,
        interval: Duration,
    ) {
        let passed = now.saturating_since(self.looked).min(interval);
        self.waited = self.waited.saturating_add(passed);
        self.lasted = if let Some(output) = last_output.filter(|_| last_output > self.last_output) {
            now.saturating_since(output).min(passed)
        } else {
            self.lasted.saturating_add(passed)
        };
        (self.looked, self.last_output) = (now, last_output);
    }
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

    /// The processes have to deal with something: with what was sent, or with an output of `topic`.
    pub(super) fn stir(&mut self, now: Time<Steady>, topic: Option<&str>) {
        if !self.lockstep {
            return;
        }
        self.stirred += 1;
        let since = self.unsettled.get_or_insert_with(|| UnsettledSince {
            at: now,
            outputs: 0,
            topic: String::new(),
            in_the_way: None,
        });
        if let Some(topic) = topic {
            since.outputs += 1;
            if since.topic != topic {
                topic.clone_into(&mut since.topic);
            }
        }
    }

    /// The processes have dealt with this much.
    pub(super) fn settled(&mut self, stirred: u64) {
        self.settled = self.settled.max(stirred);
        if self.is_settled() {
            self.unsettled = None;
        }
    }

    /// What the run waits for besides playback, in a clause.
    pub(super) fn waits_for(&self, now: Time<Steady>) -> Option<String> {
        let question = self.ledger.oldest(now).map(|missed| missed.to_string());
        let unsettled = (self.unsettled.as_ref()).map(|since| match &since.in_the_way {
            Some(thread) => format!("the program under test has not settled: {thread}"),
            None => "the program under test has not settled".to_owned(),
        });
        let all: Vec<String> = question.into_iter().chain(unsettled).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    pub(super) fn is_settled(&self) -> bool {
        !self.lockstep
            || (self.settled == self.stirred
                && self.sender != Driving::Sends
                && self.in_hand.is_empty())
    }

    /// Whether the governor has to wait until the processes have settled.
    pub(super) fn has_to_settle(&self) -> bool {
        !self.is_settled() && self.sender == Driving::Elsewhere && !self.has_failed()
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
    /// A message of this topic is sent. `shown` is what the clock shows at its log time.
    pub(super) fn message(
        &mut self,
        topic: &str,
        log_time: Time<Ros>,
        shown: Time<Ros>,
        stamp: Option<Time<Ros>>,
    ) {
        let state = &mut *self.state;
        let moment = state.moment(Happened::Input, log_time, self.now, topic);
        state.timeline.add(moment);
        let asked_at = self.now;
        let question = Question {
            log_time,
            stamp,
            shown,
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

    /// The clock is shown at this time.
    pub(super) fn reached(&mut self, time: Time<Ros>) {
        self.state.ledger.reached(time);
    }

    /// The clock makes a step by this much, and then shows `shown`.
    pub(super) fn tick(&mut self, tick: Duration, log_time: Time<Ros>, shown: Time<Ros>) {
        let question = Question {
            log_time,
            stamp: None,
            shown,
            asked_at: self.now,
        };
        self.state.ledger.ticked(tick, question);
        if !self.state.ledger.is_open() {
            self.state.spread.waits();
        }
    }
}
