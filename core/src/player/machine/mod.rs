//! [`Machine`]: the rules of playback, without a clock, a thread or any waiting.
//!
//! [`Machine::advance`] does the earliest thing that is due at `now` and returns what to wait for. `apply` (in
//! `commands.rs`) takes commands between calls. The rules, in addition to the laws of the segment: the segment
//! rolls ⇔ the intent is to play ∧ the cue is primed ∧ all gates are open ∧ the pace has a speed ∧ no steps are left;
//! otherwise it is held, and messages that are sent move it. Subscribers that are missing when nothing is left to
//! play do not hold the end. At the same instant the order is clock, message, end; a
//! message of an earlier time goes before the clock. The clock is never past a message that has not been published. At
//! the start and after a jump the order is segment, clock, refills, messages.

pub(super) mod answers;
pub(super) mod clock;
pub(super) mod commands;
pub(super) mod pace;
pub(super) mod played;
pub(super) mod position;
pub(super) mod publish;
pub(super) mod reading;
pub(super) mod schedule;
pub(super) mod state;
pub(super) mod steps;

use super::command::{Pace, State};
use super::level::gates::{Gate, GateHandle};
use super::level::lead::LeadHandle;
use super::options::Options;
use super::report::digest::Digest;
use super::report::run_report::Report;
use super::source::Source;
use crate::bag::{CueAt, Direction, StartAt};
use crate::output::Output;
use crate::time::{AtEnd, Duration, Speed, Steady, Time};
use answers::Answers;
use clock::ServedClock;
use pace::follow::Followed;
use played::Played;
use position::Position;
use reading::reader::{Extra, Reader};
use reading::rejoin::Rejoins;
use schedule::Schedule;
use state::Conditions;
use steps::Steps;

/// What [`Machine::advance`] waits for. A command may arrive first in every case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Nothing: there is more to do at once.
    Now,
    /// This instant.
    Until(Time<Steady>),
    /// The read-ahead.
    ForCue,
    /// A gate that opens.
    ForGate,
    /// A command.
    ForCommand,
    /// Nothing any more: the run is over.
    Over,
}

/// The state of playback and its rules. See the documentation of this module.
#[derive(Debug)]
pub struct Machine {
    options: Options,
    pace: Pace,
    followed: Followed,
    position: Position,
    conditions: Conditions,
    schedule: Schedule,
    clock: ServedClock,
    reader: Reader,
    played: Played,
    steps: Steps,
    rejoins: Rejoins,
    answers: Answers,
    report: Report,
    seeks: u64,
}

impl Machine {
    /// Held at the entry edge of the range; its cue starts with the first `advance`.
    pub fn new(options: Options, source: Source) -> Self {
        let gates = GateHandle::new(None);
        Self::with(options, source, gates, LeadHandle::new(None))
    }

    /// The same, with these gates and this clock to follow.
    pub(super) fn with(
        options: Options,
        source: Source,
        gates: GateHandle,
        lead: LeadHandle,
    ) -> Self {
        let speed = match options.pace {
            Pace::At(speed) => speed,
            Pace::Max | Pace::Follow => Speed::NORMAL,
        };
        let digest = options.digest.then(Digest::default);
        let report = Report::new(source.topics(), digest, source.known_damage());
        gates.close_all(options.gates);
        if options.delay > Duration::ZERO {
            gates.close(Gate::Delay);
        }
        let mut machine = Self {
            pace: options.pace,
            followed: Followed::new(lead),
            position: Position::new(options.played, speed, options.begin_at.or(options.start)),
            conditions: Conditions::new(options.intent, gates),
            schedule: Schedule::new(options.delay),
            clock: ServedClock::new(options.clock.clone(), options.beginning()),
            reader: Reader::new(source),
            played: Played::default(),
            steps: Steps::default(),
            rejoins: Rejoins::default(),
            answers: Answers::default(),
            report,
            seeks: 0,
            options,
        };
        let start = machine.options.beginning();
        machine.report.continue_at(start);
        machine.reader.jump(machine.cue_at(StartAt::At(start)));
        machine
    }

    /// Does the earliest thing that is due at `now`.
    pub fn advance(&mut self, now: Time<Steady>, out: &mut dyn Output) -> Wait {
        self.read_gates();
        self.start_on_time(now);
        self.read_lead(now);
        self.make_up_for_stall(now);
        let wait = self.act(now, out);
        self.schedule.waits(wait, now);
        wait
    }

