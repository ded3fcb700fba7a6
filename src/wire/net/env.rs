//! The environment variables that a ROS 2 node on `rmw_zenoh` follows, read once when the session opens.

use std::path::PathBuf;

use super::zenoh_config::set;
use crate::wire::error::WireError;
use crate::wire::options::SharedMemoryUse;

/// How often to look for a router before becoming it: `ZENOH_ROUTER_CHECK_ATTEMPTS`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RouterCheck {
    /// This many times, a second apart.
    Times(u32),
    /// Until there is a router.
    Forever,
    /// Not at all: assume that there is a router.
    Skip,
}

/// The values of the environment variables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Environment {
    pub(crate) domain_id: Option<u32>,
    pub(crate) config_file: Option<PathBuf>,
    /// Configuration keys and values in JSON5, in the order in which they were given.
    pub(crate) overrides: Vec<(String, String)>,
    /// Configuration keys and values that hold unless the configuration or an override sets the key.
    unless_set: Vec<(&'static str, &'static str)>,
    pub(crate) router_check: RouterCheck,
    /// Messages about values that could not be used.
    pub(crate) warnings: Vec<String>,
}

/// Whether links share memory, and whether zenoh copies messages into a memory of its own to share them.
const SHARED_MEMORY: &str = "transport/shared_memory/enabled";
const COPIES: &str = "transport/shared_memory/transport_optimization/enabled";
/// Whether zenoh may hold small messages back, so that more of them go together.
const BATCHING: &str = "transport/link/tx/queue/batching/enabled";
/// The size of the send buffer of each link, in bytes; Linux doubles it. On loopback a segment has up to 64 KiB. In a
/// buffer of half the size there is room for one segment, and each segment then waits 40 ms for its acknowledgement.
const SEND_BUFFER: (&str, &str) = ("transport/link/tcp/so_sndbuf", "65536");

impl Environment {
    /// The same, for sessions that send each message at once.
    pub(crate) fn sending_at_once(mut self) -> Self {
        self.overrides
            .push((BATCHING.to_owned(), "false".to_owned()));
        self
    }

    /// The same, for sessions in which small messages overtake large ones. They can do that in zenoh's queue, not in
    /// the buffer of the system, which would otherwise take megabytes of a large message.
    pub(crate) fn overtaking(mut self) -> Self {
        self.unless_set.push(SEND_BUFFER);
        self
    }

    /// The same, with what `shared_memory` asks for; `Auto` leaves it to the configuration whether memory is shared.
    pub(crate) fn sharing_memory(mut self, shared_memory: SharedMemoryUse) -> Self {
        // Otherwise zenoh would copy large messages that are not in our pool into a pool of its own, whose buffers it
        // uses again while stopped subscribers still read them.
        let settings: &[(&str, &str)] = match shared_memory {
            SharedMemoryUse::Auto => &[(COPIES, "false")],
            SharedMemoryUse::On => &[(SHARED_MEMORY, "true"), (COPIES, "false")],
            SharedMemoryUse::Off => &[(SHARED_MEMORY, "false")],
        };
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        self.overrides.extend(settings.iter().map(owned));
        self
    }

    /// Whether the overrides set the mode or the endpoints of the session.
    pub(crate) fn places_session(&self) -> bool {
        let places = |key: &str| {
            key == "mode"
                || key.starts_with("connect/endpoints")
                || key.starts_with("listen/endpoints")
        };
        self.overrides.iter().any(|(key, _)| places(key))
    }

    /// What is left of it for a session that connects to nothing but its own router. Overrides that would lead
    /// elsewhere are left out, with a message.
    pub(crate) fn isolated(mut self) -> Self {
        let leads = |key: &str| {
            let first = key.split('/').next().unwrap_or_default();
            matches!(first, "mode" | "connect" | "listen" | "scouting" | "id")
        };
        let left_out: Vec<String> = self
            .overrides
            .extract_if(.., |(key, _)| leads(key))
            .map(|(key, _)| key)
            .collect();
        if !left_out.is_empty() {
            let keys = left_out.join(", ");
            self.warnings.push(format!(
                "ZENOH_CONFIG_OVERRIDE: {keys} is ignored: it would connect an isolated session to other networks"
            ));
        }
        self.config_file = None;
        self
    }

    /// Applies the overrides, and what holds unless it is set. Overrides that cannot be used are skipped, as ROS 2
    /// nodes do, and returned as messages.
    pub(crate) fn override_in(&self, config: &mut zenoh::Config) -> Vec<String> {
        let overrides = self.overrides.iter();
        let results = overrides.map(|(key, value)| set(config, key, value));
        let errors: Vec<String> = results
            .filter_map(Result::err)
            .map(|error| format!("ZENOH_CONFIG_OVERRIDE: {error}"))
            .collect();
        for (key, value) in &self.unless_set {
            let is_overridden = self.overrides.iter().any(|(given, _)| given == key);
            if !is_overridden && config.get_json(key).is_ok_and(|now| now == "null") {
                set(config, key, value).expect("a key and a value that zenoh has");
            }
        }
        errors
    }

    /// Reads the variables of this process.
    pub(crate) fn read() -> Result<Self, WireError> {
        Self::from(|name| std::env::var(name).ok())
    }

