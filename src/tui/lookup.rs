//! [`Lookup`]: what is read from the recording for the screen alone, on a thread of its own: densities from the index,
//! and the message of a topic at or before a time.
//!
//! Of each kind only the newest request is answered, and the read for an older one is cancelled. A message is read
//! before a density continues. When the lookup is dropped, no new read begins. The thread is not joined: it owns
//! nothing that needs cleaning up, and reading a chunk may take long.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};

use super::update::Event;
use crate::bag::{Bag, Direction, Selection, StartAt, TopicId, step_back};
use crate::decode::{Decoder, Limits};
use crate::time::{Ros, Time, TimeRange};
use crate::tui::model::lane::Lane;
use crate::tui::model::layers::{Found, Peeked};

/// The number of parts of a density: more than screens have columns.
const PARTS: usize = 480;
/// The limit of parts of all topics together, whatever number of topics a file declares.
const CELLS: usize = 1 << 21;

/// The shortest interval between reports of a growing density: with hundreds of topics one is megabytes.
const APART: Duration = Duration::from_millis(50);

/// How many bytes the search for a message may hold open, besides the chunk that it opens.
const HELD: u64 = 16 << 20;

/// Arrays of up to nine elements are shown in full: matrices of three by three.
const LIMITS: Limits = Limits {
    elements: 9,
    ..Limits::SCREENS
};

/// Where answers go.
pub type Tell = Arc<dyn Fn(Event) + Send + Sync>;

#[derive(Clone, Copy, Debug)]
enum Question {
    Outline(TimeRange),
    Peek(TopicId, Time<Ros>),
}

/// Sends requests; the answers come as events.
#[derive(Debug)]
pub struct Lookup {
    questions: Sender<Question>,
}

impl Lookup {
    /// Starts a thread that reads `bag` and sends what it found through `tell`.
    pub fn start(bag: Bag, tell: Tell) -> std::io::Result<Self> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the screen asks a few times a second at most, and the newest counts"
        )]
        let (send, questions) = unbounded();
        std::thread::Builder::new()
            .name("lookup".into())
            .spawn(move || answer(&bag, &questions, &tell))?;
        Ok(Self { questions: send })
    }

    /// Requests the density of a range.
    pub fn outline(&self, range: TimeRange) {
        self.ask(Question::Outline(range));
    }

    /// Requests the message of a topic at or before a time.
    pub fn peek(&self, topic: TopicId, at: Time<Ros>) {
        self.ask(Question::Peek(topic, at));
    }

    fn ask(&self, question: Question) {
        // A thread that has panicked has printed its message.
        let _ = self.questions.send(question);
    }
}

/// The requests that have not been answered.
struct Open<'a> {
    bag: &'a Bag,
    questions: &'a Receiver<Question>,
    tell: &'a Tell,
    decoder: Option<(TopicId, Decoder)>,
    outline: Option<TimeRange>,
    peek: Option<(TopicId, Time<Ros>)>,
    is_over: bool,
}

fn answer(bag: &Bag, questions: &Receiver<Question>, tell: &Tell) {
    step_back();
    let mut open = Open {
        bag,
        questions,
        tell,
        decoder: None,
        outline: None,
        peek: None,
        is_over: false,
    };
    while let Ok(question) = questions.recv() {
        open.note(question);
        while open.catch_up() && open.outline() {}
    }
}

