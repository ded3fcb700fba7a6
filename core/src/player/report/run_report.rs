//! [`Report`]: what a run did, counted while it ran.

use super::counts::{Tally, TopicCounts};
use super::digest::Digest;
use super::lateness::Lateness;
use crate::bag::{Damage, KnownDamage, Message, TopicId};
use crate::output::Delivery;
use crate::player::command::State;
use crate::time::{Duration, Ros, Steady, Time};

/// How long playback was held, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeldTimes {
    /// The read-ahead was empty.
    pub starved: Duration,
    /// A gate was closed.
    pub gated: Duration,
    /// It was paused by a command.
    pub paused: Duration,
    /// A send blocked, or the process did not run.
    pub stalled: Duration,
}

/// What a run did.
#[derive(Clone, Debug)]
pub struct Report {
    /// Messages sent in their turn, on all topics.
    pub sent: u64,
    /// Payload bytes of those messages.
    pub bytes: u64,
    /// How late those messages were.
    pub lateness: Lateness,
    /// How long playback was held.
    pub held: HeldTimes,
    /// New generations: seeks, reversals, laps, skipped gaps.
    pub jumps: u64,
    /// How often the range was started again at its end.
    pub laps: u64,
    /// The digest of the messages that were due; `None` unless requested.
    pub digest: Option<Digest>,
    /// Log time covered while playing.
    pub covered: Duration,
    /// Wall time spent playing, and wall time held for reasons other than a pause.
    pub played: Duration,
    /// Whether the exit edge was reached; `false` if the run was stopped before it.
    pub reached_end: bool,
    tally: Tally,
    known: KnownDamage,
    /// The damage that was logged: of each kind in each file the first that was met.
    logged: Vec<Damage>,
    /// Up to where the log time covered has been counted.
    counted_to: Time<Ros>,
    since: Option<(State, Time<Steady>)>,
    has_played: bool,
}

impl Report {
    /// An empty report. Damage that is met is added to what is `known`.
    pub(crate) fn new(topics: usize, digest: Option<Digest>, known: KnownDamage) -> Self {
        Self {
            sent: 0,
            bytes: 0,
            lateness: Lateness::new(),
            held: HeldTimes::default(),
            jumps: 0,
            laps: 0,
            digest,
            covered: Duration::ZERO,
            played: Duration::ZERO,
            reached_end: false,
            tally: Tally::new(topics),
            known,
            logged: Vec::new(),
            counted_to: Time::MIN,
            since: None,
            has_played: false,
        }
    }

    /// All damaged places of the recording that are known, also those that another reader has found: of each kind in
    /// each file the first one, and how many there are. The sum is [`Report::damaged`].
    pub fn damage(&self) -> Vec<(Damage, u64)> {
        self.known.kinds()
    }

    /// How many damaged places of the recording are known. Each counts once.
    pub fn damaged(&self) -> u64 {
        self.known.count()
    }

    /// What was sent on each topic: one row per topic of the bag.
    pub fn topics(&self) -> Vec<TopicCounts> {
        self.tally.counts()
    }

    /// The counts by topic, to be read by other threads.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Whether the bag has this topic.
    pub(crate) fn knows(&self, topic: TopicId) -> bool {
        self.tally.row(topic).is_some()
    }

    /// Whether a topic is muted.
    #[inline]
    pub(crate) fn is_muted(&self, topic: TopicId) -> bool {
        self.tally.is_muted(topic)
    }

    /// Mutes a topic, or unmutes it.
    pub(crate) fn set_muted(&self, topic: TopicId, is_muted: bool) {
        self.tally.set_muted(topic, is_muted);
    }

    /// Playback has moved on to `reached`, in either direction.
    #[inline]
    pub(crate) fn covered_to(&mut self, reached: Time<Ros>) {
        let span = reached.saturating_since(self.counted_to).saturating_abs();
        self.covered = self.covered.saturating_add(span);
        self.counted_to = reached;
    }

    /// Playback continues at `position`; what lies between does not count as covered.
    pub(crate) fn continue_at(&mut self, position: Time<Ros>) {
        self.counted_to = position;
    }

    /// Playback has jumped this many times.
    pub(crate) fn jumped(&mut self, jumps: u64) {
        self.jumps += jumps;
    }

    /// Playback was held up for `lost`, by a send or because the process did not run.
    pub(crate) fn stalled(&mut self, lost: Duration) {
        self.held.stalled = self.held.stalled.saturating_add(lost);
    }

