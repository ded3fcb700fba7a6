//! Playback that follows another clock: a message is due ⇔ that clock has reached its time.
//!
//! The segment is held all the time, and its position moves with the other clock, as far as messages have been
//! sent. What was missed while playback could not run is sent at once, as soon as it can. A jump of the other clock,
//! or a change of its direction, is a jump here.

use crate::player::command::Pace;
use crate::player::level::lead::LeadHandle;
use crate::player::machine::Machine;
use crate::time::{Ros, Segment, Speed, Steady, Time};

/// The clock that is followed.
#[derive(Debug)]
pub(crate) struct Followed {
    handle: LeadHandle,
    /// The clock when it was last read: what is decided together is decided by the same value.
    read: Option<Segment>,
    /// The generation and direction of it to which playback has jumped.
    joined: Option<(u64, bool)>,
    /// Where playback has begun to follow it since.
    joined_at: Option<Time<Ros>>,
    /// Whether playback has left the clock: it joins where the clock is then. After a jump of the clock it begins where
    /// the clock jumped to, so that nothing after that is missed.
    has_left: bool,
}

impl Followed {
    pub(crate) fn new(handle: LeadHandle) -> Self {
        Self {
            handle,
            read: None,
            joined: None,
            joined_at: None,
            has_left: false,
        }
    }

    /// How to set the clock.
    pub(crate) fn handle(&self) -> &LeadHandle {
        &self.handle
    }

    /// Playback is not where the clock is any more; it jumps there as soon as it plays.
    pub(crate) fn leave(&mut self) {
        (self.joined, self.has_left) = (None, true);
    }

    /// Whether the clock has reached `t`, or the instant at which it will; `None` if that is not known.
    fn reaches(&self, t: Time<Ros>, now: Time<Steady>) -> Option<Time<Steady>> {
        let lead = self.read?;
        if lead.is_before(lead.position(now), t) {
            lead.wall_at(t)
        } else {
            Some(now)
        }
    }
}

impl Machine {
    /// Whether the pace is that of another clock.
    pub(crate) fn is_following(&self) -> bool {
        self.pace == Pace::Follow
    }

    /// The handle of the clock that is followed.
    pub fn lead(&self) -> LeadHandle {
        self.followed.handle().clone()
    }

    /// Reads the clock that is followed, and jumps if it has jumped.
    pub(crate) fn read_lead(&mut self, now: Time<Steady>) {
        let is_following = self.is_following();
        let read = is_following.then(|| self.followed.handle.read()).flatten();
        self.followed.read = read.map(|(lead, _)| lead);
        let is_unknown = is_following && self.followed.read.is_none();
        self.conditions.lacks_lead(is_unknown);
        let Some((lead, began)) = read else {
            return;
        };
        if !self.conditions.wants_to_play() {
            return;
        }
        let joined = Some((lead.generation(), lead.speed().is_reverse()));
        if self.followed.joined == joined {
            return;
        }
        self.followed.joined = joined;
        let speed = if lead.speed().is_reverse() {
            Speed::NORMAL.reversed()
        } else {
            Speed::NORMAL
        };
        let to = if std::mem::take(&mut self.followed.has_left) {
            lead.position(now)
        } else {
            began
        };
        self.followed.joined_at = Some(to);
        let turned = self.held(now).with_speed(speed, now);
        self.jump(turned.seek(to), now);
    }

    /// Moves the position with the clock that is followed, but never past a message that has not been sent.
    pub(crate) fn move_with_lead(&mut self, now: Time<Steady>) {
        if !(self.is_following() && self.may_play() && self.is_ready()) {
            return;
        }
        let Some(lead) = self.followed.read else {
            return;
        };
        let segment = self.segment();
        let reached = segment.nearer(lead.position(now), segment.limit());
        let to = self
            .reader
            .next()
            .map_or(reached, |next| segment.nearer(reached, next));
        let moved = segment.advance_to(to, now);
        if moved != segment {
            self.report.covered_to(moved.position(now));
            self.change_to(moved, now);
        }
    }

    /// Whether the clock that is followed has passed the exit edge, or has moved up to it. One that stands there from
    /// the start may be about to run in the other direction.
    pub(crate) fn lead_has_passed_the_end(&self, now: Time<Steady>) -> bool {
        let (segment, lead) = (self.segment(), self.followed.read);
        let is_behind = lead.is_some_and(|it| segment.is_before(segment.exit(), it.position(now)));
        let began = self.followed.joined_at;
        is_behind || began.is_some_and(|began| segment.is_before(began, segment.exit()))
    }

    /// The instant at which the followed clock was or will be at `t`; `None` if it is not known.
    pub(crate) fn lead_is_at(&self, t: Time<Ros>) -> Option<Time<Steady>> {
        self.followed.read.and_then(|lead| lead.wall_at(t))
    }

    /// The instant at which the followed clock reaches `t`; `None` if it is not known, or while playback is held.
    pub(crate) fn lead_reaches(&self, t: Time<Ros>, now: Time<Steady>) -> Option<Time<Steady>> {
        self.may_play().then(|| self.followed.reaches(t, now))?
    }
}
