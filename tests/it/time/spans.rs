//! Points made of seconds and their parts; distances, quotients and sums of spans.

use bagplay::time::{Duration, Ros, System, Time};

fn ns(nanos: i64) -> Duration {
    Duration::from_nanos(nanos)
}

fn at(nanos: i64) -> Time<Ros> {
    Time::from_nanos(nanos)
}

#[test]
fn points_are_made_of_seconds_and_their_parts() {
    const START: Time<System> = Time::from_secs(1);
    assert_eq!(Time::<Ros>::from_secs(-2), at(-2_000_000_000));
    assert_eq!(Time::<Ros>::from_millis(3), at(3_000_000));
    assert_eq!(Time::<Ros>::from_micros(4), at(4_000));
    assert_eq!(Time::<Ros>::from_secs(i64::MAX), Time::MAX);
    assert_eq!(Time::<Ros>::from_millis(i64::MIN), Time::MIN);
    assert_eq!(START.as_nanos(), 1_000_000_000);
}

#[test]
fn abs_diff_has_no_sign_and_saturates() {
    for (one, other, difference) in [
        (5, 8, 3),
        (8, 5, 3),
        (-5, 8, 13),
        (7, 7, 0),
        (i64::MIN, 0, i64::MAX),
        (i64::MIN, i64::MAX, i64::MAX),
    ] {
        assert_eq!(at(one).abs_diff(at(other)), ns(difference));
        assert_eq!(ns(one).abs_diff(ns(other)), ns(difference));
    }
}

#[test]
#[expect(clippy::float_cmp, reason = "these quotients are exact")]
fn a_span_divided_by_a_span_is_a_number() {
    assert_eq!(ns(3) / ns(2), 1.5);
    assert_eq!(Duration::from_secs(1) / Duration::from_millis(-10), -100.0);
    assert_eq!(ns(1) / Duration::ZERO, f64::INFINITY);
    assert!((Duration::ZERO / Duration::ZERO).is_nan());
}

#[test]
fn spans_are_summed() {
    let spans = [ns(1), ns(-5), ns(10)];
    assert_eq!(spans.iter().sum::<Duration>(), ns(6));
    assert_eq!(spans.into_iter().sum::<Duration>(), ns(6));
    assert_eq!([].iter().sum::<Duration>(), Duration::ZERO);
    let over = std::panic::catch_unwind(|| [Duration::MAX, ns(1)].iter().sum::<Duration>());
    assert!(over.is_err());
}
