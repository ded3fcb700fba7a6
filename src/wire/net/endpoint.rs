//! Endpoints (`tcp/HOST:PORT`): checks on what a user gives, and their parts.

use zenoh::config::EndPoint;

use crate::wire::error::WireError;

/// What an endpoint is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Connect,
    Listen,
}

/// An error with the reason if an endpoint cannot be used on any network.
pub(crate) fn check(endpoint: &str, usage: Use) -> Result<(), WireError> {
    problem(endpoint, usage).map_or(Ok(()), |reason| {
        Err(WireError::Endpoint {
            endpoint: endpoint.to_owned(),
            reason,
        })
    })
}

fn problem(endpoint: &str, usage: Use) -> Option<String> {
    let Some((protocol, rest)) = endpoint.split_once('/') else {
        return Some("the protocol is missing".to_owned());
    };
    if protocol != "tcp" {
        return Some(format!(
            "`{protocol}` is no protocol that this program supports: use tcp"
        ));
    }
    let address = rest.split(['?', '#']).next().unwrap_or(rest);
    let host = match address.rsplit_once(':') {
        // `[::1]` without a port also ends in `:…]`.
        Some((host, port)) if !port.ends_with(']') => match port.parse::<u32>() {
            Err(_) => return Some(format!("`{port}` is not a port")),
            Ok(65_536..) => return Some("a port is at most 65535".to_owned()),
            Ok(0) if usage == Use::Connect => {
                return Some("port 0 is not a port to connect to".to_owned());
            }
            Ok(_) => host,
        },
        _ => return Some("the port is missing".to_owned()),
    };
    if host.is_empty() {
        return Some("the host is missing".to_owned());
    }
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    if !is_bracketed && host.contains(':') {
        return Some("an IPv6 address is written in brackets".to_owned());
    }
    let is_parsed = endpoint.parse::<EndPoint>();
    is_parsed.err().map(|error| error.to_string())
}

/// `host:port`, without zenoh's metadata; `None` if the endpoint is not TCP.
pub(crate) fn address(endpoint: &str) -> Option<&str> {
    let address = endpoint.strip_prefix("tcp/")?;
    address.split(['?', '#']).next()
}

/// The host and the port of an endpoint.
fn host_and_port(endpoint: &str) -> Option<(&str, u16)> {
    let (host, port) = address(endpoint)?.rsplit_once(':')?;
    Some((host, port.parse().ok()?))
}

/// The port of an endpoint.
pub(crate) fn port(endpoint: &str) -> Option<u16> {
    host_and_port(endpoint).map(|(_, port)| port)
}

/// Whether an endpoint is on the loopback interface, or is a Unix socket.
pub(crate) fn is_loopback(endpoint: &str) -> bool {
    let Some((_, address)) = endpoint.split_once('/') else {
        return false;
    };
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    endpoint.starts_with("unix")
        || host == "localhost"
        || host == "[::1]"
        || host.starts_with("127.")
}

/// A loopback endpoint that reaches the listener at `listen`; `None` if there is none.
pub(crate) fn on_loopback(listen: &str) -> Option<String> {
    let (host, port) = host_and_port(listen)?;
    match host {
        "0.0.0.0" => Some(format!("tcp/127.0.0.1:{port}")),
        "[::]" => Some(format!("tcp/localhost:{port}")),
        _ => is_loopback(listen).then(|| listen.to_owned()),
    }
}

/// The same host with port 0: any free port.
pub(crate) fn any_port(listen: &str) -> Option<String> {
    host_and_port(listen).map(|(host, _)| format!("tcp/{host}:0"))
}

