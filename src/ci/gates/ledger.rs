//! [`Ledger`]: which questions are open, by all rules of a run.

use super::missed::{Missed, Refused};
use super::open_questions::{Open, OpenQuestions, Question};
use super::rule::{GateRule, Matching, Trigger};
use crate::ci::spans::SpanHistogram;
use crate::time::{Duration, Ros, Steady, Time};

/// What holds for all rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How many questions of one rule may be open while playback goes on; 0 counts as 1.
    pub in_flight: usize,
    /// How long to wait for an answer, in wall time, if the rule does not say it.
    pub within: Duration,
}

/// The questions and answers of a run. It takes instants from its caller and has no clock of its own.
#[derive(Debug)]
pub struct Ledger {
    gates: Vec<Gate>,
    limits: Limits,
    /// The latest time that the system under test can know of: of all stamps, log times and clocks that were sent.
    reached: Option<Time<Ros>>,
}

/// A rule, its open questions, and what has become of the others.
#[derive(Debug)]
struct Gate {
    rule: GateRule,
    open: OpenQuestions,
    tally: Tally,
    /// The last message of an output that answered nothing because of its stamp.
    refused: Option<Refused>,
}

/// What has become of the questions of one rule.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tally {
    /// Questions.
    pub asked: u64,
    /// Those that were answered.
    pub answered: u64,
    /// Those that were given up.
    pub missed: u64,
    /// Messages of the outputs that no open question wanted: they came when none was open, or with an older stamp.
    pub unrequested: u64,
    /// Messages of the outputs with a stamp that is later than everything that was sent; with [`Matching::Stamp`].
    pub wrong_stamps: u64,
    /// From a question to its answer, in wall time.
    pub latency: SpanHistogram,
}

/// A question that was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answered {
    /// The rule, by its place among those of the ledger.
    pub rule: usize,
    /// The question.
    pub question: Question,
}

impl Ledger {
    /// Without questions.
    pub fn new(rules: Vec<GateRule>, limits: Limits) -> Self {
        let gate = |rule| Gate {
            rule,
            open: OpenQuestions::default(),
            tally: Tally::default(),
            refused: None,
        };
        Self {
            gates: rules.into_iter().map(gate).collect(),
            limits,
            reached: None,
        }
    }

    /// The system under test is shown this time: as a clock, or as the time of a message.
    pub fn reached(&mut self, time: Time<Ros>) {
        self.reached = self.reached.max(Some(time));
    }

    /// The first rule that goes by the stamps of this topic.
    pub fn needs_stamps_of(&self, topic: &str) -> Option<&GateRule> {
        let mut rules = self.rules();
        rules.find(|rule| {
            rule.matching == Matching::Stamp && rule.outputs.iter().any(|it| it == topic)
        })
    }

    /// The rules, in the order in which they were given.
    pub fn rules(&self) -> impl Iterator<Item = &GateRule> {
        self.gates.iter().map(|gate| &gate.rule)
    }

    /// A message of `topic` was sent. It is a question for each rule that has this topic as its trigger.
    pub fn asked(&mut self, topic: &str, question: Question) {
        self.ask(
            question,
            |trigger| matches!(trigger, Trigger::Topic(it) if it == topic),
        );
    }

    /// The clock has made a step by `tick`: a question for each rule with that step.
    pub fn ticked(&mut self, tick: Duration, question: Question) {
        self.ask(question, |trigger| *trigger == Trigger::Tick(tick));
    }

    fn ask(&mut self, question: Question, is_for: impl Fn(&Trigger) -> bool) {
        self.reached(question.log_time);
        self.reached(question.shown);
        if let Some(stamp) = question.stamp {
            self.reached(stamp);
        }
        for gate in self
            .gates
            .iter_mut()
            .filter(|gate| is_for(&gate.rule.trigger))
        {
            gate.open.ask(question, &gate.rule);
        }
    }

    /// A message that was counted as a question was not sent after all: the youngest question of each rule with this
    /// topic is forgotten.
    pub fn withdraw(&mut self, topic: &str) {
        let is_for =
            |gate: &&mut Gate| matches!(&gate.rule.trigger, Trigger::Topic(it) if it == topic);
        for gate in self.gates.iter_mut().filter(is_for) {
            gate.open.withdraw();
        }
    }

