//! Keys and liveliness tokens of `zenoh-bridge-ros2dds`, which stands between zenoh and ROS 2 nodes on DDS.
//!
//! Tokens are read as those of the ROS graph. A bridge announces the topics and services of all nodes behind it as its
//! own, without the names of the nodes.

use std::fmt::Write;

use crate::ros::{Durability, History, Qos, Reliability, dds_type, is_type_hash, ros_type};
use crate::wire::rmw_zenoh::token::{ANY_HASH, Endpoint, EntityKind, Token};

/// The tokens of all bridges.
pub(crate) const ALL_TOKENS: &str = "@/*/@ros2_lv/**";
/// The node that a bridge is on DDS, unless its configuration says otherwise.
const BRIDGE_NODE: &str = "zenoh_bridge_ros2dds";
/// Written in tokens in place of a slash.
const SLASH: &str = "§";

/// The key of a topic or service behind bridges of a namespace: both names without slashes at their ends.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    let (namespace, name) = (namespace.trim_matches('/'), name.trim_matches('/'));
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}

/// The name of a topic or service by its key; `None` if it is in another namespace.
fn name(namespace: &str, key: &str) -> Option<String> {
    let namespace = namespace.trim_matches('/');
    let name = if namespace.is_empty() {
        key
    } else {
        key.strip_prefix(namespace)?.strip_prefix('/')?
    };
    Some(format!("/{name}"))
}

/// Whether a publisher has a token. A transient-local one has none: with a token, the bridge creates its DDS writer
/// before anyone listens, and that writer keeps one message for late joiners, whatever its depth. Without, the bridge
/// creates the writer for the first reader, with the depth of that reader, and fetches from the cache of the publisher.
pub(crate) fn announces(publisher: &Qos) -> bool {
    publisher.durability == Durability::Volatile
}

/// The text of a token for bridges of a namespace. That of a node says only that its session is there.
pub(crate) fn write(namespace: &str, token: &Token) -> String {
    let zid = &token.zid;
    let endpoint = token
        .endpoint
        .as_ref()
        .map(|endpoint| (token.kind, endpoint));
    let (kind, endpoint) = match endpoint {
        None | Some((EntityKind::Node, _)) => return format!("@/{zid}/@ros2_lv"),
        Some(endpoint) => endpoint,
    };
    let (chunk, has_qos) = match kind {
        EntityKind::Node | EntityKind::Publisher => ("MP", true),
        EntityKind::Subscription => ("MS", true),
        EntityKind::Server => ("SS", false),
        EntityKind::Client => ("SC", false),
    };
    let key = key(namespace, &endpoint.name).replace('/', SLASH);
    let type_name = ros_type(&endpoint.dds_type).replace('/', SLASH);
    let mut text = format!("@/{zid}/@ros2_lv/{chunk}/{key}/{type_name}");
    if has_qos {
        text.push('/');
        write_qos(&mut text, &endpoint.qos, &endpoint.hash);
    }
    text
}

/// `:RELIABILITY:DURABILITY:HISTORY,DEPTH`, in the numbers of DDS; the empty first field says that there is no key.
/// Then, if the type hash is known, the user data that DDS nodes look for.
fn write_qos(token: &mut String, qos: &Qos, hash: &str) {
    let reliability = u8::from(qos.reliability == Reliability::Reliable);
    let durability = u8::from(qos.durability == Durability::TransientLocal);
    let (history, depth) = match qos.history {
        // Bridges read a signed number.
        History::KeepLast(depth) => (0, depth.clamp(1, i32::MAX.cast_unsigned())),
        // DDS does not look at the depth.
        History::KeepAll => (1, 1),
    };
    // Writing to a string does not fail.
    let _ = write!(token, ":{reliability}:{durability}:{history},{depth}");
    if is_type_hash(hash) {
        let _ = write!(token, ":typehash={hash};");
    }
}

