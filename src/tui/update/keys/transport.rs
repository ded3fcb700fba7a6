//! Carries out the actions of the transport keys: seeks, steps, loops, marks.

use jiff::Timestamp;

use crate::bag::Direction;
use crate::marks::Mark;
use crate::player::{Command, State};
use crate::time::{AtEnd, Duration, Ros, Time, TimeRange};
use crate::tui::input::goto::{TimeContext, parse_target};
use crate::tui::model::layers::{Layer, Prompt, PromptKind};
use crate::tui::model::parts::{Effect, SeekInput, Target, Undo};
use crate::tui::model::timeline::ab_loop::AbLoop;
use crate::tui::model::{Model, time_format};

/// How many seeks can be undone.
const MAX_UNDO: usize = 100;
/// Seeks by the same key, or by the wheel, that follow each other within this time are undone together.
const UNDO_GROUP: std::time::Duration = std::time::Duration::from_millis(700);
/// How long a mark is the one that was set just now.
const JUST_NOW: std::time::Duration = std::time::Duration::from_secs(10);
/// Within this wall time after passing a mark or the start of a hole, "previous" means the one before it. It is wall
/// time, so that the key works at any rate.
const PREVIOUS_MARGIN: Duration = Duration::from_millis(500);

impl Model {
    pub(crate) fn seek_by(&mut self, millis: i32, stamp: Timestamp) {
        let by = Duration::from_millis(millis.into());
        self.seek(self.playhead().saturating_add(by), stamp);
    }

    pub(crate) fn seek_to_tenth(&mut self, tenth: u8, stamp: Timestamp) {
        let all = self.facts.recording;
        let into = i128::from(all.duration().as_nanos()) * i128::from(tenth) / 10;
        let into = Duration::from_nanos(i64::try_from(into).unwrap_or(i64::MAX));
        self.seek(all.start().saturating_add(into), stamp);
    }

    pub(crate) fn undo_seek(&mut self, stamp: Timestamp) {
        let Some(Undo { to, ab_loop }) = self.history.pop() else {
            return self.log_info("no seek to undo", stamp);
        };
        self.last_seek = None;
        if let Some(range) = ab_loop.filter(|_| self.played.ab_loop.is_none()) {
            self.played.ab_loop = Some(range);
            self.loop_start = None;
            self.send_command(Command::SetLoop(range));
            self.log_info("the loop is set again", stamp);
        }
        self.jump(to, stamp);
    }

    pub(crate) fn step(&mut self, n: i8) {
        self.send_command(Command::Step(n.into()));
    }

    pub(crate) fn step_topic(&mut self, n: i8, stamp: Timestamp) {
        let Some(row) = self.selected_row() else {
            return;
        };
        if row.left_out.is_some() {
            self.log_info("this topic is not played", stamp);
        } else {
            let id = row.id;
            self.send_command(Command::StepTopic(id, n.into()));
        }
    }

    pub(crate) fn play_or_pause(&mut self, stamp: Timestamp) {
        match self.replay_start() {
            Some(entry) => {
                self.jump(entry, stamp);
                self.send_command(Command::Play);
            }
            None => self.send_command(self.play_or_pause_command()),
        }
    }

    /// A player elsewhere may answer late: the key means the opposite of what is shown, however often it is pressed.
    fn play_or_pause_command(&self) -> Command {
        match self.state() {
            _ if !self.facts.is_elsewhere => Command::Toggle,
            State::Paused | State::Ended => Command::Play,
            _ => Command::Pause,
        }
    }

    /// Where to start again if playback is paused at the edge that it plays towards.
    fn replay_start(&self) -> Option<Time<Ros>> {
        let segment = self.status?.segment;
        let is_at_exit = self.state() == State::Paused && self.playhead() == segment.exit();
        (is_at_exit && segment.entry() != segment.exit()).then(|| segment.entry())
    }

    /// Marks that are closer behind the playhead than this are ignored while playing, so that "previous mark" does not
    /// return to the mark that was just passed.
    pub(crate) fn margin_behind_playhead(&self, direction: Direction) -> Duration {
        let Some(status) = self.status.filter(|_| self.state() == State::Playing) else {
            return Duration::ZERO;
        };
        let speed = status.segment.speed();
        if speed.is_reverse() == (direction == Direction::Reverse) {
            let run = PREVIOUS_MARGIN.mul_f64(speed.as_f64().abs());
            run.unwrap_or(Duration::ZERO)
        } else {
            Duration::ZERO
        }
    }

    pub(crate) fn send_command(&mut self, command: Command) {
        self.effects.push(Effect::Command(command));
    }

