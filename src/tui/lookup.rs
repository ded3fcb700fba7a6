//! [`Lookup`]: what is read from the recording for the screen alone, on a thread of its own: densities from the
//! index, and the message of a topic at or before a time.
//!
//! Of each kind only the newest question is answered, and what is being read for an older one is broken off; a
//! message is read before a density goes on. When the lookup is dropped nothing more is begun. The thread is not
//! waited for: it owns nothing that has to be put in order, and a chunk may take its time.

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

/// In how many parts a density is known: more than screens have columns.
const PARTS: usize = 480;
/// Of how many parts of all topics together at most, whatever a file says that it has.
const CELLS: usize = 1 << 21;

/// A density that grows is told no more often: with hundreds of topics it is megabytes.
const APART: Duration = Duration::from_millis(50);

/// What the search for a message holds open at most, in bytes, besides the chunk that it opens.
const HELD: u64 = 16 << 20;

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

    /// Takes what was asked meanwhile.
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

    /// Takes what was asked meanwhile, and reads a message at once; false if nobody wants anything any more.
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
            // What was broken off has found nothing, or not what is there.
            self.listen();
            if !self.is_over && self.peek.is_none() {
                (self.tell)(Event::Peeked(Peeked { topic, at, found }));
            }
        }
        !self.is_over
    }

    /// Reads the density that was asked for, until another one is; false if none was.
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

/// In how many parts the densities of so many topics are known.
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
        // Asked before each chunk; the last one has such a message.
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
