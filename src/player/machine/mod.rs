//! [`Machine`]: the rules of playback, without a clock, a thread or any waiting.
//!
//! [`Machine::advance`] does the earliest thing that is due at `now` and returns what to wait for. `apply` (in
//! `commands.rs`) takes commands between calls. The rules, in addition to the laws of the segment: the segment
//! rolls ⇔ the intent is to play ∧ the cue is primed ∧ all gates are open. At the same instant the order is
//! clock, message, end. The clock is never past a message that has not been published. At the start and after a
//! jump the order is segment, clock, refills, messages.

pub(super) mod answers;
pub(super) mod clock;
pub(super) mod commands;
pub(super) mod played;
pub(super) mod position;
pub(super) mod publish;
pub(super) mod reading;
pub(super) mod schedule;
pub(super) mod state;
pub(super) mod steps;

use super::command::{Gate, Pace, State};
use super::digest::Digest;
use super::options::Options;
use super::report::Report;
use super::source::Source;
use crate::bag::{CueAt, Direction, StartAt};
use crate::output::Output;
use crate::time::{AtEnd, Duration, Segment, Speed, Steady, Time};
use answers::Answers;
use clock::ServedClock;
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
        let speed = match options.pace {
            Pace::At(speed) => speed,
            Pace::Max => Speed::NORMAL,
        };
        let segment = Segment::new(options.range, speed, options.at_end);
        let report = Report::new(source.topics(), options.digest.then(Digest::default));
        let gates = if options.delay > Duration::ZERO {
            options.gates.close(Gate::Delay)
        } else {
            options.gates
        };
        let mut machine = Self {
            pace: options.pace,
            position: Position::new(segment),
            conditions: Conditions::new(options.intent, gates),
            schedule: Schedule::new(options.delay),
            clock: ServedClock::new(options.clock.clone()),
            reader: Reader::new(source),
            played: Played::default(),
            steps: Steps::default(),
            rejoins: Rejoins::default(),
            answers: Answers::default(),
            report,
            seeks: 0,
            options,
        };
        machine.report.continue_at(segment.entry());
        machine
            .reader
            .jump(machine.cue_at(StartAt::At(segment.entry())));
        machine
    }

    /// Does the earliest thing that is due at `now`.
    pub fn advance(&mut self, now: Time<Steady>, out: &mut dyn Output) -> Wait {
        self.make_up_for_stall(now);
        let wait = self.act(now, out);
        self.schedule.waits(wait, now);
        wait
    }

    fn act(&mut self, now: Time<Steady>, out: &mut dyn Output) -> Wait {
        if self.conditions.course().is_over() {
            self.change_to(self.held(now), now);
            self.report.enter(State::Stopped, now);
            self.position.tell(out);
            return Wait::Over;
        }
        self.reader.begin();
        self.position.tell(out);
        if self.clock.take_owed() {
            self.show_clock(self.here(now), out);
            self.clock.begin_ticks(now);
        }
        if self.opens_at(now).is_some_and(|opens| opens <= now) {
            self.conditions.open(Gate::Delay);
        }
        // The subscribers that a closed gate waits for would miss the refills.
        let gates = self.conditions.gates();
        let may_send = gates.is_open() || (self.is_stepping() && gates.lets_steps_pass());
        match may_send.then(|| self.reader.pull()).flatten() {
            Some(Extra::Refill(message)) => {
                self.refill(&message, out);
                return Wait::Now;
            }
            Some(Extra::Damage(damage)) => {
                self.report.damaged_one(damage);
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
        self.report.enter(self.state(), now);
        self.position.tell(out);
        if !may_send || self.reader.is_primed() {
            self.answers.jumps_are_done();
        }
        self.earliest(now, out)
    }

    /// The earliest of tick, message and end: done if it is due, otherwise returned as the instant to wait for.
    fn earliest(&mut self, now: Time<Steady>, out: &mut dyn Output) -> Wait {
        let tick = self.clock.next_tick(now);
        let message = self.message_at(now);
        let end = self.end_at(now);
        let opens = self.opens_at(now);
        let Some(earliest) = [tick, message, end, opens].into_iter().flatten().min() else {
            return self.idle();
        };
        if earliest > now {
            return Wait::Until(earliest);
        }
        if tick == Some(earliest) && !self.is_message_before(tick, message) {
            self.clock.ticked(now);
            self.show_clock(self.here(self.schedule.shown_at(earliest)), out);
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

    /// The instant at which the next message is due.
    fn message_at(&self, now: Time<Steady>) -> Option<Time<Steady>> {
        let next = self.reader.next().filter(|_| !self.rejoins.are_left())?;
        if self.steps.are_left() || self.is_unpaced() {
            return (!self.segment().is_before(self.segment().limit(), next)).then_some(now);
        }
        self.segment().wall_at(next)
    }

    /// For a tick and a message due in the same nanosecond: whether the message has the earlier time. At 1000×
    /// one nanosecond of wall time is a microsecond of the recording. At equal times the clock goes first.
    fn is_message_before(&self, tick: Option<Time<Steady>>, message: Option<Time<Steady>>) -> bool {
        let (Some(tick), true) = (tick, tick == message) else {
            return false;
        };
        let shows = self.segment().position(tick);
        self.reader
            .next()
            .is_some_and(|next| self.segment().is_before(next, shows))
    }

    /// The instant at which playback reaches its limit, if no other message is due before.
    fn end_at(&self, now: Time<Steady>) -> Option<Time<Steady>> {
        let is_next_beyond = match self.reader.next() {
            _ if self.rejoins.are_left() => false,
            Some(next) => self.segment().is_before(self.segment().limit(), next),
            None => self.reader.is_exhausted(),
        };
        let is_stepping = self.steps.are_left() && is_next_beyond;
        if is_stepping || (self.is_unpaced() && is_next_beyond) {
            return Some(now);
        }
        self.segment().ends_at().filter(|_| is_next_beyond)
    }

    /// The segment rolls ⇔ the intent is to play ∧ the cue is primed ∧ all gates are open.
    fn start_or_stop_rolling(&mut self, now: Time<Steady>) {
        let is_ready = self.is_ready();
        self.conditions.has_read(is_ready);
        let may_roll = self.may_play() && is_ready && self.pace != Pace::Max;
        match (self.segment().is_rolling(), may_roll) {
            // A lap starts where the last one ended, however late that was noticed.
            (false, true) => {
                let from = self.schedule.rolls_from(now);
                self.change_to(self.segment().roll(from), now);
            }
            (true, false) => self.change_to(self.held(now), now),
            (false, false) | (true, true) => {}
        }
        self.schedule.lap_has_begun();
    }

    /// Whether the next message, or the end, is known.
    pub(super) fn is_ready(&self) -> bool {
        self.reader.is_primed() && !self.rejoins.are_left()
    }

    pub(super) fn may_play(&self) -> bool {
        self.conditions.may_play() && !self.steps.are_left()
    }

    pub(super) fn is_unpaced(&self) -> bool {
        self.pace == Pace::Max && self.may_play()
    }

    /// When the delay before the start is over; `None` once it is.
    fn opens_at(&mut self, now: Time<Steady>) -> Option<Time<Steady>> {
        let begins_at = self.schedule.begins_at(now);
        let gates = self.conditions.gates();
        gates.is_closed(Gate::Delay).then_some(begins_at)
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
        self.steps.is_any()
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
