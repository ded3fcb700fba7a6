//! [`FoundPlayer`]: the players on the network, one of this program or `ros2 bag play`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use zenoh::Wait;

use crate::ros::dds_type;
use crate::wire::net::answers::Answers;
use crate::wire::rmw_zenoh::graph::Graph;
use crate::wire::rmw_zenoh::token::EntityKind;
use crate::wire::services::messages::rosbag2::IsPaused;
use crate::wire::services::messages::service::Service;
use crate::wire::session::Session;

/// How long routers have to tell what they know.
const PATIENCE: Duration = Duration::from_millis(300);
/// How long all sessions have to tell which players they know: one of several would be taken for the only one if others
/// were still to come. A session that does not answer, because its process was stopped, is waited for so long.
const ALL_PATIENCE: Duration = Duration::from_millis(500);
/// How many names are taken from them.
const MOST_NAMES: usize = 1000;

/// A player on the ROS graph.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FoundPlayer {
    /// The full name of its node.
    pub node: String,
    /// Its session. Two players of one name differ in it.
    pub zid: String,
}

impl Session {
    /// The players on the network, sorted. If there are any, waits a moment until what they have announced has arrived:
    /// the announcements of one player come one by one.
    pub fn players(&self) -> Vec<FoundPlayer> {
        let graph = self.graph();
        if graph.players().is_empty() {
            return Vec::new();
        }
        self.node.settle(ALL_PATIENCE);
        graph.players()
    }

    /// The full names of the players that routers know, sorted; also of those to which this session has no link,
    /// because their process does not run or there is no way to it.
    pub fn players_of_routers(&self) -> Vec<String> {
        let domain = self.node.token.domain;
        let dds_type = dds_type(IsPaused::TYPE).unwrap_or_default();
        let service = format!("{domain}/**/is_paused/{dds_type}/*");
        // A router tells its services below its own name; wildcards do not match tokens there.
        let key = format!("@/*/router/queryable/{service}");
        let found = Arc::new(Mutex::new(BTreeSet::new()));
        let (open, answers) = Answers::pending();
        let told = Arc::clone(&found);
        let get = self.connection.zenoh.get(key).timeout(PATIENCE);
        let get = get.callback(move |reply| {
            open.hold();
            let Some(name) = reply.result().ok().and_then(|it| node_of(it.key_expr())) else {
                return;
            };
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.len() < MOST_NAMES {
                told.insert(name);
            }
        });
        if get.wait().is_ok() {
            answers.wait(PATIENCE);
        }
        let found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.iter().cloned().collect()
    }
}

/// The node of `@/<id>/router/queryable/<domain>/<node>/is_paused/<type>/<hash>`.
fn node_of(key: &str) -> Option<String> {
    let service = key.splitn(6, '/').nth(5)?;
    let (service, _hash) = service.rsplit_once('/')?;
    let (service, _type) = service.rsplit_once('/')?;
    Some(format!("/{}", service.strip_suffix("/is_paused")?))
}

impl Graph {
    /// The players of other sessions, sorted: nodes that serve `~/is_paused` of `rosbag2_interfaces`.
    pub(crate) fn players(&self) -> Vec<FoundPlayer> {
        let dds_type = dds_type(IsPaused::TYPE).unwrap_or_default();
        let mut players: Vec<FoundPlayer> = self
            .tokens()
            .into_iter()
            .filter(|token| token.kind == EntityKind::Server)
            .filter(|token| {
                let name = format!("{}/is_paused", token.node_path());
                let endpoint = token.endpoint.as_ref();
                endpoint.is_some_and(|it| it.dds_type == dds_type && it.name == name)
            })
            .map(|token| FoundPlayer {
                node: token.node_path(),
                zid: token.zid,
            })
            .collect();
        players.sort_unstable();
        players.dedup();
        players
    }

    /// The hash of a service's type, as its server announces it; `None` if the player has no such service.
    pub(super) fn service_hash(
        &self,
        player: &FoundPlayer,
        name: &str,
        dds_type: &str,
    ) -> Option<String> {
        self.find(|token| {
            let is_its = token.kind == EntityKind::Server && token.zid == player.zid;
            let server = token.endpoint.as_ref().filter(|_| is_its);
            let server = server.filter(|it| it.name == name && it.dds_type == dds_type);
            server.map(|server| server.hash.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_is_between_domain_and_service() {
        let node = |service: &str| node_of(&format!("@/a1/router/queryable/0/{service}/T_/H"));
        assert_eq!(node("pl/is_paused").as_deref(), Some("/pl"));
        assert_eq!(node("robot/pl/is_paused").as_deref(), Some("/robot/pl"));
        assert_eq!(node("pl/pause"), None);
        assert_eq!(node_of("@/a1/router"), None);
    }
}
