//! [`Line`]: the line to the terminal, which is asked to acknowledge frames.
//!
//! What is written waits in buffers, of a pseudo-terminal or of a connection, and nothing reports how much waits there.
//! On a slow line a key would be answered only after all frames that were written before it. So each frame ends with a
//! question for the state of the terminal. The answer says that the terminal has processed the frame; if answers are
//! late, the next frame is held back until all have come, and behind a long one in any case. A longer frame begins with
//! a question, too: the time between both answers is what the frame takes, however far away the terminal is.
//!
//! Answers come in the order of the questions and do not tell which one they belong to, so an answer that is late
//! counts for the oldest question without one, also if it is not waited for any more. While this process is stopped,
//! the shell may read answers. Then it is not known how many are still to come, until the answer to another question.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The question for the state of the terminal (DSR). Every terminal and multiplexer answers it at once.
pub(super) const STATUS_QUERY: &[u8] = b"\x1b[5n";

/// The question for the kind of terminal (DA1), which every terminal answers, too: every question before it has been
/// answered by then, or its answer is lost.
pub(super) const KIND_QUERY: &[u8] = b"\x1b[c";

/// How much later than usual an answer may come before frames are held back.
const LATE: Duration = Duration::from_millis(25);

/// After this time without an answer, and a second for each kilobyte that was written, none is waited for.
const TIMEOUT: Duration = Duration::from_secs(5);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How many of the last delays count, of questions that were written while no other was on its way.
const DELAYS: usize = 32;

/// The least length of a frame by which the line is judged: shorter ones take hardly longer than an answer.
const JUDGED: usize = 256;

/// A line that takes fewer bytes a second is slow: a picture takes a second or more.
const SLOW: f64 = 32_000.0;

/// How many frames decide whether the line is slow.
const VOTES: u8 = 4;

/// A frame of this length decides alone that it is, such as the first one or one with a picture.
const LARGE: usize = 2048;

/// A large frame that takes so much longer than it may decides before its answer comes.
const OVERDUE: Duration = Duration::from_secs(1);

/// What is known of the line.
#[derive(Debug)]
pub(super) struct Line {
    terminal: Knowledge,
    /// The questions whose answers are waited for.
    open: VecDeque<Question>,
    /// How many answers to older questions may still come: they are not waited for any more.
    overdue: usize,
    /// When the last question in front of a frame was answered.
    begun: Option<Instant>,
    delays: VecDeque<Duration>,
    /// Whether no frame is written until all answers have come.
    is_held: bool,
    /// From 0 to [`VOTES`].
    slow_votes: u8,
    is_slow: bool,
}

/// A question that was written.
#[derive(Clone, Copy, Debug)]
struct Question {
    at: Instant,
    place: Place,
    /// Whether no other was on its way.
    is_alone: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// The question for the kind of terminal, behind those that are not waited for any more.
    BehindOverdue,
    InFrontOfFrame,
    BehindFrame {
        bytes: usize,
        is_judged: bool,
    },
}

/// Which questions are written with a frame, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Asked {
    /// A [`KIND_QUERY`] in front of it.
    pub(super) kind: bool,
    /// A [`STATUS_QUERY`] in front of it.
    pub(super) in_front: bool,
    /// A [`STATUS_QUERY`] behind it.
    pub(super) behind: bool,
}

/// An answer of the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::tui) enum Answer {
    /// To a [`STATUS_QUERY`].
    Status,
    /// To a [`KIND_QUERY`].
    Kind,
}

/// Whether the terminal answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Knowledge {
    NotAsked,
    Asked,
    Answers,
    IsSilent,
}

impl Line {
    pub(super) const fn new() -> Self {
        Self {
            terminal: Knowledge::NotAsked,
            open: VecDeque::new(),
            overdue: 0,
            begun: None,
            delays: VecDeque::new(),
            is_held: false,
            slow_votes: 0,
            is_slow: false,
        }
    }

    /// Takes note that the terminal answers questions.
    pub(super) const fn answers(&mut self) {
        self.terminal = Knowledge::Answers;
    }

    /// A [`STATUS_QUERY`] from before the bar has no answer yet.
    #[cfg(any(feature = "pictures", test))]
    pub(super) const fn is_owed_an_answer(&mut self) {
        self.overdue += 1;
    }

