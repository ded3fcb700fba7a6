//! [`Lookup`]: reads from the recording for the screen, on a thread of its own: densities and holes from the index, the
//! message of a topic at or before a time, pictures, the values of watched fields, and messages that are searched for.
//!
//! Of each kind only the newest request is answered, and the read for an older one is cancelled. What takes less time
//! is answered while something that takes longer is read: messages, pictures, watched values, densities, a search, and
//! at last holes and alerts. When the lookup is dropped, no new read begins. The thread is not joined: it owns nothing
//! that needs cleaning up, and reading a chunk may take long.

pub(super) mod request;
pub(super) mod requests;
mod search;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};

use crate::bag::{Bag, TopicId, step_back};
use crate::decode::{MessageAt, MessageFinder};
use crate::time::{Ros, Time, TimeRange};
use crate::tui::model::layers::LookupResult;
use crate::tui::model::timeline::lane::Lane;
use crate::tui::model::watch::WatchedValues;
use crate::tui::pacing::wall_now;
use crate::tui::pictures::finder::PictureFinder;
use crate::tui::pictures::found::{FoundPictures, PictureAt};
use crate::tui::pictures::requests::PictureRequest;
use crate::tui::update::Event;
use crate::tui::watch::pin::Pin;
use crate::tui::watch::reader;
use crate::tui::watch::series::Series;
use request::{FindRequest, LookupRequest};
use search::BackgroundSearch;

/// The most parts of a density: more than screens have columns.
const MAX_PARTS: usize = 480;
/// The most parts of all topics together, whatever number of topics a file declares.
const MAX_PARTS_OF_ALL: usize = 1 << 21;

/// The shortest interval between reports of a growing density: with hundreds of topics one is megabytes.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);

/// How long watched values are read at once.
const LONGEST_FOR_VALUES: Duration = Duration::from_secs(10);
/// What is said in place of an answer if reading fails.
const PANIC: &str = "an error in this program";

/// Receives the answers, as events.
pub type EventSink = Arc<dyn Fn(Event) + Send + Sync>;

/// Sends requests; the answers come as events.
#[derive(Debug)]
pub struct Lookup {
    requests: Sender<LookupRequest>,
    /// What it reads; `None` if somebody else answers.
    bag: Option<Bag>,
}

impl Lookup {
    /// Starts a thread that reads `bag` and sends what it found through `sink`.
    pub fn start(bag: Bag, sink: EventSink) -> std::io::Result<Self> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the screen asks a few times a second at most, and the newest counts"
        )]
        let (send, requests) = unbounded();
        let read = Some(bag.clone());
        std::thread::Builder::new()
            .name("lookup".into())
            .spawn(move || run(&bag, &requests, &sink))?;
        Ok(Self {
            requests: send,
            bag: read,
        })
    }

    /// Sends the requests to somebody else, who answers with events.
    pub fn to(requests: Sender<LookupRequest>) -> Self {
        Self {
            requests,
            bag: None,
        }
    }

    /// Requests the density of a range.
    pub fn outline(&self, range: TimeRange) {
        self.send(LookupRequest::Outline(range));
    }

    /// Requests the holes of the recording.
    pub fn holes(&self) {
        self.send(LookupRequest::Holes);
    }

    /// Requests the message of a topic at or before a time.
    pub fn find_message(&self, topic: TopicId, at: Time<Ros>) {
        self.send(LookupRequest::Message(topic, at));
    }

    /// Requests the damaged parts.
    pub fn damaged(&self) {
        self.send(LookupRequest::Damaged);
    }

    /// The number of damaged places that any reader of the recording has met; 0 if the recording is read elsewhere.
    pub(super) fn known_damage(&self) -> u64 {
        self.bag.as_ref().map_or(0, Bag::damage_count)
    }

    /// Requests the warnings and errors of nodes.
    pub fn alerts(&self) {
        self.send(LookupRequest::Alerts);
    }

    /// Begins or ends a search.
    pub fn find(&self, request: FindRequest) {
        self.send(LookupRequest::Find(request));
    }

    /// Requests pictures.
    pub fn pictures(&self, request: PictureRequest) {
        self.send(LookupRequest::Pictures(request));
    }

    /// Requests the values of watched fields over a range.
    pub fn watch(&self, pins: Vec<Pin>, range: TimeRange) {
        self.send(LookupRequest::Watch(pins, range));
    }

    fn send(&self, request: LookupRequest) {
        // A thread that has panicked has printed its message.
        let _ = self.requests.send(request);
    }
}

