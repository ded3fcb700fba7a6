//! The zenoh configurations of this program: that of `rmw_zenoh`, built in code, and those from files.
//!
//! The built-in configuration sets only the keys whose value in rmw's session file differs from zenoh's
//! default, and those that make opening and reconnecting faster. Every such key is named here.

use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use zenoh::Config;
use zenoh::config::ZenohId;

use crate::untrusted::read_text;
use crate::untrusted::yaml::{self, Entry, Node};
use crate::wire::error::{Cause, WireError};

/// The role of a session on the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// The router that other sessions connect to.
    Router { listen: Vec<String> },
    /// A peer among the nodes of this host: direct links to nodes, which it finds by gossip through the router.
    /// `is_answered`: one of the endpoints in `connect` accepts connections.
    Peer {
        connect: Vec<String>,
        listen: Vec<String>,
        is_answered: bool,
    },
    /// A client of a router elsewhere, which forwards all messages.
    Client { connect: Vec<String> },
}

impl Role {
    /// As text for the user.
    pub(crate) fn describe(&self) -> String {
        let endpoints = self.endpoints().join(", ");
        match self {
            Self::Router { .. } => format!("router on {endpoints}"),
            Self::Peer { .. } => format!("peer of {endpoints}"),
            Self::Client { .. } => format!("client of {endpoints}"),
        }
    }

    /// The endpoints to connect to, or those of a router.
    pub(crate) fn endpoints(&self) -> &[String] {
        match self {
            Self::Router { listen } => listen,
            Self::Peer { connect, .. } | Self::Client { connect } => connect,
        }
    }

    /// The endpoints to connect to, if none of them answers.
    pub(crate) fn unanswered(&self) -> Option<&[String]> {
        match self {
            Self::Peer {
                connect,
                is_answered: false,
                ..
            } => Some(connect),
            _ => None,
        }
    }
}

/// Where the configuration of rmw's sessions differs from zenoh's default.
const RMW: [(&str, &str); 17] = [
    ("scouting/multicast/enabled", "false"),
    (
        "scouting/gossip/target",
        r#"{router:["router","peer"],peer:["router"]}"#,
    ),
    (
        "scouting/gossip/autoconnect",
        r#"{router:[],peer:["router","peer"]}"#,
    ),
    (
        "scouting/gossip/autoconnect_strategy",
        r#"{peer:{to_router:"always",to_peer:"greater-zid"}}"#,
    ),
    (
        "timestamping/enabled",
        "{router:true,peer:true,client:true}",
    ),
    ("queries_default_timeout", "600000"),
    ("transport/link/tx/lease", "60000"),
    ("transport/link/tx/keep_alive", "2"),
    ("transport/unicast/open_timeout", "60000"),
    ("transport/unicast/accept_timeout", "60000"),
    ("transport/unicast/accept_pending", "10000"),
    ("transport/unicast/max_sessions", "10000"),
    ("transport/shared_memory/enabled", "false"),
    ("adminspace/enabled", "true"),
    // Not from rmw: a router that comes back is found within a tenth of a second, not one to four seconds.
    (
        "connect/retry",
        "{period_init_ms:100,period_max_ms:1000,period_increase_factor:2}",
    ),
    // Not from rmw: the send queue of a link holds a megabyte (16 batches, not 2). A put of an image is then
    // one copy and does not alternate between two threads: 1.2 to 1.6 times as many puts per second.
    ("transport/link/tx/queue/size/data", "16"),
    // The same for large messages where each topic keeps its own order.
    ("transport/link/tx/queue/size/data_low", "16"),
];

/// The configuration of a role.
pub(crate) fn built_in(role: &Role, stall_timeout: Duration) -> Result<Config, WireError> {
    let mut config = Config::default();
    for (key, value) in RMW {
        set(&mut config, key, value)?;
    }
    set_stall_timeout(&mut config, stall_timeout)?;
    match role {
        Role::Router { listen } => {
            set(&mut config, "mode", "\"router\"")?;
            set(&mut config, "listen/endpoints", &list(listen))?;
            set(&mut config, "connect/endpoints", "[]")?;
            // A router waits this long in `open`, even if it connects to no other router.
            set(&mut config, "scouting/delay", "0")?;
        }
        Role::Peer {
            connect, listen, ..
        } => {
            set(&mut config, "mode", "\"peer\"")?;
            set(&mut config, "listen/endpoints", &list(listen))?;
            set(&mut config, "connect/endpoints", &list(connect))?;
            // `open` would wait for links to all peers found by gossip, half a second if such a peer is the one
            // to connect. The session itself waits for the link to the router.
            set(
                &mut config,
                "open/return_conditions/connect_scouted",
                "false",
            )?;
        }
        Role::Client { connect } => {
            set(&mut config, "mode", "\"client\"")?;
            set(&mut config, "connect/endpoints", &list(connect))?;
            set(&mut config, "listen/endpoints", "[]")?;
        }
    }
    Ok(config)
}

