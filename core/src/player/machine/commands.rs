//! How the machine takes commands, and the longer operations behind them: jumps and skipped gaps.
//!
//! A command only sets where to read and what to do; the next `advance` does it. So several seeks in a row
//! start only one cue.

use super::Machine;
use super::answers::Ticket;
use crate::bag::{CueAt, StartAt, TopicId};
use crate::player::command::{ClockMode, Command, Pace};
use crate::player::options::Control;
use crate::player::outcome::{Outcome, Refusal, Short};
use crate::player::played_range::PlayedRange;
use crate::time::{Ros, Segment, Speed, Steady, Time, TimeRange};

/// When the outcome of a command is known.
pub(super) enum Taken {
    /// Now.
    Known(Outcome),
    /// When the jump to this time has taken effect.
    Jumped(Time<Ros>),
    /// The same, for a jump that follows from another range to play.
    Ranged(Time<Ros>),
    /// When the steps have been made.
    Steps,
}

const DONE: Taken = Taken::Known(Outcome::Done);

impl Machine {
    /// Takes a command; its effects happen in the next calls of [`Machine::advance`]. After [`Command::Stop`],
    /// and once the run is over, commands change nothing.
    pub fn apply(&mut self, command: Command, now: Time<Steady>) {
        self.take(command, None, now);
    }

    /// The same; [`Machine::answer`] returns the outcome with this ticket as soon as it is known, after one of the
    /// next calls of [`Machine::advance`] at the latest if nothing has to be read.
    pub fn ask(&mut self, command: Command, ticket: Ticket, now: Time<Steady>) {
        self.take(command, Some(ticket), now);
    }

    fn take(&mut self, command: Command, ticket: Option<Ticket>, now: Time<Steady>) {
        if self.conditions.course().is_over() {
            self.answers.give(ticket, Outcome::Refused(Refusal::Over));
            return;
        }
        if let Some(refusal) = self.refusal(command) {
            self.answers.give(ticket, Outcome::Refused(refusal));
            return;
        }
        self.read_gates();
        self.make_up_for_stall(now);
        self.move_with_lead(now);
        match self.carry_out(command, ticket, now) {
            Taken::Known(outcome) => self.answers.give(ticket, outcome),
            Taken::Jumped(at) => self.answers.await_jump(ticket, at, false),
            Taken::Ranged(at) => self.answers.await_jump(ticket, at, true),
            Taken::Steps => {}
        }
    }

    /// Why a command is refused, wherever playback is.
    fn refusal(&self, command: Command) -> Option<Refusal> {
        match (self.options.control, command) {
            (_, Command::Query | Command::Stop) => None,
            (Control::StopOnly, _) => Some(Refusal::NotDrivable),
            (Control::Full, Command::ServeClock(_) | Command::EndClock)
                if matches!(self.clock.mode(), ClockMode::WithMessages(_)) =>
            {
                Some(Refusal::ClockWithMessages)
            }
            (Control::Full, _) if self.is_following() => self.refusal_while_following(command),
            (Control::Full, Command::SetPace(Pace::Max)) => self.refusal_without_messages(),
            (Control::Full, Command::Step(_) | Command::StepTopic(..) | Command::Burst(_)) => {
                self.refusal_without_messages()
            }
            (Control::Full, _) => None,
        }
    }

    fn refusal_without_messages(&self) -> Option<Refusal> {
        (!self.report.knows(TopicId(0))).then_some(Refusal::NoMessages)
    }

    /// Why a player that follows another clock refuses a command: what it would change is decided by that clock. One
    /// that was paused before it followed the clock can be told to play.
    fn refusal_while_following(&self, command: Command) -> Option<Refusal> {
        let is_refused = match command {
            Command::Mute(_)
            | Command::Unmute(_)
            | Command::SetPace(Pace::Follow)
            | Command::Query
            | Command::Stop => false,
            Command::Play | Command::PlayAt(_) | Command::Pause | Command::Toggle => {
                !self.conditions.is_to_pause()
            }
            Command::SetPace(Pace::At(_) | Pace::Max)
            | Command::Seek(_)
            | Command::SeekBy(_)
            | Command::Step(_)
            | Command::Burst(_)
            | Command::StepTopic(..)
            | Command::PlayUntil(_)
            | Command::PlayFor(_)
            | Command::PlayFrom { .. }
            | Command::SetRange(..)
            | Command::SetAtEnd(_)
            | Command::SetLoop(_)
            | Command::EndLoop
            | Command::ServeClock(_)
            | Command::EndClock
            | Command::SkipEmpty(_) => true,
        };
        is_refused.then_some(Refusal::Following)
    }