    fn act(&mut self, now: Time<Steady>, out: &mut dyn Output) -> Wait {
        if self.conditions.course().is_over() {
            // A command that came together with the end may have ended it.
            self.clock.end_if_asked(out);
            self.change_to(self.held(now), now);
            self.report.enter(State::Stopped, now);
            self.position.tell(out);
            return Wait::Over;
        }
        self.reader.begin();
        self.position.tell(out);
        self.clock.change(out);
        if self.clock.take_owed() {
            self.show_clock(self.here(now), out);
            self.clock.begin_ticks(now);
            self.read_gates();
        }
        if self.opens_at(now).is_some_and(|opens| opens <= now) {
            self.conditions.end_delay();
        }
        // The subscribers that a closed gate waits for would miss the refills.
        let may_send = self.may_send();
        let may_read = may_send || self.lacks_only_subscribers();
        match may_read.then(|| self.reader.pull()).flatten() {
            Some(Extra::Refill(message)) => {
                self.refill(&message, out);
                return Wait::Now;
            }
            Some(Extra::Damage(damage)) => {
                self.report.damaged_one(&damage);
                return Wait::Now;
            }
            None => {}
        }
        if may_send && self.rejoin(now, out) {
            return Wait::Now;
        }
        if self.segment().at_end() == AtEnd::Loop {
            self.reader
                .prepare_lap(self.cue_at(StartAt::At(self.segment().entry())));
        }
        if self.search_for_step(now, out) || self.skips_gap(now) {
            return Wait::Now;
        }
        self.start_or_stop_rolling(now);
        self.move_with_lead(now);
        self.report.enter(self.state(), now);
        self.position.tell(out);
        if !may_send || self.reader.is_primed() {
            self.answers.jumps_are_done();
        }
        self.earliest(now, out)
    }

    /// The earliest of tick, step of the clock, message and end: done if it is due, otherwise returned as the instant
    /// to wait for.
    fn earliest(&mut self, now: Time<Steady>, out: &mut dyn Output) -> Wait {
        let tick = self.clock.next_tick(now);
        let step = self.step_at(now);
        let message = self.message_at(now);
        let end = self.end_at(now);
        let opens = self.opens_at(now);
        let plays = self.schedule.plays_at();
        let instants = [tick, step, message, end, opens, plays];
        let instants = instants.into_iter().flatten();
        let Some(earliest) = instants.min() else {
            return self.idle();
        };
        if earliest > now {
            return Wait::Until(earliest);
        }
        if tick == Some(earliest) && !self.is_message_before(tick, message) {
            self.clock.ticked(now);
            self.show_clock(self.here(self.schedule.shown_at(earliest)), out);
        } else if step == Some(earliest) {
            self.step_clock(now, out);
        } else if message == Some(earliest) {
            self.publish_next(now, out);
        } else if let Some(end) = end {
            return self.arrive(end, now, out);
        }
        Wait::Now
    }

    fn idle(&self) -> Wait {
        match self.state() {
            State::Gated => Wait::ForGate,
            State::Starved => Wait::ForCue,
            State::Playing | State::Paused | State::Stalled | State::Ended => Wait::ForCommand,
            State::Stopped => Wait::Over,
        }
    }

    /// Whether the next message, or the end, is known.
    pub(super) fn is_ready(&self) -> bool {
        self.reader.is_primed() && !self.rejoins.are_left()
    }

    /// Whether messages may be sent, apart from when they are due.
    pub(super) fn may_send(&self) -> bool {
        let gates = self.conditions.gates();
        gates.is_open() || (self.is_stepping() && gates.lets_steps_pass())
    }

    /// Whether messages are sent as steps.
    pub(super) fn makes_steps(&self) -> bool {
        self.steps.are_left() && self.conditions.gates().lets_steps_pass()
    }

    pub(super) fn may_play(&self) -> bool {
        self.conditions.may_play() && !self.steps.are_left()
    }

    pub(super) fn is_unpaced(&self) -> bool {
        self.pace == Pace::Max && self.may_play()
    }

    /// A cue in the direction of play that starts at `from`.
    pub(super) fn cue_at(&self, from: StartAt) -> CueAt {
        let direction = if self.segment().speed().is_reverse() {
            Direction::Reverse
        } else {
            Direction::Forward
        };
        CueAt {
            from,
            direction,
            range: self.segment().range(),
            refill: self.options.refill,
            only: None,
        }
    }

    /// Whether steps that were requested have not been made yet.
    pub fn is_stepping(&self) -> bool {
        self.steps.is_any() && !self.conditions.gate_handle().closed().refuses_steps()
    }

    /// Opens and closes the gates.
    pub fn gates(&self) -> GateHandle {
        self.conditions.gate_handle().clone()
    }

    /// What the run has done so far.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// What the run did. Call it at the end.
    pub fn into_report(mut self, now: Time<Steady>) -> Report {
        self.change_to(self.held(now), now);
        self.report.enter(State::Stopped, now);
        self.report
    }
}
