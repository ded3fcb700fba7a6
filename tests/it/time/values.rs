//! Points of time and spans: arithmetic, floats, message forms.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::panic::catch_unwind;
use std::time::{SystemTime, UNIX_EPOCH};

use bagplay::time::{Duration, Kind, Ros, Steady, System, Time};
use proptest::prelude::*;

const SEC: i64 = 1_000_000_000;

fn ns(nanos: i64) -> Duration {
    Duration::from_nanos(nanos)
}

fn at(nanos: i64) -> Time<Ros> {
    Time::from_nanos(nanos)
}

fn panics<T>(work: impl FnOnce() -> T + std::panic::UnwindSafe) -> bool {
    catch_unwind(|| drop(work())).is_err()
}

#[test]
fn every_kind_has_the_same_small_ordered_value() {
    fn check<K: Kind>() {
        let (one, two) = (Time::<K>::from_nanos(SEC), Time::<K>::from_nanos(2 * SEC));
        assert_eq!(size_of::<Time<K>>(), 8);
        assert_eq!((one.cmp(&two), one == two), (Ordering::Less, false));
        assert_eq!((two - one, one - two), (ns(SEC), ns(-SEC)));
        assert_eq!(two - ns(SEC), one);
        assert_eq!((one + ns(SEC), ns(SEC) + one), (two, two));
        assert_eq!(HashSet::from([one, two, one]).len(), 2);
        let mut moved = one;
        moved += ns(SEC);
        assert_eq!(moved, two);
        moved -= ns(SEC);
        assert_eq!(moved, one);
    }
    check::<Ros>();
    check::<System>();
    check::<Steady>();
    assert_eq!(size_of::<Duration>(), 8);
}

#[test]
fn ros_and_system_time_are_converted_only_by_an_explicit_assumption() {
    let system = Time::<System>::from_nanos(5);
    assert_eq!(system.assume_ros(), at(5));
    assert_eq!(system.assume_ros().assume_system(), system);
}

#[test]
fn system_time_converts_to_and_from_the_standard_librarys_type() {
    for nanos in [0, 1, -1, 1_700_000_000 * SEC + 1, i64::MAX, i64::MIN] {
        let time = Time::<System>::from_nanos(nanos);
        let std = SystemTime::from(time);
        assert_eq!((std < UNIX_EPOCH, Time::from(std)), (nanos < 0, time));
    }
    let (first, last) = (
        SystemTime::from(Time::MIN),
        SystemTime::from(Time::<System>::MAX),
    );
    let century = std::time::Duration::from_secs(100 * 365 * 86_400);
    assert_eq!(Time::<System>::from(first - century), Time::MIN);
    assert_eq!(Time::<System>::from(last + century), Time::MAX);
}

#[test]
fn times_plus_and_minus_spans_carry_nanoseconds() {
    // (time, span, sum, difference); nanosecond parts of a second and more are carried
    for (time, span, sum, difference) in [
        (at(100 * SEC), ns(100 * SEC), at(200 * SEC), at(0)),
        (at(100_000), ns(100), at(100_100), at(99_900)),
        (
            at(0),
            Duration::from_ros1(10, 2_000_003_000),
            at(12 * SEC + 3_000),
            at(-12 * SEC - 3_000),
        ),
        (
            at(30 * SEC),
            Duration::from_ros1(10, 2_000_003_000),
            at(42 * SEC + 3_000),
            Time::from_ros1(17, 999_997_000),
        ),
        (
            Time::from_ros1(100, 100),
            Duration::from_ros1(300, -101),
            Time::from_ros1(399, 999_999_999),
            at(-200 * SEC + 201),
        ),
        (
            Time::from_ros1(1, 1),
            Duration::from_ros1(-1, -1),
            at(0),
            Time::from_ros1(2, 2),
        ),
        (at(1), ns(2), at(3), at(-1)),
    ] {
        assert_eq!(
            (time + span, time - span),
            (sum, difference),
            "{time} and {span}"
        );
    }
    assert_eq!(
        Time::from_ros1(100, 2_000_003_000),
        Time::from_ros1(102, 3_000)
    );
    assert_eq!(at(1) - at(2), ns(-1));
    // rcl #204: this difference used to wrap at 32 bits
    let (early, late) = (
        at(1_514_423_496 * SEC),
        at(1_514_423_498 * SEC + 147_483_647),
    );
    assert_eq!(
        (late - early, early - late),
        (ns(2_147_483_647), ns(-2_147_483_647))
    );
}

