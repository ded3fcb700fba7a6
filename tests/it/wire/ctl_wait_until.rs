//! `play ctl wait-until` against players that are processes.

use super::ctl::Driven;

#[test]
fn a_time_that_is_never_reached_is_not_waited_for() {
    let driven = Driven::new(&["--start-paused"]);
    let never = driven.ctl(&["wait-until", "+99h"]);
    assert_eq!(never.code, 1, "{}", never.error);
    let reason = "the recording does not reach that time";
    assert!(never.error.contains(reason), "{}", never.error);
    // A time before the recording has been passed.
    driven.done(&["wait-until", "0"]);
}

#[test]
fn a_wait_for_the_end_ends_with_the_player() {
    let driven = Driven::new(&["--rate", "5"]);
    let end = driven.ctl(&["wait-until", "100%"]);
    assert_eq!(end.code, 0, "{}", end.error);
    assert_eq!(end.result["success"], true);
    // In a loop, a time may be passed between two looks.
    let driven = Driven::new(&["--rate", "100", "--loop"]);
    driven.done(&["wait-until", "-1ms"]);
}

#[test]
fn a_time_outside_a_loop_is_not_waited_for() {
    let driven = Driven::new(&["--start-paused"]);
    driven.done(&["loop", "+10s..+20s"]);
    let never = driven.ctl(&["wait-until", "+25s"]);
    assert_eq!(never.code, 1, "{}", never.error);
    let reason = "the player repeats 00:10.0..00:20.0, which does not reach that time";
    assert!(never.error.contains(reason), "{}", never.error);
    // A time before the loop has been passed.
    driven.done(&["wait-until", "+5s"]);
}
