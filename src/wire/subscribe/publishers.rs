//! [`Publishers`]: who is behind the identity that each message carries, by the tokens of other sessions.
//!
//! The identity of a publisher (GID) is made from its token, which contains the id of its session: another one in each run. The
//! name of its node is the same in each run of the same programs.

use std::collections::HashMap;

use crate::ros::Publisher;
use crate::wire::rmw_zenoh::gid::Gid;
use crate::wire::rmw_zenoh::token::{EntityKind, Token};

/// How many publishers are kept, also of those that are gone.
const MOST: usize = 1 << 16;

/// The publishers of other sessions. Those that are gone are kept: their messages may still be on their way.
#[derive(Debug, Default)]
pub(crate) struct Publishers {
    by_gid: HashMap<Gid, Publisher>,
    has_looked: bool,
}

impl Publishers {
    /// Adds the publishers among these tokens. Those of the first call were there before anything was received.
    pub(crate) fn add<'a>(&mut self, tokens: impl IntoIterator<Item = &'a Token>) {
        let was_there = !std::mem::replace(&mut self.has_looked, true);
        for token in tokens {
            if token.kind != EntityKind::Publisher
                || token.endpoint.is_none()
                || self.by_gid.len() >= MOST
            {
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
    }

    /// The publisher with this identity, if its token is known.
    pub(crate) fn get(&self, gid: &Gid) -> Option<&Publisher> {
        self.by_gid.get(gid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(entity: u32, kind: &str, node: &str) -> Token {
        let key = format!(
            "@ros2_lv/0/ab/0/{entity}/{kind}/%/%/{node}/%t/std_msgs::msg::dds_::String_/H/::,10:,:,:,,"
        );
        Token::parse(&key).unwrap()
    }

    #[test]
    fn a_publisher_is_known_by_its_token_and_by_when_it_came() {
        let before = token(7, "MP", "a");
        let subscriber = token(8, "MS", "a");
        let after = token(9, "MP", "b");
        let mut publishers = Publishers::default();
        publishers.add([&before, &subscriber]);
        publishers.add([&after, &before]);
        let of = |token: &Token| publishers.get(&Gid::of(&token.to_string()));
        let shown = |token| of(token).map(|it| (it.to_string(), it.was_there));
        assert_eq!(shown(&before), Some(("/a".to_owned(), true)));
        assert_eq!(shown(&after), Some(("/b".to_owned(), false)));
        assert_eq!(shown(&subscriber), None);
        assert_ne!(of(&before).unwrap().gid, of(&after).unwrap().gid);
    }
}