#[test]
fn times_overflow_checked_saturating_or_with_a_panic() {
    let one = ns(1);
    assert_eq!(Time::<Ros>::MAX.checked_add(one), None);
    assert_eq!(Time::<Ros>::MIN.checked_sub(one), None);
    assert_eq!(Time::<Ros>::MAX.checked_sub(ns(-1)), None);
    assert_eq!(Time::<Ros>::MAX.checked_since(at(-1)), None);
    assert_eq!(Time::<Ros>::MAX.checked_since(Time::MAX), Some(ns(0)));
    assert_eq!(Time::<Ros>::MAX.saturating_add(one), Time::MAX);
    assert_eq!(Time::<Ros>::MIN.saturating_sub(one), Time::MIN);
    assert_eq!(Time::<Ros>::MAX.saturating_since(at(-1)), Duration::MAX);
    assert!(panics(|| Time::<Ros>::MAX + ns(1)));
    assert!(panics(|| Time::<Ros>::MIN - ns(1)));
    assert!(panics(|| Time::<Ros>::MAX - at(-1)));
    assert!(panics(|| at(1) + Duration::MAX));
    assert!(panics(|| Duration::MAX + at(1)));
    let (mut last, mut first) = (Time::<Ros>::MAX, Time::<Ros>::MIN);
    assert!(panics(move || last += ns(1)) && panics(move || first -= ns(1)));
    // the ends are those of 64 bits, not of a message's 32 bits
    let ends = (Time::<Ros>::MIN.as_nanos(), Time::<Ros>::MAX.as_nanos());
    assert_eq!(ends, (i64::MIN, i64::MAX));
}

#[test]
fn spans_overflow_checked_saturating_or_with_a_panic() {
    let (max, min, one) = (Duration::MAX, Duration::MIN, ns(1));
    assert_eq!(max.checked_add(one), None);
    assert_eq!(min.checked_sub(one), None);
    assert_eq!(ns(-1).checked_add(min), None);
    assert_eq!(ns(-2).checked_sub(max), None);
    assert_eq!(max.checked_sub(ns(-1)), None);
    assert_eq!(min.saturating_sub(one), min);
    let third = ns(i64::MAX / 10 * 3);
    for factor in [4, -4] {
        assert_eq!(third.checked_mul(factor), None);
        assert_eq!(
            third.saturating_mul(factor),
            if factor > 0 { max } else { min }
        );
        assert_eq!(
            (-third).saturating_mul(factor),
            if factor > 0 { min } else { max }
        );
    }
    assert!(panics(|| Duration::MAX + ns(1)) && panics(|| Duration::MIN - ns(1)));
    assert!(panics(|| Duration::MAX * 2));
    assert!(panics(|| Duration::MIN / -1) && panics(|| ns(1) / 0));
    assert_eq!((min.as_nanos(), max.as_nanos()), (i64::MIN, i64::MAX));
}

#[test]
fn the_negation_of_the_smallest_span_saturates_or_is_none() {
    assert_eq!(
        (Duration::MIN.checked_neg(), Duration::MIN.checked_abs()),
        (None, None)
    );
    assert_eq!(Duration::MIN.checked_mul(-1), None);
    assert_eq!(
        (-Duration::MIN, Duration::MIN.saturating_abs()),
        (Duration::MAX, Duration::MAX)
    );
    assert_eq!(Duration::MIN.mul_f64(-1.0), None);
    assert_eq!(Duration::MIN.mul_f64(1.0), Some(Duration::MIN));
}