/// The configuration of a file, with the endpoints given by flags in place of those in the file.
pub(crate) fn from_file(
    path: &Path,
    connect: &[String],
    listen: &[String],
    stall_timeout: Duration,
) -> Result<Config, WireError> {
    let mut config = read_file(path).map_err(|source| WireError::ConfigFile {
        path: path.to_owned(),
        source,
    })?;
    for (key, endpoints) in [("connect/endpoints", connect), ("listen/endpoints", listen)] {
        if !endpoints.is_empty() {
            set(&mut config, key, &list(endpoints))?;
        }
    }
    // Overrides the file: the flag has a default of its own, and the output measures puts by it.
    set_stall_timeout(&mut config, stall_timeout)?;
    Ok(config)
}

/// The configuration in a JSON5 or YAML file, as its extension says. Zenoh's own `Config::from_file` reads without
/// limit, also from a device or a pipe that never ends, and adds a second reader of YAML to the binary.
fn read_file(path: &Path) -> Result<Config, Cause> {
    let text = read_text(path)?;
    match path.extension().and_then(OsStr::to_str) {
        Some("json" | "json5") => Config::from_json5(&text),
        Some("yaml" | "yml") => {
            let value = yaml::read(&text)?.map_or(Value::Null, |root| json(&root));
            Config::from_json5(&value.to_string())
        }
        _ => Err("its name has to end with .json5, .json, .yaml or .yml".into()),
    }
}

/// A value of YAML as one of JSON.
fn json(node: &Node) -> Value {
    if let Some(items) = node.items() {
        return items.iter().map(|item| json(item)).collect();
    }
    if let Some(entries) = node.entries() {
        let entry = |it: &Entry| (it.key.clone(), json(&it.value));
        return entries.iter().map(entry).collect();
    }
    if let Some(flag) = node.flag() {
        return flag.into();
    }
    if let Some(number) = node.integer::<i64>() {
        return number.into();
    }
    if let Some(number) = node.integer::<u64>() {
        return number.into();
    }
    let float = node.float().map(Value::from);
    float.unwrap_or_else(|| node.text().into())
}

/// Whether a configuration has the mode `router`.
pub(crate) fn is_router(config: &Config) -> bool {
    let mode = config.get_json("mode");
    mode.is_ok_and(|mode| mode.contains("router"))
}

/// Completes the configuration of a router of this process. The router forwards to its clients what the session
/// for blocking puts sends, so it must wait for them as long as that session does: `patience`. Without such a session
/// it waits as it is configured.
pub(crate) fn router(mut config: Config, patience: Option<Duration>) -> Result<Config, WireError> {
    if let Some(stall_timeout) = patience {
        set_patience(&mut config, Patience::StallTimeout(stall_timeout))?;
    }
    Ok(config)
}

/// The configuration of a peer beside the router that has `config`. Best-effort messages and the clock go
/// through this peer and do not wait for slow subscribers.
pub(crate) fn beside(
    mut config: Config,
    connect: &str,
    listen: &[String],
) -> Result<Config, WireError> {
    for (key, value) in [
        ("mode", "\"peer\""),
        // Each session needs an id of its own.
        ("id", "null"),
        ("connect/endpoints", &list(&[connect.to_owned()])),
        ("listen/endpoints", &list(listen)),
        ("open/return_conditions/connect_scouted", "false"),
    ] {
        set(&mut config, key, value)?;
    }
    set_patience(&mut config, Patience::Default)?;
    Ok(config)
}

/// Whether messages of a session that is opened with `config` have zenoh timestamps: then it has a clock.
pub(crate) fn has_timestamps(config: &Config) -> bool {
    let value = |key| {
        let json = config.get_json(key).unwrap_or_default();
        serde_json::from_str(&json).unwrap_or(Value::Null)
    };
    let is_enabled = match value("timestamping/enabled") {
        // As in zenoh, a configuration without a mode is that of a peer.
        Value::Object(by_mode) => by_mode
            .get(value("mode").as_str().unwrap_or("peer"))
            .cloned(),
        same_in_all_modes => Some(same_in_all_modes),
    };
    is_enabled == Some(Value::Bool(true))
}

