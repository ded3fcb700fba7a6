//! [`Segment`]: the one value that says where playback is at any instant.
//!
//! The player thread alone makes the segment of playback; everything else copies it: the scheduler, the `/clock` tick,
//! the screen, the services. It never reads a clock: `now` is an argument. Its operations:
//!
//! | operation | motion | speed | generation | cue (read-ahead) |
//! |---|---|---|---|---|
//! | play | `Rolling{position, now}` once cued | = | = | keep |
//! | pause | `Held(position(now))` | = | = | keep |
//! | speed, same sign | re-anchored | new | = | keep |
//! | reverse (sign flips) | `Held` until cued, then rolling unless paused | −s | +1 | new, other direction |
//! | seek | `Held(t clamped)` until cued | = | +1 | new from t |
//! | play until t | `Rolling` with `until`; `Held` on arrival | = | = | keep |
//! | end, `Loop` | lap: `Held(entry edge)` | = | +1 | new |
//! | end, `Hold` | `Held(exit edge)` | = | = | none |
//! | range | position clamped into it | = | +1 | new |
//!
//! Laws: what changes only the *timing* (hold, roll, speed with the same sign) leaves the position at `now` unchanged;
//! what needs another *read* of the recording (jumps, changes of direction) starts a new generation. Within a
//! generation the position never runs against the direction. All arithmetic is exact, in 128 bits.

use super::duration::Duration;
use super::point::{Ros, Steady, Time};
use super::range::TimeRange;
use super::speed::Speed;

/// How the position depends on the wall clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Motion {
    /// Playback is held at this position.
    Held(Time<Ros>),
    /// The position was `from` at the wall instant `since`, and moves at the segment's speed from then on.
    Rolling {
        /// The position at `since`.
        from: Time<Ros>,
        /// The wall instant of the anchor; before it the position is `from`.
        since: Time<Steady>,
    },
}

/// What happens at the exit edge of the range.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AtEnd {
    /// Hold there.
    #[default]
    Hold,
    /// Go on from the entry edge: a lap.
    Loop,
}

impl AtEnd {
    /// Whether it is a loop.
    pub const fn from_loop(is_loop: bool) -> Self {
        if is_loop { Self::Loop } else { Self::Hold }
    }
}

/// Where playback is, as a function of the wall instant: a range, a speed, and a motion that is held or rolling.
///
/// What changes only the timing (hold, roll, a speed with the same sign) leaves the position at `now` unchanged. A jump
/// or a change of direction begins a new generation. Within a generation the position never runs against the direction
/// of play.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::time::{AtEnd, Duration, Segment, Speed, Time, TimeRange};
/// let range = TimeRange::between(Time::from_secs(100), Time::from_secs(200));
/// let now = Time::from_secs(5); // of the steady clock
/// let rolling = Segment::new(range, Speed::from_f64(2.0)?, AtEnd::Hold).roll(now);
/// let later = now + Duration::from_secs(10);
/// assert_eq!(rolling.position(later), Time::from_secs(120));
/// assert_eq!(rolling.wall_at(Time::from_secs(200)), Some(Time::from_secs(55)));
/// assert_eq!(rolling.seek(Time::from_secs(150)).generation(), 1);
/// # Ok::<(), bagplay::time::InvalidSpeed>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Segment {
    generation: u64,
    range: TimeRange,
    speed: Speed,
    motion: Motion,
    until: Option<Time<Ros>>,
    at_end: AtEnd,
}

impl Segment {
    /// The first generation: held at the entry edge of `range`. If `speed` is reverse, that is the end of the range.
    pub fn new(range: TimeRange, speed: Speed, at_end: AtEnd) -> Self {
        let entry = if speed.is_reverse() {
            range.stop()
        } else {
            range.start()
        };
        Self {
            generation: 0,
            range,
            speed,
            motion: Motion::Held(entry),
            until: None,
            at_end,
        }
    }

    /// The segment with a generation and a motion that another process reports. A position outside of the range is
    /// clamped.
    #[must_use]
    pub fn told(self, generation: u64, motion: Motion) -> Self {
        let clamp = |time| self.range.clamp(time);
        let motion = match motion {
            Motion::Held(at) => Motion::Held(clamp(at)),
            Motion::Rolling { from, since } => Motion::Rolling {
                from: clamp(from),
                since,
            },
        };
        Self {
            generation,
            motion,
            ..self
        }
    }

    /// Counts the jumps: a reader that sees another number drops what it has stored.
    pub const fn generation(self) -> u64 {
        self.generation
    }

    /// The closed range that is played.
    pub const fn range(self) -> TimeRange {
        self.range
    }

