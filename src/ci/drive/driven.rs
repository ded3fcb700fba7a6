//! [`Driven`]: an output that holds the player until what it passes on has been dealt with.

use super::desk::Desk;
use crate::bag::{Message, TopicId};
use crate::ci::gates::{GateRule, Trigger};
use crate::decode::HeaderStamp;
use crate::output::{Delivery, Occasion, Output};
use crate::time::{Duration, Ros, Segment, Time};

/// A topic that is sent.
#[derive(Clone, Debug)]
pub struct DrivenTopic {
    /// Its name on the network, by which gates name it.
    pub name: String,
    /// Whether its messages begin with a stamp.
    pub stamp: Option<HeaderStamp>,
}

/// Passes everything on to another output, and holds the player after it as its [`Desk`] says.
#[derive(Debug)]
pub struct Driven<O> {
    inner: O,
    desk: Desk,
    /// By the index of the recorded topic; `None`: it is not played.
    topics: Vec<Option<DrivenTopic>>,
    ticks: Ticks,
    /// What was added to log time to get the time of the clock.
    shift: Duration,
    segment: Option<Segment>,
    /// The farthest time of this generation: a message of an earlier time is played there.
    reached: Option<Time<Ros>>,
}

/// The steps of the clock that are questions.
#[derive(Debug)]
struct Ticks {
    spans: Vec<Duration>,
    origin: Time<Ros>,
    /// The time that was shown last: a time that is shown again is no step.
    shown: Option<Time<Ros>>,
}

impl<O> Driven<O> {
    /// Around `inner`. `topics` are by the index of the recorded topic. Steps of the clock are counted from `start`,
    /// where playing starts; `shift` is what the clock adds to log time.
    pub fn new(
        inner: O,
        desk: Desk,
        topics: Vec<Option<DrivenTopic>>,
        rules: &[GateRule],
        start: Time<Ros>,
        shift: Duration,
    ) -> Self {
        let mut spans: Vec<Duration> = rules
            .iter()
            .filter_map(|rule| match rule.trigger {
                Trigger::Tick(span) => Some(span),
                Trigger::Topic(_) => None,
            })
            .collect();
        spans.sort_unstable();
        spans.dedup();
        Self {
            inner,
            desk,
            topics,
            ticks: Ticks {
                spans,
                origin: start,
                shown: None,
            },
            shift,
            segment: None,
            reached: None,
        }
    }

    /// The other output.
    pub fn into_inner(self) -> O {
        self.inner
    }

    /// The time at which something of time `t` is played: in a generation, playback never runs against its direction.
    fn played_at(&mut self, t: Time<Ros>) -> Time<Ros> {
        let at = match (self.reached, self.segment) {
            (Some(reached), Some(segment)) if segment.is_before(t, reached) => reached,
            _ => t,
        };
        self.reached = Some(at);
        at
    }

    /// While playback rolls, its thread does not wait here: the position would go on.
    fn sent(&self) {
        let is_rolling = self.segment.is_some_and(Segment::is_rolling);
        self.desk.sent(!is_rolling);
    }

    fn topic(&self, id: TopicId) -> Option<&DrivenTopic> {
        self.topics.get(id.index())?.as_ref()
    }
}

impl<O: Output> Output for Driven<O> {
    fn segment(&mut self, segment: &Segment) {
        let before = self.segment.replace(*segment);
        if before.is_none_or(|before| before.generation() != segment.generation()) {
            (self.ticks.shown, self.reached) = (None, None);
        }
        self.inner.segment(segment);
    }

    fn finish(&mut self) {
        self.inner.finish();
    }

    fn clock(&mut self, time: Time<Ros>) {
        let at = self.played_at(time.saturating_add(-self.shift));
        let ticks = &mut self.ticks;
        self.desk.sends(at, |asking| {
            asking.reached(time);
            for span in ticks.reached(at) {
                asking.tick(span, at, time);
            }
        });
        self.inner.clock(time);
        self.sent();
    }

    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        self.inner.serve_clock(period)
    }

    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        let asks = occasion == Occasion::Due;
        // A refill is from before the position.
        let at = if asks {
            self.played_at(message.key.time)
        } else {
            self.reached.unwrap_or(message.key.time)
        };
        let Some(topic) = self.topic(message.topic) else {
            return self.inner.message(message, occasion);
        };
        if self.desk.leaves_out(&topic.name) {
            return Delivery::Dropped;
        }
        let shift = self.shift;
        self.desk.sends(at, |asking| {
            if asks {
                let stamp = topic.stamp.and_then(|it| it.read(&message.payload));
                let log_time = message.key.time;
                let shown = log_time.saturating_add(shift);
                asking.message(&topic.name, log_time, shown, stamp);
            }
        });
        let delivery = self.inner.message(message, occasion);
        self.sent();
        if asks
            && delivery == Delivery::Dropped
            && let Some(topic) = self.topic(message.topic)
        {
            self.desk.withdraws(&topic.name);
        }
        delivery
    }
}

impl Ticks {
    /// The spans of which a step is reached at `t`, which is shown now. Where playing starts, none is.
    fn reached(&mut self, t: Time<Ros>) -> Vec<Duration> {
        let is_first = self.shown.is_none();
        if self.shown.replace(t) == Some(t) || is_first {
            return Vec::new();
        }
        let past = i128::from(t.as_nanos()) - i128::from(self.origin.as_nanos());
        let is_step = |span: &&Duration| past % i128::from(span.as_nanos()) == 0;
        self.spans.iter().filter(is_step).copied().collect()
    }
}