    fn carry_out(&mut self, command: Command, ticket: Option<Ticket>, now: Time<Steady>) -> Taken {
        match command {
            Command::Toggle if self.conditions.is_to_play() => self.pause(now),
            Command::Play | Command::Toggle => self.play(now),
            Command::PlayAt(instant) => self.schedule.play_at(Some(instant)),
            Command::PlayFrom { from, until } => return self.play_from(from, until, now),
            Command::Pause => self.pause(now),
            Command::SetPace(pace) => self.set_pace(pace, now),
            Command::Seek(to) => return self.seek(to, now),
            Command::SeekBy(span) => {
                let to = self.here(now).saturating_add(span);
                return self.seek(self.options.recording.clamp(to), now);
            }
            Command::Step(n) => return self.steps(None, n, ticket, now),
            Command::Burst(_)
                if self.conditions.is_to_play() && self.conditions.course().is_underway() =>
            {
                return Taken::Known(Outcome::Refused(Refusal::NotPaused));
            }
            Command::Burst(n) => {
                let n = i64::try_from(n).unwrap_or(i64::MAX);
                return self.steps(None, n, ticket, now);
            }
            Command::StepTopic(topic, n) => return self.steps(Some(topic), n, ticket, now),
            Command::PlayUntil(stop) => return self.play_until(stop, now),
            Command::PlayFor(span) => {
                let span = if self.segment().speed().is_reverse() {
                    -span
                } else {
                    span
                };
                return self.play_until(self.here(now).saturating_add(span), now);
            }
            Command::SetRange(range, at_end) => {
                let range = self.within_recording(range);
                let at_end = at_end.unwrap_or(self.position.played().at_end);
                return self.play_range(PlayedRange::new(range, at_end), now);
            }
            Command::SetLoop(range) => {
                let played = PlayedRange {
                    ab_loop: Some(self.within_recording(range)),
                    ..self.position.played()
                };
                return self.play_range(played, now);
            }
            Command::EndLoop => return self.end_loop(now),
            Command::SetAtEnd(at_end) => {
                let segment = self.position.end_with(at_end);
                self.change_to(segment, now);
            }
            Command::Mute(topic) | Command::Unmute(topic) if !self.report.knows(topic) => {
                return Taken::Known(Outcome::Refused(Refusal::UnknownTopic));
            }
            Command::Mute(topic) => self.mute(topic),
            Command::Unmute(topic) => self.unmute(topic),
            Command::ServeClock(period) => self.clock.ask(Some(period)),
            Command::EndClock => self.clock.ask(None),
            Command::SkipEmpty(longest) => self.options.skip_empty = longest,
            Command::Query => {}
            Command::Stop => {
                self.conditions.course_mut().stop();
                self.steps.cancel(Short::Over, &mut self.answers);
                self.answers.refuse_jumps(Refusal::Over);
            }
        }
        DONE
    }

    /// Steps forward or back; refused while the connection to the network is lost, because what is sent then is
    /// lost.
    fn steps(
        &mut self,
        topic: Option<TopicId>,
        n: i64,
        ticket: Option<Ticket>,
        now: Time<Steady>,
    ) -> Taken {
        if self.conditions.gates().refuses_steps() {
            return Taken::Known(Outcome::Refused(Refusal::NoPath));
        }
        self.step(topic, n, ticket, now);
        Taken::Steps
    }

    pub(super) fn play(&mut self, now: Time<Steady>) {
        self.schedule.play_at(None);
        if self.conditions.course().is_ended() {
            let start = self.options.start.unwrap_or(self.segment().entry());
            self.jump(self.segment().seek(start), now);
        }
        self.steps.cancel(Short::Replaced, &mut self.answers);
        self.conditions.play();
        self.followed.leave();
    }

    fn pause(&mut self, now: Time<Steady>) {
        self.steps.cancel(Short::Replaced, &mut self.answers);
        self.stand(now);
    }

    pub(super) fn stand(&mut self, now: Time<Steady>) {
        self.schedule.play_at(None);
        self.conditions.pause();
        self.change_to(self.held(now), now);
    }