    /// An input that may seek, `None` if it is never repeated: a seek by another input than the last one is undone by
    /// itself.
    pub(crate) fn begin_input(&mut self, input: Option<SeekInput>) {
        if input.is_none() || self.last_input != input {
            self.last_seek = None;
        }
        self.last_input = input;
        self.sent_cut = None;
    }

    /// Seeks, and records the seek for undo.
    pub(crate) fn seek(&mut self, to: Time<Ros>, stamp: Timestamp) {
        let follows = |last: Timestamp| stamp.duration_since(last).unsigned_abs() < UNDO_GROUP;
        if !self.last_seek.is_some_and(follows) || self.history.is_empty() {
            if self.history.len() == MAX_UNDO {
                self.history.remove(0);
            }
            self.history.push(Undo {
                to: self.playhead(),
                ab_loop: self.played.ab_loop,
            });
        }
        self.last_seek = Some(stamp);
        self.jump(to, stamp);
    }

    /// Seeks. A loop or a played range that does not contain the target is lifted.
    pub(crate) fn jump(&mut self, to: Time<Ros>, stamp: Timestamp) {
        let to = self.facts.recording.clamp(to);
        if self.played.ab_loop.is_none_or(|ab| !ab.contains(to)) {
            if self.played.ab_loop.take().is_some() {
                self.log_info("the loop is cleared", stamp);
                // A seek may be replaced by a later one that leads back into the loop.
                self.send_command(Command::EndLoop);
            }
            self.log_lifted_limit(to, stamp);
        }
        self.target = Some(Target {
            to,
            seek_number: None,
        });
        if let Some(Effect::Command(Command::Seek(_))) = self.effects.last() {
            self.effects.pop();
        }
        self.send_command(Command::Seek(to));
    }

    /// Reports that a seek to `time` lifts a limit of the played range.
    fn log_lifted_limit(&mut self, time: Time<Ros>, stamp: Timestamp) {
        if time < self.played.range.start() {
            self.log_info(
                "from now on the start of the recording is played, too",
                stamp,
            );
        } else if time > self.played.range.stop() {
            self.log_info("from now on the end of the recording is played, too", stamp);
        }
    }

    pub(crate) fn advance_ab_loop(&mut self, stamp: Timestamp) {
        let here = self.playhead();
        match self.ab_loop() {
            AbLoop::None => {
                self.loop_start = Some(here);
                self.log_info(
                    format!(
                        "A at {}; press again for B, or here to clear A",
                        self.elapsed(here)
                    ),
                    stamp,
                );
            }
            AbLoop::A(a) if a == here => {
                self.loop_start = None;
                self.log_info("A is cleared", stamp);
            }
            AbLoop::A(a) => self.loop_between(a, here, stamp),
            AbLoop::Ab(_) => self.clear_ab_loop(here, stamp),
        }
    }

    pub(crate) fn toggle_whole_loop(&mut self, stamp: Timestamp) {
        let (at_end, text) = if self.is_whole_looped() {
            (AtEnd::Hold, "the played range is not repeated")
        } else {
            (AtEnd::Loop, "the played range is repeated")
        };
        self.played.at_end = at_end;
        self.send_command(Command::SetAtEnd(at_end));
        if self.has_ab_loop() {
            let text = format!("when the loop from A to B is cleared, {text}");
            return self.log_info(text, stamp);
        }
        if at_end == AtEnd::Loop && self.state() == State::Ended {
            self.send_command(Command::Play);
        }
        self.log_info(text, stamp);
    }

    /// Loops between two times.
    pub(crate) fn loop_between(&mut self, a: Time<Ros>, b: Time<Ros>, stamp: Timestamp) {
        let range = TimeRange::between(a, b);
        (self.played.ab_loop, self.loop_start) = (Some(range), None);
        self.send_command(Command::SetLoop(range));
        let (a, b) = (self.elapsed(range.start()), self.elapsed(range.stop()));
        self.log_info(format!("loops from A {a} to B {b}"), stamp);
    }

    /// Clears the loop: the range that was played before it is played again, from `here`.
    pub(crate) fn clear_ab_loop(&mut self, here: Time<Ros>, stamp: Timestamp) {
        self.log_info("the loop is cleared", stamp);
        self.log_lifted_limit(here, stamp);
        self.played = self.played.without_loop(here, self.facts.recording);
        self.send_command(Command::EndLoop);
        // It was cleared on purpose: undoing a seek does not set it again.
        for undo in &mut self.history {
            undo.ab_loop = None;
        }
    }

    /// A time as the header shows it: relative to the start of the recording.
    pub(crate) fn elapsed(&self, time: Time<Ros>) -> String {
        time_format::signed(time.saturating_since(self.facts.recording.start()))
    }

    fn mark_at(&self, time: Time<Ros>) -> Option<&Mark> {
        self.marks.iter().find(|mark| mark.time == time)
    }