#[test]
fn spans_add_negate_and_scale() {
    let second = Duration::from_secs(1);
    assert_eq!(second + second, Duration::from_secs(2));
    assert_eq!(second * 3, Duration::from_millis(3_000));
    assert_eq!(second - Duration::from_secs(2), -second);
    assert_eq!(-Duration::from_ros1(1, -1), Duration::from_ros1(-1, 1));
    assert_eq!(
        Duration::from_ros1(-1, -1) - Duration::from_ros1(1, 1),
        Duration::from_ros1(-3, 999_999_998)
    );
    let mut moved = second;
    moved += second;
    moved -= Duration::from_millis(500);
    moved *= -4;
    moved /= 2;
    assert_eq!(moved, Duration::from_millis(-3_000));
    for (span, divisor, quotient) in [
        (7, 2, Some(3)),
        (-7, 2, Some(-3)),
        (7, -2, Some(-3)),
        (7, 0, None),
        (i64::MIN, -1, None),
    ] {
        assert_eq!(ns(span).checked_div(divisor), quotient.map(ns), "{span}");
    }
    for (nanos, secs, millis, micros) in [
        (1_999_999_999, 1, 1_999, 1_999_999),
        (-1_999_999_999, -1, -1_999, -1_999_999),
        (999, 0, 0, 0),
    ] {
        let span = ns(nanos);
        assert_eq!(
            (span.as_secs(), span.as_millis(), span.as_micros()),
            (secs, millis, micros)
        );
    }
    assert_eq!(Duration::from_secs(2).mul_f64(0.5), Some(second));
    for factor in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300] {
        assert_eq!(second.mul_f64(factor), None, "{factor}");
    }
    assert_eq!(Duration::ZERO.mul_f64(f64::INFINITY), None);
}

#[test]
fn floats_round_to_the_nearest_nanosecond() {
    for (secs, sec, nsec) in [
        (0.0, 0, 0),
        (0.9e-9, 0, 1),
        (0.4e-9, 0, 0),
        (3.15, 3, 150_000_000),
        (0.3 - 0.1, 0, 200_000_000),
        (49.000_000_000_4, 49, 0),
        (-49.000_000_000_4, -49, 0),
        (49.000_000_000_6, 49, 1),
        (-49.000_000_000_6, -50, 999_999_999),
        (49.999_999_999_4, 49, 999_999_999),
        (-49.999_999_999_4, -50, 1),
        (49.999_999_999_6, 50, 0),
        (-49.999_999_999_6, -50, 0),
        (-0.5, -1, 500_000_000),
        (1_030.999_999_999_999_9, 1_031, 0),
        (-2_147_483_648.0, -2_147_483_648, 0),
        (1_700_000_000.25, 1_700_000_000, 250_000_000),
        (-1_700_000_000.25, -1_700_000_001, 750_000_000),
    ] {
        let span = Duration::from_secs_f64(secs).unwrap();
        assert_eq!(span.to_ros1(), Ok((sec, nsec)), "{secs}");
    }
    assert_eq!(
        Duration::from_secs_f64(-9_223_372_036.854_776),
        Some(Duration::MIN)
    );
    for secs in [
        9_223_372_037.0,
        -9_223_372_038.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e300,
    ] {
        assert_eq!(
            (
                Duration::from_secs_f64(secs),
                Time::<Ros>::from_secs_f64(secs)
            ),
            (None, None),
            "{secs}"
        );
    }
    for (nanos, secs) in [
        (0, "0"),
        (4_500_000_000, "4.5"),
        (2_500_000_000, "2.5"),
        (-1_500_000_000, "-1.5"),
    ] {
        assert_eq!(
            (
                at(nanos).as_secs_f64().to_string(),
                ns(nanos).as_secs_f64().to_string()
            ),
            (secs.into(), secs.into())
        );
    }
}