    /// Takes note of a frame that is about to be written; returns the questions that are to be written with it.
    pub(super) fn write(&mut self, bytes: usize, now: Instant) -> Asked {
        match self.terminal {
            Knowledge::NotAsked => self.terminal = Knowledge::Asked,
            Knowledge::Answers => {}
            Knowledge::Asked | Knowledge::IsSilent => return Asked::default(),
        }
        let asked = Asked {
            kind: self.overdue > 0 && self.open.is_empty(),
            in_front: bytes >= JUDGED,
            behind: true,
        };
        if asked.kind {
            self.ask(Place::BehindOverdue, now);
        }
        if asked.in_front {
            self.ask(Place::InFrontOfFrame, now);
        }
        let is_judged = asked.in_front;
        self.ask(Place::BehindFrame { bytes, is_judged }, now);
        asked
    }

    fn ask(&mut self, place: Place, at: Instant) {
        let is_alone = self.open.is_empty();
        self.open.push_back(Question {
            at,
            place,
            is_alone,
        });
    }

    /// Takes note of an answer.
    pub(super) fn answered(&mut self, answer: Answer, now: Instant) {
        let first = self.open.front().map(|question| question.place);
        match (answer, first) {
            (Answer::Kind, Some(Place::BehindOverdue)) => self.overdue = 0,
            (Answer::Status, _) if self.overdue > 0 => {
                self.overdue -= 1;
                if self.overdue == 0 && self.open.is_empty() {
                    self.terminal = Knowledge::Answers;
                }
                return;
            }
            // To a question from before the bar.
            (Answer::Kind, _) | (Answer::Status, Some(Place::BehindOverdue)) => return,
            (Answer::Status, _) => {}
        }
        self.terminal = Knowledge::Answers;
        let Some(question) = self.open.pop_front() else {
            return;
        };
        self.is_held &= !self.open.is_empty();
        if question.is_alone {
            if self.delays.len() == DELAYS {
                self.delays.pop_front();
            }
            let delay = now.saturating_duration_since(question.at);
            self.delays.push_back(delay);
        }
        match question.place {
            Place::BehindOverdue => {}
            Place::InFrontOfFrame => self.begun = Some(now),
            Place::BehindFrame { bytes, is_judged } => {
                let begun = self.begun.take().filter(|_| is_judged);
                if let Some(begun) = begun {
                    self.judge(bytes, now.saturating_duration_since(begun));
                }
            }
        }
    }

    /// Whether another frame would be late.
    pub(super) fn is_behind(&mut self, now: Instant) -> bool {
        let Some(first) = self.open.front() else {
            return false;
        };
        let age = now.saturating_duration_since(first.at);
        let bytes: usize = self.frames_on_the_way().sum();
        let kilobytes = u32::try_from(bytes / 1000).unwrap_or(u32::MAX);
        let timeout = TIMEOUT + Duration::from_secs(kilobytes.into());
        if age > timeout.min(LONGEST_TIMEOUT) {
            self.wait_no_longer();
            self.terminal = Knowledge::IsSilent;
            return false;
        }
        let taken = self.begun.map(|it| now.saturating_duration_since(it));
        if bytes >= LARGE && taken.is_some_and(|taken| taken > may_take(bytes) + OVERDUE) {
            (self.slow_votes, self.is_slow) = (VOTES, true);
        }
        let first = self.frames_on_the_way().next().unwrap_or_default();
        // What a long one takes is known afterwards.
        let is_long = first >= LARGE;
        let is_late = age > self.usual_delay() + may_take(first) + LATE;
        self.is_held |= self.terminal == Knowledge::Answers && (self.is_slow || is_long || is_late);
        self.is_held
    }

    /// How many bytes the frames have that were not acknowledged.
    fn frames_on_the_way(&self) -> impl Iterator<Item = usize> {
        self.open
            .iter()
            .filter_map(|question| match question.place {
                Place::BehindOverdue | Place::InFrontOfFrame => None,
                Place::BehindFrame { bytes, .. } => Some(bytes),
            })
    }

    /// The answers that are still to come are not waited for any more.
    fn wait_no_longer(&mut self) {
        let is_of_status = |question: &Question| question.place != Place::BehindOverdue;
        let dropped = self.open.drain(..).filter(is_of_status).count();
        self.overdue += dropped;
        (self.begun, self.is_held) = (None, false);
    }

