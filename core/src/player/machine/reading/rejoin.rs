//! Muted topics, and what a topic is sent when it is unmuted. Used by the machine.
//!
//! Messages of a muted topic are taken in their turn, so that position and clock do not depend on muting, but
//! they are not given to the output. A topic that is unmuted *rejoins*: it is sent its latched state at the
//! position, which a cue that reads this topic alone finds. Nothing else is sent meanwhile, so that no older
//! message follows a newer one. A jump starts that search again, or cancels it if the jump sends refills
//! itself.

use std::collections::VecDeque;

use crate::bag::{Cue, CueAt, CuePoll, Cued, StartAt, TopicId};
use crate::output::Output;
use crate::player::machine::Machine;
use crate::time::{Duration, Steady, Time, TimeRange};

/// The topics whose latched state is still to be sent.
#[derive(Debug, Default)]
pub(crate) struct Rejoins {
    waiting: VecDeque<TopicId>,
    /// One at a time: each needs a thread and a share of the bytes of the read-ahead.
    search: Option<(TopicId, Cue)>,
}

impl Rejoins {
    pub(crate) fn are_left(&self) -> bool {
        self.search.is_some() || !self.waiting.is_empty()
    }

    /// Playback has jumped: the search starts again at the new position. If the jump refills all topics, none
    /// is needed.
    pub(crate) fn jumped(&mut self, is_refilled: bool) {
        let begun = self.search.take().map(|(topic, _)| topic);
        if is_refilled {
            self.waiting.clear();
        } else if let Some(topic) = begun {
            self.waiting.push_front(topic);
        }
    }

    fn forget(&mut self, topic: TopicId) {
        self.waiting.retain(|waiting| *waiting != topic);
        self.search.take_if(|(searched, _)| *searched == topic);
    }
}

impl Machine {
    pub(crate) fn mute(&mut self, topic: TopicId) {
        self.report.set_muted(topic, true);
        self.rejoins.forget(topic);
    }

    pub(crate) fn unmute(&mut self, topic: TopicId) {
        if self.report.is_muted(topic) {
            self.report.set_muted(topic, false);
            self.rejoins.waiting.push_back(topic);
        }
    }

    /// Sends the latched state of topics that were unmuted; `true` if there is more to do at once.
    pub(crate) fn rejoin(&mut self, now: Time<Steady>, out: &mut dyn Output) -> bool {
        if self.rejoins.search.is_none() {
            let Some(topic) = self.rejoins.waiting.pop_front() else {
                return false;
            };
            let cue = self.reader.search(self.rejoin_at(topic, now));
            self.rejoins.search = Some((topic, cue));
        }
        let found = self.rejoins.search.as_mut().map(|(_, cue)| cue.poll());
        match found {
            Some(CuePoll::Item(Cued::Refill(message))) => self.refill(&message, out),
            Some(CuePoll::Item(Cued::Damage(damage))) => self.report.damaged_one(&damage),
            Some(CuePoll::Item(Cued::Message(_)) | CuePoll::End) => self.rejoins.search = None,
            Some(CuePoll::Pending) | None => return false,
        }
        true
    }

    /// A cue for refills alone: its range contains no messages.
    fn rejoin_at(&self, topic: TopicId, now: Time<Steady>) -> CueAt {
        let here = self.here(now);
        let (from, behind) = if self.segment().speed().is_reverse() {
            (StartAt::At(here), 1)
        } else {
            // Messages taken at this very time count as played; those not taken yet come in their turn.
            (
                self.played
                    .taken()
                    .map_or(StartAt::At(here), StartAt::After),
                -1,
            )
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
