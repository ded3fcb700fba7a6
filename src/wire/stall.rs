//! Who was waited for: brings together a put that took too long and the link that zenoh closed for it.
//!
//! The put returns and the link is reported closed on different threads, in either order.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long after the one the other still belongs to it.
const TOGETHER: Duration = Duration::from_secs(2);

/// The half that came first.
#[derive(Debug, Default)]
pub(super) struct Stall(Mutex<Halves>);

#[derive(Debug, Default)]
struct Halves {
    closed: Option<(String, Instant)>,
    waited: Option<(String, Duration, Instant)>,
}

impl Stall {
    /// The link to session `zid` closed. The topic and waiting time of the put that waited for it, if known.
    pub(super) fn closed(&self, now: Instant, zid: &str) -> Option<(String, Duration)> {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((topic, waited, at)) = halves.waited.take()
            && now.saturating_duration_since(at) < TOGETHER
        {
            return Some((topic, waited));
        }
        halves.closed = Some((zid.to_owned(), now));
        None
    }

    /// A put on `topic` took `waited`, until `now`. The session whose link closed meanwhile, if known.
    pub(super) fn waited(&self, now: Instant, topic: &str, waited: Duration) -> Option<String> {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((zid, at)) = halves.closed.take()
            && now.saturating_duration_since(at) < waited
        {
            return Some(zid);
        }
        halves.waited = Some((topic.to_owned(), waited, now));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::now::steady;
    use super::*;

    #[test]
    fn the_halves_meet_in_either_order() {
        let (stall, t) = (Stall::default(), steady());
        let (ms, s) = (Duration::from_millis(1), Duration::from_secs(5));
        assert_eq!(stall.closed(t, "a"), None);
        assert_eq!(stall.waited(t + ms, "/x", s).as_deref(), Some("a"));
        assert_eq!(stall.waited(t, "/y", s), None);
        assert_eq!(stall.closed(t + ms, "b"), Some(("/y".to_owned(), s)));
    }

    #[test]
    fn halves_far_apart_do_not_belong_together() {
        let (stall, t) = (Stall::default(), steady());
        let s = Duration::from_secs(5);
        assert_eq!(stall.closed(t, "a"), None);
        assert_eq!(stall.waited(t + 2 * s, "/x", s), None);
        assert_eq!(stall.closed(t + 3 * s, "b"), None);
    }
}
