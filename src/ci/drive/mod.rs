//! Driving the player at the speed of the system under test.
