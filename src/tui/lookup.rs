//! [`Lookup`]: what is read from the recording for the screen alone, on a thread of its own: densities from the
//! index, and the message of a topic at or before a time.
//!
//! Of each kind only the newest question is answered; a density that is being read for an older range is broken
//! off, a message is read in between. When the lookup is dropped nothing more is begun. The thread is not waited
//! for: it owns nothing that has to be put in order, and a message may lie behind much that has to be read.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};

use super::lane::Lane;
use super::layers::{Found, Peeked};
use super::update::Event;
use crate::bag::{Bag, Direction, Selection, StartAt, TopicId, step_back};
use crate::decode::{Decoder, Limits};
use crate::time::{Ros, Time, TimeRange};

/// In how many parts a density is known: more than screens have columns.
const PARTS: usize = 480;

/// A density that grows is told no more often: with hundreds of topics it is megabytes.
const APART: Duration = Duration::from_millis(50);

/// Three by three is shown whole.
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

/// Asks; the answers come as events.
#[derive(Debug)]
pub struct Lookup {
    questions: Sender<Question>,
}

impl Lookup {
    /// A thread that reads `bag` and tells what it found.
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

    /// Asks for the density of a range.
    pub fn outline(&self, range: TimeRange) {
        self.ask(Question::Outline(range));
    }

    /// Asks for the message of a topic at or before a time.
    pub fn peek(&self, topic: TopicId, at: Time<Ros>) {
        self.ask(Question::Peek(topic, at));
    }

    fn ask(&self, question: Question) {
        // A thread that broke down has said so.
        let _ = self.questions.send(question);
    }
}

/// What was asked and is not answered.
struct Open<'a> {
    bag: &'a Bag,
    questions: &'a Receiver<Question>,
    tell: &'a Tell,
    decoder: Option<(TopicId, Decoder)>,
    outline: Option<TimeRange>,
    peek: Option<(TopicId, Time<Ros>)>,
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

    /// Takes what was asked meanwhile, and reads a message at once; false if nobody wants anything any more.
    fn catch_up(&mut self) -> bool {
        loop {
            match self.questions.try_recv() {
                Ok(question) => self.note(question),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
        if let Some((topic, at)) = self.peek.take() {
            let decoder = AssertUnwindSafe(&mut self.decoder);
            let bag = self.bag;
            let peeked = catch_unwind(move || peek(bag, topic, at, { decoder }.0));
            let peeked = peeked.unwrap_or_else(|_| Peeked {
                topic,
                at,
                found: Found::Damaged("through a defect of this program".into()),
            });
            (self.tell)(Event::Peeked(peeked));
        }
        true
    }

    /// Reads the density that was asked for, until another one is; false if none was.
    fn outline(&mut self) -> bool {
        let Some(range) = self.outline.take() else {
            return false;
        };
        let bag = self.bag;
        let (mut last, mut told) = (None, None);
        bag.outline_within(range, PARTS, &mut |outline| {
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

#[expect(clippy::disallowed_methods, reason = "pictures are drawn in wall time")]
fn now() -> Instant {
    Instant::now()
}

fn peek(
    bag: &Bag,
    topic: TopicId,
    at: Time<Ros>,
    decoder: &mut Option<(TopicId, Decoder)>,
) -> Peeked {
    let only = Selection::of([topic], bag);
    let mut cursor = bag.cursor(&only, StartAt::At(at), Direction::Reverse);
    let found = match cursor.next() {
        None => Found::Nothing,
        Some(Err(damage)) => Found::Damaged(damage.to_string()),
        Some(Ok(message)) => {
            if decoder.as_ref().is_none_or(|(of, _)| *of != topic) {
                *decoder = bag
                    .topics()
                    .get(topic.index())
                    .map(|known| (topic, Decoder::new(known)));
            }
            match decoder {
                None => Found::Nothing,
                Some((_, decoder)) => Found::Message {
                    log_time: message.log_time,
                    publish_time: message.publish_time,
                    bytes: message.payload.len(),
                    said: decoder.decode(&message.payload, LIMITS),
                },
            }
        }
    };
    Peeked { topic, at, found }
}