    /// The playback factor.
    pub const fn speed(self) -> Speed {
        self.speed
    }

    /// How the position depends on the wall clock.
    pub const fn motion(self) -> Motion {
        self.motion
    }

    /// Where playback holds before the exit edge, if it is to do so.
    pub const fn until(self) -> Option<Time<Ros>> {
        self.until
    }

    /// What happens at the exit edge.
    pub const fn at_end(self) -> AtEnd {
        self.at_end
    }

    /// Whether the position moves.
    #[inline]
    pub const fn is_rolling(self) -> bool {
        matches!(self.motion, Motion::Rolling { .. })
    }

    /// The edge of the range where playing in this direction begins.
    pub const fn entry(self) -> Time<Ros> {
        if self.speed.is_reverse() {
            self.range.stop()
        } else {
            self.range.start()
        }
    }

    /// The edge of the range where playing in this direction ends.
    pub const fn exit(self) -> Time<Ros> {
        if self.speed.is_reverse() {
            self.range.start()
        } else {
            self.range.stop()
        }
    }

    /// The farthest position that this motion reaches: `until` if set, otherwise the exit edge.
    #[inline]
    pub fn limit(self) -> Time<Ros> {
        self.until.unwrap_or(self.exit())
    }

    /// Whether `a` comes before `b` in the direction of play.
    #[inline]
    pub fn is_before(self, a: Time<Ros>, b: Time<Ros>) -> bool {
        if self.speed.is_reverse() {
            a > b
        } else {
            a < b
        }
    }

    /// The earlier of two times in the direction of play.
    #[inline]
    pub fn nearer(self, a: Time<Ros>, b: Time<Ros>) -> Time<Ros> {
        if self.is_before(b, a) { b } else { a }
    }

    /// Where playback is at the wall instant `now`: within the range, never past [`Segment::limit`].
    #[inline]
    pub fn position(self, now: Time<Steady>) -> Time<Ros> {
        match self.motion {
            Motion::Held(at) => at,
            Motion::Rolling { from, since } => {
                let elapsed = i128::from(now.as_nanos()) - i128::from(since.as_nanos());
                let moved = i128::from(from.as_nanos()) + self.speed.scale(elapsed.max(0));
                let moved = moved.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
                self.nearer(
                    Time::from_nanos(i64::try_from(moved).expect("clamped to i64")),
                    self.limit(),
                )
            }
        }
    }

    /// Whether rolling playback has reached `t`. Always false while held.
    pub fn due(self, t: Time<Ros>, now: Time<Steady>) -> bool {
        self.is_rolling() && !self.is_before(self.position(now), t)
    }

    /// The first wall instant at which [`Segment::due`] is true for `t`. If `t` lies before the anchor's position in
    /// the direction of play, that is the anchor's instant. `None` while held, and for times past [`Segment::limit`].
    pub fn wall_at(self, t: Time<Ros>) -> Option<Time<Steady>> {
        let Motion::Rolling { from, since } = self.motion else {
            return None;
        };
        if self.is_before(self.limit(), t) {
            return None;
        }
        if !self.is_before(from, t) {
            return Some(since);
        }
        let log = (i128::from(t.as_nanos()) - i128::from(from.as_nanos())).unsigned_abs();
        let wall = i128::from(since.as_nanos()) + self.speed.unscale(log);
        Some(Time::from_nanos(i64::try_from(wall).unwrap_or(i64::MAX)))
    }

    /// The wall instant at which this motion reaches its limit; `None` while held.
    pub fn ends_at(self) -> Option<Time<Steady>> {
        self.wall_at(self.limit())
    }

    /// Holds at the current position. Same generation.
    #[must_use]
    pub fn hold(self, now: Time<Steady>) -> Self {
        Self {
            motion: Motion::Held(self.position(now)),
            ..self
        }
    }

    /// Holds at `at`, or at the current position if `at` lies ahead of it: a clock never runs past a message that has
    /// not been sent. If `at` lies behind the position where this motion began, it holds there: a position that was
    /// reported is never taken back. Same generation.
    #[must_use]
    pub fn hold_back(self, at: Time<Ros>, now: Time<Steady>) -> Self {
        let (Motion::Held(began) | Motion::Rolling { from: began, .. }) = self.motion;
        let at = if self.is_before(at, began) { began } else { at };
        Self {
            motion: Motion::Held(self.nearer(at, self.position(now))),
            ..self
        }
    }

    /// Rolls on from the current position. Same generation.
    #[must_use]
    pub fn roll(self, now: Time<Steady>) -> Self {
        Self {
            motion: Motion::Rolling {
                from: self.position(now),
                since: now,
            },
            ..self
        }
    }