/// An endpoint at which this host reaches a session that listens at `listeners`, on loopback if there is one. `None` if
/// the system chooses all their ports.
pub(crate) fn of_this_host(listeners: &[String]) -> Option<String> {
    let is_fixed = |one: &&String| port(one).is_some_and(|port| port != 0);
    let fixed = || listeners.iter().filter(is_fixed);
    let local = fixed().find_map(|one| on_loopback(one));
    // Without what configures the listener, as its interface.
    let without_options = |one: &String| one.split(['?', '#']).next().unwrap_or(one).to_owned();
    local.or_else(|| fixed().next().map(without_options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_endpoints_are_refused_with_the_reason() {
        for (endpoint, reason) in [
            ("nonsense", "the protocol is missing"),
            ("tcp", "the protocol is missing"),
            ("tcp/", "the port is missing"),
            ("tcp/robot", "the port is missing"),
            ("tcp/[::1]", "the port is missing"),
            ("tcp/:7447", "the host is missing"),
            ("tcp/robot:", "`` is not a port"),
            ("tcp/robot:seven", "`seven` is not a port"),
            ("tcp/robot:-1", "`-1` is not a port"),
            ("tcp/127.0.0.1:65536", "a port is at most 65535"),
            ("tcp/127.0.0.1:99999999999", "`99999999999` is not a port"),
            ("tcp/::1:7447", "an IPv6 address is written in brackets"),
            (
                "tpc/robot:7447",
                "`tpc` is no protocol that this program supports: use tcp",
            ),
            (
                "udp/robot:7447",
                "`udp` is no protocol that this program supports: use tcp",
            ),
        ] {
            for usage in [Use::Connect, Use::Listen] {
                assert_eq!(problem(endpoint, usage).as_deref(), Some(reason));
            }
        }
        let nowhere = problem("tcp/127.0.0.1:0", Use::Connect);
        assert_eq!(
            nowhere.as_deref(),
            Some("port 0 is not a port to connect to")
        );
        assert!(problem("tcp/robot:7447?", Use::Connect).is_some());
    }

    #[test]
    fn valid_endpoints_are_accepted() {
        for endpoint in [
            "tcp/127.0.0.1:7447",
            "tcp/[::]:7447",
            "tcp/robot.local:65535",
            "tcp/0.0.0.0:7447#iface=eth0",
        ] {
            for usage in [Use::Connect, Use::Listen] {
                assert_eq!(problem(endpoint, usage), None, "{endpoint}");
            }
        }
        assert_eq!(problem("tcp/127.0.0.1:0", Use::Listen), None);
    }

    #[test]
    fn loopback_endpoints_are_recognised() {
        for (endpoint, expected) in [
            ("tcp/localhost:7447", true),
            ("tcp/127.0.0.1:0", true),
            ("tcp/[::1]:7447", true),
            ("tcp/192.168.1.5:7447", false),
            ("tcp/robot:7447", false),
            ("tcp/[fe80::1]:7447", false),
            ("unixsock-stream//tmp/x", true),
            ("nonsense", false),
        ] {
            assert_eq!(is_loopback(endpoint), expected, "{endpoint}");
        }
    }

    #[test]
    fn a_listener_on_all_addresses_is_reached_on_loopback() {
        for (listen, expected) in [
            ("tcp/0.0.0.0:7447#iface=lo", Some("tcp/127.0.0.1:7447")),
            ("tcp/[::]:7447", Some("tcp/localhost:7447")),
            ("tcp/[::1]:1", Some("tcp/[::1]:1")),
            ("tcp/192.168.1.5:7447", None),
        ] {
            assert_eq!(on_loopback(listen).as_deref(), expected, "{listen}");
        }
        assert_eq!(any_port("tcp/[::]:7447").as_deref(), Some("tcp/[::]:0"));
    }

    #[test]
    fn a_session_is_reached_on_loopback_if_it_listens_there_at_a_known_port() {
        for (listeners, expected) in [
            (&[][..], None),
            (&["tcp/127.0.0.1:0", "tcp/host"], None),
            (
                &["tcp/10.0.0.1:1#iface=eth0", "tcp/10.0.0.2:2"],
                Some("tcp/10.0.0.1:1"),
            ),
            (
                &["tcp/127.0.0.1:0", "tcp/10.0.0.1:1", "tcp/0.0.0.0:2"],
                Some("tcp/127.0.0.1:2"),
            ),
        ] {
            let listeners: Vec<String> = listeners.iter().map(ToString::to_string).collect();
            let reached = of_this_host(&listeners);
            assert_eq!(reached.as_deref(), expected, "{listeners:?}");
        }
    }
}