impl Open<'_> {
    fn note(&mut self, question: Question) {
        match question {
            Question::Outline(range) => self.outline = Some(range),
            Question::Peek(topic, at) => self.peek = Some((topic, at)),
        }
    }

    /// Takes new requests.
    fn listen(&mut self) {
        loop {
            match self.questions.try_recv() {
                Ok(question) => self.note(question),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.is_over = true;
                    return;
                }
            }
        }
    }

    /// Takes new requests and answers one for a message at once; false if the lookup was dropped.
    fn catch_up(&mut self) -> bool {
        self.listen();
        while let Some((topic, at)) = self.peek.take().filter(|_| !self.is_over) {
            let mut decoder = self.decoder.take();
            let bag = self.bag;
            let mut is_wanted = || {
                self.listen();
                !self.is_over && self.peek.is_none()
            };
            let read = || peek(bag, topic, at, &mut decoder, &mut is_wanted);
            let found = catch_unwind(AssertUnwindSafe(read));
            self.decoder = decoder;
            let found =
                found.unwrap_or_else(|_| Found::Damaged("through a defect of this program".into()));
            // A cancelled search may have found nothing, or the wrong message.
            self.listen();
            if !self.is_over && self.peek.is_none() {
                (self.tell)(Event::Peeked(Peeked { topic, at, found }));
            }
        }
        !self.is_over
    }

    /// Reads the density that was requested, until a newer request; false if none was requested.
    fn outline(&mut self) -> bool {
        let Some(range) = self.outline.take() else {
            return false;
        };
        let bag = self.bag;
        let (mut last, mut told) = (None, None);
        bag.outline_within(range, parts(bag.topics().len()), &mut |outline| {
            if !self.catch_up() || self.outline.is_some() {
                last = None;
                return ControlFlow::Break(());
            }
            let lane = |is_whole| Lane {
                range,
                outline: outline.clone(),
                is_whole,
            };
            let now = now();
            if told.is_none_or(|told| now - told >= APART) {
                (self.tell)(Event::Lane(lane(false)));
                told = Some(now);
            }
            last = Some(lane(true));
            ControlFlow::Continue(())
        });
        if let Some(lane) = last {
            (self.tell)(Event::Lane(lane));
        }
        true
    }
}

/// The number of parts of each density for so many topics.
fn parts(topics: usize) -> usize {
    (CELLS / topics.max(1)).clamp(16, PARTS)
}

#[expect(clippy::disallowed_methods, reason = "pictures are drawn in wall time")]
fn now() -> Instant {
    Instant::now()
}

fn peek(
    bag: &Bag,
    topic: TopicId,
    at: Time<Ros>,
    decoder: &mut Option<(TopicId, Decoder)>,
    is_wanted: &mut dyn FnMut() -> bool,
) -> Found {
    let only = Selection::of([topic], bag);
    let cursor = bag.cursor(&only, StartAt::At(at), Direction::Reverse);
    let message = match cursor.holding(HELD).next_while(is_wanted) {
        None => return Found::Nothing,
        Some(Err(damage)) => return Found::Damaged(damage.to_string()),
        Some(Ok(message)) => message,
    };
    if decoder.as_ref().is_none_or(|(of, _)| *of != topic) {
        let known = bag.topics().get(topic.index());
        *decoder = known.map(|known| (topic, Decoder::new(known)));
    }
    let Some((_, decoder)) = decoder else {
        return Found::Nothing;
    };
    Found::Message {
        log_time: message.log_time,
        publish_time: message.publish_time,
        bytes: message.payload.len(),
        said: decoder.decode(&message.payload, LIMITS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_ends_when_nobody_wants_the_message_any_more() {
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
        let bag = Bag::open(&[demo]).unwrap();
        let end = bag.range().unwrap().stop();
        // The search asks before each chunk; the last chunk has such a message.
        for patience in [0, 1] {
            let mut asked = 0;
            let mut is_wanted = || {
                asked += 1;
                asked <= patience
            };
            let found = peek(&bag, TopicId(2), end, &mut None, &mut is_wanted);
            assert_eq!(found == Found::Nothing, patience == 0);
            assert_eq!(asked, 1);
        }
    }

    #[test]
    fn many_topics_are_known_in_fewer_parts() {
        for (topics, expected) in [(0, 480), (500, 480), (4369, 480), (5000, 419), (65_535, 32)] {
            assert_eq!(parts(topics), expected, "{topics} topics");
        }
    }
}
