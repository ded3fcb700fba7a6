//! [`JumpFilter`]: which jumps a handler is called for.
//!
//! This is a value: it matches a [`JumpEvent`] and knows neither clocks nor handlers.

use super::jump_event::{JumpEvent, JumpKind};
use crate::time::Duration;

/// Which jumps a handler is called for: once for each jump that meets at least one of its conditions.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::clock::{JumpEvent, JumpFilter, JumpKind};
/// use bagplay::time::{Duration, Time};
/// let filter = JumpFilter::new().min_backward(Duration::from_secs(2)).clock_changes();
/// let back_to = |secs| JumpEvent {
///     kind: JumpKind::Backward,
///     before: Time::from_secs(10),
///     after: Time::from_secs(secs),
/// };
/// assert!(filter.matches(back_to(8)) && !filter.matches(back_to(9)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct JumpFilter {
    min_forward: Option<Duration>,
    min_backward: Option<Duration>,
    clock_changes: bool,
    start: bool,
}

/// The filter can never match, or one of its thresholds is not positive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidFilter {
    /// Thresholds are distances. To ignore a direction, leave its threshold out.
    #[error("a jump threshold of {0} is not positive\nhint: leave it out to ignore that direction")]
    NotPositive(Duration),
    /// The filter has no condition.
    #[error("the jump filter has no condition")]
    Empty,
}

impl JumpFilter {
    /// A filter without conditions; it needs at least one before it can be used.
    pub const fn new() -> Self {
        Self {
            min_forward: None,
            min_backward: None,
            clock_changes: false,
            start: false,
        }
    }

    /// All jumps, ticks included.
    pub const fn any() -> Self {
        let least = Duration::from_nanos(1);
        Self::new()
            .min_forward(least)
            .min_backward(least)
            .clock_changes()
            .start()
    }

    /// Adds steps forwards by `least` or more. `least` must be positive.
    #[must_use]
    pub const fn min_forward(mut self, least: Duration) -> Self {
        self.min_forward = Some(least);
        self
    }

    /// Adds steps back by `least` or more. `least` must be positive. Time that is extrapolated
    /// ([`Extrapolation`](crate::clock::state::extrapolate::Extrapolation)) and runs backwards makes no steps: see
    /// [`on_reverse`](crate::clock::handle::Clock::on_reverse).
    #[must_use]
    pub const fn min_backward(mut self, least: Duration) -> Self {
        self.min_backward = Some(least);
        self
    }

    /// Adds changes of the source: a source takes over from the system clock or gives back to it. The first time of a
    /// source is one, too, if the clock showed a machine's clock until then.
    #[must_use]
    pub const fn clock_changes(mut self) -> Self {
        self.clock_changes = true;
        self
    }

    /// Adds the first time of an active source.
    #[must_use]
    pub const fn start(mut self) -> Self {
        self.start = true;
        self
    }

    /// Whether a handler with this filter is called for `event`.
    pub fn matches(self, event: JumpEvent) -> bool {
        let reaches = |least: Option<Duration>, distance: Duration| {
            least.is_some_and(|least| distance >= least)
        };
        match event.kind {
            JumpKind::Started => self.start || (self.clock_changes && event.is_clock_change()),
            JumpKind::Forward => reaches(self.min_forward, event.delta()),
            JumpKind::Backward => reaches(self.min_backward, -event.delta()),
            JumpKind::Activated | JumpKind::Deactivated => self.clock_changes,
        }
    }

    pub(crate) fn check(self) -> Result<Self, InvalidFilter> {
        let thresholds = [self.min_forward, self.min_backward];
        if let Some(bad) = thresholds
            .into_iter()
            .flatten()
            .find(|least| *least <= Duration::ZERO)
        {
            return Err(InvalidFilter::NotPositive(bad));
        }
        if self == Self::new() {
            return Err(InvalidFilter::Empty);
        }
        Ok(self)
    }
}
