//! [`ServedClock`]: the clock that subscribers are shown, and when it is due.
//!
//! Ticks come on a fixed grid of wall instants ([`Ticker`]). A tick that is missed is skipped: the grid never
//! moves, so wake-up errors do not add up.

use super::Machine;
use crate::bag::TopicId;
use crate::output::Output;
use crate::player::command::ClockMode;
use crate::player::options::ClockOptions;
use crate::time::{Duration, Ros, Segment, Steady, Time};

/// The clock of a run. Within a generation it never shows a time before the last one.
#[derive(Debug)]
pub(super) struct ServedClock {
    options: ClockOptions,
    /// The period that was asked for last. The output declares the clock before it has this period.
    asked: Option<Duration>,
    ticker: Ticker,
    steps: Vec<StepGrid>,
    /// The last time shown in this generation.
    shown: Option<Time<Ros>>,
    /// Whether it is to be shown before anything else: at the start, after a jump, to subscribers that are back.
    is_owed: bool,
    /// Whether it has been shown for the next message.
    is_announced: bool,
}

impl ServedClock {
    /// A clock that is owed. Its steps are counted from `start`.
    pub(super) fn new(options: ClockOptions, start: Time<Ros>) -> Self {
        let spans = options.steps.iter();
        let grids = spans.map(|span| StepGrid::new(start, *span));
        Self {
            ticker: Ticker::new(options.period),
            steps: grids.collect(),
            asked: options.period,
            options,
            shown: None,
            is_owed: true,
            is_announced: false,
        }
    }

    /// How it is served.
    pub(super) fn mode(&self) -> ClockMode {
        self.options.mode()
    }

    /// It is to be served with this period, or no longer.
    pub(super) fn ask(&mut self, period: Option<Duration>) {
        self.asked = period;
    }

    /// Serves it as it was asked for last, if the output can. A clock that begins, or has another period, is owed.
    pub(super) fn change(&mut self, out: &mut dyn Output) {
        if self.asked == self.options.period {
            return;
        }
        let is_served = out.serve_clock(self.asked);
        self.asked = self.asked.filter(|_| is_served);
        self.options.period = self.asked;
        self.ticker = Ticker::new(self.asked);
        self.is_owed = self.is_owed || is_served;
    }

    /// Ends it, if that was asked for last.
    pub(super) fn end_if_asked(&mut self, out: &mut dyn Output) {
        if self.asked.is_none() {
            self.change(out);
        }
    }

    /// It is to be shown before anything else.
    pub(super) fn owe(&mut self) {
        self.is_owed = true;
    }

    /// It has been shown otherwise.
    pub(super) fn owe_nothing(&mut self) {
        self.is_owed = false;
    }

    /// Whether it is owed.
    #[inline]
    pub(super) fn is_owed(&self) -> bool {
        self.is_owed
    }

    /// Whether it is owed; not any more after this call.
    pub(super) fn take_owed(&mut self) -> bool {
        std::mem::take(&mut self.is_owed)
    }

    /// A new generation has begun, in which any time may be shown.
    pub(super) fn jumped(&mut self) {
        (self.shown, self.is_announced) = (None, false);
    }

    /// It has been shown for the next message.
    #[inline]
    pub(super) fn announced(&mut self) {
        self.is_announced = true;
    }

    /// The next message is another one.
    #[inline]
    pub(super) fn message_taken(&mut self) {
        self.is_announced = false;
    }

    /// The instant of the next tick.
    pub(super) fn next_tick(&self, now: Time<Steady>) -> Option<Time<Steady>> {
        self.ticker.next(now)
    }

    /// The tick that was due has been taken.
    pub(super) fn ticked(&mut self, now: Time<Steady>) {
        self.ticker.ticked(now);
    }

    /// Starts the grid, unless it has started before.
    pub(super) fn begin_ticks(&mut self, now: Time<Steady>) {
        self.ticker.begin(now);
    }

    /// The next step of log time: the first that is past the last time shown. `None`: there are no steps, or nothing
    /// was shown in this generation.
    #[inline]
    pub(super) fn next_step(&self, segment: Segment) -> Option<Time<Ros>> {
        let (shown, is_reverse) = (self.shown?, segment.speed().is_reverse());
        let steps = self
            .steps
            .iter()
            .filter_map(|grid| grid.after(shown, is_reverse));
        steps.reduce(|a, b| segment.nearer(a, b))
    }

    /// Whether `t` is a step and was shown last.
    #[inline]
    fn has_stepped_to(&self, t: Time<Ros>) -> bool {
        self.shown == Some(t) && self.steps.iter().any(|grid| grid.contains(t))
    }

    /// Whether the clock has to be shown before the next message, which is played at `t`: always for the topics that
    /// have a clock message of their own; also while the segment is held, because then no schedule moves the clock, so
    /// messages do: at most once per period if `is_unpaced`, otherwise each time.
    #[inline]
    pub(super) fn precedes(
        &self,
        topic: TopicId,
        t: Time<Ros>,
        segment: Segment,
        is_unpaced: bool,
    ) -> bool {
        let moves = |period| {
            self.shown.is_none_or(|shown| {
                let moved = t.saturating_since(shown).saturating_abs();
                segment.is_before(shown, t) && (!is_unpaced || moved >= period)
            })
        };
        let has_own = self.options.before.covers(topic) && !self.has_stepped_to(t);
        !self.is_announced
            && (has_own || (!segment.is_rolling() && self.options.period.is_some_and(moves)))
    }

