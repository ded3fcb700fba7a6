//! What the transport keys do: seeks, rates, steps, loops, marks.

use jiff::Timestamp;

use crate::bag::Direction;
use crate::marks::Mark;
use crate::player::{Command, Pace, State};
use crate::time::{AtEnd, Duration, Ros, Speed, Time, TimeRange};
use crate::tui::input::action::Action;
use crate::tui::input::goto::{Whence, read_target};
use crate::tui::model::layers::{Layer, Prompt, Question};
use crate::tui::model::parts::{Brackets, Effect, Target};
use crate::tui::model::{Model, time_format};

/// How many seeks can be undone.
const HISTORY: usize = 100;
/// Seeks that follow each other within this time are undone together.
const TOGETHER: std::time::Duration = std::time::Duration::from_millis(700);
/// Within this wall time after passing a mark, "previous mark" means the mark before it. It is wall time, so that the
/// key works at any rate.
const AT_MARK: Duration = Duration::from_millis(500);
/// The range of rates, in millionths.
const LEAST: i32 = 1_000;
const MOST: i32 = 1_000_000_000;

impl Model {
    pub(crate) fn seek_by(&mut self, millis: i32, stamp: Timestamp) {
        let by = Duration::from_millis(millis.into());
        self.seek(self.here().saturating_add(by), stamp);
    }

    pub(crate) fn seek_to_tenth(&mut self, tenth: u8, stamp: Timestamp) {
        let all = self.facts.recording;
        let into = i128::from(all.duration().as_nanos()) * i128::from(tenth) / 10;
        let into = Duration::from_nanos(i64::try_from(into).unwrap_or(i64::MAX));
        self.seek(all.start().saturating_add(into), stamp);
    }

    pub(crate) fn undo_seek(&mut self, stamp: Timestamp) {
        match self.history.pop() {
            Some(to) => {
                self.last_seek = None;
                self.jump(to, stamp);
            }
            None => self.say("no seek to undo", stamp),
        }
    }

    pub(crate) fn step(&mut self, n: i8) {
        self.ask(Command::Step(n.into()));
    }

    pub(crate) fn step_topic(&mut self, n: i8, stamp: Timestamp) {
        let Some(row) = self.selected_row() else {
            return;
        };
        if row.left_out.is_some() {
            self.say("this topic is not played", stamp);
        } else {
            let id = row.id;
            self.ask(Command::StepTopic(id, n.into()));
        }
    }

    pub(crate) fn play_or_pause(&mut self, stamp: Timestamp) {
        match self.entry_from_exit() {
            Some(entry) => {
                self.jump(entry, stamp);
                self.ask(Command::Play);
            }
            None => self.ask(Command::Toggle),
        }
    }

    /// Where to begin again when playback is at the edge that it plays towards, with nothing left to play.
    fn entry_from_exit(&self) -> Option<Time<Ros>> {
        let segment = self.status?.segment;
        let is_at_exit = self.state() == State::Paused && self.here() == segment.exit();
        (is_at_exit && segment.entry() != segment.exit()).then(|| segment.entry())
    }

    /// How close behind the playhead marks are ignored while playing in this direction, so that the mark that was just
    /// passed is not the target again.
    fn run_up(&self, direction: Direction) -> Duration {
        let Some(status) = self.status.filter(|_| self.state() == State::Playing) else {
            return Duration::ZERO;
        };
        let speed = status.segment.speed();
        if speed.is_reverse() == (direction == Direction::Reverse) {
            let run = AT_MARK.mul_f64(speed.as_f64().abs());
            run.unwrap_or(Duration::ZERO)
        } else {
            Duration::ZERO
        }
    }

    pub(crate) fn ask(&mut self, command: Command) {
        self.effects.push(Effect::Command(command));
    }

    /// Seeks, and records the seek for undo.
    pub(crate) fn seek(&mut self, to: Time<Ros>, stamp: Timestamp) {
        let follows = |last: Timestamp| stamp.duration_since(last).unsigned_abs() < TOGETHER;
        if !self.last_seek.is_some_and(follows) || self.history.is_empty() {
            if self.history.len() == HISTORY {
                self.history.remove(0);
            }
            self.history.push(self.here());
        }
        self.last_seek = Some(stamp);
        self.jump(to, stamp);
    }