/// Reads a token; `None` if it announces neither a topic nor a service of this namespace.
pub(crate) fn read(namespace: &str, token: &str) -> Option<Token> {
    let chunks: Vec<&str> = token.split('/').collect();
    let ["@", zid, "@ros2_lv", kind, key, type_name, qos @ ..] = &chunks[..] else {
        return None;
    };
    let kind = match *kind {
        "MP" => EntityKind::Publisher,
        "MS" => EntityKind::Subscription,
        "SS" => EntityKind::Server,
        "SC" => EntityKind::Client,
        _ => return None,
    };
    let (qos, hash) = match (kind, qos) {
        (EntityKind::Publisher | EntityKind::Subscription, [qos]) => read_qos(qos)?,
        (EntityKind::Server | EntityKind::Client, []) => (Qos::default(), None),
        _ => return None,
    };
    let endpoint = Endpoint {
        name: name(namespace, &key.replace(SLASH, "/"))?,
        dds_type: dds_type(&type_name.replace(SLASH, "/"))?,
        hash: hash.unwrap_or(ANY_HASH).to_owned(),
        qos,
    };
    Some(of_bridge(namespace, zid, kind, endpoint))
}

fn of_bridge(namespace: &str, zid: &str, kind: EntityKind, endpoint: Endpoint) -> Token {
    Token {
        domain: 0,
        zid: zid.to_owned(),
        node_id: 0,
        entity_id: 0,
        kind,
        enclave: "/".to_owned(),
        namespace: format!("/{}", namespace.trim_matches('/')),
        node: BRIDGE_NODE.to_owned(),
        endpoint: Some(endpoint),
    }
}

/// The id of the session that has declared a token.
pub(crate) fn session_of(token: &str) -> Option<&str> {
    token.strip_prefix("@/")?.split('/').next()
}