/// Whether the links of a session share memory.
pub(crate) fn shares_memory(config: &Config) -> bool {
    config
        .get_json("transport/shared_memory/enabled")
        .is_ok_and(|is_enabled| is_enabled == "true")
}

/// Whether a configuration has the mode `client`.
pub(super) fn is_client(config: &Config) -> bool {
    let mode = config.get_json("mode").unwrap_or_default();
    mode.contains("client")
}

/// How long a session waits before it drops a message that may be dropped.
#[derive(Clone, Copy, Debug)]
pub(super) enum Patience {
    /// Zenoh's default: a millisecond; for a large message a millisecond per fragment, 50 ms at most.
    Default,
    /// This long, also for a large message: the limit is for the whole message, as for a blocking put.
    StallTimeout(Duration),
}

pub(super) fn set_patience(config: &mut Config, patience: Patience) -> Result<(), WireError> {
    const DROP: &str = "transport/link/tx/queue/congestion_control/drop";
    let (wait, longest_for_fragments) = match patience {
        Patience::Default => ("1000".to_owned(), "50000"),
        Patience::StallTimeout(timeout) => (micros(timeout), "0"),
    };
    for (key, value) in [
        ("wait_before_drop", wait.as_str()),
        ("max_wait_before_drop_fragments", longest_for_fragments),
    ] {
        set(config, &format!("{DROP}/{key}"), value)?;
    }
    Ok(())
}

fn micros(stall_timeout: Duration) -> String {
    let micros = stall_timeout.as_micros().clamp(1000, 3_600_000_000);
    micros.to_string()
}

/// How long zenoh waits for a stuck subscriber before it closes the link; rmw waits for a minute.
fn set_stall_timeout(config: &mut Config, stall_timeout: Duration) -> Result<(), WireError> {
    let key = "transport/link/tx/queue/congestion_control/block/wait_before_close";
    set(config, key, &micros(stall_timeout))
}

/// Gives the session a random id, and returns it as zenoh writes it.
pub(crate) fn set_random_id(config: &mut Config) -> Result<String, WireError> {
    // Each `RandomState` has its own keys, seeded by the system's random numbers.
    let id: [u64; 2] = [1, 2].map(|half: u64| RandomState::new().hash_one(half));
    let bytes: Vec<u8> = id.into_iter().flat_map(u64::to_le_bytes).collect();
    let id = ZenohId::try_from(bytes.as_slice()).map_err(|source| WireError::Setting {
        key: "id".to_owned(),
        value: format!("{bytes:?}"),
        source,
    })?;
    let id = id.to_string();
    set(config, "id", &format!("{id:?}"))?;
    Ok(id)
}

/// Sets one key to a JSON5 value.
pub(crate) fn set(config: &mut Config, key: &str, value: &str) -> Result<(), WireError> {
    config
        .insert_json5(key, value)
        .map_err(|source| WireError::Setting {
            key: key.to_owned(),
            value: value.to_owned(),
            source,
        })
}