    /// Seeks. A loop or a played range that does not contain the target is lifted.
    pub(crate) fn jump(&mut self, to: Time<Ros>, stamp: Timestamp) {
        let to = self.facts.recording.clamp(to);
        if let Brackets::Ab(range) = self.brackets
            && !range.contains(to)
        {
            self.clear_brackets(to, stamp);
        }
        if !self.is_part_looped() {
            self.say_what_it_lifts(to, stamp);
        }
        self.target = Some(Target { to, ticket: None });
        if let Some(Effect::Command(Command::Seek(_))) = self.effects.last() {
            self.effects.pop();
        }
        self.ask(Command::Seek(to));
    }

    /// The played range, widened to the recording's edge on the side of `time`, as the player does it.
    pub(crate) fn played_with(&self, time: Time<Ros>) -> TimeRange {
        let (all, played) = (self.facts.recording, self.played);
        if time < played.start() {
            TimeRange::between(all.start(), played.stop())
        } else if time > played.stop() {
            TimeRange::between(played.start(), all.stop())
        } else {
            played
        }
    }

    /// The played range, with those edges moved that another client's seeks have moved; they move to the recording's
    /// edges. Other edges of `range` are ignored: the player may not have processed yet that a loop was cleared.
    pub(crate) fn widened_by(&self, range: TimeRange) -> TimeRange {
        let (all, played) = (self.facts.recording, self.played);
        let edge = |now, all, played| if now == all { all } else { played };
        TimeRange::between(
            edge(range.start(), all.start(), played.start()),
            edge(range.stop(), all.stop(), played.stop()),
        )
    }

    /// Reports that a seek to `time` lifts a limit of the played range.
    fn say_what_it_lifts(&mut self, time: Time<Ros>, stamp: Timestamp) {
        if time < self.played.start() {
            self.say(
                "the start of the recording is played, too, from here on",
                stamp,
            );
        } else if time > self.played.stop() {
            self.say("it plays to the end of the recording from here on", stamp);
        }
    }

    /// The pace that was asked for last, or the player's pace.
    pub(crate) fn pace(&self) -> Pace {
        let known = self.status.map(|status| status.pace);
        let asked = self.asked_pace.map(|(asked, _)| asked);
        asked.or(known).unwrap_or(Pace::At(Speed::NORMAL))
    }

    fn set_pace(&mut self, pace: Pace) {
        // The next key may come before the player has processed this command.
        self.asked_pace = Some((pace, self.now));
        self.ask(Command::SetPace(pace));
    }

    pub(crate) fn change_rate(&mut self, percent: u16, stamp: Timestamp) {
        let Pace::At(speed) = self.pace() else {
            let key = self.look.bindings.keys(Action::NormalRate).first();
            let hint = key.map_or_else(String::new, |key| format!("; {key} sets it to 1×"));
            self.say(format!("the rate is max{hint}"), stamp);
            return;
        };
        let now = speed.millionths().abs();
        let asked = i64::from(now) * i64::from(percent) / 100;
        let asked = i32::try_from(asked).unwrap_or(MOST).clamp(LEAST, MOST);
        let normal = Speed::NORMAL.millionths();
        // Steps up and down do not cancel exactly; a rate near 1 becomes 1.
        let is_near = (asked - normal).abs() < 15_000;
        let asked = if is_near { normal } else { asked };
        if asked == now {
            let limit = if percent > 100 { "highest" } else { "lowest" };
            self.say(format!("this is the {limit} rate"), stamp);
            return;
        }
        if let Ok(asked) = Speed::from_millionths(asked * speed.millionths().signum()) {
            self.set_pace(Pace::At(asked));
        }
    }

    pub(crate) fn set_normal_rate(&mut self) {
        let is_reverse = matches!(self.pace(), Pace::At(speed) if speed.is_reverse());
        let normal = Speed::NORMAL;
        self.set_pace(Pace::At(if is_reverse {
            normal.reversed()
        } else {
            normal
        }));
    }

    pub(crate) fn turn_around(&mut self, stamp: Timestamp) {
        match self.pace() {
            Pace::At(speed) => self.set_pace(Pace::At(speed.reversed())),
            Pace::Max => self.say("a rate of max goes forwards only", stamp),
        }
    }

    fn at_end(&self) -> AtEnd {
        if self.is_loop_wanted {
            AtEnd::Loop
        } else {
            AtEnd::Hold
        }
    }

    pub(crate) fn set_bracket(&mut self, stamp: Timestamp) {
        let here = self.here();
        match self.brackets {
            Brackets::None => {
                self.brackets = Brackets::A(here);
                self.say(
                    format!(
                        "A at {}; once more sets B, or here clears A",
                        self.elapsed(here)
                    ),
                    stamp,
                );
            }
            Brackets::A(a) if a == here => {
                self.brackets = Brackets::None;
                self.say("A is cleared", stamp);
            }
            Brackets::A(a) => self.loop_between(a, here, stamp),
            Brackets::Ab(_) => self.clear_brackets(here, stamp),
        }
    }

