//! [`Publishers`]: who is behind the identity that each message carries, by the tokens of other sessions.
//!
//! The identity of a publisher (GID) is made from its token, which contains the id of its session: another one in each
//! run. The name of its node is the same in each run of the same programs.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ros::Publisher;
use crate::wire::rmw_zenoh::gid::Gid;
use crate::wire::rmw_zenoh::graph::Graph;
use crate::wire::rmw_zenoh::token::Token;

/// How many publishers are kept, also of those that are gone.
const MOST: usize = 1 << 16;

/// The publishers of other sessions. Those that are gone are kept: their messages may still be on their way.
#[derive(Debug)]
pub(crate) struct Publishers {
    graph: Graph,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    by_gid: HashMap<Gid, Publisher>,
    /// The tokens that the table was made of last.
    tokens: HashSet<Token>,
    /// The appearances in the graph that are in the table; `None` before the first look.
    appearances: Option<u64>,
}

impl Publishers {
    pub(crate) fn new(graph: Graph) -> Self {
        Self {
            graph,
            table: Mutex::default(),
        }
    }

    /// Adds the present publishers, and returns all present tokens by session and entity. The publishers of the first
    /// call were there before anything was received.
    pub(crate) fn look(&self) -> Vec<Token> {
        // In this order: what appears in between is in the table, and is looked for once more.
        let appearances = self.graph.appearances();
        let mut tokens = self.graph.tokens();
        tokens.sort_unstable_by(|a, b| (&a.zid, a.entity_id).cmp(&(&b.zid, b.entity_id)));
        self.table().add(&tokens, appearances);
        tokens
    }

    /// The publisher with this identity; a nameless one if there is no token of it. A publisher that has appeared in
    /// the graph is found, whether somebody has looked since or not.
    pub(crate) fn find(&self, gid: &Gid) -> Publisher {
        let appearances = {
            let table = self.table();
            if let Some(known) = table.by_gid.get(gid) {
                return known.clone();
            }
            table.appearances
        };
        if appearances != Some(self.graph.appearances()) {
            self.look();
        }
        let found = self.table().by_gid.get(gid).cloned();
        found.unwrap_or_else(|| Publisher::nameless(gid.0))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn add(&mut self, tokens: &[Token], appearances: u64) {
        let was_there = self.appearances.is_none();
        for token in tokens {
            let is_full = self.by_gid.len() >= MOST;
            let is_publisher = token.published().is_some();
            if !is_publisher || is_full || self.tokens.contains(token) {
                continue;
            }
            let gid = Gid::of(&token.to_string());
            let publisher = || Publisher {
                node: token.node_path().into(),
                gid: gid.0,
                was_there,
            };
            self.by_gid.entry(gid).or_insert_with(publisher);
        }
        // Two may have looked at the same time: the older look does not replace the younger.
        if self.appearances.is_none_or(|known| known <= appearances) {
            self.appearances = Some(appearances);
            let is_publisher = |token: &&Token| token.published().is_some();
            self.tokens = tokens.iter().filter(is_publisher).cloned().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::dialect::notation::Notation;
    use crate::wire::rmw_zenoh::ours::Via;

    fn key(entity: u32, kind: &str, node: &str) -> String {
        format!(
            "@ros2_lv/0/ab/0/{entity}/{kind}/%/%/{node}/%t/std_msgs::msg::dds_::String_/H/::,10:,:,:,,"
        )
    }

    #[test]
    fn a_publisher_is_known_by_its_token_and_by_when_it_came() {
        let graph = Graph::new(
            Notation::RmwZenoh { domain: 0 },
            "me".to_owned(),
            "/player".to_owned(),
        );
        let publishers = Publishers::new(graph.clone());
        let (before, subscriber, after) = (key(7, "MP", "a"), key(8, "MS", "a"), key(9, "MP", "b"));
        for key in [&before, &subscriber] {
            graph.appeared(key, Via::Main);
        }
        assert_eq!(publishers.look().len(), 2);
        graph.appeared(&after, Via::Main);
        assert_eq!(publishers.look().len(), 3);
        let of = |key: &str| publishers.find(&Gid::of(key));
        let shown = |key| (of(key).to_string(), of(key).was_there);
        assert_eq!(shown(&before), ("/a".to_owned(), true));
        assert_eq!(shown(&after), ("/b".to_owned(), false));
        assert_eq!(of(&subscriber), Publisher::nameless(Gid::of(&subscriber).0));
        assert_ne!(of(&before).gid, of(&after).gid);
        graph.vanished(&before, Via::Main);
        publishers.look();
        assert_eq!(shown(&before), ("/a".to_owned(), true));
    }

    /// What another thread has been told, and how far it has come, makes no difference.
    #[test]
    fn the_first_message_of_a_publisher_finds_it_although_nobody_has_looked_since_it_came() {
        let graph = Graph::new(
            Notation::RmwZenoh { domain: 0 },
            "me".to_owned(),
            "/player".to_owned(),
        );
        let publishers = Publishers::new(graph.clone());
        publishers.look();
        let mut before = publishers.find(&Gid::of("of nobody"));
        assert!(before.was_there && before == Publisher::nameless(before.gid));
        for number in 0..20 {
            let key = key(number, "MP", &format!("n{number}"));
            graph.appeared(&key, Via::Main);
            before = publishers.find(&Gid::of(&key));
            assert_eq!(before.to_string(), format!("/n{number}"));
            assert!(!before.was_there);
        }
    }
}
