//! Whether one frame can be reached from another: at every stamp of a topic, or at the end.

use std::fmt;
use std::ops::ControlFlow;

use super::frames::{Frames, Wanted};
use crate::ci::judge::expect::rule::{Outcome, Role, Rule, Scope, Seen, messages};
use crate::ci::judge::expect::topics::{Bags, TopicKey};
use crate::ci::judge::expect::values::{Readers, StampReaders, unreadable};
use crate::decode::{FieldError, FieldValue};
use crate::time::{Duration, Ros, Time};
use crate::untrusted::Foreign;

/// After how many stamps that cannot be decided yet they are tried again.
const FIRST_TRIAL: usize = 256;
/// How many stamps may wait for transforms.
const MAX_WAITING: usize = 1 << 20;

/// Which frames are expected to be connected, and when.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TransformSpec {
    pub(crate) target: String,
    pub(crate) source: String,
    /// The topic whose stamps are judged; `None`: only the end.
    pub(crate) at: Option<String>,
}

impl fmt::Display for TransformSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (target, source) = (Foreign::text(&self.target), Foreign::text(&self.source));
        write!(f, "{target} from {source}")?;
        match &self.at {
            Some(topic) => write!(f, " at every stamp of {topic}"),
            None => write!(f, " at the end"),
        }
    }
}

/// Readers of what a transform has: the frame in which it is defined, the frame that it defines, and its stamp.
#[derive(Debug)]
pub(crate) struct TransformReaders([Readers; 3]);

impl TransformReaders {
    pub(crate) fn new(bags: &Bags<'_>, topics: &[TopicKey]) -> Self {
        let paths = [
            "transforms[*].header.frame_id",
            "transforms[*].child_frame_id",
            "transforms[*].header.stamp",
        ];
        Self(paths.map(|path| {
            let path = path.parse().expect("it is a path");
            Readers::new(bags, topics, &path)
        }))
    }

    /// Adds the transforms of a message.
    fn add(&self, seen: &Seen, is_static: bool, frames: &mut Frames) -> Result<(), FieldError> {
        let mut names = [Vec::new(), Vec::new()];
        let [parent, child, stamp] = &self.0;
        for (reader, names) in [parent, child].into_iter().zip(&mut names) {
            reader.read(seen, &mut |_, value| {
                if let FieldValue::Text(name) = value {
                    names.push(name.into_owned());
                }
                ControlFlow::Continue(())
            })?;
        }
        let [parents, children] = &names;
        let mut pairs = parents.iter().zip(children);
        stamp.read(seen, &mut |_, value| {
            if let (Some((parent, child)), FieldValue::Time(stamp)) = (pairs.next(), value) {
                frames.add(parent, child, (!is_static).then_some(stamp));
            }
            ControlFlow::Continue(())
        })
    }
}

pub(crate) struct Transform {
    spec: TransformSpec,
    scope: Scope,
    transforms: TransformReaders,
    stamps: StampReaders,
    frames: Frames,
    /// Stamps for which no transform is known yet, and the log times of their messages.
    waiting: Vec<(i64, Time<Ros>)>,
    /// How many of them are tried again.
    trial_at: usize,
    asked: u64,
    /// What ended it early.
    end: Option<Outcome>,
}

impl Transform {
    pub(crate) fn new(
        spec: TransformSpec,
        scope: Scope,
        transforms: TransformReaders,
        stamps: StampReaders,
    ) -> Self {
        Self {
            spec,
            scope,
            transforms,
            stamps,
            frames: Frames::default(),
            waiting: Vec::new(),
            trial_at: FIRST_TRIAL,
            asked: 0,
            end: None,
        }
    }

    /// Whether the frames are connected at a stamp. As in tf2, zero stands for the newest transforms.
    fn is_known(frames: &Frames, spec: &TransformSpec, stamp: i64) -> bool {
        let at = if stamp == 0 {
            Wanted::Latest
        } else {
            Wanted::At(stamp)
        };
        frames.are_connected(&spec.target, &spec.source, at)
    }

    /// Tries the stamps again for which no transform was known.
    fn try_again(&mut self) {
        let Self { frames, spec, .. } = self;
        self.waiting
            .retain(|(stamp, _)| !Self::is_known(frames, spec, *stamp));
    }

    fn ask(&mut self, seen: &Seen) {
        self.asked += 1;
        let stamp = match self.stamps.stamp(seen) {
            Ok(stamp) => stamp,
            Err(error) => {
                let at = self.scope.at(seen.at);
                self.end.get_or_insert(unreadable(&self.scope, &error, &at));
                return;
            }
        };
        if Self::is_known(&self.frames, &self.spec, stamp) {
            return;
        }
        self.waiting.push((stamp, seen.at));
        if self.waiting.len() >= self.trial_at {
            self.try_again();
            self.trial_at = FIRST_TRIAL.max(self.waiting.len() * 2);
            if self.waiting.len() >= MAX_WAITING {
                let what = format!("more than {MAX_WAITING} stamps wait for transforms");
                self.end = Some(Outcome::Unknown(self.scope.says(what)));
            }
        }
    }

    fn fails(&self, when: &str, more: &str) -> Outcome {
        let TransformSpec { target, source, .. } = &self.spec;
        let why = self.frames.missing(target, source);
        let what = format!("{target} from {source} is not known {when}: {why}{more}");
        if self.frames.is_full() {
            return Outcome::Unknown(self.scope.says(format!("too many frames; {what}")));
        }
        Outcome::Fails(self.scope.says(Foreign::text(&what)))
    }
}

impl Rule for Transform {
    fn message(&mut self, role: Role, seen: &Seen) {
        if self.end.is_some() {
            return;
        }
        match role {
            Role::Transforms { is_static } => {
                if let Err(error) = self.transforms.add(seen, is_static, &mut self.frames) {
                    let at = self.scope.at(seen.at);
                    self.end = Some(unreadable(&self.scope, &error, &at));
                }
            }
            _ if self.scope.window.contains(seen.at) => self.ask(seen),
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>) -> Outcome {
        if let Some(end) = self.end {
            return end;
        }
        let Some(topic) = self.spec.at.clone() else {
            let TransformSpec { target, source, .. } = &self.spec;
            if self.frames.are_connected(target, source, Wanted::Latest) {
                return Outcome::Holds(String::new());
            }
            return self.fails("at the end", "");
        };
        if self.asked == 0 {
            return Outcome::NoMessage;
        }
        self.try_again();
        let Some((stamp, at)) = self.waiting.first() else {
            let of = format!("{} of {topic}", messages(self.asked));
            return Outcome::Holds(self.scope.says(of));
        };
        let (stamp, at) = (Duration::from_nanos(*stamp), self.scope.at(*at));
        let more = match self.waiting.len() {
            1 => String::new(),
            all => format!("; {all} of {} have such a stamp", messages(self.asked)),
        };
        self.fails(&format!("at {stamp}, the stamp of {topic} at {at}"), &more)
    }
}