    pub(crate) fn loop_all_or_once(&mut self, stamp: Timestamp) {
        self.is_loop_wanted = !self.is_loop_wanted;
        let is_part_looped = self.is_part_looped();
        if !is_part_looped {
            self.ask(Command::SetAtEnd(self.at_end()));
            if self.is_loop_wanted && self.state() == State::Ended {
                self.ask(Command::Play);
            }
        }
        let text = if self.is_loop_wanted {
            "all of it loops"
        } else {
            "it plays once"
        };
        let after = if is_part_looped {
            ", once the loop from A to B is cleared"
        } else {
            ""
        };
        self.say(format!("{text}{after}"), stamp);
    }

    /// Loops between two times.
    pub(crate) fn loop_between(&mut self, a: Time<Ros>, b: Time<Ros>, stamp: Timestamp) {
        let range = TimeRange::between(a, b);
        self.brackets = Brackets::Ab(range);
        self.ask(Command::SetRange(range));
        self.ask(Command::SetAtEnd(AtEnd::Loop));
        let (a, b) = (self.elapsed(range.start()), self.elapsed(range.stop()));
        self.say(format!("loops from A {a} to B {b}"), stamp);
    }

    /// Plays again what was played before the loop, from `here`.
    pub(crate) fn clear_brackets(&mut self, here: Time<Ros>, stamp: Timestamp) {
        self.brackets = Brackets::None;
        self.say("the loop is cleared", stamp);
        self.say_what_it_lifts(here, stamp);
        self.played = self.played_with(here);
        self.ask(Command::SetRange(self.played));
        self.ask(Command::SetAtEnd(self.at_end()));
    }

    /// A time as the header shows it: relative to the start of the recording.
    pub(crate) fn elapsed(&self, time: Time<Ros>) -> String {
        time_format::signed(time.saturating_since(self.facts.recording.start()))
    }

    fn mark_at(&self, time: Time<Ros>) -> Option<&Mark> {
        self.marks.iter().find(|mark| mark.time == time)
    }

    pub(crate) fn toggle_mark(&mut self, stamp: Timestamp) {
        let here = self.here();
        if self.mark_at(here).is_some() {
            self.marks.retain(|mark| mark.time != here);
            self.effects.push(Effect::RemoveMark(here));
            self.say(format!("the mark at {} is gone", self.elapsed(here)), stamp);
        } else {
            self.set_mark(here, "", stamp);
        }
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
        self.say(format!("mark at {}{named}", self.elapsed(time)), stamp);
    }

    pub(crate) fn ask_for_mark_name(&mut self) {
        let here = self.here();
        let name = self
            .mark_at(here)
            .map_or_else(String::new, |mark| mark.name.clone());
        self.layer = Layer::Prompt(Prompt::new(Question::MarkName(here), &name));
    }

    pub(crate) fn go_to_next_mark(&mut self, stamp: Timestamp) {
        let here = self.here().saturating_add(self.run_up(Direction::Reverse));
        let next = self.reachable_marks().find(|mark| mark.time > here);
        let next = next.cloned();
        self.go_to_mark(next, "no mark further on", stamp);
    }

    pub(crate) fn go_to_previous_mark(&mut self, stamp: Timestamp) {
        let here = self.here().saturating_sub(self.run_up(Direction::Forward));
        let previous = self.reachable_marks().rfind(|mark| mark.time < here);
        let previous = previous.cloned();
        self.go_to_mark(previous, "no mark before this", stamp);
    }

    /// The marks within the recording. A file of marks may have others, which no seek can reach.
    fn reachable_marks(&self) -> impl DoubleEndedIterator<Item = &Mark> {
        let recording = self.facts.recording;
        let marks = self.marks.iter();
        marks.filter(move |mark| recording.contains(mark.time))
    }

    fn go_to_mark(&mut self, mark: Option<Mark>, none: &str, stamp: Timestamp) {
        let Some(mark) = mark else {
            self.say(none, stamp);
            return;
        };
        self.seek(mark.time, stamp);
        if !mark.name.is_empty() {
            self.say(mark.name, stamp);
        }
    }

    /// The time that was typed in the input line.
    pub(crate) fn read_target(&self, text: &str) -> Result<Time<Ros>, String> {
        let whence = Whence {
            here: self.here(),
            recording: self.facts.recording,
            zone: self.look.face.zone(&self.facts.zone),
            shift: self.facts.clock_shift,
            read: self.facts.read_time,
        };
        read_target(text, &whence)
    }
}