    pub(crate) fn toggle_mark(&mut self, stamp: Timestamp) {
        let here = self.playhead();
        if self.mark_at(here).is_some() {
            self.remove_mark(here, stamp);
        } else {
            self.set_mark(here, "", stamp);
            self.new_mark = Some((here, stamp));
        }
    }

    /// Removes a mark.
    pub(crate) fn remove_mark(&mut self, time: Time<Ros>, stamp: Timestamp) {
        self.marks.retain(|mark| mark.time != time);
        self.effects.push(Effect::RemoveMark(time));
        self.log_info(format!("mark at {} removed", self.elapsed(time)), stamp);
    }

    pub(crate) fn set_mark(&mut self, time: Time<Ros>, name: &str, stamp: Timestamp) {
        let mark = Mark {
            time,
            name: name.to_owned(),
        };
        self.marks.retain(|known| known.time != time);
        self.marks.push(mark.clone());
        self.marks.sort_by_key(|mark| mark.time);
        self.effects.push(Effect::AddMark(mark));
        let named = if name.is_empty() {
            String::new()
        } else {
            format!(": {name}")
        };
        self.log_info(format!("mark at {}{named}", self.elapsed(time)), stamp);
    }

    /// Asks for the name of the mark at the playhead, or while playing of the mark that was set just now.
    pub(crate) fn ask_for_mark_name(&mut self, stamp: Timestamp) {
        let here = self.playhead();
        let new = self.new_mark.filter(|(time, since)| {
            let age = stamp.duration_since(*since).unsigned_abs();
            age < JUST_NOW && self.state() == State::Playing && self.mark_at(*time).is_some()
        });
        let time = match new {
            Some((time, _)) if self.mark_at(here).is_none() => time,
            _ => here,
        };
        let name = self
            .mark_at(time)
            .map_or_else(String::new, |mark| mark.name.clone());
        let mut prompt = Prompt::new(PromptKind::MarkName(time), &name);
        if time != here {
            prompt.label = format!("name of the mark at {}", self.elapsed(time));
        }
        self.layer = Layer::Prompt(prompt);
    }

    /// Goes to the next mark or message found, whichever comes first; backwards, to the previous one.
    pub(crate) fn go_to_mark_or_hit(&mut self, is_backwards: bool, stamp: Timestamp) {
        let here = self.beyond_playhead(is_backwards);
        let mark = if is_backwards {
            self.reachable_marks().rfind(|mark| mark.time < here)
        } else {
            self.reachable_marks().find(|mark| mark.time > here)
        };
        let mark = mark.map(|mark| (mark.time, mark.name.clone()));
        let hit = self.next_hit(is_backwards);
        let is_hit_nearer = match (&hit, &mark) {
            (Some(hit), Some(mark)) => (hit.0 < mark.0) != is_backwards,
            (hit, _) => hit.is_some(),
        };
        let Some((time, text)) = (if is_hit_nearer { hit } else { mark }) else {
            let text = self.why_no_mark(is_backwards);
            return self.log_info(text, stamp);
        };
        self.seek(time, stamp);
        if !text.is_empty() {
            self.log_info(text, stamp);
        }
    }

    /// The marks within the recording. A file of marks may have others, which no seek can reach.
    fn reachable_marks(&self) -> impl DoubleEndedIterator<Item = &Mark> {
        let recording = self.facts.recording;
        let marks = self.marks.iter();
        marks.filter(move |mark| recording.contains(mark.time))
    }

    /// The time that was typed in the input line: `start`, `end`, the name of a mark or its beginning, or a time.
    pub(crate) fn parse_target(&self, text: &str) -> Result<Time<Ros>, String> {
        let typed = text.to_lowercase();
        match typed.as_str() {
            "start" => return Ok(self.played.range.start()),
            "end" => return Ok(self.played.range.stop()),
            _ => {}
        }
        let named = || {
            self.reachable_marks()
                .map(|mark| (mark.name.to_lowercase(), mark.time))
        };
        if let Some((_, time)) = named().find(|(name, _)| *name == typed) {
            return Ok(time);
        }
        let is_number =
            typed.starts_with(|first: char| first.is_ascii_digit() || "+-".contains(first));
        let mut beginning = named().filter(|(name, _)| !is_number && name.starts_with(&typed));
        match (beginning.next(), beginning.next()) {
            (Some((_, time)), None) => return Ok(time),
            (Some(_), Some(_)) => return Err(format!("several marks begin with `{text}`")),
            (None, _) => {}
        }
        let context = TimeContext {
            playhead: self.playhead(),
            recording: self.facts.recording,
            zone: self.appearance.time_format.zone(&self.facts.zone),
            clock_shift: self.facts.clock_shift,
            parse_time: self.facts.parse_time,
        };
        parse_target(text, &context)
    }
}
