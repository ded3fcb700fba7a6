//! [`OpenQuestions`]: the questions of one rule that have not been answered.

use std::collections::VecDeque;

use super::rule::{GateRule, Matching};
use crate::time::{Ros, Steady, Time};

/// A message of the recording, or a step of the clock, that has to be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// Its time in the recording.
    pub log_time: Time<Ros>,
    /// Its `header.stamp`; `None` if its type has none.
    pub stamp: Option<Time<Ros>>,
    /// What the clock shows at its log time; the two differ if the clock starts at another time than the recording. It
    /// is used if there is no stamp, because nodes stamp their messages with the time of the clock.
    pub shown: Time<Ros>,
    /// When it was sent.
    pub asked_at: Time<Steady>,
}

impl Question {
    fn stamp(&self) -> Time<Ros> {
        self.stamp.unwrap_or(self.shown)
    }
}

/// A question, and what is left of its answer.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) question: Question,
    /// Its number among the questions of the rule, from 0.
    pub(super) number: u64,
    /// For each output of the rule how many messages are missing.
    missing: Box<[u32]>,
}

/// The open questions of one rule, the oldest first.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    questions: VecDeque<Open>,
    asked: u64,
}

impl OpenQuestions {
    pub(super) fn len(&self) -> usize {
        self.questions.len()
    }

    pub(super) fn asked(&self) -> u64 {
        self.asked
    }

    pub(super) fn oldest(&self) -> Option<&Open> {
        self.questions.front()
    }

    pub(super) fn ask(&mut self, question: Question, rule: &GateRule) {
        self.questions.push_back(Open {
            question,
            number: self.asked,
            missing: vec![rule.times; rule.outputs.len()].into(),
        });
        self.asked += 1;
    }

    /// The youngest question was not asked after all. One that was answered or given up meanwhile stays counted.
    pub(super) fn withdraw(&mut self) {
        let is_youngest = |open: &Open| open.number + 1 == self.asked;
        if self.questions.back().is_some_and(is_youngest) {
            self.questions.pop_back();
            self.asked -= 1;
        }
    }

    /// The oldest question is given up.
    pub(super) fn give_up(&mut self) -> Option<Open> {
        self.questions.pop_front()
    }

    /// A message of this output has come; returns the questions that it completes, or `None` if no open question wanted
    /// it.
    pub(super) fn answer(
        &mut self,
        output: usize,
        stamp: Option<Time<Ros>>,
        matching: Matching,
    ) -> Option<Vec<Open>> {
        let mut wanting = self.questions.iter_mut().filter_map(|open| {
            let left = open.missing.get_mut(output).filter(|left| **left > 0)?;
            Some((open.question, left))
        });
        match matching {
            Matching::Count => *wanting.next()?.1 -= 1,
            Matching::Stamp => {
                let stamp = stamp?;
                let mut answered = wanting.filter(|(question, _)| question.stamp() <= stamp);
                *answered.next()?.1 -= 1;
                answered.for_each(|(_, left)| *left -= 1);
            }
        }
        let is_done = |open: &Open| open.missing.iter().all(|left| *left == 0);
        let done = self.questions.iter().filter(|open| is_done(open)).cloned();
        let done = done.collect();
        self.questions.retain(|open| !is_done(open));
        Some(done)
    }

    /// The outputs whose messages are still missing for this question.
    pub(super) fn missing_outputs<'a>(open: &'a Open, rule: &'a GateRule) -> Vec<String> {
        let outputs = rule.outputs.iter().zip(&open.missing);
        let missing = outputs.filter(|(_, left)| **left > 0);
        missing.map(|(output, _)| output.clone()).collect()
    }
}
