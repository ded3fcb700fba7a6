//! [`Publishers`]: who is behind the identity that each message carries, by the tokens of other sessions.
//!
//! The identity of a publisher (GID) is made from its token, which contains the id of its session: another one in each run. Node
//! and rank are the same in each run of the same programs, as long as no two nodes share a name.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ros::Publisher;
use crate::wire::rmw_zenoh::gid::Gid;
use crate::wire::rmw_zenoh::token::{EntityKind, Token};

/// How many publishers are kept, also of those that are gone.
const MOST: usize = 1 << 16;

/// The publishers of other sessions. Those that are gone are kept: their messages may still be on their way.
#[derive(Debug, Default)]
pub(crate) struct Publishers {
    by_gid: HashMap<Gid, Publisher>,
    /// The publishers of one node on one topic, in the order of their ranks.
    by_node: HashMap<(String, String), Vec<Known>>,
}

/// A publisher by what orders it among those of its node and topic.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Known {
    /// Counts the sessions that have had a node of this name.
    session: usize,
    node_id: u32,
    entity_id: u32,
    zid: String,
    gid: [u8; 16],
}

impl Publishers {
    /// Adds the publishers among these tokens.
    pub(crate) fn add<'a>(&mut self, tokens: impl IntoIterator<Item = &'a Token>) {
        for token in tokens {
            let Some(endpoint) = token.endpoint.as_ref() else {
                continue;
            };
            if token.kind != EntityKind::Publisher || self.by_gid.len() >= MOST {
                continue;
            }
            let gid = Gid::of(&token.to_string());
            if self.by_gid.contains_key(&gid) {
                continue;
            }
            let node = token.node_path();
            let of_node = self.by_node.entry((node.clone(), endpoint.name.clone()));
            let of_node = of_node.or_default();
            let same_session = of_node.iter().find(|known| known.zid == token.zid);
            let next_session = of_node.iter().map(|known| known.session + 1).max();
            let known = Known {
                session: same_session.map_or(next_session.unwrap_or(0), |known| known.session),
                node_id: token.node_id,
                entity_id: token.entity_id,
                zid: token.zid.clone(),
                gid: gid.0,
            };
            let place = of_node.partition_point(|other| *other < known);
            of_node.insert(place, known);
            let node: Arc<str> = node.into();
            for (rank, known) in (0..).zip(of_node) {
                let publisher = Publisher {
                    node: Arc::clone(&node),
                    rank,
                };
                self.by_gid.insert(Gid(known.gid), publisher);
            }
        }
    }

    /// The publisher with this identity, if its token is known.
    pub(crate) fn get(&self, gid: &Gid) -> Option<&Publisher> {
        self.by_gid.get(gid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(zid: &str, entity: u32, kind: &str, node: &str, topic: &str) -> Token {
        let key = format!(
            "@ros2_lv/0/{zid}/0/{entity}/{kind}/%/%/{node}/{topic}/std_msgs::msg::dds_::String_/H/::,10:,:,:,,"
        );
        Token::parse(&key).unwrap()
    }

    fn shown(publishers: &Publishers, token: &Token) -> Option<String> {
        let gid = Gid::of(&token.to_string());
        publishers.get(&gid).map(ToString::to_string)
    }

    #[test]
    fn ranks_follow_entity_ids_in_whatever_order_tokens_come_and_whatever_the_session_is_called() {
        for zid in ["ab", "f0"] {
            let first = token(zid, 7, "MP", "a", "%t");
            let second = token(zid, 12, "MP", "a", "%t");
            let other_topic = token(zid, 9, "MP", "a", "%u");
            let other_node = token(zid, 8, "MP", "b", "%t");
            let subscriber = token(zid, 6, "MS", "a", "%t");
            let mut publishers = Publishers::default();
            publishers.add([&second, &subscriber]);
            publishers.add([&other_topic, &first, &other_node, &second]);
            assert_eq!(shown(&publishers, &first).unwrap(), "/a");
            assert_eq!(shown(&publishers, &second).unwrap(), "/a (2)");
            assert_eq!(shown(&publishers, &other_topic).unwrap(), "/a");
            assert_eq!(shown(&publishers, &other_node).unwrap(), "/b");
            assert_eq!(shown(&publishers, &subscriber), None);
        }
    }

    #[test]
    fn a_node_that_starts_again_comes_after_what_it_was_before() {
        let (before, after) = (
            token("f", 7, "MP", "a", "%t"),
            token("1", 3, "MP", "a", "%t"),
        );
        let mut publishers = Publishers::default();
        publishers.add([&before]);
        publishers.add([&after]);
        assert_eq!(shown(&publishers, &before).unwrap(), "/a");
        assert_eq!(shown(&publishers, &after).unwrap(), "/a (2)");
    }
}