/// At 2038, 2106 and the ends of 64 bits.
#[test]
fn times_that_do_not_fit_a_message_are_errors() {
    // (nanoseconds, ROS 2 form, ROS 1 form)
    for (nanos, ros2, ros1) in [
        (0, Some((0, 0)), Some((0, 0))),
        (
            12_345 * SEC + 67_890,
            Some((12_345, 67_890)),
            Some((12_345, 67_890)),
        ),
        (500_000_000, Some((0, 500_000_000)), Some((0, 500_000_000))),
        (
            1_553_575_413_247_045_598,
            Some((1_553_575_413, 247_045_598)),
            Some((1_553_575_413, 247_045_598)),
        ),
        (-1, Some((-1, 999_999_999)), None),
        (-1_500_000_000, Some((-2, 500_000_000)), None),
        (
            2_147_483_647_999_999_999,
            Some((i32::MAX, 999_999_999)),
            Some((2_147_483_647, 999_999_999)),
        ),
        (2_147_483_648_000_000_000, None, Some((2_147_483_648, 0))),
        (
            4_294_967_295_999_999_999,
            None,
            Some((u32::MAX, 999_999_999)),
        ),
        (4_294_967_296_000_000_000, None, None),
        (-2_147_483_648_000_000_000, Some((i32::MIN, 0)), None),
        (-2_147_483_648_000_000_001, None, None),
        (i64::MAX, None, None),
        (i64::MIN, None, None),
    ] {
        let time = at(nanos);
        assert_eq!(
            (time.to_ros2().ok(), time.to_ros1().ok()),
            (ros2, ros1),
            "{nanos}"
        );
        assert_eq!(
            ros2.map(|(sec, nanosec)| Time::from_ros2(sec, nanosec)),
            ros2.map(|_| time)
        );
        assert_eq!(
            ros1.map(|(sec, nsec)| Time::from_ros1(sec, nsec)),
            ros1.map(|_| time)
        );
    }
    assert_eq!(Time::from_ros2(0, 2_500_000_000), at(2_500_000_000));
    assert_eq!(
        Time::from_ros2(i32::MAX, u32::MAX),
        at(2_147_483_651_294_967_295)
    );
    let error = at(2_147_483_648 * SEC).to_ros2().unwrap_err().to_string();
    assert_eq!(
        error,
        "2147483648s does not fit the message: its seconds end at 2147483647 (in 2038)"
    );
}

#[test]
fn spans_that_do_not_fit_a_message_are_errors_or_saturate_on_request() {
    for (nanos, checked, saturated) in [
        (1_500_000_000, Some((1, 500_000_000)), (1, 500_000_000)),
        (-1, Some((-1, 999_999_999)), (-1, 999_999_999)),
        (-500_000_000, Some((-1, 500_000_000)), (-1, 500_000_000)),
        (-SEC, Some((-1, 0)), (-1, 0)),
        (-1_500_000_000, Some((-2, 500_000_000)), (-2, 500_000_000)),
        (
            -2_147_483_647_999_999_999,
            Some((i32::MIN, 1)),
            (i32::MIN, 1),
        ),
        (
            2_147_483_647_999_999_999,
            Some((i32::MAX, 999_999_999)),
            (i32::MAX, 999_999_999),
        ),
        (2_147_483_648 * SEC, None, (i32::MAX, 999_999_999)),
        (-3_000_000_000 * SEC, None, (i32::MIN, 0)),
        (i64::MAX, None, (i32::MAX, 999_999_999)),
        (-i64::MAX, None, (i32::MIN, 0)),
    ] {
        let span = ns(nanos);
        assert_eq!(
            (span.to_ros2().ok(), span.to_ros2_saturating()),
            (checked, saturated),
            "{nanos}"
        );
        assert_eq!(
            checked.map(|(sec, nanosec)| Duration::from_ros2(sec, nanosec)),
            checked.map(|_| span)
        );
        assert_eq!(
            span.to_ros1()
                .ok()
                .map(|(sec, nsec)| Duration::from_ros1(sec, nsec)),
            checked.map(|_| span)
        );
    }
    assert_eq!(Duration::from_ros2(-4, 250_000_000), ns(-3_750_000_000));
    assert_eq!(
        Duration::from_ros1(0, -500_000_000),
        Duration::from_ros1(-1, 500_000_000)
    );
    // (message of ±0.1 s, what is added, the sum as a message)
    for (message, added, sum) in [
        ((0, 100_000_000), 1_100_000_000, (1, 200_000_000)),
        ((0, 100_000_000), -1_100_000_000, (-1, 0)),
        ((-2, 900_000_000), 100_000_000, (-1, 0)),
    ] {
        assert_eq!(
            (Duration::from_ros2(message.0, message.1) + ns(added)).to_ros2(),
            Ok(sum)
        );
    }
    assert_eq!(
        Duration::from_ros2(0, 100_000_000).checked_add(Duration::MAX),
        None
    );
}

