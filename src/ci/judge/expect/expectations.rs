//! [`Expectations`]: what is expected of the outputs of runs, read from a file.

use std::collections::BTreeSet;

use super::expectation::{Expectation, Spec};
use super::file::schema;
use super::file::source::{ExpectationError, Source};
use super::judge;
use super::judged::Judged;
use super::rules::count::CountSpec;
use super::topics::Bags;
use crate::ci::report::Check;
use crate::untrusted::{FileName, Foreign};

/// What is expected of the outputs of a run, or of any recording.
///
/// ```
/// use bagplay::ci::judge::expect::Expectations;
/// let text = "
///     [[expect]]
///     topic = '/odom'
///     count = { min = 100 }
///
///     [[expect.field]]
///     path = 'pose.pose.position.x'
///     in = 'last'
///     value = 3.0
///     tolerance = 0.1
/// ";
/// let expectations = Expectations::parse(text, "expect.toml")?;
/// let names: Vec<_> = expectations.names().collect();
/// assert_eq!(names, ["/odom: count >= 100", "/odom: last pose.pose.position.x == 3.0 ± 0.1"]);
/// # Ok::<(), bagplay::ci::judge::expect::ExpectationError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Expectations {
    /// Each with its name.
    all: Vec<(String, Expectation)>,
}

impl Expectations {
    /// Reads a file. Errors name the file, the line and the column.
    pub fn parse(text: &str, file: impl Into<FileName>) -> Result<Self, ExpectationError> {
        let source = Source::new(text, &file.into());
        let mut expectations = Self::default();
        expectations.extend(schema::read(&source)?);
        Ok(expectations)
    }

    /// Adds those of another file.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.extend(other.all.into_iter().map(|(_, expectation)| expectation));
        self
    }

    fn extend(&mut self, more: impl IntoIterator<Item = Expectation>) {
        let mut taken: BTreeSet<String> = self.names().map(str::to_owned).collect();
        for expectation in more {
            let name = expectation.name();
            let numbered = (2_u64..).map(|number| format!("{name} ({number})"));
            let mut names = std::iter::once(name.clone()).chain(numbered);
            let unique = names.find(|name| !taken.contains(name));
            let unique = unique.expect("numbers do not end");
            taken.insert(unique.clone());
            self.all.push((unique, expectation));
        }
    }

    /// The names of the checks, in their order. Each is unique.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(name, _)| name.as_str())
    }

    /// The topics whose messages are judged: they have to be recorded. Triggers are not among them. Those of transforms
    /// may be in the recordings that were played instead.
    pub fn topics(&self) -> BTreeSet<&str> {
        let mut topics = BTreeSet::new();
        for (_, expectation) in &self.all {
            match &expectation.spec {
                Spec::Gate(_) => {}
                Spec::Transform(_) => topics.extend(["/tf", "/tf_static"]),
                _ => {
                    topics.insert(expectation.topic.as_str());
                }
            }
        }
        topics
    }

    /// The topics that the system under test has to publish, or must not: without those of transforms, which may be in
    /// the recordings that were played instead.
    pub fn output_topics(&self) -> impl Iterator<Item = &str> {
        let all = self.all.iter().map(|(_, expectation)| expectation);
        let of_topics = all.filter(|it| !matches!(it.spec, Spec::Gate(_) | Spec::Transform(_)));
        of_topics.map(|expectation| expectation.topic.as_str())
    }

    /// Judges a run: one check for each expectation, in their order. Damage of the outputs that was met adds one check
    /// that says so. The outputs are read once; memory does not depend on their length.
    pub fn judge(&self, run: &Judged<'_>) -> Vec<Check> {
        judge::judge(&self.all, run)
    }

    /// A sentence for each topic that must not have messages, that nobody played or published, and whose name is almost
    /// that of another one: the expectation holds, but may mean the other topic.
    pub fn doubts(&self, run: &Judged<'_>) -> Vec<String> {
        let bags = Bags::of(run);
        let mut doubts = Vec::new();
        for (name, expectation) in &self.all {
            let is_absent = matches!(expectation.spec, Spec::Count(CountSpec::NONE));
            if is_absent && let Some(nearest) = bags.nearest(&expectation.topic) {
                let nearest = Foreign::text(nearest);
                doubts.push(format!(
                    "{name}: there is no such topic; did you mean {nearest}?"
                ));
            }
        }
        doubts
    }

    /// The tables of a file and their keys, for its documentation.
    pub const fn tables() -> &'static [(&'static str, &'static [&'static str])] {
        &schema::FORMS
    }
}