    /// Reads the variables through `lookup`. An empty variable counts as unset.
    fn from(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, WireError> {
        let get = |name| lookup(name).filter(|value| !value.is_empty());
        let number = |name: &'static str, reason| {
            let Some(value) = get(name) else {
                return Ok(None);
            };
            match value.trim().parse::<i64>() {
                Ok(number) => Ok(Some((number, value))),
                Err(_) => Err(WireError::Environment {
                    name,
                    value,
                    reason,
                }),
            }
        };
        let domain_id = match number("ROS_DOMAIN_ID", "a number from 0 on")? {
            None => None,
            Some((number, value)) => {
                Some(u32::try_from(number).map_err(|_| WireError::Environment {
                    name: "ROS_DOMAIN_ID",
                    value,
                    reason: "a number from 0 on",
                })?)
            }
        };
        let router_check = match number("ZENOH_ROUTER_CHECK_ATTEMPTS", "a number of attempts")? {
            None => RouterCheck::Times(1),
            Some((0, _)) => RouterCheck::Forever,
            Some((times, _)) => u32::try_from(times).map_or(RouterCheck::Skip, RouterCheck::Times),
        };
        let (mut overrides, mut warnings) = (Vec::new(), Vec::new());
        let pairs = get("ZENOH_CONFIG_OVERRIDE").unwrap_or_default();
        for pair in pairs
            .split(';')
            .map(str::trim)
            .filter(|pair| !pair.is_empty())
        {
            match pair.split_once('=') {
                Some((key, value)) => {
                    overrides.push((key.trim().to_owned(), value.trim().to_owned()));
                }
                None => warnings.push(format!(
                    "ZENOH_CONFIG_OVERRIDE: `{pair}` is not key=value and is ignored"
                )),
            }
        }
        Ok(Self {
            domain_id,
            config_file: get("ZENOH_SESSION_CONFIG_URI").map(PathBuf::from),
            overrides,
            unless_set: Vec::new(),
            router_check,
            warnings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment, WireError> {
        Environment::from(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_set_is_the_default() {
        let environment = read(&[("ROS_DOMAIN_ID", "")]).unwrap();
        assert_eq!(environment.domain_id, None);
        assert_eq!(environment.router_check, RouterCheck::Times(1));
        assert!(environment.overrides.is_empty());
    }

    #[test]
    fn numbers_are_read_or_refused_by_name() {
        assert_eq!(
            read(&[("ROS_DOMAIN_ID", "42")]).unwrap().domain_id,
            Some(42)
        );
        for value in ["-1", "x", "1.5"] {
            let error = read(&[("ROS_DOMAIN_ID", value)]).unwrap_err().to_string();
            assert!(error.contains("ROS_DOMAIN_ID"), "{error}");
        }
        for (value, check) in [
            ("3", RouterCheck::Times(3)),
            ("0", RouterCheck::Forever),
            ("-1", RouterCheck::Skip),
        ] {
            assert_eq!(
                read(&[("ZENOH_ROUTER_CHECK_ATTEMPTS", value)])
                    .unwrap()
                    .router_check,
                check
            );
        }
    }

    #[test]
    fn overrides_split_at_semicolons_and_the_first_equals_sign() {
        let environment = read(&[(
            "ZENOH_CONFIG_OVERRIDE",
            "mode=\"client\"; a/b = [\"x=1\"];nonsense;",
        )])
        .unwrap();
        let expected = [("mode", "\"client\""), ("a/b", "[\"x=1\"]")];
        assert_eq!(
            environment.overrides,
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
        assert_eq!(environment.warnings.len(), 1);
    }

    #[test]
    fn the_send_buffer_is_small_where_messages_overtake_unless_it_is_configured() {
        let buffer = |environment: Environment, mut config: zenoh::Config| {
            assert!(environment.override_in(&mut config).is_empty());
            config.get_json(SEND_BUFFER.0).unwrap()
        };
        let (plain, config) = (read(&[]).unwrap(), zenoh::Config::default);
        assert_eq!(buffer(plain.clone(), config()), "null");
        assert_eq!(buffer(plain.clone().overtaking(), config()), "65536");
        let mut configured = config();
        set(&mut configured, SEND_BUFFER.0, "9000").unwrap();
        assert_eq!(buffer(plain.overtaking(), configured), "9000");
        // `null` leaves it to the system.
        for size in ["8000", "null"] {
            let pair = format!("{}={size}", SEND_BUFFER.0);
            let overridden = read(&[("ZENOH_CONFIG_OVERRIDE", &pair)]).unwrap();
            assert_eq!(buffer(overridden.overtaking(), config()), size);
        }
    }

    #[test]
    fn an_isolated_session_keeps_only_what_does_not_place_it() {
        let environment = read(&[
            ("ZENOH_SESSION_CONFIG_URI", "x.json5"),
            (
                "ZENOH_CONFIG_OVERRIDE",
                "mode=\"client\";listen=0;transport/link/tx/lease=5;scouting/multicast/enabled=true;identity=1",
            ),
        ]);
        let isolated = environment.unwrap().isolated();
        assert_eq!(isolated.config_file, None);
        let keys = isolated.overrides.iter().map(|(key, _)| key.as_str());
        assert_eq!(
            keys.collect::<Vec<_>>(),
            ["transport/link/tx/lease", "identity"]
        );
        assert!(isolated.warnings[0].contains("mode, listen, scouting/multicast/enabled"));
        let plain = read(&[]).unwrap();
        assert_eq!(plain.clone().isolated(), plain);
    }
}
