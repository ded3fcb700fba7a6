//! [`Ordered`]: what one subscription receives, with what latched publishers have sent before it.
//!
//! The protocol is that of the advanced publishers of `zenoh-ext`, as `rmw_zenoh` uses them: a liveliness token
//! announces a publisher, which answers queries for what it keeps and sends its last number again in heartbeats. The
//! advanced subscriber of `zenoh-ext` asks twice for the same messages, at the start and for the token; when the two
//! answers overlap, it can drop the first messages. Here a publisher is asked once at a time.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::config::ZenohId;
use zenoh::key_expr::KeyExpr;
use zenoh::query::{ConsolidationMode, QueryTarget, ReplyKeyExpr};
use zenoh::sample::{Locality, Sample, SampleKind};

use super::source::{Mark, Source, Wanted};

/// Comes after the key of a topic and before the session and the number of a publisher.
const PUBLISHERS: &str = "/@adv/pub/";
/// Stands for the number of a publisher whose messages have times.
const TIMED: &str = "uhlc";
/// How long a publisher may take for its answer.
const ANSWER: Duration = Duration::from_secs(10);
/// How much is held at most, in bytes. When a message exceeds it, all that is held of its publisher is handed over.
const MOST_HELD: usize = 64 << 20;
/// What a held message takes beside its payload and its attachment, in bytes, about.
const COST: usize = 1024;
/// How many publishers are told apart; those that have left are forgotten for new ones. Messages of further ones are
/// handed over as they come.
const MOST_SOURCES: usize = 1024;

/// Handles each message.
type Receive = Box<dyn Fn(&Sample) + Send + Sync>;

/// Hands over the messages of one subscription.
pub(super) struct Ordered {
    zenoh: zenoh::Session,
    key: KeyExpr<'static>,
    /// Whether the publishers of messages with times are asked, too, before their token is known.
    is_latched: bool,
    receive: Receive,
    sources: Mutex<Sources>,
}

#[derive(Debug, Default)]
struct Sources {
    by_id: HashMap<SourceId, Source<Sample>>,
    /// Those whose token has gone. Their messages may still come, and so may their token, over another link.
    left: Vec<SourceId>,
    /// The size of all that is held, in bytes.
    held: usize,
}

/// A publisher whose messages have numbers, or all publishers of a session whose messages have times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct SourceId {
    session: ZenohId,
    /// The number of the publisher in its session; `None` if its messages have times.
    entity: Option<u32>,
}

impl SourceId {
    /// The publisher that a token, or the key of a heartbeat, names.
    fn of_key(key: &str) -> Option<Self> {
        let (_, names) = key.rsplit_once(PUBLISHERS)?;
        let mut names = names.split('/');
        let (session, entity) = (names.next()?, names.next()?);
        Some(Self {
            session: session.parse().ok()?,
            entity: match entity {
                TIMED => None,
                number => Some(number.parse().ok()?),
            },
        })
    }

    /// The publisher of a message, and its mark; `None` if it has neither a number nor a time.
    fn of(sample: &Sample) -> Option<(Self, Mark)> {
        if let Some(info) = sample.source_info() {
            let id = info.source_id();
            let (session, entity) = (id.zid(), Some(id.eid()));
            return Some((Self { session, entity }, Mark::Number(info.source_sn())));
        }
        let timestamp = sample.timestamp()?;
        let session = ZenohId::try_from(&timestamp.get_id().to_le_bytes()[..]).ok()?;
        let id = Self {
            session,
            entity: None,
        };
        Some((id, Mark::Time(timestamp.get_time().as_u64())))
    }

    /// The key under which it answers queries.
    fn key(&self, topic: &KeyExpr<'_>) -> String {
        let Self { session, entity } = self;
        let entity = entity.map_or_else(|| TIMED.to_owned(), |number| number.to_string());
        format!("{topic}{PUBLISHERS}{session}/{entity}/**")
    }
}

impl Ordered {
    /// For the topic with this key. `receive` is called for one message at a time.
    pub(super) fn new(
        zenoh: zenoh::Session,
        key: KeyExpr<'static>,
        is_latched: bool,
        receive: Receive,
    ) -> Self {
        Self {
            zenoh,
            key,
            is_latched,
            receive,
            sources: Mutex::default(),
        }
    }

    /// The tokens and the heartbeats of the publishers of a topic.
    pub(super) fn publishers(key: &KeyExpr<'_>) -> String {
        format!("{key}{PUBLISHERS}**")
    }

    fn sources(&self) -> MutexGuard<'_, Sources> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message has come.
    pub(super) fn take(self: &Arc<Self>, sample: Sample) {
        let Some((id, mark)) = SourceId::of(&sample) else {
            // In the same order as the others.
            let _turn = self.sources();
            return (self.receive)(&sample);
        };
        let mut sources = self.sources();
        let is_known = sources.by_id.contains_key(&id);
        // In ROS only latched publishers number their messages, but any message may have a time.
        let is_source = is_known || self.is_latched || id.entity.is_some();
        if !is_source || !sources.has_room_for(&id) {
            return (self.receive)(&sample);
        }
        let attached = sample.attachment().map_or(0, ZBytes::len);
        let bytes = sample.payload().len() + attached + COST;
        let mut hand_over = |it| (self.receive)(&it);
        let wanted = sources.change(id, |source| {
            source.take(mark, sample, bytes, &mut hand_over)
        });
        if sources.held > MOST_HELD {
            sources.change(id, |source| source.hand_over_held(&mut hand_over));
        }
        drop(sources);
        if let Some(wanted) = wanted {
            self.ask(id, wanted);
        }
    }