    /// A message of the system under test has come, with its `header.stamp` if its type has one. Returns the questions
    /// that it completes. A message that no open question wants is counted and answers none that is asked later. By
    /// stamp, the system under test cannot know a stamp that is later than everything that was sent: such a message
    /// answers nothing.
    pub fn answered(
        &mut self,
        topic: &str,
        stamp: Option<Time<Ros>>,
        at: Time<Steady>,
    ) -> Vec<Answered> {
        let mut all = Vec::new();
        let reached = self.reached;
        for (rule, gate) in self.gates.iter_mut().enumerate() {
            let Some(output) = gate.rule.outputs.iter().position(|it| it == topic) else {
                continue;
            };
            let stamp = stamp.filter(|_| gate.rule.matching == Matching::Stamp);
            if let Some(stamp) = stamp.filter(|stamp| Some(*stamp) > reached) {
                gate.tally.wrong_stamps += 1;
                gate.refuse(topic, stamp, true, at);
                continue;
            }
            let Some(done) = gate.open.answer(output, stamp, gate.rule.matching) else {
                gate.tally.unrequested += 1;
                if let Some(stamp) = stamp.filter(|_| gate.open.len() > 0) {
                    gate.refuse(topic, stamp, false, at);
                }
                continue;
            };
            for open in done {
                gate.tally.answer(&open, at);
                let question = open.question;
                all.push(Answered { rule, question });
            }
        }
        all
    }

    /// Whether playback may go on: no rule has as many open questions as may be in flight.
    pub fn is_open(&self) -> bool {
        let most = self.limits.in_flight.max(1);
        self.gates.iter().all(|gate| gate.open.len() < most)
    }

    /// Whether no question is open.
    pub fn is_drained(&self) -> bool {
        self.gates.iter().all(|gate| gate.open.len() == 0)
    }

    /// When the next question is not answered in time; `None` if none is open.
    pub fn deadline(&self) -> Option<Time<Steady>> {
        let ends = self
            .gates
            .iter()
            .filter_map(|gate| gate.deadline(self.limits));
        ends.min()
    }

    /// The question that has been open for the longest time, as if it were given up at `now`.
    pub fn oldest(&self, now: Time<Steady>) -> Option<Missed> {
        let open = |(rule, gate): (usize, &Gate)| {
            let within = now.saturating_since(gate.open.oldest()?.question.asked_at);
            Some(gate.missed(rule, gate.open.oldest()?, within))
        };
        let all = self.gates.iter().enumerate().filter_map(open);
        all.min_by_key(|missed| missed.question.asked_at)
    }

    /// Gives up a question that was not answered by `now`. To be called until it returns `None`. A message that comes
    /// later answers the next question, unless the rule goes by stamps.
    pub fn overdue(&mut self, now: Time<Steady>) -> Option<Missed> {
        let limits = self.limits;
        let mut gates = self.gates.iter_mut().enumerate();
        let (rule, gate) =
            gates.find(|(_, gate)| gate.deadline(limits).is_some_and(|end| end <= now))?;
        let open = gate.open.give_up()?;
        gate.tally.missed += 1;
        let within = gate.rule.within.unwrap_or(limits.within);
        Some(gate.missed(rule, &open, within))
    }

    /// How many questions of a rule were given up.
    pub fn missed(&self, rule: usize) -> u64 {
        self.gates.get(rule).map_or(0, |gate| gate.tally.missed)
    }

    /// What has become of the questions of each rule, in the order of the rules.
    pub fn tallies(&self) -> impl Iterator<Item = Tally> {
        self.gates.iter().map(|gate| Tally {
            asked: gate.open.asked(),
            ..gate.tally.clone()
        })
    }
}

impl Gate {
    fn missed(&self, rule: usize, open: &Open, within: Duration) -> Missed {
        let refused = self.refused.clone();
        Missed {
            rule,
            trigger: self.rule.trigger.clone(),
            within,
            number: open.number,
            question: open.question,
            missing: OpenQuestions::missing_outputs(open, &self.rule),
            refused: refused.filter(|refused| refused.at >= open.question.asked_at),
        }
    }

