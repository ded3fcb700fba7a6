//! [`Machine`]: the rules of playback, without a clock, a thread or any waiting.
//!
//! [`Machine::advance`] does the earliest thing that is due at `now` and returns what to wait for. `apply` (in
//! `commands.rs`) takes commands between calls. The rules, in addition to the laws of the segment: the segment
//! rolls ⇔ the intent is to play ∧ the cue is primed ∧ all gates are open. At the same instant the order is
//! clock, message, end. The clock is never past a message that has not been published. At the start and after a
//! jump the order is segment, clock, refills, messages.

pub(super) mod clock;
pub(super) mod commands;
pub(super) mod publish;
pub(super) mod reading;
pub(super) mod state;
pub(super) mod status;
pub(super) mod steps;

use super::command::{Gate, Gates, Pace, State};
use super::digest::Digest;
use super::options::{Intent, Options};
use super::report::Report;
use super::source::Source;
use crate::bag::{CueAt, Direction, Key, StartAt};
use crate::output::Output;
use crate::time::{AtEnd, Duration, Ros, Segment, Speed, Steady, Time};
use clock::Ticker;
use reading::reader::{Extra, Reader};
use reading::rejoin::Rejoins;
use state::Course;
use steps::{Look, Steps};

/// If the process did not run for longer than this, playback holds its position for that time instead of
/// catching up in a burst.
pub(super) const CATCH_UP: Duration = Duration::from_millis(100);

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
    segment: Segment,
    intent: Intent,
    pace: Pace,
    gates: Gates,
    reader: Reader,
    report: Report,
    steps: Steps,
    /// The search for the message that a step leads to.
    look: Option<Look>,
    rejoins: Rejoins,
    /// The last message taken from the current cue; if messages are out of order, the furthest one played.
    last: Option<Key>,
    /// The same for messages that were given to the output.
    sent: Option<Key>,
    is_starved: bool,
    course: Course,
    owes_clock: bool,
    seeks: u64,
    ticker: Ticker,
    shown: Option<Time<Ros>>,
    told: Option<Segment>,
    begins_at: Option<Time<Steady>>,
    lap_from: Option<Time<Steady>>,
    lap_began: Time<Steady>,
    expected: Time<Steady>,
    /// When the schedule was last delayed. For instants before that, the segment no longer gives the position
    /// that playback had.
    delayed_at: Time<Steady>,
    mark: Time<Ros>,
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
        let mut machine = Self {
            segment,
            intent: options.intent,
            pace: options.pace,
            gates: if options.delay > Duration::ZERO {
                options.gates.close(Gate::Delay)
            } else {
                options.gates
            },
            reader: Reader::new(source),
            report,
            steps: Steps::None,
            look: None,
            rejoins: Rejoins::default(),
            last: None,
            sent: None,
            is_starved: true,
            course: Course::default(),
            owes_clock: true,
            seeks: 0,
            ticker: Ticker::new(options.clock.period),
            shown: None,
            told: None,
            begins_at: None,
            lap_from: None,
            lap_began: Time::MIN,
            expected: Time::MAX,
            delayed_at: Time::MIN,
            mark: segment.entry(),
            options,
        };
        machine
            .reader
            .jump(machine.cue_at(StartAt::At(segment.entry())));
        machine
    }

    /// Does the earliest thing that is due at `now`.
    pub fn advance(&mut self, now: Time<Steady>, out: &mut dyn Output) -> Wait {
        self.make_up_for_stall(now);
        let wait = self.act(now, out);
        self.expected = match wait {
            Wait::Now => now,
            Wait::Until(wall) => wall,
            Wait::ForCue | Wait::ForGate | Wait::ForCommand | Wait::Over => Time::MAX,
        };
        wait
    }

    fn act(&mut self, now: Time<Steady>, out: &mut dyn Output) -> Wait {
        if self.course.is_over() {
            self.change_to(self.held(now), now);
            self.report.enter(State::Stopped, now);
            self.tell(out);
            return Wait::Over;
        }
        self.reader.begin();
        self.tell(out);
        if std::mem::take(&mut self.owes_clock) {
            self.show_clock(self.here(now), out);
            self.ticker.begin(now);
        }
        if self.opens_at(now).is_some_and(|opens| opens <= now) {
            self.gates = self.gates.open(Gate::Delay);
        }
        // The subscribers that a closed gate waits for would miss the refills.
        let may_send = self.gates.is_open() || (self.is_stepping() && self.gates.lets_steps_pass());
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
        if may_send && self.rejoins(now, out) {
            return Wait::Now;
        }
        if self.segment.at_end() == AtEnd::Loop {
            self.reader
                .prepare_lap(self.cue_at(StartAt::At(self.segment.entry())));
        }
        if self.looks(now, out) || self.skips_gap(now) {
            return Wait::Now;
        }
        self.start_or_stop_rolling(now);
        self.report.enter(self.state(), now);
        self.tell(out);
        self.earliest(now, out)
    }

    /// Gives the segment to the output if it has changed.
    pub(super) fn tell(&mut self, out: &mut dyn Output) {
        if self.told != Some(self.segment) {
            out.segment(&self.segment);
            self.told = Some(self.segment);
        }
    }

    /// The earliest of tick, message and end: done if it is due, otherwise returned as the instant to wait for.
    fn earliest(&mut self, now: Time<Steady>, out: &mut dyn Output) -> Wait {
        let tick = self.ticker.next(now);
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
            self.ticker.ticked(now);
            self.show_clock(self.here(earliest.max(self.delayed_at)), out);
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
            return (!self.segment.is_before(self.segment.limit(), next)).then_some(now);
        }
        self.segment.wall_at(next)
    }

    /// For a tick and a message due in the same nanosecond: whether the message has the earlier time. At 1000×
    /// one nanosecond of wall time is a microsecond of the recording. At equal times the clock goes first.
    fn is_message_before(&self, tick: Option<Time<Steady>>, message: Option<Time<Steady>>) -> bool {
        let (Some(tick), true) = (tick, tick == message) else {
            return false;
        };
        let shows = self.segment.position(tick);
        self.reader
            .next()
            .is_some_and(|next| self.segment.is_before(next, shows))
    }

    /// The instant at which playback reaches its limit, if no other message is due before.
    fn end_at(&self, now: Time<Steady>) -> Option<Time<Steady>> {
        let is_next_beyond = match self.reader.next() {
            _ if self.rejoins.are_left() => false,
            Some(next) => self.segment.is_before(self.segment.limit(), next),
            None => self.reader.is_exhausted(),
        };
        let is_stepping = self.steps.are_left() && is_next_beyond;
        if is_stepping || (self.is_unpaced() && is_next_beyond) {
            return Some(now);
        }
        self.segment.ends_at().filter(|_| is_next_beyond)
    }

    /// The segment rolls ⇔ the intent is to play ∧ the cue is primed ∧ all gates are open.
    fn start_or_stop_rolling(&mut self, now: Time<Steady>) {
        self.is_starved = !self.is_ready();
        let may_roll = self.may_play() && !self.is_starved && self.pace != Pace::Max;
        match (self.segment.is_rolling(), may_roll) {
            // A lap starts where the last one ended, however late that was noticed.
            (false, true) => self.change_to(self.segment.roll(self.lap_from.unwrap_or(now)), now),
            (true, false) => self.change_to(self.held(now), now),
            (false, false) | (true, true) => {}
        }
        self.lap_from = None;
    }

    /// Whether the next message, or the end, is known.
    pub(super) fn is_ready(&self) -> bool {
        self.reader.is_primed() && !self.rejoins.are_left()
    }

    pub(super) fn may_play(&self) -> bool {
        self.intent == Intent::Play
            && self.gates.is_open()
            && self.course.is_underway()
            && !self.steps.are_left()
    }

    pub(super) fn is_unpaced(&self) -> bool {
        self.pace == Pace::Max && self.may_play()
    }

    /// When the delay before the start is over; `None` once it is.
    fn opens_at(&mut self, now: Time<Steady>) -> Option<Time<Steady>> {
        let begins_at = *self
            .begins_at
            .get_or_insert(now.saturating_add(self.options.delay));
        self.gates.is_closed(Gate::Delay).then_some(begins_at)
    }

    /// The position of playback, but never past a message that has not been sent.
    pub(super) fn here(&self, now: Time<Steady>) -> Time<Ros> {
        let position = self.segment.position(now);
        match self.reader.next() {
            Some(next) => self.segment.nearer(position, next),
            // The next message is not known yet: its time may be any time after the last message.
            None if self.segment.is_rolling() && !self.reader.is_exhausted() => {
                self.segment.nearer(position, self.reader.reached())
            }
            None => position,
        }
    }

    /// The segment, held at the current position.
    pub(super) fn held(&self, now: Time<Steady>) -> Segment {
        self.segment.hold_back(self.here(now), now)
    }

    /// Sets the next segment and counts the log time covered until then.
    pub(super) fn change_to(&mut self, segment: Segment, now: Time<Steady>) {
        if self.segment.is_rolling() {
            let reached = if segment.generation() == self.segment.generation() {
                segment.position(now)
            } else {
                self.here(now)
            };
            self.covered_to(reached);
        }
        let jumps = segment.generation() - self.segment.generation();
        if jumps > 0 {
            self.shown = None;
        }
        self.report.jumps += jumps;
        self.segment = segment;
        self.mark = segment.position(now);
    }

    pub(super) fn covered_to(&mut self, reached: Time<Ros>) {
        let span = reached.saturating_since(self.mark).saturating_abs();
        self.report.covered = self.report.covered.saturating_add(span);
        self.mark = reached;
    }

    /// A send blocked or the process did not run: the position is held for the time lost.
    pub(super) fn make_up_for_stall(&mut self, now: Time<Steady>) {
        let lost = now.saturating_since(self.expected);
        if lost <= CATCH_UP {
            return;
        }
        if self.segment.is_rolling() {
            self.delay(lost, now);
            self.expected = now;
        } else if self.is_unpaced() {
            // Without a schedule there is nothing to shift: the lost time is only counted.
            self.report.held.stalled = self.report.held.stalled.saturating_add(lost);
            self.expected = now;
        }
    }

    pub(super) fn delay(&mut self, lost: Duration, now: Time<Steady>) {
        self.segment = self.segment.delayed(lost);
        self.delayed_at = now;
        self.report.held.stalled = self.report.held.stalled.saturating_add(lost);
    }

    /// A cue in the direction of play that starts at `from`.
    pub(super) fn cue_at(&self, from: StartAt) -> CueAt {
        let direction = if self.segment.speed().is_reverse() {
            Direction::Reverse
        } else {
            Direction::Forward
        };
        CueAt {
            from,
            direction,
            range: self.segment.range(),
            refill: self.options.refill,
            only: None,
        }
    }

    /// Whether steps that were requested have not been made yet.
    pub fn is_stepping(&self) -> bool {
        self.steps.are_left() || self.look.is_some()
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
