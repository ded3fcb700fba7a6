//! The configurations of further sessions of this process, beside the first one.

use std::time::Duration;

use serde_json::Value;
use zenoh::Config;

use crate::wire::error::WireError;
use crate::wire::net::endpoint::{any_port, of_this_host};
use crate::wire::net::zenoh_config::{Patience, is_client, list, set, set_patience};

/// The configuration of the session for blocking puts, beside the session that has `config`. `None` for a
/// client: its router would drop at once whatever its nodes have no room for.
pub(crate) fn blocking(
    config: Config,
    stall_timeout: Duration,
) -> Result<Option<Config>, WireError> {
    if is_client(&config) {
        return Ok(None);
    }
    let mut config = another(config)?;
    // Repeated sequence numbers of a latched topic must not close the link of a subscriber that is stuck.
    set(
        &mut config,
        "qos/publication",
        r#"[{key_exprs:["**/@adv/**"],config:{congestion_control:"drop"}}]"#,
    )?;
    // `Timestamps` makes the timestamps. With a clock, the session would read it for each message nevertheless.
    set(&mut config, "timestamping/enabled", "false")?;
    set_patience(&mut config, Patience::StallTimeout(stall_timeout))?;
    Ok(Some(config))
}

/// Makes the configuration of another session of this process, which is reached in the same ways as the session with
/// `config`. The new session listens at a free port of each address of the first one. It also connects to the first
/// one, which tells its nodes the addresses of the new session.
pub(crate) fn another(mut config: Config) -> Result<Config, WireError> {
    if is_client(&config) {
        return Ok(config);
    }
    let listeners: Vec<String> = endpoints_of_peer(&config, "listen/endpoints")
        .into_iter()
        .filter_map(|one| Some(one.as_str()?.to_owned()))
        .collect();
    // One endpoint: zenoh refuses a second link between two sessions, and tries again for ever.
    let mut connect = endpoints_of_peer(&config, "connect/endpoints");
    connect.extend(of_this_host(&listeners).map(Value::String));
    let listen: Vec<String> = listeners.iter().filter_map(|one| any_port(one)).collect();
    for (key, value) in [
        ("connect/endpoints", Value::Array(connect).to_string()),
        ("listen/endpoints", list(&listen)),
        ("open/return_conditions/connect_scouted", "false".to_owned()),
    ] {
        set(&mut config, key, &value)?;
    }
    Ok(config)
}

