//! Topics that are not heard: muting, and what a topic is given when it is heard again.
//!
//! Messages of a muted topic are taken in their turn, so that position and clock are what they would be
//! without, but they are not handed out. A topic that is heard again *rejoins*: it is given what a late
//! joiner would be at the position, found by a look that reads this topic alone. Nothing else goes out
//! meanwhile, so that nothing old follows something newer; a jump begins the look again, or ends it if it
//! refills by itself.

use std::collections::VecDeque;

use super::Machine;
use crate::bag::{Cue, CueAt, CuePoll, Cued, StartAt, TopicId};
use crate::output::Output;
use crate::time::{Duration, Steady, Time, TimeRange};

/// The topics that are to be given what a late joiner would be.
#[derive(Debug, Default)]
pub(super) struct Rejoins {
    waiting: VecDeque<TopicId>,
    /// One at a time: each is a thread and a share of the read-ahead's bytes.
    look: Option<(TopicId, Cue)>,
}

impl Rejoins {
    pub(super) fn are_left(&self) -> bool {
        self.look.is_some() || !self.waiting.is_empty()
    }

    /// Playback is elsewhere: what was found there is not wanted, nor is anything if all is refilled.
    pub(super) fn jumped(&mut self, is_refilled: bool) {
        let begun = self.look.take().map(|(topic, _)| topic);
        if is_refilled {
            self.waiting.clear();
        } else if let Some(topic) = begun {
            self.waiting.push_front(topic);
        }
    }

    fn forget(&mut self, topic: TopicId) {
        self.waiting.retain(|waiting| *waiting != topic);
        self.look.take_if(|(looked, _)| *looked == topic);
    }
}

impl Machine {
    pub(super) fn mute(&mut self, topic: TopicId) {
        self.report.tally.set_muted(topic, true);
        self.rejoins.forget(topic);
    }

    pub(super) fn unmute(&mut self, topic: TopicId) {
        if self.report.tally.is_muted(topic) {
            self.report.tally.set_muted(topic, false);
            self.rejoins.waiting.push_back(topic);
        }
    }

    /// Sends what topics that are heard again would have; `true` if there is more to do at once.
    pub(super) fn rejoins(&mut self, now: Time<Steady>, out: &mut dyn Output) -> bool {
        if self.rejoins.look.is_none() {
            let Some(topic) = self.rejoins.waiting.pop_front() else {
                return false;
            };
            let cue = self.reader.look(self.rejoin_at(topic, now));
            self.rejoins.look = Some((topic, cue));
        }
        let found = self.rejoins.look.as_mut().map(|(_, cue)| cue.poll());
        match found {
            Some(CuePoll::Item(Cued::Refill(message))) => self.refill(&message, out),
            Some(CuePoll::Item(Cued::Damage(damage))) => self.report.damaged_one(damage),
            Some(CuePoll::Item(Cued::Message(_)) | CuePoll::End) => self.rejoins.look = None,
            Some(CuePoll::Pending) | None => return false,
        }
        true
    }

    /// A look for refills alone: it walks an empty range.
    fn rejoin_at(&self, topic: TopicId, now: Time<Steady>) -> CueAt {
        let here = self.here(now);
        let (from, behind) = if self.segment.speed().is_reverse() {
            (StartAt::At(here), 1)
        } else {
            // What was taken at this very time is behind, what was not comes in its turn.
            (self.last.map_or(StartAt::At(here), StartAt::After), -1)
        };
        let behind = from.time().saturating_add(Duration::from_nanos(behind));
        CueAt {
            range: TimeRange::between(behind, behind),
            refill: true,
            only: Some(topic),
            ..self.cue_at(from)
        }
    }
}