/// The requests that have not been answered.
struct PendingRequests<'a> {
    bag: &'a Bag,
    requests: &'a Receiver<LookupRequest>,
    sink: &'a EventSink,
    finder: Option<MessageFinder>,
    outline: Option<TimeRange>,
    message: Option<(TopicId, Time<Ros>)>,
    /// Whether the holes were requested.
    holes: bool,
    picture_finder: PictureFinder,
    pictures: Option<PictureRequest>,
    watch: Option<(Vec<Pin>, TimeRange)>,
    find: Option<FindRequest>,
    /// Whether the alerts were requested.
    alerts: bool,
    is_over: bool,
}

fn run(bag: &Bag, requests: &Receiver<LookupRequest>, sink: &EventSink) {
    step_back();
    let mut pending = PendingRequests {
        bag,
        requests,
        sink,
        finder: None,
        outline: None,
        message: None,
        holes: false,
        picture_finder: PictureFinder::new(bag.clone()),
        pictures: None,
        watch: None,
        find: None,
        alerts: false,
        is_over: false,
    };
    while let Ok(request) = requests.recv() {
        pending.add(request);
        pending.answer_all();
    }
}

impl PendingRequests<'_> {
    fn add(&mut self, request: LookupRequest) {
        match request {
            LookupRequest::Outline(range) => self.outline = Some(range),
            LookupRequest::Message(topic, at) => self.message = Some((topic, at)),
            LookupRequest::Holes => self.holes = true,
            // No message has to be read for this.
            LookupRequest::Damaged => (self.sink)(Event::Damaged(self.bag.damaged_parts())),
            LookupRequest::Alerts => self.alerts = true,
            LookupRequest::Find(request) => self.find = Some(request),
            LookupRequest::Pictures(request) => self.pictures = Some(request),
            LookupRequest::Watch(pins, range) => self.watch = Some((pins, range)),
        }
    }

    /// Takes new requests.
    fn receive(&mut self) {
        loop {
            match self.requests.try_recv() {
                Ok(request) => self.add(request),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.is_over = true;
                    return;
                }
            }
        }
    }

    /// Takes new requests and answers one for a message at once; false if the lookup was dropped.
    fn answer_messages(&mut self) -> bool {
        self.receive();
        while let Some((topic, at)) = self.message.take().filter(|_| !self.is_over) {
            let finder = self.finder.take();
            let mut finder = finder.unwrap_or_else(|| MessageFinder::new(self.bag.clone()));
            let mut is_wanted = || {
                self.receive();
                !self.is_over && self.message.is_none()
            };
            let outcome = guarded(|| finder.find(topic, at, &mut is_wanted));
            self.finder = Some(finder);
            let outcome = outcome.unwrap_or_else(|| MessageAt::Damaged(PANIC.into()));
            // A cancelled search may have found nothing, or the wrong message.
            self.receive();
            if !self.is_over && self.message.is_none() {
                (self.sink)(Event::Lookup(LookupResult { topic, at, outcome }));
            }
        }
        !self.is_over
    }

    /// The same, then for pictures.
    fn answer_pictures(&mut self) -> bool {
        while self.answer_messages()
            && let Some(request) = self.pictures.take()
        {
            let PictureRequest {
                slots,
                at,
                style,
                is_fresh,
            } = request;
            let mut finder = std::mem::replace(
                &mut self.picture_finder,
                PictureFinder::new(self.bag.clone()),
            );
            if is_fresh {
                finder.forget();
            }
            let mut found = Vec::with_capacity(slots.len());
            for slot in slots {
                let mut is_wanted = || self.answer_messages() && self.pictures.is_none();
                let picture = guarded(|| finder.find(slot, at, &style, &mut is_wanted));
                let picture = picture.unwrap_or_else(|| PictureAt::Problem(PANIC.into()));
                found.push((slot, picture));
            }
            self.picture_finder = finder;
            // A search that was cancelled may have found nothing.
            if !self.is_over && self.pictures.is_none() {
                (self.sink)(Event::Pictures(FoundPictures { at, found }));
            }
        }
        !self.is_over
    }

    /// The same, then for watched values.
    fn answer_values(&mut self) -> bool {
        while self.answer_pictures()
            && let Some((pins, range)) = self.watch.take()
        {
            if pins.is_empty() {
                continue;
            }
            let bag = self.bag;
            let until = (range, wall_now() + LONGEST_FOR_VALUES);
            let mut is_wanted = || self.answer_pictures() && self.watch.is_none();
            let series = guarded(|| reader::read(bag, &pins, until, &mut is_wanted));
            let failed = || Some(vec![Series::failed(range, PANIC); pins.len()]);
            if let Some(series) = series.unwrap_or_else(failed) {
                (self.sink)(Event::Watched(WatchedValues {
                    pins,
                    range,
                    series,
                }));
            }
        }
        !self.is_over
    }

    /// The same, then for a density, which is read from indexes.
    fn answer_densities(&mut self) -> bool {
        while self.answer_values()
            && let Some(range) = self.outline.take()
        {
            // It has reported what it had, if it fails.
            guarded(|| self.outline(range));
        }
        !self.is_over
    }

    /// The same, then for a search.
    fn answer_searches(&mut self) -> bool {
        while self.answer_densities()
            && let Some(request) = self.find.take()
        {
            let (bag, sink) = (self.bag, self.sink);
            let mut report = |found| sink(Event::Hits(found));
            let FindRequest::Begin(expression) = request else {
                continue;
            };
            let Some(mut search) = BackgroundSearch::for_expression(bag, *expression) else {
                continue;
            };
            let mut is_wanted = || self.answer_densities() && self.find.is_none();
            if guarded(|| search.run(&mut is_wanted, &mut report)).is_none() {
                report(search.failed(PANIC));
            }
        }
        !self.is_over
    }

    /// The same, then for holes and alerts.
    fn answer_all(&mut self) -> bool {
        while self.answer_searches() {
            let bag = self.bag;
            if std::mem::take(&mut self.holes) {
                let mut is_wanted = || self.answer_searches();
                let found = guarded(|| bag.timing_while(&mut is_wanted)).flatten();
                if !self.is_over {
                    if let Some(timing) = &found {
                        (self.sink)(Event::Periods(timing.periods.clone()));
                    }
                    (self.sink)(Event::Holes(found.and_then(|timing| timing.holes)));
                }
            } else if std::mem::take(&mut self.alerts) {
                let sink = self.sink;
                let mut report = |found| sink(Event::Alerts(found));
                let mut search = BackgroundSearch::for_alerts(bag);
                let mut is_wanted = || self.answer_searches();
                if guarded(|| search.run(&mut is_wanted, &mut report)).is_none() {
                    report(search.failed(PANIC));
                }
            } else {
                break;
            }
        }
        !self.is_over
    }

    /// Reads a density, until a newer request.
    fn outline(&mut self, range: TimeRange) {
        let bag = self.bag;
        let (mut last, mut reported) = (None, None);
        bag.outline_within(range, parts(bag.topics().len()), &mut |outline| {
            if !self.answer_values() || self.outline.is_some() {
                last = None;
                return ControlFlow::Break(());
            }
            let lane = |is_whole| Lane {
                range,
                outline: outline.clone(),
                is_whole,
            };
            let now = wall_now();
            if reported.is_none_or(|reported| now - reported >= REPORT_INTERVAL) {
                (self.sink)(Event::Lane(lane(false)));
                reported = Some(now);
            }
            last = Some(lane(true));
            ControlFlow::Continue(())
        });
        if let Some(lane) = last {
            (self.sink)(Event::Lane(lane));
        }
    }
}

/// The result of reading from a recording; `None` if it failed with an error in this program, which has printed its
/// message.
fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).ok()
}

/// The number of parts of each density for so many topics.
fn parts(topics: usize) -> usize {
    (MAX_PARTS_OF_ALL / topics.max(1)).clamp(16, MAX_PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_density_of_many_topics_has_fewer_parts() {
        for (topics, expected) in [(0, 480), (500, 480), (4369, 480), (5000, 419), (65_535, 32)] {
            assert_eq!(parts(topics), expected, "{topics} topics");
        }
    }
}