    /// Whether an answer is waited for.
    pub(super) fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// How long an answer may take before the terminal is restored without it.
    pub(super) fn patience(&self) -> Duration {
        match self.terminal {
            Knowledge::Answers => Duration::from_secs(1),
            Knowledge::NotAsked | Knowledge::Asked | Knowledge::IsSilent => {
                Duration::from_millis(100)
            }
        }
    }

    /// Whether it is so slow that pictures are left out.
    pub(super) fn is_slow(&self) -> bool {
        self.is_slow
    }

    /// This process was stopped: what was asked before may have been answered to the shell. Measures anew. If it is
    /// called again before the [`KIND_QUERY`] that follows is answered, that answer counts for the next one.
    pub(super) fn reentered(&mut self) {
        self.wait_no_longer();
        if self.terminal == Knowledge::Asked {
            self.terminal = Knowledge::NotAsked;
        }
        self.forget();
    }

    /// Measures anew.
    pub(super) fn forget(&mut self) {
        self.delays.clear();
        (self.slow_votes, self.is_slow) = (0, false);
        if self.terminal == Knowledge::IsSilent {
            self.terminal = Knowledge::NotAsked;
        }
    }

    /// The shortest of the last delays.
    fn usual_delay(&self) -> Duration {
        self.delays.iter().min().copied().unwrap_or_default()
    }

    /// A frame took this long.
    fn judge(&mut self, bytes: usize, took: Duration) {
        let at_most = may_take(bytes);
        if took > LATE && took > at_most {
            let votes = if bytes >= LARGE { VOTES } else { 1 };
            self.slow_votes = (self.slow_votes + votes).min(VOTES);
        } else if took < at_most / 2 {
            self.slow_votes = self.slow_votes.saturating_sub(1);
        }
        match self.slow_votes {
            0 => self.is_slow = false,
            VOTES => self.is_slow = true,
            _ => {}
        }
    }
}

