//! [`Complaint`]: what is wrong with how the time is published.

/// What is wrong with how the time is published; logged once each for a source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Complaint {
    /// More than one publishes the time (requirement T27).
    SeveralPublishers,
    /// Somebody publishes the time, and it is not wanted (requirement T22).
    Ignored,
}

impl Complaint {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::SeveralPublishers => {
                "several publish the time; their clocks will jump to and fro"
            }
            Self::Ignored => {
                "somebody publishes the time, but use_sim_time is off: system time is shown"
            }
        }
    }
}