    /// The token of a publisher has come or gone.
    pub(super) fn told(self: &Arc<Self>, token: &Sample) {
        let Some(id) = SourceId::of_key(token.key_expr()) else {
            return;
        };
        let is_there = token.kind() == SampleKind::Put;
        self.sources().is_there(id, is_there);
        if is_there {
            self.ask_unless_asked(id);
        }
    }

    /// A publisher has sent its last number.
    pub(super) fn heard(self: &Arc<Self>, heartbeat: &Sample) {
        let id = SourceId::of_key(heartbeat.key_expr());
        let number = zenoh_ext::z_deserialize(heartbeat.payload()).ok();
        let (Some(id), Some(number)) = (id, number) else {
            return;
        };
        let is_new = |source: &Source<Sample>| source.is_new(number);
        let has_to_ask = self.sources().by_id.get(&id).is_none_or(is_new);
        if has_to_ask {
            self.ask_unless_asked(id);
        }
    }

    /// Asks a publisher for the messages that it keeps and that have not come, unless it is being asked.
    fn ask_unless_asked(self: &Arc<Self>, id: SourceId) {
        let mut sources = self.sources();
        let has_room = sources.has_room_for(&id);
        let wanted = has_room.then(|| sources.change(id, Source::ask)).flatten();
        drop(sources);
        if let Some(wanted) = wanted {
            self.ask(id, wanted);
        }
    }

    /// Asks a publisher. What is held of it is handed over when the answer is complete.
    fn ask(self: &Arc<Self>, id: SourceId, wanted: Wanted) {
        let key = id.key(&self.key);
        let selector = match wanted {
            Wanted::All => key,
            Wanted::From(number) => format!("{key}?_sn={number}.."),
        };
        let question = Question {
            of: Arc::downgrade(self),
            to: id,
        };
        let sent = self
            .zenoh
            .get(selector)
            .callback(move |reply| {
                if let Ok(sample) = reply.into_result() {
                    question.reply(sample);
                }
            })
            .consolidation(ConsolidationMode::None)
            .accept_replies(ReplyKeyExpr::Any)
            .allowed_destination(Locality::Remote)
            .target(QueryTarget::All)
            .timeout(ANSWER)
            .wait();
        // An error means that the session is closed. The question is over in any case.
        drop(sent);
    }
}

impl Sources {
    /// Whether there is a source, or one can be added. If there are too many, one whose token has gone is forgotten.
    fn has_room_for(&mut self, id: &SourceId) -> bool {
        if self.by_id.len() < MOST_SOURCES || self.by_id.contains_key(id) {
            return true;
        }
        let by_id = &self.by_id;
        let is_idle = |id: &SourceId| by_id.get(id).is_none_or(|source| source.held_bytes() == 0);
        let Some(idle) = self.left.iter().position(is_idle) else {
            return false;
        };
        self.by_id.remove(&self.left.remove(idle));
        true
    }

    /// The token of a publisher is there, or has gone.
    fn is_there(&mut self, id: SourceId, is_there: bool) {
        self.left.retain(|left| *left != id);
        if !is_there && self.by_id.contains_key(&id) {
            self.left.push(id);
        }
    }

    /// Changes a source, which is new if there is none.
    fn change<T>(&mut self, id: SourceId, change: impl FnOnce(&mut Source<Sample>) -> T) -> T {
        let source = self.by_id.entry(id).or_insert_with(Source::new);
        let before = source.held_bytes();
        let changed = change(source);
        self.held = self.held + source.held_bytes() - before;
        changed
    }
}

impl fmt::Debug for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ordered")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// A query to a publisher. It is over when zenoh drops it.
struct Question {
    of: Weak<Ordered>,
    to: SourceId,
}

impl Question {
    fn reply(&self, sample: Sample) {
        // Replies of others are ignored: each is asked by a query of its own.
        let is_of_it = SourceId::of(&sample).is_some_and(|(id, _)| id == self.to);
        if let Some(of) = self.of.upgrade()
            && is_of_it
            && of.key.intersects(sample.key_expr())
        {
            of.take(sample);
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if let Some(of) = self.of.upgrade() {
            of.sources().change(self.to, |source| {
                source.answered(&mut |it| (of.receive)(&it));
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishers_that_have_left_are_forgotten_for_new_ones() {
        let session = "d9035c1437bbd55fd2918588def0d34".parse().unwrap();
        let id = |number| SourceId {
            session,
            entity: Some(number),
        };
        let mut sources = Sources::default();
        let most = u32::try_from(MOST_SOURCES).unwrap();
        for number in 0..most {
            assert!(sources.has_room_for(&id(number)));
            sources.change(id(number), |_| ());
        }
        let new = id(most);
        assert!(sources.has_room_for(&id(0)) && !sources.has_room_for(&new));
        sources.is_there(id(0), false);
        sources.is_there(id(0), true);
        assert!(!sources.has_room_for(&new));
        sources.is_there(id(7), false);
        assert!(sources.has_room_for(&new));
        assert!(!sources.by_id.contains_key(&id(7)));
    }

    #[test]
    fn a_publisher_is_told_from_the_others_by_its_token() {
        let of = |key: &str| SourceId::of_key(key);
        let token = "0/map/@adv/pub/d9035c1437bbd55fd2918588def0d34/10/_";
        let id = of(token).unwrap();
        assert_eq!(id.entity, Some(10));
        let topic = KeyExpr::try_from("0/map").unwrap();
        assert_eq!(id.key(&topic), token.replace("/_", "/**"));
        assert_eq!(of(&token.replace("10", TIMED)).unwrap().entity, None);
        for odd in [
            "0/map",
            "0/map/@adv/pub/xyz/10/_",
            "0/map/@adv/pub/d9/ten/_",
        ] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }
}