/// Endpoints as a JSON list.
pub(super) fn list(endpoints: &[String]) -> String {
    let quoted: Vec<String> = endpoints
        .iter()
        .map(|endpoint| format!("{endpoint:?}"))
        .collect();
    format!("[{}]", quoted.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_the_settings_of_rmw() {
        let role = Role::Peer {
            connect: vec!["tcp/localhost:7447".to_owned()],
            listen: vec!["tcp/localhost:0".to_owned()],
            is_answered: true,
        };
        let config = built_in(&role, Duration::from_secs(5)).unwrap();
        for (key, value) in [
            ("mode", "\"peer\""),
            ("connect/endpoints", "[\"tcp/localhost:7447\"]"),
            ("listen/endpoints", "[\"tcp/localhost:0\"]"),
            ("scouting/multicast/enabled", "false"),
            ("queries_default_timeout", "600000"),
            ("transport/link/tx/lease", "60000"),
            ("transport/link/tx/queue/size/data", "16"),
            ("transport/link/tx/queue/size/data_low", "16"),
            (
                "transport/link/tx/queue/congestion_control/block/wait_before_close",
                "5000000",
            ),
        ] {
            assert_eq!(config.get_json(key).unwrap(), value, "{key}");
        }
    }

    #[test]
    fn a_peer_beside_a_router_has_its_settings_but_not_its_endpoints() {
        let listen = vec!["tcp/127.0.0.1:1".to_owned()];
        let mut config = built_in(&Role::Router { listen }, Duration::from_secs(5)).unwrap();
        set(&mut config, "id", "\"abc1\"").unwrap();
        assert!(is_router(&config));
        let peer = beside(config, "tcp/127.0.0.1:1", &["tcp/localhost:0".to_owned()]).unwrap();
        for (key, value) in [
            ("mode", "\"peer\""),
            ("id", "null"),
            ("connect/endpoints", "[\"tcp/127.0.0.1:1\"]"),
            ("listen/endpoints", "[\"tcp/localhost:0\"]"),
            ("transport/link/tx/lease", "60000"),
        ] {
            assert_eq!(peer.get_json(key).unwrap(), value, "{key}");
        }
    }

    #[test]
    fn messages_have_timestamps_if_the_configuration_of_the_mode_says_so() {
        for (mode, enabled, expected) in [
            ("\"peer\"", "true", true),
            ("\"peer\"", "false", false),
            ("\"peer\"", "{router:true,peer:false,client:false}", false),
            ("\"router\"", "{router:true,peer:false,client:false}", true),
            ("\"client\"", "{peer:true}", false),
            ("null", "{peer:true}", true),
            ("null", "{router:true}", false),
        ] {
            let mut config = Config::default();
            set(&mut config, "mode", mode).unwrap();
            set(&mut config, "timestamping/enabled", enabled).unwrap();
            assert_eq!(has_timestamps(&config), expected, "{mode} {enabled}");
        }
        // zenoh's default.
        assert!(!has_timestamps(&Config::default()));
    }

    #[test]
    fn values_of_yaml_are_those_of_json() {
        for (text, expected) in [
            ("true", "true"),
            ("~", "null"),
            ("-5", "-5"),
            ("18446744073709551615", "18446744073709551615"),
            ("1.5", "1.5"),
            ("1e400", "\"1e400\""),
            ("'7'", "\"7\""),
            ("word", "\"word\""),
            ("[1, {a: []}]", "[1,{\"a\":[]}]"),
        ] {
            let root = yaml::read(&format!("a: {text}")).unwrap().unwrap();
            assert_eq!(json(&root).to_string(), format!("{{\"a\":{expected}}}"));
        }
    }

    #[test]
    fn files_are_json5_or_yaml_as_their_extension_says() {
        let directory = tempfile::tempdir().unwrap();
        let read = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            from_file(&path, &[], &[], Duration::from_secs(5))
        };
        let yaml =
            "mode: client\nconnect:\n  endpoints: [tcp/127.0.0.1:1]\nqueries_default_timeout: 7\n";
        let json5 = "// Comment\n{mode: 'client', connect: {endpoints: ['tcp/127.0.0.1:1',]}, queries_default_timeout: 7}";
        for (name, text) in [
            ("a.yaml", yaml),
            ("a.yml", yaml),
            ("a.json5", json5),
            ("a.json", json5),
        ] {
            let config = read(name, text).unwrap();
            for (key, value) in [
                ("mode", "\"client\""),
                ("connect/endpoints", "[\"tcp/127.0.0.1:1\"]"),
                ("queries_default_timeout", "7"),
            ] {
                assert_eq!(config.get_json(key).unwrap(), value, "{name}: {key}");
            }
        }
        for (name, text, expected) in [
            ("empty.yaml", "", "unit value"),
            ("empty.json5", "", "expected"),
            ("wrong.yaml", "mode: [client", "line 1"),
            ("wrong.yaml", "mode: boat", "boat"),
            ("wrong.json5", "{mode: 'boat'}", "boat"),
            ("a.toml", "mode = 'client'", "has to end with .json5"),
            ("a", json5, "has to end with .json5"),
        ] {
            let error = read(name, text).unwrap_err();
            let cause = std::error::Error::source(&error).unwrap().to_string();
            assert!(cause.contains(expected), "{name}: {cause}");
        }
    }

    #[test]
    fn every_role_has_a_configuration_zenoh_takes() {
        let endpoint = vec!["tcp/127.0.0.1:1".to_owned()];
        for role in [
            Role::Router {
                listen: endpoint.clone(),
            },
            Role::Client { connect: endpoint },
        ] {
            built_in(&role, Duration::ZERO).unwrap();
        }
    }
}
