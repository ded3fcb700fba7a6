//! [`Complaint`]: what is wrong with how the time is published.

/// What is wrong with how the time is published; logged once each for a source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Complaint {
    /// More than one publishes the time (requirement T27).
    SeveralPublishers,
    /// Somebody publishes the time, and it is not wanted (requirement T22).
    Ignored,
    /// What should have said the time could not be read; how often, says
    /// [`SimTime::malformed`](super::sim_time::SimTime::malformed).
    Malformed,
    /// State after state is older than [`Extrapolation::max_age`](crate::clock::state::extrapolate::Extrapolation::max_age) when it
    /// comes, by its stamp and this machine's system clock, so that time stands between them. Mostly the two machines'
    /// system clocks differ.
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
