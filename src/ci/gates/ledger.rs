//! [`Ledger`]: which questions are open, by all rules of a run.

use std::fmt;

use super::open_questions::{Open, OpenQuestions, Question};
use super::rule::{GateRule, Trigger};
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
}

/// A rule, its open questions, and what has become of the others.
#[derive(Debug)]
struct Gate {
    rule: GateRule,
    open: OpenQuestions,
    tally: Tally,
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
    /// Messages of the outputs that no open question wanted.
    pub unrequested: u64,
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

/// A question that was not answered in time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missed {
    /// The rule, by its place among those of the ledger.
    pub rule: usize,
    /// What was a question.
    pub trigger: Trigger,
    /// How long an answer was waited for.
    pub within: Duration,
    /// The number of the question among those of its rule, from 0.
    pub number: u64,
    /// The question.
    pub question: Question,
    /// The outputs of which messages are missing.
    pub missing: Vec<String>,
}

impl fmt::Display for Missed {
    /// One sentence that names the input.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.missing.join(", ");
        let Question {
            log_time, stamp, ..
        } = self.question;
        match &self.trigger {
            Trigger::Topic(topic) => {
                write!(f, "message {} of {topic}, at {log_time}", self.number)?;
                match stamp.filter(|stamp| *stamp != log_time) {
                    Some(stamp) => write!(f, " with stamp {stamp},")?,
                    None => write!(f, ",")?,
                }
            }
            Trigger::Tick(span) => write!(
                f,
                "the step of the clock to {log_time} (step {} of {span}, counted from where playing starts)",
                self.number
            )?,
        }
        let within = self.within;
        write!(f, " was not answered by {missing} within {within}")
    }
}

impl Ledger {
    /// Without questions.
    pub fn new(rules: Vec<GateRule>, limits: Limits) -> Self {
        let gate = |rule| Gate {
            rule,
            open: OpenQuestions::default(),
            tally: Tally::default(),
        };
        Self {
            gates: rules.into_iter().map(gate).collect(),
            limits,
        }
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
        for gate in self
            .gates
            .iter_mut()
            .filter(|gate| is_for(&gate.rule.trigger))
        {
            gate.open.ask(question, &gate.rule);
        }
    }

    /// A message that was counted as a question was not sent after all: the youngest question of each rule with this topic
    /// is forgotten.
    pub fn withdraw(&mut self, topic: &str) {
        let is_for =
            |gate: &&mut Gate| matches!(&gate.rule.trigger, Trigger::Topic(it) if it == topic);
        for gate in self.gates.iter_mut().filter(is_for) {
            gate.open.withdraw();
        }
    }

    /// A message of the system under test has come, with its `header.stamp` if its type has one. Returns the questions that
    /// it completes.
    pub fn answered(
        &mut self,
        topic: &str,
        stamp: Option<Time<Ros>>,
        at: Time<Steady>,
    ) -> Vec<Answered> {
        let mut all = Vec::new();
        for (rule, gate) in self.gates.iter_mut().enumerate() {
            let Some(output) = gate.rule.outputs.iter().position(|it| it == topic) else {
                continue;
            };
            match gate.open.answer(output, stamp, gate.rule.matching) {
                Some(done) => {
                    for open in done {
                        gate.tally.answer(&open, at);
                        let question = open.question;
                        all.push(Answered { rule, question });
                    }
                }
                None => gate.tally.unrequested += 1,
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

    /// Gives up a question that was not answered by `now`. To be called until it returns `None`. A message that comes later
    /// answers the next question, unless the rule goes by stamps.
    pub fn overdue(&mut self, now: Time<Steady>) -> Option<Missed> {
        let limits = self.limits;
        let mut gates = self.gates.iter_mut().enumerate();
        let (rule, gate) =
            gates.find(|(_, gate)| gate.deadline(limits).is_some_and(|end| end <= now))?;
        let open = gate.open.give_up()?;
        gate.tally.missed += 1;
        Some(Missed {
            rule,
            trigger: gate.rule.trigger.clone(),
            within: gate.rule.within.unwrap_or(limits.within),
            number: open.number,
            question: open.question,
            missing: OpenQuestions::missing_outputs(&open, &gate.rule),
        })
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
        // Without a stamp the log time counts.
        let unstamped = Question {
            log_time: stamp(40),
            stamp: None,
            asked_at: at(3),
        };
        ledger.asked("/in", unstamped);
        ledger.answered("/a", Some(stamp(35)), at(4));
        assert!(!ledger.is_drained());
        ledger.answered("/a", Some(stamp(40)), at(5));
        assert!(ledger.is_drained());
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
