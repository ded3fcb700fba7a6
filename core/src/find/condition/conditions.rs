//! [`Conditions`]: several expressions, each found in the definitions of the topics that it names.

use super::bind;
use super::bound::{BoundCondition, BoundField};
use super::error::FindError;
use super::matched::Match;
use crate::bag::{Topic, TopicId};
use crate::decode::FieldError;
use crate::find::expression::syntax::{Expression, Topics};
use crate::ros::{is_same_topic, nearest_topic};

/// How many topics an error lists.
const MAX_LISTED: usize = 12;

/// What is searched for in a recording: the conditions of each of its topics.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Of each topic, by its id, in the order of the expressions.
    of_topics: Vec<Vec<TopicCondition>>,
    left_out: Vec<FindError>,
}

/// The condition of an expression, for one topic.
#[derive(Clone, Debug)]
struct TopicCondition {
    expression: usize,
    condition: BoundCondition,
    shown: Vec<BoundField>,
}

impl Conditions {
    /// Finds the fields of expressions in the definitions of topics. Each topic that an expression names must have its
    /// fields. Of the topics that match a pattern, those without them are left out, if one has them. A leading slash of
    /// a name does not count.
    pub fn new(topics: &[Topic], expressions: &[Expression]) -> Result<Self, FindError> {
        let mut conditions = Self::none(topics);
        for (index, expression) in expressions.iter().enumerate() {
            conditions.add(topics, index, expression)?;
        }
        Ok(conditions)
    }

    /// The same; an expression that does not fit the topics is left out.
    pub fn that_fit(topics: &[Topic], expressions: &[Expression]) -> Self {
        let mut conditions = Self::none(topics);
        for (index, expression) in expressions.iter().enumerate() {
            if let Err(error) = conditions.add(topics, index, expression) {
                conditions.left_out.push(error);
            }
        }
        conditions
    }

    /// The topics that have a condition.
    pub fn topics(&self) -> impl Iterator<Item = TopicId> {
        let ids = (0..).map(TopicId).zip(&self.of_topics);
        ids.filter(|(_, conditions)| !conditions.is_empty())
            .map(|(id, _)| id)
    }

    /// Why expressions and topics that match a pattern were left out.
    pub fn left_out(&self) -> &[FindError] {
        &self.left_out
    }

    /// Whether a message of a topic satisfies a condition; if it satisfies several, the first. An error if the payload
    /// does not have the type of the topic and no condition is satisfied.
    pub fn check(&self, topic: TopicId, payload: &[u8]) -> Result<Option<Match>, FieldError> {
        let mut unreadable = None;
        for of_topic in self.of_topics.get(topic.index()).into_iter().flatten() {
            match of_topic.condition.holds(payload, None) {
                Ok(true) => return of_topic.explain(payload).map(Some),
                Ok(false) => {}
                Err(error) => unreadable = unreadable.or(Some(error)),
            }
        }
        unreadable.map_or(Ok(None), Err)
    }

    fn none(topics: &[Topic]) -> Self {
        Self {
            of_topics: vec![Vec::new(); topics.len()],
            left_out: Vec::new(),
        }
    }

    fn add(
        &mut self,
        topics: &[Topic],
        index: usize,
        expression: &Expression,
    ) -> Result<(), FindError> {
        let is_meant = |topic: &Topic| match &expression.topics {
            Topics::Named(name) => is_same_topic(&topic.name, name),
            Topics::Matching(pattern) => pattern.is_match(&topic.name),
        };
        let meant = topics.iter().enumerate();
        let mut meant = meant.filter(|(_, topic)| is_meant(topic)).peekable();
        if meant.peek().is_none() {
            return Err(unknown(topics, &expression.topics));
        }
        let mut bound = Vec::new();
        let mut misfits = Vec::new();
        for (id, topic) in meant {
            match (
                TopicCondition::new(topic, index, expression),
                &expression.topics,
            ) {
                (Ok(condition), _) => bound.push((id, condition)),
                (Err(error), Topics::Named(_)) => return Err(error),
                (Err(error), Topics::Matching(_)) => misfits.push(error),
            }
        }
        if bound.is_empty()
            && let Some(first) = misfits.first()
        {
            return Err(first.clone());
        }
        self.left_out.append(&mut misfits);
        for (id, condition) in bound {
            self.of_topics[id].push(condition);
        }
        Ok(())
    }
}

impl TopicCondition {
    fn new(topic: &Topic, index: usize, expression: &Expression) -> Result<Self, FindError> {
        let shown = expression.shown.iter();
        let shown = shown.map(|path| bind::field(topic, path));
        Ok(Self {
            expression: index,
            condition: bind::condition(topic, &expression.condition)?,
            shown: shown.collect::<Result<_, _>>()?,
        })
    }

    /// The values by which a message satisfies the condition. It is read once more: most messages satisfy none.
    fn explain(&self, payload: &[u8]) -> Result<Match, FieldError> {
        let mut witnesses = Vec::new();
        self.condition.holds(payload, Some(&mut witnesses))?;
        let shown = self.shown.iter();
        let shown = shown.flat_map(|field| field.shown(payload, &witnesses));
        let shown = shown.collect();
        let mut decided_by: Vec<_> = witnesses.into_iter().map(|it| it.value).collect();
        let mut known = std::collections::BTreeSet::new();
        decided_by.retain(|value| known.insert(value.field.clone()));
        Ok(Match {
            expression: self.expression,
            decided_by,
            shown,
        })
    }
}

fn unknown(topics: &[Topic], wanted: &Topics) -> FindError {
    let mut names: Vec<&str> = topics.iter().map(|topic| topic.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let more = match names.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let all = match names.as_slice() {
        [] => "it has no topics".to_owned(),
        all => {
            let listed: Vec<_> = all.iter().take(MAX_LISTED).copied().collect();
            format!("recorded are {}{more}", listed.join(", "))
        }
    };
    match wanted {
        Topics::Named(name) => {
            let nearest = nearest_topic(name, names);
            FindError::UnknownTopic {
                name: name.clone(),
                others: nearest.map_or(all, |nearest| format!("did you mean {nearest}?")),
            }
        }
        Topics::Matching(pattern) => FindError::NoMatch {
            pattern: pattern.to_string(),
            others: all,
        },
    }
}