/// The endpoints under `key` that a peer uses. Among those to connect to, there may be groups, which are objects.
fn endpoints_of_peer(config: &Config, key: &str) -> Vec<Value> {
    let json = config.get_json(key).unwrap_or_default();
    let mut value: Value = serde_json::from_str(&json).unwrap_or_default();
    let of_peer = value.get_mut("peer").map(Value::take);
    match of_peer.unwrap_or(value) {
        Value::Array(endpoints) => endpoints,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::net::zenoh_config::{Role, beside, built_in, from_file, is_router, router};

    #[test]
    fn another_session_listens_at_a_free_port_of_each_address() {
        let role = Role::Peer {
            connect: vec!["tcp/localhost:7447".to_owned()],
            listen: vec!["tcp/localhost:0".to_owned(), "tcp/0.0.0.0:7450".to_owned()],
            is_answered: true,
        };
        let config = another(built_in(&role, Duration::from_secs(5)).unwrap()).unwrap();
        for (key, value) in [
            (
                "connect/endpoints",
                "[\"tcp/localhost:7447\",\"tcp/127.0.0.1:7450\"]",
            ),
            (
                "listen/endpoints",
                "[\"tcp/localhost:0\",\"tcp/0.0.0.0:0\"]",
            ),
        ] {
            assert_eq!(config.get_json(key).unwrap(), value, "{key}");
        }
        let connect = vec!["tcp/10.0.0.1:7447".to_owned()];
        let client = built_in(&Role::Client { connect }, Duration::from_secs(5)).unwrap();
        let listen = client.get_json("listen/endpoints").unwrap();
        assert_eq!(
            another(client)
                .unwrap()
                .get_json("listen/endpoints")
                .unwrap(),
            listen
        );
    }

    #[test]
    fn another_session_connects_to_each_endpoint_and_once_to_the_first_session() {
        let group = r#"{"strategy":"allOf","locators":["tcp/robot:1","tcp/robot:2"]}"#;
        for (connect, listen, expected) in [
            ("[\"tcp/a:1\"]", "[]", "[\"tcp/a:1\"]".to_owned()),
            (
                "{peer:[\"tcp/a:1\"],router:[\"tcp/b:1\"]}",
                "{peer:[\"tcp/c:0\",\"tcp/c:2\"],router:[\"tcp/d:3\"]}",
                "[\"tcp/a:1\",\"tcp/c:2\"]".to_owned(),
            ),
            (
                &format!("[{group}]"),
                "[\"tcp/c:2\",\"tcp/127.0.0.1:3\",\"tcp/[::]:4\"]",
                format!("[{group},\"tcp/127.0.0.1:3\"]"),
            ),
        ] {
            let mut config = Config::default();
            set(&mut config, "connect/endpoints", connect).unwrap();
            set(&mut config, "listen/endpoints", listen).unwrap();
            let json = another(config).unwrap().get_json("connect/endpoints");
            assert_eq!(json.unwrap(), expected, "{connect} {listen}");
        }
    }

    /// `wait_before_drop` and `max_wait_before_drop_fragments`, both in µs.
    fn waits(config: &Config) -> (String, String) {
        let drop = "transport/link/tx/queue/congestion_control/drop";
        let get = |key| config.get_json(&format!("{drop}/{key}")).unwrap();
        (
            get("wait_before_drop"),
            get("max_wait_before_drop_fragments"),
        )
    }

    #[test]
    fn routers_and_the_second_session_wait_for_room_and_the_first_does_not() {
        const TIMEOUT: Duration = Duration::from_secs(5);
        let short = ("1000".to_owned(), "50000".to_owned());
        let long = ("5000000".to_owned(), "0".to_owned());
        let own = || vec!["tcp/127.0.0.1:1".to_owned()];
        let peer = |connect| Role::Peer {
            connect,
            listen: own(),
            is_answered: true,
        };
        let roles = [
            Role::Router { listen: own() },
            peer(own()),
            Role::Client { connect: own() },
        ];
        let directory = tempfile::tempdir().unwrap();
        for role in &roles {
            let mode = match role {
                Role::Router { .. } => "\"router\"",
                Role::Peer { .. } => "\"peer\"",
                Role::Client { .. } => "\"client\"",
            };
            let file = directory.path().join("zenoh.json5");
            std::fs::write(&file, format!("{{mode: {mode}}}")).unwrap();
            let mut overridden = built_in(&peer(own()), TIMEOUT).unwrap();
            set(&mut overridden, "mode", mode).unwrap();
            for config in [
                built_in(role, TIMEOUT).unwrap(),
                from_file(&file, &[], &[], TIMEOUT).unwrap(),
                overridden,
            ] {
                let main = if is_router(&config) {
                    // Without a session for blocking puts.
                    let router = router(config.clone(), None).unwrap();
                    assert_eq!(waits(&router), short, "{role:?}");
                    let router =
                        crate::wire::net::zenoh_config::router(config.clone(), Some(TIMEOUT))
                            .unwrap();
                    assert_eq!(waits(&router), long, "{role:?}");
                    // Also if the configuration comes from a router and has its wait.
                    let beside = beside(router, "tcp/127.0.0.1:1", &own()).unwrap();
                    assert_eq!(waits(&beside), short, "{role:?}");
                    crate::wire::net::zenoh_config::beside(config, "tcp/127.0.0.1:1", &own())
                        .unwrap()
                } else {
                    config
                };
                assert_eq!(waits(&main), short, "{role:?}");
                let second = blocking(main, TIMEOUT).unwrap();
                assert_eq!(second.is_none(), matches!(role, Role::Client { .. }));
                assert!(second.is_none_or(|second| {
                    let has_clock = second.get_json("timestamping/enabled").unwrap();
                    waits(&second) == long && has_clock == "false"
                }));
            }
        }
    }
}
