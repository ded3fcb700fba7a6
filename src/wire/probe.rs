//! Looking before joining: whether a router answers on this host, and whether we can be it.
//!
//! A plain TCP connect tells within microseconds on loopback; zenoh's own peer mode would wait half a
//! second when nobody answers.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::Duration;

use super::env::RouterCheck;

/// The port ROS 2's router listens on.
pub(super) const ROUTER_PORT: u16 = 7447;

/// `host:port` of a TCP endpoint, without zenoh's metadata; `None` for other transports.
fn address(endpoint: &str) -> Option<&str> {
    let address = endpoint.strip_prefix("tcp/")?;
    address.split(['?', '#']).next()
}

/// Whether an endpoint is on this host's loopback (or no network address at all, as a Unix socket).
pub(super) fn is_loopback(endpoint: &str) -> bool {
    let Some((_, address)) = endpoint.split_once('/') else {
        return false;
    };
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    endpoint.starts_with("unix")
        || host == "localhost"
        || host == "[::1]"
        || host.starts_with("127.")
}

/// Whether somebody takes TCP connections at an endpoint. Endpoints that are not TCP count as answering.
pub(super) fn answers(endpoint: &str, patience: Duration) -> io::Result<()> {
    let Some(address) = address(endpoint) else {
        return Ok(());
    };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whether a router answers at its usual place, asked as often as `check` says.
pub(super) fn has_router(check: RouterCheck, endpoint: &str) -> bool {
    let mut left = match check {
        RouterCheck::Skip => return true,
        RouterCheck::Times(times) => Some(times),
        RouterCheck::Forever => None,
    };
    loop {
        if answers(endpoint, Duration::from_millis(100)).is_ok() {
            return true;
        }
        left = left.map(|left| left.saturating_sub(1));
        if left == Some(0) {
            return false;
        }
        // Nothing tells when a router starts; a second is what ROS 2 nodes wait.
        thread::park_timeout(Duration::from_secs(1));
    }
}

/// Where we can listen as the router of this host: IPv4 loopback, and IPv6's where there is one.
pub(super) fn router_listeners(port: u16) -> Vec<String> {
    let mut listeners = vec![format!("tcp/127.0.0.1:{port}")];
    let v6 = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], port));
    if TcpListener::bind(v6).is_ok() {
        listeners.push(format!("tcp/[::1]:{port}"));
    }
    listeners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_known_by_its_names() {
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
    fn a_listener_answers_and_a_free_port_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("tcp/{}?x=1", listener.local_addr().unwrap());
        assert!(answers(&endpoint, Duration::from_secs(5)).is_ok());
        assert!(has_router(RouterCheck::Times(1), &endpoint));
        drop(listener);
        assert!(answers(&endpoint, Duration::from_secs(5)).is_err());
        assert!(!has_router(RouterCheck::Times(1), &endpoint));
        assert!(has_router(RouterCheck::Skip, &endpoint));
    }
}