    /// Log time covered per wall time spent; `None` before anything has been played.
    pub fn achieved_rate(&self) -> Option<f64> {
        (self.played > Duration::ZERO && self.covered > Duration::ZERO)
            .then(|| self.covered.as_secs_f64() / self.played.as_secs_f64())
    }

    /// A message was sent in its turn, `late` after it was due; `None` if it had no schedule.
    #[inline]
    pub(crate) fn sent_one(
        &mut self,
        message: &Message,
        delivery: &Delivery,
        late: Option<Duration>,
    ) {
        let Some(counts) = self.tally.row(message.topic) else {
            return;
        };
        match delivery {
            Delivery::Sent | Delivery::Transcoded(_) => {
                let bytes = message.payload.len() as u64;
                counts.sent.add(1);
                counts.bytes.add(bytes);
                (self.sent, self.bytes) = (self.sent + 1, self.bytes + bytes);
            }
            Delivery::Dropped => counts.dropped.add(1),
        }
        if late.is_some_and(|late| self.lateness.add(late)) {
            counts.late.add(1);
        }
    }

    /// A message of `topic` was sent that counts for the digest, unless it belongs to a later lap.
    #[inline]
    pub(crate) fn digest_one(&mut self, topic: Option<&str>, message: &Message) {
        if let (Some(digest), 0, Some(topic)) = (&mut self.digest, self.laps, topic) {
            digest.add(topic, message);
        }
    }

    /// A message of a muted topic was not sent.
    pub(crate) fn muted_one(&self, message: &Message) {
        if let Some(counts) = self.tally.row(message.topic) {
            counts.muted.add(1);
        }
    }

    /// A latched message was to be sent again.
    pub(crate) fn refilled_one(&self, message: &Message, delivery: &Delivery) {
        let Some(counts) = self.tally.row(message.topic) else {
            return;
        };
        match delivery {
            Delivery::Sent | Delivery::Transcoded(_) => counts.refilled.add(1),
            Delivery::Dropped => counts.dropped.add(1),
        }
    }

    /// A place in the recording could not be read. The first one of its kind in each file is logged.
    pub(crate) fn damaged_one(&mut self, damage: &Damage) {
        self.known.add(damage);
        let is_alike = |one: &Damage| one.kind == damage.kind && one.file == damage.file;
        if !self.logged.iter().any(is_alike) {
            tracing::warn!("{damage}");
            self.logged.push(damage.clone());
        }
    }

    /// Enters `state` at `now` and counts the time since the last change for the state before.
    pub(crate) fn enter(&mut self, state: State, now: Time<Steady>) {
        if let Some((before, since)) = self.since {
            if before == state {
                return;
            }
            let span = now.saturating_since(since);
            match before {
                State::Paused => self.held.paused = self.held.paused.saturating_add(span),
                State::Gated => self.held.gated = self.held.gated.saturating_add(span),
                // The first fill of the read-ahead does not count as starved.
                State::Starved if self.has_played => {
                    self.held.starved = self.held.starved.saturating_add(span);
                }
                State::Playing
                | State::Starved
                | State::Stalled
                | State::Ended
                | State::Stopped => {}
            }
            let counts = match before {
                State::Playing | State::Stalled => true,
                State::Starved | State::Gated => self.has_played,
                State::Paused | State::Ended | State::Stopped => false,
            };
            if counts {
                self.played = self.played.saturating_add(span);
            }
        }
        self.has_played |= state == State::Playing;
        self.since = Some((state, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::DamageKind;

    /// After a jump, and in the next lap, a place is met again; another reader may have met it before.
    #[test]
    fn a_damaged_place_counts_once() {
        let known = KnownDamage::default();
        let damage = |offset, kind| Damage {
            file: "x.mcap".into(),
            offset,
            kind,
            detail: String::new(),
        };
        known.add(&damage(8, DamageKind::Checksum));
        let mut report = Report::new(0, None, known.clone());
        for offset in [8, 8, 9, 8] {
            report.damaged_one(&damage(offset, DamageKind::Checksum));
        }
        report.damaged_one(&damage(8, DamageKind::UnknownChannel));
        let counts: Vec<_> = report
            .damage()
            .iter()
            .map(|(it, n)| (it.kind, *n))
            .collect();
        let due = [(DamageKind::Checksum, 2), (DamageKind::UnknownChannel, 1)];
        assert_eq!((report.damaged(), counts), (3, due.to_vec()));
        known.add(&damage(10, DamageKind::Checksum));
        assert_eq!(report.damaged(), 4);
    }
}