/// How long a frame takes on a line that is not slow, at most.
#[expect(clippy::cast_precision_loss, reason = "frames are not that long")]
fn may_take(bytes: usize) -> Duration {
    Duration::from_secs_f64(bytes as f64 / SLOW)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tui::pacing::wall_now;

    const FRAME: Duration = Duration::from_millis(33);

    /// A terminal behind a line.
    struct Terminal {
        bytes_a_second: f64,
        /// How long an answer takes apart from that.
        latency: Duration,
        free_at: Instant,
        /// The answers, when they come, and the number of the frame that they acknowledge.
        answers: VecDeque<(Answer, Instant, Option<usize>)>,
        /// How many frames were written.
        frames: usize,
    }

    impl Terminal {
        fn new(bytes_a_second: u32, latency: Duration) -> Self {
            Self {
                bytes_a_second: bytes_a_second.into(),
                latency,
                free_at: wall_now(),
                answers: VecDeque::new(),
                frames: 0,
            }
        }

        fn take(&mut self, bytes: usize, now: Instant, asked: Asked) {
            let bytes = f64::from(u32::try_from(bytes).unwrap());
            let time = Duration::from_secs_f64(bytes / self.bytes_a_second);
            self.free_at = self.free_at.max(now);
            let before = self.free_at + self.latency;
            if asked.kind {
                self.answers.push_back((Answer::Kind, before, None));
            }
            if asked.in_front {
                self.answers.push_back((Answer::Status, before, None));
            }
            self.free_at += time;
            if asked.behind {
                let behind = self.free_at + self.latency;
                let frame = Some(self.frames);
                self.answers.push_back((Answer::Status, behind, frame));
            }
            self.frames += 1;
        }

        /// The next answer, if it has come.
        fn answer(&mut self, now: Instant) -> Option<(Answer, Instant, Option<usize>)> {
            let (_, at, _) = self.answers.front()?;
            (*at <= now).then(|| self.answers.pop_front()).flatten()
        }
    }

    /// Writes frames of these lengths, thirty a second. Returns for each that was not held back how long the terminal
    /// was still busy with earlier ones, and whether the line was known to be slow.
    fn play(line: &mut Line, terminal: &mut Terminal, frames: &[usize]) -> Vec<(Duration, bool)> {
        let (mut now, mut written) = (wall_now(), Vec::new());
        for bytes in frames {
            while let Some((answer, at, _)) = terminal.answer(now) {
                line.answered(answer, at);
            }
            if !line.is_behind(now) {
                let busy = terminal.free_at.saturating_duration_since(now);
                written.push((busy, line.is_slow()));
                let asked = line.write(*bytes, now);
                terminal.take(*bytes, now, asked);
            }
            now += FRAME;
        }
        written
    }

    proptest! {
        #[test]
        fn on_a_slow_line_no_frame_waits_for_another(
            bytes_a_second in 3_000_u32..10_000,
            latency in 0_u64..50,
            frames in prop::collection::vec(150_usize..700, 1_500..1_600),
        ) {
            let mut terminal = Terminal::new(bytes_a_second, Duration::from_millis(latency));
            let mut line = Line::new();
            let written = play(&mut line, &mut terminal, &frames);
            prop_assert!(line.is_slow(), "{line:?}");
            let late = written.iter().filter(|(busy, is_slow)| *is_slow && !busy.is_zero());
            prop_assert_eq!(late.count(), 0);
        }

        #[test]
        fn no_frame_counts_as_acknowledged_before_the_terminal_has_processed_it(
            bytes_a_second in 100_u32..10_000,
            latency in 0_u64..8_000,
            // The length of a frame, how long after the one before it is written, and what happens before it.
            frames in prop::collection::vec((1_usize..3_000, 0_u64..20_000, 0_u8..12, 0_usize..9), 1..80),
        ) {
            let mut terminal = Terminal::new(bytes_a_second, Duration::from_millis(latency));
            let (mut line, mut now) = (Line::new(), wall_now());
            // The numbers of the frames that are waited for; the terminal has processed those before.
            let mut waited: VecDeque<usize> = VecDeque::new();
            for (bytes, later, what, lost) in frames {
                now += Duration::from_millis(later);
                while let Some((answer, at, frame)) = terminal.answer(now) {
                    line.answered(answer, at);
                    if let Some(frame) = frame {
                        waited.retain(|waits| *waits > frame);
                    }
                    prop_assert_eq!(line.frames_on_the_way().count(), waited.len());
                }
                line.is_behind(now);
                let is_kind = |(answer, ..): &(Answer, Instant, Option<usize>)| *answer == Answer::Kind;
                // A second question for the kind has the same answer.
                let asks_for_kind = terminal.answers.iter().any(is_kind);
                match what {
                    0 | 1 if asks_for_kind => {}
                    // The shell reads what has come meanwhile.
                    0 => {
                        now += Duration::from_millis(later);
                        for _ in 0..lost {
                            terminal.answer(now);
                        }
                        line.reentered();
                    }
                    1 => line.forget(),
                    _ => {}
                }
                if !line.is_waiting() {
                    waited.clear();
                }
                let asked = line.write(bytes, now);
                if asked.behind {
                    waited.push_back(terminal.frames);
                }
                terminal.take(bytes, now, asked);
            }
        }

        #[test]
        fn on_a_fast_line_no_frame_is_held_back(
            latency in 0_u64..300,
            frames in prop::collection::vec(150_usize..700, 100..200),
        ) {
            let mut terminal = Terminal::new(1_000_000, Duration::from_millis(latency));
            let mut line = Line::new();
            let written = play(&mut line, &mut terminal, &frames);
            prop_assert_eq!(written.len(), frames.len());
            prop_assert!(!line.is_slow());
        }
    }

    #[test]
    fn a_line_is_slow_until_it_has_become_fast() {
        let (frames, mut line) = ([400].repeat(200), Line::new());
        let latency = Duration::from_millis(1);
        play(&mut line, &mut Terminal::new(5_760, latency), &frames);
        assert!(line.is_slow());
        line.open.clear();
        play(&mut line, &mut Terminal::new(1_000_000, latency), &frames);
        assert!(!line.is_slow());
    }

    #[test]
    fn one_long_frame_tells_that_the_line_is_slow() {
        for (bytes_a_second, first) in [(5_760, 2_500), (5_760, 30_000), (3_000, 60_000)] {
            let mut terminal = Terminal::new(bytes_a_second, Duration::from_millis(1));
            let mut line = Line::new();
            line.answers();
            let mut frames = vec![2_500; 300];
            frames[0] = first;
            let written = play(&mut line, &mut terminal, &frames);
            let is_alone = |(busy, is_slow): &(Duration, bool)| *is_slow && busy.is_zero();
            assert!(written[1..].iter().all(is_alone), "{written:?}");
            assert!(line.is_slow());
        }
    }

    #[test]
    fn a_terminal_that_does_not_answer_is_asked_once() {
        let (mut line, mut now) = (Line::new(), wall_now());
        let mut asked = 0;
        for _ in 0..300 {
            assert!(!line.is_behind(now));
            asked += usize::from(line.write(200, now).behind);
            now += FRAME;
        }
        assert_eq!((asked, line.is_waiting()), (1, false));
        line.forget();
        assert!(line.write(200, now).behind);
    }

    #[test]
    fn a_stopped_terminal_holds_up_frames_for_some_seconds() {
        let (mut line, begin) = (Line::new(), wall_now());
        line.write(200, begin);
        line.answered(Answer::Status, begin);
        line.write(200, begin);
        assert!(line.is_behind(begin + TIMEOUT));
        assert!(!line.is_behind(begin + TIMEOUT + FRAME));
        // A late answer counts.
        line.answered(Answer::Status, begin + TIMEOUT * 2);
        assert!(line.write(200, begin + TIMEOUT * 2).behind);
    }

    #[test]
    fn a_late_answer_to_a_question_from_before_the_bar_acknowledges_no_frame() {
        let (mut line, begin) = (Line::new(), wall_now());
        line.answers();
        line.is_owed_an_answer();
        assert!(line.write(200, begin).kind);
        line.answered(Answer::Status, begin);
        assert_eq!(line.frames_on_the_way().count(), 1);
        line.answered(Answer::Kind, begin);
        line.answered(Answer::Status, begin);
        assert!(!line.is_waiting());
    }

    #[test]
    fn late_answers_count_for_the_questions_that_timed_out() {
        let (mut line, begin) = (Line::new(), wall_now());
        line.answers();
        for _ in 0..2 {
            // One question in front of it, and one behind.
            line.write(JUDGED, begin);
        }
        let late = begin + TIMEOUT * 2;
        assert!(!line.is_behind(late));
        for _ in 0..3 {
            assert_eq!(line.write(JUDGED, late), Asked::default());
            line.answered(Answer::Status, late);
        }
        assert_eq!(line.write(JUDGED, late), Asked::default());
        line.answered(Answer::Status, late);
        assert!(line.write(JUDGED, late).behind);
        assert_eq!(line.frames_on_the_way().count(), 1);
    }

    #[test]
    fn a_question_from_before_a_stop_neither_holds_back_a_frame_nor_acknowledges_one() {
        let begin = wall_now();
        // How many of the four answers the shell has read.
        for lost in 0..=4 {
            let mut line = Line::new();
            line.answers();
            line.write(JUDGED, begin);
            line.write(JUDGED, begin);
            assert!(line.is_behind(begin + LATE * 2));
            line.reentered();
            let now = begin + LATE * 2;
            assert!(!line.is_behind(now) && !line.is_waiting());
            let asked = line.write(JUDGED, now);
            assert_eq!(
                (asked.kind, asked.in_front, asked.behind),
                (true, true, true)
            );
            // The next one asks no second time.
            assert!(!line.write(JUDGED, now).kind);
            for _ in lost..4 {
                line.answered(Answer::Status, now);
                assert_eq!(line.frames_on_the_way().count(), 2);
            }
            line.answered(Answer::Kind, now);
            for left in [2, 1, 1, 0] {
                line.answered(Answer::Status, now);
                assert_eq!(line.frames_on_the_way().count(), left, "{lost}");
            }
            assert!(!line.is_waiting());
            assert!(!line.write(JUDGED, now).kind);
        }
    }

    #[test]
    fn a_terminal_that_lost_answers_acknowledges_frames_again_once_it_is_measured_anew() {
        let (mut line, begin) = (Line::new(), wall_now());
        line.answers();
        line.write(200, begin);
        let late = begin + TIMEOUT * 2;
        assert!(!line.is_behind(late));
        assert!(!line.write(200, late).behind);
        line.forget();
        assert!(line.write(200, late).kind);
        line.answered(Answer::Kind, late);
        assert_eq!(line.frames_on_the_way().count(), 1);
        line.answered(Answer::Status, late);
        assert!(!line.is_waiting());
        assert!(line.write(200, late).behind);
    }
}