    /// Another playback factor. With the same sign, the position at `now` and the generation stay the same. With the
    /// other sign, playback is held at that position in a new generation, and goes towards the other edge from there.
    #[must_use]
    pub fn with_speed(self, speed: Speed, now: Time<Steady>) -> Self {
        if speed.is_reverse() != self.speed.is_reverse() {
            return Self {
                speed,
                ..self.seek(self.position(now))
            };
        }
        match self.motion {
            Motion::Held(_) => Self { speed, ..self },
            Motion::Rolling { .. } => Self {
                speed,
                ..self.roll(now)
            },
        }
    }

    /// A jump: held at `to`, clamped into the range. A new generation; `until` is cleared.
    #[must_use]
    pub fn seek(self, to: Time<Ros>) -> Self {
        Self {
            generation: self.generation + 1,
            motion: Motion::Held(self.range.clamp(to)),
            until: None,
            ..self
        }
    }

    /// Another range: the position at `now` is clamped into it and held. A new generation.
    #[must_use]
    pub fn with_range(self, range: TimeRange, now: Time<Steady>) -> Self {
        let position = self.position(now);
        Self { range, ..self }.seek(position)
    }

    /// A jump together with another range: `range` is played from now on, held at `to`, clamped into it. A new
    /// generation.
    #[must_use]
    pub fn seek_within(self, range: TimeRange, to: Time<Ros>) -> Self {
        Self { range, ..self }.seek(to)
    }

    /// A lap: held at the entry edge; [`Segment::roll`] starts it. A new generation. If each lap is rolled at the
    /// instant at which the previous one ended, laps do not drift, even after a thousand.
    #[must_use]
    pub fn wrap(self) -> Self {
        self.seek(self.entry())
    }

    /// Another behaviour at the exit edge. Same generation, same motion.
    #[must_use]
    pub const fn with_at_end(self, at_end: AtEnd) -> Self {
        Self { at_end, ..self }
    }

    /// Moves the position forward to `to` and holds it, as a step does: at most to the edge of the range, never back.
    /// Same generation.
    #[must_use]
    #[inline]
    pub fn advance_to(self, to: Time<Ros>, now: Time<Steady>) -> Self {
        let position = self.position(now);
        let to = if self.is_before(position, to) {
            self.range.clamp(to)
        } else {
            position
        };
        Self {
            motion: Motion::Held(to),
            ..self
        }
    }

    /// Playback could not move for `by`: its schedule shifts by that much, so that the position at any later instant is
    /// what it would have been `by` earlier. Same generation.
    #[must_use]
    pub const fn delayed(self, by: Duration) -> Self {
        match self.motion {
            Motion::Held(_) => self,
            Motion::Rolling { from, since } => Self {
                motion: Motion::Rolling {
                    from,
                    since: since.saturating_add(by),
                },
                ..self
            },
        }
    }

    /// The wall span that a span of log time takes at this speed, without sign.
    pub fn wall_span(self, log: Duration) -> Duration {
        let wall = self
            .speed
            .unscale(u128::from(log.as_nanos().unsigned_abs()));
        Duration::from_nanos(i64::try_from(wall).unwrap_or(i64::MAX))
    }

