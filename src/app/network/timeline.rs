//! What the services tell a screen elsewhere about the recording of a run: its [`TimelineSource`].

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bagplay::bag::{Bag, Reach, TopicId, step_back};
use bagplay::cli::Plan;
use bagplay::decode::{MessageAt, MessageFinder, PayloadFormat};
use bagplay::marks::Mark;
use bagplay::player::{State, Transport};
use bagplay::time::{Duration, Ros, Steady, Time, TimeRange};
use bagplay::wire::services::messages::timeline::{FieldText, MessageText};
use bagplay::wire::{
    FoundText, KnownDensity, ServedTimeline, ServedTopic, Services, TimelineSource,
};

use super::densities::Densities;
use super::mark_book::{MarkBook, MarkChange};
use super::subscribers::SubscriberCounts;
use super::{Network, failure};
use crate::app::failure::Failure;

/// How long a search for a message may take while somebody waits for it.
const SEARCH_TIME: Duration = Duration::from_secs(2);

impl Network {
    /// Offers what a screen elsewhere needs of a recording.
    pub(crate) fn serve_recording(
        &self,
        plan: &Plan,
        bag: &Bag,
        (transport, reach): (&Transport, Reach),
        marks: Arc<MarkBook>,
    ) -> Result<Vec<Services>, Failure> {
        let name = bag.files().first().map(|file| file.name.last_part());
        let source = RecordingSource {
            densities: Densities::of(bag.clone(), transport.clone()),
            bag: bag.clone(),
            finder: Mutex::default(),
            search_time: SEARCH_TIME,
            transport: transport.clone(),
            subscribers: self.subscriber_counts(bag.topics().len()),
            marks,
        };
        self.serve_timeline(
            transport,
            ServedTimeline {
                name: name.unwrap_or_default().to_owned(),
                shift: plan.options.clock.shift,
                topics: self.served_topics(plan, bag),
                reach,
                source: Box::new(source),
            },
        )
    }

    /// Offers what a screen elsewhere needs of a clock without a recording.
    pub(crate) fn serve_no_recording(
        &self,
        plan: &Plan,
        transport: &Transport,
    ) -> Result<Vec<Services>, Failure> {
        let source = NoRecording {
            subscribers: self.subscriber_counts(0),
        };
        self.serve_timeline(
            transport,
            ServedTimeline {
                name: String::new(),
                shift: plan.options.clock.shift,
                topics: Vec::new(),
                reach: Reach::default(),
                source: Box::new(source),
            },
        )
    }

    /// On the first wire of ROS 2; ROS 1 lacks this service.
    fn serve_timeline(
        &self,
        transport: &Transport,
        served: ServedTimeline,
    ) -> Result<Vec<Services>, Failure> {
        let Some(session) = self.node_sessions().next() else {
            return Ok(Vec::new());
        };
        let services = session.serve_timeline(transport, served);
        services.map(Vec::from).map_err(failure)
    }

    fn served_topics(&self, plan: &Plan, bag: &Bag) -> Vec<ServedTopic> {
        let chosen: HashMap<TopicId, _> = plan.chosen.iter().map(|it| (it.id, it)).collect();
        let on_the_wire: HashMap<TopicId, _> = self
            .topics()
            .iter()
            // With several wires, the first counts.
            .rev()
            .flat_map(|topic| topic.ids.iter().map(|id| (*id, topic.qos)))
            .collect();
        // Of several with one name, the first counts.
        let left_out: HashMap<&str, &String> = plan
            .left_out
            .iter()
            .rev()
            .map(|it| (it.topic.as_str(), &it.reason))
            .collect();
        let describe = |(recorded, id): (&bagplay::bag::Topic, u32)| {
            let id = TopicId(id);
            let chosen = chosen.get(&id);
            let left_out = left_out.get(recorded.name.as_str());
            ServedTopic {
                recorded: recorded.clone(),
                name: chosen.map_or_else(|| recorded.name.clone(), |chosen| chosen.name.clone()),
                qos: on_the_wire.get(&id).copied().flatten(),
                left_out: match chosen {
                    Some(_) => None,
                    None => Some(left_out.map_or("not played", |it| it.as_str()).to_owned()),
                },
            }
        };
        bag.topics().iter().zip(0..).map(describe).collect()
    }
}

/// A recording that is played.
struct RecordingSource {
    bag: Bag,
    densities: Densities,
    /// The finder of the last search: it knows the type of the topic.
    finder: Mutex<Option<MessageFinder>>,
    /// How long a search may take.
    search_time: Duration,
    transport: Transport,
    subscribers: SubscriberCounts,
    marks: Arc<MarkBook>,
}

impl RecordingSource {
    fn finder(&self) -> MutexGuard<'_, Option<MessageFinder>> {
        self.finder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the run is over. Then a search ends, because the services end only when all waiting calls are answered.
    fn is_over(&self) -> bool {
        let status = self.transport.status();
        status.is_some_and(|status| status.state == State::Stopped)
    }
}

impl TimelineSource for RecordingSource {
    fn density(&self, range: TimeRange) -> KnownDensity {
        self.densities.get(range)
    }

