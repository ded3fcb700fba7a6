//! [`Report`]: what a run did, counted while it ran.

use hdrhistogram::Histogram;

use super::command::{LATE, State};
use super::counts::{Tally, TopicCounts};
use super::digest::Digest;
use crate::bag::{Damage, Message};
use crate::output::Delivery;
use crate::time::{Duration, Steady, Time};

/// How long playback stood, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeldTimes {
    /// The read-ahead was empty.
    pub starved: Duration,
    /// A gate was closed.
    pub gated: Duration,
    /// It was asked to.
    pub paused: Duration,
    /// A send blocked, or the process was kept from running.
    pub stalled: Duration,
}

/// What a run did.
#[derive(Clone, Debug)]
pub struct Report {
    /// Messages sent in their turn, all topics.
    pub sent: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Those of them that were late.
    pub late: u64,
    /// How long after its instant each message went out, in nanoseconds of wall time.
    pub lateness: Histogram<u64>,
    /// How long playback stood.
    pub held: HeldTimes,
    /// New generations: seeks, reversals, laps, skipped gaps.
    pub jumps: u64,
    /// Times that the range was begun again at its end.
    pub laps: u64,
    /// Damaged places met: of each kind in each file the first, and how many there were.
    pub damage: Vec<(Damage, u64)>,
    /// How many damaged places were met in all.
    pub damaged: u64,
    /// What was due, summed up; `None` unless it was asked for.
    pub digest: Option<Digest>,
    /// Log time covered while playing.
    pub covered: Duration,
    /// Wall time spent playing or kept from it, pauses not counted.
    pub played: Duration,
    /// Whether the exit edge was reached; else it was stopped on the way.
    pub reached_end: bool,
    pub(super) tally: Tally,
    since: Option<(State, Time<Steady>)>,
    has_played: bool,
}

impl Report {
    /// Nothing done yet.
    pub(super) fn new(topics: usize, digest: Option<Digest>) -> Self {
        Self {
            sent: 0,
            bytes: 0,
            late: 0,
            // An hour late is as late as it gets; three digits.
            lateness: Histogram::new_with_bounds(1, 3_600_000_000_000, 3)
                .expect("bounds are valid"),
            held: HeldTimes::default(),
            jumps: 0,
            laps: 0,
            damage: Vec::new(),
            damaged: 0,
            digest,
            covered: Duration::ZERO,
            played: Duration::ZERO,
            reached_end: false,
            tally: Tally::new(topics),
            since: None,
            has_played: false,
        }
    }

    /// What went out on each topic: one row a topic of the bag.
    pub fn topics(&self) -> Vec<TopicCounts> {
        self.tally.counts()
    }

    /// Log time covered per wall time spent; `None` before anything has been played.
    pub fn achieved_rate(&self) -> Option<f64> {
        (self.played > Duration::ZERO && self.covered > Duration::ZERO)
            .then(|| self.covered.as_secs_f64() / self.played.as_secs_f64())
    }

    /// A message went out in its turn, `late` after its instant if that is known.
    pub(super) fn sent_one(
        &mut self,
        message: &Message,
        delivery: Delivery,
        late: Option<Duration>,
    ) {
        let Some(counts) = self.tally.row(message.topic) else {
            return;
        };
        match delivery {
            Delivery::Sent => {
                let bytes = message.payload.len() as u64;
                counts.sent.add(1);
                counts.bytes.add(bytes);
                (self.sent, self.bytes) = (self.sent + 1, self.bytes + bytes);
            }
            Delivery::Dropped => counts.dropped.add(1),
        }
        if let Some(late) = late {
            if late > LATE {
                counts.late.add(1);
                self.late += 1;
            }
            self.lateness
                .saturating_record(u64::try_from(late.as_nanos()).unwrap_or(0));
        }
    }

    /// A message of a muted topic was not handed out.
    pub(super) fn muted_one(&self, message: &Message) {
        if let Some(counts) = self.tally.row(message.topic) {
            counts.muted.add(1);
        }
    }

    /// A latched message went out again.
    pub(super) fn refilled_one(&self, message: &Message) {
        if let Some(counts) = self.tally.row(message.topic) {
            counts.refilled.add(1);
        }
    }

    /// A place in the recording could not be read.
    pub(super) fn damaged_one(&mut self, damage: Damage) {
        self.damaged += 1;
        let is_alike = |(first, _): &&mut (Damage, u64)| {
            first.kind == damage.kind && first.file == damage.file
        };
        if let Some((_, count)) = self.damage.iter_mut().find(is_alike) {
            *count += 1;
            return;
        }
        tracing::warn!("{damage}");
        self.damage.push((damage, 1));
    }

    /// Playback is in `state` since now: the span before goes to the state before.
    pub(super) fn enter(&mut self, state: State, now: Time<Steady>) {
        if let Some((before, since)) = self.since {
            if before == state {
                return;
            }
            let span = now.saturating_since(since);
            match before {
                State::Paused => self.held.paused = self.held.paused.saturating_add(span),
                State::Gated => self.held.gated = self.held.gated.saturating_add(span),
                // Filling the read-ahead for the first time is not starving.
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