    /// Sets the position to hold at before the exit edge; `None` plays on to the exit edge. If `stop` lies behind the
    /// position at `now`, playback holds at once; if it lies outside the range, at the edge. Same generation.
    #[must_use]
    pub fn play_until(self, stop: Option<Time<Ros>>, now: Time<Steady>) -> Self {
        let stop = stop.map(|t| {
            let (t, position) = (self.range.clamp(t), self.position(now));
            if self.is_before(t, position) {
                position
            } else {
                t
            }
        });
        Self {
            until: stop,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ros(nanos: i64) -> Time<Ros> {
        Time::from_nanos(nanos)
    }
    fn wall(nanos: i64) -> Time<Steady> {
        Time::from_nanos(nanos)
    }

    const DAY: i64 = 86_400_000_000_000;
    const EPOCH: i64 = 1_700_000_000_000_000_000;

    fn speeds() -> impl Strategy<Value = Speed> {
        prop_oneof![
            Just(1_000_000),
            Just(-1_000_000),
            Just(1_000),
            Just(-1_000_000_000),
            Just(333_333),
            (1_000..1_000_000_000_i32),
            (-1_000_000_000..-1_000_i32),
        ]
        .prop_map(|m| Speed::from_millionths(m).unwrap())
    }
    fn instants() -> impl Strategy<Value = Time<Steady>> {
        (0..100 * DAY).prop_map(Time::from_nanos)
    }
    fn times() -> impl Strategy<Value = Time<Ros>> {
        (EPOCH - DAY..EPOCH + DAY).prop_map(Time::from_nanos)
    }
    fn ranges() -> impl Strategy<Value = TimeRange> {
        (times(), times()).prop_map(|(a, b)| TimeRange::between(a, b))
    }
    /// A rolling segment somewhere in its range, and an instant at or after its anchor.
    fn rolling() -> impl Strategy<Value = (Segment, Time<Steady>)> {
        (ranges(), speeds(), times(), instants(), 0..DAY).prop_map(
            |(range, speed, at, since, later)| {
                let segment = Segment::new(range, speed, AtEnd::Hold).seek(at).roll(since);
                (segment, Time::from_nanos(since.as_nanos() + later))
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn law_1_position_stays_in_range_and_never_runs_backwards((s, now) in rolling(), more in 0..DAY) {
            let (a, b) = (s.position(now), s.position(wall(now.as_nanos() + more)));
            prop_assert!(s.range().start() <= s.range().stop());
            prop_assert!(s.range().contains(a) && s.range().contains(b));
            prop_assert!(!s.is_before(b, a));
        }

        #[test]
        fn law_1_hold_back_does_not_go_behind_the_anchor((s, now) in rolling(), at in times()) {
            let began = s.position(wall(i64::MIN));
            for (motion, since) in [(s, began), (s.hold(now), s.position(now))] {
                let held = motion.hold_back(at, now);
                prop_assert!(!held.is_before(held.position(now), since));
                prop_assert!(!held.is_before(s.position(now), held.position(now)));
                prop_assert!(held.range().contains(held.position(now)));
            }
        }

        #[test]
        fn law_2_changes_of_timing_keep_position_and_generation((s, now) in rolling(), speed in speeds()) {
            let speed = if speed.is_reverse() == s.speed().is_reverse() { speed } else { speed.reversed() };
            for moved in [s.hold(now), s.roll(now), s.with_speed(speed, now), s.hold(now).roll(now)] {
                prop_assert_eq!(moved.position(now), s.position(now));
                prop_assert_eq!(moved.generation(), s.generation());
            }
        }

        #[test]
        fn law_2_jumps_and_turns_begin_one_generation((s, now) in rolling(), t in times(), range in ranges()) {
            let jumps = [s.seek(t), s.wrap(), s.with_range(range, now), s.with_speed(s.speed().reversed(), now)];
            for jumped in jumps {
                prop_assert_eq!(jumped.generation(), s.generation() + 1);
                prop_assert!(!jumped.is_rolling() && jumped.range().contains(jumped.position(now)));
            }
            prop_assert_eq!(s.with_speed(s.speed().reversed(), now).position(now), s.position(now));
        }

        #[test]
        fn law_3_a_held_position_ignores_the_wall((s, now) in rolling(), later in instants()) {
            let held = s.hold(now);
            prop_assert_eq!(held.position(later), s.position(now));
            prop_assert!(!held.due(held.position(later), later));
            prop_assert_eq!(held.wall_at(held.position(now)), None);
        }

        #[test]
        fn law_4_woken_at_wall_at_it_is_due_and_not_a_nanosecond_earlier((s, _) in rolling(), t in times()) {
            let Some(at) = s.wall_at(t) else {
                prop_assert!(s.is_before(s.limit(), t));
                return Ok(());
            };
            prop_assert!(s.due(t, at));
            if s.is_before(s.position(wall(i64::MIN)), t) {
                prop_assert!(!s.due(t, wall(at.as_nanos() - 1)));
            }
        }

        #[test]
        fn law_5_after_a_hold_it_rolls_on_from_there((s, now) in rolling(), pause in 0..DAY) {
            let resumed = s.hold(now).roll(wall(now.as_nanos() + pause));
            prop_assert_eq!(resumed.position(wall(now.as_nanos() + pause)), s.position(now));
        }

        #[test]
        fn law_6_due_covers_the_start_itself_in_both_directions((s, now) in rolling()) {
            let here = s.roll(now);
            prop_assert!(here.due(here.position(now), now));
        }

        #[test]
        fn law_7_a_thousand_laps_do_not_drift(length in 1..DAY / 1_000, speed in speeds(), late in 0..100_000_i64) {
            let range = TimeRange::between(ros(EPOCH), ros(EPOCH + length));
            let mut lap = Segment::new(range, speed, AtEnd::Loop).roll(wall(0));
            let first = lap.ends_at().unwrap().as_nanos();
            for n in 1..=1_000 {
                // A thread always wakes late: only the instant at which the lap ended counts.
                let ended = lap.ends_at().unwrap();
                lap = lap.hold(wall(ended.as_nanos() + late)).wrap().roll(ended);
                prop_assert_eq!(lap.ends_at().unwrap().as_nanos(), first * (n + 1));
            }
        }

        #[test]
        fn until_holds_the_position_and_nothing_past_it_is_due((s, now) in rolling(), t in times(), later in 0..DAY) {
            let stopping = s.play_until(Some(t), now);
            let later = wall(now.as_nanos() + later);
            prop_assert_eq!(stopping.generation(), s.generation());
            prop_assert_eq!(stopping.position(later), s.nearer(s.position(later), stopping.limit()));
            prop_assert!(s.range().contains(stopping.limit()));
        }

        #[test]
        fn hold_back_never_runs_ahead((s, now) in rolling(), t in times()) {
            let held = s.hold_back(t, now);
            prop_assert!(!held.is_rolling() && !s.is_before(s.position(now), held.position(now)));
            prop_assert_eq!(held.generation(), s.generation());
        }

        #[test]
        fn delayed_playback_is_where_it_was_that_much_earlier((s, now) in rolling(), by in 0..DAY) {
            let delayed = s.delayed(Duration::from_nanos(by));
            prop_assert_eq!(delayed.position(wall(now.as_nanos() + by)), s.position(now));
            prop_assert_eq!(delayed.generation(), s.generation());
        }
    }

    /// The table at the head of this file, row by row.
    #[test]
    fn the_operation_table() {
        let range = TimeRange::between(ros(100), ros(200));
        let narrow = TimeRange::between(ros(150), ros(160));
        let (normal, half) = (Speed::NORMAL, Speed::from_millionths(500_000).unwrap());
        let s = Segment::new(range, normal, AtEnd::Hold);
        let reverse = Segment::new(range, normal.reversed(), AtEnd::Hold);
        let rolls = s.roll(wall(0)); // position(t) = 100 + t
        let now = wall(20);
        let held = |at| Motion::Held(ros(at));
        let from = |at, since| Motion::Rolling {
            from: ros(at),
            since: wall(since),
        };
        // (row, segment after it at 20 ns, its motion, speed and generation)
        #[rustfmt::skip]
        let table = [
            ("new",              s,                                          held(100),      normal,            0),
            ("new reverse",      reverse,                                    held(200),      normal.reversed(), 0),
            ("play",             s.roll(now),                                from(100, 20),  normal,            0),
            ("pause",            rolls.hold(now),                            held(120),      normal,            0),
            ("hold back",        rolls.hold_back(ros(115), now),             held(115),      normal,            0),
            ("hold too far back", rolls.hold_back(ros(90), now),             held(100),      normal,            0),
            ("hold back, held",  rolls.hold(now).hold_back(ros(115), now),   held(120),      normal,            0),
            ("speed",            rolls.with_speed(half, now),                from(120, 20),  half,              0),
            ("speed while held", s.with_speed(half, now),                    held(100),      half,              0),
            ("reverse",          rolls.with_speed(half.reversed(), now),     held(120),      half.reversed(),   1),
            ("seek",             rolls.seek(ros(170)),                       held(170),      normal,            1),
            ("seek before",      rolls.seek(ros(0)),                         held(100),      normal,            1),
            ("seek past",        rolls.seek(ros(900)),                       held(200),      normal,            1),
            ("seek within",      rolls.seek_within(narrow, ros(0)),          held(150),      normal,            1),
            ("until",            rolls.play_until(Some(ros(130)), now),      from(100, 0),   normal,            0),
            ("until behind",     rolls.play_until(Some(ros(110)), now).hold(wall(99)), held(120), normal,       0),
            ("lap",              rolls.wrap(),                               held(100),      normal,            1),
            ("end",              rolls.hold(wall(900)),                      held(200),      normal,            0),
            ("range",            rolls.with_range(narrow, now),              held(150),      normal,            1),
            ("step",             rolls.advance_to(ros(140), now),            held(140),      normal,            0),
            ("step behind",      rolls.advance_to(ros(110), now),            held(120),      normal,            0),
            ("delayed",          rolls.delayed(Duration::from_nanos(5)),     from(100, 5),   normal,            0),
        ];
        for (row, segment, motion, speed, generation) in table {
            let after = (segment.motion(), segment.speed(), segment.generation());
            assert_eq!(after, (motion, speed, generation), "{row}");
        }
    }
}
