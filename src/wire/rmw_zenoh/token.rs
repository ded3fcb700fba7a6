//! [`Token`]: one liveliness token of the ROS graph, written and read.

use std::fmt;

use crate::ros::{History, Qos};

use super::names::{demangle, mangle};
use super::qos_chunk::{DEFAULT_DEPTH, decode_qos, encode_qos};

/// Written in place of a hash: for every type in ROS 2 Humble, and for types whose hash is unknown.
pub(crate) const NO_HASH: &str = "TypeHashNotSupported";
/// Matches every hash in a key expression.
pub(crate) const ANY_HASH: &str = "*";

/// What a token announces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EntityKind {
    /// A node.
    Node,
    /// A publisher.
    Publisher,
    /// A subscription.
    Subscription,
    /// A service server.
    Server,
    /// A service client.
    Client,
}

impl EntityKind {
    const fn chunk(self) -> &'static str {
        match self {
            Self::Node => "NN",
            Self::Publisher => "MP",
            Self::Subscription => "MS",
            Self::Server => "SS",
            Self::Client => "SC",
        }
    }

    fn read(chunk: &str) -> Option<Self> {
        [
            Self::Node,
            Self::Publisher,
            Self::Subscription,
            Self::Server,
            Self::Client,
        ]
        .into_iter()
        .find(|kind| kind.chunk() == chunk)
    }
}

/// What an endpoint's token contains besides its node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Endpoint {
    /// The name of the topic or service, with its leading slash.
    pub name: String,
    /// The type, in its DDS form.
    pub dds_type: String,
    /// The type's hash, `RIHS01_…` or `TypeHashNotSupported`.
    pub hash: String,
    /// The QoS profile.
    pub qos: Qos,
}

/// How many messages a subscription keeps for its callbacks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct QueueDepth {
    /// The full name of the subscription's node.
    pub node: String,
    /// The depth of its `keep_last` history, in messages.
    pub depth: u32,
}

/// One entity of the ROS graph. Its `Display` output is the token's key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Token {
    /// The ROS domain.
    pub domain: u32,
    /// The session's id, as zenoh prints it.
    pub zid: String,
    /// The node's number in the session.
    pub node_id: u32,
    /// The entity's number in the session.
    pub entity_id: u32,
    /// The kind of entity.
    pub kind: EntityKind,
    /// The security enclave.
    pub enclave: String,
    /// The node's namespace, `/` or `/a/b`.
    pub namespace: String,
    /// The node's name.
    pub node: String,
    /// `None` for nodes and only for them.
    pub endpoint: Option<Endpoint>,
}

impl Token {
    /// The node's full name.
    pub fn node_path(&self) -> String {
        format!("{}/{}", self.namespace.trim_end_matches('/'), self.node)
    }

    /// The queue of an endpoint with `keep_last` history.
    pub(crate) fn queue_depth(&self) -> Option<QueueDepth> {
        let depth = match self.endpoint.as_ref()?.qos.history {
            // Zero means the system's default.
            History::KeepLast(0) => DEFAULT_DEPTH,
            History::KeepLast(depth) => depth,
            History::KeepAll => return None,
        };
        Some(QueueDepth {
            node: self.node_path(),
            depth,
        })
    }

    /// Reads a token's key; `None` if it is not one. The additional chunk of ROS 2 Lyrical is accepted and
    /// ignored.
    pub fn parse(key: &str) -> Option<Self> {
        let chunks: Vec<&str> = key.split('/').collect();
        if chunks.iter().any(|chunk| chunk.is_empty()) {
            return None;
        }
        let (head, tail) = chunks.split_at_checked(9)?;
        let kind = EntityKind::read(head[5])?;
        let endpoint = match (kind, tail) {
            (EntityKind::Node, _) => None,
            (_, [name, dds_type, hash, qos] | [name, dds_type, hash, qos, _]) => Some(Endpoint {
                name: demangle(name),
                dds_type: demangle(dds_type),
                hash: demangle(hash),
                qos: decode_qos(qos)?,
            }),
            _ => return None,
        };
        (head[0] == "@ros2_lv").then_some(())?;
        Some(Self {
            domain: head[1].parse().ok()?,
            zid: head[2].to_owned(),
            node_id: head[3].parse().ok()?,
            entity_id: head[4].parse().ok()?,
            kind,
            enclave: demangle(head[6]),
            namespace: demangle(head[7]),
            node: demangle(head[8]),
            endpoint,
        })
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            domain,
            zid,
            node_id,
            entity_id,
            kind,
            ..
        } = self;
        write!(
            f,
            "@ros2_lv/{domain}/{zid}/{node_id}/{entity_id}/{}/{}/{}/{}",
            kind.chunk(),
            mangle(&self.enclave),
            mangle(&self.namespace),
            mangle(&self.node)
        )?;
        if let Some(Endpoint {
            name,
            dds_type,
            hash,
            qos,
        }) = &self.endpoint
        {
            write!(
                f,
                "/{}/{}/{}/{}",
                mangle(name),
                mangle(dds_type),
                mangle(hash),
                encode_qos(qos)
            )?;
        }
        Ok(())
    }
}

impl Token {
    /// The topic that is published, if the token is a publisher's.
    pub(crate) fn published(&self) -> Option<&str> {
        let endpoint = self.endpoint.as_ref();
        endpoint
            .filter(|_| self.kind == EntityKind::Publisher)
            .map(|endpoint| endpoint.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_and_written_to_the_byte() {
        for key in [
            "@ros2_lv/0/aeba417f86191db88a1d8d201838fa03/0/0/NN/%/%/rosbag2_player",
            "@ros2_lv/0/ae/0/2/MP/%/%/rosbag2_player/%chatter/std_msgs::msg::dds_::String_/RIHS01_df/::,10:,:,:,,",
            "@ros2_lv/3/ae/0/3/MP/%/%robot1/p/%clock/rosgraph_msgs::msg::dds_::Clock_/RIHS01_69/2::,1:,:,:,,",
            "@ros2_lv/0/ae/0/9/SS/%/%/p/%p%pause/rosbag2_interfaces::srv::dds_::Pause_/RIHS01_b1/::,10:,:,:,,",
            "@ros2_lv/0/1/1/9/MS/%e/%/p/%a%b/t/TypeHashNotSupported/:1:,1:,:,:,,",
        ] {
            let token = Token::parse(key).expect(key);
            assert_eq!(token.to_string(), key);
        }
    }

    #[test]
    fn a_fourteenth_chunk_is_ignored() {
        let key = "@ros2_lv/0/ae/0/2/MS/%/%/n/%i/t/H/::,10:,:,:,,";
        let token = Token::parse(&format!("{key}/backends:cpu:")).expect("14 chunks");
        assert_eq!(token.to_string(), key);
        assert_eq!(token.node_path(), "/n");
    }

    #[test]
    fn invalid_tokens_are_refused() {
        for key in [
            "",
            "@ros2_lv/0/ae/0/0/NN/%/%",
            "@ros2_lv/0/ae/0/0/NN/%//n",
            "@ros2_lv/x/ae/0/0/NN/%/%/n",
            "@ros2_lv/0/ae/0/0/XX/%/%/n",
            "@other/0/ae/0/0/NN/%/%/n",
            "@ros2_lv/0/ae/0/2/MP/%/%/n/%c/t/H",
            "@ros2_lv/0/ae/0/2/MP/%/%/n/%c/t/H/nonsense",
        ] {
            assert_eq!(Token::parse(key), None, "{key}");
        }
    }
}