    fn set_pace(&mut self, pace: Pace, now: Time<Steady>) {
        let speed = match pace {
            Pace::At(speed) => speed,
            Pace::Max => Speed::NORMAL,
            Pace::Follow => {
                self.schedule.play_at(None);
                self.steps.cancel(Short::Replaced, &mut self.answers);
                // No command could end the loop then.
                self.end_loop(now);
                self.change_to(self.held(now).play_until(None, now), now);
                self.followed.leave();
                self.pace = pace;
                return;
            }
        };
        self.pace = pace;
        if speed.is_reverse() == self.segment().speed().is_reverse() {
            self.change_to(self.re_anchored(now).with_speed(speed, now), now);
        } else {
            let turned = self.held(now).with_speed(speed, now);
            self.read_from(StartAt::At(turned.position(now)), turned, now, false);
        }
    }

    /// Seeks within the recording. A target outside the range extends the range to that edge of the recording. If the
    /// target is outside the recording, what is read begins there all the same: behind its end there is nothing.
    fn seek(&mut self, target: Time<Ros>, now: Time<Steady>) -> Taken {
        self.seeks += 1;
        let to = self.options.recording.clamp(target);
        let played = self.position.played();
        let played = played.reaching(to, self.options.recording);
        let segment = self.position.play_range(played, to);
        self.read_from(StartAt::At(target), segment, now, self.options.refill);
        Taken::Jumped(to)
    }

    /// Plays another range; the position is clamped into it. Without a change nothing jumps.
    fn play_range(&mut self, played: PlayedRange, now: Time<Steady>) -> Taken {
        if played == self.position.played() {
            return DONE;
        }
        let here = self.here(now);
        let segment = self.position.play_range(played, here);
        let at = segment.position(now);
        self.jump(segment, now);
        Taken::Ranged(at)
    }

    fn end_loop(&mut self, now: Time<Steady>) -> Taken {
        let (played, here) = (self.position.played(), self.here(now));
        if played.ab_loop.is_none() {
            return DONE;
        }
        self.play_range(played.without_loop(here, self.options.recording), now)
    }

    fn within_recording(&self, range: TimeRange) -> TimeRange {
        let all = self.options.recording;
        TimeRange::between(all.clamp(range.start()), all.clamp(range.stop()))
    }

    /// Jumps and plays, at one instant; only for a player that stands.
    fn play_from(&mut self, from: Time<Ros>, until: Option<Time<Ros>>, now: Time<Steady>) -> Taken {
        if self.conditions.is_to_play() {
            return Taken::Known(Outcome::Refused(Refusal::NotPaused));
        }
        let landed = self.seek(from, now);
        match until {
            Some(until) => {
                self.play_until(until, now);
            }
            None => self.play(now),
        }
        landed
    }

    fn play_until(&mut self, stop: Time<Ros>, now: Time<Steady>) -> Taken {
        self.schedule.play_at(None);
        self.steps.cancel(Short::Replaced, &mut self.answers);
        if !self.conditions.course().is_underway() {
            return Taken::Known(Outcome::Refused(Refusal::AtEnd));
        }
        self.change_to(self.re_anchored(now).play_until(Some(stop), now), now);
        self.conditions.play();
        DONE
    }

    /// Jumps over a gap that is longer than the option allows. The cue stays: the next message is already read.
    pub(super) fn skips_gap(&mut self, now: Time<Steady>) -> bool {
        let Some(longest) = self.options.skip_empty else {
            return false;
        };
        if !self.may_play() || !self.is_ready() || self.is_following() {
            return false;
        }
        let (limit, here) = (self.segment().limit(), self.here(now));
        let to = self
            .reader
            .next()
            .map_or(limit, |next| self.segment().nearer(next, limit));
        if to.saturating_since(here).saturating_abs() <= longest {
            return false;
        }
        let until = self.segment().until();
        self.change_to(self.segment().seek(to).play_until(until, now), now);
        self.clock.owe();
        true
    }

    /// Jumps to where `segment` is; returns where that is.
    pub(super) fn jump(&mut self, segment: Segment, now: Time<Steady>) -> Taken {
        let at = segment.position(now);
        self.read_from(StartAt::At(at), segment, now, self.options.refill);
        Taken::Jumped(at)
    }

    pub(super) fn read_from(
        &mut self,
        from: StartAt,
        segment: Segment,
        now: Time<Steady>,
        refill: bool,
    ) {
        self.change_to(segment, now);
        let cue = CueAt {
            refill,
            ..self.cue_at(from)
        };
        self.reader.jump(cue);
        self.answers.refuse_jumps(Refusal::Replaced);
        self.rejoins.jumped(refill);
        self.steps.cancel(Short::Replaced, &mut self.answers);
        self.played.clear();
        self.conditions.course_mut().jump();
        self.clock.owe();
        self.report.reached_end = false;
    }
}