/// The profile, and the type hash if there is one. Fields that are empty have the defaults of DDS for readers.
fn read_qos(text: &str) -> Option<(Qos, Option<&str>)> {
    let mut fields = text.split(':');
    let [_, reliability, durability, history] = std::array::from_fn(|_| fields.next());
    let user_data = fields.next().unwrap_or_default();
    let hash = user_data
        .split(';')
        .find_map(|one| one.strip_prefix("typehash="));
    let qos = Qos {
        reliability: match reliability? {
            "1" => Reliability::Reliable,
            "0" | "" => Reliability::BestEffort,
            _ => return None,
        },
        durability: match durability? {
            "0" | "" => Durability::Volatile,
            _ => Durability::TransientLocal,
        },
        history: match history?.split_once(',') {
            Some(("0", depth)) => History::KeepLast(depth.parse().ok()?),
            Some(("1", _)) => History::KeepAll,
            None if history == Some("") => History::KeepLast(1),
            _ => return None,
        },
        ..Qos::default()
    };
    Some((qos, hash.filter(|hash| is_type_hash(hash))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK_HASH: &str =
        "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564";

    fn written(kind: EntityKind, name: &str, ros_type: &str, hash: &str, qos: Qos) -> String {
        let endpoint = Endpoint {
            name: name.to_owned(),
            dds_type: dds_type(ros_type).unwrap(),
            hash: hash.to_owned(),
            qos,
        };
        write("/", &of_bridge("/", "ae", kind, endpoint))
    }

    /// Tokens that a running bridge took.
    #[test]
    fn tokens_are_written_to_the_byte() {
        let clock = Qos {
            reliability: Reliability::BestEffort,
            history: History::KeepLast(1),
            ..Qos::default()
        };
        let (publisher, server) = (EntityKind::Publisher, EntityKind::Server);
        assert_eq!(
            written(
                publisher,
                "/clock",
                "rosgraph_msgs/msg/Clock",
                CLOCK_HASH,
                clock
            ),
            format!(
                "@/ae/@ros2_lv/MP/clock/rosgraph_msgs§msg§Clock/:0:0:0,1:typehash={CLOCK_HASH};"
            )
        );
        let pause = "rosbag2_interfaces/srv/Pause";
        assert_eq!(
            written(server, "/rosbag2_player/pause", pause, "H", Qos::default()),
            "@/ae/@ros2_lv/SS/rosbag2_player§pause/rosbag2_interfaces§srv§Pause"
        );
        for (history, text) in [
            (History::KeepLast(10), ":1:0:0,10"),
            (History::KeepLast(0), ":1:0:0,1"),
            (History::KeepLast(u32::MAX), ":1:0:0,2147483647"),
            (History::KeepAll, ":1:0:1,1"),
        ] {
            let qos = Qos {
                history,
                ..Qos::default()
            };
            let text = format!("@/ae/@ros2_lv/MP/a§b/std_msgs§msg§String/{text}");
            assert_eq!(
                written(publisher, "/a/b", "std_msgs/msg/String", "unknown", qos),
                text
            );
        }
    }

    #[test]
    fn only_volatile_publishers_are_announced() {
        let latched = Qos {
            durability: Durability::TransientLocal,
            ..Qos::default()
        };
        assert!(announces(&Qos::default()) && !announces(&latched));
    }

    #[test]
    fn tokens_of_bridges_are_read() {
        let token = read(
            "/",
            "@/b1/@ros2_lv/MS/a§chatter/std_msgs§msg§String/:1::0,10",
        )
        .unwrap();
        assert_eq!(token.kind, EntityKind::Subscription);
        assert_eq!(
            (token.zid.as_str(), token.node_path()),
            ("b1", "/zenoh_bridge_ros2dds".into())
        );
        let end = token.endpoint.unwrap();
        assert_eq!(end.name, "/a/chatter");
        assert_eq!(end.dds_type, "std_msgs::msg::dds_::String_");
        assert_eq!(end.hash, ANY_HASH);
        assert_eq!(
            (end.qos.history, end.qos.durability),
            (History::KeepLast(10), Durability::Volatile)
        );

        let hashed = format!(
            "@/b/@ros2_lv/MP/clock/rosgraph_msgs§msg§Clock/:0:0:0,1:typehash={CLOCK_HASH};"
        );
        assert_eq!(
            read("/", &hashed).unwrap().endpoint.unwrap().hash,
            CLOCK_HASH
        );
        let unset = read("/", "@/b/@ros2_lv/MS/x/p§msg§T/:::")
            .unwrap()
            .endpoint
            .unwrap();
        assert_eq!(unset.qos.reliability, Reliability::BestEffort);
        let service = read("/", "@/b/@ros2_lv/SC/p§pause/rosbag2_interfaces§srv§Pause").unwrap();
        assert_eq!(service.endpoint.unwrap().name, "/p/pause");
        assert_eq!(session_of(&hashed), Some("b"));
    }

    #[test]
    fn what_is_no_token_of_a_topic_or_service_is_refused() {
        for token in [
            "",
            "@/b/@ros2_lv",
            "@/b/@ros2_lv/X",
            "@/b/@ros2_lv/MS/x/p§msg§T",
            "@/b/@ros2_lv/MS/x/p§msg§T/1:0",
            "@/b/@ros2_lv/MS/x/p§msg§T/:9:0:0,1",
            "@/b/@ros2_lv/MS/x/p§msg§T/:1:0:0,many",
            "@/b/@ros2_lv/MS/x/no type/:1:0:0,1",
            "@/b/@ros2_lv/SS/x/p§srv§T/:1:0:0,1",
            "@ros2_lv/0/ae/0/0/NN/%/%/n",
        ] {
            assert_eq!(read("/", token), None, "{token}");
        }
    }

    #[test]
    fn a_namespace_is_in_front_of_each_name() {
        let token = read(
            "/bot1",
            "@/b/@ros2_lv/MS/bot1§tf/tf2_msgs§msg§TFMessage/:1::0,9",
        )
        .unwrap();
        assert_eq!(token.endpoint.as_ref().unwrap().name, "/tf");
        assert_eq!(token.node_path(), "/bot1/zenoh_bridge_ros2dds");
        assert_eq!(
            write("/bot1", &token),
            "@/b/@ros2_lv/MS/bot1§tf/tf2_msgs§msg§TFMessage/:1:0:0,9"
        );
        assert_eq!(key("/bot1", "/a/b"), "bot1/a/b");
        for other in ["tf", "bot12§tf", "bot2§tf", "bot1"] {
            let token = format!("@/b/@ros2_lv/MS/{other}/tf2_msgs§msg§TFMessage/:1::0,9");
            assert_eq!(read("bot1", &token), None, "{other}");
        }
    }
}
