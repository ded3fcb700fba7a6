//! [`Complaint`]: what is wrong with the way the time is published.

/// What is wrong with the way the time is published; each is logged once per source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Complaint {
    /// There is more than one publisher of the time.
    SeveralPublishers,
    /// There is a publisher of the time, but sim time is off.
    Ignored,
    /// A message that should have carried the time could not be read;
    /// [`SimTime::malformed`](super::sim_time::SimTime::malformed) counts them.
    Malformed,
    /// Several states in a row were older than
    /// [`Extrapolation::max_age`](crate::clock::state::extrapolate::Extrapolation::max_age) when they arrived, by their
    /// stamp and this machine's system clock, so that the time stands still between them. Usually the system clocks of
    /// the two machines differ.
    Stale,
}

impl Complaint {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::SeveralPublishers => {
                "several publish the time; their clocks will jump to and fro"
            }
            Self::Malformed => {
                "a message of the time cannot be read and is passed over: not a clock's, or a nanosecond field of a \
                 second or more"
            }
            Self::Stale => {
                "states of the time are too old to go on from when they come, so time stands between them; compare \
                 the system clocks of the two machines, or raise max_age"
            }
            Self::Ignored => {
                "somebody publishes the time, but use_sim_time is off: system time is shown"
            }
        }
    }
}
