//! [`ClockNodes`]: which of the nodes that are registered as publishers of the clock publishes it. One that was killed
//! stays registered.

use std::collections::BTreeSet;

use crate::ros1::rpc::error::RpcError;
use crate::ros1::rpc::uri::RpcUri;

/// How many of these nodes are asked. The next one counts as a publisher.
const MOST_ASKED: usize = 16;

/// What is known of these nodes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ClockNodes {
    /// Those that do not publish it any more, with their addresses.
    ended: BTreeSet<(String, String)>,
}

impl ClockNodes {
    /// The first one that publishes the clock. `uri_of` is the address of a node, `publishes` whether a node is there
    /// that does. What cannot be known now is as it was; a node of which nothing was ever known counts as a publisher.
    pub(super) fn first_publisher(
        &mut self,
        nodes: &[&String],
        uri_of: impl Fn(&str) -> Result<Option<RpcUri>, RpcError>,
        publishes: impl Fn(&RpcUri) -> Option<bool>,
    ) -> Result<Option<String>, RpcError> {
        let mut ended = BTreeSet::new();
        for (asked, node) in nodes.iter().enumerate() {
            let uri = match uri_of(node) {
                Ok(Some(uri)) => uri,
                Ok(None) => continue,
                // The master has answered, but the address cannot be used.
                Err(RpcError::Uri(_) | RpcError::Invalid(_) | RpcError::Fault(_)) => {
                    return Ok(Some((*node).clone()));
                }
                Err(error) => return Err(error),
            };
            let known = ((*node).clone(), uri.to_string());
            let is_publisher = asked >= MOST_ASKED
                || publishes(&uri).unwrap_or_else(|| !self.ended.contains(&known));
            if is_publisher {
                // Of those behind it, nothing new is known.
                let others = &nodes[asked + 1..];
                let is_other = |known: &(String, String)| others.iter().any(|it| **it == known.0);
                ended.extend(self.ended.iter().filter(|it| is_other(it)).cloned());
                self.ended = ended;
                return Ok(Some((*node).clone()));
            }
            ended.insert(known);
        }
        self.ended = ended;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(nodes: &mut ClockNodes, names: &[&str], publishes: &[Option<bool>]) -> Option<String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let port = |name: &str| names.iter().position(|it| it == name).unwrap();
        let uri_of = |name: &str| {
            let port = u16::try_from(port(name)).unwrap();
            Ok(Some(RpcUri::of(name.trim_start_matches('/'), port)))
        };
        let publishes = |uri: &RpcUri| publishes[port(&format!("/{}", uri.host()))];
        let refs: Vec<&String> = names.iter().collect();
        nodes.first_publisher(&refs, uri_of, publishes).unwrap()
    }

    #[test]
    fn what_is_not_known_now_is_as_it_was() {
        let mut nodes = ClockNodes::default();
        assert_eq!(found(&mut nodes, &["/a"], &[None]).as_deref(), Some("/a"));
        assert_eq!(found(&mut nodes, &["/a"], &[Some(false)]), None);
        assert_eq!(found(&mut nodes, &["/a"], &[None]), None);
        let publisher = found(&mut nodes, &["/a"], &[Some(true)]);
        assert_eq!(publisher.as_deref(), Some("/a"));
        assert_eq!(found(&mut nodes, &["/a"], &[None]).as_deref(), Some("/a"));
    }

    #[test]
    fn nodes_behind_the_first_publisher_are_not_forgotten() {
        let mut nodes = ClockNodes::default();
        let both = ["/a", "/b"];
        assert_eq!(found(&mut nodes, &both, &[Some(false), Some(false)]), None);
        let publisher = found(&mut nodes, &both, &[Some(true), None]);
        assert_eq!(publisher.as_deref(), Some("/a"));
        assert_eq!(found(&mut nodes, &both, &[Some(false), None]), None);
    }

    #[test]
    fn a_node_whose_address_nobody_can_use_counts_as_a_publisher() {
        let mut nodes = ClockNodes::default();
        let name = "/a".to_owned();
        let odd = |_: &str| Err(RpcError::Uri("rosrpc://h:1".to_owned()));
        let publisher = nodes
            .first_publisher(&[&name], odd, |_| Some(false))
            .unwrap();
        assert_eq!(publisher.as_deref(), Some("/a"));
        let away = |_: &str| Err(RpcError::TimedOut);
        assert!(nodes.first_publisher(&[&name], away, |_| None).is_err());
    }
}