/// Where roscpp throws, the value exists here and has no message form.
#[test]
fn values_beyond_the_range_of_messages_are_valid() {
    const LAST: u32 = 999_999_999;
    let (half, full) = (1 << 31, u32::MAX);
    let (time, span) = (Time::from_ros1, Duration::from_ros1);
    // sums of times and spans, as a message
    for (sum, message) in [
        (time(half - 1, LAST) + span(i32::MIN, 1), Some((0, 0))),
        (
            time(half, 0) + span(i32::MAX, 999_999_999),
            Some((full, LAST)),
        ),
        (time(full, LAST) + ns(1), None),
        (time(full, LAST) + span(i32::MAX, 999_999_999), None),
        (time(full, LAST - 1) + ns(2), None),
        (time(half, 0) - span(i32::MIN, 0), None),
        (time(half - 1, LAST) - span(i32::MIN, 0), Some((full, LAST))),
        (time(full, LAST) - span(i32::MIN, 1), None),
    ] {
        assert_eq!(sum.to_ros1().ok(), message, "{sum}");
    }
    // differences of times, as a message
    for (difference, message) in [
        (time(half, 0) - time(half - 1, LAST), Some((0, 1))),
        (
            time(half - 1, LAST - 1) - time(half - 1, LAST),
            Some((-1, 999_999_999)),
        ),
        (time(full, LAST) - time(full, LAST - 1), Some((0, 1))),
        (time(full, LAST) - time(0, 1), None),
        (time(full, LAST) - time(half - 1, LAST - 1), None),
    ] {
        assert_eq!(difference.to_ros1().ok(), message, "{difference}");
    }
    // sums of spans, as a message
    let (least, most) = (span(i32::MIN, 0), span(i32::MAX, 999_999_999));
    for (sum, message) in [
        (span(i32::MAX, 0) + most, None),
        (least - span(i32::MAX, 0), None),
        (span(i32::MAX, 0) - least, None),
        (
            span(-i32::MAX, 1) + span(-2, 999_999_999),
            Some((i32::MIN, 0)),
        ),
    ] {
        assert_eq!(sum.to_ros1().ok(), message, "{sum}");
    }
    for (span, opposite) in [
        (most, -2_147_483_647_999_999_999),
        (span(i32::MIN, 999_999_999), 2_147_483_647_000_000_001),
        (span(i32::MIN, 2), 2_147_483_647_999_999_998),
    ] {
        assert_eq!(-span, ns(opposite));
    }
}