    /// Shows `t`; if a later time was shown in this generation, that time again: a tick that was due earlier may
    /// carry an earlier time than the last value.
    pub(super) fn show(&mut self, t: Time<Ros>, segment: Segment, out: &mut dyn Output) {
        if !self.options.is_served() {
            return;
        }
        let t = self
            .shown
            .filter(|shown| segment.is_before(t, *shown))
            .unwrap_or(t);
        self.shown = Some(t);
        let value = t.saturating_add(self.options.shift);
        // Zero would mean "uninitialised" to every ROS client.
        out.clock(if value == Time::ZERO {
            Time::from_nanos(1)
        } else {
            value
        });
    }
}

impl Machine {
    /// Shows `t` on the clock.
    pub(super) fn show_clock(&mut self, t: Time<Ros>, out: &mut dyn Output) {
        let segment = self.segment();
        self.clock.show(t, segment, out);
    }
}

/// The steps of a clock: the times of the log that are a whole number of spans from where playing starts.
#[derive(Clone, Copy, Debug)]
struct StepGrid {
    origin: Time<Ros>,
    span: i128,
}

impl StepGrid {
    fn new(origin: Time<Ros>, span: Duration) -> Self {
        let span = i128::from(span.as_nanos().max(1));
        Self { origin, span }
    }

    fn past_origin(self, t: Time<Ros>) -> i128 {
        i128::from(t.as_nanos()) - i128::from(self.origin.as_nanos())
    }

    fn contains(self, t: Time<Ros>) -> bool {
        self.past_origin(t).rem_euclid(self.span) == 0
    }

    /// The first step past `t`, in the direction of play; `None`: past the times that can be written.
    fn after(self, t: Time<Ros>, is_reverse: bool) -> Option<Time<Ros>> {
        let past = self.past_origin(t);
        let steps = if is_reverse {
            (past - 1).div_euclid(self.span)
        } else {
            past.div_euclid(self.span) + 1
        };
        let at = i128::from(self.origin.as_nanos()) + steps * self.span;
        i64::try_from(at).ok().map(Time::from_nanos)
    }
}

/// The wall instants of ticks.
#[derive(Clone, Copy, Debug)]
struct Ticker {
    period: Option<Duration>,
    next: Option<Time<Steady>>,
}

impl Ticker {
    /// Ticks every `period`, from the first instant it is asked about; `None` means never.
    fn new(period: Option<Duration>) -> Self {
        Self { period, next: None }
    }

    /// The instant of the next tick; `now` before the first tick.
    fn next(&self, now: Time<Steady>) -> Option<Time<Steady>> {
        self.period.map(|_| self.next.unwrap_or(now))
    }

    /// Starts the grid at `now`, whose tick has been sent, unless it has started before.
    fn begin(&mut self, now: Time<Steady>) {
        if self.next.is_none() {
            self.ticked(now);
        }
    }

    /// The tick at `now` has been sent: moves to the first grid instant after it.
    fn ticked(&mut self, now: Time<Steady>) {
        let (Some(period), Some(tick)) = (self.period, self.next(now)) else {
            return;
        };
        let period = period.as_nanos().max(1);
        let missed = now.saturating_since(tick).as_nanos().max(0) / period;
        self.next =
            Some(tick.saturating_add(Duration::from_nanos((missed + 1).saturating_mul(period))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_whole_spans_from_where_playing_starts() {
        let at = |nanos| Time::<Ros>::from_nanos(nanos);
        let steps = StepGrid::new(at(5), Duration::from_nanos(10));
        // (time, next forwards, next backwards)
        for (t, forwards, backwards) in [
            (5, 15, -5),
            (6, 15, 5),
            (14, 15, 5),
            (15, 25, 5),
            (-8, -5, -15),
        ] {
            assert_eq!(steps.after(at(t), false), Some(at(forwards)), "after {t}");
            assert_eq!(steps.after(at(t), true), Some(at(backwards)), "before {t}");
        }
        assert!(steps.contains(at(-5)) && !steps.contains(at(0)));
        assert_eq!(steps.after(Time::MAX, false), None);
        assert_eq!(steps.after(Time::MIN, true), None);
    }

    #[test]
    fn the_grid_stands_however_late_the_ticks_are() {
        let at = |nanos| Time::from_nanos(nanos);
        let mut ticker = Ticker::new(Some(Duration::from_nanos(10)));
        // (woken at, next tick)
        for (now, next) in [(100, 110), (113, 120), (120, 130), (159, 160), (160, 170)] {
            ticker.ticked(at(now));
            assert_eq!(ticker.next(at(now)), Some(at(next)), "woken at {now}");
        }
        assert_eq!(Ticker::new(None).next(at(0)), None);
    }
}
