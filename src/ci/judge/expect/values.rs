//! [`Readers`]: a field reader for each recorded topic of one name.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::rule::{Outcome, Scope, Seen};
use super::topics::{Bags, TopicKey};
use crate::decode::{FieldError, FieldReader, FieldValue, ValuePath};

/// Readers of one path. Topics of one name may have several types.
#[derive(Debug)]
pub(crate) struct Readers {
    path: ValuePath,
    readers: BTreeMap<TopicKey, Result<FieldReader, FieldError>>,
}

impl Readers {
    pub(crate) fn new(bags: &Bags<'_>, topics: &[TopicKey], path: &ValuePath) -> Self {
        let reader = |key: &TopicKey| {
            let topic = bags.get(key.side)?.topics().get(key.id.index())?;
            Some((*key, FieldReader::new(topic, path)))
        };
        Self {
            path: path.clone(),
            readers: topics.iter().filter_map(reader).collect(),
        }
    }

    pub(crate) fn path(&self) -> &ValuePath {
        &self.path
    }

    /// Visits the values in a message.
    pub(crate) fn read(
        &self,
        seen: &Seen,
        visit: &mut dyn FnMut(&[u64], FieldValue<'_>) -> ControlFlow<()>,
    ) -> Result<(), FieldError> {
        match self.readers.get(&seen.topic) {
            Some(Ok(reader)) => reader.read(&seen.payload, visit),
            Some(Err(error)) => Err(error.clone()),
            // A message of a topic that was not asked for has no value.
            None => Ok(()),
        }
    }
}

/// Readers of `header.stamp`.
#[derive(Debug)]
pub(crate) struct StampReaders(Readers);

impl StampReaders {
    pub(crate) fn new(bags: &Bags<'_>, topics: &[TopicKey]) -> Self {
        let path = "header.stamp".parse().expect("it is a path");
        Self(Readers::new(bags, topics, &path))
    }

    /// The stamp of a message, in nanoseconds.
    pub(crate) fn stamp(&self, seen: &Seen) -> Result<i64, FieldError> {
        let mut found = None;
        self.0.read(seen, &mut |_, value| {
            found = match value {
                FieldValue::Time(nanos) => Some(nanos),
                _ => None,
            };
            ControlFlow::Break(())
        })?;
        found.ok_or_else(|| FieldError::Path("`header.stamp` is not a time".to_owned()))
    }
}

/// A payload that is wrong is a failure; without a definition, or with a path that the type does not have, nothing is
/// known.
pub(crate) fn unreadable(scope: &Scope, error: &FieldError, at: &str) -> Outcome {
    match error {
        FieldError::Payload(_) => {
            Outcome::Fails(scope.says(format!("the message at {at} is wrong: {error}")))
        }
        _ => Outcome::Unknown(scope.says(error)),
    }
}