/// roscpp's limits of seconds as a float are those of its messages.
#[test]
fn seconds_beyond_the_range_of_messages_are_valid() {
    for (secs, fits_time, fits_span) in [
        (1e-7, true, true),
        (-0.000_1, false, true),
        (2_147_483_647.0, true, true),
        (2_147_483_647.999_999, true, true),
        (2_147_483_648.0, true, false),
        (-2_147_483_647.999_999, false, true),
        (-2_147_483_648.0, false, true),
        (-2_147_483_648.001, false, false),
        (4_294_967_295.0, true, false),
        (4_294_967_295.999, true, false),
        (4_294_967_296.0, false, false),
        (-4_294_967_296.0, false, false),
        (6_442_450_943.0, false, false),
        (-6_442_450_943.0, false, false),
    ] {
        let (time, span) = (Time::from_secs_f64(secs), Duration::from_secs_f64(secs));
        let (time, span) = (time.unwrap(), span.unwrap());
        assert_eq!(
            (time.to_ros1().is_ok(), span.to_ros1().is_ok()),
            (fits_time, fits_span),
            "{secs}"
        );
        assert_eq!(time.as_secs_f64().to_bits(), secs.to_bits(), "{secs}");
    }
    for secs in [9_223_372_036_854_775_808.0, -9_223_372_036_854_775_809.0] {
        assert_eq!(Time::<Ros>::from_secs_f64(secs), None);
    }
}

#[test]
fn spans_convert_to_and_from_the_standard_librarys_type() {
    let std = std::time::Duration::new;
    for (from, nanos) in [
        (std(9_223_372_037, 0), i64::MAX),
        (std(9_223_372_036, 999_999_999), i64::MAX),
        (std(1, 1_000), 1_000_001_000),
    ] {
        assert_eq!(Duration::from(from), ns(nanos));
    }
    assert_eq!(
        (ns(1_500).to_std(), ns(-1).to_std()),
        (std(0, 1_500), std(0, 0))
    );
}

proptest! {
    #[test]
    fn the_displayed_text_is_parsed_to_the_same_value(nanos: i64) {
        prop_assert_eq!(at(nanos).to_string().parse(), Ok(at(nanos)));
        prop_assert_eq!(ns(nanos).to_string().parse(), Ok(ns(nanos)));
    }

    #[test]
    fn order_is_the_order_of_nanoseconds(a: i64, b: i64) {
        prop_assert_eq!(at(a).cmp(&at(b)), a.cmp(&b));
        prop_assert_eq!(ns(a).cmp(&ns(b)), a.cmp(&b));
    }

    #[test]
    fn arithmetic_is_that_of_wide_integers(a: i64, b: i64) {
        let (wide_a, wide_b) = (i128::from(a), i128::from(b));
        let fits = |wide: i128| i64::try_from(wide).ok();
        prop_assert_eq!(at(a).checked_add(ns(b)), fits(wide_a + wide_b).map(at));
        prop_assert_eq!(at(a).checked_sub(ns(b)), fits(wide_a - wide_b).map(at));
        prop_assert_eq!(at(a).checked_since(at(b)), fits(wide_a - wide_b).map(ns));
        prop_assert_eq!(ns(a).checked_sub(ns(b)), fits(wide_a - wide_b).map(ns));
        prop_assert_eq!(ns(a).checked_mul(b), fits(wide_a * wide_b).map(ns));
    }

    #[test]
    fn spans_converted_to_seconds_and_back_differ_by_a_nanosecond_at_most(nanos in -1_000_000_000_000_000_i64..1_000_000_000_000_000) {
        let back = Duration::from_secs_f64(ns(nanos).as_secs_f64()).unwrap();
        prop_assert!((back - ns(nanos)).saturating_abs() <= ns(1), "{nanos} {back}");
    }

    /// Between 2004 and 2038 two floats of seconds are 238 ns apart.
    #[test]
    fn todays_times_converted_to_seconds_and_back_are_the_nearest_float(nanos in 1_100_000_000 * SEC..2_147_000_000 * SEC) {
        let back = Time::<Ros>::from_secs_f64(at(nanos).as_secs_f64()).unwrap();
        prop_assert!((back - at(nanos)).saturating_abs() <= ns(120), "{nanos} {back}");
    }
}