    fn message(&self, topic: TopicId, at: Time<Ros>) -> FoundText {
        // This lowers the priority of the thread that answers look-ups, and of no other thread.
        step_back();
        let until: Time<Steady> = self.transport.now().saturating_add(self.search_time);
        let mut given_up = None;
        let mut is_wanted = || {
            given_up = if self.is_over() {
                Some("the run is over")
            } else if self.transport.now() > until {
                Some("the search for a message takes too long")
            } else {
                None
            };
            given_up.is_none()
        };
        if !is_wanted() {
            return not_found(given_up.unwrap_or_default());
        }
        let kept = self.finder().take();
        let mut finder = kept.unwrap_or_else(|| MessageFinder::new(self.bag.clone()));
        let find = || finder.find(topic, at, &mut is_wanted);
        let found = catch_unwind(AssertUnwindSafe(find));
        *self.finder() = Some(finder);
        if let Some(reason) = given_up {
            return not_found(reason);
        }
        let Ok(found) = found else {
            return not_found("an error in this program");
        };
        match found {
            MessageAt::NoMessage => FoundText::default(),
            MessageAt::Damaged(damage) => not_found(&damage),
            MessageAt::Message {
                log_time,
                publish_time,
                bytes,
                decoded,
                header_stamp: _,
            } => {
                let lines = decoded.lines.into_iter().map(|line| FieldText {
                    depth: u32::try_from(line.depth).unwrap_or(u32::MAX),
                    name: line.name,
                    value: line.value,
                });
                FoundText {
                    times: Some((log_time, publish_time)),
                    text: MessageText {
                        bytes: bytes as u64,
                        format: format_name(decoded.format).to_owned(),
                        lines: lines.collect(),
                        problem: decoded.problem.unwrap_or_default(),
                        is_cut: decoded.is_cut,
                        ..MessageText::default()
                    },
                }
            }
        }
    }

    fn subscribers(&self) -> (Vec<Option<usize>>, Option<usize>) {
        self.subscribers.get()
    }

    fn marks(&self) -> Result<Vec<(Time<Ros>, String)>, String> {
        let marks = self.marks.list()?;
        Ok(marks
            .into_iter()
            .map(|mark| (mark.time, mark.name))
            .collect())
    }

    fn marks_revision(&self) -> u64 {
        self.marks.revision()
    }

    fn set_mark(&self, time: Time<Ros>, name: Option<String>) -> Result<(), String> {
        self.marks.change_and_tell(match name {
            Some(name) => MarkChange::Add(Mark { time, name }),
            None => MarkChange::Remove(time),
        })
    }
}

fn not_found(reason: &str) -> FoundText {
    FoundText {
        times: None,
        text: MessageText {
            message: reason.to_owned(),
            ..MessageText::default()
        },
    }
}

const fn format_name(format: PayloadFormat) -> &'static str {
    match format {
        PayloadFormat::Cdr => "cdr",
        PayloadFormat::Ros1 => "ros1",
        PayloadFormat::Protobuf => "protobuf",
        PayloadFormat::Json => "json",
        PayloadFormat::Hex => "hex",
    }
}

/// A clock server has no recording.
struct NoRecording {
    subscribers: SubscriberCounts,
}

impl TimelineSource for NoRecording {
    fn density(&self, _: TimeRange) -> KnownDensity {
        KnownDensity {
            is_whole: true,
            outline: None,
        }
    }

    fn message(&self, _: TopicId, _: Time<Ros>) -> FoundText {
        FoundText::default()
    }

    fn subscribers(&self) -> (Vec<Option<usize>>, Option<usize>) {
        self.subscribers.get()
    }

    fn marks(&self) -> Result<Vec<(Time<Ros>, String)>, String> {
        Ok(Vec::new())
    }

    fn marks_revision(&self) -> u64 {
        0
    }

    fn set_mark(&self, _: Time<Ros>, _: Option<String>) -> Result<(), String> {
        Err("a clock without a recording has no marks".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use bagplay::output::Null;
    use bagplay::player::{Command, Intent, Options, Player, Source};

    use super::*;

    #[test]
    fn nothing_is_searched_when_the_run_is_over() {
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
        let bag = Bag::open(&[demo]).unwrap();
        let range = bag.range().unwrap();
        let player = Player::new();
        let transport = player.transport();
        let source = RecordingSource {
            densities: Densities::of(bag.clone(), transport.clone()),
            bag,
            finder: Mutex::default(),
            search_time: Duration::MAX,
            transport: transport.clone(),
            subscribers: SubscriberCounts::default(),
            marks: Arc::new(MarkBook::of(Vec::new())),
        };
        let options = Options {
            intent: Intent::Pause,
            ..Options::new(range)
        };
        let running = player.start(options, Source::empty(), Null).unwrap();
        let found = source.message(TopicId(2), range.stop());
        assert!(found.times.is_some(), "{}", found.text.message);
        transport.ask(Command::Stop).unwrap();
        let found = source.message(TopicId(2), range.stop());
        assert_eq!(found, not_found("the run is over"));
        running.join().unwrap();
    }
}
