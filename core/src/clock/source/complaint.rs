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
                "the time has several publishers; clocks that follow it will jump between their times"
            }
            Self::Malformed => {
                "a message of the time cannot be read and is ignored: it is no clock message, or its nanosecond field \
                 is a second or more"
            }
            Self::Stale => {
                "states of the time are too old to be extrapolated when they arrive, so time stands still between \
                 them; compare the system clocks of the two machines, or raise max_age"
            }
            Self::Ignored => {
                "there is a publisher of the time, but use_sim_time is off: clocks show system time"
            }
        }
    }
}