    fn refuse(&mut self, topic: &str, stamp: Time<Ros>, is_ahead: bool, at: Time<Steady>) {
        self.refused = Some(Refused {
            topic: topic.to_owned(),
            stamp,
            is_ahead,
            at,
        });
    }

    fn deadline(&self, limits: Limits) -> Option<Time<Steady>> {
        let within = self.rule.within.unwrap_or(limits.within);
        let oldest = self.open.oldest()?;
        Some(oldest.question.asked_at.saturating_add(within))
    }
}

impl Tally {
    fn answer(&mut self, open: &Open, at: Time<Steady>) {
        self.answered += 1;
        self.latency
            .add(at.saturating_since(open.question.asked_at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits {
        in_flight: 2,
        within: Duration::from_secs(5),
    };

    fn at(millis: i64) -> Time<Steady> {
        Time::from_millis(millis)
    }

    fn stamp(millis: i64) -> Time<Ros> {
        Time::from_millis(millis)
    }

    fn ledger(rules: &[&str]) -> Ledger {
        let rules = rules.iter().map(|rule| rule.parse().unwrap());
        Ledger::new(rules.collect(), LIMITS)
    }

    /// A question of this stamp, asked at this instant.
    fn question(millis: i64, asked: i64) -> Question {
        Question {
            log_time: stamp(0),
            stamp: Some(stamp(millis)),
            shown: stamp(0),
            asked_at: at(asked),
        }
    }

    fn tally(ledger: &Ledger) -> Tally {
        ledger.tallies().next().unwrap()
    }

    #[test]
    fn by_count_each_output_answers_the_oldest_question_that_wants_it() {
        let mut ledger = ledger(&["/in -> /a, /b x2"]);
        ledger.asked("/other", question(0, 0));
        assert!(ledger.is_drained());
        ledger.asked("/in", question(1, 0));
        ledger.asked("/in", question(2, 10));
        assert!(!ledger.is_open());
        for (topic, is_open) in [
            ("/a", false),
            ("/b", false),
            ("/b", false),
            // One of the second question's: the first one is not answered yet.
            ("/b", false),
            ("/a", true),
            ("/a", true),
            ("/b", true),
        ] {
            assert!(!ledger.is_drained());
            ledger.answered(topic, None, at(20));
            assert_eq!(ledger.is_open(), is_open, "{topic}");
        }
        assert!(!ledger.is_drained());
        ledger.answered("/a", None, at(30));
        assert!(ledger.is_drained());
        ledger.answered("/a", None, at(40));
        let tally = tally(&ledger);
        assert_eq!((tally.asked, tally.answered, tally.missed), (2, 2, 0));
        assert_eq!((tally.unrequested, tally.latency.count()), (1, 2));
        // Asked at 0 and 10, answered at 20 and 30; rounded up to three digits.
        let longest = tally.latency.quantile(1.0).as_nanos();
        assert!((20_000_000..20_100_000).contains(&longest), "{longest}");
    }

    #[test]
    fn by_stamp_a_message_answers_all_questions_that_are_not_later() {
        let mut ledger = ledger(&["/in -> /a by stamp"]);
        for stamp in [10, 20, 30] {
            ledger.asked("/in", question(stamp, 0));
        }
        // An older one, and one without a stamp, answer nothing.
        ledger.answered("/a", Some(stamp(9)), at(1));
        ledger.answered("/a", None, at(1));
        assert_eq!(tally(&ledger).unrequested, 2);
        ledger.answered("/a", Some(stamp(20)), at(2));
        assert_eq!(tally(&ledger).answered, 2);
        // Without a stamp the clock counts.
        let unstamped = Question {
            log_time: stamp(4),
            stamp: None,
            shown: stamp(40),
            asked_at: at(3),
        };
        ledger.asked("/in", unstamped);
        ledger.answered("/a", Some(stamp(35)), at(4));
        assert!(!ledger.is_drained());
        ledger.answered("/a", Some(stamp(40)), at(5));
        assert!(ledger.is_drained());
    }

    #[test]
    fn by_stamp_several_messages_that_are_not_older_may_be_wanted() {
        let mut ledger = ledger(&["/in -> /a, /b x2 by stamp"]);
        ledger.asked("/in", question(10, 0));
        ledger.asked("/in", question(20, 0));
        for (topic, millis, answered) in [
            ("/a", 9, 0),
            ("/a", 10, 0),
            ("/a", 20, 0),
            ("/b", 20, 0),
            ("/b", 9, 0),
            ("/b", 10, 1),
            ("/b", 20, 1),
            // Messages of one output beyond its number do not replace those of another.
            ("/b", 20, 1),
            ("/a", 20, 2),
        ] {
            ledger.answered(topic, Some(stamp(millis)), at(1));
            assert_eq!(tally(&ledger).answered, answered, "{topic} {millis}");
        }
        assert!(ledger.is_drained());
        assert_eq!(tally(&ledger).unrequested, 3);
    }

    #[test]
    fn what_comes_while_nothing_is_open_answers_nothing_later() {
        let mut ledger = ledger(&["/in -> /a, /b"]);
        for topic in ["/a", "/b", "/a", "/b", "/b"] {
            ledger.answered(topic, None, at(0));
        }
        ledger.asked("/in", question(1, 1));
        for topic in ["/a", "/a", "/a"] {
            ledger.answered(topic, None, at(2));
            assert!(!ledger.is_drained(), "/b has not answered");
        }
        ledger.answered("/b", None, at(3));
        let of = |tally: Tally| (tally.answered, tally.unrequested, tally.wrong_stamps);
        assert!(ledger.is_drained());
        assert_eq!(of(tally(&ledger)), (1, 7, 0));
    }

    #[test]
    fn a_stamp_that_is_later_than_everything_sent_answers_nothing_and_is_named() {
        let mut ledger = ledger(&["/in -> /a by stamp", "/in -> /a"]);
        ledger.asked("/in", question(10, 0));
        ledger.answered("/a", Some(stamp(11)), at(1));
        let tallies: Vec<Tally> = ledger.tallies().collect();
        assert_eq!((tallies[0].answered, tallies[0].wrong_stamps), (0, 1));
        assert_eq!((tallies[1].answered, tallies[1].wrong_stamps), (1, 0));
        // A time that a node may know: the clock, or another topic.
        ledger.reached(stamp(12));
        ledger.asked("/other", question(15, 2));
        ledger.answered("/a", Some(stamp(16)), at(3));
        let missed = ledger.overdue(at(5000)).unwrap().to_string();
        let said = "by /a within 5s; a message of /a has the wrong stamp 0.016000000, which is later than everything that was sent";
        assert!(missed.ends_with(said), "{missed}");
        ledger.asked("/in", question(20, 6000));
        let missed = ledger.oldest(at(6100)).unwrap().to_string();
        assert!(missed.ends_with("by /a within 0.1s"), "{missed}");
        ledger.answered("/a", Some(stamp(15)), at(6001));
        let missed = ledger.oldest(at(6100)).unwrap().to_string();
        assert!(
            missed.ends_with(
                "0.015000000, which is earlier than that of the message that it should answer"
            ),
            "{missed}"
        );
        ledger.answered("/a", Some(stamp(20)), at(6002));
        let tally = tally(&ledger);
        assert_eq!(
            (tally.answered, tally.unrequested, tally.wrong_stamps),
            (1, 1, 2)
        );
    }

    #[test]
    fn the_rule_that_goes_by_the_stamps_of_a_topic_is_known() {
        let ledger = ledger(&["/in -> /a", "/in -> /b, /c by stamp"]);
        assert_eq!(ledger.needs_stamps_of("/a"), None);
        let rule = ledger.needs_stamps_of("/c").map(ToString::to_string);
        assert_eq!(rule.as_deref(), Some("/in -> /b, /c by stamp"));
    }

    #[test]
    fn a_step_of_the_clock_without_an_answer_says_what_timers_may_do() {
        let mut ledger = ledger(&["tick 20ms -> /a"]);
        ledger.ticked(Duration::from_millis(20), question(20, 0));
        let missed = ledger.overdue(at(5000)).unwrap().to_string();
        assert!(
            missed.contains("a timer with another phase")
                && missed.ends_with("hint: --in-flight 2"),
            "{missed}"
        );
    }

    #[test]
    fn ticks_are_questions_of_the_rules_with_that_step() {
        let mut ledger = ledger(&["tick 20ms -> /a", "tick 50ms -> /b", "/in -> /b"]);
        ledger.ticked(Duration::from_millis(20), question(20, 0));
        let asked: Vec<u64> = ledger.tallies().map(|tally| tally.asked).collect();
        assert_eq!(asked, [1, 0, 0]);
    }

    #[test]
    fn what_is_not_answered_in_time_is_given_up_and_named() {
        let mut ledger = ledger(&["/in -> /a, /b within 1s", "/in -> /c"]);
        ledger.asked("/in", question(7, 0));
        ledger.asked("/in", question(8, 500));
        ledger.answered("/a", None, at(600));
        assert_eq!(ledger.deadline(), Some(at(1000)));
        assert_eq!(ledger.overdue(at(999)), None);
        let missed = ledger.overdue(at(1000)).unwrap();
        assert_eq!((missed.rule, missed.number), (0, 0));
        assert_eq!(missed.question.stamp, Some(stamp(7)));
        assert_eq!(missed.missing, ["/b"]);
        let said = "message 0 of /in, at 0.000000000 with stamp 0.007000000, was not answered by /b within 1s";
        assert_eq!(missed.to_string(), said);
        assert_eq!(ledger.overdue(at(1000)), None);
        assert_eq!(ledger.deadline(), Some(at(1500)));
        let missed = ledger.overdue(at(6000)).unwrap();
        assert_eq!((missed.number, missed.missing.len()), (1, 2));
        let all: Vec<usize> = std::iter::from_fn(|| ledger.overdue(at(6000)))
            .map(|missed| missed.rule)
            .collect();
        assert_eq!(all, [1, 1]);
        assert!(ledger.is_drained() && ledger.deadline().is_none());
    }

    proptest! {
        /// By stamp, a question is answered when as many messages as the rule demands have come that are not older than
        /// it.
        #[test]
        fn by_stamp_each_question_gets_as_many_messages_as_it_wants(
            steps in prop::collection::vec((any::<bool>(), 0..20_i64), 0..100),
            times in 1..4_usize,
        ) {
            let mut ledger = ledger(&[&format!("/in -> /a x{times} by stamp")]);
            // No stamp of an answer is later than everything that was sent.
            ledger.reached(stamp(20));
            let mut open: Vec<(i64, usize)> = Vec::new();
            let mut answered = 0;
            for (is_question, millis) in steps {
                if is_question {
                    ledger.asked("/in", question(millis, 0));
                    open.push((millis, 0));
                } else {
                    ledger.answered("/a", Some(stamp(millis)), at(1));
                    let wanting = open.iter_mut().filter(|(from, _)| *from <= millis);
                    wanting.for_each(|(_, had)| *had += 1);
                }
                let before = open.len();
                open.retain(|(_, had)| *had < times);
                answered += before - open.len();
                prop_assert_eq!(tally(&ledger).answered, answered as u64);
                prop_assert_eq!(ledger.is_drained(), open.is_empty());
            }
        }

        /// However questions and answers mix: every question is open, answered or given up, and an answer is never used
        /// for two questions.
        #[test]
        fn questions_and_answers_are_conserved(steps in prop::collection::vec((0..4_u8, 0..50_i64), 0..200), by_stamp: bool) {
            let rule = if by_stamp { "/in -> /a by stamp" } else { "/in -> /a" };
            let mut ledger = ledger(&[rule]);
            let (mut asked, mut answers) = (0_u64, 0_u64);
            for (now, (step, time)) in (0..).zip(steps) {
                match step {
                    0 | 1 => {
                        ledger.asked("/in", question(time, now));
                        asked += 1;
                    }
                    2 => {
                        ledger.answered("/a", Some(stamp(time)), at(now));
                        answers += 1;
                    }
                    _ => {
                        let _ = ledger.overdue(at(now + 4_900));
                    }
                }
                let tally = tally(&ledger);
                let open = asked - tally.answered - tally.missed;
                prop_assert_eq!(tally.asked, asked);
                prop_assert_eq!(ledger.is_open(), open < 2);
                prop_assert_eq!(ledger.is_drained(), open == 0);
                prop_assert!(tally.unrequested <= answers);
                if !by_stamp {
                    prop_assert_eq!(tally.answered + tally.unrequested, answers);
                }
            }
        }
    }
}
