//! [`Cue`]: the read-ahead in the direction of play.
